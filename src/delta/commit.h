/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.h - one version of the log as a commit of the scan: which rows it removed and added, and the cheapest exact
 * way to read that.
 */
#ifndef LC_DELTA_COMMIT_H
#define LC_DELTA_COMMIT_H

#include "delta/file.h"
#include "delta/table.h"

struct lc_delta_planner {
    struct lc_delta_log *log;
    const struct lc_delta_timeline *timeline;
    struct lc_delta_files files;
    int64_t last; /* the last version that will be planned */
    /* the state before a commit, read only when an action leaves something out, and only of such files */
    struct lc_delta_snapshot before;
    bool has_before;
    struct lc_delta_paths lean; /* files of removes up to version lean_to */
    int64_t lean_to;
};
void lc_delta_planner_done(struct lc_delta_planner *planner);

/** Fills a zeroed commit. */
lcdc_status lc_delta_plan_commit(struct lc_delta_planner *planner, int64_t version, struct lc_commit *out,
                                 lcdc_error **err);

/** Every live row of a version, as added rows. */
lcdc_status lc_delta_plan_state(struct lc_delta_planner *planner, int64_t version, struct lc_commit *out,
                                lcdc_error **err);

#endif
