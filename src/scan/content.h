/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content.h - two sides of a commit without row ids, compared by content: which rows of each have no equal on the
 * other.
 *
 * A comparison is a few passes over the sides. A pass reads a side, hashes its rows and lets whoever compares look at
 * the hashes; rows that are found to be left are marked by number and, as long as that takes little memory, kept, so
 * that they need not be read again. content_sketch.c is the quick way, content_match.c the one that always knows.
 */
#ifndef LC_SCAN_CONTENT_H
#define LC_SCAN_CONTENT_H

#include "base/row_hash.h"
#include "scan/hash_parts.h"
#include "scan/kept_rows.h"
#include "scan/run.h"

/** A row set of one side, or a stretch of a large one's file; one thread's at a time. */
struct lc_side_set {
    struct lc_row_set *from;
    int64_t first_row;      /* its first row's number on the side */
    int64_t n_rows;         /* rows it can have at most */
    int64_t first_position; /* of the stretch */
    bool is_stretch;
    struct lc_bitmap *rows;   /* positions that were read; once compared, those that are left */
    struct lc_hash sum, left; /* of the rows that were read, of those that a pass found to be left */
    struct lc_kept_rows kept;
};

struct lc_side {
    size_t n;
    struct lc_side_set *sets;
    int64_t n_rows;
    uint64_t *left; /* bit per row: no equal row on the other side */
    struct lc_kept_budget budget;
};

struct lc_content {
    struct lc_run_spec spec;
    const struct lc_field *row_id[1];
    struct lc_side sides[2]; /* by enum lc_hash_side */
    size_t *order;           /* the table's columns, in the order in which rows are hashed */
    size_t n_first;          /* how many of them the quick way looks at first; 0: it is not taken */
};

lcdc_status lc_content_init(struct lc_content *content, const struct lc_run_spec *spec, lcdc_error **err);
void lc_content_done(struct lc_content *content);

/** Hashes whole rows of the table, as passes do. */
lcdc_status lc_content_hash(const struct lc_content *content, const struct ArrowArray *rows, struct lc_hash *out,
                            lcdc_error **err);
/** True when row ids are wanted and there are some. */
bool lc_content_wants_ids(const struct lc_content *content);

/* ---- passes (content_pass.c) ---- */

/** A batch of a side's rows, while a pass looks at it. */
struct lc_hashed {
    size_t n;
    uint32_t first;                      /* the first row's number on the side */
    const struct lc_hash *first_columns; /* hashes over the first `n_first` columns of the order */
    const struct lc_hash *all;           /* over all; NULL in a pass over the first columns */
    uint8_t *missing;                    /* 1: no equal row on the other side, for certain; to be filled in */
    struct lc_hash_writer *writer;       /* NULL without parts */
};

struct lc_pass {
    struct lc_content *content;
    enum lc_hash_side side;
    bool first_columns_only;     /* the others are not read, nothing is noted or kept */
    bool keeps_all;              /* rows that are not missing too */
    struct lc_hash_parts *parts; /* hashes go there; NULL none */
    void *context;
    /** Counts the rows it finds missing. @thread any */
    lcdc_status (*look)(const struct lc_pass *pass, struct lc_hashed *rows, size_t *n_missing, lcdc_error **err);
};

lcdc_status lc_content_pass(struct lc_pass *pass, lcdc_error **err);
/** Forgets what passes noted of a side. */
lcdc_status lc_content_forget(struct lc_content *content, enum lc_hash_side side, lcdc_error **err);
/** Sets the bit of a row that is left. @thread any */
void lc_side_mark(struct lc_side *side, uint32_t row);

/* ---- comparisons ---- */

/** Sets sides[].left for every row; always right. */
lcdc_status lc_content_match(struct lc_content *content, lcdc_error **err);
/** The same with less work where the rows allow it; *done tells. Where they do not, nothing is noted. */
lcdc_status lc_content_sketch(struct lc_content *content, bool *done, lcdc_error **err);
/** Puts the columns that cost least to read first, where looking at them first pays. */
lcdc_status lc_content_order(struct lc_content *content, lcdc_error **err);

#endif
