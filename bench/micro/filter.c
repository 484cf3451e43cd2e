/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - a condition evaluated over a batch.
 */
#include <string.h>

#include "core/filter.h"
#include "micro/micro.h"

struct work {
    struct ArrowArray rows;
    const struct lc_expr *condition;
    uint8_t mask[MICRO_ROWS];
};

static bool evaluate(void *context)
{
    struct work *work = context;
    return lc_filter_eval(work->condition, &work->rows, work->mask, NULL) == LCDC_OK;
}

static bool time_condition(struct work *work, struct lc_arena *arena, const char *text)
{
    LC_BUF struct lc_buf name;
    lc_buf_init(&name, 256);
    lc_buf_printf(&name, "where %s", text);
    return lc_filter_parse(lc_str_of(text), micro_schema(), arena, &work->condition, NULL) == LCDC_OK &&
           micro_time(name.p, MICRO_ROWS, evaluate, work);
}

bool micro_filter(const char *file)
{
    (void)file;
    static const char *const conditions[] = {"amount > 500", "status = 'paid'", "customer like 'cust-00%'",
                                             "id in (3, 5, 8000)", "amount > 500 and status = 'paid'"};
    LC_FREE struct work *work = lc_calloc(1, sizeof(*work));
    if (!work || !micro_rows(&work->rows))
        return false;
    LC_ARENA struct lc_arena arena = {0};
    bool is_ok = true;
    for (size_t i = 0; is_ok && i < sizeof(conditions) / sizeof(conditions[0]); i++)
        is_ok = time_condition(work, &arena, conditions[i]);
    lc_array_release(&work->rows);
    return is_ok;
}
