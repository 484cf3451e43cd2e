/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - local files that are either there as a whole or not at all, and what file sinks need around them.
 *
 * A file is written beside its name and moved there once its bytes are on the disk. Every failure is an LC_R_IO_FAILED
 * that names the file, so that a full disk or a read-only folder says so and can be tried again.
 */
#ifndef LC_SINK_FILE_H
#define LC_SINK_FILE_H

#include "base/checksum.h"
#include "base/error.h"
#include "base/str.h"

/** Zeroed before it is created; the calls that end it leave it so. */
struct lc_sink_file {
    bool is_open;
    int fd;
    int error; /* errno of the first write that failed */
    int64_t bytes;
    char *path, *partial;
    struct lc_checksum *sum; /* of the bytes so far; NULL: not wanted */
};

/** Begins `path` as path.partial, which is overwritten when it is there. */
lcdc_status lc_sink_file_create(const char *path, bool summed, struct lc_sink_file *out, lcdc_error **err);
/** An lcdc_write_fn. */
int lc_sink_file_write(void *file, const void *bytes, size_t n);
/** Bytes are on the disk; the file stays under its partial name. */
lcdc_status lc_sink_file_sync(struct lc_sink_file *file, lcdc_error **err);
/** Syncs, moves the file to its name and makes the move last. */
lcdc_status lc_sink_file_keep(struct lc_sink_file *file, lcdc_error **err);
/** Forgets the file; nothing of it is left. */
void lc_sink_file_drop(struct lc_sink_file *file);

/** `bytes` as the whole of `path`, which held something else or nothing before. */
lcdc_status lc_sink_write_whole(const char *path, const void *bytes, size_t n, lcdc_error **err);
/** The whole of a small file, appended; *found false when there is none. */
lcdc_status lc_sink_read_whole(const char *path, size_t max, struct lc_buf *out, bool *found, lcdc_error **err);
/** A folder, whose parent exists; it may be there already. */
lcdc_status lc_sink_make_folder(const char *path, lcdc_error **err);
/** What was created, moved or removed in a folder stays so. */
lcdc_status lc_sink_sync_folder(const char *path, lcdc_error **err);
/** Writes all of it to a descriptor; 0 or an errno. */
int lc_sink_write_all(int fd, const void *bytes, size_t n);

/**
 * The setting `path` as an absolute local path without a slash at its end. `is_folder` (optional): it ended with one,
 * or a folder is there.
 */
lcdc_status lc_sink_local_path(const char *sink, const char *text, char **out, bool *is_folder, lcdc_error **err);

/** Opens (and creates) `path` and takes the lock on it; LC_R_SINK_LOCKED when another process has it. */
lcdc_status lc_sink_open_locked(const char *path, int *out_fd, lcdc_error **err);

/** LC_R_IO_FAILED of an errno: "PATH: DOING: text". */
lcdc_status lc_sink_io_error(const char *path, const char *doing, int error, lcdc_error **err);

#endif
