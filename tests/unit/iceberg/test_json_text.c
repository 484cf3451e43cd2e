/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_text.c - parts that are cut out of a JSON text, and what is left of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iceberg/json_text.h"

/* "left|a|b": what is left, and the two values; "-" where the text cannot be followed. */
static void expect_cut(const char *text, const char *expected)
{
    static const char *const names[] = {"a", "b"};
    LC_BUF struct lc_buf rest = {.max = 1000}, found = {.max = 1000};
    struct lc_str values[2], alone[2];
    bool is_cut = lc_json_text_cut(lc_str_of(text), 2, names, values, &rest);
    assert_true(lc_json_text_cut(lc_str_of(text), 2, names, alone, NULL) == is_cut);
    if (is_cut) {
        lc_buf_printf(&found, "%s|%.*s|%.*s", rest.p, LC_STR_ARG(values[0]), LC_STR_ARG(values[1]));
        assert_true(alone[0].p == values[0].p && alone[1].n == values[1].n);
    }
    if (strcmp(is_cut ? found.p : "-", expected) != 0)
        fail_msg("%s: found %s, expected %s", text, is_cut ? found.p : "-", expected);
}

static void test_cut(void **state)
{
    (void)state;
    expect_cut("{}", "{}||");
    expect_cut(" { } ", " { } ||");
    expect_cut("{\"a\":1}", "{\"a\":null}|1|");
    expect_cut("{\"b\" : [1, {\"a\":2}] , \"c\":{\"a\":3}, \"a\":\"x\"}",
               "{\"b\" : null , \"c\":{\"a\":3}, \"a\":null}|\"x\"|[1, {\"a\":2}]");
    expect_cut("{\"a\":\"]}\\\"{\\\\\",\"b\":-1.5e3}", "{\"a\":null,\"b\":null}|\"]}\\\"{\\\\\"|-1.5e3");
    expect_cut("{\"a\":[\"[\",\"}\",\"\\\"]\"]}", "{\"a\":null}|[\"[\",\"}\",\"\\\"]\"]|");
    expect_cut("{\"a\":null,\"b\":true}", "{\"a\":null,\"b\":null}|null|true");
    expect_cut("{\"\\u0061\":1}", "{\"\\u0061\":1}||"); /* who parses it finds it */
    /* what is wrong elsewhere shows when the rest is parsed */
    expect_cut("{\"a\":1,\"c\":nonsense}x", "{\"a\":null,\"c\":nonsense}x|1|");
}

static void test_what_cannot_be_followed(void **state)
{
    static const char *const texts[] = {"",
                                        "  ",
                                        "[]",
                                        "1",
                                        "\"a\"",
                                        "{",
                                        "{\"a\"",
                                        "{\"a\":",
                                        "{\"a\":}",
                                        "{\"a\":1",
                                        "{\"a\":1,",
                                        "{\"a\":1,}",
                                        "{\"a\" 1}",
                                        "{a:1}",
                                        "{\"a\":[1}",
                                        "{\"a\":{\"b\":1}",
                                        "{\"a\":\"x}",
                                        "{\"a\":\"x\\\"}",
                                        "{\"a\":1 2}",
                                        "{\"a\":1,\"a\":2}",
                                        "{,\"a\":1}"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        expect_cut(texts[i], "-");
}

/* "1;2;" and a '!' where it breaks off. */
static void expect_elements(const char *text, const char *expected)
{
    LC_BUF struct lc_buf found = {.max = 1000};
    struct lc_str rest = lc_str_of(text), element;
    while (lc_json_text_next(&rest, &element))
        lc_buf_printf(&found, "%.*s;", LC_STR_ARG(element));
    lc_buf_text(&found, rest.n ? "!" : "");
    if (strcmp(found.p, expected) != 0)
        fail_msg("%s: found %s, expected %s", text, found.p, expected);
}

static void test_elements(void **state)
{
    (void)state;
    expect_elements("[]", "");
    expect_elements(" [ ] ", "");
    expect_elements("[1]", "1;");
    expect_elements("[ {\"a\":[1,2]} , \"x,]\" ,[3] ]", "{\"a\":[1,2]};\"x,]\";[3];");
    expect_elements("[1,]", "1;!");
    expect_elements("[,1]", "!");
    expect_elements("[1 2]", "!");
    expect_elements("[1[2]", "!");
    expect_elements("[1}", "!");
    expect_elements("{1}", "!");
    expect_elements("[1:2]", "!");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_what_cannot_be_followed),
        cmocka_unit_test(test_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
