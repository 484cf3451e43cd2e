/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite sink when memory is short: each allocation of opening and of a window fails once. */
#include "sink/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/json_rows.h"

#define FIELD(name_, kind_)                                                                                            \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }

static struct lc_field element = FIELD("element", STRING);
static struct lc_field columns[] = {FIELD("id", INT64), FIELD("name", STRING),  FIELD("day", DATE),
                                    FIELD("f", DOUBLE), FIELD("bytes", BINARY), FIELD("tags", LIST)};
static const struct lc_field images = {.name = "", .type.kind = LC_TYPE_STRUCT, .n_children = 6, .children = columns};

static const char rows_json[] =
    "[{\"op\":\"delete\",\"before\":{\"id\":1,\"name\":\"a\",\"day\":null,\"f\":null,\"bytes\":null,\"tags\":null},"
    "\"after\":null,\"snapshot\":3,\"ts\":null},"
    "{\"op\":\"insert\",\"before\":null,\"after\":{\"id\":1,\"name\":\"b\",\"day\":\"2024-02-29\",\"f\":\"NaN\","
    "\"bytes\":\"AAE=\",\"tags\":[\"x\",null]},\"snapshot\":3,\"ts\":null}]";

struct job {
    struct ArrowSchema schema;
    struct ArrowArray rows;
    struct lc_sink_setting settings[2];
    size_t identity;
    struct lc_sink_setup setup;
};

static void start(struct job *job, const char *mode)
{
    struct lc_field parts[] = {FIELD("op", STRING), images, images, FIELD("snapshot", INT64),
                               FIELD("ts", TIMESTAMP_TZ)};
    struct lc_field row = {.name = "", .type.kind = LC_TYPE_STRUCT, .n_children = LCDC_COLS, .children = parts};
    *job = (struct job){.settings = {{"path", ":memory:"}, {"mode", mode}}};
    columns[5].n_children = 1;
    columns[5].children = &element;
    parts[LCDC_COL_BEFORE] = parts[LCDC_COL_AFTER] = images;
    parts[LCDC_COL_BEFORE].name = "before";
    parts[LCDC_COL_AFTER].name = "after";
    assert_int_equal(lc_change_schema(&images, &job->schema, NULL), LCDC_OK);
    assert_true(json_rows(rows_json, &row, 1, &job->rows));
    job->setup = (struct lc_sink_setup){.table = "orders",
                                        .source = "lake",
                                        .schema = &job->schema,
                                        .images = &images,
                                        .n_identity = 1,
                                        .identity = &job->identity,
                                        .n_settings = 2,
                                        .settings = job->settings};
}

static void end(struct job *job)
{
    job->rows.release(&job->rows);
    lc_schema_release(&job->schema);
}

static lcdc_status deliver(struct lc_sink *sink, struct job *job, const char *cursor, lcdc_error **err)
{
    struct lc_window window = {.kind = LC_WINDOW_CHANGES, .snapshot = 3, .ts_us = 1};
    lcdc_status status = sink->ops->begin(sink, &window, err);
    if (status == LCDC_OK)
        status = sink->ops->write(sink, &job->rows, err);
    if (status == LCDC_OK)
        status = sink->ops->commit(sink, cursor, err);
    if (status != LCDC_OK)
        sink->ops->abort(sink);
    return status;
}

static void assert_cursor(struct lc_sink *sink, const char *want)
{
    char *cursor LC_CLEANUP(lc_freep) = NULL;
    assert_int_equal(sink->ops->cursor(sink, &cursor, NULL), LCDC_OK);
    assert_string_equal(cursor, want);
}

/* One failure at allocation n; whether there were fewer. */
static bool fail_at(struct job *job, int64_t n)
{
    struct lc_sink *sink LC_CLEANUP(lc_sink_closep) = NULL;
    lcdc_error *err LC_ERROR = NULL;
    (void)lc_alloc_fail_after(n);
    lcdc_status status = lc_sink_sqlite.open(&job->setup, &sink, &err);
    if (status == LCDC_OK)
        status = deliver(sink, job, "c1", &err);
    (void)lc_alloc_fail_after(-1);
    if (status != LCDC_OK) {
        assert_int_equal(status, LCDC_OUT_OF_MEMORY);
        assert_int_equal(lcdc_error_status(err), LCDC_OUT_OF_MEMORY);
    }
    if (sink) { /* what failed may be delivered again, and what did not is there */
        assert_int_equal(deliver(sink, job, status == LCDC_OK ? "c2" : "c1", NULL), LCDC_OK);
        assert_cursor(sink, status == LCDC_OK ? "c2" : "c1");
    }
    return status == LCDC_OK;
}

static void test_memory_is_short(void **unused)
{
    (void)unused;
    static const char *const modes[] = {"upsert", "history"};
    for (int i = 0; i < 2; i++) {
        struct job job;
        int64_t n = 0;
        start(&job, modes[i]);
        while (!fail_at(&job, n))
            n++;
        assert_true(n > 30);
        end(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
