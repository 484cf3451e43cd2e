/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/table.h"

#include <inttypes.h>
#include <string.h>

#include "delta/schema.h"
#include "delta/version_checksum.h"

/* ---- one commit ---- */

lcdc_status lc_delta_commit_visit(struct lc_delta_log *log, int64_t version, struct lc_arena *arena,
                                  lc_delta_visit visit, void *context, lcdc_error **err)
{
    struct lc_str text, line;
    LC_TRY(lc_delta_log_commit(log, version, &text, err));
    for (int number = 1; lc_delta_next_line(&text, &line); number++) {
        struct lc_delta_action action;
        lcdc_status status = lc_delta_action_parse(line, arena, &action, err);
        if (status == LCDC_OK)
            status = visit(context, &action, err);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "_delta_log/%020" PRId64 ".json, action %d", version, number);
            lc_error_detail(err, "version", "%" PRId64, version);
            return status;
        }
    }
    return LCDC_OK;
}

/* Protocol, metadata and nothing else; lines of other actions are not parsed. */
static lcdc_status visit_state(struct lc_delta_log *log, int64_t version, struct lc_arena *arena,
                               struct lc_delta_state *state, bool *changed, lcdc_error **err)
{
    struct lc_str text, line;
    int n_protocol = 0, n_metadata = 0;
    LC_TRY(lc_delta_log_commit(log, version, &text, err));
    while (lc_delta_next_line(&text, &line)) {
        struct lc_delta_action action;
        enum lc_delta_action_kind kind = lc_delta_action_peek(line);
        if (kind != LC_DELTA_PROTOCOL && kind != LC_DELTA_METADATA)
            continue;
        lcdc_status status = lc_delta_action_parse(line, arena, &action, err);
        if (status == LCDC_OK && action.kind == LC_DELTA_PROTOCOL && n_protocol++ == 0) {
            state->protocol = action.protocol;
            status = lc_delta_protocol_check(&action.protocol, err);
        } else if (status == LCDC_OK && action.kind == LC_DELTA_METADATA && n_metadata++ == 0) {
            state->metadata = action.metadata;
        } else if (status == LCDC_OK) {
            status = lc_fail(err, LC_R_DELTA_LOG_BAD, "a second %s action, a commit has at most one",
                             action.kind == LC_DELTA_PROTOCOL ? "protocol" : "metaData");
        }
        if (status != LCDC_OK) {
            lc_error_prefix(err, "version %" PRId64, version);
            lc_error_detail(err, "version", "%" PRId64, version);
            return status;
        }
    }
    *changed = n_protocol || n_metadata;
    return LCDC_OK;
}

/* ---- timeline ---- */

void lc_delta_timeline_done(struct lc_delta_timeline *timeline)
{
    lc_free(timeline->states);
    lc_arena_done(&timeline->arena);
    *timeline = (struct lc_delta_timeline){0};
}

static lcdc_status push_state(struct lc_delta_timeline *timeline, const struct lc_delta_state *state, lcdc_error **err)
{
    if (timeline->n == timeline->cap) {
        size_t cap = timeline->cap ? timeline->cap * 2 : 8;
        struct lc_delta_state *states = lc_realloc(timeline->states, cap, sizeof(*states));
        LC_TRY_ALLOC(states);
        timeline->states = states;
        timeline->cap = cap;
    }
    timeline->states[timeline->n++] = *state;
    return LCDC_OK;
}

static lcdc_status take_state(void *context, const struct lc_delta_action *action, lcdc_error **err)
{
    struct lc_delta_state *state = context;
    if (action->kind == LC_DELTA_METADATA)
        state->metadata = action->metadata;
    if (action->kind != LC_DELTA_PROTOCOL)
        return LCDC_OK;
    state->protocol = action->protocol;
    return lc_delta_protocol_check(&action->protocol, err);
}

static lcdc_status no_state(const struct lc_delta_log *log, int64_t version, lcdc_error **err)
{
    int64_t oldest = lc_delta_oldest_snapshot(log), whole = lc_delta_log_first_whole(log);
    int64_t first = oldest > whole ? oldest : whole;
    if (oldest < 0)
        return lc_fail(err, LC_R_DELTA_NO_STATE,
                       "%s: the log before version %" PRId64
                       " has been cleaned up and there is no checkpoint to begin from",
                       log->folder, whole);
    lcdc_status status = lc_fail(
        err, LC_R_DELTA_VERSION_GONE,
        "version %" PRId64 " cannot be served: the log before it has been cleaned up and no checkpoint reaches back so "
        "far; the first version that can is %" PRId64,
        version, first);
    lc_error_detail(err, "version", "%" PRId64, version);
    lc_error_detail(err, "servable_from", "%" PRId64, first);
    lc_error_detail(err, "servable_to", "%" PRId64, log->latest);
    return status;
}

static lcdc_status copy_texts(size_t n, const struct lc_str *texts, struct lc_arena *arena, const struct lc_str **out,
                              lcdc_error **err)
{
    struct lc_str *copies = lc_arena_array(arena, n, sizeof(*copies));
    LC_TRY_ALLOC(copies);
    for (size_t i = 0; i < n; i++)
        if (!lc_arena_str(arena, texts[i], &copies[i]))
            return lc_fail_oom(err);
    *out = copies;
    return LCDC_OK;
}

lcdc_status lc_delta_state_copy(const struct lc_delta_state *state, struct lc_arena *arena, struct lc_delta_state *out,
                                lcdc_error **err)
{
    const struct lc_delta_metadata *from = &state->metadata;
    struct lc_delta_metadata *to = &out->metadata;
    struct lc_delta_pair *pairs = lc_arena_array(arena, from->n_configuration, sizeof(*pairs));
    *out = *state;
    if (!pairs || !lc_arena_str(arena, from->id, &to->id) || !lc_arena_str(arena, from->schema, &to->schema))
        return lc_fail_oom(err);
    for (size_t i = 0; i < from->n_configuration; i++) {
        pairs[i].is_null = from->configuration[i].is_null;
        if (!lc_arena_str(arena, from->configuration[i].key, &pairs[i].key) ||
            !lc_arena_str(arena, from->configuration[i].value, &pairs[i].value))
            return lc_fail_oom(err);
    }
    to->configuration = pairs;
    LC_TRY(copy_texts(from->n_partition_columns, from->partition_columns, arena, &to->partition_columns, err));
    return copy_texts(state->protocol.n_reader_features, state->protocol.reader_features, arena,
                      &out->protocol.reader_features, err);
}

/*
 * The state at `first`, or before it: *next is the first commit that it does not know of. A checksum file stands in for
 * a checkpoint and for commits, where that saves more than its own reading; what its commit itself says stands above
 * it.
 */
static lcdc_status read_start(struct lc_delta_log *log, const struct lc_delta_checkpoint *checkpoint, int64_t first,
                              struct lc_arena *arena, struct lc_delta_state *out, int64_t *next, lcdc_error **err)
{
    enum { FEW = 2 };
    struct lc_delta_wanted wanted = {.state = true};
    int64_t after = checkpoint ? checkpoint->version + 1 : 0;
    bool found = false;
    if (lc_delta_log_is_whole(log, after, first))
        LC_TRY(lc_delta_version_checksum_read(log, checkpoint ? after : FEW, first, arena, out, &found, err));
    *next = found ? out->version : after;
    return found || !checkpoint ? LCDC_OK
                                : lc_delta_checkpoint_read(log, checkpoint, &wanted, arena, take_state, out, err);
}

lcdc_status lc_delta_timeline_read(struct lc_delta_log *log, const struct lc_delta_state *known, int64_t first,
                                   int64_t last, struct lc_delta_timeline *out, lcdc_error **err)
{
    LC_CLEANUP(lc_delta_timeline_done) struct lc_delta_timeline timeline = {0};
    struct lc_delta_state state = {0};
    const struct lc_delta_checkpoint *checkpoint = known ? NULL : lc_delta_log_checkpoint(log, first);
    bool changed;
    if (!known && !checkpoint && !lc_delta_log_find(log, 0))
        return no_state(log, first, err);
    int64_t next = known ? known->version + 1 : 0;
    lc_delta_log_expect(log, last);
    if (known)
        state = *known;
    else
        LC_TRY(read_start(log, checkpoint, first, &timeline.arena, &state, &next, err));
    state.version = first;
    for (int64_t v = next; v <= first; v++)
        LC_TRY(visit_state(log, v, &timeline.arena, &state, &changed, err));
    if (state.metadata.schema.n == 0 || (state.protocol.reader_version == 0 && state.protocol.n_reader_features == 0))
        return lc_fail(err, LC_R_DELTA_LOG_BAD, "%s has no %s action up to version %" PRId64, log->folder,
                       state.metadata.schema.n ? "protocol" : "metaData", first);
    LC_TRY(push_state(&timeline, &state, err));
    for (int64_t v = first + 1; v <= last; v++) {
        LC_TRY(visit_state(log, v, &timeline.arena, &state, &changed, err));
        state.version = v;
        if (changed)
            LC_TRY(push_state(&timeline, &state, err));
    }
    *out = timeline;
    timeline = (struct lc_delta_timeline){0};
    return LCDC_OK;
}

const struct lc_delta_state *lc_delta_timeline_at(const struct lc_delta_timeline *timeline, int64_t version)
{
    const struct lc_delta_state *found = &timeline->states[0];
    for (size_t i = 1; i < timeline->n && timeline->states[i].version <= version; i++)
        found = &timeline->states[i];
    return found;
}

/* ---- time ---- */

int64_t lc_delta_in_commit_ts_from(const struct lc_delta_metadata *metadata)
{
    int64_t enabled_at;
    if (!lc_delta_is_true(metadata, "delta.enableInCommitTimestamps"))
        return INT64_MAX;
    /* the property is written only when older commits without such times exist */
    if (!lc_parse_i64(lc_delta_configuration(metadata, "delta.inCommitTimestampEnablementVersion"), &enabled_at))
        return 0;
    return enabled_at;
}

bool lc_delta_has_in_commit_ts(const struct lc_delta_metadata *metadata, int64_t version)
{
    return version >= lc_delta_in_commit_ts_from(metadata);
}

lcdc_status lc_delta_commit_time(struct lc_delta_log *log, const struct lc_delta_state *state, int64_t version,
                                 int64_t *ts_ms, bool *has_ts, lcdc_error **err)
{
    const struct lc_delta_commit_file *file = lc_delta_log_find(log, version);
    *has_ts = file && file->ts_ms != INT64_MIN;
    *ts_ms = *has_ts ? file->ts_ms : 0;
    if (!file || !lc_delta_has_in_commit_ts(&state->metadata, version))
        return LCDC_OK; /* a version that only a checkpoint is left of has no time */
    struct lc_str text, line;
    LC_ARENA struct lc_arena arena = {0};
    LC_TRY(lc_delta_log_commit(log, version, &text, err));
    while (lc_delta_next_line(&text, &line)) {
        struct lc_delta_action action;
        if (lc_delta_action_peek(line) != LC_DELTA_COMMIT_INFO)
            continue;
        LC_TRY(lc_delta_action_parse(line, &arena, &action, err));
        if (action.kind != LC_DELTA_COMMIT_INFO || !action.commit_info.has_in_commit_ts)
            break;
        *ts_ms = action.commit_info.in_commit_ts_ms;
        *has_ts = true;
        return LCDC_OK;
    }
    return lc_fail(err, LC_R_DELTA_LOG_BAD,
                   "version %" PRId64 " has no inCommitTimestamp although the table has them enabled", version);
}

/* ---- snapshot ---- */

static uint64_t hash_key(struct lc_str path, const struct lc_delta_vector *vector)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a: keys are compared in full */
    for (size_t i = 0; i < path.n; i++)
        h = (h ^ (unsigned char)path.p[i]) * 0x100000001B3u;
    h = (h ^ (unsigned char)vector->storage) * 0x100000001B3u;
    for (size_t i = 0; vector->storage && i < vector->path_or_inline.n; i++)
        h = (h ^ (unsigned char)vector->path_or_inline.p[i]) * 0x100000001B3u;
    return h ^ h >> 29;
}

static size_t find_slot(const struct lc_delta_snapshot *s, struct lc_str path, const struct lc_delta_vector *vector)
{
    size_t mask = s->n_index - 1, at = (size_t)hash_key(path, vector) & mask;
    while (s->index[at] != SIZE_MAX) {
        const struct lc_delta_file *file = &s->entries[s->index[at]].file;
        if (lc_str_eq(file->path, path) && lc_delta_vector_equal(&file->vector, vector))
            return at;
        at = (at + 1) & mask;
    }
    return at;
}

static lcdc_status grow_snapshot(struct lc_delta_snapshot *s, lcdc_error **err)
{
    if (s->n < s->cap)
        return LCDC_OK;
    size_t cap = s->cap ? s->cap * 2 : 256;
    struct lc_delta_entry *entries = lc_realloc(s->entries, cap, sizeof(*entries));
    LC_TRY_ALLOC(entries);
    s->entries = entries;
    size_t *index = lc_realloc(s->index, cap * 2, sizeof(*index));
    LC_TRY_ALLOC(index);
    s->index = index;
    s->cap = cap;
    s->n_index = cap * 2;
    memset(index, 0xFF, s->n_index * sizeof(*index));
    for (size_t i = 0; i < s->n; i++)
        s->index[find_slot(s, s->entries[i].file.path, &s->entries[i].file.vector)] = i;
    return LCDC_OK;
}

/* An entry stays when its file is removed, so that the probe sequence stays whole. */
static lcdc_status put_file(struct lc_delta_snapshot *s, const struct lc_delta_file *file, bool live, lcdc_error **err)
{
    LC_TRY(grow_snapshot(s, err));
    size_t at = find_slot(s, file->path, &file->vector);
    if (s->index[at] == SIZE_MAX) {
        s->entries[s->n] = (struct lc_delta_entry){.file = *file};
        s->index[at] = s->n++;
    }
    struct lc_delta_entry *entry = &s->entries[s->index[at]];
    s->n_live += (size_t)live - (size_t)entry->is_live;
    *entry = (struct lc_delta_entry){.file = *file, .is_live = live};
    return LCDC_OK;
}

static lcdc_status apply(void *context, const struct lc_delta_action *action, lcdc_error **err)
{
    struct lc_delta_snapshot *s = context;
    if (action->kind == LC_DELTA_ADD)
        return put_file(s, &action->file, true, err);
    if (action->kind == LC_DELTA_REMOVE)
        return put_file(s, &action->file, false, err);
    return LCDC_OK;
}

/* What is left out takes no memory. */
static lcdc_status apply_some(struct lc_delta_log *log, struct lc_delta_snapshot *snapshot, int64_t version,
                              lcdc_error **err)
{
    struct lc_str text, line;
    LC_TRY(lc_delta_log_commit(log, version, &text, err));
    while (lc_delta_next_line(&text, &line)) {
        LC_ARENA struct lc_arena scratch = {0};
        struct lc_delta_action action;
        enum lc_delta_action_kind kind = lc_delta_action_peek(line);
        if (kind != LC_DELTA_ADD && kind != LC_DELTA_REMOVE)
            continue;
        lcdc_status status = lc_delta_action_parse(line, &scratch, &action, err);
        if (status == LCDC_OK && !lc_delta_paths_has(snapshot->only, action.file.path))
            continue;
        if (status == LCDC_OK)
            status = lc_delta_action_parse(line, &snapshot->arena, &action, err);
        if (status == LCDC_OK)
            status = apply(snapshot, &action, err);
        if (status != LCDC_OK) {
            lc_error_prefix(err, "version %" PRId64, version);
            return status;
        }
    }
    return LCDC_OK;
}

lcdc_status lc_delta_snapshot_advance(struct lc_delta_log *log, struct lc_delta_snapshot *snapshot, int64_t version,
                                      lcdc_error **err)
{
    if (version > log->expected_to)
        lc_delta_log_expect(log, version);
    for (; snapshot->version < version; snapshot->version++)
        if (snapshot->only)
            LC_TRY(apply_some(log, snapshot, snapshot->version + 1, err));
        else
            LC_TRY(lc_delta_commit_visit(log, snapshot->version + 1, &snapshot->arena, apply, snapshot, err));
    return LCDC_OK;
}

lcdc_status lc_delta_snapshot_read(struct lc_delta_log *log, int64_t version, const struct lc_delta_paths *only,
                                   struct lc_delta_snapshot *out, lcdc_error **err)
{
    LC_CLEANUP(lc_delta_snapshot_done) struct lc_delta_snapshot s = {.version = -1, .only = only};
    struct lc_delta_wanted wanted = {.files = true, .only = only};
    const struct lc_delta_checkpoint *checkpoint = lc_delta_log_checkpoint(log, version);
    if (version >= 0 && !checkpoint && !lc_delta_log_find(log, 0))
        return no_state(log, version, err);
    if (checkpoint) {
        LC_TRY(lc_delta_checkpoint_read(log, checkpoint, &wanted, &s.arena, apply, &s, err));
        s.version = checkpoint->version;
    }
    LC_TRY(lc_delta_snapshot_advance(log, &s, version, err));
    *out = s;
    s = (struct lc_delta_snapshot){0};
    return LCDC_OK;
}

const struct lc_delta_file *lc_delta_snapshot_find(const struct lc_delta_snapshot *snapshot,
                                                   const struct lc_delta_file *like)
{
    if (snapshot->n_index == 0)
        return NULL;
    size_t at = find_slot(snapshot, like->path, &like->vector);
    const struct lc_delta_entry *entry = snapshot->index[at] == SIZE_MAX ? NULL
                                                                         : &snapshot->entries[snapshot->index[at]];
    return entry && entry->is_live ? &entry->file : NULL;
}

void lc_delta_snapshot_done(struct lc_delta_snapshot *snapshot)
{
    lc_free(snapshot->entries);
    lc_free(snapshot->index);
    lc_arena_done(&snapshot->arena);
    *snapshot = (struct lc_delta_snapshot){0};
}

int64_t lc_delta_oldest_snapshot(const struct lc_delta_log *log)
{
    int64_t whole = lc_delta_log_first_whole(log);
    if (whole == 0)
        return 0;
    for (size_t i = 0; i < log->n_checkpoints; i++)
        if (log->checkpoints[i].version >= whole - 1)
            return log->checkpoints[i].version;
    return -1;
}
