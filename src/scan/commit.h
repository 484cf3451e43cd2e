/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.h - one commit of a table as sets of rows in data files: what a format's log says, without the format.
 *
 * A commit removes rows (of `removed`) and adds rows (of `added`), or comes with files that already hold change rows
 * (`changes`). How the two sides are compared is `diff`. delta/ and iceberg/ build these; scan/ executes them.
 */
#ifndef LC_SCAN_COMMIT_H
#define LC_SCAN_COMMIT_H

#include "base/arena.h"
#include "io/bitmap.h"
#include "io/parquet.h"
#include "io/range.h"

/** Why and how a commit is read; the names are those of lakecdc/feed.h. */
enum lc_method {
    LC_METHOD_NONE,
    LC_METHOD_APPEND,
    LC_METHOD_CDF_FILES,
    LC_METHOD_VECTOR_DIFF,
    LC_METHOD_LINEAGE_DIFF,
    LC_METHOD_EQUALITY_DELETE,
    LC_METHOD_CONTENT_DIFF,
    LC_METHOD_WHOLE_FILES
};
const char *lc_method_name(enum lc_method method);

enum lc_diff {
    LC_DIFF_NONE,    /* every row of `removed` is a delete, every row of `added` an insert */
    LC_DIFF_LINEAGE, /* rows have stable ids and versions: equal id = same row, equal version = untouched */
    LC_DIFF_CONTENT  /* rows have no ids: equal content on both sides cancels, one for one */
};

struct lc_data_file {
    const char *path;   /* as the table's metadata spells it, for messages */
    const char *url;    /* where it is, for I/O */
    int64_t size;       /* bytes, -1 unknown */
    int64_t rows;       /* physical rows the metadata claims, -1 unknown; held against the file */
    size_t n_constants; /* partition values; fields are nodes of the table's schema */
    const struct lc_constant *constants;
    bool has_row_ids;    /* base_row_id and default_row_version are set */
    int64_t base_row_id; /* row id of position 0 where the file does not hold ids itself */
    int64_t default_row_version;
    /** Statistics of a top-level or nested leaf of the table's schema; false when there are none. Optional. */
    bool (*stats)(const struct lc_data_file *file, const struct lc_field *leaf, struct lc_arena *arena,
                  struct lc_column_stats *out);
    /** True when more than statistics (a hash partition) proves that no row lies in the range. Optional. */
    bool (*excludes)(const struct lc_data_file *file, const struct lc_range *range);
    const void *format; /* the format's own */
};

/** A test on rows that needs column values (Iceberg equality deletes). Shared by row sets; outlives them. */
struct lc_row_filter {
    size_t n_columns;
    const struct lc_field *const *columns; /* top-level fields it needs, found in files as `columns` of a scan are */
    /** Clears keep[i] for rows that fail; `rows` is a struct array of exactly `columns`. */
    lcdc_status (*apply)(const struct lc_row_filter *filter, const struct ArrowArray *rows, const int64_t *positions,
                         uint8_t *keep, lcdc_error **err);
};

/** A file that a row set's load reads (a vector's), and what of it. Looked for before the first row, fetched ahead. */
struct lc_needed {
    const char *url;
    int64_t size; /* of the file; -1 unknown */
    size_t n_spans;
    struct lc_span spans[2];
};

/** Some rows of one data file. */
struct lc_row_set {
    const struct lc_data_file *file;
    int64_t rows;              /* rows in the set when known, -1 otherwise */
    struct lc_bitmap *include; /* positions; NULL = all */
    struct lc_bitmap *exclude; /* positions; NULL = none */
    size_t n_filters;
    const struct lc_row_filter *const *filters;
    /** Fills include and exclude; called when the set is about to be read, undone by lc_row_set_unload(). Optional. */
    lcdc_status (*load)(struct lc_row_set *set, void *context, lcdc_error **err);
    void *load_context;
    size_t n_needs;
    const struct lc_needed *needs;
};
lcdc_status lc_row_set_load(struct lc_row_set *set, lcdc_error **err);
void lc_row_set_unload(struct lc_row_set *set);

struct lc_commit {
    struct lc_arena arena; /* owns everything below */
    int64_t snapshot;
    int64_t ts_us;
    bool has_ts;
    const char *operation; /* as the writer recorded it; "" */
    const char *detail;    /* why this method, when that needs saying; "" */
    enum lc_method method;
    enum lc_diff diff;
    size_t n_removed, n_added, n_changes;
    struct lc_row_set *removed, *added, *changes;
    const struct lc_field *change_type; /* of `changes`: the column with the op word */
    /* for LC_DIFF_LINEAGE */
    int64_t row_version;           /* the version rows touched by this commit carry */
    const struct lc_field *row_id; /* hidden columns; a file may lack them, a null means the default */
    const struct lc_field *row_version_field;
    bool ids_may_be_lost; /* writers may have dropped ids: what they leave unpaired is compared by content */
};
void lc_commit_done(struct lc_commit *commit);
#define LC_COMMIT LC_CLEANUP(lc_commit_done)

#endif
