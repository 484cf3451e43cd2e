/* SPDX-License-Identifier: Apache-2.0 */
#include "io/field_json.h"

#include <string.h>

#include "base/value.h"

/* ---- printing ---- */

static void print_hex(struct lc_buf *out, struct lc_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        lc_buf_printf(out, "%02x", (unsigned)(unsigned char)bytes.p[i]);
}

static bool is_bytes(enum lc_type_kind kind)
{
    return kind == LC_TYPE_BINARY || kind == LC_TYPE_FIXED;
}

static void print_default(struct lc_buf *out, const struct lc_value *value)
{
    LC_BUF struct lc_buf text = {0};
    if (!value || value->is_null)
        return;
    lc_buf_init(&text, LC_BUF_MAX);
    if (is_bytes(value->type.kind))
        print_hex(&text, value->str);
    else
        lc_value_print(&text, value);
    out->failed = out->failed || text.failed;
    lc_buf_text(out, ",\"default\":");
    lc_buf_json_string(out, (struct lc_str){text.p ? text.p : "", text.n});
}

static void print_field(struct lc_buf *out, const struct lc_field *field);

static void print_parts(struct lc_buf *out, const struct lc_field *field)
{
    if (field->type.kind == LC_TYPE_STRUCT) {
        lc_buf_text(out, ",\"fields\":");
        lc_field_json_print(out, field);
    } else if (lc_type_is_nested(field->type.kind)) {
        for (size_t i = 0; i < field->n_children; i++) {
            lc_buf_printf(out, ",\"%s\":", field->type.kind == LC_TYPE_LIST ? "element" : i == 0 ? "key" : "value");
            print_field(out, &field->children[i]);
        }
    }
}

static void print_field(struct lc_buf *out, const struct lc_field *field)
{
    lc_buf_text(out, "{\"name\":");
    lc_buf_json_string(out, lc_str_of(field->name));
    if (field->id != LC_NO_ID)
        lc_buf_printf(out, ",\"id\":%d", (int)field->id);
    lc_buf_printf(out, ",\"type\":\"%s\"", lc_type_word(field->type.kind));
    if (field->type.kind == LC_TYPE_DECIMAL)
        lc_buf_printf(out, ",\"precision\":%d,\"scale\":%d", field->type.precision, field->type.scale);
    if (field->type.kind == LC_TYPE_FIXED)
        lc_buf_printf(out, ",\"length\":%d", field->type.length);
    if (field->is_variant)
        lc_buf_text(out, ",\"variant\":true");
    print_parts(out, field);
    print_default(out, field->initial_default);
    lc_buf_char(out, '}');
}

void lc_field_json_print(struct lc_buf *out, const struct lc_field *parent)
{
    lc_buf_char(out, '[');
    for (size_t i = 0; i < parent->n_children; i++) {
        if (i)
            lc_buf_char(out, ',');
        print_field(out, &parent->children[i]);
    }
    lc_buf_char(out, ']');
}

/* ---- parsing ---- */

struct parser {
    struct lc_arena *arena;
    size_t n_fields;
    const char *column; /* for messages */
};

static lcdc_status bad(const struct parser *self, const char *what, lcdc_error **err)
{
    return lc_fail(err, LC_R_SCHEMA_BAD, "schema, column '%.200s': %s", self->column, what);
}

static bool hex_digit(char c, unsigned *out)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    *out = at ? (unsigned)(at - digits) : 0;
    return at != NULL;
}

static bool parse_hex(struct lc_str text, struct lc_arena *arena, struct lc_str *out)
{
    char *bytes = lc_arena_alloc(arena, text.n / 2);
    bool good = bytes && text.n % 2 == 0;
    for (size_t i = 0; good && i < text.n / 2; i++) {
        unsigned high = 0, low = 0;
        good = hex_digit(text.p[2 * i], &high) && hex_digit(text.p[2 * i + 1], &low);
        bytes[i] = (char)(high << 4 | low);
    }
    *out = (struct lc_str){bytes, text.n / 2};
    return good;
}

static lcdc_status parse_default(struct parser *self, const struct json_t *json, struct lc_field *out, lcdc_error **err)
{
    struct lc_str text;
    if (!lc_json_get_str(json, "default", &text))
        return LCDC_OK;
    struct lc_value *value = lc_arena_alloc(self->arena, sizeof(*value));
    LC_TRY_ALLOC(value);
    value->type = out->type;
    bool good = is_bytes(out->type.kind) ? parse_hex(text, self->arena, &value->str)
                                         : lc_value_parse(out->type, text, self->arena, value);
    if (!good || (out->type.kind == LC_TYPE_FIXED && value->str.n != (size_t)out->type.length))
        return bad(self, "the default is not a value of the column's type", err);
    out->initial_default = value;
    return LCDC_OK;
}

static bool parse_int(const struct json_t *json, const char *key, int64_t least, int64_t most, int *out)
{
    int64_t value;
    if (!lc_json_get_i64(json, key, &value) || value < least || value > most)
        return false;
    *out = (int)value;
    return true;
}

static bool parse_type(const struct json_t *json, struct lc_type *out)
{
    struct lc_str word;
    size_t kind = 0;
    if (!lc_json_get_str(json, "type", &word))
        return false;
    while (kind < LC_TYPE_COUNT && !lc_str_is(word, lc_type_word((enum lc_type_kind)kind)))
        kind++;
    if (kind == LC_TYPE_COUNT)
        return false;
    *out = (struct lc_type){.kind = (enum lc_type_kind)kind};
    if (out->kind == LC_TYPE_DECIMAL)
        return parse_int(json, "precision", 1, 38, &out->precision) &&
               parse_int(json, "scale", 0, out->precision, &out->scale);
    return out->kind != LC_TYPE_FIXED || parse_int(json, "length", 1, 1 << 20, &out->length);
}

static lcdc_status parse_field(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                               lcdc_error **err);

static lcdc_status parse_fields(struct parser *self, const struct json_t *array, int depth, struct lc_field *out,
                                lcdc_error **err)
{
    if (!lc_json_is_array(array))
        return bad(self, "a list of fields is missing", err);
    out->n_children = lc_json_count(array);
    out->children = lc_arena_array(self->arena, out->n_children, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    for (size_t i = 0; i < out->n_children; i++)
        LC_TRY(parse_field(self, lc_json_at(array, i), depth + 1, &out->children[i], err));
    return LCDC_OK;
}

static lcdc_status parse_parts(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                               lcdc_error **err)
{
    static const char *const keys[][2] = {{"element", NULL}, {"key", "value"}};
    if (out->type.kind == LC_TYPE_STRUCT)
        return parse_fields(self, lc_json_member(json, "fields"), depth, out, err);
    bool is_map = out->type.kind == LC_TYPE_MAP;
    if (!is_map && out->type.kind != LC_TYPE_LIST)
        return LCDC_OK;
    out->n_children = is_map ? 2 : 1;
    out->children = lc_arena_array(self->arena, out->n_children, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    for (size_t i = 0; i < out->n_children; i++)
        LC_TRY(parse_field(self, lc_json_member(json, keys[is_map][i]), depth + 1, &out->children[i], err));
    return LCDC_OK;
}

static lcdc_status parse_field(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                               lcdc_error **err)
{
    struct lc_str name;
    int id = LC_NO_ID;
    *out = (struct lc_field){.nullable = true};
    if (depth > LC_MAX_DEPTH || ++self->n_fields > LC_MAX_FIELDS)
        return bad(self, "the schema is too deep or too wide", err);
    if (!lc_json_get_str(json, "name", &name) || memchr(name.p, 0, name.n))
        return bad(self, "a field has no name", err);
    out->name = out->physical = lc_arena_strndup(self->arena, name.p, name.n);
    LC_TRY_ALLOC(out->name);
    if (depth == 1)
        self->column = out->name;
    if (lc_json_member(json, "id") && !parse_int(json, "id", 0, INT32_MAX, &id))
        return bad(self, "a field's id is out of range", err);
    out->id = (int32_t)id;
    if (!parse_type(json, &out->type))
        return bad(self, "a field's type is missing or not known", err);
    (void)lc_json_get_bool(json, "variant", &out->is_variant);
    LC_TRY(parse_parts(self, json, depth, out, err));
    return parse_default(self, json, out, err);
}

lcdc_status lc_field_json_parse(const struct json_t *array, struct lc_arena *arena, struct lc_field *out,
                                lcdc_error **err)
{
    struct parser parser = {.arena = arena, .column = ""};
    struct lc_field made = {.name = "", .physical = "", .id = LC_NO_ID, .nullable = true, .type.kind = LC_TYPE_STRUCT};
    LC_TRY(parse_fields(&parser, array, 0, &made, err));
    *out = made;
    return LCDC_OK;
}
