/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_content.c - rewritten files without row ids: what both sides hold cancels, one for one.
 *
 * Every row of both sides is hashed once over every column of the table, whatever the projection, and the hashes are
 * dealt into parts (hash_parts.h). In each part a row of the removed side that finds an equal one of the added side
 * takes it out. What is left is read again, those rows only: deletes, then inserts. The filter is applied to what
 * leaves, which is the same, since equal rows pass or fail alike.
 *
 * A check on the rows themselves follows where the images are whole: the hashes of all added rows, less those of all
 * removed rows, must be the hashes of the inserts that left, less those of the deletes, in all 128 bits. Hashes that
 * agreed where the rows did not, or a file that changed between the two readings, would show.
 */
#include <inttypes.h>
#include <string.h>

#include "base/row_hash.h"
#include "scan/hash_parts.h"
#include "scan/parallel.h"
#include "scan/run.h"

enum { MEMORY_FRACTION = 2 };

/* A row set of one side; one thread's at a time. */
struct side_set {
    struct lc_row_set *from;
    int64_t first_row;        /* its first row's number on the side */
    int64_t n_rows;           /* rows it can have at most; those it has, once read */
    struct lc_bitmap *rows;   /* positions that were read, then those that are left */
    struct lc_hash sum;       /* of the rows that were read */
};

struct side {
    size_t n;
    struct side_set *sets;
    uint64_t *left; /* bit per row: no equal row on the other side */
};

struct content {
    struct lc_run run;
    struct lc_run_spec spec;
    struct side sides[2]; /* by enum lc_hash_side */
    struct lc_hash_parts *parts;
    bool is_checked; /* the images are whole: what leaves is summed up */
    struct lc_hash seen[2], left[2];
    /* emission */
    enum lc_hash_side phase;
    bool has_begun;
    const struct lc_field *row_id[1];
    struct lc_row_set *sets;
    struct lc_hash *sums; /* per set, of what left */
    size_t n_sets;
    struct lc_ahead *rows;
};

static void add_hashes(struct lc_hash *sum, size_t n, const struct lc_hash *hashes)
{
    for (size_t i = 0; i < n; i++) {
        sum->a += hashes[i].a;
        sum->b += hashes[i].b;
    }
}

/* ---- both sides hashed ---- */

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

static lcdc_status make_side(struct content *self, enum lc_hash_side index, size_t n, struct lc_row_set *sets,
                             int64_t *total, lcdc_error **err)
{
    struct side *side = &self->sides[index];
    int64_t rows = 0;
    side->sets = lc_calloc(n, sizeof(*side->sets));
    LC_TRY_ALLOC(side->sets);
    side->n = n;
    for (size_t i = 0; i < n; i++) {
        struct side_set *set = &side->sets[i];
        set->from = &sets[i];
        set->first_row = rows;
        LC_TRY(most_rows(self, &sets[i], &set->n_rows, err));
        LC_TRY(lc_bitmap_new(&set->rows, err));
        if (set->n_rows > UINT32_MAX - rows)
            return lc_fail(err, LC_R_LIMIT,
                           "a commit that rewrites more than %u rows without row ids cannot be compared by content",
                           UINT32_MAX);
        rows += set->n_rows;
    }
    side->left = lc_calloc((size_t)rows / 64 + 1, sizeof(*side->left));
    LC_TRY_ALLOC(side->left);
    *total += rows;
    return LCDC_OK;
}

static lcdc_status note_rows(struct side_set *set, struct lc_hash_writer *writer, int64_t *read,
                             const struct ArrowArray *rows, const int64_t *positions, const struct lc_hash *hashes,
                             lcdc_error **err)
{
    size_t n = (size_t)rows->length;
    if (*read + rows->length > set->n_rows)
        return lc_fail(err, LC_R_ROWS_MISCOUNTED, "%s holds more rows than the table's metadata says",
                       set->from->file->path);
    add_hashes(&set->sum, n, hashes);
    /* which positions these row numbers are is only told by the reader: ranges and row filters leave rows out */
    LC_TRY(lc_bitmap_add_many(set->rows, n, (const uint64_t *)positions, err));
    LC_TRY(lc_hash_writer_add(writer, n, hashes, (uint32_t)(set->first_row + *read), err));
    *read += rows->length;
    return LCDC_OK;
}

static lcdc_status hash_set(struct content *self, enum lc_hash_side side, size_t index, lcdc_error **err)
{
    struct side_set *set = &self->sides[side].sets[index];
    struct lc_rows_request request = {
        .columns = self->spec.context->schema, .n_ranges = self->spec.n_ranges, .ranges = self->spec.ranges};
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    LC_CLEANUP(lc_hash_writer_freep) struct lc_hash_writer *writer = NULL;
    LC_FREE struct lc_hash *hashes = NULL;
    int64_t cap = 0, read = 0;
    LC_TRY(lc_rows_open(self->spec.context, set->from, &request, &rows, err));
    LC_TRY(lc_hash_writer_new(self->parts, side, index, &writer, err));
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_rows_next(rows, &batch, NULL, &positions, err));
        if (!batch.release)
            break;
        if (batch.length > cap) {
            lc_free(lc_steal(hashes));
            hashes = lc_alloc((size_t)batch.length * sizeof(*hashes));
            LC_TRY_ALLOC(hashes);
            cap = batch.length;
        }
        LC_TRY(lc_row_hash(request.columns, &batch, 0, NULL, hashes, err));
        LC_TRY(note_rows(set, writer, &read, &batch, positions, hashes, err));
    }
    set->n_rows = read;
    return lc_hash_writer_finish(writer, err);
}

/* Tasks are the sets of the removed side, then those of the added side. */
static lcdc_status hash_task(void *context, size_t i, lcdc_error **err)
{
    struct content *self = context;
    size_t n = self->sides[LC_HASH_REMOVED].n;
    return i < n ? hash_set(self, LC_HASH_REMOVED, i, err) : hash_set(self, LC_HASH_ADDED, i - n, err);
}

/* ---- one part: equal rows cancel ---- */

/*
 * Added rows by hash. A slot names one row of its content; the rows of that content which have not been taken are a
 * chain, the last one first.
 */
struct table {
    size_t n_slots; /* a power of two */
    uint32_t *slots, *chains, *next; /* 1 + place of an entry; 0 none */
    const struct lc_hash_entry *entries;
};

static void table_done(struct table *table)
{
    lc_free(table->slots);
    lc_free(table->chains);
    lc_free(table->next);
}

static uint32_t *find_slot(const struct table *table, const struct lc_hash_entry *entry)
{
    size_t at = (size_t)entry->hash & (table->n_slots - 1);
    while (table->slots[at]) {
        const struct lc_hash_entry *other = &table->entries[table->slots[at] - 1];
        if (other->hash == entry->hash && other->check == entry->check)
            break;
        at = (at + 1) & (table->n_slots - 1);
    }
    return &table->slots[at];
}

static lcdc_status table_init(struct table *table, const struct lc_hash_entry *entries, size_t n, lcdc_error **err)
{
    table->entries = entries;
    for (table->n_slots = 16; table->n_slots < 2 * n;)
        table->n_slots *= 2;
    table->slots = lc_calloc(table->n_slots, sizeof(uint32_t));
    table->chains = lc_calloc(n, sizeof(uint32_t));
    table->next = lc_calloc(n, sizeof(uint32_t));
    LC_TRY_ALLOC(table->slots && table->chains && table->next);
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot = find_slot(table, &entries[i]);
        if (!*slot)
            *slot = (uint32_t)i + 1;
        table->next[i] = table->chains[*slot - 1];
        table->chains[*slot - 1] = (uint32_t)i + 1;
    }
    return LCDC_OK;
}

/* Takes one row of the entry's content out; false when there is none left. */
static bool table_take(struct table *table, const struct lc_hash_entry *entry)
{
    const uint32_t *slot = find_slot(table, entry);
    if (!*slot || !table->chains[*slot - 1])
        return false;
    table->chains[*slot - 1] = table->next[table->chains[*slot - 1] - 1];
    return true;
}

/* Rows of other parts share the words. */
static void mark_left(struct side *side, uint32_t row)
{
    __atomic_fetch_or(&side->left[row >> 6], (uint64_t)1 << (row & 63), __ATOMIC_RELAXED);
}

static lcdc_status match_part(void *context, size_t part, lcdc_error **err)
{
    struct content *self = context;
    LC_FREE struct lc_hash_entry *removed = NULL, *added = NULL;
    LC_CLEANUP(table_done) struct table table = {0};
    size_t n_removed, n_added;
    LC_TRY(lc_check_cancelled(self->spec.context, err));
    LC_TRY(lc_hash_parts_read(self->parts, LC_HASH_ADDED, part, &added, &n_added, err));
    LC_TRY(table_init(&table, added, n_added, err));
    LC_TRY(lc_hash_parts_read(self->parts, LC_HASH_REMOVED, part, &removed, &n_removed, err));
    for (size_t i = 0; i < n_removed; i++)
        if (!table_take(&table, &removed[i]))
            mark_left(&self->sides[LC_HASH_REMOVED], removed[i].row);
    for (size_t i = 0; i < n_added; i++)
        for (uint32_t at = table.chains[i]; at; at = table.next[at - 1])
            mark_left(&self->sides[LC_HASH_ADDED], added[at - 1].row);
    return LCDC_OK;
}

/* The set's positions whose rows are left take the place of all its positions. */
static lcdc_status narrow_set(const struct side *side, struct side_set *set, lcdc_error **err)
{
    uint64_t positions[1024], row = (uint64_t)set->first_row;
    LC_BITMAP struct lc_bitmap *left = NULL;
    LC_TRY(lc_bitmap_new(&left, err));
    for (uint64_t from = 0;;) {
        size_t n = lc_bitmap_read(set->rows, from, 1024, positions), kept = 0;
        if (n == 0)
            break;
        from = positions[n - 1] + 1;
        for (size_t i = 0; i < n; i++, row++)
            if (side->left[row >> 6] >> (row & 63) & 1)
                positions[kept++] = positions[i];
        LC_TRY(lc_bitmap_add_many(left, kept, positions, err));
    }
    lc_bitmap_free(set->rows);
    set->rows = lc_steal(left);
    return LCDC_OK;
}

static lcdc_status compare(struct content *self, lcdc_error **err)
{
    const struct lc_commit *commit = self->spec.commit;
    const struct lc_scan_context *context = self->spec.context;
    int64_t rows = 0;
    LC_TRY(make_side(self, LC_HASH_REMOVED, commit->n_removed, commit->removed, &rows, err));
    LC_TRY(make_side(self, LC_HASH_ADDED, commit->n_added, commit->added, &rows, err));
    LC_TRY(lc_hash_parts_new(rows, context->memory_limit / MEMORY_FRACTION, &self->parts, err));
    size_t threads = lc_scan_threads(context, commit->n_removed, commit->removed);
    LC_TRY(lc_parallel(threads, commit->n_removed + commit->n_added, hash_task, self, err));
    LC_TRY(lc_parallel(threads, lc_hash_parts_count(self->parts), match_part, self, err));
    lc_hash_parts_free(lc_steal(self->parts));
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < self->sides[s].n; i++) {
            add_hashes(&self->seen[s], 1, &self->sides[s].sets[i].sum);
            LC_TRY(narrow_set(&self->sides[s], &self->sides[s].sets[i], err));
        }
    return LCDC_OK;
}

/* ---- what is left ---- */

static lcdc_status sum_up(const struct content *self, const struct lc_decoded *decoded, lcdc_error **err)
{
    size_t n = (size_t)decoded->images.length;
    LC_FREE struct lc_hash *hashes = lc_alloc(n * sizeof(*hashes));
    LC_TRY_ALLOC(hashes);
    LC_TRY(lc_row_hash(self->spec.context->schema, &decoded->images, 0, NULL, hashes, err));
    add_hashes(&self->sums[decoded->set], n, hashes);
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
    const struct side *side = &self->sides[self->phase];
    lc_free(lc_steal(self->sets));
    lc_free(lc_steal(self->sums));
    self->n_sets = 0;
    self->sets = lc_calloc(side->n, sizeof(*self->sets));
    self->sums = lc_calloc(side->n, sizeof(*self->sums));
    LC_TRY_ALLOC(self->sets && self->sums);
    for (size_t i = 0; i < side->n; i++)
        if (lc_bitmap_count(side->sets[i].rows))
            self->sets[self->n_sets++] =
                (struct lc_row_set){.file = side->sets[i].from->file, .rows = -1, .include = side->sets[i].rows};
    bool ids = self->spec.shape->row_ids && self->spec.commit->row_id;
    struct lc_ahead_request request = {.context = self->spec.context,
                                       .n = self->n_sets,
                                       .sets = self->sets,
                                       .rows = lc_run_images(&self->spec, ids, self->row_id),
                                       .make = make_changes,
                                       .make_context = self};
    return lc_ahead_open(&request, &self->rows, err);
}

static void close_phase(struct content *self)
{
    lc_ahead_close(lc_steal(self->rows));
    add_hashes(&self->left[self->phase], self->n_sets, self->sums);
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

static lcdc_status content_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct content *self = (struct content *)run;
    if (!self->has_begun) {
        LC_TRY(compare(self, err));
        self->has_begun = true;
    }
    for (;;) {
        if (!self->rows)
            LC_TRY(open_phase(self, err));
        LC_TRY(lc_ahead_next(self->rows, out, more, err));
        if (*more)
            return LCDC_OK;
        close_phase(self);
        if (self->phase == LC_HASH_ADDED)
            return check_rows(self, err);
        self->phase = LC_HASH_ADDED;
    }
}

static void content_release(struct lc_run *run)
{
    struct content *self = (struct content *)run;
    lc_ahead_close(self->rows);
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < self->sides[s].n; i++)
            lc_bitmap_free(self->sides[s].sets[i].rows);
        lc_free(self->sides[s].sets);
        lc_free(self->sides[s].left);
    }
    lc_hash_parts_free(self->parts);
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
    self->spec = *spec;
    self->row_id[0] = spec->commit->row_id;
    self->is_checked = images_are_whole(spec);
    *out = &self->run;
    return LCDC_OK;
}
