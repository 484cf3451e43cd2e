/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - change rows as text or bytes: jsonl, csv, table, arrow (IPC stream), parquet.
 *
 * JSONL is lossless: docs/change-row.md gives the encoding of every type. The bytes go to a callback, so that a file,
 * a pipe or a socket can take them.
 */
#ifndef LAKECDC_WRITER_H
#define LAKECDC_WRITER_H

#include "arrow_c.h"
#include "base.h"
#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lcdc_writer lcdc_writer;

/** Takes `n` bytes; returns 0, or an errno value that ends the write with LCDC_IO. Must not throw or longjmp. */
typedef int (*lcdc_write_fn)(void *context, const void *bytes, size_t n);

/** Shape of text output. Set to zero for the defaults. */
typedef struct lcdc_writer_options {
    bool color;       /**< table: ANSI colours, before -> after shown as a diff */
    int32_t width;    /**< table: columns of the terminal; 0 = unlimited */
    int64_t max_rows; /**< table: rows measured before the column widths are fixed; 0 = 1000 */
} lcdc_writer_options;

/**
 * Starts writing rows of `schema` (borrowed for the call) as `format`: "table", "jsonl", "csv", "arrow" or "parquet".
 * The schema is a change row's (change.h). Nothing reaches the callback before the first row or finish.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_writer_new(const char *format, const struct ArrowSchema *schema,
                                                      const lcdc_writer_options *options, lcdc_write_fn write,
                                                      void *context, lcdc_writer **out, lcdc_error **err);

/** Writes one batch; borrowed for the call. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_writer_batch(lcdc_writer *writer, const struct ArrowArray *batch,
                                                        lcdc_error **err);

/**
 * Sends on the rows that are held back, for whoever reads them while more are to come: after it the callback has had
 * every row of a text format. What comes later is laid out as what came before. No use for arrow and parquet, which
 * are whole at their end only.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_writer_flush(lcdc_writer *writer, lcdc_error **err);

/** Writes what is held back and the format's ending. Without it an arrow or parquet output is not complete. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_writer_finish(lcdc_writer *writer, lcdc_error **err);

LCDC_EXPORT void lcdc_writer_free(lcdc_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
