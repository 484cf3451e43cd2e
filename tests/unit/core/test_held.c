/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_held.c - rows that are held come back as they were, from memory and from the temporary file alike.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/held.h"
#include "support/arrays.h"
#include "support/torture.h"

LC_DEFINE_CLEANUP(struct lc_held *, lc_held_free)
#define HELD LC_CLEANUP(lc_held_freep)

static char *row_text(const struct ArrowArray *array, int64_t i)
{
    struct lc_buf text;
    lc_buf_init(&text, LC_BUF_MAX);
    lc_test_print_row(&text, array, lc_test_every_type(), i);
    return lc_buf_take(&text);
}

static void expect_row(struct lc_held *held, uint32_t number, const char *expected)
{
    LC_ARRAY struct ArrowArray row = {0};
    assert_int_equal(lc_held_gather(held, &number, 1, &row, NULL), LCDC_OK);
    assert_int_equal(lc_array_check(&row, lc_test_every_type(), NULL), LCDC_OK);
    LC_FREE char *text = row_text(&row, 0);
    assert_string_equal(text, expected);
}

/* Rows of every type, added a few at a time, are asked for backwards, in one piece and one by one. */
static void hold_and_ask(int64_t memory_limit)
{
    enum { BATCHES = 12, ROWS = 7 };
    uint64_t random = (uint64_t)memory_limit + 3;
    char *texts[BATCHES * ROWS];
    uint32_t numbers[BATCHES * ROWS + 1], n = 0;
    HELD struct lc_held *held = NULL;
    assert_int_equal(lc_held_new(lc_test_every_type(), memory_limit, &held, NULL), LCDC_OK);
    for (int b = 0; b < BATCHES; b++) {
        static const int64_t rows[ROWS] = {9, 0, 3, 3, 8, 1, 5};
        LC_ARRAY struct ArrowArray batch = {0};
        uint32_t first = 1000000;
        lc_test_array(&random, lc_test_every_type(), 10, b != 0, &batch);
        assert_int_equal(lc_held_add(held, &batch, rows, ROWS, &first, NULL), LCDC_OK);
        assert_int_equal(first, n);
        for (int r = 0; r < ROWS; r++)
            texts[n++] = row_text(&batch, rows[r]);
    }
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = n - 1 - i;
    numbers[n] = UINT32_MAX;
    LC_ARRAY struct ArrowArray all = {0};
    assert_int_equal(lc_held_gather(held, numbers, n + 1, &all, NULL), LCDC_OK);
    assert_int_equal(lc_array_check(&all, lc_test_every_type(), NULL), LCDC_OK);
    assert_true(lc_array_is_null(&all, n));
    for (uint32_t i = 0; i < n; i++) {
        LC_FREE char *text = row_text(&all, i);
        assert_string_equal(text, texts[n - 1 - i]);
        if (i % 10 == 0)
            expect_row(held, i, texts[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        lc_free(texts[i]);
}

static void test_in_memory(void **state)
{
    (void)state;
    hold_and_ask(INT64_MAX);
}

static void test_spilled(void **state)
{
    (void)state;
    hold_and_ask(0);
}

static void test_partly_spilled(void **state)
{
    (void)state;
    hold_and_ask(3000);
}

/* Hundreds of small pieces are merged; numbers stay. */
static void test_many_small_pieces(void **state)
{
    (void)state;
    enum { PIECES = 300 };
    uint64_t random = 1;
    char *texts[PIECES];
    HELD struct lc_held *held = NULL;
    assert_int_equal(lc_held_new(lc_test_every_type(), INT64_MAX, &held, NULL), LCDC_OK);
    for (uint32_t i = 0; i < PIECES; i++) {
        LC_ARRAY struct ArrowArray batch = {0};
        int64_t row = i % 3;
        uint32_t first;
        lc_test_array(&random, lc_test_every_type(), 3, true, &batch);
        assert_int_equal(lc_held_add(held, &batch, &row, 1, &first, NULL), LCDC_OK);
        assert_int_equal(first, i);
        texts[i] = row_text(&batch, row);
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        expect_row(held, i, texts[i]);
        lc_free(texts[i]);
    }
}

static void test_cleared(void **state)
{
    (void)state;
    uint64_t random = 1;
    HELD struct lc_held *held = NULL;
    assert_int_equal(lc_held_new(lc_test_every_type(), 0, &held, NULL), LCDC_OK);
    for (int round = 0; round < 3; round++) {
        LC_ARRAY struct ArrowArray batch = {0};
        int64_t rows[2] = {1, 0};
        uint32_t first = 7;
        lc_test_array(&random, lc_test_every_type(), 2, true, &batch);
        assert_int_equal(lc_held_add(held, &batch, rows, 2, &first, NULL), LCDC_OK);
        assert_int_equal(first, 0); /* numbers start anew */
        LC_FREE char *text = row_text(&batch, 1);
        expect_row(held, 0, text);
        lc_held_clear(held);
    }
}

static int count_files(const char *folder)
{
    int n = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));)
        n += entry->d_name[0] != '.';
    closedir(open);
    return n;
}

/* Rows go to TMPDIR and leave no file there; a folder that is not there is told by its name. */
static void test_temporary_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/lakecdc-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    hold_and_ask(0);
    assert_int_equal(count_files(folder), 0);
    assert_int_equal(remove(folder), 0);
    uint64_t random = 1;
    int64_t row = 0;
    uint32_t first;
    LC_ERROR lcdc_error *err = NULL;
    LC_ARRAY struct ArrowArray batch = {0};
    HELD struct lc_held *held = NULL;
    lc_test_array(&random, lc_test_every_type(), 1, true, &batch);
    assert_int_equal(lc_held_new(lc_test_every_type(), 0, &held, NULL), LCDC_OK);
    assert_int_equal(lc_held_add(held, &batch, &row, 1, &first, &err), LCDC_IO);
    assert_non_null(strstr(lcdc_error_message(err), folder));
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

static lcdc_status add_and_gather(void *context, lcdc_error **err)
{
    int64_t rows[3] = {2, 1, 0};
    uint32_t first, numbers[2] = {2, UINT32_MAX};
    HELD struct lc_held *held = NULL;
    LC_ARRAY struct ArrowArray out = {0};
    LC_TRY(lc_held_new(lc_test_every_type(), 0, &held, err));
    for (int i = 0; i < 2; i++)
        LC_TRY(lc_held_add(held, context, rows, 3, &first, err));
    return lc_held_gather(held, numbers, 2, &out, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    uint64_t random = 5;
    LC_ARRAY struct ArrowArray batch = {0};
    lc_test_array(&random, lc_test_every_type(), 3, true, &batch);
    assert_true(lc_torture(add_and_gather, &batch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_memory),       cmocka_unit_test(test_spilled),
        cmocka_unit_test(test_partly_spilled),  cmocka_unit_test(test_many_small_pieces),
        cmocka_unit_test(test_cleared),         cmocka_unit_test(test_temporary_folder),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
