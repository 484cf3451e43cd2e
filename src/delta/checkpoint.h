/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the actions of a checkpoint: classic, multi-part and v2, Parquet and JSON, with sidecars.
 */
#ifndef LC_DELTA_CHECKPOINT_H
#define LC_DELTA_CHECKPOINT_H

#include "delta/action.h"
#include "delta/log.h"

typedef lcdc_status (*lc_delta_visit)(void *context, const struct lc_delta_action *action, lcdc_error **err);

/** Some files by path, decoded. */
struct lc_delta_paths {
    size_t n, cap;
    struct lc_str *items; /* sorted by lc_delta_paths_sort() */
};
lcdc_status lc_delta_paths_add(struct lc_delta_paths *paths, struct lc_str path, lcdc_error **err);
void lc_delta_paths_sort(struct lc_delta_paths *paths);
bool lc_delta_paths_has(const struct lc_delta_paths *paths, struct lc_str path);
void lc_delta_paths_done(struct lc_delta_paths *paths);

/** What of a checkpoint is wanted. */
struct lc_delta_wanted {
    bool state;                        /* protocol and metaData */
    bool files;                        /* adds */
    const struct lc_delta_paths *only; /* of these files; NULL: of all */
};

/**
 * Visits what is wanted; the rest is not decoded, nor read where the file's statistics tell where it is. Texts of
 * visited actions live in `arena`. Removes in a checkpoint are tombstones and are left out.
 */
lcdc_status lc_delta_checkpoint_read(const struct lc_delta_log *log, const struct lc_delta_checkpoint *checkpoint,
                                     const struct lc_delta_wanted *wanted, struct lc_arena *arena, lc_delta_visit visit,
                                     void *context, lcdc_error **err);

#endif
