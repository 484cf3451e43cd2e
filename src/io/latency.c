/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency.c - a storage layer for tests and trials: a distant store out of a near one.
 *
 * Every request waits first, as one to an object store does; opening a file of a known size is none. Stores list a
 * thousand names a request, so a long listing waits for each thousand.
 */
#include <time.h>

#include "io/storage.h"

enum { PAGE = 1000, MS_PER_S = 1000, NS_PER_MS = 1000000 };

struct latency {
    struct lc_storage base;
    struct lc_storage *below;
    int64_t ms;
};

struct latency_file {
    struct lc_file base;
    struct lc_file *below;
    int64_t size;
};

static void wait_for(const struct lc_storage *self, int64_t requests)
{
    int64_t ms = ((const struct latency *)self)->ms * requests;
    struct timespec left = {.tv_sec = ms / MS_PER_S, .tv_nsec = ms % MS_PER_S * NS_PER_MS};
    while (nanosleep(&left, &left) != 0)
        continue;
}

static lcdc_status latency_list(struct lc_storage *self, const char *folder, struct lc_listing *out, lcdc_error **err)
{
    lcdc_status status = lc_storage_list(((struct latency *)self)->below, folder, out, err);
    wait_for(self, status == LCDC_OK ? 1 + ((int64_t)out->n - (out->n > 0)) / PAGE : 1);
    return status;
}

static lcdc_status latency_stat(struct lc_storage *self, const char *path, struct lc_file_info *out, lcdc_error **err)
{
    wait_for(self, 1);
    return lc_storage_stat(((struct latency *)self)->below, path, out, err);
}

/* A size that is known is believed, as a store would that is never asked. */
static lcdc_status latency_open_sized(struct lc_storage *self, const char *path, int64_t size, struct lc_file **out,
                                      lcdc_error **err)
{
    LC_FREE struct latency_file *file = lc_calloc(1, sizeof(*file));
    LC_TRY_ALLOC(file);
    file->base.storage = self;
    if (size < 0)
        wait_for(self, 1);
    LC_TRY(lc_storage_open(((struct latency *)self)->below, path, &file->below, err));
    file->size = size < 0 ? lc_file_size(file->below) : size;
    *out = &lc_steal(file)->base;
    return LCDC_OK;
}

static lcdc_status latency_open(struct lc_storage *self, const char *path, struct lc_file **out, lcdc_error **err)
{
    return latency_open_sized(self, path, -1, out, err);
}

static int64_t latency_size(struct lc_file *file)
{
    return ((struct latency_file *)file)->size;
}

static lcdc_status latency_read_at(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err)
{
    wait_for(file->storage, 1);
    return lc_file_read_at(((struct latency_file *)file)->below, offset, n, out, err);
}

static void latency_close(struct lc_file *file)
{
    lc_file_close(((struct latency_file *)file)->below);
    lc_free(file);
}

static void latency_release(struct lc_storage *self)
{
    lc_storage_free(((struct latency *)self)->below);
    lc_free(self);
}

static bool latency_is_remote(struct lc_storage *self, const char *path)
{
    (void)self;
    (void)path;
    return true;
}

static const struct lc_storage_ops latency_ops = {
    .name = "latency",
    .list = latency_list,
    .stat = latency_stat,
    .open = latency_open,
    .size = latency_size,
    .read_at = latency_read_at,
    .close = latency_close,
    .release = latency_release,
    .open_sized = latency_open_sized,
    .is_remote = latency_is_remote,
};

lcdc_status lc_storage_latency(struct lc_storage *take_below, int64_t ms, struct lc_storage **out, lcdc_error **err)
{
    struct latency *made = lc_calloc(1, sizeof(*made));
    if (!made) {
        lc_storage_free(take_below);
        return lc_fail_oom(err);
    }
    *made = (struct latency){.base = {&latency_ops}, .below = take_below, .ms = ms};
    *out = &made->base;
    return LCDC_OK;
}
