/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.h - a folder with one file per window: the file is there as a whole, or not at all.
 *
 * Its name says which window it is ("20240229T123005.123456Z-7382.arrows"), so a window that is delivered again
 * replaces itself and the names in order are the commits in order.
 */
#ifndef LC_SINK_WINDOWS_H
#define LC_SINK_WINDOWS_H

#include "sink/sink.h"

/** `ops` is what the sink will be called by: it has the functions below. Files are `format`, named *.suffix. */
lcdc_status lc_windows_open(const struct lc_sink_ops *ops, const struct lc_sink_setup *setup, const char *folder,
                            const char *format, const char *suffix, struct lc_sink **out, lcdc_error **err);
lcdc_status lc_windows_begin(struct lc_sink *sink, const struct lc_window *window, lcdc_error **err);
lcdc_status lc_windows_write(struct lc_sink *sink, const struct ArrowArray *rows, lcdc_error **err);
lcdc_status lc_windows_commit(struct lc_sink *sink, const char *cursor, lcdc_error **err);
void lc_windows_abort(struct lc_sink *sink);
void lc_windows_close(struct lc_sink *sink);

#endif
