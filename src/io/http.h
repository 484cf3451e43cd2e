/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - one request to an http or https server, one answer, both in memory.
 *
 * The server is not trusted: its answer is capped, redirects are few and lead to http(s) alone (from https to https),
 * and a request with a body is never sent on to where a redirect points. Headers and bodies, where secrets live, are
 * never part of a message; a URL appears there without its query.
 */
#ifndef LC_IO_HTTP_H
#define LC_IO_HTTP_H

#include "base/error.h"
#include "base/str.h"

enum { LC_HTTP_MAX_BODY = 64 << 20, LC_HTTP_MAX_REDIRECTS = 5 };

struct lc_http_request {
    const char *method; /* "GET", "POST", ... */
    const char *url;
    size_t n_headers;
    const char *const *headers;   /* "Name: value" */
    struct lc_str body;           /* sent when p is not NULL */
    int64_t timeout_ms;           /* for all of it; 0 = a minute */
    const char *ca_file;          /* certificates to trust, PEM; NULL = the system's */
    const _Atomic int *cancelled; /* non-zero: leave within a second; may be NULL */
};

struct lc_http_response {
    int status;         /* 200, 404, ... */
    struct lc_buf body; /* terminated */
};
void lc_http_response_done(struct lc_http_response *response);

/**
 * Any complete answer is OK, whatever its status says. LC_R_HTTP when there is none in time, LC_R_URL for a URL that is
 * not http(s), LC_R_LIMIT for a body over LC_HTTP_MAX_BODY, LC_R_CANCELLED. Any thread.
 */
lcdc_status lc_http(const struct lc_http_request *request, struct lc_http_response *out, lcdc_error **err);

/** Sets libcurl up for the process, once; false when that did not work. Any thread. */
bool lc_http_set_up(void);

#endif
