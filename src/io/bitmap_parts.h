/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap_parts.h - the inside of a bitmap, shared by bitmap.c (sets) and bitmap_parse.c (bytes) alone.
 */
#ifndef LC_IO_BITMAP_PARTS_H
#define LC_IO_BITMAP_PARTS_H

#include <roaring/roaring.h>

#include "io/bitmap.h"

struct lc_bitmap {
    size_t n, cap;
    struct lc_bitmap_part {
        uint32_t high;
        roaring_bitmap_t *low; /* never empty */
    } * parts;                 /* ascending by `high` */
};

/** Puts a part at index `at`. Consumes `take_low`; NULL stands for an allocation that failed. */
lcdc_status lc_bitmap_insert(struct lc_bitmap *bitmap, size_t at, uint32_t high, roaring_bitmap_t *take_low,
                             lcdc_error **err);

#endif
