/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_rows.h - rows of a set that were read to be compared, kept so that they need not be read again when they turn
 * out to differ. All sets of a side share a budget; once it is spent, nothing is kept of the side.
 */
#ifndef LC_SCAN_KEPT_ROWS_H
#define LC_SCAN_KEPT_ROWS_H

#include "base/row_hash.h"
#include "core/backend.h"

struct lc_kept_budget {
    _Atomic int64_t left; /* bytes; below 0: spent */
};
void lc_kept_budget_init(struct lc_kept_budget *budget, int64_t bytes);

/** Zeroed = nothing kept. One thread's at a time. */
struct lc_kept_rows {
    size_t n, cap;
    struct lc_kept_batch *batches;
    bool is_spent; /* rows are missing */
};
void lc_kept_rows_done(struct lc_kept_rows *kept);

/**
 * Keeps the rows whose byte in `which` is 1 (NULL: all), as images of `columns`. Row i has number first + i; `hashes`
 * and `ids` (NULL: none) go by the same index. `rows` (of `schema`, which has the columns) may be consumed.
 */
lcdc_status lc_kept_rows_add(struct lc_kept_rows *kept, struct lc_kept_budget *budget, const struct lc_field *schema,
                             const struct lc_field *columns, struct ArrowArray *rows, const uint8_t *which,
                             uint32_t first, const struct lc_hash *hashes, const int64_t *ids, lcdc_error **err);

/** How many of the kept rows are left: `left` has a bit for every row number. */
uint64_t lc_kept_rows_left(const struct lc_kept_rows *kept, const uint64_t *left);

/** Batch `i`'s rows that are left and pass the shape's filter, once; `sum` grows by the hashes of all that are left. */
lcdc_status lc_kept_rows_take(struct lc_kept_rows *kept, size_t i, const struct lc_shape *shape, const uint64_t *left,
                              struct lc_hash *sum, struct lc_change_batch *out, lcdc_error **err);

#endif
