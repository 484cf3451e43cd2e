/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - the seam's lower side: what a backend is. src/backends.c lists them.
 *
 * The seam asks in this order: probe (may this backend serve the table?), open, read_open (resolve the range, learn the
 * schema), then plan, changes or snapshot of that read. Nothing above knows formats or engines.
 */
#ifndef LC_CORE_BACKEND_H
#define LC_CORE_BACKEND_H

#include "core/change.h"
#include "core/filter.h"
#include "core/request.h"
#include "lakecdc/feed.h"

enum { LC_BACKEND_ABI = 1 };

/** What a backend says of a table before it is opened. Texts live in the arena given to probe. */
struct lc_candidate {
    const char *name; /* filled by the seam */
    bool usable;
    bool absent;        /* not usable, because nothing of this kind is at the location */
    bool foreign;       /* absent, and the location is not even of a kind that could have it: errors leave it out */
    const char *reason; /* why, or why not, in the engine's own words */
    const char *format; /* "delta", "iceberg"; NULL unknown */
    const char *server_version;
    bool native_expected; /* the server is new enough for CHANGES */
};

/** How the rows of a read are wanted. Borrowed for the life of the stream made with it. */
struct lc_shape {
    const struct lc_field *columns; /* STRUCT: the columns each image must have, in order */
    const struct lc_expr *filter;   /* bound to `columns`; may be applied anywhere, even before rows are paired; NULL =
                                       none */
    bool pushdown;                  /* false: read every file and row, filter afterwards (for comparison) */
    bool row_ids;                   /* row ids are wanted in the batches where the table has them */
    int64_t batch_rows;
    int64_t memory_limit;
    int64_t threads;              /* that decode files; 0 = as the backend thinks right */
    const _Atomic int *cancelled; /* non-zero: stop with LC_R_CANCELLED; looked at for every file and batch */
    const _Atomic int *asked;     /* the same of the call that opens the read; NULL once it is open */
};

/** A resolved range over a table. The first member of a backend's own object. */
struct lc_read {
    const struct lc_read_ops *ops;
    const struct lc_field *schema; /* STRUCT: the table's columns at the end of the range */
    const char *format;            /* "delta", "iceberg", "spark" */
    const char *table_id;
    bool empty;          /* the range has no commits: zero rows is the right answer */
    int64_t last_commit; /* id of the last commit in the range, or the one before it when empty; -1 none */
    int64_t n_commits;   /* -1 unknown */
};

struct lc_read_ops {
    /* required */
    /**
     * The plan's commits in order; *more false past the last, after which it begins anew. `method` is static text,
     * `detail` belongs to the caller (lc_free).
     */
    lcdc_status (*plan_next)(struct lc_read *read, const struct lc_shape *shape, lcdc_plan_commit *out, bool *more,
                             lcdc_error **err);
    /** Everything that can be refused has been when this returns: also files that are missing. */
    lcdc_status (*changes)(struct lc_read *read, const struct lc_shape *shape, struct lc_change_stream **out,
                           lcdc_error **err);
    void (*release)(struct lc_read *read);
    /* optional */
    /** The rows just before the range (at_end false) or at its end, as inserts; the commit id is that state's. */
    lcdc_status (*snapshot)(struct lc_read *read, bool at_end, const struct lc_shape *shape,
                            struct lc_change_stream **out, lcdc_error **err);
    /**
     * What a commit of the range, or the one before it, looks like: 16 hexadecimal digits that another commit of that
     * number does not have. NULL: unknown. Where numbers are never given twice there is no such function.
     */
    const char *(*stamp)(const struct lc_read *read, int64_t commit);
    /** Counters as JSON members ("files_opened":3,...), appended; optional on its own. */
    void (*stats)(struct lc_read *read, struct lc_buf *out);
};

struct lc_backend {
    uint32_t abi;
    size_t size;
    const char *name;
    /** Fills `out`; an error only for what should end the search (out of memory, cancelled). */
    lcdc_status (*probe)(const lcdc_request *request, struct lc_arena *arena, struct lc_candidate *out,
                         lcdc_error **err);
    lcdc_status (*open)(const lcdc_request *request, void **out, lcdc_error **err);
    /**
     * Resolves the range. With request->bootstrap the range begins after the state that `snapshot` gives as its start:
     * the one at `from` when that names one, else the oldest that can be read.
     */
    lcdc_status (*read_open)(void *source, const lcdc_request *request, struct lc_read **out, lcdc_error **err);
    void (*close)(void *source);
    /** True when the engine's word cannot be trusted until the first batch came (Spark): a failure before it falls
     * back. */
    bool may_fall_back;
    /**
     * Optional. Where the table's files lie, for the backends without this slot, which are then asked about that place;
     * *location NULL when it cannot be told. Text in `arena`.
     */
    lcdc_status (*locate)(const lcdc_request *request, struct lc_arena *arena, const char **location, lcdc_error **err);
    /**
     * Optional. For whoever looks again and again: a text, appended, that is another one after every commit, roll-back
     * or re-creation of the table. `before` is the text of an earlier look, or NULL; with it a look at a table that has
     * nothing new costs next to nothing, however long its history is.
     */
    lcdc_status (*tip)(void *source, const char *before, struct lc_buf *out, lcdc_error **err);
};

/** Best first; NULL at the end. Defined in src/backends.c. */
extern const struct lc_backend *const lc_backends[];

#endif
