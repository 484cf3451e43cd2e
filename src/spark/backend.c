/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/backend.h"

#include <inttypes.h>
#include <string.h>

#include "core/reading.h"
#include "spark/changes.h"
#include "spark/narrow.h"
#include "spark/result.h"

enum { MAX_SQL = 1 << 20 };

/* ---- probes ---- */

static lcdc_status analyze(struct lc_spark_server *server, const char *before, const char *after, lcdc_error **err)
{
    LC_BUF struct lc_buf sql;
    lc_buf_init(&sql, MAX_SQL);
    lc_buf_printf(&sql, "SELECT * FROM %s%s%s", before, server->table, after);
    LC_TRY_BUF(&sql);
    return lc_spark_analyze(server->session, sql.p, err);
}

/* Delta has CHANGES behind a setting, which the engine's own words do not name. */
static lcdc_status explain_no_changes(struct lc_spark_server *server, lcdc_error *take_problem, lcdc_error **err)
{
    static const char flag[] = "spark.databricks.delta.changelogV2.enabled";
    LC_ERROR lcdc_error *problem = take_problem;
    const char *error_class = lcdc_error_detail(problem, "error_class"), *value = "";
    bool is_off = server->is_delta && error_class &&
                  strcmp(error_class, "UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE") == 0 &&
                  lc_spark_get_config(server->session, flag, &value, NULL) == LCDC_OK && strcmp(value, "false") == 0;
    if (!is_off)
        return lc_fail_with(lc_steal(problem), err);
    return lc_fail(err, LC_R_SPARK_ENGINE, "%s (%s is false there)", lcdc_error_message(problem), flag);
}

static lcdc_status try_native(struct lc_spark_server *server, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    lcdc_status status = analyze(server, "", " CHANGES FROM VERSION 0 LIMIT 0", &problem);
    return status == LCDC_OK ? status : explain_no_changes(server, lc_steal(problem), err);
}

/* The statements of CDF and VIEW have the table's name as a text. A session can be set so that nothing in a text is an
   escape, and then one with a quote cannot be written. */
static lcdc_status check_text(struct lc_spark_server *server, lcdc_error **err)
{
    static const char key[] = "spark.sql.parser.escapedStringLiterals";
    const char *value;
    if (!strpbrk(server->table, "'\\"))
        return LCDC_OK;
    LC_TRY(lc_spark_get_config(server->session, key, &value, err));
    return strcmp(value, "true") != 0
               ? LCDC_OK
               : lc_fail(err, LC_R_SPARK_ENGINE, "the table's name holds a quote or a backslash, and %s is true there",
                         key);
}

static lcdc_status try_iceberg(struct lc_spark_server *server, lcdc_error **err)
{
    LC_TRY(check_text(server, err));
    return analyze(server, "", ".`snapshots`", err);
}

static lcdc_status try_delta_cdf(struct lc_spark_server *server, lcdc_error **err)
{
    LC_BUF struct lc_buf sql = {0};
    LC_CLEANUP(lc_spark_history_done) struct lc_spark_history history = {0};
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    LC_TRY(check_text(server, err));
    LC_TRY(lcdc_request_new(&request, err));
    request->from.kind = LC_BOUND_LATEST;
    LC_TRY(lc_spark_history_read(server, false, request, &history, err));
    lc_buf_init(&sql, MAX_SQL);
    lc_buf_text(&sql, "SELECT * FROM table_changes(");
    lc_sql_text(&sql, lc_str_of(server->table));
    lc_buf_printf(&sql, ", %" PRId64 ") LIMIT 0", history.commits[history.n - 1].id);
    LC_TRY_BUF(&sql);
    return lc_spark_analyze(server->session, sql.p, err);
}

struct way {
    lcdc_status (*try_it)(struct lc_spark_server *server, lcdc_error **err);
    enum lc_sql_source source;
    const char *format;
    const char *good; /* the reason to use it */
};

static const struct way native = {try_native, LC_SQL_NATIVE, "delta", "the server resolves CHANGES for this table"};
static const struct way iceberg = {try_iceberg, LC_SQL_VIEW, "iceberg",
                                   "the server has the table's snapshots, Iceberg's changelog view reads them"};
static const struct way delta_cdf = {try_delta_cdf, LC_SQL_CDF, "delta",
                                     "the server resolves table_changes for this table"};

/* That a server or a table has no such thing at all is no failure of it. */
static bool is_not_for(const struct way *way, const struct lc_spark_server *server)
{
    switch (way->source) {
    case LC_SQL_NATIVE:
        return !server->has_changes;
    case LC_SQL_VIEW:
        return server->is_delta;
    case LC_SQL_CDF:
        return server->is_iceberg;
    case LC_SQL_STATE:
        break;
    }
    return false;
}

/* Whatever comes of the rest. */
static lcdc_status tell_server(const struct lc_spark_server *server, struct lc_arena *arena, struct lc_candidate *out,
                               lcdc_error **err)
{
    if (!server || !server->version)
        return LCDC_OK;
    out->server_version = lc_arena_strdup(arena, server->version);
    LC_TRY_ALLOC(out->server_version);
    out->native_expected = server->has_changes;
    return LCDC_OK;
}

/* A refusal keeps the engine's words. */
static lcdc_status ask_way(const struct way *way, struct lc_spark_server *server, bool is_asked_for,
                           struct lc_arena *arena, struct lc_candidate *out, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    if (server->is_delta && way->source == LC_SQL_VIEW && !is_asked_for) {
        out->absent = true;
        out->reason = "the table is a Delta table";
        return LCDC_OK;
    }
    lcdc_status status = way->try_it(server, &problem);
    bool is_other_kind = status == LCDC_NOT_FOUND;
    if (status != LCDC_OK && !is_other_kind && !lc_spark_is_refusal(status)) {
        lc_spark_server_give_up(server, problem);
        return lc_fail_with(lc_steal(problem), err);
    }
    out->usable = status == LCDC_OK;
    server->is_iceberg = server->is_iceberg || (out->usable && way->source == LC_SQL_VIEW);
    out->absent = !is_asked_for && !out->usable && (is_other_kind || is_not_for(way, server));
    out->reason = out->usable ? way->good : lc_arena_strdup(arena, lcdc_error_message(problem));
    LC_TRY_ALLOC(out->reason);
    return LCDC_OK;
}

static lcdc_status probe_way(const struct way *way, const lcdc_request *request, struct lc_arena *arena,
                             struct lc_candidate *out, lcdc_error **err)
{
    struct lc_spark_server *server = NULL;
    LC_ERROR lcdc_error *problem = NULL;
    *out = (struct lc_candidate){.format = way->format};
    if (!lc_spark_is_url(request->table)) {
        out->absent = out->foreign = true;
        out->reason = "the location is no Spark server";
        return LCDC_OK;
    }
    lcdc_status status = lc_spark_server_get(request, &server, &problem);
    LC_TRY(tell_server(server, arena, out, err)); /* also of one that then failed */
    if (status != LCDC_OK)
        return lc_fail_with(lc_steal(problem), err);
    return ask_way(way, server, request->via != NULL, arena, out, err);
}

static lcdc_status locate(const lcdc_request *request, struct lc_arena *arena, const char **location, lcdc_error **err)
{
    struct lc_spark_server *server;
    *location = NULL;
    if (!lc_spark_is_url(request->table))
        return LCDC_OK;
    LC_TRY(lc_spark_server_get(request, &server, err));
    *location = server->location ? lc_arena_strdup(arena, server->location) : NULL;
    return server->location && !*location ? lc_fail_oom(err) : LCDC_OK;
}

/* ---- read ---- */

struct spark_read {
    struct lc_read read;
    const struct way *way;
    struct lc_spark_server *server;
    struct lc_spark_history history;
    struct lc_spark_result *zero_rows; /* whose columns are the schema */
    struct lc_spark_commit before;     /* the state before the range, for snapshot */
    size_t at_plan;
    const struct lc_list *identity; /* the request's; it outlives the read */
    struct lc_shape whole;          /* the shape of `changes` with every column and no filter */
};

static struct lc_spark_scan scan_of(const struct spark_read *self)
{
    const struct lc_spark_history *history = &self->history;
    size_t n = history->from < history->to ? history->to - history->from : 0;
    return (struct lc_spark_scan){.server = self->server,
                                  .source = self->way->source,
                                  .schema = self->read.schema,
                                  .identity = self->identity,
                                  .commits = history->commits + (n ? history->from : 0),
                                  .n = n,
                                  .before = n && history->from > 0 ? history->commits[history->from - 1].id
                                            : n                    ? history->commits[0].parent
                                                                   : -1};
}

static bool remakes_ids(const struct lc_spark_scan *scan)
{
    bool found = false;
    for (size_t i = 0; i < scan->n && !found; i++)
        found = scan->commits[i].remakes_ids;
    return found;
}

static bool holds_bytes(const struct lc_field *field)
{
    bool found = field->type.kind == LC_TYPE_BINARY || field->type.kind == LC_TYPE_FIXED;
    for (size_t i = 0; i < field->n_children && !found; i++)
        found = holds_bytes(&field->children[i]);
    return found;
}

/* Iceberg's view compares bytes by where they lie in memory, so none of its rows with bytes are ever the same. */
static bool shows_carried_rows(struct spark_read *self, const struct lc_spark_scan *scan)
{
    if (scan->source == LC_SQL_VIEW && holds_bytes(self->read.schema))
        for (size_t i = 0; i < self->history.n; i++)
            self->history.commits[i].remakes_ids = true;
    return scan->source != LC_SQL_CDF && remakes_ids(scan);
}

/*
 * CHANGES knows rows by their ids alone, so after a commit that gave all rows new ones it shows a delete and an insert
 * for each row that was only carried over. Whole rows tell which those are; columns and filter come after that.
 */
static lcdc_status changes_by_content(struct spark_read *self, const struct lc_spark_scan *scan,
                                      const struct lc_shape *shape, struct lc_change_stream **out, lcdc_error **err)
{
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    struct lc_stage_spec spec = {
        .columns = self->read.schema, .memory_limit = shape->memory_limit / 4, .batch_rows = shape->batch_rows};
    self->whole = *shape;
    self->whole.columns = self->read.schema;
    self->whole.filter = NULL;
    LC_TRY(lc_spark_changes_new(scan, &self->whole, &stream, err));
    LC_TRY(lc_stage_carried(lc_steal(stream), &spec, &stream, err));
    LC_TRY(lc_spark_narrow(lc_steal(stream), self->read.schema, shape->columns, &stream, err));
    if (shape->filter)
        LC_TRY(lc_stage_filter(lc_steal(stream), shape->filter, shape->columns, &stream, err));
    *out = lc_steal(stream);
    return LCDC_OK;
}

static lcdc_status read_changes(struct lc_read *read, const struct lc_shape *shape, struct lc_change_stream **out,
                                lcdc_error **err)
{
    struct spark_read *self = (struct spark_read *)read;
    struct lc_spark_scan scan = scan_of(self);
    if (shows_carried_rows(self, &scan))
        return changes_by_content(self, &scan, shape, out, err);
    return lc_spark_changes_new(&scan, shape, out, err);
}

/*
 * Where the changes follow a state, the state is no proof that they can be read, and once its rows have left nobody
 * else can take over. So their first batch is asked for before, and given up.
 */
static lcdc_status prove_changes(const struct lc_spark_scan *scan, const struct lc_shape *shape, lcdc_error **err)
{
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    LC_CHANGE_BATCH struct lc_change_batch batch = {0};
    bool more;
    LC_TRY(lc_spark_changes_new(scan, shape, &stream, err));
    return lc_change_next(stream, &batch, &more, err);
}

/* The commit before the range; of an empty one the commit it would begin after. */
static const struct lc_spark_commit *commit_before(const struct spark_read *self)
{
    const struct lc_spark_history *history = &self->history;
    size_t from = history->from < history->n ? history->from : history->n;
    return from > 0 ? &history->commits[from - 1] : NULL;
}

static lcdc_status read_snapshot(struct lc_read *read, bool at_end, const struct lc_shape *shape,
                                 struct lc_change_stream **out, lcdc_error **err)
{
    struct spark_read *self = (struct spark_read *)read;
    struct lc_spark_scan scan = scan_of(self);
    const struct lc_spark_commit *commit = at_end && scan.n ? &scan.commits[scan.n - 1] : commit_before(self);
    if (!at_end && scan.n)
        LC_TRY(prove_changes(&scan, shape, err));
    scan.source = LC_SQL_STATE;
    scan.n = commit != NULL;
    if (commit) {
        self->before = *commit;
        self->before.bytes = -1;
        scan.commits = &self->before;
    }
    return lc_spark_changes_new(&scan, shape, out, err);
}

static lcdc_status read_plan_next(struct lc_read *read, const struct lc_shape *shape, lcdc_plan_commit *out, bool *more,
                                  lcdc_error **err)
{
    struct spark_read *self = (struct spark_read *)read;
    struct lc_spark_scan scan = scan_of(self);
    (void)shape;
    *more = self->at_plan < scan.n;
    if (!*more) {
        self->at_plan = 0;
        return LCDC_OK;
    }
    const struct lc_spark_commit *commit = &scan.commits[self->at_plan];
    char *detail = lc_strdup(commit->operation);
    LC_TRY_ALLOC(detail);
    self->at_plan++;
    *out = (lcdc_plan_commit){.snapshot = commit->id,
                              .ts_us = commit->ts_us,
                              .method = "engine",
                              .detail = detail,
                              .files = -1,
                              .files_pruned = -1,
                              .rows = commit->rows,
                              .bytes = -1};
    return LCDC_OK;
}

static void read_release(struct lc_read *read)
{
    struct spark_read *self = (struct spark_read *)read;
    lc_spark_result_free(self->zero_rows);
    lc_spark_history_done(&self->history);
    lc_free(self);
}

/* The columns at the end of the range, from a query that has no rows. */
static lcdc_status read_schema(struct spark_read *self, lcdc_error **err)
{
    LC_BUF struct lc_buf sql;
    struct lc_sql_query query = {
        .source = LC_SQL_STATE, .table = self->server->table, .to = self->read.last_commit, .n_slices = 1};
    lc_buf_init(&sql, MAX_SQL);
    lc_sql_query_print(&query, &sql);
    lc_buf_text(&sql, " LIMIT 0");
    LC_TRY_BUF(&sql);
    LC_TRY(lc_spark_result_open(self->server->session, sql.p, &self->zero_rows, err));
    for (bool more = true; more;) {
        LC_ARRAY struct ArrowArray batch = {0};
        LC_TRY(lc_spark_result_next(self->zero_rows, &batch, &more, err));
    }
    if (!self->zero_rows->has_schema)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server gave no schema for the table");
    lc_spark_operation_free(lc_steal(self->zero_rows->operation));
    return LCDC_OK;
}

static lcdc_status fill_read(struct spark_read *self, const lcdc_request *request, lcdc_error **err)
{
    struct lc_spark_history *history = &self->history;
    struct lc_read *read = &self->read;
    LC_TRY(lc_spark_history_read(self->server, self->way->source == LC_SQL_VIEW, request, history, err));
    struct lc_spark_scan scan = scan_of(self);
    const struct lc_spark_commit *last = scan.n ? &scan.commits[scan.n - 1] : commit_before(self);
    read->n_commits = (int64_t)scan.n;
    read->empty = scan.n == 0;
    read->last_commit = last ? last->id : -1;
    read->format = self->way->format;
    read->table_id = self->server->table_id && !history->is_iceberg ? self->server->table_id : self->server->table;
    LC_TRY(read_schema(self, err));
    read->schema = &self->zero_rows->columns;
    return LCDC_OK;
}

static lcdc_status open_read(const struct way *way, void *source, const lcdc_request *request, struct lc_read **out,
                             lcdc_error **err)
{
    static const struct lc_read_ops ops = {
        .plan_next = read_plan_next, .changes = read_changes, .release = read_release, .snapshot = read_snapshot};
    struct spark_read *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct spark_read){.read.ops = &ops, .way = way, .server = source, .identity = &request->identity};
    lcdc_status status = fill_read(self, request, err);
    if (status == LCDC_OK)
        *out = &self->read;
    else
        read_release(&self->read);
    return status;
}

/* The server belongs to the source, which frees it after the backends are closed. */
static lcdc_status open_source(const lcdc_request *request, void **out, lcdc_error **err)
{
    struct lc_spark_server *server;
    LC_TRY(lc_spark_server_get(request, &server, err));
    *out = server;
    return LCDC_OK;
}

static void close_source(void *source)
{
    (void)source;
}

#define SPARK_BACKEND(way)                                                                                             \
    static lcdc_status probe_##way(const lcdc_request *request, struct lc_arena *arena, struct lc_candidate *out,      \
                                   lcdc_error **err)                                                                   \
    {                                                                                                                  \
        return probe_way(&way, request, arena, out, err);                                                              \
    }                                                                                                                  \
    static lcdc_status open_read_##way(void *source, const lcdc_request *request, struct lc_read **out,                \
                                       lcdc_error **err)                                                               \
    {                                                                                                                  \
        return open_read(&way, source, request, out, err);                                                             \
    }                                                                                                                  \
    const struct lc_backend lc_spark_##way##_backend = {.abi = LC_BACKEND_ABI,                                         \
                                                        .size = sizeof(struct lc_backend),                             \
                                                        .name = "spark_" #way,                                         \
                                                        .probe = probe_##way,                                          \
                                                        .open = open_source,                                           \
                                                        .read_open = open_read_##way,                                  \
                                                        .close = close_source,                                         \
                                                        .may_fall_back = true,                                         \
                                                        .locate = locate}

SPARK_BACKEND(native);
SPARK_BACKEND(iceberg);
SPARK_BACKEND(delta_cdf);
