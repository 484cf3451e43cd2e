/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db_text.c - the statements about a target. Both dialects understand most of them as they are.
 *
 * Names and texts are quoted by doubling the quote, which is all there is to it in SQLite, and in PostgreSQL under
 * standard_conforming_strings, which the connection sets.
 */
#include "sink/db.h"

#include <inttypes.h>
#include <string.h>

static void quote(struct lc_buf *sql, struct lc_str text, char mark)
{
    lc_buf_char(sql, mark);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == mark)
            lc_buf_char(sql, mark);
        lc_buf_char(sql, text.p[i]);
    }
    lc_buf_char(sql, mark);
}

void lc_db_name(struct lc_buf *sql, const char *name)
{
    quote(sql, lc_str_of(name), '"');
}

void lc_db_text(struct lc_buf *sql, struct lc_str text)
{
    quote(sql, text, '\'');
}

static void put_table(struct lc_buf *sql, const struct lc_db_target *target, const char *table)
{
    if (target->schema) {
        lc_db_name(sql, target->schema);
        lc_buf_char(sql, '.');
    } else {
        lc_buf_text(sql, "main."); /* a temporary table of the same name would hide it */
    }
    lc_db_name(sql, table);
}

void lc_db_target_name(struct lc_buf *sql, const struct lc_db_target *target)
{
    put_table(sql, target, target->table);
}

void lc_db_cursor_name(struct lc_buf *sql, const struct lc_db_target *target)
{
    put_table(sql, target, LC_DB_CURSOR);
}

static void put_stage(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, target->dialect == LC_DB_SQLITE ? "temp." : "pg_temp.");
    lc_buf_text(sql, LC_DB_STAGE);
}

/* ---- definitions ---- */

static void put_column(struct lc_buf *sql, const struct lc_db_column *column, bool with_key)
{
    lc_db_name(sql, column->name);
    lc_buf_printf(sql, " %s%s", column->type, with_key && column->is_key ? " NOT NULL" : "");
}

/* "a", "b": the columns of the primary key. */
static void put_key(struct lc_buf *sql, const struct lc_db_target *target)
{
    bool first = true;
    for (size_t i = 0; i < target->n_columns; i++) {
        if (!target->columns[i].is_key)
            continue;
        if (!first)
            lc_buf_text(sql, ", ");
        first = false;
        lc_db_name(sql, target->columns[i].name);
    }
}

void lc_db_create_target(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, "CREATE TABLE ");
    lc_db_target_name(sql, target);
    lc_buf_text(sql, " (");
    for (size_t i = 0; i < target->n_columns; i++) {
        lc_buf_text(sql, i ? ", " : "");
        put_column(sql, &target->columns[i], true);
    }
    if (target->mode != LC_DB_REPLACE) {
        lc_buf_text(sql, ", PRIMARY KEY (");
        put_key(sql, target);
        lc_buf_char(sql, ')');
    }
    lc_buf_char(sql, ')');
}

void lc_db_create_cursor(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, "CREATE TABLE ");
    lc_db_cursor_name(sql, target);
    lc_buf_text(sql, " (target text PRIMARY KEY, cursor text, fed_by text NOT NULL, mode text NOT NULL, columns text, "
                     "writer text, events bigint NOT NULL, snapshot bigint, committed_at ");
    lc_buf_text(sql, target->dialect == LC_DB_SQLITE ? "text)" : "timestamp with time zone)");
}

void lc_db_create_stage(struct lc_buf *sql, const struct lc_db_target *target)
{
    bool is_sqlite = target->dialect == LC_DB_SQLITE;
    lc_buf_text(sql, "CREATE TEMPORARY TABLE " LC_DB_STAGE " (lakecdc_seq ");
    lc_buf_text(sql, is_sqlite ? "INTEGER PRIMARY KEY" : "bigint NOT NULL");
    lc_buf_text(sql, ", lakecdc_after boolean NOT NULL");
    for (size_t i = 0; i < target->n_columns; i++) {
        lc_buf_text(sql, ", ");
        put_column(sql, &target->columns[i], false);
    }
    lc_buf_text(sql, is_sqlite ? ")" : ") ON COMMIT DELETE ROWS");
}

static void alter(struct lc_buf *sql, const struct lc_db_target *target, const char *what)
{
    lc_buf_text(sql, "ALTER TABLE ");
    lc_db_target_name(sql, target);
    lc_buf_text(sql, what);
}

void lc_db_add_column(struct lc_buf *sql, const struct lc_db_target *target, const struct lc_db_column *column)
{
    alter(sql, target, " ADD COLUMN ");
    put_column(sql, column, false);
}

void lc_db_widen_column(struct lc_buf *sql, const struct lc_db_target *target, const struct lc_db_column *column)
{
    alter(sql, target, " ALTER COLUMN ");
    lc_db_name(sql, column->name);
    lc_buf_printf(sql, " TYPE %s", column->type);
}

/* ---- rows ---- */

void lc_db_clear_target(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, "DELETE FROM ");
    lc_db_target_name(sql, target);
}

static void put_columns(struct lc_buf *sql, const struct lc_db_target *target)
{
    for (size_t i = 0; i < target->n_columns; i++) {
        lc_buf_text(sql, i ? ", " : "");
        lc_db_name(sql, target->columns[i].name);
    }
}

void lc_db_columns(struct lc_buf *sql, const struct lc_db_target *target, bool stage)
{
    if (stage)
        lc_buf_text(sql, "lakecdc_seq, lakecdc_after, ");
    put_columns(sql, target);
}

void lc_db_find_duplicate(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, "SELECT ");
    put_key(sql, target);
    lc_buf_text(sql, " FROM ");
    put_stage(sql, target);
    lc_buf_text(sql, " GROUP BY ");
    put_key(sql, target);
    lc_buf_text(sql, " HAVING sum(CASE WHEN lakecdc_after THEN 1 ELSE -1 END) > 1 LIMIT 1");
}

/* The last row of each identity. */
static void put_last(struct lc_buf *sql, const struct lc_db_target *target)
{
    put_stage(sql, target);
    lc_buf_text(sql, " WHERE lakecdc_seq IN (SELECT max(lakecdc_seq) FROM ");
    put_stage(sql, target);
    lc_buf_text(sql, " GROUP BY ");
    put_key(sql, target);
    lc_buf_text(sql, ") AND ");
}

void lc_db_delete_staged(struct lc_buf *sql, const struct lc_db_target *target, int64_t most)
{
    lc_db_clear_target(sql, target);
    lc_buf_text(sql, " WHERE (");
    put_key(sql, target);
    lc_buf_text(sql, ") IN (SELECT ");
    put_key(sql, target);
    lc_buf_text(sql, " FROM ");
    put_last(sql, target);
    lc_buf_printf(sql, "NOT lakecdc_after LIMIT %" PRId64 ")", most);
}

void lc_db_upsert_staged(struct lc_buf *sql, const struct lc_db_target *target)
{
    bool first = true;
    lc_buf_text(sql, "INSERT INTO ");
    lc_db_target_name(sql, target);
    lc_buf_text(sql, " (");
    put_columns(sql, target);
    lc_buf_text(sql, ") SELECT ");
    put_columns(sql, target);
    lc_buf_text(sql, " FROM ");
    put_last(sql, target);
    lc_buf_text(sql, "lakecdc_after ON CONFLICT (");
    put_key(sql, target);
    lc_buf_text(sql, ") DO ");
    for (size_t i = 0; i < target->n_columns; i++) {
        if (target->columns[i].is_key)
            continue;
        lc_buf_text(sql, first ? "UPDATE SET " : ", ");
        first = false;
        lc_db_name(sql, target->columns[i].name);
        lc_buf_text(sql, " = excluded.");
        lc_db_name(sql, target->columns[i].name);
    }
    if (first)
        lc_buf_text(sql, "NOTHING");
}
