/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - an add, remove or cdc action as a data file of the scan: location, partition values, statistics, vectors.
 */
#ifndef LC_DELTA_FILE_H
#define LC_DELTA_FILE_H

#include "delta/action.h"
#include "scan/commit.h"

/** What turns actions into files; borrowed by everything made with it. */
struct lc_delta_files {
    const char *root;
    const struct lc_path_map *path_map;
    struct lc_storage *storage;
    const struct lc_field *schema; /* columns at the end of the range */
};

/** `out` and what it points to live in `arena`. */
lcdc_status lc_delta_data_file(const struct lc_delta_files *files, const struct lc_delta_file *action,
                               struct lc_arena *arena, const struct lc_data_file **out, lcdc_error **err);

/** Rows of `file` that are in `with` and not in `without` (vectors as sets of rows); see the constants below. */
enum lc_delta_rows {
    LC_DELTA_ROWS_ALIVE,     /* all rows but those of `without` */
    LC_DELTA_ROWS_DIFFERENCE /* rows of `with` that are not in `without` */
};
lcdc_status lc_delta_row_set(const struct lc_delta_files *files, const struct lc_data_file *file,
                             enum lc_delta_rows which, const struct lc_delta_vector *with,
                             const struct lc_delta_vector *without, struct lc_arena *arena, struct lc_row_set *out,
                             lcdc_error **err);

#endif
