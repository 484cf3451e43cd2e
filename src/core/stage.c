/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stage.h"

#include <string.h>

static lcdc_status grow_scratch(struct lc_stage *self, int64_t n, lcdc_error **err)
{
    if (n <= self->cap)
        return LCDC_OK;
    lc_free(lc_steal(self->keys));
    lc_free(lc_steal(self->hold));
    lc_free(lc_steal(self->groups));
    self->cap = 0;
    self->keys = lc_alloc((size_t)n * sizeof(*self->keys));
    self->hold = lc_alloc((size_t)n);
    self->groups = lc_alloc((size_t)n * sizeof(*self->groups));
    LC_TRY_ALLOC(self->keys && self->hold && self->groups);
    self->cap = n;
    return LCDC_OK;
}

/* Takes the held rows out of a batch. */
static lcdc_status drop_held(struct lc_stage *self, struct lc_change_batch *batch, int64_t n_held, lcdc_error **err)
{
    if (n_held == 0)
        return LCDC_OK;
    int64_t kept = 0;
    for (int64_t i = 0; i < batch->n; i++) {
        self->hold[i] = !self->hold[i];
        if (!self->hold[i])
            continue;
        if (batch->ops)
            batch->ops[kept] = batch->ops[i];
        if (batch->row_ids)
            batch->row_ids[kept] = batch->row_ids[i];
        kept++;
    }
    LC_ARRAY struct ArrowArray left = {0};
    LC_TRY(lc_array_filter(self->spec.columns, &batch->images, self->hold, &left, err));
    lc_array_release(&batch->images);
    lc_array_move(&left, &batch->images);
    batch->n = kept;
    return LCDC_OK;
}

static lcdc_status look_at(struct lc_stage *self, struct lc_change_batch *batch, lcdc_error **err)
{
    bool known = false;
    int64_t n_held = 0;
    LC_TRY(grow_scratch(self, batch->n, err));
    memset(self->hold, 0, (size_t)batch->n);
    for (int64_t i = 0; i < batch->n; i++)
        self->groups[i] = LC_NO_GROUP;
    LC_TRY(lc_identity_keys(&self->spec.identity, self->spec.columns, batch, self->keys, &known, err));
    LC_TRY(self->ops->look(self, batch, self->keys, known, self->hold, self->groups, err));
    for (int64_t i = 0; i < batch->n; i++)
        n_held += self->hold[i];
    if (n_held)
        LC_TRY(lc_pairs_hold(&self->pairs, batch, self->hold, self->groups, known ? self->keys : NULL, err));
    return drop_held(self, batch, n_held, err);
}

static void note_mark(struct lc_stage *self, const struct lc_change_batch *batch)
{
    self->mark = (struct lc_change_batch){.snapshot = batch->snapshot,
                                          .ts_us = batch->ts_us,
                                          .has_snapshot = batch->has_snapshot,
                                          .has_ts = batch->has_ts};
}

/* The next batch of the resolved window; at its end the mark. */
static lcdc_status next_resolved(struct lc_stage *self, struct lc_change_batch *out, lcdc_error **err)
{
    bool rows = false;
    LC_TRY(lc_pairs_take(&self->pairs, self->spec.batch_rows, out, &rows, err));
    out->snapshot = self->mark.snapshot;
    out->has_snapshot = self->mark.has_snapshot;
    out->ts_us = self->mark.ts_us;
    out->has_ts = self->mark.has_ts;
    out->ends_commit = !rows;
    if (!rows) {
        lc_pairs_clear(&self->pairs);
        self->resolving = false;
    }
    return LCDC_OK;
}

static lcdc_status step(struct lc_stage *self, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    for (;;) {
        if (self->resolving) {
            *more = true;
            return next_resolved(self, out, err);
        }
        if (self->ended) {
            *more = false;
            return LCDC_OK;
        }
        LC_TRY(lc_change_next(self->below, out, more, err));
        if (!*more) {
            self->ended = true;
            if (!self->ops->whole_range)
                continue;
        } else {
            note_mark(self, out);
            if (out->n)
                LC_TRY(look_at(self, out, err));
        }
        bool window_ends = self->ops->whole_range ? self->ended : out->ends_commit;
        if (window_ends) {
            LC_TRY(self->ops->resolve(self, err));
            self->resolving = true;
        }
        if (out->n) { /* what did not have to wait; the end mark comes with the resolved rows */
            out->ends_commit = false;
            *more = true;
            return LCDC_OK;
        }
        lc_change_batch_done(out);
    }
}

static lcdc_status stage_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                              lcdc_error **err)
{
    lcdc_status status = step((struct lc_stage *)stream, out, more, err);
    if (status != LCDC_OK)
        lc_change_batch_done(out);
    return status;
}

static void stage_release(struct lc_change_stream *stream)
{
    struct lc_stage *self = (struct lc_stage *)stream;
    lc_change_stream_free(self->below);
    lc_pairs_done(&self->pairs);
    lc_free(self->keys);
    lc_free(self->hold);
    lc_free(self->groups);
    lc_free(self);
}

lcdc_status lc_stage_new(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                         const struct lc_stage_ops *ops, struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops stream_ops = {stage_next, stage_release};
    struct lc_stage *self = lc_calloc(1, sizeof(*self));
    if (!self) {
        lc_change_stream_free(take_below);
        return lc_fail_oom(err);
    }
    self->stream.ops = &stream_ops;
    self->ops = ops;
    self->below = take_below;
    self->spec = *spec;
    lcdc_status status = lc_pairs_init(&self->pairs, spec->columns, spec->memory_limit, err);
    self->pairs.keep_keys = ops->keep_keys;
    if (status != LCDC_OK)
        stage_release(&self->stream);
    else
        *out = &self->stream;
    return status;
}
