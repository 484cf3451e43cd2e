/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - a table's commits as the engine tells them, and the range of a request among them.
 *
 * Delta: DESCRIBE HISTORY, versions without a gap. Iceberg: the snapshots table, as the line of ancestors of the head.
 * Ends are resolved here, once, with the rules of the direct backends, so that every backend reads the same commits.
 */
#ifndef LC_SPARK_HISTORY_H
#define LC_SPARK_HISTORY_H

#include "spark/server.h"

struct lc_spark_commit {
    int64_t id, parent; /* parent: Iceberg; -1 none */
    int64_t ts_us;
    const char *operation;
    bool remakes_ids; /* Delta: rows that it only carries over get new ids */
    bool only_adds;   /* by its own account; not proven before its rows have come */
    int64_t rows;     /* that its changes are likely to be; -1 unknown */
    int64_t bytes;    /* that they are likely to take as Arrow data; -1 unknown */
};

struct lc_spark_history {
    struct lc_arena arena;
    bool is_iceberg;
    size_t n;
    struct lc_spark_commit *commits; /* oldest first; Iceberg: of the line that ends at `to` */
    size_t from, to;                 /* the range [from, to); empty when from >= to */
    bool is_cut;                     /* something before the first commit is gone */
};

void lc_spark_history_done(struct lc_spark_history *history);
lcdc_status lc_spark_history_read(struct lc_spark_server *server, bool is_iceberg, const lcdc_request *request,
                                  struct lc_spark_history *out, lcdc_error **err);

#endif
