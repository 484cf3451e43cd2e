/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged Parquet files: never a crash, never another number of rows without an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/parquet.h"
#include "support/arrays.h"
#include "support/memory_storage.h"
#include "support/parquet_rows.h"

enum { ROWS = 60, N_INCLUDED = 4 };
/* A range makes the reader trust statistics and the page index: fewer rows may come, never more or others. */
enum mode { ALL_ROWS, SOME_ROWS, RANGE_OF_ROWS, N_MODES };
static const uint64_t included[N_INCLUDED] = {1, 24, 25, 58};

struct damaged {
    struct lc_buf bytes;
    struct lc_storage *storage;
    struct lc_bitmap *include;
    int refused, tried;
};

static void load(const char *name, struct damaged *out)
{
    char path[4096], chunk[4096];
    snprintf(path, sizeof(path), "%s/%s.parquet", LC_TEST_FILES, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    *out = (struct damaged){0};
    lc_buf_init(&out->bytes, LC_BUF_MAX);
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;)
        lc_buf_append(&out->bytes, chunk, n);
    fclose(file);
    assert_int_equal(lc_memory_storage(&out->storage, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_new(&out->include, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_many(out->include, N_INCLUDED, included, NULL), LCDC_OK);
}

static void unload(struct damaged *damaged)
{
    lc_buf_done(&damaged->bytes);
    lc_storage_free(damaged->storage);
    lc_bitmap_free(damaged->include);
}

static void assert_rows(const struct parquet_rows *rows, enum mode mode, int64_t n)
{
    if (mode == RANGE_OF_ROWS)
        assert_true((int64_t)rows->n <= n);
    else
        assert_int_equal(rows->n, mode == SOME_ROWS ? N_INCLUDED : n);
    for (size_t i = 0; i < rows->n; i++)
        if (mode == RANGE_OF_ROWS)
            assert_true(rows->positions[i] < n && (i == 0 || rows->positions[i] > rows->positions[i - 1]));
        else
            assert_int_equal(rows->positions[i], mode == SOME_ROWS ? included[i] : i);
}

/* Reads the file's own schema, or the one that it should have. */
static lcdc_status read_rows(struct damaged *damaged, const struct lc_field *schema, enum mode mode, lcdc_error **err)
{
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *file = NULL;
    PARQUET_ROWS struct parquet_rows rows = {0};
    LC_TRY(lc_parquet_open(damaged->storage, "/f.parquet", -1, &file, err));
    struct lc_parquet_request request = {.schema = schema, .batch_rows = 16, .keeps_dictionaries = damaged->tried % 2};
    if (!schema)
        LC_TRY(lc_parquet_schema(file, &request.schema, err));
    if (mode == SOME_ROWS)
        request.include = damaged->include;
    struct lc_value low = {.type = {.kind = LC_TYPE_INT64}, .i = 30};
    struct lc_range range = {.field = request.schema->children, .low = &low};
    if (mode == RANGE_OF_ROWS && request.schema->n_children && range.field->type.kind == LC_TYPE_INT64) {
        request.n_ranges = 1;
        request.ranges = &range;
    }
    LC_TRY(parquet_rows_read(file, &request, &rows, err));
    assert_rows(&rows, mode, lc_parquet_rows(file));
    return LCDC_OK;
}

static void try_bytes(struct damaged *damaged, size_t n, const struct lc_field *schema, enum mode mode)
{
    lcdc_error *err = NULL;
    assert_int_equal(lc_memory_storage_add(damaged->storage, "/f.parquet", damaged->bytes.p, n, NULL), LCDC_OK);
    lcdc_status status = read_rows(damaged, schema, mode, &err);
    damaged->tried++;
    if (status != LCDC_OK) {
        damaged->refused++;
        if (status != LCDC_CORRUPT && status != LCDC_UNSUPPORTED && status != LCDC_LIMIT && status != LCDC_IO)
            fail_msg("%s: %s", lcdc_error_reason(err), lcdc_error_message(err));
        assert_true(strncmp(lcdc_error_message(err), "/f.parquet: ", 12) == 0 || status == LCDC_IO);
    }
    lcdc_error_free(err);
}

static void flip(struct damaged *damaged, uint64_t *random, size_t from, size_t to, const struct lc_field *schema)
{
    size_t at = from + lc_test_random(random) % (to - from);
    uint64_t choice = lc_test_random(random);
    char kept = damaged->bytes.p[at];
    damaged->bytes.p[at] = (char)(choice & 8 ? kept ^ 1 << (choice & 7) : (int)(choice >> 8 & 0xFF));
    try_bytes(damaged, damaged->bytes.n, schema, (enum mode)(choice >> 16 & 0xFF) % N_MODES);
    damaged->bytes.p[at] = kept;
}

/* The columns of the undamaged file. */
static lcdc_status schema_of(struct damaged *damaged, struct lc_parquet **file, const struct lc_field **out)
{
    LC_TRY(lc_memory_storage_add(damaged->storage, "/whole.parquet", damaged->bytes.p, damaged->bytes.n, NULL));
    LC_TRY(lc_parquet_open(damaged->storage, "/whole.parquet", -1, file, NULL));
    return lc_parquet_schema(*file, out, NULL);
}

static void damage(const char *name, int rounds, int least_refused_in_ten)
{
    LC_CLEANUP(unload) struct damaged damaged;
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *whole = NULL;
    const struct lc_field *schema = NULL;
    uint64_t random = 1;
    load(name, &damaged);
    assert_int_equal(schema_of(&damaged, &whole, &schema), LCDC_OK);
    assert_int_equal(lc_memory_storage_add(damaged.storage, "/f.parquet", damaged.bytes.p, damaged.bytes.n, NULL),
                     LCDC_OK);
    for (int mode = 0; mode < N_MODES; mode++)
        assert_int_equal(read_rows(&damaged, schema, (enum mode)mode, NULL), LCDC_OK);
    uint32_t footer;
    memcpy(&footer, damaged.bytes.p + damaged.bytes.n - 8, sizeof(footer));
    size_t end = damaged.bytes.n - 8 - footer;
    for (int i = 0; i < rounds; i++) {
        flip(&damaged, &random, 4, end, schema);                              /* pages */
        flip(&damaged, &random, end, damaged.bytes.n, i % 2 ? schema : NULL); /* the footer */
    }
    damaged.tried = damaged.refused = 0;
    for (int i = 0; i < rounds; i++)
        flip(&damaged, &random, 4, end, schema);
    assert_true(damaged.refused * 10 >= damaged.tried * least_refused_in_ten);
    damaged.tried = damaged.refused = 0;
    for (int i = 0; i < rounds / 4; i++)
        try_bytes(&damaged, lc_test_random(&random) % damaged.bytes.n, NULL, (enum mode)(i % N_MODES));
    assert_int_equal(damaged.refused, damaged.tried);
}

static void files_with_checksums(void **state)
{
    (void)state;
    damage("damage_crc", 120, 6);
}

static void files_without_checksums(void **state)
{
    (void)state;
    damage("damage_plain", 120, 1);
}

static void files_of_the_second_page_version(void **state)
{
    (void)state;
    damage("damage_v2", 120, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_with_checksums),
        cmocka_unit_test(files_without_checksums),
        cmocka_unit_test(files_of_the_second_page_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
