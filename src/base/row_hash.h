/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_hash.h - 128-bit hashes of rows by content: what "the same row" means when a table has no ids.
 *
 * Null equals null, every NaN equals every NaN, 0.0 and -0.0 differ, a map equals a map with the same entries in
 * another order. The seed is drawn once per process, so a table cannot be made to collide on purpose.
 */
#ifndef LC_BASE_ROW_HASH_H
#define LC_BASE_ROW_HASH_H

#include "base/arrow.h"

struct lc_hash {
    uint64_t a, b;
};

static inline bool lc_hash_equal(struct lc_hash x, struct lc_hash y)
{
    return x.a == y.a && x.b == y.b;
}

/**
 * Adds hashes up, those whose byte in `which` is 1 (NULL: all): what a multiset of rows is, whatever their order. Each
 * is stirred first: else changes that go together, the sign of two numbers say, could make up for each other.
 */
void lc_hash_sum(struct lc_hash *sum, size_t n, const struct lc_hash *hashes, const uint8_t *which);

/** Adds the sum of one multiset to that of another. */
static inline void lc_hash_join(struct lc_hash *sum, struct lc_hash other)
{
    sum->a += other.a;
    sum->b += other.b;
}

/**
 * out[i] = hash of row i over the chosen columns of a struct array of type `schema` (columns NULL: all, in order).
 * Column order matters; the hash of a subset is not that of the whole.
 */
lcdc_status lc_row_hash(const struct lc_field *schema, const struct ArrowArray *rows, size_t n_columns,
                        const size_t *columns, struct lc_hash *out, lcdc_error **err);

/** Goes on from hashes over some columns: what comes out is the hash over those and then these. */
lcdc_status lc_row_hash_more(const struct lc_field *schema, const struct ArrowArray *rows, size_t n_columns,
                             const size_t *columns, struct lc_hash *hashes, lcdc_error **err);

#endif
