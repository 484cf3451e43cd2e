/* SPDX-License-Identifier: Apache-2.0 */
/* test_tip.c - what a look at a Delta table says: the same while nothing happens, something else after anything did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delta/log.h"
#include "support/memory_storage.h"

#define LOG "/t/_delta_log/0000000000000000000"

static struct lc_storage *with_commits(int n)
{
    struct lc_storage *storage = NULL;
    char path[64] = LOG "0.json";
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    for (int i = 0; i < n; i++) {
        path[strlen(LOG)] = (char)('0' + i);
        assert_int_equal(lc_memory_storage_add_text(storage, path, "{}\n", NULL), LCDC_OK);
    }
    return storage;
}

static void look(struct lc_storage *storage, const char *before, struct lc_buf *out)
{
    lcdc_error *err LC_ERROR = NULL;
    lc_buf_clear(out);
    if (lc_delta_log_tip(storage, "/t", before, out, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
}

static void it_stays_and_changes(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = with_commits(3);
    LC_BUF struct lc_buf first = {.max = 256}, next = {.max = 256}, last = {.max = 256};
    look(storage, NULL, &first);
    assert_memory_equal(first.p, "2/3/", 4);
    look(storage, first.p, &next);
    assert_string_equal(first.p, next.p);
    assert_int_equal(lc_memory_storage_add_text(storage, LOG "3.json", "{}\n", NULL), LCDC_OK);
    look(storage, first.p, &next);
    assert_memory_equal(next.p, "3/3/", 4);
    assert_true(lc_memory_storage_remove(storage, LOG "3.json")); /* rolled back */
    look(storage, next.p, &last);
    assert_string_equal(first.p, last.p);
    assert_int_equal(lc_memory_storage_add_text(storage, LOG "2.json", "{}\n", NULL), LCDC_OK); /* made anew */
    look(storage, first.p, &last);
    assert_memory_equal(last.p, "2/3/", 4);
    assert_string_not_equal(first.p, last.p);
}

/* With what an earlier look said, two files are looked at, however long the log is. */
static void a_second_look_lists_nothing(void **state)
{
    (void)state;
    struct lc_meter meter = {0};
    struct lc_storage *metered = NULL;
    LC_BUF struct lc_buf first = {.max = 256}, next = {.max = 256};
    assert_int_equal(lc_storage_meter(with_commits(9), &meter, &metered, NULL), LCDC_OK);
    look(metered, NULL, &first);
    assert_int_equal(meter.lists, 1);
    int64_t stats = meter.stats;
    look(metered, first.p, &next);
    assert_int_equal(meter.lists, 1);
    assert_int_equal(meter.stats - stats, 2);
    assert_int_equal(meter.reads, 0);
    lc_storage_free(metered);
}

static void texts_of_no_look_and_tables_that_are_gone(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "x", "-1/0/0", "9223372036854775807/1/1", "2", "2/99/1"};
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = with_commits(3);
    LC_BUF struct lc_buf first = {.max = 256}, next = {.max = 256};
    lcdc_error *err LC_ERROR = NULL;
    look(storage, NULL, &first);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        look(storage, texts[i], &next);
        assert_string_equal(first.p, next.p);
    }
    for (char c = '0'; c < '3'; c++) {
        char path[64] = LOG "0.json";
        path[strlen(LOG)] = c;
        assert_true(lc_memory_storage_remove(storage, path));
    }
    assert_int_equal(lc_delta_log_tip(storage, "/t", first.p, &next, &err), LCDC_NOT_FOUND);
    assert_string_equal(lcdc_error_reason(err), "table.missing");
}

static void storage_that_fails_is_an_error(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 2; n++) {
        struct lc_storage *storage = NULL;
        LC_BUF struct lc_buf out = {.max = 256};
        lcdc_error *err LC_ERROR = NULL;
        assert_int_equal(lc_storage_fault(with_commits(3), n, &storage, NULL), LCDC_OK);
        assert_int_equal(lc_delta_log_tip(storage, "/t", "2/3/3", &out, &err), LCDC_IO);
        assert_non_null(err);
        lc_storage_free(storage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stays_and_changes),
        cmocka_unit_test(a_second_look_lists_nothing),
        cmocka_unit_test(texts_of_no_look_and_tables_that_are_gone),
        cmocka_unit_test(storage_that_fails_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
