/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - what a sync does, as its YAML file says: sources, sinks, tables and how they are joined.
 *
 * Everything that can be checked without opening a table is checked here, with file and line. Values that came from the
 * environment are secrets: they are in the tree and in no message.
 */
#ifndef LC_SYNC_CONFIG_H
#define LC_SYNC_CONFIG_H

#include "lakecdc/request.h"
#include "sink/sink.h"
#include "sync/transform.h"
#include "sync/yaml.h"

enum lc_mode { LC_MODE_FULL, LC_MODE_INCREMENTAL, LC_MODE_CDC };
enum lc_on_gap { LC_ON_GAP_STOP, LC_ON_GAP_RESNAPSHOT };

/** An option of the reader, checked by lcdc_request_set(). */
struct lc_reader_option {
    const char *key, *value;
};

struct lc_source_config {
    const char *name;
    const char *root; /* the folder, URL, catalog or server */
    bool is_folder;   /* a table is a place below it, else a name in it */
    size_t n_options;
    struct lc_reader_option *options;
};

struct lc_sink_config {
    const char *name;
    const struct lc_sink_ops *ops;
    size_t n_settings;
    struct lc_sink_setting *settings;
};

struct lc_table_config {
    const char *name;
    int line;
    const struct lc_source_config *source;
    const struct lc_sink_config *sink;
    const char *location, *remote_name; /* options "table" and "name" of a request; the latter may be NULL */
    const char *shown;                  /* where its rows come from, without secrets */
    enum lc_mode mode;
    enum lc_on_gap on_gap;
    const char *start; /* "latest", "oldest" or a bound */
    int64_t interval_ms;
    size_t n_options;
    struct lc_reader_option *options;
    int options_line[3]; /* of columns, where, identity; the table's where it has none */
    size_t n_identity;
    const char **identity;
    struct lc_steps steps;
    size_t n_settings;
    struct lc_sink_setting *settings; /* of the sink and of this table together */
};

enum { LC_LINE_COLUMNS, LC_LINE_WHERE, LC_LINE_IDENTITY };

struct lc_config {
    struct lc_arena arena;
    const char *path, *folder;
    const char *ledger;
    int64_t workers, retry_first_ms, retry_most_ms;
    bool log_json;
    int log_level; /* lcdc_log_level */
    const char *listen_host;
    int listen_port; /* 0: not */
    const char *metrics_file;
    size_t n_sources, n_sinks, n_tables;
    struct lc_source_config *sources;
    struct lc_sink_config *sinks;
    struct lc_table_config *tables;
};

/** What a config is read with; tests bring their own. */
struct lc_config_world {
    const struct lc_sink_ops *const *sinks; /* NULL at the end */
    lc_yaml_lookup lookup;
    void *context;
};

/** Reads the text of a config; `path` is where it came from. Free with lc_config_done(), also after a failure. */
lcdc_status lc_config_parse(struct lc_str text, const char *path, const struct lc_config_world *world,
                            struct lc_config *out, lcdc_error **err);
void lc_config_done(struct lc_config *config);

/** A request for a table: where it is and how its rows are wanted, without a range. */
lcdc_status lc_config_request(const struct lc_table_config *table, lcdc_request **out, lcdc_error **err);

#endif
