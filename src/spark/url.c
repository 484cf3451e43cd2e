/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/url.h"

#include <string.h>

enum { DEFAULT_PORT = 15002, MAX_URL = 1 << 16, MAX_USER_AGENT = 2048 };

bool lc_spark_is_url(const char *table)
{
    return strncmp(table, "sc://", 5) == 0;
}

bool lc_is_uuid(struct lc_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text.p[i] != '-' : !strchr("0123456789abcdefABCDEF", text.p[i]) || !text.p[i])
            return false;
    }
    return text.n == 36;
}

/* Nothing of the text is shown: before an '@' it may be a password. */
static lcdc_status parse_port(struct lc_str text, int *out, lcdc_error **err)
{
    int64_t port;
    if (!lc_parse_i64(text, &port) || port < 1 || port > 65535)
        return lc_fail(err, LC_R_SPARK_URL, "what follows the host's ':' is no port from 1 to 65535");
    *out = (int)port;
    return LCDC_OK;
}

static bool is_host_char(char c, bool is_ipv6)
{
    bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return is_ipv6 ? is_hex || c == ':' || c == '.'
                   : is_hex || (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') || c == '.' || c == '-' || c == '_';
}

/* "name", "1.2.3.4" or "[::1]", with the brackets; `*rest` is what follows. */
static lcdc_status take_host(struct lc_str text, struct lc_str *host, struct lc_str *rest, lcdc_error **err)
{
    bool is_ipv6 = text.n && text.p[0] == '[';
    const char *end = text.n ? memchr(text.p, is_ipv6 ? ']' : ':', text.n) : NULL;
    size_t n = end ? (size_t)(end - text.p) + is_ipv6 : text.n;
    if (n == 0 || (is_ipv6 && (!end || n <= 3)))
        return lc_fail(err, LC_R_SPARK_URL, "the connection string names no host; expected sc://host:port/;key=value");
    for (size_t i = is_ipv6; i < n - is_ipv6; i++)
        if (!is_host_char(text.p[i], is_ipv6)) /* not shown: what is before an '@' may be a password */
            return lc_fail(err, LC_R_SPARK_URL,
                           "the host has a character at place %zu that none has; expected sc://host:port/;key=value",
                           i + 1);
    *host = (struct lc_str){text.p, n};
    *rest = (struct lc_str){text.p + n, text.n - n};
    return LCDC_OK;
}

/* In lower case, as Spark's Python client has it; a ':' without a port means the usual one. */
static lcdc_status parse_host(struct lc_str text, struct lc_arena *arena, struct lc_spark_url *out, lcdc_error **err)
{
    struct lc_str host, rest;
    LC_TRY(take_host(text, &host, &rest, err));
    out->port = DEFAULT_PORT;
    if (rest.n && rest.p[0] != ':')
        return lc_fail(err, LC_R_SPARK_URL, "after the host comes neither ':' and a port nor '/'");
    if (rest.n > 1)
        LC_TRY(parse_port((struct lc_str){rest.p + 1, rest.n - 1}, &out->port, err));
    char *name = lc_arena_strndup(arena, host.p, host.n);
    LC_TRY_ALLOC(name);
    for (char *c = name; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
    out->host = name;
    return LCDC_OK;
}

/* gRPC's and HTTP's own names would change what the request is; -bin values would need encoding. */
static bool is_header_name(struct lc_str name)
{
    static const char *const taken[] = {"te",         "content-type",      "content-length", "host",
                                        "connection", "transfer-encoding", "user-agent",     "expect",
                                        "upgrade",    "authorization"};
    for (size_t i = 0; i < name.n; i++)
        if (!name.p[i] || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", name.p[i]))
            return false;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (lc_str_is_nocase(name, taken[i]))
            return false;
    struct lc_str front = {name.p, name.n < 5 ? name.n : 5};
    return name.n > 0 && !lc_str_is_nocase(front, "grpc-") && !lc_str_ends(name, "-bin");
}

static bool is_header_value(const char *value)
{
    for (; *value; value++)
        if ((unsigned char)*value < ' ' || (unsigned char)*value > '~')
            return false;
    return true;
}

static lcdc_status add_header(struct lc_str name, const char *value, struct lc_arena *arena, struct lc_spark_url *out,
                              lcdc_error **err)
{
    LC_BUF struct lc_buf text = {0};
    if (!is_header_name(name))
        return lc_fail(err, LC_R_SPARK_URL, "'%.*s' is no key of a connection string and cannot be a header either",
                       LC_STR_ARG(name));
    if (!is_header_value(value))
        return lc_fail(err, LC_R_SPARK_URL, "the value of '%.*s' has characters that a header cannot carry",
                       LC_STR_ARG(name));
    if (out->n_headers == LC_SPARK_MAX_HEADERS || out->n_secrets == LC_SPARK_MAX_HEADERS)
        return lc_fail(err, LC_R_SPARK_URL, "the connection string has more than %d headers",
                       (int)LC_SPARK_MAX_HEADERS);
    lc_buf_init(&text, MAX_URL * 2);
    lc_buf_append(&text, name.p, name.n);
    lc_buf_text(&text, ": ");
    size_t at = 0, n_front = text.n;
    while (at < out->n_headers && strncmp(out->headers[at], text.p, n_front) != 0)
        at++;
    lc_buf_text(&text, value);
    LC_TRY_BUF(&text);
    out->headers[at] = lc_arena_strndup(arena, text.p, text.n); /* of a key that comes twice the last one counts */
    LC_TRY_ALLOC(out->headers[at]);
    out->n_headers += at == out->n_headers;
    if (*value)
        out->secrets[out->n_secrets++] = value;
    return LCDC_OK;
}

/* As it would stand in a URL, which is how Spark's Python client counts. */
static size_t quoted_length(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9') ||
                     strchr("_.-~/", *text)
                 ? 1
                 : 3;
    return n;
}

static lcdc_status set_known(struct lc_str key, const char *value, struct lc_spark_url *out, bool *is_known,
                             lcdc_error **err)
{
    *is_known = true;
    if (lc_str_is(key, "token")) {
        if (!*value || !is_header_value(value))
            return lc_fail(err, LC_R_SPARK_URL, "the token is empty or has characters that a header cannot carry");
        out->token = value;
    } else if (lc_str_is(key, "use_ssl")) {
        out->is_tls = lc_str_is_nocase(lc_str_of(value), "true");
    } else if (lc_str_is(key, "user_id")) {
        out->user_id = value;
    } else if (lc_str_is(key, "user_agent")) {
        if (quoted_length(value) > MAX_USER_AGENT || !is_header_value(value))
            return lc_fail(err, LC_R_SPARK_URL,
                           "user_agent has %zu bytes percent-encoded; expected at most %d, all of them printable",
                           quoted_length(value), (int)MAX_USER_AGENT);
        out->user_agent = value;
    } else if (lc_str_is(key, "session_id")) {
        if (!lc_is_uuid(lc_str_of(value)))
            return lc_fail(err, LC_R_SPARK_URL,
                           "session_id is not a UUID such as 00112233-4455-6677-8899-aabbccddeeff");
        out->session_id = value;
    } else {
        *is_known = false;
    }
    return LCDC_OK;
}

static lcdc_status parse_pair(struct lc_str pair, struct lc_arena *arena, struct lc_spark_url *out, lcdc_error **err)
{
    const char *equals = memchr(pair.p, '=', pair.n);
    struct lc_str key = {pair.p, equals ? (size_t)(equals - pair.p) : 0};
    if (!equals || key.n == 0)
        return lc_fail(err, LC_R_SPARK_URL, "the connection string has a part that is not key=value after the '/;'");
    struct lc_str encoded = {equals + 1, pair.n - key.n - 1};
    if (memchr(encoded.p, '=', encoded.n))
        return lc_fail(err, LC_R_SPARK_URL, "the value of '%.*s' has a '=' in it; write %%3D", LC_STR_ARG(key));
    LC_FREE char *decoded = lc_percent_decode(encoded);
    LC_TRY_ALLOC(decoded);
    const char *value = lc_arena_strdup(arena, decoded);
    LC_TRY_ALLOC(value);
    bool is_known;
    LC_TRY(set_known(key, value, out, &is_known, err));
    return is_known ? LCDC_OK : add_header(key, value, arena, out, err);
}

static lcdc_status parse_pairs(struct lc_str text, struct lc_arena *arena, struct lc_spark_url *out, lcdc_error **err)
{
    for (bool more = text.n > 0; more;) {
        const char *end = memchr(text.p, ';', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        LC_TRY(parse_pair((struct lc_str){text.p, n}, arena, out, err));
        more = end != NULL;
        text = (struct lc_str){text.p + n + more, text.n - n - more};
    }
    return LCDC_OK;
}

lcdc_status lc_spark_url_parse(const char *text, const char *env_token, struct lc_arena *arena,
                               struct lc_spark_url *out, lcdc_error **err)
{
    struct lc_spark_url url = {.user_id = "", .user_agent = ""};
    if (!lc_spark_is_url(text) || strlen(text) > MAX_URL)
        return lc_fail(err, LC_R_SPARK_URL, "a connection string begins with sc:// and has at most %d bytes",
                       (int)MAX_URL);
    struct lc_str host = {text + 5, strcspn(text + 5, "/;?#")};
    const char *rest = host.p + host.n;
    if (*rest && strcmp(rest, "/") != 0 && strncmp(rest, "/;", 2) != 0)
        return lc_fail(err, LC_R_SPARK_URL,
                       "after the host a connection string has nothing, or '/;' and key=value pairs");
    LC_TRY(parse_host(host, arena, &url, err));
    if (strncmp(rest, "/;", 2) == 0)
        LC_TRY(parse_pairs(lc_str_of(rest + 2), arena, &url, err));
    if (!url.token && env_token && *env_token) {
        bool is_known;
        const char *token = lc_arena_strdup(arena, env_token);
        LC_TRY_ALLOC(token);
        LC_TRY(set_known(LC_STR("token"), token, &url, &is_known, err));
    }
    if (url.token) {
        url.secrets[url.n_secrets++] = url.token;
        url.is_tls = url.is_tls || strcmp(url.host, "localhost") != 0;
    }
    *out = url;
    return LCDC_OK;
}
