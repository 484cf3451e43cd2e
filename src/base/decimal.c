/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decimal.c - decimal numbers as 128-bit integers at a scale, read and printed without rounding.
 */
#include "base/value.h"

enum { MAX_DIGITS = 38, MAX_TEXT = 100000 };

lc_i128 lc_pow10(int n)
{
    lc_i128 power = 1;
    while (n-- > 0)
        power *= 10;
    return power;
}

void lc_decimal_print(struct lc_buf *buf, lc_i128 unscaled, int scale)
{
    char text[MAX_DIGITS + 3]; /* 39 digits hold every magnitude */
    size_t n = sizeof(text);
    lc_u128 rest = unscaled < 0 ? -(lc_u128)unscaled : (lc_u128)unscaled;
    int digits = 0;
    do {
        if (digits == scale && scale > 0)
            text[--n] = '.';
        text[--n] = (char)('0' + (int)(rest % 10));
        rest /= 10;
        digits++;
    } while (rest || digits <= scale);
    if (unscaled < 0)
        lc_buf_char(buf, '-');
    lc_buf_append(buf, text + n, sizeof(text) - n);
}

/* A number without trailing zeros: digits * 10^exponent. */
struct number {
    lc_i128 digits;
    int64_t exponent;
};

static bool add_digit(struct number *number, int digit)
{
    number->exponent++; /* of a zero that may turn out to be a trailing one */
    if (digit == 0)
        return true;
    for (; number->exponent > 0; number->exponent--)
        if (__builtin_mul_overflow(number->digits, 10, &number->digits))
            return false;
    return !__builtin_add_overflow(number->digits, digit, &number->digits);
}

/* The digits around an optional point, as an integer and how many of them stood behind the point. */
static bool read_mantissa(struct lc_str text, struct number *out)
{
    int64_t behind = 0;
    bool has_point = false, has_digit = false;
    struct number number = {0};
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (c < '0' || c > '9')
            return false;
        has_digit = true;
        behind += has_point;
        if (number.digits == 0 && c == '0')
            continue;
        if (!add_digit(&number, c - '0'))
            return false;
    }
    number.exponent -= behind;
    *out = number;
    return has_digit;
}

static bool read_exponent(struct lc_str text, int64_t *out)
{
    if (text.n && text.p[0] == '+') {
        text = (struct lc_str){text.p + 1, text.n - 1};
        if (text.n && text.p[0] == '-')
            return false;
    }
    return lc_parse_i64(text, out) && *out >= -MAX_TEXT && *out <= MAX_TEXT;
}

static bool read_number(struct lc_str text, struct number *out)
{
    int64_t exponent = 0;
    bool is_negative = text.n && text.p[0] == '-';
    if (text.n > MAX_TEXT)
        return false;
    if (text.n && (is_negative || text.p[0] == '+'))
        text = (struct lc_str){text.p + 1, text.n - 1};
    for (size_t i = 0; i < text.n; i++) { /* writers print small decimals as 1E-7 */
        if (text.p[i] != 'e' && text.p[i] != 'E')
            continue;
        if (!read_exponent((struct lc_str){text.p + i + 1, text.n - i - 1}, &exponent))
            return false;
        text.n = i;
    }
    if (!read_mantissa(text, out))
        return false;
    out->exponent += exponent;
    if (is_negative)
        out->digits = -out->digits;
    return true;
}

bool lc_decimal_parse(struct lc_str text, int precision, int scale, lc_i128 *out)
{
    struct number number;
    if (!read_number(text, &number))
        return false;
    lc_i128 value = number.digits;
    int64_t shift = number.exponent + scale;
    if (value && (shift < 0 || shift > MAX_DIGITS || __builtin_mul_overflow(value, lc_pow10((int)shift), &value)))
        return false;
    lc_i128 limit = lc_pow10(precision);
    if (value <= -limit || value >= limit)
        return false;
    *out = value;
    return true;
}
