/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - threads of our own: signals stay with those of the application.
 */
#ifndef LC_BASE_THREAD_H
#define LC_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/** False when a thread cannot be had; whoever asks must do without. */
bool lc_thread_start(pthread_t *out, void *(*run)(void *), void *argument);

#endif
