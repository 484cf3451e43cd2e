/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deletes.h - which rows of a data file are dead, before a snapshot and after it.
 *
 * One object for a whole read. For each snapshot it is told the live delete files of both sides; it then makes row
 * sets: the rows of a file that are alive on a side, and the rows whose life changed between the sides. Every delete
 * file is read once as long as one snapshot's `after` is the next one's `before`.
 */
#ifndef LC_ICEBERG_DELETES_H
#define LC_ICEBERG_DELETES_H

#include "iceberg/metadata.h"
#include "io/storage.h"
#include "scan/rows.h"

struct lc_iceberg_deletes;

/** What is borrowed for the life of the object. */
struct lc_iceberg_delete_context {
    struct lc_storage *storage;
    const struct lc_path_map *path_map;
    struct lc_iceberg_metadata *metadata;
    int64_t memory_limit;               /* for cached positions, bytes */
    const struct lc_scan_context *scan; /* whose cancellation counts; may be NULL */
};

enum lc_iceberg_side { LC_ICEBERG_BEFORE = 0, LC_ICEBERG_AFTER = 1 };

lcdc_status lc_iceberg_deletes_new(const struct lc_iceberg_delete_context *context, struct lc_iceberg_deletes **out,
                                   lcdc_error **err);
void lc_iceberg_deletes_free(struct lc_iceberg_deletes *deletes);
LC_DEFINE_CLEANUP(struct lc_iceberg_deletes *, lc_iceberg_deletes_free)

/**
 * The delete files (content 1 and 2) that are live before and after a snapshot. Both arrays are borrowed until the next
 * call; row sets made earlier end with it. A state has one side only: give it as `after`, and no `before`.
 */
lcdc_status lc_iceberg_deletes_set(struct lc_iceberg_deletes *deletes, size_t n_before,
                                   const struct lc_iceberg_file *before, size_t n_after,
                                   const struct lc_iceberg_file *after, lcdc_error **err);

/** The rows of a data file that are alive on a side. What `out` points to lives in `arena`. */
lcdc_status lc_iceberg_rows_alive(struct lc_iceberg_deletes *deletes, enum lc_iceberg_side side,
                                  const struct lc_iceberg_file *data, const struct lc_data_file *file,
                                  struct lc_arena *arena, struct lc_row_set *out, lcdc_error **err);

/**
 * The rows of a data file that is there on both sides which are alive on side `alive` and dead on the other: lost rows
 * for LC_ICEBERG_BEFORE, rows that came back for LC_ICEBERG_AFTER. *any false: no delete file that applies has changed
 * in that direction, `out` is untouched. Each row is in the set once, however many delete files hit it.
 */
lcdc_status lc_iceberg_rows_changed(struct lc_iceberg_deletes *deletes, enum lc_iceberg_side alive,
                                    const struct lc_iceberg_file *data, const struct lc_data_file *file,
                                    struct lc_arena *arena, struct lc_row_set *out, bool *any, lcdc_error **err);

/**
 * Whether a delete file applies to a data file, as far as the manifests tell; a vector that a side has may still stand
 * above it. `spec` is the delete file's.
 */
bool lc_iceberg_delete_applies(const struct lc_iceberg_file *file, const struct lc_iceberg_spec *spec,
                               const struct lc_iceberg_file *data);
/** The one data file that a delete file is about; n 0: it may be about several. */
struct lc_str lc_iceberg_delete_target(const struct lc_iceberg_file *file);

/**
 * The data files that a position delete file names, sorted, in `arena`: the file is read for that, unless it has been.
 * What was read of it is kept for the row sets.
 */
lcdc_status lc_iceberg_delete_names(struct lc_iceberg_deletes *deletes, const struct lc_iceberg_file *file,
                                    struct lc_arena *arena, size_t *n_out, const struct lc_str **out, lcdc_error **err);

/** True when rows_changed() for this file depends on equality deletes (the method's name says so). */
bool lc_iceberg_changed_by_keys(const struct lc_iceberg_deletes *deletes, const struct lc_iceberg_file *data);

#endif
