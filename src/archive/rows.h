/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - the rows of one commit of an archive, as change batches: public rows with two images back to one image each.
 */
#ifndef LC_ARCHIVE_ROWS_H
#define LC_ARCHIVE_ROWS_H

#include "archive/files.h"
#include "core/backend.h"

struct lc_archive_rows_spec {
    struct lc_archive *archive;
    const struct lc_field *columns; /* STRUCT: what each image has */
    const struct lc_expr *filter;   /* bound to `columns`; NULL: every row */
    const struct lc_shape *shape;   /* limits and the cancel flag */
};

struct lc_archive_rows;
/** Reads the manifest. The spec's parts must stay until close. */
lcdc_status lc_archive_rows_open(const struct lc_archive_rows_spec *spec, const struct lc_archive_name *name,
                                 struct lc_archive_rows **out, lcdc_error **err);
/** Rows; *more false after the last. Batches carry no commit id yet. */
lcdc_status lc_archive_rows_next(struct lc_archive_rows *rows, struct lc_change_batch *out, bool *more,
                                 lcdc_error **err);
void lc_archive_rows_close(struct lc_archive_rows *rows);

/** Every part of the commit is there with its size. */
lcdc_status lc_archive_rows_check(struct lc_archive *archive, const struct lc_archive_name *name,
                                  const _Atomic int *cancelled, lcdc_error **err);

#endif
