/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h - what a failed call says of itself: Spark's class, SQLSTATE and text, and whether trying again may help.
 */
#ifndef LC_SPARK_FAULT_H
#define LC_SPARK_FAULT_H

#include "base/arena.h"
#include "spark/frames.h"

struct lc_spark_fault {
    int code;                /* gRPC's */
    const char *text;        /* never NULL */
    const char *error_class; /* "TABLE_OR_VIEW_NOT_FOUND"; NULL unknown, as the others are */
    const char *sql_state;
    const char *java_class;
    const char *error_id; /* the key to the whole text */
    bool has_retry;       /* the server itself says that trying again may help, ... */
    int64_t retry_ms;     /* ... after so long */
};

/** What cannot be understood is left out; texts live in `arena`. */
lcdc_status lc_spark_fault_parse(const struct lc_grpc_end *end, struct lc_arena *arena, struct lc_spark_fault *out,
                                 lcdc_error **err);
/** Puts the answer of FetchErrorDetails in, where it says more. */
lcdc_status lc_spark_fault_complete(struct lc_str reply, struct lc_arena *arena, struct lc_spark_fault *fault,
                                    lcdc_error **err);
bool lc_spark_fault_is(const struct lc_spark_fault *fault, const char *error_class);
bool lc_spark_fault_is_retriable(const struct lc_spark_fault *fault);
/** The error object; `secrets` that the text repeats are blotted out. */
lcdc_status lc_spark_fault_raise(const struct lc_spark_fault *fault, size_t n_secrets, const char *const *secrets,
                                 lcdc_error **err);

#endif
