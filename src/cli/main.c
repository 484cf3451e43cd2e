/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the commands there are, and the way into them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

static const struct lc_cli_command commands[] = {
    {
        .name = "changes",
        .operand = "TABLE",
        .summary = "print the change rows of a range of commits",
        .about =
            "Reads what changed in TABLE between two commits, both included, and prints one change row a line: the "
            "kind "
            "of change (insert, delete, update_before, update_after; update with --fold), the image before, the image "
            "after, the commit and its time. The answer is exact or refused: never a guess, never a reread of the "
            "whole "
            "table. Standard output stays empty until 16 MiB of rows are ready or the read is done; FILE appears when "
            "the "
            "read has succeeded.",
        .examples = {{"lakecdc changes ./orders --from 3", "everything from version 3 to the latest"},
                     {"lakecdc changes ./orders --from 2024-03-01 --fold --identity id --where \"total > 100\"",
                      "since that day, updates as one row, only those over 100"},
                     {"lakecdc changes ./orders --cursor \"$(cat at)\" --format parquet -o new.parquet",
                      "what is new since an earlier read, as Parquet"}},
        .takes = LC_TAKES_TABLE | LC_TAKES_RANGE | LC_TAKES_SHAPE | LC_TAKES_LIMITS | LC_TAKES_ROWS | LC_TAKES_COLOR,
        .run = lc_cmd_changes,
    },
    {
        .name = "plan",
        .operand = "TABLE",
        .summary = "show what a read would touch, commit by commit",
        .about =
            "Works out, before any row is read, which method each commit of the range needs and how many files, rows "
            "and bytes that method will open; `pruned` counts the files that the filter rules out unread. What "
            "`changes` would refuse is refused here, with the same words.",
        .examples = {{"lakecdc plan ./orders", "every commit of the table"},
                     {"lakecdc plan ./orders --from 10 --where \"day = '2024-03-01'\"", "what a filter saves"},
                     {"lakecdc plan ./orders --json", "the same for a machine"}},
        .takes = LC_TAKES_TABLE | LC_TAKES_RANGE | LC_TAKES_SHAPE | LC_TAKES_LIMITS | LC_TAKES_JSON | LC_TAKES_COLOR |
                 LC_TAKES_STATS,
        .run = lc_cmd_plan,
    },
    {
        .name = "probe",
        .operand = "TABLE",
        .summary = "say which backend serves a table, and why not the others",
        .about = "Opens TABLE, asks each backend whether it can serve it, and prints the verdict: the backend that was "
                 "chosen, why, and in each other's own words why not. Reads metadata only.",
        .examples = {{"lakecdc probe ./orders", "a table in a folder"},
                     {"lakecdc probe sc://localhost:15002 --table db.orders", "a table behind Spark Connect"},
                     {"lakecdc probe ./orders --json", "the verdict for a machine"}},
        .takes = LC_TAKES_TABLE | LC_TAKES_JSON | LC_TAKES_COLOR,
        .run = lc_cmd_probe,
    },
    {
        .name = "verify",
        .operand = "TABLE",
        .summary = "check that rows before + changes = rows after",
        .about =
            "Reads the rows before the range, the changes in it and the rows at its end, and checks that the first "
            "two make the third, as multisets. Memory does not grow with the table. When the check fails the exit "
            "status is 13 and the message names the first commit that breaks it.",
        .examples = {{"lakecdc verify ./orders", "the whole history"},
                     {"lakecdc verify ./orders --from 10 --to 20", "a part of it"},
                     {"lakecdc verify ./orders --json", "the counts for a machine"}},
        .takes = LC_TAKES_TABLE | LC_TAKES_RANGE | LC_TAKES_LIMITS | LC_TAKES_JSON,
        .run = lc_cmd_verify,
    },
    {
        .name = "follow",
        .operand = "TABLE",
        .summary = "print change rows as they come",
        .about =
            "Goes on printing what changes in TABLE until SIGINT or SIGTERM, each commit as soon as it is there; after "
            "a signal the exit status is 0. Without --from, --cursor or --bootstrap it begins with the next commit. "
            "With --cursor-file it goes on where it was: the cursor is written once the rows of a commit are out, so a "
            "crash repeats at most the commit it came in. What may pass (a server that is down, storage that does not "
            "answer) is tried again after a growing while; lost history, a rollback or another table under the same "
            "name end it with the reason.",
        .examples = {{"lakecdc follow ./orders", "what changes from now on"},
                     {"lakecdc follow ./orders --bootstrap --cursor-file at --format jsonl >> feed.jsonl",
                      "the rows there are, then every change, resumable"},
                     {"lakecdc follow ./orders --from 12 --interval 10s --where \"total > 100\"",
                      "from version 12 on, looking every ten seconds"}},
        .takes = LC_TAKES_TABLE | LC_TAKES_RANGE | LC_TAKES_SHAPE | LC_TAKES_LIMITS | LC_TAKES_FOLLOW | LC_TAKES_COLOR,
        .run = lc_cmd_follow,
    },
    {
        .name = "sync",
        .operand = "CONFIG",
        .summary = "keep targets in step with tables, as a config says",
        .about =
            "Reads what is new in every table of CONFIG, delivers it to the sinks the config names, and remembers in "
            "the ledger how far it is; goes on until SIGTERM or SIGINT, which end it within a second. One commit is "
            "one window: it is there whole or not at all. A table that fails waits and is tried again while the others "
            "go on; one whose changes are lost is stopped, with the command that resumes it in the log. Options under "
            "Table are for --init. docs/sync.md tells the whole story.",
        .examples = {{"lakecdc sync --init ./orders > sync.yaml", "a config to begin with"},
                     {"lakecdc sync --check sync.yaml", "is it right, and does it fit the tables"},
                     {"lakecdc sync sync.yaml --once --log-format json", "up to date, then end"}},
        .takes = LC_TAKES_TABLE | LC_TAKES_SYNC,
        .run = lc_cmd_sync,
    },
    {
        .name = "ledger",
        .operand = "ACTION",
        .second = "[TABLE]",
        .summary = "show or set how far a sync is",
        .about =
            "list: every table of a ledger with its state, one a line. show TABLE: all that is remembered of it. reset "
            "TABLE: the next run begins it anew, its whole state replacing what the target holds. set TABLE: with "
            "--cursor, --resume or --pause. reset and set need the sync to be stopped; list and show do not. ACTION is "
            "list, show, reset or set.",
        .examples = {{"lakecdc ledger list --ledger sync.yaml", "every table of that sync"},
                     {"lakecdc ledger show orders --ledger ledger.db --json", "one table for a machine"},
                     {"lakecdc ledger reset orders --ledger ledger.db", "begin it anew"}},
        .takes = LC_TAKES_LEDGER | LC_TAKES_JSON,
        .run = lc_cmd_ledger,
    },
    {
        .name = "completion",
        .operand = "SHELL",
        .summary = "print completion for bash, zsh or fish",
        .about = "Prints a script that completes the commands, options and option words of this lakecdc.",
        .examples = {{"source <(lakecdc completion bash)", "in ~/.bashrc"},
                     {"source <(lakecdc completion zsh)", "in ~/.zshrc, after compinit"},
                     {"lakecdc completion fish > ~/.config/fish/completions/lakecdc.fish", "once"}},
        .run = lc_cmd_completion,
    },
    {
        .name = "help",
        .operand = "[COMMAND]",
        .summary = "print help, of one command if it is named",
        .about = "Prints what lakecdc does, or what one of its commands does with examples and every option.",
        .examples = {{"lakecdc help", "what there is"},
                     {"lakecdc help changes", "one command"},
                     {"lakecdc changes --help", "the same"}},
        .run = lc_cmd_help,
    },
};

const struct lc_cli_command *lc_cli_command_at(size_t i)
{
    return i < sizeof(commands) / sizeof(commands[0]) ? &commands[i] : NULL;
}

const struct lc_cli_command *lc_cli_command_named(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int lc_cli_unknown_command(const char *name)
{
    struct lc_cli_nearest nearest = {.word = name};
    const struct lc_cli_command *command;
    for (size_t i = 0; (command = lc_cli_command_at(i)) != NULL; i++)
        lc_cli_nearest_add(&nearest, command->name);
    lc_cli_nearest_add(&nearest, "--help");
    lc_cli_nearest_add(&nearest, "--version");
    if (nearest.best)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.unknown_command", "there is no command '%s'; did you mean %s",
                           name, nearest.best);
    return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.unknown_command", "there is no command '%s'; see lakecdc help",
                       name);
}

static int run_command(const struct lc_cli_command *command, int argc, char **argv)
{
    lcdc_error *error = NULL;
    struct lc_cli_options options = {.limit = -1};
    if (lcdc_request_new(&options.request, &error) != LCDC_OK)
        return lc_cli_error(error);
    int status = lc_cli_parse(command, argc, argv, &options);
    if (status == LCDC_OK && options.help) {
        options.word = command->name;
        status = lc_cmd_help(&options);
    } else if (status == LCDC_OK) {
        lc_cli_log_begin(options.quiet);
        lc_cli_interrupt_begin(options.request);
        status = command->run(&options);
        lc_cli_interrupt_begin(NULL);
        if (status == LCDC_CANCELLED && lc_cli_interrupt_signal())
            status = 128 + lc_cli_interrupt_signal();
    }
    lcdc_request_free(options.request);
    return status;
}

static int run_words(int argc, char **argv)
{
    const struct lc_cli_options no_options = {.limit = -1};
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage", "a command is needed; see lakecdc help");
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return lc_cmd_help(&no_options);
    if (strcmp(word, "--version") == 0)
        return fprintf(stdout, "lakecdc %s\n", lcdc_version()) < 0 ? LCDC_IO : LCDC_OK;
    const struct lc_cli_command *command = lc_cli_command_named(word);
    return command ? run_command(command, argc - 2, argv + 2) : lc_cli_unknown_command(word);
}

/* What stdio could not write is a failure too, unless the reader left. */
static int flush_output(int status)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed || status != LCDC_OK || errno == EPIPE)
        return status;
    char text[256];
    return lc_cli_fail(LCDC_IO, "io.failed", "standard output: cannot be written: %s",
                       strerror_r(errno, text, sizeof(text)));
}

/* A standard stream that was closed must not become a table's file; what is written to it still fails. */
static bool fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    if (!fill_standard_streams())
        return LCDC_IO;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL); /* a write to it then says EPIPE */
    return flush_output(run_words(argc, argv));
}
