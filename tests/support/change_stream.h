/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_stream.h - change streams for tests: one that follows a script, and the text of what a stream hands out.
 */
#ifndef TESTS_SUPPORT_CHANGE_STREAM_H
#define TESTS_SUPPORT_CHANGE_STREAM_H

#include "core/change.h"

/**
 * A batch: `ops` has a letter a row: i, d, b (update_before), a (update_after), capitals in a batch that remakes ids;
 * "!" in its place is a failure (LC_R_IO_FAILED). Rows as for json_rows().
 */
struct lc_script_batch {
    const char *ops, *rows;
    const int64_t *row_ids; /* NULL: none */
    int64_t snapshot;
    bool ends_commit;
};

/** Hands out the batches one by one; everything is borrowed. Each release adds one to *released. */
lcdc_status lc_script_stream(const struct lc_field *columns, size_t n, const struct lc_script_batch *batches,
                             int *released, struct lc_change_stream **out, lcdc_error **err);

/** "i{<1>,<a>} u{<1>,<a>}>{<1>,<b>} |7 ": rows with their ops, and the end of commit 7. Appended. */
void lc_change_batch_text(const struct lc_change_batch *batch, const struct lc_field *columns, struct lc_buf *out);

/** All batches of a stream, each checked against `columns` (lc_array_check); none may be longer than `most`. */
lcdc_status lc_change_stream_text(struct lc_change_stream *stream, const struct lc_field *columns, int64_t most,
                                  struct lc_buf *out, lcdc_error **err);

#endif
