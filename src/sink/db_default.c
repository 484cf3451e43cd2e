/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db_default.c - a column that comes with a value for the rows that were there before it.
 *
 * The table's older files lack such a column and are read as if they held the value (Iceberg's initial-default). No
 * commit tells of that, so the target's rows are given it when the column is added. The value is made into an array of
 * one row, since that is what both sinks can write.
 */
#include "sink/db.h"

#include <string.h>

/* Of a target that windows were delivered to: rows of a first snapshot, or of others, have their own values. */
static bool wants_default(const struct lc_db_target *target, const struct lc_db_column *column,
                          const struct lc_db_state *state)
{
    return target->mode == LC_DB_UPSERT && state->cursor && column->field && column->field->initial_default &&
           !column->field->initial_default->is_null;
}

bool lc_db_default_row(const struct lc_db_target *target, const struct lc_db_column *column,
                       const struct lc_db_state *state, struct lc_db_one *out)
{
    if (!wants_default(target, column, state))
        return false;
    const struct lc_value *value = column->field->initial_default;
    *out = (struct lc_db_one){.array = {.length = 1, .n_buffers = 2, .buffers = out->buffers}};
    switch (column->field->type.kind) {
    case LC_TYPE_BOOL:
        out->cell.i8 = value->b;
        break;
    case LC_TYPE_INT8:
        out->cell.i8 = (int8_t)value->i;
        break;
    case LC_TYPE_INT16:
        out->cell.i16 = (int16_t)value->i;
        break;
    case LC_TYPE_INT32:
    case LC_TYPE_DATE:
        out->cell.i32 = (int32_t)value->i;
        break;
    case LC_TYPE_FLOAT:
        out->cell.f32 = (float)value->f;
        break;
    case LC_TYPE_DOUBLE:
        out->cell.f64 = value->f;
        break;
    case LC_TYPE_DECIMAL:
        out->cell.dec = value->dec;
        break;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
        out->offsets[1] = (int32_t)value->str.n;
        out->buffers[1] = out->offsets;
        out->buffers[2] = value->str.p;
        out->array.n_buffers = 3;
        return true;
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        out->buffers[1] = value->str.p;
        return true;
    case LC_TYPE_INT64:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        out->cell.i64 = value->i;
        break;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return false; /* Iceberg has none but null for them */
    }
    out->buffers[1] = &out->cell;
    return true;
}

void lc_db_fill_column(struct lc_buf *sql, const struct lc_db_target *target, const struct lc_db_column *column,
                       struct lc_str value)
{
    lc_buf_text(sql, "UPDATE ");
    lc_db_target_name(sql, target);
    lc_buf_text(sql, " SET ");
    lc_db_name(sql, column->name);
    lc_buf_text(sql, " = ");
    lc_buf_append(sql, value.p, value.n);
}
