/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log.c - what one listing of _delta_log tells: commits, whole checkpoints, times, gaps.
 */
#include "log_test.h"

#define V(n) "0000000000000000000" #n
#define UUID "80a083e8-7026-4e79-81be-64bd76c43a11"

static void test_names(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = log_storage();
    log_commit(storage, 1, "{}");
    log_commit(storage, 0, "{}");
    log_put(storage, V(2) ".json.tmp", "{}");
    log_put(storage, "1.json", "{}");
    log_put(storage, "0" V(3) ".json", "{}");
    log_put(storage,
            "-000000000000000000"
            "4.json",
            "{}");
    log_put(storage, "." V(5) ".json.crc", "{}");
    log_put(storage, V(6) ".crc", "{}");
    log_put(storage, V(7) "." UUID ".json", "{}"); /* staged by a catalog */
    log_put(storage, V(8) "." V(9) ".compacted.json", "{}");
    log_put(storage, "_last_checkpoint", "{\"version\":99}"); /* not trusted */
    LOG struct lc_delta_log *log = log_open(storage);
    assert_int_equal(log->n_commits, 2);
    assert_int_equal(log->n_checkpoints, 0);
    assert_int_equal(log->latest, 1);
    assert_false(log->has_staged);
    assert_int_equal(lc_delta_log_find(log, 1)->version, 1);
    assert_null(lc_delta_log_find(log, 2));
    log_put(storage, "_staged_commits/" V(2) "." UUID ".json", "{}");
    LOG struct lc_delta_log *staged = log_open(storage);
    assert_true(staged->has_staged);
    assert_int_equal(staged->latest, 1);
}

static void test_no_log(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = log_storage();
    struct lc_delta_log *log = NULL;
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_delta_log_open(storage, "/t", &log, &err), LCDC_NOT_FOUND);
    assert_string_equal(lcdc_error_reason(err), "table.missing");
    log_put(storage, "_last_checkpoint", "{}");
    assert_int_equal(lc_delta_log_open(storage, "/t", &log, &err), LCDC_NOT_FOUND);
    assert_string_equal(lcdc_error_reason(err), "table.missing");
    log_put(storage, V(3) ".checkpoint.parquet", "x");
    LOG struct lc_delta_log *alone = log_open(storage);
    assert_int_equal(alone->latest, 3);
    assert_int_equal(lc_delta_log_first_whole(alone), 4);
}

struct checkpoint_case {
    const char *names[5];
    int64_t version; /* of the newest checkpoint; -1 none */
    size_t n_parts;
    enum lc_delta_checkpoint_kind kind;
};

static const struct checkpoint_case checkpoints[] = {
    {{V(2) ".checkpoint.parquet"}, 2, 1, LC_DELTA_CHECKPOINT_PARQUET},
    {{V(2) ".checkpoint." UUID ".parquet"}, 2, 1, LC_DELTA_CHECKPOINT_PARQUET},
    {{V(2) ".checkpoint." UUID ".json"}, 2, 1, LC_DELTA_CHECKPOINT_JSON},
    {{V(2) ".checkpoint.0000000001.0000000001.parquet"}, 2, 1, LC_DELTA_CHECKPOINT_PARQUET},
    {{V(2) ".checkpoint.0000000002.0000000003.parquet", V(2) ".checkpoint.0000000003.0000000003.parquet",
      V(2) ".checkpoint.0000000001.0000000003.parquet"},
     2,
     3,
     LC_DELTA_CHECKPOINT_PARQUET},
    /* incomplete, each in its way */
    {{V(2) ".checkpoint.0000000001.0000000002.parquet"}, -1, 0, 0},
    {{V(2) ".checkpoint.0000000002.0000000002.parquet"}, -1, 0, 0},
    {{V(2) ".checkpoint.0000000001.0000000003.parquet", V(2) ".checkpoint.0000000003.0000000003.parquet"}, -1, 0, 0},
    {{V(2) ".checkpoint.0000000001.0000000002.parquet", V(2) ".checkpoint.0000000002.0000000003.parquet"}, -1, 0, 0},
    {{V(1) ".checkpoint.0000000001.0000000002.parquet", V(2) ".checkpoint.0000000002.0000000002.parquet"}, -1, 0, 0},
    {{V(2) ".checkpoint.0000000000.0000000000.parquet"}, -1, 0, 0},
    {{V(2) ".checkpoint.0000000003.0000000002.parquet"}, -1, 0, 0},
    /* an older whole one behind a newer incomplete one */
    {{V(1) ".checkpoint.parquet", V(2) ".checkpoint.0000000001.0000000002.parquet"}, 1, 1, LC_DELTA_CHECKPOINT_PARQUET},
    /* the remains of one split beside a whole one of another */
    {{V(2) ".checkpoint.0000000001.0000000003.parquet", V(2) ".checkpoint.0000000001.0000000002.parquet",
      V(2) ".checkpoint.0000000002.0000000002.parquet"},
     2,
     2,
     LC_DELTA_CHECKPOINT_PARQUET},
    /* names that are none */
    {{V(2) ".checkpoint.parquet.tmp"}, -1, 0, 0},
    {{V(2) ".checkpoint.abc.parquet"}, -1, 0, 0},
    {{V(2) ".checkpoint." UUID ".avro"}, -1, 0, 0},
    {{V(2) ".checkpoint." UUID}, -1, 0, 0},
    {{V(2) ".checkpoint.0000000001.parquet"}, -1, 0, 0},
};

static void test_checkpoints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(checkpoints) / sizeof(checkpoints[0]); i++) {
        const struct checkpoint_case *c = &checkpoints[i];
        STORAGE struct lc_storage *storage = log_storage();
        log_commit(storage, 5, "{}");
        for (size_t k = 0; k < 5 && c->names[k]; k++)
            log_put(storage, c->names[k], "x");
        LOG struct lc_delta_log *log = log_open(storage);
        const struct lc_delta_checkpoint *found = lc_delta_log_checkpoint(log, 4);
        if ((found ? found->version : -1) != c->version)
            fail_msg("case %zu", i);
        if (!found)
            continue;
        assert_int_equal(found->n_parts, c->n_parts);
        assert_int_equal(found->kind, c->kind);
        for (size_t p = 1; p < found->n_parts; p++)
            assert_true(strcmp(found->parts[p - 1], found->parts[p]) < 0); /* in order */
        assert_null(lc_delta_log_checkpoint(log, c->version - 1));
    }
}

static void test_gaps(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = log_storage();
    static const int64_t there[] = {2, 3, 5, 6, 7};
    for (size_t i = 0; i < 5; i++)
        log_commit(storage, there[i], "{\"commitInfo\":{}}\n");
    LOG struct lc_delta_log *log = log_open(storage);
    LC_ERROR lcdc_error *err = NULL;
    struct lc_str text;
    assert_int_equal(lc_delta_log_first_whole(log), 5);
    assert_int_equal(lc_delta_log_commit(log, 4, &text, &err), LCDC_CORRUPT);
    assert_string_equal(lcdc_error_reason(err), "delta.version_gap");
    assert_string_equal(lcdc_error_detail(err, "version"), "4");
    assert_int_equal(lc_delta_log_commit(log, 1, &text, &err), LCDC_GONE);
    assert_string_equal(lcdc_error_reason(err), "delta.version_gone");
    assert_int_equal(lc_delta_log_commit(log, 8, &text, &err), LCDC_NOT_FOUND);
    assert_string_equal(lcdc_error_reason(err), "delta.version_missing");
    assert_int_equal(lc_delta_log_commit(log, 7, &text, &err), LCDC_OK);
}

/* Texts come back the same in any order, whether kept or not. */
static void test_texts(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = log_storage();
    char text[40];
    for (int v = 0; v < 6; v++) {
        snprintf(text, sizeof(text), "{\"commitInfo\":{\"v\":%d}}", v);
        log_commit(storage, v, text);
    }
    log_commit(storage, 6, " \n\r\n");
    LOG struct lc_delta_log *log = log_open(storage);
    static const int order[] = {3, 1, 4, 1, 5, 0, 3, 2, 5, 4};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        struct lc_str found;
        snprintf(text, sizeof(text), "{\"commitInfo\":{\"v\":%d}}", order[i]);
        assert_int_equal(lc_delta_log_commit(log, order[i], &found, NULL), LCDC_OK);
        assert_true(lc_str_is(found, text));
    }
    struct lc_str found;
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_delta_log_commit(log, 6, &found, &err), LCDC_CORRUPT);
    assert_non_null(strstr(lcdc_error_message(err), "is empty"));
}

/* Files of a log that was copied may be of any age; times rise all the same. */
static void test_times_rise(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = log_storage();
    static const int64_t order[] = {3, 1, 0, 4, 2}; /* times 0, 1, 2, 3, 4 */
    static const int64_t times[] = {2, 3, 4, 5, 6};
    for (size_t i = 0; i < 5; i++)
        log_commit(storage, order[i], "{}");
    LOG struct lc_delta_log *log = log_open(storage);
    for (int64_t v = 0; v < 5; v++)
        assert_int_equal(lc_delta_log_find(log, v)->ts_ms, times[v]);
}

static lcdc_status run(void *context, lcdc_error **err)
{
    LOG struct lc_delta_log *log = NULL;
    struct lc_str text;
    LC_TRY(lc_delta_log_open(context, "/t", &log, err));
    return lc_delta_log_commit(log, 1, &text, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    STORAGE struct lc_storage *storage = log_storage();
    log_commit(storage, 1, "{}");
    log_put(storage, V(0) ".checkpoint.parquet", "x");
    assert_true(lc_torture(run, storage));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),           cmocka_unit_test(test_no_log),
        cmocka_unit_test(test_checkpoints),     cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_texts),           cmocka_unit_test(test_times_rise),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
