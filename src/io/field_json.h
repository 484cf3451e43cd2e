/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_json.h - a tree of fields as JSON and back: what lakecdc writes of a schema for itself to read again.
 *
 *   [{"name":"id","id":1,"type":"bigint"},
 *    {"name":"price","type":"decimal","precision":10,"scale":2},
 *    {"name":"at","type":"struct","fields":[...]}, {"name":"tags","type":"array","element":{...}},
 *    {"name":"m","type":"map","key":{...},"value":{...}}]
 *
 * The words are those of base/types.def. Physical names and aliases are not kept: they are the table's own business.
 */
#ifndef LC_IO_FIELD_JSON_H
#define LC_IO_FIELD_JSON_H

#include "base/field.h"
#include "io/json.h"

/** The children of a struct, appended. */
void lc_field_json_print(struct lc_buf *out, const struct lc_field *parent);

/** A STRUCT of the fields in an array; LC_R_SCHEMA_BAD. Texts live in `arena`. */
lcdc_status lc_field_json_parse(const struct json_t *array, struct lc_arena *arena, struct lc_field *out,
                                lcdc_error **err);

#endif
