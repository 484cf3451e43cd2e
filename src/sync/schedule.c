/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.c - which table a worker takes next, and when that table is due again.
 */
#include <time.h>

#include "sync/backoff.h"
#include "sync/sync.h"

/* What fails may fail slowly: one worker, where there are several, is for the tables that do not fail. */
static bool may_fail_more(const lcdc_sync *sync)
{
    size_t most = sync->config.workers > 1 ? (size_t)sync->config.workers - 1 : 1, n = 0;
    for (size_t i = 0; i < sync->n_jobs; i++)
        n += sync->jobs[i].is_busy && sync->jobs[i].has_failed;
    return n < most;
}

/* The table that is due the longest, or NULL; *wait_ms: how long until the next one is, -1 = there is none. */
static struct lc_job *next_job(lcdc_sync *sync, int64_t now, int64_t *wait_ms)
{
    struct lc_job *best = NULL;
    bool may_fail = may_fail_more(sync);
    for (size_t i = 0; i < sync->n_jobs; i++) {
        struct lc_job *job = &sync->jobs[i];
        bool is_free = !job->is_busy && !job->is_done && (may_fail || !job->has_failed);
        if (is_free && (!best || job->due_ms < best->due_ms))
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
        job->is_busy = true;
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
    job->is_busy = false;
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
