/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the state of a Delta table: protocol and metadata over versions, commit times, and the live files of one.
 */
#ifndef LC_DELTA_TABLE_H
#define LC_DELTA_TABLE_H

#include "delta/action.h"
#include "delta/checkpoint.h"
#include "delta/log.h"

/** Protocol and metadata that hold from a version on. */
struct lc_delta_state {
    int64_t version;
    struct lc_delta_protocol protocol;
    struct lc_delta_metadata metadata;
};

/** States over a range of versions, ascending; one for its start and one for each version that changed it. */
struct lc_delta_timeline {
    struct lc_arena arena;
    size_t n, cap;
    struct lc_delta_state *states;
};
void lc_delta_timeline_done(struct lc_delta_timeline *timeline);

/** A copy that lives in `arena`. */
lcdc_status lc_delta_state_copy(const struct lc_delta_state *state, struct lc_arena *arena, struct lc_delta_state *out,
                                lcdc_error **err);

/**
 * Reads the states that hold from version `first` to `last`. The start comes from `known`, a state that holds at a
 * version of at most `first` (its own) and outlives the timeline, or else (NULL) from the newest checkpoint or version
 * checksum at or below `first`, and the commits after it. LC_R_DELTA_NO_STATE when no checkpoint and no log reaches
 * back so far. Every protocol on the way is checked.
 */
lcdc_status lc_delta_timeline_read(struct lc_delta_log *log, const struct lc_delta_state *known, int64_t first,
                                   int64_t last, struct lc_delta_timeline *out, lcdc_error **err);
const struct lc_delta_state *lc_delta_timeline_at(const struct lc_delta_timeline *timeline, int64_t version);

/** Time of a commit in milliseconds: in-commit timestamp where `state` has them on, else the file's monotonic time. */
lcdc_status lc_delta_commit_time(struct lc_delta_log *log, const struct lc_delta_state *state, int64_t version,
                                 int64_t *ts_ms, bool *has_ts, lcdc_error **err);

/** The version from which on commits carry their time themselves; INT64_MAX when they do not. */
int64_t lc_delta_in_commit_ts_from(const struct lc_delta_metadata *metadata);
/** True when in-commit timestamps hold for a version under these properties. */
bool lc_delta_has_in_commit_ts(const struct lc_delta_metadata *metadata, int64_t version);

/** Calls visit for the action of every line of a commit, in order; errors name version and line. */
lcdc_status lc_delta_commit_visit(struct lc_delta_log *log, int64_t version, struct lc_arena *arena,
                                  lc_delta_visit visit, void *context, lcdc_error **err);

/** The files that are live at a version. */
struct lc_delta_snapshot {
    struct lc_arena arena;
    int64_t version;                   /* -1: before the first commit, no files */
    const struct lc_delta_paths *only; /* the others are left out; NULL: none is */
    size_t n, cap, n_live;
    struct lc_delta_entry {
        struct lc_delta_file file;
        bool is_live;
        bool is_present; /* the file has been seen on storage; for callers */
    } * entries;
    size_t n_index;
    size_t *index; /* open addressing on path and vector; SIZE_MAX = free */
};
/** `only` is borrowed for the life of the snapshot. */
lcdc_status lc_delta_snapshot_read(struct lc_delta_log *log, int64_t version, const struct lc_delta_paths *only,
                                   struct lc_delta_snapshot *out, lcdc_error **err);
/** Replays the commits after the snapshot's version up to `version`. */
lcdc_status lc_delta_snapshot_advance(struct lc_delta_log *log, struct lc_delta_snapshot *snapshot, int64_t version,
                                      lcdc_error **err);
void lc_delta_snapshot_done(struct lc_delta_snapshot *snapshot);
/** The live file with this path and vector; NULL. */
const struct lc_delta_file *lc_delta_snapshot_find(const struct lc_delta_snapshot *snapshot,
                                                   const struct lc_delta_file *like);

/** The oldest version whose rows can be read: a checkpoint, or 0. -1 when there is none. */
int64_t lc_delta_oldest_snapshot(const struct lc_delta_log *log);

#endif
