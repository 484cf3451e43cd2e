/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.c - which table a worker takes next, and when that table is due again.
 */
#include <string.h>
#include <time.h>

#include "sync/backoff.h"
#include "sync/sync.h"

/*
 * What fails may fail slowly, and a source or sink that is away makes every table of it fail, one connection timeout
 * each. So a table is in doubt when its last round failed, and as long as its source or sink was not heard of or did
 * not answer the last one; and where there are several workers one of them is for the tables that are not. To find out
 * about a place of which nothing is known, a single table of it may have that worker too.
 */
static struct lc_place *place_of(const lcdc_sync *sync, const struct lc_table_config *table, bool is_sink)
{
    return is_sink ? &sync->sinks[table->sink - sync->config.sinks]
                   : &sync->sources[table->source - sync->config.sources];
}

static bool is_in_doubt(const lcdc_sync *sync, const struct lc_job *job)
{
    return job->has_failed || place_of(sync, job->run.config, false)->is != LC_PLACE_ANSWERS ||
           place_of(sync, job->run.config, true)->is != LC_PLACE_ANSWERS;
}

/* True when it is the first to ask at each place that does not answer yet. */
static bool finds_out(const lcdc_sync *sync, const struct lc_job *job)
{
    bool finds = !job->has_failed;
    for (int i = 0; i < 2; i++) {
        const struct lc_place *place = place_of(sync, job->run.config, i);
        finds &= place->is == LC_PLACE_ANSWERS || (place->is == LC_PLACE_UNKNOWN && place->n_busy == 0);
    }
    return finds;
}

static bool may_take_doubtful(const lcdc_sync *sync)
{
    size_t most = sync->config.workers > 1 ? (size_t)sync->config.workers - 1 : 1, n = 0;
    for (size_t i = 0; i < sync->n_jobs; i++)
        n += sync->jobs[i].is_busy && is_in_doubt(sync, &sync->jobs[i]);
    return n < most;
}

static void set_place(lcdc_sync *sync, const struct lc_table_config *table, bool is_sink, bool answers)
{
    struct lc_place *place = place_of(sync, table, is_sink);
    bool is_news = answers && place->is != LC_PLACE_ANSWERS;
    place->is = answers ? LC_PLACE_ANSWERS : LC_PLACE_SILENT;
    if (is_news)
        (void)pthread_cond_broadcast(&sync->changed);
}

void lc_sync_answered(void *context, const struct lc_table_config *table, bool is_sink)
{
    lcdc_sync *sync = context;
    (void)pthread_mutex_lock(&sync->mutex);
    set_place(sync, table, is_sink, true);
    (void)pthread_mutex_unlock(&sync->mutex);
}

/* What a round says of its places. A table that is stopped asks at none, one with nothing new at its source alone. */
static void judge_places(lcdc_sync *sync, const struct lc_job *job)
{
    const struct lc_table_config *table = job->run.config;
    if (!job->problem && !lc_state_is_stopped(job->run.state.kind)) {
        set_place(sync, table, false, true);
        if (job->run.sink || place_of(sync, table, true)->is == LC_PLACE_UNKNOWN)
            set_place(sync, table, true, true);
    } else if (job->problem && lcdc_error_status(job->problem) == LCDC_UNAVAILABLE) {
        const char *reason = lcdc_error_reason(job->problem);
        bool is_sink = strncmp(reason, "sink.", 5) == 0 || strncmp(reason, "kafka.", 6) == 0;
        set_place(sync, table, is_sink, false);
    }
}

static void count_busy(lcdc_sync *sync, struct lc_job *job, bool is_busy)
{
    job->is_busy = is_busy;
    for (int i = 0; i < 2; i++) {
        struct lc_place *place = place_of(sync, job->run.config, i);
        place->n_busy = is_busy ? place->n_busy + 1 : place->n_busy - 1;
    }
}

/* The table that is due the longest, or NULL; *wait_ms: how long until the next one is, -1 = there is none. */
static struct lc_job *next_job(lcdc_sync *sync, int64_t now, int64_t *wait_ms)
{
    struct lc_job *best = NULL;
    bool may_doubt = may_take_doubtful(sync);
    for (size_t i = 0; i < sync->n_jobs; i++) {
        struct lc_job *job = &sync->jobs[i];
        bool is_free = !job->is_busy && !job->is_done && (!best || job->due_ms < best->due_ms);
        if (is_free && (may_doubt || !is_in_doubt(sync, job) || finds_out(sync, job)))
            best = job;
    }
    *wait_ms = !best ? -1 : best->due_ms > now ? best->due_ms - now : 0;
    return best && *wait_ms == 0 ? best : NULL;
}

static void wait_for(lcdc_sync *sync, int64_t ms)
{
    struct timespec until = {0};
    if (ms < 0) {
        (void)pthread_cond_wait(&sync->changed, &sync->mutex);
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(&sync->changed, &sync->mutex, &until);
}

/* A job to do, marked busy; NULL at the end of the run. */
static struct lc_job *take_job(lcdc_sync *sync)
{
    struct lc_job *job = NULL;
    (void)pthread_mutex_lock(&sync->mutex);
    while (!sync->stopping && sync->n_done < sync->n_jobs) {
        int64_t wait_ms;
        job = next_job(sync, lc_clock_ms(), &wait_ms);
        if (job)
            break;
        wait_for(sync, wait_ms);
    }
    if (job)
        count_busy(sync, job, true);
    (void)pthread_mutex_unlock(&sync->mutex);
    return job;
}

static void give_back(lcdc_sync *sync, struct lc_job *job)
{
    const struct lc_config *config = &sync->config;
    int64_t failures = lc_run_numbers(&job->run).failures;
    int64_t wait = job->problem && failures > 0
                       ? lc_backoff_ms(config->retry_first_ms, config->retry_most_ms, failures, lc_chance())
                       : job->run.config->interval_ms;
    (void)pthread_mutex_lock(&sync->mutex);
    count_busy(sync, job, false);
    judge_places(sync, job);
    job->has_failed = job->problem != NULL;
    job->due_ms = lc_clock_ms() + wait;
    if (sync->once) {
        job->is_done = true;
        sync->n_done++;
    }
    (void)pthread_cond_broadcast(&sync->changed);
    (void)pthread_mutex_unlock(&sync->mutex);
}

void lc_sync_work(lcdc_sync *sync)
{
    struct lc_job *job;
    while ((job = take_job(sync)) != NULL) {
        bool worked = false;
        lcdc_error_free(lc_steal(job->problem));
        if (lc_run_round(&job->run, &worked, &job->problem) == LCDC_OK)
            lcdc_error_free(lc_steal(job->problem));
        give_back(sync, job);
    }
}
