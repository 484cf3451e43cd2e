/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rows.c - the rows of one row set: which rows, where they lie in the file, and what is refused.
 */
#include "scan_test.h"

#include "support/arrays.h"

struct rows_case {
    struct lc_storage *storage;
    struct lc_row_set set;
    struct lc_rows_request request;
    _Atomic int cancelled;
    bool is_empty;
    struct lc_buf text; /* "image extra @position", a line a row */
};

static const struct lc_field *const with_id[] = {scan_id};
static const struct lc_data_file file = {.path = "f", .url = "/f", .size = -1, .rows = 5};

static void init(struct rows_case *c)
{
    memset(c, 0, sizeof(*c));
    lc_buf_init(&c->text, 1 << 20);
    assert_int_equal(lc_memory_storage(&c->storage, NULL), LCDC_OK);
    scan_put(c->storage, "/f", "kvi",
             "[{\"k\":0,\"v\":\"a\",\"_id\":9},{\"k\":1,\"v\":\"b\",\"_id\":8},{\"k\":2,\"v\":null,\"_id\":null},"
             "{\"k\":3,\"v\":\"d\",\"_id\":6},{\"k\":4,\"v\":\"e\",\"_id\":5}]");
    c->set = (struct lc_row_set){.file = &file, .rows = -1};
    c->request = (struct lc_rows_request){.columns = &scan_table, .n_extra = 1, .extra = with_id};
}

static void done(struct rows_case *c)
{
    lc_storage_free(c->storage);
    lc_buf_done(&c->text);
}

static lcdc_status read_rows(void *context, lcdc_error **err)
{
    struct rows_case *c = context;
    struct lc_scan_context scan = {.storage = c->storage,
                                   .schema = &scan_table,
                                   .match = LC_MATCH_PHYSICAL_NAME,
                                   .cancelled = &c->cancelled,
                                   .batch_rows = 2};
    LC_CLEANUP(lc_rows_closep) struct lc_rows *rows = NULL;
    lc_buf_clear(&c->text);
    LC_TRY(lc_rows_open(&scan, &c->set, &c->request, &rows, err));
    c->is_empty = lc_rows_is_empty(rows);
    for (;;) {
        LC_ARRAY struct ArrowArray images = {0}, extra = {0};
        const int64_t *positions = NULL;
        LC_TRY(lc_rows_next(rows, &images, &extra, &positions, err));
        if (!images.release)
            break;
        if (images.length == 0 || (c->request.n_extra && extra.length != images.length))
            return lc_fail(err, LC_R_INTERNAL, "a batch of %lld rows", (long long)images.length);
        for (int64_t i = 0; i < images.length; i++) {
            lc_test_print_row(&c->text, &images, c->request.columns, i);
            if (c->request.n_extra)
                lc_test_print_row(&c->text, extra.children[0], scan_id, extra.offset + i);
            lc_buf_printf(&c->text, "@%lld ", (long long)positions[i]);
        }
    }
    LC_TRY_BUF(&c->text);
    return LCDC_OK;
}

static void expect(struct rows_case *c, const char *expected)
{
    LC_ERROR lcdc_error *err = NULL;
    if (read_rows(c, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    assert_string_equal(c->text.p ? c->text.p : "", expected);
}

static void expect_error(struct rows_case *c, const char *reason, const char *word)
{
    LC_ERROR lcdc_error *err = NULL;
    assert_int_not_equal(read_rows(c, &err), LCDC_OK);
    assert_string_equal(lcdc_error_reason(err), reason);
    assert_non_null(strstr(lcdc_error_message(err), word));
}

static void test_all_rows(void **state)
{
    (void)state;
    struct rows_case c;
    init(&c);
    expect(&c, "{<0>,<a>,null}<9>@0 {<1>,<b>,null}<8>@1 {<2>,null,null}null@2 {<3>,<d>,null}<6>@3 "
               "{<4>,<e>,null}<5>@4 ");
    assert_false(c.is_empty);
    done(&c);
}

static void test_positions_stay_absolute(void **state)
{
    (void)state;
    struct rows_case c;
    LC_ARENA struct lc_arena arena = {0};
    LC_BITMAP struct lc_bitmap *include = NULL, *exclude = NULL;
    init(&c);
    assert_int_equal(lc_bitmap_new(&include, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_new(&exclude, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add_range(include, 1, 4, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(exclude, 3, NULL), LCDC_OK);
    c.set.include = include;
    c.set.exclude = exclude;
    expect(&c, "{<1>,<b>,null}<8>@1 {<2>,null,null}null@2 {<4>,<e>,null}<5>@4 ");
    assert_int_equal(lc_filter_parse(LC_STR("v > 'b'"), &scan_table, &arena, &c.request.filter, NULL), LCDC_OK);
    expect(&c, "{<4>,<e>,null}<5>@4 ");
    c.set.include = c.set.exclude = NULL;
    expect(&c, "{<3>,<d>,null}<6>@3 {<4>,<e>,null}<5>@4 ");
    done(&c);
}

/* Equality deletes: a test on columns that were not asked for, and one on a column that was. */
static lcdc_status drop_even(const struct lc_row_filter *filter, const struct ArrowArray *rows,
                             const int64_t *positions, uint8_t *keep, lcdc_error **err)
{
    (void)filter, (void)positions, (void)err;
    assert_int_equal(rows->n_children, 1);
    const int32_t *k = (const int32_t *)rows->children[0]->buffers[1] + rows->children[0]->offset + rows->offset;
    for (int64_t i = 0; i < rows->length; i++)
        if (k[i] % 2 == 0)
            keep[i] = 0;
    return LCDC_OK;
}

static lcdc_status drop_last(const struct lc_row_filter *filter, const struct ArrowArray *rows,
                             const int64_t *positions, uint8_t *keep, lcdc_error **err)
{
    (void)filter, (void)err;
    assert_int_equal(rows->n_children, 2);
    for (int64_t i = 0; i < rows->length; i++)
        if (positions[i] >= 3)
            keep[i] = 0;
    return LCDC_OK;
}

static void test_row_filters(void **state)
{
    (void)state;
    static const struct lc_field *const k[] = {&scan_fields[0]}, *const vd[] = {&scan_fields[1], &scan_fields[2]};
    static const struct lc_row_filter even = {1, k, drop_even}, last = {2, vd, drop_last};
    static const struct lc_row_filter *const one[] = {&even}, *const both[] = {&even, &last};
    struct lc_field only_v = scan_table;
    only_v.children = &scan_fields[1];
    only_v.n_children = 1;
    struct rows_case c;
    init(&c);
    c.request.columns = &only_v;
    c.set.filters = one;
    c.set.n_filters = 1;
    expect(&c, "{<b>}<8>@1 {<d>}<6>@3 ");
    c.set.filters = both;
    c.set.n_filters = 2;
    expect(&c, "{<b>}<8>@1 ");
    c.request.columns = &scan_table;
    c.request.n_extra = 0;
    expect(&c, "{<1>,<b>,null}@1 ");
    assert_true(lc_torture(read_rows, &c));
    done(&c);
}

static void test_no_rows_no_file(void **state)
{
    (void)state;
    struct rows_case c;
    LC_BITMAP struct lc_bitmap *none = NULL;
    init(&c);
    assert_int_equal(lc_bitmap_new(&none, NULL), LCDC_OK);
    assert_true(lc_memory_storage_remove(c.storage, "/f"));
    expect_error(&c, "io.file_missing", "/f");
    c.set.include = none;
    expect(&c, ""); /* the file is not even opened */
    assert_true(c.is_empty);
    done(&c);
}

static void test_constants(void **state)
{
    (void)state;
    struct lc_value west = {.type = {.kind = LC_TYPE_STRING}, .str = LC_STR("west")};
    struct lc_value seven = {.type = {.kind = LC_TYPE_DOUBLE}, .f = 7};
    struct lc_constant constants[] = {{.field = &scan_fields[1], .value = &west},
                                      {.field = &scan_fields[2], .value = &seven, .only_if_missing = true}};
    struct lc_data_file partitioned = file;
    struct rows_case c;
    LC_BITMAP struct lc_bitmap *first = NULL;
    init(&c);
    assert_int_equal(lc_bitmap_new(&first, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(first, 0, NULL), LCDC_OK);
    partitioned.n_constants = 2;
    partitioned.constants = constants;
    c.set.file = &partitioned;
    c.set.include = first;
    expect(&c, "{<0>,<west>,<7.0>}<9>@0 ");
    constants[0].only_if_missing = true; /* the file's own value wins */
    expect(&c, "{<0>,<a>,<7.0>}<9>@0 ");
    done(&c);
}

/* What the metadata says is held against the file. */
static void test_disagreements(void **state)
{
    (void)state;
    struct rows_case c;
    LC_BITMAP struct lc_bitmap *far = NULL;
    init(&c);
    assert_int_equal(lc_bitmap_new(&far, NULL), LCDC_OK);
    assert_int_equal(lc_bitmap_add(far, 5, NULL), LCDC_OK);
    c.set.exclude = far;
    expect_error(&c, "bitmap.bad", "position 5, the file has 5 rows");
    c.set.exclude = NULL;
    struct lc_data_file other = file;
    other.rows = 4;
    c.set.file = &other;
    expect_error(&c, "table.row_count", "f holds 5 rows, the table's metadata says 4");
    scan_put(c.storage, "/f", "vi", "[{\"v\":\"a\",\"_id\":9}]");
    other.rows = 1;
    expect(&c, "{null,<a>,null}<9>@0 ");
    done(&c);
}

static bool has_values(const struct lc_data_file *self, const struct lc_field *leaf, struct lc_arena *arena,
                       struct lc_column_stats *out)
{
    (void)self, (void)arena;
    if (leaf->name[0] != 'k')
        return false;
    *out = (struct lc_column_stats){.null_count = 0, .row_count = 1};
    return true;
}

/* A file without a column reads null, unless the table knows that it held values. */
static void test_a_column_that_went_missing(void **state)
{
    (void)state;
    struct lc_data_file known = file;
    struct rows_case c;
    init(&c);
    known.rows = 1;
    known.stats = has_values;
    c.set.file = &known;
    scan_put(c.storage, "/f", "vi", "[{\"v\":\"a\",\"_id\":9}]");
    expect_error(&c, "parquet.bad", "no column 'k'");
    done(&c);
}

static void test_cancelled(void **state)
{
    (void)state;
    struct rows_case c;
    init(&c);
    c.cancelled = 1;
    expect_error(&c, "cancelled", "cancelled");
    done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_rows),
        cmocka_unit_test(test_positions_stay_absolute),
        cmocka_unit_test(test_row_filters),
        cmocka_unit_test(test_no_rows_no_file),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_disagreements),
        cmocka_unit_test(test_a_column_that_went_missing),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
