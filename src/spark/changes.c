/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/changes.h"

#include <inttypes.h>
#include <string.h>

#include "spark/layout.h"
#include "spark/result.h"
#include "spark/seen.h"

enum {
    MAX_SQL = 1 << 24,
    MAX_COMMITS = 1000,
    MAX_SLICES = 1024,
    FIRST_SLICES = 4,
    LEAVE_MS = 3000,
    LEAVE_HURRIED_MS = 300
};
#define WINDOW_BYTES ((int64_t)256 << 20)
#define PIECE_BYTES ((int64_t)4 << 20) /* what leaves at once is copied out of a large batch in pieces */
#define UNKNOWN_BYTES ((int64_t)64 << 20)

struct changes {
    struct lc_change_stream stream;
    struct lc_spark_scan scan;
    const struct lc_shape *shape;
    struct lc_spark_session *session;

    /* the window [at, end): what is read now; `at` is the commit in progress */
    size_t at, end;
    enum lc_sql_side side;
    int64_t n_slices, slice;
    bool any_order;                 /* the window's only commit says that it only adds rows: they are not sorted */
    bool is_mixed;                  /* it does not */
    bool is_read;                   /* the window's rows have all come; ends of commits are still to be told */
    char *view;                     /* of the window */
    struct lc_spark_result *result; /* of the query in progress */
    struct lc_spark_layout layout;
    struct lc_arena layout_arena;

    /* the batch in hand */
    int64_t n, row;
    int64_t row_bytes; /* what a row of it takes, on average */
    struct ArrowArray images;
    uint8_t *ops;
    int64_t *ids, *times, *row_ids; /* row_ids NULL: there are none */
    int64_t *places;                /* of each row among the images; NULL: they are the images' rows */
    struct lc_seen seen;
};

static bool is_state(const struct changes *self)
{
    return self->scan.source == LC_SQL_STATE;
}

static void drop_batch(struct changes *self)
{
    lc_array_release(&self->images);
    lc_free(lc_steal(self->ops));
    lc_free(lc_steal(self->ids));
    lc_free(lc_steal(self->times));
    lc_free(lc_steal(self->row_ids));
    lc_free(lc_steal(self->places));
    self->n = self->row = 0;
}

/* ---- windows ---- */

static int64_t bytes_of(const struct lc_spark_commit *commit)
{
    return commit->bytes >= 0 ? commit->bytes : UNKNOWN_BYTES;
}

/* The window is one commit, and a query of it covers a side of it when the rows of both would have to be sorted. */
static void cut_in_slices(struct changes *self, int64_t n_slices)
{
    self->n_slices = n_slices < MAX_SLICES ? n_slices : MAX_SLICES;
    self->slice = 0;
    self->side = is_state(self) || self->any_order ? LC_SIDE_BOTH : LC_SIDE_OLD;
}

static void choose_window(struct changes *self)
{
    const struct lc_spark_commit *first = &self->scan.commits[self->at];
    int64_t sum = bytes_of(first);
    self->end = self->at + 1;
    self->side = LC_SIDE_BOTH;
    self->n_slices = 1;
    self->slice = 0;
    self->is_read = self->is_mixed = false;
    lc_seen_clear(&self->seen);
    self->any_order = first->only_adds;
    if (sum > 2 * WINDOW_BYTES && lc_sql_can_slice(self->scan.schema)) {
        cut_in_slices(self, sum / WINDOW_BYTES + 1);
        return;
    }
    while (self->end < self->scan.n && self->end - self->at < MAX_COMMITS) {
        int64_t more = bytes_of(&self->scan.commits[self->end]);
        if (more > WINDOW_BYTES - sum)
            break;
        sum += more;
        self->end++;
    }
    self->any_order = self->any_order && self->end - self->at == 1;
}

/* The view sorts rows to find those that were only carried over, which it cannot where a column is a map; there it goes
   by the columns that tell rows apart, when they are known. */
static void print_identity(const struct changes *self, struct lc_buf *sql)
{
    const struct lc_list *identity = self->scan.identity;
    if (!identity->n || !lc_sql_holds_map(self->scan.schema))
        return;
    lc_buf_text(sql, ", identifier_columns => array(");
    for (size_t i = 0; i < identity->n; i++) {
        lc_buf_text(sql, i ? ", " : "");
        lc_sql_text(sql, lc_str_of(identity->items[i]));
    }
    lc_buf_char(sql, ')');
}

/* A temporary view of Iceberg's for the commits of the window. The CALL is never analysed: that would run it. */
static lcdc_status make_view(struct changes *self, lcdc_error **err)
{
    LC_BUF struct lc_buf sql, name;
    const char *table = self->scan.server->table;
    int64_t before = self->at > 0 ? self->scan.commits[self->at - 1].id : self->scan.before;
    char id[37];
    lc_buf_init(&sql, MAX_SQL);
    lc_buf_init(&name, 64);
    LC_TRY(lc_spark_new_id(id, err));
    lc_buf_text(&name, "lakecdc_");
    for (const char *p = id; *p; p++)
        if (*p != '-')
            lc_buf_char(&name, *p);
    lc_buf_text(&sql, "CALL ");
    lc_buf_append(&sql, table, lc_sql_catalog_length(table));
    lc_buf_text(&sql, "system.create_changelog_view(table => ");
    lc_sql_text(&sql, lc_str_of(table));
    lc_buf_printf(&sql, ", changelog_view => '%s', options => map(", name.p);
    if (before >= 0)
        lc_buf_printf(&sql, "'start-snapshot-id', '%" PRId64 "', ", before);
    lc_buf_printf(&sql, "'end-snapshot-id', '%" PRId64 "')", self->scan.commits[self->end - 1].id);
    print_identity(self, &sql);
    lc_buf_char(&sql, ')');
    LC_TRY_BUF(&sql);
    self->view = lc_buf_take(&name); /* noted first: it is dropped also when the call seems to fail */
    LC_TRY_ALLOC(self->view);
    return lc_spark_command(self->session, sql.p, err);
}

/* Also on the way out of a cancelled read, so it has a short time of its own and cannot fail. */
static void drop_view(struct changes *self)
{
    struct lc_spark_session *session = self->session;
    LC_FREE char *view = lc_steal(self->view);
    LC_BUF struct lc_buf sql;
    lc_buf_init(&sql, 256);
    if (!view || (lc_spark_is_hurried(session) && session->is_own)) /* it goes with the session */
        return;
    int64_t leave_ms = lc_spark_is_hurried(session) ? LEAVE_HURRIED_MS : LEAVE_MS;
    lc_buf_printf(&sql, "DROP VIEW IF EXISTS `%s`", view);
    const _Atomic int *cancelled = session->cancelled;
    int64_t timeout_ms = session->timeout_ms;
    const struct lc_shared *shared = session->shared;
    session->cancelled = NULL;
    session->shared = NULL;
    session->timeout_ms = timeout_ms < leave_ms ? timeout_ms : leave_ms;
    if (!sql.failed && !session->is_lost)
        (void)lc_spark_command(session, sql.p, NULL);
    session->cancelled = cancelled;
    session->shared = shared;
    session->timeout_ms = timeout_ms;
}

static bool wants_all_columns(const struct changes *self)
{
    return self->shape->columns->n_children == self->scan.schema->n_children && !self->shape->filter;
}

static lcdc_status start_query(struct changes *self, lcdc_error **err)
{
    const struct lc_spark_commit *commits = self->scan.commits;
    bool is_plain = wants_all_columns(self);
    LC_BUF struct lc_buf sql;
    lc_buf_init(&sql, MAX_SQL);
    if (self->scan.source == LC_SQL_VIEW && !self->view)
        LC_TRY(make_view(self, err));
    struct lc_sql_query query = {.source = self->scan.source,
                                 .table = self->view ? self->view : self->scan.server->table,
                                 .from = commits[self->at].id,
                                 .to = commits[self->end - 1].id,
                                 .columns = is_plain ? NULL : self->shape->columns,
                                 .filter = self->shape->filter,
                                 .filter_columns = self->shape->columns,
                                 .row_ids = self->shape->row_ids && self->scan.source == LC_SQL_NATIVE,
                                 .any_order = self->any_order,
                                 .side = self->side,
                                 .n_slices = self->n_slices,
                                 .slice = self->slice,
                                 .hash_columns = self->scan.schema};
    lc_sql_query_print(&query, &sql);
    LC_TRY_BUF(&sql);
    self->layout.result = NULL;
    return lc_spark_result_open(self->session, sql.p, &self->result, err);
}

static void end_query(struct changes *self)
{
    lc_spark_result_free(lc_steal(self->result));
    lc_arena_done(&self->layout_arena);
    self->layout.result = NULL;
}

/* The query in progress gave all its rows: on to the next slice, the other side, or the end of the window. */
static void next_slice(struct changes *self)
{
    end_query(self);
    self->slice++;
    if (self->slice < self->n_slices)
        return;
    self->slice = 0;
    self->is_read = self->side != LC_SIDE_OLD;
    if (self->side == LC_SIDE_OLD)
        self->side = LC_SIDE_NEW;
    if (self->is_read)
        drop_view(self);
}

/* The server refuses the query for its size. What has left already of the commit in progress will come again. */
static lcdc_status ask_for_less(struct changes *self, lcdc_error *take_problem, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = take_problem;
    bool can_narrow = self->end - self->at > 1;
    bool can_slice = self->n_slices * 4 <= MAX_SLICES && lc_sql_can_slice(self->scan.schema);
    end_query(self);
    if (self->seen.is_full || (!can_narrow && !can_slice)) {
        lc_error_prefix(&problem,
                        "commit %" PRId64
                        " is too large for the server even in slices; raise spark.driver.maxResultSize there",
                        self->scan.commits[self->at].id);
        return lc_fail_with(lc_steal(problem), err);
    }
    LC_TRY(lc_seen_rewind(&self->seen, err));
    if (can_narrow) {
        drop_view(self);
        self->end = self->at + 1;
        self->any_order = self->scan.commits[self->at].only_adds && !self->seen.n;
        return LCDC_OK;
    }
    cut_in_slices(self, self->n_slices == 1 ? FIRST_SLICES : self->n_slices * 4);
    return LCDC_OK;
}

/* What was to add rows only does more: once again, sorted. What has left cannot be put in order any more. */
static lcdc_status ask_in_order(struct changes *self, lcdc_error **err)
{
    end_query(self);
    drop_batch(self);
    self->any_order = self->is_mixed = false;
    if (self->n_slices > 1)
        cut_in_slices(self, self->n_slices);
    if (self->seen.n || self->seen.is_full)
        return lc_fail(err, LC_R_SPARK_PROTOCOL,
                       "commit %" PRId64 " (%s) says that it only adds rows, and others came in the middle of it",
                       self->scan.commits[self->at].id, self->scan.commits[self->at].operation);
    return LCDC_OK;
}

/* ---- rows ---- */

static bool is_old(uint8_t op)
{
    return op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE;
}

static lcdc_status read_row(struct changes *self, const struct ArrowArray *batch, int64_t i, lcdc_error **err)
{
    lcdc_op op;
    const struct lc_spark_commit *commits = self->scan.commits;
    LC_TRY(lc_spark_layout_op(&self->layout, batch, i, &op, err));
    self->ops[i] = (uint8_t)op;
    self->is_mixed = self->is_mixed || (self->any_order && op != LCDC_OP_INSERT);
    self->ids[i] = commits[self->at].id;
    self->times[i] = INT64_MIN;
    if (self->row_ids && !lc_spark_layout_row_id(&self->layout, batch, i, &self->row_ids[i]))
        self->row_ids[i] = -1;
    if (is_state(self))
        return LCDC_OK;
    LC_TRY(lc_spark_layout_commit(&self->layout, batch, i, &self->ids[i], err));
    (void)lc_spark_layout_ts(&self->layout, batch, i, &self->times[i]);
    if (self->side != LC_SIDE_BOTH && is_old(self->ops[i]) != (self->side == LC_SIDE_OLD))
        return lc_fail(err, LC_R_SPARK_PROTOCOL,
                       "the server was asked for one side of commit %" PRId64 " and sent the other one too",
                       commits[self->at].id);
    return LCDC_OK;
}

/* Hashes of everything that is shown of a row. */
static lcdc_status hash_rows(struct changes *self, struct lc_hash *hashes, lcdc_error **err)
{
    LC_TRY(lc_row_hash(self->shape->columns, &self->images, 0, NULL, hashes, err));
    for (int64_t i = 0; i < self->n; i++) {
        hashes[i].a += (uint64_t)self->ops[i] * UINT64_C(0x9E3779B97F4A7C15);
        if (self->row_ids)
            hashes[i].b ^= (uint64_t)self->row_ids[i] * UINT64_C(0xC2B2AE3D27D4EB4F);
    }
    return LCDC_OK;
}

static void keep_row(struct changes *self, int64_t from, int64_t to)
{
    self->ops[to] = self->ops[from];
    self->ids[to] = self->ids[from];
    self->times[to] = self->times[from];
    if (self->row_ids)
        self->row_ids[to] = self->row_ids[from];
}

/* Leaves out what left before a refusal, and notes what leaves now; a row of a later commit begins a new note. */
static lcdc_status drop_seen(struct changes *self, lcdc_error **err)
{
    LC_FREE struct lc_hash *hashes = lc_alloc((size_t)self->n * sizeof(*hashes));
    LC_FREE int64_t *places = lc_alloc((size_t)self->n * sizeof(*places));
    LC_TRY_ALLOC(hashes && places);
    LC_TRY(hash_rows(self, hashes, err));
    int64_t kept = 0, commit = self->scan.commits[self->at].id;
    for (int64_t i = 0; i < self->n; i++) {
        bool again;
        if (self->ids[i] != commit)
            lc_seen_clear(&self->seen);
        commit = self->ids[i];
        LC_TRY(lc_seen_pass(&self->seen, hashes[i], &again, err));
        if (again)
            continue;
        places[kept] = i;
        keep_row(self, i, kept++);
    }
    if (kept != self->n)
        self->places = lc_steal(places);
    self->n = kept;
    return LCDC_OK;
}

static lcdc_status see_batch(struct changes *self, struct ArrowArray *batch, lcdc_error **err)
{
    const struct lc_field *images = self->shape->columns;
    size_t n = (size_t)batch->length;
    if (!self->layout.result) {
        size_t n_data = wants_all_columns(self) ? self->scan.schema->n_children : images->n_children;
        LC_TRY(lc_spark_layout_find(self->scan.source, &self->result->columns, images, n_data, &self->layout_arena,
                                    &self->layout, err));
    }
    drop_batch(self);
    self->ops = lc_alloc(n);
    self->ids = lc_calloc(n, sizeof(int64_t));
    self->times = lc_calloc(n, sizeof(int64_t));
    LC_TRY_ALLOC(self->ops && self->ids && self->times);
    if (self->layout.metadata != LC_NO_COLUMN && self->shape->row_ids) {
        self->row_ids = lc_calloc(n, sizeof(int64_t));
        LC_TRY_ALLOC(self->row_ids);
    }
    for (int64_t i = 0; i < batch->length; i++)
        LC_TRY(read_row(self, batch, i, err));
    LC_TRY(lc_spark_layout_images(&self->layout, batch, &self->images, err));
    self->n = (int64_t)n;
    self->row_bytes = self->result->row_bytes;
    return n && !self->is_mixed ? drop_seen(self, err) : LCDC_OK;
}

static lcdc_status fetch(struct changes *self, lcdc_error **err)
{
    bool more = false;
    LC_ERROR lcdc_error *problem = NULL;
    LC_ARRAY struct ArrowArray batch = {0};
    lcdc_status status = self->result ? LCDC_OK : start_query(self, &problem);
    if (status == LCDC_OK)
        status = lc_spark_result_next(self->result, &batch, &more, &problem);
    if (status == LCDC_LIMIT && problem &&
        strcmp(lcdc_error_reason(problem), lc_reason_token(LC_R_SPARK_TOO_LARGE)) == 0)
        return ask_for_less(self, lc_steal(problem), err);
    if (status != LCDC_OK)
        return lc_fail_with(lc_steal(problem), err);
    if (!more) {
        next_slice(self);
        return LCDC_OK;
    }
    LC_TRY(see_batch(self, &batch, err));
    return self->is_mixed ? ask_in_order(self, err) : LCDC_OK;
}

/* ---- what leaves ---- */

static void tell(const struct changes *self, struct lc_change_batch *out, int64_t ts_us)
{
    const struct lc_spark_commit *commit = &self->scan.commits[self->at];
    out->snapshot = commit->id;
    out->has_snapshot = commit->id >= 0;
    out->remakes_ids = commit->remakes_ids;
    out->ts_us = ts_us != INT64_MIN ? ts_us : commit->ts_us;
    out->has_ts = out->ts_us != INT64_MIN;
}

static lcdc_status cut_images(struct changes *self, int64_t n, struct ArrowArray *out, lcdc_error **err)
{
    if (n == self->images.length) {
        lc_array_move(&self->images, out);
        return LCDC_OK;
    }
    LC_FREE int64_t *rows = lc_alloc((size_t)n * sizeof(*rows));
    const struct ArrowArray *from = &self->images;
    LC_TRY_ALLOC(rows);
    for (int64_t i = 0; i < n; i++)
        rows[i] = self->places ? self->places[self->row + i] : self->row + i;
    return lc_array_gather(self->shape->columns, 1, &from, NULL, rows, n, out, err);
}

/* How many rows may leave at once: a batch of the server may be large, and must not be copied as a whole. */
static int64_t most_rows(const struct changes *self)
{
    int64_t most = self->shape->batch_rows > 0 ? self->shape->batch_rows : INT64_MAX, row_bytes = self->row_bytes;
    if (row_bytes <= 0 || self->images.length <= PIECE_BYTES / row_bytes)
        return most;
    int64_t fit = PIECE_BYTES / row_bytes;
    return fit < 1 ? 1 : fit < most ? fit : most;
}

/* Rows of the commit in progress, from the batch in hand. */
static lcdc_status give_rows(struct changes *self, struct lc_change_batch *out, lcdc_error **err)
{
    int64_t n = 0, most = most_rows(self), at = self->row;
    while (at + n < self->n && n < most && self->ids[at + n] == self->scan.commits[self->at].id)
        n++;
    LC_CHANGE_BATCH struct lc_change_batch batch = {.n = n};
    batch.ops = lc_alloc((size_t)n);
    batch.row_ids = self->row_ids ? lc_alloc((size_t)n * sizeof(int64_t)) : NULL;
    LC_TRY_ALLOC(batch.ops && (batch.row_ids || !self->row_ids));
    memcpy(batch.ops, self->ops + at, (size_t)n);
    if (batch.row_ids)
        memcpy(batch.row_ids, self->row_ids + at, (size_t)n * sizeof(int64_t));
    tell(self, &batch, self->times[at]);
    LC_TRY(cut_images(self, n, &batch.images, err));
    self->row += n;
    if (self->row == self->n)
        drop_batch(self); /* not kept until the next one is here */
    *out = batch;
    batch = (struct lc_change_batch){0};
    return LCDC_OK;
}

static void give_end(struct changes *self, struct lc_change_batch *out)
{
    *out = (struct lc_change_batch){.ends_commit = true};
    tell(self, out, INT64_MIN);
    self->at++;
}

/* The row in hand is not of the commit in progress: it may be of a later one of the window. */
static lcdc_status check_commit(const struct changes *self, int64_t id, lcdc_error **err)
{
    for (size_t i = self->at + 1; i < self->end; i++)
        if (self->scan.commits[i].id == id)
            return LCDC_OK;
    return lc_fail(err, LC_R_SPARK_PROTOCOL,
                   "the server sent a row of commit %" PRId64 " when rows of %" PRId64 " to %" PRId64 " were to come",
                   id, self->scan.commits[self->at].id, self->scan.commits[self->end - 1].id);
}

static lcdc_status changes_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                                lcdc_error **err)
{
    struct changes *self = (struct changes *)stream;
    self->session->cancelled = self->shape->cancelled;
    *more = true;
    for (;;) {
        if (self->row < self->n) {
            int64_t id = self->ids[self->row];
            if (id == self->scan.commits[self->at].id)
                return give_rows(self, out, err);
            LC_TRY(check_commit(self, id, err));
            give_end(self, out);
            return LCDC_OK;
        }
        if (self->at < self->end && self->is_read) {
            give_end(self, out);
            return LCDC_OK;
        }
        if (self->at == self->scan.n)
            break;
        if (self->at == self->end)
            choose_window(self);
        LC_TRY(fetch(self, err));
    }
    *more = false;
    return LCDC_OK;
}

static void changes_release(struct lc_change_stream *stream)
{
    struct changes *self = (struct changes *)stream;
    end_query(self);
    drop_view(self);
    drop_batch(self);
    lc_seen_done(&self->seen);
    lc_arena_done(&self->layout_arena);
    self->session->cancelled = NULL; /* it was the feed's, which may be freed now */
    lc_free(self);
}

lcdc_status lc_spark_changes_new(const struct lc_spark_scan *scan, const struct lc_shape *shape,
                                 struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {changes_next, changes_release};
    struct changes *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct changes){.stream.ops = &ops, .scan = *scan, .shape = shape, .session = scan->server->session};
    *out = &self->stream;
    return LCDC_OK;
}
