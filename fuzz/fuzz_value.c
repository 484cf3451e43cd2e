/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_value.c - any text as a value of any type: what is taken prints as a text that is taken for the same value,
 * equals itself, and comes back from every cast that succeeds.
 *
 * The first byte chooses the type, the second its parameters, the rest is the text.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lc_type choose_type(uint8_t kind, uint8_t parameter)
{
    struct lc_type type = {.kind = (enum lc_type_kind)(kind % LC_TYPE_COUNT)};
    type.precision = 1 + parameter % 38;
    type.scale = parameter / 38 * type.precision / 6;
    type.length = parameter % 20;
    return type;
}

static bool prints_as_it_reads(enum lc_type_kind kind)
{
    return kind != LC_TYPE_BINARY && kind != LC_TYPE_FIXED; /* these print as hex */
}

static void check_printing(const struct lc_value *value, struct lc_arena *arena)
{
    struct lc_value back;
    LC_BUF struct lc_buf text;
    lc_buf_init(&text, LC_BUF_MAX);
    lc_value_print(&text, value);
    if (text.failed || !prints_as_it_reads(value->type.kind))
        return;
    if (!lc_value_parse(value->type, (struct lc_str){text.p, text.n}, arena, &back) || !lc_value_equal(value, &back))
        __builtin_trap();
}

static void check_casts(const struct lc_value *value, uint8_t parameter)
{
    for (int kind = 0; kind < LC_TYPE_COUNT; kind++) {
        struct lc_value other, back;
        if (lc_value_cast(value, choose_type((uint8_t)kind, parameter), &other) &&
            (!lc_value_cast(&other, value->type, &back) || !lc_value_equal(value, &back)) &&
            value->type.kind != LC_TYPE_DATE) /* a date becomes a timestamp, a timestamp no date */
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LC_ARENA struct lc_arena arena = {0};
    struct lc_value value;
    if (size < 2)
        return 0;
    struct lc_type type = choose_type(data[0], data[1]);
    struct lc_str text = {(const char *)data + 2, size - 2};
    if (!lc_value_parse(type, text, &arena, &value))
        return 0;
    if (value.is_null || lc_value_compare(&value, &value) != 0)
        __builtin_trap();
    check_printing(&value, &arena);
    check_casts(&value, data[1]);
    return 0;
}
