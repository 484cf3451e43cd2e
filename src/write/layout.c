/* SPDX-License-Identifier: Apache-2.0 */
#include "write/layout.h"

enum { NARROW = 6, NARROW_BUT_MATTERS = 17 };

static int least(const struct lc_column_layout *column)
{
    int narrow = column->matters ? NARROW_BUT_MATTERS : NARROW;
    return column->is_fixed || column->width < narrow ? column->width : narrow;
}

/* Shows a column if it fits at its narrowest beside those that are shown. */
static bool show(struct lc_column_layout *column, int limit, int *used)
{
    int taken = least(column) + (*used ? LC_LAYOUT_GAP : 0);
    if (column->is_shown || column->is_absent)
        return true;
    if (*used + taken > limit && !(column->is_fixed && *used == 0))
        return false;
    column->is_shown = true;
    *used += taken;
    return true;
}

/* The fixed ones, the first that is not, those that matter, then the rest as far as they fit: all in their order. */
static size_t choose(struct lc_column_layout *columns, size_t n, int limit)
{
    size_t shown = 0, all = 0;
    int used = 0;
    bool go_on = true;
    for (size_t c = 0; c < n; c++)
        columns[c].is_shown = false;
    for (size_t c = 0; c < n; c++)
        if (columns[c].is_fixed)
            (void)show(&columns[c], limit, &used);
    for (size_t c = 0, first = 0; c < n && !first; c++)
        if (!columns[c].is_fixed && !columns[c].is_absent) {
            (void)show(&columns[c], limit, &used);
            first = 1;
        }
    for (size_t c = 0; c < n && go_on; c++)
        go_on = !columns[c].matters || show(&columns[c], limit, &used);
    for (size_t c = 0; c < n && go_on; c++)
        go_on = show(&columns[c], limit, &used);
    for (size_t c = 0; c < n; c++) {
        shown += columns[c].is_shown;
        all += !columns[c].is_absent;
    }
    return all - shown;
}

/* Takes from the widest column that can give, one terminal column at a time, until the line fits. */
static void narrow(struct lc_column_layout *columns, size_t n, int limit)
{
    for (;;) {
        struct lc_column_layout *widest = NULL;
        long used = -LC_LAYOUT_GAP;
        for (size_t c = 0; c < n; c++) {
            struct lc_column_layout *column = &columns[c];
            if (!column->is_shown)
                continue;
            used += column->width + LC_LAYOUT_GAP;
            if (column->width > least(column) && (!widest || column->width > widest->width))
                widest = column;
        }
        if (used <= limit || !widest)
            return;
        long next = widest->width - (used - limit), half = widest->width / 2;
        widest->width = (int)(next > half ? widest->width - 1 : half);
        if (widest->width < NARROW)
            widest->width = NARROW;
    }
}

size_t lc_layout_fit(struct lc_column_layout *columns, size_t n, int limit)
{
    size_t hidden = 0;
    for (size_t c = 0; c < n && limit == 0; c++)
        columns[c].is_shown = !columns[c].is_absent;
    if (limit == 0)
        return 0;
    for (size_t c = 0; c < n; c++)
        if (columns[c].width > limit)
            columns[c].width = limit;
    hidden = choose(columns, n, limit);
    if (hidden && lc_layout_names_rest(limit)) {
        limit -= LC_LAYOUT_REST;
        hidden = choose(columns, n, limit);
    }
    narrow(columns, n, limit);
    return hidden;
}
