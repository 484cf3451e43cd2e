/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_file.c - actions as data files: where they lie, partition values, and statistics that may be wider than the
 * truth but never narrower.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/filter.h"
#include "delta/file.h"
#include "scan/pushdown.h"
#include "support/torture.h"

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }
static struct lc_field inner[] = {FIELD("x", INT64)};
static struct lc_field fields[] = {
    FIELD("i", INT32),
    FIELD("s", STRING),
    FIELD("ts", TIMESTAMP_TZ),
    FIELD("n", TIMESTAMP),
    FIELD("f", FLOAT),
    FIELD("d", DOUBLE),
    FIELD("b", BOOL),
    FIELD("day", DATE),
    FIELD("bin", BINARY),
    {.name = "m",
     .physical = "m",
     .id = LC_NO_ID,
     .nullable = true,
     .type = {.kind = LC_TYPE_DECIMAL, .precision = 20, .scale = 2}},
    {.name = "o",
     .physical = "o",
     .id = LC_NO_ID,
     .nullable = true,
     .type = {.kind = LC_TYPE_STRUCT},
     .n_children = 1,
     .children = inner},
    {.name = "named", .physical = "col-1", .id = 4, .nullable = true, .type = {.kind = LC_TYPE_INT32}}};
static const struct lc_field schema = {.name = "",
                                       .physical = "",
                                       .id = LC_NO_ID,
                                       .type = {.kind = LC_TYPE_STRUCT},
                                       .n_children = sizeof(fields) / sizeof(fields[0]),
                                       .children = fields};
static const struct lc_path_map no_map;
static const struct lc_delta_files files = {.root = "/t", .path_map = &no_map, .schema = &schema};

static const struct lc_data_file *data_file(struct lc_arena *arena, const struct lc_delta_file *action)
{
    const struct lc_data_file *out = NULL;
    LC_ERROR lcdc_error *err = NULL;
    if (lc_delta_data_file(&files, action, arena, &out, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    return out;
}

static bool may_hold(const char *stats, const char *where)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_ERROR lcdc_error *err = NULL;
    const struct lc_expr *filter = NULL;
    const struct lc_range *ranges = NULL;
    size_t n = 0;
    bool excluded = true;
    struct lc_delta_file action = {.path = LC_STR("f"),
                                   .size = 1,
                                   .rows = lc_delta_stats_rows(lc_str_of(stats)),
                                   .stats = lc_str_of(stats),
                                   .base_row_id = -1,
                                   .default_row_version = -1};
    const struct lc_data_file *file = data_file(&arena, &action);
    if (lc_filter_parse(lc_str_of(where), &schema, &arena, &filter, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    assert_int_equal(lc_pushdown_ranges(filter, &arena, &n, &ranges, NULL), LCDC_OK);
    assert_int_equal(lc_pushdown_excludes(file, n, ranges, &excluded, NULL), LCDC_OK);
    return !excluded;
}

#define STATS(column, min, max)                                                                                        \
    "{\"numRecords\":5,\"minValues\":{\"" column "\":" min "},\"maxValues\":{\"" column "\":" max "},"                 \
    "\"nullCount\":{\"" column "\":0}}"

static const struct {
    const char *stats, *where;
    bool may_hold;
} bounds[] = {
    {STATS("i", "3", "7"), "i = 3", true},
    {STATS("i", "3", "7"), "i = 8", false},
    {STATS("i", "3", "7"), "i < 3", false},
    {STATS("i", "3", "7"), "i IS NULL", false},
    {STATS("i", "3.5", "7"), "i = 1", true}, /* no bound of this column */
    {STATS("i", "\"x\"", "7"), "i = 1", true},
    {STATS("i", "99999999999", "7"), "i = 1", true},
    {STATS("i", "null", "null"), "i = 1", true},
    /* cut to milliseconds downwards, so the largest may be up to 999 microseconds later */
    {STATS("ts", "\"2024-01-01T00:00:00.000Z\"", "\"2024-01-01T00:00:00.123Z\""), "ts = '2024-01-01 00:00:00.123999Z'",
     true},
    {STATS("ts", "\"2024-01-01T00:00:00.000Z\"", "\"2024-01-01T00:00:00.123Z\""), "ts > '2024-01-01 00:00:00.123Z'",
     true},
    {STATS("ts", "\"2024-01-01T00:00:00.000Z\"", "\"2024-01-01T00:00:00.123Z\""), "ts >= '2024-01-01 00:00:00.124Z'",
     false},
    {STATS("ts", "\"2024-01-01T00:00:00.000Z\"", "\"2024-01-01T00:00:00.123Z\""), "ts < '2024-01-01 00:00:00Z'", false},
    {STATS("ts", "\"2024-01-01T01:00:00.000+01:00\"", "\"2024-01-01T01:00:00.000+01:00\""),
     "ts = '2024-01-01 00:00:00Z'", true},
    {STATS("n", "\"2024-01-01T00:00:00.000\"", "\"2024-01-01T00:00:00.123\""), "n = '2024-01-01 00:00:00.1235'", true},
    {STATS("n", "\"2024-01-01T00:00:00.000\"", "\"2024-01-01T00:00:00.123\""), "n = '2024-01-01 00:00:00.125'", false},
    {STATS("day", "\"2024-01-01\"", "\"2024-01-31\""), "day = '2024-02-01'", false},
    {STATS("day", "\"2024-01-01\"", "\"2024-01-31\""), "day = '2024-01-31'", true},
    /* decimals pass through a double on their way */
    {STATS("m", "0.1", "123456789012345.67"), "m = 123456789012345.67", true},
    {STATS("m", "0.1", "123456789012345.67"), "m = 0.10", true},
    {STATS("m", "0.1", "9.99"), "m = 9.99", true},
    {STATS("m", "0.1", "9.99"), "m = 10.50", false},
    {STATS("m", "12", "13"), "m = 13.00", true},
    {STATS("m", "12", "13"), "m = 13.01", false},
    {STATS("m", "1.0", "999999999999999999.99"), "m = 999999999999999999.99", true},
    /* the text of a float is the shortest that names it, not its value */
    {STATS("f", "0.1", "0.1"), "f = '0.1'", true},
    {STATS("f", "16777.217", "16777.217"), "f = '16777.217'", true},
    {STATS("f", "0.1", "0.1"), "f = '0.2'", false},
    {STATS("f", "0.1", "0.1"), "f > 0.2", true}, /* NaN is above everything and in no bound */
    {STATS("d", "0.1", "0.1"), "d = 0.1", true},
    {STATS("d", "0.1", "0.1"), "d = 0.2", false},
    {STATS("d", "0.1", "0.1"), "d > 0.2", true},
    {STATS("s", "\"b\"", "\"d\""), "s = 'c'", true},
    {STATS("s", "\"b\"", "\"d\""), "s = 'e'", false},
    {STATS("b", "false", "false"), "b = true", false},
    {STATS("bin", "\"a\"", "\"b\""), "bin = X'ff'", true},
    {"{\"numRecords\":5,\"minValues\":{\"o\":{\"x\":1}},\"maxValues\":{\"o\":{\"x\":2}},\"nullCount\":{\"o\":{\"x\":0}}"
     "}",
     "o.x = 3", false},
    {"{\"numRecords\":5,\"minValues\":{\"o\":{\"x\":1}},\"maxValues\":{\"o\":{\"x\":2}},\"nullCount\":{\"o\":{\"x\":0}}"
     "}",
     "o.x = 2", true},
    /* names of files, not of people */
    {STATS("col-1", "1", "2"), "named = 3", false},
    {STATS("named", "1", "2"), "named = 3", true},
    {"{\"numRecords\":5,\"nullCount\":{\"i\":5}}", "i = 1", false},
    {"{\"numRecords\":5,\"nullCount\":{\"i\":5}}", "i IS NULL", true},
    {"{\"nullCount\":{\"i\":5}}", "i = 1", true},
    {"", "i = 1", true},
    {"{", "i = 1", true},
    {"[]", "i = 1", true},
};

static void test_statistics(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (may_hold(bounds[i].stats, bounds[i].where) != bounds[i].may_hold)
            fail_msg("%s: %s", bounds[i].stats, bounds[i].where);
}

static void test_locations(void **state)
{
    (void)state;
    static const char *const paths[][2] = {{"a/b.parquet", "/t/a/b.parquet"},
                                           {"a b", "/t/a b"},
                                           {"/elsewhere/x", "/elsewhere/x"},
                                           {"file:///y/z", "/y/z"},
                                           {"s3a://b/k", "s3://b/k"}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        struct lc_delta_file action = {.path = lc_str_of(paths[i][0]), .base_row_id = -1, .default_row_version = -1};
        const struct lc_data_file *file = data_file(&arena, &action);
        assert_string_equal(file->url, paths[i][1]);
        assert_string_equal(file->path, paths[i][0]);
        assert_false(file->has_row_ids);
    }
}

static void test_row_ids(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_delta_file action = {.path = LC_STR("a"), .base_row_id = 0, .default_row_version = 3};
    assert_true(data_file(&arena, &action)->has_row_ids);
    action.default_row_version = -1;
    assert_false(data_file(&arena, &action)->has_row_ids);
}

static void test_partition_values(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_delta_pair pairs[] = {{LC_STR("i"), LC_STR("-7"), false},
                                    {LC_STR("gone"), LC_STR("x"), false}, /* a column that was dropped */
                                    {LC_STR("s"), LC_STR(""), false},     /* the empty text is null */
                                    {LC_STR("day"), LC_STR("x"), true},
                                    {LC_STR("col-1"), LC_STR("5"), false},
                                    {LC_STR("ts"), LC_STR("2024-01-01 00:00:00.5"), false}};
    struct lc_delta_file action = {.path = LC_STR("a"), .n_partition_values = 6, .partition_values = pairs};
    const struct lc_data_file *file = data_file(&arena, &action);
    assert_int_equal(file->n_constants, 5);
    assert_ptr_equal(file->constants[0].field, &fields[0]);
    assert_int_equal(file->constants[0].value->i, -7);
    assert_true(file->constants[1].value->is_null);
    assert_true(file->constants[2].value->is_null);
    assert_string_equal(file->constants[3].field->name, "named");
    assert_int_equal(file->constants[4].value->i, 1704067200500000);
    assert_false(file->constants[4].only_if_missing);
    static const char *const wrong[][2] = {
        {"i", "seven"}, {"i", "3000000000"}, {"day", "2024-13-01"}, {"b", "yes"}, {"o", "x"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        LC_ERROR lcdc_error *err = NULL;
        struct lc_delta_pair pair = {lc_str_of(wrong[i][0]), lc_str_of(wrong[i][1]), false};
        action.n_partition_values = 1;
        action.partition_values = &pair;
        assert_int_equal(lc_delta_data_file(&files, &action, &arena, &file, &err), LCDC_CORRUPT);
        assert_non_null(strstr(lcdc_error_message(err), wrong[i][0]));
    }
}

static void expect_need(const struct lc_row_set *set, size_t i, const char *url, struct lc_span last)
{
    assert_true(i < set->n_needs);
    const struct lc_needed *need = &set->needs[i];
    assert_string_equal(need->url, url);
    assert_int_equal(need->size, -1);
    assert_int_equal(need->spans[need->n_spans - 1].offset, last.offset);
    assert_int_equal(need->spans[need->n_spans - 1].n, last.n);
}

static void test_row_sets(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_delta_file action = {.path = LC_STR("a"), .rows = 10, .base_row_id = -1, .default_row_version = -1};
    const struct lc_data_file *file = data_file(&arena, &action);
    struct lc_delta_vector none = {0}, some = {'p', LC_STR("/t/v.bin"), 1, 40, 4};
    struct lc_delta_vector far = {'p', LC_STR("/t/w.bin"), 1 << 20, 40, 1};
    struct lc_row_set set;
    assert_int_equal(lc_delta_row_set(&files, file, LC_DELTA_ROWS_ALIVE, NULL, &none, &arena, &set, NULL), LCDC_OK);
    assert_int_equal(set.rows, 10);
    assert_null(set.load);
    assert_int_equal(lc_delta_row_set(&files, file, LC_DELTA_ROWS_ALIVE, NULL, &some, &arena, &set, NULL), LCDC_OK);
    assert_int_equal(set.rows, 6);
    assert_int_equal(set.n_needs, 1);
    expect_need(&set, 0, "/t/v.bin", (struct lc_span){0, 49}); /* with the version before it and its frame */
    assert_int_equal(lc_delta_row_set(&files, file, LC_DELTA_ROWS_DIFFERENCE, &some, &none, &arena, &set, NULL),
                     LCDC_OK);
    assert_int_equal(set.rows, 4);
    assert_int_equal(set.n_needs, 1);
    expect_need(&set, 0, "/t/v.bin", (struct lc_span){0, 49});
    assert_int_equal(lc_delta_row_set(&files, file, LC_DELTA_ROWS_DIFFERENCE, &some, &far, &arena, &set, NULL),
                     LCDC_OK);
    assert_int_equal(set.n_needs, 2);
    expect_need(&set, 0, "/t/w.bin", (struct lc_span){1 << 20, 48}); /* the version is a span of its own */
    expect_need(&set, 1, "/t/v.bin", (struct lc_span){0, 49});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics),       cmocka_unit_test(test_locations), cmocka_unit_test(test_row_ids),
        cmocka_unit_test(test_partition_values), cmocka_unit_test(test_row_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
