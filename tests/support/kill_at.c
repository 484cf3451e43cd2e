/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_at.c - ends the process that has it preloaded with SIGKILL before the KILL_AT-th call by which it leaves
 * something behind: bytes in a file, on the disk, on a connection, a name that changed. What a crash can leave is what
 * stands between two of these calls, so every crash there is can be had by counting up.
 *
 *   cc -shared -fPIC -o kill_at.so kill_at.c;  KILL_AT=7 LD_PRELOAD=./kill_at.so program
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void count(void)
{
    static atomic_long calls;
    const char *at = getenv("KILL_AT");
    if (at && ++calls == atol(at))
        (void)kill(getpid(), SIGKILL);
}

/* Output is no trace, and neither is a byte that one thread sends another. */
#define POINT(type, name, parameters, arguments, counts)                                                               \
    type name parameters                                                                                               \
    {                                                                                                                  \
        type(*next) parameters;                                                                                        \
        void *found = dlsym(RTLD_NEXT, #name);                                                                         \
        memcpy(&next, &found, sizeof(next));                                                                           \
        if (counts)                                                                                                    \
            count();                                                                                                   \
        return next arguments;                                                                                         \
    }

POINT(ssize_t, write, (int fd, const void *bytes, size_t n), (fd, bytes, n), fd > 2 && n > 8)
POINT(ssize_t, pwrite, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at), 1)
POINT(ssize_t, pwrite64, (int fd, const void *bytes, size_t n, off64_t at), (fd, bytes, n, at), 1)
POINT(int, fsync, (int fd), (fd), 1)
POINT(int, fdatasync, (int fd), (fd), 1)
POINT(int, ftruncate, (int fd, off_t n), (fd, n), 1)
POINT(int, ftruncate64, (int fd, off64_t n), (fd, n), 1)
POINT(int, rename, (const char *from, const char *to), (from, to), 1)
POINT(int, unlink, (const char *path), (path), 1)
POINT(ssize_t, send, (int fd, const void *bytes, size_t n, int flags), (fd, bytes, n, flags), 1)
POINT(ssize_t, recv, (int fd, void *bytes, size_t n, int flags), (fd, bytes, n, flags), 1)
