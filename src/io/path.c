/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path.c - one spelling for each location, and the map of a table that was copied elsewhere.
 *
 * Everything compares in normal form: absolute, no trailing slash, local paths bare, s3a and s3n as s3. Nothing is ever
 * decoded, because table formats write raw paths even behind "file:".
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "io/storage.h"

enum { MAX_LOCATION = 1 << 16 };

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Length of "scheme" in "scheme:/...", 0 when there is none. One letter is a name with a colon, not a scheme. */
static size_t scheme_length(const char *text)
{
    size_t n = 0;
    while (is_alpha(text[n]) || (n && (strchr("+-.", text[n]) || (text[n] >= '0' && text[n] <= '9')) && text[n]))
        n++;
    return n > 1 && text[n] == ':' && text[n + 1] == '/' ? n : 0;
}

bool lc_location_is_absolute(const char *path)
{
    return path[0] == '/' || scheme_length(path) > 0;
}

static void trim_slashes(struct lc_buf *buf, size_t keep)
{
    while (!buf->failed && buf->n > keep && buf->p[buf->n - 1] == '/')
        buf->p[--buf->n] = 0;
}

static lcdc_status take_text(struct lc_buf *buf, char **out, lcdc_error **err)
{
    char *text = lc_buf_take(buf);
    LC_TRY_ALLOC(text);
    *out = text;
    return LCDC_OK;
}

/* Appends the parts of a local path, without empty ones and "."; ".." stays, its meaning depends on links. */
static void append_local(struct lc_buf *buf, const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n > 0 && !(n == 1 && path[0] == '.')) {
            lc_buf_char(buf, '/');
            lc_buf_append(buf, path, n);
        }
        path += n + (path[n] == '/');
    }
}

static lcdc_status normalise_local(const char *path, char **out, lcdc_error **err)
{
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, MAX_LOCATION);
    if (path[0] != '/') {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof(here)))
            return lc_fail(err, LC_R_URL, "the working folder is not known, so a path must begin with '/'");
        append_local(&buf, here);
    }
    append_local(&buf, path);
    if (buf.n == 0)
        lc_buf_char(&buf, '/');
    return take_text(&buf, out, err);
}

/* `rest` follows "file:". Only this machine has local files. */
static lcdc_status normalise_file(const char *rest, char **out, lcdc_error **err)
{
    if (strncmp(rest, "//", 2) == 0 && rest[2] != '/') {
        struct lc_str host = {rest + 2, strcspn(rest + 2, "/")};
        if (!lc_str_is_nocase(host, "localhost"))
            return lc_fail(err, LC_R_URL, "a file: URL names the host \"%.*s\"; only local files can be read",
                           LC_STR_ARG(host));
        rest = host.p + host.n;
    }
    return normalise_local(*rest ? rest : "/", out, err);
}

static lcdc_status normalise_url(const char *text, size_t scheme, char **out, lcdc_error **err)
{
    LC_BUF struct lc_buf buf;
    const char *rest = text + scheme + 1;
    lc_buf_init(&buf, MAX_LOCATION);
    struct lc_str word = {text, scheme};
    if (lc_str_is_nocase(word, "s3a") || lc_str_is_nocase(word, "s3n"))
        word = LC_STR("s3");
    for (size_t i = 0; i < word.n; i++)
        lc_buf_char(&buf, (char)(is_alpha(word.p[i]) ? word.p[i] | 0x20 : word.p[i]));
    lc_buf_char(&buf, ':');
    if (strncmp(rest, "//", 2) == 0) {
        size_t n = strcspn(rest + 2, "/");
        const char *at = memchr(rest + 2, '@', n);
        if (at && memchr(rest + 2, ':', (size_t)(at - rest - 2))) /* the text is kept out of the message on purpose */
            return lc_fail(err, LC_R_URL,
                           "a location of scheme %.*s has a user and a password in it; credentials come "
                           "from the environment",
                           LC_STR_ARG(word));
        if (n == 0)
            return lc_fail(err, LC_R_URL, "\"%.200s\" names no bucket or host", text);
    }
    lc_buf_text(&buf, rest);
    trim_slashes(&buf, word.n + 2);
    return take_text(&buf, out, err);
}

lcdc_status lc_location_normalise(const char *text, char **out, lcdc_error **err)
{
    size_t scheme = scheme_length(text);
    struct lc_str word = {text, strcspn(text, ":/")};
    if (text[0] == 0)
        return lc_fail(err, LC_R_URL, "the location is empty");
    if (strlen(text) > MAX_LOCATION / 2)
        return lc_fail(err, LC_R_URL, "the location has more than %d bytes", MAX_LOCATION / 2);
    if (scheme == 0 && text[word.n] == ':' && (lc_str_is_nocase(word, "file") || lc_str_is_nocase(word, "s3")))
        return lc_fail(err, LC_R_URL, "\"%.200s\" has a scheme but no '/' after it", text);
    if (scheme == 0)
        return normalise_local(text, out, err);
    if (lc_str_is_nocase(word, "file"))
        return normalise_file(text + scheme + 1, out, err);
    return normalise_url(text, scheme, out, err);
}

char *lc_location_join(const char *folder, const char *name)
{
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, SIZE_MAX / 2);
    lc_buf_text(&buf, folder);
    trim_slashes(&buf, 0);
    lc_buf_char(&buf, '/');
    lc_buf_text(&buf, name);
    return lc_buf_take(&buf);
}

/* ---- the path map ---- */

/* The normal form, or for what has none ("file://host/x", a cluster's own scheme) the text without trailing slashes. */
static lcdc_status comparable(const char *text, char **out, lcdc_error **err)
{
    LC_BUF struct lc_buf buf = {0};
    lcdc_status status = lc_location_normalise(text, out, NULL);
    if (status == LCDC_OK || status == LCDC_OUT_OF_MEMORY)
        return status == LCDC_OK ? LCDC_OK : lc_fail_oom(err);
    lc_buf_init(&buf, SIZE_MAX / 2);
    lc_buf_text(&buf, text);
    trim_slashes(&buf, 1);
    return take_text(&buf, out, err);
}

/* The first '=' that a location follows: partition folders have '=' in their names too. */
static const char *find_split(const char *rule)
{
    for (const char *at = strchr(rule, '='); at; at = strchr(at + 1, '='))
        if (lc_location_is_absolute(at + 1) || strncmp(at + 1, "./", 2) == 0 || strncmp(at + 1, "../", 3) == 0)
            return at;
    return NULL;
}

lcdc_status lc_path_map_add(struct lc_path_map *map, const char *rule, lcdc_error **err)
{
    const char *split = find_split(rule);
    if (!split || split == rule)
        return lc_fail(err, LC_R_OPTION_VALUE,
                       "a path rule has the form FROM=TO, where TO is an absolute location; found \"%.200s\"", rule);
    LC_FREE char *spelled = lc_strndup(rule, (size_t)(split - rule));
    LC_FREE char *from = NULL;
    LC_FREE char *to = NULL;
    LC_TRY_ALLOC(spelled);
    LC_TRY(comparable(spelled, &from, err));
    LC_TRY(lc_location_normalise(split + 1, &to, err));
    struct lc_path_rule *rules = lc_realloc(map->rules, map->n + 1, sizeof(*rules));
    LC_TRY_ALLOC(rules);
    map->rules = rules;
    size_t i = map->n++; /* longest first; among equals the one given first */
    for (; i > 0 && strlen(rules[i - 1].from) < strlen(from); i--)
        rules[i] = rules[i - 1];
    rules[i] = (struct lc_path_rule){.from = lc_steal(from), .to = lc_steal(to)};
    return LCDC_OK;
}

void lc_path_map_done(struct lc_path_map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        lc_free(map->rules[i].from);
        lc_free(map->rules[i].to);
    }
    lc_free(map->rules);
    *map = (struct lc_path_map){0};
}

/* What follows the prefix in the path ("" or "/..."), NULL when the path is not below it. */
static const char *below(const char *prefix, const char *path)
{
    size_t n = strlen(prefix);
    if (strncmp(path, prefix, n) != 0)
        return NULL;
    if (n > 0 && prefix[n - 1] == '/') /* the root */
        return path + n - 1;
    return path[n] == 0 || path[n] == '/' ? path + n : NULL;
}

lcdc_status lc_path_map_apply(const struct lc_path_map *map, const char *path, char **out, lcdc_error **err)
{
    LC_FREE char *known = NULL;
    LC_TRY(comparable(path, &known, err));
    for (size_t i = 0; map && i < map->n; i++) {
        const char *rest = below(map->rules[i].from, known);
        if (!rest)
            continue;
        while (*rest == '/')
            rest++;
        char *moved = *rest ? lc_location_join(map->rules[i].to, rest) : lc_strdup(map->rules[i].to);
        LC_TRY_ALLOC(moved);
        *out = moved;
        return LCDC_OK;
    }
    return lc_location_normalise(path, out, err);
}
