/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are read as a manifest list and as a manifest of either content, of a table with one partition spec. Every
 * entry is copied, made a data file, and asked for statistics; then the list stands on both sides of a difference.
 */
#include <stdlib.h>
#include <string.h>

#include "iceberg/data_file.h"
#include "iceberg/live.h"
#include "support/memory_storage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char metadata[] =
    "{\"format-version\":3,\"table-uuid\":\"u\",\"location\":\"/t\",\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,"
    "\"fields\":[{\"id\":1,\"name\":\"id\",\"type\":\"long\"},{\"id\":2,\"name\":\"name\",\"type\":\"string\"},"
    "{\"id\":3,\"name\":\"amount\",\"type\":\"decimal(12,2)\"},{\"id\":5,\"name\":\"ratio\",\"type\":\"double\"},"
    "{\"id\":7,\"name\":\"day\",\"type\":\"date\"},{\"id\":8,\"name\":\"at\",\"type\":\"timestamptz\"}]}],"
    "\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":["
    "{\"source-id\":2,\"field-id\":1000,\"name\":\"n\",\"transform\":\"identity\"},{\"source-id\":1,\"field-id\":1001,"
    "\"name\":\"b\",\"transform\":\"bucket[4]\"}]}],\"snapshots\":[{\"snapshot-id\":1,\"timestamp-ms\":1,"
    "\"manifest-list\":\"/t/fuzz\"}],\"current-snapshot-id\":1}";

static lcdc_status touch(void *context, const struct lc_iceberg_file *file, lcdc_error **err)
{
    struct lc_iceberg_table *table = context;
    LC_ARENA struct lc_arena arena = {0};
    const struct lc_field *schema = NULL;
    const struct lc_data_file *made = NULL;
    struct lc_iceberg_file copy;
    LC_TRY(lc_iceberg_file_copy(file, true, &arena, &copy, err));
    if (!lc_iceberg_partition_equal(&copy, file) || copy.data_sequence < 0 || copy.record_count < 0)
        abort();
    LC_TRY(lc_iceberg_schema_get(table->metadata, 0, &schema, err));
    if (lc_iceberg_data_file(table, schema, &copy, &arena, &made, NULL) != LCDC_OK)
        return LCDC_OK;
    for (size_t i = 0; i < schema->n_children; i++) {
        struct lc_column_stats stats;
        if (made->stats(made, &schema->children[i], &arena, &stats) && stats.min && stats.max)
            (void)lc_value_compare(stats.min, stats.max);
    }
    return LCDC_OK;
}

static void read_manifest(struct lc_iceberg_table *table, bool is_deletes, int spec_id)
{
    const struct lc_iceberg_spec *spec = NULL;
    if (lc_iceberg_spec_get(table->metadata, spec_id, &spec, NULL) != LCDC_OK)
        return;
    struct lc_iceberg_manifest manifest = {
        .path = "/t/fuzz", .is_deletes = is_deletes, .spec = spec, .sequence = 3, .snapshot_id = 1, .first_row_id = 5};
    (void)lc_iceberg_manifest_visit(table, &manifest, touch, table, NULL);
}

static void read_list(struct lc_iceberg_table *table)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_CLEANUP(lc_iceberg_files_done) struct lc_iceberg_files added = {0};
    LC_CLEANUP(lc_iceberg_files_done) struct lc_iceberg_files removed = {0};
    struct lc_iceberg_list list = {0}, none = {0};
    if (lc_iceberg_list_read(table, lc_iceberg_snapshot_find(table->metadata, 1), &arena, &list, NULL) != LCDC_OK)
        return;
    for (size_t i = 1; i < list.n; i++)
        if (strcmp(list.manifests[i - 1].path, list.manifests[i].path) >= 0)
            abort();
    bool *own = lc_arena_array(&arena, list.n, sizeof(*own));
    if (!own)
        return;
    lc_iceberg_own_deletes(&list, &list, own);
    for (size_t i = 0; i < list.n; i++) {
        struct lc_iceberg_file like = {.spec_id = list.manifests[i].spec->id};
        if (own[i]) /* of what both have nothing is one's own */
            abort();
        (void)lc_iceberg_manifest_may_hold(&list.manifests[i], &like);
    }
    (void)lc_iceberg_data_difference(table, &none, &list, &arena, &added, &removed, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = NULL;
    struct lc_iceberg_metadata made = {0};
    struct lc_iceberg_table table = {.metadata = &made};
    if (lc_memory_storage(&storage, NULL) != LCDC_OK ||
        lc_memory_storage_add(storage, "/t/fuzz", data, size, NULL) != LCDC_OK)
        return 0;
    table.storage = storage;
    if (lc_iceberg_metadata_parse(LC_STR(metadata), "fuzz", &made, NULL) != LCDC_OK)
        abort();
    read_list(&table);
    read_manifest(&table, false, 0);
    read_manifest(&table, false, 1);
    read_manifest(&table, true, 0);
    lc_iceberg_metadata_done(&made);
    return 0;
}
