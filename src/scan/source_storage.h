/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_storage.h - the storage that a format reads a table with: the leaf under its layers, in their one order.
 */
#ifndef LC_SCAN_SOURCE_STORAGE_H
#define LC_SCAN_SOURCE_STORAGE_H

#include "core/request.h"
#include "io/storage.h"

/** Counts into `meter`, which outlives the storage. */
lcdc_status lc_source_storage(const lcdc_request *request, struct lc_meter *meter, struct lc_storage **out,
                              lcdc_error **err);

#endif
