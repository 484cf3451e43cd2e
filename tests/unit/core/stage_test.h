/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_test.h - runs a script through one stage and compares what leaves with a line of text.
 */
#ifndef TESTS_UNIT_CORE_STAGE_TEST_H
#define TESTS_UNIT_CORE_STAGE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/pairs.h"
#include "support/change_stream.h"
#include "support/torture.h"

static struct lc_field stage_fields[] = {
    {.name = "k", .physical = "k", .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_INT32}},
    {.name = "v", .physical = "v", .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_STRING}}};
static const struct lc_field stage_columns = {.name = "",
                                              .physical = "",
                                              .id = LC_NO_ID,
                                              .type = {.kind = LC_TYPE_STRUCT},
                                              .n_children = 2,
                                              .children = stage_fields};

typedef lcdc_status (*stage_maker)(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                                   struct lc_change_stream **out, lcdc_error **err);

struct stage_case {
    stage_maker make;
    size_t n;
    const struct lc_script_batch *batches;
    bool by_key;    /* column k is the identity */
    int64_t memory; /* 0: plenty */
    int64_t most;   /* rows a batch; 0: 100 */
    struct lc_buf text;
};

static inline lcdc_status stage_run(void *context, lcdc_error **err)
{
    static const size_t k[1] = {0};
    struct stage_case *c = context;
    struct lc_stage_spec spec = {.columns = &stage_columns,
                                 .memory_limit = c->memory ? c->memory : 1 << 20,
                                 .batch_rows = c->most ? c->most : 100};
    if (c->by_key)
        spec.identity = (struct lc_identity){1, k};
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL;
    struct lc_change_stream *below = NULL;
    int released = 0;
    lc_buf_clear(&c->text);
    LC_TRY(lc_script_stream(&stage_columns, c->n, c->batches, &released, &below, err));
    LC_TRY(c->make(below, &spec, &stream, err));
    lcdc_status status = lc_change_stream_text(stream, &stage_columns, 100, &c->text, err);
    lc_change_stream_free(lc_steal(stream));
    assert_int_equal(released, 1); /* and never twice */
    LC_TRY(status);
    LC_TRY_BUF(&c->text);
    return LCDC_OK;
}

/** What leaves is `expected`, also when every held row is spilled to a file, and when held rows leave one by one. */
static inline void stage_expect(struct stage_case c, const char *expected)
{
    lc_buf_init(&c.text, 1 << 20);
    for (int round = 0; round < 4; round++) {
        c.memory = round & 1 ? 1 : 0;
        c.most = round & 2 ? 1 : 0;
        lcdc_error *err = NULL;
        assert_int_equal(stage_run(&c, &err), LCDC_OK);
        assert_null(err);
        assert_string_equal(c.text.p ? c.text.p : "", expected);
    }
    lc_buf_done(&c.text);
}

#define STAGE_CASE(maker, batches_, ...)                                                                               \
    (struct stage_case)                                                                                                \
    {                                                                                                                  \
        .make = (maker), .n = sizeof(batches_) / sizeof((batches_)[0]), .batches = (batches_), __VA_ARGS__             \
    }

#endif
