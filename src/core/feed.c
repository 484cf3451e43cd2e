/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - a reading as an Arrow stream of change rows: the one place where internal batches become the public row,
 * and where errors meet the stream interface.
 */
#include <inttypes.h>
#include <string.h>

#include "core/reading.h"

struct lcdc_feed {
    struct lc_reading *reading;
    lcdc_source *source;
    lcdc_request *request; /* kept for a fallback */
    struct lc_change_stream *stream;
    struct lc_change_batch pending; /* first batch, read ahead where a backend's word cannot be trusted */
    bool has_pending, handed_out, ended;
    bool commit_ends; /* the rows handed out last were the last of their commit; said by the next step */
    int64_t rows, batches, commits;
    int64_t snapshot, ts_us; /* of the commit the last step belongs to */
    char *cursor, *stats;
    _Atomic int cancelled;
};

/* ---- opening ---- */

static void close_reading(lcdc_feed *feed)
{
    lc_change_batch_done(&feed->pending);
    feed->has_pending = false;
    lc_change_stream_free(lc_steal(feed->stream));
    lc_reading_free(lc_steal(feed->reading));
}

/* Up to the first batch where a backend's word cannot be trusted before; see design of the seam. */
static lcdc_status start(void *context, lcdc_error **err)
{
    lcdc_feed *feed = context;
    close_reading(feed);
    LC_TRY(lc_reading_open(feed->source, feed->request, true, &feed->reading, err));
    feed->reading->shape.cancelled = &feed->cancelled;
    feed->reading->shape.asked = feed->source->shared.cancelled;
    LC_TRY(lc_reading_start(feed->reading, &feed->stream, err));
    feed->reading->shape.asked = NULL;
    if (!lc_source_backend(feed->source)->may_fall_back)
        return LCDC_OK;
    bool more = false;
    LC_TRY(lc_change_next(feed->stream, &feed->pending, &more, err));
    feed->has_pending = true;
    feed->ended = !more;
    return LCDC_OK;
}

lcdc_status lcdc_feed_open(lcdc_source *source, const lcdc_request *request, lcdc_feed **out, lcdc_error **err)
{
    if (!source || !request || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_feed_open: a source, a request and an output are needed");
    lcdc_feed *feed = lc_calloc(1, sizeof(*feed));
    LC_TRY_ALLOC(feed);
    feed->source = source;
    feed->snapshot = -1;
    feed->ts_us = INT64_MIN;
    lcdc_status status = lc_request_dup(request, &feed->request, err);
    source->shared.cancelled = &request->cancelled;
    if (status == LCDC_OK)
        status = lc_source_attempt(source, request, start, feed, err);
    if (status == LCDC_OK)
        *out = feed;
    else
        lcdc_feed_free(feed); /* still a part of the call, which may have been cancelled */
    source->shared.cancelled = NULL;
    return status;
}

void lcdc_feed_cancel(lcdc_feed *feed)
{
    if (feed)
        feed->cancelled = 1;
}

void lcdc_feed_free(lcdc_feed *feed)
{
    if (!feed)
        return;
    close_reading(feed);
    lcdc_request_free(feed->request);
    lc_free(feed->cursor);
    lc_free(feed->stats);
    lc_free(feed);
}

/* ---- rows ---- */

static lcdc_status project(const lcdc_feed *feed, struct ArrowArray *images, lcdc_error **err)
{
    const struct lc_reading *reading = feed->reading;
    LC_ARRAY struct ArrowArray all = {0};
    bool same = reading->images.n_children == reading->columns.n_children;
    for (size_t i = 0; same && i < reading->images.n_children; i++)
        same = reading->image_columns[i] == i;
    if (same || !images->release)
        return LCDC_OK;
    lc_array_move(images, &all);
    return lc_array_project(&all, reading->images.n_children, reading->image_columns, images, err);
}

static bool shows_before(lcdc_op op)
{
    return op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE || op == LCDC_OP_UPDATE;
}

/* The public batch of an internal one. Rows of both sides in one batch share one image array: each side is that array
   with the other side's rows made null, which gather does by row index -1. */
static lcdc_status side_of(const lcdc_feed *feed, struct lc_change_batch *batch, bool before, struct ArrowArray *out,
                           lcdc_error **err)
{
    LC_FREE int64_t *rows = lc_alloc((size_t)batch->n * sizeof(*rows));
    const struct ArrowArray *from = &batch->images;
    LC_TRY_ALLOC(rows);
    for (int64_t i = 0; i < batch->n; i++)
        rows[i] = shows_before(lc_change_op(batch, i)) == before ? i : -1;
    return lc_array_gather(&feed->reading->images, 1, &from, NULL, rows, batch->n, out, err);
}

static lcdc_status export_batch(lcdc_feed *feed, struct lc_change_batch *batch, struct ArrowArray *out,
                                lcdc_error **err)
{
    LC_ARRAY struct ArrowArray before = {0}, after = {0};
    LC_TRY(project(feed, &batch->images, err));
    LC_TRY(project(feed, &batch->after, err));
    int64_t n = batch->n, befores = 0;
    LC_FREE uint8_t *ops = lc_alloc((size_t)n);
    LC_FREE int64_t *snapshots = lc_alloc((size_t)n * sizeof(int64_t));
    LC_FREE int64_t *times = lc_alloc((size_t)n * sizeof(int64_t));
    LC_FREE uint8_t *valid = lc_alloc((size_t)n);
    LC_TRY_ALLOC(ops && snapshots && times && valid);
    for (int64_t i = 0; i < n; i++) {
        ops[i] = (uint8_t)lc_change_op(batch, i);
        befores += shows_before((lcdc_op)ops[i]);
        snapshots[i] = batch->snapshot;
        times[i] = batch->ts_us;
        valid[i] = batch->has_ts;
    }
    if (batch->after.release) {
        lc_array_move(&batch->images, &before);
        lc_array_move(&batch->after, &after);
    } else if (befores == 0 || befores == n) {
        lc_array_move(&batch->images, befores ? &before : &after);
    } else {
        LC_TRY(side_of(feed, batch, true, &before, err));
        LC_TRY(side_of(feed, batch, false, &after, err));
    }
    return lc_change_array(&feed->reading->images, ops, n, &before, &after, batch->has_snapshot ? snapshots : NULL,
                           times, valid, out, err);
}

static lcdc_status set_cursor(lcdc_feed *feed, int64_t after, lcdc_error **err)
{
    char *cursor = lc_cursor_print(feed->reading->read, after);
    LC_TRY_ALLOC(cursor);
    lc_free(feed->cursor);
    feed->cursor = cursor;
    return LCDC_OK;
}

static lcdc_status end_of_stream(lcdc_feed *feed, lcdc_error **err)
{
    feed->ended = true;
    lc_source_note_end(feed->source, NULL);
    int64_t last = feed->reading->read->last_commit;
    return last >= 0 ? set_cursor(feed, last, err) : LCDC_OK;
}

static lcdc_status next_internal(lcdc_feed *feed, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    *more = !feed->ended;
    if (feed->ended)
        return LCDC_OK;
    if (feed->cancelled)
        return lc_fail(err, LC_R_CANCELLED, "the read was cancelled");
    if (feed->has_pending) {
        *out = feed->pending;
        feed->pending = (struct lc_change_batch){0};
        feed->has_pending = false;
        return LCDC_OK;
    }
    LC_ERROR lcdc_error *problem = NULL;
    lcdc_status status = lc_change_next(feed->stream, out, more, &problem);
    if (status == LCDC_OK)
        return status;
    if (status != LCDC_CANCELLED && status != LCDC_OUT_OF_MEMORY)
        lc_source_note_end(feed->source, problem);
    return lc_fail_with(lc_steal(problem), err);
}

static lcdc_status end_commit(lcdc_feed *feed, lcdc_error **err)
{
    feed->commit_ends = false;
    feed->commits++;
    return set_cursor(feed, feed->snapshot, err);
}

/* Rows of one commit, the end of one, or the end of the range. The commit's end comes after its rows, on its own. */
static lcdc_status step(lcdc_feed *feed, lcdc_step *out, struct ArrowArray *rows, lcdc_error **err)
{
    *out = LCDC_STEP_COMMIT;
    while (!feed->commit_ends) {
        LC_CHANGE_BATCH struct lc_change_batch batch = {0};
        bool more = false;
        LC_TRY(next_internal(feed, &batch, &more, err));
        *out = more ? LCDC_STEP_ROWS : LCDC_STEP_END;
        if (!more)
            return end_of_stream(feed, err);
        int64_t n = batch.n;
        if (n)
            LC_TRY(export_batch(feed, &batch, rows, err));
        feed->snapshot = batch.has_snapshot ? batch.snapshot : -1;
        feed->ts_us = batch.has_ts ? batch.ts_us : INT64_MIN;
        feed->commit_ends = batch.ends_commit && batch.has_snapshot;
        if (n) {
            feed->rows += n;
            feed->batches++;
            return LCDC_OK;
        }
        *out = LCDC_STEP_COMMIT;
    }
    return end_commit(feed, err);
}

lcdc_status lcdc_feed_next(lcdc_feed *feed, lcdc_step *out, struct ArrowArray *rows, lcdc_error **err)
{
    if (!feed || !out || !rows)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_feed_next: a feed and two outputs are needed");
    if (feed->handed_out)
        return lc_fail(err, LC_R_REQUEST_CONFLICT, "the stream of this feed was handed out: read that");
    LC_ARRAY struct ArrowArray batch = {0};
    lcdc_step made = LCDC_STEP_END;
    LC_TRY(step(feed, &made, &batch, err));
    lc_array_move(&batch, rows);
    *out = made;
    return LCDC_OK;
}

lcdc_status lcdc_feed_schema(const lcdc_feed *feed, struct ArrowSchema *out, lcdc_error **err)
{
    if (!feed || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_feed_schema: a feed and an output are needed");
    return lc_change_schema(&feed->reading->images, out, err);
}

const struct lc_field *lc_feed_images(const lcdc_feed *feed)
{
    return &feed->reading->images;
}

lcdc_status lc_feed_used(const lcdc_feed *feed, struct lc_arena *arena, struct lc_field *out, lcdc_error **err)
{
    const struct lc_reading *reading = feed->reading;
    const struct lc_field *images = &reading->images, *columns = &reading->columns;
    struct lc_field *children = lc_arena_array(arena, images->n_children + columns->n_children, sizeof(*children));
    bool *filtered = lc_arena_array(arena, columns->n_children, sizeof(bool));
    LC_TRY_ALLOC(children && filtered);
    if (reading->residual)
        lc_filter_columns(reading->residual, filtered);
    if (reading->shape.filter)
        lc_filter_columns(reading->shape.filter, filtered);
    *out = *images;
    out->children = children;
    for (size_t i = 0; i < images->n_children; i++)
        children[i] = images->children[i];
    for (size_t i = 0; i < columns->n_children; i++)
        if (filtered[i] && !lc_field_child(images, lc_str_of(columns->children[i].name)))
            children[out->n_children++] = columns->children[i];
    return LCDC_OK;
}

void lcdc_feed_commit(const lcdc_feed *feed, int64_t *snapshot, int64_t *ts_us)
{
    *snapshot = feed->snapshot;
    *ts_us = feed->ts_us;
}

/*
 * As a stream there are no steps: the cursor stands after a commit as soon as its last rows have been handed out.
 */
static lcdc_status next_public(lcdc_feed *feed, struct ArrowArray *out, lcdc_error **err)
{
    lcdc_step made = LCDC_STEP_COMMIT;
    while (made == LCDC_STEP_COMMIT)
        LC_TRY(step(feed, &made, out, err));
    if (made == LCDC_STEP_END)
        *out = (struct ArrowArray){0};
    return feed->commit_ends ? end_commit(feed, err) : LCDC_OK;
}

/* ---- the Arrow stream ---- */

struct export_stream {
    lcdc_feed *feed;
    lcdc_error *error;
    lcdc_status failed; /* a read that failed stays so: asked again it must not look like the end of the rows */
};

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct export_stream *self = stream->private_data;
    if (self->failed == LCDC_OK)
        lcdc_error_free(lc_steal(self->error));
    return lc_status_errno(lc_change_schema(&self->feed->reading->images, out, &self->error));
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct export_stream *self = stream->private_data;
    LC_ARRAY struct ArrowArray batch = {0};
    if (self->failed == LCDC_OK) {
        lcdc_error_free(lc_steal(self->error));
        self->failed = next_public(self->feed, &batch, &self->error);
    }
    if (self->failed != LCDC_OK)
        return lc_status_errno(self->failed);
    *out = batch;
    batch = (struct ArrowArray){0};
    return 0;
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream)
{
    struct export_stream *self = stream->private_data;
    return self->error ? lcdc_error_message(self->error) : NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct export_stream *self = stream->private_data;
    /* releasing a half-read stream is a cancel; everything below stops here */
    lc_change_stream_free(lc_steal(self->feed->stream));
    self->feed->ended = true;
    lcdc_error_free(self->error);
    lc_free(self);
    stream->release = NULL;
}

const lcdc_error *lcdc_error_from_stream(struct ArrowArrayStream *stream)
{
    if (!stream || stream->release != stream_release)
        return NULL;
    return ((struct export_stream *)stream->private_data)->error;
}

lcdc_status lcdc_feed_stream(lcdc_feed *feed, struct ArrowArrayStream *out, lcdc_error **err)
{
    if (!feed || !out)
        return lc_fail(err, LC_R_OPTION_VALUE, "lcdc_feed_stream: a feed and an output are needed");
    if (feed->handed_out)
        return lc_fail(err, LC_R_REQUEST_CONFLICT, "the stream of this feed was handed out already; open another feed");
    struct export_stream *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->feed = feed;
    feed->handed_out = true;
    *out = (struct ArrowArrayStream){.get_schema = stream_get_schema,
                                     .get_next = stream_get_next,
                                     .get_last_error = stream_get_last_error,
                                     .release = stream_release,
                                     .private_data = self};
    return LCDC_OK;
}

/* ---- what it says of itself ---- */

const char *lcdc_feed_cursor(const lcdc_feed *feed)
{
    return feed ? feed->cursor : NULL;
}

void lcdc_feed_progress(const lcdc_feed *feed, int64_t *commits_done, int64_t *commits_total)
{
    *commits_done = feed->commits;
    *commits_total = feed->reading->read->n_commits > 0 ? feed->reading->read->n_commits : 0;
}

const char *lcdc_feed_stats_json(lcdc_feed *feed)
{
    struct lc_buf json;
    lc_buf_init(&json, 1 << 16);
    lc_buf_printf(&json, "{\"rows\":%" PRId64 ",\"batches\":%" PRId64 ",\"commits\":%" PRId64 ",\"schema_changed\":%s",
                  feed->rows, feed->batches, feed->commits, feed->reading->schema_changed ? "true" : "false");
    if (feed->reading->read->ops->stats) {
        lc_buf_char(&json, ',');
        feed->reading->read->ops->stats(feed->reading->read, &json);
    }
    lc_buf_char(&json, '}');
    lc_free(feed->stats);
    feed->stats = lc_buf_take(&json);
    return feed->stats ? feed->stats : "{}";
}
