/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_gather.c - rows picked out of arrays, column after column.
 *
 * A pick says which rows in one of two ways: an index for each row, or runs of neighbours. Runs are what a contiguous
 * range, a dense filter and the elements of a list come to, and they are copied with memcpy; scattered rows go by
 * index. Inputs are trusted: what comes from outside has passed lc_array_check().
 */
#include "base/arrow_parts.h"

#include <string.h>

enum { ROWS_PER_RUN = 4 /* from here on runs are cheaper than an index */ };

struct run {
    int64_t start, n; /* start -1: null rows */
    uint32_t source;
};

struct pick {
    int64_t n;
    const int64_t *rows; /* -1: a null row; NULL when runs say it */
    const uint32_t *sources;
    const struct run *runs;
    int64_t n_runs;
    bool has_gaps; /* some row is a null row */
};

/* One of the arrays that a node is gathered from. */
struct side {
    const struct ArrowArray *array;
    int64_t at;        /* where its row 0 lies in its buffers: its own offset and those of structs above it */
    const char *bytes; /* the buffer that is being gathered, at row 0 (bits: at bit 0) */
    const char *data;  /* text and bytes: what the offsets point into */
};

struct gather {
    struct lc_array_memory *memory;
    size_t n_from;
};

/* An array without the buffer has no row that would read it. */
static void use_buffer(const struct gather *gather, struct side *sides, int buffer, int64_t width)
{
    for (size_t i = 0; i < gather->n_from; i++) {
        const char *bytes = sides[i].array->buffers[buffer];
        sides[i].bytes = bytes ? bytes + sides[i].at * width : "";
    }
}

/* ---- bits ---- */

static void set_bits(uint8_t *bits, int64_t at, int64_t n)
{
    for (; n > 0 && (at & 7); at++, n--)
        bits[at >> 3] = (uint8_t)(bits[at >> 3] | 1 << (at & 7));
    memset(bits + (at >> 3), 0xFF, (size_t)(n >> 3));
    if (n & 7)
        bits[(at + n) >> 3] = (uint8_t)((1 << (n & 7)) - 1);
}

/* Into bits that are zero. Eight at a time once the target stands at a byte. */
static void copy_bits(uint8_t *bits, int64_t at, const uint8_t *from, int64_t from_at, int64_t n)
{
    for (; n > 0 && (at & 7); at++, from_at++, n--)
        bits[at >> 3] = (uint8_t)(bits[at >> 3] | lc_bit(from, from_at) << (at & 7));
    int shift = (int)(from_at & 7);
    for (; n >= 8; at += 8, from_at += 8, n -= 8) {
        const uint8_t *p = from + (from_at >> 3);
        bits[at >> 3] = (uint8_t)(shift ? p[0] >> shift | p[1] << (8 - shift) : p[0]);
    }
    for (; n > 0; at++, from_at++, n--)
        bits[at >> 3] = (uint8_t)(bits[at >> 3] | lc_bit(from, from_at) << (at & 7));
}

static void gather_bit_runs(const struct side *sides, const struct pick *pick, uint8_t *bits)
{
    int64_t at = 0;
    for (int64_t k = 0; k < pick->n_runs; k++) {
        const struct run *run = &pick->runs[k];
        const struct side *side = &sides[run->source];
        if (run->start >= 0 && side->bytes)
            copy_bits(bits, at, (const uint8_t *)side->bytes, side->at + run->start, run->n);
        else if (run->start >= 0)
            set_bits(bits, at, run->n);
        at += run->n;
    }
}

/* The bits of the buffer in use; a side with none (validity) has ones throughout, a null row has zero. */
static void gather_bits(const struct side *sides, const struct pick *pick, uint8_t *bits)
{
    if (!pick->rows) {
        gather_bit_runs(sides, pick, bits);
        return;
    }
    unsigned byte = 0;
    for (int64_t k = 0; k < pick->n; k++) {
        int64_t row = pick->rows[k];
        if (row >= 0) { /* a null row need not name a source */
            const struct side *side = &sides[pick->sources ? pick->sources[k] : 0];
            bool bit = !side->bytes || lc_bit((const uint8_t *)side->bytes, side->at + row);
            byte |= (unsigned)bit << (k & 7);
        }
        if ((k & 7) == 7 || k + 1 == pick->n) {
            bits[k >> 3] = (uint8_t)byte;
            byte = 0;
        }
    }
}

static int64_t count_bits(const uint8_t *bits, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < (n + 7) / 8; i++)
        count += __builtin_popcount(bits[i]);
    return count;
}

static bool gather_validity(const struct gather *gather, struct side *sides, const struct pick *pick,
                            struct ArrowArray *out)
{
    bool has_nulls = pick->has_gaps;
    for (size_t i = 0; i < gather->n_from; i++) {
        sides[i].bytes = sides[i].array->null_count ? sides[i].array->buffers[0] : NULL;
        has_nulls |= sides[i].bytes != NULL;
    }
    if (!has_nulls)
        return true;
    uint8_t *bits = lc_array_memory_take(gather->memory, pick->n / 8 + 1, 1, true);
    if (!bits)
        return false;
    gather_bits(sides, pick, bits);
    out->null_count = pick->n - count_bits(bits, pick->n);
    out->buffers[0] = out->null_count ? bits : NULL;
    return true;
}

static bool gather_bools(const struct gather *gather, struct side *sides, const struct pick *pick,
                         struct ArrowArray *out)
{
    uint8_t *bits = lc_array_memory_take(gather->memory, pick->n / 8 + 1, 1, true);
    if (!bits)
        return false;
    use_buffer(gather, sides, 1, 0);
    gather_bits(sides, pick, bits);
    out->buffers[1] = bits;
    return true;
}

/* ---- fixed width ---- */

/* Inlined with a constant width, the copy is one load and one store. */
static inline __attribute__((always_inline)) void copy_rows(const struct side *sides, const struct pick *pick, char *to,
                                                            size_t width)
{
    for (int64_t k = 0; k < pick->n; k++, to += width) {
        int64_t row = pick->rows[k];
        if (row < 0)
            memset(to, 0, width);
        else
            memcpy(to, sides[pick->sources ? pick->sources[k] : 0].bytes + row * (int64_t)width, width);
    }
}

static void copy_runs(const struct side *sides, const struct pick *pick, char *to, size_t width)
{
    for (int64_t k = 0; k < pick->n_runs; k++) {
        const struct run *run = &pick->runs[k];
        size_t n = (size_t)run->n * width;
        if (run->start < 0)
            memset(to, 0, n);
        else
            memcpy(to, sides[run->source].bytes + run->start * (int64_t)width, n);
        to += n;
    }
}

static bool gather_fixed(const struct gather *gather, struct side *sides, const struct pick *pick, int width,
                         struct ArrowArray *out)
{
    char *to = lc_array_memory_take(gather->memory, pick->n, width, false);
    if (!to)
        return false;
    out->buffers[1] = to;
    use_buffer(gather, sides, 1, width);
    if (!pick->rows)
        copy_runs(sides, pick, to, (size_t)width);
    else if (width == 1)
        copy_rows(sides, pick, to, 1);
    else if (width == 2)
        copy_rows(sides, pick, to, 2);
    else if (width == 4)
        copy_rows(sides, pick, to, 4);
    else if (width == 8)
        copy_rows(sides, pick, to, 8);
    else if (width == 16)
        copy_rows(sides, pick, to, 16);
    else
        copy_rows(sides, pick, to, (size_t)width);
    return true;
}

/* ---- offsets ---- */

static int64_t offsets_by_row(const struct side *sides, const struct pick *pick, int32_t *offsets)
{
    int64_t total = 0;
    for (int64_t k = 0; k < pick->n && total <= INT32_MAX; k++) {
        int64_t row = pick->rows[k];
        offsets[k] = (int32_t)total;
        if (row < 0)
            continue;
        const char *from = sides[pick->sources ? pick->sources[k] : 0].bytes;
        total += lc_load_i32(from, row + 1) - lc_load_i32(from, row);
    }
    return total;
}

static int64_t offsets_by_run(const struct side *sides, const struct pick *pick, int32_t *offsets)
{
    int64_t total = 0;
    for (int64_t k = 0; k < pick->n_runs; k++) {
        const struct run *run = &pick->runs[k];
        const char *from = sides[run->source].bytes;
        int64_t begin = run->start < 0 ? 0 : lc_load_i32(from, run->start);
        int64_t next = total + (run->start < 0 ? 0 : lc_load_i32(from, run->start + run->n) - begin);
        if (next > INT32_MAX)
            return next;
        for (int64_t i = 0; i < run->n; i++)
            *offsets++ = (int32_t)(run->start < 0 ? total : total + lc_load_i32(from, run->start + i) - begin);
        total = next;
    }
    return total;
}

static lcdc_status fail_large(const struct lc_field *field, lcdc_error **err)
{
    return lc_fail(err, LC_R_LIMIT,
                   "column \"%.200s\" has more than %d bytes or elements in one batch; lower max_rows_per_batch",
                   field->name, INT32_MAX);
}

static lcdc_status gather_offsets(const struct gather *gather, struct side *sides, const struct pick *pick,
                                  const struct lc_field *field, struct ArrowArray *out, int64_t *total,
                                  lcdc_error **err)
{
    int32_t *offsets = lc_array_memory_take(gather->memory, pick->n + 1, sizeof(*offsets), false);
    LC_TRY_ALLOC(offsets);
    use_buffer(gather, sides, 1, sizeof(*offsets));
    *total = pick->rows ? offsets_by_row(sides, pick, offsets) : offsets_by_run(sides, pick, offsets);
    if (*total > INT32_MAX)
        return fail_large(field, err);
    offsets[pick->n] = (int32_t)*total;
    out->buffers[1] = offsets;
    return LCDC_OK;
}

/* What the offsets of run `run`, or of row `k`, span in the source. */
struct span {
    int64_t begin, n;
    uint32_t source;
};

static inline struct span span_of(const struct side *sides, const struct pick *pick, int64_t k)
{
    uint32_t source = pick->rows ? (pick->sources ? pick->sources[k] : 0) : pick->runs[k].source;
    int64_t start = pick->rows ? pick->rows[k] : pick->runs[k].start;
    if (start < 0)
        return (struct span){0, 0, 0};
    int64_t end = start + (pick->rows ? 1 : pick->runs[k].n);
    int64_t begin = lc_load_i32(sides[source].bytes, start);
    return (struct span){begin, lc_load_i32(sides[source].bytes, end) - begin, source};
}

static lcdc_status gather_text(const struct gather *gather, struct side *sides, const struct pick *pick,
                               const struct lc_field *field, struct ArrowArray *out, lcdc_error **err)
{
    int64_t total, n = pick->rows ? pick->n : pick->n_runs;
    LC_TRY(gather_offsets(gather, sides, pick, field, out, &total, err));
    char *to = lc_array_memory_take(gather->memory, total, 1, false);
    LC_TRY_ALLOC(to);
    out->buffers[2] = to;
    for (size_t i = 0; i < gather->n_from; i++)
        sides[i].data = sides[i].array->buffers[2];
    for (int64_t k = 0; k < n; k++) {
        struct span span = span_of(sides, pick, k);
        if (span.n == 0)
            continue;
        memcpy(to, sides[span.source].data + span.begin, (size_t)span.n);
        to += span.n;
    }
    return LCDC_OK;
}

/* Text of row `row`, where a side may have it in a dictionary. */
static struct lc_str text_at(const struct side *side, int64_t row)
{
    const struct ArrowArray *array = side->array, *entries = array->dictionary;
    if (row < 0 || (array->null_count && array->buffers[0] && !lc_bit(array->buffers[0], side->at + row)))
        return (struct lc_str){"", 0};
    int64_t at = entries ? entries->offset + lc_load_i32(array->buffers[1], side->at + row) : side->at + row;
    const struct ArrowArray *texts = entries ? entries : array;
    int32_t begin = lc_load_i32(texts->buffers[1], at), end = lc_load_i32(texts->buffers[1], at + 1);
    return (struct lc_str){(const char *)texts->buffers[2] + begin, (size_t)(end - begin)};
}

/* Row `k` of the pick, counted from the start of run `run`. */
struct walk {
    int64_t run, k;
};

static struct lc_str next_text(const struct side *sides, const struct pick *pick, struct walk *at)
{
    if (pick->rows) {
        int64_t k = at->k++;
        return text_at(&sides[pick->sources && pick->rows[k] >= 0 ? pick->sources[k] : 0], pick->rows[k]);
    }
    while (at->k == pick->runs[at->run].n) {
        at->run++;
        at->k = 0;
    }
    const struct run *run = &pick->runs[at->run];
    return text_at(&sides[run->source], run->start < 0 ? -1 : run->start + at->k++);
}

/* Two readings: how long, then what. */
static lcdc_status gather_coded(const struct gather *gather, const struct side *sides, const struct pick *pick,
                                const struct lc_field *field, struct ArrowArray *out, lcdc_error **err)
{
    int32_t *offsets = lc_array_memory_take(gather->memory, pick->n + 1, sizeof(*offsets), true);
    LC_TRY_ALLOC(offsets);
    struct walk at = {0, 0};
    int64_t total = 0;
    for (int64_t k = 0; k < pick->n; k++) {
        total += (int64_t)next_text(sides, pick, &at).n;
        if (total > INT32_MAX)
            return fail_large(field, err);
        offsets[k + 1] = (int32_t)total;
    }
    char *to = lc_array_memory_take(gather->memory, total, 1, false);
    LC_TRY_ALLOC(to);
    out->buffers[1] = offsets;
    out->buffers[2] = to;
    at = (struct walk){0, 0};
    for (int64_t k = 0; k < pick->n; k++) {
        struct lc_str text = next_text(sides, pick, &at);
        if (text.n)
            memcpy(to + offsets[k], text.p, text.n);
    }
    return LCDC_OK;
}

static bool any_coded(const struct gather *gather, const struct side *sides)
{
    bool any = false;
    for (size_t i = 0; i < gather->n_from; i++)
        any = any || sides[i].array->dictionary;
    return any;
}

/* ---- nesting ---- */

static lcdc_status gather_node(const struct gather *gather, const struct lc_field *field, struct side *sides,
                               const struct pick *pick, struct ArrowArray *out, lcdc_error **err);

/* Children of a struct are its rows, `inherits` its offset; those of a list stand for themselves. */
static lcdc_status gather_children(const struct gather *gather, const struct lc_field *field, const struct side *sides,
                                   bool inherits, const struct pick *pick, struct ArrowArray *out, lcdc_error **err)
{
    struct lc_field entries;
    LC_FREE struct side *below = lc_calloc(gather->n_from, sizeof(*below));
    LC_TRY_ALLOC(below);
    for (int64_t i = 0; i < out->n_children; i++) {
        for (size_t j = 0; j < gather->n_from; j++) {
            const struct ArrowArray *child = sides[j].array->children[i];
            below[j] = (struct side){.array = child, .at = child->offset + (inherits ? sides[j].at : 0)};
        }
        LC_TRY(gather_node(gather, lc_arrow_child(field, (size_t)i, &entries), below, pick, out->children[i], err));
    }
    return LCDC_OK;
}

static lcdc_status gather_list(const struct gather *gather, struct side *sides, const struct pick *pick,
                               const struct lc_field *field, struct ArrowArray *out, lcdc_error **err)
{
    int64_t n = pick->rows ? pick->n : pick->n_runs;
    struct pick elements = {0};
    LC_TRY(gather_offsets(gather, sides, pick, field, out, &elements.n, err));
    LC_FREE struct run *runs = lc_calloc((size_t)n, sizeof(*runs));
    LC_TRY_ALLOC(runs);
    struct run *last = NULL;
    for (int64_t k = 0; k < n; k++) {
        struct span span = span_of(sides, pick, k);
        if (span.n == 0)
            continue;
        if (last && last->source == span.source && last->start + last->n == span.begin) {
            last->n += span.n;
            continue;
        }
        last = last ? last + 1 : runs;
        *last = (struct run){span.begin, span.n, span.source};
    }
    elements.runs = runs;
    elements.n_runs = last ? last - runs + 1 : 0;
    return gather_children(gather, field, sides, false, &elements, out, err);
}

static lcdc_status gather_node(const struct gather *gather, const struct lc_field *field, struct side *sides,
                               const struct pick *pick, struct ArrowArray *out, lcdc_error **err)
{
    enum lc_type_kind kind = field->type.kind;
    bool ok = true;
    if (!lc_array_init(out, gather->memory, field, pick->n))
        return lc_fail_oom(err);
    if (kind == LC_TYPE_NULL) {
        out->null_count = pick->n;
        return LCDC_OK;
    }
    if (!gather_validity(gather, sides, pick, out))
        return lc_fail_oom(err);
    if (kind == LC_TYPE_STRUCT)
        return gather_children(gather, field, sides, true, pick, out, err);
    if (kind == LC_TYPE_LIST || kind == LC_TYPE_MAP)
        return gather_list(gather, sides, pick, field, out, err);
    if (lc_arrow_has_offsets(kind) && any_coded(gather, sides))
        return gather_coded(gather, sides, pick, field, out, err);
    if (lc_arrow_has_offsets(kind))
        return gather_text(gather, sides, pick, field, out, err);
    ok = kind == LC_TYPE_BOOL ? gather_bools(gather, sides, pick, out)
                              : gather_fixed(gather, sides, pick, lc_arrow_width(field->type), out);
    return ok ? LCDC_OK : lc_fail_oom(err);
}

/* ---- which way ---- */

static bool continues(const int64_t *rows, const uint32_t *sources, int64_t k)
{
    if (rows[k] < 0 || rows[k - 1] < 0)
        return rows[k] < 0 && rows[k - 1] < 0;
    return rows[k] == rows[k - 1] + 1 && (!sources || sources[k] == sources[k - 1]);
}

static int64_t count_runs(const int64_t *rows, const uint32_t *sources, int64_t n, bool *has_gaps)
{
    int64_t runs = n > 0;
    *has_gaps = n > 0 && rows[0] < 0;
    for (int64_t k = 1; k < n; k++) {
        runs += !continues(rows, sources, k);
        *has_gaps |= rows[k] < 0;
    }
    return runs;
}

static void fill_runs(const int64_t *rows, const uint32_t *sources, int64_t n, struct run *run)
{
    for (int64_t k = 0; k < n; k++) {
        if (k && continues(rows, sources, k)) {
            run[-1].n++;
            continue;
        }
        *run++ = (struct run){rows[k] < 0 ? -1 : rows[k], 1, sources && rows[k] >= 0 ? sources[k] : 0};
    }
}

lcdc_status lc_array_gather(const struct lc_field *type, size_t n_from, const struct ArrowArray *const *from,
                            const uint32_t *sources, const int64_t *rows, int64_t n, struct ArrowArray *out,
                            lcdc_error **err)
{
    LC_ARRAY struct ArrowArray made = {0};
    LC_FREE struct run *runs = NULL;
    struct pick pick = {.n = n, .rows = rows, .sources = sources};
    pick.n_runs = count_runs(rows, sources, n, &pick.has_gaps);
    if (pick.has_gaps && pick.n_runs == 1)
        return lc_array_nulls(type, n, out, err);
    if (pick.n_runs <= n / ROWS_PER_RUN || n == 0) {
        runs = lc_alloc((size_t)pick.n_runs * sizeof(*runs));
        LC_TRY_ALLOC(runs);
        fill_runs(rows, sources, n, runs);
        pick.runs = runs;
        pick.rows = NULL;
    }
    LC_ARRAY_MEMORY struct lc_array_memory *memory = lc_array_memory_new();
    LC_FREE struct side *sides = lc_calloc(n_from, sizeof(*sides));
    if (!memory || !sides)
        return lc_fail_oom(err);
    for (size_t i = 0; i < n_from; i++)
        sides[i] = (struct side){.array = from[i], .at = from[i]->offset};
    struct gather gather = {memory, n_from};
    LC_TRY(gather_node(&gather, type, sides, &pick, &made, err));
    lc_array_move(&made, out);
    return LCDC_OK;
}

/* ---- filter ---- */

static lcdc_status filter(const struct lc_field *type, const struct ArrowArray *array, const uint8_t *mask,
                          int64_t kept, struct ArrowArray *out, lcdc_error **err)
{
    LC_FREE int64_t *rows = lc_alloc((size_t)(kept + 1) * sizeof(*rows));
    LC_TRY_ALLOC(rows);
    int64_t n = 0;
    for (int64_t i = 0; i < array->length; i++) { /* always stored, kept when the next one goes behind it */
        rows[n] = i;
        n += mask[i] != 0;
    }
    return lc_array_gather(type, 1, &array, NULL, rows, kept, out, err);
}

lcdc_status lc_array_filter(const struct lc_field *type, struct ArrowArray *take_array, const uint8_t *mask,
                            struct ArrowArray *out, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray array;
    int64_t kept = 0;
    lc_array_move(take_array, &array);
    for (int64_t i = 0; i < array.length; i++)
        kept += mask[i] != 0;
    if (kept < array.length)
        return filter(type, &array, mask, kept, out, err);
    lc_array_move(&array, out);
    return LCDC_OK;
}
