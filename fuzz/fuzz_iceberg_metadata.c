/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a metadata file, asks for all that is worked out late, and resolves ranges over its snapshots. What was found
 * by id must have that id, and a chain of snapshots must be one.
 */
#include <stdlib.h>

#include "iceberg/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch_types(struct lc_iceberg_metadata *metadata)
{
    for (size_t i = 0; i < metadata->n_schemas; i++) {
        const struct lc_field *root = NULL, *top = NULL;
        if (lc_iceberg_schema_get(metadata, metadata->schemas[i].id, &root, NULL) != LCDC_OK)
            continue;
        for (size_t k = 0; k < root->n_children; k++)
            if (lc_iceberg_field_find(root, root->children[k].id, &top) != &root->children[k])
                abort();
        if (lc_field_fingerprint(root) == 0)
            return; /* one in 2^64; the call is what counts */
    }
    for (size_t i = 0; i < metadata->n_specs; i++) {
        const struct lc_iceberg_spec *spec = NULL;
        if (lc_iceberg_spec_get(metadata, metadata->specs[i].id, &spec, NULL) == LCDC_OK)
            (void)lc_iceberg_is_unpartitioned(spec);
    }
}

static void resolve(const struct lc_iceberg_metadata *metadata, const char *key, const char *value,
                    const char *exclusive)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    LC_ERROR lcdc_error *err = NULL;
    struct lc_iceberg_range range = {0};
    if (lcdc_request_new(&request, NULL) != LCDC_OK || lcdc_request_set(request, key, value, NULL) != LCDC_OK ||
        lcdc_request_set(request, "from_exclusive", exclusive, NULL) != LCDC_OK)
        return;
    if (lc_iceberg_range_resolve(metadata, request, &arena, &range, &err) != LCDC_OK)
        return;
    for (size_t i = 1; i < range.n; i++)
        if (range.commits[i]->parent_id != range.commits[i - 1]->id)
            abort();
}

static void resolve_all(const struct lc_iceberg_metadata *metadata)
{
    resolve(metadata, "to", "latest", "false");
    resolve(metadata, "from", "2020-01-01", "true");
    for (size_t i = 0; i < metadata->n_snapshots && i < 20; i++) {
        LC_BUF struct lc_buf id;
        lc_buf_init(&id, 64);
        lc_buf_printf(&id, "%lld", (long long)metadata->snapshots[i].id);
        if (lc_iceberg_snapshot_find(metadata, metadata->snapshots[i].id) != &metadata->snapshots[i])
            abort();
        resolve(metadata, "from", id.p, "true");
        resolve(metadata, "to", id.p, "false");
    }
    for (size_t i = 0; i < metadata->n_refs && i < 20; i++)
        resolve(metadata, "branch", metadata->refs[i].name, "false");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LC_CLEANUP(lc_iceberg_metadata_done) struct lc_iceberg_metadata metadata = {0};
    LC_ERROR lcdc_error *err = NULL;
    if (lc_iceberg_metadata_parse((struct lc_str){(const char *)data, size}, "fuzz", &metadata, &err) != LCDC_OK)
        return 0;
    touch_types(&metadata);
    resolve_all(&metadata);
    return 0;
}
