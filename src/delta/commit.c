/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules (protocol, "Change Data Files" and "Deletion Vectors"): a version with cdc actions is read from those alone;
 * otherwise adds are inserted rows and removes deleted rows, dataChange=false aside; the same path on both sides is a
 * change of its vector. Where the change feed was on, that is the whole answer. Where it was off, rewritten files carry
 * rows that did not change: they are told by row id where the writer kept ids, else by content.
 */
#include "delta/commit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Commits whose incomplete actions are looked up in one reading of the table's state. */
enum { LOOK_AHEAD = 1000 };

struct file_list {
    size_t n, cap;
    struct lc_delta_file *items;
};

struct collected {
    struct file_list adds, removes, changes;
    struct lc_delta_commit_info info;
};

static void collected_done(struct collected *c)
{
    lc_free(c->adds.items);
    lc_free(c->removes.items);
    lc_free(c->changes.items);
}

static lcdc_status push_file(struct file_list *list, const struct lc_delta_file *file, lcdc_error **err)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        struct lc_delta_file *items = lc_realloc(list->items, cap, sizeof(*items));
        LC_TRY_ALLOC(items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = *file;
    return LCDC_OK;
}

static lcdc_status collect(void *context, const struct lc_delta_action *action, lcdc_error **err)
{
    struct collected *c = context;
    switch (action->kind) {
    case LC_DELTA_ADD:
        return push_file(&c->adds, &action->file, err);
    case LC_DELTA_REMOVE:
        return push_file(&c->removes, &action->file, err);
    case LC_DELTA_CDC:
        return push_file(&c->changes, &action->file, err);
    case LC_DELTA_COMMIT_INFO:
        c->info = action->commit_info;
        return LCDC_OK;
    case LC_DELTA_METADATA:
    case LC_DELTA_PROTOCOL:
    case LC_DELTA_SIDECAR:
    case LC_DELTA_CHECKPOINT_METADATA:
    case LC_DELTA_OTHER:
        return LCDC_OK;
    }
    return LCDC_OK;
}

static int compare_paths(const void *a, const void *b)
{
    const struct lc_delta_file *x = a, *y = b;
    return lc_str_cmp(x->path, y->path);
}

static lcdc_status sort_files(struct file_list *list, const char *action, lcdc_error **err)
{
    if (list->n)
        qsort(list->items, list->n, sizeof(*list->items), compare_paths);
    for (size_t i = 1; i < list->n; i++)
        if (lc_str_eq(list->items[i].path, list->items[i - 1].path))
            return lc_fail(err, LC_R_DELTA_LOG_BAD, "two %s actions for %s, a commit has at most one", action,
                           list->items[i].path.p);
    return LCDC_OK;
}

/* ---- what an action leaves out ---- */

static bool is_lean(const struct lc_delta_file *remove)
{
    return remove->data_change && (!remove->has_partition_values || remove->base_row_id < 0);
}

static lcdc_status note_lean(void *context, const struct lc_delta_action *action, lcdc_error **err)
{
    return action->kind == LC_DELTA_REMOVE && is_lean(&action->file)
               ? lc_delta_paths_add(context, action->file.path, err)
               : LCDC_OK;
}

/* The files that this commit and those after it may ask for: a table has many more. */
static lcdc_status find_lean(struct lc_delta_planner *planner, int64_t version, lcdc_error **err)
{
    lc_delta_planner_done(planner);
    int64_t last = planner->last - version < LOOK_AHEAD ? planner->last : version + LOOK_AHEAD;
    for (int64_t v = version; v <= last || v == version; v++) {
        LC_ARENA struct lc_arena scratch = {0};
        LC_ERROR lcdc_error *problem = NULL;
        lcdc_status status = lc_delta_commit_visit(planner->log, v, &scratch, note_lean, &planner->lean, &problem);
        if (status == LCDC_OUT_OF_MEMORY)
            return lc_fail_oom(err);
        if (status != LCDC_OK)
            break; /* that commit's own planning tells what is wrong with it */
        planner->lean_to = v;
    }
    lc_delta_paths_sort(&planner->lean);
    return LCDC_OK;
}

static lcdc_status state_before(struct lc_delta_planner *planner, int64_t version, lcdc_error **err)
{
    if (planner->has_before && planner->before.version <= version - 1 && version <= planner->lean_to)
        return lc_delta_snapshot_advance(planner->log, &planner->before, version - 1, err);
    LC_TRY(find_lean(planner, version, err));
    LC_TRY(lc_delta_snapshot_read(planner->log, version - 1, &planner->lean, &planner->before, err));
    planner->has_before = true;
    return LCDC_OK;
}

/* A remove may lack partition values, statistics and row ids (unless extendedFileMetadata): the add it undoes has them.
 */
static lcdc_status complete_remove(struct lc_delta_planner *planner, int64_t version, bool partitioned, bool row_ids,
                                   struct lc_delta_file *file, lcdc_error **err)
{
    bool must = partitioned && !file->has_partition_values, wants = row_ids && file->base_row_id < 0;
    if (!must && !wants)
        return LCDC_OK;
    LC_ERROR lcdc_error *problem = NULL;
    lcdc_status status = state_before(planner, version, &problem);
    const struct lc_delta_file *added = status == LCDC_OK ? lc_delta_snapshot_find(&planner->before, file) : NULL;
    if (added) {
        struct lc_delta_file whole = *added;
        whole.data_change = file->data_change;
        *file = whole;
        return LCDC_OK;
    }
    if (!must || status == LCDC_OUT_OF_MEMORY)
        return status == LCDC_OUT_OF_MEMORY ? lc_fail_oom(err) : LCDC_OK;
    return lc_fail(err, status == LCDC_OK ? LC_R_DELTA_LOG_BAD : LC_R_DELTA_VERSION_GONE,
                   "the remove of %s has no partition values, and the add that had them %s", file->path.p,
                   status == LCDC_OK ? "is not in the log" : "lies in a part of the log that has been cleaned up");
}

/* ---- row sets ---- */

static lcdc_status copy_texts(struct lc_arena *arena, const struct lc_delta_file *file, struct lc_delta_file *out,
                              lcdc_error **err)
{
    /* what complete_remove() took from the earlier state must live as long as the commit */
    struct lc_delta_pair *pairs = lc_arena_array(arena, file->n_partition_values, sizeof(*pairs));
    LC_TRY_ALLOC(pairs);
    *out = *file;
    for (size_t i = 0; i < file->n_partition_values; i++) {
        pairs[i].is_null = file->partition_values[i].is_null;
        if (!lc_arena_str(arena, file->partition_values[i].key, &pairs[i].key) ||
            !lc_arena_str(arena, file->partition_values[i].value, &pairs[i].value))
            return lc_fail_oom(err);
    }
    out->partition_values = pairs;
    if (!lc_arena_str(arena, file->path, &out->path) || !lc_arena_str(arena, file->stats, &out->stats) ||
        !lc_arena_str(arena, file->vector.path_or_inline, &out->vector.path_or_inline))
        return lc_fail_oom(err);
    return LCDC_OK;
}

struct builder {
    struct lc_delta_planner *planner;
    struct lc_commit *commit;
    size_t n_pairs; /* same path on both sides, other vector */
    size_t n_whole; /* other files */
    bool row_ids;   /* every file carries row ids */
};

static lcdc_status add_set(struct builder *b, struct lc_row_set *sets, size_t *n, const struct lc_delta_file *action,
                           enum lc_delta_rows which, const struct lc_delta_vector *with,
                           const struct lc_delta_vector *without, lcdc_error **err)
{
    const struct lc_data_file *file;
    struct lc_delta_file kept;
    LC_TRY(copy_texts(&b->commit->arena, action, &kept, err));
    LC_TRY(lc_delta_data_file(&b->planner->files, &kept, &b->commit->arena, &file, err));
    b->row_ids = b->row_ids && file->has_row_ids;
    return lc_delta_row_set(&b->planner->files, file, which, with, without, &b->commit->arena, &sets[(*n)++], err);
}

static lcdc_status add_pair(struct builder *b, const struct lc_delta_file *old, const struct lc_delta_file *new,
                            lcdc_error **err)
{
    struct lc_commit *c = b->commit;
    if ((!old->data_change && !new->data_change) || lc_delta_vector_equal(&old->vector, &new->vector))
        return LCDC_OK;
    b->n_pairs++;
    if (new->vector.storage)
        LC_TRY(add_set(b, c->removed, &c->n_removed, new, LC_DELTA_ROWS_DIFFERENCE, &new->vector, &old->vector, err));
    if (old->vector.storage)
        LC_TRY(add_set(b, c->added, &c->n_added, new, LC_DELTA_ROWS_DIFFERENCE, &old->vector, &new->vector, err));
    return LCDC_OK;
}

static lcdc_status add_whole(struct builder *b, bool removed, const struct lc_delta_file *file, lcdc_error **err)
{
    struct lc_commit *c = b->commit;
    if (!file->data_change)
        return LCDC_OK;
    b->n_whole++;
    if (removed)
        return add_set(b, c->removed, &c->n_removed, file, LC_DELTA_ROWS_ALIVE, NULL, &file->vector, err);
    return add_set(b, c->added, &c->n_added, file, LC_DELTA_ROWS_ALIVE, NULL, &file->vector, err);
}

/* Merges the two sorted lists: a path on both sides is a pair. */
static lcdc_status build_sides(struct builder *b, const struct collected *from, lcdc_error **err)
{
    size_t i = 0, k = 0, most = from->adds.n + from->removes.n;
    b->commit->removed = lc_arena_array(&b->commit->arena, most, sizeof(struct lc_row_set));
    b->commit->added = lc_arena_array(&b->commit->arena, most, sizeof(struct lc_row_set));
    LC_TRY_ALLOC(b->commit->removed && b->commit->added);
    while (i < from->removes.n || k < from->adds.n) {
        const struct lc_delta_file *old = i < from->removes.n ? &from->removes.items[i] : NULL;
        const struct lc_delta_file *new = k < from->adds.n ? &from->adds.items[k] : NULL;
        int order = old && new ? lc_str_cmp(old->path, new->path) : old ? -1 : 1;
        if (old && new &&order == 0)
            LC_TRY(add_pair(b, old, new, err));
        else if (old && order < 0)
            LC_TRY(add_whole(b, true, old, err));
        else if (new)
            LC_TRY(add_whole(b, false, new, err));
        i += order <= 0;
        k += order >= 0;
    }
    return LCDC_OK;
}

static lcdc_status build_changes(struct builder *b, const struct collected *from, lcdc_error **err)
{
    struct lc_commit *c = b->commit;
    static const struct lc_delta_vector no_vector = {0};
    struct lc_field *op = lc_arena_alloc(&c->arena, sizeof(*op));
    c->changes = lc_arena_array(&c->arena, from->changes.n, sizeof(struct lc_row_set));
    LC_TRY_ALLOC(op && c->changes);
    *op = (struct lc_field){
        .name = "_change_type", .physical = "_change_type", .id = LC_NO_ID, .type = {.kind = LC_TYPE_STRING}};
    c->change_type = op;
    for (size_t i = 0; i < from->changes.n; i++)
        LC_TRY(
            add_set(b, c->changes, &c->n_changes, &from->changes.items[i], LC_DELTA_ROWS_ALIVE, NULL, &no_vector, err));
    c->method = LC_METHOD_CDF_FILES;
    return LCDC_OK;
}

/* ---- method ---- */

static lcdc_status hidden_column(struct lc_commit *c, const struct lc_delta_metadata *metadata, const char *key,
                                 const struct lc_field **out, lcdc_error **err)
{
    struct lc_str name = lc_delta_configuration(metadata, key);
    struct lc_field *field = lc_arena_alloc(&c->arena, sizeof(*field));
    char *text = lc_arena_strndup(&c->arena, name.p, name.n);
    LC_TRY_ALLOC(field && text);
    *field = (struct lc_field){.name = text, .physical = text, .id = LC_NO_ID, .type = {.kind = LC_TYPE_INT64}};
    *out = name.n ? field : NULL;
    return LCDC_OK;
}

static lcdc_status set_row_ids(struct builder *b, const struct lc_delta_metadata *metadata, int64_t version,
                               lcdc_error **err)
{
    struct lc_commit *c = b->commit;
    if (!b->row_ids || !lc_delta_is_true(metadata, "delta.enableRowTracking"))
        return LCDC_OK;
    LC_TRY(hidden_column(c, metadata, "delta.rowTracking.materializedRowIdColumnName", &c->row_id, err));
    LC_TRY(hidden_column(c, metadata, "delta.rowTracking.materializedRowCommitVersionColumnName", &c->row_version_field,
                         err));
    if (!c->row_version_field)
        c->row_id = NULL;
    c->row_version = version;
    return LCDC_OK;
}

static void choose_method(struct builder *b, const struct collected *from, bool change_feed)
{
    struct lc_commit *c = b->commit;
    bool removes = c->n_removed > 0, adds = c->n_added > 0;
    if (!removes && !adds) {
        c->method = LC_METHOD_NONE;
        return;
    }
    if (removes && adds && !change_feed)
        c->diff = c->row_id && from->info.row_ids_preserved ? LC_DIFF_LINEAGE : LC_DIFF_CONTENT;
    if (removes && adds && change_feed)
        c->detail = "the change feed was on: every removed row is a delete, every added row an insert";
    if (b->n_pairs && b->n_whole == 0)
        c->method = LC_METHOD_VECTOR_DIFF;
    else if (c->diff == LC_DIFF_LINEAGE)
        c->method = LC_METHOD_LINEAGE_DIFF;
    else if (b->n_pairs)
        c->method = LC_METHOD_VECTOR_DIFF;
    else if (c->diff == LC_DIFF_CONTENT)
        c->method = LC_METHOD_CONTENT_DIFF;
    else
        c->method = removes ? LC_METHOD_WHOLE_FILES : LC_METHOD_APPEND;
}

/* ---- commits and states ---- */

void lc_delta_planner_done(struct lc_delta_planner *planner)
{
    if (planner->has_before)
        lc_delta_snapshot_done(&planner->before);
    planner->has_before = false;
    lc_delta_paths_done(&planner->lean);
}

static lcdc_status set_time(struct lc_delta_planner *planner, int64_t version, const struct lc_delta_state *state,
                            struct lc_commit *out, lcdc_error **err)
{
    int64_t ts_ms = 0;
    out->snapshot = version;
    LC_TRY(lc_delta_commit_time(planner->log, state, version, &ts_ms, &out->has_ts, err));
    if (__builtin_mul_overflow(ts_ms, 1000, &out->ts_us))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "version %" PRId64 ": commit time %" PRId64 " ms is out of range",
                       version, ts_ms);
    return LCDC_OK;
}

static lcdc_status plan_collected(struct lc_delta_planner *planner, int64_t version, struct collected *from,
                                  struct lc_commit *out, lcdc_error **err)
{
    const struct lc_delta_state *state = lc_delta_timeline_at(planner->timeline, version);
    const struct lc_delta_metadata *metadata = &state->metadata;
    bool row_tracking = lc_delta_is_true(metadata, "delta.enableRowTracking");
    struct builder b = {.planner = planner, .commit = out, .row_ids = true};
    out->operation = lc_arena_strndup(&out->arena, from->info.operation.p, from->info.operation.n);
    LC_TRY_ALLOC(out->operation);
    LC_TRY(set_time(planner, version, state, out, err));
    if (from->changes.n)
        return build_changes(&b, from, err);
    for (size_t i = 0; i < from->removes.n; i++)
        if (from->removes.items[i].data_change)
            LC_TRY(complete_remove(planner, version, metadata->n_partition_columns > 0, row_tracking,
                                   &from->removes.items[i], err));
    LC_TRY(sort_files(&from->adds, "add", err));
    LC_TRY(sort_files(&from->removes, "remove", err));
    LC_TRY(build_sides(&b, from, err));
    LC_TRY(set_row_ids(&b, metadata, version, err));
    choose_method(&b, from, lc_delta_is_true(metadata, "delta.enableChangeDataFeed"));
    return LCDC_OK;
}

lcdc_status lc_delta_plan_commit(struct lc_delta_planner *planner, int64_t version, struct lc_commit *out,
                                 lcdc_error **err)
{
    LC_CLEANUP(collected_done) struct collected from = {0};
    LC_TRY(lc_delta_commit_visit(planner->log, version, &out->arena, collect, &from, err));
    lcdc_status status = plan_collected(planner, version, &from, out, err);
    if (status != LCDC_OK && status != LCDC_OUT_OF_MEMORY)
        lc_error_prefix(err, "version %" PRId64, version);
    return status;
}

lcdc_status lc_delta_plan_state(struct lc_delta_planner *planner, int64_t version, struct lc_commit *out,
                                lcdc_error **err)
{
    LC_CLEANUP(lc_delta_snapshot_done) struct lc_delta_snapshot snapshot = {0};
    struct builder b = {.planner = planner, .commit = out, .row_ids = true};
    out->operation = "";
    out->snapshot = version;
    if (version < 0)
        return LCDC_OK;
    LC_TRY(lc_delta_snapshot_read(planner->log, version, NULL, &snapshot, err));
    LC_TRY(set_time(planner, version, lc_delta_timeline_at(planner->timeline, version), out, err));
    out->added = lc_arena_array(&out->arena, snapshot.n_live, sizeof(struct lc_row_set));
    LC_TRY_ALLOC(out->added);
    for (size_t i = 0; i < snapshot.n; i++) {
        struct lc_delta_file file = snapshot.entries[i].file;
        file.data_change = true;
        if (snapshot.entries[i].is_live)
            LC_TRY(add_whole(&b, false, &file, err));
    }
    out->method = LC_METHOD_APPEND;
    return LCDC_OK;
}
