/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - blocks that are filled from the front; whatever is larger than a quarter of one has a block of its own.
 */
#include "base/arena.h"

#include <string.h>

enum { BLOCK = 32 * 1024, ALIGN = 16 };

struct lc_arena_block {
    struct lc_arena_block *next;
    size_t used, cap;
    _Alignas(16) unsigned char data[];
};

struct lc_arena_hook {
    struct lc_arena_hook *next;
    void *object;
    void (*release)(void *object);
};

void lc_arena_done(struct lc_arena *arena)
{
    for (struct lc_arena_hook *hook = arena->hooks; hook; hook = hook->next)
        hook->release(hook->object);
    for (struct lc_arena_block *block = arena->blocks; block;) {
        struct lc_arena_block *next = block->next;
        lc_free(block);
        block = next;
    }
    *arena = (struct lc_arena){0};
}

void *lc_arena_alloc(struct lc_arena *arena, size_t size)
{
#ifndef NDEBUG
    const size_t block_size = 0; /* one block an object: the sanitizers see each one's bounds */
#else
    const size_t block_size = BLOCK;
#endif
    if (size > PTRDIFF_MAX - ALIGN)
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct lc_arena_block *block = arena->blocks;
    if (!block || block->cap - block->used < size) {
        size_t cap = size > block_size / 4 ? size : block_size;
        struct lc_arena_block *made = lc_alloc(sizeof(*made) + cap);
        if (!made)
            return NULL;
        made->used = 0;
        made->cap = cap;
        if (block && cap == size && block->cap > block->used) { /* keep filling the block that still has room */
            made->next = block->next;
            block->next = made;
        } else {
            made->next = block;
            arena->blocks = made;
        }
        block = made;
    }
    void *p = block->data + block->used;
    block->used += size;
    arena->bytes += size;
    return memset(p, 0, size);
}

void *lc_arena_array(struct lc_arena *arena, size_t n, size_t size)
{
    size_t total;
    return __builtin_mul_overflow(n, size, &total) ? NULL : lc_arena_alloc(arena, total);
}

char *lc_arena_strndup(struct lc_arena *arena, const char *text, size_t n)
{
    char *out = n == SIZE_MAX ? NULL : lc_arena_alloc(arena, n + 1);
    if (out && n)
        memcpy(out, text, n);
    return out;
}

char *lc_arena_strdup(struct lc_arena *arena, const char *text)
{
    return lc_arena_strndup(arena, text, strlen(text));
}

bool lc_arena_str(struct lc_arena *arena, struct lc_str text, struct lc_str *out)
{
    char *copy = lc_arena_strndup(arena, text.p, text.n);
    if (!copy)
        return false;
    *out = (struct lc_str){copy, text.n};
    return true;
}

bool lc_arena_own(struct lc_arena *arena, void *object, void (*release)(void *object))
{
    struct lc_arena_hook *hook = lc_arena_alloc(arena, sizeof(*hook));
    if (!hook) {
        release(object);
        return false;
    }
    *hook = (struct lc_arena_hook){.next = arena->hooks, .object = object, .release = release};
    arena->hooks = hook;
    return true;
}
