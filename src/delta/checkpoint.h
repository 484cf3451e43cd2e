/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the actions of a checkpoint: classic, multi-part and v2, Parquet and JSON, with sidecars.
 */
#ifndef LC_DELTA_CHECKPOINT_H
#define LC_DELTA_CHECKPOINT_H

#include "delta/action.h"
#include "delta/log.h"

typedef lcdc_status (*lc_delta_visit)(void *context, const struct lc_delta_action *action, lcdc_error **err);

/**
 * Visits protocol and metaData, and with `files` every add too. Texts of visited actions live in `arena`. Removes in a
 * checkpoint are tombstones and are left out.
 */
lcdc_status lc_delta_checkpoint_read(const struct lc_delta_log *log, const struct lc_delta_checkpoint *checkpoint,
                                     bool files, struct lc_arena *arena, lc_delta_visit visit, void *context,
                                     lcdc_error **err);

#endif
