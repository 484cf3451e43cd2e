/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd.h - what the files of the command share. A command is a row of main.c's table: its words for help and completion,
 * the options it takes, and a function. The command knows the library by its public headers alone.
 */
#ifndef LC_CLI_CMD_H
#define LC_CLI_CMD_H

#include <lakecdc/lakecdc.h>
#include <lakecdc/sys/log.h>

/* ---- commands ---- */

/* What a command takes: groups of the option table, and flags of the command itself. */
enum {
    LC_TAKES_TABLE = 1,
    LC_TAKES_RANGE = 2,
    LC_TAKES_SHAPE = 4,
    LC_TAKES_LIMITS = 8,
    LC_TAKES_ROWS = 16,
    LC_TAKES_JSON = 32,
    LC_TAKES_COLOR = 64,
    LC_TAKES_SYNC = 128,
    LC_TAKES_LEDGER = 256,
    LC_TAKES_FOLLOW = 512,
    LC_TAKES_STATS = 1024
};

struct lc_cli_options {
    lcdc_request *request;
    bool has_table;
    bool has_from;      /* a start was named, be it the default */
    const char *word;   /* the operand of a command that takes no table */
    const char *second; /* the one after it, of a command that has two */
    const char *format, *output, *color;
    int64_t limit; /* rows; -1 = all */
    bool stats, print_cursor, quiet, json, help;
    bool check, init, once, dry_run; /* sync */
    const char *interval, *log_format;
    const char *cursor_file;         /* follow */
    const char *ledger, *set_cursor; /* ledger */
    bool resume, pause;
};

struct lc_cli_command {
    const char *name;
    const char *operand;        /* "TABLE" */
    const char *second;         /* "[TABLE]"; NULL: there is one operand */
    const char *summary;        /* one line */
    const char *about;          /* paragraphs */
    const char *examples[3][2]; /* command line, what it does */
    unsigned takes;
    int (*run)(const struct lc_cli_options *options); /* returns the exit status */
};

/** NULL past the end. */
const struct lc_cli_command *lc_cli_command_at(size_t i);
const struct lc_cli_command *lc_cli_command_named(const char *name);
/** Says that there is none of that name. Returns the exit status. */
int lc_cli_unknown_command(const char *name);

int lc_cmd_changes(const struct lc_cli_options *options);
int lc_cmd_completion(const struct lc_cli_options *options);
int lc_cmd_follow(const struct lc_cli_options *options);
int lc_cmd_help(const struct lc_cli_options *options);
int lc_cmd_ledger(const struct lc_cli_options *options);
int lc_cmd_plan(const struct lc_cli_options *options);
int lc_cmd_probe(const struct lc_cli_options *options);
int lc_cmd_sync(const struct lc_cli_options *options);
int lc_cmd_verify(const struct lc_cli_options *options);

/* ---- options (opt.c) ---- */

/** An option as a person sees it: of the library's table or of the command itself. */
struct lc_cli_flag {
    const char *flag;    /* "--from" */
    const char *letter;  /* "-o", or NULL */
    const char *operand; /* NULL for a switch */
    const char *words;   /* the operands there are, with blanks between them, or NULL */
    const char *initial; /* default, or NULL */
    const char *group;
    const char *help;
    const char *key; /* of the library's option; NULL: the command's own */
};

/** Flag `i` of those that the command takes; false past the last. */
bool lc_cli_flag_at(const struct lc_cli_command *command, size_t i, struct lc_cli_flag *out);

/** Reads the words after the command's name. LCDC_OK, or a status after it said what is wrong. */
lcdc_status lc_cli_parse(const struct lc_cli_command *command, int argc, char **argv, struct lc_cli_options *out);

/* ---- what a person is told (report.c) ---- */

/** Remarks of the library on stderr: warnings, or what LAKECDC_LOG=debug|info|warn asks for; none when `quiet`. */
void lc_cli_log_begin(bool quiet);

/** `lakecdc: message (reason)` on stderr. Returns `status`. */
lcdc_status lc_cli_fail(lcdc_status status, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The same for an error of the library, with the range that can be served; frees it. Returns the exit status. */
int lc_cli_error(lcdc_error *take_error);

/** The same for a borrowed error; NULL becomes "internal". */
int lc_cli_report(const lcdc_error *error);

/** Text for a terminal: what could steer one is replaced. */
void lc_cli_print_clean(void *stream, const char *text);

/** The candidate nearest to `word`, or NULL when none is near: call nearest_add for each. */
struct lc_cli_nearest {
    const char *word, *best;
    size_t distance;
};
void lc_cli_nearest_add(struct lc_cli_nearest *nearest, const char *candidate);

/** "1,234,567" */
const char *lc_cli_count(int64_t n, char text[32]);

/* ---- standard output or a file (output.c) ---- */

struct lc_cli_output {
    int fd;
    char *held; /* bytes that have not been written, up to LC_HOLD */
    size_t n;
    bool flows; /* held once, now written as it comes */
    int error;  /* of the first write that failed */
    bool is_file;
    char path[4096], partial[4096];
};

/** `path` NULL or "-": standard output. */
lcdc_status lc_cli_output_open(struct lc_cli_output *output, const char *path);
/** An lcdc_write_fn. */
int lc_cli_output_write(void *output, const void *bytes, size_t n);
/** Whoever reads the other end has had enough. */
bool lc_cli_output_is_broken(const struct lc_cli_output *output);
/** Says what kept a write from succeeding. */
lcdc_status lc_cli_output_fail(const struct lc_cli_output *output);
/** Everything is out and, for a file, under its name. */
lcdc_status lc_cli_output_commit(struct lc_cli_output *output);
/** Forgets what was not committed. */
void lc_cli_output_close(struct lc_cli_output *output);

/* ---- the terminal (terminal.c) ---- */

bool lc_cli_is_terminal(int fd);
/** Columns, 0 when it is none. */
int lc_cli_terminal_width(int fd);
/** What --color and the environment say for text on `fd`. */
bool lc_cli_wants_color(const char *when, int fd);

struct lc_cli_progress {
    bool on;
    double begun, drawn; /* seconds; drawn 0 = nothing on the screen */
};
void lc_cli_progress_begin(struct lc_cli_progress *progress, bool quiet);
void lc_cli_progress_update(struct lc_cli_progress *progress, const lcdc_feed *feed, int64_t rows);
void lc_cli_progress_clear(struct lc_cli_progress *progress);

/* ---- signals (interrupt.c) ---- */

/** SIGINT and SIGTERM cancel `feed` until called again with NULL. */
void lc_cli_interrupt_watch(lcdc_feed *feed);
/** SIGINT and SIGTERM stop `sync` until called again with NULL. */
void lc_cli_interrupt_sync(lcdc_sync *sync);
/** From here on a signal ends calls to a server in good order; NULL: it is over. Tables in files have nothing to undo.
 */
void lc_cli_interrupt_begin(lcdc_request *request);
/** From here on a signal ends no process, whatever is watched: the command asks for it and stops in good order. */
void lc_cli_interrupt_stay(void);
/** Waits; true when a signal came, at once. */
bool lc_cli_interrupt_sleep(int64_t milliseconds);
/** The signal that came, or 0. */
int lc_cli_interrupt_signal(void);

#endif
