/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgresql_link.c - libpq without blocking, and what the server's errors mean.
 *
 * An error's class is told from its SQLSTATE; only a refused connection has none in libpq, and is told from its words.
 */
#include "sink/postgresql_link.h"

#include <libpq-fe.h>

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { GLANCE_MS = 200 };

/* ---- errors ---- */

/* One line without the password. Appended. */
static void put_message(const struct lc_pg *pg, struct lc_buf *out, const char *text)
{
    size_t secret = pg->password ? strlen(pg->password) : 0;
    struct lc_str rest = lc_str_of(text ? text : "");
    while (rest.n && (rest.p[rest.n - 1] == '\n' || rest.p[rest.n - 1] == ' '))
        rest.n--;
    while (rest.n) {
        size_t step = secret && lc_str_starts(rest, pg->password) ? secret : 1;
        if (step == secret && secret)
            lc_buf_text(out, "***");
        else
            lc_buf_char(out, (unsigned char)rest.p[0] < ' ' ? ' ' : rest.p[0]);
        rest = (struct lc_str){rest.p + step, rest.n - step};
    }
}

static const struct {
    const char *state; /* a SQLSTATE, or the beginning of one */
    enum lc_reason reason;
} reasons[] = {
    {"57014", LC_R_SINK_TIMEOUT},     /* query_canceled: not by us, so by statement_timeout or a person */
    {"55P03", LC_R_SINK_LOCKED},      /* lock_not_available */
    {"57", LC_R_SINK_UNAVAILABLE},    /* shutdown, terminated, starting up */
    {"08", LC_R_SINK_UNAVAILABLE},    /* connection exceptions */
    {"25P03", LC_R_SINK_UNAVAILABLE}, /* idle_in_transaction_session_timeout */
    {"25006", LC_R_SINK_DENIED},      /* read_only_sql_transaction */
    {"28", LC_R_SINK_DENIED},         /* authorization */
    {"42501", LC_R_SINK_DENIED},      /* insufficient_privilege */
    {"53100", LC_R_SINK_FULL},        /* disk_full */
    {"53", LC_R_SINK_UNAVAILABLE},    /* too many connections, out of memory */
    {"40", LC_R_SINK_UNAVAILABLE},    /* deadlock, serialization */
    {"23", LC_R_SINK_CONSTRAINT},     {"22", LC_R_SINK_VALUE},
    {"54", LC_R_SINK_VALUE},      /* a program limit: a row or a field too large */
    {"3D000", LC_R_SINK_MISSING}, /* database */
    {"3F000", LC_R_SINK_MISSING}, /* schema */
    {"42P01", LC_R_SINK_MISSING}, /* table */
    {"42P10", LC_R_SINK_SCHEMA},  /* no unique index for ON CONFLICT */
    {"42703", LC_R_SINK_SCHEMA},  /* column */
    {"42", LC_R_SINK_SCHEMA},
};

static enum lc_reason reason_of(const char *state)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (strncmp(state, reasons[i].state, strlen(reasons[i].state)) == 0)
            return reasons[i].reason;
    return LC_R_SINK_FAILED;
}

static lcdc_status fail_cancelled(struct lc_pg *pg, lcdc_error **err)
{
    lc_pg_drop(pg);
    return lc_fail(err, LC_R_CANCELLED, "writing to target %s was cancelled", pg->shown);
}

/* What libpq itself says about a connection that is of no use any more. */
static lcdc_status fail_lost(struct lc_pg *pg, lcdc_error **err)
{
    struct lc_buf text LC_BUF;
    lc_buf_init(&text, LC_BUF_MAX);
    put_message(pg, &text, PQerrorMessage(pg->conn));
    lc_pg_drop(pg);
    LC_TRY_BUF(&text);
    return lc_fail(err, LC_R_SINK_UNAVAILABLE, "target %s: the connection to postgresql was lost: %.*s", pg->shown,
                   LC_STR_ARG(((struct lc_str){text.p, text.n})));
}

static lcdc_status fail_result(struct lc_pg *pg, const PGresult *result, lcdc_error **err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    struct lc_buf text LC_BUF;
    lc_buf_init(&text, LC_BUF_MAX);
    if (!state)
        return fail_lost(pg, err);
    put_message(pg, &text, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
    if (detail && strcmp(state, "23505") == 0) { /* the key that is there twice; details of others may show whole rows
                                                  */
        lc_buf_text(&text, ": ");
        put_message(pg, &text, detail);
    }
    LC_TRY_BUF(&text);
    (void)lc_fail(err, reason_of(state), "target %s: postgresql says: %.*s (SQLSTATE %s)", pg->shown,
                  LC_STR_ARG(((struct lc_str){text.p, text.n})), state);
    lc_error_detail(err, "sqlstate", "%s", state);
    return lc_reason_status(reason_of(state));
}

/* ---- waiting ---- */

bool lc_pg_is_cancelled(const struct lc_pg *pg)
{
    return pg->cancelled && atomic_load(pg->cancelled);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until the socket is ready for one of `events`. */
static lcdc_status await(struct lc_pg *pg, short events, int64_t until_ms, lcdc_error **err)
{
    for (;;) {
        struct pollfd fd = {.fd = PQsocket(pg->conn), .events = events};
        if (lc_pg_is_cancelled(pg))
            return fail_cancelled(pg, err);
        if (until_ms && now_ms() >= until_ms) {
            lc_pg_drop(pg);
            return lc_fail(err, LC_R_SINK_UNAVAILABLE, "target %s: the postgresql server does not answer", pg->shown);
        }
        int n = poll(&fd, 1, GLANCE_MS);
        if (n > 0)
            return LCDC_OK;
        if (n < 0 && errno != EINTR)
            return fail_lost(pg, err);
    }
}

/* Until all that was queued is sent. */
static lcdc_status flush(struct lc_pg *pg, lcdc_error **err)
{
    for (;;) {
        int left = PQflush(pg->conn);
        if (left == 0)
            return LCDC_OK;
        if (left < 0) {
            /* What the server said last tells more than the broken pipe. */
            return fail_lost(pg, err);
        }
        LC_TRY(await(pg, POLLIN | POLLOUT, 0, err));
        if (!PQconsumeInput(pg->conn))
            return fail_lost(pg, err);
    }
}

/* The next result of what was sent; NULL after the last. */
static lcdc_status next_result(struct lc_pg *pg, PGresult **out, lcdc_error **err)
{
    while (PQisBusy(pg->conn)) {
        LC_TRY(await(pg, POLLIN, 0, err));
        if (!PQconsumeInput(pg->conn))
            return fail_lost(pg, err);
    }
    *out = PQgetResult(pg->conn);
    return LCDC_OK;
}

/* ---- statements ---- */

void lc_pg_clear(struct pg_result *result)
{
    PQclear(result);
}

static void drop_error(lcdc_error **err)
{
    if (err) {
        lcdc_error_free(*err);
        *err = NULL;
    }
}

/* Reads results to their end; the first error counts. A COPY that begins stops it. */
static lcdc_status drain(struct lc_pg *pg, PGresult **out, lcdc_error **err)
{
    PGresult *kept LC_PG_RESULT = NULL;
    lcdc_status failed = LCDC_OK;
    for (;;) {
        PGresult *result LC_PG_RESULT = NULL;
        LC_TRY(next_result(pg, &result, err));
        if (!result)
            break;
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COPY_IN) {
            pg->is_copying = true;
            return failed;
        }
        if (failed == LCDC_OK && (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE))
            failed = fail_result(pg, result, err);
        if (!pg->conn)
            return failed;
        if (status == PGRES_TUPLES_OK || !kept || PQresultStatus(kept) != PGRES_TUPLES_OK) {
            PQclear(kept);
            kept = lc_steal(result);
        }
    }
    if (PQstatus(pg->conn) == CONNECTION_BAD) {
        if (failed == LCDC_OK)
            return fail_lost(pg, err);
        lc_pg_drop(pg);
    }
    if (failed == LCDC_OK && out)
        *out = lc_steal(kept);
    return failed;
}

static lcdc_status send(struct lc_pg *pg, struct lc_buf *sql, lcdc_error **err)
{
    LC_TRY_BUF(sql);
    if (!pg->conn)
        return lc_fail(err, LC_R_SINK_UNAVAILABLE, "target %s: the connection to postgresql was lost", pg->shown);
    int sent = PQsendQuery(pg->conn, sql->p);
    lc_buf_clear(sql);
    return sent ? flush(pg, err) : fail_lost(pg, err);
}

lcdc_status lc_pg_run(struct lc_pg *pg, struct lc_buf *sql, struct pg_result **out, lcdc_error **err)
{
    LC_TRY(send(pg, sql, err));
    return drain(pg, out, err);
}

int64_t lc_pg_rows(const struct pg_result *result)
{
    return PQntuples(result);
}

int lc_pg_fields(const struct pg_result *result)
{
    return PQnfields(result);
}

const char *lc_pg_field_name(const struct pg_result *result, int field)
{
    return PQfname(result, field);
}

const char *lc_pg_value(const struct pg_result *result, int64_t row, int field)
{
    return PQgetisnull(result, (int)row, field) ? NULL : PQgetvalue(result, (int)row, field);
}

bool lc_pg_in_transaction(const struct lc_pg *pg)
{
    return pg->conn && PQtransactionStatus(pg->conn) != PQTRANS_IDLE;
}

/* ---- COPY ---- */

lcdc_status lc_pg_copy_begin(struct lc_pg *pg, struct lc_buf *sql, lcdc_error **err)
{
    LC_TRY(lc_pg_run(pg, sql, NULL, err));
    if (pg->is_copying)
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_FAILED, "target %s: postgresql did not begin a COPY", pg->shown);
}

lcdc_status lc_pg_copy_data(struct lc_pg *pg, struct lc_buf *data, lcdc_error **err)
{
    if (data->failed) {
        lc_pg_copy_abandon(pg);
        return lc_fail_oom(err);
    }
    bool is_sent = data->n == 0 || PQputCopyData(pg->conn, data->p, (int)data->n) == 1;
    lc_buf_clear(data);
    pg->is_copying = false; /* until this went well */
    if (!is_sent)
        return fail_lost(pg, err);
    LC_TRY(flush(pg, err));
    pg->is_copying = true;
    return LCDC_OK;
}

lcdc_status lc_pg_copy_end(struct lc_pg *pg, lcdc_error **err)
{
    pg->is_copying = false;
    if (PQputCopyEnd(pg->conn, NULL) != 1)
        return fail_lost(pg, err);
    LC_TRY(flush(pg, err));
    return drain(pg, NULL, err);
}

void lc_pg_copy_abandon(struct lc_pg *pg)
{
    lcdc_error *ignored LC_ERROR = NULL;
    if (!pg->conn || !pg->is_copying)
        return;
    pg->is_copying = false;
    if (PQputCopyEnd(pg->conn, "the rows were refused before they were sent") != 1 || flush(pg, &ignored) != LCDC_OK) {
        lc_pg_drop(pg);
        return;
    }
    drop_error(&ignored);
    lcdc_status expected = drain(pg, NULL, &ignored);
    (void)expected; /* query_canceled, by us */
}

/* ---- connecting ---- */

void lc_pg_drop(struct lc_pg *pg)
{
    PQfinish(pg->conn);
    pg->conn = NULL;
    pg->is_copying = false;
}

void lc_pg_done(struct lc_pg *pg)
{
    lc_pg_drop(pg);
    lc_free(pg->password);
    pg->password = NULL;
}

static void free_options(PQconninfoOption **options)
{
    PQconninfoFree(*options);
}

lcdc_status lc_pg_check_dsn(struct lc_pg *pg, lcdc_error **err)
{
    char *words = NULL; /* not shown: they may quote the password */
    PQconninfoOption *options LC_CLEANUP(free_options) = PQconninfoParse(pg->dsn, &words);
    PQfreemem(words);
    if (!options)
        return lc_fail(err, LC_R_OPTION_VALUE,
                       "target %s: dsn is no connection string of postgresql (key=value ... or postgresql://...)",
                       pg->shown);
    for (const PQconninfoOption *option = options; option->keyword; option++)
        if (strcmp(option->keyword, "password") == 0 && option->val && *option->val)
            LC_TRY_ALLOC(pg->password = lc_strdup(option->val));
    return LCDC_OK;
}

static void ignore_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

static lcdc_status fail_connect(struct lc_pg *pg, lcdc_error **err)
{
    static const char *const denied[] = {"authentication failed", "no password supplied", "pg_hba.conf",
                                         "permission denied", "not permitted to log in"};
    const char *said = pg->conn ? PQerrorMessage(pg->conn) : "";
    enum lc_reason reason = LC_R_SINK_UNAVAILABLE;
    struct lc_buf text LC_BUF;
    lc_buf_init(&text, LC_BUF_MAX);
    for (size_t i = 0; i < sizeof(denied) / sizeof(*denied); i++)
        if (strstr(said, denied[i]))
            reason = LC_R_SINK_DENIED;
    if (strstr(said, "role \"") && strstr(said, "does not exist"))
        reason = LC_R_SINK_DENIED;
    if (strstr(said, "database \"") && strstr(said, "does not exist"))
        reason = LC_R_SINK_MISSING;
    put_message(pg, &text, said);
    lc_pg_drop(pg);
    LC_TRY_BUF(&text);
    return lc_fail(err, reason, "target %s: %.*s", pg->shown, LC_STR_ARG(((struct lc_str){text.p, text.n})));
}

static lcdc_status connect_slowly(struct lc_pg *pg, lcdc_error **err)
{
    int64_t until = now_ms() + pg->connect_ms;
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;) {
        if (next == PGRES_POLLING_FAILED || PQstatus(pg->conn) == CONNECTION_BAD)
            return fail_connect(pg, err);
        LC_TRY(await(pg, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, until, err));
        next = PQconnectPoll(pg->conn);
    }
    return LCDC_OK;
}

/* A peer that vanished is noticed within a minute, and a lock is not waited for without end. */
static lcdc_status set_up(struct lc_pg *pg, lcdc_error **err)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_buf_text(&sql, "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET DateStyle = 'ISO'; "
                      "SET client_min_messages = warning; SET idle_in_transaction_session_timeout = 0; "
                      "SET lock_timeout = '10s'");
    LC_TRY(lc_pg_run(pg, &sql, NULL, err));
    lcdc_error *ignored LC_ERROR = NULL; /* before PostgreSQL 14, and where the kernel cannot tell, there is none */
    lc_buf_text(&sql, "SET client_connection_check_interval = '1s'");
    if (lc_pg_run(pg, &sql, NULL, &ignored) != LCDC_OK && !pg->conn)
        return lc_fail(err, LC_R_SINK_UNAVAILABLE, "target %s: the connection to postgresql was lost", pg->shown);
    return LCDC_OK;
}

lcdc_status lc_pg_connect(struct lc_pg *pg, lcdc_error **err)
{
    /* The later ones win: what the dsn says counts. */
    const char *const keys[] = {"keepalives_idle",
                                "keepalives_interval",
                                "keepalives_count",
                                "tcp_user_timeout",
                                "fallback_application_name",
                                "dbname",
                                NULL};
    const char *const values[] = {"30", "10", "3", "60000", "lakecdc", pg->dsn, NULL};
    if (pg->conn)
        return LCDC_OK;
    pg->conn = PQconnectStartParams(keys, values, 1);
    if (!pg->conn)
        return lc_fail_oom(err);
    PQsetNoticeReceiver(pg->conn, ignore_notice, NULL);
    LC_TRY(connect_slowly(pg, err));
    if (PQsetnonblocking(pg->conn, 1) != 0)
        return fail_lost(pg, err);
    return set_up(pg, err);
}
