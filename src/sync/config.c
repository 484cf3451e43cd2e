/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - a YAML tree held against the table of keys, section by section; config_table.c does the tables.
 */
#include "sync/config.h"

#include <string.h>

#include "lakecdc/sys/log.h"
#include "sync/config_parts.h"

/* ---- messages ---- */

lcdc_status lc_config_bad(const struct lc_config_reader *reader, int line, const char *what, lcdc_error **err)
{
    return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: %s", reader->config->path, line, what);
}

lcdc_status lc_config_bad_value(const struct lc_config_reader *reader, const char *key, const struct lc_yaml *value,
                                const char *expected, lcdc_error **err)
{
    if (!value)
        return lc_fail(err, LC_R_INTERNAL, "%s: the default of '%s' is not %s", reader->config->path, key, expected);
    const char *found = value->kind == LC_YAML_MAP ? "keys" : value->kind == LC_YAML_LIST ? "a list" : NULL;
    if (found)
        return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: %s: found %s, expected %s", reader->config->path, value->line,
                       key, found, expected);
    return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: %s: found '%.200s', expected %s", reader->config->path, value->line,
                   key, value->spelling, expected);
}

lcdc_status lc_config_expect_map(const struct lc_config_reader *reader, const char *key, const struct lc_yaml *value,
                                 lcdc_error **err)
{
    if (value->kind == LC_YAML_MAP)
        return LCDC_OK;
    return lc_config_bad_value(reader, key, value, "keys below it", err);
}

lcdc_status lc_config_text(const struct lc_config_reader *reader, const char *key, const struct lc_yaml *value,
                           const char **out, lcdc_error **err)
{
    if (value->kind != LC_YAML_TEXT || value->is_null || !*value->text)
        return lc_config_bad_value(reader, key, value, "a text", err);
    *out = value->text;
    return LCDC_OK;
}

lcdc_status lc_config_unknown_key(const struct lc_config_reader *reader, const char *where,
                                  const struct lc_yaml_item *item, const struct lc_nearest *nearest, lcdc_error **err)
{
    if (nearest->best)
        return lc_fail(err, LC_R_CONFIG_KEY, "%s:%d: %s has no key '%.100s'; did you mean '%s'", reader->config->path,
                       item->line, where, item->key, nearest->best);
    return lc_fail(err, LC_R_CONFIG_KEY, "%s:%d: %s has no key '%.100s'", reader->config->path, item->line, where,
                   item->key);
}

/* ---- sections ---- */

/* An unset key stands for its default; `node` is where that came from, for messages. */
static lcdc_status take_defaults(const struct lc_config_reader *reader, enum lc_key_section section, const char *where,
                                 int line, struct lc_key_values *out, lcdc_error **err)
{
    for (size_t i = 0; i < LC_CONFIG_COUNT; i++) {
        if (lc_keys[i].section != section || out->nodes[i])
            continue;
        if (lc_keys[i].required)
            return lc_fail(err, LC_R_CONFIG_MISSING, "%s:%d: %s lacks the key '%s': %s", reader->config->path, line,
                           where, lc_keys[i].key, lc_keys[i].help);
    }
    return LCDC_OK;
}

static lcdc_status unknown_in(const struct lc_config_reader *reader, enum lc_key_section section, const char *where,
                              const struct lc_yaml_item *item, lcdc_error **err)
{
    struct lc_nearest nearest = {.word = item->key};
    for (size_t i = 0; i < LC_CONFIG_COUNT; i++)
        if (lc_keys[i].section == section)
            lc_nearest_add(&nearest, lc_keys[i].key);
    return lc_config_unknown_key(reader, where, item, &nearest, err);
}

lcdc_status lc_config_section(const struct lc_config_reader *reader, enum lc_key_section section, const char *where,
                              const struct lc_yaml *map, lc_config_other other, void *context,
                              struct lc_key_values *out, lcdc_error **err)
{
    *out = (struct lc_key_values){0};
    LC_TRY(lc_config_expect_map(reader, where, map, err));
    for (size_t i = 0; i < map->n; i++) {
        const struct lc_yaml_item *item = &map->items[i];
        enum lc_key_id id = lc_key_find(section, item->key);
        bool taken = false;
        if (id < LC_CONFIG_COUNT) {
            out->nodes[id] = &item->value;
            continue;
        }
        if (other)
            LC_TRY(other(context, item, &taken, err));
        if (!taken)
            return unknown_in(reader, section, where, item, err);
    }
    return take_defaults(reader, section, where, map->line, out, err);
}

/* ---- values of a section ---- */

/* The text of a key or of its default; NULL when it has neither. */
static lcdc_status text_of(const struct lc_config_reader *reader, const struct lc_key_values *values, enum lc_key_id id,
                           const char **out, lcdc_error **err)
{
    *out = lc_keys[id].initial;
    return values->nodes[id] ? lc_config_text(reader, lc_keys[id].key, values->nodes[id], out, err) : LCDC_OK;
}

lcdc_status lc_config_get_word(const struct lc_config_reader *reader, const struct lc_key_values *values,
                               enum lc_key_id id, const char **out, lcdc_error **err)
{
    LC_TRY(text_of(reader, values, id, out, err));
    if (lc_is_word(lc_keys[id].words, *out))
        return LCDC_OK;
    LC_BUF struct lc_buf words = {.max = 1024};
    lc_print_words(lc_keys[id].words, &words);
    LC_TRY_BUF(&words);
    return lc_config_bad_value(reader, lc_keys[id].key, values->nodes[id], words.p, err);
}

static lcdc_status get_count(const struct lc_config_reader *reader, const struct lc_key_values *values,
                             enum lc_key_id id, int64_t most, int64_t *out, lcdc_error **err)
{
    const char *text;
    LC_BUF struct lc_buf expected = {.max = 64};
    LC_TRY(text_of(reader, values, id, &text, err));
    if (lc_parse_i64(lc_str_of(text), out) && *out >= 1 && *out <= most)
        return LCDC_OK;
    lc_buf_printf(&expected, most == 1 ? "1" : "a whole number from 1 to %d", (int)most);
    LC_TRY_BUF(&expected);
    return lc_config_bad_value(reader, lc_keys[id].key, values->nodes[id], expected.p, err);
}

lcdc_status lc_config_get_duration(const struct lc_config_reader *reader, const struct lc_key_values *values,
                                   enum lc_key_id id, int64_t *out, lcdc_error **err)
{
    const char *text;
    LC_TRY(text_of(reader, values, id, &text, err));
    if (!text || lc_parse_duration(text, out))
        return LCDC_OK;
    return lc_config_bad_value(reader, lc_keys[id].key, values->nodes[id], "a number and ms, s, m, h or d, such as 30s",
                               err);
}

/* Relative paths begin at the config's folder, so that a config means the same wherever it is started. */
lcdc_status lc_config_place(const struct lc_config_reader *reader, const char *path, const char **out, lcdc_error **err)
{
    const char *folder = reader->config->folder;
    *out = path;
    if (path[0] == '/' || strstr(path, "://") || strncmp(path, "archive:", 8) == 0 || strcmp(folder, ".") == 0)
        return LCDC_OK;
    LC_BUF struct lc_buf joined = {.max = 1 << 16};
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (strcmp(path, ".") == 0 || !*path)
        lc_buf_text(&joined, folder);
    else
        lc_buf_printf(&joined, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", path);
    LC_TRY_BUF(&joined);
    *out = lc_arena_strndup(&reader->config->arena, joined.p, joined.n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status get_place(const struct lc_config_reader *reader, const struct lc_key_values *values,
                             enum lc_key_id id, const char **out, lcdc_error **err)
{
    const char *text;
    LC_TRY(text_of(reader, values, id, &text, err));
    *out = text;
    return text ? lc_config_place(reader, text, out, err) : LCDC_OK;
}

/* ---- log, retry, metrics ---- */

static lcdc_status read_log(struct lc_config_reader *reader, const struct lc_yaml *map, lcdc_error **err)
{
    static const struct lc_yaml nothing = {.kind = LC_YAML_MAP};
    struct lc_key_values values;
    const char *format, *level;
    LC_TRY(lc_config_section(reader, LC_SECTION_LOG, "log", map ? map : &nothing, NULL, NULL, &values, err));
    LC_TRY(lc_config_get_word(reader, &values, LC_CONFIG_LOG_format, &format, err));
    LC_TRY(lc_config_get_word(reader, &values, LC_CONFIG_LOG_level, &level, err));
    reader->config->log_json = strcmp(format, "json") == 0;
    reader->config->log_level = strcmp(level, "debug") == 0  ? LCDC_LOG_DEBUG
                                : strcmp(level, "info") == 0 ? LCDC_LOG_INFO
                                                             : LCDC_LOG_WARN;
    return LCDC_OK;
}

static lcdc_status read_retry(struct lc_config_reader *reader, const struct lc_yaml *map, lcdc_error **err)
{
    static const struct lc_yaml nothing = {.kind = LC_YAML_MAP};
    struct lc_config *config = reader->config;
    struct lc_key_values values;
    LC_TRY(lc_config_section(reader, LC_SECTION_RETRY, "retry", map ? map : &nothing, NULL, NULL, &values, err));
    LC_TRY(lc_config_get_duration(reader, &values, LC_CONFIG_RETRY_first, &config->retry_first_ms, err));
    LC_TRY(lc_config_get_duration(reader, &values, LC_CONFIG_RETRY_most, &config->retry_most_ms, err));
    if (config->retry_most_ms < config->retry_first_ms)
        return lc_config_bad(reader, map->line, "retry: most is shorter than first", err);
    return LCDC_OK;
}

/* "127.0.0.1:9187", "[::1]:9187". */
static lcdc_status read_listen(struct lc_config_reader *reader, const struct lc_yaml *node, lcdc_error **err)
{
    const char *text = "";
    int64_t port;
    LC_TRY(lc_config_text(reader, "listen", node, &text, err));
    const char *colon = strrchr(text, ':');
    size_t host = colon ? (size_t)(colon - text) : 0, skip = 0;
    if (host > 2 && text[0] == '[' && text[host - 1] == ']')
        skip = 1;
    if (!host || !lc_parse_i64(lc_str_of(colon + 1), &port) || port < 1 || port > 65535)
        return lc_config_bad_value(reader, "listen", node, "an address and a port, such as 127.0.0.1:9187", err);
    reader->config->listen_host = lc_arena_strndup(&reader->config->arena, text + skip, host - 2 * skip);
    reader->config->listen_port = (int)port;
    LC_TRY_ALLOC(reader->config->listen_host);
    return LCDC_OK;
}

static lcdc_status read_metrics(struct lc_config_reader *reader, const struct lc_yaml *map, lcdc_error **err)
{
    struct lc_key_values values;
    if (!map)
        return LCDC_OK;
    LC_TRY(lc_config_section(reader, LC_SECTION_METRICS, "metrics", map, NULL, NULL, &values, err));
    LC_TRY(get_place(reader, &values, LC_CONFIG_METRICS_file, &reader->config->metrics_file, err));
    const struct lc_yaml *listen = values.nodes[LC_CONFIG_METRICS_listen];
    return listen ? read_listen(reader, listen, err) : LCDC_OK;
}

/* ---- sources ---- */

static lcdc_status source_place(struct lc_config_reader *reader, const struct lc_key_values *values, int line,
                                struct lc_source_config *out, lcdc_error **err)
{
    static const enum lc_key_id kinds[] = {LC_CONFIG_SOURCE_path, LC_CONFIG_SOURCE_catalog, LC_CONFIG_SOURCE_spark};
    static const char *const prefixes[][2] = {{"", ""}, {"http://", "https://"}, {"sc://", "sc://"}};
    size_t found = 0, kind = 0;
    for (size_t i = 0; i < 3; i++)
        if (values->nodes[kinds[i]]) {
            found++;
            kind = i;
        }
    if (found != 1)
        return lc_fail(err, LC_R_CONFIG_MISSING, "%s:%d: source '%s' needs one of path, catalog and spark, found %s",
                       reader->config->path, line, out->name, found ? "several" : "none");
    LC_TRY(lc_config_text(reader, lc_keys[kinds[kind]].key, values->nodes[kinds[kind]], &out->root, err));
    out->is_folder = kind == 0;
    if (out->is_folder)
        return lc_config_place(reader, out->root, &out->root, err);
    if (lc_str_starts(lc_str_of(out->root), prefixes[kind][0]) ||
        lc_str_starts(lc_str_of(out->root), prefixes[kind][1]))
        return LCDC_OK;
    return lc_config_bad_value(reader, lc_keys[kinds[kind]].key, values->nodes[kinds[kind]],
                               kind == 1 ? "a URL that begins with http:// or https://" : "sc://host:port", err);
}

static lcdc_status read_source(struct lc_config_reader *reader, const struct lc_yaml_item *item,
                               struct lc_source_config *out, lcdc_error **err)
{
    struct lc_key_values values;
    LC_BUF struct lc_buf where = {.max = 1 << 12};
    out->name = item->key;
    lc_buf_printf(&where, "source '%.100s'", item->key);
    LC_TRY_BUF(&where);
    LC_TRY(lc_config_section(reader, LC_SECTION_SOURCE, where.p, &item->value, NULL, NULL, &values, err));
    LC_TRY(source_place(reader, &values, item->line, out, err));
    return lc_config_reader_options(reader, LC_SECTION_SOURCE, &values, &out->n_options, &out->options, err);
}

/* ---- sinks ---- */

static void print_sinks(const struct lc_config_reader *reader, struct lc_buf *out)
{
    lc_buf_text(out, "one of");
    for (size_t i = 0; reader->world->sinks[i]; i++)
        lc_buf_printf(out, "%s %s", i ? "," : "", reader->world->sinks[i]->name);
}

static lcdc_status find_sink(const struct lc_config_reader *reader, const struct lc_yaml *map,
                             struct lc_sink_config *out, lcdc_error **err)
{
    LC_BUF struct lc_buf names = {.max = 1 << 12};
    const struct lc_yaml *node = lc_yaml_get(map, "type");
    const char *type = "";
    if (!node)
        return lc_fail(err, LC_R_CONFIG_MISSING, "%s:%d: sink '%.100s' lacks the key 'type': %s", reader->config->path,
                       map->line, out->name, lc_keys[LC_CONFIG_SINK_type].help);
    LC_TRY(lc_config_text(reader, "type", node, &type, err));
    for (size_t i = 0; reader->world->sinks[i] && !out->ops; i++)
        if (strcmp(reader->world->sinks[i]->name, type) == 0)
            out->ops = reader->world->sinks[i];
    print_sinks(reader, &names);
    LC_TRY_BUF(&names);
    return out->ops ? LCDC_OK : lc_config_bad_value(reader, "type", node, names.p, err);
}

static lcdc_status read_sink(struct lc_config_reader *reader, const struct lc_yaml_item *item,
                             struct lc_sink_config *out, lcdc_error **err)
{
    struct lc_key_values values;
    LC_BUF struct lc_buf where = {.max = 1 << 12};
    out->name = item->key;
    lc_buf_printf(&where, "sink '%.100s'", item->key);
    LC_TRY_BUF(&where);
    LC_TRY(lc_config_expect_map(reader, where.p, &item->value, err));
    LC_TRY(find_sink(reader, &item->value, out, err));
    out->settings = lc_arena_array(&reader->config->arena, item->value.n, sizeof(*out->settings));
    LC_TRY_ALLOC(out->settings);
    struct lc_setting_taker taker = {.reader = reader, .ops = out->ops, .settings = out->settings, .where = where.p};
    LC_TRY(lc_config_section(reader, LC_SECTION_SINK, where.p, &item->value, lc_config_take_setting, &taker, &values,
                             err));
    out->n_settings = taker.n;
    return LCDC_OK;
}

/* ---- the whole ---- */

static lcdc_status read_parts(struct lc_config_reader *reader, const struct lc_key_values *top, lcdc_error **err)
{
    struct lc_config *config = reader->config;
    const struct lc_yaml *sources = top->nodes[LC_CONFIG_TOP_sources], *sinks = top->nodes[LC_CONFIG_TOP_sinks],
                         *tables = top->nodes[LC_CONFIG_TOP_tables];
    LC_TRY(lc_config_expect_map(reader, "sources", sources, err));
    LC_TRY(lc_config_expect_map(reader, "sinks", sinks, err));
    LC_TRY(lc_config_expect_map(reader, "tables", tables, err));
    config->sources = lc_arena_array(&config->arena, sources->n, sizeof(*config->sources));
    config->sinks = lc_arena_array(&config->arena, sinks->n, sizeof(*config->sinks));
    config->tables = lc_arena_array(&config->arena, tables->n, sizeof(*config->tables));
    LC_TRY_ALLOC(config->sources && config->sinks && config->tables);
    for (; config->n_sources < sources->n; config->n_sources++)
        LC_TRY(read_source(reader, &sources->items[config->n_sources], &config->sources[config->n_sources], err));
    for (; config->n_sinks < sinks->n; config->n_sinks++)
        LC_TRY(read_sink(reader, &sinks->items[config->n_sinks], &config->sinks[config->n_sinks], err));
    for (; config->n_tables < tables->n; config->n_tables++)
        LC_TRY(lc_config_read_table(reader, &tables->items[config->n_tables], &config->tables[config->n_tables], err));
    if (!config->n_tables)
        return lc_config_bad(reader, tables->line, "tables: there is none", err);
    return lc_config_check_paths(reader, err);
}

static lcdc_status read_top(struct lc_config_reader *reader, const struct lc_yaml *root, lcdc_error **err)
{
    struct lc_config *config = reader->config;
    struct lc_key_values top;
    int64_t version;
    LC_TRY(lc_config_section(reader, LC_SECTION_TOP, "the config", root, NULL, NULL, &top, err));
    LC_TRY(get_count(reader, &top, LC_CONFIG_TOP_version, 1, &version, err));
    LC_TRY(get_count(reader, &top, LC_CONFIG_TOP_workers, 256, &config->workers, err));
    LC_TRY(lc_config_get_duration(reader, &top, LC_CONFIG_TOP_interval, &reader->interval_ms, err));
    const struct lc_yaml *ledger = top.nodes[LC_CONFIG_TOP_ledger];
    const char *file = lc_keys[LC_CONFIG_TOP_ledger].initial;
    if (ledger)
        LC_TRY(lc_config_text(reader, "ledger", ledger, &file, err));
    LC_TRY(lc_config_place(reader, file, &config->ledger, err));
    LC_TRY(read_retry(reader, top.nodes[LC_CONFIG_TOP_retry], err));
    LC_TRY(read_log(reader, top.nodes[LC_CONFIG_TOP_log], err));
    LC_TRY(read_metrics(reader, top.nodes[LC_CONFIG_TOP_metrics], err));
    return read_parts(reader, &top, err);
}

lcdc_status lc_config_set_paths(struct lc_config *config, const char *path, lcdc_error **err)
{
    const char *slash = strrchr(path, '/');
    config->path = lc_arena_strdup(&config->arena, path);
    config->folder = !slash          ? "."
                     : slash == path ? "/"
                                     : lc_arena_strndup(&config->arena, path, (size_t)(slash - path));
    LC_TRY_ALLOC(config->path && config->folder);
    return LCDC_OK;
}

lcdc_status lc_config_parse(struct lc_str text, const char *path, const struct lc_config_world *world,
                            struct lc_config *out, lcdc_error **err)
{
    struct lc_yaml root;
    struct lc_config_reader reader = {.config = out, .world = world};
    *out = (struct lc_config){0};
    LC_TRY(lc_config_set_paths(out, path, err));
    LC_TRY(lc_yaml_parse(text, out->path, world->lookup, world->context, &out->arena, &root, err));
    return read_top(&reader, &root, err);
}

void lc_config_done(struct lc_config *config)
{
    lc_arena_done(&config->arena);
    *config = (struct lc_config){0};
}
