/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avro_schema.c - the JSON text of a writer's schema as a tree of types.
 *
 * Named types (record, enum, fixed) are entered before their insides are read, so that a schema may recur. What Iceberg
 * adds is kept: field-id, element-id, key-id, value-id, and the logical types.
 */
#include <inttypes.h>
#include <string.h>

#include "io/avro_parts.h"
#include "io/json.h"

struct named {
    const struct named *next;
    struct lc_str name; /* with its namespace */
    const struct lc_avro_type *type;
};

struct parser {
    struct lc_arena *arena;
    const struct named *names; /* the newest first */
    size_t n_types;
    lcdc_error **err;
};

static lcdc_status parse_type(struct parser *p, const struct json_t *json, struct lc_str space, int depth,
                              const struct lc_avro_type **out);

static lcdc_status no_memory(struct parser *p)
{
    return lc_fail_oom(p->err);
}

static lcdc_status new_type(struct parser *p, enum lc_avro_kind kind, size_t n_children, struct lc_avro_type **out)
{
    p->n_types += 1 + n_children;
    if (n_children > LC_AVRO_MAX_TYPES || p->n_types > LC_AVRO_MAX_TYPES)
        return lc_fail(p->err, LC_R_AVRO_BAD, "the schema has more than %d types", LC_AVRO_MAX_TYPES);
    struct lc_avro_type *type = lc_arena_alloc(p->arena, sizeof(*type));
    struct lc_avro_field *children = lc_arena_array(p->arena, n_children, sizeof(*children));
    if (!type || !children)
        return no_memory(p);
    *type = (struct lc_avro_type){
        .kind = kind, .element_id = -1, .key_id = -1, .value_id = -1, .n_children = n_children, .children = children};
    for (size_t i = 0; i < n_children; i++)
        children[i].id = -1;
    *out = type;
    return LCDC_OK;
}

/* An id is a 32-bit number that is not negative; absent ones stay -1. */
static lcdc_status parse_id(struct parser *p, const struct json_t *json, const char *key, int32_t *out)
{
    int64_t id;
    if (!lc_json_member(json, key))
        return LCDC_OK;
    if (!lc_json_get_i64(json, key, &id) || id < 0 || id > INT32_MAX)
        return lc_fail(p->err, LC_R_AVRO_BAD, "a \"%s\" of the schema is no number from 0 to 2^31 - 1", key);
    *out = (int32_t)id;
    return LCDC_OK;
}

/* A logical type says how to read a value that is sound without it; one that makes no sense is left to its reader. */
static lcdc_status parse_logical(struct parser *p, const struct json_t *json, struct lc_avro_type *type)
{
    struct lc_str word;
    int64_t number;
    if (lc_json_get_str(json, "logicalType", &word)) {
        type->logical = lc_arena_strndup(p->arena, word.p, word.n);
        if (!type->logical)
            return no_memory(p);
    }
    if (lc_json_get_i64(json, "precision", &number) && number > 0 && number < 1000)
        type->precision = (int)number;
    if (lc_json_get_i64(json, "scale", &number) && number >= 0 && number < 1000)
        type->scale = (int)number;
    return LCDC_OK;
}

static bool find_primitive(struct lc_str word, enum lc_avro_kind *out)
{
    static const char *const words[] = {
        [LC_AVRO_NULL] = "null",   [LC_AVRO_BOOL] = "boolean",  [LC_AVRO_INT] = "int",     [LC_AVRO_LONG] = "long",
        [LC_AVRO_FLOAT] = "float", [LC_AVRO_DOUBLE] = "double", [LC_AVRO_BYTES] = "bytes", [LC_AVRO_STRING] = "string",
    };
    for (enum lc_avro_kind kind = LC_AVRO_NULL; kind <= LC_AVRO_STRING; kind++)
        if (lc_str_is(word, words[kind])) {
            *out = kind;
            return true;
        }
    return false;
}

/* "space.name", or the name alone when it has a dot of its own or there is no namespace. */
static lcdc_status full_name(struct parser *p, struct lc_str name, struct lc_str space, struct lc_str *out)
{
    if (space.n == 0 || memchr(name.p, '.', name.n))
        return lc_arena_str(p->arena, name, out) ? LCDC_OK : no_memory(p);
    char *text = lc_arena_alloc(p->arena, space.n + 1 + name.n + 1);
    if (!text)
        return no_memory(p);
    memcpy(text, space.p, space.n);
    text[space.n] = '.';
    memcpy(text + space.n + 1, name.p, name.n);
    *out = (struct lc_str){text, space.n + 1 + name.n};
    return LCDC_OK;
}

static const struct lc_avro_type *find_named(const struct parser *p, struct lc_str name)
{
    for (const struct named *at = p->names; at; at = at->next)
        if (lc_str_eq(at->name, name))
            return at->type;
    return NULL;
}

static lcdc_status parse_reference(struct parser *p, struct lc_str word, struct lc_str space,
                                   const struct lc_avro_type **out)
{
    enum lc_avro_kind kind;
    struct lc_avro_type *made;
    struct lc_str name;
    if (find_primitive(word, &kind)) {
        LC_TRY(new_type(p, kind, 0, &made));
        *out = made;
        return LCDC_OK;
    }
    LC_TRY(full_name(p, word, space, &name));
    const struct lc_avro_type *found = find_named(p, name);
    if (!found)
        found = find_named(p, word);
    if (!found)
        return lc_fail(p->err, LC_R_AVRO_BAD, "the schema names a type \"%.*s\" that it does not define",
                       LC_STR_ARG(word));
    *out = found;
    return LCDC_OK;
}

/* Enters a named type; `space` becomes the namespace of what lies inside it. */
static lcdc_status enter_name(struct parser *p, const struct json_t *json, const struct lc_avro_type *type,
                              struct lc_str *space)
{
    struct lc_str name;
    struct named *named = lc_arena_alloc(p->arena, sizeof(*named));
    if (!named)
        return no_memory(p);
    if (!lc_json_get_str(json, "name", &name) || name.n == 0)
        return lc_fail(p->err, LC_R_AVRO_BAD, "a record, enum or fixed of the schema has no name");
    (void)lc_json_get_str(json, "namespace", space);
    LC_TRY(full_name(p, name, *space, &named->name));
    size_t n = named->name.n;
    while (n > 0 && named->name.p[n - 1] != '.')
        n--;
    *space = (struct lc_str){named->name.p, n > 0 ? n - 1 : 0};
    named->type = type;
    named->next = p->names;
    p->names = named;
    return LCDC_OK;
}

static lcdc_status parse_record(struct parser *p, const struct json_t *json, struct lc_str space, int depth,
                                const struct lc_avro_type **out)
{
    struct lc_avro_type *type;
    const struct json_t *fields = lc_json_member(json, "fields");
    if (!lc_json_is_array(fields))
        return lc_fail(p->err, LC_R_AVRO_BAD, "a record of the schema has no array of fields");
    LC_TRY(new_type(p, LC_AVRO_RECORD, lc_json_count(fields), &type));
    LC_TRY(enter_name(p, json, type, &space));
    for (size_t i = 0; i < type->n_children; i++) {
        struct lc_avro_field *field = &type->children[i];
        const struct json_t *at = lc_json_at(fields, i);
        struct lc_str name;
        if (!lc_json_get_str(at, "name", &name))
            return lc_fail(p->err, LC_R_AVRO_BAD, "field %zu of a record of the schema has no name", i);
        field->name = lc_arena_strndup(p->arena, name.p, name.n);
        if (!field->name)
            return no_memory(p);
        LC_TRY(parse_id(p, at, "field-id", &field->id));
        LC_TRY(parse_type(p, lc_json_member(at, "type"), space, depth + 1, &field->type));
    }
    *out = type;
    return LCDC_OK;
}

static lcdc_status parse_enum(struct parser *p, const struct json_t *json, struct lc_str space,
                              const struct lc_avro_type **out)
{
    struct lc_avro_type *type;
    const struct json_t *symbols = lc_json_member(json, "symbols");
    if (!lc_json_is_array(symbols))
        return lc_fail(p->err, LC_R_AVRO_BAD, "an enum of the schema has no array of symbols");
    LC_TRY(new_type(p, LC_AVRO_ENUM, lc_json_count(symbols), &type));
    LC_TRY(enter_name(p, json, type, &space));
    for (size_t i = 0; i < type->n_children; i++) {
        struct lc_str symbol;
        if (!lc_json_str(lc_json_at(symbols, i), &symbol))
            return lc_fail(p->err, LC_R_AVRO_BAD, "a symbol of an enum of the schema is no string");
        type->children[i].name = lc_arena_strndup(p->arena, symbol.p, symbol.n);
        if (!type->children[i].name)
            return no_memory(p);
    }
    *out = type;
    return LCDC_OK;
}

static lcdc_status parse_fixed(struct parser *p, const struct json_t *json, struct lc_str space,
                               const struct lc_avro_type **out)
{
    struct lc_avro_type *type;
    int64_t size;
    LC_TRY(new_type(p, LC_AVRO_FIXED, 0, &type));
    LC_TRY(enter_name(p, json, type, &space));
    if (!lc_json_get_i64(json, "size", &size) || size < 0 || size > LC_AVRO_MAX_BLOCK)
        return lc_fail(p->err, LC_R_AVRO_BAD, "a fixed of the schema has no size from 0 to %d", LC_AVRO_MAX_BLOCK);
    type->fixed_size = (int)size;
    LC_TRY(parse_logical(p, json, type));
    *out = type;
    return LCDC_OK;
}

/* An array or a map, whose one child stands under `key`. */
static lcdc_status parse_container(struct parser *p, const struct json_t *json, enum lc_avro_kind kind,
                                   struct lc_str space, int depth, const struct lc_avro_type **out)
{
    struct lc_avro_type *type;
    LC_TRY(new_type(p, kind, 1, &type));
    LC_TRY(parse_id(p, json, "element-id", &type->element_id));
    LC_TRY(parse_id(p, json, "key-id", &type->key_id));
    LC_TRY(parse_id(p, json, "value-id", &type->value_id));
    LC_TRY(parse_logical(p, json, type));
    const struct json_t *child = lc_json_member(json, kind == LC_AVRO_ARRAY ? "items" : "values");
    LC_TRY(parse_type(p, child, space, depth + 1, &type->children[0].type));
    *out = type;
    return LCDC_OK;
}

static lcdc_status parse_union(struct parser *p, const struct json_t *json, struct lc_str space, int depth,
                               const struct lc_avro_type **out)
{
    struct lc_avro_type *type;
    LC_TRY(new_type(p, LC_AVRO_UNION, lc_json_count(json), &type));
    for (size_t i = 0; i < type->n_children; i++)
        LC_TRY(parse_type(p, lc_json_at(json, i), space, depth + 1, &type->children[i].type));
    *out = type;
    return LCDC_OK;
}

static lcdc_status parse_object(struct parser *p, const struct json_t *json, struct lc_str space, int depth,
                                const struct lc_avro_type **out)
{
    struct lc_str word;
    enum lc_avro_kind kind;
    const struct json_t *inner = lc_json_member(json, "type");
    if (!lc_json_str(inner, &word)) /* {"type": {"type": "string"}} */
        return parse_type(p, inner, space, depth + 1, out);
    if (lc_str_is(word, "record") || lc_str_is(word, "error"))
        return parse_record(p, json, space, depth, out);
    if (lc_str_is(word, "enum"))
        return parse_enum(p, json, space, out);
    if (lc_str_is(word, "fixed"))
        return parse_fixed(p, json, space, out);
    if (lc_str_is(word, "array") || lc_str_is(word, "map"))
        return parse_container(p, json, lc_str_is(word, "map") ? LC_AVRO_MAP : LC_AVRO_ARRAY, space, depth, out);
    if (!find_primitive(word, &kind))
        return parse_reference(p, word, space, out);
    struct lc_avro_type *type;
    LC_TRY(new_type(p, kind, 0, &type));
    LC_TRY(parse_logical(p, json, type));
    *out = type;
    return LCDC_OK;
}

static lcdc_status parse_type(struct parser *p, const struct json_t *json, struct lc_str space, int depth,
                              const struct lc_avro_type **out)
{
    struct lc_str word;
    if (depth > LC_AVRO_MAX_DEPTH)
        return lc_fail(p->err, LC_R_AVRO_BAD, "the schema is nested deeper than %d levels", LC_AVRO_MAX_DEPTH);
    if (lc_json_str(json, &word))
        return parse_reference(p, word, space, out);
    if (lc_json_is_array(json))
        return parse_union(p, json, space, depth, out);
    if (lc_json_is_object(json))
        return parse_object(p, json, space, depth, out);
    return lc_fail(p->err, LC_R_AVRO_BAD, "a type of the schema is neither a name nor an object nor a union");
}

lcdc_status lc_avro_parse_schema(struct lc_str text, struct lc_arena *arena, const struct lc_avro_type **out,
                                 lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    struct parser p = {.arena = arena, .err = err};
    LC_TRY(lc_json_parse(text, &json, err));
    return parse_type(&p, json, (struct lc_str){0}, 0, out);
}
