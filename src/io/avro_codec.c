/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avro_codec.c - a block out of its compression.
 *
 * What a block may unpack to is bounded twice: by LC_AVRO_MAX_BLOCK, and by its packed size times a ratio that no
 * honest file reaches. Output grows as it comes; a size that the block states is never believed beforehand.
 */
#include <inttypes.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "io/avro_parts.h"

enum { CHUNK = 1 << 16, CRC_BYTES = 4 };

static size_t limit_of(struct lc_str packed)
{
    uint64_t limit = LC_AVRO_RATIO_FREE + (uint64_t)packed.n * LC_AVRO_MAX_RATIO;
    return limit < LC_AVRO_MAX_BLOCK ? (size_t)limit : LC_AVRO_MAX_BLOCK;
}

static lcdc_status too_large(struct lc_str packed, lcdc_error **err)
{
    return lc_fail(err, LC_R_LIMIT, "a block of %zu bytes unpacks to more than %zu", packed.n, limit_of(packed));
}

static lcdc_status bad_stream(const char *codec, const char *why, lcdc_error **err)
{
    return lc_fail(err, LC_R_AVRO_BAD, "the %s stream of a block is damaged: %s", codec, why);
}

/* Where the next piece of output goes; *room is 0 when the limit is reached. */
static lcdc_status make_room(struct lc_buf *out, size_t limit, char **at, size_t *room, lcdc_error **err)
{
    *room = limit - out->n < CHUNK ? limit - out->n : CHUNK;
    *at = lc_buf_reserve(out, *room);
    LC_TRY_ALLOC(*at);
    return LCDC_OK;
}

static void inflate_endp(z_stream *stream)
{
    (void)inflateEnd(stream);
}

static lcdc_status unpack_deflate(struct lc_str packed, struct lc_buf *out, lcdc_error **err)
{
    LC_CLEANUP(inflate_endp) z_stream stream = {.next_in = (Bytef *)packed.p, .avail_in = (uInt)packed.n};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) /* raw: no zlib header, no checksum */
        return lc_fail_oom(err);
    for (int code = Z_OK; code != Z_STREAM_END;) {
        char *at;
        size_t room;
        LC_TRY(make_room(out, limit_of(packed), &at, &room, err));
        stream.next_out = (Bytef *)at;
        stream.avail_out = (uInt)room;
        code = inflate(&stream, Z_NO_FLUSH);
        out->n += room - stream.avail_out;
        if (code == Z_MEM_ERROR)
            return lc_fail_oom(err);
        if (code != Z_STREAM_END && room == 0)
            return too_large(packed, err);
        if (code != Z_STREAM_END && (code != Z_OK || stream.avail_out == room))
            return bad_stream("deflate", stream.msg ? stream.msg : "it ends early", err);
    }
    /* fastavro cuts zlib's checksum off by one byte of four and leaves the rest behind the stream */
    return stream.avail_in <= CRC_BYTES ? LCDC_OK : bad_stream("deflate", "bytes follow its end", err);
}

static void free_dctxp(ZSTD_DCtx **context)
{
    (void)ZSTD_freeDCtx(*context);
}

static lcdc_status unpack_zstandard(struct lc_str packed, struct lc_buf *out, lcdc_error **err)
{
    LC_CLEANUP(free_dctxp) ZSTD_DCtx *context = ZSTD_createDCtx();
    LC_TRY_ALLOC(context);
    ZSTD_inBuffer in = {packed.p, packed.n, 0};
    for (size_t more = 1; more != 0 || in.pos < in.size;) { /* more: 0 at the end of a frame */
        char *at;
        size_t room, before = in.pos;
        LC_TRY(make_room(out, limit_of(packed), &at, &room, err));
        ZSTD_outBuffer piece = {at, room, 0};
        more = ZSTD_decompressStream(context, &piece, &in);
        if (ZSTD_isError(more))
            return bad_stream("zstandard", ZSTD_getErrorName(more), err);
        out->n += piece.pos;
        if (more != 0 && room == 0)
            return too_large(packed, err);
        if (more != 0 && piece.pos == 0 && in.pos == before)
            return bad_stream("zstandard", "it ends early", err);
    }
    return LCDC_OK;
}

static lcdc_status unpack_snappy(struct lc_str packed, struct lc_buf *out, lcdc_error **err)
{
    size_t n;
    if (packed.n < CRC_BYTES)
        return bad_stream("snappy", "it is too short for its checksum", err);
    size_t stream = packed.n - CRC_BYTES;
    if (snappy_uncompressed_length(packed.p, stream, &n) != SNAPPY_OK)
        return bad_stream("snappy", "it states no length", err);
    if (n > limit_of(packed))
        return too_large(packed, err);
    char *at = lc_buf_reserve(out, n);
    LC_TRY_ALLOC(at);
    if (snappy_uncompress(packed.p, stream, at, &n) != SNAPPY_OK)
        return bad_stream("snappy", "its bytes do not make what it states", err);
    out->n = n;
    const uint8_t *sum = (const uint8_t *)packed.p + stream;
    uint32_t stored = (uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 | (uint32_t)sum[2] << 8 | sum[3];
    uint32_t found = (uint32_t)crc32(0, (const Bytef *)at, (uInt)n);
    if (stored != found)
        return lc_fail(err, LC_R_AVRO_BAD, "the checksum of a block is %08" PRIx32 ", its bytes have %08" PRIx32,
                       stored, found);
    return LCDC_OK;
}

lcdc_status lc_avro_find_codec(struct lc_str name, enum lc_avro_codec *out, lcdc_error **err)
{
    static const char *const names[] = {
        [LC_AVRO_CODEC_NULL] = "null",
        [LC_AVRO_CODEC_DEFLATE] = "deflate",
        [LC_AVRO_CODEC_SNAPPY] = "snappy",
        [LC_AVRO_CODEC_ZSTANDARD] = "zstandard",
    };
    for (enum lc_avro_codec codec = LC_AVRO_CODEC_NULL; codec <= LC_AVRO_CODEC_ZSTANDARD; codec++)
        if (lc_str_is(name, names[codec])) {
            *out = codec;
            return LCDC_OK;
        }
    return lc_fail(err, LC_R_AVRO_CODEC, "the codec is \"%.*s\"; null, deflate, snappy and zstandard can be read",
                   LC_STR_ARG(name));
}

lcdc_status lc_avro_unpack(enum lc_avro_codec codec, struct lc_str packed, struct lc_buf *out, lcdc_error **err)
{
    lc_buf_clear(out);
    switch (codec) {
    case LC_AVRO_CODEC_DEFLATE:
        return unpack_deflate(packed, out, err);
    case LC_AVRO_CODEC_SNAPPY:
        return unpack_snappy(packed, out, err);
    case LC_AVRO_CODEC_ZSTANDARD:
        return unpack_zstandard(packed, out, err);
    case LC_AVRO_CODEC_NULL:
        break;
    }
    return lc_fail(err, LC_R_INTERNAL, "a block without codec is not to be unpacked");
}
