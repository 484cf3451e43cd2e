/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url.h - Spark Connect connection strings: sc://host[:port]/;key=value;... with the rules of Spark's Python client.
 *
 * Keys: token, use_ssl, user_id, user_agent, session_id; any other becomes a header. A token turns TLS on unless the
 * host is literally "localhost"; SPARK_CONNECT_AUTHENTICATE_TOKEN stands in for a token that is not given.
 */
#ifndef LC_SPARK_URL_H
#define LC_SPARK_URL_H

#include "base/arena.h"
#include "base/error.h"

enum { LC_SPARK_MAX_HEADERS = 64 };

struct lc_spark_url {
    const char *host;
    int port;
    bool is_tls;
    const char *token;      /* NULL: none */
    const char *user_id;    /* "" when not given */
    const char *user_agent; /* "" when not given */
    const char *session_id; /* NULL: one of our own */
    size_t n_headers;
    const char *headers[LC_SPARK_MAX_HEADERS]; /* "name: value" */
    size_t n_secrets;
    const char *secrets[LC_SPARK_MAX_HEADERS + 1]; /* texts that must not be told: the token, values of headers */
};

bool lc_spark_is_url(const char *table);
/** `env_token` is the environment's, or NULL. Texts live in `arena`; no message repeats a value. */
lcdc_status lc_spark_url_parse(const char *text, const char *env_token, struct lc_arena *arena,
                               struct lc_spark_url *out, lcdc_error **err);
/** 8-4-4-4-12 hex digits. */
bool lc_is_uuid(struct lc_str text);

#endif
