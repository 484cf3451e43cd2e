/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "spark/operation.h"
#include "spark/result.h"
#include "spark/sql.h"

enum { EXPANSION = 4, MAX_SQL = 1 << 20 }; /* Parquet's bytes become about so many as Arrow's */

void lc_spark_history_done(struct lc_spark_history *history)
{
    lc_free(history->commits);
    lc_arena_done(&history->arena);
    *history = (struct lc_spark_history){0};
}

static lcdc_status add_commit(struct lc_spark_history *history, const struct lc_spark_commit *commit, lcdc_error **err)
{
    if ((history->n & (history->n - 1)) == 0) { /* full at every power of two */
        struct lc_spark_commit *commits = lc_realloc(history->commits, history->n ? history->n * 2 : 1,
                                                     sizeof(*commits));
        LC_TRY_ALLOC(commits);
        history->commits = commits;
    }
    history->commits[history->n++] = *commit;
    return LCDC_OK;
}

/* ---- what a commit is likely to give ---- */

static int64_t metric(const struct lc_field *columns, const struct ArrowArray *batch, const char *map, int64_t row,
                      const char *key)
{
    struct lc_str text;
    int64_t value;
    bool found = lc_spark_get_entry(columns, batch, map, row, key, &text) && lc_parse_i64(text, &value) && value >= 0;
    return found && value < INT64_MAX / 64 ? value : -1;
}

/* The sum of the metrics that are there; -1 when none is. */
static int64_t metric_sum(const struct lc_field *columns, const struct ArrowArray *batch, const char *map, int64_t row,
                          size_t n, const char *const *keys)
{
    int64_t sum = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t value = metric(columns, batch, map, row, keys[i]);
        if (value >= 0)
            sum = (sum < 0 ? 0 : sum) + value;
    }
    return sum;
}

#define SUM(map, ...)                                                                                                  \
    metric_sum(columns, batch, map, row, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                  \
               (const char *const[]){__VA_ARGS__})

static void estimate_delta(const struct lc_field *columns, const struct ArrowArray *batch, int64_t row,
                           struct lc_spark_commit *commit)
{
    static const char map[] = "operationMetrics";
    int64_t updated = SUM(map, "numUpdatedRows", "numTargetRowsUpdated");
    int64_t others = SUM(map, "numDeletedRows", "numTargetRowsDeleted", "numTargetRowsInserted");
    int64_t copied = SUM(map, "numCopiedRows", "numTargetRowsCopied");
    int64_t written = SUM(map, "numOutputRows");
    int64_t bytes = SUM(map, "numOutputBytes", "numAddedBytes", "numTargetBytesAdded");
    int64_t removed = SUM(map, "numRemovedBytes");
    if (updated >= 0 || others >= 0) { /* rows were changed one by one; files also hold those that were only copied */
        int64_t changed = (updated > 0 ? updated : 0) * 2 + (others > 0 ? others : 0);
        int64_t in_files = (updated > 0 ? updated : 0) + (others > 0 ? others : 0) + (copied > 0 ? copied : 0);
        commit->rows = changed;
        commit->bytes = bytes >= 0 && in_files > 0 ? bytes / in_files * changed * EXPANSION : -1;
    } else {
        commit->rows = removed > 0 ? -1 : written;
        commit->bytes = bytes >= 0 ? (bytes + (removed > 0 ? removed : 0)) * EXPANSION : -1;
    }
    if (commit->bytes < 0 && commit->rows >= 0)
        commit->bytes = commit->rows * 256;
}

static void estimate_iceberg(const struct lc_field *columns, const struct ArrowArray *batch, int64_t row,
                             struct lc_spark_commit *commit)
{
    bool is_append = strcmp(commit->operation, "append") == 0;
    int64_t bytes = SUM("summary", "added-files-size");
    commit->rows = is_append ? SUM("summary", "added-records") : strcmp(commit->operation, "replace") == 0 ? 0 : -1;
    commit->bytes = is_append && bytes >= 0 ? bytes * EXPANSION : commit->rows == 0 ? 0 : -1;
}

/* ---- reading ---- */

static lcdc_status keep_operation(struct lc_spark_history *history, const struct lc_field *columns,
                                  const struct ArrowArray *batch, int64_t row, struct lc_spark_commit *commit,
                                  lcdc_error **err)
{
    struct lc_str operation;
    bool found = lc_spark_get_str(columns, batch, "operation", row, &operation);
    commit->operation = found ? lc_arena_strndup(&history->arena, operation.p, operation.n) : "";
    LC_TRY_ALLOC(commit->operation);
    return LCDC_OK;
}

/* Statements that change single rows keep the ids of the others; those that write the table anew do not. */
static bool remakes_ids(const struct lc_field *columns, const struct ArrowArray *batch, int64_t row,
                        const char *operation)
{
    struct lc_str mode;
    if (strcmp(operation, "WRITE") == 0)
        return lc_spark_get_entry(columns, batch, "operationParameters", row, "mode", &mode) &&
               !lc_str_is_nocase(mode, "Append");
    return strstr(operation, "REPLACE") || strcmp(operation, "RESTORE") == 0;
}

static bool only_adds(const struct lc_field *columns, const struct ArrowArray *batch, int64_t row,
                      const char *operation)
{
    struct lc_str mode;
    const char *key = strcmp(operation, "WRITE") == 0              ? "mode"
                      : strcmp(operation, "STREAMING UPDATE") == 0 ? "outputMode"
                                                                   : NULL;
    return key && lc_spark_get_entry(columns, batch, "operationParameters", row, key, &mode) &&
           lc_str_is_nocase(mode, "Append");
}

static lcdc_status see_version(void *context, const struct lc_field *columns, const struct ArrowArray *batch,
                               int64_t row, lcdc_error **err)
{
    struct lc_spark_history *history = context;
    struct lc_spark_commit commit = {.parent = -1};
    if (!lc_spark_get_int(columns, batch, "version", row, &commit.id) ||
        !lc_spark_get_int(columns, batch, "timestamp", row, &commit.ts_us))
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the table's history has an entry without version or time");
    LC_TRY(keep_operation(history, columns, batch, row, &commit, err));
    commit.remakes_ids = remakes_ids(columns, batch, row, commit.operation);
    commit.only_adds = only_adds(columns, batch, row, commit.operation);
    estimate_delta(columns, batch, row, &commit);
    return add_commit(history, &commit, err);
}

static lcdc_status see_snapshot(void *context, const struct lc_field *columns, const struct ArrowArray *batch,
                                int64_t row, lcdc_error **err)
{
    struct lc_spark_history *history = context;
    struct lc_spark_commit commit = {.parent = -1};
    if (!lc_spark_get_int(columns, batch, "snapshot_id", row, &commit.id) ||
        !lc_spark_get_int(columns, batch, "committed_at", row, &commit.ts_us))
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the table's snapshots have an entry without id or time");
    if (!lc_spark_get_int(columns, batch, "parent_id", row, &commit.parent))
        commit.parent = -1;
    LC_TRY(keep_operation(history, columns, batch, row, &commit, err));
    commit.only_adds = strcmp(commit.operation, "append") == 0;
    estimate_iceberg(columns, batch, row, &commit);
    return add_commit(history, &commit, err);
}

static lcdc_status run(struct lc_spark_server *server, const char *before, const char *after, lc_spark_row_fn see,
                       void *context, lcdc_error **err)
{
    LC_BUF struct lc_buf sql;
    lc_buf_init(&sql, MAX_SQL);
    lc_buf_printf(&sql, "%s%s%s", before, server->table, after);
    LC_TRY_BUF(&sql);
    return lc_spark_each_row(server->session, sql.p, see, context, err);
}

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const struct lc_spark_commit *)a)->id, y = ((const struct lc_spark_commit *)b)->id;
    return (x > y) - (x < y);
}

static lcdc_status read_versions(struct lc_spark_server *server, struct lc_spark_history *history, lcdc_error **err)
{
    LC_TRY(run(server, "DESCRIBE HISTORY ", "", see_version, history, err));
    if (!history->n)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the table's history is empty");
    qsort(history->commits, history->n, sizeof(*history->commits), by_id);
    for (size_t i = 1; i < history->n; i++)
        if (history->commits[i].id != history->commits[i - 1].id + 1)
            return lc_fail(err, LC_R_DELTA_VERSION_GAP, "version %" PRId64 " is missing in the table's history",
                           history->commits[i - 1].id + 1);
    history->is_cut = history->commits[0].id > 0;
    return LCDC_OK;
}

/* ---- Iceberg: the head and its line ---- */

struct head {
    int64_t id, made_us;
    bool found;
};

static lcdc_status see_log_entry(void *context, const struct lc_field *columns, const struct ArrowArray *batch,
                                 int64_t row, lcdc_error **err)
{
    struct head *head = context;
    struct head entry = {.found = true};
    if (!lc_spark_get_int(columns, batch, "made_current_at", row, &entry.made_us) ||
        !lc_spark_get_int(columns, batch, "snapshot_id", row, &entry.id))
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the table's history has an entry without id or time");
    if (!head->found || entry.made_us >= head->made_us)
        *head = entry;
    return LCDC_OK;
}

static lcdc_status see_ref(void *context, const struct lc_field *columns, const struct ArrowArray *batch, int64_t row,
                           lcdc_error **err)
{
    struct head *head = context;
    head->found = lc_spark_get_int(columns, batch, "snapshot_id", row, &head->id);
    return head->found ? LCDC_OK : lc_fail(err, LC_R_SPARK_PROTOCOL, "a branch or tag of the table has no snapshot id");
}

static lcdc_status find_ref(struct lc_spark_server *server, const char *name, bool is_branch, int64_t *out,
                            lcdc_error **err)
{
    LC_BUF struct lc_buf where;
    struct head head = {0};
    lc_buf_init(&where, MAX_SQL);
    lc_buf_text(&where, ".`refs` WHERE name = ");
    lc_sql_text(&where, lc_str_of(name));
    if (is_branch)
        lc_buf_text(&where, " AND type = 'BRANCH'");
    LC_TRY_BUF(&where);
    LC_TRY(run(server, "SELECT snapshot_id FROM ", where.p, see_ref, &head, err));
    *out = head.id;
    return head.found ? LCDC_OK
                      : lc_fail(err, LC_R_ICEBERG_SNAPSHOT_MISSING, "the table has no %s '%.200s'",
                                is_branch ? "branch" : "tag or branch", name);
}

static const struct lc_spark_commit *find_commit(const struct lc_spark_history *history, int64_t id)
{
    for (size_t i = 0; i < history->n; i++)
        if (history->commits[i].id == id)
            return &history->commits[i];
    return NULL;
}

static bool find_in_line(const struct lc_spark_history *line, int64_t id, size_t *out)
{
    const struct lc_spark_commit *found = find_commit(line, id);
    *out = found ? (size_t)(found - line->commits) : 0;
    return found != NULL;
}

/* Replaces the snapshots by the line that ends at `head`. */
static lcdc_status keep_line(struct lc_spark_history *history, int64_t head, lcdc_error **err)
{
    struct lc_spark_history line = {0};
    size_t n = 0;
    for (const struct lc_spark_commit *at = find_commit(history, head); at && n <= history->n;
         at = find_commit(history, at->parent))
        n++;
    if (n > history->n)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the parents of the table's snapshots go in a circle");
    line.commits = lc_calloc(n ? n : 1, sizeof(*line.commits));
    LC_TRY_ALLOC(line.commits);
    line.n = n;
    for (const struct lc_spark_commit *at = find_commit(history, head); at; at = find_commit(history, at->parent))
        line.commits[--n] = *at;
    lc_free(history->commits);
    history->commits = line.commits;
    history->n = line.n;
    history->is_cut = line.n && line.commits[0].parent >= 0;
    return LCDC_OK;
}

static lcdc_status bound_id(struct lc_spark_server *server, const struct lc_bound *bound, int64_t *out,
                            lcdc_error **err)
{
    *out = bound->id;
    return bound->kind == LC_BOUND_NAME ? find_ref(server, bound->text, false, out, err) : LCDC_OK;
}

/*
 * A catalog keeps a table in a session for as long as it is asked for, so that one which asks again and again would
 * never see what others have committed.
 */
static lcdc_status refresh(struct lc_spark_server *server, lcdc_error **err)
{
    LC_BUF struct lc_buf sql;
    lc_buf_init(&sql, MAX_SQL);
    lc_buf_printf(&sql, "REFRESH TABLE %s", server->table);
    LC_TRY_BUF(&sql);
    return lc_spark_command(server->session, sql.p, err);
}

static lcdc_status read_line(struct lc_spark_server *server, const lcdc_request *request,
                             struct lc_spark_history *history, lcdc_error **err)
{
    struct head head = {0};
    LC_TRY(refresh(server, err));
    LC_TRY(run(server, "SELECT snapshot_id, parent_id, committed_at, operation, summary FROM ", ".`snapshots`",
               see_snapshot, history, err));
    if (request->to.kind == LC_BOUND_ID || request->to.kind == LC_BOUND_NAME) {
        LC_TRY(bound_id(server, &request->to, &head.id, err));
        if (!find_commit(history, head.id))
            return lc_fail(err, LC_R_ICEBERG_SNAPSHOT_MISSING, "the table has no snapshot %" PRId64, head.id);
    } else if (request->branch) {
        LC_TRY(find_ref(server, request->branch, true, &head.id, err));
    } else {
        LC_TRY(run(server, "SELECT made_current_at, snapshot_id FROM ", ".`history`", see_log_entry, &head, err));
    }
    return keep_line(history, head.id, err);
}

/* ---- the range ---- */

/* The number of commits whose time is before ts_us, or not after it; a time that goes back counts as the latest so far.
 */
static size_t count_before(const struct lc_spark_history *history, int64_t ts_us, bool or_at)
{
    int64_t so_far = INT64_MIN;
    size_t i = 0;
    for (; i < history->n; i++) {
        so_far = history->commits[i].ts_us > so_far ? history->commits[i].ts_us : so_far;
        if (or_at ? so_far > ts_us : so_far >= ts_us)
            break;
    }
    return i;
}

static lcdc_status gone(const struct lc_spark_history *history, const char *what, lcdc_error **err)
{
    int64_t first = history->commits[0].id;
    lcdc_status status = lc_fail(err, history->is_iceberg ? LC_R_ICEBERG_SNAPSHOT_GONE : LC_R_DELTA_VERSION_GONE,
                                 "%s lies before what is left of the table's history, which begins with %" PRId64, what,
                                 first);
    lc_error_detail(err, "servable_from", "%" PRId64, first);
    lc_error_detail(err, "servable_to", "%" PRId64, history->commits[history->n - 1].id);
    return status;
}

/* Where an id stands; `past` allows the place after the last. */
static lcdc_status place_of(const struct lc_spark_history *history, int64_t id, bool past, size_t *out,
                            lcdc_error **err)
{
    if (history->is_iceberg) {
        if (find_in_line(history, id, out))
            return LCDC_OK;
        return lc_fail(err, history->is_cut ? LC_R_ICEBERG_SNAPSHOT_GONE : LC_R_ICEBERG_NOT_ANCESTOR,
                       "snapshot %" PRId64 " is not in the history of the end of the range", id);
    }
    int64_t first = history->commits[0].id, last = history->commits[history->n - 1].id;
    if (id > last + past) {
        lcdc_status status = lc_fail(err, LC_R_DELTA_VERSION_MISSING,
                                     "version %" PRId64 " does not exist, the latest is %" PRId64, id, last);
        lc_error_detail(err, "latest", "%" PRId64, last);
        return status;
    }
    if (id < first)
        return gone(history, "the start", err);
    *out = (size_t)(id - first);
    return LCDC_OK;
}

static lcdc_status resolve_from(struct lc_spark_server *server, struct lc_spark_history *history,
                                const lcdc_request *request, lcdc_error **err)
{
    const struct lc_bound *from = &request->from;
    bool exclusive = request->from_exclusive;
    int64_t id;
    switch (from->kind) {
    case LC_BOUND_START:
        history->from = request->bootstrap || exclusive;
        return history->is_cut && !request->bootstrap ? gone(history, "the start", err) : LCDC_OK;
    case LC_BOUND_LATEST:
        history->from = history->n - (history->n && !exclusive);
        history->from += request->bootstrap && history->from < history->n;
        return LCDC_OK;
    case LC_BOUND_TIMESTAMP:
        history->from = count_before(history, from->ts_us, exclusive);
        history->from += request->bootstrap && history->from < history->n;
        return history->is_cut && count_before(history, from->ts_us, true) == 0 ? gone(history, from->text, err)
                                                                                : LCDC_OK;
    case LC_BOUND_ID:
    case LC_BOUND_NAME:
        if (from->kind == LC_BOUND_NAME && !history->is_iceberg)
            return lc_fail(err, LC_R_RANGE, "'%.200s' is neither a version nor a time; Delta tables have no tags",
                           from->text);
        LC_TRY(bound_id(server, from, &id, err));
        if (exclusive && !history->is_iceberg && history->is_cut && id == history->commits[0].id - 1) {
            history->from = 0;
            return LCDC_OK;
        }
        LC_TRY(place_of(history, id, !exclusive, &history->from, err));
        history->from += exclusive || request->bootstrap;
        return LCDC_OK;
    }
    return LCDC_OK;
}

static lcdc_status resolve_to(struct lc_spark_history *history, const lcdc_request *request, lcdc_error **err)
{
    const struct lc_bound *to = &request->to;
    size_t at;
    history->to = history->n;
    if (to->kind == LC_BOUND_TIMESTAMP) {
        history->to = count_before(history, to->ts_us, !request->to_exclusive);
        return LCDC_OK;
    }
    if (to->kind == LC_BOUND_NAME && !history->is_iceberg)
        return lc_fail(err, LC_R_RANGE, "'%.200s' is neither a version nor a time; Delta tables have no tags",
                       to->text);
    if (to->kind == LC_BOUND_ID && !history->is_iceberg) {
        LC_TRY(place_of(history, to->id, false, &at, err));
        history->to = at + 1;
    }
    history->to -= request->to_exclusive && history->to > 0;
    return LCDC_OK;
}

static lcdc_status check_order(const lcdc_request *request, bool is_iceberg, lcdc_error **err)
{
    const struct lc_bound *from = &request->from, *to = &request->to;
    if (request->branch && !is_iceberg)
        return lc_fail(err, LC_R_REQUEST_CONFLICT, "branch: Delta tables have no branches");
    bool turned = !is_iceberg && !request->cursor && from->kind == LC_BOUND_ID && to->kind == LC_BOUND_ID &&
                  from->id > to->id;
    return turned ? lc_fail(err, LC_R_RANGE, "the range ends (%s) before it begins (%s)", to->text, from->text)
                  : LCDC_OK;
}

lcdc_status lc_spark_history_read(struct lc_spark_server *server, bool is_iceberg, const lcdc_request *request,
                                  struct lc_spark_history *out, lcdc_error **err)
{
    LC_CLEANUP(lc_spark_history_done) struct lc_spark_history history = {.is_iceberg = is_iceberg};
    LC_TRY(check_order(request, is_iceberg, err));
    LC_TRY(is_iceberg ? read_line(server, request, &history, err) : read_versions(server, &history, err));
    LC_TRY(resolve_to(&history, request, err));
    LC_TRY(resolve_from(server, &history, request, err));
    *out = history;
    history = (struct lc_spark_history){0};
    return LCDC_OK;
}
