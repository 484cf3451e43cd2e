/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_changes.c - commits that come with change files.
 *
 * Before-rows of every file must leave before after-rows of any (an update may move a row to another partition and so
 * to another file). After-rows are kept while the first pass goes on; when they grow past the memory limit they are
 * dropped and the files are read a second time instead.
 */
#include <string.h>

#include "scan/run.h"

enum { KEEP_FRACTION = 4 };

struct changes {
    struct lc_run run;
    struct lc_run_spec spec;
    const struct lc_field *extra[1];
    struct lc_ahead *rows;
    int pass;    /* 0: before-rows; 1: after-rows */
    bool reread; /* pass 1 reads the files again */
    size_t n_kept, cap_kept, next_kept;
    struct lc_change_batch *kept;
    int64_t kept_bytes;
};

/* The words a batch has shown so far: there are four of them, and rows take turns. */
struct words {
    size_t n;
    struct lc_str text[4];
    lcdc_op op[4];
};

static lcdc_status parse_word(struct words *words, struct lc_str word, lcdc_op *out, lcdc_error **err)
{
    for (size_t i = 0; i < words->n; i++)
        if (lc_str_eq(word, words->text[i])) {
            *out = words->op[i];
            return LCDC_OK;
        }
    LC_TRY(lcdc_op_parse(word.p, word.n, out, err));
    if (*out == LCDC_OP_UPDATE)
        return lc_fail(err, LC_R_UNKNOWN_OP,
                       "change type 'update' carries no side, expected update_preimage or update_postimage");
    if (words->n < 4) {
        words->text[words->n] = word;
        words->op[words->n++] = *out;
    }
    return LCDC_OK;
}

static lcdc_status parse_ops(const struct ArrowArray *extra, int64_t n, const char *path, uint8_t *ops,
                             lcdc_error **err)
{
    const struct ArrowArray *column = extra->children[0];
    struct words words = {0};
    for (int64_t i = 0; i < n; i++) {
        lcdc_op op;
        if (lc_array_is_null(column, extra->offset + i))
            return lc_fail(err, LC_R_UNKNOWN_OP, "%s: a row has no change type", path);
        lcdc_status status = parse_word(&words, lc_array_str(column, LC_TYPE_STRING, 0, extra->offset + i), &op, err);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "%s", path);
            return status;
        }
        ops[i] = (uint8_t)op;
    }
    return LCDC_OK;
}

static bool is_before(uint8_t op)
{
    return op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE;
}

/* The rows of one side, copied out. */
static lcdc_status pick(const struct changes *self, const struct ArrowArray *images, const uint8_t *ops, int64_t n,
                        bool before, struct lc_change_batch *out, lcdc_error **err)
{
    LC_FREE int64_t *rows = lc_alloc((size_t)n * sizeof(*rows));
    LC_TRY_ALLOC(rows);
    out->ops = lc_alloc((size_t)n);
    LC_TRY_ALLOC(out->ops);
    for (int64_t i = 0; i < n; i++)
        if (is_before(ops[i]) == before) {
            out->ops[out->n] = ops[i];
            rows[out->n++] = i;
        }
    LC_TRY(lc_array_gather(self->spec.shape->columns, 1, &images, NULL, rows, out->n, &out->images, err));
    lc_change_batch_settle_ops(out);
    return LCDC_OK;
}

static lcdc_status keep(struct changes *self, struct lc_change_batch *batch, lcdc_error **err)
{
    if (self->reread)
        return LCDC_OK;
    self->kept_bytes += lc_array_bytes(&batch->images, self->spec.shape->columns) + batch->n;
    if (self->kept_bytes > self->spec.shape->memory_limit / KEEP_FRACTION) {
        self->reread = true;
        while (self->n_kept)
            lc_change_batch_done(&self->kept[--self->n_kept]);
        return LCDC_OK;
    }
    if (self->n_kept == self->cap_kept) {
        size_t cap = self->cap_kept ? self->cap_kept * 2 : 16;
        struct lc_change_batch *kept = lc_realloc(self->kept, cap, sizeof(*kept));
        LC_TRY_ALLOC(kept);
        self->kept = kept;
        self->cap_kept = cap;
    }
    self->kept[self->n_kept++] = *batch;
    *batch = (struct lc_change_batch){0};
    return LCDC_OK;
}

/* Rows with their ops, both sides as the file has them. */
static lcdc_status make_rows(void *context, struct lc_decoded *decoded, struct lc_change_batch *out, lcdc_error **err)
{
    const struct changes *self = context;
    const struct lc_commit *commit = self->spec.commit;
    const char *path = commit->changes[decoded->set].file->path;
    if (!lc_rows_file_has(decoded->rows, 0))
        return lc_fail(err, LC_R_UNKNOWN_OP, "change file %s has no column '%s'", path, commit->change_type->name);
    out->n = decoded->images.length;
    out->ops = lc_alloc((size_t)out->n);
    LC_TRY_ALLOC(out->ops);
    LC_TRY(parse_ops(&decoded->extra, out->n, path, out->ops, err));
    lc_array_move(&decoded->images, &out->images);
    return LCDC_OK;
}

/* Splits a batch; `out` gets this pass's side. */
static lcdc_status split(struct changes *self, struct lc_change_batch *rows, struct lc_change_batch *out,
                         lcdc_error **err)
{
    int64_t n = rows->n, befores = 0;
    for (int64_t i = 0; i < n; i++)
        befores += is_before(rows->ops[i]);
    LC_CHANGE_BATCH struct lc_change_batch after = {0};
    if (befores == 0 || befores == n) { /* one side only: nothing to copy */
        struct lc_change_batch *whole = (befores == n) == (self->pass == 0) ? out : &after;
        *whole = *rows;
        *rows = (struct lc_change_batch){0};
        lc_change_batch_settle_ops(whole);
    } else {
        LC_TRY(pick(self, &rows->images, rows->ops, n, self->pass == 0, out, err));
        if (self->pass == 0)
            LC_TRY(pick(self, &rows->images, rows->ops, n, false, &after, err));
    }
    return self->pass == 0 && after.n ? keep(self, &after, err) : LCDC_OK;
}

static lcdc_status open_files(struct changes *self, lcdc_error **err)
{
    struct lc_ahead_request request = {.context = self->spec.context,
                                       .n = self->spec.commit->n_changes,
                                       .sets = self->spec.commit->changes,
                                       .rows = lc_run_images(&self->spec, 1, self->extra),
                                       .make = make_rows,
                                       .make_context = self};
    return lc_ahead_open(&request, &self->rows, err);
}

static lcdc_status read_next(struct changes *self, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    if (!self->rows)
        LC_TRY(open_files(self, err));
    while (out->n == 0) {
        LC_CHANGE_BATCH struct lc_change_batch rows = {0};
        LC_TRY(lc_ahead_next(self->rows, &rows, more, err));
        if (!*more) {
            lc_ahead_close(lc_steal(self->rows));
            return LCDC_OK;
        }
        LC_TRY(split(self, &rows, out, err));
    }
    return LCDC_OK;
}

static lcdc_status changes_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct changes *self = (struct changes *)run;
    if (self->pass == 0) {
        LC_TRY(read_next(self, out, more, err));
        if (*more)
            return LCDC_OK;
        self->pass = 1;
    }
    if (self->reread)
        return read_next(self, out, more, err);
    *more = self->next_kept < self->n_kept;
    if (*more) {
        *out = self->kept[self->next_kept];
        self->kept[self->next_kept++] = (struct lc_change_batch){0};
    }
    return LCDC_OK;
}

static void changes_release(struct lc_run *run)
{
    struct changes *self = (struct changes *)run;
    lc_ahead_close(self->rows);
    for (size_t i = 0; i < self->n_kept; i++)
        lc_change_batch_done(&self->kept[i]);
    lc_free(self->kept);
    lc_free(self);
}

lcdc_status lc_run_changes(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err)
{
    static const struct lc_run_ops ops = {changes_next, changes_release};
    struct changes *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->run.ops = &ops;
    self->spec = *spec;
    self->extra[0] = spec->commit->change_type;
    *out = &self->run;
    return LCDC_OK;
}
