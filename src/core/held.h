/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h - rows that must wait (for their other half, for the end of a commit) in bounded memory.
 *
 * Rows are copied out of their batches into compact chunks. Past the memory limit a chunk goes to an unlinked temporary
 * file and is mapped back only while it is read, so holding a large commit costs address space, not memory.
 */
#ifndef LC_CORE_HELD_H
#define LC_CORE_HELD_H

#include "base/arrow.h"

struct lc_held;

/** `memory_limit` in bytes for the rows themselves. `columns` is borrowed. */
lcdc_status lc_held_new(const struct lc_field *columns, int64_t memory_limit, struct lc_held **out, lcdc_error **err);
void lc_held_free(struct lc_held *held);

/** Copies `n` rows of a struct array; they get the numbers *first, *first + 1, ... in order. */
lcdc_status lc_held_add(struct lc_held *held, const struct ArrowArray *images, const int64_t *rows, int64_t n,
                        uint32_t *first, lcdc_error **err);

/** The rows of the given numbers as one array. A number of UINT32_MAX makes a null row. */
lcdc_status lc_held_gather(struct lc_held *held, const uint32_t *numbers, int64_t n, struct ArrowArray *out,
                           lcdc_error **err);

/** Forgets all rows; numbers start at 0 again. */
void lc_held_clear(struct lc_held *held);

#endif
