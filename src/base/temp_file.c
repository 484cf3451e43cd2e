/* SPDX-License-Identifier: Apache-2.0 */
#include "base/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

static lcdc_status failed(const char *name, int error, lcdc_error **err)
{
    char text[256];
    return lc_fail(err, LC_R_IO_FAILED, "temporary file%s%s: %s (set TMPDIR to a folder with room)", *name ? " " : "",
                   name, strerror_r(error, text, sizeof(text)));
}

lcdc_status lc_temp_file_open(int *out, lcdc_error **err)
{
    const char *folder = getenv("TMPDIR");
    struct lc_buf path;
    lc_buf_init(&path, 4096);
    lc_buf_printf(&path, "%s/lakecdc-XXXXXX", folder && *folder ? folder : "/tmp");
    LC_FREE char *name = lc_buf_take(&path);
    LC_TRY_ALLOC(name);
    int file = mkostemp(name, O_CLOEXEC);
    if (file < 0)
        return failed(name, errno, err);
    unlink(name);
    *out = file;
    return LCDC_OK;
}

lcdc_status lc_temp_file_write(int file, int64_t at, size_t n, const void *bytes, lcdc_error **err)
{
    const char *p = bytes;
    while (n > 0) {
        ssize_t done = pwrite(file, p, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return failed("", done < 0 ? errno : ENOSPC, err);
        p += done;
        at += done;
        n -= (size_t)done;
    }
    return LCDC_OK;
}

lcdc_status lc_temp_file_read(int file, int64_t at, size_t n, void *bytes, lcdc_error **err)
{
    char *p = bytes;
    while (n > 0) {
        ssize_t done = pread(file, p, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return failed("", done < 0 ? errno : EIO, err);
        p += done;
        at += done;
        n -= (size_t)done;
    }
    return LCDC_OK;
}
