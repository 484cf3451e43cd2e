/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - jansson behind limits.
 *
 * Depth is counted before jansson recurses over the text, duplicate members are refused, an integer that does not fit
 * 64 bits is an error instead of a rounded number. jansson's own memory hooks belong to the program and stay alone.
 */
#include "io/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 };

/* Where the nesting first exceeds the limit, or NULL. Brackets inside strings do not count. */
static const char *find_too_deep(struct lc_str text)
{
    const char *end = text.p + text.n;
    size_t depth = 0;
    for (const char *p = text.p; p < end; p++) {
        if (*p == '[' || *p == '{') {
            if (++depth > LC_JSON_MAX_DEPTH)
                return p;
        } else if (*p == ']' || *p == '}') {
            depth -= depth > 0;
        } else if (*p == '"') {
            for (p++; p < end && *p != '"'; p++)
                p += *p == '\\';
        }
    }
    return NULL;
}

lcdc_status lc_json_parse(struct lc_str text, struct json_t **out, lcdc_error **err)
{
    json_error_t error;
    if (text.n == 0)
        return lc_fail(err, LC_R_JSON_BAD, "json text is empty");
    if (text.n > MAX_BYTES)
        return lc_fail(err, LC_R_LIMIT, "json text has %zu bytes, more than the limit of %d", text.n, MAX_BYTES);
    const char *deep = find_too_deep(text);
    if (deep)
        return lc_fail(err, LC_R_JSON_BAD, "json is nested deeper than %d levels at byte %td", LC_JSON_MAX_DEPTH,
                       deep - text.p);
    json_t *json = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!json && (json_error_code(&error) == json_error_out_of_memory || error.text[0] == 0))
        return lc_fail_oom(err); /* jansson says nothing where an allocation of its own failed */
    if (!json)
        return lc_fail(err, LC_R_JSON_BAD, "json line %d, column %d: %s", error.line, error.column, error.text);
    *out = json;
    return LCDC_OK;
}

void lc_json_free(struct json_t *json)
{
    json_decref(json);
}

struct json_t *lc_json_member(const struct json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

bool lc_json_is_object(const struct json_t *json)
{
    return json_is_object(json);
}

bool lc_json_is_array(const struct json_t *json)
{
    return json_is_array(json);
}

bool lc_json_is_string(const struct json_t *json)
{
    return json_is_string(json);
}

bool lc_json_is_number(const struct json_t *json)
{
    return json_is_number(json);
}

bool lc_json_is_null(const struct json_t *json)
{
    return json_is_null(json);
}

size_t lc_json_count(const struct json_t *json)
{
    return json_is_array(json) ? json_array_size(json) : json_object_size(json);
}

struct json_t *lc_json_at(const struct json_t *array, size_t i)
{
    return json_array_get(array, i);
}

bool lc_json_str(const struct json_t *json, struct lc_str *out)
{
    if (!json_is_string(json))
        return false;
    *out = (struct lc_str){json_string_value(json), json_string_length(json)};
    return true;
}

bool lc_json_i64(const struct json_t *json, int64_t *out)
{
    if (!json_is_integer(json))
        return false;
    *out = json_integer_value(json);
    return true;
}

bool lc_json_f64(const struct json_t *json, double *out)
{
    if (!json_is_number(json))
        return false;
    *out = json_number_value(json);
    return true;
}

bool lc_json_bool(const struct json_t *json, bool *out)
{
    if (!json_is_boolean(json))
        return false;
    *out = json_is_true(json);
    return true;
}

bool lc_json_get_str(const struct json_t *object, const char *key, struct lc_str *out)
{
    return lc_json_str(lc_json_member(object, key), out);
}

bool lc_json_get_i64(const struct json_t *object, const char *key, int64_t *out)
{
    return lc_json_i64(lc_json_member(object, key), out);
}

bool lc_json_get_bool(const struct json_t *object, const char *key, bool *out)
{
    return lc_json_bool(lc_json_member(object, key), out);
}

bool lc_json_next(const struct json_t *object, void **at, struct lc_str *key, struct json_t **value)
{
    json_t *self = (json_t *)object; /* jansson's iterators are not const, and change nothing */
    *at = *at ? json_object_iter_next(self, *at) : json_object_iter(self);
    if (!*at)
        return false;
    *key = (struct lc_str){json_object_iter_key(*at), json_object_iter_key_len(*at)};
    *value = json_object_iter_value(*at);
    return true;
}

static void print_object(const json_t *json, struct lc_buf *out)
{
    struct lc_str key;
    json_t *value;
    char separator = '{';
    for (void *at = NULL; lc_json_next(json, &at, &key, &value);) {
        lc_buf_char(out, separator);
        lc_buf_json_string(out, key);
        lc_buf_char(out, ':');
        lc_json_print(value, out);
        separator = ',';
    }
    lc_buf_text(out, separator == '{' ? "{}" : "}");
}

static void print_array(const json_t *json, struct lc_buf *out)
{
    lc_buf_char(out, '[');
    for (size_t i = 0; i < json_array_size(json); i++) {
        if (i > 0)
            lc_buf_char(out, ',');
        lc_json_print(json_array_get(json, i), out);
    }
    lc_buf_char(out, ']');
}

/* Recursion is as deep as lc_json_parse() lets trees be. Numbers are printed shortest, which jansson does not do. */
void lc_json_print(const struct json_t *json, struct lc_buf *out)
{
    struct lc_str text = {0};
    char number[32];
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        print_object(json, out);
        break;
    case JSON_ARRAY:
        print_array(json, out);
        break;
    case JSON_STRING:
        (void)lc_json_str(json, &text);
        lc_buf_json_string(out, text);
        break;
    case JSON_INTEGER:
        lc_buf_printf(out, "%" PRId64, (int64_t)json_integer_value(json));
        break;
    case JSON_REAL:
        lc_print_f64(json_real_value(json), number);
        lc_buf_text(out, number);
        break;
    case JSON_TRUE:
        lc_buf_text(out, "true");
        break;
    case JSON_FALSE:
        lc_buf_text(out, "false");
        break;
    case JSON_NULL:
        lc_buf_text(out, "null");
        break;
    }
}
