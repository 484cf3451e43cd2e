/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - which columns of a table stand side by side on a terminal, and how wide each is.
 */
#ifndef LC_WRITE_LAYOUT_H
#define LC_WRITE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

enum { LC_LAYOUT_GAP = 2 };

struct lc_column_layout {
    int width;      /* in: of its widest cell; out: what it gets */
    bool is_fixed;  /* is not narrowed, is always shown */
    bool matters;   /* is shown before others and narrowed less */
    bool is_absent; /* takes no part */
    bool is_shown;  /* out */
};

/**
 * Lays `n` columns out within `limit` terminal columns (0: all of them, as wide as they are). Returns how many were
 * left out; where lc_layout_names_rest() the last LC_LAYOUT_REST terminal columns are free to say so.
 */
size_t lc_layout_fit(struct lc_column_layout *columns, size_t n, int limit);

enum { LC_LAYOUT_REST = 6 }; /* gap, "+123" */
static inline bool lc_layout_names_rest(int limit)
{
    return limit > 5 * LC_LAYOUT_REST;
}

#endif
