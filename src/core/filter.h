/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - the SQL condition over change rows: parsed, bound to columns, evaluated in three-valued logic.
 *
 * Grammar: OR, AND, NOT, parentheses; column (=|<>|!=|<|<=|>|>=) literal or the other way round; [NOT] IN (...),
 * [NOT] BETWEEN x AND y, [NOT] LIKE 'p%' [ESCAPE 'c'], IS [NOT] NULL, a boolean column alone, TRUE, FALSE. Columns by
 * dotted path, "quoted" or `quoted`. Literals: numbers, 'text' ('' inside), TRUE, FALSE, NULL, DATE '...', TIME '...',
 * TIMESTAMP '...', TIMESTAMP_NTZ '...', X'0f', CAST('...' AS DOUBLE). A string literal takes its column's type, and so
 * does a time, one without a zone being UTC. A comparison with null is unknown; unknown rows do not pass. Floats order
 * NaN above everything and equal to itself, as Spark does. Fractional literals against integer columns compare exactly.
 */
#ifndef LC_CORE_FILTER_H
#define LC_CORE_FILTER_H

#include "base/arrow.h"
#include "base/value.h"

enum lc_expr_kind {
    LC_EXPR_AND,
    LC_EXPR_OR,
    LC_EXPR_NOT,
    LC_EXPR_COMPARE, /* field op values[0] */
    LC_EXPR_IN,      /* field in values[0..n), n > 0; a null among them makes a miss unknown */
    LC_EXPR_LIKE,    /* field like values[0] (a STRING), escape in values[1] when n_values is 2, else none */
    LC_EXPR_IS_NULL, /* field is null; also for nested columns */
    LC_EXPR_CONST    /* values[0]: a BOOL, possibly null (unknown) */
};

enum lc_compare_op { LC_EQ, LC_NE, LC_LT, LC_LE, LC_GT, LC_GE };

enum { LC_FILTER_MAX_BYTES = 1 << 20, LC_FILTER_MAX_DEPTH = 200, LC_FILTER_MAX_NODES = 100000 };

/** BETWEEN becomes an AND of two comparisons; NOT stays a node; comparisons have the column on the left. */
struct lc_expr {
    enum lc_expr_kind kind;
    enum lc_compare_op op;
    size_t n_args;
    const struct lc_expr **args;  /* AND, OR: two or more; NOT: one */
    const struct lc_field *field; /* the column, a node of the schema it was bound to */
    size_t n_path;
    const size_t *path; /* child indexes from the schema's root to the field */
    size_t n_values;
    const struct lc_value *values; /* of the field's type: where a literal cannot be (x > 1.5 on an int) the comparison
                                      is rewritten so that it can; IN: sorted, each once, a null last. A FLOAT's may be
                                      a double that no float holds: the comparison is one of doubles. */
};

/** Parses `text` against the columns of struct `schema`; nodes live in `arena`, fields point into `schema`. */
lcdc_status lc_filter_parse(struct lc_str text, const struct lc_field *schema, struct lc_arena *arena,
                            const struct lc_expr **out, lcdc_error **err);

/** mask[i] = 1 where the condition is true for row i of a struct array of the schema it was bound to, else 0. */
lcdc_status lc_filter_eval(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t *mask, lcdc_error **err);

/** Splits at top-level ANDs: the conjuncts for which keep(context, conjunct) is true, joined again; NULL when none. */
lcdc_status lc_filter_split(const struct lc_expr *expr, bool (*keep)(void *context, const struct lc_expr *conjunct),
                            void *context, struct lc_arena *arena, const struct lc_expr **out, lcdc_error **err);

/** used[i] = true for each top-level column i of the schema that the condition looks at; others are left alone. */
void lc_filter_columns(const struct lc_expr *expr, bool *used);

/** The condition as SQL that Spark parses, names in backticks, literals typed and quoted. Appended. */
void lc_filter_print_sql(const struct lc_expr *expr, const struct lc_field *schema, struct lc_buf *out);
/**
 * The same for an engine that knows more of a column than its values: what is compared is the text as it stands, not
 * padded (CHAR) or without case, and -0.0 is 0.0, also where an index of a file has them as two.
 */
void lc_filter_print_bare(const struct lc_expr *expr, const struct lc_field *schema, struct lc_buf *out);

#endif
