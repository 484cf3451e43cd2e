/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - commits of an archive as one change stream, and its state at a commit.
 *
 * A state is not stored but put together: the last whole state before it and the net of the changes since. A whole
 * state in the middle (a table that is delivered as a whole each time) is a commit like any other: what it replaced
 * leaves, what it holds comes, and what is in both did not change.
 */
#ifndef LC_ARCHIVE_STREAM_H
#define LC_ARCHIVE_STREAM_H

#include "archive/files.h"
#include "core/backend.h"

/** What streams of one read share; borrowed for their life. */
struct lc_archive_view {
    struct lc_archive *archive;
    const struct lc_field *schema; /* STRUCT: every column at the end of the range */
    const struct lc_shape *shape;
};

/** Commits [begin, end). */
lcdc_status lc_archive_changes(const struct lc_archive_view *view, size_t begin, size_t end,
                               struct lc_change_stream **out, lcdc_error **err);
/** The rows after commit `at`, as inserts; LC_R_ARCHIVE_NO_STATE. */
lcdc_status lc_archive_state(const struct lc_archive_view *view, size_t at, struct lc_change_stream **out,
                             lcdc_error **err);

/** What lc_archive_changes() needs of commit `at` is there: its files, and those of what it replaces. */
lcdc_status lc_archive_check(const struct lc_archive_view *view, size_t at, lcdc_error **err);

#endif
