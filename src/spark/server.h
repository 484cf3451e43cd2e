/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - a table on a Spark server: the session, what the server is, where the table's files lie.
 *
 * One object for each source, shared by the three engine backends (lc_shared), so that the server is asked once.
 */
#ifndef LC_SPARK_SERVER_H
#define LC_SPARK_SERVER_H

#include "spark/session.h"

struct lc_spark_server {
    struct lc_arena arena;
    struct lc_spark_session *session;
    const char *version;  /* as the server says it; NULL before it did */
    bool has_changes;     /* 4.2 or later: it should know CHANGES */
    const char *table;    /* quoted */
    const char *location; /* of the table's files; NULL unknown */
    const char *table_id; /* of a Delta table; NULL unknown */
    bool is_delta;        /* the engine describes it as one */
    bool is_iceberg;      /* its snapshots could be asked for */
    lcdc_error *problem;  /* what ends every search here; it is not asked for again */
};

/**
 * The server of a source's request, made and asked at the first call. Errors are those that end the search; `*out` is
 * then what could be learned before, or as it was.
 */
lcdc_status lc_spark_server_get(const lcdc_request *request, struct lc_spark_server **out, lcdc_error **err);
/** Ends the search with an error that is not the table's: the server is not asked again. */
void lc_spark_server_give_up(struct lc_spark_server *server, const lcdc_error *problem);
/** True for what says that this backend cannot, false for what says that none can. */
bool lc_spark_is_refusal(lcdc_status status);

#endif
