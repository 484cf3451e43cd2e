/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_net.c - the net change is the difference between the two ends of the range, whatever happened in between.
 */
#include "stage_test.h"

static void test_what_is_undone_vanishes(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"i", "[{\"k\":1,\"v\":\"a\"}]", NULL, 1, true}, /* inserted, deleted: gone */
        {"di", "[{\"k\":2,\"v\":\"a\"},{\"k\":3,\"v\":\"a\"}]", NULL, 2, true},
        {"dba", "[{\"k\":1,\"v\":\"a\"},{\"k\":3,\"v\":\"a\"},{\"k\":3,\"v\":\"b\"}]", NULL, 3, true},
        {"i", "[{\"k\":2,\"v\":\"c\"}]", NULL, 4, true}, /* deleted, another inserted: updated */
        {"ba", "[{\"k\":4,\"v\":\"a\"},{\"k\":4,\"v\":\"b\"}]", NULL, 5, true},
        {"ba", "[{\"k\":4,\"v\":\"b\"},{\"k\":4,\"v\":\"a\"}]", NULL, 6, true}, /* changed and changed back: gone */
    };
    stage_expect(STAGE_CASE(lc_stage_net, batches, .by_key = true), "b{<2>,<a>} i{<3>,<b>} a{<2>,<c>} |6 ");
}

static void test_without_identity_it_is_a_multiset(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"ii", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"a\"}]", NULL, 1, true},
        {"dba", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", NULL, 2, true},
    };
    stage_expect(STAGE_CASE(lc_stage_net, batches), "d{<2>,<a>} i{<1>,<a>} i{<2>,<b>} |2 ");
}

static void test_an_identity_that_repeats_stays_apart(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"ddi", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"},{\"k\":1,\"v\":\"c\"}]", NULL, 1, true},
    };
    stage_expect(STAGE_CASE(lc_stage_net, batches, .by_key = true), "d{<1>,<a>} d{<1>,<b>} i{<1>,<c>} |1 ");
}

static void test_row_ids_tell_rows_apart(void **state)
{
    (void)state;
    static const int64_t one[] = {10, 11}, two[] = {10, 11};
    static const struct lc_script_batch batches[] = {
        {"dd", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"}]", one, 1, true},
        {"ii", "[{\"k\":1,\"v\":\"c\"},{\"k\":1,\"v\":\"d\"}]", two, 2, true},
    };
    stage_expect(STAGE_CASE(lc_stage_net, batches), "b{<1>,<a>} b{<1>,<b>} a{<1>,<c>} a{<1>,<d>} |2 ");
}

static void test_rows_without_an_id_are_nobody(void **state)
{
    (void)state;
    static const int64_t lost[] = {-1, -1};
    static const struct lc_script_batch batches[] = {
        {"di", "[{\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":\"b\"}]", lost, 1, true},
        {"d", "[{\"k\":3,\"v\":\"a\"}]", NULL, 2, true},
    };
    stage_expect(STAGE_CASE(lc_stage_net, batches), "d{<1>,<a>} d{<3>,<a>} i{<2>,<b>} |2 ");
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    struct stage_case c = {.make = lc_stage_net};
    static const struct lc_script_batch batches[] = {{NULL, NULL, NULL, 7, true}};
    stage_expect(STAGE_CASE(lc_stage_net, batches), "|7 ");
    stage_expect(c, "| "); /* an end that names no commit */
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    static const struct lc_script_batch batches[] = {
        {"di", "[{\"k\":1,\"v\":\"a\"},{\"k\":1,\"v\":\"b\"}]", NULL, 1, true},
        {"i", "[{\"k\":2,\"v\":\"b\"}]", NULL, 2, true},
    };
    struct stage_case c = STAGE_CASE(lc_stage_net, batches, .by_key = true, .memory = 1);
    lc_buf_init(&c.text, 1000);
    assert_true(lc_torture(stage_run, &c));
    assert_string_equal(c.text.p, "b{<1>,<a>} a{<1>,<b>} i{<2>,<b>} |2 ");
    lc_buf_done(&c.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_undone_vanishes),
        cmocka_unit_test(test_without_identity_it_is_a_multiset),
        cmocka_unit_test(test_an_identity_that_repeats_stays_apart),
        cmocka_unit_test(test_row_ids_tell_rows_apart),
        cmocka_unit_test(test_rows_without_an_id_are_nobody),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
