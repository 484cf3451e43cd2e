/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel.h - the same task for many row sets, on a few threads.
 */
#ifndef LC_SCAN_PARALLEL_H
#define LC_SCAN_PARALLEL_H

#include "scan/rows.h"

enum { LC_MAX_THREADS = 64 };

/** Threads worth starting for these sets: 1 where the files are so small that starting one would cost more. */
size_t lc_scan_threads(const struct lc_scan_context *context, size_t n, const struct lc_row_set *sets);

/** Task `i`; it shares `context` with the others, which may run at the same time. @thread any */
typedef lcdc_status (*lc_task)(void *context, size_t i, lcdc_error **err);

/**
 * Runs tasks 0 .. n - 1, the calling thread among those that do, and returns when all have ended. After a failure no
 * further task begins; the error is that of the first task, by number, that failed.
 */
lcdc_status lc_parallel(size_t threads, size_t n, lc_task task, void *context, lcdc_error **err);

#endif
