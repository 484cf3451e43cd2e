/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/fault.h"

#include <string.h>

#include "spark/grpc.h"
#include "spark/wire.h"

enum { MAX_RETRY_MS = 60000 };

/* ---- reading ---- */

static lcdc_status keep(struct lc_arena *arena, const char *text, const char **out, lcdc_error **err)
{
    if (!text || !*text)
        return LCDC_OK;
    *out = lc_arena_strdup(arena, text);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status read_error_info(struct lc_str bytes, struct lc_arena *arena, struct lc_spark_fault *fault,
                                   lcdc_error **err)
{
    LC_WIRE ProtobufCMessage *message = NULL;
    if (lc_wire_unpack(&lc__spark__error_info__descriptor, bytes, &message, NULL) != LCDC_OK)
        return LCDC_OK;
    const Lc__Spark__ErrorInfo *info = (const Lc__Spark__ErrorInfo *)message;
    LC_TRY(keep(arena, info->reason, &fault->java_class, err));
    for (size_t i = 0; i < info->n_metadata; i++) {
        struct lc_str key = lc_str_of(info->metadata[i]->key);
        const char *value = info->metadata[i]->value;
        if (lc_str_is(key, "errorClass"))
            LC_TRY(keep(arena, value, &fault->error_class, err));
        else if (lc_str_is(key, "sqlState"))
            LC_TRY(keep(arena, value, &fault->sql_state, err));
        else if (lc_str_is(key, "errorId"))
            LC_TRY(keep(arena, value, &fault->error_id, err));
    }
    return LCDC_OK;
}

static void read_retry_info(struct lc_str bytes, struct lc_spark_fault *fault)
{
    LC_WIRE ProtobufCMessage *message = NULL;
    if (lc_wire_unpack(&lc__spark__retry_info__descriptor, bytes, &message, NULL) != LCDC_OK)
        return;
    const Lc__Spark__Duration *delay = ((const Lc__Spark__RetryInfo *)message)->retry_delay;
    int64_t seconds = delay && delay->has_seconds ? delay->seconds : 0;
    int64_t nanos = delay && delay->has_nanos ? delay->nanos : 0;
    fault->has_retry = true;
    bool is_sensible = seconds >= 0 && seconds <= MAX_RETRY_MS / 1000 && nanos >= 0 && nanos < 1000000000;
    fault->retry_ms = is_sensible ? seconds * 1000 + nanos / 1000000 : seconds < 0 ? 0 : MAX_RETRY_MS;
}

lcdc_status lc_spark_fault_parse(const struct lc_grpc_end *end, struct lc_arena *arena, struct lc_spark_fault *out,
                                 lcdc_error **err)
{
    LC_WIRE ProtobufCMessage *message = NULL;
    struct lc_spark_fault fault = {.code = end->code, .text = ""};
    LC_TRY(keep(arena, end->message, &fault.text, err));
    if (end->details.n && lc_wire_unpack(&lc__spark__status__descriptor,
                                         (struct lc_str){end->details.p, end->details.n}, &message, NULL) == LCDC_OK) {
        const Lc__Spark__Status *status = (const Lc__Spark__Status *)message;
        for (size_t i = 0; i < status->n_details; i++) {
            const Lc__Spark__Any *any = status->details[i];
            struct lc_str value = {(const char *)any->value.data, any->has_value ? any->value.len : 0};
            if (any->type_url && lc_str_ends(lc_str_of(any->type_url), "/google.rpc.ErrorInfo"))
                LC_TRY(read_error_info(value, arena, &fault, err));
            else if (any->type_url && lc_str_ends(lc_str_of(any->type_url), "/google.rpc.RetryInfo"))
                read_retry_info(value, &fault);
        }
    }
    *out = fault;
    return LCDC_OK;
}

lcdc_status lc_spark_fault_complete(struct lc_str reply, struct lc_arena *arena, struct lc_spark_fault *fault,
                                    lcdc_error **err)
{
    LC_WIRE ProtobufCMessage *message = NULL;
    if (lc_wire_unpack(&lc__spark__fetch_error_details_response__descriptor, reply, &message, NULL) != LCDC_OK)
        return LCDC_OK;
    const Lc__Spark__FetchErrorDetailsResponse *details = (const Lc__Spark__FetchErrorDetailsResponse *)message;
    size_t root = details->has_root_error_idx && details->root_error_idx > 0 ? (size_t)details->root_error_idx : 0;
    if (root >= details->n_errors)
        return LCDC_OK;
    const Lc__Spark__FetchErrorDetailsResponse__Error *error = details->errors[root];
    if (error->message && strlen(error->message) > strlen(fault->text))
        LC_TRY(keep(arena, error->message, &fault->text, err));
    if (error->spark_throwable) {
        LC_TRY(keep(arena, error->spark_throwable->error_class, &fault->error_class, err));
        LC_TRY(keep(arena, error->spark_throwable->sql_state, &fault->sql_state, err));
    }
    return LCDC_OK;
}

/* ---- judging ---- */

bool lc_spark_fault_is(const struct lc_spark_fault *fault, const char *error_class)
{
    return fault->error_class && strcmp(fault->error_class, error_class) == 0;
}

bool lc_spark_fault_is_retriable(const struct lc_spark_fault *fault)
{
    return fault->code == LC_GRPC_UNAVAILABLE || fault->has_retry ||
           lc_spark_fault_is(fault, "INVALID_CURSOR.DISCONNECTED");
}

static bool says_no_table(const struct lc_spark_fault *fault)
{
    static const char *const classes[] = {"TABLE_OR_VIEW_NOT_FOUND",   "DELTA_TABLE_NOT_FOUND",
                                          "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST",
                                          "SCHEMA_NOT_FOUND",          "NO_SUCH_CATALOG_EXCEPTION",
                                          "CATALOG_NOT_FOUND"};
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (lc_spark_fault_is(fault, classes[i]))
            return true;
    return fault->sql_state && strcmp(fault->sql_state, "42P01") == 0;
}

static enum lc_reason reason_of(const struct lc_spark_fault *fault)
{
    switch (fault->code) {
    case LC_GRPC_UNAUTHENTICATED:
    case LC_GRPC_DENIED:
        return LC_R_SPARK_DENIED;
    case LC_GRPC_UNAVAILABLE:
        return LC_R_SPARK_CONNECTION;
    case LC_GRPC_DEADLINE:
        return LC_R_SPARK_TIMEOUT;
    default:
        if (strstr(fault->text, "spark.driver.maxResultSize"))
            return LC_R_SPARK_TOO_LARGE;
        return says_no_table(fault) ? LC_R_SPARK_TABLE : LC_R_SPARK_ENGINE;
    }
}

/* ---- telling ---- */

/* The text without any secret in it; servers repeat what they were sent. Where secrets overlap, all of them go. */
static void append_blotted(struct lc_buf *out, const char *text, size_t n_secrets, const char *const *secrets)
{
    for (const char *hidden = text; *text; text++) { /* up to here nothing may be told */
        bool was_hidden = hidden > text;
        for (size_t i = 0; i < n_secrets; i++) {
            size_t n = strlen(secrets[i]);
            if (n && strncmp(text, secrets[i], n) == 0 && text + n > hidden)
                hidden = text + n;
        }
        if (hidden <= text)
            lc_buf_char(out, *text);
        else if (!was_hidden)
            lc_buf_text(out, "***");
    }
}

/* A detail of the error; one that cannot be kept is left out. */
static void add_detail(lcdc_error **err, const char *key, const char *text, size_t n_secrets,
                       const char *const *secrets)
{
    LC_BUF struct lc_buf told;
    lc_buf_init(&told, 1 << 16);
    if (!text)
        return;
    append_blotted(&told, text, n_secrets, secrets);
    if (!told.failed && told.n)
        lc_error_detail(err, key, "%s", told.p);
}

lcdc_status lc_spark_fault_raise(const struct lc_spark_fault *fault, size_t n_secrets, const char *const *secrets,
                                 lcdc_error **err)
{
    LC_BUF struct lc_buf text;
    lc_buf_init(&text, 1 << 24);
    append_blotted(&text, fault->text, n_secrets, secrets);
    if (!text.n)
        lc_buf_printf(&text, "the server gave gRPC status %d and no text", fault->code);
    if (fault->error_class && !strstr(fault->text, fault->error_class)) {
        lc_buf_text(&text, " [");
        append_blotted(&text, fault->error_class, n_secrets, secrets);
        lc_buf_char(&text, ']');
    }
    LC_TRY_BUF(&text);
    const char *lead = fault->code == LC_GRPC_UNAUTHENTICATED || fault->code == LC_GRPC_DENIED
                           ? "the server does not let us in: "
                       : fault->code == LC_GRPC_UNAVAILABLE ? "the Spark server broke off: "
                                                            : "Spark: ";
    lcdc_status status = lc_fail(err, reason_of(fault), "%s%s", lead, text.p);
    add_detail(err, "error_class", fault->error_class, n_secrets, secrets);
    add_detail(err, "sql_state", fault->sql_state, n_secrets, secrets);
    add_detail(err, "java_class", fault->java_class, n_secrets, secrets);
    return status;
}
