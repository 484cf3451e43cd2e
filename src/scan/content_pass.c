/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_pass.c - reads and hashes a side. Its sets are read by a few threads, each set by one; the files of large
 * sets are cut into stretches before, so that all threads have something to do until the end, and one file is not
 * one's.
 */
#include "scan/content.h"

#include <inttypes.h>
#include <string.h>

#include "scan/parallel.h"

enum {
    KEPT_FRACTION = 8,         /* of the memory limit, for each side */
    LEAST_STRETCH = 256 << 10, /* rows: at each cut some pages are read twice */
    STRETCHES = 8              /* that a side is cut into, where its files are large */
};

/* Rows a set can deliver at most, from its file's footer when the metadata does not say. */
static lcdc_status most_rows(const struct lc_content *content, struct lc_row_set *set, int64_t *out, lcdc_error **err)
{
    const struct lc_scan_context *context = content->spec.context;
    *out = set->rows >= 0 ? set->rows : set->file->rows;
    if (*out >= 0)
        return LCDC_OK;
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *file = NULL;
    LC_TRY(lc_check_cancelled(context, err));
    LC_TRY(lc_parquet_open(context->storage, set->file->url, set->file->size, &file, err));
    *out = lc_parquet_rows(file);
    return LCDC_OK;
}

static void init_budget(const struct lc_content *content, struct lc_side *side)
{
    lc_kept_budget_init(&side->budget, content->spec.shape->memory_limit / KEPT_FRACTION);
}

/* To begin in the middle of a file costs little where it lies here and pages can be passed over. */
static bool can_be_cut(const struct lc_content *content, const struct lc_row_set *set)
{
    const struct lc_scan_context *context = content->spec.context;
    bool is_flat = true, is_whole = set->file->rows < 0 ? set->rows < 0 : set->rows < 0 || set->rows == set->file->rows;
    for (size_t i = 0; is_flat && i < context->schema->n_children; i++)
        is_flat = !lc_type_is_nested(context->schema->children[i].type.kind);
    return is_flat && is_whole && !set->load && !set->include && !set->exclude && !set->n_filters &&
           !lc_storage_is_remote(context->storage, set->file->url);
}

static lcdc_status add_set(struct lc_side *side, struct lc_row_set *from, int64_t n_rows, struct lc_side_set **out,
                           lcdc_error **err)
{
    if (n_rows > UINT32_MAX - side->n_rows)
        return lc_fail(err, LC_R_LIMIT,
                       "a commit that rewrites more than %u rows without row ids cannot be compared by content",
                       UINT32_MAX);
    struct lc_side_set *sets = lc_realloc(side->sets, side->n + 1, sizeof(*sets));
    LC_TRY_ALLOC(sets);
    side->sets = sets;
    *out = &sets[side->n++];
    **out = (struct lc_side_set){.from = from, .first_row = side->n_rows, .n_rows = n_rows};
    side->n_rows += n_rows;
    return lc_bitmap_new(&(*out)->rows, err);
}

static lcdc_status add_sets(const struct lc_content *content, struct lc_side *side, struct lc_row_set *from,
                            int64_t rows, int64_t stretch, lcdc_error **err)
{
    struct lc_side_set *set;
    int64_t n;
    if (rows < 2 * stretch || !can_be_cut(content, from))
        return add_set(side, from, rows, &set, err);
    for (int64_t first = 0, left = rows / stretch; left > 0; left--, first += n) {
        n = (rows - first) / left;
        LC_TRY(add_set(side, from, n, &set, err));
        set->first_position = first;
        set->is_stretch = true;
    }
    return LCDC_OK;
}

static lcdc_status init_side(struct lc_content *content, struct lc_side *side, size_t n, struct lc_row_set *sets,
                             lcdc_error **err)
{
    LC_FREE int64_t *rows = lc_calloc(n, sizeof(*rows));
    LC_TRY_ALLOC(rows);
    int64_t stretch = 0;
    for (size_t i = 0; i < n; i++) {
        LC_TRY(most_rows(content, &sets[i], &rows[i], err));
        stretch += rows[i] / STRETCHES;
    }
    stretch = stretch < LEAST_STRETCH ? LEAST_STRETCH : stretch;
    for (size_t i = 0; i < n; i++)
        LC_TRY(add_sets(content, side, &sets[i], rows[i], stretch, err));
    side->left = lc_calloc((size_t)side->n_rows / 64 + 1, sizeof(*side->left));
    LC_TRY_ALLOC(side->left);
    init_budget(content, side);
    return LCDC_OK;
}

lcdc_status lc_content_init(struct lc_content *content, const struct lc_run_spec *spec, lcdc_error **err)
{
    const struct lc_commit *commit = spec->commit;
    size_t n = spec->context->schema->n_children;
    content->spec = *spec;
    content->row_id[0] = commit->row_id;
    content->order = lc_calloc(n, sizeof(*content->order));
    LC_TRY_ALLOC(content->order);
    for (size_t i = 0; i < n; i++)
        content->order[i] = i;
    LC_TRY(init_side(content, &content->sides[LC_HASH_ADDED], commit->n_added, commit->added, err));
    return init_side(content, &content->sides[LC_HASH_REMOVED], commit->n_removed, commit->removed, err);
}

static void side_done(struct lc_side *side)
{
    for (size_t i = 0; i < side->n; i++) {
        lc_bitmap_free(side->sets[i].rows);
        lc_kept_rows_done(&side->sets[i].kept);
    }
    lc_free(side->sets);
    lc_free(side->left);
}

void lc_content_done(struct lc_content *content)
{
    side_done(&content->sides[0]);
    side_done(&content->sides[1]);
    lc_free(content->order);
}

lcdc_status lc_content_forget(struct lc_content *content, enum lc_hash_side index, lcdc_error **err)
{
    struct lc_side *side = &content->sides[index];
    for (size_t i = 0; i < side->n; i++) {
        struct lc_side_set *set = &side->sets[i];
        lc_bitmap_free(lc_steal(set->rows));
        LC_TRY(lc_bitmap_new(&set->rows, err));
        lc_kept_rows_done(&set->kept);
        set->kept.is_spent = false;
        set->sum = set->left = (struct lc_hash){0, 0};
    }
    memset(side->left, 0, ((size_t)side->n_rows / 64 + 1) * sizeof(*side->left));
    init_budget(content, side);
    return LCDC_OK;
}

bool lc_content_wants_ids(const struct lc_content *content)
{
    return content->spec.shape->row_ids && content->spec.commit->row_id;
}

/* Rows of other sets share the words. */
void lc_side_mark(struct lc_side *side, uint32_t row)
{
    __atomic_fetch_or(&side->left[row >> 6], (uint64_t)1 << (row & 63), __ATOMIC_RELAXED);
}

lcdc_status lc_content_hash(const struct lc_content *content, const struct ArrowArray *rows, struct lc_hash *out,
                            lcdc_error **err)
{
    const struct lc_field *schema = content->spec.context->schema;
    return lc_row_hash(schema, rows, schema->n_children, content->order, out, err);
}

/* ---- one set, by one thread ---- */

struct hashing {
    const struct lc_pass *pass;
    struct lc_side_set *set;
    struct lc_rows *rows;
    struct lc_hash_writer *writer;
    int64_t read, cap;
    struct lc_hash *first_columns, *all;
    uint8_t *missing;
};

static void hashing_done(struct hashing *job)
{
    lc_rows_close(job->rows);
    lc_hash_writer_free(job->writer);
    lc_free(job->first_columns);
    lc_free(job->all);
    lc_free(job->missing);
}

static lcdc_status grow(struct hashing *job, int64_t n, lcdc_error **err)
{
    if (n <= job->cap)
        return LCDC_OK;
    job->cap = 0;
    lc_free(lc_steal(job->first_columns));
    lc_free(lc_steal(job->all));
    lc_free(lc_steal(job->missing));
    job->first_columns = lc_alloc((size_t)n * sizeof(*job->first_columns));
    job->all = lc_alloc((size_t)n * sizeof(*job->all));
    job->missing = lc_alloc((size_t)n);
    LC_TRY_ALLOC(job->first_columns && job->all && job->missing);
    job->cap = n;
    return LCDC_OK;
}

/* The hash of a row goes on from that of its first columns. */
static lcdc_status hash_rows(struct hashing *job, const struct ArrowArray *rows, lcdc_error **err)
{
    const struct lc_content *content = job->pass->content;
    const struct lc_field *schema = content->spec.context->schema;
    size_t n = (size_t)rows->length, n_first = content->n_first;
    if (!n_first)
        return lc_content_hash(content, rows, job->all, err);
    LC_TRY(lc_row_hash(schema, rows, n_first, content->order, job->first_columns, err));
    memcpy(job->all, job->first_columns, n * sizeof(*job->all));
    return lc_row_hash_more(schema, rows, schema->n_children - n_first, content->order + n_first, job->all, err);
}

/* Which positions these row numbers are is only told by the reader: ranges and row filters leave rows out. */
static lcdc_status note_positions(struct hashing *job, size_t n, const int64_t *positions, lcdc_error **err)
{
    uint64_t first = (uint64_t)positions[0];
    if ((uint64_t)positions[n - 1] - first == n - 1)
        return lc_bitmap_add_range(job->set->rows, first, n, err);
    return lc_bitmap_add_many(job->set->rows, n, (const uint64_t *)positions, err);
}

static lcdc_status keep_rows(struct hashing *job, struct ArrowArray *rows, const struct ArrowArray *extra,
                             const int64_t *positions, uint32_t first, lcdc_error **err)
{
    const struct lc_pass *pass = job->pass;
    const struct lc_run_spec *spec = &pass->content->spec;
    const struct lc_data_file *file = job->set->from->file;
    LC_FREE int64_t *ids = NULL;
    if (extra->release && file->has_row_ids)
        LC_TRY(lc_row_ids(file, extra, 0, rows->length, positions, &ids, err));
    return lc_kept_rows_add(&job->set->kept, &pass->content->sides[pass->side].budget, spec->context->schema,
                            spec->shape->columns, rows, pass->keeps_all ? NULL : job->missing, first, job->all, ids,
                            err);
}

static lcdc_status look_at(struct hashing *job, struct ArrowArray *rows, const struct ArrowArray *extra,
                           const int64_t *positions, lcdc_error **err)
{
    const struct lc_pass *pass = job->pass;
    struct lc_side *side = &pass->content->sides[pass->side];
    struct lc_side_set *set = job->set;
    struct lc_hashed hashed = {.n = (size_t)rows->length,
                               .first = (uint32_t)(set->first_row + job->read),
                               .first_columns = job->first_columns,
                               .all = job->all,
                               .missing = job->missing,
                               .writer = job->writer};
    size_t n_missing = 0;
    LC_TRY(hash_rows(job, rows, err));
    lc_hash_sum(&set->sum, hashed.n, job->all, NULL);
    LC_TRY(note_positions(job, hashed.n, positions, err));
    LC_TRY(pass->look(pass, &hashed, &n_missing, err));
    for (size_t i = 0; n_missing && i < hashed.n; i++)
        if (job->missing[i])
            lc_side_mark(side, hashed.first + (uint32_t)i);
    if (n_missing)
        lc_hash_sum(&set->left, hashed.n, job->all, job->missing);
    return pass->keeps_all || n_missing ? keep_rows(job, rows, extra, positions, hashed.first, err) : LCDC_OK;
}

static lcdc_status look_at_first_columns(struct hashing *job, const struct lc_field *columns,
                                         const struct ArrowArray *rows, lcdc_error **err)
{
    size_t none = 0;
    struct lc_hashed hashed = {.n = (size_t)rows->length,
                               .first = (uint32_t)(job->set->first_row + job->read),
                               .first_columns = job->first_columns};
    LC_TRY(lc_row_hash(columns, rows, 0, NULL, job->first_columns, err));
    return job->pass->look(job->pass, &hashed, &none, err);
}

static lcdc_status read_set(struct hashing *job, const struct lc_field *columns, lcdc_error **err)
{
    for (;;) {
        LC_ARRAY struct ArrowArray rows = {0}, extra = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_rows_next(job->rows, &rows, &extra, &positions, err));
        if (!rows.release)
            return LCDC_OK;
        int64_t n = rows.length;
        if (job->read + n > job->set->n_rows)
            return lc_fail(err, LC_R_ROWS_MISCOUNTED, "%s holds more rows than the table's metadata says",
                           job->set->from->file->path);
        LC_TRY(grow(job, n, err));
        if (job->pass->first_columns_only)
            LC_TRY(look_at_first_columns(job, columns, &rows, err));
        else
            LC_TRY(look_at(job, &rows, &extra, positions, err));
        job->read += n;
    }
}

static lcdc_status pass_over_set(void *context, size_t index, lcdc_error **err)
{
    const struct lc_pass *pass = context;
    const struct lc_content *content = pass->content;
    const struct lc_scan_context *scan = content->spec.context;
    LC_CLEANUP(hashing_done) struct hashing job = {.pass = pass, .set = &content->sides[pass->side].sets[index]};
    LC_FREE struct lc_field *children = lc_calloc(scan->schema->n_children, sizeof(*children));
    LC_TRY_ALLOC(children);
    struct lc_field columns = *scan->schema;
    struct lc_rows_request request = {.columns = scan->schema,
                                      .n_extra = lc_content_wants_ids(content),
                                      .extra = content->row_id,
                                      .n_ranges = content->spec.n_ranges,
                                      .ranges = content->spec.ranges,
                                      .keeps_dictionaries = !pass->keeps_all,
                                      .first_row = job.set->first_position,
                                      .n_rows = job.set->is_stretch ? job.set->n_rows : 0};
    if (pass->first_columns_only) {
        for (size_t i = 0; i < content->n_first; i++)
            children[i] = scan->schema->children[content->order[i]];
        columns.children = children;
        columns.n_children = content->n_first;
        request.columns = &columns;
        request.n_extra = 0;
    }
    LC_TRY(lc_rows_open(scan, job.set->from, &request, &job.rows, err));
    if (pass->parts)
        LC_TRY(lc_hash_writer_new(pass->parts, pass->side, index, &job.writer, err));
    LC_TRY(read_set(&job, &columns, err));
    return job.writer ? lc_hash_writer_finish(job.writer, err) : LCDC_OK;
}

lcdc_status lc_content_pass(struct lc_pass *pass, lcdc_error **err)
{
    const struct lc_commit *commit = pass->content->spec.commit;
    bool is_added = pass->side == LC_HASH_ADDED;
    size_t threads = lc_scan_threads(pass->content->spec.context, is_added ? commit->n_added : commit->n_removed,
                                     is_added ? commit->added : commit->removed);
    return lc_parallel(threads, pass->content->sides[pass->side].n, pass_over_set, pass, err);
}
