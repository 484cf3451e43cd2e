/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_content.c - rewritten files without row ids: what both sides hold cancels, one for one.
 *
 * Every row of both sides is hashed once over every column of the table, whatever the projection, and the hashes are
 * dealt into parts (hash_parts.h). In each part a row of the removed side that finds an equal one of the added side
 * takes it out. What is left leaves: deletes, then inserts. The filter is applied to what leaves, which is the same,
 * since equal rows pass or fail alike.
 *
 * Rows that may be left are kept while they are hashed, as long as that takes little memory (kept_rows.h): of the added
 * side all, of the removed side, which is hashed second, those that the added side certainly lacks (hash_filter.h). A
 * side whose rows were not all kept is read again, the rows that are left only.
 *
 * A check on the rows themselves follows where the images are whole: the hashes of all added rows, less those of all
 * removed rows, must be the hashes of the inserts that left, less those of the deletes, in all 128 bits. Hashes that
 * agreed where the rows did not, or a file that changed between two readings, would show.
 */
#include <inttypes.h>
#include <string.h>

#include "base/row_hash.h"
#include "scan/hash_filter.h"
#include "scan/hash_parts.h"
#include "scan/kept_rows.h"
#include "scan/parallel.h"
#include "scan/run.h"

/* What of the memory limit goes where. */
enum { PARTS_FRACTION = 4, FILTER_FRACTION = 2, KEPT_FRACTION = 8 };

/* A row set of one side; one thread's at a time. */
struct side_set {
    struct lc_row_set *from;
    int64_t first_row;      /* its first row's number on the side */
    int64_t n_rows;         /* rows it can have at most; those it has, once read */
    struct lc_bitmap *rows; /* positions that were read, then those that are left */
    struct lc_hash sum;     /* of the rows that were read */
    struct lc_kept_rows kept;
};

struct side {
    size_t n;
    struct side_set *sets;
    uint64_t *left; /* bit per row: no equal row on the other side */
    struct lc_kept_budget budget;
};

struct content {
    struct lc_run run;
    struct lc_run_spec spec;
    struct side sides[2]; /* by enum lc_hash_side */
    struct lc_hash_parts *parts;
    struct lc_hash_filter *filter; /* of the added side; NULL where it would be too large */
    bool is_checked;               /* the images are whole: what leaves is summed up */
    struct lc_hash seen[2], left[2];
    /* emission */
    enum lc_hash_side phase;
    bool has_begun;
    bool from_kept;           /* the phase's rows were kept */
    size_t kept_set, kept_at; /* the next kept batch */
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
    LC_TRY(lc_check_cancelled(self->spec.context, err));
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
    lc_kept_budget_init(&side->budget, self->spec.shape->memory_limit / KEPT_FRACTION);
    *total += rows;
    return LCDC_OK;
}

/* Rows of other sets and parts share the words. */
static void mark_left(struct side *side, uint32_t row)
{
    __atomic_fetch_or(&side->left[row >> 6], (uint64_t)1 << (row & 63), __ATOMIC_RELAXED);
}

/* What one thread needs to hash a set. */
struct hashing {
    struct content *self;
    enum lc_hash_side side;
    struct side_set *set;
    struct lc_rows *rows;
    struct lc_hash_writer *writer;
    int64_t read, cap;
    struct lc_hash *hashes;
    uint8_t *missing; /* byte per row: certainly on no other side */
};

static void hashing_done(struct hashing *job)
{
    lc_rows_close(job->rows);
    lc_hash_writer_free(job->writer);
    lc_free(job->hashes);
    lc_free(job->missing);
}

static lcdc_status hash_rows(struct hashing *job, const struct ArrowArray *rows, lcdc_error **err)
{
    if (rows->length > job->cap) {
        job->cap = 0;
        lc_free(lc_steal(job->hashes));
        lc_free(lc_steal(job->missing));
        job->hashes = lc_alloc((size_t)rows->length * sizeof(*job->hashes));
        job->missing = lc_alloc((size_t)rows->length);
        LC_TRY_ALLOC(job->hashes && job->missing);
        job->cap = rows->length;
    }
    LC_TRY(lc_row_hash(job->self->spec.context->schema, rows, 0, NULL, job->hashes, err));
    add_hashes(&job->set->sum, (size_t)rows->length, job->hashes);
    return LCDC_OK;
}

/* Rows that the other side certainly lacks are left, and need no entry. */
static lcdc_status deal_out(struct hashing *job, size_t n, uint32_t first, size_t *n_missing, lcdc_error **err)
{
    struct content *self = job->self;
    const uint8_t *skip = NULL;
    if (job->side == LC_HASH_ADDED && self->filter)
        lc_hash_filter_add(self->filter, n, job->hashes);
    if (job->side == LC_HASH_REMOVED && self->filter) {
        *n_missing = lc_hash_filter_missing(self->filter, n, job->hashes, job->missing);
        skip = job->missing;
        for (size_t i = 0; *n_missing && i < n; i++)
            if (skip[i])
                mark_left(&self->sides[job->side], first + (uint32_t)i);
    }
    return lc_hash_writer_add(job->writer, n, job->hashes, first, skip, err);
}

static lcdc_status keep_rows(struct hashing *job, struct ArrowArray *rows, const struct ArrowArray *extra,
                             const int64_t *positions, uint32_t first, size_t n_missing, lcdc_error **err)
{
    const struct lc_data_file *file = job->set->from->file;
    bool is_removed = job->side == LC_HASH_REMOVED;
    if (is_removed && (!job->self->filter || n_missing == 0))
        return LCDC_OK;
    LC_FREE int64_t *ids = NULL;
    if (extra->release && file->has_row_ids)
        LC_TRY(lc_row_ids(file, extra, 0, rows->length, positions, &ids, err));
    return lc_kept_rows_add(&job->set->kept, &job->self->sides[job->side].budget, job->self->spec.context->schema,
                            job->self->spec.shape->columns, rows, is_removed ? job->missing : NULL, first, job->hashes,
                            ids, err);
}

static lcdc_status hash_batch(struct hashing *job, struct ArrowArray *rows, const struct ArrowArray *extra,
                              const int64_t *positions, lcdc_error **err)
{
    struct side_set *set = job->set;
    size_t n = (size_t)rows->length, n_missing = 0;
    uint32_t first = (uint32_t)(set->first_row + job->read);
    if (job->read + rows->length > set->n_rows)
        return lc_fail(err, LC_R_ROWS_MISCOUNTED, "%s holds more rows than the table's metadata says",
                       set->from->file->path);
    job->read += rows->length;
    LC_TRY(hash_rows(job, rows, err));
    /* which positions these row numbers are is only told by the reader: ranges and row filters leave rows out */
    LC_TRY(lc_bitmap_add_many(set->rows, n, (const uint64_t *)positions, err));
    LC_TRY(deal_out(job, n, first, &n_missing, err));
    return keep_rows(job, rows, extra, positions, first, n_missing, err);
}

static bool wants_ids(const struct content *self)
{
    return self->spec.shape->row_ids && self->spec.commit->row_id;
}

static lcdc_status hash_set(struct content *self, enum lc_hash_side side, size_t index, lcdc_error **err)
{
    LC_CLEANUP(hashing_done) struct hashing job = {.self = self, .side = side, .set = &self->sides[side].sets[index]};
    struct lc_rows_request request = {.columns = self->spec.context->schema,
                                      .n_extra = wants_ids(self),
                                      .extra = self->row_id,
                                      .n_ranges = self->spec.n_ranges,
                                      .ranges = self->spec.ranges};
    LC_TRY(lc_rows_open(self->spec.context, job.set->from, &request, &job.rows, err));
    LC_TRY(lc_hash_writer_new(self->parts, side, index, &job.writer, err));
    for (;;) {
        LC_ARRAY struct ArrowArray rows = {0}, extra = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_rows_next(job.rows, &rows, &extra, &positions, err));
        if (!rows.release)
            return lc_hash_writer_finish(job.writer, err);
        LC_TRY(hash_batch(&job, &rows, &extra, positions, err));
    }
}

static lcdc_status hash_added(void *context, size_t i, lcdc_error **err)
{
    return hash_set(context, LC_HASH_ADDED, i, err);
}

static lcdc_status hash_removed(void *context, size_t i, lcdc_error **err)
{
    return hash_set(context, LC_HASH_REMOVED, i, err);
}

/* ---- one part: equal rows cancel ---- */

/*
 * Added rows by hash. A slot names one row of its content; the rows of that content which have not been taken are a
 * chain, the last one first.
 */
struct table {
    size_t n_slots;                  /* a power of two */
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

static lcdc_status hash_sides(struct content *self, lcdc_error **err)
{
    const struct lc_commit *commit = self->spec.commit;
    const struct lc_scan_context *context = self->spec.context;
    int64_t added = 0, removed = 0;
    LC_TRY(make_side(self, LC_HASH_ADDED, commit->n_added, commit->added, &added, err));
    LC_TRY(make_side(self, LC_HASH_REMOVED, commit->n_removed, commit->removed, &removed, err));
    LC_TRY(lc_hash_parts_new(added + removed, commit->n_added + commit->n_removed,
                             self->spec.shape->memory_limit / PARTS_FRACTION, &self->parts, err));
    if (lc_hash_filter_bytes(added) <= self->spec.shape->memory_limit / FILTER_FRACTION)
        LC_TRY(lc_hash_filter_new(added, &self->filter, err));
    LC_TRY(
        lc_parallel(lc_scan_threads(context, commit->n_added, commit->added), commit->n_added, hash_added, self, err));
    LC_TRY(lc_parallel(lc_scan_threads(context, commit->n_removed, commit->removed), commit->n_removed, hash_removed,
                       self, err));
    lc_hash_filter_free(lc_steal(self->filter));
    return LCDC_OK;
}

static lcdc_status compare(struct content *self, lcdc_error **err)
{
    const struct lc_commit *commit = self->spec.commit;
    LC_TRY(hash_sides(self, err));
    LC_TRY(lc_parallel(lc_scan_threads(self->spec.context, commit->n_removed, commit->removed),
                       lc_hash_parts_count(self->parts), match_part, self, err));
    lc_hash_parts_free(lc_steal(self->parts));
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < self->sides[s].n; i++) {
            add_hashes(&self->seen[s], 1, &self->sides[s].sets[i].sum);
            LC_TRY(lc_check_cancelled(self->spec.context, err));
            LC_TRY(narrow_set(&self->sides[s], &self->sides[s].sets[i], err));
        }
    return LCDC_OK;
}

/* ---- what is left, of the rows that were kept ---- */

/* Whether every row that is left was kept. */
static bool has_all(const struct side *side)
{
    for (size_t i = 0; i < side->n; i++)
        if (lc_bitmap_count(side->sets[i].rows) != lc_kept_rows_left(&side->sets[i].kept, side->left))
            return false;
    return true;
}

static lcdc_status next_kept(struct content *self, struct lc_change_batch *out, lcdc_error **err)
{
    struct side *side = &self->sides[self->phase];
    for (; self->kept_set < side->n; self->kept_set++, self->kept_at = 0) {
        struct lc_kept_rows *kept = &side->sets[self->kept_set].kept;
        while (self->kept_at < kept->n && out->n == 0)
            LC_TRY(lc_kept_rows_take(kept, self->kept_at++, self->spec.shape, side->left, &self->left[self->phase], out,
                                     err));
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
            self->sets[self->n_sets++] = (struct lc_row_set){
                .file = side->sets[i].from->file, .rows = -1, .include = side->sets[i].rows};
    struct lc_ahead_request request = {.context = self->spec.context,
                                       .n = self->n_sets,
                                       .sets = self->sets,
                                       .rows = lc_run_images(&self->spec, wants_ids(self), self->row_id),
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
        add_hashes(&self->left[self->phase], self->n_sets, self->sums);
    }
    return LCDC_OK;
}

static void begin_phase(struct content *self, enum lc_hash_side phase)
{
    self->phase = phase;
    self->kept_set = self->kept_at = 0;
    /* a budget that was spent by the very last batch counts as spent: which batch is last hangs on the threads */
    self->from_kept = self->sides[phase].budget.left >= 0 && has_all(&self->sides[phase]);
}

static lcdc_status content_next(struct lc_run *run, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    struct content *self = (struct content *)run;
    if (!self->has_begun) {
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
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < self->sides[s].n; i++) {
            lc_bitmap_free(self->sides[s].sets[i].rows);
            lc_kept_rows_done(&self->sides[s].sets[i].kept);
        }
        lc_free(self->sides[s].sets);
        lc_free(self->sides[s].left);
    }
    lc_hash_parts_free(self->parts);
    lc_hash_filter_free(self->filter);
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
