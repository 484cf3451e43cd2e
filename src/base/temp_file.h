/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temp_file.h - a file without a name for what does not fit in memory. It is gone when it is closed, or the process is.
 */
#ifndef LC_BASE_TEMP_FILE_H
#define LC_BASE_TEMP_FILE_H

#include "base/error.h"

/** A descriptor, to be closed. In $TMPDIR, else /tmp. */
lcdc_status lc_temp_file_open(int *out, lcdc_error **err);
/** All `n` bytes at offset `at`. @thread any */
lcdc_status lc_temp_file_write(int file, int64_t at, size_t n, const void *bytes, lcdc_error **err);
lcdc_status lc_temp_file_read(int file, int64_t at, size_t n, void *bytes, lcdc_error **err);

#endif
