/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff.h - how long a table that failed waits: twice as long each time up to a cap, spread by chance so that tables
 * which failed together do not come back together.
 */
#ifndef LC_SYNC_BACKOFF_H
#define LC_SYNC_BACKOFF_H

#include <stdint.h>

/** Between half of first_ms * 2^(failures-1), at most most_ms, and all of it; `chance` is any number. */
int64_t lc_backoff_ms(int64_t first_ms, int64_t most_ms, int64_t failures, uint64_t chance);

/** A number that differs from call to call and from process to process. Not for secrets. @thread any */
uint64_t lc_chance(void);

#endif
