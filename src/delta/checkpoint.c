/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "delta/schema.h"

/* The columns that are read, as a schemaString; what a checkpoint lacks of them reads null. */
/* clang-format off */
#define TEXT(name) "{\"name\":\"" name "\",\"type\":\"string\"}"
#define LONG(name) "{\"name\":\"" name "\",\"type\":\"long\"}"
#define INT(name) "{\"name\":\"" name "\",\"type\":\"integer\"}"
#define MAP(name) "{\"name\":\"" name "\",\"type\":{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":\"string\"}}"
#define LIST(name) "{\"name\":\"" name "\",\"type\":{\"type\":\"array\",\"elementType\":\"string\"}}"
#define STRUCT(name, fields) "{\"name\":\"" name "\",\"type\":{\"type\":\"struct\",\"fields\":[" fields "]}}"

#define STATE \
    STRUCT("protocol", INT("minReaderVersion") "," LIST("readerFeatures")) "," \
    STRUCT("metaData", TEXT("id") "," TEXT("schemaString") "," LIST("partitionColumns") "," MAP("configuration"))
#define VECTOR \
    STRUCT("deletionVector", TEXT("storageType") "," TEXT("pathOrInlineDv") "," INT("offset") "," \
           INT("sizeInBytes") "," LONG("cardinality"))
#define FILES \
    STRUCT("add", TEXT("path") "," MAP("partitionValues") "," LONG("size") "," TEXT("stats") "," \
           LONG("baseRowId") "," LONG("defaultRowCommitVersion") "," VECTOR) "," \
    STRUCT("sidecar", TEXT("path"))
/* clang-format on */

static const char whole_schema[] = "{\"type\":\"struct\",\"fields\":[" STATE "," FILES "]}";

enum { PROTOCOL, METADATA, ADD, SIDECAR };
/* The leaf of each that is never null in a row that has one. */
enum { MIN_READER_VERSION = 0, SCHEMA_STRING = 1, SIDECAR_PATH = 0 };
enum { ADD_PATH, ADD_PARTITION_VALUES, ADD_SIZE, ADD_STATS, ADD_BASE_ROW_ID, ADD_ROW_VERSION, ADD_VECTOR };
enum { MAX_SIDECARS = 100000, BATCH_ROWS = 1024 };

struct reader {
    const struct lc_delta_log *log;
    struct lc_arena *arena;
    const struct lc_delta_wanted *wanted;
    lc_delta_visit visit;
    void *context;
    struct lc_field schema;
    size_t n_sidecars, cap_sidecars;
    struct lc_str *sidecars;
};

/* ---- values out of Arrow rows ---- */

/* `row` is an index into the array's own rows; a struct's offset applies to its children. */
static bool get_text(const struct ArrowArray *array, int64_t row, struct lc_str *out)
{
    *out = (struct lc_str){"", 0};
    if (lc_array_is_null(array, row))
        return false;
    *out = lc_array_str(array, LC_TYPE_STRING, 0, row);
    return true;
}

static int64_t get_long(const struct ArrowArray *array, int64_t row, int64_t absent)
{
    return lc_array_is_null(array, row) ? absent : ((const int64_t *)array->buffers[1])[array->offset + row];
}

static int64_t get_int(const struct ArrowArray *array, int64_t row, int64_t absent)
{
    return lc_array_is_null(array, row) ? absent : ((const int32_t *)array->buffers[1])[array->offset + row];
}

static lcdc_status keep_text(const struct reader *self, const struct ArrowArray *array, int64_t row, struct lc_str *out,
                             lcdc_error **err)
{
    struct lc_str text;
    (void)get_text(array, row, &text);
    return lc_arena_str(self->arena, text, out) ? LCDC_OK : lc_fail_oom(err);
}

static lcdc_status get_texts(const struct reader *self, const struct ArrowArray *list, int64_t row, size_t *n,
                             const struct lc_str **out, lcdc_error **err)
{
    *n = 0;
    *out = NULL;
    if (lc_array_is_null(list, row))
        return LCDC_OK;
    const int32_t *offsets = (const int32_t *)list->buffers[1] + list->offset + row;
    struct lc_str *texts = lc_arena_array(self->arena, (size_t)(offsets[1] - offsets[0]), sizeof(*texts));
    LC_TRY_ALLOC(texts);
    for (int32_t i = offsets[0]; i < offsets[1]; i++)
        LC_TRY(keep_text(self, list->children[0], i, &texts[(*n)++], err));
    *out = texts;
    return LCDC_OK;
}

static lcdc_status get_pairs(const struct reader *self, const struct ArrowArray *map, int64_t row, size_t *n,
                             const struct lc_delta_pair **out, lcdc_error **err)
{
    *n = 0;
    *out = NULL;
    if (lc_array_is_null(map, row))
        return LCDC_OK;
    const int32_t *offsets = (const int32_t *)map->buffers[1] + map->offset + row;
    const struct ArrowArray *entries = map->children[0];
    struct lc_delta_pair *pairs = lc_arena_array(self->arena, (size_t)(offsets[1] - offsets[0]), sizeof(*pairs));
    LC_TRY_ALLOC(pairs);
    for (int32_t i = offsets[0]; i < offsets[1]; i++) {
        struct lc_delta_pair *pair = &pairs[(*n)++];
        LC_TRY(keep_text(self, entries->children[0], entries->offset + i, &pair->key, err));
        LC_TRY(keep_text(self, entries->children[1], entries->offset + i, &pair->value, err));
        pair->is_null = lc_array_is_null(entries->children[1], entries->offset + i);
    }
    *out = pairs;
    return LCDC_OK;
}

/* ---- actions out of rows ---- */

static lcdc_status row_protocol(struct reader *self, const struct ArrowArray *array, int64_t row, lcdc_error **err)
{
    struct lc_delta_action action = {.kind = LC_DELTA_PROTOCOL};
    action.protocol.reader_version = get_int(array->children[0], row, 0);
    LC_TRY(get_texts(self, array->children[1], row, &action.protocol.n_reader_features,
                     &action.protocol.reader_features, err));
    return self->visit(self->context, &action, err);
}

static lcdc_status row_metadata(struct reader *self, const struct ArrowArray *array, int64_t row, lcdc_error **err)
{
    struct lc_delta_action action = {.kind = LC_DELTA_METADATA};
    struct lc_delta_metadata *m = &action.metadata;
    LC_TRY(keep_text(self, array->children[0], row, &m->id, err));
    LC_TRY(keep_text(self, array->children[1], row, &m->schema, err));
    LC_TRY(get_texts(self, array->children[2], row, &m->n_partition_columns, &m->partition_columns, err));
    LC_TRY(get_pairs(self, array->children[3], row, &m->n_configuration, &m->configuration, err));
    return self->visit(self->context, &action, err);
}

static lcdc_status row_vector(const struct reader *self, const struct ArrowArray *array, int64_t row,
                              struct lc_delta_vector *out, lcdc_error **err)
{
    struct lc_str storage;
    int64_t at = array->offset + row;
    if (lc_array_is_null(array, row))
        return LCDC_OK;
    if (!get_text(array->children[0], at, &storage) || storage.n != 1 || !memchr("uip", storage.p[0], 3))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "a deletion vector's storageType is not one of u, i, p");
    out->storage = storage.p[0];
    LC_TRY(keep_text(self, array->children[1], at, &out->path_or_inline, err));
    out->offset = get_int(array->children[2], at, 0);
    out->size = get_int(array->children[3], at, -1);
    out->cardinality = get_long(array->children[4], at, -1);
    if (out->size < 0 || out->cardinality < 0 || out->offset < 0 || out->path_or_inline.n == 0)
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "a deletion vector lacks its path, size or cardinality");
    return LCDC_OK;
}

static lcdc_status row_add(struct reader *self, const struct ArrowArray *array, int64_t row, lcdc_error **err)
{
    struct lc_delta_action action = {.kind = LC_DELTA_ADD};
    struct lc_delta_file *file = &action.file;
    struct lc_str raw;
    *file = (struct lc_delta_file){.size = -1, .rows = -1};
    if (!get_text(array->children[ADD_PATH], row, &raw) || raw.n == 0)
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "an add has no path");
    LC_FREE char *decoded = lc_percent_decode(raw);
    LC_TRY_ALLOC(decoded);
    if (!lc_arena_str(self->arena, lc_str_of(decoded), &file->path))
        return lc_fail_oom(err);
    file->has_partition_values = !lc_array_is_null(array->children[ADD_PARTITION_VALUES], row);
    LC_TRY(get_pairs(self, array->children[ADD_PARTITION_VALUES], row, &file->n_partition_values,
                     &file->partition_values, err));
    file->size = get_long(array->children[ADD_SIZE], row, -1);
    LC_TRY(keep_text(self, array->children[ADD_STATS], row, &file->stats, err));
    file->rows = lc_delta_stats_rows(file->stats);
    file->base_row_id = get_long(array->children[ADD_BASE_ROW_ID], row, -1);
    file->default_row_version = get_long(array->children[ADD_ROW_VERSION], row, -1);
    LC_TRY(row_vector(self, array->children[ADD_VECTOR], row, &file->vector, err));
    return self->visit(self->context, &action, err);
}

static lcdc_status add_sidecar(struct reader *self, struct lc_str path, lcdc_error **err)
{
    if (path.n == 0 || self->n_sidecars == MAX_SIDECARS)
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "a sidecar has no path, or there are more than %d", MAX_SIDECARS);
    if (self->n_sidecars == self->cap_sidecars) {
        size_t cap = self->cap_sidecars ? self->cap_sidecars * 2 : 16;
        struct lc_str *grown = lc_realloc(self->sidecars, cap, sizeof(*grown));
        LC_TRY_ALLOC(grown);
        self->sidecars = grown;
        self->cap_sidecars = cap;
    }
    self->sidecars[self->n_sidecars++] = path;
    return LCDC_OK;
}

static lcdc_status visit_row(struct reader *self, int kind, const struct ArrowArray *column, int64_t row,
                             lcdc_error **err)
{
    struct lc_str path;
    switch (kind) {
    case PROTOCOL:
        return row_protocol(self, column, row, err);
    case METADATA:
        return row_metadata(self, column, row, err);
    case ADD:
        return row_add(self, column, row, err);
    default:
        LC_TRY(keep_text(self, column->children[SIDECAR_PATH], row, &path, err));
        return add_sidecar(self, path, err);
    }
}

/* Gets each row of a column that is not null: the row's place in the column's children, and in the file. */
typedef lcdc_status (*visit_column)(struct reader *self, int kind, const struct ArrowArray *column, int64_t row,
                                    int64_t position, void *context, lcdc_error **err);

static lcdc_status visit_action(struct reader *self, int kind, const struct ArrowArray *column, int64_t row,
                                int64_t position, void *context, lcdc_error **err)
{
    (void)position;
    (void)context;
    return visit_row(self, kind, column, row, err);
}

/* ---- files ---- */

/* One column of a checkpoint: which rows, and who gets them. */
struct pass {
    int kind;
    size_t leaf; /* of the column, that is null only where the column is */
    const struct lc_field *column;
    const struct lc_bitmap *include;
    visit_column visit;
    void *context;
};

static lcdc_status run_pass(struct reader *self, struct lc_parquet *file, const struct pass *pass, lcdc_error **err)
{
    LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scan = NULL;
    struct lc_field schema = {.type = {.kind = LC_TYPE_STRUCT}, .n_children = 1};
    schema.children = (struct lc_field *)(uintptr_t)pass->column;
    /* not null: whatever holds only other actions is left out by its statistics */
    struct lc_range present = {.field = &pass->column->children[pass->leaf]};
    struct lc_parquet_request request = {.schema = &schema,
                                         .match = LC_MATCH_PHYSICAL_NAME,
                                         .include = pass->include,
                                         .n_ranges = 1,
                                         .ranges = &present,
                                         .batch_rows = BATCH_ROWS};
    LC_TRY(lc_parquet_scan_open(file, &request, &scan, err));
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        const int64_t *positions;
        LC_TRY(lc_parquet_scan_next(scan, &batch, &positions, err));
        if (!batch.release)
            return LCDC_OK;
        const struct ArrowArray *column = batch.children[0];
        for (int64_t i = 0; i < batch.length; i++)
            if (!lc_array_is_null(column, batch.offset + i))
                LC_TRY(pass->visit(self, pass->kind, column, column->offset + batch.offset + i, positions[i],
                                   pass->context, err));
    }
}

static lcdc_status pass_all(struct reader *self, struct lc_parquet *file, int kind, size_t leaf, lcdc_error **err)
{
    struct pass pass = {.kind = kind, .leaf = leaf, .column = &self->schema.children[kind], .visit = visit_action};
    return run_pass(self, file, &pass, err);
}

static lcdc_status note_wanted(struct reader *self, int kind, const struct ArrowArray *column, int64_t row,
                               int64_t position, void *context, lcdc_error **err)
{
    struct lc_str raw;
    (void)kind;
    if (!get_text(column->children[0], row, &raw))
        return LCDC_OK;
    LC_FREE char *decoded = lc_percent_decode(raw);
    LC_TRY_ALLOC(decoded);
    return lc_delta_paths_has(self->wanted->only, lc_str_of(decoded)) ? lc_bitmap_add(context, (uint64_t)position, err)
                                                                      : LCDC_OK;
}

/* Only the paths of a large table are read to find some of its files, and then those. */
static lcdc_status pass_some(struct reader *self, struct lc_parquet *file, lcdc_error **err)
{
    LC_BITMAP struct lc_bitmap *found = NULL;
    const struct lc_field *add = &self->schema.children[ADD];
    struct lc_field path = *add;
    path.n_children = 1; /* ADD_PATH comes first */
    LC_TRY(lc_bitmap_new(&found, err));
    struct pass look = {.kind = ADD, .leaf = ADD_PATH, .column = &path, .visit = note_wanted, .context = found};
    LC_TRY(run_pass(self, file, &look, err));
    struct pass take = {.kind = ADD, .leaf = ADD_PATH, .column = add, .include = found, .visit = visit_action};
    return lc_bitmap_count(found) ? run_pass(self, file, &take, err) : LCDC_OK;
}

static lcdc_status pass_over(struct reader *self, struct lc_parquet *file, bool is_sidecar, lcdc_error **err)
{
    if (self->wanted->state && !is_sidecar) {
        LC_TRY(pass_all(self, file, PROTOCOL, MIN_READER_VERSION, err));
        LC_TRY(pass_all(self, file, METADATA, SCHEMA_STRING, err));
    }
    if (!self->wanted->files)
        return LCDC_OK;
    if (!is_sidecar)
        LC_TRY(pass_all(self, file, SIDECAR, SIDECAR_PATH, err));
    return self->wanted->only ? pass_some(self, file, err) : pass_all(self, file, ADD, ADD_PATH, err);
}

static lcdc_status read_parquet(struct reader *self, const char *path, int64_t size, bool is_sidecar, lcdc_error **err)
{
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *file = NULL;
    LC_TRY(lc_parquet_open(self->log->storage, path, size, &file, err));
    lcdc_status status = pass_over(self, file, is_sidecar, err);
    if (status != LCDC_OK)
        lc_error_prefix(err, "checkpoint %s", path);
    return status;
}

static bool is_wanted(const struct reader *self, const struct lc_delta_action *action)
{
    if (action->kind == LC_DELTA_PROTOCOL || action->kind == LC_DELTA_METADATA)
        return self->wanted->state;
    return action->kind == LC_DELTA_ADD && self->wanted->files &&
           (!self->wanted->only || lc_delta_paths_has(self->wanted->only, action->file.path));
}

static lcdc_status read_json(struct reader *self, const char *path, lcdc_error **err)
{
    LC_BUF struct lc_buf text;
    struct lc_str line;
    lc_buf_init(&text, LC_DELTA_MAX_LINE);
    LC_TRY(lc_storage_read(self->log->storage, path, LC_DELTA_MAX_LINE, &text, err));
    struct lc_str rest = {text.p, text.n};
    while (lc_delta_next_line(&rest, &line)) {
        struct lc_delta_action action;
        lcdc_status status = lc_delta_action_parse(line, self->arena, &action, err);
        if (status == LCDC_OK && action.kind == LC_DELTA_SIDECAR && self->wanted->files)
            status = add_sidecar(self, action.sidecar, err);
        if (status == LCDC_OK && is_wanted(self, &action))
            status = self->visit(self->context, &action, err);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "checkpoint %s", path);
            return status;
        }
    }
    return LCDC_OK;
}

/* A sidecar is named by its file name below _sidecars; some writers give a path. */
static lcdc_status read_sidecars(struct reader *self, lcdc_error **err)
{
    LC_FREE char *folder = lc_location_join(self->log->folder, "_sidecars");
    LC_TRY_ALLOC(folder);
    for (size_t i = 0; i < self->n_sidecars; i++) {
        LC_FREE char *decoded = lc_percent_decode(self->sidecars[i]);
        LC_TRY_ALLOC(decoded);
        const char *slash = strrchr(decoded, '/');
        LC_FREE char *path = lc_location_join(folder, slash ? slash + 1 : decoded);
        LC_TRY_ALLOC(path);
        LC_TRY(read_parquet(self, path, -1, true, err));
    }
    return LCDC_OK;
}

static lcdc_status read_all(struct reader *self, const struct lc_delta_checkpoint *checkpoint, lcdc_error **err)
{
    enum lc_match match;
    struct lc_delta_metadata metadata = {.schema = lc_str_of(whole_schema)};
    LC_TRY(lc_delta_schema_parse(&metadata, self->arena, &self->schema, &match, err));
    for (size_t i = 0; i < checkpoint->n_parts; i++) {
        if (checkpoint->kind == LC_DELTA_CHECKPOINT_JSON)
            LC_TRY(read_json(self, checkpoint->parts[i], err));
        else
            LC_TRY(read_parquet(self, checkpoint->parts[i], checkpoint->sizes[i], false, err));
    }
    return read_sidecars(self, err);
}

lcdc_status lc_delta_checkpoint_read(const struct lc_delta_log *log, const struct lc_delta_checkpoint *checkpoint,
                                     const struct lc_delta_wanted *wanted, struct lc_arena *arena, lc_delta_visit visit,
                                     void *context, lcdc_error **err)
{
    struct reader reader = {.log = log, .arena = arena, .wanted = wanted, .visit = visit, .context = context};
    lcdc_status status = read_all(&reader, checkpoint, err);
    lc_free(reader.sidecars);
    return status;
}

/* ---- paths ---- */

lcdc_status lc_delta_paths_add(struct lc_delta_paths *paths, struct lc_str path, lcdc_error **err)
{
    if (paths->n == paths->cap) {
        size_t cap = paths->cap ? paths->cap * 2 : 64;
        struct lc_str *items = lc_realloc(paths->items, cap, sizeof(*items));
        LC_TRY_ALLOC(items);
        paths->items = items;
        paths->cap = cap;
    }
    paths->items[paths->n] = (struct lc_str){lc_strndup(path.p, path.n), path.n};
    LC_TRY_ALLOC(paths->items[paths->n].p);
    paths->n++;
    return LCDC_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return lc_str_cmp(*(const struct lc_str *)a, *(const struct lc_str *)b);
}

void lc_delta_paths_sort(struct lc_delta_paths *paths)
{
    if (paths->n)
        qsort(paths->items, paths->n, sizeof(*paths->items), compare_texts);
}

bool lc_delta_paths_has(const struct lc_delta_paths *paths, struct lc_str path)
{
    return paths->n && bsearch(&path, paths->items, paths->n, sizeof(path), compare_texts);
}

void lc_delta_paths_done(struct lc_delta_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        lc_free((char *)(uintptr_t)paths->items[i].p);
    lc_free(paths->items);
    *paths = (struct lc_delta_paths){0};
}
