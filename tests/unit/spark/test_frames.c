/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "spark/fault.h"
#include "spark/frames.h"
#include "spark/seen.h"

/* Three messages, one of them empty, cut into pieces of every size. */
static void messages_come_whole_however_they_are_cut(void **state)
{
    (void)state;
    static const char bytes[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2xy";
    const size_t n = sizeof(bytes) - 1;
    static const char *const expected[] = {"abc", "", "xy"};
    for (size_t piece = 1; piece <= n; piece++) {
        struct lc_frames frames;
        size_t count = 0;
        lc_frames_init(&frames);
        for (size_t at = 0; at < n; at += piece) {
            lc_buf_append(&frames.bytes, bytes + at, at + piece < n ? piece : n - at);
            for (bool found = true; found;) {
                struct lc_str message;
                assert_int_equal(lc_frames_next(&frames, &message, &found, NULL), LCDC_OK);
                if (found)
                    assert_true(lc_str_is(message, expected[count++]));
            }
        }
        assert_int_equal(count, 3);
        assert_false(lc_frames_is_cut(&frames));
        lc_frames_done(&frames);
    }
}

static void many_messages_do_not_pile_up(void **state)
{
    (void)state;
    struct lc_frames frames;
    struct lc_str message;
    bool found;
    lc_frames_init(&frames);
    for (int i = 0; i < 100000; i++) {
        lc_buf_append(&frames.bytes, "\0\0\0\0\5hello\0\0", 12); /* and a part of the next one */
        assert_int_equal(lc_frames_next(&frames, &message, &found, NULL), LCDC_OK);
        assert_true(found && lc_str_is(message, "hello"));
        lc_buf_append(&frames.bytes, "\0\0\1!", 4);
        assert_int_equal(lc_frames_next(&frames, &message, &found, NULL), LCDC_OK);
        assert_true(found && lc_str_is(message, "!"));
    }
    assert_true(frames.bytes.cap < 1 << 20);
    lc_frames_done(&frames);
}

static void bad_heads_are_refused(void **state)
{
    (void)state;
    static const char *const heads[] = {"\1\0\0\0\1", "\x80\0\0\0\0", "\0\xff\xff\xff\xff", "\0\x20\0\0\0"};
    for (size_t i = 0; i < 4; i++) {
        struct lc_frames frames;
        struct lc_str message;
        bool found;
        LC_ERROR lcdc_error *error = NULL;
        lc_frames_init(&frames);
        lc_buf_append(&frames.bytes, heads[i], 5);
        assert_int_equal(lc_frames_next(&frames, &message, &found, &error), LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(error), "spark.protocol");
        assert_true(lc_frames_is_cut(&frames));
        lc_frames_done(&frames);
    }
}

static void trailers_are_decoded(void **state)
{
    (void)state;
    LC_CLEANUP(lc_grpc_end_done) struct lc_grpc_end end = {0};
    assert_int_equal(lc_grpc_end_parse("13", "100%25 %C3%BCnsure%", "AAEC/w", &end, NULL), LCDC_OK);
    assert_int_equal(end.code, 13);
    assert_string_equal(end.message, "100% \xC3\xBCnsure%");
    assert_int_equal(end.details.n, 4);
    assert_memory_equal(end.details.p, "\0\1\2\xff", 4);
}

static void odd_trailers_are_survived(void **state)
{
    (void)state;
    static const struct {
        const char *status, *details;
        int code;
        size_t n;
    } cases[] = {
        {NULL, NULL, -1, 0},   {"", "", 2, 0},      {"x", "!!!!", 2, 0},   {"-1", "A", 2, 0},
        {"99999", "AA", 2, 1}, {"0", "AA==", 0, 1}, {"16", "_-8=", 16, 2}, {"7 ", "AAAA=AAA", 2, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_CLEANUP(lc_grpc_end_done) struct lc_grpc_end end = {0};
        assert_int_equal(lc_grpc_end_parse(cases[i].status, NULL, cases[i].details, &end, NULL), LCDC_OK);
        assert_int_equal(end.code, cases[i].code);
        assert_int_equal(end.details.n, cases[i].n);
        assert_string_equal(end.message, "");
    }
}

static void secrets_are_blotted_out_and_reasons_are_told_apart(void **state)
{
    (void)state;
    static const char *const secrets[] = {"hunter2", ""};
    static const struct {
        struct lc_spark_fault fault;
        const char *reason;
    } cases[] = {
        {{.code = 16, .text = "token hunter2 is bad"}, "spark.denied"},
        {{.code = 14, .text = "hunter2"}, "spark.connection"},
        {{.code = 4, .text = ""}, "spark.timeout"},
        {{.code = 13, .text = "bigger than spark.driver.maxResultSize (1 GiB)"}, "spark.result_too_large"},
        {{.code = 13, .text = "no", .error_class = "TABLE_OR_VIEW_NOT_FOUND"}, "spark.table_missing"},
        {{.code = 13, .text = "no", .sql_state = "42P01"}, "spark.table_missing"},
        {{.code = 13, .text = "hunter2hunter2 no"}, "spark.engine"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ERROR lcdc_error *error = NULL;
        assert_int_not_equal(lc_spark_fault_raise(&cases[i].fault, 2, secrets, &error), LCDC_OK);
        assert_string_equal(lcdc_error_reason(error), cases[i].reason);
        assert_null(strstr(lcdc_error_message(error), "hunter2"));
    }
}

static void rows_that_left_are_known_once_each(void **state)
{
    (void)state;
    struct lc_seen seen = {0};
    bool again;
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(lc_seen_pass(&seen, (struct lc_hash){i % 10, i % 3}, &again, NULL), LCDC_OK);
        assert_false(again);
    }
    assert_int_equal(lc_seen_rewind(&seen, NULL), LCDC_OK);
    for (uint64_t i = 999; i < 1000; i--) {
        assert_int_equal(lc_seen_pass(&seen, (struct lc_hash){i % 10, i % 3}, &again, NULL), LCDC_OK);
        assert_true(again);
    }
    assert_int_equal(lc_seen_pass(&seen, (struct lc_hash){5, 1}, &again, NULL), LCDC_OK);
    assert_false(again); /* once more than it had left */
    assert_int_equal(lc_seen_rewind(&seen, NULL), LCDC_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(lc_seen_pass(&seen, (struct lc_hash){77, 7}, &again, NULL), LCDC_OK);
    assert_false(again);
    lc_seen_clear(&seen);
    assert_int_equal(lc_seen_pass(&seen, (struct lc_hash){5, 1}, &again, NULL), LCDC_OK);
    assert_false(again);
    lc_seen_done(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_whole_however_they_are_cut),
        cmocka_unit_test(many_messages_do_not_pile_up),
        cmocka_unit_test(bad_heads_are_refused),
        cmocka_unit_test(trailers_are_decoded),
        cmocka_unit_test(odd_trailers_are_survived),
        cmocka_unit_test(secrets_are_blotted_out_and_reasons_are_told_apart),
        cmocka_unit_test(rows_that_left_are_known_once_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
