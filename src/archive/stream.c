/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/stream.h"

#include <inttypes.h>

#include "archive/range.h"
#include "archive/rows.h"
#include "core/reading.h"
#include "scan/pushdown.h"

static void set_commit(struct lc_change_batch *batch, const struct lc_archive_name *name)
{
    batch->snapshot = name->snapshot;
    batch->has_snapshot = name->snapshot >= 0;
    batch->ts_us = name->ts_us;
    batch->has_ts = name->ts_us != INT64_MIN;
}

/* ---- mapping: another commit, another op, fewer columns, fewer rows ---- */

struct mapping {
    const struct lc_archive_name *as; /* the commit that the rows are told of; NULL: as they are */
    bool is_state;                    /* the rows are a state: inserts alone */
    bool removes;                     /* and leave */
    bool remakes;                     /* equal rows that leave and come did not change */
    bool goes_on;                     /* the commit does not end here */
    const struct lc_shape *shape;     /* project and filter; NULL: neither */
    size_t *columns;                  /* places of the shape's columns */
};

struct map_stage {
    struct lc_change_stream stream;
    struct lc_change_stream *below;
    struct mapping how;
};

static lcdc_status project(const struct mapping *how, struct lc_change_batch *batch, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray all = {0};
    lc_array_move(&batch->images, &all);
    return lc_array_project(&all, how->shape->columns->n_children, how->columns, &batch->images, err);
}

static lcdc_status filter(const struct mapping *how, struct lc_change_batch *batch, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray left = {0};
    LC_FREE uint8_t *mask = lc_alloc((size_t)batch->n);
    int64_t kept = 0;
    LC_TRY_ALLOC(mask);
    LC_TRY(lc_filter_eval(how->shape->filter, &batch->images, mask, err));
    for (int64_t i = 0; i < batch->n; i++)
        if (mask[i]) {
            if (batch->ops)
                batch->ops[kept] = batch->ops[i];
            kept++;
        }
    LC_TRY(lc_array_filter(how->shape->columns, &batch->images, mask, &left, err));
    lc_array_move(&left, &batch->images);
    batch->n = kept;
    if (kept == 0)
        lc_array_release(&batch->images);
    return LCDC_OK;
}

static lcdc_status map_rows(const struct mapping *how, struct lc_change_batch *batch, lcdc_error **err)
{
    for (int64_t i = 0; how->is_state && i < batch->n; i++)
        if (lc_change_op(batch, i) != LCDC_OP_INSERT)
            return lc_fail(err, LC_R_ARCHIVE_BAD,
                           "commit %" PRId64 ": the archive's changes take rows away that its last whole state does "
                           "not have",
                           how->as->snapshot);
    if (how->removes) {
        lc_free(lc_steal(batch->ops));
        batch->op = LCDC_OP_DELETE;
    }
    if (how->shape)
        LC_TRY(project(how, batch, err));
    if (how->shape && how->shape->filter)
        LC_TRY(filter(how, batch, err));
    return LCDC_OK;
}

static lcdc_status map_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct map_stage *self = (struct map_stage *)stream;
    const struct mapping *how = &self->how;
    LC_TRY(lc_change_next(self->below, out, more, err));
    if (!*more)
        return LCDC_OK;
    if (out->n)
        LC_TRY(map_rows(how, out, err));
    if (how->as)
        set_commit(out, how->as);
    out->remakes_ids = how->remakes;
    if (how->goes_on)
        out->ends_commit = false;
    return LCDC_OK;
}

static void map_release(struct lc_change_stream *stream)
{
    struct map_stage *self = (struct map_stage *)stream;
    lc_change_stream_free(self->below);
    lc_free(self->how.columns);
    lc_free(self);
}

/* Where each column of the shape stands in the schema. */
static lcdc_status find_columns(const struct lc_field *schema, const struct lc_shape *shape, size_t **out,
                                lcdc_error **err)
{
    size_t n = shape->columns->n_children;
    LC_FREE size_t *columns = lc_calloc(n, sizeof(*columns));
    LC_TRY_ALLOC(columns);
    for (size_t i = 0; i < n; i++) {
        while (columns[i] < schema->n_children &&
               !lc_same_column(&schema->children[columns[i]], &shape->columns->children[i]))
            columns[i]++;
        if (columns[i] == schema->n_children)
            return lc_fail(err, LC_R_INTERNAL, "column '%.200s' is none of the archive's",
                           shape->columns->children[i].name);
    }
    *out = lc_steal(columns);
    return LCDC_OK;
}

static lcdc_status map(struct lc_change_stream *take_below, const struct lc_field *schema, const struct mapping *how,
                       struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {map_next, map_release};
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *below = take_below;
    struct map_stage *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct map_stage){.stream.ops = &ops, .below = lc_steal(below), .how = *how};
    lcdc_status status = how->shape ? find_columns(schema, how->shape, &self->how.columns, err) : LCDC_OK;
    if (status != LCDC_OK)
        map_release(&self->stream);
    else
        *out = &self->stream;
    return status;
}

/* ---- commits ---- */

struct commits {
    struct lc_change_stream stream;
    struct lc_archive_view view;
    struct lc_archive_rows_spec rows_spec;
    size_t at, end;
    size_t plain; /* the commit that is read as it is, though it is a whole state */
    struct lc_archive_rows *rows;
    struct lc_change_stream *compared; /* of a whole state with what it replaced */
};

static lcdc_status compare(const struct lc_archive_view *view, size_t at, struct lc_change_stream **out,
                           lcdc_error **err);

static bool is_compared(const struct commits *self)
{
    return self->at > 0 && self->at != self->plain && self->view.archive->names[self->at].kind != LC_ARCHIVE_CHANGES;
}

static lcdc_status next_row(struct commits *self, struct lc_change_batch *out, lcdc_error **err)
{
    bool rows = false;
    const struct lc_archive_name *name = &self->view.archive->names[self->at];
    if (!self->rows)
        LC_TRY(lc_archive_rows_open(&self->rows_spec, name, &self->rows, err));
    LC_TRY(lc_archive_rows_next(self->rows, out, &rows, err));
    set_commit(out, name);
    out->ends_commit = !rows;
    if (rows)
        return LCDC_OK;
    lc_archive_rows_close(lc_steal(self->rows));
    self->at++;
    return LCDC_OK;
}

static lcdc_status commits_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                                lcdc_error **err)
{
    struct commits *self = (struct commits *)stream;
    while (self->at < self->end) {
        *more = true;
        if (!is_compared(self))
            return next_row(self, out, err);
        if (!self->compared)
            LC_TRY(compare(&self->view, self->at, &self->compared, err));
        LC_TRY(lc_change_next(self->compared, out, more, err));
        if (*more)
            return LCDC_OK;
        lc_change_stream_free(lc_steal(self->compared));
        self->at++;
    }
    *more = false;
    return LCDC_OK;
}

static void commits_release(struct lc_change_stream *stream)
{
    struct commits *self = (struct commits *)stream;
    lc_archive_rows_close(self->rows);
    lc_change_stream_free(self->compared);
    lc_free(self);
}

/* `shaped`: with the columns and the filter of the shape; else every column and row. */
static lcdc_status new_commits(const struct lc_archive_view *view, size_t begin, size_t end, size_t plain, bool shaped,
                               struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {commits_next, commits_release};
    struct commits *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct commits){.stream.ops = &ops, .view = *view, .at = begin, .end = end, .plain = plain};
    self->rows_spec = (struct lc_archive_rows_spec){.archive = view->archive,
                                                    .columns = shaped ? view->shape->columns : view->schema,
                                                    .filter = shaped ? view->shape->filter : NULL,
                                                    .shape = view->shape};
    *out = &self->stream;
    return LCDC_OK;
}

lcdc_status lc_archive_changes(const struct lc_archive_view *view, size_t begin, size_t end,
                               struct lc_change_stream **out, lcdc_error **err)
{
    return new_commits(view, begin, end, SIZE_MAX, true, out, err);
}

/* ---- states ---- */

static lcdc_status find_base(const struct lc_archive_view *view, size_t at, size_t *out, lcdc_error **err)
{
    const struct lc_archive *archive = view->archive;
    if (lc_archive_base(archive, at, out))
        return LCDC_OK;
    return lc_fail(err, LC_R_ARCHIVE_NO_STATE,
                   "%s: the rows at commit %" PRId64 " are not known, it holds changes only", archive->root,
                   archive->names[at].snapshot);
}

static struct lc_stage_spec stage_spec(const struct lc_archive_view *view)
{
    return (struct lc_stage_spec){
        .columns = view->schema, .memory_limit = view->shape->memory_limit / 4, .batch_rows = view->shape->batch_rows};
}

/* The state after commit `at` with every column. */
static lcdc_status whole_state(const struct lc_archive_view *view, size_t at, struct lc_change_stream **out,
                               lcdc_error **err)
{
    struct lc_stage_spec spec = stage_spec(view);
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    size_t base;
    LC_TRY(find_base(view, at, &base, err));
    LC_TRY(new_commits(view, base, at + 1, base, false, &stream, err));
    if (base < at)
        LC_TRY(lc_stage_net(lc_steal(stream), &spec, &stream, err));
    *out = lc_steal(stream);
    return LCDC_OK;
}

lcdc_status lc_archive_state(const struct lc_archive_view *view, size_t at, struct lc_change_stream **out,
                             lcdc_error **err)
{
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    struct mapping how = {.as = &view->archive->names[at], .is_state = true, .shape = view->shape};
    LC_TRY(whole_state(view, at, &stream, err));
    return map(lc_steal(stream), view->schema, &how, out, err);
}

/* Whole rows tell which did not change; columns and filter come after that. */
static lcdc_status compare(const struct lc_archive_view *view, size_t at, struct lc_change_stream **out,
                           lcdc_error **err)
{
    struct lc_stage_spec spec = stage_spec(view);
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *leaves = NULL, *comes = NULL, *both = NULL;
    const struct lc_archive_name *name = &view->archive->names[at];
    struct mapping leaving = {.as = name, .is_state = true, .removes = true, .remakes = true, .goes_on = true};
    struct mapping coming = {.as = name, .is_state = true, .remakes = true};
    struct mapping shaping = {.as = name, .shape = view->shape};
    LC_TRY(whole_state(view, at - 1, &leaves, err));
    LC_TRY(map(lc_steal(leaves), view->schema, &leaving, &leaves, err));
    LC_TRY(new_commits(view, at, at + 1, at, false, &comes, err));
    LC_TRY(map(lc_steal(comes), view->schema, &coming, &comes, err));
    LC_TRY(lc_stage_concat(lc_steal(leaves), lc_steal(comes), &both, err));
    LC_TRY(lc_stage_carried(lc_steal(both), &spec, &both, err));
    return map(lc_steal(both), view->schema, &shaping, out, err);
}

/* ---- checks before the first row ---- */

lcdc_status lc_archive_check(const struct lc_archive_view *view, size_t at, lcdc_error **err)
{
    struct lc_archive *archive = view->archive;
    size_t first = at;
    if (at > 0 && archive->names[at].kind != LC_ARCHIVE_CHANGES)
        LC_TRY(find_base(view, at - 1, &first, err));
    for (size_t i = first; i <= at; i++)
        LC_TRY(lc_archive_rows_check(archive, &archive->names[i], view->shape->cancelled, err));
    return LCDC_OK;
}
