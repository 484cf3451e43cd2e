/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which deletes apply (specification, "Scan Planning"): a vector to its data file; a position delete file to files of
 * its partition that are not younger, unless a vector does; an equality delete file to strictly older files of its
 * partition, or of the table when its spec divides nothing.
 */
#include "iceberg/deletes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "iceberg/key_set.h"
#include "iceberg/position_deletes.h"

struct key_group;

/* A delete file on one or both sides. */
struct delete_file {
    const struct lc_iceberg_file *file;
    char *referenced;        /* the one data file it is about, as spelled; NULL = several */
    bool on[2];              /* by side */
    struct key_group *group; /* of an equality delete file */
    bool is_loaded;          /* its keys are in the group's set */
    bool is_needed;          /* a row set of the commit names it among its needs */
};

/* Equality delete files with the same key columns in the same scope. */
struct key_group {
    struct lc_iceberg_key_columns columns;
    bool is_global;
    struct lc_iceberg_file scope; /* spec and partition, when not global; its values live in the object's arena */
    struct lc_iceberg_key_set *set;
    size_t n_loaded, cap_loaded;
    struct loaded_file {
        char *path;
        bool after; /* was live on the after side when it was loaded last */
    } * loaded;
    int64_t newest[2]; /* highest sequence of its files, by side; -1 none */
};

/*
 * Row sets are loaded and tested on several threads. Between two calls of lc_iceberg_deletes_set() nothing changes but
 * what was read of delete files, and that has the lock; keys that are there are looked up without it.
 */
struct lc_iceberg_deletes {
    pthread_mutex_t mutex; /* @locks positions, and the sets of groups until they are filled */
    struct lc_iceberg_delete_context context;
    struct lc_arena arena;
    struct lc_iceberg_positions *positions;
    size_t n_files;
    struct delete_file *files;
    size_t n_groups, cap_groups;
    struct key_group **groups;
};

/* ---- the object ---- */

static void group_free(struct key_group *group)
{
    for (size_t i = 0; i < group->n_loaded; i++)
        lc_free(group->loaded[i].path);
    lc_free(group->loaded);
    lc_iceberg_key_set_free(group->set);
    lc_free(group);
}

static void files_clear(struct lc_iceberg_deletes *self)
{
    for (size_t i = 0; i < self->n_files; i++)
        lc_free(self->files[i].referenced);
    lc_free(lc_steal(self->files));
    self->n_files = 0;
}

void lc_iceberg_deletes_free(struct lc_iceberg_deletes *deletes)
{
    if (!deletes)
        return;
    files_clear(deletes);
    for (size_t i = 0; i < deletes->n_groups; i++)
        group_free(deletes->groups[i]);
    lc_free(deletes->groups);
    lc_iceberg_positions_free(deletes->positions);
    lc_arena_done(&deletes->arena);
    pthread_mutex_destroy(&deletes->mutex);
    lc_free(deletes);
}

lcdc_status lc_iceberg_deletes_new(const struct lc_iceberg_delete_context *context, struct lc_iceberg_deletes **out,
                                   lcdc_error **err)
{
    LC_CLEANUP(lc_iceberg_deletes_freep) struct lc_iceberg_deletes *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    pthread_mutex_init(&self->mutex, NULL);
    self->context = *context;
    LC_TRY(lc_iceberg_positions_new(context->storage, context->path_map, context->memory_limit, &self->positions, err));
    *out = lc_steal(self);
    return LCDC_OK;
}

/* ---- key groups ---- */

static bool same_ids(const struct lc_iceberg_key_columns *columns, const struct lc_iceberg_file *file)
{
    return columns->n == file->n_equality_ids &&
           memcmp(columns->ids, file->equality_ids, columns->n * sizeof(int32_t)) == 0;
}

/* A copy of what a group is scoped by, since the files it came from are gone with their snapshot. */
static lcdc_status copy_scope(struct lc_iceberg_deletes *self, const struct lc_iceberg_file *file,
                              struct lc_iceberg_file *out, lcdc_error **err)
{
    struct lc_value *values = lc_arena_array(&self->arena, file->n_partition, sizeof(*values));
    LC_TRY_ALLOC(values);
    for (size_t i = 0; i < file->n_partition; i++) {
        const struct lc_value *value = lc_value_dup(&self->arena, &file->partition[i]);
        LC_TRY_ALLOC(value);
        values[i] = *value;
    }
    *out = (struct lc_iceberg_file){.spec_id = file->spec_id, .n_partition = file->n_partition, .partition = values};
    return LCDC_OK;
}

static lcdc_status new_group(struct lc_iceberg_deletes *self, const struct lc_iceberg_file *file, bool is_global,
                             struct key_group **out, lcdc_error **err)
{
    int32_t *ids = lc_arena_array(&self->arena, file->n_equality_ids, sizeof(*ids));
    LC_TRY_ALLOC(ids);
    if (file->n_equality_ids)
        memcpy(ids, file->equality_ids, file->n_equality_ids * sizeof(*ids));
    if (self->n_groups == self->cap_groups) {
        size_t cap = self->cap_groups ? self->cap_groups * 2 : 8;
        struct key_group **groups = lc_realloc(self->groups, cap, sizeof(struct key_group *));
        LC_TRY_ALLOC(groups);
        self->groups = groups;
        self->cap_groups = cap;
    }
    struct key_group *group = lc_calloc(1, sizeof(*group));
    LC_TRY_ALLOC(group);
    self->groups[self->n_groups++] = group;
    group->is_global = is_global;
    group->newest[0] = group->newest[1] = -1;
    LC_TRY(copy_scope(self, file, &group->scope, err));
    LC_TRY(
        lc_iceberg_key_columns(self->context.metadata, file->n_equality_ids, ids, &self->arena, &group->columns, err));
    LC_TRY(lc_iceberg_key_set_new(&group->columns, &group->set, err));
    *out = group;
    return LCDC_OK;
}

static lcdc_status group_of(struct lc_iceberg_deletes *self, const struct lc_iceberg_file *file, struct key_group **out,
                            lcdc_error **err)
{
    const struct lc_iceberg_spec *spec;
    LC_TRY(lc_iceberg_spec_get(self->context.metadata, file->spec_id, &spec, err));
    bool is_global = lc_iceberg_is_unpartitioned(spec);
    for (size_t i = 0; i < self->n_groups; i++) {
        struct key_group *group = self->groups[i];
        if (group->set && group->is_global == is_global && same_ids(&group->columns, file) &&
            (is_global || lc_iceberg_partition_equal(&group->scope, file))) {
            *out = group;
            return LCDC_OK;
        }
    }
    return new_group(self, file, is_global, out, err);
}

static struct loaded_file *find_loaded(struct key_group *group, const struct lc_iceberg_file *file)
{
    for (size_t i = 0; i < group->n_loaded; i++)
        if (lc_str_is(file->path, group->loaded[i].path))
            return &group->loaded[i];
    return NULL;
}

/*
 * What the set holds can be carried over when its after side is exactly the new before side: then only the new files
 * are read. Otherwise it begins anew.
 */
static lcdc_status renew_group(const struct lc_iceberg_deletes *self, struct key_group *group, lcdc_error **err)
{
    size_t n_before = 0, n_was = 0, matches = 0;
    for (size_t i = 0; i < group->n_loaded; i++)
        n_was += group->loaded[i].after;
    bool keeps_all = true;
    for (size_t i = 0; i < self->n_files; i++) {
        const struct delete_file *d = &self->files[i];
        if (d->group != group)
            continue;
        const struct loaded_file *loaded = find_loaded(group, d->file);
        n_before += d->on[LC_ICEBERG_BEFORE];
        matches += d->on[LC_ICEBERG_BEFORE] && loaded && loaded->after;
        keeps_all = keeps_all && (!d->on[LC_ICEBERG_BEFORE] || d->on[LC_ICEBERG_AFTER]);
    }
    if (n_was == n_before && matches == n_before && keeps_all && n_was == group->n_loaded) {
        lc_iceberg_key_set_advance(group->set);
        return LCDC_OK;
    }
    struct lc_iceberg_key_set *fresh;
    LC_TRY(lc_iceberg_key_set_new(&group->columns, &fresh, err));
    lc_iceberg_key_set_free(group->set);
    group->set = fresh;
    while (group->n_loaded)
        lc_free(group->loaded[--group->n_loaded].path);
    return LCDC_OK;
}

static lcdc_status check_cancelled(const struct lc_iceberg_deletes *self, lcdc_error **err)
{
    return self->context.scan ? lc_check_cancelled(self->context.scan, err) : LCDC_OK;
}

static lcdc_status load_file(struct lc_iceberg_deletes *self, struct key_group *group, const struct delete_file *d,
                             lcdc_error **err)
{
    LC_FREE char *path = lc_strndup(d->file->path.p, d->file->path.n);
    LC_FREE char *url = NULL;
    LC_TRY_ALLOC(path);
    if (group->n_loaded == group->cap_loaded) {
        size_t cap = group->cap_loaded ? group->cap_loaded * 2 : 8;
        struct loaded_file *loaded = lc_realloc(group->loaded, cap, sizeof(*loaded));
        LC_TRY_ALLOC(loaded);
        group->loaded = loaded;
        group->cap_loaded = cap;
    }
    LC_TRY(lc_path_map_apply(self->context.path_map, path, &url, err));
    LC_TRY(lc_iceberg_key_set_load(group->set, self->context.storage, d->file, url, d->on[LC_ICEBERG_BEFORE],
                                   d->on[LC_ICEBERG_AFTER], err));
    group->loaded[group->n_loaded++] = (struct loaded_file){.path = lc_steal(path), .after = d->on[LC_ICEBERG_AFTER]};
    return LCDC_OK;
}

/* Reads what a group still lacks; called when rows are about to be tested, so planning reads no delete file. */
static lcdc_status fill_locked(struct lc_iceberg_deletes *self, struct key_group *group, lcdc_error **err)
{
    for (size_t i = 0; i < self->n_files; i++)
        if (self->files[i].group == group && !self->files[i].is_loaded) {
            LC_TRY(check_cancelled(self, err));
            if (!find_loaded(group, self->files[i].file))
                LC_TRY(load_file(self, group, &self->files[i], err));
            self->files[i].is_loaded = true;
        }
    return LCDC_OK;
}

static lcdc_status fill_group(struct lc_iceberg_deletes *self, struct key_group *group, lcdc_error **err)
{
    pthread_mutex_lock(&self->mutex);
    lcdc_status status = fill_locked(self, group, err);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

/* ---- the sides of a snapshot ---- */

static int compare_files(const void *a, const void *b)
{
    const struct delete_file *x = a, *y = b;
    int c = lc_str_cmp(x->file->path, y->file->path);
    /* several vectors share a puffin file: the blob is part of a delete file's identity */
    if (c == 0)
        c = (x->file->content_offset > y->file->content_offset) - (x->file->content_offset < y->file->content_offset);
    return c;
}

static lcdc_status note_referenced(struct delete_file *d, lcdc_error **err)
{
    if (d->file->content != LC_ICEBERG_POSITION_DELETES || d->file->referenced_data_file.n == 0)
        return LCDC_OK;
    d->referenced = lc_strndup(d->file->referenced_data_file.p, d->file->referenced_data_file.n);
    LC_TRY_ALLOC(d->referenced);
    return LCDC_OK;
}

static lcdc_status merge_sides(struct lc_iceberg_deletes *self, lcdc_error **err)
{
    size_t kept = 0;
    if (self->n_files)
        qsort(self->files, self->n_files, sizeof(*self->files), compare_files);
    for (size_t i = 0; i < self->n_files; i++) {
        if (kept && compare_files(&self->files[kept - 1], &self->files[i]) == 0) {
            self->files[kept - 1].on[0] |= self->files[i].on[0];
            self->files[kept - 1].on[1] |= self->files[i].on[1];
            continue;
        }
        self->files[kept++] = self->files[i];
    }
    self->n_files = kept;
    for (size_t i = 0; i < kept; i++)
        LC_TRY(note_referenced(&self->files[i], err));
    return LCDC_OK;
}

/* Finds each equality delete file's group, and how new a group's deletes are on each side. */
static lcdc_status note_groups(struct lc_iceberg_deletes *self, lcdc_error **err)
{
    for (size_t g = 0; g < self->n_groups; g++)
        self->groups[g]->newest[0] = self->groups[g]->newest[1] = -1;
    for (size_t i = 0; i < self->n_files; i++) {
        struct delete_file *d = &self->files[i];
        if (d->file->content != LC_ICEBERG_EQUALITY_DELETES)
            continue;
        LC_TRY(group_of(self, d->file, &d->group, err));
        for (int side = 0; side < 2; side++)
            if (d->on[side] && d->file->data_sequence > d->group->newest[side])
                d->group->newest[side] = d->file->data_sequence;
    }
    return LCDC_OK;
}

lcdc_status lc_iceberg_deletes_set(struct lc_iceberg_deletes *deletes, size_t n_before,
                                   const struct lc_iceberg_file *before, size_t n_after,
                                   const struct lc_iceberg_file *after, lcdc_error **err)
{
    files_clear(deletes);
    deletes->files = lc_calloc(n_before + n_after, sizeof(*deletes->files));
    LC_TRY_ALLOC(deletes->files);
    for (size_t i = 0; i < n_before; i++)
        deletes->files[deletes->n_files++] = (struct delete_file){.file = &before[i], .on = {true, false}};
    for (size_t i = 0; i < n_after; i++)
        deletes->files[deletes->n_files++] = (struct delete_file){.file = &after[i], .on = {false, true}};
    LC_TRY(merge_sides(deletes, err));
    LC_TRY(note_groups(deletes, err));
    for (size_t g = 0; g < deletes->n_groups; g++)
        LC_TRY(renew_group(deletes, deletes->groups[g], err));
    return LCDC_OK;
}

/* ---- what applies to a data file ---- */

/* Reserved column of position deletes (specification, "Reserved Field IDs"). */
enum { FILE_PATH = 2147483546 };

static bool find_path_bound(const struct lc_iceberg_bound *bounds, size_t n, struct lc_str *out)
{
    for (size_t i = 0; i < n; i++)
        if (bounds[i].field_id == FILE_PATH) {
            *out = bounds[i].bytes;
            return true;
        }
    return false;
}

/* The names in a position delete file lie between its bounds of file_path, which may be cut short, the upper one to
   something greater: what lies outside is not named in it, and needs it not. */
static bool names_others(const struct lc_iceberg_file *d, struct lc_str data_path)
{
    struct lc_str bound;
    return (find_path_bound(d->lower, d->n_lower, &bound) && lc_str_cmp(data_path, bound) < 0) ||
           (find_path_bound(d->upper, d->n_upper, &bound) && lc_str_cmp(data_path, bound) > 0);
}

static bool is_vector(const struct lc_iceberg_file *d)
{
    return d->format == LC_ICEBERG_PUFFIN;
}

struct lc_str lc_iceberg_delete_target(const struct lc_iceberg_file *file)
{
    struct lc_str low, high;
    if (file->content != LC_ICEBERG_POSITION_DELETES || is_vector(file) || file->referenced_data_file.n)
        return file->content == LC_ICEBERG_POSITION_DELETES ? file->referenced_data_file : LC_STR("");
    bool has_bounds = find_path_bound(file->lower, file->n_lower, &low) &&
                      find_path_bound(file->upper, file->n_upper, &high);
    return has_bounds && lc_str_eq(low, high) ? low : LC_STR("");
}

bool lc_iceberg_delete_applies(const struct lc_iceberg_file *file, const struct lc_iceberg_spec *spec,
                               const struct lc_iceberg_file *data)
{
    if (file->content == LC_ICEBERG_EQUALITY_DELETES)
        return data->data_sequence < file->data_sequence &&
               (lc_iceberg_is_unpartitioned(spec) || lc_iceberg_partition_equal(file, data));
    if (data->data_sequence > file->data_sequence)
        return false;
    if (is_vector(file) || file->referenced_data_file.n)
        return lc_str_eq(file->referenced_data_file, data->path);
    return lc_iceberg_partition_equal(file, data) && !names_others(file, data->path);
}

lcdc_status lc_iceberg_delete_names(struct lc_iceberg_deletes *deletes, const struct lc_iceberg_file *file,
                                    struct lc_arena *arena, size_t *n_out, const struct lc_str **out, lcdc_error **err)
{
    pthread_mutex_lock(&deletes->mutex);
    lcdc_status status = check_cancelled(deletes, err);
    if (status == LCDC_OK)
        status = lc_iceberg_positions_names(deletes->positions, file, arena, n_out, out, err);
    pthread_mutex_unlock(&deletes->mutex);
    return status;
}

static bool vector_applies(const struct delete_file *d, const struct lc_iceberg_file *data, const char *data_path)
{
    return is_vector(d->file) && d->referenced && strcmp(d->referenced, data_path) == 0 &&
           data->data_sequence <= d->file->data_sequence;
}

static bool positions_apply(const struct delete_file *d, const struct lc_iceberg_file *data, const char *data_path)
{
    if (d->file->content != LC_ICEBERG_POSITION_DELETES || is_vector(d->file) ||
        data->data_sequence > d->file->data_sequence)
        return false;
    if (d->referenced)
        return strcmp(d->referenced, data_path) == 0;
    return lc_iceberg_partition_equal(d->file, data) && !names_others(d->file, data->path);
}

static bool group_applies(const struct key_group *group, const struct lc_iceberg_file *data, enum lc_iceberg_side side)
{
    return group->newest[side] > data->data_sequence &&
           (group->is_global || lc_iceberg_partition_equal(&group->scope, data));
}

static lcdc_status data_path(const struct lc_iceberg_file *data, char **out, lcdc_error **err)
{
    *out = lc_strndup(data->path.p, data->path.n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

/* The vector of a side, or NULL. Two vectors for one file break the specification. */
static lcdc_status find_vector(const struct lc_iceberg_deletes *self, enum lc_iceberg_side side,
                               const struct lc_iceberg_file *data, const char *path, const struct lc_iceberg_file **out,
                               lcdc_error **err)
{
    *out = NULL;
    for (size_t i = 0; i < self->n_files; i++) {
        if (!self->files[i].on[side] || !vector_applies(&self->files[i], data, path))
            continue;
        if (*out)
            return lc_fail(err, LC_R_ICEBERG_DELETE_BAD, "data file %s has two deletion vectors in one snapshot", path);
        *out = self->files[i].file;
    }
    return LCDC_OK;
}

static lcdc_status read_positions(struct lc_iceberg_deletes *self, enum lc_iceberg_side side,
                                  const struct lc_iceberg_file *data, struct lc_bitmap **out, lcdc_error **err)
{
    LC_FREE char *path = NULL;
    LC_BITMAP struct lc_bitmap *dead = NULL;
    const struct lc_iceberg_file *vector;
    LC_TRY(data_path(data, &path, err));
    LC_TRY(find_vector(self, side, data, path, &vector, err));
    if (vector)
        return lc_iceberg_vector_read(self->positions, vector, out, err);
    LC_TRY(lc_bitmap_new(&dead, err));
    for (size_t i = 0; i < self->n_files; i++)
        if (self->files[i].on[side] && positions_apply(&self->files[i], data, path)) {
            LC_TRY(check_cancelled(self, err));
            LC_TRY(lc_iceberg_positions_add(self->positions, self->files[i].file, path, dead, err));
        }
    *out = lc_steal(dead);
    return LCDC_OK;
}

static lcdc_status dead_positions(struct lc_iceberg_deletes *self, enum lc_iceberg_side side,
                                  const struct lc_iceberg_file *data, struct lc_bitmap **out, lcdc_error **err)
{
    pthread_mutex_lock(&self->mutex);
    lcdc_status status = read_positions(self, side, data, out, err);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

/* What applies on each side, without reading anything. `same` says that both sides have the same position deletes. */
struct applicable {
    size_t n[2];
    bool same;
    bool keys[2]; /* equality deletes apply on the side */
    bool same_keys;
    const struct lc_iceberg_file *vector[2];
    int64_t most[2]; /* rows that position deletes name, at most */
};

static lcdc_status what_applies(const struct lc_iceberg_deletes *self, const struct lc_iceberg_file *data,
                                struct applicable *out, lcdc_error **err)
{
    LC_FREE char *path = NULL;
    LC_TRY(data_path(data, &path, err));
    *out = (struct applicable){.same = true, .same_keys = true};
    for (int side = 0; side < 2; side++)
        LC_TRY(find_vector(self, (enum lc_iceberg_side)side, data, path, &out->vector[side], err));
    for (size_t i = 0; i < self->n_files; i++) {
        const struct delete_file *d = &self->files[i];
        bool hits[2];
        for (int side = 0; side < 2; side++) {
            bool by_vector = out->vector[side] != NULL;
            hits[side] = d->on[side] && (by_vector ? vector_applies(d, data, path) : positions_apply(d, data, path));
            out->n[side] += hits[side];
            if (hits[side] && __builtin_add_overflow(out->most[side], d->file->record_count, &out->most[side]))
                out->most[side] = INT64_MAX;
        }
        out->same = out->same && hits[0] == hits[1];
    }
    for (size_t g = 0; g < self->n_groups; g++)
        for (int side = 0; side < 2; side++)
            out->keys[side] = out->keys[side] || group_applies(self->groups[g], data, (enum lc_iceberg_side)side);
    for (size_t i = 0; i < self->n_files; i++) {
        const struct delete_file *d = &self->files[i];
        if (d->file->content != LC_ICEBERG_EQUALITY_DELETES || d->on[0] == d->on[1] ||
            d->file->data_sequence <= data->data_sequence)
            continue;
        if (d->group->is_global || lc_iceberg_partition_equal(d->file, data))
            out->same_keys = false;
    }
    return LCDC_OK;
}

/* ---- row filters ---- */

enum test {
    ALIVE,  /* keep rows that no key of `side` hits */
    CHANGED /* keep rows that are alive on `side` and dead on the other, by keys or positions */
};

struct hit_filter {
    struct lc_row_filter base;
    struct lc_iceberg_deletes *deletes;
    enum test test;
    enum lc_iceberg_side side;
    int64_t sequence; /* of the data file */
    size_t n_groups;
    struct key_group **groups;
    size_t **columns; /* per group: where its top-level columns stand in base.columns */
    const struct lc_iceberg_file *data;
    struct lc_bitmap *other_dead; /* CHANGED: dead positions of the other side; read once */
};

static lcdc_status group_keys(const struct hit_filter *self, size_t g, const struct ArrowArray *rows,
                              struct lc_hash *keys, lcdc_error **err)
{
    const struct key_group *group = self->groups[g];
    LC_FREE struct ArrowArray **children = lc_calloc(group->columns.n, sizeof(*children));
    LC_TRY_ALLOC(children);
    for (size_t i = 0; i < group->columns.n; i++)
        children[i] = rows->children[self->columns[g][i]];
    struct ArrowArray view = *rows;
    view.n_children = (int64_t)group->columns.n;
    view.children = children;
    return lc_iceberg_key_hash(&group->columns, &view, keys, err);
}

/* hit[side][i]: a key of the side deletes row i. */
static lcdc_status find_hits(const struct hit_filter *self, const struct ArrowArray *rows, uint8_t *before,
                             uint8_t *after, lcdc_error **err)
{
    LC_FREE struct lc_hash *keys = lc_alloc((size_t)rows->length * sizeof(*keys));
    LC_TRY_ALLOC(keys);
    for (size_t g = 0; g < self->n_groups; g++) {
        LC_TRY(fill_group(self->deletes, self->groups[g], err));
        LC_TRY(group_keys(self, g, rows, keys, err));
        for (int64_t i = 0; i < rows->length; i++) {
            int64_t sequence[2];
            lc_iceberg_key_find(self->groups[g]->set, keys[i], &sequence[0], &sequence[1]);
            before[i] |= sequence[0] > self->sequence;
            after[i] |= sequence[1] > self->sequence;
        }
    }
    return LCDC_OK;
}

static lcdc_status apply_hits(const struct lc_row_filter *filter, const struct ArrowArray *rows,
                              const int64_t *positions, uint8_t *keep, lcdc_error **err)
{
    struct hit_filter *self = (struct hit_filter *)(uintptr_t)filter;
    size_t n = (size_t)rows->length;
    LC_FREE uint8_t *hits = lc_calloc(n, 2);
    LC_TRY_ALLOC(hits);
    LC_TRY(find_hits(self, rows, hits, hits + n, err));
    const uint8_t *own = self->side == LC_ICEBERG_BEFORE ? hits : hits + n;
    const uint8_t *other = self->side == LC_ICEBERG_BEFORE ? hits + n : hits;
    if (self->test == CHANGED && !self->other_dead)
        LC_TRY(
            dead_positions(self->deletes, (enum lc_iceberg_side)(1 - self->side), self->data, &self->other_dead, err));
    for (size_t i = 0; i < n; i++) {
        bool stays = !own[i];
        if (self->test == CHANGED)
            stays = stays && (other[i] || lc_bitmap_contains(self->other_dead, (uint64_t)positions[i]));
        keep[i] &= stays;
    }
    return LCDC_OK;
}

static void filter_release(void *object)
{
    lc_bitmap_free(((struct hit_filter *)object)->other_dead);
}

static lcdc_status add_column(struct lc_row_filter *base, const struct lc_field **columns,
                              const struct lc_field *column, size_t *out)
{
    size_t i = 0;
    while (i < base->n_columns && columns[i] != column)
        i++;
    if (i == base->n_columns)
        columns[base->n_columns++] = column;
    *out = i;
    return LCDC_OK;
}

static lcdc_status new_filter(struct lc_iceberg_deletes *self, enum test test, enum lc_iceberg_side side,
                              const struct lc_iceberg_file *data, struct lc_arena *arena, struct hit_filter **out,
                              lcdc_error **err)
{
    size_t most = 0;
    struct hit_filter *filter = lc_arena_alloc(arena, sizeof(*filter));
    LC_TRY_ALLOC(filter);
    if (!lc_arena_own(arena, filter, filter_release))
        return lc_fail_oom(err);
    filter->groups = lc_arena_array(arena, self->n_groups, sizeof(struct key_group *));
    filter->columns = lc_arena_array(arena, self->n_groups, sizeof(size_t *));
    LC_TRY_ALLOC(filter->groups && filter->columns);
    for (size_t g = 0; g < self->n_groups; g++) {
        bool wanted = group_applies(self->groups[g], data, side) ||
                      (test == CHANGED && group_applies(self->groups[g], data, (enum lc_iceberg_side)(1 - side)));
        if (!wanted)
            continue;
        filter->groups[filter->n_groups++] = self->groups[g];
        most += self->groups[g]->columns.n;
    }
    const struct lc_field **columns = lc_arena_array(arena, most, sizeof(*columns));
    LC_TRY_ALLOC(columns);
    for (size_t g = 0; g < filter->n_groups; g++) {
        const struct lc_iceberg_key_columns *keys = &filter->groups[g]->columns;
        filter->columns[g] = lc_arena_array(arena, keys->n, sizeof(size_t));
        LC_TRY_ALLOC(filter->columns[g]);
        for (size_t i = 0; i < keys->n; i++)
            LC_TRY(add_column(&filter->base, columns, keys->tops[i], &filter->columns[g][i]));
    }
    filter->base.columns = columns;
    filter->base.apply = apply_hits;
    filter->deletes = self;
    filter->test = test;
    filter->side = side;
    filter->sequence = data->data_sequence;
    filter->data = data;
    *out = filter;
    return LCDC_OK;
}

/* ---- row sets ---- */

struct load_context {
    struct lc_iceberg_deletes *deletes;
    const struct lc_iceberg_file *data;
    enum lc_iceberg_side side;
    bool changed; /* include = dead on the other side and not on this; else exclude = dead on this side */
};

static lcdc_status load_positions(struct lc_row_set *set, void *context, lcdc_error **err)
{
    const struct load_context *load = context;
    LC_BITMAP struct lc_bitmap *own = NULL, *other = NULL;
    LC_TRY(dead_positions(load->deletes, load->side, load->data, &own, err));
    if (!load->changed) {
        set->exclude = lc_steal(own);
        return LCDC_OK;
    }
    LC_TRY(dead_positions(load->deletes, (enum lc_iceberg_side)(1 - load->side), load->data, &other, err));
    LC_TRY(lc_bitmap_minus(other, own, err));
    set->include = lc_steal(other);
    return LCDC_OK;
}

static lcdc_status set_load(struct lc_iceberg_deletes *self, enum lc_iceberg_side side, bool changed,
                            const struct lc_iceberg_file *data, struct lc_arena *arena, struct lc_row_set *out,
                            lcdc_error **err)
{
    struct load_context *load = lc_arena_alloc(arena, sizeof(*load));
    LC_TRY_ALLOC(load);
    *load = (struct load_context){.deletes = self, .data = data, .side = side, .changed = changed};
    out->load = load_positions;
    out->load_context = load;
    return LCDC_OK;
}

static lcdc_status set_filter(struct lc_iceberg_deletes *self, enum test test, enum lc_iceberg_side side,
                              const struct lc_iceberg_file *data, struct lc_arena *arena, struct lc_row_set *out,
                              lcdc_error **err)
{
    struct hit_filter *filter;
    const struct lc_row_filter **filters = lc_arena_array(arena, 1, sizeof(*filters));
    LC_TRY_ALLOC(filters);
    LC_TRY(new_filter(self, test, side, data, arena, &filter, err));
    filters[0] = &filter->base;
    out->n_filters = 1;
    out->filters = filters;
    out->rows = -1;
    return LCDC_OK;
}

/* The part of a delete file that is read first: a vector's blob, or the end of a Parquet file, where its footer is. */
static lcdc_status need_file(const struct lc_iceberg_deletes *self, const struct lc_iceberg_file *file,
                             struct lc_arena *arena, struct lc_row_set *out, struct lc_needed *needs, lcdc_error **err)
{
    LC_FREE char *url = NULL;
    LC_FREE char *text = lc_strndup(file->path.p, file->path.n);
    int64_t size = is_vector(file) ? -1 : file->size, n = size < LC_PARQUET_FOOTER ? size : LC_PARQUET_FOOTER;
    struct lc_span first = {.offset = size - n, .n = n};
    if (is_vector(file))
        first = (struct lc_span){.offset = file->content_offset, .n = file->content_size};
    LC_TRY_ALLOC(text);
    LC_TRY(lc_path_map_apply(self->context.path_map, text, &url, err));
    struct lc_needed *need = &needs[out->n_needs];
    *need = (struct lc_needed){.url = lc_arena_strdup(arena, url), .size = size, .n_spans = 1, .spans = {first}};
    LC_TRY_ALLOC(need->url);
    out->n_needs++;
    return LCDC_OK;
}

/* Whether the commit brings or takes away a delete file that says something of this data file. Those that stay were
   brought by an earlier commit. */
static bool is_news_of(const struct delete_file *d, const struct lc_iceberg_file *data, const char *data_path)
{
    if (d->on[0] == d->on[1] || d->is_needed)
        return false;
    if (!d->group)
        return positions_apply(d, data, data_path);
    return d->file->data_sequence > data->data_sequence &&
           (d->group->is_global || lc_iceberg_partition_equal(d->file, data));
}

/* What reading the set reads besides the data file. Distant Parquet files are named once a commit: several sets share
   them, and each is read once. */
static lcdc_status add_needs(struct lc_iceberg_deletes *self, const struct applicable *applies,
                             const struct lc_iceberg_file *data, struct lc_arena *arena, struct lc_row_set *out,
                             lcdc_error **err)
{
    LC_FREE char *path = NULL;
    LC_TRY(data_path(data, &path, err));
    bool is_distant = lc_storage_is_remote(self->context.storage, path);
    struct lc_needed *needs = lc_arena_array(arena, 2 + (is_distant ? self->n_files : 0), sizeof(*needs));
    LC_TRY_ALLOC(needs);
    out->needs = needs;
    for (int side = 0; side < 2; side++)
        if (applies->vector[side] && (side == 0 || applies->vector[0] != applies->vector[1]))
            LC_TRY(need_file(self, applies->vector[side], arena, out, needs, err));
    for (size_t i = 0; is_distant && i < self->n_files; i++) {
        struct delete_file *d = &self->files[i];
        if (!is_news_of(d, data, path))
            continue;
        LC_TRY(need_file(self, d->file, arena, out, needs, err));
        d->is_needed = true;
    }
    return LCDC_OK;
}

lcdc_status lc_iceberg_rows_alive(struct lc_iceberg_deletes *deletes, enum lc_iceberg_side side,
                                  const struct lc_iceberg_file *data, const struct lc_data_file *file,
                                  struct lc_arena *arena, struct lc_row_set *out, lcdc_error **err)
{
    struct applicable applies;
    struct lc_row_set set = {.file = file, .rows = file->rows};
    LC_TRY(what_applies(deletes, data, &applies, err));
    LC_TRY(add_needs(deletes, &applies, data, arena, &set, err));
    if (applies.n[side]) {
        LC_TRY(set_load(deletes, side, false, data, arena, &set, err));
        set.rows = applies.vector[side] && file->rows >= 0 ? file->rows - applies.vector[side]->record_count : -1;
    }
    if (applies.keys[side])
        LC_TRY(set_filter(deletes, ALIVE, side, data, arena, &set, err));
    *out = set;
    return LCDC_OK;
}

lcdc_status lc_iceberg_rows_changed(struct lc_iceberg_deletes *deletes, enum lc_iceberg_side alive,
                                    const struct lc_iceberg_file *data, const struct lc_data_file *file,
                                    struct lc_arena *arena, struct lc_row_set *out, bool *any, lcdc_error **err)
{
    struct applicable applies;
    enum lc_iceberg_side other = (enum lc_iceberg_side)(1 - alive);
    struct lc_row_set set = {.file = file, .rows = -1};
    LC_TRY(what_applies(deletes, data, &applies, err));
    *any = (!applies.same && applies.n[other] > 0) || (!applies.same_keys && applies.keys[other]);
    if (!*any)
        return LCDC_OK;
    LC_TRY(add_needs(deletes, &applies, data, arena, &set, err));
    if (applies.same_keys) { /* keys hit the same rows on both sides: only positions changed */
        LC_TRY(set_load(deletes, alive, true, data, arena, &set, err));
        set.rows = applies.most[other] < file->rows || file->rows < 0 ? applies.most[other] : file->rows; /* at most */
        if (applies.keys[alive])
            LC_TRY(set_filter(deletes, ALIVE, alive, data, arena, &set, err));
    } else {
        if (applies.n[alive])
            LC_TRY(set_load(deletes, alive, false, data, arena, &set, err));
        LC_TRY(set_filter(deletes, CHANGED, alive, data, arena, &set, err));
    }
    *out = set;
    return LCDC_OK;
}

bool lc_iceberg_changed_by_keys(const struct lc_iceberg_deletes *deletes, const struct lc_iceberg_file *data)
{
    struct applicable applies;
    return what_applies(deletes, data, &applies, NULL) == LCDC_OK && !applies.same_keys;
}
