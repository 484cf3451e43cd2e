/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_table.c - protocol and metadata over versions, commit times, live files; from commits and from checkpoints of
 * every kind.
 */
#include "log_test.h"

#include "io/parquet.h"
#include "support/json_rows.h"

#define TIMELINE LC_CLEANUP(lc_delta_timeline_done)
#define SNAPSHOT LC_CLEANUP(lc_delta_snapshot_done)
#define UUID "80a083e8-7026-4e79-81be-64bd76c43a11"
#define V(n) "0000000000000000000" #n

/* ---- checkpoints as Parquet ---- */

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }
#define PARENT(name_, kind_, children_)                                                                                \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_},     \
        .n_children = sizeof(children_) / sizeof((children_)[0]), .children = (children_)                              \
    }
static struct lc_field protocol[] = {FIELD("minReaderVersion", INT32), FIELD("minWriterVersion", INT32)};
static struct lc_field metadata[] = {FIELD("id", STRING), FIELD("schemaString", STRING)};
static struct lc_field add[] = {FIELD("path", STRING), FIELD("size", INT64)};
static struct lc_field sidecar[] = {FIELD("path", STRING), FIELD("sizeInBytes", INT64)};
static struct lc_field actions[] = {PARENT("protocol", STRUCT, protocol), PARENT("metaData", STRUCT, metadata),
                                    PARENT("add", STRUCT, add), PARENT("sidecar", STRUCT, sidecar)};
static const struct lc_field action_rows = PARENT("", STRUCT, actions);

#define ROW(p, m, a, s) "{\"protocol\":" p ",\"metaData\":" m ",\"add\":" a ",\"sidecar\":" s "}"
#define PROTOCOL_ROW ROW("{\"minReaderVersion\":1,\"minWriterVersion\":2}", "null", "null", "null")
#define METADATA_ROW ROW("null", "{\"id\":\"from-checkpoint\",\"schemaString\":\"{}\"}", "null", "null")
#define ADD_ROW(path) ROW("null", "null", "{\"path\":\"" path "\",\"size\":3}", "null")
#define SIDECAR_ROW(path) ROW("null", "null", "null", "{\"path\":\"" path "\",\"sizeInBytes\":3}")

static int take(void *buf, const void *bytes, size_t n)
{
    lc_buf_append(buf, bytes, n);
    return 0;
}

static void put_parquet(struct lc_storage *storage, const char *name, const char *json)
{
    char path[200];
    LC_ARRAY struct ArrowArray rows = {0};
    LC_SCHEMA struct ArrowSchema schema = {0};
    LC_BUF struct lc_buf bytes;
    struct lc_parquet_writer *writer = NULL;
    lc_buf_init(&bytes, 1 << 20);
    assert_true(json_rows(json, &action_rows, 0, &rows));
    assert_int_equal(lc_schema_from_field(&action_rows, &schema, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_writer_open(&schema, take, &bytes, &writer, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_writer_batch(writer, &rows, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_writer_finish(writer, NULL), LCDC_OK);
    lc_parquet_writer_close(writer);
    snprintf(path, sizeof(path), "/t/_delta_log/%s", name);
    assert_int_equal(lc_memory_storage_add(storage, path, bytes.p, bytes.n, NULL), LCDC_OK);
}

/* ---- timeline ---- */

static void expect_id(const struct lc_delta_timeline *timeline, int64_t version, const char *id)
{
    const struct lc_delta_state *state = lc_delta_timeline_at(timeline, version);
    assert_true(lc_str_is(state->metadata.id, id));
}

static struct lc_storage *changing_log(void)
{
    struct lc_storage *storage = log_storage();
    log_commit(storage, 0, LOG_PROTOCOL LOG_METADATA_OF("zero", ""));
    log_commit(storage, 1, LOG_ADD("a"));
    log_commit(storage, 2, LOG_METADATA_OF("two", "") LOG_ADD("b"));
    log_commit(storage, 3, LOG_REMOVE("a"));
    log_commit(storage, 4, "{\"protocol\":{\"minReaderVersion\":2}}\n" LOG_ADD("a"));
    log_commit(storage, 5, LOG_METADATA_OF("five", ""));
    return storage;
}

static void test_timeline(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = changing_log();
    LOG struct lc_delta_log *log = log_open(storage);
    TIMELINE struct lc_delta_timeline all = {0}, middle = {0};
    assert_int_equal(lc_delta_timeline_read(log, NULL, 0, 5, &all, NULL), LCDC_OK);
    assert_int_equal(all.n, 4); /* 0, 2, 4, 5 */
    static const char *const ids[] = {"zero", "zero", "two", "two", "two", "five"};
    for (int64_t v = 0; v < 6; v++) {
        expect_id(&all, v, ids[v]);
        assert_int_equal(lc_delta_timeline_at(&all, v)->protocol.reader_version, v < 4 ? 1 : 2);
    }
    assert_int_equal(lc_delta_timeline_read(log, NULL, 3, 4, &middle, NULL), LCDC_OK);
    assert_int_equal(middle.n, 2);
    expect_id(&middle, 3, "two");
}

static void expect_refused(struct lc_storage *storage, int64_t first, int64_t last, const char *reason,
                           const char *word)
{
    LOG struct lc_delta_log *log = log_open(storage);
    TIMELINE struct lc_delta_timeline timeline = {0};
    LC_ERROR lcdc_error *err = NULL;
    assert_int_not_equal(lc_delta_timeline_read(log, NULL, first, last, &timeline, &err), LCDC_OK);
    assert_string_equal(lcdc_error_reason(err), reason);
    if (!strstr(lcdc_error_message(err), word))
        fail_msg("%s has no '%s'", lcdc_error_message(err), word);
}

static void test_refused_states(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = changing_log();
    log_commit(storage, 3, LOG_METADATA LOG_METADATA);
    expect_refused(storage, 0, 5, "delta.log_bad", "version 3: a second metaData action");
    log_commit(storage, 3, LOG_PROTOCOL LOG_PROTOCOL);
    expect_refused(storage, 5, 5, "delta.log_bad", "version 3: a second protocol action");
    log_commit(storage, 3, "{\"protocol\":{\"minReaderVersion\":3,\"readerFeatures\":[\"timeTravel9\"]}}\n");
    expect_refused(storage, 0, 5, "delta.unknown_feature", "timeTravel9");
    log_commit(storage, 3, LOG_ADD("x"));
    log_commit(storage, 0, LOG_METADATA);
    expect_refused(storage, 0, 1, "delta.log_bad", "no protocol");
    log_commit(storage, 0, LOG_PROTOCOL);
    expect_refused(storage, 0, 1, "delta.log_bad", "no metaData");
    log_remove(storage, V(0) ".json");
    expect_refused(storage, 1, 5, "delta.no_state", "before version 1");
}

/* ---- times ---- */

static void expect_time(struct lc_delta_log *log, const struct lc_delta_timeline *timeline, int64_t version, int64_t ts)
{
    int64_t found = -1;
    bool has = false;
    LC_ERROR lcdc_error *err = NULL;
    const struct lc_delta_state *state = lc_delta_timeline_at(timeline, version);
    if (lc_delta_commit_time(log, state, version, &found, &has, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    assert_true(has);
    assert_int_equal(found, ts);
}

static void test_times(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = log_storage();
    log_commit(storage, 0, LOG_PROTOCOL LOG_METADATA);
    log_commit(storage, 1, LOG_INFO(77) LOG_ADD("a")); /* written, but not in force yet */
    log_commit(storage, 2,
               LOG_INFO(5000) LOG_METADATA_OF("t", "\"delta.enableInCommitTimestamps\":\"true\","
                                                   "\"delta.inCommitTimestampEnablementVersion\":\"2\""));
    log_commit(storage, 3, LOG_INFO(6000) LOG_ADD("b"));
    log_commit(storage, 4, LOG_ADD("c"));
    log_commit(storage, 5, LOG_METADATA_OF("t", "")); /* switched off */
    LOG struct lc_delta_log *log = log_open(storage);
    TIMELINE struct lc_delta_timeline timeline = {0};
    assert_int_equal(lc_delta_timeline_read(log, NULL, 0, 5, &timeline, NULL), LCDC_OK);
    static const int64_t times[] = {0, 1, 5000, 6000, -1, 5};
    for (int64_t v = 0; v < 6; v++)
        if (times[v] >= 0)
            expect_time(log, &timeline, v, times[v]);
    int64_t ts;
    bool has;
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_delta_commit_time(log, lc_delta_timeline_at(&timeline, 4), 4, &ts, &has, &err), LCDC_CORRUPT);
    assert_non_null(strstr(lcdc_error_message(err), "version 4 has no inCommitTimestamp"));
    assert_int_equal(lc_delta_commit_time(log, lc_delta_timeline_at(&timeline, 5), 9, &ts, &has, NULL), LCDC_OK);
    assert_false(has);
}

static void test_in_commit_switch(void **state)
{
    (void)state;
    struct lc_delta_pair pairs[2] = {{LC_STR("delta.enableInCommitTimestamps"), LC_STR("TRUE"), false},
                                     {LC_STR("delta.inCommitTimestampEnablementVersion"), LC_STR("4"), false}};
    struct lc_delta_metadata with = {.n_configuration = 2, .configuration = pairs};
    assert_false(lc_delta_has_in_commit_ts(&with, 3));
    assert_true(lc_delta_has_in_commit_ts(&with, 4));
    assert_int_equal(lc_delta_in_commit_ts_from(&with), 4);
    with.n_configuration = 1; /* from the first commit on */
    assert_true(lc_delta_has_in_commit_ts(&with, 0));
    pairs[0].value = LC_STR("false");
    assert_false(lc_delta_has_in_commit_ts(&with, 9));
    assert_int_equal(lc_delta_in_commit_ts_from(&with), INT64_MAX);
}

/* ---- live files ---- */

static void expect_live(struct lc_storage *storage, int64_t version, const char *expected)
{
    LOG struct lc_delta_log *log = log_open(storage);
    SNAPSHOT struct lc_delta_snapshot snapshot = {0};
    LC_ERROR lcdc_error *err = NULL;
    char live[100] = "";
    size_t n = 0;
    if (lc_delta_snapshot_read(log, version, NULL, &snapshot, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    for (char path[2] = "a"; path[0] <= 'z'; path[0]++) {
        struct lc_delta_file like = {.path = {path, 1}};
        const struct lc_delta_file *found = lc_delta_snapshot_find(&snapshot, &like);
        if (found && (n++, true))
            strcat(live, path);
    }
    assert_string_equal(live, expected);
    assert_int_equal(snapshot.n_live, n);
}

static void test_snapshots(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = changing_log();
    static const char *const live[] = {"", "a", "ab", "b", "ab", "ab"};
    for (int64_t v = 0; v < 6; v++)
        expect_live(storage, v, live[v]);
    expect_live(storage, -1, "");
}

/* A file with another vector is another entry: rows are deleted by removing one and adding the other. */
static void test_vectors_are_part_of_the_key(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = changing_log();
    log_commit(storage, 3,
               LOG_REMOVE("a") "{\"add\":{\"path\":\"a\",\"deletionVector\":{\"storageType\":\"i\","
                               "\"pathOrInlineDv\":\"xyz\",\"sizeInBytes\":1,\"cardinality\":1}}}\n");
    LOG struct lc_delta_log *log = log_open(storage);
    SNAPSHOT struct lc_delta_snapshot snapshot = {0};
    assert_int_equal(lc_delta_snapshot_read(log, 3, NULL, &snapshot, NULL), LCDC_OK);
    struct lc_delta_file plain = {.path = LC_STR("a")};
    struct lc_delta_file with = {.path = LC_STR("a"), .vector = {.storage = 'i', .path_or_inline = LC_STR("xyz")}};
    assert_null(lc_delta_snapshot_find(&snapshot, &plain));
    assert_int_equal(lc_delta_snapshot_find(&snapshot, &with)->vector.cardinality, 1);
    assert_int_equal(snapshot.n_live, 2); /* and b */
}

static void test_many_files(void **state)
{
    (void)state;
    enum { FILES = 1000 };
    STORAGE struct lc_storage *storage = log_storage();
    LC_BUF struct lc_buf adds, removes;
    lc_buf_init(&adds, 1 << 20);
    lc_buf_init(&removes, 1 << 20);
    lc_buf_text(&adds, LOG_PROTOCOL LOG_METADATA);
    for (int i = 0; i < FILES; i++) {
        lc_buf_printf(&adds, "{\"add\":{\"path\":\"f%d\"}}\n", i);
        if (i % 3 == 0)
            lc_buf_printf(&removes, "{\"remove\":{\"path\":\"f%d\"}}\n", i);
    }
    log_commit(storage, 0, adds.p);
    log_commit(storage, 1, removes.p);
    LOG struct lc_delta_log *log = log_open(storage);
    SNAPSHOT struct lc_delta_snapshot snapshot = {0};
    assert_int_equal(lc_delta_snapshot_read(log, 1, NULL, &snapshot, NULL), LCDC_OK);
    assert_int_equal(snapshot.n_live, FILES - (FILES + 2) / 3);
    for (int i = 0; i < FILES; i++) {
        char path[20];
        snprintf(path, sizeof(path), "f%d", i);
        struct lc_delta_file like = {.path = lc_str_of(path)};
        assert_int_equal(lc_delta_snapshot_find(&snapshot, &like) != NULL, i % 3 != 0);
    }
}

/* ---- from checkpoints ---- */

/* Version 3's checkpoint holds a and b; 4 removes a and adds c. The commits before it are gone. */
static struct lc_storage *cut_log(void)
{
    struct lc_storage *storage = log_storage();
    log_commit(storage, 4, LOG_REMOVE("a") LOG_ADD("c"));
    return storage;
}

static void expect_from_checkpoint(struct lc_storage *storage)
{
    LOG struct lc_delta_log *log = log_open(storage);
    TIMELINE struct lc_delta_timeline timeline = {0};
    LC_ERROR lcdc_error *err = NULL;
    if (lc_delta_timeline_read(log, NULL, 3, 4, &timeline, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    expect_id(&timeline, 4, "from-checkpoint");
    expect_live(storage, 3, "ab");
    expect_live(storage, 4, "bc");
    assert_int_equal(lc_delta_oldest_snapshot(log), 3);
    expect_refused(storage, 2, 4, "delta.version_gone", "the first version that can is 4");
}

static void test_checkpoint_classic(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = cut_log();
    put_parquet(storage, V(3) ".checkpoint.parquet",
                "[" PROTOCOL_ROW "," METADATA_ROW "," ADD_ROW("a") "," ADD_ROW("b") "]");
    expect_from_checkpoint(storage);
}

static void test_checkpoint_in_parts(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = cut_log();
    put_parquet(storage, V(3) ".checkpoint.0000000001.0000000002.parquet", "[" ADD_ROW("a") "," METADATA_ROW "]");
    put_parquet(storage, V(3) ".checkpoint.0000000002.0000000002.parquet", "[" PROTOCOL_ROW "," ADD_ROW("b") "]");
    expect_from_checkpoint(storage);
    log_remove(storage, V(3) ".checkpoint.0000000001.0000000002.parquet"); /* half of one is none */
    expect_refused(storage, 3, 4, "delta.no_state", "no checkpoint");
}

static void test_checkpoint_json(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = cut_log();
    log_put(storage, V(3) ".checkpoint." UUID ".json",
            "{\"checkpointMetadata\":{\"version\":3}}\n" LOG_PROTOCOL LOG_METADATA_OF("from-checkpoint", "")
                LOG_ADD("a") LOG_ADD("b") "{\"remove\":{\"path\":\"c\"}}\n"); /* a tombstone */
    expect_from_checkpoint(storage);
}

static void test_checkpoint_sidecars(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = cut_log();
    log_put(storage, V(3) ".checkpoint." UUID ".json",
            LOG_PROTOCOL LOG_METADATA_OF("from-checkpoint", "") "{\"sidecar\":{\"path\":\"one.parquet\"}}\n"
                                                                "{\"sidecar\":{\"path\":\"_sidecars/two.parquet\"}}\n");
    put_parquet(storage, "_sidecars/one.parquet", "[" ADD_ROW("b") "]");
    put_parquet(storage, "_sidecars/two.parquet", "[" ADD_ROW("a") "]");
    expect_from_checkpoint(storage);
    log_remove(storage, V(3) ".checkpoint." UUID ".json");
    put_parquet(storage, V(3) ".checkpoint." UUID ".parquet",
                "[" PROTOCOL_ROW "," METADATA_ROW "," SIDECAR_ROW("one.parquet") "," SIDECAR_ROW("two.parquet") "]");
    expect_from_checkpoint(storage);
    log_remove(storage, "_sidecars/two.parquet");
    LOG struct lc_delta_log *log = log_open(storage);
    SNAPSHOT struct lc_delta_snapshot snapshot = {0};
    /* not fewer files in silence */
    assert_int_equal(lc_delta_snapshot_read(log, 4, NULL, &snapshot, NULL), LCDC_NOT_FOUND);
}

static void test_damaged_checkpoint(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = cut_log();
    log_put(storage, V(3) ".checkpoint.parquet", "PAR1 not really");
    expect_refused(storage, 3, 4, "parquet.bad", V(3) ".checkpoint.parquet");
    log_remove(storage, V(3) ".checkpoint.parquet");
    log_put(storage, V(3) ".checkpoint." UUID ".json", "{\"protocol\":");
    expect_refused(storage, 3, 4, "json.bad", UUID);
}

static lcdc_status run(void *context, lcdc_error **err)
{
    LOG struct lc_delta_log *log = NULL;
    TIMELINE struct lc_delta_timeline timeline = {0};
    SNAPSHOT struct lc_delta_snapshot snapshot = {0};
    LC_TRY(lc_delta_log_open(context, "/t", &log, err));
    LC_TRY(lc_delta_timeline_read(log, NULL, 0, 5, &timeline, err));
    return lc_delta_snapshot_read(log, 5, NULL, &snapshot, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = changing_log();
    assert_true(lc_torture(run, storage));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_refused_states),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_in_commit_switch),
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_vectors_are_part_of_the_key),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_checkpoint_classic),
        cmocka_unit_test(test_checkpoint_in_parts),
        cmocka_unit_test(test_checkpoint_json),
        cmocka_unit_test(test_checkpoint_sidecars),
        cmocka_unit_test(test_damaged_checkpoint),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
