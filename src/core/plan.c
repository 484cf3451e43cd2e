/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - what a read would touch, commit by commit. */
#include <inttypes.h>

#include "core/reading.h"

struct lcdc_plan {
    size_t n, cap;
    lcdc_plan_commit *commits;
    char *json, *stats;
};

static lcdc_status add_commit(lcdc_plan *plan, const lcdc_plan_commit *commit, lcdc_error **err)
{
    if (plan->n == plan->cap) {
        size_t cap = plan->cap ? plan->cap * 2 : 64;
        lcdc_plan_commit *commits = lc_realloc(plan->commits, cap, sizeof(*commits));
        if (!commits) {
            lc_free((char *)(uintptr_t)commit->detail);
            return lc_fail_oom(err);
        }
        plan->commits = commits;
        plan->cap = cap;
    }
    plan->commits[plan->n++] = *commit;
    return LCDC_OK;
}

static lcdc_status collect(lcdc_plan *plan, struct lc_reading *reading, lcdc_error **err)
{
    for (;;) {
        lcdc_plan_commit commit = {0};
        bool more = false;
        LC_TRY(reading->read->ops->plan_next(reading->read, &reading->shape, &commit, &more, err));
        if (!more)
            return LCDC_OK;
        LC_TRY(add_commit(plan, &commit, err));
    }
}

static void print_commit(const lcdc_plan_commit *c, struct lc_buf *json)
{
    lc_buf_printf(json, "{\"snapshot\":%" PRId64 ",\"ts_us\":", c->snapshot);
    if (c->ts_us == INT64_MIN)
        lc_buf_text(json, "null");
    else
        lc_buf_printf(json, "%" PRId64, c->ts_us);
    lc_buf_printf(json, ",\"method\":\"%s\",\"detail\":", c->method);
    lc_buf_json_string(json, lc_str_of(c->detail));
    lc_buf_printf(json,
                  ",\"files\":%" PRId64 ",\"files_pruned\":%" PRId64 ",\"pruned_by\":{\"partition\":%" PRId64
                  ",\"statistics\":%" PRId64 "},\"rows\":%" PRId64 ",\"bytes\":%" PRId64 "}",
                  c->files, c->files_pruned, c->pruned_by_partition, c->pruned_by_statistics, c->rows, c->bytes);
}

static lcdc_status print_plan(lcdc_plan *plan, const struct lc_read *read, const char *backend, lcdc_error **err)
{
    struct lc_buf json;
    lc_buf_init(&json, LC_BUF_MAX);
    lc_buf_printf(&json, "{\"backend\":\"%s\",\"format\":\"%s\",\"table_id\":", backend, read->format);
    lc_buf_json_string(&json, lc_str_of(read->table_id));
    lc_buf_text(&json, ",\"commits\":[");
    for (size_t i = 0; i < plan->n; i++) {
        if (i)
            lc_buf_char(&json, ',');
        print_commit(&plan->commits[i], &json);
    }
    lc_buf_text(&json, "]}");
    plan->json = lc_buf_take(&json);
    LC_TRY_ALLOC(plan->json);
    return LCDC_OK;
}

static lcdc_status print_stats(lcdc_plan *plan, struct lc_read *read, lcdc_error **err)
{
    struct lc_buf json;
    lc_buf_init(&json, 1 << 16);
    lc_buf_printf(&json, "{\"commits\":%zu", plan->n);
    if (read->ops->stats) {
        lc_buf_char(&json, ',');
        read->ops->stats(read, &json);
    }
    lc_buf_char(&json, '}');
    lc_free(plan->stats);
    plan->stats = lc_buf_take(&json);
    LC_TRY_ALLOC(plan->stats);
    return LCDC_OK;
}

static void clear(lcdc_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        lc_free((char *)(uintptr_t)plan->commits[i].detail);
    plan->n = 0;
}

/* Where a backend's word cannot be trusted before the first batch came, that is asked for: so a plan falls back where
   the read would, and names the backend that will do the work. */
static lcdc_status try_first_batch(struct lc_reading *reading, lcdc_error **err)
{
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    LC_CHANGE_BATCH struct lc_change_batch batch = {0};
    bool more = false;
    LC_TRY(lc_reading_start(reading, &stream, err));
    return lc_change_next(stream, &batch, &more, err);
}

struct making {
    lcdc_plan *plan;
    lcdc_source *source;
    const lcdc_request *request;
};

static lcdc_status fill(void *context, lcdc_error **err)
{
    const struct making *making = context;
    const struct lc_backend *backend = lc_source_backend(making->source);
    LC_CLEANUP(lc_reading_freep) struct lc_reading *reading = NULL;
    clear(making->plan);
    LC_TRY(lc_reading_open(making->source, making->request, true, &reading, err));
    LC_TRY(collect(making->plan, reading, err));
    if (backend->may_fall_back)
        LC_TRY(try_first_batch(reading, err));
    LC_TRY(print_stats(making->plan, reading->read, err));
    return print_plan(making->plan, reading->read, backend->name, err);
}

lcdc_status lcdc_plan_new(lcdc_source *source, const lcdc_request *request, lcdc_plan **out, lcdc_error **err)
{
    if (!source || !request || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_plan_new: a source, a request and an output are needed");
    lcdc_plan *plan = lc_calloc(1, sizeof(*plan));
    LC_TRY_ALLOC(plan);
    struct making making = {plan, source, request};
    const _Atomic int *outer = source->shared.cancelled; /* of a call that needs a plan on its way */
    source->shared.cancelled = outer ? outer : &request->cancelled;
    lcdc_status status = lc_source_attempt(source, request, fill, &making, err);
    source->shared.cancelled = outer;
    if (status == LCDC_OK)
        *out = plan;
    else
        lcdc_plan_free(plan);
    return status;
}

size_t lcdc_plan_commit_count(const lcdc_plan *plan)
{
    return plan ? plan->n : 0;
}

const lcdc_plan_commit *lcdc_plan_commit_at(const lcdc_plan *plan, size_t i)
{
    return plan && i < plan->n ? &plan->commits[i] : NULL;
}

const char *lcdc_plan_json(const lcdc_plan *plan)
{
    return plan ? plan->json : "{}";
}

const char *lcdc_plan_stats_json(const lcdc_plan *plan)
{
    return plan ? plan->stats : "{}";
}

void lcdc_plan_free(lcdc_plan *plan)
{
    if (!plan)
        return;
    clear(plan);
    lc_free(plan->commits);
    lc_free(plan->json);
    lc_free(plan->stats);
    lc_free(plan);
}
