/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/windows.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "lakecdc/writer.h"
#include "sink/file.h"

struct windows {
    struct lc_sink sink;
    const struct lc_sink_setup *setup;
    const char *format, *suffix;
    char *folder;
    int lock;
    bool is_locked;
    enum lc_window_kind kind; /* of the window that was begun */
    char *name;               /* its file, without the folder */
    struct lc_sink_file file;
    lcdc_writer *writer;
};

static char *path_in(const struct windows *self, const char *name)
{
    struct lc_buf path;
    lc_buf_init(&path, 1 << 16);
    lc_buf_printf(&path, "%s/%s", self->folder, name);
    return lc_buf_take(&path);
}

/* ---- names ---- */

static const char *const kind_words[] = {
    [LC_WINDOW_CHANGES] = "", [LC_WINDOW_SNAPSHOT] = "-snapshot", [LC_WINDOW_REPLACE] = "-replace"};

/* Times sort as text; '-' and ':' are left out, which some file systems do not take. */
static char *name_of(const struct windows *self, const struct lc_window *window)
{
    LC_BUF struct lc_buf time = {0};
    struct lc_buf name;
    lc_buf_init(&time, 256);
    lc_buf_init(&name, 1024);
    if (window->ts_us == INT64_MIN)
        lc_buf_text(&time, "unknown");
    else
        lc_print_timestamp(&time, window->ts_us, 6, true);
    for (size_t i = 0; !time.failed && i < time.n; i++)
        if (time.p[i] != '-' && time.p[i] != ':')
            lc_buf_char(&name, time.p[i]);
    lc_buf_printf(&name, "-%" PRId64 "%s.%s", window->snapshot, kind_words[window->kind], self->suffix);
    return time.failed ? NULL : lc_buf_take(&name);
}

static bool ends_with(const char *name, const char *end)
{
    return lc_str_ends(lc_str_of(name), end);
}

/* ---- the folder ---- */

static bool is_window_file(const struct windows *self, const char *name)
{
    size_t n = strlen(name), m = strlen(self->suffix);
    return n > m + 1 && name[n - m - 1] == '.' && ends_with(name, self->suffix);
}

/* Calls `visit` for each file of a window; what it removes meanwhile does no harm. */
static lcdc_status each_file(struct windows *self, lcdc_status (*visit)(struct windows *, const char *, lcdc_error **),
                             lcdc_error **err)
{
    DIR *folder = opendir(self->folder);
    if (!folder)
        return lc_sink_io_error(self->folder, "the folder cannot be read", errno, err);
    lcdc_status status = LCDC_OK;
    for (const struct dirent *entry; status == LCDC_OK && (entry = readdir(folder)) != NULL;)
        status = visit(self, entry->d_name, err);
    (void)closedir(folder);
    return status;
}

static lcdc_status remove_file(struct windows *self, const char *name, lcdc_error **err)
{
    LC_FREE char *path = path_in(self, name);
    LC_TRY_ALLOC(path);
    return unlink(path) == 0 || errno == ENOENT ? LCDC_OK : lc_sink_io_error(path, "cannot be removed", errno, err);
}

static lcdc_status remove_partial(struct windows *self, const char *name, lcdc_error **err)
{
    return ends_with(name, ".partial") ? remove_file(self, name, err) : LCDC_OK;
}

static lcdc_status remove_other(struct windows *self, const char *name, lcdc_error **err)
{
    return is_window_file(self, name) && strcmp(name, self->name) != 0 ? remove_file(self, name, err) : LCDC_OK;
}

/* A first state may take the place of a first state, whose cursor was lost in a crash, and of nothing else. */
static lcdc_status refuse_changes(struct windows *self, const char *name, lcdc_error **err)
{
    LC_BUF struct lc_buf end = {0};
    lc_buf_init(&end, 256);
    lc_buf_printf(&end, "-snapshot.%s", self->suffix);
    LC_TRY_BUF(&end);
    if (!is_window_file(self, name) || ends_with(name, end.p))
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_NOT_EMPTY,
                   "%s holds %s, a first state cannot be put beside it; remove its files or name another folder",
                   self->folder, name);
}

/* ---- the sink ---- */

void lc_windows_close(struct lc_sink *sink)
{
    struct windows *self = (struct windows *)sink;
    if (!self)
        return;
    lc_windows_abort(sink);
    if (self->is_locked)
        (void)close(self->lock);
    lc_free(self->folder);
    lc_free(self);
}

static lcdc_status open_folder(struct windows *self, lcdc_error **err)
{
    LC_TRY(lc_sink_make_folder(self->folder, err));
    LC_FREE char *lock = path_in(self, ".lock");
    LC_TRY_ALLOC(lock);
    LC_TRY(lc_sink_open_locked(lock, &self->lock, err));
    self->is_locked = true;
    return each_file(self, remove_partial, err);
}

lcdc_status lc_windows_open(const struct lc_sink_ops *ops, const struct lc_sink_setup *setup, const char *folder,
                            const char *format, const char *suffix, struct lc_sink **out, lcdc_error **err)
{
    struct windows *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct windows){.sink.ops = ops, .setup = setup, .format = format, .suffix = suffix};
    self->folder = lc_strdup(folder);
    lcdc_status status = self->folder ? open_folder(self, err) : lc_fail_oom(err);
    if (status != LCDC_OK)
        lc_windows_close(&self->sink);
    else
        *out = &self->sink;
    return status;
}

lcdc_status lc_windows_begin(struct lc_sink *sink, const struct lc_window *window, lcdc_error **err)
{
    struct windows *self = (struct windows *)sink;
    self->kind = window->kind;
    self->name = name_of(self, window);
    LC_FREE char *path = self->name ? path_in(self, self->name) : NULL;
    LC_TRY_ALLOC(path);
    if (self->kind == LC_WINDOW_SNAPSHOT)
        LC_TRY(each_file(self, refuse_changes, err));
    LC_TRY(lc_sink_file_create(path, false, &self->file, err));
    return lcdc_writer_new(self->format, self->setup->schema, NULL, lc_sink_file_write, &self->file, &self->writer,
                           err);
}

/* What the writer says of its output knows no file name; the file does. */
static lcdc_status told(struct windows *self, lcdc_status status, lcdc_error **err)
{
    if (status == LCDC_OK || !self->file.error)
        return status;
    return lc_sink_io_error(self->file.path, "cannot be written", self->file.error, err);
}

lcdc_status lc_windows_write(struct lc_sink *sink, const struct ArrowArray *rows, lcdc_error **err)
{
    struct windows *self = (struct windows *)sink;
    if (self->setup->cancelled && *self->setup->cancelled)
        return lc_fail(err, LC_R_CANCELLED, "the delivery was cancelled");
    return told(self, lcdc_writer_batch(self->writer, rows, err), err);
}

lcdc_status lc_windows_commit(struct lc_sink *sink, const char *cursor, lcdc_error **err)
{
    struct windows *self = (struct windows *)sink;
    (void)cursor;
    LC_TRY(told(self, lcdc_writer_finish(self->writer, err), err));
    LC_TRY(lc_sink_file_keep(&self->file, err));
    if (self->kind != LC_WINDOW_CHANGES) {
        LC_TRY(each_file(self, remove_other, err));
        LC_TRY(lc_sink_sync_folder(self->folder, err));
    }
    lc_windows_abort(sink); /* nothing is begun any more */
    return LCDC_OK;
}

void lc_windows_abort(struct lc_sink *sink)
{
    struct windows *self = (struct windows *)sink;
    lcdc_writer_free(lc_steal(self->writer));
    lc_sink_file_drop(&self->file);
    lc_free(lc_steal(self->name));
}
