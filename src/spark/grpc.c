/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/grpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lakecdc/base.h"

enum { MAX_TEXT = 1 << 18, N_OWN_HEADERS = 5 };

static const char service[] = "spark.connect.SparkConnectService";

/* ---- opening ---- */

static lcdc_status frame_of(struct lc_str message, struct lc_buf *out, lcdc_error **err)
{
    unsigned char head[LC_FRAME_HEAD];
    lc_buf_init(out, LC_BUF_MAX);
    lc_frame_head(message.n, head);
    lc_buf_append(out, head, sizeof(head));
    if (message.n)
        lc_buf_append(out, message.p, message.n);
    LC_TRY_BUF(out);
    return LCDC_OK;
}

/* One text with a 0 after each header, and where each begins. */
static lcdc_status list_headers(const struct lc_spark_url *url, int64_t timeout_ms, struct lc_buf *text, size_t *starts,
                                size_t *n, lcdc_error **err)
{
    const char *agent = url->user_agent;
    starts[(*n)++] = text->n;
    lc_buf_printf(text, "user-agent: %s%slakecdc/%s%c", agent, *agent ? " " : "", LCDC_VERSION, 0);
    if (timeout_ms > 0) {
        starts[(*n)++] = text->n;
        lc_buf_printf(text, "grpc-timeout: %" PRId64 "m%c", timeout_ms < 99999999 ? timeout_ms : 99999999, 0);
    }
    if (url->token) {
        starts[(*n)++] = text->n;
        lc_buf_printf(text, "authorization: Bearer %s%c", url->token, 0);
    }
    LC_TRY_BUF(text);
    return LCDC_OK;
}

static lcdc_status open_stream(struct lc_grpc_call *call, const struct lc_grpc_request *request, lcdc_error **err)
{
    const struct lc_spark_url *url = call->grpc->url;
    LC_BUF struct lc_buf body = {0}, target = {0}, text = {0};
    const char *headers[N_OWN_HEADERS + LC_SPARK_MAX_HEADERS] = {"te: trailers", "content-type: application/grpc"};
    size_t n = 2, n_starts = 0, starts[N_OWN_HEADERS];
    lc_buf_init(&target, MAX_TEXT);
    lc_buf_init(&text, MAX_TEXT);
    LC_TRY(frame_of(request->message, &body, err));
    LC_TRY(list_headers(url, request->timeout_ms, &text, starts, &n_starts, err));
    for (size_t i = 0; i < n_starts; i++)
        headers[n++] = text.p + starts[i];
    for (size_t i = 0; i < url->n_headers; i++)
        headers[n++] = url->headers[i];
    lc_buf_printf(&target, "%s://%s:%d/%s/%s", url->is_tls ? "https" : "http", url->host, url->port, service,
                  request->method);
    LC_TRY_BUF(&target);
    struct lc_http2_request post = {.url = target.p,
                                    .n_headers = n,
                                    .headers = headers,
                                    .body = {body.p, body.n},
                                    .ca_file = call->grpc->ca_file,
                                    .is_fresh = call->grpc->is_shaky};
    return lc_http2_open(call->grpc->http2, &post, &call->stream, err);
}

lcdc_status lc_grpc_open(struct lc_grpc *grpc, const struct lc_grpc_request *request, struct lc_grpc_call **out,
                         lcdc_error **err)
{
    LC_CLEANUP(lc_grpc_closep) struct lc_grpc_call *call = lc_calloc(1, sizeof(*call));
    LC_TRY_ALLOC(call);
    call->grpc = grpc;
    lc_frames_init(&call->frames);
    LC_TRY(open_stream(call, request, err));
    *out = lc_steal(call);
    return LCDC_OK;
}

void lc_grpc_close(struct lc_grpc_call *call)
{
    if (!call)
        return;
    lc_http2_close(call->stream);
    lc_frames_done(&call->frames);
    lc_grpc_end_done(&call->end);
    lc_free(call);
}

/* ---- how it ended ---- */

static lcdc_status end_with(struct lc_grpc_call *call, int code, const char *text, lcdc_error **err)
{
    call->is_over = true;
    call->end.code = code;
    call->end.message = lc_strdup(text);
    LC_TRY_ALLOC(call->end.message);
    return LCDC_OK;
}

static int code_of_http(int status)
{
    switch (status) {
    case 401:
        return LC_GRPC_UNAUTHENTICATED;
    case 403:
        return LC_GRPC_DENIED;
    case 404:
        return LC_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return LC_GRPC_UNAVAILABLE;
    default:
        return LC_GRPC_UNKNOWN;
    }
}

static lcdc_status end_of_answer(struct lc_grpc_call *call, lcdc_error **err)
{
    const struct lc_http2_stream *stream = call->stream;
    const char *status = lc_http2_header(stream, "grpc-status");
    char text[80];
    if (!status && lc_http2_status(stream) != 200) {
        (void)snprintf(text, sizeof(text), "HTTP status %d instead of a gRPC answer", lc_http2_status(stream));
        return end_with(call, code_of_http(lc_http2_status(stream)), text, err);
    }
    if (!status)
        return end_with(call, LC_GRPC_UNAVAILABLE, "the answer ends without a grpc-status", err);
    LC_TRY(lc_grpc_end_parse(status, lc_http2_header(stream, "grpc-message"),
                             lc_http2_header(stream, "grpc-status-details-bin"), &call->end, err));
    call->is_over = true;
    if (call->end.code == LC_GRPC_OK && lc_frames_is_cut(&call->frames))
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server ended an answer in the middle of a message");
    return LCDC_OK;
}

static lcdc_status on_event(struct lc_grpc_call *call, enum lc_http2_event event, lcdc_error **err)
{
    const struct lc_spark_url *url = call->grpc->url;
    call->grpc->is_shaky = event == LC_HTTP2_BROKEN || event == LC_HTTP2_LATE;
    switch (event) {
    case LC_HTTP2_BYTES:
        return LCDC_OK;
    case LC_HTTP2_END:
        return end_of_answer(call, err);
    case LC_HTTP2_BROKEN:
        return end_with(call, LC_GRPC_UNAVAILABLE, lc_http2_problem(call->stream), err);
    case LC_HTTP2_LATE:
        return lc_fail(err, LC_R_SPARK_TIMEOUT,
                       "the Spark server at %s:%d did not answer within the deadline (--timeout)", url->host,
                       url->port);
    case LC_HTTP2_CANCELLED:
        return lc_fail(err, LC_R_CANCELLED, "the read was cancelled");
    }
    return LCDC_OK;
}

lcdc_status lc_grpc_next(struct lc_grpc_call *call, const struct lc_http2_wait *wait, struct lc_str *message,
                         bool *found, lcdc_error **err)
{
    *found = false;
    while (!call->is_over) {
        enum lc_http2_event event;
        LC_TRY(lc_frames_next(&call->frames, message, found, err));
        if (*found)
            return LCDC_OK;
        LC_TRY(lc_http2_read(call->stream, wait, &call->frames.bytes, &event, err));
        LC_TRY(on_event(call, event, err));
    }
    return LCDC_OK;
}
