/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run_content.c - rewritten files without ids: equal rows of both sides cancel one for one, whatever the memory.
 */
#include "scan_test.h"

#include <stdlib.h>

#define ROW(k, v, d) "{\"k\":" #k ",\"v\":" v ",\"d\":" d "}"

static const struct lc_data_file old_file = {.path = "old", .url = "/old", .size = -1, .rows = 6};
static const struct lc_data_file new_file = {.path = "new", .url = "/new", .size = -1, .rows = 6};

static void init(struct scan_case *c, struct lc_row_set *removed, struct lc_row_set *added)
{
    scan_init(c, lc_run_content);
    c->commit.removed = removed;
    c->commit.added = added;
    c->commit.n_removed = c->commit.n_added = 1;
    scan_put(c->storage, "/old", "kvd",
             "[" ROW(1, "\"a\"", "1.0") "," ROW(1, "\"a\"", "1.0") "," ROW(2, "null", "\"NaN\"") "," ROW(
                 3, "\"c\"", "0.0") "," ROW(4, "\"d\"", "null") "," ROW(1, "\"a\"", "1.0") "]");
    scan_put(c->storage, "/new", "kvd",
             "[" ROW(2, "null", "\"NaN\"") "," ROW(1, "\"a\"", "1.0") "," ROW(3, "\"c\"", "-0.0") "," ROW(
                 5, "\"e\"", "null") "," ROW(5, "\"e\"", "null") "," ROW(4, "\"d\"", "null") "]");
}

static const char difference[] = "d{<1>,<a>,<1.0>} d{<3>,<c>,<0.0>} d{<1>,<a>,<1.0>} "
                                 "i{<3>,<c>,<-0.0>} i{<5>,<e>,null} i{<5>,<e>,null} ";

static void test_difference(void **state)
{
    (void)state;
    struct lc_row_set removed = {.file = &old_file, .rows = 6}, added = {.file = &new_file, .rows = 6};
    struct scan_case c;
    init(&c, &removed, &added);
    for (int64_t batch_rows = 0; batch_rows < 4; batch_rows++) {
        c.batch_rows = batch_rows;
        scan_expect(&c, difference);
    }
    scan_done(&c);
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Words of a text in order, for results whose order may differ. */
static size_t words_of(char *text, char **words)
{
    size_t n = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[n++] = word;
    qsort(words, n, sizeof(*words), compare_words);
    return n;
}

/* The smaller the memory, the more parts the hashes are cut into; what leaves stays the same. */
static void test_many_parts(void **state)
{
    (void)state;
    struct lc_row_set removed = {.file = &old_file, .rows = 6}, added = {.file = &new_file, .rows = 6};
    struct scan_case c;
    init(&c, &removed, &added);
    for (int64_t limit = 1; limit < 400; limit = limit * 2 + 1) {
        LC_ERROR lcdc_error *err = NULL;
        char expected[sizeof(difference)], *want[16], *found[16];
        c.memory_limit = limit;
        c.batch_rows = 2;
        assert_int_equal(scan_execute(&c, &err), LCDC_OK);
        assert_null(strstr(strstr(c.text.p, "i{"), "d{")); /* no delete after an insert */
        strcpy(expected, difference);
        size_t n = words_of(expected, want);
        assert_int_equal(words_of(c.text.p, found), n);
        for (size_t i = 0; i < n; i++)
            assert_string_equal(found[i], want[i]);
    }
    scan_done(&c);
}

/* Rows differ by a column that is not shown. */
static void test_projection_compares_whole_rows(void **state)
{
    (void)state;
    struct lc_row_set removed = {.file = &old_file, .rows = 6}, added = {.file = &new_file, .rows = 6};
    struct scan_case c;
    init(&c, &removed, &added);
    c.columns = "k";
    scan_expect(&c, "d{<1>} d{<3>} d{<1>} i{<3>} i{<5>} i{<5>} ");
    c.columns = "vk";
    c.where = "k >= 3";
    scan_expect(&c, "d{<c>,<3>} i{<c>,<3>} i{<e>,<5>} i{<e>,<5>} ");
    c.where = "v IS NULL";
    scan_expect(&c, "");
    scan_done(&c);
}

static void test_some_rows_of_a_file(void **state)
{
    (void)state;
    LC_BITMAP struct lc_bitmap *exclude = NULL, *include = NULL;
    assert_int_equal(lc_bitmap_new(&exclude, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_new(&include, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_range(exclude, 0, 2, NULL), LCDC_OK); /* two of the three equal rows */
    assert_int_equal(lc_bitmap_add_range(include, 1, 3, NULL), LCDC_OK);
    struct lc_row_set removed = {.file = &old_file, .rows = 4, .exclude = exclude};
    struct lc_row_set added = {.file = &new_file, .rows = 3, .include = include};
    struct scan_case c;
    init(&c, &removed, &added);
    scan_expect(&c, "d{<2>,null,<NaN>} d{<3>,<c>,<0.0>} d{<4>,<d>,null} i{<3>,<c>,<-0.0>} i{<5>,<e>,null} ");
    scan_done(&c);
}

/* Rows past what the metadata says would be numbered like another file's. */
static void test_more_rows_than_said(void **state)
{
    (void)state;
    static const struct lc_data_file unknown = {.path = "new", .url = "/new", .size = -1, .rows = -1};
    struct lc_row_set removed = {.file = &old_file, .rows = 6}, added = {.file = &unknown, .rows = 3};
    struct scan_case c;
    init(&c, &removed, &added);
    scan_expect_error(&c, "table.row_count", "new");
    added.rows = -1; /* nothing said: the footer knows */
    scan_expect(&c, difference);
    static const struct lc_data_file wrong = {.path = "new", .url = "/new", .size = -1, .rows = 7};
    added.file = &wrong;
    scan_expect_error(&c, "table.row_count", "new holds 6 rows, the table's metadata says 7");
    scan_done(&c);
}

static void test_row_ids_come_along(void **state)
{
    (void)state;
    static const struct lc_data_file with_ids = {
        .path = "old", .url = "/old", .size = -1, .rows = 3, .has_row_ids = true, .base_row_id = 100};
    static const struct lc_data_file without = {.path = "new", .url = "/new", .size = -1, .rows = 1};
    struct lc_row_set removed = {.file = &with_ids, .rows = 3}, added = {.file = &without, .rows = 1};
    struct scan_case c;
    init(&c, &removed, &added);
    scan_put(c.storage, "/old", "kvi",
             "[{\"k\":1,\"v\":\"a\",\"_id\":7},{\"k\":2,\"v\":\"b\",\"_id\":null},{\"k\":3,\"v\":\"c\",\"_id\":9}]");
    scan_put(c.storage, "/new", "kv", "[{\"k\":1,\"v\":\"a\"}]");
    c.commit.row_id = scan_id;
    c.row_ids = true;
    scan_expect(&c, "d{<2>,<b>,null} d{<3>,<c>,null} @101 @9 ");
    c.where = "k = 3";
    scan_expect(&c, "d{<3>,<c>,null} @9 ");
    scan_done(&c);
}

/* Random sides against a plain count. */
static void test_random_sides(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 6; seed++) {
        enum { ROWS = 300, KEYS = 60 };
        int count[KEYS] = {0}, found[KEYS] = {0};
        unsigned random = seed;
        struct lc_data_file files[2] = {{.path = "a", .url = "/a", .size = -1, .rows = ROWS},
                                        {.path = "b", .url = "/b", .size = -1, .rows = ROWS}};
        struct lc_row_set removed = {.file = &files[0], .rows = ROWS}, added = {.file = &files[1], .rows = ROWS};
        struct scan_case c;
        init(&c, &removed, &added);
        for (int side = 0; side < 2; side++) {
            LC_BUF struct lc_buf json;
            lc_buf_init(&json, 1 << 20);
            for (int i = 0; i < ROWS; i++) {
                random = random * 1103515245u + 12345u;
                int k = (int)(random >> 16) % KEYS;
                count[k] += side ? 1 : -1;
                lc_buf_printf(&json, "%c{\"k\":%d}", i ? ',' : '[', k);
            }
            lc_buf_char(&json, ']');
            scan_put(c.storage, files[side].url, "k", json.p);
        }
        c.columns = "k";
        c.batch_rows = 50;
        c.memory_limit = seed % 2 ? 1500 : 0;
        LC_ERROR lcdc_error *err = NULL;
        assert_int_equal(scan_execute(&c, &err), LCDC_OK);
        for (const char *p = c.text.p; p && (p = strchr(p, '{')); p++)
            found[atoi(p + 2)] += p[-1] == 'i' ? 1 : -1;
        assert_memory_equal(found, count, sizeof(count));
        scan_done(&c);
    }
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    struct lc_row_set removed = {.file = &old_file, .rows = 6}, added = {.file = &new_file, .rows = 6};
    struct scan_case c;
    init(&c, &removed, &added);
    c.memory_limit = 100;
    c.columns = "k";
    assert_true(lc_torture(scan_execute, &c));
    scan_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_many_parts),
        cmocka_unit_test(test_projection_compares_whole_rows),
        cmocka_unit_test(test_some_rows_of_a_file),
        cmocka_unit_test(test_more_rows_than_said),
        cmocka_unit_test(test_row_ids_come_along),
        cmocka_unit_test(test_random_sides),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
