/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - executes one commit: row sets in, change batches out. One implementation per way of comparing the two sides.
 *
 * A run hands out deletes and before-images first, then inserts and after-images. It does not set snapshot, time or the
 * end-of-commit mark: table_read.c does, for all of them.
 */
#ifndef LC_SCAN_RUN_H
#define LC_SCAN_RUN_H

#include "scan/ahead.h"

struct lc_run_spec {
    const struct lc_scan_context *context;
    const struct lc_shape *shape;
    struct lc_commit *commit;
    size_t n_ranges; /* of shape->filter; empty without pushdown */
    const struct lc_range *ranges;
    bool *glance_fails; /* content: a look at a few columns first did not tell; kept from commit to commit */
};

struct lc_run {
    const struct lc_run_ops *ops;
};
struct lc_run_ops {
    lcdc_status (*next)(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err);
    void (*release)(struct lc_run *run);
};

/** Each side as it is: deletes, then inserts. */
lcdc_status lc_run_plain(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err);
/** Files that hold change rows themselves. */
lcdc_status lc_run_changes(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err);
/** Equal rows on both sides cancel. */
lcdc_status lc_run_content(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err);
/** Rows are matched by id and version; *out NULL when the ids turn out not to be usable (read it by content then). */
lcdc_status lc_run_lineage(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err);

static inline void lc_run_free(struct lc_run *run)
{
    if (run)
        run->ops->release(run);
}

/* ---- shared by the runs (run.c) ---- */

/** How a run reads row sets as images: the shape's columns and filter, then `n_extra` further columns. */
struct lc_rows_request lc_run_images(const struct lc_run_spec *spec, size_t n_extra,
                                     const struct lc_field *const *extra);

/** ids[i] = the extra column's value, or base row id + position where that is null or the file has no such column. */
lcdc_status lc_row_ids(const struct lc_data_file *file, const struct ArrowArray *extra, size_t column, int64_t n,
                       const int64_t *positions, int64_t **out, lcdc_error **err);

/** Ops of a batch moved to one value when all are equal. */
void lc_change_batch_settle_ops(struct lc_change_batch *batch);

#endif
