/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db.h - what the SQL sinks share: the target table as a list of columns, and the texts of the statements it needs.
 *
 * The rows of a window reach a target in one of two ways. Into the table itself, where every row is a new one: history,
 * and whole states. Or into a stage, a temporary table of the connection, from where one DELETE and one upsert take the
 * last row of each identity: so it ends right however often a window changes an identity, and deletes come first. The
 * cursor is a row of `lakecdc_cursor` beside the target and moves in the same transaction. Nothing here talks to a
 * database: sqlite.c and postgresql.c do.
 */
#ifndef LC_SINK_DB_H
#define LC_SINK_DB_H

#include "sink/sink.h"

enum lc_db_dialect { LC_DB_SQLITE, LC_DB_POSTGRESQL };

enum lc_db_mode {
    LC_DB_UPSERT,  /* the target is the table: rows come and go by identity */
    LC_DB_HISTORY, /* the target is the feed: every change is a row */
    LC_DB_REPLACE  /* the target is the table, written as a whole each time; needs no identity */
};

struct lc_db_column {
    const char *name;
    const char *type;             /* in the words of the dialect */
    const char *word;             /* the lake's word for it; NULL of a column of the sink's own */
    const struct lc_field *field; /* NULL of a column of the sink's own */
    bool is_key;                  /* of the primary key, never null */
};

/* The sink's own columns of a history, which are its first ones. */
enum {
    LC_DB_EVENT, /* 1, 2, 3 ...: the order of changes, without gaps */
    LC_DB_OP,
    LC_DB_SNAPSHOT,
    LC_DB_TS,
    LC_DB_OWN
};

struct lc_db_target {
    const struct lc_sink_setup *setup;
    enum lc_db_dialect dialect;
    enum lc_db_mode mode;
    struct lc_arena arena;
    bool may_create, may_adopt;     /* options create, if_exists */
    bool keeps_dropped, takes_last; /* dropped_columns, duplicates */
    bool keeps_zero_sign;           /* signed_zero, of SQLite */
    const char *schema;             /* NULL in SQLite */
    const char *table;
    const char *shown; /* schema and table for messages */
    size_t n_own;      /* LC_DB_OWN or 0 */
    size_t n_columns;
    struct lc_db_column *columns;
};

/** Options that both have; each has its own before them. */
#define LC_DB_OPTIONS                                                                                                  \
    {.key = "table", .help = "the target table; default: the table's name"},                                           \
        {.key = "mode",                                                                                                \
         .initial = "upsert",                                                                                          \
         .words = "upsert history replace",                                                                            \
         .help = "upsert: rows by identity; history: every change is a row; replace: whole states, without identity"}, \
        {.key = "create", .initial = "true", .words = "true false", .help = "create the target when it is not there"}, \
        {.key = "if_exists",                                                                                           \
         .initial = "refuse",                                                                                          \
         .words = "refuse adopt",                                                                                      \
         .help = "a first snapshot and a target with rows: stop, or add to them"},                                     \
        {.key = "duplicates",                                                                                          \
         .initial = "refuse",                                                                                          \
         .words = "refuse last",                                                                                       \
         .help = "a commit that leaves two rows of one identity: stop, or keep the last"},                             \
    {                                                                                                                  \
        .key = "dropped_columns", .initial = "refuse", .words = "refuse keep",                                         \
        .help = "a column that is no longer in the table: stop, or leave it as it is"                                  \
    }

void lc_db_target_done(struct lc_db_target *target);
#define LC_DB_TARGET LC_CLEANUP(lc_db_target_done)

/**
 * Reads the options, names and types of a target; refuses what no database of the dialect can have: names too long or
 * taken, columns that differ in letter case only. `schema` is NULL in SQLite. The target may be half built on failure.
 */
lcdc_status lc_db_target_init(struct lc_db_target *target, const struct lc_sink_ops *ops, enum lc_db_dialect dialect,
                              const struct lc_sink_setup *setup, const char *schema, lcdc_error **err);

/* ---- statements, appended ---- */

void lc_db_name(struct lc_buf *sql, const char *name);   /* "with ""quotes""" */
void lc_db_text(struct lc_buf *sql, struct lc_str text); /* 'it''s' */
void lc_db_target_name(struct lc_buf *sql, const struct lc_db_target *target);
void lc_db_cursor_name(struct lc_buf *sql, const struct lc_db_target *target);
void lc_db_create_target(struct lc_buf *sql, const struct lc_db_target *target);
void lc_db_create_cursor(struct lc_buf *sql, const struct lc_db_target *target);
void lc_db_create_stage(struct lc_buf *sql, const struct lc_db_target *target);
void lc_db_add_column(struct lc_buf *sql, const struct lc_db_target *target, const struct lc_db_column *column);
void lc_db_widen_column(struct lc_buf *sql, const struct lc_db_target *target, const struct lc_db_column *column);
void lc_db_clear_target(struct lc_buf *sql, const struct lc_db_target *target);
/** The columns of rows that go into the target, or into the stage: "a", "b". */
void lc_db_columns(struct lc_buf *sql, const struct lc_db_target *target, bool stage);
/** An identity of which the staged rows leave more than one row; no row when there is none. */
void lc_db_find_duplicate(struct lc_buf *sql, const struct lc_db_target *target);
/** `most` bounds how many there can be: it tells the planner to look them up instead of reading the target. */
void lc_db_delete_staged(struct lc_buf *sql, const struct lc_db_target *target, int64_t most);
void lc_db_upsert_staged(struct lc_buf *sql, const struct lc_db_target *target);

#define LC_DB_STAGE "lakecdc_stage"
#define LC_DB_CURSOR "lakecdc_cursor"

/* ---- the row of lakecdc_cursor ---- */

struct lc_db_state {
    bool is_there;
    char *cursor; /* NULL before the first window */
    char *fed_by; /* the table of the config that writes to the target */
    char *mode;
    char *columns;  /* what lc_db_print_columns() made of them when the target was last opened */
    char *writer;   /* who moved it last */
    int64_t events; /* rows of a history so far */
};

void lc_db_state_done(struct lc_db_state *state);
#define LC_DB_STATE LC_CLEANUP(lc_db_state_done)

/* Columns of the SELECT, in order. */
enum {
    LC_DB_STATE_CURSOR,
    LC_DB_STATE_FED_BY,
    LC_DB_STATE_MODE,
    LC_DB_STATE_COLUMNS,
    LC_DB_STATE_WRITER,
    LC_DB_STATE_EVENTS,
    LC_DB_STATE_FIELDS
};
/** Takes one field of that SELECT as the database gives it as text; NULL is null. */
lcdc_status lc_db_state_take(struct lc_db_state *state, int field, const char *text, lcdc_error **err);
/** With `lock` other writers of this row wait. */
void lc_db_select_state(struct lc_buf *sql, const struct lc_db_target *target, bool lock);
void lc_db_insert_state(struct lc_buf *sql, const struct lc_db_target *target);
/** Writes down which columns the target has now. */
void lc_db_update_columns(struct lc_buf *sql, const struct lc_db_target *target);
/** Moves the cursor; only if it still is at `from` (NULL: none). */
void lc_db_move_cursor(struct lc_buf *sql, const struct lc_db_target *target, const char *from, const char *to,
                       const struct lc_window *window, int64_t events);
/** Sets the cursor between windows; NULL: as before the first one. What the row says of the last window stays. */
void lc_db_set_cursor(struct lc_buf *sql, const struct lc_db_target *target, const char *to);
/** The state against what this sync knows and wants: another table, another mode. */
lcdc_status lc_db_check_state(const struct lc_db_target *target, const struct lc_db_state *state, lcdc_error **err);

/** Where a sink knows the cursor to be. */
struct lc_db_place {
    char *known; /* NULL: none */
    char *doubt; /* where a commit whose answer was lost may have moved it; NULL: there is no doubt */
    bool skips;  /* the window that is being delivered is in the target already */
};

void lc_db_place_done(struct lc_db_place *place);
/** At the begin of a window: the cursor must be where it was left, or where the commit in doubt would have left it. */
lcdc_status lc_db_place_begin(struct lc_db_place *place, const struct lc_db_target *target,
                              const struct lc_db_state *state, lcdc_error **err);
/** Before a commit is sent, whose answer may be lost. */
lcdc_status lc_db_place_doubt(struct lc_db_place *place, const char *cursor, lcdc_error **err);
/** The answer came. */
void lc_db_place_settle(struct lc_db_place *place, bool is_moved);
/** The cursor was set between windows; takes the text, NULL: none. */
void lc_db_place_set(struct lc_db_place *place, char *take_cursor);
/** The commit of a window that `skips`. */
lcdc_status lc_db_place_skip(struct lc_db_place *place, const struct lc_db_target *target, const char *cursor,
                             lcdc_error **err);

/** "lakecdc 0.1.0, process 12 on host": for the row and for the server's list of sessions. */
void lc_db_print_writer(struct lc_buf *buf);
/** {"id":"bigint"}. Appended. */
void lc_db_print_columns(struct lc_buf *buf, const struct lc_db_target *target);

/** LC_R_SINK_TARGET_GONE or _MISSING when a target that is not there may not be created. */
lcdc_status lc_db_check_gone(const struct lc_db_target *target, const struct lc_db_state *state, lcdc_error **err);
/**
 * Whether such a window may come, `is_empty` being what the target is when a whole state comes; and whether its rows go
 * through the stage. A history is never cleared.
 */
lcdc_status lc_db_check_window(const struct lc_db_target *target, const struct lc_db_place *place,
                               const struct lc_window *window, bool is_empty, bool *out_staged, lcdc_error **err);
/** LC_R_SINK_DUPLICATE, about the row that `row` names. */
lcdc_status lc_db_refuse_duplicate(const struct lc_db_target *target, struct lc_str row, lcdc_error **err);

/* ---- what is found ---- */

/** A column of the target as the database describes it. */
struct lc_db_found {
    const char *name;
    const char *type;
    bool may_be_left_out; /* takes null, or has a default */
};

/** What has to be done about a column of ours. */
enum lc_db_change { LC_DB_FITS, LC_DB_MISSING, LC_DB_WIDENS };

/**
 * Holds the columns found in a target against those wanted; changes[i] is what column i needs. `recorded` is
 * lc_db_state.columns, or NULL. LC_R_SINK_SCHEMA names the first column that neither adding nor widening makes fit.
 */
lcdc_status lc_db_compare(const struct lc_db_target *target, size_t n_found, const struct lc_db_found *found,
                          const char *recorded, enum lc_db_change *changes, lcdc_error **err);

/** Whether every value of the type `from` is one of `to` (types of one dialect). */
bool lc_db_type_holds(enum lc_db_dialect dialect, const char *to, const char *from);

/* ---- rows ---- */

/** One row for the target or the stage: an image and what happened to it. */
struct lc_db_row {
    lcdc_op op;                     /* never LCDC_OP_UPDATE, which is two rows */
    const struct ArrowArray *image; /* its children are read with at: lc_array_value(image->children[c], type, at) */
    int64_t at;
    bool has_snapshot, has_ts;
    int64_t snapshot, ts_us;
};

static inline bool lc_db_is_after(const struct lc_db_row *row)
{
    return row->op == LCDC_OP_INSERT || row->op == LCDC_OP_UPDATE_AFTER;
}

typedef lcdc_status (*lc_db_put)(void *context, const struct lc_db_row *row, lcdc_error **err);

/** Gives each row of a batch to `put`, in order, after checking that it may occur in such a window. */
lcdc_status lc_db_each(const struct lc_db_target *target, const struct lc_window *window, const struct ArrowArray *rows,
                       lc_db_put put, void *context, lcdc_error **err);

/** "row id=5, commit 3", values cut short. Appended. */
void lc_db_print_row(struct lc_buf *buf, const struct lc_db_target *target, const struct lc_db_row *row);

/** LC_R_SINK_VALUE: which column of which row, and why the target cannot hold it. */
lcdc_status lc_db_refuse_value(const struct lc_db_target *target, const struct lc_db_row *row,
                               const struct lc_db_column *column, const char *why, lcdc_error **err);

/** The value of a column as a field of PostgreSQL's COPY in text form; why it cannot be, or NULL. Appended. */
const char *lc_db_copy_value(struct lc_buf *out, struct lc_buf *scratch, const struct lc_field *field,
                             const struct ArrowArray *array, int64_t at);
/** The same of a commit time, microseconds since 1970. */
const char *lc_db_copy_instant(struct lc_buf *out, int64_t us);

/* ---- a column that comes with a value ---- */

/** An array of one row; it points into itself. */
struct lc_db_one {
    struct ArrowArray array; /* not to be released */
    const void *buffers[3];
    int32_t offsets[2];
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
        lc_i128 dec;
    } cell;
};

/** What rows that are there have in a column that is added now; false: null. The field's texts are borrowed. */
bool lc_db_default_row(const struct lc_db_target *target, const struct lc_db_column *column,
                       const struct lc_db_state *state, struct lc_db_one *out);
/** UPDATE of every row; `value` is an expression of the dialect. */
void lc_db_fill_column(struct lc_buf *sql, const struct lc_db_target *target, const struct lc_db_column *column,
                       struct lc_str value);

#endif
