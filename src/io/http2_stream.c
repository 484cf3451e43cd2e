/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_stream.c - libcurl's multi interface: one multi handle for the connections, one easy handle a stream.
 *
 * The write callback keeps at most WINDOW bytes and pauses the transfer beyond that; taking them lets it go on. Over
 * http:// each stream has a connection of its own: libcurl 7.88 speaks the preface again on one that it takes up again,
 * which ends it.
 */
#include "io/http2_stream.h"

#include <curl/curl.h>
#include <string.h>
#include <time.h>

#include "io/http.h"

enum { WINDOW = 256 << 10, MAX_HEADERS = 1 << 20, CONNECT_TIMEOUT_MS = 15000, LOOK_MS = 50 };

struct lc_http2 {
    CURLM *multi;
};

struct lc_http2_stream {
    struct lc_http2 *http2;
    CURL *easy;
    struct curl_slist *headers_out;
    struct lc_buf body_out;
    struct lc_buf headers; /* name, 0, value, 0, ... */
    struct lc_buf bytes;   /* came and were not taken */
    bool is_paused, is_added, is_done;
    bool is_flooded; /* more headers than anybody needs */
    CURLcode result;
    int status;
    char problem[CURL_ERROR_SIZE];
};

int64_t lc_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

lcdc_status lc_http2_new(struct lc_http2 **out, lcdc_error **err)
{
    LC_CLEANUP(lc_http2_freep) struct lc_http2 *http2 = lc_calloc(1, sizeof(*http2));
    LC_TRY_ALLOC(http2);
    http2->multi = lc_http_set_up() ? curl_multi_init() : NULL;
    LC_TRY_ALLOC(http2->multi);
    *out = lc_steal(http2);
    return LCDC_OK;
}

void lc_http2_free(struct lc_http2 *http2)
{
    if (!http2)
        return;
    (void)curl_multi_cleanup(http2->multi);
    lc_free(http2);
}

/* ---- what curl calls ---- */

static size_t on_bytes(char *bytes, size_t size, size_t n, void *context)
{
    struct lc_http2_stream *stream = context;
    if (stream->bytes.n >= WINDOW) {
        stream->is_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    lc_buf_append(&stream->bytes, bytes, size * n);
    return stream->bytes.failed ? 0 : size * n;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static size_t on_header(char *line, size_t size, size_t n, void *context)
{
    struct lc_http2_stream *stream = context;
    struct lc_buf *headers = &stream->headers;
    size_t length = size * n, i = 0;
    while (length && (line[length - 1] == '\r' || line[length - 1] == '\n'))
        length--;
    if (length > 5 && memcmp(line, "HTTP/", 5) == 0) { /* a new answer; what an earlier one said does not count */
        lc_buf_clear(headers);
        return size * n;
    }
    const char *colon = memchr(line, ':', length);
    if (!colon || memchr(line, 0, length))
        return size * n;
    stream->is_flooded = headers->n + length + 2 > MAX_HEADERS;
    if (stream->is_flooded)
        return 0; /* ends the stream */
    for (; line + i < colon; i++)
        lc_buf_char(headers, lower(line[i]));
    lc_buf_char(headers, 0);
    for (i++; i < length && line[i] == ' '; i++)
        continue;
    lc_buf_append(headers, line + i, length - i);
    lc_buf_char(headers, 0);
    return headers->failed ? 0 : size * n;
}

/* ---- opening ---- */

static lcdc_status add_header(struct lc_http2_stream *stream, const char *header, lcdc_error **err)
{
    if (strpbrk(header, "\r\n")) /* would smuggle another one in */
        return lc_fail(err, LC_R_OPTION_VALUE, "the value of header \"%.*s\" has a line break in it",
                       (int)strcspn(header, ":\r\n"), header);
    LC_BUF struct lc_buf empty;
    size_t n = strlen(header);
    lc_buf_init(&empty, MAX_HEADERS);
    if (n > 2 && strcmp(header + n - 2, ": ") == 0) { /* how curl is told of a header without a value */
        lc_buf_append(&empty, header, n - 2);
        lc_buf_char(&empty, ';');
        LC_TRY_BUF(&empty);
    }
    struct curl_slist *longer = curl_slist_append(stream->headers_out, empty.n ? empty.p : header);
    LC_TRY_ALLOC(longer);
    stream->headers_out = longer;
    return LCDC_OK;
}

static CURLcode set_options(struct lc_http2_stream *stream, const struct lc_http2_request *request)
{
    bool is_https = strncmp(request->url, "https:", 6) == 0, is_fresh = request->is_fresh || !is_https;
    CURL *easy = stream->easy;
    CURLcode code = CURLE_OK;
#define SET(option, value) code = code ? code : curl_easy_setopt(easy, option, value)
    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_HTTP_VERSION, (long)(is_https ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
    SET(CURLOPT_HTTPPROXYTUNNEL, 1L);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_PIPEWAIT, is_fresh ? 0L : 1L);
    SET(CURLOPT_FRESH_CONNECT, is_fresh ? 1L : 0L);
    SET(CURLOPT_FORBID_REUSE, is_https ? 0L : 1L);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, stream->body_out.p);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)stream->body_out.n);
    SET(CURLOPT_HTTPHEADER, stream->headers_out);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    SET(CURLOPT_ERRORBUFFER, stream->problem);
    SET(CURLOPT_WRITEFUNCTION, on_bytes);
    SET(CURLOPT_WRITEDATA, stream);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, stream);
    SET(CURLOPT_PRIVATE, stream);
    if (request->ca_file)
        SET(CURLOPT_CAINFO, request->ca_file);
#undef SET
    return code;
}

lcdc_status lc_http2_open(struct lc_http2 *http2, const struct lc_http2_request *request, struct lc_http2_stream **out,
                          lcdc_error **err)
{
    LC_CLEANUP(lc_http2_closep) struct lc_http2_stream *stream = lc_calloc(1, sizeof(*stream));
    LC_TRY_ALLOC(stream);
    stream->http2 = http2;
    lc_buf_init(&stream->headers, MAX_HEADERS);
    lc_buf_init(&stream->bytes, 2 * WINDOW);
    lc_buf_init(&stream->body_out, LC_BUF_MAX);
    lc_buf_append(&stream->body_out, request->body.p, request->body.n);
    LC_TRY_BUF(&stream->body_out);
    for (size_t i = 0; i < request->n_headers; i++)
        LC_TRY(add_header(stream, request->headers[i], err));
    LC_TRY(add_header(stream, "Expect:", err));
    stream->easy = curl_easy_init();
    LC_TRY_ALLOC(stream->easy);
    CURLcode code = set_options(stream, request);
    if (code == CURLE_OUT_OF_MEMORY)
        return lc_fail_oom(err);
    if (code)
        return lc_fail(err, LC_R_INTERNAL, "an HTTP/2 stream cannot be set up: %s", curl_easy_strerror(code));
    if (curl_multi_add_handle(http2->multi, stream->easy) != CURLM_OK)
        return lc_fail_oom(err);
    stream->is_added = true;
    *out = lc_steal(stream);
    return LCDC_OK;
}

/* ---- reading ---- */

static void note_ends(struct lc_http2 *http2)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(http2->multi, &left));) {
        struct lc_http2_stream *stream = NULL;
        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&stream) != CURLE_OK || !stream)
            continue;
        long status = 0;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        stream->is_done = true;
        stream->result = message->data.result;
        stream->status = (int)status;
    }
}

static bool is_cancelled(const struct lc_http2_wait *wait)
{
    for (size_t i = 0; i < wait->n_cancels; i++)
        if (wait->cancels[i] && *wait->cancels[i])
            return true;
    return false;
}

static lcdc_status take_bytes(struct lc_http2_stream *stream, struct lc_buf *out, lcdc_error **err)
{
    lc_buf_append(out, stream->bytes.p, stream->bytes.n);
    LC_TRY_BUF(out);
    lc_buf_clear(&stream->bytes);
    if (stream->is_paused && !stream->is_done) {
        stream->is_paused = false; /* before: the callback may be called at once, and pause again */
        (void)curl_easy_pause(stream->easy, CURLPAUSE_CONT);
    }
    return LCDC_OK;
}

static lcdc_status drive(struct lc_http2_stream *stream, int64_t wait_ms, lcdc_error **err)
{
    int running;
    CURLM *multi = stream->http2->multi;
    CURLMcode code = curl_multi_perform(multi, &running);
    note_ends(stream->http2);
    if (code == CURLM_OK && !stream->bytes.n && !stream->is_done)
        code = curl_multi_poll(multi, NULL, 0, (int)wait_ms, NULL);
    if (code == CURLM_OUT_OF_MEMORY || stream->bytes.failed || stream->headers.failed)
        return lc_fail_oom(err);
    return code == CURLM_OK
               ? LCDC_OK
               : lc_fail(err, LC_R_INTERNAL, "an HTTP/2 stream cannot be driven: %s", curl_multi_strerror(code));
}

lcdc_status lc_http2_read(struct lc_http2_stream *stream, const struct lc_http2_wait *wait, struct lc_buf *out,
                          enum lc_http2_event *event, lcdc_error **err)
{
    for (;;) {
        int64_t left = wait->deadline_ms - lc_now_ms();
        *event = is_cancelled(wait) ? LC_HTTP2_CANCELLED : LC_HTTP2_BYTES;
        if (*event == LC_HTTP2_CANCELLED)
            return LCDC_OK;
        if (stream->bytes.n)
            return take_bytes(stream, out, err);
        if (stream->is_done) {
            *event = stream->result == CURLE_OK ? LC_HTTP2_END : LC_HTTP2_BROKEN;
            return stream->result == CURLE_OUT_OF_MEMORY ? lc_fail_oom(err) : LCDC_OK;
        }
        *event = LC_HTTP2_LATE;
        if (left <= 0)
            return LCDC_OK;
        LC_TRY(drive(stream, left < LOOK_MS ? left : LOOK_MS, err));
    }
}

const char *lc_http2_header(const struct lc_http2_stream *stream, const char *name)
{
    const char *found = NULL, *end = stream->headers.p + stream->headers.n;
    for (const char *at = stream->headers.p; at && at < end;) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            found = value;
        at = value + strlen(value) + 1;
    }
    return found;
}

int lc_http2_status(const struct lc_http2_stream *stream)
{
    return stream->status;
}

const char *lc_http2_problem(const struct lc_http2_stream *stream)
{
    if (stream->is_flooded)
        return "the answer has more than a megabyte of headers";
    return stream->problem[0] ? stream->problem : curl_easy_strerror(stream->result);
}

void lc_http2_close(struct lc_http2_stream *stream)
{
    if (!stream)
        return;
    if (stream->is_added)
        (void)curl_multi_remove_handle(stream->http2->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    curl_slist_free_all(stream->headers_out);
    lc_buf_done(&stream->body_out);
    lc_buf_done(&stream->headers);
    lc_buf_done(&stream->bytes);
    lc_free(stream);
}
