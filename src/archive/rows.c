/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A commit is read with the columns as they were called then: a column is the one with its id, and where either side
 * has no ids the one with its name. Rows that fold two images are split again, and then the files are read twice, so
 * that old images still leave before new ones. Where all rows of a commit have the same image, what the filter asks of
 * it leaves row groups and pages unread.
 */
#include "archive/rows.h"

#include <string.h>

#include "io/parquet.h"
#include "scan/pushdown.h"

struct lc_archive_rows {
    struct lc_archive_rows_spec spec;
    struct lc_arena arena;
    struct lc_archive_manifest manifest;
    struct lc_field row;     /* STRUCT of op and the images that the commit has */
    int before_at, after_at; /* where they stand in it; -1: none */
    bool two_passes;
    int pass;
    size_t part;
    struct lc_parquet *file;
    struct lc_parquet_scan *scan;
    struct lc_parquet_request request;
};

/* ---- columns then and now ---- */

static const struct lc_field *find_then(const struct lc_field *then, const struct lc_field *now)
{
    const struct lc_field *named = lc_field_child(then, lc_str_of(now->name));
    bool has_ids = now->id != LC_NO_ID;
    for (size_t i = 0; has_ids && i < then->n_children; i++)
        has_ids = then->children[i].id != LC_NO_ID;
    return has_ids ? lc_field_child_id(then, now->id) : named;
}

/* A name that no column of the file has: the reader then fills in what a column that was not there yet holds. */
static const char *absent_name(const struct lc_field *then, struct lc_arena *arena)
{
    for (unsigned n = 0;; n++) {
        LC_BUF struct lc_buf name = {0};
        lc_buf_init(&name, 64);
        lc_buf_printf(&name, "absent %u", n);
        if (name.failed)
            return NULL;
        if (!lc_field_child(then, (struct lc_str){name.p, name.n}))
            return lc_arena_strdup(arena, name.p);
    }
}

static lcdc_status as_then(const struct lc_field *now, const struct lc_field *then, struct lc_arena *arena,
                           struct lc_field *out, lcdc_error **err)
{
    *out = *now;
    out->id = LC_NO_ID;
    if (now->n_children == 0 || now->type.kind != then->type.kind)
        return LCDC_OK;
    out->children = lc_arena_array(arena, now->n_children, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    for (size_t i = 0; i < now->n_children; i++) {
        const struct lc_field *child = &now->children[i];
        bool by_place = now->type.kind != LC_TYPE_STRUCT;
        const struct lc_field *match = by_place ? &then->children[i] : find_then(then, child);
        if (match) {
            LC_TRY(as_then(child, match, arena, &out->children[i], err));
            out->children[i].physical = match->name;
            continue;
        }
        out->children[i] = *child;
        out->children[i].id = LC_NO_ID;
        out->children[i].physical = absent_name(then, arena);
        LC_TRY_ALLOC(out->children[i].physical);
    }
    return LCDC_OK;
}

/* ---- opening ---- */

static bool has_before(const struct lc_archive_manifest *manifest)
{
    return manifest->ops[LCDC_OP_DELETE] || manifest->ops[LCDC_OP_UPDATE_BEFORE] || manifest->ops[LCDC_OP_UPDATE];
}

static bool has_after(const struct lc_archive_manifest *manifest)
{
    return manifest->ops[LCDC_OP_INSERT] || manifest->ops[LCDC_OP_UPDATE_AFTER] || manifest->ops[LCDC_OP_UPDATE];
}

static lcdc_status lay_out(struct lc_archive_rows *self, lcdc_error **err)
{
    struct lc_field images;
    struct lc_field *columns = lc_arena_array(&self->arena, 3, sizeof(*columns));
    LC_TRY_ALLOC(columns);
    LC_TRY(as_then(self->spec.columns, &self->manifest.images, &self->arena, &images, err));
    self->before_at = self->after_at = -1;
    columns[0] = (struct lc_field){.name = "op", .physical = "op", .id = LC_NO_ID, .type.kind = LC_TYPE_STRING};
    size_t n = 1;
    if (has_before(&self->manifest)) {
        self->before_at = (int)n;
        columns[n] = images;
        columns[n].name = columns[n].physical = "before";
        n++;
    }
    if (has_after(&self->manifest)) {
        self->after_at = (int)n;
        columns[n] = images;
        columns[n].name = columns[n].physical = "after";
        n++;
    }
    self->row = (struct lc_field){
        .name = "", .physical = "", .id = LC_NO_ID, .type.kind = LC_TYPE_STRUCT, .n_children = n, .children = columns};
    return LCDC_OK;
}

/* ---- row groups that hold no wanted row ---- */

/* Where a leaf of `now` stands in `then`, which has the same fields in the same places; NULL: not below it. */
static const struct lc_field *counterpart(const struct lc_field *now, const struct lc_field *then,
                                          const struct lc_field *leaf)
{
    const struct lc_field *found = NULL;
    if (now == leaf)
        return then;
    for (size_t i = 0; !found && then && now->type.kind == LC_TYPE_STRUCT && i < now->n_children; i++)
        found = counterpart(&now->children[i], &then->children[i], leaf);
    return found;
}

/* A row with two images passes with either, which is no conjunction: then every row group is read. */
static lcdc_status push_down(struct lc_archive_rows *self, lcdc_error **err)
{
    const struct lc_range *found;
    size_t n, kept = 0;
    if (!self->spec.filter || !self->spec.shape->pushdown || self->row.n_children != 2)
        return LCDC_OK;
    LC_TRY(lc_pushdown_ranges(self->spec.filter, &self->arena, &n, &found, err));
    struct lc_range *ranges = lc_arena_array(&self->arena, n, sizeof(*ranges));
    LC_TRY_ALLOC(ranges);
    for (size_t i = 0; i < n; i++) {
        ranges[kept] = found[i];
        ranges[kept].field = counterpart(self->spec.columns, &self->row.children[1], found[i].field);
        kept += ranges[kept].field != NULL;
    }
    self->request.n_ranges = kept;
    self->request.ranges = ranges;
    return LCDC_OK;
}

static lcdc_status open_all(struct lc_archive_rows *self, const struct lc_archive_name *name, lcdc_error **err)
{
    LC_TRY(lc_archive_manifest(self->spec.archive, name, &self->arena, &self->manifest, err));
    self->two_passes = self->manifest.ops[LCDC_OP_UPDATE] > 0;
    LC_TRY(lay_out(self, err));
    self->request = (struct lc_parquet_request){.schema = &self->row,
                                                .match = LC_MATCH_PHYSICAL_NAME,
                                                .batch_rows = self->spec.shape->batch_rows,
                                                .memory_limit = self->spec.shape->memory_limit};
    return push_down(self, err);
}

lcdc_status lc_archive_rows_open(const struct lc_archive_rows_spec *spec, const struct lc_archive_name *name,
                                 struct lc_archive_rows **out, lcdc_error **err)
{
    struct lc_archive_rows *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->spec = *spec;
    lcdc_status status = open_all(self, name, err);
    if (status != LCDC_OK)
        lc_archive_rows_close(self);
    else
        *out = self;
    return status;
}

static void close_part(struct lc_archive_rows *self)
{
    lc_parquet_scan_close(lc_steal(self->scan));
    lc_parquet_close(lc_steal(self->file));
}

void lc_archive_rows_close(struct lc_archive_rows *self)
{
    if (!self)
        return;
    close_part(self);
    lc_arena_done(&self->arena);
    lc_free(self);
}

static lcdc_status open_part(struct lc_archive_rows *self, lcdc_error **err)
{
    struct lc_archive *archive = self->spec.archive;
    const struct lc_archive_part *part = &self->manifest.parts[self->part];
    LC_FREE char *path = lc_archive_part_path(archive, &self->manifest, self->part);
    LC_TRY_ALLOC(path);
    if (self->pass == 0)
        LC_TRY(lc_archive_check_bytes(archive, &self->manifest, self->part, self->spec.shape->cancelled, err));
    LC_TRY(lc_parquet_open(archive->storage, path, part->bytes, &self->file, err));
    if (lc_parquet_rows(self->file) != part->rows)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s holds %lld rows, its manifest says %lld", path,
                       (long long)lc_parquet_rows(self->file), (long long)part->rows);
    return lc_parquet_scan_open(self->file, &self->request, &self->scan, err);
}

/* ---- rows ---- */

/* Image rows that one batch of public rows becomes. */
struct picked {
    int64_t n;
    int64_t *rows;
    uint32_t *sources;
    uint8_t *ops;
};

static lcdc_status bad_row(const struct lc_archive_rows *self, const char *what, lcdc_error **err)
{
    return lc_fail(err, LC_R_ARCHIVE_BAD, "%s/%s: %s", self->spec.archive->root, self->manifest.parts[self->part].name,
                   what);
}

static lcdc_status pick(const struct lc_archive_rows *self, const struct ArrowArray *batch, int64_t row, lcdc_op op,
                        bool before, struct picked *out, lcdc_error **err)
{
    int at = before ? self->before_at : self->after_at;
    if (self->two_passes && before != (self->pass == 0))
        return LCDC_OK;
    if (at < 0 || lc_array_is_null(batch->children[at], row))
        return bad_row(self, "a row lacks the image that its op has", err);
    out->rows[out->n] = row;
    out->sources[out->n] = before || self->before_at < 0 ? 0 : 1;
    out->ops[out->n++] = (uint8_t)op;
    return LCDC_OK;
}

static lcdc_status pick_all(const struct lc_archive_rows *self, const struct ArrowArray *batch, struct picked *out,
                            lcdc_error **err)
{
    const struct ArrowArray *words = batch->children[0];
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t row = batch->offset + i;
        lcdc_op op;
        if (lc_array_is_null(words, row))
            return bad_row(self, "a row has no op", err);
        struct lc_str word = lc_array_str(words, LC_TYPE_STRING, 0, row);
        LC_TRY(lcdc_op_parse(word.p, word.n, &op, err));
        bool folded = op == LCDC_OP_UPDATE;
        if (folded && !self->two_passes)
            return bad_row(self, "a row is an update, its manifest says that there is none", err);
        if (folded || op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE)
            LC_TRY(pick(self, batch, row, folded ? LCDC_OP_UPDATE_BEFORE : op, true, out, err));
        if (folded || op == LCDC_OP_INSERT || op == LCDC_OP_UPDATE_AFTER)
            LC_TRY(pick(self, batch, row, folded ? LCDC_OP_UPDATE_AFTER : op, false, out, err));
    }
    return LCDC_OK;
}

static lcdc_status apply_filter(const struct lc_archive_rows *self, struct ArrowArray *images, struct picked *picked,
                                lcdc_error **err)
{
    int64_t kept = 0;
    if (!self->spec.filter || picked->n == 0)
        return LCDC_OK;
    LC_ARRAY struct ArrowArray left = {0};
    LC_FREE uint8_t *mask = lc_alloc((size_t)picked->n);
    LC_TRY_ALLOC(mask);
    LC_TRY(lc_filter_eval(self->spec.filter, images, mask, err));
    for (int64_t i = 0; i < picked->n; i++)
        if (mask[i])
            picked->ops[kept++] = picked->ops[i];
    LC_TRY(lc_array_filter(self->spec.columns, images, mask, &left, err));
    lc_array_move(&left, images);
    picked->n = kept;
    return LCDC_OK;
}

static lcdc_status convert(struct lc_archive_rows *self, const struct ArrowArray *batch, struct lc_change_batch *out,
                           lcdc_error **err)
{
    size_t n = (size_t)batch->length;
    LC_FREE int64_t *rows = lc_alloc(2 * n * sizeof(*rows));
    LC_FREE uint32_t *sources = lc_alloc(2 * n * sizeof(*sources));
    LC_FREE uint8_t *ops = lc_alloc(2 * n);
    LC_TRY_ALLOC(rows && sources && ops);
    struct picked picked = {.rows = rows, .sources = sources, .ops = ops};
    LC_TRY(pick_all(self, batch, &picked, err));
    const struct ArrowArray *from[2] = {NULL, NULL};
    size_t n_from = 0;
    if (self->before_at >= 0)
        from[n_from++] = batch->children[self->before_at];
    if (self->after_at >= 0)
        from[n_from++] = batch->children[self->after_at];
    if (picked.n == 0)
        return LCDC_OK;
    LC_ARRAY struct ArrowArray images = {0};
    LC_TRY(lc_array_gather(self->spec.columns, n_from, from, sources, rows, picked.n, &images, err));
    LC_TRY(apply_filter(self, &images, &picked, err));
    if (picked.n == 0)
        return LCDC_OK;
    lc_array_move(&images, &out->images);
    out->n = picked.n;
    out->ops = lc_steal(ops);
    return LCDC_OK;
}

lcdc_status lc_archive_rows_next(struct lc_archive_rows *self, struct lc_change_batch *out, bool *more,
                                 lcdc_error **err)
{
    int passes = self->two_passes ? 2 : 1;
    for (; self->pass < passes; self->pass++, self->part = 0)
        for (; self->part < self->manifest.n_parts; self->part++) {
            if (!self->scan)
                LC_TRY(open_part(self, err));
            for (;;) {
                LC_ARRAY struct ArrowArray batch = {0};
                if (self->spec.shape->cancelled && *self->spec.shape->cancelled)
                    return lc_fail(err, LC_R_CANCELLED, "the read was cancelled");
                LC_TRY(lc_parquet_scan_next(self->scan, &batch, NULL, err));
                if (!batch.release)
                    break;
                LC_TRY(convert(self, &batch, out, err));
                *more = out->n > 0;
                if (*more)
                    return LCDC_OK;
            }
            close_part(self);
        }
    *more = false;
    return LCDC_OK;
}

lcdc_status lc_archive_rows_check(struct lc_archive *archive, const struct lc_archive_name *name,
                                  const _Atomic int *cancelled, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_archive_manifest manifest;
    if (cancelled && *cancelled)
        return lc_fail(err, LC_R_CANCELLED, "the read was cancelled");
    LC_TRY(lc_archive_manifest(archive, name, &arena, &manifest, err));
    for (size_t i = 0; i < manifest.n_parts; i++)
        LC_TRY(lc_archive_check_part(archive, &manifest, i, err));
    return LCDC_OK;
}
