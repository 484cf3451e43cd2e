/* SPDX-License-Identifier: Apache-2.0 */
/* test_str.c - text, numbers, UTF-8 and buffers: whole or nothing, no locale, no overrun. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static const struct lc_str none = {NULL, 0};

/* ---- comparing ---- */

static void text_is_compared_by_bytes(void **state)
{
    (void)state;
    assert_true(lc_str_eq(LC_STR("abc"), lc_str_of("abc")));
    assert_false(lc_str_eq(LC_STR("abc"), LC_STR("abd")));
    assert_false(lc_str_eq(LC_STR("abc"), LC_STR("ab")));
    assert_true(lc_str_eq(none, LC_STR("")));
    assert_true(lc_str_is(none, ""));
    assert_int_equal(lc_str_cmp(LC_STR("a"), LC_STR("b")), -1);
    assert_true(lc_str_cmp(LC_STR("ab"), LC_STR("a")) > 0);
    assert_true(lc_str_cmp(LC_STR("\xFF"), LC_STR("a")) > 0);
    assert_true(lc_str_cmp(none, LC_STR("a")) < 0);
    assert_int_equal(lc_str_cmp(none, none), 0);
}

static void case_is_that_of_ascii(void **state)
{
    (void)state;
    assert_true(lc_str_is_nocase(LC_STR("UPDATE_Before"), "update_bEFORE"));
    assert_false(lc_str_is_nocase(LC_STR("\xC3\x84"), "\xC3\xA4"));
    assert_false(lc_str_is_nocase(LC_STR("[ab"), "{ab"));
    assert_false(lc_str_is_nocase(LC_STR("ab"), "abc"));
    assert_false(lc_str_is_nocase(LC_STR("abc"), "ab"));
    assert_false(lc_str_is_nocase(LC_STR("ab\0"), "ab"));
    assert_true(lc_str_is_nocase(none, ""));
}

static void starts_and_ends(void **state)
{
    (void)state;
    assert_true(lc_str_starts(LC_STR("abc"), "ab"));
    assert_true(lc_str_starts(none, ""));
    assert_false(lc_str_starts(LC_STR("a"), "ab"));
    assert_true(lc_str_ends(LC_STR("abc"), "bc"));
    assert_true(lc_str_ends(none, ""));
    assert_false(lc_str_ends(LC_STR("c"), "bc"));
    assert_false(lc_str_ends(LC_STR("abd"), "bc"));
}

/* ---- integers ---- */

static void integers_are_whole_or_nothing(void **state)
{
    (void)state;
    int64_t i;
    uint64_t u;
    assert_true(lc_parse_i64(LC_STR("9223372036854775807"), &i) && i == INT64_MAX);
    assert_true(lc_parse_i64(LC_STR("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(lc_parse_i64(LC_STR("-0"), &i) && i == 0);
    assert_true(lc_parse_u64(LC_STR("18446744073709551615"), &u) && u == UINT64_MAX);
    i = 42;
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x1",
                                      "1e3",
                                      "--1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999"};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
        assert_false(lc_parse_i64(lc_str_of(bad[k]), &i));
    assert_int_equal(i, 42);
    assert_false(lc_parse_u64(LC_STR("18446744073709551616"), &u));
    assert_false(lc_parse_u64(LC_STR("-1"), &u));
    assert_false(lc_parse_i64(none, &i));
    assert_false(lc_parse_i64(((struct lc_str){"1\0", 2}), &i));
}

/* ---- floating point ---- */

static void floats_are_read_in_every_form(void **state)
{
    (void)state;
    double f;
    float g;
    assert_true(lc_parse_f64(LC_STR("1.5"), &f) && f == 1.5);
    assert_true(lc_parse_f64(LC_STR("-1e-3"), &f) && f == -0.001);
    assert_true(lc_parse_f64(LC_STR(".5"), &f) && f == 0.5);
    assert_true(lc_parse_f64(LC_STR("NaN"), &f) && isnan(f));
    assert_true(lc_parse_f64(LC_STR("infinity"), &f) && isinf(f) && f > 0);
    assert_true(lc_parse_f64(LC_STR("-Infinity"), &f) && isinf(f) && f < 0);
    assert_true(lc_parse_f64(LC_STR("-INF"), &f) && isinf(f) && f < 0);
    assert_true(lc_parse_f64(LC_STR("5e-324"), &f) && f == 0x1p-1074);
    assert_true(lc_parse_f64(LC_STR("-0.0"), &f) && f == 0 && signbit(f));
    /* Rounded once: by way of a double this one would round to the even neighbour below. */
    assert_true(lc_parse_f32(LC_STR("1.00000017881393432617187500000001"), &g) && g == 0x1.000004p0F);
    assert_true(lc_parse_f32(LC_STR("-inf"), &g) && isinf(g) && g < 0);
    f = 42;
    g = 42;
    static const char *const bad[] = {"",      "-",      ".",       "e5",    "1e",    "0x1p3", "1,5",
                                      " 1",    "1 ",     "nan(1)",  "in",    "--1",   "1..2",  "1e5.5",
                                      "1e999", "-1e999", "infinit", "--inf", "+nanx", "1f"};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        if (lc_parse_f64(lc_str_of(bad[k]), &f) || lc_parse_f32(lc_str_of(bad[k]), &g))
            fail_msg("%s is no number", bad[k]);
    }
    assert_false(lc_parse_f32(LC_STR("3.5e38"), &g));
    assert_true(f == 42 && g == 42);
    char digits[600];
    memset(digits, '1', sizeof(digits));
    assert_false(lc_parse_f64((struct lc_str){digits, sizeof(digits)}, &f));
}

static void assert_f64(double value, const char *wanted)
{
    char text[32];
    lc_print_f64(value, text);
    assert_string_equal(text, wanted);
}

static void assert_f32(float value, const char *wanted)
{
    char text[32];
    lc_print_f32(value, text);
    assert_string_equal(text, wanted);
}

static void floats_are_printed_as_short_as_they_can(void **state)
{
    (void)state;
    assert_f64(0.1, "0.1");
    assert_f64(1, "1.0");
    assert_f64(-0.0, "-0.0");
    assert_f64(0.1 + 0.2, "0.30000000000000004");
    assert_f64(1e22, "1e+22");
    assert_f64(5e-324, "5e-324");
    assert_f64(DBL_MAX, "1.7976931348623157e+308");
    assert_f64(DBL_MIN, "2.2250738585072014e-308");
    assert_f64((double)NAN, "NaN");
    assert_f64((double)INFINITY, "Infinity");
    assert_f64(-(double)INFINITY, "-Infinity");
    assert_f32(0.1F, "0.1");
    assert_f32(16777216.0F, "16777216.0");
    assert_f32(1e-45F, "1e-45");
    assert_f32(FLT_MAX, "3.4028235e+38");
}

static void floats_read_back_as_they_were(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value, back;
        float narrow, narrow_back;
        uint32_t half = (uint32_t)(random >> 32);
        char text[32];
        memcpy(&value, &random, sizeof(value));
        memcpy(&narrow, &half, sizeof(narrow));
        lc_print_f64(value, text);
        assert_true(lc_parse_f64(lc_str_of(text), &back));
        assert_true(isnan(value) ? isnan(back) : memcmp(&value, &back, sizeof(value)) == 0);
        lc_print_f32(narrow, text);
        assert_true(lc_parse_f32(lc_str_of(text), &narrow_back));
        assert_true(isnan(narrow) ? isnan(narrow_back) : memcmp(&narrow, &narrow_back, sizeof(narrow)) == 0);
    }
}

static void the_users_locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "pl_PL.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof(commas) / sizeof(commas[0]) && !set; i++)
        set = setlocale(LC_ALL, commas[i]);
    if (!set)
        skip(); /* the machine has no locale with a decimal comma */
    double f = 0;
    char text[8];
    assert_f64(1.5, "1.5");
    assert_true(lc_parse_f64(LC_STR("2.5"), &f) && f == 2.5);
    assert_true(strfromd(text, sizeof(text), "%.1f", 1.5) > 0);
    assert_string_equal(text, "1,5"); /* the caller's locale is as it was */
    (void)setlocale(LC_ALL, "C");
}

/* ---- UTF-8 ---- */

static void utf8_is_that_of_rfc_3629(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "plain",
                                       "\x7F",
                                       "\xC2\x80",
                                       "\xDF\xBF",
                                       "\xE0\xA0\x80",
                                       "\xED\x9F\xBF",
                                       "\xEE\x80\x80",
                                       "\xEF\xBF\xBF",
                                       "\xF0\x90\x80\x80",
                                       "\xF4\x8F\xBF\xBF",
                                       "eight by\xC3\xA9te"};
    static const char *const bad[] = {"\x80",
                                      "\xBF",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xC2",
                                      "\xC2\x7F",
                                      "\xE0\x9F\xBF",
                                      "\xE0\xA0",
                                      "\xED\xA0\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFF",
                                      "\xF0\x90\x80",
                                      "12345678\x80",
                                      "1234567\xC3",
                                      "1234567\xE2\x82"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(lc_utf8_valid(lc_str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(lc_utf8_valid(lc_str_of(bad[i])));
    assert_true(lc_utf8_valid(none));
    char *exact = malloc(9); /* the sanitizer would see a ninth and tenth byte read */
    assert_non_null(exact);
    memcpy(exact, "1234567\xC3\xA9", 9);
    assert_true(lc_utf8_valid((struct lc_str){exact, 9}));
    assert_false(lc_utf8_valid((struct lc_str){exact, 8}));
    free(exact);
}

/* ---- buffers ---- */

static void appends_add_up(void **state)
{
    (void)state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 100);
    lc_buf_text(&buf, "a");
    lc_buf_char(&buf, 'b');
    lc_buf_printf(&buf, "%d-%s", 12, "x");
    lc_buf_append(&buf, NULL, 0);
    assert_string_equal(buf.p, "ab12-x");
    assert_int_equal(buf.n, 6);
    lc_buf_clear(&buf);
    assert_int_equal(buf.n, 0);
    assert_string_equal(buf.p, "");
    for (int i = 0; i < 100; i++)
        lc_buf_char(&buf, 'x');
    assert_false(buf.failed);
    assert_int_equal(strlen(buf.p), 100);
}

static void the_ceiling_is_remembered(void **state)
{
    (void)state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 5);
    lc_buf_text(&buf, "12345");
    assert_false(buf.failed);
    lc_buf_char(&buf, '6');
    assert_true(buf.failed);
    lc_buf_clear(&buf);
    lc_buf_printf(&buf, "%06d", 1);
    assert_true(buf.failed);
    lc_buf_text(&buf, ""); /* sticky, whatever follows */
    assert_true(buf.failed);
    assert_null(lc_buf_take(&buf));
    assert_null(lc_buf_reserve(&buf, SIZE_MAX));
}

static void short_memory_is_remembered(void **state)
{
    (void)state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, LC_BUF_MAX);
    lc_buf_text(&buf, "kept");
    (void)lc_alloc_fail_after(0);
    lc_buf_printf(&buf, "%200d", 1);
    (void)lc_alloc_fail_after(-1);
    assert_true(buf.failed);
    assert_string_equal(buf.p, "kept");
    assert_null(lc_buf_take(&buf));
}

static void taken_text_is_the_callers(void **state)
{
    (void)state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 10);
    LC_FREE char *empty = lc_buf_take(&buf);
    assert_string_equal(empty, "");
    lc_buf_text(&buf, "text");
    LC_FREE char *text = lc_buf_take(&buf);
    assert_string_equal(text, "text");
    assert_null(buf.p);
    assert_int_equal(buf.max, 10);
}

static void json_strings_are_always_valid(void **state)
{
    (void)state;
    const struct {
        struct lc_str text;
        const char *wanted;
    } cases[] = {
        {LC_STR("plain \xC3\xA9"), "\"plain \xC3\xA9\""},     {LC_STR("q\"b\\n\nt\tr\r"), "\"q\\\"b\\\\n\\nt\\tr\\r\""},
        {LC_STR("\0\x1F\x7F"), "\"\\u0000\\u001f\\u007f\""},  {LC_STR("a\xFFz"), "\"a\xEF\xBF\xBDz\""},
        {LC_STR("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""}, {{NULL, 0}, "\"\""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_BUF struct lc_buf buf;
        lc_buf_init(&buf, 100);
        lc_buf_json_string(&buf, cases[i].text);
        assert_string_equal(buf.p, cases[i].wanted);
    }
}

static void percent_signs_are_undone_once(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"a%20b", "a b"}, {"%41%6a", "Aj"},   {"%2525", "%25"},
                                           {"100%", "100%"}, {"%4", "%4"},       {"%4z", "%4z"},
                                           {"%zz", "%zz"},   {"a%00b", "a%00b"}, {"%C3%a9", "\xC3\xA9"},
                                           {"", ""},         {"%%41", "%A"},     {"%0a%10", "\n\x10"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_FREE char *text = lc_percent_decode(lc_str_of(cases[i][0]));
        assert_string_equal(text, cases[i][1]);
    }
    (void)lc_alloc_fail_after(0);
    assert_null(lc_percent_decode(LC_STR("a")));
    (void)lc_alloc_fail_after(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_compared_by_bytes),
        cmocka_unit_test(case_is_that_of_ascii),
        cmocka_unit_test(starts_and_ends),
        cmocka_unit_test(integers_are_whole_or_nothing),
        cmocka_unit_test(floats_are_read_in_every_form),
        cmocka_unit_test(floats_are_printed_as_short_as_they_can),
        cmocka_unit_test(floats_read_back_as_they_were),
        cmocka_unit_test(the_users_locale_does_not_matter),
        cmocka_unit_test(utf8_is_that_of_rfc_3629),
        cmocka_unit_test(appends_add_up),
        cmocka_unit_test(the_ceiling_is_remembered),
        cmocka_unit_test(short_memory_is_remembered),
        cmocka_unit_test(taken_text_is_the_callers),
        cmocka_unit_test(json_strings_are_always_valid),
        cmocka_unit_test(percent_signs_are_undone_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
