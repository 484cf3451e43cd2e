/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown.h - the part of a filter that files can answer unread.
 */
#ifndef LC_SCAN_PUSHDOWN_H
#define LC_SCAN_PUSHDOWN_H

#include "core/filter.h"
#include "scan/commit.h"

/** The ranges that every row which satisfies `expr` lies in. Fields are nodes of the schema `expr` is bound to. */
lcdc_status lc_pushdown_ranges(const struct lc_expr *expr, struct lc_arena *arena, size_t *n_out,
                               const struct lc_range **out, lcdc_error **err);

/** What proves that a file holds no wanted row. */
enum lc_pruned_by { LC_PRUNED_BY_NOTHING, LC_PRUNED_BY_PARTITION, LC_PRUNED_BY_STATISTICS, LC_PRUNED_BY_COUNT };

/** Whether partition values, or else statistics, prove that no row of the file satisfies all ranges. */
lcdc_status lc_pushdown_prunes(const struct lc_data_file *file, size_t n, const struct lc_range *ranges,
                               enum lc_pruned_by *out, lcdc_error **err);
lcdc_status lc_pushdown_excludes(const struct lc_data_file *file, size_t n, const struct lc_range *ranges, bool *out,
                                 lcdc_error **err);

/** Two nodes stand for the same column: copies made by lc_field_project() share their texts. */
bool lc_same_column(const struct lc_field *a, const struct lc_field *b);

#endif
