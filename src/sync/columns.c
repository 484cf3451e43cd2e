/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/columns.h"

#include <string.h>

#include "io/json.h"
#include "sync/transform.h"

/* ---- writing ---- */

static void print_type(const struct lc_field *field, struct lc_buf *out)
{
    LC_BUF struct lc_buf word = {.max = 1 << 10};
    switch (field->type.kind) {
    case LC_TYPE_STRUCT:
        lc_buf_text(out, "[\"struct\",");
        lc_columns_print(field, field->n_children, out);
        lc_buf_char(out, ']');
        return;
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
        lc_buf_text(out, field->type.kind == LC_TYPE_LIST ? "[\"array\"" : "[\"map\"");
        for (size_t i = 0; i < field->n_children; i++) {
            lc_buf_char(out, ',');
            print_type(&field->children[i], out);
        }
        lc_buf_char(out, ']');
        return;
    default:
        lc_type_print(&word, field);
        lc_buf_json_string(out, (struct lc_str){word.p, word.n});
    }
}

/* [name, type], [name, type, id], [name, type, id or null, "filter"] */
void lc_columns_print(const struct lc_field *columns, size_t n_shown, struct lc_buf *out)
{
    lc_buf_char(out, '[');
    for (size_t i = 0; i < columns->n_children; i++) {
        lc_buf_text(out, i ? ",[" : "[");
        lc_buf_json_string(out, lc_str_of(columns->children[i].name));
        lc_buf_char(out, ',');
        print_type(&columns->children[i], out);
        if (columns->children[i].id != LC_NO_ID)
            lc_buf_printf(out, ",%d", (int)columns->children[i].id);
        else if (i >= n_shown)
            lc_buf_text(out, ",null");
        if (i >= n_shown)
            lc_buf_text(out, ",\"filter\"");
        lc_buf_char(out, ']');
    }
    lc_buf_char(out, ']');
}

/* ---- comparing ---- */

static int int_bytes(enum lc_type_kind kind)
{
    return kind == LC_TYPE_INT8    ? 1
           : kind == LC_TYPE_INT16 ? 2
           : kind == LC_TYPE_INT32 ? 4
           : kind == LC_TYPE_INT64 ? 8
                                   : 0;
}

/* Whether every value of one type is one of the other. */
static bool widens(struct lc_type from, struct lc_type to)
{
    static const int digits[] = {[1] = 3, [2] = 5, [4] = 10, [8] = 19};
    int bytes = int_bytes(from.kind);
    if (bytes && int_bytes(to.kind))
        return int_bytes(to.kind) >= bytes;
    if (bytes && to.kind == LC_TYPE_DOUBLE)
        return bytes <= 4;
    if (bytes && to.kind == LC_TYPE_DECIMAL)
        return to.precision - to.scale >= digits[bytes];
    if (from.kind == LC_TYPE_DECIMAL && to.kind == LC_TYPE_DECIMAL)
        return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale;
    return (from.kind == LC_TYPE_FLOAT && to.kind == LC_TYPE_DOUBLE) ||
           (from.kind == LC_TYPE_DATE && to.kind == LC_TYPE_TIMESTAMP);
}

static bool columns_fit(const struct json_t *json, const struct lc_field *columns, bool filtered, struct lc_buf *why);

static bool nested_fits(const struct json_t *json, const struct lc_field *field, struct lc_buf *why);

static bool type_fits(const struct json_t *json, const struct lc_field *field, struct lc_buf *why)
{
    LC_BUF struct lc_buf word = {.max = 1 << 10};
    LC_FREE char *old = NULL;
    struct lc_str text;
    struct lc_type type;
    if (!lc_json_str(json, &text))
        return nested_fits(json, field, why);
    lc_type_print(&word, field);
    if (lc_str_eq(text, (struct lc_str){word.p, word.n}))
        return true;
    old = lc_strndup(text.p, text.n);
    return old && !lc_type_is_nested(field->type.kind) && lc_type_parse(old, &type) && widens(type, field->type);
}

static bool nested_fits(const struct json_t *json, const struct lc_field *field, struct lc_buf *why)
{
    static const struct {
        const char *word;
        enum lc_type_kind kind;
    } nested[] = {{"struct", LC_TYPE_STRUCT}, {"array", LC_TYPE_LIST}, {"map", LC_TYPE_MAP}};
    struct lc_str word;
    if (!lc_json_str(lc_json_at(json, 0), &word))
        return false;
    for (size_t i = 0; i < 3; i++)
        if (lc_str_is(word, nested[i].word) && field->type.kind != nested[i].kind)
            return false;
    if (field->type.kind == LC_TYPE_STRUCT)
        return columns_fit(lc_json_at(json, 1), field, true, why);
    for (size_t i = 0; i < field->n_children; i++) {
        const struct json_t *child = lc_json_at(json, i + 1);
        if (!child || !type_fits(child, &field->children[i], why))
            return false;
    }
    return true;
}

static bool columns_fit(const struct json_t *json, const struct lc_field *columns, bool filtered, struct lc_buf *why)
{
    for (size_t i = 0; i < lc_json_count(json); i++) {
        const struct json_t *pair = lc_json_at(json, i);
        struct lc_str name = {"", 0};
        int64_t id;
        if (!filtered && lc_json_at(pair, 3))
            continue;
        if (!lc_json_str(lc_json_at(pair, 0), &name))
            return false;
        const struct lc_field *field = lc_field_child(columns, name);
        if (!field) {
            if (!why->n)
                lc_buf_printf(why, "column '%.*s' is gone or has another name", LC_STR_ARG(name));
            return false;
        }
        if (lc_json_i64(lc_json_at(pair, 2), &id) && field->id != LC_NO_ID && id != field->id) {
            if (!why->n)
                lc_buf_printf(why, "column '%.*s' was dropped, and another one has its name", LC_STR_ARG(name));
            return false;
        }
        if (type_fits(lc_json_at(pair, 1), field, why))
            continue;
        if (!why->n) {
            lc_buf_printf(why, "column '%.*s' was ", LC_STR_ARG(name));
            lc_json_print(lc_json_at(pair, 1), why);
            lc_buf_text(why, " and is ");
            lc_type_print(why, field);
        }
        return false;
    }
    return true;
}

lcdc_status lc_columns_check(const char *text, const struct lc_field *columns, bool filtered, lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    LC_BUF struct lc_buf why = {.max = 1 << 16};
    LC_TRY(lc_json_parse(lc_str_of(text), &json, err));
    if (columns_fit(json, columns, filtered, &why))
        return LCDC_OK;
    return lc_fail(err, LC_R_SYNC_SCHEMA, "the table's columns changed in a way that the target cannot follow: %.500s",
                   why.p ? why.p : "the ledger does not know them");
}
