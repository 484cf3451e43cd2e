/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - Spark's messages to bytes and back; what a hostile one may cost is bounded.
 */
#ifndef LC_SPARK_WIRE_H
#define LC_SPARK_WIRE_H

#include <spark_connect.pb-c.h>

#include "base/error.h"
#include "base/str.h"

/** The packed message, in a buffer that is initialised here. */
lcdc_status lc_wire_pack(const ProtobufCMessage *message, struct lc_buf *out, lcdc_error **err);
/** LC_R_SPARK_PROTOCOL for what is no such message, or one that unpacks to many times its size. */
lcdc_status lc_wire_unpack(const ProtobufCMessageDescriptor *type, struct lc_str bytes, ProtobufCMessage **out,
                           lcdc_error **err);
void lc_wire_free(ProtobufCMessage *message);
LC_DEFINE_CLEANUP(ProtobufCMessage *, lc_wire_free)
#define LC_WIRE LC_CLEANUP(lc_wire_freep)

#endif
