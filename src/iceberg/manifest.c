/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field ids are those of the specification's tables "Manifest Lists" and "Manifests"; names and order are the writer's.
 */
#include "iceberg/manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "iceberg/data_file.h"
#include "io/avro.h"

/* ---- values by field id ---- */

/* An integer field: `absent` when it is missing or null; false when it is of another type. */
static bool get_number(const struct lc_avro_value *record, int32_t id, int64_t absent, int64_t *out)
{
    const struct lc_avro_value *value = lc_avro_field(record, id);
    *out = value ? value->i : absent;
    return !value || value->type->kind == LC_AVRO_INT || value->type->kind == LC_AVRO_LONG;
}

/* The same of one that counts or numbers something, so that it is never negative. */
static bool get_count(const struct lc_avro_value *record, int32_t id, int64_t absent, int64_t *out)
{
    return get_number(record, id, absent, out) && (*out >= 0 || *out == absent);
}

/* A text or bytes; empty when missing or null. */
static bool get_text(const struct lc_avro_value *record, int32_t id, struct lc_str *out)
{
    const struct lc_avro_value *value = lc_avro_field(record, id);
    bool is_text = value && (value->type->kind == LC_AVRO_STRING || value->type->kind == LC_AVRO_BYTES ||
                             value->type->kind == LC_AVRO_FIXED);
    *out = is_text ? value->str : LC_STR("");
    return !value || is_text;
}

/* A path: not empty, and without the byte that would cut it short. */
static bool get_path(const struct lc_avro_value *record, int32_t id, struct lc_str *out)
{
    return get_text(record, id, out) && out->n > 0 && !memchr(out->p, 0, out->n);
}

/* ---- places ---- */

lcdc_status lc_iceberg_url(const struct lc_iceberg_table *table, struct lc_str path, const char *what,
                           struct lc_arena *arena, const char **out, lcdc_error **err)
{
    LC_FREE char *text = lc_strndup(path.p, path.n);
    LC_FREE char *url = NULL;
    LC_TRY_ALLOC(text);
    if (!lc_location_is_absolute(text))
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "the %s '%.*s' is no absolute location", what, LC_STR_ARG(path));
    LC_TRY(lc_path_map_apply(table->path_map, text, &url, err));
    *out = lc_arena_strdup(arena, url);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status open_avro(struct lc_iceberg_table *table, const char *path, const char *what, struct lc_avro **out,
                             lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    const char *url;
    LC_TRY(lc_iceberg_url(table, lc_str_of(path), what, &arena, &url, err));
    return lc_avro_open(table->storage, url, out, err);
}

static void want(const struct lc_iceberg_table *table, const char *path, int64_t size)
{
    LC_ARENA struct lc_arena arena = {0};
    const char *url;
    if (lc_iceberg_url(table, lc_str_of(path), "manifest", &arena, &url, NULL) == LCDC_OK)
        lc_storage_want_whole(table->storage, url, size);
}

void lc_iceberg_manifest_want(const struct lc_iceberg_table *table, const struct lc_iceberg_manifest *manifest)
{
    want(table, manifest->path, manifest->length);
}

void lc_iceberg_manifests_want(const struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot)
{
    if (snapshot && snapshot->manifest_list)
        want(table, snapshot->manifest_list, -1);
}

/* ---- manifest lists ---- */

struct manifest_list {
    struct lc_arena *arena;
    size_t n, cap;
    struct lc_iceberg_manifest *items; /* lc_alloc until it is whole */
};

static void manifest_list_done(struct manifest_list *list)
{
    lc_free(list->items);
}

static lcdc_status add_manifest(struct manifest_list *list, struct lc_str path,
                                const struct lc_iceberg_manifest *manifest, lcdc_error **err)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        struct lc_iceberg_manifest *items = lc_realloc(list->items, cap, sizeof(*items));
        LC_TRY_ALLOC(items);
        list->items = items;
        list->cap = cap;
    }
    struct lc_iceberg_manifest *added = &list->items[list->n];
    *added = *manifest;
    added->path = lc_arena_strndup(list->arena, path.p, path.n);
    LC_TRY_ALLOC(added->path);
    list->n++;
    return LCDC_OK;
}

/* A list whose summaries are missing, or are not one a field, says nothing of the partitions. */
static lcdc_status read_summaries(const struct lc_avro_value *record, struct lc_arena *arena,
                                  struct lc_iceberg_manifest *out, lcdc_error **err)
{
    const struct lc_avro_value *list = lc_avro_field(record, 507);
    if (!list || list->type->kind != LC_AVRO_ARRAY || list->n != out->spec->n)
        return LCDC_OK;
    struct lc_iceberg_summary *summaries = lc_arena_array(arena, list->n, sizeof(*summaries));
    LC_TRY_ALLOC(summaries);
    for (size_t i = 0; i < list->n; i++) {
        const struct lc_avro_value *has_null = lc_avro_field(&list->items[i], 509);
        struct lc_str lower, upper;
        bool has_lower = lc_avro_field(&list->items[i], 510) && get_text(&list->items[i], 510, &lower);
        bool has_upper = lc_avro_field(&list->items[i], 511) && get_text(&list->items[i], 511, &upper);
        summaries[i].may_be_null = !has_null || has_null->type->kind != LC_AVRO_BOOL || has_null->b;
        summaries[i].has_bounds = has_lower && has_upper;
        if (!summaries[i].has_bounds)
            continue;
        if (!lc_arena_str(arena, lower, &summaries[i].lower) || !lc_arena_str(arena, upper, &summaries[i].upper))
            return lc_fail_oom(err);
    }
    out->n_summaries = list->n;
    out->summaries = summaries;
    return LCDC_OK;
}

/* Types whose values every writer orders alike. */
static bool has_plain_order(enum lc_type_kind kind)
{
    return kind == LC_TYPE_BOOL || kind == LC_TYPE_INT32 || kind == LC_TYPE_INT64 || kind == LC_TYPE_DATE ||
           kind == LC_TYPE_STRING || kind == LC_TYPE_TIME || kind == LC_TYPE_TIMESTAMP || kind == LC_TYPE_TIMESTAMP_TZ;
}

static bool summary_excludes(const struct lc_iceberg_summary *summary, const struct lc_value *value)
{
    struct lc_value lower, upper;
    if (value->is_null)
        return !summary->may_be_null;
    return summary->has_bounds && has_plain_order(value->type.kind) &&
           lc_iceberg_bound_decode(summary->lower, value->type, &lower) &&
           lc_iceberg_bound_decode(summary->upper, value->type, &upper) &&
           (lc_value_compare(value, &lower) < 0 || lc_value_compare(value, &upper) > 0);
}

bool lc_iceberg_manifest_may_hold(const struct lc_iceberg_manifest *manifest, const struct lc_iceberg_file *file)
{
    if (manifest->spec->id != file->spec_id)
        return false;
    for (size_t i = 0; i < manifest->n_summaries && i < file->n_partition; i++)
        if (summary_excludes(&manifest->summaries[i], &file->partition[i]))
            return false;
    return true;
}

static lcdc_status read_list_entry(struct lc_iceberg_table *table, const struct lc_avro_value *record,
                                   struct manifest_list *list, lcdc_error **err)
{
    struct lc_iceberg_manifest manifest = {0};
    struct lc_str path;
    int64_t spec, content;
    if (!get_path(record, 500, &path))
        return lc_fail(err, LC_R_ICEBERG_MANIFEST_BAD, "an entry has no manifest path (field 500)");
    if (!get_count(record, 502, 0, &spec) || !get_count(record, 517, 0, &content) || content > 1 ||
        !get_count(record, 515, 0, &manifest.sequence) || !get_number(record, 503, -1, &manifest.snapshot_id) ||
        !get_count(record, 520, -1, &manifest.first_row_id))
        return lc_fail(err, LC_R_ICEBERG_MANIFEST_BAD,
                       "the entry of manifest %.*s has a number that is negative, unknown or none", LC_STR_ARG(path));
    if (!get_number(record, 501, -1, &manifest.length) || manifest.length < 1)
        manifest.length = -1; /* no more than a hint */
    manifest.is_deletes = content == 1;
    manifest.newest = lc_avro_field(record, 515) ? manifest.sequence : INT64_MAX;
    LC_TRY(lc_iceberg_spec_get(table->metadata, spec, &manifest.spec, err));
    LC_TRY(read_summaries(record, list->arena, &manifest, err));
    return add_manifest(list, path, &manifest, err);
}

static lcdc_status read_list(struct lc_iceberg_table *table, const char *path, struct manifest_list *list,
                             lcdc_error **err)
{
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
    LC_TRY(open_avro(table, path, "manifest list", &avro, err));
    for (;;) {
        LC_ARENA struct lc_arena scratch = {0};
        struct lc_avro_value *record = NULL;
        LC_TRY(lc_avro_next(avro, &scratch, &record, err));
        if (!record)
            return LCDC_OK;
        lcdc_status status = read_list_entry(table, record, list, err);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "%s", path);
            return status;
        }
    }
}

/* Version 1 may list manifests in the metadata file; what the list would say of them is in their own headers. */
static lcdc_status read_inline_list(struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot,
                                    struct manifest_list *list, lcdc_error **err)
{
    for (size_t i = 0; i < snapshot->n_manifests; i++) {
        LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
        struct lc_iceberg_manifest manifest = {.newest = INT64_MAX, .snapshot_id = snapshot->id, .first_row_id = -1};
        struct lc_str text;
        int64_t spec = 0;
        LC_TRY(open_avro(table, snapshot->manifests[i], "manifest", &avro, err));
        if (lc_avro_metadata(avro, "partition-spec-id", &text) && !lc_parse_i64(text, &spec))
            return lc_fail(err, LC_R_ICEBERG_MANIFEST_BAD, "%s: the partition-spec-id of its header is no number",
                           snapshot->manifests[i]);
        LC_TRY(lc_iceberg_spec_get(table->metadata, spec, &manifest.spec, err));
        LC_TRY(add_manifest(list, lc_str_of(snapshot->manifests[i]), &manifest, err));
    }
    return LCDC_OK;
}

static int compare_manifests(const void *a, const void *b)
{
    const struct lc_iceberg_manifest *x = a, *y = b;
    return strcmp(x->path, y->path);
}

lcdc_status lc_iceberg_manifests_read(struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot,
                                      struct lc_arena *arena, size_t *n_out, struct lc_iceberg_manifest **out,
                                      lcdc_error **err)
{
    LC_CLEANUP(manifest_list_done) struct manifest_list list = {.arena = arena};
    if (snapshot->is_encrypted)
        return lc_fail(err, LC_R_ICEBERG_DATA_FORMAT, "snapshot %" PRId64 " is encrypted, which cannot be read",
                       snapshot->id);
    if (snapshot->manifest_list)
        LC_TRY(read_list(table, snapshot->manifest_list, &list, err));
    else
        LC_TRY(read_inline_list(table, snapshot, &list, err));
    struct lc_iceberg_manifest *items = lc_arena_array(arena, list.n, sizeof(*items));
    LC_TRY_ALLOC(items);
    if (list.n) {
        memcpy(items, list.items, list.n * sizeof(*items));
        qsort(items, list.n, sizeof(*items), compare_manifests);
    }
    for (size_t i = 1; i < list.n; i++)
        if (strcmp(items[i].path, items[i - 1].path) == 0)
            return lc_fail(err, LC_R_ICEBERG_MANIFEST_BAD, "snapshot %" PRId64 " lists manifest %s twice", snapshot->id,
                           items[i].path);
    *n_out = list.n;
    *out = items;
    return LCDC_OK;
}

/* ---- entries ---- */

struct entry_reader {
    struct lc_iceberg_table *table;
    const struct lc_iceberg_manifest *manifest;
    struct lc_arena *arena;
    int64_t next_row_id; /* for data files that have none of their own; -1: the manifest has none to give */
    struct lc_str path;  /* of the entry at hand, for messages */
    lcdc_error **err;
};

static lcdc_status bad_entry(const struct entry_reader *self, const char *what)
{
    return lc_fail(self->err, LC_R_ICEBERG_MANIFEST_BAD, "the entry of %.*s %s", LC_STR_ARG(self->path), what);
}

static lcdc_status no_memory(const struct entry_reader *self)
{
    return lc_fail_oom(self->err);
}

/* A list of (key, value) records; the items are the reader's, in `key` and `value` fields. */
static lcdc_status get_list(const struct entry_reader *self, const struct lc_avro_value *file, int32_t id, size_t *n,
                            const struct lc_avro_value **items)
{
    const struct lc_avro_value *list = lc_avro_field(file, id);
    *n = list ? list->n : 0;
    *items = list ? list->items : NULL;
    return list && list->type->kind != LC_AVRO_ARRAY ? bad_entry(self, "has column statistics of another shape")
                                                     : LCDC_OK;
}

static lcdc_status read_bounds(const struct entry_reader *self, const struct lc_avro_value *file, int32_t id,
                               int32_t key, int32_t value, size_t *n_out, const struct lc_iceberg_bound **out)
{
    const struct lc_avro_value *items;
    size_t n;
    LC_TRY(get_list(self, file, id, &n, &items));
    struct lc_iceberg_bound *bounds = lc_arena_array(self->arena, n, sizeof(*bounds));
    if (!bounds)
        return no_memory(self);
    for (size_t i = 0; i < n; i++) {
        int64_t field_id;
        if (!get_count(&items[i], key, -1, &field_id) || field_id > INT32_MAX ||
            !get_text(&items[i], value, &bounds[i].bytes))
            return bad_entry(self, "has column bounds of another shape");
        bounds[i].field_id = (int32_t)field_id;
    }
    *n_out = n;
    *out = bounds;
    return LCDC_OK;
}

static lcdc_status read_counts(const struct entry_reader *self, const struct lc_avro_value *file, int32_t id,
                               int32_t key, int32_t value, size_t *n_out, const struct lc_iceberg_count **out)
{
    const struct lc_avro_value *items;
    size_t n;
    LC_TRY(get_list(self, file, id, &n, &items));
    struct lc_iceberg_count *counts = lc_arena_array(self->arena, n, sizeof(*counts));
    if (!counts)
        return no_memory(self);
    for (size_t i = 0; i < n; i++) {
        int64_t field_id;
        if (!get_count(&items[i], key, -1, &field_id) || field_id > INT32_MAX ||
            !get_number(&items[i], value, -1, &counts[i].count))
            return bad_entry(self, "has column counts of another shape");
        counts[i].field_id = (int32_t)field_id;
    }
    *n_out = n;
    *out = counts;
    return LCDC_OK;
}

static lcdc_status read_statistics(const struct entry_reader *self, const struct lc_avro_value *file,
                                   struct lc_iceberg_file *out)
{
    LC_TRY(read_bounds(self, file, 125, 126, 127, &out->n_lower, &out->lower));
    LC_TRY(read_bounds(self, file, 128, 129, 130, &out->n_upper, &out->upper));
    LC_TRY(read_counts(self, file, 110, 121, 122, &out->n_nulls, &out->nulls));
    return read_counts(self, file, 137, 138, 139, &out->n_nans, &out->nans);
}

static lcdc_status read_equality_ids(const struct entry_reader *self, const struct lc_avro_value *file,
                                     struct lc_iceberg_file *out)
{
    const struct lc_avro_value *items;
    size_t n;
    LC_TRY(get_list(self, file, 135, &n, &items));
    int32_t *ids = lc_arena_array(self->arena, n, sizeof(*ids));
    if (!ids)
        return no_memory(self);
    for (size_t i = 0; i < n; i++) {
        const struct lc_avro_type *type = items[i].type;
        if (!type || (type->kind != LC_AVRO_INT && type->kind != LC_AVRO_LONG) || items[i].i < 0 ||
            items[i].i > INT32_MAX)
            return bad_entry(self, "has an equality id that is no field id");
        ids[i] = (int32_t)items[i].i;
    }
    out->n_equality_ids = n;
    out->equality_ids = ids;
    return LCDC_OK;
}

static bool has_field(const struct lc_avro_value *record, int32_t id)
{
    bool found = false;
    for (size_t i = 0; record && record->type->kind == LC_AVRO_RECORD && i < record->n && !found; i++)
        found = record->type->children[i].id == id;
    return found;
}

static lcdc_status read_partition(const struct entry_reader *self, const struct lc_avro_value *file,
                                  struct lc_iceberg_file *out)
{
    const struct lc_iceberg_spec *spec = self->manifest->spec;
    const struct lc_avro_value *tuple = lc_avro_field(file, 102);
    struct lc_value *values = lc_arena_array(self->arena, spec->n, sizeof(*values));
    if (!values)
        return no_memory(self);
    for (size_t i = 0; i < spec->n; i++) {
        const struct lc_iceberg_partition_field *field = &spec->fields[i];
        if (field->transform != LC_ICEBERG_VOID && !has_field(tuple, field->field_id))
            return bad_entry(self, "lacks a value of its partition spec");
        if (!lc_iceberg_partition_value(field, lc_avro_field(tuple, field->field_id), &values[i]))
            return bad_entry(self, "has a partition value that is not of its column's type");
    }
    out->spec_id = spec->id;
    out->n_partition = spec->n;
    out->partition = values;
    return LCDC_OK;
}

static lcdc_status read_format(const struct entry_reader *self, const struct lc_avro_value *file,
                               struct lc_iceberg_file *out)
{
    static const char *const words[] = {[LC_ICEBERG_PARQUET] = "parquet",
                                        [LC_ICEBERG_AVRO] = "avro",
                                        [LC_ICEBERG_ORC] = "orc",
                                        [LC_ICEBERG_PUFFIN] = "puffin"};
    struct lc_str word;
    if (!get_text(file, 101, &word))
        return bad_entry(self, "has no format");
    for (int i = LC_ICEBERG_PARQUET; i <= LC_ICEBERG_PUFFIN; i++)
        if (lc_str_is_nocase(word, words[i])) {
            out->format = (enum lc_iceberg_format)i;
            return LCDC_OK;
        }
    return lc_fail(self->err, LC_R_ICEBERG_DATA_FORMAT, "%.*s is of format '%.*s', which is not known",
                   LC_STR_ARG(self->path), LC_STR_ARG(word));
}

static lcdc_status read_file(struct entry_reader *self, const struct lc_avro_value *file, struct lc_iceberg_file *out)
{
    int64_t content;
    if (!get_path(file, 100, &out->path))
        return lc_fail(self->err, LC_R_ICEBERG_MANIFEST_BAD, "an entry has no file path (field 100)");
    self->path = out->path;
    if (!get_count(file, 134, 0, &content) || content > 2)
        return bad_entry(self, "is of an unknown content");
    if ((content != LC_ICEBERG_DATA) != self->manifest->is_deletes)
        return bad_entry(self, self->manifest->is_deletes ? "is a data file in a manifest of deletes"
                                                          : "is a delete file in a manifest of data");
    out->content = (enum lc_iceberg_content)content;
    if (!get_count(file, 103, -1, &out->record_count) || out->record_count < 0 ||
        !get_count(file, 104, -1, &out->size) || !get_count(file, 142, -1, &out->first_row_id) ||
        !get_count(file, 144, -1, &out->content_offset) || !get_count(file, 145, -1, &out->content_size) ||
        !get_text(file, 143, &out->referenced_data_file))
        return bad_entry(self, "has a number that is missing, negative or none");
    LC_TRY(read_format(self, file, out));
    bool is_vector = out->content == LC_ICEBERG_POSITION_DELETES && out->format == LC_ICEBERG_PUFFIN;
    if (is_vector && (out->content_offset < 0 || out->content_size < 0 || out->referenced_data_file.n == 0))
        return bad_entry(self, "is a deletion vector without a place in its file or without a data file");
    LC_TRY(read_partition(self, file, out));
    LC_TRY(read_equality_ids(self, file, out));
    return read_statistics(self, file, out);
}

/* Specification, "Sequence Number Inheritance" and "First Row ID Inheritance". */
static lcdc_status inherit(struct entry_reader *self, const struct lc_avro_value *entry, struct lc_iceberg_file *out)
{
    const struct lc_iceberg_manifest *manifest = self->manifest;
    bool may_inherit = out->status == LC_ICEBERG_ADDED || manifest->sequence == 0;
    int64_t absent = may_inherit ? manifest->sequence : -1;
    if (!get_number(entry, 1, manifest->snapshot_id, &out->snapshot_id) ||
        !get_count(entry, 3, absent, &out->data_sequence) || !get_count(entry, 4, absent, &out->file_sequence))
        return bad_entry(self, "has a sequence number that is negative or none");
    if (out->data_sequence < 0)
        return bad_entry(self, "is not new and has no sequence number");
    if (out->content != LC_ICEBERG_DATA || self->next_row_id < 0)
        out->first_row_id = -1;
    else if (out->first_row_id < 0) {
        out->first_row_id = self->next_row_id;
        if (__builtin_add_overflow(self->next_row_id, out->record_count, &self->next_row_id))
            return bad_entry(self, "is given row ids that are out of range");
    }
    int64_t last_row_id;
    if (out->first_row_id >= 0 && __builtin_add_overflow(out->first_row_id, out->record_count, &last_row_id))
        return bad_entry(self, "has row ids that are out of range");
    return LCDC_OK;
}

static lcdc_status read_entry(struct entry_reader *self, const struct lc_avro_value *entry, struct lc_iceberg_file *out,
                              bool *is_live)
{
    const struct lc_avro_value *file = lc_avro_field(entry, 2);
    int64_t status;
    *out = (struct lc_iceberg_file){0};
    if (!get_count(entry, 0, -1, &status) || status < 0 || status > LC_ICEBERG_DELETED || !file)
        return lc_fail(self->err, LC_R_ICEBERG_MANIFEST_BAD,
                       "an entry has no known status (field 0) or no file (field 2)");
    out->status = (enum lc_iceberg_status)status;
    *is_live = out->status != LC_ICEBERG_DELETED;
    if (!*is_live)
        return LCDC_OK;
    LC_TRY(read_file(self, file, out));
    return inherit(self, entry, out);
}

lcdc_status lc_iceberg_manifest_visit(struct lc_iceberg_table *table, const struct lc_iceberg_manifest *manifest,
                                      lc_iceberg_visit visit, void *context, lcdc_error **err)
{
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
    struct entry_reader reader = {
        .table = table, .manifest = manifest, .next_row_id = manifest->first_row_id, .err = err};
    LC_TRY(open_avro(table, manifest->path, "manifest", &avro, err));
    for (;;) {
        LC_ARENA struct lc_arena scratch = {0};
        struct lc_avro_value *record = NULL;
        struct lc_iceberg_file file;
        bool is_live = false;
        LC_TRY(lc_avro_next(avro, &scratch, &record, err));
        if (!record)
            return LCDC_OK;
        reader.arena = &scratch;
        lcdc_status status = read_entry(&reader, record, &file, &is_live);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "manifest %s", manifest->path);
            return status;
        }
        if (is_live)
            LC_TRY(visit(context, &file, err));
    }
}

/* ---- copies ---- */

static lcdc_status copy_bounds(size_t n, const struct lc_iceberg_bound *from, struct lc_arena *arena,
                               const struct lc_iceberg_bound **out, lcdc_error **err)
{
    struct lc_iceberg_bound *bounds = lc_arena_array(arena, n, sizeof(*bounds));
    LC_TRY_ALLOC(bounds);
    for (size_t i = 0; i < n; i++) {
        bounds[i].field_id = from[i].field_id;
        if (!lc_arena_str(arena, from[i].bytes, &bounds[i].bytes))
            return lc_fail_oom(err);
    }
    *out = bounds;
    return LCDC_OK;
}

static const void *copy_array(size_t n, size_t size, const void *from, struct lc_arena *arena)
{
    void *copy = lc_arena_array(arena, n, size);
    if (copy && n)
        memcpy(copy, from, n * size);
    return copy;
}

static lcdc_status copy_statistics(const struct lc_iceberg_file *file, struct lc_arena *arena,
                                   struct lc_iceberg_file *out, lcdc_error **err)
{
    LC_TRY(copy_bounds(file->n_lower, file->lower, arena, &out->lower, err));
    LC_TRY(copy_bounds(file->n_upper, file->upper, arena, &out->upper, err));
    out->nulls = copy_array(file->n_nulls, sizeof(*file->nulls), file->nulls, arena);
    out->nans = copy_array(file->n_nans, sizeof(*file->nans), file->nans, arena);
    LC_TRY_ALLOC(out->nulls && out->nans);
    return LCDC_OK;
}

lcdc_status lc_iceberg_file_copy(const struct lc_iceberg_file *file, bool with_stats, struct lc_arena *arena,
                                 struct lc_iceberg_file *out, lcdc_error **err)
{
    struct lc_iceberg_file copy = *file;
    struct lc_value *partition = lc_arena_array(arena, file->n_partition, sizeof(*partition));
    LC_TRY_ALLOC(partition);
    for (size_t i = 0; i < file->n_partition; i++) {
        const struct lc_value *value = lc_value_dup(arena, &file->partition[i]);
        LC_TRY_ALLOC(value);
        partition[i] = *value;
    }
    copy.partition = partition;
    if (!lc_arena_str(arena, file->path, &copy.path) ||
        !lc_arena_str(arena, file->referenced_data_file, &copy.referenced_data_file))
        return lc_fail_oom(err);
    copy.equality_ids = copy_array(file->n_equality_ids, sizeof(*file->equality_ids), file->equality_ids, arena);
    LC_TRY_ALLOC(copy.equality_ids);
    if (with_stats)
        LC_TRY(copy_statistics(file, arena, &copy, err));
    else
        copy.n_lower = copy.n_upper = copy.n_nulls = copy.n_nans = 0;
    *out = copy;
    return LCDC_OK;
}
