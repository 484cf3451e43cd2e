/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_carried.c - rows that a rewrite only carried over leave no trace, where the commit says that it remade the ids;
 * what is left can still be applied and paired in order.
 */
#include "stage_test.h"

static void test_equal_rows_cancel(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"DDD", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":null}]", NULL, 4, false},
        {"III", "[{\"k\":2,\"v\":null},{\"k\":1,\"v\":\"a\"},{\"k\":3,\"v\":\"c\"}]", NULL, 4, true},
    };
    stage_expect(STAGE_CASE(lc_stage_carried, batches), "d{<1>,<a>} i{<3>,<c>} |4 ");
}

static void test_only_where_it_is_said(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"di", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"}]", NULL, 4, true},
        {"D", "[{\"k\":1,\"v\":\"a\"}]", NULL, 5, true},
        {"I", "[{\"k\":1,\"v\":\"a\"}]", NULL, 6, true}, /* another commit's row is not the same */
    };
    stage_expect(STAGE_CASE(lc_stage_carried, batches), "d{<1>,<a>} i{<1>,<a>} |4 d{<1>,<a>} |5 i{<1>,<a>} |6 ");
}

/* The new image of a row must not leave before its old one. */
static void test_an_insert_does_not_overtake(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"DD", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", NULL, 4, false},
        {"II", "[{\"k\":1,\"v\":\"A\"},{\"k\":2,\"v\":\"b\"}]", NULL, 4, true},
    };
    stage_expect(STAGE_CASE(lc_stage_carried, batches, .by_key = true), "d{<1>,<a>} i{<1>,<A>} |4 ");
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"DD", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", NULL, 4, false},
        {"II", "[{\"k\":1,\"v\":\"A\"},{\"k\":2,\"v\":\"b\"}]", NULL, 4, true},
    };
    struct stage_case c = STAGE_CASE(lc_stage_carried, batches, .memory = 1);
    lc_buf_init(&c.text, 1000);
    assert_true(lc_torture(stage_run, &c));
    assert_string_equal(c.text.p, "d{<1>,<a>} i{<1>,<A>} |4 ");
    lc_buf_done(&c.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_rows_cancel),
        cmocka_unit_test(test_only_where_it_is_said),
        cmocka_unit_test(test_an_insert_does_not_overtake),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
