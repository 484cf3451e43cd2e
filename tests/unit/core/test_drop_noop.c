/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_drop_noop.c - update pairs with equal images leave no trace; everything else stays, in an order that can be
 * applied.
 */
#include "stage_test.h"

static void test_equal_images_cancel(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"bbd", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":null},{\"k\":9,\"v\":\"z\"}]", NULL, 1, false},
        {"aa", "[{\"k\":2,\"v\":null},{\"k\":1,\"v\":\"b\"}]", NULL, 1, true},
        {"ba", "[{\"k\":1,\"v\":\"b\"},{\"k\":1,\"v\":\"b\"}]", NULL, 2, true},
    };
    stage_expect(STAGE_CASE(lc_stage_drop_noop, batches, .by_key = true), "d{<9>,<z>} b{<1>,<a>} a{<1>,<b>} |1 |2 ");
}

static void test_they_cancel_one_for_one(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"bbaaa",
         "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"},"
         "{\"k\":1,\"v\":\"a\"}]",
         NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_drop_noop, batches), "a{<1>,<b>} |1 ");
}

static void test_a_delete_and_an_insert_are_no_update(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"di", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"}]", NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_drop_noop, batches, .by_key = true), "d{<1>,<a>} i{<1>,<a>} |1 ");
}

static void test_rows_of_other_ids_do_not_cancel(void **state)
{
    (void)state;
    static const int64_t befores[] = {7, 8}, afters[] = {8, 9};
    static const struct lc_script_batch batches[] = {
        {"bb", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"}]", befores, 1, false},
        {"aa", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"}]", afters, 1, true},
    };
    /* id 8 kept its content; 7 and 9 are halves of other updates that happen to look alike */
    stage_expect(STAGE_CASE(lc_stage_drop_noop, batches), "b{<1>,<a>} a{<1>,<a>} |1 ");
}

static void test_an_insert_does_not_overtake(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"ba", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"a\"}]", NULL, 1, false},
        {"i", "[{\"k\":1,\"v\":\"new\"}]", NULL, 1, true},
    };
    /* a sink that removes on the first and writes on the second must end with the new row 1 */
    stage_expect(STAGE_CASE(lc_stage_drop_noop, batches, .by_key = true), "b{<1>,<a>} a{<2>,<a>} i{<1>,<new>} |1 ");
}

static void test_inserts_pass_where_nothing_waits(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"i", "[{\"k\":1,\"v\":\"a\"}]", NULL, 1, false},
        {"b", "[{\"k\":2,\"v\":\"a\"}]", NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_drop_noop, batches, .by_key = true), "i{<1>,<a>} b{<2>,<a>} |1 ");
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"baba", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", NULL, 1,
         true},
    };
    struct stage_case c = STAGE_CASE(lc_stage_drop_noop, batches, .by_key = true, .memory = 1);
    lc_buf_init(&c.text, 1000);
    assert_true(lc_torture(stage_run, &c));
    assert_string_equal(c.text.p, "b{<2>,<a>} a{<2>,<b>} |1 ");
    lc_buf_done(&c.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_images_cancel),
        cmocka_unit_test(test_they_cancel_one_for_one),
        cmocka_unit_test(test_a_delete_and_an_insert_are_no_update),
        cmocka_unit_test(test_rows_of_other_ids_do_not_cancel),
        cmocka_unit_test(test_an_insert_does_not_overtake),
        cmocka_unit_test(test_inserts_pass_where_nothing_waits),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
