/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet.c - the "parquet" format: one Parquet file whose rows are change rows.
 */
#include "io/parquet.h"
#include "write/format.h"

static lcdc_status begin(struct lcdc_writer *writer, lcdc_error **err)
{
    struct lc_parquet_writer *file = NULL;
    LC_TRY(lc_parquet_writer_open(&writer->schema, writer->write, writer->context, &file, err));
    writer->state = file;
    return LCDC_OK;
}

static lcdc_status write_batch(struct lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    return lc_parquet_writer_batch(writer->state, batch, err);
}

static lcdc_status finish(struct lcdc_writer *writer, lcdc_error **err)
{
    return lc_parquet_writer_finish(writer->state, err);
}

static void close(void *state)
{
    if (state)
        lc_parquet_writer_close(state);
}

const struct lc_format lc_format_parquet = {
    .name = "parquet", .begin = begin, .batch = write_batch, .finish = finish, .close = close};
