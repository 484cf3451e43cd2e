/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "spark/url.h"

static void whole_strings_are_understood(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_spark_url url;
    assert_int_equal(lc_spark_url_parse("sc://spark.example.org", NULL, &arena, &url, NULL), LCDC_OK);
    assert_string_equal(url.host, "spark.example.org");
    assert_int_equal(url.port, 15002);
    assert_false(url.is_tls);
    assert_null(url.token);
    assert_null(url.session_id);
    assert_int_equal(lc_spark_url_parse("sc://h:1/;token=a%20b;user_id=me;user_agent=x;"
                                        "session_id=00112233-4455-6677-8899-aabbccddeeff;x-one=1;X-Two=%3B",
                                        NULL, &arena, &url, NULL),
                     LCDC_OK);
    assert_int_equal(url.port, 1);
    assert_string_equal(url.token, "a b");
    assert_true(url.is_tls);
    assert_string_equal(url.user_id, "me");
    assert_string_equal(url.user_agent, "x");
    assert_string_equal(url.session_id, "00112233-4455-6677-8899-aabbccddeeff");
    assert_int_equal(url.n_headers, 2);
    assert_string_equal(url.headers[0], "x-one: 1");
    assert_string_equal(url.headers[1], "X-Two: ;");
    assert_int_equal(url.n_secrets, 3);
    assert_int_equal(lc_spark_url_parse("sc://[::1]:7/;x-a=1;x-b=2;x-a=3", NULL, &arena, &url, NULL), LCDC_OK);
    assert_string_equal(url.host, "[::1]");
    assert_int_equal(url.port, 7);
    assert_int_equal(url.n_headers, 2);
    assert_string_equal(url.headers[0], "x-a: 3");
    assert_int_equal(lc_spark_url_parse("sc://LocalHost:", NULL, &arena, &url, NULL), LCDC_OK);
    assert_string_equal(url.host, "localhost");
    assert_int_equal(url.port, 15002);
}

/* As Spark's Python client decides it. */
static void a_token_turns_tls_on_except_for_localhost(void **state)
{
    (void)state;
    static const struct {
        const char *text, *env;
        bool tls;
    } cases[] = {
        {"sc://localhost/;token=t", NULL, false},
        {"sc://127.0.0.1/;token=t", NULL, true},
        {"sc://localhost/;token=t;use_ssl=true", NULL, true},
        {"sc://h/;use_ssl=TRUE", NULL, true},
        {"sc://h/;use_ssl=false", NULL, false},
        {"sc://h/;use_ssl=1", NULL, false},
        {"sc://h", "t", true},
        {"sc://localhost", "t", false},
        {"sc://h", "", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        struct lc_spark_url url;
        assert_int_equal(lc_spark_url_parse(cases[i].text, cases[i].env, &arena, &url, NULL), LCDC_OK);
        assert_int_equal(url.is_tls, cases[i].tls);
        assert_int_equal(url.token != NULL, cases[i].env ? *cases[i].env != 0 : strstr(cases[i].text, "token") != NULL);
    }
}

static void what_is_none_is_refused_without_its_secrets(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "sc://",
        "sc://:1",
        "sc://h:0",
        "sc://h:65536",
        "sc://h:x",
        "sc://h:1:2",
        "sc://[]",
        "sc://[::1",
        "sc://[::1]1",
        "sc://[h]",
        "sc://::1",
        "sc://h/;x=S3;",
        "sc://h/path",
        "sc://h;token=S3",
        "sc://u:S3@h",
        "sc://h/;S3",
        "sc://h/;=S3",
        "sc://h/;token=",
        "sc://h/;a=S3=b",
        "sc://h/;grpc-timeout=S3",
        "sc://h/;authorization=S3",
        "sc://h/;te=S3",
        "sc://h/;host=S3",
        "sc://h/;x-bin=S3",
        "sc://h/;x=S3%0d%0ay:%20z",
        "sc://h/;token=S3%0a",
        "sc://h/;session_id=S3",
        "sc://h/;a b=S3",
        "http://h",
        "sc://h/?token=S3",
        "sc://h/;x=S3%C3%BC",
        "sc://h/;user_agent=S3%01",
        "sc://h/;a=1;;token=S3",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        LC_ERROR lcdc_error *error = NULL;
        struct lc_spark_url url;
        if (lc_spark_url_parse(cases[i], NULL, &arena, &url, &error) != LCDC_INVALID_ARGUMENT)
            fail_msg("'%s' was taken", cases[i]);
        assert_string_equal(lcdc_error_reason(error), "spark.bad_url");
        if (strstr(lcdc_error_message(error), "S3") && !strstr(cases[i], ";S3")) /* a key without '=' may be shown */
            fail_msg("'%s' leaks in: %s", cases[i], lcdc_error_message(error));
    }
}

static void uuids(void **state)
{
    (void)state;
    assert_true(lc_is_uuid(LC_STR("00112233-4455-6677-8899-AABBccddeeff")));
    assert_false(lc_is_uuid(LC_STR("00112233-4455-6677-8899-aabbccddeefg")));
    assert_false(lc_is_uuid(LC_STR("00112233-4455-6677-8899-aabbccddeef")));
    assert_false(lc_is_uuid(LC_STR("00112233-4455-6677-8899-aabbccddeeff0")));
    assert_false(lc_is_uuid(LC_STR("001122334455-6677-8899-aabbccddeeff--")));
    assert_false(lc_is_uuid((struct lc_str){"00112233-4455-6677-8899-aabbccdd\0eff", 36}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_strings_are_understood),
        cmocka_unit_test(a_token_turns_tls_on_except_for_localhost),
        cmocka_unit_test(what_is_none_is_refused_without_its_secrets),
        cmocka_unit_test(uuids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
