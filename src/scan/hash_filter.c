/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/hash_filter.h"

#include <string.h>

enum { BUCKET = 16, LINE = BUCKET * sizeof(uint32_t), AHEAD = 32 };

__extension__ typedef unsigned __int128 u128;

/* Of a place; the other bits are the mark. */
#define HIT 0x80000000u

struct lc_hash_filter {
    uint64_t n_buckets;
    uint32_t (*buckets)[BUCKET]; /* on cache lines, in `block`; 0 = free */
    void *block;
};

/* Thirteen places of sixteen are taken at most. */
static uint64_t buckets_for(int64_t rows)
{
    return (uint64_t)rows / (BUCKET * 13 / 16) + 2;
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

static uint64_t next_bucket(const struct lc_hash_filter *filter, uint64_t at)
{
    return at + 1 == filter->n_buckets ? 0 : at + 1;
}

static uint32_t mark_of(struct lc_hash hash)
{
    uint32_t mark = (uint32_t)hash.b & ~HIT;
    return mark ? mark : 1;
}

static void prefetch(const struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes, size_t i)
{
    if (i + AHEAD < n)
        __builtin_prefetch(filter->buckets[bucket_of(filter, hashes[i + AHEAD])]);
}

/*
 * Where the mark is in the bucket, or BUCKET when there is no room for it. The search begins at a place of the mark's
 * own, which is more often free than the first.
 */
static uint32_t put(uint32_t *bucket, uint32_t mark)
{
    for (uint32_t i = 0; i < BUCKET; i++) {
        uint32_t place = (mark + i) % BUCKET, found = __atomic_load_n(&bucket[place], __ATOMIC_RELAXED);
        if (found == 0 &&
            __atomic_compare_exchange_n(&bucket[place], &found, mark, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return place;
        if (found == mark)
            return place;
    }
    return BUCKET;
}

void lc_hash_filter_add(struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes, uint32_t *places)
{
    for (size_t i = 0; i < n; i++) {
        prefetch(filter, n, hashes, i);
        uint64_t at = bucket_of(filter, hashes[i]);
        uint32_t place;
        while ((place = put(filter->buckets[at], mark_of(hashes[i]))) == BUCKET)
            at = next_bucket(filter, at);
        if (places)
            places[i] = (uint32_t)(at * BUCKET) + place;
    }
}

/* NULL when the mark is nowhere: a free place is met before it would have been put further on. */
static uint32_t *find(const struct lc_hash_filter *filter, struct lc_hash hash)
{
    uint32_t mark = mark_of(hash);
    for (uint64_t at = bucket_of(filter, hash);; at = next_bucket(filter, at))
        for (uint32_t i = 0; i < BUCKET; i++) {
            uint32_t *place = &filter->buckets[at][(mark + i) % BUCKET];
            uint32_t found = __atomic_load_n(place, __ATOMIC_RELAXED);
            if ((found & ~HIT) == mark)
                return place;
            if (found == 0)
                return NULL;
        }
}

size_t lc_hash_filter_missing(const struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes,
                              uint8_t *missing)
{
    size_t n_missing = 0;
    for (size_t i = 0; i < n; i++) {
        prefetch(filter, n, hashes, i);
        missing[i] = !find(filter, hashes[i]);
        n_missing += missing[i];
    }
    return n_missing;
}

size_t lc_hash_filter_hit(struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes, uint8_t *missing)
{
    size_t n_missing = 0;
    for (size_t i = 0; i < n; i++) {
        prefetch(filter, n, hashes, i);
        uint32_t *place = find(filter, hashes[i]);
        missing[i] = !place;
        n_missing += missing[i];
        if (place && !(__atomic_load_n(place, __ATOMIC_RELAXED) & HIT))
            __atomic_fetch_or(place, HIT, __ATOMIC_RELAXED);
    }
    return n_missing;
}

lcdc_status lc_hash_filter_hits(const struct lc_hash_filter *filter, uint64_t **out, lcdc_error **err)
{
    uint64_t *hits = lc_calloc(filter->n_buckets * BUCKET / 64 + 1, sizeof(*hits));
    LC_TRY_ALLOC(hits);
    for (uint64_t at = 0; at < filter->n_buckets; at++)
        for (uint32_t i = 0; i < BUCKET; i++) {
            uint64_t place = at * BUCKET + i;
            hits[place >> 6] |= (uint64_t)(filter->buckets[at][i] >> 31) << (place & 63);
        }
    *out = hits;
    return LCDC_OK;
}
