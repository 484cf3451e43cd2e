/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.h - gRPC's own framing: messages out of a byte stream, and what the trailers say. No I/O.
 */
#ifndef LC_SPARK_FRAMES_H
#define LC_SPARK_FRAMES_H

#include "base/error.h"
#include "base/str.h"

enum { LC_FRAME_HEAD = 5, LC_FRAME_MAX = 160 << 20 };

/** Bytes as they came; messages are taken from the front. */
struct lc_frames {
    struct lc_buf bytes;
    size_t start; /* where the next message begins */
    size_t lent;  /* bytes of the message that was handed out last */
};

void lc_frames_init(struct lc_frames *frames);
void lc_frames_done(struct lc_frames *frames);
/** The next whole message, borrowed until the next call; *found false when more bytes are needed. */
lcdc_status lc_frames_next(struct lc_frames *frames, struct lc_str *message, bool *found, lcdc_error **err);
/** True when the stream stopped in the middle of a message. */
bool lc_frames_is_cut(const struct lc_frames *frames);
/** The head of a message that will be sent. */
void lc_frame_head(size_t n, unsigned char head[LC_FRAME_HEAD]);

/** How a call ended. */
struct lc_grpc_end {
    int code;              /* 0 is good; -1: there was no status at all */
    char *message;         /* percent-decoded; "" when there is none */
    struct lc_buf details; /* grpc-status-details-bin, decoded: a google.rpc.Status; empty when absent or garbage */
};
void lc_grpc_end_done(struct lc_grpc_end *end);
/** From the three trailers, each NULL when absent. */
lcdc_status lc_grpc_end_parse(const char *status, const char *message, const char *details, struct lc_grpc_end *out,
                              lcdc_error **err);

#endif
