/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db_compare.c - the columns found in a target against the table's: what fits, what can be made to fit, what cannot.
 *
 * Added columns are added and widened ones widened, because both leave every row as it is. Whatever would need a guess
 * (a column that is gone may have been dropped or renamed) or lose values is refused, and the message says what a
 * person can do. What the columns were when the target was last opened is on record in lakecdc_cursor: so a column that
 * the sink wrote is told from one that somebody added, and a type that changed is seen where the database has one for
 * both.
 */
#include "sink/db.h"

#include <string.h>

#include "io/json.h"

/* ---- types of a database ---- */

struct sql_number {
    enum { NO_NUMBER, WHOLE, BINARY, DECIMAL, ANY_DECIMAL } kind;
    int64_t digits; /* WHOLE: bytes; BINARY: bits of the fraction; DECIMAL: digits before the point */
    int64_t scale;
};

static struct sql_number number_of(const char *type)
{
    static const struct {
        const char *name;
        struct sql_number number;
    } named[] = {{"smallint", {WHOLE, 2, 0}},
                 {"integer", {WHOLE, 4, 0}},
                 {"bigint", {WHOLE, 8, 0}},
                 {"real", {BINARY, 24, 0}},
                 {"double precision", {BINARY, 53, 0}},
                 {"numeric", {ANY_DECIMAL, 0, 0}}};
    struct sql_number number = {NO_NUMBER, 0, 0};
    for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
        if (strcmp(type, named[i].name) == 0)
            return named[i].number;
    struct lc_str rest = lc_str_of(type);
    const char *comma = strchr(type, ',');
    if (!lc_str_starts(rest, "numeric(") || !lc_str_ends(rest, ")") || !comma)
        return number;
    int64_t precision;
    if (lc_parse_i64((struct lc_str){type + 8, (size_t)(comma - type) - 8}, &precision) &&
        lc_parse_i64((struct lc_str){comma + 1, strlen(comma) - 2}, &number.scale))
        number = (struct sql_number){DECIMAL, precision - number.scale, number.scale};
    return number;
}

static bool number_holds(struct sql_number to, struct sql_number from)
{
    static const int64_t digits[] = {[2] = 5, [4] = 10, [8] = 19};
    if (to.kind == NO_NUMBER || from.kind == NO_NUMBER)
        return false;
    if (to.kind == from.kind && to.kind != DECIMAL)
        return to.digits >= from.digits;
    if (to.kind == ANY_DECIMAL)
        return from.kind != BINARY; /* it has no infinity in older servers */
    if (to.kind == BINARY)
        return from.kind == WHOLE && from.digits * 8 <= to.digits;
    if (to.kind == DECIMAL && from.kind == WHOLE)
        return to.digits >= digits[from.digits];
    return to.kind == DECIMAL && from.kind == DECIMAL && to.digits >= from.digits && to.scale >= from.scale;
}

/* How SQLite treats what is stored in a column, from its declared type. */
static const char *affinity(const char *type)
{
    static const char *const rules[][2] = {{"INT", "INTEGER"}, {"CHAR", "TEXT"}, {"CLOB", "TEXT"}, {"TEXT", "TEXT"},
                                           {"BLOB", "BLOB"},   {"REAL", "REAL"}, {"FLOA", "REAL"}, {"DOUB", "REAL"}};
    if (!*type)
        return "BLOB";
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (strcasestr(type, rules[i][0]))
            return rules[i][1];
    return "NUMERIC";
}

static bool sqlite_holds(const char *to, const char *from)
{
    const char *kept = affinity(to), *given = affinity(from);
    bool is_whole = strcmp(given, "INTEGER") == 0 || strcmp(given, "NUMERIC") == 0; /* NUMERIC: our BOOLEAN */
    return strcmp(kept, given) == 0 || strcmp(kept, "BLOB") == 0 ||
           (is_whole && (strcmp(kept, "INTEGER") == 0 || strcmp(kept, "NUMERIC") == 0));
}

bool lc_db_type_holds(enum lc_db_dialect dialect, const char *to, const char *from)
{
    static const char *const others[][2] = {{"timestamp without time zone", "date"},
                                            {"character varying", "text"},
                                            {"text", "character varying"},
                                            {"json", "jsonb"}};
    if (strcmp(to, from) == 0)
        return true;
    if (dialect == LC_DB_SQLITE)
        return sqlite_holds(to, from);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strcmp(to, others[i][0]) == 0 && strcmp(from, others[i][1]) == 0)
            return true;
    return number_holds(number_of(to), number_of(from));
}

/* ---- types of the table, as they are on record ---- */

static struct lc_type type_of_word(struct lc_str word)
{
    struct lc_type type = {.kind = LC_TYPE_COUNT};
    size_t n = 0;
    int64_t precision, scale;
    while (n < word.n && word.p[n] != '(' && word.p[n] != '<')
        n++;
    for (int kind = 0; kind < LC_TYPE_COUNT; kind++)
        if (lc_str_is((struct lc_str){word.p, n}, lc_type_word(kind)))
            type.kind = kind;
    if (lc_str_is(word, "variant"))
        type.kind = LC_TYPE_STRUCT;
    const char *comma = type.kind == LC_TYPE_DECIMAL ? memchr(word.p, ',', word.n) : NULL;
    if (comma && lc_parse_i64((struct lc_str){word.p + n + 1, (size_t)(comma - word.p) - n - 1}, &precision) &&
        lc_parse_i64((struct lc_str){comma + 1, word.n - (size_t)(comma - word.p) - 2}, &scale)) {
        type.precision = (int)precision;
        type.scale = (int)scale;
    }
    return type;
}

/* Whether rows that are there already, of type `from`, are still right as they are stored. */
static bool word_widens(struct lc_str from_word, struct lc_str to_word)
{
    struct lc_type from = type_of_word(from_word), to = type_of_word(to_word);
    if (lc_str_eq(from_word, to_word))
        return true;
    if (from.kind == LC_TYPE_DECIMAL && to.kind == LC_TYPE_DECIMAL)
        return from.scale == to.scale && to.precision >= from.precision;
    if (lc_type_is_nested(from.kind) || from.kind == LC_TYPE_FIXED)
        return to.kind == from.kind || (from.kind == LC_TYPE_FIXED && to.kind == LC_TYPE_BINARY);
    return from.kind >= LC_TYPE_INT8 && to.kind <= LC_TYPE_DOUBLE && to.kind >= from.kind &&
           (from.kind >= LC_TYPE_FLOAT) == (to.kind >= LC_TYPE_FLOAT);
}

/* ---- columns ---- */

static bool same_name(const struct lc_db_target *target, const char *a, const char *b)
{
    return (target->dialect == LC_DB_SQLITE ? strcasecmp(a, b) : strcmp(a, b)) == 0;
}

static lcdc_status check_missing(const struct lc_db_target *target, const struct lc_db_column *column, lcdc_error **err)
{
    if (!column->field)
        return lc_fail(err, LC_R_SINK_SCHEMA,
                       "target %s has no column %s: it is not a history of lakecdc; give the "
                       "sync another target",
                       target->shown, column->name);
    if (column->is_key)
        return lc_fail(err, LC_R_SINK_SCHEMA,
                       "target %s has no column \"%.*s\", which is an identity column: it cannot be added to rows that "
                       "are there; give the sync another target",
                       target->shown, LC_STR_ARG(lc_str_of(column->name)));
    return LCDC_OK;
}

static lcdc_status check_type(const struct lc_db_target *target, const struct lc_db_column *column,
                              const struct lc_db_found *found, const struct json_t *recorded, enum lc_db_change *out,
                              lcdc_error **err)
{
    struct lc_str before;
    bool fits = lc_db_type_holds(target->dialect, found->type, column->type);
    if (fits && column->word && recorded && lc_json_get_str(recorded, column->name, &before) &&
        !word_widens(before, lc_str_of(column->word)))
        return lc_fail(err, LC_R_SINK_SCHEMA,
                       "column \"%.*s\" of target %s was %.*s when its rows were written, and is %.*s now: write to "
                       "another target, or cast the column back with a transform",
                       LC_STR_ARG(lc_str_of(column->name)), target->shown, LC_STR_ARG(before),
                       LC_STR_ARG(lc_str_of(column->word)));
    *out = LC_DB_FITS;
    if (fits)
        return LCDC_OK;
    *out = LC_DB_WIDENS;
    if (target->dialect == LC_DB_POSTGRESQL && lc_db_type_holds(target->dialect, column->type, found->type))
        return LCDC_OK;
    return lc_fail(err, LC_R_SINK_SCHEMA,
                   "column \"%.*s\" of target %s is %s, and %s is expected: change its type there, cast it with a "
                   "transform, or write to another target",
                   LC_STR_ARG(lc_str_of(column->name)), target->shown, *found->type ? found->type : "without a type",
                   *column->type ? column->type : "no type");
}

/* A column of the target that is none of ours. */
static lcdc_status check_other(const struct lc_db_target *target, const struct lc_db_found *found,
                               const struct json_t *recorded, lcdc_error **err)
{
    struct lc_str word;
    if (recorded && lc_json_get_str(recorded, found->name, &word) && !target->keeps_dropped)
        return lc_fail(err, LC_R_SINK_SCHEMA,
                       "column \"%.*s\" (%.*s) of target %s is no longer a column of the table, dropped or renamed: "
                       "drop or rename it there too, or set dropped_columns to keep",
                       LC_STR_ARG(lc_str_of(found->name)), LC_STR_ARG(word), target->shown);
    if (!found->may_be_left_out)
        return lc_fail(err, LC_R_SINK_SCHEMA,
                       "column \"%.*s\" of target %s is no column of the table, takes no null and has no default: give "
                       "it a default, or write to another target",
                       LC_STR_ARG(lc_str_of(found->name)), target->shown);
    return LCDC_OK;
}

lcdc_status lc_db_compare(const struct lc_db_target *target, size_t n_found, const struct lc_db_found *found,
                          const char *recorded, enum lc_db_change *changes, lcdc_error **err)
{
    struct json_t *columns LC_JSON = NULL;
    if (recorded)
        LC_TRY(lc_json_parse(lc_str_of(recorded), &columns, err));
    for (size_t i = 0; i < target->n_columns; i++) {
        const struct lc_db_column *column = &target->columns[i];
        size_t k = 0;
        while (k < n_found && !same_name(target, found[k].name, column->name))
            k++;
        changes[i] = LC_DB_MISSING;
        if (k == n_found)
            LC_TRY(check_missing(target, column, err));
        else
            LC_TRY(check_type(target, column, &found[k], columns, &changes[i], err));
    }
    for (size_t k = 0; k < n_found; k++) {
        size_t i = 0;
        while (i < target->n_columns && !same_name(target, found[k].name, target->columns[i].name))
            i++;
        if (i == target->n_columns)
            LC_TRY(check_other(target, &found[k], columns, err));
    }
    return LCDC_OK;
}
