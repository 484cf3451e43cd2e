/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_deliver.c - a window a commit: begin, rows, commit with the cursor; then the ledger moves. A commit without rows
 * moves the ledger alone.
 */
#include <string.h>

#include "core/cursor.h"
#include "sync/run.h"

struct delivery {
    struct lc_table_run *run;
    enum lc_window_kind kind; /* of the window that is open or comes next */
    bool is_open;
    int64_t rows, inserts, deletes, updates; /* of the window */
    int64_t began_ms;
    bool is_copy; /* of the whole state: what the feed knows beyond it is the next copy's */
};

/* ---- rows ---- */

static lcdc_op op_at(const struct ArrowArray *rows, int64_t i)
{
    const struct lc_str word = lc_array_str(rows->children[LCDC_COL_OP], LC_TYPE_STRING, 0, rows->offset + i);
    lcdc_op op = 0;
    return lcdc_op_parse(word.p, word.n, &op, NULL) == LCDC_OK ? op : 0;
}

static struct lc_field plain(const char *name, enum lc_type_kind kind)
{
    return (struct lc_field){.name = name, .physical = name, .id = LC_NO_ID, .nullable = true, .type.kind = kind};
}

/* What incremental delivers: rows that are there now; what they were, and what went, is left out. */
static lcdc_status keep_after_images(const struct lc_transform *transform, struct ArrowArray *rows, lcdc_error **err)
{
    LC_FREE uint8_t *mask = lc_alloc((size_t)rows->length + 1);
    LC_ARRAY struct ArrowArray kept = {0};
    LC_TRY_ALLOC(mask);
    for (int64_t i = 0; i < rows->length; i++) {
        lcdc_op op = op_at(rows, i);
        mask[i] = op == LCDC_OP_INSERT || op == LCDC_OP_UPDATE_AFTER || op == LCDC_OP_UPDATE;
    }
    struct lc_field columns[LCDC_COLS] = {[LCDC_COL_OP] = plain("op", LC_TYPE_STRING),
                                          [LCDC_COL_BEFORE] = transform->images,
                                          [LCDC_COL_AFTER] = transform->images,
                                          [LCDC_COL_SNAPSHOT] = plain("snapshot", LC_TYPE_INT64),
                                          [LCDC_COL_TS] = plain("ts", LC_TYPE_TIMESTAMP_TZ)};
    struct lc_field row = plain("", LC_TYPE_STRUCT);
    row.n_children = LCDC_COLS;
    row.children = columns;
    LC_TRY(lc_array_filter(&row, rows, mask, &kept, err));
    lc_array_move(&kept, rows);
    return LCDC_OK;
}

static void count(struct delivery *self, const struct ArrowArray *rows)
{
    self->rows += rows->length;
    for (int64_t i = 0; i < rows->length; i++) {
        lcdc_op op = op_at(rows, i);
        self->inserts += op == LCDC_OP_INSERT;
        self->deletes += op == LCDC_OP_DELETE;
        self->updates += op == LCDC_OP_UPDATE || op == LCDC_OP_UPDATE_AFTER;
    }
}

/* ---- windows ---- */

/*
 * What is sent of a first state cannot be taken back by a sink that delivers at least once: another run must send the
 * same state again, or rows that are deleted in between stay in the target for ever. So the ledger has it before.
 */
static lcdc_status pin_state(struct lc_table_run *run, const struct lc_window *window, lcdc_error **err)
{
    if (window->kind != LC_WINDOW_SNAPSHOT || run->config->sink->ops->delivery != LC_DELIVERY_AT_LEAST_ONCE ||
        run->state.commit_id == window->snapshot)
        return LCDC_OK;
    run->state.commit_id = window->snapshot;
    run->state.commit_at = window->ts_us;
    return lc_run_save(run, err);
}

static lcdc_status begin(struct delivery *self, lcdc_error **err)
{
    struct lc_table_run *run = self->run;
    struct lc_window window = {.kind = self->kind};
    if (self->is_open)
        return LCDC_OK;
    lcdc_feed_commit(run->feed, &window.snapshot, &window.ts_us);
    self->rows = self->inserts = self->deletes = self->updates = 0;
    self->began_ms = lc_clock_ms();
    self->is_open = true;
    if (run->world->dry_run)
        return LCDC_OK;
    LC_TRY(pin_state(run, &window, err));
    LC_TRY(lc_run_open_sink(run, err));
    return run->sink->ops->begin(run->sink, &window, err);
}

static lcdc_status deliver_rows(struct delivery *self, struct ArrowArray *rows, lcdc_error **err)
{
    struct lc_table_run *run = self->run;
    LC_TRY(lc_transform_apply(&run->transform, rows, err));
    if (run->config->mode == LC_MODE_INCREMENTAL)
        LC_TRY(keep_after_images(&run->transform, rows, err));
    if (rows->length == 0)
        return LCDC_OK;
    LC_TRY(begin(self, err));
    count(self, rows);
    return run->world->dry_run ? LCDC_OK : run->sink->ops->write(run->sink, rows, err);
}

static void log_window(const struct delivery *self, const char *cursor)
{
    static const char *const kinds[] = {
        [LC_WINDOW_CHANGES] = "changes", [LC_WINDOW_SNAPSHOT] = "snapshot", [LC_WINDOW_REPLACE] = "replace"};
    const struct lc_table_run *run = self->run;
    struct lc_line line;
    lc_line_begin(&line, run->world->log, LCDC_LOG_INFO, run->world->dry_run ? "would_deliver" : "window",
                  run->config->name);
    lc_line_text(&line, "kind", kinds[self->kind]);
    lc_line_number(&line, "commit", run->state.commit_id);
    lc_line_number(&line, "rows", self->rows);
    lc_line_number(&line, "inserts", self->inserts);
    lc_line_number(&line, "updates", self->updates);
    lc_line_number(&line, "deletes", self->deletes);
    lc_line_number(&line, "ms", lc_clock_ms() - self->began_ms);
    lc_line_text(&line, "cursor", cursor);
    lc_line_end(&line);
}

static void publish(const struct delivery *self, bool has_rows)
{
    struct lc_table_run *run = self->run;
    int64_t done, total;
    lcdc_feed_progress(run->feed, &done, &total);
    (void)pthread_mutex_lock(&run->mutex);
    struct lc_run_numbers *numbers = &run->numbers;
    numbers->state = run->state.kind; /* a table that catches up is not failing any more */
    numbers->failures = run->state.failures;
    numbers->commits++;
    numbers->commit_at = run->state.commit_at;
    numbers->lag_commits = total > 0 ? (total > done ? total - done : 0) : -1;
    if (has_rows) {
        numbers->windows++;
        numbers->rows += self->rows;
        numbers->inserts += self->inserts;
        numbers->deletes += self->deletes;
        numbers->updates += self->updates;
    }
    (void)pthread_mutex_unlock(&run->mutex);
}

static lcdc_status keep_table_id(struct lc_table_run *run, lcdc_error **err)
{
    struct lc_cursor cursor;
    if (!run->state.cursor)
        return LCDC_OK;
    LC_TRY(lc_cursor_parse(run->state.cursor, &cursor, err));
    if (run->state.table_id && strcmp(run->state.table_id, cursor.table_id.p) == 0)
        return LCDC_OK;
    return lc_state_text(&run->state.table_id, cursor.table_id.p, err);
}

/* The feed stands after a commit: what is open is committed with its cursor, then the ledger moves. */
static lcdc_status end_commit(struct delivery *self, lcdc_error **err)
{
    struct lc_table_run *run = self->run;
    struct lc_state *state = &run->state;
    const char *cursor = lcdc_feed_cursor(run->feed);
    bool has_rows = self->is_open, is_state = self->kind != LC_WINDOW_CHANGES, changed = false;
    if (has_rows && !run->world->dry_run)
        LC_TRY(run->sink->ops->commit(run->sink, cursor, err));
    self->is_open = false;
    lcdc_feed_commit(run->feed, &state->commit_id, &state->commit_at);
    LC_TRY(lc_state_text(&state->cursor, cursor, err));
    if (has_rows) {
        LC_TRY(lc_state_text(&state->delivered, cursor, err));
        state->rows += self->rows;
        state->windows++;
        state->forced = false;
    }
    state->commits++;
    state->snapshots += is_state;
    state->restart = state->agreed = false;
    LC_TRY(keep_table_id(run, err));
    LC_TRY(lc_run_succeed(run, &changed, err));
    LC_TRY(lc_run_save(run, err));
    publish(self, has_rows);
    if (has_rows)
        log_window(self, cursor);
    self->kind = LC_WINDOW_CHANGES;
    return LCDC_OK;
}

/*
 * A whole state without rows still replaces what the target holds, and a first one says that there was nothing: an
 * archive's readers begin with it. A table without any commit has no cursor yet, and begins again the next time.
 */
static lcdc_status end_commit_somehow(struct delivery *self, lcdc_error **err)
{
    int64_t snapshot, ts_us;
    lcdc_feed_commit(self->run->feed, &snapshot, &ts_us);
    if (snapshot < 0 && !self->is_open)
        return LCDC_OK;
    if (self->kind != LC_WINDOW_CHANGES)
        LC_TRY(begin(self, err));
    return end_commit(self, err);
}

static lcdc_status deliver(struct delivery *self, bool *worked, lcdc_error **err)
{
    struct lc_table_run *run = self->run;
    for (;;) {
        LC_ARRAY struct ArrowArray rows = {0};
        lcdc_step step = LCDC_STEP_END;
        if (*run->world->stopping)
            return lc_fail(err, LC_R_CANCELLED, "the sync is being stopped");
        LC_TRY(lcdc_feed_next(run->feed, &step, &rows, err));
        switch (step) {
        case LCDC_STEP_ROWS:
            *worked = true;
            LC_TRY(deliver_rows(self, &rows, err));
            break;
        case LCDC_STEP_COMMIT:
            *worked = true;
            LC_TRY(end_commit_somehow(self, err));
            if (self->is_copy)
                return LCDC_OK;
            break;
        case LCDC_STEP_END:
            return LCDC_OK;
        }
    }
}

lcdc_status lc_run_deliver(struct lc_table_run *run, enum lc_read_kind kind, bool *worked, lcdc_error **err)
{
    struct delivery self = {.run = run, .kind = LC_WINDOW_CHANGES};
    LC_TRY(lc_run_bind(run, err));
    self.is_copy = kind == LC_READ_STATE;
    if (kind == LC_READ_STATE || (kind == LC_READ_FIRST && run->state.restart))
        self.kind = LC_WINDOW_REPLACE;
    else if (kind == LC_READ_FIRST)
        self.kind = LC_WINDOW_SNAPSHOT;
    lcdc_status status = deliver(&self, worked, err);
    if (status != LCDC_OK && self.is_open && run->sink)
        run->sink->ops->abort(run->sink);
    return status;
}
