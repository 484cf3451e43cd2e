/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory by lifetime: everything allocated from an arena is released with it.
 *
 * One arena per lifetime (source, plan, commit, file). Nothing in a longer arena points into a shorter one. Foreign
 * handles join through a reset callback, run in reverse order.
 */
#ifndef LC_BASE_ARENA_H
#define LC_BASE_ARENA_H

#include "base/alloc.h"
#include "base/str.h"

struct lc_arena {
    struct lc_arena_block *blocks;
    struct lc_arena_hook *hooks;
    size_t bytes; /* handed out so far */
};

void lc_arena_done(struct lc_arena *arena);
/** Zeroed, aligned to 16; NULL when memory is short. */
void *lc_arena_alloc(struct lc_arena *arena, size_t size);
void *lc_arena_array(struct lc_arena *arena, size_t n, size_t size);
char *lc_arena_strndup(struct lc_arena *arena, const char *text, size_t n);
char *lc_arena_strdup(struct lc_arena *arena, const char *text);
bool lc_arena_str(struct lc_arena *arena, struct lc_str text, struct lc_str *out);
/** Calls `release(object)` when the arena ends; false (and `release` is called at once) when memory is short. */
bool lc_arena_own(struct lc_arena *arena, void *object, void (*release)(void *object));

#define LC_ARENA LC_CLEANUP(lc_arena_done)

#endif
