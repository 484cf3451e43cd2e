/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_sketch.c - equal rows cancel, in one reading of each side and a glance at a few columns before.
 *
 * What tells a changed row from the old one is cheap to read, as a rule: a key, a time, a version. So of the removed
 * side the columns that cost least are read first. An added row whose first columns are not among those is left, which
 * is known while it is in hand, and it is kept; a removed row whose first columns no added row has, likewise. Nothing
 * is written down for the rows that are equal.
 *
 * Rows found that way are left for certain, but they need not be all: a change may be in the other columns alone, and
 * one of several equal rows may be gone. That shows. The hashes of all added rows less those of all removed rows must
 * be those of the added rows that are left less those of the removed rows that are left, in all 128 bits: what remains
 * of one side is then what remains of the other. If they are not, the comparison is content_match.c's.
 */
#include <stdlib.h>

#include "scan/content.h"
#include "scan/hash_filter.h"

enum {
    FIRST_FRACTION = 6,  /* the first columns are a sixth of the bytes at most */
    SMALL_FRACTION = 8,  /* of the memory limit: smaller sides are kept whole when they are compared */
    FILTER_FRACTION = 2, /* of the memory limit: a larger filter leaves the readers too little */
    GUESSED_ROW = 16     /* bytes, where a file's size is not known */
};

struct sketch {
    struct lc_content *content;
    struct lc_hash_filter *filter; /* of the removed rows' first columns; hit by the added rows' */
};

static void sketch_done(struct sketch *self)
{
    lc_hash_filter_free(self->filter);
}

/* ---- which columns come first ---- */

/* About what the rows of a set take in its file: a set may be a few rows of a large one. */
static int64_t bytes_of(const struct lc_side_set *set)
{
    const struct lc_data_file *file = set->from->file;
    if (file->size < 0)
        return set->n_rows * GUESSED_ROW;
    return set->n_rows < file->rows ? (int64_t)((double)file->size * (double)set->n_rows / (double)file->rows)
                                    : file->size;
}

static bool is_worth_it(const struct lc_content *content)
{
    const struct lc_side *removed = &content->sides[LC_HASH_REMOVED], *added = &content->sides[LC_HASH_ADDED];
    int64_t limit = content->spec.shape->memory_limit, bytes = 0;
    if (content->spec.glance_fails && *content->spec.glance_fails)
        return false;
    for (size_t i = 0; i < removed->n; i++)
        bytes += bytes_of(&removed->sets[i]);
    /* rows that ranges leave out may be left out on one side only: their equals would be left, and not be found */
    return removed->n && added->n && !content->spec.n_ranges && bytes > limit / SMALL_FRACTION &&
           lc_hash_filter_bytes(removed->n_rows) <= limit / FILTER_FRACTION;
}

struct cost {
    int64_t bytes;
    size_t column;
};

static int compare_costs(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

lcdc_status lc_content_order(struct lc_content *content, lcdc_error **err)
{
    const struct lc_scan_context *context = content->spec.context;
    const struct lc_field *schema = context->schema;
    if (!is_worth_it(content))
        return LCDC_OK;
    LC_CLEANUP(lc_parquet_closep) struct lc_parquet *file = NULL;
    LC_FREE struct cost *costs = lc_calloc(schema->n_children, sizeof(*costs));
    LC_TRY_ALLOC(costs);
    const struct lc_data_file *sample = content->sides[LC_HASH_REMOVED].sets[0].from->file;
    LC_TRY(lc_check_cancelled(context, err));
    LC_TRY(lc_parquet_open(context->storage, sample->url, sample->size, &file, err));
    int64_t total = 0, first = 0;
    for (size_t i = 0; i < schema->n_children; i++) {
        costs[i] = (struct cost){lc_parquet_bytes(file, &schema->children[i], context->match), i};
        total += costs[i].bytes;
    }
    qsort(costs, schema->n_children, sizeof(*costs), compare_costs);
    for (size_t i = 0; i < schema->n_children; i++) {
        content->order[i] = costs[i].column;
        first += costs[i].bytes;
        if (content->n_first == i && first <= total / FIRST_FRACTION)
            content->n_first++;
    }
    return LCDC_OK;
}

/* ---- what each pass looks for ---- */

static lcdc_status note_removed(const struct lc_pass *pass, struct lc_hashed *rows, size_t *n_missing, lcdc_error **err)
{
    const struct sketch *self = pass->context;
    (void)err;
    lc_hash_filter_add(self->filter, rows->n, rows->first_columns);
    *n_missing = 0;
    return LCDC_OK;
}

static lcdc_status look_at_added(const struct lc_pass *pass, struct lc_hashed *rows, size_t *n_missing,
                                 lcdc_error **err)
{
    const struct sketch *self = pass->context;
    (void)err;
    *n_missing = lc_hash_filter_hit(self->filter, rows->n, rows->first_columns, rows->missing);
    return LCDC_OK;
}

static lcdc_status look_at_removed(const struct lc_pass *pass, struct lc_hashed *rows, size_t *n_missing,
                                   lcdc_error **err)
{
    const struct sketch *self = pass->context;
    (void)err;
    *n_missing = lc_hash_filter_unhit(self->filter, rows->n, rows->first_columns, rows->missing);
    return LCDC_OK;
}

/* Whether what was found to be left is all that is left. */
static bool is_balanced(const struct lc_content *content)
{
    struct lc_hash sum = {0, 0};
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < content->sides[s].n; i++) {
            const struct lc_side_set *set = &content->sides[s].sets[i];
            uint64_t sign = s == LC_HASH_ADDED ? 1 : UINT64_MAX;
            sum.a += sign * (set->sum.a - set->left.a);
            sum.b += sign * (set->sum.b - set->left.b);
        }
    return sum.a == 0 && sum.b == 0;
}

static lcdc_status run_pass(struct sketch *self, enum lc_hash_side side, bool first_columns_only,
                            lcdc_status (*look)(const struct lc_pass *, struct lc_hashed *, size_t *, lcdc_error **),
                            lcdc_error **err)
{
    struct lc_pass pass = {.content = self->content,
                           .side = side,
                           .first_columns_only = first_columns_only,
                           .context = self,
                           .look = look};
    return lc_content_pass(&pass, err);
}

lcdc_status lc_content_sketch(struct lc_content *content, bool *done, lcdc_error **err)
{
    LC_CLEANUP(sketch_done) struct sketch self = {.content = content};
    *done = false;
    if (!content->n_first)
        return LCDC_OK;
    LC_TRY(lc_hash_filter_new(content->sides[LC_HASH_REMOVED].n_rows, &self.filter, err));
    LC_TRY(run_pass(&self, LC_HASH_REMOVED, true, note_removed, err));
    LC_TRY(run_pass(&self, LC_HASH_ADDED, false, look_at_added, err));
    LC_TRY(lc_hash_filter_settle(self.filter, err));
    LC_TRY(run_pass(&self, LC_HASH_REMOVED, false, look_at_removed, err));
    *done = is_balanced(content);
    if (*done)
        return LCDC_OK;
    if (content->spec.glance_fails)
        *content->spec.glance_fails = true;
    LC_TRY(lc_content_forget(content, LC_HASH_ADDED, err));
    return lc_content_forget(content, LC_HASH_REMOVED, err);
}
