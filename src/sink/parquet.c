/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet.c - the "parquet" sink: an archive of changes that other readers read (`archive:DIR`).
 *
 * A window is written below pending/ and moved into place as a folder with its manifest, in one step: it is there with
 * its cursor or not at all. A window that is delivered again finds itself by its snapshot among the commits since the
 * last whole state, and its manifest is replaced in one step; parts are named by what is in them, so equal ones stay.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cursor.h"
#include "lakecdc/writer.h"
#include "sink/archive_index.h"
#include "sink/file.h"
#include "sink/sink.h"

enum { MAX_PART_ROWS = 1 << 30 };

static const struct lc_sink_option options[] = {
    {.key = "path", .required = true, .help = "the archive's folder"},
    {.key = "rows_per_file", .initial = "1000000", .help = "most rows in one file; larger commits make several"},
};

struct archive {
    struct lc_sink sink;
    const struct lc_sink_setup *setup;
    char *root, *pending;
    int lock;
    bool is_locked;
    int64_t part_rows;
    struct lc_archive_index index;
    char *cursor; /* of the last commit; NULL: there is none */

    /* the window that was begun */
    struct lc_arena arena;
    struct lc_archive_manifest made;
    bool again;                     /* it is there already, as `old` */
    struct lc_archive_manifest old; /* in `arena` too */
    char *stage;                    /* where it is written */
    size_t cap_parts;
    struct lc_sink_file file;
    lcdc_writer *writer;
    int64_t file_rows;
};

static char *join(const char *folder, const char *name)
{
    struct lc_buf path;
    lc_buf_init(&path, 1 << 16);
    lc_buf_printf(&path, "%s/%s", folder, name);
    return lc_buf_take(&path);
}

/* ---- opening ---- */

static lcdc_status new_id(char out[LC_CHECKSUM_TEXT], lcdc_error **err)
{
    unsigned char bytes[32];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return lc_fail(err, LC_R_INTERNAL, "no random bytes for the archive's id");
    lc_checksum_of(bytes, sizeof(bytes), out);
    return LCDC_OK;
}

static lcdc_status write_head(struct archive *self, const char *path, lcdc_error **err)
{
    LC_BUF struct lc_buf text = {0};
    char id[LC_CHECKSUM_TEXT];
    struct stat info;
    LC_FREE char *commits = join(self->root, "commits");
    LC_TRY_ALLOC(commits);
    if (stat(commits, &info) == 0)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "%s is missing, and %s is there", path, commits);
    LC_TRY(new_id(id, err));
    struct lc_archive_head head = {
        .id = id, .table = self->setup->table, .source = self->setup->source, .images = *self->setup->images};
    lc_buf_init(&text, LC_ARCHIVE_MAX_FILE);
    lc_archive_head_print(&text, &head);
    LC_TRY_BUF(&text);
    return lc_sink_write_whole(path, text.p, text.n, err);
}

static lcdc_status check_head(struct archive *self, lcdc_error **err)
{
    LC_BUF struct lc_buf text = {0};
    LC_ARENA struct lc_arena arena = {0};
    struct lc_archive_head head;
    bool found;
    LC_FREE char *path = join(self->root, "archive.json");
    LC_TRY_ALLOC(path);
    lc_buf_init(&text, LC_ARCHIVE_MAX_FILE + 8192);
    LC_TRY(lc_sink_read_whole(path, LC_ARCHIVE_MAX_FILE, &text, &found, err));
    if (!found)
        return write_head(self, path, err);
    lcdc_status status = lc_archive_head_parse((struct lc_str){text.p ? text.p : "", text.n}, &arena, &head, err);
    if (status != LCDC_OK) {
        lc_error_prefix(err, "%s", path);
        return status;
    }
    if (strcmp(head.table, self->setup->table) != 0)
        return lc_fail(err, LC_R_SINK_NOT_EMPTY, "%s is the archive of '%.200s', not of '%.200s'", self->root,
                       head.table, self->setup->table);
    return LCDC_OK;
}

static lcdc_status read_cursor(struct archive *self, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_archive_manifest last;
    if (self->index.n == 0)
        return LCDC_OK;
    LC_FREE char *folder = lc_archive_commit_path(self->root, &self->index.names[self->index.n - 1]);
    LC_TRY_ALLOC(folder);
    LC_TRY(lc_archive_manifest_read(folder, &arena, &last, err));
    self->cursor = lc_strdup(last.cursor);
    LC_TRY_ALLOC(self->cursor);
    return LCDC_OK;
}

static lcdc_status prepare(struct archive *self, lcdc_error **err)
{
    const char *path = lc_sink_setting(&lc_sink_parquet, self->setup, "path");
    const char *rows = lc_sink_setting(&lc_sink_parquet, self->setup, "rows_per_file");
    if (!lc_parse_i64(lc_str_of(rows), &self->part_rows) || self->part_rows < 1 || self->part_rows > MAX_PART_ROWS)
        return lc_fail(err, LC_R_OPTION_VALUE, "parquet: rows_per_file is '%.100s', expected 1 to %d", rows,
                       (int)MAX_PART_ROWS);
    LC_TRY(lc_sink_local_path("parquet", path ? path : "", &self->root, NULL, err));
    LC_TRY(lc_sink_make_folder(self->root, err));
    LC_FREE char *lock = join(self->root, ".lock");
    self->pending = join(self->root, "pending");
    LC_TRY_ALLOC(lock && self->pending);
    LC_TRY(lc_sink_open_locked(lock, &self->lock, err));
    self->is_locked = true;
    LC_TRY(check_head(self, err));
    LC_TRY(lc_archive_index_read(self->root, &self->index, err));
    LC_TRY(read_cursor(self, err));
    return lc_archive_remove_folder(self->pending, err);
}

static void archive_abort(struct lc_sink *sink)
{
    struct archive *self = (struct archive *)sink;
    lcdc_writer_free(lc_steal(self->writer));
    lc_sink_file_drop(&self->file);
    if (self->stage)
        (void)lc_archive_remove_folder(self->stage, NULL); /* else the next begin or open does it */
    lc_free(lc_steal(self->stage));
    lc_arena_done(&self->arena);
    self->arena = (struct lc_arena){0};
    self->made = self->old = (struct lc_archive_manifest){0};
    self->cap_parts = 0;
    self->again = false;
}

static void archive_close(struct lc_sink *sink)
{
    struct archive *self = (struct archive *)sink;
    if (!self)
        return;
    archive_abort(sink);
    if (self->is_locked)
        (void)close(self->lock);
    lc_archive_index_done(&self->index);
    lc_free(self->root);
    lc_free(self->pending);
    lc_free(self->cursor);
    lc_free(self);
}

static lcdc_status archive_open(const struct lc_sink_setup *setup, struct lc_sink **out, lcdc_error **err)
{
    struct archive *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->sink.ops = &lc_sink_parquet;
    self->setup = setup;
    lcdc_status status = prepare(self, err);
    if (status != LCDC_OK)
        archive_close(&self->sink);
    else
        *out = &self->sink;
    return status;
}

static lcdc_status archive_cursor(struct lc_sink *sink, char **out, lcdc_error **err)
{
    const struct archive *self = (struct archive *)sink;
    char *cursor = NULL;
    if (self->cursor) {
        cursor = lc_strdup(self->cursor);
        LC_TRY_ALLOC(cursor);
    }
    *out = cursor;
    return LCDC_OK;
}

/* ---- a window begins ---- */

/*
 * The window itself among the commits since the last whole state. Before that one the same snapshot may have been
 * there under another state of affairs (a table that was rolled back), and stays. A whole state is only ever the last
 * commit again.
 */
static lcdc_status find_again(struct archive *self, const struct lc_window *window, lcdc_error **err)
{
    for (size_t i = self->index.n; window->snapshot >= 0 && i-- > 0;) {
        const struct lc_archive_name *name = &self->index.names[i];
        bool is_it = name->snapshot == window->snapshot && (int)name->kind == (int)window->kind;
        if (is_it) {
            LC_FREE char *folder = lc_archive_commit_path(self->root, name);
            LC_TRY_ALLOC(folder);
            self->again = true;
            return lc_archive_manifest_read(folder, &self->arena, &self->old, err);
        }
        if (name->kind != LC_ARCHIVE_CHANGES || window->kind != LC_WINDOW_CHANGES)
            return LCDC_OK;
    }
    return LCDC_OK;
}

static lcdc_status refuse_second_state(const struct archive *self, const struct lc_window *window, lcdc_error **err)
{
    if (window->kind != LC_WINDOW_SNAPSHOT || self->index.n == 0 || (self->again && self->index.n == 1))
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_NOT_EMPTY,
                   "%s holds %zu commits already, a first state cannot follow them; name another folder", self->root,
                   self->index.n);
}

static lcdc_status make_stage(struct archive *self, lcdc_error **err)
{
    LC_BUF struct lc_buf name = {0};
    lc_buf_init(&name, 256);
    lc_archive_name_print(&name, &self->made.name);
    LC_TRY_BUF(&name);
    LC_TRY(lc_sink_make_folder(self->pending, err));
    self->stage = join(self->pending, name.p);
    LC_TRY_ALLOC(self->stage);
    LC_TRY(lc_archive_remove_folder(self->stage, err));
    return lc_sink_make_folder(self->stage, err);
}

static lcdc_status archive_begin(struct lc_sink *sink, const struct lc_window *window, lcdc_error **err)
{
    struct archive *self = (struct archive *)sink;
    LC_TRY(find_again(self, window, err));
    LC_TRY(refuse_second_state(self, window, err));
    int64_t next = self->index.n ? self->index.names[self->index.n - 1].sequence + 1 : 0;
    self->made = (struct lc_archive_manifest){.name = {.kind = (enum lc_archive_kind)window->kind,
                                                       .sequence = next,
                                                       .snapshot = window->snapshot < 0 ? -1 : window->snapshot,
                                                       .ts_us = window->ts_us},
                                              .images = *self->setup->images};
    if (self->again)
        self->made.name = self->old.name;
    return make_stage(self, err);
}

/* ---- its rows ---- */

static lcdc_status told(struct archive *self, lcdc_status status, lcdc_error **err)
{
    if (status == LCDC_OK || !self->file.error)
        return status;
    return lc_sink_io_error(self->file.path, "cannot be written", self->file.error, err);
}

static lcdc_status begin_part(struct archive *self, lcdc_error **err)
{
    LC_FREE char *path = join(self->stage, "part");
    LC_TRY_ALLOC(path);
    self->file_rows = 0;
    LC_TRY(lc_sink_file_create(path, true, &self->file, err));
    return lcdc_writer_new("parquet", self->setup->schema, NULL, lc_sink_file_write, &self->file, &self->writer, err);
}

static lcdc_status note_part(struct archive *self, struct lc_archive_part *part, lcdc_error **err)
{
    struct lc_archive_manifest *made = &self->made;
    if (made->n_parts == self->cap_parts) {
        size_t cap = self->cap_parts ? self->cap_parts * 2 : 8;
        struct lc_archive_part *parts = lc_arena_array(&self->arena, cap, sizeof(*parts));
        LC_TRY_ALLOC(parts);
        if (made->n_parts)
            memcpy(parts, made->parts, made->n_parts * sizeof(*parts));
        made->parts = parts;
        self->cap_parts = cap;
    }
    made->parts[made->n_parts++] = *part;
    return LCDC_OK;
}

/* Its name is known once everything is in it. */
static lcdc_status end_part(struct archive *self, lcdc_error **err)
{
    LC_BUF struct lc_buf name = {0};
    char sum[LC_CHECKSUM_TEXT];
    if (!self->writer)
        return LCDC_OK;
    LC_TRY(told(self, lcdc_writer_finish(self->writer, err), err));
    lcdc_writer_free(lc_steal(self->writer));
    lc_checksum_text(self->file.sum, sum);
    lc_buf_init(&name, 256);
    lc_buf_printf(&name, "part-%05zu-%.16s.parquet", self->made.n_parts, sum);
    LC_TRY_BUF(&name);
    struct lc_archive_part part = {.rows = self->file_rows, .bytes = self->file.bytes};
    part.name = lc_arena_strdup(&self->arena, name.p);
    part.checksum = lc_arena_strdup(&self->arena, sum);
    char *path = join(self->stage, name.p);
    LC_TRY_ALLOC(part.name && part.checksum && path);
    lc_free(self->file.path);
    self->file.path = path;
    LC_TRY(lc_sink_file_keep(&self->file, err));
    return note_part(self, &part, err);
}

static lcdc_status count_ops(struct archive *self, const struct ArrowArray *rows, lcdc_error **err)
{
    const struct ArrowArray *words = rows->children[LCDC_COL_OP];
    for (int64_t i = 0; i < rows->length; i++) {
        lcdc_op op;
        struct lc_str word = lc_array_str(words, LC_TYPE_STRING, 0, rows->offset + i);
        LC_TRY(lcdc_op_parse(word.p, word.n, &op, err));
        self->made.ops[op]++;
    }
    self->made.rows += rows->length;
    return LCDC_OK;
}

static lcdc_status archive_write(struct lc_sink *sink, const struct ArrowArray *rows, lcdc_error **err)
{
    struct archive *self = (struct archive *)sink;
    LC_TRY(count_ops(self, rows, err));
    for (int64_t at = 0; at < rows->length;) {
        if (self->setup->cancelled && *self->setup->cancelled)
            return lc_fail(err, LC_R_CANCELLED, "the delivery was cancelled");
        if (self->writer && self->file_rows == self->part_rows)
            LC_TRY(end_part(self, err));
        if (!self->writer)
            LC_TRY(begin_part(self, err));
        int64_t room = self->part_rows - self->file_rows, left = rows->length - at;
        struct ArrowArray slice = *rows; /* a view: it is never released */
        slice.offset += at;
        slice.length = left < room ? left : room;
        slice.null_count = rows->null_count ? -1 : 0;
        LC_TRY(told(self, lcdc_writer_batch(self->writer, &slice, err), err));
        self->file_rows += slice.length;
        at += slice.length;
    }
    return LCDC_OK;
}

/* ---- and its end ---- */

/* An archive is of one table: whoever reads it must not be handed another's rows as changes of this one. */
static lcdc_status check_table(const struct archive *self, const char *cursor, lcdc_error **err)
{
    struct lc_cursor before, now;
    if (!self->cursor || lc_cursor_parse(self->cursor, &before, NULL) != LCDC_OK ||
        lc_cursor_parse(cursor, &now, NULL) != LCDC_OK || lc_str_eq(before.table_id, now.table_id))
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_NOT_EMPTY,
                   "%s is the archive of table '%.*s', this window is of table '%.*s'; name another folder", self->root,
                   LC_STR_ARG(before.table_id), LC_STR_ARG(now.table_id));
}

static lcdc_status write_manifest(struct archive *self, const char *folder, lcdc_error **err)
{
    LC_BUF struct lc_buf text = {0};
    LC_FREE char *path = join(folder, "manifest.json");
    LC_TRY_ALLOC(path);
    lc_buf_init(&text, LC_ARCHIVE_MAX_FILE);
    lc_archive_manifest_print(&text, &self->made);
    if (text.failed)
        return lc_fail(err, LC_R_LIMIT, "%s would be longer than %d bytes", path, (int)LC_ARCHIVE_MAX_FILE);
    return lc_sink_write_whole(path, text.p, text.n, err);
}

static lcdc_status put_new(struct archive *self, lcdc_error **err)
{
    LC_FREE char *commits = join(self->root, "commits");
    LC_FREE char *group = lc_archive_group_path(self->root, &self->made.name);
    LC_FREE char *folder = lc_archive_commit_path(self->root, &self->made.name);
    LC_TRY_ALLOC(commits && group && folder);
    LC_TRY(lc_sink_make_folder(commits, err));
    LC_TRY(lc_sink_make_folder(group, err));
    LC_TRY(write_manifest(self, self->stage, err));
    LC_TRY(lc_archive_index_add(&self->index, &self->made.name, err));
    if (rename(self->stage, folder) != 0) {
        int error = errno;
        self->index.n--;
        return lc_sink_io_error(folder, "cannot be put in place", error, err);
    }
    lc_free(lc_steal(self->stage));
    return lc_sink_sync_folder(group, err);
}

static bool is_part_of(const struct lc_archive_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->n_parts; i++)
        if (strcmp(manifest->parts[i].name, name) == 0)
            return true;
    return false;
}

/* The parts go beside the old ones, the manifest takes the old one's place, and what it does not name goes. */
static lcdc_status put_again(struct archive *self, lcdc_error **err)
{
    LC_FREE char *folder = lc_archive_commit_path(self->root, &self->made.name);
    LC_TRY_ALLOC(folder);
    for (size_t i = 0; i < self->made.n_parts; i++) {
        LC_FREE char *from = join(self->stage, self->made.parts[i].name);
        LC_FREE char *to = join(folder, self->made.parts[i].name);
        LC_TRY_ALLOC(from && to);
        if (rename(from, to) != 0)
            return lc_sink_io_error(to, "cannot be put in place", errno, err);
    }
    LC_TRY(lc_sink_sync_folder(folder, err));
    LC_TRY(write_manifest(self, folder, err));
    for (size_t i = 0; i < self->old.n_parts; i++) {
        LC_FREE char *path = join(folder, self->old.parts[i].name);
        LC_TRY_ALLOC(path);
        if (!is_part_of(&self->made, self->old.parts[i].name) && unlink(path) != 0 && errno != ENOENT)
            return lc_sink_io_error(path, "cannot be removed", errno, err);
    }
    return LCDC_OK;
}

static lcdc_status archive_commit(struct lc_sink *sink, const char *cursor, lcdc_error **err)
{
    struct archive *self = (struct archive *)sink;
    LC_FREE char *kept = lc_strdup(cursor);
    LC_TRY_ALLOC(kept);
    LC_TRY(check_table(self, cursor, err));
    LC_TRY(end_part(self, err));
    self->made.cursor = cursor;
    bool is_last = !self->again || self->made.name.sequence == self->index.names[self->index.n - 1].sequence;
    if (self->again)
        LC_TRY(put_again(self, err));
    else
        LC_TRY(put_new(self, err));
    if (is_last) {
        lc_free(self->cursor);
        self->cursor = lc_steal(kept);
    }
    archive_abort(sink); /* nothing is begun any more */
    return LCDC_OK;
}

const struct lc_sink_ops lc_sink_parquet = {.name = "parquet",
                                            .delivery = LC_DELIVERY_EXACTLY_ONCE,
                                            .n_options = sizeof(options) / sizeof(options[0]),
                                            .options = options,
                                            .owns_path = true,
                                            .open = archive_open,
                                            .cursor = archive_cursor,
                                            .begin = archive_begin,
                                            .write = archive_write,
                                            .commit = archive_commit,
                                            .abort = archive_abort,
                                            .close = archive_close};
