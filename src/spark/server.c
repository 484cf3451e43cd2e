/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/server.h"

#include <string.h>

#include "spark/result.h"
#include "spark/sql.h"

enum { MAX_SQL = 1 << 20 };

static void server_free(void *object)
{
    struct lc_spark_server *server = object;
    if (!server)
        return;
    lc_spark_session_free(server->session);
    lcdc_error_free(server->problem);
    lc_arena_done(&server->arena);
    lc_free(server);
}

static void server_freep(struct lc_spark_server **server)
{
    server_free(*server);
}

bool lc_spark_is_refusal(lcdc_status status)
{
    return status == LCDC_UNSUPPORTED || status == LCDC_LIMIT;
}

/* 4.2 of "4.2.1" or of "4.2.0-preview"; what is no version knows nothing new. */
static bool version_has_changes(const char *version)
{
    size_t n = strspn(version, "0123456789");
    int64_t major, minor;
    if (!n || version[n] != '.' || !lc_parse_i64((struct lc_str){version, n}, &major))
        return false;
    const char *rest = version + n + 1;
    if (!lc_parse_i64((struct lc_str){rest, strspn(rest, "0123456789")}, &minor))
        return false;
    return major > 4 || (major == 4 && minor >= 2);
}

/* ---- where the files lie ---- */

static lcdc_status see_detail(void *context, const struct lc_field *columns, const struct ArrowArray *batch,
                              int64_t row, lcdc_error **err)
{
    struct lc_spark_server *server = context;
    struct lc_str text;
    server->is_delta = lc_spark_get_str(columns, batch, "format", row, &text) && lc_str_is(text, "delta");
    if (lc_spark_get_str(columns, batch, "location", row, &text)) {
        server->location = lc_arena_strndup(&server->arena, text.p, text.n);
        LC_TRY_ALLOC(server->location);
    }
    if (lc_spark_get_str(columns, batch, "id", row, &text)) {
        server->table_id = lc_arena_strndup(&server->arena, text.p, text.n);
        LC_TRY_ALLOC(server->table_id);
    }
    return LCDC_OK;
}

static lcdc_status see_description(void *context, const struct lc_field *columns, const struct ArrowArray *batch,
                                   int64_t row, lcdc_error **err)
{
    struct lc_spark_server *server = context;
    struct lc_str name, value;
    if (lc_spark_get_str(columns, batch, "col_name", row, &name) &&
        lc_spark_get_str(columns, batch, "data_type", row, &value) && lc_str_is(name, "Location")) { /* the last one: a
                                                                                                        column may have
                                                                                                        that name, and
                                                                                                        columns come
                                                                                                        first */
        server->location = lc_arena_strndup(&server->arena, value.p, value.n);
        LC_TRY_ALLOC(server->location);
    }
    return LCDC_OK;
}

/* Delta's own statement, which also gives the table's id, else the general one. An engine that knows neither leaves the
   place unknown. */
static lcdc_status find_location(struct lc_spark_server *server, lcdc_error **err)
{
    static const struct {
        const char *sql;
        lc_spark_row_fn see;
    } ways[] = {{"DESCRIBE DETAIL ", see_detail}, {"DESCRIBE TABLE EXTENDED ", see_description}};
    for (size_t i = 0; i < 2 && !server->location; i++) {
        LC_BUF struct lc_buf sql;
        LC_ERROR lcdc_error *problem = NULL;
        lc_buf_init(&sql, MAX_SQL);
        lc_buf_text(&sql, ways[i].sql);
        lc_buf_text(&sql, server->table);
        LC_TRY_BUF(&sql);
        lcdc_status status = lc_spark_each_row(server->session, sql.p, ways[i].see, server, &problem);
        if (status != LCDC_OK && !lc_spark_is_refusal(status) && status != LCDC_NOT_FOUND)
            return lc_fail_with(lc_steal(problem), err);
    }
    return LCDC_OK;
}

/* ---- the server ---- */

static lcdc_status check_table(struct lc_spark_server *server, lcdc_error **err)
{
    LC_BUF struct lc_buf sql;
    LC_ERROR lcdc_error *problem = NULL;
    lc_buf_init(&sql, MAX_SQL);
    lc_buf_printf(&sql, "SELECT * FROM %s", server->table);
    LC_TRY_BUF(&sql);
    lcdc_status status = lc_spark_analyze(server->session, sql.p, &problem);
    if (status == LCDC_OK || lc_spark_is_refusal(status)) /* one that it cannot read may still be found and read by
                                                             others */
        return LCDC_OK;
    return lc_fail_with(lc_steal(problem), err);
}

static lcdc_status ask_server(struct lc_spark_server *server, const lcdc_request *request, lcdc_error **err)
{
    if (!request->name || !*request->name)
        return lc_fail(err, LC_R_OPTION_VALUE,
                       "name: a Spark server has many tables, say which with --table catalog.db.table");
    LC_TRY(lc_sql_table(request->name, &server->arena, &server->table, err));
    LC_TRY(lc_spark_session_open(request, &server->session, err));
    LC_TRY(lc_spark_version(server->session, &server->version, err));
    server->has_changes = version_has_changes(server->version);
    LC_TRY(check_table(server, err));
    return find_location(server, err);
}

/* Of a failed one, what it said before it failed is kept too, but not where nothing can be known. */
static lcdc_status server_new(const lcdc_request *request, struct lc_spark_server **out, lcdc_error **err)
{
    LC_CLEANUP(server_freep) struct lc_spark_server *server = lc_calloc(1, sizeof(*server));
    LC_ERROR lcdc_error *problem = NULL;
    LC_TRY_ALLOC(server);
    lcdc_status status = ask_server(server, request, &problem);
    if (status == LCDC_OUT_OF_MEMORY || status == LCDC_CANCELLED || status == LCDC_INVALID_ARGUMENT)
        return lc_fail_with(lc_steal(problem), err);
    server->problem = lc_steal(problem);
    *out = lc_steal(server);
    return LCDC_OK;
}

void lc_spark_server_give_up(struct lc_spark_server *server, const lcdc_error *problem)
{
    lcdc_status status = lcdc_error_status(problem);
    if (!server->problem && status != LCDC_OUT_OF_MEMORY && status != LCDC_CANCELLED)
        server->problem = lc_error_dup(problem);
}

lcdc_status lc_spark_server_get(const lcdc_request *request, struct lc_spark_server **out, lcdc_error **err)
{
    struct lc_shared *shared = request->shared;
    if (!shared)
        return lc_fail(err, LC_R_INTERNAL, "a Spark backend was asked outside of a source");
    if (!shared->object) {
        struct lc_spark_server *server;
        LC_TRY(server_new(request, &server, err));
        shared->object = server;
        shared->release = server_free;
    }
    *out = shared->object;
    const lcdc_error *problem = (*out)->problem;
    return problem ? lc_fail_with(lc_error_dup(problem), err) : LCDC_OK;
}
