/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what the ledger remembers of one table, and its JSON form (state_json).
 *
 * `cursor` is how far the table has been read; `delivered` is the cursor that the last committed window was given,
 * which an exactly-once sink holds too. They differ after commits without rows. A state that is not NEW, ACTIVE or
 * FAILING stops the table until a person says how it goes on.
 */
#ifndef LC_SYNC_STATE_H
#define LC_SYNC_STATE_H

#include "base/error.h"
#include "base/str.h"

enum lc_state_kind {
    LC_STATE_NEW,
    LC_STATE_ACTIVE,
    LC_STATE_FAILING,
    LC_STATE_RECREATED,
    LC_STATE_SCHEMA_CHANGED,
    LC_STATE_EXPIRED,
    LC_STATE_ROLLED_BACK,
    LC_STATE_TARGET_RESET,
    LC_STATE_PAUSED,
    LC_STATE_COUNT
};

/** Texts are owned; times are microseconds since 1970, INT64_MIN = never. */
struct lc_state {
    enum lc_state_kind kind;
    char *cursor, *delivered;
    bool restart;  /* the next window replaces what the target holds */
    bool forced;   /* the cursor was set by a person: it wins over the sink's */
    bool agreed;   /* with restart: the sink has given its cursor up for it (see run_bind.c) */
    char *verdict; /* a JSON object */
    char *table_id;
    char *columns; /* a JSON list of [name, type] */
    int64_t rows, commits, windows, snapshots;
    int64_t failures; /* in a row */
    char *error_reason, *error_message;
    int64_t error_at, success_at, updated_at;
    int64_t commit_id, commit_at; /* of the last commit that was read; -1 none */
};

void lc_state_init(struct lc_state *state);
void lc_state_done(struct lc_state *state);
#define LC_STATE LC_CLEANUP(lc_state_done)

/** True for the states that a person must end. */
bool lc_state_is_stopped(enum lc_state_kind kind);
const char *lc_state_word(enum lc_state_kind kind);

/** Replaces an owned text; NULL takes it away. */
lcdc_status lc_state_text(char **at, const char *text, lcdc_error **err);

/** As one JSON object on one line. Appended. */
void lc_state_print(const struct lc_state *state, const char *table, struct lc_buf *out);
/** Into an initialised state. LC_R_LEDGER_BAD. */
lcdc_status lc_state_parse(struct lc_str json, const char *table, struct lc_state *out, lcdc_error **err);

int64_t lc_now_us(void);
/** Milliseconds of a clock that never goes back. */
int64_t lc_clock_ms(void);

#endif
