/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/backoff.h"

#include <sys/random.h>

#include "sync/state.h"

int64_t lc_backoff_ms(int64_t first_ms, int64_t most_ms, int64_t failures, uint64_t chance)
{
    int64_t wait = first_ms;
    for (int64_t i = 1; i < failures && wait < most_ms; i++)
        wait = wait > most_ms / 2 ? most_ms : wait * 2;
    if (wait > most_ms)
        wait = most_ms;
    int64_t half = wait / 2;
    return wait - half + (int64_t)(chance % (uint64_t)(half + 1));
}

uint64_t lc_chance(void)
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
        number = (uint64_t)lc_now_us() * UINT64_C(0x9E3779B97F4A7C15);
    return number;
}
