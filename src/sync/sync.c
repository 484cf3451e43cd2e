/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - a sync as an object: opened from a config, checked, run, stopped.
 */
#include "sync/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/storage.h"
#include "sync/keys.h"

enum { METRICS_MS = 5000 };

/* ---- opening ---- */

static const char *from_environment(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static lcdc_status read_config(lcdc_sync *sync, const char *path, lcdc_error **err)
{
    const struct lc_config_world world = {.sinks = lc_sinks, .lookup = from_environment};
    LC_CLEANUP(lc_storage_freep) struct lc_storage *files = NULL;
    LC_BUF struct lc_buf text = {.max = LC_YAML_MAX_BYTES + 1};
    LC_FREE char *place = NULL;
    LC_TRY(lc_location_normalise(path, &place, err));
    LC_TRY(lc_storage_arrow(&files, err));
    LC_TRY(lc_storage_read(files, place, LC_YAML_MAX_BYTES, &text, err));
    return lc_config_parse((struct lc_str){text.p ? text.p : "", text.n}, path, &world, &sync->config, err);
}

static lcdc_status apply_options(lcdc_sync *sync, const lcdc_sync_options *options, lcdc_error **err)
{
    int64_t interval;
    sync->once = options->once || options->dry_run;
    sync->world.dry_run = options->dry_run;
    if (options->interval) {
        if (!lc_parse_duration(options->interval, &interval))
            return lc_fail(err, LC_R_OPTION_VALUE,
                           "interval: found '%.100s', expected a number and ms, s, m, h or d, such as 30s",
                           options->interval);
        for (size_t i = 0; i < sync->config.n_tables; i++)
            sync->config.tables[i].interval_ms = interval;
    }
    if (options->log_format) {
        if (!lc_is_word("text json", options->log_format))
            return lc_fail(err, LC_R_OPTION_VALUE, "log_format: found '%.100s', expected text or json",
                           options->log_format);
        sync->config.log_json = strcmp(options->log_format, "json") == 0;
    }
    sync->log.function = options->log;
    sync->log.context = options->log_context;
    sync->log.json = sync->config.log_json;
    sync->log.least = sync->config.log_level;
    return LCDC_OK;
}

static lcdc_status make_jobs(lcdc_sync *sync, lcdc_error **err)
{
    sync->world.config = &sync->config;
    sync->world.log = &sync->log;
    sync->world.stopping = &sync->stopping;
    sync->world.answered = lc_sync_answered;
    sync->world.context = sync;
    sync->sources = lc_calloc(sync->config.n_sources, sizeof(*sync->sources));
    LC_TRY_ALLOC(sync->sources);
    sync->sinks = lc_calloc(sync->config.n_sinks, sizeof(*sync->sinks));
    LC_TRY_ALLOC(sync->sinks);
    sync->jobs = lc_calloc(sync->config.n_tables, sizeof(*sync->jobs));
    LC_TRY_ALLOC(sync->jobs);
    for (; sync->n_jobs < sync->config.n_tables; sync->n_jobs++)
        lc_run_init(&sync->jobs[sync->n_jobs].run, &sync->config.tables[sync->n_jobs], &sync->world);
    return LCDC_OK;
}

static lcdc_status init(lcdc_sync *sync, const char *path, const lcdc_sync_options *options, lcdc_error **err)
{
    static const lcdc_sync_options none;
    pthread_condattr_t attributes;
    sync->wake[0] = sync->wake[1] = -1;
    (void)pthread_mutex_init(&sync->mutex, NULL);
    (void)pthread_mutex_init(&sync->log.mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&sync->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (pipe2(sync->wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return lc_fail(err, LC_R_LIMIT, "no more files can be opened");
    LC_TRY(read_config(sync, path, err));
    LC_TRY(apply_options(sync, options ? options : &none, err));
    return make_jobs(sync, err);
}

lcdc_status lcdc_sync_open(const char *config, const lcdc_sync_options *options, lcdc_sync **out, lcdc_error **err)
{
    if (!config || !*config || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_sync_open: a config and an output are needed");
    lcdc_sync *sync = lc_calloc(1, sizeof(*sync));
    LC_TRY_ALLOC(sync);
    lcdc_status status = init(sync, config, options, err);
    if (status == LCDC_OK)
        *out = sync;
    else
        lcdc_sync_free(sync);
    return status;
}

void lcdc_sync_free(lcdc_sync *sync)
{
    if (!sync)
        return;
    for (size_t i = 0; i < sync->n_jobs; i++) {
        lc_run_done(&sync->jobs[i].run);
        lcdc_error_free(sync->jobs[i].problem);
    }
    lc_free(sync->jobs);
    lc_free(sync->sources);
    lc_free(sync->sinks);
    lcdc_ledger_free(sync->world.ledger);
    for (int i = 0; i < 2; i++)
        if (sync->wake[i] >= 0)
            (void)close(sync->wake[i]);
    (void)pthread_cond_destroy(&sync->changed);
    (void)pthread_mutex_destroy(&sync->mutex);
    (void)pthread_mutex_destroy(&sync->log.mutex);
    lc_config_done(&sync->config);
    lc_free(sync);
}

const char *lcdc_sync_ledger(const lcdc_sync *sync)
{
    return sync->config.ledger;
}

void lcdc_sync_log(lcdc_sync *sync, int level, const char *target, const char *message)
{
    struct lc_line line;
    lc_line_begin(&line, &sync->log, level, "remark", NULL);
    lc_line_text(&line, "target", target);
    lc_line_text(&line, "message", message);
    lc_line_end(&line);
}

/* ---- stopping ---- */

static void wake(lcdc_sync *sync)
{
    int saved = errno;
    ssize_t written = write(sync->wake[1], "", 1);
    (void)written; /* a pipe that is full wakes as well */
    errno = saved;
}

void lcdc_sync_stop(lcdc_sync *sync)
{
    if (!sync)
        return;
    sync->stopping = 1;
    wake(sync);
}

static void cancel_all(lcdc_sync *sync)
{
    (void)pthread_mutex_lock(&sync->mutex);
    (void)pthread_cond_broadcast(&sync->changed);
    (void)pthread_mutex_unlock(&sync->mutex);
    for (size_t i = 0; i < sync->n_jobs; i++)
        lc_run_cancel(&sync->jobs[i].run);
}

/* ---- running ---- */

static void *work(void *context)
{
    lcdc_sync *sync = context;
    lc_sync_work(sync);
    wake(sync);
    return NULL;
}

static bool all_done(lcdc_sync *sync)
{
    (void)pthread_mutex_lock(&sync->mutex);
    bool done = sync->once && sync->n_done == sync->n_jobs;
    (void)pthread_mutex_unlock(&sync->mutex);
    return done;
}

static void write_metrics(lcdc_sync *sync)
{
    LC_ERROR lcdc_error *problem = NULL;
    if (lc_metrics_write(sync, &problem) != LCDC_OK)
        lcdc_sync_log(sync, LCDC_LOG_WARN, "lakecdc.metrics", lcdc_error_message(problem));
}

static void wait_for_the_end(lcdc_sync *sync)
{
    struct pollfd pipe = {.fd = sync->wake[0], .events = POLLIN};
    char bytes[64];
    while (!sync->stopping && !all_done(sync)) {
        write_metrics(sync);
        (void)poll(&pipe, 1, sync->config.metrics_file ? METRICS_MS : -1);
        while (read(sync->wake[0], bytes, sizeof(bytes)) > 0)
            continue;
    }
}

static size_t start_workers(lcdc_sync *sync, pthread_t *threads, size_t wanted)
{
    size_t n = 0;
    while (n < wanted && pthread_create(&threads[n], NULL, work, sync) == 0)
        n++;
    return n;
}

static lcdc_status run_workers(lcdc_sync *sync, lcdc_error **err)
{
    size_t wanted = (size_t)sync->config.workers < sync->n_jobs ? (size_t)sync->config.workers : sync->n_jobs;
    LC_FREE pthread_t *threads = lc_calloc(wanted, sizeof(*threads));
    LC_TRY_ALLOC(threads);
    size_t n = start_workers(sync, threads, wanted);
    if (n == 0)
        return lc_fail(err, LC_R_LIMIT, "no thread can be started");
    wait_for_the_end(sync);
    if (sync->stopping)
        cancel_all(sync);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    write_metrics(sync);
    return LCDC_OK;
}

/* A table that was stopped before this run has its reason in the ledger. */
static lcdc_status recall_problem(struct lc_job *job)
{
    const struct lc_state *state = &job->run.state;
    if (!job->problem && lc_state_is_stopped(state->kind) && state->kind != LC_STATE_PAUSED)
        return lc_fail(&job->problem, LC_R_SYNC_FAILED, "is stopped (%s): %.1000s", lc_state_word(state->kind),
                       state->error_message ? state->error_message : "see lakecdc ledger show");
    return LCDC_OK;
}

static lcdc_status first_problem(lcdc_sync *sync, lcdc_error **err)
{
    size_t troubled = 0;
    const struct lc_job *first = NULL;
    if (!sync->once)
        return LCDC_OK;
    if (sync->stopping && sync->n_done < sync->n_jobs)
        return lc_fail(err, LC_R_CANCELLED, "stopped before every table had its turn");
    for (size_t i = 0; i < sync->n_jobs; i++) {
        (void)recall_problem(&sync->jobs[i]);
        if (!sync->jobs[i].problem)
            continue;
        troubled++;
        first = first ? first : &sync->jobs[i];
    }
    if (!first)
        return LCDC_OK;
    lcdc_status status = lcdc_error_status(first->problem);
    if (err) {
        lcdc_error_free(*err);
        *err = lc_error_dup(first->problem);
        lc_error_prefix(err, "%zu of %zu tables did not succeed; table '%.100s'", troubled, sync->n_jobs,
                        first->run.config->name);
    }
    return lc_failed(status);
}

/* ---- checking ---- */

static lcdc_status say_checked(const struct lc_table_run *run, size_t n_columns, lcdc_write_fn out, void *context,
                               lcdc_error **err)
{
    LC_BUF struct lc_buf line = {.max = 1 << 16};
    lc_buf_printf(&line, "%s: ok, %zu columns from %s to %s\n", run->config->name, n_columns, run->config->shown,
                  run->config->sink->name);
    LC_TRY_BUF(&line);
    if (out(context, line.p, line.n) != 0)
        return lc_fail(err, LC_R_IO_FAILED, "the output cannot be written");
    return LCDC_OK;
}

lcdc_status lcdc_sync_check(lcdc_sync *sync, lcdc_write_fn out, void *context, lcdc_error **err)
{
    if (!sync || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_sync_check: a sync and an output are needed");
    for (size_t i = 0; i < sync->n_jobs; i++) {
        struct lc_table_run *run = &sync->jobs[i].run;
        LC_ERROR lcdc_error *problem = NULL;
        size_t n_columns = 0;
        lcdc_status status = lc_run_check(run, &n_columns, &problem);
        if (status == LCDC_OK) {
            LC_TRY(say_checked(run, n_columns, out, context, err));
            continue;
        }
        if (strncmp(lcdc_error_reason(problem), "config.", 7) != 0)
            lc_error_prefix(&problem, "%s:%d: table '%.100s'", sync->config.path, run->config->line, run->config->name);
        if (err) {
            lcdc_error_free(*err);
            *err = lc_steal(problem);
        }
        return status;
    }
    return LCDC_OK;
}

/* ---- a run ---- */

static void log_edge(lcdc_sync *sync, const char *event)
{
    struct lc_line line;
    lc_line_begin(&line, &sync->log, LCDC_LOG_INFO, event, NULL);
    lc_line_text(&line, "config", sync->config.path);
    lc_line_text(&line, "ledger", sync->config.ledger);
    lc_line_number(&line, "tables", (int64_t)sync->n_jobs);
    lc_line_end(&line);
}

/* A dry run looks at the ledger without holding it, so that one may be made beside a sync that is running. */
static lcdc_status open_ledger(lcdc_sync *sync, lcdc_error **err)
{
    if (sync->world.ledger)
        return LCDC_OK;
    if (sync->world.dry_run && access(sync->config.ledger, F_OK) != 0)
        return LCDC_OK;
    return lcdc_ledger_open(sync->config.ledger, !sync->world.dry_run, &sync->world.ledger, err);
}

lcdc_status lcdc_sync_run(lcdc_sync *sync, lcdc_error **err)
{
    if (!sync)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_sync_run: a sync is needed");
    LC_TRY(open_ledger(sync, err));
    if (!sync->world.dry_run)
        LC_TRY(lc_metrics_open(sync, err));
    log_edge(sync, "started");
    lcdc_status status = run_workers(sync, err);
    lc_metrics_close(sync);
    log_edge(sync, "ended");
    return status == LCDC_OK ? first_problem(sync, err) : status;
}
