/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - executes one commit: row sets in, change batches out. One implementation per way of comparing the two sides.
 *
 * A run hands out deletes and before-images first, then inserts and after-images. It does not set snapshot, time or the
 * end-of-commit mark: commit_stream.c does, for all of them.
 */
#ifndef LC_SCAN_RUN_H
#define LC_SCAN_RUN_H

#include "scan/rows.h"

struct lc_run_spec {
    const struct lc_scan_context *context;
    const struct lc_shape *shape;
    struct lc_commit *commit;
    size_t n_ranges; /* of shape->filter; empty without pushdown */
    const struct lc_range *ranges;
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

/** Walks row sets one after the other. */
struct lc_set_walk {
    const struct lc_run_spec *spec;
    size_t n, at;
    struct lc_row_set *sets;
    struct lc_rows_request request;
    const struct lc_field *row_id; /* when not NULL it is extra column 0, and ids are worked out */
    struct lc_rows *rows;
};
void lc_set_walk_init(struct lc_set_walk *walk, const struct lc_run_spec *spec, size_t n, struct lc_row_set *sets);
/** Next rows of any set; images->release NULL at the end. ids (lc_alloc) only when row ids are wanted and known. */
lcdc_status lc_set_walk_next(struct lc_set_walk *walk, struct ArrowArray *images, int64_t **ids, lcdc_error **err);
void lc_set_walk_done(struct lc_set_walk *walk);

/** ids[i] = the extra column's value, or base row id + position where that is null or the file has no such column. */
lcdc_status lc_row_ids(const struct lc_data_file *file, const struct ArrowArray *extra, size_t column, int64_t n,
                       const int64_t *positions, int64_t **out, lcdc_error **err);

/** Ops of a batch moved to one value when all are equal. */
void lc_change_batch_settle_ops(struct lc_change_batch *batch);

#endif
