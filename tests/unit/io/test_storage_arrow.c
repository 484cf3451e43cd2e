/* SPDX-License-Identifier: Apache-2.0 */
/* The leaf storage on the local disk. Object stores need a server and are tried elsewhere. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/storage.h"
#include "support/torture.h"

struct place {
    char folder[64];
    struct lc_storage *storage;
};

static void make_file(const struct place *place, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    char path[256];
    strcpy(place->folder, "/tmp/lakecdc-storage-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(path, sizeof(path), "%s/_log", place->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/empty", place->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    make_file(place, "b 1%20+\xC3\xA9.json", "0123456789");
    make_file(place, "B", "");
    make_file(place, "_log/1", "one");
    assert_int_equal(lc_storage_arrow(&place->storage, NULL), LCDC_OK);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    static const char *const names[] = {"b 1%20+\xC3\xA9.json", "B", "_log/1", "_log", "empty", ""};
    lc_storage_free(place->storage);
    for (size_t i = 0; i < 6; i++) {
        snprintf(command, sizeof(command), "%s/%s", place->folder, names[i]);
        assert_int_equal(remove(command), 0);
    }
    free(place);
    return 0;
}

static char *location(const struct place *place, const char *before, const char *name)
{
    static char text[512];
    snprintf(text, sizeof(text), "%s%s%s%s", before, place->folder, *name ? "/" : "", name);
    return text;
}

static void assert_reason(lcdc_error *err, const char *reason)
{
    assert_non_null(err);
    assert_string_equal(lcdc_error_reason(err), reason);
    lcdc_error_free(err);
}

static void folders_are_listed(void **state)
{
    struct place *place = *state;
    static const char *const spellings[] = {"", "file:", "file://", "file://localhost"};
    for (size_t i = 0; i < 4; i++) {
        struct lc_listing listing = {0};
        assert_int_equal(lc_storage_list(place->storage, location(place, spellings[i], ""), &listing, NULL), LCDC_OK);
        assert_int_equal(listing.n, 4);
        assert_string_equal(listing.items[0].name, "B");
        assert_int_equal(listing.items[0].size, 0);
        assert_false(listing.items[0].is_directory);
        assert_string_equal(listing.items[1].name, "_log");
        assert_true(listing.items[1].is_directory);
        assert_string_equal(listing.items[2].name, "b 1%20+\xC3\xA9.json");
        assert_int_equal(listing.items[2].size, 10);
        assert_true(listing.items[2].mtime_ms > INT64_C(1500000000000));
        lc_listing_done(&listing);
    }
    struct lc_listing none = {0};
    assert_int_equal(lc_storage_list(place->storage, location(place, "", "empty"), &none, NULL), LCDC_OK);
    assert_int_equal(none.n, 0);
    lc_listing_done(&none);
}

static void files_are_read(void **state)
{
    struct place *place = *state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 100);
    const char *path = location(place, "file://", "b 1%20+\xC3\xA9.json");
    assert_int_equal(lc_storage_read(place->storage, path, 100, &buf, NULL), LCDC_OK);
    assert_string_equal(buf.p, "0123456789");
    lc_buf_clear(&buf);
    assert_int_equal(lc_storage_read_range(place->storage, path, 3, 4, &buf, NULL), LCDC_OK);
    assert_string_equal(buf.p, "3456");
    struct lc_file_info info;
    assert_int_equal(lc_storage_stat(place->storage, path, &info, NULL), LCDC_OK);
    assert_int_equal(info.size, 10);
    assert_false(info.is_directory);
    assert_int_equal(lc_storage_stat(place->storage, location(place, "", "_log"), &info, NULL), LCDC_OK);
    assert_true(info.is_directory);
    assert_int_equal(lc_storage_read(place->storage, location(place, "", "B"), 100, &buf, NULL), LCDC_OK);
}

/* A file that shrinks under the reader does not give bytes that were never there. */
static void a_short_read_is_an_error(void **state)
{
    struct place *place = *state;
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    char bytes[10], *path = location(place, "", "_log/1");
    lcdc_error *err = NULL;
    assert_int_equal(lc_storage_open(place->storage, path, &file, NULL), LCDC_OK);
    assert_int_equal(lc_file_size(file), 3);
    assert_int_equal(truncate(path, 1), 0);
    assert_int_equal(lc_file_read_at(file, 0, 3, bytes, &err), LCDC_IO);
    assert_non_null(strstr(lcdc_error_message(err), "1 of 3 bytes came"));
    lcdc_error_free(err);
}

static void absence_is_named(void **state)
{
    struct place *place = *state;
    struct lc_listing listing = {0};
    struct lc_file_info info;
    struct lc_file *file = NULL;
    lcdc_error *err = NULL;
    const char *path = location(place, "", "none");
    assert_int_equal(lc_storage_list(place->storage, path, &listing, &err), LCDC_NOT_FOUND);
    assert_int_equal(lc_storage_stat(place->storage, path, &info, &err), LCDC_NOT_FOUND);
    assert_int_equal(lc_storage_open(place->storage, path, &file, &err), LCDC_NOT_FOUND);
    assert_int_equal(strncmp(lcdc_error_message(err), path, strlen(path)), 0);
    assert_reason(err, "io.file_missing");
    err = NULL;
    assert_int_equal(lc_storage_open(place->storage, location(place, "", "_log"), &file, &err), LCDC_IO);
    assert_reason(err, "io.failed");
    assert_null(file);
}

static void other_schemes_are_refused(void **state)
{
    struct place *place = *state;
    static const char *const locations[] = {"hdfs://host/t", "http://host/t", "ftp://x/y", "s3:/x", ""};
    for (size_t i = 0; i < 5; i++) {
        struct lc_file_info info;
        lcdc_error *err = NULL;
        assert_int_equal(lc_storage_stat(place->storage, locations[i], &info, &err), LCDC_INVALID_ARGUMENT);
        assert_reason(err, "io.bad_url");
    }
}

static lcdc_status use_everything(void *context, lcdc_error **err)
{
    struct place *place = context;
    struct lc_listing listing = {0};
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 100);
    LC_TRY(lc_storage_list(place->storage, place->folder, &listing, err));
    lc_listing_done(&listing);
    return lc_storage_read(place->storage, location(place, "", "B"), 100, &buf, err);
}

static void every_allocation_may_fail(void **state)
{
    assert_true(lc_torture(use_everything, *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folders_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_short_read_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absence_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_schemes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
