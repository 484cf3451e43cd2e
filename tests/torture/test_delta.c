/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_delta.c - every allocation of a Delta read fails once: each failure is told as such, nothing is lost or leaked.
 *
 * Several requests over the sample table, so that every method and every stage is on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lakecdc/lakecdc.h"
#include "support/torture.h"

struct job {
    const char *what; /* open, changes, plan, verify */
    const char *options[16];
};

static lcdc_status read_all(lcdc_source *source, const lcdc_request *request, lcdc_error **err)
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

static lcdc_status run_on(const struct job *job, lcdc_source *source, const lcdc_request *request, lcdc_error **err)
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

static lcdc_status run(void *context, lcdc_error **err)
{
    const struct job *job = context;
    lcdc_request *request = NULL;
    lcdc_source *source = NULL;
    lcdc_status status = lcdc_request_new(&request, err);
    if (status == LCDC_OK)
        status = lcdc_request_set(request, "table", LC_TEST_TABLE, err);
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

/* Allocations of opening the table: every job begins with them, one fails them. */
static int64_t opening;

static void test_open(void **state)
{
    struct job job = {.what = "open"};
    lcdc_error *err = NULL;
    (void)state;
    (void)lc_alloc_fail_after(-1);
    assert_int_equal(run(&job, &err), LCDC_OK);
    opening = lc_alloc_fail_after(-1);
    assert_true(lc_torture(run, &job));
}

#define JOB(name, verb, ...)                                                                                           \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        struct job job = {.what = verb, .options = {__VA_ARGS__}};                                                     \
        (void)state;                                                                                                   \
        assert_true(lc_torture_from(opening, run, &job));                                                              \
    }

JOB(test_changes, "changes", "from", "2", "to", "6")
JOB(test_identity_and_fold, "changes", "from", "5", "to", "5", "identity", "order_id", "fold", "true")
JOB(test_net, "changes", "from", "4", "to", "5", "identity", "order_id", "net", "true", "drop_noop", "true")
JOB(test_filter_and_columns, "changes", "from", "5", "to", "5", "columns", "order_id", "where", "order_id > 2", "drop_noop", "true")
JOB(test_bootstrap, "changes", "from", "4", "to", "5", "bootstrap", "true")
JOB(test_plan, "plan", "from", "5", "to", "6")
JOB(test_verify, "verify", "from", "4", "to", "4")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open), cmocka_unit_test(test_changes), cmocka_unit_test(test_identity_and_fold), cmocka_unit_test(test_net),
        cmocka_unit_test(test_filter_and_columns), cmocka_unit_test(test_bootstrap), cmocka_unit_test(test_plan),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
