/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/hash_filter.h"

#include <string.h>

enum { BUCKET = 16, LINE = BUCKET * sizeof(uint32_t), AHEAD = 16 };

__extension__ typedef unsigned __int128 u128;

struct lc_hash_filter {
    uint64_t n_buckets;
    uint32_t (*buckets)[BUCKET]; /* on cache lines, in `block`; 0 = free */
    void *block;
};

/* Three quarters full at most. */
static uint64_t buckets_for(int64_t rows)
{
    return (uint64_t)rows / (BUCKET * 3 / 4) + 2;
}

int64_t lc_hash_filter_bytes(int64_t rows)
{
    return (int64_t)(buckets_for(rows) + 1) * LINE;
}

lcdc_status lc_hash_filter_new(int64_t rows, struct lc_hash_filter **out, lcdc_error **err)
{
    LC_FREE struct lc_hash_filter *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->n_buckets = buckets_for(rows);
    self->block = lc_alloc((self->n_buckets + 1) * LINE);
    LC_TRY_ALLOC(self->block);
    memset(self->block, 0, (self->n_buckets + 1) * LINE); /* fresh zero pages would be copied one by one */
    uintptr_t line = ((uintptr_t)self->block + LINE - 1) / LINE * LINE;
    self->buckets = (uint32_t(*)[BUCKET])line;
    *out = lc_steal(self);
    return LCDC_OK;
}

void lc_hash_filter_free(struct lc_hash_filter *filter)
{
    if (filter)
        lc_free(filter->block);
    lc_free(filter);
}

static uint64_t bucket_of(const struct lc_hash_filter *filter, struct lc_hash hash)
{
    return (uint64_t)((u128)hash.a * filter->n_buckets >> 64);
}

static uint32_t mark_of(struct lc_hash hash)
{
    uint32_t mark = (uint32_t)hash.b;
    return mark ? mark : 1;
}

static void prefetch(const struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes, size_t i)
{
    if (i + AHEAD < n)
        __builtin_prefetch(filter->buckets[bucket_of(filter, hashes[i + AHEAD])]);
}

/* True when the mark is in the bucket now, or was before. */
static bool put(uint32_t *bucket, uint32_t mark)
{
    for (int i = 0; i < BUCKET; i++) {
        uint32_t found = __atomic_load_n(&bucket[i], __ATOMIC_RELAXED);
        if (found == 0 &&
            __atomic_compare_exchange_n(&bucket[i], &found, mark, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
        if (found == mark)
            return true;
    }
    return false;
}

void lc_hash_filter_add(struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes)
{
    for (size_t i = 0; i < n; i++) {
        prefetch(filter, n, hashes, i);
        uint64_t at = bucket_of(filter, hashes[i]);
        while (!put(filter->buckets[at], mark_of(hashes[i])))
            at = at + 1 == filter->n_buckets ? 0 : at + 1;
    }
}

static bool has(const struct lc_hash_filter *filter, struct lc_hash hash)
{
    uint32_t mark = mark_of(hash);
    for (uint64_t at = bucket_of(filter, hash);; at = at + 1 == filter->n_buckets ? 0 : at + 1) {
        const uint32_t *bucket = filter->buckets[at];
        uint32_t hits = 0;
        for (int i = 0; i < BUCKET; i++)
            hits |= bucket[i] == mark;
        if (hits)
            return true;
        if (bucket[BUCKET - 1] == 0) /* filled from the front: none of the bucket went on to the next */
            return false;
    }
}

size_t lc_hash_filter_missing(const struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes,
                              uint8_t *missing)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        prefetch(filter, n, hashes, i);
        missing[i] = !has(filter, hashes[i]);
        found += missing[i];
    }
    return found;
}
