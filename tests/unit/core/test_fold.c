/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fold.c - the halves of an update become one row; what has no partner passes, and nothing is dropped.
 */
#include "stage_test.h"

static void test_halves_become_one_row(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"dbb", "[{\"k\":9,\"v\":\"z\"},{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", NULL, 1, false},
        {"iaa", "[{\"k\":8,\"v\":\"n\"},{\"k\":2,\"v\":\"B\"},{\"k\":1,\"v\":null}]", NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_fold, batches, .by_key = true),
                 "d{<9>,<z>} i{<8>,<n>} u{<2>,<b>}>{<2>,<B>} u{<1>,<a>}>{<1>,null} |1 ");
}

static void test_halves_without_a_partner_pass(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"b", "[{\"k\":1,\"v\":\"a\"}]", NULL, 1, true}, /* its other half was filtered away */
        {"a", "[{\"k\":1,\"v\":\"b\"}]", NULL, 2, true}, /* and another commit's is not it */
    };
    stage_expect(STAGE_CASE(lc_stage_fold, batches, .by_key = true), "b{<1>,<a>} |1 a{<1>,<b>} |2 ");
}

static void test_repeated_identities_pair_in_order(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"bbb", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"},{\"k\":1,\"v\":\"c\"}]", NULL, 1, false},
        {"aa", "[{\"k\":1,\"v\":\"A\"},{\"k\":1,\"v\":\"B\"}]", NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_fold, batches, .by_key = true),
                 "b{<1>,<c>} u{<1>,<a>}>{<1>,<A>} u{<1>,<b>}>{<1>,<B>} |1 ");
}

static void test_an_insert_waits_for_the_half_before_it(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"bia", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"new\"},{\"k\":2,\"v\":\"a\"}]", NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_fold, batches, .by_key = true), "a{<2>,<a>} b{<1>,<a>} i{<1>,<new>} |1 ");
}

static void test_row_ids_pair_where_no_identity_is_named(void **state)
{
    (void)state;
    static const int64_t befores[] = {4, 5}, afters[] = {5, 4, 6};
    static const struct lc_script_batch batches[] = {
        {"bb", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", befores, 1, false},
        {"aai", "[{\"k\":3,\"v\":\"c\"},{\"k\":4,\"v\":\"d\"},{\"k\":1,\"v\":\"a\"}]", afters, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_fold, batches), "i{<1>,<a>} u{<2>,<b>}>{<3>,<c>} u{<1>,<a>}>{<4>,<d>} |1 ");
}

static void test_updates_that_nothing_tells_apart_are_refused(void **state)
{
    (void)state;
    static const struct lc_script_batch rows[] = {
        {"di", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"}]", NULL, 6, true},
        {"ba", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"}]", NULL, 7, true},
    };
    struct stage_case c = STAGE_CASE(lc_stage_fold, rows);
    LC_ERROR lcdc_error *err = NULL;
    lc_buf_init(&c.text, 1000);
    assert_int_equal(stage_run(&c, &err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_reason(err), "request.identity_needed");
    assert_non_null(strstr(lcdc_error_message(err), "commit 7"));
    assert_string_equal(c.text.p, "d{<1>,<a>} i{<1>,<b>} |6 ");
    lc_buf_done(&c.text);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"bba", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"},{\"k\":1,\"v\":\"c\"}]", NULL, 1, true},
    };
    struct stage_case c = STAGE_CASE(lc_stage_fold, batches, .by_key = true, .memory = 1);
    lc_buf_init(&c.text, 1000);
    assert_true(lc_torture(stage_run, &c));
    assert_string_equal(c.text.p, "b{<2>,<b>} u{<1>,<a>}>{<1>,<c>} |1 ");
    lc_buf_done(&c.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves_become_one_row),
        cmocka_unit_test(test_halves_without_a_partner_pass),
        cmocka_unit_test(test_repeated_identities_pair_in_order),
        cmocka_unit_test(test_an_insert_waits_for_the_half_before_it),
        cmocka_unit_test(test_row_ids_pair_where_no_identity_is_named),
        cmocka_unit_test(test_updates_that_nothing_tells_apart_are_refused),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
