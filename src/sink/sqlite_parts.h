/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite_parts.h - what the files of the SQLite sink share: the sink, and statements that report as it does.
 */
#ifndef LC_SINK_SQLITE_PARTS_H
#define LC_SINK_SQLITE_PARTS_H

#include <sqlite3.h>

#include "sink/db.h"

struct sqlite_sink {
    struct lc_sink base;
    struct lc_db_target target;
    const char *path;
    int64_t busy_ms;
    sqlite3 *db;
    sqlite3_stmt *direct, *stage; /* inserts into the target, and into the stage */
    struct lc_db_place place;
    struct lc_window window;
    bool is_staged;
    int64_t seq, events; /* rows of the window in the stage; rows of the history */
    struct lc_buf scratch;
};

static inline void lc_sqlite_finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}
#define LC_SQLITE_STATEMENT LC_CLEANUP(lc_sqlite_finalize)

bool lc_sqlite_is_cancelled(const struct sqlite_sink *sink);
/** The last error of the connection, as one of ours. */
lcdc_status lc_sqlite_fail(struct sqlite_sink *sink, lcdc_error **err);
/** Has the engine look at the flag while it works and while it waits for a lock. */
void lc_sqlite_watch(struct sqlite_sink *sink);

lcdc_status lc_sqlite_prepare(struct sqlite_sink *sink, const struct lc_buf *sql, sqlite3_stmt **out, lcdc_error **err);
/** One step of a statement; whether it gave a row. */
lcdc_status lc_sqlite_step(struct sqlite_sink *sink, sqlite3_stmt *statement, bool *out_row, lcdc_error **err);
/** Runs a statement, and clears its text. */
lcdc_status lc_sqlite_run(struct sqlite_sink *sink, struct lc_buf *sql, lcdc_error **err);
lcdc_status lc_sqlite_run_text(struct sqlite_sink *sink, const char *text, lcdc_error **err);
lcdc_status lc_sqlite_has_row(struct sqlite_sink *sink, const struct lc_buf *sql, bool *out, lcdc_error **err);

/** One value of a column as a parameter of a statement, from 1. */
lcdc_status lc_sqlite_bind(struct sqlite_sink *sink, sqlite3_stmt *statement, int place, const struct lc_field *field,
                           const struct ArrowArray *array, int64_t at, lcdc_error **err);

lcdc_status lc_sqlite_read_state(struct sqlite_sink *sink, struct lc_db_state *out, lcdc_error **err);
/** Opens the file, makes the target fit, and prepares what windows need. The sink may be half open on failure. */
lcdc_status lc_sqlite_attach(struct sqlite_sink *sink, lcdc_error **err);

#endif
