/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_delta_action.c - lines of a Delta commit from anywhere: parsed whole, line by line. */
#include "delta/action.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lc_str rest = {(const char *)data, size}, line;
    struct lc_arena arena LC_ARENA = {0};
    while (lc_delta_next_line(&rest, &line)) {
        lcdc_error *err LC_ERROR = NULL;
        struct lc_delta_action action;
        enum lc_delta_action_kind seen = lc_delta_action_peek(line);
        if (lc_delta_action_parse(line, &arena, &action, &err) != LCDC_OK)
            continue;
        /* what a look at the first key says must be what the whole line says, or another action on the same line */
        if (seen == LC_DELTA_METADATA && action.kind != seen && action.kind != LC_DELTA_OTHER)
            __builtin_trap();
    }
    return 0;
}
