/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/range.h"

#include <inttypes.h>

static void add_servable(const struct lc_archive *self, lcdc_error **err)
{
    if (self->n == 0)
        return;
    lc_error_detail(err, "servable_from", "%" PRId64, self->names[0].snapshot);
    lc_error_detail(err, "servable_to", "%" PRId64, self->names[self->n - 1].snapshot);
}

static lcdc_status missing(const struct lc_archive *self, int64_t id, bool gone, lcdc_error **err)
{
    lcdc_status status;
    if (self->n == 0)
        status = lc_fail(err, LC_R_ARCHIVE_COMMIT_MISSING, "the archive holds no commit yet, and so not %" PRId64, id);
    else if (gone)
        status = lc_fail(err, LC_R_ARCHIVE_COMMIT_GONE,
                         "commit %" PRId64 " is not, or no longer, in the archive, which begins with %" PRId64, id,
                         self->names[0].snapshot);
    else
        status = lc_fail(err, LC_R_ARCHIVE_COMMIT_MISSING,
                         "commit %" PRId64 " is not in the archive, the newest in it is %" PRId64, id,
                         self->names[self->n - 1].snapshot);
    add_servable(self, err);
    return status;
}

static bool find_id(const struct lc_archive *self, int64_t id, size_t *out)
{
    for (size_t i = self->n; i-- > 0;)
        if (self->names[i].snapshot == id) {
            *out = i;
            return true;
        }
    return false;
}

/* Ids can only stand for their places between others where every one of them is above the one before it. */
static bool all_rise(const struct lc_archive *self, bool rises)
{
    for (size_t i = 1; i < self->n && rises; i++)
        rises = self->names[i].snapshot > self->names[i - 1].snapshot;
    return rises && self->n > 0 && self->names[0].snapshot >= 0;
}

static size_t first_above(const struct lc_archive *self, int64_t id)
{
    size_t i = self->n;
    while (i > 0 && self->names[i - 1].snapshot > id)
        i--;
    return i;
}

static lcdc_status from_id(const struct lc_archive *self, const lcdc_request *request, bool rises, size_t *out,
                           lcdc_error **err)
{
    int64_t id = request->from.id;
    size_t at;
    if (find_id(self, id, &at)) {
        *out = at + request->from_exclusive;
        return LCDC_OK;
    }
    if (!all_rise(self, rises))
        return missing(self, id, request->from_exclusive, err);
    const struct lc_archive_name *first = &self->names[0];
    bool is_next = request->from_exclusive && id == first->snapshot - 1 && first->kind == LC_ARCHIVE_CHANGES;
    if (id > self->names[self->n - 1].snapshot || (id < first->snapshot && !is_next))
        return missing(self, id, id < first->snapshot, err);
    *out = first_above(self, id);
    return LCDC_OK;
}

static lcdc_status to_id(const struct lc_archive *self, const lcdc_request *request, bool rises, size_t *out,
                         lcdc_error **err)
{
    int64_t id = request->to.id;
    size_t at;
    if (find_id(self, id, &at)) {
        *out = at + !request->to_exclusive;
        return LCDC_OK;
    }
    if (!all_rise(self, rises) || id > self->names[self->n - 1].snapshot || id < self->names[0].snapshot)
        return missing(self, id, false, err);
    *out = first_above(self, id);
    return LCDC_OK;
}

static lcdc_status no_names(const struct lc_bound *bound, lcdc_error **err)
{
    return lc_fail(err, LC_R_RANGE, "'%s' is neither a snapshot nor a time; an archive has no tags", bound->text);
}

static lcdc_status check_times(const struct lc_archive *self, lcdc_error **err)
{
    for (size_t i = 0; i < self->n; i++)
        if (self->names[i].ts_us == INT64_MIN)
            return lc_fail(err, LC_R_RANGE, "commit %" PRId64 " of the archive has no time, give snapshots instead",
                           self->names[i].snapshot);
    return LCDC_OK;
}

static lcdc_status from_time(const struct lc_archive *self, const lcdc_request *request, size_t *out, lcdc_error **err)
{
    int64_t ts = request->from.ts_us;
    size_t at = 0;
    LC_TRY(check_times(self, err));
    if (self->n && self->names[0].kind == LC_ARCHIVE_CHANGES && ts < self->names[0].ts_us) {
        lcdc_status status = lc_fail(err, LC_R_ARCHIVE_COMMIT_GONE,
                                     "from %s lies before the archive's first commit, %" PRId64, request->from.text,
                                     self->names[0].snapshot);
        add_servable(self, err);
        return status;
    }
    while (at < self->n && (request->from_exclusive ? self->names[at].ts_us <= ts : self->names[at].ts_us < ts))
        at++;
    *out = at;
    return LCDC_OK;
}

static lcdc_status to_time(const struct lc_archive *self, const lcdc_request *request, size_t *out, lcdc_error **err)
{
    int64_t ts = request->to.ts_us;
    size_t at = self->n;
    LC_TRY(check_times(self, err));
    while (at > 0 && (request->to_exclusive ? self->names[at - 1].ts_us >= ts : self->names[at - 1].ts_us > ts))
        at--;
    *out = at;
    return LCDC_OK;
}

static lcdc_status resolve_from(const struct lc_archive *self, const lcdc_request *request, bool rises, size_t *out,
                                lcdc_error **err)
{
    switch (request->from.kind) {
    case LC_BOUND_START:
        *out = 0;
        return LCDC_OK;
    case LC_BOUND_LATEST:
        *out = self->n - (self->n > 0 && !request->from_exclusive);
        return LCDC_OK;
    case LC_BOUND_ID:
        return from_id(self, request, rises, out, err);
    case LC_BOUND_TIMESTAMP:
        return from_time(self, request, out, err);
    case LC_BOUND_NAME:
        return no_names(&request->from, err);
    }
    return LCDC_OK;
}

static lcdc_status resolve_to(const struct lc_archive *self, const lcdc_request *request, bool rises, size_t *out,
                              lcdc_error **err)
{
    switch (request->to.kind) {
    case LC_BOUND_START:
        *out = 0;
        return LCDC_OK;
    case LC_BOUND_LATEST:
        *out = self->n - (self->n > 0 && request->to_exclusive);
        return LCDC_OK;
    case LC_BOUND_ID:
        return to_id(self, request, rises, out, err);
    case LC_BOUND_TIMESTAMP:
        return to_time(self, request, out, err);
    case LC_BOUND_NAME:
        return no_names(&request->to, err);
    }
    return LCDC_OK;
}

bool lc_archive_base(const struct lc_archive *self, size_t at, size_t *out)
{
    for (size_t i = at + 1; i-- > 0;)
        if (self->names[i].kind != LC_ARCHIVE_CHANGES) {
            *out = i;
            return true;
        }
    return false;
}

static lcdc_status no_state(const struct lc_archive *self, lcdc_error **err)
{
    lcdc_status status = lc_fail(err, LC_R_ARCHIVE_NO_STATE, "%s holds changes only, not the rows that they began with",
                                 self->root);
    add_servable(self, err);
    return status;
}

/* The state that a bootstrap begins with is the commit at `from`, else the oldest whole state. */
static lcdc_status begin_with_state(const struct lc_archive *self, const lcdc_request *request,
                                    struct lc_archive_range *out, lcdc_error **err)
{
    size_t base;
    if (request->from.kind == LC_BOUND_START)
        while (out->begin < self->n && self->names[out->begin].kind == LC_ARCHIVE_CHANGES)
            out->begin++;
    if (out->begin >= self->n || !lc_archive_base(self, out->begin, &base))
        return no_state(self, err);
    out->begin++;
    return LCDC_OK;
}

/* Ids that were both found stand for their places; where one was not, ids rise. Times were compared before. */
static bool is_backwards(const struct lc_archive *self, const lcdc_request *request)
{
    const struct lc_bound *from = &request->from, *to = &request->to;
    size_t first, last;
    if (from->kind != LC_BOUND_ID || to->kind != LC_BOUND_ID)
        return false;
    if (find_id(self, from->id, &first) && find_id(self, to->id, &last))
        return first > last;
    return from->id > to->id;
}

lcdc_status lc_archive_range_resolve(const struct lc_archive *self, const lcdc_request *request, bool rises,
                                     struct lc_archive_range *out, lcdc_error **err)
{
    struct lc_archive_range range;
    const struct lc_bound *from = &request->from, *to = &request->to;
    if (request->branch)
        return lc_fail(err, LC_R_REQUEST_CONFLICT, "branch: an archive has no branches");
    LC_TRY(resolve_to(self, request, rises, &range.end, err));
    LC_TRY(resolve_from(self, request, rises, &range.begin, err));
    if (!request->cursor && is_backwards(self, request))
        return lc_fail(err, LC_R_RANGE, "the range ends (%s) before it begins (%s)", to->text, from->text);
    if (request->bootstrap)
        LC_TRY(begin_with_state(self, request, &range, err));
    if (range.end < range.begin)
        range.end = range.begin;
    *out = range;
    return LCDC_OK;
}
