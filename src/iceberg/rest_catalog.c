/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URI is the catalog's base, as its clients are given it ("https://host/iceberg"); settings may follow as a query:
 * warehouse, prefix, scope, oauth2-server-uri, and token or credential ("id:secret"). Those two are better kept in
 * LAKECDC_CATALOG_TOKEN and LAKECDC_CATALOG_CREDENTIAL, where no list of processes shows them. A credential is changed
 * for a token first (OAuth 2 client credentials). Storage credentials that a catalog hands out are not used: those of
 * the environment are.
 */
#include "iceberg/rest_catalog.h"

#include <stdlib.h>
#include <string.h>

#include "io/http.h"
#include "io/json.h"

enum { MAX_URL = 16384, HTTP_OK = 200, HTTP_NOT_FOUND = 404 };

struct rest {
    struct lc_iceberg_catalog catalog;
    char *base, *ca_file;
    int64_t timeout_ms;
    const struct lc_shared *shared;
    char *warehouse, *prefix, *scope, *token_url, *token, *credential;
};

static void rest_release(struct lc_iceberg_catalog *catalog)
{
    struct rest *self = (struct rest *)catalog;
    if (!self)
        return;
    lc_free(self->base);
    lc_free(self->ca_file);
    lc_free(self->warehouse);
    lc_free(self->prefix);
    lc_free(self->scope);
    lc_free(self->token_url);
    lc_free(self->token);
    lc_free(self->credential);
    lc_free(self);
}

static void rest_freep(struct rest **self)
{
    rest_release(*self ? &(*self)->catalog : NULL);
}

bool lc_iceberg_is_rest_uri(const char *location)
{
    return strncmp(location, "http://", 7) == 0 || strncmp(location, "https://", 8) == 0;
}

/* ---- texts ---- */

/* As one part of a URL's path or one value of a form. */
static void append_encoded(struct lc_buf *out, struct lc_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
        if (plain && c)
            lc_buf_char(out, (char)c);
        else
            lc_buf_printf(out, "%%%02X", c);
    }
}

static lcdc_status set_text(char **at, struct lc_str text, lcdc_error **err)
{
    char *copy = lc_strndup(text.p, text.n);
    LC_TRY_ALLOC(copy);
    lc_free(*at);
    *at = copy;
    return LCDC_OK;
}

static lcdc_status set_parameter(struct rest *self, struct lc_str key, struct lc_str value, lcdc_error **err)
{
    const struct {
        const char *key;
        char **at;
    } known[] = {{"warehouse", &self->warehouse},         {"prefix", &self->prefix}, {"scope", &self->scope},
                 {"oauth2-server-uri", &self->token_url}, {"token", &self->token},   {"credential", &self->credential}};
    LC_FREE char *text = lc_percent_decode(value);
    LC_TRY_ALLOC(text);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (lc_str_is(key, known[i].key))
            return set_text(known[i].at, lc_str_of(text), err);
    return lc_fail(err, LC_R_OPTION_VALUE, "the catalog's location has an unknown setting '%.*s'", LC_STR_ARG(key));
}

static lcdc_status parse_query(struct rest *self, const char *query, lcdc_error **err)
{
    while (*query) {
        size_t n = strcspn(query, "&"), key = strcspn(query, "=&");
        struct lc_str value = {query + key + (key < n), n - key - (key < n)};
        if (n)
            LC_TRY(set_parameter(self, (struct lc_str){query, key}, value, err));
        query += n + (query[n] == '&');
    }
    return LCDC_OK;
}

/* ---- requests ---- */

static lcdc_status send(const struct rest *self, const char *method, const char *url, struct lc_str body,
                        struct lc_http_response *out, lcdc_error **err)
{
    struct lc_buf text;
    lc_buf_init(&text, MAX_URL);
    lc_buf_printf(&text, "Authorization: Bearer %s", self->token ? self->token : "");
    LC_FREE char *authorization = lc_buf_take(&text);
    LC_TRY_ALLOC(authorization);
    const char *headers[] = {body.p ? "Content-Type: application/x-www-form-urlencoded" : "Accept: application/json",
                             authorization};
    struct lc_http_request request = {.method = method,
                                      .url = url,
                                      .n_headers = self->token && !body.p ? 2 : 1,
                                      .headers = headers,
                                      .body = body,
                                      .timeout_ms = self->timeout_ms,
                                      .ca_file = self->ca_file,
                                      .cancelled = self->shared ? self->shared->cancelled : NULL};
    return lc_http(&request, out, err);
}

/* What a server says went wrong, as one line. */
static lcdc_status refused(const char *what, const struct lc_http_response *response, const struct json_t *json,
                           lcdc_error **err)
{
    struct lc_str message = LC_STR("it gives no reason");
    (void)lc_json_get_str(lc_json_member(json, "error"), "message", &message);
    LC_FREE char *line = lc_strndup(message.p, message.n);
    LC_TRY_ALLOC(line);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    bool is_missing = response->status == HTTP_NOT_FOUND;
    return lc_fail(err, is_missing ? LC_R_TABLE_MISSING : LC_R_ICEBERG_CATALOG,
                   "the catalog answers %s with status %d: %.300s", what, response->status, line);
}

/* One request whose answer is JSON. `body` NULL: GET. With `may_miss` a 404 gives NULL. */
static lcdc_status ask(const struct rest *self, const char *what, const char *url, const char *body, bool may_miss,
                       struct json_t **out, lcdc_error **err)
{
    LC_CLEANUP(lc_http_response_done) struct lc_http_response response = {0};
    LC_ERROR lcdc_error *problem = NULL;
    LC_JSON struct json_t *json = NULL;
    struct lc_str sent = {body, body ? strlen(body) : 0};
    LC_TRY(send(self, body ? "POST" : "GET", url, sent, &response, err));
    *out = NULL;
    if (may_miss && response.status == HTTP_NOT_FOUND)
        return LCDC_OK;
    lcdc_status status = lc_json_parse((struct lc_str){response.body.p, response.body.n}, &json, &problem);
    if (status == LCDC_OUT_OF_MEMORY)
        return lc_fail_oom(err);
    if (response.status != HTTP_OK)
        return refused(what, &response, json, err);
    if (!lc_json_is_object(json))
        return lc_fail(err, LC_R_ICEBERG_CATALOG, "the catalog answers %s with something that is no JSON object", what);
    *out = lc_steal(json);
    return LCDC_OK;
}

/* ---- the token ---- */

static lcdc_status fetch_token(struct rest *self, lcdc_error **err)
{
    struct lc_buf text;
    LC_JSON struct json_t *json = NULL;
    struct lc_str token, id, secret;
    const char *colon = strchr(self->credential, ':');
    id = colon ? (struct lc_str){self->credential, (size_t)(colon - self->credential)} : LC_STR("");
    secret = lc_str_of(colon ? colon + 1 : self->credential);
    lc_buf_init(&text, MAX_URL);
    lc_buf_text(&text, "grant_type=client_credentials&scope=");
    append_encoded(&text, lc_str_of(self->scope ? self->scope : "catalog"));
    if (id.n) {
        lc_buf_text(&text, "&client_id=");
        append_encoded(&text, id);
    }
    lc_buf_text(&text, "&client_secret=");
    append_encoded(&text, secret);
    LC_FREE char *form = lc_buf_take(&text);
    lc_buf_init(&text, MAX_URL);
    lc_buf_printf(&text, "%s/v1/oauth/tokens", self->base);
    LC_FREE char *own = lc_buf_take(&text);
    LC_TRY_ALLOC(form && own);
    LC_TRY(ask(self, "the request for a token", self->token_url ? self->token_url : own, form, false, &json, err));
    if (!lc_json_get_str(json, "access_token", &token))
        return lc_fail(err, LC_R_ICEBERG_CATALOG, "the answer to the request for a token has none");
    return set_text(&self->token, token, err);
}

/* ---- the configuration ---- */

static lcdc_status take_setting(const struct json_t *settings, const char *key, char **at, lcdc_error **err)
{
    struct lc_str text;
    return lc_json_get_str(settings, key, &text) ? set_text(at, text, err) : LCDC_OK;
}

/* What the server lays down goes before what was asked for, its defaults come after that. */
static lcdc_status configure(struct rest *self, lcdc_error **err)
{
    struct lc_buf text;
    LC_JSON struct json_t *json = NULL;
    lc_buf_init(&text, MAX_URL);
    lc_buf_printf(&text, "%s/v1/config", self->base);
    if (self->warehouse) {
        lc_buf_text(&text, "?warehouse=");
        append_encoded(&text, lc_str_of(self->warehouse));
    }
    LC_FREE char *url = lc_buf_take(&text);
    LC_TRY_ALLOC(url);
    LC_TRY(ask(self, "the request for its configuration", url, NULL, true, &json, err));
    const struct json_t *defaults = lc_json_member(json, "defaults"), *overrides = lc_json_member(json, "overrides");
    if (!self->prefix)
        LC_TRY(take_setting(defaults, "prefix", &self->prefix, err));
    LC_TRY(take_setting(overrides, "prefix", &self->prefix, err));
    LC_TRY(take_setting(overrides, "token", &self->token, err));
    return take_setting(overrides, "uri", &self->base, err);
}

/* ---- tables ---- */

static lcdc_status table_url(const struct rest *self, const char *name, char **out, lcdc_error **err)
{
    struct lc_buf text;
    const char *last = strrchr(name, '.');
    if (!last || last == name || !last[1])
        return lc_fail(err, LC_R_OPTION_VALUE, "table: found '%.200s', expected namespace.table", name);
    lc_buf_init(&text, MAX_URL);
    lc_buf_printf(&text, "%s/v1/%s%snamespaces/", self->base, self->prefix ? self->prefix : "",
                  self->prefix && *self->prefix ? "/" : "");
    for (const char *part = name; part <= last;) { /* parts of a namespace stand apart by a unit separator */
        size_t n = strcspn(part, ".");
        if (part > name)
            lc_buf_text(&text, "%1F");
        append_encoded(&text, (struct lc_str){part, n});
        part += n + 1;
    }
    lc_buf_text(&text, "/tables/");
    append_encoded(&text, lc_str_of(last + 1));
    *out = lc_buf_take(&text);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status rest_locate(struct lc_iceberg_catalog *catalog, const char *name, struct lc_iceberg_place *out,
                               lcdc_error **err)
{
    struct rest *self = (struct rest *)catalog;
    LC_FREE char *url = NULL;
    LC_JSON struct json_t *json = NULL;
    struct lc_str location;
    if (self->credential && !self->token)
        LC_TRY(fetch_token(self, err));
    LC_TRY(configure(self, err));
    LC_TRY(table_url(self, name, &url, err));
    LC_TRY(ask(self, "the request for the table", url, NULL, false, &json, err));
    if (!lc_json_get_str(json, "metadata-location", &location))
        return lc_fail(err, LC_R_ICEBERG_CATALOG, "the catalog's answer has no metadata-location");
    LC_TRY(set_text(&out->location, location, err));
    const struct json_t *metadata = lc_json_member(json, "metadata");
    lc_buf_init(&out->text, LC_BUF_MAX);
    if (metadata)
        lc_json_print(metadata, &out->text);
    LC_TRY_BUF(&out->text);
    return LCDC_OK;
}

static lcdc_status set_from_environment(char **at, const char *name, lcdc_error **err)
{
    const char *text = *at ? NULL : getenv(name);
    return text && *text ? set_text(at, lc_str_of(text), err) : LCDC_OK;
}

lcdc_status lc_iceberg_rest_catalog(const struct lc_iceberg_rest_options *options, struct lc_iceberg_catalog **out,
                                    lcdc_error **err)
{
    static const struct lc_iceberg_catalog_ops ops = {.locate = rest_locate, .release = rest_release};
    LC_CLEANUP(rest_freep) struct rest *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->catalog.ops = &ops;
    self->timeout_ms = options->timeout_ms;
    self->shared = options->shared;
    size_t n = strcspn(options->uri, "?");
    const char *query = options->uri[n] ? options->uri + n + 1 : "";
    while (n && options->uri[n - 1] == '/')
        n--;
    LC_TRY(set_text(&self->base, (struct lc_str){options->uri, n}, err));
    if (options->ca_file)
        LC_TRY(set_text(&self->ca_file, lc_str_of(options->ca_file), err));
    LC_TRY(parse_query(self, query, err));
    LC_TRY(set_from_environment(&self->token, "LAKECDC_CATALOG_TOKEN", err));
    LC_TRY(set_from_environment(&self->credential, "LAKECDC_CATALOG_CREDENTIAL", err));
    *out = &lc_steal(self)->catalog;
    return LCDC_OK;
}
