/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_label.c - a delete and an insert of one identity in one commit become an update, and nothing else does.
 */
#include "stage_test.h"

static void test_pairs_across_batches(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"dd", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", NULL, 5, false},
        {"ii", "[{\"k\":3,\"v\":\"c\"},{\"k\":1,\"v\":\"A\"}]", NULL, 5, true},
        {"i", "[{\"k\":2,\"v\":\"B\"}]", NULL, 6, true},
    };
    /* 3 has no partner and leaves at once; 2 comes back in another commit, which is no update */
    stage_expect(STAGE_CASE(lc_stage_label, batches, .by_key = true),
                 "i{<3>,<c>} b{<1>,<a>} d{<2>,<b>} a{<1>,<A>} |5 i{<2>,<B>} |6 ");
}

static void test_an_identity_that_repeats_is_not_guessed_at(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"ddii", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"},{\"k\":1,\"v\":\"c\"},{\"k\":1,\"v\":\"d\"}]", NULL, 1,
         true},
        {"dii", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"},{\"k\":1,\"v\":\"c\"}]", NULL, 2, true},
    };
    stage_expect(STAGE_CASE(lc_stage_label, batches, .by_key = true),
                 "d{<1>,<a>} d{<1>,<b>} i{<1>,<c>} i{<1>,<d>} |1 d{<1>,<a>} i{<1>,<b>} i{<1>,<c>} |2 ");
}

static void test_null_is_an_identity(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"di", "[{\"k\":null,\"v\":\"a\"},{\"k\":null,\"v\":\"b\"}]", NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_label, batches, .by_key = true), "b{null,<a>} a{null,<b>} |1 ");
}

static void test_halves_of_a_change_file_pass(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"bad", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"},{\"k\":2,\"v\":\"x\"}]", NULL, 1, false},
        {"a", "[{\"k\":2,\"v\":\"y\"}]", NULL, 1, true},
    };
    /* an after-half whose identity was deleted must not overtake the delete, and is no insert to pair it with */
    stage_expect(STAGE_CASE(lc_stage_label, batches, .by_key = true),
                 "b{<1>,<a>} a{<1>,<b>} d{<2>,<x>} a{<2>,<y>} |1 ");
}

static void test_without_identity_nothing_waits(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"di", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"}]", NULL, 1, true},
        {NULL, NULL, NULL, 2, true},
    };
    stage_expect(STAGE_CASE(lc_stage_label, batches), "d{<1>,<a>} i{<1>,<b>} |1 |2 ");
}

static void test_failure_below_is_told(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"d", "[{\"k\":1,\"v\":\"a\"}]", NULL, 1, false},
        {"!", NULL, NULL, 1, false},
    };
    struct stage_case c = STAGE_CASE(lc_stage_label, batches, .by_key = true);
    LC_ERROR lcdc_error *err = NULL;
    lc_buf_init(&c.text, 1000);
    assert_int_equal(stage_run(&c, &err), LCDC_IO);
    assert_string_equal(lcdc_error_reason(err), "io.failed");
    assert_int_equal(c.text.n, 0); /* the held delete does not leave as if the commit were whole */
    lc_buf_done(&c.text);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"dd", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", NULL, 5, false},
        {"ii", "[{\"k\":3,\"v\":\"c\"},{\"k\":1,\"v\":\"A\"}]", NULL, 5, true},
    };
    struct stage_case c = STAGE_CASE(lc_stage_label, batches, .by_key = true, .memory = 1);
    lc_buf_init(&c.text, 1000);
    assert_true(lc_torture(stage_run, &c));
    assert_string_equal(c.text.p, "i{<3>,<c>} b{<1>,<a>} d{<2>,<b>} a{<1>,<A>} |5 ");
    lc_buf_done(&c.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_across_batches),
        cmocka_unit_test(test_an_identity_that_repeats_is_not_guessed_at),
        cmocka_unit_test(test_null_is_an_identity),
        cmocka_unit_test(test_halves_of_a_change_file_pass),
        cmocka_unit_test(test_without_identity_nothing_waits),
        cmocka_unit_test(test_failure_below_is_told),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
