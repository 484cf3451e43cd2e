/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - `lakecdc help`: made from the commands' own words and the option tables, so that it cannot fall behind them.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

enum { WIDTH = 80, INDENT = 2, HELP_AT = 26 };

/* Text broken at blanks so that no line passes WIDTH; the first line goes on at column `at`. */
static void print_wrapped(const char *text, int at, int indent)
{
    int column = at;
    for (const char *p = text; *p;) {
        int n = (int)strcspn(p, " ");
        if (column > indent && column + 1 + n > WIDTH) {
            fprintf(stdout, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', stdout);
            column++;
        }
        fprintf(stdout, "%.*s", n, p);
        column += n;
        p += n;
        p += strspn(p, " ");
    }
    fputc('\n', stdout);
}

/* "  left      right ...", on two lines when left is too long. */
static void print_pair(const char *left, const char *right)
{
    int n = fprintf(stdout, "%*s%s", INDENT, "", left);
    if (n + 2 > HELP_AT) {
        fputc('\n', stdout);
        n = 0;
    }
    fprintf(stdout, "%*s", HELP_AT - n, "");
    print_wrapped(right, HELP_AT, HELP_AT);
}

static void print_flag(const struct lc_cli_flag *flag)
{
    char left[128], right[1024];
    (void)snprintf(left, sizeof(left), "%s%s%s%s%s", flag->letter ? flag->letter : "", flag->letter ? ", " : "",
                   flag->flag, flag->operand ? " " : "", flag->operand ? flag->operand : "");
    (void)snprintf(right, sizeof(right), "%s%s%s%s", flag->help, flag->initial ? " (default: " : "",
                   flag->initial ? flag->initial : "", flag->initial ? ")" : "");
    print_pair(left, right);
}

static void print_flags(const struct lc_cli_command *command)
{
    const char *group = "";
    struct lc_cli_flag flag;
    for (size_t i = 0; lc_cli_flag_at(command, i, &flag); i++) {
        if (strcmp(flag.group, group) != 0)
            fprintf(stdout, "\n%s\n", flag.group);
        group = flag.group;
        print_flag(&flag);
    }
}

static void print_exit_statuses(void)
{
    static const struct {
        lcdc_status status;
        const char *means;
    } statuses[] = {
        {LCDC_OK, "done; also when there was nothing to read"},
        {LCDC_INVALID_ARGUMENT, "the command line is wrong: option, filter, range"},
        {LCDC_NOT_FOUND, "no such table, version, snapshot, branch or file"},
        {LCDC_UNSUPPORTED, "understood, and cannot be answered exactly; the message says what would"},
        {LCDC_GONE, "was there once: expired, cleaned up, vacuumed; the message names the range that is left"},
        {LCDC_CORRUPT, "the table breaks its format's rules"},
        {LCDC_IO, "the storage or the output said no"},
        {LCDC_UNAVAILABLE, "a server cannot be reached; trying again may help"},
        {LCDC_DENIED, "authentication or permission"},
        {LCDC_LIMIT, "a limit was reached; the message names it"},
        {LCDC_CANCELLED, "cancelled"},
        {LCDC_OUT_OF_MEMORY, "memory ran out"},
        {LCDC_MISMATCH, "verify: the check does not hold"},
        {LCDC_INTERNAL, "a mistake of lakecdc; please report it"},
    };
    fputs("\nExit status\n", stdout);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        char left[16];
        (void)snprintf(left, sizeof(left), "%d", (int)statuses[i].status);
        print_pair(left, statuses[i].means);
    }
    print_pair("130, 143", "ended by SIGINT, SIGTERM, after cleaning up");
}

static void print_examples(const struct lc_cli_command *command)
{
    fputs("\nExamples\n", stdout);
    for (size_t i = 0; i < 3; i++) {
        fprintf(stdout, "  $ %s\n      ", command->examples[i][0]);
        print_wrapped(command->examples[i][1], 6, 6);
    }
}

static int print_command(const struct lc_cli_command *command)
{
    fprintf(stdout, "lakecdc %s - %s\n\nusage: lakecdc %s %s%s%s%s\n\n", command->name, command->summary, command->name,
            command->operand, command->second ? " " : "", command->second ? command->second : "",
            command->takes ? " [OPTION ...]" : "");
    print_wrapped(command->about, 0, 0);
    print_examples(command);
    print_flags(command);
    print_exit_statuses();
    return LCDC_OK;
}

static int print_overview(void)
{
    const struct lc_cli_command *command;
    fputs("lakecdc - what changed in this table since version N? Row by row, exactly, for\n"
          "Delta Lake and Apache Iceberg.\n\n"
          "usage: lakecdc COMMAND [OPTION ...]\n\nCommands\n",
          stdout);
    for (size_t i = 0; (command = lc_cli_command_at(i)) != NULL; i++)
        print_pair(command->name, command->summary);
    print_pair("--version", "print the version");
    fputs("\nExamples\n"
          "  $ lakecdc changes ./orders --from 3\n"
          "      every change from version 3 to the latest, as a table\n"
          "  $ lakecdc plan ./orders --from 3\n"
          "      which files that would open, before it opens them\n"
          "  $ lakecdc verify ./orders\n"
          "      proof that the changes add up\n",
          stdout);
    print_exit_statuses();
    fputs("\nSee lakecdc help COMMAND for the options of a command.\n", stdout);
    return LCDC_OK;
}

int lc_cmd_help(const struct lc_cli_options *options)
{
    if (!options->word)
        return print_overview();
    const struct lc_cli_command *command = lc_cli_command_named(options->word);
    return command ? print_command(command) : lc_cli_unknown_command(options->word);
}
