/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/range.h"

static struct lc_value number(int64_t i)
{
    return (struct lc_value){.type = {.kind = LC_TYPE_INT64}, .i = i};
}

static struct lc_value real(double f)
{
    return (struct lc_value){.type = {.kind = LC_TYPE_DOUBLE}, .f = f};
}

static struct lc_value text(const char *s)
{
    return (struct lc_value){.type = {.kind = LC_TYPE_STRING}, .str = lc_str_of(s)};
}

/* Ten rows between two bounds, `nulls` of them null. */
static bool excludes(struct lc_range range, const struct lc_value *min, const struct lc_value *max, int64_t nulls)
{
    struct lc_column_stats stats = {min, max, nulls, 10};
    return lc_range_excludes(&range, &stats);
}

static void intervals_are_compared_with_their_ends(void **state)
{
    (void)state;
    struct lc_value five = number(5), six = number(6), seven = number(7), eight = number(8);
    assert_true(excludes((struct lc_range){.low = &seven}, &five, &six, 0));
    assert_false(excludes((struct lc_range){.low = &six}, &five, &six, 0));
    assert_true(excludes((struct lc_range){.low = &six, .low_open = true}, &five, &six, 0));
    assert_true(excludes((struct lc_range){.high = &five}, &six, &seven, 0));
    assert_false(excludes((struct lc_range){.high = &six}, &six, &seven, 0));
    assert_true(excludes((struct lc_range){.high = &six, .high_open = true}, &six, &seven, 0));
    assert_false(excludes((struct lc_range){.low = &six, .high = &seven}, &five, &eight, 0));
    assert_false(excludes((struct lc_range){0}, &five, &six, 0));
    struct lc_value a = text("a"), ab = text("ab"), b = text("b");
    assert_true(excludes((struct lc_range){.low = &b}, &a, &ab, 0));
    assert_false(excludes((struct lc_range){.low = &ab}, &a, &ab, 0));
}

static void what_is_not_known_excludes_nothing(void **state)
{
    (void)state;
    struct lc_value five = number(5), nine = number(9), other = text("x"), null = number(0);
    null.is_null = true;
    assert_false(excludes((struct lc_range){.low = &nine}, &five, NULL, 0));
    assert_false(excludes((struct lc_range){.high = &five}, NULL, &nine, 0));
    assert_false(excludes((struct lc_range){.low = &nine}, &other, &other, 0));
    assert_false(excludes((struct lc_range){.low = &nine}, &null, &null, 0));
    assert_false(excludes((struct lc_range){.low = &null}, &five, &five, 0));
    assert_true(excludes((struct lc_range){.low = &nine}, NULL, &five, -1));
}

static void nulls_pass_only_when_wanted(void **state)
{
    (void)state;
    struct lc_value five = number(5), nine = number(9);
    assert_true(excludes((struct lc_range){.low = &nine}, NULL, NULL, 10));
    assert_true(excludes((struct lc_range){0}, NULL, NULL, 10));
    assert_false(excludes((struct lc_range){.low = &nine, .may_be_null = true}, NULL, NULL, 10));
    assert_false(excludes((struct lc_range){.low = &nine, .may_be_null = true}, &five, &five, 1));
    assert_false(excludes((struct lc_range){.low = &nine, .may_be_null = true}, &five, &five, -1));
    assert_true(excludes((struct lc_range){.low = &nine, .may_be_null = true}, &five, &five, 0));
    assert_true(excludes((struct lc_range){.only_null = true}, &five, &five, 0));
    assert_false(excludes((struct lc_range){.only_null = true}, &five, &five, 1));
    assert_false(excludes((struct lc_range){.only_null = true}, &five, &five, -1));
    struct lc_column_stats unknown = {NULL, NULL, -1, -1};
    struct lc_range any = {0};
    assert_false(lc_range_excludes(&any, &unknown));
}

/* NaN is the largest value and is never in the bounds; the two zeros are one. */
static void floating_point_is_doubted(void **state)
{
    (void)state;
    struct lc_value one = real(1), two = real(2), three = real(3), nan = real(NAN);
    struct lc_value zero = real(0), minus_zero = real(-0.0);
    assert_false(excludes((struct lc_range){.low = &three}, &one, &two, 0));
    assert_false(excludes((struct lc_range){.low = &three, .high = &nan}, &one, &two, 0));
    assert_true(excludes((struct lc_range){.low = &three, .high = &three}, &one, &two, 0));
    assert_true(excludes((struct lc_range){.high = &one}, &two, &three, 0));
    assert_false(excludes((struct lc_range){.high = &one}, &nan, &nan, 0));
    assert_false(excludes((struct lc_range){.low = &three, .high = &three}, &nan, &nan, 0));
    assert_false(excludes((struct lc_range){.low = &nan}, &one, &two, 0));
    assert_false(excludes((struct lc_range){.low = &zero, .high = &one}, &minus_zero, &minus_zero, 0));
    assert_false(excludes((struct lc_range){.high = &minus_zero}, &zero, &one, 0));
    assert_true(excludes((struct lc_range){.high = &minus_zero, .high_open = true}, &zero, &one, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_compared_with_their_ends),
        cmocka_unit_test(what_is_not_known_excludes_nothing),
        cmocka_unit_test(nulls_pass_only_when_wanted),
        cmocka_unit_test(floating_point_is_doubted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
