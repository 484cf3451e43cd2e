/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - one session on a Spark Connect server: the short calls, and the state that all calls share.
 *
 * A session of our own is released when it is freed; one that the connection string names is somebody else's and stays.
 */
#ifndef LC_SPARK_SESSION_H
#define LC_SPARK_SESSION_H

#include "core/request.h"
#include "spark/fault.h"
#include "spark/grpc.h"
#include "spark/wire.h"

enum { LC_SPARK_MAX_TRIES = 5 };

struct lc_spark_session {
    struct lc_arena arena;
    struct lc_spark_url url;
    struct lc_grpc grpc;
    char id[37];
    bool is_own, is_begun, is_lost; /* begun: the server heard of it; lost: the server does not answer any more */
    char *server_id;                /* what the server calls it; another one later means that it was restarted */
    Lc__Spark__UserContext user;
    const char *client_type;
    int64_t timeout_ms;
    const _Atomic int *cancelled;   /* of the read in progress; may be NULL */
    const struct lc_shared *shared; /* whose call in progress may be cancelled too */
};

lcdc_status lc_spark_session_open(const lcdc_request *request, struct lc_spark_session **out, lcdc_error **err);
void lc_spark_session_free(struct lc_spark_session *session);
LC_DEFINE_CLEANUP(struct lc_spark_session *, lc_spark_session_free)

/** A random UUID as text. */
lcdc_status lc_spark_new_id(char out[37], lcdc_error **err);

/** How long a wait that begins now may last. */
struct lc_http2_wait lc_spark_wait(const struct lc_spark_session *session);
/** A call on the source was cancelled and is on its way back: what is still to be done must not take long. */
bool lc_spark_is_hurried(const struct lc_spark_session *session);
/** The pause before try number `tries` (from 1), or the one the server asked for; LC_R_CANCELLED when it is cut short.
 */
lcdc_status lc_spark_back_off(const struct lc_spark_session *session, int tries, const struct lc_spark_fault *fault,
                              lcdc_error **err);
/** Holds what a reply says of its session against ours. */
lcdc_status lc_spark_check_ids(struct lc_spark_session *session, const char *session_id, const char *server_id,
                               lcdc_error **err);
/** Makes the error of a call that ended badly, with its full text fetched. */
lcdc_status lc_spark_fail(struct lc_spark_session *session, const struct lc_grpc_end *end, lcdc_error **err);

/** Spark's version, "4.2.1"; lives in the session. */
lcdc_status lc_spark_version(struct lc_spark_session *session, const char **out, lcdc_error **err);
/** Sees whether a statement resolves; never ask this of a CALL, which would run. */
lcdc_status lc_spark_analyze(struct lc_spark_session *session, const char *sql, lcdc_error **err);
/** A setting of the session's; lives in the session. An error where the server knows no such key. */
lcdc_status lc_spark_get_config(struct lc_spark_session *session, const char *key, const char **out, lcdc_error **err);
/** Stops an operation's job and frees what the server holds of it; short, and never an error. */
void lc_spark_leave(struct lc_spark_session *session, const char *operation_id, bool is_running);

#endif
