/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a whole read of a table, from request to last batch, to be run while allocations fail.
 *
 * Every job on a table begins with opening it, so one test fails the allocations of opening and the jobs start after
 * them.
 */
#ifndef LC_TESTS_TORTURE_JOB_H
#define LC_TESTS_TORTURE_JOB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lakecdc/lakecdc.h"
#include "support/torture.h"

struct job {
    const char *table;
    const char *path_map; /* NULL: none */
    const char *what;     /* open, changes, plan, verify */
    const char *options[16];
};

static inline lcdc_status read_all(lcdc_source *source, const lcdc_request *request, lcdc_error **err)
{
    lcdc_feed *feed = NULL;
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    lcdc_status status = lcdc_feed_open(source, request, &feed, err);
    if (status == LCDC_OK)
        status = lcdc_feed_stream(feed, &stream, err);
    bool failed = status == LCDC_OK && stream.get_schema(&stream, &schema) != 0;
    for (bool more = status == LCDC_OK && !failed; more;) {
        struct ArrowArray batch = {0};
        failed = stream.get_next(&stream, &batch) != 0;
        more = !failed && batch.release;
        if (batch.release)
            batch.release(&batch);
    }
    if (failed) {
        status = lcdc_error_status(lcdc_error_from_stream(&stream));
        (void)lc_alloc_fail_after(-1); /* from here on only the error is handed on */
        if (err)
            *err = lc_error_dup(lcdc_error_from_stream(&stream));
    }
    if (schema.release)
        schema.release(&schema);
    if (stream.release)
        stream.release(&stream);
    lcdc_feed_free(feed);
    return status;
}

static inline lcdc_status run_on(const struct job *job, lcdc_source *source, const lcdc_request *request,
                                 lcdc_error **err)
{
    if (strcmp(job->what, "plan") == 0) {
        lcdc_plan *plan = NULL;
        lcdc_status status = lcdc_plan_new(source, request, &plan, err);
        lcdc_plan_free(plan);
        return status;
    }
    if (strcmp(job->what, "open") == 0)
        return LCDC_OK;
    if (strcmp(job->what, "verify") == 0) {
        lcdc_verify_result result;
        return lcdc_verify(source, request, &result, err);
    }
    return read_all(source, request, err);
}

static inline lcdc_status run(void *context, lcdc_error **err)
{
    const struct job *job = context;
    lcdc_request *request = NULL;
    lcdc_source *source = NULL;
    lcdc_status status = lcdc_request_new(&request, err);
    if (status == LCDC_OK)
        status = lcdc_request_set(request, "table", job->table, err);
    if (status == LCDC_OK && job->path_map)
        status = lcdc_request_set(request, "path_map", job->path_map, err);
    for (size_t i = 0; status == LCDC_OK && job->options[i]; i += 2)
        status = lcdc_request_set(request, job->options[i], job->options[i + 1], err);
    if (status == LCDC_OK)
        status = lcdc_source_open(request, &source, err);
    if (status == LCDC_OK)
        status = run_on(job, source, request, err);
    lcdc_source_free(source);
    lcdc_request_free(request);
    return status;
}

/* The allocations of the job when it does only `what`: the part that another test fails. */
static inline int64_t allocations_of(const struct job *job, const char *what)
{
    struct job part = *job;
    lcdc_error *err = NULL;
    part.what = what;
    (void)lc_alloc_fail_after(-1);
    assert_int_equal(run(&part, &err), LCDC_OK);
    return lc_alloc_fail_after(-1);
}

#define OPEN_JOB(name, at, map)                                                                                        \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        struct job job = {.table = at, .path_map = map, .what = "open"};                                               \
        (void)state;                                                                                                   \
        assert_true(lc_torture(run, &job));                                                                            \
    }

#define JOB(name, at, map, after, verb, ...)                                                                           \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        struct job job = {.table = at, .path_map = map, .what = verb, .options = {__VA_ARGS__}};                       \
        (void)state;                                                                                                   \
        assert_true(lc_torture_from(allocations_of(&job, after), run, &job));                                          \
    }

#endif
