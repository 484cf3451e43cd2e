/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition.h - partition specs: how a file's partition tuple follows from its rows' columns.
 *
 * A transform is monotonic, or it is a hash: that is all pruning needs. One that nobody knows is kept, compared and
 * never used to leave a file out.
 */
#ifndef LC_ICEBERG_PARTITION_H
#define LC_ICEBERG_PARTITION_H

#include "base/arena.h"
#include "base/value.h"
#include "iceberg/file.h"
#include "io/avro.h"
#include "io/json.h"
#include "io/range.h"

enum lc_iceberg_transform {
    LC_ICEBERG_IDENTITY,
    LC_ICEBERG_BUCKET,
    LC_ICEBERG_TRUNCATE,
    LC_ICEBERG_YEAR,
    LC_ICEBERG_MONTH,
    LC_ICEBERG_DAY,
    LC_ICEBERG_HOUR,
    LC_ICEBERG_VOID,
    LC_ICEBERG_UNKNOWN
};

struct lc_iceberg_partition_field {
    int32_t source_id; /* LC_NO_ID for transforms of several columns */
    int32_t field_id;
    const char *name;
    enum lc_iceberg_transform transform;
    int32_t width;         /* BUCKET: number of buckets; TRUNCATE: width */
    struct lc_type source; /* of the column in the newest schema that has it; NULL when there is none left */
};

struct lc_iceberg_spec {
    int32_t id;
    bool has_types; /* `source` of each field is set */
    size_t n;
    struct lc_iceberg_partition_field *fields;
};

/** Reads the `fields` of a spec; `source` stays unset. */
lcdc_status lc_iceberg_spec_parse(const struct json_t *fields, struct lc_arena *arena, struct lc_iceberg_spec *out,
                                  lcdc_error **err);

/** True when the spec divides nothing: no fields, or none but void ones. Its equality deletes are global. */
bool lc_iceberg_is_unpartitioned(const struct lc_iceberg_spec *spec);

/** The type that partition values of a field have; kind NULL when that cannot be known (then as the manifest has it).
 */
struct lc_type lc_iceberg_partition_type(const struct lc_iceberg_partition_field *field);

/** A partition value as a manifest holds it; NULL for null. False when it is not of the field's type. */
bool lc_iceberg_partition_value(const struct lc_iceberg_partition_field *field, const struct lc_avro_value *avro,
                                struct lc_value *out);

/** Same spec and equal by bits, every NaN alike; null equals null. What deletes are scoped by. */
bool lc_iceberg_partition_equal(const struct lc_iceberg_file *a, const struct lc_iceberg_file *b);

/**
 * What a file's partition tuple says of a column with this id and type: bounds of its non-null values and whether it
 * may be null, as statistics of the file; false when nothing. Bounds are the column's type.
 */
bool lc_iceberg_partition_stats(const struct lc_iceberg_spec *spec, const struct lc_iceberg_file *file,
                                const struct lc_field *column, struct lc_arena *arena, struct lc_column_stats *out);

/** True when the partition tuple proves that no row of the file lies in the range: hashes included. */
bool lc_iceberg_partition_excludes(const struct lc_iceberg_spec *spec, const struct lc_iceberg_file *file,
                                   const struct lc_range *range);

/** The hash of bucket transforms (32-bit Murmur3 of the value's single form), non-negative; false for other types. */
bool lc_iceberg_bucket_hash(const struct lc_value *value, struct lc_type type, int32_t *out);

#endif
