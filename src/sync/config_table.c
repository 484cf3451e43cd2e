/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_table.c - one table of a config: which rows, what is done to them, where they go. Options of readers and sinks
 * are checked by those who own them.
 */
#include <string.h>

#include "core/request.h"
#include "sync/config_parts.h"

/* ---- options of the reader ---- */

/* Lists are written as YAML lists or with commas; the reader takes one text at a time and adds up. */
static lcdc_status add_option(const struct lc_config_reader *reader, lcdc_request *request, const char *key,
                              const struct lc_yaml *node, struct lc_reader_option *options, size_t *n, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    const char *value;
    LC_TRY(lc_config_text(reader, key, node, &value, err));
    options[(*n)++] = (struct lc_reader_option){key, value};
    if (lcdc_request_set(request, key, value, &problem) == LCDC_OK)
        return LCDC_OK;
    if (value != node->spelling) /* the reader's words would show the value */
        return lc_config_bad_value(reader, key, node, "a value that the reader takes", err);
    return lc_config_bad(reader, node->line, lcdc_error_message(problem), err);
}

static size_t options_in(const struct lc_yaml *node)
{
    return node && node->kind == LC_YAML_LIST ? node->n : node != NULL;
}

lcdc_status lc_config_reader_options(const struct lc_config_reader *reader, enum lc_key_section section,
                                     const struct lc_key_values *values, size_t *n, struct lc_reader_option **out,
                                     lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    size_t count = 0;
    for (size_t i = 0; i < LC_CONFIG_COUNT; i++)
        count += options_in(values->nodes[i]);
    struct lc_reader_option *options = lc_arena_array(&reader->config->arena, count, sizeof(*options));
    LC_TRY_ALLOC(options);
    LC_TRY(lcdc_request_new(&request, err));
    count = 0;
    for (size_t i = 0; i < LC_CONFIG_COUNT; i++) {
        const struct lc_yaml *node = values->nodes[i];
        bool is_list = lc_keys[i].kind == LC_KEY_READER_LIST;
        if (!node || lc_keys[i].section != section || (!is_list && lc_keys[i].kind != LC_KEY_READER))
            continue;
        if (is_list && node->kind == LC_YAML_LIST)
            for (size_t k = 0; k < node->n; k++)
                LC_TRY(add_option(reader, request, lc_keys[i].key, &node->items[k].value, options, &count, err));
        else
            LC_TRY(add_option(reader, request, lc_keys[i].key, node, options, &count, err));
    }
    *n = count;
    *out = options;
    return LCDC_OK;
}

/* ---- options of the sink ---- */

static lcdc_status unknown_setting(const struct lc_setting_taker *taker, const struct lc_yaml_item *item,
                                   lcdc_error **err)
{
    struct lc_nearest nearest = {.word = item->key};
    for (size_t i = 0; i < taker->ops->n_options; i++)
        lc_nearest_add(&nearest, taker->ops->options[i].key);
    return lc_config_unknown_key(taker->reader, taker->where, item, &nearest, err);
}

lcdc_status lc_config_take_setting(void *context, const struct lc_yaml_item *item, bool *taken, lcdc_error **err)
{
    struct lc_setting_taker *taker = context;
    const struct lc_sink_option *option = NULL;
    const char *value;
    for (size_t i = 0; i < taker->ops->n_options && !option; i++)
        if (strcmp(taker->ops->options[i].key, item->key) == 0)
            option = &taker->ops->options[i];
    if (!option)
        return unknown_setting(taker, item, err);
    LC_TRY(lc_config_text(taker->reader, item->key, &item->value, &value, err));
    if (option->words && !lc_is_word(option->words, value)) {
        LC_BUF struct lc_buf words = {.max = 1 << 12};
        lc_print_words(option->words, &words);
        LC_TRY_BUF(&words);
        return lc_config_bad_value(taker->reader, item->key, &item->value, words.p, err);
    }
    if (strcmp(option->key, "path") == 0) /* a place in the file system, whichever the sink */
        LC_TRY(lc_config_place(taker->reader, value, &value, err));
    taker->settings[taker->n++] = (struct lc_sink_setting){option->key, value};
    *taken = true;
    return LCDC_OK;
}

/* Those of the table win; what is required must be in one of both. */
static lcdc_status join_settings(const struct lc_config_reader *reader, const struct lc_setting_taker *own,
                                 struct lc_table_config *out, lcdc_error **err)
{
    const struct lc_sink_config *sink = out->sink;
    out->settings = lc_arena_array(&reader->config->arena, own->n + sink->n_settings, sizeof(*out->settings));
    LC_TRY_ALLOC(out->settings);
    for (size_t i = 0; i < own->n; i++)
        out->settings[out->n_settings++] = own->settings[i];
    for (size_t i = 0; i < sink->n_settings; i++) {
        bool is_set = false;
        for (size_t k = 0; k < own->n && !is_set; k++)
            is_set = strcmp(own->settings[k].key, sink->settings[i].key) == 0;
        if (!is_set)
            out->settings[out->n_settings++] = sink->settings[i];
    }
    for (size_t i = 0; i < sink->ops->n_options; i++) {
        const struct lc_sink_option *option = &sink->ops->options[i];
        bool is_set = !option->required;
        for (size_t k = 0; k < out->n_settings && !is_set; k++)
            is_set = strcmp(out->settings[k].key, option->key) == 0;
        if (!is_set)
            return lc_fail(err, LC_R_CONFIG_MISSING, "%s:%d: table '%s': sink '%s' needs the option '%s': %s",
                           reader->config->path, out->line, out->name, sink->name, option->key, option->help);
    }
    return LCDC_OK;
}

static lcdc_status read_settings(const struct lc_config_reader *reader, const struct lc_yaml *map,
                                 struct lc_table_config *out, lcdc_error **err)
{
    struct lc_setting_taker taker = {.reader = reader, .ops = out->sink->ops, .where = "sink_options"};
    if (map) {
        LC_TRY(lc_config_expect_map(reader, "sink_options", map, err));
        taker.settings = lc_arena_array(&reader->config->arena, map->n, sizeof(*taker.settings));
        LC_TRY_ALLOC(taker.settings);
        for (size_t i = 0; i < map->n; i++) {
            bool taken = false;
            LC_TRY(lc_config_take_setting(&taker, &map->items[i], &taken, err));
        }
    }
    return join_settings(reader, &taker, out, err);
}

/* ---- source and sink by name ---- */

static lcdc_status no_such(const struct lc_config_reader *reader, const char *what, const struct lc_yaml *node,
                           const struct lc_nearest *nearest, lcdc_error **err)
{
    return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: there is no %s '%.100s'%s%s%s", reader->config->path, node->line,
                   what, node->spelling, nearest->best ? "; did you mean '" : "", nearest->best ? nearest->best : "",
                   nearest->best ? "'" : "");
}

static lcdc_status find_ends(const struct lc_config_reader *reader, const struct lc_key_values *values,
                             struct lc_table_config *out, lcdc_error **err)
{
    const struct lc_config *config = reader->config;
    const struct lc_yaml *source = values->nodes[LC_CONFIG_TABLE_source], *sink = values->nodes[LC_CONFIG_TABLE_sink];
    struct lc_nearest nearest = {0};
    LC_TRY(lc_config_text(reader, "source", source, &nearest.word, err));
    for (size_t i = 0; i < config->n_sources; i++) {
        lc_nearest_add(&nearest, config->sources[i].name);
        if (strcmp(config->sources[i].name, source->text) == 0)
            out->source = &config->sources[i];
    }
    if (!out->source)
        return no_such(reader, "source", source, &nearest, err);
    nearest = (struct lc_nearest){0};
    LC_TRY(lc_config_text(reader, "sink", sink, &nearest.word, err));
    for (size_t i = 0; i < config->n_sinks; i++) {
        lc_nearest_add(&nearest, config->sinks[i].name);
        if (strcmp(config->sinks[i].name, sink->text) == 0)
            out->sink = &config->sinks[i];
    }
    return out->sink ? LCDC_OK : no_such(reader, "sink", sink, &nearest, err);
}

/* What may be told of a location: a server's parameters and a URL's user hold secrets. */
static lcdc_status shown_place(struct lc_config *config, const char *location, const char *name, const char **out,
                               lcdc_error **err)
{
    LC_BUF struct lc_buf text = {.max = 1 << 16};
    const char *scheme = strstr(location, "://");
    if (scheme) {
        const char *host = scheme + 3, *end = host + strcspn(host, ";?#"), *slash = host + strcspn(host, "/;?#");
        for (const char *at = host; at < slash; at++)
            if (*at == '@')
                host = at + 1;
        lc_buf_append(&text, location, (size_t)(scheme + 3 - location));
        lc_buf_append(&text, host, (size_t)(end - host));
    } else {
        lc_buf_text(&text, location);
    }
    if (name)
        lc_buf_printf(&text, " %s", name);
    LC_TRY_BUF(&text);
    *out = lc_arena_strndup(&config->arena, text.p, text.n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status find_table(const struct lc_config_reader *reader, const struct lc_key_values *values,
                              struct lc_table_config *out, lcdc_error **err)
{
    struct lc_config *config = reader->config;
    const struct lc_source_config *source = out->source;
    const char *name;
    LC_TRY(lc_config_text(reader, "table", values->nodes[LC_CONFIG_TABLE_table], &name, err));
    if (!source->is_folder) {
        out->location = source->root;
        out->remote_name = name;
        return shown_place(config, out->location, name, &out->shown, err);
    }
    LC_BUF struct lc_buf path = {.max = 1 << 16};
    size_t n = strlen(source->root);
    lc_buf_printf(&path, "%s%s%s", source->root, n && source->root[n - 1] == '/' ? "" : "/", name);
    LC_TRY_BUF(&path);
    out->location = lc_arena_strndup(&config->arena, path.p, path.n);
    LC_TRY_ALLOC(out->location);
    return shown_place(config, out->location, NULL, &out->shown, err);
}

/* ---- how it is read ---- */

static lcdc_status read_words(const struct lc_config_reader *reader, const struct lc_key_values *values,
                              struct lc_table_config *out, lcdc_error **err)
{
    const char *mode, *on_gap;
    LC_TRY(lc_config_get_word(reader, values, LC_CONFIG_TABLE_mode, &mode, err));
    LC_TRY(lc_config_get_word(reader, values, LC_CONFIG_TABLE_on_gap, &on_gap, err));
    out->mode = mode[0] == 'f' ? LC_MODE_FULL : mode[0] == 'i' ? LC_MODE_INCREMENTAL : LC_MODE_CDC;
    out->on_gap = on_gap[0] == 's' ? LC_ON_GAP_STOP : LC_ON_GAP_RESNAPSHOT;
    out->interval_ms = reader->interval_ms;
    return lc_config_get_duration(reader, values, LC_CONFIG_TABLE_interval, &out->interval_ms, err);
}

static lcdc_status read_start(const struct lc_config_reader *reader, const struct lc_key_values *values,
                              struct lc_table_config *out, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    LC_ERROR lcdc_error *problem = NULL;
    const struct lc_yaml *node = values->nodes[LC_CONFIG_TABLE_start];
    out->start = lc_keys[LC_CONFIG_TABLE_start].initial;
    if (!node)
        return LCDC_OK;
    LC_TRY(lc_config_text(reader, "start", node, &out->start, err));
    LC_TRY(lcdc_request_new(&request, err));
    if (strcmp(out->start, "start") == 0 || lcdc_request_set(request, "from", out->start, &problem) != LCDC_OK)
        return lc_config_bad_value(reader, "start", node,
                                   "latest, oldest, a version or snapshot id, a timestamp or a tag", err);
    return LCDC_OK;
}

static lcdc_status read_identity(const struct lc_config_reader *reader, struct lc_table_config *out, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    LC_TRY(lc_config_request(out, &request, err));
    const struct lc_list *names = &request->identity;
    out->identity = lc_arena_array(&reader->config->arena, names->n, sizeof(char *));
    LC_TRY_ALLOC(out->identity);
    for (; out->n_identity < names->n; out->n_identity++) {
        out->identity[out->n_identity] = lc_arena_strdup(&reader->config->arena, names->items[out->n_identity]);
        LC_TRY_ALLOC(out->identity[out->n_identity]);
    }
    return LCDC_OK;
}

/* ---- transforms ---- */

/* Plain 12, 1.5 and true are a number and a truth value; in quotes they are text. */
static lcdc_status read_constant(const struct lc_config_reader *reader, const struct lc_yaml *node,
                                 struct lc_value *out, lcdc_error **err)
{
    struct lc_str text = lc_str_of(node->kind == LC_YAML_TEXT ? node->text : "");
    if (node->kind != LC_YAML_TEXT || node->is_null)
        return lc_config_bad_value(reader, "constant", node, "a text, a number, true or false", err);
    *out = (struct lc_value){.type.kind = LC_TYPE_STRING, .str = text};
    if (!node->is_plain || node->text != node->spelling)
        return LCDC_OK;
    if (lc_str_is(text, "true") || lc_str_is(text, "false"))
        *out = (struct lc_value){.type.kind = LC_TYPE_BOOL, .b = text.p[0] == 't'};
    else if (lc_parse_i64(text, &out->i))
        out->type.kind = LC_TYPE_INT64;
    else if (strspn(node->text, "+-.0123456789eE") == text.n && lc_parse_f64(text, &out->f))
        out->type.kind = LC_TYPE_DOUBLE;
    else
        out->str = text;
    return LCDC_OK;
}

struct step_list {
    struct lc_step *items;
    size_t n, cap;
};

static lcdc_status add_step(const struct lc_config_reader *reader, struct step_list *list, struct lc_step step,
                            lcdc_error **err)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        struct lc_step *items = lc_arena_array(&reader->config->arena, cap, sizeof(*items));
        LC_TRY_ALLOC(items);
        if (list->n)
            memcpy(items, list->items, list->n * sizeof(*items));
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = step;
    return LCDC_OK;
}

static lcdc_status read_drop(const struct lc_config_reader *reader, const struct lc_yaml *value, struct step_list *list,
                             lcdc_error **err)
{
    struct lc_step step = {.kind = LC_STEP_DROP, .line = value->line};
    if (value->kind == LC_YAML_TEXT) {
        LC_TRY(lc_config_text(reader, "drop", value, &step.column, err));
        return add_step(reader, list, step, err);
    }
    if (value->kind != LC_YAML_LIST)
        return lc_config_bad_value(reader, "drop", value, "a list of columns", err);
    for (size_t i = 0; i < value->n; i++) {
        step.line = value->items[i].value.line;
        LC_TRY(lc_config_text(reader, "drop", &value->items[i].value, &step.column, err));
        LC_TRY(add_step(reader, list, step, err));
    }
    return LCDC_OK;
}

static lcdc_status read_pairs(const struct lc_config_reader *reader, const struct lc_yaml_item *item,
                              enum lc_step_kind kind, struct step_list *list, lcdc_error **err)
{
    LC_TRY(lc_config_expect_map(reader, item->key, &item->value, err));
    for (size_t i = 0; i < item->value.n; i++) {
        const struct lc_yaml_item *pair = &item->value.items[i];
        struct lc_step step = {.kind = kind, .line = pair->line, .column = pair->key};
        if (kind == LC_STEP_CONSTANT)
            LC_TRY(read_constant(reader, &pair->value, &step.constant, err));
        else
            LC_TRY(lc_config_text(reader, pair->key, &pair->value, &step.text, err));
        struct lc_type type;
        if (kind == LC_STEP_CAST && !lc_type_parse(step.text, &type))
            return lc_config_bad_value(reader, pair->key, &pair->value,
                                       "a type such as string, bigint, double, decimal(10,2), date or timestamp", err);
        LC_TRY(add_step(reader, list, step, err));
    }
    return LCDC_OK;
}

static lcdc_status read_transform(const struct lc_config_reader *reader, const struct lc_yaml_item *item,
                                  struct step_list *list, lcdc_error **err)
{
    switch (lc_key_find(LC_SECTION_TRANSFORM, item->key)) {
    case LC_CONFIG_TRANSFORM_rename:
        return read_pairs(reader, item, LC_STEP_RENAME, list, err);
    case LC_CONFIG_TRANSFORM_drop:
        return read_drop(reader, &item->value, list, err);
    case LC_CONFIG_TRANSFORM_constant:
        return read_pairs(reader, item, LC_STEP_CONSTANT, list, err);
    case LC_CONFIG_TRANSFORM_cast:
        return read_pairs(reader, item, LC_STEP_CAST, list, err);
    default:
        return read_pairs(reader, item, LC_STEP_EXPRESSION, list, err);
    }
}

static lcdc_status read_transforms(const struct lc_config_reader *reader, const struct lc_yaml *node,
                                   struct lc_table_config *out, lcdc_error **err)
{
    struct step_list list = {0};
    struct lc_key_values values;
    if (node && node->kind != LC_YAML_LIST)
        return lc_config_bad_value(reader, "transforms", node, "a list, such as [{rename: {a: b}}, {drop: [c]}]", err);
    for (size_t i = 0; node && i < node->n; i++) {
        const struct lc_yaml *entry = &node->items[i].value;
        LC_TRY(lc_config_section(reader, LC_SECTION_TRANSFORM, "a transform", entry, NULL, NULL, &values, err));
        for (size_t k = 0; k < entry->n; k++)
            LC_TRY(read_transform(reader, &entry->items[k], &list, err));
    }
    out->steps = (struct lc_steps){reader->config->path, out->name, list.n, list.items};
    return LCDC_OK;
}

/* ---- the table ---- */

lcdc_status lc_config_read_table(struct lc_config_reader *reader, const struct lc_yaml_item *item,
                                 struct lc_table_config *out, lcdc_error **err)
{
    static const enum lc_key_id lines[] = {LC_CONFIG_TABLE_columns, LC_CONFIG_TABLE_where, LC_CONFIG_TABLE_identity};
    struct lc_key_values values;
    LC_BUF struct lc_buf where = {.max = 1 << 12};
    out->name = item->key;
    out->line = item->line;
    if (!*item->key || strlen(item->key) > 255)
        return lc_config_bad(reader, item->line, "a table's name has 1 to 255 bytes", err);
    lc_buf_printf(&where, "table '%.100s'", item->key);
    LC_TRY_BUF(&where);
    LC_TRY(lc_config_section(reader, LC_SECTION_TABLE, where.p, &item->value, NULL, NULL, &values, err));
    for (size_t i = 0; i < 3; i++)
        out->options_line[i] = values.nodes[lines[i]] ? values.nodes[lines[i]]->line : item->line;
    LC_TRY(find_ends(reader, &values, out, err));
    LC_TRY(find_table(reader, &values, out, err));
    LC_TRY(read_words(reader, &values, out, err));
    LC_TRY(read_start(reader, &values, out, err));
    LC_TRY(lc_config_reader_options(reader, LC_SECTION_TABLE, &values, &out->n_options, &out->options, err));
    LC_TRY(read_identity(reader, out, err));
    LC_TRY(read_transforms(reader, values.nodes[LC_CONFIG_TABLE_transforms], out, err));
    return read_settings(reader, values.nodes[LC_CONFIG_TABLE_sink_options], out, err);
}

/* ---- tables among each other ---- */

static const char *own_path(const struct lc_table_config *table)
{
    for (size_t i = 0; table->sink->ops->owns_path && i < table->n_settings; i++)
        if (strcmp(table->settings[i].key, "path") == 0)
            return table->settings[i].value;
    return NULL;
}

/* The next name of a path, without what changes nothing: "a//./b/" is "a/b". Empty at the end. */
static struct lc_str next_name(const char **at)
{
    for (;;) {
        *at += strspn(*at, "/");
        struct lc_str name = {*at, strcspn(*at, "/")};
        *at += name.n;
        if (!lc_str_is(name, "."))
            return name;
    }
}

static bool is_same_path(const char *a, const char *b)
{
    if ((*a == '/') != (*b == '/'))
        return false;
    for (;;) {
        struct lc_str name = next_name(&a);
        if (!lc_str_eq(name, next_name(&b)))
            return false;
        if (!name.n)
            return true;
    }
}

/* A path may come from the environment, so that it is not told. */
lcdc_status lc_config_check_paths(const struct lc_config_reader *reader, lcdc_error **err)
{
    const struct lc_config *config = reader->config;
    for (size_t i = 0; i < config->n_tables; i++) {
        const struct lc_table_config *table = &config->tables[i];
        const char *path = own_path(table);
        for (size_t k = 0; path && k < i; k++) {
            const char *taken = own_path(&config->tables[k]);
            if (taken && is_same_path(path, taken))
                return lc_fail(err, LC_R_CONFIG_VALUE,
                               "%s:%d: table '%.100s' writes to the same path as table '%.100s'; give each one its own",
                               config->path, table->line, table->name, config->tables[k].name);
        }
    }
    return LCDC_OK;
}

lcdc_status lc_config_request(const struct lc_table_config *table, lcdc_request **out, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    LC_TRY(lcdc_request_new(&request, err));
    LC_TRY(lcdc_request_set(request, "table", table->location, err));
    if (table->remote_name)
        LC_TRY(lcdc_request_set(request, "name", table->remote_name, err));
    for (size_t i = 0; i < table->source->n_options; i++)
        LC_TRY(lcdc_request_set(request, table->source->options[i].key, table->source->options[i].value, err));
    for (size_t i = 0; i < table->n_options; i++)
        LC_TRY(lcdc_request_set(request, table->options[i].key, table->options[i].value, err));
    *out = lc_steal(request);
    return LCDC_OK;
}
