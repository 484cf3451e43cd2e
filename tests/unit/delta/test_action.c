/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_action.c - lines of the log: what is taken from them, what is ignored, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delta/action.h"
#include "support/torture.h"

static struct lc_delta_action parse(struct lc_arena *arena, const char *line)
{
    struct lc_delta_action action;
    LC_ERROR lcdc_error *err = NULL;
    if (lc_delta_action_parse(lc_str_of(line), arena, &action, &err) != LCDC_OK)
        fail_msg("%s: %s", line, lcdc_error_message(err));
    return action;
}

static void test_add(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_delta_action action = parse(
        &arena, "{\"add\":{\"path\":\"p=1/a%20b%2541.parquet\",\"partitionValues\":{\"p\":\"1\",\"q\":null},"
                "\"size\":7,\"dataChange\":false,\"stats\":\"{\\\"numRecords\\\":12}\",\"baseRowId\":5,"
                "\"defaultRowCommitVersion\":6,\"deletionVector\":{\"storageType\":\"u\",\"pathOrInlineDv\":"
                "\"ab\",\"offset\":1,\"sizeInBytes\":2,\"cardinality\":3},\"whatever\":[]}}");
    assert_int_equal(action.kind, LC_DELTA_ADD);
    const struct lc_delta_file *file = &action.file;
    assert_true(lc_str_is(file->path, "p=1/a b%41.parquet")); /* decoded once */
    assert_true(file->has_partition_values);
    assert_int_equal(file->n_partition_values, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(file->partition_values[i].is_null, lc_str_is(file->partition_values[i].key, "q"));
    assert_int_equal(file->size, 7);
    assert_false(file->data_change);
    assert_int_equal(file->rows, 12);
    assert_int_equal(file->base_row_id, 5);
    assert_int_equal(file->default_row_version, 6);
    assert_int_equal(file->vector.storage, 'u');
    assert_int_equal(file->vector.offset, 1);
    assert_int_equal(file->vector.size, 2);
    assert_int_equal(file->vector.cardinality, 3);
}

static void test_what_is_left_out(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_delta_action action = parse(&arena, "{\"remove\":{\"path\":\"a\"}}");
    assert_int_equal(action.kind, LC_DELTA_REMOVE);
    assert_true(action.file.data_change); /* when nothing is said rows may have changed */
    assert_false(action.file.has_partition_values);
    assert_int_equal(action.file.size, -1);
    assert_int_equal(action.file.rows, -1);
    assert_int_equal(action.file.base_row_id, -1);
    assert_int_equal(action.file.vector.storage, 0);
    assert_int_equal(parse(&arena, "{\"domainMetadata\":{\"domain\":\"x\"}}").kind, LC_DELTA_OTHER);
    assert_int_equal(parse(&arena, "{\"add\":null,\"txn\":{}}").kind, LC_DELTA_OTHER);
    assert_int_equal(parse(&arena, "{}").kind, LC_DELTA_OTHER);
}

static void test_the_others(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_delta_action action = parse(&arena,
                                          "{\"metaData\":{\"id\":\"i\",\"schemaString\":\"s\",\"partitionColumns\":"
                                          "[\"p\"],\"configuration\":{\"a\":\"TRUE\",\"b\":null},\"format\":"
                                          "{\"provider\":\"Parquet\"}}}");
    assert_true(lc_str_is(action.metadata.id, "i"));
    assert_int_equal(action.metadata.n_partition_columns, 1);
    assert_true(lc_delta_is_true(&action.metadata, "a"));
    assert_false(lc_delta_is_true(&action.metadata, "b"));
    assert_null(lc_delta_configuration(&action.metadata, "b").p);
    action = parse(&arena, "{\"protocol\":{\"minReaderVersion\":3,\"readerFeatures\":[\"x\",\"y\"]}}");
    assert_int_equal(action.protocol.reader_version, 3);
    assert_int_equal(action.protocol.n_reader_features, 2);
    action = parse(&arena, "{\"commitInfo\":{\"operation\":\"MERGE\",\"inCommitTimestamp\":17,\"tags\":"
                           "{\"delta.rowTracking.preserved\":\"true\"}}}");
    assert_true(lc_str_is(action.commit_info.operation, "MERGE"));
    assert_true(action.commit_info.has_in_commit_ts && action.commit_info.in_commit_ts_ms == 17);
    assert_true(action.commit_info.row_ids_preserved);
    assert_true(lc_str_is(parse(&arena, "{\"sidecar\":{\"path\":\"s.parquet\"}}").sidecar, "s.parquet"));
}

static const struct {
    const char *line, *reason;
} refused[] = {
    {"", "delta.log_bad json.bad"},
    {"[]", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\"}", "json.bad"},
    {"{\"add\":{\"path\":\"a\"},\"remove\":{\"path\":\"b\"}}", "delta.log_bad"},
    {"{\"add\":7}", "delta.log_bad"},
    {"{\"add\":{}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"\"}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"../a\"}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a/%2E%2E/b\"}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a/..\"}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"size\":-1}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"dataChange\":\"true\"}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"partitionValues\":[]}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"partitionValues\":{\"p\":1}}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"baseRowId\":-5}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"deletionVector\":{\"storageType\":\"x\"}}}", "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"deletionVector\":{\"storageType\":\"u\",\"pathOrInlineDv\":\"a\",\"sizeInBytes\":1}}}",
     "delta.log_bad"},
    {"{\"add\":{\"path\":\"a\",\"deletionVector\":{\"storageType\":\"u\",\"pathOrInlineDv\":\"a\",\"sizeInBytes\":-1,"
     "\"cardinality\":1}}}",
     "delta.log_bad"},
    {"{\"metaData\":{\"id\":\"x\"}}", "delta.log_bad"},
    {"{\"metaData\":{\"schemaString\":\"s\",\"format\":{\"provider\":\"orc\"}}}", "parquet.unsupported"},
    {"{\"metaData\":{\"schemaString\":\"s\",\"partitionColumns\":[1]}}", "delta.log_bad"},
    {"{\"protocol\":{}}", "delta.log_bad"},
    {"{\"protocol\":{\"minReaderVersion\":-1}}", "delta.log_bad"},
    {"{\"protocol\":{\"minReaderVersion\":3,\"readerFeatures\":\"x\"}}", "delta.log_bad"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        struct lc_delta_action action;
        LC_ERROR lcdc_error *err = NULL;
        lcdc_status status = lc_delta_action_parse(lc_str_of(refused[i].line), &arena, &action, &err);
        if (status == LCDC_OK || !strstr(refused[i].reason, lcdc_error_reason(err)))
            fail_msg("%s: %s, expected %s", refused[i].line, lcdc_error_reason(err), refused[i].reason);
        assert_int_equal(status, lcdc_error_status(err));
    }
}

static void test_lines(void **state)
{
    (void)state;
    static const char *const expected[] = {"a", "b c", "d"};
    struct lc_str rest = LC_STR("a \r\n\n  \r\nb c\nd"), line;
    for (int i = 0; i < 3; i++) {
        assert_true(lc_delta_next_line(&rest, &line));
        assert_true(lc_str_is(line, expected[i]));
    }
    assert_false(lc_delta_next_line(&rest, &line));
    assert_int_equal(lc_delta_action_peek(LC_STR(" {\"add\":{")), LC_DELTA_ADD);
    assert_int_equal(lc_delta_action_peek(LC_STR("{ \"metaData\" : {")), LC_DELTA_METADATA);
    assert_int_equal(lc_delta_action_peek(LC_STR("{\"adds\":{")), LC_DELTA_OTHER);
    assert_int_equal(lc_delta_action_peek(LC_STR("{\"add")), LC_DELTA_OTHER);
    assert_int_equal(lc_delta_action_peek(LC_STR("")), LC_DELTA_OTHER);
}

static void test_stats(void **state)
{
    (void)state;
    assert_int_equal(lc_delta_stats_rows(LC_STR("{\"numRecords\":3}")), 3);
    assert_int_equal(lc_delta_stats_rows(LC_STR("{\"numRecords\":-3}")), -1);
    assert_int_equal(lc_delta_stats_rows(LC_STR("{\"numRecords\":\"3\"}")), -1);
    assert_int_equal(lc_delta_stats_rows(LC_STR("{")), -1);
    assert_int_equal(lc_delta_stats_rows(LC_STR("")), -1);
}

static void test_vectors(void **state)
{
    (void)state;
    struct lc_delta_vector none = {0}, a = {'u', LC_STR("x"), 1, 2, 3}, b = a;
    assert_true(lc_delta_vector_equal(&none, &none));
    assert_false(lc_delta_vector_equal(&none, &a));
    assert_true(lc_delta_vector_equal(&a, &b));
    b.offset = 2;
    assert_false(lc_delta_vector_equal(&a, &b));
    b = a;
    b.path_or_inline = LC_STR("y");
    assert_false(lc_delta_vector_equal(&a, &b));
    b = a;
    b.storage = 'i';
    assert_false(lc_delta_vector_equal(&a, &b));
}

static lcdc_status run(void *context, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_delta_action action;
    return lc_delta_action_parse(lc_str_of(context), &arena, &action, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    char add[] = "{\"add\":{\"path\":\"a\",\"partitionValues\":{\"p\":\"1\"},\"stats\":\"{}\"}}";
    char metadata[] =
        "{\"metaData\":{\"schemaString\":\"s\",\"partitionColumns\":[\"p\"],\"configuration\":{\"a\":\"b\"}}}";
    assert_true(lc_torture(run, add));
    assert_true(lc_torture(run, metadata));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),        cmocka_unit_test(test_what_is_left_out),
        cmocka_unit_test(test_the_others), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_stats),
        cmocka_unit_test(test_vectors),    cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
