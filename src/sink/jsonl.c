/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonl.c - the "jsonl" sink: one file that grows by a commit at a time, or a folder with a file per commit.
 *
 * The file that grows has a small one beside it, FILE.lakecdc.json, which says how many of its bytes are committed and
 * under which cursor. It is replaced in one step once the bytes are on the disk; what lies behind that offset is what a
 * crash left of a window, and is cut off before the next one. So the file and the cursor never disagree.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "io/json.h"
#include "lakecdc/writer.h"
#include "sink/file.h"
#include "sink/windows.h"

enum { MAX_STATE = 1 << 20 };

static const struct lc_sink_option options[] = {
    {.key = "path", .required = true, .help = "the file, or with files: window the folder"},
    {.key = "files", .initial = "one", .words = "one window", .help = "one file that grows, or a file per commit"},
};

/* A place in the file at which it is whole. */
struct mark {
    int64_t offset;
    char *cursor; /* NULL before the first window */
};

struct state {
    struct mark now, before; /* after the last window and before it */
    bool has_window;
    struct lc_window window; /* the last one; its kind and snapshot */
    bool replacing;          /* FILE.partial is to become FILE */
};

struct jsonl {
    struct lc_sink sink;
    const struct lc_sink_setup *setup;
    char *path, *state_path;
    int fd;
    bool is_open, is_begun;
    bool is_unsure; /* the state was being replaced when something failed: which one is on the disk is not known */
    struct state state;
    struct lc_window window; /* that was begun */
    int64_t end;             /* of what was written */
    int error;               /* errno of the first write that failed */
    lcdc_writer *writer;
    struct lc_sink_file whole; /* a new file, for a window that replaces everything */
};

/* ---- what is remembered ---- */

static void state_done(struct state *state)
{
    lc_free(state->now.cursor);
    lc_free(state->before.cursor);
    *state = (struct state){0};
}

static void print_mark(struct lc_buf *json, const struct mark *mark)
{
    lc_buf_printf(json, "{\"offset\":%" PRId64 ",\"cursor\":", mark->offset);
    if (mark->cursor)
        lc_buf_json_string(json, lc_str_of(mark->cursor));
    else
        lc_buf_text(json, "null");
    lc_buf_char(json, '}');
}

static lcdc_status write_state(struct jsonl *self, const struct state *state, lcdc_error **err)
{
    LC_BUF struct lc_buf json = {0};
    lc_buf_init(&json, MAX_STATE);
    lc_buf_text(&json, "{\"table\":");
    lc_buf_json_string(&json, lc_str_of(self->setup->table));
    lc_buf_text(&json, ",\"committed\":");
    print_mark(&json, &state->now);
    lc_buf_text(&json, ",\"before\":");
    print_mark(&json, &state->before);
    if (state->has_window)
        lc_buf_printf(&json, ",\"window\":{\"kind\":%d,\"snapshot\":%" PRId64 "}", (int)state->window.kind,
                      state->window.snapshot);
    lc_buf_printf(&json, ",\"replacing\":%s}\n", state->replacing ? "true" : "false");
    LC_TRY_BUF(&json);
    return lc_sink_write_whole(self->state_path, json.p, json.n, err);
}

static bool parse_mark(const struct json_t *json, struct mark *out)
{
    struct lc_str cursor;
    if (!lc_json_get_i64(json, "offset", &out->offset) || out->offset < 0)
        return false;
    if (!lc_json_get_str(json, "cursor", &cursor))
        return true;
    out->cursor = lc_strndup(cursor.p, cursor.n);
    return out->cursor != NULL;
}

static bool parse_state(const struct json_t *json, struct state *out)
{
    const struct json_t *window = lc_json_member(json, "window");
    int64_t kind = LC_WINDOW_CHANGES;
    if (!parse_mark(lc_json_member(json, "committed"), &out->now) ||
        !parse_mark(lc_json_member(json, "before"), &out->before) || out->before.offset < 0 ||
        !lc_json_get_bool(json, "replacing", &out->replacing))
        return false;
    out->has_window = lc_json_get_i64(window, "kind", &kind) &&
                      lc_json_get_i64(window, "snapshot", &out->window.snapshot) && kind >= LC_WINDOW_CHANGES &&
                      kind <= LC_WINDOW_REPLACE;
    out->window.kind = (enum lc_window_kind)kind;
    return true;
}

/* The cursor of one table must not be taken for another's. */
static lcdc_status check_table(const struct jsonl *self, const struct json_t *json, lcdc_error **err)
{
    struct lc_str table;
    if (!lc_json_get_str(json, "table", &table) || lc_str_is(table, self->setup->table))
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_OTHER_TABLE,
                   "%s is written by table '%.*s', not by '%.100s'; give this one another path, or remove it and %s to "
                   "start anew",
                   self->path, LC_STR_ARG(table), self->setup->table, self->state_path);
}

static lcdc_status read_state(struct jsonl *self, bool *found, lcdc_error **err)
{
    LC_BUF struct lc_buf text = {0};
    LC_JSON struct json_t *json = NULL;
    lc_buf_init(&text, MAX_STATE + 1);
    LC_TRY(lc_sink_read_whole(self->state_path, MAX_STATE, &text, found, err));
    if (!*found)
        return LCDC_OK;
    if (lc_json_parse((struct lc_str){text.p, text.n}, &json, NULL) == LCDC_OK && parse_state(json, &self->state))
        return check_table(self, json, err);
    return lc_fail(err, LC_R_SINK_ALTERED,
                   "%s is damaged, it said how much of %s is committed; restore it, or remove both to start anew",
                   self->state_path, self->path);
}

/* ---- opening ---- */

static lcdc_status open_file(struct jsonl *self, lcdc_error **err)
{
    if (self->is_open)
        (void)close(self->fd);
    self->is_open = false;
    LC_TRY(lc_sink_open_locked(self->path, &self->fd, err));
    self->is_open = true;
    return LCDC_OK;
}

static lcdc_status cut_to(struct jsonl *self, int64_t offset, lcdc_error **err)
{
    return ftruncate(self->fd, (off_t)offset) == 0 ? LCDC_OK
                                                   : lc_sink_io_error(self->path, "cannot be cut", errno, err);
}

/* A file that was there before the sink is gone on with, from a whole line. */
static lcdc_status adopt(struct jsonl *self, int64_t size, lcdc_error **err)
{
    char last = '\n';
    if (size > 0 && pread(self->fd, &last, 1, (off_t)(size - 1)) != 1)
        return lc_sink_io_error(self->path, "cannot be read", errno, err);
    if (last != '\n')
        return lc_fail(err, LC_R_SINK_NOT_EMPTY, "%s ends in the middle of a line, expected JSON lines to go on after",
                       self->path);
    self->state = (struct state){.now.offset = size, .before.offset = size};
    return write_state(self, &self->state, err);
}

/* A crash came between the decision to replace the file and its end: the new one is complete. */
static lcdc_status finish_replacing(struct jsonl *self, lcdc_error **err)
{
    LC_BUF struct lc_buf partial = {0};
    lc_buf_init(&partial, 1 << 16);
    lc_buf_printf(&partial, "%s.partial", self->path);
    LC_TRY_BUF(&partial);
    if (rename(partial.p, self->path) != 0 && errno != ENOENT)
        return lc_sink_io_error(self->path, "cannot be replaced", errno, err);
    self->state.replacing = false;
    LC_TRY(open_file(self, err));
    return write_state(self, &self->state, err);
}

static lcdc_status prepare(struct jsonl *self, lcdc_error **err)
{
    struct stat info;
    bool found;
    LC_TRY(open_file(self, err));
    LC_TRY(read_state(self, &found, err));
    if (found && self->state.replacing)
        LC_TRY(finish_replacing(self, err));
    if (fstat(self->fd, &info) != 0)
        return lc_sink_io_error(self->path, "cannot be read", errno, err);
    if (!found)
        return adopt(self, info.st_size, err);
    int64_t committed = self->state.now.offset;
    if (info.st_size < committed)
        return lc_fail(err, LC_R_SINK_ALTERED,
                       "%s has %" PRId64 " bytes, %" PRId64 " were committed; restore it, or remove it and %s to start "
                       "anew",
                       self->path, (int64_t)info.st_size, committed, self->state_path);
    if (info.st_size > committed)
        lc_log(LCDC_LOG_INFO, "lakecdc.sink", "%s: %" PRId64 " bytes of a window that was not committed are cut off",
               self->path, (int64_t)info.st_size - committed);
    return cut_to(self, committed, err);
}

static void jsonl_abort(struct lc_sink *sink)
{
    struct jsonl *self = (struct jsonl *)sink;
    lcdc_writer_free(lc_steal(self->writer));
    if (self->is_unsure && self->window.kind == LC_WINDOW_REPLACE) /* the state may say that it becomes the file */
        lc_free(lc_steal(self->whole.partial));
    lc_sink_file_drop(&self->whole);
    bool has_tail = self->is_open && self->is_begun && !self->is_unsure;
    if (has_tail && ftruncate(self->fd, (off_t)self->state.now.offset) != 0) /* the next begin tries again */
        lc_log(LCDC_LOG_WARN, "lakecdc.sink", "%s: a window that was given up is still at its end", self->path);
    self->is_begun = false;
}

static void jsonl_close(struct lc_sink *sink)
{
    struct jsonl *self = (struct jsonl *)sink;
    if (!self)
        return;
    jsonl_abort(sink);
    if (self->is_open)
        (void)close(self->fd);
    state_done(&self->state);
    lc_free(self->path);
    lc_free(self->state_path);
    lc_free(self);
}

/* ---- a window ---- */

/* The last window comes again: the file as it was before it, first in the state and then on the disk. */
static lcdc_status step_back(struct jsonl *self, lcdc_error **err)
{
    struct state *state = &self->state;
    struct state back = {.now = state->before, .before = state->before};
    LC_TRY(write_state(self, &back, err));
    lc_free(state->now.cursor);
    state->now = state->before;
    state->before = (struct mark){.offset = state->now.offset};
    state->has_window = false;
    return cut_to(self, state->now.offset, err);
}

static int write_bytes(void *context, const void *bytes, size_t n)
{
    struct jsonl *self = context;
    const char *p = bytes;
    while (n && !self->error) {
        ssize_t written = pwrite(self->fd, p, n, (off_t)self->end);
        if (written < 0 && errno != EINTR)
            self->error = errno;
        if (written > 0) {
            p += written;
            n -= (size_t)written;
            self->end += written;
        }
    }
    return self->error;
}

static lcdc_status jsonl_begin(struct lc_sink *sink, const struct lc_window *window, lcdc_error **err)
{
    struct jsonl *self = (struct jsonl *)sink;
    const struct state *state = &self->state;
    self->window = *window;
    self->error = 0;
    if (!self->is_open)
        LC_TRY(open_file(self, err));
    if (self->is_unsure)
        LC_TRY(write_state(self, state, err));
    self->is_unsure = false;
    bool again = state->has_window && window->snapshot >= 0 && window->snapshot == state->window.snapshot &&
                 window->kind == state->window.kind;
    if (again && window->kind != LC_WINDOW_REPLACE)
        LC_TRY(step_back(self, err));
    LC_TRY(cut_to(self, state->now.offset, err));
    self->end = state->now.offset;
    self->is_begun = true;
    bool whole = window->kind == LC_WINDOW_REPLACE;
    if (whole)
        LC_TRY(lc_sink_file_create(self->path, false, &self->whole, err));
    return lcdc_writer_new("jsonl", self->setup->schema, NULL, whole ? lc_sink_file_write : write_bytes,
                           whole ? (void *)&self->whole : self, &self->writer, err);
}

/* What the writer says of its output knows no file name. */
static lcdc_status told(const struct jsonl *self, lcdc_status status, lcdc_error **err)
{
    int error = self->error ? self->error : self->whole.error;
    return status == LCDC_OK || !error ? status : lc_sink_io_error(self->path, "cannot be written", error, err);
}

static lcdc_status jsonl_write(struct lc_sink *sink, const struct ArrowArray *rows, lcdc_error **err)
{
    struct jsonl *self = (struct jsonl *)sink;
    if (self->setup->cancelled && *self->setup->cancelled)
        return lc_fail(err, LC_R_CANCELLED, "the delivery was cancelled");
    return told(self, lcdc_writer_batch(self->writer, rows, err), err);
}

/* The new file is on the disk; whatever happens after the state says so, it becomes the file. */
static lcdc_status replace(struct jsonl *self, struct state *next, lcdc_error **err)
{
    LC_TRY(lc_sink_file_sync(&self->whole, err));
    next->now.offset = next->before.offset = self->whole.bytes;
    next->replacing = true;
    self->is_unsure = true;
    LC_TRY(write_state(self, next, err));
    LC_TRY(lc_sink_file_keep(&self->whole, err));
    next->replacing = false;
    LC_TRY(open_file(self, err));
    return write_state(self, next, err);
}

static lcdc_status extend(struct jsonl *self, const struct state *next, lcdc_error **err)
{
    if (fsync(self->fd) != 0)
        return lc_sink_io_error(self->path, "cannot be written", errno, err);
    self->is_unsure = true;
    return write_state(self, next, err);
}

static lcdc_status jsonl_commit(struct lc_sink *sink, const char *cursor, lcdc_error **err)
{
    struct jsonl *self = (struct jsonl *)sink;
    LC_FREE char *kept = cursor ? lc_strdup(cursor) : NULL;
    if (cursor)
        LC_TRY_ALLOC(kept);
    LC_TRY(told(self, lcdc_writer_finish(self->writer, err), err));
    struct state next = {.now = {.offset = self->end, .cursor = kept},
                         .before = self->state.now,
                         .has_window = true,
                         .window = self->window};
    if (self->window.kind == LC_WINDOW_REPLACE)
        LC_TRY(replace(self, &next, err));
    else
        LC_TRY(extend(self, &next, err));
    self->is_unsure = false;
    lc_free(self->state.before.cursor);
    self->state = next;
    (void)lc_steal(kept);
    jsonl_abort(sink); /* nothing is begun any more; the file ends where the state says */
    return LCDC_OK;
}

static lcdc_status jsonl_cursor(struct lc_sink *sink, char **out, lcdc_error **err)
{
    const struct jsonl *self = (struct jsonl *)sink;
    char *cursor = NULL;
    if (self->state.now.cursor) {
        cursor = lc_strdup(self->state.now.cursor);
        LC_TRY_ALLOC(cursor);
    }
    *out = cursor;
    return LCDC_OK;
}

/* ---- the sink ---- */

static const struct lc_sink_ops windows_ops = {.name = "jsonl",
                                               .delivery = LC_DELIVERY_IDEMPOTENT,
                                               .n_options = sizeof(options) / sizeof(options[0]),
                                               .options = options,
                                               .begin = lc_windows_begin,
                                               .write = lc_windows_write,
                                               .commit = lc_windows_commit,
                                               .abort = lc_windows_abort,
                                               .close = lc_windows_close};

static lcdc_status open_one(const struct lc_sink_setup *setup, const char *path, struct lc_sink **out, lcdc_error **err)
{
    LC_BUF struct lc_buf state_path = {0};
    struct jsonl *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    lc_buf_init(&state_path, 1 << 16);
    lc_buf_printf(&state_path, "%s.lakecdc.json", path);
    *self = (struct jsonl){.sink.ops = &lc_sink_jsonl, .setup = setup};
    self->path = lc_strdup(path);
    self->state_path = lc_buf_take(&state_path);
    lcdc_status status = self->path && self->state_path ? prepare(self, err) : lc_fail_oom(err);
    if (status != LCDC_OK)
        jsonl_close(&self->sink);
    else
        *out = &self->sink;
    return status;
}

static lcdc_status jsonl_open(const struct lc_sink_setup *setup, struct lc_sink **out, lcdc_error **err)
{
    LC_FREE char *path = NULL;
    bool is_folder;
    const char *text = lc_sink_setting(&lc_sink_jsonl, setup, "path");
    bool per_window = lc_str_is(lc_str_of(lc_sink_setting(&lc_sink_jsonl, setup, "files")), "window");
    LC_TRY(lc_sink_local_path("jsonl", text ? text : "", &path, &is_folder, err));
    if (per_window)
        return lc_windows_open(&windows_ops, setup, path, "jsonl", "jsonl", out, err);
    if (is_folder)
        return lc_fail(err, LC_R_OPTION_VALUE,
                       "jsonl: path is the folder %.200s, expected a file; a folder takes files: window", path);
    return open_one(setup, path, out, err);
}

const struct lc_sink_ops lc_sink_jsonl = {.name = "jsonl",
                                          .delivery = LC_DELIVERY_EXACTLY_ONCE,
                                          .n_options = sizeof(options) / sizeof(options[0]),
                                          .options = options,
                                          .owns_path = true,
                                          .open = jsonl_open,
                                          .cursor = jsonl_cursor,
                                          .begin = jsonl_begin,
                                          .write = jsonl_write,
                                          .commit = jsonl_commit,
                                          .abort = jsonl_abort,
                                          .close = jsonl_close};
