/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/result.h"

#include <inttypes.h>
#include <string.h>

#include "io/arrow_ipc.h"
#include "spark/variant.h"

enum { MAX_BATCHES = 1024, MAX_SMALL_ROWS = 10000000 };

/* ---- one message ---- */

struct message {
    struct lc_spark_result *result;
    int64_t rows;
};

static lcdc_status see_schema(struct lc_spark_result *result, const struct ArrowSchema *schema, lcdc_error **err)
{
    struct lc_field columns = {0};
    if (!result->has_schema) {
        LC_TRY(lc_field_from_schema(schema, &result->arena, &result->columns, err));
        lc_spark_variant_field(schema, &result->columns);
        result->has_schema = true;
        return LCDC_OK;
    }
    LC_ARENA struct lc_arena arena = {0};
    LC_TRY(lc_field_from_schema(schema, &arena, &columns, err));
    lc_spark_variant_field(schema, &columns);
    if (lc_field_fingerprint(&columns) != lc_field_fingerprint(&result->columns))
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the columns of the server's result change between its batches");
    return LCDC_OK;
}

static lcdc_status see_batch(void *context, const struct ArrowSchema *schema, struct ArrowArray *batch,
                             lcdc_error **err)
{
    struct message *message = context;
    struct lc_spark_result *result = message->result;
    if (!batch)
        return see_schema(result, schema, err);
    if (batch->offset != 0)
        return lc_fail(err, LC_R_INTERNAL, "an Arrow batch begins at offset %" PRId64, batch->offset);
    if (result->n_waiting == MAX_BATCHES)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "a message of the server holds more than %d batches",
                       (int)MAX_BATCHES);
    struct ArrowArray *waiting = lc_realloc(result->waiting, result->n_waiting + 1, sizeof(*waiting));
    LC_TRY_ALLOC(waiting);
    result->waiting = waiting;
    message->rows += batch->length;
    lc_spark_variant_array(schema, batch);
    lc_array_move(batch, &waiting[result->n_waiting++]);
    return LCDC_OK;
}

static void drop_waiting(struct lc_spark_result *result)
{
    for (size_t i = result->at_waiting; i < result->n_waiting; i++)
        lc_array_release(&result->waiting[i]);
    result->n_waiting = result->at_waiting = 0;
}

static lcdc_status read_message(struct lc_spark_result *result, bool *more, lcdc_error **err)
{
    struct lc_spark_batch batch;
    struct message message = {.result = result};
    drop_waiting(result);
    LC_TRY(lc_spark_operation_next(result->operation, &batch, more, err));
    if (!*more)
        return LCDC_OK;
    size_t n = batch.ipc.n;
    result->row_bytes = batch.rows > 0 ? (int64_t)n / batch.rows : 0;
    if (batch.takable)
        LC_TRY(lc_ipc_read_taken(lc_buf_take(batch.takable), n, see_batch, &message, err));
    else
        LC_TRY(lc_ipc_read(batch.ipc.p ? batch.ipc.p : "", n, see_batch, &message, err));
    if (message.rows != batch.rows)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server announced a batch of %" PRId64 " rows and sent %" PRId64,
                       batch.rows, message.rows);
    return LCDC_OK;
}

/* ---- the result ---- */

lcdc_status lc_spark_result_next(struct lc_spark_result *result, struct ArrowArray *out, bool *more, lcdc_error **err)
{
    *more = true;
    while (result->at_waiting == result->n_waiting && *more)
        LC_TRY(read_message(result, more, err));
    if (*more)
        lc_array_move(&result->waiting[result->at_waiting++], out);
    return LCDC_OK;
}

lcdc_status lc_spark_result_open(struct lc_spark_session *session, const char *sql, struct lc_spark_result **out,
                                 lcdc_error **err)
{
    LC_CLEANUP(lc_spark_result_freep) struct lc_spark_result *result = lc_calloc(1, sizeof(*result));
    LC_TRY_ALLOC(result);
    LC_TRY(lc_spark_query(session, sql, &result->operation, err));
    *out = lc_steal(result);
    return LCDC_OK;
}

void lc_spark_result_free(struct lc_spark_result *result)
{
    if (!result)
        return;
    drop_waiting(result);
    lc_free(result->waiting);
    lc_spark_operation_free(result->operation);
    lc_arena_done(&result->arena);
    lc_free(result);
}

lcdc_status lc_spark_each_row(struct lc_spark_session *session, const char *sql, lc_spark_row_fn visit, void *context,
                              lcdc_error **err)
{
    LC_CLEANUP(lc_spark_result_freep) struct lc_spark_result *result = NULL;
    LC_TRY(lc_spark_result_open(session, sql, &result, err));
    for (int64_t rows = 0;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        bool more;
        LC_TRY(lc_spark_result_next(result, &batch, &more, err));
        if (!more)
            return LCDC_OK;
        rows += batch.length;
        if (rows > MAX_SMALL_ROWS)
            return lc_fail(err, LC_R_LIMIT, "a table's history has more than %d entries", (int)MAX_SMALL_ROWS);
        for (int64_t i = 0; i < batch.length; i++)
            LC_TRY(visit(context, &result->columns, &batch, i, err));
    }
}

/* ---- values ---- */

static const struct ArrowArray *find(const struct lc_field *columns, const struct ArrowArray *batch, const char *name,
                                     int64_t row, const struct lc_field **field)
{
    for (size_t i = 0; i < columns->n_children; i++)
        if (strcmp(columns->children[i].name, name) == 0) {
            *field = &columns->children[i];
            return lc_array_is_null(batch->children[i], row) || columns->children[i].type.kind == LC_TYPE_NULL
                       ? NULL
                       : batch->children[i];
        }
    return NULL;
}

bool lc_spark_get_int(const struct lc_field *columns, const struct ArrowArray *batch, const char *name, int64_t row,
                      int64_t *out)
{
    const struct lc_field *field = NULL;
    const struct ArrowArray *column = find(columns, batch, name, row, &field);
    struct lc_value value;
    if (!column)
        return false;
    switch (field->type.kind) {
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_TZ:
        lc_array_value(column, field->type, row, &value);
        *out = value.i;
        return true;
    case LC_TYPE_STRING:
        return lc_parse_i64(lc_array_str(column, LC_TYPE_STRING, 0, row), out);
    default:
        return false;
    }
}

bool lc_spark_get_str(const struct lc_field *columns, const struct ArrowArray *batch, const char *name, int64_t row,
                      struct lc_str *out)
{
    const struct lc_field *field = NULL;
    const struct ArrowArray *column = find(columns, batch, name, row, &field);
    if (!column || field->type.kind != LC_TYPE_STRING)
        return false;
    *out = lc_array_str(column, LC_TYPE_STRING, 0, row);
    return true;
}

bool lc_spark_get_entry(const struct lc_field *columns, const struct ArrowArray *batch, const char *name, int64_t row,
                        const char *key, struct lc_str *out)
{
    const struct lc_field *field = NULL;
    const struct ArrowArray *column = find(columns, batch, name, row, &field);
    if (!column || field->type.kind != LC_TYPE_MAP || field->children[0].type.kind != LC_TYPE_STRING ||
        field->children[1].type.kind != LC_TYPE_STRING)
        return false;
    const int32_t *offsets = (const int32_t *)column->buffers[1] + column->offset;
    const struct ArrowArray *keys = column->children[0]->children[0], *values = column->children[0]->children[1];
    for (int64_t i = offsets[row]; i < offsets[row + 1]; i++) {
        int64_t at = column->children[0]->offset + i;
        if (!lc_array_is_null(values, at) && lc_str_is(lc_array_str(keys, LC_TYPE_STRING, 0, at), key)) {
            *out = lc_array_str(values, LC_TYPE_STRING, 0, at);
            return true;
        }
    }
    return false;
}
