/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - the law: rows before the range + feed = rows at its end, as multisets.
 *
 * A multiset is summed up as its row count and the 128-bit sum of its row hashes, so memory does not grow with the
 * table. When a range breaks the law, prefixes of it are tried by halving until the first commit that breaks it is
 * found.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/reading.h"

struct multiset {
    int64_t rows;
    struct lc_hash sum;
};

static void multiset_add(struct multiset *set, const struct lc_hash *hashes, int64_t n,
                         const struct lc_change_batch *batch, struct multiset *befores)
{
    for (int64_t i = 0; i < n; i++) {
        struct multiset *to = befores && lc_is_before((uint8_t)lc_change_op(batch, i)) ? befores : set;
        to->rows++;
        lc_hash_sum(&to->sum, 1, &hashes[i], NULL);
    }
}

static lcdc_status sum_stream(struct lc_change_stream *stream, const struct lc_field *columns, struct multiset *set,
                              struct multiset *befores, lcdc_error **err)
{
    for (;;) {
        LC_CHANGE_BATCH struct lc_change_batch batch = {0};
        bool more = false;
        LC_TRY(lc_change_next(stream, &batch, &more, err));
        if (!more)
            return LCDC_OK;
        LC_FREE struct lc_hash *hashes = lc_alloc((size_t)batch.n * sizeof(*hashes));
        LC_TRY_ALLOC(hashes);
        if (batch.n)
            LC_TRY(lc_row_hash(columns, &batch.images, 0, NULL, hashes, err));
        multiset_add(set, hashes, batch.n, &batch, befores);
    }
}

static lcdc_status sum_state(struct lc_reading *reading, bool at_end, struct multiset *out, lcdc_error **err)
{
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    LC_TRY(reading->read->ops->snapshot(reading->read, at_end, &reading->shape, &stream, err));
    return sum_stream(stream, &reading->columns, out, NULL, err);
}

static lcdc_status verify_once(lcdc_source *source, const lcdc_request *request, lcdc_verify_result *out,
                               lcdc_error **err)
{
    LC_CLEANUP(lc_reading_freep) struct lc_reading *reading = NULL;
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    struct multiset start = {0}, end = {0}, inserts = {0}, deletes = {0};
    LC_TRY(lc_reading_open(source, request, false, &reading, err));
    if (!reading->read->ops->snapshot)
        return lc_fail(err, LC_R_REQUEST_CONFLICT, "verify: backend %s cannot read a snapshot",
                       lc_source_backend(source)->name);
    LC_TRY(sum_state(reading, false, &start, err));
    LC_TRY(sum_state(reading, true, &end, err));
    LC_TRY(reading->read->ops->changes(reading->read, &reading->shape, &stream, err));
    LC_TRY(sum_stream(stream, &reading->columns, &inserts, &deletes, err));
    bool holds = start.rows + inserts.rows - deletes.rows == end.rows &&
                 start.sum.a + inserts.sum.a - deletes.sum.a == end.sum.a &&
                 start.sum.b + inserts.sum.b - deletes.sum.b == end.sum.b;
    *out = (lcdc_verify_result){.from_rows = start.rows,
                                .to_rows = end.rows,
                                .inserts = inserts.rows,
                                .deletes = deletes.rows,
                                .holds = holds,
                                .first_bad_snapshot = -1};
    return LCDC_OK;
}

/* Nothing of a sum has left before it is whole, so every failure that another backend may do better is answered by it.
 */
struct verifying {
    lcdc_source *source;
    const lcdc_request *request;
    lcdc_verify_result *out;
};

static lcdc_status verify_step(void *context, lcdc_error **err)
{
    const struct verifying *verifying = context;
    return verify_once(verifying->source, verifying->request, verifying->out, err);
}

static lcdc_status set_end(lcdc_request *request, int64_t snapshot, lcdc_error **err)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, snapshot);
    LC_TRY(lcdc_request_set(request, "to", text, err));
    return lcdc_request_set(request, "to_exclusive", "false", err);
}

/* Smallest prefix of the range that breaks the law, by halving; its last commit is the culprit. */
static lcdc_status find_first_bad(lcdc_source *source, const lcdc_request *request, int64_t *out, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *prefix = NULL;
    lcdc_plan *plan = NULL;
    LC_TRY(lc_request_dup(request, &prefix, err));
    LC_TRY(lcdc_plan_new(source, request, &plan, err));
    size_t low = 0, high = lcdc_plan_commit_count(plan);
    lcdc_status status = LCDC_OK;
    while (status == LCDC_OK && high > low + 1) {
        lcdc_verify_result result = {0};
        size_t middle = low + (high - low) / 2; /* the prefix of `middle` commits */
        status = set_end(prefix, lcdc_plan_commit_at(plan, middle - 1)->snapshot, err);
        if (status != LCDC_OK)
            break;
        status = verify_once(source, prefix, &result, err);
        if (result.holds)
            low = middle;
        else
            high = middle;
    }
    if (status == LCDC_OK && high > low)
        *out = lcdc_plan_commit_at(plan, high - 1)->snapshot;
    lcdc_plan_free(plan);
    return status;
}

/* The request with its shape left out. A copy is made from the options' texts, so that is where they are taken away. */
static lcdc_status without_shape(const lcdc_request *request, lcdc_request **out, lcdc_error **err)
{
    static const enum lc_option_id shape[] = {LC_OPT_where, LC_OPT_columns,   LC_OPT_identity, LC_OPT_fold,
                                              LC_OPT_net,   LC_OPT_drop_noop, LC_OPT_bootstrap};
    LC_CLEANUP(lcdc_request_freep) lcdc_request *copy = NULL;
    LC_TRY(lc_request_dup(request, &copy, err));
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
        copy->texts[shape[i]] = NULL;
    return lc_request_dup(copy, out, err);
}

lcdc_status lcdc_verify(lcdc_source *source, const lcdc_request *request, lcdc_verify_result *out, lcdc_error **err)
{
    if (!source || !request || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_verify: a source, a request and an output are needed");
    LC_CLEANUP(lcdc_request_freep) lcdc_request *whole = NULL;
    lcdc_verify_result result = {0};
    LC_TRY(without_shape(request, &whole, err));
    source->shared.cancelled = &request->cancelled;
    struct verifying verifying = {source, whole, &result};
    lcdc_status status = lc_source_attempt(source, whole, verify_step, &verifying, err);
    if (status == LCDC_OK && !result.holds)
        status = find_first_bad(source, whole, &result.first_bad_snapshot, err);
    source->shared.cancelled = NULL;
    LC_TRY(status);
    *out = result;
    return LCDC_OK;
}
