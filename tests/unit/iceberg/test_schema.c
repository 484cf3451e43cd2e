/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/value.h"
#include "iceberg/schema.h"
#include "support/torture.h"

struct parsed {
    struct lc_arena arena;
    struct json_t *json, *mapping;
    struct lc_iceberg_names names;
    struct lc_field root;
};

static void parsed_done(struct parsed *p)
{
    lc_json_free(p->json);
    lc_json_free(p->mapping);
    lc_arena_done(&p->arena);
}

static lcdc_status parse(const char *fields, const char *mapping, struct parsed *out, lcdc_error **err)
{
    LC_BUF struct lc_buf text;
    lc_buf_init(&text, LC_BUF_MAX);
    lc_buf_printf(&text, "{\"type\":\"struct\",\"schema-id\":3,\"fields\":[%s]}", fields);
    LC_TRY_BUF(&text);
    LC_TRY(lc_json_parse((struct lc_str){text.p, text.n}, &out->json, err));
    if (mapping) {
        LC_TRY(lc_json_parse(lc_str_of(mapping), &out->mapping, err));
        LC_TRY(lc_iceberg_names_parse(out->mapping, &out->arena, &out->names, err));
    }
    return lc_iceberg_schema_parse(out->json, &out->names, &out->arena, &out->root, err);
}

static void assert_refused(const char *fields, lcdc_status expected, const char *says)
{
    LC_CLEANUP(parsed_done) struct parsed p = {0};
    LC_ERROR lcdc_error *err = NULL;
    lcdc_status status = parse(fields, NULL, &p, &err);
    if (status != expected || !strstr(lcdc_error_message(err), says))
        fail_msg("%s: %s: \"%s\" does not say \"%s\"", fields, lcdc_status_name(status), lcdc_error_message(err), says);
}

static void every_primitive_type(void **state)
{
    static const struct {
        const char *text;
        struct lc_type type;
    } types[] = {{"boolean", {.kind = LC_TYPE_BOOL}},
                 {"int", {.kind = LC_TYPE_INT32}},
                 {"long", {.kind = LC_TYPE_INT64}},
                 {"float", {.kind = LC_TYPE_FLOAT}},
                 {"double", {.kind = LC_TYPE_DOUBLE}},
                 {"date", {.kind = LC_TYPE_DATE}},
                 {"time", {.kind = LC_TYPE_TIME}},
                 {"timestamp", {.kind = LC_TYPE_TIMESTAMP}},
                 {"timestamptz", {.kind = LC_TYPE_TIMESTAMP_TZ}},
                 {"timestamp_ns", {.kind = LC_TYPE_TIMESTAMP_NS}},
                 {"timestamptz_ns", {.kind = LC_TYPE_TIMESTAMP_NS_TZ}},
                 {"string", {.kind = LC_TYPE_STRING}},
                 {"uuid", {.kind = LC_TYPE_UUID}},
                 {"binary", {.kind = LC_TYPE_BINARY}},
                 {"unknown", {.kind = LC_TYPE_NULL}},
                 {"fixed[16]", {.kind = LC_TYPE_FIXED, .length = 16}},
                 {"decimal(9,2)", {.kind = LC_TYPE_DECIMAL, .precision = 9, .scale = 2}},
                 {"decimal(38, 38)", {.kind = LC_TYPE_DECIMAL, .precision = 38, .scale = 38}}};
    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct lc_type type = {0};
        assert_true(lc_iceberg_type_parse(lc_str_of(types[i].text), &type));
        assert_true(lc_type_equal(type, types[i].type));
    }
    static const char *const none[] = {"integer",
                                       "",
                                       "Long",
                                       "decimal",
                                       "decimal(9)",
                                       "decimal(0,0)",
                                       "decimal(39,0)",
                                       "decimal(9,10)",
                                       "decimal(9,-1)",
                                       "decimal(9,2,1)",
                                       "decimal(9,2",
                                       "decimal9,2)",
                                       "fixed",
                                       "fixed[0]",
                                       "fixed[-1]",
                                       "fixed[]",
                                       "fixed[99999999999]",
                                       "fixed(4)",
                                       "geometry",
                                       "long ",
                                       "decimal(,)"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        struct lc_type type;
        assert_false(lc_iceberg_type_parse(lc_str_of(none[i]), &type));
    }
}

#define NESTED                                                                                                         \
    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"                                                  \
    "{\"id\":2,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":5,\"element-required\":"   \
    "true,\"element\":{\"type\":\"struct\",\"fields\":[{\"id\":6,\"name\":\"a\",\"required\":false,\"type\":\"int\","  \
    "\"initial-default\":7}]}}},"                                                                                      \
    "{\"id\":3,\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":8,\"key\":\"string\","          \
    "\"value-id\":9,\"value\":\"double\",\"value-required\":false}},"                                                  \
    "{\"id\":4,\"name\":\"v\",\"required\":false,\"type\":\"variant\"}"

static void ids_at_every_level(void **state)
{
    (void)state;
    LC_CLEANUP(parsed_done) struct parsed p = {0};
    const struct lc_field *top = NULL;
    assert_int_equal(parse(NESTED, NULL, &p, NULL), LCDC_OK);
    assert_int_equal(p.root.n_children, 4);
    assert_false(p.root.children[0].nullable);
    assert_true(p.root.children[1].nullable);
    assert_false(p.root.children[1].children[0].nullable);
    assert_int_equal(p.root.children[1].children[0].id, 5);
    const struct lc_field *a = lc_iceberg_field_find(&p.root, 6, &top);
    assert_string_equal(a->name, "a");
    assert_string_equal(top->name, "l");
    assert_true(a->initial_default->i == 7);
    assert_false(p.root.children[2].children[0].nullable); /* a key */
    assert_int_equal(lc_iceberg_field_find(&p.root, 9, NULL)->type.kind, LC_TYPE_DOUBLE);
    assert_true(p.root.children[3].is_variant);
    assert_int_equal(p.root.children[3].n_children, 2);
    assert_null(lc_iceberg_field_find(&p.root, 10, &top));
}

static void names_of_files_without_ids(void **state)
{
    (void)state;
    LC_CLEANUP(parsed_done) struct parsed p = {0};
    assert_int_equal(
        parse(NESTED,
              "[{\"field-id\":2,\"names\":[\"l\",\"list\"],\"fields\":[{\"field-id\":5,\"names\":[\"element\"],"
              "\"fields\":[{\"field-id\":6,\"names\":[\"old a\",7]}]}]},{\"names\":[\"nobody\"]}]",
              &p, NULL),
        LCDC_OK);
    assert_int_equal(p.root.children[0].n_aliases, 0);
    assert_int_equal(p.root.children[1].n_aliases, 2);
    assert_string_equal(p.root.children[1].aliases[1], "list");
    const struct lc_field *a = lc_iceberg_field_find(&p.root, 6, NULL);
    assert_int_equal(a->n_aliases, 1);
    assert_string_equal(a->aliases[0], "old a");
}

static const struct lc_value *default_of(struct parsed *p, const char *type, const char *json)
{
    LC_BUF struct lc_buf text;
    lc_buf_init(&text, 4096);
    lc_buf_printf(&text, "{\"id\":1,\"name\":\"c\",\"required\":false,\"type\":\"%s\",\"initial-default\":%s}", type,
                  json);
    parsed_done(p);
    *p = (struct parsed){0};
    return parse(text.p, NULL, p, NULL) == LCDC_OK ? p->root.children[0].initial_default : NULL;
}

static void defaults_of_every_type(void **state)
{
    (void)state;
    LC_CLEANUP(parsed_done) struct parsed p = {0};
    assert_true(default_of(&p, "boolean", "true")->b);
    assert_true(default_of(&p, "int", "-5")->i == -5);
    assert_true(default_of(&p, "long", "1099511627776")->i == 1099511627776);
    assert_true(default_of(&p, "float", "0.1")->f == (double)0.1f);
    assert_true(default_of(&p, "double", "3")->f == 3);
    assert_true(default_of(&p, "decimal(9, 2)", "\"-14.20\"")->dec == -1420);
    assert_true(default_of(&p, "date", "\"2017-11-16\"")->i == 17486);
    assert_true(default_of(&p, "time", "\"22:31:08.123456\"")->i == 81068123456);
    assert_true(default_of(&p, "timestamp", "\"2017-11-16T22:31:08.123456\"")->i == 1510871468123456);
    assert_true(default_of(&p, "timestamptz", "\"2017-11-16T22:31:08.123456+00:00\"")->i == 1510871468123456);
    assert_true(default_of(&p, "timestamp_ns", "\"2017-11-16T22:31:08.123456789\"")->i == 1510871468123456789);
    assert_int_equal(default_of(&p, "string", "\"it's\"")->str.n, 4);
    assert_int_equal(default_of(&p, "uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"")->str.n, 16);
    const struct lc_value *fixed = default_of(&p, "fixed[2]", "\"00fF\"");
    assert_memory_equal(fixed->str.p, "\x00\xff", 2);
    assert_int_equal(default_of(&p, "binary", "\"\"")->str.n, 0);
    assert_null(default_of(&p, "int", "null"));
}

static void defaults_that_do_not_fit(void **state)
{
    static const char *const bad[][2] = {
        {"int", "2147483648"},         {"int", "1.5"},         {"int", "\"x\""},     {"boolean", "1"},
        {"fixed[2]", "\"00\""},        {"binary", "\"0\""},    {"binary", "\"zz\""}, {"date", "\"2017\""},
        {"decimal(9,2)", "\"1.234\""}, {"double", "\"nope\""}, {"string", "7"},      {"long", "true"},
        {"uuid", "\"f79c3e09\""},      {"long", "{}"}};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        LC_BUF struct lc_buf text;
        lc_buf_init(&text, 4096);
        lc_buf_printf(&text, "{\"id\":1,\"name\":\"c\",\"type\":\"%s\",\"initial-default\":%s}", bad[i][0], bad[i][1]);
        assert_refused(text.p, LCDC_CORRUPT, "initial default");
    }
    assert_refused("{\"id\":1,\"name\":\"c\",\"type\":{\"type\":\"struct\",\"fields\":[]},\"initial-default\":{}}",
                   LCDC_UNSUPPORTED, "nested");
}

static void damaged_schemas(void **state)
{
    (void)state;
    assert_refused("{\"id\":1,\"type\":\"int\"}", LCDC_CORRUPT, "no name");
    assert_refused("{\"id\":1,\"name\":\"a\\u0000b\",\"type\":\"int\"}", LCDC_CORRUPT, "no name");
    assert_refused("{\"name\":\"a\",\"type\":\"int\"}", LCDC_CORRUPT, "no id");
    assert_refused("{\"id\":-1,\"name\":\"a\",\"type\":\"int\"}", LCDC_CORRUPT, "no id");
    assert_refused("{\"id\":2147483540,\"name\":\"a\",\"type\":\"int\"}", LCDC_CORRUPT, "no id");
    assert_refused("{\"id\":1,\"name\":\"a\"}", LCDC_CORRUPT, "type is missing");
    assert_refused("{\"id\":1,\"name\":\"a\",\"type\":7}", LCDC_CORRUPT, "type is missing");
    assert_refused("{\"id\":1,\"name\":\"a\",\"type\":\"geometry\"}", LCDC_UNSUPPORTED, "geometry");
    assert_refused("{\"id\":1,\"name\":\"a\",\"type\":{\"type\":\"variant\"}}", LCDC_UNSUPPORTED, "variant");
    assert_refused("{\"id\":1,\"name\":\"a\",\"type\":{\"type\":\"list\"}}", LCDC_CORRUPT, "element-id");
    assert_refused("{\"id\":1,\"name\":\"a\",\"type\":{\"type\":\"map\",\"key-id\":2,\"key\":\"int\"}}", LCDC_CORRUPT,
                   "value-id");
    assert_refused("{\"id\":1,\"name\":\"a\",\"type\":\"int\"},{\"id\":1,\"name\":\"b\",\"type\":\"int\"}",
                   LCDC_CORRUPT, "field id 1 twice");
    assert_refused("{\"id\":1,\"name\":\"a\",\"type\":\"int\"},{\"id\":2,\"name\":\"a\",\"type\":\"int\"}",
                   LCDC_CORRUPT, "occurs twice");
}

static void depth_is_bounded(void **state)
{
    (void)state;
    LC_BUF struct lc_buf text;
    lc_buf_init(&text, LC_BUF_MAX);
    lc_buf_text(&text, "{\"id\":1,\"name\":\"a\",\"type\":");
    for (int i = 0; i < LC_MAX_DEPTH + 1; i++)
        lc_buf_printf(&text, "{\"type\":\"list\",\"element-id\":%d,\"element\":", 100 + i);
    lc_buf_text(&text, "\"int\"");
    for (int i = 0; i < LC_MAX_DEPTH + 1; i++)
        lc_buf_char(&text, '}');
    lc_buf_char(&text, '}');
    assert_refused(text.p, LCDC_CORRUPT, "too deeply");
}

static lcdc_status parse_nested(void *context, lcdc_error **err)
{
    (void)context;
    LC_CLEANUP(parsed_done) struct parsed p = {0};
    return parse(NESTED, "[{\"field-id\":2,\"names\":[\"l\"]}]", &p, err);
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_true(lc_torture(parse_nested, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_primitive_type),       cmocka_unit_test(ids_at_every_level),
        cmocka_unit_test(names_of_files_without_ids), cmocka_unit_test(defaults_of_every_type),
        cmocka_unit_test(defaults_that_do_not_fit),   cmocka_unit_test(damaged_schemas),
        cmocka_unit_test(depth_is_bounded),           cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
