/* SPDX-License-Identifier: Apache-2.0 */
#include "write/cells.h"

#include <wchar.h>

/* The code point at p and its length; a byte that begins none stands as U+FFFD. */
static uint32_t code_point(struct lc_str text, size_t i, size_t *length)
{
    const unsigned char *p = (const unsigned char *)text.p + i;
    size_t need = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    *length = 1;
    if (need == 1)
        return p[0];
    if (need > text.n - i || !lc_utf8_valid((struct lc_str){text.p + i, need}))
        return 0xFFFD;
    uint32_t value = p[0] & (0x7Fu >> need);
    for (size_t k = 1; k < need; k++)
        value = value << 6 | (p[k] & 0x3Fu);
    *length = need;
    return value;
}

/* Turns, ends or reorders a line, or is nothing that can be shown. */
static bool is_harmful(uint32_t c)
{
    return (c >= 0x80 && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF || c == 0xFFFD;
}

void lc_cells_clean(struct lc_buf *out, struct lc_str text)
{
    size_t plain = 0; /* start of the run that can be kept */
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t c = code_point(text, i, &n);
        bool is_control = c < 0x20 || c == 0x7F;
        if (!is_control && !is_harmful(c))
            continue;
        char picture[] = "\xE2\x90\x80"; /* U+2400 SYMBOL FOR NULL, and so on */
        picture[2] = (char)(0x80 + (c == 0x7F ? 0x21 : c));
        lc_buf_append(out, text.p + plain, i - plain);
        lc_buf_text(out, is_control ? picture : "\xEF\xBF\xBD");
        plain = i + n;
    }
    lc_buf_append(out, text.p + plain, text.n - plain);
}

static int width_of(uint32_t c)
{
    int width = c < 0x80 ? 1 : wcwidth((wchar_t)c);
    return width < 0 ? 1 : width;
}

int lc_cells_width(struct lc_str text)
{
    int64_t width = 0;
    for (size_t i = 0, n; i < text.n; i += n)
        width += width_of(code_point(text, i, &n));
    return width > INT32_MAX ? INT32_MAX : (int)width;
}

struct lc_str lc_cells_clip(struct lc_str text, int width)
{
    size_t i = 0;
    for (size_t n; i < text.n; i += n) {
        width -= width_of(code_point(text, i, &n));
        if (width < 0)
            break;
    }
    return (struct lc_str){text.p, i};
}
