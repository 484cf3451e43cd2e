/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_feed.c - the seam over two backends made here: what they are asked, what leaves, cursors, refusals, fallback,
 * cancelling, plan and verify.
 *
 * Both serve the same table: commits 0 to 3 of the script. "server" may fall back; "files" may not.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/reading.h"
#include "lakecdc/lakecdc.h"
#include "support/arrays.h"
#include "support/change_stream.h"

/* ---- the table ---- */

static struct lc_field table_fields[] = {
    {.name = "k", .physical = "k", .id = 1, .nullable = true, .type = {.kind = LC_TYPE_INT32}},
    {.name = "v", .physical = "v", .id = 2, .nullable = true, .type = {.kind = LC_TYPE_STRING}},
    {.name = "w", .physical = "w", .id = 3, .nullable = true, .type = {.kind = LC_TYPE_INT32}}};
static const struct lc_field table = {.name = "",
                                      .physical = "",
                                      .id = LC_NO_ID,
                                      .type = {.kind = LC_TYPE_STRUCT},
                                      .n_children = 3,
                                      .children = table_fields};

#define ROW(k, v, w) "{\"k\":" #k ",\"v\":\"" v "\",\"w\":" #w "}"

static const struct lc_script_batch script[] = {
    {"ii", "[" ROW(1, "a", 10) "," ROW(2, "b", 20) "]", NULL, 0, true},
    {"d", "[" ROW(1, "a", 10) "]", NULL, 1, false},
    {"ii", "[" ROW(1, "A", 10) "," ROW(3, "c", 30) "]", NULL, 1, false},
    {NULL, NULL, NULL, 1, true},
    {NULL, NULL, NULL, 2, true}, /* maintenance */
    {"d", "[" ROW(2, "b", 20) "]", NULL, 3, false},
    {"i", "[" ROW(2, "b", 21) "]", NULL, 3, true},
};
enum { SCRIPT = sizeof(script) / sizeof(script[0]), LATEST = 3 };

static const struct lc_script_batch states[] = {
    {"ii", "[" ROW(1, "a", 10) "," ROW(2, "b", 20) "]", NULL, 0, true},
    {"iii", "[" ROW(1, "A", 10) "," ROW(2, "b", 20) "," ROW(3, "c", 30) "]", NULL, 1, true},
    {"iii", "[" ROW(1, "A", 10) "," ROW(2, "b", 20) "," ROW(3, "c", 30) "]", NULL, 2, true},
    {"iii", "[" ROW(1, "A", 10) "," ROW(2, "b", 21) "," ROW(3, "c", 30) "]", NULL, 3, true},
};
static const struct lc_script_batch no_state = {NULL, NULL, NULL, -1, true};

/* ---- the backends ---- */

static struct {
    bool server_usable;
    const struct lc_script_batch *server_script; /* NULL: the script */
    size_t n_server_script;
    enum lc_reason server_fails; /* LC_R_COUNT: it does not */
    enum lc_reason probe_fails;  /* the same of its probe */
    const char *table_id;
    bool blocks;                               /* streams wait until they are cancelled */
    const struct lc_script_batch *wrong_state; /* in place of the state after commit 3 */
    const struct lc_script_batch *wrong_script;
    size_t n_wrong_script;
    /* what was seen */
    int released, opened, reads;
    char columns[64], filter[256];
    bool row_ids, pushdown;
} fake;

static void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.server_fails = fake.probe_fails = LC_R_COUNT;
    fake.table_id = "table-1";
}

struct fake_read {
    struct lc_read read;
    bool is_server;
    int64_t from, to, plan_at;
    struct lc_script_batch batches[SCRIPT];
    struct lc_field schema;
};

struct blocking {
    struct lc_change_stream base;
    const _Atomic int *cancelled;
};

static lcdc_status blocking_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                                 lcdc_error **err)
{
    (void)out;
    *more = false;
    while (!*((struct blocking *)stream)->cancelled)
        sched_yield();
    return lc_fail(err, LC_R_CANCELLED, "stopped from outside");
}

static void blocking_release(struct lc_change_stream *stream)
{
    fake.released++;
    lc_free(stream);
}

static void note_shape(const struct lc_shape *shape)
{
    struct lc_buf text;
    fake.columns[0] = fake.filter[0] = 0;
    for (size_t i = 0; i < shape->columns->n_children; i++)
        strcat(fake.columns, shape->columns->children[i].name);
    if (shape->filter) {
        lc_buf_init(&text, 255);
        lc_filter_print_sql(shape->filter, shape->columns, &text);
        snprintf(fake.filter, sizeof(fake.filter), "%s", text.p);
        lc_buf_done(&text);
    }
    fake.row_ids = shape->row_ids;
    fake.pushdown = shape->pushdown;
}

static lcdc_status filtered(struct lc_change_stream *take, const struct lc_shape *shape, struct lc_change_stream **out,
                            lcdc_error **err)
{
    *out = take;
    return shape->filter ? lc_stage_filter(take, shape->filter, shape->columns, out, err) : LCDC_OK;
}

static lcdc_status fake_changes(struct lc_read *read, const struct lc_shape *shape, struct lc_change_stream **out,
                                lcdc_error **err)
{
    struct fake_read *self = (struct fake_read *)read;
    const struct lc_script_batch *from = script;
    size_t n_from = SCRIPT, n = 0;
    note_shape(shape);
    if (fake.blocks) {
        static const struct lc_change_stream_ops ops = {blocking_next, blocking_release};
        struct blocking *made = lc_calloc(1, sizeof(*made));
        LC_TRY_ALLOC(made);
        *made = (struct blocking){{&ops}, shape->cancelled};
        *out = &made->base;
        return LCDC_OK;
    }
    if (self->is_server && fake.server_script) {
        from = fake.server_script;
        n_from = fake.n_server_script;
    } else if (fake.wrong_script) {
        from = fake.wrong_script;
        n_from = fake.n_wrong_script;
    }
    for (size_t i = 0; i < n_from; i++)
        if (from[i].snapshot >= self->from && from[i].snapshot <= self->to)
            self->batches[n++] = from[i];
    struct lc_change_stream *stream = NULL;
    LC_TRY(lc_script_stream(shape->columns, n, self->batches, &fake.released, &stream, err));
    return filtered(stream, shape, out, err);
}

static lcdc_status fake_snapshot(struct lc_read *read, bool at_end, const struct lc_shape *shape,
                                 struct lc_change_stream **out, lcdc_error **err)
{
    struct fake_read *self = (struct fake_read *)read;
    int64_t version = at_end ? self->to : self->from - 1;
    const struct lc_script_batch *state = version < 0 ? &no_state : &states[version];
    if (version == LATEST && fake.wrong_state)
        state = fake.wrong_state;
    struct lc_change_stream *stream = NULL;
    LC_TRY(lc_script_stream(shape->columns, 1, state, &fake.released, &stream, err));
    return filtered(stream, shape, out, err);
}

static lcdc_status fake_plan_next(struct lc_read *read, const struct lc_shape *shape, lcdc_plan_commit *out, bool *more,
                                  lcdc_error **err)
{
    struct fake_read *self = (struct fake_read *)read;
    note_shape(shape);
    *more = self->from + self->plan_at <= self->to;
    if (!*more) {
        self->plan_at = 0;
        return LCDC_OK;
    }
    char *detail = lc_strdup("a \"quoted\" word");
    LC_TRY_ALLOC(detail);
    int64_t version = self->from + self->plan_at++;
    *out = (lcdc_plan_commit){.snapshot = version,
                              .ts_us = version == 2 ? INT64_MIN : version * 1000000,
                              .method = version == 2 ? "none" : "append",
                              .detail = detail,
                              .files = 1,
                              .rows = -1,
                              .bytes = 7};
    return LCDC_OK;
}

static void fake_stats(struct lc_read *read, struct lc_buf *out)
{
    (void)read;
    lc_buf_text(out, "\"files_opened\":3");
}

static void fake_release(struct lc_read *read)
{
    fake.reads--;
    lc_free(read);
}

static int64_t bound_of(const struct lc_bound *bound)
{
    return bound->kind == LC_BOUND_START ? 0 : bound->kind == LC_BOUND_LATEST ? LATEST : bound->id;
}

static lcdc_status read_open(bool is_server, const lcdc_request *request, struct lc_read **out, lcdc_error **err)
{
    static const struct lc_read_ops ops = {.plan_next = fake_plan_next,
                                           .changes = fake_changes,
                                           .release = fake_release,
                                           .snapshot = fake_snapshot,
                                           .stats = fake_stats};
    int64_t from = bound_of(&request->from) + request->from_exclusive + request->bootstrap;
    int64_t to = bound_of(&request->to) - request->to_exclusive;
    if (from > LATEST + 1 || to > LATEST)
        return lc_fail(err, LC_R_DELTA_VERSION_MISSING, "no such commit");
    struct fake_read *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct fake_read){.is_server = is_server, .from = from, .to = to, .schema = table};
    self->read = (struct lc_read){.ops = &ops,
                                  .schema = &self->schema,
                                  .format = "fake",
                                  .table_id = fake.table_id,
                                  .empty = to < from,
                                  .last_commit = to < from ? from - 1 : to,
                                  .n_commits = to < from ? 0 : to - from + 1};
    fake.reads++;
    *out = &self->read;
    return LCDC_OK;
}

static lcdc_status server_read(void *source, const lcdc_request *request, struct lc_read **out, lcdc_error **err)
{
    (void)source;
    if (fake.server_fails != LC_R_COUNT)
        return lc_fail(err, fake.server_fails, "the engine said no");
    return read_open(true, request, out, err);
}

static lcdc_status files_read(void *source, const lcdc_request *request, struct lc_read **out, lcdc_error **err)
{
    (void)source;
    return read_open(false, request, out, err);
}

static lcdc_status server_probe(const lcdc_request *request, struct lc_arena *arena, struct lc_candidate *out,
                                lcdc_error **err)
{
    (void)request, (void)arena;
    *out = (struct lc_candidate){.usable = fake.server_usable && fake.probe_fails == LC_R_COUNT,
                                 .absent = !fake.server_usable,
                                 .reason = "a server",
                                 .format = "fake",
                                 .server_version = "4.2.1",
                                 .native_expected = true};
    return fake.probe_fails == LC_R_COUNT ? LCDC_OK : lc_fail(err, fake.probe_fails, "nobody is at home");
}

static lcdc_status files_probe(const lcdc_request *request, struct lc_arena *arena, struct lc_candidate *out,
                               lcdc_error **err)
{
    (void)arena, (void)err;
    bool there = strcmp(request->table, "/nothing") != 0;
    *out = (struct lc_candidate){
        .usable = there, .absent = !there, .reason = there ? "files" : "no log there", .format = "fake"};
    return LCDC_OK;
}

static lcdc_status fake_open(const lcdc_request *request, void **out, lcdc_error **err)
{
    (void)err;
    (void)request;
    fake.opened++;
    *out = &fake;
    return LCDC_OK;
}

static void fake_close(void *source)
{
    (void)source;
    fake.opened--;
}

static const struct lc_backend server_backend = {.abi = LC_BACKEND_ABI,
                                                 .size = sizeof(server_backend),
                                                 .name = "server",
                                                 .probe = server_probe,
                                                 .open = fake_open,
                                                 .read_open = server_read,
                                                 .close = fake_close,
                                                 .may_fall_back = true};
static const struct lc_backend files_backend = {.abi = LC_BACKEND_ABI,
                                                .size = sizeof(files_backend),
                                                .name = "files",
                                                .probe = files_probe,
                                                .open = fake_open,
                                                .read_open = files_read,
                                                .close = fake_close};
const struct lc_backend *const lc_backends[] = {&server_backend, &files_backend, NULL};

/* ---- reading ---- */

struct session {
    lcdc_request *request;
    lcdc_source *source;
    lcdc_feed *feed;
    struct ArrowArrayStream stream;
    struct lc_buf text;
    lcdc_error *err;
};

static lcdc_status vopen(struct session *s, va_list options)
{
    *s = (struct session){0};
    lc_buf_init(&s->text, 1 << 20);
    assert_int_equal(lcdc_request_new(&s->request, NULL), LCDC_OK);
    assert_int_equal(lcdc_request_set(s->request, "table", "/t", NULL), LCDC_OK);
    for (const char *key; (key = va_arg(options, const char *));)
        assert_int_equal(lcdc_request_set(s->request, key, va_arg(options, const char *), NULL), LCDC_OK);
    LC_TRY(lcdc_source_open(s->request, &s->source, &s->err));
    return lcdc_feed_open(s->source, s->request, &s->feed, &s->err);
}

/* A feed that is to be read step by step. */
static lcdc_status begin_steps(struct session *s, ...)
{
    va_list options;
    va_start(options, s);
    lcdc_status status = vopen(s, options);
    va_end(options);
    return status;
}

static lcdc_status begin(struct session *s, ...)
{
    va_list options;
    va_start(options, s);
    lcdc_status status = vopen(s, options);
    va_end(options);
    return status == LCDC_OK ? lcdc_feed_stream(s->feed, &s->stream, &s->err) : status;
}

static void end(struct session *s)
{
    if (s->stream.release)
        s->stream.release(&s->stream);
    lcdc_feed_free(s->feed);
    lcdc_source_free(s->source);
    lcdc_request_free(s->request);
    lcdc_error_free(s->err);
    lc_buf_done(&s->text);
    assert_int_equal(fake.opened, 0);
    assert_int_equal(fake.reads, 0);
}

/* One batch as text; false at the end. */
static bool next_text(struct session *s)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_SCHEMA struct ArrowSchema schema = {0};
    LC_ARRAY struct ArrowArray batch = {0};
    struct lc_field row;
    assert_int_equal(s->stream.get_schema(&s->stream, &schema), 0);
    assert_int_equal(lc_field_from_schema(&schema, &arena, &row, NULL), LCDC_OK);
    assert_int_equal(row.n_children, LCDC_COLS);
    assert_int_equal(s->stream.get_next(&s->stream, &batch), 0);
    if (!batch.release)
        return false;
    assert_int_equal(lc_array_check(&batch, &row, NULL), LCDC_OK);
    for (int64_t i = 0; i < batch.length; i++) {
        struct lc_str op = lc_array_str(batch.children[LCDC_COL_OP], LC_TYPE_STRING, 0, i);
        lc_buf_printf(&s->text, "%.*s ", (int)op.n, op.p);
        for (int c = LCDC_COL_BEFORE; c <= LCDC_COL_SNAPSHOT; c++) {
            lc_test_print_row(&s->text, batch.children[c], &row.children[c], i);
            lc_buf_char(&s->text, c == LCDC_COL_SNAPSHOT ? '\n' : ' ');
        }
    }
    return true;
}

static void read_all(struct session *s)
{
    while (next_text(s))
        ;
}

static void expect(const char *expected, const char *key, const char *value, const char *key2, const char *value2,
                   const char *key3, const char *value3)
{
    struct session s;
    assert_int_equal(begin(&s, key, value, key2, value2, key3, value3, NULL), LCDC_OK);
    read_all(&s);
    assert_string_equal(s.text.p ? s.text.p : "", expected);
    end(&s);
}

/* ---- rows ---- */

static void test_rows(void **state)
{
    (void)state;
    fake_reset();
    expect("insert null {<1>,<a>,<10>} <0>\n"
           "insert null {<2>,<b>,<20>} <0>\n"
           "delete {<1>,<a>,<10>} null <1>\n"
           "insert null {<1>,<A>,<10>} <1>\n"
           "insert null {<3>,<c>,<30>} <1>\n"
           "delete {<2>,<b>,<20>} null <3>\n"
           "insert null {<2>,<b>,<21>} <3>\n",
           NULL, NULL, NULL, NULL, NULL, NULL);
    assert_string_equal(fake.columns, "kvw");
    assert_int_equal(fake.released, 1);
}

static void test_both_sides_in_one_batch(void **state)
{
    (void)state;
    fake_reset();
    expect("insert null {<3>,<c>,<30>} <1>\n"
           "update_before {<1>,<a>,<10>} null <1>\n"
           "update_after null {<1>,<A>,<10>} <1>\n",
           "identity", "k", "from", "1", "to", "2");
}

static void test_fold(void **state)
{
    (void)state;
    fake_reset();
    struct session s;
    assert_int_equal(begin(&s, "identity", "k", "fold", "true", "from", "3", "columns", "w", NULL), LCDC_OK);
    read_all(&s);
    assert_string_equal(s.text.p, "update {<20>} {<21>} <3>\n");
    assert_string_equal(fake.columns, "kw"); /* the identity is read, not shown */
    end(&s);
}

static void test_net(void **state)
{
    (void)state;
    fake_reset();
    expect("update_before {<1>,<a>,<10>} null <3>\n"
           "update_before {<2>,<b>,<20>} null <3>\n"
           "insert null {<3>,<c>,<30>} <3>\n"
           "update_after null {<1>,<A>,<10>} <3>\n"
           "update_after null {<2>,<b>,<21>} <3>\n",
           "identity", "k", "from", "1", "net", "true");
}

static void test_bootstrap(void **state)
{
    (void)state;
    fake_reset();
    expect("insert null {<1>,<A>,<10>} <1>\n"
           "insert null {<2>,<b>,<20>} <1>\n"
           "insert null {<3>,<c>,<30>} <1>\n"
           "delete {<2>,<b>,<20>} null <3>\n"
           "insert null {<2>,<b>,<21>} <3>\n",
           "from", "1", "bootstrap", "true", NULL, NULL);
}

static void test_empty_range(void **state)
{
    (void)state;
    fake_reset();
    struct session s;
    assert_int_equal(begin(&s, "from", "4", "net", "true", NULL), LCDC_OK);
    read_all(&s);
    assert_null(s.text.p);
    assert_non_null(strstr(lcdc_feed_cursor(s.feed), "/3/"));
    end(&s);
}

/* ---- columns ---- */

static void test_projection(void **state)
{
    (void)state;
    fake_reset();
    expect("delete {<b>,<2>} null <3>\n"
           "insert null {<b>,<2>} <3>\n",
           "columns", "v,K", "from", "3", NULL, NULL);
    assert_string_equal(fake.columns, "kv");
    fake_reset();
    expect("insert null {<b>} <3>\n", "columns", "v", "from", "3", "where", "w = 21");
    assert_string_equal(fake.columns, "vw");
    fake_reset();
    expect("insert null {<3>} <3>\n", "columns", "k", "where", "k = 3", "net", "true");
    assert_string_equal(fake.columns, "kvw"); /* net compares whole rows */
}

static void expect_refusal(const char *reason, const char *word, const char *key, const char *value)
{
    struct session s;
    assert_int_not_equal(begin(&s, key, value, NULL), LCDC_OK);
    assert_string_equal(lcdc_error_reason(s.err), reason);
    assert_non_null(strstr(lcdc_error_message(s.err), word));
    end(&s);
}

static void test_refusals(void **state)
{
    (void)state;
    fake_reset();
    expect_refusal("request.unknown_column", "it has k, v, w", "columns", "k,nope");
    expect_refusal("request.unknown_column", "identity", "identity", "nope");
    expect_refusal("request.bad_value", "twice", "columns", "k,K");
    expect_refusal("request.bad_value", "no backend 'other'", "via", "other");
    expect_refusal("table.missing", "no log there", "table", "/nothing");
    expect_refusal("delta.version_missing", "no such commit", "from", "9");
    expect_refusal("filter.syntax", "", "where", "k >");
}

/* ---- the filter ---- */

/* A key that is null in a delete was not supplied where the table has no null keys, and is a value where it has. */
static void test_a_delete_that_cannot_be_judged_is_kept(void **state)
{
    (void)state;
    static const struct lc_script_batch keyless[] = {
        {"di", "[{\"k\":null,\"v\":\"x\",\"w\":1}," ROW(4, "y", 2) "]", NULL, 3, true},
    };
    for (int i = 0; i < 4; i++) {
        struct session s;
        bool is_declared = i / 2;
        fake_reset();
        fake.wrong_script = keyless;
        fake.n_wrong_script = 1;
        table_fields[0].nullable = !is_declared;
        assert_int_equal(begin(&s, "from", "3", "where", "k = 4", "pushdown", i % 2 ? "true" : "false", NULL), LCDC_OK);
        read_all(&s);
        assert_string_equal(s.text.p, is_declared ? "delete {null,<x>,<1>} null <3>\ninsert null {<4>,<y>,<2>} <3>\n"
                                                  : "insert null {<4>,<y>,<2>} <3>\n");
        end(&s);
    }
    table_fields[0].nullable = true;
}

static void expect_pushed(const char *pushed, bool net, const char *identity, const char *where, const char *pushdown)
{
    struct session s;
    fake_reset();
    assert_int_equal(begin(&s, "where", where, "net", net ? "true" : "false", "pushdown", pushdown,
                           identity ? "identity" : NULL, identity, NULL),
                     LCDC_OK);
    assert_string_equal(fake.filter, pushed);
    end(&s);
}

static void test_what_goes_down(void **state)
{
    (void)state;
    expect_pushed("`k` > 1", false, NULL, "k > 1", "true");
    expect_pushed("", false, NULL, "k > 1", "false");
    /* above the backend rows are paired: only what both halves answer alike goes down */
    expect_pushed("`k` > 1", false, "k", "k > 1 AND v = 'x'", "true");
    expect_pushed("", false, "k", "k > 1 OR v = 'x'", "true");
    expect_pushed("", false, "k", "v = 'x' AND w = 2", "true");
    expect_pushed("", false, "k", "k > 1 AND v = 'x'", "false");
    expect_pushed("", true, NULL, "k > 1", "true");
    expect_pushed("`k` > 1", true, "k", "w = 1 AND k > 1", "true");
}

static void test_filter_acts_after_labels(void **state)
{
    (void)state;
    for (int pushdown = 0; pushdown < 2; pushdown++) {
        fake_reset();
        expect("update_after null {<2>,<b>,<21>} <3>\n", "identity", "k", "where", "k = 2 AND w = 21 AND v IS NOT NULL",
               "pushdown", pushdown ? "true" : "false");
    }
}

static void test_row_ids_are_asked_for(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    assert_int_equal(begin(&s, "drop_noop", "true", NULL), LCDC_OK);
    assert_true(fake.row_ids);
    end(&s);
    assert_int_equal(begin(&s, "drop_noop", "true", "identity", "k", NULL), LCDC_OK);
    assert_false(fake.row_ids);
    end(&s);
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    assert_false(fake.row_ids);
    end(&s);
}

/* ---- cursors ---- */

static void test_cursor(void **state)
{
    (void)state;
    struct session s, rest;
    fake_reset();
    assert_int_equal(begin(&s, "from", "1", NULL), LCDC_OK);
    assert_null(lcdc_feed_cursor(s.feed));
    assert_true(next_text(&s));
    assert_true(next_text(&s));
    assert_null(lcdc_feed_cursor(s.feed)); /* all rows of 1 are out, its end has not been seen */
    assert_true(next_text(&s));
    assert_non_null(strstr(lcdc_feed_cursor(s.feed), "lakecdc1/fake/2/"));
    char *cursor = lc_strdup(lcdc_feed_cursor(s.feed));
    int64_t done, total;
    lcdc_feed_progress(s.feed, &done, &total);
    assert_int_equal(done, 2);
    assert_int_equal(total, 3);
    end(&s);
    assert_int_equal(begin(&rest, "cursor", cursor, NULL), LCDC_OK);
    read_all(&rest);
    assert_string_equal(rest.text.p, "delete {<2>,<b>,<20>} null <3>\ninsert null {<2>,<b>,<21>} <3>\n");
    assert_non_null(strstr(lcdc_feed_cursor(rest.feed), "lakecdc1/fake/3/"));
    assert_non_null(strstr(lcdc_feed_stats_json(rest.feed), "\"schema_changed\":false"));
    end(&rest);
    lc_free(cursor);
}

/* "R2@0" two rows of commit 0, "C@0" its end, "E" the end; each with the cursor's commit after it, "-" none. */
static void steps_of(struct session *s, struct lc_buf *out)
{
    for (lcdc_step step = LCDC_STEP_ROWS; step != LCDC_STEP_END;) {
        LC_ARRAY struct ArrowArray rows = {0};
        int64_t snapshot, ts;
        assert_int_equal(lcdc_feed_next(s->feed, &step, &rows, &s->err), LCDC_OK);
        lcdc_feed_commit(s->feed, &snapshot, &ts);
        assert_true((step == LCDC_STEP_ROWS) == (rows.release != NULL));
        if (step == LCDC_STEP_ROWS)
            lc_buf_printf(out, "R%d", (int)rows.length);
        else
            lc_buf_text(out, step == LCDC_STEP_COMMIT ? "C" : "E");
        const char *cursor = lcdc_feed_cursor(s->feed);
        lc_buf_printf(out, "@%d:%.1s ", (int)snapshot, cursor ? cursor + strlen("lakecdc1/fake/") : "-");
    }
}

/* A cursor is after a commit when all of its rows are, never while some are still to come. */
static void test_steps(void **state)
{
    (void)state;
    static const char *const expected[][2] = {
        {"false", "R2@0:- C@0:0 R1@1:0 R2@1:0 C@1:1 C@2:2 R1@3:2 R1@3:2 C@3:3 E@3:3 "},
        {"true", "R3@3:- C@3:3 E@3:3 "}};
    for (int i = 0; i < 2; i++) {
        struct session s;
        struct lc_buf steps;
        lc_buf_init(&steps, 1 << 10);
        fake_reset();
        assert_int_equal(begin_steps(&s, "net", expected[i][0], NULL), LCDC_OK);
        steps_of(&s, &steps);
        assert_string_equal(steps.p, expected[i][1]);
        lc_buf_done(&steps);
        end(&s);
    }
}

static void test_steps_or_stream(void **state)
{
    (void)state;
    struct session s;
    struct ArrowArray rows = {0};
    lcdc_step step;
    fake_reset();
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    assert_int_equal(lcdc_feed_next(s.feed, &step, &rows, &s.err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_reason(s.err), "request.conflict");
    end(&s);
}

static void test_cursor_with_other_columns(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    assert_int_equal(begin(&s, "cursor", "lakecdc1/fake/2/0123456789abcdef/table-1", NULL), LCDC_OK);
    read_all(&s);
    assert_string_equal(lcdc_feed_stats_json(s.feed), "{\"rows\":2,\"batches\":2,\"commits\":1,\"schema_changed\":true,"
                                                      "\"files_opened\":3}");
    end(&s);
}

static void test_cursor_of_another_table(void **state)
{
    (void)state;
    fake_reset();
    expect_refusal("cursor.other_table", "'table-2'", "cursor", "lakecdc1/fake/2/0123456789abcdef/table-2");
    /* also where this table has no such commit */
    expect_refusal("cursor.other_table", "'table-2'", "cursor", "lakecdc1/fake/700/0123456789abcdef/table-2");
    expect_refusal("delta.version_missing", "no such commit", "cursor", "lakecdc1/fake/700/0123456789abcdef/table-1");
    expect_refusal("cursor.bad", "lakecdc1/FORMAT", "cursor", "17");
}

/* ---- failures ---- */

static const struct lc_script_batch breaks[] = {
    {"i", "[" ROW(1, "a", 10) "]", NULL, 0, true},
    {"i", "[" ROW(1, "a", 10) "]", NULL, 1, false},
    {"!", NULL, NULL, 1, false},
};

static void test_error_from_stream(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    fake.wrong_script = breaks;
    fake.n_wrong_script = 3;
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    assert_null(lcdc_error_from_stream(&s.stream));
    assert_true(next_text(&s));
    assert_true(next_text(&s));
    for (int again = 0; again < 3; again++) { /* asked again it does not look like the end */
        struct ArrowArray batch = {0};
        assert_int_equal(s.stream.get_next(&s.stream, &batch), lc_status_errno(LCDC_IO));
        assert_null(batch.release);
        assert_string_equal(lcdc_error_reason(lcdc_error_from_stream(&s.stream)), "io.failed");
        assert_string_equal(s.stream.get_last_error(&s.stream), "the script fails here");
        assert_non_null(strstr(lcdc_feed_cursor(s.feed), "/0/"));
    }
    end(&s);
}

static void test_foreign_stream(void **state)
{
    (void)state;
    struct ArrowArrayStream stream = {0};
    assert_null(lcdc_error_from_stream(&stream));
    assert_null(lcdc_error_from_stream(NULL));
}

static void test_release_half_way(void **state)
{
    (void)state;
    struct session s;
    struct ArrowArrayStream second = {0};
    fake_reset();
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    assert_true(next_text(&s));
    s.stream.release(&s.stream);
    assert_null(s.stream.release);
    assert_int_equal(fake.released, 1); /* everything below has stopped */
    assert_non_null(strstr(lcdc_feed_cursor(s.feed), "/0/"));
    assert_int_equal(lcdc_feed_stream(s.feed, &second, &s.err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_reason(s.err), "request.conflict");
    end(&s);
}

static void *cancel_soon(void *feed)
{
    nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
    lcdc_feed_cancel(feed);
    return NULL;
}

static void test_cancel_from_another_thread(void **state)
{
    (void)state;
    struct session s;
    struct ArrowArray batch = {0};
    pthread_t thread;
    fake_reset();
    fake.blocks = true;
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, s.feed), 0);
    assert_int_equal(s.stream.get_next(&s.stream, &batch), lc_status_errno(LCDC_CANCELLED));
    assert_string_equal(lcdc_error_message(lcdc_error_from_stream(&s.stream)), "stopped from outside");
    pthread_join(thread, NULL);
    assert_null(lcdc_feed_cursor(s.feed));
    end(&s);
}

static void test_cancel_between_batches(void **state)
{
    (void)state;
    for (int server = 0; server < 2; server++) {
        struct session s;
        struct ArrowArray batch = {0};
        fake_reset();
        fake.server_usable = server; /* whose first batch was read ahead */
        assert_int_equal(begin(&s, NULL), LCDC_OK);
        lcdc_feed_cancel(s.feed);
        assert_int_equal(s.stream.get_next(&s.stream, &batch), lc_status_errno(LCDC_CANCELLED));
        assert_null(batch.release);
        assert_null(lcdc_feed_cursor(s.feed));
        end(&s);
    }
    lcdc_feed_cancel(NULL);
}

/* ---- fallback ---- */

static void test_server_first(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    fake.server_usable = true;
    assert_int_equal(begin(&s, "from", "3", NULL), LCDC_OK);
    const lcdc_verdict *verdict = lcdc_source_verdict(s.source);
    assert_string_equal(lcdc_verdict_chosen(verdict), "server");
    assert_false(lcdc_verdict_fell_back(verdict));
    assert_non_null(strstr(lcdc_verdict_json(verdict), "\"server_major_minor\":\"4.2\""));
    read_all(&s);
    assert_string_equal(s.text.p, "delete {<2>,<b>,<20>} null <3>\ninsert null {<2>,<b>,<21>} <3>\n");
    end(&s);
}

static void expect_fallback(void)
{
    struct session s;
    assert_int_equal(begin(&s, "from", "3", NULL), LCDC_OK);
    const lcdc_verdict *verdict = lcdc_source_verdict(s.source);
    assert_string_equal(lcdc_verdict_chosen(verdict), "files");
    assert_true(lcdc_verdict_fell_back(verdict));
    assert_false(lcdc_verdict_candidate_usable(verdict, 0));
    assert_true(lcdc_verdict_candidate_usable(verdict, 1));
    const char *said = fake.server_fails == LC_R_COUNT ? "the script fails here" : "the engine said no";
    assert_string_equal(lcdc_verdict_candidate_reason(verdict, 0), said);
    assert_non_null(strstr(lcdc_verdict_reason(verdict), said));
    assert_non_null(strstr(lcdc_verdict_json(verdict), "\"fell_back\":true"));
    read_all(&s);
    assert_string_equal(s.text.p, "delete {<2>,<b>,<20>} null <3>\ninsert null {<2>,<b>,<21>} <3>\n");
    end(&s);
}

static void test_fallback_before_the_first_batch(void **state)
{
    (void)state;
    fake_reset();
    fake.server_usable = true;
    fake.server_fails = LC_R_SPARK_ENGINE;
    expect_fallback();
    fake.server_fails = LC_R_SPARK_CONNECTION;
    expect_fallback();
}

static void test_no_fallback(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    fake.server_usable = true;
    fake.server_fails = LC_R_SPARK_TABLE; /* there is no such table: another backend would not know better */
    assert_int_equal(begin(&s, NULL), LCDC_NOT_FOUND);
    end(&s);
    fake.server_fails = LC_R_SPARK_ENGINE; /* this one and no other was asked for */
    assert_int_equal(begin(&s, "via", "server", NULL), LCDC_UNSUPPORTED);
    assert_string_equal(lcdc_error_message(s.err), "the engine said no");
    end(&s);
    static const struct lc_script_batch late[] = {
        {"d", "[" ROW(2, "b", 20) "]", NULL, 3, false},
        {"!", NULL, NULL, 3, false},
    };
    fake_reset();
    fake.server_usable = true;
    fake.server_script = late; /* fails after its first batch */
    fake.n_server_script = 2;
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    struct ArrowArray batch = {0};
    assert_true(next_text(&s));
    assert_int_not_equal(s.stream.get_next(&s.stream, &batch), 0);
    const lcdc_verdict *verdict = lcdc_source_verdict(s.source);
    assert_string_equal(lcdc_verdict_chosen(verdict), "server");
    assert_non_null(strstr(lcdc_verdict_reason(verdict), "its last read broke off: the script fails here"));
    assert_false(lcdc_verdict_fell_back(verdict));
    s.stream.release(&s.stream);
    lcdc_feed_free(s.feed);
    s.feed = NULL;
    fake.server_script = NULL; /* the next one ends well, and the verdict says nothing more of it */
    assert_int_equal(lcdc_feed_open(s.source, s.request, &s.feed, &s.err), LCDC_OK);
    assert_int_equal(lcdc_feed_stream(s.feed, &s.stream, &s.err), LCDC_OK);
    while (next_text(&s))
        continue;
    assert_null(strstr(lcdc_verdict_reason(verdict), "broke off"));
    end(&s);
}

/* A plan and a check name the backend that would do the work, as the read does. */
static void test_plan_and_verify_fall_back_too(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct session s = {0};
        lcdc_plan *plan = NULL;
        lcdc_verify_result result = {0};
        fake_reset();
        fake.server_usable = true;
        fake.server_fails = LC_R_SPARK_ENGINE; /* green until it is read */
        lc_buf_init(&s.text, 1 << 20);
        assert_int_equal(lcdc_request_new(&s.request, NULL), LCDC_OK);
        assert_int_equal(lcdc_request_set(s.request, "table", "/t", NULL), LCDC_OK);
        assert_int_equal(lcdc_source_open(s.request, &s.source, &s.err), LCDC_OK);
        assert_string_equal(lcdc_verdict_chosen(lcdc_source_verdict(s.source)), "server");
        if (i == 0) {
            assert_int_equal(lcdc_plan_new(s.source, s.request, &plan, &s.err), LCDC_OK);
            assert_int_equal(lcdc_plan_commit_count(plan), 4);
            assert_non_null(strstr(lcdc_plan_json(plan), "\"backend\":\"files\""));
        } else {
            assert_int_equal(lcdc_verify(s.source, s.request, &result, &s.err), LCDC_OK);
            assert_true(result.holds);
        }
        assert_string_equal(lcdc_verdict_chosen(lcdc_source_verdict(s.source)), "files");
        assert_true(lcdc_verdict_fell_back(lcdc_source_verdict(s.source)));
        lcdc_plan_free(plan);
        end(&s);
    }
}

static void expect_verdict(const char *table_name, lcdc_status status, const char *words)
{
    lcdc_request *request = NULL;
    lcdc_source *source = NULL;
    LC_ERROR lcdc_error *err = NULL;
    lcdc_feed *feed = NULL;
    lcdc_plan *plan = NULL;
    assert_int_equal(lcdc_request_new(&request, NULL), LCDC_OK);
    assert_int_equal(lcdc_request_set(request, "table", table_name, NULL), LCDC_OK);
    assert_int_equal(lcdc_source_probe(request, &source, &err), status);
    assert_int_equal(lcdc_error_status(err), status);
    const lcdc_verdict *verdict = lcdc_source_verdict(source);
    assert_null(lcdc_verdict_chosen(verdict));
    assert_string_equal(lcdc_verdict_reason(verdict), lcdc_error_message(err));
    assert_non_null(strstr(lcdc_verdict_reason(verdict), words));
    assert_int_equal(lcdc_verdict_candidate_count(verdict), 2);
    assert_non_null(strstr(lcdc_verdict_json(verdict), "{\"chosen\":null,"));
    assert_non_null(strstr(lcdc_verdict_json(verdict), "\"server_version\":\"4.2.1\""));
    /* nothing can be read from it, and asking is no crash */
    assert_int_not_equal(lcdc_feed_open(source, request, &feed, &err), LCDC_OK);
    assert_int_not_equal(lcdc_plan_new(source, request, &plan, &err), LCDC_OK);
    lcdc_source_free(source);
    source = NULL;
    assert_int_equal(lcdc_source_open(request, &source, &err), status);
    assert_null(source);
    lcdc_request_free(request);
}

static void test_a_verdict_when_nothing_can_be_read(void **state)
{
    (void)state;
    fake_reset();
    expect_verdict("/nothing", LCDC_NOT_FOUND, "no log there");
    fake.probe_fails = LC_R_SPARK_CONNECTION; /* ends the search, though the files are there */
    expect_verdict("/t", LCDC_UNAVAILABLE, "nobody is at home");
    fake.probe_fails = LC_R_SPARK_DENIED;
    expect_verdict("/t", LCDC_DENIED, "nobody is at home");
}

/* When every backend failed at a read, the source is at its end, and says so again and again. */
static void test_a_source_without_a_backend_left(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    fake.server_usable = true;
    fake.server_fails = LC_R_SPARK_ENGINE;
    assert_int_equal(begin(&s, "table", "/nothing", NULL), LCDC_UNSUPPORTED);
    assert_int_equal(lcdc_feed_open(s.source, s.request, &s.feed, &s.err), LCDC_UNSUPPORTED);
    assert_null(lcdc_verdict_chosen(lcdc_source_verdict(s.source)));
    assert_non_null(strstr(lcdc_error_message(s.err), "the engine said no"));
    end(&s);
}

/* ---- plan ---- */

static void test_plan(void **state)
{
    (void)state;
    struct session s;
    lcdc_plan *plan = NULL;
    fake_reset();
    assert_int_equal(begin(&s, "from", "1", "to", "2", "where", "k = 1", "columns", "v", NULL), LCDC_OK);
    assert_int_equal(lcdc_plan_new(s.source, s.request, &plan, &s.err), LCDC_OK);
    assert_string_equal(fake.filter, "`k` = 1");
    assert_int_equal(lcdc_plan_commit_count(plan), 2);
    assert_int_equal(lcdc_plan_commit_at(plan, 1)->snapshot, 2);
    assert_null(lcdc_plan_commit_at(plan, 2));
    assert_string_equal(lcdc_plan_json(plan),
                        "{\"backend\":\"files\",\"format\":\"fake\",\"table_id\":\"table-1\",\"commits\":["
                        "{\"snapshot\":1,\"ts_us\":1000000,\"method\":\"append\",\"detail\":\"a \\\"quoted\\\" word\","
                        "\"files\":1,\"files_pruned\":0,\"pruned_by\":{\"partition\":0,\"statistics\":0},"
                        "\"rows\":-1,\"bytes\":7},"
                        "{\"snapshot\":2,\"ts_us\":null,\"method\":\"none\",\"detail\":\"a \\\"quoted\\\" word\","
                        "\"files\":1,\"files_pruned\":0,\"pruned_by\":{\"partition\":0,\"statistics\":0},"
                        "\"rows\":-1,\"bytes\":7}]}");
    lcdc_plan_free(plan);
    end(&s);
}

/* ---- verify ---- */

static lcdc_verify_result verify(struct session *s)
{
    lcdc_verify_result result = {0};
    assert_int_equal(lcdc_verify(s->source, s->request, &result, &s->err), LCDC_OK);
    return result;
}

static void test_verify_holds(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    /* the request's shape is not the law's business */
    assert_int_equal(
        begin(&s, "from", "1", "where", "k = 77", "columns", "v", "identity", "k", "fold", "true", "net", "true", NULL),
        LCDC_OK);
    lcdc_verify_result result = verify(&s);
    assert_true(result.holds);
    assert_int_equal(result.from_rows, 2);
    assert_int_equal(result.to_rows, 3);
    assert_int_equal(result.inserts, 3);
    assert_int_equal(result.deletes, 2);
    assert_int_equal(result.first_bad_snapshot, -1);
    end(&s);
}

static void test_verify_finds_the_commit(void **state)
{
    (void)state;
    struct session s;
    static const struct lc_script_batch wrong = {"iii", "[" ROW(1, "A", 10) "," ROW(2, "b", 22) "," ROW(3, "c", 30) "]",
                                                 NULL, 3, true};
    fake_reset();
    fake.wrong_state = &wrong;
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    lcdc_verify_result result = verify(&s);
    assert_false(result.holds);
    assert_int_equal(result.first_bad_snapshot, 3);
    end(&s);
    static const struct lc_script_batch lost[] = {
        {"ii", "[" ROW(1, "a", 10) "," ROW(2, "b", 20) "]", NULL, 0, true},
        {"i", "[" ROW(3, "c", 30) "]", NULL, 1, true}, /* the update of 1 is missing */
        {NULL, NULL, NULL, 2, true},
        {"d", "[" ROW(2, "b", 20) "]", NULL, 3, false},
        {"i", "[" ROW(2, "b", 21) "]", NULL, 3, true},
    };
    fake_reset();
    fake.wrong_script = lost;
    fake.n_wrong_script = 5;
    assert_int_equal(begin(&s, NULL), LCDC_OK);
    result = verify(&s);
    assert_false(result.holds);
    assert_int_equal(result.first_bad_snapshot, 1);
    end(&s);
}

/* An error variable that is used again is replaced, not leaked. */
static void test_one_error_serves_many_calls(void **state)
{
    (void)state;
    struct session s;
    fake_reset();
    assert_int_equal(begin(&s, "from", "9", NULL), LCDC_NOT_FOUND);
    lcdc_plan *plan = NULL;
    lcdc_verify_result result;
    assert_int_equal(lcdc_plan_new(s.source, s.request, &plan, &s.err), LCDC_NOT_FOUND);
    assert_int_equal(lcdc_verify(s.source, s.request, &result, &s.err), LCDC_NOT_FOUND);
    assert_int_equal(lcdc_feed_open(s.source, s.request, &s.feed, &s.err), LCDC_NOT_FOUND);
    assert_int_equal(lcdc_feed_open(NULL, s.request, &s.feed, &s.err), LCDC_INVALID_ARGUMENT);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_both_sides_in_one_batch),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_net),
        cmocka_unit_test(test_bootstrap),
        cmocka_unit_test(test_empty_range),
        cmocka_unit_test(test_projection),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_goes_down),
        cmocka_unit_test(test_filter_acts_after_labels),
        cmocka_unit_test(test_row_ids_are_asked_for),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_steps_or_stream),
        cmocka_unit_test(test_cursor_with_other_columns),
        cmocka_unit_test(test_cursor_of_another_table),
        cmocka_unit_test(test_error_from_stream),
        cmocka_unit_test(test_foreign_stream),
        cmocka_unit_test(test_release_half_way),
        cmocka_unit_test(test_cancel_from_another_thread),
        cmocka_unit_test(test_cancel_between_batches),
        cmocka_unit_test(test_server_first),
        cmocka_unit_test(test_fallback_before_the_first_batch),
        cmocka_unit_test(test_no_fallback),
        cmocka_unit_test(test_a_delete_that_cannot_be_judged_is_kept),
        cmocka_unit_test(test_plan_and_verify_fall_back_too),
        cmocka_unit_test(test_a_verdict_when_nothing_can_be_read),
        cmocka_unit_test(test_a_source_without_a_backend_left),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_verify_holds),
        cmocka_unit_test(test_verify_finds_the_commit),
        cmocka_unit_test(test_one_error_serves_many_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
