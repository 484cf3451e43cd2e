/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_parts.h - what the files of the filter share: literals before they have a type, nodes, LIKE patterns.
 *
 * filter_parse.c reads text, filter_bind.c fits literals to columns, filter_like.c knows patterns.
 */
#ifndef LC_CORE_FILTER_PARTS_H
#define LC_CORE_FILTER_PARTS_H

#include "core/filter.h"

/* ---- literals as they are written ---- */

enum lc_literal_kind {
    LC_LITERAL_NULL,
    LC_LITERAL_BOOL,
    LC_LITERAL_NUMBER, /* text: sign, digits, point, exponent; exact whatever its size */
    LC_LITERAL_STRING, /* takes its column's type */
    LC_LITERAL_BYTES,
    LC_LITERAL_TYPED /* DATE '...', CAST('...' AS DOUBLE): text and the type it was said to be of */
};

struct lc_literal {
    enum lc_literal_kind kind;
    bool b;
    enum lc_type_kind type;
    struct lc_str text;
    struct lc_str spelling; /* as it stands in the filter; for messages */
};

/** A column that was found in the schema. */
struct lc_column {
    const struct lc_field *field;
    size_t n_path;
    const size_t *path;
    struct lc_str spelling;
};

/* ---- nodes ---- */

struct lc_filter_build {
    struct lc_str text; /* the filter */
    struct lc_arena *arena;
    size_t nodes; /* made so far; literals of IN count too */
};

/** Where a part of the text begins, in characters from 1. */
size_t lc_filter_column_of(const struct lc_filter_build *build, struct lc_str part);

lcdc_status lc_filter_node(struct lc_filter_build *build, struct lc_expr node, const struct lc_expr **out,
                           lcdc_error **err);
/** AND or OR of two or more, or the one argument itself. The array is kept. */
lcdc_status lc_filter_join(struct lc_filter_build *build, enum lc_expr_kind kind, size_t n, const struct lc_expr **args,
                           const struct lc_expr **out, lcdc_error **err);
lcdc_status lc_filter_not(struct lc_filter_build *build, const struct lc_expr *arg, const struct lc_expr **out,
                          lcdc_error **err);
lcdc_status lc_filter_const(struct lc_filter_build *build, bool is_null, bool value, const struct lc_expr **out,
                            lcdc_error **err);
lcdc_status lc_filter_is_null(struct lc_filter_build *build, const struct lc_column *column, const struct lc_expr **out,
                              lcdc_error **err);

/* ---- binding: a literal becomes a value of its column's type, or the comparison is rewritten ---- */

lcdc_status lc_filter_bind_compare(struct lc_filter_build *build, const struct lc_column *column, enum lc_compare_op op,
                                   const struct lc_literal *literal, const struct lc_expr **out, lcdc_error **err);
lcdc_status lc_filter_bind_in(struct lc_filter_build *build, const struct lc_column *column, size_t n,
                              const struct lc_literal *literals, const struct lc_expr **out, lcdc_error **err);
/** `escape` NULL: none. */
lcdc_status lc_filter_bind_like(struct lc_filter_build *build, const struct lc_column *column,
                                const struct lc_literal *pattern, const struct lc_literal *escape,
                                const struct lc_expr **out, lcdc_error **err);

/* ---- LIKE ---- */

enum lc_like_kind { LC_LIKE_BYTE, LC_LIKE_ONE, LC_LIKE_MANY };

struct lc_like_part {
    uint8_t kind;
    char byte;
};

struct lc_like {
    size_t n;
    struct lc_like_part *parts;
};

/** `escape` is one character or empty; it must stand before %, _ or itself. */
lcdc_status lc_like_compile(struct lc_str pattern, struct lc_str escape, struct lc_like *out, lcdc_error **err);
void lc_like_done(struct lc_like *like);
/** `text` is UTF-8; an underscore stands for one code point. */
bool lc_like_match(const struct lc_like *like, struct lc_str text);
#define LC_LIKE LC_CLEANUP(lc_like_done)

static inline lcdc_status lc_like_of(const struct lc_expr *expr, struct lc_like *out, lcdc_error **err)
{
    struct lc_str escape = expr->n_values == 2 ? expr->values[1].str : (struct lc_str){0};
    return lc_like_compile(expr->values[0].str, escape, out, err);
}

#endif
