/* SPDX-License-Identifier: Apache-2.0 */
/* The plain run, and what all runs share. */
#include "scan/run.h"

#include <string.h>

static const struct lc_field *const no_extra[1];

void lc_set_walk_init(struct lc_set_walk *walk, const struct lc_run_spec *spec, size_t n, struct lc_row_set *sets)
{
    const struct lc_commit *commit = spec->commit;
    *walk = (struct lc_set_walk){.spec = spec, .n = n, .sets = sets};
    walk->row_id = spec->shape->row_ids ? commit->row_id : NULL;
    walk->request = (struct lc_rows_request){.columns = spec->shape->columns,
                                             .extra = no_extra,
                                             .filter = spec->shape->filter,
                                             .n_ranges = spec->n_ranges,
                                             .ranges = spec->ranges};
    if (walk->row_id) {
        walk->request.n_extra = 1;
        walk->request.extra = &walk->row_id;
    }
}

void lc_set_walk_done(struct lc_set_walk *walk)
{
    lc_rows_close(walk->rows);
    walk->rows = NULL;
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

lcdc_status lc_set_walk_next(struct lc_set_walk *walk, struct ArrowArray *images, int64_t **ids, lcdc_error **err)
{
    for (; walk->at < walk->n; walk->at++) {
        LC_ARRAY struct ArrowArray extra = {0};
        const int64_t *positions = NULL;
        struct lc_row_set *set = &walk->sets[walk->at];
        if (!walk->rows)
            LC_TRY(lc_rows_open(walk->spec->context, set, &walk->request, &walk->rows, err));
        LC_TRY(lc_rows_next(walk->rows, images, &extra, &positions, err));
        if (images->release) {
            if (ids && walk->row_id && set->file->has_row_ids)
                return lc_row_ids(set->file, &extra, 0, images->length, positions, ids, err);
            return LCDC_OK;
        }
        lc_set_walk_done(walk);
    }
    *images = (struct ArrowArray){0};
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
    bool in_added;
    struct lc_set_walk walk;
};

static lcdc_status plain_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct plain *self = (struct plain *)run;
    for (;;) {
        LC_TRY(lc_set_walk_next(&self->walk, &out->images, &out->row_ids, err));
        if (out->images.release) {
            out->n = out->images.length;
            out->op = self->in_added ? LCDC_OP_INSERT : LCDC_OP_DELETE;
            *more = true;
            return LCDC_OK;
        }
        if (self->in_added)
            break;
        self->in_added = true;
        lc_set_walk_init(&self->walk, &self->spec, self->spec.commit->n_added, self->spec.commit->added);
    }
    *more = false;
    return LCDC_OK;
}

static void plain_release(struct lc_run *run)
{
    struct plain *self = (struct plain *)run;
    lc_set_walk_done(&self->walk);
    lc_free(self);
}

lcdc_status lc_run_plain(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err)
{
    static const struct lc_run_ops ops = {plain_next, plain_release};
    struct plain *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->run.ops = &ops;
    self->spec = *spec;
    lc_set_walk_init(&self->walk, &self->spec, spec->commit->n_removed, spec->commit->removed);
    *out = &self->run;
    return LCDC_OK;
}
