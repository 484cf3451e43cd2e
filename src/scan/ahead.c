/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/ahead.h"

#include <pthread.h>

#include "base/thread.h"
#include "scan/parallel.h"

enum {
    MOST_LANES = 4,      /* files open at a time */
    QUEUE = 16,          /* most batches that wait in a lane */
    QUEUE_FRACTION = 16, /* of the memory limit: what may wait in one lane, */
    LEAST_QUEUE = 1 << 16,
    TURN = 1 << 22 /* bytes that are taken from a lane before it is the next one's turn; the order hangs on it */
};

struct lane {
    size_t set; /* the one being read; >= n: none is left */
    struct lc_rows *rows;
    bool is_busy, has_ended;
    lcdc_status status; /* of the end */
    lcdc_error *error;
    size_t first, n; /* of `queue`, a ring */
    int64_t bytes;
    struct {
        struct lc_change_batch batch; /* n == 0: the end of a set */
        int64_t bytes;
    } queue[QUEUE];
};

struct lc_ahead {
    struct lc_ahead_request request;
    struct lc_scan_context context; /* of the request, with a stop of its own */
    size_t n_lanes, turn;
    int64_t taken; /* bytes, in this turn */
    struct lane lanes[MOST_LANES];
    size_t n_threads;
    pthread_t threads[LC_MAX_THREADS];
    pthread_mutex_t mutex; /* @locks the lanes but for `set` and `rows`, which are whoever's made the lane busy */
    pthread_cond_t filled, drained;
    _Atomic int stops;
};

/* ---- one batch of a lane ---- */

static void decoded_done(struct lc_decoded *decoded)
{
    lc_array_release(&decoded->images);
    lc_array_release(&decoded->extra);
}

/* The next rows of the lane's set; none at its end, when the lane goes on to its next set. */
static lcdc_status decode(struct lc_ahead *self, struct lane *lane, struct lc_decoded *out, lcdc_error **err)
{
    const struct lc_ahead_request *request = &self->request;
    if (!lane->rows)
        LC_TRY(lc_rows_open(request->context, &request->sets[lane->set], &request->rows, &lane->rows, err));
    LC_TRY(lc_rows_next(lane->rows, &out->images, &out->extra, &out->positions, err));
    out->set = lane->set;
    out->rows = lane->rows;
    if (!out->images.release) {
        lc_rows_close(lc_steal(lane->rows));
        lane->set += self->n_lanes;
    }
    return LCDC_OK;
}

/* Leaves out->n at 0 at the end of a set. */
static lcdc_status produce(struct lc_ahead *self, struct lane *lane, struct lc_change_batch *out, lcdc_error **err)
{
    for (;;) {
        LC_CLEANUP(decoded_done) struct lc_decoded decoded = {0};
        LC_TRY(decode(self, lane, &decoded, err));
        if (!decoded.images.release)
            return LCDC_OK;
        lcdc_status status = self->request.make(self->request.make_context, &decoded, out, err);
        if (status == LCDC_OK && out->n > 0)
            return LCDC_OK;
        lc_change_batch_done(out);
        LC_TRY(status);
    }
}

/* ---- threads ---- */

static int64_t queue_bytes(const struct lc_ahead *self)
{
    int64_t bytes = self->request.context->memory_limit / QUEUE_FRACTION;
    return bytes > LEAST_QUEUE ? bytes : LEAST_QUEUE;
}

static bool has_room(const struct lc_ahead *self, const struct lane *lane)
{
    return lane->n < QUEUE && (lane->n == 0 || lane->bytes < queue_bytes(self));
}

/* The lane that will be missed first: the fewest batches, counted from the one whose turn it is. */
static struct lane *pick(struct lc_ahead *self)
{
    struct lane *best = NULL;
    for (size_t i = 0; i < self->n_lanes; i++) {
        struct lane *lane = &self->lanes[(self->turn + i) % self->n_lanes];
        if (!lane->is_busy && !lane->has_ended && has_room(self, lane) && (!best || lane->n < best->n))
            best = lane;
    }
    return best;
}

static bool all_ended(const struct lc_ahead *self)
{
    for (size_t i = 0; i < self->n_lanes; i++)
        if (!self->lanes[i].has_ended)
            return false;
    return true;
}

static void put(struct lane *lane, struct lc_change_batch *batch, int64_t bytes)
{
    size_t at = (lane->first + lane->n++) % QUEUE;
    lane->queue[at].batch = *batch;
    lane->queue[at].bytes = bytes;
    lane->bytes += bytes;
    *batch = (struct lc_change_batch){0};
}

/* Called with the lock, which is let go of while rows are decoded. */
static void fill(struct lc_ahead *self, struct lane *lane)
{
    LC_CHANGE_BATCH struct lc_change_batch batch = {0};
    lane->is_busy = true;
    pthread_mutex_unlock(&self->mutex);
    lcdc_error *error = NULL;
    lcdc_status status = produce(self, lane, &batch, &error);
    int64_t bytes = batch.n ? lc_array_bytes(&batch.images, self->request.rows.columns) : 0;
    pthread_mutex_lock(&self->mutex);
    lane->is_busy = false;
    if (status == LCDC_OK)
        put(lane, &batch, bytes);
    lane->has_ended = status != LCDC_OK || lane->set >= self->request.n;
    lane->status = status;
    lane->error = error;
    pthread_cond_broadcast(&self->filled);
}

static void *run(void *argument)
{
    struct lc_ahead *self = argument;
    pthread_mutex_lock(&self->mutex);
    while (!self->stops && !all_ended(self)) {
        struct lane *lane = pick(self);
        if (lane)
            fill(self, lane);
        else
            pthread_cond_wait(&self->drained, &self->mutex);
    }
    pthread_cond_broadcast(&self->drained); /* the others need not wait for a lane either */
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- the consumer ---- */

static lcdc_status lane_end(struct lane *lane, lcdc_error **err)
{
    lcdc_status status = lane->status;
    if (status != LCDC_OK && err) {
        lcdc_error_free(*err);
        *err = lc_steal(lane->error);
    }
    return status;
}

static void pass_on(struct lc_ahead *self)
{
    self->turn = (self->turn + 1) % self->n_lanes;
    self->taken = 0;
}

/* A batch, or nothing when it was the end of a set. */
static void take(struct lc_ahead *self, struct lane *lane, struct lc_change_batch *out)
{
    int64_t bytes = lane->queue[lane->first].bytes;
    *out = lane->queue[lane->first].batch;
    lane->first = (lane->first + 1) % QUEUE;
    lane->n--;
    lane->bytes -= bytes;
    self->taken += bytes;
    if (out->n == 0 || self->taken >= TURN)
        pass_on(self);
    pthread_cond_signal(&self->drained);
}

/* With the lock. */
static lcdc_status next_locked(struct lc_ahead *self, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    for (size_t passed = 0; passed < self->n_lanes;) {
        struct lane *lane = &self->lanes[self->turn];
        if (lane->n) {
            take(self, lane, out);
            *more = out->n > 0;
            if (*more)
                return LCDC_OK;
            passed = 0;
        } else if (!lane->has_ended) {
            if (self->n_threads)
                pthread_cond_wait(&self->filled, &self->mutex);
            else
                fill(self, lane);
        } else {
            LC_TRY(lane_end(lane, err));
            pass_on(self);
            passed++;
        }
    }
    *more = false;
    return LCDC_OK;
}

lcdc_status lc_ahead_next(struct lc_ahead *ahead, struct lc_change_batch *out, bool *more, lcdc_error **err)
{
    pthread_mutex_lock(&ahead->mutex);
    lcdc_status status = next_locked(ahead, out, more, err);
    pthread_mutex_unlock(&ahead->mutex);
    return status;
}

/* ---- life ---- */

lcdc_status lc_ahead_open(const struct lc_ahead_request *request, struct lc_ahead **out, lcdc_error **err)
{
    struct lc_ahead *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    self->request = *request;
    self->context = *request->context;
    self->context.stopped = &self->stops;
    self->request.context = &self->context;
    self->n_lanes = request->n < MOST_LANES ? request->n : MOST_LANES;
    for (size_t i = 0; i < self->n_lanes; i++)
        self->lanes[i].set = i;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->filled, NULL);
    pthread_cond_init(&self->drained, NULL);
    size_t threads = lc_scan_threads(request->context, request->n, request->sets);
    if (threads > self->n_lanes)
        threads = self->n_lanes;
    else if (threads == 1)
        threads = 0;                  /* the consumer's own will do */
    pthread_mutex_lock(&self->mutex); /* the number of threads is theirs to read too */
    while (self->n_threads < threads && lc_thread_start(&self->threads[self->n_threads], run, self))
        self->n_threads++;
    pthread_mutex_unlock(&self->mutex);
    *out = self;
    return LCDC_OK;
}

static void lane_done(struct lane *lane)
{
    lc_rows_close(lane->rows);
    lcdc_error_free(lane->error);
    for (; lane->n; lane->n--) {
        lc_change_batch_done(&lane->queue[lane->first].batch);
        lane->first = (lane->first + 1) % QUEUE;
    }
}

void lc_ahead_close(struct lc_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->stops = 1;
    pthread_cond_broadcast(&ahead->drained);
    pthread_mutex_unlock(&ahead->mutex);
    while (ahead->n_threads)
        pthread_join(ahead->threads[--ahead->n_threads], NULL);
    for (size_t i = 0; i < ahead->n_lanes; i++)
        lane_done(&ahead->lanes[i]);
    pthread_cond_destroy(&ahead->drained);
    pthread_cond_destroy(&ahead->filled);
    pthread_mutex_destroy(&ahead->mutex);
    lc_free(ahead);
}
