/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stayed.h - the data files that a snapshot and its parent share and that other deletes apply to than before.
 */
#ifndef LC_ICEBERG_STAYED_H
#define LC_ICEBERG_STAYED_H

#include "iceberg/deletes.h"
#include "iceberg/live.h"

/** What a snapshot and its parent list, and the data files that came and went. */
struct lc_iceberg_step {
    struct lc_iceberg_list before, after;
    struct lc_iceberg_files added, removed;
};

/**
 * Every data file that may have lost or regained rows, with statistics; what they point to lives in `arena`. `deletes`
 * reads delete files, where asking them which data files they name is less than to look through all manifests.
 */
lcdc_status lc_iceberg_stayed_find(struct lc_iceberg_table *table, struct lc_iceberg_cache *cache,
                                   struct lc_iceberg_deletes *deletes, const struct lc_iceberg_step *step,
                                   struct lc_arena *arena, struct lc_iceberg_files *out, lcdc_error **err);

#endif
