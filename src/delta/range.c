/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times: a version at or after the in-commit switch is found by its in-commit timestamp, an earlier one by its file
 * time (protocol, "In-Commit Timestamps"); a commit exactly at a bound counts as inside. A time after the newest commit
 * is an empty range, not an error, so that a scheduled read of a quiet table succeeds.
 */
#include "delta/range.h"

#include <inttypes.h>

#include "delta/schema.h"

struct times {
    struct lc_delta_log *log;
    struct lc_delta_timeline latest;
    int64_t first, last; /* versions whose commits are there without a gap */
};

static void times_done(struct times *times)
{
    lc_delta_timeline_done(&times->latest);
}

static lcdc_status time_of(struct times *times, int64_t version, int64_t *ts_us, lcdc_error **err)
{
    int64_t ts_ms;
    bool has_ts;
    LC_TRY(lc_delta_commit_time(times->log, &times->latest.states[0], version, &ts_ms, &has_ts, err));
    if (!has_ts || __builtin_mul_overflow(ts_ms, 1000, ts_us))
        return lc_fail(err, LC_R_RANGE, "version %" PRId64 " has no usable commit time, give versions instead",
                       version);
    return LCDC_OK;
}

/* The first version with a time >= ts (or > ts); last + 1 when there is none. Times rise with versions on either side
   of the switch to in-commit times, but not across it (the files of a copied log are younger than what they tell): a
   time at or after the switch belongs to its far side. */
static lcdc_status first_at(struct times *times, int64_t ts_us, bool after, int64_t *out, lcdc_error **err)
{
    int64_t low = times->first, high = times->last + 1, switched;
    int64_t in_commit_from = lc_delta_in_commit_ts_from(&times->latest.states[0].metadata);
    if (low < in_commit_from && in_commit_from < high) {
        LC_TRY(time_of(times, in_commit_from, &switched, err));
        *(ts_us >= switched ? &low : &high) = in_commit_from;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2, ts;
        LC_TRY(time_of(times, middle, &ts, err));
        if (after ? ts > ts_us : ts >= ts_us)
            high = middle;
        else
            low = middle + 1;
    }
    *out = low;
    return LCDC_OK;
}

static lcdc_status open_times(struct times *times, struct lc_delta_log *log, lcdc_error **err)
{
    *times = (struct times){.log = log, .first = lc_delta_log_first_whole(log), .last = log->latest};
    if (times->first > times->last)
        return lc_fail(err, LC_R_RANGE, "the log holds no commits to find times in, give versions instead");
    return lc_delta_timeline_read(log, NULL, times->last, times->last, &times->latest, err);
}

/* A start before the oldest commit that is left would lose rows in silence. */
static lcdc_status check_reach(struct times *times, const struct lc_bound *bound, lcdc_error **err)
{
    int64_t first_ts;
    LC_TRY(time_of(times, times->first, &first_ts, err));
    if (times->first == 0 || bound->ts_us >= first_ts)
        return LCDC_OK;
    lcdc_status status = lc_fail(err, LC_R_DELTA_VERSION_GONE,
                                 "from %s lies before the oldest commit that is left in the log, version %" PRId64
                                 "; start there, or with --bootstrap to begin from a snapshot",
                                 bound->text, times->first);
    lc_error_detail(err, "servable_from", "%" PRId64, times->first);
    lc_error_detail(err, "servable_to", "%" PRId64, times->last);
    return status;
}

static lcdc_status by_time(struct lc_delta_log *log, const struct lc_bound *bound, bool is_from, bool exclusive,
                           int64_t *out, lcdc_error **err)
{
    LC_CLEANUP(times_done) struct times times = {0};
    LC_TRY(open_times(&times, log, err));
    if (is_from)
        LC_TRY(check_reach(&times, bound, err));
    LC_TRY(first_at(&times, bound->ts_us, is_from ? exclusive : !exclusive, out, err));
    *out -= !is_from;
    return LCDC_OK;
}

static lcdc_status no_names(const struct lc_bound *bound, lcdc_error **err)
{
    return lc_fail(err, LC_R_RANGE, "'%s' is neither a version nor a time; Delta tables have no tags", bound->text);
}

static lcdc_status check_version(const struct lc_delta_log *log, int64_t version, int64_t most, lcdc_error **err)
{
    if (version < 0)
        return lc_fail(err, LC_R_RANGE, "version %" PRId64 " is negative", version);
    if (version <= most)
        return LCDC_OK;
    lcdc_status status = lc_fail(err, LC_R_DELTA_VERSION_MISSING,
                                 "version %" PRId64 " does not exist, the latest is %" PRId64, version, log->latest);
    lc_error_detail(err, "latest", "%" PRId64, log->latest);
    return status;
}

static lcdc_status resolve_from(struct lc_delta_log *log, const lcdc_request *request, int64_t *out, lcdc_error **err)
{
    const struct lc_bound *from = &request->from;
    switch (from->kind) {
    case LC_BOUND_START:
        *out = request->from_exclusive ? 1 : 0;
        return LCDC_OK;
    case LC_BOUND_LATEST:
        *out = log->latest + request->from_exclusive;
        return LCDC_OK;
    case LC_BOUND_ID:
        /* the version after the latest is where a reader stands that has seen everything */
        LC_TRY(check_version(log, from->id, log->latest + !request->from_exclusive, err));
        *out = from->id + request->from_exclusive;
        return LCDC_OK;
    case LC_BOUND_TIMESTAMP:
        return by_time(log, from, true, request->from_exclusive, out, err);
    case LC_BOUND_NAME:
        return no_names(from, err);
    }
    return LCDC_OK;
}

static lcdc_status resolve_to(struct lc_delta_log *log, const lcdc_request *request, int64_t *out, lcdc_error **err)
{
    const struct lc_bound *to = &request->to;
    switch (to->kind) {
    case LC_BOUND_START:
        *out = 0 - (int64_t)request->to_exclusive;
        return LCDC_OK;
    case LC_BOUND_LATEST:
        *out = log->latest - request->to_exclusive;
        return LCDC_OK;
    case LC_BOUND_ID:
        LC_TRY(check_version(log, to->id, log->latest, err));
        *out = to->id - request->to_exclusive;
        return LCDC_OK;
    case LC_BOUND_TIMESTAMP:
        return by_time(log, to, false, request->to_exclusive, out, err);
    case LC_BOUND_NAME:
        return no_names(to, err);
    }
    return LCDC_OK;
}

/* Bounds given as ids the wrong way round are a mistake; an exclusive end that meets the start is nothing to read. */
static lcdc_status check_order(const lcdc_request *request, lcdc_error **err)
{
    const struct lc_bound *from = &request->from, *to = &request->to;
    bool ids = from->kind == LC_BOUND_ID && to->kind == LC_BOUND_ID && from->id > to->id;
    bool times = from->kind == LC_BOUND_TIMESTAMP && to->kind == LC_BOUND_TIMESTAMP && from->ts_us > to->ts_us;
    if (ids || times)
        return lc_fail(err, LC_R_RANGE, "the range ends (%s) before it begins (%s)", to->text, from->text);
    return LCDC_OK;
}

lcdc_status lc_delta_range_resolve(struct lc_delta_log *log, const lcdc_request *request, struct lc_delta_range *out,
                                   lcdc_error **err)
{
    if (request->branch)
        return lc_fail(err, LC_R_REQUEST_CONFLICT, "branch: Delta tables have no branches");
    if (!request->cursor)
        LC_TRY(check_order(request, err));
    LC_TRY(resolve_to(log, request, &out->to, err));
    if (request->bootstrap && request->from.kind == LC_BOUND_START) {
        int64_t oldest = lc_delta_oldest_snapshot(log);
        if (oldest < 0)
            return lc_fail(err, LC_R_DELTA_NO_STATE, "%s: no snapshot can be built from what is left of the log",
                           log->folder);
        out->from = oldest + 1;
        return LCDC_OK;
    }
    LC_TRY(resolve_from(log, request, &out->from, err));
    /* the state at `from` is the snapshot, the changes come after it; after the latest there is nothing but that */
    out->from += request->bootstrap && out->from <= log->latest;
    return LCDC_OK;
}
