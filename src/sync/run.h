/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - one table of a sync while it runs: looked at, read, delivered, remembered.
 *
 * A round reads a table up to its tip, a window a commit. Between rounds the source stays open, so that a table with
 * nothing new costs a look at its tip; a sink stays open while rounds find something. A round is made by one thread at
 * a time; only lc_run_cancel() and the numbers may be asked for from another.
 */
#ifndef LC_SYNC_RUN_H
#define LC_SYNC_RUN_H

#include <pthread.h>

#include "lakecdc/feed.h"
#include "sync/config.h"
#include "sync/ledger.h"
#include "sync/log.h"

/** What every table of a sync shares. */
struct lc_world {
    const struct lc_config *config;
    lcdc_ledger *ledger; /* NULL: none yet, in a dry run */
    bool dry_run;
    struct lc_sync_log *log;
    const _Atomic int *stopping;
    /** A table's source, and then its sink, gave an answer. May be NULL. @thread a worker */
    void (*answered)(void *context, const struct lc_table_config *table, bool is_sink);
    void *context; /* of `answered` */
};

/** For metrics, and kept apart from the state because they may be asked for while a round goes on. */
struct lc_run_numbers {
    enum lc_state_kind state;
    int64_t rounds, rows, commits, windows, errors; /* since the process began */
    int64_t inserts, deletes, updates;
    int64_t lag_commits;          /* commits that are known and not delivered; -1 unknown */
    int64_t level_at, success_at; /* microseconds; when the table was last level, when a round last succeeded */
    int64_t commit_at;
    int64_t failures; /* in a row */
};

struct lc_table_run {
    const struct lc_table_config *config;
    const struct lc_world *world;
    struct lc_state state;
    bool is_loaded, is_dirty; /* dirty: the ledger does not have the state yet */
    /* reading */
    lcdc_source *source;
    char *tip; /* when the table was last read to its end; NULL: look */
    /* what the rows are made into, and where they go */
    bool is_bound, cursor_decided, does_fold;
    uint64_t fingerprint; /* of the columns that are bound */
    struct lc_transform transform;
    struct ArrowSchema schema;
    struct lc_sink_setup setup;
    struct lc_sink *sink;
    /* guarded by `mutex` */
    pthread_mutex_t mutex;
    lcdc_request *asking; /* its call is in progress */
    lcdc_feed *feed;
    struct lc_run_numbers numbers;
};

void lc_run_init(struct lc_table_run *run, const struct lc_table_config *config, const struct lc_world *world);
void lc_run_done(struct lc_table_run *run);

/**
 * Reads the table up to its tip. *worked: there was something. A failure is in the state, the ledger and the log
 * already; the error says it again. A table that is stopped is LCDC_OK and does nothing.
 */
lcdc_status lc_run_round(struct lc_table_run *run, bool *worked, lcdc_error **err);

/** Holds the table's columns against the config; reads no row, opens no sink. */
lcdc_status lc_run_check(struct lc_table_run *run, size_t *n_columns, lcdc_error **err);

/** Ends a read that is in progress. @thread any */
void lc_run_cancel(struct lc_table_run *run);
/** @thread any */
struct lc_run_numbers lc_run_numbers(struct lc_table_run *run);

/* ---- between the files of a run ---- */

enum lc_read_kind {
    LC_READ_SCHEMA,  /* nothing; for the columns */
    LC_READ_FIRST,   /* a state, then the changes after it */
    LC_READ_CHANGES, /* what comes after the cursor */
    LC_READ_STATE    /* the latest state */
};

/** Opens a feed that lc_run_cancel() can reach; close with lc_run_close_feed(). */
lcdc_status lc_run_open_feed(struct lc_table_run *run, enum lc_read_kind kind, lcdc_error **err);
void lc_run_close_feed(struct lc_table_run *run);

/** run_bind.c: holds the feed's columns against config and ledger, and binds transforms to them when they changed. */
lcdc_status lc_run_bind(struct lc_table_run *run, lcdc_error **err);
/** An error of a feed that was opened with the config's options, as what it means here. */
lcdc_status lc_run_explain(struct lc_table_run *run, lcdc_error *take_problem, lcdc_error **err);
lcdc_status lc_run_open_sink(struct lc_table_run *run, lcdc_error **err);
void lc_run_close_sink(struct lc_table_run *run);
/** Once a process: whether the ledger or the sink says where to go on. */
lcdc_status lc_run_decide_cursor(struct lc_table_run *run, lcdc_error **err);
void lc_run_unbind(struct lc_table_run *run);

/** run_deliver.c: the feed's commits go to the sink, and the cursor after them to the ledger. */
lcdc_status lc_run_deliver(struct lc_table_run *run, enum lc_read_kind kind, bool *worked, lcdc_error **err);
lcdc_status lc_run_save(struct lc_table_run *run, lcdc_error **err);
/** What went well takes the last error away. *changed: the state says something else than before. */
lcdc_status lc_run_succeed(struct lc_table_run *run, bool *changed, lcdc_error **err);

#endif
