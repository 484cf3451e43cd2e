/* SPDX-License-Identifier: Apache-2.0 */
/*
 * micro.h - what the micro-benchmarks share: a stopwatch and a batch of rows like those of workload A.
 *
 * Each file times one hot loop by itself, warm, in nanoseconds of processor time a row. The numbers say where time goes
 * and whether a change to a loop helped; what a whole read takes is bench/run.py's to say.
 */
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

#include "base/arrow.h"

enum { MICRO_ROWS = 8192 };

/**
 * Calls once(context) until it has run for a while and prints "name  ns/row", the best and the median of several
 * groups of calls. False, and nothing printed, when a call returns false.
 */
bool micro_time(const char *name, int64_t rows, bool (*once)(void *context), void *context);

/** id bigint, customer string (61 hex characters), amount double, status string, updated_at timestamp. */
const struct lc_field *micro_schema(void);
/** MICRO_ROWS rows of it, the same each time. */
bool micro_rows(struct ArrowArray *out);
/** The same rows again without a copy, for functions that consume what they are given; `rows` must outlive it. */
struct ArrowArray micro_borrow(struct ArrowArray *rows);

/* One per file; false when something failed. `file` is a Snappy Parquet file with a column `customer`, or NULL. */
bool micro_bitmap(const char *file);
bool micro_filter(const char *file);
bool micro_gather(const char *file);
bool micro_jsonl(const char *file);
bool micro_row_hash(const char *file);
bool micro_snappy(const char *file);

#endif
