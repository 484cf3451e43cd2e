/* SPDX-License-Identifier: Apache-2.0 */
/* test_arrow.c - schemas, values, checks, nulls, projections and change rows of base/arrow.h; test_gather.c has the
 * rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arrow.h"
#include "lakecdc/change.h"
#include "support/arrays.h"
#include "support/torture.h"

static struct lc_field leaf(const char *name, enum lc_type_kind kind)
{
    return (struct lc_field){.name = name, .physical = name, .id = LC_NO_ID, .nullable = true, .type = {.kind = kind}};
}

static struct lc_field parent(const char *name, enum lc_type_kind kind, size_t n, struct lc_field *children)
{
    struct lc_field field = leaf(name, kind);
    field.n_children = n;
    field.children = children;
    return field;
}

/* ---- schemas ---- */

static void formats_are_those_of_the_table(void **state)
{
    (void)state;
    static const char *const formats[] = {"n",    "b",   "c",       "s",    "i",       "l",    "f", "g", "d:30,4",
                                          "tdD",  "ttu", "tsu:UTC", "tsu:", "tsn:UTC", "tsn:", "u", "z", "w:5",
                                          "w:16", "+s",  "+l",      "+l",   "+m",      "+s",   "+s"};
    LC_SCHEMA struct ArrowSchema schema = {0};
    assert_int_equal(lc_schema_from_field(lc_test_every_type(), &schema, NULL), LCDC_OK);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, sizeof(formats) / sizeof(formats[0]));
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        assert_string_equal(schema.children[i]->format, formats[i]);
        assert_string_equal(schema.children[i]->name, lc_test_every_type()->children[i].name);
        assert_int_equal(schema.children[i]->flags, ARROW_FLAG_NULLABLE);
        assert_null(schema.children[i]->metadata);
        assert_null(schema.children[i]->dictionary);
    }
}

static void children_of_lists_and_maps_have_the_usual_names(void **state)
{
    (void)state;
    struct lc_field pair[] = {leaf("k", LC_TYPE_STRING), leaf("v", LC_TYPE_INT32)};
    struct lc_field map = parent("m", LC_TYPE_MAP, 2, pair);
    struct lc_field list = parent("l", LC_TYPE_LIST, 1, &map);
    LC_SCHEMA struct ArrowSchema schema = {0};
    assert_int_equal(lc_schema_from_field(&list, &schema, NULL), LCDC_OK);
    const struct ArrowSchema *element = schema.children[0];
    assert_string_equal(element->name, "element");
    assert_int_equal(element->flags, ARROW_FLAG_NULLABLE);
    const struct ArrowSchema *pairs = element->children[0];
    assert_string_equal(pairs->name, "key_value");
    assert_string_equal(pairs->format, "+s");
    assert_int_equal(pairs->flags, 0);
    assert_string_equal(pairs->children[0]->name, "key");
    assert_int_equal(pairs->children[0]->flags, 0);
    assert_string_equal(pairs->children[1]->name, "value");
    assert_int_equal(pairs->children[1]->flags, ARROW_FLAG_NULLABLE);
}

static void assert_same_type(const struct lc_field *a, const struct lc_field *b)
{
    assert_true(lc_type_equal(a->type, b->type));
    assert_int_equal(a->n_children, b->n_children);
    for (size_t i = 0; i < a->n_children; i++)
        assert_same_type(&a->children[i], &b->children[i]);
}

static void fields_come_back_from_their_schema(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    LC_SCHEMA struct ArrowSchema schema = {0};
    struct lc_field back;
    struct lc_field wanted = *lc_test_every_type();
    struct lc_field columns[32];
    memcpy(columns, wanted.children, wanted.n_children * sizeof(columns[0]));
    for (size_t i = 0; i < wanted.n_children; i++)
        if (columns[i].type.kind == LC_TYPE_UUID) /* without an extension name it is bytes */
            columns[i].type = (struct lc_type){.kind = LC_TYPE_FIXED, .length = 16};
    wanted.children = columns;
    assert_int_equal(lc_schema_from_field(lc_test_every_type(), &schema, NULL), LCDC_OK);
    assert_int_equal(lc_field_from_schema(&schema, &arena, &back, NULL), LCDC_OK);
    assert_same_type(&wanted, &back);
    for (size_t i = 0; i < back.n_children; i++) {
        assert_string_equal(back.children[i].name, columns[i].name);
        assert_string_equal(back.children[i].physical, columns[i].name);
        assert_int_equal(back.children[i].id, LC_NO_ID);
        assert_true(back.children[i].nullable);
    }
}

static void keep_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static lcdc_status read_format(const char *format, const char *metadata, struct lc_field *out)
{
    LC_ARENA struct lc_arena arena = {0};
    struct ArrowSchema schema = {.format = format, .name = "c", .metadata = metadata, .release = keep_schema};
    LC_ERROR lcdc_error *err = NULL;
    lcdc_status status = lc_field_from_schema(&schema, &arena, out, &err);
    assert_int_equal(lcdc_error_status(err), status);
    return status;
}

static void other_layouts_are_refused(void **state)
{
    (void)state;
    static const char *const formats[] = {"U",
                                          "Z",
                                          "vu",
                                          "vz",
                                          "+L",
                                          "+vl",
                                          "tsu:Europe/Berlin",
                                          "tss:",
                                          "tsm:UTC",
                                          "tdm",
                                          "ttn",
                                          "tts",
                                          "tDu",
                                          "tiM",
                                          "C",
                                          "S",
                                          "I",
                                          "L",
                                          "e",
                                          "d:39,2",
                                          "d:0,0",
                                          "d:4,5",
                                          "d:4,-1",
                                          "d:10,2,256",
                                          "d:10",
                                          "d:",
                                          "d:1,1,128,1",
                                          "w:0",
                                          "w:-1",
                                          "w:",
                                          "w:4,4",
                                          "w:99999999999",
                                          "+w:3",
                                          "+ud:0",
                                          "+r",
                                          "",
                                          "d:3 ,1",
                                          "uu",
                                          "tsu:utc",
                                          "d:03000000000000000000000000,1"};
    struct lc_field field;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        assert_int_equal(read_format(formats[i], NULL, &field), LCDC_UNSUPPORTED);
    struct ArrowSchema dictionary = {.format = "u", .release = keep_schema};
    struct ArrowSchema schema = {.format = "i", .dictionary = &dictionary, .release = keep_schema};
    LC_ARENA struct lc_arena arena = {0};
    assert_int_equal(lc_field_from_schema(&schema, &arena, &field, NULL), LCDC_UNSUPPORTED);
    LC_SCHEMA struct ArrowSchema copy = {0};
    assert_int_equal(lc_schema_copy(&schema, &copy, NULL), LCDC_UNSUPPORTED);
}

static void parameters_are_read(void **state)
{
    (void)state;
    struct lc_field field;
    assert_int_equal(read_format("d:38,38", NULL, &field), LCDC_OK);
    assert_int_equal(field.type.precision, 38);
    assert_int_equal(field.type.scale, 38);
    assert_int_equal(read_format("d:9,0,128", NULL, &field), LCDC_OK);
    assert_int_equal(field.type.precision, 9);
    assert_int_equal(read_format("w:16", NULL, &field), LCDC_OK);
    assert_int_equal(field.type.kind, LC_TYPE_FIXED);
    assert_int_equal(field.type.length, 16);
}

/* Arrow's packing of one or two pairs. */
static size_t pack(char *out, int32_t n, const char *const *texts)
{
    size_t at = 4;
    memcpy(out, &n, 4);
    for (int32_t i = 0; i < 2 * n; i++) {
        int32_t length = (int32_t)strlen(texts[i]);
        memcpy(out + at, &length, 4);
        memcpy(out + at + 4, texts[i], (size_t)length);
        at += 4 + (size_t)length;
    }
    return at;
}

static void metadata_gives_ids_and_uuids(void **state)
{
    (void)state;
    char metadata[200];
    struct lc_field field;
    pack(metadata, 2, (const char *const[]){"comment", "x", "PARQUET:field_id", "17"});
    assert_int_equal(read_format("i", metadata, &field), LCDC_OK);
    assert_int_equal(field.id, 17);
    pack(metadata, 1, (const char *const[]){"PARQUET:field_id", "99999999999"});
    assert_int_equal(read_format("i", metadata, &field), LCDC_OK);
    assert_int_equal(field.id, LC_NO_ID);
    pack(metadata, 1, (const char *const[]){"ARROW:extension:name", "arrow.uuid"});
    assert_int_equal(read_format("w:16", metadata, &field), LCDC_OK);
    assert_int_equal(field.type.kind, LC_TYPE_UUID);
    assert_int_equal(read_format("w:15", metadata, &field), LCDC_OK);
    assert_int_equal(field.type.kind, LC_TYPE_FIXED);
}

static void damaged_metadata_is_corrupt(void **state)
{
    (void)state;
    char metadata[200];
    struct lc_field field;
    int32_t length = -1;
    pack(metadata, 1, (const char *const[]){"k", "v"});
    memcpy(metadata, &length, 4);
    assert_int_equal(read_format("i", metadata, &field), LCDC_CORRUPT);
    pack(metadata, 1, (const char *const[]){"k", "v"});
    memcpy(metadata + 4, &length, 4);
    assert_int_equal(read_format("i", metadata, &field), LCDC_CORRUPT);
    length = INT32_MAX;
    memcpy(metadata + 4, &length, 4);
    assert_int_equal(read_format("i", metadata, &field), LCDC_CORRUPT);
    struct ArrowSchema schema = {.format = "i", .metadata = metadata, .release = keep_schema};
    LC_SCHEMA struct ArrowSchema copy = {0};
    assert_int_equal(lc_schema_copy(&schema, &copy, NULL), LCDC_CORRUPT);
}

static void a_copy_shares_nothing(void **state)
{
    (void)state;
    char metadata[200];
    struct ArrowSchema child = {.format = "i", .name = "c", .flags = 2, .metadata = metadata, .release = keep_schema};
    struct ArrowSchema *children[] = {&child};
    struct ArrowSchema root = {.format = "+s", .n_children = 1, .children = children, .release = keep_schema};
    size_t size = pack(metadata, 1, (const char *const[]){"key", "value"});
    LC_SCHEMA struct ArrowSchema copy = {0}, moved = {0};
    assert_int_equal(lc_schema_copy(&root, &copy, NULL), LCDC_OK);
    lc_schema_move(copy.children[0], &moved);
    lc_schema_release(&copy);
    char wanted[200];
    memcpy(wanted, metadata, size);
    memset(metadata, 0, sizeof(metadata));
    assert_string_equal(moved.format, "i");
    assert_string_equal(moved.name, "c");
    assert_int_equal(moved.flags, 2);
    assert_memory_equal(moved.metadata, wanted, size);
}

/* A chain of structs, `depth` deep. */
static lcdc_status read_deep(int depth, bool copy)
{
    static struct ArrowSchema nodes[300];
    static struct ArrowSchema *pointers[300];
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field field;
    LC_ERROR lcdc_error *err = NULL;
    LC_SCHEMA struct ArrowSchema out = {0};
    for (int i = 0; i < depth; i++) {
        pointers[i] = &nodes[i + 1];
        nodes[i] = (struct ArrowSchema){
            .format = "+s", .n_children = 1, .children = &pointers[i], .release = keep_schema};
    }
    nodes[depth] = (struct ArrowSchema){.format = "i", .release = keep_schema};
    return copy ? lc_schema_copy(nodes, &out, &err) : lc_field_from_schema(nodes, &arena, &field, &err);
}

static void broken_trees_are_corrupt(void **state)
{
    (void)state;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field field;
    struct ArrowSchema child = {.format = "i", .release = keep_schema};
    struct ArrowSchema pair = {.format = "+l", .release = keep_schema};
    struct ArrowSchema *children[] = {&child, NULL}, *pairs[] = {&pair};
    struct ArrowSchema list = {.format = "+l", .children = children, .release = keep_schema};
    assert_int_equal(lc_field_from_schema(&list, &arena, &field, NULL), LCDC_CORRUPT);
    list.n_children = 2;
    assert_int_equal(lc_field_from_schema(&list, &arena, &field, NULL), LCDC_CORRUPT);
    list.n_children = -1;
    assert_int_equal(lc_field_from_schema(&list, &arena, &field, NULL), LCDC_CORRUPT);
    list.n_children = 1;
    assert_int_equal(lc_field_from_schema(&list, &arena, &field, NULL), LCDC_OK);
    list.children = NULL;
    assert_int_equal(lc_field_from_schema(&list, &arena, &field, NULL), LCDC_CORRUPT);
    struct ArrowSchema map = {.format = "+m", .n_children = 1, .children = pairs, .release = keep_schema};
    assert_int_equal(lc_field_from_schema(&map, &arena, &field, NULL), LCDC_CORRUPT);
    child.name = "\xFF";
    assert_int_equal(lc_field_from_schema(&child, &arena, &field, NULL), LCDC_CORRUPT);
    child.release = NULL;
    assert_int_equal(lc_field_from_schema(&child, &arena, &field, NULL), LCDC_CORRUPT);
    assert_int_equal(read_deep(LC_MAX_DEPTH, false), LCDC_OK);
    assert_int_equal(read_deep(LC_MAX_DEPTH + 1, false), LCDC_CORRUPT);
    assert_int_equal(read_deep(2 * LC_MAX_DEPTH, true), LCDC_OK);
    assert_int_equal(read_deep(2 * LC_MAX_DEPTH + 1, true), LCDC_CORRUPT);
}

static void wide_schemas_are_refused(void **state)
{
    (void)state;
    enum { HALF = LC_MAX_FIELDS / 2 };
    static struct ArrowSchema child, halves[2];
    static struct ArrowSchema *children[LC_MAX_FIELDS + 1], *both[] = {&halves[0], &halves[1]};
    LC_ARENA struct lc_arena arena = {0};
    struct lc_field field;
    child = (struct ArrowSchema){.format = "i", .name = "c", .release = keep_schema};
    for (size_t i = 0; i <= LC_MAX_FIELDS; i++)
        children[i] = &child;
    struct ArrowSchema wide = {
        .format = "+s", .n_children = LC_MAX_FIELDS + 1, .children = children, .release = keep_schema};
    assert_int_equal(lc_field_from_schema(&wide, &arena, &field, NULL), LCDC_CORRUPT);
    for (int i = 0; i < 2; i++)
        halves[i] = (struct ArrowSchema){
            .format = "+s", .n_children = HALF, .children = children, .release = keep_schema};
    struct ArrowSchema root = {.format = "+s", .n_children = 2, .children = both, .release = keep_schema};
    assert_int_equal(lc_field_from_schema(&root, &arena, &field, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_field_from_schema(&halves[0], &arena, &field, NULL), LCDC_OK);
}

/* Our own trees are bounded where they are made; this holds when one is not. */
static void odd_fields_have_no_schema(void **state)
{
    (void)state;
    LC_SCHEMA struct ArrowSchema schema = {0};
    struct lc_field chain[LC_MAX_DEPTH + 2], list = parent("l", LC_TYPE_LIST, 0, NULL),
                                             map = parent("m", LC_TYPE_MAP, 1, chain);
    assert_int_equal(lc_schema_from_field(&list, &schema, NULL), LCDC_INTERNAL);
    assert_int_equal(lc_schema_from_field(&map, &schema, NULL), LCDC_INTERNAL);
    chain[LC_MAX_DEPTH + 1] = leaf("i", LC_TYPE_INT32);
    for (int i = LC_MAX_DEPTH; i >= 0; i--)
        chain[i] = parent("s", LC_TYPE_STRUCT, 1, &chain[i + 1]);
    assert_int_equal(lc_schema_from_field(chain, &schema, NULL), LCDC_CORRUPT);
    assert_int_equal(lc_schema_from_field(&chain[1], &schema, NULL), LCDC_OK);
}

/* ---- values ---- */

static void keep_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static struct lc_value value_at(struct lc_type type, const void *values, const void *data, int64_t offset, int64_t i)
{
    static const uint8_t valid[] = {0xF7}; /* row 3 is null */
    static const void *buffers[3];
    buffers[0] = valid;
    buffers[1] = values;
    buffers[2] = data;
    struct ArrowArray array = {
        .length = 4 - offset, .offset = offset, .null_count = -1, .n_buffers = 3, .buffers = buffers};
    struct lc_value value;
    lc_array_value(&array, type, i, &value);
    return value;
}

static void values_are_read_at_their_width(void **state)
{
    (void)state;
    int8_t bytes[] = {1, -2, 3, 4};
    int16_t shorts[] = {1, -2, 3, 4};
    int32_t ints[] = {1, INT32_MIN, 3, 4};
    int64_t longs[] = {1, INT64_MIN, 3, 4};
    float floats[] = {1, -0.5F, 3, 4};
    double doubles[] = {1, -0.25, 3, 4};
    lc_i128 decimals[] = {1, -lc_pow10(37), 3, 4};
    uint8_t bits = 0x0D;
    assert_int_equal(value_at((struct lc_type){.kind = LC_TYPE_INT8}, bytes, NULL, 0, 1).i, -2);
    assert_int_equal(value_at((struct lc_type){.kind = LC_TYPE_INT16}, shorts, NULL, 1, 0).i, -2);
    assert_int_equal(value_at((struct lc_type){.kind = LC_TYPE_INT32}, ints, NULL, 0, 1).i, INT32_MIN);
    assert_int_equal(value_at((struct lc_type){.kind = LC_TYPE_DATE}, ints, NULL, 1, 0).i, INT32_MIN);
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_INT64}, longs, NULL, 1, 0).i == INT64_MIN);
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_TIMESTAMP_NS}, longs, NULL, 1, 1).i == 3);
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_FLOAT}, floats, NULL, 0, 1).f == -0.5);
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_DOUBLE}, doubles, NULL, 0, 1).f == -0.25);
    assert_true(value_at((struct lc_type){LC_TYPE_DECIMAL, 38, 2, 0}, decimals, NULL, 1, 0).dec == -lc_pow10(37));
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_BOOL}, &bits, NULL, 0, 0).b);
    assert_false(value_at((struct lc_type){.kind = LC_TYPE_BOOL}, &bits, NULL, 0, 1).b);
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_BOOL}, &bits, NULL, 1, 1).b);
    assert_false(value_at((struct lc_type){.kind = LC_TYPE_INT64}, longs, NULL, 1, 1).is_null);
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_INT64}, longs, NULL, 1, 2).is_null);
    assert_true(value_at((struct lc_type){.kind = LC_TYPE_NULL}, longs, NULL, 0, 0).is_null);
}

static void text_is_borrowed(void **state)
{
    (void)state;
    int32_t offsets[] = {1, 1, 4, 6, 6};
    const char *data = "_abcde";
    struct lc_value value = value_at((struct lc_type){.kind = LC_TYPE_STRING}, offsets, data, 1, 0);
    assert_int_equal(value.str.n, 3);
    assert_ptr_equal(value.str.p, data + 1);
    value = value_at((struct lc_type){.kind = LC_TYPE_BINARY}, offsets, data, 1, 1);
    assert_memory_equal(value.str.p, "de", 2);
    value = value_at((struct lc_type){.kind = LC_TYPE_STRING}, offsets, NULL, 0, 0);
    assert_int_equal(value.str.n, 0);
    assert_non_null(value.str.p);
    value = value_at((struct lc_type){LC_TYPE_FIXED, 0, 0, 2}, "aabbccdd", NULL, 1, 1);
    assert_int_equal(value.str.n, 2);
    assert_memory_equal(value.str.p, "cc", 2);
    value = value_at((struct lc_type){.kind = LC_TYPE_UUID}, "0123456789abcdefABCDEFGHIJKLMNOP", NULL, 0, 1);
    assert_memory_equal(value.str.p, "ABCDEFGHIJKLMNOP", 16);
}

/* ---- nulls, projection, size ---- */

static void null_rows_share_one_block(void **state)
{
    (void)state;
    LC_ARRAY struct ArrowArray array = {0};
    const struct lc_field *type = lc_test_every_type();
    for (int64_t n = 0; n <= 1000; n += 500) {
        assert_int_equal(lc_array_nulls(type, n, &array, NULL), LCDC_OK);
        assert_int_equal(array.length, n);
        assert_int_equal(array.null_count, n);
        assert_int_equal(lc_array_check(&array, type, NULL), LCDC_OK);
        for (int64_t c = 0; c < array.n_children; c++) {
            assert_int_equal(array.children[c]->null_count, n);
            for (int64_t b = 0; b < array.children[c]->n_buffers; b++)
                assert_ptr_equal(array.children[c]->buffers[b], array.buffers[0]);
            for (int64_t i = 0; i < n && type->children[c].type.kind != LC_TYPE_NULL; i++)
                assert_true(lc_array_is_null(array.children[c], i));
        }
        lc_array_release(&array);
    }
}

static void null_rows_have_as_many_bits(void **state)
{
    (void)state;
    struct lc_field column = leaf("b", LC_TYPE_BOOL), type = parent("", LC_TYPE_STRUCT, 1, &column);
    for (int64_t n = 0; n < 20; n++) {
        LC_ARRAY struct ArrowArray array = {0};
        assert_int_equal(lc_array_nulls(&type, n, &array, NULL), LCDC_OK);
        assert_int_equal(lc_array_check(&array, &type, NULL), LCDC_OK);
        assert_int_equal(lc_array_bytes(&array, &type), 3 * ((n + 7) / 8));
    }
}

static void nulls_that_no_memory_could_hold(void **state)
{
    (void)state;
    struct lc_field column = leaf("f", LC_TYPE_FIXED), root = parent("", LC_TYPE_STRUCT, 1, &column);
    LC_ARRAY struct ArrowArray array = {0};
    column.type.length = INT32_MAX;
    assert_int_equal(lc_array_nulls(&root, INT64_C(1) << 40, &array, NULL), LCDC_OUT_OF_MEMORY);
    assert_null(array.release);
}

static void a_projection_moves_columns(void **state)
{
    (void)state;
    uint64_t random = 11;
    const struct lc_field *type = lc_test_every_type();
    static const size_t columns[] = {15, 22, 3};
    for (int n = 12; n < 40; n++) { /* so that some bitmap ends with its byte */
        LC_ARRAY struct ArrowArray array = {0}, out = {0};
        LC_ARENA struct lc_arena arena = {0};
        const struct lc_field *chosen[3];
        struct lc_field projected;
        bool was_null[40];
        for (int i = 0; i < 3; i++)
            chosen[i] = &type->children[columns[i]];
        assert_int_equal(lc_field_project(type, 3, chosen, &arena, &projected, NULL), LCDC_OK);
        lc_test_array(&random, type, n, n > 15, &array);
        const void *text = array.children[15]->buffers[2];
        for (int i = 0; i < n; i++)
            was_null[i] = lc_array_is_null(&array, i);
        int64_t offset = array.offset;
        assert_int_equal(lc_array_project(&array, 3, columns, &out, NULL), LCDC_OK);
        assert_null(array.release);
        assert_int_equal(out.n_children, 3);
        assert_int_equal(out.offset, offset);
        assert_ptr_equal(out.children[0]->buffers[2], text);
        assert_int_equal(lc_array_check(&out, &projected, NULL), LCDC_OK);
        for (int i = 0; i < n; i++)
            assert_int_equal(lc_array_is_null(&out, i), was_null[i]);
    }
}

static void a_projection_without_columns_keeps_its_rows(void **state)
{
    (void)state;
    uint64_t random = 12;
    LC_ARRAY struct ArrowArray array = {0}, out = {0};
    lc_test_array(&random, lc_test_every_type(), 7, false, &array);
    assert_int_equal(lc_array_project(&array, 0, NULL, &out, NULL), LCDC_OK);
    assert_int_equal(out.length, 7);
    assert_int_equal(out.n_children, 0);
}

static void a_column_cannot_be_taken_twice(void **state)
{
    (void)state;
    static const size_t twice[] = {1, 1}, far[] = {99};
    for (int i = 0; i < 2; i++) {
        uint64_t random = 13;
        LC_ARRAY struct ArrowArray array = {0}, out = {0};
        lc_test_array(&random, lc_test_every_type(), 7, false, &array);
        assert_int_equal(lc_array_project(&array, i ? 1 : 2, i ? far : twice, &out, NULL), LCDC_INTERNAL);
        assert_null(array.release); /* consumed all the same */
        assert_null(out.release);
    }
}

static void a_split_parts_the_columns(void **state)
{
    (void)state;
    for (size_t n_first = 0; n_first <= lc_test_every_type()->n_children + 1; n_first++) {
        uint64_t random = n_first;
        const struct lc_field *type = lc_test_every_type();
        LC_ARRAY struct ArrowArray array = {0}, first = {0}, rest = {0};
        bool was_null[9];
        lc_test_array(&random, type, 9, true, &array);
        for (int i = 0; i < 9; i++)
            was_null[i] = lc_array_is_null(&array, i);
        lcdc_status status = lc_array_split(&array, n_first, &first, &rest, NULL);
        assert_int_equal(status, n_first > type->n_children ? LCDC_INTERNAL : LCDC_OK);
        assert_null(array.release);
        if (status != LCDC_OK)
            return;
        struct lc_field first_type = parent("", LC_TYPE_STRUCT, n_first, type->children);
        struct lc_field rest_type = parent("", LC_TYPE_STRUCT, type->n_children - n_first, type->children + n_first);
        assert_int_equal(lc_array_check(&first, &first_type, NULL), LCDC_OK);
        assert_int_equal(lc_array_check(&rest, &rest_type, NULL), LCDC_OK);
        for (int i = 0; i < 9; i++) {
            assert_int_equal(lc_array_is_null(&first, i), was_null[i]);
            assert_int_equal(lc_array_is_null(&rest, i), was_null[i]);
        }
    }
}

static void bytes_count_what_the_rows_span(void **state)
{
    (void)state;
    int32_t offsets[] = {0, 5, 9, 11};
    int64_t numbers[16] = {0};
    const void *none[] = {NULL}, *text[] = {"\x07", offsets, "hello you!!"}, *number[] = {NULL, numbers};
    struct ArrowArray items = {.length = 16, .n_buffers = 2, .buffers = number};
    struct ArrowArray *item[] = {&items};
    struct ArrowArray strings = {.length = 3, .n_buffers = 3, .buffers = text};
    struct ArrowArray list = {.length = 3, .n_buffers = 2, .buffers = text, .n_children = 1, .children = item};
    struct ArrowArray *children[] = {&strings, &list};
    struct ArrowArray root = {.length = 3, .n_buffers = 1, .buffers = none, .n_children = 2, .children = children};
    struct lc_field element = leaf("element", LC_TYPE_INT64);
    struct lc_field columns[] = {leaf("s", LC_TYPE_STRING), parent("l", LC_TYPE_LIST, 1, &element)};
    struct lc_field type = parent("", LC_TYPE_STRUCT, 2, columns);
    assert_int_equal(lc_array_bytes(&root, &type), (1 + 16 + 11) + (1 + 16 + 11 * 8));
    root.offset = 1;
    root.length = 1;
    assert_int_equal(lc_array_bytes(&root, &type), (1 + 8 + 4) + (1 + 8 + 4 * 8));
    root.length = 0;
    assert_int_equal(lc_array_bytes(&root, &type), 0);
}

static void bits_count_in_whole_bytes(void **state)
{
    (void)state;
    static const uint8_t bits[2];
    const void *none[] = {NULL}, *buffers[] = {bits, bits};
    struct ArrowArray bools = {.n_buffers = 2, .buffers = buffers};
    struct ArrowArray *children[] = {&bools};
    struct ArrowArray root = {.n_buffers = 1, .buffers = none, .n_children = 1, .children = children};
    struct lc_field column = leaf("b", LC_TYPE_BOOL), type = parent("", LC_TYPE_STRUCT, 1, &column);
    for (root.length = 1; root.length <= 16; root.length++)
        assert_int_equal(lc_array_bytes(&root, &type), root.length <= 8 ? 2 : 4);
}

/* ---- checking ---- */

static void sound_arrays_pass(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint64_t random = seed;
        LC_ARRAY struct ArrowArray array = {0};
        lc_test_array(&random, lc_test_every_type(), (int64_t)(seed % 20), seed & 1, &array);
        assert_int_equal(lc_array_check(&array, lc_test_every_type(), NULL), LCDC_OK);
    }
}

/* A small array of one column, and what the cases below break in it. */
struct broken {
    struct ArrowArray root, column, below, key;
    struct ArrowArray *roots[1], *columns[1], *pairs[2];
    const void *root_buffers[1], *buffers[3], *below_buffers[3], *pair_buffers[1];
    int32_t offsets[5];
    int64_t numbers[8];
    uint8_t bits[2];
    char text[8];
    struct lc_field type, field, child[2];
};

static void make_sound(struct broken *b, enum lc_type_kind kind)
{
    bool is_map = kind == LC_TYPE_MAP, is_nested = kind == LC_TYPE_LIST || is_map;
    *b = (struct broken){
        .offsets = {0, 1, 1, 3, 4}, .numbers = {1, 2, 3, 4, 5, 6, 7, 8}, .bits = {0xFF, 0xFF}, .text = "abcdefg"};
    b->child[0] = leaf("k", LC_TYPE_INT64);
    b->child[1] = leaf("v", LC_TYPE_INT64);
    b->field = parent("c", kind, is_map ? 2 : is_nested, b->child);
    b->field.type.precision = 3;
    b->type = parent("", LC_TYPE_STRUCT, 1, &b->field);
    b->roots[0] = &b->column;
    b->root = (struct ArrowArray){.length = 4,
                                  .n_buffers = 1,
                                  .buffers = b->root_buffers,
                                  .n_children = 1,
                                  .children = b->roots,
                                  .release = keep_array};
    b->buffers[1] = kind == LC_TYPE_STRING || is_nested ? (void *)b->offsets : (void *)b->numbers;
    b->buffers[2] = b->text;
    b->columns[0] = &b->below;
    b->column = (struct ArrowArray){.length = 4,
                                    .n_buffers = kind == LC_TYPE_STRING ? 3 : 2,
                                    .buffers = b->buffers,
                                    .n_children = is_nested,
                                    .children = b->columns,
                                    .release = keep_array};
    b->below_buffers[1] = b->numbers;
    b->key = (struct ArrowArray){.length = 4, .n_buffers = 2, .buffers = b->below_buffers, .release = keep_array};
    b->pairs[0] = b->pairs[1] = &b->key;
    b->below = b->key;
    if (is_map)
        b->below = (struct ArrowArray){.length = 4,
                                       .n_buffers = 1,
                                       .buffers = b->pair_buffers,
                                       .n_children = 2,
                                       .children = b->pairs,
                                       .release = keep_array};
}

static void assert_check(struct broken *b, lcdc_status wanted)
{
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_array_check(&b->root, &b->type, &err), wanted);
    assert_int_equal(lcdc_error_status(err), wanted);
}

#define ASSERT_CORRUPT(kind, change)                                                                                   \
    do {                                                                                                               \
        struct broken b;                                                                                               \
        make_sound(&b, LC_TYPE_##kind);                                                                                \
        assert_check(&b, LCDC_OK);                                                                                     \
        change;                                                                                                        \
        assert_check(&b, LCDC_CORRUPT);                                                                                \
    } while (0)

#define ASSERT_SOUND(kind, change)                                                                                     \
    do {                                                                                                               \
        struct broken b;                                                                                               \
        make_sound(&b, LC_TYPE_##kind);                                                                                \
        change;                                                                                                        \
        assert_check(&b, LCDC_OK);                                                                                     \
    } while (0)

static void broken_structure_is_corrupt(void **state)
{
    (void)state;
    ASSERT_CORRUPT(INT64, b.column.length = -1);
    ASSERT_CORRUPT(INT64, b.column.length = 3);
    ASSERT_CORRUPT(INT64, b.column.offset = -1);
    ASSERT_CORRUPT(INT64, b.column.offset = INT64_MAX);
    ASSERT_CORRUPT(INT64, b.column.length = INT64_MAX);
    ASSERT_CORRUPT(INT64, b.column.length = INT64_C(1) << 31);
    ASSERT_CORRUPT(INT64, b.column.null_count = -2);
    ASSERT_CORRUPT(INT64, b.column.null_count = 5);
    ASSERT_CORRUPT(INT64, b.column.null_count = 1);
    ASSERT_CORRUPT(INT64, b.column.n_buffers = 1);
    ASSERT_CORRUPT(INT64, b.column.n_buffers = 3);
    ASSERT_CORRUPT(INT64, b.column.buffers = NULL);
    ASSERT_CORRUPT(INT64, b.buffers[1] = NULL);
    ASSERT_CORRUPT(BOOL, b.buffers[1] = NULL);
    ASSERT_CORRUPT(STRING, b.buffers[1] = NULL);
    ASSERT_CORRUPT(LIST, b.buffers[1] = NULL);
    ASSERT_CORRUPT(INT64, b.column.release = NULL);
    ASSERT_CORRUPT(INT64, b.roots[0] = NULL);
    ASSERT_CORRUPT(INT64, b.column.dictionary = &b.below);
    ASSERT_CORRUPT(INT64, b.root.n_children = 0);
    ASSERT_CORRUPT(INT64, b.root.n_children = 2);
    ASSERT_CORRUPT(INT64, b.root.children = NULL);
    ASSERT_CORRUPT(INT64, b.root.offset = 1);
    ASSERT_CORRUPT(LIST, b.column.n_children = 0);
    ASSERT_SOUND(INT64, b.root.length = 3);
    ASSERT_SOUND(INT64, (b.root.length = 3, b.root.offset = 1));
    ASSERT_SOUND(INT64, (b.root.length = 0, b.column.length = 0, b.buffers[1] = NULL));
    ASSERT_SOUND(STRING, (b.root.length = 0, b.column.length = 0, b.buffers[1] = NULL, b.buffers[2] = NULL));
    ASSERT_SOUND(LIST, (b.root.length = 0, b.column.length = 0, b.buffers[1] = NULL));
}

static void null_counts_must_be_true(void **state)
{
    (void)state;
    ASSERT_SOUND(INT64, b.buffers[0] = b.bits);
    ASSERT_SOUND(INT64, (b.buffers[0] = b.bits, b.bits[0] = 0xFD, b.column.null_count = 1));
    ASSERT_SOUND(INT64, (b.buffers[0] = b.bits, b.bits[0] = 0xFD, b.column.null_count = -1));
    ASSERT_CORRUPT(INT64, (b.buffers[0] = b.bits, b.bits[0] = 0xFD));
    ASSERT_CORRUPT(INT64, (b.buffers[0] = b.bits, b.bits[0] = 0xFD, b.column.null_count = 2));
}

static void offsets_must_rise_inside(void **state)
{
    (void)state;
    ASSERT_CORRUPT(STRING, b.offsets[0] = -1);
    ASSERT_CORRUPT(STRING, b.offsets[1] = 2);
    ASSERT_CORRUPT(STRING, b.offsets[4] = 2);
    ASSERT_CORRUPT(STRING, b.offsets[4] = INT32_MIN);
    ASSERT_CORRUPT(STRING, b.buffers[2] = NULL);
    ASSERT_CORRUPT(LIST, b.offsets[2] = 0);
    ASSERT_CORRUPT(LIST, b.offsets[4] = 5);
    ASSERT_CORRUPT(LIST, b.below.length = 3);
    ASSERT_CORRUPT(MAP, b.below.length = 3);
    ASSERT_CORRUPT(MAP, b.key.length = 3);
    ASSERT_SOUND(STRING, (b.column.offset = 1, b.column.length = 3, b.root.length = 3, b.offsets[0] = 99));
    ASSERT_SOUND(STRING, (memset(b.offsets, 0, sizeof(b.offsets)), b.buffers[2] = NULL));
}

static void keys_must_be_there(void **state)
{
    (void)state;
    ASSERT_CORRUPT(MAP, (b.below_buffers[0] = b.bits, b.bits[0] = 0xF7, b.key.null_count = 1));
    ASSERT_CORRUPT(MAP, (b.pair_buffers[0] = b.bits, b.bits[0] = 0xF7, b.below.null_count = -1));
    ASSERT_CORRUPT(MAP, (b.child[0].type.kind = b.child[1].type.kind = LC_TYPE_NULL, b.key.n_buffers = 0));
}

static void values_must_be_of_their_type(void **state)
{
    (void)state;
    ASSERT_CORRUPT(STRING, b.text[0] = (char)0xC3);
    ASSERT_CORRUPT(STRING, memcpy(b.text, "\xC3\xA9zz", 4)); /* valid as a whole, cut between rows */
    ASSERT_SOUND(STRING, memcpy(b.text, "z\xC3\xA9z", 4));
    ASSERT_SOUND(STRING, (b.text[0] = (char)0xC3, b.buffers[0] = b.bits, b.bits[0] = 0xFE, b.column.null_count = 1));
    ASSERT_SOUND(BINARY, (b.buffers[1] = b.offsets, b.column.n_buffers = 3, b.text[0] = (char)0xC3));
    ASSERT_SOUND(TIME, (b.numbers[3] = INT64_C(86399999999), b.numbers[0] = 0));
    ASSERT_CORRUPT(TIME, b.numbers[3] = INT64_C(86400000000));
    ASSERT_CORRUPT(TIME, b.numbers[0] = -1);
}

static void arrays_nest_within_bounds(void **state)
{
    (void)state;
    enum { DEEP = 2 * LC_MAX_DEPTH + 2 };
    struct lc_field fields[DEEP];
    struct ArrowArray arrays[DEEP];
    struct ArrowArray *pointers[DEEP];
    const void *none[] = {NULL};
    for (int i = 0; i < DEEP; i++) {
        pointers[i] = &arrays[i];
        fields[i] = parent("s", LC_TYPE_STRUCT, i + 1 < DEEP, fields + i + 1);
        arrays[i] = (struct ArrowArray){.n_buffers = 1,
                                        .buffers = none,
                                        .n_children = i + 1 < DEEP,
                                        .children = pointers + i + 1,
                                        .release = keep_array};
    }
    assert_int_equal(lc_array_check(&arrays[1], &fields[1], NULL), LCDC_OK);
    assert_int_equal(lc_array_check(&arrays[0], &fields[0], NULL), LCDC_CORRUPT);
}

static void decimals_must_fit_their_precision(void **state)
{
    (void)state;
    lc_i128 numbers[] = {999, -999, 0, 1};
    struct broken b;
    make_sound(&b, LC_TYPE_DECIMAL);
    b.buffers[1] = numbers;
    assert_check(&b, LCDC_OK);
    numbers[1] = -1000;
    assert_check(&b, LCDC_CORRUPT);
    numbers[1] = 1000;
    assert_check(&b, LCDC_CORRUPT);
}

/* ---- change rows ---- */

static const struct lc_field *image_type(void)
{
    static struct lc_field column = {.name = "id", .physical = "id", .id = LC_NO_ID, .type = {.kind = LC_TYPE_INT64}};
    static const struct lc_field type = {
        .name = "", .id = LC_NO_ID, .type = {.kind = LC_TYPE_STRUCT}, .n_children = 1, .children = &column};
    return &type;
}

static void the_change_schema_is_the_contract(void **state)
{
    (void)state;
    static const char *const wanted[][2] = {
        {"op", "u"}, {"before", "+s"}, {"after", "+s"}, {"snapshot", "l"}, {"ts", "tsu:UTC"}};
    LC_SCHEMA struct ArrowSchema schema = {0};
    assert_int_equal(lc_change_schema(image_type(), &schema, NULL), LCDC_OK);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, LCDC_COLS);
    for (int i = 0; i < LCDC_COLS; i++) {
        assert_string_equal(schema.children[i]->name, wanted[i][0]);
        assert_string_equal(schema.children[i]->format, wanted[i][1]);
        assert_int_equal(schema.children[i]->flags, i == LCDC_COL_OP ? 0 : ARROW_FLAG_NULLABLE);
    }
    assert_string_equal(schema.children[LCDC_COL_BEFORE]->children[0]->name, "id");
    assert_int_equal(schema.children[LCDC_COL_BEFORE]->children[0]->flags, ARROW_FLAG_NULLABLE);
}

static const uint8_t every_op[] = {LCDC_OP_INSERT, LCDC_OP_DELETE, LCDC_OP_UPDATE_BEFORE, LCDC_OP_UPDATE_AFTER,
                                   LCDC_OP_UPDATE};
enum { N_OPS = sizeof(every_op) };

static void image(uint64_t seed, struct ArrowArray *out)
{
    lc_test_array(&seed, image_type(), N_OPS, false, out);
}

/* The image's number in row `i`, or -1 when the image is null. */
static int64_t image_at(const struct ArrowArray *change, int column, int64_t i)
{
    struct lc_value value;
    const struct ArrowArray *side = change->children[column];
    if (lc_array_is_null(side, i))
        return -1;
    lc_array_value(side->children[0], image_type()->children[0].type, side->offset + i, &value);
    return value.is_null ? -2 : value.i;
}

static void assert_change_is_sound(const struct ArrowArray *change)
{
    LC_ARENA struct lc_arena arena = {0};
    LC_SCHEMA struct ArrowSchema schema = {0};
    struct lc_field type;
    assert_int_equal(lc_change_schema(image_type(), &schema, NULL), LCDC_OK);
    assert_int_equal(lc_field_from_schema(&schema, &arena, &type, NULL), LCDC_OK);
    assert_int_equal(lc_array_check(change, &type, NULL), LCDC_OK);
}

static void ops_decide_which_image_is_there(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        LC_ARRAY struct ArrowArray before = {0}, after = {0}, change = {0};
        int64_t numbers[N_OPS], snapshots[N_OPS] = {1, 1, 2, 2, 3}, ts[N_OPS] = {10, 10, 20, 20, 30};
        image(seed, &before);
        image(seed, &after);
        for (int i = 0; i < N_OPS; i++)
            memcpy(&numbers[i],
                   (const int64_t *)before.children[0]->buffers[1] + before.offset + before.children[0]->offset + i, 8);
        assert_int_equal(lc_change_array(image_type(), every_op, N_OPS, &before, &after, snapshots, ts,
                                         (const uint8_t[]){1, 1, 0, 0, 1}, &change, NULL),
                         LCDC_OK);
        assert_null(before.release);
        assert_null(after.release);
        assert_change_is_sound(&change);
        for (int i = 0; i < N_OPS; i++) {
            uint8_t op = every_op[i];
            bool has_before = op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE || op == LCDC_OP_UPDATE;
            bool has_after = op == LCDC_OP_INSERT || op == LCDC_OP_UPDATE_AFTER || op == LCDC_OP_UPDATE;
            assert_true(image_at(&change, LCDC_COL_BEFORE, i) == (has_before ? numbers[i] : -1));
            assert_true(image_at(&change, LCDC_COL_AFTER, i) == (has_after ? numbers[i] : -1));
            struct lc_str word = lc_array_str(change.children[LCDC_COL_OP], LC_TYPE_STRING, 0, i);
            assert_true(lc_str_is(word, lcdc_op_name((lcdc_op)op)));
            assert_int_equal(((const int64_t *)change.children[LCDC_COL_SNAPSHOT]->buffers[1])[i], snapshots[i]);
            assert_int_equal(lc_array_is_null(change.children[LCDC_COL_TS], i), i == 2 || i == 3);
        }
    }
}

static void a_missing_image_is_null_throughout(void **state)
{
    (void)state;
    LC_ARRAY struct ArrowArray before = {0}, after = {0}, change = {0};
    assert_int_equal(lc_change_array(image_type(), every_op, N_OPS, &before, &after, NULL, NULL, NULL, &change, NULL),
                     LCDC_OK);
    assert_change_is_sound(&change);
    for (int i = 0; i < N_OPS; i++) {
        assert_true(image_at(&change, LCDC_COL_BEFORE, i) == -1);
        assert_true(image_at(&change, LCDC_COL_AFTER, i) == -1);
        assert_true(lc_array_is_null(change.children[LCDC_COL_SNAPSHOT], i));
        assert_true(lc_array_is_null(change.children[LCDC_COL_TS], i));
    }
    assert_ptr_equal(change.children[LCDC_COL_BEFORE]->buffers[0], change.children[LCDC_COL_AFTER]->buffers[0]);
}

static void a_null_image_row_stays_null(void **state)
{
    (void)state;
    LC_ARRAY struct ArrowArray before = {0}, after = {0}, change = {0};
    assert_int_equal(lc_array_nulls(image_type(), N_OPS, &before, NULL), LCDC_OK);
    assert_int_equal(lc_change_array(image_type(), every_op, N_OPS, &before, &after, NULL, NULL, NULL, &change, NULL),
                     LCDC_OK);
    for (int i = 0; i < N_OPS; i++)
        assert_true(image_at(&change, LCDC_COL_BEFORE, i) == -1);
}

static void no_rows_make_an_empty_batch(void **state)
{
    (void)state;
    LC_ARRAY struct ArrowArray before = {0}, after = {0}, change = {0};
    assert_int_equal(lc_change_array(image_type(), NULL, 0, &before, &after, NULL, NULL, NULL, &change, NULL), LCDC_OK);
    assert_int_equal(change.length, 0);
    assert_change_is_sound(&change);
}

static void wrong_images_and_ops_are_refused(void **state)
{
    (void)state;
    LC_ARRAY struct ArrowArray before = {0}, after = {0}, change = {0};
    uint8_t op = 6;
    assert_int_equal(lc_change_array(image_type(), &op, 1, &before, &after, NULL, NULL, NULL, &change, NULL),
                     LCDC_CORRUPT);
    op = 0;
    assert_int_equal(lc_change_array(image_type(), &op, 1, &before, &after, NULL, NULL, NULL, &change, NULL),
                     LCDC_CORRUPT);
    op = LCDC_OP_DELETE;
    image(1, &before);
    assert_int_equal(lc_change_array(image_type(), &op, 1, &before, &after, NULL, NULL, NULL, &change, NULL),
                     LCDC_INTERNAL);
    assert_null(before.release);
    assert_null(change.release);
}

/* ---- memory ---- */

static lcdc_status build_everything(void *context, lcdc_error **err)
{
    (void)context;
    LC_ARENA struct lc_arena arena = {0};
    LC_SCHEMA struct ArrowSchema schema = {0}, copy = {0};
    LC_ARRAY struct ArrowArray nulls = {0}, projected = {0}, first = {0}, rest = {0}, before = {0}, after = {0},
                               change = {0};
    struct lc_field back;
    static const size_t columns[] = {2, 0};
    LC_TRY(lc_change_schema(lc_test_every_type(), &schema, err));
    LC_TRY(lc_schema_copy(&schema, &copy, err));
    LC_TRY(lc_field_from_schema(&copy, &arena, &back, err));
    LC_TRY(lc_array_nulls(lc_test_every_type(), 9, &nulls, err));
    LC_TRY(lc_array_project(&nulls, 2, columns, &projected, err));
    LC_TRY(lc_array_split(&projected, 1, &first, &rest, err));
    image(2, &before);
    lcdc_status status = lc_change_array(image_type(), every_op, N_OPS, &before, &after, NULL, NULL, NULL, &change,
                                         err);
    return before.release || (status != LCDC_OK && change.release) ? LCDC_INTERNAL : status;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(lc_torture(build_everything, NULL));
}

static void released_things_can_be_released(void **state)
{
    (void)state;
    struct ArrowArray array = {0};
    struct ArrowSchema schema = {0};
    lc_array_release(&array);
    lc_schema_release(&schema);
    assert_int_equal(lc_array_nulls(image_type(), 3, &array, NULL), LCDC_OK);
    lc_array_release(&array);
    assert_int_equal(array.n_children, 0);
    lc_array_release(&array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_those_of_the_table),
        cmocka_unit_test(children_of_lists_and_maps_have_the_usual_names),
        cmocka_unit_test(fields_come_back_from_their_schema),
        cmocka_unit_test(other_layouts_are_refused),
        cmocka_unit_test(parameters_are_read),
        cmocka_unit_test(metadata_gives_ids_and_uuids),
        cmocka_unit_test(damaged_metadata_is_corrupt),
        cmocka_unit_test(a_copy_shares_nothing),
        cmocka_unit_test(broken_trees_are_corrupt),
        cmocka_unit_test(wide_schemas_are_refused),
        cmocka_unit_test(odd_fields_have_no_schema),
        cmocka_unit_test(values_are_read_at_their_width),
        cmocka_unit_test(text_is_borrowed),
        cmocka_unit_test(null_rows_share_one_block),
        cmocka_unit_test(null_rows_have_as_many_bits),
        cmocka_unit_test(nulls_that_no_memory_could_hold),
        cmocka_unit_test(a_projection_moves_columns),
        cmocka_unit_test(a_projection_without_columns_keeps_its_rows),
        cmocka_unit_test(a_column_cannot_be_taken_twice),
        cmocka_unit_test(a_split_parts_the_columns),
        cmocka_unit_test(bytes_count_what_the_rows_span),
        cmocka_unit_test(bits_count_in_whole_bytes),
        cmocka_unit_test(sound_arrays_pass),
        cmocka_unit_test(broken_structure_is_corrupt),
        cmocka_unit_test(null_counts_must_be_true),
        cmocka_unit_test(offsets_must_rise_inside),
        cmocka_unit_test(keys_must_be_there),
        cmocka_unit_test(values_must_be_of_their_type),
        cmocka_unit_test(arrays_nest_within_bounds),
        cmocka_unit_test(decimals_must_fit_their_precision),
        cmocka_unit_test(the_change_schema_is_the_contract),
        cmocka_unit_test(ops_decide_which_image_is_there),
        cmocka_unit_test(a_missing_image_is_null_throughout),
        cmocka_unit_test(a_null_image_row_stays_null),
        cmocka_unit_test(no_rows_make_an_empty_batch),
        cmocka_unit_test(wrong_images_and_ops_are_refused),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(released_things_can_be_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
