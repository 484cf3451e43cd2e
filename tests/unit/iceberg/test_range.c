/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iceberg/range.h"
#include "support/torture.h"

/* Snapshots are written as "id parent seconds operation"; 0 for no parent. */
struct history {
    const char *const *snapshots;
    int64_t current;
    const char *refs;
};

static void print_metadata(struct lc_buf *out, const struct history *h)
{
    lc_buf_text(out, "{\"format-version\":2,\"table-uuid\":\"u\",\"location\":\"/t\",\"last-updated-ms\":1000000000,"
                     "\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[]}],\"current-schema-id\":0,"
                     "\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],\"snapshots\":[");
    for (size_t i = 0; h->snapshots[i]; i++) {
        const char *at = h->snapshots[i];
        int64_t numbers[3];
        for (int k = 0; k < 3; k++) {
            size_t n = strcspn(at, " ");
            assert_true(lc_parse_i64((struct lc_str){at, n}, &numbers[k]));
            at += n + 1;
        }
        lc_buf_printf(out,
                      "%s{\"snapshot-id\":%" PRId64 ",\"sequence-number\":%zu,\"timestamp-ms\":%" PRId64
                      ",\"manifest-list\":\"/l\",\"summary\":{\"operation\":\"%s\"}",
                      i ? "," : "", numbers[0], i + 1, numbers[2] * 1000, at);
        if (numbers[1])
            lc_buf_printf(out, ",\"parent-snapshot-id\":%" PRId64, numbers[1]);
        lc_buf_char(out, '}');
    }
    lc_buf_printf(out, "],\"current-snapshot-id\":%" PRId64 ",\"refs\":{%s}}", h->current, h->refs ? h->refs : "");
}

/* Options as "key=value key=value". */
static lcdc_status make_request(const char *options, lcdc_request **out, lcdc_error **err)
{
    LC_TRY(lcdc_request_new(out, err));
    LC_TRY(lcdc_request_set(*out, "table", "/t", err));
    for (const char *at = options; *at;) {
        size_t n = strcspn(at, " "), key = strcspn(at, "=");
        LC_FREE char *name = lc_strndup(at, key);
        LC_FREE char *value = lc_strndup(at + key + 1, n - key - 1);
        LC_TRY_ALLOC(name && value);
        LC_TRY(lcdc_request_set(*out, name, value, err));
        at += n + (at[n] == ' ');
    }
    return LCDC_OK;
}

struct resolved {
    struct lc_arena arena;
    struct lc_iceberg_metadata metadata;
    struct lc_iceberg_range range;
};

static void resolved_done(struct resolved *r)
{
    lc_iceberg_metadata_done(&r->metadata);
    lc_arena_done(&r->arena);
}

static lcdc_status resolve(const struct history *history, const char *options, struct resolved *out, lcdc_error **err)
{
    LC_BUF struct lc_buf text;
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    lc_buf_init(&text, LC_BUF_MAX);
    print_metadata(&text, history);
    LC_TRY_BUF(&text);
    LC_TRY(make_request(options, &request, err));
    LC_TRY(lc_iceberg_metadata_parse((struct lc_str){text.p, text.n}, "m", &out->metadata, err));
    return lc_iceberg_range_resolve(&out->metadata, request, &out->arena, &out->range, err);
}

/* The range as "before|a b c|end". */
static void assert_range(const struct history *history, const char *options, const char *expected)
{
    LC_CLEANUP(resolved_done) struct resolved r = {0};
    LC_ERROR lcdc_error *err = NULL;
    LC_BUF struct lc_buf text;
    lc_buf_init(&text, 4096);
    if (resolve(history, options, &r, &err) != LCDC_OK)
        fail_msg("%s: %s", options, lcdc_error_message(err));
    const struct lc_iceberg_range *range = &r.range;
    lc_buf_printf(&text, "%" PRId64 "|", range->before ? range->before->id : range->before_is_gone ? -1 : 0);
    for (size_t i = 0; i < range->n; i++)
        lc_buf_printf(&text, "%s%" PRId64, i ? " " : "", range->commits[i]->id);
    lc_buf_printf(&text, "|%" PRId64, range->end ? range->end->id : 0);
    if (strcmp(text.p, expected) != 0)
        fail_msg("%s: %s, expected %s", options, text.p, expected);
}

static void assert_refused(const struct history *history, const char *options, const char *reason, const char *says)
{
    LC_CLEANUP(resolved_done) struct resolved r = {0};
    LC_ERROR lcdc_error *err = NULL;
    lcdc_status status = resolve(history, options, &r, &err);
    if (status == LCDC_OK || strcmp(lcdc_error_reason(err), reason) != 0 || !strstr(lcdc_error_message(err), says))
        fail_msg("%s: %s (%s) does not say \"%s\" (%s)", options, lcdc_error_message(err), lcdc_error_reason(err), says,
                 reason);
}

static const char *const line[] = {"11 0 100 append", "12 11 200 append", "13 12 300 overwrite", "14 13 400 delete",
                                   NULL};
static const struct history whole = {
    line, 14, "\"main\":{\"snapshot-id\":14,\"type\":\"branch\"},\"v1\":{\"snapshot-id\":12,\"type\":\"tag\"}"};

static void ids_and_names(void **state)
{
    (void)state;
    assert_range(&whole, "", "0|11 12 13 14|14");
    assert_range(&whole, "from=12 to=13", "11|12 13|13");
    assert_range(&whole, "from=12 from_exclusive=true", "12|13 14|14");
    assert_range(&whole, "from=12 to=14 to_exclusive=true", "11|12 13|13");
    assert_range(&whole, "from=14 from_exclusive=true", "14||14");
    assert_range(&whole, "from=12 to=12", "11|12|12");
    assert_range(&whole, "from=12 to=12 to_exclusive=true", "11||11");
    assert_range(&whole, "from=latest", "13|14|14");
    assert_range(&whole, "from=latest from_exclusive=true", "14||14");
    assert_range(&whole, "from=v1 from_exclusive=true to=13", "12|13|13");
    assert_range(&whole, "to=v1", "0|11 12|12");
    assert_range(&whole, "bootstrap=true", "11|12 13 14|14");
    assert_refused(&whole, "from=13 to=12", "request.bad_range", "ends (12) before it begins (13)");
    assert_refused(&whole, "from=99", "iceberg.snapshot_missing", "99");
    assert_refused(&whole, "to=99", "iceberg.snapshot_missing", "99");
    assert_refused(&whole, "to=v9", "iceberg.snapshot_missing", "v9");
    assert_refused(&whole, "branch=v1", "iceberg.snapshot_missing", "it is a tag");
    assert_refused(&whole, "branch=none", "iceberg.snapshot_missing", "none");
}

static void times_are_windows(void **state)
{
    (void)state;
    assert_range(&whole, "from=1970-01-01T00:03:20Z to=1970-01-01T00:05:00Z", "11|12 13|13");
    assert_range(&whole, "from=1970-01-01T00:03:20Z from_exclusive=true", "12|13 14|14");
    assert_range(&whole, "from=1970-01-01T00:03:20.000001Z to=1970-01-01T00:04:59Z", "12||12");
    assert_range(&whole, "to=1970-01-01T00:05:00Z to_exclusive=true", "0|11 12|12");
    assert_range(&whole, "from=1970-01-01T00:00:00Z", "0|11 12 13 14|14");
    assert_range(&whole, "from=1980-01-01", "14||14");
    assert_range(&whole, "to=1970-01-01T00:01:00Z", "0||0");
    assert_refused(&whole, "from=1980-01-01 to=1979-01-01", "request.bad_range", "before it begins");
}

static void clocks_that_go_wrong(void **state)
{
    (void)state;
    static const char *const odd[] = {"11 0 100 append",
                                      "12 11 300 append",
                                      "13 12 200 append",
                                      "14 13 99999999999 append",
                                      "15 14 -7 append",
                                      "16 15 400 append",
                                      NULL};
    const struct history h = {odd, 16, NULL};
    /* windows that follow each other cover each commit once, whatever the clocks said */
    assert_range(&h, "to=1970-01-01T00:04:10Z", "0|11|11");
    assert_range(&h, "from=1970-01-01T00:04:10Z from_exclusive=true to=1970-01-01T00:05:30Z", "11|12 13 14 15|15");
    assert_range(&h, "from=1970-01-01T00:05:30Z from_exclusive=true", "15|16|16");
}

static void other_lines(void **state)
{
    (void)state;
    static const char *const forked[] = {"11 0 100 append",  "12 11 200 append", "13 11 300 append",
                                         "14 13 400 append", "20 0 100 append",  NULL};
    const struct history h = {forked, 14, "\"side\":{\"snapshot-id\":12,\"type\":\"branch\"}"};
    assert_range(&h, "", "0|11 13 14|14");
    assert_range(&h, "branch=side", "0|11 12|12");
    assert_range(&h, "to=12", "0|11 12|12");
    assert_range(&h, "branch=main from=11 from_exclusive=true", "11|13 14|14");
    assert_refused(&h, "from=12 from_exclusive=true", "iceberg.not_ancestor", "nearest common ancestor is 11");
    assert_refused(&h, "branch=side to=14", "iceberg.not_ancestor", "14");
    assert_refused(&h, "from=20", "iceberg.not_ancestor", "no common one");
    const struct history back = {forked, 11, NULL}; /* rolled back, nothing since */
    assert_refused(&back, "from=14 from_exclusive=true", "iceberg.not_ancestor", "nearest common ancestor is 11");
}

static void histories_that_are_cut(void **state)
{
    (void)state;
    static const char *const cut[] = {"13 12 300 overwrite", "14 13 400 append", "15 14 500 append", NULL};
    const struct history h = {cut, 15, NULL};
    assert_range(&h, "from=13 from_exclusive=true", "13|14 15|15");
    assert_range(&h, "from=14", "13|14 15|15");
    assert_range(&h, "bootstrap=true", "13|14 15|15");
    assert_range(&h, "from=1970-01-01T00:05:00Z from_exclusive=true", "13|14 15|15");
    assert_refused(&h, "", "iceberg.snapshot_expired", "13");
    assert_refused(&h, "from=12 from_exclusive=true", "iceberg.snapshot_expired", "12 has been expired");
    assert_refused(&h, "from=11 from_exclusive=true", "iceberg.snapshot_expired",
                   "oldest that can serve as an exclusive start is 13");
    assert_refused(&h, "from=13", "iceberg.snapshot_expired", "its parent 12");
    assert_refused(&h, "from=1970-01-01T00:01:00Z", "iceberg.snapshot_expired", "13");
    static const char *const append[] = {"13 12 300 append", "14 13 400 append", NULL};
    const struct history alone = {append, 14, NULL};
    assert_range(&alone, "from=13", "-1|13 14|14"); /* an append removes nothing: its parent is not needed */
    static const char *const hole[] = {"11 0 100 append", "12 11 200 append", "14 13 400 append", "15 14 500 append",
                                       NULL};
    const struct history holed = {hole, 15, NULL};
    assert_range(&holed, "to=12", "0|11 12|12");
    assert_refused(&holed, "from=12 from_exclusive=true", "iceberg.snapshot_expired", "14");
}

static void what_can_be_served_is_told(void **state)
{
    (void)state;
    static const char *const cut[] = {"13 12 300 overwrite", "14 13 400 append", NULL};
    const struct history h = {cut, 14, NULL};
    LC_CLEANUP(resolved_done) struct resolved r = {0};
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(resolve(&h, "from=12 from_exclusive=true", &r, &err), LCDC_GONE);
    assert_string_equal(lcdc_error_detail(err, "snapshot"), "12");
    assert_string_equal(lcdc_error_detail(err, "servable_after"), "13");
    assert_string_equal(lcdc_error_detail(err, "servable_from"), "14");
    assert_string_equal(lcdc_error_detail(err, "servable_to"), "14");
}

static void empty_tables(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    const struct history h = {none, -1, NULL};
    assert_range(&h, "", "0||0");
    assert_range(&h, "branch=main", "0||0");
    assert_range(&h, "from=latest", "0||0");
    assert_range(&h, "bootstrap=true", "0||0");
    assert_range(&h, "from=1970-01-01T00:00:00Z", "0||0");
    assert_refused(&h, "from=5", "iceberg.snapshot_missing", "5");
}

static void ancestors_in_a_circle(void **state)
{
    (void)state;
    static const char *const circles[][4] = {{"11 11 100 append", NULL},
                                             {"11 12 100 append", "12 11 200 append", NULL},
                                             {"11 0 100 append", "12 13 200 append", "13 12 300 append", NULL}};
    for (size_t i = 0; i < 3; i++) {
        const struct history h = {circles[i], 11, NULL};
        assert_refused(&h, "", "iceberg.metadata_bad", "among its own ancestors");
    }
}

static lcdc_status resolve_all(void *context, lcdc_error **err)
{
    (void)context;
    LC_CLEANUP(resolved_done) struct resolved r = {0};
    return resolve(&whole, "from=12 to=v1", &r, err);
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_true(lc_torture(resolve_all, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_names),          cmocka_unit_test(times_are_windows),
        cmocka_unit_test(clocks_that_go_wrong),   cmocka_unit_test(other_lines),
        cmocka_unit_test(histories_that_are_cut), cmocka_unit_test(what_can_be_served_is_told),
        cmocka_unit_test(empty_tables),           cmocka_unit_test(ancestors_in_a_circle),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
