/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/commit.h"

const char *lc_method_name(enum lc_method method)
{
    switch (method) {
    case LC_METHOD_NONE:
        return "none";
    case LC_METHOD_APPEND:
        return "append";
    case LC_METHOD_CDF_FILES:
        return "cdf_files";
    case LC_METHOD_VECTOR_DIFF:
        return "vector_diff";
    case LC_METHOD_LINEAGE_DIFF:
        return "lineage_diff";
    case LC_METHOD_EQUALITY_DELETE:
        return "equality_delete";
    case LC_METHOD_CONTENT_DIFF:
        return "content_diff";
    case LC_METHOD_WHOLE_FILES:
        return "whole_files";
    }
    return "";
}

lcdc_status lc_row_set_load(struct lc_row_set *set, lcdc_error **err)
{
    return set->load ? set->load(set, set->load_context, err) : LCDC_OK;
}

/* Bitmaps that no load made belong to whoever put them there: the commit frees them with its arena's hooks. */
void lc_row_set_unload(struct lc_row_set *set)
{
    if (!set->load)
        return;
    lc_bitmap_free(lc_steal(set->include));
    lc_bitmap_free(lc_steal(set->exclude));
}

static void unload_all(size_t n, struct lc_row_set *sets)
{
    for (size_t i = 0; i < n; i++)
        lc_row_set_unload(&sets[i]);
}

void lc_commit_done(struct lc_commit *commit)
{
    unload_all(commit->n_removed, commit->removed);
    unload_all(commit->n_added, commit->added);
    unload_all(commit->n_changes, commit->changes);
    lc_arena_done(&commit->arena);
    *commit = (struct lc_commit){0};
}
