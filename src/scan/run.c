/* SPDX-License-Identifier: Apache-2.0 */
/* The plain run, and what all runs share. */
#include "scan/run.h"

#include <string.h>

struct lc_rows_request lc_run_images(const struct lc_run_spec *spec, size_t n_extra,
                                     const struct lc_field *const *extra)
{
    return (struct lc_rows_request){.columns = spec->shape->columns,
                                    .n_extra = n_extra,
                                    .extra = extra,
                                    .filter = spec->shape->filter,
                                    .n_ranges = spec->n_ranges,
                                    .ranges = spec->ranges};
}

lcdc_status lc_row_ids(const struct lc_data_file *file, const struct ArrowArray *extra, size_t column, int64_t n,
                       const int64_t *positions, int64_t **out, lcdc_error **err)
{
    const struct ArrowArray *ids = extra->children[column];
    const int64_t *values = (const int64_t *)ids->buffers[1] + ids->offset + extra->offset;
    int64_t *made = lc_alloc((size_t)n * sizeof(*made));
    LC_TRY_ALLOC(made);
    for (int64_t i = 0; i < n; i++)
        made[i] = lc_array_is_null(ids, extra->offset + i)
                      ? (int64_t)((uint64_t)file->base_row_id + (uint64_t)positions[i])
                      : values[i];
    *out = made;
    return LCDC_OK;
}

void lc_change_batch_settle_ops(struct lc_change_batch *batch)
{
    if (!batch->ops || batch->n == 0)
        return;
    batch->op = (lcdc_op)batch->ops[0];
    for (int64_t i = 1; i < batch->n; i++)
        if (batch->ops[i] != batch->ops[0])
            return;
    lc_free(batch->ops);
    batch->ops = NULL;
}

/* ---- plain ---- */

struct plain {
    struct lc_run run;
    struct lc_run_spec spec;
    const struct lc_field *row_id[1];
    bool in_added;
    struct lc_ahead *rows;
};

static lcdc_status make_plain(void *context, struct lc_decoded *decoded, struct lc_change_batch *out, lcdc_error **err)
{
    const struct plain *self = context;
    const struct lc_commit *commit = self->spec.commit;
    const struct lc_row_set *set = &(self->in_added ? commit->added : commit->removed)[decoded->set];
    out->n = decoded->images.length;
    out->op = self->in_added ? LCDC_OP_INSERT : LCDC_OP_DELETE;
    if (decoded->extra.release && set->file->has_row_ids)
        LC_TRY(lc_row_ids(set->file, &decoded->extra, 0, out->n, decoded->positions, &out->row_ids, err));
    lc_array_move(&decoded->images, &out->images);
    return LCDC_OK;
}

static lcdc_status open_side(struct plain *self, lcdc_error **err)
{
    const struct lc_commit *commit = self->spec.commit;
    bool ids = self->spec.shape->row_ids && commit->row_id;
    self->row_id[0] = commit->row_id;
    struct lc_ahead_request request = {.context = self->spec.context,
                                       .n = self->in_added ? commit->n_added : commit->n_removed,
                                       .sets = self->in_added ? commit->added : commit->removed,
                                       .rows = lc_run_images(&self->spec, ids, self->row_id),
                                       .make = make_plain,
                                       .make_context = self};
    return lc_ahead_open(&request, &self->rows, err);
}

static lcdc_status plain_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct plain *self = (struct plain *)run;
    for (;;) {
        if (!self->rows)
            LC_TRY(open_side(self, err));
        LC_TRY(lc_ahead_next(self->rows, out, more, err));
        if (*more || self->in_added)
            return LCDC_OK;
        lc_ahead_close(lc_steal(self->rows));
        self->in_added = true;
    }
}

static void plain_release(struct lc_run *run)
{
    struct plain *self = (struct plain *)run;
    lc_ahead_close(self->rows);
    lc_free(self);
}

lcdc_status lc_run_plain(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err)
{
    static const struct lc_run_ops ops = {plain_next, plain_release};
    struct plain *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->run.ops = &ops;
    self->spec = *spec;
    *out = &self->run;
    return LCDC_OK;
}
