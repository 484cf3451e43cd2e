/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

lcdc_status lc_sink_io_error(const char *path, const char *doing, int error, lcdc_error **err)
{
    char text[256];
    return lc_fail(err, LC_R_IO_FAILED, "%s: %s: %s", path, doing, strerror_r(error, text, sizeof(text)));
}

int lc_sink_write_all(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n) {
        ssize_t written = write(fd, p, n);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            p += written;
            n -= (size_t)written;
        }
    }
    return 0;
}

/* ---- one file ---- */

static char *with_suffix(const char *path, const char *suffix)
{
    struct lc_buf text;
    lc_buf_init(&text, 1 << 16);
    lc_buf_text(&text, path);
    lc_buf_text(&text, suffix);
    return lc_buf_take(&text);
}

static void forget(struct lc_sink_file *file)
{
    if (file->is_open)
        (void)close(file->fd);
    lc_free(file->path);
    lc_free(file->partial);
    lc_checksum_free(file->sum);
    *file = (struct lc_sink_file){0};
}

lcdc_status lc_sink_file_create(const char *path, bool summed, struct lc_sink_file *out, lcdc_error **err)
{
    struct lc_sink_file file = {.path = lc_strdup(path), .partial = with_suffix(path, ".partial")};
    if (summed)
        file.sum = lc_checksum_new();
    if (!file.path || !file.partial || (summed && !file.sum)) {
        forget(&file);
        return lc_fail_oom(err);
    }
    file.fd = open(file.partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file.fd < 0) {
        int error = errno;
        forget(&file);
        return lc_sink_io_error(path, "cannot be written", error, err);
    }
    file.is_open = true;
    *out = file;
    return LCDC_OK;
}

int lc_sink_file_write(void *context, const void *bytes, size_t n)
{
    struct lc_sink_file *file = context;
    if (!file->error)
        file->error = lc_sink_write_all(file->fd, bytes, n);
    if (file->error)
        return file->error;
    file->bytes += (int64_t)n;
    if (file->sum)
        lc_checksum_add(file->sum, bytes, n);
    return 0;
}

lcdc_status lc_sink_file_sync(struct lc_sink_file *file, lcdc_error **err)
{
    if (!file->error && fsync(file->fd) != 0)
        file->error = errno;
    return file->error ? lc_sink_io_error(file->path, "cannot be written", file->error, err) : LCDC_OK;
}

static lcdc_status sync_parent(const char *path, lcdc_error **err)
{
    const char *slash = strrchr(path, '/');
    LC_FREE char *folder = lc_strndup(path, slash && slash > path ? (size_t)(slash - path) : 1);
    LC_TRY_ALLOC(folder);
    return lc_sink_sync_folder(folder, err);
}

lcdc_status lc_sink_file_keep(struct lc_sink_file *file, lcdc_error **err)
{
    LC_TRY(lc_sink_file_sync(file, err));
    file->is_open = false;
    if (close(file->fd) != 0) /* a network file system tells of a full disk here */
        return lc_sink_io_error(file->path, "cannot be written", errno, err);
    if (rename(file->partial, file->path) != 0)
        return lc_sink_io_error(file->path, "cannot be replaced", errno, err);
    lcdc_status status = sync_parent(file->path, err);
    forget(file);
    return status;
}

void lc_sink_file_drop(struct lc_sink_file *file)
{
    if (file->partial)
        (void)unlink(file->partial);
    forget(file);
}

/* ---- small files and folders ---- */

lcdc_status lc_sink_write_whole(const char *path, const void *bytes, size_t n, lcdc_error **err)
{
    struct lc_sink_file file = {0};
    LC_TRY(lc_sink_file_create(path, false, &file, err));
    (void)lc_sink_file_write(&file, bytes, n); /* keep() tells of what went wrong */
    lcdc_status status = lc_sink_file_keep(&file, err);
    lc_sink_file_drop(&file);
    return status;
}

static lcdc_status read_all(int fd, const char *path, size_t max, struct lc_buf *out, lcdc_error **err)
{
    char block[8192];
    size_t before = out->n;
    for (;;) {
        ssize_t n = read(fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lc_sink_io_error(path, "cannot be read", errno, err);
        if (n == 0)
            break;
        lc_buf_append(out, block, (size_t)n);
        if (out->n - before > max)
            return lc_fail(err, LC_R_LIMIT, "%s has more than the %zu bytes that are read at once", path, max);
    }
    LC_TRY_BUF(out);
    return LCDC_OK;
}

lcdc_status lc_sink_read_whole(const char *path, size_t max, struct lc_buf *out, bool *found, lcdc_error **err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *found = fd >= 0;
    if (fd < 0)
        return errno == ENOENT ? LCDC_OK : lc_sink_io_error(path, "cannot be read", errno, err);
    lcdc_status status = read_all(fd, path, max, out, err);
    (void)close(fd);
    return status;
}

lcdc_status lc_sink_make_folder(const char *path, lcdc_error **err)
{
    if (mkdir(path, 0777) == 0)
        return sync_parent(path, err);
    int error = errno;
    struct stat info;
    if (error == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return LCDC_OK;
    return lc_sink_io_error(path, "the folder cannot be made", error == EEXIST ? ENOTDIR : error, err);
}

lcdc_status lc_sink_sync_folder(const char *path, lcdc_error **err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return lc_sink_io_error(path, "the folder cannot be opened", errno, err);
    int error = fsync(fd) != 0 && errno != EINVAL ? errno : 0; /* EINVAL: a file system that has no need of it */
    (void)close(fd);
    return error ? lc_sink_io_error(path, "the folder cannot be written", error, err) : LCDC_OK;
}

/* ---- settings ---- */

lcdc_status lc_sink_local_path(const char *sink, const char *text, char **out, bool *is_folder, lcdc_error **err)
{
    struct lc_buf path;
    struct stat info;
    size_t n = strlen(text);
    bool slash = n > 1 && text[n - 1] == '/';
    if (n == 0)
        return lc_fail(err, LC_R_OPTION_VALUE, "%s: path is empty, expected a local path", sink);
    if (strstr(text, "://"))
        return lc_fail(err, LC_R_OPTION_VALUE, "%s: path is '%.200s', expected a local path: this sink writes files",
                       sink, text);
    while (n > 1 && text[n - 1] == '/')
        n--;
    lc_buf_init(&path, 1 << 14);
    if (text[0] != '/') {
        char folder[4096];
        if (!getcwd(folder, sizeof(folder)))
            return lc_sink_io_error(text, "the working folder cannot be told", errno, err);
        lc_buf_printf(&path, "%s/", folder);
    }
    lc_buf_append(&path, text, n);
    char *made = lc_buf_take(&path);
    LC_TRY_ALLOC(made);
    if (is_folder)
        *is_folder = slash || (stat(made, &info) == 0 && S_ISDIR(info.st_mode));
    *out = made;
    return LCDC_OK;
}

lcdc_status lc_sink_open_locked(const char *path, int *out_fd, lcdc_error **err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return lc_sink_io_error(path, "cannot be written", errno, err);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        (void)close(fd);
        if (error == EWOULDBLOCK)
            return lc_fail(err, LC_R_SINK_LOCKED, "%s is being written by another process; one may write at a time",
                           path);
        return lc_sink_io_error(path, "cannot be locked", error, err);
    }
    *out_fd = fd;
    return LCDC_OK;
}
