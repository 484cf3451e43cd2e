/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap_parse.c - deletion-vector bytes, checked in full before CRoaring sees any of them.
 *
 * Layout: magic, u64 count of buckets, per bucket a u32 high half and one 32-bit bitmap in the Roaring "portable"
 * format (RoaringFormatSpec): cookie, run flags, keys with cardinalities, offsets, containers. Little endian. A cursor
 * that knows the end takes every byte; it remembers where the first contradiction was.
 */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "io/bitmap_parts.h"

enum {
    COOKIE_NO_RUNS = 12346,
    COOKIE_RUNS = 12347,
    MIN_CONTAINERS_WITH_OFFSETS = 4, /* with runs; without runs there always are offsets */
    MOST_CONTAINERS = 65536,
    MOST_IN_ARRAY = 4096,
    BITSET_BYTES = 8192,
    MAGIC_BYTES = 4,
    FRAME_BYTES = 8
};

static const uint8_t magic[MAGIC_BYTES] = {0xD1, 0xD3, 0x39, 0x64};

struct cursor {
    const uint8_t *bytes;
    size_t at, n;
    lcdc_error **err;
};

/* One 32-bit bitmap as its header describes it. */
struct shape {
    size_t start; /* of the bitmap */
    uint32_t containers;
    bool has_runs;
    size_t run_flags, keys, offsets; /* where these arrays lie; offsets 0: none */
    uint64_t cardinality;
    bool has_adjacent_runs;
};

static uint16_t load16(const struct cursor *c, size_t at)
{
    return (uint16_t)(c->bytes[at] | c->bytes[at + 1] << 8);
}

static uint32_t load32(const struct cursor *c, size_t at)
{
    return load16(c, at) | (uint32_t)load16(c, at + 2) << 16;
}

static uint64_t load64(const struct cursor *c, size_t at)
{
    return load32(c, at) | (uint64_t)load32(c, at + 4) << 32;
}

/* Steps over `n` bytes and says where they began. */
static lcdc_status take(struct cursor *c, size_t n, const char *what, size_t *out)
{
    if (n > c->n - c->at)
        return lc_fail(c->err, LC_R_BITMAP_BAD, "byte %zu: %s needs %zu bytes, %zu are left", c->at, what, n,
                       c->n - c->at);
    *out = c->at;
    c->at += n;
    return LCDC_OK;
}

static lcdc_status check_array(struct cursor *c, uint32_t cardinality)
{
    size_t at;
    LC_TRY(take(c, 2 * (size_t)cardinality, "an array container", &at));
    for (uint32_t i = 1; i < cardinality; i++)
        if (load16(c, at + 2 * i) <= load16(c, at + 2 * i - 2))
            return lc_fail(c->err, LC_R_BITMAP_BAD, "byte %zu: the values of an array container do not ascend",
                           at + 2 * i);
    return LCDC_OK;
}

static lcdc_status check_bitset(struct cursor *c, uint32_t cardinality)
{
    size_t at;
    uint32_t bits = 0;
    LC_TRY(take(c, BITSET_BYTES, "a bitset container", &at));
    for (size_t i = 0; i < BITSET_BYTES; i += 8)
        bits += (uint32_t)__builtin_popcountll(load64(c, at + i));
    if (bits == cardinality)
        return LCDC_OK;
    return lc_fail(c->err, LC_R_BITMAP_BAD,
                   "byte %zu: a bitset container has %" PRIu32 " bits where its header says %" PRIu32, at, bits,
                   cardinality);
}

static lcdc_status check_runs(struct cursor *c, uint32_t cardinality, struct shape *shape)
{
    size_t at;
    LC_TRY(take(c, 2, "a run count", &at));
    uint32_t runs = load16(c, at);
    LC_TRY(take(c, 4 * (size_t)runs, "a run container", &at));
    uint32_t free_from = 0, values = 0; /* the first value that no run has passed yet */
    for (uint32_t i = 0; i < runs; i++, at += 4) {
        uint32_t start = load16(c, at), past = start + load16(c, at + 2) + 1;
        if (start < free_from || past > 65536)
            return lc_fail(c->err, LC_R_BITMAP_BAD,
                           "byte %zu: a run overlaps the one before it or leaves its container", at);
        shape->has_adjacent_runs |= i > 0 && start == free_from;
        values += past - start;
        free_from = past;
    }
    if (values == cardinality)
        return LCDC_OK;
    return lc_fail(c->err, LC_R_BITMAP_BAD,
                   "byte %zu: a run container has %" PRIu32 " values where its header says %" PRIu32, at, values,
                   cardinality);
}

static lcdc_status check_container(struct cursor *c, struct shape *shape, uint32_t i)
{
    uint32_t key = load16(c, shape->keys + 4 * i), cardinality = load16(c, shape->keys + 4 * i + 2) + 1U;
    bool is_runs = shape->has_runs && (c->bytes[shape->run_flags + i / 8] >> (i % 8) & 1);
    if (i > 0 && key <= load16(c, shape->keys + 4 * i - 4))
        return lc_fail(c->err, LC_R_BITMAP_BAD, "byte %zu: the keys of the containers do not ascend",
                       shape->keys + 4 * i);
    if (shape->offsets && load32(c, shape->offsets + 4 * i) != c->at - shape->start)
        return lc_fail(c->err, LC_R_BITMAP_BAD, "byte %zu: the offset of a container is %" PRIu32 ", it begins at %zu",
                       shape->offsets + 4 * i, load32(c, shape->offsets + 4 * i), c->at - shape->start);
    shape->cardinality += cardinality;
    if (is_runs)
        return check_runs(c, cardinality, shape);
    return cardinality > MOST_IN_ARRAY ? check_bitset(c, cardinality) : check_array(c, cardinality);
}

static lcdc_status check_header(struct cursor *c, struct shape *out)
{
    size_t at;
    struct shape shape = {.start = c->at};
    LC_TRY(take(c, 4, "the cookie of a bitmap", &at));
    uint32_t cookie = load32(c, at);
    if ((cookie & 0xFFFF) == COOKIE_RUNS) {
        shape.has_runs = true;
        shape.containers = (cookie >> 16) + 1;
        LC_TRY(take(c, (shape.containers + 7) / 8, "the run flags", &shape.run_flags));
    } else if (cookie == COOKIE_NO_RUNS) {
        LC_TRY(take(c, 4, "the count of containers", &at));
        shape.containers = load32(c, at);
    } else {
        return lc_fail(c->err, LC_R_BITMAP_BAD, "byte %zu: %08" PRIx32 " is no cookie of a Roaring bitmap", at, cookie);
    }
    if (shape.containers > MOST_CONTAINERS)
        return lc_fail(c->err, LC_R_BITMAP_BAD, "byte %zu: %" PRIu32 " containers, at most %d can be", at,
                       shape.containers, MOST_CONTAINERS);
    LC_TRY(take(c, 4 * (size_t)shape.containers, "the keys of the containers", &shape.keys));
    if (shape.containers && (!shape.has_runs || shape.containers >= MIN_CONTAINERS_WITH_OFFSETS))
        LC_TRY(take(c, 4 * (size_t)shape.containers, "the offsets of the containers", &shape.offsets));
    *out = shape;
    return LCDC_OK;
}

/* Checks one 32-bit bitmap, then lets CRoaring read it. An empty one gives no part. */
static lcdc_status parse_part(struct cursor *c, struct lc_bitmap *bitmap, uint32_t high)
{
    struct shape shape = {0};
    LC_TRY(check_header(c, &shape));
    for (uint32_t i = 0; i < shape.containers; i++)
        LC_TRY(check_container(c, &shape, i));
    if (shape.containers == 0)
        return LCDC_OK;
    roaring_bitmap_t *low = roaring_bitmap_portable_deserialize_safe((const char *)c->bytes + shape.start,
                                                                     c->at - shape.start);
    if (low && shape.has_adjacent_runs) /* legal, but CRoaring compares runs one by one: give it its own kind */
        (void)roaring_bitmap_remove_run_compression(low);
    return lc_bitmap_insert(bitmap, bitmap->n, high, low, c->err);
}

static lcdc_status parse_buckets(struct cursor *c, struct lc_bitmap *bitmap)
{
    size_t at;
    LC_TRY(take(c, 8, "the count of buckets", &at));
    uint64_t buckets = load64(c, at);
    for (uint64_t i = 0, before = 0; i < buckets; i++) { /* each takes bytes, so the loop ends with them */
        LC_TRY(take(c, 4, "the key of a bucket", &at));
        uint32_t high = load32(c, at);
        if (high > INT32_MAX || (i > 0 && high <= before))
            return lc_fail(c->err, LC_R_BITMAP_BAD,
                           "byte %zu: bucket key %" PRIu32 " is not above the one before it, or past 2^31", at, high);
        LC_TRY(parse_part(c, bitmap, high));
        before = high;
    }
    return LCDC_OK;
}

lcdc_status lc_bitmap_parse(const uint8_t *bytes, size_t n, int64_t expected, struct lc_bitmap **out, lcdc_error **err)
{
    struct cursor c = {.bytes = bytes, .n = n, .err = err};
    size_t at;
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    LC_TRY(take(&c, MAGIC_BYTES, "the magic number", &at));
    if (memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return lc_fail(err, LC_R_BITMAP_BAD,
                       "byte 0: %08" PRIx32 " is not the magic number of a deletion vector, 6439d3d1", load32(&c, 0));
    LC_TRY(lc_bitmap_new(&bitmap, err));
    LC_TRY(parse_buckets(&c, bitmap));
    if (c.at != n)
        return lc_fail(err, LC_R_BITMAP_BAD, "byte %zu: %zu bytes follow the last bitmap", c.at, n - c.at);
    uint64_t count = lc_bitmap_count(bitmap);
    if (expected >= 0 && count != (uint64_t)expected)
        return lc_fail(err, LC_R_BITMAP_BAD, "%" PRIu64 " rows are marked where the descriptor says %" PRId64, count,
                       expected);
    *out = lc_steal(bitmap);
    return LCDC_OK;
}

static uint32_t load32_big(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

lcdc_status lc_bitmap_parse_framed(const uint8_t *bytes, size_t n, int64_t expected, struct lc_bitmap **out,
                                   lcdc_error **err)
{
    if (n < FRAME_BYTES)
        return lc_fail(err, LC_R_BITMAP_BAD, "%zu bytes cannot hold the length and the checksum of a deletion vector",
                       n);
    uint32_t length = load32_big(bytes);
    if (length > n - FRAME_BYTES)
        return lc_fail(err, LC_R_BITMAP_BAD,
                       "a deletion vector of %" PRIu32 " bytes does not fit into the %zu that are there", length, n);
    const uint8_t *payload = bytes + 4;
    uint32_t found = (uint32_t)crc32(0, payload, length), stored = load32_big(payload + length);
    if (found != stored)
        return lc_fail(err, LC_R_BITMAP_BAD,
                       "the checksum of a deletion vector is %08" PRIx32 ", its bytes have %08" PRIx32, stored, found);
    return lc_bitmap_parse(payload, length, expected, out, err);
}

/* The value of a character of ZeroMQ RFC 32, 85 for what is none. */
static uint32_t z85_value(char c)
{
    static const char
        alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    const char *at = memchr(alphabet, c, 85);
    return at ? (uint32_t)(at - alphabet) : 85;
}

bool lc_z85_decode(struct lc_str text, uint8_t *out)
{
    if (text.n % 5 != 0)
        return false;
    for (size_t i = 0; i < text.n; i += 5, out += 4) {
        uint64_t word = 0;
        for (size_t k = 0; k < 5; k++) {
            uint32_t value = z85_value(text.p[i + k]);
            if (value == 85)
                return false;
            word = word * 85 + value;
        }
        if (word > UINT32_MAX)
            return false;
        out[0] = (uint8_t)(word >> 24);
        out[1] = (uint8_t)(word >> 16);
        out[2] = (uint8_t)(word >> 8);
        out[3] = (uint8_t)word;
    }
    return true;
}
