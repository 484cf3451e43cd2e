/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - the error object: one status, one stable reason token, one line for a person.
 *
 * Every function that can fail takes `lcdc_error **err` last. Passing NULL is legal everywhere: the status is then all
 * there is. When `*err` is not NULL on entry it is freed and replaced on failure, so one variable can serve many calls.
 */
#ifndef LAKECDC_ERROR_H
#define LAKECDC_ERROR_H

#include "arrow_c.h"
#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lcdc_error lcdc_error;

/** The status the failing call returned. LCDC_OK for NULL. */
LCDC_EXPORT lcdc_status lcdc_error_status(const lcdc_error *error);

/** A stable token such as "delta.version_gap"; docs/errors.md lists them all. "" for NULL. */
LCDC_EXPORT const char *lcdc_error_reason(const lcdc_error *error);

/** One line, lower case, no newline: what was found, what was expected, where. Never holds a secret. "" for NULL. */
LCDC_EXPORT const char *lcdc_error_message(const lcdc_error *error);

/** True when the same call may succeed later without a change on this side (a server that is down, a time-out). */
LCDC_EXPORT bool lcdc_error_retriable(const lcdc_error *error);

/** Number of key/value details ("table", "version", "path", "servable_from" ...). */
LCDC_EXPORT size_t lcdc_error_detail_count(const lcdc_error *error);

/** Detail `i`, 0 <= i < count; NULL key when out of range. Both pointers live as long as the error. */
LCDC_EXPORT const char *lcdc_error_detail_key(const lcdc_error *error, size_t i);
LCDC_EXPORT const char *lcdc_error_detail_value(const lcdc_error *error, size_t i);

/** The value of a detail by key, or NULL. */
LCDC_EXPORT const char *lcdc_error_detail(const lcdc_error *error, const char *key);

LCDC_EXPORT void lcdc_error_free(lcdc_error *error);

/**
 * The rich error behind a stream that this library exported, after get_next or get_schema returned non-zero. NULL when
 * there was none, or when the stream is not ours (recognised by the identity of its release callback, the way
 * AdbcErrorFromArrayStream does it). Borrowed: valid until the next call on the stream.
 */
LCDC_EXPORT const lcdc_error *lcdc_error_from_stream(struct ArrowArrayStream *stream);

#ifdef __cplusplus
}
#endif
#endif
