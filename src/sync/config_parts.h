/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_parts.h - what the files of the config share: sections met with the table of keys, values, messages.
 */
#ifndef LC_SYNC_CONFIG_PARTS_H
#define LC_SYNC_CONFIG_PARTS_H

#include "sync/config.h"
#include "sync/keys.h"

struct lc_config_reader {
    struct lc_config *config;
    const struct lc_config_world *world;
    int64_t interval_ms; /* of tables that have none */
};

/** The values of one section, NULL where a key is not there. */
struct lc_key_values {
    const struct lc_yaml *nodes[LC_CONFIG_COUNT];
};

/** Takes a key that the section's table does not have, or leaves *taken false. */
typedef lcdc_status (*lc_config_other)(void *context, const struct lc_yaml_item *item, bool *taken, lcdc_error **err);

/** Sorts the keys of a map; unknown ones and required ones that are missing are errors. `other` may be NULL. */
lcdc_status lc_config_section(const struct lc_config_reader *reader, enum lc_key_section section, const char *where,
                              const struct lc_yaml *map, lc_config_other other, void *context,
                              struct lc_key_values *out, lcdc_error **err);

/** The config's own path, and the folder that relative ones begin at. */
lcdc_status lc_config_set_paths(struct lc_config *config, const char *path, lcdc_error **err);

/* ---- messages ---- */

lcdc_status lc_config_bad(const struct lc_config_reader *reader, int line, const char *what, lcdc_error **err);
lcdc_status lc_config_bad_value(const struct lc_config_reader *reader, const char *key, const struct lc_yaml *value,
                                const char *expected, lcdc_error **err);
lcdc_status lc_config_unknown_key(const struct lc_config_reader *reader, const char *where,
                                  const struct lc_yaml_item *item, const struct lc_nearest *nearest, lcdc_error **err);

/* ---- values ---- */

lcdc_status lc_config_expect_map(const struct lc_config_reader *reader, const char *key, const struct lc_yaml *value,
                                 lcdc_error **err);
lcdc_status lc_config_text(const struct lc_config_reader *reader, const char *key, const struct lc_yaml *value,
                           const char **out, lcdc_error **err);
/** One of the key's words, or its default. */
lcdc_status lc_config_get_word(const struct lc_config_reader *reader, const struct lc_key_values *values,
                               enum lc_key_id id, const char **out, lcdc_error **err);
/** Left alone when there is neither a value nor a default. */
lcdc_status lc_config_get_duration(const struct lc_config_reader *reader, const struct lc_key_values *values,
                                   enum lc_key_id id, int64_t *out, lcdc_error **err);
/** A path, relative ones below the config's folder. */
lcdc_status lc_config_place(const struct lc_config_reader *reader, const char *path, const char **out,
                            lcdc_error **err);
/** The keys of a section that are the reader's, checked by it. */
lcdc_status lc_config_reader_options(const struct lc_config_reader *reader, enum lc_key_section section,
                                     const struct lc_key_values *values, size_t *n, struct lc_reader_option **out,
                                     lcdc_error **err);

/* ---- settings of a sink ---- */

struct lc_setting_taker {
    const struct lc_config_reader *reader;
    const struct lc_sink_ops *ops;
    const char *where;
    size_t n;
    struct lc_sink_setting *settings; /* room for every key of the map */
};
/** An lc_config_other over struct lc_setting_taker. */
lcdc_status lc_config_take_setting(void *taker, const struct lc_yaml_item *item, bool *taken, lcdc_error **err);

/* ---- tables (config_table.c) ---- */

lcdc_status lc_config_read_table(struct lc_config_reader *reader, const struct lc_yaml_item *item,
                                 struct lc_table_config *out, lcdc_error **err);
/** No two tables may write to one path of a sink that a table has for itself. */
lcdc_status lc_config_check_paths(const struct lc_config_reader *reader, lcdc_error **err);

#endif
