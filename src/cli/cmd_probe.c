/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_probe.c - `lakecdc probe`: which backend serves a table, and why not the others.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

static void print_line(const char *label, int width, const char *text)
{
    fprintf(stdout, "%-*s  ", width, label);
    lc_cli_print_clean(stdout, text);
    fputc('\n', stdout);
}

static void print_verdict(const lcdc_verdict *verdict, bool color)
{
    size_t n = lcdc_verdict_candidate_count(verdict);
    const char *chosen = lcdc_verdict_chosen(verdict);
    int width = (int)strlen("backend");
    for (size_t i = 0; i < n; i++)
        if ((int)strlen(lcdc_verdict_candidate_name(verdict, i)) > width)
            width = (int)strlen(lcdc_verdict_candidate_name(verdict, i));
    print_line("chosen", width, chosen ? chosen : "none");
    print_line("why", width, lcdc_verdict_reason(verdict));
    fputc('\n', stdout);
    fprintf(stdout, "%-*s  usable  reason\n", width, "backend");
    for (size_t i = 0; i < n; i++) {
        bool usable = lcdc_verdict_candidate_usable(verdict, i);
        fprintf(stdout, "%-*s  %s%-6s%s  ", width, lcdc_verdict_candidate_name(verdict, i),
                color ? usable ? "\x1B[32m" : "\x1B[2m" : "", usable ? "yes" : "no", color ? "\x1B[0m" : "");
        lc_cli_print_clean(stdout, lcdc_verdict_candidate_reason(verdict, i));
        fputc('\n', stdout);
    }
}

/* The verdict is printed also when nothing can read the table: it says why. Of a table that is not there a person is
   told in one line, a machine gets the record. */
int lc_cmd_probe(const struct lc_cli_options *options)
{
    lcdc_error *error = NULL;
    lcdc_source *source = NULL;
    lcdc_status status = lcdc_source_probe(options->request, &source, &error);
    const lcdc_verdict *verdict = lcdc_source_verdict(source);
    if (verdict && options->json)
        fprintf(stdout, "%s\n", lcdc_verdict_json(verdict));
    else if (verdict && status != LCDC_NOT_FOUND)
        print_verdict(verdict, lc_cli_wants_color(options->color, STDOUT_FILENO));
    lcdc_source_free(source);
    return status == LCDC_OK ? LCDC_OK : lc_cli_error(error);
}
