/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that a snapshot removed lie in files that went, or in files that stayed and are hit by more deletes than before;
 * rows that it added lie in files that came, or in files that stayed and are hit by fewer. A row that was written and
 * deleted by one snapshot was never there: the deletes that hold at its end apply to the files it brought.
 */
#include "iceberg/commit.h"

#include <inttypes.h>
#include <string.h>

#include "iceberg/data_file.h"
#include "iceberg/range.h"
#include "iceberg/stayed.h"

/* Reserved columns of row lineage (specification, "Reserved Field IDs"). */
enum { ROW_ID = 2147483540, LAST_UPDATED = 2147483539 };

enum { CACHE_FRACTION = 4 };

static const char REPLACE[] = "replace"; /* the operation of snapshots that change no rows */

lcdc_status lc_iceberg_planner_init(struct lc_iceberg_planner *planner, struct lc_iceberg_table *table,
                                    const struct lc_field *schema, const struct lc_scan_context *scan,
                                    int64_t memory_limit, lcdc_error **err)
{
    struct lc_iceberg_delete_context context = {.storage = table->storage,
                                                .path_map = table->path_map,
                                                .metadata = table->metadata,
                                                .memory_limit = memory_limit / CACHE_FRACTION,
                                                .scan = scan};
    *planner = (struct lc_iceberg_planner){.table = table, .schema = schema};
    planner->cache.max = (size_t)memory_limit / CACHE_FRACTION;
    return lc_iceberg_deletes_new(&context, &planner->deletes, err);
}

void lc_iceberg_planner_done(struct lc_iceberg_planner *planner)
{
    lc_iceberg_deletes_free(lc_steal(planner->deletes));
    lc_iceberg_cache_done(&planner->cache);
}

struct set_list {
    size_t n, cap;
    struct lc_row_set *items; /* lc_alloc until it is whole */
};

struct builder {
    struct lc_iceberg_planner *planner;
    const struct lc_iceberg_snapshot *snapshot, *before;
    struct lc_commit *commit;
    struct lc_iceberg_step step;
    struct lc_iceberg_files stayed; /* files of both sides whose rows may have changed */
    struct set_list added, removed;
    size_t n_whole;   /* files that came or went */
    size_t n_changed; /* row sets of files that stayed */
    bool by_keys;     /* equality deletes have a part in those */
};

static void builder_done(struct builder *b)
{
    lc_iceberg_files_done(&b->step.added);
    lc_iceberg_files_done(&b->step.removed);
    lc_iceberg_files_done(&b->stayed);
    lc_free(b->added.items);
    lc_free(b->removed.items);
}

/* ---- row sets ---- */

static lcdc_status push_set(struct set_list *list, const struct lc_row_set *set, lcdc_error **err)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        struct lc_row_set *items = lc_realloc(list->items, cap, sizeof(*items));
        LC_TRY_ALLOC(items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = *set;
    return LCDC_OK;
}

static lcdc_status take_sets(const struct set_list *list, struct lc_arena *arena, size_t *n_out,
                             struct lc_row_set **out, lcdc_error **err)
{
    struct lc_row_set *sets = lc_arena_array(arena, list->n, sizeof(*sets));
    LC_TRY_ALLOC(sets);
    if (list->n)
        memcpy(sets, list->items, list->n * sizeof(*sets));
    *n_out = list->n;
    *out = sets;
    return LCDC_OK;
}

/* The rows of files that are there on one side only, as far as they were alive there. */
static lcdc_status add_whole(struct builder *b, const struct lc_iceberg_files *files, enum lc_iceberg_side side,
                             struct set_list *list, lcdc_error **err)
{
    struct lc_arena *arena = &b->commit->arena;
    struct lc_iceberg_file *kept = lc_arena_array(arena, files->n, sizeof(*kept));
    LC_TRY_ALLOC(kept);
    for (size_t i = 0; i < files->n; i++) {
        const struct lc_data_file *file;
        struct lc_row_set set;
        kept[i] = files->items[i];
        LC_TRY(lc_iceberg_data_file(b->planner->table, b->planner->schema, &kept[i], arena, &file, err));
        LC_TRY(lc_iceberg_rows_alive(b->planner->deletes, side, &kept[i], file, arena, &set, err));
        LC_TRY(push_set(list, &set, err));
    }
    b->n_whole += files->n;
    return LCDC_OK;
}

/* ---- files that stayed ---- */

static lcdc_status changed_rows(struct builder *b, const struct lc_iceberg_file *data, struct lc_arena *arena,
                                struct lc_row_set sets[2], bool any[2], lcdc_error **err)
{
    const struct lc_data_file *file;
    LC_TRY(lc_iceberg_data_file(b->planner->table, b->planner->schema, data, arena, &file, err));
    for (int side = 0; side < 2; side++)
        LC_TRY(lc_iceberg_rows_changed(b->planner->deletes, (enum lc_iceberg_side)side, data, file, arena, &sets[side],
                                       &any[side], err));
    return LCDC_OK;
}

static lcdc_status add_changed(struct builder *b, const struct lc_iceberg_file *file, lcdc_error **err)
{
    struct lc_row_set sets[2];
    bool any[2] = {false, false};
    LC_TRY(changed_rows(b, file, &b->commit->arena, sets, any, err));
    if (!any[LC_ICEBERG_BEFORE] && !any[LC_ICEBERG_AFTER])
        return LCDC_OK;
    b->by_keys = b->by_keys || lc_iceberg_changed_by_keys(b->planner->deletes, file);
    b->n_changed++;
    if (any[LC_ICEBERG_BEFORE])
        LC_TRY(push_set(&b->removed, &sets[LC_ICEBERG_BEFORE], err));
    if (any[LC_ICEBERG_AFTER])
        LC_TRY(push_set(&b->added, &sets[LC_ICEBERG_AFTER], err));
    return LCDC_OK;
}

static lcdc_status add_stayed(struct builder *b, lcdc_error **err)
{
    struct lc_arena *arena = &b->commit->arena;
    struct lc_iceberg_file *kept = lc_arena_array(arena, b->stayed.n, sizeof(*kept));
    LC_TRY_ALLOC(kept);
    for (size_t i = 0; i < b->stayed.n; i++) {
        kept[i] = b->stayed.items[i];
        LC_TRY(add_changed(b, &kept[i], err));
    }
    return LCDC_OK;
}

/* ---- method ---- */

static bool all_have_ids(size_t n, const struct lc_row_set *sets)
{
    for (size_t i = 0; i < n; i++)
        if (!sets[i].file->has_row_ids)
            return false;
    return true;
}

static void set_row_ids(struct builder *b)
{
    static const struct lc_field row_id = {
        .name = "_row_id", .physical = "_row_id", .id = ROW_ID, .nullable = true, .type = {.kind = LC_TYPE_INT64}};
    static const struct lc_field last_updated = {.name = "_last_updated_sequence_number",
                                                 .physical = "_last_updated_sequence_number",
                                                 .id = LAST_UPDATED,
                                                 .nullable = true,
                                                 .type = {.kind = LC_TYPE_INT64}};
    struct lc_commit *c = b->commit;
    if (!all_have_ids(c->n_removed, c->removed) || !all_have_ids(c->n_added, c->added)) {
        if (b->planner->table->metadata->version > 2 && c->n_removed && c->n_added)
            c->detail = "files from before the table's upgrade have no row ids";
        return;
    }
    c->row_id = &row_id;
    c->row_version_field = &last_updated;
    c->row_version = b->snapshot->sequence;
    c->ids_may_be_lost = true;
}

static void choose_method(struct builder *b)
{
    struct lc_commit *c = b->commit;
    bool removes = c->n_removed > 0, adds = c->n_added > 0;
    if (!removes && !adds) {
        c->method = LC_METHOD_NONE;
        return;
    }
    if (removes && adds)
        c->diff = c->row_id ? LC_DIFF_LINEAGE : LC_DIFF_CONTENT;
    if (b->by_keys)
        c->method = LC_METHOD_EQUALITY_DELETE;
    else if (b->n_changed && b->n_whole == 0)
        c->method = LC_METHOD_VECTOR_DIFF;
    else if (c->diff == LC_DIFF_LINEAGE)
        c->method = LC_METHOD_LINEAGE_DIFF;
    else if (b->n_changed)
        c->method = LC_METHOD_VECTOR_DIFF;
    else if (c->diff == LC_DIFF_CONTENT)
        c->method = LC_METHOD_CONTENT_DIFF;
    else
        c->method = removes ? LC_METHOD_WHOLE_FILES : LC_METHOD_APPEND;
}

/* ---- commits and states ---- */

static lcdc_status set_head(const struct lc_iceberg_snapshot *snapshot, struct lc_commit *out, lcdc_error **err)
{
    out->operation = lc_arena_strdup(&out->arena, snapshot->operation);
    LC_TRY_ALLOC(out->operation);
    out->snapshot = snapshot->id;
    out->has_ts = !__builtin_mul_overflow(snapshot->ts_ms, 1000, &out->ts_us);
    return LCDC_OK;
}

static lcdc_status read_lists(struct builder *b, lcdc_error **err)
{
    struct lc_iceberg_planner *planner = b->planner;
    struct lc_arena *arena = &b->commit->arena;
    lc_iceberg_manifests_want(planner->table, b->before);
    lc_iceberg_manifests_want(planner->table, b->snapshot);
    LC_TRY(lc_iceberg_list_read(planner->table, b->snapshot, arena, &b->step.after, err));
    LC_TRY(lc_iceberg_list_read(planner->table, b->before, arena, &b->step.before, err));
    lc_iceberg_cache_trim(&planner->cache, &b->step.before, &b->step.after);
    return LCDC_OK;
}

/* The live delete files of a side, as far as they may apply to a file of this commit. */
static lcdc_status read_deletes(struct builder *b, enum lc_iceberg_side side, size_t *n,
                                const struct lc_iceberg_file **out, lcdc_error **err)
{
    const struct lc_iceberg_list *own = side == LC_ICEBERG_BEFORE ? &b->step.before : &b->step.after;
    const struct lc_iceberg_list *other = side == LC_ICEBERG_BEFORE ? &b->step.after : &b->step.before;
    LC_FREE bool *needed = lc_calloc(own->n, sizeof(*needed));
    LC_TRY_ALLOC(needed);
    if (b->before) /* were read to find the files that stayed */
        lc_iceberg_own_deletes(own, other, needed);
    lc_iceberg_deletes_for(own, &b->step.added, needed);
    lc_iceberg_deletes_for(own, &b->step.removed, needed);
    lc_iceberg_deletes_for(own, &b->stayed, needed);
    return lc_iceberg_deletes_live(b->planner->table, &b->planner->cache, own, needed, &b->commit->arena, n, out, err);
}

/* Tells the deletes which delete files are live on the two sides. */
static lcdc_status set_deletes(struct builder *b, lcdc_error **err)
{
    size_t n_before, n_after;
    const struct lc_iceberg_file *before, *after;
    LC_TRY(read_deletes(b, LC_ICEBERG_BEFORE, &n_before, &before, err));
    LC_TRY(read_deletes(b, LC_ICEBERG_AFTER, &n_after, &after, err));
    return lc_iceberg_deletes_set(b->planner->deletes, n_before, before, n_after, after, err);
}

static lcdc_status find_changes(struct builder *b, lcdc_error **err)
{
    struct lc_iceberg_planner *planner = b->planner;
    struct lc_arena *arena = &b->commit->arena;
    struct lc_iceberg_step *step = &b->step;
    LC_TRY(read_lists(b, err));
    if (!b->before && b->snapshot->parent_id >= 0) { /* the parent has been expired: it stands alone */
        LC_TRY(lc_iceberg_data_added(planner->table, &step->after, b->snapshot->id, arena, &step->added, err));
    } else {
        LC_TRY(lc_iceberg_data_difference(planner->table, &step->before, &step->after, arena, &step->added,
                                          &step->removed, err));
        LC_TRY(lc_iceberg_stayed_find(planner->table, &planner->cache, planner->deletes, step, arena, &b->stayed, err));
    }
    LC_TRY(set_deletes(b, err));
    LC_TRY(add_whole(b, &step->removed, LC_ICEBERG_BEFORE, &b->removed, err));
    LC_TRY(add_whole(b, &step->added, LC_ICEBERG_AFTER, &b->added, err));
    return add_stayed(b, err);
}

static lcdc_status plan(struct builder *b, lcdc_error **err)
{
    struct lc_commit *c = b->commit;
    LC_TRY(find_changes(b, err));
    LC_TRY(take_sets(&b->removed, &c->arena, &c->n_removed, &c->removed, err));
    LC_TRY(take_sets(&b->added, &c->arena, &c->n_added, &c->added, err));
    set_row_ids(b);
    choose_method(b);
    return LCDC_OK;
}

static lcdc_status name_snapshot(lcdc_status status, const struct lc_iceberg_snapshot *snapshot, lcdc_error **err)
{
    if (status != LCDC_OK && status != LCDC_OUT_OF_MEMORY)
        lc_error_prefix(err, "snapshot %" PRId64, snapshot->id);
    return status;
}

lcdc_status lc_iceberg_plan_commit(struct lc_iceberg_planner *planner, const struct lc_iceberg_snapshot *snapshot,
                                   const struct lc_iceberg_snapshot *before, struct lc_commit *out, lcdc_error **err)
{
    LC_CLEANUP(builder_done)
    struct builder b = {.planner = planner, .snapshot = snapshot, .before = before, .commit = out};
    LC_TRY(set_head(snapshot, out, err));
    if (strcmp(snapshot->operation, REPLACE) == 0) {
        out->detail = "files were rewritten, no rows changed";
        return LCDC_OK;
    }
    return name_snapshot(plan(&b, err), snapshot, err);
}

static bool is_planned(const struct lc_iceberg_snapshot *snapshot)
{
    return snapshot->manifest_list && strcmp(snapshot->operation, REPLACE) != 0;
}

/* The manifests that a snapshot wrote: those that planning it reads for certain. False when its list cannot be read;
   planning it will say why. */
static bool want_own_manifests(struct lc_iceberg_table *table, const struct lc_iceberg_snapshot *snapshot)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_iceberg_list list;
    if (lc_iceberg_list_read(table, snapshot, &arena, &list, NULL) != LCDC_OK)
        return false;
    for (size_t i = 0, n = 0; i < list.n && n < LC_ICEBERG_MANIFESTS_AHEAD; i++)
        if (list.manifests[i].snapshot_id == snapshot->id) {
            lc_iceberg_manifest_want(table, &list.manifests[i]);
            n++;
        }
    return true;
}

void lc_iceberg_plan_ahead(const struct lc_iceberg_planner *planner, size_t n,
                           const struct lc_iceberg_snapshot *const *snapshots)
{
    for (size_t i = 0; i < n; i++)
        if (is_planned(snapshots[i]))
            lc_iceberg_manifests_want(planner->table, snapshots[i]);
    for (size_t i = 0; i < n; i++)
        if (is_planned(snapshots[i]) && lc_storage_is_remote(planner->table->storage, snapshots[i]->manifest_list) &&
            !want_own_manifests(planner->table, snapshots[i]))
            return; /* a store that does not answer is not asked for the others */
}

static lcdc_status plan_state(struct builder *b, lcdc_error **err)
{
    struct lc_commit *c = b->commit;
    LC_TRY(read_lists(b, err));
    LC_TRY(lc_iceberg_data_live(b->planner->table, &b->step.after, &c->arena, &b->step.added, err));
    LC_TRY(set_deletes(b, err));
    LC_TRY(add_whole(b, &b->step.added, LC_ICEBERG_AFTER, &b->added, err));
    c->method = LC_METHOD_APPEND;
    return take_sets(&b->added, &c->arena, &c->n_added, &c->added, err);
}

lcdc_status lc_iceberg_plan_state(struct lc_iceberg_planner *planner, const struct lc_iceberg_snapshot *snapshot,
                                  struct lc_commit *out, lcdc_error **err)
{
    LC_CLEANUP(builder_done) struct builder b = {.planner = planner, .snapshot = snapshot, .commit = out};
    out->operation = "";
    out->snapshot = -1;
    if (!snapshot)
        return LCDC_OK;
    LC_TRY(set_head(snapshot, out, err));
    return name_snapshot(plan_state(&b, err), snapshot, err);
}
