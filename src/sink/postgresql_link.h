/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgresql_link.h - a connection to a PostgreSQL server on which nothing blocks for longer than a glance at the flag.
 *
 * Every wait is a poll() of a fifth of a second. What is cancelled, or does not answer any more, is left by closing the
 * connection: the server ends the transaction, within a second since it is told to look
 * (client_connection_check_interval, PostgreSQL 14). A cancel request of libpq would block where the server does.
 */
#ifndef LC_SINK_POSTGRESQL_LINK_H
#define LC_SINK_POSTGRESQL_LINK_H

#include "base/error.h"
#include "base/str.h"

struct pg_conn;
struct pg_result;

struct lc_pg {
    struct pg_conn *conn; /* NULL: not connected */
    const char *dsn;
    const char *shown; /* the target, for messages */
    const _Atomic int *cancelled;
    int64_t connect_ms;
    char *password; /* of the dsn, so that no message has it */
    bool is_copying;
};

/** Takes the password out of the dsn; LC_R_OPTION_VALUE when it is no connection string. */
lcdc_status lc_pg_check_dsn(struct lc_pg *pg, lcdc_error **err);
/** Connects, and sets the session up; does nothing when there is a connection. */
lcdc_status lc_pg_connect(struct lc_pg *pg, lcdc_error **err);
/** Closes the connection without waiting for anything. */
void lc_pg_drop(struct lc_pg *pg);
void lc_pg_done(struct lc_pg *pg);
bool lc_pg_is_cancelled(const struct lc_pg *pg);

/**
 * Runs statements in one round trip, and clears their text. *out (may be NULL) is the result of the last one that gave
 * rows, or of the last one; lc_pg_clear() it. The first error is given. A lost connection is dropped.
 */
lcdc_status lc_pg_run(struct lc_pg *pg, struct lc_buf *sql, struct pg_result **out, lcdc_error **err);
void lc_pg_clear(struct pg_result *result);
LC_DEFINE_CLEANUP(struct pg_result *, lc_pg_clear)
#define LC_PG_RESULT LC_CLEANUP(lc_pg_clearp)

int64_t lc_pg_rows(const struct pg_result *result);
int lc_pg_fields(const struct pg_result *result);
const char *lc_pg_field_name(const struct pg_result *result, int field);
/** NULL for null. */
const char *lc_pg_value(const struct pg_result *result, int64_t row, int field);

/** COPY ... FROM STDIN: begin, data ..., end. A failed one has ended. */
lcdc_status lc_pg_copy_begin(struct lc_pg *pg, struct lc_buf *sql, lcdc_error **err);
/** Sends the data, waits until it is sent, and clears it. */
lcdc_status lc_pg_copy_data(struct lc_pg *pg, struct lc_buf *data, lcdc_error **err);
lcdc_status lc_pg_copy_end(struct lc_pg *pg, lcdc_error **err);
/** Ends a COPY that is not to count; its transaction has failed then. */
void lc_pg_copy_abandon(struct lc_pg *pg);

/** Whether a transaction is open, failed or not. */
bool lc_pg_in_transaction(const struct lc_pg *pg);

#endif
