/* SPDX-License-Identifier: Apache-2.0 */
#include "support/memory_storage.h"

#include <string.h>

struct memory_file {
    char *path;
    char *bytes;
    size_t n;
    int64_t mtime_ms;
};

struct memory {
    struct lc_storage base;
    size_t n;
    struct memory_file *files;
    int64_t clock;
};

struct memory_handle {
    struct lc_file base;
    const char *bytes;
    size_t n;
};

static struct memory_file *find(struct memory *memory, const char *path)
{
    for (size_t i = 0; i < memory->n; i++)
        if (strcmp(memory->files[i].path, path) == 0)
            return &memory->files[i];
    return NULL;
}

static lcdc_status missing(const char *path, lcdc_error **err)
{
    return lc_fail(err, LC_R_FILE_MISSING, "%s is not there", path);
}

static bool is_listed(const struct lc_listing *listing, struct lc_str name)
{
    for (size_t i = 0; i < listing->n; i++)
        if (lc_str_is(name, listing->items[i].name))
            return true;
    return false;
}

static lcdc_status append(struct lc_listing *listing, struct lc_str name, struct lc_file_info info, lcdc_error **err)
{
    struct lc_file_info *items = lc_realloc(listing->items, listing->n + 1, sizeof(*items));
    LC_TRY_ALLOC(items);
    listing->items = items;
    info.name = lc_strndup(name.p, name.n);
    LC_TRY_ALLOC(info.name);
    items[listing->n++] = info;
    return LCDC_OK;
}

static lcdc_status memory_list(struct lc_storage *self, const char *folder, struct lc_listing *out, lcdc_error **err)
{
    struct memory *memory = (struct memory *)self;
    LC_CLEANUP(lc_listing_done) struct lc_listing found = {0};
    size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    for (size_t i = 0; i < memory->n; i++) {
        const struct memory_file *file = &memory->files[i];
        if (strncmp(file->path, folder, n) != 0 || file->path[n] != '/')
            continue;
        const char *rest = file->path + n + 1;
        struct lc_str name = {rest, strcspn(rest, "/")};
        struct lc_file_info info = {.size = (int64_t)file->n, .mtime_ms = file->mtime_ms};
        if (rest[name.n] == '/')
            info = (struct lc_file_info){.size = -1, .mtime_ms = INT64_MIN, .is_directory = true};
        if (!is_listed(&found, name))
            LC_TRY(append(&found, name, info, err));
    }
    if (found.n == 0)
        return missing(folder, err);
    *out = found;
    found = (struct lc_listing){0};
    return LCDC_OK;
}

static lcdc_status memory_stat(struct lc_storage *self, const char *path, struct lc_file_info *out, lcdc_error **err)
{
    const struct memory_file *file = find((struct memory *)self, path);
    if (!file)
        return missing(path, err);
    *out = (struct lc_file_info){.size = (int64_t)file->n, .mtime_ms = file->mtime_ms};
    return LCDC_OK;
}

static lcdc_status memory_open(struct lc_storage *self, const char *path, struct lc_file **out, lcdc_error **err)
{
    const struct memory_file *file = find((struct memory *)self, path);
    if (!file)
        return missing(path, err);
    struct memory_handle *handle = lc_calloc(1, sizeof(*handle));
    LC_TRY_ALLOC(handle);
    *handle = (struct memory_handle){.base = {self}, .bytes = file->bytes, .n = file->n};
    *out = &handle->base;
    return LCDC_OK;
}

static int64_t memory_size(struct lc_file *file)
{
    return (int64_t)((struct memory_handle *)file)->n;
}

static lcdc_status memory_read_at(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err)
{
    (void)err;
    memcpy(out, ((struct memory_handle *)file)->bytes + offset, (size_t)n);
    return LCDC_OK;
}

static void memory_close(struct lc_file *file)
{
    lc_free(file);
}

static void file_done(struct memory_file *file)
{
    lc_free(file->path);
    lc_free(file->bytes);
}

static void memory_release(struct lc_storage *self)
{
    struct memory *memory = (struct memory *)self;
    for (size_t i = 0; i < memory->n; i++)
        file_done(&memory->files[i]);
    lc_free(memory->files);
    lc_free(memory);
}

static const struct lc_storage_ops memory_ops = {
    .name = "memory",
    .list = memory_list,
    .stat = memory_stat,
    .open = memory_open,
    .size = memory_size,
    .read_at = memory_read_at,
    .close = memory_close,
    .release = memory_release,
};

lcdc_status lc_memory_storage(struct lc_storage **out, lcdc_error **err)
{
    struct memory *made = lc_calloc(1, sizeof(*made));
    LC_TRY_ALLOC(made);
    made->base.ops = &memory_ops;
    *out = &made->base;
    return LCDC_OK;
}

lcdc_status lc_memory_storage_add(struct lc_storage *storage, const char *path, const void *bytes, size_t n,
                                  lcdc_error **err)
{
    struct memory *memory = (struct memory *)storage;
    LC_CLEANUP(file_done)
    struct memory_file made = {.path = lc_strdup(path), .bytes = lc_strndup(bytes, n), .n = n};
    LC_TRY_ALLOC(made.path);
    LC_TRY_ALLOC(made.bytes);
    struct memory_file *files = lc_realloc(memory->files, memory->n + 1, sizeof(*files));
    LC_TRY_ALLOC(files);
    memory->files = files;
    (void)lc_memory_storage_remove(storage, path);
    made.mtime_ms = memory->clock++;
    files[memory->n++] = made;
    made = (struct memory_file){0};
    return LCDC_OK;
}

lcdc_status lc_memory_storage_add_text(struct lc_storage *storage, const char *path, const char *text, lcdc_error **err)
{
    return lc_memory_storage_add(storage, path, text, strlen(text), err);
}

bool lc_memory_storage_remove(struct lc_storage *storage, const char *path)
{
    struct memory *memory = (struct memory *)storage;
    struct memory_file *file = find(memory, path);
    if (!file)
        return false;
    file_done(file);
    *file = memory->files[--memory->n];
    return true;
}
