/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/storage.h"
#include "support/torture.h"

static void assert_normal(const char *text, const char *expected)
{
    LC_FREE char *out = NULL;
    assert_int_equal(lc_location_normalise(text, &out, NULL), LCDC_OK);
    assert_string_equal(out, expected);
}

static void every_spelling_has_one_normal_form(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/x", "/x"},
        {"/x/", "/x"},
        {"/x///", "/x"},
        {"/", "/"},
        {"//", "/"},
        {"//x//y/./z", "/x/y/z"},
        {"/x/../y", "/x/../y"},
        {"/x/.hidden/..a", "/x/.hidden/..a"},
        {"file:/x/y", "/x/y"},
        {"file:///x/y/", "/x/y"},
        {"file:////x/y", "/x/y"},
        {"file://localhost/x", "/x"},
        {"FILE:///x", "/x"},
        {"file://localhost", "/"},
        {"file:/", "/"},
        {"file:/a%20b/c%2Fd%", "/a%20b/c%2Fd%"},
        {"/a%20b", "/a%20b"},
        {"/p=1/q=a:b/c", "/p=1/q=a:b/c"},
        {"s3://b/t", "s3://b/t"},
        {"s3a://b/t/", "s3://b/t"},
        {"S3N://b/t", "s3://b/t"},
        {"s3://b/", "s3://b"},
        {"s3://b//t//x", "s3://b//t//x"},
        {"gs://b/%41?x", "gs://b/%41?x"},
        {"abfss://container@account.dfs.core.windows.net/t/", "abfss://container@account.dfs.core.windows.net/t"},
        {"hdfs://name:8020/t", "hdfs://name:8020/t"},
        {"hdfs:/t", "hdfs:/t"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_normal(cases[i][0], cases[i][1]);
}

static void relative_paths_begin_at_the_working_folder(void **state)
{
    (void)state;
    char here[PATH_MAX], expected[PATH_MAX + 16];
    assert_non_null(getcwd(here, sizeof(here)));
    (void)snprintf(expected, sizeof(expected), "%s/x/y", here);
    assert_normal("x/y/", expected);
    assert_normal("./x//y", expected);
    (void)snprintf(expected, sizeof(expected), "%s/a:b", here);
    assert_normal("a:b", expected);
    (void)snprintf(expected, sizeof(expected), "%s/c:/b", here);
    assert_normal("c:/b", expected); /* one letter is no scheme */
    assert_normal(".", here);
}

static void what_cannot_be_understood_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "", "file:x", "file:", "file://server/share/x", "s3:b/t", "s3:///t", "s3://key:secret@b/t"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
        char *out = NULL;
        assert_int_equal(lc_location_normalise(cases[i], &out, &err), LCDC_INVALID_ARGUMENT);
        assert_string_equal(lcdc_error_reason(err), "io.bad_url");
        assert_null(strstr(lcdc_error_message(err), "secret"));
        assert_null(out);
    }
}

static void very_long_locations_are_refused(void **state)
{
    (void)state;
    static char text[40000];
    char *out = NULL;
    memset(text, 'a', sizeof(text) - 1);
    assert_int_equal(lc_location_normalise(text, &out, NULL), LCDC_INVALID_ARGUMENT);
    assert_null(out);
}

static void absolute_means_root_or_scheme(void **state)
{
    (void)state;
    assert_true(lc_location_is_absolute("/x"));
    assert_true(lc_location_is_absolute("file:/x"));
    assert_true(lc_location_is_absolute("s3://b/t"));
    assert_true(lc_location_is_absolute("a+b.c-1:/x"));
    assert_false(lc_location_is_absolute("part-0.parquet"));
    assert_false(lc_location_is_absolute("p=a:/x"));
    assert_false(lc_location_is_absolute("c:/x"));
    assert_false(lc_location_is_absolute("1s:/x"));
    assert_false(lc_location_is_absolute(":/x"));
    assert_false(lc_location_is_absolute(""));
}

static void joins_have_one_slash(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"/a", "b", "/a/b"}, {"/a/", "b/c", "/a/b/c"}, {"/", "b", "/b"}, {"s3://b", "k", "s3://b/k"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_FREE char *out = lc_location_join(cases[i][0], cases[i][1]);
        assert_string_equal(out, cases[i][2]);
    }
}

/* ---- the path map ---- */

static void assert_moved(const struct lc_path_map *map, const char *path, const char *expected)
{
    LC_FREE char *out = NULL;
    assert_int_equal(lc_path_map_apply(map, path, &out, NULL), LCDC_OK);
    assert_string_equal(out, expected);
}

static struct lc_path_map make_map(size_t n, const char *const *rules)
{
    struct lc_path_map map = {0};
    for (size_t i = 0; i < n; i++)
        assert_int_equal(lc_path_map_add(&map, rules[i], NULL), LCDC_OK);
    return map;
}

static void a_rule_moves_every_spelling_of_its_folder(void **state)
{
    (void)state;
    static const char *const spellings[] = {"/var/x=/tmp/y", "file:/var/x=/tmp/y", "file:///var/x/=file:/tmp/y/",
                                            "file://localhost/var/x=/tmp/y"};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        LC_CLEANUP(lc_path_map_done) struct lc_path_map map = make_map(1, &spellings[i]);
        assert_moved(&map, "/var/x", "/tmp/y");
        assert_moved(&map, "/var/x/", "/tmp/y");
        assert_moved(&map, "/var/x/a%20b", "/tmp/y/a%20b");
        assert_moved(&map, "file:/var/x/a", "/tmp/y/a");
        assert_moved(&map, "file:///var/x/a/b", "/tmp/y/a/b");
        assert_moved(&map, "/var//x/a", "/tmp/y/a");
        assert_moved(&map, "/var/xy", "/var/xy");
        assert_moved(&map, "/var", "/var");
        assert_moved(&map, "s3://var/x/a", "s3://var/x/a");
    }
}

static void rules_work_between_stores(void **state)
{
    (void)state;
    static const char *const rules[] = {"s3://b/t=/data/t", "/data/u=s3://c/u", "hdfs://n:1/w=/w",
                                        "file://host/x=/here", "/=/root"};
    LC_CLEANUP(lc_path_map_done) struct lc_path_map map = make_map(5, rules);
    assert_moved(&map, "s3a://b/t/k", "/data/t/k");
    assert_moved(&map, "s3://b/t//k", "/data/t/k");
    assert_moved(&map, "s3://b/tt", "s3://b/tt");
    assert_moved(&map, "/data/u/k", "s3://c/u/k");
    assert_moved(&map, "hdfs://n:1/w/k", "/w/k");
    assert_moved(&map, "file://host/x/k", "/here/k");
    assert_moved(&map, "/else", "/root/else");
}

static void the_longest_rule_wins_then_the_first(void **state)
{
    (void)state;
    static const char *const rules[] = {"/a=/1", "/a/b/c=/3", "/a/b=/2", "/a/b/=/4"};
    LC_CLEANUP(lc_path_map_done) struct lc_path_map map = make_map(4, rules);
    assert_moved(&map, "/a/x", "/1/x");
    assert_moved(&map, "/a/b/x", "/2/x");
    assert_moved(&map, "/a/b/c/x", "/3/x");
}

static void equals_signs_in_folders_are_kept(void **state)
{
    (void)state;
    static const char *const rules[] = {"/t/p=1=/u/p=1", "/v/p=a=b=s3://b/w"};
    LC_CLEANUP(lc_path_map_done) struct lc_path_map map = make_map(2, rules);
    assert_moved(&map, "/t/p=1/x", "/u/p=1/x");
    assert_moved(&map, "/v/p=a=b/x", "s3://b/w/x");
}

static void no_map_means_the_normal_form(void **state)
{
    (void)state;
    assert_moved(NULL, "file:/x/y/", "/x/y");
    assert_moved(&(struct lc_path_map){0}, "s3a://b/y", "s3://b/y");
    char *out = NULL;
    assert_int_equal(lc_path_map_apply(NULL, "file://host/x", &out, NULL), LCDC_INVALID_ARGUMENT);
    assert_null(out);
}

static void bad_rules_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "=", "/a", "/a=", "=/b", "/a=b", "/a=file://host/b"};
    struct lc_path_map map = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(lc_path_map_add(&map, cases[i], NULL), LCDC_INVALID_ARGUMENT);
    assert_int_equal(map.n, 0);
}

static lcdc_status map_and_join(void *context, lcdc_error **err)
{
    (void)context;
    LC_CLEANUP(lc_path_map_done) struct lc_path_map map = {0};
    LC_FREE char *moved = NULL;
    LC_TRY(lc_path_map_add(&map, "/a=/b", err));
    LC_TRY(lc_path_map_add(&map, "file://host/long=s3a://b/t", err));
    LC_TRY(lc_path_map_apply(&map, "file:///a/x", &moved, err));
    LC_FREE char *same = NULL;
    return lc_path_map_apply(&map, "/c/x", &same, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(lc_torture(map_and_join, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_has_one_normal_form),
        cmocka_unit_test(relative_paths_begin_at_the_working_folder),
        cmocka_unit_test(what_cannot_be_understood_is_refused),
        cmocka_unit_test(very_long_locations_are_refused),
        cmocka_unit_test(absolute_means_root_or_scheme),
        cmocka_unit_test(joins_have_one_slash),
        cmocka_unit_test(a_rule_moves_every_spelling_of_its_folder),
        cmocka_unit_test(rules_work_between_stores),
        cmocka_unit_test(the_longest_rule_wins_then_the_first),
        cmocka_unit_test(equals_signs_in_folders_are_kept),
        cmocka_unit_test(no_map_means_the_normal_form),
        cmocka_unit_test(bad_rules_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
