/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - the columns of a table as the ledger keeps them, and whether others can stand in their place.
 *
 * A list of [name, type]; a type is its SQL word, or for nested ones ["struct", columns], ["array", type], ["map", key,
 * value]. New columns are no trouble, and neither is a type that holds every value of the old one.
 */
#ifndef LC_SYNC_COLUMNS_H
#define LC_SYNC_COLUMNS_H

#include "base/error.h"
#include "base/field.h"

/** JSON of the columns of a struct, appended. Those from number `n_shown` on are not shown, the filter reads them. */
void lc_columns_print(const struct lc_field *columns, size_t n_shown, struct lc_buf *out);

/**
 * LC_R_SYNC_SCHEMA when `columns` cannot take the rows of the ones in `json`, with the first reason. `filtered`: the
 * columns that only the filter reads count too.
 */
lcdc_status lc_columns_check(const char *json, const struct lc_field *columns, bool filtered, lcdc_error **err);

#endif
