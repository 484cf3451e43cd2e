/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads every record of a container and touches every value of it.
 */
#include <stdlib.h>

#include "io/avro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Adds up all bytes and numbers, so that the sanitizers judge each. */
static uint64_t touch(const struct lc_avro_value *value)
{
    uint64_t sum = 0;
    if (!value->type)
        abort();
    switch (value->type->kind) {
    case LC_AVRO_NULL:
        return 0;
    case LC_AVRO_BOOL:
        return value->b;
    case LC_AVRO_INT:
    case LC_AVRO_LONG:
        return (uint64_t)value->i;
    case LC_AVRO_ENUM:
        return (uint64_t)value->type->children[value->i].name[0];
    case LC_AVRO_FLOAT:
    case LC_AVRO_DOUBLE:
        return value->f > 0;
    case LC_AVRO_BYTES:
    case LC_AVRO_STRING:
    case LC_AVRO_FIXED:
        for (size_t i = 0; i < value->str.n; i++)
            sum += (uint8_t)value->str.p[i];
        return sum;
    case LC_AVRO_RECORD:
    case LC_AVRO_ARRAY:
    case LC_AVRO_MAP:
        for (size_t i = 0; i < value->n * (value->type->kind == LC_AVRO_MAP ? 2 : 1); i++)
            sum += touch(&value->items[i]);
        return sum;
    case LC_AVRO_UNION:
        break;
    }
    abort(); /* a union is resolved */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile uint64_t sum;
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
    LC_ERROR lcdc_error *err = NULL;
    struct lc_str text;
    if (lc_avro_open_bytes((struct lc_str){(const char *)data, size}, "fuzz", &avro, &err) != LCDC_OK)
        return 0;
    (void)lc_avro_metadata(avro, "format-version", &text);
    for (;;) {
        LC_ARENA struct lc_arena arena = {0};
        struct lc_avro_value *value = NULL;
        if (lc_avro_next(avro, &arena, &value, &err) != LCDC_OK || !value)
            return 0;
        sum = sum + touch(value);
        for (int32_t id = 0; id < 600; id++)
            (void)lc_avro_field(value, id);
    }
}
