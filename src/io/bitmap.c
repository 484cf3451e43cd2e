/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap.c - 64-bit row positions as 32-bit Roaring bitmaps under ascending high halves.
 *
 * Invariant: parts are sorted by `high` and none is empty, so that equality is part by part. Most files have one part
 * (fewer than 2^32 rows). Reading untrusted bytes is bitmap_parse.c's.
 */
#include "io/bitmap.h"

#include <inttypes.h>
#include <string.h>

#include "io/bitmap_parts.h"

/* A file of 2^36 rows does not exist; one such range already takes megabytes. */
#define MAX_RANGE (UINT64_C(1) << 36)

enum { CHUNK = 256 };

static uint32_t high_of(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

static uint32_t low_of(uint64_t value)
{
    return (uint32_t)value;
}

lcdc_status lc_bitmap_new(struct lc_bitmap **out, lcdc_error **err)
{
    struct lc_bitmap *bitmap = lc_calloc(1, sizeof(*bitmap));
    LC_TRY_ALLOC(bitmap);
    *out = bitmap;
    return LCDC_OK;
}

void lc_bitmap_free(struct lc_bitmap *bitmap)
{
    if (!bitmap)
        return;
    for (size_t i = 0; i < bitmap->n; i++)
        roaring_bitmap_free(bitmap->parts[i].low);
    lc_free(bitmap->parts);
    lc_free(bitmap);
}

/* Index of the first part with at least this high half. */
static size_t find_part(const struct lc_bitmap *bitmap, uint32_t high)
{
    size_t from = 0, to = bitmap->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (bitmap->parts[middle].high < high)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

lcdc_status lc_bitmap_insert(struct lc_bitmap *bitmap, size_t at, uint32_t high, roaring_bitmap_t *take_low,
                             lcdc_error **err)
{
    if (take_low && bitmap->n == bitmap->cap) {
        size_t cap = bitmap->cap ? bitmap->cap * 2 : 1;
        struct lc_bitmap_part *parts = lc_realloc(bitmap->parts, cap, sizeof(*parts));
        if (parts) {
            bitmap->parts = parts;
            bitmap->cap = cap;
        }
    }
    if (!take_low || bitmap->n == bitmap->cap) {
        if (take_low)
            roaring_bitmap_free(take_low);
        return lc_fail_oom(err);
    }
    memmove(&bitmap->parts[at + 1], &bitmap->parts[at], (bitmap->n - at) * sizeof(*bitmap->parts));
    bitmap->parts[at] = (struct lc_bitmap_part){.high = high, .low = take_low};
    bitmap->n++;
    return LCDC_OK;
}

/* The part for a high half, made when it is not there; the caller puts at least one value into it. */
static lcdc_status need_part(struct lc_bitmap *bitmap, uint32_t high, roaring_bitmap_t **out, lcdc_error **err)
{
    size_t at = find_part(bitmap, high);
    if (at == bitmap->n || bitmap->parts[at].high != high)
        LC_TRY(lc_bitmap_insert(bitmap, at, high, roaring_bitmap_create(), err));
    *out = bitmap->parts[at].low;
    return LCDC_OK;
}

static lcdc_status check_position(uint64_t value, lcdc_error **err)
{
    if (value <= INT64_MAX)
        return LCDC_OK;
    return lc_fail(err, LC_R_BITMAP_BAD, "row position %" PRIu64 " is past 2^63 - 1", value);
}

lcdc_status lc_bitmap_dup(const struct lc_bitmap *from, struct lc_bitmap **out, lcdc_error **err)
{
    LC_BITMAP struct lc_bitmap *copy = NULL;
    LC_TRY(lc_bitmap_new(&copy, err));
    for (size_t i = 0; i < from->n; i++)
        LC_TRY(lc_bitmap_insert(copy, i, from->parts[i].high, roaring_bitmap_copy(from->parts[i].low), err));
    *out = lc_steal(copy);
    return LCDC_OK;
}

lcdc_status lc_bitmap_add(struct lc_bitmap *bitmap, uint64_t value, lcdc_error **err)
{
    roaring_bitmap_t *low;
    LC_TRY(check_position(value, err));
    LC_TRY(need_part(bitmap, high_of(value), &low, err));
    roaring_bitmap_add(low, low_of(value));
    return LCDC_OK;
}

lcdc_status lc_bitmap_add_range(struct lc_bitmap *bitmap, uint64_t first, uint64_t n, lcdc_error **err)
{
    if (n == 0)
        return LCDC_OK;
    LC_TRY(check_position(first, err));
    LC_TRY(check_position(n > INT64_MAX ? n : first + n - 1, err));
    if (n > MAX_RANGE)
        return lc_fail(err, LC_R_LIMIT, "a range of %" PRIu64 " row positions is more than 2^36", n);
    uint64_t last = first + n - 1;
    for (uint64_t high = first >> 32; high <= last >> 32; high++) {
        roaring_bitmap_t *low;
        LC_TRY(need_part(bitmap, (uint32_t)high, &low, err));
        roaring_bitmap_add_range_closed(low, high == first >> 32 ? low_of(first) : 0,
                                        high == last >> 32 ? low_of(last) : UINT32_MAX);
    }
    return LCDC_OK;
}

lcdc_status lc_bitmap_add_many(struct lc_bitmap *bitmap, size_t n, const uint64_t *values, lcdc_error **err)
{
    uint32_t chunk[CHUNK];
    for (size_t i = 0; i < n;) {
        roaring_bitmap_t *low;
        uint32_t high = high_of(values[i]);
        size_t taken = 0;
        LC_TRY(check_position(values[i], err));
        LC_TRY(need_part(bitmap, high, &low, err));
        while (i < n && taken < CHUNK && high_of(values[i]) == high)
            chunk[taken++] = low_of(values[i++]);
        roaring_bitmap_add_many(low, taken, chunk);
    }
    return LCDC_OK;
}

bool lc_bitmap_contains(const struct lc_bitmap *bitmap, uint64_t value)
{
    size_t at = find_part(bitmap, high_of(value));
    return at < bitmap->n && bitmap->parts[at].high == high_of(value) &&
           roaring_bitmap_contains(bitmap->parts[at].low, low_of(value));
}

uint64_t lc_bitmap_count(const struct lc_bitmap *bitmap)
{
    uint64_t count = 0;
    for (size_t i = 0; i < bitmap->n; i++)
        count += roaring_bitmap_get_cardinality(bitmap->parts[i].low);
    return count;
}

/* The last value of first .. first + n - 1 for n > 0, at most UINT64_MAX. */
static uint64_t last_of(uint64_t first, uint64_t n)
{
    return n - 1 > UINT64_MAX - first ? UINT64_MAX : first + (n - 1);
}

uint64_t lc_bitmap_count_range(const struct lc_bitmap *bitmap, uint64_t first, uint64_t n)
{
    uint64_t count = 0;
    if (n == 0)
        return 0;
    uint64_t last = last_of(first, n);
    for (size_t i = find_part(bitmap, high_of(first)); i < bitmap->n && bitmap->parts[i].high <= high_of(last); i++) {
        uint32_t high = bitmap->parts[i].high;
        uint64_t from = high == high_of(first) ? low_of(first) : 0;
        uint64_t to = high == high_of(last) ? low_of(last) : UINT32_MAX;
        count += roaring_bitmap_range_cardinality(bitmap->parts[i].low, from, to + 1);
    }
    return count;
}

bool lc_bitmap_max(const struct lc_bitmap *bitmap, uint64_t *out)
{
    if (bitmap->n == 0)
        return false;
    const struct lc_bitmap_part *part = &bitmap->parts[bitmap->n - 1];
    *out = (uint64_t)part->high << 32 | roaring_bitmap_maximum(part->low);
    return true;
}

bool lc_bitmap_equal(const struct lc_bitmap *a, const struct lc_bitmap *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->parts[i].high != b->parts[i].high || !roaring_bitmap_equals(a->parts[i].low, b->parts[i].low))
            return false;
    return true;
}

/* ---- sets with sets ---- */

lcdc_status lc_bitmap_or(struct lc_bitmap *a, const struct lc_bitmap *b, lcdc_error **err)
{
    if (a == b || !b)
        return LCDC_OK;
    for (size_t i = 0; i < b->n; i++) {
        const struct lc_bitmap_part *part = &b->parts[i];
        size_t at = find_part(a, part->high);
        if (at < a->n && a->parts[at].high == part->high)
            roaring_bitmap_or_inplace(a->parts[at].low, part->low);
        else
            LC_TRY(lc_bitmap_insert(a, at, part->high, roaring_bitmap_copy(part->low), err));
    }
    return LCDC_OK;
}

static const roaring_bitmap_t *get_part(const struct lc_bitmap *bitmap, uint32_t high)
{
    size_t at = bitmap ? find_part(bitmap, high) : 0;
    return bitmap && at < bitmap->n && bitmap->parts[at].high == high ? bitmap->parts[at].low : NULL;
}

static void drop_empty_parts(struct lc_bitmap *bitmap)
{
    size_t kept = 0;
    for (size_t i = 0; i < bitmap->n; i++)
        if (roaring_bitmap_is_empty(bitmap->parts[i].low))
            roaring_bitmap_free(bitmap->parts[i].low);
        else
            bitmap->parts[kept++] = bitmap->parts[i];
    bitmap->n = kept;
}

lcdc_status lc_bitmap_and(struct lc_bitmap *a, const struct lc_bitmap *b, lcdc_error **err)
{
    (void)err; /* every step works in place */
    for (size_t i = 0; a != b && i < a->n; i++) {
        const roaring_bitmap_t *other = get_part(b, a->parts[i].high);
        if (other)
            roaring_bitmap_and_inplace(a->parts[i].low, other);
        else
            roaring_bitmap_clear(a->parts[i].low);
    }
    drop_empty_parts(a);
    return LCDC_OK;
}

lcdc_status lc_bitmap_minus(struct lc_bitmap *a, const struct lc_bitmap *b, lcdc_error **err)
{
    (void)err; /* every step works in place */
    for (size_t i = 0; i < a->n; i++) {
        const roaring_bitmap_t *other = get_part(b, a->parts[i].high);
        if (other == a->parts[i].low)
            roaring_bitmap_clear(a->parts[i].low);
        else if (other)
            roaring_bitmap_andnot_inplace(a->parts[i].low, other);
    }
    drop_empty_parts(a);
    return LCDC_OK;
}

/* ---- reading positions in order ---- */

size_t lc_bitmap_read(const struct lc_bitmap *bitmap, uint64_t from, size_t n, uint64_t *out)
{
    uint32_t chunk[CHUNK];
    size_t done = 0;
    for (size_t i = find_part(bitmap, high_of(from)); i < bitmap->n && done < n; i++) {
        const struct lc_bitmap_part *part = &bitmap->parts[i];
        roaring_uint32_iterator_t it;
        roaring_init_iterator(part->low, &it);
        if (part->high == high_of(from))
            (void)roaring_move_uint32_iterator_equalorlarger(&it, low_of(from));
        while (it.has_value && done < n) {
            size_t want = n - done < CHUNK ? n - done : CHUNK;
            uint32_t got = roaring_read_uint32_iterator(&it, chunk, (uint32_t)want);
            for (uint32_t k = 0; k < got; k++)
                out[done++] = (uint64_t)part->high << 32 | chunk[k];
        }
    }
    return done;
}

bool lc_bitmap_next(const struct lc_bitmap *bitmap, uint64_t from, uint64_t *out)
{
    return lc_bitmap_read(bitmap, from, 1, out) == 1;
}

/*
 * Marks the members low .. last of one part; mask[0] stands for position `low` and is zeroed. That all or none are
 * members is known by counting, which looks at no member.
 */
static void mask_part(const roaring_bitmap_t *part, uint32_t low, uint32_t last, uint8_t *mask)
{
    uint64_t rows = (uint64_t)last - low + 1, members = roaring_bitmap_range_cardinality(part, low, (uint64_t)last + 1);
    if (members == rows)
        memset(mask, 1, rows);
    if (members == 0 || members == rows)
        return;
    uint32_t chunk[CHUNK];
    roaring_uint32_iterator_t it;
    roaring_init_iterator(part, &it);
    (void)roaring_move_uint32_iterator_equalorlarger(&it, low);
    while (it.has_value && it.current_value <= last) {
        uint32_t got = roaring_read_uint32_iterator(&it, chunk, CHUNK);
        for (uint32_t k = 0; k < got && chunk[k] <= last; k++)
            mask[chunk[k] - low] = 1;
    }
}

void lc_bitmap_mask(const struct lc_bitmap *bitmap, uint64_t first, size_t n, uint8_t *mask)
{
    if (n == 0)
        return;
    uint64_t last = last_of(first, n);
    memset(mask, 0, n);
    for (size_t i = find_part(bitmap, high_of(first)); i < bitmap->n && bitmap->parts[i].high <= high_of(last); i++) {
        uint32_t high = bitmap->parts[i].high;
        uint32_t from = high == high_of(first) ? low_of(first) : 0;
        uint32_t to = high == high_of(last) ? low_of(last) : UINT32_MAX;
        mask_part(bitmap->parts[i].low, from, to, mask + (((uint64_t)high << 32 | from) - first));
    }
}
