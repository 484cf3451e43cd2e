/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/narrow.h"

struct narrow {
    struct lc_change_stream stream;
    struct lc_change_stream *below;
    size_t n;
    size_t *columns;
};

static lcdc_status narrow_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                               lcdc_error **err)
{
    struct narrow *self = (struct narrow *)stream;
    LC_CHANGE_BATCH struct lc_change_batch batch = {0};
    LC_ARRAY struct ArrowArray images = {0};
    LC_TRY(lc_change_next(self->below, &batch, more, err));
    if (batch.images.release) {
        LC_TRY(lc_array_project(&batch.images, self->n, self->columns, &images, err));
        lc_array_move(&images, &batch.images);
    }
    *out = batch;
    batch = (struct lc_change_batch){0};
    return LCDC_OK;
}

static void narrow_release(struct lc_change_stream *stream)
{
    struct narrow *self = (struct narrow *)stream;
    lc_change_stream_free(self->below);
    lc_free(self->columns);
    lc_free(self);
}

lcdc_status lc_spark_narrow(struct lc_change_stream *take_below, const struct lc_field *whole,
                            const struct lc_field *columns, struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {narrow_next, narrow_release};
    struct narrow *self = lc_calloc(1, sizeof(*self));
    size_t *places = lc_calloc(columns->n_children ? columns->n_children : 1, sizeof(*places));
    if (!self || !places) {
        lc_change_stream_free(take_below);
        lc_free(self);
        lc_free(places);
        return lc_fail_oom(err);
    }
    for (size_t i = 0; i < columns->n_children; i++) {
        const struct lc_field *found = lc_field_child(whole, lc_str_of(columns->children[i].name));
        places[i] = found ? (size_t)(found - whole->children) : 0;
    }
    *self = (struct narrow){.stream.ops = &ops, .below = take_below, .n = columns->n_children, .columns = places};
    *out = &self->stream;
    return LCDC_OK;
}
