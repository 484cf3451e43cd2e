/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db_rows.c - the rows of a batch, one by one: what may be in a window, and how a row is named in a message.
 */
#include "sink/db.h"

#include <inttypes.h>
#include <string.h>

#include "write/text.h"

enum { VALUE_SHOWN = 60 };

static void print_value(struct lc_buf *buf, const struct lc_db_column *column, const struct lc_db_row *row,
                        const struct ArrowArray *array)
{
    struct lc_buf text LC_BUF;
    lc_buf_init(&text, LC_BUF_MAX);
    lc_text_json(&text, column->field, array, row->at);
    if (text.failed)
        return;
    size_t n = text.n > VALUE_SHOWN ? VALUE_SHOWN : text.n;
    while (n && n < text.n && ((unsigned char)text.p[n] & 0xC0) == 0x80)
        n--; /* not within a character */
    lc_buf_append(buf, text.p, n);
    lc_buf_text(buf, n < text.n ? "..." : "");
}

void lc_db_print_row(struct lc_buf *buf, const struct lc_db_target *target, const struct lc_db_row *row)
{
    const struct lc_sink_setup *setup = target->setup;
    for (size_t i = 0; i < setup->n_identity; i++) {
        const struct lc_db_column *column = &target->columns[target->n_own + setup->identity[i]];
        lc_buf_printf(buf, "%s%s=", i ? ", " : "row ", column->name);
        print_value(buf, column, row, row->image->children[setup->identity[i]]);
    }
    if (setup->n_identity == 0)
        lc_buf_text(buf, "a row");
    if (row->has_snapshot)
        lc_buf_printf(buf, ", commit %" PRId64, row->snapshot);
}

lcdc_status lc_db_refuse_value(const struct lc_db_target *target, const struct lc_db_row *row,
                               const struct lc_db_column *column, const char *why, lcdc_error **err)
{
    struct lc_buf at LC_BUF;
    lc_buf_init(&at, LC_BUF_MAX);
    lc_db_print_row(&at, target, row);
    LC_TRY_BUF(&at);
    return lc_fail(err, LC_R_SINK_VALUE, "%.*s: column \"%.*s\" of target %s: %s",
                   LC_STR_ARG(((struct lc_str){at.p, at.n})), LC_STR_ARG(lc_str_of(column->name)), target->shown, why);
}

static lcdc_status check_row(const struct lc_db_target *target, const struct lc_window *window,
                             const struct lc_db_row *row, lcdc_error **err)
{
    const struct lc_sink_setup *setup = target->setup;
    if (window->kind != LC_WINDOW_CHANGES && !lc_db_is_after(row))
        return lc_fail(err, LC_R_INTERNAL, "a whole state has a row with op %s; it may have inserts only",
                       lcdc_op_name(row->op));
    for (size_t i = 0; target->mode == LC_DB_UPSERT && i < setup->n_identity; i++)
        if (setup->images->children[setup->identity[i]].type.kind == LC_TYPE_NULL ||
            lc_array_is_null(row->image->children[setup->identity[i]], row->at))
            return lc_db_refuse_value(target, row, &target->columns[setup->identity[i]],
                                      "null in an identity column does not say which row it is; choose other "
                                      "identity columns, or mode history",
                                      err);
    return LCDC_OK;
}

/* One image of row i. */
static lcdc_status put_image(const struct lc_db_target *target, const struct lc_window *window, struct lc_db_row row,
                             const struct ArrowArray *image, int64_t i, lc_db_put put, void *context, lcdc_error **err)
{
    if (lc_array_is_null(image, i))
        return lc_fail(err, LC_R_INTERNAL, "a row with op %s has no image", lcdc_op_name(row.op));
    row.image = image;
    row.at = image->offset + i;
    LC_TRY(check_row(target, window, &row, err));
    return put(context, &row, err);
}

lcdc_status lc_db_each(const struct lc_db_target *target, const struct lc_window *window, const struct ArrowArray *rows,
                       lc_db_put put, void *context, lcdc_error **err)
{
    const struct ArrowArray *before = rows->children[LCDC_COL_BEFORE], *after = rows->children[LCDC_COL_AFTER];
    const struct ArrowArray *snapshots = rows->children[LCDC_COL_SNAPSHOT], *times = rows->children[LCDC_COL_TS];
    struct lc_value value;
    for (int64_t i = rows->offset; i < rows->offset + rows->length; i++) {
        struct lc_str word = lc_array_str(rows->children[LCDC_COL_OP], LC_TYPE_STRING, 0, i);
        struct lc_db_row row = {.snapshot = window->snapshot, .has_snapshot = window->snapshot != -1};
        row.has_ts = window->ts_us != INT64_MIN;
        row.ts_us = window->ts_us;
        LC_TRY(lcdc_op_parse(word.p, word.n, &row.op, err));
        if (!lc_array_is_null(snapshots, i)) {
            lc_array_value(snapshots, (struct lc_type){.kind = LC_TYPE_INT64}, i, &value);
            row.has_snapshot = true;
            row.snapshot = value.i;
        }
        if (!lc_array_is_null(times, i)) {
            lc_array_value(times, (struct lc_type){.kind = LC_TYPE_TIMESTAMP_TZ}, i, &value);
            row.has_ts = true;
            row.ts_us = value.i;
        }
        bool is_both = row.op == LCDC_OP_UPDATE;
        if (is_both || !lc_db_is_after(&row)) {
            row.op = is_both ? LCDC_OP_UPDATE_BEFORE : row.op;
            LC_TRY(put_image(target, window, row, before, i, put, context, err));
        }
        if (is_both || lc_db_is_after(&row)) {
            row.op = is_both ? LCDC_OP_UPDATE_AFTER : row.op;
            LC_TRY(put_image(target, window, row, after, i, put, context, err));
        }
    }
    return LCDC_OK;
}
