/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - a running sync: tables that never stop changing, kept in step with targets, and the ledger of how far it is.
 *
 *     lcdc_sync_open("sync.yaml", &options, &sync, &err)   reads and checks the config, locks the ledger
 *     lcdc_sync_run(sync, &err)                            reads, transforms, delivers, until it is stopped
 *     lcdc_sync_stop(sync)                                 from a signal handler or another thread
 *
 * docs/sync.md tells what is guaranteed; docs/sync-config.md lists every key of a config.
 */
#ifndef LAKECDC_SYNC_H
#define LAKECDC_SYNC_H

#include "base.h"
#include "error.h"
#include "request.h"
#include "writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sync ------------------------------------------------------------------------------------------------------ */

typedef struct lcdc_sync lcdc_sync;

/** Takes one line of the log, without its newline. Called by several threads, one at a time; must not throw. */
typedef void (*lcdc_sync_log_fn)(void *context, const char *line);

/** What wins over the config. Set to zero for the config's own words. */
typedef struct lcdc_sync_options {
    bool once;              /**< every table is read up to its tip once, then the run ends */
    bool dry_run;           /**< reads and says what would be delivered; moves nothing; implies `once` */
    const char *interval;   /**< "10s" for every table; NULL: as the config says */
    const char *log_format; /**< "json" or "text"; NULL: as the config says */
    lcdc_sync_log_fn log;   /**< NULL: nothing is said */
    void *log_context;
} lcdc_sync_options;

/**
 * Reads a config. Every mistake in it is LCDC_INVALID_ARGUMENT with file and line. Nothing is opened yet.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_sync_open(const char *config, const lcdc_sync_options *options,
                                                     lcdc_sync **out, lcdc_error **err);

/**
 * Opens every table of the config, reads its schema, and holds columns, filter, identity and transforms against it;
 * no row is read and no sink is opened. `out` gets one line of text a table. The error is the first that was found.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_sync_check(lcdc_sync *sync, lcdc_write_fn out, void *context,
                                                      lcdc_error **err);

/**
 * Runs until it is stopped, or once. Locks the ledger: LCDC_UNAVAILABLE ("ledger.in_use") names the process that holds
 * it. A table that fails does not end the run and does not hold up another; with `once` the error tells of the first
 * that did not succeed. LCDC_OK after lcdc_sync_stop().
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_sync_run(lcdc_sync *sync, lcdc_error **err);

/**
 * Ends a run within a second: windows that are being delivered are taken back, or are whole. Any thread, at any time
 * while the sync exists; async-signal-safe.
 */
LCDC_EXPORT void lcdc_sync_stop(lcdc_sync *sync);

/** A line for the log of a sync, in its format; for what the library says on the log hook. Any thread. */
LCDC_EXPORT void lcdc_sync_log(lcdc_sync *sync, int level, const char *target, const char *message);

LCDC_EXPORT void lcdc_sync_free(lcdc_sync *sync);

/** The ledger's file, as the config says. Borrowed. */
LCDC_EXPORT const char *lcdc_sync_ledger(const lcdc_sync *sync);

/** Writes a config to begin with for the table of a request, made from its schema: `lcdc_sync_open` takes it. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_sync_starter(const lcdc_request *request, lcdc_write_fn out, void *context,
                                                        lcdc_error **err);

/* ---- ledger ---------------------------------------------------------------------------------------------------- */

typedef struct lcdc_ledger lcdc_ledger;

/**
 * Opens a ledger. With `writes` it is made when it is not there, and locked: LCDC_UNAVAILABLE ("ledger.in_use") names
 * the process that holds it. Without, LCDC_NOT_FOUND when it is not there; a sync may be running.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_ledger_open(const char *path, bool writes, lcdc_ledger **out,
                                                       lcdc_error **err);
/** The ledger that a config names. Of the config's variables only those of the ledger's path have to be set. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_ledger_open_config(const char *config, bool writes, lcdc_ledger **out,
                                                              lcdc_error **err);
LCDC_EXPORT void lcdc_ledger_free(lcdc_ledger *ledger);

/** What a ledger remembers of one table. Texts are borrowed for the call; NULL and INT64_MIN: there is none. */
typedef struct lcdc_ledger_table {
    const char *name;
    const char *state; /**< new, active, failing, paused; or why it is stopped: recreated, schema_changed, expired,
                          rolled_back, target_reset */
    bool stopped;      /**< a person must say how it goes on */
    const char *cursor;
    int64_t rows, commits, windows; /**< delivered, read, committed by the sink, since the table was begun */
    int64_t failures;               /**< rounds in a row that failed */
    int64_t commit, commit_us;      /**< the last commit that was read, and its time; commit -1: none */
    int64_t success_us, updated_us; /**< when a round last succeeded; when this was written */
    const char *error_reason, *error_message;
    const char *state_json; /**< all of it, one JSON object on one line */
} lcdc_ledger_table;

/** Calls `row` for each table in the order of their names. */
typedef void (*lcdc_ledger_row_fn)(void *context, const lcdc_ledger_table *table);
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_ledger_each(lcdc_ledger *ledger, lcdc_ledger_row_fn row, void *context,
                                                       lcdc_error **err);

/** The next run begins the table anew: the whole state replaces what the target holds. Ends every stop. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_ledger_reset(lcdc_ledger *ledger, const char *table, lcdc_error **err);

/** Goes on where the cursor stands; a schema that stopped the table is accepted. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_ledger_resume(lcdc_ledger *ledger, const char *table, lcdc_error **err);

/** The table is left alone until it is resumed. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_ledger_pause(lcdc_ledger *ledger, const char *table, lcdc_error **err);

/** The next run goes on after this cursor, whatever the sink says; the table need not be in the ledger yet. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_ledger_set_cursor(lcdc_ledger *ledger, const char *table, const char *cursor,
                                                             lcdc_error **err);

#ifdef __cplusplus
}
#endif
#endif
