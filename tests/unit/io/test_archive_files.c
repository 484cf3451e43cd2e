/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/value.h"
#include "io/archive_files.h"

static bool parses(const char *text, struct lc_archive_name *out)
{
    return lc_archive_name_parse(lc_str_of(text), out);
}

static void names_say_what_is_in_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct lc_archive_name name;
    } good[] = {
        {"000000012_7382_1709209805123456", {LC_ARCHIVE_CHANGES, 12, 7382, 1709209805123456}},
        {"000000000_x_x_snapshot", {LC_ARCHIVE_SNAPSHOT, 0, -1, INT64_MIN}},
        {"12345678901_9223372036854775807_-5_replace", {LC_ARCHIVE_REPLACE, 12345678901, INT64_MAX, -5}},
    };
    static const char *const bad[] = {"",
                                      "000000012",
                                      "000000012_1",
                                      "12_1_1",
                                      "000000012_1_1_changes",
                                      "000000012_1_1_what",
                                      "-00000012_1_1",
                                      "000000012__1",
                                      "000000012_1_",
                                      "000000012_-1_1",
                                      "000000012_1_1_",
                                      "000000012_1_1_snapshot_",
                                      "000000012_1 _1",
                                      "x_1_1",
                                      "000000012_1_1\n",
                                      "../../etc/passwd"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        LC_BUF struct lc_buf text = {0};
        struct lc_archive_name name;
        lc_buf_init(&text, 256);
        lc_archive_name_print(&text, &good[i].name);
        assert_string_equal(text.p, good[i].text);
        assert_true(parses(text.p, &name));
        assert_memory_equal(&name.sequence, &good[i].name.sequence, 3 * sizeof(int64_t));
        assert_int_equal(name.kind, good[i].name.kind);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct lc_archive_name name;
        if (parses(bad[i], &name))
            fail_msg("'%s' is taken for a commit's name", bad[i]);
    }
}

static void groups_hold_a_thousand(void **state)
{
    (void)state;
    LC_BUF struct lc_buf text = {0};
    int64_t number;
    lc_buf_init(&text, 64);
    lc_archive_group_print(&text, 123456 / LC_ARCHIVE_GROUP);
    assert_string_equal(text.p, "000123");
    assert_true(lc_archive_group_parse(LC_STR("000123"), &number));
    assert_int_equal(number, 123);
    assert_false(lc_archive_group_parse(LC_STR("123"), &number));
    assert_false(lc_archive_group_parse(LC_STR("-00123"), &number));
    assert_false(lc_archive_group_parse(LC_STR("9223372036854775807"), &number));
}

static struct lc_field leaf(const char *name, enum lc_type_kind kind, int32_t id)
{
    return (struct lc_field){.name = name, .physical = name, .id = id, .nullable = true, .type.kind = kind};
}

/* A manifest with every type, and defaults. */
static void print_rich(struct lc_buf *out)
{
    static const unsigned char bytes[] = {0, 0xFF};
    const struct lc_value fixed = {.type = {.kind = LC_TYPE_FIXED, .length = 2}, .str = {(const char *)bytes, 2}};
    const struct lc_value text = {.type.kind = LC_TYPE_STRING, .str = LC_STR("a\"b\n")};
    struct lc_field columns[LC_TYPE_COUNT], element[1], entries[2], parts[1];
    size_t n = 0;
    for (int kind = 0; kind < LC_TYPE_COUNT; kind++)
        columns[n++] = leaf(lc_type_word(kind), kind, kind);
    columns[LC_TYPE_DECIMAL].type = (struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = 38, .scale = 3};
    columns[LC_TYPE_FIXED].type.length = 2;
    columns[LC_TYPE_FIXED].initial_default = &fixed;
    columns[LC_TYPE_STRING].initial_default = &text;
    columns[LC_TYPE_STRING].id = LC_NO_ID;
    element[0] = leaf("element", LC_TYPE_DATE, LC_NO_ID);
    entries[0] = leaf("key", LC_TYPE_STRING, 100);
    entries[1] = leaf("value", LC_TYPE_INT32, 101);
    parts[0] = leaf("\xC3\xA9", LC_TYPE_INT64, 102);
    columns[LC_TYPE_LIST].children = element;
    columns[LC_TYPE_MAP].children = entries;
    columns[LC_TYPE_STRUCT].children = parts;
    columns[LC_TYPE_LIST].n_children = columns[LC_TYPE_STRUCT].n_children = 1;
    columns[LC_TYPE_MAP].n_children = 2;
    struct lc_archive_part part = {.name = "part-00000-0.parquet", .rows = 7, .bytes = 99, .checksum = "0123"};
    struct lc_archive_manifest manifest = {.name = {LC_ARCHIVE_REPLACE, 3, -1, 17},
                                           .cursor = "lakecdc1/x",
                                           .rows = 7,
                                           .ops = {0, 3, 0, 0, 0, 4},
                                           .n_parts = 1,
                                           .parts = &part};
    manifest.images = leaf("", LC_TYPE_STRUCT, LC_NO_ID);
    manifest.images.children = columns;
    manifest.images.n_children = n;
    lc_archive_manifest_print(out, &manifest);
}

static void a_manifest_is_read_as_it_was_written(void **state)
{
    (void)state;
    LC_BUF struct lc_buf text = {0}, again = {0};
    LC_ARENA struct lc_arena arena = {0};
    struct lc_archive_manifest manifest;
    lc_buf_init(&text, 1 << 20);
    lc_buf_init(&again, 1 << 20);
    print_rich(&text);
    assert_false(text.failed);
    assert_int_equal(lc_archive_manifest_parse((struct lc_str){text.p, text.n}, &arena, &manifest, NULL), LCDC_OK);
    assert_int_equal(manifest.name.kind, LC_ARCHIVE_REPLACE);
    assert_true(manifest.name.snapshot == -1 && manifest.name.ts_us == 17 && manifest.rows == 7);
    assert_int_equal(manifest.images.n_children, LC_TYPE_COUNT);
    const struct lc_field *fixed = lc_field_child(&manifest.images, LC_STR("fixed"));
    assert_non_null(fixed->initial_default);
    assert_memory_equal(fixed->initial_default->str.p, "\0\xFF", 2);
    lc_archive_manifest_print(&again, &manifest);
    assert_string_equal(again.p, text.p);
}

static void any_changed_byte_is_seen(void **state)
{
    (void)state;
    LC_BUF struct lc_buf text = {0};
    lc_buf_init(&text, 1 << 20);
    print_rich(&text);
    for (size_t i = 0; i < text.n; i++) {
        LC_ARENA struct lc_arena arena = {0};
        LC_ERROR lcdc_error *error = NULL;
        struct lc_archive_manifest manifest;
        text.p[i] ^= 1;
        assert_int_equal(lc_archive_manifest_parse((struct lc_str){text.p, text.n}, &arena, &manifest, &error),
                         LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(error), "archive.bad");
        text.p[i] ^= 1;
        assert_int_equal(lc_archive_manifest_parse((struct lc_str){text.p, i}, &arena, &manifest, NULL), LCDC_CORRUPT);
    }
}

static void every_failed_allocation_is_told(void **state)
{
    (void)state;
    LC_BUF struct lc_buf text = {0};
    lcdc_status status = LCDC_OUT_OF_MEMORY;
    lc_buf_init(&text, 1 << 20);
    print_rich(&text);
    for (int64_t n = 0; status != LCDC_OK; n++) {
        LC_ARENA struct lc_arena arena = {0};
        struct lc_archive_manifest manifest;
        lc_alloc_fail_after(n);
        status = lc_archive_manifest_parse((struct lc_str){text.p, text.n}, &arena, &manifest, NULL);
        lc_alloc_fail_after(-1);
        assert_true(n < 10000);
        assert_true(status == LCDC_OK || status == LCDC_OUT_OF_MEMORY || status == LCDC_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_is_in_them),
        cmocka_unit_test(groups_hold_a_thousand),
        cmocka_unit_test(a_manifest_is_read_as_it_was_written),
        cmocka_unit_test(any_changed_byte_is_seen),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
