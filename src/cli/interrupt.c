/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.c - a signal cancels the read, so that what is half done is taken back; a second one ends the process.
 *
 * The statics are what a signal handler can reach.
 */
#include <signal.h>
#include <stdatomic.h>

#include "cli/cmd.h"

static _Atomic(lcdc_feed *) watched;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    lcdc_feed *feed = watched;
    caught = number;
    if (feed)
        lcdc_feed_cancel(feed);
}

void lc_cli_interrupt_watch(lcdc_feed *feed)
{
    struct sigaction action = {0};
    action.sa_handler = feed ? on_signal : SIG_DFL;
    action.sa_flags = (int)SA_RESETHAND; /* the next one is not ours */
    (void)sigemptyset(&action.sa_mask);
    watched = feed;
    if (!feed && caught)
        return; /* the process is on its way out */
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

int lc_cli_interrupt_signal(void)
{
    return caught;
}
