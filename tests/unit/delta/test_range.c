/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_range.c - bounds as versions: ids, times, ends, what is empty and what is refused.
 */
#include "log_test.h"

#include "delta/range.h"

struct range_case {
    const char *options; /* "key=value key=value" */
    int64_t from, to;
};

static lcdc_status resolve(struct lc_storage *storage, const char *options, struct lc_delta_range *out,
                           lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *request = NULL;
    LOG struct lc_delta_log *log = log_open(storage);
    char text[300];
    assert_int_equal(lcdc_request_new(&request, NULL), LCDC_OK);
    snprintf(text, sizeof(text), "%s", options);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value++ = 0;
        assert_int_equal(lcdc_request_set(request, word, value, NULL), LCDC_OK);
    }
    return lc_delta_range_resolve(log, request, out, err);
}

static void expect_ranges(struct lc_storage *storage, size_t n, const struct range_case *cases)
{
    for (size_t i = 0; i < n; i++) {
        struct lc_delta_range range = {-7, -7};
        LC_ERROR lcdc_error *err = NULL;
        if (resolve(storage, cases[i].options, &range, &err) != LCDC_OK)
            fail_msg("%s: %s", cases[i].options, lcdc_error_message(err));
        if (range.from != cases[i].from || range.to != cases[i].to)
            fail_msg("%s: %lld..%lld", cases[i].options, (long long)range.from, (long long)range.to);
    }
}
#define EXPECT(storage, cases) expect_ranges(storage, sizeof(cases) / sizeof((cases)[0]), cases)

static void expect_error(struct lc_storage *storage, const char *options, const char *reason)
{
    struct lc_delta_range range;
    LC_ERROR lcdc_error *err = NULL;
    if (resolve(storage, options, &range, &err) == LCDC_OK)
        fail_msg("%s is accepted", options);
    if (strcmp(lcdc_error_reason(err), reason) != 0)
        fail_msg("%s: %s", options, lcdc_error_message(err));
}

/* Versions 0 to 4, file times 0 to 4 milliseconds. */
static struct lc_storage *plain_log(void)
{
    struct lc_storage *storage = log_storage();
    log_commit(storage, 0, LOG_PROTOCOL LOG_METADATA);
    for (int64_t v = 1; v <= 4; v++)
        log_commit(storage, v, LOG_ADD("a"));
    return storage;
}

static void test_ids(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = plain_log();
    static const struct range_case cases[] = {
        {"", 0, 4},
        {"from=2", 2, 4},
        {"from=2 to=3", 2, 3},
        {"from=2 to=2", 2, 2},
        {"from=2 from_exclusive=true", 3, 4},
        {"from=2 to=3 to_exclusive=true", 2, 2},
        {"from=2 to=2 to_exclusive=true", 2, 1}, /* nothing */
        {"from=4 from_exclusive=true", 5, 4},    /* has seen everything */
        {"from=5", 5, 4},
        {"from=latest", 4, 4},
        {"from=latest from_exclusive=true", 5, 4},
        {"to=latest to_exclusive=true", 0, 3},
        {"from=2 bootstrap=true", 3, 4},
        {"bootstrap=true", 1, 4},
    };
    EXPECT(storage, cases);
    expect_error(storage, "from=3 to=2", "request.bad_range");
    expect_error(storage, "from=6", "delta.version_missing");
    expect_error(storage, "from=5 from_exclusive=true", "delta.version_missing");
    expect_error(storage, "to=5", "delta.version_missing");
    expect_error(storage, "from=nightly", "request.bad_range");
    expect_error(storage, "branch=dev", "request.conflict");
}

static void test_times_of_files(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = plain_log();
    static const struct range_case cases[] = {
        {"from=1970-01-01T00:00:00.002Z", 2, 4}, /* exactly at a commit: inside */
        {"from=1970-01-01T00:00:00.002Z from_exclusive=true", 3, 4},
        {"from=1970-01-01T00:00:00.0021Z", 3, 4},
        {"from=1969-12-31T23:59:59Z", 0, 4},
        {"from=1970-01-01T00:00:01Z", 5, 4}, /* later than all: nothing yet */
        {"to=1970-01-01T00:00:00.002Z", 0, 2},
        {"to=1970-01-01T00:00:00.002Z to_exclusive=true", 0, 1},
        {"to=1970-01-01T00:00:00.0029Z", 0, 2},
        {"to=1969-12-31T23:59:59Z", 0, -1},
        {"from=1970-01-01T00:00:00.001Z to=1970-01-01T00:00:00.003Z", 1, 3},
    };
    EXPECT(storage, cases);
}

/*
 * In-commit times from version 3 on, in a log that was copied later: files tell 10 seconds and more (made by adding
 * many), commits tell 1000 and 2000 milliseconds.
 */
static struct lc_storage *switched_log(void)
{
    struct lc_storage *storage = log_storage();
    for (int i = 0; i < 5000; i++)
        log_put(storage, "clock", "x");
    log_commit(storage, 0, LOG_PROTOCOL LOG_METADATA);
    log_commit(storage, 1, LOG_ADD("a"));
    log_commit(storage, 2, LOG_ADD("b"));
    log_commit(storage, 3,
               LOG_INFO(1000) LOG_METADATA_OF("t", "\"delta.enableInCommitTimestamps\":\"true\","
                                                   "\"delta.inCommitTimestampEnablementVersion\":\"3\","
                                                   "\"delta.inCommitTimestampEnablementTimestamp\":\"1000\""));
    log_commit(storage, 4, LOG_INFO(2000) LOG_ADD("c"));
    return storage;
}

static void test_in_commit_times_from_a_version_on(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = switched_log();
    static const struct range_case cases[] = {
        {"from=1970-01-01T00:00:01Z", 3, 4},
        {"from=1970-01-01T00:00:01.5Z", 4, 4},
        {"from=1970-01-01T00:00:02Z", 4, 4},
        {"from=1970-01-01T00:00:02.001Z", 5, 4},
        {"to=1970-01-01T00:00:01Z", 0, 3},
        {"to=1970-01-01T00:00:01.999Z", 0, 3},
        {"to=1970-01-01T00:00:09Z", 0, 4},
        {"from=1970-01-01T00:00:00.5Z", 0, 4}, /* before the switch, and before every file */
    };
    EXPECT(storage, cases);
}

static void test_a_cut_log(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = plain_log();
    log_remove(storage, "00000000000000000000.json");
    log_remove(storage, "00000000000000000001.json");
    log_put(storage, "00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
            LOG_PROTOCOL LOG_METADATA LOG_ADD("a"));
    static const struct range_case cases[] = {
        {"bootstrap=true", 3, 4}, /* from the checkpoint on */
        {"from=3", 3, 4},
        {"from=1970-01-01T00:00:00.003Z", 3, 4},
        {"from=1970-01-01T00:00:00.002Z", 2, 4},
        {"to=1970-01-01T00:00:00.003Z", 0, 3},
    };
    EXPECT(storage, cases);
    struct lc_delta_range range;
    LC_ERROR lcdc_error *err = NULL;
    /* a start before what is left would lose rows in silence */
    assert_int_equal(resolve(storage, "from=1970-01-01T00:00:00.001Z", &range, &err), LCDC_GONE);
    assert_string_equal(lcdc_error_reason(err), "delta.version_gone");
    assert_string_equal(lcdc_error_detail(err, "servable_from"), "2");
    log_remove(storage, "00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json");
    expect_error(storage, "bootstrap=true", "delta.no_state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_times_of_files),
        cmocka_unit_test(test_in_commit_times_from_a_version_on),
        cmocka_unit_test(test_a_cut_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
