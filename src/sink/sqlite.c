/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite.c - the sink of SQLite: one file, one connection a target.
 *
 * A window is one BEGIN IMMEDIATE transaction of rows and cursor. The engine is asked to stop by its progress handler,
 * and while it waits for another writer by its busy handler; both look at the flag of the setup.
 */
#include "sink/sqlite_parts.h"

#include <math.h>
#include <string.h>

#include "write/text.h"

static const struct lc_sink_option options[] = {
    {.key = "path", .required = true, .help = "the database file; created when it is not there"},
    {.key = "journal",
     .initial = "wal",
     .words = "wal delete keep",
     .help = "journal mode of the file; keep: as it is"},
    {.key = "busy_timeout", .initial = "30", .help = "seconds to wait for another writer of the file"},
    {.key = "signed_zero",
     .initial = "drop",
     .words = "drop keep",
     .help = "-0.0 as the equal 0.0, as SQLite's REAL has it; or kept, in columns without a declared type"},
    LC_DB_OPTIONS,
};

static void close_sink(struct lc_sink *base)
{
    struct sqlite_sink *sink = (struct sqlite_sink *)base;
    if (!sink)
        return;
    sqlite3_finalize(sink->direct);
    sqlite3_finalize(sink->stage);
    sqlite3_close_v2(sink->db);
    lc_db_place_done(&sink->place);
    lc_buf_done(&sink->scratch);
    lc_db_target_done(&sink->target);
    lc_free(sink);
}

static lcdc_status open_sink(const struct lc_sink_setup *setup, struct lc_sink **out, lcdc_error **err)
{
    struct lc_sink *base LC_CLEANUP(lc_sink_closep) = NULL;
    struct sqlite_sink *sink = lc_calloc(1, sizeof(*sink));
    LC_TRY_ALLOC(sink);
    base = &sink->base;
    base->ops = &lc_sink_sqlite;
    lc_buf_init(&sink->scratch, LC_BUF_MAX);
    sink->path = lc_sink_setting(base->ops, setup, "path");
    if (!sink->path || !*sink->path)
        return lc_fail(err, LC_R_OPTION_VALUE, "sink sqlite needs a path, the database file");
    LC_TRY(lc_db_target_init(&sink->target, base->ops, LC_DB_SQLITE, setup, NULL, err));
    LC_TRY(lc_sqlite_attach(sink, err));
    *out = lc_steal(base);
    return LCDC_OK;
}

static lcdc_status get_cursor(struct lc_sink *base, char **out, lcdc_error **err)
{
    struct sqlite_sink *sink = (struct sqlite_sink *)base;
    char *copy = sink->place.known ? lc_strdup(sink->place.known) : NULL;
    if (sink->place.known)
        LC_TRY_ALLOC(copy);
    *out = copy;
    return LCDC_OK;
}

static void abort_window(struct lc_sink *base)
{
    struct sqlite_sink *sink = (struct sqlite_sink *)base;
    sqlite3_reset(sink->direct);
    sqlite3_reset(sink->stage);
    sink->place.skips = false;
    if (!sqlite3_get_autocommit(sink->db))
        sqlite3_exec(sink->db, "ROLLBACK", NULL, NULL, NULL);
}

static lcdc_status set_in_transaction(struct sqlite_sink *sink, const char *cursor, lcdc_error **err)
{
    struct lc_db_state state LC_DB_STATE = {0};
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(lc_sqlite_run_text(sink, "BEGIN IMMEDIATE", err));
    LC_TRY(lc_sqlite_read_state(sink, &state, err));
    LC_TRY(lc_db_place_begin(&sink->place, &sink->target, &state, err));
    lc_db_set_cursor(&sql, &sink->target, cursor);
    LC_TRY(lc_sqlite_run(sink, &sql, err));
    return lc_sqlite_run_text(sink, "COMMIT", err);
}

static lcdc_status set_cursor(struct lc_sink *base, const char *cursor, lcdc_error **err)
{
    struct sqlite_sink *sink = (struct sqlite_sink *)base;
    char *copy LC_CLEANUP(lc_freep) = cursor ? lc_strdup(cursor) : NULL;
    if (cursor)
        LC_TRY_ALLOC(copy);
    lcdc_status status = set_in_transaction(sink, cursor, err);
    abort_window(base);
    if (status == LCDC_OK)
        lc_db_place_set(&sink->place, lc_steal(copy));
    return status;
}

/* ---- a window ---- */

static lcdc_status is_empty(struct sqlite_sink *sink, bool *out, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    bool is_row = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SELECT 1 FROM ");
    lc_db_target_name(&sql, &sink->target);
    lc_buf_text(&sql, " LIMIT 1");
    LC_TRY(lc_sqlite_has_row(sink, &sql, &is_row, err));
    *out = !is_row;
    return LCDC_OK;
}

static lcdc_status begin(struct lc_sink *base, const struct lc_window *window, lcdc_error **err)
{
    struct sqlite_sink *sink = (struct sqlite_sink *)base;
    struct lc_db_state state LC_DB_STATE = {0};
    struct lc_buf sql LC_BUF;
    bool empty = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    sink->window = *window;
    sink->seq = 0;
    LC_TRY(lc_sqlite_run_text(sink, "BEGIN IMMEDIATE", err));
    LC_TRY(lc_sqlite_read_state(sink, &state, err));
    LC_TRY(lc_db_place_begin(&sink->place, &sink->target, &state, err));
    sink->events = state.events;
    if (window->kind != LC_WINDOW_CHANGES)
        LC_TRY(is_empty(sink, &empty, err));
    LC_TRY(lc_db_check_window(&sink->target, &sink->place, window, empty, &sink->is_staged, err));
    if (window->kind != LC_WINDOW_REPLACE || sink->target.mode == LC_DB_HISTORY || sink->place.skips)
        return LCDC_OK;
    lc_db_clear_target(&sql, &sink->target);
    return lc_sqlite_run(sink, &sql, err);
}

static int bind_text(sqlite3_stmt *statement, int place, struct lc_str text)
{
    return sqlite3_bind_text64(statement, place, text.p ? text.p : "", text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* A value that is not null, of a type with a form of its own; others are text. */
static int bind_scalar(struct sqlite_sink *sink, sqlite3_stmt *statement, int place, const struct lc_field *field,
                       const struct ArrowArray *array, int64_t at)
{
    struct lc_value value;
    lc_array_value(array, field->type, at, &value);
    switch (field->type.kind) {
    case LC_TYPE_BOOL:
        return sqlite3_bind_int(statement, place, value.b);
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        return sqlite3_bind_int64(statement, place, value.i);
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE: /* SQLite makes NULL of NaN */
        return isnan(value.f) ? bind_text(statement, place, LC_STR("NaN"))
                              : sqlite3_bind_double(statement, place, value.f);
    case LC_TYPE_STRING:
        return bind_text(statement, place, value.str);
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED: /* a NULL pointer would be null */
        return sqlite3_bind_blob64(statement, place, value.str.n ? value.str.p : "", value.str.n, SQLITE_TRANSIENT);
    default:
        lc_text_plain(&sink->scratch, field, array, at);
        return bind_text(statement, place, (struct lc_str){sink->scratch.p, sink->scratch.n});
    }
}

lcdc_status lc_sqlite_bind(struct sqlite_sink *sink, sqlite3_stmt *statement, int place, const struct lc_field *field,
                           const struct ArrowArray *array, int64_t at, lcdc_error **err)
{
    int code;
    lc_buf_clear(&sink->scratch);
    if (field->type.kind == LC_TYPE_NULL || lc_array_is_null(array, at)) {
        code = sqlite3_bind_null(statement, place);
    } else if (lc_type_is_nested(field->type.kind)) {
        lc_text_json(&sink->scratch, field, array, at);
        code = bind_text(statement, place, (struct lc_str){sink->scratch.p, sink->scratch.n});
    } else {
        code = bind_scalar(sink, statement, place, field, array, at);
    }
    LC_TRY_BUF(&sink->scratch);
    return code == SQLITE_OK ? LCDC_OK : lc_sqlite_fail(sink, err);
}

static lcdc_status bind_own(struct sqlite_sink *sink, sqlite3_stmt *statement, const struct lc_db_row *row,
                            lcdc_error **err)
{
    struct lc_value time = {.type.kind = LC_TYPE_TIMESTAMP_TZ, .i = row->ts_us};
    lc_buf_clear(&sink->scratch);
    lc_value_print(&sink->scratch, &time);
    LC_TRY_BUF(&sink->scratch);
    bool bound = sqlite3_bind_int64(statement, 1 + LC_DB_EVENT, ++sink->events) == SQLITE_OK &&
                 bind_text(statement, 1 + LC_DB_OP, lc_str_of(lcdc_op_name(row->op))) == SQLITE_OK &&
                 (!row->has_snapshot ||
                  sqlite3_bind_int64(statement, 1 + LC_DB_SNAPSHOT, row->snapshot) == SQLITE_OK) &&
                 (!row->has_ts ||
                  bind_text(statement, 1 + LC_DB_TS, (struct lc_str){sink->scratch.p, sink->scratch.n}) == SQLITE_OK);
    return bound ? LCDC_OK : lc_sqlite_fail(sink, err);
}

/* A row of the target that is there already is, in a whole state, an identity that two rows have. */
static lcdc_status fail_row(struct sqlite_sink *sink, const struct lc_db_row *row, lcdc_error **err)
{
    int code = sqlite3_extended_errcode(sink->db);
    bool is_unique = code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_UNIQUE ||
                     code == SQLITE_CONSTRAINT_ROWID;
    if ((code & 0xFF) != SQLITE_CONSTRAINT)
        return lc_sqlite_fail(sink, err);
    struct lc_buf at LC_BUF;
    lc_buf_init(&at, LC_BUF_MAX);
    lc_db_print_row(&at, &sink->target, row);
    LC_TRY_BUF(&at);
    if (is_unique && sink->target.mode == LC_DB_UPSERT && !sink->is_staged)
        return lc_db_refuse_duplicate(&sink->target, (struct lc_str){at.p, at.n}, err);
    return lc_fail(err, LC_R_SINK_CONSTRAINT, "%.*s: target %s in %s: %s", LC_STR_ARG(((struct lc_str){at.p, at.n})),
                   sink->target.shown, sink->path, sqlite3_errmsg(sink->db));
}

static lcdc_status put(void *context, const struct lc_db_row *row, lcdc_error **err)
{
    struct sqlite_sink *sink = context;
    const struct lc_db_target *target = &sink->target;
    sqlite3_stmt *statement = sink->is_staged ? sink->stage : sink->direct;
    int place = 1;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (sink->is_staged) {
        if (sqlite3_bind_int64(statement, place++, ++sink->seq) != SQLITE_OK ||
            sqlite3_bind_int(statement, place++, lc_db_is_after(row)) != SQLITE_OK)
            return lc_sqlite_fail(sink, err);
    } else if (target->mode == LC_DB_HISTORY) {
        LC_TRY(bind_own(sink, statement, row, err));
        place += LC_DB_OWN;
    }
    for (size_t i = target->n_own; i < target->n_columns; i++, place++) {
        const struct lc_db_column *column = &target->columns[i];
        if (!sink->is_staged || column->is_key || lc_db_is_after(row))
            LC_TRY(lc_sqlite_bind(sink, statement, place, column->field, row->image->children[i - target->n_own],
                                  row->at, err));
    }
    int code = sqlite3_step(statement);
    if (code == SQLITE_DONE)
        return LCDC_OK;
    return lc_sqlite_is_cancelled(sink) ? lc_sqlite_fail(sink, err) : fail_row(sink, row, err);
}

static lcdc_status write_rows(struct lc_sink *base, const struct ArrowArray *rows, lcdc_error **err)
{
    struct sqlite_sink *sink = (struct sqlite_sink *)base;
    if (lc_sqlite_is_cancelled(sink))
        return lc_fail(err, LC_R_CANCELLED, "writing to target %s was cancelled", sink->target.shown);
    if (sink->place.skips)
        return LCDC_OK;
    return lc_db_each(&sink->target, &sink->window, rows, put, sink, err);
}

static lcdc_status check_duplicates(struct sqlite_sink *sink, lcdc_error **err)
{
    sqlite3_stmt *statement LC_SQLITE_STATEMENT = NULL;
    struct lc_buf sql LC_BUF, found LC_BUF;
    bool is_row = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_init(&found, LC_BUF_MAX);
    if (sink->target.takes_last)
        return LCDC_OK;
    lc_db_find_duplicate(&sql, &sink->target);
    LC_TRY(lc_sqlite_prepare(sink, &sql, &statement, err));
    LC_TRY(lc_sqlite_step(sink, statement, &is_row, err));
    if (!is_row)
        return LCDC_OK;
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const char *text = (const char *)sqlite3_column_text(statement, i);
        lc_buf_printf(&found, "%s%s=%s", i ? ", " : "row ", sqlite3_column_name(statement, i), text ? text : "");
    }
    LC_TRY_BUF(&found);
    return lc_db_refuse_duplicate(&sink->target, (struct lc_str){found.p, found.n}, err);
}

static lcdc_status merge(struct sqlite_sink *sink, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    if (!sink->is_staged || sink->seq == 0)
        return LCDC_OK;
    LC_TRY(check_duplicates(sink, err));
    lc_db_delete_staged(&sql, &sink->target, sink->seq);
    LC_TRY(lc_sqlite_run(sink, &sql, err));
    lc_db_upsert_staged(&sql, &sink->target);
    LC_TRY(lc_sqlite_run(sink, &sql, err));
    return lc_sqlite_run_text(sink, "DELETE FROM temp." LC_DB_STAGE, err);
}

static lcdc_status commit(struct lc_sink *base, const char *cursor, lcdc_error **err)
{
    struct sqlite_sink *sink = (struct sqlite_sink *)base;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    sqlite3_reset(sink->direct);
    sqlite3_reset(sink->stage);
    if (sink->place.skips) {
        LC_TRY(lc_sqlite_run_text(sink, "ROLLBACK", err));
        return lc_db_place_skip(&sink->place, &sink->target, cursor, err);
    }
    LC_TRY(merge(sink, err));
    lc_db_move_cursor(&sql, &sink->target, sink->place.known, cursor, &sink->window, sink->events);
    LC_TRY(lc_sqlite_run(sink, &sql, err));
    if (sqlite3_changes(sink->db) != 1)
        return lc_fail(err, LC_R_SINK_CURSOR_MOVED, "the cursor of target %s did not move: open the sink again",
                       sink->target.shown);
    LC_TRY(lc_db_place_doubt(&sink->place, cursor, err));
    LC_TRY(lc_sqlite_run_text(sink, "COMMIT", err));
    lc_db_place_settle(&sink->place, true);
    return LCDC_OK;
}

const struct lc_sink_ops lc_sink_sqlite = {
    .name = "sqlite",
    .delivery = LC_DELIVERY_EXACTLY_ONCE,
    .n_options = sizeof(options) / sizeof(*options),
    .options = options,
    .open = open_sink,
    .cursor = get_cursor,
    .set_cursor = set_cursor,
    .begin = begin,
    .write = write_rows,
    .commit = commit,
    .abort = abort_window,
    .close = close_sink,
};
