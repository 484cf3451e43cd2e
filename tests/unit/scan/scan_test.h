/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_test.h - data files in memory, commits over them, and what a run of such a commit hands out, as text.
 *
 * The table has columns k (int), v (text) and d (double); files may also hold the hidden columns "_id" and "_ver" and
 * the op word "_op".
 */
#ifndef TESTS_UNIT_SCAN_SCAN_TEST_H
#define TESTS_UNIT_SCAN_SCAN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scan/pushdown.h"
#include "scan/run.h"
#include "support/change_stream.h"
#include "support/json_rows.h"
#include "support/memory_storage.h"
#include "support/torture.h"

#define SCAN_FIELD(name_, kind_)                                                                                       \
    {                                                                                                                  \
        .name = (name_), .physical = (name_), .id = LC_NO_ID, .nullable = true, .type = {.kind = LC_TYPE_##kind_ }     \
    }

/* What files hold; the table's columns are the first three. */
static struct lc_field scan_fields[] = {SCAN_FIELD("k", INT32),   SCAN_FIELD("v", STRING),   SCAN_FIELD("d", DOUBLE),
                                        SCAN_FIELD("_id", INT64), SCAN_FIELD("_ver", INT64), SCAN_FIELD("_op", STRING)};
static const struct lc_field scan_table = {.name = "",
                                           .physical = "",
                                           .id = LC_NO_ID,
                                           .type = {.kind = LC_TYPE_STRUCT},
                                           .n_children = 3,
                                           .children = scan_fields};
#define scan_id (&scan_fields[3])
#define scan_version (&scan_fields[4])
#define scan_op (&scan_fields[5])

static inline int scan_take(void *buf, const void *bytes, size_t n)
{
    lc_buf_append(buf, bytes, n);
    return 0;
}

/** Writes rows (JSON objects with these columns, of scan_fields, one letter each: k v d i(_id) r(_ver) o(_op)). */
static inline void scan_put(struct lc_storage *storage, const char *path, const char *columns, const char *json)
{
    struct lc_field fields[6];
    size_t n = strlen(columns);
    for (size_t i = 0; i < n; i++)
        fields[i] = scan_fields[strchr("kvdiro", columns[i]) - "kvdiro"];
    struct lc_field schema = scan_table;
    schema.children = fields;
    schema.n_children = n;
    LC_ARRAY struct ArrowArray rows = {0};
    LC_SCHEMA struct ArrowSchema arrow = {0};
    LC_BUF struct lc_buf bytes;
    struct lc_parquet_writer *writer = NULL;
    lc_buf_init(&bytes, 1 << 24);
    assert_true(json_rows(json, &schema, 0, &rows));
    assert_int_equal(lc_schema_from_field(&schema, &arrow, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_writer_open(&arrow, scan_take, &bytes, &writer, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_writer_batch(writer, &rows, NULL), LCDC_OK);
    assert_int_equal(lc_parquet_writer_finish(writer, NULL), LCDC_OK);
    lc_parquet_writer_close(writer);
    assert_int_equal(lc_memory_storage_add(storage, path, bytes.p, bytes.n, NULL), LCDC_OK);
}

typedef lcdc_status (*scan_run)(const struct lc_run_spec *spec, struct lc_run **out, lcdc_error **err);

struct scan_case {
    struct lc_storage *storage;
    scan_run run;
    struct lc_commit commit;
    const char *where;    /* NULL: all rows */
    const char *columns;  /* letters of k v d; NULL: all */
    int64_t memory_limit; /* 0: plenty */
    int64_t batch_rows;   /* 0: plenty */
    int64_t threads;      /* 0: by default */
    bool row_ids;
    struct lc_buf text; /* ops and images, then "@id" where row ids are wanted and known */
    int batches;
    bool no_run; /* the run said it cannot */
};

static inline void scan_print(struct scan_case *c, const struct lc_change_batch *batch, const struct lc_field *columns)
{
    lc_change_batch_text(batch, columns, &c->text);
    for (int64_t i = 0; batch->row_ids && i < batch->n; i++)
        lc_buf_printf(&c->text, "@%lld ", (long long)batch->row_ids[i]);
}

static inline void scan_drop_run(struct lc_run **run)
{
    lc_run_free(*run);
}

static inline lcdc_status scan_execute(void *context, lcdc_error **err)
{
    struct scan_case *c = context;
    LC_ARENA struct lc_arena arena = {0};
    const struct lc_field *chosen[3];
    size_t n = 0;
    for (const char *p = c->columns ? c->columns : "kvd"; *p; p++)
        chosen[n++] = &scan_fields[strchr("kvd", *p) - "kvd"];
    struct lc_field columns;
    LC_TRY(lc_field_project(&scan_table, n, chosen, &arena, &columns, err));
    struct lc_scan_context scan = {.storage = c->storage,
                                   .schema = &scan_table,
                                   .match = LC_MATCH_PHYSICAL_NAME,
                                   .batch_rows = c->batch_rows,
                                   .threads = c->threads};
    struct lc_shape shape = {.columns = &columns,
                             .pushdown = true,
                             .row_ids = c->row_ids,
                             .batch_rows = c->batch_rows ? c->batch_rows : 8192,
                             .memory_limit = c->memory_limit ? c->memory_limit : 1 << 26};
    struct lc_run_spec spec = {.context = &scan, .shape = &shape, .commit = &c->commit};
    if (c->where) {
        LC_TRY(lc_filter_parse(lc_str_of(c->where), &columns, &arena, &shape.filter, err));
        LC_TRY(lc_pushdown_ranges(shape.filter, &arena, &spec.n_ranges, &spec.ranges, err));
    }
    struct lc_run *run LC_CLEANUP(scan_drop_run) = NULL;
    lc_buf_clear(&c->text);
    c->batches = 0;
    LC_TRY(c->run(&spec, &run, err));
    c->no_run = !run;
    for (bool more = run != NULL; more;) {
        LC_CHANGE_BATCH struct lc_change_batch batch = {0};
        LC_TRY(run->ops->next(run, &batch, &more, err));
        if (!more)
            break;
        if (batch.n == 0 || batch.images.length != batch.n)
            return lc_fail(err, LC_R_INTERNAL, "a batch of %lld rows", (long long)batch.n);
        LC_TRY(lc_array_check(&batch.images, &columns, err));
        c->batches++;
        scan_print(c, &batch, &columns);
    }
    LC_TRY_BUF(&c->text);
    return LCDC_OK;
}

static inline void scan_init(struct scan_case *c, scan_run run)
{
    *c = (struct scan_case){.run = run};
    lc_buf_init(&c->text, 1 << 22);
    assert_int_equal(lc_memory_storage(&c->storage, NULL), LCDC_OK);
}

static inline void scan_done(struct scan_case *c)
{
    lc_storage_free(c->storage);
    lc_arena_done(&c->commit.arena);
    lc_buf_done(&c->text);
}

static inline void scan_expect(struct scan_case *c, const char *expected)
{
    LC_ERROR lcdc_error *err = NULL;
    lcdc_status status = scan_execute(c, &err);
    if (status != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    assert_false(c->no_run);
    assert_string_equal(c->text.p ? c->text.p : "", expected);
}

static inline void scan_expect_error(struct scan_case *c, const char *reason, const char *word)
{
    LC_ERROR lcdc_error *err = NULL;
    assert_int_not_equal(scan_execute(c, &err), LCDC_OK);
    assert_string_equal(lcdc_error_reason(err), reason);
    assert_non_null(strstr(lcdc_error_message(err), word));
}

#endif
