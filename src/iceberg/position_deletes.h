/* SPDX-License-Identifier: Apache-2.0 */
/*
 * position_deletes.h - positions that position delete files and deletion vectors name.
 *
 * A position delete file may serve many data files: it is read once into one bitmap a data file and kept while there is
 * room. Paths are compared as the metadata spells them, as every engine does; aliases of a scheme matter to I/O only.
 */
#ifndef LC_ICEBERG_POSITION_DELETES_H
#define LC_ICEBERG_POSITION_DELETES_H

#include "iceberg/file.h"
#include "io/storage.h"

struct lc_iceberg_positions;

lcdc_status lc_iceberg_positions_new(struct lc_storage *storage, const struct lc_path_map *path_map,
                                     int64_t memory_limit, struct lc_iceberg_positions **out, lcdc_error **err);
void lc_iceberg_positions_free(struct lc_iceberg_positions *positions);

/** Adds to `into` the positions of `data_path` (as the manifest spells it) that the delete file names. */
lcdc_status lc_iceberg_positions_add(struct lc_iceberg_positions *positions, const struct lc_iceberg_file *file,
                                     const char *data_path, struct lc_bitmap *into, lcdc_error **err);

/** The data files that the delete file names, as it spells them, sorted; copies in `arena`. */
lcdc_status lc_iceberg_positions_names(struct lc_iceberg_positions *positions, const struct lc_iceberg_file *file,
                                       struct lc_arena *arena, size_t *n_out, const struct lc_str **out,
                                       lcdc_error **err);

/** A deletion vector's positions; *out is the caller's. */
lcdc_status lc_iceberg_vector_read(struct lc_iceberg_positions *positions, const struct lc_iceberg_file *file,
                                   struct lc_bitmap **out, lcdc_error **err);

#endif
