/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - an archive on a storage: its commits by name, their manifests, and whether their files are what they were.
 */
#ifndef LC_ARCHIVE_FILES_H
#define LC_ARCHIVE_FILES_H

#include "io/archive_files.h"
#include "io/storage.h"

struct lc_archive {
    struct lc_storage *storage;
    struct lc_meter meter;
    char *root;
    size_t n, cap;
    struct lc_archive_name *names; /* by sequence number, without gaps */
};

/** LC_R_ARCHIVE_MISSING when there is none. */
lcdc_status lc_archive_open(const char *location, struct lc_archive **out, lcdc_error **err);
void lc_archive_close(struct lc_archive *archive);
LC_DEFINE_CLEANUP(struct lc_archive *, lc_archive_close)

/** Reads archive.json; each read does, since an archive may be removed and made anew under the same name. */
lcdc_status lc_archive_head(struct lc_archive *archive, struct lc_arena *arena, struct lc_archive_head *out,
                            lcdc_error **err);

/** A text, appended, that is another one after each commit, replacement or re-creation. Refreshes the list. */
lcdc_status lc_archive_tip(struct lc_archive *archive, struct lc_buf *out, lcdc_error **err);

/** Brings the list of commits up to date. Groups that were full are not read again. */
lcdc_status lc_archive_refresh(struct lc_archive *archive, lcdc_error **err);

/** The manifest of a commit, held against its name. Errors name the file. */
lcdc_status lc_archive_manifest(struct lc_archive *archive, const struct lc_archive_name *name, struct lc_arena *arena,
                                struct lc_archive_manifest *out, lcdc_error **err);

/** Where a part lies; NULL when memory is short. */
char *lc_archive_part_path(const struct lc_archive *archive, const struct lc_archive_manifest *manifest, size_t part);

/** The part is there and has its size; nothing of it is read. */
lcdc_status lc_archive_check_part(struct lc_archive *archive, const struct lc_archive_manifest *manifest, size_t part,
                                  lcdc_error **err);
/** Its bytes are those that were written. Reads all of them. */
lcdc_status lc_archive_check_bytes(struct lc_archive *archive, const struct lc_archive_manifest *manifest, size_t part,
                                   const _Atomic int *cancelled, lcdc_error **err);

#endif
