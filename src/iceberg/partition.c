/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/partition.h"

#include <math.h>
#include <string.h>

#include "base/time.h"

enum { FIRST_PARTITION_ID = 1000 };

#define DAY_US INT64_C(86400000000)
#define HOUR_US INT64_C(3600000000)

/* ---- specs ---- */

/* "bucket[16]" */
static bool parse_width(struct lc_str text, const char *word, int32_t *out)
{
    size_t n = strlen(word);
    int64_t width;
    if (!lc_str_starts(text, word) || text.n < n + 3 || text.p[n] != '[' || text.p[text.n - 1] != ']' ||
        !lc_parse_i64((struct lc_str){text.p + n + 1, text.n - n - 2}, &width) || width < 1 || width > INT32_MAX)
        return false;
    *out = (int32_t)width;
    return true;
}

static enum lc_iceberg_transform parse_transform(struct lc_str text, int32_t *width)
{
    static const struct {
        const char *word;
        enum lc_iceberg_transform transform;
    } words[] = {{"identity", LC_ICEBERG_IDENTITY}, {"year", LC_ICEBERG_YEAR}, {"month", LC_ICEBERG_MONTH},
                 {"day", LC_ICEBERG_DAY},           {"hour", LC_ICEBERG_HOUR}, {"void", LC_ICEBERG_VOID}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (lc_str_is(text, words[i].word))
            return words[i].transform;
    if (parse_width(text, "bucket", width))
        return LC_ICEBERG_BUCKET;
    return parse_width(text, "truncate", width) ? LC_ICEBERG_TRUNCATE : LC_ICEBERG_UNKNOWN;
}

lcdc_status lc_iceberg_spec_parse(const struct json_t *fields, struct lc_arena *arena, struct lc_iceberg_spec *out,
                                  lcdc_error **err)
{
    *out = (struct lc_iceberg_spec){0};
    if (!lc_json_is_array(fields))
        return lc_fail(err, LC_R_ICEBERG_METADATA_BAD, "a partition spec has no list of fields");
    out->n = lc_json_count(fields);
    out->fields = lc_arena_array(arena, out->n, sizeof(*out->fields));
    LC_TRY_ALLOC(out->fields);
    for (size_t i = 0; i < out->n; i++) {
        const struct json_t *json = lc_json_at(fields, i);
        struct lc_iceberg_partition_field *field = &out->fields[i];
        struct lc_str name, transform;
        int64_t source = LC_NO_ID, id = FIRST_PARTITION_ID + (int64_t)i; /* what version 1 takes for granted */
        bool ids = (!lc_json_member(json, "source-id") || lc_json_get_i64(json, "source-id", &source)) &&
                   (!lc_json_member(json, "field-id") || lc_json_get_i64(json, "field-id", &id));
        if (!ids || source < LC_NO_ID || source > INT32_MAX || id < 0 || id > INT32_MAX ||
            !lc_json_get_str(json, "name", &name) || !lc_json_get_str(json, "transform", &transform))
            return lc_fail(err, LC_R_ICEBERG_METADATA_BAD,
                           "a partition field has no name, transform, or ids that are numbers");
        field->source_id = (int32_t)source;
        field->field_id = (int32_t)id;
        field->transform = source == LC_NO_ID ? LC_ICEBERG_UNKNOWN : parse_transform(transform, &field->width);
        field->name = lc_arena_strndup(arena, name.p, name.n);
        LC_TRY_ALLOC(field->name);
    }
    return LCDC_OK;
}

bool lc_iceberg_is_unpartitioned(const struct lc_iceberg_spec *spec)
{
    for (size_t i = 0; i < spec->n; i++)
        if (spec->fields[i].transform != LC_ICEBERG_VOID)
            return false;
    return true;
}

/* ---- values ---- */

struct lc_type lc_iceberg_partition_type(const struct lc_iceberg_partition_field *field)
{
    switch (field->transform) {
    case LC_ICEBERG_IDENTITY:
    case LC_ICEBERG_TRUNCATE:
        return field->source;
    case LC_ICEBERG_DAY:
        return (struct lc_type){.kind = LC_TYPE_DATE};
    case LC_ICEBERG_BUCKET:
    case LC_ICEBERG_YEAR:
    case LC_ICEBERG_MONTH:
    case LC_ICEBERG_HOUR:
        return (struct lc_type){.kind = LC_TYPE_INT32};
    case LC_ICEBERG_VOID:
    case LC_ICEBERG_UNKNOWN:
        break;
    }
    return (struct lc_type){.kind = LC_TYPE_NULL};
}

/* Two's complement, most significant byte first. */
static bool decimal_from_bytes(struct lc_str bytes, lc_i128 *out)
{
    lc_u128 value = bytes.n && (bytes.p[0] & 0x80) ? ~(lc_u128)0 : 0;
    if (bytes.n == 0 || bytes.n > sizeof(value))
        return false;
    for (size_t i = 0; i < bytes.n; i++)
        value = value << 8 | (unsigned char)bytes.p[i];
    *out = (lc_i128)value;
    return true;
}

/* The value as its Avro type alone has it: the widest of each family, so that equal values stay equal. */
static bool natural_value(const struct lc_avro_value *avro, struct lc_value *out)
{
    const struct lc_avro_type *type = avro->type;
    bool is_date = type->logical && strcmp(type->logical, "date") == 0;
    bool is_decimal = type->logical && strcmp(type->logical, "decimal") == 0;
    *out = (struct lc_value){0};
    switch (type->kind) {
    case LC_AVRO_BOOL:
        out->type.kind = LC_TYPE_BOOL;
        out->b = avro->b;
        return true;
    case LC_AVRO_INT:
    case LC_AVRO_LONG:
        out->type.kind = is_date ? LC_TYPE_DATE : LC_TYPE_INT64;
        out->i = avro->i;
        return true;
    case LC_AVRO_FLOAT:
    case LC_AVRO_DOUBLE:
        out->type.kind = LC_TYPE_DOUBLE;
        out->f = avro->f;
        return true;
    case LC_AVRO_STRING:
        out->type.kind = LC_TYPE_STRING;
        out->str = avro->str;
        return true;
    case LC_AVRO_BYTES:
    case LC_AVRO_FIXED:
        if (is_decimal) {
            out->type = (struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = 38, .scale = type->scale};
            return type->scale >= 0 && type->scale <= 38 && decimal_from_bytes(avro->str, &out->dec);
        }
        out->type.kind = LC_TYPE_BINARY;
        out->str = avro->str;
        return true;
    case LC_AVRO_NULL:
    case LC_AVRO_ENUM:
    case LC_AVRO_RECORD:
    case LC_AVRO_ARRAY:
    case LC_AVRO_MAP:
    case LC_AVRO_UNION:
        break;
    }
    return false;
}

/* Types that Avro holds as plain integers. */
static bool is_counted(enum lc_type_kind kind)
{
    return kind == LC_TYPE_DATE || kind == LC_TYPE_TIME ||
           (kind >= LC_TYPE_TIMESTAMP_TZ && kind <= LC_TYPE_TIMESTAMP_NS);
}

bool lc_iceberg_partition_value(const struct lc_iceberg_partition_field *field, const struct lc_avro_value *avro,
                                struct lc_value *out)
{
    struct lc_type type = lc_iceberg_partition_type(field);
    struct lc_value natural;
    *out = (struct lc_value){.is_null = true, .type = type};
    if (!avro || !avro->type || avro->type->kind == LC_AVRO_NULL)
        return true;
    if (!natural_value(avro, &natural))
        return false;
    if (type.kind == LC_TYPE_NULL) {
        *out = natural;
        return true;
    }
    if (natural.type.kind == LC_TYPE_INT64 && is_counted(type.kind)) {
        *out = (struct lc_value){.type = type, .i = natural.i};
        return true;
    }
    return lc_value_cast(&natural, type, out);
}

static uint64_t float_bits(double value)
{
    uint64_t bits;
    if (isnan(value))
        return UINT64_MAX;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static bool values_equal(const struct lc_value *a, const struct lc_value *b)
{
    if (a->is_null || b->is_null || a->type.kind != b->type.kind)
        return a->is_null && b->is_null;
    if (a->type.kind == LC_TYPE_FLOAT || a->type.kind == LC_TYPE_DOUBLE)
        return float_bits(a->f) == float_bits(b->f);
    return lc_value_compare(a, b) == 0;
}

bool lc_iceberg_partition_equal(const struct lc_iceberg_file *a, const struct lc_iceberg_file *b)
{
    if (a->spec_id != b->spec_id || a->n_partition != b->n_partition)
        return false;
    for (size_t i = 0; i < a->n_partition; i++)
        if (!values_equal(&a->partition[i], &b->partition[i]))
            return false;
    return true;
}

/* ---- hashing ---- */

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* Murmur3, x86, 32 bits, seed 0. */
static uint32_t murmur3(const uint8_t *p, size_t n)
{
    uint32_t hash = 0, block = 0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        block = (uint32_t)p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 | (uint32_t)p[i + 3] << 24;
        hash = rotate(hash ^ rotate(block * 0xcc9e2d51u, 15) * 0x1b873593u, 13) * 5 + 0xe6546b64u;
    }
    block = 0;
    for (size_t k = n; k > i; k--)
        block = block << 8 | p[k - 1];
    hash ^= rotate(block * 0xcc9e2d51u, 15) * 0x1b873593u ^ (uint32_t)n;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static uint32_t hash_long(int64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
    return murmur3(bytes, sizeof(bytes));
}

/* The fewest bytes that hold the number, most significant first. */
static uint32_t hash_decimal(lc_i128 value)
{
    uint8_t bytes[16];
    size_t n = sizeof(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)((lc_u128)value >> (8 * (n - 1 - i)));
    size_t skip = 0;
    uint8_t sign = value < 0 ? 0xff : 0;
    while (skip + 1 < n && bytes[skip] == sign && (bytes[skip + 1] & 0x80) == (sign & 0x80))
        skip++;
    return murmur3(bytes + skip, n - skip);
}

static int64_t floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

bool lc_iceberg_bucket_hash(const struct lc_value *value, struct lc_type type, int32_t *out)
{
    uint32_t hash;
    switch (type.kind) {
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_TZ:
        hash = hash_long(value->i);
        break;
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_TIMESTAMP_NS_TZ:
        hash = hash_long(floor_divide(value->i, 1000));
        break;
    case LC_TYPE_DECIMAL:
        hash = hash_decimal(value->dec);
        break;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        hash = murmur3((const uint8_t *)value->str.p, value->str.n);
        break;
    case LC_TYPE_NULL:
    case LC_TYPE_BOOL:
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
    default:
        return false;
    }
    *out = (int32_t)(hash & INT32_MAX);
    return true;
}

/* ---- what a tuple says of a column ---- */

/* [low, high) as the column's values, in microseconds or days; false when the column is no time or out of range. */
static bool time_bounds(struct lc_type type, int64_t low_days, int64_t high_days, struct lc_value *min,
                        struct lc_value *max)
{
    struct lc_value low = {.type = {.kind = LC_TYPE_DATE}, .i = low_days}, high = low;
    bool is_zoned = type.kind == LC_TYPE_TIMESTAMP_TZ || type.kind == LC_TYPE_TIMESTAMP_NS_TZ;
    high.i = high_days;
    struct lc_type plain = type;
    if (is_zoned)
        plain.kind = type.kind == LC_TYPE_TIMESTAMP_TZ ? LC_TYPE_TIMESTAMP : LC_TYPE_TIMESTAMP_NS;
    if (!lc_value_cast(&low, plain, min) || !lc_value_cast(&high, plain, max) || max->i == INT64_MIN)
        return false;
    min->type = max->type = type;
    max->i--;
    return true;
}

/*
 * The days that year, month or day number `n` covers. Writers of old divided times before 1970 towards zero, so that
 * a number that is not positive may hold times of the one before it too.
 */
static bool calendar_bounds(enum lc_iceberg_transform transform, int64_t n, int64_t *low, int64_t *high)
{
    int64_t first = n <= 0 ? n - 1 : n, last = n + 1;
    if (transform == LC_ICEBERG_DAY) {
        *low = first;
        *high = last;
        return true;
    }
    if (transform == LC_ICEBERG_YEAR)
        return lc_days_from_civil(1970 + first, 1, 1, low) && lc_days_from_civil(1970 + last, 1, 1, high);
    int64_t from = floor_divide(first, 12), to = floor_divide(last, 12);
    return lc_days_from_civil(1970 + from, (int)(first - from * 12) + 1, 1, low) &&
           lc_days_from_civil(1970 + to, (int)(last - to * 12) + 1, 1, high);
}

static bool hour_bounds(struct lc_type type, int64_t n, struct lc_value *min, struct lc_value *max)
{
    bool is_nano = type.kind == LC_TYPE_TIMESTAMP_NS || type.kind == LC_TYPE_TIMESTAMP_NS_TZ;
    int64_t hour = is_nano ? HOUR_US * 1000 : HOUR_US;
    *min = *max = (struct lc_value){.type = type};
    if (!is_counted(type.kind) || type.kind == LC_TYPE_DATE || type.kind == LC_TYPE_TIME)
        return false;
    return !__builtin_mul_overflow(n <= 0 ? n - 1 : n, hour, &min->i) &&
           !__builtin_mul_overflow(n + 1, hour, &max->i) && !__builtin_sub_overflow(max->i, 1, &max->i);
}

static size_t code_points(struct lc_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}

/* The least text that is greater than every one with this prefix; false when there is none. */
static bool after_prefix(struct lc_str prefix, struct lc_arena *arena, struct lc_str *out)
{
    size_t n = prefix.n;
    while (n && (unsigned char)prefix.p[n - 1] == 0xff)
        n--;
    char *bytes = n ? lc_arena_strndup(arena, prefix.p, n) : NULL;
    if (!bytes)
        return false;
    bytes[n - 1] = (char)((unsigned char)bytes[n - 1] + 1);
    *out = (struct lc_str){bytes, n};
    return true;
}

/* A max that is null: there is none. */
static bool truncate_bounds(const struct lc_iceberg_partition_field *field, const struct lc_value *value,
                            struct lc_arena *arena, struct lc_value *min, struct lc_value *max)
{
    *min = *max = *value;
    switch (value->type.kind) {
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
        max->is_null = __builtin_add_overflow(value->i, field->width - 1, &max->i);
        return true;
    case LC_TYPE_DECIMAL:
        max->dec = value->dec + field->width - 1;
        return true;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
        if ((value->type.kind == LC_TYPE_STRING ? code_points(value->str) : value->str.n) < (size_t)field->width)
            return true; /* nothing was cut off */
        max->is_null = !after_prefix(value->str, arena, &max->str);
        return true;
    default:
        return false;
    }
}

static bool field_bounds(const struct lc_iceberg_partition_field *field, const struct lc_value *value,
                         struct lc_type type, struct lc_arena *arena, struct lc_value *min, struct lc_value *max)
{
    int64_t low, high;
    switch (field->transform) {
    case LC_ICEBERG_IDENTITY:
        *min = *max = *value;
        return true;
    case LC_ICEBERG_TRUNCATE:
        return truncate_bounds(field, value, arena, min, max);
    case LC_ICEBERG_YEAR:
    case LC_ICEBERG_MONTH:
    case LC_ICEBERG_DAY:
        return calendar_bounds(field->transform, value->i, &low, &high) && time_bounds(type, low, high, min, max);
    case LC_ICEBERG_HOUR:
        return hour_bounds(type, value->i, min, max);
    case LC_ICEBERG_BUCKET:
    case LC_ICEBERG_VOID:
    case LC_ICEBERG_UNKNOWN:
        break;
    }
    return false;
}

static void tighten(struct lc_column_stats *stats, const struct lc_value *min, const struct lc_value *max,
                    struct lc_type type, struct lc_arena *arena)
{
    struct lc_value low, high;
    if (lc_value_cast(min, type, &low) && (!stats->min || lc_value_compare(&low, stats->min) > 0))
        stats->min = lc_value_dup(arena, &low);
    if (!max->is_null && lc_value_cast(max, type, &high) && (!stats->max || lc_value_compare(&high, stats->max) < 0))
        stats->max = lc_value_dup(arena, &high);
}

bool lc_iceberg_partition_stats(const struct lc_iceberg_spec *spec, const struct lc_iceberg_file *file,
                                const struct lc_field *column, struct lc_arena *arena, struct lc_column_stats *out)
{
    bool known = false;
    for (size_t i = 0; i < spec->n && i < file->n_partition; i++) {
        const struct lc_iceberg_partition_field *field = &spec->fields[i];
        const struct lc_value *value = &file->partition[i];
        struct lc_value min, max;
        if (field->source_id != column->id || field->transform == LC_ICEBERG_VOID ||
            field->transform == LC_ICEBERG_UNKNOWN)
            continue;
        known = true;
        out->null_count = value->is_null ? out->row_count : 0; /* of these, null alone gives null */
        if (!value->is_null && field_bounds(field, value, column->type, arena, &min, &max))
            tighten(out, &min, &max, column->type, arena);
    }
    return known;
}

bool lc_iceberg_partition_excludes(const struct lc_iceberg_spec *spec, const struct lc_iceberg_file *file,
                                   const struct lc_range *range)
{
    bool is_point = range->low && range->high && !range->may_be_null && !range->only_null &&
                    lc_value_compare(range->low, range->high) == 0;
    for (size_t i = 0; is_point && i < spec->n && i < file->n_partition; i++) {
        const struct lc_iceberg_partition_field *field = &spec->fields[i];
        const struct lc_value *bucket = &file->partition[i];
        int32_t hash;
        if (field->transform == LC_ICEBERG_BUCKET && field->source_id == range->field->id && !bucket->is_null &&
            lc_iceberg_bucket_hash(range->low, range->field->type, &hash) && hash % field->width != bucket->i)
            return true;
    }
    return false;
}
