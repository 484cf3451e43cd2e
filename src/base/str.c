/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.c - text compared, numbers read and printed, UTF-8 checked, buffers grown. ASCII letters alone have case here.
 *
 * An empty lc_str may have no pointer, so none is handed to memcmp or added to before its length is known.
 */
#include "base/str.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lc_str lc_str_of(const char *text)
{
    return (struct lc_str){text, text ? strlen(text) : 0};
}

bool lc_str_eq(struct lc_str a, struct lc_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool lc_str_is(struct lc_str a, const char *text)
{
    return lc_str_eq(a, lc_str_of(text));
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool lc_str_is_nocase(struct lc_str a, const char *text)
{
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(text[i]) || text[i] == 0)
            return false;
    return text[a.n] == 0;
}

bool lc_str_starts(struct lc_str a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}

bool lc_str_ends(struct lc_str a, const char *suffix)
{
    size_t n = strlen(suffix);
    return a.n >= n && (n == 0 || memcmp(a.p + a.n - n, suffix, n) == 0);
}

int lc_str_cmp(struct lc_str a, struct lc_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

bool lc_parse_u64(struct lc_str text, uint64_t *out)
{
    uint64_t value = 0;
    if (text.n == 0)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        unsigned digit = (unsigned char)text.p[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return true;
}

bool lc_parse_i64(struct lc_str text, int64_t *out)
{
    bool negative = text.n && text.p[0] == '-';
    uint64_t magnitude;
    if (negative)
        text = (struct lc_str){text.p + 1, text.n - 1};
    if (!lc_parse_u64(text, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

static locale_t c_locale(void)
{
    static _Atomic(locale_t) made;
    locale_t have = made;
    if (!have) {
        have = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        locale_t other = (locale_t)0;
        if (!atomic_compare_exchange_strong(&made, &other, have)) { /* another thread was faster */
            freelocale(have);
            have = other;
        }
    }
    return have;
}

/* Copies a decimal or exponent number for strtod, and refuses what only strtod takes (hex, blanks, infinity words). */
static bool copy_number(struct lc_str text, char copy[512])
{
    if (text.n == 0 || text.n >= 512)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!memchr("0123456789+-.eE", text.p[i], 15))
            return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    return true;
}

static bool parse_word(struct lc_str text, double *out)
{
    if (lc_str_is_nocase(text, "nan"))
        return *out = (double)NAN, true;
    bool is_negative = text.n && text.p[0] == '-';
    if (text.n && (is_negative || text.p[0] == '+'))
        text = (struct lc_str){text.p + 1, text.n - 1};
    if (!lc_str_is_nocase(text, "infinity") && !lc_str_is_nocase(text, "inf"))
        return false;
    *out = is_negative ? -(double)INFINITY : (double)INFINITY;
    return true;
}

bool lc_parse_f64(struct lc_str text, double *out)
{
    char copy[512];
    char *end;
    if (parse_word(text, out))
        return true;
    if (!copy_number(text, copy))
        return false;
    double value = strtod_l(copy, &end, c_locale());
    if (*end || end == copy || isinf(value))
        return false;
    *out = value;
    return true;
}

bool lc_parse_f32(struct lc_str text, float *out)
{
    char copy[512];
    char *end;
    double word;
    if (parse_word(text, &word))
        return *out = (float)word, true;
    if (!copy_number(text, copy))
        return false;
    float value = strtof_l(copy, &end, c_locale());
    if (*end || end == copy || isinf(value))
        return false;
    *out = value;
    return true;
}

static bool reads_back(const char *text, double value, bool is_float)
{
    return is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

static void print_shortest(double value, bool is_float, char out[32])
{
    /*
     * %g drops trailing zeros, so the first precision that every short decimal survives (6, 15) is also the shortest;
     * the numbers that are too small for their full precision have no such guarantee.
     */
    int digits = is_float ? FLT_DIG : DBL_DIG, most = is_float ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    if (fabs(value) < (is_float ? (double)FLT_MIN : DBL_MIN))
        digits = 1;
    if (isnan(value)) {
        memcpy(out, "NaN", 4);
        return;
    }
    if (isinf(value)) {
        memcpy(out, value < 0 ? "-Infinity" : "Infinity", value < 0 ? 10 : 9);
        return;
    }
    locale_t before = uselocale(c_locale());
    do {
        (void)snprintf(out, 32, "%.*g", digits, value);
    } while (digits++ < most && !reads_back(out, value, is_float));
    uselocale(before);
    if (!strpbrk(out, ".e"))
        memcpy(out + strlen(out), ".0", 3);
}

void lc_print_f64(double value, char out[32])
{
    print_shortest(value, false, out);
}

void lc_print_f32(float value, char out[32])
{
    print_shortest((double)value, true, out);
}

/* Length of the UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), 0 when bad. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    unsigned c = p[0];
    size_t need = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : (c & 0xF0) == 0xE0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    if (need == 0 || need > n)
        return 0;
    for (size_t i = 1; i < need; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    bool bad = (c == 0xE0 && p[1] < 0xA0) || (c == 0xED && p[1] > 0x9F) || (c == 0xF0 && p[1] < 0x90) ||
               (c == 0xF4 && p[1] > 0x8F);
    return bad ? 0 : need;
}

bool lc_utf8_valid(struct lc_str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    uint64_t word;
    for (size_t i = 0; i < text.n;) {
        if (text.n - i >= sizeof(word)) { /* most text is ASCII: eight bytes at a time */
            memcpy(&word, p + i, sizeof(word));
            if (!(word & UINT64_C(0x8080808080808080))) {
                i += sizeof(word);
                continue;
            }
        }
        size_t n = p[i] < 0x80 ? 1 : utf8_length(p + i, text.n - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

void lc_buf_init(struct lc_buf *buf, size_t max)
{
    *buf = (struct lc_buf){.max = max};
}

void lc_buf_done(struct lc_buf *buf)
{
    lc_free(buf->p);
    *buf = (struct lc_buf){.max = buf->max};
}

void lc_buf_clear(struct lc_buf *buf)
{
    buf->n = 0;
    buf->failed = false;
    if (buf->p)
        buf->p[0] = 0;
}

char *lc_buf_reserve(struct lc_buf *buf, size_t n)
{
    size_t need;
    if (buf->failed || __builtin_add_overflow(buf->n, n, &need) || need > buf->max || need == SIZE_MAX) {
        buf->failed = true;
        return NULL;
    }
    if (need + 1 > buf->cap) {
        size_t cap = buf->cap < 64 ? 64 : buf->cap + buf->cap / 2;
        if (cap < need + 1)
            cap = need + 1;
        char *p = lc_realloc(buf->p, cap, 1);
        if (!p) {
            buf->failed = true;
            return NULL;
        }
        buf->p = p;
        buf->cap = cap;
    }
    return buf->p + buf->n;
}

void lc_buf_append(struct lc_buf *buf, const void *bytes, size_t n)
{
    char *at = lc_buf_reserve(buf, n);
    if (!at)
        return;
    if (n)
        memcpy(at, bytes, n);
    buf->n += n;
    buf->p[buf->n] = 0;
}

void lc_buf_text(struct lc_buf *buf, const char *text)
{
    lc_buf_append(buf, text, strlen(text));
}

void lc_buf_char(struct lc_buf *buf, char c)
{
    lc_buf_append(buf, &c, 1);
}

void lc_buf_number(struct lc_buf *buf, int64_t value, int least)
{
    char text[24];
    size_t at = sizeof(text), end = sizeof(text) - (size_t)least;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    while (rest || at > end) {
        text[--at] = (char)('0' + rest % 10);
        rest /= 10;
    }
    if (value < 0)
        text[--at] = '-';
    lc_buf_append(buf, text + at, sizeof(text) - at);
}

void lc_buf_vprintf(struct lc_buf *buf, const char *format, va_list args)
{
    char text[256]; /* most are short: formatted once */
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(text, sizeof(text), format, again);
    va_end(again);
    if (n >= 0 && (size_t)n < sizeof(text)) {
        lc_buf_append(buf, text, (size_t)n);
        return;
    }
    char *at = n < 0 ? NULL : lc_buf_reserve(buf, (size_t)n);
    if (!at) {
        buf->failed = true;
        return;
    }
    (void)vsnprintf(at, (size_t)n + 1, format, args);
    buf->n += (size_t)n;
}

void lc_buf_printf(struct lc_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    lc_buf_vprintf(buf, format, args);
    va_end(args);
}

void lc_buf_json_string(struct lc_buf *buf, struct lc_str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t plain = 0; /* start of the run that needs no escape */
    lc_buf_char(buf, '"');
    for (size_t i = 0; i < text.n;) {
        size_t n = p[i] < 0x80 ? 1 : utf8_length(p + i, text.n - i);
        if (n > 0 && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\' && p[i] != 0x7F) {
            i += n;
            continue;
        }
        lc_buf_append(buf, p + plain, i - plain);
        if (n == 0)
            lc_buf_text(buf, "\xEF\xBF\xBD");
        else if (p[i] == '"' || p[i] == '\\')
            lc_buf_printf(buf, "\\%c", p[i]);
        else if (p[i] == '\n' || p[i] == '\t' || p[i] == '\r')
            lc_buf_text(buf, p[i] == '\n' ? "\\n" : p[i] == '\t' ? "\\t" : "\\r");
        else
            lc_buf_printf(buf, "\\u%04x", p[i]);
        plain = ++i;
    }
    if (text.n > plain)
        lc_buf_append(buf, p + plain, text.n - plain);
    lc_buf_char(buf, '"');
}

char *lc_buf_take(struct lc_buf *buf)
{
    if (!buf->failed && !buf->p)
        lc_buf_append(buf, "", 0);
    char *text = buf->failed ? NULL : lc_steal(buf->p);
    lc_buf_done(buf);
    return text;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

char *lc_percent_decode(struct lc_str text)
{
    char *out = lc_alloc(text.n + 1);
    size_t n = 0;
    if (!out)
        return NULL;
    for (size_t i = 0; i < text.n; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? hex_value(text.p[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text.p[i + 2]) : -1;
        if (low >= 0 && high + low > 0) { /* not %00: a path that ends early names another file */
            out[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[n++] = text.p[i];
        }
    }
    out[n] = 0;
    return out;
}
