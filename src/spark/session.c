/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lakecdc/base.h"
#include "spark/sql.h"

enum { LEAVE_MS = 3000, LEAVE_LOST_MS = 500, LEAVE_HURRIED_MS = 350, LOOK_MS = 20, MAX_PAUSE_MS = 2000 };

/* ---- ids, waits ---- */

lcdc_status lc_spark_new_id(char out[37], lcdc_error **err)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return lc_fail(err, LC_R_INTERNAL, "the system has no random numbers for a session id");
    random[6] = (unsigned char)((random[6] & 0x0F) | 0x40);
    random[8] = (unsigned char)((random[8] & 0x3F) | 0x80);
    char *to = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = hex[random[i] >> 4];
        *to++ = hex[random[i] & 15];
    }
    *to = 0;
    return LCDC_OK;
}

struct lc_http2_wait lc_spark_wait(const struct lc_spark_session *session)
{
    return (struct lc_http2_wait){.deadline_ms = lc_now_ms() + session->timeout_ms,
                                  .n_cancels = 2,
                                  .cancels = {session->cancelled, session->shared ? session->shared->cancelled : NULL}};
}

bool lc_spark_is_hurried(const struct lc_spark_session *session)
{
    return session->shared && session->shared->cancelled && *session->shared->cancelled;
}

static bool is_cancelled(const struct lc_spark_session *session)
{
    return (session->cancelled && *session->cancelled) || lc_spark_is_hurried(session);
}

lcdc_status lc_spark_back_off(const struct lc_spark_session *session, int tries, const struct lc_spark_fault *fault,
                              lcdc_error **err)
{
    int64_t pause = 50;
    for (int i = 1; i < tries && pause < MAX_PAUSE_MS; i++)
        pause *= 4;
    pause = pause > MAX_PAUSE_MS ? MAX_PAUSE_MS : pause;
    if (fault && fault->has_retry && fault->retry_ms > pause)
        pause = fault->retry_ms < session->timeout_ms ? fault->retry_ms : session->timeout_ms;
    for (int64_t end = lc_now_ms() + pause; lc_now_ms() < end && !is_cancelled(session);) {
        struct timespec look = {.tv_nsec = LOOK_MS * 1000000};
        (void)nanosleep(&look, NULL);
    }
    return is_cancelled(session) ? lc_fail(err, LC_R_CANCELLED, "the read was cancelled") : LCDC_OK;
}

lcdc_status lc_spark_check_ids(struct lc_spark_session *session, const char *session_id, const char *server_id,
                               lcdc_error **err)
{
    if (session_id && *session_id && strcmp(session_id, session->id) != 0)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server sent an answer that belongs to another session");
    if (!server_id || !*server_id)
        return LCDC_OK;
    if (session->server_id && strcmp(session->server_id, server_id) != 0)
        return lc_fail(err, LC_R_SPARK_CONNECTION, "the Spark server was restarted, and the session with it");
    if (!session->server_id) {
        session->server_id = lc_arena_strdup(&session->arena, server_id);
        LC_TRY_ALLOC(session->server_id);
    }
    return LCDC_OK;
}

/* ---- one short call ---- */

struct call {
    const char *method;
    const ProtobufCMessage *request;
    const struct lc_http2_wait *wait;
};

/* The reply's bytes, or how the call ended when it gave none. */
static lcdc_status call_once(struct lc_spark_session *session, const struct call *call, struct lc_buf *reply,
                             struct lc_grpc_end *end, lcdc_error **err)
{
    LC_BUF struct lc_buf packed = {0};
    LC_CLEANUP(lc_grpc_closep) struct lc_grpc_call *grpc = NULL;
    LC_TRY(lc_wire_pack(call->request, &packed, err));
    int64_t left = call->wait->deadline_ms - lc_now_ms();
    struct lc_grpc_request request = {
        .method = call->method, .message = {packed.p, packed.n}, .timeout_ms = left > 1 ? left : 1};
    LC_TRY(lc_grpc_open(&session->grpc, &request, &grpc, err));
    session->is_begun = true;
    for (bool found = true; found;) {
        struct lc_str message = {0};
        LC_TRY(lc_grpc_next(grpc, call->wait, &message, &found, err));
        if (found) {
            lc_buf_clear(reply);
            lc_buf_append(reply, message.p, message.n);
            LC_TRY_BUF(reply);
        }
    }
    *end = grpc->end;
    grpc->end = (struct lc_grpc_end){0};
    return LCDC_OK;
}

static lcdc_status raise(struct lc_spark_session *session, struct lc_spark_fault *fault, lcdc_error **err);

/* With tries as Spark's own clients make them; every call that comes here may be made twice. */
static lcdc_status call_server(struct lc_spark_session *session, const char *method, const ProtobufCMessage *request,
                               const ProtobufCMessageDescriptor *type, ProtobufCMessage **out, lcdc_error **err)
{
    struct lc_http2_wait wait = lc_spark_wait(session);
    struct call call = {method, request, &wait};
    for (int tries = 1;; tries++) {
        LC_BUF struct lc_buf reply;
        LC_ARENA struct lc_arena arena = {0};
        LC_CLEANUP(lc_grpc_end_done) struct lc_grpc_end end = {0};
        struct lc_spark_fault fault;
        lc_buf_init(&reply, LC_FRAME_MAX);
        lcdc_status status = call_once(session, &call, &reply, &end, err);
        session->is_lost = status == LCDC_UNAVAILABLE;
        if (status != LCDC_OK)
            return status;
        if (end.code == LC_GRPC_OK)
            return lc_wire_unpack(type, (struct lc_str){reply.p, reply.n}, out, err);
        LC_TRY(lc_spark_fault_parse(&end, &arena, &fault, err));
        if (!lc_spark_fault_is_retriable(&fault) || tries >= LC_SPARK_MAX_TRIES || lc_now_ms() >= wait.deadline_ms) {
            session->is_lost = end.code == LC_GRPC_UNAVAILABLE;
            return raise(session, &fault, err);
        }
        LC_TRY(lc_spark_back_off(session, tries, &fault, err));
    }
}

/*
 * One try, a short wait, no error: for the ways out and for what is good to have. A cancel ends the wait; what is
 * called after one has a time of its own, so that a cancelled call is back within a second and still leaves nothing
 * behind.
 */
static void call_quickly(struct lc_spark_session *session, const char *method, const ProtobufCMessage *request,
                         struct lc_buf *reply)
{
    LC_CLEANUP(lc_grpc_end_done) struct lc_grpc_end end = {0};
    struct lc_http2_wait wait = lc_spark_wait(session);
    wait.deadline_ms = lc_now_ms() + (lc_spark_is_hurried(session) ? LEAVE_HURRIED_MS
                                      : session->is_lost           ? LEAVE_LOST_MS
                                                                   : LEAVE_MS);
    wait.n_cancels = is_cancelled(session) ? 0 : wait.n_cancels;
    struct call call = {method, request, &wait};
    lc_buf_init(reply, LC_FRAME_MAX);
    lcdc_status status = call_once(session, &call, reply, &end, NULL);
    if (status != LCDC_OK || end.code != LC_GRPC_OK)
        lc_buf_clear(reply);
    session->is_lost = session->is_lost || status == LCDC_UNAVAILABLE;
}

/* ---- errors ---- */

#define COMMON(session)                                                                                                \
    .session_id = (session)->id, .user_context = &(session)->user,                                                     \
    .client_type = (char *)(uintptr_t)(session)->client_type

static lcdc_status raise(struct lc_spark_session *session, struct lc_spark_fault *fault, lcdc_error **err)
{
    LC_BUF struct lc_buf reply = {0};
    LC_ARENA struct lc_arena arena = {0};
    if (fault->error_id) {
        Lc__Spark__FetchErrorDetailsRequest request = {
            PROTOBUF_C_MESSAGE_INIT(&lc__spark__fetch_error_details_request__descriptor), COMMON(session),
            .error_id = (char *)(uintptr_t)fault->error_id};
        call_quickly(session, "FetchErrorDetails", &request.base, &reply);
        if (reply.n)
            LC_TRY(lc_spark_fault_complete((struct lc_str){reply.p, reply.n}, &arena, fault, err));
    }
    return lc_spark_fault_raise(fault, session->url.n_secrets, session->url.secrets, err);
}

lcdc_status lc_spark_fail(struct lc_spark_session *session, const struct lc_grpc_end *end, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_spark_fault fault;
    LC_TRY(lc_spark_fault_parse(end, &arena, &fault, err));
    session->is_lost = end->code == LC_GRPC_UNAVAILABLE;
    return raise(session, &fault, err);
}

/* ---- the calls ---- */

static lcdc_status ask(struct lc_spark_session *session, const char *method, const ProtobufCMessage *request,
                       const ProtobufCMessageDescriptor *type, ProtobufCMessage **out, lcdc_error **err)
{
    LC_TRY(call_server(session, method, request, type, out, err));
    return *out ? LCDC_OK : lc_fail(err, LC_R_INTERNAL, "%s: a good reply with nothing in it", method);
}

lcdc_status lc_spark_version(struct lc_spark_session *session, const char **out, lcdc_error **err)
{
    LC_WIRE ProtobufCMessage *message = NULL;
    Lc__Spark__AnalyzePlanRequest__SparkVersion version = LC__SPARK__ANALYZE_PLAN_REQUEST__SPARK_VERSION__INIT;
    Lc__Spark__AnalyzePlanRequest request = {
        PROTOBUF_C_MESSAGE_INIT(&lc__spark__analyze_plan_request__descriptor), COMMON(session),
        .analyze_case = LC__SPARK__ANALYZE_PLAN_REQUEST__ANALYZE_SPARK_VERSION, .spark_version = &version};
    LC_TRY(ask(session, "AnalyzePlan", &request.base, &lc__spark__analyze_plan_response__descriptor, &message, err));
    const Lc__Spark__AnalyzePlanResponse *reply = (const Lc__Spark__AnalyzePlanResponse *)message;
    LC_TRY(lc_spark_check_ids(session, reply->session_id, reply->server_side_session_id, err));
    if (reply->result_case != LC__SPARK__ANALYZE_PLAN_RESPONSE__RESULT_SPARK_VERSION || !reply->spark_version->version)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server was asked for its version and answered something else");
    *out = lc_arena_strdup(&session->arena, reply->spark_version->version);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

lcdc_status lc_spark_analyze(struct lc_spark_session *session, const char *sql, lcdc_error **err)
{
    LC_TRY(lc_sql_check(sql, err));
    LC_WIRE ProtobufCMessage *message = NULL;
    Lc__Spark__SQL text = LC__SPARK__SQL__INIT;
    Lc__Spark__Relation relation = LC__SPARK__RELATION__INIT;
    Lc__Spark__Plan plan = LC__SPARK__PLAN__INIT;
    Lc__Spark__AnalyzePlanRequest__Schema schema = LC__SPARK__ANALYZE_PLAN_REQUEST__SCHEMA__INIT;
    text.query = (char *)(uintptr_t)sql;
    relation.rel_type_case = LC__SPARK__RELATION__REL_TYPE_SQL;
    relation.sql = &text;
    plan.op_type_case = LC__SPARK__PLAN__OP_TYPE_ROOT;
    plan.root = &relation;
    schema.plan = &plan;
    Lc__Spark__AnalyzePlanRequest request = {
        PROTOBUF_C_MESSAGE_INIT(&lc__spark__analyze_plan_request__descriptor), COMMON(session),
        .analyze_case = LC__SPARK__ANALYZE_PLAN_REQUEST__ANALYZE_SCHEMA, .schema = &schema};
    LC_TRY(ask(session, "AnalyzePlan", &request.base, &lc__spark__analyze_plan_response__descriptor, &message, err));
    const Lc__Spark__AnalyzePlanResponse *reply = (const Lc__Spark__AnalyzePlanResponse *)message;
    return lc_spark_check_ids(session, reply->session_id, reply->server_side_session_id, err);
}

lcdc_status lc_spark_get_config(struct lc_spark_session *session, const char *key, const char **out, lcdc_error **err)
{
    LC_WIRE ProtobufCMessage *message = NULL;
    char *keys[] = {(char *)(uintptr_t)key};
    Lc__Spark__ConfigRequest__Get get = LC__SPARK__CONFIG_REQUEST__GET__INIT;
    Lc__Spark__ConfigRequest__Operation operation = LC__SPARK__CONFIG_REQUEST__OPERATION__INIT;
    get.n_keys = 1;
    get.keys = keys;
    operation.op_type_case = LC__SPARK__CONFIG_REQUEST__OPERATION__OP_TYPE_GET;
    operation.get = &get;
    Lc__Spark__ConfigRequest request = {PROTOBUF_C_MESSAGE_INIT(&lc__spark__config_request__descriptor),
                                        COMMON(session), .operation = &operation};
    LC_TRY(ask(session, "Config", &request.base, &lc__spark__config_response__descriptor, &message, err));
    const Lc__Spark__ConfigResponse *reply = (const Lc__Spark__ConfigResponse *)message;
    LC_TRY(lc_spark_check_ids(session, reply->session_id, reply->server_side_session_id, err));
    if (reply->n_pairs != 1 || !reply->pairs[0]->key || strcmp(reply->pairs[0]->key, key) != 0 ||
        !reply->pairs[0]->value)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server was asked for %s and answered something else", key);
    *out = lc_arena_strdup(&session->arena, reply->pairs[0]->value);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

/* ---- the ways out ---- */

void lc_spark_leave(struct lc_spark_session *session, const char *operation_id, bool is_running)
{
    LC_BUF struct lc_buf reply = {0}, reply2 = {0};
    Lc__Spark__InterruptRequest interrupt = {
        PROTOBUF_C_MESSAGE_INIT(&lc__spark__interrupt_request__descriptor),
        COMMON(session),
        .has_interrupt_type = true,
        .interrupt_type = LC__SPARK__INTERRUPT_REQUEST__INTERRUPT_TYPE__INTERRUPT_TYPE_OPERATION_ID,
        .interrupt_case = LC__SPARK__INTERRUPT_REQUEST__INTERRUPT_OPERATION_ID,
        .operation_id = (char *)(uintptr_t)operation_id};
    Lc__Spark__ReleaseExecuteRequest__ReleaseAll all = LC__SPARK__RELEASE_EXECUTE_REQUEST__RELEASE_ALL__INIT;
    Lc__Spark__ReleaseExecuteRequest release = {
        PROTOBUF_C_MESSAGE_INIT(&lc__spark__release_execute_request__descriptor), COMMON(session),
        .operation_id = (char *)(uintptr_t)operation_id,
        .release_case = LC__SPARK__RELEASE_EXECUTE_REQUEST__RELEASE_RELEASE_ALL, .release_all = &all};
    if (is_running && !lc_spark_is_hurried(session)) /* the release alone stops it too, a little later */
        call_quickly(session, "Interrupt", &interrupt.base, &reply);
    call_quickly(session, "ReleaseExecute", &release.base, &reply2);
}

void lc_spark_session_free(struct lc_spark_session *session)
{
    LC_BUF struct lc_buf reply = {0};
    if (!session)
        return;
    if (session->is_own && session->is_begun) {
        Lc__Spark__ReleaseSessionRequest request = {
            PROTOBUF_C_MESSAGE_INIT(&lc__spark__release_session_request__descriptor), COMMON(session)};
        call_quickly(session, "ReleaseSession", &request.base, &reply);
    }
    lc_http2_free(session->grpc.http2);
    lc_arena_done(&session->arena);
    lc_free(session);
}

lcdc_status lc_spark_session_open(const lcdc_request *request, struct lc_spark_session **out, lcdc_error **err)
{
    LC_CLEANUP(lc_spark_session_freep) struct lc_spark_session *session = lc_calloc(1, sizeof(*session));
    LC_TRY_ALLOC(session);
    LC_TRY(lc_spark_url_parse(request->table, secure_getenv("SPARK_CONNECT_AUTHENTICATE_TOKEN"), &session->arena,
                              &session->url, err));
    LC_TRY(lc_spark_new_id(session->id, err));
    session->is_own = !session->url.session_id;
    if (session->url.session_id)
        memcpy(session->id, session->url.session_id, sizeof(session->id));
    lc__spark__user_context__init(&session->user);
    session->user.user_id = (char *)(uintptr_t)(*session->url.user_id ? session->url.user_id : "lakecdc");
    session->user.user_name = session->user.user_id;
    session->client_type = *session->url.user_agent ? session->url.user_agent : "lakecdc/" LCDC_VERSION;
    session->timeout_ms = request->timeout * 1000;
    session->shared = request->shared;
    const char *ca_file = request->ca_file ? lc_arena_strdup(&session->arena, request->ca_file) : NULL;
    session->grpc = (struct lc_grpc){.url = &session->url, .ca_file = ca_file};
    LC_TRY(lc_http2_new(&session->grpc.http2, err));
    *out = lc_steal(session);
    return LCDC_OK;
}
