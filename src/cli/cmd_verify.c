/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_verify.c - `lakecdc verify`: rows before the range + feed = rows at its end, or which commit breaks it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd.h"

static void print_json(const lcdc_verify_result *result)
{
    fprintf(stdout,
            "{\"holds\":%s,\"from_rows\":%" PRId64 ",\"inserts\":%" PRId64 ",\"deletes\":%" PRId64
            ",\"to_rows\":%" PRId64 ",\"first_bad_snapshot\":",
            result->holds ? "true" : "false", result->from_rows, result->inserts, result->deletes, result->to_rows);
    if (result->first_bad_snapshot < 0)
        fputs("null}\n", stdout);
    else
        fprintf(stdout, "%" PRId64 "}\n", result->first_bad_snapshot);
}

static void print_text(const lcdc_verify_result *result)
{
    char text[4][32];
    fprintf(stdout, "holds: %s rows before + %s after images - %s before images = %s rows at the end, as multisets\n",
            lc_cli_count(result->from_rows, text[0]), lc_cli_count(result->inserts, text[1]),
            lc_cli_count(result->deletes, text[2]), lc_cli_count(result->to_rows, text[3]));
}

static int mismatch(const lcdc_verify_result *result)
{
    char where[64] = "";
    if (result->first_bad_snapshot >= 0)
        (void)snprintf(where, sizeof(where), "; commit %" PRId64 " is the first that breaks it",
                       result->first_bad_snapshot);
    return lc_cli_fail(LCDC_MISMATCH, "verify.mismatch",
                       "the feed does not lead from the rows before the range to those at its end: %" PRId64
                       " + %" PRId64 " - %" PRId64 " rows against %" PRId64 "%s",
                       result->from_rows, result->inserts, result->deletes, result->to_rows, where);
}

static int run(const struct lc_cli_options *options, lcdc_source **source)
{
    lcdc_error *error = NULL;
    lcdc_verify_result result;
    if (lcdc_source_open(options->request, source, &error) != LCDC_OK ||
        lcdc_verify(*source, options->request, &result, &error) != LCDC_OK)
        return lc_cli_error(error);
    if (options->json)
        print_json(&result);
    else if (result.holds)
        print_text(&result);
    return result.holds ? LCDC_OK : mismatch(&result);
}

int lc_cmd_verify(const struct lc_cli_options *options)
{
    lcdc_source *source = NULL;
    int status = run(options, &source);
    lcdc_source_free(source);
    return status;
}
