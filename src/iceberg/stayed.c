/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes that both sides have change nothing, so only those of one side are looked at, and only manifests of data that
 * may hold a file of their partitions. A delete that names its data file is done when that file has been met; should a
 * named file not be where its partition says, it is looked for everywhere.
 */
#include "iceberg/stayed.h"

#include <stdlib.h>
#include <string.h>

#include "iceberg/deletes.h"

/* A delete file that one side has and the other has not. */
struct changed {
    const struct lc_iceberg_file *file;
    const struct lc_iceberg_spec *spec;
    bool on[2];
    struct lc_str target; /* the one data file it is about; n 0: several */
    bool is_done;         /* the target has been met */
};

struct search {
    struct lc_iceberg_table *table;
    struct lc_iceberg_cache *cache;
    const struct lc_iceberg_step *step;
    struct lc_arena *arena;
    struct lc_iceberg_files *out;
    size_t n, n_open; /* n_open: those that are not done, or never are */
    struct changed *deletes;
};

/* ---- deletes of one side ---- */

static int compare_deletes(const void *a, const void *b)
{
    const struct changed *x = a, *y = b;
    int c = lc_str_cmp(x->file->path, y->file->path);
    return c ? c
             : (x->file->content_offset > y->file->content_offset) -
                   (x->file->content_offset < y->file->content_offset);
}

static lcdc_status load_own(struct search *self, const struct lc_iceberg_list *list,
                            const struct lc_iceberg_list *other, size_t *n, const struct lc_iceberg_file **out,
                            lcdc_error **err)
{
    LC_FREE bool *own = lc_calloc(list->n, sizeof(*own));
    LC_TRY_ALLOC(own);
    lc_iceberg_own_deletes(list, other, own);
    return lc_iceberg_deletes_live(self->table, self->cache, list, own, self->arena, n, out, err);
}

static lcdc_status note_delete(struct search *self, const struct lc_iceberg_file *file, enum lc_iceberg_side side,
                               lcdc_error **err)
{
    struct changed *d = &self->deletes[self->n++];
    *d = (struct changed){.file = file, .target = lc_iceberg_delete_target(file)};
    d->on[side] = true;
    return lc_iceberg_spec_get(self->table->metadata, file->spec_id, &d->spec, err);
}

/* What both sides have came from manifests that were written anew. */
static void drop_pairs(struct search *self)
{
    size_t kept = 0;
    if (self->n)
        qsort(self->deletes, self->n, sizeof(*self->deletes), compare_deletes);
    for (size_t i = 0; i < self->n;) {
        struct changed d = self->deletes[i++];
        for (; i < self->n && compare_deletes(&d, &self->deletes[i]) == 0; i++) {
            d.on[LC_ICEBERG_BEFORE] = d.on[LC_ICEBERG_BEFORE] || self->deletes[i].on[LC_ICEBERG_BEFORE];
            d.on[LC_ICEBERG_AFTER] = d.on[LC_ICEBERG_AFTER] || self->deletes[i].on[LC_ICEBERG_AFTER];
        }
        if (!d.on[LC_ICEBERG_BEFORE] || !d.on[LC_ICEBERG_AFTER])
            self->deletes[kept++] = d;
    }
    self->n = kept;
}

static lcdc_status find_deletes(struct search *self, lcdc_error **err)
{
    size_t n_before, n_after;
    const struct lc_iceberg_file *before, *after;
    const struct lc_iceberg_step *step = self->step;
    LC_TRY(load_own(self, &step->before, &step->after, &n_before, &before, err));
    LC_TRY(load_own(self, &step->after, &step->before, &n_after, &after, err));
    self->deletes = lc_arena_array(self->arena, n_before + n_after, sizeof(*self->deletes));
    LC_TRY_ALLOC(self->deletes);
    for (size_t i = 0; i < n_before; i++)
        LC_TRY(note_delete(self, &before[i], LC_ICEBERG_BEFORE, err));
    for (size_t i = 0; i < n_after; i++)
        LC_TRY(note_delete(self, &after[i], LC_ICEBERG_AFTER, err));
    drop_pairs(self);
    self->n_open = self->n;
    return LCDC_OK;
}

static void finish(struct search *self, struct changed *d)
{
    self->n_open -= !d->is_done;
    d->is_done = true;
}

/* A file that came or went needs no search. */
static void finish_known(struct search *self)
{
    for (size_t i = 0; i < self->n; i++) {
        struct changed *d = &self->deletes[i];
        if (d->target.n && (lc_iceberg_files_find(&self->step->added, d->target) ||
                            lc_iceberg_files_find(&self->step->removed, d->target)))
            finish(self, d);
    }
}

/* ---- data files ---- */

static lcdc_status visit(void *context, const struct lc_iceberg_file *file, lcdc_error **err)
{
    struct search *self = context;
    bool is_hit = false;
    for (size_t i = 0; i < self->n; i++) {
        struct changed *d = &self->deletes[i];
        if (d->target.n && !d->is_done && lc_str_eq(d->target, file->path))
            finish(self, d);
        is_hit = is_hit || lc_iceberg_delete_applies(d->file, d->spec, file);
    }
    return is_hit && !lc_iceberg_files_find(&self->step->added, file->path)
               ? lc_iceberg_files_push(self->out, file, true, self->arena, err)
               : LCDC_OK;
}

/* Whether a file that one of the deletes is still to be matched with may lie in the manifest. */
static bool may_hold_hit(const struct search *self, const struct lc_iceberg_manifest *manifest, bool by_partition)
{
    for (size_t i = 0; i < self->n; i++) {
        const struct changed *d = &self->deletes[i];
        bool is_global = d->file->content == LC_ICEBERG_EQUALITY_DELETES && lc_iceberg_is_unpartitioned(d->spec);
        bool is_named = d->file->referenced_data_file.n > 0; /* by name alone, whatever its partition */
        if (!d->is_done && (is_global || (by_partition ? lc_iceberg_manifest_may_hold(manifest, d->file) : is_named)))
            return true;
    }
    return false;
}

static int newest_first(const void *a, const void *b)
{
    const struct lc_iceberg_manifest *const *x = a, *const *y = b;
    if ((*x)->sequence != (*y)->sequence)
        return (*x)->sequence > (*y)->sequence ? -1 : 1;
    return strcmp((*x)->path, (*y)->path);
}

/* How many manifests to fetch when `seen` have been read: a search that may end soon begins with few. */
static size_t look_ahead(const struct search *self, size_t seen)
{
    bool may_end = true;
    for (size_t i = 0; i < self->n; i++)
        may_end = may_end && self->deletes[i].target.n > 0;
    return !may_end || seen >= LC_ICEBERG_MANIFESTS_AHEAD ? LC_ICEBERG_MANIFESTS_AHEAD : seen + 1;
}

/* Rows are deleted from new files more often than from old ones, and a search for named files ends with the last. */
static lcdc_status search_manifests(struct search *self, bool *seen, bool by_partition, lcdc_error **err)
{
    const struct lc_iceberg_list *list = &self->step->after;
    size_t n = 0;
    LC_FREE const struct lc_iceberg_manifest **wanted = lc_calloc(list->n, sizeof(*wanted));
    LC_TRY_ALLOC(wanted);
    for (size_t i = 0; i < list->n; i++)
        if (!list->manifests[i].is_deletes && !seen[i] && may_hold_hit(self, &list->manifests[i], by_partition))
            wanted[n++] = &list->manifests[i];
    if (n)
        qsort(wanted, n, sizeof(*wanted), newest_first);
    for (size_t i = 0; i < n && self->n_open; i++) {
        if (!may_hold_hit(self, wanted[i], by_partition))
            continue;
        for (size_t k = i; k < n && k - i < look_ahead(self, i); k++)
            lc_iceberg_manifest_want(self->table, wanted[k]);
        LC_TRY(lc_iceberg_data_visit(self->table, self->cache, wanted[i], visit, self, err));
        seen[wanted[i] - list->manifests] = true;
    }
    return LCDC_OK;
}

lcdc_status lc_iceberg_stayed_find(struct lc_iceberg_table *table, struct lc_iceberg_cache *cache,
                                   const struct lc_iceberg_step *step, struct lc_arena *arena,
                                   struct lc_iceberg_files *out, lcdc_error **err)
{
    struct search search = {.table = table, .cache = cache, .step = step, .arena = arena, .out = out};
    LC_FREE bool *seen = lc_calloc(step->after.n, sizeof(*seen));
    LC_TRY_ALLOC(seen);
    LC_TRY(find_deletes(&search, err));
    finish_known(&search);
    LC_TRY(search_manifests(&search, seen, true, err));
    return search_manifests(&search, seen, false, err);
}
