/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change.c - op words of both dialects; an unknown word is an error, never a guess.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "core/change.h"

static const struct {
    const char *word;
    lcdc_op op;
} words[] = {
    {"insert", LCDC_OP_INSERT},
    {"INSERT", LCDC_OP_INSERT},
    {"delete", LCDC_OP_DELETE},
    {"Delete", LCDC_OP_DELETE},
    {"update_before", LCDC_OP_UPDATE_BEFORE},
    {"UPDATE_BEFORE", LCDC_OP_UPDATE_BEFORE},
    {"update_preimage", LCDC_OP_UPDATE_BEFORE},
    {"update_after", LCDC_OP_UPDATE_AFTER},
    {"UPDATE_AFTER", LCDC_OP_UPDATE_AFTER},
    {"update_postimage", LCDC_OP_UPDATE_AFTER},
    {"update", LCDC_OP_UPDATE},
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        lcdc_op op = 0;
        assert_int_equal(lcdc_op_parse(words[i].word, strlen(words[i].word), &op, NULL), LCDC_OK);
        assert_int_equal(op, words[i].op);
    }
    lcdc_op op = 0;
    assert_int_equal(lcdc_op_parse("delete_old", 6, &op, NULL), LCDC_OK); /* not terminated */
    assert_int_equal(op, LCDC_OP_DELETE);
}

static void test_unknown_words(void **state)
{
    (void)state;
    static const char *const unknown[] = {"",        "inser",  "inserts", " insert",
                                          "insert ", "upsert", "update_", "UPDATE-AFTER"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        lcdc_op op = LCDC_OP_DELETE;
        LC_ERROR lcdc_error *err = NULL;
        assert_int_equal(lcdc_op_parse(unknown[i], strlen(unknown[i]), &op, &err), LCDC_CORRUPT);
        assert_string_equal(lcdc_error_reason(err), "change.unknown_op");
        assert_int_equal(op, LCDC_OP_DELETE);
    }
    LC_ERROR lcdc_error *err = NULL;
    lcdc_op op;
    assert_int_equal(lcdc_op_parse("in\0sert", 7, &op, &err), LCDC_CORRUPT);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"", "insert", "delete", "update_before", "update_after", "update", ""};
    for (int op = 0; op <= 6; op++)
        assert_string_equal(lcdc_op_name((lcdc_op)op), names[op]);
    assert_string_equal(lcdc_op_name((lcdc_op)-1), "");
}

static void test_op_of_a_row(void **state)
{
    (void)state;
    uint8_t ops[] = {LCDC_OP_INSERT, LCDC_OP_DELETE};
    struct lc_change_batch batch = {.n = 2, .op = LCDC_OP_UPDATE_AFTER};
    assert_int_equal(lc_change_op(&batch, 1), LCDC_OP_UPDATE_AFTER);
    batch.ops = ops;
    assert_int_equal(lc_change_op(&batch, 1), LCDC_OP_DELETE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_unknown_words),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_op_of_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
