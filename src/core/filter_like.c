/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_like.c - LIKE patterns: compiled once to bytes and wildcards, matched in one pass with one point to return to.
 */
#include <string.h>

#include "core/filter_parts.h"

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static size_t next_char(struct lc_str text, size_t i)
{
    do
        i++;
    while (i < text.n && is_continuation(text.p[i]));
    return i;
}

static bool stands_at(struct lc_str text, size_t i, struct lc_str what)
{
    return what.n && what.n <= text.n - i && memcmp(text.p + i, what.p, what.n) == 0;
}

static void add_part(struct lc_like *like, enum lc_like_kind kind, char byte)
{
    bool again = kind == LC_LIKE_MANY && like->n && like->parts[like->n - 1].kind == LC_LIKE_MANY;
    if (!again)
        like->parts[like->n++] = (struct lc_like_part){(uint8_t)kind, byte};
}

lcdc_status lc_like_compile(struct lc_str pattern, struct lc_str escape, struct lc_like *out, lcdc_error **err)
{
    struct lc_like like LC_LIKE = {.parts = lc_calloc(pattern.n + 1, sizeof(struct lc_like_part))};
    LC_TRY_ALLOC(like.parts);
    for (size_t i = 0; i < pattern.n; i++) {
        bool escaped = stands_at(pattern, i, escape);
        if (escaped) {
            i += escape.n;
            if (i == pattern.n || (pattern.p[i] != '%' && pattern.p[i] != '_' && !stands_at(pattern, i, escape)))
                return lc_fail(err, LC_R_FILTER_SYNTAX,
                               "filter: in the pattern '%.*s' the escape '%.*s' stands before neither %%, _ nor itself",
                               LC_STR_ARG(pattern), LC_STR_ARG(escape));
        }
        if (!escaped && pattern.p[i] == '%')
            add_part(&like, LC_LIKE_MANY, 0);
        else if (!escaped && pattern.p[i] == '_')
            add_part(&like, LC_LIKE_ONE, 0);
        else
            add_part(&like, LC_LIKE_BYTE, pattern.p[i]);
    }
    *out = like;
    like.parts = NULL;
    return LCDC_OK;
}

void lc_like_done(struct lc_like *like)
{
    lc_free(like->parts);
    *like = (struct lc_like){0};
}

bool lc_like_match(const struct lc_like *like, struct lc_str text)
{
    const struct lc_like_part *parts = like->parts;
    size_t i = 0, k = 0;
    size_t many = SIZE_MAX, tried = 0; /* the last % and how much of the text it has been given */
    while (i < text.n) {
        if (k < like->n && parts[k].kind == LC_LIKE_MANY) {
            many = k++;
            tried = i;
        } else if (k < like->n && parts[k].kind == LC_LIKE_ONE) {
            i = next_char(text, i);
            k++;
        } else if (k < like->n && parts[k].byte == text.p[i]) {
            i++;
            k++;
        } else if (many != SIZE_MAX) {
            i = tried = next_char(text, tried);
            k = many + 1;
        } else {
            return false;
        }
    }
    while (k < like->n && parts[k].kind == LC_LIKE_MANY)
        k++;
    return k == like->n;
}
