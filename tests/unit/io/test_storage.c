/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/storage.h"
#include "support/memory_storage.h"
#include "support/torture.h"

static struct lc_storage *make_storage(void)
{
    struct lc_storage *storage = NULL;
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/t/b.json", "0123456789", NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/t/_log/1", "one", NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/t/_log/2", "two", NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/t/B", "", NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add_text(storage, "/tt/x", "x", NULL), LCDC_OK);
    return storage;
}

static void assert_reason(lcdc_error *err, const char *reason)
{
    assert_non_null(err);
    assert_string_equal(lcdc_error_reason(err), reason);
    lcdc_error_free(err);
}

static void listing_is_sorted_bytewise_and_has_folders_once(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = make_storage();
    struct lc_listing listing = {0};
    assert_int_equal(lc_storage_list(storage, "/t", &listing, NULL), LCDC_OK);
    assert_int_equal(listing.n, 3);
    assert_string_equal(listing.items[0].name, "B");
    assert_int_equal(listing.items[0].size, 0);
    assert_string_equal(listing.items[1].name, "_log");
    assert_true(listing.items[1].is_directory);
    assert_string_equal(listing.items[2].name, "b.json");
    assert_int_equal(listing.items[2].size, 10);
    lc_listing_done(&listing);
    assert_null(listing.items);
    assert_int_equal(lc_storage_list(storage, "/", &listing, NULL), LCDC_OK);
    assert_int_equal(listing.n, 2);
    lc_listing_done(&listing);
}

static void absence_is_named(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = make_storage();
    struct lc_listing listing = {0};
    struct lc_file_info info;
    struct lc_file *file = NULL;
    lcdc_error *err = NULL;
    assert_int_equal(lc_storage_list(storage, "/nowhere", &listing, &err), LCDC_NOT_FOUND);
    assert_reason(err, "io.file_missing");
    err = NULL;
    assert_int_equal(lc_storage_stat(storage, "/t/none", &info, &err), LCDC_NOT_FOUND);
    assert_reason(err, "io.file_missing");
    err = NULL;
    assert_int_equal(lc_storage_open(storage, "/t/none", &file, &err), LCDC_NOT_FOUND);
    assert_reason(err, "io.file_missing");
    assert_null(file);
}

static void whole_files_append_and_end_in_a_terminator(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = make_storage();
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 100);
    assert_int_equal(lc_storage_read(storage, "/t/B", 100, &buf, NULL), LCDC_OK);
    assert_string_equal(buf.p, "");
    assert_int_equal(lc_storage_read(storage, "/t/_log/1", 3, &buf, NULL), LCDC_OK);
    assert_int_equal(lc_storage_read(storage, "/t/_log/2", 3, &buf, NULL), LCDC_OK);
    assert_string_equal(buf.p, "onetwo");
    assert_int_equal(buf.n, 6);
}

static void a_file_over_the_limit_is_refused_by_name(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = make_storage();
    LC_BUF struct lc_buf buf;
    lcdc_error *err = NULL;
    lc_buf_init(&buf, 100);
    assert_int_equal(lc_storage_read(storage, "/t/b.json", 9, &buf, &err), LCDC_LIMIT);
    assert_non_null(strstr(lcdc_error_message(err), "/t/b.json has 10 bytes"));
    assert_reason(err, "limit");
    err = NULL;
    lc_buf_init(&buf, 9);
    assert_int_equal(lc_storage_read(storage, "/t/b.json", 100, &buf, &err), LCDC_LIMIT);
    assert_reason(err, "limit");
    assert_false(buf.failed);
}

static void ranges_are_exact_or_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t offset, n;
        const char *text;
    } cases[] = {
        {0, 10, "0123456789"}, {3, 2, "34"},         {10, 0, ""},          {9, 1, "9"},
        {0, 11, NULL},         {10, 1, NULL},        {11, 0, NULL},        {-1, 1, NULL},
        {0, -1, NULL},         {1, INT64_MAX, NULL}, {INT64_MAX, 1, NULL}, {INT64_MIN, 1, NULL},
    };
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = make_storage();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_BUF struct lc_buf buf;
        lcdc_error *err = NULL;
        lc_buf_init(&buf, 100);
        lcdc_status status = lc_storage_read_range(storage, "/t/b.json", cases[i].offset, cases[i].n, &buf, &err);
        if (cases[i].text) {
            assert_int_equal(status, LCDC_OK);
            assert_string_equal(buf.p, cases[i].text);
        } else {
            assert_int_equal(status, LCDC_IO);
            assert_reason(err, "io.failed");
            assert_int_equal(buf.n, 0);
        }
    }
}

static void an_open_file_refuses_ranges_it_does_not_have(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = make_storage();
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    char bytes[16];
    assert_int_equal(lc_storage_open(storage, "/t/b.json", &file, NULL), LCDC_OK);
    assert_int_equal(lc_file_size(file), 10);
    assert_int_equal(lc_file_read_at(file, 8, 2, bytes, NULL), LCDC_OK);
    assert_memory_equal(bytes, "89", 2);
    assert_int_equal(lc_file_read_at(file, 8, 3, bytes, NULL), LCDC_IO);
    assert_int_equal(lc_file_read_at(file, -1, 1, bytes, NULL), LCDC_IO);
}

static void meter_counts_and_changes_nothing(void **state)
{
    (void)state;
    struct lc_meter meter = {0};
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = NULL;
    assert_int_equal(lc_storage_meter(make_storage(), &meter, &storage, NULL), LCDC_OK);
    struct lc_listing listing = {0};
    struct lc_file_info info;
    assert_int_equal(lc_storage_list(storage, "/t", &listing, NULL), LCDC_OK);
    assert_int_equal(listing.n, 3);
    lc_listing_done(&listing);
    assert_int_equal(lc_storage_stat(storage, "/t/b.json", &info, NULL), LCDC_OK);
    assert_int_equal(info.size, 10);
    assert_int_equal(lc_storage_stat(storage, "/t/none", &info, NULL), LCDC_NOT_FOUND);
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 100);
    assert_int_equal(lc_storage_read(storage, "/t/b.json", 100, &buf, NULL), LCDC_OK);
    assert_string_equal(buf.p, "0123456789");
    assert_int_equal(lc_storage_read_range(storage, "/t/b.json", 2, 3, &buf, NULL), LCDC_OK);
    assert_int_equal(lc_storage_read_range(storage, "/t/b.json", 2, 30, &buf, NULL), LCDC_IO);
    assert_int_equal(meter.lists, 1);
    assert_int_equal(meter.stats, 2);
    assert_int_equal(meter.opens, 3);
    assert_int_equal(meter.reads, 2);
    assert_int_equal(meter.bytes, 13);
}

static void fault_fails_its_operation_and_all_later_ones(void **state)
{
    (void)state;
    static const lcdc_status expected[4][4] = {
        {LCDC_IO, LCDC_IO, LCDC_IO, LCDC_IO},
        {LCDC_OK, LCDC_IO, LCDC_IO, LCDC_IO},
        {LCDC_OK, LCDC_OK, LCDC_IO, LCDC_IO}, /* the third operation opens, the fourth reads */
        {LCDC_OK, LCDC_OK, LCDC_IO, LCDC_IO},
    };
    for (int64_t n = 0; n < 4; n++) {
        LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = NULL;
        assert_int_equal(lc_storage_fault(make_storage(), n, &storage, NULL), LCDC_OK);
        struct lc_listing listing = {0};
        struct lc_file_info info;
        LC_BUF struct lc_buf buf;
        lc_buf_init(&buf, 100);
        lcdc_error *err = NULL;
        assert_int_equal(lc_storage_list(storage, "/t", &listing, NULL), expected[n][0]);
        assert_int_equal(lc_storage_stat(storage, "/t/B", &info, NULL), expected[n][1]);
        assert_int_equal(lc_storage_read(storage, "/t/b.json", 100, &buf, &err), expected[n][2]);
        assert_reason(err, "io.failed");
        assert_int_equal(lc_storage_stat(storage, "/t/B", &info, NULL), expected[n][3]);
        lc_listing_done(&listing);
    }
}

static lcdc_status work_through_layers(void *context, lcdc_error **err)
{
    (void)context;
    struct lc_meter meter = {0};
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = NULL;
    LC_CLEANUP(lc_listing_done) struct lc_listing listing = {0};
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 100);
    LC_TRY(lc_memory_storage(&storage, err));
    LC_TRY(lc_storage_meter(lc_steal(storage), &meter, &storage, err));
    LC_TRY(lc_storage_fault(lc_steal(storage), INT64_MAX, &storage, err));
    LC_CLEANUP(lc_storage_freep) struct lc_storage *below = NULL;
    LC_TRY(lc_memory_storage(&below, err));
    LC_TRY(lc_memory_storage_add_text(below, "/t/b", "text", err));
    LC_TRY(lc_storage_list(below, "/t", &listing, err));
    LC_TRY(lc_storage_meter(lc_steal(below), &meter, &below, err));
    return lc_storage_read(below, "/t/b", 100, &buf, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(lc_torture(work_through_layers, NULL));
}

static void memory_files_can_be_replaced_and_removed(void **state)
{
    (void)state;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = make_storage();
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 100);
    assert_int_equal(lc_memory_storage_add_text(storage, "/t/B", "new", NULL), LCDC_OK);
    assert_int_equal(lc_storage_read(storage, "/t/B", 100, &buf, NULL), LCDC_OK);
    assert_string_equal(buf.p, "new");
    assert_true(lc_memory_storage_remove(storage, "/t/B"));
    assert_false(lc_memory_storage_remove(storage, "/t/B"));
    assert_int_equal(lc_storage_read(storage, "/t/B", 100, &buf, NULL), LCDC_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listing_is_sorted_bytewise_and_has_folders_once),
        cmocka_unit_test(absence_is_named),
        cmocka_unit_test(whole_files_append_and_end_in_a_terminator),
        cmocka_unit_test(a_file_over_the_limit_is_refused_by_name),
        cmocka_unit_test(ranges_are_exact_or_refused),
        cmocka_unit_test(an_open_file_refuses_ranges_it_does_not_have),
        cmocka_unit_test(meter_counts_and_changes_nothing),
        cmocka_unit_test(fault_fails_its_operation_and_all_later_ones),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(memory_files_can_be_replaced_and_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
