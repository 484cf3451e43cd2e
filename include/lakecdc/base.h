/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - version, visibility, status codes.
 *
 * Defaults for every public header: text is UTF-8 and NUL-terminated; a returned pointer is borrowed from the object
 * it came from; a pointer through an `out` argument belongs to the caller; arguments are borrowed for the call; a
 * handle is used by one thread at a time; every free function accepts NULL; on failure outputs are untouched. Where a
 * function differs, its comment says so.
 */
#ifndef LAKECDC_BASE_H
#define LAKECDC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LCDC_VERSION_MAJOR 0
#define LCDC_VERSION_MINOR 1
#define LCDC_VERSION_PATCH 0
#define LCDC_VERSION "0.1.0"

#if defined(__GNUC__)
#define LCDC_EXPORT __attribute__((visibility("default")))
#define LCDC_MUST_USE __attribute__((warn_unused_result))
#else
#define LCDC_EXPORT
#define LCDC_MUST_USE
#endif

/** The version of the library that is running, e.g. "0.1.0". Compare with LCDC_VERSION of the header. Static text. */
LCDC_EXPORT const char *lcdc_version(void);

/**
 * What came of a call. Values are pinned and never reused; the exit status of the `lakecdc` command is the value.
 * A status says which kind of thing went wrong; the reason token of the error object says which one.
 */
typedef enum lcdc_status {
    LCDC_OK = 0,
    LCDC_INVALID_ARGUMENT = 2, /**< the request itself is wrong: unknown option, bad filter, bounds that are swapped */
    LCDC_NOT_FOUND = 3,        /**< no such table, version, snapshot, branch, column */
    LCDC_UNSUPPORTED = 4,      /**< understood, and cannot be answered exactly: the message names what would */
    LCDC_GONE = 5,             /**< was there once: expired snapshot, cut log, vacuumed file */
    LCDC_CORRUPT = 6,          /**< bytes that break the format's rules */
    LCDC_IO = 7,               /**< the storage said no */
    LCDC_UNAVAILABLE = 8,      /**< a server cannot be reached or died; trying again may help */
    LCDC_DENIED = 9,           /**< authentication or permission */
    LCDC_LIMIT = 10,           /**< a named limit of this library was reached */
    LCDC_CANCELLED = 11,       /**< lcdc_feed_cancel() was called */
    LCDC_OUT_OF_MEMORY = 12,
    LCDC_MISMATCH = 13, /**< verify: start rows + feed are not the end rows */
    LCDC_INTERNAL = 70  /**< a mistake of this library */
} lcdc_status;

/** The status as a word, e.g. "NOT_FOUND"; "UNKNOWN" for a value that is none. Static text. Any thread. */
LCDC_EXPORT const char *lcdc_status_name(lcdc_status status);

#ifdef __cplusplus
}
#endif
#endif
