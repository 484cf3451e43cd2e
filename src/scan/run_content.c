/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_content.c - rewritten files without row ids: what both sides hold cancels, one for one.
 *
 * Every row of both sides is hashed over every column of the table, whatever the projection, and the sides are compared
 * (content.h). What is left leaves: deletes, then inserts. The filter is applied to what leaves, which is the same,
 * since equal rows pass or fail alike. A side whose rows that are left were not all kept is read again, these rows
 * only.
 *
 * A check on the rows themselves follows where the images are whole: the hashes of all added rows, less those of all
 * removed rows, must be the hashes of the inserts that left, less those of the deletes, in all 128 bits. Hashes that
 * agreed where the rows did not, or a file that changed between two readings, would show.
 */
#include "scan/content.h"

struct content {
    struct lc_run run;
    struct lc_content sides;
    bool is_checked; /* the images are whole: what leaves is summed up */
    struct lc_hash seen[2], left[2];
    /* emission */
    enum lc_hash_side phase;
    bool has_begun;
    bool from_kept;           /* the phase's rows were kept */
    size_t kept_set, kept_at; /* the next kept batch */
    struct lc_row_set *sets;
    struct lc_hash *sums; /* per set, of what left */
    size_t n_sets;
    struct lc_ahead *rows;
};

enum { CHUNK = 1024 /* positions */ };

/* Without gaps row and position go together, so that only rows that are left need be looked at. */
static lcdc_status narrow_stretch(const struct lc_side *side, uint64_t row, uint64_t position, uint64_t n,
                                  struct lc_bitmap *left, lcdc_error **err)
{
    uint64_t positions[CHUNK], end = row + n, offset = position - row;
    size_t kept = 0;
    for (uint64_t word = row >> 6; word << 6 < end; word++) {
        uint64_t bits = side->left[word];
        for (; bits; bits &= bits - 1) {
            uint64_t at = (word << 6) + (uint64_t)__builtin_ctzll(bits);
            if (at >= row && at < end)
                positions[kept++] = at + offset;
        }
        if (kept > CHUNK - 64) {
            LC_TRY(lc_bitmap_add_many(left, kept, positions, err));
            kept = 0;
        }
    }
    return lc_bitmap_add_many(left, kept, positions, err);
}

static lcdc_status narrow_each(const struct lc_side *side, uint64_t row, const struct lc_bitmap *rows,
                               struct lc_bitmap *left, lcdc_error **err)
{
    uint64_t positions[CHUNK];
    for (uint64_t from = 0;;) {
        size_t n = lc_bitmap_read(rows, from, CHUNK, positions), kept = 0;
        if (n == 0)
            return LCDC_OK;
        from = positions[n - 1] + 1;
        for (size_t i = 0; i < n; i++, row++)
            if (side->left[row >> 6] >> (row & 63) & 1)
                positions[kept++] = positions[i];
        LC_TRY(lc_bitmap_add_many(left, kept, positions, err));
    }
}

/* The set's positions whose rows are left take the place of all its positions. */
static lcdc_status narrow_set(const struct lc_side *side, struct lc_side_set *set, lcdc_error **err)
{
    uint64_t row = (uint64_t)set->first_row, n = lc_bitmap_count(set->rows), first, last;
    LC_BITMAP struct lc_bitmap *left = NULL;
    LC_TRY(lc_bitmap_new(&left, err));
    if (lc_bitmap_next(set->rows, 0, &first) && lc_bitmap_max(set->rows, &last) && last - first == n - 1)
        LC_TRY(narrow_stretch(side, row, first, n, left, err));
    else
        LC_TRY(narrow_each(side, row, set->rows, left, err));
    lc_bitmap_free(set->rows);
    set->rows = lc_steal(left);
    return LCDC_OK;
}

static lcdc_status compare(struct content *self, lcdc_error **err)
{
    bool done;
    LC_TRY(lc_content_order(&self->sides, err));
    LC_TRY(lc_content_sketch(&self->sides, &done, err));
    if (!done)
        LC_TRY(lc_content_match(&self->sides, err));
    for (int s = 0; s < 2; s++) {
        struct lc_side *side = &self->sides.sides[s];
        for (size_t i = 0; i < side->n; i++) {
            lc_hash_join(&self->seen[s], side->sets[i].sum);
            LC_TRY(lc_check_cancelled(self->sides.spec.context, err));
            LC_TRY(narrow_set(side, &side->sets[i], err));
        }
    }
    return LCDC_OK;
}

/* ---- what is left, of the rows that were kept ---- */

/* Whether every row that is left was kept. */
static bool has_all(const struct lc_side *side)
{
    for (size_t i = 0; i < side->n; i++)
        if (lc_bitmap_count(side->sets[i].rows) != lc_kept_rows_left(&side->sets[i].kept, side->left))
            return false;
    return true;
}

static lcdc_status next_kept(struct content *self, struct lc_change_batch *out, lcdc_error **err)
{
    struct lc_side *side = &self->sides.sides[self->phase];
    for (; self->kept_set < side->n; self->kept_set++, self->kept_at = 0) {
        struct lc_kept_rows *kept = &side->sets[self->kept_set].kept;
        while (self->kept_at < kept->n && out->n == 0)
            LC_TRY(lc_kept_rows_take(kept, self->kept_at++, self->sides.spec.shape, side->left,
                                     &self->left[self->phase], out, err));
        if (out->n)
            break;
    }
    out->op = self->phase == LC_HASH_REMOVED ? LCDC_OP_DELETE : LCDC_OP_INSERT;
    return LCDC_OK;
}

/* ---- what is left, read again ---- */

static lcdc_status sum_up(const struct content *self, const struct lc_decoded *decoded, lcdc_error **err)
{
    size_t n = (size_t)decoded->images.length;
    LC_FREE struct lc_hash *hashes = lc_alloc(n * sizeof(*hashes));
    LC_TRY_ALLOC(hashes);
    LC_TRY(lc_content_hash(&self->sides, &decoded->images, hashes, err));
    lc_hash_sum(&self->sums[decoded->set], n, hashes, NULL);
    return LCDC_OK;
}

static lcdc_status make_changes(void *context, struct lc_decoded *decoded, struct lc_change_batch *out,
                                lcdc_error **err)
{
    const struct content *self = context;
    const struct lc_data_file *file = self->sets[decoded->set].file;
    out->n = decoded->images.length;
    out->op = self->phase == LC_HASH_REMOVED ? LCDC_OP_DELETE : LCDC_OP_INSERT;
    if (self->is_checked)
        LC_TRY(sum_up(self, decoded, err));
    if (decoded->extra.release && file->has_row_ids)
        LC_TRY(lc_row_ids(file, &decoded->extra, 0, out->n, decoded->positions, &out->row_ids, err));
    lc_array_move(&decoded->images, &out->images);
    return LCDC_OK;
}

static lcdc_status open_phase(struct content *self, lcdc_error **err)
{
    const struct lc_side *side = &self->sides.sides[self->phase];
    lc_free(lc_steal(self->sets));
    lc_free(lc_steal(self->sums));
    self->n_sets = 0;
    self->sets = lc_calloc(side->n, sizeof(*self->sets));
    self->sums = lc_calloc(side->n, sizeof(*self->sums));
    LC_TRY_ALLOC(self->sets && self->sums);
    for (size_t i = 0; i < side->n; i++)
        if (lc_bitmap_count(side->sets[i].rows))
            self->sets[self->n_sets++] = (struct lc_row_set){
                .file = side->sets[i].from->file, .rows = -1, .include = side->sets[i].rows};
    struct lc_ahead_request request = {
        .context = self->sides.spec.context,
        .n = self->n_sets,
        .sets = self->sets,
        .rows = lc_run_images(&self->sides.spec, lc_content_wants_ids(&self->sides), self->sides.row_id),
        .make = make_changes,
        .make_context = self};
    return lc_ahead_open(&request, &self->rows, err);
}

static lcdc_status check_rows(const struct content *self, lcdc_error **err)
{
    const struct lc_hash *seen = self->seen, *left = self->left;
    bool holds = seen[LC_HASH_ADDED].a - seen[LC_HASH_REMOVED].a == left[LC_HASH_ADDED].a - left[LC_HASH_REMOVED].a &&
                 seen[LC_HASH_ADDED].b - seen[LC_HASH_REMOVED].b == left[LC_HASH_ADDED].b - left[LC_HASH_REMOVED].b;
    if (!self->is_checked || holds)
        return LCDC_OK;
    return lc_fail(err, LC_R_ROWS_MISCOUNTED,
                   "the rows that differ, read a second time, do not make up for the difference of the two sides: a "
                   "data file changed while it was read; read the range again");
}

static lcdc_status next_of_phase(struct content *self, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    if (self->from_kept) {
        LC_TRY(next_kept(self, out, err));
        *more = out->n > 0;
        return LCDC_OK;
    }
    if (!self->rows)
        LC_TRY(open_phase(self, err));
    LC_TRY(lc_ahead_next(self->rows, out, more, err));
    if (!*more) {
        lc_ahead_close(lc_steal(self->rows));
        for (size_t i = 0; i < self->n_sets; i++)
            lc_hash_join(&self->left[self->phase], self->sums[i]);
    }
    return LCDC_OK;
}

static void begin_phase(struct content *self, enum lc_hash_side phase)
{
    self->phase = phase;
    self->kept_set = self->kept_at = 0;
    /* a budget that was spent by the very last batch counts as spent: which batch is last hangs on the threads */
    self->from_kept = self->sides.sides[phase].budget.left >= 0 && has_all(&self->sides.sides[phase]);
}

static lcdc_status content_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct content *self = (struct content *)run;
    if (!self->has_begun) {
        LC_TRY(lc_content_init(&self->sides, &self->sides.spec, err));
        LC_TRY(compare(self, err));
        begin_phase(self, LC_HASH_REMOVED);
        self->has_begun = true;
    }
    LC_TRY(next_of_phase(self, out, more, err));
    if (*more)
        return LCDC_OK;
    if (self->phase == LC_HASH_ADDED)
        return check_rows(self, err);
    begin_phase(self, LC_HASH_ADDED);
    return content_next(run, out, more, err);
}

static void content_release(struct lc_run *run)
{
    struct content *self = (struct content *)run;
    lc_ahead_close(self->rows);
    lc_content_done(&self->sides);
    lc_free(self->sets);
    lc_free(self->sums);
    lc_free(self);
}

/* The shape has every column of the table, in order, and no filter. */
static bool images_are_whole(const struct lc_run_spec *spec)
{
    const struct lc_field *table = spec->context->schema, *shape = spec->shape->columns;
    bool whole = shape->n_children == table->n_children && !spec->shape->filter;
    for (size_t i = 0; whole && i < shape->n_children; i++)
        whole = shape->children[i].physical == table->children[i].physical;
    return whole;
}

lcdc_status lc_run_content(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err)
{
    static const struct lc_run_ops ops = {content_next, content_release};
    struct content *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->run.ops = &ops;
    self->sides.spec = *spec;
    self->is_checked = images_are_whole(spec);
    *out = &self->run;
    return LCDC_OK;
}
