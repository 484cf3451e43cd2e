/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum.h - what the bytes of a file sum up to: XXH3 of 128 bits, the one that `xxh128sum` prints.
 *
 * It tells of damage and mix-ups. It is no proof against someone who means harm.
 */
#ifndef LC_BASE_CHECKSUM_H
#define LC_BASE_CHECKSUM_H

#include "base/alloc.h"

enum { LC_CHECKSUM_TEXT = 33 }; /* 32 hexadecimal digits and the terminator */

struct lc_checksum;

/** NULL when memory is short. */
struct lc_checksum *lc_checksum_new(void);
void lc_checksum_add(struct lc_checksum *sum, const void *bytes, size_t n);
/** Of everything that was added so far. */
void lc_checksum_text(const struct lc_checksum *sum, char out[LC_CHECKSUM_TEXT]);
void lc_checksum_free(struct lc_checksum *sum);
LC_DEFINE_CLEANUP(struct lc_checksum *, lc_checksum_free)

/** Of bytes that are all there. */
void lc_checksum_of(const void *bytes, size_t n, char out[LC_CHECKSUM_TEXT]);

#endif
