/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run_lineage.c - rewritten files whose rows carry ids: updates, inserts and deletes by id and version; where the
 * ids do not add up the run says so.
 *
 * Commit 5 rewrites file "old" (ids 0 to 3 unless the file holds others) as file "new".
 */
#include <stdlib.h>

#include "scan_test.h"

static struct lc_data_file old_file, new_file;
static struct lc_row_set removed, added;

static void init(struct scan_case *c)
{
    scan_init(c, lc_run_lineage);
    old_file = (struct lc_data_file){.path = "old",
                                     .url = "/old",
                                     .size = -1,
                                     .rows = 4,
                                     .has_row_ids = true,
                                     .base_row_id = 0,
                                     .default_row_version = 1};
    new_file = (struct lc_data_file){.path = "new",
                                     .url = "/new",
                                     .size = -1,
                                     .rows = -1,
                                     .has_row_ids = true,
                                     .base_row_id = 100,
                                     .default_row_version = 5};
    removed = (struct lc_row_set){.file = &old_file, .rows = 4};
    added = (struct lc_row_set){.file = &new_file, .rows = -1};
    c->columns = "kv";
    c->commit.removed = &removed;
    c->commit.added = &added;
    c->commit.n_removed = c->commit.n_added = 1;
    c->commit.diff = LC_DIFF_LINEAGE;
    c->commit.row_version = 5;
    c->commit.row_id = scan_id;
    c->commit.row_version_field = scan_version;
    scan_put(c->storage, "/old", "kv",
             "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"},{\"k\":3,\"v\":\"c\"},{\"k\":4,\"v\":\"d\"}]");
}

#define ROW(k, v, id, ver) "{\"k\":" #k ",\"v\":\"" v "\",\"_id\":" #id ",\"_ver\":" #ver "}"

static void rewrite(struct scan_case *c, const char *rows)
{
    scan_put(c->storage, "/new", "kvir", rows);
}

static void expect_unusable(struct scan_case *c)
{
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(scan_execute(c, &err), LCDC_OK);
    assert_true(c->no_run);
}

static void test_all_kinds(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    /* 3 is copied, 2 updated, 1 copied, 4 deleted, 9 new; a null is the file's default */
    rewrite(&c, "[" ROW(3, "c", 2, 1) "," ROW(2, "B", 1, null) "," ROW(1, "a", 0, 1) "," ROW(9, "n", null, null) "]");
    scan_expect(&c, "b{<2>,<b>} d{<4>,<d>} @1 @3 a{<2>,<B>} i{<9>,<n>} @1 @103 ");
    c.batch_rows = 1;
    scan_expect(&c, "b{<2>,<b>} @1 d{<4>,<d>} @3 a{<2>,<B>} @1 i{<9>,<n>} @103 ");
    c.batch_rows = 0;
    c.where = "k <> 2";
    scan_expect(&c, "d{<4>,<d>} @3 i{<9>,<n>} @103 ");
    c.where = "v = 'B'"; /* the half that passes */
    scan_expect(&c, "a{<2>,<B>} @1 ");
    c.where = NULL;
    c.columns = "v";
    scan_expect(&c, "b{<b>} d{<d>} @1 @3 a{<B>} i{<n>} @1 @103 ");
    scan_done(&c);
}

static void test_updates_alone(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    rewrite(&c, "[" ROW(1, "a", 0, 5) "," ROW(2, "b", 1, 1) "," ROW(3, "c", 2, 4) "," ROW(7, "d", 3, 5) "]");
    /* an update that changed nothing is one all the same; one may change the identity columns */
    scan_expect(&c, "b{<1>,<a>} b{<4>,<d>} @0 @3 a{<1>,<a>} a{<7>,<d>} @0 @3 ");
    scan_done(&c);
}

static void test_nothing_changed(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    rewrite(&c, "[" ROW(4, "d", 3, 1) "," ROW(3, "c", 2, 1) "," ROW(2, "b", 1, 1) "," ROW(1, "a", 0, 1) "]");
    scan_expect(&c, "");
    scan_done(&c);
}

static void test_everything_deleted(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    rewrite(&c, "[" ROW(8, "x", null, null) "]");
    scan_expect(&c, "d{<1>,<a>} d{<2>,<b>} d{<3>,<c>} d{<4>,<d>} @0 @1 @2 @3 i{<8>,<x>} @100 ");
    c.commit.n_added = 0;
    scan_expect(&c, "d{<1>,<a>} d{<2>,<b>} d{<3>,<c>} d{<4>,<d>} @0 @1 @2 @3 ");
    scan_done(&c);
}

/* The old file was rewritten before: it holds ids itself, in another order. */
static void test_ids_in_the_old_file(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    scan_put(c.storage, "/old", "kvir",
             "[" ROW(1, "a", 17, 1) "," ROW(2, "b", 3, 2) "," ROW(3, "c", null, null) "," ROW(4, "d", 9, 1) "]");
    rewrite(&c, "[" ROW(2, "b", 3, 2) "," ROW(4, "D", 9, 5) "," ROW(3, "c", 2, 1) "]");
    scan_expect(&c, "d{<1>,<a>} b{<4>,<d>} @17 @9 a{<4>,<D>} @9 ");
    scan_done(&c);
}

/* Rows that a deletion vector had taken out are not alive, so they are neither updated nor deleted. */
static void test_vectors_of_the_old_file(void **state)
{
    (void)state;
    struct scan_case c;
    LC_BITMAP struct lc_bitmap *gone = NULL;
    assert_int_equal(lc_bitmap_new(&gone, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(gone, 1, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(gone, 3, NULL), LCDC_OK);
    init(&c);
    removed.exclude = gone;
    removed.rows = 2;
    rewrite(&c, "[" ROW(1, "A", 0, 5) "," ROW(2, "b", null, null) "]");
    scan_expect(&c, "b{<1>,<a>} d{<3>,<c>} @0 @2 a{<1>,<A>} i{<2>,<b>} @0 @101 ");
    old_file.rows = -1; /* the footer knows */
    scan_expect(&c, "b{<1>,<a>} d{<3>,<c>} @0 @2 a{<1>,<A>} i{<2>,<b>} @0 @101 ");
    scan_done(&c);
}

static void test_ids_that_do_not_add_up(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    rewrite(&c, "[" ROW(1, "A", 0, 5) "," ROW(2, "B", 0, 5) "]"); /* given twice */
    expect_unusable(&c);
    rewrite(&c, "[" ROW(1, "a", 0, 1) "," ROW(2, "b", 77, 1) "]"); /* copied from nowhere */
    expect_unusable(&c);
    rewrite(&c, "[" ROW(1, "a", 0, 1) "," ROW(1, "a", 0, 1) "]"); /* copied twice */
    expect_unusable(&c);
    rewrite(&c, "[" ROW(1, "a", 0, 1) "," ROW(2, "b", 1, 1) "," ROW(3, "c", 2, 1) "," ROW(4, "d", 3, 1) "," ROW(
                    5, "e", 4, 1) "]"); /* more copied than was alive */
    expect_unusable(&c);
    scan_done(&c);
}

/* A file that comes back from an earlier version says nothing of what changed. */
static void test_a_restored_file(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    rewrite(&c, "[" ROW(1, "a", 0, 1) "]");
    new_file.default_row_version = 3;
    expect_unusable(&c);
    new_file.default_row_version = 5;
    scan_expect(&c, "d{<2>,<b>} d{<3>,<c>} d{<4>,<d>} @1 @2 @3 ");
    LC_BITMAP struct lc_bitmap *some = NULL;
    assert_int_equal(lc_bitmap_new(&some, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(some, 0, NULL), LCDC_OK);
    added.include = some; /* rows of a file whose vector shrank */
    expect_unusable(&c);
    scan_done(&c);
}

/* A writer that gave every row a new id: content has the last word, where that is asked for. */
static void test_lost_ids(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    scan_put(c.storage, "/new", "kv",
             "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"B\"},{\"k\":4,\"v\":\"d\"},{\"k\":5,\"v\":\"e\"}]");
    scan_expect(&c, "d{<1>,<a>} d{<2>,<b>} d{<3>,<c>} d{<4>,<d>} @0 @1 @2 @3 "
                    "i{<1>,<a>} i{<2>,<B>} i{<4>,<d>} i{<5>,<e>} @100 @101 @102 @103 ");
    c.commit.ids_may_be_lost = true;
    scan_expect(&c, "d{<2>,<b>} d{<3>,<c>} i{<2>,<B>} i{<5>,<e>} ");
    c.row_ids = true;
    scan_expect(&c, "d{<2>,<b>} d{<3>,<c>} @1 @2 i{<2>,<B>} i{<5>,<e>} @101 @103 ");
    c.memory_limit = 1;
    c.where = "k = 2";
    scan_expect(&c, "d{<2>,<b>} @1 i{<2>,<B>} @101 ");
    scan_done(&c);
}

/* Updates by id stay updates where other rows lost theirs. */
static void test_some_ids_lost(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    c.commit.ids_may_be_lost = true;
    rewrite(&c,
            "[" ROW(1, "A", 0, 5) "," ROW(2, "b", null, null) "," ROW(3, "c", 2, 1) "," ROW(6, "f", null, null) "]");
    scan_expect(&c, "b{<1>,<a>} @0 d{<4>,<d>} i{<6>,<f>} a{<1>,<A>} @0 ");
    scan_done(&c);
}

/* More rows of one file than any block in between holds, with ids that do not begin at 0. */
static void test_many_rows(void **state)
{
    (void)state;
    enum { ROWS = 5000, BASE = 70000 };
    struct scan_case c;
    struct lc_buf before, after;
    int64_t updated = 0;
    init(&c);
    lc_buf_init(&before, 1 << 20);
    lc_buf_init(&after, 1 << 20);
    for (int i = 0; i < ROWS; i++) {
        bool is_copy = i % 3 == 0;
        lc_buf_printf(&before, "%s{\"k\":%d,\"v\":\"a\"}", i ? "," : "[", i);
        lc_buf_printf(&after, "%s{\"k\":%d,\"v\":\"%s\",\"_id\":%d,\"_ver\":%d}", i ? "," : "[", i, is_copy ? "a" : "b",
                      BASE + i, is_copy ? 1 : 5);
        updated += !is_copy;
    }
    lc_buf_char(&before, ']');
    lc_buf_char(&after, ']');
    scan_put(c.storage, "/old", "kv", before.p);
    rewrite(&c, after.p);
    old_file.rows = removed.rows = ROWS;
    old_file.base_row_id = BASE;
    c.columns = "k";
    assert_int_equal(scan_execute(&c, NULL), LCDC_OK);
    int64_t befores = 0, afters = 0;
    for (const char *p = c.text.p; (p = strchr(p, '{')); p++) {
        assert_int_not_equal(strtol(p + 2, NULL, 10) % 3, 0);
        befores += p[-1] == 'b';
        afters += p[-1] == 'a';
    }
    assert_int_equal(befores, updated);
    assert_int_equal(afters, updated);
    lc_buf_done(&before);
    lc_buf_done(&after);
    scan_done(&c);
}

static void test_hostile_ids(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    rewrite(&c, "[" ROW(1, "A", -2, 5) "]");
    scan_expect_error(&c, "parquet.bad", "new: row id -2 is negative");
    rewrite(&c, "[" ROW(1, "A", null, 5) "]");
    new_file.base_row_id = INT64_MAX; /* the first row's id is the largest there is, the next has none */
    scan_expect(&c, "d{<1>,<a>} d{<2>,<b>} d{<3>,<c>} d{<4>,<d>} @0 @1 @2 @3 i{<1>,<A>} @9223372036854775807 ");
    rewrite(&c, "[" ROW(1, "A", null, 5) "," ROW(2, "B", null, 5) "]");
    scan_expect_error(&c, "parquet.bad", "is negative");
    scan_done(&c);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    struct scan_case c;
    init(&c);
    c.commit.ids_may_be_lost = true;
    rewrite(&c,
            "[" ROW(1, "A", 0, 5) "," ROW(2, "b", null, null) "," ROW(3, "c", 2, 1) "," ROW(6, "f", null, null) "]");
    assert_true(lc_torture(scan_execute, &c));
    assert_string_equal(c.text.p, "b{<1>,<a>} @0 d{<4>,<d>} i{<6>,<f>} a{<1>,<A>} @0 ");
    scan_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_updates_alone),
        cmocka_unit_test(test_nothing_changed),
        cmocka_unit_test(test_everything_deleted),
        cmocka_unit_test(test_ids_in_the_old_file),
        cmocka_unit_test(test_vectors_of_the_old_file),
        cmocka_unit_test(test_ids_that_do_not_add_up),
        cmocka_unit_test(test_a_restored_file),
        cmocka_unit_test(test_lost_ids),
        cmocka_unit_test(test_some_ids_lost),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_hostile_ids),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
