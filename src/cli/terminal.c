/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - what the terminal is and may be sent, and the one line of progress on it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"

bool lc_cli_is_terminal(int fd)
{
    return isatty(fd) == 1;
}

int lc_cli_terminal_width(int fd)
{
    struct winsize size;
    if (!lc_cli_is_terminal(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool lc_cli_wants_color(const char *when, int fd)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    if (when && strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    return lc_cli_is_terminal(fd) && !(none && none[0]) && term && strcmp(term, "dumb") != 0;
}

/* ---- progress: nothing for the first second, then at most ten times a second ---- */

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void lc_cli_progress_begin(struct lc_cli_progress *progress, bool quiet)
{
    *progress = (struct lc_cli_progress){.on = !quiet && lc_cli_is_terminal(STDERR_FILENO), .begun = now()};
}

static void draw_bar(int64_t done, int64_t total)
{
    enum { CELLS = 24 };
    int filled = total > 0 ? (int)((double)done / (double)total * CELLS) : 0;
    fputc('[', stderr);
    for (int i = 0; i < CELLS; i++)
        fputc(i < filled ? '#' : '.', stderr);
    fputs("] ", stderr);
}

void lc_cli_progress_update(struct lc_cli_progress *progress, const lcdc_feed *feed, int64_t rows)
{
    int64_t done = 0, total = 0;
    char text[3][32];
    double t = progress->on ? now() : 0;
    if (!progress->on || t - progress->begun < 1 || t - progress->drawn < 0.1)
        return;
    lcdc_feed_progress(feed, &done, &total);
    progress->drawn = t;
    fputs("\r\x1B[K", stderr);
    if (total > 0) {
        draw_bar(done, total);
        fprintf(stderr, "%s of %s commits, ", lc_cli_count(done, text[0]), lc_cli_count(total, text[1]));
    }
    fprintf(stderr, "%s rows, %.0f s", lc_cli_count(rows, text[2]), t - progress->begun);
    (void)fflush(stderr);
}

void lc_cli_progress_clear(struct lc_cli_progress *progress)
{
    if (progress->drawn > 0)
        fputs("\r\x1B[K", stderr);
    progress->drawn = 0;
}
