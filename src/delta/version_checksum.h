/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version_checksum.h - protocol and metadata of a version out of its checksum file (`_delta_log/<version>.crc`), so
 * that the log before it need not be read.
 *
 * The file is optional and no part of the log: it may be missing, damaged, or left over from a log that was written
 * anew. It counts only when it is whole and names the transaction that its version's commit names; otherwise it is as
 * if it were not there, and the log itself tells.
 */
#ifndef LC_DELTA_VERSION_CHECKSUM_H
#define LC_DELTA_VERSION_CHECKSUM_H

#include "delta/table.h"

/**
 * The state at the newest version from `least` to `version` whose checksum file counts; texts live in `arena`. *found
 * false: there is none, `out` is untouched. Fails only when memory is short or the read is cancelled.
 */
lcdc_status lc_delta_version_checksum_read(struct lc_delta_log *log, int64_t least, int64_t version,
                                           struct lc_arena *arena, struct lc_delta_state *out, bool *found,
                                           lcdc_error **err);

#endif
