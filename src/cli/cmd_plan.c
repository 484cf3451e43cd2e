/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_plan.c - `lakecdc plan`: what a read would touch, commit by commit, before it touches anything.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"

enum column { COMMIT, TIME, METHOD, FILES, PRUNED, ROWS, BYTES, DETAIL, COLUMNS };
enum { CELL = 64 };

struct line {
    char cells[COLUMNS][CELL];
    const char *detail;    /* of any length; last, so that it needs no width */
    char pruned[2 * CELL]; /* by what files were pruned, after the detail */
};

static const struct line heading = {{"commit", "time", "method", "files", "pruned", "rows", "bytes", ""}, "detail", ""};

static void put_count(char cell[CELL], int64_t n)
{
    char text[32];
    (void)snprintf(cell, CELL, "%s", n < 0 ? "?" : lc_cli_count(n, text));
}

static void put_bytes(char cell[CELL], int64_t n)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)n;
    size_t unit = 0;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    if (n < 0)
        (void)snprintf(cell, CELL, "?");
    else
        (void)snprintf(cell, CELL, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void put_time(char cell[CELL], int64_t ts_us)
{
    time_t seconds = (time_t)(ts_us / 1000000 - (ts_us % 1000000 < 0));
    struct tm parts;
    (void)snprintf(cell, CELL, "?");
    if (ts_us != INT64_MIN && gmtime_r(&seconds, &parts) && strftime(cell, CELL, "%Y-%m-%d %H:%M:%SZ", &parts) == 0)
        (void)snprintf(cell, CELL, "?");
}

static void put_pruned(char text[2 * CELL], const lcdc_plan_commit *commit)
{
    char partition[32], statistics[32];
    if (commit->files_pruned > 0)
        (void)snprintf(text, 2 * CELL, "pruned by partition %s, by statistics %s",
                       lc_cli_count(commit->pruned_by_partition, partition),
                       lc_cli_count(commit->pruned_by_statistics, statistics));
}

static struct line line_of(const lcdc_plan_commit *commit)
{
    struct line line = {.detail = commit->detail};
    (void)snprintf(line.cells[COMMIT], CELL, "%" PRId64, commit->snapshot);
    put_time(line.cells[TIME], commit->ts_us);
    (void)snprintf(line.cells[METHOD], CELL, "%s", commit->method);
    put_count(line.cells[FILES], commit->files);
    put_count(line.cells[PRUNED], commit->files_pruned);
    put_count(line.cells[ROWS], commit->rows);
    put_bytes(line.cells[BYTES], commit->bytes);
    put_pruned(line.pruned, commit);
    return line;
}

/* Unknown plus anything is unknown. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static struct line total_of(const lcdc_plan *plan)
{
    lcdc_plan_commit total = {.method = "", .detail = "", .ts_us = INT64_MIN};
    size_t n = lcdc_plan_commit_count(plan);
    for (size_t i = 0; i < n; i++) {
        const lcdc_plan_commit *commit = lcdc_plan_commit_at(plan, i);
        total.files = plus(total.files, commit->files);
        total.files_pruned = plus(total.files_pruned, commit->files_pruned);
        total.pruned_by_partition = plus(total.pruned_by_partition, commit->pruned_by_partition);
        total.pruned_by_statistics = plus(total.pruned_by_statistics, commit->pruned_by_statistics);
        total.rows = plus(total.rows, commit->rows);
        total.bytes = plus(total.bytes, commit->bytes);
    }
    struct line line = line_of(&total);
    (void)snprintf(line.cells[COMMIT], CELL, "total");
    (void)snprintf(line.cells[TIME], CELL, "%zu commit%s", n, n == 1 ? "" : "s");
    return line;
}

static void widen(int widths[COLUMNS], const struct line *line)
{
    for (int c = 0; c < DETAIL; c++)
        if ((int)strlen(line->cells[c]) > widths[c])
            widths[c] = (int)strlen(line->cells[c]);
}

static void print_line(const int widths[COLUMNS], const struct line *line, const char *paint)
{
    fputs(paint, stdout);
    for (int c = 0; c < DETAIL; c++) {
        bool is_left = c == TIME || c == METHOD;
        fprintf(stdout, is_left ? "%s%-*s" : "%s%*s", c ? "  " : "", widths[c], line->cells[c]);
    }
    fputs(line->detail[0] || line->pruned[0] ? "  " : "", stdout);
    lc_cli_print_clean(stdout, line->detail);
    fprintf(stdout, "%s%s", line->detail[0] && line->pruned[0] ? "; " : "", line->pruned);
    fputs(paint[0] ? "\x1B[0m\n" : "\n", stdout);
}

static void print_plan(const lcdc_plan *plan, bool color)
{
    int widths[COLUMNS] = {0};
    struct line total = total_of(plan);
    size_t n = lcdc_plan_commit_count(plan);
    widen(widths, &heading);
    widen(widths, &total);
    for (size_t i = 0; i < n; i++) {
        struct line line = line_of(lcdc_plan_commit_at(plan, i));
        widen(widths, &line);
    }
    print_line(widths, &heading, color ? "\x1B[1m" : "");
    for (size_t i = 0; i < n; i++) {
        const lcdc_plan_commit *commit = lcdc_plan_commit_at(plan, i);
        struct line line = line_of(commit);
        print_line(widths, &line, color && strcmp(commit->method, "none") == 0 ? "\x1B[2m" : "");
    }
    print_line(widths, &total, color ? "\x1B[1m" : "");
}

static int run(const struct lc_cli_options *options, lcdc_source **source, lcdc_plan **plan)
{
    lcdc_error *error = NULL;
    if (lcdc_source_open(options->request, source, &error) != LCDC_OK ||
        lcdc_plan_new(*source, options->request, plan, &error) != LCDC_OK)
        return lc_cli_error(error);
    if (options->json)
        fprintf(stdout, "%s\n", lcdc_plan_json(*plan));
    else
        print_plan(*plan, lc_cli_wants_color(options->color, STDOUT_FILENO));
    if (options->stats)
        fprintf(stderr, "%s\n", lcdc_plan_stats_json(*plan));
    return LCDC_OK;
}

int lc_cmd_plan(const struct lc_cli_options *options)
{
    lcdc_source *source = NULL;
    lcdc_plan *plan = NULL;
    int status = run(options, &source, &plan);
    lcdc_plan_free(plan);
    lcdc_source_free(source);
    return status;
}
