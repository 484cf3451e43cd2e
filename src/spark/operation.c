/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/operation.h"

#include <inttypes.h>
#include <string.h>

#include "spark/sql.h"

enum { CHUNK_BYTES = 4000000, MAX_BATCH_BYTES = 1 << 30 };

struct lc_spark_operation {
    struct lc_spark_session *session;
    char id[37];
    char *sql;
    bool is_command;
    struct lc_grpc_call *call; /* the stream that is read now; NULL between streams */
    bool is_begun;             /* the server was told of it */
    bool is_reattached;        /* the stream is ReattachExecute's */
    bool is_resumed;           /* a stream was taken up after rows: a batch has to say where it belongs */
    bool is_complete, has_failed;
    char *last_response;        /* where to go on; NULL: nothing was seen yet */
    int failures;               /* streams that ended without bringing anything, in a row */
    ProtobufCMessage *response; /* what the last batch is borrowed from */
    int64_t rows;               /* so far */
    int64_t chunk, n_chunks;    /* of the batch that comes in parts; n_chunks 0: none does */
    int64_t chunk_rows;
    struct lc_buf joined;
};

/* ---- opening streams ---- */

static lcdc_status open_call(struct lc_spark_operation *self, const char *method, const ProtobufCMessage *request,
                             lcdc_error **err)
{
    LC_BUF struct lc_buf packed = {0};
    LC_TRY(lc_wire_pack(request, &packed, err));
    struct lc_grpc_request call = {.method = method, .message = {packed.p, packed.n}};
    self->session->is_begun = self->is_begun = true;
    return lc_grpc_open(&self->session->grpc, &call, &self->call, err);
}

static lcdc_status execute(struct lc_spark_operation *self, lcdc_error **err)
{
    struct lc_spark_session *session = self->session;
    Lc__Spark__SQL sql = {PROTOBUF_C_MESSAGE_INIT(&lc__spark__sql__descriptor), .query = self->sql};
    Lc__Spark__Relation relation = LC__SPARK__RELATION__INIT;
    Lc__Spark__SqlCommand sql_command = LC__SPARK__SQL_COMMAND__INIT;
    Lc__Spark__Command command = LC__SPARK__COMMAND__INIT;
    Lc__Spark__Plan plan = LC__SPARK__PLAN__INIT;
    relation.rel_type_case = LC__SPARK__RELATION__REL_TYPE_SQL;
    relation.sql = &sql;
    sql_command.input = &relation;
    command.command_type_case = LC__SPARK__COMMAND__COMMAND_TYPE_SQL_COMMAND;
    command.sql_command = &sql_command;
    plan.op_type_case = self->is_command ? LC__SPARK__PLAN__OP_TYPE_COMMAND : LC__SPARK__PLAN__OP_TYPE_ROOT;
    if (self->is_command)
        plan.command = &command;
    else
        plan.root = &relation;
    Lc__Spark__ReattachOptions reattach = {PROTOBUF_C_MESSAGE_INIT(&lc__spark__reattach_options__descriptor),
                                           .has_reattachable = true, .reattachable = true};
    Lc__Spark__ResultChunkingOptions chunking = {
        PROTOBUF_C_MESSAGE_INIT(&lc__spark__result_chunking_options__descriptor),
        .has_allow_arrow_batch_chunking = true, .allow_arrow_batch_chunking = true,
        .has_preferred_arrow_chunk_size = true, .preferred_arrow_chunk_size = CHUNK_BYTES};
    Lc__Spark__ExecutePlanRequest__RequestOption first = LC__SPARK__EXECUTE_PLAN_REQUEST__REQUEST_OPTION__INIT,
                                                 second = first;
    first.request_option_case = LC__SPARK__EXECUTE_PLAN_REQUEST__REQUEST_OPTION__REQUEST_OPTION_REATTACH_OPTIONS;
    first.reattach_options = &reattach;
    second
        .request_option_case = LC__SPARK__EXECUTE_PLAN_REQUEST__REQUEST_OPTION__REQUEST_OPTION_RESULT_CHUNKING_OPTIONS;
    second.result_chunking_options = &chunking;
    Lc__Spark__ExecutePlanRequest__RequestOption *options[] = {&first, &second};
    Lc__Spark__ExecutePlanRequest request = {PROTOBUF_C_MESSAGE_INIT(&lc__spark__execute_plan_request__descriptor),
                                             .session_id = session->id,
                                             .client_observed_server_side_session_id = session->server_id,
                                             .user_context = &session->user,
                                             .operation_id = self->id,
                                             .plan = &plan,
                                             .client_type = (char *)(uintptr_t)session->client_type,
                                             .n_request_options = 2,
                                             .request_options = options};
    self->is_reattached = false;
    return open_call(self, "ExecutePlan", &request.base, err);
}

static lcdc_status reattach(struct lc_spark_operation *self, lcdc_error **err)
{
    struct lc_spark_session *session = self->session;
    Lc__Spark__ReattachExecuteRequest request = {
        PROTOBUF_C_MESSAGE_INIT(&lc__spark__reattach_execute_request__descriptor),
        .session_id = session->id,
        .client_observed_server_side_session_id = session->server_id,
        .user_context = &session->user,
        .operation_id = self->id,
        .client_type = (char *)(uintptr_t)session->client_type,
        .last_response_id = self->last_response};
    self->is_reattached = true;
    self->is_resumed = self->is_resumed || self->rows > 0 || self->n_chunks > 0;
    return open_call(self, "ReattachExecute", &request.base, err);
}

/* ---- a batch ---- */

static lcdc_status bad(struct lc_spark_operation *self, const char *what, lcdc_error **err)
{
    return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server's result is not in order after %" PRId64 " rows: %s",
                   self->rows, what);
}

static lcdc_status check_place(struct lc_spark_operation *self, const Lc__Spark__ExecutePlanResponse__ArrowBatch *batch,
                               lcdc_error **err)
{
    if (batch->row_count < 0 || batch->row_count > INT64_MAX - self->rows) /* 0 is not sent, and reads as 0 */
        return bad(self, "a batch has a row count that none can have", err);
    if (batch->has_start_offset && batch->start_offset > self->rows)
        return bad(self, "a batch is missing", err);
    if (batch->has_start_offset && batch->start_offset < self->rows)
        return bad(self, "a batch came twice", err);
    if (!batch->has_start_offset && self->is_resumed)
        return bad(self, "it was taken up again, and a batch does not say where it belongs", err);
    return LCDC_OK;
}

static lcdc_status join_chunk(struct lc_spark_operation *self, const Lc__Spark__ExecutePlanResponse__ArrowBatch *batch,
                              lcdc_error **err)
{
    int64_t index = batch->has_chunk_index ? batch->chunk_index : 0;
    if (self->n_chunks == 0) {
        lc_buf_done(&self->joined); /* the last one was taken, or was large and is not needed any more */
        lc_buf_init(&self->joined, MAX_BATCH_BYTES);
        self->chunk = 0;
        self->n_chunks = batch->num_chunks_in_batch;
        self->chunk_rows = batch->row_count;
    }
    if (batch->num_chunks_in_batch != self->n_chunks || batch->row_count != self->chunk_rows)
        return bad(self, "the parts of a batch disagree on what they are parts of", err);
    if (index != self->chunk)
        return bad(self, index > self->chunk ? "a part of a batch is missing" : "a part of a batch came twice", err);
    lc_buf_append(&self->joined, batch->data.data, batch->has_data ? batch->data.len : 0);
    if (self->joined.failed)
        return self->joined.n + batch->data.len > MAX_BATCH_BYTES ? bad(self, "a batch has more than 1 GiB", err)
                                                                  : lc_fail_oom(err);
    self->chunk++;
    return LCDC_OK;
}

static lcdc_status take_batch(struct lc_spark_operation *self, const Lc__Spark__ExecutePlanResponse__ArrowBatch *batch,
                              struct lc_spark_batch *out, bool *ready, lcdc_error **err)
{
    int64_t n_chunks = batch->has_num_chunks_in_batch ? batch->num_chunks_in_batch : 0;
    bool in_parts = n_chunks > 1;
    LC_TRY(check_place(self, batch, err));
    if (n_chunks < 0 || (!in_parts && batch->has_chunk_index && batch->chunk_index != 0))
        return bad(self, "a part of a batch does not say how many there are", err);
    if (self->n_chunks && !in_parts)
        return bad(self, "a whole batch came in the middle of another one", err);
    *out = (struct lc_spark_batch){.ipc = {(const char *)batch->data.data, batch->has_data ? batch->data.len : 0},
                                   .rows = batch->row_count};
    *ready = !in_parts;
    if (in_parts) {
        LC_TRY(join_chunk(self, batch, err));
        *ready = self->chunk == self->n_chunks;
        out->ipc = (struct lc_str){self->joined.p, self->joined.n};
        out->takable = &self->joined;
    }
    if (*ready) {
        self->n_chunks = 0;
        self->rows += batch->row_count;
    }
    return LCDC_OK;
}

/* ---- responses ---- */

static lcdc_status remember(struct lc_spark_operation *self, const char *response_id, lcdc_error **err)
{
    if (!response_id || !*response_id)
        return LCDC_OK;
    char *copy = lc_strdup(response_id);
    LC_TRY_ALLOC(copy);
    lc_free(self->last_response);
    self->last_response = copy;
    return LCDC_OK;
}

static lcdc_status take_response(struct lc_spark_operation *self, struct lc_str message, struct lc_spark_batch *out,
                                 bool *ready, lcdc_error **err)
{
    lc_wire_free(lc_steal(self->response));
    LC_TRY(lc_wire_unpack(&lc__spark__execute_plan_response__descriptor, message, &self->response, err));
    const Lc__Spark__ExecutePlanResponse *response = (const Lc__Spark__ExecutePlanResponse *)self->response;
    LC_TRY(lc_spark_check_ids(self->session, response->session_id, response->server_side_session_id, err));
    if (response->operation_id && *response->operation_id && strcmp(response->operation_id, self->id) != 0)
        return bad(self, "a response belongs to another operation", err);
    LC_TRY(remember(self, response->response_id, err));
    self->failures = 0;
    if (response->response_type_case == LC__SPARK__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_ARROW_BATCH)
        return take_batch(self, response->arrow_batch, out, ready, err);
    if (response->response_type_case == LC__SPARK__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_RESULT_COMPLETE) {
        self->is_complete = true;
        if (self->n_chunks)
            return bad(self, "the last batch is not whole", err);
    }
    return LCDC_OK;
}

/* The server has never heard of the operation: what was sent got lost, so it is sent again. */
static bool is_unknown_there(const struct lc_spark_operation *self, const struct lc_spark_fault *fault)
{
    return self->is_reattached && !self->last_response &&
           (lc_spark_fault_is(fault, "INVALID_HANDLE.OPERATION_NOT_FOUND") ||
            lc_spark_fault_is(fault, "INVALID_HANDLE.SESSION_NOT_FOUND"));
}

static lcdc_status on_end(struct lc_spark_operation *self, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_CLEANUP(lc_grpc_closep) struct lc_grpc_call *call = lc_steal(self->call);
    struct lc_spark_fault fault;
    LC_TRY(lc_spark_fault_parse(&call->end, &arena, &fault, err));
    if (is_unknown_there(self, &fault))
        return execute(self, err);
    bool retriable = call->end.code == LC_GRPC_OK || lc_spark_fault_is_retriable(&fault);
    if (!retriable || self->failures >= LC_SPARK_MAX_TRIES) {
        self->has_failed = call->end.code != LC_GRPC_OK && call->end.code != LC_GRPC_UNAVAILABLE;
        return call->end.code == LC_GRPC_OK ? bad(self, "it stops and the server does not say that it is whole", err)
                                            : lc_spark_fail(self->session, &call->end, err);
    }
    bool is_limit = call->end.code == LC_GRPC_OK && self->failures == 0;
    self->failures++;
    if (!is_limit)
        LC_TRY(lc_spark_back_off(self->session, self->failures, &fault, err));
    return reattach(self, err);
}

lcdc_status lc_spark_operation_next(struct lc_spark_operation *self, struct lc_spark_batch *out, bool *more,
                                    lcdc_error **err)
{
    bool ready = false;
    *more = false;
    while (!ready && !self->is_complete) {
        struct lc_http2_wait wait = lc_spark_wait(self->session);
        struct lc_str message;
        bool found;
        lcdc_status status = lc_grpc_next(self->call, &wait, &message, &found, err);
        self->session->is_lost = status == LCDC_UNAVAILABLE;
        LC_TRY(status);
        LC_TRY(found ? take_response(self, message, out, &ready, err) : on_end(self, err));
    }
    *more = ready;
    return LCDC_OK;
}

/* ---- life ---- */

static lcdc_status start(struct lc_spark_session *session, const char *sql, bool is_command,
                         struct lc_spark_operation **out, lcdc_error **err)
{
    LC_TRY(lc_sql_check(sql, err));
    LC_CLEANUP(lc_spark_operation_freep) struct lc_spark_operation *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->session = session;
    self->is_command = is_command;
    lc_buf_init(&self->joined, MAX_BATCH_BYTES);
    self->sql = lc_strdup(sql);
    LC_TRY_ALLOC(self->sql);
    LC_TRY(lc_spark_new_id(self->id, err));
    LC_TRY(execute(self, err));
    *out = lc_steal(self);
    return LCDC_OK;
}

lcdc_status lc_spark_query(struct lc_spark_session *session, const char *sql, struct lc_spark_operation **out,
                           lcdc_error **err)
{
    return start(session, sql, false, out, err);
}

lcdc_status lc_spark_command(struct lc_spark_session *session, const char *sql, lcdc_error **err)
{
    LC_CLEANUP(lc_spark_operation_freep) struct lc_spark_operation *operation = NULL;
    LC_TRY(start(session, sql, true, &operation, err));
    for (bool more = true; more;) {
        struct lc_spark_batch batch;
        LC_TRY(lc_spark_operation_next(operation, &batch, &more, err));
    }
    return LCDC_OK;
}

void lc_spark_operation_free(struct lc_spark_operation *self)
{
    if (!self)
        return;
    lc_grpc_close(self->call);
    if (self->is_begun)
        lc_spark_leave(self->session, self->id, !self->is_complete && !self->has_failed);
    lc_wire_free(self->response);
    lc_buf_done(&self->joined);
    lc_free(self->last_response);
    lc_free(self->sql);
    lc_free(self);
}
