/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/wire.h"

enum { FREE_OF_CHARGE = 1 << 20, MOST_FOLD = 4 };

/* Small fields become large structs, so what one message may take is counted down while it is unpacked. */
struct budget {
    size_t left;
    bool is_spent;
};

static void *budget_alloc(void *context, size_t size)
{
    struct budget *budget = context;
    budget->is_spent = budget->is_spent || size > budget->left;
    if (budget->is_spent)
        return NULL;
    budget->left -= size;
    return lc_alloc(size);
}

static void budget_free(void *context, void *p)
{
    (void)context;
    lc_free(p);
}

lcdc_status lc_wire_pack(const ProtobufCMessage *message, struct lc_buf *out, lcdc_error **err)
{
    size_t n = protobuf_c_message_get_packed_size(message);
    lc_buf_init(out, LC_BUF_MAX);
    char *to = lc_buf_reserve(out, n ? n : 1);
    LC_TRY_ALLOC(to);
    out->n += protobuf_c_message_pack(message, (uint8_t *)to);
    return LCDC_OK;
}

lcdc_status lc_wire_unpack(const ProtobufCMessageDescriptor *type, struct lc_str bytes, ProtobufCMessage **out,
                           lcdc_error **err)
{
    struct budget budget = {.left = bytes.n * MOST_FOLD + FREE_OF_CHARGE};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, bytes.n, (const uint8_t *)bytes.p);
    if (!message)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server sent %zu bytes that are no %s%s", bytes.n,
                       type->short_name, budget.is_spent ? " of a sensible make" : "");
    *out = message;
    return LCDC_OK;
}

void lc_wire_free(ProtobufCMessage *message)
{
    ProtobufCAllocator allocator = {budget_alloc, budget_free, NULL};
    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
}
