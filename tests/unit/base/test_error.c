/* SPDX-License-Identifier: Apache-2.0 */
/* test_error.c - one line, one reason, details; whatever tables put into it and however short memory is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/str.h"

static void a_failure_says_what_its_reason_says(void **state)
{
    (void)state;
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_fail(&err, LC_R_DELTA_VERSION_GONE, "version %d is gone", 7), LCDC_GONE);
    assert_int_equal(lcdc_error_status(err), LCDC_GONE);
    assert_string_equal(lcdc_error_reason(err), "delta.version_gone");
    assert_string_equal(lcdc_error_message(err), "version 7 is gone");
    assert_false(lcdc_error_retriable(err));
    assert_int_equal(lc_fail(&err, LC_R_HTTP, "no answer"), LCDC_UNAVAILABLE); /* replaces the first */
    assert_string_equal(lcdc_error_message(err), "no answer");
    assert_true(lcdc_error_retriable(err));
    assert_int_equal(lc_fail(NULL, LC_R_HTTP, "nobody asks"), LCDC_UNAVAILABLE);
}

static void no_error_is_an_empty_one(void **state)
{
    (void)state;
    assert_int_equal(lcdc_error_status(NULL), LCDC_OK);
    assert_string_equal(lcdc_error_reason(NULL), "");
    assert_string_equal(lcdc_error_message(NULL), "");
    assert_false(lcdc_error_retriable(NULL));
    assert_int_equal(lcdc_error_detail_count(NULL), 0);
    assert_null(lcdc_error_detail_key(NULL, 0));
    assert_null(lcdc_error_detail_value(NULL, 0));
    assert_null(lcdc_error_detail(NULL, "k"));
    assert_null(lc_error_dup(NULL));
    lcdc_error_free(NULL);
    lc_error_detail(NULL, "k", "v");
    lc_error_prefix(NULL, "p");
    lcdc_error *none = NULL;
    lc_error_detail(&none, "k", "v");
    lc_error_prefix(&none, "p");
    assert_null(none);
}

static void assert_message(const char *given, const char *wanted)
{
    LC_ERROR lcdc_error *err = NULL;
    (void)lc_fail(&err, LC_R_INTERNAL, "%s", given);
    assert_string_equal(lcdc_error_message(err), wanted);
}

static void a_message_is_one_line_of_utf8(void **state)
{
    (void)state;
    assert_message("two\nlines\tand\x1B[31m red.", "two lines and [31m red");
    assert_message("ends . ..", "ends");
    assert_message("...", "");
    assert_message("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
    assert_message("cut \xE2\x82", "cut ??");
    assert_message("\xFF\xC3_\x80", "??_?");
    assert_message("\x7F", "");
}

static void a_cut_argument_stays_utf8(void **state)
{
    (void)state;
    char text[300];
    for (size_t i = 0; i < sizeof(text); i += 3)
        memcpy(text + i, "\xE2\x82\xAC", 3);
    LC_ERROR lcdc_error *err = NULL;
    (void)lc_fail(&err, LC_R_INTERNAL, "%.*s", LC_STR_ARG(((struct lc_str){text, sizeof(text)})));
    assert_int_equal(strlen(lcdc_error_message(err)), 200);
    assert_true(lc_utf8_valid(lc_str_of(lcdc_error_message(err))));
}

static void a_long_message_is_cut_not_lost(void **state)
{
    (void)state;
    size_t n = 200000;
    LC_FREE char *text = lc_alloc(n + 1);
    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = 0;
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_fail(&err, LC_R_SPARK_ENGINE, "%s", text), LCDC_UNSUPPORTED);
    assert_int_equal(lcdc_error_status(err), LCDC_UNSUPPORTED);
    assert_int_equal(strlen(lcdc_error_message(err)), 1 << 16);
    lc_error_prefix(&err, "spark");
    assert_true(lc_str_starts(lc_str_of(lcdc_error_message(err)), "spark: xxx"));
}

static void details_are_kept_by_key(void **state)
{
    (void)state;
    LC_ERROR lcdc_error *err = NULL;
    (void)lc_fail(&err, LC_R_INTERNAL, "m");
    lc_error_detail(&err, "version", "%d", 1);
    lc_error_detail(&err, "path", "a.\nb.");
    lc_error_detail(&err, "version", "%d", 2);
    assert_int_equal(lcdc_error_detail_count(err), 2);
    assert_string_equal(lcdc_error_detail(err, "version"), "2");
    assert_string_equal(lcdc_error_detail(err, "path"), "a. b.");
    assert_string_equal(lcdc_error_detail_key(err, 0), "version");
    assert_string_equal(lcdc_error_detail_value(err, 1), "a. b.");
    assert_null(lcdc_error_detail_key(err, 2));
    assert_null(lcdc_error_detail(err, "none"));
    for (int i = 0; i < 50; i++) {
        char key[] = {'k', (char)('0' + i), 0};
        lc_error_detail(&err, key, "v");
    }
    assert_int_equal(lcdc_error_detail_count(err), 16);
    lc_error_detail(&err, "version", "3"); /* one that is there can still be replaced */
    assert_string_equal(lcdc_error_detail(err, "version"), "3");
}

static void prefixes_stand_before(void **state)
{
    (void)state;
    LC_ERROR lcdc_error *err = NULL;
    (void)lc_fail(&err, LC_R_INTERNAL, "odd");
    lc_error_prefix(&err, "version %d", 7);
    lc_error_prefix(&err, "table");
    assert_string_equal(lcdc_error_message(err), "table: version 7: odd");
    (void)lc_fail(&err, LC_R_LIMIT, "again %s", lcdc_error_message(err)); /* the old text may be an argument */
    assert_string_equal(lcdc_error_message(err), "again table: version 7: odd");
}

static void a_copy_is_whole(void **state)
{
    (void)state;
    LC_ERROR lcdc_error *err = NULL, *copy = NULL;
    (void)lc_fail(&err, LC_R_HTTP, "m");
    lc_error_detail(&err, "k", "v");
    copy = lc_error_dup(err);
    assert_ptr_not_equal(copy, err);
    assert_string_equal(lcdc_error_reason(copy), "http.failed");
    assert_string_equal(lcdc_error_message(copy), "m");
    assert_string_equal(lcdc_error_detail(copy, "k"), "v");
}

static void without_memory_there_is_still_an_error(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        LC_ERROR lcdc_error *err = NULL;
        (void)lc_fail(&err, LC_R_HTTP, "earlier");
        (void)lc_alloc_fail_after(n);
        lcdc_status status = lc_fail(&err, LC_R_HTTP, "later");
        (void)lc_alloc_fail_after(-1);
        assert_int_equal(status, LCDC_OUT_OF_MEMORY);
        assert_int_equal(lcdc_error_status(err), LCDC_OUT_OF_MEMORY);
        assert_string_equal(lcdc_error_reason(err), "out_of_memory");
        lc_error_detail(&err, "k", "v");
        lc_error_prefix(&err, "p");
        assert_string_equal(lcdc_error_message(err), "out of memory");
        assert_int_equal(lcdc_error_detail_count(err), 0);
        assert_ptr_equal(lc_error_dup(err), err);
    }
}

static void a_detail_or_prefix_without_memory_is_dropped(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        LC_ERROR lcdc_error *err = NULL;
        (void)lc_fail(&err, LC_R_HTTP, "m");
        (void)lc_alloc_fail_after(n);
        lc_error_detail(&err, "k", "v");
        (void)lc_alloc_fail_after(n);
        lc_error_prefix(&err, "p");
        (void)lc_alloc_fail_after(-1);
        assert_string_equal(lcdc_error_message(err), "m");
        assert_int_equal(lcdc_error_detail_count(err), 0);
    }
}

static void the_table_of_reasons_is_sound(void **state)
{
    (void)state;
    for (int i = 0; i < LC_R_COUNT; i++) {
        const char *token = lc_reason_token((enum lc_reason)i);
        assert_true(strlen(token) > 0);
        assert_int_equal(strspn(token, "abcdefghijklmnopqrstuvwxyz_."), strlen(token));
        assert_int_not_equal(lc_reason_status((enum lc_reason)i), LCDC_OK);
        assert_string_not_equal(lcdc_status_name(lc_reason_status((enum lc_reason)i)), "UNKNOWN");
        for (int j = 0; j < i; j++)
            assert_string_not_equal(token, lc_reason_token((enum lc_reason)j));
    }
    assert_null(lc_reason_token(LC_R_COUNT));
}

static void every_status_has_a_name_and_an_errno(void **state)
{
    (void)state;
    static const lcdc_status statuses[] = {
        LCDC_INVALID_ARGUMENT, LCDC_NOT_FOUND, LCDC_UNSUPPORTED, LCDC_GONE,      LCDC_CORRUPT,       LCDC_IO,
        LCDC_UNAVAILABLE,      LCDC_DENIED,    LCDC_LIMIT,       LCDC_CANCELLED, LCDC_OUT_OF_MEMORY, LCDC_MISMATCH,
        LCDC_INTERNAL};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        assert_true(lc_status_errno(statuses[i]) > 0);
        assert_string_not_equal(lcdc_status_name(statuses[i]), "UNKNOWN");
    }
    assert_int_equal(lc_status_errno(LCDC_OK), 0);
    assert_int_equal(lc_status_errno(LCDC_CANCELLED), ECANCELED);
    assert_int_equal(lc_status_errno(LCDC_OUT_OF_MEMORY), ENOMEM);
    assert_string_equal(lcdc_status_name(LCDC_GONE), "GONE");
    assert_string_equal(lcdc_status_name((lcdc_status)1), "UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_says_what_its_reason_says),
        cmocka_unit_test(no_error_is_an_empty_one),
        cmocka_unit_test(a_message_is_one_line_of_utf8),
        cmocka_unit_test(a_cut_argument_stays_utf8),
        cmocka_unit_test(a_long_message_is_cut_not_lost),
        cmocka_unit_test(details_are_kept_by_key),
        cmocka_unit_test(prefixes_stand_before),
        cmocka_unit_test(a_copy_is_whole),
        cmocka_unit_test(without_memory_there_is_still_an_error),
        cmocka_unit_test(a_detail_or_prefix_without_memory_is_dropped),
        cmocka_unit_test(the_table_of_reasons_is_sound),
        cmocka_unit_test(every_status_has_a_name_and_an_errno),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
