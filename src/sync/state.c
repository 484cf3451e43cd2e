/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/state.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "io/json.h"

static const char *const words[LC_STATE_COUNT] = {
    [LC_STATE_NEW] = "new",
    [LC_STATE_ACTIVE] = "active",
    [LC_STATE_FAILING] = "failing",
    [LC_STATE_RECREATED] = "recreated",
    [LC_STATE_SCHEMA_CHANGED] = "schema_changed",
    [LC_STATE_EXPIRED] = "expired",
    [LC_STATE_ROLLED_BACK] = "rolled_back",
    [LC_STATE_TARGET_RESET] = "target_reset",
    [LC_STATE_PAUSED] = "paused",
};

void lc_state_init(struct lc_state *state)
{
    *state = (struct lc_state){.error_at = INT64_MIN,
                               .success_at = INT64_MIN,
                               .updated_at = INT64_MIN,
                               .commit_id = -1,
                               .commit_at = INT64_MIN};
}

void lc_state_done(struct lc_state *state)
{
    lc_free(state->cursor);
    lc_free(state->delivered);
    lc_free(state->verdict);
    lc_free(state->table_id);
    lc_free(state->columns);
    lc_free(state->error_reason);
    lc_free(state->error_message);
    lc_state_init(state);
}

bool lc_state_is_stopped(enum lc_state_kind kind)
{
    return kind != LC_STATE_NEW && kind != LC_STATE_ACTIVE && kind != LC_STATE_FAILING;
}

const char *lc_state_word(enum lc_state_kind kind)
{
    return words[kind];
}

lcdc_status lc_state_text(char **at, const char *text, lcdc_error **err)
{
    char *copy = text ? lc_strdup(text) : NULL;
    if (text)
        LC_TRY_ALLOC(copy);
    lc_free(*at);
    *at = copy;
    return LCDC_OK;
}

/* ---- writing ---- */

static void print_text(struct lc_buf *out, const char *key, const char *text)
{
    lc_buf_printf(out, ",\"%s\":", key);
    if (text)
        lc_buf_json_string(out, lc_str_of(text));
    else
        lc_buf_text(out, "null");
}

static void print_time(struct lc_buf *out, const char *key, int64_t us)
{
    lc_buf_printf(out, ",\"%s\":", key);
    if (us == INT64_MIN) {
        lc_buf_text(out, "null");
        return;
    }
    lc_buf_char(out, '"');
    lc_print_timestamp(out, us, 6, true);
    lc_buf_char(out, '"');
}

void lc_state_print(const struct lc_state *state, const char *table, struct lc_buf *out)
{
    lc_buf_text(out, "{\"table\":");
    lc_buf_json_string(out, lc_str_of(table));
    print_text(out, "state", words[state->kind]);
    print_text(out, "cursor", state->cursor);
    print_text(out, "delivered", state->delivered);
    lc_buf_printf(out, ",\"restart\":%s,\"forced\":%s,\"agreed\":%s", state->restart ? "true" : "false",
                  state->forced ? "true" : "false", state->agreed ? "true" : "false");
    lc_buf_printf(out, ",\"rows\":%" PRId64 ",\"commits\":%" PRId64 ",\"windows\":%" PRId64 ",\"snapshots\":%" PRId64,
                  state->rows, state->commits, state->windows, state->snapshots);
    lc_buf_printf(out, ",\"failures\":%" PRId64, state->failures);
    lc_buf_text(out, ",\"last_commit\":");
    if (state->commit_id >= 0) {
        lc_buf_printf(out, "{\"id\":%" PRId64, state->commit_id);
        print_time(out, "ts", state->commit_at);
        lc_buf_char(out, '}');
    } else {
        lc_buf_text(out, "null");
    }
    lc_buf_text(out, ",\"last_error\":");
    if (state->error_message) {
        lc_buf_text(out, "{\"reason\":");
        lc_buf_json_string(out, lc_str_of(state->error_reason ? state->error_reason : ""));
        print_text(out, "message", state->error_message);
        print_time(out, "at", state->error_at);
        lc_buf_char(out, '}');
    } else {
        lc_buf_text(out, "null");
    }
    print_time(out, "last_success", state->success_at);
    print_time(out, "updated", state->updated_at);
    print_text(out, "table_id", state->table_id);
    lc_buf_printf(out, ",\"columns\":%s,\"cdc\":%s}", state->columns ? state->columns : "null",
                  state->verdict ? state->verdict : "null");
}

/* ---- reading ---- */

static lcdc_status get_text(const struct json_t *object, const char *key, char **out, lcdc_error **err)
{
    struct lc_str text;
    if (!lc_json_get_str(object, key, &text))
        return LCDC_OK;
    lc_free(*out);
    *out = lc_strndup(text.p, text.n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status get_json(const struct json_t *object, const char *key, char **out, lcdc_error **err)
{
    const struct json_t *member = lc_json_member(object, key);
    LC_BUF struct lc_buf text = {.max = LC_BUF_MAX};
    if (!member)
        return LCDC_OK;
    lc_json_print(member, &text);
    lc_free(*out);
    *out = lc_buf_take(&text);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static void get_time(const struct json_t *object, const char *key, int64_t *out)
{
    struct lc_str text;
    int64_t seconds;
    int32_t nanos;
    bool has_zone;
    if (lc_json_get_str(object, key, &text) && lc_parse_timestamp(text, &seconds, &nanos, &has_zone) &&
        !__builtin_mul_overflow(seconds, 1000000, &seconds))
        *out = seconds + nanos / 1000;
}

static bool get_kind(const struct json_t *object, enum lc_state_kind *out)
{
    struct lc_str text;
    for (int i = 0; i < LC_STATE_COUNT && lc_json_get_str(object, "state", &text); i++)
        if (lc_str_is(text, words[i])) {
            *out = (enum lc_state_kind)i;
            return true;
        }
    return false;
}

static lcdc_status get_members(const struct json_t *json, struct lc_state *out, lcdc_error **err)
{
    const struct json_t *commit = lc_json_member(json, "last_commit"), *error = lc_json_member(json, "last_error");
    LC_TRY(get_text(json, "cursor", &out->cursor, err));
    LC_TRY(get_text(json, "delivered", &out->delivered, err));
    LC_TRY(get_text(json, "table_id", &out->table_id, err));
    LC_TRY(get_json(json, "columns", &out->columns, err));
    LC_TRY(get_json(json, "cdc", &out->verdict, err));
    (void)lc_json_get_bool(json, "restart", &out->restart);
    (void)lc_json_get_bool(json, "forced", &out->forced);
    (void)lc_json_get_bool(json, "agreed", &out->agreed);
    (void)lc_json_get_i64(json, "rows", &out->rows);
    (void)lc_json_get_i64(json, "commits", &out->commits);
    (void)lc_json_get_i64(json, "windows", &out->windows);
    (void)lc_json_get_i64(json, "snapshots", &out->snapshots);
    (void)lc_json_get_i64(json, "failures", &out->failures);
    get_time(json, "last_success", &out->success_at);
    get_time(json, "updated", &out->updated_at);
    if (commit) {
        (void)lc_json_get_i64(commit, "id", &out->commit_id);
        get_time(commit, "ts", &out->commit_at);
    }
    if (error) {
        LC_TRY(get_text(error, "reason", &out->error_reason, err));
        LC_TRY(get_text(error, "message", &out->error_message, err));
        get_time(error, "at", &out->error_at);
    }
    return LCDC_OK;
}

lcdc_status lc_state_parse(struct lc_str text, const char *table, struct lc_state *out, lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    LC_ERROR lcdc_error *problem = NULL;
    if (lc_json_parse(text, &json, &problem) != LCDC_OK)
        return lc_fail(err, LC_R_LEDGER_BAD, "ledger: state of table '%.100s': %s", table, lcdc_error_message(problem));
    if (!lc_json_is_object(json) || !get_kind(json, &out->kind))
        return lc_fail(err, LC_R_LEDGER_BAD, "ledger: the state of table '%.100s' is none that lakecdc knows", table);
    return get_members(json, out, err);
}

/* ---- clocks ---- */

int64_t lc_now_us(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t lc_clock_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
