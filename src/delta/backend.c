/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/backend.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "delta/commit.h"
#include "delta/range.h"
#include "delta/schema.h"
#include "scan/source_storage.h"
#include "scan/table_read.h"

/* How long a listing is kept, in seconds, and of how many commits: a process may have a thousand tables open. */
enum { LISTED_FOR = 300, MOST_HELD = 4096 };

/* ---- source ---- */

struct source {
    struct lc_storage *storage;
    struct lc_meter meter;
    struct lc_path_map path_map;
    char *root;
    /* what earlier reads have learned: one that follows looks only for what is new */
    struct lc_delta_log *log;
    int64_t listed_at;           /* seconds of a clock that only rises */
    struct lc_delta_state known; /* at its version; metadata.schema.n 0: none is */
    struct lc_arena arena;       /* of `known`: it grows when the table's metadata changes */
};

static void delta_close(void *handle)
{
    struct source *source = handle;
    if (!source)
        return;
    lc_delta_log_free(source->log);
    lc_arena_done(&source->arena);
    lc_storage_free(source->storage);
    lc_path_map_done(&source->path_map);
    lc_free(source->root);
    lc_free(source);
}

static void source_freep(struct source **source)
{
    delta_close(*source);
}

static lcdc_status open_source(const lcdc_request *request, struct source **out, lcdc_error **err)
{
    LC_CLEANUP(source_freep) struct source *source = lc_calloc(1, sizeof(*source));
    LC_TRY_ALLOC(source);
    LC_TRY(lc_location_normalise(request->table, &source->root, err));
    for (size_t i = 0; i < request->path_map.n; i++)
        LC_TRY(lc_path_map_add(&source->path_map, request->path_map.items[i], err));
    LC_TRY(lc_source_storage(request, &source->meter, &source->storage, err));
    *out = lc_steal(source);
    return LCDC_OK;
}

/* What the probe has opened and listed is taken over. */
static lcdc_status delta_open(const lcdc_request *request, void **out, lcdc_error **err)
{
    struct source *source = NULL;
    if (request->shared && request->shared->object && request->shared->release == delta_close)
        source = lc_steal(request->shared->object);
    else
        LC_TRY(open_source(request, &source, err));
    *out = source;
    return LCDC_OK;
}

/* ---- the log ---- */

static int64_t now(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static void forget_log(struct source *source)
{
    lc_delta_log_free(lc_steal(source->log));
    source->known = (struct lc_delta_state){0};
}

/* A gap behind the newest commit shows in a listing alone, so one is made from time to time. */
static lcdc_status source_log(struct source *source, struct lc_delta_log **out, lcdc_error **err)
{
    bool is_whole = false;
    if (source->log && now() - source->listed_at < LISTED_FOR)
        LC_TRY(lc_delta_log_refresh(source->log, &is_whole, err));
    if (!is_whole) {
        forget_log(source);
        LC_TRY(lc_delta_log_open(source->storage, source->root, &source->log, err));
        source->listed_at = now();
    }
    *out = lc_delta_log_ref(source->log);
    return LCDC_OK;
}

/* The state at the end of a read, for the next one to begin with. */
static lcdc_status remember(struct source *source, const struct lc_delta_state *state, int64_t version,
                            lcdc_error **err)
{
    if (source->known.metadata.schema.n && version < source->known.version)
        return LCDC_OK;
    bool is_same = source->known.metadata.schema.n && state->metadata.schema.p == source->known.metadata.schema.p &&
                   state->protocol.reader_features == source->known.protocol.reader_features;
    if (!is_same)
        LC_TRY(lc_delta_state_copy(state, &source->arena, &source->known, err));
    source->known.version = version;
    return LCDC_OK;
}

static lcdc_status delta_probe(const lcdc_request *request, struct lc_arena *arena, struct lc_candidate *out,
                               lcdc_error **err)
{
    LC_CLEANUP(source_freep) struct source *source = NULL;
    LC_ERROR lcdc_error *problem = NULL;
    LC_CLEANUP(lc_delta_log_freep) struct lc_delta_log *log = NULL;
    *out = (struct lc_candidate){.format = "delta"};
    if (strncmp(request->table, "sc://", 5) == 0) {
        *out = (struct lc_candidate){.format = "delta", .absent = true, .reason = "the location is a Spark server"};
        return LCDC_OK;
    }
    if (strncmp(request->table, "http://", 7) == 0 || strncmp(request->table, "https://", 8) == 0) {
        *out = (struct lc_candidate){.format = "delta", .absent = true, .reason = "the location is a catalog"};
        return LCDC_OK;
    }
    lcdc_status status = open_source(request, &source, &problem);
    if (status == LCDC_OK)
        status = source_log(source, &log, &problem);
    if (status == LCDC_OUT_OF_MEMORY)
        return lc_fail_oom(err);
    out->usable = status == LCDC_OK;
    out->absent = status == LCDC_NOT_FOUND;
    out->reason = out->usable ? "Delta log read straight from storage"
                              : lc_arena_strdup(arena, lcdc_error_message(problem));
    LC_TRY_ALLOC(out->reason);
    if (out->usable && request->shared && !request->shared->object) {
        request->shared->object = lc_steal(source);
        request->shared->release = delta_close;
    }
    return LCDC_OK;
}

/* ---- read ---- */

struct delta_read {
    struct lc_table_read table;
    struct lc_arena arena;
    struct source *source;
    struct lc_delta_log *log;
    struct lc_delta_timeline timeline;
    struct lc_delta_range range;
    struct lc_delta_planner planner;
    struct lc_field schema;
};

static lcdc_status read_commit(struct lc_table_read *table, int64_t index, struct lc_commit *out, lcdc_error **err)
{
    struct delta_read *self = (struct delta_read *)table;
    return lc_delta_plan_commit(&self->planner, self->range.from + index, out, err);
}

static lcdc_status read_state(struct lc_table_read *table, bool at_end, struct lc_commit *out, lcdc_error **err)
{
    struct delta_read *self = (struct delta_read *)table;
    return lc_delta_plan_state(&self->planner, at_end ? self->range.to : self->range.from - 1, out, err);
}

static const char *read_stamp(const struct lc_table_read *table, int64_t version)
{
    return lc_delta_log_stamp(((const struct delta_read *)table)->log, version);
}

static void read_release(struct lc_table_read *table)
{
    struct delta_read *self = (struct delta_read *)table;
    if (self->source->log && self->source->log->n_commits > MOST_HELD)
        forget_log(self->source);
    lc_delta_planner_done(&self->planner);
    lc_delta_timeline_done(&self->timeline);
    lc_delta_log_free(self->log);
    lc_arena_done(&self->arena);
    lc_free(self);
}

/* With --bootstrap and no start given, the oldest state of the log may have lost files to VACUUM: the first later one
   whose files are all there is taken instead. */
static lcdc_status find_whole_snapshot(struct delta_read *self, const struct source *source, lcdc_error **err)
{
    LC_CLEANUP(lc_delta_snapshot_done) struct lc_delta_snapshot snapshot = {0};
    LC_TRY(lc_delta_snapshot_read(self->log, self->range.from - 1, NULL, &snapshot, err));
    for (; self->range.from - 1 <= self->range.to; self->range.from++) {
        bool whole = true;
        LC_TRY(lc_delta_snapshot_advance(self->log, &snapshot, self->range.from - 1, err));
        for (size_t i = 0; i < snapshot.n; i++) {
            struct lc_delta_entry *entry = &snapshot.entries[i];
            struct lc_file_info info = {0};
            const struct lc_data_file *file;
            LC_ARENA struct lc_arena arena = {0};
            if (!entry->is_live || entry->is_present)
                continue;
            LC_TRY(lc_delta_data_file(&self->planner.files, &entry->file, &arena, &file, err));
            lcdc_status status = lc_storage_stat(source->storage, file->url, &info, err);
            lc_free(info.name);
            if (status != LCDC_OK && status != LCDC_NOT_FOUND)
                return status;
            entry->is_present = status == LCDC_OK;
            whole = whole && entry->is_present;
        }
        if (whole)
            return LCDC_OK;
    }
    return lc_fail(err, LC_R_DATA_FILE_GONE,
                   "no version up to %" PRId64 " has all its files left, a snapshot cannot be read", self->range.to);
}

static lcdc_status resolve(struct delta_read *self, struct source *source, const lcdc_request *request,
                           lcdc_error **err)
{
    LC_TRY(source_log(source, &self->log, err));
    self->log->asked = request->asked;
    LC_TRY(lc_delta_range_resolve(self->log, request, &self->range, err));
    struct lc_delta_range *range = &self->range;
    bool empty = range->to < range->from;
    int64_t last = empty ? range->from - 1 : range->to;
    /* the state before the range is needed too where rows of it may be asked for; an empty range needs the schema only
     */
    last = last < 0 ? 0 : last;
    int64_t first = empty ? last : range->from;
    if (empty || request->cursor || request->bootstrap) /* then a cursor may stand there */
        LC_TRY(lc_delta_log_want_stamp(self->log, range->from - 1, err));
    bool is_known = source->known.metadata.schema.n && source->known.version <= first;
    LC_TRY(lc_delta_timeline_read(self->log, is_known ? &source->known : NULL, first, last, &self->timeline, err));
    const struct lc_delta_state *end = lc_delta_timeline_at(&self->timeline, last);
    LC_TRY(remember(source, end, last, err));
    LC_TRY(lc_delta_schema_parse(&end->metadata, &self->arena, &self->schema, &self->table.context.match, err));
    self->planner = (struct lc_delta_planner){
        .log = self->log,
        .timeline = &self->timeline,
        .last = range->to,
        .files = {
            .root = source->root, .path_map = &source->path_map, .storage = source->storage, .schema = &self->schema}};
    if (request->bootstrap && request->from.kind == LC_BOUND_START)
        LC_TRY(find_whole_snapshot(self, source, err));
    struct lc_read *read = &self->table.read;
    read->schema = &self->schema;
    read->format = "delta";
    read->table_id = lc_arena_strndup(&self->arena, end->metadata.id.p, end->metadata.id.n);
    LC_TRY_ALLOC(read->table_id);
    read->n_commits = range->to < range->from ? 0 : range->to - range->from + 1;
    read->empty = read->n_commits == 0;
    read->last_commit = read->empty ? range->from - 1 : range->to;
    return LCDC_OK;
}

static lcdc_status fill_read(struct delta_read *self, struct source *source, const lcdc_request *request,
                             lcdc_error **err)
{
    lcdc_status status = resolve(self, source, request, err);
    if (self->log)
        self->log->asked = NULL; /* the source keeps the log */
    return status;
}

static lcdc_status delta_read_open(void *handle, const lcdc_request *request, struct lc_read **out, lcdc_error **err)
{
    static const struct lc_table_read_ops ops = {
        .commit = read_commit, .state = read_state, .release = read_release, .stamp = read_stamp};
    struct source *source = handle;
    struct delta_read *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->source = source;
    self->table.ops = &ops;
    self->table.unit = "version";
    self->table.meter = &source->meter;
    self->table.context.storage = source->storage;
    lc_table_read_init(&self->table);
    lcdc_status status = fill_read(self, source, request, err);
    if (status != LCDC_OK)
        read_release(&self->table);
    else
        *out = &self->table.read;
    return status;
}

static lcdc_status delta_tip(void *handle, const char *before, struct lc_buf *out, lcdc_error **err)
{
    struct source *source = handle;
    return lc_delta_log_tip(source->storage, source->root, before, out, err);
}

const struct lc_backend lc_delta_backend = {.abi = LC_BACKEND_ABI,
                                            .size = sizeof(struct lc_backend),
                                            .name = "direct",
                                            .probe = delta_probe,
                                            .open = delta_open,
                                            .read_open = delta_read_open,
                                            .close = delta_close,
                                            .tip = delta_tip};
