/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "iceberg/json_text.h"

enum { MAX_VERSION = 3 };

/* What grows with the table's history, and is not made a tree of. */
enum { SNAPSHOTS, N_LONG = 5 };
static const char *const long_members[N_LONG] = {"snapshots", "snapshot-log", "metadata-log", "statistics",
                                                 "partition-statistics"};

static void free_json(void *json)
{
    lc_json_free(json);
}

static lcdc_status bad(const struct lc_iceberg_metadata *self, lcdc_error **err, const char *what)
{
    return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: %s", self->path, what);
}

static lcdc_status dup_str(struct lc_arena *arena, struct lc_str text, const char **out, lcdc_error **err)
{
    *out = lc_arena_strndup(arena, text.p, text.n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

/* A number of the metadata that may be absent; false when it is there and is none, or is negative. */
static bool optional_number(const struct json_t *json, const char *key, int64_t absent, int64_t *out)
{
    *out = absent;
    if (!lc_json_member(json, key))
        return true;
    return lc_json_get_i64(json, key, out) && *out >= 0;
}

/* ---- schemas ---- */

static lcdc_status parse_schemas(struct lc_iceberg_metadata *self, const struct json_t *json, lcdc_error **err)
{
    const struct json_t *list = lc_json_member(json, "schemas"), *only = lc_json_member(json, "schema");
    int64_t id, current;
    self->n_schemas = lc_json_is_array(list) ? lc_json_count(list) : 1;
    self->schemas = lc_arena_array(&self->arena, self->n_schemas, sizeof(*self->schemas));
    LC_TRY_ALLOC(self->schemas);
    for (size_t i = 0; i < self->n_schemas; i++) {
        struct lc_iceberg_schema *schema = &self->schemas[i];
        schema->json = lc_json_is_array(list) ? lc_json_at(list, i) : only;
        if (!lc_json_is_object(schema->json) || !optional_number(schema->json, "schema-id", 0, &id) || id > INT32_MAX)
            return bad(self, err, "a schema is no object with an id");
        schema->id = (int32_t)id;
    }
    if (!optional_number(json, "current-schema-id", only ? self->schemas[0].id : -1, &current) || current > INT32_MAX)
        return bad(self, err, "current-schema-id is no number");
    if (current < 0)
        return bad(self, err, "there is no current-schema-id");
    self->current_schema_id = (int32_t)current;
    return LCDC_OK;
}

lcdc_status lc_iceberg_schema_get(struct lc_iceberg_metadata *metadata, int32_t id, const struct lc_field **out,
                                  lcdc_error **err)
{
    struct lc_iceberg_schema *schema = NULL;
    for (size_t i = 0; i < metadata->n_schemas && !schema; i++)
        if (metadata->schemas[i].id == id)
            schema = &metadata->schemas[i];
    if (!schema)
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: there is no schema %" PRId32, metadata->path, id);
    if (!schema->root) {
        struct lc_field *root = lc_arena_alloc(&metadata->arena, sizeof(*root));
        LC_TRY_ALLOC(root);
        lcdc_status status = lc_iceberg_schema_parse(schema->json, &metadata->names, &metadata->arena, root, err);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "%s: schema %" PRId32, metadata->path, id);
            return status;
        }
        schema->root = root;
    }
    *out = schema->root;
    return LCDC_OK;
}

int32_t lc_iceberg_schema_of(const struct lc_iceberg_metadata *metadata, const struct lc_iceberg_snapshot *snapshot)
{
    return snapshot && snapshot->schema_id >= 0 ? snapshot->schema_id : metadata->current_schema_id;
}

lcdc_status lc_iceberg_column_find(struct lc_iceberg_metadata *metadata, int32_t id, const struct lc_field **out_top,
                                   const struct lc_field **out, lcdc_error **err)
{
    const struct lc_field *root = NULL;
    LC_TRY(lc_iceberg_schema_get(metadata, metadata->current_schema_id, &root, err));
    *out = lc_iceberg_field_find(root, id, out_top);
    for (size_t i = metadata->n_schemas; i-- > 0 && !*out;) {
        /* an older schema that cannot be read does not have the column, as far as can be told */
        lcdc_status status = lc_iceberg_schema_get(metadata, metadata->schemas[i].id, &root, NULL);
        if (status == LCDC_OUT_OF_MEMORY)
            return lc_fail_oom(err);
        if (status == LCDC_OK)
            *out = lc_iceberg_field_find(root, id, out_top);
    }
    return LCDC_OK;
}

/* ---- partition specs ---- */

static lcdc_status parse_specs(struct lc_iceberg_metadata *self, const struct json_t *json, lcdc_error **err)
{
    const struct json_t *list = lc_json_member(json, "partition-specs"), *only = lc_json_member(json, "partition-spec");
    int64_t id;
    bool many = lc_json_is_array(list);
    self->n_specs = many ? lc_json_count(list) : 1;
    self->specs = lc_arena_array(&self->arena, self->n_specs, sizeof(*self->specs));
    LC_TRY_ALLOC(self->specs);
    for (size_t i = 0; i < self->n_specs; i++) {
        const struct json_t *spec = many ? lc_json_at(list, i) : NULL;
        lcdc_status status = lc_iceberg_spec_parse(many ? lc_json_member(spec, "fields") : only, &self->arena,
                                                   &self->specs[i], err);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "%s", self->path);
            return status;
        }
        if (!optional_number(spec, "spec-id", many ? -1 : 0, &id) || id < 0 || id > INT32_MAX)
            return bad(self, err, "a partition spec has no id");
        self->specs[i].id = (int32_t)id;
    }
    return LCDC_OK;
}

lcdc_status lc_iceberg_spec_get(struct lc_iceberg_metadata *metadata, int64_t id, const struct lc_iceberg_spec **out,
                                lcdc_error **err)
{
    struct lc_iceberg_spec *spec = NULL;
    for (size_t i = 0; i < metadata->n_specs && !spec; i++)
        if (metadata->specs[i].id == id)
            spec = &metadata->specs[i];
    if (!spec)
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: there is no partition spec %" PRId64, metadata->path, id);
    for (size_t i = 0; i < spec->n && !spec->has_types; i++) {
        const struct lc_field *top, *column;
        LC_TRY(lc_iceberg_column_find(metadata, spec->fields[i].source_id, &top, &column, err));
        if (column)
            spec->fields[i].source = column->type;
    }
    spec->has_types = true;
    *out = spec;
    return LCDC_OK;
}

/* ---- snapshots ---- */

static lcdc_status parse_manifests(struct lc_iceberg_metadata *self, const struct json_t *json,
                                   struct lc_iceberg_snapshot *out, lcdc_error **err)
{
    const struct json_t *list = lc_json_member(json, "manifests");
    struct lc_str path;
    if (lc_json_get_str(json, "manifest-list", &path))
        return dup_str(&self->arena, path, &out->manifest_list, err);
    if (!lc_json_is_array(list))
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: snapshot %" PRId64 " has no manifest list", self->path,
                       out->id);
    out->manifests = lc_arena_array(&self->arena, lc_json_count(list), sizeof(*out->manifests));
    LC_TRY_ALLOC(out->manifests);
    for (; out->n_manifests < lc_json_count(list); out->n_manifests++) {
        if (!lc_json_str(lc_json_at(list, out->n_manifests), &path))
            return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: snapshot %" PRId64 " lists a manifest that is no path",
                           self->path, out->id);
        LC_TRY(dup_str(&self->arena, path, &out->manifests[out->n_manifests], err));
    }
    return LCDC_OK;
}

static lcdc_status parse_snapshot(struct lc_iceberg_metadata *self, const struct json_t *json,
                                  struct lc_iceberg_snapshot *out, lcdc_error **err)
{
    int64_t schema;
    if (!lc_json_get_i64(json, "snapshot-id", &out->id) || out->id < 0)
        return bad(self, err, "a snapshot has no id from 0 on");
    if (!optional_number(json, "parent-snapshot-id", -1, &out->parent_id) && out->parent_id != -1)
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: the parent of snapshot %" PRId64 " is no snapshot id",
                       self->path, out->id);
    if (!optional_number(json, "sequence-number", 0, &out->sequence) || /* 0 is left out, version 1 has none */
        !optional_number(json, "schema-id", -1, &schema) || schema > INT32_MAX ||
        !lc_json_get_i64(json, "timestamp-ms", &out->ts_ms))
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD,
                       "%s: snapshot %" PRId64 " has a number that is missing, negative or none", self->path, out->id);
    out->schema_id = (int32_t)schema;
    out->is_encrypted = lc_json_member(json, "key-id") != NULL;
    return parse_manifests(self, json, out, err);
}

static lcdc_status parse_part(const struct lc_iceberg_metadata *self, struct lc_str text, const char *what,
                              struct json_t **out, lcdc_error **err)
{
    lcdc_status status = lc_json_parse(text, out, err);
    if (status != LCDC_OK)
        lc_error_prefix(err, "%s: %s", self->path, what);
    return status;
}

/* Most of a snapshot's text is a summary of which one member is wanted. */
static lcdc_status parse_operation(struct lc_iceberg_metadata *self, struct lc_str summary, const char **out,
                                   lcdc_error **err)
{
    static const char *const names[] = {"operation"};
    LC_JSON struct json_t *json = NULL;
    struct lc_str text, operation = LC_STR("");
    bool is_cut = lc_json_text_cut(summary, 1, names, &text, NULL);
    if (is_cut && text.n == 0)
        return dup_str(&self->arena, operation, out, err);
    LC_TRY(parse_part(self, is_cut ? text : summary, "the summary of a snapshot", &json, err));
    if (is_cut)
        (void)lc_json_str(json, &operation);
    else
        (void)lc_json_get_str(json, names[0], &operation);
    return dup_str(&self->arena, operation, out, err);
}

static lcdc_status parse_snapshot_text(struct lc_iceberg_metadata *self, struct lc_str text, struct lc_buf *scratch,
                                       struct lc_iceberg_snapshot *out, lcdc_error **err)
{
    static const char *const names[] = {"summary"};
    LC_JSON struct json_t *json = NULL;
    LC_BUF struct lc_buf printed = {.max = LC_BUF_MAX};
    struct lc_str summary;
    lc_buf_clear(scratch);
    bool is_cut = lc_json_text_cut(text, 1, names, &summary, scratch);
    LC_TRY_BUF(scratch);
    LC_TRY(parse_part(self, is_cut ? (struct lc_str){scratch->p, scratch->n} : text, "a snapshot", &json, err));
    if (lc_json_member(json, names[0])) { /* it was not cut: its key is spelled with escapes */
        lc_json_print(lc_json_member(json, names[0]), &printed);
        LC_TRY_BUF(&printed);
        summary = (struct lc_str){printed.p, printed.n};
    }
    LC_TRY(parse_operation(self, summary.n ? summary : LC_STR("{}"), &out->operation, err));
    return parse_snapshot(self, json, out, err);
}

static int compare_snapshots(const void *a, const void *b)
{
    const struct lc_iceberg_snapshot *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* A way back from a snapshot that comes to it again would be walked for ever. Each snapshot is walked over once. */
static lcdc_status check_cycles(const struct lc_iceberg_metadata *self, lcdc_error **err)
{
    LC_FREE size_t *walk = lc_calloc(self->n_snapshots, sizeof(*walk)); /* the walk that came here first, from 1 */
    LC_TRY_ALLOC(walk);
    for (size_t i = 0; i < self->n_snapshots; i++) {
        const struct lc_iceberg_snapshot *at = &self->snapshots[i];
        for (; at && walk[at - self->snapshots] == 0; at = lc_iceberg_snapshot_find(self, at->parent_id))
            walk[at - self->snapshots] = i + 1;
        if (at && walk[at - self->snapshots] == i + 1)
            return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: snapshot %" PRId64 " is among its own ancestors",
                           self->path, at->id);
    }
    return LCDC_OK;
}

/* An array grows while its length is not known; it lives with the metadata once it is whole. */
static lcdc_status parse_snapshot_list(struct lc_iceberg_metadata *self, struct lc_str list, lcdc_error **err)
{
    LC_BUF struct lc_buf scratch = {.max = LC_BUF_MAX};
    LC_FREE struct lc_iceberg_snapshot *items = NULL;
    struct lc_str element;
    size_t n = 0, cap = 0;
    if (list.n == 0 || list.p[0] != '[')
        return bad(self, err, "snapshots is no list");
    while (lc_json_text_next(&list, &element)) {
        if (n == cap) {
            cap = cap ? cap * 2 : 64;
            struct lc_iceberg_snapshot *grown = lc_realloc(items, cap, sizeof(*grown));
            LC_TRY_ALLOC(grown);
            items = grown;
        }
        items[n] = (struct lc_iceberg_snapshot){0};
        LC_TRY(parse_snapshot_text(self, element, &scratch, &items[n++], err));
    }
    if (list.n)
        return bad(self, err, "snapshots is a list that breaks off");
    self->snapshots = lc_arena_array(&self->arena, n, sizeof(*self->snapshots));
    LC_TRY_ALLOC(self->snapshots);
    if (n)
        memcpy(self->snapshots, items, n * sizeof(*items));
    self->n_snapshots = n;
    return LCDC_OK;
}

static lcdc_status parse_snapshots(struct lc_iceberg_metadata *self, const struct json_t *json, struct lc_str list,
                                   lcdc_error **err)
{
    if (list.n)
        LC_TRY(parse_snapshot_list(self, list, err));
    if (self->n_snapshots)
        qsort(self->snapshots, self->n_snapshots, sizeof(*self->snapshots), compare_snapshots);
    for (size_t i = 1; i < self->n_snapshots; i++)
        if (self->snapshots[i].id == self->snapshots[i - 1].id)
            return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: snapshot %" PRId64 " is listed twice", self->path,
                           self->snapshots[i].id);
    LC_TRY(check_cycles(self, err));
    if (!lc_json_member(json, "current-snapshot-id")) {
        self->current_snapshot_id = -1;
        return LCDC_OK;
    }
    if (!lc_json_get_i64(json, "current-snapshot-id", &self->current_snapshot_id) || self->current_snapshot_id < -1)
        return bad(self, err, "current-snapshot-id is no snapshot id");
    if (self->current_snapshot_id >= 0 && !lc_iceberg_snapshot_find(self, self->current_snapshot_id))
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: the current snapshot %" PRId64 " is not listed", self->path,
                       self->current_snapshot_id);
    return LCDC_OK;
}

const struct lc_iceberg_snapshot *lc_iceberg_snapshot_find(const struct lc_iceberg_metadata *metadata, int64_t id)
{
    struct lc_iceberg_snapshot key = {.id = id};
    if (id < 0 || metadata->n_snapshots == 0)
        return NULL;
    return bsearch(&key, metadata->snapshots, metadata->n_snapshots, sizeof(key), compare_snapshots);
}

/* ---- references ---- */

static lcdc_status parse_refs(struct lc_iceberg_metadata *self, const struct json_t *json, lcdc_error **err)
{
    const struct json_t *refs = lc_json_member(json, "refs");
    struct lc_str name, type;
    struct json_t *value;
    if (refs && !lc_json_is_object(refs))
        return bad(self, err, "refs is no object");
    self->refs = lc_arena_array(&self->arena, lc_json_count(refs), sizeof(*self->refs));
    LC_TRY_ALLOC(self->refs);
    for (void *at = NULL; lc_json_next(refs, &at, &name, &value);) {
        struct lc_iceberg_ref *ref = &self->refs[self->n_refs++];
        if (!lc_json_get_i64(value, "snapshot-id", &ref->snapshot_id) || !lc_json_get_str(value, "type", &type) ||
            (!lc_str_is(type, "branch") && !lc_str_is(type, "tag")))
            return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "%s: '%.*s' is neither a branch nor a tag of a snapshot",
                           self->path, LC_STR_ARG(name));
        ref->is_branch = lc_str_is(type, "branch");
        LC_TRY(dup_str(&self->arena, name, &ref->name, err));
    }
    return LCDC_OK;
}

const struct lc_iceberg_ref *lc_iceberg_ref_find(const struct lc_iceberg_metadata *metadata, const char *name)
{
    for (size_t i = 0; i < metadata->n_refs; i++)
        if (strcmp(metadata->refs[i].name, name) == 0)
            return &metadata->refs[i];
    return NULL;
}

/* ---- the file ---- */

static lcdc_status parse_name_mapping(struct lc_iceberg_metadata *self, const struct json_t *json, lcdc_error **err)
{
    struct lc_str text;
    if (!lc_json_get_str(lc_json_member(json, "properties"), "schema.name-mapping.default", &text))
        return LCDC_OK;
    struct json_t *mapping = NULL;
    lcdc_status status = lc_json_parse(text, &mapping, err);
    if (status != LCDC_OK) {
        lc_error_prefix(err, "%s: property schema.name-mapping.default", self->path);
        return status;
    }
    if (!lc_arena_own(&self->arena, mapping, free_json))
        return lc_fail_oom(err);
    return lc_iceberg_names_parse(mapping, &self->arena, &self->names, err);
}

static lcdc_status parse_version(struct lc_iceberg_metadata *self, const struct json_t *json, lcdc_error **err)
{
    int64_t version;
    if (!lc_json_is_object(json) || !lc_json_get_i64(json, "format-version", &version) || version < 1)
        return bad(self, err, "there is no format-version, so this is no Iceberg metadata file");
    if (version > MAX_VERSION)
        return lc_fail(err, LC_R_ICEBERG_VERSION,
                       "%s: the table has format version %" PRId64 ", versions up to %d can be read", self->path,
                       version, MAX_VERSION);
    self->version = (int)version;
    return LCDC_OK;
}

static lcdc_status parse_all(struct lc_iceberg_metadata *self, const struct json_t *json, struct lc_str snapshots,
                             lcdc_error **err)
{
    struct lc_str uuid, location;
    LC_TRY(parse_version(self, json, err));
    if (!lc_json_get_str(json, "location", &location))
        return bad(self, err, "there is no location");
    if (!lc_json_get_str(json, "table-uuid", &uuid)) {
        if (self->version > 1)
            return bad(self, err, "there is no table-uuid");
        uuid = location; /* optional in version 1; the location is what tells such tables apart */
    }
    LC_TRY(dup_str(&self->arena, uuid, &self->uuid, err));
    LC_TRY(dup_str(&self->arena, location, &self->location, err));
    if (!optional_number(json, "last-updated-ms", -1, &self->last_updated_ms))
        return bad(self, err, "last-updated-ms is no time");
    LC_TRY(parse_name_mapping(self, json, err));
    LC_TRY(parse_schemas(self, json, err));
    LC_TRY(parse_specs(self, json, err));
    LC_TRY(parse_snapshots(self, json, snapshots, err));
    return parse_refs(self, json, err);
}

/* The tree of what is not long, and the text of the snapshots; `printed` holds it where it had to be made. */
static lcdc_status parse_text(struct lc_str text, struct json_t **out, struct lc_str *snapshots, struct lc_buf *printed,
                              lcdc_error **err)
{
    LC_BUF struct lc_buf rest = {.max = LC_BUF_MAX};
    struct lc_str values[N_LONG];
    bool is_cut = lc_json_text_cut(text, N_LONG, long_members, values, &rest);
    LC_TRY_BUF(&rest);
    LC_TRY(lc_json_parse(is_cut ? (struct lc_str){rest.p, rest.n} : text, out, err));
    const struct json_t *whole = lc_json_member(*out, long_members[SNAPSHOTS]); /* its key is spelled with escapes */
    *snapshots = is_cut ? values[SNAPSHOTS] : (struct lc_str){NULL, 0};
    if (whole) {
        lc_json_print(whole, printed);
        *snapshots = (struct lc_str){printed->p, printed->n};
    }
    if (lc_str_is(*snapshots, "null"))
        *snapshots = (struct lc_str){NULL, 0};
    return printed->failed ? lc_fail_oom(err) : LCDC_OK;
}

lcdc_status lc_iceberg_metadata_parse(struct lc_str text, const char *path, struct lc_iceberg_metadata *out,
                                      lcdc_error **err)
{
    LC_BUF struct lc_buf printed = {.max = LC_BUF_MAX};
    struct json_t *json = NULL;
    struct lc_str snapshots;
    *out = (struct lc_iceberg_metadata){.current_snapshot_id = -1};
    out->path = lc_arena_strdup(&out->arena, path);
    LC_TRY_ALLOC(out->path);
    lcdc_status status = parse_text(text, &json, &snapshots, &printed, err);
    if (json && !lc_arena_own(&out->arena, json, free_json)) /* the schemas are read from it when they are asked for */
        return lc_fail_oom(err);
    if (status != LCDC_OK) {
        lc_error_prefix(err, "%s", path);
        return status;
    }
    return parse_all(out, json, snapshots, err);
}

void lc_iceberg_metadata_done(struct lc_iceberg_metadata *metadata)
{
    lc_arena_done(&metadata->arena);
    *metadata = (struct lc_iceberg_metadata){.current_snapshot_id = -1};
}
