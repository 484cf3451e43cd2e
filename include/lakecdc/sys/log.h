/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what the library has to say that is no error. It never prints; it calls one hook, when there is one.
 */
#ifndef LAKECDC_SYS_LOG_H
#define LAKECDC_SYS_LOG_H

#include <lakecdc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Values are pinned. */
typedef enum lcdc_log_level { LCDC_LOG_DEBUG = 1, LCDC_LOG_INFO = 2, LCDC_LOG_WARN = 3 } lcdc_log_level;

/**
 * Called with one line of text (no newline, no secret) about a target such as "lakecdc.cdc": which backend was chosen
 * for a table and why (INFO), or that one was fallen back from (WARN). It may be called on any thread that calls the
 * library, never under a lock, and must not throw or longjmp. The texts live for the call.
 */
typedef void (*lcdc_log_fn)(void *context, lcdc_log_level level, const char *target, const char *message);

/**
 * Sets the hook of the process; NULL takes it away. Messages below `least` are not made. Call it before other threads
 * use the library.
 */
LCDC_EXPORT void lcdc_log_set(lcdc_log_fn hook, void *context, lcdc_log_level least);

#ifdef __cplusplus
}
#endif
#endif
