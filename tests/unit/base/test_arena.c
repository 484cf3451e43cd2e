/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_arena.c - what an arena gives is cleared, aligned, apart from everything else, and goes with the arena.
 *
 * Built twice: as debug builds have arenas, a block an object, and as release builds do (unit.base/arena_blocks).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

static void blocks_are_cleared_aligned_and_apart(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 8191, 8192, 8193, 32768, 100000, 7};
    enum { N = sizeof(sizes) / sizeof(sizes[0]), ROUNDS = 20 };
    LC_ARENA struct lc_arena arena = {0};
    unsigned char *blocks[N * ROUNDS];
    for (size_t i = 0; i < N * ROUNDS; i++) {
        size_t size = sizes[i % N];
        blocks[i] = lc_arena_alloc(&arena, size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t j = 0; j < size; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)i + 1, size);
    }
    for (size_t i = 0; i < N * ROUNDS; i++)
        for (size_t j = 0; j < sizes[i % N]; j++)
            if (blocks[i][j] != (unsigned char)(i + 1))
                fail_msg("block %zu was written over", i);
}

static void bytes_are_counted(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    assert_non_null(lc_arena_alloc(&arena, 1));
    assert_non_null(lc_arena_alloc(&arena, 17));
    assert_int_equal(arena.bytes, 16 + 32);
    lc_arena_done(&arena);
    assert_int_equal(arena.bytes, 0);
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    assert_null(lc_arena_alloc(&arena, SIZE_MAX));
    assert_null(lc_arena_alloc(&arena, (size_t)PTRDIFF_MAX));
    assert_null(lc_arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(lc_arena_strndup(&arena, "", SIZE_MAX));
    assert_null(lc_calloc(SIZE_MAX / 2, 3));
    assert_null(lc_alloc(SIZE_MAX));
    assert_null(lc_realloc(NULL, SIZE_MAX / 2, 3));
    assert_null(lc_strndup("", SIZE_MAX));
}

static void texts_are_copied(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_str copy;
    char text[] = "text";
    char *all = lc_arena_strdup(&arena, text), *part = lc_arena_strndup(&arena, text, 2);
    assert_true(lc_arena_str(&arena, (struct lc_str){text, 3}, &copy));
    memset(text, 'x', 4);
    assert_string_equal(all, "text");
    assert_string_equal(part, "te");
    assert_true(lc_str_is(copy, "tex"));
    assert_true(lc_arena_str(&arena, (struct lc_str){NULL, 0}, &copy));
    assert_int_equal(copy.n, 0);
    assert_non_null(copy.p);
}

static char order[8];

static void note(void *object)
{
    strncat(order, object, 1);
}

static void owned_things_end_in_reverse(void **state)
{
    (void)state;
    struct lc_arena arena = {0};
    char names[] = "abc";
    order[0] = 0;
    for (int i = 0; i < 3; i++)
        assert_true(lc_arena_own(&arena, &names[i], note));
    assert_string_equal(order, "");
    lc_arena_done(&arena);
    assert_string_equal(order, "cba");
    lc_arena_done(&arena); /* an empty one may end again */
    assert_string_equal(order, "cba");
}

static void short_memory_is_an_answer(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_str copy = LC_STR("before");
    char name[] = "o";
    order[0] = 0;
    (void)lc_alloc_fail_after(0);
    assert_null(lc_arena_alloc(&arena, 1));
    assert_null(lc_arena_strdup(&arena, "x"));
    assert_false(lc_arena_str(&arena, LC_STR("x"), &copy));
    assert_false(lc_arena_own(&arena, name, note)); /* and what it should have owned has ended */
    (void)lc_alloc_fail_after(-1);
    assert_string_equal(order, "o");
    assert_true(lc_str_is(copy, "before"));
    assert_non_null(lc_arena_alloc(&arena, 1));
}

static void allocations_are_counted_and_failed_from_one_on(void **state)
{
    (void)state;
    (void)lc_alloc_fail_after(2);
    void *a = lc_alloc(1), *b = lc_calloc(1, 1), *c = lc_alloc(1), *d = lc_realloc(NULL, 1, 1);
    assert_int_equal(lc_alloc_fail_after(-1), 4);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(c);
    assert_null(d);
    lc_free(a);
    lc_free(b);
    void *zero = lc_alloc(0), *none = lc_calloc(0, 8);
    assert_non_null(zero);
    assert_non_null(none);
    void *moved = lc_steal(zero);
    assert_null(zero);
    lc_free(moved);
    lc_free(none);
    LC_FREE char *text = lc_strdup("text");
    assert_string_equal(text, "text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_cleared_aligned_and_apart),
        cmocka_unit_test(bytes_are_counted),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(owned_things_end_in_reverse),
        cmocka_unit_test(short_memory_is_an_answer),
        cmocka_unit_test(allocations_are_counted_and_failed_from_one_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
