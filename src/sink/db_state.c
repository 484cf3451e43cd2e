/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db_state.c - the row of lakecdc_cursor that belongs to a target.
 *
 * It moves in the transaction of the rows, and only from where this sink last saw it: a second writer, and a commit
 * whose answer was lost, are both seen by a cursor that is not where it was left.
 */
#include "sink/db.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lakecdc/base.h"

void lc_db_state_done(struct lc_db_state *state)
{
    lc_free(state->cursor);
    lc_free(state->fed_by);
    lc_free(state->mode);
    lc_free(state->columns);
    lc_free(state->writer);
    *state = (struct lc_db_state){0};
}

lcdc_status lc_db_state_take(struct lc_db_state *state, int field, const char *text, lcdc_error **err)
{
    char **const texts[] = {&state->cursor, &state->fed_by, &state->mode, &state->columns, &state->writer};
    state->is_there = true;
    if (!text)
        return LCDC_OK;
    if (field == LC_DB_STATE_EVENTS) {
        if (!lc_parse_i64(lc_str_of(text), &state->events) || state->events < 0)
            return lc_fail(err, LC_R_SINK_ALTERED, LC_DB_CURSOR " has \"%.*s\" as a number of events",
                           LC_STR_ARG(lc_str_of(text)));
        return LCDC_OK;
    }
    lc_free(*texts[field]);
    LC_TRY_ALLOC(*texts[field] = lc_strdup(text));
    return LCDC_OK;
}

void lc_db_print_writer(struct lc_buf *buf)
{
    char host[256] = "";
    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = 0;
    lc_buf_printf(buf, "lakecdc %s, process %" PRId64 " on %s", lcdc_version(), (int64_t)getpid(), host);
}

void lc_db_print_columns(struct lc_buf *buf, const struct lc_db_target *target)
{
    lc_buf_char(buf, '{');
    for (size_t i = target->n_own; i < target->n_columns; i++) {
        lc_buf_text(buf, i > target->n_own ? "," : "");
        lc_buf_json_string(buf, lc_str_of(target->columns[i].name));
        lc_buf_char(buf, ':');
        lc_buf_json_string(buf, lc_str_of(target->columns[i].word));
    }
    lc_buf_char(buf, '}');
}

/* ---- statements ---- */

static void put_where(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, " WHERE target = ");
    lc_db_text(sql, lc_str_of(target->table));
    if (target->dialect == LC_DB_SQLITE)
        lc_buf_text(sql, " COLLATE NOCASE"); /* as its table names are */
}

/* The columns, or else the writer, as a text of SQL. */
static void put_printed(struct lc_buf *sql, const struct lc_db_target *target, bool columns)
{
    struct lc_buf text LC_BUF;
    lc_buf_init(&text, LC_BUF_MAX);
    if (columns)
        lc_db_print_columns(&text, target);
    else
        lc_db_print_writer(&text);
    sql->failed |= text.failed;
    lc_db_text(sql, (struct lc_str){text.p, text.failed ? 0 : text.n});
}

static const char *word_of(enum lc_db_mode mode)
{
    static const char *const words[] = {
        [LC_DB_UPSERT] = "upsert", [LC_DB_HISTORY] = "history", [LC_DB_REPLACE] = "replace"};
    return words[mode];
}

void lc_db_select_state(struct lc_buf *sql, const struct lc_db_target *target, bool lock)
{
    lc_buf_text(sql, "SELECT cursor, fed_by, mode, columns, writer, events FROM ");
    lc_db_cursor_name(sql, target);
    put_where(sql, target);
    if (lock && target->dialect == LC_DB_POSTGRESQL)
        lc_buf_text(sql, " FOR UPDATE");
}

void lc_db_insert_state(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, "INSERT INTO ");
    lc_db_cursor_name(sql, target);
    lc_buf_text(sql, " (target, fed_by, mode, writer, events) VALUES (");
    lc_db_text(sql, lc_str_of(target->table));
    lc_buf_text(sql, ", ");
    lc_db_text(sql, lc_str_of(target->setup->table));
    lc_buf_printf(sql, ", '%s', ", word_of(target->mode));
    put_printed(sql, target, false);
    lc_buf_text(sql, ", 0)");
}

void lc_db_update_columns(struct lc_buf *sql, const struct lc_db_target *target)
{
    lc_buf_text(sql, "UPDATE ");
    lc_db_cursor_name(sql, target);
    lc_buf_text(sql, " SET columns = ");
    put_printed(sql, target, true);
    put_where(sql, target);
}

void lc_db_move_cursor(struct lc_buf *sql, const struct lc_db_target *target, const char *from, const char *to,
                       const struct lc_window *window, int64_t events)
{
    lc_buf_text(sql, "UPDATE ");
    lc_db_cursor_name(sql, target);
    lc_buf_text(sql, " SET cursor = ");
    lc_db_text(sql, lc_str_of(to));
    lc_buf_text(sql, ", writer = ");
    put_printed(sql, target, false);
    lc_buf_printf(sql, ", events = %" PRId64 ", snapshot = ", events);
    if (window->snapshot == -1)
        lc_buf_text(sql, "NULL");
    else
        lc_buf_printf(sql, "%" PRId64, window->snapshot);
    lc_buf_text(sql, ", committed_at = ");
    lc_buf_text(sql, target->dialect == LC_DB_SQLITE ? "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')" : "now()");
    put_where(sql, target);
    lc_buf_text(sql, from ? " AND cursor = " : " AND cursor IS NULL");
    if (from)
        lc_db_text(sql, lc_str_of(from));
}

void lc_db_set_cursor(struct lc_buf *sql, const struct lc_db_target *target, const char *to)
{
    lc_buf_text(sql, "UPDATE ");
    lc_db_cursor_name(sql, target);
    lc_buf_text(sql, " SET cursor = ");
    if (to)
        lc_db_text(sql, lc_str_of(to));
    else
        lc_buf_text(sql, "NULL");
    lc_buf_text(sql, ", writer = ");
    put_printed(sql, target, false);
    put_where(sql, target);
}

/* ---- judgement ---- */

lcdc_status lc_db_check_state(const struct lc_db_target *target, const struct lc_db_state *state, lcdc_error **err)
{
    if (!state->is_there)
        return LCDC_OK;
    if (!state->fed_by || strcmp(state->fed_by, target->setup->table) != 0)
        return lc_fail(err, LC_R_SINK_OTHER_TABLE,
                       "target %s is fed by table \"%.*s\", not by \"%.*s\": give this one another target, or delete "
                       "the target and its row of " LC_DB_CURSOR,
                       target->shown, LC_STR_ARG(lc_str_of(state->fed_by ? state->fed_by : "")),
                       LC_STR_ARG(lc_str_of(target->setup->table)));
    if (!state->mode || strcmp(state->mode, word_of(target->mode)) != 0)
        return lc_fail(err, LC_R_SINK_OTHER_TABLE,
                       "target %s was written in mode %.*s, and mode %s is asked for: give it another target, or "
                       "delete the target and its row of " LC_DB_CURSOR,
                       target->shown, LC_STR_ARG(lc_str_of(state->mode ? state->mode : "")), word_of(target->mode));
    return LCDC_OK;
}

static bool is_at(const struct lc_db_state *state, const char *cursor)
{
    return cursor && state->cursor ? strcmp(cursor, state->cursor) == 0 : cursor == state->cursor;
}

static lcdc_status check_cursor(const struct lc_db_target *target, const struct lc_db_state *state, const char *known,
                                lcdc_error **err)
{
    if (!state->is_there)
        return lc_fail(err, LC_R_SINK_CURSOR_MOVED,
                       "the row of target %s in " LC_DB_CURSOR " is gone: open the sink again", target->shown);
    if (is_at(state, known))
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_CURSOR_MOVED,
                   "the cursor of target %s was moved by another writer (%.*s): open the sink again, and let one sync "
                   "alone write to it",
                   target->shown, LC_STR_ARG(lc_str_of(state->writer ? state->writer : "unknown")));
}

lcdc_status lc_db_check_gone(const struct lc_db_target *target, const struct lc_db_state *state, lcdc_error **err)
{
    if (state->cursor && !target->setup->replaces)
        return lc_fail(err, LC_R_SINK_TARGET_GONE,
                       "target %s is gone, and " LC_DB_CURSOR " says that it was written: bring it back, or reset its "
                       "table in the ledger to begin again with a snapshot",
                       target->shown);
    if (target->may_create)
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_MISSING, "target %s is not there, and create is false: create it first",
                   target->shown);
}

lcdc_status lc_db_check_window(const struct lc_db_target *target, const struct lc_db_place *place,
                               const struct lc_window *window, bool is_empty, bool *out_staged, lcdc_error **err)
{
    if (target->mode == LC_DB_REPLACE && window->kind == LC_WINDOW_CHANGES)
        return lc_fail(err, LC_R_REQUEST_CONFLICT,
                       "target %s is in mode replace and takes whole states only: read table %s in mode full, or write "
                       "it in mode upsert or history",
                       target->shown, target->setup->table);
    if (window->kind == LC_WINDOW_SNAPSHOT && !is_empty && !target->may_adopt && !place->skips)
        return lc_fail(err, LC_R_SINK_NOT_EMPTY,
                       "target %s has rows already, and a first snapshot is to be written: empty it, or set if_exists "
                       "to adopt to add to them",
                       target->shown);
    if (window->kind == LC_WINDOW_REPLACE && target->mode == LC_DB_HISTORY && !is_empty && !target->may_adopt &&
        !place->skips)
        return lc_fail(err, LC_R_SINK_NOT_EMPTY,
                       "target %s is a history, and a whole state is to take the place of what it holds: empty it, or "
                       "set if_exists to adopt to keep it and add the rows of the state as inserts",
                       target->shown);
    bool is_new = window->kind == LC_WINDOW_REPLACE || (window->kind == LC_WINDOW_SNAPSHOT && is_empty);
    *out_staged = target->mode == LC_DB_UPSERT && (!is_new || target->takes_last);
    return LCDC_OK;
}

lcdc_status lc_db_refuse_duplicate(const struct lc_db_target *target, struct lc_str row, lcdc_error **err)
{
    return lc_fail(err, LC_R_SINK_DUPLICATE,
                   "%.*s: the table has more than one row of this identity, and target %s has room for one: choose "
                   "other identity columns, mode history, or set duplicates to last",
                   LC_STR_ARG(row), target->shown);
}

/* ---- place ---- */

void lc_db_place_done(struct lc_db_place *place)
{
    lc_free(place->known);
    lc_free(place->doubt);
    *place = (struct lc_db_place){0};
}

lcdc_status lc_db_place_begin(struct lc_db_place *place, const struct lc_db_target *target,
                              const struct lc_db_state *state, lcdc_error **err)
{
    place->skips = place->doubt && is_at(state, place->doubt);
    if (place->skips)
        lc_db_place_settle(place, true);
    LC_TRY(check_cursor(target, state, place->known, err));
    lc_db_place_settle(place, false);
    return LCDC_OK;
}

lcdc_status lc_db_place_doubt(struct lc_db_place *place, const char *cursor, lcdc_error **err)
{
    char *copy = lc_strdup(cursor);
    LC_TRY_ALLOC(copy);
    lc_free(place->doubt);
    place->doubt = copy;
    return LCDC_OK;
}

void lc_db_place_settle(struct lc_db_place *place, bool is_moved)
{
    if (is_moved) {
        lc_free(place->known);
        place->known = lc_steal(place->doubt);
    }
    lc_free(place->doubt);
    place->doubt = NULL;
}

void lc_db_place_set(struct lc_db_place *place, char *take_cursor)
{
    lc_db_place_done(place);
    place->known = take_cursor;
}

lcdc_status lc_db_place_skip(struct lc_db_place *place, const struct lc_db_target *target, const char *cursor,
                             lcdc_error **err)
{
    place->skips = false;
    if (place->known && strcmp(place->known, cursor) == 0)
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_CURSOR_MOVED,
                   "the window before this one had reached target %s after all: open the sink again", target->shown);
}
