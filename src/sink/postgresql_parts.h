/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgresql_parts.h - what the files of the PostgreSQL sink share.
 */
#ifndef LC_SINK_POSTGRESQL_PARTS_H
#define LC_SINK_POSTGRESQL_PARTS_H

#include "sink/db.h"
#include "sink/postgresql_link.h"

struct postgresql_sink {
    struct lc_sink base;
    struct lc_db_target target;
    struct lc_pg pg;
    struct lc_db_place place;
    struct lc_window window;
    bool is_staged;
    int64_t seq, befores, events; /* rows of the window in the stage, and those that leave; rows of the history */
    struct lc_buf data, scratch;
};

/** The first row of lc_db_select_state(); nothing when there is none. */
lcdc_status lc_postgresql_take_state(const struct pg_result *result, struct lc_db_state *out, lcdc_error **err);
/** Connects, locks the target and makes it fit, unless there is a connection; leaves one that works, or none. */
lcdc_status lc_postgresql_attach(struct postgresql_sink *sink, struct lc_db_state *state, lcdc_error **err);

#endif
