/* SPDX-License-Identifier: Apache-2.0 */
#include "write/text.h"

#include <math.h>

#include "base/time.h"

static void put_float(struct lc_buf *out, const struct lc_value *value)
{
    char text[32];
    if (value->type.kind == LC_TYPE_FLOAT)
        lc_print_f32((float)value->f, text);
    else
        lc_print_f64(value->f, text);
    lc_buf_text(out, text);
}

static void put_base64(struct lc_buf *out, struct lc_str bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.p;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        unsigned group = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
        char four[4] = {letters[group >> 18], letters[group >> 12 & 63], left > 1 ? letters[group >> 6 & 63] : '=',
                        left > 2 ? letters[group & 63] : '='};
        lc_buf_append(out, four, sizeof(four));
    }
}

/* A value that is not null and not nested, as text without quotes. */
static void put_scalar(struct lc_buf *out, const struct lc_value *value)
{
    switch (value->type.kind) {
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        lc_buf_number(out, value->i, 1);
        return;
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        put_float(out, value);
        return;
    case LC_TYPE_STRING:
        lc_buf_append(out, value->str.p, value->str.n);
        return;
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
        put_base64(out, value->str);
        return;
    case LC_TYPE_BOOL:
    case LC_TYPE_DECIMAL:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_UUID:
        lc_value_print(out, value);
        return;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return;
    }
}

static bool is_bare_in_json(const struct lc_value *value)
{
    switch (value->type.kind) {
    case LC_TYPE_BOOL:
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        return true;
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        return isfinite(value->f);
    default:
        return false;
    }
}

static void put_json_scalar(struct lc_buf *out, const struct lc_value *value)
{
    bool bare = is_bare_in_json(value);
    if (value->type.kind == LC_TYPE_STRING) {
        lc_buf_json_string(out, value->str);
        return;
    }
    if (!bare)
        lc_buf_char(out, '"');
    put_scalar(out, value);
    if (!bare)
        lc_buf_char(out, '"');
}

/* ---- nested values ---- */

void lc_text_key(struct lc_buf *out, const char *name)
{
    lc_buf_json_string(out, lc_str_of(name));
    lc_buf_char(out, ':');
}

static void put_struct(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i)
{
    lc_buf_char(out, '{');
    for (size_t c = 0; c < field->n_children; c++) {
        if (c)
            lc_buf_char(out, ',');
        lc_text_key(out, field->children[c].name);
        lc_text_json(out, &field->children[c], array->children[c], array->offset + i);
    }
    lc_buf_char(out, '}');
}

/* Rows [begin, end) of the elements that row `i` of a list or map holds. */
static void element_range(const struct ArrowArray *array, int64_t i, int64_t *begin, int64_t *end)
{
    int32_t offsets[2];
    __builtin_memcpy(offsets, (const char *)array->buffers[1] + (array->offset + i) * 4, sizeof(offsets));
    *begin = offsets[0];
    *end = offsets[1];
}

static void put_list(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i)
{
    int64_t begin, end;
    element_range(array, i, &begin, &end);
    lc_buf_char(out, '[');
    for (int64_t k = begin; k < end; k++) {
        if (k > begin)
            lc_buf_char(out, ',');
        lc_text_json(out, &field->children[0], array->children[0], k);
    }
    lc_buf_char(out, ']');
}

/* Pairs, not an object: keys may be of any type, and their order is kept. */
static void put_map(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i)
{
    const struct ArrowArray *entries = array->children[0];
    int64_t begin, end;
    element_range(array, i, &begin, &end);
    lc_buf_char(out, '[');
    for (int64_t k = begin; k < end; k++) {
        lc_buf_text(out, k > begin ? ",[" : "[");
        lc_text_json(out, &field->children[0], entries->children[0], entries->offset + k);
        lc_buf_char(out, ',');
        lc_text_json(out, &field->children[1], entries->children[1], entries->offset + k);
        lc_buf_char(out, ']');
    }
    lc_buf_char(out, ']');
}

void lc_text_json(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i)
{
    struct lc_value value;
    if (field->type.kind == LC_TYPE_NULL || lc_array_is_null(array, i)) {
        lc_buf_text(out, "null");
    } else if (field->type.kind == LC_TYPE_STRUCT) {
        put_struct(out, field, array, i);
    } else if (field->type.kind == LC_TYPE_LIST) {
        put_list(out, field, array, i);
    } else if (field->type.kind == LC_TYPE_MAP) {
        put_map(out, field, array, i);
    } else {
        lc_array_value(array, field->type, i, &value);
        put_json_scalar(out, &value);
    }
}

void lc_text_plain(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i)
{
    struct lc_value value;
    if (field->type.kind == LC_TYPE_NULL || lc_array_is_null(array, i))
        return;
    if (lc_type_is_nested(field->type.kind)) {
        lc_text_json(out, field, array, i);
        return;
    }
    lc_array_value(array, field->type, i, &value);
    put_scalar(out, &value);
}
