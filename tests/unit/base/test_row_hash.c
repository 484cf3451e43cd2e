/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_row_hash.c - which rows are the same and which are not.
 *
 * Rows of one batch are written down as JSON with a class each; rows hash alike exactly when their class is the same,
 * wherever they lie and whatever stands before them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/row_hash.h"
#include "support/arrays.h"
#include "support/json_rows.h"
#include "support/torture.h"

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }
#define PARENT(name_, kind_, children_)                                                                                \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_},     \
        .n_children = sizeof(children_) / sizeof((children_)[0]), .children = (children_)                              \
    }

enum { MOST = 40 };

static void hash(const struct lc_field *schema, const char *json, int pad, struct lc_hash *out, size_t n)
{
    LC_ARRAY struct ArrowArray rows = {0};
    assert_true(json_rows(json, schema, pad, &rows));
    assert_int_equal(rows.length, n);
    assert_int_equal(lc_row_hash(schema, &rows, 0, NULL, out, NULL), LCDC_OK);
}

static void expect_classes(const struct lc_field *schema, const char *json, const char *classes)
{
    struct lc_hash plain[MOST], padded[MOST];
    size_t n = strlen(classes);
    assert_true(n <= MOST);
    hash(schema, json, 0, plain, n);
    hash(schema, json, 13, padded, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(lc_hash_equal(plain[i], padded[i]));
        for (size_t k = 0; k < n; k++)
            if (lc_hash_equal(plain[i], plain[k]) != (classes[i] == classes[k]))
                fail_msg("rows %zu and %zu of %s", i, k, json);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    static struct lc_field fields[] = {FIELD("d", DOUBLE), FIELD("f", FLOAT), FIELD("l", INT64), FIELD("b", BOOL)};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    expect_classes(&row,
                   "[{\"d\":0.0,\"f\":0.0,\"l\":0,\"b\":false},{\"d\":-0.0,\"f\":0.0,\"l\":0,\"b\":false},"
                   "{\"d\":0.0,\"f\":-0.0,\"l\":0,\"b\":false},{\"d\":\"NaN\",\"f\":\"NaN\",\"l\":0,\"b\":false},"
                   "{\"d\":\"NaN\",\"f\":\"NaN\",\"l\":0,\"b\":false},{\"d\":null,\"f\":null,\"l\":0,\"b\":false},"
                   "{\"d\":null,\"f\":null,\"l\":0,\"b\":null},{\"d\":null,\"f\":null,\"l\":null,\"b\":false},"
                   "{\"d\":null,\"f\":null,\"l\":0,\"b\":false},{\"d\":0.0,\"f\":0.0,\"l\":-1,\"b\":false},"
                   "{\"d\":0.0,\"f\":0.0,\"l\":0,\"b\":true},{\"d\":0.0,\"f\":null,\"l\":0,\"b\":false}]",
                   "abcddefgehij");
}

/* The bits of NaN do not count. */
static void test_every_nan(void **state)
{
    (void)state;
    static struct lc_field field[] = {FIELD("d", DOUBLE)};
    static const struct lc_field schema = PARENT("", STRUCT, field);
    static const uint64_t bits[3] = {0x7FF8000000000000u, 0xFFF8000000000001u, 0x7FF0000000000001u};
    const void *no_validity[1] = {NULL}, *buffers[2] = {NULL, bits};
    struct ArrowArray column = {.length = 3, .n_buffers = 2, .buffers = buffers};
    struct ArrowArray *children[1] = {&column};
    struct ArrowArray rows = {
        .length = 3, .n_buffers = 1, .buffers = no_validity, .n_children = 1, .children = children};
    struct lc_hash out[3];
    assert_int_equal(lc_row_hash(&schema, &rows, 0, NULL, out, NULL), LCDC_OK);
    assert_true(lc_hash_equal(out[0], out[1]) && lc_hash_equal(out[0], out[2]));
}

/* No value may pass for null, whatever a table's author knows of this code. */
static void test_no_value_is_null(void **state)
{
    (void)state;
    static struct lc_field fields[] = {
        FIELD("l", INT64),
        {.name = "n", .physical = "n", .id = LC_NO_ID, .type = {.kind = LC_TYPE_DECIMAL, .precision = 38}}};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    expect_classes(&row,
                   "[{\"l\":null,\"n\":null},{\"l\":-6884282663029611473,\"n\":null},{\"l\":null,\"n\":\"0\"},"
                   "{\"l\":0,\"n\":\"0\"}]",
                   "abcd");
}

static void test_texts(void **state)
{
    (void)state;
    static struct lc_field fields[] = {FIELD("s", STRING), FIELD("t", STRING), FIELD("x", BINARY)};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    expect_classes(&row,
                   "[{\"s\":\"ab\",\"t\":\"c\",\"x\":\"\"},{\"s\":\"a\",\"t\":\"bc\",\"x\":\"\"},"
                   "{\"s\":\"\",\"t\":\"abc\",\"x\":\"\"},{\"s\":null,\"t\":\"abc\",\"x\":\"\"},"
                   "{\"s\":\"abc\",\"t\":null,\"x\":\"\"},{\"s\":\"c\",\"t\":\"ab\",\"x\":\"\"},"
                   "{\"s\":\"ab\",\"t\":\"c\",\"x\":null},{\"s\":\"ab\",\"t\":\"c\",\"x\":\"AA==\"},"
                   "{\"s\":\"ab\",\"t\":\"c\",\"x\":\"\"}]",
                   "abcdefgha");
}

static void test_structs(void **state)
{
    (void)state;
    static struct lc_field inner[] = {FIELD("a", INT32), FIELD("b", STRING)};
    static struct lc_field outer[] = {PARENT("in", STRUCT, inner), FIELD("c", INT32)};
    static struct lc_field fields[] = {PARENT("o", STRUCT, outer)};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    expect_classes(&row,
                   "[{\"o\":null},{\"o\":{\"in\":null,\"c\":null}},{\"o\":{\"in\":{\"a\":null,\"b\":null},\"c\":null}},"
                   "{\"o\":null},{\"o\":{\"in\":{\"a\":1,\"b\":\"x\"},\"c\":2}},"
                   "{\"o\":{\"in\":{\"a\":1,\"b\":null},\"c\":2}},{\"o\":{\"in\":null,\"c\":2}},"
                   "{\"o\":{\"in\":{\"a\":1,\"b\":\"x\"},\"c\":2}},{\"o\":{\"in\":null,\"c\":null}}]",
                   "abcadefdb");
}

static void test_lists(void **state)
{
    (void)state;
    static struct lc_field element[] = {FIELD("element", INT32)};
    static struct lc_field list[] = {PARENT("element", LIST, element)};
    static struct lc_field fields[] = {PARENT("l", LIST, list)};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    expect_classes(&row,
                   "[{\"l\":null},{\"l\":[]},{\"l\":[null]},{\"l\":[[]]},{\"l\":[[1,2]]},{\"l\":[[2,1]]},"
                   "{\"l\":[[1],[2]]},{\"l\":[[1,2],[]]},{\"l\":[[],[1,2]]},{\"l\":[[1,2]]},{\"l\":[[null]]},"
                   "{\"l\":[]},{\"l\":[[],[]]}]",
                   "abcdefghiejbk");
}

/* The order of a map's entries does not count, what belongs to which key does. */
static void test_maps(void **state)
{
    (void)state;
    static struct lc_field entry[] = {FIELD("key", STRING), FIELD("value", INT32)};
    static struct lc_field fields[] = {PARENT("m", MAP, entry)};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    expect_classes(&row,
                   "[{\"m\":[[\"a\",1],[\"b\",2]]},{\"m\":[[\"b\",2],[\"a\",1]]},{\"m\":[[\"a\",2],[\"b\",1]]},"
                   "{\"m\":[[\"a\",1]]},{\"m\":[]},{\"m\":null},{\"m\":[[\"a\",null]]},"
                   "{\"m\":[[\"a\",1],[\"a\",1]]},{\"m\":[[\"a\",1]]}]",
                   "aabcdefgc");
}

static void test_chosen_columns(void **state)
{
    (void)state;
    static struct lc_field fields[] = {FIELD("a", INT32), FIELD("b", INT32), FIELD("c", INT32)};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    static const size_t ab[] = {0, 1}, ba[] = {1, 0};
    LC_ARRAY struct ArrowArray rows = {0};
    struct lc_hash one[3], two[3];
    assert_true(
        json_rows("[{\"a\":1,\"b\":2,\"c\":3},{\"a\":1,\"b\":2,\"c\":4},{\"a\":2,\"b\":1,\"c\":3}]", &row, 2, &rows));
    assert_int_equal(lc_row_hash(&row, &rows, 2, ab, one, NULL), LCDC_OK);
    assert_int_equal(lc_row_hash(&row, &rows, 2, ba, two, NULL), LCDC_OK);
    assert_true(lc_hash_equal(one[0], one[1]));
    assert_false(lc_hash_equal(one[0], one[2]));
    assert_false(lc_hash_equal(one[0], two[0]));
    assert_true(lc_hash_equal(one[0], two[2])); /* 1, 2 in both */
}

/* Rows of every type hash alike wherever they lie, and as their text says. */
static void test_every_type(void **state)
{
    (void)state;
    const struct lc_field *type = lc_test_every_type();
    for (uint64_t seed = 1; seed <= 5; seed++) {
        enum { N = 50 };
        uint64_t random = seed;
        int64_t rows[N];
        struct lc_hash from[N], to[N];
        LC_ARRAY struct ArrowArray array = {0}, gathered = {0};
        lc_test_array(&random, type, N, true, &array);
        for (int64_t i = 0; i < N; i++)
            rows[i] = N - 1 - i;
        const struct ArrowArray *source = &array;
        assert_int_equal(lc_array_gather(type, 1, &source, NULL, rows, N, &gathered, NULL), LCDC_OK);
        assert_int_equal(lc_row_hash(type, &array, 0, NULL, from, NULL), LCDC_OK);
        assert_int_equal(lc_row_hash(type, &gathered, 0, NULL, to, NULL), LCDC_OK);
        for (int64_t i = 0; i < N; i++) {
            assert_true(lc_hash_equal(from[i], to[N - 1 - i]));
            assert_true(i == 0 || !lc_hash_equal(from[i], from[i - 1]));
        }
    }
}

/* Two numbers that change their sign, and the like: changes of a bit, made twice, must not cancel in a sum. */
static void test_sums(void **state)
{
    (void)state;
    static struct lc_field fields[] = {FIELD("l", INT64), FIELD("d", DOUBLE)};
    static const struct lc_field row = PARENT("", STRUCT, fields);
    const void *no_validity[1] = {NULL};
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t round = 0; round < 20; round++) {
            uint64_t id[2] = {round, round + 1}, number[2] = {round * 0x10001u, round * 0x30003u + 7};
            struct lc_hash out[2], sums[2] = {{0, 0}, {0, 0}};
            for (int changed = 0; changed < 2; changed++) {
                const void *buffers[2][2] = {{NULL, id}, {NULL, number}};
                struct ArrowArray columns[2] = {{.length = 2, .n_buffers = 2, .buffers = buffers[0]},
                                                {.length = 2, .n_buffers = 2, .buffers = buffers[1]}};
                struct ArrowArray *children[2] = {&columns[0], &columns[1]};
                struct ArrowArray rows = {
                    .length = 2, .n_buffers = 1, .buffers = no_validity, .n_children = 2, .children = children};
                assert_int_equal(lc_row_hash(&row, &rows, 0, NULL, out, NULL), LCDC_OK);
                lc_hash_sum(&sums[changed], 2, out, NULL);
                number[0] ^= (uint64_t)1 << bit;
                number[1] ^= (uint64_t)1 << bit;
            }
            assert_true(sums[0].a != sums[1].a && sums[0].b != sums[1].b);
        }
}

static lcdc_status run(void *context, lcdc_error **err)
{
    struct lc_hash out[4];
    return lc_row_hash(lc_test_every_type(), context, 0, NULL, out, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    uint64_t random = 3;
    LC_ARRAY struct ArrowArray array = {0};
    lc_test_array(&random, lc_test_every_type(), 4, true, &array);
    assert_true(lc_torture(run, &array));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_every_nan),       cmocka_unit_test(test_no_value_is_null),
        cmocka_unit_test(test_texts),   cmocka_unit_test(test_structs),         cmocka_unit_test(test_lists),
        cmocka_unit_test(test_maps),    cmocka_unit_test(test_chosen_columns),  cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
