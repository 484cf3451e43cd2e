/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/hash_filter.h"

#include <string.h>
#include <sys/mman.h>

enum { BUCKET = 16, LINE = BUCKET * sizeof(uint32_t), AHEAD = 32, HUGE_PAGE = 2 << 20, UNHIT_BITS = 22, NOTED = 64 };

__extension__ typedef unsigned __int128 u128;

/* The other bits are the mark. */
#define HIT 0x80000000u

struct lc_hash_filter {
    uint64_t n_buckets;
    uint32_t (*buckets)[BUCKET]; /* on cache lines, in `block`; 0 = free */
    void *block;
    uint64_t *unhit; /* a bit for marks that were not hit */
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
    size_t bytes = self->n_buckets * LINE, unit = bytes < HUGE_PAGE ? LINE : HUGE_PAGE;
    self->block = lc_calloc(1, bytes + unit);
    LC_TRY_ALLOC(self->block);
    self->buckets = (uint32_t(*)[BUCKET])(((uintptr_t)self->block + unit - 1) / unit * unit);
    /* each look is at another page: with small ones it would wait for the page's address as long as for its bytes */
    if (unit == HUGE_PAGE)
        (void)madvise(self->buckets, bytes, MADV_HUGEPAGE);
    *out = lc_steal(self);
    return LCDC_OK;
}

void lc_hash_filter_free(struct lc_hash_filter *filter)
{
    if (filter) {
        lc_free(filter->block);
        lc_free(filter->unhit);
    }
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

static size_t unhit_word(uint32_t mark)
{
    return (mark & ((1u << UNHIT_BITS) - 1)) >> 6;
}

static uint64_t unhit_bit(uint32_t mark)
{
    return (uint64_t)1 << (mark & 63);
}

/*
 * False when there is no room in the bucket. The search begins at a place of the mark's own, which is more often free
 * than the first.
 */
static bool put(uint32_t *bucket, uint32_t mark)
{
    for (uint32_t i = 0; i < BUCKET; i++) {
        uint32_t place = (mark + i) % BUCKET, found = __atomic_load_n(&bucket[place], __ATOMIC_RELAXED);
        if (found == 0 &&
            __atomic_compare_exchange_n(&bucket[place], &found, mark, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
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
            at = next_bucket(filter, at);
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
        if (place) /* whoever else writes there writes the same */
            __atomic_store_n(place, mark_of(hashes[i]) | HIT, __ATOMIC_RELAXED);
    }
    return n_missing;
}

/*
 * Most marks are hit, and to look at each again would wait for memory each time. So those that were not are noted in a
 * small table, by some of their bits; only what is noted there is looked at again.
 */
lcdc_status lc_hash_filter_settle(struct lc_hash_filter *filter, lcdc_error **err)
{
    filter->unhit = lc_calloc((size_t)1 << UNHIT_BITS >> 6, sizeof(*filter->unhit));
    LC_TRY_ALLOC(filter->unhit);
    for (uint64_t at = 0; at < filter->n_buckets; at++)
        for (uint32_t i = 0; i < BUCKET; i++) {
            uint32_t mark = filter->buckets[at][i];
            if (mark && !(mark & HIT))
                filter->unhit[unhit_word(mark)] |= unhit_bit(mark);
        }
    return LCDC_OK;
}

size_t lc_hash_filter_unhit(const struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes,
                            uint8_t *missing)
{
    size_t n_missing = 0, n_noted = 0;
    uint32_t noted[NOTED];
    for (size_t i = 0; i < n; i++) {
        uint32_t mark = mark_of(hashes[i]);
        bool is_noted = filter->unhit[unhit_word(mark)] & unhit_bit(mark);
        missing[i] = 0;
        noted[n_noted] = (uint32_t)i;
        n_noted += is_noted;
        if (is_noted)
            __builtin_prefetch(filter->buckets[bucket_of(filter, hashes[i])]);
        if (n_noted < NOTED && i + 1 < n)
            continue;
        for (size_t k = 0; k < n_noted; k++) {
            missing[noted[k]] = !(*find(filter, hashes[noted[k]]) & HIT);
            n_missing += missing[noted[k]];
        }
        n_noted = 0;
    }
    return n_missing;
}
