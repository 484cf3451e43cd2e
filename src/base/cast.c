/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast.c - lc_value_cast(): a scalar in another type, exactly or not at all.
 *
 * Numbers pass through one form that holds integers, decimals and the binary fractions among them without rounding.
 * Zones are never guessed: a date or a zone-less timestamp does not become an instant.
 */
#include "base/value.h"

#include <float.h>
#include <math.h>

enum { FLOAT_BITS = 24, DOUBLE_BITS = 53, MAX_SCALE = 38 };

/* digits / 10^scale */
struct exact {
    lc_i128 digits;
    int scale;
};

static bool is_int(enum lc_type_kind kind)
{
    return kind == LC_TYPE_INT8 || kind == LC_TYPE_INT16 || kind == LC_TYPE_INT32 || kind == LC_TYPE_INT64;
}

static bool is_float(enum lc_type_kind kind)
{
    return kind == LC_TYPE_FLOAT || kind == LC_TYPE_DOUBLE;
}

static bool is_number(enum lc_type_kind kind)
{
    return is_int(kind) || is_float(kind) || kind == LC_TYPE_DECIMAL;
}

/* An odd m / 2^k is m * 5^k / 10^k. */
static bool exact_of_double(double value, struct exact *out)
{
    int exponent;
    if (!isfinite(value))
        return false;
    lc_i128 digits = (int64_t)ldexp(frexp(value, &exponent), DOUBLE_BITS);
    exponent -= DOUBLE_BITS;
    for (; exponent < 0 && digits % 2 == 0 && digits; exponent++)
        digits /= 2;
    *out = (struct exact){digits, digits && exponent < 0 ? -exponent : 0};
    if (out->scale > MAX_SCALE)
        return false;
    int factor = exponent < 0 ? 5 : 2;
    for (int i = exponent < 0 ? -exponent : exponent; digits && i > 0; i--)
        if (__builtin_mul_overflow(out->digits, factor, &out->digits))
            return false;
    return true;
}

static bool exact_of(const struct lc_value *value, struct exact *out)
{
    if (is_float(value->type.kind))
        return exact_of_double(value->f, out);
    *out = value->type.kind == LC_TYPE_DECIMAL ? (struct exact){value->dec, value->type.scale}
                                               : (struct exact){value->i, 0};
    return true;
}

static bool exact_to_decimal(struct exact number, int precision, int scale, lc_i128 *out)
{
    for (; number.scale > scale; number.scale--) {
        if (number.digits % 10)
            return false;
        number.digits /= 10;
    }
    for (; number.scale < scale && number.digits; number.scale++)
        if (__builtin_mul_overflow(number.digits, 10, &number.digits))
            return false;
    lc_i128 limit = lc_pow10(precision);
    *out = number.digits;
    return number.digits > -limit && number.digits < limit;
}

static bool exact_to_int(struct exact number, int bytes, int64_t *out)
{
    lc_i128 whole;
    int64_t top = INT64_MAX >> (64 - 8 * bytes);
    if (!exact_to_decimal(number, MAX_SCALE, 0, &whole) || whole < -(lc_i128)top - 1 || whole > top)
        return false;
    *out = (int64_t)whole;
    return true;
}

static bool exact_to_double(struct exact number, int bits, double *out)
{
    for (int i = 0; i < number.scale; i++) {
        if (number.digits % 5)
            return false;
        number.digits /= 5;
    }
    lc_i128 odd = number.digits;
    while (odd && odd % 2 == 0)
        odd /= 2;
    lc_i128 limit = (lc_i128)1 << bits;
    *out = ldexp((double)number.digits, -number.scale);
    return odd > -limit && odd < limit;
}

static bool cast_number(const struct lc_value *value, struct lc_value *out)
{
    struct exact number;
    if (is_float(value->type.kind) && is_float(out->type.kind)) {
        bool narrows = value->type.kind == LC_TYPE_DOUBLE && out->type.kind == LC_TYPE_FLOAT;
        out->f = value->f;
        return !narrows || !isfinite(value->f) ||
               (fabs(value->f) <= (double)FLT_MAX && (double)(float)value->f == value->f);
    }
    if (!exact_of(value, &number))
        return false;
    if (is_int(out->type.kind))
        return exact_to_int(number, lc_type_width(out->type.kind), &out->i);
    if (out->type.kind == LC_TYPE_DECIMAL)
        return exact_to_decimal(number, out->type.precision, out->type.scale, &out->dec);
    return exact_to_double(number, out->type.kind == LC_TYPE_FLOAT ? FLOAT_BITS : DOUBLE_BITS, &out->f);
}

static bool cast_time(const struct lc_value *value, struct lc_value *out)
{
    enum lc_type_kind from = value->type.kind, to = out->type.kind;
    if (from == LC_TYPE_DATE && to == LC_TYPE_TIMESTAMP)
        return !__builtin_mul_overflow(value->i, INT64_C(86400000000), &out->i);
    if (from == LC_TYPE_DATE && to == LC_TYPE_TIMESTAMP_NS)
        return !__builtin_mul_overflow(value->i, INT64_C(86400000000000), &out->i);
    if ((from == LC_TYPE_TIMESTAMP && to == LC_TYPE_TIMESTAMP_NS) ||
        (from == LC_TYPE_TIMESTAMP_TZ && to == LC_TYPE_TIMESTAMP_NS_TZ))
        return !__builtin_mul_overflow(value->i, 1000, &out->i);
    if ((from == LC_TYPE_TIMESTAMP_NS && to == LC_TYPE_TIMESTAMP) ||
        (from == LC_TYPE_TIMESTAMP_NS_TZ && to == LC_TYPE_TIMESTAMP_TZ)) {
        out->i = value->i / 1000;
        return value->i % 1000 == 0;
    }
    return false;
}

static bool is_bytes(enum lc_type_kind kind)
{
    return kind == LC_TYPE_BINARY || kind == LC_TYPE_FIXED || kind == LC_TYPE_UUID;
}

static bool cast_bytes(const struct lc_value *value, struct lc_value *out)
{
    enum lc_type_kind from = value->type.kind, to = out->type.kind;
    out->str = value->str;
    if (from == LC_TYPE_STRING)
        return to == LC_TYPE_BINARY;
    if (!is_bytes(from))
        return false;
    if (to == LC_TYPE_STRING)
        return from == LC_TYPE_BINARY && lc_utf8_valid(value->str);
    return to == LC_TYPE_BINARY || (to == LC_TYPE_FIXED && value->str.n == (size_t)out->type.length) ||
           (to == LC_TYPE_UUID && value->str.n == 16);
}

bool lc_value_cast(const struct lc_value *value, struct lc_type type, struct lc_value *out)
{
    struct lc_value made = {.is_null = value->is_null, .type = type};
    bool ok;
    if (value->is_null) {
        ok = true;
    } else if (lc_type_equal(value->type, type)) {
        made = *value;
        ok = true;
    } else if (is_number(value->type.kind) && is_number(type.kind)) {
        ok = cast_number(value, &made);
    } else {
        ok = cast_time(value, &made) || cast_bytes(value, &made);
    }
    if (ok)
        *out = made;
    return ok;
}
