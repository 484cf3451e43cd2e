/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_bind.c - the columns of a table met with the config, the ledger and the sink.
 */
#include <string.h>

#include "core/cursor.h"
#include "core/reading.h"
#include "sync/columns.h"
#include "sync/run.h"

/* ---- the sink ---- */

void lc_run_close_sink(struct lc_table_run *run)
{
    lc_sink_close(lc_steal(run->sink));
}

static void note_answer(const struct lc_table_run *run, bool is_sink)
{
    if (run->world->answered)
        run->world->answered(run->world->context, run->config, is_sink);
}

lcdc_status lc_run_open_sink(struct lc_table_run *run, lcdc_error **err)
{
    const struct lc_table_config *config = run->config;
    if (run->sink)
        return LCDC_OK;
    note_answer(run, false); /* which told its columns */
    run->setup = (struct lc_sink_setup){.table = config->name,
                                        .source = config->shown,
                                        .schema = &run->schema,
                                        .images = &run->transform.images,
                                        .n_identity = run->transform.n_identity,
                                        .identity = run->transform.identity,
                                        .n_settings = config->n_settings,
                                        .settings = config->settings,
                                        .replaces = run->state.restart && !run->state.agreed,
                                        .cancelled = run->world->stopping};
    LC_TRY(config->sink->ops->open(&run->setup, &run->sink, err));
    note_answer(run, true);
    return LCDC_OK;
}

/* ---- columns ---- */

void lc_run_unbind(struct lc_table_run *run)
{
    lc_run_close_sink(run);
    lc_transform_done(&run->transform);
    lc_schema_release(&run->schema);
    run->is_bound = false;
}

static lcdc_status keep_columns(struct lc_table_run *run, const struct lc_field *images, lcdc_error **err)
{
    LC_BUF struct lc_buf json = {.max = LC_BUF_MAX};
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field used;
    LC_TRY(lc_feed_used(run->feed, &arena, &used, err));
    lc_columns_print(&used, images->n_children, &json);
    LC_TRY_BUF(&json);
    if (run->state.columns && strcmp(run->state.columns, json.p) == 0)
        return LCDC_OK;
    if (run->state.columns && !run->state.restart)
        LC_TRY(lc_columns_check(run->state.columns, images, false, err));
    return lc_state_text(&run->state.columns, json.p, err);
}

lcdc_status lc_run_bind(struct lc_table_run *run, lcdc_error **err)
{
    const struct lc_table_config *config = run->config;
    const struct lc_field *images = lc_feed_images(run->feed);
    uint64_t fingerprint = lc_field_fingerprint(images);
    if (run->is_bound && run->fingerprint == fingerprint)
        return LCDC_OK;
    lc_run_unbind(run);
    LC_TRY(keep_columns(run, images, err));
    LC_TRY(lc_transform_bind(&config->steps, images, config->n_identity, (const char *const *)config->identity,
                             config->options_line[LC_LINE_IDENTITY], &run->transform, err));
    LC_TRY(lc_change_schema(&run->transform.images, &run->schema, err));
    run->fingerprint = fingerprint;
    run->is_bound = true;
    return LCDC_OK;
}

/* ---- options that the table does not bear out ---- */

static bool is_reason(const lcdc_error *error, enum lc_reason reason)
{
    return strcmp(lcdc_error_reason(error), lc_reason_token(reason)) == 0;
}

/* The columns that the ledger knows against all that the table has now. */
static lcdc_status compare_with_ledger(struct lc_table_run *run, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    lcdc_feed *feed = NULL;
    if (!run->state.columns || !run->source)
        return LCDC_OK;
    LC_TRY(lcdc_request_new(&request, err));
    LC_TRY(lcdc_request_set(request, "table", run->config->location, err));
    LC_TRY(lcdc_request_set(request, "from", "latest", err));
    LC_TRY(lcdc_request_set(request, "from_exclusive", "true", err));
    if (lcdc_feed_open(run->source, request, &feed, NULL) != LCDC_OK)
        return LCDC_OK; /* then the first error is the one to tell */
    lcdc_status status = lc_columns_check(run->state.columns, lc_feed_images(feed), true, err);
    lcdc_feed_free(feed);
    return status;
}

lcdc_status lc_run_explain(struct lc_table_run *run, lcdc_error *take_problem, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = take_problem;
    const struct lc_table_config *config = run->config;
    const char *message = lcdc_error_message(problem);
    bool is_filter = is_reason(problem, LC_R_FILTER_SYNTAX) || is_reason(problem, LC_R_FILTER_TYPE);
    bool is_column = is_reason(problem, LC_R_COLUMN_UNKNOWN);
    if (is_filter || is_column) {
        LC_TRY(compare_with_ledger(run, err));
        bool of_columns = is_column && strncmp(message, "columns:", 8) == 0;
        bool of_identity = is_column && strncmp(message, "identity:", 9) == 0;
        int line = config->options_line[of_columns ? LC_LINE_COLUMNS : of_identity ? LC_LINE_IDENTITY : LC_LINE_WHERE];
        return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: table '%.100s': %s", run->world->config->path, line,
                       config->name, message);
    }
    lcdc_status status = lcdc_error_status(problem);
    if (err) {
        lcdc_error_free(*err);
        *err = lc_steal(problem);
    }
    return lc_failed(status);
}

/*
 * ---- the cursor: the ledger's or the sink's ----
 *
 * A window is in the sink before the ledger hears of it, so after a crash the sink alone knows whether it is there. The
 * ledger's `delivered` is what the sink's cursor was when they last met: where that is another one now, a window came
 * in between, and the sink's cursor is where to go on.
 *
 * A person's cursor (forced) and a whole state that is to come (restart) would leave the sink with a cursor that tells
 * nothing, or even the one that the first window will have. So the order is agreed on before any window: the sink's
 * cursor is set in a transaction of its own, then the ledger notes it. Each line is where a process may be killed, and
 * where the next one finds itself:
 *
 *      the ledger says           the sink's cursor    what is done                           which leads to
 *   1  cursor C, forced          any                  the sink's is set to C                 2
 *   2  cursor C, forced          C                    set again; the ledger: delivered C     3
 *   3  cursor C, delivered C     C                    the window after C, with its cursor D  4
 *   4  cursor C, delivered C     D                    the ledger: cursor D, delivered D
 *   5  restart                   any                  the sink's is taken away               6
 *   6  restart                   none                 again; the ledger: agreed              7
 *   7  restart, agreed           none                 the whole state, with its cursor D     8
 *   8  restart, agreed           D                    the ledger: cursor D, delivered D
 *
 * A sink without set_cursor stays in 1 or 5 until the ledger has the first window: one that comes again takes its own
 * place there, or is what the sink promises no better.
 */

static lcdc_status target_was_reset(const struct lc_table_run *run, lcdc_error **err)
{
    return lc_fail(err, LC_R_SYNC_TARGET,
                   "sink '%.100s' has no cursor of this table, the ledger says that %.200s was "
                   "delivered to it",
                   run->config->sink->name, run->state.delivered);
}

/* Lines 1, 2, 5 and 6. */
static lcdc_status agree_with_sink(struct lc_table_run *run, lcdc_error **err)
{
    struct lc_state *state = &run->state;
    const char *cursor = state->restart ? NULL : state->cursor;
    if (run->is_dirty) /* an order that is not a person's; without it, a sink without a cursor is one that was reset */
        LC_TRY(lc_run_save(run, err));
    LC_TRY(run->sink->ops->set_cursor(run->sink, cursor, err));
    run->setup.replaces = false; /* a target that goes from now on is a loss */
    LC_TRY(lc_state_text(&state->delivered, cursor, err));
    state->agreed = state->restart;
    state->forced = false;
    return lc_run_save(run, err);
}

/* Lines 3, 4, 7 and 8. */
static lcdc_status compare_cursors(struct lc_table_run *run, lcdc_error **err)
{
    struct lc_state *state = &run->state;
    LC_FREE char *held = NULL;
    struct lc_line line;
    LC_TRY(run->sink->ops->cursor(run->sink, &held, err));
    if (!held)
        return state->delivered ? target_was_reset(run, err) : LCDC_OK;
    if (state->delivered && strcmp(held, state->delivered) == 0)
        return LCDC_OK;
    struct lc_cursor parsed;
    LC_TRY(lc_cursor_parse(held, &parsed, err));
    state->restart = state->agreed = false;
    lc_line_begin(&line, run->world->log, LCDC_LOG_WARN, "cursor_of_sink", run->config->name);
    lc_line_text(&line, "ledger", state->delivered);
    lc_line_text(&line, "sink", held);
    lc_line_end(&line);
    LC_TRY(lc_state_text(&state->cursor, held, err));
    LC_TRY(lc_state_text(&state->delivered, held, err));
    state->commit_id = parsed.after;
    state->commit_at = INT64_MIN;
    return lc_run_save(run, err);
}

static lcdc_status meet_sink(struct lc_table_run *run, lcdc_error **err)
{
    const struct lc_state *state = &run->state;
    const struct lc_sink_ops *ops = run->config->sink->ops;
    bool is_order = state->forced || (state->restart && !state->agreed);
    if (run->world->dry_run || !ops->cursor || (is_order && !ops->set_cursor))
        return LCDC_OK;
    LC_TRY(lc_run_open_sink(run, err));
    return is_order ? agree_with_sink(run, err) : compare_cursors(run, err);
}

/*
 * Folding needs pairs: identity, or ids of rows that the table has. Where the first read says that there are none, the
 * rows stay as they are.
 */
static lcdc_status open_for_schema(struct lc_table_run *run, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    const struct lc_table_config *config = run->config;
    run->does_fold = config->sink->ops->wants_folded;
    if (lc_run_open_feed(run, LC_READ_SCHEMA, &problem) == LCDC_OK)
        return LCDC_OK;
    if (run->does_fold && is_reason(problem, LC_R_IDENTITY_NEEDED)) {
        run->does_fold = false;
        lcdc_error_free(lc_steal(problem));
        if (lc_run_open_feed(run, LC_READ_SCHEMA, &problem) == LCDC_OK)
            return LCDC_OK;
    }
    return lc_run_explain(run, lc_steal(problem), err);
}

lcdc_status lc_run_decide_cursor(struct lc_table_run *run, lcdc_error **err)
{
    if (run->cursor_decided)
        return LCDC_OK;
    LC_TRY(open_for_schema(run, err));
    lcdc_status status = lc_run_bind(run, err);
    lc_run_close_feed(run);
    LC_TRY(status);
    LC_TRY(meet_sink(run, err));
    run->cursor_decided = true;
    return LCDC_OK;
}

lcdc_status lc_run_check(struct lc_table_run *run, size_t *n_columns, lcdc_error **err)
{
    lcdc_status status = open_for_schema(run, err);
    if (status == LCDC_OK)
        status = lc_run_bind(run, err);
    if (status == LCDC_OK)
        *n_columns = run->transform.images.n_children;
    lc_run_close_feed(run);
    lc_run_unbind(run);
    return status;
}
