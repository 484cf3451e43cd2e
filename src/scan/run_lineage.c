/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_lineage.c - rewritten files whose rows carry stable ids: Delta row tracking and Iceberg row lineage.
 *
 * A row has an id and a version (the commit that last changed it). In an added file only rows whose version is this
 * commit's were changed by it; the others are copies. A changed row whose id was alive on the removed side is an
 * update, any other an insert. What was alive and is neither copied nor updated was deleted; how many those are follows
 * from counts, so when there are none the id column of the copied rows is never read. Before-images are read by
 * position, worked out from the base id where the old file holds no ids itself.
 *
 * It needs no memory but bitmaps of ids and positions. When the ids do not add up (a writer lost them), the run says so
 * and the commit is compared by content instead. Where writers may lose ids without a trace (rows get new ones), the
 * deletes and inserts that are left are compared by content too.
 */
#include <string.h>

#include "scan/parallel.h"
#include "scan/run.h"

/* A row set of one side. Each is one thread's at a time, until the ids of all are put together. */
struct side_set {
    struct lc_row_set *from;
    bool has_ids;             /* the file holds an id column */
    bool is_usable;           /* nothing speaks against the ids so far */
    struct lc_bitmap *ids;    /* of rows that were alive, that changed or that were copied, as asked */
    uint64_t copied;          /* rows */
    struct lc_bitmap *wanted; /* positions whose images will be read */
    struct lc_bitmap *loose;  /* positions of deletes and inserts that content has a say on */
};

struct lineage {
    struct lc_run run;
    struct lc_run_spec spec;
    struct side_set *removed, *added;
    struct lc_bitmap *old_ids;     /* alive on the removed side */
    struct lc_bitmap *changed_ids; /* of changed rows on the added side; after matching: ids of updated rows */
    struct lc_bitmap *copied_ids;  /* read only when something was deleted */
    uint64_t copied;
    bool has_loose;
    /* emission: before-images, what content says of loose rows, after-images */
    enum { BEFORE, LOOSE, AFTER } phase;
    struct lc_commit rest; /* the loose rows */
    struct lc_run *rest_run;
    const struct lc_field *row_id[1];
    size_t n_sets;
    struct lc_row_set *sets; /* rows of the side that is being emitted */
    struct lc_ahead *rows;
};

enum { ID = 0, VERSION = 1 };

/* ---- reading ids and versions, no images ---- */

struct id_batch {
    int64_t n;
    const int64_t *positions;
    int64_t *ids;      /* lc_alloc */
    int64_t *versions; /* lc_alloc; NULL unless asked for */
};

static void id_batch_done(struct id_batch *batch)
{
    lc_free(batch->ids);
    lc_free(batch->versions);
    *batch = (struct id_batch){0};
}

static const struct lc_field no_columns = {
    .name = "", .physical = "", .id = LC_NO_ID, .type = {.kind = LC_TYPE_STRUCT}};

static lcdc_status open_ids(struct lineage *self, struct lc_row_set *set, const struct lc_field *extra[2],
                            bool versions, struct lc_rows **out, lcdc_error **err)
{
    extra[ID] = self->spec.commit->row_id;
    extra[VERSION] = self->spec.commit->row_version_field;
    struct lc_rows_request request = {.columns = &no_columns, .n_extra = versions ? 2 : 1, .extra = extra};
    return lc_rows_open(self->spec.context, set, &request, out, err);
}

static lcdc_status next_ids(struct lc_rows *rows, const struct lc_data_file *file, bool versions, struct id_batch *out,
                            lcdc_error **err)
{
    LC_ARRAY struct ArrowArray none = {0}, extra = {0};
    LC_TRY(lc_rows_next(rows, &none, &extra, &out->positions, err));
    out->n = none.release ? none.length : 0;
    if (out->n == 0)
        return LCDC_OK;
    LC_TRY(lc_row_ids(file, &extra, ID, out->n, out->positions, &out->ids, err));
    if (!versions)
        return LCDC_OK;
    out->versions = lc_alloc((size_t)out->n * sizeof(int64_t));
    LC_TRY_ALLOC(out->versions);
    const struct ArrowArray *column = extra.children[VERSION];
    const int64_t *values = (const int64_t *)column->buffers[1] + column->offset + extra.offset;
    for (int64_t i = 0; i < out->n; i++)
        out->versions[i] = lc_array_is_null(column, extra.offset + i) ? file->default_row_version : values[i];
    return LCDC_OK;
}

static lcdc_status check_ids(const struct lc_data_file *file, const int64_t *ids, int64_t n, lcdc_error **err)
{
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0)
            return lc_fail(err, LC_R_PARQUET_BAD, "%s: row id %lld is negative", file->path, (long long)ids[i]);
    return LCDC_OK;
}

/* ---- the removed side: which ids were alive ---- */

/* Without an id column ids are base + position, and no row need be read. */
static lcdc_status arithmetic_ids(struct lc_row_set *set, int64_t rows, struct lc_bitmap *ids, lcdc_error **err)
{
    uint64_t base = (uint64_t)set->file->base_row_id, position = 0, block[1024];
    if (!set->include && !set->exclude)
        return lc_bitmap_add_range(ids, base, (uint64_t)rows, err);
    LC_BITMAP struct lc_bitmap *alive = NULL;
    if (set->include) {
        LC_TRY(lc_bitmap_dup(set->include, &alive, err));
    } else {
        LC_TRY(lc_bitmap_new(&alive, err));
        LC_TRY(lc_bitmap_add_range(alive, 0, (uint64_t)rows, err));
    }
    LC_TRY(lc_bitmap_minus(alive, set->exclude, err));
    for (size_t n; (n = lc_bitmap_read(alive, position, 1024, block)) > 0;) {
        position = block[n - 1] + 1;
        for (size_t i = 0; i < n; i++)
            block[i] += base;
        LC_TRY(lc_bitmap_add_many(ids, n, block, err));
    }
    return LCDC_OK;
}

static lcdc_status read_removed(void *context, size_t index, lcdc_error **err)
{
    struct lineage *self = context;
    struct side_set *side = &self->removed[index];
    const struct lc_field *extra[2];
    struct lc_row_set *set = side->from;
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    LC_TRY(open_ids(self, set, extra, false, &rows, err));
    side->has_ids = lc_rows_file_has(rows, ID);
    if (!side->has_ids && set->n_filters == 0) {
        int64_t total = set->file->rows;
        if (total < 0) {
            LC_CLEANUP(lc_parquet_closep) struct lc_parquet *file = NULL;
            LC_TRY(lc_parquet_open(self->spec.context->storage, set->file->url, set->file->size, &file, err));
            total = lc_parquet_rows(file);
        }
        return arithmetic_ids(set, total, side->ids, err);
    }
    for (;;) {
        LC_CLEANUP(id_batch_done) struct id_batch batch = {0};
        LC_TRY(next_ids(rows, set->file, false, &batch, err));
        if (batch.n == 0)
            return LCDC_OK;
        LC_TRY(check_ids(set->file, batch.ids, batch.n, err));
        LC_TRY(lc_bitmap_add_many(side->ids, (size_t)batch.n, (const uint64_t *)batch.ids, err));
    }
}

/* ---- the added side: which rows changed ---- */

static lcdc_status note_changed(const struct lineage *self, struct side_set *side, const struct id_batch *batch,
                                lcdc_error **err)
{
    int64_t version = self->spec.commit->row_version;
    LC_FREE uint64_t *positions = lc_calloc((size_t)batch->n, sizeof(uint64_t));
    LC_FREE uint64_t *ids = lc_calloc((size_t)batch->n, sizeof(uint64_t));
    LC_TRY_ALLOC(positions && ids);
    size_t n = 0;
    for (int64_t i = 0; i < batch->n; i++)
        if (batch->versions[i] == version) {
            positions[n] = (uint64_t)batch->positions[i];
            ids[n++] = (uint64_t)batch->ids[i];
        }
    side->copied += (uint64_t)batch->n - n;
    LC_TRY(lc_bitmap_add_many(side->wanted, n, positions, err));
    return lc_bitmap_add_many(side->ids, n, ids, err);
}

/*
 * The ids cannot be used when rows come back from an older file (a restore): then an older version does not mean that
 * the row was copied. A file without an id column holds new rows only; where a writer may have lost the ids, content is
 * asked as well.
 */
static lcdc_status read_added(void *context, size_t index, lcdc_error **err)
{
    struct lineage *self = context;
    struct side_set *side = &self->added[index];
    const struct lc_field *extra[2];
    struct lc_row_set *set = side->from;
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    LC_TRY(open_ids(self, set, extra, true, &rows, err));
    side->has_ids = lc_rows_file_has(rows, ID);
    if (lc_rows_is_empty(rows))
        return LCDC_OK;
    bool written_now = !set->include && set->file->default_row_version == self->spec.commit->row_version;
    if (!written_now) {
        side->is_usable = false;
        return LCDC_OK;
    }
    for (;;) {
        LC_CLEANUP(id_batch_done) struct id_batch batch = {0};
        LC_TRY(next_ids(rows, set->file, true, &batch, err));
        if (batch.n == 0)
            return LCDC_OK;
        LC_TRY(check_ids(set->file, batch.ids, batch.n, err));
        LC_TRY(note_changed(self, side, &batch, err));
    }
}

static lcdc_status read_copied_ids(void *context, size_t index, lcdc_error **err)
{
    struct lineage *self = context;
    struct side_set *side = &self->added[index];
    const struct lc_field *extra[2];
    struct lc_row_set *set = side->from;
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    LC_TRY(open_ids(self, set, extra, true, &rows, err));
    for (;;) {
        LC_CLEANUP(id_batch_done) struct id_batch batch = {0};
        LC_TRY(next_ids(rows, set->file, true, &batch, err));
        if (batch.n == 0)
            return LCDC_OK;
        size_t n = 0;
        for (int64_t i = 0; i < batch.n; i++)
            if (batch.versions[i] != self->spec.commit->row_version)
                batch.ids[n++] = batch.ids[i];
        LC_TRY(lc_bitmap_add_many(side->ids, n, (const uint64_t *)batch.ids, err));
    }
}

/* ---- all sets of a side ---- */

static lcdc_status for_each_set(struct lineage *self, size_t n, struct lc_row_set *sets, lc_task task, lcdc_error **err)
{
    return lc_parallel(lc_scan_threads(self->spec.context, n, sets), n, task, self, err);
}

static lcdc_status for_added(struct lineage *self, lc_task task, lcdc_error **err)
{
    return for_each_set(self, self->spec.commit->n_added, self->spec.commit->added, task, err);
}

static lcdc_status for_removed(struct lineage *self, lc_task task, lcdc_error **err)
{
    return for_each_set(self, self->spec.commit->n_removed, self->spec.commit->removed, task, err);
}

/* Moves the ids that each set found into `all`. */
static lcdc_status gather_ids(size_t n, struct side_set *sides, struct lc_bitmap *all, lcdc_error **err)
{
    for (size_t i = 0; i < n; i++) {
        LC_TRY(lc_bitmap_or(all, sides[i].ids, err));
        lc_bitmap_free(lc_steal(sides[i].ids));
        LC_TRY(lc_bitmap_new(&sides[i].ids, err));
    }
    return LCDC_OK;
}

/* ---- matching ---- */

/* Leaves: changed_ids = updated rows, old_ids = rows whose before-image is wanted (updated and deleted). */
static lcdc_status match(struct lineage *self, bool *usable, lcdc_error **err)
{
    const struct lc_commit *commit = self->spec.commit;
    uint64_t alive = lc_bitmap_count(self->old_ids), changed = 0;
    for (size_t i = 0; i < commit->n_added; i++)
        changed += lc_bitmap_count(self->added[i].wanted);
    /* two changed rows of one id: the writer gave an id twice */
    if (lc_bitmap_count(self->changed_ids) != changed) {
        *usable = false;
        return LCDC_OK;
    }
    LC_TRY(lc_bitmap_and(self->changed_ids, self->old_ids, err));
    uint64_t updated = lc_bitmap_count(self->changed_ids);
    self->has_loose = commit->ids_may_be_lost && changed > updated && alive > self->copied + updated;
    if (self->copied + updated > alive) {
        *usable = false;
        return LCDC_OK;
    }
    if (self->copied + updated == alive) {
        lc_bitmap_free(lc_steal(self->old_ids));
        return lc_bitmap_dup(self->changed_ids, &self->old_ids, err);
    }
    LC_TRY(lc_bitmap_new(&self->copied_ids, err));
    LC_TRY(for_added(self, read_copied_ids, err));
    LC_TRY(gather_ids(commit->n_added, self->added, self->copied_ids, err));
    LC_TRY(lc_bitmap_minus(self->old_ids, self->copied_ids, err));
    /* every copied id must have been alive, and been copied once */
    *usable = lc_bitmap_count(self->copied_ids) == self->copied &&
              lc_bitmap_count(self->old_ids) == alive - self->copied;
    lc_bitmap_free(lc_steal(self->copied_ids));
    return LCDC_OK;
}

/* ---- where the before-images are ---- */

static bool is_loose(const struct lineage *self, int64_t id)
{
    return self->has_loose && !lc_bitmap_contains(self->changed_ids, (uint64_t)id);
}

static lcdc_status wanted_by_id(struct lineage *self, struct side_set *side, lcdc_error **err)
{
    const struct lc_field *extra[2];
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    LC_TRY(open_ids(self, side->from, extra, false, &rows, err));
    for (;;) {
        LC_CLEANUP(id_batch_done) struct id_batch batch = {0};
        LC_TRY(next_ids(rows, side->from->file, false, &batch, err));
        if (batch.n == 0)
            return LCDC_OK;
        for (int64_t i = 0; i < batch.n; i++)
            if (lc_bitmap_contains(self->old_ids, (uint64_t)batch.ids[i]))
                LC_TRY(lc_bitmap_add(is_loose(self, batch.ids[i]) ? side->loose : side->wanted,
                                     (uint64_t)batch.positions[i], err));
    }
}

static lcdc_status wanted_by_position(struct lineage *self, struct side_set *side, lcdc_error **err)
{
    struct lc_row_set *set = side->from;
    uint64_t base = (uint64_t)set->file->base_row_id, block[1024], loose[1024];
    int64_t rows = set->file->rows;
    uint64_t end = rows < 0 ? UINT64_MAX : base + (uint64_t)rows;
    LC_TRY(lc_row_set_load(set, err));
    lcdc_status status = LCDC_OK;
    for (uint64_t from = base; status == LCDC_OK;) {
        status = lc_check_cancelled(self->spec.context, err);
        if (status != LCDC_OK)
            break;
        size_t n = lc_bitmap_read(self->old_ids, from, 1024, block), kept = 0, n_loose = 0;
        if (n == 0)
            break;
        uint64_t last = block[n - 1]; /* positions take the place of ids below */
        for (size_t i = 0; i < n && block[i] < end; i++) {
            uint64_t position = block[i] - base;
            /* an id of this range may live in another file by now: only rows that were alive here count */
            if ((!set->include || lc_bitmap_contains(set->include, position)) &&
                (!set->exclude || !lc_bitmap_contains(set->exclude, position))) {
                if (is_loose(self, (int64_t)block[i]))
                    loose[n_loose++] = position;
                else
                    block[kept++] = position;
            }
        }
        from = last + 1;
        bool past = n < 1024 || from >= end;
        status = lc_bitmap_add_many(side->wanted, kept, block, err);
        if (status == LCDC_OK)
            status = lc_bitmap_add_many(side->loose, n_loose, loose, err);
        if (past)
            break;
    }
    lc_row_set_unload(set);
    return status;
}

static lcdc_status find_wanted(void *context, size_t index, lcdc_error **err)
{
    struct lineage *self = context;
    struct side_set *side = &self->removed[index];
    bool by_id = side->has_ids || side->from->n_filters > 0 || side->from->file->rows < 0;
    return by_id ? wanted_by_id(self, side, err) : wanted_by_position(self, side, err);
}

/* ---- rows that ids leave unpaired ---- */

/* Moves the inserted rows of an added set from `wanted` to `loose`. */
static lcdc_status find_loose_inserts(struct lineage *self, struct side_set *side, lcdc_error **err)
{
    const struct lc_field *extra[2];
    struct lc_row_set changed = {.file = side->from->file, .rows = -1, .include = side->wanted};
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    LC_TRY(open_ids(self, &changed, extra, false, &rows, err));
    for (;;) {
        LC_CLEANUP(id_batch_done) struct id_batch batch = {0};
        LC_TRY(next_ids(rows, changed.file, false, &batch, err));
        if (batch.n == 0)
            break;
        for (int64_t i = 0; i < batch.n; i++)
            if (is_loose(self, batch.ids[i]))
                LC_TRY(lc_bitmap_add(side->loose, (uint64_t)batch.positions[i], err));
    }
    return lc_bitmap_minus(side->wanted, side->loose, err);
}

static lcdc_status loose_sets(struct lc_arena *arena, size_t n, const struct side_set *sides, size_t *n_out,
                              struct lc_row_set **out, lcdc_error **err)
{
    struct lc_row_set *sets = lc_arena_array(arena, n, sizeof(*sets));
    LC_TRY_ALLOC(sets);
    for (size_t i = 0; i < n; i++) {
        uint64_t rows = lc_bitmap_count(sides[i].loose);
        if (rows)
            sets[(*n_out)++] = (struct lc_row_set){
                .file = sides[i].from->file, .rows = (int64_t)rows, .include = sides[i].loose};
    }
    *out = sets;
    return LCDC_OK;
}

static lcdc_status compare_loose(struct lineage *self, lcdc_error **err)
{
    const struct lc_commit *commit = self->spec.commit;
    struct lc_commit *rest = &self->rest;
    for (size_t i = 0; i < commit->n_added; i++)
        if (lc_bitmap_count(self->added[i].wanted))
            LC_TRY(find_loose_inserts(self, &self->added[i], err));
    rest->row_id = commit->row_id;
    LC_TRY(loose_sets(&rest->arena, commit->n_removed, self->removed, &rest->n_removed, &rest->removed, err));
    LC_TRY(loose_sets(&rest->arena, commit->n_added, self->added, &rest->n_added, &rest->added, err));
    struct lc_run_spec spec = self->spec;
    spec.commit = rest;
    return lc_run_content(&spec, &self->rest_run, err);
}

/* ---- emission ---- */

static lcdc_status mark_ops(const struct lineage *self, struct lc_change_batch *out, lcdc_error **err)
{
    lcdc_op updated = self->phase == AFTER ? LCDC_OP_UPDATE_AFTER : LCDC_OP_UPDATE_BEFORE;
    lcdc_op other = self->phase == AFTER ? LCDC_OP_INSERT : LCDC_OP_DELETE;
    out->ops = lc_alloc((size_t)out->n);
    LC_TRY_ALLOC(out->ops);
    for (int64_t i = 0; i < out->n; i++)
        out->ops[i] = (uint8_t)(lc_bitmap_contains(self->changed_ids, (uint64_t)out->row_ids[i]) ? updated : other);
    lc_change_batch_settle_ops(out);
    return LCDC_OK;
}

static lcdc_status make_changes(void *context, struct lc_decoded *decoded, struct lc_change_batch *out,
                                lcdc_error **err)
{
    const struct lineage *self = context;
    out->n = decoded->images.length;
    LC_TRY(
        lc_row_ids(self->sets[decoded->set].file, &decoded->extra, 0, out->n, decoded->positions, &out->row_ids, err));
    lc_array_move(&decoded->images, &out->images);
    return mark_ops(self, out, err);
}

static lcdc_status open_side(struct lineage *self, size_t n, const struct side_set *sides, lcdc_error **err)
{
    lc_free(self->sets);
    self->n_sets = 0;
    self->sets = lc_calloc(n, sizeof(*self->sets));
    LC_TRY_ALLOC(self->sets);
    for (size_t i = 0; i < n; i++)
        if (lc_bitmap_count(sides[i].wanted))
            self->sets[self->n_sets++] = (struct lc_row_set){
                .file = sides[i].from->file, .rows = -1, .include = sides[i].wanted};
    struct lc_ahead_request request = {.context = self->spec.context,
                                       .n = self->n_sets,
                                       .sets = self->sets,
                                       .rows = lc_run_images(&self->spec, 1, self->row_id),
                                       .make = make_changes,
                                       .make_context = self};
    return lc_ahead_open(&request, &self->rows, err);
}

static lcdc_status next_of_side(struct lineage *self, size_t n, const struct side_set *sides,
                                struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    if (!self->rows)
        LC_TRY(open_side(self, n, sides, err));
    return lc_ahead_next(self->rows, out, more, err);
}

static lcdc_status lineage_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct lineage *self = (struct lineage *)run;
    if (self->phase == BEFORE) {
        LC_TRY(next_of_side(self, self->spec.commit->n_removed, self->removed, out, more, err));
        if (*more)
            return LCDC_OK;
        lc_ahead_close(lc_steal(self->rows));
        self->phase = LOOSE;
    }
    if (self->phase == LOOSE && self->rest_run) {
        LC_TRY(self->rest_run->ops->next(self->rest_run, out, more, err));
        if (*more)
            return LCDC_OK;
    }
    if (self->phase != AFTER) /* threads look at it once they are there */
        self->phase = AFTER;
    return next_of_side(self, self->spec.commit->n_added, self->added, out, more, err);
}

static void free_side(size_t n, struct side_set *sides)
{
    for (size_t i = 0; sides && i < n; i++) {
        lc_bitmap_free(sides[i].ids);
        lc_bitmap_free(sides[i].wanted);
        lc_bitmap_free(sides[i].loose);
    }
    lc_free(sides);
}

static void lineage_release(struct lc_run *run)
{
    struct lineage *self = (struct lineage *)run;
    lc_ahead_close(self->rows);
    lc_free(self->sets);
    lc_run_free(self->rest_run);
    lc_commit_done(&self->rest);
    free_side(self->spec.commit->n_removed, self->removed);
    free_side(self->spec.commit->n_added, self->added);
    lc_bitmap_free(self->old_ids);
    lc_bitmap_free(self->changed_ids);
    lc_bitmap_free(self->copied_ids);
    lc_free(self);
}

static lcdc_status make_side(size_t n, struct lc_row_set *sets, struct side_set **out, lcdc_error **err)
{
    struct side_set *sides = lc_calloc(n, sizeof(*sides));
    LC_TRY_ALLOC(sides);
    *out = sides;
    for (size_t i = 0; i < n; i++) {
        sides[i].from = &sets[i];
        sides[i].is_usable = true;
        LC_TRY(lc_bitmap_new(&sides[i].ids, err));
        LC_TRY(lc_bitmap_new(&sides[i].wanted, err));
        LC_TRY(lc_bitmap_new(&sides[i].loose, err));
    }
    return LCDC_OK;
}

static lcdc_status prepare(struct lineage *self, bool *usable, lcdc_error **err)
{
    struct lc_commit *commit = self->spec.commit;
    LC_TRY(make_side(commit->n_removed, commit->removed, &self->removed, err));
    LC_TRY(make_side(commit->n_added, commit->added, &self->added, err));
    LC_TRY(lc_bitmap_new(&self->old_ids, err));
    LC_TRY(lc_bitmap_new(&self->changed_ids, err));
    LC_TRY(for_added(self, read_added, err));
    for (size_t i = 0; i < commit->n_added; i++) {
        *usable = *usable && self->added[i].is_usable;
        self->copied += self->added[i].copied;
    }
    if (!*usable)
        return LCDC_OK;
    LC_TRY(gather_ids(commit->n_added, self->added, self->changed_ids, err));
    LC_TRY(for_removed(self, read_removed, err));
    LC_TRY(gather_ids(commit->n_removed, self->removed, self->old_ids, err));
    LC_TRY(match(self, usable, err));
    if (!*usable)
        return LCDC_OK;
    LC_TRY(for_removed(self, find_wanted, err));
    return self->has_loose ? compare_loose(self, err) : LCDC_OK;
}

lcdc_status lc_run_lineage(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err)
{
    static const struct lc_run_ops ops = {lineage_next, lineage_release};
    struct lineage *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->run.ops = &ops;
    self->spec = *spec;
    self->row_id[0] = spec->commit->row_id;
    bool usable = true;
    lcdc_status status = prepare(self, &usable, err);
    *out = status == LCDC_OK && usable ? &self->run : NULL;
    if (!*out)
        lineage_release(&self->run);
    return status;
}
