/* SPDX-License-Identifier: Apache-2.0 */
/* test_metadata.c - snapshots out of a metadata file's text, however they are spelled, and what is wrong with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iceberg/metadata.h"
#include "support/torture.h"

#define METADATA LC_CLEANUP(lc_iceberg_metadata_done)
#define HEAD                                                                                                           \
    "{\"format-version\":2,\"table-uuid\":\"u\",\"location\":\"/t\",\"schemas\":[{\"type\":\"struct\","                \
    "\"schema-id\":0,\"fields\":[]}],\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}]"
#define SNAPSHOT(id, more) "{\"snapshot-id\":" id ",\"timestamp-ms\":7,\"manifest-list\":\"/l\"" more "}"
#define OF(operation) ",\"summary\":{\"added\":\"9\",\"operation\":" operation ",\"of\":\"}\"}"

static lcdc_status parse(const char *text, struct lc_iceberg_metadata *out, lcdc_error **err)
{
    return lc_iceberg_metadata_parse(lc_str_of(text), "m.json", out, err);
}

/* "id operation;" of each. */
static void expect(const char *text, const char *expected)
{
    METADATA struct lc_iceberg_metadata metadata = {0};
    LC_ERROR lcdc_error *err = NULL;
    LC_BUF struct lc_buf found = {.max = 1000};
    if (parse(text, &metadata, &err) != LCDC_OK)
        fail_msg("%s: %s", text, lcdc_error_message(err));
    lc_buf_text(&found, "");
    for (size_t i = 0; i < metadata.n_snapshots; i++)
        lc_buf_printf(&found, "%lld %s;", (long long)metadata.snapshots[i].id, metadata.snapshots[i].operation);
    assert_string_equal(found.n ? found.p : "", expected);
}

static void expect_refused(const char *text, const char *code, const char *mention)
{
    METADATA struct lc_iceberg_metadata metadata = {0};
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(parse(text, &metadata, &err), LCDC_CORRUPT);
    assert_string_equal(lcdc_error_reason(err), code);
    if (!strstr(lcdc_error_message(err), mention) || !strstr(lcdc_error_message(err), "m.json"))
        fail_msg("%s: '%s' does not say '%s'", text, lcdc_error_message(err), mention);
}

static const char whole[] = HEAD
    ",\"metadata-log\":[{\"a\":[1]}],\"snapshots\":[" SNAPSHOT("2", OF("\"append\"")) " , " SNAPSHOT(
        "1", "") "],\"statistics\":[{}],\"current-snapshot-id\":2,\"snapshot-log\":[{\"snapshot-id\":2}]}";

static void test_snapshots(void **state)
{
    (void)state;
    expect(whole, "1 ;2 append;");
    expect(HEAD "}", "");
    expect(HEAD ",\"snapshots\":null}", "");
    expect(HEAD ",\"snapshots\":[]}", "");
    expect(HEAD ",\"\\u0073napshots\":[" SNAPSHOT("1", OF("\"append\"")) "]}", "1 append;");
    expect(HEAD ",\"snapshots\":[" SNAPSHOT("1", ",\"\\u0073ummary\":{\"operation\":\"delete\"}") "]}", "1 delete;");
    expect(HEAD ",\"snapshots\":[" SNAPSHOT("1", ",\"summary\":null") "]}", "1 ;");
    expect(HEAD ",\"snapshots\":[" SNAPSHOT("1", OF("\"\\u0061ppend\"")) "," SNAPSHOT("3", OF("7")) "]}",
           "1 append;3 ;");
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("", "json.bad", "empty");
    expect_refused(HEAD, "json.bad", "line 1");
    expect_refused(HEAD ",\"snapshots\":7}", "iceberg.metadata_bad", "snapshots is no list");
    expect_refused(HEAD ",\"snapshots\":{}}", "iceberg.metadata_bad", "snapshots is no list");
    expect_refused(HEAD ",\"snapshots\":[" SNAPSHOT("1", "") ",]}", "iceberg.metadata_bad", "breaks off");
    expect_refused(HEAD ",\"snapshots\":[" SNAPSHOT("1", "") " " SNAPSHOT("2", "") "]}", "iceberg.metadata_bad",
                   "breaks off");
    expect_refused(HEAD ",\"snapshots\":[7]}", "iceberg.metadata_bad", "a snapshot has no id");
    expect_refused(HEAD ",\"snapshots\":[{\"snapshot-id\":nonsense}]}", "json.bad", "a snapshot: json line 1");
    expect_refused(HEAD ",\"snapshots\":[" SNAPSHOT("1", OF("nonsense")) "]}", "json.bad", "the summary of a snapshot");
    expect_refused(HEAD ",\"snapshots\":[" SNAPSHOT("1", ",\"summary\":{\"operation\":\"a\",\"operation\":\"b\"}") "]}",
                   "json.bad", "duplicate");
    expect_refused(HEAD ",\"snapshots\":[" SNAPSHOT("1", ",\"snapshot-id\":2") "]}", "json.bad", "duplicate");
    expect_refused(HEAD ",\"snapshots\":[],\"snapshots\":[]}", "json.bad", "duplicate");
    expect_refused(HEAD ",\"snapshots\":[],\"\\u0073napshots\":[]}", "json.bad", "duplicate");
    expect_refused(HEAD ",\"snapshots\":[" SNAPSHOT("1", "") "," SNAPSHOT("1", "") "]}", "iceberg.metadata_bad",
                   "listed twice");
    expect_refused(HEAD ",\"current-snapshot-id\":4}", "iceberg.metadata_bad", "4 is not listed");
}

static lcdc_status parse_whole(void *context, lcdc_error **err)
{
    (void)context;
    METADATA struct lc_iceberg_metadata metadata = {0};
    return parse(whole, &metadata, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    assert_true(lc_torture(parse_whole, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
