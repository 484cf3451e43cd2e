/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_ipc.h - Arrow IPC streams in and out.
 */
#ifndef LC_IO_ARROW_IPC_H
#define LC_IO_ARROW_IPC_H

#include "io/parquet.h"

struct lc_ipc_writer;
lcdc_status lc_ipc_writer_open(const struct ArrowSchema *schema, lc_write_fn write, void *context,
                               struct lc_ipc_writer **out, lcdc_error **err);
lcdc_status lc_ipc_writer_batch(struct lc_ipc_writer *writer, const struct ArrowArray *batch, lcdc_error **err);
lcdc_status lc_ipc_writer_finish(struct lc_ipc_writer *writer, lcdc_error **err);
void lc_ipc_writer_close(struct lc_ipc_writer *writer);

/**
 * Reads a complete IPC stream from memory: its schema and its batches (compressed buffers and dictionaries decoded),
 * each fully validated and normalised to the layouts of base/types.def (no large offsets, views or dictionaries; other
 * timestamp units become microseconds; every zone becomes UTC; month intervals and durations are refused as
 * LC_R_TYPE_UNSUPPORTED). `visit` is called once with the schema (batch NULL) and then for each batch; the arguments
 * are borrowed, except that visit may move the batch out. What a hostile sender wrote ends in LC_R_ARROW_BAD.
 */
typedef lcdc_status (*lc_ipc_visit)(void *context, const struct ArrowSchema *schema, struct ArrowArray *batch,
                                    lcdc_error **err);
lcdc_status lc_ipc_read(const void *bytes, size_t n, lc_ipc_visit visit, void *context, lcdc_error **err);
/** The same of bytes that are given away (from lc_alloc; freed with the last batch that points into them): no copy. */
lcdc_status lc_ipc_read_taken(char *take_bytes, size_t n, lc_ipc_visit visit, void *context, lcdc_error **err);

/** Casts one column array to another Arrow type (integer and decimal widening, timestamps); exact or refused. */
lcdc_status lc_arrow_cast(const struct lc_field *from, const struct ArrowArray *array, const struct lc_field *to,
                          struct ArrowArray *out, lcdc_error **err);

#endif
