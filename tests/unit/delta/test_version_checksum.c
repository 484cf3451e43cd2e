/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_version_checksum.c - the state of a version out of its checksum file, where that is of the version's own commit.
 */
#include "delta/version_checksum.h"

#include "io/storage.h"
#include "log_test.h"

#define V(n) "0000000000000000000" #n
#define COMMIT(transaction) "{\"commitInfo\":{\"operation\":\"WRITE\",\"txnId\":\"" transaction "\"}}\n" LOG_ADD("a")
#define SUMS(transaction, id)                                                                                          \
    "{\"txnId\":\"" transaction "\",\"numFiles\":1,\"numMetadata\":1,\"numProtocol\":1,"                               \
    "\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2},\"metadata\":{\"id\":\"" id                          \
    "\",\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[]}\",\"partitionColumns\":[],"                 \
    "\"configuration\":{\"k\":\"v\"}}}"

static struct lc_storage *made_log(void)
{
    struct lc_storage *storage = log_storage();
    log_commit(storage, 0, LOG_PROTOCOL LOG_METADATA_OF("zero", ""));
    for (int v = 1; v < 10; v++)
        log_commit(storage, v, COMMIT("t"));
    return storage;
}

/* The id that is found from `least` to `version`, after a change of the log; "" for none. */
static void expect(struct lc_storage *storage, int64_t least, int64_t version, const char *id, int64_t at)
{
    LOG struct lc_delta_log *log = log_open(storage);
    LC_ARENA struct lc_arena arena = {0};
    LC_ERROR lcdc_error *err = NULL;
    struct lc_delta_state state = {0};
    bool found;
    assert_int_equal(lc_delta_version_checksum_read(log, least, version, &arena, &state, &found, &err), LCDC_OK);
    assert_int_equal(found, *id != 0);
    assert_true(!found || (lc_str_is(state.metadata.id, id) && state.version == at));
    assert_true(!found || lc_str_is(lc_delta_configuration(&state.metadata, "k"), "v"));
}

static void test_which_file(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = made_log();
    expect(storage, 0, 9, "", 0);
    log_put(storage, V(3) ".crc", SUMS("t", "three"));
    log_put(storage, V(5) ".crc", SUMS("t", "five"));
    log_put(storage, V(6) ".crcx", SUMS("t", "six"));
    log_put(storage, "." V(6) ".json.crc", SUMS("t", "six"));
    log_put(storage, V(6) ".checkpoint.parquet.crc", SUMS("t", "six"));
    log_put(storage, V(7) ".crc", SUMS("other", "seven"));
    expect(storage, 0, 9, "five", 5);
    expect(storage, 0, 4, "three", 3);
    expect(storage, 3, 4, "three", 3);
    expect(storage, 4, 4, "", 0);
    expect(storage, 6, 9, "", 0);
    expect(storage, 0, 2, "", 0);
    /* three are tried, no more */
    log_put(storage, V(8) ".crc", "{");
    log_put(storage, V(5) ".crc", SUMS("", "five"));
    expect(storage, 0, 9, "", 0);
    expect(storage, 0, 7, "three", 3);
}

static void test_only_whole_ones(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[]",
        "7",
        "{}",
        SUMS("t", "x") "x",
        "{\"txnId\":\"t\"}",
        "{\"txnId\":\"t\",\"numMetadata\":1,\"numProtocol\":1,\"protocol\":[],\"metadata\":[]}",
        "{\"txnId\":\"t\",\"numMetadata\":1,\"numProtocol\":1,\"protocol\":{\"minReaderVersion\":1},\"metadata\":{}}",
        "{\"txnId\":\"t\",\"numMetadata\":1,\"numProtocol\":1,\"protocol\":{\"minReaderVersion\":1},\"metadata\":"
        "{\"schemaString\":\"{}\"}}",
        "{\"txnId\":\"t\",\"numMetadata\":1,\"numProtocol\":1,\"protocol\":{\"minReaderVersion\":99},\"metadata\":"
        "{\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[]}\"}}"};
    (void)state;
    STORAGE struct lc_storage *storage = made_log();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        log_put(storage, V(5) ".crc", bad[i]);
        expect(storage, 0, 5, "", 0);
    }
    log_put(storage, V(5) ".crc", SUMS("t", "five"));
    expect(storage, 0, 5, "five", 5);
    log_remove(storage, V(5) ".json"); /* nothing ties it to the log any more */
    expect(storage, 0, 5, "", 0);
    expect(storage, 0, 9, "", 0);
}

/* Commits from the checksum's own on are read, and what they say stands above it. */
static void test_timeline(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = made_log();
    log_put(storage, V(5) ".crc", SUMS("t", "five"));
    log_put(storage, V(7) ".crc", SUMS("t", "wrong"));
    log_commit(storage, 2, "{\"metaData\":7}"); /* nobody looks */
    log_commit(storage, 7, COMMIT("t") LOG_METADATA_OF("seven", ""));
    LOG struct lc_delta_log *log = log_open(storage);
    LC_ERROR lcdc_error *err = NULL;
    for (int64_t first = 5; first < 9; first++) {
        LC_CLEANUP(lc_delta_timeline_done) struct lc_delta_timeline timeline = {0};
        if (lc_delta_timeline_read(log, NULL, first, 9, &timeline, &err) != LCDC_OK)
            fail_msg("%s", lcdc_error_message(err));
        for (int64_t v = first; v <= 9; v++)
            assert_true(lc_str_is(lc_delta_timeline_at(&timeline, v)->metadata.id, v < 7 ? "five" : "seven"));
    }
    LC_CLEANUP(lc_delta_timeline_done) struct lc_delta_timeline timeline = {0};
    assert_int_equal(lc_delta_timeline_read(log, NULL, 4, 9, &timeline, &err), LCDC_CORRUPT);
}

static lcdc_status read_it(void *context, lcdc_error **err)
{
    LOG struct lc_delta_log *log = NULL;
    LC_CLEANUP(lc_delta_timeline_done) struct lc_delta_timeline timeline = {0};
    LC_TRY(lc_delta_log_open(context, "/t", &log, err));
    return lc_delta_timeline_read(log, NULL, 6, 9, &timeline, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = made_log();
    log_put(storage, V(6) ".crc", SUMS("another", "six"));
    log_put(storage, V(5) ".crc", SUMS("t", "five"));
    assert_true(lc_torture(read_it, storage));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_file),
        cmocka_unit_test(test_only_whole_ones),
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
