/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column.h - columns that a transform makes: a constant, truth values, a column in another type.
 *
 * Each is as long as the image it belongs to, and null where the image is.
 */
#ifndef LC_SYNC_COLUMN_H
#define LC_SYNC_COLUMN_H

#include "base/arrow.h"

lcdc_status lc_column_constant(const struct ArrowArray *image, const struct lc_value *value, struct ArrowArray *out,
                               lcdc_error **err);
/** True where `yes` is 1, false where `no` is, null where neither is. */
lcdc_status lc_column_truth(const struct ArrowArray *image, const uint8_t *yes, const uint8_t *no,
                            struct ArrowArray *out, lcdc_error **err);

/** Whether some value of a type can be one of another. */
bool lc_column_can_cast(struct lc_type from, struct lc_type to);
/** Each value in another type, exactly; LC_R_SYNC_CAST for one that does not fit. */
lcdc_status lc_column_cast(const struct ArrowArray *column, const char *name, struct lc_type from, struct lc_type to,
                           struct ArrowArray *out, lcdc_error **err);

/** One value, kept in `arena`; NULL when it does not fit. */
lcdc_status lc_column_cast_value(const struct lc_value *value, struct lc_type to, struct lc_arena *arena,
                                 const struct lc_value **out, lcdc_error **err);

/** A struct array of `columns` (moved out of their places), null where `image` is. */
lcdc_status lc_column_assemble(const struct lc_field *images, const struct ArrowArray *image,
                               struct ArrowArray *take_columns, struct ArrowArray *out, lcdc_error **err);

#endif
