/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_hash.c - the 128-bit hash of a row by content, as the content diff takes it of every row of both sides.
 */
#include "base/row_hash.h"
#include "micro/micro.h"

struct work {
    struct ArrowArray rows;
    struct lc_hash out[MICRO_ROWS];
};

static bool whole_rows(void *context)
{
    struct work *work = context;
    return lc_row_hash(micro_schema(), &work->rows, 0, NULL, work->out, NULL) == LCDC_OK;
}

static bool one_number(void *context)
{
    static const size_t id = 0;
    struct work *work = context;
    return lc_row_hash(micro_schema(), &work->rows, 1, &id, work->out, NULL) == LCDC_OK;
}

bool micro_row_hash(const char *file)
{
    (void)file;
    LC_FREE struct work *work = lc_calloc(1, sizeof(*work));
    if (!work || !micro_rows(&work->rows))
        return false;
    bool is_ok = micro_time("row hash, 5 columns", MICRO_ROWS, whole_rows, work) &&
                 micro_time("row hash, one number (an identity)", MICRO_ROWS, one_number, work);
    lc_array_release(&work->rows);
    return is_ok;
}
