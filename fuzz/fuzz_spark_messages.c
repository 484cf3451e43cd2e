/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte picks a message type; what is unpacked of the rest must pack again, and be read again or refused.
 */
#include <stdlib.h>
#include <string.h>

#include "spark/fault.h"
#include "spark/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        &lc__spark__execute_plan_response__descriptor,
        &lc__spark__analyze_plan_response__descriptor,
        &lc__spark__config_response__descriptor,
        &lc__spark__fetch_error_details_response__descriptor,
        &lc__spark__status__descriptor,
        &lc__spark__error_info__descriptor,
    };
    LC_WIRE ProtobufCMessage *first = NULL;
    LC_WIRE ProtobufCMessage *second = NULL;
    LC_BUF struct lc_buf packed = {0};
    LC_ARENA struct lc_arena arena = {0};
    struct lc_spark_fault fault = {.text = ""};
    if (size < 1)
        return 0;
    const ProtobufCMessageDescriptor *type = types[data[0] % (sizeof(types) / sizeof(types[0]))];
    struct lc_str bytes = {(const char *)data + 1, size - 1};
    if (lc_spark_fault_complete(bytes, &arena, &fault, NULL) != LCDC_OK || !fault.text)
        abort();
    if (lc_wire_unpack(type, bytes, &first, NULL) != LCDC_OK)
        return 0;
    if (lc_wire_pack(first, &packed, NULL) != LCDC_OK)
        abort();
    /* protobuf-c takes the field number 0 when it is written long-winded, keeps it, and packs it short: then it does
     * not */
    (void)lc_wire_unpack(type, (struct lc_str){packed.p, packed.n}, &second, NULL);
    return 0;
}
