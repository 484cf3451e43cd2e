/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

enum { MAX_DETAILS = 16, MAX_MESSAGE = 1 << 16 };

struct lcdc_error {
    enum lc_reason reason;
    bool is_static;
    char *message;
    size_t n_details;
    char *keys[MAX_DETAILS];
    char *values[MAX_DETAILS];
};

static const struct {
    const char *token;
    lcdc_status status;
    bool retriable;
} reasons[] = {
#define LC_REASON(id, token, status, retriable, text) {token, status, retriable},
#include "base/reasons.def"
#undef LC_REASON
};

/* Handed out when there is no memory for an object; never written to, never freed. */
static const lcdc_error oom_error = {
    .reason = LC_R_OUT_OF_MEMORY, .is_static = true, .message = (char *)"out of memory"};

const char *lc_reason_token(enum lc_reason reason)
{
    return reason < LC_R_COUNT ? reasons[reason].token : NULL;
}

lcdc_status lc_reason_status(enum lc_reason reason)
{
    return reasons[reason].status;
}

/* A message is one line whatever a table or a server put into it. */
static void one_line(char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = ' ';
    while (n && (text[n - 1] == ' ' || text[n - 1] == '.'))
        text[--n] = 0;
}

lcdc_status(lc_fail)(lcdc_error **err, enum lc_reason reason, const char *format, ...)
{
    lcdc_status status = reasons[reason].status;
    if (!err)
        return status;
    struct lc_buf text;
    lc_buf_init(&text, MAX_MESSAGE);
    va_list args;
    va_start(args, format);
    lc_buf_vprintf(&text, format, args);
    va_end(args);
    lcdc_error *made = lc_calloc(1, sizeof(*made));
    char *message = lc_buf_take(&text);
    if (!made || !message) {
        lc_free(made);
        lc_free(message);
        return lc_fail_oom(err);
    }
    one_line(message);
    *made = (lcdc_error){.reason = reason, .message = message};
    lcdc_error_free(*err);
    *err = made;
    return status;
}

lcdc_status(lc_fail_oom)(lcdc_error **err)
{
    if (err) {
        lcdc_error_free(*err);
        *err = (lcdc_error *)&oom_error;
    }
    return LCDC_OUT_OF_MEMORY;
}

static void set_detail(lcdc_error *error, const char *key, char *value)
{
    size_t i = 0;
    while (i < error->n_details && strcmp(error->keys[i], key) != 0)
        i++;
    char *copy = i < error->n_details || i == MAX_DETAILS ? NULL : lc_strdup(key);
    if (!value || i == MAX_DETAILS || (i == error->n_details && !copy)) {
        lc_free(copy);
        lc_free(value);
        return;
    }
    if (i == error->n_details)
        error->keys[error->n_details++] = copy;
    else
        lc_free(error->values[i]);
    error->values[i] = value;
}

void lc_error_detail(lcdc_error **err, const char *key, const char *format, ...)
{
    if (!err || !*err || (*err)->is_static)
        return;
    struct lc_buf text;
    lc_buf_init(&text, MAX_MESSAGE);
    va_list args;
    va_start(args, format);
    lc_buf_vprintf(&text, format, args);
    va_end(args);
    set_detail(*err, key, lc_buf_take(&text));
}

void lc_error_prefix(lcdc_error **err, const char *format, ...)
{
    if (!err || !*err || (*err)->is_static)
        return;
    struct lc_buf text;
    lc_buf_init(&text, MAX_MESSAGE);
    va_list args;
    va_start(args, format);
    lc_buf_vprintf(&text, format, args);
    va_end(args);
    lc_buf_text(&text, ": ");
    lc_buf_text(&text, (*err)->message);
    char *message = lc_buf_take(&text);
    if (!message)
        return;
    one_line(message);
    lc_free((*err)->message);
    (*err)->message = message;
}

lcdc_error *lc_error_dup(const lcdc_error *error)
{
    if (!error || error->is_static)
        return (lcdc_error *)error;
    lcdc_error *copy = NULL;
    (void)lc_fail(&copy, error->reason, "%s", error->message);
    for (size_t i = 0; i < error->n_details; i++)
        lc_error_detail(&copy, error->keys[i], "%s", error->values[i]);
    return copy;
}

lcdc_status lcdc_error_status(const lcdc_error *error)
{
    return error ? reasons[error->reason].status : LCDC_OK;
}

const char *lcdc_error_reason(const lcdc_error *error)
{
    return error ? reasons[error->reason].token : "";
}

const char *lcdc_error_message(const lcdc_error *error)
{
    return error ? error->message : "";
}

bool lcdc_error_retriable(const lcdc_error *error)
{
    return error && reasons[error->reason].retriable;
}

size_t lcdc_error_detail_count(const lcdc_error *error)
{
    return error ? error->n_details : 0;
}

const char *lcdc_error_detail_key(const lcdc_error *error, size_t i)
{
    return error && i < error->n_details ? error->keys[i] : NULL;
}

const char *lcdc_error_detail_value(const lcdc_error *error, size_t i)
{
    return error && i < error->n_details ? error->values[i] : NULL;
}

const char *lcdc_error_detail(const lcdc_error *error, const char *key)
{
    for (size_t i = 0; error && i < error->n_details; i++)
        if (strcmp(error->keys[i], key) == 0)
            return error->values[i];
    return NULL;
}

void lcdc_error_free(lcdc_error *error)
{
    if (!error || error->is_static)
        return;
    for (size_t i = 0; i < error->n_details; i++) {
        lc_free(error->keys[i]);
        lc_free(error->values[i]);
    }
    lc_free(error->message);
    lc_free(error);
}

int lc_status_errno(lcdc_status status)
{
    switch (status) {
    case LCDC_OK:
        return 0;
    case LCDC_INVALID_ARGUMENT:
        return EINVAL;
    case LCDC_NOT_FOUND:
    case LCDC_GONE:
        return ENOENT;
    case LCDC_UNSUPPORTED:
        return ENOTSUP;
    case LCDC_OUT_OF_MEMORY:
        return ENOMEM;
    case LCDC_CANCELLED:
        return ECANCELED;
    case LCDC_DENIED:
        return EACCES;
    case LCDC_LIMIT:
        return EOVERFLOW;
    case LCDC_UNAVAILABLE:
        return EAGAIN;
    case LCDC_CORRUPT:
    case LCDC_IO:
    case LCDC_MISMATCH:
    case LCDC_INTERNAL:
        return EIO;
    }
    return EIO;
}

const char *lcdc_status_name(lcdc_status status)
{
    switch (status) {
#define WORD(name)                                                                                                     \
    case LCDC_##name:                                                                                                  \
        return #name
        WORD(OK);
        WORD(INVALID_ARGUMENT);
        WORD(NOT_FOUND);
        WORD(UNSUPPORTED);
        WORD(GONE);
        WORD(CORRUPT);
        WORD(IO);
        WORD(UNAVAILABLE);
        WORD(DENIED);
        WORD(LIMIT);
        WORD(CANCELLED);
        WORD(OUT_OF_MEMORY);
        WORD(MISMATCH);
        WORD(INTERNAL);
#undef WORD
    }
    return "UNKNOWN";
}
