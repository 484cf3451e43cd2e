/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_follow.c - `lakecdc follow`: a table's changes on standard output as they come.
 *
 * One read a look, each with the cursor of the one before. A commit goes out whole: its rows are held back (up to what
 * an output holds) until its end, then the cursor moves. So what a failed read had begun is not printed twice, unless
 * it was too large to hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"

enum { MAX_CURSOR = 1 << 16, LONGEST_WAIT_MS = 60000, FIRST_WAIT_MS = 500 };

struct follow {
    const struct lc_cli_options *options;
    const char *format;
    int64_t interval_ms;
    lcdc_request *request; /* of the next read */
    lcdc_source *source;
    lcdc_feed *feed;
    struct ArrowSchema schema; /* of the writer */
    lcdc_writer *writer;
    struct lc_cli_output output;
    int failures; /* since the last look that went well */
    bool is_kept; /* the cursor of `request` is the one in the file */
    bool is_done; /* nobody reads the output any more */
};

/* ---- options ---- */

static bool parse_duration(const char *text, int64_t *out_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60000}, {"h", 3600000}};
    int64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value))
            return false;
    for (size_t i = 0; p > text && i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(p, units[i].unit) == 0)
            return !__builtin_mul_overflow(value, units[i].ms, out_ms) && *out_ms > 0 && *out_ms <= INT32_MAX;
    return false;
}

static bool is_set(const lcdc_request *request, const char *key)
{
    const char *text = lcdc_request_get(request, key);
    return text && strcmp(text, "false") != 0 && strcmp(text, "0") != 0;
}

static int check_options(struct follow *self)
{
    const struct lc_cli_options *options = self->options;
    const char *to = lcdc_request_get(options->request, "to");
    if (strcmp(self->format, "arrow") == 0 || strcmp(self->format, "parquet") == 0)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage",
                           "follow: %s has an end, and what is followed has none; take jsonl, csv or table",
                           self->format);
    if ((to && strcmp(to, "latest") != 0) || is_set(options->request, "to_exclusive"))
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.conflict",
                           "follow goes on without an end and takes no --to; lakecdc changes reads a range");
    if (is_set(options->request, "net"))
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.conflict",
                           "follow prints every commit and takes no --net: the net change needs two ends");
    if (options->interval && !parse_duration(options->interval, &self->interval_ms))
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.bad_value",
                           "--interval: found '%s', expected a time of 1ms or more: 500ms, 10s, 5m", options->interval);
    return LCDC_OK;
}

/* ---- the request of the next read ---- */

static bool is_bound(const char *key)
{
    static const char *const bounds[] = {"from", "to", "from_exclusive", "to_exclusive", "cursor", "bootstrap"};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (strcmp(key, bounds[i]) == 0)
            return true;
    return false;
}

/* A text of several lines is an option that adds up, a line a time. */
static lcdc_status copy_option(const lcdc_request *from, const char *key, lcdc_request *to, lcdc_error **err)
{
    char line[8192];
    const char *text = lcdc_request_get(from, key);
    for (const char *end; text; text = end && *end ? end + 1 : NULL) {
        end = strcmp(key, "path_map") == 0 ? strchr(text, '\n') : NULL;
        size_t n = end ? (size_t)(end - text) : strlen(text);
        if (end && n < sizeof(line)) {
            memcpy(line, text, n);
            line[n] = 0;
        }
        lcdc_status status = lcdc_request_set(to, key, end && n < sizeof(line) ? line : text, err);
        if (status != LCDC_OK)
            return status;
    }
    return LCDC_OK;
}

/* The same request, from elsewhere: after `cursor`, or (NULL) from the start. */
static lcdc_status make_request(const lcdc_request *from, const char *cursor, lcdc_request **out, lcdc_error **err)
{
    lcdc_request *request = NULL;
    const lcdc_option *option;
    lcdc_status status = lcdc_request_new(&request, err);
    for (size_t i = 0; status == LCDC_OK && (option = lcdc_option_at(i)) != NULL; i++)
        if (!is_bound(option->key))
            status = copy_option(from, option->key, request, err);
    if (status == LCDC_OK && cursor)
        status = lcdc_request_set(request, "cursor", cursor, err);
    if (status == LCDC_OK)
        *out = request;
    else
        lcdc_request_free(request);
    return status;
}

static int move_to(struct follow *self, const char *cursor)
{
    lcdc_error *error = NULL;
    lcdc_request *next = NULL, *last = self->request;
    if (make_request(self->options->request, cursor, &next, &error) != LCDC_OK)
        return lc_cli_error(error);
    lc_cli_interrupt_begin(next);
    self->request = next;
    lcdc_request_free(last);
    return LCDC_OK;
}

/* ---- the cursor's file ---- */

static int cursor_file_error(const struct follow *self, const char *doing, int error)
{
    char text[256];
    return lc_cli_fail(LCDC_IO, "io.failed", "%s: %s: %s", self->options->cursor_file, doing,
                       strerror_r(error, text, sizeof(text)));
}

/* An empty text when there is no file. */
static int read_cursor(const struct follow *self, char cursor[MAX_CURSOR])
{
    cursor[0] = 0;
    int fd = open(self->options->cursor_file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? LCDC_OK : cursor_file_error(self, "cannot be read", errno);
    ssize_t n = read(fd, cursor, MAX_CURSOR - 1);
    int error = n < 0 ? errno : 0;
    (void)close(fd);
    if (error)
        return cursor_file_error(self, "cannot be read", error);
    cursor[n] = 0;
    cursor[strcspn(cursor, "\r\n")] = 0;
    if (!cursor[0])
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cursor.bad", "%s holds no cursor; remove it to begin anew",
                           self->options->cursor_file);
    return LCDC_OK;
}

static int write_file(const char *path, const char *cursor)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    size_t n = strlen(cursor);
    bool written = write(fd, cursor, n) == (ssize_t)n && write(fd, "\n", 1) == 1;
    int error = written && fsync(fd) == 0 ? 0 : errno ? errno : EIO;
    return close(fd) != 0 && !error ? errno : error;
}

static void sync_folder_of(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    int n = slash ? snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path)
                  : snprintf(folder, sizeof(folder), ".");
    int fd = n < (int)sizeof(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    (void)fsync(fd);
    (void)close(fd);
}

/* A look that found nothing new leaves the file alone. */
static int keep_cursor(struct follow *self, const char *cursor)
{
    char partial[4096];
    const char *path = self->options->cursor_file, *last = lcdc_request_get(self->request, "cursor");
    if (!path || !cursor || (self->is_kept && last && strcmp(last, cursor) == 0))
        return LCDC_OK;
    if (snprintf(partial, sizeof(partial), "%s.partial", path) >= (int)sizeof(partial))
        return cursor_file_error(self, "the name", ENAMETOOLONG);
    (void)fdatasync(STDOUT_FILENO); /* where it is a file: its rows must not be younger than the cursor */
    int error = write_file(partial, cursor);
    if (!error && rename(partial, path) != 0)
        error = errno;
    if (error)
        return cursor_file_error(self, "cannot be written", error);
    sync_folder_of(path);
    self->is_kept = true;
    return LCDC_OK;
}

/* ---- rows ---- */

static bool is_same_schema(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    bool same = strcmp(a->format, b->format) == 0 && strcmp(a->name ? a->name : "", b->name ? b->name : "") == 0 &&
                a->n_children == b->n_children;
    for (int64_t i = 0; same && i < a->n_children; i++)
        same = is_same_schema(a->children[i], b->children[i]);
    return same;
}

static void drop_writer(struct follow *self)
{
    lcdc_writer_free(self->writer);
    self->writer = NULL;
    if (self->schema.release)
        self->schema.release(&self->schema);
    self->output.n = 0;
    self->output.flows = false;
}

static lcdc_status new_writer(struct follow *self, struct ArrowSchema *take_schema, lcdc_error **err)
{
    bool is_terminal = lc_cli_is_terminal(STDOUT_FILENO);
    lcdc_writer_options shape = {.color = lc_cli_wants_color(self->options->color, is_terminal ? STDOUT_FILENO : -1),
                                 .width = is_terminal ? lc_cli_terminal_width(STDOUT_FILENO) : 0};
    drop_writer(self);
    self->schema = *take_schema;
    return lcdc_writer_new(self->format, &self->schema, &shape, lc_cli_output_write, &self->output, &self->writer, err);
}

/* A table's columns may change between two looks; the rows from there on are laid out anew. */
static lcdc_status prepare_writer(struct follow *self, lcdc_error **err)
{
    struct ArrowSchema schema = {0};
    lcdc_status status = lcdc_feed_schema(self->feed, &schema, err);
    if (status != LCDC_OK)
        return status;
    if (!self->writer || !is_same_schema(&schema, &self->schema))
        return new_writer(self, &schema, err);
    schema.release(&schema);
    return LCDC_OK;
}

/* The rows are out, then the cursor moves. */
static lcdc_status end_commit(struct follow *self, int *failed, lcdc_error **err)
{
    lcdc_status status = lcdc_writer_flush(self->writer, err);
    if (status != LCDC_OK)
        return status;
    status = lc_cli_output_commit(&self->output);
    self->output.flows = false;
    self->is_done = lc_cli_output_is_broken(&self->output);
    if (status != LCDC_OK) {
        *failed = self->is_done ? LCDC_OK : (int)status;
        return LCDC_IO;
    }
    const char *cursor = lcdc_feed_cursor(self->feed);
    *failed = keep_cursor(self, cursor);
    if (*failed == LCDC_OK)
        *failed = move_to(self, cursor);
    return *failed == LCDC_OK ? LCDC_OK : LCDC_IO;
}

static lcdc_status write_rows(struct follow *self, struct ArrowArray *take_rows, lcdc_error **err)
{
    lcdc_status status = lcdc_writer_batch(self->writer, take_rows, err);
    take_rows->release(take_rows);
    self->is_done = lc_cli_output_is_broken(&self->output);
    return status;
}

/* One look. `*failed` is an exit status that was explained already; otherwise a failure is in `err`. */
static lcdc_status read_all(struct follow *self, int *failed, lcdc_error **err)
{
    lcdc_status status = prepare_writer(self, err);
    for (lcdc_step step = LCDC_STEP_ROWS; status == LCDC_OK && step != LCDC_STEP_END;) {
        struct ArrowArray rows = {0};
        status = lcdc_feed_next(self->feed, &step, &rows, err);
        if (status == LCDC_OK && step == LCDC_STEP_ROWS)
            status = write_rows(self, &rows, err);
        else if (status == LCDC_OK)
            status = end_commit(self, failed, err);
    }
    return status;
}

static void close_source(struct follow *self)
{
    lc_cli_interrupt_watch(NULL);
    lcdc_feed_free(self->feed);
    self->feed = NULL;
    lcdc_source_free(self->source);
    self->source = NULL;
}

static lcdc_status look(struct follow *self, int *failed, lcdc_error **err)
{
    lcdc_status status = LCDC_OK;
    if (!self->source)
        status = lcdc_source_open(self->request, &self->source, err);
    if (status == LCDC_OK)
        status = lcdc_feed_open(self->source, self->request, &self->feed, err);
    if (status != LCDC_OK)
        return status;
    lc_cli_interrupt_watch(self->feed);
    status = read_all(self, failed, err);
    lc_cli_interrupt_watch(NULL);
    lcdc_feed_free(self->feed);
    self->feed = NULL;
    return status;
}

/* ---- going on ---- */

/* Doubles with every failure, between half and all of it, so that many do not come back at once. */
static int64_t next_wait(const struct follow *self)
{
    struct timespec now = {0};
    int64_t most = FIRST_WAIT_MS;
    for (int i = 1; i < self->failures && most < LONGEST_WAIT_MS; i++)
        most *= 2;
    if (most > LONGEST_WAIT_MS)
        most = LONGEST_WAIT_MS;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return most / 2 + now.tv_nsec / 1000 % (most / 2 + 1);
}

static void explain_end(const struct follow *self, const lcdc_error *error)
{
    bool has_file = self->options->cursor_file != NULL;
    lcdc_status status = lcdc_error_status(error);
    bool is_about_place = status == LCDC_GONE || strcmp(lcdc_error_reason(error), "cursor.other_table") == 0 ||
                          (status == LCDC_NOT_FOUND && lcdc_request_get(self->request, "cursor"));
    if (is_about_place && !self->options->quiet)
        fprintf(stderr,
                "lakecdc: follow cannot go on from where it was; to begin anew with the rows of now, %s%s%suse "
                "--bootstrap\n",
                has_file ? "remove " : "", has_file ? self->options->cursor_file : "", has_file ? " and " : "");
}

/* LCDC_OK: to be tried again. */
static int after_failure(struct follow *self, const lcdc_error *error)
{
    drop_writer(self);
    close_source(self);
    if (!lcdc_error_retriable(error)) {
        int status = lc_cli_report(error);
        explain_end(self, error);
        return status;
    }
    self->failures++;
    int64_t wait = next_wait(self);
    if (!self->options->quiet) {
        fputs("lakecdc: warning: ", stderr);
        lc_cli_print_clean(stderr, lcdc_error_message(error));
        fprintf(stderr, " (%s); trying again in %lld.%lld s\n", lcdc_error_reason(error), (long long)(wait / 1000),
                (long long)(wait % 1000 / 100));
    }
    (void)lc_cli_interrupt_sleep(wait);
    return LCDC_OK;
}

static int go_on(struct follow *self)
{
    while (!lc_cli_interrupt_signal()) {
        lcdc_error *error = NULL;
        int failed = LCDC_OK;
        lcdc_status status = look(self, &failed, &error);
        if (self->is_done || lc_cli_interrupt_signal() || failed != LCDC_OK) {
            lcdc_error_free(error);
            return lc_cli_interrupt_signal() ? LCDC_OK : failed;
        }
        if (status != LCDC_OK) {
            failed = after_failure(self, error);
            lcdc_error_free(error);
            if (failed != LCDC_OK)
                return failed;
            continue;
        }
        self->failures = 0;
        (void)lc_cli_interrupt_sleep(self->interval_ms);
    }
    return LCDC_OK;
}

/* ---- the beginning ---- */

static int say_file_wins(const struct follow *self)
{
    const lcdc_request *request = self->options->request;
    bool asked = self->options->has_from || is_set(request, "bootstrap") || is_set(request, "cursor");
    if (asked && !self->options->quiet)
        fprintf(stderr, "lakecdc: going on after the cursor in %s; the start that was asked for is of no account\n",
                self->options->cursor_file);
    return LCDC_OK;
}

/* Without a start it begins with the next commit. */
static int first_request(struct follow *self)
{
    lcdc_error *error = NULL;
    char cursor[MAX_CURSOR] = "";
    const lcdc_request *asked = self->options->request;
    int status = self->options->cursor_file ? read_cursor(self, cursor) : LCDC_OK;
    if (status != LCDC_OK)
        return status;
    const char *given = cursor[0] ? cursor : lcdc_request_get(asked, "cursor");
    self->is_kept = cursor[0] != 0;
    if (cursor[0])
        (void)say_file_wins(self);
    status = move_to(self, given);
    if (status != LCDC_OK || cursor[0])
        return status;
    static const char *const keys[] = {"from", "from_exclusive", "bootstrap"};
    bool has_start = given || is_set(asked, "bootstrap") || self->options->has_from;
    lcdc_status set = LCDC_OK;
    if (!has_start) {
        set = lcdc_request_set(self->request, "from", "latest", &error);
        if (set == LCDC_OK)
            set = lcdc_request_set(self->request, "from_exclusive", "true", &error);
    }
    for (size_t i = 0; has_start && set == LCDC_OK && i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *text = lcdc_request_get(asked, keys[i]);
        bool is_default = strcmp(text, i == 0 ? "start" : "false") == 0;
        if (!is_default)
            set = lcdc_request_set(self->request, keys[i], text, &error);
    }
    return set == LCDC_OK ? LCDC_OK : lc_cli_error(error);
}

int lc_cmd_follow(const struct lc_cli_options *options)
{
    struct follow self = {.options = options, .output = {.fd = -1}, .interval_ms = 1000};
    self.format = options->format ? options->format : lc_cli_is_terminal(STDOUT_FILENO) ? "table" : "jsonl";
    int status = check_options(&self);
    if (status == LCDC_OK)
        status = first_request(&self);
    if (status == LCDC_OK)
        status = lc_cli_output_open(&self.output, NULL);
    if (status == LCDC_OK) {
        lc_cli_interrupt_stay();
        status = go_on(&self);
    }
    drop_writer(&self);
    close_source(&self);
    lc_cli_output_close(&self.output);
    lc_cli_interrupt_begin(NULL);
    lcdc_request_free(self.request);
    return status;
}
