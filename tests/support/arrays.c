/* SPDX-License-Identifier: Apache-2.0 */
#include "support/arrays.h"

#include <stdlib.h>
#include <string.h>

/* ---- a type ---- */

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }
#define PARENT(name_, kind_, children_)                                                                                \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_},     \
        .n_children = sizeof(children_) / sizeof((children_)[0]), .children = (children_)                              \
    }

const struct lc_field *lc_test_every_type(void)
{
    static struct lc_field point[] = {FIELD("x", INT16), FIELD("y", STRING)};
    static struct lc_field points[] = {PARENT("element", STRUCT, point)};
    static struct lc_field numbers[] = {FIELD("element", INT32)};
    static struct lc_field rows[] = {PARENT("element", LIST, numbers)};
    static struct lc_field entry[] = {FIELD("key", STRING), PARENT("value", LIST, numbers)};
    static struct lc_field deep[] = {FIELD("flag", BOOL), PARENT("points", LIST, points), FIELD("none", NULL)};
    static struct lc_field columns[] = {
        FIELD("null", NULL),
        FIELD("bool", BOOL),
        FIELD("int8", INT8),
        FIELD("int16", INT16),
        FIELD("int32", INT32),
        FIELD("int64", INT64),
        FIELD("float", FLOAT),
        FIELD("double", DOUBLE),
        {.name = "decimal",
         .physical = "decimal",
         .id = LC_NO_ID,
         .nullable = true,
         .type = {LC_TYPE_DECIMAL, 30, 4, 0}},
        FIELD("date", DATE),
        FIELD("time", TIME),
        FIELD("timestamp_tz", TIMESTAMP_TZ),
        FIELD("timestamp", TIMESTAMP),
        FIELD("timestamp_ns_tz", TIMESTAMP_NS_TZ),
        FIELD("timestamp_ns", TIMESTAMP_NS),
        FIELD("string", STRING),
        FIELD("binary", BINARY),
        {.name = "fixed", .physical = "fixed", .id = LC_NO_ID, .nullable = true, .type = {LC_TYPE_FIXED, 0, 0, 5}},
        FIELD("uuid", UUID),
        PARENT("point", STRUCT, point),
        PARENT("numbers", LIST, numbers),
        PARENT("rows", LIST, rows),
        PARENT("map", MAP, entry),
        PARENT("deep", STRUCT, deep),
        {.name = "empty", .physical = "empty", .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_STRUCT}},
    };
    static const struct lc_field root = PARENT("", STRUCT, columns);
    return &root;
}

/* ---- random arrays ---- */

uint64_t lc_test_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int64_t below(uint64_t *random, int64_t n)
{
    return (int64_t)(lc_test_random(random) % (uint64_t)n);
}

/* malloc, not lc_alloc: what is under test is not what makes the input. */
static void *take(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        abort();
    return p;
}

static void release(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    for (int64_t i = 0; i < array->n_buffers; i++)
        free((void *)array->buffers[i]);
    free(array->children);
    free((void *)array->buffers);
    array->release = NULL;
}

static void start(struct ArrowArray *out, int64_t n_buffers, size_t n_children, int64_t offset, int64_t n)
{
    *out = (struct ArrowArray){.length = n,
                               .offset = offset,
                               .n_buffers = n_buffers,
                               .n_children = (int64_t)n_children,
                               .buffers = take((size_t)n_buffers, sizeof(void *)),
                               .children = take(n_children, sizeof(void *)),
                               .release = release};
    for (size_t i = 0; i < n_children; i++)
        out->children[i] = take(1, sizeof(struct ArrowArray));
}

/* One bit in five is 0 and counted for the rows behind the offset. */
static void fill_validity(uint64_t *random, struct ArrowArray *array)
{
    int64_t end = array->offset + array->length;
    uint8_t *bits = take((size_t)(end + 7) / 8, 1);
    for (int64_t i = 0; i < end; i++) {
        bool is_valid = below(random, 5) != 0;
        bits[i >> 3] = (uint8_t)(bits[i >> 3] | is_valid << (i & 7));
        array->null_count += !is_valid && i >= array->offset;
    }
    array->buffers[0] = bits;
    if (below(random, 3) == 0)
        array->null_count = -1;
}

static int64_t fill_offsets(uint64_t *random, struct ArrowArray *array)
{
    int64_t end = array->offset + array->length;
    int32_t *offsets = take((size_t)end + 1, sizeof(*offsets));
    offsets[0] = (int32_t)below(random, 4);
    for (int64_t i = 0; i < end; i++)
        offsets[i + 1] = offsets[i] + (int32_t)below(random, 5);
    array->buffers[1] = offsets;
    return offsets[end];
}

static char *random_bytes(uint64_t *random, int64_t n, bool text)
{
    char *bytes = take((size_t)n, 1);
    for (int64_t i = 0; i < n; i++)
        bytes[i] = (char)(text ? 'a' + below(random, 26) : below(random, 256));
    return bytes;
}

static void fill_fixed(uint64_t *random, struct lc_type type, struct ArrowArray *array)
{
    int64_t width = type.kind == LC_TYPE_FIXED ? type.length : lc_type_width(type.kind);
    int64_t n = array->offset + array->length;
    char *bytes = random_bytes(random, type.kind == LC_TYPE_BOOL ? (n + 7) / 8 : n * width, false);
    for (int64_t i = 0; i < n && (type.kind == LC_TYPE_DECIMAL || type.kind == LC_TYPE_TIME); i++) {
        int64_t low = below(random, INT64_C(86400000000));
        memset(bytes + i * width, 0, (size_t)width);
        memcpy(bytes + i * width, &low, sizeof(low));
    }
    array->buffers[1] = bytes;
}

void lc_test_array(uint64_t *random, const struct lc_field *type, int64_t n, bool nulls, struct ArrowArray *out)
{
    enum lc_type_kind kind = type->type.kind;
    bool is_map = kind == LC_TYPE_MAP, is_list = kind == LC_TYPE_LIST || is_map;
    bool has_text = kind == LC_TYPE_STRING || kind == LC_TYPE_BINARY;
    int64_t n_buffers = kind == LC_TYPE_NULL ? 0 : kind == LC_TYPE_STRUCT ? 1 : has_text ? 3 : 2;
    start(out, n_buffers, is_map ? 1 : type->n_children, below(random, 4) * 3, n);
    if (kind == LC_TYPE_NULL) {
        out->null_count = n;
        return;
    }
    if (nulls && below(random, 4))
        fill_validity(random, out);
    int64_t below_rows = out->offset + n;
    if (is_list || has_text)
        below_rows = fill_offsets(random, out);
    else if (kind != LC_TYPE_STRUCT)
        fill_fixed(random, type->type, out);
    if (has_text)
        out->buffers[2] = random_bytes(random, below_rows, kind == LC_TYPE_STRING);
    if (is_map) {
        struct ArrowArray *pairs = out->children[0];
        start(pairs, 1, 2, below(random, 3), below_rows);
        lc_test_array(random, &type->children[0], pairs->offset + below_rows, false, pairs->children[0]);
        lc_test_array(random, &type->children[1], pairs->offset + below_rows, nulls, pairs->children[1]);
        return;
    }
    for (size_t i = 0; i < type->n_children; i++)
        lc_test_array(random, &type->children[i], below_rows + below(random, 2), nulls, out->children[i]);
}

/* ---- text ---- */

static void print_struct(struct lc_buf *buf, const struct ArrowArray *array, const struct lc_field *type, int64_t i)
{
    lc_buf_char(buf, '{');
    for (size_t j = 0; j < type->n_children; j++) {
        lc_buf_text(buf, j ? "," : "");
        lc_test_print_row(buf, array->children[j], &type->children[j], array->offset + i);
    }
    lc_buf_char(buf, '}');
}

static void print_list(struct lc_buf *buf, const struct ArrowArray *array, const struct lc_field *type, int64_t i)
{
    int32_t span[2];
    memcpy(span, (const int32_t *)array->buffers[1] + array->offset + i, sizeof(span));
    lc_buf_char(buf, '[');
    for (int32_t j = span[0]; j < span[1]; j++) {
        lc_buf_text(buf, j > span[0] ? "," : "");
        if (type->type.kind == LC_TYPE_MAP)
            print_struct(buf, array->children[0], type, j);
        else
            lc_test_print_row(buf, array->children[0], &type->children[0], j);
    }
    lc_buf_char(buf, ']');
}

void lc_test_print_row(struct lc_buf *buf, const struct ArrowArray *array, const struct lc_field *type, int64_t i)
{
    struct lc_value value;
    if (type->type.kind == LC_TYPE_NULL || lc_array_is_null(array, i)) {
        lc_buf_text(buf, "null");
    } else if (type->type.kind == LC_TYPE_STRUCT) {
        print_struct(buf, array, type, i);
    } else if (lc_type_is_nested(type->type.kind)) {
        print_list(buf, array, type, i);
    } else {
        lc_array_value(array, type->type, i, &value);
        lc_buf_char(buf, '<');
        lc_value_print(buf, &value);
        lc_buf_char(buf, '>');
    }
}
