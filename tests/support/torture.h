/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture.h - runs something again and again and fails one allocation more each time, until it succeeds.
 *
 * What runs must report LCDC_OUT_OF_MEMORY, leak nothing (the leak checker judges that) and leave its outputs alone.
 */
#ifndef LC_TESTS_TORTURE_H
#define LC_TESTS_TORTURE_H

#include "base/alloc.h"
#include "base/error.h"

/**
 * True when `run` succeeded after at least one failure and every failure was LCDC_OUT_OF_MEMORY. Begins with allocation
 * number `first`: a run that starts like an earlier one need not fail their common part again.
 */
static inline bool lc_torture_from(int64_t first, lcdc_status (*run)(void *context, lcdc_error **err), void *context)
{
    for (int64_t n = first; n < first + 1000000; n++) {
        lcdc_error *err = NULL;
        (void)lc_alloc_fail_after(n);
        lcdc_status status = run(context, &err);
        (void)lc_alloc_fail_after(-1);
        bool is_told = lcdc_error_status(err) == status;
        lcdc_error_free(err);
        if (status == LCDC_OK)
            return n > first;
        if (status != LCDC_OUT_OF_MEMORY || !is_told)
            return false;
    }
    return false;
}

static inline bool lc_torture(lcdc_status (*run)(void *context, lcdc_error **err), void *context)
{
    return lc_torture_from(0, run, context);
}

#endif
