/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgresql_open.c - a connection made ready: the target is locked, and it and its row of lakecdc_cursor are there and
 * fit, in one transaction, or nothing was changed.
 */
#include "sink/postgresql_parts.h"

#include <inttypes.h>
#include <string.h>

/* By a query, because name lookups keep for a while that a table was not there. */
static lcdc_status is_there(struct postgresql_sink *sink, const char *table, bool *out, lcdc_error **err)
{
    struct pg_result *result LC_PG_RESULT = NULL;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
                      "WHERE n.nspname = ");
    lc_db_text(&sql, lc_str_of(sink->target.schema));
    lc_buf_text(&sql, " AND c.relname = ");
    lc_db_text(&sql, lc_str_of(table));
    LC_TRY(lc_pg_run(&sink->pg, &sql, &result, err));
    *out = lc_pg_rows(result) > 0;
    return LCDC_OK;
}

/* A number that stands for a table among the server's advisory locks. */
static void put_lock(struct lc_buf *sql, const struct lc_db_target *target,
                     void (*put_name)(struct lc_buf *, const struct lc_db_target *))
{
    struct lc_buf name LC_BUF;
    lc_buf_init(&name, LC_BUF_MAX);
    lc_buf_text(&name, "lakecdc ");
    put_name(&name, target);
    sql->failed |= name.failed;
    lc_buf_text(sql, "pg_catalog.hashtextextended(");
    lc_db_text(sql, (struct lc_str){name.p, name.failed ? 0 : name.n});
    lc_buf_text(sql, ", 0)");
}

static lcdc_status fail_locked(struct postgresql_sink *sink, lcdc_error **err)
{
    struct pg_result *result LC_PG_RESULT = NULL;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SELECT a.pid, a.application_name, a.client_addr FROM pg_catalog.pg_locks l JOIN "
                      "pg_catalog.pg_stat_activity a ON a.pid = l.pid, (SELECT ");
    put_lock(&sql, &sink->target, lc_db_target_name);
    lc_buf_text(&sql, " AS key) k WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND "
                      "l.classid::bigint = (k.key >> 32 & 4294967295) AND l.objid::bigint = (k.key & 4294967295)");
    LC_TRY(lc_pg_run(&sink->pg, &sql, &result, err));
    bool is_known = lc_pg_rows(result) > 0;
    const char *name = is_known ? lc_pg_value(result, 0, 1) : NULL, *from = is_known ? lc_pg_value(result, 0, 2) : NULL;
    return lc_fail(err, LC_R_SINK_LOCKED,
                   "another writer holds target %s: session %s of postgresql (%.*s, from %s); let one sync alone write "
                   "to it",
                   sink->target.shown, is_known ? lc_pg_value(result, 0, 0) : "unknown",
                   LC_STR_ARG(lc_str_of(name && *name ? name : "unnamed")), from ? from : "this machine");
}

static lcdc_status lock_target(struct postgresql_sink *sink, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lcdc_error *refused LC_ERROR = NULL;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SET application_name = ");
    struct lc_buf writer LC_BUF;
    lc_buf_init(&writer, LC_BUF_MAX);
    lc_db_print_writer(&writer);
    LC_TRY_BUF(&writer);
    lc_db_text(&sql, (struct lc_str){writer.p, writer.n > 63 ? 63 : writer.n});
    lc_buf_text(&sql, "; SET lock_timeout = '3s'; SELECT pg_catalog.pg_advisory_lock(");
    put_lock(&sql, &sink->target, lc_db_target_name);
    lc_buf_text(&sql, "); SET lock_timeout = '10s'");
    lcdc_status status = lc_pg_run(&sink->pg, &sql, NULL, &refused);
    const char *reason = lcdc_error_reason(refused);
    if (status != LCDC_OK && reason && strcmp(reason, lc_reason_token(LC_R_SINK_LOCKED)) == 0)
        return fail_locked(sink, err);
    if (status != LCDC_OK && err)
        *err = lc_steal(refused);
    return status;
}

lcdc_status lc_postgresql_take_state(const struct pg_result *result, struct lc_db_state *out, lcdc_error **err)
{
    for (int i = 0; lc_pg_rows(result) > 0 && i < LC_DB_STATE_FIELDS; i++)
        LC_TRY(lc_db_state_take(out, i, lc_pg_value(result, 0, i), err));
    return LCDC_OK;
}

static lcdc_status read_state(struct postgresql_sink *sink, struct lc_db_state *out, lcdc_error **err)
{
    struct pg_result *result LC_PG_RESULT = NULL;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_db_select_state(&sql, &sink->target, true);
    LC_TRY(lc_pg_run(&sink->pg, &sql, &result, err));
    return lc_postgresql_take_state(result, out, err);
}

/* COPY's escapes are those of E'...', but for the quote. */
static lcdc_status fill_column(struct postgresql_sink *sink, const struct lc_db_column *column,
                               const struct lc_db_state *state, lcdc_error **err)
{
    struct lc_db_one one;
    struct lc_buf sql LC_BUF, scratch LC_BUF, plain LC_BUF, quoted LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_init(&scratch, LC_BUF_MAX);
    lc_buf_init(&plain, LC_BUF_MAX);
    lc_buf_init(&quoted, LC_BUF_MAX);
    if (!lc_db_default_row(&sink->target, column, state, &one))
        return LCDC_OK;
    const char *why = lc_db_copy_value(&plain, &scratch, column->field, &one.array, 0);
    if (why)
        return lc_fail(err, LC_R_SINK_VALUE, "the value that column \"%.*s\" has in older rows of target %s: %s",
                       LC_STR_ARG(lc_str_of(column->name)), sink->target.shown, why);
    LC_TRY_BUF(&plain);
    lc_buf_char(&quoted, 'E');
    lc_db_text(&quoted, (struct lc_str){plain.p ? plain.p : "", plain.n});
    LC_TRY_BUF(&quoted);
    lc_db_fill_column(&sql, &sink->target, column, (struct lc_str){quoted.p, quoted.n});
    return lc_pg_run(&sink->pg, &sql, NULL, err);
}

static lcdc_status fit_target(struct postgresql_sink *sink, const struct lc_db_state *state, lcdc_error **err)
{
    const struct lc_db_target *target = &sink->target;
    struct pg_result *result LC_PG_RESULT = NULL;
    enum lc_db_change *changes LC_CLEANUP(lc_freep) = lc_calloc(target->n_columns, sizeof(*changes));
    struct lc_db_found *found LC_CLEANUP(lc_freep) = NULL;
    struct lc_buf sql LC_BUF, name LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_init(&name, LC_BUF_MAX);
    lc_db_target_name(&name, target);
    LC_TRY_BUF(&name);
    lc_buf_text(&sql, "SELECT attname, pg_catalog.format_type(atttypid, atttypmod), NOT attnotnull OR atthasdef OR "
                      "attidentity <> '' FROM pg_catalog.pg_attribute WHERE attnum > 0 AND NOT attisdropped AND "
                      "attrelid = pg_catalog.to_regclass(");
    lc_db_text(&sql, (struct lc_str){name.p, name.n});
    lc_buf_text(&sql, ") ORDER BY attnum");
    LC_TRY(lc_pg_run(&sink->pg, &sql, &result, err));
    size_t n = (size_t)lc_pg_rows(result);
    found = lc_calloc(n, sizeof(*found));
    LC_TRY_ALLOC(changes);
    LC_TRY_ALLOC(found);
    for (size_t i = 0; i < n; i++)
        found[i] = (struct lc_db_found){lc_pg_value(result, (int64_t)i, 0), lc_pg_value(result, (int64_t)i, 1),
                                        strcmp(lc_pg_value(result, (int64_t)i, 2), "t") == 0};
    LC_TRY(lc_db_compare(target, n, found, state->columns, changes, err));
    for (size_t i = 0; i < target->n_columns; i++) {
        if (changes[i] == LC_DB_FITS)
            continue;
        if (changes[i] == LC_DB_MISSING)
            lc_db_add_column(&sql, target, &target->columns[i]);
        else
            lc_db_widen_column(&sql, target, &target->columns[i]);
        LC_TRY(lc_pg_run(&sink->pg, &sql, NULL, err));
        if (changes[i] == LC_DB_MISSING)
            LC_TRY(fill_column(sink, &target->columns[i], state, err));
    }
    return LCDC_OK;
}

/* Sinks that come at the same time create it once: the lock ends with the transaction. */
static lcdc_status make_cursor_table(struct postgresql_sink *sink, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    bool found = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(is_there(sink, LC_DB_CURSOR, &found, err));
    if (found)
        return LCDC_OK;
    lc_buf_text(&sql, "SELECT pg_catalog.pg_advisory_xact_lock(");
    put_lock(&sql, &sink->target, lc_db_cursor_name);
    lc_buf_text(&sql, ")");
    LC_TRY(lc_pg_run(&sink->pg, &sql, NULL, err));
    LC_TRY(is_there(sink, LC_DB_CURSOR, &found, err));
    if (found)
        return LCDC_OK;
    lc_db_create_cursor(&sql, &sink->target);
    return lc_pg_run(&sink->pg, &sql, NULL, err);
}

/* Within a transaction: the target and its row of lakecdc_cursor are there and fit afterwards. */
static lcdc_status settle(struct postgresql_sink *sink, struct lc_db_state *state, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    bool found = false;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(make_cursor_table(sink, err));
    LC_TRY(read_state(sink, state, err));
    LC_TRY(lc_db_check_state(&sink->target, state, err));
    LC_TRY(is_there(sink, sink->target.table, &found, err));
    if (found) {
        LC_TRY(fit_target(sink, state, err));
    } else {
        LC_TRY(lc_db_check_gone(&sink->target, state, err));
        lc_db_create_target(&sql, &sink->target);
        LC_TRY(lc_pg_run(&sink->pg, &sql, NULL, err));
    }
    if (!state->is_there) {
        lc_db_insert_state(&sql, &sink->target);
        LC_TRY(lc_pg_run(&sink->pg, &sql, NULL, err));
    }
    lc_db_update_columns(&sql, &sink->target);
    return lc_pg_run(&sink->pg, &sql, NULL, err);
}

/* Planned now, an upsert that the target has no index for is refused now. */
static lcdc_status make_stage(struct postgresql_sink *sink, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    if (sink->target.mode != LC_DB_UPSERT)
        return LCDC_OK;
    lc_db_create_stage(&sql, &sink->target);
    lc_buf_text(&sql, "; EXPLAIN ");
    lc_db_delete_staged(&sql, &sink->target, 1);
    lc_buf_text(&sql, "; EXPLAIN ");
    lc_db_upsert_staged(&sql, &sink->target);
    return lc_pg_run(&sink->pg, &sql, NULL, err);
}

/* Connects, locks the target and makes it fit; leaves a connection that works, or none. */
static lcdc_status attach_whole(struct postgresql_sink *sink, struct lc_db_state *state, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(lc_pg_connect(&sink->pg, err));
    LC_TRY(lock_target(sink, err));
    lc_buf_text(&sql, "BEGIN ISOLATION LEVEL READ COMMITTED");
    LC_TRY(lc_pg_run(&sink->pg, &sql, NULL, err));
    LC_TRY(settle(sink, state, err));
    LC_TRY(make_stage(sink, err));
    lc_buf_text(&sql, "COMMIT");
    return lc_pg_run(&sink->pg, &sql, NULL, err);
}

lcdc_status lc_postgresql_attach(struct postgresql_sink *sink, struct lc_db_state *state, lcdc_error **err)
{
    if (sink->pg.conn)
        return LCDC_OK;
    lcdc_status status = attach_whole(sink, state, err);
    if (status != LCDC_OK)
        lc_pg_drop(&sink->pg);
    return status;
}
