/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only conjuncts that are one interval of one column, or a list of its values, become ranges; the rest of the filter is
 * evaluated on rows.
 */
#include "scan/pushdown.h"

bool lc_same_column(const struct lc_field *a, const struct lc_field *b)
{
    return a == b || (a->physical == b->physical && a->name == b->name && a->children == b->children && a->id == b->id);
}

/* Columns whose files and statistics order values as the filter does. */
static bool is_ordered(const struct lc_field *field)
{
    switch (field->type.kind) {
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return false;
    case LC_TYPE_BOOL:
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
    case LC_TYPE_DECIMAL:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        return true;
    }
    return false;
}

static bool compare_range(const struct lc_expr *e, struct lc_range *out)
{
    const struct lc_value *v = &e->values[0];
    if (v->is_null)
        return false;
    switch (e->op) {
    case LC_EQ:
        out->low = out->high = v;
        return true;
    case LC_LT:
    case LC_LE:
        out->high = v;
        out->high_open = e->op == LC_LT;
        return true;
    case LC_GT:
    case LC_GE:
        out->low = v;
        out->low_open = e->op == LC_GT;
        return true;
    case LC_NE:
        return false;
    }
    return false;
}

static bool in_range(const struct lc_expr *e, struct lc_range *out)
{
    for (size_t i = 0; i < e->n_values; i++) {
        const struct lc_value *v = &e->values[i];
        if (v->is_null)
            continue; /* null in the list matches nothing */
        if (!out->low || lc_value_compare(v, out->low) < 0)
            out->low = v;
        if (!out->high || lc_value_compare(v, out->high) > 0)
            out->high = v;
    }
    out->n_points = e->n_values; /* nulls among them are skipped there too */
    out->points = e->values;
    return out->low != NULL;
}

/* The range of one conjunct; false when it is none. A nested leaf may be null because its parent is, which every
   comparison rejects alike, so depth does not matter. */
static bool conjunct_range(const struct lc_expr *e, struct lc_range *out)
{
    *out = (struct lc_range){.field = e->field};
    switch (e->kind) {
    case LC_EXPR_COMPARE:
        return is_ordered(e->field) && compare_range(e, out);
    case LC_EXPR_IN:
        return is_ordered(e->field) && in_range(e, out);
    case LC_EXPR_IS_NULL:
        if (!is_ordered(e->field) || e->n_path != 1)
            return false;
        out->may_be_null = out->only_null = true;
        return true;
    case LC_EXPR_NOT:
        if (e->args[0]->kind != LC_EXPR_IS_NULL || !is_ordered(e->args[0]->field) || e->args[0]->n_path != 1)
            return false;
        out->field = e->args[0]->field; /* unbounded, and null is not wanted */
        return true;
    case LC_EXPR_AND:
    case LC_EXPR_OR:
    case LC_EXPR_LIKE:
    case LC_EXPR_CONST:
        return false;
    }
    return false;
}

lcdc_status lc_pushdown_ranges(const struct lc_expr *expr, struct lc_arena *arena, size_t *n_out,
                               const struct lc_range **out, lcdc_error **err)
{
    *n_out = 0;
    *out = NULL;
    if (!expr)
        return LCDC_OK;
    size_t n = expr->kind == LC_EXPR_AND ? expr->n_args : 1;
    struct lc_range *ranges = lc_arena_array(arena, n, sizeof(*ranges));
    LC_TRY_ALLOC(ranges);
    for (size_t i = 0; i < n; i++)
        if (conjunct_range(expr->kind == LC_EXPR_AND ? expr->args[i] : expr, &ranges[*n_out]))
            ++*n_out;
    *out = ranges;
    return LCDC_OK;
}

lcdc_status lc_pushdown_excludes(const struct lc_data_file *file, size_t n, const struct lc_range *ranges, bool *out,
                                 lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    (void)err;
    *out = false;
    for (size_t i = 0; i < n && !*out; i++) {
        struct lc_column_stats stats = {.null_count = -1, .row_count = file->rows};
        const struct lc_constant *constant = NULL;
        for (size_t k = 0; k < file->n_constants && !constant; k++)
            if (lc_same_column(file->constants[k].field, ranges[i].field))
                constant = &file->constants[k];
        if (constant && !constant->only_if_missing) {
            const struct lc_value *value = constant->value;
            stats = (struct lc_column_stats){.min = value->is_null ? NULL : value,
                                             .max = value->is_null ? NULL : value,
                                             .null_count = value->is_null ? 1 : 0,
                                             .row_count = 1};
            *out = lc_range_excludes(&ranges[i], &stats);
        } else if (file->stats && file->stats(file, ranges[i].field, &arena, &stats)) {
            *out = lc_range_excludes(&ranges[i], &stats);
        }
        if (!*out && file->excludes)
            *out = file->excludes(file, &ranges[i]);
    }
    return LCDC_OK;
}
