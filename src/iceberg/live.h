/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - which files a snapshot has, and which of them its parent did not have.
 *
 * Manifests that both lists name hold the same files, so they are not opened for the difference. In the others a path
 * that is live on both sides is no change, whatever the entries' statuses say.
 */
#ifndef LC_ICEBERG_LIVE_H
#define LC_ICEBERG_LIVE_H

#include "iceberg/manifest.h"

/** A snapshot's manifest list; empty for no snapshot. */
struct lc_iceberg_list {
    size_t n;
    struct lc_iceberg_manifest *manifests; /* sorted by path */
};
lcdc_status lc_iceberg_list_read(struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot,
                                 struct lc_arena *arena, struct lc_iceberg_list *out, lcdc_error **err);

/** Data files, sorted by path. */
struct lc_iceberg_files {
    size_t n, cap;
    struct lc_iceberg_file *items;
};
void lc_iceberg_files_done(struct lc_iceberg_files *files);
/** Appends a copy that lives in `arena`. */
lcdc_status lc_iceberg_files_push(struct lc_iceberg_files *files, const struct lc_iceberg_file *file, bool with_stats,
                                  struct lc_arena *arena, lcdc_error **err);
const struct lc_iceberg_file *lc_iceberg_files_find(const struct lc_iceberg_files *files, struct lc_str path);

/** The data files that only `after` has, and those that only `before` has. Texts live in `arena`. */
lcdc_status lc_iceberg_data_difference(struct lc_iceberg_table *table, const struct lc_iceberg_list *before,
                                       const struct lc_iceberg_list *after, struct lc_arena *arena,
                                       struct lc_iceberg_files *added, struct lc_iceberg_files *removed,
                                       lcdc_error **err);

/** What a snapshot added, from its own list alone: right for one that removed nothing. */
lcdc_status lc_iceberg_data_added(struct lc_iceberg_table *table, const struct lc_iceberg_list *list,
                                  int64_t snapshot_id, struct lc_arena *arena, struct lc_iceberg_files *added,
                                  lcdc_error **err);

/** All data files of a snapshot. */
lcdc_status lc_iceberg_data_live(struct lc_iceberg_table *table, const struct lc_iceberg_list *list,
                                 struct lc_arena *arena, struct lc_iceberg_files *out, lcdc_error **err);

/* ---- manifests that one snapshot after the other asks for ---- */

/** Entries of manifests as they were read. Those of deletes are always kept, those of data while there is room. */
struct lc_iceberg_cache {
    size_t n, cap;
    struct lc_iceberg_cached **items; /* sorted by path */
    size_t bytes, max;                /* of all entries; data is not kept past `max` */
};
void lc_iceberg_cache_done(struct lc_iceberg_cache *cache);
/** Forgets what neither list names. What was handed out before may be gone. */
void lc_iceberg_cache_trim(struct lc_iceberg_cache *cache, const struct lc_iceberg_list *a,
                           const struct lc_iceberg_list *b);

/**
 * The live delete files of a snapshot, of the manifests whose flag in `needed` is set (NULL: of all): an array in
 * `arena` whose insides live in the cache.
 */
lcdc_status lc_iceberg_deletes_live(struct lc_iceberg_table *table, struct lc_iceberg_cache *cache,
                                    const struct lc_iceberg_list *list, const bool *needed, struct lc_arena *arena,
                                    size_t *n_out, const struct lc_iceberg_file **out, lcdc_error **err);
/** Visits every data file of one manifest. */
lcdc_status lc_iceberg_data_visit(struct lc_iceberg_table *table, struct lc_iceberg_cache *cache,
                                  const struct lc_iceberg_manifest *manifest, lc_iceberg_visit visit, void *context,
                                  lcdc_error **err);

/** Sets the flag of each manifest of deletes in `list` that `other` does not name. */
void lc_iceberg_own_deletes(const struct lc_iceberg_list *list, const struct lc_iceberg_list *other, bool *flags);
/** Sets the flag of each manifest of deletes that may hold one that applies to one of the data files. */
void lc_iceberg_deletes_for(const struct lc_iceberg_list *list, const struct lc_iceberg_files *files, bool *flags);
/** Fetches the manifests from number `first` on whose flag is set, a few at a time, where the store is remote. */
void lc_iceberg_want_ahead(const struct lc_iceberg_table *table, const struct lc_iceberg_list *list, const bool *flags,
                           size_t first);

#endif
