/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.h - the small filter that files can answer from statistics: "this column lies in this interval".
 *
 * A list of ranges is a conjunction that every wanted row satisfies; it may let through rows that are not wanted, never
 * the other way round. Rows that are null in a column pass only when the range says so.
 */
#ifndef LC_IO_RANGE_H
#define LC_IO_RANGE_H

#include "base/value.h"

struct lc_range {
    const struct lc_field *field; /* a leaf of the schema the reader was given; compared by pointer */
    const struct lc_value *low;   /* of the field's type; NULL = unbounded */
    const struct lc_value *high;
    bool low_open, high_open; /* the bound itself is outside */
    size_t n_points;          /* when not 0: the only values that are wanted; low and high span them */
    const struct lc_value *points;
    bool may_be_null; /* null rows are wanted too */
    bool only_null;   /* no other rows are */
};

/** What is known of a column's values in some set of rows; unknown parts are NULL / -1. */
struct lc_column_stats {
    const struct lc_value *min, *max; /* of non-null values; may be wider than the truth, never narrower */
    int64_t null_count, row_count;
};

/** True when no row of such a set can satisfy the range. NaN, absent and untrustworthy bounds never exclude. */
bool lc_range_excludes(const struct lc_range *range, const struct lc_column_stats *stats);

#endif
