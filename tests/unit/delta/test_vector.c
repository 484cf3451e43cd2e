/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vector.c - deletion vectors: where they lie, what they hold, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "delta/vector.h"
#include "support/memory_storage.h"
#include "support/torture.h"

/* Positions 1 and 3: magic, one 32-bit bitmap of key 0, in it one array container. */
static const uint8_t payload[36] = {0xD1, 0xD3, 0x39, 0x64, 1, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0x3A, 0x30,
                                    0,    0,    1,    0,    0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 3,    0};
enum { SIZE = sizeof(payload), AT = 5, FRAMED = AT + 4 + SIZE + 4 };
static const char path[] = "/t/deletion_vector.bin";

/* A file of version 1 with the vector at offset 5. */
static void frame(uint8_t bytes[FRAMED])
{
    uint32_t sum = (uint32_t)crc32(0, payload, SIZE);
    memset(bytes, 0, FRAMED);
    bytes[0] = 1;
    bytes[AT + 3] = SIZE;
    memcpy(bytes + AT + 4, payload, SIZE);
    for (int i = 0; i < 4; i++)
        bytes[AT + 4 + SIZE + i] = (uint8_t)(sum >> (24 - 8 * i));
}

static struct lc_storage *storage_with(const uint8_t bytes[FRAMED], size_t n)
{
    struct lc_storage *storage = NULL;
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add(storage, path, bytes, n, NULL), LCDC_OK);
    return storage;
}

static const struct lc_delta_vector in_file = {'u', {"ab", 2}, AT, SIZE, 2};

static void expect_positions(const struct lc_bitmap *bitmap)
{
    uint64_t last = 0;
    assert_non_null(bitmap);
    assert_int_equal(lc_bitmap_count(bitmap), 2);
    assert_true(lc_bitmap_contains(bitmap, 1) && lc_bitmap_contains(bitmap, 3));
    assert_true(lc_bitmap_max(bitmap, &last) && last == 3);
}

static void test_file(void **state)
{
    (void)state;
    uint8_t bytes[FRAMED];
    LC_BITMAP struct lc_bitmap *found = NULL;
    frame(bytes);
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = storage_with(bytes, FRAMED);
    assert_int_equal(lc_delta_vector_read(&in_file, path, storage, &found, NULL), LCDC_OK);
    expect_positions(found);
}

static void test_no_vector(void **state)
{
    (void)state;
    struct lc_delta_vector none = {0};
    struct lc_bitmap *found = (struct lc_bitmap *)state;
    assert_int_equal(lc_delta_vector_read(&none, NULL, NULL, &found, NULL), LCDC_OK);
    assert_null(found);
}

static void test_every_damaged_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < FRAMED; i++) {
        uint8_t bytes[FRAMED];
        struct lc_bitmap *found = NULL;
        LC_ERROR lcdc_error *err = NULL;
        if (i > 0 && i < AT)
            continue; /* not of this vector */
        frame(bytes);
        bytes[i] ^= 0x10;
        LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = storage_with(bytes, FRAMED);
        if (lc_delta_vector_read(&in_file, path, storage, &found, &err) == LCDC_OK)
            fail_msg("byte %zu", i);
        assert_string_equal(lcdc_error_reason(err), "bitmap.bad");
        assert_non_null(strstr(lcdc_error_message(err), path));
    }
}

static void test_every_short_file(void **state)
{
    (void)state;
    for (size_t n = 0; n < FRAMED; n++) {
        uint8_t bytes[FRAMED];
        struct lc_bitmap *found = NULL;
        frame(bytes);
        LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = storage_with(bytes, n);
        assert_int_not_equal(lc_delta_vector_read(&in_file, path, storage, &found, NULL), LCDC_OK);
    }
}

static void expect_refused(struct lc_delta_vector vector, const char *url, const char *reason)
{
    uint8_t bytes[FRAMED];
    struct lc_bitmap *found = NULL;
    LC_ERROR lcdc_error *err = NULL;
    frame(bytes);
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = storage_with(bytes, FRAMED);
    assert_int_not_equal(lc_delta_vector_read(&vector, url, storage, &found, &err), LCDC_OK);
    assert_string_equal(lcdc_error_reason(err), reason);
}

static void test_descriptor(void **state)
{
    (void)state;
    struct lc_delta_vector vector = in_file;
    vector.cardinality = 3;
    expect_refused(vector, path, "bitmap.bad");
    vector = in_file;
    vector.size = SIZE - 1;
    expect_refused(vector, path, "bitmap.bad");
    vector.size = INT64_MAX;
    expect_refused(vector, path, "limit");
    vector = in_file;
    vector.offset = INT64_MAX - 10;
    expect_refused(vector, path, "io.failed");
    expect_refused(in_file, "/t/other.bin", "io.file_missing");
}

/* Z85, four bytes as five characters. */
static void encode(const uint8_t *bytes, size_t n, char *out)
{
    static const char
        digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    for (size_t i = 0; i < n; i += 4) {
        uint32_t value = (uint32_t)bytes[i] << 24 | (uint32_t)bytes[i + 1] << 16 | (uint32_t)bytes[i + 2] << 8 |
                         bytes[i + 3];
        for (int k = 4; k >= 0; k--, value /= 85)
            out[i / 4 * 5 + (size_t)k] = digits[value % 85];
    }
    out[n / 4 * 5] = 0;
}

static void test_inline(void **state)
{
    (void)state;
    char text[SIZE / 4 * 5 + 1];
    LC_BITMAP struct lc_bitmap *found = NULL;
    encode(payload, SIZE, text);
    struct lc_delta_vector vector = {'i', lc_str_of(text), 0, SIZE, 2};
    assert_int_equal(lc_delta_vector_read(&vector, NULL, NULL, &found, NULL), LCDC_OK);
    expect_positions(found);
    vector.size = SIZE + 1;
    expect_refused(vector, NULL, "bitmap.bad");
    vector.size = SIZE - 4;
    expect_refused(vector, NULL, "bitmap.bad");
    vector.size = SIZE;
    vector.cardinality = 1;
    expect_refused(vector, NULL, "bitmap.bad");
    vector.cardinality = 2;
    vector.path_or_inline.n--;
    expect_refused(vector, NULL, "bitmap.bad");
    text[3] = ' ';
    vector.path_or_inline.n++;
    expect_refused(vector, NULL, "bitmap.bad");
}

static void expect_url(char storage, const char *text, const char *expected)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_ERROR lcdc_error *err = NULL;
    struct lc_path_map map = {0};
    struct lc_delta_vector vector = {storage, lc_str_of(text), 0, 1, 1};
    const char *url = "?";
    lcdc_status status = lc_delta_vector_url(&vector, "/t", &map, &arena, &url, &err);
    if (!expected) {
        assert_int_equal(status, LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(err), "bitmap.bad");
        return;
    }
    assert_int_equal(status, LCDC_OK);
    assert_string_equal(url ? url : "none", expected);
}

static void test_urls(void **state)
{
    (void)state;
    static const uint8_t uuid[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                     0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    static const char file[] = "deletion_vector_01234567-89ab-cdef-0123-456789abcdef.bin";
    char name[21], prefixed[64], expected[128];
    encode(uuid, 16, name);
    snprintf(expected, sizeof(expected), "/t/%s", file);
    expect_url('u', name, expected);
    snprintf(prefixed, sizeof(prefixed), "ab%s", name);
    snprintf(expected, sizeof(expected), "/t/ab/%s", file);
    expect_url('u', prefixed, expected);
    snprintf(prefixed, sizeof(prefixed), "..%s", name); /* a folder outside the table */
    expect_url('u', prefixed, NULL);
    snprintf(prefixed, sizeof(prefixed), "a/b%s", name);
    expect_url('u', prefixed, NULL);
    expect_url('u', name + 1, NULL);
    expect_url('u', "", NULL);
    expect_url('p', "file:///x/a%20b.bin", "/x/a b.bin");
    expect_url('i', "xyz", "none");
    expect_url(0, "", "none");
}

static lcdc_status run(void *context, lcdc_error **err)
{
    LC_BITMAP struct lc_bitmap *found = NULL;
    return lc_delta_vector_read(&in_file, path, context, &found, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    uint8_t bytes[FRAMED];
    frame(bytes);
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = storage_with(bytes, FRAMED);
    assert_true(lc_torture(run, storage));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_no_vector),
        cmocka_unit_test(test_every_damaged_byte),
        cmocka_unit_test(test_every_short_file),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_inline),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
