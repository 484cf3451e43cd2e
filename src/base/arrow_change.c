/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_change.c - the change row of lakecdc/change.h as Arrow: its schema, its batches.
 *
 * What an op leaves out is null at the struct, whatever its columns hold.
 */
#include <string.h>

#include "base/arrow_parts.h"
#include "lakecdc/change.h"

static bool has_before(uint8_t op)
{
    return op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE || op == LCDC_OP_UPDATE;
}

static bool has_after(uint8_t op)
{
    return op == LCDC_OP_INSERT || op == LCDC_OP_UPDATE_AFTER || op == LCDC_OP_UPDATE;
}

/* ---- schema ---- */

static struct lc_field column(const char *name, enum lc_type_kind kind)
{
    return (struct lc_field){.name = name, .physical = name, .id = LC_NO_ID, .type.kind = kind};
}

/* The five columns over the caller's array; the tree that arrays and schema are built by. */
static struct lc_field change_row(const struct lc_field *images, struct lc_field columns[LCDC_COLS])
{
    struct lc_field row = column("", LC_TYPE_STRUCT);
    columns[LCDC_COL_OP] = column("op", LC_TYPE_STRING);
    columns[LCDC_COL_BEFORE] = column("before", LC_TYPE_STRUCT);
    columns[LCDC_COL_AFTER] = column("after", LC_TYPE_STRUCT);
    columns[LCDC_COL_SNAPSHOT] = column("snapshot", LC_TYPE_INT64);
    columns[LCDC_COL_TS] = column("ts", LC_TYPE_TIMESTAMP_TZ);
    for (int i = LCDC_COL_BEFORE; i <= LCDC_COL_AFTER; i++) {
        columns[i].n_children = images->n_children;
        columns[i].children = images->children;
    }
    row.n_children = LCDC_COLS;
    row.children = columns;
    return row;
}

lcdc_status lc_change_schema(const struct lc_field *images, struct ArrowSchema *out, lcdc_error **err)
{
    struct lc_field columns[LCDC_COLS];
    struct lc_field row = change_row(images, columns);
    LC_TRY(lc_schema_from_field(&row, out, err));
    out->flags = 0;
    out->children[LCDC_COL_OP]->flags = 0;
    return LCDC_OK;
}

/* ---- batch ---- */

struct batch {
    const struct lc_field *images;
    const uint8_t *ops;
    int64_t n;
    struct lc_array_memory *memory;
    const void *zeros; /* shared by the images that are null in every row */
};

static bool build_ops(const struct batch *batch, struct ArrowArray *out)
{
    struct lc_str words[LCDC_OP_UPDATE + 1];
    int64_t total = 0;
    for (int op = LCDC_OP_INSERT; op <= LCDC_OP_UPDATE; op++)
        words[op] = lc_str_of(lcdc_op_name((lcdc_op)op));
    for (int64_t i = 0; i < batch->n; i++)
        total += (int64_t)words[batch->ops[i]].n;
    int32_t *offsets = lc_array_memory_take(batch->memory, batch->n + 1, sizeof(*offsets), false);
    char *bytes = lc_array_memory_take(batch->memory, total, 1, false);
    if (!offsets || !bytes || total > INT32_MAX)
        return false;
    int32_t at = 0;
    for (int64_t i = 0; i < batch->n; i++) {
        struct lc_str word = words[batch->ops[i]];
        memcpy(bytes + at, word.p, word.n);
        offsets[i] = at;
        at += (int32_t)word.n;
    }
    offsets[batch->n] = at;
    out->buffers[1] = offsets;
    out->buffers[2] = bytes;
    return true;
}

/* NULL values: null in every row. */
static bool build_numbers(const struct batch *batch, const int64_t *values, const uint8_t *valid,
                          struct ArrowArray *out)
{
    uint8_t *bits = NULL;
    int64_t *copy = lc_array_memory_take(batch->memory, batch->n, sizeof(*copy), !values);
    if (!copy)
        return false;
    if (values && batch->n)
        memcpy(copy, values, (size_t)batch->n * sizeof(*copy));
    if (!values || valid) {
        bits = lc_array_memory_take(batch->memory, batch->n / 8 + 1, 1, true);
        if (!bits)
            return false;
        for (int64_t i = 0; i < batch->n; i++) {
            bool is_valid = values && valid[i];
            bits[i >> 3] = (uint8_t)(bits[i >> 3] | is_valid << (i & 7));
            out->null_count += !is_valid;
        }
    }
    out->buffers[0] = bits;
    out->buffers[1] = copy;
    return true;
}

/* Takes the columns of `image` over, under a bitmap that also knows which ops have this image. */
static lcdc_status build_image(struct batch *batch, struct ArrowArray *image, bool (*has_image)(uint8_t op),
                               struct ArrowArray *out, lcdc_error **err)
{
    if (!image->release) {
        lc_array_release(out);
        return lc_array_nulls_in(batch->memory, batch->images, batch->n, &batch->zeros, out, err);
    }
    if (image->length != batch->n || image->n_children != out->n_children)
        return lc_fail(err, LC_R_INTERNAL, "an image of %lld rows and %lld columns, where %lld and %lld are wanted",
                       (long long)image->length, (long long)image->n_children, (long long)batch->n,
                       (long long)out->n_children);
    uint8_t *bits = lc_array_memory_take(batch->memory, (image->offset + batch->n) / 8 + 1, 1, true);
    LC_TRY_ALLOC(bits);
    for (int64_t i = 0; i < batch->n; i++) {
        int64_t at = image->offset + i;
        bool is_valid = has_image(batch->ops[i]) && !lc_array_is_null(image, i);
        bits[at >> 3] = (uint8_t)(bits[at >> 3] | is_valid << (at & 7));
        out->null_count += !is_valid;
    }
    out->buffers[0] = out->null_count ? bits : NULL;
    out->offset = image->offset;
    for (int64_t i = 0; i < image->n_children; i++)
        lc_array_move(image->children[i], out->children[i]);
    return LCDC_OK;
}

lcdc_status lc_change_array(const struct lc_field *images, const uint8_t *ops, int64_t n,
                            struct ArrowArray *take_before, struct ArrowArray *take_after, const int64_t *snapshots,
                            const int64_t *ts_us, const uint8_t *ts_valid, struct ArrowArray *out, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray before = {0}, after = {0}, made = {0};
    lc_array_move(take_before, &before);
    lc_array_move(take_after, &after);
    LC_ARRAY_MEMORY struct lc_array_memory *memory = lc_array_memory_new();
    struct batch batch = {.images = images, .ops = ops, .n = n, .memory = memory};
    struct lc_field columns[LCDC_COLS];
    struct lc_field row = change_row(images, columns);
    for (int64_t i = 0; i < n; i++)
        if (ops[i] < LCDC_OP_INSERT || ops[i] > LCDC_OP_UPDATE)
            return lc_fail(err, LC_R_UNKNOWN_OP, "a change row has the operation number %d, which is none", ops[i]);
    if (!memory || !lc_array_init(&made, memory, &row, n))
        return lc_fail_oom(err);
    for (int i = 0; i < LCDC_COLS; i++)
        if (!lc_array_init(made.children[i], memory, &columns[i], n))
            return lc_fail_oom(err);
    if (!build_ops(&batch, made.children[LCDC_COL_OP]) ||
        !build_numbers(&batch, snapshots, NULL, made.children[LCDC_COL_SNAPSHOT]) ||
        !build_numbers(&batch, ts_us, ts_valid, made.children[LCDC_COL_TS]))
        return lc_fail_oom(err);
    LC_TRY(build_image(&batch, &before, has_before, made.children[LCDC_COL_BEFORE], err));
    LC_TRY(build_image(&batch, &after, has_after, made.children[LCDC_COL_AFTER], err));
    lc_array_move(&made, out);
    return LCDC_OK;
}
