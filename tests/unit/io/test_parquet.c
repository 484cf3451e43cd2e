/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/parquet.h"
#include "support/arrays.h"
#include "support/memory_storage.h"
#include "support/parquet_rows.h"
#include "support/torture.h"

/* LC_TEST_FILES is the folder that make_files.py filled. */

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }
#define PARENT(name_, kind_, children_)                                                                                \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_},     \
        .n_children = sizeof(children_) / sizeof((children_)[0]), .children = (children_)                              \
    }
#define ROOT(children_) (&(const struct lc_field)PARENT("", STRUCT, children_))

struct opened {
    struct lc_storage *storage;
    struct lc_parquet *file;
    struct lc_meter meter;
};

static void opened_done(struct opened *opened)
{
    lc_parquet_close(opened->file);
    lc_storage_free(opened->storage);
}
#define OPENED LC_CLEANUP(opened_done)

static void open_named(struct opened *out, const char *name)
{
    char path[4096];
    lcdc_error *err = NULL;
    snprintf(path, sizeof(path), "%s/%s.parquet", LC_TEST_FILES, name);
    assert_int_equal(lc_storage_arrow(&out->storage, NULL), LCDC_OK);
    assert_int_equal(lc_storage_meter(out->storage, &out->meter, &out->storage, NULL), LCDC_OK);
    if (lc_parquet_open(out->storage, path, -1, &out->file, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
}

static const struct lc_field *schema_of(struct opened *opened)
{
    const struct lc_field *schema = NULL;
    assert_int_equal(lc_parquet_schema(opened->file, &schema, NULL), LCDC_OK);
    return schema;
}

static void read_all(struct opened *opened, const struct lc_parquet_request *request, struct parquet_rows *out)
{
    lcdc_error *err = NULL;
    if (parquet_rows_read(opened->file, request, out, &err) != LCDC_OK)
        fail_msg("%s: %s", lcdc_error_reason(err), lcdc_error_message(err));
}

static void assert_refused(struct opened *opened, const struct lc_parquet_request *request, const char *reason,
                           const char *words)
{
    PARQUET_ROWS struct parquet_rows rows = {0};
    lcdc_error *err = NULL;
    assert_int_not_equal(parquet_rows_read(opened->file, request, &rows, &err), LCDC_OK);
    assert_string_equal(lcdc_error_reason(err), reason);
    if (!strstr(lcdc_error_message(err), words) || !strstr(lcdc_error_message(err), ".parquet: "))
        fail_msg("\"%s\" has no \"%s\"", lcdc_error_message(err), words);
    lcdc_error_free(err);
}

/* ---- the rows of a file ---- */

static void rows_are_those_that_were_written(void **state)
{
    (void)state;
    static const char *const names[] = {"rows", "rows_index", "rows_v2", "rows_plain"};
    static const char
        row_34[] = "{<34>,<-16>,<34000102>,<false>,<4.25>,<name-0>,<\xC3\xA9"
                   "000034\xC3\xA9"
                   "000034>,null,<3400000000000000000000>,<00000022>,<1970-01-01T00:00:41.975278>,{null,<y34>},"
                   "[null,<35>,<36>,null],[{<k0>,null}],[{<0>,[]}]}";
    for (size_t i = 0; i < 4; i++) {
        OPENED struct opened opened = {0};
        PARQUET_ROWS struct parquet_rows rows = {0};
        open_named(&opened, names[i]);
        assert_int_equal(lc_parquet_rows(opened.file), 3500);
        read_all(&opened, &(struct lc_parquet_request){.schema = schema_of(&opened)}, &rows);
        assert_int_equal(rows.n, 3500);
        assert_string_equal(rows.texts[34], row_34);
        for (size_t row = 0; row < rows.n; row++) {
            char id[32];
            int n = snprintf(id, sizeof(id), "{<%zu>,", row);
            assert_int_equal(rows.positions[row], row);
            assert_memory_equal(rows.texts[row], id, (size_t)n);
        }
    }
}

static void an_empty_file_has_no_rows(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "flat_none");
    assert_int_equal(lc_parquet_rows(opened.file), 0);
    read_all(&opened, &(struct lc_parquet_request){.schema = schema_of(&opened)}, &rows);
    assert_int_equal(rows.n, 0);
}

/* ---- selection ---- */

struct selection {
    struct lc_bitmap *include, *exclude;
};

static void selection_done(struct selection *selection)
{
    lc_bitmap_free(selection->include);
    lc_bitmap_free(selection->exclude);
}

static bool is_selected(const struct selection *selection, uint64_t row)
{
    return (!selection->include || lc_bitmap_contains(selection->include, row)) &&
           !(selection->exclude && lc_bitmap_contains(selection->exclude, row));
}

/* Runs of random lengths around `length`, with gaps around `gap`. */
static struct lc_bitmap *random_runs(uint64_t *random, uint64_t length, uint64_t gap, uint64_t end)
{
    struct lc_bitmap *out = NULL;
    assert_int_equal(lc_bitmap_new(&out, NULL), LCDC_OK);
    for (uint64_t row = lc_test_random(random) % (2 * gap + 1); row < end;) {
        uint64_t n = 1 + lc_test_random(random) % (2 * length);
        n = n < end - row ? n : end - row;
        assert_int_equal(lc_bitmap_add_range(out, row, n, NULL), LCDC_OK);
        row += n + 1 + lc_test_random(random) % (2 * gap);
    }
    return out;
}

static struct lc_bitmap *bitmap_of(size_t n, const uint64_t *rows)
{
    struct lc_bitmap *out = NULL;
    assert_int_equal(lc_bitmap_new(&out, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_many(out, n, rows, NULL), LCDC_OK);
    return out;
}

static void assert_selection(struct opened *opened, const struct lc_field *schema, const struct parquet_rows *plain,
                             const struct selection *selection, int64_t batch_rows)
{
    PARQUET_ROWS struct parquet_rows rows = {0};
    read_all(opened,
             &(struct lc_parquet_request){.schema = schema,
                                          .include = selection->include,
                                          .exclude = selection->exclude,
                                          .batch_rows = batch_rows,
                                          .keeps_dictionaries = batch_rows % 2},
             &rows);
    size_t n = 0;
    for (size_t row = 0; row < plain->n; row++) {
        if (!is_selected(selection, row))
            continue;
        assert_true(n < rows.n);
        assert_int_equal(rows.positions[n], row);
        assert_string_equal(rows.texts[n], plain->texts[row]);
        n++;
    }
    assert_int_equal(rows.n, n);
}

/* `step` > 1 tries some of the shapes only. */
static void assert_selections(struct opened *opened, const struct lc_field *schema, size_t step)
{
    static const uint64_t edges[] = {0, 1, 999, 1000, 1001, 2999, 3499}, last[] = {3499}, first[] = {0};
    static const struct {
        uint64_t length, gap;
    } shapes[] = {{1, 2}, {1, 50}, {1, 900}, {20, 20}, {300, 5}, {700, 900}, {3500, 1}};
    PARQUET_ROWS struct parquet_rows plain = {0};
    uint64_t random = 7;
    read_all(opened, &(struct lc_parquet_request){.schema = schema, .batch_rows = 100}, &plain);
    assert_int_equal(plain.n, 3500);
    LC_CLEANUP(selection_done) struct selection none = {bitmap_of(0, NULL), NULL};
    assert_selection(opened, schema, &plain, &none, 0);
    assert_selection(opened, schema, &plain, &(struct selection){NULL, none.include}, 0);
    const struct {
        size_t n;
        const uint64_t *rows;
    } few[] = {{7, edges}, {1, last}, {1, first}};
    for (size_t i = 0; i < 3; i++) {
        LC_CLEANUP(selection_done) struct selection chosen = {bitmap_of(few[i].n, few[i].rows), NULL};
        assert_selection(opened, schema, &plain, &chosen, 0);
        assert_selection(opened, schema, &plain, &(struct selection){NULL, chosen.include}, 333);
    }
    for (size_t i = 0; i < 7; i += step) {
        LC_CLEANUP(selection_done)
        struct selection chosen = {random_runs(&random, shapes[i].length, shapes[i].gap, 3500),
                                   random_runs(&random, 2, 30, 4000)};
        assert_selection(opened, schema, &plain, &(struct selection){chosen.include, NULL}, i % 2 ? 0 : 77);
        assert_selection(opened, schema, &plain, &(struct selection){NULL, chosen.include}, i % 2 ? 50 : 0);
        assert_selection(opened, schema, &plain, &chosen, i == 2 ? 1 : 1000);
    }
}

/* Columns `from` .. `to` of a schema. */
static struct lc_field part_of(const struct lc_field *schema, size_t from, size_t to)
{
    struct lc_field out = *schema;
    out.children += from;
    out.n_children = to - from;
    return out;
}

static void every_selection_equals_the_plain_read(void **state)
{
    (void)state;
    static const char *const names[] = {"rows", "rows_index", "rows_v2", "rows_plain"};
    for (size_t i = 0; i < 4; i++) {
        OPENED struct opened opened = {0};
        open_named(&opened, names[i]);
        assert_selections(&opened, schema_of(&opened), i ? 4 : 1);
    }
}

static void flat_and_nested_columns_are_selected_alone(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    open_named(&opened, "rows");
    const struct lc_field *schema = schema_of(&opened);
    static const size_t parts[][2] = {{0, 1}, {0, 11}, {3, 4}, {11, 15}, {14, 15}, {0, 0}};
    for (size_t i = 0; i < 6; i++) {
        struct lc_field part = part_of(schema, parts[i][0], parts[i][1]);
        assert_selections(&opened, &part, 2);
    }
}

static void a_stretch_is_read_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"rows", "rows_index", "rows_v2", "rows_plain"};
    static const int64_t stretches[][2] = {{0, 1},      {0, 1000}, {999, 2},     {1000, 1000}, {37, 64},    {37, 3000},
                                           {2999, 501}, {3499, 1}, {3400, 5000}, {3500, 10},   {1000, 1001}};
    for (size_t i = 0; i < 4; i++) {
        OPENED struct opened opened = {0};
        PARQUET_ROWS struct parquet_rows plain = {0};
        open_named(&opened, names[i]);
        read_all(&opened, &(struct lc_parquet_request){.schema = schema_of(&opened)}, &plain);
        for (size_t k = 0; k < sizeof(stretches) / sizeof(*stretches); k++) {
            PARQUET_ROWS struct parquet_rows rows = {0};
            int64_t first = stretches[k][0], n = stretches[k][1] < 3500 - first ? stretches[k][1] : 3500 - first;
            read_all(&opened,
                     &(struct lc_parquet_request){.schema = schema_of(&opened),
                                                  .first_row = first,
                                                  .n_rows = stretches[k][1],
                                                  .keeps_dictionaries = k % 2},
                     &rows);
            assert_int_equal(rows.n, n);
            for (int64_t row = 0; row < n; row++) {
                assert_int_equal(rows.positions[row], first + row);
                assert_string_equal(rows.texts[row], plain.texts[first + row]);
            }
        }
    }
}

/* Texts that a dictionary holds, of few and of many values; pages that fell back to plain ones have none. */
static void dictionaries_are_kept_where_they_are_small(void **state)
{
    (void)state;
    OPENED struct opened opened = {0}, plain = {0};
    open_named(&opened, "rows");
    open_named(&plain, "rows_plain");
    const struct lc_field *schema = schema_of(&opened);
    for (size_t column = 5; column < 7; column++) {
        PARQUET_ROWS struct parquet_rows texts = {0}, coded = {0}, none = {0};
        struct lc_field part = part_of(schema, column, column + 1);
        read_all(&opened, &(struct lc_parquet_request){.schema = &part}, &texts);
        read_all(&opened, &(struct lc_parquet_request){.schema = &part, .keeps_dictionaries = true}, &coded);
        read_all(&plain, &(struct lc_parquet_request){.schema = &part, .keeps_dictionaries = true}, &none);
        assert_int_equal(texts.n_coded, 0);
        assert_int_equal(coded.n_coded, 3500);
        assert_int_equal(none.n_coded, 0);
        for (size_t row = 0; row < 3500; row++) {
            assert_string_equal(coded.texts[row], texts.texts[row]);
            assert_string_equal(none.texts[row], texts.texts[row]);
        }
    }
}

static void a_position_past_the_end_is_told(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    open_named(&opened, "rows");
    static const uint64_t beyond[] = {3, 3500};
    LC_BITMAP struct lc_bitmap *include = bitmap_of(2, beyond);
    assert_refused(&opened, &(struct lc_parquet_request){.schema = schema_of(&opened), .include = include},
                   "table.row_count", "row 3500 is asked of a file of 3500 rows");
}

static int64_t bytes_read(const char *name, size_t n_columns, const struct lc_bitmap *include)
{
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, name);
    struct lc_field part = part_of(schema_of(&opened), 0, n_columns);
    int64_t before = opened.meter.bytes;
    read_all(&opened, &(struct lc_parquet_request){.schema = &part, .include = include}, &rows);
    return opened.meter.bytes - before;
}

static void what_no_row_is_wanted_of_is_not_read(void **state)
{
    (void)state;
    static const uint64_t one[] = {1500};
    LC_BITMAP struct lc_bitmap *include = bitmap_of(1, one);
    LC_BITMAP struct lc_bitmap *none = bitmap_of(0, NULL);
    assert_int_equal(bytes_read("rows", 15, none), 0);
    assert_int_equal(bytes_read("rows", 0, NULL), 0);
    assert_true(bytes_read("rows", 1, include) * 3 < bytes_read("rows", 1, NULL));
    assert_true(bytes_read("rows", 15, include) * 3 < bytes_read("rows", 15, NULL));
}

/* ---- which column ---- */

static void columns_are_found_by_physical_name(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "rows");
    struct lc_field point[] = {FIELD("why", STRING), FIELD("x", STRING)};
    point[0].physical = "y";
    point[1].physical = "nowhere";
    struct lc_field columns[] = {FIELD("number", INT64), FIELD("new", STRING), PARENT("place", STRUCT, point)};
    columns[0].physical = "long";
    columns[2].physical = "point";
    struct lc_value seven = {.type = {.kind = LC_TYPE_STRING}, .str = LC_STR("seven")};
    columns[1].initial_default = &seven;
    point[1].initial_default = &seven;
    read_all(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, &rows);
    assert_int_equal(rows.n, 3500);
    assert_string_equal(rows.texts[0], "{null,<seven>,null}");
    assert_string_equal(rows.texts[3499], "{<3499010497>,<seven>,{<y3499>,<seven>}}");
    assert_true(lc_parquet_has(opened.file, &columns[0], LC_MATCH_PHYSICAL_NAME));
    assert_false(lc_parquet_has(opened.file, &columns[1], LC_MATCH_PHYSICAL_NAME));
}

static void columns_are_found_by_id(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    open_named(&opened, "rows");
    struct lc_field point[] = {FIELD("x", STRING), FIELD("y", INT32)};
    point[0].id = 14;
    point[1].id = 13;
    struct lc_field item[] = {FIELD("q", INT32)}, items[] = {PARENT("element", STRUCT, item)};
    item[0].id = 21;
    struct lc_field columns[] = {FIELD("flag", INT64), FIELD("long", INT64), PARENT("p", STRUCT, point),
                                 PARENT("s", LIST, items)};
    const char *aliases[] = {"long"};
    columns[0].id = 3;
    columns[1].aliases = aliases;
    columns[1].n_aliases = 1;
    columns[2].id = 12;
    columns[3].id = 19;
    for (int match = LC_MATCH_ID; match <= LC_MATCH_ID_OR_ALIAS; match++) {
        PARQUET_ROWS struct parquet_rows rows = {0};
        read_all(&opened, &(struct lc_parquet_request){.schema = ROOT(columns), .match = (enum lc_match)match}, &rows);
        /* A table column without an id of its own, such as a hidden one, is found by its name in Delta's files. */
        bool by_name = match == LC_MATCH_ID;
        assert_string_equal(rows.texts[5], by_name ? "{<5000015>,<5000015>,{<y5>,<5>},[{<0>},{<1>}]}"
                                                   : "{<5000015>,null,{<y5>,<5>},[{<0>},{<1>}]}");
        assert_true(lc_parquet_has(opened.file, &columns[0], (enum lc_match)match));
        assert_int_equal(lc_parquet_has(opened.file, &columns[1], (enum lc_match)match), by_name);
    }
}

static void aliases_serve_files_without_ids(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    open_named(&opened, "types");
    struct lc_field columns[] = {FIELD("a", INT32), FIELD("i8", INT32)};
    const char *aliases[] = {"was", "i16"}, *two[] = {"i16", "i8"};
    columns[0].aliases = aliases;
    columns[0].n_aliases = 2;
    columns[0].id = 1;
    columns[1].id = 2;
    PARQUET_ROWS struct parquet_rows rows = {0};
    read_all(&opened, &(struct lc_parquet_request){.schema = ROOT(columns), .match = LC_MATCH_ID_OR_ALIAS}, &rows);
    assert_string_equal(rows.texts[1], "{<-14400>,null}");
    assert_true(lc_parquet_has(opened.file, &columns[0], LC_MATCH_ID_OR_ALIAS));
    columns[0].aliases = two;
    assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(columns), .match = LC_MATCH_ID_OR_ALIAS},
                   "parquet.bad", "several columns of the file answer to column a");
}

static void structs_keep_their_nulls_when_their_fields_changed(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "shapes");
    struct lc_field fresh[] = {FIELD("new", INT32)}, inner[] = {FIELD("p", INT64), FIELD("new", STRING)};
    struct lc_field lone[] = {FIELD("other", INT32)}, elements[] = {PARENT("element", STRUCT, inner)};
    struct lc_field lonely[] = {PARENT("element", STRUCT, lone)};
    struct lc_field columns[] = {PARENT("s", STRUCT, fresh), PARENT("l", LIST, elements), PARENT("l", LIST, lonely),
                                 PARENT("none", LIST, elements)};
    read_all(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, &rows);
    assert_int_equal(rows.n, 20);
    assert_string_equal(rows.texts[0], "{null,null,null,null}");
    assert_string_equal(rows.texts[2], "{{null},[{<2>,null},{<2>,null}],[{null},{null}],null}");
    assert_string_equal(rows.texts[4], "{null,[{<4>,null}],[{null}],null}");
    assert_string_equal(rows.texts[5], "{{null},null,null,null}");
}

static void variants_are_two_binaries(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "variant");
    struct lc_field parts[] = {FIELD("metadata", BINARY), FIELD("value", BINARY)};
    struct lc_field columns[] = {PARENT("v", STRUCT, parts)};
    parts[0].physical = parts[1].physical = "elsewhere"; /* named by the Parquet specification, not by the table */
    columns[0].is_variant = true;
    read_all(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, &rows);
    assert_string_equal(rows.texts[7], "{{<010000>,<0c07>}}");
    columns[0].name = columns[0].physical = "shredded";
    assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, "parquet.unsupported",
                   "column shredded is a shredded variant");
}

/* ---- constants ---- */

static void constants_stand_for_columns(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "rows");
    struct lc_field point[] = {FIELD("x", INT32), FIELD("y", STRING)};
    struct lc_field columns[] = {FIELD("id", INT64), FIELD("part", DATE), FIELD("name", STRING), FIELD("text", STRING),
                                 PARENT("point", STRUCT, point)};
    struct lc_value day = {.type = {.kind = LC_TYPE_DATE}, .i = 31}, null = {.is_null = true};
    struct lc_value text = {.type = {.kind = LC_TYPE_STRING}, .str = LC_STR("constant")};
    const struct lc_constant constants[] = {{.field = &columns[1], .value = &day},
                                            {.field = &columns[2], .value = &text},
                                            {.field = &columns[3], .value = &text, .only_if_missing = true},
                                            {.field = &point[1], .value = &text},
                                            {.field = &columns[0], .value = &null}};
    struct lc_parquet_request request = {.schema = ROOT(columns), .n_constants = 4, .constants = constants};
    read_all(&opened, &request, &rows);
    assert_int_equal(rows.n, 3500);
    assert_string_equal(rows.texts[1], "{<1>,<1970-02-01>,<constant>,<\xC3\xA9"
                                       "000001>,{<1>,<constant>}}");
    assert_string_equal(rows.texts[29], "{<29>,<1970-02-01>,<constant>,<\xC3\xA9"
                                        "000029>,null}");
    int64_t before = opened.meter.bytes;
    struct lc_field three = part_of(request.schema, 0, 3);
    request.schema = &three;
    request.n_constants = 5;
    parquet_rows_done(&rows);
    read_all(&opened, &request, &rows);
    assert_int_equal(rows.n, 3500);
    assert_string_equal(rows.texts[3499], "{null,<1970-02-01>,<constant>}");
    assert_int_equal(opened.meter.bytes, before);
}

/* ---- types ---- */

static struct lc_field decimal(const char *name, int precision, int scale)
{
    struct lc_field out = FIELD(name, DECIMAL);
    out.type.precision = precision;
    out.type.scale = scale;
    return out;
}

enum { N_WIDENED = 26 };

static void widened_columns(struct lc_field out[N_WIDENED])
{
    const struct lc_field plain[] = {
        FIELD("i8", INT32),        FIELD("i16", INT64),          FIELD("i32", INT64),       FIELD("u32", INT64),
        FIELD("i8", DOUBLE),       FIELD("f32", DOUBLE),         FIELD("date", TIMESTAMP),  FIELD("date", TIMESTAMP_NS),
        FIELD("ms", TIMESTAMP_TZ), FIELD("ms", TIMESTAMP_NS_TZ), FIELD("us", TIMESTAMP_TZ), FIELD("us", TIMESTAMP),
        FIELD("ns", TIMESTAMP_TZ), FIELD("ns", TIMESTAMP_NS),    FIELD("time_ms", TIME),    FIELD("time_ns", TIME),
        FIELD("dict", STRING),     FIELD("large", BINARY),       FIELD("fixed", BINARY),    FIELD("uuid", UUID),
        FIELD("null", STRING),     FIELD("binary", BINARY),
    };
    memcpy(out, plain, sizeof(plain));
    out[22] = decimal("i32", 12, 2);
    out[23] = decimal("u64", 20, 0);
    out[24] = decimal("dec4", 38, 3);
    out[25] = decimal("dec18", 20, 4);
}

static const char widened_row_1[] =
    "{<-24>,<-14400>,<-1920000000>,<80000000>,<-24.0>,<0.25>,<1969-12-08T00:00:00.000000>,"
    "<1969-12-08T00:00:00.000000000>,<1969-12-31T23:59:59.976000Z>,<1969-12-31T23:59:59.976000000Z>,"
    "<1969-12-31T23:59:59.971500Z>,<1969-12-31T23:59:59.971500>,<1969-12-31T23:59:59.999971Z>,"
    "<1969-12-31T23:59:59.999971500>,<00:00:00.001000>,<00:00:00.000001>,<d1>,<6c6172676531>,<010101>,"
    "<01010101010101010101010101010101>,null,<fffe>,<-1920000000.00>,<9223372036854775809>,<-2.400>,"
    "<-24000000000000.0000>}";

static void narrower_types_are_widened(void **state)
{
    (void)state;
    OPENED struct opened flat = {0}, nested = {0};
    PARQUET_ROWS struct parquet_rows rows = {0}, below = {0};
    struct lc_field columns[N_WIDENED];
    widened_columns(columns);
    const char *uuid = "<01010101-0101-0101-0101-010101010101>";
    char expected[1024];
    const char *at = strstr(widened_row_1, "<01010101010101010101010101010101>");
    snprintf(expected, sizeof(expected), "%.*s%s%s", (int)(at - widened_row_1), widened_row_1, uuid, at + 34);
    open_named(&flat, "types");
    read_all(&flat, &(struct lc_parquet_request){.schema = ROOT(columns)}, &rows);
    assert_int_equal(rows.n, 50);
    assert_string_equal(rows.texts[1], expected);
    /* The same values below a struct come through the other reader. */
    struct lc_field outer[] = {PARENT("s", STRUCT, columns)};
    open_named(&nested, "types_nested");
    read_all(&nested, &(struct lc_parquet_request){.schema = ROOT(outer)}, &below);
    for (size_t i = 0; i < 50; i++) {
        char wrapped[1100];
        snprintf(wrapped, sizeof(wrapped), "{%s}", rows.texts[i]);
        assert_string_equal(below.texts[i], wrapped);
    }
}

static void int96_is_read_in_microseconds(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "int96");
    struct lc_field inner[] = {FIELD("t", TIMESTAMP)};
    struct lc_field columns[] = {FIELD("t", TIMESTAMP_TZ), PARENT("s", STRUCT, inner)};
    read_all(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, &rows);
    assert_string_equal(rows.texts[1], "{<1969-12-31T23:59:59.999971Z>,{<1969-12-31T23:59:59.999971>}}");
    assert_string_equal(rows.texts[21], "{<1970-01-01T00:00:00.000001Z>,{<1970-01-01T00:00:00.000001>}}");
    columns[0].type.kind = LC_TYPE_TIMESTAMP_NS;
    assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, "schema.type_mismatch",
                   "column t is");
}

static void what_would_lose_something_is_refused(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    open_named(&opened, "types");
    const struct lc_field refused[] = {
        FIELD("i32", STRING),    FIELD("u64", INT64),     FIELD("f32", INT32),   FIELD("ms", INT64),
        FIELD("i32", DATE),      FIELD("date", STRING),   FIELD("u32", INT32),   FIELD("fixed", STRING),
        FIELD("fixed", UUID),    FIELD("dec18", DOUBLE),  FIELD("f32", FLOAT),   FIELD("time_ms", TIMESTAMP),
        decimal("dec18", 15, 3), decimal("dec18", 20, 2), decimal("f32", 20, 2), FIELD("u32", DATE),
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct lc_field columns[] = {refused[i]};
        if (i == 10)
            columns[0].name = columns[0].physical = "date";
        assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, "schema.type_mismatch",
                       "in the file, which cannot be read as the table's");
    }
    struct lc_field inner[] = {FIELD("x", INT32)}, list[] = {FIELD("element", INT32)};
    struct lc_field shapes[] = {PARENT("i32", STRUCT, inner), PARENT("i32", LIST, list)};
    for (size_t i = 0; i < 2; i++) {
        struct lc_field columns[] = {shapes[i]};
        assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(columns)}, "schema.type_mismatch", "i32");
    }
    struct lc_field narrow[] = {FIELD("i32", INT16)}, small[] = {decimal("i32", 5, 1)};
    assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(narrow)}, "schema.type_mismatch",
                   "column i32 holds a value that does not fit smallint");
    assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(small)}, "schema.type_mismatch",
                   "column i32 holds a value that does not fit decimal(5,1)");
    struct lc_field text[] = {FIELD("binary", STRING)};
    assert_refused(&opened, &(struct lc_parquet_request){.schema = ROOT(text)}, "parquet.bad", "not valid UTF-8");
}

/* Spark's own readers rebase these; here they are refused, and everything that means the same in both is read. */
static void times_of_another_calendar_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_hybrid, is_hybrid_int96;
    } cases[] = {{"2", true, true}, {"3", false, false}, {"3_legacy", true, false}, {"none", false, false}};
    for (size_t i = 0; i < 8; i++) {
        OPENED struct opened opened = {0};
        char name[64];
        bool is_int96 = i >= 4;
        snprintf(name, sizeof(name), "calendar_%s%s", cases[i % 4].name, is_int96 ? "_int96" : "");
        open_named(&opened, name);
        struct lc_field columns[] = {FIELD("day", DATE), FIELD("time", TIMESTAMP), FIELD("new", TIMESTAMP)};
        for (size_t c = 0; c < 3; c++) {
            PARQUET_ROWS struct parquet_rows rows = {0};
            struct lc_field part = part_of(ROOT(columns), c, c + 1);
            bool is_time = c == 1 && is_int96;
            bool is_refused = c < 2 && (is_time ? cases[i % 4].is_hybrid_int96 : cases[i % 4].is_hybrid);
            LC_BITMAP struct lc_bitmap *late = bitmap_of(2, (const uint64_t[]){0, 2});
            struct lc_parquet_request request = {.schema = &part};
            if (is_refused)
                assert_refused(&opened, &request, "parquet.unsupported", "in the hybrid calendar of an old Spark");
            request.include = is_refused ? late : NULL;
            read_all(&opened, &request, &rows);
            assert_int_equal(rows.n, is_refused ? 2 : 3);
        }
    }
}

/* ---- ranges ---- */

static struct lc_value value_of(struct lc_type type, const char *text)
{
    struct lc_value out;
    assert_true(lc_value_parse(type, lc_str_of(text), NULL, &out));
    return out;
}

struct wanted {
    const char *column, *low, *high;
    bool low_open, high_open, may_be_null, only_null;
    size_t rows;    /* that satisfy it */
    size_t at_most; /* rows that may come: those of a row group, of its pages with an index */
    size_t at_most_pages;
};

/* `text` is a row: a number, the column that the range is about, a list. */
static bool is_in_range(const struct lc_range *range, struct lc_type type, const char *text)
{
    struct lc_value value;
    const char *from = strstr(text, ">,") + 2, *to = strrchr(text, '[') - 1;
    if (*from == 'n')
        return range->may_be_null || range->only_null;
    assert_true(lc_value_parse(type, (struct lc_str){from + 1, (size_t)(to - from) - 2}, NULL, &value));
    int low = range->low ? lc_value_compare(&value, range->low) : 1;
    int high = range->high ? lc_value_compare(&value, range->high) : -1;
    return !range->only_null && low >= range->low_open && high <= -(int)range->high_open;
}

/* Counts rows in the range by their values, and sees that each of them came. */
static void assert_range(const char *name, const struct wanted *wanted, size_t at_most)
{
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0}, plain = {0};
    open_named(&opened, name);
    const struct lc_field *schema = schema_of(&opened), *field = lc_field_child(schema, lc_str_of(wanted->column));
    assert_non_null(field);
    struct lc_field columns[] = {*lc_field_child(schema, LC_STR("n")), *field, *lc_field_child(schema, LC_STR("list"))};
    struct lc_value low, high;
    struct lc_range range = {.field = &columns[1],
                             .low_open = wanted->low_open,
                             .high_open = wanted->high_open,
                             .may_be_null = wanted->may_be_null,
                             .only_null = wanted->only_null};
    if (wanted->low) {
        low = value_of(field->type, wanted->low);
        range.low = &low;
    }
    if (wanted->high) {
        high = value_of(field->type, wanted->high);
        range.high = &high;
    }
    struct lc_parquet_request request = {.schema = ROOT(columns)};
    read_all(&opened, &request, &plain);
    request.n_ranges = 1;
    request.ranges = &range;
    read_all(&opened, &request, &rows);
    assert_in_range(rows.n, wanted->rows, at_most);
    for (size_t i = 0; i < rows.n; i++)
        assert_string_equal(rows.texts[i], plain.texts[rows.positions[i]]);
    size_t n = 0, next = 0;
    for (size_t i = 0; i < plain.n; i++) {
        if (!is_in_range(&range, field->type, plain.texts[i]))
            continue;
        while (next < rows.n && rows.positions[next] < (int64_t)i)
            next++;
        assert_true(next < rows.n && rows.positions[next] == (int64_t)i);
        n++;
    }
    assert_int_equal(n, wanted->rows);
}

static void ranges_skip_row_groups_and_pages(void **state)
{
    (void)state;
    static const struct wanted cases[] = {
        {.column = "n", .low = "1500", .high = "1510", .rows = 11, .at_most = 1000, .at_most_pages = 150},
        {.column = "n", .low = "3999", .low_open = true, .rows = 0, .at_most = 0, .at_most_pages = 0},
        {.column = "n", .high = "0", .rows = 1, .at_most = 1000, .at_most_pages = 100},
        {.column = "n", .only_null = true, .rows = 0, .at_most = 0, .at_most_pages = 0},
        {.column = "s", .low = "02000", .high = "02000", .rows = 1, .at_most = 1000, .at_most_pages = 100},
        {.column = "s", .low = "00999", .high = "01000", .rows = 2, .at_most = 2000, .at_most_pages = 200},
        {.column = "p", .low = "10.00", .high = "10.49", .rows = 50, .at_most = 1000, .at_most_pages = 150},
        {.column = "d", .low = "1200", .high = "1210", .rows = 21, .at_most = 1000, .at_most_pages = 250},
        {.column = "d", .low = "1900", .rows = 204, .at_most = 4000, .at_most_pages = 4000},
        {.column = "d", .high = "10", .rows = 20, .at_most = 1000, .at_most_pages = 200},
        {.column = "maybe", .only_null = true, .rows = 2500, .at_most = 4000, .at_most_pages = 4000},
        {.column = "maybe", .high = "500", .rows = 0, .at_most = 0, .at_most_pages = 0},
        {.column = "maybe", .high = "500", .may_be_null = true, .rows = 2500, .at_most = 4000, .at_most_pages = 4000},
        {.column = "maybe", .low = "2000", .high = "2010", .rows = 6, .at_most = 1000, .at_most_pages = 200},
        {.column = "b", .low = "true", .high = "true", .rows = 2000, .at_most = 2000, .at_most_pages = 2000},
        {.column = "u", .low = "3999000000", .rows = 1, .at_most = 1000, .at_most_pages = 100},
        {.column = "ns",
         .low = "1970-01-01 00:00:00.001500",
         .high = "1970-01-01 00:00:00.001600",
         .rows = 100,
         .at_most = 1000,
         .at_most_pages = 250},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_range("ranges", &cases[i], cases[i].at_most);
        assert_range("ranges_index", &cases[i], cases[i].at_most_pages);
    }
}

static void ranges_are_seen_through_widening_and_constants(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "ranges_index");
    struct lc_field columns[] = {FIELD("n", DOUBLE), FIELD("s", BINARY), FIELD("ns", TIMESTAMP), decimal("n", 12, 2),
                                 FIELD("part", INT32)};
    struct lc_value low = value_of(columns[0].type, "1990"), high = value_of(columns[0].type, "2009");
    struct lc_value text = {.type = columns[1].type, .str = LC_STR("02000")};
    struct lc_value when = value_of(columns[2].type, "1970-01-01 00:00:00.002000");
    struct lc_value number = value_of(columns[3].type, "2005.00");
    struct lc_range ranges[] = {{.field = &columns[0], .low = &low, .high = &high},
                                {.field = &columns[1], .low = &text},
                                {.field = &columns[2], .low = &when},
                                {.field = &columns[3], .high = &number}};
    struct lc_parquet_request request = {.schema = ROOT(columns), .n_ranges = 4, .ranges = ranges};
    read_all(&opened, &request, &rows);
    assert_in_range(rows.n, 6, 100);
    assert_int_equal(rows.positions[0], 2000);
    assert_string_equal(rows.texts[0], "{<2000.0>,<3032303030>,<1970-01-01T00:00:00.002000>,<2000.00>,null}");
    parquet_rows_done(&rows);
    struct lc_value five = value_of(columns[4].type, "5"), six = value_of(columns[4].type, "6");
    const struct lc_constant constant = {.field = &columns[4], .value = &five};
    struct lc_range part = {.field = &columns[4], .low = &six};
    request = (struct lc_parquet_request){
        .schema = ROOT(columns), .n_constants = 1, .constants = &constant, .n_ranges = 1, .ranges = &part};
    read_all(&opened, &request, &rows);
    assert_int_equal(rows.n, 0);
    part.low = &five;
    read_all(&opened, &request, &rows);
    assert_int_equal(rows.n, 4000);
}

static void ranges_and_selections_go_together(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "ranges_index");
    const struct lc_field *schema = schema_of(&opened);
    struct lc_value low = value_of(schema->children[0].type, "1500"), high = value_of(schema->children[0].type, "1600");
    struct lc_range range = {.field = &schema->children[0], .low = &low, .high = &high};
    static const uint64_t chosen[] = {0, 1499, 1555, 1556, 1600, 2000};
    LC_BITMAP struct lc_bitmap *include = bitmap_of(6, chosen);
    struct lc_parquet_request request = {.schema = schema, .include = include, .n_ranges = 1, .ranges = &range};
    read_all(&opened, &request, &rows);
    assert_in_range(rows.n, 3, 4);
    for (size_t i = 0; i < rows.n; i++)
        assert_true(lc_bitmap_contains(include, (uint64_t)rows.positions[i]));
    assert_int_equal(rows.positions[rows.n - 1], 1600);
}

/* ---- memory ---- */

static void wide_rows_come_fewer_at_a_time(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    open_named(&opened, "wide");
    const struct lc_field *schema = schema_of(&opened);
    struct lc_parquet_request request = {.schema = schema, .memory_limit = 24 << 20};
    read_all(&opened, &request, &rows);
    assert_int_equal(rows.n, 256);
    for (size_t i = 0; i < rows.n; i++) {
        assert_int_equal(rows.positions[i], i);
        assert_int_equal(atoi(rows.texts[i] + 2), i);
    }
    request.memory_limit = 1 << 20;
    assert_refused(&opened, &request, "limit", "reading needs more memory than the limit of 1048576 bytes");
}

static void arrays_outlive_their_scan(void **state)
{
    (void)state;
    struct ArrowArray batch = {0};
    struct lc_field id[] = {FIELD("id", INT64), FIELD("text", STRING)};
    {
        OPENED struct opened opened = {0};
        LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scan = NULL;
        open_named(&opened, "rows");
        struct lc_parquet_request request = {.schema = ROOT(id)};
        assert_int_equal(lc_parquet_scan_open(opened.file, &request, &scan, NULL), LCDC_OK);
        assert_int_equal(lc_parquet_scan_next(scan, &batch, NULL, NULL), LCDC_OK);
    }
    struct lc_value value;
    lc_array_value(batch.children[0], id[0].type, 999, &value);
    assert_int_equal(value.i, 999);
    lc_array_release(&batch);
}

/* ---- failures ---- */

static void what_is_no_parquet_file_is_told(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = NULL;
    struct lc_parquet *file = NULL;
    lcdc_error *err = NULL;
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/x", "this is not a Parquet file", NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/none", "", NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add(storage, "/long", "PAR1\xFF\xFF\xFF\x7FPAR1", 12, NULL), LCDC_OK);
    static const char *const paths[] = {"/x", "/none", "/long"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lc_parquet_open(storage, paths[i], -1, &file, &err), LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(err), "parquet.bad");
        assert_int_equal(strncmp(lcdc_error_message(err), paths[i], strlen(paths[i])), 0);
    }
    assert_int_equal(lc_parquet_open(storage, "/gone", -1, &file, &err), LCDC_NOT_FOUND);
    assert_string_equal(lcdc_error_reason(err), "io.file_missing");
    assert_null(file);
    lcdc_error_free(err);
}

/* A failure of the storage keeps its own reason, wherever it happens. */
static void storage_failures_pass_through(void **state)
{
    (void)state;
    lcdc_status status = LCDC_INTERNAL;
    int failures = 0;
    for (int64_t n = 0; status != LCDC_OK; n++) {
        OPENED struct opened opened = {0};
        PARQUET_ROWS struct parquet_rows rows = {0};
        char path[4096];
        lcdc_error *err = NULL;
        snprintf(path, sizeof(path), "%s/rows_index.parquet", LC_TEST_FILES);
        assert_int_equal(lc_storage_arrow(&opened.storage, NULL), LCDC_OK);
        assert_int_equal(lc_storage_fault(opened.storage, n, &opened.storage, NULL), LCDC_OK);
        status = lc_parquet_open(opened.storage, path, -1, &opened.file, &err);
        if (status == LCDC_OK) {
            const struct lc_field *schema = schema_of(&opened);
            struct lc_value low = value_of(schema->children[0].type, "1500");
            struct lc_range range = {.field = &schema->children[0], .low = &low};
            struct lc_parquet_request request = {.schema = schema, .n_ranges = 1, .ranges = &range};
            status = parquet_rows_read(opened.file, &request, &rows, &err);
        }
        if (status != LCDC_OK) {
            assert_int_equal(status, LCDC_IO);
            assert_string_equal(lcdc_error_reason(err), "io.failed");
            assert_non_null(strstr(lcdc_error_message(err), "the fault that the test asked for"));
            failures++;
        }
        lcdc_error_free(err);
    }
    assert_true(failures > 20);
}

static lcdc_status read_some(void *context, lcdc_error **err)
{
    struct opened *opened = context;
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *file = NULL;
    PARQUET_ROWS struct parquet_rows rows = {0};
    const struct lc_field *schema = NULL;
    char path[4096];
    snprintf(path, sizeof(path), "%s/shapes.parquet", LC_TEST_FILES);
    LC_TRY(lc_parquet_open(opened->storage, path, -1, &file, err));
    LC_TRY(lc_parquet_schema(file, &schema, err));
    LC_CLEANUP(lc_parquet_scan_closep) struct lc_parquet_scan *scan = NULL;
    LC_ARRAY struct ArrowArray batch = {0};
    struct lc_parquet_request request = {.schema = schema};
    LC_TRY(lc_parquet_scan_open(file, &request, &scan, err));
    return lc_parquet_scan_next(scan, &batch, NULL, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    assert_int_equal(lc_storage_arrow(&opened.storage, NULL), LCDC_OK);
    assert_true(lc_torture(read_some, &opened));
}

/* ---- writing ---- */

static int append_bytes(void *context, const void *bytes, size_t n)
{
    lc_buf_append(context, bytes, n);
    return 0;
}

static int refuse_bytes(void *context, const void *bytes, size_t n)
{
    int64_t *left = context;
    (void)bytes;
    *left -= (int64_t)n;
    return *left < 0 ? 28 : 0; /* ENOSPC */
}

/* Parquet has no structs without fields; half floats and the like are no table types either. */
static struct lc_field writable_types(void)
{
    struct lc_field out = *lc_test_every_type();
    assert_string_equal(out.children[out.n_children - 1].name, "empty");
    out.n_children--;
    return out;
}

static void write_batches(const struct lc_field *type, struct lc_buf *bytes, size_t n, const struct ArrowArray *batches)
{
    LC_SCHEMA struct ArrowSchema schema = {0};
    struct lc_parquet_writer *writer = NULL;
    lcdc_error *err = NULL;
    assert_int_equal(lc_schema_from_field(type, &schema, NULL), LCDC_OK);
    if (lc_parquet_writer_open(&schema, append_bytes, bytes, &writer, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    for (size_t i = 0; i < n; i++)
        if (lc_parquet_writer_batch(writer, &batches[i], &err) != LCDC_OK)
            fail_msg("%s", lcdc_error_message(err));
    if (lc_parquet_writer_finish(writer, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    lc_parquet_writer_close(writer);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    OPENED struct opened opened = {0};
    PARQUET_ROWS struct parquet_rows rows = {0};
    LC_BUF struct lc_buf bytes;
    struct lc_field type = writable_types();
    struct ArrowArray batches[3];
    uint64_t random = 3;
    lc_buf_init(&bytes, LC_BUF_MAX);
    for (size_t i = 0; i < 3; i++)
        lc_test_array(&random, &type, i == 1 ? 0 : 200, i != 0, &batches[i]);
    for (size_t i = 0; i < 3; i++) /* rows of a batch are never null themselves */
        batches[i].null_count = 0;
    write_batches(&type, &bytes, 3, batches);
    assert_int_equal(lc_memory_storage(&opened.storage, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add(opened.storage, "/f.parquet", bytes.p, bytes.n, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_open(opened.storage, "/f.parquet", -1, &opened.file, NULL), LCDC_OK);
    read_all(&opened, &(struct lc_parquet_request){.schema = &type}, &rows);
    assert_int_equal(rows.n, 400);
    for (size_t i = 0; i < rows.n; i++) {
        LC_BUF struct lc_buf text;
        lc_buf_init(&text, LC_BUF_MAX);
        lc_test_print_row(&text, &batches[i < 200 ? 0 : 2], &type, (int64_t)i % 200);
        assert_string_equal(rows.texts[i], text.p);
    }
    for (size_t i = 0; i < 3; i++)
        lc_array_release(&batches[i]);
}

static void an_output_that_fails_is_told(void **state)
{
    (void)state;
    struct lc_field columns[] = {FIELD("id", INT64), FIELD("text", STRING)};
    LC_SCHEMA struct ArrowSchema schema = {0};
    LC_ARRAY struct ArrowArray batch = {0};
    uint64_t random = 1;
    lc_test_array(&random, ROOT(columns), 1000, false, &batch);
    assert_int_equal(lc_schema_from_field(ROOT(columns), &schema, NULL), LCDC_OK);
    for (int64_t room = 0; room < 3000; room += 600) {
        struct lc_parquet_writer *writer = NULL;
        lcdc_error *err = NULL;
        int64_t left = room;
        lcdc_status status = lc_parquet_writer_open(&schema, refuse_bytes, &left, &writer, &err);
        if (status == LCDC_OK)
            status = lc_parquet_writer_batch(writer, &batch, &err);
        if (status == LCDC_OK)
            status = lc_parquet_writer_finish(writer, &err);
        assert_int_equal(status, LCDC_IO);
        assert_non_null(strstr(lcdc_error_message(err), "No space left on device"));
        lcdc_error_free(err);
        lc_parquet_writer_close(writer);
    }
}

/* A writer that is given up writes nothing more: its context may be gone. */
static void an_abandoned_writer_is_silent(void **state)
{
    (void)state;
    struct lc_field columns[] = {FIELD("id", INT64)};
    LC_SCHEMA struct ArrowSchema schema = {0};
    struct lc_parquet_writer *writer = NULL;
    int64_t left = 1000;
    assert_int_equal(lc_schema_from_field(ROOT(columns), &schema, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_writer_open(&schema, refuse_bytes, &left, &writer, NULL), LCDC_OK);
    int64_t before = left;
    lc_parquet_writer_close(writer);
    assert_int_equal(left, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_that_were_written),
        cmocka_unit_test(an_empty_file_has_no_rows),
        cmocka_unit_test(every_selection_equals_the_plain_read),
        cmocka_unit_test(flat_and_nested_columns_are_selected_alone),
        cmocka_unit_test(a_stretch_is_read_alone),
        cmocka_unit_test(dictionaries_are_kept_where_they_are_small),
        cmocka_unit_test(a_position_past_the_end_is_told),
        cmocka_unit_test(what_no_row_is_wanted_of_is_not_read),
        cmocka_unit_test(columns_are_found_by_physical_name),
        cmocka_unit_test(columns_are_found_by_id),
        cmocka_unit_test(aliases_serve_files_without_ids),
        cmocka_unit_test(structs_keep_their_nulls_when_their_fields_changed),
        cmocka_unit_test(variants_are_two_binaries),
        cmocka_unit_test(constants_stand_for_columns),
        cmocka_unit_test(narrower_types_are_widened),
        cmocka_unit_test(int96_is_read_in_microseconds),
        cmocka_unit_test(what_would_lose_something_is_refused),
        cmocka_unit_test(times_of_another_calendar_are_refused),
        cmocka_unit_test(ranges_skip_row_groups_and_pages),
        cmocka_unit_test(ranges_are_seen_through_widening_and_constants),
        cmocka_unit_test(ranges_and_selections_go_together),
        cmocka_unit_test(wide_rows_come_fewer_at_a_time),
        cmocka_unit_test(arrays_outlive_their_scan),
        cmocka_unit_test(what_is_no_parquet_file_is_told),
        cmocka_unit_test(storage_failures_pass_through),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(an_output_that_fails_is_told),
        cmocka_unit_test(an_abandoned_writer_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
