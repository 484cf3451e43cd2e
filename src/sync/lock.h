/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.h - one process a ledger: a lock file that says who holds it.
 *
 * The lock is the kernel's, so that it ends with the process; the text in the file is for people.
 */
#ifndef LC_SYNC_LOCK_H
#define LC_SYNC_LOCK_H

#include "base/error.h"

/** LC_R_LEDGER_IN_USE names pid, host and since when. *out_fd is closed to let go. */
lcdc_status lc_lock_take(const char *path, int *out_fd, lcdc_error **err);

#endif
