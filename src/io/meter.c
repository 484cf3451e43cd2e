/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meter.c - a storage layer that counts what passes and changes nothing.
 *
 * Operations count when they are asked for, bytes when they have arrived.
 */
#include <stdatomic.h>

#include "io/storage.h"

struct meter {
    struct lc_storage base;
    struct lc_storage *below;
    struct lc_meter *counts;
};

struct meter_file {
    struct lc_file base;
    struct lc_file *below;
};

static void count(_Atomic int64_t *counter, int64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void lc_meter_counts(const struct lc_meter *meter, struct lc_counts *out)
{
    *out = (struct lc_counts){.lists = meter->lists,
                              .stats = meter->stats,
                              .opens = meter->opens,
                              .reads = meter->reads,
                              .bytes = meter->bytes,
                              .requests = meter->requests};
    for (int i = 0; i < LC_NOTES; i++)
        out->notes[i] = meter->notes[i];
}

static lcdc_status meter_list(struct lc_storage *self, const char *folder, struct lc_listing *out, lcdc_error **err)
{
    struct meter *meter = (struct meter *)self;
    count(&meter->counts->lists, 1);
    count(&meter->counts->requests, 1);
    return lc_storage_list(meter->below, folder, out, err);
}

static lcdc_status meter_stat(struct lc_storage *self, const char *path, struct lc_file_info *out, lcdc_error **err)
{
    struct meter *meter = (struct meter *)self;
    count(&meter->counts->stats, 1);
    count(&meter->counts->requests, 1);
    return lc_storage_stat(meter->below, path, out, err);
}

static lcdc_status meter_open_sized(struct lc_storage *self, const char *path, int64_t size, struct lc_file **out,
                                    lcdc_error **err)
{
    struct meter *meter = (struct meter *)self;
    LC_FREE struct meter_file *file = lc_calloc(1, sizeof(*file));
    LC_TRY_ALLOC(file);
    file->base.storage = self;
    count(&meter->counts->opens, 1);
    if (size < 0)
        count(&meter->counts->requests, 1);
    LC_TRY(lc_storage_open_sized(meter->below, path, size, &file->below, err));
    *out = &lc_steal(file)->base;
    return LCDC_OK;
}

static lcdc_status meter_open(struct lc_storage *self, const char *path, struct lc_file **out, lcdc_error **err)
{
    return meter_open_sized(self, path, -1, out, err);
}

static int64_t meter_size(struct lc_file *file)
{
    return lc_file_size(((struct meter_file *)file)->below);
}

static lcdc_status meter_read_at(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err)
{
    struct lc_meter *counts = ((struct meter *)file->storage)->counts;
    count(&counts->reads, 1);
    count(&counts->requests, 1);
    LC_TRY(lc_file_read_at(((struct meter_file *)file)->below, offset, n, out, err));
    count(&counts->bytes, n);
    return LCDC_OK;
}

static void meter_close(struct lc_file *file)
{
    lc_file_close(((struct meter_file *)file)->below);
    lc_free(file);
}

static bool meter_is_remote(struct lc_storage *self, const char *path)
{
    return lc_storage_is_remote(((struct meter *)self)->below, path);
}

static void meter_note(struct lc_storage *self, enum lc_note note, int64_t n)
{
    count(&((struct meter *)self)->counts->notes[note], n);
}

static void meter_release(struct lc_storage *self)
{
    lc_storage_free(((struct meter *)self)->below);
    lc_free(self);
}

static const struct lc_storage_ops meter_ops = {
    .name = "meter",
    .list = meter_list,
    .stat = meter_stat,
    .open = meter_open,
    .size = meter_size,
    .read_at = meter_read_at,
    .close = meter_close,
    .release = meter_release,
    .open_sized = meter_open_sized,
    .is_remote = meter_is_remote,
    .note = meter_note,
};

lcdc_status lc_storage_meter(struct lc_storage *take_below, struct lc_meter *meter, struct lc_storage **out,
                             lcdc_error **err)
{
    struct meter *made = lc_calloc(1, sizeof(*made));
    if (!made) {
        lc_storage_free(take_below);
        return lc_fail_oom(err);
    }
    *made = (struct meter){.base = {&meter_ops}, .below = take_below, .counts = meter};
    *out = &made->base;
    return LCDC_OK;
}
