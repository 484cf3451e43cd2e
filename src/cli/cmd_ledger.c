/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ledger.c - `lakecdc ledger`: what a sync remembers, for people and machines.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cmd.h"

enum { COLUMNS = 6, CELL = 64 };

struct listing {
    const struct lc_cli_options *options;
    bool found, measures;
    int widths[COLUMNS];
};

static int usage(const char *what)
{
    return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage", "ledger: %s", what);
}

/* ---- what is shown ---- */

static const char *time_text(int64_t us, char text[CELL])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm parts;
    if (us == INT64_MIN || !gmtime_r(&seconds, &parts) || !strftime(text, CELL, "%Y-%m-%dT%H:%M:%SZ", &parts))
        (void)snprintf(text, CELL, "-");
    return text;
}

static void put_cells(struct listing *listing, const char *const cells[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        int n = (int)strlen(cells[i]);
        if (listing->measures) {
            listing->widths[i] = n > listing->widths[i] ? n : listing->widths[i];
            continue;
        }
        lc_cli_print_clean(stdout, cells[i]);
        if (i + 1 < COLUMNS)
            fprintf(stdout, "%*s", listing->widths[i] - n + 2, "");
    }
    if (!listing->measures)
        fputc('\n', stdout);
}

static void list_row(void *context, const lcdc_ledger_table *table)
{
    struct listing *listing = context;
    char rows[32], commit[CELL] = "-", success[CELL];
    if (table->commit >= 0)
        (void)snprintf(commit, sizeof(commit), "%" PRId64, table->commit);
    put_cells(listing, (const char *const[COLUMNS]){table->name, table->state, lc_cli_count(table->rows, rows), commit,
                                                    time_text(table->success_us, success),
                                                    table->error_reason ? table->error_reason : "-"});
}

static void show_line(const char *name, const char *value)
{
    fprintf(stdout, "%-14s", name);
    lc_cli_print_clean(stdout, value ? value : "-");
    fputc('\n', stdout);
}

static void show_row(void *context, const lcdc_ledger_table *table)
{
    struct listing *listing = context;
    char text[CELL];
    if (strcmp(table->name, listing->options->second) != 0)
        return;
    listing->found = true;
    if (listing->options->json) {
        fprintf(stdout, "%s\n", table->state_json);
        return;
    }
    show_line("table", table->name);
    show_line("state", table->state);
    show_line("cursor", table->cursor);
    show_line("rows", lc_cli_count(table->rows, text));
    show_line("commits", lc_cli_count(table->commits, text));
    show_line("windows", lc_cli_count(table->windows, text));
    if (table->commit >= 0)
        (void)snprintf(text, sizeof(text), "%" PRId64, table->commit);
    show_line("last commit", table->commit >= 0 ? text : NULL);
    show_line("committed", time_text(table->commit_us, text));
    show_line("last success", time_text(table->success_us, text));
    show_line("updated", time_text(table->updated_us, text));
    show_line("failures", lc_cli_count(table->failures, text));
    show_line("last error", table->error_message);
}

static void json_row(void *context, const lcdc_ledger_table *table)
{
    (void)context;
    fprintf(stdout, "%s\n", table->state_json);
}

/* ---- actions ---- */

static int list(lcdc_ledger *ledger, const struct lc_cli_options *options)
{
    static const char *const heads[COLUMNS] = {"table", "state", "rows", "commit", "last success", "last error"};
    struct listing listing = {.options = options};
    lcdc_error *error = NULL;
    if (options->second)
        return usage("list takes no table; see lakecdc help ledger");
    for (int pass = 0; pass < (options->json ? 1 : 2); pass++) {
        listing.measures = pass == 0;
        if (!options->json)
            put_cells(&listing, heads);
        if (lcdc_ledger_each(ledger, options->json ? json_row : list_row, &listing, &error) != LCDC_OK)
            return lc_cli_error(error);
    }
    return LCDC_OK;
}

static int show(lcdc_ledger *ledger, const struct lc_cli_options *options)
{
    struct listing listing = {.options = options};
    lcdc_error *error = NULL;
    if (lcdc_ledger_each(ledger, show_row, &listing, &error) != LCDC_OK)
        return lc_cli_error(error);
    if (listing.found)
        return LCDC_OK;
    return lc_cli_fail(LCDC_NOT_FOUND, "ledger.unknown_table", "the ledger has no table '%s'; see lakecdc ledger list",
                       options->second);
}

static int set(lcdc_ledger *ledger, const struct lc_cli_options *options)
{
    lcdc_error *error = NULL;
    lcdc_status status = LCDC_OK;
    if ((options->set_cursor != NULL) + options->resume + options->pause != 1)
        return usage("set needs one of --cursor, --resume and --pause");
    if (options->set_cursor)
        status = lcdc_ledger_set_cursor(ledger, options->second, options->set_cursor, &error);
    else if (options->resume)
        status = lcdc_ledger_resume(ledger, options->second, &error);
    else
        status = lcdc_ledger_pause(ledger, options->second, &error);
    return status == LCDC_OK ? LCDC_OK : lc_cli_error(error);
}

static int reset(lcdc_ledger *ledger, const struct lc_cli_options *options)
{
    lcdc_error *error = NULL;
    return lcdc_ledger_reset(ledger, options->second, &error) == LCDC_OK ? LCDC_OK : lc_cli_error(error);
}

static const struct {
    const char *name;
    bool writes, needs_table;
    int (*run)(lcdc_ledger *ledger, const struct lc_cli_options *options);
} actions[] = {
    {"list", false, false, list}, {"show", false, true, show}, {"reset", true, true, reset}, {"set", true, true, set}};

/* ---- the ledger ---- */

static bool is_sqlite(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof(magic)] = "";
    FILE *file = fopen(path, "rbe");
    size_t n = file ? fread(head, 1, sizeof(magic), file) : 0;
    if (file)
        (void)fclose(file);
    return n == sizeof(magic) && memcmp(head, magic, sizeof(magic)) == 0;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}

/* FILE is a ledger, or a config that names one. */
static int act_on(size_t i, const struct lc_cli_options *options)
{
    const char *file = options->ledger;
    bool is_config = !is_sqlite(file) && (has_suffix(file, ".yaml") || has_suffix(file, ".yml"));
    lcdc_error *error = NULL;
    lcdc_ledger *ledger = NULL;
    lcdc_status opened = is_config ? lcdc_ledger_open_config(file, actions[i].writes, &ledger, &error)
                                   : lcdc_ledger_open(file, actions[i].writes, &ledger, &error);
    if (opened != LCDC_OK)
        return lc_cli_error(error);
    int status = actions[i].run(ledger, options);
    lcdc_ledger_free(ledger);
    return status;
}

int lc_cmd_ledger(const struct lc_cli_options *options)
{
    struct lc_cli_nearest nearest = {.word = options->word ? options->word : ""};
    if (!options->word)
        return usage("an ACTION is needed: list, show, reset or set");
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        lc_cli_nearest_add(&nearest, actions[i].name);
        if (strcmp(options->word, actions[i].name) != 0)
            continue;
        if (!options->ledger)
            return usage("--ledger FILE is needed: the ledger, or the config of a sync");
        if (actions[i].needs_table && !options->second)
            return usage("a TABLE is needed; lakecdc ledger list prints their names");
        return act_on(i, options);
    }
    return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage", "ledger: there is no action '%s'; %s%s", options->word,
                       nearest.best ? "did you mean " : "there are list, show, reset and set",
                       nearest.best ? nearest.best : "");
}
