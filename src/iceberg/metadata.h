/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata.h - a table's metadata file: schemas, partition specs, snapshots, references.
 *
 * It is read whole and checked once; what depends on a column's type is worked out when it is first asked for, so that
 * a schema nobody reads cannot stop a read. Snapshots are taken from the text one at a time, for there may be many;
 * logs and statistics are not looked at.
 */
#ifndef LC_ICEBERG_METADATA_H
#define LC_ICEBERG_METADATA_H

#include "base/arena.h"
#include "base/field.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"
#include "io/json.h"

struct lc_iceberg_snapshot {
    int64_t id, parent_id; /* parent_id -1: none */
    int64_t sequence;      /* 0 in v1 */
    int64_t ts_ms;
    int32_t schema_id; /* -1: not recorded */
    bool is_encrypted;
    const char *operation;     /* "" when not recorded */
    const char *manifest_list; /* NULL: `manifests` instead (v1) */
    size_t n_manifests;
    const char **manifests;
};

struct lc_iceberg_ref {
    const char *name;
    int64_t snapshot_id;
    bool is_branch;
};

struct lc_iceberg_schema {
    int32_t id;
    const struct json_t *json;
    const struct lc_field *root; /* NULL until asked for */
};

struct lc_iceberg_metadata {
    struct lc_arena arena;
    const char *path; /* where it was read from, for messages */
    int version;      /* 1, 2 or 3 */
    const char *uuid, *location;
    int64_t last_updated_ms;     /* -1: not recorded */
    int64_t current_snapshot_id; /* -1: the table is empty */
    int32_t current_schema_id;
    size_t n_schemas, n_specs, n_snapshots, n_refs;
    struct lc_iceberg_schema *schemas;
    struct lc_iceberg_spec *specs;
    struct lc_iceberg_snapshot *snapshots; /* sorted by id */
    struct lc_iceberg_ref *refs;
    struct lc_iceberg_names names;
};

/** Reads a metadata file's text (plain JSON). Free with lc_iceberg_metadata_done(), also after a failure. */
lcdc_status lc_iceberg_metadata_parse(struct lc_str text, const char *path, struct lc_iceberg_metadata *out,
                                      lcdc_error **err);
void lc_iceberg_metadata_done(struct lc_iceberg_metadata *metadata);

/** NULL when there is none. */
const struct lc_iceberg_snapshot *lc_iceberg_snapshot_find(const struct lc_iceberg_metadata *metadata, int64_t id);
const struct lc_iceberg_ref *lc_iceberg_ref_find(const struct lc_iceberg_metadata *metadata, const char *name);

/** The spec with this id, the types of its source columns filled in. */
lcdc_status lc_iceberg_spec_get(struct lc_iceberg_metadata *metadata, int64_t id, const struct lc_iceberg_spec **out,
                                lcdc_error **err);

/** The columns of the schema with this id, as a STRUCT that lives as long as the metadata. */
lcdc_status lc_iceberg_schema_get(struct lc_iceberg_metadata *metadata, int32_t id, const struct lc_field **out,
                                  lcdc_error **err);
/** The id of the schema that a snapshot's rows are shown in. */
int32_t lc_iceberg_schema_of(const struct lc_iceberg_metadata *metadata, const struct lc_iceberg_snapshot *snapshot);

/**
 * A column by id, nested ones included, in the current schema or the newest other that has it, so that the widest type
 * a column ever had is found. `out_top` is its top-level ancestor (or itself). NULL when no schema has it.
 */
lcdc_status lc_iceberg_column_find(struct lc_iceberg_metadata *metadata, int32_t id, const struct lc_field **out_top,
                                   const struct lc_field **out, lcdc_error **err);

#endif
