/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column at a time: each row carries two 64-bit accumulators, and every value is mixed into both. The steps are
 * bijective in the state, so two rows can only collide through both accumulators at once.
 */
#include "base/row_hash.h"

#include "base/arrow_parts.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#define XXH_INLINE_ALL /* most values are short: the call would cost as much as the hash */
#include <xxhash.h>

#define K1 0x9E3779B97F4A7C15u
#define K2 0xC2B2AE3D27D4EB4Fu
#define K3 0xD6E8FEB86659FD93u
#define NULL_MARK 0xA0761D6478BD642Fu

static struct lc_hash process_seed(void)
{
    static _Atomic uint64_t seed[2];
    static _Atomic int ready;
    if (!ready) {
        uint64_t drawn[2];
        if (getrandom(drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn)) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            drawn[0] = (uint64_t)now.tv_nsec * K1;
            drawn[1] = (uint64_t)now.tv_sec * K2 ^ (uint64_t)(uintptr_t)&now;
        }
        uint64_t none = 0;
        /* two threads may draw at once; whoever stores first wins, word by word */
        (void)__atomic_compare_exchange_n((uint64_t *)&seed[0], &none, drawn[0] | 1, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
        none = 0;
        (void)__atomic_compare_exchange_n((uint64_t *)&seed[1], &none, drawn[1] | 1, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
        ready = 1;
    }
    return (struct lc_hash){seed[0], seed[1]};
}

static inline void mix(struct lc_hash *h, uint64_t x, uint64_t y)
{
    uint64_t a = (h->a ^ x) * K1;
    uint64_t b = ((h->b << 29 | h->b >> 35) + y) * K2;
    a ^= a >> 32;
    h->a = a;
    h->b = b ^ a;
}

/* The last value mixed in shows in some bits only. A sum must not see which, or the like of them cancel. */
static inline struct lc_hash stirred(struct lc_hash h)
{
    XXH128_hash_t v = XXH3_128bits(&h, sizeof(h));
    return (struct lc_hash){v.low64, v.high64};
}

/* Two steps where a value takes one: no value can be chosen that looks like null without knowing the seed. */
static inline void mix_null(struct lc_hash *h)
{
    mix(h, NULL_MARK, NULL_MARK);
    mix(h, NULL_MARK, NULL_MARK);
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    if (value != value)
        return 0x7FF8000000000000u;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static lcdc_status hash_column(const struct lc_field *field, const struct ArrowArray *array, int64_t first, int64_t n,
                               struct lc_hash *h, lcdc_error **err);

/* Asked for each value: what is the same for all of them is looked up once. */
struct nulls {
    const uint8_t *validity; /* NULL: none */
    int64_t first;
};

static struct nulls nulls_of(const struct ArrowArray *array, int64_t first)
{
    bool has_nulls = array->null_count != 0 && array->n_buffers > 0;
    return (struct nulls){has_nulls ? array->buffers[0] : NULL, array->offset + first};
}

static inline bool is_null(struct nulls nulls, int64_t i)
{
    return nulls.validity && !lc_bit(nulls.validity, nulls.first + i);
}

#define EACH_VALUE(ctype, expression)                                                                                  \
    do {                                                                                                               \
        const ctype *values = (const ctype *)array->buffers[1] + array->offset + first;                                \
        const struct nulls nulls = nulls_of(array, first);                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            if (is_null(nulls, i)) {                                                                                   \
                mix_null(&h[i]);                                                                                       \
                continue;                                                                                              \
            }                                                                                                          \
            ctype v = values[i];                                                                                       \
            uint64_t x = (expression);                                                                                 \
            mix(&h[i], x, x);                                                                                          \
        }                                                                                                              \
    } while (0)

static void hash_texts(const struct ArrowArray *array, int64_t first, int64_t n, struct lc_hash *h)
{
    const uint64_t seed = process_seed().a; /* bytes that collide under a known seed can be found */
    const struct nulls nulls = nulls_of(array, first);
    const char *bytes = array->buffers[2] ? array->buffers[2] : "";
    for (int64_t i = 0; i < n; i++) {
        if (is_null(nulls, i)) {
            mix_null(&h[i]);
            continue;
        }
        int64_t at = array->offset + first + i;
        int32_t begin = lc_load_i32(array->buffers[1], at), end = lc_load_i32(array->buffers[1], at + 1);
        XXH128_hash_t v = XXH3_128bits_withSeed(bytes + begin, (size_t)(end - begin), seed);
        mix(&h[i], v.low64, v.high64);
    }
}

/* Each text of the dictionary once. */
static lcdc_status hash_coded_texts(const struct ArrowArray *array, int64_t first, int64_t n, struct lc_hash *h,
                                    lcdc_error **err)
{
    const struct ArrowArray *texts = array->dictionary;
    const uint64_t seed = process_seed().a;
    const struct nulls nulls = nulls_of(array, first);
    const int32_t *codes = (const int32_t *)array->buffers[1] + array->offset + first;
    LC_FREE struct lc_hash *hashes = lc_alloc((size_t)texts->length * sizeof(*hashes));
    LC_TRY_ALLOC(hashes);
    for (int64_t i = 0; i < texts->length; i++) {
        struct lc_str text = lc_array_str(texts, LC_TYPE_STRING, 0, i);
        XXH128_hash_t v = XXH3_128bits_withSeed(text.n ? text.p : "", text.n, seed);
        hashes[i] = (struct lc_hash){v.low64, v.high64};
    }
    for (int64_t i = 0; i < n; i++)
        if (is_null(nulls, i))
            mix_null(&h[i]);
        else
            mix(&h[i], hashes[codes[i]].a, hashes[codes[i]].b);
    return LCDC_OK;
}

static void hash_fixed(const struct lc_field *field, const struct ArrowArray *array, int64_t first, int64_t n,
                       struct lc_hash *h)
{
    const uint64_t seed = process_seed().a;
    for (int64_t i = 0; i < n; i++) {
        if (lc_array_is_null(array, first + i)) {
            mix_null(&h[i]);
            continue;
        }
        struct lc_str s = lc_array_str(array, field->type.kind, field->type.length, first + i);
        XXH128_hash_t v = XXH3_128bits_withSeed(s.p, s.n, seed);
        mix(&h[i], v.low64, v.high64);
    }
}

static void hash_decimals(const struct ArrowArray *array, int64_t first, int64_t n, struct lc_hash *h)
{
    const uint64_t *values = (const uint64_t *)array->buffers[1] + 2 * (array->offset + first);
    for (int64_t i = 0; i < n; i++)
        if (lc_array_is_null(array, first + i))
            mix_null(&h[i]);
        else
            mix(&h[i], values[2 * i], values[2 * i + 1] ^ values[2 * i] * K2);
}

/* Lists fold their elements in order; maps add their entries up, so that order does not count. */
static lcdc_status hash_list(const struct lc_field *field, const struct ArrowArray *array, int64_t first, int64_t n,
                             struct lc_hash *h, lcdc_error **err)
{
    const int32_t *offsets = (const int32_t *)array->buffers[1] + array->offset + first;
    bool is_map = field->type.kind == LC_TYPE_MAP;
    int64_t begin = n ? offsets[0] : 0, count = n ? offsets[n] - begin : 0;
    LC_FREE struct lc_hash *items = lc_alloc((size_t)count * sizeof(*items));
    LC_TRY_ALLOC(items);
    for (int64_t k = 0; k < count; k++)
        items[k] = process_seed();
    if (is_map) {
        const struct ArrowArray *entries = array->children[0];
        for (int c = 0; c < 2; c++)
            LC_TRY(hash_column(&field->children[c], entries->children[c], entries->offset + begin, count, items, err));
    } else {
        LC_TRY(hash_column(&field->children[0], array->children[0], begin, count, items, err));
    }
    for (int64_t i = 0; i < n; i++) {
        if (lc_array_is_null(array, first + i)) {
            mix_null(&h[i]);
            continue;
        }
        struct lc_hash sum = {0, 0};
        mix(&h[i], (uint64_t)(offsets[i + 1] - offsets[i]), K3);
        for (int64_t k = offsets[i] - begin; k < offsets[i + 1] - begin; k++)
            if (is_map)
                lc_hash_join(&sum, stirred(items[k]));
            else
                mix(&h[i], items[k].a, items[k].b);
        if (is_map)
            mix(&h[i], sum.a, sum.b);
    }
    return LCDC_OK;
}

static lcdc_status hash_column(const struct lc_field *field, const struct ArrowArray *array, int64_t first, int64_t n,
                               struct lc_hash *h, lcdc_error **err)
{
    if (n == 0)
        return LCDC_OK;
    switch (field->type.kind) {
    case LC_TYPE_NULL:
        for (int64_t i = 0; i < n; i++)
            mix_null(&h[i]);
        return LCDC_OK;
    case LC_TYPE_BOOL:
        for (int64_t i = 0; i < n; i++) {
            if (lc_array_is_null(array, first + i)) {
                mix_null(&h[i]);
                continue;
            }
            uint64_t x = lc_bit(array->buffers[1], array->offset + first + i);
            mix(&h[i], x, x);
        }
        return LCDC_OK;
    case LC_TYPE_INT8:
        EACH_VALUE(int8_t, (uint64_t)v);
        return LCDC_OK;
    case LC_TYPE_INT16:
        EACH_VALUE(int16_t, (uint64_t)v);
        return LCDC_OK;
    case LC_TYPE_INT32:
    case LC_TYPE_DATE:
        EACH_VALUE(int32_t, (uint64_t)v);
        return LCDC_OK;
    case LC_TYPE_INT64:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        EACH_VALUE(int64_t, (uint64_t)v);
        return LCDC_OK;
    case LC_TYPE_FLOAT:
        EACH_VALUE(float, double_bits((double)v));
        return LCDC_OK;
    case LC_TYPE_DOUBLE:
        EACH_VALUE(double, double_bits(v));
        return LCDC_OK;
    case LC_TYPE_DECIMAL:
        hash_decimals(array, first, n, h);
        return LCDC_OK;
    case LC_TYPE_STRING:
    case LC_TYPE_BINARY:
        if (array->dictionary)
            return hash_coded_texts(array, first, n, h, err);
        hash_texts(array, first, n, h);
        return LCDC_OK;
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        hash_fixed(field, array, first, n, h);
        return LCDC_OK;
    case LC_TYPE_STRUCT:
        /* a null struct and a struct of nulls differ by the flag; children of a null struct are hashed as they stand,
           so their bytes must not count: they are masked by hashing from a copy of the state */
        for (int64_t i = 0; i < n; i++)
            mix(&h[i], lc_array_is_null(array, first + i) ? NULL_MARK : K3, K1);
        if (array->null_count != 0) {
            LC_FREE struct lc_hash *saved = lc_alloc((size_t)n * sizeof(*saved));
            LC_TRY_ALLOC(saved);
            memcpy(saved, h, (size_t)n * sizeof(*saved));
            for (size_t c = 0; c < field->n_children; c++)
                LC_TRY(hash_column(&field->children[c], array->children[c], array->offset + first, n, h, err));
            for (int64_t i = 0; i < n; i++)
                if (lc_array_is_null(array, first + i))
                    h[i] = saved[i];
            return LCDC_OK;
        }
        for (size_t c = 0; c < field->n_children; c++)
            LC_TRY(hash_column(&field->children[c], array->children[c], array->offset + first, n, h, err));
        return LCDC_OK;
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
        return hash_list(field, array, first, n, h, err);
    case LC_TYPE_COUNT:
        break;
    }
    return lc_fail(err, LC_R_INTERNAL, "row hash: type %d", (int)field->type.kind);
}

void lc_hash_sum(struct lc_hash *sum, size_t n, const struct lc_hash *hashes, const uint8_t *which)
{
    for (size_t i = 0; i < n; i++)
        if (!which || which[i])
            lc_hash_join(sum, stirred(hashes[i]));
}

lcdc_status lc_row_hash_more(const struct lc_field *schema, const struct ArrowArray *rows, size_t n_columns,
                             const size_t *columns, struct lc_hash *hashes, lcdc_error **err)
{
    if (!columns)
        n_columns = schema->n_children;
    for (size_t k = 0; k < n_columns; k++) {
        size_t c = columns ? columns[k] : k;
        LC_TRY(hash_column(&schema->children[c], rows->children[c], rows->offset, rows->length, hashes, err));
    }
    return LCDC_OK;
}

lcdc_status lc_row_hash(const struct lc_field *schema, const struct ArrowArray *rows, size_t n_columns,
                        const size_t *columns, struct lc_hash *out, lcdc_error **err)
{
    struct lc_hash seed = process_seed();
    for (int64_t i = 0; i < rows->length; i++)
        out[i] = seed;
    return lc_row_hash_more(schema, rows, n_columns, columns, out, err);
}
