/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.c - a storage layer for tests: from one operation on, nothing works any more.
 *
 * A test repeats a run with fail_at = 0, 1, 2 ... until it succeeds, and so meets every place where storage can fail.
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "io/storage.h"

struct fault {
    struct lc_storage base;
    struct lc_storage *below;
    int64_t fail_at;
    _Atomic int64_t done;
};

struct fault_file {
    struct lc_file base;
    struct lc_file *below;
};

static lcdc_status pass(struct lc_storage *self, const char *operation, lcdc_error **err)
{
    struct fault *fault = (struct fault *)self;
    int64_t number = atomic_fetch_add_explicit(&fault->done, 1, memory_order_relaxed);
    if (number < fault->fail_at)
        return LCDC_OK;
    return lc_fail(err, LC_R_IO_FAILED, "operation %" PRId64 " (%s) meets the fault that the test asked for", number,
                   operation);
}

static lcdc_status fault_list(struct lc_storage *self, const char *folder, struct lc_listing *out, lcdc_error **err)
{
    LC_TRY(pass(self, "list", err));
    return lc_storage_list(((struct fault *)self)->below, folder, out, err);
}

static lcdc_status fault_stat(struct lc_storage *self, const char *path, struct lc_file_info *out, lcdc_error **err)
{
    LC_TRY(pass(self, "stat", err));
    return lc_storage_stat(((struct fault *)self)->below, path, out, err);
}

static lcdc_status fault_open(struct lc_storage *self, const char *path, struct lc_file **out, lcdc_error **err)
{
    LC_TRY(pass(self, "open", err));
    LC_FREE struct fault_file *file = lc_calloc(1, sizeof(*file));
    LC_TRY_ALLOC(file);
    file->base.storage = self;
    LC_TRY(lc_storage_open(((struct fault *)self)->below, path, &file->below, err));
    *out = &lc_steal(file)->base;
    return LCDC_OK;
}

static int64_t fault_size(struct lc_file *file)
{
    return lc_file_size(((struct fault_file *)file)->below);
}

static lcdc_status fault_read_at(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err)
{
    LC_TRY(pass(file->storage, "read", err));
    return lc_file_read_at(((struct fault_file *)file)->below, offset, n, out, err);
}

static void fault_close(struct lc_file *file)
{
    lc_file_close(((struct fault_file *)file)->below);
    lc_free(file);
}

static void fault_release(struct lc_storage *self)
{
    lc_storage_free(((struct fault *)self)->below);
    lc_free(self);
}

static const struct lc_storage_ops fault_ops = {
    .name = "fault",
    .list = fault_list,
    .stat = fault_stat,
    .open = fault_open,
    .size = fault_size,
    .read_at = fault_read_at,
    .close = fault_close,
    .release = fault_release,
};

lcdc_status lc_storage_fault(struct lc_storage *take_below, int64_t fail_at, struct lc_storage **out, lcdc_error **err)
{
    struct fault *made = lc_calloc(1, sizeof(*made));
    if (!made) {
        lc_storage_free(take_below);
        return lc_fail_oom(err);
    }
    made->base.ops = &fault_ops;
    made->below = take_below;
    made->fail_at = fail_at;
    *out = &made->base;
    return LCDC_OK;
}
