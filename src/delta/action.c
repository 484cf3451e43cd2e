/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/action.h"

#include <string.h>

static const struct {
    const char *name;
    enum lc_delta_action_kind kind;
} kinds[] = {
    {"add", LC_DELTA_ADD},           {"remove", LC_DELTA_REMOVE},
    {"cdc", LC_DELTA_CDC},           {"metaData", LC_DELTA_METADATA},
    {"protocol", LC_DELTA_PROTOCOL}, {"commitInfo", LC_DELTA_COMMIT_INFO},
    {"sidecar", LC_DELTA_SIDECAR},   {"checkpointMetadata", LC_DELTA_CHECKPOINT_METADATA},
};

static enum lc_delta_action_kind kind_of(struct lc_str name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (lc_str_is(name, kinds[i].name))
            return kinds[i].kind;
    return LC_DELTA_OTHER;
}

bool lc_delta_next_line(struct lc_str *rest, struct lc_str *line)
{
    while (rest->n) {
        const char *end = memchr(rest->p, '\n', rest->n);
        size_t n = end ? (size_t)(end - rest->p) : rest->n;
        *line = (struct lc_str){rest->p, n};
        *rest = (struct lc_str){rest->p + n + (end ? 1 : 0), rest->n - n - (end ? 1 : 0)};
        while (line->n && memchr(" \t\r", line->p[line->n - 1], 3))
            line->n--;
        if (line->n)
            return true;
    }
    return false;
}

enum lc_delta_action_kind lc_delta_action_peek(struct lc_str line)
{
    size_t i = 0;
    while (i < line.n && memchr(" \t{", line.p[i], 3))
        i++;
    const char *key = i < line.n && line.p[i] == '"' ? line.p + i + 1 : NULL;
    const char *end = key ? memchr(key, '"', line.n - i - 1) : NULL;
    return end ? kind_of((struct lc_str){key, (size_t)(end - key)}) : LC_DELTA_OTHER;
}

struct lc_str lc_delta_configuration(const struct lc_delta_metadata *metadata, const char *key)
{
    for (size_t i = 0; i < metadata->n_configuration; i++)
        if (lc_str_is(metadata->configuration[i].key, key) && !metadata->configuration[i].is_null)
            return metadata->configuration[i].value;
    return (struct lc_str){NULL, 0};
}

bool lc_delta_is_true(const struct lc_delta_metadata *metadata, const char *key)
{
    return lc_str_is_nocase(lc_delta_configuration(metadata, key), "true");
}

bool lc_delta_vector_equal(const struct lc_delta_vector *a, const struct lc_delta_vector *b)
{
    return a->storage == b->storage &&
           (!a->storage || (lc_str_eq(a->path_or_inline, b->path_or_inline) && a->offset == b->offset));
}

int64_t lc_delta_stats_rows(struct lc_str stats)
{
    LC_JSON struct json_t *json = NULL;
    int64_t rows = -1;
    if (stats.n == 0 || lc_json_parse(stats, &json, NULL) != LCDC_OK || !lc_json_get_i64(json, "numRecords", &rows) ||
        rows < 0)
        return -1;
    return rows;
}

/* ---- one action ---- */

static lcdc_status bad(lcdc_error **err, const char *action, const char *what)
{
    return lc_fail(err, LC_R_DELTA_LOG_BAD, "action %s: %s", action, what);
}

static lcdc_status copy_text(struct lc_arena *arena, const struct json_t *object, const char *key, struct lc_str *out,
                             lcdc_error **err)
{
    struct lc_str text;
    *out = (struct lc_str){"", 0};
    if (!lc_json_get_str(object, key, &text))
        return LCDC_OK;
    return lc_arena_str(arena, text, out) ? LCDC_OK : lc_fail_oom(err);
}

/* A map of strings; JSON null is kept as null, a missing map is empty. */
static lcdc_status parse_pairs(const struct json_t *map, struct lc_arena *arena, size_t *n,
                               const struct lc_delta_pair **out, const char *action, lcdc_error **err)
{
    if (map && !lc_json_is_object(map))
        return bad(err, action, "a map of texts is of another kind");
    *n = lc_json_count(map);
    struct lc_delta_pair *pairs = lc_arena_array(arena, *n, sizeof(*pairs));
    LC_TRY_ALLOC(pairs);
    struct lc_str key, text;
    struct json_t *value;
    size_t i = 0;
    for (void *at = NULL; lc_json_next(map, &at, &key, &value); i++) {
        pairs[i].is_null = lc_json_is_null(value);
        if (!pairs[i].is_null && !lc_json_str(value, &text))
            return bad(err, action, "a map of texts holds something else");
        if (pairs[i].is_null)
            text = (struct lc_str){"", 0};
        if (!lc_arena_str(arena, key, &pairs[i].key) || !lc_arena_str(arena, text, &pairs[i].value))
            return lc_fail_oom(err);
    }
    *out = pairs;
    return LCDC_OK;
}

static lcdc_status parse_texts(const struct json_t *array, struct lc_arena *arena, size_t *n, const struct lc_str **out,
                               const char *action, lcdc_error **err)
{
    if (array && !lc_json_is_array(array))
        return bad(err, action, "a list of texts is of another kind");
    *n = lc_json_count(array);
    struct lc_str *texts = lc_arena_array(arena, *n, sizeof(*texts));
    LC_TRY_ALLOC(texts);
    for (size_t i = 0; i < *n; i++) {
        struct lc_str text;
        if (!lc_json_str(lc_json_at(array, i), &text))
            return bad(err, action, "a list of texts holds something else");
        if (!lc_arena_str(arena, text, &texts[i]))
            return lc_fail_oom(err);
    }
    *out = texts;
    return LCDC_OK;
}

static lcdc_status parse_vector(const struct json_t *json, struct lc_arena *arena, struct lc_delta_vector *out,
                                const char *action, lcdc_error **err)
{
    struct lc_str storage;
    if (!json)
        return LCDC_OK;
    if (!lc_json_get_str(json, "storageType", &storage) || storage.n != 1 || !memchr("uip", storage.p[0], 3))
        return bad(err, action, "the deletion vector's storageType is not one of u, i, p");
    out->storage = storage.p[0];
    out->offset = 0;
    (void)lc_json_get_i64(json, "offset", &out->offset);
    LC_TRY(copy_text(arena, json, "pathOrInlineDv", &out->path_or_inline, err));
    if (!lc_json_get_i64(json, "sizeInBytes", &out->size) || !lc_json_get_i64(json, "cardinality", &out->cardinality) ||
        out->size < 0 || out->cardinality < 0 || out->offset < 0 || out->path_or_inline.n == 0)
        return bad(err, action, "the deletion vector lacks its path, size or cardinality, or one of them is negative");
    return LCDC_OK;
}

/* Decoded once: the log holds URI-encoded paths, and what is below the table's root is never decoded again. */
static lcdc_status parse_path(const struct json_t *json, struct lc_arena *arena, struct lc_str *out, const char *action,
                              lcdc_error **err)
{
    struct lc_str raw;
    if (!lc_json_get_str(json, "path", &raw) || raw.n == 0)
        return bad(err, action, "it has no path");
    LC_FREE char *decoded = lc_percent_decode(raw);
    LC_TRY_ALLOC(decoded);
    struct lc_str text = {decoded, strlen(decoded)};
    if (memchr(raw.p, 0, raw.n) || text.n == 0)
        return bad(err, action, "its path holds a zero byte");
    for (const char *part = decoded; part; part = strchr(part, '/'), part = part ? part + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0))
            return bad(err, action, "its path leaves the table's folder with '..'");
    return lc_arena_str(arena, text, out) ? LCDC_OK : lc_fail_oom(err);
}

static lcdc_status parse_file(const struct json_t *json, struct lc_arena *arena, struct lc_delta_file *out,
                              const char *action, lcdc_error **err)
{
    *out = (struct lc_delta_file){
        .size = -1, .rows = -1, .base_row_id = -1, .default_row_version = -1, .data_change = true};
    LC_TRY(parse_path(json, arena, &out->path, action, err));
    const struct json_t *partition_values = lc_json_member(json, "partitionValues");
    out->has_partition_values = lc_json_is_object(partition_values);
    LC_TRY(parse_pairs(partition_values, arena, &out->n_partition_values, &out->partition_values, action, err));
    if (lc_json_get_i64(json, "size", &out->size) && out->size < 0)
        return bad(err, action, "its size is negative");
    const struct json_t *change = lc_json_member(json, "dataChange");
    if (change && !lc_json_bool(change, &out->data_change))
        return bad(err, action, "its dataChange is neither true nor false");
    LC_TRY(copy_text(arena, json, "stats", &out->stats, err));
    out->rows = lc_delta_stats_rows(out->stats);
    (void)lc_json_get_i64(json, "baseRowId", &out->base_row_id);
    (void)lc_json_get_i64(json, "defaultRowCommitVersion", &out->default_row_version);
    if (out->base_row_id < -1 || out->default_row_version < -1)
        return bad(err, action, "its row-tracking numbers are negative");
    return parse_vector(lc_json_member(json, "deletionVector"), arena, &out->vector, action, err);
}

static lcdc_status parse_metadata(const struct json_t *json, struct lc_arena *arena, struct lc_delta_metadata *out,
                                  lcdc_error **err)
{
    struct lc_str provider;
    *out = (struct lc_delta_metadata){0};
    LC_TRY(copy_text(arena, json, "id", &out->id, err));
    LC_TRY(copy_text(arena, json, "schemaString", &out->schema, err));
    if (out->schema.n == 0)
        return bad(err, "metaData", "it has no schemaString");
    const struct json_t *format = lc_json_member(json, "format");
    if (lc_json_get_str(format, "provider", &provider) && !lc_str_is_nocase(provider, "parquet"))
        return lc_fail(err, LC_R_PARQUET_UNSUPPORTED, "the table's files are '%.*s', only parquet can be read",
                       LC_STR_ARG(provider));
    LC_TRY(parse_texts(lc_json_member(json, "partitionColumns"), arena, &out->n_partition_columns,
                       &out->partition_columns, "metaData", err));
    return parse_pairs(lc_json_member(json, "configuration"), arena, &out->n_configuration, &out->configuration,
                       "metaData", err);
}

static lcdc_status parse_protocol(const struct json_t *json, struct lc_arena *arena, struct lc_delta_protocol *out,
                                  lcdc_error **err)
{
    *out = (struct lc_delta_protocol){0};
    if (!lc_json_get_i64(json, "minReaderVersion", &out->reader_version) || out->reader_version < 0)
        return bad(err, "protocol", "it has no minReaderVersion");
    return parse_texts(lc_json_member(json, "readerFeatures"), arena, &out->n_reader_features, &out->reader_features,
                       "protocol", err);
}

static lcdc_status parse_commit_info(const struct json_t *json, struct lc_arena *arena,
                                     struct lc_delta_commit_info *out, lcdc_error **err)
{
    struct lc_str preserved;
    *out = (struct lc_delta_commit_info){0};
    LC_TRY(copy_text(arena, json, "operation", &out->operation, err));
    LC_TRY(copy_text(arena, json, "txnId", &out->transaction, err));
    out->has_in_commit_ts = lc_json_get_i64(json, "inCommitTimestamp", &out->in_commit_ts_ms);
    const struct json_t *tags = lc_json_member(json, "tags");
    out->row_ids_preserved = lc_json_get_str(tags, "delta.rowTracking.preserved", &preserved) &&
                             lc_str_is_nocase(preserved, "true");
    return LCDC_OK;
}

static lcdc_status parse_body(const struct json_t *body, const char *name, struct lc_arena *arena,
                              struct lc_delta_action *out, lcdc_error **err)
{
    switch (out->kind) {
    case LC_DELTA_ADD:
    case LC_DELTA_REMOVE:
    case LC_DELTA_CDC:
        return parse_file(body, arena, &out->file, name, err);
    case LC_DELTA_METADATA:
        return parse_metadata(body, arena, &out->metadata, err);
    case LC_DELTA_PROTOCOL:
        return parse_protocol(body, arena, &out->protocol, err);
    case LC_DELTA_COMMIT_INFO:
        return parse_commit_info(body, arena, &out->commit_info, err);
    case LC_DELTA_SIDECAR:
        return copy_text(arena, body, "path", &out->sidecar, err);
    case LC_DELTA_CHECKPOINT_METADATA:
    case LC_DELTA_OTHER:
        return LCDC_OK;
    }
    return LCDC_OK;
}

lcdc_status lc_delta_action_parse(struct lc_str line, struct lc_arena *arena, struct lc_delta_action *out,
                                  lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    struct lc_str name;
    struct json_t *body;
    *out = (struct lc_delta_action){0};
    if (lc_json_parse(line, &json, err) != LCDC_OK) {
        if (err && lcdc_error_status(*err) == LCDC_OUT_OF_MEMORY)
            return LCDC_OUT_OF_MEMORY;
        lc_error_prefix(err, "an action is expected");
        return LCDC_CORRUPT;
    }
    if (!lc_json_is_object(json))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "a JSON object with one action is expected");
    for (void *at = NULL; lc_json_next(json, &at, &name, &body);) {
        enum lc_delta_action_kind kind = lc_json_is_null(body) ? LC_DELTA_OTHER : kind_of(name);
        if (kind == LC_DELTA_OTHER)
            continue;
        if (out->kind != LC_DELTA_OTHER)
            return lc_fail(err, LC_R_DELTA_LOG_BAD, "a line holds two actions, one is expected");
        if (!lc_json_is_object(body))
            return lc_fail(err, LC_R_DELTA_LOG_BAD, "action %.*s is not an object", LC_STR_ARG(name));
        out->kind = kind;
        LC_FREE char *copy = lc_strndup(name.p, name.n);
        LC_TRY_ALLOC(copy);
        LC_TRY(parse_body(body, copy, arena, out, err));
    }
    return LCDC_OK;
}
