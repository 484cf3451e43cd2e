/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/commit.h"

#include <inttypes.h>
#include <string.h>

#include "iceberg/data_file.h"
#include "iceberg/live.h"
#include "iceberg/range.h"

/* Reserved columns of row lineage (specification, "Reserved Field IDs"). */
enum { ROW_ID = 2147483540, LAST_UPDATED = 2147483539 };

struct builder {
    struct lc_iceberg_planner *planner;
    const struct lc_iceberg_snapshot *snapshot, *before;
    struct lc_commit *commit;
    struct lc_iceberg_list list_before, list_after;
    struct lc_iceberg_files added, removed;
};

static void builder_done(struct builder *b)
{
    lc_iceberg_files_done(&b->added);
    lc_iceberg_files_done(&b->removed);
}

/* ---- row sets ---- */

static lcdc_status whole_files(struct builder *b, const struct lc_iceberg_files *files, size_t *n_out,
                               struct lc_row_set **out, lcdc_error **err)
{
    struct lc_arena *arena = &b->commit->arena;
    struct lc_row_set *sets = lc_arena_array(arena, files->n, sizeof(*sets));
    struct lc_iceberg_file *kept = lc_arena_array(arena, files->n, sizeof(*kept));
    LC_TRY_ALLOC(sets && kept);
    for (size_t i = 0; i < files->n; i++) {
        kept[i] = files->items[i];
        LC_TRY(lc_iceberg_data_file(b->planner->table, b->planner->schema, &kept[i], arena, &sets[i].file, err));
        sets[i].rows = sets[i].file->rows;
    }
    *n_out = files->n;
    *out = sets;
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
    if (!all_have_ids(c->n_removed, c->removed) || !all_have_ids(c->n_added, c->added))
        return;
    c->row_id = &row_id;
    c->row_version_field = &last_updated;
    c->row_version = b->snapshot->sequence;
    c->ids_may_be_lost = true;
}

static void choose_method(struct builder *b)
{
    struct lc_commit *c = b->commit;
    bool removes = c->n_removed > 0, adds = c->n_added > 0;
    if (!removes && !adds)
        c->method = LC_METHOD_NONE;
    else if (removes && adds) {
        c->diff = c->row_id ? LC_DIFF_LINEAGE : LC_DIFF_CONTENT;
        c->method = c->row_id ? LC_METHOD_LINEAGE_DIFF : LC_METHOD_CONTENT_DIFF;
    } else {
        c->method = removes ? LC_METHOD_WHOLE_FILES : LC_METHOD_APPEND;
    }
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

/* Rows that delete files hide are not left out yet: a table that has any is refused. */
static lcdc_status check_deletes(const struct lc_iceberg_list *list, lcdc_error **err)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->manifests[i].is_deletes)
            return lc_fail(err, LC_R_ICEBERG_DATA_FORMAT, "the table has delete files, which cannot be read yet");
    return LCDC_OK;
}

static lcdc_status plan(struct builder *b, lcdc_error **err)
{
    struct lc_iceberg_table *table = b->planner->table;
    struct lc_commit *c = b->commit;
    LC_TRY(lc_iceberg_list_read(table, b->snapshot, &c->arena, &b->list_after, err));
    LC_TRY(lc_iceberg_list_read(table, b->before, &c->arena, &b->list_before, err));
    LC_TRY(check_deletes(&b->list_after, err));
    LC_TRY(check_deletes(&b->list_before, err));
    if (b->before || b->snapshot->parent_id < 0)
        LC_TRY(
            lc_iceberg_data_difference(table, &b->list_before, &b->list_after, &c->arena, &b->added, &b->removed, err));
    else
        LC_TRY(lc_iceberg_data_added(table, &b->list_after, b->snapshot->id, &c->arena, &b->added, err));
    LC_TRY(whole_files(b, &b->removed, &c->n_removed, &c->removed, err));
    LC_TRY(whole_files(b, &b->added, &c->n_added, &c->added, err));
    set_row_ids(b);
    choose_method(b);
    return LCDC_OK;
}

lcdc_status lc_iceberg_plan_commit(struct lc_iceberg_planner *planner, const struct lc_iceberg_snapshot *snapshot,
                                   const struct lc_iceberg_snapshot *before, struct lc_commit *out, lcdc_error **err)
{
    LC_CLEANUP(builder_done)
    struct builder b = {.planner = planner, .snapshot = snapshot, .before = before, .commit = out};
    LC_TRY(set_head(snapshot, out, err));
    if (strcmp(snapshot->operation, "replace") == 0) {
        out->detail = "files were rewritten, no rows changed";
        return LCDC_OK;
    }
    lcdc_status status = plan(&b, err);
    if (status != LCDC_OK && status != LCDC_OUT_OF_MEMORY)
        lc_error_prefix(err, "snapshot %" PRId64, snapshot->id);
    return status;
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
    LC_TRY(lc_iceberg_list_read(planner->table, snapshot, &out->arena, &b.list_after, err));
    LC_TRY(check_deletes(&b.list_after, err));
    LC_TRY(lc_iceberg_data_live(planner->table, &b.list_after, &out->arena, &b.added, err));
    LC_TRY(whole_files(&b, &b.added, &out->n_added, &out->added, err));
    out->method = LC_METHOD_APPEND;
    return LCDC_OK;
}
