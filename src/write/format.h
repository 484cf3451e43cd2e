/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - what a format of lakecdc/writer.h is. writer.c calls it in order: begin, batch ..., finish, close.
 *
 * Text formats append to `out`, which writer.c sends on whenever it is full enough; the others write to the callback.
 */
#ifndef LC_WRITE_FORMAT_H
#define LC_WRITE_FORMAT_H

#include "base/arrow.h"
#include "lakecdc/change.h"
#include "lakecdc/writer.h"

struct lc_format {
    const char *name;
    /** Optional: before the first row, or before finish when there is none. Sets `state`. */
    lcdc_status (*begin)(struct lcdc_writer *writer, lcdc_error **err);
    lcdc_status (*batch)(struct lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err);
    /** Optional: puts rows that are held back into `out`. */
    lcdc_status (*flush)(struct lcdc_writer *writer, lcdc_error **err);
    /** Optional. */
    lcdc_status (*finish)(struct lcdc_writer *writer, lcdc_error **err);
    /** Optional: frees `state`, which may be NULL. */
    void (*close)(void *state);
};

struct lcdc_writer {
    const struct lc_format *format;
    void *state;               /* the format's own */
    struct lc_arena arena;     /* owns the fields */
    struct lc_field row;       /* the change row */
    struct ArrowSchema schema; /* a copy */
    lcdc_writer_options options;
    lcdc_write_fn write;
    void *context;
    struct lc_buf out; /* text that was not sent yet */
    bool begun, finished;
};

/** Sends `out` on once it is large enough to be worth it; for formats with long batches. */
lcdc_status lc_writer_drain(struct lcdc_writer *writer, lcdc_error **err);

static inline const struct lc_field *lc_writer_images(const struct lcdc_writer *writer)
{
    return &writer->row.children[LCDC_COL_BEFORE];
}

extern const struct lc_format lc_format_arrow, lc_format_csv, lc_format_jsonl, lc_format_parquet, lc_format_table;

#endif
