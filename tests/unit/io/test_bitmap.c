/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets are compared with plain sorted arrays of numbers; damaged bytes are made from a sound image, one wrong field at
 * a time, so that each check of the reader is met alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <roaring/roaring.h>
#include <zlib.h>

#include "io/bitmap.h"
#include "support/torture.h"

/* ---- plain sets ---- */

struct plain {
    size_t n;
    uint64_t *values;
};

static void plain_done(struct plain *plain)
{
    free(plain->values);
}
#define PLAIN LC_CLEANUP(plain_done)

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct plain plain_of(size_t n, const uint64_t *values)
{
    struct plain plain = {0, malloc((n + 1) * sizeof(uint64_t))};
    uint64_t *sorted = malloc((n + 1) * sizeof(uint64_t));
    assert_non_null(plain.values);
    assert_non_null(sorted);
    if (n > 0)
        memcpy(sorted, values, n * sizeof(*values));
    qsort(sorted, n, sizeof(*sorted), by_value);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            plain.values[plain.n++] = sorted[i];
    free(sorted);
    return plain;
}

static bool plain_has(const struct plain *plain, uint64_t value)
{
    return bsearch(&value, plain->values, plain->n, sizeof(value), by_value) != NULL;
}

static uint64_t seed = 1;

static uint64_t random_below(uint64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % limit;
}

/* Values of mixed texture around 2^32: runs, dense areas, lone ones, several high halves. */
static struct plain random_plain(void)
{
    static uint64_t values[60000];
    size_t n = 0;
    for (uint64_t groups = random_below(6); groups > 0; groups--) {
        uint64_t at = (random_below(4) << 32) + random_below(3) * 65536 + random_below(1000);
        uint64_t kind = random_below(3);
        for (uint64_t left = random_below(9000); left > 0 && n < 60000; left--) {
            at += kind == 0 ? 1 : kind == 1 ? 1 + random_below(3) : 1 + random_below(700);
            values[n++] = at;
        }
    }
    return plain_of(n, values);
}

static struct lc_bitmap *bitmap_of(const struct plain *plain)
{
    struct lc_bitmap *bitmap = NULL;
    assert_int_equal(lc_bitmap_new(&bitmap, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_many(bitmap, plain->n, plain->values, NULL), LCDC_OK);
    return bitmap;
}

static void assert_same(const struct lc_bitmap *bitmap, const struct plain *plain)
{
    uint64_t *read = malloc((plain->n + 1) * sizeof(*read));
    assert_non_null(read);
    assert_true(lc_bitmap_count(bitmap) == plain->n);
    assert_int_equal(lc_bitmap_read(bitmap, 0, plain->n + 1, read), plain->n);
    if (plain->n > 0)
        assert_memory_equal(read, plain->values, plain->n * sizeof(*read));
    free(read);
}

static void adding_and_asking(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, 7};
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    uint64_t max = 99;
    assert_int_equal(lc_bitmap_new(&bitmap, NULL), LCDC_OK);
    assert_false(lc_bitmap_max(bitmap, &max));
    assert_false(lc_bitmap_next(bitmap, 0, &max));
    assert_true(max == 99);
    assert_true(lc_bitmap_count(bitmap) == 0);
    for (size_t i = 0; i < 8; i++) {
        assert_false(lc_bitmap_contains(bitmap, values[i]));
        assert_int_equal(lc_bitmap_add(bitmap, values[i], NULL), LCDC_OK);
        assert_int_equal(lc_bitmap_add(bitmap, values[i], NULL), LCDC_OK);
        assert_true(lc_bitmap_contains(bitmap, values[i]));
    }
    assert_true(lc_bitmap_count(bitmap) == 8);
    assert_true(lc_bitmap_max(bitmap, &max));
    assert_true(max == INT64_MAX);
    assert_false(lc_bitmap_contains(bitmap, 2));
    assert_false(lc_bitmap_contains(bitmap, UINT64_MAX));
    assert_true(lc_bitmap_next(bitmap, 8, &max));
    assert_true(max == 65535);
    assert_true(lc_bitmap_next(bitmap, UINT32_MAX, &max));
    assert_true(max == UINT32_MAX);
    assert_true(lc_bitmap_next(bitmap, (UINT64_C(1) << 32) + 1, &max));
    assert_true(max == INT64_MAX);
    assert_false(lc_bitmap_next(bitmap, UINT64_C(1) << 63, &max));
}

static void positions_past_the_signed_range_are_refused(void **state)
{
    (void)state;
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    static const uint64_t values[] = {1, UINT64_C(1) << 63};
    assert_int_equal(lc_bitmap_new(&bitmap, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(bitmap, UINT64_C(1) << 63, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_bitmap_add_many(bitmap, 2, values, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_bitmap_add_range(bitmap, INT64_MAX, 2, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_bitmap_add_range(bitmap, UINT64_MAX, UINT64_MAX, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_bitmap_add_range(bitmap, 1, UINT64_MAX, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_bitmap_add_range(bitmap, 0, (UINT64_C(1) << 36) + 1, NULL), LCDC_LIMIT);
    assert_int_equal(lc_bitmap_add_range(bitmap, INT64_MAX, 1, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_range(bitmap, UINT64_MAX, 0, NULL), LCDC_OK);
}

static void ranges_reach_over_the_32_bit_border(void **state)
{
    (void)state;
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    uint64_t border = UINT64_C(3) << 32, values[8];
    assert_int_equal(lc_bitmap_new(&bitmap, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_range(bitmap, border - 100000, 300000, NULL), LCDC_OK);
    assert_true(lc_bitmap_count(bitmap) == 300000);
    assert_false(lc_bitmap_contains(bitmap, border - 100001));
    assert_true(lc_bitmap_contains(bitmap, border - 100000));
    assert_true(lc_bitmap_contains(bitmap, border + 199999));
    assert_false(lc_bitmap_contains(bitmap, border + 200000));
    assert_true(lc_bitmap_count_range(bitmap, border - 10, 20) == 20);
    assert_true(lc_bitmap_count_range(bitmap, 0, UINT64_MAX) == 300000);
    assert_true(lc_bitmap_count_range(bitmap, border, UINT64_MAX) == 200000);
    assert_true(lc_bitmap_count_range(bitmap, border, 0) == 0);
    assert_int_equal(lc_bitmap_read(bitmap, border - 2, 4, values), 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(values[i] == border - 2 + i);
    uint8_t mask[6];
    memset(mask, 7, sizeof(mask));
    lc_bitmap_mask(bitmap, border - 100003, 6, mask);
    assert_memory_equal(mask, "\0\0\0\1\1\1", 6);
    lc_bitmap_mask(bitmap, border + 199997, 6, mask);
    assert_memory_equal(mask, "\1\1\1\0\0\0", 6);
    lc_bitmap_mask(bitmap, border - 3, 6, mask);
    assert_memory_equal(mask, "\1\1\1\1\1\1", 6);
    lc_bitmap_mask(bitmap, UINT64_MAX - 1, 6, mask);
    assert_memory_equal(mask, "\0\0\0\0\0\0", 6);
}

static void check_reading(const struct lc_bitmap *bitmap, const struct plain *plain)
{
    static uint8_t mask[3000];
    uint64_t first = plain->n ? plain->values[random_below(plain->n)] - random_below(2) * 1000 : random_below(1000);
    size_t n = 1 + random_below(sizeof(mask));
    uint64_t expected = 0;
    if (first > INT64_MAX)
        first = 0;
    memset(mask, 0xAA, sizeof(mask));
    lc_bitmap_mask(bitmap, first, n, mask);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(mask[i], plain_has(plain, first + i));
        expected += mask[i];
    }
    assert_true(n == sizeof(mask) || mask[n] == 0xAA);
    assert_true(lc_bitmap_count_range(bitmap, first, n) == expected);
    uint64_t next = 0, value = first;
    while (value < first + n && !plain_has(plain, value))
        value++;
    if (value < first + n) {
        assert_true(lc_bitmap_next(bitmap, first, &next));
        assert_true(next == value);
    }
}

enum operation { OR, AND, MINUS };

static void check_operation(const struct plain *x, const struct plain *y, enum operation operation)
{
    LC_BITMAP struct lc_bitmap *a = bitmap_of(x);
    LC_BITMAP struct lc_bitmap *b = bitmap_of(y);
    uint64_t *values = malloc((x->n + y->n + 1) * sizeof(*values));
    size_t n = 0;
    assert_non_null(values);
    for (size_t i = 0; i < x->n; i++)
        if (operation == OR || plain_has(y, x->values[i]) == (operation == AND))
            values[n++] = x->values[i];
    for (size_t i = 0; operation == OR && i < y->n; i++)
        values[n++] = y->values[i];
    PLAIN struct plain expected = plain_of(n, values);
    free(values);
    lcdc_status (*const call[])(struct lc_bitmap *, const struct lc_bitmap *,
                                lcdc_error **) = {lc_bitmap_or, lc_bitmap_and, lc_bitmap_minus};
    assert_int_equal(call[operation](a, b, NULL), LCDC_OK);
    assert_same(a, &expected);
    assert_same(b, y);
    LC_BITMAP struct lc_bitmap *again = bitmap_of(&expected);
    assert_true(lc_bitmap_equal(a, again));
}

static void sets_behave_as_plain_sets(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        PLAIN struct plain x = random_plain();
        PLAIN struct plain y = random_plain();
        LC_BITMAP struct lc_bitmap *bitmap = bitmap_of(&x);
        assert_same(bitmap, &x);
        for (int i = 0; i < 5; i++)
            check_reading(bitmap, &x);
        for (enum operation operation = OR; operation <= MINUS; operation++)
            check_operation(&x, &y, operation);
        LC_BITMAP struct lc_bitmap *copy = NULL;
        assert_int_equal(lc_bitmap_dup(bitmap, &copy, NULL), LCDC_OK);
        assert_true(lc_bitmap_equal(bitmap, copy));
        assert_int_equal(lc_bitmap_add(copy, INT64_MAX, NULL), LCDC_OK);
        assert_false(lc_bitmap_equal(bitmap, copy));
        assert_same(bitmap, &x);
    }
}

static void a_set_with_itself_and_with_none(void **state)
{
    (void)state;
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    assert_int_equal(lc_bitmap_new(&bitmap, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_range(bitmap, 5, 10, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_or(bitmap, bitmap, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_and(bitmap, bitmap, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_or(bitmap, NULL, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_minus(bitmap, NULL, NULL), LCDC_OK);
    assert_true(lc_bitmap_count(bitmap) == 10);
    LC_BITMAP struct lc_bitmap *copy = NULL;
    assert_int_equal(lc_bitmap_dup(bitmap, &copy, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_and(copy, NULL, NULL), LCDC_OK);
    assert_true(lc_bitmap_count(copy) == 0);
    assert_int_equal(lc_bitmap_minus(bitmap, bitmap, NULL), LCDC_OK);
    assert_true(lc_bitmap_count(bitmap) == 0);
    assert_true(lc_bitmap_equal(bitmap, copy));
}

/* ---- bytes ---- */

struct image {
    size_t n;
    uint8_t bytes[70000];
};

static void put(struct image *image, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        image->bytes[image->n++] = (uint8_t)(value >> (8 * i));
}

/*
 * One bucket of key 0: without runs, containers with keys 0 (array 1, 5) and 2 (bitset 0 .. 4099).
 * Bytes: 0 magic, 4 bucket count, 12 bucket key, 16 cookie, 20 container count, 24 keys, 32 offsets, 40 array, 44
 * bitset.
 */
static void make_plain_image(struct image *image)
{
    image->n = 0;
    put(image, 0x6439D3D1, 4);
    put(image, 1, 8);
    put(image, 0, 4);
    put(image, 12346, 4);
    put(image, 2, 4);
    put(image, 0, 2), put(image, 1, 2), put(image, 2, 2), put(image, 4099, 2);
    put(image, 24, 4), put(image, 28, 4);
    put(image, 1, 2), put(image, 5, 2);
    for (int i = 0; i < 1024; i++)
        put(image, i < 64 ? UINT64_MAX : i == 64 ? 0xF : 0, 8);
}

/*
 * Buckets of key 3 (runs 10 .. 12 and 20 .. 20, no offsets) and key 7 (four containers, so with offsets; only the first
 * has runs). Bytes: 12 key, 16 cookie, 20 flags, 21 keys, 25 run count, 27 runs, 35 key, 39 cookie, 43 flags, 44 keys,
 * 60 offsets, 76 run count, 78 run 0 .. 65535, 82, 84, 86 arrays.
 */
static void make_run_image(struct image *image)
{
    image->n = 0;
    put(image, 0x6439D3D1, 4);
    put(image, 2, 8);
    put(image, 3, 4);
    put(image, 12347, 4), put(image, 1, 1);
    put(image, 0, 2), put(image, 3, 2);
    put(image, 2, 2), put(image, 10, 2), put(image, 2, 2), put(image, 20, 2), put(image, 0, 2);
    put(image, 7, 4);
    put(image, 12347 | 3 << 16, 4), put(image, 1, 1);
    for (uint64_t key = 0; key < 4; key++)
        put(image, key, 2), put(image, key == 0 ? 65535 : 0, 2);
    put(image, 37, 4), put(image, 43, 4), put(image, 45, 4), put(image, 47, 4);
    put(image, 1, 2), put(image, 0, 2), put(image, 65535, 2);
    put(image, 8, 2), put(image, 9, 2), put(image, 10, 2);
}

/* The bytes in a block of exactly their size, so that the sanitizer sees the first one read past it. */
static lcdc_status parse(const struct image *image, int64_t expected, struct lc_bitmap **out, lcdc_error **err)
{
    uint8_t *exact = malloc(image->n ? image->n : 1);
    assert_non_null(exact);
    memcpy(exact, image->bytes, image->n);
    lcdc_status status = lc_bitmap_parse(exact, image->n, expected, out, err);
    free(exact);
    return status;
}

static void sound_images_are_read(void **state)
{
    (void)state;
    static struct image image;
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    make_plain_image(&image);
    assert_int_equal(parse(&image, 4102, &bitmap, NULL), LCDC_OK);
    assert_true(lc_bitmap_contains(bitmap, 1) && lc_bitmap_contains(bitmap, 5));
    assert_true(lc_bitmap_count_range(bitmap, 131072, 4100) == 4100);
    assert_true(lc_bitmap_count(bitmap) == 4102);
    LC_BITMAP struct lc_bitmap *runs = NULL;
    uint64_t values[5], high = UINT64_C(7) << 32;
    make_run_image(&image);
    assert_int_equal(parse(&image, -1, &runs, NULL), LCDC_OK);
    assert_true(lc_bitmap_count(runs) == 4 + 65536 + 3);
    assert_int_equal(lc_bitmap_read(runs, 0, 5, values), 5);
    static const uint64_t low[] = {10, 11, 12, 20};
    for (size_t i = 0; i < 4; i++)
        assert_true(values[i] == (UINT64_C(3) << 32) + low[i]);
    assert_true(values[4] == high);
    assert_true(lc_bitmap_contains(runs, high + 65535) && lc_bitmap_contains(runs, high + 65536 + 8));
    assert_true(lc_bitmap_contains(runs, high + 3 * 65536 + 10));
}

static void empty_vectors_and_empty_buckets_are_read(void **state)
{
    (void)state;
    static struct image image;
    LC_BITMAP struct lc_bitmap *none = NULL;
    image.n = 0;
    put(&image, 0x6439D3D1, 4), put(&image, 0, 8);
    assert_int_equal(parse(&image, 0, &none, NULL), LCDC_OK);
    assert_true(lc_bitmap_count(none) == 0);
    /* Spark writes a bucket for every high half up to the largest, also those without values */
    LC_BITMAP struct lc_bitmap *second = NULL;
    image.n = 0;
    put(&image, 0x6439D3D1, 4), put(&image, 2, 8);
    put(&image, 0, 4), put(&image, 12346, 4), put(&image, 0, 4);
    put(&image, 1, 4), put(&image, 12346, 4), put(&image, 1, 4), put(&image, 0, 4), put(&image, 16, 4),
        put(&image, 9, 2);
    assert_int_equal(parse(&image, 1, &second, NULL), LCDC_OK);
    assert_true(lc_bitmap_contains(second, (UINT64_C(1) << 32) + 9));
    LC_BITMAP struct lc_bitmap *same = NULL;
    assert_int_equal(lc_bitmap_new(&same, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(same, (UINT64_C(1) << 32) + 9, NULL), LCDC_OK);
    assert_true(lc_bitmap_equal(second, same));
}

static void touching_runs_are_the_same_set(void **state)
{
    (void)state;
    static struct image image;
    LC_BITMAP struct lc_bitmap *split = NULL;
    LC_BITMAP struct lc_bitmap *whole = NULL;
    uint64_t high = UINT64_C(7) << 32;
    static const uint64_t lone[] = {(UINT64_C(7) << 32) + 65544, (UINT64_C(7) << 32) + 131081,
                                    (UINT64_C(7) << 32) + 196618};
    make_run_image(&image);
    image.bytes[31] = 13; /* the second run follows the first at once */
    assert_int_equal(parse(&image, -1, &split, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_new(&whole, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_range(whole, (UINT64_C(3) << 32) + 10, 4, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_range(whole, high, 65536, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_many(whole, 3, lone, NULL), LCDC_OK);
    assert_true(lc_bitmap_equal(split, whole));
    assert_true(lc_bitmap_equal(whole, split));
}

struct damage {
    size_t at;
    uint8_t byte;
    const char *says;
};

static void check_damage(void (*make)(struct image *), size_t n, const struct damage *cases)
{
    static struct image image;
    for (size_t i = 0; i < n; i++) {
        LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
        struct lc_bitmap *bitmap = NULL;
        make(&image);
        assert_int_not_equal(image.bytes[cases[i].at], cases[i].byte);
        image.bytes[cases[i].at] = cases[i].byte;
        assert_int_equal(parse(&image, -1, &bitmap, &err), LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(err), "bitmap.bad");
        if (!strstr(lcdc_error_message(err), cases[i].says))
            fail_msg("byte %zu: \"%s\" does not say \"%s\"", cases[i].at, lcdc_error_message(err), cases[i].says);
        assert_null(bitmap);
    }
}

static void each_wrong_field_is_refused(void **state)
{
    (void)state;
    static const struct damage plain[] = {
        {0, 0xD0, "byte 0: 6439d3d0 is not the magic"},
        {4, 2, "the key of a bucket needs 4 bytes, 0 are left"},
        {4, 0, "byte 12: 8224 bytes follow"},
        {11, 0x80, "the key of a bucket"},
        {15, 0x80, "bucket key"},
        {16, 0, "no cookie"},
        {18, 1, "no cookie"},
        {20, 1, "the offset of a container"},
        {20, 3, "container"},
        {22, 2, "131074 containers"},
        {24, 2, "do not ascend"},
        {26, 2, "container"},
        {28, 0, "do not ascend"},
        {30, 4, "bits where its header says"},
        {32, 25, "the offset of a container is 25, it begins at 24"},
        {36, 0, "the offset of a container is 0, it begins at 28"},
        {40, 5, "byte 42: the values of an array container do not ascend"},
        {40, 6, "do not ascend"},
        {44, 0xFE, "4099 bits where its header says 4100"},
        {8235, 0x80, "4101 bits where its header says 4100"},
    };
    static const struct damage runs[] = {
        {12, 7, "bucket key 7"},
        {12, 8, "bucket key 7"},
        {20, 0, "do not ascend"},
        {23, 2, "4 values where its header says 3"},
        {25, 1, "3 values"},
        {25, 3, "byte 35: a run overlaps"},
        {29, 10, "byte 31: a run overlaps"},
        {30, 0xFF, "byte 31: a run overlaps the one before it or leaves"},
        {31, 12, "a run overlaps"},
        {31, 9, "a run overlaps"},
        {33, 1, "5 values"},
        {35, 3, "bucket key 3"},
        {41, 2, "byte 62: a run overlaps"},
        {43, 0, "needs 8192"},
        {43, 2, "needs 8192"},
        {60, 38, "offset"},
        {78, 1, "leaves its container"},
    };
    check_damage(make_plain_image, sizeof(plain) / sizeof(plain[0]), plain);
    check_damage(make_run_image, sizeof(runs) / sizeof(runs[0]), runs);
}

static void every_cut_and_every_extra_byte_is_refused(void **state)
{
    (void)state;
    static struct image image;
    void (*const makers[])(struct image *) = {make_plain_image, make_run_image};
    for (size_t m = 0; m < 2; m++) {
        makers[m](&image);
        size_t n = image.n;
        for (image.n = 0; image.n < n; image.n++) {
            struct lc_bitmap *bitmap = NULL;
            assert_int_equal(parse(&image, -1, &bitmap, NULL), LCDC_CORRUPT);
        }
        struct lc_bitmap *bitmap = NULL;
        image.bytes[image.n++] = 0;
        assert_int_equal(parse(&image, -1, &bitmap, NULL), LCDC_CORRUPT);
    }
}

static void the_descriptor_must_agree(void **state)
{
    (void)state;
    static struct image image;
    LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
    struct lc_bitmap *bitmap = NULL;
    make_plain_image(&image);
    assert_int_equal(parse(&image, 4101, &bitmap, &err), LCDC_CORRUPT);
    assert_string_equal(lcdc_error_message(err), "4102 rows are marked where the descriptor says 4101");
}

static void what_croaring_writes_is_read(void **state)
{
    (void)state;
    static struct image image;
    for (int round = 0; round < 20; round++) {
        PLAIN struct plain plain = random_plain();
        uint64_t high = 0;
        image.n = 0;
        put(&image, 0x6439D3D1, 4), put(&image, 4, 8);
        for (size_t at = 0; high < 4; high++) {
            roaring_bitmap_t *low = roaring_bitmap_create();
            for (; at < plain.n && plain.values[at] >> 32 == high; at++)
                roaring_bitmap_add(low, (uint32_t)plain.values[at]);
            if (round % 2)
                roaring_bitmap_run_optimize(low);
            put(&image, high, 4);
            assert_true(image.n + roaring_bitmap_portable_size_in_bytes(low) <= sizeof(image.bytes));
            image.n += roaring_bitmap_portable_serialize(low, (char *)image.bytes + image.n);
            roaring_bitmap_free(low);
        }
        LC_BITMAP struct lc_bitmap *bitmap = NULL;
        assert_int_equal(parse(&image, (int64_t)plain.n, &bitmap, NULL), LCDC_OK);
        assert_same(bitmap, &plain);
        LC_BITMAP struct lc_bitmap *added = bitmap_of(&plain);
        assert_true(lc_bitmap_equal(bitmap, added));
    }
}

static size_t make_frame(struct image *frame)
{
    static struct image payload;
    make_run_image(&payload);
    uint32_t sum = (uint32_t)crc32(0, payload.bytes, (uInt)payload.n);
    frame->n = 0;
    put(frame, __builtin_bswap32((uint32_t)payload.n), 4);
    memcpy(frame->bytes + 4, payload.bytes, payload.n);
    frame->n += payload.n;
    put(frame, __builtin_bswap32(sum), 4);
    return frame->n;
}

static void frames_are_measured_and_summed(void **state)
{
    (void)state;
    static struct image frame;
    size_t n = make_frame(&frame);
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    assert_int_equal(lc_bitmap_parse_framed(frame.bytes, n + 10, 65543, &bitmap, NULL), LCDC_OK);
    assert_true(lc_bitmap_count(bitmap) == 65543);
    for (size_t cut = 0; cut < n; cut++) {
        struct lc_bitmap *none = NULL;
        assert_int_equal(lc_bitmap_parse_framed(frame.bytes, cut, -1, &none, NULL), LCDC_CORRUPT);
    }
    for (size_t at = 0; at < n; at++) { /* whatever byte is wrong, the length or the sum tells */
        struct lc_bitmap *none = NULL;
        frame.bytes[at] ^= 0x40;
        assert_int_equal(lc_bitmap_parse_framed(frame.bytes, n, -1, &none, NULL), LCDC_CORRUPT);
        frame.bytes[at] ^= 0x40;
    }
}

static void z85_is_zeromqs(void **state)
{
    (void)state;
    uint8_t out[8];
    assert_true(lc_z85_decode(LC_STR("HelloWorld"), out));
    assert_memory_equal(out, "\x86\x4F\xD2\x6F\xB5\x59\xF7\x5B", 8);
    assert_true(lc_z85_decode(LC_STR(""), out));
    assert_true(lc_z85_decode(LC_STR("00000%nSc0"), out));
    assert_memory_equal(out, "\0\0\0\0\xFF\xFF\xFF\xFF", 8);
    assert_false(lc_z85_decode(LC_STR("%nSc1"), out)); /* 2^32 */
    assert_false(lc_z85_decode(LC_STR("#####"), out));
    assert_false(lc_z85_decode(LC_STR("0000"), out));
    assert_false(lc_z85_decode(LC_STR("0000 "), out));
    assert_false(lc_z85_decode(LC_STR("0000\""), out));
    assert_false(lc_z85_decode((struct lc_str){"0000\0", 5}, out));
}

static lcdc_status parse_and_combine(void *context, lcdc_error **err)
{
    const struct image *image = context;
    LC_BITMAP struct lc_bitmap *a = NULL;
    LC_BITMAP struct lc_bitmap *b = NULL;
    LC_TRY(lc_bitmap_parse_framed(image->bytes, image->n, 65543, &a, err));
    LC_TRY(lc_bitmap_dup(a, &b, err));
    LC_TRY(lc_bitmap_add(b, 1, err));
    LC_TRY(lc_bitmap_add_range(b, UINT32_MAX, 10, err));
    LC_TRY(lc_bitmap_or(a, b, err));
    return lc_bitmap_minus(a, b, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static struct image frame;
    (void)make_frame(&frame);
    assert_true(lc_torture(parse_and_combine, &frame));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_and_asking),
        cmocka_unit_test(positions_past_the_signed_range_are_refused),
        cmocka_unit_test(ranges_reach_over_the_32_bit_border),
        cmocka_unit_test(sets_behave_as_plain_sets),
        cmocka_unit_test(a_set_with_itself_and_with_none),
        cmocka_unit_test(sound_images_are_read),
        cmocka_unit_test(empty_vectors_and_empty_buckets_are_read),
        cmocka_unit_test(touching_runs_are_the_same_set),
        cmocka_unit_test(each_wrong_field_is_refused),
        cmocka_unit_test(every_cut_and_every_extra_byte_is_refused),
        cmocka_unit_test(the_descriptor_must_agree),
        cmocka_unit_test(what_croaring_writes_is_read),
        cmocka_unit_test(frames_are_measured_and_summed),
        cmocka_unit_test(z85_is_zeromqs),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
