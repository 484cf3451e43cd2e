/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db_target.c - a target as its options, the table's columns and the type mapping make it.
 *
 * What a database would change in silence (a name cut at 63 bytes, two columns that differ in letter case) is refused
 * here, before anything is created.
 */
#include "sink/db.h"

#include <string.h>

enum { POSTGRESQL_NAME_BYTES = 63 };

static const char *const types[][LC_TYPE_COUNT] = {
#define LC_DB_TYPE(kind, sqlite, postgresql, text) [LC_TYPE_##kind] = (sqlite),
    [LC_DB_SQLITE] =
        {
#include "sink/db_types.def"
        },
#undef LC_DB_TYPE
#define LC_DB_TYPE(kind, sqlite, postgresql, text) [LC_TYPE_##kind] = (postgresql),
    [LC_DB_POSTGRESQL] =
        {
#include "sink/db_types.def"
        },
#undef LC_DB_TYPE
};

void lc_db_target_done(struct lc_db_target *target)
{
    lc_arena_done(&target->arena);
}

static lcdc_status check_name(const struct lc_db_target *target, const char *what, const char *name, lcdc_error **err)
{
    size_t n = strlen(name);
    if (n == 0)
        return lc_fail(err, LC_R_SINK_SCHEMA, "the target's %s has no name; a database needs one", what);
    if (target->dialect == LC_DB_POSTGRESQL && n > POSTGRESQL_NAME_BYTES)
        return lc_fail(err, LC_R_SINK_SCHEMA,
                       "%s \"%.*s\" has %zu bytes, and postgresql cuts names at %d: give it a shorter one", what,
                       LC_STR_ARG(lc_str_of(name)), n, POSTGRESQL_NAME_BYTES);
    return LCDC_OK;
}

/* ---- options ---- */

static bool is_set(const struct lc_sink_ops *ops, const struct lc_sink_setup *setup, const char *key, const char *word)
{
    const char *value = lc_sink_setting(ops, setup, key);
    return value && strcmp(value, word) == 0;
}

static enum lc_db_mode mode_of(const struct lc_sink_ops *ops, const struct lc_sink_setup *setup)
{
    if (is_set(ops, setup, "mode", "history"))
        return LC_DB_HISTORY;
    return is_set(ops, setup, "mode", "replace") ? LC_DB_REPLACE : LC_DB_UPSERT;
}

static lcdc_status read_options(struct lc_db_target *target, const struct lc_sink_ops *ops, const char *schema,
                                lcdc_error **err)
{
    const struct lc_sink_setup *setup = target->setup;
    const char *table = lc_sink_setting(ops, setup, "table");
    struct lc_buf shown LC_BUF;
    lc_buf_init(&shown, LC_BUF_MAX);
    target->table = table ? table : setup->table;
    target->schema = schema;
    target->mode = mode_of(ops, setup);
    target->may_create = is_set(ops, setup, "create", "true");
    target->may_adopt = is_set(ops, setup, "if_exists", "adopt");
    target->takes_last = is_set(ops, setup, "duplicates", "last");
    target->keeps_dropped = is_set(ops, setup, "dropped_columns", "keep");
    target->keeps_zero_sign = is_set(ops, setup, "signed_zero", "keep");
    if (schema)
        lc_buf_printf(&shown, "%s.", schema);
    lc_buf_text(&shown, target->table);
    LC_TRY_BUF(&shown);
    LC_TRY_ALLOC(target->shown = lc_arena_strdup(&target->arena, shown.p));
    if (target->mode == LC_DB_UPSERT && setup->n_identity == 0)
        return lc_fail(err, LC_R_IDENTITY_NEEDED,
                       "target %s is written by identity, and table %s has none: name its identity columns, or set "
                       "mode to history or replace",
                       target->shown, setup->table);
    return LCDC_OK;
}

/* ---- columns ---- */

static lcdc_status type_of(struct lc_db_target *target, const struct lc_field *field, const char **out,
                           lcdc_error **err)
{
    const char *spelled = types[target->dialect][field->type.kind];
    bool is_float = field->type.kind == LC_TYPE_FLOAT || field->type.kind == LC_TYPE_DOUBLE;
    struct lc_buf type LC_BUF;
    lc_buf_init(&type, LC_BUF_MAX);
    if (is_float && target->keeps_zero_sign)
        spelled = ""; /* what is stored there stays as it is */
    if (strchr(spelled, '('))
        lc_buf_printf(&type, "%.*s(%d,%d)", (int)strcspn(spelled, "("), spelled, field->type.precision,
                      field->type.scale);
    else
        lc_buf_text(&type, spelled);
    LC_TRY_BUF(&type);
    LC_TRY_ALLOC(*out = lc_arena_strdup(&target->arena, type.n ? type.p : ""));
    return LCDC_OK;
}

static lcdc_status add_column(struct lc_db_target *target, const struct lc_field *field, lcdc_error **err)
{
    struct lc_db_column *column = &target->columns[target->n_columns];
    struct lc_buf word LC_BUF;
    lc_buf_init(&word, LC_BUF_MAX);
    LC_TRY(check_name(target, "column", field->name, err));
    if (strncasecmp(field->name, "lakecdc_", 8) == 0)
        return lc_fail(err, LC_R_SINK_SCHEMA,
                       "column \"%.*s\" has a name of the kind that targets keep for themselves (lakecdc_...): rename "
                       "it with a transform",
                       LC_STR_ARG(lc_str_of(field->name)));
    lc_type_print(&word, field);
    LC_TRY_BUF(&word);
    *column = (struct lc_db_column){.name = field->name, .field = field};
    LC_TRY_ALLOC(column->word = lc_arena_strdup(&target->arena, word.p));
    LC_TRY(type_of(target, field, &column->type, err));
    target->n_columns++;
    return LCDC_OK;
}

/* Two names that are one to SQLite. */
static lcdc_status check_cases(const struct lc_db_target *target, lcdc_error **err)
{
    for (size_t i = 0; target->dialect == LC_DB_SQLITE && i < target->n_columns; i++)
        for (size_t k = 0; k < i; k++)
            if (strcasecmp(target->columns[i].name, target->columns[k].name) == 0)
                return lc_fail(err, LC_R_SINK_SCHEMA,
                               "columns \"%.*s\" and \"%.*s\" differ in letter case only, and sqlite knows no "
                               "difference: rename one with a transform",
                               LC_STR_ARG(lc_str_of(target->columns[k].name)),
                               LC_STR_ARG(lc_str_of(target->columns[i].name)));
    return LCDC_OK;
}

static void add_own_columns(struct lc_db_target *target)
{
    bool is_sqlite = target->dialect == LC_DB_SQLITE;
    const char *whole = is_sqlite ? "INTEGER" : "bigint", *text = is_sqlite ? "TEXT" : "text";
    target->columns[LC_DB_EVENT] = (struct lc_db_column){.name = "lakecdc_event", .type = whole, .is_key = true};
    target->columns[LC_DB_OP] = (struct lc_db_column){.name = "lakecdc_op", .type = text};
    target->columns[LC_DB_SNAPSHOT] = (struct lc_db_column){.name = "lakecdc_snapshot", .type = whole};
    target->columns[LC_DB_TS] = (struct lc_db_column){.name = "lakecdc_ts",
                                                      .type = types[target->dialect][LC_TYPE_TIMESTAMP_TZ]};
    target->n_own = target->n_columns = LC_DB_OWN;
}

lcdc_status lc_db_target_init(struct lc_db_target *target, const struct lc_sink_ops *ops, enum lc_db_dialect dialect,
                              const struct lc_sink_setup *setup, const char *schema, lcdc_error **err)
{
    const struct lc_field *images = setup->images;
    *target = (struct lc_db_target){.setup = setup, .dialect = dialect};
    LC_TRY(read_options(target, ops, schema, err));
    if (schema)
        LC_TRY(check_name(target, "schema", schema, err));
    LC_TRY(check_name(target, "table", target->table, err));
    if (strcasecmp(target->table, LC_DB_CURSOR) == 0)
        return lc_fail(err, LC_R_SINK_SCHEMA, "target table %s is where cursors are kept: give the target another name",
                       target->shown);
    if (images->n_children == 0)
        return lc_fail(err, LC_R_SINK_SCHEMA, "table %s has no columns; a target needs one", setup->table);
    target->columns = lc_arena_array(&target->arena, images->n_children + LC_DB_OWN, sizeof(*target->columns));
    LC_TRY_ALLOC(target->columns);
    if (target->mode == LC_DB_HISTORY)
        add_own_columns(target);
    for (size_t i = 0; i < images->n_children; i++)
        LC_TRY(add_column(target, &images->children[i], err));
    for (size_t i = 0; target->mode == LC_DB_UPSERT && i < setup->n_identity; i++)
        target->columns[setup->identity[i]].is_key = true;
    return check_cases(target, err);
}
