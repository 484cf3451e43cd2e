/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_parts.h - what the files of arrow.h share: the shape of an array of each type, and the memory of a new one.
 *
 * All nodes of a tree that is built here hold one counted memory, so that a child which a consumer moves out stays
 * valid after its parent is released, on whatever thread that happens.
 */
#ifndef LC_BASE_ARROW_PARTS_H
#define LC_BASE_ARROW_PARTS_H

#include "base/arrow.h"

/* ---- shape ---- */

/** Buffers of an array of a type; the first is the validity bitmap. */
int lc_arrow_buffers(enum lc_type_kind kind);
/** Bytes a value, of fixed-size arrays; 0 for bits, -1 for other layouts. */
int lc_arrow_width(struct lc_type type);
size_t lc_arrow_children(const struct lc_field *field);
/** Child `i` as Arrow sees it: a map's only child is a struct, which is made up in `entries`. */
const struct lc_field *lc_arrow_child(const struct lc_field *field, size_t i, struct lc_field *entries);

static inline bool lc_arrow_has_offsets(enum lc_type_kind kind)
{
    return kind == LC_TYPE_STRING || kind == LC_TYPE_BINARY || kind == LC_TYPE_LIST || kind == LC_TYPE_MAP;
}

/** Entry `i` of a buffer that may lie anywhere in memory. */
static inline int32_t lc_load_i32(const void *buffer, int64_t i)
{
    int32_t value;
    __builtin_memcpy(&value, (const char *)buffer + i * 4, sizeof(value));
    return value;
}
static inline int64_t lc_load_i64(const void *buffer, int64_t i)
{
    int64_t value;
    __builtin_memcpy(&value, (const char *)buffer + i * 8, sizeof(value));
    return value;
}

/* ---- memory ---- */

struct lc_array_memory;

/** One reference, the caller's; NULL when memory is short. */
struct lc_array_memory *lc_array_memory_new(void);
/** @thread any */
void lc_array_memory_unref(struct lc_array_memory *memory);
LC_DEFINE_CLEANUP(struct lc_array_memory *, lc_array_memory_unref)
#define LC_ARRAY_MEMORY LC_CLEANUP(lc_array_memory_unrefp)
/** `n * size` bytes that live as long as the arrays do; `zero` clears them. NULL when memory is short. */
void *lc_array_memory_take(struct lc_array_memory *memory, int64_t n, int64_t size, bool zero);

/**
 * Starts an array of `length` rows that holds a reference: its buffers are NULL and its children released until they
 * are set. False when memory is short.
 */
bool lc_array_init(struct ArrowArray *out, struct lc_array_memory *memory, const struct lc_field *type, int64_t length);

/** lc_array_nulls() in given memory; *zeros is the cleared block that such arrays of one length and type can share. */
lcdc_status lc_array_nulls_in(struct lc_array_memory *memory, const struct lc_field *type, int64_t n,
                              const void **zeros, struct ArrowArray *out, lcdc_error **err);

#endif
