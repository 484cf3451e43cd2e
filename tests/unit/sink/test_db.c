/* SPDX-License-Identifier: Apache-2.0 */
/* What the SQL sinks say to a database: names, statements, fields of COPY, and what they make of a target they find. */
#include "sink/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/json_rows.h"

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }

struct fixture {
    struct lc_field columns[4];
    struct lc_field images;
    size_t identity[2];
    struct lc_sink_setting settings[4];
    struct lc_sink_setup setup;
    struct lc_db_target target;
};

static void make(struct fixture *f)
{
    *f = (struct fixture){
        .columns = {FIELD("id", INT64), FIELD("a \"b\"", STRING), FIELD("p", DECIMAL), FIELD("select", DOUBLE)}};
    f->columns[2].type = (struct lc_type){LC_TYPE_DECIMAL, 10, 2, 0};
    f->images = (struct lc_field){.name = "", .type.kind = LC_TYPE_STRUCT, .n_children = 4, .children = f->columns};
    f->setup = (struct lc_sink_setup){.table = "or'd\"ers",
                                      .source = "lake",
                                      .images = &f->images,
                                      .n_identity = 1,
                                      .identity = f->identity,
                                      .settings = f->settings};
}

static void set(struct fixture *f, const char *key, const char *value)
{
    f->settings[f->setup.n_settings++] = (struct lc_sink_setting){key, value};
}

static lcdc_status init(struct fixture *f, enum lc_db_dialect dialect, lcdc_error **err)
{
    bool is_sqlite = dialect == LC_DB_SQLITE;
    return lc_db_target_init(&f->target, is_sqlite ? &lc_sink_sqlite : &lc_sink_postgresql, dialect, &f->setup,
                             is_sqlite ? NULL : "sch\"ema", err);
}

static void assert_made(void (*print)(struct lc_buf *, const struct lc_db_target *), const struct lc_db_target *target,
                        const char *want)
{
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    print(&sql, target);
    assert_string_equal(sql.p, want);
}

static void test_statements_of_sqlite(void **unused)
{
    (void)unused;
    struct fixture f;
    make(&f);
    assert_int_equal(init(&f, LC_DB_SQLITE, NULL), LCDC_OK);
    assert_made(lc_db_create_target, &f.target,
                "CREATE TABLE main.\"or'd\"\"ers\" (\"id\" INTEGER NOT NULL, \"a \"\"b\"\"\" TEXT, \"p\" TEXT, "
                "\"select\" REAL, PRIMARY KEY (\"id\"))");
    assert_made(
        lc_db_create_stage, &f.target,
        "CREATE TEMPORARY TABLE lakecdc_stage (lakecdc_seq INTEGER PRIMARY KEY, lakecdc_after boolean NOT NULL, "
        "\"id\" INTEGER, \"a \"\"b\"\"\" TEXT, \"p\" TEXT, \"select\" REAL)");
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_db_delete_staged(&sql, &f.target, 12);
    assert_string_equal(sql.p, "DELETE FROM main.\"or'd\"\"ers\" WHERE (\"id\") IN (SELECT \"id\" FROM "
                               "temp.lakecdc_stage WHERE lakecdc_seq IN (SELECT max(lakecdc_seq) FROM "
                               "temp.lakecdc_stage GROUP BY \"id\") AND NOT lakecdc_after LIMIT 12)");
    assert_made(lc_db_upsert_staged, &f.target,
                "INSERT INTO main.\"or'd\"\"ers\" (\"id\", \"a \"\"b\"\"\", \"p\", \"select\") SELECT \"id\", "
                "\"a \"\"b\"\"\", \"p\", \"select\" FROM temp.lakecdc_stage WHERE lakecdc_seq IN (SELECT "
                "max(lakecdc_seq) FROM temp.lakecdc_stage GROUP BY \"id\") AND lakecdc_after ON CONFLICT (\"id\") DO "
                "UPDATE SET \"a \"\"b\"\"\" = excluded.\"a \"\"b\"\"\", \"p\" = excluded.\"p\", \"select\" = "
                "excluded.\"select\"");
    lc_db_target_done(&f.target);
}

static void test_statements_of_postgresql(void **unused)
{
    (void)unused;
    struct fixture f;
    make(&f);
    f.setup.n_identity = 2;
    f.identity[0] = 3;
    f.identity[1] = 1;
    assert_int_equal(init(&f, LC_DB_POSTGRESQL, NULL), LCDC_OK);
    assert_made(lc_db_create_target, &f.target,
                "CREATE TABLE \"sch\"\"ema\".\"or'd\"\"ers\" (\"id\" bigint, \"a \"\"b\"\"\" text NOT NULL, \"p\" "
                "numeric(10,2), \"select\" double precision NOT NULL, PRIMARY KEY (\"a \"\"b\"\"\", \"select\"))");
    assert_made(lc_db_find_duplicate, &f.target,
                "SELECT \"a \"\"b\"\"\", \"select\" FROM pg_temp.lakecdc_stage GROUP BY \"a \"\"b\"\"\", \"select\" "
                "HAVING sum(CASE WHEN lakecdc_after THEN 1 ELSE -1 END) > 1 LIMIT 1");
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_db_add_column(&sql, &f.target, &f.target.columns[2]);
    assert_string_equal(sql.p, "ALTER TABLE \"sch\"\"ema\".\"or'd\"\"ers\" ADD COLUMN \"p\" numeric(10,2)");
    lc_buf_clear(&sql);
    lc_db_widen_column(&sql, &f.target, &f.target.columns[0]);
    assert_string_equal(sql.p, "ALTER TABLE \"sch\"\"ema\".\"or'd\"\"ers\" ALTER COLUMN \"id\" TYPE bigint");
    lc_buf_clear(&sql);
    struct lc_window window = {.snapshot = -1};
    lc_db_move_cursor(&sql, &f.target, "it's", "new\\", &window, 7);
    assert_non_null(strstr(sql.p, "UPDATE \"sch\"\"ema\".\"lakecdc_cursor\" SET cursor = 'new\\', writer = 'lakecdc "));
    assert_non_null(strstr(sql.p, "events = 7, snapshot = NULL, committed_at = now() WHERE target = 'or''d\"ers' AND "
                                  "cursor = 'it''s'"));
    lc_db_target_done(&f.target);
}

static void test_identity_of_every_column(void **unused)
{
    (void)unused;
    struct fixture f;
    make(&f);
    f.images.n_children = 1;
    assert_int_equal(init(&f, LC_DB_SQLITE, NULL), LCDC_OK);
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    lc_db_upsert_staged(&sql, &f.target);
    assert_non_null(strstr(sql.p, "ON CONFLICT (\"id\") DO NOTHING"));
    lc_db_target_done(&f.target);
}

/* What is refused before a database is asked, with a word of the message. */
static void assert_refused(struct fixture *f, enum lc_db_dialect dialect, enum lc_reason reason, const char *word)
{
    lcdc_error *err LC_ERROR = NULL;
    assert_int_equal(init(f, dialect, &err), lc_reason_status(reason));
    assert_string_equal(lcdc_error_reason(err), lc_reason_token(reason));
    assert_non_null(strstr(lcdc_error_message(err), word));
    lc_db_target_done(&f->target);
}

static void test_names_refused(void **unused)
{
    (void)unused;
    char name[65];
    struct fixture f;
    memset(name, 'n', 64);
    name[64] = 0;
    make(&f);
    set(&f, "table", name);
    assert_refused(&f, LC_DB_POSTGRESQL, LC_R_SINK_SCHEMA, "64 bytes");
    assert_int_equal(init(&f, LC_DB_SQLITE, NULL), LCDC_OK);
    lc_db_target_done(&f.target);
    name[63] = 0;
    assert_int_equal(init(&f, LC_DB_POSTGRESQL, NULL), LCDC_OK);
    lc_db_target_done(&f.target);

    make(&f);
    f.columns[1].name = "ID";
    assert_refused(&f, LC_DB_SQLITE, LC_R_SINK_SCHEMA, "letter case");
    assert_int_equal(init(&f, LC_DB_POSTGRESQL, NULL), LCDC_OK);
    lc_db_target_done(&f.target);
    f.columns[1].name = "LakeCDC_op";
    assert_refused(&f, LC_DB_SQLITE, LC_R_SINK_SCHEMA, "LakeCDC_op");
    f.columns[1].name = "";
    assert_refused(&f, LC_DB_POSTGRESQL, LC_R_SINK_SCHEMA, "no name");

    make(&f);
    set(&f, "table", "LAKECDC_cursor");
    assert_refused(&f, LC_DB_SQLITE, LC_R_SINK_SCHEMA, "cursors");
    make(&f);
    f.setup.n_identity = 0;
    assert_refused(&f, LC_DB_SQLITE, LC_R_IDENTITY_NEEDED, "history");
    f.images.n_children = 0;
    set(&f, "mode", "replace");
    assert_refused(&f, LC_DB_SQLITE, LC_R_SINK_SCHEMA, "no columns");
}

static void test_types_that_hold_others(void **unused)
{
    (void)unused;
    static const struct {
        const char *to, *from;
        bool holds, back; /* whether the other way round holds too */
    } pairs[] = {{"bigint", "integer", true, false},
                 {"integer", "smallint", true, false},
                 {"double precision", "real", true, false},
                 {"double precision", "integer", true, false},
                 {"double precision", "bigint", false, false},
                 {"real", "smallint", true, false},
                 {"real", "integer", false, false},
                 {"numeric(12,2)", "numeric(10,2)", true, false},
                 {"numeric(12,4)", "numeric(10,2)", true, false},
                 {"numeric(11,4)", "numeric(10,2)", false, false},
                 {"numeric(10,0)", "integer", true, false},
                 {"numeric(9,0)", "integer", false, false},
                 {"numeric(21,2)", "bigint", true, false},
                 {"numeric", "numeric(38,38)", true, false},
                 {"numeric", "bigint", true, false},
                 {"numeric", "double precision", false, false},
                 {"timestamp without time zone", "date", true, false},
                 {"timestamp with time zone", "date", false, false},
                 {"timestamp with time zone", "timestamp without time zone", false, false},
                 {"text", "character varying", true, true},
                 {"text", "character varying(10)", false, false},
                 {"json", "jsonb", true, false},
                 {"numeric(", "numeric(,", false, false},
                 {"text", "uuid", false, false}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        assert_int_equal(lc_db_type_holds(LC_DB_POSTGRESQL, pairs[i].to, pairs[i].from), pairs[i].holds);
        assert_int_equal(lc_db_type_holds(LC_DB_POSTGRESQL, pairs[i].from, pairs[i].to), pairs[i].back);
        assert_true(lc_db_type_holds(LC_DB_POSTGRESQL, pairs[i].to, pairs[i].to));
    }
    assert_true(lc_db_type_holds(LC_DB_SQLITE, "INT", "INTEGER"));
    assert_true(lc_db_type_holds(LC_DB_SQLITE, "INTEGER", "BOOLEAN"));
    assert_true(lc_db_type_holds(LC_DB_SQLITE, "varchar(10)", "TEXT"));
    assert_true(lc_db_type_holds(LC_DB_SQLITE, "", "REAL"));
    assert_false(lc_db_type_holds(LC_DB_SQLITE, "NUMERIC", "TEXT"));
    assert_false(lc_db_type_holds(LC_DB_SQLITE, "DECIMAL(10,2)", "TEXT"));
    assert_false(lc_db_type_holds(LC_DB_SQLITE, "TEXT", "BLOB"));
    assert_false(lc_db_type_holds(LC_DB_SQLITE, "INTEGER", "REAL"));
}

static void assert_compared(struct fixture *f, size_t n, const struct lc_db_found *found, const char *recorded,
                            const char *word, const enum lc_db_change want[4])
{
    enum lc_db_change changes[4];
    lcdc_error *err LC_ERROR = NULL;
    lcdc_status status = lc_db_compare(&f->target, n, found, recorded, changes, &err);
    if (word) {
        assert_int_equal(status, LCDC_UNSUPPORTED);
        assert_string_equal(lcdc_error_reason(err), "sink.schema");
        assert_non_null(strstr(lcdc_error_message(err), word));
        return;
    }
    assert_int_equal(status, LCDC_OK);
    assert_memory_equal(changes, want, sizeof(changes));
}

static void test_columns_found(void **unused)
{
    (void)unused;
    static const enum lc_db_change fits[4] = {LC_DB_FITS, LC_DB_FITS, LC_DB_FITS, LC_DB_FITS};
    static const enum lc_db_change changes[4] = {LC_DB_WIDENS, LC_DB_FITS, LC_DB_MISSING, LC_DB_WIDENS};
    struct fixture f;
    make(&f);
    struct lc_db_found same[] = {{"id", "bigint", true},
                                 {"a \"b\"", "text", true},
                                 {"p", "numeric(10,2)", true},
                                 {"select", "double precision", true},
                                 {"own", "xml", true}};
    struct lc_db_found less[] = {{"select", "real", true}, {"a \"b\"", "text", true}, {"id", "integer", true}};
    assert_int_equal(init(&f, LC_DB_POSTGRESQL, NULL), LCDC_OK);
    assert_compared(&f, 4, same, NULL, NULL, fits);
    assert_compared(&f, 5, same, "{\"id\":\"bigint\"}", NULL, fits);
    assert_compared(&f, 5, same, "{\"own\":\"int\"}", "dropped_columns", fits);
    f.target.keeps_dropped = true;
    assert_compared(&f, 5, same, "{\"own\":\"int\"}", NULL, fits);
    same[4].may_be_left_out = false;
    assert_compared(&f, 5, same, NULL, "\"own\"", fits);
    assert_compared(&f, 3, less, NULL, NULL, changes);
    assert_compared(&f, 2, less, NULL, "identity column", fits);
    assert_compared(&f, 4, same, "{\"p\":\"decimal(12,2)\"}", "was decimal(12,2)", fits);
    assert_compared(&f, 4, same, "{\"id\":\"int\",\"p\":\"decimal(9,2)\",\"select\":\"float\"}", NULL, fits);
    assert_compared(&f, 4, same, "{\"a \\\"b\\\"\":\"timestamp_ns\"}", "was timestamp_ns", fits);
    same[2].type = "text";
    assert_compared(&f, 4, same, NULL, "is text, and numeric(10,2) is expected", fits);
    lc_db_target_done(&f.target);
}

/* ---- values ---- */

static void assert_copied(struct lc_field field, const char *json, const char *want, const char *why)
{
    struct ArrowArray rows;
    struct lc_buf out LC_BUF, scratch LC_BUF;
    lc_buf_init(&out, LC_BUF_MAX);
    lc_buf_init(&scratch, LC_BUF_MAX);
    assert_true(json_rows(json, &field, 2, &rows));
    const char *refused = lc_db_copy_value(&out, &scratch, &field, &rows, 0);
    rows.release(&rows);
    if (!why) {
        assert_null(refused);
        assert_string_equal(out.p ? out.p : "", want);
    } else {
        assert_non_null(refused);
        assert_non_null(strstr(refused, why));
    }
}

static void test_fields_of_copy(void **unused)
{
    (void)unused;
    struct lc_field date = FIELD("d", DATE), text = FIELD("s", STRING), bytes = FIELD("b", BINARY);
    struct lc_field instant = FIELD("t", TIMESTAMP_TZ), flag = FIELD("f", BOOL), clock = FIELD("c", TIME);
    struct lc_field list = FIELD("l", LIST), element = FIELD("element", STRING);
    list.n_children = 1;
    list.children = &element;
    assert_copied(text, "[null]", "\\N", NULL);
    assert_copied(text, "[\"\"]", "", NULL);
    assert_copied(text, "[\"a\\tb\\nc\\rd\\\\N\"]", "a\\tb\\nc\\rd\\\\N", NULL);
    assert_copied(text, "[\"a\\u0000b\"]", NULL, "NUL");
    assert_copied(list, "[[\"a\\u0000b\"]]", NULL, "NUL");
    assert_copied(list, "[[\"\\\\u0000\"]]", "[\"\\\\\\\\u0000\"]", NULL);
    assert_copied(bytes, "[\"AAECXFwK\"]", "\\\\x0001025c5c0a", NULL);
    assert_copied(flag, "[true]", "t", NULL);
    assert_copied(date, "[\"2024-02-29\"]", "2024-02-29", NULL);
    assert_copied(date, "[\"0000-01-01\"]", "0001-01-01 BC", NULL);
    assert_copied(date, "[\"-4713-11-24\"]", "4714-11-24 BC", NULL);
    assert_copied(date, "[\"-4713-11-23\"]", NULL, "calendar");
    assert_copied(instant, "[\"-4713-11-24T00:00:00.000000Z\"]", "4714-11-24 00:00:00.000000+00 BC", NULL);
    assert_copied(instant, "[\"-4713-11-23T23:59:59.999999Z\"]", NULL, "calendar");
    assert_copied(instant, "[\"1969-12-31T23:59:59.999999Z\"]", "1969-12-31 23:59:59.999999+00", NULL);
    assert_copied(clock, "[\"23:59:59.999999\"]", "23:59:59.999999", NULL);
}

/* The last day of PostgreSQL and the day after, which no text names. */
static void test_last_day(void **unused)
{
    (void)unused;
    int32_t days[] = {2147483493 - 2440588, 2147483494 - 2440588, INT32_MAX, INT32_MIN};
    const void *buffers[] = {NULL, days};
    struct ArrowArray array = {.length = 4, .n_buffers = 2, .buffers = buffers};
    struct lc_field date = FIELD("d", DATE);
    struct lc_buf out LC_BUF, scratch LC_BUF;
    lc_buf_init(&out, LC_BUF_MAX);
    lc_buf_init(&scratch, LC_BUF_MAX);
    assert_null(lc_db_copy_value(&out, &scratch, &date, &array, 0));
    assert_string_equal(out.p, "5874897-12-31");
    for (int64_t i = 1; i < 4; i++)
        assert_non_null(lc_db_copy_value(&out, &scratch, &date, &array, i));
    int64_t times[] = {-1, INT64_C(86400000000)};
    struct lc_field clock = FIELD("c", TIME);
    buffers[1] = times;
    for (int64_t i = 0; i < 2; i++)
        assert_non_null(lc_db_copy_value(&out, &scratch, &clock, &array, i));
}

static void test_place_after_a_lost_answer(void **unused)
{
    (void)unused;
    struct fixture f;
    struct lc_db_place place = {0};
    struct lc_db_state before = {.is_there = true}, after = {.is_there = true, .cursor = (char[]){"c1"}};
    make(&f);
    assert_int_equal(init(&f, LC_DB_SQLITE, NULL), LCDC_OK);
    /* The commit did not arrive: the window is delivered again as if it were new. */
    assert_int_equal(lc_db_place_doubt(&place, "c1", NULL), LCDC_OK);
    assert_int_equal(lc_db_place_begin(&place, &f.target, &before, NULL), LCDC_OK);
    assert_false(place.skips);
    assert_null(place.known);
    /* It did: the window is there. */
    assert_int_equal(lc_db_place_doubt(&place, "c1", NULL), LCDC_OK);
    assert_int_equal(lc_db_place_begin(&place, &f.target, &after, NULL), LCDC_OK);
    assert_true(place.skips);
    assert_int_equal(lc_db_place_skip(&place, &f.target, "c1", NULL), LCDC_OK);
    assert_string_equal(place.known, "c1");
    /* It did, and another window comes. */
    assert_int_not_equal(lc_db_place_skip(&place, &f.target, "c2", NULL), LCDC_OK);
    /* Somebody else moved it. */
    after.cursor[1] = '9';
    assert_int_equal(lc_db_place_begin(&place, &f.target, &after, NULL), LCDC_UNAVAILABLE);
    lc_db_place_done(&place);
    lc_db_target_done(&f.target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements_of_sqlite),
        cmocka_unit_test(test_statements_of_postgresql),
        cmocka_unit_test(test_identity_of_every_column),
        cmocka_unit_test(test_names_refused),
        cmocka_unit_test(test_types_that_hold_others),
        cmocka_unit_test(test_columns_found),
        cmocka_unit_test(test_fields_of_copy),
        cmocka_unit_test(test_last_day),
        cmocka_unit_test(test_place_after_a_lost_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
