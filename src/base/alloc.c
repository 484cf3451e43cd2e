/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - malloc with checked sizes, and a switch that makes it fail for tests.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* INT64_MIN: no failure is asked for. Counting is relaxed: the hook is for one-threaded tests. */
static _Atomic int64_t fail_after = INT64_MIN;
static _Atomic int64_t asked;

static bool must_fail(void)
{
    int64_t n = atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
    int64_t limit = atomic_load_explicit(&fail_after, memory_order_relaxed);
    return limit >= 0 && n >= limit;
}

int64_t lc_alloc_fail_after(int64_t n)
{
    atomic_store_explicit(&fail_after, n < 0 ? INT64_MIN : n, memory_order_relaxed);
    return atomic_exchange_explicit(&asked, 0, memory_order_relaxed);
}

void *lc_alloc(size_t size)
{
    if (size > PTRDIFF_MAX || must_fail())
        return NULL;
    return malloc(size ? size : 1);
}

void *lc_calloc(size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total) || total > PTRDIFF_MAX || must_fail())
        return NULL;
    return calloc(total ? total : 1, 1);
}

void *lc_realloc(void *p, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total) || total > PTRDIFF_MAX || must_fail())
        return NULL;
    return realloc(p, total ? total : 1);
}

void lc_free(void *p)
{
    free(p);
}

char *lc_strndup(const char *text, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *out = lc_alloc(n + 1);
    if (out) {
        if (n)
            memcpy(out, text, n);
        out[n] = 0;
    }
    return out;
}

char *lc_strdup(const char *text)
{
    return lc_strndup(text, strlen(text));
}
