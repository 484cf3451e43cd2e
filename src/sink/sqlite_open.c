/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite_open.c - a SQLite file made ready: its target and the row of lakecdc_cursor are there and fit, in one
 * transaction, or nothing was changed.
 */
#include "sink/sqlite_parts.h"

#include <string.h>

enum { MAX_BUSY_S = 86400 };

lcdc_status lc_sqlite_read_state(struct sqlite_sink *sink, struct lc_db_state *out, lcdc_error **err)
{
    sqlite3_stmt *statement LC_SQLITE_STATEMENT = NULL;
    struct lc_buf sql LC_BUF;
    bool is_row = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_db_select_state(&sql, &sink->target, true);
    LC_TRY(lc_sqlite_prepare(sink, &sql, &statement, err));
    LC_TRY(lc_sqlite_step(sink, statement, &is_row, err));
    for (int i = 0; is_row && i < LC_DB_STATE_FIELDS; i++)
        LC_TRY(lc_db_state_take(out, i, (const char *)sqlite3_column_text(statement, i), err));
    return LCDC_OK;
}

static lcdc_status make_cursor_table(struct sqlite_sink *sink, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    bool is_there = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SELECT 1 FROM main.sqlite_master WHERE name = '" LC_DB_CURSOR "' COLLATE NOCASE");
    LC_TRY(lc_sqlite_has_row(sink, &sql, &is_there, err));
    if (is_there)
        return LCDC_OK;
    lc_buf_clear(&sql);
    lc_db_create_cursor(&sql, &sink->target);
    return lc_sqlite_run(sink, &sql, err);
}

struct found_columns {
    struct lc_arena arena;
    size_t n, capacity;
    struct lc_db_found *columns;
};

static void found_done(struct found_columns *found)
{
    lc_free(found->columns);
    lc_arena_done(&found->arena);
}
#define FOUND LC_CLEANUP(found_done)

static lcdc_status add_found(struct found_columns *found, sqlite3_stmt *row, lcdc_error **err)
{
    if (found->n == found->capacity) {
        size_t capacity = found->capacity ? 2 * found->capacity : 32;
        struct lc_db_found *grown = lc_realloc(found->columns, capacity, sizeof(*grown));
        LC_TRY_ALLOC(grown);
        found->columns = grown;
        found->capacity = capacity;
    }
    const char *name = (const char *)sqlite3_column_text(row, 0), *type = (const char *)sqlite3_column_text(row, 1);
    struct lc_db_found *column = &found->columns[found->n++];
    column->name = lc_arena_strdup(&found->arena, name ? name : "");
    column->type = lc_arena_strdup(&found->arena, type ? type : "");
    column->may_be_left_out = sqlite3_column_int(row, 2) || sqlite3_column_type(row, 3) != SQLITE_NULL;
    LC_TRY_ALLOC(column->name);
    LC_TRY_ALLOC(column->type);
    return LCDC_OK;
}

static lcdc_status find_columns(struct sqlite_sink *sink, struct found_columns *found, lcdc_error **err)
{
    sqlite3_stmt *statement LC_SQLITE_STATEMENT = NULL;
    struct lc_buf sql LC_BUF;
    bool is_row = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SELECT name, type, NOT \"notnull\", dflt_value FROM pragma_table_info(");
    lc_db_text(&sql, lc_str_of(sink->target.table));
    lc_buf_text(&sql, ", 'main')");
    LC_TRY(lc_sqlite_prepare(sink, &sql, &statement, err));
    LC_TRY(lc_sqlite_step(sink, statement, &is_row, err));
    while (is_row) {
        LC_TRY(add_found(found, statement, err));
        LC_TRY(lc_sqlite_step(sink, statement, &is_row, err));
    }
    return LCDC_OK;
}

static lcdc_status create_target(struct sqlite_sink *sink, const struct lc_db_state *state, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(lc_db_check_gone(&sink->target, state, err));
    lc_db_create_target(&sql, &sink->target);
    return lc_sqlite_run(sink, &sql, err);
}

static lcdc_status fill_column(struct sqlite_sink *sink, const struct lc_db_column *column,
                               const struct lc_db_state *state, lcdc_error **err)
{
    sqlite3_stmt *statement LC_SQLITE_STATEMENT = NULL;
    struct lc_db_one one;
    struct lc_buf sql LC_BUF;
    bool is_row;
    lc_buf_init(&sql, LC_BUF_MAX);
    if (!lc_db_default_row(&sink->target, column, state, &one))
        return LCDC_OK;
    lc_db_fill_column(&sql, &sink->target, column, LC_STR("?"));
    LC_TRY(lc_sqlite_prepare(sink, &sql, &statement, err));
    LC_TRY(lc_sqlite_bind(sink, statement, 1, column->field, &one.array, 0, err));
    return lc_sqlite_step(sink, statement, &is_row, err);
}

static lcdc_status fit_target(struct sqlite_sink *sink, const struct found_columns *found,
                              const struct lc_db_state *state, lcdc_error **err)
{
    const struct lc_db_target *target = &sink->target;
    enum lc_db_change *changes LC_CLEANUP(lc_freep) = lc_calloc(target->n_columns, sizeof(*changes));
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY_ALLOC(changes);
    LC_TRY(lc_db_compare(target, found->n, found->columns, state->columns, changes, err));
    for (size_t i = 0; i < target->n_columns; i++) {
        if (changes[i] != LC_DB_MISSING)
            continue;
        lc_db_add_column(&sql, target, &target->columns[i]);
        LC_TRY(lc_sqlite_run(sink, &sql, err));
        LC_TRY(fill_column(sink, &target->columns[i], state, err));
    }
    return LCDC_OK;
}

/* Within a transaction: the target and its row of lakecdc_cursor are there and fit afterwards. */
static lcdc_status settle(struct sqlite_sink *sink, lcdc_error **err)
{
    struct lc_db_state state LC_DB_STATE = {0};
    struct found_columns found FOUND = {0};
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(make_cursor_table(sink, err));
    LC_TRY(lc_sqlite_read_state(sink, &state, err));
    LC_TRY(lc_db_check_state(&sink->target, &state, err));
    LC_TRY(find_columns(sink, &found, err));
    if (found.n == 0)
        LC_TRY(create_target(sink, &state, err));
    else
        LC_TRY(fit_target(sink, &found, &state, err));
    if (!state.is_there) {
        lc_db_insert_state(&sql, &sink->target);
        LC_TRY(lc_sqlite_run(sink, &sql, err));
    }
    lc_db_update_columns(&sql, &sink->target);
    LC_TRY(lc_sqlite_run(sink, &sql, err));
    sink->place.known = lc_steal(state.cursor);
    return LCDC_OK;
}

static lcdc_status prepare_insert(struct sqlite_sink *sink, bool stage, sqlite3_stmt **out, lcdc_error **err)
{
    const struct lc_db_target *target = &sink->target;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "INSERT INTO ");
    if (stage)
        lc_buf_text(&sql, "temp." LC_DB_STAGE);
    else
        lc_db_target_name(&sql, target);
    lc_buf_text(&sql, " (");
    lc_db_columns(&sql, target, stage);
    lc_buf_text(&sql, ") VALUES (?");
    for (size_t i = 1; i < target->n_columns + 2 * stage; i++)
        lc_buf_text(&sql, ", ?");
    lc_buf_char(&sql, ')');
    return lc_sqlite_prepare(sink, &sql, out, err);
}

static lcdc_status prepare_statements(struct sqlite_sink *sink, lcdc_error **err)
{
    sqlite3_stmt *upsert LC_SQLITE_STATEMENT = NULL;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(prepare_insert(sink, false, &sink->direct, err));
    if (sink->target.mode != LC_DB_UPSERT)
        return LCDC_OK;
    lc_db_create_stage(&sql, &sink->target);
    LC_TRY(lc_sqlite_run(sink, &sql, err));
    LC_TRY(prepare_insert(sink, true, &sink->stage, err));
    lc_db_upsert_staged(&sql, &sink->target);
    LC_TRY_BUF(&sql);
    if (sqlite3_prepare_v2(sink->db, sql.p, (int)sql.n, &upsert, NULL) == SQLITE_OK)
        return LCDC_OK;
    return lc_fail(
        err, LC_R_SINK_SCHEMA,
        "target %s in %s cannot be written by identity: %s; give it a unique index over the identity columns",
        sink->target.shown, sink->path, sqlite3_errmsg(sink->db));
}

/* Which journal there is decides no result, so that a database that keeps its own is no failure. */
static void set_journal(struct sqlite_sink *sink, const char *mode)
{
    if (strcmp(mode, "keep") != 0)
        sqlite3_exec(sink->db, strcmp(mode, "wal") == 0 ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE",
                     NULL, NULL, NULL);
}

lcdc_status lc_sqlite_attach(struct sqlite_sink *sink, lcdc_error **err)
{
    const struct lc_sink_setup *setup = sink->target.setup;
    int64_t seconds;
    const char *busy = lc_sink_setting(sink->base.ops, setup, "busy_timeout");
    if (!lc_parse_i64(lc_str_of(busy), &seconds) || seconds < 0 || seconds > MAX_BUSY_S)
        return lc_fail(err, LC_R_OPTION_VALUE, "busy_timeout is \"%.*s\"; 0 to %d seconds are expected",
                       LC_STR_ARG(lc_str_of(busy)), MAX_BUSY_S);
    sink->busy_ms = seconds * 1000;
    int code = sqlite3_open_v2(sink->path, &sink->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL);
    if (!sink->db)
        return lc_fail_oom(err);
    sqlite3_extended_result_codes(sink->db, 1);
    if (code != SQLITE_OK)
        return lc_sqlite_fail(sink, err);
    lc_sqlite_watch(sink);
    set_journal(sink, lc_sink_setting(sink->base.ops, setup, "journal"));
    LC_TRY(lc_sqlite_run_text(sink, "BEGIN IMMEDIATE", err));
    LC_TRY(settle(sink, err));
    LC_TRY(prepare_statements(sink, err));
    return lc_sqlite_run_text(sink, "COMMIT", err);
}
