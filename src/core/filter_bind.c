/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_bind.c - fits a literal to its column: as a value of the column's type, or by a comparison that says the same.
 *
 * A number is held against the exact grid of the column's type (whole numbers, decimals of one scale). It lies on the
 * grid, between two points of it, or beyond an end; `x > 1.5` on whole numbers is `x > 1`, `x = 1.5` is false unless x
 * is null. Nothing is rounded, except against floats, which compare as doubles because that is what they hold.
 */
#include <math.h>

#include "core/filter_parts.h"

enum place { AT, BETWEEN, BELOW, ABOVE, UNKNOWN };

/* Where a literal lies among the values of a type: AT value, between `value` and the next, beyond an end, nowhere. */
struct fit {
    enum place place;
    struct lc_value value;
};

size_t lc_filter_column_of(const struct lc_filter_build *build, struct lc_str part)
{
    size_t column = 1;
    for (const char *p = build->text.p; p < part.p; p++)
        column += ((unsigned char)*p & 0xC0) != 0x80;
    return column;
}

static lcdc_status misfit(const struct lc_filter_build *build, const struct lc_column *column,
                          const struct lc_literal *literal, const char *why, lcdc_error **err)
{
    struct lc_buf type LC_BUF;
    lc_buf_init(&type, 1000);
    lc_type_print(&type, column->field);
    return lc_fail(err, LC_R_FILTER_TYPE, "filter: the literal %.*s at column %zu does not fit column %.*s (%s): %s",
                   LC_STR_ARG(literal->spelling), lc_filter_column_of(build, literal->spelling),
                   LC_STR_ARG(column->spelling), type.failed || !type.p ? "..." : type.p, why);
}

/* ---- numbers on a grid ---- */

/* 0.DIGITS * 10^exponent, without leading or trailing zeros. */
struct number {
    bool negative;
    char *digits;
    size_t n;
    int64_t exponent;
};

static lcdc_status read_number(struct lc_filter_build *build, struct lc_str text, struct number *out, lcdc_error **err)
{
    struct number number = {.digits = lc_arena_alloc(build->arena, text.n + 1)};
    LC_TRY_ALLOC(number.digits);
    bool behind_point = false;
    size_t i = 0;
    if (i < text.n && text.p[i] == '-') {
        number.negative = true;
        i++;
    }
    for (; i < text.n && text.p[i] != 'e' && text.p[i] != 'E'; i++) {
        char c = text.p[i];
        if (c == '.') {
            behind_point = true;
        } else if (c == '0' && number.n == 0) {
            number.exponent -= behind_point;
        } else {
            number.digits[number.n++] = c;
            number.exponent += !behind_point;
        }
    }
    if (i < text.n) {
        struct lc_str exponent = {text.p + i + 1, text.n - i - 1};
        int64_t shift;
        if (exponent.n && exponent.p[0] == '+')
            exponent = (struct lc_str){exponent.p + 1, exponent.n - 1};
        if (!lc_parse_i64(exponent, &shift) || shift > INT32_MAX || shift < INT32_MIN)
            return lc_fail(err, LC_R_FILTER_TYPE, "filter: the exponent of %.*s is out of range", LC_STR_ARG(text));
        number.exponent += shift;
    }
    while (number.n && number.digits[number.n - 1] == '0')
        number.n--;
    *out = number;
    return LCDC_OK;
}

/* The largest k with k / 10^scale <= number, and whether they are equal; false when k has more than 38 digits. */
static bool floor_at_scale(const struct number *number, int scale, lc_i128 *out, bool *exact)
{
    int64_t whole = number->n ? number->exponent + scale : 0; /* digits of k */
    lc_i128 k = 0;
    if (whole > 38)
        return false;
    for (int64_t i = 0; i < whole; i++)
        k = k * 10 + (i < (int64_t)number->n ? number->digits[i] - '0' : 0);
    *exact = (int64_t)number->n <= (whole > 0 ? whole : 0);
    if (number->negative)
        k = *exact ? -k : -k - 1;
    *out = k;
    return true;
}

static void fit_to_grid(const struct number *number, struct lc_type type, lc_i128 lowest, lc_i128 highest,
                        struct fit *out)
{
    int scale = type.kind == LC_TYPE_DECIMAL ? type.scale : 0;
    lc_i128 k;
    bool exact;
    if (!floor_at_scale(number, scale, &k, &exact)) {
        out->place = number->negative ? BELOW : ABOVE;
        return;
    }
    out->place = k < lowest ? BELOW : k > highest ? ABOVE : exact ? AT : BETWEEN;
    out->value = (struct lc_value){.type = type};
    if (type.kind == LC_TYPE_DECIMAL)
        out->value.dec = k;
    else
        out->value.i = (int64_t)k;
}

static lcdc_status fit_number(struct lc_filter_build *build, const struct lc_column *column,
                              const struct lc_literal *literal, struct fit *out, lcdc_error **err)
{
    struct lc_type type = column->field->type;
    struct number number;
    if (type.kind == LC_TYPE_FLOAT || type.kind == LC_TYPE_DOUBLE) {
        out->place = AT;
        out->value = (struct lc_value){.type = type};
        if (!lc_parse_f64(literal->text, &out->value.f) || !isfinite(out->value.f))
            return misfit(build, column, literal, "expected a number that a double can hold", err);
        return LCDC_OK;
    }
    LC_TRY(read_number(build, literal->text, &number, err));
    if (type.kind == LC_TYPE_DECIMAL) {
        lc_i128 limit = lc_pow10(type.precision) - 1;
        fit_to_grid(&number, type, -limit, limit, out);
        return LCDC_OK;
    }
    if (type.kind != LC_TYPE_INT8 && type.kind != LC_TYPE_INT16 && type.kind != LC_TYPE_INT32 &&
        type.kind != LC_TYPE_INT64)
        return misfit(build, column, literal, "a number compares with numbers only; quote it if it is text", err);
    int64_t highest = INT64_MAX >> (64 - 8 * lc_type_width(type.kind));
    fit_to_grid(&number, type, -highest - 1, highest, out);
    return LCDC_OK;
}

/* ---- the other literals ---- */

static bool is_timestamp(enum lc_type_kind kind)
{
    return kind == LC_TYPE_TIMESTAMP_TZ || kind == LC_TYPE_TIMESTAMP || kind == LC_TYPE_TIMESTAMP_NS_TZ ||
           kind == LC_TYPE_TIMESTAMP_NS;
}

static bool is_bytes(enum lc_type_kind kind)
{
    return kind == LC_TYPE_BINARY || kind == LC_TYPE_FIXED;
}

/* What a text of the column's type looks like, for the message. */
static const char *form_of(enum lc_type_kind kind)
{
    switch (kind) {
    case LC_TYPE_BOOL:
        return "expected TRUE or FALSE";
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        return "expected a whole number in the type's range";
    case LC_TYPE_DECIMAL:
        return "expected a number with no more digits than the type has";
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        return "expected a number, NaN or Infinity";
    case LC_TYPE_DATE:
        return "expected a date, '2024-02-29'";
    case LC_TYPE_TIME:
        return "expected a time, '12:30:05.123456'";
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS:
        return "expected a time without a zone and no finer than the type, '2024-02-29 12:30:05'";
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP_NS_TZ:
        return "expected a time no finer than the type, '2024-02-29 12:30:05Z'";
    case LC_TYPE_UUID:
        return "expected a uuid, '00000000-0000-0000-0000-000000000000'";
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
        return "expected bytes of the type's length, X'0f'";
    case LC_TYPE_STRING:
        return "expected quoted text";
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return "only IS NULL and IS NOT NULL apply to it";
    }
    return "it has no such type";
}

static lcdc_status fit_text(struct lc_filter_build *build, const struct lc_column *column,
                            const struct lc_literal *literal, struct fit *out, lcdc_error **err)
{
    struct lc_type type = column->field->type;
    out->place = AT;
    if (is_bytes(type.kind) || !lc_value_parse(type, literal->text, build->arena, &out->value))
        return misfit(build, column, literal, form_of(type.kind), err);
    return LCDC_OK;
}

static bool typed_fits(enum lc_type_kind said, enum lc_type_kind column)
{
    if (is_timestamp(column))
        return is_timestamp(said) || said == LC_TYPE_DATE;
    if (column == LC_TYPE_FLOAT || column == LC_TYPE_DOUBLE)
        return said == LC_TYPE_FLOAT || said == LC_TYPE_DOUBLE;
    return said == column;
}

static lcdc_status fit_typed(struct lc_filter_build *build, const struct lc_column *column,
                             const struct lc_literal *literal, struct fit *out, lcdc_error **err)
{
    struct lc_type type = column->field->type;
    struct lc_value said;
    if (!typed_fits(literal->type, type.kind))
        return misfit(build, column, literal, form_of(type.kind), err);
    if (!lc_value_parse((struct lc_type){.kind = literal->type}, literal->text, build->arena, &said))
        return lc_fail(err, LC_R_FILTER_TYPE, "filter: the literal %.*s at column %zu is not of its type: %s",
                       LC_STR_ARG(literal->spelling), lc_filter_column_of(build, literal->spelling),
                       form_of(literal->type));
    if (type.kind != LC_TYPE_FLOAT && type.kind != LC_TYPE_DOUBLE)
        return fit_text(build, column, literal, out, err);
    out->place = AT;
    out->value = (struct lc_value){.type = type, .f = said.f};
    return LCDC_OK;
}

static lcdc_status fit(struct lc_filter_build *build, const struct lc_column *column, const struct lc_literal *literal,
                       struct fit *out, lcdc_error **err)
{
    struct lc_type type = column->field->type;
    if (lc_type_is_nested(type.kind) || type.kind == LC_TYPE_NULL)
        return misfit(build, column, literal, form_of(type.kind), err);
    switch (literal->kind) {
    case LC_LITERAL_NULL:
        *out = (struct fit){UNKNOWN, {.is_null = true, .type = type}};
        return LCDC_OK;
    case LC_LITERAL_BOOL:
        *out = (struct fit){AT, {.type = type, .b = literal->b}};
        return type.kind == LC_TYPE_BOOL ? LCDC_OK : misfit(build, column, literal, form_of(type.kind), err);
    case LC_LITERAL_NUMBER:
        return fit_number(build, column, literal, out, err);
    case LC_LITERAL_STRING:
        return fit_text(build, column, literal, out, err);
    case LC_LITERAL_BYTES:
        *out = (struct fit){AT, {.type = type, .str = literal->text}};
        if (!is_bytes(type.kind) || (type.kind == LC_TYPE_FIXED && literal->text.n != (size_t)type.length))
            return misfit(build, column, literal, form_of(type.kind), err);
        return LCDC_OK;
    case LC_LITERAL_TYPED:
        return fit_typed(build, column, literal, out, err);
    }
    return misfit(build, column, literal, form_of(type.kind), err);
}

/* ---- nodes ---- */

lcdc_status lc_filter_node(struct lc_filter_build *build, struct lc_expr node, const struct lc_expr **out,
                           lcdc_error **err)
{
    if (++build->nodes > LC_FILTER_MAX_NODES)
        return lc_fail(err, LC_R_LIMIT, "filter: more than %d conditions and literals", (int)LC_FILTER_MAX_NODES);
    struct lc_expr *made = lc_arena_alloc(build->arena, sizeof(*made));
    LC_TRY_ALLOC(made);
    *made = node;
    *out = made;
    return LCDC_OK;
}

lcdc_status lc_filter_join(struct lc_filter_build *build, enum lc_expr_kind kind, size_t n, const struct lc_expr **args,
                           const struct lc_expr **out, lcdc_error **err)
{
    if (n == 1) {
        *out = args[0];
        return LCDC_OK;
    }
    return lc_filter_node(build, (struct lc_expr){.kind = kind, .n_args = n, .args = args}, out, err);
}

static lcdc_status join_two(struct lc_filter_build *build, enum lc_expr_kind kind, const struct lc_expr *a,
                            const struct lc_expr *b, const struct lc_expr **out, lcdc_error **err)
{
    const struct lc_expr **args = lc_arena_array(build->arena, 2, sizeof(*args));
    LC_TRY_ALLOC(args);
    args[0] = a;
    args[1] = b;
    return lc_filter_join(build, kind, 2, args, out, err);
}

lcdc_status lc_filter_not(struct lc_filter_build *build, const struct lc_expr *arg, const struct lc_expr **out,
                          lcdc_error **err)
{
    const struct lc_expr **args = lc_arena_array(build->arena, 1, sizeof(*args));
    LC_TRY_ALLOC(args);
    args[0] = arg;
    return lc_filter_node(build, (struct lc_expr){.kind = LC_EXPR_NOT, .n_args = 1, .args = args}, out, err);
}

lcdc_status lc_filter_const(struct lc_filter_build *build, bool is_null, bool value, const struct lc_expr **out,
                            lcdc_error **err)
{
    struct lc_value *values = lc_arena_array(build->arena, 1, sizeof(*values));
    LC_TRY_ALLOC(values);
    values[0] = (struct lc_value){.is_null = is_null, .type = {.kind = LC_TYPE_BOOL}, .b = value};
    return lc_filter_node(build, (struct lc_expr){.kind = LC_EXPR_CONST, .n_values = 1, .values = values}, out, err);
}

static struct lc_expr on_column(enum lc_expr_kind kind, const struct lc_column *column)
{
    return (struct lc_expr){.kind = kind, .field = column->field, .n_path = column->n_path, .path = column->path};
}

lcdc_status lc_filter_is_null(struct lc_filter_build *build, const struct lc_column *column, const struct lc_expr **out,
                              lcdc_error **err)
{
    return lc_filter_node(build, on_column(LC_EXPR_IS_NULL, column), out, err);
}

/* True for every value and unknown for null, or false for every value and unknown for null. */
static lcdc_status settled(struct lc_filter_build *build, const struct lc_column *column, bool value,
                           const struct lc_expr **out, lcdc_error **err)
{
    const struct lc_expr *is_null, *unknown, *never;
    LC_TRY(lc_filter_is_null(build, column, &is_null, err));
    LC_TRY(lc_filter_const(build, true, false, &unknown, err));
    LC_TRY(join_two(build, LC_EXPR_AND, is_null, unknown, &never, err));
    if (value)
        return lc_filter_not(build, never, out, err);
    *out = never;
    return LCDC_OK;
}

/* ---- comparisons ---- */

lcdc_status lc_filter_bind_compare(struct lc_filter_build *build, const struct lc_column *column, enum lc_compare_op op,
                                   const struct lc_literal *literal, const struct lc_expr **out, lcdc_error **err)
{
    bool is_less = op == LC_LT || op == LC_LE, is_greater = op == LC_GT || op == LC_GE;
    struct fit at;
    LC_TRY(fit(build, column, literal, &at, err));
    switch (at.place) {
    case UNKNOWN:
        return lc_filter_const(build, true, false, out, err);
    case BELOW:
        return settled(build, column, is_greater || op == LC_NE, out, err);
    case ABOVE:
        return settled(build, column, is_less || op == LC_NE, out, err);
    case BETWEEN:
        if (!is_less && !is_greater)
            return settled(build, column, op == LC_NE, out, err);
        op = is_less ? LC_LE : LC_GT;
        break;
    case AT:
        break;
    }
    struct lc_expr node = on_column(LC_EXPR_COMPARE, column);
    node.op = op;
    node.n_values = 1;
    node.values = lc_value_dup(build->arena, &at.value);
    LC_TRY_ALLOC(node.values);
    return lc_filter_node(build, node, out, err);
}

static void sift_down(struct lc_value *values, size_t i, size_t n)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && lc_value_compare(&values[child], &values[child + 1]) < 0)
            child++;
        if (lc_value_compare(&values[i], &values[child]) >= 0)
            return;
        struct lc_value swap = values[i];
        values[i] = values[child];
        values[child] = swap;
    }
}

/* In place and never quadratic, whatever order a hostile list has. */
static size_t sort_unique(struct lc_value *values, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(values, i, n);
    for (size_t end = n; end > 1; end--) {
        struct lc_value swap = values[0];
        values[0] = values[end - 1];
        values[end - 1] = swap;
        sift_down(values, 0, end - 1);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || lc_value_compare(&values[kept - 1], &values[i]) != 0)
            values[kept++] = values[i];
    return kept;
}

/* Values in order, each once, then a null if there was one. Literals that no value can equal fall out. */
lcdc_status lc_filter_bind_in(struct lc_filter_build *build, const struct lc_column *column, size_t n,
                              const struct lc_literal *literals, const struct lc_expr **out, lcdc_error **err)
{
    struct lc_value *values = lc_arena_array(build->arena, n + 1, sizeof(*values));
    struct fit null = {.place = AT};
    size_t kept = 0;
    LC_TRY_ALLOC(values);
    for (size_t i = 0; i < n; i++) {
        struct fit at = {0};
        LC_TRY(fit(build, column, &literals[i], &at, err));
        if (at.place == AT)
            values[kept++] = at.value;
        else if (at.place == UNKNOWN)
            null = at;
    }
    kept = sort_unique(values, kept);
    if (null.place == UNKNOWN)
        values[kept++] = null.value;
    if (kept == 0)
        return settled(build, column, false, out, err);
    struct lc_expr node = on_column(LC_EXPR_IN, column);
    node.n_values = kept;
    node.values = values;
    return lc_filter_node(build, node, out, err);
}

static bool is_one_char(struct lc_str text)
{
    size_t chars = 0;
    for (size_t i = 0; i < text.n; i++)
        chars += ((unsigned char)text.p[i] & 0xC0) != 0x80;
    return chars == 1 && text.p[0] != '%' && text.p[0] != '_';
}

lcdc_status lc_filter_bind_like(struct lc_filter_build *build, const struct lc_column *column,
                                const struct lc_literal *pattern, const struct lc_literal *escape,
                                const struct lc_expr **out, lcdc_error **err)
{
    struct lc_value *values = lc_arena_array(build->arena, 2, sizeof(*values));
    LC_TRY_ALLOC(values);
    if (column->field->type.kind != LC_TYPE_STRING)
        return misfit(build, column, pattern, "LIKE applies to text only", err);
    if (escape && (escape->kind != LC_LITERAL_STRING || !is_one_char(escape->text)))
        return lc_fail(err, LC_R_FILTER_SYNTAX,
                       "filter: expected one character other than %% and _ after ESCAPE at column %zu, found %.*s",
                       lc_filter_column_of(build, escape->spelling), LC_STR_ARG(escape->spelling));
    if (pattern->kind == LC_LITERAL_NULL)
        return lc_filter_const(build, true, false, out, err);
    if (pattern->kind != LC_LITERAL_STRING)
        return misfit(build, column, pattern, "expected a quoted pattern", err);
    values[0] = (struct lc_value){.type = column->field->type, .str = pattern->text};
    if (escape)
        values[1] = (struct lc_value){.type = column->field->type, .str = escape->text};
    struct lc_expr node = on_column(LC_EXPR_LIKE, column);
    node.n_values = escape ? 2 : 1;
    node.values = values;
    struct lc_like checked LC_LIKE = {0};
    LC_TRY(lc_like_of(&node, &checked, err));
    return lc_filter_node(build, node, out, err);
}
