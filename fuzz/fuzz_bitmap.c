/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vector that is accepted must be a sound set: its members come in order, as many as it counts, and what is read one
 * way is read every other way.
 */
#include <stdlib.h>
#include <string.h>

#include "io/bitmap.h"

enum { MANY = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_mask(const struct lc_bitmap *bitmap, uint64_t first)
{
    static uint8_t mask[MANY];
    uint64_t set = 0;
    lc_bitmap_mask(bitmap, first, MANY, mask);
    for (size_t i = 0; i < MANY; i++) {
        check(mask[i] == lc_bitmap_contains(bitmap, first + i));
        set += mask[i];
    }
    check(set == lc_bitmap_count_range(bitmap, first, MANY));
}

static void check_members(const struct lc_bitmap *bitmap)
{
    static uint64_t values[MANY];
    uint64_t from = 0, seen = 0;
    size_t n;
    while ((n = lc_bitmap_read(bitmap, from, MANY, values)) > 0 && seen < (1 << 18)) {
        for (size_t i = 0; i < n; i++)
            check(i == 0 ? values[0] >= from : values[i] > values[i - 1]);
        check(lc_bitmap_contains(bitmap, values[0]));
        check_mask(bitmap, values[0]);
        from = values[n - 1] + 1;
        seen += n;
    }
    check(n > 0 || seen == lc_bitmap_count(bitmap));
}

static void check_set(const struct lc_bitmap *bitmap)
{
    LC_BITMAP struct lc_bitmap *copy = NULL;
    uint64_t max = 0, count = lc_bitmap_count(bitmap);
    check(lc_bitmap_max(bitmap, &max) == (count > 0));
    check(lc_bitmap_count_range(bitmap, 0, UINT64_MAX) == count);
    check_members(bitmap);
    check(lc_bitmap_dup(bitmap, &copy, NULL) == LCDC_OK);
    check(lc_bitmap_equal(copy, bitmap));
    check(lc_bitmap_or(copy, bitmap, NULL) == LCDC_OK && lc_bitmap_and(copy, bitmap, NULL) == LCDC_OK);
    check(lc_bitmap_equal(copy, bitmap));
    check(lc_bitmap_minus(copy, bitmap, NULL) == LCDC_OK && lc_bitmap_count(copy) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    LC_BITMAP struct lc_bitmap *framed = NULL;
    LC_ERROR lcdc_error *err = NULL;
    uint8_t decoded[1024];
    if (size <= 1280)
        (void)lc_z85_decode((struct lc_str){(const char *)data, size}, decoded);
    if (lc_bitmap_parse_framed(data, size, -1, &framed, &err) == LCDC_OK)
        check_set(framed);
    if (lc_bitmap_parse(data, size, -1, &bitmap, &err) == LCDC_OK)
        check_set(bitmap);
    return 0;
}
