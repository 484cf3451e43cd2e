/* SPDX-License-Identifier: Apache-2.0 */
#include "support/json_rows.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/value.h"

/* What one array owns besides its children. */
struct blocks {
    void *buffers[3];
    const void *views[3];
    struct ArrowArray *children[200];
};

static void release(struct ArrowArray *array)
{
    struct blocks *blocks = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release) /* a child may have been moved out */
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    for (int i = 0; i < 3; i++)
        free(blocks->buffers[i]);
    free(blocks);
    array->release = NULL;
}

/* Rows to build; an entry of NULL is padding, whose value must be seen by nobody. */
struct rows {
    int64_t n;
    const json_t **values;
    int pad;
};

static struct rows padded(struct rows rows)
{
    struct rows out = {rows.n + rows.pad, calloc((size_t)(rows.n + rows.pad) + 1, sizeof(*out.values)), rows.pad};
    memcpy(out.values + rows.pad, rows.values, (size_t)rows.n * sizeof(*out.values));
    return out;
}

static bool build(struct rows rows, const struct lc_field *field, struct ArrowArray *out);

static struct blocks *new_array(int64_t n, int pad, int64_t n_buffers, struct ArrowArray *out)
{
    struct blocks *blocks = calloc(1, sizeof(*blocks));
    *out = (struct ArrowArray){.length = n,
                               .offset = pad,
                               .n_buffers = n_buffers,
                               .buffers = blocks->views,
                               .children = blocks->children,
                               .release = release,
                               .private_data = blocks};
    return blocks;
}

static bool build_child(struct ArrowArray *array, struct rows rows, const struct lc_field *field)
{
    struct ArrowArray *child = calloc(1, sizeof(*child));
    array->children[array->n_children++] = child;
    bool ok = build(rows, field, child);
    if (!ok && !child->release)
        new_array(0, 0, 0, child);
    return ok;
}

static void *add_buffer(struct ArrowArray *array, int i, size_t bytes)
{
    struct blocks *blocks = array->private_data;
    blocks->buffers[i] = calloc(bytes + 1, 1);
    blocks->views[i] = blocks->buffers[i];
    return blocks->buffers[i];
}

static void add_validity(struct ArrowArray *array, struct rows rows)
{
    uint8_t *bits = add_buffer(array, 0, (size_t)rows.n / 8 + 1);
    for (int64_t i = 0; i < rows.n; i++) {
        bool valid = !json_is_null(rows.values[i]);
        bits[i / 8] |= (uint8_t)(valid << (i % 8));
        array->null_count += !valid;
    }
}

/* ---- scalars ---- */

static int base64_value(char c)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

static bool base64(struct lc_str text, unsigned char *out, size_t *n)
{
    unsigned bits = 0, have = 0;
    *n = 0;
    while (text.n && text.p[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        int value = base64_value(text.p[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (unsigned)value;
        have += 6;
        if (have >= 8)
            out[(*n)++] = (unsigned char)(bits >> (have -= 8));
    }
    return true;
}

static struct lc_str text_of(const json_t *value)
{
    return (struct lc_str){json_string_value(value), json_string_length(value)};
}

static bool put_number(const json_t *value, struct lc_type type, void *at)
{
    int width = lc_type_width(type.kind);
    int64_t i = json_integer_value(value);
    if (!json_is_integer(value) || (width < 8 && i >> (8 * width - 1) != 0 && i >> (8 * width - 1) != -1))
        return false;
    memcpy(at, &i, (size_t)width); /* little-endian */
    return true;
}

static bool put_float(const json_t *value, struct lc_type type, void *at)
{
    double f;
    if (json_is_string(value) ? !lc_parse_f64(text_of(value), &f) : !json_is_real(value))
        return false;
    if (!json_is_string(value))
        f = json_real_value(value);
    float narrow = (float)f;
    if (type.kind == LC_TYPE_FLOAT)
        memcpy(at, &narrow, sizeof(narrow));
    else
        memcpy(at, &f, sizeof(f));
    return true;
}

static bool put_text(const json_t *value, struct lc_type type, struct lc_arena *arena, void *at)
{
    struct lc_value parsed;
    int width = lc_type_width(type.kind);
    if (!json_is_string(value) || !lc_value_parse(type, text_of(value), arena, &parsed))
        return false;
    if (type.kind == LC_TYPE_DECIMAL)
        memcpy(at, &parsed.dec, 16);
    else if (type.kind == LC_TYPE_UUID)
        memcpy(at, parsed.str.p, 16);
    else
        memcpy(at, &parsed.i, (size_t)width);
    return true;
}

static bool put(const json_t *value, struct lc_type type, void *at)
{
    struct lc_arena arena LC_ARENA = {0};
    size_t n;
    switch (type.kind) {
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        return put_number(value, type, at);
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        return put_float(value, type, at);
    case LC_TYPE_FIXED:
        return json_is_string(value) && json_string_length(value) <= (size_t)type.length * 2 + 4 &&
               base64(text_of(value), at, &n) && n == (size_t)type.length;
    default:
        return put_text(value, type, &arena, at);
    }
}

static bool build_fixed(struct rows rows, struct lc_type type, struct ArrowArray *out)
{
    size_t width = type.kind == LC_TYPE_FIXED ? (size_t)type.length : (size_t)lc_type_width(type.kind);
    char *data = add_buffer(out, 1, (size_t)rows.n * width + 64);
    memset(data, 0x5A, (size_t)rows.n * width);
    for (int64_t i = 0; i < rows.n; i++)
        if (rows.values[i] && !json_is_null(rows.values[i]) && !put(rows.values[i], type, data + (size_t)i * width))
            return false;
    return true;
}

static bool build_bool(struct rows rows, struct ArrowArray *out)
{
    uint8_t *bits = add_buffer(out, 1, (size_t)rows.n / 8 + 1);
    for (int64_t i = 0; i < rows.n; i++) {
        bool set = !rows.values[i] || json_is_true(rows.values[i]);
        bits[i / 8] |= (uint8_t)(set << (i % 8));
        if (rows.values[i] && !json_is_boolean(rows.values[i]) && !json_is_null(rows.values[i]))
            return false;
    }
    return true;
}

static bool build_bytes(struct rows rows, enum lc_type_kind kind, struct ArrowArray *out)
{
    size_t total = 0, n = 0;
    int32_t *offsets = add_buffer(out, 1, ((size_t)rows.n + 1) * 4);
    for (int64_t i = 0; i < rows.n; i++)
        total += rows.values[i] ? json_string_length(rows.values[i]) : 3;
    unsigned char *data = add_buffer(out, 2, total);
    for (int64_t i = 0; i < rows.n; i++) {
        struct lc_str text = rows.values[i] ? text_of(rows.values[i]) : LC_STR("pad");
        size_t m = text.n;
        offsets[i] = (int32_t)n;
        if (rows.values[i] && !json_is_string(rows.values[i]) && !json_is_null(rows.values[i]))
            return false;
        if (kind == LC_TYPE_BINARY && rows.values[i] && !base64(text, data + n, &m))
            return false;
        if ((kind != LC_TYPE_BINARY || !rows.values[i]) && m)
            memcpy(data + n, text.p, m);
        n += m;
    }
    offsets[rows.n] = (int32_t)n;
    return true;
}

/* ---- nested ---- */

static bool build_struct(struct rows rows, const struct lc_field *field, struct ArrowArray *out)
{
    bool ok = true;
    for (size_t c = 0; c < field->n_children && ok; c++) {
        struct rows below = {rows.n, calloc((size_t)rows.n + 1, sizeof(*below.values)), rows.pad};
        for (int64_t i = 0; i < rows.n; i++)
            if (json_is_object(rows.values[i]))
                ok = (below.values[i] = json_object_get(rows.values[i], field->children[c].name)) != NULL && ok;
        ok = ok && build_child(out, below, &field->children[c]);
        free(below.values);
    }
    return ok;
}

/* A list's elements, or a map's pairs as structs of key and value. */
static bool build_list(struct rows rows, const struct lc_field *field, struct ArrowArray *out)
{
    int32_t *offsets = add_buffer(out, 1, ((size_t)rows.n + 1) * 4);
    size_t total = 0, n = 0;
    for (int64_t i = 0; i < rows.n; i++)
        total += json_is_array(rows.values[i]) ? json_array_size(rows.values[i]) : 1;
    struct rows below = {0, calloc(total + 1, sizeof(*below.values)), rows.pad};
    json_t *pairs = json_array();
    for (int64_t i = 0; i < rows.n; i++) {
        offsets[i] = (int32_t)n;
        if (!rows.values[i])
            n++; /* a padding row has a padding element */
        for (size_t k = 0; k < json_array_size(rows.values[i]); k++) {
            const json_t *item = json_array_get(rows.values[i], k);
            if (field->type.kind == LC_TYPE_MAP) {
                json_t *pair = json_pack("{s:O,s:O}", field->children[0].name, json_array_get(item, 0),
                                         field->children[1].name, json_array_get(item, 1));
                json_array_append_new(pairs, pair);
                item = pair;
            }
            below.values[n++] = item;
        }
    }
    offsets[rows.n] = (int32_t)n;
    below.n = (int64_t)n;
    struct lc_field entry = *field;
    entry.type.kind = LC_TYPE_STRUCT;
    bool ok = build_child(out, below, field->type.kind == LC_TYPE_MAP ? &entry : &field->children[0]);
    json_decref(pairs);
    free(below.values);
    return ok;
}

static bool build(struct rows given, const struct lc_field *field, struct ArrowArray *out)
{
    static const int n_buffers[] = {
        [LC_TYPE_NULL] = 0, [LC_TYPE_STRUCT] = 1, [LC_TYPE_STRING] = 3, [LC_TYPE_BINARY] = 3, [LC_TYPE_MAP] = 2};
    enum lc_type_kind kind = field->type.kind;
    struct rows rows = padded(given);
    bool ok = true, set = kind == LC_TYPE_NULL || kind == LC_TYPE_STRUCT;
    new_array(given.n, given.pad, set || n_buffers[kind] ? n_buffers[kind] : 2, out);
    if (kind == LC_TYPE_NULL)
        out->null_count = given.n;
    else
        add_validity(out, rows);
    switch (kind) {
    case LC_TYPE_NULL:
        break;
    case LC_TYPE_BOOL:
        ok = build_bool(rows, out);
        break;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
        ok = build_bytes(rows, kind, out);
        break;
    case LC_TYPE_STRUCT:
        ok = build_struct(rows, field, out);
        break;
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
        ok = build_list(rows, field, out);
        break;
    default:
        ok = build_fixed(rows, field->type, out);
    }
    if (!ok)
        fprintf(stderr, "json_rows: a value of %s is not of its type\n", field->name);
    free(rows.values);
    return ok;
}

bool json_rows(const char *json, const struct lc_field *field, int pad, struct ArrowArray *out)
{
    json_error_t error;
    json_t *parsed = json_loads(json, JSON_ALLOW_NUL, &error);
    if (!json_is_array(parsed)) {
        fprintf(stderr, "json_rows: %s\n", parsed ? "no array" : error.text);
        json_decref(parsed);
        return false;
    }
    struct rows rows = {(int64_t)json_array_size(parsed), calloc(json_array_size(parsed) + 1, sizeof(*rows.values)),
                        pad};
    for (size_t i = 0; i < json_array_size(parsed); i++)
        rows.values[i] = json_array_get(parsed, i);
    bool ok = build(rows, field, out);
    if (!ok)
        out->release(out);
    free(rows.values);
    json_decref(parsed);
    return ok;
}
