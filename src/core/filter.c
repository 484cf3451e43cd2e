/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - takes a condition apart: its conjuncts, and the columns it looks at.
 */
#include "core/filter.h"

#include "core/filter_parts.h"

struct split {
    bool (*keep)(void *context, const struct lc_expr *conjunct);
    void *context;
    const struct lc_expr **kept; /* NULL while they are only counted */
    size_t n;
};

static void visit_conjuncts(const struct lc_expr *expr, struct split *split)
{
    if (expr->kind == LC_EXPR_AND) {
        for (size_t i = 0; i < expr->n_args; i++)
            visit_conjuncts(expr->args[i], split);
        return;
    }
    if (!split->kept)
        split->n++;
    else if (split->keep(split->context, expr))
        split->kept[split->n++] = expr;
}

lcdc_status lc_filter_split(const struct lc_expr *expr, bool (*keep)(void *context, const struct lc_expr *conjunct),
                            void *context, struct lc_arena *arena, const struct lc_expr **out, lcdc_error **err)
{
    struct split split = {.keep = keep, .context = context};
    visit_conjuncts(expr, &split);
    split.kept = lc_arena_array(arena, split.n, sizeof(*split.kept));
    LC_TRY_ALLOC(split.kept);
    split.n = 0;
    visit_conjuncts(expr, &split);
    if (split.n == 0) {
        *out = NULL;
        return LCDC_OK;
    }
    struct lc_filter_build build = {.arena = arena};
    return lc_filter_join(&build, LC_EXPR_AND, split.n, split.kept, out, err);
}

void lc_filter_columns(const struct lc_expr *expr, bool *used)
{
    if (expr->n_path)
        used[expr->path[0]] = true;
    for (size_t i = 0; i < expr->n_args; i++)
        lc_filter_columns(expr->args[i], used);
}
