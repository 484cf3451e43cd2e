/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifest lists and manifests are written here byte by byte, with the fields in an order and under names of their own:
 * only ids count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iceberg/data_file.h"
#include "iceberg/live.h"
#include "support/memory_storage.h"
#include "support/torture.h"

/* ---- writing ---- */

#define UNION(type) "[\"null\"," type "]"
#define LONG(id) "{\"name\":\"n" #id "\",\"type\":" UNION("\"long\"") ",\"field-id\":" #id "}"
#define INT(id) "{\"name\":\"n" #id "\",\"type\":\"int\",\"field-id\":" #id "}"
#define STRING(id) "{\"name\":\"n" #id "\",\"type\":\"string\",\"field-id\":" #id "}"

#define LIST_SCHEMA                                                                                                    \
    "{\"type\":\"record\",\"name\":\"list\",\"fields\":[" LONG(520) "," INT(517) "," LONG(515) "," LONG(503) "," INT(  \
        502) "," STRING(500) "]}"

#define PAIR(name, key, value, type)                                                                                   \
    UNION("{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"" name                                        \
          "\",\"fields\":[{\"name\":\"k\",\"type\":"                                                                   \
          "\"int\",\"field-id\":" #key "},{\"name\":\"v\",\"type\":\"" type "\",\"field-id\":" #value "}]}}")

/* clang-format off */
#define MANIFEST_SCHEMA \
    "{\"type\":\"record\",\"name\":\"entry\",\"fields\":[{\"name\":\"file\",\"field-id\":2,\"type\":{\"type\":" \
    "\"record\",\"name\":\"f\",\"fields\":[" STRING(100) "," INT(134) "," STRING(101) "," LONG(103) "," LONG(104) "," \
    LONG(142) ",{\"name\":\"p\",\"field-id\":102,\"type\":{\"type\":\"record\",\"name\":\"part\",\"fields\":[" \
    LONG(1000) "]}},{\"name\":\"lower\",\"field-id\":125,\"type\":" PAIR("lo", 126, 127, "bytes") \
    "},{\"name\":\"nulls\",\"field-id\":110,\"type\":" PAIR("nu", 121, 122, "long") "}]}}," \
    INT(0) "," LONG(1) "," LONG(3) "," LONG(4) "]}"
/* clang-format on */

enum { ABSENT = -1000 };

static void put_long(struct lc_buf *buf, int64_t value)
{
    uint64_t bits = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    for (; bits > 0x7F; bits >>= 7)
        lc_buf_char(buf, (char)(bits | 0x80));
    lc_buf_char(buf, (char)bits);
}

static void put_text(struct lc_buf *buf, const char *text)
{
    put_long(buf, (int64_t)strlen(text));
    lc_buf_text(buf, text);
}

static void put_optional(struct lc_buf *buf, int64_t value)
{
    put_long(buf, value != ABSENT);
    if (value != ABSENT)
        put_long(buf, value);
}

static void put_container(struct lc_storage *storage, const char *path, const char *schema, int64_t count,
                          const struct lc_buf *body)
{
    LC_BUF struct lc_buf file;
    lc_buf_init(&file, LC_BUF_MAX);
    lc_buf_append(&file, "Obj\1", 4);
    put_long(&file, 2);
    put_text(&file, "avro.schema"), put_text(&file, schema);
    put_text(&file, "partition-spec-id"), put_text(&file, "1");
    put_long(&file, 0);
    lc_buf_append(&file, "0123456789abcdef", 16);
    put_long(&file, count), put_long(&file, (int64_t)body->n);
    lc_buf_append(&file, body->p, body->n);
    lc_buf_append(&file, "0123456789abcdef", 16);
    assert_int_equal(lc_memory_storage_add(storage, path, file.p, file.n, NULL), LCDC_OK);
}

struct entry {
    const char *path;
    int status;
    int64_t rows, snapshot, data_sequence, first_row_id, part;
    int content;
    const char *format;
};

static void put_manifest(struct lc_storage *storage, const char *path, size_t n, const struct entry *entries)
{
    LC_BUF struct lc_buf body;
    lc_buf_init(&body, LC_BUF_MAX);
    lc_buf_append(&body, "", 0);
    for (size_t i = 0; i < n; i++) {
        const struct entry *e = &entries[i];
        put_text(&body, e->path);
        put_long(&body, e->content);
        put_text(&body, e->format ? e->format : "PARQUET");
        put_optional(&body, e->rows);
        put_optional(&body, 1000);
        put_optional(&body, e->first_row_id);
        put_optional(&body, e->part);
        put_long(&body, 1), put_long(&body, 1), put_long(&body, 1), put_long(&body, 4),
            lc_buf_append(&body, "\5\0\0\0", 4), put_long(&body, 0);
        put_long(&body, 1), put_long(&body, 1), put_long(&body, 1), put_long(&body, 2), put_long(&body, 0);
        put_long(&body, e->status);
        put_optional(&body, e->snapshot);
        put_optional(&body, e->data_sequence);
        put_optional(&body, e->data_sequence);
    }
    put_container(storage, path, MANIFEST_SCHEMA, (int64_t)n, &body);
}

struct listed {
    const char *path;
    int content, spec;
    int64_t sequence, snapshot, first_row_id;
};

static void put_list(struct lc_storage *storage, const char *path, size_t n, const struct listed *items)
{
    LC_BUF struct lc_buf body;
    lc_buf_init(&body, LC_BUF_MAX);
    lc_buf_append(&body, "", 0);
    for (size_t i = 0; i < n; i++) {
        put_optional(&body, items[i].first_row_id);
        put_long(&body, items[i].content);
        put_optional(&body, items[i].sequence);
        put_optional(&body, items[i].snapshot);
        put_long(&body, items[i].spec);
        put_text(&body, items[i].path);
    }
    put_container(storage, path, LIST_SCHEMA, (int64_t)n, &body);
}

/* ---- a table ---- */

static const char metadata[] =
    "{\"format-version\":3,\"table-uuid\":\"u\",\"location\":\"/t\",\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,"
    "\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"}]}],\"current-schema-id\":0,"
    "\"partition-specs\":[{\"spec-id\":1,\"fields\":[{\"source-id\":1,\"field-id\":1000,\"name\":\"id\",\"transform\":"
    "\"identity\"}]}],\"snapshots\":["
    "{\"snapshot-id\":7,\"sequence-number\":5,\"timestamp-ms\":1,\"manifest-list\":\"/t/list\"},"
    "{\"snapshot-id\":8,\"parent-snapshot-id\":7,\"sequence-number\":6,\"timestamp-ms\":2,\"manifest-list\":\"/t/"
    "list2\"},"
    "{\"snapshot-id\":9,\"timestamp-ms\":3,\"manifests\":[\"/t/m1\"]}],\"current-snapshot-id\":8}";

struct world {
    struct lc_storage *storage;
    struct lc_iceberg_table table;
    struct lc_iceberg_metadata metadata;
};

static int set_up(void **state)
{
    struct world *w = lc_calloc(1, sizeof(*w));
    assert_int_equal(lc_memory_storage(&w->storage, NULL), LCDC_OK);
    w->table.storage = w->storage;
    w->table.metadata = &w->metadata;
    assert_int_equal(lc_iceberg_metadata_parse(LC_STR(metadata), "m", &w->metadata, NULL), LCDC_OK);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    lc_iceberg_metadata_done(&w->metadata);
    lc_storage_free(w->storage);
    lc_free(w);
    return 0;
}

struct seen {
    struct lc_arena arena;
    size_t n;
    struct lc_iceberg_file files[16];
};

static void seen_done(struct seen *seen)
{
    lc_arena_done(&seen->arena);
}

static lcdc_status note(void *context, const struct lc_iceberg_file *file, lcdc_error **err)
{
    struct seen *seen = context;
    assert_true(seen->n < 16);
    return lc_iceberg_file_copy(file, true, &seen->arena, &seen->files[seen->n++], err);
}

/* Reads every manifest of a snapshot in turn. */
static lcdc_status read_snapshot(struct world *w, int64_t id, struct seen *out, lcdc_error **err)
{
    struct lc_iceberg_list list;
    LC_TRY(lc_iceberg_list_read(&w->table, lc_iceberg_snapshot_find(&w->metadata, id), &out->arena, &list, err));
    for (size_t i = 0; i < list.n; i++)
        LC_TRY(lc_iceberg_manifest_visit(&w->table, &list.manifests[i], note, out, err));
    return LCDC_OK;
}

static void assert_refused(struct world *w, const char *says)
{
    LC_CLEANUP(seen_done) struct seen seen = {0};
    LC_ERROR lcdc_error *err = NULL;
    lcdc_status status = read_snapshot(w, 7, &seen, &err);
    if (status == LCDC_OK || !strstr(lcdc_error_message(err), says))
        fail_msg("%s: \"%s\" does not say \"%s\"", lcdc_status_name(status), lcdc_error_message(err), says);
}

static void one_list(struct world *w, int64_t sequence, int64_t first_row_id)
{
    put_list(w->storage, "/t/list", 1, (struct listed[]){{"/t/m1", 0, 1, sequence, 70, first_row_id}});
}

/* ---- tests ---- */

static void numbers_are_inherited(void **state)
{
    struct world *w = *state;
    LC_CLEANUP(seen_done) struct seen seen = {0};
    one_list(w, 5, 100);
    put_manifest(w->storage, "/t/m1", 5,
                 (struct entry[]){{"/a", 1, 10, ABSENT, ABSENT, ABSENT, 1, 0, NULL},
                                  {"/b", 0, 20, 60, 3, ABSENT, 1, 0, NULL},
                                  {"/gone", 2, 1000, 70, 3, ABSENT, 1, 0, NULL},
                                  {"/c", 0, 30, 60, 4, 7, ABSENT, 0, NULL},
                                  {"/d", 1, 40, 61, 2, ABSENT, 1, 0, "parquet"}});
    assert_int_equal(read_snapshot(w, 7, &seen, NULL), LCDC_OK);
    assert_int_equal(seen.n, 4); /* a deleted entry is not live */
    assert_string_equal(seen.files[0].path.p, "/a");
    assert_true(seen.files[0].snapshot_id == 70 && seen.files[0].data_sequence == 5 &&
                seen.files[0].first_row_id == 100);
    assert_true(seen.files[1].snapshot_id == 60 && seen.files[1].data_sequence == 3 &&
                seen.files[1].first_row_id == 110);
    assert_true(seen.files[2].first_row_id == 7 && seen.files[2].partition[0].is_null);
    assert_true(seen.files[3].snapshot_id == 61 && seen.files[3].data_sequence == 2 &&
                seen.files[3].first_row_id == 130);
    assert_true(seen.files[0].partition[0].type.kind == LC_TYPE_INT64 && seen.files[0].partition[0].i == 1);
    assert_int_equal(seen.files[0].n_lower, 1);
    assert_int_equal(seen.files[0].lower[0].field_id, 1);
    assert_true(seen.files[0].nulls[0].count == 2);
}

static void no_row_ids_without_a_first_one(void **state)
{
    struct world *w = *state;
    LC_CLEANUP(seen_done) struct seen seen = {0};
    one_list(w, 5, ABSENT);
    put_manifest(w->storage, "/t/m1", 1, &(struct entry){"/a", 1, 10, ABSENT, ABSENT, 7, 1, 0, NULL});
    assert_int_equal(read_snapshot(w, 7, &seen, NULL), LCDC_OK);
    assert_true(seen.files[0].first_row_id == -1);
}

static void the_first_version_has_no_sequence_numbers(void **state)
{
    struct world *w = *state;
    LC_CLEANUP(seen_done) struct seen seen = {0};
    put_manifest(w->storage, "/t/m1", 2,
                 (struct entry[]){{"/a", 0, 10, 60, ABSENT, ABSENT, 1, 0, NULL},
                                  {"/b", 1, 10, ABSENT, ABSENT, ABSENT, 1, 0, NULL}});
    assert_int_equal(read_snapshot(w, 9, &seen, NULL), LCDC_OK); /* its list is in the metadata */
    assert_int_equal(seen.n, 2);
    assert_true(seen.files[0].data_sequence == 0 && seen.files[0].spec_id == 1);
    assert_true(seen.files[1].snapshot_id == 9);
}

static void damaged_entries(void **state)
{
    struct world *w = *state;
    const struct {
        struct entry entry;
        const char *says;
    } bad[] = {{{"/a", 3, 10, 1, 1, ABSENT, 1, 0, NULL}, "status"},
               {{"/a", -1, 10, 1, 1, ABSENT, 1, 0, NULL}, "status"},
               {{"", 1, 10, 1, 1, ABSENT, 1, 0, NULL}, "file path"},
               {{"/a", 1, ABSENT, 1, 1, ABSENT, 1, 0, NULL}, "missing, negative"},
               {{"/a", 1, -1, 1, 1, ABSENT, 1, 0, NULL}, "missing, negative"},
               {{"/a", 1, 10, 1, 1, -5, 1, 0, NULL}, "missing, negative"},
               {{"/a", 1, 10, 1, 1, INT64_MAX - 2, 1, 0, NULL}, "row ids"},
               {{"/a", 0, 10, 1, ABSENT, ABSENT, 1, 0, NULL}, "no sequence number"},
               {{"/a", 1, 10, 1, -5, ABSENT, 1, 0, NULL}, "sequence number"},
               {{"/a", 1, 10, 1, 1, ABSENT, 1, 1, NULL}, "delete file in a manifest of data"},
               {{"/a", 1, 10, 1, 1, ABSENT, 1, 3, NULL}, "unknown content"},
               {{"/a", 1, 10, 1, 1, ABSENT, 1, 0, "LANCE"}, "LANCE"},
               {{"/a", 1, INT64_MAX, 1, 1, ABSENT, 1, 0, NULL}, "row ids"}};
    one_list(w, 5, 100);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_manifest(w->storage, "/t/m1", 1, &bad[i].entry);
        assert_refused(w, bad[i].says);
    }
}

static void damaged_lists(void **state)
{
    struct world *w = *state;
    const struct {
        struct listed item;
        const char *says;
    } bad[] = {{{"", 0, 1, 5, 7, ABSENT}, "no manifest path"},
               {{"/t/m1", 2, 1, 5, 7, ABSENT}, "unknown"},
               {{"/t/m1", -1, 1, 5, 7, ABSENT}, "negative"},
               {{"/t/m1", 0, 99, 5, 7, ABSENT}, "partition spec 99"},
               {{"/t/m1", 0, -1, 5, 7, ABSENT}, "negative"},
               {{"/t/m1", 0, 1, -5, 7, ABSENT}, "negative"},
               {{"/t/m1", 0, 1, 5, 7, -5}, "negative"},
               {{"/t/none", 0, 1, 5, 7, ABSENT}, "none"},
               {{"t/m1", 0, 1, 5, 7, ABSENT}, "no absolute"},
               {{"/t/list", 0, 1, 5, 7, ABSENT}, "no known status"},
               {{"/t/m1", 1, 1, 5, 7, ABSENT}, "data file in a manifest of deletes"}};
    put_manifest(w->storage, "/t/m1", 1, &(struct entry){"/a", 1, 10, 1, 1, ABSENT, 1, 0, NULL});
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_list(w->storage, "/t/list", 1, &bad[i].item);
        assert_refused(w, bad[i].says);
    }
    put_list(w->storage, "/t/list", 2, (struct listed[]){{"/t/m1", 0, 1, 5, 7, ABSENT}, {"/t/m1", 0, 1, 5, 7, ABSENT}});
    assert_refused(w, "twice");
}

/* ---- differences ---- */

static struct entry file(const char *path, int status)
{
    return (struct entry){path, status, 10, 1, 1, ABSENT, 1, 0, NULL};
}

static lcdc_status difference(struct world *w, struct lc_iceberg_files *added, struct lc_iceberg_files *removed,
                              struct lc_arena *arena, lcdc_error **err)
{
    struct lc_iceberg_list before, after;
    const struct lc_iceberg_metadata *m = &w->metadata;
    LC_TRY(lc_iceberg_list_read(&w->table, lc_iceberg_snapshot_find(m, 7), arena, &before, err));
    LC_TRY(lc_iceberg_list_read(&w->table, lc_iceberg_snapshot_find(m, 8), arena, &after, err));
    return lc_iceberg_data_difference(&w->table, &before, &after, arena, added, removed, err);
}

/* m1 is shared, m2 is rewritten as m3, with an entry that says nothing of one that went. */
static void make_difference(struct world *w)
{
    struct listed m1 = {"/t/m1", 0, 1, 5, 7, ABSENT}, m2 = {"/t/m2", 0, 1, 5, 7, ABSENT},
                  m3 = {"/t/m3", 0, 1, 6, 8, ABSENT};
    put_list(w->storage, "/t/list", 2, (struct listed[]){m1, m2});
    put_list(w->storage, "/t/list2", 2, (struct listed[]){m3, m1});
    put_manifest(w->storage, "/t/m2", 3, (struct entry[]){file("/stays", 1), file("/goes", 1), file("/vanishes", 1)});
    put_manifest(w->storage, "/t/m3", 3, (struct entry[]){file("/stays", 0), file("/goes", 2), file("/comes", 1)});
}

static void differences_by_what_is_live(void **state)
{
    struct world *w = *state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_iceberg_files added = {0}, removed = {0};
    make_difference(w); /* m1 does not even exist: nobody opens it */
    assert_int_equal(difference(w, &added, &removed, &arena, NULL), LCDC_OK);
    assert_int_equal(added.n, 1);
    assert_string_equal(added.items[0].path.p, "/comes");
    assert_int_equal(added.items[0].n_lower, 1);
    assert_int_equal(removed.n, 2);
    assert_string_equal(removed.items[0].path.p, "/goes");
    assert_string_equal(removed.items[1].path.p, "/vanishes");
    assert_non_null(lc_iceberg_files_find(&removed, LC_STR("/goes")));
    assert_null(lc_iceberg_files_find(&removed, LC_STR("/go")));
    lc_iceberg_files_done(&added);
    lc_iceberg_files_done(&removed);
}

static void a_file_that_is_live_twice(void **state)
{
    struct world *w = *state;
    LC_ARENA struct lc_arena arena = {0};
    LC_ERROR lcdc_error *err = NULL;
    struct lc_iceberg_files added = {0}, removed = {0};
    make_difference(w);
    put_manifest(w->storage, "/t/m3", 2, (struct entry[]){file("/comes", 1), file("/comes", 1)});
    assert_int_equal(difference(w, &added, &removed, &arena, &err), LCDC_CORRUPT);
    assert_non_null(strstr(lcdc_error_message(err), "twice"));
    lc_iceberg_files_done(&added);
    lc_iceberg_files_done(&removed);
}

static lcdc_status difference_once(void *context, lcdc_error **err)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_CLEANUP(lc_iceberg_files_done) struct lc_iceberg_files added = {0}, removed = {0};
    return difference(context, &added, &removed, &arena, err);
}

static void memory_runs_out(void **state)
{
    make_difference(*state);
    assert_true(lc_torture(difference_once, *state));
}

/* ---- data files ---- */

static void bounds_of_narrower_types(void **state)
{
    (void)state;
    struct lc_value v;
    const struct lc_type int64 = {.kind = LC_TYPE_INT64}, real = {.kind = LC_TYPE_DOUBLE},
                         ts = {.kind = LC_TYPE_TIMESTAMP},
                         money = {.kind = LC_TYPE_DECIMAL, .precision = 9, .scale = 2}, day = {.kind = LC_TYPE_DATE};
    assert_true(lc_iceberg_bound_decode((struct lc_str){"\xfe\xff\xff\xff", 4}, int64, &v) && v.i == -2);
    assert_true(lc_iceberg_bound_decode((struct lc_str){"\xfe\xff\xff\xff\xff\xff\xff\xff", 8}, int64, &v) &&
                v.i == -2);
    assert_false(lc_iceberg_bound_decode((struct lc_str){"\1", 1}, int64, &v));
    assert_true(lc_iceberg_bound_decode((struct lc_str){"\0\0\xc0\x3f", 4}, real, &v) && v.f == 1.5);
    assert_false(lc_iceberg_bound_decode((struct lc_str){"\0\0\xc0\x3f\0\0\0\0", 8},
                                         (struct lc_type){.kind = LC_TYPE_FLOAT}, &v));
    assert_true(lc_iceberg_bound_decode((struct lc_str){"\1\0\0\0", 4}, ts, &v) && v.i == INT64_C(86400000000));
    assert_true(lc_iceberg_bound_decode((struct lc_str){"\1\0\0\0\0\0\0\0", 8}, ts, &v) && v.i == 1);
    assert_false(lc_iceberg_bound_decode((struct lc_str){"\1\0\0\0\0\0\0\0", 8}, day, &v));
    assert_true(lc_iceberg_bound_decode((struct lc_str){"\xff\x06", 2}, money, &v) && v.dec == -250);
    assert_false(lc_iceberg_bound_decode((struct lc_str){"", 0}, money, &v));
    assert_false(
        lc_iceberg_bound_decode((struct lc_str){"0123456789abcdef", 16}, (struct lc_type){.kind = LC_TYPE_UUID}, &v));
}

static void formats_that_are_not_read(void **state)
{
    struct world *w = *state;
    LC_ARENA struct lc_arena arena = {0};
    const struct lc_field *schema;
    const struct lc_data_file *out;
    struct lc_value part = {.type = {.kind = LC_TYPE_INT64}, .i = 3};
    struct lc_iceberg_file f = {.path = LC_STR("/x/a.orc"),
                                .format = LC_ICEBERG_ORC,
                                .spec_id = 1,
                                .n_partition = 1,
                                .partition = &part,
                                .record_count = 4,
                                .first_row_id = 9,
                                .data_sequence = 5};
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_iceberg_schema_get(&w->metadata, 0, &schema, NULL), LCDC_OK);
    assert_int_equal(lc_iceberg_data_file(&w->table, schema, &f, &arena, &out, &err), LCDC_UNSUPPORTED);
    assert_non_null(strstr(lcdc_error_message(err), "/x/a.orc"));
    assert_non_null(strstr(lcdc_error_message(err), "orc"));
    f.format = LC_ICEBERG_PARQUET;
    assert_int_equal(lc_iceberg_data_file(&w->table, schema, &f, &arena, &out, NULL), LCDC_OK);
    assert_true(out->has_row_ids && out->base_row_id == 9 && out->default_row_version == 5 && out->rows == 4);
    assert_int_equal(out->n_constants, 1);
    assert_true(out->constants[0].only_if_missing && out->constants[0].value->i == 3);
    struct lc_column_stats stats;
    assert_true(out->stats(out, &schema->children[0], &arena, &stats));
    assert_true(stats.min->i == 3 && stats.max->i == 3 && stats.null_count == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_are_inherited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_row_ids_without_a_first_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_version_has_no_sequence_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(differences_by_what_is_live, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_live_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_runs_out, set_up, tear_down),
        cmocka_unit_test(bounds_of_narrower_types),
        cmocka_unit_test_setup_teardown(formats_that_are_not_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
