/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/file.h"

#include <math.h>
#include <string.h>

#include "delta/vector.h"

/* ---- partition values ---- */

/* Protocol, "Partition Value Serialization": text, the empty one is null for every type; binary as its characters. A
   timestamp without a zone was written in the writer's zone, which nothing records: it is read as UTC. */
static lcdc_status partition_value(const struct lc_field *field, const struct lc_delta_pair *pair,
                                   struct lc_arena *arena, struct lc_value *out, lcdc_error **err)
{
    *out = (struct lc_value){.is_null = true, .type = field->type};
    if (!pair || pair->is_null || pair->value.n == 0)
        return LCDC_OK;
    if (field->type.kind == LC_TYPE_BINARY || field->type.kind == LC_TYPE_STRING) {
        out->is_null = false;
        out->str = pair->value;
        return LCDC_OK;
    }
    if (!lc_value_parse(field->type, pair->value, arena, out))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "partition value '%.*s' of column '%s' is not a %s",
                       LC_STR_ARG(pair->value), field->name, lc_type_word(field->type.kind));
    return LCDC_OK;
}

/* A column is a partition column of a file when the file's action says so: a table may have been partitioned otherwise
   when an older file was written. */
static lcdc_status partition_constants(const struct lc_delta_files *files, const struct lc_delta_file *action,
                                       struct lc_arena *arena, struct lc_data_file *out, lcdc_error **err)
{
    struct lc_constant *constants = lc_arena_array(arena, action->n_partition_values, sizeof(*constants));
    LC_TRY_ALLOC(constants);
    for (size_t i = 0; i < action->n_partition_values; i++) {
        const struct lc_delta_pair *pair = &action->partition_values[i];
        const struct lc_field *field = NULL;
        for (size_t c = 0; c < files->schema->n_children && !field; c++)
            if (lc_str_is(pair->key, files->schema->children[c].physical))
                field = &files->schema->children[c];
        if (!field)
            continue; /* dropped since */
        if (lc_type_is_nested(field->type.kind))
            return lc_fail(err, LC_R_DELTA_LOG_BAD, "partition column '%s' is of a nested type", field->name);
        struct lc_value *value = lc_arena_alloc(arena, sizeof(*value));
        LC_TRY_ALLOC(value);
        LC_TRY(partition_value(field, pair, arena, value, err));
        constants[out->n_constants++] = (struct lc_constant){.field = field, .value = value};
    }
    out->constants = constants;
    return LCDC_OK;
}

/* ---- statistics ---- */

/* The path of physical names from the schema's root to a leaf; false when the leaf is not below struct fields only. */
static bool stat_path(const struct lc_field *at, const struct lc_field *leaf, const char **path, size_t *n)
{
    for (size_t i = 0; i < at->n_children; i++) {
        const struct lc_field *child = &at->children[i];
        path[(*n)++] = child->physical;
        bool same = child == leaf ||
                    (child->physical == leaf->physical && child->id == leaf->id && child->children == leaf->children);
        if (same || (child->type.kind == LC_TYPE_STRUCT && *n < LC_MAX_DEPTH && stat_path(child, leaf, path, n)))
            return true;
        --*n;
    }
    return false;
}

static const struct json_t *walk(const struct json_t *json, const char **path, size_t n)
{
    for (size_t i = 0; i < n && json; i++)
        json = lc_json_member(json, path[i]);
    return json;
}

/* A JSON number is a double by the time it is seen; a decimal bound is moved outwards by what that may have cost. */
static bool decimal_bound(double number, struct lc_type type, bool upper, struct lc_value *out)
{
    double scaled = number * pow(10, type.scale);
    if (!(fabs(scaled) < 9007199254740992.0 / 4))
        return false;
    double moved = upper ? ceil(nextafter(scaled, INFINITY)) + 1 : floor(nextafter(scaled, -INFINITY)) - 1;
    *out = (struct lc_value){.type = type, .dec = (lc_i128)moved};
    return true;
}

static bool stat_value(const struct json_t *json, const struct lc_field *leaf, bool upper, struct lc_arena *arena,
                       struct lc_value *out)
{
    struct lc_str text;
    int64_t integer;
    double number;
    bool flag;
    *out = (struct lc_value){.type = leaf->type};
    if (lc_json_str(json, &text)) {
        if (leaf->type.kind == LC_TYPE_BINARY || !lc_value_parse(leaf->type, text, arena, out))
            return false;
        /* writers cut timestamps in statistics to milliseconds, downwards */
        if (upper && leaf->type.kind >= LC_TYPE_TIMESTAMP_TZ && leaf->type.kind <= LC_TYPE_TIMESTAMP)
            out->i = out->i > INT64_MAX - 1000 ? INT64_MAX : out->i + 999;
        return true;
    }
    if (lc_json_bool(json, &flag)) {
        out->b = flag;
        return leaf->type.kind == LC_TYPE_BOOL;
    }
    if (lc_json_i64(json, &integer)) {
        struct lc_value whole = {.type = {.kind = LC_TYPE_INT64}, .i = integer};
        return lc_value_cast(&whole, leaf->type, out);
    }
    if (!lc_json_f64(json, &number))
        return false;
    if (leaf->type.kind == LC_TYPE_DECIMAL)
        return decimal_bound(number, leaf->type, upper, out);
    out->f = number;
    if (leaf->type.kind == LC_TYPE_FLOAT) /* the text is the shortest that names the float, not its value */
        out->f = nextafterf((float)number, upper ? INFINITY : -INFINITY);
    return leaf->type.kind == LC_TYPE_FLOAT || leaf->type.kind == LC_TYPE_DOUBLE;
}

struct stats_source {
    struct lc_str stats;
    const struct lc_field *schema;
};

static bool file_stats(const struct lc_data_file *file, const struct lc_field *leaf, struct lc_arena *arena,
                       struct lc_column_stats *out)
{
    const struct stats_source *source = file->format;
    const char *path[LC_MAX_DEPTH];
    size_t n = 0;
    LC_JSON struct json_t *json = NULL;
    if (source->stats.n == 0 || !stat_path(source->schema, leaf, path, &n) ||
        lc_json_parse(source->stats, &json, NULL) != LCDC_OK)
        return false;
    struct lc_value min, max;
    *out = (struct lc_column_stats){.null_count = -1, .row_count = file->rows};
    (void)lc_json_i64(walk(lc_json_member(json, "nullCount"), path, n), &out->null_count);
    if (stat_value(walk(lc_json_member(json, "minValues"), path, n), leaf, false, arena, &min))
        out->min = lc_value_dup(arena, &min);
    if (stat_value(walk(lc_json_member(json, "maxValues"), path, n), leaf, true, arena, &max))
        out->max = lc_value_dup(arena, &max);
    return true;
}

/* ---- files ---- */

static lcdc_status file_url(const struct lc_delta_files *files, struct lc_str path, struct lc_arena *arena,
                            const char **out, lcdc_error **err)
{
    LC_FREE char *url = NULL;
    if (lc_location_is_absolute(path.p))
        LC_TRY(lc_path_map_apply(files->path_map, path.p, &url, err));
    else
        url = lc_location_join(files->root, path.p);
    LC_TRY_ALLOC(url);
    *out = lc_arena_strdup(arena, url);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

lcdc_status lc_delta_data_file(const struct lc_delta_files *files, const struct lc_delta_file *action,
                               struct lc_arena *arena, const struct lc_data_file **out, lcdc_error **err)
{
    struct lc_data_file *file = lc_arena_alloc(arena, sizeof(*file));
    struct stats_source *source = lc_arena_alloc(arena, sizeof(*source));
    LC_TRY_ALLOC(file && source);
    *source = (struct stats_source){action->stats, files->schema};
    *file = (struct lc_data_file){.path = action->path.p,
                                  .size = action->size,
                                  .rows = action->rows,
                                  .has_row_ids = action->base_row_id >= 0 && action->default_row_version >= 0,
                                  .base_row_id = action->base_row_id,
                                  .default_row_version = action->default_row_version,
                                  .stats = file_stats,
                                  .format = source};
    LC_TRY(file_url(files, action->path, arena, &file->url, err));
    LC_TRY(partition_constants(files, action, arena, file, err));
    *out = file;
    return LCDC_OK;
}

/* ---- row sets ---- */

struct vectors {
    struct lc_storage *storage;
    enum lc_delta_rows which;
    struct lc_delta_vector with, without;
    const char *with_url, *without_url;
};

static lcdc_status load_vectors(struct lc_row_set *set, void *context, lcdc_error **err)
{
    const struct vectors *vectors = context;
    LC_BITMAP struct lc_bitmap *with = NULL, *without = NULL;
    LC_TRY(lc_delta_vector_read(&vectors->without, vectors->without_url, vectors->storage, &without, err));
    if (vectors->which == LC_DELTA_ROWS_ALIVE) {
        set->exclude = lc_steal(without);
        return LCDC_OK;
    }
    LC_TRY(lc_delta_vector_read(&vectors->with, vectors->with_url, vectors->storage, &with, err));
    if (!with)
        LC_TRY(lc_bitmap_new(&with, err));
    LC_TRY(lc_bitmap_minus(with, without, err));
    set->include = lc_steal(with);
    return LCDC_OK;
}

static lcdc_status add_needs(const struct vectors *vectors, struct lc_arena *arena, struct lc_row_set *out,
                             lcdc_error **err)
{
    struct lc_needed *needs = lc_arena_array(arena, 2, sizeof(*needs));
    LC_TRY_ALLOC(needs);
    out->needs = needs;
    for (int i = 0; i < 2; i++) {
        const char *url = i ? vectors->with_url : vectors->without_url;
        struct lc_needed *need = &needs[out->n_needs];
        if (!url)
            continue;
        need->url = url;
        need->size = -1;
        need->n_spans = lc_delta_vector_spans(i ? &vectors->with : &vectors->without, need->spans);
        out->n_needs++;
    }
    return LCDC_OK;
}

lcdc_status lc_delta_row_set(const struct lc_delta_files *files, const struct lc_data_file *file,
                             enum lc_delta_rows which, const struct lc_delta_vector *with,
                             const struct lc_delta_vector *without, struct lc_arena *arena, struct lc_row_set *out,
                             lcdc_error **err)
{
    *out = (struct lc_row_set){.file = file, .rows = file->rows};
    if (which == LC_DELTA_ROWS_ALIVE && !without->storage)
        return LCDC_OK;
    struct vectors *vectors = lc_arena_alloc(arena, sizeof(*vectors));
    LC_TRY_ALLOC(vectors);
    *vectors = (struct vectors){.storage = files->storage, .which = which, .without = *without};
    if (with)
        vectors->with = *with;
    /* the actions may be gone by the time the vectors are read */
    if (!lc_arena_str(arena, vectors->with.path_or_inline, &vectors->with.path_or_inline) ||
        !lc_arena_str(arena, vectors->without.path_or_inline, &vectors->without.path_or_inline))
        return lc_fail_oom(err);
    LC_TRY(lc_delta_vector_url(&vectors->with, files->root, files->path_map, arena, &vectors->with_url, err));
    LC_TRY(lc_delta_vector_url(&vectors->without, files->root, files->path_map, arena, &vectors->without_url, err));
    if (which == LC_DELTA_ROWS_ALIVE)
        out->rows = file->rows < 0 ? -1 : file->rows - without->cardinality;
    else
        out->rows = vectors->with.cardinality; /* at most */
    out->load = load_vectors;
    out->load_context = vectors;
    return add_needs(vectors, arena, out, err);
}
