/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - sync configs: what is read from one, and the message for each thing that can be wrong with one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/request.h"
#include "lakecdc/sys/log.h"
#include "sync/config.h"
#include "sync/keys.h"

/* ---- a world with one sink ---- */

static const struct lc_sink_option options[] = {
    {"place", NULL, true, NULL, "where it goes"},
    {"shape", "flat", false, "flat deep", "how it looks"},
    {"path", NULL, false, NULL, "a file"},
};
static const struct lc_sink_ops test_sink = {.name = "test", .n_options = 3, .options = options};
static const struct lc_sink_ops *const sinks[] = {&test_sink, NULL};

static const char *lookup(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "SECRET") == 0 ? "swordfish" : strcmp(name, "MODE") == 0 ? "wrong" : NULL;
}
static const struct lc_config_world world = {.sinks = sinks, .lookup = lookup};

static lcdc_status parse(const char *text, struct lc_config *out, lcdc_error **err)
{
    return lc_config_parse(lc_str_of(text), "/etc/sync.yaml", &world, out, err);
}

#define SOURCES "sources:\n  lake: {path: /data}\n"
#define SINKS "sinks:\n  out: {type: test, place: here}\n"
#define HEAD "version: 1\n" SOURCES SINKS "tables:\n"
#define TABLE "  orders: {source: lake, table: orders, sink: out"

/* ---- what is read ---- */

static const char whole[] = "version: 1\n"
                            "ledger: state/ledger.db\n"
                            "interval: 2m\n"
                            "workers: 8\n"
                            "retry: {first: 2s, most: 1h}\n"
                            "log: {format: json, level: warn}\n"
                            "metrics: {listen: '[::1]:9187', file: numbers.prom}\n"
                            "sources:\n"
                            "  lake: {path: data, path_map: ['/a=/b', '/c=/d']}\n"
                            "  ice: {catalog: 'https://user:pw@cat/v1', timeout: 5}\n"
                            "  spark: {spark: 'sc://host:15002/;token=${SECRET}'}\n"
                            "sinks:\n"
                            "  out: {type: test, place: here, path: out.db}\n"
                            "tables:\n"
                            "  orders:\n"
                            "    source: lake\n"
                            "    table: sales/orders\n"
                            "    sink: out\n"
                            "    sink_options: {shape: deep, place: there}\n"
                            "    mode: incremental\n"
                            "    start: 2024-02-29\n"
                            "    columns: [id, \"name\"]\n"
                            "    where: qty > 3\n"
                            "    identity: id, name\n"
                            "    interval: 500ms\n"
                            "    on_gap: resnapshot\n"
                            "    transforms:\n"
                            "      - rename: {a: b}\n"
                            "      - drop: [c, d]\n"
                            "      - constant: {s: eu, i: 7, t: true, f: 1.5, q: \"7\"}\n"
                            "      - cast: {qty: 'decimal(10, 2)'}\n"
                            "        expression: {big: qty > 100}\n"
                            "  spark table: {source: spark, table: db.t, sink: out}\n"
                            "  ice: {source: ice, table: ns.t, sink: out}\n";

static const char *setting(const struct lc_table_config *table, const char *key)
{
    const char *value = NULL;
    for (size_t i = 0; i < table->n_settings; i++)
        if (strcmp(table->settings[i].key, key) == 0) {
            assert_null(value);
            value = table->settings[i].value;
        }
    return value;
}

static void check_steps(const struct lc_steps *steps)
{
    static const enum lc_step_kind kinds[] = {LC_STEP_RENAME,   LC_STEP_DROP,      LC_STEP_DROP,     LC_STEP_CONSTANT,
                                              LC_STEP_CONSTANT, LC_STEP_CONSTANT,  LC_STEP_CONSTANT, LC_STEP_CONSTANT,
                                              LC_STEP_CAST,     LC_STEP_EXPRESSION};
    static const enum lc_type_kind constants[] = {LC_TYPE_STRING, LC_TYPE_INT64, LC_TYPE_BOOL, LC_TYPE_DOUBLE,
                                                  LC_TYPE_STRING};
    assert_int_equal(steps->n, 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(steps->items[i].kind, kinds[i]);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(steps->items[3 + i].constant.type.kind, constants[i]);
    assert_int_equal(steps->items[8].line, 31);
    assert_string_equal(steps->items[0].text, "b");
}

static void a_whole_config(void **state)
{
    (void)state;
    struct lc_config config;
    lcdc_error *err LC_ERROR = NULL;
    if (parse(whole, &config, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    const struct lc_table_config *orders = &config.tables[0];
    assert_string_equal(config.ledger, "/etc/state/ledger.db");
    assert_int_equal(config.workers, 8);
    assert_int_equal(config.retry_first_ms, 2000);
    assert_int_equal(config.retry_most_ms, 3600000);
    assert_true(config.log_json);
    assert_int_equal(config.log_level, LCDC_LOG_WARN);
    assert_string_equal(config.listen_host, "::1");
    assert_int_equal(config.listen_port, 9187);
    assert_string_equal(config.metrics_file, "/etc/numbers.prom");
    assert_string_equal(orders->location, "/etc/data/sales/orders");
    assert_int_equal(orders->mode, LC_MODE_INCREMENTAL);
    assert_int_equal(orders->on_gap, LC_ON_GAP_RESNAPSHOT);
    assert_int_equal(orders->interval_ms, 500);
    assert_int_equal(orders->n_identity, 2);
    assert_string_equal(orders->identity[1], "name");
    assert_string_equal(setting(orders, "place"), "there");
    assert_string_equal(setting(orders, "shape"), "deep");
    assert_string_equal(setting(orders, "path"), "/etc/out.db");
    check_steps(&orders->steps);
    lc_config_done(&config);
}

static void locations_and_what_is_shown_of_them(void **state)
{
    (void)state;
    struct lc_config config;
    lcdc_request *request LC_CLEANUP(lcdc_request_freep) = NULL;
    assert_int_equal(parse(whole, &config, NULL), LCDC_OK);
    assert_string_equal(config.tables[1].location, "sc://host:15002/;token=swordfish");
    assert_string_equal(config.tables[1].shown, "sc://host:15002/ db.t");
    assert_string_equal(config.tables[2].shown, "https://cat/v1 ns.t");
    assert_int_equal(config.tables[2].interval_ms, 120000);
    assert_int_equal(lc_config_request(&config.tables[2], &request, NULL), LCDC_OK);
    assert_string_equal(lcdc_request_get(request, "name"), "ns.t");
    assert_string_equal(lcdc_request_get(request, "timeout"), "5");
    lcdc_request_free(lc_steal(request));
    assert_int_equal(lc_config_request(&config.tables[0], &request, NULL), LCDC_OK);
    assert_string_equal(lcdc_request_get(request, "path_map"), "/a=/b\n/c=/d");
    assert_string_equal(lcdc_request_get(request, "columns"), "id,name");
    lc_config_done(&config);
}

static void defaults(void **state)
{
    (void)state;
    struct lc_config config;
    assert_int_equal(parse(HEAD TABLE "}\n", &config, NULL), LCDC_OK);
    assert_string_equal(config.ledger, "/etc/ledger.db");
    assert_int_equal(config.workers, 4);
    assert_int_equal(config.retry_first_ms, 1000);
    assert_int_equal(config.retry_most_ms, 300000);
    assert_false(config.log_json);
    assert_int_equal(config.listen_port, 0);
    assert_null(config.metrics_file);
    assert_int_equal(config.tables[0].mode, LC_MODE_CDC);
    assert_int_equal(config.tables[0].on_gap, LC_ON_GAP_STOP);
    assert_int_equal(config.tables[0].interval_ms, 30000);
    assert_string_equal(config.tables[0].start, "latest");
    lc_config_done(&config);
}

/* ---- what is refused, and in which words ---- */

static const struct {
    const char *text, *message; /* after the file's name */
} refusals[] = {
    {"", "1: the file is empty"},
    {"version: 1\n---\nversion: 1\n", "2: a second document begins here; a config is one"},
    {"- 1\n", "1: the config: found a list, expected keys below it"},
    {"version: 1\n a: {\n", "2: mapping values are not allowed in this context"},
    {"version: [1\n", "2: while parsing a flow sequence: did not find expected ',' or ']'"},
    {"version: &a 1\n", "1: anchors (&name) are not taken; write the value out"},
    {"version: *a\n", "1: aliases (*name) are not taken; write the value out"},
    {"version: !!int 1\n", "1: tags (!type) are not taken"},
    {"? [a]\n: 1\n", "1: a key is a text"},
    {"version: 1\nversion: 1\n", "2: key 'version' is here twice, first in line 1"},
    {"versoin: 1\n", "1: the config has no key 'versoin'; did you mean 'version'"},
    {"version: 1\nwhatever: 1\n", "2: the config has no key 'whatever'"},
    {SOURCES SINKS "tables: {}\n", "1: the config lacks the key 'version': form of this file: 1"},
    {"version: 2\n" SOURCES SINKS "tables: {}\n", "1: version: found '2', expected 1"},
    {"version: 1\nworkers: 0\n" SOURCES SINKS "tables: {}\n",
     "2: workers: found '0', expected a whole number from 1 to 256"},
    {"version: 1\ninterval: 30\n" SOURCES SINKS "tables: {}\n",
     "2: interval: found '30', expected a number and ms, s, m, h or d, such as 30s"},
    {"version: 1\ninterval: 0s\n" SOURCES SINKS "tables: {}\n",
     "2: interval: found '0s', expected a number and ms, s, m, h or d, such as 30s"},
    {"version: 1\nretry: {first: 1m, most: 1s}\n" SOURCES SINKS "tables: {}\n", "2: retry: most is shorter than first"},
    {"version: 1\nlog: {format: xml}\n" SOURCES SINKS "tables: {}\n", "2: format: found 'xml', expected text or json"},
    {"version: 1\nlog: json\n" SOURCES SINKS "tables: {}\n", "2: log: found 'json', expected keys below it"},
    {"version: 1\nmetrics: {listen: 9187}\n" SOURCES SINKS "tables: {}\n",
     "2: listen: found '9187', expected an address and a port, such as 127.0.0.1:9187"},
    {"version: 1\nmetrics: {listen: 'a:70000'}\n" SOURCES SINKS "tables: {}\n",
     "2: listen: found 'a:70000', expected an address and a port, such as 127.0.0.1:9187"},
    {"version: 1\nsources: {lake: {}}\n" SINKS "tables: {}\n",
     "2: source 'lake' needs one of path, catalog and spark, found none"},
    {"version: 1\nsources: {lake: {path: a, spark: 'sc://b'}}\n" SINKS "tables: {}\n",
     "2: source 'lake' needs one of path, catalog and spark, found several"},
    {"version: 1\nsources: {lake: {catalog: /x}}\n" SINKS "tables: {}\n",
     "2: catalog: found '/x', expected a URL that begins with http:// or https://"},
    {"version: 1\nsources: {lake: {path: a, timeout: soon}}\n" SINKS "tables: {}\n",
     "2: timeout: found 'soon', expected a whole number, 0 or more"},
    {"version: 1\nsources: {lake: {path: a, path_map: [x]}}\n" SINKS "tables: {}\n",
     "2: path_map: found 'x', expected FROM=TO"},
    {"version: 1\n" SOURCES "sinks: {out: {place: x}}\ntables: {}\n",
     "4: sink 'out' lacks the key 'type': the kind of sink; its own options stand beside it (docs/sinks.md)"},
    {"version: 1\n" SOURCES "sinks: {out: {type: tset}}\ntables: {}\n", "4: type: found 'tset', expected one of test"},
    {"version: 1\n" SOURCES "sinks: {out: {type: test, plaec: x}}\ntables: {}\n",
     "4: sink 'out' has no key 'plaec'; did you mean 'place'"},
    {"version: 1\n" SOURCES "sinks: {out: {type: test, place: x, shape: round}}\ntables: {}\n",
     "4: shape: found 'round', expected flat or deep"},
    {"version: 1\n" SOURCES SINKS "tables: {}\n", "6: tables: there is none"},
    {HEAD "  orders: {source: lake}\n",
     "7: table 'orders' lacks the key 'table': the table there: a folder below path, or a name of the catalog or "
     "server"},
    {HEAD "  orders: {source: lak, table: t, sink: out}\n", "7: there is no source 'lak'; did you mean 'lake'"},
    {HEAD "  orders: {source: lake, table: t, sink: elsewhere}\n", "7: there is no sink 'elsewhere'"},
    {HEAD TABLE ", mode: '${MODE}'}\n", "7: mode: found '${MODE}', expected full, incremental or cdc"},
    {HEAD TABLE ", mode: fast}\n", "7: mode: found 'fast', expected full, incremental or cdc"},
    {HEAD TABLE ",\n    colunms: [a]}\n", "8: table 'orders' has no key 'colunms'; did you mean 'columns'"},
    {HEAD TABLE ", start: start}\n",
     "7: start: found 'start', expected latest, oldest, a version or snapshot id, a timestamp or a tag"},
    {HEAD TABLE ", start: 2024-02-30}\n",
     "7: start: found '2024-02-30', expected latest, oldest, a version or snapshot id, a timestamp or a tag"},
    {HEAD TABLE ", columns: {a: b}}\n", "7: columns: found keys, expected a text"},
    {HEAD TABLE ", columns: [[a]]}\n", "7: columns: found a list, expected a text"},
    {HEAD TABLE ", columns: ['a,,b']}\n", "7: columns: found 'a,,b', expected names with commas between them"},
    {HEAD TABLE ", drop_noop: maybe}\n", "7: drop_noop: found 'maybe', expected true or false"},
    {HEAD TABLE ", batch_rows: '${SECRET}'}\n",
     "7: batch_rows: found '${SECRET}', expected a value that the reader takes"},
    {HEAD TABLE ", where: }\n", "7: where: found '', expected a text"},
    {HEAD TABLE ", where: '${NOT_SET}'}\n", "7: the environment variable NOT_SET is not set"},
    {HEAD TABLE ", where: '${1}'}\n",
     "7: \"${\" begins the name of an environment variable, ${NAME}; write \"$${\" for the characters themselves"},
    {HEAD TABLE ", sink_options: {palce: x}}\n", "7: sink_options has no key 'palce'; did you mean 'place'"},
    {HEAD TABLE ", transforms: {drop: [a]}}\n",
     "7: transforms: found keys, expected a list, such as [{rename: {a: b}}, {drop: [c]}]"},
    {HEAD TABLE ", transforms: [{dorp: [a]}]}\n", "7: a transform has no key 'dorp'; did you mean 'drop'"},
    {HEAD TABLE ", transforms: [{rename: [a]}]}\n", "7: rename: found a list, expected keys below it"},
    {HEAD TABLE ", transforms: [{drop: {a: b}}]}\n", "7: drop: found keys, expected a list of columns"},
    {HEAD TABLE ", transforms: [{constant: {a: }}]}\n",
     "7: constant: found '', expected a text, a number, true or false"},
    {HEAD TABLE ", transforms: [{cast: {a: number}}]}\n",
     "7: a: found 'number', expected a type such as string, bigint, double, decimal(10,2), date or timestamp"},
    {HEAD TABLE ", transforms: [{cast: {a: 'decimal(39,2)'}}]}\n",
     "7: a: found 'decimal(39,2)', expected a type such as string, bigint, double, decimal(10,2), date or timestamp"},
    {"version: 1\n" SOURCES "sinks:\n  out: {type: test}\ntables:\n" TABLE "}\n",
     "7: table 'orders': sink 'out' needs the option 'place': where it goes"},
};

static void refusals_have_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct lc_config config;
        char wanted[1024];
        lcdc_error *err LC_ERROR = NULL;
        lcdc_status status = parse(refusals[i].text, &config, &err);
        lc_config_done(&config);
        (void)snprintf(wanted, sizeof(wanted), "/etc/sync.yaml:%s", refusals[i].message);
        if (status != LCDC_INVALID_ARGUMENT || strcmp(lcdc_error_message(err), wanted) != 0)
            fail_msg("status %s\nfound    %s\nexpected %s", lcdc_status_name(status), lcdc_error_message(err), wanted);
        assert_memory_equal(lcdc_error_reason(err), "config.", 7);
    }
}

/* A sink that a table has for itself: two tables at one path would take each other's cursor and rows. */
static void one_path_is_of_one_table(void **state)
{
    (void)state;
    static const struct lc_sink_ops own = {.name = "own", .owns_path = true, .n_options = 3, .options = options};
    static const struct lc_sink_ops *const two[] = {&test_sink, &own, NULL};
    static const struct lc_config_world with_own = {.sinks = two, .lookup = lookup};
    static const struct {
        const char *type, *first, *second;
        bool is_same;
    } cases[] = {{"own", "out", "out", true},        {"own", "out", "./out", true}, {"own", "a/b", "a//./b/", true},
                 {"own", "/etc/a", "a", true},       {"own", "out", "out2", false}, {"own", "a/b", "a/b/c", false},
                 {"own", "a", "'${SECRET}'", false}, {"test", "out", "out", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1024];
        struct lc_config config;
        lcdc_error *err LC_ERROR = NULL;
        (void)snprintf(text, sizeof(text),
                       "version: 1\n" SOURCES "sinks:\n  out: {type: %s, place: here}\ntables:\n"
                       "  a: {source: lake, table: a, sink: out, sink_options: {path: %s}}\n"
                       "  b: {source: lake, table: b, sink: out, sink_options: {path: %s}}\n",
                       cases[i].type, cases[i].first, cases[i].second);
        lcdc_status status = lc_config_parse(lc_str_of(text), "/etc/sync.yaml", &with_own, &config, &err);
        assert_int_equal(status, cases[i].is_same ? LCDC_INVALID_ARGUMENT : LCDC_OK);
        if (cases[i].is_same)
            assert_string_equal(lcdc_error_message(err), "/etc/sync.yaml:8: table 'b' writes to the same path as table "
                                                         "'a'; give each one its own");
        lc_config_done(&config);
    }
}

static void texts_that_no_config_has(void **state)
{
    (void)state;
    struct lc_config config;
    lcdc_error *err LC_ERROR = NULL;
    LC_BUF struct lc_buf deep = {.max = 1 << 20};
    static const char with_nul[] = "version: \"a\\0b\"\n", not_utf8[] = "version: \xff\n";
    lc_buf_text(&deep, "version: ");
    for (int i = 0; i < 100; i++)
        lc_buf_char(&deep, '[');
    assert_int_equal(parse(deep.p, &config, &err), LCDC_LIMIT);
    lc_config_done(&config);
    assert_int_equal(parse(with_nul, &config, &err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_message(err), "/etc/sync.yaml:1: a text holds a NUL character");
    lc_config_done(&config);
    assert_int_equal(parse(not_utf8, &config, &err), LCDC_INVALID_ARGUMENT);
    lc_config_done(&config);
}

/* ---- texts of the environment ---- */

static void the_environment_fills_in(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_yaml root;
    const char *text = "a: 'x${SECRET}y${SECRET}'\nb: $${SECRET}\n${SECRET}: c\nd: $x\n";
    assert_int_equal(lc_yaml_parse(lc_str_of(text), "f", lookup, NULL, &arena, &root, NULL), LCDC_OK);
    assert_string_equal(lc_yaml_get(&root, "a")->text, "xswordfishyswordfish");
    assert_string_equal(lc_yaml_get(&root, "a")->spelling, "x${SECRET}y${SECRET}");
    assert_string_equal(lc_yaml_get(&root, "b")->text, "${SECRET}");
    assert_string_equal(lc_yaml_get(&root, "${SECRET}")->text, "c");
    assert_string_equal(lc_yaml_get(&root, "d")->text, "$x");
    assert_null(lc_yaml_get(&root, "swordfish"));
}

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms; /* 0: none */
    } cases[] = {{"1ms", 1},
                 {"30s", 30000},
                 {"5m", 300000},
                 {"2h", 7200000},
                 {"1d", 86400000},
                 {"", 0},
                 {"5", 0},
                 {"s", 0},
                 {"-1s", 0},
                 {"1.5s", 0},
                 {"1 s", 0},
                 {"1w", 0},
                 {"99999999999999999999s", 0},
                 {"9223372036854775807d", 0},
                 {"4000d", 0},
                 {"0ms", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = 0;
        assert_int_equal(lc_parse_duration(cases[i].text, &ms), cases[i].ms != 0);
        assert_int_equal(ms, cases[i].ms);
    }
}

/* Every allocation fails once: an error, no leak, no crash. */
static void memory_may_run_out(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 3000; n++) {
        struct lc_config config;
        lcdc_error *err LC_ERROR = NULL;
        (void)lc_alloc_fail_after(n);
        lcdc_status status = parse(whole, &config, &err);
        (void)lc_alloc_fail_after(-1);
        lc_config_done(&config);
        if (status == LCDC_OK)
            return;
        assert_int_equal(status, LCDC_OUT_OF_MEMORY);
    }
    fail_msg("never enough memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_config),
        cmocka_unit_test(locations_and_what_is_shown_of_them),
        cmocka_unit_test(defaults),
        cmocka_unit_test(refusals_have_file_and_line),
        cmocka_unit_test(one_path_is_of_one_table),
        cmocka_unit_test(texts_that_no_config_has),
        cmocka_unit_test(the_environment_fills_in),
        cmocka_unit_test(durations),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
