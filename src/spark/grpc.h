/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.h - gRPC calls over HTTP/2: a packed request out, messages in one at a time, and how it ended.
 *
 * A call that broke off ends like one that the server ended, with gRPC's own code for it, so that who retries looks at
 * one thing. Deadlines and cancels are errors at once.
 */
#ifndef LC_SPARK_GRPC_H
#define LC_SPARK_GRPC_H

#include "io/http2_stream.h"
#include "spark/frames.h"
#include "spark/url.h"

/* gRPC's status codes, as far as they mean something to us. */
enum {
    LC_GRPC_OK = 0,
    LC_GRPC_UNKNOWN = 2,
    LC_GRPC_DEADLINE = 4,
    LC_GRPC_DENIED = 7,
    LC_GRPC_UNIMPLEMENTED = 12,
    LC_GRPC_UNAVAILABLE = 14,
    LC_GRPC_UNAUTHENTICATED = 16
};

struct lc_grpc {
    struct lc_http2 *http2;
    const struct lc_spark_url *url; /* borrowed */
    const char *ca_file;            /* borrowed */
    bool is_shaky;                  /* the last call broke off: the next one takes a connection of its own */
};

struct lc_grpc_call {
    struct lc_grpc *grpc;
    struct lc_http2_stream *stream;
    struct lc_frames frames;
    bool is_over;
    struct lc_grpc_end end; /* once is_over */
};

struct lc_grpc_request {
    const char *method;    /* "ExecutePlan" */
    struct lc_str message; /* packed */
    int64_t timeout_ms;    /* told to the server; 0: none */
};

lcdc_status lc_grpc_open(struct lc_grpc *grpc, const struct lc_grpc_request *request, struct lc_grpc_call **out,
                         lcdc_error **err);
/** The next message, borrowed until the next call; *found false at the end, which call->end describes. */
lcdc_status lc_grpc_next(struct lc_grpc_call *call, const struct lc_http2_wait *wait, struct lc_str *message,
                         bool *found, lcdc_error **err);
void lc_grpc_close(struct lc_grpc_call *call);
LC_DEFINE_CLEANUP(struct lc_grpc_call *, lc_grpc_close)

#endif
