/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql.h - the statements that are sent. Every name goes through lc_sql_name() and every text through lc_sql_text(), so
 * that nothing a person or a table brings along is ever read as SQL.
 */
#ifndef LC_SPARK_SQL_H
#define LC_SPARK_SQL_H

#include "core/filter.h"

/** A name in backticks. Appended. */
void lc_sql_name(struct lc_buf *out, struct lc_str name);
/** A text in single quotes. Appended. */
void lc_sql_text(struct lc_buf *out, struct lc_str text);
/** A table's name as people write it, catalog.db.`odd name`, as parts in backticks; LC_R_OPTION_VALUE for what is none.
 */
lcdc_status lc_sql_table(const char *name, struct lc_arena *arena, const char **out, lcdc_error **err);

/**
 * LC_R_SPARK_ENGINE for a statement that would not be read as it stands: Spark puts a setting's value wherever it finds
 * ${name}, in backticks too, before it looks at the SQL, and there is no way to write one that it leaves alone. For
 * every statement that is sent.
 */
lcdc_status lc_sql_check(const char *sql, lcdc_error **err);

/** Bytes of a quoted name's catalog with its dot: 0 when it has fewer than three parts, the catalog being the
 * session's. */
size_t lc_sql_catalog_length(const char *table);

enum lc_sql_source { LC_SQL_NATIVE, LC_SQL_CDF, LC_SQL_VIEW, LC_SQL_STATE };
enum lc_sql_side { LC_SIDE_BOTH, LC_SIDE_OLD, LC_SIDE_NEW };

/** What one query reads: whole commits in order, or one side of one commit, perhaps in hash slices. */
struct lc_sql_query {
    enum lc_sql_source source;
    const char *table;              /* quoted; VIEW: the view's name, plain */
    int64_t from, to;               /* versions, inclusive; STATE: `to` alone, -1 = as it is now */
    const struct lc_field *columns; /* those to select; NULL = * */
    const struct lc_expr *filter;   /* bound to `filter_columns`; NULL = none */
    const struct lc_field *filter_columns;
    bool row_ids;   /* `_metadata` is selected too */
    bool any_order; /* of one commit whose rows are all of one side: nothing has to be sorted */
    enum lc_sql_side side;
    int64_t n_slices, slice; /* 1, 0: all */
    const struct lc_field *hash_columns;
};

/** Columns that follow the data columns: op, commit and (not VIEW) time. */
extern const char *const lc_sql_op_column;
const char *lc_sql_commit_column(enum lc_sql_source source);

void lc_sql_query_print(const struct lc_sql_query *query, struct lc_buf *out);
bool lc_sql_holds_map(const struct lc_field *field);
/** False when rows cannot be split by hash, because every column holds a map. */
bool lc_sql_can_slice(const struct lc_field *columns);

#endif
