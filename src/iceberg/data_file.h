/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_file.h - a manifest's data file as a file that scan/ reads: where it is, its partition values, its statistics.
 */
#ifndef LC_ICEBERG_DATA_FILE_H
#define LC_ICEBERG_DATA_FILE_H

#include "iceberg/manifest.h"

/** `file` must live as long as `out`, which lives in `arena`; `schema` is that of the rows to be read. */
lcdc_status lc_iceberg_data_file(struct lc_iceberg_table *table, const struct lc_field *schema,
                                 const struct lc_iceberg_file *file, struct lc_arena *arena,
                                 const struct lc_data_file **out, lcdc_error **err);

/** A bound of a column of this type, as manifests hold it; also that of a narrower type it once had. False: unusable.
 */
bool lc_iceberg_bound_decode(struct lc_str bytes, struct lc_type type, struct lc_value *out);

#endif
