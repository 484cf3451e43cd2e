/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.h - a request's bounds as a chain of snapshots.
 *
 * The parents of the end decide, nothing else: not the snapshot log, which rollbacks make a bad order, and not times,
 * which need not rise.
 */
#ifndef LC_ICEBERG_RANGE_H
#define LC_ICEBERG_RANGE_H

#include "core/request.h"
#include "iceberg/metadata.h"

struct lc_iceberg_range {
    size_t n;
    const struct lc_iceberg_snapshot *const *commits; /* oldest first, each the next one's parent */
    const struct lc_iceberg_snapshot *before;         /* the state before the first; NULL: nothing, or expired */
    bool before_is_gone;                              /* there was a state before, and it has been expired */
    const struct lc_iceberg_snapshot *end;            /* the state at the end; NULL: nothing */
};

/** What is in `out` lives in the metadata and in `arena`. */
lcdc_status lc_iceberg_range_resolve(const struct lc_iceberg_metadata *metadata, const lcdc_request *request,
                                     struct lc_arena *arena, struct lc_iceberg_range *out, lcdc_error **err);

/** True when a snapshot's own changes can be told without its parent: it removed nothing, by what its operation means.
 */
bool lc_iceberg_stands_alone(const struct lc_iceberg_snapshot *snapshot);

#endif
