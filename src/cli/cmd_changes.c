/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_changes.c - `lakecdc changes`: the feed, written in a format.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

/* Everything a run holds; close_run() lets go of all of it in the right order. */
struct run {
    const struct lc_cli_options *options;
    const char *format;
    lcdc_source *source;
    lcdc_feed *feed;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    lcdc_writer *writer;
    struct lc_cli_output output;
    struct lc_cli_progress progress;
    int64_t rows;
};

static void close_run(struct run *run)
{
    lc_cli_progress_clear(&run->progress);
    lcdc_writer_free(run->writer);
    if (run->schema.release)
        run->schema.release(&run->schema);
    if (run->stream.release)
        run->stream.release(&run->stream);
    lc_cli_interrupt_watch(NULL);
    lcdc_feed_free(run->feed);
    lcdc_source_free(run->source);
    lc_cli_output_close(&run->output);
}

static bool to_terminal(const struct lc_cli_options *options)
{
    bool is_standard = !options->output || strcmp(options->output, "-") == 0;
    return is_standard && lc_cli_is_terminal(STDOUT_FILENO);
}

/* What can be refused before anything is opened. */
static int check_options(const struct lc_cli_options *options, const char *format)
{
    bool is_binary = strcmp(format, "arrow") == 0 || strcmp(format, "parquet") == 0;
    if (is_binary && to_terminal(options))
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage",
                           "%s is binary and standard output is a terminal: name a file with --output", format);
    if (options->print_cursor && options->limit >= 0)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.conflict",
                           "--print-cursor cannot be combined with --limit: the rows beyond the limit would be lost");
    return LCDC_OK;
}

/* Whoever reads the output left, or a signal came: what fails after that needs no words of its own. */
static bool is_over(const struct run *run)
{
    return lc_cli_output_is_broken(&run->output) || lc_cli_interrupt_signal();
}

static int stream_error(struct run *run)
{
    const lcdc_error *error = lcdc_error_from_stream(&run->stream);
    return is_over(run) ? (int)lcdc_error_status(error) : lc_cli_report(error);
}

static int writer_error(struct run *run, lcdc_error *take_error)
{
    int status = lcdc_error_status(take_error);
    if (!is_over(run) && !run->output.error)
        return lc_cli_error(take_error);
    lcdc_error_free(take_error);
    return is_over(run) ? status : (int)lc_cli_output_fail(&run->output);
}

static int open_feed(struct run *run)
{
    lcdc_error *error = NULL;
    const lcdc_request *request = run->options->request;
    if (lcdc_source_open(request, &run->source, &error) != LCDC_OK)
        return lc_cli_error(error);
    if (lcdc_feed_open(run->source, request, &run->feed, &error) != LCDC_OK)
        return lc_cli_error(error);
    lc_cli_interrupt_watch(run->feed);
    if (lcdc_feed_stream(run->feed, &run->stream, &error) != LCDC_OK)
        return lc_cli_error(error);
    return run->stream.get_schema(&run->stream, &run->schema) == 0 ? LCDC_OK : stream_error(run);
}

static int open_writer(struct run *run)
{
    lcdc_error *error = NULL;
    bool is_terminal = to_terminal(run->options);
    lcdc_writer_options shape = {.color = lc_cli_wants_color(run->options->color, is_terminal ? STDOUT_FILENO : -1),
                                 .width = is_terminal ? lc_cli_terminal_width(STDOUT_FILENO) : 0};
    lcdc_status status = lc_cli_output_open(&run->output, run->options->output);
    if (status != LCDC_OK)
        return status;
    if (lcdc_writer_new(run->format, &run->schema, &shape, lc_cli_output_write, &run->output, &run->writer, &error) !=
        LCDC_OK)
        return lc_cli_error(error);
    return LCDC_OK;
}

/* A batch is ours to change: the rows past the limit are simply not looked at. */
static void cut(struct ArrowArray *batch, int64_t n)
{
    batch->length = n;
    for (int64_t i = 0; i < batch->n_children; i++) {
        batch->children[i]->length = n;
        batch->children[i]->null_count = -1;
    }
}

static int write_batch(struct run *run, struct ArrowArray *batch)
{
    lcdc_error *error = NULL;
    int64_t left = run->options->limit < 0 ? INT64_MAX : run->options->limit - run->rows;
    if (batch->length > left)
        cut(batch, left);
    run->rows += batch->length;
    lcdc_status status = lcdc_writer_batch(run->writer, batch, &error);
    batch->release(batch);
    return status == LCDC_OK ? LCDC_OK : writer_error(run, error);
}

static int write_rows(struct run *run)
{
    while (run->options->limit < 0 || run->rows < run->options->limit) {
        struct ArrowArray batch = {0};
        if (run->stream.get_next(&run->stream, &batch) != 0)
            return stream_error(run);
        if (!batch.release)
            return LCDC_OK;
        int status = write_batch(run, &batch);
        if (status != LCDC_OK)
            return status;
        lc_cli_progress_update(&run->progress, run->feed, run->rows);
    }
    return LCDC_OK;
}

static int finish(struct run *run)
{
    lcdc_error *error = NULL;
    lc_cli_progress_clear(&run->progress);
    if (lcdc_writer_finish(run->writer, &error) != LCDC_OK)
        return writer_error(run, error);
    return lc_cli_output_commit(&run->output);
}

static void say_more(struct run *run)
{
    const struct lc_cli_options *options = run->options;
    const char *cursor = options->print_cursor ? lcdc_feed_cursor(run->feed) : NULL;
    if (run->rows == 0 && options->limit != 0 && to_terminal(options) && !options->quiet)
        fputs("no changes in this range\n", stderr);
    if (options->print_cursor)
        fprintf(stderr, "%s\n", cursor ? cursor : "");
    if (options->stats)
        fprintf(stderr, "%s\n", lcdc_feed_stats_json(run->feed));
}

static int run_steps(struct run *run)
{
    static int (*const steps[])(struct run *) = {open_feed, open_writer, write_rows, finish};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int status = steps[i](run);
        if (status != LCDC_OK)
            return lc_cli_output_is_broken(&run->output) ? LCDC_OK : status; /* a reader that had enough is no failure
                                                                                of ours */
    }
    say_more(run);
    return LCDC_OK;
}

int lc_cmd_changes(const struct lc_cli_options *options)
{
    struct run run = {.options = options, .output = {.fd = -1}};
    run.format = options->format ? options->format : to_terminal(options) ? "table" : "jsonl";
    int status = check_options(options, run.format);
    if (status != LCDC_OK)
        return status;
    lc_cli_progress_begin(&run.progress, options->quiet);
    status = run_steps(&run);
    close_run(&run);
    if (status == LCDC_OK || !lc_cli_interrupt_signal())
        return status;
    (void)lc_cli_fail(LCDC_CANCELLED, "cancelled", "interrupted");
    return 128 + lc_cli_interrupt_signal();
}
