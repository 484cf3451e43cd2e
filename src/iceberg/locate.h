/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate.h - the metadata of a table that is named by its folder or by a metadata file.
 */
#ifndef LC_ICEBERG_LOCATE_H
#define LC_ICEBERG_LOCATE_H

#include "iceberg/catalog.h"
#include "io/storage.h"

/**
 * `root` is a location in normal form. In a folder the metadata file with the highest number is taken. `known` is an
 * earlier answer, or NULL.
 * LC_R_TABLE_MISSING when nothing of the kind is there.
 */
lcdc_status lc_iceberg_locate(struct lc_storage *storage, const char *root, const struct lc_iceberg_place *known,
                              struct lc_iceberg_place *out, lcdc_error **err);

/** Reads the metadata file at place->location into place->text, unpacked. */
lcdc_status lc_iceberg_place_read(struct lc_storage *storage, struct lc_iceberg_place *place, lcdc_error **err);

#endif
