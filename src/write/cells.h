/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - text on a terminal: how wide it is, where to cut it, and nothing in it that a terminal would obey.
 *
 * Width is that of the C library's wcwidth() under a UTF-8 locale, which the caller sets for its thread.
 */
#ifndef LC_WRITE_CELLS_H
#define LC_WRITE_CELLS_H

#include "base/str.h"

/** Appends `text` with control, bidirectional-override and malformed characters made visible. */
void lc_cells_clean(struct lc_buf *out, struct lc_str text);

/** Terminal columns that clean text takes. */
int lc_cells_width(struct lc_str text);

/** The longest beginning of clean text that takes at most `width` columns. */
struct lc_str lc_cells_clip(struct lc_str text, int width);

#endif
