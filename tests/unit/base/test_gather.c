/* SPDX-License-Identifier: Apache-2.0 */
/* test_gather.c - gathered rows are the rows that were asked for, of every type, however inputs and picks lie. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arrow.h"
#include "support/arrays.h"
#include "support/torture.h"

enum { MAX_FROM = 3, MAX_ROWS = 400 };

struct input {
    size_t n_from;
    struct ArrowArray arrays[MAX_FROM];
    const struct ArrowArray *from[MAX_FROM];
    int64_t n;
    int64_t rows[MAX_ROWS];
    uint32_t sources[MAX_ROWS];
};

static void input_done(struct input *input)
{
    for (size_t i = 0; i < input->n_from; i++)
        lc_array_release(&input->arrays[i]);
}
#define INPUT LC_CLEANUP(input_done)

static void make_input(struct input *input, uint64_t *random, size_t n_from, bool nulls)
{
    *input = (struct input){.n_from = n_from};
    for (size_t i = 0; i < n_from; i++) {
        lc_test_array(random, lc_test_every_type(), 1 + (int64_t)(lc_test_random(random) % 60), nulls,
                      &input->arrays[i]);
        input->from[i] = &input->arrays[i];
    }
}

/* Stretches of neighbours of up to `longest` rows; -1 now and then when `gaps`. */
static void make_rows(struct input *input, uint64_t *random, int64_t n, int64_t longest, bool gaps)
{
    uint32_t source = 0;
    int64_t row = 0, left = 0;
    input->n = n;
    for (int64_t k = 0; k < n; k++, row++, left--) {
        if (left <= 0 || (row >= 0 && row >= input->from[source]->length)) {
            source = (uint32_t)(lc_test_random(random) % input->n_from);
            row = (int64_t)(lc_test_random(random) % (uint64_t)input->from[source]->length);
            left = 1 + (int64_t)(lc_test_random(random) % (uint64_t)longest);
        }
        bool is_gap = gaps && lc_test_random(random) % 7 == 0;
        input->rows[k] = is_gap ? -1 : row;
        input->sources[k] = source;
    }
}

static void assert_row(const struct ArrowArray *got, int64_t k, const struct ArrowArray *from, int64_t row)
{
    LC_BUF struct lc_buf want, have;
    lc_buf_init(&want, LC_BUF_MAX);
    lc_buf_init(&have, LC_BUF_MAX);
    lc_test_print_row(&have, got, lc_test_every_type(), k);
    if (row < 0)
        lc_buf_text(&want, "null");
    else
        lc_test_print_row(&want, from, lc_test_every_type(), row);
    assert_string_equal(have.p, want.p);
}

static void assert_gathered(const struct input *input, const uint32_t *sources, const struct ArrowArray *got)
{
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(got->length, input->n);
    assert_int_equal(lc_array_check(got, lc_test_every_type(), &err), LCDC_OK);
    for (int64_t k = 0; k < input->n; k++)
        assert_row(got, k, input->from[sources ? sources[k] : 0], input->rows[k]);
}

static void check_pick(uint64_t seed, size_t n_from, int64_t longest, bool gaps, bool nulls)
{
    uint64_t random = seed;
    INPUT struct input input;
    LC_ARRAY struct ArrowArray got = {0};
    make_input(&input, &random, n_from, nulls);
    make_rows(&input, &random, (int64_t)(lc_test_random(&random) % MAX_ROWS), longest, gaps);
    const uint32_t *sources = n_from > 1 ? input.sources : NULL;
    assert_int_equal(
        lc_array_gather(lc_test_every_type(), n_from, input.from, sources, input.rows, input.n, &got, NULL), LCDC_OK);
    assert_gathered(&input, sources, &got);
}

static void any_rows_of_any_arrays(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 3, 9, 40};
    for (uint64_t seed = 0; seed < 64; seed++)
        check_pick(seed * 1000, 1 + seed % MAX_FROM, lengths[seed / 3 % 4], seed & 16, seed & 32);
}

static void a_range_of_one_array(void **state)
{
    (void)state;
    uint64_t random = 7;
    INPUT struct input input;
    make_input(&input, &random, 1, true);
    for (int64_t start = 0; start < input.from[0]->length; start++) {
        LC_ARRAY struct ArrowArray got = {0};
        input.n = input.from[0]->length - start;
        for (int64_t k = 0; k < input.n; k++)
            input.rows[k] = start + k;
        assert_int_equal(lc_array_gather(lc_test_every_type(), 1, input.from, NULL, input.rows, input.n, &got, NULL),
                         LCDC_OK);
        assert_gathered(&input, NULL, &got);
    }
}

static void no_rows_and_only_null_rows(void **state)
{
    (void)state;
    uint64_t random = 8;
    INPUT struct input input;
    make_input(&input, &random, 2, true);
    for (int64_t n = 0; n < 20; n += 19) {
        LC_ARRAY struct ArrowArray got = {0}, from_nothing = {0};
        input.n = n;
        for (int64_t k = 0; k < n; k++) {
            input.rows[k] = -1;
            input.sources[k] = UINT32_MAX; /* says nothing about a null row */
        }
        assert_int_equal(lc_array_gather(lc_test_every_type(), 2, input.from, input.sources, input.rows, n, &got, NULL),
                         LCDC_OK);
        assert_int_equal(lc_array_gather(lc_test_every_type(), 0, NULL, NULL, input.rows, n, &from_nothing, NULL),
                         LCDC_OK);
        memset(input.sources, 0, sizeof(input.sources));
        assert_gathered(&input, input.sources, &got);
        assert_gathered(&input, input.sources, &from_nothing);
    }
}

static void a_null_row_among_others_names_no_source(void **state)
{
    (void)state;
    uint64_t random = 9;
    INPUT struct input input;
    LC_ARRAY struct ArrowArray got = {0};
    make_input(&input, &random, 2, true);
    make_rows(&input, &random, 50, 20, true);
    uint32_t sources[MAX_ROWS];
    for (int64_t k = 0; k < input.n; k++)
        sources[k] = input.rows[k] < 0 ? UINT32_MAX : input.sources[k];
    assert_int_equal(lc_array_gather(lc_test_every_type(), 2, input.from, sources, input.rows, input.n, &got, NULL),
                     LCDC_OK);
    assert_gathered(&input, input.sources, &got);
}

/* -1 and 0 are neighbours as numbers, not as rows; nor are the ends of two arrays. */
static void runs_end_where_rows_or_sources_do(void **state)
{
    (void)state;
    static const int64_t rows[] = {-1, 0, 1, 2, 3, 4, 5, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    uint64_t random = 12;
    INPUT struct input input;
    LC_ARRAY struct ArrowArray got = {0};
    input.n_from = 0;
    do {
        input_done(&input);
        make_input(&input, &random, 2, false);
    } while (input.from[0]->length < 11 || input.from[1]->length < 11);
    input.n = sizeof(rows) / sizeof(rows[0]);
    memcpy(input.rows, rows, sizeof(rows));
    for (int64_t k = 14; k < input.n; k++)
        input.sources[k] = 1;
    assert_int_equal(
        lc_array_gather(lc_test_every_type(), 2, input.from, input.sources, input.rows, input.n, &got, NULL), LCDC_OK);
    assert_gathered(&input, input.sources, &got);
}

/* ---- what does not fit int32 offsets ---- */

static void keep(struct ArrowArray *array)
{
    array->release = NULL;
}

/* Text whose offsets claim a gigabyte that is not there: the sum must be refused before a byte is read. */
static lcdc_status gather_gigabytes(const int64_t *rows, const uint32_t *sources, int64_t n, enum lc_type_kind kind,
                                    lcdc_error **err)
{
    int32_t offsets[] = {0, 1 << 27, 2 << 27, 3 << 27, 4 << 27, 5 << 27, 6 << 27, 7 << 27, 8 << 27};
    const void *buffers[] = {NULL, offsets, NULL};
    const void *no_buffers[] = {NULL};
    struct ArrowArray none = {.length = 1 << 30, .null_count = 1 << 30, .release = keep};
    struct ArrowArray *below[] = {&none};
    struct ArrowArray text = {.length = 8,
                              .n_buffers = kind == LC_TYPE_STRING ? 3 : 2,
                              .buffers = buffers,
                              .n_children = kind == LC_TYPE_LIST,
                              .children = below,
                              .release = keep};
    struct ArrowArray *children[] = {&text};
    struct ArrowArray root = {
        .length = 8, .n_buffers = 1, .buffers = no_buffers, .n_children = 1, .children = children, .release = keep};
    struct lc_field element = {.name = "element", .type = {.kind = LC_TYPE_NULL}};
    struct lc_field column = {
        .name = "c", .type = {.kind = kind}, .n_children = kind == LC_TYPE_LIST, .children = &element};
    struct lc_field type = {.name = "", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 1, .children = &column};
    const struct ArrowArray *from[] = {&root, &root};
    LC_ARRAY struct ArrowArray out = {0};
    lcdc_status status = lc_array_gather(&type, 2, from, sources, rows, n, &out, err);
    if (status != LCDC_OK)
        assert_null(out.release);
    return status;
}

static void offsets_that_overflow_are_a_limit(void **state)
{
    (void)state;
    int64_t scattered[20], runs[16];
    uint32_t zeros[20] = {0}, halves[16];
    for (int i = 0; i < 20; i++)
        scattered[i] = i % 2 * 4;
    for (int i = 0; i < 16; i++) {
        runs[i] = i % 8;
        halves[i] = (uint32_t)i / 8;
    }
    for (int list = 0; list < 2; list++) {
        enum lc_type_kind kind = list ? LC_TYPE_LIST : LC_TYPE_STRING;
        LC_ERROR lcdc_error *err = NULL;
        assert_int_equal(gather_gigabytes(scattered, zeros, 20, kind, &err), LCDC_LIMIT);
        assert_string_equal(lcdc_error_reason(err), "limit");
        assert_int_equal(gather_gigabytes(runs, halves, 16, kind, &err), LCDC_LIMIT);
    }
    /* The most that fits, as lists of nothing. */
    assert_int_equal(gather_gigabytes(scattered, zeros, 15, LC_TYPE_LIST, NULL), LCDC_OK);
    assert_int_equal(gather_gigabytes(runs, halves, 15, LC_TYPE_LIST, NULL), LCDC_OK);
}

/* ---- filter ---- */

static void filter_keeps_what_the_mask_says(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 16; seed++) {
        uint64_t random = seed;
        INPUT struct input input;
        LC_ARRAY struct ArrowArray got = {0}, copy = {0};
        uint8_t mask[MAX_ROWS];
        make_input(&input, &random, 1, true);
        int64_t all = input.from[0]->length;
        for (int64_t i = 0; i < all; i++) {
            mask[i] = lc_test_random(&random) % 16 < seed;
            input.rows[i] = i;
        }
        assert_int_equal(lc_array_gather(lc_test_every_type(), 1, input.from, NULL, input.rows, all, &copy, NULL),
                         LCDC_OK);
        assert_int_equal(lc_array_filter(lc_test_every_type(), &copy, mask, &got, NULL), LCDC_OK);
        assert_null(copy.release);
        for (int64_t i = 0; i < all; i++)
            if (mask[i])
                input.rows[input.n++] = i;
        assert_gathered(&input, NULL, &got);
    }
}

static void a_full_mask_moves_the_array(void **state)
{
    (void)state;
    uint64_t random = 3;
    LC_ARRAY struct ArrowArray array = {0}, got = {0};
    uint8_t mask[10];
    memset(mask, 1, sizeof(mask));
    lc_test_array(&random, lc_test_every_type(), 10, true, &array);
    const void *buffer = array.children[5]->buffers[1];
    assert_int_equal(lc_array_filter(lc_test_every_type(), &array, mask, &got, NULL), LCDC_OK);
    assert_null(array.release);
    assert_ptr_equal(got.children[5]->buffers[1], buffer);
}

/* ---- memory ---- */

static void a_moved_child_outlives_its_parent(void **state)
{
    (void)state;
    uint64_t random = 4;
    INPUT struct input input;
    LC_ARRAY struct ArrowArray got = {0}, child = {0};
    const struct lc_field *point = lc_field_child(lc_test_every_type(), LC_STR("point"));
    make_input(&input, &random, 1, true);
    make_rows(&input, &random, 30, 3, false);
    assert_int_equal(lc_array_gather(lc_test_every_type(), 1, input.from, NULL, input.rows, input.n, &got, NULL),
                     LCDC_OK);
    size_t column = (size_t)(point - lc_test_every_type()->children);
    lc_array_move(got.children[column], &child);
    lc_array_release(&got);
    assert_int_equal(lc_array_check(&child, point, NULL), LCDC_OK);
}

static void *release_children(void *context)
{
    struct ArrowArray *children = context;
    for (int i = 0; i < 10; i++)
        lc_array_release(&children[i]);
    return NULL;
}

static void children_may_end_on_any_thread(void **state)
{
    (void)state;
    uint64_t random = 10;
    INPUT struct input input;
    make_input(&input, &random, 1, true);
    make_rows(&input, &random, 30, 3, false);
    for (int round = 0; round < 20; round++) {
        struct ArrowArray got = {0}, children[20];
        pthread_t threads[2];
        assert_int_equal(lc_array_gather(lc_test_every_type(), 1, input.from, NULL, input.rows, input.n, &got, NULL),
                         LCDC_OK);
        for (int i = 0; i < 20; i++)
            lc_array_move(got.children[i], &children[i]);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, release_children, children + i * 10), 0);
        lc_array_release(&got);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

static lcdc_status gather_once(void *context, lcdc_error **err)
{
    struct input *input = context;
    LC_ARRAY struct ArrowArray got = {0};
    lcdc_status status = lc_array_gather(lc_test_every_type(), input->n_from, input->from, input->sources, input->rows,
                                         input->n, &got, err);
    return status == LCDC_OK || !got.release ? status : LCDC_INTERNAL;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    uint64_t random = 5;
    INPUT struct input input;
    make_input(&input, &random, 2, true);
    make_rows(&input, &random, 60, 1, true);
    assert_true(lc_torture(gather_once, &input));
    make_rows(&input, &random, 60, 30, true);
    assert_true(lc_torture(gather_once, &input));
}

static lcdc_status filter_once(void *context, lcdc_error **err)
{
    uint8_t *mask = context;
    uint64_t random = 6;
    LC_ARRAY struct ArrowArray array = {0}, got = {0};
    lc_test_array(&random, lc_test_every_type(), 20, true, &array);
    lcdc_status status = lc_array_filter(lc_test_every_type(), &array, mask, &got, err);
    return array.release || (status != LCDC_OK && got.release) ? LCDC_INTERNAL : status;
}

static void a_failed_filter_consumes_its_input(void **state)
{
    (void)state;
    uint8_t mask[20] = {1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
    assert_true(lc_torture(filter_once, mask));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_rows_of_any_arrays),
        cmocka_unit_test(a_range_of_one_array),
        cmocka_unit_test(no_rows_and_only_null_rows),
        cmocka_unit_test(a_null_row_among_others_names_no_source),
        cmocka_unit_test(runs_end_where_rows_or_sources_do),
        cmocka_unit_test(offsets_that_overflow_are_a_limit),
        cmocka_unit_test(filter_keeps_what_the_mask_says),
        cmocka_unit_test(a_full_mask_moves_the_array),
        cmocka_unit_test(a_moved_child_outlives_its_parent),
        cmocka_unit_test(children_may_end_on_any_thread),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(a_failed_filter_consumes_its_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
