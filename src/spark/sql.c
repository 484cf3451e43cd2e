/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/sql.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_PARTS = 16, MAX_NAME = 1 << 14 };

/* ---- names and texts ---- */

void lc_sql_name(struct lc_buf *out, struct lc_str name)
{
    lc_buf_char(out, '`');
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '`')
            lc_buf_char(out, '`');
        lc_buf_char(out, name.p[i]);
    }
    lc_buf_char(out, '`');
}

void lc_sql_text(struct lc_buf *out, struct lc_str text)
{
    lc_buf_char(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'' || text.p[i] == '\\')
            lc_buf_char(out, '\\');
        lc_buf_char(out, text.p[i]);
    }
    lc_buf_char(out, '\'');
}

/* One part: text up to a dot, or anything in backticks. Returns what is left, NULL when it is no name. */
static const char *take_part(const char *at, struct lc_buf *part)
{
    if (*at != '`') {
        size_t n = strcspn(at, ".`");
        lc_buf_append(part, at, n);
        return at[n] == '`' ? NULL : at + n;
    }
    for (at++; *at; at++) {
        if (*at == '`' && at[1] != '`')
            return at[1] && at[1] != '.' ? NULL : at + 1;
        at += *at == '`';
        lc_buf_char(part, *at);
    }
    return NULL;
}

lcdc_status lc_sql_table(const char *name, struct lc_arena *arena, const char **out, lcdc_error **err)
{
    LC_BUF struct lc_buf quoted;
    lc_buf_init(&quoted, MAX_NAME * 4);
    const char *at = name;
    bool is_good = *name && strlen(name) <= MAX_NAME;
    for (int n = 0; is_good; n++) {
        LC_BUF struct lc_buf part;
        lc_buf_init(&part, MAX_NAME);
        at = take_part(at, &part);
        is_good = at && part.n && !part.failed && n < MAX_PARTS && lc_utf8_valid((struct lc_str){part.p, part.n});
        if (!is_good)
            break;
        lc_sql_name(&quoted, (struct lc_str){part.p, part.n});
        if (!*at)
            break;
        lc_buf_char(&quoted, *at++);
    }
    if (!is_good)
        return lc_fail(err, LC_R_OPTION_VALUE,
                       "name: found '%.200s', expected catalog.db.table, odd parts in backticks", name);
    LC_TRY_BUF(&quoted);
    *out = lc_arena_strndup(arena, quoted.p, quoted.n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

lcdc_status lc_sql_check(const char *sql, lcdc_error **err)
{
    if (!strstr(sql, "${"))
        return LCDC_OK;
    return lc_fail(err, LC_R_SPARK_ENGINE,
                   "a name holds '${', where Spark would put a setting's value; expected one that Spark leaves alone");
}

size_t lc_sql_catalog_length(const char *table)
{
    size_t n_dots = 0, first = 0;
    bool is_quoted = false;
    for (const char *at = table; *at; at++) {
        is_quoted = is_quoted != (*at == '`');
        if (*at == '.' && !is_quoted && n_dots++ == 0)
            first = (size_t)(at - table) + 1;
    }
    return n_dots >= 2 ? first : 0;
}

/* ---- queries ---- */

const char *const lc_sql_op_column = "_change_type";

const char *lc_sql_commit_column(enum lc_sql_source source)
{
    return source == LC_SQL_VIEW ? "_commit_snapshot_id" : "_commit_version";
}

static void print_list(const struct lc_sql_query *query, struct lc_buf *out)
{
    if (!query->columns) {
        lc_buf_char(out, '*');
        return;
    }
    for (size_t i = 0; i < query->columns->n_children; i++) {
        lc_buf_text(out, i ? ", " : "");
        lc_sql_name(out, lc_str_of(query->columns->children[i].name));
    }
    if (query->source == LC_SQL_STATE)
        return;
    if (query->row_ids)
        lc_buf_text(out, ", `_metadata`");
    lc_buf_printf(out, ", `%s`", lc_sql_op_column);
    lc_buf_text(out, query->source == LC_SQL_VIEW ? ", `_change_ordinal`, `_commit_snapshot_id`"
                                                  : ", `_commit_version`, `_commit_timestamp`");
}

static void print_from(const struct lc_sql_query *query, struct lc_buf *out)
{
    lc_buf_text(out, " FROM ");
    switch (query->source) {
    case LC_SQL_NATIVE:
        lc_buf_printf(out, "%s CHANGES FROM VERSION %" PRId64 " TO VERSION %" PRId64 " WITH (computeUpdates = 'true')",
                      query->table, query->from, query->to);
        return;
    case LC_SQL_CDF:
        lc_buf_text(out, "table_changes(");
        lc_sql_text(out, lc_str_of(query->table));
        lc_buf_printf(out, ", %" PRId64 ", %" PRId64 ")", query->from, query->to);
        return;
    case LC_SQL_VIEW:
        lc_sql_name(out, lc_str_of(query->table));
        return;
    case LC_SQL_STATE:
        lc_buf_text(out, query->table);
        if (query->to >= 0)
            lc_buf_printf(out, " VERSION AS OF %" PRId64, query->to);
        return;
    }
}

static void print_old_words(const struct lc_sql_query *query, struct lc_buf *out)
{
    lc_buf_printf(out, "`%s` IN (%s)", lc_sql_op_column,
                  query->source == LC_SQL_VIEW ? "'DELETE', 'UPDATE_BEFORE'" : "'delete', 'update_preimage'");
}

bool lc_sql_holds_map(const struct lc_field *field)
{
    bool found = field->type.kind == LC_TYPE_MAP || field->is_variant;
    for (size_t i = 0; i < field->n_children && !found; i++)
        found = lc_sql_holds_map(&field->children[i]);
    return found;
}

bool lc_sql_can_slice(const struct lc_field *columns)
{
    for (size_t i = 0; i < columns->n_children; i++)
        if (!lc_sql_holds_map(&columns->children[i]))
            return true;
    return false;
}

static void print_slice(const struct lc_sql_query *query, struct lc_buf *out)
{
    const char *comma = "";
    lc_buf_text(out, "pmod(xxhash64(");
    for (size_t i = 0; i < query->hash_columns->n_children; i++) {
        if (lc_sql_holds_map(&query->hash_columns->children[i]))
            continue;
        lc_buf_text(out, comma);
        lc_sql_name(out, lc_str_of(query->hash_columns->children[i].name));
        comma = ", ";
    }
    lc_buf_printf(out, "), %" PRId64 ") = %" PRId64, query->n_slices, query->slice);
}

/*
 * A delete whose filter column is null because its source could not supply it is kept. That it could not is certain
 * where the table's column holds no nulls; any other null is the row's own value, and the condition decides as it does
 * anywhere.
 */
static void print_unknown_deletes(const struct lc_sql_query *query, struct lc_buf *out)
{
    const struct lc_field *columns = query->filter_columns;
    LC_FREE bool *used = lc_calloc(columns->n_children ? columns->n_children : 1, sizeof(*used));
    const char *lead = query->source == LC_SQL_VIEW ? " OR (`_change_type` = 'DELETE' AND ("
                                                    : " OR (`_change_type` = 'delete' AND (";
    if (!used) {
        out->failed = true;
        return;
    }
    lc_filter_columns(query->filter, used);
    bool found = false;
    for (size_t i = 0; i < columns->n_children; i++) {
        if (!used[i] || columns->children[i].nullable)
            continue;
        lc_buf_text(out, found ? " OR " : lead);
        lc_sql_name(out, lc_str_of(columns->children[i].name));
        lc_buf_text(out, " IS NULL");
        found = true;
    }
    lc_buf_text(out, found ? "))" : "");
}

static void print_where(const struct lc_sql_query *query, struct lc_buf *out)
{
    const char *lead = " WHERE ";
    if (query->filter) {
        lc_buf_printf(out, "%s(", lead);
        lc_filter_print_bare(query->filter, query->filter_columns, out);
        if (query->source != LC_SQL_STATE)
            print_unknown_deletes(query, out);
        lc_buf_char(out, ')');
        lead = " AND ";
    }
    if (query->side != LC_SIDE_BOTH) {
        lc_buf_printf(out, "%s%s", lead, query->side == LC_SIDE_NEW ? "NOT " : "");
        print_old_words(query, out);
        lead = " AND ";
    }
    if (query->n_slices > 1) {
        lc_buf_text(out, lead);
        print_slice(query, out);
    }
}

void lc_sql_query_print(const struct lc_sql_query *query, struct lc_buf *out)
{
    lc_buf_text(out, "SELECT ");
    print_list(query, out);
    print_from(query, out);
    print_where(query, out);
    if (query->source == LC_SQL_STATE || query->side != LC_SIDE_BOTH || query->any_order)
        return;
    lc_buf_printf(out, " ORDER BY `%s`, CASE WHEN ",
                  query->source == LC_SQL_VIEW ? "_change_ordinal" : "_commit_version");
    print_old_words(query, out);
    lc_buf_text(out, " THEN 0 ELSE 1 END");
}
