/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.c - the "arrow" format: an Arrow IPC stream of the batches as they come.
 */
#include "io/arrow_ipc.h"
#include "write/format.h"

static lcdc_status begin(struct lcdc_writer *writer, lcdc_error **err)
{
    struct lc_ipc_writer *ipc = NULL;
    LC_TRY(lc_ipc_writer_open(&writer->schema, writer->write, writer->context, &ipc, err));
    writer->state = ipc;
    return LCDC_OK;
}

static lcdc_status write_batch(struct lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    return lc_ipc_writer_batch(writer->state, batch, err);
}

static lcdc_status finish(struct lcdc_writer *writer, lcdc_error **err)
{
    return lc_ipc_writer_finish(writer->state, err);
}

static void close(void *state)
{
    if (state)
        lc_ipc_writer_close(state);
}

const struct lc_format lc_format_arrow = {
    .name = "arrow", .begin = begin, .batch = write_batch, .finish = finish, .close = close};
