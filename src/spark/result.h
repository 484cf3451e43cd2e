/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h - a query's result as Arrow batches of one schema.
 */
#ifndef LC_SPARK_RESULT_H
#define LC_SPARK_RESULT_H

#include "base/arrow.h"
#include "spark/operation.h"

struct lc_spark_result {
    struct lc_arena arena;
    struct lc_spark_operation *operation;
    struct lc_field columns; /* STRUCT; once has_schema */
    bool has_schema;
    struct ArrowArray *waiting; /* batches of the last message that were not taken yet */
    size_t n_waiting, at_waiting;
    int64_t row_bytes; /* what a row of the last message takes, on average */
};

lcdc_status lc_spark_result_open(struct lc_spark_session *session, const char *sql, struct lc_spark_result **out,
                                 lcdc_error **err);
/** The next batch, a struct array of result->columns without offset; *more false after the last. */
lcdc_status lc_spark_result_next(struct lc_spark_result *result, struct ArrowArray *out, bool *more, lcdc_error **err);
void lc_spark_result_free(struct lc_spark_result *result);
LC_DEFINE_CLEANUP(struct lc_spark_result *, lc_spark_result_free)

/** Calls `visit` for every row of a result that is known to be small. */
typedef lcdc_status (*lc_spark_row_fn)(void *context, const struct lc_field *columns, const struct ArrowArray *batch,
                                       int64_t row, lcdc_error **err);
lcdc_status lc_spark_each_row(struct lc_spark_session *session, const char *sql, lc_spark_row_fn visit, void *context,
                              lcdc_error **err);

/* Values of a row by the column's name; false when there is no such column, it has another type or the value is null.
 */
bool lc_spark_get_int(const struct lc_field *columns, const struct ArrowArray *batch, const char *name, int64_t row,
                      int64_t *out);
bool lc_spark_get_str(const struct lc_field *columns, const struct ArrowArray *batch, const char *name, int64_t row,
                      struct lc_str *out);
/** The value of a key in a map of texts. */
bool lc_spark_get_entry(const struct lc_field *columns, const struct ArrowArray *batch, const char *name, int64_t row,
                        const char *key, struct lc_str *out);

#endif
