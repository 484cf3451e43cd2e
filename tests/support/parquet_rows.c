/* SPDX-License-Identifier: Apache-2.0 */
#include "support/parquet_rows.h"

#include <stdlib.h>

#include "base/row_hash.h"
#include "support/arrays.h"

void parquet_rows_done(struct parquet_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        lc_free(rows->texts[i]);
    free(rows->texts);
    free(rows->positions);
    *rows = (struct parquet_rows){0};
}

static void append(struct parquet_rows *rows, const struct ArrowArray *batch, const struct lc_field *schema,
                   const int64_t *positions)
{
    size_t n = rows->n + (size_t)batch->length;
    rows->texts = realloc(rows->texts, (n + 1) * sizeof(*rows->texts));
    rows->positions = realloc(rows->positions, (n + 1) * sizeof(*rows->positions));
    if (!rows->texts || !rows->positions)
        abort();
    for (int64_t i = 0; i < batch->length; i++) {
        struct lc_buf text;
        lc_buf_init(&text, LC_BUF_MAX);
        lc_test_print_row(&text, batch, schema, i);
        rows->positions[rows->n] = positions[i];
        rows->texts[rows->n++] = lc_buf_take(&text);
    }
}

/* Gathered forwards and backwards, with equal hashes. */
static lcdc_status expand(const struct lc_field *schema, struct ArrowArray *batch, lcdc_error **err)
{
    int64_t n = batch->length;
    const struct ArrowArray *from = batch;
    LC_ARRAY struct ArrowArray plain = {0}, backwards = {0};
    LC_FREE int64_t *rows = lc_alloc((size_t)n * sizeof(*rows));
    LC_FREE struct lc_hash *hashes = lc_alloc((size_t)n * 3 * sizeof(*hashes));
    LC_TRY_ALLOC(rows && hashes);
    for (int64_t i = 0; i < n; i++)
        rows[i] = n - 1 - i;
    LC_TRY(lc_array_gather(schema, 1, &from, NULL, rows, n, &backwards, err));
    for (int64_t i = 0; i < n; i++)
        rows[i] = i;
    LC_TRY(lc_array_gather(schema, 1, &from, NULL, rows, n, &plain, err));
    LC_TRY(lc_row_hash(schema, batch, 0, NULL, hashes, err));
    LC_TRY(lc_row_hash(schema, &plain, 0, NULL, hashes + n, err));
    LC_TRY(lc_row_hash(schema, &backwards, 0, NULL, hashes + 2 * n, err));
    for (int64_t i = 0; i < n; i++)
        if (!lc_hash_equal(hashes[i], hashes[n + i]) || !lc_hash_equal(hashes[i], hashes[3 * n - 1 - i]))
            return lc_fail(err, LC_R_INTERNAL, "row %lld of a batch with dictionaries", (long long)i);
    lc_array_release(batch);
    lc_array_move(&plain, batch);
    return LCDC_OK;
}

lcdc_status parquet_rows_read(struct lc_parquet *file, const struct lc_parquet_request *request,
                              struct parquet_rows *out, lcdc_error **err)
{
    LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scan = NULL;
    int64_t most = request->batch_rows ? request->batch_rows : 8192;
    *out = (struct parquet_rows){0};
    LC_TRY(lc_parquet_scan_open(file, request, &scan, err));
    for (;;) {
        LC_ARRAY struct ArrowArray batch = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_parquet_scan_next(scan, &batch, &positions, err));
        if (!batch.release)
            return LCDC_OK;
        if (batch.length == 0 || batch.length > most || batch.null_count != 0)
            return lc_fail(err, LC_R_INTERNAL, "a batch of %lld rows", (long long)batch.length);
        if (lc_array_has_dictionaries(&batch)) {
            out->n_coded += (size_t)batch.length;
            LC_TRY(expand(request->schema, &batch, err));
        }
        LC_TRY(lc_array_check(&batch, request->schema, err));
        append(out, &batch, request->schema, positions);
    }
}
