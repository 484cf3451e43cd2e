/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - change rows inside the library: one image a row, an op, the commit they belong to.
 *
 * Backends make them; the stages of core/ pass them on (label, drop no-ops, net, filter, fold); core/export.c turns
 * them into the public change row. A batch belongs to one commit. Every commit ends with a batch that says so (it may
 * have no rows), so a stage that pairs rows knows when it has seen all of them.
 */
#ifndef LC_CORE_CHANGE_H
#define LC_CORE_CHANGE_H

#include "base/arrow.h"
#include "lakecdc/change.h"

struct lc_change_batch {
    int64_t n;
    struct ArrowArray images; /* struct array of the shape's columns, n rows; released when n is 0 */
    struct ArrowArray after;  /* only in batches of `update` rows (after fold): the after images; else released */
    lcdc_op op;               /* of all rows, when ops is NULL */
    uint8_t *ops;             /* n ops; lc_alloc */
    int64_t *row_ids;         /* n stable row ids when the table has them; lc_alloc; NULL = none */
    int64_t snapshot;
    int64_t ts_us;
    bool has_snapshot, has_ts;
    bool ends_commit;
    bool remakes_ids; /* the commit gave its rows new ids: equal old and new rows did not change */
};

void lc_change_batch_done(struct lc_change_batch *batch);
#define LC_CHANGE_BATCH LC_CLEANUP(lc_change_batch_done)
static inline lcdc_op lc_change_op(const struct lc_change_batch *batch, int64_t i)
{
    return batch->ops ? (lcdc_op)batch->ops[i] : batch->op;
}

/** The first member of every stream's object. */
struct lc_change_stream {
    const struct lc_change_stream_ops *ops;
};
struct lc_change_stream_ops {
    /** The next batch; *more false (and *out empty) at the end. */
    lcdc_status (*next)(struct lc_change_stream *self, struct lc_change_batch *out, bool *more, lcdc_error **err);
    void (*release)(struct lc_change_stream *self);
};

static inline lcdc_status lc_change_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                                         lcdc_error **err)
{
    return stream->ops->next(stream, out, more, err);
}
static inline void lc_change_stream_free(struct lc_change_stream *stream)
{
    if (stream)
        stream->ops->release(stream);
}
LC_DEFINE_CLEANUP(struct lc_change_stream *, lc_change_stream_free)

#endif
