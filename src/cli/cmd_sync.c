/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_sync.c - `lakecdc sync`: a config checked, begun, or run until a signal comes.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

static int write_stdout(void *context, const void *bytes, size_t n)
{
    (void)context;
    (void)fwrite(bytes, 1, n, stdout); /* main looks at what stdio could not write */
    return 0;
}

static void log_line(void *context, const char *line)
{
    (void)context;
    flockfile(stderr);
    fputs(line, stderr);
    fputc('\n', stderr);
    funlockfile(stderr);
}

static void remark(void *context, lcdc_log_level level, const char *target, const char *message)
{
    lcdc_sync_log(context, (int)level, target, message);
}

static int bad_combination(const char *what)
{
    return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage", "sync: %s", what);
}

static int check_options(const struct lc_cli_options *options)
{
    bool runs = options->once || options->dry_run || options->interval || options->log_format;
    if (!options->word)
        return bad_combination("a CONFIG is needed; see lakecdc help sync");
    if (options->init && (options->check || runs))
        return bad_combination("--init prints a config and does nothing else");
    if (options->check && runs)
        return bad_combination("--check runs nothing");
    return LCDC_OK;
}

static int run(lcdc_sync *sync, const struct lc_cli_options *options)
{
    lcdc_error *error = NULL;
    lcdc_log_set(remark, sync, LCDC_LOG_DEBUG);
    lc_cli_interrupt_sync(sync);
    lcdc_status status = options->check ? lcdc_sync_check(sync, write_stdout, NULL, &error)
                                        : lcdc_sync_run(sync, &error);
    lc_cli_interrupt_sync(NULL);
    lcdc_log_set(NULL, NULL, LCDC_LOG_WARN);
    return status == LCDC_OK ? LCDC_OK : lc_cli_error(error);
}

int lc_cmd_sync(const struct lc_cli_options *options)
{
    lcdc_error *error = NULL;
    lcdc_sync *sync = NULL;
    int status = check_options(options);
    if (status != LCDC_OK)
        return status;
    if (options->init)
        return lcdc_sync_starter(options->request, write_stdout, NULL, &error) == LCDC_OK ? LCDC_OK
                                                                                          : lc_cli_error(error);
    const lcdc_sync_options settings = {.once = options->once,
                                        .dry_run = options->dry_run,
                                        .interval = options->interval,
                                        .log_format = options->log_format,
                                        .log = options->check ? NULL : log_line};
    if (lcdc_sync_open(options->word, &settings, &sync, &error) != LCDC_OK)
        return lc_cli_error(error);
    status = run(sync, options);
    lcdc_sync_free(sync);
    return status;
}
