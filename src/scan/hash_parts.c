/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/hash_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temp_file.h"

enum {
    PART_ROWS = 1 << 16, /* of both sides: its table fits a processor's cache */
    MOST_PARTS = 1024,
    WRITER_ROWS = 1 << 18, /* that all parts of a writer hold together, at most */
    MOST_CHUNK = 1024,
    PAGE = 4096,
    LEAST_CHUNK = 64
};

/* Rows of one set in one part, in order. */
struct chunk {
    size_t set;
    uint64_t number; /* of the set's chunks */
    size_t n;
    struct lc_hash_entry *entries; /* NULL: in the file, */
    int64_t at;                    /* here */
};

struct chunk_list {
    size_t n, cap;
    struct chunk *chunks;
};

struct lc_hash_parts {
    size_t n_parts, chunk_rows;
    int64_t memory;        /* that is left */
    pthread_mutex_t mutex; /* @locks memory, file, file_end and the lists, while there are writers */
    int file;
    int64_t file_end;
    struct chunk_list *lists; /* [side * n_parts + part] */
};

struct lc_hash_writer {
    struct lc_hash_parts *parts;
    enum lc_hash_side side;
    size_t set;
    uint64_t chunks;
    uint32_t *n;                   /* per part: entries that wait */
    struct lc_hash_entry *entries; /* chunk_rows per part */
};

/* As many as make the parts small, but not so many that a set's share of one is a handful of rows. */
static size_t count_parts(int64_t rows, size_t sets)
{
    size_t n = 1;
    int64_t share = rows / (int64_t)(sets ? sets : 1) / LEAST_CHUNK;
    while (n < MOST_PARTS && (int64_t)n * PART_ROWS < rows && (int64_t)n < share)
        n *= 2;
    return n;
}

lcdc_status lc_hash_parts_new(int64_t rows, size_t sets, int64_t memory, struct lc_hash_parts **out, lcdc_error **err)
{
    LC_CLEANUP(lc_hash_parts_freep) struct lc_hash_parts *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    pthread_mutex_init(&self->mutex, NULL);
    self->file = -1;
    self->memory = memory;
    self->n_parts = count_parts(rows, sets);
    self->chunk_rows = WRITER_ROWS / self->n_parts;
    if (self->chunk_rows > MOST_CHUNK)
        self->chunk_rows = MOST_CHUNK;
    if ((int64_t)self->chunk_rows > rows) /* a small commit takes little memory */
        self->chunk_rows = rows < LEAST_CHUNK ? LEAST_CHUNK : (size_t)rows;
    self->lists = lc_calloc(2 * self->n_parts, sizeof(*self->lists));
    LC_TRY_ALLOC(self->lists);
    *out = lc_steal(self);
    return LCDC_OK;
}

void lc_hash_parts_free(struct lc_hash_parts *parts)
{
    if (!parts)
        return;
    for (size_t i = 0; parts->lists && i < 2 * parts->n_parts; i++) {
        for (size_t k = 0; k < parts->lists[i].n; k++)
            lc_free(parts->lists[i].chunks[k].entries);
        lc_free(parts->lists[i].chunks);
    }
    lc_free(parts->lists);
    if (parts->file >= 0)
        close(parts->file);
    pthread_mutex_destroy(&parts->mutex);
    lc_free(parts);
}

size_t lc_hash_parts_count(const struct lc_hash_parts *parts)
{
    return parts->n_parts;
}

/* ---- writing ---- */

lcdc_status lc_hash_writer_new(struct lc_hash_parts *parts, enum lc_hash_side side, size_t set,
                               struct lc_hash_writer **out, lcdc_error **err)
{
    LC_CLEANUP(lc_hash_writer_freep) struct lc_hash_writer *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->parts = parts;
    self->side = side;
    self->set = set;
    self->n = lc_calloc(parts->n_parts, sizeof(*self->n));
    self->entries = lc_alloc(parts->n_parts * parts->chunk_rows * sizeof(*self->entries));
    LC_TRY_ALLOC(self->n && self->entries);
    *out = lc_steal(self);
    return LCDC_OK;
}

void lc_hash_writer_free(struct lc_hash_writer *writer)
{
    if (!writer)
        return;
    lc_free(writer->n);
    lc_free(writer->entries);
    lc_free(writer);
}

static lcdc_status grow(struct chunk_list *list, lcdc_error **err)
{
    if (list->n < list->cap)
        return LCDC_OK;
    size_t cap = list->cap ? list->cap * 2 : 8;
    struct chunk *chunks = lc_realloc(list->chunks, cap, sizeof(*chunks));
    LC_TRY_ALLOC(chunks);
    list->chunks = chunks;
    list->cap = cap;
    return LCDC_OK;
}

/* Finds a place for a chunk: memory, or a stretch of the file. With the lock. */
static lcdc_status place(struct lc_hash_parts *parts, struct chunk_list *list, struct chunk *chunk, lcdc_error **err)
{
    int64_t bytes = (int64_t)(chunk->n * sizeof(struct lc_hash_entry));
    LC_TRY(grow(list, err));
    if (parts->memory >= bytes) {
        chunk->entries = lc_alloc((size_t)bytes);
        LC_TRY_ALLOC(chunk->entries);
        parts->memory -= bytes;
    } else {
        if (parts->file < 0)
            LC_TRY(lc_temp_file_open(&parts->file, err));
        chunk->at = parts->file_end;
        /* no page is written in two pieces, unless the pieces are small */
        parts->file_end += bytes < PAGE ? bytes : (bytes + PAGE - 1) / PAGE * PAGE;
    }
    list->chunks[list->n++] = *chunk;
    return LCDC_OK;
}

static lcdc_status flush(struct lc_hash_writer *self, size_t part, lcdc_error **err)
{
    struct lc_hash_parts *parts = self->parts;
    const struct lc_hash_entry *entries = self->entries + part * parts->chunk_rows;
    struct chunk chunk = {.set = self->set, .number = self->chunks++, .n = self->n[part]};
    size_t bytes = chunk.n * sizeof(*entries);
    pthread_mutex_lock(&parts->mutex);
    lcdc_status status = place(parts, &parts->lists[(size_t)self->side * parts->n_parts + part], &chunk, err);
    pthread_mutex_unlock(&parts->mutex);
    LC_TRY(status);
    self->n[part] = 0;
    if (!chunk.entries)
        return lc_temp_file_write(parts->file, chunk.at, bytes, entries, err);
    memcpy(chunk.entries, entries, bytes);
    return LCDC_OK;
}

lcdc_status lc_hash_writer_add(struct lc_hash_writer *writer, size_t n, const struct lc_hash *hashes, uint32_t first,
                               const uint8_t *skip, lcdc_error **err)
{
    const struct lc_hash_parts *parts = writer->parts;
    for (size_t i = 0; i < n; i++) {
        if (skip && skip[i])
            continue;
        size_t part = (size_t)((hashes[i].b >> 32) * parts->n_parts >> 32);
        writer->entries[part * parts->chunk_rows + writer->n[part]++] = (struct lc_hash_entry){
            .hash = hashes[i].a, .check = (uint32_t)hashes[i].b, .row = first + (uint32_t)i};
        if (writer->n[part] == parts->chunk_rows)
            LC_TRY(flush(writer, part, err));
    }
    return LCDC_OK;
}

lcdc_status lc_hash_writer_finish(struct lc_hash_writer *writer, lcdc_error **err)
{
    for (size_t part = 0; part < writer->parts->n_parts; part++)
        if (writer->n[part])
            LC_TRY(flush(writer, part, err));
    return LCDC_OK;
}

/* ---- reading ---- */

static int compare_chunks(const void *a, const void *b)
{
    const struct chunk *x = a, *y = b;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

lcdc_status lc_hash_parts_read(struct lc_hash_parts *parts, enum lc_hash_side side, size_t part,
                               struct lc_hash_entry **out, size_t *n, lcdc_error **err)
{
    struct chunk_list *list = &parts->lists[(size_t)side * parts->n_parts + part];
    size_t total = 0, at = 0;
    if (list->n)
        qsort(list->chunks, list->n, sizeof(*list->chunks), compare_chunks);
    for (size_t i = 0; i < list->n; i++)
        total += list->chunks[i].n;
    LC_FREE struct lc_hash_entry *entries = lc_calloc(total, sizeof(*entries));
    LC_TRY_ALLOC(entries);
    for (size_t i = 0; i < list->n; i++) {
        struct chunk *chunk = &list->chunks[i];
        size_t bytes = chunk->n * sizeof(*entries);
        if (chunk->entries)
            memcpy(entries + at, chunk->entries, bytes);
        else
            LC_TRY(lc_temp_file_read(parts->file, chunk->at, bytes, entries + at, err));
        lc_free(lc_steal(chunk->entries));
        at += chunk->n;
    }
    list->n = 0;
    *n = total;
    *out = lc_steal(entries);
    return LCDC_OK;
}
