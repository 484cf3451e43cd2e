/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snappy.c - Snappy pages: the decompression alone, and the scan of a column of them out of a file.
 *
 * The two side by side say how much of a scan is decompression, which no reader can leave out.
 */
#include <snappy-c.h>
#include <string.h>

#include "io/parquet.h"
#include "micro/micro.h"

/* A data page of a text column as Parquet has it: four bytes of length before each text. */
struct page {
    char *plain, *packed;
    size_t n_plain, n_packed;
};

static bool unpack(void *context)
{
    struct page *page = context;
    size_t n = page->n_plain;
    return snappy_uncompress(page->packed, page->n_packed, page->plain, &n) == SNAPPY_OK;
}

static bool fill_page(struct page *page)
{
    LC_ARRAY struct ArrowArray rows = {0};
    page->plain = lc_alloc((size_t)MICRO_ROWS * 84);
    if (!page->plain || !micro_rows(&rows))
        return false;
    for (int64_t i = 0; i < MICRO_ROWS; i++) {
        struct lc_str text = lc_array_str(rows.children[1], LC_TYPE_STRING, 0, i);
        uint32_t n = (uint32_t)text.n;
        memcpy(page->plain + page->n_plain, &n, sizeof(n));
        memcpy(page->plain + page->n_plain + sizeof(n), text.p, text.n);
        page->n_plain += sizeof(n) + text.n;
    }
    page->n_packed = snappy_max_compressed_length(page->n_plain);
    page->packed = lc_alloc(page->n_packed);
    return page->packed && snappy_compress(page->plain, page->n_plain, page->packed, &page->n_packed) == SNAPPY_OK;
}

static bool time_page(void)
{
    struct page page = {0};
    bool is_ok = fill_page(&page) && micro_time("snappy page of one text column, unpacked", MICRO_ROWS, unpack, &page);
    lc_free(page.plain);
    lc_free(page.packed);
    return is_ok;
}

/* ---- a column out of a file ---- */

struct column {
    struct lc_parquet *file;
    struct lc_field schema;
    const struct lc_bitmap *include;
};

static bool scan(void *context)
{
    struct column *column = context;
    const struct lc_parquet_request request = {
        .schema = &column->schema, .match = LC_MATCH_PHYSICAL_NAME, .include = column->include};
    LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scanner = NULL;
    if (lc_parquet_scan_open(column->file, &request, &scanner, NULL) != LCDC_OK)
        return false;
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        if (lc_parquet_scan_next(scanner, &batch, NULL, NULL) != LCDC_OK)
            return false;
        if (!batch.release)
            return true;
    }
}

static bool time_column(struct column *column, size_t i, const char *all, const char *some)
{
    int64_t rows = lc_parquet_rows(column->file);
    LC_BITMAP struct lc_bitmap *include = NULL;
    column->schema = *micro_schema();
    column->schema.children = &micro_schema()->children[i];
    column->schema.n_children = 1;
    column->include = NULL;
    bool is_ok = lc_bitmap_new(&include, NULL) == LCDC_OK && micro_time(all, rows, scan, column);
    for (int64_t at = 37; is_ok && at < rows; at += 100)
        is_ok = lc_bitmap_add(include, (uint64_t)at, NULL) == LCDC_OK;
    column->include = include;
    return is_ok && micro_time(some, rows, scan, column);
}

static bool time_file(const char *path)
{
    struct lc_storage *storage = NULL;
    struct column column = {0};
    bool is_ok = lc_storage_arrow(&storage, NULL) == LCDC_OK &&
                 lc_parquet_open(storage, path, -1, &column.file, NULL) == LCDC_OK &&
                 time_column(&column, 1, "scan of a snappy text column", "scan of it for 1 row in 100") &&
                 time_column(&column, 0, "scan of a snappy bigint column", "scan of it for 1 row in 100");
    lc_parquet_close(column.file);
    lc_storage_free(storage);
    return is_ok;
}

bool micro_snappy(const char *file)
{
    return time_page() && (!file || time_file(file));
}
