/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/key_set.h"

#include <inttypes.h>
#include <string.h>

#include "io/parquet.h"

struct entry {
    struct lc_hash key;
    int64_t before, after;
    uint32_t epoch; /* an older one: what is `after` holds before too */
    bool used;
};

struct lc_iceberg_key_set {
    struct lc_iceberg_key_columns columns;
    struct lc_field schema; /* STRUCT of the top-level columns */
    struct lc_field *children;
    uint32_t epoch;
    size_t n, n_slots; /* slots: a power of two */
    struct entry *slots;
};

/* ---- columns ---- */

lcdc_status lc_iceberg_key_columns(struct lc_iceberg_metadata *metadata, size_t n, const int32_t *ids,
                                   struct lc_arena *arena, struct lc_iceberg_key_columns *out, lcdc_error **err)
{
    const struct lc_field **tops = lc_arena_array(arena, n, sizeof(*tops)),
                          **leaves = lc_arena_array(arena, n, sizeof(*leaves));
    LC_TRY_ALLOC(tops && leaves);
    if (n == 0)
        return lc_fail(err, LC_R_ICEBERG_DELETE_BAD, "an equality delete file names no key columns");
    for (size_t i = 0; i < n; i++) {
        LC_TRY(lc_iceberg_column_find(metadata, ids[i], &tops[i], &leaves[i], err));
        if (!leaves[i])
            return lc_fail(err, LC_R_ICEBERG_DELETE_BAD,
                           "an equality delete file has key column id %d, which no schema of the table has", ids[i]);
        if (lc_type_is_nested(leaves[i]->type.kind))
            return lc_fail(err, LC_R_ICEBERG_DELETE_BAD, "an equality delete file has key column '%s' of a nested type",
                           leaves[i]->name);
    }
    *out = (struct lc_iceberg_key_columns){.n = n, .ids = ids, .tops = tops, .leaves = leaves};
    return LCDC_OK;
}

/* Nested key columns: a row's value is null when any parent is. The hash of one column is taken over a view that has
   that null map; row_valid[] is worked out here because the leaf's own buffer does not know of its parents. */
struct leaf_view {
    const struct ArrowArray *leaf;
    int64_t offset;       /* of row 0 within the leaf's rows */
    uint8_t *parent_null; /* per row; NULL when no parent is ever null */
};

static lcdc_status find_leaf(const struct lc_field *field, const struct ArrowArray *array, int64_t offset, int64_t n,
                             const struct lc_field *leaf, struct leaf_view *out, bool *found, lcdc_error **err)
{
    if (field == leaf || field->id == leaf->id) {
        out->leaf = array;
        out->offset = offset;
        *found = true;
        return LCDC_OK;
    }
    if (field->type.kind != LC_TYPE_STRUCT)
        return LCDC_OK;
    for (size_t c = 0; c < field->n_children && !*found; c++)
        LC_TRY(find_leaf(&field->children[c], array->children[c], array->offset + offset, n, leaf, out, found, err));
    if (!*found || array->null_count == 0)
        return LCDC_OK;
    if (!out->parent_null) {
        out->parent_null = lc_calloc((size_t)n, 1);
        LC_TRY_ALLOC(out->parent_null);
    }
    for (int64_t i = 0; i < n; i++)
        out->parent_null[i] |= lc_array_is_null(array, offset + i);
    return LCDC_OK;
}

static lcdc_status hash_leaf(const struct lc_field *leaf, const struct leaf_view *view, int64_t n, struct lc_hash *keys,
                             lcdc_error **err)
{
    struct ArrowArray column = *view->leaf;
    struct ArrowArray *children[1] = {&column};
    struct lc_field field = *leaf;
    const struct lc_field schema = {
        .id = LC_NO_ID, .type = {.kind = LC_TYPE_STRUCT}, .n_children = 1, .children = &field};
    const void *no_validity[1] = {NULL};
    struct ArrowArray rows = {.length = n,
                              .offset = view->offset,
                              .n_buffers = 1,
                              .buffers = no_validity,
                              .n_children = 1,
                              .children = children};
    LC_FREE uint8_t *validity = NULL;
    if (view->parent_null) {
        int64_t first = column.offset + view->offset;
        validity = lc_calloc((size_t)(first + n + 7) / 8, 1);
        LC_FREE const void **buffers = lc_calloc((size_t)column.n_buffers, sizeof(void *));
        LC_TRY_ALLOC(validity && buffers);
        for (int64_t i = 0; i < n; i++)
            if (!view->parent_null[i] && !lc_array_is_null(&column, view->offset + i))
                validity[(first + i) >> 3] |= (uint8_t)(1 << ((first + i) & 7));
        memcpy(buffers, column.buffers, (size_t)column.n_buffers * sizeof(void *));
        buffers[0] = validity;
        column.buffers = buffers;
        column.null_count = -1;
        return lc_row_hash(&schema, &rows, 0, NULL, keys, err);
    }
    return lc_row_hash(&schema, &rows, 0, NULL, keys, err);
}

lcdc_status lc_iceberg_key_hash(const struct lc_iceberg_key_columns *columns, const struct ArrowArray *rows,
                                struct lc_hash *keys, lcdc_error **err)
{
    int64_t n = rows->length;
    LC_FREE struct lc_hash *one = lc_alloc((size_t)n * sizeof(*one));
    LC_TRY_ALLOC(one);
    memset(keys, 0, (size_t)n * sizeof(*keys));
    for (size_t k = 0; k < columns->n; k++) {
        struct leaf_view view = {0};
        bool found = false;
        lcdc_status status = find_leaf(columns->tops[k], rows->children[k], rows->offset, n, columns->leaves[k], &view,
                                       &found, err);
        if (status == LCDC_OK && found)
            status = hash_leaf(columns->leaves[k], &view, n, one, err);
        else if (status == LCDC_OK)
            status = lc_fail(err, LC_R_ICEBERG_DELETE_BAD, "key column '%s' lies inside a list or map",
                             columns->leaves[k]->name);
        lc_free(view.parent_null);
        LC_TRY(status);
        for (int64_t i = 0; i < n; i++) { /* order of columns counts */
            keys[i].a = (keys[i].a << 7 | keys[i].a >> 57) * 0x9E3779B97F4A7C15u ^ one[i].a;
            keys[i].b = (keys[i].b << 11 | keys[i].b >> 53) * 0xC2B2AE3D27D4EB4Fu + one[i].b;
        }
    }
    return LCDC_OK;
}

/* ---- the table ---- */

lcdc_status lc_iceberg_key_set_new(const struct lc_iceberg_key_columns *columns, struct lc_iceberg_key_set **out,
                                   lcdc_error **err)
{
    struct lc_iceberg_key_set *set = lc_calloc(1, sizeof(*set));
    LC_TRY_ALLOC(set);
    set->columns = *columns;
    set->children = lc_calloc(columns->n, sizeof(*set->children));
    if (!set->children) {
        lc_free(set);
        return lc_fail_oom(err);
    }
    for (size_t i = 0; i < columns->n; i++)
        set->children[i] = *columns->tops[i];
    set->schema = (struct lc_field){.name = "",
                                    .physical = "",
                                    .id = LC_NO_ID,
                                    .type = {.kind = LC_TYPE_STRUCT},
                                    .n_children = columns->n,
                                    .children = set->children};
    *out = set;
    return LCDC_OK;
}

void lc_iceberg_key_set_free(struct lc_iceberg_key_set *set)
{
    if (!set)
        return;
    lc_free(set->slots);
    lc_free(set->children);
    lc_free(set);
}

void lc_iceberg_key_set_advance(struct lc_iceberg_key_set *set)
{
    set->epoch++;
}

static struct entry *slot_of(struct entry *slots, size_t n_slots, struct lc_hash key)
{
    size_t at = (size_t)key.a & (n_slots - 1);
    while (slots[at].used && !lc_hash_equal(slots[at].key, key))
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

static lcdc_status grow(struct lc_iceberg_key_set *set, lcdc_error **err)
{
    if (set->n_slots && set->n < set->n_slots / 4 * 3)
        return LCDC_OK;
    size_t n_slots = set->n_slots ? set->n_slots * 2 : 1024;
    struct entry *slots = lc_calloc(n_slots, sizeof(*slots));
    LC_TRY_ALLOC(slots);
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slots[i].used)
            *slot_of(slots, n_slots, set->slots[i].key) = set->slots[i];
    lc_free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    return LCDC_OK;
}

static lcdc_status put(struct lc_iceberg_key_set *set, struct lc_hash key, int64_t sequence, bool before, bool after,
                       lcdc_error **err)
{
    LC_TRY(grow(set, err));
    struct entry *entry = slot_of(set->slots, set->n_slots, key);
    if (!entry->used) {
        *entry = (struct entry){.key = key, .before = -1, .after = -1, .epoch = set->epoch, .used = true};
        set->n++;
    } else if (entry->epoch != set->epoch) {
        entry->before = entry->after;
        entry->epoch = set->epoch;
    }
    if (before && sequence > entry->before)
        entry->before = sequence;
    if (after && sequence > entry->after)
        entry->after = sequence;
    return LCDC_OK;
}

void lc_iceberg_key_find(const struct lc_iceberg_key_set *set, struct lc_hash key, int64_t *before, int64_t *after)
{
    *before = *after = -1;
    if (set->n_slots == 0)
        return;
    const struct entry *entry = slot_of(set->slots, set->n_slots, key);
    if (!entry->used)
        return;
    *after = entry->after;
    *before = entry->epoch == set->epoch ? entry->before : entry->after;
}

/* ---- reading ---- */

static lcdc_status check_file(const struct lc_iceberg_key_set *set, const struct lc_parquet *parquet,
                              const struct lc_iceberg_file *file, const char *url, lcdc_error **err)
{
    for (size_t i = 0; i < set->columns.n; i++)
        if (!lc_parquet_has(parquet, &set->children[i], LC_MATCH_ID_OR_ALIAS))
            return lc_fail(err, LC_R_ICEBERG_DELETE_BAD,
                           "equality delete file %s has no column with id %d ('%s'), which its keys need", url,
                           set->columns.ids[i], set->columns.leaves[i]->name);
    if (file->record_count >= 0 && lc_parquet_rows(parquet) != file->record_count)
        return lc_fail(err, LC_R_ROWS_MISCOUNTED, "%s holds %" PRId64 " rows, its manifest says %" PRId64, url,
                       lc_parquet_rows(parquet), file->record_count);
    return LCDC_OK;
}

lcdc_status lc_iceberg_key_set_load(struct lc_iceberg_key_set *set, struct lc_storage *storage,
                                    const struct lc_iceberg_file *file, const char *url, bool before, bool after,
                                    lcdc_error **err)
{
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *parquet = NULL;
    LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scan = NULL;
    struct lc_parquet_request request = {.schema = &set->schema, .match = LC_MATCH_ID_OR_ALIAS};
    if (file->format != LC_ICEBERG_PARQUET)
        return lc_fail(err, LC_R_ICEBERG_DATA_FORMAT,
                       "equality delete file %s is not Parquet, other formats cannot be read", url);
    LC_TRY(lc_parquet_open(storage, url, file->size, &parquet, err));
    LC_TRY(check_file(set, parquet, file, url, err));
    LC_TRY(lc_parquet_scan_open(parquet, &request, &scan, err));
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        LC_TRY(lc_parquet_scan_next(scan, &batch, NULL, err));
        if (!batch.release)
            return LCDC_OK;
        LC_FREE struct lc_hash *keys = lc_alloc((size_t)batch.length * sizeof(*keys));
        LC_TRY_ALLOC(keys);
        LC_TRY(lc_iceberg_key_hash(&set->columns, &batch, keys, err));
        for (int64_t i = 0; i < batch.length; i++)
            LC_TRY(put(set, keys[i], file->data_sequence, before, after, err));
    }
}
