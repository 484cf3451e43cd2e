/* SPDX-License-Identifier: Apache-2.0 */
#include "io/gzip.h"

#include <zlib.h>

enum { CHUNK = 1 << 16, GZIP_WINDOW = 16 + MAX_WBITS };

bool lc_is_gzip(struct lc_str bytes)
{
    return bytes.n > 2 && (unsigned char)bytes.p[0] == 0x1f && (unsigned char)bytes.p[1] == 0x8b;
}

static void inflate_endp(z_stream *stream)
{
    (void)inflateEnd(stream);
}

static lcdc_status bad(const char *why, lcdc_error **err)
{
    return lc_fail(err, LC_R_GZIP_BAD, "the gzip stream is damaged: %s", why);
}

/* One member; the stream stands behind it afterwards. */
static lcdc_status unpack_member(z_stream *stream, size_t max, struct lc_buf *out, lcdc_error **err)
{
    for (int code = Z_OK; code != Z_STREAM_END;) {
        size_t room = max - out->n < CHUNK ? max - out->n : CHUNK;
        char *at = lc_buf_reserve(out, room);
        LC_TRY_ALLOC(at);
        stream->next_out = (Bytef *)at;
        stream->avail_out = (uInt)room;
        code = inflate(stream, Z_NO_FLUSH);
        out->n += room - stream->avail_out;
        if (code == Z_MEM_ERROR)
            return lc_fail_oom(err);
        if (code != Z_STREAM_END && room == 0)
            return lc_fail(err, LC_R_LIMIT, "a gzip file unpacks to more than %zu bytes", max);
        if (code != Z_STREAM_END && (code != Z_OK || stream->avail_out == room))
            return bad(stream->msg ? stream->msg : "it ends early", err);
    }
    return LCDC_OK;
}

lcdc_status lc_gunzip(struct lc_str packed, size_t max, struct lc_buf *out, lcdc_error **err)
{
    LC_CLEANUP(inflate_endp) z_stream stream = {.next_in = (Bytef *)packed.p, .avail_in = (uInt)packed.n};
    if (packed.n > UINT32_MAX / 2)
        return lc_fail(err, LC_R_LIMIT, "a gzip file of %zu bytes is too long", packed.n);
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return lc_fail_oom(err);
    while (stream.avail_in) {
        LC_TRY(unpack_member(&stream, max, out, err));
        if (inflateReset(&stream) != Z_OK)
            return bad("it cannot be gone on with", err);
    }
    lc_buf_append(out, "", 0);
    LC_TRY_BUF(out);
    return LCDC_OK;
}
