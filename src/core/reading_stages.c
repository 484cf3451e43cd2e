/* SPDX-License-Identifier: Apache-2.0 */
/* reading_stages.c - the two stages that hold nothing back: filter and concatenation. */
#include "core/reading.h"

/* ---- filter ---- */

struct filter_stage {
    struct lc_change_stream stream;
    struct lc_change_stream *below;
    const struct lc_expr *filter;
    const struct lc_field *columns;
    bool *certain; /* of each column: the filter looks at it, and the table declares that it holds no nulls */
};

/* A delete whose filter column is null because its source could not supply it is kept: nothing else can a null mean
   where the table has none. In any other column it is the row's own, and the filter decided on it. */
static void keep_unknown_deletes(const struct filter_stage *self, const struct lc_change_batch *batch, uint8_t *mask)
{
    for (size_t c = 0; c < self->columns->n_children; c++)
        for (int64_t i = 0; self->certain[c] && i < batch->n; i++)
            mask[i] = mask[i] ||
                      (lc_change_op(batch, i) == LCDC_OP_DELETE && lc_array_is_null(batch->images.children[c], i));
}

static lcdc_status filter_batch(const struct filter_stage *self, struct lc_change_batch *batch, lcdc_error **err)
{
    int64_t kept = 0, n = batch->n;
    LC_FREE uint8_t *mask = lc_alloc((size_t)n);
    LC_TRY_ALLOC(mask);
    LC_TRY(lc_filter_eval(self->filter, &batch->images, mask, err));
    keep_unknown_deletes(self, batch, mask);
    for (int64_t i = 0; i < n; i++) {
        if (!mask[i])
            continue;
        if (batch->ops)
            batch->ops[kept] = batch->ops[i];
        if (batch->row_ids)
            batch->row_ids[kept] = batch->row_ids[i];
        kept++;
    }
    if (kept == n)
        return LCDC_OK;
    LC_ARRAY struct ArrowArray left = {0};
    LC_TRY(lc_array_filter(self->columns, &batch->images, mask, &left, err));
    lc_array_move(&left, &batch->images);
    batch->n = kept;
    return LCDC_OK;
}

static lcdc_status filter_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                               lcdc_error **err)
{
    struct filter_stage *self = (struct filter_stage *)stream;
    for (;;) {
        LC_TRY(lc_change_next(self->below, out, more, err));
        lcdc_status status = *more && out->n ? filter_batch(self, out, err) : LCDC_OK;
        if (status != LCDC_OK) {
            lc_change_batch_done(out);
            return status;
        }
        if (!*more || out->n || out->ends_commit)
            return LCDC_OK;
        lc_change_batch_done(out);
    }
}

static void filter_release(struct lc_change_stream *stream)
{
    struct filter_stage *self = (struct filter_stage *)stream;
    lc_change_stream_free(self->below);
    lc_free(self->certain);
    lc_free(self);
}

lcdc_status lc_stage_filter(struct lc_change_stream *take_below, const struct lc_expr *filter,
                            const struct lc_field *columns, struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {filter_next, filter_release};
    struct filter_stage *self = lc_calloc(1, sizeof(*self));
    bool *certain = lc_calloc(columns->n_children ? columns->n_children : 1, sizeof(*certain));
    if (!self || !certain) {
        lc_free(self);
        lc_free(certain);
        lc_change_stream_free(take_below);
        return lc_fail_oom(err);
    }
    lc_filter_columns(filter, certain);
    for (size_t c = 0; c < columns->n_children; c++)
        certain[c] = certain[c] && !columns->children[c].nullable;
    *self = (struct filter_stage){
        .stream.ops = &ops, .below = take_below, .filter = filter, .columns = columns, .certain = certain};
    *out = &self->stream;
    return LCDC_OK;
}

/* ---- concatenation ---- */

struct concat_stage {
    struct lc_change_stream stream;
    struct lc_change_stream *below[2];
    int at;
};

static lcdc_status concat_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                               lcdc_error **err)
{
    struct concat_stage *self = (struct concat_stage *)stream;
    for (; self->at < 2; self->at++) {
        LC_TRY(lc_change_next(self->below[self->at], out, more, err));
        if (*more)
            return LCDC_OK;
    }
    *more = false;
    return LCDC_OK;
}

static void concat_release(struct lc_change_stream *stream)
{
    struct concat_stage *self = (struct concat_stage *)stream;
    lc_change_stream_free(self->below[0]);
    lc_change_stream_free(self->below[1]);
    lc_free(self);
}

lcdc_status lc_stage_concat(struct lc_change_stream *take_first, struct lc_change_stream *take_second,
                            struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {concat_next, concat_release};
    struct concat_stage *self = lc_calloc(1, sizeof(*self));
    if (!self) {
        lc_change_stream_free(take_first);
        lc_change_stream_free(take_second);
        return lc_fail_oom(err);
    }
    *self = (struct concat_stage){.stream.ops = &ops, .below = {take_first, take_second}};
    *out = &self->stream;
    return LCDC_OK;
}
