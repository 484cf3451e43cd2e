/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/schema.h"

#include <string.h>

#include "base/value.h"

static const struct {
    const char *name;
    enum lc_type_kind kind;
} primitives[] = {
    {"string", LC_TYPE_STRING},
    {"long", LC_TYPE_INT64},
    {"integer", LC_TYPE_INT32},
    {"short", LC_TYPE_INT16},
    {"byte", LC_TYPE_INT8},
    {"float", LC_TYPE_FLOAT},
    {"double", LC_TYPE_DOUBLE},
    {"boolean", LC_TYPE_BOOL},
    {"binary", LC_TYPE_BINARY},
    {"date", LC_TYPE_DATE},
    {"timestamp", LC_TYPE_TIMESTAMP_TZ},
    {"timestamp_ntz", LC_TYPE_TIMESTAMP},
    {"void", LC_TYPE_NULL},
    {"null", LC_TYPE_NULL},
};

struct parser {
    struct lc_arena *arena;
    bool mapped; /* column mapping is on: names in files come from the fields' metadata */
    size_t n_fields;
    const char *column; /* top-level column, for messages */
};

static lcdc_status bad(const struct parser *self, lcdc_error **err, const char *what)
{
    return lc_fail(err, LC_R_SCHEMA_BAD, "schemaString, column '%s': %s", self->column, what);
}

static lcdc_status parse_type(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                              lcdc_error **err);

/* "decimal(10,2)" */
static bool parse_decimal(struct lc_str name, struct lc_type *out)
{
    int64_t precision, scale;
    if (!lc_str_starts(name, "decimal(") || !lc_str_ends(name, ")"))
        return false;
    struct lc_str inside = {name.p + 8, name.n - 9};
    const char *comma = memchr(inside.p, ',', inside.n);
    struct lc_str left = comma ? (struct lc_str){inside.p, (size_t)(comma - inside.p)} : inside;
    struct lc_str right = comma ? (struct lc_str){comma + 1, inside.n - left.n - 1} : LC_STR("0");
    while (right.n && right.p[0] == ' ')
        right = (struct lc_str){right.p + 1, right.n - 1};
    if (!lc_parse_i64(left, &precision) || !lc_parse_i64(right, &scale) || precision < 1 || precision > 38 ||
        scale < 0 || scale > precision)
        return false;
    *out = (struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = (int)precision, .scale = (int)scale};
    return true;
}

static bool parse_primitive_name(struct lc_str name, struct lc_type *out)
{
    for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++)
        if (lc_str_is(name, primitives[i].name)) {
            *out = (struct lc_type){.kind = primitives[i].kind};
            return true;
        }
    if (lc_str_is(name, "decimal")) {
        *out = (struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = 10};
        return true;
    }
    if (lc_str_starts(name, "varchar(") || lc_str_starts(name, "char(")) {
        *out = (struct lc_type){.kind = LC_TYPE_STRING};
        return true;
    }
    return parse_decimal(name, out);
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

static lcdc_status parse_primitive(struct parser *self, struct lc_str name, struct lc_field *out, lcdc_error **err)
{
    if (lc_str_is(name, "variant"))
        return variant(self, out, err);
    if (parse_primitive_name(name, &out->type))
        return LCDC_OK;
    return lc_fail(err, LC_R_TYPE_UNSUPPORTED, "column '%s' is of type '%.*s', which cannot be read", self->column,
                   LC_STR_ARG(name));
}

/* ---- type changes ---- */

static bool is_integer(enum lc_type_kind kind)
{
    return kind >= LC_TYPE_INT8 && kind <= LC_TYPE_INT64;
}

/* The widenings of the protocol ("Type Widening"); readers must fail on any other that is listed. */
static bool is_known_widening(struct lc_type from, struct lc_type to)
{
    if (is_integer(from.kind) && is_integer(to.kind))
        return from.kind < to.kind;
    if (to.kind == LC_TYPE_DOUBLE)
        return from.kind == LC_TYPE_FLOAT || (is_integer(from.kind) && from.kind <= LC_TYPE_INT32);
    if (from.kind == LC_TYPE_DATE)
        return to.kind == LC_TYPE_TIMESTAMP;
    if (to.kind != LC_TYPE_DECIMAL)
        return false;
    if (from.kind == LC_TYPE_DECIMAL)
        return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale;
    int digits = from.kind == LC_TYPE_INT64 ? 20 : 10;
    return is_integer(from.kind) && to.precision - to.scale >= digits;
}

static lcdc_status check_type_changes(struct parser *self, const struct json_t *metadata, lcdc_error **err)
{
    const struct json_t *changes = lc_json_member(metadata, "delta.typeChanges");
    for (size_t i = 0; i < lc_json_count(changes); i++) {
        const struct json_t *change = lc_json_at(changes, i);
        struct lc_str from_name = {"", 0}, to_name = {"", 0};
        struct lc_type from, to;
        (void)lc_json_get_str(change, "fromType", &from_name);
        (void)lc_json_get_str(change, "toType", &to_name);
        if (!parse_primitive_name(from_name, &from) || !parse_primitive_name(to_name, &to) ||
            !is_known_widening(from, to))
            return lc_fail(err, LC_R_DELTA_FEATURE,
                           "column '%s' was changed from '%.*s' to '%.*s', which is not a widening that is known",
                           self->column, LC_STR_ARG(from_name), LC_STR_ARG(to_name));
    }
    return LCDC_OK;
}

/* ---- fields ---- */

static lcdc_status parse_mapping(struct parser *self, const struct json_t *metadata, struct lc_field *out,
                                 lcdc_error **err)
{
    struct lc_str physical;
    int64_t id;
    if (!self->mapped)
        return LCDC_OK;
    if (!lc_json_get_str(metadata, "delta.columnMapping.physicalName", &physical) || physical.n == 0)
        return bad(self, err, "column mapping is on and a field has no physical name");
    out->physical = lc_arena_strndup(self->arena, physical.p, physical.n);
    LC_TRY_ALLOC(out->physical);
    if (lc_json_get_i64(metadata, "delta.columnMapping.id", &id)) {
        if (id < 0 || id > INT32_MAX)
            return bad(self, err, "a column id is out of range");
        out->id = (int32_t)id;
    }
    return LCDC_OK;
}

static lcdc_status parse_field(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                               lcdc_error **err)
{
    struct lc_str name;
    *out = (struct lc_field){.id = LC_NO_ID, .nullable = true};
    if (!lc_json_get_str(json, "name", &name) || memchr(name.p, 0, name.n))
        return bad(self, err, "a field has no name");
    out->name = out->physical = lc_arena_strndup(self->arena, name.p, name.n);
    LC_TRY_ALLOC(out->name);
    if (depth == 1)
        self->column = out->name;
    if (++self->n_fields > LC_MAX_FIELDS)
        return bad(self, err, "the schema has too many fields");
    (void)lc_json_get_bool(json, "nullable", &out->nullable);
    const struct json_t *metadata = lc_json_member(json, "metadata");
    LC_TRY(parse_mapping(self, metadata, out, err));
    LC_TRY(check_type_changes(self, metadata, err));
    return parse_type(self, lc_json_member(json, "type"), depth, out, err);
}

static lcdc_status parse_struct(struct parser *self, const struct json_t *json, int depth, struct lc_field *out,
                                lcdc_error **err)
{
    const struct json_t *fields = lc_json_member(json, "fields");
    if (!lc_json_is_array(fields))
        return bad(self, err, "a struct has no list of fields");
    out->type.kind = LC_TYPE_STRUCT;
    out->n_children = lc_json_count(fields);
    out->children = lc_arena_array(self->arena, out->n_children, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    for (size_t i = 0; i < out->n_children; i++)
        LC_TRY(parse_field(self, lc_json_at(fields, i), depth + 1, &out->children[i], err));
    return LCDC_OK;
}

static lcdc_status parse_element(struct parser *self, const struct json_t *type, const char *name, int depth,
                                 struct lc_field *out, lcdc_error **err)
{
    *out = (struct lc_field){.name = name, .physical = name, .id = LC_NO_ID, .nullable = true};
    return parse_type(self, type, depth + 1, out, err);
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
    if (!is_map && !lc_str_is(word, "array"))
        return lc_fail(err, LC_R_TYPE_UNSUPPORTED, "column '%s' has a part of type '%.*s', which cannot be read",
                       self->column, LC_STR_ARG(word));
    out->type.kind = is_map ? LC_TYPE_MAP : LC_TYPE_LIST;
    out->n_children = is_map ? 2 : 1;
    out->children = lc_arena_array(self->arena, out->n_children, sizeof(struct lc_field));
    LC_TRY_ALLOC(out->children);
    if (!is_map)
        return parse_element(self, lc_json_member(json, "elementType"), "element", depth, &out->children[0], err);
    LC_TRY(parse_element(self, lc_json_member(json, "keyType"), "key", depth, &out->children[0], err));
    return parse_element(self, lc_json_member(json, "valueType"), "value", depth, &out->children[1], err);
}

lcdc_status lc_delta_schema_parse(const struct lc_delta_metadata *metadata, struct lc_arena *arena,
                                  struct lc_field *out, enum lc_match *match, lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    struct lc_str mode = lc_delta_configuration(metadata, "delta.columnMapping.mode"), word;
    bool by_id = lc_str_is_nocase(mode, "id"), by_name = lc_str_is_nocase(mode, "name");
    if (mode.n && !by_id && !by_name && !lc_str_is_nocase(mode, "none"))
        return lc_fail(err, LC_R_DELTA_FEATURE, "column mapping mode '%.*s' is not known, expected none, name or id",
                       LC_STR_ARG(mode));
    struct parser parser = {.arena = arena, .mapped = by_id || by_name, .column = ""};
    if (lc_json_parse(metadata->schema, &json, err) != LCDC_OK) {
        lc_error_prefix(err, "schemaString");
        return err && *err ? lcdc_error_status(*err) : LCDC_CORRUPT;
    }
    if (!lc_json_get_str(json, "type", &word) || !lc_str_is(word, "struct"))
        return bad(&parser, err, "the root is not a struct");
    *out = (struct lc_field){.name = "", .physical = "", .id = LC_NO_ID};
    LC_TRY(parse_struct(&parser, json, 0, out, err));
    for (size_t i = 0; i < out->n_children; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(out->children[i].physical, out->children[k].physical) == 0 ||
                strcmp(out->children[i].name, out->children[k].name) == 0)
                return lc_fail(err, LC_R_SCHEMA_BAD, "schemaString names column '%s' twice", out->children[i].name);
    *match = by_id ? LC_MATCH_ID : LC_MATCH_PHYSICAL_NAME;
    return LCDC_OK;
}

/* ---- protocol ---- */

/* Reader features that are understood. catalogManaged is known and refused: see below. */
static const char *const understood[] = {
    "columnMapping", "deletionVectors",     "timestampNtz", "typeWidening",        "typeWidening-preview",
    "v2Checkpoint",  "vacuumProtocolCheck", "variantType",  "variantType-preview",
};

static bool is_understood(struct lc_str feature)
{
    for (size_t i = 0; i < sizeof(understood) / sizeof(understood[0]); i++)
        if (lc_str_is(feature, understood[i]))
            return true;
    return false;
}

lcdc_status lc_delta_protocol_check(const struct lc_delta_protocol *protocol, lcdc_error **err)
{
    if (protocol->reader_version > 3)
        return lc_fail(err, LC_R_DELTA_FEATURE, "the table needs reader version %lld, versions up to 3 are known",
                       (long long)protocol->reader_version);
    for (size_t i = 0; protocol->reader_version == 3 && i < protocol->n_reader_features; i++) {
        struct lc_str feature = protocol->reader_features[i];
        if (lc_str_starts(feature, "catalogManaged") || lc_str_starts(feature, "catalogOwned"))
            return lc_fail(err, LC_R_DELTA_CATALOG,
                           "the table is managed by a catalog (feature %.*s), which alone knows its newest commits; "
                           "read it through an engine "
                           "that asks the catalog",
                           LC_STR_ARG(feature));
        if (!is_understood(feature))
            return lc_fail(err, LC_R_DELTA_FEATURE, "the table needs reader feature '%.*s', which is not supported",
                           LC_STR_ARG(feature));
    }
    return LCDC_OK;
}
