/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/column.h"

#include <string.h>

#include "base/arrow_parts.h"

/* ---- building ---- */

struct builder {
    struct lc_type type;
    int64_t n, at, nulls;
    struct lc_array_memory *memory;
    uint8_t *validity, *data;
    int32_t *offsets;
    struct lc_buf bytes; /* of texts */
    bool is_full;        /* texts passed what 32-bit offsets hold */
};

static void builder_done(struct builder *builder)
{
    lc_array_memory_unref(builder->memory);
    lc_buf_done(&builder->bytes);
}

static lcdc_status begin(struct builder *out, struct lc_type type, int64_t n, lcdc_error **err)
{
    int width = lc_arrow_width(type);
    bool has_offsets = lc_arrow_has_offsets(type.kind);
    *out = (struct builder){.type = type, .n = n, .memory = lc_array_memory_new()};
    lc_buf_init(&out->bytes, INT32_MAX);
    LC_TRY_ALLOC(out->memory);
    out->validity = lc_array_memory_take(out->memory, (n + 7) / 8 + 1, 1, true);
    if (has_offsets)
        out->offsets = lc_array_memory_take(out->memory, n + 1, sizeof(int32_t), true);
    else
        out->data = lc_array_memory_take(out->memory, width > 0 ? n + 1 : n / 8 + 1, width > 0 ? width : 1, true);
    LC_TRY_ALLOC(out->validity && (has_offsets ? (void *)out->offsets : (void *)out->data));
    return LCDC_OK;
}

static void store(const struct builder *builder, const void *value, size_t n)
{
    memcpy(builder->data + (size_t)builder->at * n, value, n);
}

static void store_value(struct builder *builder, const struct lc_value *value)
{
    float f = (float)value->f;
    switch (builder->type.kind) {
    case LC_TYPE_BOOL:
        if (value->b)
            builder->data[builder->at >> 3] |= (uint8_t)(1U << (builder->at & 7));
        return;
    case LC_TYPE_INT8:
        store(builder, &(int8_t){(int8_t)value->i}, 1);
        return;
    case LC_TYPE_INT16:
        store(builder, &(int16_t){(int16_t)value->i}, 2);
        return;
    case LC_TYPE_INT32:
    case LC_TYPE_DATE:
        store(builder, &(int32_t){(int32_t)value->i}, 4);
        return;
    case LC_TYPE_INT64:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        store(builder, &value->i, 8);
        return;
    case LC_TYPE_FLOAT:
        store(builder, &f, 4);
        return;
    case LC_TYPE_DOUBLE:
        store(builder, &value->f, 8);
        return;
    case LC_TYPE_DECIMAL:
        store(builder, &value->dec, 16);
        return;
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        store(builder, value->str.p, (size_t)lc_arrow_width(builder->type));
        return;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
        builder->is_full = builder->is_full || value->str.n >= builder->bytes.max - builder->bytes.n;
        lc_buf_append(&builder->bytes, value->str.p, value->str.n);
        return;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        return;
    }
}

/* NULL: a null. A text that has no more room is noticed at the end. */
static void add(struct builder *builder, const struct lc_value *value)
{
    if (value && !value->is_null) {
        builder->validity[builder->at >> 3] |= (uint8_t)(1U << (builder->at & 7));
        store_value(builder, value);
    } else {
        builder->nulls++;
    }
    builder->at++;
    if (builder->offsets)
        builder->offsets[builder->at] = (int32_t)builder->bytes.n;
}

static lcdc_status finish(struct builder *builder, struct ArrowArray *out, lcdc_error **err)
{
    const struct lc_field field = {.name = "", .physical = "", .id = LC_NO_ID, .type = builder->type};
    LC_ARRAY struct ArrowArray made = {0};
    if (builder->bytes.failed && !builder->is_full)
        return lc_fail_oom(err);
    if (builder->bytes.failed)
        return lc_fail(err, LC_R_LIMIT, "the texts of a column that a transform makes pass 2 GiB in one batch");
    if (!lc_array_init(&made, builder->memory, &field, builder->n))
        return lc_fail_oom(err);
    made.null_count = builder->nulls;
    made.buffers[0] = builder->validity;
    made.buffers[1] = builder->offsets ? (const void *)builder->offsets : builder->data;
    if (builder->offsets) {
        char *bytes = lc_array_memory_take(builder->memory, (int64_t)builder->bytes.n + 1, 1, false);
        LC_TRY_ALLOC(bytes);
        if (builder->bytes.n)
            memcpy(bytes, builder->bytes.p, builder->bytes.n);
        made.buffers[2] = bytes;
    }
    lc_array_move(&made, out);
    return LCDC_OK;
}

#define BUILDER LC_CLEANUP(builder_done)

/* ---- constants and truth ---- */

lcdc_status lc_column_constant(const struct ArrowArray *image, const struct lc_value *value, struct ArrowArray *out,
                               lcdc_error **err)
{
    BUILDER struct builder builder = {0};
    LC_TRY(begin(&builder, value->type, image->length, err));
    for (int64_t i = 0; i < image->length; i++)
        add(&builder, lc_array_is_null(image, i) ? NULL : value);
    return finish(&builder, out, err);
}

lcdc_status lc_column_truth(const struct ArrowArray *image, const uint8_t *yes, const uint8_t *no,
                            struct ArrowArray *out, lcdc_error **err)
{
    BUILDER struct builder builder = {0};
    LC_TRY(begin(&builder, (struct lc_type){.kind = LC_TYPE_BOOL}, image->length, err));
    for (int64_t i = 0; i < image->length; i++) {
        const struct lc_value value = {.type.kind = LC_TYPE_BOOL, .b = yes[i]};
        add(&builder, lc_array_is_null(image, i) || (!yes[i] && !no[i]) ? NULL : &value);
    }
    return finish(&builder, out, err);
}

/* ---- casts ---- */

bool lc_column_can_cast(struct lc_type from, struct lc_type to)
{
    struct lc_value made;
    bool is_bytes = from.kind == LC_TYPE_FIXED || from.kind == LC_TYPE_UUID;
    /* zero fits every number, every time and its own length */
    const struct lc_value zero = {.type = from, .str = {"", is_bytes ? (size_t)lc_arrow_width(from) : 0}};
    struct lc_value sample = {.type = from};
    if (lc_type_is_nested(from.kind) || lc_type_is_nested(to.kind) || from.kind == LC_TYPE_NULL ||
        to.kind == LC_TYPE_NULL)
        return false;
    if (from.kind == LC_TYPE_STRING || to.kind == LC_TYPE_STRING || lc_type_equal(from, to))
        return true;
    bool has_text = is_bytes || from.kind == LC_TYPE_BINARY;
    return lc_value_cast(has_text ? &zero : &sample, to, &made);
}

/* Texts are read and written; everything else is cast. A text that is written lives in `scratch`. */
static lcdc_status cast_value(const struct lc_value *value, struct lc_type to, struct lc_arena *arena,
                              struct lc_buf *scratch, struct lc_value *out, bool *fits, lcdc_error **err)
{
    *out = (struct lc_value){.is_null = value->is_null, .type = to};
    *fits = value->is_null || lc_value_cast(value, to, out);
    if (*fits)
        return LCDC_OK;
    if (to.kind == LC_TYPE_STRING && value->type.kind != LC_TYPE_BINARY) {
        lc_buf_clear(scratch);
        lc_value_print(scratch, value);
        LC_TRY_BUF(scratch);
        out->str = (struct lc_str){scratch->p ? scratch->p : "", scratch->n};
        *fits = true;
        return LCDC_OK;
    }
    *fits = value->type.kind == LC_TYPE_STRING && lc_value_parse(to, value->str, arena, out);
    return LCDC_OK;
}

static lcdc_status does_not_fit(const struct lc_value *value, const char *name, struct lc_type to, lcdc_error **err)
{
    const struct lc_field field = {.name = "", .physical = "", .id = LC_NO_ID, .type = to};
    LC_BUF struct lc_buf text = {.max = 1 << 16}, type = {.max = 1 << 10};
    if (value->type.kind == LC_TYPE_BINARY)
        lc_buf_printf(&text, "%zu bytes", value->str.n);
    else
        lc_value_print(&text, value);
    lc_type_print(&type, &field);
    return lc_fail(err, LC_R_SYNC_CAST, "cast of column '%.100s': value '%.60s' is no %.60s", name,
                   text.p ? text.p : "", type.p ? type.p : "");
}

lcdc_status lc_column_cast(const struct ArrowArray *column, const char *name, struct lc_type from, struct lc_type to,
                           struct ArrowArray *out, lcdc_error **err)
{
    BUILDER struct builder builder = {0};
    LC_BUF struct lc_buf scratch = {.max = 1 << 16};
    LC_TRY(begin(&builder, to, column->length, err));
    for (int64_t i = 0; i < column->length; i++) {
        LC_ARENA struct lc_arena arena = {0};
        struct lc_value value, made;
        bool fits = false;
        lc_array_value(column, from, i, &value);
        LC_TRY(cast_value(&value, to, &arena, &scratch, &made, &fits, err));
        if (!fits)
            return does_not_fit(&value, name, to, err);
        add(&builder, &made);
    }
    return finish(&builder, out, err);
}

lcdc_status lc_column_cast_value(const struct lc_value *value, struct lc_type to, struct lc_arena *arena,
                                 const struct lc_value **out, lcdc_error **err)
{
    LC_BUF struct lc_buf scratch = {.max = 1 << 16};
    struct lc_value made;
    bool fits = false;
    *out = NULL;
    LC_TRY(cast_value(value, to, arena, &scratch, &made, &fits, err));
    if (!fits)
        return LCDC_OK;
    *out = lc_value_dup(arena, &made);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

/* ---- images ---- */

lcdc_status lc_column_assemble(const struct lc_field *images, const struct ArrowArray *image,
                               struct ArrowArray *take_columns, struct ArrowArray *out, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray made = {0};
    LC_ARRAY_MEMORY struct lc_array_memory *memory = lc_array_memory_new();
    if (!memory || !lc_array_init(&made, memory, images, image->length))
        return lc_fail_oom(err);
    if (image->null_count != 0 && image->buffers[0]) {
        size_t bytes = (size_t)(image->length + 7) / 8;
        void *bits = lc_array_memory_take(memory, (int64_t)bytes, 1, false);
        LC_TRY_ALLOC(bits);
        memcpy(bits, image->buffers[0], bytes);
        made.buffers[0] = bits;
        made.null_count = image->null_count;
    }
    for (size_t i = 0; i < images->n_children; i++)
        lc_array_move(&take_columns[i], made.children[i]);
    lc_array_move(&made, out);
    return LCDC_OK;
}
