/* SPDX-License-Identifier: Apache-2.0 */
/* test_value.c - scalars are read, compared, cast and printed exactly or not at all. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/value.h"

#define TYPE(kind_) ((struct lc_type){.kind = LC_TYPE_##kind_})
#define DECIMAL(precision_, scale_)                                                                                    \
    ((struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = (precision_), .scale = (scale_)})
#define FIXED(length_) ((struct lc_type){.kind = LC_TYPE_FIXED, .length = (length_)})

static struct lc_value parsed(struct lc_type type, const char *text)
{
    static struct lc_arena arena; /* for uuids; emptied by main */
    struct lc_value value;
    if (!text) {
        lc_arena_done(&arena);
        return (struct lc_value){0};
    }
    if (!lc_value_parse(type, lc_str_of(text), type.kind == LC_TYPE_UUID ? &arena : NULL, &value))
        fail_msg("%s is no %s", text, lc_type_word(type.kind));
    return value;
}

static bool parses(struct lc_type type, const char *text)
{
    struct lc_value value = {.is_null = true, .i = 42};
    bool ok = lc_value_parse(type, lc_str_of(text), NULL, &value);
    if (!ok)
        assert_true(value.is_null && value.i == 42); /* left alone */
    return ok;
}

static void assert_none_parses(struct lc_type type, size_t n, const char *const *texts)
{
    for (size_t i = 0; i < n; i++)
        if (parses(type, texts[i]))
            fail_msg("\"%s\" is taken for a %s", texts[i], lc_type_word(type.kind));
}
#define ASSERT_NONE_PARSES(type, ...)                                                                                  \
    assert_none_parses(type, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__})

/* ---- decimals ---- */

static bool decimal(const char *text, int precision, int scale, const char *wanted)
{
    lc_i128 value = 42;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 200);
    if (!lc_decimal_parse(lc_str_of(text), precision, scale, &value)) {
        assert_true(value == 42);
        return wanted == NULL;
    }
    lc_decimal_print(&buf, value, scale);
    return wanted && strcmp(buf.p, wanted) == 0;
}

static void decimals_are_exact(void **state)
{
    (void)state;
    assert_true(decimal("0", 5, 2, "0.00"));
    assert_true(decimal("-1.5", 5, 2, "-1.50"));
    assert_true(decimal("1.50", 5, 2, "1.50"));
    assert_true(decimal("0.05", 5, 2, "0.05"));
    assert_true(decimal("-.5", 5, 1, "-0.5"));
    assert_true(decimal("5.", 5, 1, "5.0"));
    assert_true(decimal("+7", 5, 0, "7"));
    assert_true(decimal("-0", 5, 2, "0.00"));
    assert_true(decimal("000000000000000000000000000000000000000000001.5", 2, 1, "1.5"));
    assert_true(decimal("999.99", 5, 2, "999.99"));
    assert_true(decimal("99999999999999999999999999999999999999", 38, 0, "99999999999999999999999999999999999999"));
    assert_true(
        decimal("-0.99999999999999999999999999999999999999", 38, 38, "-0.99999999999999999999999999999999999999"));
    assert_true(decimal("1.500000000000000000000000000000000000000000000000000000", 2, 1, "1.5"));
    assert_true(decimal("1E-7", 10, 8, "0.00000010"));
    assert_true(decimal("0E-10", 10, 2, "0.00"));
    assert_true(decimal("1.25e+2", 5, 1, "125.0"));
    assert_true(decimal("12500e-4", 5, 2, "1.25"));
    assert_true(decimal("0e99999", 5, 2, "0.00"));
}

static void decimals_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      ".",
                                      "-.",
                                      "1.2.3",
                                      "1,5",
                                      " 1",
                                      "1 ",
                                      "--1",
                                      "+-1",
                                      "1e",
                                      "1e+",
                                      "1e-",
                                      "1e+-1",
                                      "e5",
                                      "1e5e5",
                                      "1e1.0",
                                      "1e999999999999",
                                      "1e-100001",
                                      "0x1",
                                      "NaN",
                                      "Infinity",
                                      "1_0",
                                      "\xD9\xA1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (!decimal(bad[i], 38, 10, NULL))
            fail_msg("\"%s\" is taken for a decimal", bad[i]);
    assert_true(decimal("1000", 5, 2, NULL));
    char zeros[100002];
    memset(zeros, '0', sizeof(zeros) - 1);
    zeros[sizeof(zeros) - 1] = 0;
    assert_true(decimal(zeros, 5, 2, NULL)); /* longer than any number that a table writes */
    assert_true(decimal(zeros + 1, 5, 2, "0.00"));
    assert_true(decimal("1.001", 5, 2, NULL));
    assert_true(decimal("1e-3", 5, 2, NULL));
    assert_true(decimal("1e3", 5, 2, NULL));
    assert_true(decimal("1e38", 38, 0, NULL));
    assert_true(decimal("1", 38, 38, NULL));
    assert_true(decimal("100000000000000000000000000000000000000", 38, 0, NULL));
    assert_true(decimal("170141183460469231731687303715884105728", 38, 0, NULL));
    assert_true(decimal("999999999999999999999999999999999999999999999999", 38, 0, NULL));
    assert_true(decimal("1e40", 38, 2, NULL));
}

static void every_128_bit_number_prints(void **state)
{
    (void)state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 200);
    lc_i128 most = (lc_i128)(~(lc_u128)0 >> 1);
    lc_decimal_print(&buf, most, 0);
    assert_string_equal(buf.p, "170141183460469231731687303715884105727");
    lc_buf_clear(&buf);
    lc_decimal_print(&buf, -most - 1, 38);
    assert_string_equal(buf.p, "-1.70141183460469231731687303715884105728");
    lc_i128 power = 1;
    for (int n = 0; n <= 38; n++, power *= n <= 38 ? 10 : 1)
        assert_true(lc_pow10(n) == power);
}

/* ---- reading ---- */

static void integers_keep_to_their_width(void **state)
{
    (void)state;
    assert_int_equal(parsed(TYPE(INT8), "-128").i, -128);
    assert_int_equal(parsed(TYPE(INT8), "127").i, 127);
    assert_int_equal(parsed(TYPE(INT16), "-32768").i, INT16_MIN);
    assert_int_equal(parsed(TYPE(INT32), "2147483647").i, INT32_MAX);
    assert_true(parsed(TYPE(INT64), "-9223372036854775808").i == INT64_MIN);
    ASSERT_NONE_PARSES(TYPE(INT8), "128", "-129", "1.0", "", "+1", "1 ");
    ASSERT_NONE_PARSES(TYPE(INT16), "32768", "-32769");
    ASSERT_NONE_PARSES(TYPE(INT32), "2147483648", "-2147483649");
    ASSERT_NONE_PARSES(TYPE(INT64), "9223372036854775808");
}

static void booleans_and_floats(void **state)
{
    (void)state;
    assert_true(parsed(TYPE(BOOL), "true").b);
    assert_false(parsed(TYPE(BOOL), "False").b);
    ASSERT_NONE_PARSES(TYPE(BOOL), "", "1", "0", "t", "yes", "true ");
    assert_true(parsed(TYPE(FLOAT), "0.1").f == (double)0.1F);
    assert_true(parsed(TYPE(DOUBLE), "0.1").f == 0.1);
    assert_true(isnan(parsed(TYPE(FLOAT), "NaN").f));
    assert_true(isinf(parsed(TYPE(DOUBLE), "-Infinity").f));
    ASSERT_NONE_PARSES(TYPE(FLOAT), "", "1e39", "1,5", "x");
    ASSERT_NONE_PARSES(TYPE(DOUBLE), "", "1e309", "0x1");
}

static void dates_and_times(void **state)
{
    (void)state;
    assert_int_equal(parsed(TYPE(DATE), "2024-02-29").i, 19782);
    assert_int_equal(parsed(TYPE(DATE), "-9999-01-01").i, -4371587);
    ASSERT_NONE_PARSES(TYPE(DATE), "", "2023-02-29", "2024-02-29 00:00:00", "19782");
    assert_true(parsed(TYPE(TIME), "12:30:05.123456").i == INT64_C(45005123456));
    assert_true(parsed(TYPE(TIME), "12:30:05.123456000").i == INT64_C(45005123456));
    ASSERT_NONE_PARSES(TYPE(TIME), "", "12:30:05.1234567", "24:00:00", "12:30:60");
}

static void timestamps_keep_to_their_zone_and_unit(void **state)
{
    (void)state;
    assert_true(parsed(TYPE(TIMESTAMP_TZ), "1970-01-01T00:00:00.000001Z").i == 1);
    assert_true(parsed(TYPE(TIMESTAMP_TZ), "1970-01-01 02:00:00+02:00").i == 0);
    assert_true(parsed(TYPE(TIMESTAMP_TZ), "1970-01-01 00:00:01").i == 1000000);
    assert_true(parsed(TYPE(TIMESTAMP), "1969-12-31 23:59:59.999999").i == -1);
    assert_true(parsed(TYPE(TIMESTAMP), "1970-01-01").i == 0);
    assert_true(parsed(TYPE(TIMESTAMP), "1970-01-01 00:00:00.000001000").i == 1);
    assert_true(parsed(TYPE(TIMESTAMP_NS), "1970-01-01 00:00:00.000000001").i == 1);
    assert_true(parsed(TYPE(TIMESTAMP_NS_TZ), "1970-01-01 00:00:00.000000001-00:01").i == INT64_C(60000000001));
    ASSERT_NONE_PARSES(TYPE(TIMESTAMP), "", "1970-01-01T00:00:00Z", "1970-01-01 00:00:00+00:00",
                       "1970-01-01 00:00:00.0000001");
    ASSERT_NONE_PARSES(TYPE(TIMESTAMP_NS), "1970-01-01T00:00:00Z", "1970-01-01 00:00:00.0000000001");
    ASSERT_NONE_PARSES(TYPE(TIMESTAMP_TZ), "1970-01-01T00:00:00.0000001Z", "0", "1970-01-01T24:00:00Z");
}

static void timestamps_reach_both_ends_of_their_range(void **state)
{
    (void)state;
    assert_true(parsed(TYPE(TIMESTAMP_NS), "1677-09-21T00:12:43.145224192").i == INT64_MIN);
    assert_true(parsed(TYPE(TIMESTAMP_NS), "2262-04-11T23:47:16.854775807").i == INT64_MAX);
    assert_true(parsed(TYPE(TIMESTAMP), "-290308-12-21T19:59:05.224192").i == INT64_MIN);
    assert_true(parsed(TYPE(TIMESTAMP), "+294247-01-10T04:00:54.775807").i == INT64_MAX);
    ASSERT_NONE_PARSES(TYPE(TIMESTAMP_NS), "1677-09-21T00:12:43.145224191", "2262-04-11T23:47:16.854775808",
                       "9999-12-31");
    ASSERT_NONE_PARSES(TYPE(TIMESTAMP), "-290308-12-21T19:59:05.224191", "+294247-01-10T04:00:54.775808",
                       "+999999-01-01");
}

static void text_bytes_and_uuids(void **state)
{
    (void)state;
    const char *text = "some \xC3\xA9 text";
    assert_ptr_equal(parsed(TYPE(STRING), text).str.p, text); /* borrowed */
    assert_int_equal(parsed(TYPE(STRING), "").str.n, 0);
    assert_false(parses(TYPE(STRING), "\xFF"));
    assert_int_equal(parsed(TYPE(BINARY), "\xFF").str.n, 1);
    assert_int_equal(parsed(FIXED(3), "abc").str.n, 3);
    ASSERT_NONE_PARSES(FIXED(3), "ab", "abcd", "");
    struct lc_value uuid = parsed(TYPE(UUID), "01234567-89ab-cdef-0123-456789ABCDEF");
    assert_int_equal(uuid.str.n, 16);
    assert_memory_equal(uuid.str.p, "\x01\x23\x45\x67\x89\xAB\xCD\xEF\x01\x23\x45\x67\x89\xAB\xCD\xEF", 16);
    LC_ARENA struct lc_arena arena = {0};
    struct lc_value value;
    static const char *const bad[] = {"",
                                      "0123456789abcdef0123456789abcdef",
                                      "01234567-89ab-cdef-0123-456789abcdeg",
                                      "01234567-89ab-cdef-0123-456789abcde",
                                      "01234567-89ab-cdef-0123-456789abcdef0",
                                      "01234567_89ab-cdef-0123-456789abcdef",
                                      "0123456-789ab-cdef-0123-456789abcdef"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(lc_value_parse(TYPE(UUID), lc_str_of(bad[i]), &arena, &value));
    assert_false(parses(TYPE(UUID), "01234567-89ab-cdef-0123-456789abcdef")); /* nowhere to put the bytes */
}

static void an_arena_keeps_the_bytes(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_value value = {0}, kept = {0};
    char text[] = "abc";
    assert_true(lc_value_parse(TYPE(STRING), (struct lc_str){text, 3}, &arena, &value));
    text[0] = 'x';
    assert_true(lc_str_is(value.str, "abc"));
    struct lc_value *copy = lc_value_dup(&arena, &value);
    assert_true(lc_value_equal(copy, &value));
    assert_ptr_not_equal(copy->str.p, value.str.p);
    for (int n = 0; n < 2; n++) {
        (void)lc_alloc_fail_after(n);
        copy = lc_value_dup(&arena, &value);
        (void)lc_alloc_fail_after(-1);
        assert_null(copy);
    }
    (void)lc_alloc_fail_after(0);
    assert_false(lc_value_parse(TYPE(STRING), LC_STR("abc"), &arena, &kept));
    assert_false(lc_value_parse(TYPE(UUID), LC_STR("01234567-89ab-cdef-0123-456789abcdef"), &arena, &kept));
    (void)lc_alloc_fail_after(-1);
}

static void copies_share_no_bytes(void **state)
{
    (void)state;
    const struct lc_value values[] = {parsed(TYPE(STRING), "0123456789abcdef"),
                                      parsed(TYPE(BINARY), "0123456789abcdef"),
                                      parsed(FIXED(16), "0123456789abcdef"),
                                      parsed(TYPE(UUID), "01234567-89ab-cdef-0123-456789abcdef"),
                                      parsed(TYPE(INT32), "7"),
                                      {.is_null = true, .type = TYPE(STRING)}};
    LC_ARENA struct lc_arena arena = {0};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct lc_value *copy = lc_value_dup(&arena, &values[i]);
        assert_non_null(copy);
        assert_true(lc_value_equal(copy, &values[i]));
        assert_true(lc_type_equal(copy->type, values[i].type));
        if (i < 4)
            assert_ptr_not_equal(copy->str.p, values[i].str.p);
    }
}

static void types_without_text_have_no_values(void **state)
{
    (void)state;
    ASSERT_NONE_PARSES(TYPE(NULL), "", "null", "1");
    ASSERT_NONE_PARSES(TYPE(STRUCT), "", "{}");
    ASSERT_NONE_PARSES(TYPE(LIST), "", "[]");
    ASSERT_NONE_PARSES(TYPE(MAP), "", "{}");
}

/* ---- comparing ---- */

/* The texts rise; every pair compares as its places do. */
static void assert_rising(struct lc_type type, size_t n, const char *const *texts)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            struct lc_value a = parsed(type, texts[i]), b = parsed(type, texts[j]);
            int wanted = (i > j) - (i < j), got = lc_value_compare(&a, &b);
            if ((got > 0) - (got < 0) != wanted || lc_value_equal(&a, &b) != (i == j))
                fail_msg("%s and %s compare as %d", texts[i], texts[j], got);
        }
}
#define ASSERT_RISING(type, ...)                                                                                       \
    assert_rising(type, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__})

static void values_have_a_total_order(void **state)
{
    (void)state;
    ASSERT_RISING(TYPE(BOOL), "false", "true");
    ASSERT_RISING(TYPE(INT64), "-9223372036854775808", "-1", "0", "9223372036854775807");
    ASSERT_RISING(TYPE(DOUBLE), "-Infinity", "-1", "0", "5e-324", "1", "Infinity", "NaN");
    ASSERT_RISING(TYPE(FLOAT), "-Infinity", "-1", "0", "NaN");
    ASSERT_RISING(DECIMAL(38, 2), "-10.00", "-9.99", "-0.01", "0", "0.01", "10.00");
    ASSERT_RISING(TYPE(DATE), "-0001-01-01", "1969-12-31", "1970-01-01");
    ASSERT_RISING(TYPE(TIMESTAMP_TZ), "1970-01-01T00:00:00+01:00", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00-01:00");
    ASSERT_RISING(TYPE(STRING), "", "a", "aa", "b", "\xC3\xA9", "\xF0\x9F\x98\x80");
    ASSERT_RISING(TYPE(BINARY), "a", "\x7F", "\x80", "\xFF");
    ASSERT_RISING(TYPE(UUID), "00000000-0000-0000-0000-000000000001", "7fffffff-0000-0000-0000-000000000000",
                  "80000000-0000-0000-0000-000000000000");
    struct lc_value zero = parsed(TYPE(DOUBLE), "0"), minus = parsed(TYPE(DOUBLE), "-0.0");
    assert_int_equal(lc_value_compare(&zero, &minus), 0);
}

static int compare_decimals(const char *a, struct lc_type type_a, const char *b, struct lc_type type_b)
{
    struct lc_value x = parsed(type_a, a), y = parsed(type_b, b);
    assert_int_equal(lc_value_compare(&x, &y), -lc_value_compare(&y, &x));
    return lc_value_compare(&x, &y);
}

static void decimals_compare_over_scales(void **state)
{
    (void)state;
    const char *most = "99999999999999999999999999999999999999";
    assert_int_equal(compare_decimals("1.5", DECIMAL(5, 1), "1.50", DECIMAL(10, 8)), 0);
    assert_int_equal(compare_decimals("1.5", DECIMAL(5, 1), "1.51", DECIMAL(10, 2)), -1);
    assert_int_equal(compare_decimals("-1.5", DECIMAL(5, 1), "-1.51", DECIMAL(10, 2)), 1);
    assert_int_equal(compare_decimals("-0.5", DECIMAL(5, 1), "0.25", DECIMAL(10, 2)), -1);
    assert_int_equal(
        compare_decimals(most, DECIMAL(38, 0), "0.99999999999999999999999999999999999999", DECIMAL(38, 38)), 1);
    assert_int_equal(compare_decimals("0", DECIMAL(38, 0), "0.00000000000000000000000000000000000001", DECIMAL(38, 38)),
                     -1);
    assert_int_equal(compare_decimals("0", DECIMAL(38, 0), "0", DECIMAL(38, 38)), 0);
}

static void nulls_equal_nulls(void **state)
{
    (void)state;
    struct lc_value null = {.is_null = true, .type = TYPE(INT32)}, zero = {.type = TYPE(INT32)};
    struct lc_value wide = {.type = TYPE(INT64)};
    assert_true(lc_value_equal(&null, &null));
    assert_false(lc_value_equal(&null, &zero));
    assert_false(lc_value_equal(&zero, &null));
    assert_false(lc_value_equal(&zero, &wide)); /* of another kind */
}

/* ---- casting ---- */

static bool casts(struct lc_value from, struct lc_type type, const char *wanted)
{
    struct lc_value out = {.is_null = true, .i = 42}, want;
    if (!lc_value_cast(&from, type, &out)) {
        assert_true(out.is_null && out.i == 42);
        return wanted == NULL;
    }
    assert_true(lc_type_equal(out.type, type));
    if (!wanted)
        return false;
    want = parsed(type, wanted);
    return lc_value_equal(&out, &want);
}

#define V(type, text) parsed(type, text)

static void integers_cast_when_they_fit(void **state)
{
    (void)state;
    assert_true(casts(V(TYPE(INT8), "-128"), TYPE(INT64), "-128"));
    assert_true(casts(V(TYPE(INT64), "127"), TYPE(INT8), "127"));
    assert_true(casts(V(TYPE(INT64), "128"), TYPE(INT8), NULL));
    assert_true(casts(V(TYPE(INT64), "-2147483649"), TYPE(INT32), NULL));
    assert_true(casts(V(TYPE(INT64), "-9223372036854775808"), TYPE(INT64), "-9223372036854775808"));
    assert_true(casts(V(TYPE(INT32), "123"), DECIMAL(5, 2), "123.00"));
    assert_true(casts(V(TYPE(INT32), "1234"), DECIMAL(5, 2), NULL));
    assert_true(casts(V(TYPE(INT64), "9223372036854775807"), DECIMAL(38, 19), "9223372036854775807"));
    assert_true(casts(V(TYPE(INT64), "9007199254740992"), TYPE(DOUBLE), "9007199254740992"));
    assert_true(casts(V(TYPE(INT64), "9007199254740993"), TYPE(DOUBLE), NULL));
    assert_true(casts(V(TYPE(INT64), "9223372036854775807"), TYPE(DOUBLE), NULL));
    assert_true(casts(V(TYPE(INT64), "-9223372036854775808"), TYPE(DOUBLE), "-9223372036854775808"));
    assert_true(casts(V(TYPE(INT32), "16777216"), TYPE(FLOAT), "16777216"));
    assert_true(casts(V(TYPE(INT32), "16777217"), TYPE(FLOAT), NULL));
}

static void decimals_cast_when_nothing_is_lost(void **state)
{
    (void)state;
    assert_true(casts(V(DECIMAL(5, 2), "1.50"), DECIMAL(2, 1), "1.5"));
    assert_true(casts(V(DECIMAL(5, 2), "1.55"), DECIMAL(5, 1), NULL));
    assert_true(casts(V(DECIMAL(5, 2), "999.99"), DECIMAL(4, 2), NULL));
    assert_true(casts(V(DECIMAL(5, 2), "7.00"), TYPE(INT8), "7"));
    assert_true(casts(V(DECIMAL(5, 2), "7.01"), TYPE(INT8), NULL));
    assert_true(casts(V(DECIMAL(38, 0), "9223372036854775808"), TYPE(INT64), NULL));
    assert_true(casts(V(DECIMAL(38, 0), "-9223372036854775808"), TYPE(INT64), "-9223372036854775808"));
    assert_true(casts(V(DECIMAL(5, 2), "0.75"), TYPE(DOUBLE), "0.75"));
    assert_true(casts(V(DECIMAL(5, 2), "0.10"), TYPE(DOUBLE), NULL));
    assert_true(casts(V(DECIMAL(5, 2), "-2.50"), TYPE(FLOAT), "-2.5"));
    assert_true(casts(V(DECIMAL(38, 38), "0"), TYPE(DOUBLE), "0"));
    assert_true(casts(V(DECIMAL(38, 0), "99999999999999999999999999999999999999"), TYPE(DOUBLE), NULL));
    assert_true(casts(V(DECIMAL(38, 0), "85070591730234615865843651857942052864"), TYPE(FLOAT),
                      "85070591730234615865843651857942052864"));
    assert_true(casts(V(DECIMAL(38, 0), "99999999999999999999999999999999999999"), DECIMAL(38, 1), NULL));
}

static void floats_cast_when_nothing_is_lost(void **state)
{
    (void)state;
    assert_true(casts(V(TYPE(FLOAT), "0.1"), TYPE(DOUBLE), "0.10000000149011612"));
    assert_true(casts(V(TYPE(DOUBLE), "0.1"), TYPE(FLOAT), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "0.5"), TYPE(FLOAT), "0.5"));
    assert_true(casts(V(TYPE(DOUBLE), "1e300"), TYPE(FLOAT), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "1e-320"), TYPE(FLOAT), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "NaN"), TYPE(FLOAT), "NaN"));
    assert_true(casts(V(TYPE(DOUBLE), "-Infinity"), TYPE(FLOAT), "-Infinity"));
    assert_true(casts(V(TYPE(DOUBLE), "3"), TYPE(INT8), "3"));
    assert_true(casts(V(TYPE(DOUBLE), "-0.0"), TYPE(INT8), "0"));
    assert_true(casts(V(TYPE(DOUBLE), "3.5"), TYPE(INT64), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "9223372036854775808"), TYPE(INT64), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "-9223372036854775808"), TYPE(INT64), "-9223372036854775808"));
    assert_true(casts(V(TYPE(DOUBLE), "1e300"), TYPE(INT64), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "340282366920938463463374607431768211456"), TYPE(INT64), NULL)); /* 2^128 */
    assert_true(casts(V(TYPE(DOUBLE), "NaN"), TYPE(INT64), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "Infinity"), DECIMAL(38, 0), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "0.375"), DECIMAL(5, 3), "0.375"));
    assert_true(casts(V(TYPE(DOUBLE), "0.375"), DECIMAL(5, 2), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "0.1"), DECIMAL(38, 37), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "5e-324"), DECIMAL(38, 38), NULL));
    assert_true(casts(V(TYPE(DOUBLE), "1e37"), DECIMAL(38, 0), "9999999999999999538762658202121142272"));
}

static void times_cast_without_guessing_a_zone(void **state)
{
    (void)state;
    assert_true(casts(V(TYPE(DATE), "1969-12-31"), TYPE(TIMESTAMP), "1969-12-31 00:00:00"));
    assert_true(casts(V(TYPE(DATE), "1969-12-31"), TYPE(TIMESTAMP_NS), "1969-12-31 00:00:00"));
    assert_true(casts(V(TYPE(DATE), "9999-12-31"), TYPE(TIMESTAMP_NS), NULL));
    assert_true(casts(V(TYPE(DATE), "1969-12-31"), TYPE(TIMESTAMP_TZ), NULL));
    assert_true(casts(V(TYPE(TIMESTAMP), "1970-01-01 00:00:01"), TYPE(TIMESTAMP_NS), "1970-01-01 00:00:01"));
    assert_true(casts(V(TYPE(TIMESTAMP), "9999-12-31"), TYPE(TIMESTAMP_NS), NULL));
    assert_true(
        casts(V(TYPE(TIMESTAMP_NS), "1970-01-01 00:00:00.000001"), TYPE(TIMESTAMP), "1970-01-01 00:00:00.000001"));
    assert_true(casts(V(TYPE(TIMESTAMP_NS), "1970-01-01 00:00:00.000000001"), TYPE(TIMESTAMP), NULL));
    assert_true(casts(V(TYPE(TIMESTAMP_NS_TZ), "1970-01-01 00:00:01Z"), TYPE(TIMESTAMP_TZ), "1970-01-01 00:00:01Z"));
    assert_true(casts(V(TYPE(TIMESTAMP_TZ), "1970-01-01"), TYPE(TIMESTAMP), NULL));
    assert_true(casts(V(TYPE(TIMESTAMP), "1970-01-01"), TYPE(TIMESTAMP_TZ), NULL));
    assert_true(casts(V(TYPE(TIMESTAMP), "1970-01-01"), TYPE(DATE), NULL));
    assert_true(casts(V(TYPE(TIME), "00:00"), TYPE(INT64), NULL));
}

static void bytes_cast_to_bytes(void **state)
{
    (void)state;
    assert_true(casts(V(TYPE(STRING), "abc"), TYPE(BINARY), "abc"));
    assert_true(casts(V(TYPE(BINARY), "abc"), TYPE(STRING), "abc"));
    assert_true(casts(V(TYPE(BINARY), "\xFF"), TYPE(STRING), NULL));
    assert_true(casts(V(TYPE(BINARY), "abc"), FIXED(3), "abc"));
    assert_true(casts(V(TYPE(BINARY), "abc"), FIXED(4), NULL));
    assert_true(casts(V(FIXED(3), "abc"), TYPE(BINARY), "abc"));
    assert_true(casts(V(FIXED(16), "\x01\x23\x45\x67\x89\xAB\xCD\xEF\x01\x23\x45\x67\x89\xAB\xCD\xEF"), TYPE(UUID),
                      "01234567-89ab-cdef-0123-456789abcdef"));
    assert_true(casts(V(TYPE(BINARY), "abc"), TYPE(UUID), NULL));
    assert_true(casts(V(TYPE(STRING), "1"), TYPE(INT32), NULL));
    assert_true(casts(V(TYPE(STRING), "abc"), FIXED(3), NULL));
    assert_true(casts(V(TYPE(BOOL), "true"), TYPE(INT32), NULL));
    assert_true(casts(V(TYPE(INT32), "1"), TYPE(BOOL), NULL));
    assert_true(casts(V(TYPE(INT32), "1"), TYPE(STRING), NULL));
    assert_true(casts(V(TYPE(INT32), "1"), TYPE(DATE), NULL));
}

static void a_null_is_null_in_every_type(void **state)
{
    (void)state;
    struct lc_value null = {.is_null = true, .type = TYPE(STRING)}, out = {0};
    assert_true(lc_value_cast(&null, TYPE(INT8), &out));
    assert_true(out.is_null);
    assert_int_equal(out.type.kind, LC_TYPE_INT8);
}

/* Any integer, at any scale, through any number type that takes it and back: the same value. */
static void a_cast_that_succeeds_can_be_undone(void **state)
{
    (void)state;
    static const struct lc_type types[] = {
        {.kind = LC_TYPE_INT8},       {.kind = LC_TYPE_INT32},     {.kind = LC_TYPE_INT64},
        {.kind = LC_TYPE_FLOAT},      {.kind = LC_TYPE_DOUBLE},    {LC_TYPE_DECIMAL, 38, 0, 0},
        {LC_TYPE_DECIMAL, 38, 38, 0}, {LC_TYPE_DECIMAL, 20, 6, 0}, {LC_TYPE_DECIMAL, 3, 1, 0}};
    uint64_t random = 5;
    int done = 0;
    for (int i = 0; i < 200000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        struct lc_type from_type = types[(random >> 58) % 9], to_type = types[(random >> 50 & 255) % 9];
        struct lc_value from = {.type = from_type}, to, back;
        int64_t number = (int64_t)random >> (random >> 33 & 63);
        if (from_type.kind == LC_TYPE_DECIMAL)
            from.dec = number % lc_pow10(from_type.precision);
        else if (from_type.kind == LC_TYPE_DOUBLE)
            from.f = (double)number / 64;
        else if (from_type.kind == LC_TYPE_FLOAT)
            from.f = (double)(float)number / 64;
        else
            from.i = from_type.kind == LC_TYPE_INT8    ? (int8_t)number
                     : from_type.kind == LC_TYPE_INT32 ? (int32_t)number
                                                       : number;
        if (!lc_value_cast(&from, to_type, &to))
            continue;
        done++;
        assert_true(lc_value_cast(&to, from_type, &back));
        assert_true(lc_value_equal(&from, &back));
    }
    assert_true(done > 50000);
}

/* ---- printing ---- */

static void assert_printed(struct lc_value value, const char *wanted)
{
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 1000);
    lc_value_print(&buf, &value);
    assert_string_equal(buf.p, wanted);
}

static void values_print_as_they_are_read(void **state)
{
    (void)state;
    const struct {
        struct lc_type type;
        const char *text;
    } cases[] = {{TYPE(BOOL), "true"},
                 {TYPE(BOOL), "false"},
                 {TYPE(INT8), "-128"},
                 {TYPE(INT64), "9223372036854775807"},
                 {TYPE(FLOAT), "0.1"},
                 {TYPE(DOUBLE), "0.1"},
                 {TYPE(DOUBLE), "NaN"},
                 {TYPE(FLOAT), "-Infinity"},
                 {DECIMAL(5, 2), "-1.50"},
                 {TYPE(DATE), "2024-02-29"},
                 {TYPE(TIME), "12:30:05.000001"},
                 {TYPE(TIMESTAMP_TZ), "2024-02-29T12:30:05.123456Z"},
                 {TYPE(TIMESTAMP), "2024-02-29T12:30:05.123456"},
                 {TYPE(TIMESTAMP_NS_TZ), "2024-02-29T12:30:05.123456789Z"},
                 {TYPE(TIMESTAMP_NS), "2024-02-29T12:30:05.123456789"},
                 {TYPE(STRING), "text"},
                 {TYPE(STRING), ""},
                 {TYPE(UUID), "01234567-89ab-cdef-0123-456789abcdef"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_printed(parsed(cases[i].type, cases[i].text), cases[i].text);
    assert_printed(parsed(TYPE(BINARY), "\x01\xFF"), "01ff");
    assert_printed(parsed(FIXED(2), "ab"), "6162");
    assert_printed((struct lc_value){.is_null = true, .type = TYPE(INT32)}, "null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_exact),
        cmocka_unit_test(decimals_that_do_not_fit_are_refused),
        cmocka_unit_test(every_128_bit_number_prints),
        cmocka_unit_test(integers_keep_to_their_width),
        cmocka_unit_test(booleans_and_floats),
        cmocka_unit_test(dates_and_times),
        cmocka_unit_test(timestamps_keep_to_their_zone_and_unit),
        cmocka_unit_test(timestamps_reach_both_ends_of_their_range),
        cmocka_unit_test(text_bytes_and_uuids),
        cmocka_unit_test(an_arena_keeps_the_bytes),
        cmocka_unit_test(copies_share_no_bytes),
        cmocka_unit_test(types_without_text_have_no_values),
        cmocka_unit_test(values_have_a_total_order),
        cmocka_unit_test(decimals_compare_over_scales),
        cmocka_unit_test(nulls_equal_nulls),
        cmocka_unit_test(integers_cast_when_they_fit),
        cmocka_unit_test(decimals_cast_when_nothing_is_lost),
        cmocka_unit_test(floats_cast_when_nothing_is_lost),
        cmocka_unit_test(times_cast_without_guessing_a_zone),
        cmocka_unit_test(bytes_cast_to_bytes),
        cmocka_unit_test(a_null_is_null_in_every_type),
        cmocka_unit_test(a_cast_that_succeeds_can_be_undone),
        cmocka_unit_test(values_print_as_they_are_read),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)parsed(TYPE(NULL), NULL);
    return failed;
}
