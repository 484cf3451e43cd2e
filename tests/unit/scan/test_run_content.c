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

/* ---- the quick way ---- */

enum { QUICK_ROWS = 400, QUICK_LIMIT = 12000 /* so little that a side is not kept whole, enough for the quick way */ };

/* Row k of a side: a time that is cheap to read, a text that is not. */
static void put_side(struct scan_case *c, const char *path, int rows, const int *keys, int later, int other_text)
{
    LC_BUF struct lc_buf json;
    lc_buf_init(&json, 1 << 20);
    for (int i = 0; i < rows; i++) {
        unsigned text = (unsigned)keys[i] * 2654435761u + (keys[i] == other_text);
        lc_buf_printf(&json, "%c{\"k\":%d,\"d\":%d.5,\"v\":\"", i ? ',' : '[', keys[i], keys[i] == later);
        for (int word = 0; word < 12; word++, text = text * 1664525u + 1013904223u)
            lc_buf_printf(&json, "%08x", text ^ text >> 15);
        lc_buf_printf(&json, "\"}");
    }
    lc_buf_char(&json, ']');
    scan_put(c->storage, path, "kvd", json.p);
}

struct quick {
    const char *title;
    int removed_copies, added_copies; /* of row 50 */
    int later, other_text;            /* keys of changed rows; -1 none */
    int gone, fresh;                  /* keys on one side alone */
    int64_t opens;                    /* of both files together: what the comparison cost */
};

/*
 * Four readings: a glance for the columns' sizes, their first columns, and each side once. Where that does not tell,
 * the certain way follows with one reading of each side, and one of the rows that are left and were not kept.
 */
static const struct quick quick_cases[] = {
    {"a time moves on", 1, 1, 7, -1, -1, -1, 4},
    {"a row goes", 1, 1, -1, -1, 9, -1, 4},
    {"a row comes", 1, 1, -1, -1, -1, 399, 4},
    {"all of it", 1, 1, 11, -1, 12, 399, 4},
    {"nothing", 1, 1, -1, -1, -1, -1, 4},
    {"equal rows, all of them again", 3, 3, 7, -1, -1, -1, 4},
    {"equal rows, all of them gone", 3, 0, -1, -1, -1, -1, 4},
    {"a text alone", 1, 1, -1, 7, -1, -1, 7},
    {"one of three equal rows goes", 3, 2, -1, -1, -1, -1, 7},
    {"one of three equal rows comes", 2, 3, -1, -1, -1, -1, 7},
    {"a text and a time", 1, 1, 11, 7, 12, 399, 7},
};

static int fill_side(bool is_added, const struct quick *q, int *keys)
{
    int n = 0, copies = is_added ? q->added_copies : q->removed_copies;
    for (int k = 0; k < QUICK_ROWS; k++) {
        int key = is_added ? QUICK_ROWS - 1 - k : k; /* the order of the sides differs */
        bool is_there = key != (is_added ? q->gone : q->fresh);
        for (int i = 0; i < (key == 50 ? copies : is_there); i++)
            keys[n++] = key;
    }
    return n;
}

static void expect_rows(const struct scan_case *c, char op, int key, int n, const char *title)
{
    char word[32];
    int found = 0;
    snprintf(word, sizeof(word), "%c{<%d>", op, key);
    for (const char *p = c->text.p; p && (p = strstr(p, word)); p++)
        found++;
    if (found != n)
        fail_msg("%s: %d of %s, %d expected", title, found, word, n);
}

static void expect_quick(const struct quick *q, int64_t threads)
{
    struct scan_case c;
    struct lc_meter meter = {0};
    struct lc_counts counts;
    int keys[2][QUICK_ROWS + 3];
    int n_removed = fill_side(false, q, keys[0]), n_added = fill_side(true, q, keys[1]);
    struct lc_data_file files[2] = {{.path = "a", .url = "/a", .size = -1, .rows = n_removed},
                                    {.path = "b", .url = "/b", .size = -1, .rows = n_added}};
    struct lc_row_set removed = {.file = &files[0], .rows = n_removed}, added = {.file = &files[1], .rows = n_added};
    init(&c, &removed, &added);
    put_side(&c, "/a", n_removed, keys[0], -1, -1);
    put_side(&c, "/b", n_added, keys[1], q->later, q->other_text);
    assert_int_equal(lc_storage_meter(c.storage, &meter, &c.storage, NULL), LCDC_OK);
    c.memory_limit = QUICK_LIMIT;
    c.batch_rows = 64;
    c.threads = threads;
    LC_ERROR lcdc_error *err = NULL;
    if (scan_execute(&c, &err) != LCDC_OK)
        fail_msg("%s: %s", q->title, lcdc_error_message(err));
    int gone = q->removed_copies - q->added_copies, changed[] = {q->later, q->other_text}, all = abs(gone);
    expect_rows(&c, 'd', 50, gone > 0 ? gone : 0, q->title);
    expect_rows(&c, 'i', 50, gone < 0 ? -gone : 0, q->title);
    for (int i = 0; i < 2; i++) {
        expect_rows(&c, 'd', changed[i], changed[i] >= 0, q->title);
        expect_rows(&c, 'i', changed[i], changed[i] >= 0, q->title);
        all += changed[i] >= 0 ? 2 : 0;
    }
    expect_rows(&c, 'd', q->gone, q->gone >= 0, q->title);
    expect_rows(&c, 'i', q->fresh, q->fresh >= 0, q->title);
    all += (q->gone >= 0) + (q->fresh >= 0);
    for (const char *p = c.text.p; p && (p = strchr(p, '{')); p++)
        all--;
    assert_int_equal(all, 0);
    lc_meter_counts(&meter, &counts);
    if (counts.opens != q->opens)
        fail_msg("%s: files were opened %d times, %d expected", q->title, (int)counts.opens, (int)q->opens);
    scan_done(&c);
}

static void test_quick_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(quick_cases) / sizeof(*quick_cases); i++)
        for (int64_t threads = 1; threads < 3; threads++)
            expect_quick(&quick_cases[i], threads);
}

/* Two rows that take each other's texts: whatever is summed up over columns or rows one by one stays as it was. */
static void test_values_that_swap_places(void **state)
{
    (void)state;
    struct scan_case c;
    struct lc_data_file files[2] = {{.path = "a", .url = "/a", .size = -1, .rows = QUICK_ROWS},
                                    {.path = "b", .url = "/b", .size = -1, .rows = QUICK_ROWS}};
    struct lc_row_set removed = {.file = &files[0], .rows = QUICK_ROWS},
                      added = {.file = &files[1], .rows = QUICK_ROWS};
    init(&c, &removed, &added);
    for (int side = 0; side < 2; side++) {
        LC_BUF struct lc_buf json;
        lc_buf_init(&json, 1 << 20);
        for (int k = 0; k < QUICK_ROWS; k++) {
            int text = side && (k == 20 || k == 30) ? 50 - k : k, number = side && (k == 70 || k == 80) ? 150 - k : k;
            lc_buf_printf(&json, "%c{\"k\":%d,\"d\":%d.0,\"v\":\"", k ? ',' : '[', k, number);
            for (unsigned word = 0, bits = (unsigned)text * 2654435761u; word < 12; word++, bits = bits * 1664525u + 1u)
                lc_buf_printf(&json, "%08x", bits ^ bits >> 15);
            lc_buf_printf(&json, "\"}");
        }
        lc_buf_char(&json, ']');
        scan_put(c.storage, files[side].url, "kvd", json.p);
    }
    c.memory_limit = QUICK_LIMIT;
    c.columns = "kd";
    scan_expect(&c, "d{<20>,<20.0>} d{<30>,<30.0>} d{<70>,<70.0>} d{<80>,<80.0>} "
                    "i{<20>,<20.0>} i{<30>,<30.0>} i{<70>,<80.0>} i{<80>,<70.0>} ");
    scan_done(&c);
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
    c.memory_limit = 400; /* enough for the quick way, which does not tell here */
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
        cmocka_unit_test(test_quick_way),
        cmocka_unit_test(test_values_that_swap_places),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
