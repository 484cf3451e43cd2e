/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - the library's side of the log hook.
 */
#ifndef LC_BASE_LOG_H
#define LC_BASE_LOG_H

#include "lakecdc/sys/log.h"

/** Nothing when there is no hook, the level is too low, or memory is short. Secrets must not reach it. */
void lc_log(lcdc_log_level level, const char *target, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
