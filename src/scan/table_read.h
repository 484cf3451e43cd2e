/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_read.h - a format's range as a read of the seam: plan, checks before the first row, change stream, snapshots.
 *
 * A format says what each commit of its range removes and adds (lc_commit); everything after that is here and the same
 * for both. Commits are loaded one at a time and released before the next.
 */
#ifndef LC_SCAN_TABLE_READ_H
#define LC_SCAN_TABLE_READ_H

#include "core/backend.h"
#include "scan/rows.h"

struct lc_table_read;

struct lc_table_read_ops {
    /** Fills a zeroed commit: number `index` of the range, 0-based. */
    lcdc_status (*commit)(struct lc_table_read *self, int64_t index, struct lc_commit *out, lcdc_error **err);
    /** The live rows just before the range (at_end false) or at its end, as `added`; snapshot and ts are that state's.
     */
    lcdc_status (*state)(struct lc_table_read *self, bool at_end, struct lc_commit *out, lcdc_error **err);
    void (*release)(struct lc_table_read *self);
    /** Optional: commits first .. first + n - 1 will be asked for one after the other. */
    void (*ahead)(struct lc_table_read *self, int64_t first, int64_t n);
    /** Optional: what lc_read_ops.stamp says. */
    const char *(*stamp)(const struct lc_table_read *self, int64_t commit);
};

/** The first member of a format's read. The format fills `read.schema` and the rest, then calls lc_table_read_init().
 */
struct lc_table_read {
    struct lc_read read;
    const struct lc_table_read_ops *ops;
    struct lc_scan_context context; /* storage and match are the format's to set */
    struct lc_meter *meter;         /* counters of the storage; may be NULL */
    struct lc_counts before;        /* what they were when this read began, or the source was made */
    const char *unit;               /* "version", "snapshot": how messages call a commit */
    int64_t plan_at;                /* next commit of plan_next */
};

/** Sets the seam's function table. read.n_commits must be known. */
void lc_table_read_init(struct lc_table_read *self);

#endif
