/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - a gzip file, already in memory, out of its compression.
 */
#ifndef LC_IO_GZIP_H
#define LC_IO_GZIP_H

#include "base/error.h"
#include "base/str.h"

/** True when the bytes begin as every gzip file does, whatever the file is called. */
bool lc_is_gzip(struct lc_str bytes);

/** Unpacks all members, at most `max` bytes (LC_R_LIMIT); appended, terminated. LC_R_GZIP_BAD for a damaged stream. */
lcdc_status lc_gunzip(struct lc_str packed, size_t max, struct lc_buf *out, lcdc_error **err);

#endif
