/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_rows.h - what a Parquet scan delivers, as one text a row.
 */
#ifndef LC_TESTS_PARQUET_ROWS_H
#define LC_TESTS_PARQUET_ROWS_H

#include "io/parquet.h"

struct parquet_rows {
    size_t n, n_coded; /* rows; those that came with a dictionary */
    char **texts;
    int64_t *positions;
};

void parquet_rows_done(struct parquet_rows *rows);
#define PARQUET_ROWS LC_CLEANUP(parquet_rows_done)

/**
 * Scans `file` to its end. Each batch is checked against the requested schema (lc_array_check) and may not be longer
 * than asked; one with dictionaries is turned into plain arrays first, and must hash as these do. On failure `out`
 * holds what came before it.
 */
lcdc_status parquet_rows_read(struct lc_parquet *file, const struct lc_parquet_request *request,
                              struct parquet_rows *out, lcdc_error **err);

#endif
