/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/arrow_ipc.h"
#include "support/arrays.h"
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

/* ---- what a stream holds ---- */

struct collected {
    struct lc_arena arena;
    struct lc_field schema;
    size_t n_batches;
    struct ArrowArray batches[16];
    size_t stop_after; /* batches, 0 = never */
};

static void collected_done(struct collected *collected)
{
    for (size_t i = 0; i < collected->n_batches; i++)
        lc_array_release(&collected->batches[i]);
    lc_arena_done(&collected->arena);
    *collected = (struct collected){0};
}
#define COLLECTED LC_CLEANUP(collected_done)

/* Every batch is moved out, so it must stand without the stream's bytes. */
static lcdc_status collect(void *context, const struct ArrowSchema *schema, struct ArrowArray *batch, lcdc_error **err)
{
    struct collected *out = context;
    if (!batch)
        return lc_field_from_schema(schema, &out->arena, &out->schema, err);
    if (out->n_batches == 16)
        return lc_fail(err, LC_R_INTERNAL, "more batches than expected");
    LC_TRY(lc_array_check(batch, &out->schema, err));
    lc_array_move(batch, &out->batches[out->n_batches++]);
    if (out->stop_after && out->n_batches == out->stop_after)
        return lc_fail(err, LC_R_CANCELLED, "enough");
    return LCDC_OK;
}

static void read_file(const char *name, struct lc_buf *out)
{
    char path[4096], chunk[4096];
    snprintf(path, sizeof(path), "%s/%s.arrows", LC_TEST_FILES, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    lc_buf_init(out, LC_BUF_MAX);
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;)
        lc_buf_append(out, chunk, n);
    fclose(file);
}

static void assert_row(const struct collected *collected, size_t batch, int64_t row, const char *expected)
{
    LC_BUF struct lc_buf text;
    lc_buf_init(&text, 1 << 16);
    assert_true(batch < collected->n_batches);
    lc_test_print_row(&text, &collected->batches[batch], &collected->schema, row);
    assert_string_equal(text.p, expected);
}

/* ---- reading ---- */

static void foreign_layouts_become_those_of_tables(void **state)
{
    (void)state;
    static const char *const names[] = {"stream", "stream_zstd", "stream_lz4"};
    for (size_t i = 0; i < 3; i++) {
        COLLECTED struct collected got = {0};
        lcdc_error *err = NULL;
        struct lc_buf bytes;
        read_file(names[i], &bytes);
        char *copy = malloc(bytes.n);
        memcpy(copy, bytes.p, bytes.n);
        size_t n = bytes.n;
        lc_buf_done(&bytes);
        if (lc_ipc_read(copy, n, collect, &got, &err) != LCDC_OK)
            fail_msg("%s", lcdc_error_message(err));
        COLLECTED struct collected again = {0};
        char *given = lc_alloc(n);
        memcpy(given, copy, n);
        free(copy);
        assert_int_equal(lc_ipc_read_taken(given, n, collect, &again, NULL), LCDC_OK);
        assert_int_equal(again.n_batches, 3);
        assert_row(&again, 0, 3,
                   "{null,<large3>,<a view that is long enough 3>,<3>,<4294967292>,<18446744073709551612>,"
                   "<1970-01-01T00:00:00.003000>,<1970-01-01T00:00:00.000003Z>,<1970-01-01T00:00:00.000003Z>,"
                   "<00:00:03.000000>,<1970-01-04>,<0.3>,[],[<3>,<4>],{<x3>,[{<k>,<3>}]}}");
        assert_int_equal(got.n_batches, 3);
        LC_BUF struct lc_buf type;
        lc_buf_init(&type, 4096);
        lc_type_print(&type, &got.schema);
        assert_non_null(strstr(type.p, "decimal(20,0)"));
        assert_row(&got, 0, 1,
                   "{<d1>,<large1>,<a view that is long enough 1>,<1>,<4294967294>,<18446744073709551614>,"
                   "<1970-01-01T00:00:00.001000>,<1970-01-01T00:00:00.000001Z>,<1970-01-01T00:00:00.000001Z>,"
                   "<00:00:01.000000>,<1970-01-02>,<0.1>,[<0>],[<1>,<2>],{<x1>,[{<k>,<1>}]}}");
        assert_row(&got, 0, 3,
                   "{null,<large3>,<a view that is long enough 3>,<3>,<4294967292>,<18446744073709551612>,"
                   "<1970-01-01T00:00:00.003000>,<1970-01-01T00:00:00.000003Z>,<1970-01-01T00:00:00.000003Z>,"
                   "<00:00:03.000000>,<1970-01-04>,<0.3>,[],[<3>,<4>],{<x3>,[{<k>,<3>}]}}");
        assert_int_equal(got.batches[2].length, 2);
    }
}

static void what_tables_do_not_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *reason;
    } cases[] = {
        {"duration", "schema.type_unsupported"}, {"months", "schema.type_unsupported"}, {"inexact", "arrow.bad"}};
    for (size_t i = 0; i < 3; i++) {
        COLLECTED struct collected got = {0};
        LC_BUF struct lc_buf bytes;
        lcdc_error *err = NULL;
        read_file(cases[i].name, &bytes);
        assert_int_not_equal(lc_ipc_read(bytes.p, bytes.n, collect, &got, &err), LCDC_OK);
        assert_string_equal(lcdc_error_reason(err), cases[i].reason);
        lcdc_error_free(err);
    }
}

static void a_visitor_ends_the_read(void **state)
{
    (void)state;
    COLLECTED struct collected got = {.stop_after = 2};
    LC_BUF struct lc_buf bytes;
    lcdc_error *err = NULL;
    read_file("stream", &bytes);
    assert_int_equal(lc_ipc_read(bytes.p, bytes.n, collect, &got, &err), LCDC_CANCELLED);
    assert_string_equal(lcdc_error_message(err), "enough");
    assert_int_equal(got.n_batches, 2);
    lcdc_error_free(err);
}

/* Whatever a sender writes ends in an error or in arrays that pass every check. */
static void damage_is_found_or_harmless(void **state)
{
    (void)state;
    static const char *const names[] = {"stream", "stream_zstd"};
    uint64_t random = 5;
    int refused = 0, tried = 0;
    for (size_t i = 0; i < 2; i++) {
        LC_BUF struct lc_buf bytes;
        read_file(names[i], &bytes);
        for (int round = 0; round < 1200; round++) {
            COLLECTED struct collected got = {0};
            lcdc_error *err = NULL;
            size_t at = lc_test_random(&random) % bytes.n, n = round % 4 ? bytes.n : at;
            char kept = bytes.p[at];
            bytes.p[at] = (char)(bytes.p[at] ^ 1 << lc_test_random(&random) % 8);
            lcdc_status status = lc_ipc_read(bytes.p, n, collect, &got, &err);
            bytes.p[at] = kept;
            if (status != LCDC_OK) {
                assert_non_null(err);
                assert_true(status == LCDC_CORRUPT || status == LCDC_UNSUPPORTED || status == LCDC_LIMIT);
                refused++;
            }
            tried++;
            lcdc_error_free(err);
        }
    }
    assert_true(refused > tried / 10);
    COLLECTED struct collected none = {0};
    assert_int_equal(lc_ipc_read(NULL, 0, collect, &none, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_ipc_read_taken(NULL, 0, collect, &none, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_ipc_read_taken(lc_strdup("no stream"), 9, collect, &none, NULL), LCDC_CORRUPT);
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
    return *left < 0 ? 32 : 0; /* EPIPE */
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    COLLECTED struct collected got = {0};
    LC_BUF struct lc_buf bytes;
    LC_SCHEMA struct ArrowSchema schema = {0};
    struct lc_field type = *lc_test_every_type();
    struct ArrowArray batches[3];
    struct lc_ipc_writer *writer = NULL;
    uint64_t random = 11;
    lcdc_error *err = NULL;
    /* Nanoseconds are none of the layouts that a stream is read as. */
    size_t ns = 0;
    while (type.children[ns].type.kind != LC_TYPE_TIMESTAMP_NS_TZ)
        ns++;
    type.n_children = ns;
    lc_buf_init(&bytes, LC_BUF_MAX);
    assert_int_equal(lc_schema_from_field(&type, &schema, NULL), LCDC_OK);
    assert_int_equal(lc_ipc_writer_open(&schema, append_bytes, &bytes, &writer, NULL), LCDC_OK);
    for (size_t i = 0; i < 3; i++) {
        lc_test_array(&random, &type, i == 1 ? 0 : 100, i != 0, &batches[i]);
        batches[i].null_count = 0;
        if (lc_ipc_writer_batch(writer, &batches[i], &err) != LCDC_OK)
            fail_msg("%s", lcdc_error_message(err));
    }
    assert_int_equal(lc_ipc_writer_finish(writer, NULL), LCDC_OK);
    lc_ipc_writer_close(writer);
    if (lc_ipc_read(bytes.p, bytes.n, collect, &got, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    assert_int_equal(got.n_batches, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(got.batches[i].length, batches[i].length);
        for (int64_t row = 0; row < batches[i].length; row++) {
            LC_BUF struct lc_buf text;
            lc_buf_init(&text, LC_BUF_MAX);
            lc_test_print_row(&text, &batches[i], &type, row);
            assert_row(&got, i, row, text.p);
        }
        lc_array_release(&batches[i]);
    }
}

static void an_output_that_fails_is_told(void **state)
{
    (void)state;
    struct lc_field columns[] = {FIELD("id", INT64)};
    LC_SCHEMA struct ArrowSchema schema = {0};
    LC_ARRAY struct ArrowArray batch = {0};
    uint64_t random = 1;
    lc_test_array(&random, ROOT(columns), 100, false, &batch);
    assert_int_equal(lc_schema_from_field(ROOT(columns), &schema, NULL), LCDC_OK);
    for (int64_t room = 0; room < 900; room += 300) {
        struct lc_ipc_writer *writer = NULL;
        lcdc_error *err = NULL;
        int64_t left = room;
        lcdc_status status = lc_ipc_writer_open(&schema, refuse_bytes, &left, &writer, &err);
        if (status == LCDC_OK)
            status = lc_ipc_writer_batch(writer, &batch, &err);
        if (status == LCDC_OK)
            status = lc_ipc_writer_finish(writer, &err);
        assert_int_equal(status, LCDC_IO);
        assert_non_null(strstr(lcdc_error_message(err), "Broken pipe"));
        lcdc_error_free(err);
        lc_ipc_writer_close(writer);
    }
}

/* ---- casts ---- */

static struct lc_field decimal(const char *name, int precision, int scale)
{
    struct lc_field out = FIELD(name, DECIMAL);
    out.type.precision = precision;
    out.type.scale = scale;
    return out;
}

static void assert_cast(const struct lc_field *from, const struct lc_field *to)
{
    LC_ARRAY struct ArrowArray in = {0}, out = {0};
    uint64_t random = 21;
    lcdc_error *err = NULL;
    lc_test_array(&random, from, 50, true, &in);
    if (lc_arrow_cast(from, &in, to, &out, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    assert_int_equal(lc_array_check(&out, to, NULL), LCDC_OK);
    assert_int_equal(out.length, 50);
    for (int64_t i = 0; i < 50; i++) {
        struct lc_value before, after, expected;
        assert_int_equal(lc_array_is_null(&in, i), lc_array_is_null(&out, i));
        if (lc_array_is_null(&in, i))
            continue;
        lc_array_value(&in, from->type, i, &before);
        lc_array_value(&out, to->type, i, &after);
        assert_true(lc_value_cast(&before, to->type, &expected));
        assert_true(lc_value_equal(&after, &expected));
    }
}

static void values_are_cast_up(void **state)
{
    (void)state;
    const struct lc_field cases[][2] = {
        {FIELD("c", INT8), FIELD("c", INT64)},      {FIELD("c", INT16), FIELD("c", INT32)},
        {FIELD("c", INT32), FIELD("c", DOUBLE)},    {FIELD("c", INT64), decimal("c", 20, 1)},
        {decimal("c", 30, 4), decimal("c", 34, 6)}, {FIELD("c", INT64), FIELD("c", INT64)},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_cast(&cases[i][0], &cases[i][1]);
}

/* Fields are taken by name; the result stands when the input is gone. */
static void nested_values_are_cast(void **state)
{
    (void)state;
    struct lc_field narrow[] = {FIELD("a", INT8), FIELD("b", STRING)}, wide[] = {FIELD("b", BINARY), FIELD("a", INT64)};
    struct lc_field from_list[] = {PARENT("element", STRUCT, narrow)}, to_list[] = {PARENT("element", STRUCT, wide)};
    struct lc_field from = PARENT("l", LIST, from_list), to = PARENT("l", LIST, to_list);
    LC_ARRAY struct ArrowArray in = {0}, out = {0};
    LC_BUF struct lc_buf before, after;
    uint64_t random = 2;
    lc_buf_init(&before, 1 << 16);
    lc_buf_init(&after, 1 << 16);
    lc_test_array(&random, &from, 40, true, &in);
    assert_int_equal(lc_arrow_cast(&from, &in, &from, &out, NULL), LCDC_OK);
    for (int64_t i = 0; i < 40; i++)
        lc_test_print_row(&before, &in, &from, i);
    lc_array_release(&in);
    for (int64_t i = 0; i < 40; i++)
        lc_test_print_row(&after, &out, &from, i);
    assert_string_equal(before.p, after.p);
    LC_ARRAY struct ArrowArray other = {0};
    assert_int_equal(lc_arrow_cast(&from, &out, &to, &other, NULL), LCDC_OK);
    assert_int_equal(lc_array_check(&other, &to, NULL), LCDC_OK);
}

static void lossy_casts_are_refused(void **state)
{
    (void)state;
    struct lc_field a[] = {FIELD("a", INT32)}, b[] = {FIELD("b", INT32)};
    const struct lc_field cases[][2] = {
        {FIELD("c", INT64), FIELD("c", INT32)},  {FIELD("c", DOUBLE), FIELD("c", FLOAT)},
        {FIELD("c", STRING), FIELD("c", INT32)}, {PARENT("s", STRUCT, a), PARENT("s", STRUCT, b)},
        {FIELD("c", INT64), decimal("c", 3, 0)},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_ARRAY struct ArrowArray in = {0}, out = {0};
        uint64_t random = 2;
        lcdc_error *err = NULL;
        lc_test_array(&random, &cases[i][0], 20, false, &in);
        assert_int_equal(lc_arrow_cast(&cases[i][0], &in, &cases[i][1], &out, &err), LCDC_UNSUPPORTED);
        assert_string_equal(lcdc_error_reason(err), "schema.type_mismatch");
        lcdc_error_free(err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_layouts_become_those_of_tables),
        cmocka_unit_test(what_tables_do_not_have_is_refused),
        cmocka_unit_test(a_visitor_ends_the_read),
        cmocka_unit_test(damage_is_found_or_harmless),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(an_output_that_fails_is_told),
        cmocka_unit_test(values_are_cast_up),
        cmocka_unit_test(nested_values_are_cast),
        cmocka_unit_test(lossy_casts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
