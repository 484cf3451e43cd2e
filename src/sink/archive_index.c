/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/archive_index.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sink/file.h"

enum { MAX_COMMITS = 100000000 };

void lc_archive_index_done(struct lc_archive_index *index)
{
    lc_free(index->names);
    *index = (struct lc_archive_index){0};
}

lcdc_status lc_archive_index_add(struct lc_archive_index *index, const struct lc_archive_name *name, lcdc_error **err)
{
    if (index->n == MAX_COMMITS)
        return lc_fail(err, LC_R_LIMIT, "an archive holds at most %d commits; begin another one", (int)MAX_COMMITS);
    if (index->n == index->cap) {
        size_t cap = index->cap ? index->cap * 2 : 256;
        struct lc_archive_name *names = lc_realloc(index->names, cap, sizeof(*names));
        LC_TRY_ALLOC(names);
        index->names = names;
        index->cap = cap;
    }
    index->names[index->n++] = *name;
    return LCDC_OK;
}

/* ---- paths ---- */

char *lc_archive_group_path(const char *root, const struct lc_archive_name *name)
{
    struct lc_buf path;
    lc_buf_init(&path, 1 << 16);
    lc_buf_printf(&path, "%s/commits/", root);
    lc_archive_group_print(&path, name->sequence / LC_ARCHIVE_GROUP);
    return lc_buf_take(&path);
}

char *lc_archive_commit_path(const char *root, const struct lc_archive_name *name)
{
    struct lc_buf path;
    LC_FREE char *group = lc_archive_group_path(root, name);
    if (!group)
        return NULL;
    lc_buf_init(&path, 1 << 16);
    lc_buf_printf(&path, "%s/", group);
    lc_archive_name_print(&path, name);
    return lc_buf_take(&path);
}

/* ---- listing ---- */

typedef lcdc_status (*visit_entry)(void *context, const char *path, const char *name, lcdc_error **err);

static lcdc_status each_entry(const char *path, visit_entry visit, void *context, lcdc_error **err)
{
    DIR *folder = opendir(path);
    if (!folder && errno == ENOENT)
        return LCDC_OK;
    if (!folder)
        return lc_sink_io_error(path, "the folder cannot be read", errno, err);
    lcdc_status status = LCDC_OK;
    for (const struct dirent *entry; status == LCDC_OK && (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = visit(context, path, entry->d_name, err);
    (void)closedir(folder);
    return status;
}

static lcdc_status add_commit(void *context, const char *path, const char *entry, lcdc_error **err)
{
    struct lc_archive_name name;
    if (!lc_archive_name_parse(lc_str_of(entry), &name))
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s/%s is not the folder of a commit", path, entry);
    return lc_archive_index_add(context, &name, err);
}

static lcdc_status add_group(void *context, const char *path, const char *entry, lcdc_error **err)
{
    LC_BUF struct lc_buf group = {0};
    int64_t number;
    if (!lc_archive_group_parse(lc_str_of(entry), &number))
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s/%s is not a folder of commits", path, entry);
    lc_buf_init(&group, 1 << 16);
    lc_buf_printf(&group, "%s/%s", path, entry);
    LC_TRY_BUF(&group);
    return each_entry(group.p, add_commit, context, err);
}

static int by_sequence(const void *a, const void *b)
{
    int64_t x = ((const struct lc_archive_name *)a)->sequence, y = ((const struct lc_archive_name *)b)->sequence;
    return (x > y) - (x < y);
}

static lcdc_status read_index(const char *root, struct lc_archive_index *out, lcdc_error **err)
{
    LC_BUF struct lc_buf commits = {0};
    lc_buf_init(&commits, 1 << 16);
    lc_buf_printf(&commits, "%s/commits", root);
    LC_TRY_BUF(&commits);
    LC_TRY(each_entry(commits.p, add_group, out, err));
    if (out->n)
        qsort(out->names, out->n, sizeof(*out->names), by_sequence);
    for (size_t i = 1; i < out->n; i++)
        if (out->names[i].sequence != out->names[i - 1].sequence + 1)
            return lc_fail(err, LC_R_ARCHIVE_BAD,
                           "%s: commit %09" PRId64 " is followed by %09" PRId64 ", what was between them is missing",
                           commits.p, out->names[i - 1].sequence, out->names[i].sequence);
    return LCDC_OK;
}

lcdc_status lc_archive_index_read(const char *root, struct lc_archive_index *out, lcdc_error **err)
{
    struct lc_archive_index index = {0};
    lcdc_status status = read_index(root, &index, err);
    if (status != LCDC_OK)
        lc_archive_index_done(&index);
    else
        *out = index;
    return status;
}

/* ---- one commit ---- */

lcdc_status lc_archive_manifest_read(const char *folder, struct lc_arena *arena, struct lc_archive_manifest *out,
                                     lcdc_error **err)
{
    LC_BUF struct lc_buf path = {0}, text = {0};
    bool found;
    lc_buf_init(&path, 1 << 16);
    lc_buf_init(&text, LC_ARCHIVE_MAX_FILE + 8192);
    lc_buf_printf(&path, "%s/manifest.json", folder);
    LC_TRY_BUF(&path);
    LC_TRY(lc_sink_read_whole(path.p, LC_ARCHIVE_MAX_FILE, &text, &found, err));
    if (!found)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s is missing", path.p);
    lcdc_status status = lc_archive_manifest_parse((struct lc_str){text.p ? text.p : "", text.n}, arena, out, err);
    if (status != LCDC_OK)
        lc_error_prefix(err, "%s", path.p);
    return status;
}

static lcdc_status remove_entry(void *context, const char *path, const char *entry, lcdc_error **err)
{
    LC_BUF struct lc_buf file = {0};
    (void)context;
    lc_buf_init(&file, 1 << 16);
    lc_buf_printf(&file, "%s/%s", path, entry);
    LC_TRY_BUF(&file);
    if (unlink(file.p) == 0 || errno == ENOENT)
        return LCDC_OK;
    if (errno == EISDIR || errno == EPERM) /* what a killed process left below pending/ */
        return lc_archive_remove_folder(file.p, err);
    return lc_sink_io_error(file.p, "cannot be removed", errno, err);
}

lcdc_status lc_archive_remove_folder(const char *path, lcdc_error **err)
{
    LC_TRY(each_entry(path, remove_entry, NULL, err));
    if (rmdir(path) == 0 || errno == ENOENT)
        return LCDC_OK;
    return lc_sink_io_error(path, "cannot be removed", errno, err);
}
