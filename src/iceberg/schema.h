/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - an Iceberg schema's JSON as fields: ids at every level, initial defaults, names of files without ids.
 */
#ifndef LC_ICEBERG_SCHEMA_H
#define LC_ICEBERG_SCHEMA_H

#include "base/field.h"
#include "io/json.h"

/** Field ids from here on belong to the format (row lineage, position deletes, metadata columns). */
enum { LC_ICEBERG_FIRST_RESERVED_ID = 2147483447 };

/** What files without ids call the fields: `schema.name-mapping.default`, sorted by id. */
struct lc_iceberg_names {
    size_t n;
    struct lc_iceberg_name {
        int64_t id;
        const struct json_t *names; /* a list of texts */
    } * items;
};

/** `mapping` must live as long as `out`. */
lcdc_status lc_iceberg_names_parse(const struct json_t *mapping, struct lc_arena *arena, struct lc_iceberg_names *out,
                                   lcdc_error **err);

lcdc_status lc_iceberg_schema_parse(const struct json_t *json, const struct lc_iceberg_names *names,
                                    struct lc_arena *arena, struct lc_field *out, lcdc_error **err);

/** A field by id at any depth below `root`; `out_top` gets its top-level ancestor or itself. NULL when absent. */
const struct lc_field *lc_iceberg_field_find(const struct lc_field *root, int32_t id, const struct lc_field **out_top);

/** True when `text` is the name of a primitive type that can be read ("long", "decimal(9, 2)", "fixed[16]"). */
bool lc_iceberg_type_parse(struct lc_str text, struct lc_type *out);

#endif
