/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/ledger.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "core/cursor.h"
#include "sync/lock.h"

enum { APPLICATION_ID = 0x6c636463, FORM = 1, BUSY_MS = 5000 };

struct lcdc_ledger {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *load, *save;
    int lock; /* -1: read only */
    pthread_mutex_t mutex;
};

static void finalizep(sqlite3_stmt **statement)
{
    (void)sqlite3_finalize(*statement);
}
#define STATEMENT LC_CLEANUP(finalizep)

/* ---- errors ---- */

static lcdc_status failed(const lcdc_ledger *ledger, const char *doing, lcdc_error **err)
{
    int code = sqlite3_errcode(ledger->db) & 0xFF;
    if (code == SQLITE_NOMEM)
        return lc_fail_oom(err);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        return lc_fail(err, LC_R_LEDGER_BAD, "ledger %s: %s", ledger->path, sqlite3_errmsg(ledger->db));
    return lc_fail(err, LC_R_LEDGER_FAILED, "ledger %s: %s: %s", ledger->path, doing, sqlite3_errmsg(ledger->db));
}

/* ---- opening ---- */

static lcdc_status run(lcdc_ledger *ledger, const char *sql, lcdc_error **err)
{
    if (sqlite3_exec(ledger->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return failed(ledger, "cannot be set up", err);
    return LCDC_OK;
}

static lcdc_status number_of(lcdc_ledger *ledger, const char *sql, int64_t *out, lcdc_error **err)
{
    STATEMENT sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
        return failed(ledger, "cannot be read", err);
    *out = sqlite3_column_int64(statement, 0);
    return LCDC_OK;
}

/* An empty file becomes a ledger; any other must be one. */
static lcdc_status check_form(lcdc_ledger *ledger, bool writes, lcdc_error **err)
{
    int64_t application = 0, form = 0, tables = 0;
    LC_TRY(number_of(ledger, "SELECT count(*) FROM sqlite_master", &tables, err)); /* first: it comes with the rest */
    LC_TRY(number_of(ledger, "PRAGMA application_id", &application, err));
    LC_TRY(number_of(ledger, "PRAGMA user_version", &form, err));
    bool is_empty = application == 0 && form == 0 && tables == 0;
    if (!writes && is_empty)
        return lc_fail(err, LC_R_FILE_MISSING, "there is no ledger in %s yet; a sync makes it", ledger->path);
    if (is_empty)
        return run(ledger,
                   "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE;"
                   "CREATE TABLE tables (name TEXT PRIMARY KEY, state_json TEXT NOT NULL) WITHOUT ROWID;"
                   "PRAGMA application_id=1818453091; PRAGMA user_version=1; COMMIT",
                   err);
    if (application != APPLICATION_ID)
        return lc_fail(err, LC_R_LEDGER_BAD, "%s is an SQLite file of something else, not a ledger", ledger->path);
    if (form != FORM)
        return lc_fail(err, LC_R_LEDGER_BAD, "ledger %s has form %d, this lakecdc knows %d", ledger->path, (int)form,
                       (int)FORM);
    return LCDC_OK;
}

static lcdc_status take_lock(lcdc_ledger *ledger, lcdc_error **err)
{
    LC_BUF struct lc_buf path = {.max = 1 << 16};
    lc_buf_printf(&path, "%s.lock", ledger->path);
    LC_TRY_BUF(&path);
    return lc_lock_take(path.p, &ledger->lock, err);
}

static lcdc_status prepare(lcdc_ledger *ledger, bool writes, lcdc_error **err)
{
    static const char load[] = "SELECT state_json FROM tables WHERE name=?";
    static const char save[] = "INSERT INTO tables (name, state_json) VALUES (?, ?) "
                               "ON CONFLICT (name) DO UPDATE SET state_json=excluded.state_json";
    if (sqlite3_prepare_v3(ledger->db, load, -1, SQLITE_PREPARE_PERSISTENT, &ledger->load, NULL) != SQLITE_OK ||
        (writes &&
         sqlite3_prepare_v3(ledger->db, save, -1, SQLITE_PREPARE_PERSISTENT, &ledger->save, NULL) != SQLITE_OK))
        return failed(ledger, "cannot be read", err);
    return LCDC_OK;
}

static lcdc_status open_file(lcdc_ledger *ledger, bool writes, lcdc_error **err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (writes ? SQLITE_OPEN_CREATE : 0);
    if (!writes && access(ledger->path, F_OK) != 0)
        return lc_fail(err, LC_R_FILE_MISSING, "there is no ledger %s; a sync makes it", ledger->path);
    if (writes)
        LC_TRY(take_lock(ledger, err));
    if (sqlite3_open_v2(ledger->path, &ledger->db, flags, NULL) != SQLITE_OK)
        return ledger->db ? failed(ledger, "cannot be opened", err) : lc_fail_oom(err);
    (void)sqlite3_busy_timeout(ledger->db, BUSY_MS);
    (void)sqlite3_extended_result_codes(ledger->db, 0);
    LC_TRY(check_form(ledger, writes, err));
    if (writes)
        LC_TRY(run(ledger, "PRAGMA synchronous=FULL", err));
    return prepare(ledger, writes, err);
}

lcdc_status lcdc_ledger_open(const char *path, bool writes, lcdc_ledger **out, lcdc_error **err)
{
    if (!path || !*path || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_ledger_open: a path and an output are needed");
    lcdc_ledger *ledger = lc_calloc(1, sizeof(*ledger));
    LC_TRY_ALLOC(ledger);
    ledger->lock = -1;
    (void)pthread_mutex_init(&ledger->mutex, NULL);
    ledger->path = lc_strdup(path);
    lcdc_status status = ledger->path ? open_file(ledger, writes, err) : lc_fail_oom(err);
    if (status == LCDC_OK)
        *out = ledger;
    else
        lcdc_ledger_free(ledger);
    return status;
}

void lcdc_ledger_free(lcdc_ledger *ledger)
{
    if (!ledger)
        return;
    (void)sqlite3_finalize(ledger->load);
    (void)sqlite3_finalize(ledger->save);
    (void)sqlite3_close(ledger->db);
    if (ledger->lock >= 0)
        (void)close(ledger->lock);
    (void)pthread_mutex_destroy(&ledger->mutex);
    lc_free(ledger->path);
    lc_free(ledger);
}

const char *lc_ledger_path(const lcdc_ledger *ledger)
{
    return ledger->path;
}

/* ---- rows ---- */

static lcdc_status load_row(lcdc_ledger *ledger, const char *table, struct lc_state *out, bool *found, lcdc_error **err)
{
    sqlite3_stmt *load = ledger->load;
    (void)sqlite3_bind_text(load, 1, table, -1, SQLITE_STATIC);
    int step = sqlite3_step(load);
    *found = step == SQLITE_ROW;
    if (step == SQLITE_DONE)
        return LCDC_OK;
    if (step != SQLITE_ROW)
        return failed(ledger, "cannot be read", err);
    const char *text = (const char *)sqlite3_column_text(load, 0);
    return lc_state_parse((struct lc_str){text ? text : "", (size_t)sqlite3_column_bytes(load, 0)}, table, out, err);
}

lcdc_status lc_ledger_load(lcdc_ledger *ledger, const char *table, struct lc_state *out, bool *found, lcdc_error **err)
{
    (void)pthread_mutex_lock(&ledger->mutex);
    lcdc_status status = load_row(ledger, table, out, found, err);
    (void)sqlite3_reset(ledger->load);
    (void)sqlite3_clear_bindings(ledger->load);
    (void)pthread_mutex_unlock(&ledger->mutex);
    return status;
}

lcdc_status lc_ledger_save(lcdc_ledger *ledger, const char *table, struct lc_state *state, lcdc_error **err)
{
    LC_BUF struct lc_buf json = {.max = LC_BUF_MAX};
    state->updated_at = lc_now_us();
    lc_state_print(state, table, &json);
    LC_TRY_BUF(&json);
    if (!ledger->save)
        return lc_fail(err, LC_R_INTERNAL, "ledger %s is open for reading alone", ledger->path);
    (void)pthread_mutex_lock(&ledger->mutex);
    (void)sqlite3_bind_text(ledger->save, 1, table, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text64(ledger->save, 2, json.p, json.n, SQLITE_STATIC, SQLITE_UTF8);
    lcdc_status status = sqlite3_step(ledger->save) == SQLITE_DONE ? LCDC_OK : failed(ledger, "cannot be written", err);
    (void)sqlite3_reset(ledger->save);
    (void)sqlite3_clear_bindings(ledger->save);
    (void)pthread_mutex_unlock(&ledger->mutex);
    return status;
}

static lcdc_status show_row(const char *name, const char *json, lcdc_ledger_row_fn row, void *context, lcdc_error **err)
{
    LC_STATE struct lc_state state;
    lc_state_init(&state);
    LC_TRY(lc_state_parse(lc_str_of(json), name, &state, err));
    const lcdc_ledger_table table = {.name = name,
                                     .state = lc_state_word(state.kind),
                                     .stopped = lc_state_is_stopped(state.kind),
                                     .cursor = state.cursor,
                                     .rows = state.rows,
                                     .commits = state.commits,
                                     .windows = state.windows,
                                     .failures = state.failures,
                                     .commit = state.commit_id,
                                     .commit_us = state.commit_at,
                                     .success_us = state.success_at,
                                     .updated_us = state.updated_at,
                                     .error_reason = state.error_reason,
                                     .error_message = state.error_message,
                                     .state_json = json};
    row(context, &table);
    return LCDC_OK;
}

lcdc_status lcdc_ledger_each(lcdc_ledger *ledger, lcdc_ledger_row_fn row, void *context, lcdc_error **err)
{
    STATEMENT sqlite3_stmt *statement = NULL;
    if (!ledger || !row)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_ledger_each: a ledger and a function are needed");
    if (sqlite3_prepare_v2(ledger->db, "SELECT name, state_json FROM tables ORDER BY name", -1, &statement, NULL) !=
        SQLITE_OK)
        return failed(ledger, "cannot be read", err);
    int step;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        const char *json = (const char *)sqlite3_column_text(statement, 1);
        if (!name || !json)
            return lc_fail(err, LC_R_LEDGER_BAD, "ledger %s has a row without a name or a state", ledger->path);
        LC_TRY(show_row(name, json, row, context, err));
    }
    return step == SQLITE_DONE ? LCDC_OK : failed(ledger, "cannot be read", err);
}

/* ---- what a person says ---- */

static lcdc_status load_known(lcdc_ledger *ledger, const char *table, struct lc_state *out, lcdc_error **err)
{
    bool found = false;
    if (!ledger || !table || !*table)
        return lc_fail(err, LC_R_OPTION_VALUE, "a ledger and a table are needed");
    LC_TRY(lc_ledger_load(ledger, table, out, &found, err));
    if (found)
        return LCDC_OK;
    return lc_fail(err, LC_R_LEDGER_TABLE, "ledger %s has no table '%.100s'", ledger->path, table);
}

static void forget_error(struct lc_state *state)
{
    lc_free(lc_steal(state->error_reason));
    lc_free(lc_steal(state->error_message));
    state->error_at = INT64_MIN;
    state->failures = 0;
}

lcdc_status lcdc_ledger_reset(lcdc_ledger *ledger, const char *table, lcdc_error **err)
{
    LC_STATE struct lc_state state;
    lc_state_init(&state);
    LC_TRY(load_known(ledger, table, &state, err));
    lc_state_done(&state);
    state.restart = true;
    return lc_ledger_save(ledger, table, &state, err);
}

lcdc_status lcdc_ledger_resume(lcdc_ledger *ledger, const char *table, lcdc_error **err)
{
    LC_STATE struct lc_state state;
    lc_state_init(&state);
    LC_TRY(load_known(ledger, table, &state, err));
    if (state.kind == LC_STATE_SCHEMA_CHANGED)
        lc_free(lc_steal(state.columns));
    state.kind = state.cursor ? LC_STATE_ACTIVE : LC_STATE_NEW;
    forget_error(&state);
    return lc_ledger_save(ledger, table, &state, err);
}

lcdc_status lcdc_ledger_pause(lcdc_ledger *ledger, const char *table, lcdc_error **err)
{
    LC_STATE struct lc_state state;
    lc_state_init(&state);
    LC_TRY(load_known(ledger, table, &state, err));
    state.kind = LC_STATE_PAUSED;
    return lc_ledger_save(ledger, table, &state, err);
}

lcdc_status lcdc_ledger_set_cursor(lcdc_ledger *ledger, const char *table, const char *cursor, lcdc_error **err)
{
    LC_STATE struct lc_state state;
    struct lc_cursor parsed;
    bool found = false;
    lc_state_init(&state);
    if (!ledger || !table || !*table || !cursor)
        return lc_fail(err, LC_R_OPTION_VALUE, "a ledger, a table and a cursor are needed");
    LC_TRY(lc_cursor_parse(cursor, &parsed, err));
    LC_TRY(lc_ledger_load(ledger, table, &state, &found, err));
    LC_TRY(lc_state_text(&state.cursor, cursor, err));
    LC_TRY(lc_state_text(&state.table_id, NULL, err));
    state.kind = LC_STATE_ACTIVE;
    state.restart = state.agreed = false;
    state.forced = true;
    state.commit_id = parsed.after;
    state.commit_at = INT64_MIN;
    forget_error(&state);
    return lc_ledger_save(ledger, table, &state, err);
}
