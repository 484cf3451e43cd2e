/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_eval.c - a condition over a batch, column at a time, in three-valued logic.
 *
 * Truth is a byte a row, ordered so that AND is the minimum, OR the maximum and NOT a subtraction. A comparison first
 * decides every row as if none were null, in a loop over one type, then makes the null ones unknown.
 */
#include <math.h>
#include <string.h>

#include "core/filter_parts.h"

enum { NO = 0, UNKNOWN = 1, YES = 2 };
enum { FEW_VALUES = 8 };

/* The array a path leads to; row i of the batch is slot `shift + i` of its buffers. */
struct column {
    const struct ArrowArray *array;
    int64_t shift;
    int64_t n;
};

static const uint8_t *validity_of(const struct ArrowArray *array)
{
    return array->null_count != 0 && array->n_buffers > 0 ? array->buffers[0] : NULL;
}

/* Marks the rows that are null here; `what` is the truth they get. */
static void mark_nulls(const struct ArrowArray *array, int64_t shift, int64_t n, uint8_t what, uint8_t *truth)
{
    const uint8_t *validity = validity_of(array);
    for (int64_t i = 0; validity && i < n; i++)
        if (!lc_bit(validity, shift + i))
            truth[i] = what;
}

/* A row whose parent is null is null itself, whatever the child's buffers say. */
static void mark_path_nulls(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t what, uint8_t *truth)
{
    const struct ArrowArray *array = rows;
    int64_t shift = rows->offset;
    mark_nulls(array, shift, rows->length, what, truth);
    for (size_t i = 0; i < expr->n_path; i++) {
        array = array->children[expr->path[i]];
        shift += array->offset;
        mark_nulls(array, shift, rows->length, what, truth);
    }
    if (expr->field->type.kind == LC_TYPE_NULL)
        memset(truth, what, (size_t)rows->length);
}

static struct column find_column(const struct lc_expr *expr, const struct ArrowArray *rows)
{
    struct column column = {rows, rows->offset, rows->length};
    for (size_t i = 0; i < expr->n_path; i++) {
        column.array = column.array->children[expr->path[i]];
        column.shift += column.array->offset;
    }
    return column;
}

/* ---- comparisons, one loop a type and an operator; loads go through memcpy, for nobody promised their alignment ----
 */

#define LOOP(type, condition)                                                                                          \
    for (int64_t i = 0; i < column.n; i++) {                                                                           \
        type a;                                                                                                        \
        memcpy(&a, values + i * (int64_t)sizeof(a), sizeof(a));                                                        \
        truth[i] = (condition) ? YES : NO;                                                                             \
    }                                                                                                                  \
    return

#define DEFINE_COMPARE(name, type, literal_type, EQUAL, LESS)                                                          \
    static void name(struct column column, enum lc_compare_op op, literal_type b, uint8_t *truth)                      \
    {                                                                                                                  \
        const char *values = (const char *)column.array->buffers[1] + column.shift * (int64_t)sizeof(type);            \
        switch (op) {                                                                                                  \
        case LC_EQ:                                                                                                    \
            LOOP(type, EQUAL(a, b));                                                                                   \
        case LC_NE:                                                                                                    \
            LOOP(type, !EQUAL(a, b));                                                                                  \
        case LC_LT:                                                                                                    \
            LOOP(type, LESS(a, b));                                                                                    \
        case LC_LE:                                                                                                    \
            LOOP(type, !LESS(b, a));                                                                                   \
        case LC_GT:                                                                                                    \
            LOOP(type, LESS(b, a));                                                                                    \
        case LC_GE:                                                                                                    \
            LOOP(type, !LESS(a, b));                                                                                   \
        }                                                                                                              \
    }

#define PLAIN_EQUAL(a, b) ((a) == (b))
#define PLAIN_LESS(a, b) ((a) < (b))

/* NaN equals itself and is above every number. */
static inline bool float_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static inline bool float_less(double a, double b)
{
    return a < b || (isnan(b) && !isnan(a));
}

#define FLOAT_EQUAL(a, b) float_equal((double)(a), (double)(b))
#define FLOAT_LESS(a, b) float_less((double)(a), (double)(b))

DEFINE_COMPARE(compare_int8, int8_t, int64_t, PLAIN_EQUAL, PLAIN_LESS)
DEFINE_COMPARE(compare_int16, int16_t, int64_t, PLAIN_EQUAL, PLAIN_LESS)
DEFINE_COMPARE(compare_int32, int32_t, int64_t, PLAIN_EQUAL, PLAIN_LESS)
DEFINE_COMPARE(compare_int64, int64_t, int64_t, PLAIN_EQUAL, PLAIN_LESS)
DEFINE_COMPARE(compare_float, float, double, FLOAT_EQUAL, FLOAT_LESS)
DEFINE_COMPARE(compare_double, double, double, FLOAT_EQUAL, FLOAT_LESS)

static uint8_t truth_of(int order, enum lc_compare_op op)
{
    switch (op) {
    case LC_EQ:
        return order == 0 ? YES : NO;
    case LC_NE:
        return order != 0 ? YES : NO;
    case LC_LT:
        return order < 0 ? YES : NO;
    case LC_LE:
        return order <= 0 ? YES : NO;
    case LC_GT:
        return order > 0 ? YES : NO;
    case LC_GE:
        return order >= 0 ? YES : NO;
    }
    return UNKNOWN;
}

static void compare_decimal(struct column column, enum lc_compare_op op, lc_i128 b, uint8_t *truth)
{
    const char *values = (const char *)column.array->buffers[1] + column.shift * 16;
    for (int64_t i = 0; i < column.n; i++) {
        lc_i128 a;
        memcpy(&a, values + i * 16, sizeof(a));
        truth[i] = truth_of((a > b) - (a < b), op);
    }
}

static void compare_bool(struct column column, enum lc_compare_op op, bool b, uint8_t *truth)
{
    const uint8_t *bits = column.array->buffers[1];
    for (int64_t i = 0; i < column.n; i++)
        truth[i] = truth_of((int)lc_bit(bits, column.shift + i) - (int)b, op);
}

static struct lc_str bytes_at(struct column column, struct lc_type type, int64_t i)
{
    return lc_array_str(column.array, type.kind, type.length, column.shift - column.array->offset + i);
}

static void compare_bytes(struct column column, struct lc_type type, const uint8_t *valid, enum lc_compare_op op,
                          struct lc_str b, uint8_t *truth)
{
    for (int64_t i = 0; i < column.n; i++)
        if (valid[i])
            truth[i] = truth_of(lc_str_cmp(bytes_at(column, type, i), b), op);
}

/* `valid` says which rows are not null: the bytes of the others may not be looked at. */
static void compare(struct column column, struct lc_type type, const uint8_t *valid, enum lc_compare_op op,
                    const struct lc_value *value, uint8_t *truth)
{
    switch (type.kind) {
    case LC_TYPE_BOOL:
        compare_bool(column, op, value->b, truth);
        return;
    case LC_TYPE_INT8:
        compare_int8(column, op, value->i, truth);
        return;
    case LC_TYPE_INT16:
        compare_int16(column, op, value->i, truth);
        return;
    case LC_TYPE_INT32:
    case LC_TYPE_DATE:
        compare_int32(column, op, value->i, truth);
        return;
    case LC_TYPE_INT64:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        compare_int64(column, op, value->i, truth);
        return;
    case LC_TYPE_FLOAT:
        compare_float(column, op, value->f, truth);
        return;
    case LC_TYPE_DOUBLE:
        compare_double(column, op, value->f, truth);
        return;
    case LC_TYPE_DECIMAL:
        compare_decimal(column, op, value->dec, truth);
        return;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        compare_bytes(column, type, valid, op, value->str, truth);
        return;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return;
    }
}

/* ---- predicates ---- */

static bool is_among(const struct lc_value *value, const struct lc_value *sorted, size_t n)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        int order = lc_value_compare(&sorted[middle], value);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return false;
}

/* A short list as a row of equalities, a long one by search: its values are sorted. */
static void find_among(const struct lc_expr *expr, size_t n_values, struct column column, const uint8_t *valid,
                       uint8_t *scratch, uint8_t *truth)
{
    struct lc_type type = expr->field->type;
    memset(truth, NO, (size_t)column.n);
    for (size_t k = 0; k < n_values && n_values <= FEW_VALUES; k++) {
        memset(scratch, NO, (size_t)column.n);
        compare(column, type, valid, LC_EQ, &expr->values[k], scratch);
        for (int64_t i = 0; i < column.n; i++)
            truth[i] |= scratch[i];
    }
    for (int64_t i = 0; i < column.n && n_values > FEW_VALUES; i++) {
        struct lc_value value;
        if (!valid[i])
            continue;
        lc_array_value(column.array, type, column.shift - column.array->offset + i, &value);
        truth[i] = is_among(&value, expr->values, n_values) ? YES : NO;
    }
}

static lcdc_status eval_in(const struct lc_expr *expr, struct column column, const uint8_t *valid, uint8_t *truth,
                           lcdc_error **err)
{
    uint8_t *scratch LC_FREE = lc_alloc((size_t)column.n);
    LC_TRY_ALLOC(scratch);
    bool has_null = expr->values[expr->n_values - 1].is_null;
    find_among(expr, expr->n_values - has_null, column, valid, scratch, truth);
    for (int64_t i = 0; i < column.n && has_null; i++)
        truth[i] = truth[i] == YES ? YES : UNKNOWN;
    return LCDC_OK;
}

static lcdc_status eval_like(const struct lc_expr *expr, struct column column, const uint8_t *valid, uint8_t *truth,
                             lcdc_error **err)
{
    struct lc_like like LC_LIKE = {0};
    LC_TRY(lc_like_of(expr, &like, err));
    for (int64_t i = 0; i < column.n; i++)
        if (valid[i])
            truth[i] = lc_like_match(&like, bytes_at(column, expr->field->type, i)) ? YES : NO;
    return LCDC_OK;
}

static lcdc_status eval_on_column(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t *truth,
                                  lcdc_error **err)
{
    struct column column = find_column(expr, rows);
    uint8_t *valid LC_FREE = lc_alloc((size_t)column.n);
    LC_TRY_ALLOC(valid);
    memset(valid, 1, (size_t)column.n);
    mark_path_nulls(expr, rows, 0, valid);
    memset(truth, NO, (size_t)column.n);
    if (expr->kind == LC_EXPR_COMPARE)
        compare(column, expr->field->type, valid, expr->op, &expr->values[0], truth);
    else if (expr->kind == LC_EXPR_IN)
        LC_TRY(eval_in(expr, column, valid, truth, err));
    else
        LC_TRY(eval_like(expr, column, valid, truth, err));
    for (int64_t i = 0; i < column.n; i++)
        truth[i] = valid[i] ? truth[i] : UNKNOWN;
    return LCDC_OK;
}

/* ---- the tree ---- */

static lcdc_status eval(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t *truth, lcdc_error **err);

static lcdc_status eval_chain(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t *truth,
                              lcdc_error **err)
{
    size_t n = (size_t)rows->length;
    bool is_and = expr->kind == LC_EXPR_AND;
    uint8_t *next LC_FREE = lc_alloc(n);
    LC_TRY_ALLOC(next);
    LC_TRY(eval(expr->args[0], rows, truth, err));
    for (size_t k = 1; k < expr->n_args; k++) {
        LC_TRY(eval(expr->args[k], rows, next, err));
        for (size_t i = 0; i < n; i++)
            truth[i] = is_and == (next[i] < truth[i]) ? next[i] : truth[i];
    }
    return LCDC_OK;
}

static lcdc_status eval(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t *truth, lcdc_error **err)
{
    size_t n = (size_t)rows->length;
    switch (expr->kind) {
    case LC_EXPR_AND:
    case LC_EXPR_OR:
        return eval_chain(expr, rows, truth, err);
    case LC_EXPR_NOT:
        LC_TRY(eval(expr->args[0], rows, truth, err));
        for (size_t i = 0; i < n; i++)
            truth[i] = (uint8_t)(YES - truth[i]);
        return LCDC_OK;
    case LC_EXPR_IS_NULL:
        memset(truth, NO, n);
        mark_path_nulls(expr, rows, YES, truth);
        return LCDC_OK;
    case LC_EXPR_CONST:
        memset(truth, expr->values[0].is_null ? UNKNOWN : expr->values[0].b ? YES : NO, n);
        return LCDC_OK;
    case LC_EXPR_COMPARE:
    case LC_EXPR_IN:
    case LC_EXPR_LIKE:
        return eval_on_column(expr, rows, truth, err);
    }
    return lc_fail(err, LC_R_INTERNAL, "a filter node of an unknown kind");
}

lcdc_status lc_filter_eval(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t *mask, lcdc_error **err)
{
    if (rows->length == 0)
        return LCDC_OK; /* an empty array may have no buffers to point into */
    uint8_t *truth LC_FREE = lc_alloc((size_t)rows->length);
    LC_TRY_ALLOC(truth);
    LC_TRY(eval(expr, rows, truth, err));
    for (int64_t i = 0; i < rows->length; i++)
        mask[i] = truth[i] == YES;
    return LCDC_OK;
}
