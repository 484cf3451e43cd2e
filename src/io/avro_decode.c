/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avro_decode.c - a block's bytes as values of the writer's schema.
 *
 * Each length is compared with what is left of the block, each item count too: items that take no bytes at all are the
 * only ones that could honestly be more, and no table metadata has them. Values of a record are counted, because
 * schemas can be made whose values take memory and no bytes.
 */
#include <inttypes.h>
#include <string.h>

#include "io/avro_parts.h"

struct decoder {
    struct lc_avro_cursor *cursor;
    struct lc_arena *arena;
    size_t n_values;
    lcdc_error **err;
};

static lcdc_status decode(struct decoder *d, const struct lc_avro_type *type, int depth, struct lc_avro_value *out);

const uint8_t *lc_avro_long(const uint8_t *p, const uint8_t *end, int64_t *out)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1)
            return NULL;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = (int64_t)(value >> 1 ^ (0 - (value & 1)));
            return p;
        }
    }
    return NULL;
}

static size_t left(const struct decoder *d)
{
    return (size_t)(d->cursor->end - d->cursor->at);
}

static size_t place(const struct decoder *d)
{
    return (size_t)(d->cursor->at - d->cursor->start);
}

static lcdc_status decode_long(struct decoder *d, int64_t *out)
{
    const uint8_t *after = lc_avro_long(d->cursor->at, d->cursor->end, out);
    if (!after)
        return lc_fail(d->err, LC_R_AVRO_BAD, "byte %zu of the block: a number is cut or longer than 64 bits",
                       place(d));
    d->cursor->at = after;
    return LCDC_OK;
}

static lcdc_status take(struct decoder *d, int64_t n, const uint8_t **out)
{
    if (n < 0 || (uint64_t)n > left(d))
        return lc_fail(d->err, LC_R_AVRO_BAD, "byte %zu of the block: a value takes %" PRId64 " bytes, %zu are left",
                       place(d), n, left(d));
    *out = d->cursor->at;
    d->cursor->at += n;
    return LCDC_OK;
}

static lcdc_status decode_bytes(struct decoder *d, int64_t n, struct lc_str *out)
{
    const uint8_t *bytes;
    LC_TRY(take(d, n, &bytes));
    return lc_arena_str(d->arena, (struct lc_str){(const char *)bytes, (size_t)n}, out) ? LCDC_OK : lc_fail_oom(d->err);
}

static lcdc_status decode_text(struct decoder *d, bool is_string, struct lc_str *out)
{
    int64_t n;
    size_t at = place(d);
    LC_TRY(decode_long(d, &n));
    LC_TRY(decode_bytes(d, n, out));
    if (is_string && !lc_utf8_valid(*out))
        return lc_fail(d->err, LC_R_AVRO_BAD, "byte %zu of the block: a string is not UTF-8", at);
    return LCDC_OK;
}

/* An integer in low .. high. */
static lcdc_status decode_int(struct decoder *d, int64_t low, int64_t high, int64_t *out)
{
    size_t at = place(d);
    LC_TRY(decode_long(d, out));
    if (*out < low || *out > high)
        return lc_fail(d->err, LC_R_AVRO_BAD, "byte %zu of the block: %" PRId64 " is outside %" PRId64 " to %" PRId64,
                       at, *out, low, high);
    return LCDC_OK;
}

static lcdc_status decode_bool(struct decoder *d, bool *out)
{
    const uint8_t *byte;
    size_t at = place(d);
    LC_TRY(take(d, 1, &byte));
    if (*byte > 1)
        return lc_fail(d->err, LC_R_AVRO_BAD, "byte %zu of the block: %d is no boolean", at, *byte);
    *out = *byte == 1;
    return LCDC_OK;
}

static lcdc_status decode_real(struct decoder *d, bool is_float, double *out)
{
    const uint8_t *p;
    uint64_t bits = 0;
    float narrow;
    int n = is_float ? 4 : 8;
    LC_TRY(take(d, n, &p));
    for (int i = 0; i < n; i++)
        bits |= (uint64_t)p[i] << (8 * i);
    if (is_float) {
        uint32_t low = (uint32_t)bits;
        memcpy(&narrow, &low, sizeof(narrow));
        *out = (double)narrow;
    } else {
        memcpy(out, &bits, sizeof(*out));
    }
    return LCDC_OK;
}

static lcdc_status new_values(struct decoder *d, size_t n, struct lc_avro_value **out)
{
    d->n_values += n;
    if (n > LC_AVRO_MAX_VALUES || d->n_values > LC_AVRO_MAX_VALUES)
        return lc_fail(d->err, LC_R_LIMIT, "byte %zu of the block: a record has more than %d values", place(d),
                       LC_AVRO_MAX_VALUES);
    *out = lc_arena_array(d->arena, n, sizeof(**out));
    return *out ? LCDC_OK : lc_fail_oom(d->err);
}

static lcdc_status decode_record(struct decoder *d, const struct lc_avro_type *type, int depth,
                                 struct lc_avro_value *out)
{
    LC_TRY(new_values(d, type->n_children, &out->items));
    out->n = type->n_children;
    for (size_t i = 0; i < out->n; i++)
        LC_TRY(decode(d, type->children[i].type, depth + 1, &out->items[i]));
    return LCDC_OK;
}

/* The header of one piece of an array or map: *n items, in *size bytes when that is told, else -1. */
static lcdc_status decode_count(struct decoder *d, size_t *n, int64_t *size)
{
    int64_t count;
    size_t at = place(d);
    *size = -1;
    LC_TRY(decode_long(d, &count));
    if (count < 0) {
        LC_TRY(decode_int(d, 0, (int64_t)left(d), size));
        count = count == INT64_MIN ? INT64_MAX : -count;
    }
    if ((uint64_t)count > left(d))
        return lc_fail(d->err, LC_R_AVRO_BAD, "byte %zu of the block: %" PRId64 " items in the %zu bytes that are left",
                       at, count, left(d));
    *n = (size_t)count;
    return LCDC_OK;
}

/* Moves to a larger array when needed; the doubling keeps many small pieces from costing the square of their number. */
static lcdc_status grow(struct decoder *d, struct lc_avro_value *list, size_t used, size_t more, size_t *cap)
{
    struct lc_avro_value *items;
    if (used + more <= *cap)
        return LCDC_OK;
    size_t wanted = used + more > 2 * *cap ? used + more : 2 * *cap;
    LC_TRY(new_values(d, wanted, &items));
    if (used > 0)
        memcpy(items, list->items, used * sizeof(*items));
    list->items = items;
    *cap = wanted;
    return LCDC_OK;
}

static lcdc_status decode_item(struct decoder *d, const struct lc_avro_type *type, int depth,
                               struct lc_avro_value *items)
{
    static const struct lc_avro_type key_type = {
        .kind = LC_AVRO_STRING, .element_id = -1, .key_id = -1, .value_id = -1};
    if (type->kind == LC_AVRO_MAP)
        LC_TRY(decode(d, &key_type, depth + 1, items++));
    return decode(d, type->children[0].type, depth + 1, items);
}

static lcdc_status decode_items(struct decoder *d, const struct lc_avro_type *type, int depth,
                                struct lc_avro_value *out)
{
    size_t width = type->kind == LC_AVRO_MAP ? 2 : 1, used = 0, cap = 0, n;
    int64_t size;
    for (;;) {
        LC_TRY(decode_count(d, &n, &size));
        if (n == 0)
            break;
        size_t begin = place(d);
        LC_TRY(grow(d, out, used, n * width, &cap));
        for (size_t i = 0; i < n; i++, used += width)
            LC_TRY(decode_item(d, type, depth, &out->items[used]));
        if (size >= 0 && place(d) - begin != (size_t)size)
            return lc_fail(d->err, LC_R_AVRO_BAD,
                           "byte %zu of the block: items take %zu bytes where their header says %" PRId64, begin,
                           place(d) - begin, size);
    }
    out->n = used / width;
    return LCDC_OK;
}

static lcdc_status decode_branch(struct decoder *d, const struct lc_avro_type *type, int depth,
                                 struct lc_avro_value *out)
{
    int64_t branch;
    LC_TRY(decode_int(d, 0, (int64_t)type->n_children - 1, &branch));
    return decode(d, type->children[branch].type, depth + 1, out);
}

static lcdc_status decode(struct decoder *d, const struct lc_avro_type *type, int depth, struct lc_avro_value *out)
{
    if (depth > LC_AVRO_MAX_DEPTH)
        return lc_fail(d->err, LC_R_AVRO_BAD, "byte %zu of the block: values are nested deeper than %d levels",
                       place(d), LC_AVRO_MAX_DEPTH);
    out->type = type;
    switch (type->kind) {
    case LC_AVRO_NULL:
        return LCDC_OK;
    case LC_AVRO_BOOL:
        return decode_bool(d, &out->b);
    case LC_AVRO_INT:
        return decode_int(d, INT32_MIN, INT32_MAX, &out->i);
    case LC_AVRO_LONG:
        return decode_long(d, &out->i);
    case LC_AVRO_FLOAT:
    case LC_AVRO_DOUBLE:
        return decode_real(d, type->kind == LC_AVRO_FLOAT, &out->f);
    case LC_AVRO_BYTES:
    case LC_AVRO_STRING:
        return decode_text(d, type->kind == LC_AVRO_STRING, &out->str);
    case LC_AVRO_FIXED:
        return decode_bytes(d, type->fixed_size, &out->str);
    case LC_AVRO_ENUM:
        return decode_int(d, 0, (int64_t)type->n_children - 1, &out->i);
    case LC_AVRO_RECORD:
        return decode_record(d, type, depth, out);
    case LC_AVRO_ARRAY:
    case LC_AVRO_MAP:
        return decode_items(d, type, depth, out);
    case LC_AVRO_UNION:
        return decode_branch(d, type, depth, out);
    }
    return lc_fail(d->err, LC_R_INTERNAL, "an Avro type of kind %d", (int)type->kind);
}

lcdc_status lc_avro_decode(struct lc_avro_cursor *cursor, const struct lc_avro_type *type, struct lc_arena *arena,
                           struct lc_avro_value *out, lcdc_error **err)
{
    struct decoder d = {.cursor = cursor, .arena = arena, .err = err};
    return decode(&d, type, 0, out);
}
