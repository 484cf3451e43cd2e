/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.h - borrowed text (lc_str), growable bytes (lc_buf), exact number parsing.
 *
 * A buffer has a ceiling given at init and remembers a failed append, so a chain of appends is checked once. Numbers
 * are read and printed without the user's locale.
 */
#ifndef LC_BASE_STR_H
#define LC_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

struct lc_str {
    const char *p;
    size_t n;
};

#define LC_STR(literal) ((struct lc_str){(literal), sizeof(literal) - 1})
/* For printf: lc_fail(err, ..., "%.*s", LC_STR_ARG(s)); long texts are cut, so that a message stays one line. */
#define LC_STR_ARG(s) ((int)((s).n > 200 ? 200 : (s).n)), ((s).p ? (s).p : "")

struct lc_str lc_str_of(const char *text);
bool lc_str_eq(struct lc_str a, struct lc_str b);
bool lc_str_is(struct lc_str a, const char *text);
bool lc_str_is_nocase(struct lc_str a, const char *text);
bool lc_str_starts(struct lc_str a, const char *prefix);
bool lc_str_ends(struct lc_str a, const char *suffix);
int lc_str_cmp(struct lc_str a, struct lc_str b);

/** Whole text or nothing: no blanks, no sign other than a leading '-', no overflow. */
bool lc_parse_i64(struct lc_str text, int64_t *out);
bool lc_parse_u64(struct lc_str text, uint64_t *out);
/** Decimal or exponent form, plus NaN, Infinity, -Infinity in any case; correctly rounded, locale-free. */
bool lc_parse_f64(struct lc_str text, double *out);
bool lc_parse_f32(struct lc_str text, float *out);
/** The shortest text that reads back to the same value ("1.5", "NaN", "-Infinity"); `out` holds 32 bytes. */
void lc_print_f64(double value, char out[32]);
void lc_print_f32(float value, char out[32]);

bool lc_utf8_valid(struct lc_str text);

struct lc_buf {
    char *p;  /* always terminated once anything was appended */
    size_t n; /* bytes in use, without the terminator */
    size_t cap;
    size_t max;  /* ceiling in bytes */
    bool failed; /* an append did not fit or memory was short; sticky */
};

#define LC_BUF_MAX ((size_t)1 << 31)

void lc_buf_init(struct lc_buf *buf, size_t max);
void lc_buf_done(struct lc_buf *buf);
void lc_buf_clear(struct lc_buf *buf);
void lc_buf_append(struct lc_buf *buf, const void *bytes, size_t n);
void lc_buf_text(struct lc_buf *buf, const char *text);
void lc_buf_char(struct lc_buf *buf, char c);
/** In decimal, with zeros in front up to `least` digits (at most 20). */
void lc_buf_number(struct lc_buf *buf, int64_t value, int least);
void lc_buf_printf(struct lc_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lc_buf_vprintf(struct lc_buf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/** Appends a JSON string literal with its quotes; bytes that are not UTF-8 become U+FFFD. */
void lc_buf_json_string(struct lc_buf *buf, struct lc_str text);
/** Makes room for `n` more bytes and returns where they go, or NULL (failed); lc_buf.n is not moved. */
char *lc_buf_reserve(struct lc_buf *buf, size_t n);
/** Moves the text out (lc_free it); NULL when an append had failed. The buffer is empty afterwards. */
char *lc_buf_take(struct lc_buf *buf);

#define LC_BUF LC_CLEANUP(lc_buf_done)

/** Undoes %XX once, the way the Delta protocol wants it; a '%' that is no escape, and %00, are kept. */
char *lc_percent_decode(struct lc_str text);

#endif
