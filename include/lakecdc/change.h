/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - the change row: what every backend produces, exactly.
 *
 *   op        utf8, not null       insert | delete | update_before | update_after | update
 *   before    struct<columns>      the old image; null for insert and update_after
 *   after     struct<columns>      the new image, of the identical type; null for delete and update_before
 *   snapshot  int64                Delta version, Iceberg snapshot id, Spark _commit_version
 *   ts        timestamp[us, UTC]   commit time
 *
 * Rows come in commit order. Inside one commit deletes and update_before come before inserts and update_after of the
 * same identity. `update` (both images in one row) appears only when the request folds. The image columns are the
 * table's columns at the end of the range, or the projection of the request; each is nullable; a column keeps its
 * identity over renames, older rows read null (or the column's default) for newer columns.
 */
#ifndef LAKECDC_CHANGE_H
#define LAKECDC_CHANGE_H

#include "base.h"
#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Values are pinned. */
typedef enum lcdc_op {
    LCDC_OP_INSERT = 1,
    LCDC_OP_DELETE = 2,
    LCDC_OP_UPDATE_BEFORE = 3,
    LCDC_OP_UPDATE_AFTER = 4,
    LCDC_OP_UPDATE = 5
} lcdc_op;

/** Positions of the five columns in a change batch. */
enum {
    LCDC_COL_OP = 0,
    LCDC_COL_BEFORE = 1,
    LCDC_COL_AFTER = 2,
    LCDC_COL_SNAPSHOT = 3,
    LCDC_COL_TS = 4,
    LCDC_COLS = 5
};

/** The word of an op as it stands in the `op` column. Static text; "" for a value that is none. Any thread. */
LCDC_EXPORT const char *lcdc_op_name(lcdc_op op);

/**
 * Reads an op word of either dialect, in any letter case: insert, delete, update_preimage, update_postimage (Delta,
 * Spark 4.2), update_before, update_after (Iceberg's changelog view), update. `length` is in bytes; the text need not
 * be terminated. An unknown word is LCDC_CORRUPT ("change.unknown_op"): a change that is dropped in silence is the
 * failure that matters most.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_op_parse(const char *word, size_t length, lcdc_op *out, lcdc_error **err);

#ifdef __cplusplus
}
#endif
#endif
