/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cursor.c - cursors: what is printed reads back, what is damaged or of another table is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/cursor.h"

static struct lc_field fields[] = {{.name = "k", .physical = "k", .id = 1, .type = {.kind = LC_TYPE_INT32}},
                                   {.name = "v", .physical = "v", .id = 2, .type = {.kind = LC_TYPE_STRING}}};

static struct lc_field schema(void)
{
    return (struct lc_field){.name = "",
                             .physical = "",
                             .id = LC_NO_ID,
                             .type = {.kind = LC_TYPE_STRUCT},
                             .n_children = 2,
                             .children = fields};
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const ids[] = {"", "t", "a/b//c", "6f0c-11", "with blank\xC3\xA9", "/"};
    static const int64_t afters[] = {0, 1, -1, INT64_MAX, INT64_MIN, 5937117119577207079};
    struct lc_field columns = schema();
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct lc_read read = {.schema = &columns, .format = "delta", .table_id = ids[i]};
        struct lc_cursor cursor;
        LC_FREE char *text = lc_cursor_print(&read, afters[i]);
        assert_non_null(text);
        assert_int_equal(lc_cursor_parse(text, &cursor, NULL), LCDC_OK);
        assert_true(lc_str_is(cursor.format, "delta"));
        assert_true(lc_str_is(cursor.table_id, ids[i]));
        assert_int_equal(cursor.after, afters[i]);
        assert_int_equal(cursor.schema, lc_field_fingerprint(&columns));
        assert_int_equal(lc_cursor_check(&cursor, &read, NULL), LCDC_OK);
    }
}

static void test_form(void **state)
{
    (void)state;
    struct lc_field columns = schema();
    struct lc_read read = {.schema = &columns, .format = "iceberg", .table_id = "x"};
    LC_FREE char *text = lc_cursor_print(&read, 42);
    assert_memory_equal(text, "lakecdc1/iceberg/42/", 20);
    assert_int_equal(strlen(text), 20 + 16 + 2);
    assert_string_equal(text + 36, "/x");
}

static void test_damaged(void **state)
{
    (void)state;
    static const char *const damaged[] = {
        "",
        "lakecdc1",
        "lakecdc2/delta/1/0123456789abcdef/t",
        "lakecdc1/delta/1/0123456789abcdef",
        "lakecdc1/delta/1/0123456789abcde/t",
        "lakecdc1/delta/1/0123456789abcdef0/t",
        "lakecdc1/delta/1/0123456789ABCDEF/t",
        "lakecdc1/delta/1/0123456789abcdef-/t",
        "lakecdc1/delta/1/0123456789abcdef-0123456789abcde/t",
        "lakecdc1/delta/1/0123456789abcdef-0123456789abcdeg/t",
        "lakecdc1/delta/1/0123456789abcdef.0123456789abcdef/t",
        "lakecdc1/delta/1/-0123456789abcdef/t",
        "lakecdc1/delta/1/0123456789abcdeg/t",
        "lakecdc1/delta//0123456789abcdef/t",
        "lakecdc1/delta/1x/0123456789abcdef/t",
        "lakecdc1/delta/ 1/0123456789abcdef/t",
        "lakecdc1/delta/9223372036854775808/0123456789abcdef/t",
        "lakecdc1/delta/1.0/0123456789abcdef/t",
        " lakecdc1/delta/1/0123456789abcdef/t",
        "/delta/1/0123456789abcdef/t",
    };
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        struct lc_cursor cursor;
        LC_ERROR lcdc_error *err = NULL;
        assert_int_equal(lc_cursor_parse(damaged[i], &cursor, &err), LCDC_INVALID_ARGUMENT);
        assert_string_equal(lcdc_error_reason(err), "cursor.bad");
    }
}

static void test_another_table(void **state)
{
    (void)state;
    struct lc_field columns = schema();
    struct lc_read read = {.schema = &columns, .format = "delta", .table_id = "one"};
    struct lc_read other = {.schema = &columns, .format = "delta", .table_id = "one2"};
    struct lc_read iceberg = {.schema = &columns, .format = "iceberg", .table_id = "one"};
    LC_FREE char *text = lc_cursor_print(&read, 3);
    LC_ERROR lcdc_error *err = NULL;
    struct lc_cursor cursor;
    assert_int_equal(lc_cursor_parse(text, &cursor, NULL), LCDC_OK);
    assert_int_equal(lc_cursor_check(&cursor, &other, &err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_reason(err), "cursor.other_table");
    assert_non_null(strstr(lcdc_error_message(err), "'one2'"));
    assert_int_equal(lc_cursor_check(&cursor, &iceberg, &err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_reason(err), "cursor.other_table");
}

static const char *stamp;

static const char *stamp_of_read(const struct lc_read *read, int64_t commit)
{
    (void)read;
    return commit == 3 ? stamp : NULL;
}

static void test_another_history(void **state)
{
    (void)state;
    static const struct lc_read_ops ops = {.stamp = stamp_of_read};
    struct lc_field columns = schema();
    struct lc_read read = {.ops = &ops, .schema = &columns, .format = "delta", .table_id = "t"};
    struct lc_cursor cursor;
    LC_ERROR lcdc_error *err = NULL;
    stamp = "0123456789abcdef";
    LC_FREE char *text = lc_cursor_print(&read, 3), *other = lc_cursor_print(&read, 4);
    assert_non_null(strstr(text, "-0123456789abcdef/t"));
    assert_int_equal(strlen(text), strlen(other) + 17);
    assert_int_equal(lc_cursor_parse(text, &cursor, NULL), LCDC_OK);
    assert_int_equal(cursor.schema, lc_field_fingerprint(&columns));
    assert_int_equal(lc_cursor_check(&cursor, &read, NULL), LCDC_OK);
    stamp = NULL; /* the commit was cleaned up: nothing can be said */
    assert_int_equal(lc_cursor_check(&cursor, &read, NULL), LCDC_OK);
    stamp = "0123456789abcdee";
    assert_int_equal(lc_cursor_check(&cursor, &read, &err), LCDC_GONE);
    assert_string_equal(lcdc_error_reason(err), "cursor.other_history");
    assert_int_equal(lc_cursor_parse(other, &cursor, NULL), LCDC_OK); /* one without a stamp */
    assert_int_equal(lc_cursor_check(&cursor, &read, NULL), LCDC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_form),
        cmocka_unit_test(test_damaged),         cmocka_unit_test(test_another_table),
        cmocka_unit_test(test_another_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
