/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.h - the rows of several row sets as change batches, decoded by a few threads ahead of whoever takes them.
 *
 * Sets are dealt to lanes, set i to lane i modulo the number of lanes, and taken from the lanes in turn: a set at a
 * time, or a stretch of one that is large. So the order of the rows depends neither on the number of threads nor on
 * which of them is faster, and small sets come one after the other. What waits is bounded in bytes: a slow consumer
 * stops the threads. Where the files are small the calling thread does it all.
 */
#ifndef LC_SCAN_AHEAD_H
#define LC_SCAN_AHEAD_H

#include "core/change.h"
#include "scan/rows.h"

struct lc_ahead;

/** Rows as they were decoded; what is moved out of it is the taker's. */
struct lc_decoded {
    size_t set;
    const struct lc_rows *rows;
    struct ArrowArray images, extra;
    const int64_t *positions;
};

struct lc_ahead_request {
    const struct lc_scan_context *context;
    size_t n;
    struct lc_row_set *sets;
    struct lc_rows_request rows; /* of every set */
    /**
     * Turns decoded rows into a change batch; n == 0 leaves them out. Runs on the thread that decoded them, for one
     * batch of a set at a time, in order. @thread any
     */
    lcdc_status (*make)(void *context, struct lc_decoded *decoded, struct lc_change_batch *out, lcdc_error **err);
    void *make_context;
};

/** Everything in the request is borrowed until lc_ahead_close(). */
lcdc_status lc_ahead_open(const struct lc_ahead_request *request, struct lc_ahead **out, lcdc_error **err);
/** The next batch; *more false at the end. */
lcdc_status lc_ahead_next(struct lc_ahead *ahead, struct lc_change_batch *out, bool *more, lcdc_error **err);
/** Waits for the threads. */
void lc_ahead_close(struct lc_ahead *ahead);
LC_DEFINE_CLEANUP(struct lc_ahead *, lc_ahead_close)

#endif
