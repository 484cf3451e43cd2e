/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/table_read.h"

#include <inttypes.h>
#include <string.h>

#include "scan/pushdown.h"
#include "scan/run.h"

/* Files are looked for this many commits or files at a time; a Parquet reader reads that much of a file's end. */
enum { CHECKED_COMMITS = 16, CHECKED_SETS = 1024 };

/* ---- pruning ---- */

/* What a commit is read with: its filter as ranges. Lineage needs both sides whole, so its files are never dropped. */
struct pruning {
    struct lc_arena arena;
    size_t n_ranges;
    const struct lc_range *ranges;
};

static void pruning_done(struct pruning *pruning)
{
    lc_arena_done(&pruning->arena);
}

static lcdc_status pruning_init(struct pruning *pruning, const struct lc_shape *shape, lcdc_error **err)
{
    if (!shape->pushdown)
        return LCDC_OK;
    return lc_pushdown_ranges(shape->filter, &pruning->arena, &pruning->n_ranges, &pruning->ranges, err);
}

/* How many row sets were dropped, by what did it. */
struct pruned {
    int64_t by[LC_PRUNED_BY_COUNT];
};

static lcdc_status prune_sets(const struct pruning *pruning, size_t *n, struct lc_row_set *sets, struct pruned *pruned,
                              lcdc_error **err)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        enum lc_pruned_by by;
        LC_TRY(lc_pushdown_prunes(sets[i].file, pruning->n_ranges, pruning->ranges, &by, err));
        pruned->by[by]++;
        if (by == LC_PRUNED_BY_NOTHING)
            sets[kept++] = sets[i];
    }
    *n = kept;
    return LCDC_OK;
}

static lcdc_status prune_commit(const struct pruning *pruning, struct lc_commit *commit, struct pruned *pruned,
                                lcdc_error **err)
{
    *pruned = (struct pruned){0};
    if (pruning->n_ranges == 0 || commit->diff == LC_DIFF_LINEAGE)
        return LCDC_OK;
    LC_TRY(prune_sets(pruning, &commit->n_removed, commit->removed, pruned, err));
    LC_TRY(prune_sets(pruning, &commit->n_added, commit->added, pruned, err));
    return prune_sets(pruning, &commit->n_changes, commit->changes, pruned, err);
}

static lcdc_status load_commit(struct lc_table_read *self, int64_t index, struct lc_commit *out, lcdc_error **err)
{
    lcdc_status status = self->ops->commit(self, index, out, err);
    if (status != LCDC_OK)
        lc_commit_done(out);
    return status;
}

/* ---- plan ---- */

/* A sum with something unknown in it, or that no metadata can mean, is unknown. */
static void add_known(int64_t *sum, int64_t value)
{
    if (*sum < 0 || value < 0 || __builtin_add_overflow(*sum, value, sum))
        *sum = -1;
}

static void count_sets(size_t n, const struct lc_row_set *sets, lcdc_plan_commit *out)
{
    for (size_t i = 0; i < n; i++) {
        int64_t rows = sets[i].rows >= 0 ? sets[i].rows : sets[i].file->rows;
        out->files++;
        add_known(&out->rows, rows);
        add_known(&out->bytes, sets[i].file->size);
    }
}

static lcdc_status table_plan_next(struct lc_read *read, const struct lc_shape *shape, lcdc_plan_commit *out,
                                   bool *more, lcdc_error **err)
{
    struct lc_table_read *self = (struct lc_table_read *)read;
    *more = self->plan_at < read->n_commits;
    if (!*more) {
        self->plan_at = 0;
        return LCDC_OK;
    }
    LC_COMMIT struct lc_commit commit = {0};
    LC_CLEANUP(pruning_done) struct pruning pruning = {0};
    LC_TRY(load_commit(self, self->plan_at, &commit, err));
    LC_TRY(pruning_init(&pruning, shape, err));
    lcdc_plan_commit made = {.snapshot = commit.snapshot,
                             .ts_us = commit.has_ts ? commit.ts_us : INT64_MIN,
                             .method = lc_method_name(commit.method)};
    struct pruned pruned;
    LC_TRY(prune_commit(&pruning, &commit, &pruned, err));
    made.pruned_by_partition = pruned.by[LC_PRUNED_BY_PARTITION];
    made.pruned_by_statistics = pruned.by[LC_PRUNED_BY_STATISTICS];
    made.files_pruned = made.pruned_by_partition + made.pruned_by_statistics;
    count_sets(commit.n_removed, commit.removed, &made);
    count_sets(commit.n_added, commit.added, &made);
    count_sets(commit.n_changes, commit.changes, &made);
    struct lc_buf detail;
    lc_buf_init(&detail, 4096);
    lc_buf_text(&detail, commit.operation ? commit.operation : "");
    if (commit.detail && *commit.detail)
        lc_buf_printf(&detail, "%s%s", detail.n ? ": " : "", commit.detail);
    made.detail = lc_buf_take(&detail); /* the seam frees it with the plan */
    LC_TRY_ALLOC(made.detail);
    *out = made;
    self->plan_at++;
    return LCDC_OK;
}

/* ---- checks before the first row ---- */

static lcdc_status check_set(struct lc_table_read *self, const struct lc_row_set *set, lcdc_error **err)
{
    struct lc_file_info info = {0};
    LC_TRY(lc_check_cancelled(&self->context, err));
    LC_TRY(lc_storage_stat(self->context.storage, set->file->url, &info, err));
    lc_free(info.name);
    if (info.size >= 0 && set->file->size >= 0 && info.size != set->file->size)
        return lc_fail(err, LC_R_PARQUET_BAD, "%s is %" PRId64 " bytes long, the table's metadata says %" PRId64,
                       set->file->path, info.size, set->file->size);
    for (size_t i = 0; i < set->n_needs; i++) {
        LC_TRY(lc_storage_stat(self->context.storage, set->needs[i].url, &info, err));
        lc_free(info.name);
    }
    return LCDC_OK;
}

static lcdc_status check_sets(struct lc_table_read *self, size_t n, const struct lc_row_set *sets, lcdc_error **err)
{
    for (size_t i = 0; i < n; i++)
        LC_TRY(check_set(self, &sets[i], err));
    return LCDC_OK;
}

/* Some commits whose files are looked for together. */
struct batch {
    size_t n, n_sets;
    struct checked {
        struct lc_commit commit;
        bool is_loaded;
        lcdc_status status;
        lcdc_error *problem;
    } items[CHECKED_COMMITS];
};

static void batch_done(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        lc_commit_done(&batch->items[i].commit);
        lcdc_error_free(batch->items[i].problem);
    }
    batch->n = batch->n_sets = 0;
}

/* What tells that a data file is there is read anyway: its footer. */
static void want_set(struct lc_storage *storage, const struct lc_row_set *set)
{
    int64_t size = set->file->size, n = size < LC_PARQUET_FOOTER ? size : LC_PARQUET_FOOTER;
    struct lc_span footer = {.offset = size - n, .n = n};
    lc_storage_want(storage, set->file->url, size, size >= 0, &footer);
    for (size_t i = 0; i < set->n_needs; i++)
        lc_storage_want(storage, set->needs[i].url, set->needs[i].size, set->needs[i].n_spans, set->needs[i].spans);
}

static void want_sets(struct lc_table_read *self, size_t n, const struct lc_row_set *sets)
{
    for (size_t i = 0; i < n; i++)
        want_set(self->context.storage, &sets[i]);
}

/* Distant files of the commits after one that could be loaded are fetched together. */
static void look_ahead(struct lc_table_read *self, int64_t loaded)
{
    int64_t first = loaded + 1, n = self->read.n_commits - first;
    if (self->ops->ahead && loaded % CHECKED_COMMITS == 0 && n > 0)
        self->ops->ahead(self, first, n < CHECKED_COMMITS ? n : CHECKED_COMMITS);
}

static lcdc_status load_checked(struct lc_table_read *self, const struct pruning *pruning, int64_t index,
                                struct checked *out, lcdc_error **err)
{
    struct lc_commit *commit = &out->commit;
    struct pruned pruned;
    LC_TRY(load_commit(self, index, commit, err));
    look_ahead(self, index);
    out->is_loaded = true;
    LC_TRY(prune_commit(pruning, commit, &pruned, err));
    want_sets(self, commit->n_removed, commit->removed);
    want_sets(self, commit->n_added, commit->added);
    want_sets(self, commit->n_changes, commit->changes);
    return LCDC_OK;
}

static lcdc_status check_commit(struct lc_table_read *self, const struct lc_commit *commit, lcdc_error **err)
{
    LC_TRY(check_sets(self, commit->n_removed, commit->removed, err));
    LC_TRY(check_sets(self, commit->n_added, commit->added, err));
    return check_sets(self, commit->n_changes, commit->changes, err);
}

/* Loads commits from number `first` on, as many as fit, and says which files of theirs will be looked for. */
static void load_batch(struct lc_table_read *self, const struct pruning *pruning, int64_t first, struct batch *out)
{
    while (out->n < CHECKED_COMMITS && out->n_sets < CHECKED_SETS && first < self->read.n_commits) {
        struct checked *item = &out->items[out->n++];
        *item = (struct checked){0};
        item->status = load_checked(self, pruning, first++, item, &item->problem);
        if (item->status != LCDC_OK && item->status != LCDC_NOT_FOUND)
            return; /* the checks end there */
        out->n_sets += item->commit.n_removed + item->commit.n_added + item->commit.n_changes;
    }
}

/* What the checks have come to. */
struct check {
    lcdc_error *found; /* the last commit's that cannot be served */
    int64_t bad, good_from, last;
};

static void check_done(struct check *check)
{
    lcdc_error_free(check->found);
}

static lcdc_status check_batch(struct lc_table_read *self, struct batch *batch, struct check *check, lcdc_error **err)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct checked *item = &batch->items[i];
        if (item->status == LCDC_OK)
            item->status = check_commit(self, &item->commit, &item->problem);
        check->last = item->is_loaded ? item->commit.snapshot : check->last;
        if (item->status == LCDC_OK) {
            check->good_from = check->good_from < 0 ? check->last : check->good_from;
            continue;
        }
        if (item->status != LCDC_NOT_FOUND) {
            if (err) {
                lcdc_error_free(*err);
                *err = lc_steal(item->problem);
            }
            return item->status;
        }
        check->good_from = -1;
        if (!check->found) {
            check->bad = check->last;
            check->found = lc_steal(item->problem);
        }
    }
    return LCDC_OK;
}

/*
 * Every file that will be opened is looked for first, so that a vacuumed one ends the read before its first row. The
 * error names the last commit that cannot be served and the range after it that can.
 */
static lcdc_status check_all(struct lc_table_read *self, const struct lc_shape *shape, lcdc_error **err)
{
    LC_CLEANUP(pruning_done) struct pruning pruning = {0};
    LC_CLEANUP(check_done) struct check check = {.good_from = -1, .last = -1};
    LC_CLEANUP(batch_done) struct batch batch = {0};
    LC_TRY(pruning_init(&pruning, shape, err));
    for (int64_t i = 0; i < self->read.n_commits; i += (int64_t)batch.n) {
        if (shape->asked && *shape->asked)
            return lc_fail(err, LC_R_CANCELLED, "the read was cancelled while it was opened");
        batch_done(&batch);
        load_batch(self, &pruning, i, &batch);
        LC_TRY(check_batch(self, &batch, &check, err));
    }
    if (!check.found)
        return LCDC_OK;
    lcdc_status status = lc_fail(err, LC_R_DATA_FILE_GONE,
                                 "%s %" PRId64 ": %s; it was removed after the commit (vacuum, expiry)", self->unit,
                                 check.bad, lcdc_error_message(check.found));
    lc_error_detail(err, self->unit, "%" PRId64, check.bad);
    if (check.good_from >= 0) {
        lc_error_detail(err, "servable_from", "%" PRId64, check.good_from);
        lc_error_detail(err, "servable_to", "%" PRId64, check.last);
    }
    return status;
}

/* ---- the change stream ---- */

struct commit_stream {
    struct lc_change_stream stream;
    struct lc_table_read *table;
    const struct lc_shape *shape;
    struct pruning pruning;
    int64_t index;
    bool at_state, state_done, at_end; /* a snapshot instead of commits */
    bool loaded;
    bool glance_fails; /* as the last content comparison found: the next commit's changes are likely of that kind too */
    struct lc_commit commit;
    struct lc_run *run;
};

static lcdc_status start_run(struct commit_stream *self, lcdc_error **err)
{
    struct pruned pruned;
    LC_TRY(prune_commit(&self->pruning, &self->commit, &pruned, err));
    struct lc_run_spec spec = {.context = &self->table->context,
                               .shape = self->shape,
                               .commit = &self->commit,
                               .n_ranges = self->pruning.n_ranges,
                               .ranges = self->pruning.ranges,
                               .glance_fails = &self->glance_fails};
    if (self->commit.n_changes)
        return lc_run_changes(&spec, &self->run, err);
    if (self->commit.diff == LC_DIFF_LINEAGE && self->commit.n_removed && self->commit.n_added) {
        LC_TRY(lc_run_lineage(&spec, &self->run, err));
        return self->run ? LCDC_OK : lc_run_content(&spec, &self->run, err);
    }
    if (self->commit.diff != LC_DIFF_NONE && self->commit.n_removed && self->commit.n_added)
        return lc_run_content(&spec, &self->run, err);
    return lc_run_plain(&spec, &self->run, err);
}

static lcdc_status load_next(struct commit_stream *self, bool *more, lcdc_error **err)
{
    struct lc_table_read *table = self->table;
    *more = self->at_state ? !self->state_done : self->index < table->read.n_commits;
    if (!*more)
        return LCDC_OK;
    if (self->at_state)
        LC_TRY(table->ops->state(table, self->at_end, &self->commit, err));
    else {
        LC_TRY(load_commit(table, self->index, &self->commit, err));
        look_ahead(table, self->index);
    }
    self->loaded = true;
    self->state_done = true;
    self->index++;
    return start_run(self, err);
}

static void unload(struct commit_stream *self)
{
    lc_run_free(lc_steal(self->run));
    lc_commit_done(&self->commit);
    self->loaded = false;
}

static lcdc_status stream_step(struct commit_stream *self, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    if (!self->loaded) {
        LC_TRY(load_next(self, more, err));
        if (!*more)
            return LCDC_OK;
    }
    bool rows = false;
    LC_TRY(self->run->ops->next(self->run, out, &rows, err));
    out->snapshot = self->commit.snapshot;
    out->has_snapshot = true;
    out->ts_us = self->commit.ts_us;
    out->has_ts = self->commit.has_ts;
    out->ends_commit = !rows;
    if (!rows)
        unload(self);
    *more = true;
    return LCDC_OK;
}

static lcdc_status commit_stream_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                                      lcdc_error **err)
{
    struct commit_stream *self = (struct commit_stream *)stream;
    lcdc_status status = stream_step(self, out, more, err);
    if (status == LCDC_OK)
        return status;
    if (self->loaded && status != LCDC_CANCELLED && status != LCDC_OUT_OF_MEMORY) {
        lc_error_prefix(err, "%s %" PRId64, self->table->unit, self->commit.snapshot);
        lc_error_detail(err, self->table->unit, "%" PRId64, self->commit.snapshot);
    }
    lc_change_batch_done(out);
    return status;
}

static void commit_stream_release(struct lc_change_stream *stream)
{
    struct commit_stream *self = (struct commit_stream *)stream;
    unload(self);
    pruning_done(&self->pruning);
    lc_free(self);
}

static lcdc_status new_stream(struct lc_table_read *table, const struct lc_shape *shape, struct commit_stream **out,
                              lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {commit_stream_next, commit_stream_release};
    table->context.schema = table->read.schema;
    table->context.cancelled = shape->cancelled;
    table->context.batch_rows = shape->batch_rows;
    table->context.memory_limit = shape->memory_limit;
    table->context.threads = shape->threads;
    struct commit_stream *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->stream.ops = &ops;
    self->table = table;
    self->shape = shape;
    lcdc_status status = pruning_init(&self->pruning, shape, err);
    if (status != LCDC_OK)
        commit_stream_release(&self->stream);
    else
        *out = self;
    return status;
}

static lcdc_status table_changes(struct lc_read *read, const struct lc_shape *shape, struct lc_change_stream **out,
                                 lcdc_error **err)
{
    struct lc_table_read *table = (struct lc_table_read *)read;
    struct commit_stream *self = NULL;
    table->context.cancelled = shape->cancelled;
    LC_TRY(check_all(table, shape, err));
    LC_TRY(new_stream(table, shape, &self, err));
    *out = &self->stream;
    return LCDC_OK;
}

static lcdc_status table_snapshot(struct lc_read *read, bool at_end, const struct lc_shape *shape,
                                  struct lc_change_stream **out, lcdc_error **err)
{
    struct commit_stream *self = NULL;
    LC_TRY(new_stream((struct lc_table_read *)read, shape, &self, err));
    self->at_state = true;
    self->at_end = at_end;
    *out = &self->stream;
    return LCDC_OK;
}

static void table_release(struct lc_read *read)
{
    struct lc_table_read *self = (struct lc_table_read *)read;
    if (self->context.storage)
        lc_storage_forget(self->context.storage);
    if (self->meter)
        lc_meter_counts(self->meter, &self->meter->settled);
    self->ops->release(self);
}

static void table_stats(struct lc_read *read, struct lc_buf *out)
{
    const struct lc_table_read *self = (struct lc_table_read *)read;
    const struct lc_counts *before = &self->before;
    struct lc_counts now;
    if (!self->meter)
        return;
    lc_meter_counts(self->meter, &now);
    lc_buf_printf(out,
                  "\"requests\":%" PRId64 ",\"lists\":%" PRId64 ",\"stats\":%" PRId64 ",\"opens\":%" PRId64
                  ",\"reads\":%" PRId64 ",\"bytes_read\":%" PRId64,
                  now.requests - before->requests, now.lists - before->lists, now.stats - before->stats,
                  now.opens - before->opens, now.reads - before->reads, now.bytes - before->bytes);
    static const char *const names[LC_NOTES] = {[LC_NOTE_ROW_GROUPS] = "row_groups",
                                                [LC_NOTE_ROW_GROUPS_PRUNED] = "row_groups_pruned",
                                                [LC_NOTE_PAGES_PRUNED] = "pages_pruned"};
    for (int i = 0; i < LC_NOTES; i++)
        lc_buf_printf(out, ",\"%s\":%" PRId64, names[i], now.notes[i] - before->notes[i]);
}

static const char *table_stamp(const struct lc_read *read, int64_t commit)
{
    const struct lc_table_read *self = (const struct lc_table_read *)read;
    return self->ops->stamp ? self->ops->stamp(self, commit) : NULL;
}

void lc_table_read_init(struct lc_table_read *self)
{
    static const struct lc_read_ops ops = {.plan_next = table_plan_next,
                                           .changes = table_changes,
                                           .release = table_release,
                                           .snapshot = table_snapshot,
                                           .stamp = table_stamp,
                                           .stats = table_stats};
    self->read.ops = &ops;
    if (self->meter)
        self->before = self->meter->settled;
}
