/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite_link.c - statements of the SQLite sink, what their errors mean, and how they are stopped.
 */
#include "sink/sqlite_parts.h"

#include <stdatomic.h>
#include <time.h>

enum { PROGRESS_STEPS = 10000, BUSY_SLEEP_MS = 20 };

/* ---- errors ---- */

static enum lc_reason reason_of(int code)
{
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return LC_R_SINK_LOCKED;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return LC_R_SINK_DENIED;
    case SQLITE_CANTOPEN:
        return LC_R_SINK_MISSING;
    case SQLITE_FULL:
        return LC_R_SINK_FULL;
    case SQLITE_CONSTRAINT:
        return LC_R_SINK_CONSTRAINT;
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
        return LC_R_SINK_VALUE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return LC_R_SINK_ALTERED;
    case SQLITE_INTERRUPT:
        return LC_R_CANCELLED;
    case SQLITE_NOMEM:
        return LC_R_OUT_OF_MEMORY;
    default:
        return LC_R_SINK_FAILED;
    }
}

lcdc_status lc_sqlite_fail(struct sqlite_sink *sink, lcdc_error **err)
{
    int code = sqlite3_extended_errcode(sink->db);
    enum lc_reason reason = reason_of(code);
    if (reason == LC_R_OUT_OF_MEMORY)
        return lc_fail_oom(err);
    if (reason == LC_R_CANCELLED)
        return lc_fail(err, reason, "writing to target %s was cancelled", sink->target.shown);
    return lc_fail(err, reason, "target %s in %s: %s (sqlite %d)", sink->target.shown, sink->path,
                   sqlite3_errmsg(sink->db), code);
}

bool lc_sqlite_is_cancelled(const struct sqlite_sink *sink)
{
    const _Atomic int *flag = sink->target.setup->cancelled;
    return flag && atomic_load(flag);
}

static int on_progress(void *sink)
{
    return lc_sqlite_is_cancelled(sink);
}

/* Called again and again while another connection holds the lock; 0 gives up. */
static int on_busy(void *context, int tries)
{
    const struct sqlite_sink *sink = context;
    struct timespec pause = {.tv_nsec = BUSY_SLEEP_MS * 1000000L};
    if (lc_sqlite_is_cancelled(sink) || (int64_t)tries * BUSY_SLEEP_MS >= sink->busy_ms)
        return 0;
    nanosleep(&pause, NULL);
    return 1;
}

void lc_sqlite_watch(struct sqlite_sink *sink)
{
    sqlite3_progress_handler(sink->db, PROGRESS_STEPS, on_progress, sink);
    sqlite3_busy_handler(sink->db, on_busy, sink);
}

/* ---- statements ---- */

lcdc_status lc_sqlite_prepare(struct sqlite_sink *sink, const struct lc_buf *sql, sqlite3_stmt **out, lcdc_error **err)
{
    LC_TRY_BUF(sql);
    return sqlite3_prepare_v2(sink->db, sql->p, (int)sql->n, out, NULL) == SQLITE_OK ? LCDC_OK
                                                                                     : lc_sqlite_fail(sink, err);
}

lcdc_status lc_sqlite_step(struct sqlite_sink *sink, sqlite3_stmt *statement, bool *out_row, lcdc_error **err)
{
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        if (lc_sqlite_is_cancelled(sink))
            return lc_fail(err, LC_R_CANCELLED, "writing to target %s was cancelled", sink->target.shown);
        return lc_sqlite_fail(sink, err);
    }
    *out_row = code == SQLITE_ROW;
    return LCDC_OK;
}

lcdc_status lc_sqlite_run(struct sqlite_sink *sink, struct lc_buf *sql, lcdc_error **err)
{
    sqlite3_stmt *statement LC_SQLITE_STATEMENT = NULL;
    bool is_row = false;
    LC_TRY(lc_sqlite_prepare(sink, sql, &statement, err));
    lc_buf_clear(sql);
    return lc_sqlite_step(sink, statement, &is_row, err);
}

lcdc_status lc_sqlite_run_text(struct sqlite_sink *sink, const char *text, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, text);
    return lc_sqlite_run(sink, &sql, err);
}

lcdc_status lc_sqlite_has_row(struct sqlite_sink *sink, const struct lc_buf *sql, bool *out, lcdc_error **err)
{
    sqlite3_stmt *statement LC_SQLITE_STATEMENT = NULL;
    LC_TRY(lc_sqlite_prepare(sink, sql, &statement, err));
    return lc_sqlite_step(sink, statement, out, err);
}
