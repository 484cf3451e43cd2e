/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - reads the rows of one row set as columns of the table: files -> rows.
 */
#ifndef LC_SCAN_ROWS_H
#define LC_SCAN_ROWS_H

#include "core/backend.h"
#include "scan/commit.h"

/** What all reads of a table share. Borrowed by everything made with it. */
struct lc_scan_context {
    struct lc_storage *storage;
    const struct lc_field *schema; /* the table's columns at the end of the range */
    enum lc_match match;
    const _Atomic int *cancelled; /* may be NULL */
    const _Atomic int *stopped;   /* whoever reads has had enough; may be NULL */
    int64_t batch_rows;
    int64_t memory_limit;
    int64_t threads; /* that decode; 0 = one for each processor, a few at most */
};

struct lc_rows_request {
    const struct lc_field *columns; /* STRUCT: what to deliver */
    size_t n_extra;                 /* further columns, delivered apart (row ids, op words) */
    const struct lc_field *const *extra;
    const struct lc_expr *filter; /* bound to `columns`; NULL = all rows of the set */
    size_t n_ranges;              /* what the filter implies for files (pushdown.h) */
    const struct lc_range *ranges;
    int64_t first_row, n_rows; /* a stretch of the file to keep to; n_rows 0 = all of it */
    bool keeps_dictionaries;   /* as in lc_parquet_request; not of sets with filters */
};

struct lc_rows;
/** Loads the set's bitmaps, opens its file. The set must stay until close. */
lcdc_status lc_rows_open(const struct lc_scan_context *context, struct lc_row_set *set,
                         const struct lc_rows_request *request, struct lc_rows **out, lcdc_error **err);

/**
 * The next rows that are in the set and pass the filter: struct arrays of `columns` and of `extra` (when n_extra), and
 * their positions, valid until the next call. images->release is NULL at the end. Never a batch of zero rows.
 */
lcdc_status lc_rows_next(struct lc_rows *rows, struct ArrowArray *images, struct ArrowArray *extra,
                         const int64_t **positions, lcdc_error **err);
void lc_rows_close(struct lc_rows *rows);
LC_DEFINE_CLEANUP(struct lc_rows *, lc_rows_close)

/** True when the set turned out to have no rows once its bitmaps were there; the file was not opened then. */
bool lc_rows_is_empty(const struct lc_rows *rows);

/** True when the file holds this extra column itself. */
bool lc_rows_file_has(const struct lc_rows *rows, size_t extra);

lcdc_status lc_check_cancelled(const struct lc_scan_context *context, lcdc_error **err);

#endif
