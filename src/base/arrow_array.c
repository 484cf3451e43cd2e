/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_array.c - arrays owned, read, projected and filled with nulls.
 *
 * Sections: shape, memory, ownership, reading, nulls, projection, size.
 */
#include "base/arrow_parts.h"

#include <stdatomic.h>
#include <string.h>

/* ---- shape ---- */

int lc_arrow_buffers(enum lc_type_kind kind)
{
    switch (kind) {
    case LC_TYPE_NULL:
    case LC_TYPE_COUNT:
        return 0;
    case LC_TYPE_STRUCT:
        return 1;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
        return 3;
    case LC_TYPE_BOOL:
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
    case LC_TYPE_DECIMAL:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
        return 2;
    }
    return 0;
}

int lc_arrow_width(struct lc_type type)
{
    return type.kind == LC_TYPE_FIXED ? type.length : lc_type_width(type.kind);
}

size_t lc_arrow_children(const struct lc_field *field)
{
    return field->type.kind == LC_TYPE_MAP ? 1 : field->n_children;
}

const struct lc_field *lc_arrow_child(const struct lc_field *field, size_t i, struct lc_field *entries)
{
    if (field->type.kind != LC_TYPE_MAP)
        return &field->children[i];
    *entries = (struct lc_field){.name = "key_value",
                                 .physical = "key_value",
                                 .id = LC_NO_ID,
                                 .type.kind = LC_TYPE_STRUCT,
                                 .n_children = field->n_children,
                                 .children = field->children};
    return entries;
}

/* ---- memory ---- */

struct lc_array_memory {
    _Atomic int64_t refs;
    struct lc_arena arena; /* the nodes; buffers are blocks of their own, because the arena clears what it gives */
};

struct lc_array_memory *lc_array_memory_new(void)
{
    struct lc_array_memory *memory = lc_calloc(1, sizeof(*memory));
    if (memory)
        atomic_init(&memory->refs, 1);
    return memory;
}

void lc_array_memory_unref(struct lc_array_memory *memory)
{
    if (!memory || atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) != 1)
        return;
    lc_arena_done(&memory->arena);
    lc_free(memory);
}

void *lc_array_memory_take(struct lc_array_memory *memory, int64_t n, int64_t size, bool zero)
{
    void *block = zero ? lc_calloc((size_t)n, (size_t)size) : lc_realloc(NULL, (size_t)n, (size_t)size);
    return block && lc_arena_own(&memory->arena, block, lc_free) ? block : NULL;
}

static void release_node(struct ArrowArray *array)
{
    struct lc_array_memory *memory = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    array->release = NULL;
    lc_array_memory_unref(memory);
}

static bool init_node(struct ArrowArray *out, struct lc_array_memory *memory, int n_buffers, size_t n_children,
                      int64_t length)
{
    const void **buffers = lc_arena_array(&memory->arena, (size_t)n_buffers, sizeof(*buffers));
    struct ArrowArray **pointers = lc_arena_array(&memory->arena, n_children, sizeof(struct ArrowArray *));
    struct ArrowArray *children = lc_arena_array(&memory->arena, n_children, sizeof(*children));
    if (!buffers || !pointers || !children)
        return false;
    for (size_t i = 0; i < n_children; i++)
        pointers[i] = &children[i];
    *out = (struct ArrowArray){.length = length,
                               .n_buffers = n_buffers,
                               .n_children = (int64_t)n_children,
                               .buffers = buffers,
                               .children = pointers,
                               .release = release_node,
                               .private_data = memory};
    atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
    return true;
}

bool lc_array_init(struct ArrowArray *out, struct lc_array_memory *memory, const struct lc_field *type, int64_t length)
{
    return init_node(out, memory, lc_arrow_buffers(type->type.kind), lc_arrow_children(type), length);
}

/* ---- ownership ---- */

void lc_array_release(struct ArrowArray *array)
{
    if (array->release)
        array->release(array);
    *array = (struct ArrowArray){0};
}

void lc_array_move(struct ArrowArray *from, struct ArrowArray *to)
{
    struct ArrowArray moved = *from;
    *from = (struct ArrowArray){0};
    *to = moved;
}

/* ---- reading ---- */

struct lc_str lc_array_str(const struct ArrowArray *array, enum lc_type_kind kind, int fixed_length, int64_t i)
{
    int64_t at = array->offset + i;
    if (!lc_arrow_has_offsets(kind)) {
        int64_t width = kind == LC_TYPE_UUID ? 16 : fixed_length;
        return (struct lc_str){(const char *)array->buffers[1] + at * width, (size_t)width};
    }
    int64_t begin = lc_load_i32(array->buffers[1], at), end = lc_load_i32(array->buffers[1], at + 1);
    return (struct lc_str){begin == end ? "" : (const char *)array->buffers[2] + begin, (size_t)(end - begin)};
}

#define LOAD(type)                                                                                                     \
    __extension__({                                                                                                    \
        type load_value;                                                                                               \
        memcpy(&load_value, (const char *)array->buffers[1] + at * (int64_t)sizeof(type), sizeof(type));               \
        load_value;                                                                                                    \
    })

void lc_array_value(const struct ArrowArray *array, struct lc_type type, int64_t i, struct lc_value *out)
{
    int64_t at = array->offset + i;
    *out = (struct lc_value){.type = type};
    out->is_null = type.kind == LC_TYPE_NULL || lc_type_is_nested(type.kind) || lc_array_is_null(array, i);
    if (out->is_null)
        return;
    switch (type.kind) {
    case LC_TYPE_BOOL:
        out->b = lc_bit(array->buffers[1], at);
        return;
    case LC_TYPE_INT8:
        out->i = (int64_t)LOAD(int8_t);
        return;
    case LC_TYPE_INT16:
        out->i = LOAD(int16_t);
        return;
    case LC_TYPE_INT32:
    case LC_TYPE_DATE:
        out->i = LOAD(int32_t);
        return;
    case LC_TYPE_INT64:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        out->i = LOAD(int64_t);
        return;
    case LC_TYPE_FLOAT:
        out->f = (double)LOAD(float);
        return;
    case LC_TYPE_DOUBLE:
        out->f = LOAD(double);
        return;
    case LC_TYPE_DECIMAL:
        out->dec = LOAD(lc_i128);
        return;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        out->str = lc_array_str(array, type.kind, type.length, i);
        return;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return;
    }
}

/* ---- nulls: every buffer of such an array may be the same zeros ---- */

/* The longest buffer of `n` null rows, or -1 when no memory could hold it. */
static int64_t longest_buffer(const struct lc_field *field, int64_t n)
{
    struct lc_field entries;
    int width = lc_arrow_width(field->type);
    int64_t longest = n / 8 + 1, bytes;
    bool has_offsets = lc_arrow_has_offsets(field->type.kind);
    if (__builtin_mul_overflow(n + has_offsets, has_offsets ? 4 : width > 0 ? width : 0, &bytes))
        return -1;
    longest = bytes > longest ? bytes : longest;
    for (size_t i = 0; i < lc_arrow_children(field); i++) {
        bytes = longest_buffer(lc_arrow_child(field, i, &entries), has_offsets ? 0 : n);
        if (bytes < 0)
            return -1;
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

static bool init_nulls(struct ArrowArray *out, struct lc_array_memory *memory, const struct lc_field *field, int64_t n,
                       const void *zeros)
{
    struct lc_field entries;
    if (!lc_array_init(out, memory, field, n))
        return false;
    out->null_count = n;
    for (int64_t i = 0; i < out->n_buffers; i++)
        out->buffers[i] = zeros;
    for (int64_t i = 0; i < out->n_children; i++)
        if (!init_nulls(out->children[i], memory, lc_arrow_child(field, (size_t)i, &entries),
                        lc_arrow_has_offsets(field->type.kind) ? 0 : n, zeros))
            return false;
    return true;
}

lcdc_status lc_array_nulls_in(struct lc_array_memory *memory, const struct lc_field *type, int64_t n,
                              const void **zeros, struct ArrowArray *out, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray made = {0};
    if (!*zeros) {
        int64_t bytes = longest_buffer(type, n);
        *zeros = bytes < 0 ? NULL : lc_array_memory_take(memory, bytes, 1, true);
    }
    if (!*zeros || !init_nulls(&made, memory, type, n, *zeros))
        return lc_fail_oom(err);
    lc_array_move(&made, out);
    return LCDC_OK;
}

lcdc_status lc_array_nulls(const struct lc_field *type, int64_t n, struct ArrowArray *out, lcdc_error **err)
{
    const void *zeros = NULL;
    LC_ARRAY_MEMORY struct lc_array_memory *memory = lc_array_memory_new();
    LC_TRY_ALLOC(memory);
    return lc_array_nulls_in(memory, type, n, &zeros, out, err);
}

/* ---- projection ---- */

/* The parent's bitmap cannot be moved as its children can; a parent without nulls needs none. */
static bool copy_validity(const struct ArrowArray *from, struct lc_array_memory *memory, struct ArrowArray *to)
{
    to->null_count = from->null_count;
    to->offset = from->offset;
    if (from->null_count == 0 || !from->buffers[0])
        return true;
    int64_t bytes = (from->offset + from->length + 7) / 8;
    void *bits = lc_array_memory_take(memory, bytes, 1, false);
    if (bits)
        memcpy(bits, from->buffers[0], (size_t)bytes);
    to->buffers[0] = bits;
    return bits;
}

/* A struct array of the rows of `from` with room for `n` columns. */
static bool init_like(struct ArrowArray *out, struct lc_array_memory *memory, const struct ArrowArray *from, size_t n)
{
    return init_node(out, memory, 1, n, from->length) && copy_validity(from, memory, out);
}

static lcdc_status move_column(struct ArrowArray *from, size_t column, struct ArrowArray *to, lcdc_error **err)
{
    if (column >= (size_t)from->n_children || !from->children[column]->release)
        return lc_fail(err, LC_R_INTERNAL, "column %zu of a projection is not there or is taken twice", column);
    lc_array_move(from->children[column], to);
    return LCDC_OK;
}

lcdc_status lc_array_project(struct ArrowArray *take_array, size_t n, const size_t *columns, struct ArrowArray *out,
                             lcdc_error **err)
{
    LC_ARRAY struct ArrowArray array = {0}, made = {0};
    LC_ARRAY_MEMORY struct lc_array_memory *memory = lc_array_memory_new();
    lc_array_move(take_array, &array);
    if (!memory || !init_like(&made, memory, &array, n))
        return lc_fail_oom(err);
    for (size_t i = 0; i < n; i++)
        LC_TRY(move_column(&array, columns[i], made.children[i], err));
    lc_array_move(&made, out);
    return LCDC_OK;
}

lcdc_status lc_array_split(struct ArrowArray *take_array, size_t n_first, struct ArrowArray *out_first,
                           struct ArrowArray *out_rest, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray array = {0}, first = {0}, rest = {0};
    LC_ARRAY_MEMORY struct lc_array_memory *memory = lc_array_memory_new();
    lc_array_move(take_array, &array);
    size_t n = (size_t)array.n_children;
    if (n_first > n)
        return lc_fail(err, LC_R_INTERNAL, "the first %zu of %zu columns", n_first, n);
    if (!memory || !init_like(&first, memory, &array, n_first) || !init_like(&rest, memory, &array, n - n_first))
        return lc_fail_oom(err);
    for (size_t i = 0; i < n; i++)
        LC_TRY(move_column(&array, i, i < n_first ? first.children[i] : rest.children[i - n_first], err));
    lc_array_move(&first, out_first);
    lc_array_move(&rest, out_rest);
    return LCDC_OK;
}

/* ---- size ---- */

static int64_t bytes_of(const struct ArrowArray *array, const struct lc_field *field, int64_t at, int64_t n)
{
    struct lc_field entries;
    enum lc_type_kind kind = field->type.kind;
    int width = lc_arrow_width(field->type);
    at += array->offset;
    int64_t bytes = array->n_buffers > 0 && array->buffers[0] ? (n + 7) / 8 : 0;
    if (n == 0 || kind == LC_TYPE_NULL)
        return 0;
    if (!lc_arrow_has_offsets(kind)) {
        bytes += width > 0 ? n * width : kind == LC_TYPE_BOOL ? (n + 7) / 8 : 0;
    } else {
        int64_t begin = lc_load_i32(array->buffers[1], at);
        bytes += (n + 1) * 4;
        n = lc_load_i32(array->buffers[1], at + n) - begin;
        at = begin;
        bytes += lc_type_is_nested(kind) ? 0 : n;
    }
    for (size_t i = 0; i < lc_arrow_children(field); i++)
        bytes += bytes_of(array->children[i], lc_arrow_child(field, i, &entries), at, n);
    return bytes;
}

int64_t lc_array_bytes(const struct ArrowArray *array, const struct lc_field *type)
{
    return bytes_of(array, type, 0, array->length);
}
