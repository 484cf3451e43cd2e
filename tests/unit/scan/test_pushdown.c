/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pushdown.c - which intervals a filter implies, and which files they rule out unread.
 *
 * A row gives a filter and, for files whose facts are below, an x where the file may be skipped.
 */
#include "scan_test.h"

/* k 10..20 no nulls | k 30..30, 1 null of 3 | k all null | k unknown | partition v = 'b' | partition v null */
enum { FILES = 6 };

static const struct lc_value ten = {.type = {.kind = LC_TYPE_INT32}, .i = 10};
static const struct lc_value twenty = {.type = {.kind = LC_TYPE_INT32}, .i = 20};
static const struct lc_value thirty = {.type = {.kind = LC_TYPE_INT32}, .i = 30};
static const struct lc_value b = {.type = {.kind = LC_TYPE_STRING}, .str = {"b", 1}};
static const struct lc_value null = {.is_null = true, .type = {.kind = LC_TYPE_STRING}};
static const struct lc_constant is_b = {.field = &scan_fields[1], .value = &b};
static const struct lc_constant is_null = {.field = &scan_fields[1], .value = &null};

static bool stats(const struct lc_data_file *file, const struct lc_field *leaf, struct lc_arena *arena,
                  struct lc_column_stats *out)
{
    static const struct lc_column_stats known[3] = {
        {&ten, &twenty, 0, 3}, {&thirty, &thirty, 1, 3}, {NULL, NULL, 3, 3}};
    (void)arena;
    if (leaf->name[0] != 'k' || file->path[0] > '2')
        return false;
    *out = known[file->path[0] - '0'];
    return true;
}

static const struct lc_data_file files[FILES] = {
    {.path = "0", .rows = 3, .stats = stats},
    {.path = "1", .rows = 3, .stats = stats},
    {.path = "2", .rows = 3, .stats = stats},
    {.path = "3", .rows = 3},
    {.path = "4", .rows = 3, .n_constants = 1, .constants = &is_b},
    {.path = "5", .rows = 3, .n_constants = 1, .constants = &is_null},
};

static const struct {
    const char *filter, *skipped;
} cases[] = {
    {"k = 15", ".xx..."},
    {"k = 9", "xxx..."},
    {"k = 30", "x.x..."},
    {"k < 10", "xxx..."},
    {"k <= 10", ".xx..."},
    {"k > 20", "x.x..."},
    {"k >= 20", "..x..."},
    {"k > 30", "xxx..."},
    {"k <> 30", "......"},
    {"k IN (1, 2, 99)", "xxx..."},
    {"k IN (1, 25, 99)", "xxx..."}, /* each value lies outside, though they span the file */
    {"k IN (1, 20, NULL)", ".xx..."},
    {"k NOT IN (15)", "......"},
    {"k BETWEEN 21 AND 29", "xxx..."},
    {"k IS NULL", "x....."},
    {"k IS NOT NULL", "..x..."},
    {"NOT (k IS NULL)", "..x..."},
    {"k = NULL", "......"},
    {"v = 'b'", ".....x"},
    {"v = 'c'", "....xx"},
    {"v IN ('a', 'c')", "....xx"},
    {"v IS NULL", "....x."},
    {"v IS NOT NULL", ".....x"},
    {"v LIKE 'c%'", "......"},
    {"k = 9 AND v = 'c'", "xxx.xx"},
    {"(k >= 9 AND k <= 9) AND v = 'c'", "xxx.xx"},
    {"k BETWEEN 9 AND 9 AND v = 'c'", "xxx.xx"},
    {"k = 9 OR v = 'c'", "......"},
    {"k = 9 OR k = 8", "......"},
    {"NOT (k = 15)", "......"},
    {"k = 15 AND (v = 'c' OR v = 'd')", ".xx..."},
    {"TRUE", "......"},
};

static void test_files_skipped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        const struct lc_expr *filter = NULL;
        const struct lc_range *ranges = NULL;
        size_t n = 0;
        char skipped[FILES + 1] = {0};
        assert_int_equal(lc_filter_parse(lc_str_of(cases[i].filter), &scan_table, &arena, &filter, NULL), LCDC_OK);
        assert_int_equal(lc_pushdown_ranges(filter, &arena, &n, &ranges, NULL), LCDC_OK);
        for (int f = 0; f < FILES; f++) {
            bool excluded = true;
            assert_int_equal(lc_pushdown_excludes(&files[f], n, ranges, &excluded, NULL), LCDC_OK);
            skipped[f] = excluded ? 'x' : '.';
        }
        if (strcmp(skipped, cases[i].skipped) != 0)
            fail_msg("%s: %s, expected %s", cases[i].filter, skipped, cases[i].skipped);
    }
}

static void test_no_filter(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    const struct lc_range *ranges = NULL;
    size_t n = 9;
    bool excluded = true;
    assert_int_equal(lc_pushdown_ranges(NULL, &arena, &n, &ranges, NULL), LCDC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(lc_pushdown_excludes(&files[0], 0, NULL, &excluded, NULL), LCDC_OK);
    assert_false(excluded);
}

static bool odd_bucket(const struct lc_data_file *file, const struct lc_range *range)
{
    (void)file;
    return range->low && range->low == range->high && range->low->i % 2 == 0;
}

/* A hash partition knows more than an interval; a value only for files that lack the column knows less. */
static void test_what_else_is_known(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    const struct lc_expr *filter = NULL;
    const struct lc_range *ranges = NULL;
    size_t n;
    bool excluded;
    struct lc_data_file bucket = {.path = "9", .rows = 3, .excludes = odd_bucket};
    assert_int_equal(lc_filter_parse(LC_STR("k = 4"), &scan_table, &arena, &filter, NULL), LCDC_OK);
    assert_int_equal(lc_pushdown_ranges(filter, &arena, &n, &ranges, NULL), LCDC_OK);
    assert_int_equal(lc_pushdown_excludes(&bucket, n, ranges, &excluded, NULL), LCDC_OK);
    assert_true(excluded);
    struct lc_constant perhaps = is_b;
    perhaps.only_if_missing = true;
    struct lc_data_file identity = {.path = "9", .rows = 3, .n_constants = 1, .constants = &perhaps};
    assert_int_equal(lc_filter_parse(LC_STR("v = 'zzz'"), &scan_table, &arena, &filter, NULL), LCDC_OK);
    assert_int_equal(lc_pushdown_ranges(filter, &arena, &n, &ranges, NULL), LCDC_OK);
    assert_int_equal(lc_pushdown_excludes(&identity, n, ranges, &excluded, NULL), LCDC_OK);
    assert_false(excluded);
}

static void test_same_column(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field copy;
    const struct lc_field *chosen[] = {&scan_fields[1]};
    assert_int_equal(lc_field_project(&scan_table, 1, chosen, &arena, &copy, NULL), LCDC_OK);
    assert_true(lc_same_column(&copy.children[0], &scan_fields[1]));
    assert_false(lc_same_column(&copy.children[0], &scan_fields[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_skipped),
        cmocka_unit_test(test_no_filter),
        cmocka_unit_test(test_what_else_is_known),
        cmocka_unit_test(test_same_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
