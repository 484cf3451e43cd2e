/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - a round of one table, and what its failures mean: something to try again, or a stop that a person must end.
 */
#include "sync/run.h"

#include <inttypes.h>
#include <string.h>

#include "core/cursor.h"
#include "core/source.h"

/* ---- the object ---- */

void lc_run_init(struct lc_table_run *run, const struct lc_table_config *config, const struct lc_world *world)
{
    *run = (struct lc_table_run){.config = config, .world = world};
    lc_state_init(&run->state);
    (void)pthread_mutex_init(&run->mutex, NULL);
    run->numbers.lag_commits = -1;
    run->numbers.level_at = run->numbers.success_at = run->numbers.commit_at = INT64_MIN;
}

static void close_source(struct lc_table_run *run)
{
    lc_run_close_feed(run);
    lcdc_source_free(lc_steal(run->source));
    lc_free(lc_steal(run->tip));
}

void lc_run_done(struct lc_table_run *run)
{
    lc_run_close_sink(run);
    close_source(run);
    lc_run_unbind(run);
    lc_state_done(&run->state);
    (void)pthread_mutex_destroy(&run->mutex);
}

struct lc_run_numbers lc_run_numbers(struct lc_table_run *run)
{
    (void)pthread_mutex_lock(&run->mutex);
    struct lc_run_numbers numbers = run->numbers;
    (void)pthread_mutex_unlock(&run->mutex);
    return numbers;
}

/* ---- calls that can be cancelled ---- */

void lc_run_cancel(struct lc_table_run *run)
{
    (void)pthread_mutex_lock(&run->mutex);
    if (run->asking)
        lcdc_request_cancel(run->asking);
    lcdc_feed_cancel(run->feed);
    (void)pthread_mutex_unlock(&run->mutex);
}

/* A stop that came before there was anything to cancel is noticed here. */
static void ask_with(struct lc_table_run *run, lcdc_request *request)
{
    (void)pthread_mutex_lock(&run->mutex);
    run->asking = request;
    if (request && *run->world->stopping)
        lcdc_request_cancel(request);
    (void)pthread_mutex_unlock(&run->mutex);
}

void lc_run_close_feed(struct lc_table_run *run)
{
    (void)pthread_mutex_lock(&run->mutex);
    lcdc_feed *feed = lc_steal(run->feed);
    (void)pthread_mutex_unlock(&run->mutex);
    lcdc_feed_free(feed);
}

static lcdc_status open_source(struct lc_table_run *run, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    if (run->source)
        return LCDC_OK;
    LC_TRY(lc_config_request(run->config, &request, err));
    ask_with(run, request);
    lcdc_status status = lcdc_source_open(request, &run->source, err);
    ask_with(run, NULL);
    return status;
}

static lcdc_status set_range(const struct lc_table_run *run, enum lc_read_kind kind, lcdc_request *request,
                             lcdc_error **err)
{
    const char *start = kind == LC_READ_STATE ? "latest" : run->config->start;
    LC_BUF struct lc_buf pinned = {.max = 64};
    if (run->state.restart && strcmp(start, "oldest") != 0) /* what the first run began at may be long gone */
        start = "latest";
    if (kind == LC_READ_FIRST && !run->state.restart && run->state.commit_id >= 0) { /* see lc_run_deliver() */
        lc_buf_printf(&pinned, "%" PRId64, run->state.commit_id);
        LC_TRY_BUF(&pinned);
        start = pinned.p;
    }
    switch (kind) {
    case LC_READ_SCHEMA:
        LC_TRY(lcdc_request_set(request, "from", "latest", err));
        return lcdc_request_set(request, "from_exclusive", "true", err);
    case LC_READ_CHANGES:
        return lcdc_request_set(request, "cursor", run->state.cursor, err);
    case LC_READ_FIRST:
    case LC_READ_STATE:
        LC_TRY(lcdc_request_set(request, "bootstrap", "true", err));
        return strcmp(start, "oldest") == 0 ? LCDC_OK : lcdc_request_set(request, "from", start, err);
    }
    return LCDC_OK;
}

lcdc_status lc_run_open_feed(struct lc_table_run *run, enum lc_read_kind kind, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    lcdc_feed *feed = NULL;
    LC_TRY(open_source(run, err));
    LC_TRY(lc_config_request(run->config, &request, err));
    LC_TRY(set_range(run, kind, request, err));
    if (run->does_fold)
        LC_TRY(lcdc_request_set(request, "fold", "true", err));
    ask_with(run, request);
    lcdc_status status = lcdc_feed_open(run->source, request, &feed, err);
    ask_with(run, NULL);
    if (status != LCDC_OK)
        return status;
    (void)pthread_mutex_lock(&run->mutex);
    run->feed = feed;
    if (*run->world->stopping)
        lcdc_feed_cancel(feed);
    (void)pthread_mutex_unlock(&run->mutex);
    return LCDC_OK;
}

/* ---- what a failure means ---- */

static bool is_gap(enum lc_state_kind kind)
{
    return kind == LC_STATE_RECREATED || kind == LC_STATE_EXPIRED || kind == LC_STATE_ROLLED_BACK;
}

/* FAILING: worth another try. The rest is for good as long as nobody does anything about it. */
static enum lc_state_kind kind_of(const struct lc_state *state, const lcdc_error *error)
{
    static const struct {
        enum lc_reason reason;
        enum lc_state_kind kind;
        bool needs_cursor; /* means this only where there was something to go on from */
    } meanings[] = {
        {LC_R_SYNC_RECREATED, LC_STATE_RECREATED, false},
        {LC_R_CURSOR_OTHER_TABLE, LC_STATE_RECREATED, true},
        {LC_R_SYNC_SCHEMA, LC_STATE_SCHEMA_CHANGED, false},
        {LC_R_SYNC_TARGET, LC_STATE_TARGET_RESET, false},
        {LC_R_SINK_TARGET_GONE, LC_STATE_TARGET_RESET, false},
        {LC_R_ICEBERG_NOT_ANCESTOR, LC_STATE_ROLLED_BACK, true},
        {LC_R_DELTA_VERSION_MISSING, LC_STATE_ROLLED_BACK, true},
        {LC_R_ICEBERG_SNAPSHOT_MISSING, LC_STATE_ROLLED_BACK, true},
        {LC_R_CURSOR_OTHER_HISTORY, LC_STATE_ROLLED_BACK, true},
        {LC_R_TYPE_MISMATCH, LC_STATE_SCHEMA_CHANGED, true},
    };
    const char *reason = lcdc_error_reason(error);
    bool has_place = state->cursor || state->commit_id >= 0;
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (strcmp(reason, lc_reason_token(meanings[i].reason)) == 0 && (has_place || !meanings[i].needs_cursor))
            return meanings[i].kind;
    return lcdc_error_status(error) == LCDC_GONE && has_place ? LC_STATE_EXPIRED : LC_STATE_FAILING;
}

/* As one word of a shell. */
static void put_word(struct lc_buf *out, const char *word)
{
    lc_buf_char(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            lc_buf_text(out, "'\\''");
        else
            lc_buf_char(out, *word);
    lc_buf_char(out, '\'');
}

/* The reason and the command that ends a stop. */
static lcdc_status describe_stop(const struct lc_table_run *run, enum lc_state_kind kind, const lcdc_error *problem,
                                 lcdc_error **err)
{
    static const enum lc_reason reasons[LC_STATE_COUNT] = {[LC_STATE_RECREATED] = LC_R_SYNC_RECREATED,
                                                           [LC_STATE_SCHEMA_CHANGED] = LC_R_SYNC_SCHEMA,
                                                           [LC_STATE_EXPIRED] = LC_R_SYNC_EXPIRED,
                                                           [LC_STATE_ROLLED_BACK] = LC_R_SYNC_ROLLED_BACK,
                                                           [LC_STATE_TARGET_RESET] = LC_R_SYNC_TARGET};
    static const char *const what[LC_STATE_COUNT] = {
        [LC_STATE_RECREATED] = "the table was dropped and made anew",
        [LC_STATE_SCHEMA_CHANGED] = "the schema changed",
        [LC_STATE_EXPIRED] = "changes after the cursor are gone for good",
        [LC_STATE_ROLLED_BACK] = "the table was rolled back behind the cursor",
        [LC_STATE_TARGET_RESET] = "the target was reset"};
    const struct lc_config *config = run->world->config;
    /* rows after the cursor that do not fit the table's new types will not, whatever the target is made into */
    bool by_resume = kind == LC_STATE_SCHEMA_CHANGED &&
                     strcmp(lcdc_error_reason(problem), lc_reason_token(LC_R_TYPE_MISMATCH)) != 0;
    LC_BUF struct lc_buf command = {.max = 1 << 16};
    lc_buf_printf(&command, "lakecdc ledger %s ", by_resume ? "set" : "reset");
    put_word(&command, run->config->name);
    lc_buf_text(&command, " --ledger ");
    put_word(&command, config->ledger);
    LC_TRY_BUF(&command);
    return lc_fail(err, reasons[kind], "%s: %s; this table is stopped. To go on, stop the sync and run: %s%s",
                   what[kind], lcdc_error_message(problem), command.p,
                   by_resume ? " --resume, once the target fits the new columns" : "");
}

/* ---- the outcome of a round ---- */

static void publish(struct lc_table_run *run, bool succeeded)
{
    int64_t now = lc_now_us();
    (void)pthread_mutex_lock(&run->mutex);
    struct lc_run_numbers *numbers = &run->numbers;
    numbers->state = run->state.kind;
    numbers->failures = run->state.failures;
    if (succeeded) {
        numbers->rounds++;
        numbers->success_at = numbers->level_at = now;
        numbers->lag_commits = 0;
        numbers->commit_at = run->state.commit_at;
    }
    (void)pthread_mutex_unlock(&run->mutex);
}

lcdc_status lc_run_save(struct lc_table_run *run, lcdc_error **err)
{
    run->is_dirty = true;
    if (run->world->dry_run)
        return LCDC_OK;
    LC_TRY(lc_ledger_save(run->world->ledger, run->config->name, &run->state, err));
    run->is_dirty = false;
    return LCDC_OK;
}

static void log_failure(const struct lc_table_run *run, const lcdc_error *error)
{
    struct lc_line line;
    bool is_stopped = lc_state_is_stopped(run->state.kind);
    lc_line_begin(&line, run->world->log, LCDC_LOG_WARN, is_stopped ? "stopped" : "failed", run->config->name);
    lc_line_text(&line, "state", lc_state_word(run->state.kind));
    lc_line_text(&line, "reason", lcdc_error_reason(error));
    lc_line_text(&line, "message", lcdc_error_message(error));
    if (!is_stopped)
        lc_line_number(&line, "failures", run->state.failures);
    lc_line_end(&line);
}

static void note_failure(struct lc_table_run *run, enum lc_state_kind kind, const lcdc_error *error)
{
    struct lc_state *state = &run->state;
    state->kind = kind;
    state->failures++;
    state->error_at = lc_now_us();
    (void)lc_state_text(&state->error_reason, lcdc_error_reason(error), NULL);
    (void)lc_state_text(&state->error_message, lcdc_error_message(error), NULL);
    (void)pthread_mutex_lock(&run->mutex);
    run->numbers.errors++;
    (void)pthread_mutex_unlock(&run->mutex);
    if (run->is_loaded)
        (void)lc_run_save(run, NULL); /* what the ledger cannot take now it is given in the next round */
    log_failure(run, error);
    publish(run, false);
}

/* Changes that are lost may be made up for by the whole state, where the config asks for that. */
static bool begins_anew(struct lc_table_run *run, enum lc_state_kind kind, const lcdc_error *error)
{
    struct lc_line line;
    if (!is_gap(kind) || run->config->on_gap != LC_ON_GAP_RESNAPSHOT)
        return false;
    lc_line_begin(&line, run->world->log, LCDC_LOG_WARN, "resnapshot", run->config->name);
    lc_line_text(&line, "reason", lcdc_error_reason(error));
    lc_line_text(&line, "message", lcdc_error_message(error));
    lc_line_end(&line);
    lc_free(lc_steal(run->state.cursor));
    lc_free(lc_steal(run->state.columns));
    lc_free(lc_steal(run->state.table_id));
    run->state.restart = true;
    run->state.agreed = false;
    run->is_dirty = true;
    return true;
}

lcdc_status lc_run_succeed(struct lc_table_run *run, bool *changed, lcdc_error **err)
{
    struct lc_state *state = &run->state;
    enum lc_state_kind kind = state->cursor ? LC_STATE_ACTIVE : LC_STATE_NEW;
    const char *verdict = lcdc_verdict_json(lcdc_source_verdict(run->source));
    *changed = kind != state->kind || state->error_message || !state->verdict || strcmp(state->verdict, verdict) != 0;
    state->kind = kind;
    state->failures = 0;
    state->success_at = lc_now_us();
    lc_free(lc_steal(state->error_reason));
    lc_free(lc_steal(state->error_message));
    state->error_at = INT64_MIN;
    return *changed ? lc_state_text(&state->verdict, verdict, err) : LCDC_OK;
}

static lcdc_status note_success(struct lc_table_run *run, bool worked, lcdc_error **err)
{
    bool changed = false;
    LC_TRY(lc_run_succeed(run, &changed, err));
    if (changed || worked || run->is_dirty)
        LC_TRY(lc_run_save(run, err));
    publish(run, true);
    return LCDC_OK;
}

/* ---- a round ---- */

static lcdc_status load(struct lc_table_run *run, lcdc_error **err)
{
    bool found = false;
    if (run->is_loaded)
        return LCDC_OK;
    if (run->world->ledger)
        LC_TRY(lc_ledger_load(run->world->ledger, run->config->name, &run->state, &found, err));
    run->is_loaded = true;
    (void)pthread_mutex_lock(&run->mutex); /* also where the source cannot be reached the ledger knows what was last */
    run->numbers.success_at = run->numbers.level_at = run->state.success_at;
    run->numbers.commit_at = run->state.commit_at;
    (void)pthread_mutex_unlock(&run->mutex);
    publish(run, false);
    return LCDC_OK;
}

/* A full copy is made when the table's latest commit is not the one that was copied. */
static lcdc_status is_copied(struct lc_table_run *run, bool *out, lcdc_error **err)
{
    struct ArrowArray none = {0};
    lcdc_step step = LCDC_STEP_ROWS;
    struct lc_cursor now, then;
    *out = false;
    LC_TRY(lc_run_open_feed(run, LC_READ_SCHEMA, err));
    lcdc_status status = LCDC_OK;
    while (status == LCDC_OK && step != LCDC_STEP_END)
        status = lcdc_feed_next(run->feed, &step, &none, err);
    const char *cursor = status == LCDC_OK ? lcdc_feed_cursor(run->feed) : NULL;
    if (cursor && run->state.cursor && (status = lc_cursor_parse(cursor, &now, err)) == LCDC_OK &&
        (status = lc_cursor_parse(run->state.cursor, &then, err)) == LCDC_OK) {
        *out = now.after == then.after && (!now.stamp.n || !then.stamp.n || lc_str_eq(now.stamp, then.stamp));
        if (!lc_str_eq(now.table_id, then.table_id) || !lc_str_eq(now.format, then.format))
            status = lc_fail(err, LC_R_CURSOR_OTHER_TABLE, "the ledger knows table '%.*s', this is '%.*s'",
                             LC_STR_ARG(then.table_id), LC_STR_ARG(now.table_id));
    }
    lc_run_close_feed(run);
    return status;
}

static lcdc_status read_table(struct lc_table_run *run, bool *worked, lcdc_error **err)
{
    bool is_full = run->config->mode == LC_MODE_FULL, copied = false;
    LC_TRY(lc_run_decide_cursor(run, err));
    if (is_full && run->state.cursor && !run->state.restart) {
        LC_TRY(is_copied(run, &copied, err));
        if (copied)
            return LCDC_OK;
    }
    enum lc_read_kind kind = is_full                                    ? LC_READ_STATE
                             : run->state.cursor && !run->state.restart ? LC_READ_CHANGES
                                                                        : LC_READ_FIRST;
    LC_ERROR lcdc_error *problem = NULL;
    lcdc_status status = lc_run_open_feed(run, kind, &problem);
    if (status != LCDC_OK)
        return lc_run_explain(run, lc_steal(problem), err);
    status = lc_run_deliver(run, kind, worked, err);
    lc_run_close_feed(run);
    return status;
}

/* There is something new; how much is known once it is read, and that may take a while. */
static void note_behind(struct lc_table_run *run)
{
    (void)pthread_mutex_lock(&run->mutex);
    run->numbers.lag_commits = -1;
    (void)pthread_mutex_unlock(&run->mutex);
}

/* The tip is looked at before the read, so that what is committed meanwhile is seen the next time. */
static lcdc_status look_and_read(struct lc_table_run *run, bool *worked, lcdc_error **err)
{
    LC_BUF struct lc_buf tip = {.max = 1 << 16};
    LC_TRY(load(run, err));
    if (lc_state_is_stopped(run->state.kind))
        return LCDC_OK;
    LC_TRY(open_source(run, err));
    LC_TRY(lc_source_tip(run->source, run->tip, run->world->stopping, &tip, err));
    bool same = run->tip && tip.n && strcmp(run->tip, tip.p) == 0;
    if (!same) {
        if (run->tip)
            note_behind(run);
        LC_TRY(read_table(run, worked, err));
        lc_free(lc_steal(run->tip));
        run->tip = tip.n ? lc_buf_take(&tip) : NULL;
    }
    if (!*worked)
        lc_run_close_sink(run);
    return note_success(run, *worked, err);
}

static lcdc_status fail_round(struct lc_table_run *run, lcdc_error *take_problem, bool *again, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = take_problem, *described = NULL;
    lcdc_status status = lcdc_error_status(problem);
    lc_run_close_sink(run);
    close_source(run);
    lc_run_unbind(run);
    run->cursor_decided = false; /* whether a commit that broke off is there, the sink knows */
    if (status == LCDC_CANCELLED && *run->world->stopping) {
        if (err)
            *err = lc_steal(problem);
        return lc_failed(status);
    }
    enum lc_state_kind kind = kind_of(&run->state, problem);
    if (!*again && begins_anew(run, kind, problem)) {
        *again = true;
        return LCDC_OK;
    }
    *again = false;
    if (lc_state_is_stopped(kind)) {
        status = describe_stop(run, kind, problem, &described);
        lcdc_error_free(problem);
        problem = lc_steal(described);
    }
    note_failure(run, kind, problem);
    if (err)
        *err = lc_steal(problem);
    return lc_failed(status);
}

lcdc_status lc_run_round(struct lc_table_run *run, bool *worked, lcdc_error **err)
{
    bool again = false;
    *worked = false;
    for (;;) {
        lcdc_error *problem = NULL;
        lcdc_status status = look_and_read(run, worked, &problem);
        if (status == LCDC_OK)
            return LCDC_OK;
        if (!problem) /* memory was too short for an error */
            (void)lc_fail_oom(&problem);
        LC_TRY(fail_round(run, problem, &again, err));
    }
}
