/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run_changes.c - change files: before-rows of all files leave before after-rows of any, also when the after-rows
 * do not fit into memory; op words that are not known are errors.
 */
#include "scan_test.h"

static const struct lc_data_file one = {.path = "one", .url = "/one", .size = -1, .rows = 5};
static const struct lc_data_file two = {.path = "two", .url = "/two", .size = -1, .rows = 3};

#define ROW(k, v, op) "{\"k\":" #k ",\"v\":\"" v "\",\"_op\":\"" op "\"}"

static void init(struct scan_case *c, struct lc_row_set *sets, size_t n)
{
    scan_init(c, lc_run_changes);
    c->columns = "kv";
    c->commit.changes = sets;
    c->commit.n_changes = n;
    c->commit.change_type = scan_op;
    scan_put(c->storage, "/one", "kvo",
             "[" ROW(1, "a", "update_preimage") "," ROW(1, "A", "update_postimage") "," ROW(2, "b", "delete") "," ROW(
                 3, "c", "insert") "," ROW(4, "d", "insert") "]");
    scan_put(c->storage, "/two", "kvo",
             "[" ROW(5, "e", "insert") "," ROW(6, "f", "update_preimage") "," ROW(6, "F", "update_postimage") "]");
}

static const char all[] = "b{<1>,<a>} d{<2>,<b>} b{<6>,<f>} a{<1>,<A>} i{<3>,<c>} i{<4>,<d>} i{<5>,<e>} a{<6>,<F>} ";

static void test_befores_first(void **state)
{
    (void)state;
    struct lc_row_set sets[] = {{.file = &one, .rows = -1}, {.file = &two, .rows = -1}};
    struct scan_case c;
    init(&c, sets, 2);
    for (int64_t batch_rows = 0; batch_rows < 4; batch_rows++) {
        c.batch_rows = batch_rows;
        scan_expect(&c, all);
    }
    scan_done(&c);
}

/* Past the memory limit the files are read again: the same rows, and not one of them twice. */
static void test_read_again(void **state)
{
    (void)state;
    struct lc_row_set sets[] = {{.file = &one, .rows = -1}, {.file = &two, .rows = -1}};
    struct scan_case c;
    init(&c, sets, 2);
    for (int64_t limit = 1; limit < 1200; limit += 37) {
        c.memory_limit = limit;
        c.batch_rows = 1 + limit % 3;
        scan_expect(&c, all);
    }
    scan_done(&c);
}

static void test_filter_and_columns(void **state)
{
    (void)state;
    struct lc_row_set sets[] = {{.file = &one, .rows = -1}, {.file = &two, .rows = -1}};
    struct scan_case c;
    init(&c, sets, 2);
    c.where = "v IN ('b', 'A', 'F')";
    scan_expect(&c, "d{<2>,<b>} a{<1>,<A>} a{<6>,<F>} ");
    c.columns = "v";
    scan_expect(&c, "d{<b>} a{<A>} a{<F>} ");
    c.where = "v = 'nobody'";
    scan_expect(&c, "");
    c.columns = "vk";
    c.where = NULL;
    scan_expect(&c, "b{<a>,<1>} d{<b>,<2>} b{<f>,<6>} a{<A>,<1>} i{<c>,<3>} i{<d>,<4>} i{<e>,<5>} a{<F>,<6>} ");
    scan_done(&c);
}

static void test_words(void **state)
{
    (void)state;
    static const struct lc_data_file odd = {.path = "odd", .url = "/odd", .size = -1, .rows = -1};
    struct lc_row_set sets[] = {{.file = &odd, .rows = -1}};
    struct scan_case c;
    init(&c, sets, 1);
    scan_put(c.storage, "/odd", "kvo", "[" ROW(1, "a", "INSERT") "," ROW(2, "b", "truncate") "]");
    scan_expect_error(&c, "change.unknown_op", "odd: unknown change type 'truncate'");
    scan_put(c.storage, "/odd", "kvo", "[" ROW(1, "a", "update") "]");
    scan_expect_error(&c, "change.unknown_op", "carries no side");
    scan_put(c.storage, "/odd", "kvo", "[{\"k\":1,\"v\":\"a\",\"_op\":null}]");
    scan_expect_error(&c, "change.unknown_op", "odd: a row has no change type");
    scan_put(c.storage, "/odd", "kv", "[{\"k\":1,\"v\":\"a\"}]");
    scan_expect_error(&c, "change.unknown_op", "'_op'");
    assert_true(lc_memory_storage_remove(c.storage, "/odd"));
    scan_expect_error(&c, "io.file_missing", "/odd");
    scan_done(&c);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    struct lc_row_set sets[] = {{.file = &one, .rows = -1}, {.file = &two, .rows = -1}};
    struct scan_case c;
    init(&c, sets, 2);
    assert_true(lc_torture(scan_execute, &c));
    assert_string_equal(c.text.p, all);
    scan_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_befores_first),      cmocka_unit_test(test_read_again),
        cmocka_unit_test(test_filter_and_columns), cmocka_unit_test(test_words),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
