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

static size_t count_conjuncts(const struct lc_expr *expr)
{
    size_t n = 0;
    if (expr->kind != LC_EXPR_AND)
        return 1;
    for (size_t i = 0; i < expr->n_args; i++)
        n += count_conjuncts(expr->args[i]);
    return n;
}

/* BETWEEN is a conjunction inside one. */
static void add_ranges(const struct lc_expr *expr, struct lc_range *ranges, size_t *n)
{
    if (expr->kind != LC_EXPR_AND) {
        *n += conjunct_range(expr, &ranges[*n]);
        return;
    }
    for (size_t i = 0; i < expr->n_args; i++)
        add_ranges(expr->args[i], ranges, n);
}

lcdc_status lc_pushdown_ranges(const struct lc_expr *expr, struct lc_arena *arena, size_t *n_out,
                               const struct lc_range **out, lcdc_error **err)
{
    *n_out = 0;
    *out = NULL;
    if (!expr)
        return LCDC_OK;
    struct lc_range *ranges = lc_arena_array(arena, count_conjuncts(expr), sizeof(*ranges));
    LC_TRY_ALLOC(ranges);
    add_ranges(expr, ranges, n_out);
    *out = ranges;
    return LCDC_OK;
}

/* The value of every row of the file in a column, when the file's metadata gives it in place of the file. */
static const struct lc_value *find_constant(const struct lc_data_file *file, const struct lc_field *field)
{
    for (size_t i = 0; i < file->n_constants; i++)
        if (lc_same_column(file->constants[i].field, field))
            return file->constants[i].only_if_missing ? NULL : file->constants[i].value;
    return NULL;
}

static bool partition_excludes(const struct lc_data_file *file, const struct lc_range *range)
{
    const struct lc_value *value = find_constant(file, range->field);
    if (value) {
        struct lc_column_stats stats = {.min = value->is_null ? NULL : value,
                                        .max = value->is_null ? NULL : value,
                                        .null_count = value->is_null ? 1 : 0,
                                        .row_count = 1};
        if (lc_range_excludes(range, &stats))
            return true;
    }
    return file->excludes && file->excludes(file, range);
}

static bool statistics_exclude(const struct lc_data_file *file, const struct lc_range *range)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_column_stats stats = {.null_count = -1, .row_count = file->rows};
    return !find_constant(file, range->field) && file->stats && file->stats(file, range->field, &arena, &stats) &&
           lc_range_excludes(range, &stats);
}

lcdc_status lc_pushdown_prunes(const struct lc_data_file *file, size_t n, const struct lc_range *ranges,
                               enum lc_pruned_by *out, lcdc_error **err)
{
    (void)err;
    *out = LC_PRUNED_BY_NOTHING;
    for (size_t i = 0; i < n && *out == LC_PRUNED_BY_NOTHING; i++)
        if (partition_excludes(file, &ranges[i]))
            *out = LC_PRUNED_BY_PARTITION;
    for (size_t i = 0; i < n && *out == LC_PRUNED_BY_NOTHING; i++)
        if (statistics_exclude(file, &ranges[i]))
            *out = LC_PRUNED_BY_STATISTICS;
    return LCDC_OK;
}

lcdc_status lc_pushdown_excludes(const struct lc_data_file *file, size_t n, const struct lc_range *ranges, bool *out,
                                 lcdc_error **err)
{
    enum lc_pruned_by by;
    LC_TRY(lc_pushdown_prunes(file, n, ranges, &by, err));
    *out = by != LC_PRUNED_BY_NOTHING;
    return LCDC_OK;
}
