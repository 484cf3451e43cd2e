/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_schema.c - schemaString as columns, column mapping, type changes, and the protocol gate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "delta/schema.h"
#include "support/torture.h"

static lcdc_status parse(const char *schema, const char *mode, struct lc_arena *arena, struct lc_field *out,
                         enum lc_match *match, lcdc_error **err)
{
    struct lc_delta_pair pair = {.key = LC_STR("delta.columnMapping.mode"), .value = lc_str_of(mode ? mode : "")};
    struct lc_delta_metadata metadata = {
        .schema = lc_str_of(schema), .n_configuration = mode ? 1 : 0, .configuration = &pair};
    return lc_delta_schema_parse(&metadata, arena, out, match, err);
}

#define STRUCT(fields) "{\"type\":\"struct\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type ",\"nullable\":true,\"metadata\":{}}"

static void expect_type(const char *type, const char *sql)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_ERROR lcdc_error *err = NULL;
    LC_BUF struct lc_buf text;
    struct lc_field out;
    enum lc_match match;
    char schema[1024];
    snprintf(schema, sizeof(schema), STRUCT(FIELD("c", "%s")), type);
    if (parse(schema, NULL, &arena, &out, &match, &err) != LCDC_OK)
        fail_msg("%s: %s", type, lcdc_error_message(err));
    lc_buf_init(&text, 1000);
    lc_type_print(&text, &out.children[0]);
    assert_string_equal(text.p, sql);
    assert_int_equal(match, LC_MATCH_PHYSICAL_NAME);
}

static void test_types(void **state)
{
    (void)state;
    static const char *const types[][2] = {
        {"\"string\"", "string"},
        {"\"long\"", "bigint"},
        {"\"integer\"", "int"},
        {"\"short\"", "smallint"},
        {"\"byte\"", "tinyint"},
        {"\"float\"", "float"},
        {"\"double\"", "double"},
        {"\"boolean\"", "boolean"},
        {"\"binary\"", "binary"},
        {"\"date\"", "date"},
        {"\"timestamp\"", "timestamp"},
        {"\"timestamp_ntz\"", "timestamp_ntz"},
        {"\"decimal\"", "decimal(10,0)"},
        {"\"decimal(38,18)\"", "decimal(38,18)"},
        {"\"decimal(5, 2)\"", "decimal(5,2)"},
        {"\"varchar(10)\"", "string"},
        {"\"char(3)\"", "string"},
        {"{\"type\":\"array\",\"elementType\":\"long\",\"containsNull\":true}", "array<bigint>"},
        {"{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":" STRUCT(
             FIELD("x", "\"date\"")) ",\"valueContainsNull\":true}",
         "map<string,struct<x:date>>"},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        expect_type(types[i][0], types[i][1]);
}

static void expect_refused(const char *schema, const char *mode, const char *reason, const char *word)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_ERROR lcdc_error *err = NULL;
    struct lc_field out;
    enum lc_match match;
    if (parse(schema, mode, &arena, &out, &match, &err) == LCDC_OK)
        fail_msg("%s was accepted", schema);
    assert_string_equal(lcdc_error_reason(err), reason);
    if (!strstr(lcdc_error_message(err), word))
        fail_msg("%s has no '%s'", lcdc_error_message(err), word);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("", NULL, "json.bad", "schemaString");
    expect_refused("{\"type\":\"array\"}", NULL, "schema.bad", "root");
    expect_refused("{\"type\":\"struct\"}", NULL, "schema.bad", "list of fields");
    expect_refused(STRUCT("{\"type\":\"long\"}"), NULL, "schema.bad", "no name");
    expect_refused(STRUCT("{\"name\":\"a\"}"), NULL, "schema.bad", "'a'");
    expect_refused(STRUCT(FIELD("a", "\"interval\"")), NULL, "schema.type_unsupported", "'interval'");
    expect_refused(STRUCT(FIELD("a", "\"decimal(39,2)\"")), NULL, "schema.type_unsupported", "decimal(39,2)");
    expect_refused(STRUCT(FIELD("a", "\"decimal(5,6)\"")), NULL, "schema.type_unsupported", "decimal(5,6)");
    expect_refused(STRUCT(FIELD("a", "\"decimal(,)\"")), NULL, "schema.type_unsupported", "decimal");
    expect_refused(STRUCT(FIELD("a", "{\"type\":\"set\"}")), NULL, "schema.type_unsupported", "'set'");
    expect_refused(STRUCT(FIELD("a", "\"long\"") "," FIELD("a", "\"long\"")), NULL, "schema.bad", "twice");
    expect_refused(STRUCT(FIELD("a", "\"long\"")), "label", "delta.unknown_feature", "'label'");
    expect_refused(STRUCT(FIELD("a", "\"long\"")), "name", "schema.bad", "physical name");
}

static void test_nesting_is_bounded(void **state)
{
    (void)state;
    LC_BUF struct lc_buf schema;
    lc_buf_init(&schema, 1 << 20);
    for (int i = 0; i < 150; i++)
        lc_buf_text(&schema, "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":");
    lc_buf_text(&schema, "\"long\"");
    for (int i = 0; i < 150; i++)
        lc_buf_text(&schema, "}]}");
    expect_refused(schema.p, NULL, "schema.bad", "too deeply");
}

#define MAPPED(name, physical, id)                                                                                     \
    "{\"name\":\"" name "\",\"type\":\"long\",\"nullable\":true,\"metadata\":{\"delta.columnMapping.id\":" id          \
    ",\"delta.columnMapping.physicalName\":\"" physical "\"}}"

static void test_column_mapping(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field out;
    enum lc_match match;
    assert_int_equal(parse(STRUCT(MAPPED("a", "col-1", "7")), "name", &arena, &out, &match, NULL), LCDC_OK);
    assert_int_equal(match, LC_MATCH_PHYSICAL_NAME);
    assert_string_equal(out.children[0].name, "a");
    assert_string_equal(out.children[0].physical, "col-1");
    assert_int_equal(out.children[0].id, 7);
    assert_int_equal(parse(STRUCT(MAPPED("a", "col-1", "7")), "id", &arena, &out, &match, NULL), LCDC_OK);
    assert_int_equal(match, LC_MATCH_ID);
    /* with the mode off the metadata is left over from before */
    assert_int_equal(parse(STRUCT(MAPPED("a", "col-1", "7")), "none", &arena, &out, &match, NULL), LCDC_OK);
    assert_string_equal(out.children[0].physical, "a");
    assert_int_equal(out.children[0].id, LC_NO_ID);
    expect_refused(STRUCT(MAPPED("a", "x", "1") "," MAPPED("b", "x", "2")), "name", "schema.bad", "twice");
    expect_refused(STRUCT(MAPPED("a", "x", "3000000000")), "id", "schema.bad", "out of range");
}

static void expect_widening(const char *from, const char *to, bool known)
{
    char schema[512];
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field out;
    enum lc_match match;
    snprintf(schema, sizeof(schema),
             STRUCT("{\"name\":\"c\",\"type\":\"%s\",\"metadata\":{\"delta.typeChanges\":[{\"fromType\":\"%s\","
                    "\"toType\":\"%s\"}]}}"),
             to, from, to);
    if (known)
        assert_int_equal(parse(schema, NULL, &arena, &out, &match, NULL), LCDC_OK);
    else
        expect_refused(schema, NULL, "delta.unknown_feature", "not a widening");
}

static void test_type_changes(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"byte", "short"},
        {"byte", "long"},
        {"integer", "long"},
        {"float", "double"},
        {"integer", "double"},
        {"short", "double"},
        {"date", "timestamp_ntz"},
        {"decimal(5,2)", "decimal(7,4)"},
        {"decimal(5,2)", "decimal(9,2)"},
        {"integer", "decimal(10,0)"},
        {"byte", "decimal(12,2)"},
        {"long", "decimal(20,0)"},
    };
    static const char *const unknown[][2] = {
        {"long", "integer"},
        {"long", "double"},
        {"double", "float"},
        {"date", "timestamp"},
        {"string", "long"},
        {"decimal(5,2)", "decimal(6,4)"},
        {"decimal(5,2)", "decimal(5,1)"},
        {"integer", "decimal(9,0)"},
        {"long", "decimal(19,0)"},
        {"integer", "integer"},
        {"float", "decimal(38,0)"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        expect_widening(known[i][0], known[i][1], true);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        expect_widening(unknown[i][0], unknown[i][1], false);
}

static void expect_gate(int64_t version, const char *feature, const char *reason)
{
    struct lc_str features[2] = {LC_STR("deletionVectors"), lc_str_of(feature ? feature : "")};
    struct lc_delta_protocol protocol = {
        .reader_version = version, .n_reader_features = feature ? 2 : 0, .reader_features = features};
    LC_ERROR lcdc_error *err = NULL;
    lcdc_status status = lc_delta_protocol_check(&protocol, &err);
    assert_string_equal(status == LCDC_OK ? "" : lcdc_error_reason(err), reason);
    if (status != LCDC_OK && feature)
        assert_non_null(strstr(lcdc_error_message(err), feature));
}

static void test_protocol_gate(void **state)
{
    (void)state;
    expect_gate(1, NULL, "");
    expect_gate(2, NULL, "");
    expect_gate(3, NULL, "");
    expect_gate(4, NULL, "delta.unknown_feature");
    static const char *const understood[] = {"columnMapping",        "timestampNtz", "typeWidening",
                                             "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck",
                                             "variantType"};
    for (size_t i = 0; i < sizeof(understood) / sizeof(understood[0]); i++)
        expect_gate(3, understood[i], "");
    expect_gate(3, "somethingNew", "delta.unknown_feature");
    expect_gate(3, "DELETIONVECTORS", "delta.unknown_feature");
    expect_gate(3, "", "delta.unknown_feature");
    expect_gate(3, "catalogManaged", "delta.catalog_managed");
    expect_gate(3, "catalogOwned-preview", "delta.catalog_managed");
}

static lcdc_status run(void *context, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field out;
    enum lc_match match;
    return parse(context, "id", &arena, &out, &match, err);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    char schema[] = STRUCT(MAPPED("a", "x", "1") "," MAPPED("b", "y", "2"));
    assert_true(lc_torture(run, schema));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_column_mapping),
        cmocka_unit_test(test_type_changes),
        cmocka_unit_test(test_protocol_gate),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
