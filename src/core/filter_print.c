/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_print.c - a condition as SQL for an engine.
 *
 * No text of a user or table decides where a literal ends: names stand in backticks, strings that hold a quote, a
 * backslash (an escape or not, as the engine is set), a dollar (variables) or a control character are spelled in hex,
 * and every literal carries its type. LIKE never depends on the engine's own escape character.
 */
#include "core/filter_parts.h"

static void print_name(struct lc_buf *out, const char *name)
{
    lc_buf_char(out, '`');
    for (const char *p = name; *p; p++) {
        if (*p == '`')
            lc_buf_char(out, '`');
        lc_buf_char(out, *p);
    }
    lc_buf_char(out, '`');
}

static void print_column(struct lc_buf *out, const struct lc_expr *expr, const struct lc_field *schema)
{
    const struct lc_field *field = schema;
    for (size_t i = 0; i < expr->n_path; i++) {
        field = &field->children[expr->path[i]];
        if (i)
            lc_buf_char(out, '.');
        print_name(out, field->name);
    }
}

static bool has_zero(const struct lc_expr *expr)
{
    for (size_t i = 0; i < expr->n_values; i++)
        if (!expr->values[i].is_null && expr->values[i].f == 0)
            return true;
    return false;
}

/*
 * What is compared. Bare: the value as it stands. A text is nothing else to the engine then; a number that is compared
 * with zero becomes a sum, which no index of a file can answer: there -0.0 is another value than 0.0.
 */
static void print_operand(struct lc_buf *out, const struct lc_expr *expr, const struct lc_field *schema, bool is_bare)
{
    const struct lc_field *field = schema;
    for (size_t i = 0; i < expr->n_path; i++)
        field = &field->children[expr->path[i]];
    bool is_float = field->type.kind == LC_TYPE_FLOAT || field->type.kind == LC_TYPE_DOUBLE;
    bool is_text = is_bare && field->type.kind == LC_TYPE_STRING, is_sum = is_bare && is_float && has_zero(expr);
    lc_buf_text(out, is_text ? "CAST(" : is_sum ? "(" : "");
    print_column(out, expr, schema);
    lc_buf_text(out, is_text ? " AS STRING)" : is_sum ? " + CAST('0.0' AS DOUBLE))" : "");
}

static void print_hex(struct lc_buf *out, struct lc_str bytes)
{
    lc_buf_text(out, "X'");
    for (size_t i = 0; i < bytes.n; i++)
        lc_buf_printf(out, "%02X", (unsigned char)bytes.p[i]);
    lc_buf_char(out, '\'');
}

static void print_string(struct lc_buf *out, struct lc_str text)
{
    bool plain = true;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        plain = plain && c != '\'' && c != '\\' && c != '$' && (unsigned char)c >= 0x20 && c != 0x7F;
    }
    if (plain) {
        lc_buf_char(out, '\'');
        lc_buf_append(out, text.p, text.n);
        lc_buf_char(out, '\'');
        return;
    }
    lc_buf_text(out, "CAST(");
    print_hex(out, text);
    lc_buf_text(out, " AS STRING)");
}

/* `before` text `after`, the text as lc_value_parse() reads it. */
static void print_between(struct lc_buf *out, const char *before, const struct lc_value *value, const char *after)
{
    lc_buf_text(out, before);
    lc_value_print(out, value);
    lc_buf_text(out, after);
}

/* A float's literal may be a double that no float holds; the comparison is one of doubles. */
static void print_float(struct lc_buf *out, double value)
{
    char text[32];
    lc_print_f64(value, text);
    lc_buf_printf(out, "CAST('%s' AS DOUBLE)", text);
}

static void print_value(struct lc_buf *out, const struct lc_value *value)
{
    if (value->is_null) {
        lc_buf_text(out, "NULL");
        return;
    }
    switch (value->type.kind) {
    case LC_TYPE_BOOL:
        lc_buf_text(out, value->b ? "TRUE" : "FALSE");
        return;
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_DECIMAL:
        lc_value_print(out, value);
        return;
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        print_float(out, value->f);
        return;
    case LC_TYPE_DATE:
        print_between(out, "DATE '", value, "'");
        return;
    case LC_TYPE_TIMESTAMP_TZ:
        print_between(out, "TIMESTAMP '", value, "'");
        return;
    case LC_TYPE_TIMESTAMP:
        print_between(out, "TIMESTAMP_NTZ '", value, "'");
        return;
    case LC_TYPE_TIME:
        print_between(out, "TIME '", value, "'");
        return;
    case LC_TYPE_TIMESTAMP_NS_TZ:
        print_between(out, "CAST('", value, "' AS TIMESTAMPTZ_NS)");
        return;
    case LC_TYPE_TIMESTAMP_NS:
        print_between(out, "CAST('", value, "' AS TIMESTAMP_NS)");
        return;
    case LC_TYPE_UUID:
        print_between(out, "'", value, "'");
        return;
    case LC_TYPE_STRING:
        print_string(out, value->str);
        return;
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
        print_hex(out, value->str);
        return;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return;
    }
}

/* The pattern written anew: '!' escapes where an escape is needed, and is named whenever the engine might see one. */
static void print_like(struct lc_buf *out, const struct lc_expr *expr)
{
    struct lc_like like LC_LIKE = {0};
    struct lc_buf pattern LC_BUF;
    lc_buf_init(&pattern, LC_BUF_MAX);
    bool needs_escape = false;
    if (lc_like_of(expr, &like, NULL) != LCDC_OK) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < like.n; i++) {
        char c = like.parts[i].byte;
        needs_escape |= like.parts[i].kind == LC_LIKE_BYTE && (c == '%' || c == '_' || c == '\\');
    }
    for (size_t i = 0; i < like.n; i++) {
        struct lc_like_part part = like.parts[i];
        bool escaped = part.kind == LC_LIKE_BYTE && (part.byte == '%' || part.byte == '_' || part.byte == '!');
        if (escaped && needs_escape)
            lc_buf_char(&pattern, '!');
        lc_buf_char(&pattern, part.kind == LC_LIKE_MANY ? '%' : part.kind == LC_LIKE_ONE ? '_' : part.byte);
    }
    out->failed |= pattern.failed;
    lc_buf_text(out, " LIKE ");
    print_string(out, (struct lc_str){pattern.p, pattern.n});
    if (needs_escape)
        lc_buf_text(out, " ESCAPE '!'");
}

static void print(struct lc_buf *out, const struct lc_expr *expr, const struct lc_field *schema, bool is_bare)
{
    static const char *const signs[] = {
        [LC_EQ] = " = ", [LC_NE] = " <> ", [LC_LT] = " < ", [LC_LE] = " <= ", [LC_GT] = " > ", [LC_GE] = " >= "};
    const struct lc_value *values = expr->values;
    switch (expr->kind) {
    case LC_EXPR_AND:
    case LC_EXPR_OR:
        for (size_t i = 0; i < expr->n_args; i++) {
            lc_buf_text(out, i == 0 ? "(" : expr->kind == LC_EXPR_AND ? " AND " : " OR ");
            print(out, expr->args[i], schema, is_bare);
        }
        lc_buf_char(out, ')');
        return;
    case LC_EXPR_NOT:
        lc_buf_text(out, "NOT ");
        print(out, expr->args[0], schema, is_bare);
        return;
    case LC_EXPR_CONST:
        lc_buf_text(out, values[0].is_null ? "CAST(NULL AS BOOLEAN)" : values[0].b ? "TRUE" : "FALSE");
        return;
    case LC_EXPR_IS_NULL:
        print_column(out, expr, schema);
        lc_buf_text(out, " IS NULL");
        return;
    case LC_EXPR_COMPARE:
        print_operand(out, expr, schema, is_bare);
        lc_buf_text(out, signs[expr->op]);
        print_value(out, &values[0]);
        return;
    case LC_EXPR_IN:
        print_operand(out, expr, schema, is_bare);
        for (size_t i = 0; i < expr->n_values; i++) {
            lc_buf_text(out, i == 0 ? " IN (" : ", ");
            print_value(out, &values[i]);
        }
        lc_buf_char(out, ')');
        return;
    case LC_EXPR_LIKE:
        print_operand(out, expr, schema, is_bare);
        print_like(out, expr);
        return;
    }
}

void lc_filter_print_sql(const struct lc_expr *expr, const struct lc_field *schema, struct lc_buf *out)
{
    print(out, expr, schema, false);
}

void lc_filter_print_bare(const struct lc_expr *expr, const struct lc_field *schema, struct lc_buf *out)
{
    print(out, expr, schema, true);
}
