/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - manifest lists and manifests, by field id, with what entries inherit filled in.
 *
 * Entries are handed out one at a time and forgotten; who needs one later copies it. Only live ones are: what a
 * snapshot removed is found by comparing live entries, because a DELETED entry may be missing (writers drop manifests
 * whose entries are all dead).
 */
#ifndef LC_ICEBERG_MANIFEST_H
#define LC_ICEBERG_MANIFEST_H

#include "iceberg/file.h"
#include "iceberg/metadata.h"
#include "io/storage.h"

/** What it takes to read a table's files. Borrowed by all that is made with it. */
struct lc_iceberg_table {
    struct lc_storage *storage;
    const struct lc_path_map *path_map;
    struct lc_iceberg_metadata *metadata;
};

/** As many manifests are fetched at a time, where the store is remote. */
enum { LC_ICEBERG_MANIFESTS_AHEAD = 16 };

/** What the partition values of a manifest's files lie between, for one field of its spec. */
struct lc_iceberg_summary {
    bool may_be_null;
    bool has_bounds;            /* of the values that are not null; without them nothing is known */
    struct lc_str lower, upper; /* single-value serialisation */
};

struct lc_iceberg_manifest {
    const char *path; /* as the list spells it: its identity */
    int64_t length;   /* bytes, as the list says; -1 where it does not */
    bool is_deletes;
    const struct lc_iceberg_spec *spec;
    size_t n_summaries; /* one a field of the spec, or none */
    const struct lc_iceberg_summary *summaries;
    int64_t sequence;     /* of the snapshot that wrote it; 0 in v1 */
    int64_t newest;       /* no file in it has a higher sequence number; INT64_MAX where the list does not say */
    int64_t snapshot_id;  /* that added it */
    int64_t first_row_id; /* -1: none */
};

/** The manifests of a snapshot, sorted by path. A path that occurs twice is an error. */
lcdc_status lc_iceberg_manifests_read(struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot,
                                      struct lc_arena *arena, size_t *n_out, struct lc_iceberg_manifest **out,
                                      lcdc_error **err);

/** Fetches a snapshot's manifest list while something else is done, where the store is remote. */
void lc_iceberg_manifests_want(const struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot);

/** Fetches a manifest while something else is done, where the store is remote. */
void lc_iceberg_manifest_want(const struct lc_iceberg_table *table, const struct lc_iceberg_manifest *manifest);

/** False when the list proves that no file of this partition is in the manifest. */
bool lc_iceberg_manifest_may_hold(const struct lc_iceberg_manifest *manifest, const struct lc_iceberg_file *file);

/** Gets each live entry; `file` and all it points to are gone after the call. */
typedef lcdc_status (*lc_iceberg_visit)(void *context, const struct lc_iceberg_file *file, lcdc_error **err);
lcdc_status lc_iceberg_manifest_visit(struct lc_iceberg_table *table, const struct lc_iceberg_manifest *manifest,
                                      lc_iceberg_visit visit, void *context, lcdc_error **err);

/** A copy that lives in `arena`; without the columns' statistics when they are not wanted. */
lcdc_status lc_iceberg_file_copy(const struct lc_iceberg_file *file, bool with_stats, struct lc_arena *arena,
                                 struct lc_iceberg_file *out, lcdc_error **err);

/** Where a path of the table's metadata is now, for I/O; `what` is for the message. */
lcdc_status lc_iceberg_url(const struct lc_iceberg_table *table, struct lc_str path, const char *what,
                           struct lc_arena *arena, const char **out, lcdc_error **err);

#endif
