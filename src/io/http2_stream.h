/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_stream.h - POSTs over HTTP/2 whose answers are pulled: bytes leave the wire when they are asked for.
 *
 * While nobody reads, the transfer is paused and the server's window closes, so a slow reader costs no memory. Over
 * http:// the connection speaks HTTP/2 at once (prior knowledge), over https:// it is negotiated and streams share
 * connections. A stream is driven only inside the calls below, on the caller's thread.
 */
#ifndef LC_IO_HTTP2_STREAM_H
#define LC_IO_HTTP2_STREAM_H

#include "base/error.h"
#include "base/str.h"

struct lc_http2;        /* the connections to a server */
struct lc_http2_stream; /* one POST and its answer */

struct lc_http2_request {
    const char *url;
    size_t n_headers;
    const char *const *headers; /* "Name: value" */
    struct lc_str body;         /* copied */
    const char *ca_file;        /* certificates to trust, PEM; NULL = the system's */
    bool is_fresh;              /* on a connection of its own: the one there is may be dead */
};

enum lc_http2_event {
    LC_HTTP2_BYTES,  /* some were appended */
    LC_HTTP2_END,    /* the answer is whole; headers and trailers can be looked up */
    LC_HTTP2_BROKEN, /* no connection, or it broke off; lc_http2_problem() says how */
    LC_HTTP2_LATE,   /* the deadline passed */
    LC_HTTP2_CANCELLED
};

/** How long a read may wait. */
struct lc_http2_wait {
    int64_t deadline_ms; /* by lc_now_ms() */
    size_t n_cancels;
    const _Atomic int *cancels[2]; /* any of them set: stop waiting */
};

/** Milliseconds of a clock that never goes back. */
int64_t lc_now_ms(void);

lcdc_status lc_http2_new(struct lc_http2 **out, lcdc_error **err);
/** Its streams must be closed. */
void lc_http2_free(struct lc_http2 *http2);

lcdc_status lc_http2_open(struct lc_http2 *http2, const struct lc_http2_request *request, struct lc_http2_stream **out,
                          lcdc_error **err);
/** Waits for the next event; bytes are appended to `out`. An error only when memory is short. */
lcdc_status lc_http2_read(struct lc_http2_stream *stream, const struct lc_http2_wait *wait, struct lc_buf *out,
                          enum lc_http2_event *event, lcdc_error **err);
/** A header or trailer (the last of that name), lower-case name; NULL when absent. */
const char *lc_http2_header(const struct lc_http2_stream *stream, const char *name);
/** 200, 404, ...; 0 before there is one. */
int lc_http2_status(const struct lc_http2_stream *stream);
const char *lc_http2_problem(const struct lc_http2_stream *stream);
/** Resets the stream when its answer is not whole. */
void lc_http2_close(struct lc_http2_stream *stream);

LC_DEFINE_CLEANUP(struct lc_http2 *, lc_http2_free)
LC_DEFINE_CLEANUP(struct lc_http2_stream *, lc_http2_close)

#endif
