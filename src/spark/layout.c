/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/layout.h"

#include <string.h>

#include "io/arrow_ipc.h"

/* ---- finding ---- */

static bool is_named(const struct lc_field *result, size_t at, const char *name)
{
    return at < result->n_children && strcmp(result->children[at].name, name) == 0;
}

static bool is_integer(const struct lc_field *field)
{
    return field->type.kind == LC_TYPE_INT32 || field->type.kind == LC_TYPE_INT64;
}

/* Op, commit and the third one, at the end. */
static lcdc_status find_added(enum lc_sql_source source, const struct lc_field *result, struct lc_spark_layout *out,
                              size_t *n_data, lcdc_error **err)
{
    size_t n = result->n_children;
    bool is_view = source == LC_SQL_VIEW;
    const char *second = is_view ? "_change_ordinal" : "_commit_version",
               *third = is_view ? "_commit_snapshot_id" : "_commit_timestamp";
    if (n < 3 || !is_named(result, n - 3, lc_sql_op_column) || !is_named(result, n - 2, second) ||
        !is_named(result, n - 1, third))
        return lc_fail(err, LC_R_SPARK_PROTOCOL,
                       "the server's change rows end with column '%.100s'; expected %s, %s and %s at the end",
                       n ? result->children[n - 1].name : "", lc_sql_op_column, second, third);
    out->op = (int)n - 3;
    out->commit = (int)n - (is_view ? 1 : 2);
    out->ts = is_view ? LC_NO_COLUMN : (int)n - 1;
    *n_data = n - 3;
    const struct lc_field *commit = &result->children[out->commit];
    if (result->children[out->op].type.kind != LC_TYPE_STRING ||
        (!is_integer(commit) && commit->type.kind != LC_TYPE_STRING))
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server's change rows have %s or %s of another type than expected",
                       lc_sql_op_column, commit->name);
    return LCDC_OK;
}

static lcdc_status find_image(const struct lc_field *result, size_t n_data, const char *name, size_t *out,
                              lcdc_error **err)
{
    size_t found = 0;
    for (size_t i = 0; i < n_data; i++)
        if (strcmp(result->children[i].name, name) == 0) {
            *out = i;
            found++;
        }
    if (found == 1)
        return LCDC_OK;
    return lc_fail(err, LC_R_TYPE_MISMATCH, "the server's change rows have %s column '%.200s' of the table",
                   found ? "more than one" : "no", name);
}

lcdc_status lc_spark_layout_find(enum lc_sql_source source, const struct lc_field *result,
                                 const struct lc_field *images, size_t n_table, struct lc_arena *arena,
                                 struct lc_spark_layout *out, lcdc_error **err)
{
    struct lc_spark_layout layout = {.result = result,
                                     .images = images,
                                     .op = LC_NO_COLUMN,
                                     .commit = LC_NO_COLUMN,
                                     .ts = LC_NO_COLUMN,
                                     .metadata = LC_NO_COLUMN};
    size_t n_data = result->n_children;
    if (source != LC_SQL_STATE)
        LC_TRY(find_added(source, result, &layout, &n_data, err));
    if (source == LC_SQL_NATIVE && n_data == n_table + 1 && is_named(result, n_data - 1, "_metadata"))
        layout.metadata = (int)--n_data;
    layout.columns = lc_arena_array(arena, images->n_children, sizeof(*layout.columns));
    LC_TRY_ALLOC(layout.columns);
    for (size_t i = 0; i < images->n_children; i++) {
        bool in_place = n_data == images->n_children && is_named(result, i, images->children[i].name);
        layout.columns[i] = i;
        if (!in_place)
            LC_TRY(find_image(result, n_data, images->children[i].name, &layout.columns[i], err));
    }
    *out = layout;
    return LCDC_OK;
}

/* ---- images ---- */

/* The engine gives a column in the type that it has there; the images have it as it is at the end of the range. */
static lcdc_status convert(const struct lc_field *from, const struct lc_field *to, struct ArrowArray *array,
                           lcdc_error **err)
{
    LC_ARRAY struct ArrowArray converted = {0};
    struct lc_field named = *from;
    named.name = to->name;
    named.id = to->id;
    if (lc_field_fingerprint(&named) == lc_field_fingerprint(to))
        return LCDC_OK;
    LC_TRY(lc_arrow_cast(from, array, to, &converted, err));
    lc_array_release(array);
    lc_array_move(&converted, array);
    return LCDC_OK;
}

lcdc_status lc_spark_layout_images(const struct lc_spark_layout *layout, struct ArrowArray *batch,
                                   struct ArrowArray *out, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray images = {0};
    LC_TRY(lc_array_project(batch, layout->images->n_children, layout->columns, &images, err));
    for (size_t i = 0; i < layout->images->n_children; i++)
        LC_TRY(convert(&layout->result->children[layout->columns[i]], &layout->images->children[i], images.children[i],
                       err));
    lc_array_move(&images, out);
    return LCDC_OK;
}

/* ---- what the engine adds ---- */

lcdc_status lc_spark_layout_op(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row,
                               lcdc_op *out, lcdc_error **err)
{
    if (layout->op == LC_NO_COLUMN) {
        *out = LCDC_OP_INSERT;
        return LCDC_OK;
    }
    const struct ArrowArray *column = batch->children[layout->op];
    if (lc_array_is_null(column, row))
        return lc_fail(err, LC_R_UNKNOWN_OP, "a change row of the server has no change type");
    struct lc_str word = lc_array_str(column, LC_TYPE_STRING, 0, row);
    return lcdc_op_parse(word.p, word.n, out, err);
}

static bool integer_at(const struct lc_field *field, const struct ArrowArray *column, int64_t row, int64_t *out)
{
    struct lc_value value;
    if (lc_array_is_null(column, row))
        return false;
    if (field->type.kind == LC_TYPE_STRING)
        return lc_parse_i64(lc_array_str(column, LC_TYPE_STRING, 0, row), out);
    lc_array_value(column, field->type, row, &value);
    *out = value.i;
    return true;
}

lcdc_status lc_spark_layout_commit(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row,
                                   int64_t *out, lcdc_error **err)
{
    const struct lc_field *field = &layout->result->children[layout->commit];
    if (integer_at(field, batch->children[layout->commit], row, out))
        return LCDC_OK;
    return lc_fail(err, LC_R_SPARK_PROTOCOL, "a change row of the server has a %s that is no number", field->name);
}

bool lc_spark_layout_ts(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row, int64_t *out)
{
    if (layout->ts == LC_NO_COLUMN)
        return false;
    const struct lc_field *field = &layout->result->children[layout->ts];
    return (field->type.kind == LC_TYPE_TIMESTAMP_TZ || field->type.kind == LC_TYPE_TIMESTAMP) &&
           integer_at(field, batch->children[layout->ts], row, out);
}

bool lc_spark_layout_row_id(const struct lc_spark_layout *layout, const struct ArrowArray *batch, int64_t row,
                            int64_t *out)
{
    if (layout->metadata == LC_NO_COLUMN)
        return false;
    const struct lc_field *field = &layout->result->children[layout->metadata];
    const struct ArrowArray *column = batch->children[layout->metadata];
    if (field->type.kind != LC_TYPE_STRUCT || lc_array_is_null(column, row))
        return false;
    for (size_t i = 0; i < field->n_children; i++)
        if (strcmp(field->children[i].name, "row_id") == 0 && is_integer(&field->children[i]))
            return integer_at(&field->children[i], column->children[i], column->offset + row, out);
    return false;
}
