/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgresql.c - the sink of PostgreSQL: one connection a target, kept from window to window.
 *
 * A window is one transaction. Its rows arrive by COPY, a write at a time, in the target or in the stage, and the
 * merge, the cursor and the COMMIT are one message to the server. An advisory lock of the session keeps other writers
 * of the target away; where the connection breaks, the cursor's row tells whether a COMMIT that went unanswered came
 * true.
 */
#include "sink/postgresql_parts.h"

#include <inttypes.h>
#include <string.h>

enum { CHUNK = 1 << 18, ROWS_TO_ANALYZE = 5000, MAX_CONNECT_S = 3600 };

static const struct lc_sink_option options[] = {
    {.key = "dsn", .required = true, .help = "key=value ... or postgresql://...; PGPASSWORD and ~/.pgpass count too"},
    {.key = "schema", .initial = "public", .help = "the schema of the target and of lakecdc_cursor"},
    {.key = "connect_timeout", .initial = "10", .help = "seconds to wait for a connection"},
    LC_DB_OPTIONS,
};

static void close_sink(struct lc_sink *base)
{
    struct postgresql_sink *sink = (struct postgresql_sink *)base;
    if (!sink)
        return;
    lc_pg_done(&sink->pg);
    lc_db_place_done(&sink->place);
    lc_buf_done(&sink->data);
    lc_buf_done(&sink->scratch);
    lc_db_target_done(&sink->target);
    lc_free(sink);
}

static lcdc_status read_options(struct postgresql_sink *sink, lcdc_error **err)
{
    const struct lc_sink_setup *setup = sink->target.setup;
    const char *timeout = lc_sink_setting(sink->base.ops, setup, "connect_timeout");
    int64_t seconds;
    if (!lc_parse_i64(lc_str_of(timeout), &seconds) || seconds < 1 || seconds > MAX_CONNECT_S)
        return lc_fail(err, LC_R_OPTION_VALUE, "connect_timeout is \"%.*s\"; 1 to %d seconds are expected",
                       LC_STR_ARG(lc_str_of(timeout)), MAX_CONNECT_S);
    sink->pg = (struct lc_pg){.dsn = lc_sink_setting(sink->base.ops, setup, "dsn"),
                              .shown = sink->target.shown,
                              .cancelled = setup->cancelled,
                              .connect_ms = seconds * 1000};
    if (!sink->pg.dsn)
        return lc_fail(err, LC_R_OPTION_VALUE, "sink postgresql needs a dsn, the connection string");
    return lc_pg_check_dsn(&sink->pg, err);
}

static lcdc_status open_sink(const struct lc_sink_setup *setup, struct lc_sink **out, lcdc_error **err)
{
    struct lc_sink *base LC_CLEANUP(lc_sink_closep) = NULL;
    struct lc_db_state state LC_DB_STATE = {0};
    struct postgresql_sink *sink = lc_calloc(1, sizeof(*sink));
    LC_TRY_ALLOC(sink);
    base = &sink->base;
    base->ops = &lc_sink_postgresql;
    lc_buf_init(&sink->data, LC_BUF_MAX);
    lc_buf_init(&sink->scratch, LC_BUF_MAX);
    LC_TRY(lc_db_target_init(&sink->target, base->ops, LC_DB_POSTGRESQL, setup,
                             lc_sink_setting(base->ops, setup, "schema"), err));
    LC_TRY(read_options(sink, err));
    LC_TRY(lc_postgresql_attach(sink, &state, err));
    sink->place.known = lc_steal(state.cursor);
    *out = lc_steal(base);
    return LCDC_OK;
}

static lcdc_status get_cursor(struct lc_sink *base, char **out, lcdc_error **err)
{
    struct postgresql_sink *sink = (struct postgresql_sink *)base;
    char *copy = sink->place.known ? lc_strdup(sink->place.known) : NULL;
    if (sink->place.known)
        LC_TRY_ALLOC(copy);
    *out = copy;
    return LCDC_OK;
}

static void abort_window(struct lc_sink *base)
{
    struct postgresql_sink *sink = (struct postgresql_sink *)base;
    lcdc_error *ignored LC_ERROR = NULL;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    sink->place.skips = false;
    lc_pg_copy_abandon(&sink->pg);
    if (!lc_pg_in_transaction(&sink->pg))
        return;
    lc_buf_text(&sql, "ROLLBACK");
    if (lc_pg_run(&sink->pg, &sql, NULL, &ignored) != LCDC_OK)
        lc_pg_drop(&sink->pg);
}

/* ---- a window ---- */

static lcdc_status start(struct postgresql_sink *sink, struct lc_db_state *state, lcdc_error **err)
{
    struct pg_result *result LC_PG_RESULT = NULL;
    struct lc_db_state unused LC_DB_STATE = {0};
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(lc_postgresql_attach(sink, &unused, err));
    lc_buf_text(&sql, "BEGIN ISOLATION LEVEL READ COMMITTED; ");
    lc_db_select_state(&sql, &sink->target, true);
    LC_TRY(lc_pg_run(&sink->pg, &sql, &result, err));
    return lc_postgresql_take_state(result, state, err);
}

/* A connection that broke while nothing was under way is made again; once. */
static lcdc_status start_again(struct postgresql_sink *sink, struct lc_db_state *state, lcdc_error **err)
{
    lcdc_error *lost LC_ERROR = NULL;
    bool was_connected = sink->pg.conn != NULL;
    lcdc_status status = start(sink, state, &lost);
    if (status == LCDC_OK)
        return status;
    if (was_connected && !sink->pg.conn && !lc_pg_is_cancelled(&sink->pg)) {
        lc_db_state_done(state);
        return start(sink, state, err);
    }
    if (err)
        *err = lc_steal(lost);
    return status;
}

static lcdc_status set_in_transaction(struct postgresql_sink *sink, const char *cursor, lcdc_error **err)
{
    struct lc_db_state state LC_DB_STATE = {0};
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(start_again(sink, &state, err));
    LC_TRY(lc_db_place_begin(&sink->place, &sink->target, &state, err));
    lc_db_set_cursor(&sql, &sink->target, cursor);
    lc_buf_text(&sql, "; COMMIT");
    return lc_pg_run(&sink->pg, &sql, NULL, err);
}

static lcdc_status set_cursor(struct lc_sink *base, const char *cursor, lcdc_error **err)
{
    struct postgresql_sink *sink = (struct postgresql_sink *)base;
    char *copy LC_CLEANUP(lc_freep) = cursor ? lc_strdup(cursor) : NULL;
    if (cursor)
        LC_TRY_ALLOC(copy);
    lcdc_status status = set_in_transaction(sink, cursor, err);
    abort_window(base);
    if (status == LCDC_OK)
        lc_db_place_set(&sink->place, lc_steal(copy));
    return status;
}

static lcdc_status is_empty(struct postgresql_sink *sink, bool *out, lcdc_error **err)
{
    struct pg_result *result LC_PG_RESULT = NULL;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SELECT 1 FROM ");
    lc_db_target_name(&sql, &sink->target);
    lc_buf_text(&sql, " LIMIT 1");
    LC_TRY(lc_pg_run(&sink->pg, &sql, &result, err));
    *out = lc_pg_rows(result) == 0;
    return LCDC_OK;
}

static lcdc_status begin(struct lc_sink *base, const struct lc_window *window, lcdc_error **err)
{
    struct postgresql_sink *sink = (struct postgresql_sink *)base;
    struct lc_db_state state LC_DB_STATE = {0};
    struct lc_buf sql LC_BUF;
    bool empty = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    sink->window = *window;
    sink->seq = sink->befores = 0;
    LC_TRY(start_again(sink, &state, err));
    LC_TRY(lc_db_place_begin(&sink->place, &sink->target, &state, err));
    sink->events = state.events;
    if (window->kind != LC_WINDOW_CHANGES)
        LC_TRY(is_empty(sink, &empty, err));
    LC_TRY(lc_db_check_window(&sink->target, &sink->place, window, empty, &sink->is_staged, err));
    if (window->kind != LC_WINDOW_REPLACE || sink->target.mode == LC_DB_HISTORY || sink->place.skips)
        return LCDC_OK;
    lc_db_clear_target(&sql, &sink->target);
    return lc_pg_run(&sink->pg, &sql, NULL, err);
}

static lcdc_status put_value(struct postgresql_sink *sink, const struct lc_db_row *row,
                             const struct lc_db_column *column, const struct ArrowArray *array, lcdc_error **err)
{
    const char *why = lc_db_copy_value(&sink->data, &sink->scratch, column->field, array, row->at);
    return why ? lc_db_refuse_value(&sink->target, row, column, why, err) : LCDC_OK;
}

static void put_own(struct postgresql_sink *sink, const struct lc_db_row *row)
{
    lc_buf_printf(&sink->data, "%" PRId64 "\t%s\t", ++sink->events, lcdc_op_name(row->op));
    if (row->has_snapshot)
        lc_buf_printf(&sink->data, "%" PRId64 "\t", row->snapshot);
    else
        lc_buf_text(&sink->data, "\\N\t");
    if (!row->has_ts || lc_db_copy_instant(&sink->data, row->ts_us))
        lc_buf_text(&sink->data, "\\N");
    lc_buf_char(&sink->data, '\t');
}

static lcdc_status put(void *context, const struct lc_db_row *row, lcdc_error **err)
{
    struct postgresql_sink *sink = context;
    const struct lc_db_target *target = &sink->target;
    sink->befores += !lc_db_is_after(row);
    if (sink->is_staged)
        lc_buf_printf(&sink->data, "%" PRId64 "\t%c\t", ++sink->seq, lc_db_is_after(row) ? 't' : 'f');
    else if (target->mode == LC_DB_HISTORY)
        put_own(sink, row);
    for (size_t i = target->n_own; i < target->n_columns; i++) {
        const struct lc_db_column *column = &target->columns[i];
        if (!sink->is_staged || column->is_key || lc_db_is_after(row))
            LC_TRY(put_value(sink, row, column, row->image->children[i - target->n_own], err));
        else
            lc_buf_text(&sink->data, "\\N");
        lc_buf_char(&sink->data, i + 1 < target->n_columns ? '\t' : '\n');
    }
    return sink->data.n >= CHUNK || sink->data.failed ? lc_pg_copy_data(&sink->pg, &sink->data, err) : LCDC_OK;
}

static lcdc_status begin_copy(struct postgresql_sink *sink, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "COPY ");
    if (sink->is_staged)
        lc_buf_text(&sql, "pg_temp." LC_DB_STAGE);
    else
        lc_db_target_name(&sql, &sink->target);
    lc_buf_text(&sql, " (");
    lc_db_columns(&sql, &sink->target, sink->is_staged);
    lc_buf_text(&sql, ") FROM STDIN");
    return lc_pg_copy_begin(&sink->pg, &sql, err);
}

/* A whole state in which the primary key refuses a row has an identity twice. */
static lcdc_status explain(struct postgresql_sink *sink, lcdc_status status, lcdc_error **err)
{
    const char *state = err && *err ? lcdc_error_detail(*err, "sqlstate") : NULL;
    if (!state || strcmp(state, "23505") != 0 || sink->is_staged || sink->target.mode != LC_DB_UPSERT)
        return status;
    lcdc_error *said LC_ERROR = *err;
    *err = NULL;
    return lc_db_refuse_duplicate(&sink->target, lc_str_of(lcdc_error_message(said)), err);
}

static lcdc_status write_rows(struct lc_sink *base, const struct ArrowArray *rows, lcdc_error **err)
{
    struct postgresql_sink *sink = (struct postgresql_sink *)base;
    if (sink->place.skips || rows->length == 0)
        return LCDC_OK;
    lc_buf_clear(&sink->data);
    LC_TRY(begin_copy(sink, err));
    lcdc_status status = lc_db_each(&sink->target, &sink->window, rows, put, sink, err);
    if (status == LCDC_OK)
        status = lc_pg_copy_data(&sink->pg, &sink->data, err);
    if (status != LCDC_OK) {
        lc_pg_copy_abandon(&sink->pg);
        return status;
    }
    status = lc_pg_copy_end(&sink->pg, err);
    return status == LCDC_OK ? status : explain(sink, status, err);
}

static lcdc_status check_duplicates(struct postgresql_sink *sink, lcdc_error **err)
{
    struct pg_result *result LC_PG_RESULT = NULL;
    struct lc_buf sql LC_BUF, found LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_init(&found, LC_BUF_MAX);
    if (sink->seq >= ROWS_TO_ANALYZE)
        lc_buf_text(&sql, "ANALYZE pg_temp." LC_DB_STAGE ";");
    if (!sink->target.takes_last)
        lc_db_find_duplicate(&sql, &sink->target);
    if (sql.n == 0)
        return LCDC_OK;
    LC_TRY(lc_pg_run(&sink->pg, &sql, &result, err));
    if (sink->target.takes_last || lc_pg_rows(result) == 0)
        return LCDC_OK;
    for (int i = 0; i < lc_pg_fields(result); i++) {
        const char *text = lc_pg_value(result, 0, i);
        lc_buf_printf(&found, "%s%s=%s", i ? ", " : "row ", lc_pg_field_name(result, i), text ? text : "");
    }
    LC_TRY_BUF(&found);
    return lc_db_refuse_duplicate(&sink->target, (struct lc_str){found.p, found.n}, err);
}

static lcdc_status commit(struct lc_sink *base, const char *cursor, lcdc_error **err)
{
    struct postgresql_sink *sink = (struct postgresql_sink *)base;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    if (sink->place.skips) {
        lc_buf_text(&sql, "ROLLBACK");
        LC_TRY(lc_pg_run(&sink->pg, &sql, NULL, err));
        return lc_db_place_skip(&sink->place, &sink->target, cursor, err);
    }
    if (sink->is_staged && sink->seq > 0) {
        LC_TRY(check_duplicates(sink, err));
        if (sink->befores > 0) {
            lc_db_delete_staged(&sql, &sink->target, sink->befores);
            lc_buf_text(&sql, "; ");
        }
        lc_db_upsert_staged(&sql, &sink->target);
        lc_buf_text(&sql, "; ");
    }
    lc_db_move_cursor(&sql, &sink->target, sink->place.known, cursor, &sink->window, sink->events);
    lc_buf_text(&sql, "; COMMIT");
    LC_TRY(lc_db_place_doubt(&sink->place, cursor, err));
    lcdc_status status = lc_pg_run(&sink->pg, &sql, NULL, err);
    if (sink->pg.conn) /* an answer, of either kind */
        lc_db_place_settle(&sink->place, status == LCDC_OK);
    return status;
}

const struct lc_sink_ops lc_sink_postgresql = {
    .name = "postgresql",
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
