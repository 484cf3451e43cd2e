/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.c - a signal cancels the read, so that what is half done is taken back; a second one ends the process.
 *
 * The statics are what a signal handler can reach.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "cli/cmd.h"

static _Atomic(lcdc_request *) asked;
static _Atomic(lcdc_feed *) watched;
static _Atomic(lcdc_sync *) syncing;
static volatile sig_atomic_t caught;
static bool stays; /* signals are ours even when nothing is watched */

static void on_signal(int number)
{
    lcdc_feed *feed = watched;
    caught = number;
    lcdc_request_cancel(asked);
    lcdc_sync_stop(syncing);
    if (feed)
        lcdc_feed_cancel(feed);
}

static void handle(void (*handler)(int))
{
    struct sigaction action = {0};
    action.sa_handler = handler;
    action.sa_flags = (int)SA_RESETHAND; /* the next one is not ours */
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

void lc_cli_interrupt_begin(lcdc_request *request)
{
    const char *table = request ? lcdc_request_get(request, "table") : NULL;
    asked = request;
    if (table && strncmp(table, "sc://", 5) == 0)
        handle(on_signal);
}

void lc_cli_interrupt_watch(lcdc_feed *feed)
{
    watched = feed;
    if (caught) {
        lcdc_feed_cancel(feed); /* one that came before there was a feed; the process is on its way out */
        return;
    }
    handle(feed || stays ? on_signal : SIG_DFL);
}

void lc_cli_interrupt_stay(void)
{
    stays = true;
    handle(on_signal);
}

/* The signals are let in by the wait itself: one that comes between the question and the wait is not slept over. */
bool lc_cli_interrupt_sleep(int64_t milliseconds)
{
    sigset_t ours, before;
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    (void)sigemptyset(&ours);
    (void)sigaddset(&ours, SIGINT);
    (void)sigaddset(&ours, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &ours, &before);
    if (!caught)
        (void)ppoll(NULL, 0, &time, &before);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return caught != 0;
}

void lc_cli_interrupt_sync(lcdc_sync *sync)
{
    syncing = sync;
    if (sync)
        handle(on_signal);
    if (sync && caught)
        lcdc_sync_stop(sync);
}

int lc_cli_interrupt_signal(void)
{
    return caught;
}
