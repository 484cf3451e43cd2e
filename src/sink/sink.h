/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - what a sink is: where the change rows of one table go. One file per sink; sink.c lists them.
 *
 * The listener calls in this order: open, cursor (when the sink keeps one), then per window begin, write ..., commit or
 * abort, and close. A window is what is delivered as a whole: one commit of the table, or a whole state. What a sink
 * guarantees is what it can take back: see `delivery`. A sink knows no table format, no config file and no ledger.
 */
#ifndef LC_SINK_SINK_H
#define LC_SINK_SINK_H

#include "base/arrow.h"
#include "base/error.h"
#include "base/field.h"
#include "lakecdc/change.h"

enum lc_delivery {
    LC_DELIVERY_EXACTLY_ONCE, /* the cursor is committed in the same transaction as the rows */
    LC_DELIVERY_IDEMPOTENT,   /* a window that is delivered again replaces itself */
    LC_DELIVERY_AT_LEAST_ONCE /* a window may be there twice after a crash; its rows carry stable ids where they can */
};

/** One option of a sink, as it stands in a config: every sink lists its own, and no other is taken. */
struct lc_sink_option {
    const char *key;
    const char *initial; /* default as text; NULL = none */
    bool required;
    const char *words; /* the values there are, with blanks between them; NULL = any */
    const char *help;  /* one sentence */
};

/** A key and its text, of a config. */
struct lc_sink_setting {
    const char *key, *value;
};

/** What a sink is opened with; everything in it outlives the sink. */
struct lc_sink_setup {
    const char *table;                /* its name in the config: the key in the ledger, the default target name */
    const char *source;               /* where its rows come from, without secrets */
    const struct ArrowSchema *schema; /* the change row (lakecdc/change.h), after transforms */
    const struct lc_field *images;    /* STRUCT: the columns of both images */
    size_t n_identity;                /* columns that say which row a row is; 0 = none */
    const size_t *identity;           /* their places in `images` */
    size_t n_settings;
    const struct lc_sink_setting *settings; /* checked against the sink's options, without the defaults */
    bool replaces;                          /* a whole state comes next: that the target is gone is no loss */
    const _Atomic int *cancelled;           /* non-zero: stop within a second with LC_R_CANCELLED */
};

enum lc_window_kind {
    LC_WINDOW_CHANGES,  /* one commit's changes */
    LC_WINDOW_SNAPSHOT, /* the first rows of a table: inserts only; the target must not hold rows of it already */
    LC_WINDOW_REPLACE   /* a whole state, inserts only: what the target held of the table goes in the same step */
};

struct lc_window {
    enum lc_window_kind kind;
    int64_t snapshot; /* the commit; -1 none */
    int64_t ts_us;    /* its time; INT64_MIN unknown */
};

/** The first member of every sink's object; calls go through it, since a setting may choose other functions. */
struct lc_sink {
    const struct lc_sink_ops *ops;
};

struct lc_sink_ops {
    const char *name; /* "postgresql" */
    enum lc_delivery delivery;
    size_t n_options;
    const struct lc_sink_option *options;
    bool owns_path;    /* what the option "path" names is one table's alone */
    bool wants_folded; /* updates are best as one row with both images, wherever the reader can pair them */
    /** Connects, creates or checks the target against the schema. */
    lcdc_status (*open)(const struct lc_sink_setup *setup, struct lc_sink **out, lcdc_error **err);
    /**
     * Optional; required of exactly-once sinks. The cursor the last committed window was given, NULL when there was
     * none; lc_free.
     */
    lcdc_status (*cursor)(struct lc_sink *sink, char **out, lcdc_error **err);
    /**
     * Optional; required of exactly-once sinks in which a window that comes again does not take its own place. What
     * cursor() says from now on, NULL none; durable, in a transaction of its own. Between windows only; close the sink
     * after a failure.
     */
    lcdc_status (*set_cursor)(struct lc_sink *sink, const char *cursor, lcdc_error **err);
    lcdc_status (*begin)(struct lc_sink *sink, const struct lc_window *window, lcdc_error **err);
    /** Rows of the window: struct array of the change row's five columns. Deletes come before inserts of a key. */
    lcdc_status (*write)(struct lc_sink *sink, const struct ArrowArray *rows, lcdc_error **err);
    /** The window is there, durably, and `cursor` with it where the sink keeps one. */
    lcdc_status (*commit)(struct lc_sink *sink, const char *cursor, lcdc_error **err);
    /** Forgets the window that was begun; after a failed begin, write or commit. The sink may be used again. */
    void (*abort)(struct lc_sink *sink);
    void (*close)(struct lc_sink *sink);
};

extern const struct lc_sink_ops lc_sink_arrow, lc_sink_jsonl, lc_sink_kafka, lc_sink_parquet, lc_sink_postgresql,
    lc_sink_sqlite;

/** Every sink; NULL at the end. Defined in sink.c. */
extern const struct lc_sink_ops *const lc_sinks[];

/** The sink of that name, or NULL. */
const struct lc_sink_ops *lc_sink_named(const char *name);

/** The value of a setting, its default, or NULL. */
const char *lc_sink_setting(const struct lc_sink_ops *ops, const struct lc_sink_setup *setup, const char *key);

static inline void lc_sink_close(struct lc_sink *sink)
{
    if (sink)
        sink->ops->close(sink);
}
LC_DEFINE_CLEANUP(struct lc_sink *, lc_sink_close)

#endif
