/* SPDX-License-Identifier: Apache-2.0 */
/* test_writer.c - the writer object: formats, schemas, order of calls, failures of the callback; CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "support/change_batch.h"
#include "support/torture.h"

static const char *const formats[] = {"table", "jsonl", "csv", "arrow", "parquet"};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

static void nothing_is_sent_before_there_is_something(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FORMATS; i++) {
        struct lc_change_batch_test t;
        lcdc_writer *writer LC_CLEANUP(change_writer_drop) = NULL;
        change_batch_of(&t, "[]", 0);
        assert_int_equal(lcdc_writer_new(formats[i], &t.schema, NULL, change_take, &t, &writer, NULL), LCDC_OK);
        assert_int_equal(lcdc_writer_batch(writer, &t.batch, NULL), LCDC_OK);
        assert_int_equal(t.calls, 0);
        assert_int_equal(lcdc_writer_finish(writer, NULL), LCDC_OK);
        assert_true((t.n == 0) == (strcmp(formats[i], "jsonl") == 0)); /* the others have a header */
        assert_int_equal(lcdc_writer_finish(writer, NULL), LCDC_INVALID_ARGUMENT);
        change_done(&t);
    }
    lcdc_writer_free(NULL);
}

static void binary_formats_begin_and_end_as_they_should(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 0);
    assert_int_equal(change_write("parquet", &t, NULL), LCDC_OK);
    assert_memory_equal(t.text, "PAR1", 4);
    assert_memory_equal(t.text + t.n - 4, "PAR1", 4);
    assert_int_equal(change_write("arrow", &t, NULL), LCDC_OK);
    assert_memory_equal(t.text, "\xFF\xFF\xFF\xFF", 4);
    assert_memory_equal(t.text + t.n - 8, "\xFF\xFF\xFF\xFF\0\0\0\0", 8);
    change_done(&t);
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    lcdc_writer *writer = NULL;
    lcdc_error *err LC_ERROR = NULL;
    change_batch(&t, 0);
    assert_int_equal(lcdc_writer_new("xml", &t.schema, NULL, change_take, &t, &writer, &err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_message(err), "format: found 'xml', expected table, jsonl, csv, arrow or parquet");
    assert_int_equal(lcdc_writer_new(NULL, &t.schema, NULL, change_take, &t, &writer, NULL), LCDC_INVALID_ARGUMENT);
    assert_int_equal(lcdc_writer_new("csv", NULL, NULL, change_take, &t, &writer, NULL), LCDC_INVALID_ARGUMENT);
    assert_int_equal(lcdc_writer_new("csv", &t.schema, NULL, NULL, &t, &writer, NULL), LCDC_INVALID_ARGUMENT);
    assert_int_equal(lcdc_writer_new("csv", t.schema.children[1], NULL, change_take, &t, &writer, &err),
                     LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_message(err),
                        "the schema is not that of change rows: expected op, before, after, snapshot and ts");
    assert_null(writer);
    assert_int_equal(lcdc_writer_batch(NULL, &t.batch, NULL), LCDC_INVALID_ARGUMENT);
    assert_int_equal(lcdc_writer_finish(NULL, NULL), LCDC_INVALID_ARGUMENT);
    change_done(&t);
}

static void a_failing_callback_ends_the_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FORMATS; i++) {
        struct lc_change_batch_test t;
        lcdc_error *err LC_ERROR = NULL;
        change_batch(&t, 0);
        t.fail_with = ENOSPC;
        assert_int_equal(change_write(formats[i], &t, &err), LCDC_IO);
        assert_non_null(strstr(lcdc_error_message(err), "No space left on device"));
        change_done(&t);
    }
}

static void csv(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 1);
    assert_int_equal(change_write("csv", &t, NULL), LCDC_OK);
    assert_string_equal(t.text, "op,snapshot,ts,before.id,before.name,after.id,after.name\r\n"
                                "insert,3,2024-02-29T12:00:00.000000Z,,,1,a\r\n"
                                "delete,3,2024-02-29T12:00:00.000000Z,2,,,\r\n"
                                "update,4,2024-03-01T00:00:00.000001Z,3,\"\",3,\"b,\"\"c\"\"\"\r\n"
                                "update_before,,,4,x,,\r\n"
                                "update_after,,,,,4,\xE4\xB8\x96\x1B[31m\r\n");
    change_done(&t);
}

static void csv_quotes(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"\\\"", "\"\"\"\""}, {"\\n", "\"\n\""},        {"\\r", "\"\r\""},
                                          {" ", " "},           {"a\\\"b", "\"a\"\"b\""}, {",", "\",\""}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lc_change_batch_test t;
        char json[256], want[128];
        snprintf(
            json, sizeof(json),
            "[{\"op\":\"insert\",\"before\":null,\"after\":{\"id\":1,\"name\":\"%s\"},\"snapshot\":3,\"ts\":null}]",
            rows[i][0]);
        change_batch_of(&t, json, 0);
        assert_int_equal(change_write("csv", &t, NULL), LCDC_OK);
        snprintf(want, sizeof(want), "\r\ninsert,3,,,,1,%s\r\n", rows[i][1]);
        assert_non_null(strstr(t.text, want));
        change_done(&t);
    }
}

static lcdc_status write_csv(void *context, lcdc_error **err)
{
    return change_write("csv", context, err);
}

static lcdc_status write_table(void *context, lcdc_error **err)
{
    return change_write("table", context, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 0);
    assert_true(lc_torture(write_csv, &t));
    t.options = (lcdc_writer_options){.color = true, .width = 40, .max_rows = 2};
    assert_true(lc_torture(write_table, &t));
    change_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_sent_before_there_is_something),
        cmocka_unit_test(binary_formats_begin_and_end_as_they_should),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(a_failing_callback_ends_the_write),
        cmocka_unit_test(csv),
        cmocka_unit_test(csv_quotes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
