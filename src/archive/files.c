/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20 };

/* ---- opening ---- */

void lc_archive_close(struct lc_archive *archive)
{
    if (!archive)
        return;
    lc_storage_free(archive->storage);
    lc_free(archive->root);
    lc_free(archive->names);
    lc_free(archive);
}

lcdc_status lc_archive_head(struct lc_archive *self, struct lc_arena *arena, struct lc_archive_head *out,
                            lcdc_error **err)
{
    LC_BUF struct lc_buf text = {0};
    LC_ERROR lcdc_error *problem = NULL;
    LC_FREE char *path = lc_location_join(self->root, "archive.json");
    LC_TRY_ALLOC(path);
    lc_buf_init(&text, LC_ARCHIVE_MAX_FILE + 8192);
    lcdc_status status = lc_storage_read(self->storage, path, LC_ARCHIVE_MAX_FILE, &text, &problem);
    if (status == LCDC_NOT_FOUND)
        return lc_fail(err, LC_R_ARCHIVE_MISSING, "no archive at %s: it has no archive.json", self->root);
    if (status == LCDC_OK)
        status = lc_archive_head_parse((struct lc_str){text.p ? text.p : "", text.n}, arena, out, &problem);
    if (status == LCDC_OK)
        return status;
    lc_error_prefix(&problem, "%s", path);
    if (err) {
        lcdc_error_free(*err);
        *err = lc_steal(problem);
    }
    return status;
}

lcdc_status lc_archive_open(const char *location, struct lc_archive **out, lcdc_error **err)
{
    LC_CLEANUP(lc_archive_closep) struct lc_archive *self = lc_calloc(1, sizeof(*self));
    LC_CLEANUP(lc_storage_freep) struct lc_storage *files = NULL;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_archive_head head;
    LC_TRY_ALLOC(self);
    LC_TRY(lc_location_normalise(location, &self->root, err));
    LC_TRY(lc_storage_arrow(&files, err));
    LC_TRY(lc_storage_meter(lc_steal(files), &self->meter, &self->storage, err));
    LC_TRY(lc_archive_head(self, &arena, &head, err));
    *out = lc_steal(self);
    return LCDC_OK;
}

/* ---- the list of commits ---- */

static lcdc_status add_name(struct lc_archive *self, const struct lc_archive_name *name, lcdc_error **err)
{
    if (self->n == self->cap) {
        size_t cap = self->cap ? self->cap * 2 : 256;
        struct lc_archive_name *names = lc_realloc(self->names, cap, sizeof(*names));
        LC_TRY_ALLOC(names);
        self->names = names;
        self->cap = cap;
    }
    self->names[self->n++] = *name;
    return LCDC_OK;
}

static lcdc_status list_group(struct lc_archive *self, const char *commits, const char *group, lcdc_error **err)
{
    LC_CLEANUP(lc_listing_done) struct lc_listing listing = {0};
    LC_FREE char *path = lc_location_join(commits, group);
    LC_TRY_ALLOC(path);
    LC_TRY(lc_storage_list(self->storage, path, &listing, err));
    for (size_t i = 0; i < listing.n; i++) {
        struct lc_archive_name name;
        if (!lc_archive_name_parse(lc_str_of(listing.items[i].name), &name))
            return lc_fail(err, LC_R_ARCHIVE_BAD, "%s/%s is not the folder of a commit", path, listing.items[i].name);
        LC_TRY(add_name(self, &name, err));
    }
    return LCDC_OK;
}

/* Keeps the commits that are known of groups [first, last): those that are full and still there. */
static void keep_groups(struct lc_archive *self, int64_t first, int64_t last)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->n; i++) {
        int64_t group = self->names[i].sequence / LC_ARCHIVE_GROUP;
        if (group >= first && group < last)
            self->names[kept++] = self->names[i];
    }
    self->n = kept;
}

static lcdc_status list_groups(struct lc_archive *self, const char *commits, const struct lc_listing *groups,
                               lcdc_error **err)
{
    int64_t known = self->n ? self->names[self->n - 1].sequence / LC_ARCHIVE_GROUP : -1, number;
    int64_t first = -1;
    for (size_t i = 0; i < groups->n; i++) {
        if (!lc_archive_group_parse(lc_str_of(groups->items[i].name), &number))
            return lc_fail(err, LC_R_ARCHIVE_BAD, "%s/%s is not a folder of commits", commits, groups->items[i].name);
        if (first < 0) {
            first = number;
            if (self->n && self->names[0].sequence / LC_ARCHIVE_GROUP > first)
                known = -1; /* older commits than those that are known */
            keep_groups(self, first, known);
        }
        if (number >= known)
            LC_TRY(list_group(self, commits, groups->items[i].name, err));
    }
    if (groups->n == 0)
        self->n = 0;
    return LCDC_OK;
}

static int by_sequence(const void *a, const void *b)
{
    int64_t x = ((const struct lc_archive_name *)a)->sequence, y = ((const struct lc_archive_name *)b)->sequence;
    return (x > y) - (x < y);
}

lcdc_status lc_archive_refresh(struct lc_archive *self, lcdc_error **err)
{
    LC_CLEANUP(lc_listing_done) struct lc_listing groups = {0};
    LC_ERROR lcdc_error *problem = NULL;
    LC_FREE char *commits = lc_location_join(self->root, "commits");
    LC_TRY_ALLOC(commits);
    lcdc_status status = lc_storage_list(self->storage, commits, &groups, &problem);
    if (status != LCDC_OK && status != LCDC_NOT_FOUND) {
        if (err) {
            lcdc_error_free(*err);
            *err = lc_steal(problem);
        }
        return status;
    }
    LC_TRY(list_groups(self, commits, &groups, err));
    if (self->n)
        qsort(self->names, self->n, sizeof(*self->names), by_sequence);
    for (size_t i = 1; i < self->n; i++)
        if (self->names[i].sequence != self->names[i - 1].sequence + 1)
            return lc_fail(err, LC_R_ARCHIVE_BAD,
                           "%s: commit %09" PRId64 " is followed by %09" PRId64 ", what was between them is missing",
                           commits, self->names[i - 1].sequence, self->names[i].sequence);
    return LCDC_OK;
}

/* ---- one commit ---- */

static lcdc_status print_folder(const struct lc_archive *self, const struct lc_archive_name *name, struct lc_buf *out)
{
    lc_buf_printf(out, "%s/commits/", self->root);
    lc_archive_group_print(out, name->sequence / LC_ARCHIVE_GROUP);
    lc_buf_char(out, '/');
    lc_archive_name_print(out, name);
    return LCDC_OK;
}

static bool same_name(const struct lc_archive_name *a, const struct lc_archive_name *b)
{
    return a->kind == b->kind && a->sequence == b->sequence && a->snapshot == b->snapshot && a->ts_us == b->ts_us;
}

lcdc_status lc_archive_manifest(struct lc_archive *self, const struct lc_archive_name *name, struct lc_arena *arena,
                                struct lc_archive_manifest *out, lcdc_error **err)
{
    LC_BUF struct lc_buf path = {0}, text = {0};
    LC_ERROR lcdc_error *problem = NULL;
    lc_buf_init(&path, 1 << 16);
    lc_buf_init(&text, LC_ARCHIVE_MAX_FILE + 8192);
    LC_TRY(print_folder(self, name, &path));
    lc_buf_text(&path, "/manifest.json");
    LC_TRY_BUF(&path);
    lcdc_status status = lc_storage_read(self->storage, path.p, LC_ARCHIVE_MAX_FILE, &text, &problem);
    if (status == LCDC_NOT_FOUND)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s is missing", path.p);
    if (status == LCDC_OK)
        status = lc_archive_manifest_parse((struct lc_str){text.p ? text.p : "", text.n}, arena, out, &problem);
    if (status == LCDC_OK && !same_name(&out->name, name))
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s is the manifest of another commit", path.p);
    if (status == LCDC_OK)
        return status;
    lc_error_prefix(&problem, "%s", path.p);
    if (err) {
        lcdc_error_free(*err);
        *err = lc_steal(problem);
    }
    return status;
}

static lcdc_status print_file(struct lc_archive *self, const char *path, struct lc_buf *out, lcdc_error **err)
{
    struct lc_file_info info = {0};
    LC_TRY(lc_storage_stat(self->storage, path, &info, err));
    lc_free(info.name);
    lc_buf_printf(out, "%" PRId64 "/%" PRId64 "/", info.size, info.mtime_ms);
    return LCDC_OK;
}

lcdc_status lc_archive_tip(struct lc_archive *self, struct lc_buf *out, lcdc_error **err)
{
    LC_BUF struct lc_buf path = {0};
    LC_FREE char *head = lc_location_join(self->root, "archive.json");
    LC_TRY_ALLOC(head);
    LC_TRY(print_file(self, head, out, err));
    LC_TRY(lc_archive_refresh(self, err));
    if (self->n == 0)
        return LCDC_OK;
    const struct lc_archive_name *last = &self->names[self->n - 1];
    lc_buf_init(&path, 1 << 16);
    LC_TRY(print_folder(self, last, &path));
    lc_buf_text(&path, "/manifest.json");
    LC_TRY_BUF(&path);
    LC_TRY(print_file(self, path.p, out, err));
    lc_archive_name_print(out, last);
    return LCDC_OK;
}

char *lc_archive_part_path(const struct lc_archive *self, const struct lc_archive_manifest *manifest, size_t part)
{
    struct lc_buf path;
    lc_buf_init(&path, 1 << 16);
    if (print_folder(self, &manifest->name, &path) != LCDC_OK)
        return NULL;
    lc_buf_printf(&path, "/%s", manifest->parts[part].name);
    return lc_buf_take(&path);
}

static lcdc_status wrong_size(const char *path, int64_t size, int64_t expected, lcdc_error **err)
{
    return lc_fail(err, LC_R_ARCHIVE_BAD, "%s is %" PRId64 " bytes long, its manifest says %" PRId64, path, size,
                   expected);
}

lcdc_status lc_archive_check_part(struct lc_archive *self, const struct lc_archive_manifest *manifest, size_t part,
                                  lcdc_error **err)
{
    struct lc_file_info info = {0};
    LC_ERROR lcdc_error *problem = NULL;
    LC_FREE char *path = lc_archive_part_path(self, manifest, part);
    LC_TRY_ALLOC(path);
    lcdc_status status = lc_storage_stat(self->storage, path, &info, &problem);
    lc_free(info.name);
    if (status == LCDC_NOT_FOUND)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s is missing", path);
    if (status == LCDC_OK && info.size >= 0 && info.size != manifest->parts[part].bytes)
        return wrong_size(path, info.size, manifest->parts[part].bytes, err);
    if (status != LCDC_OK && err) {
        lcdc_error_free(*err);
        *err = lc_steal(problem);
    }
    return status;
}

lcdc_status lc_archive_check_bytes(struct lc_archive *self, const struct lc_archive_manifest *manifest, size_t part,
                                   const _Atomic int *cancelled, lcdc_error **err)
{
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    LC_CLEANUP(lc_checksum_freep) struct lc_checksum *sum = lc_checksum_new();
    LC_FREE char *path = lc_archive_part_path(self, manifest, part);
    LC_FREE char *block = lc_alloc(BLOCK);
    char text[LC_CHECKSUM_TEXT];
    LC_TRY_ALLOC(sum && path && block);
    LC_TRY(lc_storage_open(self->storage, path, &file, err));
    int64_t size = lc_file_size(file);
    if (size != manifest->parts[part].bytes)
        return wrong_size(path, size, manifest->parts[part].bytes, err);
    for (int64_t at = 0, n; at < size; at += n) {
        n = size - at < BLOCK ? size - at : BLOCK;
        if (cancelled && *cancelled)
            return lc_fail(err, LC_R_CANCELLED, "the read was cancelled");
        LC_TRY(lc_file_read_at(file, at, n, block, err));
        lc_checksum_add(sum, block, (size_t)n);
    }
    lc_checksum_text(sum, text);
    if (strcmp(text, manifest->parts[part].checksum) == 0)
        return LCDC_OK;
    return lc_fail(err, LC_R_ARCHIVE_BAD, "%s was altered: its bytes sum up to %s, its manifest says %.40s", path, text,
                   manifest->parts[part].checksum);
}
