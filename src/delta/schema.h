/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - a Delta table's columns from its schemaString, with column mapping and type changes.
 */
#ifndef LC_DELTA_SCHEMA_H
#define LC_DELTA_SCHEMA_H

#include "delta/action.h"
#include "io/parquet.h"

/** Fields live in `arena`. LC_R_SCHEMA_BAD, LC_R_TYPE_UNSUPPORTED. `match` says how files are to be read. */
lcdc_status lc_delta_schema_parse(const struct lc_delta_metadata *metadata, struct lc_arena *arena,
                                  struct lc_field *out, enum lc_match *match, lcdc_error **err);

/** Refuses a protocol that asks for reader features that are not known, each by name. */
lcdc_status lc_delta_protocol_check(const struct lc_delta_protocol *protocol, lcdc_error **err);

#endif
