/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - the table for people: columns, cuts, colours, diffs, wide and harmful characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/change_batch.h"
#include "write/layout.h"

static const char *table(struct lc_change_batch_test *t, bool color, int width, int64_t max_rows)
{
    t->options = (lcdc_writer_options){.color = color, .width = width, .max_rows = max_rows};
    assert_int_equal(change_write("table", t, NULL), LCDC_OK);
    return t->text;
}

static void plain(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 2);
    assert_string_equal(table(&t, false, 0, 0),
                        "op               snapshot  ts                           id  name\n"
                        "+ insert                3  2024-02-29 12:00:00Z          1  a\n"
                        "- delete                3  2024-02-29 12:00:00Z          2  NULL\n"
                        "~ update                4  2024-03-01 00:00:00.000001Z   3  '' \xE2\x86\x92 b,\"c\"\n"
                        "~ update_before      NULL  NULL                          4  x\n"
                        "~ update_after       NULL  NULL                          4  \xE4\xB8\x96\xE2\x90\x9B[31m\n");
    change_done(&t);
}

static void in_colour(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 0);
    const char *text = table(&t, true, 0, 0);
    assert_non_null(strstr(text, "\x1B[32m+ insert\x1B[0m"));
    assert_non_null(strstr(text, "\x1B[32m1\x1B[0m"));
    assert_non_null(strstr(text, "\x1B[31m- delete\x1B[0m"));
    assert_non_null(strstr(text, "\x1B[2mNULL\x1B[0m"));
    assert_non_null(strstr(text, "\x1B[33m~ update\x1B[0m"));
    /* of the update only the cell that changed */
    assert_non_null(strstr(text, "  3  \x1B[31m''\x1B[0m\x1B[2m \xE2\x86\x92 \x1B[0m\x1B[32mb,\"c\"\x1B[0m\n"));
    assert_null(strstr(text, "\x1B[31m\n"));
    change_done(&t);
}

static const char *one_update(struct lc_change_batch_test *t, const char *old, const char *new, int width)
{
    char json[512];
    snprintf(
        json, sizeof(json),
        "[{\"op\":\"update\",\"before\":{\"id\":7,\"name\":\"%s\"},\"after\":{\"id\":7,\"name\":\"%s\"},\"snapshot\":4,"
        "\"ts\":null}]",
        old, new);
    change_batch_of(t, json, 0);
    return strchr(table(t, false, width, 0), '\n') + 1;
}

/* On a terminal the commit is a heading and the width belongs to the data. */
static void cut_to_the_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new;
        int width;
        const char *line;
    } rows[] = {
        {"short", "short", 30, "~ update   7  short\n"},
        {"aaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaa", 30, "~ update   7  aaaaaaaaaaaaaaa\xE2\x80\xA6\n"},
        {"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", 34,
         "~ update   7  aaaaaaa\xE2\x80\xA6 \xE2\x86\x92 bbbbbbbb\xE2\x80\xA6\n"},
        {"a", "bbbbbbbbbbbbbbbbbbbbbb", 34, "~ update   7  a \xE2\x86\x92 bbbbbbbbbbbbbbb\xE2\x80\xA6\n"},
        {"aaaaaaaaaaaaaaaaaaaaaa", "b", 34, "~ update   7  aaaaaaaaaaaaaaa\xE2\x80\xA6 \xE2\x86\x92 b\n"},
        /* two columns a character */
        {"\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96",
         "\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96", 22,
         "~ update   7  \xE4\xB8\x96\xE4\xB8\x96\xE4\xB8\x96\xE2\x80\xA6\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lc_change_batch_test t;
        const char *line = one_update(&t, rows[i].old, rows[i].new, rows[i].width);
        assert_memory_equal(line, "snapshot 4  NULL\n", 17);
        assert_string_equal(line + 17, rows[i].line);
        change_done(&t);
    }
}

static void a_commit_is_one_heading(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 0);
    assert_string_equal(table(&t, false, 50, 0), "op               id  name\n"
                                                 "snapshot 3  2024-02-29 12:00:00Z\n"
                                                 "+ insert          1  a\n"
                                                 "- delete          2  NULL\n"
                                                 "snapshot 4  2024-03-01 00:00:00.000001Z\n"
                                                 "~ update          3  '' \xE2\x86\x92 b,\"c\"\n"
                                                 "several commits\n"
                                                 "~ update_before   4  x\n"
                                                 "~ update_after    4  \xE4\xB8\x96\xE2\x90\x9B[31m\n");
    change_done(&t);
}

/* What did not fit is named; the first column and those that changed come before the others. */
static void columns_that_changed_come_first(void **state)
{
    (void)state;
    enum { N = 12 };
    struct lc_column_layout columns[N] = {0};
    for (int c = 0; c < N; c++)
        columns[c].width = 10;
    columns[0].is_fixed = true;
    columns[1].is_absent = true;
    columns[9].matters = true;
    assert_int_equal(lc_layout_fit(columns, N, 50), 7);
    for (int c = 0; c < N; c++)
        assert_int_equal(columns[c].is_shown, c == 0 || c == 2 || c == 3 || c == 9);
    assert_int_equal(columns[0].width, 10);
    assert_int_equal(columns[9].width, 10);
    assert_int_equal(lc_layout_fit(columns, N, 0), 0);
}

static void wide_characters_stay_aligned(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch_of(&t,
                    "[{\"op\":\"insert\",\"before\":null,\"after\":{\"id\":1,\"name\":\"\xE4\xB8\x96\xE7\x95\x8C\"},"
                    "\"snapshot\":1,\"ts\":null},"
                    "{\"op\":\"insert\",\"before\":null,\"after\":{\"id\":22,\"name\":\"e\xCC\x81\"},\"snapshot\":1,"
                    "\"ts\":null}]",
                    0);
    assert_string_equal(table(&t, false, 0, 0), "op        snapshot  ts    id  name\n"
                                                "+ insert         1  NULL   1  \xE4\xB8\x96\xE7\x95\x8C\n"
                                                "+ insert         1  NULL  22  e\xCC\x81\n");
    change_done(&t);
}

/* Escape sequences, carriage returns, C1 controls, overrides of direction: shown, not sent. */
static void nothing_harmful_reaches_the_terminal(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    const char *line = one_update(&t, "\\u001b]0;title\\u0007\\r\\n\\t\\u007f\\u009b31m\\u202e\\u2028", "", 0);
    assert_non_null(strstr(line, "\xE2\x90\x9B]0;title\xE2\x90\x87\xE2\x90\x8D\xE2\x90\x8A\xE2\x90\x89\xE2\x90\xA1"
                                 "\xEF\xBF\xBD"
                                 "31m\xEF\xBF\xBD\xEF\xBF\xBD \xE2\x86\x92 ''\n"));
    for (const char *p = line; *p; p++)
        assert_true((unsigned char)*p >= 0x20 || (*p == '\n' && p[1] == 0));
    change_done(&t);
}

static void widths_are_fixed_after_the_first_rows(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 0);
    const char *text = table(&t, false, 0, 2);
    assert_non_null(strstr(text, "op        snapshot  ts"));
    assert_non_null(strstr(text, "\n~ update_before      NULL  NULL"));
    change_done(&t);
}

/* As many columns as fit are shown, in order, and no line is wider than the terminal. */
static void a_narrow_terminal_gets_fewer_columns(void **state)
{
    (void)state;
    for (int width = 1; width < 80; width++) {
        struct lc_change_batch_test t;
        change_batch(&t, 0);
        for (const char *line = table(&t, false, width, 0); *line; line = strchr(line, '\n') + 1) {
            int columns = 0;
            for (const char *p = line; *p != '\n'; p++)
                columns += ((unsigned char)*p & 0xC0) != 0x80;
            assert_true(columns <= width);
        }
        change_done(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(in_colour),
        cmocka_unit_test(cut_to_the_terminal),
        cmocka_unit_test(a_commit_is_one_heading),
        cmocka_unit_test(columns_that_changed_come_first),
        cmocka_unit_test(wide_characters_stay_aligned),
        cmocka_unit_test(nothing_harmful_reaches_the_terminal),
        cmocka_unit_test(widths_are_fixed_after_the_first_rows),
        cmocka_unit_test(a_narrow_terminal_gets_fewer_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
