/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ahead.c - rows of many files, decoded by several threads: the same rows in the same order whatever their number,
 * errors where they belong, and an end at any time.
 */
#include <stdlib.h>

#include "scan_test.h"

enum { FILES = 11 };

static struct lc_data_file files[FILES];
static struct lc_row_set sets[FILES];
static char paths[FILES][8];

/* File i holds i * 37 rows, so file 0 has none. */
static void init(struct scan_case *c)
{
    int64_t k = 0;
    scan_init(c, lc_run_plain);
    for (int i = 0; i < FILES; i++) {
        LC_BUF struct lc_buf json;
        lc_buf_init(&json, 1 << 20);
        lc_buf_char(&json, '[');
        for (int r = 0; r < i * 37; r++)
            lc_buf_printf(&json, "%s{\"k\":%d,\"v\":\"%0*d\"}", r ? "," : "", (int)k++, 900, r);
        lc_buf_char(&json, ']');
        snprintf(paths[i], sizeof(paths[i]), "/%d", i);
        scan_put(c->storage, paths[i], "kv", json.p);
        files[i] = (struct lc_data_file){.path = paths[i], .url = paths[i], .size = -1, .rows = i * 37};
        sets[i] = (struct lc_row_set){.file = &files[i], .rows = i * 37};
    }
    c->commit.added = sets;
    c->commit.n_added = FILES;
    c->columns = "k";
}

static void test_order(void **state)
{
    (void)state;
    struct scan_case c;
    LC_BUF struct lc_buf one;
    lc_buf_init(&one, 1 << 22);
    init(&c);
    c.batch_rows = 7;
    for (int64_t threads = 1; threads <= 6; threads++) {
        LC_ERROR lcdc_error *err = NULL;
        c.threads = threads;
        assert_int_equal(scan_execute(&c, &err), LCDC_OK);
        if (threads == 1) {
            lc_buf_append(&one, c.text.p, c.text.n);
            int64_t k = 0; /* sets as small as these come one after the other */
            for (const char *p = c.text.p; (p = strchr(p, '<')); p++)
                assert_int_equal(strtol(p + 1, NULL, 10), k++);
            assert_int_equal(k, 37 * 55);
        }
        assert_string_equal(c.text.p, one.p);
    }
    lc_buf_done(&one);
    one = (struct lc_buf){0};
    scan_done(&c);
}

/* A file of 5 MB: `rows` rows that do not compress away. */
static void put_large(struct lc_storage *storage, const char *path, int first, int rows)
{
    LC_BUF struct lc_buf json;
    lc_buf_init(&json, 1 << 24);
    for (int r = 0; r < rows; r++)
        lc_buf_printf(&json, "%s{\"k\":%d,\"v\":\"%0*d\"}", r ? "," : "[", first + r, 1000, r);
    lc_buf_char(&json, ']');
    scan_put(storage, path, "kv", json.p);
}

/* Sets larger than a turn are dealt out in stretches; what leaves is still the same for any number of threads. */
static void test_large_sets(void **state)
{
    (void)state;
    enum { SETS = 3, ROWS = 5000 };
    struct scan_case c;
    LC_BUF struct lc_buf one;
    lc_buf_init(&one, 1 << 25);
    init(&c);
    for (int i = 0; i < SETS; i++) {
        put_large(c.storage, paths[i], i * ROWS, ROWS);
        files[i].rows = sets[i].rows = ROWS;
    }
    c.commit.n_added = SETS;
    c.columns = "vk";
    c.batch_rows = 500;
    lc_buf_init(&c.text, 1 << 25);
    for (int64_t threads = 1; threads <= 4; threads++) {
        LC_ERROR lcdc_error *err = NULL;
        c.threads = threads;
        c.memory_limit = threads % 2 ? 0 : 1 << 20;
        assert_int_equal(scan_execute(&c, &err), LCDC_OK);
        if (threads == 1)
            lc_buf_append(&one, c.text.p, c.text.n);
        assert_string_equal(c.text.p, one.p);
    }
    const char *last_of_first = strstr(one.p, ",<4999>"), *first_of_second = strstr(one.p, ",<5000>");
    assert_true(last_of_first && first_of_second && first_of_second < last_of_first);
    scan_done(&c);
}

static void test_error(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    assert_true(lc_memory_storage_remove(c.storage, "/6"));
    for (c.threads = 1; c.threads <= 4; c.threads++) {
        scan_expect_error(&c, "io.file_missing", "/6");
        assert_non_null(strstr(c.text.p, "<370>")); /* a row of file 4, which comes before */
    }
    scan_done(&c);
}

static lcdc_status make_row_counts(void *context, struct lc_decoded *decoded, struct lc_change_batch *out,
                                   lcdc_error **err)
{
    (void)context;
    (void)err;
    out->n = decoded->images.length;
    lc_array_move(&decoded->images, &out->images);
    return LCDC_OK;
}

/* Closed while threads wait for room and for rows. */
static void test_closed_half_way(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    for (int taken = 0; taken < 30; taken += 3) {
        struct lc_scan_context context = {.storage = c.storage,
                                          .schema = &scan_table,
                                          .match = LC_MATCH_PHYSICAL_NAME,
                                          .batch_rows = 5,
                                          .threads = 4};
        struct lc_ahead_request request = {
            .context = &context, .n = FILES, .sets = sets, .rows = {.columns = &scan_table}, .make = make_row_counts};
        LC_CLEANUP(lc_ahead_closep) struct lc_ahead *ahead = NULL;
        assert_int_equal(lc_ahead_open(&request, &ahead, NULL), LCDC_OK);
        for (int i = 0; i < taken; i++) {
            LC_CHANGE_BATCH struct lc_change_batch batch = {0};
            bool more = false;
            assert_int_equal(lc_ahead_next(ahead, &batch, &more, NULL), LCDC_OK);
            assert_true(more);
        }
    }
    scan_done(&c);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    c.commit.n_added = 3;
    c.threads = 1;
    assert_true(lc_torture(scan_execute, &c));
    scan_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),           cmocka_unit_test(test_large_sets),      cmocka_unit_test(test_error),
        cmocka_unit_test(test_closed_half_way), cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
