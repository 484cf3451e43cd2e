/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage.c - the only callers of the storage slots, and what every storage shares: sorting, range checks, whole reads.
 *
 * An implementation may trust that the ranges it is asked for lie inside the file. It must not know who asks.
 */
#include "io/storage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void lc_listing_done(struct lc_listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        lc_free(listing->items[i].name);
    lc_free(listing->items);
    *listing = (struct lc_listing){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct lc_file_info *)a)->name, ((const struct lc_file_info *)b)->name);
}

/* Layers hand on what is sorted already, and most stores sort themselves. */
static void sort_listing(struct lc_listing *listing)
{
    for (size_t i = 1; i < listing->n; i++)
        if (by_name(&listing->items[i - 1], &listing->items[i]) > 0) {
            qsort(listing->items, listing->n, sizeof(*listing->items), by_name);
            return;
        }
}

lcdc_status lc_storage_list(struct lc_storage *storage, const char *folder, struct lc_listing *out, lcdc_error **err)
{
    struct lc_listing found = {0};
    LC_TRY(storage->ops->list(storage, folder, &found, err));
    sort_listing(&found);
    *out = found;
    return LCDC_OK;
}

lcdc_status lc_storage_stat(struct lc_storage *storage, const char *path, struct lc_file_info *out, lcdc_error **err)
{
    return storage->ops->stat(storage, path, out, err);
}

lcdc_status lc_storage_open(struct lc_storage *storage, const char *path, struct lc_file **out, lcdc_error **err)
{
    return storage->ops->open(storage, path, out, err);
}

lcdc_status lc_storage_open_sized(struct lc_storage *storage, const char *path, int64_t size, struct lc_file **out,
                                  lcdc_error **err)
{
    if (size < 0 || !storage->ops->open_sized || !lc_storage_is_remote(storage, path))
        return lc_storage_open(storage, path, out, err);
    return storage->ops->open_sized(storage, path, size, out, err);
}

bool lc_storage_is_remote(struct lc_storage *storage, const char *path)
{
    return storage->ops->is_remote ? storage->ops->is_remote(storage, path) : strstr(path, "://") != NULL;
}

void lc_storage_want(struct lc_storage *storage, const char *path, int64_t size, size_t n, const struct lc_span *spans)
{
    if (storage->ops->want)
        storage->ops->want(storage, path, size, n, spans);
}

void lc_storage_want_whole(struct lc_storage *storage, const char *path, int64_t size)
{
    struct lc_span whole = {.offset = 0, .n = -1};
    lc_storage_want(storage, path, size, 1, &whole);
}

void lc_storage_forget(struct lc_storage *storage)
{
    if (storage->ops->forget)
        storage->ops->forget(storage);
}

void lc_storage_note(struct lc_storage *storage, enum lc_note note, int64_t n)
{
    if (storage->ops->note)
        storage->ops->note(storage, note, n);
}

int64_t lc_file_size(struct lc_file *file)
{
    return file->storage->ops->size(file);
}

lcdc_status lc_file_read_at(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err)
{
    int64_t size = lc_file_size(file);
    if (offset < 0 || n < 0 || offset > size || n > size - offset)
        return lc_fail(err, LC_R_IO_FAILED, "%" PRId64 " bytes at %" PRId64 " are asked of a file of %" PRId64 " bytes",
                       n, offset, size);
    return n == 0 ? LCDC_OK : file->storage->ops->read_at(file, offset, n, out, err);
}

void lc_file_close(struct lc_file *file)
{
    if (file)
        file->storage->ops->close(file);
}

void lc_storage_free(struct lc_storage *storage)
{
    if (storage)
        storage->ops->release(storage);
}

/* The range lies inside the file: no allocation follows a number that only the table's metadata vouches for. */
static lcdc_status append_range(struct lc_file *file, int64_t offset, int64_t n, struct lc_buf *out, lcdc_error **err)
{
    size_t before = out->n;
    char *at = lc_buf_reserve(out, (size_t)n);
    LC_TRY_ALLOC(at);
    LC_TRY(lc_file_read_at(file, offset, n, at, err));
    out->n = before + (size_t)n;
    out->p[out->n] = 0;
    return LCDC_OK;
}

static bool has_room(const struct lc_buf *buf, int64_t n)
{
    return buf->n <= buf->max && (uint64_t)n <= buf->max - buf->n;
}

lcdc_status lc_storage_read(struct lc_storage *storage, const char *path, size_t max, struct lc_buf *out,
                            lcdc_error **err)
{
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    LC_TRY(lc_storage_open(storage, path, &file, err));
    int64_t size = lc_file_size(file);
    if ((uint64_t)size > max || !has_room(out, size))
        return lc_fail(err, LC_R_LIMIT, "%s has %" PRId64 " bytes, more than the %zu that are read at once", path, size,
                       max < out->max ? max : out->max);
    lcdc_status status = append_range(file, 0, size, out, err);
    if (status != LCDC_OK)
        lc_error_prefix(err, "%s", path);
    return status;
}

lcdc_status lc_storage_read_range(struct lc_storage *storage, const char *path, int64_t offset, int64_t n,
                                  struct lc_buf *out, lcdc_error **err)
{
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    LC_TRY(lc_storage_open(storage, path, &file, err));
    int64_t size = lc_file_size(file);
    if (offset < 0 || n < 0 || offset > size || n > size - offset)
        return lc_fail(err, LC_R_IO_FAILED, "%s has %" PRId64 " bytes; %" PRId64 " at %" PRId64 " are asked for", path,
                       size, n, offset);
    if (!has_room(out, n))
        return lc_fail(err, LC_R_LIMIT, "%s: %" PRId64 " bytes are asked for, more than the %zu that are read at once",
                       path, n, out->max);
    lcdc_status status = append_range(file, offset, n, out, err);
    if (status != LCDC_OK)
        lc_error_prefix(err, "%s", path);
    return status;
}
