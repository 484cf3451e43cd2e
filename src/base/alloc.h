/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.h - the only way to memory in this library, and the cleanup attribute.
 *
 * Sizes are overflow-checked; every failure is the caller's to handle; lc_alloc_fail_after() lets a test fail each
 * allocation once.
 */
#ifndef LC_BASE_ALLOC_H
#define LC_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** NULL when memory is short or `size` is 0 bytes past PTRDIFF_MAX. A zero size gives a valid pointer. */
void *lc_alloc(size_t size);
/** `n * size` zeroed bytes; NULL on overflow too. */
void *lc_calloc(size_t n, size_t size);
/** Grows or shrinks to `n * size` bytes; the old block stays valid on failure. */
void *lc_realloc(void *p, size_t n, size_t size);
void lc_free(void *p);
char *lc_strdup(const char *text);
char *lc_strndup(const char *text, size_t n);

/**
 * Test hook: allocation number `n` from now (0 = the next) and every later one fails until called again with a
 * negative number. Returns how many allocations were asked for since the last call. One thread only.
 */
int64_t lc_alloc_fail_after(int64_t n);

#define LC_CLEANUP(function) __attribute__((cleanup(function)))

static inline void lc_freep(void *p)
{
    lc_free(*(void **)p);
}
/** For a local that owns a plain block: `LC_FREE char *text = NULL;` */
#define LC_FREE LC_CLEANUP(lc_freep)

static inline void *lc_steal_ptr(void *pp)
{
    void **at = (void **)pp;
    void *p = *at;
    *at = NULL;
    return p;
}
/** Moves ownership out of a local: the local is NULL afterwards. */
#define lc_steal(p) ((__typeof__(p))lc_steal_ptr(&(p)))

/** Defines `NAMEp`, the cleanup form of a free function: LC_DEFINE_CLEANUP(struct lc_x *, lc_x_free). */
#define LC_DEFINE_CLEANUP(type, function)                                                                              \
    static inline void function##p(__typeof__(type) *p)                                                                \
    {                                                                                                                  \
        function(*p);                                                                                                  \
    }

#endif
