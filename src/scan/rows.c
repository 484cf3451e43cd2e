/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is read with one schema: the columns asked for, then the extra ones, then what row filters need and is not
 * among them yet. Row filters and the condition look at views of that batch; what is left is cut back into its parts.
 *
 * Where they look at some of the columns only, these are read first, and the others for the rows that are left alone;
 * unless the beginning of the file shows that too many rows are left for that to pay.
 */
#include "scan/rows.h"

#include <string.h>

#include "scan/pushdown.h"

/* A schema that the file is read with, and where its users find their columns in it. */
struct layout {
    struct lc_field read;    /* STRUCT */
    size_t *columns;         /* of the request; ABSENT: not read */
    size_t **filter_columns; /* per row filter */
};

struct lc_rows {
    const struct lc_scan_context *context;
    struct lc_row_set *set;
    struct lc_rows_request request;
    struct lc_arena arena;
    struct layout layout;
    size_t n_columns; /* = request.columns->n_children */
    struct lc_parquet *file;
    struct lc_parquet_scan *scan;
    bool is_sifted;           /* the scan's rows pass already */
    struct lc_bitmap *passed; /* their positions */
    size_t mask_cap;
    uint8_t *mask;
    int64_t *positions;
    bool loaded;
};

static const size_t ABSENT = SIZE_MAX;

enum { TRIAL_ROWS = 1 << 16, TRIAL_SHARE = 4 };

lcdc_status lc_check_cancelled(const struct lc_scan_context *context, lcdc_error **err)
{
    bool is_over = (context->cancelled && *context->cancelled) || (context->stopped && *context->stopped);
    return is_over ? lc_fail(err, LC_R_CANCELLED, "the read was cancelled") : LCDC_OK;
}

static size_t find_column(const struct lc_field *read, const struct lc_field *column)
{
    size_t i = 0;
    while (i < read->n_children && !lc_same_column(&read->children[i], column))
        i++;
    return i;
}

/* The columns of the request, or only those that its condition looks at; then the row filters'. */
static lcdc_status build_layout(struct lc_rows *rows, bool for_filters, struct layout *out, lcdc_error **err)
{
    const struct lc_rows_request *request = &rows->request;
    size_t most = rows->n_columns + request->n_extra, n = 0;
    for (size_t f = 0; f < rows->set->n_filters; f++)
        most += rows->set->filters[f]->n_columns;
    bool *used = lc_arena_array(&rows->arena, rows->n_columns, sizeof(*used));
    struct lc_field *read = lc_arena_array(&rows->arena, most, sizeof(*read));
    out->columns = lc_arena_array(&rows->arena, rows->n_columns, sizeof(*out->columns));
    out->filter_columns = lc_arena_array(&rows->arena, rows->set->n_filters, sizeof(size_t *));
    LC_TRY_ALLOC(used && read && out->columns && out->filter_columns);
    if (request->filter)
        lc_filter_columns(request->filter, used);
    for (size_t i = 0; i < rows->n_columns; i++) {
        bool is_read = !for_filters || used[i];
        out->columns[i] = is_read ? n : ABSENT;
        if (is_read)
            read[n++] = request->columns->children[i];
    }
    for (size_t i = 0; i < request->n_extra && !for_filters; i++)
        read[n++] = *request->extra[i];
    out->read = *request->columns;
    out->read.children = read;
    out->read.n_children = n;
    for (size_t f = 0; f < rows->set->n_filters; f++) {
        const struct lc_row_filter *filter = rows->set->filters[f];
        size_t *at = out->filter_columns[f] = lc_arena_array(&rows->arena, filter->n_columns, sizeof(*at));
        LC_TRY_ALLOC(at);
        for (size_t i = 0; i < filter->n_columns; i++) {
            at[i] = find_column(&out->read, filter->columns[i]);
            if (at[i] == out->read.n_children)
                read[out->read.n_children++] = *filter->columns[i];
        }
    }
    return LCDC_OK;
}

/* A field of the table's schema, as the node of `read` that stands for it; nested nodes are shared already. */
static const struct lc_field *as_read(const struct layout *layout, const struct lc_field *field)
{
    size_t i = find_column(&layout->read, field);
    return i < layout->read.n_children ? &layout->read.children[i] : field;
}

static lcdc_status check_positions(const struct lc_rows *rows, const struct lc_bitmap *bitmap, lcdc_error **err)
{
    uint64_t last;
    int64_t have = lc_parquet_rows(rows->file);
    if (bitmap && lc_bitmap_max(bitmap, &last) && last >= (uint64_t)have)
        return lc_fail(err, LC_R_BITMAP_BAD, "%s: the deleted rows name position %llu, the file has %lld rows",
                       rows->set->file->path, (unsigned long long)last, (long long)have);
    return LCDC_OK;
}

static bool is_constant(const struct lc_data_file *file, const struct lc_field *column)
{
    for (size_t i = 0; i < file->n_constants; i++)
        if (lc_same_column(file->constants[i].field, column))
            return true;
    return false;
}

/* A damaged footer can take a column away without a trace; the table's own statistics still know that it had values. */
static lcdc_status check_missing_columns(const struct lc_rows *rows, lcdc_error **err)
{
    const struct lc_data_file *file = rows->set->file;
    for (size_t i = 0; file->stats && i < rows->layout.read.n_children; i++) {
        const struct lc_field *column = &rows->layout.read.children[i];
        LC_ARENA struct lc_arena arena = {0};
        struct lc_column_stats stats = {.null_count = -1};
        if (lc_parquet_has(rows->file, column, rows->context->match) || is_constant(file, column) ||
            lc_type_is_nested(column->type.kind) || !file->stats(file, column, &arena, &stats))
            continue;
        if (stats.null_count >= 0 && file->rows >= 0 && stats.null_count < file->rows)
            return lc_fail(err, LC_R_PARQUET_BAD,
                           "%s has no column '%s', the table's statistics say that it holds values there", file->path,
                           column->physical);
    }
    return LCDC_OK;
}

static bool has_filters(const struct lc_rows *rows)
{
    return rows->set->n_filters || rows->request.filter;
}

/* What a scan with this layout is asked; it lives in the arena. */
static lcdc_status scan_request(struct lc_rows *rows, const struct layout *layout, struct lc_parquet_request **out,
                                lcdc_error **err)
{
    const struct lc_data_file *file = rows->set->file;
    const struct lc_rows_request *request = &rows->request;
    struct lc_constant *constants = lc_arena_array(&rows->arena, file->n_constants, sizeof(*constants));
    struct lc_range *ranges = lc_arena_array(&rows->arena, request->n_ranges, sizeof(*ranges));
    struct lc_parquet_request *scan = lc_arena_alloc(&rows->arena, sizeof(*scan));
    LC_TRY_ALLOC(constants && ranges && scan);
    for (size_t i = 0; i < file->n_constants; i++) {
        constants[i] = file->constants[i];
        constants[i].field = as_read(layout, file->constants[i].field);
    }
    size_t n_ranges = 0;
    for (size_t i = 0; i < request->n_ranges; i++) {
        ranges[n_ranges] = request->ranges[i];
        ranges[n_ranges].field = as_read(layout, request->ranges[i].field);
        /* a range on a column that this read does not carry cannot be told to the reader */
        bool carried = ranges[n_ranges].field != request->ranges[i].field ||
                       find_column(&layout->read, request->ranges[i].field) < layout->read.n_children;
        n_ranges += carried;
    }
    *scan = (struct lc_parquet_request){.schema = &layout->read,
                                        .match = rows->context->match,
                                        .n_constants = file->n_constants,
                                        .constants = constants,
                                        .include = rows->set->include,
                                        .exclude = rows->set->exclude,
                                        .n_ranges = n_ranges,
                                        .ranges = ranges,
                                        .first_row = request->first_row,
                                        .n_rows = request->n_rows,
                                        .keeps_dictionaries = request->keeps_dictionaries && !has_filters(rows),
                                        .batch_rows = rows->context->batch_rows,
                                        .memory_limit = rows->context->memory_limit};
    *out = scan;
    return LCDC_OK;
}

/* A view of some children of a struct array: nothing is owned, nothing is to be released. */
static struct ArrowArray view_of(const struct ArrowArray *batch, int64_t n, struct ArrowArray **children)
{
    return (struct ArrowArray){.length = batch->length,
                               .offset = batch->offset,
                               .n_buffers = 1,
                               .n_children = n,
                               .buffers = batch->buffers,
                               .children = children};
}

static lcdc_status apply_condition(struct lc_rows *rows, const struct layout *layout, const struct ArrowArray *batch,
                                   lcdc_error **err)
{
    size_t n = (size_t)batch->length;
    LC_FREE uint8_t *passes = lc_alloc(n);
    LC_FREE struct ArrowArray **children = lc_calloc(rows->n_columns, sizeof(*children));
    LC_TRY_ALLOC(passes && children);
    for (size_t i = 0; i < rows->n_columns; i++)
        children[i] = layout->columns[i] == ABSENT ? NULL : batch->children[layout->columns[i]];
    struct ArrowArray view = view_of(batch, (int64_t)rows->n_columns, children);
    LC_TRY(lc_filter_eval(rows->request.filter, &view, passes, err));
    for (size_t i = 0; i < n; i++)
        rows->mask[i] &= passes[i];
    return LCDC_OK;
}

static lcdc_status make_mask(struct lc_rows *rows, const struct layout *layout, const struct ArrowArray *batch,
                             const int64_t *positions, lcdc_error **err)
{
    size_t n = (size_t)batch->length;
    if (n > rows->mask_cap) {
        lc_free(rows->mask);
        lc_free(rows->positions);
        rows->mask_cap = 0;
        rows->mask = lc_alloc(n);
        rows->positions = lc_calloc(n, sizeof(int64_t));
        LC_TRY_ALLOC(rows->mask && rows->positions);
        rows->mask_cap = n;
    }
    memset(rows->mask, 1, n);
    for (size_t f = 0; f < rows->set->n_filters; f++) {
        const struct lc_row_filter *filter = rows->set->filters[f];
        LC_FREE struct ArrowArray **children = lc_calloc(filter->n_columns, sizeof(*children));
        LC_TRY_ALLOC(children);
        for (size_t i = 0; i < filter->n_columns; i++)
            children[i] = batch->children[layout->filter_columns[f][i]];
        struct ArrowArray view = view_of(batch, (int64_t)filter->n_columns, children);
        LC_TRY(filter->apply(filter, &view, positions, rows->mask, err));
    }
    return rows->request.filter ? apply_condition(rows, layout, batch, err) : LCDC_OK;
}

/* ---- filters first ---- */

static lcdc_status note_passed(struct lc_rows *rows, int64_t n, const int64_t *positions, int64_t *kept,
                               lcdc_error **err)
{
    int64_t passed = 0;
    for (int64_t i = 0; i < n; i++)
        if (rows->mask[i])
            rows->positions[passed++] = positions[i];
    *kept += passed;
    return lc_bitmap_add_many(rows->passed, (size_t)passed, (const uint64_t *)rows->positions, err);
}

/*
 * Reads the filters' columns alone and notes which rows pass. `pays` becomes false when there is nothing else to read,
 * or when so many rows pass at the beginning that reading everything at once is cheaper.
 */
static lcdc_status sift(struct lc_rows *rows, bool *pays, lcdc_error **err)
{
    struct layout layout;
    struct lc_parquet_request *request;
    LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scan = NULL;
    LC_TRY(build_layout(rows, true, &layout, err));
    *pays = layout.read.n_children < rows->layout.read.n_children;
    if (!*pays)
        return LCDC_OK;
    LC_TRY(scan_request(rows, &layout, &request, err));
    LC_TRY(lc_bitmap_new(&rows->passed, err));
    LC_TRY(lc_parquet_scan_open(rows->file, request, &scan, err));
    for (int64_t seen = 0, kept = 0;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_check_cancelled(rows->context, err));
        LC_TRY(lc_parquet_scan_next(scan, &batch, &positions, err));
        if (!batch.release)
            return LCDC_OK;
        LC_TRY(make_mask(rows, &layout, &batch, positions, err));
        LC_TRY(note_passed(rows, batch.length, positions, &kept, err));
        bool is_trial = seen < TRIAL_ROWS;
        seen += batch.length;
        if (is_trial && seen >= TRIAL_ROWS && kept > seen / TRIAL_SHARE) {
            *pays = false;
            return LCDC_OK;
        }
    }
}

/* ---- opening ---- */

static lcdc_status open_scan(struct lc_rows *rows, lcdc_error **err)
{
    struct lc_parquet_request *request;
    if (has_filters(rows))
        LC_TRY(sift(rows, &rows->is_sifted, err));
    if (rows->is_sifted && lc_bitmap_count(rows->passed) == 0)
        return LCDC_OK;
    LC_TRY(scan_request(rows, &rows->layout, &request, err));
    if (rows->is_sifted) {
        request->include = rows->passed;
        request->exclude = NULL;
        request->n_ranges = 0;
    }
    return lc_parquet_scan_open(rows->file, request, &rows->scan, err);
}

static lcdc_status open_all(struct lc_rows *rows, lcdc_error **err)
{
    struct lc_row_set *set = rows->set;
    LC_TRY(lc_check_cancelled(rows->context, err));
    LC_TRY(lc_row_set_load(set, err));
    rows->loaded = true;
    if (set->include && lc_bitmap_count(set->include) == 0)
        return LCDC_OK; /* nothing to read: the file need not be opened */
    LC_TRY(build_layout(rows, false, &rows->layout, err));
    LC_TRY(lc_parquet_open(rows->context->storage, set->file->url, set->file->size, &rows->file, err));
    if (set->file->rows >= 0 && lc_parquet_rows(rows->file) != set->file->rows)
        return lc_fail(err, LC_R_ROWS_MISCOUNTED, "%s holds %lld rows, the table's metadata says %lld", set->file->path,
                       (long long)lc_parquet_rows(rows->file), (long long)set->file->rows);
    LC_TRY(check_positions(rows, set->include, err));
    LC_TRY(check_positions(rows, set->exclude, err));
    LC_TRY(check_missing_columns(rows, err));
    return open_scan(rows, err);
}

lcdc_status lc_rows_open(const struct lc_scan_context *context, struct lc_row_set *set,
                         const struct lc_rows_request *request, struct lc_rows **out, lcdc_error **err)
{
    struct lc_rows *rows = lc_calloc(1, sizeof(*rows));
    LC_TRY_ALLOC(rows);
    rows->context = context;
    rows->set = set;
    rows->request = *request;
    rows->n_columns = request->columns->n_children;
    lcdc_status status = open_all(rows, err);
    if (status != LCDC_OK)
        lc_rows_close(rows);
    else
        *out = rows;
    return status;
}

bool lc_rows_is_empty(const struct lc_rows *rows)
{
    return !rows->scan;
}

bool lc_rows_file_has(const struct lc_rows *rows, size_t extra)
{
    return rows->file && lc_parquet_has(rows->file, rows->request.extra[extra], rows->context->match);
}

/* Drops what the mask drops, from the batch and from the positions. */
static lcdc_status apply_mask(struct lc_rows *rows, struct ArrowArray *batch, const int64_t **positions,
                              lcdc_error **err)
{
    int64_t kept = 0, n = batch->length;
    for (int64_t i = 0; i < n; i++)
        if (rows->mask[i])
            rows->positions[kept++] = (*positions)[i];
    *positions = rows->positions;
    if (kept == n)
        return LCDC_OK;
    LC_ARRAY struct ArrowArray left = {0};
    LC_TRY(lc_array_filter(&rows->layout.read, batch, rows->mask, &left, err));
    lc_array_move(&left, batch);
    return LCDC_OK;
}

static lcdc_status cut(struct lc_rows *rows, struct ArrowArray *batch, struct ArrowArray *images,
                       struct ArrowArray *extra, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray rest = {0}, helpers = {0};
    if (rows->layout.read.n_children == rows->n_columns) {
        lc_array_move(batch, images);
        return LCDC_OK;
    }
    LC_TRY(lc_array_split(batch, rows->n_columns, images, &rest, err));
    if (extra && rows->request.n_extra)
        return lc_array_split(&rest, rows->request.n_extra, extra, &helpers, err);
    return LCDC_OK;
}

lcdc_status lc_rows_next(struct lc_rows *rows, struct ArrowArray *images, struct ArrowArray *extra,
                         const int64_t **positions, lcdc_error **err)
{
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        const int64_t *at = NULL;
        LC_TRY(lc_check_cancelled(rows->context, err));
        if (rows->scan)
            LC_TRY(lc_parquet_scan_next(rows->scan, &batch, &at, err));
        if (!batch.release) {
            *images = (struct ArrowArray){0};
            return LCDC_OK;
        }
        if (batch.length == 0)
            continue;
        if (has_filters(rows) && !rows->is_sifted) {
            LC_TRY(make_mask(rows, &rows->layout, &batch, at, err));
            LC_TRY(apply_mask(rows, &batch, &at, err));
            if (batch.length == 0)
                continue;
        }
        LC_TRY(cut(rows, &batch, images, extra, err));
        if (positions)
            *positions = at;
        return LCDC_OK;
    }
}

void lc_rows_close(struct lc_rows *rows)
{
    if (!rows)
        return;
    lc_parquet_scan_close(rows->scan);
    lc_parquet_close(rows->file);
    if (rows->loaded)
        lc_row_set_unload(rows->set);
    lc_bitmap_free(rows->passed);
    lc_free(rows->mask);
    lc_free(rows->positions);
    lc_arena_done(&rows->arena);
    lc_free(rows);
}
