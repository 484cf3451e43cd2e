/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "iceberg/partition.h"

static struct lc_value value_of(enum lc_type_kind kind, const char *text, struct lc_arena *arena)
{
    struct lc_value value;
    struct lc_type type = {.kind = kind, .precision = 9, .scale = 2};
    assert_true(lc_value_parse(type, lc_str_of(text), arena, &value));
    return value;
}

static int32_t hash_of(enum lc_type_kind kind, const char *text)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_value value = value_of(kind, text, &arena);
    int32_t hash = -1;
    assert_true(lc_iceberg_bucket_hash(&value, value.type, &hash));
    return hash;
}

/* Specification, appendix B; the sign bit is dropped before the number of buckets divides. */
static void hashes_of_the_specification(void **state)
{
    (void)state;
    assert_int_equal(hash_of(LC_TYPE_INT32, "34"), 2017239379);
    assert_int_equal(hash_of(LC_TYPE_INT64, "34"), 2017239379);
    assert_int_equal(hash_of(LC_TYPE_DECIMAL, "14.20"), -500754589 & INT32_MAX);
    assert_int_equal(hash_of(LC_TYPE_DATE, "2017-11-16"), -653330422 & INT32_MAX);
    assert_int_equal(hash_of(LC_TYPE_TIME, "22:31:08"), -662762989 & INT32_MAX);
    assert_int_equal(hash_of(LC_TYPE_TIMESTAMP, "2017-11-16T22:31:08"), -2047944441 & INT32_MAX);
    assert_int_equal(hash_of(LC_TYPE_TIMESTAMP, "2017-11-16T22:31:08.000001"), -1207196810 & INT32_MAX);
    assert_int_equal(hash_of(LC_TYPE_TIMESTAMP_TZ, "2017-11-16T14:31:08-08:00"), -2047944441 & INT32_MAX);
    assert_int_equal(hash_of(LC_TYPE_TIMESTAMP_NS, "2017-11-16T22:31:08.000001001"), -1207196810 & INT32_MAX);
    assert_int_equal(hash_of(LC_TYPE_STRING, "iceberg"), 1210000089);
    assert_int_equal(hash_of(LC_TYPE_UUID, "f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1488055340);
    struct lc_value bytes = {.type = {.kind = LC_TYPE_FIXED, .length = 4}, .str = {"\0\1\2\3", 4}};
    int32_t hash;
    assert_true(lc_iceberg_bucket_hash(&bytes, bytes.type, &hash));
    assert_int_equal(hash, -188683207 & INT32_MAX);
    struct lc_value real = {.type = {.kind = LC_TYPE_DOUBLE}};
    assert_false(lc_iceberg_bucket_hash(&real, real.type, &hash));
}

/* ---- specs ---- */

static void specs_are_read(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    LC_JSON struct json_t *json = NULL;
    struct lc_iceberg_spec spec;
    const char *text = "[{\"source-id\":1,\"field-id\":1003,\"name\":\"a\",\"transform\":\"identity\"},"
                       "{\"source-id\":2,\"name\":\"b\",\"transform\":\"bucket[16]\"},"
                       "{\"source-id\":3,\"name\":\"c\",\"transform\":\"truncate[4]\"},"
                       "{\"source-ids\":[1,2],\"field-id\":1009,\"name\":\"d\",\"transform\":\"zorder[2]\"},"
                       "{\"source-id\":4,\"name\":\"e\",\"transform\":\"bucket[0]\"},"
                       "{\"source-id\":4,\"name\":\"f\",\"transform\":\"void\"}]";
    assert_int_equal(lc_json_parse(lc_str_of(text), &json, NULL), LCDC_OK);
    assert_int_equal(lc_iceberg_spec_parse(json, &arena, &spec, NULL), LCDC_OK);
    assert_int_equal(spec.n, 6);
    assert_int_equal(spec.fields[0].transform, LC_ICEBERG_IDENTITY);
    assert_int_equal(spec.fields[0].field_id, 1003);
    assert_int_equal(spec.fields[1].transform, LC_ICEBERG_BUCKET);
    assert_int_equal(spec.fields[1].width, 16);
    assert_int_equal(spec.fields[1].field_id, 1001);
    assert_int_equal(spec.fields[2].transform, LC_ICEBERG_TRUNCATE);
    assert_int_equal(spec.fields[3].transform, LC_ICEBERG_UNKNOWN);
    assert_int_equal(spec.fields[3].source_id, LC_NO_ID);
    assert_int_equal(spec.fields[4].transform, LC_ICEBERG_UNKNOWN);
    assert_int_equal(spec.fields[5].transform, LC_ICEBERG_VOID);
    assert_false(lc_iceberg_is_unpartitioned(&spec));
    spec.fields += 5;
    spec.n = 1;
    assert_true(lc_iceberg_is_unpartitioned(&spec));
}

static void damaged_specs(void **state)
{
    static const char *const bad[] = {
        "{}",
        "[{}]",
        "[7]",
        "[{\"source-id\":\"x\",\"name\":\"a\",\"transform\":\"day\"}]",
        "[{\"source-id\":1,\"transform\":\"day\"}]",
        "[{\"source-id\":1,\"name\":\"a\"}]",
        "[{\"source-id\":-2,\"name\":\"a\",\"transform\":\"day\"}]",
        "[{\"source-id\":1,\"field-id\":99999999999,\"name\":\"a\",\"transform\":\"day\"}]"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        LC_JSON struct json_t *json = NULL;
        struct lc_iceberg_spec spec;
        assert_int_equal(lc_json_parse(lc_str_of(bad[i]), &json, NULL), LCDC_OK);
        assert_int_equal(lc_iceberg_spec_parse(json, &arena, &spec, NULL), LCDC_CORRUPT);
    }
}

/* ---- bounds ---- */

struct one {
    struct lc_iceberg_partition_field field;
    struct lc_iceberg_spec spec;
    struct lc_value value;
    struct lc_iceberg_file file;
    struct lc_field column;
};

static void make_one(struct one *one, enum lc_iceberg_transform transform, int32_t width, struct lc_type type,
                     struct lc_value value)
{
    *one = (struct one){.value = value};
    one->field = (struct lc_iceberg_partition_field){
        .source_id = 1, .transform = transform, .width = width, .source = type};
    one->spec = (struct lc_iceberg_spec){.n = 1, .fields = &one->field};
    one->file = (struct lc_iceberg_file){.n_partition = 1, .partition = &one->value, .record_count = 10};
    one->column = (struct lc_field){.name = "c", .physical = "c", .id = 1, .type = type};
}

static bool bounds_of(const struct one *one, struct lc_arena *arena, struct lc_column_stats *out)
{
    *out = (struct lc_column_stats){.null_count = -1, .row_count = 10};
    return lc_iceberg_partition_stats(&one->spec, &one->file, &one->column, arena, out);
}

static void assert_times(enum lc_iceberg_transform transform, enum lc_type_kind kind, int64_t number, const char *min,
                         const char *max)
{
    LC_ARENA struct lc_arena arena = {0};
    struct one one;
    struct lc_column_stats stats;
    make_one(&one, transform, 0, (struct lc_type){.kind = kind},
             (struct lc_value){.type = {.kind = LC_TYPE_INT32}, .i = number});
    assert_true(bounds_of(&one, &arena, &stats));
    assert_non_null(stats.min);
    struct lc_value low = value_of(kind, min, &arena), high = value_of(kind, max, &arena);
    assert_true(stats.min->i == low.i);
    assert_true(stats.max->i == high.i);
    assert_int_equal(stats.null_count, 0);
}

static void times_in_their_partitions(void **state)
{
    (void)state;
    assert_times(LC_ICEBERG_YEAR, LC_TYPE_DATE, 54, "2024-01-01", "2024-12-31");
    assert_times(LC_ICEBERG_MONTH, LC_TYPE_DATE, 649, "2024-02-01", "2024-02-29");
    assert_times(LC_ICEBERG_DAY, LC_TYPE_DATE, 19782, "2024-02-29", "2024-02-29");
    assert_times(LC_ICEBERG_DAY, LC_TYPE_TIMESTAMP, 19782, "2024-02-29", "2024-02-29T23:59:59.999999");
    assert_times(LC_ICEBERG_MONTH, LC_TYPE_TIMESTAMP_TZ, 649, "2024-02-01T00:00:00Z", "2024-02-29T23:59:59.999999Z");
    assert_times(LC_ICEBERG_HOUR, LC_TYPE_TIMESTAMP, 1, "1970-01-01T01:00:00", "1970-01-01T01:59:59.999999");
    assert_times(LC_ICEBERG_HOUR, LC_TYPE_TIMESTAMP_NS, 1, "1970-01-01T01:00:00", "1970-01-01T01:59:59.999999999");
    /* writers of old divided towards zero: a number that is not positive reaches one further back */
    assert_times(LC_ICEBERG_YEAR, LC_TYPE_DATE, 0, "1969-01-01", "1970-12-31");
    assert_times(LC_ICEBERG_MONTH, LC_TYPE_DATE, -1, "1969-11-01", "1969-12-31");
    assert_times(LC_ICEBERG_HOUR, LC_TYPE_TIMESTAMP, -1, "1969-12-31T22:00:00", "1969-12-31T23:59:59.999999");
}

static void numbers_out_of_range_bound_nothing(void **state)
{
    (void)state;
    static const enum lc_iceberg_transform transforms[] = {LC_ICEBERG_YEAR, LC_ICEBERG_MONTH, LC_ICEBERG_DAY,
                                                           LC_ICEBERG_HOUR};
    for (size_t i = 0; i < 4; i++)
        for (int sign = -1; sign < 2; sign += 2) {
            LC_ARENA struct lc_arena arena = {0};
            struct one one;
            struct lc_column_stats stats;
            make_one(&one, transforms[i], 0, (struct lc_type){.kind = LC_TYPE_TIMESTAMP_NS},
                     (struct lc_value){.type = {.kind = LC_TYPE_INT32}, .i = sign > 0 ? INT32_MAX : INT32_MIN});
            assert_true(bounds_of(&one, &arena, &stats));
            assert_null(stats.min);
            assert_null(stats.max);
        }
}

static void truncated_values(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct one one;
    struct lc_column_stats stats;
    struct lc_value number = {.type = {.kind = LC_TYPE_INT64}, .i = -20};
    make_one(&one, LC_ICEBERG_TRUNCATE, 10, number.type, number);
    assert_true(bounds_of(&one, &arena, &stats));
    assert_true(stats.min->i == -20 && stats.max->i == -11);
    one.value.i = INT64_MAX - 3;
    assert_true(bounds_of(&one, &arena, &stats));
    assert_null(stats.max);
    make_one(&one, LC_ICEBERG_TRUNCATE, 2, (struct lc_type){.kind = LC_TYPE_STRING},
             value_of(LC_TYPE_STRING, "\xC3\xA9z", &arena));
    assert_true(bounds_of(&one, &arena, &stats));
    assert_memory_equal(stats.max->str.p, "\xC3\xA9{", 3);
    one.value = value_of(LC_TYPE_STRING, "\xC3\xA9", &arena); /* one character: nothing was cut off */
    assert_true(bounds_of(&one, &arena, &stats));
    assert_int_equal(lc_value_compare(stats.min, stats.max), 0);
    make_one(&one, LC_ICEBERG_TRUNCATE, 1, (struct lc_type){.kind = LC_TYPE_BINARY},
             (struct lc_value){.type = {.kind = LC_TYPE_BINARY}, .str = {"\xff", 1}});
    assert_true(bounds_of(&one, &arena, &stats));
    assert_non_null(stats.min);
    assert_null(stats.max);
}

static void nulls_and_transforms_that_say_nothing(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct one one;
    struct lc_column_stats stats;
    struct lc_type type = {.kind = LC_TYPE_INT64};
    make_one(&one, LC_ICEBERG_BUCKET, 4, type, (struct lc_value){.is_null = true, .type = {.kind = LC_TYPE_INT32}});
    assert_true(bounds_of(&one, &arena, &stats));
    assert_int_equal(stats.null_count, 10);
    one.field.transform = LC_ICEBERG_VOID;
    assert_false(bounds_of(&one, &arena, &stats));
    one.field.transform = LC_ICEBERG_UNKNOWN;
    assert_false(bounds_of(&one, &arena, &stats));
    one.field.transform = LC_ICEBERG_IDENTITY;
    one.column.id = 2;
    assert_false(bounds_of(&one, &arena, &stats));
}

static void buckets_exclude_points(void **state)
{
    (void)state;
    struct one one;
    struct lc_value number = {.type = {.kind = LC_TYPE_INT64}, .i = 34},
                    other = {.type = {.kind = LC_TYPE_INT64}, .i = 35};
    make_one(&one, LC_ICEBERG_BUCKET, 16, number.type,
             (struct lc_value){.type = {.kind = LC_TYPE_INT32}, .i = 2017239379 % 16});
    struct lc_range range = {.field = &one.column, .low = &number, .high = &number};
    assert_false(lc_iceberg_partition_excludes(&one.spec, &one.file, &range));
    one.value.i = (one.value.i + 1) % 16;
    assert_true(lc_iceberg_partition_excludes(&one.spec, &one.file, &range));
    range.may_be_null = true;
    assert_false(lc_iceberg_partition_excludes(&one.spec, &one.file, &range));
    range = (struct lc_range){.field = &one.column, .low = &number, .high = &other};
    assert_false(lc_iceberg_partition_excludes(&one.spec, &one.file, &range));
    range.high = NULL;
    assert_false(lc_iceberg_partition_excludes(&one.spec, &one.file, &range));
}

/* ---- equality ---- */

static bool equal(struct lc_value a, struct lc_value b)
{
    struct lc_iceberg_file x = {.n_partition = 1, .partition = &a}, y = {.n_partition = 1, .partition = &b};
    return lc_iceberg_partition_equal(&x, &y);
}

static struct lc_value real(double value)
{
    return (struct lc_value){.type = {.kind = LC_TYPE_DOUBLE}, .f = value};
}

static void tuples_are_equal_by_bits(void **state)
{
    (void)state;
    struct lc_value null = {.is_null = true, .type = {.kind = LC_TYPE_DOUBLE}};
    uint64_t bits = UINT64_C(0xfff8000000000001);
    double other_nan;
    memcpy(&other_nan, &bits, sizeof(other_nan));
    assert_true(equal(real(NAN), real(other_nan)));
    assert_false(equal(real(0.0), real(-0.0)));
    assert_false(equal(real(NAN), real(1)));
    assert_true(equal(null, null));
    assert_false(equal(null, real(0)));
    struct lc_value text = {.type = {.kind = LC_TYPE_STRING}, .str = {"a", 1}};
    assert_true(equal(text, text));
    assert_false(equal(text, (struct lc_value){.type = {.kind = LC_TYPE_STRING}, .str = {"b", 1}}));
    struct lc_iceberg_file x = {.spec_id = 1}, y = {.spec_id = 2};
    assert_false(lc_iceberg_partition_equal(&x, &y));
}

/* ---- values of manifests ---- */

static bool convert(enum lc_iceberg_transform transform, struct lc_type source, const struct lc_avro_type *type,
                    struct lc_avro_value value, struct lc_value *out)
{
    struct lc_iceberg_partition_field field = {.transform = transform, .source = source};
    value.type = type;
    return lc_iceberg_partition_value(&field, &value, out);
}

static void values_take_the_column_type(void **state)
{
    (void)state;
    const struct lc_avro_type an_int = {.kind = LC_AVRO_INT}, a_long = {.kind = LC_AVRO_LONG},
                              a_date = {.kind = LC_AVRO_INT, .logical = "date"}, text = {.kind = LC_AVRO_STRING},
                              bytes = {.kind = LC_AVRO_FIXED},
                              decimal = {.kind = LC_AVRO_BYTES, .logical = "decimal", .precision = 9, .scale = 2},
                              list = {.kind = LC_AVRO_ARRAY};
    struct lc_type int64 = {.kind = LC_TYPE_INT64}, int32 = {.kind = LC_TYPE_INT32}, ts = {.kind = LC_TYPE_TIMESTAMP},
                   uuid = {.kind = LC_TYPE_UUID}, none = {.kind = LC_TYPE_NULL},
                   money = {.kind = LC_TYPE_DECIMAL, .precision = 20, .scale = 2};
    struct lc_value out;
    assert_true(convert(LC_ICEBERG_IDENTITY, int64, &an_int, (struct lc_avro_value){.i = 7}, &out));
    assert_true(out.type.kind == LC_TYPE_INT64 && out.i == 7);
    assert_false(convert(LC_ICEBERG_IDENTITY, int32, &a_long, (struct lc_avro_value){.i = INT64_C(1) << 40}, &out));
    assert_true(convert(LC_ICEBERG_IDENTITY, ts, &a_date, (struct lc_avro_value){.i = 1}, &out)); /* a promoted date */
    assert_true(out.i == INT64_C(86400000000));
    assert_true(convert(LC_ICEBERG_IDENTITY, ts, &a_long, (struct lc_avro_value){.i = 1}, &out));
    assert_true(out.i == 1 && out.type.kind == LC_TYPE_TIMESTAMP);
    assert_true(convert(LC_ICEBERG_DAY, ts, &an_int, (struct lc_avro_value){.i = 5}, &out));
    assert_int_equal(out.type.kind, LC_TYPE_DATE);
    assert_true(convert(LC_ICEBERG_IDENTITY, money, &decimal, (struct lc_avro_value){.str = {"\xff\x06", 2}}, &out));
    assert_true(out.dec == -250);
    assert_true(
        convert(LC_ICEBERG_IDENTITY, uuid, &bytes, (struct lc_avro_value){.str = {"0123456789abcdef", 16}}, &out));
    assert_false(convert(LC_ICEBERG_IDENTITY, uuid, &bytes, (struct lc_avro_value){.str = {"0123", 4}}, &out));
    assert_true(convert(LC_ICEBERG_UNKNOWN, none, &text, (struct lc_avro_value){.str = {"x", 1}}, &out));
    assert_int_equal(out.type.kind, LC_TYPE_STRING);
    assert_false(convert(LC_ICEBERG_UNKNOWN, none, &list, (struct lc_avro_value){0}, &out));
    assert_false(convert(LC_ICEBERG_IDENTITY, int64, &text, (struct lc_avro_value){.str = {"7", 1}}, &out));
    struct lc_iceberg_partition_field field = {.transform = LC_ICEBERG_IDENTITY, .source = int64};
    assert_true(lc_iceberg_partition_value(&field, NULL, &out));
    assert_true(out.is_null && out.type.kind == LC_TYPE_INT64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_of_the_specification),
        cmocka_unit_test(specs_are_read),
        cmocka_unit_test(damaged_specs),
        cmocka_unit_test(times_in_their_partitions),
        cmocka_unit_test(numbers_out_of_range_bound_nothing),
        cmocka_unit_test(truncated_values),
        cmocka_unit_test(nulls_and_transforms_that_say_nothing),
        cmocka_unit_test(buckets_exclude_points),
        cmocka_unit_test(tuples_are_equal_by_bits),
        cmocka_unit_test(values_take_the_column_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
