/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - lcdc_writer_*: picks the format, holds the schema against the change row, sends text on in large pieces.
 */
#include <string.h>

#include "write/format.h"

enum { DRAIN_AT = 1 << 16 };

static const struct lc_format *const formats[] = {&lc_format_table, &lc_format_jsonl, &lc_format_csv, &lc_format_arrow,
                                                  &lc_format_parquet};

static const struct lc_format *find_format(const char *name)
{
    for (size_t i = 0; name && i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

static bool is_same_type(const struct lc_field *a, const struct lc_field *b)
{
    bool same = lc_type_equal(a->type, b->type) && a->n_children == b->n_children;
    for (size_t i = 0; same && i < a->n_children; i++)
        same = strcmp(a->children[i].name, b->children[i].name) == 0 && is_same_type(&a->children[i], &b->children[i]);
    return same;
}

static bool is_change_row(const struct lc_field *row)
{
    static const struct {
        const char *name;
        enum lc_type_kind kind;
    } columns[LCDC_COLS] = {[LCDC_COL_OP] = {"op", LC_TYPE_STRING},
                            [LCDC_COL_BEFORE] = {"before", LC_TYPE_STRUCT},
                            [LCDC_COL_AFTER] = {"after", LC_TYPE_STRUCT},
                            [LCDC_COL_SNAPSHOT] = {"snapshot", LC_TYPE_INT64},
                            [LCDC_COL_TS] = {"ts", LC_TYPE_TIMESTAMP_TZ}};
    if (row->type.kind != LC_TYPE_STRUCT || row->n_children != LCDC_COLS)
        return false;
    for (int i = 0; i < LCDC_COLS; i++)
        if (strcmp(row->children[i].name, columns[i].name) != 0 || row->children[i].type.kind != columns[i].kind)
            return false;
    return is_same_type(&row->children[LCDC_COL_BEFORE], &row->children[LCDC_COL_AFTER]);
}

void lcdc_writer_free(lcdc_writer *writer)
{
    if (!writer)
        return;
    if (writer->format->close)
        writer->format->close(writer->state);
    lc_buf_done(&writer->out);
    lc_schema_release(&writer->schema);
    lc_arena_done(&writer->arena);
    lc_free(writer);
}
LC_DEFINE_CLEANUP(lcdc_writer *, lcdc_writer_free)

lcdc_status lcdc_writer_new(const char *format, const struct ArrowSchema *schema, const lcdc_writer_options *options,
                            lcdc_write_fn write, void *context, lcdc_writer **out, lcdc_error **err)
{
    const struct lc_format *found = find_format(format);
    if (!found)
        return lc_fail(err, LC_R_OPTION_VALUE, "format: found '%.100s', expected table, jsonl, csv, arrow or parquet",
                       format ? format : "");
    if (!schema || !write || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "a writer needs a schema and a callback, found NULL");
    lcdc_writer *writer LC_CLEANUP(lcdc_writer_freep) = lc_calloc(1, sizeof(*writer));
    LC_TRY_ALLOC(writer);
    writer->format = found;
    writer->write = write;
    writer->context = context;
    if (options)
        writer->options = *options;
    lc_buf_init(&writer->out, LC_BUF_MAX);
    LC_TRY(lc_field_from_schema(schema, &writer->arena, &writer->row, err));
    if (!is_change_row(&writer->row))
        return lc_fail(err, LC_R_OPTION_VALUE,
                       "the schema is not that of change rows: expected op, before, after, snapshot and ts");
    LC_TRY(lc_schema_copy(schema, &writer->schema, err));
    *out = lc_steal(writer);
    return LCDC_OK;
}

static lcdc_status send(lcdc_writer *writer, lcdc_error **err)
{
    LC_TRY_BUF(&writer->out);
    int error = writer->out.n ? writer->write(writer->context, writer->out.p, writer->out.n) : 0;
    lc_buf_clear(&writer->out);
    if (error) {
        char text[256];
        return lc_fail(err, LC_R_IO_FAILED, "output: %s", strerror_r(error, text, sizeof(text)));
    }
    return LCDC_OK;
}

lcdc_status lc_writer_drain(struct lcdc_writer *writer, lcdc_error **err)
{
    return writer->out.failed || writer->out.n >= DRAIN_AT ? send(writer, err) : LCDC_OK;
}

static lcdc_status begin(lcdc_writer *writer, lcdc_error **err)
{
    if (writer->finished)
        return lc_fail(err, LC_R_OPTION_VALUE, "the writer is finished, it takes no more rows");
    bool first = !writer->begun;
    writer->begun = true;
    return first && writer->format->begin ? writer->format->begin(writer, err) : LCDC_OK;
}

lcdc_status lcdc_writer_batch(lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    if (!writer || !batch || batch->n_children != LCDC_COLS)
        return lc_fail(err, LC_R_OPTION_VALUE, "a writer and a batch of change rows are needed");
    if (batch->length == 0)
        return LCDC_OK;
    LC_TRY(begin(writer, err));
    LC_TRY(writer->format->batch(writer, batch, err));
    return lc_writer_drain(writer, err);
}

lcdc_status lcdc_writer_flush(lcdc_writer *writer, lcdc_error **err)
{
    if (!writer)
        return lc_fail(err, LC_R_OPTION_VALUE, "a writer is needed, found NULL");
    if (!writer->begun || writer->finished)
        return LCDC_OK;
    if (writer->format->flush)
        LC_TRY(writer->format->flush(writer, err));
    return send(writer, err);
}

lcdc_status lcdc_writer_finish(lcdc_writer *writer, lcdc_error **err)
{
    if (!writer)
        return lc_fail(err, LC_R_OPTION_VALUE, "a writer is needed, found NULL");
    LC_TRY(begin(writer, err));
    writer->finished = true;
    if (writer->format->finish)
        LC_TRY(writer->format->finish(writer, err));
    return send(writer, err);
}
