/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.h - the rows of a range of commits, asked for in bounded queries.
 *
 * A server holds the whole result of a query and refuses one over a limit, so a query covers a window: a few commits
 * whose estimates fit together. A window that is refused is narrowed to the commit it had come to; a single commit is
 * read in hash slices, its old images before its new ones, four times as many at each refusal. Rows of the commit that
 * had left before the refusal are remembered by hash and left out when they come again.
 */
#ifndef LC_SPARK_CHANGES_H
#define LC_SPARK_CHANGES_H

#include "core/backend.h"
#include "spark/history.h"
#include "spark/sql.h"

/** What is read; borrowed for the life of the stream. */
struct lc_spark_scan {
    struct lc_spark_server *server;
    enum lc_sql_source source;
    const struct lc_field *schema; /* STRUCT: the table's columns */
    const struct lc_spark_commit *commits;
    size_t n;
    int64_t before;                 /* VIEW: the snapshot before the first commit; -1 none */
    const struct lc_list *identity; /* VIEW: names of the columns that tell rows apart */
};

/** STATE: the rows of the one commit's state, as inserts. The first query is sent by the first next(). */
lcdc_status lc_spark_changes_new(const struct lc_spark_scan *scan, const struct lc_shape *shape,
                                 struct lc_change_stream **out, lcdc_error **err);

#endif
