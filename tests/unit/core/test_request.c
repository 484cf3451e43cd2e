/* SPDX-License-Identifier: Apache-2.0 */
/* test_request.c - options: every kind of value, what is refused and in which words, copies, combinations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/request.h"
#include "support/torture.h"

static lcdc_request *request(void)
{
    lcdc_request *made = NULL;
    assert_int_equal(lcdc_request_new(&made, NULL), LCDC_OK);
    return made;
}

static void set(lcdc_request *r, const char *key, const char *value)
{
    lcdc_error *err LC_ERROR = NULL;
    if (lcdc_request_set(r, key, value, &err) != LCDC_OK)
        fail_msg("%s=%s: %s", key, value, lcdc_error_message(err));
}

static void refused(lcdc_request *r, const char *key, const char *value, const char *reason, const char *message)
{
    lcdc_error *err LC_ERROR = NULL;
    lcdc_status status = lcdc_request_set(r, key, value, &err);
    if (status != LCDC_INVALID_ARGUMENT)
        fail_msg("%s=%s: status %s", key, value, lcdc_status_name(status));
    assert_string_equal(lcdc_error_reason(err), reason);
    assert_string_equal(lcdc_error_message(err), message);
}

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    lcdc_request *r LC_CLEANUP(lcdc_request_freep) = request();
    assert_int_equal(r->from.kind, LC_BOUND_START);
    assert_int_equal(r->to.kind, LC_BOUND_LATEST);
    assert_false(r->from_set || r->to_set || r->fold || r->net || r->from_exclusive || r->drop_noop || r->bootstrap);
    assert_true(r->pushdown);
    assert_int_equal(r->batch_rows, 8192);
    assert_int_equal(r->memory_limit, 128 << 20);
    assert_null(r->table);
    assert_string_equal(lcdc_request_get(r, "memory_limit"), "128MiB");
    assert_null(lcdc_request_get(r, "table"));
    assert_null(lcdc_request_get(r, "no such"));
}

static void every_row_of_the_table_can_be_set(void **state)
{
    (void)state;
    lcdc_request *r LC_CLEANUP(lcdc_request_freep) = request();
    size_t n = 0;
    for (const lcdc_option *option; (option = lcdc_option_at(n)) != NULL; n++) {
        const char *value = strcmp(option->key, "path_map") == 0 ? "a=b" : "1";
        set(r, option->key, value);
        assert_string_equal(lcdc_request_get(r, option->key), value);
        assert_true(!option->flag || strncmp(option->flag, "--", 2) == 0);
        assert_true(option->group && option->help && option->help[0]);
    }
    assert_int_equal(n, LC_OPT_COUNT);
    assert_null(lcdc_option_at(SIZE_MAX));
}

static void bounds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum lc_bound_kind kind;
        int64_t number;
    } rows[] = {
        {"start", LC_BOUND_START, 0},
        {"latest", LC_BOUND_LATEST, 0},
        {"0", LC_BOUND_ID, 0},
        {"9223372036854775807", LC_BOUND_ID, INT64_MAX},
        {"20240229", LC_BOUND_ID, 20240229},
        {"1970-01-01", LC_BOUND_TIMESTAMP, 0},
        {"2024-02-29", LC_BOUND_TIMESTAMP, INT64_C(1709164800000000)},
        {"2024-02-29 12:00", LC_BOUND_TIMESTAMP, INT64_C(1709208000000000)},
        {"2024-02-29T12:00:00.000001Z", LC_BOUND_TIMESTAMP, INT64_C(1709208000000001)},
        {"2024-02-29T12:00:00+02:00", LC_BOUND_TIMESTAMP, INT64_C(1709200800000000)},
        {"1969-12-31T23:59:59.999999", LC_BOUND_TIMESTAMP, -1},
        {"v1", LC_BOUND_NAME, 0},
        {"2024-release", LC_BOUND_NAME, 0},
        {"Start", LC_BOUND_NAME, 0},
        {"-x", LC_BOUND_NAME, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lcdc_request *r LC_CLEANUP(lcdc_request_freep) = request();
        set(r, "to", rows[i].text);
        assert_string_equal(r->to.text, rows[i].text);
        assert_int_equal(r->to.kind, rows[i].kind);
        assert_int_equal(r->to.kind == LC_BOUND_ID ? r->to.id : r->to.ts_us, rows[i].number);
        assert_true(r->to_set && !r->from_set);
    }
}

static void bad_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *message;
    } rows[] = {
        {"from", "", "from: found '', expected a version or snapshot id, a timestamp, a tag, 'start' or 'latest'"},
        {"from", "-1", "from: found '-1', expected a version or snapshot id from 0 to 9223372036854775807"},
        {"from", "9223372036854775808",
         "from: found '9223372036854775808', expected a version or snapshot id from 0 to 9223372036854775807"},
        {"from", "2023-02-29",
         "from: found '2023-02-29', expected a date or time that exists, e.g. 2024-02-29 or 2024-02-29T12:30:00Z"},
        {"from", "2024-02-29T25:00:00",
         "from: found '2024-02-29T25:00:00', expected a date or time that exists, e.g. 2024-02-29 or "
         "2024-02-29T12:30:00Z"},
        {"from", "2024-02-29T12:00:00.0000001",
         "from: found '2024-02-29T12:00:00.0000001', expected a time with at most 6 fraction digits (commit times have "
         "no more)"},
        {"fold", "yes", "fold: found 'yes', expected true or false"},
        {"batch_rows", "-1", "batch_rows: found '-1', expected a whole number, 0 or more"},
        {"batch_rows", "1e3", "batch_rows: found '1e3', expected a whole number, 0 or more"},
        {"memory_limit", "64MB",
         "memory_limit: found '64MB', expected bytes as a number, or with KiB, MiB or GiB (64MiB)"},
        {"memory_limit", "9007199254740993GiB",
         "memory_limit: found '9007199254740993GiB', expected bytes as a number, or with KiB, MiB or GiB (64MiB)"},
        {"columns", "", "columns: found '', expected names with commas between them"},
        {"columns", "a,,b", "columns: found 'a,,b', expected names with commas between them"},
        {"columns", "a, ", "columns: found 'a, ', expected names with commas between them"},
        {"columns", "`a", "columns: found '`a', expected a closing quote"},
        {"path_map", "nothing", "path_map: found 'nothing', expected FROM=TO"},
        {"path_map", "=b", "path_map: found '=b', expected FROM=TO"},
        {"path_map", "a=", "path_map: found 'a=', expected FROM=TO"},
    };
    lcdc_request *r LC_CLEANUP(lcdc_request_freep) = request();
    set(r, "from", "5");
    set(r, "columns", "x");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        refused(r, rows[i].key, rows[i].value, "request.bad_value", rows[i].message);
    refused(r, "frm", "5", "request.unknown_option", "unknown option 'frm'");
    refused(r, NULL, "5", "request.bad_value", "option: a request, a key and a value are needed, found NULL");
    refused(r, "to", NULL, "request.bad_value", "to: a request, a key and a value are needed, found NULL");
    assert_int_equal(lcdc_request_set(NULL, "to", "1", NULL), LCDC_INVALID_ARGUMENT);
    assert_int_equal(r->from.id, 5);
    assert_int_equal(r->columns.n, 1);
    assert_int_equal(r->path_map.n, 0);
    assert_string_equal(lcdc_request_get(r, "columns"), "x");
}

static void sizes_and_switches(void **state)
{
    (void)state;
    lcdc_request *r LC_CLEANUP(lcdc_request_freep) = request();
    set(r, "memory_limit", "3KiB");
    assert_int_equal(r->memory_limit, 3072);
    set(r, "memory_limit", "2GiB");
    assert_int_equal(r->memory_limit, INT64_C(2) << 30);
    set(r, "memory_limit", "77");
    assert_int_equal(r->memory_limit, 77);
    set(r, "fold", "");
    assert_true(r->fold);
    set(r, "fold", "0");
    assert_false(r->fold);
    set(r, "fold", "1");
    set(r, "net", "true");
    assert_true(r->fold && r->net);
    set(r, "net", "false");
    assert_false(r->net);
}

static void lists_add_up_and_keep_quotes(void **state)
{
    (void)state;
    lcdc_request *r LC_CLEANUP(lcdc_request_freep) = request();
    set(r, "columns", " a , `b,c`,\"d\"");
    set(r, "columns", "e");
    static const char *const names[] = {"a", "`b,c`", "\"d\"", "e"};
    assert_int_equal(r->columns.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(r->columns.items[i], names[i]);
    assert_string_equal(lcdc_request_get(r, "columns"), " a , `b,c`,\"d\",e");
    set(r, "path_map", "/old,place=/new=place");
    set(r, "path_map", "s3://x=/y");
    assert_int_equal(r->path_map.n, 2);
    assert_string_equal(r->path_map.items[0], "/old,place=/new=place");
    assert_string_equal(lcdc_request_get(r, "path_map"), "/old,place=/new=place\ns3://x=/y");
}

static void a_copy_is_deep_and_whole(void **state)
{
    (void)state;
    lcdc_request *r = request(), *copy LC_CLEANUP(lcdc_request_freep) = NULL;
    set(r, "table", "/data/t");
    set(r, "columns", "a,b");
    set(r, "path_map", "a,b=c");
    set(r, "path_map", "d=e");
    set(r, "from", "2024-01-01");
    set(r, "pushdown", "false");
    assert_int_equal(lc_request_dup(r, &copy, NULL), LCDC_OK);
    lcdc_request_free(r);
    assert_string_equal(copy->table, "/data/t");
    assert_int_equal(copy->columns.n, 2);
    assert_int_equal(copy->path_map.n, 2);
    assert_string_equal(copy->path_map.items[0], "a,b=c");
    assert_int_equal(copy->from.kind, LC_BOUND_TIMESTAMP);
    assert_true(copy->from_set && !copy->to_set && !copy->pushdown);
    assert_null(lcdc_request_get(copy, "identity"));
}

static void combinations_that_mean_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *settings[4][2];
        const char *reason, *message; /* NULL: accepted */
    } rows[] = {
        {{{"table", "t"}}, NULL, NULL},
        {{{"name", "c.db.t"}}, NULL, NULL},
        {{{"from", "1"}}, "request.bad_value", "no table was named: set table to its folder or URL"},
        {{{"table", ""}}, "request.bad_value", "no table was named: set table to its folder or URL"},
        {{{"table", "t"}, {"cursor", "{}"}, {"to", "9"}}, NULL, NULL},
        {{{"table", "t"}, {"cursor", "{}"}, {"from", "9"}},
         "request.conflict",
         "cursor cannot be combined with from: a cursor says where to go on"},
        {{{"table", "t"}, {"cursor", "{}"}, {"from_exclusive", "1"}},
         "request.conflict",
         "cursor cannot be combined with from_exclusive: a cursor is exclusive by itself"},
        {{{"table", "t"}, {"cursor", "{}"}, {"bootstrap", "1"}},
         "request.conflict",
         "cursor cannot be combined with bootstrap: a cursor goes on after rows that were already read"},
        {{{"table", "t"}, {"bootstrap", "1"}, {"from", "start"}}, NULL, NULL},
        {{{"table", "t"}, {"bootstrap", "1"}, {"from", "3"}}, NULL, NULL},
        {{{"table", "t"}, {"bootstrap", "1"}, {"from", "3"}, {"from_exclusive", "1"}},
         "request.conflict",
         "bootstrap cannot be combined with from_exclusive: the state at from is what a bootstrap begins with"},
        {{{"table", "t"}, {"bootstrap", "1"}, {"net", "1"}},
         "request.conflict",
         "bootstrap cannot be combined with net: the net change since nothing is the table itself"},
        {{{"table", "t"}, {"from_exclusive", "1"}},
         "request.conflict",
         "from_exclusive cannot be combined with from start: no commit is before the start"},
        {{{"table", "t"}, {"from_exclusive", "1"}, {"from", "3"}}, NULL, NULL},
        {{{"table", "t"}, {"net", "1"}, {"fold", "1"}}, NULL, NULL},
        {{{"table", "t"}, {"to", "start"}},
         "request.bad_range",
         "to is 'start', which is before every commit; expected a commit or 'latest'"},
        {{{"table", "t"}, {"from", "2024-01-02"}, {"to", "2024-01-01"}},
         "request.bad_range",
         "from 2024-01-02 is later than to 2024-01-01"},
        {{{"table", "t"}, {"from", "2024-01-01"}, {"to", "2024-01-01"}}, NULL, NULL},
        {{{"table", "t"}, {"columns", "a,b,a"}}, "request.bad_value", "columns: 'a' is named twice"},
        {{{"table", "t"}, {"identity", "a,a"}}, "request.bad_value", "identity: 'a' is named twice"},
        {{{"table", "t"}, {"batch_rows", "0"}}, "request.bad_value", "batch_rows: found 0, expected 1 to 1048576"},
        {{{"table", "t"}, {"timeout", "0"}}, "request.bad_value", "timeout: found 0, expected 1 to 1000000 seconds"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lcdc_request *r LC_CLEANUP(lcdc_request_freep) = request();
        lcdc_error *err LC_ERROR = NULL;
        for (size_t k = 0; k < 4 && rows[i].settings[k][0]; k++)
            set(r, rows[i].settings[k][0], rows[i].settings[k][1]);
        lcdc_status status = lc_request_check(r, &err);
        if (rows[i].reason)
            assert_int_equal(status, LCDC_INVALID_ARGUMENT);
        assert_string_equal(lcdc_error_reason(err), rows[i].reason ? rows[i].reason : "");
        assert_string_equal(lcdc_error_message(err), rows[i].message ? rows[i].message : "");
    }
}

static lcdc_status build_and_copy(void *context, lcdc_error **err)
{
    (void)context;
    lcdc_request *r LC_CLEANUP(lcdc_request_freep) = NULL, *copy LC_CLEANUP(lcdc_request_freep) = NULL;
    LC_TRY(lcdc_request_new(&r, err));
    LC_TRY(lcdc_request_set(r, "table", "/t", err));
    LC_TRY(lcdc_request_set(r, "columns", "a,b,c", err));
    LC_TRY(lcdc_request_set(r, "columns", "d", err));
    LC_TRY(lcdc_request_set(r, "path_map", "a=b", err));
    LC_TRY(lcdc_request_set(r, "to", "tag", err));
    return lc_request_dup(r, &copy, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(lc_torture(build_and_copy, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(every_row_of_the_table_can_be_set),
        cmocka_unit_test(bounds),
        cmocka_unit_test(bad_values_are_refused_and_change_nothing),
        cmocka_unit_test(sizes_and_switches),
        cmocka_unit_test(lists_add_up_and_keep_quotes),
        cmocka_unit_test(a_copy_is_deep_and_whole),
        cmocka_unit_test(combinations_that_mean_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
