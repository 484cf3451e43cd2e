/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonl.c - one JSON object a line, in the lossless encoding of text.c.
 */
#include "write/format.h"
#include "write/text.h"

static lcdc_status write_batch(struct lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    for (int64_t i = 0; i < batch->length; i++) {
        for (size_t c = 0; c < LCDC_COLS; c++) {
            const struct lc_field *column = &writer->row.children[c];
            lc_buf_char(&writer->out, c ? ',' : '{');
            lc_text_key(&writer->out, column->name);
            lc_text_json(&writer->out, column, batch->children[c], batch->offset + i);
        }
        lc_buf_text(&writer->out, "}\n");
        LC_TRY(lc_writer_drain(writer, err));
    }
    return LCDC_OK;
}

const struct lc_format lc_format_jsonl = {.name = "jsonl", .batch = write_batch};
