/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.c - RFC 4180: a header, one line a change row, every column of both images.
 *
 * An empty field is null; a text that is empty stands as "".
 */
#include <string.h>

#include "write/format.h"
#include "write/text.h"

/* Puts quotes around what was appended since `begin` when it needs them: delimiters, quotes, line ends, or nothing. */
static void quote(struct lc_buf *out, size_t begin)
{
    size_t n = out->n - begin, quotes = 0;
    bool needed = n == 0;
    for (size_t i = begin; i < out->n; i++) {
        quotes += out->p[i] == '"';
        needed |= memchr(",\"\r\n", out->p[i], 4) != NULL;
    }
    if (out->failed || !needed || !lc_buf_reserve(out, quotes + 2))
        return;
    size_t to = out->n + quotes + 2;
    out->p[to] = 0;
    out->p[--to] = '"';
    for (size_t from = out->n; from-- > begin;) { /* backwards, so that nothing is overwritten before it moved */
        out->p[--to] = out->p[from];
        if (out->p[from] == '"')
            out->p[--to] = '"';
    }
    out->p[--to] = '"';
    out->n += quotes + 2;
}

static void put_value(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i)
{
    size_t begin = out->n;
    if (field->type.kind == LC_TYPE_NULL || lc_array_is_null(array, i))
        return;
    lc_text_plain(out, field, array, i);
    quote(out, begin);
}

static lcdc_status write_header(struct lcdc_writer *writer, lcdc_error **err)
{
    struct lc_buf *out = &writer->out;
    const struct lc_field *images = lc_writer_images(writer);
    lc_buf_text(out, "op,snapshot,ts");
    for (size_t side = LCDC_COL_BEFORE; side <= LCDC_COL_AFTER; side++)
        for (size_t c = 0; c < images->n_children; c++) {
            lc_buf_char(out, ',');
            size_t begin = out->n;
            lc_buf_text(out, side == LCDC_COL_BEFORE ? "before." : "after.");
            lc_buf_text(out, images->children[c].name);
            quote(out, begin);
        }
    lc_buf_text(out, "\r\n");
    return lc_writer_drain(writer, err);
}

static void put_image(struct lc_buf *out, const struct lc_field *image, const struct ArrowArray *array, int64_t i)
{
    bool is_null = lc_array_is_null(array, i);
    for (size_t c = 0; c < image->n_children; c++) {
        lc_buf_char(out, ',');
        if (!is_null)
            put_value(out, &image->children[c], array->children[c], array->offset + i);
    }
}

static lcdc_status write_batch(struct lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    static const int plain[] = {LCDC_COL_OP, LCDC_COL_SNAPSHOT, LCDC_COL_TS};
    struct lc_buf *out = &writer->out;
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t row = batch->offset + i;
        for (size_t k = 0; k < sizeof(plain) / sizeof(plain[0]); k++) {
            if (k)
                lc_buf_char(out, ',');
            put_value(out, &writer->row.children[plain[k]], batch->children[plain[k]], row);
        }
        put_image(out, &writer->row.children[LCDC_COL_BEFORE], batch->children[LCDC_COL_BEFORE], row);
        put_image(out, &writer->row.children[LCDC_COL_AFTER], batch->children[LCDC_COL_AFTER], row);
        lc_buf_text(out, "\r\n");
        LC_TRY(lc_writer_drain(writer, err));
    }
    return LCDC_OK;
}

const struct lc_format lc_format_csv = {.name = "csv", .begin = write_header, .batch = write_batch};
