/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - where the rows go: standard output, held back so that a read which fails early prints nothing, or a file
 * that appears under its name when everything is in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"

enum { HOLD = 16 << 20 };

static lcdc_status failed(const char *path, const char *doing, int error)
{
    char text[256];
    return lc_cli_fail(LCDC_IO, "io.failed", "%s: %s: %s", path, doing, strerror_r(error, text, sizeof(text)));
}

/* ---- opening ---- */

static lcdc_status open_standard(struct lc_cli_output *output)
{
    output->fd = STDOUT_FILENO;
    (void)snprintf(output->path, sizeof(output->path), "standard output");
    void *held = mmap(NULL, HOLD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (held == MAP_FAILED)
        return lc_cli_fail(LCDC_OUT_OF_MEMORY, "out_of_memory", "no memory to hold the output back");
    output->held = held;
    return LCDC_OK;
}

/* A device or pipe is written to where it is; a file is made beside its name and moved there at the end. */
static lcdc_status open_path(struct lc_cli_output *output, const char *path)
{
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.bad_value", "--output: %s is a folder, expected a file name",
                           path);
    char *real = exists && S_ISREG(info.st_mode) ? realpath(path, output->path) : NULL; /* through a link, not over it
                                                                                         */
    if (!real && snprintf(output->path, sizeof(output->path), "%s", path) >= (int)sizeof(output->path))
        return failed("--output", "the name", ENAMETOOLONG);
    output->is_file = !exists || S_ISREG(info.st_mode);
    int n = snprintf(output->partial, sizeof(output->partial), "%s.partial-%ld", output->path, (long)getpid());
    if (n >= (int)sizeof(output->partial))
        return failed("--output", "the name", ENAMETOOLONG);
    if (output->is_file)
        output->fd = open(output->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    else
        output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
    if (output->fd < 0)
        return failed(output->path, "cannot be written", errno);
    output->flows = true;
    return LCDC_OK;
}

lcdc_status lc_cli_output_open(struct lc_cli_output *output, const char *path)
{
    *output = (struct lc_cli_output){.fd = -1};
    return path && strcmp(path, "-") != 0 ? open_path(output, path) : open_standard(output);
}

/* ---- writing ---- */

/* A signal may come in the middle of a write, which is then a short one: it is asked for while bytes are left. */
static int write_all(struct lc_cli_output *output, const char *bytes, size_t n)
{
    while (n && !output->error) {
        ssize_t written = write(output->fd, bytes, n);
        if (written < 0 && errno != EINTR)
            output->error = errno;
        if (written > 0) {
            bytes += written;
            n -= (size_t)written;
        }
        if (n && !output->error && lc_cli_interrupt_signal())
            output->error = EINTR;
    }
    return output->error;
}

int lc_cli_output_write(void *context, const void *bytes, size_t n)
{
    struct lc_cli_output *output = context;
    if (!output->flows && n <= HOLD - output->n) {
        memcpy(output->held + output->n, bytes, n);
        output->n += n;
        return 0;
    }
    output->flows = true;
    int error = write_all(output, output->held, output->n);
    output->n = 0;
    return error ? error : write_all(output, bytes, n);
}

/* ---- the end ---- */

bool lc_cli_output_is_broken(const struct lc_cli_output *output)
{
    return output->error == EPIPE;
}

lcdc_status lc_cli_output_fail(const struct lc_cli_output *output)
{
    return failed(output->path, "cannot be written", output->error);
}

lcdc_status lc_cli_output_commit(struct lc_cli_output *output)
{
    int error = write_all(output, output->held, output->n);
    output->n = 0;
    if (error)
        return error == EPIPE || lc_cli_interrupt_signal() ? LCDC_IO : lc_cli_output_fail(output);
    if (!output->is_file)
        return LCDC_OK;
    error = fsync(output->fd) != 0 ? errno : 0;
    error = close(output->fd) != 0 && !error ? errno : error; /* a network file system tells of a full disk here */
    output->fd = -1;
    if (error)
        return failed(output->path, "cannot be written", error);
    if (rename(output->partial, output->path) != 0)
        return failed(output->path, "cannot be replaced", errno);
    output->partial[0] = 0;
    return LCDC_OK;
}

void lc_cli_output_close(struct lc_cli_output *output)
{
    if (output->is_file && output->partial[0])
        (void)unlink(output->partial);
    if (output->fd > STDERR_FILENO)
        (void)close(output->fd);
    if (output->held)
        (void)munmap(output->held, HOLD);
    *output = (struct lc_cli_output){.fd = -1};
}
