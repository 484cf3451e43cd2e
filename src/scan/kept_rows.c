/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/kept_rows.h"

#include <stdatomic.h>

struct lc_kept_batch {
    int64_t n;
    struct ArrowArray images;
    uint32_t *numbers;
    struct lc_hash *hashes;
    int64_t *ids; /* NULL none */
};

void lc_kept_budget_init(struct lc_kept_budget *budget, int64_t bytes)
{
    atomic_init(&budget->left, bytes);
}

static void batch_done(struct lc_kept_batch *batch)
{
    lc_array_release(&batch->images);
    lc_free(batch->numbers);
    lc_free(batch->hashes);
    lc_free(batch->ids);
}

void lc_kept_rows_done(struct lc_kept_rows *kept)
{
    for (size_t i = 0; i < kept->n; i++)
        batch_done(&kept->batches[i]);
    lc_free(lc_steal(kept->batches));
    kept->n = kept->cap = 0;
}

static lcdc_status push(struct lc_kept_rows *kept, struct lc_kept_batch *take_batch, lcdc_error **err)
{
    if (kept->n == kept->cap) {
        size_t cap = kept->cap ? kept->cap * 2 : 8;
        struct lc_kept_batch *batches = lc_realloc(kept->batches, cap, sizeof(*batches));
        LC_TRY_ALLOC(batches);
        kept->batches = batches;
        kept->cap = cap;
    }
    kept->batches[kept->n++] = *take_batch;
    *take_batch = (struct lc_kept_batch){0};
    return LCDC_OK;
}

/* The images that leave, from all columns of the table. */
static lcdc_status project(const struct lc_field *schema, const struct lc_field *columns, struct ArrowArray *take_rows,
                           struct ArrowArray *out, lcdc_error **err)
{
    LC_FREE size_t *at = lc_calloc(columns->n_children, sizeof(*at));
    bool same = schema->n_children == columns->n_children;
    LC_TRY_ALLOC(at);
    for (size_t i = 0; i < columns->n_children; i++) {
        while (at[i] < schema->n_children && schema->children[at[i]].physical != columns->children[i].physical)
            at[i]++;
        if (at[i] == schema->n_children)
            return lc_fail(err, LC_R_INTERNAL, "column %s is not one of the table's", columns->children[i].name);
        same = same && at[i] == i;
    }
    if (!same)
        return lc_array_project(take_rows, columns->n_children, at, out, err);
    lc_array_move(take_rows, out);
    return LCDC_OK;
}

static size_t count(const uint8_t *which, int64_t n)
{
    size_t found = 0;
    for (int64_t i = 0; i < n; i++)
        found += which[i];
    return found;
}

/* Which rows are kept: their places, numbers and hashes. */
static lcdc_status choose(struct lc_kept_batch *batch, int64_t n, const uint8_t *which, uint32_t first,
                          const struct lc_hash *hashes, const int64_t *ids, int64_t *places, lcdc_error **err)
{
    size_t kept = which ? count(which, n) : (size_t)n;
    batch->numbers = lc_alloc(kept * sizeof(*batch->numbers));
    batch->hashes = lc_alloc(kept * sizeof(*batch->hashes));
    batch->ids = ids ? lc_alloc(kept * sizeof(*batch->ids)) : NULL;
    LC_TRY_ALLOC(batch->numbers && batch->hashes && (batch->ids || !ids));
    for (int64_t i = 0; i < n; i++) {
        if (which && !which[i])
            continue;
        places[batch->n] = i;
        batch->numbers[batch->n] = first + (uint32_t)i;
        batch->hashes[batch->n] = hashes[i];
        if (ids)
            batch->ids[batch->n] = ids[i];
        batch->n++;
    }
    return LCDC_OK;
}

static int64_t bytes_of(const struct lc_kept_batch *batch, const struct lc_field *columns)
{
    return lc_array_bytes(&batch->images, columns) +
           batch->n * (int64_t)(sizeof(uint32_t) + sizeof(struct lc_hash) + sizeof(int64_t));
}

lcdc_status lc_kept_rows_add(struct lc_kept_rows *kept, struct lc_kept_budget *budget, const struct lc_field *schema,
                             const struct lc_field *columns, struct ArrowArray *rows, const uint8_t *which,
                             uint32_t first, const struct lc_hash *hashes, const int64_t *ids, lcdc_error **err)
{
    int64_t n = rows->length;
    kept->is_spent = kept->is_spent || budget->left < 0;
    if (kept->is_spent) {
        lc_kept_rows_done(kept);
        return LCDC_OK;
    }
    LC_CLEANUP(batch_done) struct lc_kept_batch batch = {0};
    LC_ARRAY struct ArrowArray images = {0};
    LC_FREE int64_t *places = lc_alloc((size_t)n * sizeof(*places));
    LC_TRY_ALLOC(places);
    LC_TRY(choose(&batch, n, which, first, hashes, ids, places, err));
    LC_TRY(project(schema, columns, rows, &images, err));
    /* columns that are left out may share one block with those that are kept: those are copied then */
    if (batch.n == n && columns->n_children == schema->n_children && !lc_array_has_dictionaries(&images)) {
        lc_array_move(&images, &batch.images);
    } else {
        const struct ArrowArray *from = &images;
        LC_TRY(lc_array_gather(columns, 1, &from, NULL, places, batch.n, &batch.images, err));
    }
    atomic_fetch_sub(&budget->left, bytes_of(&batch, columns));
    return push(kept, &batch, err);
}

static bool is_left(const uint64_t *left, uint32_t number)
{
    return left[number >> 6] >> (number & 63) & 1;
}

uint64_t lc_kept_rows_left(const struct lc_kept_rows *kept, const uint64_t *left)
{
    uint64_t n = 0;
    for (size_t b = 0; b < kept->n; b++)
        for (int64_t i = 0; i < kept->batches[b].n; i++)
            n += is_left(left, kept->batches[b].numbers[i]);
    return n;
}

static int64_t mask_left(const struct lc_kept_batch *batch, const uint64_t *left, uint8_t *mask)
{
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n; i++) {
        mask[i] = is_left(left, batch->numbers[i]);
        n += mask[i];
    }
    return n;
}

static int64_t mask_passing(int64_t n, const uint8_t *passes, uint8_t *mask)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        mask[i] &= passes[i];
        kept += mask[i];
    }
    return kept;
}

lcdc_status lc_kept_rows_take(struct lc_kept_rows *kept, size_t i, const struct lc_shape *shape, const uint64_t *left,
                              struct lc_hash *sum, struct lc_change_batch *out, lcdc_error **err)
{
    struct lc_kept_batch *batch = &kept->batches[i];
    LC_FREE uint8_t *mask = lc_alloc((size_t)batch->n * 2);
    LC_TRY_ALLOC(mask);
    int64_t n = mask_left(batch, left, mask);
    lc_hash_sum(sum, (size_t)batch->n, batch->hashes, mask);
    if (n && shape->filter) {
        LC_TRY(lc_filter_eval(shape->filter, &batch->images, mask + batch->n, err));
        n = mask_passing(batch->n, mask + batch->n, mask);
    }
    if (n) {
        LC_TRY(lc_array_filter(shape->columns, &batch->images, mask, &out->images, err));
        for (int64_t k = 0, at = 0; batch->ids && k < batch->n; k++)
            if (mask[k])
                batch->ids[at++] = batch->ids[k];
        out->row_ids = lc_steal(batch->ids);
    }
    out->n = n;
    batch_done(batch);
    *batch = (struct lc_kept_batch){0};
    return LCDC_OK;
}
