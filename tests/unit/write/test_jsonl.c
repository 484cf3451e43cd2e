/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jsonl.c - the JSONL format loses nothing: what it writes is read back by tests/support/json_rows.c, which shares
 * no code with it, and compared buffer by buffer through a second writing; the text itself is compared too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/change_batch.h"
#include "support/torture.h"
#include "write/text.h"

#define OF(k)                                                                                                          \
    {                                                                                                                  \
        .name = "c", .physical = "c", .id = LC_NO_ID, .type = {.kind = k }                                             \
    }
#define NESTED(k, c)                                                                                                   \
    {                                                                                                                  \
        .name = "c", .id = LC_NO_ID, .type = {.kind = k}, .n_children = sizeof(c) / sizeof((c)[0]), .children = c      \
    }

static struct lc_field an_int = OF(LC_TYPE_INT32);
static struct lc_field pair[] = {{.name = "key", .type = {.kind = LC_TYPE_STRING}},
                                 {.name = "value", .type = {.kind = LC_TYPE_DOUBLE}}};
static struct lc_field parts[] = {
    {.name = "a", .type = {.kind = LC_TYPE_INT64}},
    {.name = "b \"x\"", .type = {.kind = LC_TYPE_LIST}, .n_children = 1, .children = &an_int}};

/* Values of one type in their one spelling; the array of them must come out as it went in. */
static const struct {
    struct lc_field field;
    const char *rows;
} types[] = {
    {OF(LC_TYPE_NULL), "[null,null]"},
    {OF(LC_TYPE_BOOL), "[true,false,null]"},
    {OF(LC_TYPE_INT8), "[0,127,-128,null]"},
    {OF(LC_TYPE_INT16), "[0,32767,-32768,null]"},
    {OF(LC_TYPE_INT32), "[0,2147483647,-2147483648,null]"},
    {OF(LC_TYPE_INT64), "[0,9223372036854775807,-9223372036854775808,9007199254740993,null,-1,10,100]"},
    {OF(LC_TYPE_FLOAT),
     "[0.0,-0.0,0.1,1.5,3.4028235e+38,1e-45,1.1754944e-38,16777216.0,\"NaN\",\"Infinity\",\"-Infinity\",null]"},
    {OF(LC_TYPE_DOUBLE),
     "[0.0,-0.0,0.1,0.3,1.5,1.7976931348623157e+308,5e-324,2.2250738585072014e-308,1.2345678901234568e+17,1e+22,"
     "0.30000000000000004,\"NaN\",\"Infinity\",\"-Infinity\",null]"},
    {{.name = "c", .type = {.kind = LC_TYPE_DECIMAL, .precision = 10, .scale = 2}},
     "[\"0.00\",\"1.50\",\"-1.50\",\"99999999.99\",\"-99999999.99\",\"0.01\",\"-0.01\",null]"},
    {{.name = "c", .type = {.kind = LC_TYPE_DECIMAL, .precision = 38, .scale = 38}},
     "[\"0.99999999999999999999999999999999999999\",\"-0.00000000000000000000000000000000000001\"]"},
    {{.name = "c", .type = {.kind = LC_TYPE_DECIMAL, .precision = 38}},
     "[\"99999999999999999999999999999999999999\",\"-99999999999999999999999999999999999999\",\"0\"]"},
    {OF(LC_TYPE_DATE),
     "[\"1970-01-01\",\"1969-12-31\",\"2024-02-29\",\"9999-12-31\",\"0001-01-01\",\"+10000-01-01\",null]"},
    {OF(LC_TYPE_TIME), "[\"00:00:00.000000\",\"23:59:59.999999\",\"12:30:05.000001\",null]"},
    {OF(LC_TYPE_TIMESTAMP_TZ),
     "[\"1970-01-01T00:00:00.000000Z\",\"1969-12-31T23:59:59.999999Z\",\"9999-12-31T23:59:59.999999Z\","
     "\"0001-01-01T00:00:00.000000Z\",\"+294247-01-10T04:00:54.775807Z\",null]"},
    {OF(LC_TYPE_TIMESTAMP), "[\"1970-01-01T00:00:00.000000\",\"1969-12-31T23:59:59.999999\",null]"},
    {OF(LC_TYPE_TIMESTAMP_NS_TZ),
     "[\"1970-01-01T00:00:00.000000000Z\",\"1969-12-31T23:59:59.999999999Z\",\"2262-04-11T23:47:16.854775807Z\",null]"},
    {OF(LC_TYPE_TIMESTAMP_NS), "[\"1677-09-21T00:12:43.145224192\",\"2024-02-29T12:00:00.000000001\",null]"},
    {OF(LC_TYPE_STRING), "[\"\",\"plain\",\"\\\"quoted\\\" \\\\ "
                         "/\",\"\\t\\n\\r\\u0000\\u001f\\u007f\",\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\",null]"},
    {OF(LC_TYPE_BINARY), "[\"\",\"AA==\",\"AAE=\",\"AAEC\",\"AAECAw==\",\"/////w==\",\"+/8=\",null]"},
    {{.name = "c", .type = {.kind = LC_TYPE_FIXED, .length = 3}}, "[\"AAEC\",\"////\",null]"},
    {OF(LC_TYPE_UUID), "[\"00000000-0000-0000-0000-000000000000\",\"12345678-9abc-def0-1234-56789abcdef0\",null]"},
    {{.name = "c", .type = {.kind = LC_TYPE_LIST}, .n_children = 1, .children = &an_int},
     "[[],[1],[1,null,3],null,[4]]"},
    {NESTED(LC_TYPE_MAP, pair), "[[],[[\"a\",1.5]],[[\"b\",null],[\"a\",\"NaN\"]],null]"},
    {NESTED(LC_TYPE_STRUCT, parts),
     "[{\"a\":1,\"b \\\"x\\\"\":[1,2]},{\"a\":null,\"b \\\"x\\\"\":null},null,{\"a\":-1,\"b \\\"x\\\"\":[]}]"},
};

static char *written(const struct lc_field *field, const struct ArrowArray *array)
{
    struct lc_buf out;
    lc_buf_init(&out, LC_BUF_MAX);
    lc_buf_char(&out, '[');
    for (int64_t i = 0; i < array->length; i++) {
        if (i)
            lc_buf_char(&out, ',');
        lc_text_json(&out, field, array, i);
    }
    lc_buf_char(&out, ']');
    return lc_buf_take(&out);
}

static void every_type_round_trips(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (int pad = 0; pad < 4; pad += 3) {
            struct ArrowArray array, again;
            assert_true(json_rows(types[i].rows, &types[i].field, pad, &array));
            char *text = written(&types[i].field, &array);
            assert_string_equal(text, types[i].rows);
            assert_true(json_rows(text, &types[i].field, 0, &again));
            char *reread = written(&types[i].field, &again);
            assert_string_equal(reread, text);
            lc_free(text);
            lc_free(reread);
            array.release(&array);
            again.release(&again);
        }
}

/* Bits a decimal text cannot be trusted to: every float whose bits are a pattern of a few, and their neighbours. */
static void floats_keep_their_bits(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 20000; k++) {
        uint64_t bits = k * UINT64_C(0x9E3779B97F4A7C15);
        double value, back;
        float narrow, narrow_back;
        char text[32];
        memcpy(&value, &bits, sizeof(value));
        memcpy(&narrow, &bits, sizeof(narrow));
        if (value - value == 0) {
            lc_print_f64(value, text);
            back = strtod(text, NULL);
            assert_memory_equal(&back, &value, sizeof(back));
        }
        if (narrow - narrow == 0) {
            lc_print_f32(narrow, text);
            narrow_back = (float)strtod(text, NULL);
            assert_memory_equal(&narrow_back, &narrow, sizeof(narrow));
        }
    }
}

static void whole_lines(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 2);
    assert_int_equal(change_write("jsonl", &t, NULL), LCDC_OK);
    assert_string_equal(
        t.text,
        "{\"op\":\"insert\",\"before\":null,\"after\":{\"id\":1,\"name\":\"a\"},\"snapshot\":3,"
        "\"ts\":\"2024-02-29T12:00:00.000000Z\"}\n"
        "{\"op\":\"delete\",\"before\":{\"id\":2,\"name\":null},\"after\":null,\"snapshot\":3,"
        "\"ts\":\"2024-02-29T12:00:00.000000Z\"}\n"
        "{\"op\":\"update\",\"before\":{\"id\":3,\"name\":\"\"},\"after\":{\"id\":3,\"name\":\"b,\\\"c\\\"\"},"
        "\"snapshot\":4,"
        "\"ts\":\"2024-03-01T00:00:00.000001Z\"}\n"
        "{\"op\":\"update_before\",\"before\":{\"id\":4,\"name\":\"x\"},\"after\":null,\"snapshot\":null,\"ts\":null}\n"
        "{\"op\":\"update_after\",\"before\":null,\"after\":{\"id\":4,\"name\":\"\xE4\xB8\x96\\u001b[31m\"},"
        "\"snapshot\":null,\"ts\":null}\n");
    change_done(&t);
}

/* Two fields of one name are both written. */
static void double_names(void **state)
{
    (void)state;
    static struct lc_field twins[] = {OF(LC_TYPE_INT32), OF(LC_TYPE_INT32)};
    const struct lc_field field = NESTED(LC_TYPE_STRUCT, twins);
    struct ArrowArray array;
    assert_true(json_rows("[{\"c\":1}]", &field, 0, &array));
    char *text = written(&field, &array);
    assert_string_equal(text, "[{\"c\":1,\"c\":1}]");
    lc_free(text);
    array.release(&array);
}

static lcdc_status write_all(void *context, lcdc_error **err)
{
    return change_write("jsonl", context, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct lc_change_batch_test t;
    change_batch(&t, 0);
    assert_true(lc_torture(write_all, &t));
    change_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_round_trips),
        cmocka_unit_test(floats_keep_their_bits),
        cmocka_unit_test(whole_lines),
        cmocka_unit_test(double_names),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
