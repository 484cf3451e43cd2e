/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/thread.h"

enum { SMALL_BYTES = 1 << 20, MOST_BY_DEFAULT = 4 };

struct job {
    size_t n;
    lc_task task;
    void *context;
    pthread_mutex_t mutex; /* @locks next, failed, status, error */
    size_t next, failed;
    lcdc_status status;
    lcdc_error *error;
};

static size_t processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (size_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (size_t)n : 1;
}

size_t lc_scan_threads(const struct lc_scan_context *context, size_t n, const struct lc_row_set *sets)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < n && bytes < SMALL_BYTES; i++) {
        int64_t size = sets[i].file->size; /* as the metadata claims */
        bytes += size >= 0 && size < SMALL_BYTES ? size : SMALL_BYTES;
    }
    if (bytes < SMALL_BYTES)
        return 1;
    size_t most = (size_t)(context->threads > 0 ? context->threads : MOST_BY_DEFAULT);
    size_t asked = context->threads > 0 ? most : processors();
    most = most < LC_MAX_THREADS ? most : LC_MAX_THREADS;
    return asked < most ? asked : most;
}

static bool take(struct job *job, size_t *out)
{
    pthread_mutex_lock(&job->mutex);
    bool any = job->next < job->n && job->status == LCDC_OK;
    if (any)
        *out = job->next++;
    pthread_mutex_unlock(&job->mutex);
    return any;
}

static void note_failure(struct job *job, size_t i, lcdc_status status, lcdc_error *take_error)
{
    pthread_mutex_lock(&job->mutex);
    if (job->status == LCDC_OK || i < job->failed) {
        lcdc_error_free(job->error);
        job->error = lc_steal(take_error);
        job->status = status;
        job->failed = i;
    }
    pthread_mutex_unlock(&job->mutex);
    lcdc_error_free(take_error);
}

static void *run_tasks(void *argument)
{
    struct job *job = argument;
    for (size_t i; take(job, &i);) {
        lcdc_error *error = NULL;
        lcdc_status status = job->task(job->context, i, &error);
        if (status != LCDC_OK)
            note_failure(job, i, status, error);
    }
    return NULL;
}

lcdc_status lc_parallel(size_t threads, size_t n, lc_task task, void *context, lcdc_error **err)
{
    struct job job = {.n = n, .task = task, .context = context, .mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t others[LC_MAX_THREADS];
    size_t started = 0;
    /* a thread that cannot be had is done without */
    while (started + 1 < threads && started + 1 < n && started < LC_MAX_THREADS &&
           lc_thread_start(&others[started], run_tasks, &job))
        started++;
    run_tasks(&job);
    while (started)
        pthread_join(others[--started], NULL);
    pthread_mutex_destroy(&job.mutex);
    if (job.status == LCDC_OK)
        return LCDC_OK;
    if (err) {
        lcdc_error_free(*err);
        *err = lc_steal(job.error);
    }
    lcdc_error_free(job.error);
    return job.status;
}
