/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation.h - one statement that runs on the server, its result taken batch by batch.
 *
 * Operations are reattachable: a stream that ends early (the server's own limit, a broken line) is taken up after the
 * last response that was seen. What the server says of each batch's place is held against what came: a gap or a repeat
 * is an error. Freeing an operation, wherever it stands, stops its job and releases what the server holds of it.
 */
#ifndef LC_SPARK_OPERATION_H
#define LC_SPARK_OPERATION_H

#include "spark/session.h"

struct lc_spark_operation;

struct lc_spark_batch {
    struct lc_str ipc;      /* a whole Arrow IPC stream; borrowed until the next call */
    struct lc_buf *takable; /* where those bytes may be taken from; NULL: they are part of something else */
    int64_t rows;           /* what the server says it holds */
};

/** Begins a query; nothing is waited for yet. */
lcdc_status lc_spark_query(struct lc_spark_session *session, const char *sql, struct lc_spark_operation **out,
                           lcdc_error **err);
/** The next batch; *more false after the last, when the result is known to be whole. */
lcdc_status lc_spark_operation_next(struct lc_spark_operation *operation, struct lc_spark_batch *out, bool *more,
                                    lcdc_error **err);
void lc_spark_operation_free(struct lc_spark_operation *operation);
LC_DEFINE_CLEANUP(struct lc_spark_operation *, lc_spark_operation_free)

/** Runs a statement for what it does (CALL, DROP VIEW). */
lcdc_status lc_spark_command(struct lc_spark_session *session, const char *sql, lcdc_error **err);

#endif
