/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - from a request to rows: source (probe) -> plan -> feed -> Arrow stream.
 *
 *     lcdc_source_open(request, &source, &err)        finds the table, picks a backend, keeps the verdict
 *     lcdc_plan_new(source, request, &plan, &err)     what will be read, commit by commit; reads no row
 *     lcdc_feed_open(source, request, &feed, &err)    ready to read; everything that can be refused has been
 *     lcdc_feed_stream(feed, &stream, &err)           struct ArrowArrayStream of change rows (change.h)
 *     lcdc_feed_cursor(feed)                          where to go on from
 */
#ifndef LAKECDC_FEED_H
#define LAKECDC_FEED_H

#include "arrow_c.h"
#include "base.h"
#include "capability.h"
#include "error.h"
#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- source ---------------------------------------------------------------------------------------------------- */

/** A table behind the backend that was chosen for it. Of the request it uses where the table is and how to reach it. */
typedef struct lcdc_source lcdc_source;

/**
 * Opens the table the request names and decides which backend serves it. Reads the table's metadata, no data.
 * LCDC_NOT_FOUND when there is no table; LCDC_UNSUPPORTED when no backend can read it, with each one's reason.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_source_open(const lcdc_request *request, lcdc_source **out,
                                                       lcdc_error **err);

/**
 * The same for whoever wants the verdict in any case: with an error too `*out` is a source when there is a verdict (no
 * backend can read the table, there is no such table, the server is down or does not let us in), and NULL is left there
 * when there is none. Nothing can be read from such a source; it is asked for its verdict and freed.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_source_probe(const lcdc_request *request, lcdc_source **out,
                                                        lcdc_error **err);

/** The verdict; kept for the life of the source. After a fallback at the first read it tells of that too. */
LCDC_EXPORT const lcdc_verdict *lcdc_source_verdict(const lcdc_source *source);

/** Feeds and plans made from a source must be freed before it. */
LCDC_EXPORT void lcdc_source_free(lcdc_source *source);

/* ---- plan ------------------------------------------------------------------------------------------------------ */

typedef struct lcdc_plan lcdc_plan;

/** One commit of a plan. Unknown numbers are -1. Texts live as long as the plan. */
typedef struct lcdc_plan_commit {
    int64_t snapshot;   /**< Delta version or Iceberg snapshot id */
    int64_t ts_us;      /**< commit time, microseconds since 1970 UTC; INT64_MIN when unknown */
    const char *method; /**< append, cdf_files, vector_diff, lineage_diff, equality_delete, content_diff, whole_files,
                           none */
    const char *detail; /**< the operation the writer recorded, and why this method when that needs saying; may be "" */
    int64_t files;      /**< files that will be opened, after pruning */
    int64_t files_pruned;         /**< files of this commit that the filter rules out unread */
    int64_t rows;                 /**< rows in those files (an upper bound of the rows read) */
    int64_t bytes;                /**< their size in bytes */
    int64_t pruned_by_partition;  /**< of files_pruned: ruled out by the partition they belong to */
    int64_t pruned_by_statistics; /**< of files_pruned: ruled out by the statistics the table keeps of its files */
} lcdc_plan_commit;

/**
 * Works out what a read of this request would touch. Refuses what the read would refuse, with the same error: the
 * reason, and the nearest range that can be served ("servable_from", "servable_to" details).
 * Of an engine, whose word cannot be trusted before, the first batch of the read is asked for and given up: a plan
 * falls back where the read would.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_plan_new(lcdc_source *source, const lcdc_request *request, lcdc_plan **out,
                                                    lcdc_error **err);
LCDC_EXPORT size_t lcdc_plan_commit_count(const lcdc_plan *plan);
/** NULL when out of range. */
LCDC_EXPORT const lcdc_plan_commit *lcdc_plan_commit_at(const lcdc_plan *plan, size_t i);
/** The plan as one JSON object on one line. Borrowed. */
LCDC_EXPORT const char *lcdc_plan_json(const lcdc_plan *plan);
/** What making the plan took, one JSON object: requests to the storage, files opened, bytes read. Borrowed. */
LCDC_EXPORT const char *lcdc_plan_stats_json(const lcdc_plan *plan);
LCDC_EXPORT void lcdc_plan_free(lcdc_plan *plan);

/* ---- feed ------------------------------------------------------------------------------------------------------ */

typedef struct lcdc_feed lcdc_feed;

/** Opens a read. Bounds are resolved, refusals are made and files are looked for now, so that they come before any row.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_feed_open(lcdc_source *source, const lcdc_request *request, lcdc_feed **out,
                                                     lcdc_error **err);

/**
 * Hands out the change rows as an Arrow stream; once per feed. The feed must outlive the stream. Batches are
 * independent of the stream and of the feed once handed out. After a non-zero return lcdc_error_from_stream() has the
 * whole error. Releasing a half-read stream cancels the read.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_feed_stream(lcdc_feed *feed, struct ArrowArrayStream *out, lcdc_error **err);

/** What lcdc_feed_next() came to. Values are pinned. */
typedef enum lcdc_step {
    LCDC_STEP_ROWS = 1,   /**< rows, all of one commit */
    LCDC_STEP_COMMIT = 2, /**< every row of a commit (there may be none) has been handed out; the cursor is after it */
    LCDC_STEP_END = 3     /**< the end of the range; the cursor is after its last commit */
} lcdc_step;

/**
 * Reads a feed commit by commit: for whoever must know where a commit ends, because a cursor is kept with what was
 * delivered. Either this or lcdc_feed_stream(). `rows` is filled with LCDC_STEP_ROWS, and empty (release NULL) with the
 * others. A net read is one commit, the last of its range. After an error the feed can only be freed.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_feed_next(lcdc_feed *feed, lcdc_step *out, struct ArrowArray *rows,
                                                     lcdc_error **err);

/** The schema of the rows (change.h); the caller releases it. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_feed_schema(const lcdc_feed *feed, struct ArrowSchema *out,
                                                       lcdc_error **err);

/** The commit of the last step: -1 and INT64_MIN where there is none, or no time is known. */
LCDC_EXPORT void lcdc_feed_commit(const lcdc_feed *feed, int64_t *snapshot, int64_t *ts_us);

/**
 * Stops a read from another thread or a signal handler: the stream's next call ends with LCDC_CANCELLED. The one
 * function of a feed that any thread may call at any time while the feed exists; async-signal-safe.
 */
LCDC_EXPORT void lcdc_feed_cancel(lcdc_feed *feed);

/**
 * Where a later read goes on: a line of text to be given as option "cursor". It is exclusive (the last commit whose
 * rows have all been handed out), and carries the table's id and a fingerprint of its columns: a cursor of another
 * table is refused, changed columns show as "schema_changed" in the stats. NULL before the first commit is complete on
 * a feed that began at the start of a table. Borrowed until the next call on the feed or its stream.
 */
LCDC_EXPORT const char *lcdc_feed_cursor(const lcdc_feed *feed);

/** What the read has done so far, one JSON object: rows, batches, commits, files opened, bytes read. Borrowed. */
LCDC_EXPORT const char *lcdc_feed_stats_json(lcdc_feed *feed);

/** Progress so far: commits done and commits in all (0 when not known). */
LCDC_EXPORT void lcdc_feed_progress(const lcdc_feed *feed, int64_t *commits_done, int64_t *commits_total);

LCDC_EXPORT void lcdc_feed_free(lcdc_feed *feed);

/* ---- verify ---------------------------------------------------------------------------------------------------- */

/** What lcdc_verify() found; counts are rows. */
typedef struct lcdc_verify_result {
    int64_t from_rows, to_rows; /**< rows before the range and at its end */
    int64_t inserts, deletes;   /**< feed rows with an after image, and with a before image */
    bool holds;                 /**< rows before + feed = rows at the end, as multisets */
    int64_t first_bad_snapshot; /**< when it does not hold: the first commit that breaks it; -1 when it could not be
                                   told */
} lcdc_verify_result;

/**
 * Checks the law on a range: rows before `from` + feed = rows at `to`, as multisets, in constant memory (a sum of
 * 128-bit row hashes). Filters, columns, net and fold of the request are ignored. LCDC_OK when the check could be
 * made, whether it holds or not.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_verify(lcdc_source *source, const lcdc_request *request,
                                                  lcdc_verify_result *out, lcdc_error **err);

#ifdef __cplusplus
}
#endif
#endif
