/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/value.h"

enum { MAX_FIXED = 1 << 24 };

static const struct {
    const char *name;
    enum lc_type_kind kind;
} primitives[] = {
    {"boolean", LC_TYPE_BOOL},
    {"int", LC_TYPE_INT32},
    {"long", LC_TYPE_INT64},
    {"float", LC_TYPE_FLOAT},
    {"double", LC_TYPE_DOUBLE},
    {"date", LC_TYPE_DATE},
    {"time", LC_TYPE_TIME},
    {"timestamp", LC_TYPE_TIMESTAMP},
    {"timestamptz", LC_TYPE_TIMESTAMP_TZ},
    {"timestamp_ns", LC_TYPE_TIMESTAMP_NS},
    {"timestamptz_ns", LC_TYPE_TIMESTAMP_NS_TZ},
    {"string", LC_TYPE_STRING},
    {"uuid", LC_TYPE_UUID},
    {"binary", LC_TYPE_BINARY},
    {"unknown", LC_TYPE_NULL},
};

struct parser {
    struct lc_arena *arena;
    const struct lc_iceberg_names *names;
    size_t n_fields, cap_ids;
    int32_t *ids;       /* every one given out so far */
    const char *column; /* top-level column, for messages */
};

static void parser_done(struct parser *self)
{
    lc_free(self->ids);
}

static lcdc_status bad(const struct parser *self, lcdc_error **err, const char *what)
{
    return lc_fail(err, LC_R_SCHEMA_BAD, "column '%.200s': %s", self->column, what);
}

/* ---- types ---- */

/* The numbers of "decimal(9, 2)" and "fixed[16]"; -1 when the text is not of the form. */
static int parse_numbers(struct lc_str text, const char *word, char open, char close, int64_t out[2])
{
    struct lc_str rest = {text.p + strlen(word), text.n - strlen(word)};
    int n = 0;
    if (rest.n < 2 || rest.p[0] != open || rest.p[rest.n - 1] != close)
        return -1;
    rest = (struct lc_str){rest.p + 1, rest.n - 2};
    for (;; n++) {
        const char *comma = memchr(rest.p, ',', rest.n);
        struct lc_str number = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
        while (number.n && number.p[0] == ' ')
            number = (struct lc_str){number.p + 1, number.n - 1};
        while (number.n && number.p[number.n - 1] == ' ')
            number.n--;
        if (n == 2 || !lc_parse_i64(number, &out[n]))
            return -1;
        if (!comma)
            return n + 1;
        rest = (struct lc_str){comma + 1, rest.n - (size_t)(comma + 1 - rest.p)};
    }
}

bool lc_iceberg_type_parse(struct lc_str text, struct lc_type *out)
{
    int64_t numbers[2];
    for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++)
        if (lc_str_is(text, primitives[i].name)) {
            *out = (struct lc_type){.kind = primitives[i].kind};
            return true;
        }
    if (lc_str_starts(text, "decimal") && parse_numbers(text, "decimal", '(', ')', numbers) == 2) {
        *out = (struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = (int)numbers[0], .scale = (int)numbers[1]};
        return numbers[0] >= 1 && numbers[0] <= 38 && numbers[1] >= 0 && numbers[1] <= numbers[0];
    }
    if (lc_str_starts(text, "fixed") && parse_numbers(text, "fixed", '[', ']', numbers) == 1) {
        *out = (struct lc_type){.kind = LC_TYPE_FIXED, .length = (int)numbers[0]};
        return numbers[0] >= 1 && numbers[0] <= MAX_FIXED;
    }
    return false;
}

static lcdc_status variant(struct parser *self, struct lc_field *out, lcdc_error **err)
{
    static const char *const parts[2] = {"metadata", "value"};
    out->type.kind = LC_TYPE_STRUCT;
    out->is_variant = true;
    out->n_children = 2;
    out->children = lc_arena_array(self->arena, 2, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    for (int i = 0; i < 2; i++)
        out->children[i] = (struct lc_field){
            .name = parts[i], .physical = parts[i], .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_BINARY}};
    return LCDC_OK;
}

static lcdc_status parse_primitive(struct parser *self, struct lc_str text, struct lc_field *out, lcdc_error **err)
{
    if (lc_str_is(text, "variant"))
        return variant(self, out, err);
    if (lc_iceberg_type_parse(text, &out->type))
        return LCDC_OK;
    return lc_fail(err, LC_R_TYPE_UNSUPPORTED, "column '%.200s' is of type '%.*s', which cannot be read", self->column,
                   LC_STR_ARG(text));
}

/* ---- defaults (spec, "JSON single-value serialization") ---- */

static bool parse_hex(struct lc_str text, struct lc_arena *arena, struct lc_str *out)
{
    static const char digits[] = "0123456789abcdef";
    char *bytes = lc_arena_alloc(arena, text.n / 2 + 1);
    if (!bytes || text.n % 2)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i] >= 'A' && text.p[i] <= 'F' ? (char)(text.p[i] | 0x20) : text.p[i];
        const char *digit = c ? strchr(digits, c) : NULL;
        if (!digit)
            return false;
        bytes[i / 2] = (char)((unsigned char)bytes[i / 2] << 4 | (unsigned)(digit - digits));
    }
    *out = (struct lc_str){bytes, text.n / 2};
    return true;
}

static bool default_from_text(struct lc_str text, struct lc_type type, struct lc_arena *arena, struct lc_value *out)
{
    *out = (struct lc_value){.type = type};
    if (type.kind == LC_TYPE_BINARY || type.kind == LC_TYPE_FIXED)
        return parse_hex(text, arena, &out->str) && (type.kind == LC_TYPE_BINARY || out->str.n == (size_t)type.length);
    return lc_value_parse(type, text, arena, out);
}

static bool default_value(const struct json_t *json, struct lc_type type, struct lc_arena *arena, struct lc_value *out)
{
    struct lc_value number = {.type = {.kind = LC_TYPE_INT64}};
    struct lc_str text;
    bool flag;
    if (lc_json_str(json, &text))
        return default_from_text(text, type, arena, out);
    if (lc_json_bool(json, &flag)) {
        *out = (struct lc_value){.type = type, .b = flag};
        return type.kind == LC_TYPE_BOOL;
    }
    if (lc_json_i64(json, &number.i) && (type.kind == LC_TYPE_INT32 || type.kind == LC_TYPE_INT64))
        return lc_value_cast(&number, type, out);
    *out = (struct lc_value){.type = type};
    if ((type.kind != LC_TYPE_FLOAT && type.kind != LC_TYPE_DOUBLE) || !lc_json_f64(json, &out->f))
        return false;
    out->f = type.kind == LC_TYPE_FLOAT ? (double)(float)out->f : out->f;
    return true;
}

static lcdc_status parse_default(struct parser *self, const struct json_t *json, struct lc_field *out, lcdc_error **err)
{
    const struct json_t *given = lc_json_member(json, "initial-default");
    struct lc_value *value = lc_arena_alloc(self->arena, sizeof(*value));
    LC_TRY_ALLOC(value);
    if (!given)
        return LCDC_OK;
    if (lc_type_is_nested(out->type.kind))
        return lc_fail(err, LC_R_TYPE_UNSUPPORTED,
                       "column '%.200s' has an initial default for a nested type, which cannot be read", self->column);
    if (!default_value(given, out->type, self->arena, value))
        return lc_fail(err, LC_R_SCHEMA_BAD, "column '%.200s': the initial default of field %d is no %s", self->column,
                       (int)out->id, lc_type_word(out->type.kind));
    out->initial_default = lc_value_dup(self->arena, value);
    LC_TRY_ALLOC(out->initial_default);
    return LCDC_OK;
}

/* ---- names that files without ids use ---- */

/* Entries nest like the schema, but their place says nothing that the id does not. */
static size_t count_names(const struct json_t *mapping, int depth)
{
    size_t n = lc_json_count(mapping);
    for (size_t i = 0; i < lc_json_count(mapping) && depth < LC_MAX_DEPTH; i++)
        n += count_names(lc_json_member(lc_json_at(mapping, i), "fields"), depth + 1);
    return n;
}

static void collect_names(const struct json_t *mapping, int depth, struct lc_iceberg_names *out)
{
    for (size_t i = 0; i < lc_json_count(mapping); i++) {
        const struct json_t *entry = lc_json_at(mapping, i);
        struct lc_iceberg_name *name = &out->items[out->n];
        if (lc_json_get_i64(entry, "field-id", &name->id)) {
            name->names = lc_json_member(entry, "names");
            out->n++;
        }
        if (depth < LC_MAX_DEPTH)
            collect_names(lc_json_member(entry, "fields"), depth + 1, out);
    }
}

static int compare_name_ids(const void *a, const void *b)
{
    const struct lc_iceberg_name *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

lcdc_status lc_iceberg_names_parse(const struct json_t *mapping, struct lc_arena *arena, struct lc_iceberg_names *out,
                                   lcdc_error **err)
{
    *out = (struct lc_iceberg_names){0};
    if (!lc_json_is_array(mapping))
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "schema.name-mapping.default is no list");
    out->items = lc_arena_array(arena, count_names(mapping, 0), sizeof(*out->items));
    LC_TRY_ALLOC(out->items);
    collect_names(mapping, 0, out);
    if (out->n)
        qsort(out->items, out->n, sizeof(*out->items), compare_name_ids);
    return LCDC_OK;
}

static lcdc_status parse_aliases(struct parser *self, struct lc_field *out, lcdc_error **err)
{
    struct lc_iceberg_name key = {.id = out->id}, *found = NULL;
    if (self->names && self->names->n)
        found = bsearch(&key, self->names->items, self->names->n, sizeof(key), compare_name_ids);
    if (!found || !lc_json_is_array(found->names))
        return LCDC_OK;
    out->aliases = lc_arena_array(self->arena, lc_json_count(found->names), sizeof(*out->aliases));
    LC_TRY_ALLOC(out->aliases);
    for (size_t i = 0; i < lc_json_count(found->names); i++) {
        struct lc_str name;
        if (!lc_json_str(lc_json_at(found->names, i), &name))
            continue;
        out->aliases[out->n_aliases] = lc_arena_strndup(self->arena, name.p, name.n);
        LC_TRY_ALLOC(out->aliases[out->n_aliases]);
        out->n_aliases++;
    }
    return LCDC_OK;
}

/* ---- fields ---- */

static lcdc_status take_id(struct parser *self, const struct json_t *json, const char *key, struct lc_field *out,
                           lcdc_error **err)
{
    int64_t id;
    if (!lc_json_get_i64(json, key, &id) || id < 0 || id >= LC_ICEBERG_FIRST_RESERVED_ID)
        return lc_fail(err, LC_R_SCHEMA_BAD, "column '%.200s': a field has no %s from 0 to %d", self->column, key,
                       LC_ICEBERG_FIRST_RESERVED_ID - 1);
    if (self->n_fields == LC_MAX_FIELDS)
        return bad(self, err, "the schema has too many fields");
    if (self->n_fields == self->cap_ids) {
        size_t cap = self->cap_ids ? self->cap_ids * 2 : 64;
        int32_t *ids = lc_realloc(self->ids, cap, sizeof(*ids));
        LC_TRY_ALLOC(ids);
        self->ids = ids;
        self->cap_ids = cap;
    }
    out->id = self->ids[self->n_fields++] = (int32_t)id;
    return LCDC_OK;
}

static lcdc_status parse_type(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                              lcdc_error **err);

static lcdc_status parse_field(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                               lcdc_error **err)
{
    struct lc_str name;
    bool required = false;
    *out = (struct lc_field){.id = LC_NO_ID};
    if (!lc_json_get_str(json, "name", &name) || memchr(name.p, 0, name.n))
        return bad(self, err, "a field has no name");
    out->name = out->physical = lc_arena_strndup(self->arena, name.p, name.n);
    LC_TRY_ALLOC(out->name);
    if (depth == 1)
        self->column = out->name;
    LC_TRY(take_id(self, json, "id", out, err));
    (void)lc_json_get_bool(json, "required", &required);
    out->nullable = !required;
    LC_TRY(parse_type(self, lc_json_member(json, "type"), depth, out, err));
    LC_TRY(parse_default(self, json, out, err));
    return parse_aliases(self, out, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lcdc_status check_names(const struct parser *self, const struct lc_field *parent, lcdc_error **err)
{
    LC_FREE const char **names = lc_calloc(parent->n_children, sizeof(*names));
    LC_TRY_ALLOC(names);
    for (size_t i = 0; i < parent->n_children; i++)
        names[i] = parent->children[i].name;
    if (parent->n_children)
        qsort(names, parent->n_children, sizeof(*names), compare_names);
    for (size_t i = 1; i < parent->n_children; i++)
        if (strcmp(names[i], names[i - 1]) == 0)
            return lc_fail(err, LC_R_SCHEMA_BAD, "column '%.200s': the name '%.200s' occurs twice side by side",
                           self->column, names[i]);
    return LCDC_OK;
}

static lcdc_status parse_struct(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                                lcdc_error **err)
{
    const struct json_t *fields = lc_json_member(json, "fields");
    if (!lc_json_is_array(fields))
        return bad(self, err, "a struct has no list of fields");
    out->type.kind = LC_TYPE_STRUCT;
    out->n_children = lc_json_count(fields);
    if (out->n_children > LC_MAX_FIELDS)
        return bad(self, err, "the schema has too many fields");
    out->children = lc_arena_array(self->arena, out->n_children, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    for (size_t i = 0; i < out->n_children; i++)
        LC_TRY(parse_field(self, lc_json_at(fields, i), depth + 1, &out->children[i], err));
    return check_names(self, out, err);
}

/* A list's element, a map's key or value: "element-id", "element", "element-required". */
static lcdc_status parse_part(struct parser *self, const struct json_t *json, const char *name, int depth,
                              struct lc_field *out, lcdc_error **err)
{
    struct lc_buf key;
    bool required = false;
    lc_buf_init(&key, 64);
    *out = (struct lc_field){.name = name, .physical = name, .id = LC_NO_ID};
    lc_buf_printf(&key, "%s-id", name);
    LC_FREE char *id = lc_buf_take(&key);
    lc_buf_init(&key, 64);
    lc_buf_printf(&key, "%s-required", name);
    LC_FREE char *needed = lc_buf_take(&key);
    LC_TRY_ALLOC(id && needed);
    LC_TRY(take_id(self, json, id, out, err));
    (void)lc_json_get_bool(json, needed, &required);
    out->nullable = !required && strcmp(name, "key") != 0;
    LC_TRY(parse_type(self, lc_json_member(json, name), depth + 1, out, err));
    return parse_aliases(self, out, err);
}

static lcdc_status parse_type(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                              lcdc_error **err)
{
    struct lc_str word;
    if (depth > LC_MAX_DEPTH)
        return bad(self, err, "the schema is nested too deeply");
    if (lc_json_str(json, &word))
        return parse_primitive(self, word, out, err);
    if (!lc_json_get_str(json, "type", &word))
        return bad(self, err, "a type is missing");
    if (lc_str_is(word, "struct"))
        return parse_struct(self, json, depth, out, err);
    bool is_map = lc_str_is(word, "map");
    if (!is_map && !lc_str_is(word, "list"))
        return lc_fail(err, LC_R_TYPE_UNSUPPORTED, "column '%.200s' has a part of type '%.*s', which cannot be read",
                       self->column, LC_STR_ARG(word));
    out->type.kind = is_map ? LC_TYPE_MAP : LC_TYPE_LIST;
    out->n_children = is_map ? 2 : 1;
    out->children = lc_arena_array(self->arena, out->n_children, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    if (!is_map)
        return parse_part(self, json, "element", depth, &out->children[0], err);
    LC_TRY(parse_part(self, json, "key", depth, &out->children[0], err));
    return parse_part(self, json, "value", depth, &out->children[1], err);
}

static int compare_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

lcdc_status lc_iceberg_schema_parse(const struct json_t *json, const struct lc_iceberg_names *names,
                                    struct lc_arena *arena, struct lc_field *out, lcdc_error **err)
{
    LC_CLEANUP(parser_done) struct parser parser = {.arena = arena, .names = names, .column = ""};
    *out = (struct lc_field){.name = "", .physical = "", .id = LC_NO_ID};
    LC_TRY(parse_struct(&parser, json, 0, out, err));
    if (parser.n_fields)
        qsort(parser.ids, parser.n_fields, sizeof(*parser.ids), compare_ids);
    for (size_t i = 1; i < parser.n_fields; i++)
        if (parser.ids[i] == parser.ids[i - 1])
            return lc_fail(err, LC_R_SCHEMA_BAD, "the schema gives field id %" PRId32 " twice", parser.ids[i]);
    return LCDC_OK;
}

static const struct lc_field *find_below(const struct lc_field *parent, int32_t id)
{
    for (size_t i = 0; i < parent->n_children; i++) {
        const struct lc_field *child = &parent->children[i];
        const struct lc_field *found = child->id == id ? child : find_below(child, id);
        if (found)
            return found;
    }
    return NULL;
}

const struct lc_field *lc_iceberg_field_find(const struct lc_field *root, int32_t id, const struct lc_field **out_top)
{
    for (size_t i = 0; i < root->n_children; i++) {
        const struct lc_field *top = &root->children[i];
        const struct lc_field *found = top->id == id ? top : find_below(top, id);
        if (found) {
            if (out_top)
                *out_top = top;
            return found;
        }
    }
    return NULL;
}
