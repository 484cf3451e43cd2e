/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - which column of a result is what: data columns first, then those that the engine adds.
 *
 * What an engine adds stands at the end, in a known order. It is told from data by that place, never by its name, so a
 * table's own column may be called _change_type.
 */
#ifndef LC_SPARK_LAYOUT_H
#define LC_SPARK_LAYOUT_H

#include "core/backend.h"
#include "spark/sql.h"

enum { LC_NO_COLUMN = -1 };

struct lc_spark_layout {
    const struct lc_field *result; /* STRUCT: the columns of the result */
    const struct lc_field *images; /* STRUCT: those wanted */
    size_t *columns;               /* of each image column: where it stands in the result; in an arena */
    int op, commit, ts, metadata;  /* LC_NO_COLUMN: not there */
};

/** `n_table`: how many columns the table has where * was selected, else how many were named. */
lcdc_status lc_spark_layout_find(enum lc_sql_source source, const struct lc_field *result,
                                 const struct lc_field *images, size_t n_table, struct lc_arena *arena,
                                 struct lc_spark_layout *out, lcdc_error **err);
/** The image columns of a batch, in the types that are wanted. Consumes the batch's data columns. */
lcdc_status lc_spark_layout_images(const struct lc_spark_layout *layout, struct ArrowArray *batch,
                                   struct ArrowArray *out, lcdc_error **err);
lcdc_status lc_spark_layout_op(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row,
                               lcdc_op *out, lcdc_error **err);
lcdc_status lc_spark_layout_commit(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row,
                                   int64_t *out, lcdc_error **err);
/** False where the result has no time. */
bool lc_spark_layout_ts(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row,
                        int64_t *out);
bool lc_spark_layout_row_id(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row,
                            int64_t *out);

#endif
