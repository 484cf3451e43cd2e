/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of a snapshot is the chain of its ancestors, oldest first, as far as the metadata still has them. A bound is
 * a place in the line of the end; one that has no place there is explained: never there, expired, or on another line.
 */
#include "iceberg/range.h"

#include <inttypes.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

struct line {
    const struct lc_iceberg_metadata *metadata;
    size_t n;
    const struct lc_iceberg_snapshot **items;
    bool is_cut; /* the oldest one has a parent that has been expired */
};

static lcdc_status make_line(const struct lc_iceberg_metadata *metadata, const struct lc_iceberg_snapshot *last,
                             struct lc_arena *arena, struct line *out, lcdc_error **err)
{
    *out = (struct line){.metadata = metadata};
    for (const struct lc_iceberg_snapshot *at = last; at; at = lc_iceberg_snapshot_find(metadata, at->parent_id))
        out->n++;
    out->items = lc_arena_array(arena, out->n, sizeof(*out->items));
    LC_TRY_ALLOC(out->items);
    size_t i = out->n;
    for (const struct lc_iceberg_snapshot *at = last; at; at = lc_iceberg_snapshot_find(metadata, at->parent_id))
        out->items[--i] = at;
    out->is_cut = out->n && out->items[0]->parent_id >= 0;
    return LCDC_OK;
}

static bool find_in_line(const struct line *line, int64_t id, size_t *out)
{
    for (size_t i = 0; i < line->n; i++)
        if (line->items[i]->id == id) {
            *out = i;
            return true;
        }
    return false;
}

bool lc_iceberg_stands_alone(const struct lc_iceberg_snapshot *snapshot)
{
    return strcmp(snapshot->operation, "append") == 0 || strcmp(snapshot->operation, "replace") == 0;
}

/* ---- refusals ---- */

static void add_servable(const struct line *line, lcdc_error **err)
{
    if (line->n == 0)
        return;
    bool oldest_serves = !line->is_cut || lc_iceberg_stands_alone(line->items[0]);
    lc_error_detail(err, "servable_after", "%" PRId64, line->items[0]->id);
    if (oldest_serves || line->n > 1)
        lc_error_detail(err, "servable_from", "%" PRId64, line->items[oldest_serves ? 0 : 1]->id);
    lc_error_detail(err, "servable_to", "%" PRId64, line->items[line->n - 1]->id);
}

static bool is_parent_of_any(const struct lc_iceberg_metadata *metadata, int64_t id)
{
    for (size_t i = 0; i < metadata->n_snapshots; i++)
        if (metadata->snapshots[i].parent_id == id)
            return true;
    return false;
}

/* An id that the metadata does not list. That a listed snapshot came after it proves that it has been expired; where
   the history is cut it may have been. */
static lcdc_status not_listed(const struct line *line, int64_t id, lcdc_error **err)
{
    bool was_there = is_parent_of_any(line->metadata, id);
    if (!was_there && !line->is_cut)
        return lc_fail(err, LC_R_ICEBERG_SNAPSHOT_MISSING,
                       "the table has no snapshot %" PRId64 "; its newest is %" PRId64, id,
                       line->n ? line->items[line->n - 1]->id : -1);
    lcdc_status status = lc_fail(
        err, LC_R_ICEBERG_SNAPSHOT_GONE,
        "snapshot %" PRId64 " %s; the oldest that can serve as an exclusive start is %" PRId64, id,
        was_there ? "has been expired" : "is not in the table's history, of which a part has been expired",
        line->n ? line->items[0]->id : -1);
    lc_error_detail(err, "snapshot", "%" PRId64, id);
    add_servable(line, err);
    return status;
}

/* A listed snapshot that is no ancestor of the line's end. */
static lcdc_status not_ancestor(const struct line *line, const struct lc_iceberg_snapshot *from, lcdc_error **err)
{
    int64_t end = line->n ? line->items[line->n - 1]->id : -1;
    const struct lc_iceberg_snapshot *common = from;
    size_t at;
    while (common && !find_in_line(line, common->id, &at))
        common = lc_iceberg_snapshot_find(line->metadata, common->parent_id);
    lcdc_status status;
    if (common) {
        status = lc_fail(err, LC_R_ICEBERG_NOT_ANCESTOR,
                         "snapshot %" PRId64 " is not an ancestor of %" PRId64
                         ": it was rolled back or lies on another branch; the nearest common ancestor is %" PRId64,
                         from->id, end, common->id);
        lc_error_detail(err, "common_ancestor", "%" PRId64, common->id);
    } else if (line->is_cut) {
        status = lc_fail(err, LC_R_ICEBERG_SNAPSHOT_GONE,
                         "between snapshot %" PRId64 " and %" PRId64
                         " snapshots have been expired; the oldest that can serve as "
                         "an exclusive start is %" PRId64,
                         from->id, end, line->items[0]->id);
    } else {
        status = lc_fail(err, LC_R_ICEBERG_NOT_ANCESTOR,
                         "snapshot %" PRId64 " is not an ancestor of %" PRId64 ", and they have no common one",
                         from->id, end);
    }
    lc_error_detail(err, "snapshot", "%" PRId64, from->id);
    if (common) {
        lc_error_detail(err, "servable_after", "%" PRId64, common->id);
        lc_error_detail(err, "servable_to", "%" PRId64, end);
    } else {
        add_servable(line, err);
    }
    return status;
}

/* ---- times ---- */

/*
 * A snapshot's time for looking it up: times that no clock gave (not positive, or a day past the table's last update)
 * count as that of the snapshot before, and one that goes back counts as the latest so far, so that windows of time
 * that follow each other cover each commit once.
 */
static int64_t next_time(const struct line *line, size_t i, int64_t so_far)
{
    int64_t ts = line->items[i]->ts_ms, updated = line->metadata->last_updated_ms;
    bool is_plausible = ts > 0 && ts < INT64_MAX / 1000 && (updated < 0 || ts - DAY_MS <= updated);
    return is_plausible && ts * 1000 > so_far ? ts * 1000 : so_far;
}

/* The number of snapshots in the line whose time is before ts_us, or not after it. */
static size_t count_before(const struct line *line, int64_t ts_us, bool or_at)
{
    int64_t so_far = INT64_MIN;
    size_t i = 0;
    for (; i < line->n; i++) {
        so_far = next_time(line, i, so_far);
        if (or_at ? so_far > ts_us : so_far >= ts_us)
            break;
    }
    return i;
}

/* ---- bounds ---- */

/* The snapshot that an id or a name stands for; NULL for an id that is not listed. */
static lcdc_status bound_snapshot(const struct lc_iceberg_metadata *metadata, const struct lc_bound *bound,
                                  const struct lc_iceberg_snapshot **out, lcdc_error **err)
{
    if (bound->kind == LC_BOUND_ID) {
        *out = lc_iceberg_snapshot_find(metadata, bound->id);
        return LCDC_OK;
    }
    const struct lc_iceberg_ref *ref = lc_iceberg_ref_find(metadata, bound->text);
    *out = ref ? lc_iceberg_snapshot_find(metadata, ref->snapshot_id) : NULL;
    return *out ? LCDC_OK
                : lc_fail(err, LC_R_ICEBERG_SNAPSHOT_MISSING, "the table has no tag or branch '%.200s'%s", bound->text,
                          ref ? " whose snapshot is there" : "");
}

static lcdc_status find_head(const struct lc_iceberg_metadata *metadata, const lcdc_request *request,
                             const struct lc_iceberg_snapshot **out, lcdc_error **err)
{
    *out = lc_iceberg_snapshot_find(metadata, metadata->current_snapshot_id);
    if (!request->branch)
        return LCDC_OK;
    const struct lc_iceberg_ref *ref = lc_iceberg_ref_find(metadata, request->branch);
    if (!ref && strcmp(request->branch, "main") == 0)
        return LCDC_OK; /* before version 2, and in a table without snapshots, nobody writes it down */
    if (!ref || !ref->is_branch)
        return lc_fail(err, LC_R_ICEBERG_SNAPSHOT_MISSING, "the table has no branch '%.200s'%s", request->branch,
                       ref ? "; it is a tag, which --to and --from take" : "");
    *out = lc_iceberg_snapshot_find(metadata, ref->snapshot_id);
    return *out ? LCDC_OK
                : lc_fail(err, LC_R_ICEBERG_SNAPSHOT_MISSING,
                          "branch '%.200s' points to snapshot %" PRId64 ", which the table does not have",
                          request->branch, ref->snapshot_id);
}

/* Makes the line that the end decides; *n_out is how many of its snapshots the range may reach. */
static lcdc_status resolve_to(const struct lc_iceberg_metadata *metadata, const lcdc_request *request,
                              struct lc_arena *arena, struct line *line, size_t *n_out, lcdc_error **err)
{
    const struct lc_iceberg_snapshot *head, *end;
    const struct lc_bound *to = &request->to;
    LC_TRY(find_head(metadata, request, &head, err));
    LC_TRY(make_line(metadata, head, arena, line, err));
    *n_out = line->n;
    if (to->kind == LC_BOUND_TIMESTAMP) {
        *n_out = count_before(line, to->ts_us, !request->to_exclusive);
        return LCDC_OK;
    }
    if (to->kind == LC_BOUND_ID || to->kind == LC_BOUND_NAME) {
        size_t at;
        LC_TRY(bound_snapshot(metadata, to, &end, err));
        if (!end)
            return not_listed(line, to->id, err);
        if (request->branch && !find_in_line(line, end->id, &at))
            return not_ancestor(line, end, err);
        LC_TRY(make_line(metadata, end, arena, line, err));
        *n_out = line->n;
    }
    *n_out -= request->to_exclusive && *n_out > 0;
    return LCDC_OK;
}

static lcdc_status start_of_cut_line(const struct line *line, const char *what, lcdc_error **err)
{
    lcdc_status status = lc_fail(
        err, LC_R_ICEBERG_SNAPSHOT_GONE,
        "%s lies in a part of the history that has been expired; the oldest snapshot that can serve as "
        "an exclusive start is %" PRId64 "; or begin with its rows: --bootstrap",
        what, line->items[0]->id);
    lc_error_detail(err, "snapshot", "%" PRId64, line->items[0]->parent_id);
    add_servable(line, err);
    return status;
}

/* Ends that are given the wrong way round are a mistake, not an empty range. */
static lcdc_status check_order(const struct line *line, const lcdc_request *request,
                               const struct lc_iceberg_snapshot *from, lcdc_error **err)
{
    bool to_is_id = request->to.kind == LC_BOUND_ID || request->to.kind == LC_BOUND_NAME;
    const struct lc_iceberg_snapshot *end = line->n ? line->items[line->n - 1] : NULL;
    for (const struct lc_iceberg_snapshot *at = from; end && to_is_id && at;
         at = lc_iceberg_snapshot_find(line->metadata, at->parent_id))
        if (at == end)
            return lc_fail(err, LC_R_RANGE, "the range ends (%s) before it begins (%s)", request->to.text,
                           request->from.text);
    return LCDC_OK;
}

static lcdc_status resolve_from_snapshot(const struct line *line, const lcdc_request *request, size_t *out,
                                         lcdc_error **err)
{
    const struct lc_iceberg_snapshot *from;
    LC_TRY(bound_snapshot(line->metadata, &request->from, &from, err));
    if (!from)
        return not_listed(line, request->from.id, err);
    if (!find_in_line(line, from->id, out)) {
        LC_TRY(check_order(line, request, from, err));
        return not_ancestor(line, from, err);
    }
    *out += request->from_exclusive;
    return LCDC_OK;
}

static lcdc_status resolve_from(const struct line *line, const lcdc_request *request, size_t *out, lcdc_error **err)
{
    const struct lc_bound *from = &request->from;
    switch (from->kind) {
    case LC_BOUND_START:
        *out = 0;
        return line->is_cut && !request->bootstrap ? start_of_cut_line(line, "the start", err) : LCDC_OK;
    case LC_BOUND_LATEST:
        *out = line->n - (line->n && !request->from_exclusive);
        return LCDC_OK;
    case LC_BOUND_TIMESTAMP:
        if (request->to.kind == LC_BOUND_TIMESTAMP && from->ts_us > request->to.ts_us)
            return lc_fail(err, LC_R_RANGE, "the range ends (%s) before it begins (%s)", request->to.text, from->text);
        *out = count_before(line, from->ts_us, request->from_exclusive);
        return line->is_cut && count_before(line, from->ts_us, true) == 0 ? start_of_cut_line(line, from->text, err)
                                                                          : LCDC_OK;
    case LC_BOUND_ID:
    case LC_BOUND_NAME:
        return resolve_from_snapshot(line, request, out, err);
    }
    return LCDC_OK;
}

/* What the oldest snapshot that is left removed is known from its parent alone. */
static lcdc_status check_first(const struct line *line, const struct lc_iceberg_range *range, lcdc_error **err)
{
    if (range->n == 0 || !range->before_is_gone || lc_iceberg_stands_alone(range->commits[0]))
        return LCDC_OK;
    lcdc_status status = lc_fail(err, LC_R_ICEBERG_SNAPSHOT_GONE,
                                 "what snapshot %" PRId64 " removed cannot be known: its parent %" PRId64
                                 " has been expired; it can serve as an exclusive start",
                                 range->commits[0]->id, range->commits[0]->parent_id);
    lc_error_detail(err, "snapshot", "%" PRId64, range->commits[0]->parent_id);
    add_servable(line, err);
    return status;
}

lcdc_status lc_iceberg_range_resolve(const struct lc_iceberg_metadata *metadata, const lcdc_request *request,
                                     struct lc_arena *arena, struct lc_iceberg_range *out, lcdc_error **err)
{
    struct line line;
    size_t end, first = 0;
    LC_TRY(resolve_to(metadata, request, arena, &line, &end, err));
    LC_TRY(resolve_from(&line, request, &first, err));
    first += request->bootstrap && first < line.n; /* the state at `from` is the snapshot, the changes come after it */
    out->n = first < end ? end - first : 0;
    out->commits = (const struct lc_iceberg_snapshot *const *)line.items + first;
    out->before = first > 0 ? line.items[first - 1] : NULL;
    out->before_is_gone = first == 0 && line.is_cut;
    out->end = out->n ? line.items[end - 1] : out->before;
    return check_first(&line, out, err);
}
