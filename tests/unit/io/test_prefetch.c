/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_prefetch.c - what is wished for is fetched once, together and ahead, and no answer depends on it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/storage.h"
#include "support/memory_storage.h"

enum { BYTES = 400000, MAX = 1 << 20 };

struct world {
    struct lc_meter meter;
    struct lc_storage *storage, *memory;
    char *bytes;
};

/* Memory, a layer that makes it remote, a meter, the layer under test. */
static void begin(struct world *w, size_t max)
{
    *w = (struct world){.bytes = lc_alloc(BYTES)};
    for (size_t i = 0; i < BYTES; i++)
        w->bytes[i] = (char)(i * 2654435761u >> 16);
    assert_int_equal(lc_memory_storage(&w->memory, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add(w->memory, "/t/f", w->bytes, BYTES, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(w->memory, "/t/small", "small", NULL), LCDC_OK);
    assert_int_equal(lc_storage_latency(w->memory, 0, &w->storage, NULL), LCDC_OK);
    assert_int_equal(lc_storage_meter(w->storage, &w->meter, &w->storage, NULL), LCDC_OK);
    assert_int_equal(lc_storage_prefetch(w->storage, max, &w->storage, NULL), LCDC_OK);
}

static void end(struct world *w)
{
    lc_storage_free(w->storage);
    lc_free(w->bytes);
}

static void expect_read(struct world *w, struct lc_file *file, int64_t offset, int64_t n)
{
    LC_FREE char *got = lc_alloc((size_t)n);
    assert_int_equal(lc_file_read_at(file, offset, n, got, NULL), LCDC_OK);
    assert_memory_equal(got, w->bytes + offset, (size_t)n);
}

static void near_spans_are_one_request(void **state)
{
    (void)state;
    struct world w;
    begin(&w, MAX);
    static const struct lc_span spans[] = {{300000, 1000}, {1000, 500}, {2000, 500}};
    lc_storage_want(w.storage, "/t/f", BYTES, 3, spans);
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    assert_int_equal(lc_storage_open_sized(w.storage, "/t/f", BYTES, &file, NULL), LCDC_OK);
    assert_int_equal(lc_file_size(file), BYTES);
    for (int i = 0; i < 3; i++)
        expect_read(&w, file, spans[i].offset, spans[i].n);
    assert_int_equal(w.meter.requests, 2); /* no request opens a file of a known size */
    assert_int_equal(w.meter.reads, 2);
    assert_int_equal(w.meter.bytes, 1000 + 1500);
    expect_read(&w, file, 100000, 10); /* not wished for */
    assert_int_equal(w.meter.reads, 3);
    expect_read(&w, file, 1200, 100); /* read before: it may have been let go of, the answer is the same */
    lc_file_close(lc_steal(file));
    end(&w);
}

static void a_read_over_several_blocks(void **state)
{
    (void)state;
    struct world w;
    begin(&w, MAX);
    static const struct lc_span spans[] = {{0, 1000}, {200000, 1000}};
    lc_storage_want(w.storage, "/t/f", BYTES, 2, spans);
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    assert_int_equal(lc_storage_open_sized(w.storage, "/t/f", BYTES, &file, NULL), LCDC_OK);
    expect_read(&w, file, 500, 5000); /* begins in one, ends in none */
    expect_read(&w, file, 200900, 400);
    expect_read(&w, file, 0, BYTES);
    lc_file_close(lc_steal(file));
    end(&w);
}

static void a_whole_file(void **state)
{
    (void)state;
    struct world w;
    begin(&w, MAX);
    lc_storage_want_whole(w.storage, "/t/small", -1);
    lc_storage_want_whole(w.storage, "/t/small", -1);
    for (int i = 0; i < 2; i++) {
        LC_BUF struct lc_buf text;
        lc_buf_init(&text, 100);
        assert_int_equal(lc_storage_read(w.storage, "/t/small", 100, &text, NULL), LCDC_OK);
        assert_string_equal(text.p, "small");
    }
    assert_int_equal(w.meter.requests, 2);        /* its size, its bytes */
    lc_storage_want_whole(w.storage, "/t/f", -1); /* more than may be held at once: its size at least */
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    assert_int_equal(lc_storage_open(w.storage, "/t/f", &file, NULL), LCDC_OK);
    assert_int_equal(lc_file_size(file), BYTES);
    expect_read(&w, file, 7, 70);
    lc_file_close(lc_steal(file));
    end(&w);
}

static void what_is_not_there(void **state)
{
    (void)state;
    struct world w;
    begin(&w, MAX);
    struct lc_file_info info;
    struct lc_file *file = NULL;
    lc_storage_want(w.storage, "/t/none", -1, 0, NULL);
    lc_storage_want(w.storage, "/t/small", -1, 0, NULL);
    LC_ERROR lcdc_error *err = NULL;
    assert_int_equal(lc_storage_stat(w.storage, "/t/none", &info, &err), LCDC_NOT_FOUND);
    assert_non_null(strstr(lcdc_error_message(err), "/t/none"));
    assert_int_equal(lc_storage_stat(w.storage, "/t/small", &info, NULL), LCDC_OK);
    assert_int_equal(info.size, 5);
    assert_int_not_equal(info.mtime_ms, INT64_MIN);
    assert_int_equal(w.meter.requests, 2);
    assert_int_equal(lc_storage_open(w.storage, "/t/none", &file, NULL), LCDC_NOT_FOUND);
    /* a false size shows when it is read */
    static const struct lc_span tail = {BYTES, 100};
    lc_storage_want(w.storage, "/t/f", BYTES + 100, 1, &tail);
    assert_int_equal(lc_storage_stat(w.storage, "/t/f", &info, NULL), LCDC_OK);
    assert_int_equal(info.size, BYTES);
    assert_int_equal(lc_storage_open_sized(w.storage, "/t/f", BYTES + 100, &file, NULL), LCDC_OK);
    char byte[100];
    assert_int_equal(lc_file_read_at(file, BYTES, 100, byte, NULL), LCDC_IO);
    lc_file_close(file);
    /* a wish that makes no sense is none */
    static const struct lc_span bad[] = {{-1, 5}, {INT64_MAX, 5}, {5, -7}, {BYTES, 1}};
    for (int i = 0; i < 4; i++)
        lc_storage_want(w.storage, "/t/f", BYTES, 1, &bad[i]);
    lc_storage_forget(w.storage);
    end(&w);
}

static void what_is_held_is_bounded(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 100000);
    struct lc_file *file = NULL;
    assert_int_equal(lc_storage_open_sized(w.storage, "/t/f", BYTES, &file, NULL), LCDC_OK);
    for (int64_t at = 0; at + 80000 <= BYTES; at += 80000) {
        struct lc_span span = {at, 80000};
        lc_storage_want(w.storage, "/t/f", BYTES, 1, &span); /* there is room for one at a time */
        lc_storage_want(w.storage, "/t/f", BYTES, 1, &(struct lc_span){at + 70000, 80000});
        expect_read(&w, file, at, 80000);
    }
    lc_file_close(file);
    end(&w);
}

static void near_paths_pass(void **state)
{
    (void)state;
    struct lc_meter meter = {0};
    struct lc_storage *storage = NULL;
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/t/a", "abc", NULL), LCDC_OK);
    assert_int_equal(lc_storage_meter(storage, &meter, &storage, NULL), LCDC_OK);
    assert_int_equal(lc_storage_prefetch(storage, MAX, &storage, NULL), LCDC_OK);
    assert_false(lc_storage_is_remote(storage, "/t/a"));
    assert_true(lc_storage_is_remote(storage, "s3://b/a"));
    lc_storage_want_whole(storage, "/t/a", 3);
    assert_int_equal(meter.requests, 0);
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    assert_int_equal(lc_storage_open_sized(storage, "/t/a", 99, &file, NULL), LCDC_OK);
    assert_int_equal(lc_file_size(file), 3); /* asked, since it costs nothing */
    lc_file_close(lc_steal(file));
    lc_storage_free(storage);
}

enum { READERS = 4 };

static void *read_all(void *context)
{
    struct world *w = context;
    struct lc_file *file = NULL;
    if (lc_storage_open_sized(w->storage, "/t/f", BYTES, &file, NULL) != LCDC_OK)
        return NULL;
    char *got = lc_alloc(BYTES);
    for (int64_t at = 0; got && at < BYTES; at += 20000) {
        struct lc_span span = {at, 20000};
        lc_storage_want(w->storage, "/t/f", BYTES, 1, &span);
        if (lc_file_read_at(file, at, 20000, got + at, NULL) != LCDC_OK)
            break;
        if (at % 100000 == 0)
            lc_storage_forget(w->storage);
    }
    bool same = got && memcmp(got, w->bytes, BYTES) == 0;
    lc_free(got);
    lc_file_close(file);
    return same ? w : NULL;
}

static void several_threads(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 100000);
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &w), 0);
    for (int i = 0; i < READERS; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
    end(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_spans_are_one_request),
        cmocka_unit_test(a_read_over_several_blocks),
        cmocka_unit_test(a_whole_file),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(what_is_held_is_bounded),
        cmocka_unit_test(near_paths_pass),
        cmocka_unit_test(several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
