/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_batch.h - one small batch of change rows, with a row of every op, and what a writer makes of it.
 */
#ifndef TESTS_SUPPORT_CHANGE_BATCH_H
#define TESTS_SUPPORT_CHANGE_BATCH_H

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arrow.h"
#include "lakecdc/writer.h"
#include "support/json_rows.h"

struct lc_change_batch_test {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    lcdc_writer_options options;
    char text[1 << 16]; /* what was written, terminated */
    size_t n, calls;
    int fail_with; /* errno for the callback to return */
};

static struct lc_field change_images[] = {{.name = "id", .type = {.kind = LC_TYPE_INT32}},
                                          {.name = "name", .type = {.kind = LC_TYPE_STRING}}};
static struct lc_field change_columns[] = {
    {.name = "op", .type = {.kind = LC_TYPE_STRING}},
    {.name = "before", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 2, .children = change_images},
    {.name = "after", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 2, .children = change_images},
    {.name = "snapshot", .type = {.kind = LC_TYPE_INT64}},
    {.name = "ts", .type = {.kind = LC_TYPE_TIMESTAMP_TZ}}};
static const struct lc_field change_row = {
    .name = "", .type = {.kind = LC_TYPE_STRUCT}, .n_children = 5, .children = change_columns};

static const char change_rows[] =
    "[{\"op\":\"insert\",\"before\":null,\"after\":{\"id\":1,\"name\":\"a\"},\"snapshot\":3,"
    "\"ts\":\"2024-02-29T12:00:00.000000Z\"},"
    "{\"op\":\"delete\",\"before\":{\"id\":2,\"name\":null},\"after\":null,\"snapshot\":3,"
    "\"ts\":\"2024-02-29T12:00:00.000000Z\"},"
    "{\"op\":\"update\",\"before\":{\"id\":3,\"name\":\"\"},\"after\":{\"id\":3,\"name\":\"b,\\\"c\\\"\"},\"snapshot\":"
    "4,"
    "\"ts\":\"2024-03-01T00:00:00.000001Z\"},"
    "{\"op\":\"update_before\",\"before\":{\"id\":4,\"name\":\"x\"},\"after\":null,\"snapshot\":null,\"ts\":null},"
    "{\"op\":\"update_after\",\"before\":null,\"after\":{\"id\":4,\"name\":\"\xE4\xB8\x96\\u001b[31m\"},"
    "\"snapshot\":null,\"ts\":null}]";

static inline void change_batch_of(struct lc_change_batch_test *t, const char *rows, int pad)
{
    memset(t, 0, sizeof(*t));
    assert_int_equal(lc_schema_from_field(&change_row, &t->schema, NULL), LCDC_OK);
    assert_true(json_rows(rows, &change_row, pad, &t->batch));
}

static inline void change_batch(struct lc_change_batch_test *t, int pad)
{
    change_batch_of(t, change_rows, pad);
}

static inline int change_take(void *context, const void *bytes, size_t n)
{
    struct lc_change_batch_test *t = context;
    t->calls++;
    if (t->fail_with)
        return t->fail_with;
    assert_true(n < sizeof(t->text) - t->n);
    memcpy(t->text + t->n, bytes, n);
    t->n += n;
    t->text[t->n] = 0;
    return 0;
}

static inline void change_writer_drop(lcdc_writer **writer)
{
    lcdc_writer_free(*writer);
}

/** The batch through a writer into t->text. */
static inline lcdc_status change_write(const char *format, struct lc_change_batch_test *t, lcdc_error **err)
{
    lcdc_writer *writer LC_CLEANUP(change_writer_drop) = NULL;
    t->n = t->calls = 0;
    t->text[0] = 0;
    LC_TRY(lcdc_writer_new(format, &t->schema, &t->options, change_take, t, &writer, err));
    LC_TRY(lcdc_writer_batch(writer, &t->batch, err));
    return lcdc_writer_finish(writer, err);
}

static inline void change_done(struct lc_change_batch_test *t)
{
    t->batch.release(&t->batch);
    lc_schema_release(&t->schema);
}

#endif
