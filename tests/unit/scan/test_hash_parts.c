/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hash_parts.c - hashes dealt into parts come back whole and in order, from memory and from the file alike; the
 * filter never misses what was added.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scan/hash_filter.h"
#include "scan/hash_parts.h"
#include "support/torture.h"

enum { SETS = 3, ROWS = 50000 };

static struct lc_hash hash_of(uint64_t n)
{
    uint64_t a = (n + 1) * 0x9E3779B97F4A7C15u, b = (n + 7) * 0xC2B2AE3D27D4EB4Fu;
    return (struct lc_hash){a ^ a >> 29, (b ^ b >> 31) * 0xD6E8FEB86659FD93u};
}

static lcdc_status write_set(struct lc_hash_parts *parts, size_t set, uint32_t rows, lcdc_error **err)
{
    LC_CLEANUP(lc_hash_writer_freep) struct lc_hash_writer *writer = NULL;
    struct lc_hash hashes[100];
    uint8_t skip[100];
    LC_TRY(lc_hash_writer_new(parts, LC_HASH_ADDED, set, &writer, err));
    for (uint32_t row = 0; row < rows; row += 100) {
        for (uint32_t i = 0; i < 100; i++) {
            hashes[i] = hash_of(set * ROWS + row + i);
            skip[i] = (row + i) % 10 == 0;
        }
        LC_TRY(lc_hash_writer_add(writer, 100, hashes, (uint32_t)set * ROWS + row, skip, err));
    }
    return lc_hash_writer_finish(writer, err);
}

static void expect_all(int64_t memory)
{
    LC_CLEANUP(lc_hash_parts_freep) struct lc_hash_parts *parts = NULL;
    static uint8_t seen[SETS * ROWS];
    memset(seen, 0, sizeof(seen));
    assert_int_equal(lc_hash_parts_new(SETS * ROWS, SETS, memory, &parts, NULL), LCDC_OK);
    assert_true(lc_hash_parts_count(parts) > 1);
    for (size_t set = SETS; set-- > 0;) /* written last to first, read first to last */
        assert_int_equal(write_set(parts, set, ROWS, NULL), LCDC_OK);
    for (size_t part = 0; part < lc_hash_parts_count(parts); part++) {
        LC_FREE struct lc_hash_entry *entries = NULL, *none = NULL;
        size_t n, n_none;
        assert_int_equal(lc_hash_parts_read(parts, LC_HASH_REMOVED, part, &none, &n_none, NULL), LCDC_OK);
        assert_int_equal(n_none, 0);
        assert_int_equal(lc_hash_parts_read(parts, LC_HASH_ADDED, part, &entries, &n, NULL), LCDC_OK);
        for (size_t i = 0; i < n; i++) {
            struct lc_hash hash = hash_of(entries[i].row);
            assert_true(i == 0 || entries[i].row > entries[i - 1].row);
            assert_true(entries[i].hash == hash.a && entries[i].check == (uint32_t)hash.b);
            seen[entries[i].row]++;
        }
    }
    for (size_t row = 0; row < SETS * ROWS; row++)
        assert_int_equal(seen[row], row % 10 != 0);
}

static void test_parts(void **state)
{
    (void)state;
    expect_all(1 << 30);
    expect_all(1 << 18); /* some in memory, some in the file */
    expect_all(0);
}

static lcdc_status write_and_read(void *context, lcdc_error **err)
{
    LC_CLEANUP(lc_hash_parts_freep) struct lc_hash_parts *parts = NULL;
    LC_FREE struct lc_hash_entry *entries = NULL;
    size_t n;
    LC_TRY(lc_hash_parts_new(1000, 1, *(int64_t *)context, &parts, err));
    LC_TRY(write_set(parts, 0, 1000, err));
    return lc_hash_parts_read(parts, LC_HASH_ADDED, 0, &entries, &n, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    int64_t memory = 1 << 20;
    assert_true(lc_torture(write_and_read, &memory));
    memory = 0;
    assert_true(lc_torture(write_and_read, &memory));
}

static void test_filter(void **state)
{
    (void)state;
    struct lc_hash_filter *filter = NULL;
    static struct lc_hash hashes[ROWS];
    static uint8_t missing[ROWS];
    assert_int_equal(lc_hash_filter_new(ROWS, &filter, NULL), LCDC_OK);
    for (uint64_t i = 0; i < ROWS; i++)
        hashes[i] = hash_of(i);
    assert_int_equal(lc_hash_filter_missing(filter, ROWS, hashes, missing), ROWS);
    lc_hash_filter_add(filter, ROWS, hashes);
    lc_hash_filter_add(filter, ROWS / 2, hashes); /* twice is once */
    assert_int_equal(lc_hash_filter_missing(filter, ROWS, hashes, missing), 0);
    assert_int_equal(lc_hash_filter_hit(filter, ROWS / 3, hashes, missing), 0);
    assert_int_equal(lc_hash_filter_hit(filter, ROWS / 3, hashes, missing), 0);
    assert_int_equal(lc_hash_filter_settle(filter, NULL), LCDC_OK);
    assert_int_equal(lc_hash_filter_unhit(filter, ROWS / 3, hashes, missing), 0);
    size_t n_unhit = lc_hash_filter_unhit(filter, ROWS, hashes, missing), n_missing = 0;
    for (size_t i = 0; i < ROWS; i++)
        n_missing += missing[i];
    assert_true(n_unhit == n_missing && n_unhit <= ROWS - ROWS / 3 && n_unhit >= ROWS - ROWS / 3 - 2);
    for (uint64_t i = 0; i < ROWS; i++)
        hashes[i] = hash_of(i + ROWS);
    assert_true(lc_hash_filter_hit(filter, ROWS, hashes, missing) >= ROWS - 2);
    assert_true(lc_hash_filter_missing(filter, ROWS, hashes, missing) >= ROWS - 2);
    /* rows that all fall into the last bucket go on at the front */
    for (uint64_t i = 0; i < 1000; i++)
        hashes[i] = (struct lc_hash){UINT64_MAX, i + 1};
    lc_hash_filter_free(filter);
    assert_int_equal(lc_hash_filter_new(1000, &filter, NULL), LCDC_OK);
    lc_hash_filter_add(filter, 1000, hashes);
    assert_int_equal(lc_hash_filter_missing(filter, 1000, hashes, missing), 0);
    assert_int_equal(lc_hash_filter_hit(filter, 500, hashes + 250, missing), 0);
    assert_int_equal(lc_hash_filter_settle(filter, NULL), LCDC_OK);
    assert_int_equal(lc_hash_filter_unhit(filter, 250, hashes, missing), 250);
    assert_int_equal(lc_hash_filter_unhit(filter, 500, hashes + 250, missing), 0);
    assert_int_equal(lc_hash_filter_unhit(filter, 250, hashes + 750, missing), 250);
    lc_hash_filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
