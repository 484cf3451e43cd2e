/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/seen.h"

#include <stdlib.h>
#include <string.h>

void lc_seen_done(struct lc_seen *seen)
{
    lc_free(seen->hashes);
    lc_free(seen->taken);
    *seen = (struct lc_seen){0};
}

void lc_seen_clear(struct lc_seen *seen)
{
    seen->n = seen->n_known = 0;
    seen->is_full = false;
}

static int compare(const void *a, const void *b)
{
    const struct lc_hash *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

lcdc_status lc_seen_rewind(struct lc_seen *seen, lcdc_error **err)
{
    uint32_t *taken = lc_calloc(seen->n ? seen->n : 1, sizeof(*taken));
    LC_TRY_ALLOC(taken);
    lc_free(seen->taken);
    seen->taken = taken;
    seen->n_known = seen->n;
    if (seen->n)
        qsort(seen->hashes, seen->n, sizeof(*seen->hashes), compare);
    return LCDC_OK;
}

/* The first known hash that is not below; equal ones stand together. */
static size_t first_at(const struct lc_seen *seen, const struct lc_hash *hash)
{
    size_t low = 0, high = seen->n_known;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&seen->hashes[middle], hash) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static lcdc_status note(struct lc_seen *seen, struct lc_hash hash, lcdc_error **err)
{
    if (seen->is_full || seen->n == LC_SEEN_MAX) {
        seen->is_full = true;
        return LCDC_OK;
    }
    if ((seen->n & (seen->n - 1)) == 0) { /* full at every power of two */
        struct lc_hash *hashes = lc_realloc(seen->hashes, seen->n ? seen->n * 2 : 1, sizeof(*hashes));
        LC_TRY_ALLOC(hashes);
        seen->hashes = hashes;
    }
    seen->hashes[seen->n++] = hash;
    return LCDC_OK;
}

lcdc_status lc_seen_pass(struct lc_seen *seen, struct lc_hash hash, bool *again, lcdc_error **err)
{
    size_t first = first_at(seen, &hash), next = first < seen->n_known ? first + seen->taken[first] : first;
    *again = next < seen->n_known && lc_hash_equal(seen->hashes[next], hash);
    if (*again)
        seen->taken[first]++;
    return *again ? LCDC_OK : note(seen, hash, err);
}
