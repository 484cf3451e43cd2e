/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "sync/state.h"

static lcdc_status failed(const char *path, const char *doing, int error, lcdc_error **err)
{
    char text[256];
    return lc_fail(err, LC_R_LEDGER_FAILED, "%s: %s: %s", path, doing, strerror_r(error, text, sizeof(text)));
}

static lcdc_status in_use(const char *path, int fd, lcdc_error **err)
{
    char holder[512] = "";
    ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);
    holder[n > 0 ? n : 0] = 0;
    holder[strcspn(holder, "\n")] = 0;
    for (char *p = holder; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7F)
            *p = '?';
    return lc_fail(err, LC_R_LEDGER_IN_USE, "the ledger is in use by %s (%s); stop that process first",
                   *holder ? holder : "another process", path);
}

static lcdc_status sign(const char *path, int fd, lcdc_error **err)
{
    char host[256] = "";
    LC_BUF struct lc_buf text = {.max = 1024};
    if (gethostname(host, sizeof(host) - 1) != 0 || !*host)
        memcpy(host, "unknown", sizeof("unknown"));
    lc_buf_printf(&text, "process %ld on host %s since ", (long)getpid(), host);
    lc_print_timestamp(&text, lc_now_us(), 6, true);
    lc_buf_char(&text, '\n');
    LC_TRY_BUF(&text);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text.p, text.n, 0) != (ssize_t)text.n)
        return failed(path, "cannot be written", errno, err);
    return LCDC_OK;
}

lcdc_status lc_lock_take(const char *path, int *out_fd, lcdc_error **err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed(path, "cannot be opened", errno, err);
    lcdc_status status;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        status = errno == EWOULDBLOCK ? in_use(path, fd, err) : failed(path, "cannot be locked", errno, err);
    else
        status = sign(path, fd, err);
    if (status != LCDC_OK)
        (void)close(fd);
    else
        *out_fd = fd;
    return status;
}
