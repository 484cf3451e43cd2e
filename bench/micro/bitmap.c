/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap.c - sets of positions: made from scattered rows, and turned into the mask of a batch.
 */
#include "io/bitmap.h"
#include "micro/micro.h"

enum { FILE_ROWS = 1250000, STEP = 100, MEMBERS = FILE_ROWS / STEP };

struct work {
    struct lc_bitmap *members; /* one row in a hundred, as a merge of workload A leaves them */
    uint64_t values[MEMBERS];
    uint8_t mask[MICRO_ROWS];
};

static bool add_each(void *context)
{
    struct work *work = context;
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    if (lc_bitmap_new(&bitmap, NULL) != LCDC_OK)
        return false;
    for (size_t i = 0; i < MEMBERS; i++)
        if (lc_bitmap_add(bitmap, work->values[i], NULL) != LCDC_OK)
            return false;
    return true;
}

static bool add_many(void *context)
{
    struct work *work = context;
    LC_BITMAP struct lc_bitmap *bitmap = NULL;
    return lc_bitmap_new(&bitmap, NULL) == LCDC_OK &&
           lc_bitmap_add_many(bitmap, MEMBERS, work->values, NULL) == LCDC_OK;
}

static bool mask_file(void *context)
{
    struct work *work = context;
    for (uint64_t first = 0; first + MICRO_ROWS <= FILE_ROWS; first += MICRO_ROWS)
        lc_bitmap_mask(work->members, first, MICRO_ROWS, work->mask);
    return true;
}

static bool mask_nothing(void *context)
{
    struct work *work = context;
    for (uint64_t first = FILE_ROWS; first + MICRO_ROWS <= 2 * FILE_ROWS; first += MICRO_ROWS)
        lc_bitmap_mask(work->members, first, MICRO_ROWS, work->mask);
    return true;
}

bool micro_bitmap(const char *file)
{
    (void)file;
    LC_FREE struct work *work = lc_calloc(1, sizeof(*work));
    if (!work || lc_bitmap_new(&work->members, NULL) != LCDC_OK)
        return false;
    for (uint64_t i = 0; i < MEMBERS; i++)
        work->values[i] = i * STEP + 37;
    int64_t masked = (int64_t)FILE_ROWS / MICRO_ROWS * MICRO_ROWS;
    bool is_ok = lc_bitmap_add_many(work->members, MEMBERS, work->values, NULL) == LCDC_OK &&
                 micro_time("bitmap add, one by one, scattered", MEMBERS, add_each, work) &&
                 micro_time("bitmap add, many at once, scattered", MEMBERS, add_many, work) &&
                 micro_time("bitmap mask, 1 row in 100", masked, mask_file, work) &&
                 micro_time("bitmap mask, no row", masked, mask_nothing, work);
    lc_bitmap_free(work->members);
    return is_ok;
}
