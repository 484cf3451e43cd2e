/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - decides from bounds alone that a set of rows cannot hold a wanted one.
 *
 * Every doubt lets the rows through: unknown counts, bounds of another type, and floating point, where NaN is the
 * largest value but is left out of the bounds by writers, and where a bound of one zero may stand for the other.
 */
#include "io/range.h"

#include <math.h>

static bool is_float(const struct lc_value *value)
{
    return value->type.kind == LC_TYPE_FLOAT || value->type.kind == LC_TYPE_DOUBLE;
}

static bool is_nan(const struct lc_value *value)
{
    return is_float(value) && isnan(value->f);
}

/* A bound that can be compared with one of this range's. */
static bool can_compare(const struct lc_value *a, const struct lc_value *b)
{
    return a && b && !a->is_null && !b->is_null && a->type.kind == b->type.kind;
}

static int compare(const struct lc_value *a, const struct lc_value *b)
{
    if (is_float(a) && a->f == b->f)
        return 0; /* -0 and 0 too */
    return lc_value_compare(a, b);
}

/* All values lie below the range. Values that the bounds do not cover, NaN, lie above everything. */
static bool all_below(const struct lc_range *range, const struct lc_column_stats *stats)
{
    if (!can_compare(range->low, stats->max) || is_nan(stats->max) || is_nan(range->low))
        return false;
    if (is_float(range->low) && (!can_compare(range->low, range->high) || is_nan(range->high)))
        return false;
    int order = compare(stats->max, range->low);
    return order < 0 || (order == 0 && range->low_open);
}

static bool all_above(const struct lc_range *range, const struct lc_column_stats *stats)
{
    if (!can_compare(range->high, stats->min) || is_nan(stats->min) || is_nan(range->high))
        return false;
    int order = compare(stats->min, range->high);
    return order > 0 || (order == 0 && range->high_open);
}

/* Every single value that is wanted lies outside the bounds. */
static bool no_point_inside(const struct lc_range *range, const struct lc_column_stats *stats)
{
    for (size_t i = 0; i < range->n_points; i++) {
        struct lc_range point = {.low = &range->points[i], .high = &range->points[i]};
        if (!range->points[i].is_null && !all_below(&point, stats) && !all_above(&point, stats))
            return false;
    }
    return range->n_points > 0;
}

bool lc_range_excludes(const struct lc_range *range, const struct lc_column_stats *stats)
{
    if ((range->may_be_null || range->only_null) && stats->null_count != 0)
        return false;
    if (range->only_null)
        return true;
    if (stats->row_count >= 0 && stats->null_count == stats->row_count)
        return true;
    return all_below(range, stats) || all_above(range, stats) || no_point_inside(range, stats);
}
