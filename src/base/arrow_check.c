/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_check.c - lc_array_check(): may this array be looked at?
 *
 * The C structs do not say how long a buffer is, so lengths and offsets are taken as the producer's word about its
 * memory and held against each other and against the type: after this check no reader of arrow.h leaves what the
 * structs describe, and every value is one of its type.
 */
#include "base/arrow_parts.h"

#include <string.h>

/* More rows than a batch ever has; bounds the work that a few hostile numbers can ask for. */
enum { MAX_ROWS = INT32_MAX };

struct node {
    const struct ArrowArray *array;
    const struct lc_field *field;
    lcdc_error **err;
};

static lcdc_status bad(const struct node *node, const char *what)
{
    return lc_fail(node->err, LC_R_ARROW_BAD, "arrow column \"%.200s\" (%s) %s",
                   node->field->name ? node->field->name : "", lc_type_word(node->field->type.kind), what);
}

static bool is_null(const struct node *node, int64_t i)
{
    return lc_array_is_null(node->array, i);
}

/* ---- structure ---- */

static lcdc_status check_structure(const struct node *node)
{
    const struct ArrowArray *array = node->array;
    int n_buffers = lc_arrow_buffers(node->field->type.kind);
    if (!array || !array->release)
        return bad(node, "is missing or released");
    if (array->length < 0 || array->offset < 0 || array->length > MAX_ROWS || array->offset > MAX_ROWS)
        return bad(node, "has a length or offset out of range");
    if (array->null_count < -1 || array->null_count > array->length)
        return bad(node, "has a null count out of range");
    if (array->n_buffers != n_buffers || (n_buffers && !array->buffers))
        return bad(node, "has other buffers than its type has");
    if (array->n_children != (int64_t)lc_arrow_children(node->field) || (array->n_children && !array->children))
        return bad(node, "has other children than its type has");
    if (array->dictionary)
        return bad(node, "has a dictionary");
    if (array->length && n_buffers > 1 && !array->buffers[1] && lc_arrow_width(node->field->type) != 0)
        return bad(node, "has rows but no values");
    if (array->length && node->field->type.kind == LC_TYPE_BOOL && !array->buffers[1])
        return bad(node, "has rows but no values");
    return LCDC_OK;
}

static lcdc_status check_nulls(const struct node *node)
{
    const struct ArrowArray *array = node->array;
    int64_t nulls = 0;
    if (array->n_buffers == 0 || !array->buffers[0])
        return array->n_buffers && array->null_count > 0 ? bad(node, "has nulls but no validity bitmap") : LCDC_OK;
    if (array->null_count < 0)
        return LCDC_OK;
    for (int64_t i = 0; i < array->length; i++)
        nulls += !lc_bit(array->buffers[0], array->offset + i);
    return nulls == array->null_count ? LCDC_OK : bad(node, "has another number of nulls than it says");
}

static bool has_nulls(const struct ArrowArray *array)
{
    if (array->n_buffers == 0) /* of the null type */
        return array->length > 0;
    for (int64_t i = 0; array->buffers[0] && i < array->length; i++)
        if (lc_array_is_null(array, i))
            return true;
    return false;
}

/* Gives the end of what the offsets span in *end (0 for no rows). */
static lcdc_status check_offsets(const struct node *node, int64_t *end)
{
    const struct ArrowArray *array = node->array;
    *end = 0;
    if (array->length == 0)
        return LCDC_OK;
    int32_t last = lc_load_i32(array->buffers[1], array->offset);
    if (last < 0)
        return bad(node, "has a negative offset");
    for (int64_t i = 1; i <= array->length; i++) {
        int32_t next = lc_load_i32(array->buffers[1], array->offset + i);
        if (next < last)
            return bad(node, "has offsets that fall");
        last = next;
    }
    *end = last;
    return LCDC_OK;
}

/* ---- values ---- */

static bool is_ascii(const char *p, size_t n)
{
    uint64_t word, all = 0;
    size_t i = 0;
    for (; i + sizeof(word) <= n; i += sizeof(word)) {
        memcpy(&word, p + i, sizeof(word));
        all |= word;
    }
    for (; i < n; i++)
        all |= (unsigned char)p[i] & 0x80;
    return !(all & UINT64_C(0x8080808080808080));
}

static lcdc_status check_text(const struct node *node)
{
    const struct ArrowArray *array = node->array;
    int64_t end;
    LC_TRY(check_offsets(node, &end));
    int64_t begin = array->length ? lc_load_i32(array->buffers[1], array->offset) : 0;
    if (end > begin && !array->buffers[2])
        return bad(node, "has text but no data buffer");
    if (node->field->type.kind != LC_TYPE_STRING || end == begin ||
        is_ascii((const char *)array->buffers[2] + begin, (size_t)(end - begin)))
        return LCDC_OK;
    for (int64_t i = 0; i < array->length; i++)
        if (!is_null(node, i) && !lc_utf8_valid(lc_array_str(array, LC_TYPE_STRING, 0, i)))
            return bad(node, "holds text that is not utf-8");
    return LCDC_OK;
}

static lcdc_status check_decimals(const struct node *node)
{
    lc_i128 limit = lc_pow10(node->field->type.precision);
    struct lc_value value;
    for (int64_t i = 0; i < node->array->length; i++) {
        lc_array_value(node->array, node->field->type, i, &value);
        if (!value.is_null && (value.dec <= -limit || value.dec >= limit))
            return bad(node, "holds a number with more digits than its precision");
    }
    return LCDC_OK;
}

static lcdc_status check_times(const struct node *node)
{
    for (int64_t i = 0; i < node->array->length; i++) {
        int64_t us = lc_load_i64(node->array->buffers[1], node->array->offset + i);
        if (!is_null(node, i) && (us < 0 || us >= INT64_C(86400000000)))
            return bad(node, "holds a time outside the day");
    }
    return LCDC_OK;
}

/* ---- nesting ---- */

static lcdc_status check(const struct ArrowArray *array, const struct lc_field *field, int depth, lcdc_error **err);

/* Rows of a struct, elements of a list: the child must have at least `rows`. */
static lcdc_status check_children(const struct node *node, int64_t rows, int depth)
{
    struct lc_field entries;
    for (size_t i = 0; i < lc_arrow_children(node->field); i++) {
        const struct ArrowArray *child = node->array->children[i];
        LC_TRY(check(child, lc_arrow_child(node->field, i, &entries), depth + 1, node->err));
        if (child->length < rows)
            return bad(node, "has a child with too few rows");
    }
    return LCDC_OK;
}

static lcdc_status check_list(const struct node *node, int depth)
{
    int64_t end;
    LC_TRY(check_offsets(node, &end));
    LC_TRY(check_children(node, end, depth));
    if (node->field->type.kind != LC_TYPE_MAP)
        return LCDC_OK;
    const struct ArrowArray *pairs = node->array->children[0];
    return has_nulls(pairs) || has_nulls(pairs->children[0]) ? bad(node, "has a null key") : LCDC_OK;
}

static lcdc_status check(const struct ArrowArray *array, const struct lc_field *field, int depth, lcdc_error **err)
{
    struct node node = {array, field, err};
    enum lc_type_kind kind = field->type.kind;
    if (depth > 2 * LC_MAX_DEPTH)
        return lc_fail(err, LC_R_SCHEMA_BAD, "an arrow array is nested deeper than %d levels", 2 * LC_MAX_DEPTH);
    LC_TRY(check_structure(&node));
    LC_TRY(check_nulls(&node));
    if (kind == LC_TYPE_STRUCT)
        return check_children(&node, array->offset + array->length, depth);
    if (kind == LC_TYPE_LIST || kind == LC_TYPE_MAP)
        return check_list(&node, depth);
    if (lc_arrow_has_offsets(kind))
        return check_text(&node);
    if (kind == LC_TYPE_DECIMAL)
        return check_decimals(&node);
    return kind == LC_TYPE_TIME ? check_times(&node) : LCDC_OK;
}

lcdc_status lc_array_check(const struct ArrowArray *array, const struct lc_field *field, lcdc_error **err)
{
    return check(array, field, 0, err);
}
