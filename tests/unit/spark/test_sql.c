/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "spark/sql.h"

static struct lc_field fields[] = {
    {.name = "id", .physical = "id", .id = LC_NO_ID, .type = {.kind = LC_TYPE_INT64}},
    {.name = "it`s", .physical = "it`s", .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_STRING}},
    {.name = "m", .physical = "m", .id = LC_NO_ID, .type = {.kind = LC_TYPE_MAP}},
};
static const struct lc_field all = {.name = "", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 3, .children = fields};
static const struct lc_field two = {.name = "", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 2, .children = fields};
static const struct lc_field only_map = {
    .name = "", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 1, .children = &fields[2]};

static void names_are_quoted_part_by_part(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"t", "`t`"},
        {"cat.db.t", "`cat`.`db`.`t`"},
        {"cat.db.`it's ``odd``; --`", "`cat`.`db`.`it's ``odd``; --`"},
        {"`a.b`.c", "`a.b`.`c`"},
        {"t; DROP TABLE x", "`t; DROP TABLE x`"},
        {"delta.`/x/y`", "`delta`.`/x/y`"},
        {"t\" OR 1=1", "`t\" OR 1=1`"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        const char *quoted;
        assert_int_equal(lc_sql_table(cases[i][0], &arena, &quoted, NULL), LCDC_OK);
        assert_string_equal(quoted, cases[i][1]);
    }
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", ".", "a.", ".a", "a..b", "`a", "a`", "`a`b", "``", "a.``", "x`y`", "\xff"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        const char *quoted;
        if (lc_sql_table(cases[i], &arena, &quoted, NULL) != LCDC_INVALID_ARGUMENT)
            fail_msg("'%s' was taken as %s", cases[i], quoted);
    }
}

static void texts_keep_their_quotes(void **state)
{
    (void)state;
    LC_BUF struct lc_buf out;
    lc_buf_init(&out, 1000);
    lc_sql_text(&out, LC_STR("it's \\' -- \""));
    assert_string_equal(out.p, "'it\\'s \\\\\\' -- \"'");
}

static void what_spark_would_change_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"SELECT * FROM `${x}`", "SELECT `a${env:HOME}` FROM t", "${", "$${"};
    static const char *const good[] = {"SELECT * FROM `$x`", "SELECT `$ {x}`, '{}' FROM t", "$", ""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(lc_sql_check(bad[i], NULL), LCDC_UNSUPPORTED);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(lc_sql_check(good[i], NULL), LCDC_OK);
}

static void assert_query(const struct lc_sql_query *query, const char *expected)
{
    LC_BUF struct lc_buf out;
    lc_buf_init(&out, 10000);
    lc_sql_query_print(query, &out);
    assert_string_equal(out.p, expected);
}

#define ORDER " ORDER BY `_commit_version`, CASE WHEN `_change_type` IN ('delete', 'update_preimage') THEN 0 ELSE 1 END"

static void plain_statements(void **state)
{
    (void)state;
    struct lc_sql_query query = {.source = LC_SQL_NATIVE, .table = "`t`", .from = 1, .to = 3, .n_slices = 1};
    assert_query(&query, "SELECT * FROM `t` CHANGES FROM VERSION 1 TO VERSION 3 WITH (computeUpdates = 'true')" ORDER);
    query.any_order = true; /* nothing but the statement itself */
    assert_query(&query, "SELECT * FROM `t` CHANGES FROM VERSION 1 TO VERSION 3 WITH (computeUpdates = 'true')");
    query.source = LC_SQL_CDF;
    assert_query(&query, "SELECT * FROM table_changes('`t`', 1, 3)");
    query.any_order = false;
    assert_query(&query, "SELECT * FROM table_changes('`t`', 1, 3)" ORDER);
    query.source = LC_SQL_VIEW;
    query.table = "v";
    assert_query(&query, "SELECT * FROM `v` ORDER BY `_change_ordinal`, CASE WHEN `_change_type` IN "
                         "('DELETE', 'UPDATE_BEFORE') THEN 0 ELSE 1 END");
    query.source = LC_SQL_STATE;
    query.table = "`t`";
    assert_query(&query, "SELECT * FROM `t` VERSION AS OF 3");
    query.to = -1;
    assert_query(&query, "SELECT * FROM `t`");
}

static void columns_filters_and_slices(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    const struct lc_expr *filter = NULL;
    assert_int_equal(lc_filter_parse(LC_STR("\"it`s\" = 'a''b'"), &two, &arena, &filter, NULL), LCDC_OK);
    struct lc_sql_query query = {.source = LC_SQL_NATIVE,
                                 .table = "`t`",
                                 .from = 1,
                                 .to = 1,
                                 .columns = &two,
                                 .row_ids = true,
                                 .n_slices = 1,
                                 .hash_columns = &all};
    assert_query(&query, "SELECT `id`, `it``s`, `_metadata`, `_change_type`, `_commit_version`, `_commit_timestamp` "
                         "FROM `t` CHANGES FROM VERSION 1 TO VERSION 1 WITH (computeUpdates = 'true')" ORDER);
    query.source = LC_SQL_CDF;
    query.row_ids = false;
    query.filter = filter;
    query.filter_columns = &two;
    query.side = LC_SIDE_NEW;
    query.n_slices = 4;
    query.slice = 2;
    LC_BUF struct lc_buf out;
    lc_buf_init(&out, 10000);
    lc_sql_query_print(&query, &out);
    assert_non_null(strstr(out.p, " WHERE (CAST(`it``s` AS STRING) = CAST(X'612762' AS STRING)"));
    assert_non_null(strstr(out.p, ") AND NOT `_change_type` IN ('delete', 'update_preimage') AND "
                                  "pmod(xxhash64(`id`, `it``s`), 4) = 2"));
    assert_null(strstr(out.p, "ORDER BY"));
}

/* A null where the table has none was not supplied: such a delete is kept. Any other null is a value like any other. */
static void deletes_that_could_not_be_judged_are_kept(void **state)
{
    (void)state;
    static const struct {
        enum lc_sql_source source;
        const char *filter, *where;
    } cases[] = {
        {LC_SQL_CDF, "id > 5", " WHERE (`id` > 5 OR (`_change_type` = 'delete' AND (`id` IS NULL)))"},
        {LC_SQL_VIEW, "id > 5", " WHERE (`id` > 5 OR (`_change_type` = 'DELETE' AND (`id` IS NULL)))"},
        {LC_SQL_NATIVE, "\"it`s\" = 'x' AND id = 5",
         " WHERE ((CAST(`it``s` AS STRING) = 'x' AND `id` = 5) OR (`_change_type` = 'delete' AND (`id` IS NULL)))"},
        {LC_SQL_NATIVE, "\"it`s\" = 'x'", " WHERE (CAST(`it``s` AS STRING) = 'x')"},
        {LC_SQL_STATE, "id > 5", " WHERE (`id` > 5)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        LC_BUF struct lc_buf out;
        const struct lc_expr *filter = NULL;
        lc_buf_init(&out, 10000);
        assert_int_equal(lc_filter_parse(lc_str_of(cases[i].filter), &two, &arena, &filter, NULL), LCDC_OK);
        struct lc_sql_query query = {.source = cases[i].source,
                                     .table = "`t`",
                                     .filter = filter,
                                     .filter_columns = &two,
                                     .any_order = true,
                                     .n_slices = 1};
        lc_sql_query_print(&query, &out);
        assert_string_equal(strstr(out.p, " WHERE"), cases[i].where);
    }
}

/* What is compared is the value as it stands. */
static void filters_are_about_bare_values(void **state)
{
    (void)state;
    static struct lc_field some[] = {
        {.name = "f", .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_FLOAT}},
        {.name = "t", .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_STRING}},
    };
    static const struct lc_field schema = {
        .name = "", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 2, .children = some};
    static const char *const cases[][2] = {
        {"f = 1", "`f` = CAST('1.0' AS DOUBLE)"},
        {"f >= 0", "(`f` + CAST('0.0' AS DOUBLE)) >= CAST('0.0' AS DOUBLE)"},
        {"f IN (2, -0.0)", "(`f` + CAST('0.0' AS DOUBLE)) IN (CAST('-0.0' AS DOUBLE), CAST('2.0' AS DOUBLE))"},
        {"f IS NULL OR NOT t LIKE 'a%'", "(`f` IS NULL OR NOT CAST(`t` AS STRING) LIKE 'a%')"},
        {"t IN ('a', NULL)", "CAST(`t` AS STRING) IN ('a', NULL)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARENA struct lc_arena arena = {0};
        LC_BUF struct lc_buf out;
        const struct lc_expr *filter = NULL;
        lc_buf_init(&out, 10000);
        assert_int_equal(lc_filter_parse(lc_str_of(cases[i][0]), &schema, &arena, &filter, NULL), LCDC_OK);
        lc_filter_print_bare(filter, &schema, &out);
        assert_string_equal(out.p, cases[i][1]);
    }
}

static void what_can_be_split(void **state)
{
    (void)state;
    assert_true(lc_sql_can_slice(&all));
    assert_false(lc_sql_can_slice(&only_map));
    assert_int_equal(lc_sql_catalog_length("`c`.`d`.`t`"), 4);
    assert_int_equal(lc_sql_catalog_length("`c.x`.`d`.`t`"), 6);
    assert_int_equal(lc_sql_catalog_length("`d.e`.`t`"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_quoted_part_by_part),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(texts_keep_their_quotes),
        cmocka_unit_test(what_spark_would_change_is_refused),
        cmocka_unit_test(plain_statements),
        cmocka_unit_test(columns_filters_and_slices),
        cmocka_unit_test(filters_are_about_bare_values),
        cmocka_unit_test(what_can_be_split),
        cmocka_unit_test(deletes_that_could_not_be_judged_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
