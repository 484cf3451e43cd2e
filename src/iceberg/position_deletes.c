/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/position_deletes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VECTOR = 1 << 30, BYTES_PER_POSITION = 8 };

/* One data file's positions in one delete file. */
struct named {
    char *path; /* as spelled */
    struct lc_bitmap *bitmap;
};

struct loaded {
    char *url;
    size_t n, cap;
    struct named *items; /* sorted by path once loaded */
    int64_t bytes;
};

struct lc_iceberg_positions {
    struct lc_storage *storage;
    const struct lc_path_map *path_map;
    int64_t memory_limit, bytes;
    size_t n, cap;
    struct loaded **files;
    struct lc_field columns[2];
    struct lc_field schema;
};

static void loaded_free(struct loaded *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->n; i++) {
        lc_free(file->items[i].path);
        lc_bitmap_free(file->items[i].bitmap);
    }
    lc_free(file->items);
    lc_free(file->url);
    lc_free(file);
}
LC_DEFINE_CLEANUP(struct loaded *, loaded_free)

static void forget_all(struct lc_iceberg_positions *self)
{
    while (self->n)
        loaded_free(self->files[--self->n]);
    self->bytes = 0;
}

lcdc_status lc_iceberg_positions_new(struct lc_storage *storage, const struct lc_path_map *path_map,
                                     int64_t memory_limit, struct lc_iceberg_positions **out, lcdc_error **err)
{
    struct lc_iceberg_positions *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->storage = storage;
    self->path_map = path_map;
    self->memory_limit = memory_limit;
    self->columns[0] = (struct lc_field){
        .name = "file_path", .physical = "file_path", .id = 2147483546, .type = {.kind = LC_TYPE_STRING}};
    self->columns[1] = (struct lc_field){
        .name = "pos", .physical = "pos", .id = 2147483545, .type = {.kind = LC_TYPE_INT64}};
    self->schema = (struct lc_field){.name = "",
                                     .physical = "",
                                     .id = LC_NO_ID,
                                     .type = {.kind = LC_TYPE_STRUCT},
                                     .n_children = 2,
                                     .children = self->columns};
    *out = self;
    return LCDC_OK;
}

void lc_iceberg_positions_free(struct lc_iceberg_positions *positions)
{
    if (!positions)
        return;
    forget_all(positions);
    lc_free(positions->files);
    lc_free(positions);
}

/* ---- reading a file ---- */

/* Spelled paths repeat from row to row: the last one is remembered. */
struct last_path {
    struct lc_str spelled;
    size_t at;
};

static lcdc_status find_named(struct loaded *file, struct lc_str spelled, size_t *out, lcdc_error **err)
{
    LC_FREE char *path = lc_strndup(spelled.p, spelled.n);
    LC_TRY_ALLOC(path);
    for (size_t i = file->n; i-- > 0;) /* sorted files name one path after the other: look at the newest first */
        if (strcmp(file->items[i].path, path) == 0) {
            *out = i;
            return LCDC_OK;
        }
    if (file->n == file->cap) {
        size_t cap = file->cap ? file->cap * 2 : 8;
        struct named *items = lc_realloc(file->items, cap, sizeof(*items));
        LC_TRY_ALLOC(items);
        file->items = items;
        file->cap = cap;
    }
    struct named made = {0};
    LC_TRY(lc_bitmap_new(&made.bitmap, err));
    made.path = lc_steal(path);
    file->items[file->n] = made;
    *out = file->n++;
    return LCDC_OK;
}

static lcdc_status take_batch(struct loaded *file, const struct ArrowArray *batch, const char *what, lcdc_error **err)
{
    const struct ArrowArray *paths = batch->children[0], *positions = batch->children[1];
    struct last_path last = {0};
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t row = batch->offset + i;
        if (lc_array_is_null(paths, row) || lc_array_is_null(positions, row))
            return lc_fail(err, LC_R_ICEBERG_DELETE_BAD, "%s: a row has no file_path or no pos", what);
        int64_t position = ((const int64_t *)positions->buffers[1])[positions->offset + row];
        if (position < 0)
            return lc_fail(err, LC_R_ICEBERG_DELETE_BAD, "%s: position %" PRId64 " is negative", what, position);
        struct lc_str spelled = lc_array_str(paths, LC_TYPE_STRING, 0, row);
        if (!last.spelled.p || !lc_str_eq(spelled, last.spelled)) {
            LC_TRY(find_named(file, spelled, &last.at, err));
            last.spelled = spelled;
        }
        LC_TRY(lc_bitmap_add(file->items[last.at].bitmap, (uint64_t)position, err));
    }
    return LCDC_OK;
}

static lcdc_status read_file(struct lc_iceberg_positions *self, const struct lc_iceberg_file *file, struct loaded *out,
                             lcdc_error **err)
{
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *parquet = NULL;
    LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scan = NULL;
    struct lc_parquet_request request = {.schema = &self->schema, .match = LC_MATCH_ID_OR_ALIAS};
    if (file->format != LC_ICEBERG_PARQUET)
        return lc_fail(err, LC_R_ICEBERG_DATA_FORMAT,
                       "position delete file %.*s is not Parquet, other formats cannot be read",
                       LC_STR_ARG(file->path));
    LC_TRY(lc_parquet_open(self->storage, out->url, file->size, &parquet, err));
    for (size_t c = 0; c < 2; c++)
        if (!lc_parquet_has(parquet, &self->columns[c], LC_MATCH_ID_OR_ALIAS))
            return lc_fail(err, LC_R_ICEBERG_DELETE_BAD, "%s has no column %s (field id %d)", out->url,
                           self->columns[c].name, self->columns[c].id);
    if (file->record_count >= 0 && lc_parquet_rows(parquet) != file->record_count)
        return lc_fail(err, LC_R_ROWS_MISCOUNTED, "%s holds %" PRId64 " rows, its manifest says %" PRId64, out->url,
                       lc_parquet_rows(parquet), file->record_count);
    LC_TRY(lc_parquet_scan_open(parquet, &request, &scan, err));
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        LC_TRY(lc_parquet_scan_next(scan, &batch, NULL, err));
        if (!batch.release)
            break;
        out->bytes += batch.length * BYTES_PER_POSITION;
        LC_TRY(take_batch(out, &batch, out->url, err));
    }
    return LCDC_OK;
}

static lcdc_status load(struct lc_iceberg_positions *self, const struct lc_iceberg_file *file,
                        const struct loaded **out, lcdc_error **err)
{
    LC_FREE char *text = lc_strndup(file->path.p, file->path.n);
    LC_CLEANUP(loaded_freep) struct loaded *made = lc_calloc(1, sizeof(*made));
    LC_TRY_ALLOC(text && made);
    LC_TRY(lc_path_map_apply(self->path_map, text, &made->url, err));
    for (size_t i = 0; i < self->n; i++)
        if (strcmp(self->files[i]->url, made->url) == 0) {
            *out = self->files[i];
            return LCDC_OK;
        }
    LC_TRY(read_file(self, file, made, err));
    if (self->bytes + made->bytes > self->memory_limit)
        forget_all(self);
    if (self->n == self->cap) {
        size_t cap = self->cap ? self->cap * 2 : 16;
        struct loaded **files = lc_realloc(self->files, cap, sizeof(struct loaded *));
        LC_TRY_ALLOC(files);
        self->files = files;
        self->cap = cap;
    }
    self->bytes += made->bytes;
    *out = self->files[self->n++] = lc_steal(made);
    return LCDC_OK;
}

lcdc_status lc_iceberg_positions_add(struct lc_iceberg_positions *positions, const struct lc_iceberg_file *file,
                                     const char *data_path, struct lc_bitmap *into, lcdc_error **err)
{
    const struct loaded *loaded = NULL;
    LC_TRY(load(positions, file, &loaded, err));
    for (size_t i = 0; i < loaded->n; i++)
        if (strcmp(loaded->items[i].path, data_path) == 0)
            return lc_bitmap_or(into, loaded->items[i].bitmap, err);
    return LCDC_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return lc_str_cmp(*(const struct lc_str *)a, *(const struct lc_str *)b);
}

lcdc_status lc_iceberg_positions_names(struct lc_iceberg_positions *positions, const struct lc_iceberg_file *file,
                                       struct lc_arena *arena, size_t *n_out, const struct lc_str **out,
                                       lcdc_error **err)
{
    const struct loaded *loaded = NULL;
    LC_TRY(load(positions, file, &loaded, err));
    struct lc_str *names = lc_arena_array(arena, loaded->n, sizeof(*names));
    LC_TRY_ALLOC(names);
    for (size_t i = 0; i < loaded->n; i++)
        if (!lc_arena_str(arena, lc_str_of(loaded->items[i].path), &names[i]))
            return lc_fail_oom(err);
    if (loaded->n)
        qsort(names, loaded->n, sizeof(*names), compare_texts);
    *n_out = loaded->n;
    *out = names;
    return LCDC_OK;
}

/* ---- vectors ---- */

lcdc_status lc_iceberg_vector_read(struct lc_iceberg_positions *positions, const struct lc_iceberg_file *file,
                                   struct lc_bitmap **out, lcdc_error **err)
{
    LC_FREE char *text = lc_strndup(file->path.p, file->path.n);
    LC_FREE char *url = NULL;
    LC_BUF struct lc_buf bytes = {.max = MAX_VECTOR};
    LC_TRY_ALLOC(text);
    LC_TRY(lc_path_map_apply(positions->path_map, text, &url, err));
    if (file->content_offset < 0 || file->content_size < 8 || file->content_size > MAX_VECTOR)
        return lc_fail(err, LC_R_ICEBERG_DELETE_BAD,
                       "deletion vector in %s: its manifest gives offset %" PRId64 " and size %" PRId64, url,
                       file->content_offset, file->content_size);
    LC_TRY(lc_storage_read_range(positions->storage, url, file->content_offset, file->content_size, &bytes, err));
    lcdc_status status = lc_bitmap_parse_framed((const uint8_t *)bytes.p, bytes.n, file->record_count, out, err);
    if (status != LCDC_OK)
        lc_error_prefix(err, "deletion vector at offset %" PRId64 " of %s", file->content_offset, url);
    return status;
}
