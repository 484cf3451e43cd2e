/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/yaml.h"

#include <string.h>
#include <yaml.h>

#define PARSER LC_CLEANUP(yaml_parser_delete)
#define EVENT LC_CLEANUP(yaml_event_delete)

struct reader {
    yaml_parser_t *parser;
    const char *path;
    lc_yaml_lookup lookup;
    void *context;
    struct lc_arena *arena;
    size_t nodes;
};

/* ---- events ---- */

static int line_of(yaml_mark_t mark)
{
    return (int)(mark.line < INT32_MAX ? mark.line + 1 : INT32_MAX);
}

static lcdc_status next_event(struct reader *reader, yaml_event_t *out, lcdc_error **err)
{
    const yaml_parser_t *parser = reader->parser;
    if (yaml_parser_parse(reader->parser, out))
        return LCDC_OK;
    if (parser->error == YAML_MEMORY_ERROR)
        return lc_fail_oom(err);
    return lc_fail(err, LC_R_CONFIG_SYNTAX, "%s:%d: %s%s%s", reader->path, line_of(parser->problem_mark),
                   parser->context ? parser->context : "", parser->context ? ": " : "",
                   parser->problem ? parser->problem : "this is not YAML");
}

static lcdc_status refuse(const struct reader *reader, int line, const char *what, lcdc_error **err)
{
    return lc_fail(err, LC_R_CONFIG_SYNTAX, "%s:%d: %s", reader->path, line, what);
}

static lcdc_status check_node(struct reader *reader, int line, const void *anchor, const void *tag, int depth,
                              lcdc_error **err)
{
    if (++reader->nodes > LC_YAML_MAX_NODES || depth > LC_YAML_MAX_DEPTH)
        return lc_fail(err, LC_R_LIMIT, "%s:%d: a config has at most %d values, %d levels deep", reader->path, line,
                       (int)LC_YAML_MAX_NODES, (int)LC_YAML_MAX_DEPTH);
    if (anchor)
        return refuse(reader, line, "anchors (&name) are not taken; write the value out", err);
    return tag ? refuse(reader, line, "tags (!type) are not taken", err) : LCDC_OK;
}

/* ---- texts ---- */

static bool is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

/* One ${NAME} at *at, which stands on the '$'. */
static lcdc_status expand_one(const struct reader *reader, int line, const char **at, struct lc_buf *out,
                              lcdc_error **err)
{
    const char *begin = *at + 2, *end = begin;
    while (is_name(*end, end == begin))
        end++;
    if (end == begin || *end != '}')
        return refuse(reader, line,
                      "\"${\" begins the name of an environment variable, ${NAME}; write \"$${\" for the "
                      "characters themselves",
                      err);
    LC_FREE char *name = lc_strndup(begin, (size_t)(end - begin));
    LC_TRY_ALLOC(name);
    const char *value = reader->lookup(reader->context, name);
    if (!value)
        return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: the environment variable %.100s is not set", reader->path, line,
                       name);
    if (!lc_utf8_valid(lc_str_of(value)))
        return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: the environment variable %.100s is not UTF-8", reader->path,
                       line, name);
    lc_buf_text(out, value);
    *at = end + 1;
    return LCDC_OK;
}

static lcdc_status expand(const struct reader *reader, struct lc_yaml *node, lcdc_error **err)
{
    LC_BUF struct lc_buf made = {.max = LC_YAML_MAX_BYTES};
    if (!reader->lookup || !strstr(node->spelling, "${"))
        return LCDC_OK;
    for (const char *at = node->spelling; *at;) {
        if (strncmp(at, "$${", 3) == 0) {
            lc_buf_text(&made, "${");
            at += 3;
        } else if (strncmp(at, "${", 2) == 0) {
            LC_TRY(expand_one(reader, node->line, &at, &made, err));
        } else {
            lc_buf_char(&made, *at++);
        }
    }
    LC_TRY_BUF(&made);
    node->text = lc_arena_strndup(reader->arena, made.p ? made.p : "", made.n);
    LC_TRY_ALLOC(node->text);
    return LCDC_OK;
}

lcdc_status lc_yaml_expand(struct lc_yaml *node, const char *path, lc_yaml_lookup lookup, void *context,
                           struct lc_arena *arena, lcdc_error **err)
{
    const struct reader reader = {.path = path, .lookup = lookup, .context = context, .arena = arena};
    return node->kind == LC_YAML_TEXT ? expand(&reader, node, err) : LCDC_OK;
}

static bool spells_null(const char *text)
{
    return !*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 || strcmp(text, "Null") == 0 ||
           strcmp(text, "NULL") == 0;
}

static lcdc_status copy_text(const struct reader *reader, const yaml_event_t *event, const char **out, lcdc_error **err)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t n = event->data.scalar.length;
    if (memchr(value, 0, n))
        return refuse(reader, line_of(event->start_mark), "a text holds a NUL character", err);
    *out = lc_arena_strndup(reader->arena, value, n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status read_text(const struct reader *reader, const yaml_event_t *event, struct lc_yaml *out,
                             lcdc_error **err)
{
    out->kind = LC_YAML_TEXT;
    LC_TRY(copy_text(reader, event, &out->spelling, err));
    out->text = out->spelling;
    out->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    out->is_null = out->is_plain && spells_null(out->spelling);
    return expand(reader, out, err);
}

/* ---- collections ---- */

static lcdc_status read_node(struct reader *reader, const yaml_event_t *event, int depth, struct lc_yaml *out,
                             lcdc_error **err);

/* Room for one more; old places stay in the arena, which doubling keeps small. */
static lcdc_status grow(const struct reader *reader, struct lc_yaml *node, size_t *cap, lcdc_error **err)
{
    if (node->n < *cap)
        return LCDC_OK;
    size_t wanted = *cap ? *cap * 2 : 8;
    struct lc_yaml_item *items = lc_arena_array(reader->arena, wanted, sizeof(*items));
    LC_TRY_ALLOC(items);
    if (node->n)
        memcpy(items, node->items, node->n * sizeof(*items));
    node->items = items;
    *cap = wanted;
    return LCDC_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const struct lc_yaml_item *const *x = a, *const *y = b;
    int order = strcmp((*x)->key, (*y)->key);
    return order ? order : ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

static lcdc_status check_unique(const struct reader *reader, const struct lc_yaml *map, lcdc_error **err)
{
    if (map->n < 2)
        return LCDC_OK;
    LC_FREE const struct lc_yaml_item **sorted = lc_calloc(map->n, sizeof(struct lc_yaml_item *));
    LC_TRY_ALLOC(sorted);
    for (size_t i = 0; i < map->n; i++)
        sorted[i] = &map->items[i];
    qsort(sorted, map->n, sizeof(*sorted), compare_keys);
    for (size_t i = 1; i < map->n; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            return lc_fail(err, LC_R_CONFIG_SYNTAX, "%s:%d: key '%.200s' is here twice, first in line %d", reader->path,
                           sorted[i]->line, sorted[i]->key, sorted[i - 1]->line);
    return LCDC_OK;
}

static lcdc_status read_items(struct reader *reader, yaml_event_type_t end, int depth, struct lc_yaml *out,
                              lcdc_error **err)
{
    size_t cap = 0;
    for (;;) {
        EVENT yaml_event_t event = {0}, value = {0};
        LC_TRY(next_event(reader, &event, err));
        if (event.type == end)
            return out->kind == LC_YAML_MAP ? check_unique(reader, out, err) : LCDC_OK;
        LC_TRY(grow(reader, out, &cap, err));
        struct lc_yaml_item *item = &out->items[out->n];
        item->line = line_of(event.start_mark);
        if (out->kind == LC_YAML_LIST) {
            LC_TRY(read_node(reader, &event, depth + 1, &item->value, err));
        } else {
            if (event.type != YAML_SCALAR_EVENT)
                return refuse(reader, item->line, "a key is a text", err);
            LC_TRY(check_node(reader, item->line, event.data.scalar.anchor, event.data.scalar.tag, depth, err));
            LC_TRY(copy_text(reader, &event, &item->key, err));
            LC_TRY(next_event(reader, &value, err));
            LC_TRY(read_node(reader, &value, depth + 1, &item->value, err));
        }
        out->n++;
    }
}

static lcdc_status read_node(struct reader *reader, const yaml_event_t *event, int depth, struct lc_yaml *out,
                             lcdc_error **err)
{
    *out = (struct lc_yaml){.line = line_of(event->start_mark)};
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        LC_TRY(check_node(reader, out->line, event->data.scalar.anchor, event->data.scalar.tag, depth, err));
        return read_text(reader, event, out, err);
    case YAML_MAPPING_START_EVENT:
        out->kind = LC_YAML_MAP;
        LC_TRY(
            check_node(reader, out->line, event->data.mapping_start.anchor, event->data.mapping_start.tag, depth, err));
        return read_items(reader, YAML_MAPPING_END_EVENT, depth, out, err);
    case YAML_SEQUENCE_START_EVENT:
        out->kind = LC_YAML_LIST;
        LC_TRY(check_node(reader, out->line, event->data.sequence_start.anchor, event->data.sequence_start.tag, depth,
                          err));
        return read_items(reader, YAML_SEQUENCE_END_EVENT, depth, out, err);
    case YAML_ALIAS_EVENT:
        return refuse(reader, out->line, "aliases (*name) are not taken; write the value out", err);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        break;
    }
    return refuse(reader, out->line, "a value is missing", err);
}

/* ---- the document ---- */

static lcdc_status expect(struct reader *reader, yaml_event_type_t type, const char *otherwise, lcdc_error **err)
{
    EVENT yaml_event_t event = {0};
    LC_TRY(next_event(reader, &event, err));
    return event.type == type ? LCDC_OK : refuse(reader, line_of(event.start_mark), otherwise, err);
}

static lcdc_status read_document(struct reader *reader, struct lc_yaml *out, lcdc_error **err)
{
    EVENT yaml_event_t event = {0};
    LC_TRY(expect(reader, YAML_STREAM_START_EVENT, "this is not YAML", err));
    LC_TRY(expect(reader, YAML_DOCUMENT_START_EVENT, "the file is empty", err));
    LC_TRY(next_event(reader, &event, err));
    LC_TRY(read_node(reader, &event, 0, out, err));
    LC_TRY(expect(reader, YAML_DOCUMENT_END_EVENT, "a second value begins here", err));
    return expect(reader, YAML_STREAM_END_EVENT, "a second document begins here; a config is one", err);
}

lcdc_status lc_yaml_parse(struct lc_str text, const char *path, lc_yaml_lookup lookup, void *context,
                          struct lc_arena *arena, struct lc_yaml *out, lcdc_error **err)
{
    if (text.n > LC_YAML_MAX_BYTES)
        return lc_fail(err, LC_R_LIMIT, "%s: a config has at most %d bytes", path, (int)LC_YAML_MAX_BYTES);
    PARSER yaml_parser_t parser = {0};
    struct reader reader = {.parser = &parser, .path = path, .lookup = lookup, .context = context, .arena = arena};
    struct lc_yaml made = {0};
    if (!yaml_parser_initialize(&parser))
        return lc_fail_oom(err);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    LC_TRY(read_document(&reader, &made, err));
    *out = made;
    return LCDC_OK;
}

const struct lc_yaml *lc_yaml_get(const struct lc_yaml *map, const char *key)
{
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->items[i].key, key) == 0)
            return &map->items[i].value;
    return NULL;
}
