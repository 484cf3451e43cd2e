/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap.h - sets of row positions (0 .. 2^63-1), and the deletion-vector bytes that both formats share.
 *
 * The portable bytes are checked here before CRoaring sees them: ascending keys, cardinalities, sorted arrays, runs
 * that do not overlap, sizes against what remains.
 */
#ifndef LC_IO_BITMAP_H
#define LC_IO_BITMAP_H

#include "base/error.h"
#include "base/str.h"

struct lc_bitmap;

lcdc_status lc_bitmap_new(struct lc_bitmap **out, lcdc_error **err);
lcdc_status lc_bitmap_dup(const struct lc_bitmap *from, struct lc_bitmap **out, lcdc_error **err);
void lc_bitmap_free(struct lc_bitmap *bitmap);
LC_DEFINE_CLEANUP(struct lc_bitmap *, lc_bitmap_free)
#define LC_BITMAP LC_CLEANUP(lc_bitmap_freep)

lcdc_status lc_bitmap_add(struct lc_bitmap *bitmap, uint64_t value, lcdc_error **err);
/** Adds first .. first + n - 1. */
lcdc_status lc_bitmap_add_range(struct lc_bitmap *bitmap, uint64_t first, uint64_t n, lcdc_error **err);
lcdc_status lc_bitmap_add_many(struct lc_bitmap *bitmap, size_t n, const uint64_t *values, lcdc_error **err);
bool lc_bitmap_contains(const struct lc_bitmap *bitmap, uint64_t value);
uint64_t lc_bitmap_count(const struct lc_bitmap *bitmap);
/** Members in first .. first + n - 1. */
uint64_t lc_bitmap_count_range(const struct lc_bitmap *bitmap, uint64_t first, uint64_t n);
bool lc_bitmap_max(const struct lc_bitmap *bitmap, uint64_t *out); /* false when empty */
bool lc_bitmap_equal(const struct lc_bitmap *a, const struct lc_bitmap *b);
/** In place: a |= b, a &= b, a -= b. NULL b is the empty set. */
lcdc_status lc_bitmap_or(struct lc_bitmap *a, const struct lc_bitmap *b, lcdc_error **err);
lcdc_status lc_bitmap_and(struct lc_bitmap *a, const struct lc_bitmap *b, lcdc_error **err);
lcdc_status lc_bitmap_minus(struct lc_bitmap *a, const struct lc_bitmap *b, lcdc_error **err);

/**
 * mask[i] = 1 where first + i is a member, for i < n. `mask` may hold other values before; all n bytes are written.
 * Fast for clustered and empty ranges.
 */
void lc_bitmap_mask(const struct lc_bitmap *bitmap, uint64_t first, size_t n, uint8_t *mask);

/** The smallest member >= from; false when there is none. */
bool lc_bitmap_next(const struct lc_bitmap *bitmap, uint64_t from, uint64_t *out);
/** Up to `n` members >= from in ascending order; returns how many. */
size_t lc_bitmap_read(const struct lc_bitmap *bitmap, uint64_t from, size_t n, uint64_t *out);

/**
 * Reads a deletion-vector payload: magic D1 D3 39 64, then the portable 64-bit Roaring bytes, all of it. `expected` is
 * the cardinality its descriptor names (-1: not known). LC_R_BITMAP_BAD says what is wrong at which byte.
 */
lcdc_status lc_bitmap_parse(const uint8_t *bytes, size_t n, int64_t expected, struct lc_bitmap **out, lcdc_error **err);

/**
 * Reads a framed vector: u32 big-endian length of the payload, the payload, u32 big-endian CRC-32 of it. `n` is what
 * is there; it must hold the whole frame, more is ignored.
 */
lcdc_status lc_bitmap_parse_framed(const uint8_t *bytes, size_t n, int64_t expected, struct lc_bitmap **out,
                                   lcdc_error **err);

/** Decodes Z85 text (5 characters for 4 bytes); false when a character or the length is wrong. `out`: n/5*4 bytes. */
bool lc_z85_decode(struct lc_str text, uint8_t *out);

#endif
