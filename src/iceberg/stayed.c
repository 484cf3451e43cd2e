/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes that both sides have change nothing, so only those of one side are looked at, and only manifests of data that
 * may hold a file of their partitions. A delete that names its data file is done when that file has been met; should a
 * named file not be where its partition says, it is looked for everywhere. A position delete file about several data
 * files tells their names itself: where many manifests would be opened for it, it is read first, as its rows will be
 * anyway.
 */
#include "iceberg/stayed.h"

#include <stdlib.h>
#include <string.h>

/* A delete file that one side has and the other has not. */
struct changed {
    const struct lc_iceberg_file *file;
    const struct lc_iceberg_spec *spec;
    bool on[2];
    struct lc_str target; /* the one data file it is about; n 0: several */
    size_t n_names, n_met;
    const struct lc_str *names; /* of the several, sorted, once it was asked; NULL */
    bool *met;                  /* a flag a name */
    bool is_done;               /* all that it names has been met */
};

struct search {
    struct lc_iceberg_table *table;
    struct lc_iceberg_cache *cache;
    struct lc_iceberg_deletes *reader;
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

static int compare_texts(const void *a, const void *b)
{
    return lc_str_cmp(*(const struct lc_str *)a, *(const struct lc_str *)b);
}

/* Whether the delete, which was asked, names the file. */
static bool meet(struct search *self, struct changed *d, struct lc_str path)
{
    const struct lc_str *found = d->n_names ? bsearch(&path, d->names, d->n_names, sizeof(path), compare_texts) : NULL;
    if (!found)
        return false;
    bool *met = &d->met[found - d->names];
    d->n_met += !*met;
    *met = true;
    if (d->n_met == d->n_names)
        finish(self, d);
    return true;
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
        bool may_name = !d->names || meet(self, d, file->path);
        is_hit = is_hit || (may_name && lc_iceberg_delete_applies(d->file, d->spec, file));
    }
    return is_hit && !lc_iceberg_files_find(&self->step->added, file->path)
               ? lc_iceberg_files_push(self->out, file, true, self->arena, err)
               : LCDC_OK;
}

/* Whether a file that the delete is still to be matched with may lie in the manifest. */
static bool may_hold(const struct changed *d, const struct lc_iceberg_manifest *manifest, bool by_partition)
{
    bool is_global = d->file->content == LC_ICEBERG_EQUALITY_DELETES && lc_iceberg_is_unpartitioned(d->spec);
    bool is_named = d->file->referenced_data_file.n > 0; /* by name alone, whatever its partition */
    return !d->is_done && (is_global || (by_partition ? lc_iceberg_manifest_may_hold(manifest, d->file) : is_named));
}

static bool may_hold_hit(const struct search *self, const struct lc_iceberg_manifest *manifest, bool by_partition)
{
    for (size_t i = 0; i < self->n; i++)
        if (may_hold(&self->deletes[i], manifest, by_partition))
            return true;
    return false;
}

/* ---- asking the deletes ---- */

static bool can_be_asked(const struct changed *d)
{
    return d->file->content == LC_ICEBERG_POSITION_DELETES && d->file->format == LC_ICEBERG_PARQUET && d->target.n == 0;
}

/* The manifests that are opened for such deletes alone. */
static size_t count_for_several(const struct search *self)
{
    const struct lc_iceberg_list *list = &self->step->after;
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        bool is_for_them = false, is_for_others = list->manifests[i].is_deletes;
        for (size_t k = 0; k < self->n && !is_for_others; k++) {
            bool holds = may_hold(&self->deletes[k], &list->manifests[i], true);
            is_for_them = is_for_them || holds;
            is_for_others = holds && !can_be_asked(&self->deletes[k]);
        }
        n += is_for_them && !is_for_others;
    }
    return n;
}

static lcdc_status ask(struct search *self, struct changed *d, lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    size_t n;
    const struct lc_str *names;
    lcdc_status status = lc_iceberg_delete_names(self->reader, d->file, self->arena, &n, &names, &problem);
    if (status == LCDC_OUT_OF_MEMORY || status == LCDC_CANCELLED)
        return lc_fail_with(lc_steal(problem), err);
    if (status != LCDC_OK) /* reading its rows will tell what is wrong with it */
        return LCDC_OK;
    d->met = lc_arena_array(self->arena, n, sizeof(*d->met));
    LC_TRY_ALLOC(d->met);
    d->n_names = n;
    d->names = names;
    for (size_t i = 0; i < n; i++)
        if (lc_iceberg_files_find(&self->step->added, names[i]) ||
            lc_iceberg_files_find(&self->step->removed, names[i]))
            (void)meet(self, d, names[i]);
    if (n == 0)
        finish(self, d);
    return LCDC_OK;
}

/* A file is read in about two requests, and many manifests at a time. */
static lcdc_status ask_deletes(struct search *self, lcdc_error **err)
{
    size_t n = 0;
    for (size_t i = 0; i < self->n; i++)
        n += can_be_asked(&self->deletes[i]);
    if (n == 0 || count_for_several(self) <= LC_ICEBERG_MANIFESTS_AHEAD + 2 * n)
        return LCDC_OK;
    for (size_t i = 0; i < self->n; i++)
        if (can_be_asked(&self->deletes[i]))
            LC_TRY(ask(self, &self->deletes[i], err));
    return LCDC_OK;
}

/* ---- the search ---- */

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
        may_end = may_end && (self->deletes[i].target.n > 0 || self->deletes[i].names);
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
                                   struct lc_iceberg_deletes *deletes, const struct lc_iceberg_step *step,
                                   struct lc_arena *arena, struct lc_iceberg_files *out, lcdc_error **err)
{
    struct search search = {
        .table = table, .cache = cache, .reader = deletes, .step = step, .arena = arena, .out = out};
    LC_FREE bool *seen = lc_calloc(step->after.n, sizeof(*seen));
    LC_TRY_ALLOC(seen);
    LC_TRY(find_deletes(&search, err));
    finish_known(&search);
    LC_TRY(ask_deletes(&search, err));
    LC_TRY(search_manifests(&search, seen, true, err));
    return search_manifests(&search, seen, false, err);
}
