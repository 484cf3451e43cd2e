/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - error objects: a row of reasons.def, a sentence, details.
 *
 * Tables and servers have a say in the texts, so every text is cut to a length and made printable UTF-8 here. An error
 * that does not find memory becomes the one of having none.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { MAX_DETAILS = 16, MAX_TEXT = 1 << 16 };

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

/* Length of the character at the front, 0 when its bytes are not UTF-8. */
static size_t character_length(struct lc_str text)
{
    for (size_t n = 1; n <= 4 && n <= text.n; n++)
        if (lc_utf8_valid((struct lc_str){text.p, n}))
            return n;
    return 0;
}

/* Control characters become blanks, bytes that are not UTF-8 (a text cut inside a character) question marks. */
static void make_printable(char *text)
{
    for (size_t n = strlen(text), i = 0; i < n;) {
        size_t length = character_length((struct lc_str){text + i, n - i});
        if (length == 0)
            text[i] = '?';
        else if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = ' ';
        i += length ? length : 1;
    }
}

static void strip_end(char *text)
{
    size_t n = strlen(text);
    while (n && (text[n - 1] == ' ' || text[n - 1] == '.'))
        text[--n] = 0;
}

/* At most MAX_TEXT bytes, the rest is cut; NULL when memory is short. */
static __attribute__((format(printf, 1, 0))) char *print_text(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t size = n < 0 ? 1 : (size_t)(n < MAX_TEXT ? n : MAX_TEXT) + 1;
    char *text = lc_alloc(size);
    if (!text)
        return NULL;
    text[0] = 0;
    if (n >= 0)
        (void)vsnprintf(text, size, format, args);
    make_printable(text);
    return text;
}

lcdc_status(lc_fail)(lcdc_error **err, enum lc_reason reason, const char *format, ...)
{
    if (!err)
        return reasons[reason].status;
    va_list args;
    va_start(args, format);
    char *message = print_text(format, args);
    va_end(args);
    lcdc_error *made = lc_calloc(1, sizeof(*made));
    if (!made || !message) {
        lc_free(made);
        lc_free(message);
        return lc_fail_oom(err);
    }
    strip_end(message);
    *made = (lcdc_error){.reason = reason, .message = message};
    lcdc_error_free(*err);
    *err = made;
    return reasons[reason].status;
}

lcdc_status(lc_fail_with)(lcdc_error *take_error, lcdc_error **err)
{
    lcdc_status status = lcdc_error_status(take_error);
    if (!err) {
        lcdc_error_free(take_error);
        return status;
    }
    lcdc_error_free(*err);
    *err = take_error;
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
    va_list args;
    va_start(args, format);
    set_detail(*err, key, print_text(format, args));
    va_end(args);
}

static __attribute__((format(printf, 1, 2))) char *join_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = print_text(format, args);
    va_end(args);
    return text;
}

void lc_error_prefix(lcdc_error **err, const char *format, ...)
{
    if (!err || !*err || (*err)->is_static)
        return;
    va_list args;
    va_start(args, format);
    LC_FREE char *prefix = print_text(format, args);
    va_end(args);
    char *message = prefix ? join_text("%s: %s", prefix, (*err)->message) : NULL;
    if (!message)
        return;
    strip_end(message);
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
