/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.c - scalars compared, read and printed. Casting is cast.c's, decimal text decimal.c's, dates time.c's.
 */
#include "base/value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/time.h"

/* ---- comparing ---- */

static int compare_ints(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_floats(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

static int compare_wide(lc_i128 a, lc_i128 b)
{
    return (a > b) - (a < b);
}

/* First what stands before the point, then what stands behind it: scaling the whole could overflow. */
static int compare_decimals(const struct lc_value *a, const struct lc_value *b)
{
    lc_i128 unit_a = lc_pow10(a->type.scale), unit_b = lc_pow10(b->type.scale);
    int c = compare_wide(a->dec / unit_a, b->dec / unit_b);
    if (c || unit_a == unit_b)
        return c ? c : compare_wide(a->dec, b->dec);
    lc_i128 rest_a = a->dec % unit_a, rest_b = b->dec % unit_b;
    return unit_a < unit_b ? compare_wide(rest_a * (unit_b / unit_a), rest_b)
                           : compare_wide(rest_a, rest_b * (unit_a / unit_b));
}

int lc_value_compare(const struct lc_value *a, const struct lc_value *b)
{
    switch (a->type.kind) {
    case LC_TYPE_BOOL:
        return compare_ints(a->b, b->b);
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        return compare_ints(a->i, b->i);
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        return compare_floats(a->f, b->f);
    case LC_TYPE_DECIMAL:
        return compare_decimals(a, b);
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        return lc_str_cmp(a->str, b->str);
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        break;
    }
    return 0;
}

bool lc_value_equal(const struct lc_value *a, const struct lc_value *b)
{
    if (a->is_null || b->is_null)
        return a->is_null && b->is_null;
    return a->type.kind == b->type.kind && lc_value_compare(a, b) == 0;
}

/* ---- reading ---- */

static bool parse_bool(struct lc_str text, bool *out)
{
    *out = lc_str_is_nocase(text, "true");
    return *out || lc_str_is_nocase(text, "false");
}

static bool parse_int(struct lc_str text, int bytes, int64_t *out)
{
    int64_t top = INT64_MAX >> (64 - 8 * bytes);
    return lc_parse_i64(text, out) && *out >= -top - 1 && *out <= top;
}

static bool parse_float(struct lc_str text, double *out)
{
    float value;
    bool ok = lc_parse_f32(text, &value);
    if (ok)
        *out = (double)value;
    return ok;
}

static bool parse_date(struct lc_str text, int64_t *out)
{
    return lc_parse_date(text, out) && *out >= INT32_MIN && *out <= INT32_MAX;
}

static bool parse_time(struct lc_str text, int64_t *out)
{
    int64_t nanos;
    if (!lc_parse_time(text, &nanos) || nanos % 1000)
        return false;
    *out = nanos / 1000;
    return true;
}

static bool parse_timestamp(struct lc_str text, bool zone_allowed, int nanos_per_unit, int64_t *out)
{
    int64_t seconds, units_per_second = 1000000000 / nanos_per_unit;
    int32_t nanos;
    bool has_zone;
    if (!lc_parse_timestamp(text, &seconds, &nanos, &has_zone) || (has_zone && !zone_allowed) || nanos % nanos_per_unit)
        return false;
    /* Before 1970 the nearer bound first: the earliest second of the type lies below INT64_MIN units. */
    int64_t rest = nanos / nanos_per_unit;
    if (seconds < 0 && rest) {
        seconds++;
        rest -= units_per_second;
    }
    return !__builtin_mul_overflow(seconds, units_per_second, &seconds) && !__builtin_add_overflow(seconds, rest, out);
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* 8-4-4-4-12 hex digits. The bytes are made here, so that there must be an arena to hold them. */
static bool parse_uuid(struct lc_str text, struct lc_arena *arena, struct lc_str *out)
{
    unsigned char bytes[16] = {0};
    if (text.n != 36 || !arena)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text.p[i] != '-')
                return false;
            continue;
        }
        int digit = hex_value(text.p[i]);
        if (digit < 0)
            return false;
        bytes[n / 2] = (unsigned char)(bytes[n / 2] * 16 + digit);
        n++;
    }
    return lc_arena_str(arena, (struct lc_str){(const char *)bytes, sizeof(bytes)}, out);
}

static bool keep(struct lc_str text, struct lc_arena *arena, struct lc_str *out)
{
    *out = text;
    return !arena || lc_arena_str(arena, text, out);
}

static bool parse_as(struct lc_type type, struct lc_str text, struct lc_arena *arena, struct lc_value *value)
{
    switch (type.kind) {
    case LC_TYPE_BOOL:
        return parse_bool(text, &value->b);
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        return parse_int(text, lc_type_width(type.kind), &value->i);
    case LC_TYPE_FLOAT:
        return parse_float(text, &value->f);
    case LC_TYPE_DOUBLE:
        return lc_parse_f64(text, &value->f);
    case LC_TYPE_DECIMAL:
        return lc_decimal_parse(text, type.precision, type.scale, &value->dec);
    case LC_TYPE_DATE:
        return parse_date(text, &value->i);
    case LC_TYPE_TIME:
        return parse_time(text, &value->i);
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
        return parse_timestamp(text, type.kind == LC_TYPE_TIMESTAMP_TZ, 1000, &value->i);
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        return parse_timestamp(text, type.kind == LC_TYPE_TIMESTAMP_NS_TZ, 1, &value->i);
    case LC_TYPE_STRING:
        return lc_utf8_valid(text) && keep(text, arena, &value->str);
    case LC_TYPE_BINARY:
        return keep(text, arena, &value->str);
    case LC_TYPE_FIXED:
        return text.n == (size_t)type.length && keep(text, arena, &value->str);
    case LC_TYPE_UUID:
        return parse_uuid(text, arena, &value->str);
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        break;
    }
    return false;
}

bool lc_value_parse(struct lc_type type, struct lc_str text, struct lc_arena *arena, struct lc_value *out)
{
    struct lc_value value = {.type = type};
    if (!parse_as(type, text, arena, &value))
        return false;
    *out = value;
    return true;
}

/* ---- printing ---- */

static void print_hex(struct lc_buf *buf, struct lc_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        lc_buf_printf(buf, "%02x", (unsigned char)bytes.p[i]);
}

static void print_uuid(struct lc_buf *buf, struct lc_str bytes)
{
    static const unsigned char groups[] = {4, 2, 2, 2, 6};
    for (size_t i = 0; i < sizeof(groups) && bytes.n >= groups[i]; i++) {
        if (i)
            lc_buf_char(buf, '-');
        print_hex(buf, (struct lc_str){bytes.p, groups[i]});
        bytes = (struct lc_str){bytes.p + groups[i], bytes.n - groups[i]};
    }
}

static void print_float(struct lc_buf *buf, const struct lc_value *value)
{
    char text[32];
    if (value->type.kind == LC_TYPE_FLOAT)
        lc_print_f32((float)value->f, text);
    else
        lc_print_f64(value->f, text);
    lc_buf_text(buf, text);
}

void lc_value_print(struct lc_buf *buf, const struct lc_value *value)
{
    enum lc_type_kind kind = value->type.kind;
    if (value->is_null) {
        lc_buf_text(buf, "null");
        return;
    }
    switch (kind) {
    case LC_TYPE_BOOL:
        lc_buf_text(buf, value->b ? "true" : "false");
        return;
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        lc_buf_number(buf, value->i, 1);
        return;
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        print_float(buf, value);
        return;
    case LC_TYPE_DECIMAL:
        lc_decimal_print(buf, value->dec, value->type.scale);
        return;
    case LC_TYPE_DATE:
        lc_print_date(buf, value->i);
        return;
    case LC_TYPE_TIME:
        lc_print_time(buf, value->i, 6);
        return;
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
        lc_print_timestamp(buf, value->i, 6, kind == LC_TYPE_TIMESTAMP_TZ);
        return;
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        lc_print_timestamp(buf, value->i, 9, kind == LC_TYPE_TIMESTAMP_NS_TZ);
        return;
    case LC_TYPE_STRING:
        lc_buf_append(buf, value->str.p, value->str.n);
        return;
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
        print_hex(buf, value->str);
        return;
    case LC_TYPE_UUID:
        print_uuid(buf, value->str);
        return;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return;
    }
}

static bool holds_bytes(enum lc_type_kind kind)
{
    return kind == LC_TYPE_STRING || kind == LC_TYPE_BINARY || kind == LC_TYPE_FIXED || kind == LC_TYPE_UUID;
}

struct lc_value *lc_value_dup(struct lc_arena *arena, const struct lc_value *value)
{
    struct lc_value *copy = lc_arena_alloc(arena, sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *value;
    if (!value->is_null && holds_bytes(value->type.kind) && !lc_arena_str(arena, value->str, &copy->str))
        return NULL;
    return copy;
}
