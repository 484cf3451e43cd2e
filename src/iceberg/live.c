/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/live.h"

#include <stdlib.h>
#include <string.h>

lcdc_status lc_iceberg_list_read(struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot,
                                 struct lc_arena *arena, struct lc_iceberg_list *out, lcdc_error **err)
{
    *out = (struct lc_iceberg_list){0};
    return snapshot ? lc_iceberg_manifests_read(table, snapshot, arena, &out->n, &out->manifests, err) : LCDC_OK;
}

/* ---- sorted files ---- */

void lc_iceberg_files_done(struct lc_iceberg_files *files)
{
    lc_free(files->items);
    *files = (struct lc_iceberg_files){0};
}

lcdc_status lc_iceberg_files_push(struct lc_iceberg_files *files, const struct lc_iceberg_file *file, bool with_stats,
                                  struct lc_arena *arena, lcdc_error **err)
{
    if (files->n == files->cap) {
        size_t cap = files->cap ? files->cap * 2 : 16;
        struct lc_iceberg_file *items = lc_realloc(files->items, cap, sizeof(*items));
        LC_TRY_ALLOC(items);
        files->items = items;
        files->cap = cap;
    }
    LC_TRY(lc_iceberg_file_copy(file, with_stats, arena, &files->items[files->n], err));
    files->n++;
    return LCDC_OK;
}

static int compare_files(const void *a, const void *b)
{
    const struct lc_iceberg_file *x = a, *y = b;
    return lc_str_cmp(x->path, y->path);
}

/* A file that is live twice would give each of its rows twice, or not, as the reader likes: that is no table. */
static lcdc_status sort_files(struct lc_iceberg_files *files, lcdc_error **err)
{
    if (files->n)
        qsort(files->items, files->n, sizeof(*files->items), compare_files);
    for (size_t i = 1; i < files->n; i++)
        if (compare_files(&files->items[i], &files->items[i - 1]) == 0)
            return lc_fail(err, LC_R_ICEBERG_MANIFEST_BAD, "data file %s is live twice in one snapshot",
                           files->items[i].path.p);
    return LCDC_OK;
}

const struct lc_iceberg_file *lc_iceberg_files_find(const struct lc_iceberg_files *files, struct lc_str path)
{
    struct lc_iceberg_file key = {.path = path};
    return files->n ? bsearch(&key, files->items, files->n, sizeof(key), compare_files) : NULL;
}

/* ---- the difference of two lists ---- */

struct collector {
    struct lc_arena *arena;
    struct lc_iceberg_files *into;
    bool all_stats;                       /* of files that are not new as well */
    const struct lc_iceberg_files *other; /* files that are there on the other side, when it has been read */
    bool *in_both;                        /* a flag a file of `other` */
    bool only_new;                        /* entries with status ADDED */
};

static lcdc_status collect(void *context, const struct lc_iceberg_file *file, lcdc_error **err)
{
    struct collector *self = context;
    if (self->only_new && file->status != LC_ICEBERG_ADDED)
        return LCDC_OK;
    const struct lc_iceberg_file *same = self->other ? lc_iceberg_files_find(self->other, file->path) : NULL;
    if (same) {
        self->in_both[same - self->other->items] = true;
        return LCDC_OK;
    }
    return lc_iceberg_files_push(self->into, file, self->all_stats || file->status == LC_ICEBERG_ADDED, self->arena,
                                 err);
}

/* Visits the data manifests of one list that the other does not name. */
static lcdc_status visit_own(struct lc_iceberg_table *table, const struct lc_iceberg_list *list,
                             const struct lc_iceberg_list *other, struct collector *collector, lcdc_error **err)
{
    size_t k = 0;
    LC_FREE bool *own = lc_calloc(list->n, sizeof(*own));
    LC_TRY_ALLOC(own);
    for (size_t i = 0; i < list->n; i++) {
        const struct lc_iceberg_manifest *manifest = &list->manifests[i];
        while (k < other->n && strcmp(other->manifests[k].path, manifest->path) < 0)
            k++;
        bool shared = k < other->n && strcmp(other->manifests[k].path, manifest->path) == 0;
        if (shared && other->manifests[k].is_deletes != manifest->is_deletes)
            return lc_fail(err, LC_R_ICEBERG_MANIFEST_BAD,
                           "manifest %s holds data in one manifest list and deletes in another", manifest->path);
        own[i] = !shared && !manifest->is_deletes;
    }
    for (size_t i = 0; i < list->n; i++)
        if (own[i]) {
            lc_iceberg_want_ahead(table, list, own, i);
            LC_TRY(lc_iceberg_manifest_visit(table, &list->manifests[i], collect, collector, err));
        }
    return sort_files(collector->into, err);
}

/* Leaves the files whose flag is not set. */
static void drop_flagged(struct lc_iceberg_files *files, const bool *flags)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->n; i++)
        if (!flags[i])
            files->items[kept++] = files->items[i];
    files->n = kept;
}

lcdc_status lc_iceberg_data_difference(struct lc_iceberg_table *table, const struct lc_iceberg_list *before,
                                       const struct lc_iceberg_list *after, struct lc_arena *arena,
                                       struct lc_iceberg_files *added, struct lc_iceberg_files *removed,
                                       lcdc_error **err)
{
    /* most of what a merged manifest holds is on the other side too: it is kept until that is known, without statistics
       unless it is marked as new */
    LC_ARENA struct lc_arena scratch = {0};
    struct collector collector = {.arena = &scratch, .into = added};
    LC_TRY(visit_own(table, after, before, &collector, err));
    LC_FREE bool *in_both = lc_calloc(added->n, sizeof(*in_both));
    LC_TRY_ALLOC(in_both);
    collector = (struct collector){
        .arena = arena, .into = removed, .all_stats = true, .other = added, .in_both = in_both};
    LC_TRY(visit_own(table, before, after, &collector, err));
    drop_flagged(added, in_both);
    for (size_t i = 0; i < added->n; i++)
        LC_TRY(lc_iceberg_file_copy(&added->items[i], true, arena, &added->items[i], err));
    return LCDC_OK;
}

lcdc_status lc_iceberg_data_added(struct lc_iceberg_table *table, const struct lc_iceberg_list *list,
                                  int64_t snapshot_id, struct lc_arena *arena, struct lc_iceberg_files *added,
                                  lcdc_error **err)
{
    struct collector collector = {.arena = arena, .into = added, .only_new = true};
    for (size_t i = 0; i < list->n; i++)
        if (!list->manifests[i].is_deletes && list->manifests[i].snapshot_id == snapshot_id)
            LC_TRY(lc_iceberg_manifest_visit(table, &list->manifests[i], collect, &collector, err));
    return sort_files(added, err);
}

lcdc_status lc_iceberg_data_live(struct lc_iceberg_table *table, const struct lc_iceberg_list *list,
                                 struct lc_arena *arena, struct lc_iceberg_files *out, lcdc_error **err)
{
    struct collector collector = {.arena = arena, .into = out, .all_stats = true};
    for (size_t i = 0; i < list->n; i++)
        if (!list->manifests[i].is_deletes)
            LC_TRY(lc_iceberg_manifest_visit(table, &list->manifests[i], collect, &collector, err));
    return sort_files(out, err);
}

/* ---- the cache ---- */

struct lc_iceberg_cached {
    char *path;
    int64_t first_row_id; /* what the list gave the manifest: an upgrade to v3 gives old manifests one */
    struct lc_arena arena;
    struct lc_iceberg_files files;
    bool is_needed;
};

static void cached_free(struct lc_iceberg_cached *cached)
{
    if (!cached)
        return;
    lc_free(cached->path);
    lc_iceberg_files_done(&cached->files);
    lc_arena_done(&cached->arena);
    lc_free(cached);
}
LC_DEFINE_CLEANUP(struct lc_iceberg_cached *, cached_free)

void lc_iceberg_cache_done(struct lc_iceberg_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++)
        cached_free(cache->items[i]);
    lc_free(cache->items);
    *cache = (struct lc_iceberg_cache){.max = cache->max};
}

/* Where a path is, or would be. */
static size_t cache_place(const struct lc_iceberg_cache *cache, const char *path)
{
    size_t low = 0, high = cache->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(cache->items[middle]->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct lc_iceberg_cached *cache_find(const struct lc_iceberg_cache *cache, const char *path)
{
    size_t at = cache_place(cache, path);
    return at < cache->n && strcmp(cache->items[at]->path, path) == 0 ? cache->items[at] : NULL;
}

static size_t bytes_of(const struct lc_iceberg_cached *cached)
{
    return cached->arena.bytes + cached->files.cap * sizeof(*cached->files.items);
}

static void mark_needed(struct lc_iceberg_cache *cache, const struct lc_iceberg_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct lc_iceberg_cached *cached = cache_find(cache, list->manifests[i].path);
        if (cached)
            cached->is_needed = true;
    }
}

void lc_iceberg_cache_trim(struct lc_iceberg_cache *cache, const struct lc_iceberg_list *a,
                           const struct lc_iceberg_list *b)
{
    size_t kept = 0;
    mark_needed(cache, a);
    mark_needed(cache, b);
    for (size_t i = 0; i < cache->n; i++) {
        struct lc_iceberg_cached *cached = cache->items[i];
        if (cached->is_needed) {
            cached->is_needed = false;
            cache->items[kept++] = cached;
        } else {
            cache->bytes -= bytes_of(cached);
            cached_free(cached);
        }
    }
    cache->n = kept;
}

static lcdc_status cache_load(struct lc_iceberg_table *table, struct lc_iceberg_cache *cache,
                              const struct lc_iceberg_manifest *manifest, struct lc_iceberg_cached **out,
                              lcdc_error **err)
{
    LC_CLEANUP(cached_freep) struct lc_iceberg_cached *cached = lc_calloc(1, sizeof(*cached));
    LC_TRY_ALLOC(cached);
    struct collector collector = {.arena = &cached->arena, .into = &cached->files, .all_stats = true};
    cached->path = lc_strdup(manifest->path);
    LC_TRY_ALLOC(cached->path);
    cached->first_row_id = manifest->first_row_id;
    LC_TRY(lc_iceberg_manifest_visit(table, manifest, collect, &collector, err));
    if (cache->n == cache->cap) {
        size_t cap = cache->cap ? cache->cap * 2 : 16;
        struct lc_iceberg_cached **items = lc_realloc(cache->items, cap, sizeof(struct lc_iceberg_cached *));
        LC_TRY_ALLOC(items);
        cache->items = items;
        cache->cap = cap;
    }
    size_t at = cache_place(cache, cached->path);
    memmove(cache->items + at + 1, cache->items + at, (cache->n - at) * sizeof(struct lc_iceberg_cached *));
    cache->n++;
    cache->bytes += bytes_of(cached);
    *out = cache->items[at] = lc_steal(cached);
    return LCDC_OK;
}

/* What is cached of a manifest, unless this list gives its files other row ids: then it is forgotten. */
static struct lc_iceberg_cached *cache_find_as(struct lc_iceberg_cache *cache,
                                               const struct lc_iceberg_manifest *manifest)
{
    size_t at = cache_place(cache, manifest->path);
    struct lc_iceberg_cached *cached = cache_find(cache, manifest->path);
    if (!cached || cached->first_row_id == manifest->first_row_id)
        return cached;
    cache->bytes -= bytes_of(cached);
    cached_free(cached);
    cache->n--;
    memmove(cache->items + at, cache->items + at + 1, (cache->n - at) * sizeof(struct lc_iceberg_cached *));
    return NULL;
}

lcdc_status lc_iceberg_deletes_live(struct lc_iceberg_table *table, struct lc_iceberg_cache *cache,
                                    const struct lc_iceberg_list *list, const bool *needed, struct lc_arena *arena,
                                    size_t *n_out, const struct lc_iceberg_file **out, lcdc_error **err)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct lc_iceberg_manifest *manifest = &list->manifests[i];
        if (!manifest->is_deletes || (needed && !needed[i]))
            continue;
        struct lc_iceberg_cached *cached = cache_find(cache, manifest->path);
        if (!cached) {
            if (needed)
                lc_iceberg_want_ahead(table, list, needed, i);
            LC_TRY(cache_load(table, cache, manifest, &cached, err));
        }
        n += cached->files.n;
    }
    struct lc_iceberg_file *files = lc_arena_array(arena, n, sizeof(*files));
    LC_TRY_ALLOC(files);
    *n_out = n;
    *out = files;
    for (size_t i = 0; i < list->n; i++) {
        bool is_wanted = list->manifests[i].is_deletes && (!needed || needed[i]);
        const struct lc_iceberg_cached *cached = is_wanted ? cache_find(cache, list->manifests[i].path) : NULL;
        for (size_t k = 0; cached && k < cached->files.n; k++)
            *files++ = cached->files.items[k];
    }
    return LCDC_OK;
}

lcdc_status lc_iceberg_data_visit(struct lc_iceberg_table *table, struct lc_iceberg_cache *cache,
                                  const struct lc_iceberg_manifest *manifest, lc_iceberg_visit visit, void *context,
                                  lcdc_error **err)
{
    struct lc_iceberg_cached *cached = cache_find_as(cache, manifest);
    if (!cached && cache->bytes < cache->max)
        LC_TRY(cache_load(table, cache, manifest, &cached, err));
    if (!cached)
        return lc_iceberg_manifest_visit(table, manifest, visit, context, err);
    for (size_t k = 0; k < cached->files.n; k++)
        LC_TRY(visit(context, &cached->files.items[k], err));
    return LCDC_OK;
}

/* ---- which manifests are needed ---- */

void lc_iceberg_own_deletes(const struct lc_iceberg_list *list, const struct lc_iceberg_list *other, bool *flags)
{
    size_t k = 0;
    for (size_t i = 0; i < list->n; i++) {
        while (k < other->n && strcmp(other->manifests[k].path, list->manifests[i].path) < 0)
            k++;
        bool is_shared = k < other->n && strcmp(other->manifests[k].path, list->manifests[i].path) == 0;
        flags[i] = flags[i] || (list->manifests[i].is_deletes && !is_shared);
    }
}

/* Deletes hit files that are not younger than they are, of their partition, or of all where the spec divides nothing
   (specification, "Scan Planning"). */
static bool may_hit(const struct lc_iceberg_manifest *manifest, const struct lc_iceberg_file *file)
{
    return file->data_sequence <= manifest->newest &&
           (lc_iceberg_is_unpartitioned(manifest->spec) || lc_iceberg_manifest_may_hold(manifest, file));
}

void lc_iceberg_deletes_for(const struct lc_iceberg_list *list, const struct lc_iceberg_files *files, bool *flags)
{
    int64_t oldest = INT64_MAX;
    for (size_t i = 0; i < files->n; i++)
        oldest = files->items[i].data_sequence < oldest ? files->items[i].data_sequence : oldest;
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0;
             list->manifests[i].is_deletes && list->manifests[i].newest >= oldest && !flags[i] && k < files->n; k++)
            flags[i] = may_hit(&list->manifests[i], &files->items[k]);
}

void lc_iceberg_want_ahead(const struct lc_iceberg_table *table, const struct lc_iceberg_list *list, const bool *flags,
                           size_t first)
{
    if (!lc_storage_is_remote(table->storage, list->manifests[first].path))
        return;
    for (size_t n = 0; first < list->n && n < LC_ICEBERG_MANIFESTS_AHEAD; first++)
        if (flags[first]) {
            lc_iceberg_manifest_want(table, &list->manifests[first]);
            n++;
        }
}
