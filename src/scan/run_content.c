/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_content.c - rewritten files without row ids: what both sides hold cancels, one for one.
 *
 * The added side is hashed into a table (96 bits of a 128-bit content hash and a row number, 16 bytes a slot); the
 * removed side streams past it: a row that finds an equal one takes it out, one that does not is a delete and leaves at
 * once. What is left of the added side is read again, those rows only. When the table would outgrow the memory limit
 * the hash space is cut into parts and both sides are hashed once per part. All deletes leave before the first insert.
 *
 * Rows are compared over every column of the table, whatever the projection; the filter is applied to what leaves,
 * which is the same, since equal rows pass or fail alike.
 */
#include <string.h>

#include "base/row_hash.h"
#include "scan/run.h"

enum { TABLE_FRACTION = 2 };

__extension__ typedef unsigned __int128 u128;

struct slot {
    uint64_t hash;
    uint32_t check;
    uint32_t head; /* row number + 1 of the last added row with this content that is still unmatched; 0 = free slot */
};

struct content {
    struct lc_run run;
    struct lc_run_spec spec;
    size_t *image_columns; /* where the shape's columns stand among the table's */
    bool images_are_all;   /* the shape has every column, in order */
    /* the added side */
    int64_t *first_row;           /* per added set: number of its first row; [n_added] = all */
    struct lc_bitmap **delivered; /* per added set with row filters: positions that passed */
    uint64_t *alive;              /* bit per added row: not matched so far */
    uint32_t *next;               /* further rows of the same content; allocated when there are any */
    struct slot *slots;
    uint64_t n_slots;
    int64_t n_parts, part;
    /* streaming */
    size_t at;
    struct lc_rows *rows;
    bool in_added;
    struct lc_row_set left; /* the unmatched rows of the added set that is being read */
    bool row_ids;
    struct lc_hash *hashes;
    int64_t hashes_cap;
};

static uint64_t slot_of(const struct content *self, struct lc_hash h)
{
    return (uint64_t)((u128)h.a * self->n_slots >> 64);
}

static bool in_part(const struct content *self, struct lc_hash h)
{
    return self->n_parts == 1 || (int64_t)(h.b >> 32) % self->n_parts == self->part;
}

static void set_alive(struct content *self, uint64_t row, bool alive)
{
    uint64_t bit = (uint64_t)1 << (row & 63);
    if (alive)
        self->alive[row >> 6] |= bit;
    else
        self->alive[row >> 6] &= ~bit;
}

static lcdc_status table_add(struct content *self, struct lc_hash h, uint32_t row, lcdc_error **err)
{
    uint64_t at = slot_of(self, h);
    while (self->slots[at].head && (self->slots[at].hash != h.a || self->slots[at].check != (uint32_t)h.b))
        at = at + 1 == self->n_slots ? 0 : at + 1;
    if (self->slots[at].head) {
        if (!self->next)
            self->next = lc_calloc((size_t)self->first_row[self->spec.commit->n_added], sizeof(uint32_t));
        LC_TRY_ALLOC(self->next);
        self->next[row] = self->slots[at].head;
    } else {
        self->slots[at].hash = h.a;
        self->slots[at].check = (uint32_t)h.b;
    }
    self->slots[at].head = row + 1;
    set_alive(self, row, true);
    return LCDC_OK;
}

/* Takes one added row of this content out; false when there is none left. A slot whose rows are all taken keeps its
   place (head is the mark of an emptied one), so that the probe sequence of others stays whole. */
static const uint32_t EMPTIED = UINT32_MAX;

static bool table_take(struct content *self, struct lc_hash h)
{
    uint64_t at = slot_of(self, h);
    while (self->slots[at].head && (self->slots[at].hash != h.a || self->slots[at].check != (uint32_t)h.b))
        at = at + 1 == self->n_slots ? 0 : at + 1;
    uint32_t head = self->slots[at].head;
    if (head == 0 || head == EMPTIED)
        return false;
    uint32_t row = head - 1;
    set_alive(self, row, false);
    self->slots[at].head = self->next && self->next[row] ? self->next[row] : EMPTIED;
    return true;
}

static lcdc_status hash_batch(struct content *self, const struct ArrowArray *rows, lcdc_error **err)
{
    if (rows->length > self->hashes_cap) {
        lc_free(self->hashes);
        self->hashes_cap = 0;
        self->hashes = lc_alloc((size_t)rows->length * sizeof(*self->hashes));
        LC_TRY_ALLOC(self->hashes);
        self->hashes_cap = rows->length;
    }
    return lc_row_hash(self->spec.context->schema, rows, 0, NULL, self->hashes, err);
}

static struct lc_rows_request whole_rows(const struct content *self)
{
    return (struct lc_rows_request){
        .columns = self->spec.context->schema, .n_ranges = self->spec.n_ranges, .ranges = self->spec.ranges};
}

/* ---- the table ---- */

/* Rows a set can deliver at most, from its file's footer when the metadata does not say. */
static lcdc_status most_rows(struct content *self, struct lc_row_set *set, int64_t *out, lcdc_error **err)
{
    *out = set->rows >= 0 ? set->rows : set->file->rows;
    if (*out >= 0)
        return LCDC_OK;
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *file = NULL;
    LC_TRY(lc_parquet_open(self->spec.context->storage, set->file->url, set->file->size, &file, err));
    *out = lc_parquet_rows(file);
    return LCDC_OK;
}

static lcdc_status size_table(struct content *self, lcdc_error **err)
{
    struct lc_commit *commit = self->spec.commit;
    int64_t total = 0;
    self->first_row = lc_calloc(commit->n_added + 1, sizeof(int64_t));
    self->delivered = lc_calloc(commit->n_added, sizeof(struct lc_bitmap *));
    LC_TRY_ALLOC(self->first_row && self->delivered);
    for (size_t i = 0; i < commit->n_added; i++) {
        int64_t rows;
        self->first_row[i] = total;
        LC_TRY(most_rows(self, &commit->added[i], &rows, err));
        if (rows > UINT32_MAX - 2 - total)
            return lc_fail(err, LC_R_LIMIT,
                           "a commit that rewrites more than %u rows without row ids cannot be compared by content",
                           UINT32_MAX - 2);
        total += rows;
    }
    self->first_row[commit->n_added] = total;
    self->alive = lc_calloc((size_t)total / 64 + 1, sizeof(uint64_t));
    LC_TRY_ALLOC(self->alive);
    int64_t limit = self->spec.shape->memory_limit / TABLE_FRACTION;
    int64_t need = total / 3 * 4 * (int64_t)sizeof(struct slot);
    self->n_parts = need / (limit > 0 ? limit : 1) + 1;
    /* parts are cut by hash, so they are nearly even; the margin keeps the fullest below 0.8 */
    self->n_slots = (uint64_t)(total / self->n_parts) / 3 * 4 + (uint64_t)(total / self->n_parts) / 16 + 1024;
    self->slots = lc_calloc(self->n_slots, sizeof(struct slot));
    LC_TRY_ALLOC(self->slots);
    return LCDC_OK;
}

static lcdc_status note_delivered(struct content *self, size_t set, const int64_t *positions, int64_t n,
                                  lcdc_error **err)
{
    if (!self->delivered[set])
        LC_TRY(lc_bitmap_new(&self->delivered[set], err));
    return lc_bitmap_add_many(self->delivered[set], (size_t)n, (const uint64_t *)positions, err);
}

static lcdc_status add_set(struct content *self, size_t index, lcdc_error **err)
{
    struct lc_row_set *set = &self->spec.commit->added[index];
    struct lc_rows_request request = whole_rows(self);
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    int64_t row = self->first_row[index];
    LC_TRY(lc_rows_open(self->spec.context, set, &request, &rows, err));
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_rows_next(rows, &batch, NULL, &positions, err));
        if (!batch.release)
            return LCDC_OK;
        if (row + batch.length > self->first_row[index + 1])
            return lc_fail(err, LC_R_ROWS_MISCOUNTED, "%s holds more rows than the table's metadata says",
                           set->file->path);
        LC_TRY(hash_batch(self, &batch, err));
        /* which positions these row numbers are is only told by the reader: ranges and row filters leave rows out */
        if (self->part == 0)
            LC_TRY(note_delivered(self, index, positions, batch.length, err));
        for (int64_t i = 0; i < batch.length; i++)
            if (in_part(self, self->hashes[i]))
                LC_TRY(table_add(self, self->hashes[i], (uint32_t)(row + i), err));
        row += batch.length;
    }
}

static lcdc_status fill_table(struct content *self, lcdc_error **err)
{
    memset(self->slots, 0, self->n_slots * sizeof(struct slot));
    for (size_t i = 0; i < self->spec.commit->n_added; i++)
        LC_TRY(add_set(self, i, err));
    return LCDC_OK;
}

/* ---- deletes ---- */

static lcdc_status filter_images(struct content *self, struct lc_change_batch *out, lcdc_error **err)
{
    int64_t kept = 0, n = out->images.length;
    LC_FREE uint8_t *mask = lc_alloc((size_t)n);
    LC_TRY_ALLOC(mask);
    LC_TRY(lc_filter_eval(self->spec.shape->filter, &out->images, mask, err));
    for (int64_t i = 0; i < n; i++)
        if (mask[i]) {
            if (out->row_ids)
                out->row_ids[kept] = out->row_ids[i];
            kept++;
        }
    LC_ARRAY struct ArrowArray left = {0};
    LC_TRY(lc_array_filter(self->spec.shape->columns, &out->images, mask, &left, err));
    lc_array_move(&left, &out->images);
    out->n = kept;
    return LCDC_OK;
}

static lcdc_status emit_deletes(struct content *self, const struct lc_row_set *set, struct ArrowArray *batch,
                                const struct ArrowArray *extra, const int64_t *positions, struct lc_change_batch *out,
                                lcdc_error **err)
{
    int64_t n = batch->length, unmatched = 0;
    LC_FREE uint8_t *mask = lc_calloc((size_t)n, 1);
    LC_TRY_ALLOC(mask);
    LC_TRY(hash_batch(self, batch, err));
    for (int64_t i = 0; i < n; i++)
        if (in_part(self, self->hashes[i]) && !table_take(self, self->hashes[i]))
            mask[i] = 1, unmatched++;
    if (unmatched == 0)
        return LCDC_OK;
    if (self->row_ids && set->file->has_row_ids) {
        LC_TRY(lc_row_ids(set->file, extra, 0, n, positions, &out->row_ids, err));
        for (int64_t i = 0, k = 0; i < n; i++)
            if (mask[i])
                out->row_ids[k++] = out->row_ids[i];
    }
    LC_ARRAY struct ArrowArray images = {0};
    if (self->images_are_all)
        lc_array_move(batch, &images);
    else
        LC_TRY(lc_array_project(batch, self->spec.shape->columns->n_children, self->image_columns, &images, err));
    LC_TRY(lc_array_filter(self->spec.shape->columns, &images, mask, &out->images, err));
    out->n = unmatched;
    out->op = LCDC_OP_DELETE;
    return self->spec.shape->filter ? filter_images(self, out, err) : LCDC_OK;
}

static lcdc_status next_delete(struct content *self, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct lc_commit *commit = self->spec.commit;
    struct lc_rows_request request = whole_rows(self);
    const struct lc_field *extra_field[1] = {commit->row_id};
    if (self->row_ids) {
        request.n_extra = 1;
        request.extra = extra_field;
    }
    for (;;) {
        for (; self->at < commit->n_removed; self->at++) {
            struct lc_row_set *set = &commit->removed[self->at];
            if (!self->rows)
                LC_TRY(lc_rows_open(self->spec.context, set, &request, &self->rows, err));
            for (;;) {
                LC_ARRAY struct ArrowArray batch = {0}, extra = {0};
                const int64_t *positions = NULL;
                LC_TRY(lc_rows_next(self->rows, &batch, &extra, &positions, err));
                if (!batch.release)
                    break;
                LC_TRY(emit_deletes(self, set, &batch, &extra, positions, out, err));
                if (out->n) {
                    *more = true;
                    return LCDC_OK;
                }
                lc_change_batch_done(out);
            }
            lc_rows_close(lc_steal(self->rows));
        }
        if (++self->part == self->n_parts)
            break;
        LC_TRY(fill_table(self, err));
        self->at = 0;
    }
    *more = false;
    return LCDC_OK;
}

/* ---- inserts ---- */

/* The positions of one added set whose rows are still alive. */
static lcdc_status alive_positions(struct content *self, size_t index, struct lc_bitmap **out, lcdc_error **err)
{
    const struct lc_bitmap *delivered = self->delivered[index];
    uint64_t positions[1024];
    uint64_t row = (uint64_t)self->first_row[index];
    LC_BITMAP struct lc_bitmap *alive = NULL;
    LC_TRY(lc_bitmap_new(&alive, err));
    for (uint64_t from = 0; delivered;) {
        size_t n = lc_bitmap_read(delivered, from, 1024, positions), kept = 0;
        if (n == 0)
            break;
        from = positions[n - 1] + 1;
        for (size_t i = 0; i < n; i++, row++)
            if (self->alive[row >> 6] >> (row & 63) & 1)
                positions[kept++] = positions[i];
        LC_TRY(lc_bitmap_add_many(alive, kept, positions, err));
    }
    *out = lc_steal(alive);
    return LCDC_OK;
}

/* Replaces each added set's rows by those that are left. */
static lcdc_status narrow_added(struct content *self, lcdc_error **err)
{
    struct lc_commit *commit = self->spec.commit;
    lc_free(lc_steal(self->slots));
    lc_free(lc_steal(self->next));
    for (size_t i = 0; i < commit->n_added; i++) {
        LC_BITMAP struct lc_bitmap *alive = NULL;
        LC_TRY(alive_positions(self, i, &alive, err));
        lc_bitmap_free(lc_steal(self->delivered[i]));
        self->delivered[i] = lc_steal(alive);
    }
    return LCDC_OK;
}

static lcdc_status next_insert(struct content *self, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct lc_commit *commit = self->spec.commit;
    const struct lc_field *extra_field[1] = {commit->row_id};
    for (; self->at < commit->n_added; self->at++) {
        const struct lc_data_file *file = commit->added[self->at].file;
        self->left = (struct lc_row_set){.file = file, .rows = -1, .include = self->delivered[self->at]};
        if (lc_bitmap_count(self->left.include) == 0)
            continue;
        struct lc_rows_request request = {.columns = self->spec.shape->columns,
                                          .n_extra = self->row_ids ? 1 : 0,
                                          .extra = extra_field,
                                          .filter = self->spec.shape->filter,
                                          .n_ranges = self->spec.n_ranges,
                                          .ranges = self->spec.ranges};
        if (!self->rows)
            LC_TRY(lc_rows_open(self->spec.context, &self->left, &request, &self->rows, err));
        LC_ARRAY struct ArrowArray extra = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_rows_next(self->rows, &out->images, &extra, &positions, err));
        if (out->images.release) {
            out->n = out->images.length;
            out->op = LCDC_OP_INSERT;
            *more = true;
            if (self->row_ids && file->has_row_ids)
                LC_TRY(lc_row_ids(file, &extra, 0, out->n, positions, &out->row_ids, err));
            return LCDC_OK;
        }
        lc_rows_close(lc_steal(self->rows));
    }
    *more = false;
    return LCDC_OK;
}

static lcdc_status content_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct content *self = (struct content *)run;
    if (!self->slots && !self->in_added) {
        LC_TRY(size_table(self, err));
        LC_TRY(fill_table(self, err));
    }
    if (!self->in_added) {
        LC_TRY(next_delete(self, out, more, err));
        if (*more)
            return LCDC_OK;
        self->in_added = true;
        self->at = 0;
        LC_TRY(narrow_added(self, err));
    }
    return next_insert(self, out, more, err);
}

static void content_release(struct lc_run *run)
{
    struct content *self = (struct content *)run;
    lc_rows_close(self->rows);
    for (size_t i = 0; self->delivered && i < self->spec.commit->n_added; i++)
        lc_bitmap_free(self->delivered[i]);
    lc_free(self->delivered);
    lc_free(self->first_row);
    lc_free(self->alive);
    lc_free(self->next);
    lc_free(self->slots);
    lc_free(self->hashes);
    lc_free(self->image_columns);
    lc_free(self);
}

static lcdc_status find_image_columns(struct content *self, lcdc_error **err)
{
    const struct lc_field *table = self->spec.context->schema, *shape = self->spec.shape->columns;
    self->image_columns = lc_calloc(shape->n_children, sizeof(size_t));
    LC_TRY_ALLOC(self->image_columns);
    self->images_are_all = shape->n_children == table->n_children;
    for (size_t i = 0; i < shape->n_children; i++) {
        size_t c = 0;
        while (c < table->n_children && table->children[c].physical != shape->children[i].physical)
            c++;
        if (c == table->n_children)
            return lc_fail(err, LC_R_INTERNAL, "column %s is not one of the table's", shape->children[i].name);
        self->image_columns[i] = c;
        self->images_are_all = self->images_are_all && c == i;
    }
    return LCDC_OK;
}

lcdc_status lc_run_content(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err)
{
    static const struct lc_run_ops ops = {content_next, content_release};
    struct content *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->run.ops = &ops;
    self->spec = *spec;
    self->row_ids = spec->shape->row_ids && spec->commit->row_id;
    lcdc_status status = find_image_columns(self, err);
    if (status != LCDC_OK)
        content_release(&self->run);
    else
        *out = &self->run;
    return status;
}
