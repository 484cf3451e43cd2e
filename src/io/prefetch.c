/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.c - a storage layer that fetches what its users say they will want, while they do something else.
 *
 * A wish becomes a block: bytes of a file, or only whether it is there and how long it is. Threads fetch blocks in the
 * order they were wished for; a reader whose block is not begun yet fetches it itself, so nothing waits for a thread
 * that is not there. A block that failed is forgotten: the reader asks the store itself and gets the store's own error.
 * So no answer depends on a wish. Paths of the machine pass through untouched. Everything below `lock` is guarded by
 * it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "io/storage.h"

enum { BUCKETS = 1024, MAX_BLOCKS = 65536, MAX_THREADS = 16, HOLE = 64 << 10, MAX_STREAMS = 4096 };
enum { LEAST_PIECE = 256 << 10, PIECE = 8 << 20, PIECES_AHEAD = 2 };

enum state { QUEUED, RUNNING, READY, FAILED };

struct block {
    struct block *next_of_path; /* of its bucket */
    struct block *next_queued;
    char *path;
    int64_t size;     /* of the file; -1 until it is known */
    int64_t mtime_ms; /* INT64_MIN where nobody asked for it */
    bool is_missing;  /* there is no such file */
    lcdc_status status;
    lcdc_error *problem; /* what was wrong, for one who asks */
    int64_t offset, n;   /* n 0: no bytes, only the size; -1: all, until the size is known */
    enum state state;
    uint8_t *bytes;
    size_t held; /* its part of what may be held */
    int64_t used;
    int users;      /* waiting for it, or fetching it */
    bool is_orphan; /* in no bucket any more: its last user frees it */
};

/* A long span: it is fetched piece by piece, a little ahead of whoever reads it. */
struct stream {
    struct stream *next;
    char *path;
    int64_t size, first, at, end; /* `at`: where the next piece begins */
    int64_t piece;
};

struct prefetch {
    struct lc_storage base;
    struct lc_storage *below;
    size_t max;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct block *buckets[BUCKETS];
    struct block *first, *last; /* queued */
    struct stream *streams;
    size_t n_streams;
    size_t n_blocks, n_queued, held;
    int n_threads;
};

struct prefetch_file {
    struct lc_file base;
    struct lc_file *below; /* NULL until a read needs it */
    int64_t size;
    pthread_mutex_t opening;
    char path[];
};

/* ---- blocks; all with the lock ---- */

static size_t bucket_of(const char *path)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 0x100000001B3u;
    return (size_t)(h ^ h >> 29) % BUCKETS;
}

static void block_free(struct prefetch *self, struct block *block)
{
    self->held -= block->held;
    lc_free(block->bytes);
    lc_free(block->path);
    lcdc_error_free(block->problem);
    lc_free(block);
}

static void unqueue(struct prefetch *self, const struct block *block)
{
    struct block *before = NULL;
    for (struct block *at = self->first; at; before = at, at = at->next_queued) {
        if (at != block)
            continue;
        *(before ? &before->next_queued : &self->first) = at->next_queued;
        if (self->last == at)
            self->last = before;
        self->n_queued--;
        return;
    }
}

static void drop(struct prefetch *self, struct block *block)
{
    struct block **at = &self->buckets[bucket_of(block->path)];
    while (*at != block)
        at = &(*at)->next_of_path;
    *at = block->next_of_path;
    self->n_blocks--;
    if (block->state == QUEUED)
        unqueue(self, block);
    if (block->users == 0)
        block_free(self, block);
    else
        block->is_orphan = true;
}

static void leave(struct prefetch *self, struct block *block)
{
    block->users--;
    if (block->is_orphan && block->users == 0)
        block_free(self, block);
}

/* A block of the path that has, or will have, the byte at `offset`. */
static struct block *find_byte(const struct prefetch *self, const char *path, int64_t offset)
{
    for (struct block *at = self->buckets[bucket_of(path)]; at; at = at->next_of_path) {
        bool has_bytes = at->n < 0 || (at->n > 0 && offset >= at->offset && offset - at->offset < at->n);
        if (has_bytes && at->state != FAILED && strcmp(at->path, path) == 0)
            return at;
    }
    return NULL;
}

/* Any block of the path, one that tells the file's size first. */
static struct block *find_any(const struct prefetch *self, const char *path)
{
    struct block *found = NULL;
    for (struct block *at = self->buckets[bucket_of(path)]; at; at = at->next_of_path)
        if (at->state != FAILED && strcmp(at->path, path) == 0 && (!found || at->state == READY))
            found = at;
    return found;
}

/* Makes room by letting go of what has been read already. */
static bool has_room(struct prefetch *self, size_t n)
{
    if (n > self->max)
        return false;
    for (size_t i = 0; i < BUCKETS && (self->held > self->max - n || self->n_blocks == MAX_BLOCKS); i++)
        for (struct block *at = self->buckets[i], *next; at; at = next) {
            next = at->next_of_path;
            if (at->state == READY && at->n > 0 && at->used >= at->n && at->users == 0)
                drop(self, at);
        }
    return self->held <= self->max - n && self->n_blocks < MAX_BLOCKS;
}

static struct block *add(struct prefetch *self, const char *path, int64_t size, int64_t offset, int64_t n)
{
    if (!has_room(self, n > 0 ? (size_t)n : 0))
        return NULL;
    struct block *block = lc_calloc(1, sizeof(*block));
    char *copy = block ? lc_strdup(path) : NULL;
    if (!copy) {
        lc_free(block);
        return NULL;
    }
    *block = (struct block){
        .path = copy, .size = size, .mtime_ms = INT64_MIN, .offset = offset, .n = n, .held = n > 0 ? (size_t)n : 0};
    self->held += block->held;
    struct block **bucket = &self->buckets[bucket_of(path)];
    block->next_of_path = *bucket;
    *bucket = block;
    *(self->last ? &self->last->next_queued : &self->first) = block;
    self->last = block;
    self->n_blocks++;
    self->n_queued++;
    return block;
}

/* ---- fetching ---- */

static lcdc_status fetch_bytes(struct prefetch *self, const char *path, int64_t *size, int64_t offset, int64_t *n,
                               uint8_t **out, lcdc_error **err)
{
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    LC_TRY(lc_storage_open_sized(self->below, path, *size, &file, err));
    *size = lc_file_size(file);
    if (*n < 0 && *size > (int64_t)(self->max / 4)) { /* too much at once: whoever reads it reads in parts */
        *n = 0;
        return LCDC_OK;
    }
    if (*n < 0)
        *n = *size;
    LC_FREE uint8_t *bytes = lc_alloc((size_t)*n);
    LC_TRY_ALLOC(bytes);
    LC_TRY(lc_file_read_at(file, offset, *n, bytes, err));
    *out = lc_steal(bytes);
    return LCDC_OK;
}

/* @locks Called with the lock, which is let go of meanwhile. The block is off the queue. */
static void fetch(struct prefetch *self, struct block *block)
{
    int64_t size = block->size, n = block->n;
    uint8_t *bytes = NULL;
    struct lc_file_info info = {0};
    lcdc_error *problem = NULL;
    lcdc_status status;
    block->state = RUNNING;
    block->users++;
    pthread_mutex_unlock(&self->lock);
    if (n == 0)
        status = lc_storage_stat(self->below, block->path, &info, &problem);
    else
        status = fetch_bytes(self, block->path, &size, block->offset, &n, &bytes, &problem);
    pthread_mutex_lock(&self->lock);
    block->status = status;
    block->problem = problem;
    block->is_missing = block->n == 0 && status == LCDC_NOT_FOUND;
    block->state = status == LCDC_OK || block->is_missing ? READY : FAILED;
    block->size = block->n == 0 ? info.size : size;
    block->mtime_ms = block->n == 0 ? info.mtime_ms : INT64_MIN;
    block->n = n;
    block->bytes = bytes;
    self->held += (size_t)(n > 0 ? n : 0) - block->held;
    block->held = n > 0 ? (size_t)n : 0;
    pthread_cond_broadcast(&self->changed);
    leave(self, block);
}

/* @thread */
static void *work(void *context)
{
    struct prefetch *self = context;
    pthread_mutex_lock(&self->lock);
    while (self->first) {
        struct block *block = self->first;
        unqueue(self, block);
        fetch(self, block);
    }
    self->n_threads--;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void start_threads(struct prefetch *self)
{
    pthread_t thread;
    while (self->n_threads < MAX_THREADS && (size_t)self->n_threads < self->n_queued &&
           lc_thread_start(&thread, work, self)) {
        pthread_detach(thread);
        self->n_threads++;
    }
}

/* Returns when the block is ready or has failed; the caller is one of its users. */
static void await(struct prefetch *self, struct block *block)
{
    if (block->state == QUEUED) {
        unqueue(self, block);
        fetch(self, block);
    }
    while (block->state == RUNNING)
        pthread_cond_wait(&self->changed, &self->lock);
}

/* ---- wishes ---- */

static int by_offset(const void *a, const void *b)
{
    const struct lc_span *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void stream_free(struct stream *stream)
{
    lc_free(stream->path);
    lc_free(stream);
}

/* Fetches the next pieces of a stream whose reader is at `offset`; false when there are none left. */
static bool top_up(struct prefetch *self, struct stream *stream, int64_t offset)
{
    if (stream->at < offset)
        stream->at = offset;
    while (stream->at < stream->end && stream->at < offset + PIECES_AHEAD * stream->piece) {
        int64_t left = stream->end - stream->at, n = left < stream->piece ? left : stream->piece;
        if (!find_byte(self, stream->path, stream->at) && !add(self, stream->path, stream->size, stream->at, n))
            return true;
        stream->at += n;
    }
    return stream->at < stream->end;
}

static void top_up_streams(struct prefetch *self, const char *path, int64_t offset)
{
    for (struct stream **at = &self->streams; *at;) {
        struct stream *stream = *at;
        bool is_here = offset >= stream->first && offset < stream->end && strcmp(stream->path, path) == 0;
        if (!is_here || top_up(self, stream, offset)) {
            at = &stream->next;
            continue;
        }
        *at = stream->next;
        self->n_streams--;
        stream_free(stream);
    }
    if (self->n_queued)
        start_threads(self);
}

static void add_stream(struct prefetch *self, const char *path, int64_t size, struct lc_span span, int64_t piece)
{
    struct stream *stream = self->n_streams < MAX_STREAMS ? lc_calloc(1, sizeof(*stream)) : NULL;
    char *copy = stream ? lc_strdup(path) : NULL;
    if (!copy) {
        lc_free(stream);
        return;
    }
    *stream = (struct stream){.next = self->streams,
                              .path = copy,
                              .size = size,
                              .first = span.offset,
                              .at = span.offset,
                              .end = span.offset + span.n,
                              .piece = piece};
    self->streams = stream;
    self->n_streams++;
    (void)top_up(self, stream, span.offset);
}

/* Short spans that lie close together are one request; a long one, of which readers take a part at a time, is several
   one after the other, so that the parts of all long ones that are read at once fit. */
static void add_spans(struct prefetch *self, const char *path, int64_t size, size_t n, const struct lc_span *spans)
{
    int64_t share = (int64_t)self->max / (int64_t)(2 * PIECES_AHEAD * n);
    int64_t piece = share < LEAST_PIECE ? LEAST_PIECE : share > PIECE ? PIECE : share;
    LC_FREE struct lc_span *sorted = lc_calloc(n, sizeof(*sorted));
    if (!sorted)
        return;
    memcpy(sorted, spans, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_offset);
    for (size_t i = 0; i < n;) {
        struct lc_span whole = sorted[i++];
        for (; i < n && sorted[i].offset - (whole.offset + whole.n) <= HOLE; i++) {
            int64_t end = sorted[i].offset + sorted[i].n, now = whole.offset + whole.n;
            if ((end > now ? end : now) - whole.offset > piece)
                break;
            whole.n = (end > now ? end : now) - whole.offset;
        }
        if (whole.n > piece)
            add_stream(self, path, size, whole, piece);
        else if (whole.n > 0 && !find_byte(self, path, whole.offset))
            (void)add(self, path, size, whole.offset, whole.n);
    }
}

static bool spans_fit(int64_t size, size_t n, const struct lc_span *spans)
{
    for (size_t i = 0; i < n; i++)
        if (spans[i].offset < 0 || spans[i].n < 0 || spans[i].n > INT64_MAX - spans[i].offset ||
            (size >= 0 && spans[i].offset + spans[i].n > size))
            return false;
    return true;
}

static void prefetch_want(struct lc_storage *storage, const char *path, int64_t size, size_t n,
                          const struct lc_span *spans)
{
    struct prefetch *self = (struct prefetch *)storage;
    bool whole = n == 1 && spans[0].n < 0;
    if (!lc_storage_is_remote(self->below, path) || (!whole && !spans_fit(size, n, spans)))
        return;
    pthread_mutex_lock(&self->lock);
    if (whole && !find_any(self, path) && size <= (int64_t)(self->max / 4))
        (void)add(self, path, size, 0, size >= 0 ? size : -1);
    else if (n && !whole)
        add_spans(self, path, size, n, spans);
    if (!find_any(self, path))
        (void)add(self, path, size, 0, 0);
    start_threads(self);
    pthread_mutex_unlock(&self->lock);
}

static void prefetch_forget(struct lc_storage *storage)
{
    struct prefetch *self = (struct prefetch *)storage;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        while (self->buckets[i])
            drop(self, self->buckets[i]);
    while (self->streams) {
        struct stream *stream = self->streams;
        self->streams = stream->next;
        stream_free(stream);
    }
    self->n_streams = 0;
    pthread_mutex_unlock(&self->lock);
}

/* ---- files ---- */

static lcdc_status new_file(struct lc_storage *storage, const char *path, int64_t size, struct lc_file **out,
                            lcdc_error **err)
{
    size_t length = strlen(path) + 1;
    LC_FREE struct prefetch_file *file = lc_alloc(sizeof(*file) + length);
    LC_TRY_ALLOC(file);
    *file = (struct prefetch_file){.base = {storage}, .size = size};
    memcpy(file->path, path, length);
    if (pthread_mutex_init(&file->opening, NULL) != 0)
        return lc_fail_oom(err);
    *out = &lc_steal(file)->base;
    return LCDC_OK;
}

static lcdc_status prefetch_open_sized(struct lc_storage *storage, const char *path, int64_t size, struct lc_file **out,
                                       lcdc_error **err)
{
    struct prefetch *self = (struct prefetch *)storage;
    return lc_storage_is_remote(self->below, path) ? new_file(storage, path, size, out, err)
                                                   : lc_storage_open(self->below, path, out, err);
}

/* What a block of the path tells of the file; *is_known false when none does. A store that fails is not asked again. */
static lcdc_status find_known(struct prefetch *self, const char *path, struct lc_file_info *out, bool *is_known,
                              bool *is_missing, lcdc_error **err)
{
    lcdc_status status = LCDC_OK;
    *is_known = *is_missing = false;
    if (!lc_storage_is_remote(self->below, path))
        return LCDC_OK;
    pthread_mutex_lock(&self->lock);
    struct block *block = find_any(self, path);
    if (block) {
        block->users++;
        await(self, block);
        *is_missing = block->is_missing;
        *out = (struct lc_file_info){.size = block->size, .mtime_ms = block->mtime_ms};
        *is_known = block->state == READY && (block->is_missing || block->size >= 0);
        bool is_whole = block->n == 0 || block->n == -1; /* others fail for what was asked of the file, too */
        if (block->state == FAILED && is_whole && block->problem && err) {
            status = block->status;
            lcdc_error_free(*err);
            *err = lc_steal(block->problem);
        }
        leave(self, block);
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}

static lcdc_status prefetch_open(struct lc_storage *storage, const char *path, struct lc_file **out, lcdc_error **err)
{
    struct prefetch *self = (struct prefetch *)storage;
    LC_CLEANUP(lc_file_closep) struct lc_file *below = NULL;
    struct lc_file_info info = {0};
    bool is_known, is_missing, is_remote = lc_storage_is_remote(self->below, path);
    LC_TRY(find_known(self, path, &info, &is_known, &is_missing, err));
    if (!is_known || is_missing)
        LC_TRY(lc_storage_open(self->below, path, &below, err));
    if (!is_remote) {
        *out = lc_steal(below);
        return LCDC_OK;
    }
    LC_TRY(new_file(storage, path, below ? lc_file_size(below) : info.size, out, err));
    ((struct prefetch_file *)*out)->below = lc_steal(below);
    return LCDC_OK;
}

static int64_t prefetch_size(struct lc_file *file)
{
    return ((struct prefetch_file *)file)->size;
}

/* Copies what blocks have, from the range's start on; moves the start. */
static void read_blocks(struct prefetch *self, const char *path, int64_t *offset, int64_t *n, uint8_t **out)
{
    struct block *block;
    pthread_mutex_lock(&self->lock);
    top_up_streams(self, path, *offset);
    while (*n > 0 && (block = find_byte(self, path, *offset)) != NULL) {
        block->users++;
        await(self, block);
        int64_t at = *offset - block->offset;
        int64_t has = block->state == READY && block->bytes ? block->n - at : 0;
        int64_t m = has < *n ? has : *n;
        if (m > 0) {
            memcpy(*out, block->bytes + at, (size_t)m);
            *offset += m;
            *n -= m;
            *out += m;
            block->used += m;
        }
        /* what is small (a vector), and the end of a file, where its footer is, may be read again */
        bool is_done = block->used >= block->n && block->n > HOLE && block->offset + block->n != block->size;
        if ((m <= 0 || is_done) && !block->is_orphan)
            drop(self, block);
        leave(self, block);
        if (m <= 0)
            break;
    }
    pthread_mutex_unlock(&self->lock);
}

static lcdc_status open_below(struct prefetch_file *file, lcdc_error **err)
{
    lcdc_status status = LCDC_OK;
    pthread_mutex_lock(&file->opening);
    if (!file->below)
        status = lc_storage_open_sized(((struct prefetch *)file->base.storage)->below, file->path, file->size,
                                       &file->below, err);
    pthread_mutex_unlock(&file->opening);
    return status;
}

static lcdc_status prefetch_read_at(struct lc_file *base, int64_t offset, int64_t n, void *out, lcdc_error **err)
{
    struct prefetch_file *file = (struct prefetch_file *)base;
    uint8_t *to = out;
    read_blocks((struct prefetch *)base->storage, file->path, &offset, &n, &to);
    if (n == 0)
        return LCDC_OK;
    LC_TRY(open_below(file, err));
    return lc_file_read_at(file->below, offset, n, to, err);
}

static void prefetch_close(struct lc_file *base)
{
    struct prefetch_file *file = (struct prefetch_file *)base;
    lc_file_close(file->below);
    pthread_mutex_destroy(&file->opening);
    lc_free(file);
}

/* ---- the layer ---- */

static lcdc_status prefetch_list(struct lc_storage *self, const char *folder, struct lc_listing *out, lcdc_error **err)
{
    return lc_storage_list(((struct prefetch *)self)->below, folder, out, err);
}

static lcdc_status prefetch_stat(struct lc_storage *storage, const char *path, struct lc_file_info *out,
                                 lcdc_error **err)
{
    struct prefetch *self = (struct prefetch *)storage;
    bool is_known, is_missing;
    LC_TRY(find_known(self, path, out, &is_known, &is_missing, err));
    if (!is_known)
        return lc_storage_stat(self->below, path, out, err);
    return is_missing ? lc_fail(err, LC_R_FILE_MISSING, "%s: there is no such file or folder", path) : LCDC_OK;
}

static bool prefetch_is_remote(struct lc_storage *self, const char *path)
{
    return lc_storage_is_remote(((struct prefetch *)self)->below, path);
}

static void prefetch_note(struct lc_storage *self, enum lc_note note, int64_t n)
{
    lc_storage_note(((struct prefetch *)self)->below, note, n);
}

static void prefetch_release(struct lc_storage *storage)
{
    struct prefetch *self = (struct prefetch *)storage;
    prefetch_forget(storage);
    pthread_mutex_lock(&self->lock);
    while (self->n_threads > 0)
        pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    lc_storage_free(self->below);
    lc_free(self);
}

static const struct lc_storage_ops prefetch_ops = {
    .name = "prefetch",
    .list = prefetch_list,
    .stat = prefetch_stat,
    .open = prefetch_open,
    .size = prefetch_size,
    .read_at = prefetch_read_at,
    .close = prefetch_close,
    .release = prefetch_release,
    .open_sized = prefetch_open_sized,
    .is_remote = prefetch_is_remote,
    .want = prefetch_want,
    .forget = prefetch_forget,
    .note = prefetch_note,
};

lcdc_status lc_storage_prefetch(struct lc_storage *take_below, size_t max, struct lc_storage **out, lcdc_error **err)
{
    LC_CLEANUP(lc_storage_freep) struct lc_storage *below = take_below;
    LC_FREE struct prefetch *made = lc_calloc(1, sizeof(*made));
    LC_TRY_ALLOC(made);
    made->base.ops = &prefetch_ops;
    made->max = max;
    if (pthread_mutex_init(&made->lock, NULL) != 0)
        return lc_fail_oom(err);
    if (pthread_cond_init(&made->changed, NULL) != 0) {
        pthread_mutex_destroy(&made->lock);
        return lc_fail_oom(err);
    }
    made->below = lc_steal(below);
    *out = &lc_steal(made)->base;
    return LCDC_OK;
}
