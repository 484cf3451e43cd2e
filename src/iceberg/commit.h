/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.h - one snapshot, or the state of a table at one, as row sets for scan/.
 */
#ifndef LC_ICEBERG_COMMIT_H
#define LC_ICEBERG_COMMIT_H

#include "iceberg/deletes.h"
#include "iceberg/live.h"

/** One commit at a time: a commit's row sets end when the next one is planned. */
struct lc_iceberg_planner {
    struct lc_iceberg_table *table;
    const struct lc_field *schema; /* of the rows to be read */
    struct lc_iceberg_deletes *deletes;
    struct lc_iceberg_cache cache;
};
lcdc_status lc_iceberg_planner_init(struct lc_iceberg_planner *planner, struct lc_iceberg_table *table,
                                    const struct lc_field *schema, const struct lc_scan_context *scan,
                                    int64_t memory_limit, lcdc_error **err);
void lc_iceberg_planner_done(struct lc_iceberg_planner *planner);

/** Fills a zeroed commit with what `snapshot` changed. `before` is its parent; NULL when it has none, or none is left.
 */
lcdc_status lc_iceberg_plan_commit(struct lc_iceberg_planner *planner, const struct lc_iceberg_snapshot *snapshot,
                                   const struct lc_iceberg_snapshot *before, struct lc_commit *out, lcdc_error **err);

/** Fetches what planning these commits will read first, while something else is done, where the store is remote. */
void lc_iceberg_plan_ahead(const struct lc_iceberg_planner *planner, size_t n,
                           const struct lc_iceberg_snapshot *const *snapshots);

/** Fills a zeroed commit with all rows of a snapshot as `added`; without a snapshot there are none. */
lcdc_status lc_iceberg_plan_state(struct lc_iceberg_planner *planner, const struct lc_iceberg_snapshot *snapshot,
                                  struct lc_commit *out, lcdc_error **err);

#endif
