/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/backend.h"

#include <inttypes.h>
#include <string.h>

#include "archive/range.h"
#include "archive/stream.h"
#include "core/cursor.h"
#include "scan/commit.h"

static const char prefix[] = "archive:";

static bool is_archive(const lcdc_request *request)
{
    return request->table && strncmp(request->table, prefix, sizeof(prefix) - 1) == 0;
}

/* ---- source ---- */

static lcdc_status archive_open(const lcdc_request *request, void **out, lcdc_error **err)
{
    struct lc_archive *archive = NULL;
    LC_TRY(lc_archive_open(request->table + sizeof(prefix) - 1, &archive, err));
    *out = archive;
    return LCDC_OK;
}

static lcdc_status archive_tip(void *handle, const char *before, struct lc_buf *out, lcdc_error **err)
{
    (void)before; /* the names that are known are not listed again in any case */
    return lc_archive_tip(handle, out, err);
}

static void archive_close(void *handle)
{
    lc_archive_close(handle);
}

/* A location that says that it is an archive is nobody else's: what is wrong with it ends the search. */
static lcdc_status archive_probe(const lcdc_request *request, struct lc_arena *arena, struct lc_candidate *out,
                                 lcdc_error **err)
{
    (void)arena;
    *out = (struct lc_candidate){
        .format = "archive", .absent = true, .foreign = true, .reason = "the location is not archive:DIR"};
    if (!is_archive(request))
        return LCDC_OK;
    LC_CLEANUP(lc_archive_closep) struct lc_archive *archive = NULL;
    LC_TRY(lc_archive_open(request->table + sizeof(prefix) - 1, &archive, err));
    *out = (struct lc_candidate){
        .usable = true, .format = "archive", .reason = "archive of changes read straight from storage"};
    return LCDC_OK;
}

/* ---- read ---- */

struct archive_read {
    struct lc_read read;
    struct lc_archive *archive;
    struct lc_arena arena;
    struct lc_field schema;
    struct lc_archive_range range;
    size_t plan_at;
};

static struct lc_archive_view view_of(struct archive_read *self, const struct lc_shape *shape)
{
    return (struct lc_archive_view){.archive = self->archive, .schema = &self->schema, .shape = shape};
}

static const char *method_of(const struct lc_archive_manifest *manifest)
{
    if (manifest->rows == 0 && manifest->name.kind == LC_ARCHIVE_CHANGES)
        return lc_method_name(LC_METHOD_NONE);
    if (manifest->name.kind == LC_ARCHIVE_CHANGES)
        return lc_method_name(LC_METHOD_CDF_FILES);
    bool first = manifest->name.kind == LC_ARCHIVE_SNAPSHOT;
    return lc_method_name(first ? LC_METHOD_APPEND : LC_METHOD_CONTENT_DIFF);
}

static lcdc_status add_to_plan(struct archive_read *self, size_t at, bool is_own, lcdc_plan_commit *out,
                               lcdc_error **err)
{
    static const char *const details[] = {"", "snapshot", "whole state"};
    LC_ARENA struct lc_arena arena = {0};
    struct lc_archive_manifest manifest;
    LC_TRY(lc_archive_manifest(self->archive, &self->archive->names[at], &arena, &manifest, err));
    for (size_t i = 0; i < manifest.n_parts; i++) {
        out->files++;
        out->rows += manifest.parts[i].rows;
        out->bytes += manifest.parts[i].bytes;
    }
    if (!is_own)
        return LCDC_OK;
    out->snapshot = manifest.name.snapshot;
    out->ts_us = manifest.name.ts_us;
    out->method = method_of(&manifest);
    out->detail = lc_strdup(details[manifest.name.kind]); /* the seam frees it with the plan */
    LC_TRY_ALLOC(out->detail);
    return LCDC_OK;
}

static lcdc_status archive_plan_next(struct lc_read *read, const struct lc_shape *shape, lcdc_plan_commit *out,
                                     bool *more, lcdc_error **err)
{
    struct archive_read *self = (struct archive_read *)read;
    size_t at = self->range.begin + self->plan_at, first = at;
    *more = at < self->range.end;
    if (!*more) {
        self->plan_at = 0;
        return LCDC_OK;
    }
    lcdc_plan_commit made = {0};
    struct lc_archive_view view = view_of(self, shape);
    LC_TRY(lc_archive_check(&view, at, err));
    if (at > 0 && self->archive->names[at].kind != LC_ARCHIVE_CHANGES)
        (void)lc_archive_base(self->archive, at - 1, &first); /* found: checked just now */
    for (size_t i = first; i <= at; i++)
        LC_TRY(add_to_plan(self, i, i == at, &made, err));
    *out = made;
    self->plan_at++;
    return LCDC_OK;
}

static lcdc_status archive_changes(struct lc_read *read, const struct lc_shape *shape, struct lc_change_stream **out,
                                   lcdc_error **err)
{
    struct archive_read *self = (struct archive_read *)read;
    struct lc_archive_view view = view_of(self, shape);
    for (size_t i = self->range.begin; i < self->range.end; i++)
        LC_TRY(lc_archive_check(&view, i, err));
    return lc_archive_changes(&view, self->range.begin, self->range.end, out, err);
}

/* Before an archive that begins with a whole state there is nothing. */
static lcdc_status archive_snapshot(struct lc_read *read, bool at_end, const struct lc_shape *shape,
                                    struct lc_change_stream **out, lcdc_error **err)
{
    struct archive_read *self = (struct archive_read *)read;
    struct lc_archive_view view = view_of(self, shape);
    size_t after = at_end ? self->range.end : self->range.begin;
    bool nothing = after == 0 && (self->archive->n == 0 || self->archive->names[0].kind != LC_ARCHIVE_CHANGES);
    if (nothing)
        return lc_archive_changes(&view, 0, 0, out, err);
    if (after == 0)
        return lc_fail(err, LC_R_ARCHIVE_NO_STATE, "%s: the rows before its first commit are not known",
                       self->archive->root);
    return lc_archive_state(&view, after - 1, out, err);
}

static void archive_release(struct lc_read *read)
{
    struct archive_read *self = (struct archive_read *)read;
    lc_arena_done(&self->arena);
    lc_free(self);
}

static void archive_stats(struct lc_read *read, struct lc_buf *out)
{
    const struct lc_meter *meter = &((struct archive_read *)read)->archive->meter;
    lc_buf_printf(out,
                  "\"lists\":%" PRId64 ",\"stats\":%" PRId64 ",\"opens\":%" PRId64 ",\"reads\":%" PRId64
                  ",\"bytes_read\":%" PRId64,
                  (int64_t)meter->lists, (int64_t)meter->stats, (int64_t)meter->opens, (int64_t)meter->reads,
                  (int64_t)meter->bytes);
    lc_buf_printf(out, ",\"row_groups\":%" PRId64 ",\"row_groups_pruned\":%" PRId64 ",\"pages_pruned\":%" PRId64,
                  (int64_t)meter->notes[LC_NOTE_ROW_GROUPS], (int64_t)meter->notes[LC_NOTE_ROW_GROUPS_PRUNED],
                  (int64_t)meter->notes[LC_NOTE_PAGES_PRUNED]);
}

/* Whether the archived table's ids rise with its commits: Delta versions do. */
static lcdc_status find_order(struct lc_archive *archive, bool *rises, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_archive_manifest manifest;
    struct lc_cursor cursor;
    *rises = false;
    if (archive->n == 0)
        return LCDC_OK;
    LC_TRY(lc_archive_manifest(archive, &archive->names[archive->n - 1], &arena, &manifest, err));
    *rises = lc_cursor_parse(manifest.cursor, &cursor, NULL) == LCDC_OK && lc_str_is(cursor.format, "delta");
    return LCDC_OK;
}

static lcdc_status fill_read(struct archive_read *self, const lcdc_request *request, lcdc_error **err)
{
    struct lc_archive *archive = self->archive;
    struct lc_read *read = &self->read;
    struct lc_archive_head head;
    bool rises;
    LC_TRY(lc_archive_head(archive, &self->arena, &head, err));
    LC_TRY(lc_archive_refresh(archive, err));
    LC_TRY(find_order(archive, &rises, err));
    LC_TRY(lc_archive_range_resolve(archive, request, rises, &self->range, err));
    size_t end = self->range.end;
    if (end > 0) {
        struct lc_archive_manifest last;
        LC_TRY(lc_archive_manifest(archive, &archive->names[end - 1], &self->arena, &last, err));
        self->schema = last.images;
    } else {
        self->schema = head.images;
    }
    read->schema = &self->schema;
    read->format = "archive";
    read->table_id = head.id;
    read->n_commits = (int64_t)(end - self->range.begin);
    read->empty = read->n_commits == 0;
    read->last_commit = end > 0 ? archive->names[end - 1].snapshot : -1;
    return LCDC_OK;
}

static lcdc_status archive_read_open(void *handle, const lcdc_request *request, struct lc_read **out, lcdc_error **err)
{
    static const struct lc_read_ops ops = {.plan_next = archive_plan_next,
                                           .changes = archive_changes,
                                           .release = archive_release,
                                           .snapshot = archive_snapshot,
                                           .stats = archive_stats};
    struct archive_read *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->read.ops = &ops;
    self->archive = handle;
    lcdc_status status = fill_read(self, request, err);
    if (status != LCDC_OK)
        archive_release(&self->read);
    else
        *out = &self->read;
    return status;
}

const struct lc_backend lc_archive_backend = {.abi = LC_BACKEND_ABI,
                                              .size = sizeof(struct lc_backend),
                                              .name = "archive",
                                              .probe = archive_probe,
                                              .open = archive_open,
                                              .read_open = archive_read_open,
                                              .close = archive_close,
                                              .tip = archive_tip};
