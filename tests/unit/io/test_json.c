/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "io/json.h"
#include "support/torture.h"

static struct json_t *parse(const char *text)
{
    struct json_t *json = NULL;
    assert_int_equal(lc_json_parse(lc_str_of(text), &json, NULL), LCDC_OK);
    return json;
}

static void members_are_found_by_type(void **state)
{
    (void)state;
    LC_JSON struct json_t *json = parse(
        "{\"s\":\"t\\u00e9\\u0000x\",\"i\":-9223372036854775808,\"f\":1.5,\"b\":true,\"n\":null,\"a\":[1,2]}");
    struct lc_str text;
    int64_t number;
    double real;
    bool flag = false;
    assert_true(lc_json_is_object(json));
    assert_int_equal(lc_json_count(json), 6);
    assert_true(lc_json_get_str(json, "s", &text));
    assert_int_equal(text.n, 5);
    assert_memory_equal(text.p, "t\xC3\xA9\0x", 5);
    assert_true(lc_json_get_i64(json, "i", &number));
    assert_true(number == INT64_MIN);
    assert_true(lc_json_f64(lc_json_member(json, "f"), &real));
    assert_true(real == 1.5);
    assert_true(lc_json_f64(lc_json_at(lc_json_member(json, "a"), 1), &real));
    assert_true(real == 2);
    assert_true(lc_json_get_bool(json, "b", &flag));
    assert_true(flag);
    assert_true(lc_json_is_number(lc_json_member(json, "f")));
    assert_true(lc_json_is_string(lc_json_member(json, "s")));
    assert_true(lc_json_is_array(lc_json_member(json, "a")));
    assert_int_equal(lc_json_count(lc_json_member(json, "a")), 2);
}

static void absence_and_other_types_answer_no(void **state)
{
    (void)state;
    LC_JSON struct json_t *json = parse("{\"s\":\"1\",\"f\":1.0,\"n\":null,\"a\":[null]}");
    struct lc_str text;
    int64_t number;
    bool flag;
    double real;
    assert_null(lc_json_member(json, "none"));
    assert_null(lc_json_member(json, "n"));
    assert_null(lc_json_member(NULL, "s"));
    assert_null(lc_json_member(lc_json_member(json, "a"), "s"));
    assert_null(lc_json_at(json, 0));
    assert_null(lc_json_at(lc_json_member(json, "a"), 1));
    assert_true(lc_json_is_null(lc_json_at(lc_json_member(json, "a"), 0)));
    assert_false(lc_json_is_null(NULL));
    assert_false(lc_json_get_i64(json, "s", &number));
    assert_false(lc_json_get_i64(json, "f", &number));
    assert_false(lc_json_get_str(json, "f", &text));
    assert_false(lc_json_get_bool(json, "n", &flag));
    assert_false(lc_json_f64(NULL, &real));
    assert_int_equal(lc_json_count(NULL), 0);
    assert_int_equal(lc_json_count(lc_json_member(json, "s")), 0);
}

static void members_come_in_their_order(void **state)
{
    (void)state;
    LC_JSON struct json_t *json = parse("{\"z\":1,\"a\":2,\"m\":3}");
    struct lc_str key;
    struct json_t *value;
    char seen[4] = {0};
    size_t n = 0;
    for (void *at = NULL; lc_json_next(json, &at, &key, &value);) {
        int64_t number;
        seen[n++] = key.p[0];
        assert_true(lc_json_i64(value, &number));
        assert_int_equal(number, n);
    }
    assert_string_equal(seen, "zam");
    void *at = NULL;
    assert_false(lc_json_next(NULL, &at, &key, &value));
}

static void text_that_is_not_json_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        " ",
        "{",
        "{}x",
        "{} {}",
        "{\"a\":1,\"a\":2}",       /* which one is meant? */
        "{\"a\":1,\"\\u0061\":2}", /* the same, hidden */
        "9223372036854775808",     /* one past int64 */
        "[-9223372036854775809]",
        "1e999",
        "[1,]",
        "{a:1}",
        "'a'",
        "01",
        "NaN",
        "\"\xff\"",
        "\"\\ud800\"",
        "\"a",
        "/* */ 1",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
        struct json_t *json = NULL;
        assert_int_equal(lc_json_parse(lc_str_of(cases[i]), &json, &err), LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(err), "json.bad");
        assert_null(json);
    }
}

static void errors_name_line_and_column(void **state)
{
    (void)state;
    LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
    struct json_t *json = NULL;
    assert_int_equal(lc_json_parse(LC_STR("{\n \"a\": x}"), &json, &err), LCDC_CORRUPT);
    assert_non_null(strstr(lcdc_error_message(err), "line 2, column 7"));
}

static void bytes_after_the_length_are_not_read(void **state)
{
    (void)state;
    LC_JSON struct json_t *json = NULL;
    assert_int_equal(lc_json_parse((struct lc_str){"12345", 2}, &json, NULL), LCDC_OK);
    int64_t number;
    assert_true(lc_json_i64(json, &number));
    assert_int_equal(number, 12);
}

static lcdc_status parse_nested(size_t depth, char open, char close)
{
    char text[2 * LC_JSON_MAX_DEPTH + 8];
    struct json_t *json = NULL;
    assert_true(2 * depth < sizeof(text));
    memset(text, open, depth);
    memset(text + depth, close, depth);
    lcdc_status status = lc_json_parse((struct lc_str){text, 2 * depth}, &json, NULL);
    lc_json_free(json);
    return status;
}

static void depth_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(parse_nested(LC_JSON_MAX_DEPTH, '[', ']'), LCDC_OK);
    assert_int_equal(parse_nested(LC_JSON_MAX_DEPTH + 1, '[', ']'), LCDC_CORRUPT);
    static char brackets[5000];
    memset(brackets, '[', sizeof(brackets));
    brackets[0] = brackets[4999] = '"';
    LC_JSON struct json_t *json = NULL;
    assert_int_equal(lc_json_parse((struct lc_str){brackets, sizeof(brackets)}, &json, NULL), LCDC_OK);
    brackets[1] = '\\'; /* an escaped quote does not end the string */
    brackets[2] = '"';
    struct json_t *escaped = NULL;
    assert_int_equal(lc_json_parse((struct lc_str){brackets, sizeof(brackets)}, &escaped, NULL), LCDC_OK);
    lc_json_free(escaped);
}

static void printing_is_compact_and_exact(void **state)
{
    (void)state;
    static const char
        text[] = "{\"z\":[1,-2,0.1,1e+300,true,false,null,[],{}],\"a\\\"\\n\":{\"\xC3\xA9\":\"\\u0000\\\\\"},"
                 "\"i\":9223372036854775807}";
    LC_JSON struct json_t *json = parse(text);
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 1000);
    lc_json_print(json, &buf);
    assert_string_equal(buf.p, text);
}

static lcdc_status parse_and_print(void *context, lcdc_error **err)
{
    (void)context;
    LC_JSON struct json_t *json = NULL;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 1000);
    LC_TRY(lc_json_parse(LC_STR("{\"a\":[1,\"two\",{\"three\":3.0}]}"), &json, err));
    lc_json_print(json, &buf);
    LC_TRY_BUF(&buf);
    return LCDC_OK;
}

static lcdc_status refuse(void *context, lcdc_error **err)
{
    (void)context;
    struct json_t *json = NULL;
    lcdc_status status = lc_json_parse(LC_STR("{\"a\":1,\"a\":2}"), &json, err);
    if (status == LCDC_CORRUPT) { /* told in full: as good as a success here */
        lcdc_error_free(*err);
        *err = NULL;
        return LCDC_OK;
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(lc_torture(parse_and_print, NULL));
    assert_true(lc_torture(refuse, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_by_type),
        cmocka_unit_test(absence_and_other_types_answer_no),
        cmocka_unit_test(members_come_in_their_order),
        cmocka_unit_test(text_that_is_not_json_is_refused),
        cmocka_unit_test(errors_name_line_and_column),
        cmocka_unit_test(bytes_after_the_length_are_not_read),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(printing_is_compact_and_exact),
        cmocka_unit_test(every_allocation_may_fail),
    };
    json_set_alloc_funcs(lc_alloc, lc_free); /* a test program may: jansson's allocations fail too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
