/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_index.h - the commits of a local archive, by the names of their folders.
 */
#ifndef LC_SINK_ARCHIVE_INDEX_H
#define LC_SINK_ARCHIVE_INDEX_H

#include "base/error.h"
#include "io/archive_files.h"

struct lc_archive_index {
    size_t n, cap;
    struct lc_archive_name *names; /* by sequence number, without gaps */
};

void lc_archive_index_done(struct lc_archive_index *index);
/** Reads root/commits; nothing there is an empty index. LC_R_ARCHIVE_BAD when a commit in the middle is missing. */
lcdc_status lc_archive_index_read(const char *root, struct lc_archive_index *out, lcdc_error **err);
lcdc_status lc_archive_index_add(struct lc_archive_index *index, const struct lc_archive_name *name, lcdc_error **err);

/** root/commits/GROUP/NAME, and root/commits/GROUP; NULL when memory is short. */
char *lc_archive_commit_path(const char *root, const struct lc_archive_name *name);
char *lc_archive_group_path(const char *root, const struct lc_archive_name *name);

/** The manifest in a folder; errors name the file. */
lcdc_status lc_archive_manifest_read(const char *folder, struct lc_arena *arena, struct lc_archive_manifest *out,
                                     lcdc_error **err);

/** Removes a folder and the files in it; a folder that is not there is no error. */
lcdc_status lc_archive_remove_folder(const char *path, lcdc_error **err);

#endif
