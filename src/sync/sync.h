/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - a sync as its files see it: the config, its tables, and who is at work on which.
 *
 * Workers take the table that is due the longest; `mutex` guards when tables are due and whether they are being worked
 * on, nothing else. The thread that called lcdc_sync_run() waits for a stop and serves the metrics.
 */
#ifndef LC_SYNC_SYNC_H
#define LC_SYNC_SYNC_H

#include "sync/metrics.h"
#include "sync/run.h"

struct lc_job {
    struct lc_table_run run;
    int64_t due_ms;        /* on lc_clock_ms() */
    bool is_busy, is_done; /* done: this run's round was made (once) */
    bool has_failed;       /* its last round did */
    lcdc_error *problem;   /* of the last round */
};

/** A source or a sink of the config, which many tables may share. */
struct lc_place {
    enum { LC_PLACE_UNKNOWN, LC_PLACE_ANSWERS, LC_PLACE_SILENT } is; /* what its last table found */
    size_t n_busy;                                                   /* tables of it that are being worked on */
};

struct lcdc_sync {
    struct lc_config config;
    struct lc_world world;
    struct lc_sync_log log;
    bool once;
    size_t n_jobs;
    struct lc_job *jobs;
    int wake[2]; /* a pipe: the end of a run, or a stop */
    _Atomic int stopping;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t n_done;
    struct lc_place *sources, *sinks; /* as in the config */
    struct lc_metrics metrics;
};

/** The `answered` of the world, with the sync as its context. */
void lc_sync_answered(void *sync, const struct lc_table_config *table, bool is_sink);

/** Makes rounds until the sync is stopped, or each table's one is made. @thread a worker */
void lc_sync_work(lcdc_sync *sync);

#endif
