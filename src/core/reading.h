/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading.h - a request met with a table: the range resolved, the columns to read chosen, the filter split.
 *
 * Three sets of columns: the table's (read->schema), those that are read (`columns`: what is shown, filtered on, or
 * tells rows apart), and those that are shown (`images`).
 */
#ifndef LC_CORE_READING_H
#define LC_CORE_READING_H

#include "core/cursor.h"
#include "core/pairs.h"
#include "core/source.h"

struct lc_reading {
    struct lc_arena arena;
    lcdc_request *request; /* a copy, with the cursor applied */
    struct lc_read *read;
    struct lc_field columns;        /* STRUCT: what backends deliver */
    struct lc_field images;         /* STRUCT: what leaves */
    size_t *image_columns;          /* images.n_children indexes into columns */
    struct lc_identity identity;    /* indexes into columns */
    const struct lc_expr *residual; /* bound to columns; NULL: the backend filters fully, or there is no filter */
    struct lc_shape shape;
    bool schema_changed; /* the cursor was made with other columns */
    _Atomic int cancelled;
};

/** `at_shape` false: every column, no filter, no shape (verify). */
lcdc_status lc_reading_open(lcdc_source *source, const lcdc_request *request, bool at_shape, struct lc_reading **out,
                            lcdc_error **err);
void lc_reading_free(struct lc_reading *reading);
LC_DEFINE_CLEANUP(struct lc_reading *, lc_reading_free)

/** The columns of a feed's images with all that the table says of them: ids, defaults. Borrowed from the feed. */
const struct lc_field *lc_feed_images(const lcdc_feed *feed);
/** Those, and after them the columns that the filter alone reads. A struct in `arena`, its texts as above. */
lcdc_status lc_feed_used(const lcdc_feed *feed, struct lc_arena *arena, struct lc_field *out, lcdc_error **err);

/** The whole pipeline: backend, bootstrap, stages. */
lcdc_status lc_reading_start(struct lc_reading *reading, struct lc_change_stream **out, lcdc_error **err);

/** Streams of reading_stages.c, each taking the one below over. */
lcdc_status lc_stage_filter(struct lc_change_stream *take_below, const struct lc_expr *filter,
                            const struct lc_field *columns, struct lc_change_stream **out, lcdc_error **err);
/** First all of `take_first`, then all of `take_second`. */
lcdc_status lc_stage_concat(struct lc_change_stream *take_first, struct lc_change_stream *take_second,
                            struct lc_change_stream **out, lcdc_error **err);

#endif
