/* SPDX-License-Identifier: Apache-2.0 */
/* test_backoff.c - waits double up to the cap, and chance moves them between half and whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sync/backoff.h"

static void waits_double_up_to_the_cap(void **state)
{
    (void)state;
    static const int64_t most[] = {1000, 2000, 4000, 8000, 10000, 10000};
    for (int64_t failures = 1; failures <= 6; failures++) {
        int64_t whole = most[failures - 1];
        for (uint64_t chance = 0; chance < 20000; chance += 7) {
            int64_t wait = lc_backoff_ms(1000, 10000, failures, chance);
            assert_true(wait >= whole / 2 && wait <= whole);
        }
        assert_int_equal(lc_backoff_ms(1000, 10000, failures, 0), whole / 2);
        assert_int_equal(lc_backoff_ms(1000, 10000, failures, (uint64_t)whole / 2), whole);
    }
}

static void extremes(void **state)
{
    (void)state;
    assert_int_equal(lc_backoff_ms(1, 1, INT64_MAX, 0), 1);
    assert_true(lc_backoff_ms(1, INT64_MAX, INT64_MAX, UINT64_MAX) >= INT64_MAX / 2);
    assert_true(lc_backoff_ms(1, INT64_MAX, 64, UINT64_MAX) > 0);
    assert_int_equal(lc_backoff_ms(500, 100, 1, 50), 100);
}

static void chance_differs(void **state)
{
    (void)state;
    uint64_t a = lc_chance(), b = lc_chance(), c = lc_chance();
    assert_true(a != b || b != c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waits_double_up_to_the_cap), cmocka_unit_test(extremes),
                                       cmocka_unit_test(chance_differs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
