/* SPDX-License-Identifier: Apache-2.0 */
/* test_transform.c - steps bound to columns, applied to change rows, and refused with the line of the config. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lakecdc/change.h"
#include "lakecdc/writer.h"
#include "support/json_rows.h"
#include "sync/column.h"
#include "sync/columns.h"
#include "sync/transform.h"

#define COLUMN(name_, kind_)                                                                                           \
    {                                                                                                                  \
        .name = name_, .physical = name_, .id = LC_NO_ID, .nullable = true, .type = {.kind = kind_ }                   \
    }

static struct lc_field fields[] = {COLUMN("id", LC_TYPE_INT64), COLUMN("name", LC_TYPE_STRING),
                                   COLUMN("qty", LC_TYPE_INT32), COLUMN("price", LC_TYPE_DOUBLE)};
static const struct lc_field images = {
    .name = "", .physical = "", .id = LC_NO_ID, .type = {.kind = LC_TYPE_STRUCT}, .n_children = 4, .children = fields};

/* An update, a delete and an insert; images that are not there are null. */
static const char befores[] = "[{\"id\":1,\"name\":\"a\",\"qty\":5,\"price\":1.5},"
                              "{\"id\":2,\"name\":null,\"qty\":null,\"price\":2.5},null]";
static const char afters[] = "[{\"id\":1,\"name\":\"b\",\"qty\":500,\"price\":1.25},null,"
                             "{\"id\":3,\"name\":\"7\",\"qty\":7,\"price\":3.5}]";

static void change_rows(int pad, struct ArrowArray *out)
{
    static const uint8_t ops[] = {LCDC_OP_UPDATE, LCDC_OP_DELETE, LCDC_OP_INSERT};
    static const int64_t snapshots[] = {4, 4, 4}, times[] = {0, 0, 0};
    LC_ARRAY struct ArrowArray before = {0}, after = {0};
    assert_true(json_rows(befores, &images, pad, &before) && json_rows(afters, &images, pad, &after));
    assert_int_equal(lc_change_array(&images, ops, 3, &before, &after, snapshots, times, NULL, out, NULL), LCDC_OK);
}

static int collect(void *context, const void *bytes, size_t n)
{
    lc_buf_append(context, bytes, n);
    return 0;
}

static void as_text(const struct lc_field *shown, const struct ArrowArray *rows, struct lc_buf *out)
{
    LC_SCHEMA struct ArrowSchema schema = {0};
    lcdc_writer *writer = NULL;
    assert_int_equal(lc_change_schema(shown, &schema, NULL), LCDC_OK);
    assert_int_equal(lcdc_writer_new("jsonl", &schema, NULL, collect, out, &writer, NULL), LCDC_OK);
    assert_int_equal(lcdc_writer_batch(writer, rows, NULL), LCDC_OK);
    assert_int_equal(lcdc_writer_finish(writer, NULL), LCDC_OK);
    lcdc_writer_free(writer);
}

static void becomes(size_t n, const struct lc_step *steps, const char *wanted)
{
    const struct lc_steps list = {"f", "t", n, steps};
    for (int pad = 0; pad < 4; pad += 3) {
        LC_CLEANUP(lc_transform_done) struct lc_transform transform = {0};
        LC_ARRAY struct ArrowArray rows = {0};
        LC_BUF struct lc_buf text = {.max = 1 << 16};
        lcdc_error *err LC_ERROR = NULL;
        change_rows(pad, &rows);
        if (lc_transform_bind(&list, &images, 0, NULL, 1, &transform, &err) != LCDC_OK ||
            lc_transform_apply(&transform, &rows, &err) != LCDC_OK)
            fail_msg("%s", lcdc_error_message(err));
        as_text(&transform.images, &rows, &text);
        assert_string_equal(text.p, wanted);
    }
}

#define ROW(op, before, after)                                                                                         \
    "{\"op\":\"" op "\",\"before\":" before ",\"after\":" after                                                        \
    ",\"snapshot\":4,\"ts\":\"1970-01-01T00:00:00.000000Z\"}\n"

static void no_step_changes_nothing(void **state)
{
    (void)state;
    becomes(0, NULL,
            ROW("update", "{\"id\":1,\"name\":\"a\",\"qty\":5,\"price\":1.5}",
                "{\"id\":1,\"name\":\"b\",\"qty\":500,\"price\":1.25}")
                ROW("delete", "{\"id\":2,\"name\":null,\"qty\":null,\"price\":2.5}", "null")
                    ROW("insert", "null", "{\"id\":3,\"name\":\"7\",\"qty\":7,\"price\":3.5}"));
}

static void every_kind_of_step(void **state)
{
    (void)state;
    const struct lc_step steps[] = {
        {.kind = LC_STEP_DROP, .column = "price"},
        {.kind = LC_STEP_RENAME, .column = "id", .text = "key"},
        {.kind = LC_STEP_CONSTANT, .column = "region", .constant = {.type.kind = LC_TYPE_STRING, .str = LC_STR("eu")}},
        {.kind = LC_STEP_EXPRESSION, .column = "big", .text = "qty > 100 AND region = 'eu'"},
        {.kind = LC_STEP_CAST, .column = "qty", .text = "string"},
        {.kind = LC_STEP_RENAME, .column = "name", .text = "id"},
    };
    becomes(6, steps,
            ROW("update", "{\"key\":1,\"id\":\"a\",\"qty\":\"5\",\"region\":\"eu\",\"big\":false}",
                "{\"key\":1,\"id\":\"b\",\"qty\":\"500\",\"region\":\"eu\",\"big\":true}")
                ROW("delete", "{\"key\":2,\"id\":null,\"qty\":null,\"region\":\"eu\",\"big\":null}", "null")
                    ROW("insert", "null", "{\"key\":3,\"id\":\"7\",\"qty\":\"7\",\"region\":\"eu\",\"big\":false}"));
}

static void names_may_be_swapped_and_columns_made_of_dropped_names(void **state)
{
    (void)state;
    const struct lc_step steps[] = {
        {.kind = LC_STEP_RENAME, .column = "qty", .text = "x"},
        {.kind = LC_STEP_RENAME, .column = "name", .text = "qty"},
        {.kind = LC_STEP_RENAME, .column = "x", .text = "name"},
        {.kind = LC_STEP_DROP, .column = "price"},
        {.kind = LC_STEP_CONSTANT, .column = "price", .constant = {.type.kind = LC_TYPE_INT64, .i = -1}},
        {.kind = LC_STEP_CAST, .column = "price", .text = "decimal(5,2)"},
    };
    becomes(6, steps,
            ROW("update", "{\"id\":1,\"qty\":\"a\",\"name\":5,\"price\":\"-1.00\"}",
                "{\"id\":1,\"qty\":\"b\",\"name\":500,\"price\":\"-1.00\"}")
                ROW("delete", "{\"id\":2,\"qty\":null,\"name\":null,\"price\":\"-1.00\"}", "null")
                    ROW("insert", "null", "{\"id\":3,\"qty\":\"7\",\"name\":7,\"price\":\"-1.00\"}"));
}

static void identity_follows(void **state)
{
    (void)state;
    const struct lc_step steps[] = {{.kind = LC_STEP_RENAME, .column = "id", .text = "key"},
                                    {.kind = LC_STEP_DROP, .column = "name"},
                                    {.kind = LC_STEP_RENAME, .column = "price", .text = "id"}};
    const char *const identity[] = {"price", "ID"};
    const struct lc_steps list = {"f", "t", 3, steps};
    LC_CLEANUP(lc_transform_done) struct lc_transform transform = {0};
    assert_int_equal(lc_transform_bind(&list, &images, 2, identity, 1, &transform, NULL), LCDC_OK);
    assert_int_equal(transform.n_identity, 2);
    assert_string_equal(transform.images.children[transform.identity[0]].name, "id");
    assert_string_equal(transform.images.children[transform.identity[1]].name, "key");
}

/* ---- refusals ---- */

static const struct {
    struct lc_step step;
    const char *message;
} refusals[] = {
    {{LC_STEP_DROP, 3, "nam", NULL, {0}},
     "f:3: table 't': there is no column 'nam' at this point; there are id, name, qty, price"},
    {{LC_STEP_RENAME, 4, "id", "qty", {0}}, "f:4: table 't': there is a column 'qty' already"},
    {{LC_STEP_CONSTANT, 5, "id", NULL, {.type.kind = LC_TYPE_BOOL}}, "f:5: table 't': there is a column 'id' already"},
    {{LC_STEP_CAST, 6, "price", "date", {0}}, "f:6: table 't': column 'price' is double, which cannot be cast to date"},
    {{LC_STEP_EXPRESSION, 7, "x", "qty > 'b'", {0}}, NULL},
    {{LC_STEP_EXPRESSION, 8, "x", "nothing > 3", {0}}, NULL},
};

static void what_does_not_fit_has_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        LC_CLEANUP(lc_transform_done) struct lc_transform transform = {0};
        lcdc_error *err LC_ERROR = NULL;
        char place[32];
        const struct lc_steps list = {"f", "t", 1, &refusals[i].step};
        assert_int_equal(lc_transform_bind(&list, &images, 0, NULL, 1, &transform, &err), LCDC_INVALID_ARGUMENT);
        (void)snprintf(place, sizeof(place), "f:%d: table 't': ", refusals[i].step.line);
        assert_memory_equal(lcdc_error_message(err), place, strlen(place));
        if (refusals[i].message)
            assert_string_equal(lcdc_error_message(err), refusals[i].message);
    }
}

static void a_dropped_identity_and_no_column_left(void **state)
{
    (void)state;
    struct lc_step steps[] = {{.kind = LC_STEP_DROP, .line = 2, .column = "id"},
                              {.kind = LC_STEP_DROP, .line = 3, .column = "name"},
                              {.kind = LC_STEP_DROP, .line = 4, .column = "qty"},
                              {.kind = LC_STEP_DROP, .line = 5, .column = "price"}};
    const char *const identity[] = {"id"};
    struct lc_steps list = {"f", "t", 1, steps};
    lcdc_error *err LC_ERROR = NULL;
    {
        LC_CLEANUP(lc_transform_done) struct lc_transform transform = {0};
        assert_int_equal(lc_transform_bind(&list, &images, 1, identity, 9, &transform, &err), LCDC_INVALID_ARGUMENT);
        assert_string_equal(lcdc_error_message(err), "f:9: table 't': identity column 'id' is not among the columns "
                                                     "that are delivered");
    }
    list.n = 4;
    LC_CLEANUP(lc_transform_done) struct lc_transform transform = {0};
    assert_int_equal(lc_transform_bind(&list, &images, 0, NULL, 9, &transform, &err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_message(err), "f:5: table 't': no column is left");
}

static void a_value_that_does_not_fit_ends_the_window(void **state)
{
    (void)state;
    const struct lc_step step = {.kind = LC_STEP_CAST, .line = 2, .column = "price", .text = "int"};
    const struct lc_steps list = {"f", "t", 1, &step};
    LC_CLEANUP(lc_transform_done) struct lc_transform transform = {0};
    LC_ARRAY struct ArrowArray rows = {0};
    lcdc_error *err LC_ERROR = NULL;
    change_rows(0, &rows);
    assert_int_equal(lc_transform_bind(&list, &images, 0, NULL, 1, &transform, NULL), LCDC_OK);
    assert_int_equal(lc_transform_apply(&transform, &rows, &err), LCDC_UNSUPPORTED);
    assert_string_equal(lcdc_error_reason(err), "sync.cast");
    assert_string_equal(lcdc_error_message(err), "cast of column 'price': value '1.5' is no int");
}

/* ---- casts of single values ---- */

static const struct {
    const char *from, *to, *in, *out; /* JSON; out NULL: does not fit */
} casts[] = {
    {"bigint", "int", "2147483647", "2147483647"},
    {"bigint", "int", "2147483648", NULL},
    {"int", "bigint", "-5", "-5"},
    {"double", "float", "1.5", "1.5"},
    {"double", "float", "0.1", NULL},
    {"double", "bigint", "3.0", "3"},
    {"int", "decimal(4,1)", "12", "\"12.0\""},
    {"int", "decimal(4,2)", "123", NULL},
    {"string", "int", "\"12\"", "12"},
    {"string", "int", "\"12x\"", NULL},
    {"string", "boolean", "\"true\"", "true"},
    {"string", "date", "\"2024-02-29\"", "\"2024-02-29\""},
    {"string", "date", "\"2023-02-29\"", NULL},
    {"date", "string", "\"2024-02-29\"", "\"2024-02-29\""},
    {"date", "timestamp_ntz", "\"2024-02-29\"", "\"2024-02-29T00:00:00.000000\""},
    {"boolean", "string", "true", "\"true\""},
    {"double", "string", "1.5", "\"1.5\""},
    {"int", "string", "null", "null"},
    {"string", "binary", "\"a\"", "\"YQ==\""},
};

static void casts_are_exact_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++) {
        struct lc_field from = COLUMN("c", LC_TYPE_STRING), to = COLUMN("c", LC_TYPE_STRING);
        assert_true(lc_type_parse(casts[i].from, &from.type) && lc_type_parse(casts[i].to, &to.type));
        char json[128], wanted[256];
        LC_ARRAY struct ArrowArray in = {0}, out = {0}, rows = {0}, none = {0};
        struct lc_field one = {.name = "", .physical = "", .id = LC_NO_ID, .type.kind = LC_TYPE_STRUCT};
        (void)snprintf(json, sizeof(json), "[%s]", casts[i].in);
        assert_true(json_rows(json, &from, 2, &in));
        assert_true(lc_column_can_cast(from.type, to.type));
        lcdc_status status = lc_column_cast(&in, "c", from.type, to.type, &out, NULL);
        if (!casts[i].out) {
            assert_int_equal(status, LCDC_UNSUPPORTED);
            continue;
        }
        assert_int_equal(status, LCDC_OK);
        LC_BUF struct lc_buf text = {.max = 1 << 16};
        const struct ArrowArray image = {.length = 1};
        LC_ARRAY struct ArrowArray whole = {0};
        one.n_children = 1;
        one.children = &to;
        assert_int_equal(lc_column_assemble(&one, &image, &out, &whole, NULL), LCDC_OK);
        assert_int_equal(lc_change_array(&one, (const uint8_t[]){LCDC_OP_INSERT}, 1, &none, &whole,
                                         (const int64_t[]){4}, (const int64_t[]){0}, NULL, &rows, NULL),
                         LCDC_OK);
        as_text(&one, &rows, &text);
        (void)snprintf(wanted, sizeof(wanted),
                       "{\"op\":\"insert\",\"before\":null,\"after\":{\"c\":%s},\"snapshot\":4,"
                       "\"ts\":\"1970-01-01T00:00:00.000000Z\"}\n",
                       casts[i].out);
        assert_string_equal(text.p, wanted);
    }
}

static void types_that_have_nothing_in_common(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"date", "int"}, {"double", "boolean"}, {"timestamp", "timestamp_ntz"}, {"binary", "int"}, {"boolean", "int"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct lc_type from, to;
        assert_true(lc_type_parse(pairs[i][0], &from) && lc_type_parse(pairs[i][1], &to));
        assert_false(lc_column_can_cast(from, to));
    }
}

static void words_of_types(void **state)
{
    (void)state;
    static const char *const none[] = {
        "",           "struct",       "array<int>", "decimal", "decimal(0,0)", "decimal(5,6)",
        "decimal(5)", "decimal(x,1)", "fixed",      "void",    "INT ",         "number"};
    struct lc_type type;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(lc_type_parse(none[i], &type));
    assert_true(lc_type_parse("decimal(38, 38)", &type));
    assert_int_equal(type.scale, 38);
    assert_true(lc_type_parse("uuid", &type) && type.kind == LC_TYPE_UUID);
}

/* ---- columns that the ledger keeps ---- */

static void columns_that_can_stand_in(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *why; /* NULL: they can */
    } cases[] = {
        {"[]", NULL},
        {"[[\"id\",\"bigint\"],[\"name\",\"string\"]]", NULL},
        {"[[\"id\",\"int\"],[\"qty\",\"tinyint\"],[\"price\",\"float\"]]", NULL},
        {"[[\"gone\",\"int\"]]", "column 'gone' is gone or has another name"},
        {"[[\"qty\",\"bigint\"]]", "column 'qty' was \"bigint\" and is int"},
        {"[[\"name\",[\"struct\",[]]]]", "column 'name' was [\"struct\",[]] and is string"},
        {"[[\"id\",\"string\"]]", "column 'id' was \"string\" and is bigint"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        lcdc_error *err LC_ERROR = NULL;
        lcdc_status status = lc_columns_check(cases[i].before, &images, true, &err);
        assert_int_equal(status, cases[i].why ? LCDC_UNSUPPORTED : LCDC_OK);
        if (cases[i].why && !strstr(lcdc_error_message(err), cases[i].why))
            fail_msg("%s: expected %s", lcdc_error_message(err), cases[i].why);
    }
}

static void nested_columns(void **state)
{
    (void)state;
    struct lc_field inner[] = {COLUMN("a", LC_TYPE_INT64), COLUMN("b", LC_TYPE_STRING)};
    struct lc_field element = COLUMN("element", LC_TYPE_INT32),
                    pair[] = {COLUMN("key", LC_TYPE_STRING), COLUMN("value", LC_TYPE_DOUBLE)};
    struct lc_field outer[] = {COLUMN("s", LC_TYPE_STRUCT), COLUMN("l", LC_TYPE_LIST), COLUMN("m", LC_TYPE_MAP)};
    struct lc_field root = {
        .name = "", .physical = "", .type.kind = LC_TYPE_STRUCT, .n_children = 3, .children = outer};
    LC_BUF struct lc_buf json = {.max = 1 << 16};
    outer[0].n_children = 2;
    outer[0].children = inner;
    outer[1].n_children = 1;
    outer[1].children = &element;
    outer[2].n_children = 2;
    outer[2].children = pair;
    lc_columns_print(&root, 3, &json);
    assert_string_equal(json.p, "[[\"s\",[\"struct\",[[\"a\",\"bigint\"],[\"b\",\"string\"]]]],[\"l\",[\"array\","
                                "\"int\"]],[\"m\",[\"map\",\"string\",\"double\"]]]");
    assert_int_equal(lc_columns_check(json.p, &root, true, NULL), LCDC_OK);
    static const char narrower[] = "[[\"s\",[\"struct\",[[\"a\",\"int\"]]]],[\"l\",[\"array\",\"smallint\"]]]";
    assert_int_equal(lc_columns_check(narrower, &root, true, NULL), LCDC_OK);
    assert_int_equal(lc_columns_check("[[\"s\",[\"struct\",[[\"c\",\"int\"]]]]]", &root, true, NULL), LCDC_UNSUPPORTED);
    assert_int_equal(lc_columns_check("[[\"m\",[\"array\",\"int\"]]]", &root, true, NULL), LCDC_UNSUPPORTED);
    assert_int_equal(lc_columns_check("[[\"l\",\"int\"]]", &root, true, NULL), LCDC_UNSUPPORTED);
}

static void columns_of_the_filter_and_ids(void **state)
{
    (void)state;
    struct lc_field columns[] = {COLUMN("a", LC_TYPE_INT64), COLUMN("b", LC_TYPE_STRING), COLUMN("c", LC_TYPE_STRING)};
    struct lc_field root = {
        .name = "", .physical = "", .type.kind = LC_TYPE_STRUCT, .n_children = 3, .children = columns};
    LC_BUF struct lc_buf json = {.max = 1 << 16};
    lcdc_error *err LC_ERROR = NULL;
    columns[0].id = 7;
    columns[1].id = columns[2].id = LC_NO_ID;
    lc_columns_print(&root, 1, &json);
    assert_string_equal(json.p, "[[\"a\",\"bigint\",7],[\"b\",\"string\",null,\"filter\"],"
                                "[\"c\",\"string\",null,\"filter\"]]");
    root.n_children = 2;
    assert_int_equal(lc_columns_check(json.p, &root, false, NULL), LCDC_OK);
    assert_int_equal(lc_columns_check(json.p, &root, true, NULL), LCDC_UNSUPPORTED);
    columns[0].id = LC_NO_ID;
    assert_int_equal(lc_columns_check(json.p, &root, false, NULL), LCDC_OK);
    columns[0].id = 8;
    assert_int_equal(lc_columns_check(json.p, &root, false, &err), LCDC_UNSUPPORTED);
    assert_non_null(strstr(lcdc_error_message(err), "column 'a' was dropped, and another one has its name"));
}

/* Every allocation fails once. */
static void memory_may_run_out(void **state)
{
    (void)state;
    const struct lc_step steps[] = {
        {.kind = LC_STEP_RENAME, .column = "id", .text = "key"},
        {.kind = LC_STEP_CONSTANT, .column = "region", .constant = {.type.kind = LC_TYPE_STRING, .str = LC_STR("eu")}},
        {.kind = LC_STEP_EXPRESSION, .column = "big", .text = "qty > 100"},
        {.kind = LC_STEP_CAST, .column = "qty", .text = "string"}};
    const struct lc_steps list = {"f", "t", 4, steps};
    for (int64_t n = 0; n < 1000; n++) {
        LC_CLEANUP(lc_transform_done) struct lc_transform transform = {0};
        LC_ARRAY struct ArrowArray rows = {0};
        change_rows(0, &rows);
        (void)lc_alloc_fail_after(n);
        lcdc_status status = lc_transform_bind(&list, &images, 0, NULL, 1, &transform, NULL);
        if (status == LCDC_OK)
            status = lc_transform_apply(&transform, &rows, NULL);
        (void)lc_alloc_fail_after(-1);
        if (status == LCDC_OK)
            return;
        assert_int_equal(status, LCDC_OUT_OF_MEMORY);
    }
    fail_msg("never enough memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_step_changes_nothing),
        cmocka_unit_test(every_kind_of_step),
        cmocka_unit_test(names_may_be_swapped_and_columns_made_of_dropped_names),
        cmocka_unit_test(identity_follows),
        cmocka_unit_test(what_does_not_fit_has_a_line),
        cmocka_unit_test(a_dropped_identity_and_no_column_left),
        cmocka_unit_test(a_value_that_does_not_fit_ends_the_window),
        cmocka_unit_test(casts_are_exact_or_refused),
        cmocka_unit_test(types_that_have_nothing_in_common),
        cmocka_unit_test(words_of_types),
        cmocka_unit_test(columns_that_can_stand_in),
        cmocka_unit_test(nested_columns),
        cmocka_unit_test(columns_of_the_filter_and_ids),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
