/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_delta_schema.c - a schemaString from anywhere, with and without column mapping; what parses is a valid Arrow
 * type. */
#include <stdlib.h>

#include "base/arrow.h"
#include "delta/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lc_delta_pair modes[] = {
        {.key = {"delta.columnMapping.mode", 24}, .value = {"none", 4}},
        {.key = {"delta.columnMapping.mode", 24}, .value = {"name", 4}},
        {.key = {"delta.columnMapping.mode", 24}, .value = {"id", 2}},
    };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct lc_arena arena LC_ARENA = {0};
        struct ArrowSchema schema LC_SCHEMA = {0};
        struct lc_field root;
        enum lc_match match;
        struct lc_delta_metadata metadata = {
            .schema = {(const char *)data, size}, .n_configuration = 1, .configuration = &modes[i]};
        if (lc_delta_schema_parse(&metadata, &arena, &root, &match, NULL) == LCDC_OK &&
            lc_schema_from_field(&root, &schema, NULL) != LCDC_OK)
            abort();
    }
    return 0;
}
