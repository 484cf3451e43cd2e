/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.c - rows copied into a new array: picked by number, and kept by a mask.
 */
#include "micro/micro.h"

struct work {
    struct ArrowArray rows;
    int64_t picks[MICRO_ROWS];
    uint8_t mask[MICRO_ROWS];
};

static bool gather(void *context)
{
    struct work *work = context;
    const struct ArrowArray *from = &work->rows;
    LC_ARRAY struct ArrowArray out = {0};
    return lc_array_gather(micro_schema(), 1, &from, NULL, work->picks, MICRO_ROWS, &out, NULL) == LCDC_OK;
}

static bool filter(void *context)
{
    struct work *work = context;
    struct ArrowArray rows = micro_borrow(&work->rows);
    LC_ARRAY struct ArrowArray out = {0};
    return lc_array_filter(micro_schema(), &rows, work->mask, &out, NULL) == LCDC_OK;
}

static bool filter_every(struct work *work, int step, const char *name)
{
    for (int i = 0; i < MICRO_ROWS; i++)
        work->mask[i] = i % step == 0;
    return micro_time(name, MICRO_ROWS, filter, work);
}

bool micro_gather(const char *file)
{
    (void)file;
    LC_FREE struct work *work = lc_calloc(1, sizeof(*work));
    if (!work || !micro_rows(&work->rows))
        return false;
    for (int i = 0; i < MICRO_ROWS; i++)
        work->picks[i] = (int64_t)i * 5003 % MICRO_ROWS; /* each row once, out of order */
    bool is_ok = micro_time("gather, 5 columns, every row out of order", MICRO_ROWS, gather, work) &&
                 filter_every(work, 2, "filter, 5 columns, 1 row in 2 stays") &&
                 filter_every(work, 100, "filter, 5 columns, 1 row in 100 stays");
    lc_array_release(&work->rows);
    return is_ok;
}
