/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_schema.c - Arrow schemas from fields and back, by the formats of types.def.
 *
 * Each node owns one block with everything that it points to, so that a child can be moved out of its parent.
 */
#include "base/arrow_parts.h"

#include <string.h>

enum { MAX_METADATA = 1 << 20 };

static const char *const formats[] = {
#define LC_TYPE(id, word, format, width) format,
#include "base/types.def"
#undef LC_TYPE
};

/* ---- ownership ---- */

void lc_schema_release(struct ArrowSchema *schema)
{
    if (schema->release)
        schema->release(schema);
    *schema = (struct ArrowSchema){0};
}

void lc_schema_move(struct ArrowSchema *from, struct ArrowSchema *to)
{
    struct ArrowSchema moved = *from;
    *from = (struct ArrowSchema){0};
    *to = moved;
}

static void release_node(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    lc_free(schema->private_data);
    schema->release = NULL;
}

static char *put(char **at, const void *bytes, size_t n)
{
    char *start = *at;
    memcpy(start, bytes, n);
    *at += n;
    return start;
}

/* A node whose children are still to be made. The block: children, pointers to them, the texts. */
static bool init_node(struct ArrowSchema *out, struct lc_str format, struct lc_str name, struct lc_str metadata,
                      int64_t flags, size_t n_children)
{
    struct ArrowSchema *children;
    struct ArrowSchema **pointers;
    size_t fixed = n_children * (sizeof(*children) + sizeof(struct ArrowSchema *));
    void *block = lc_calloc(fixed + format.n + 1 + name.n + 1 + metadata.n, 1);
    if (!block)
        return false;
    children = block;
    pointers = (struct ArrowSchema **)(children + n_children);
    for (size_t i = 0; i < n_children; i++)
        pointers[i] = &children[i];
    char *at = (char *)block + fixed;
    *out = (struct ArrowSchema){.flags = flags,
                                .n_children = (int64_t)n_children,
                                .children = n_children ? pointers : NULL,
                                .release = release_node,
                                .private_data = block};
    out->format = put(&at, format.p, format.n);
    at++;
    out->name = put(&at, name.p, name.n);
    at++;
    out->metadata = metadata.n ? put(&at, metadata.p, metadata.n) : NULL;
    return true;
}

/* ---- fields to schema ---- */

static void append_format(struct lc_buf *buf, struct lc_type type)
{
    if (type.kind == LC_TYPE_DECIMAL)
        lc_buf_printf(buf, "d:%d,%d", type.precision, type.scale);
    else if (type.kind == LC_TYPE_FIXED)
        lc_buf_printf(buf, "w:%d", type.length);
    else
        lc_buf_text(buf, formats[type.kind]);
}

static bool start_node(struct ArrowSchema *out, struct lc_type type, const char *name, int64_t flags, size_t n_children)
{
    LC_BUF struct lc_buf format;
    lc_buf_init(&format, 64);
    append_format(&format, type);
    return !format.failed && init_node(out, (struct lc_str){format.p, format.n}, lc_str_of(name ? name : ""),
                                       (struct lc_str){0}, flags, n_children);
}

static lcdc_status from_field(const struct lc_field *field, const char *name, int64_t flags, int depth,
                              struct ArrowSchema *out, lcdc_error **err);

/* Arrow's map is a list of structs, of which neither the struct nor the key may be null. */
static lcdc_status add_children(const struct lc_field *field, int depth, struct ArrowSchema *parent, lcdc_error **err)
{
    bool is_map = field->type.kind == LC_TYPE_MAP, is_list = field->type.kind == LC_TYPE_LIST;
    if ((is_map && field->n_children != 2) || (is_list && field->n_children != 1))
        return lc_fail(err, LC_R_INTERNAL, "a list or map type with %zu children", field->n_children);
    if (is_map) {
        parent = parent->children[0];
        if (!start_node(parent, (struct lc_type){.kind = LC_TYPE_STRUCT}, "key_value", 0, 2))
            return lc_fail_oom(err);
    }
    for (size_t i = 0; i < field->n_children; i++) {
        const struct lc_field *child = &field->children[i];
        const char *name = is_list ? "element" : !is_map ? child->name : i == 0 ? "key" : "value";
        LC_TRY(
            from_field(child, name, is_map && i == 0 ? 0 : ARROW_FLAG_NULLABLE, depth + 1, parent->children[i], err));
    }
    return LCDC_OK;
}

static lcdc_status from_field(const struct lc_field *field, const char *name, int64_t flags, int depth,
                              struct ArrowSchema *out, lcdc_error **err)
{
    LC_SCHEMA struct ArrowSchema made = {0};
    if (depth > LC_MAX_DEPTH || field->n_children > LC_MAX_FIELDS)
        return lc_fail(err, LC_R_SCHEMA_BAD, "column types are nested deeper than %d levels or wider than %d fields",
                       LC_MAX_DEPTH, LC_MAX_FIELDS);
    if (!start_node(&made, field->type, name, flags, lc_arrow_children(field)))
        return lc_fail_oom(err);
    LC_TRY(add_children(field, depth, &made, err));
    lc_schema_move(&made, out);
    return LCDC_OK;
}

lcdc_status lc_schema_from_field(const struct lc_field *field, struct ArrowSchema *out, lcdc_error **err)
{
    return from_field(field, field->name, ARROW_FLAG_NULLABLE, 0, out, err);
}

/* ---- metadata ---- */

/*
 * Arrow packs metadata as a count, then each key and value with its length before it, all int32. Finds the value of a
 * key (left alone when absent) and the size of the whole; false when the lengths make no sense.
 */
static bool scan_metadata(const char *metadata, const char *wanted, struct lc_str *value, size_t *size)
{
    size_t at = 4;
    int32_t n = metadata ? lc_load_i32(metadata, 0) : 0;
    for (int32_t i = 0; i < n; i++) {
        struct lc_str pair[2];
        for (int j = 0; j < 2; j++) {
            int32_t length = lc_load_i32(metadata + at, 0);
            if (length < 0 || (size_t)length > MAX_METADATA || at > MAX_METADATA)
                return false;
            pair[j] = (struct lc_str){metadata + at + 4, (size_t)length};
            at += 4 + (size_t)length;
        }
        if (lc_str_is(pair[0], wanted))
            *value = pair[1];
    }
    *size = metadata ? at : 0;
    return n >= 0;
}

static lcdc_status fail_metadata(lcdc_error **err, const struct ArrowSchema *schema)
{
    return lc_fail(err, LC_R_ARROW_BAD, "metadata of arrow field \"%.200s\" is damaged",
                   schema->name ? schema->name : "");
}

/* ---- copy ---- */

static lcdc_status check_node(const struct ArrowSchema *schema, int depth, lcdc_error **err)
{
    const char *name = schema->name ? schema->name : "";
    if (depth > 2 * LC_MAX_DEPTH)
        return lc_fail(err, LC_R_SCHEMA_BAD, "an arrow schema is nested deeper than %d levels", 2 * LC_MAX_DEPTH);
    if (!schema->release || !schema->format || schema->n_children < 0 || (schema->n_children > 0 && !schema->children))
        return lc_fail(err, LC_R_ARROW_BAD, "arrow field \"%.200s\" is released or has no format or children", name);
    if (schema->n_children > LC_MAX_FIELDS)
        return lc_fail(err, LC_R_SCHEMA_BAD, "arrow field \"%.200s\" has more than %d children", name, LC_MAX_FIELDS);
    for (int64_t i = 0; i < schema->n_children; i++)
        if (!schema->children[i])
            return lc_fail(err, LC_R_ARROW_BAD, "arrow field \"%.200s\" lacks child %d", name, (int)i);
    if (schema->dictionary)
        return lc_fail(err, LC_R_TYPE_UNSUPPORTED, "arrow field \"%.200s\" is dictionary-encoded; decode it first",
                       name);
    return LCDC_OK;
}

static lcdc_status copy_schema(const struct ArrowSchema *from, int depth, struct ArrowSchema *out, lcdc_error **err)
{
    LC_SCHEMA struct ArrowSchema made = {0};
    struct lc_str metadata = {from->metadata, 0}, none;
    LC_TRY(check_node(from, depth, err));
    if (!scan_metadata(from->metadata, "", &none, &metadata.n))
        return fail_metadata(err, from);
    if (!init_node(&made, lc_str_of(from->format), lc_str_of(from->name ? from->name : ""), metadata, from->flags,
                   (size_t)from->n_children))
        return lc_fail_oom(err);
    for (int64_t i = 0; i < from->n_children; i++)
        LC_TRY(copy_schema(from->children[i], depth + 1, made.children[i], err));
    lc_schema_move(&made, out);
    return LCDC_OK;
}

lcdc_status lc_schema_copy(const struct ArrowSchema *from, struct ArrowSchema *out, lcdc_error **err)
{
    return copy_schema(from, 0, out, err);
}

/* ---- schema to fields ---- */

struct reading {
    struct lc_arena *arena;
    size_t n_fields;
};

/* "d:p,s" and "w:n"; a decimal's third number is its width in bits. */
static bool parse_parameters(const char *format, struct lc_type *out)
{
    int64_t numbers[3] = {0, 0, 128};
    size_t n = 0;
    struct lc_str rest = lc_str_of(format + 2);
    for (bool more = true; more;) {
        const char *comma = rest.n ? memchr(rest.p, ',', rest.n) : NULL;
        struct lc_str part = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
        if (n == 3 || !lc_parse_i64(part, &numbers[n++]) || numbers[n - 1] < 0 || numbers[n - 1] > INT32_MAX)
            return false;
        more = comma != NULL;
        if (more)
            rest = (struct lc_str){comma + 1, rest.n - part.n - 1};
    }
    if (format[0] == 'w') {
        *out = (struct lc_type){.kind = LC_TYPE_FIXED, .length = (int)numbers[0]};
        return n == 1 && numbers[0] > 0;
    }
    *out = (struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = (int)numbers[0], .scale = (int)numbers[1]};
    return n >= 2 && numbers[0] >= 1 && numbers[0] <= 38 && numbers[1] <= numbers[0] && numbers[2] == 128;
}

static bool parse_format(const char *format, struct lc_str extension, struct lc_type *out)
{
    if (strncmp(format, "d:", 2) == 0)
        return parse_parameters(format, out);
    if (strncmp(format, "w:", 2) == 0 && !(strcmp(format, "w:16") == 0 && lc_str_is(extension, "arrow.uuid")))
        return parse_parameters(format, out);
    for (size_t i = 0; i < LC_TYPE_COUNT; i++)
        if (formats[i][0] && strcmp(format, formats[i]) == 0) {
            *out = (struct lc_type){.kind = (enum lc_type_kind)i};
            return true;
        }
    return false;
}

static lcdc_status to_field(struct reading *reading, const struct ArrowSchema *schema, int depth, struct lc_field *out,
                            lcdc_error **err);

static lcdc_status to_children(struct reading *reading, const struct ArrowSchema *schema, int depth,
                               struct lc_field *out, lcdc_error **err)
{
    enum lc_type_kind kind = out->type.kind;
    int64_t wanted = kind == LC_TYPE_STRUCT ? schema->n_children : kind == LC_TYPE_LIST || kind == LC_TYPE_MAP;
    if (schema->n_children == wanted && kind == LC_TYPE_MAP) {
        schema = schema->children[0];
        LC_TRY(check_node(schema, depth, err));
        wanted = strcmp(schema->format, "+s") == 0 ? 2 : -1;
    }
    if (schema->n_children != wanted)
        return lc_fail(err, LC_R_ARROW_BAD, "arrow field \"%.200s\" has other children than a %s has", out->name,
                       lc_type_word(kind));
    out->n_children = (size_t)wanted;
    reading->n_fields += out->n_children;
    if (reading->n_fields > LC_MAX_FIELDS)
        return lc_fail(err, LC_R_SCHEMA_BAD, "an arrow schema has more than %d fields", LC_MAX_FIELDS);
    out->children = lc_arena_array(reading->arena, out->n_children, sizeof(*out->children));
    LC_TRY_ALLOC(out->children);
    for (size_t i = 0; i < out->n_children; i++)
        LC_TRY(to_field(reading, schema->children[i], depth + 1, &out->children[i], err));
    return LCDC_OK;
}

static lcdc_status to_field(struct reading *reading, const struct ArrowSchema *schema, int depth, struct lc_field *out,
                            lcdc_error **err)
{
    struct lc_str id_text = {0}, extension = {0};
    const char *name = schema->name ? schema->name : "";
    size_t size;
    int64_t id;
    if (depth > LC_MAX_DEPTH)
        return lc_fail(err, LC_R_SCHEMA_BAD, "an arrow schema is nested deeper than %d levels", LC_MAX_DEPTH);
    LC_TRY(check_node(schema, depth, err));
    if (!scan_metadata(schema->metadata, "PARQUET:field_id", &id_text, &size) ||
        !scan_metadata(schema->metadata, "ARROW:extension:name", &extension, &size))
        return fail_metadata(err, schema);
    if (!lc_utf8_valid(lc_str_of(name)))
        return lc_fail(err, LC_R_ARROW_BAD, "name \"%.200s\" of an arrow field is not utf-8", name);
    bool has_id = lc_parse_i64(id_text, &id) && id >= 0 && id <= INT32_MAX;
    *out = (struct lc_field){.id = has_id ? (int32_t)id : LC_NO_ID, .nullable = schema->flags & ARROW_FLAG_NULLABLE};
    if (!parse_format(schema->format, extension, &out->type))
        return lc_fail(err, LC_R_TYPE_UNSUPPORTED,
                       "arrow field \"%.200s\" has the layout \"%.40s\", which is not one of lakecdc's", name,
                       schema->format);
    out->name = out->physical = lc_arena_strdup(reading->arena, name);
    LC_TRY_ALLOC(out->name);
    return to_children(reading, schema, depth, out, err);
}

lcdc_status lc_field_from_schema(const struct ArrowSchema *schema, struct lc_arena *arena, struct lc_field *out,
                                 lcdc_error **err)
{
    struct reading reading = {.arena = arena};
    struct lc_field made;
    LC_TRY(to_field(&reading, schema, 0, &made, err));
    *out = made;
    return LCDC_OK;
}
