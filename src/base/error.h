/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - makes error objects.
 *
 * The reason says everything but the sentence: base/reasons.def holds status, token, retriability and meaning of each,
 * and docs/errors.md is made from it. An error is created once, at the place that knows most; callers add details.
 */
#ifndef LC_BASE_ERROR_H
#define LC_BASE_ERROR_H

#include "base/alloc.h"
#include "lakecdc/error.h"

enum lc_reason {
#define LC_REASON(id, token, status, retriable, text) LC_R_##id,
#include "base/reasons.def"
#undef LC_REASON
    LC_R_COUNT
};

/** Creates (or replaces) *err and returns the reason's status. One line, lower case, no full stop. */
lcdc_status lc_fail(lcdc_error **err, enum lc_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** LC_R_OUT_OF_MEMORY without allocating. */
lcdc_status lc_fail_oom(lcdc_error **err);

/** Hands on an error that was made before: *err is replaced by it, and its status returned. */
lcdc_status lc_fail_with(lcdc_error *take_error, lcdc_error **err);

/* Tells compilers and analysers what they cannot see from outside: a failure is never LCDC_OK. */
#ifdef __clang_analyzer__
#define lc_failed(status) ((void)(status), LCDC_INTERNAL)
#else
static inline lcdc_status lc_failed(lcdc_status status)
{
    if (status == LCDC_OK)
        __builtin_unreachable();
    return status;
}
#endif
#define lc_fail(...) lc_failed(lc_fail(__VA_ARGS__))
#define lc_fail_oom(err) lc_failed(lc_fail_oom(err))
#define lc_fail_with(take_error, err) lc_failed(lc_fail_with(take_error, err))

/** Adds or replaces a detail of an existing error; nothing when err or *err is NULL. Out of memory is ignored. */
void lc_error_detail(lcdc_error **err, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Puts "prefix: " before the message ("version 7: ..."), for a caller that knows where. */
void lc_error_prefix(lcdc_error **err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** A copy, or NULL. */
lcdc_error *lc_error_dup(const lcdc_error *error);

/** The errno a stream returns for a status; the one place where the two meet. */
int lc_status_errno(lcdc_status status);

/** Rows of reasons.def, for the documentation test; NULL past the end. */
const char *lc_reason_token(enum lc_reason reason);
lcdc_status lc_reason_status(enum lc_reason reason);

LC_DEFINE_CLEANUP(lcdc_error *, lcdc_error_free)
#define LC_ERROR LC_CLEANUP(lcdc_error_freep)

/** Returns the status of a failed call to the caller. */
#define LC_TRY(call)                                                                                                   \
    do {                                                                                                               \
        lcdc_status lc_try_status = (call);                                                                            \
        if (lc_try_status != LCDC_OK)                                                                                  \
            return lc_try_status;                                                                                      \
    } while (0)

#define LC_TRY_ALLOC(pointer)                                                                                          \
    do {                                                                                                               \
        if (!(pointer))                                                                                                \
            return lc_fail_oom(err);                                                                                   \
    } while (0)

#define LC_TRY_BUF(buf)                                                                                                \
    do {                                                                                                               \
        if ((buf)->failed)                                                                                             \
            return lc_fail_oom(err);                                                                                   \
    } while (0)

#endif
