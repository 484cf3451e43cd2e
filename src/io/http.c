/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - libcurl, one easy handle a request.
 *
 * libcurl's global state is set up once for the process and left to it, because the host program may use it too.
 */
#include "io/http.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "lakecdc/base.h"

enum { DEFAULT_TIMEOUT_MS = 60000, CONNECT_TIMEOUT_MS = 15000, LOOK_MS = 100 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_ready;

static void set_up(void)
{
    is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

bool lc_http_set_up(void)
{
    (void)pthread_once(&once, set_up);
    return is_ready;
}

static void cleanup_easyp(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

static void free_slistp(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

void lc_http_response_done(struct lc_http_response *response)
{
    lc_buf_done(&response->body);
}

/* The URL up to its query: what may be told. */
static struct lc_str shown(const char *url)
{
    return (struct lc_str){url, strcspn(url, "?#")};
}

static lcdc_status check_url(const char *url, lcdc_error **err)
{
    struct lc_str text = lc_str_of(url);
    bool is_http = lc_str_starts(text, "http://"), is_https = lc_str_starts(text, "https://");
    if (!is_http && !is_https)
        return lc_fail(err, LC_R_URL, "a server's URL begins with http:// or https://");
    const char *host = url + (is_https ? 8 : 7);
    if (memchr(host, '@', strcspn(host, "/?#")))
        return lc_fail(err, LC_R_URL, "a server's URL has a user in it; credentials go into options");
    for (const char *p = url; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7F)
            return lc_fail(err, LC_R_URL, "a server's URL has a blank or a control character in it");
    return LCDC_OK;
}

static size_t append_body(char *bytes, size_t size, size_t n, void *context)
{
    struct lc_buf *body = context;
    lc_buf_append(body, bytes, size * n);
    return body->failed ? 0 : size * n;
}

/* A line break in a header would smuggle another one in. */
static lcdc_status make_headers(const struct lc_http_request *request, struct curl_slist **out, lcdc_error **err)
{
    for (size_t i = 0; i < request->n_headers; i++) {
        const char *name = request->headers[i];
        if (strpbrk(name, "\r\n"))
            return lc_fail(err, LC_R_OPTION_VALUE, "the value of header \"%.*s\" has a line break in it",
                           (int)strcspn(name, ":\r\n"), name);
        struct curl_slist *longer = curl_slist_append(*out, name);
        LC_TRY_ALLOC(longer);
        *out = longer;
    }
    struct curl_slist *last = curl_slist_append(*out, "Expect:"); /* no waiting for "100 Continue" */
    LC_TRY_ALLOC(last);
    *out = last;
    return LCDC_OK;
}

static CURLcode restrict_protocols(CURL *curl, bool is_https)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    CURLcode code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    return code ? code : curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "http,https");
#else
    CURLcode code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    return code ? code
                : curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS,
                                   (long)(is_https ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static CURLcode set_method(CURL *curl, const struct lc_http_request *request)
{
    bool has_body = request->body.p != NULL;
    CURLcode code = CURLE_OK;
    if (has_body) {
        code = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.p);
        code = code ? code : curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
    }
    if (!code && strcmp(request->method, has_body ? "POST" : "GET") != 0)
        code = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    return code ? code : curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, has_body ? 0L : 1L);
}

static CURLcode set_options(CURL *curl, const struct lc_http_request *request, struct curl_slist *headers,
                            struct lc_buf *body, char *text)
{
    int64_t timeout = request->timeout_ms > 0 ? request->timeout_ms : DEFAULT_TIMEOUT_MS;
    CURLcode code = set_method(curl, request);
#define SET(option, value) code = code ? code : curl_easy_setopt(curl, option, value)
    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_USERAGENT, "lakecdc/" LCDC_VERSION);
    SET(CURLOPT_ACCEPT_ENCODING, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_MAXREDIRS, (long)LC_HTTP_MAX_REDIRECTS);
    SET(CURLOPT_TIMEOUT_MS, (long)timeout);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(timeout < CONNECT_TIMEOUT_MS ? timeout : CONNECT_TIMEOUT_MS));
    SET(CURLOPT_ERRORBUFFER, text);
    SET(CURLOPT_WRITEFUNCTION, append_body);
    SET(CURLOPT_WRITEDATA, body);
    if (request->ca_file)
        SET(CURLOPT_CAINFO, request->ca_file);
#undef SET
    return code ? code : restrict_protocols(curl, strncmp(request->url, "https:", 6) == 0);
}

/* ---- a transfer that can be left ---- */

static void cleanup_multip(CURLM **multi)
{
    (void)curl_multi_cleanup(*multi);
}

/* As curl_easy_perform, which looks up once a second only. CURLE_ABORTED_BY_CALLBACK: cancelled. */
static CURLcode perform_until(CURLM *multi, const _Atomic int *cancelled)
{
    int running = 1, n_left;
    for (;;) {
        if (curl_multi_perform(multi, &running) != CURLM_OK)
            return CURLE_OUT_OF_MEMORY;
        if (!running)
            break;
        if (*cancelled)
            return CURLE_ABORTED_BY_CALLBACK;
        if (curl_multi_poll(multi, NULL, 0, LOOK_MS, NULL) != CURLM_OK)
            return CURLE_OUT_OF_MEMORY;
    }
    const CURLMsg *message = curl_multi_info_read(multi, &n_left);
    return message ? message->data.result : CURLE_RECV_ERROR;
}

static CURLcode perform(CURL *curl, const _Atomic int *cancelled)
{
    if (!cancelled)
        return curl_easy_perform(curl);
    if (*cancelled)
        return CURLE_ABORTED_BY_CALLBACK;
    LC_CLEANUP(cleanup_multip) CURLM *multi = curl_multi_init();
    if (!multi || curl_multi_add_handle(multi, curl) != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
    CURLcode code = perform_until(multi, cancelled);
#if LIBCURL_VERSION_NUM >= 0x075700
    if (code == CURLE_ABORTED_BY_CALLBACK)
        (void)curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* a name that is being looked up is not waited for */
#endif
    (void)curl_multi_remove_handle(multi, curl);
    return code;
}

static lcdc_status explain(CURLcode code, const char *url, const struct lc_buf *body, const char *text,
                           lcdc_error **err)
{
    if (code == CURLE_OUT_OF_MEMORY)
        return lc_fail_oom(err);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return lc_fail(err, LC_R_CANCELLED, "%.*s: the request was cancelled", LC_STR_ARG(shown(url)));
    if (code == CURLE_WRITE_ERROR && body->failed) {
        if (body->n + CURL_MAX_WRITE_SIZE < body->max)
            return lc_fail_oom(err);
        return lc_fail(err, LC_R_LIMIT, "%.*s answers with more than %d bytes", LC_STR_ARG(shown(url)),
                       LC_HTTP_MAX_BODY);
    }
    if (code == CURLE_URL_MALFORMAT)
        return lc_fail(err, LC_R_URL, "\"%.*s\" is not a URL", LC_STR_ARG(shown(url)));
    return lc_fail(err, LC_R_HTTP, "%.*s: %s", LC_STR_ARG(shown(url)), text[0] ? text : curl_easy_strerror(code));
}

lcdc_status lc_http(const struct lc_http_request *request, struct lc_http_response *out, lcdc_error **err)
{
    long status = 0;
    char text[CURL_ERROR_SIZE] = "";
    LC_TRY(check_url(request->url, err));
    bool is_set_up = lc_http_set_up();
    LC_CLEANUP(free_slistp) struct curl_slist *headers = NULL;
    LC_CLEANUP(lc_http_response_done) struct lc_http_response response = {0};
    LC_CLEANUP(cleanup_easyp) CURL *curl = is_set_up ? curl_easy_init() : NULL;
    LC_TRY_ALLOC(curl);
    lc_buf_init(&response.body, LC_HTTP_MAX_BODY);
    LC_TRY(make_headers(request, &headers, err));
    CURLcode code = set_options(curl, request, headers, &response.body, text);
    code = code ? code : perform(curl, request->cancelled);
    code = code ? code : curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (code)
        return explain(code, request->url, &response.body, text, err);
    lc_buf_append(&response.body, "", 0); /* terminated also when empty */
    LC_TRY_BUF(&response.body);
    response.status = (int)status;
    *out = response;
    lc_buf_init(&response.body, 0);
    return LCDC_OK;
}
