/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/data_file.h"

#include <string.h>

/* ---- bounds (specification, "Binary single-value serialization") ---- */

static uint64_t little_endian(struct lc_str bytes)
{
    uint64_t value = 0;
    for (size_t i = bytes.n; i > 0; i--)
        value = value << 8 | (unsigned char)bytes.p[i - 1];
    return value;
}

/* Integers and times: a column that was promoted has bounds of the width it had when the file was written. */
static bool decode_integer(struct lc_str bytes, struct lc_type type, struct lc_value *out)
{
    struct lc_value value = {.type = {.kind = LC_TYPE_INT64}};
    if (bytes.n != 4 && bytes.n != 8)
        return false;
    value.i = bytes.n == 4 ? (int32_t)(uint32_t)little_endian(bytes) : (int64_t)little_endian(bytes);
    if (type.kind == LC_TYPE_INT32 || type.kind == LC_TYPE_INT64)
        return lc_value_cast(&value, type, out);
    if (bytes.n == 4) /* a date, also of a column that has become a timestamp since */
        value.type.kind = LC_TYPE_DATE;
    else if (type.kind == LC_TYPE_DATE)
        return false;
    else
        value.type = type;
    return lc_value_cast(&value, type, out);
}

static bool decode_float(struct lc_str bytes, struct lc_type type, struct lc_value *out)
{
    uint64_t bits = little_endian(bytes);
    uint32_t narrow = (uint32_t)bits;
    float single;
    *out = (struct lc_value){.type = type};
    if (bytes.n == sizeof(single)) {
        memcpy(&single, &narrow, sizeof(single));
        out->f = (double)single;
        return true;
    }
    memcpy(&out->f, &bits, sizeof(out->f));
    return bytes.n == sizeof(out->f) && type.kind == LC_TYPE_DOUBLE;
}

static bool decode_decimal(struct lc_str bytes, struct lc_type type, struct lc_value *out)
{
    lc_u128 value = bytes.n && (bytes.p[0] & 0x80) ? ~(lc_u128)0 : 0;
    for (size_t i = 0; i < bytes.n && i < sizeof(value); i++)
        value = value << 8 | (unsigned char)bytes.p[i];
    *out = (struct lc_value){.type = type, .dec = (lc_i128)value};
    return bytes.n > 0 && bytes.n <= sizeof(value);
}

bool lc_iceberg_bound_decode(struct lc_str bytes, struct lc_type type, struct lc_value *out)
{
    switch (type.kind) {
    case LC_TYPE_BOOL:
        *out = (struct lc_value){.type = type, .b = bytes.n && bytes.p[0]};
        return bytes.n == 1;
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_TIMESTAMP_NS_TZ:
        return decode_integer(bytes, type, out);
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
        return decode_float(bytes, type, out);
    case LC_TYPE_DECIMAL:
        return decode_decimal(bytes, type, out);
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED: /* may have been cut to a prefix; what is cut off an upper bound was made up for by its writer
                         */
        *out = (struct lc_value){.type = type, .str = bytes};
        return true;
    case LC_TYPE_UUID: /* writers differ in whether its halves are signed, so its bounds say nothing */
    case LC_TYPE_NULL:
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        break;
    }
    return false;
}

/* ---- statistics ---- */

struct source {
    const struct lc_iceberg_file *file;
    const struct lc_iceberg_spec *spec;
};

static const struct lc_value *find_bound(size_t n, const struct lc_iceberg_bound *bounds, const struct lc_field *leaf,
                                         struct lc_arena *arena)
{
    struct lc_value value;
    for (size_t i = 0; i < n; i++)
        if (bounds[i].field_id == leaf->id)
            return lc_iceberg_bound_decode(bounds[i].bytes, leaf->type, &value) ? lc_value_dup(arena, &value) : NULL;
    return NULL;
}

static bool file_stats(const struct lc_data_file *data_file, const struct lc_field *leaf, struct lc_arena *arena,
                       struct lc_column_stats *out)
{
    const struct source *source = data_file->format;
    const struct lc_iceberg_file *file = source->file;
    if (leaf->id == LC_NO_ID)
        return false;
    *out = (struct lc_column_stats){.null_count = -1, .row_count = data_file->rows};
    for (size_t i = 0; i < file->n_nulls; i++)
        if (file->nulls[i].field_id == leaf->id)
            out->null_count = file->nulls[i].count;
    out->min = find_bound(file->n_lower, file->lower, leaf, arena);
    out->max = find_bound(file->n_upper, file->upper, leaf, arena);
    return lc_iceberg_partition_stats(source->spec, file, leaf, arena, out) || out->min || out->max ||
           out->null_count >= 0;
}

static bool file_excludes(const struct lc_data_file *data_file, const struct lc_range *range)
{
    const struct source *source = data_file->format;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_column_stats stats = {.null_count = -1, .row_count = data_file->rows};
    bool has_bounds = range->field->id != LC_NO_ID &&
                      lc_iceberg_partition_stats(source->spec, source->file, range->field, &arena, &stats);
    return (has_bounds && lc_range_excludes(range, &stats)) ||
           lc_iceberg_partition_excludes(source->spec, source->file, range);
}

/* ---- partition values that stand in for columns ---- */

/* A column by id below structs alone: no other can be partitioned by. */
static const struct lc_field *find_leaf(const struct lc_field *parent, int32_t id)
{
    for (size_t i = 0; parent->type.kind == LC_TYPE_STRUCT && i < parent->n_children; i++) {
        const struct lc_field *child = &parent->children[i];
        const struct lc_field *found = child->id == id ? child : find_leaf(child, id);
        if (found)
            return lc_type_is_nested(found->type.kind) || found->type.kind == LC_TYPE_NULL ? NULL : found;
    }
    return NULL;
}

static lcdc_status add_constant(const struct source *source, size_t i, const struct lc_field *field,
                                struct lc_constant *constants, struct lc_arena *arena, struct lc_data_file *out,
                                lcdc_error **err)
{
    struct lc_value *value = lc_arena_alloc(arena, sizeof(*value));
    LC_TRY_ALLOC(value);
    if (!lc_value_cast(&source->file->partition[i], field->type, value))
        return lc_fail(err, LC_R_ICEBERG_MANIFEST_BAD,
                       "the partition value of %s for column '%.200s' is not of type %s", out->path, field->name,
                       lc_type_word(field->type.kind));
    constants[out->n_constants++] = (struct lc_constant){.field = field, .value = value, .only_if_missing = true};
    return LCDC_OK;
}

/*
 * Specification, "Column Projection": a column that a file lacks has its identity partition value. Rows are read in the
 * schema of the range's end; equality deletes name columns of the newest schema that has them, so both get it.
 */
static lcdc_status partition_constants(struct lc_iceberg_table *table, const struct source *source,
                                       const struct lc_field *schema, struct lc_arena *arena, struct lc_data_file *out,
                                       lcdc_error **err)
{
    struct lc_constant *constants = lc_arena_array(arena, source->spec->n, 2 * sizeof(*constants));
    LC_TRY_ALLOC(constants);
    out->constants = constants;
    for (size_t i = 0; i < source->spec->n; i++) {
        const struct lc_iceberg_partition_field *from = &source->spec->fields[i];
        const struct lc_field *top, *newest;
        if (from->transform != LC_ICEBERG_IDENTITY)
            continue;
        const struct lc_field *field = find_leaf(schema, from->source_id);
        if (field)
            LC_TRY(add_constant(source, i, field, constants, arena, out, err));
        LC_TRY(lc_iceberg_column_find(table->metadata, from->source_id, &top, &newest, err));
        if (newest && newest != field && !lc_type_is_nested(newest->type.kind) && newest->type.kind != LC_TYPE_NULL)
            LC_TRY(add_constant(source, i, newest, constants, arena, out, err));
    }
    return LCDC_OK;
}

lcdc_status lc_iceberg_data_file(struct lc_iceberg_table *table, const struct lc_field *schema,
                                 const struct lc_iceberg_file *file, struct lc_arena *arena,
                                 const struct lc_data_file **out, lcdc_error **err)
{
    struct lc_data_file *made = lc_arena_alloc(arena, sizeof(*made));
    struct source *source = lc_arena_alloc(arena, sizeof(*source));
    LC_TRY_ALLOC(made && source);
    source->file = file;
    LC_TRY(lc_iceberg_spec_get(table->metadata, file->spec_id, &source->spec, err));
    *made = (struct lc_data_file){.path = file->path.p,
                                  .size = file->size,
                                  .rows = file->record_count,
                                  .has_row_ids = file->first_row_id >= 0,
                                  .base_row_id = file->first_row_id,
                                  .default_row_version = file->data_sequence,
                                  .stats = file_stats,
                                  .excludes = file_excludes,
                                  .format = source};
    if (file->format != LC_ICEBERG_PARQUET)
        return lc_fail(err, LC_R_ICEBERG_DATA_FORMAT, "data file %s is of format %s, only parquet can be read",
                       made->path,
                       file->format == LC_ICEBERG_ORC    ? "orc"
                       : file->format == LC_ICEBERG_AVRO ? "avro"
                                                         : "puffin");
    LC_TRY(lc_iceberg_url(table, file->path, "data file", arena, &made->url, err));
    LC_TRY(partition_constants(table, source, schema, arena, made, err));
    *out = made;
    return LCDC_OK;
}
