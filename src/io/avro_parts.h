/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avro_parts.h - the steps of the Avro reader, shared by its files alone: schema text to types (avro_schema.c), a
 * block's bytes out of its codec (avro_codec.c), bytes to values (avro_decode.c); avro.c walks the container.
 */
#ifndef LC_IO_AVRO_PARTS_H
#define LC_IO_AVRO_PARTS_H

#include "io/avro.h"

/** Limits that no honest table metadata comes near. */
enum {
    LC_AVRO_MAX_DEPTH = 64,        /* of the schema, and of a value (schemas may recur) */
    LC_AVRO_MAX_TYPES = 20000,     /* nodes of a schema */
    LC_AVRO_MAX_ENTRIES = 1000,    /* of the header's metadata */
    LC_AVRO_MAX_BLOCK = 256 << 20, /* bytes of a block, packed or not */
    LC_AVRO_MAX_VALUES = 4 << 20,  /* of one record, nested ones counted */
    LC_AVRO_MAX_RATIO = 1100,      /* deflate packs at most 1032 bytes into one */
    LC_AVRO_RATIO_FREE = 1 << 20   /* unpacked bytes that are allowed at any ratio */
};

/** Reads the schema's JSON text into `arena`. */
lcdc_status lc_avro_parse_schema(struct lc_str text, struct lc_arena *arena, const struct lc_avro_type **out,
                                 lcdc_error **err);

enum lc_avro_codec { LC_AVRO_CODEC_NULL, LC_AVRO_CODEC_DEFLATE, LC_AVRO_CODEC_SNAPPY, LC_AVRO_CODEC_ZSTANDARD };
lcdc_status lc_avro_find_codec(struct lc_str name, enum lc_avro_codec *out, lcdc_error **err);
/** Unpacks a whole block into `out`, which is cleared first. Not for LC_AVRO_CODEC_NULL, whose block is its bytes. */
lcdc_status lc_avro_unpack(enum lc_avro_codec codec, struct lc_str packed, struct lc_buf *out, lcdc_error **err);

/** A zigzag varint from p, at most up to end: what follows it, or NULL when it is cut or longer than 64 bits. */
const uint8_t *lc_avro_long(const uint8_t *p, const uint8_t *end, int64_t *out);

/** What is left of a block. */
struct lc_avro_cursor {
    const uint8_t *start, *at, *end;
};
/** Reads one value of the schema's type into `arena`. */
lcdc_status lc_avro_decode(struct lc_avro_cursor *cursor, const struct lc_avro_type *type, struct lc_arena *arena,
                           struct lc_avro_value *out, lcdc_error **err);

#endif
