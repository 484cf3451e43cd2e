/* SPDX-License-Identifier: Apache-2.0 */
#include "spark/frames.h"

#include <string.h>

enum { COMPACT = 64 << 10 };

/* ---- messages ---- */

void lc_frames_init(struct lc_frames *frames)
{
    *frames = (struct lc_frames){0};
    lc_buf_init(&frames->bytes, (size_t)LC_FRAME_MAX + (1 << 20));
}

void lc_frames_done(struct lc_frames *frames)
{
    lc_buf_done(&frames->bytes);
}

static size_t frame_length(const unsigned char *head)
{
    return (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
}

/* What was handed out is given up when something else is asked for; bytes move to the front once in a while only. */
static void drop_lent(struct lc_frames *frames)
{
    struct lc_buf *bytes = &frames->bytes;
    frames->start += frames->lent;
    frames->lent = 0;
    if (frames->start < bytes->n && frames->start < COMPACT)
        return;
    if (frames->start)
        memmove(bytes->p, bytes->p + frames->start, bytes->n - frames->start);
    bytes->n -= frames->start;
    frames->start = 0;
}

lcdc_status lc_frames_next(struct lc_frames *frames, struct lc_str *message, bool *found, lcdc_error **err)
{
    drop_lent(frames);
    *found = false;
    if (frames->bytes.n - frames->start < LC_FRAME_HEAD)
        return LCDC_OK;
    const unsigned char *head = (const unsigned char *)frames->bytes.p + frames->start;
    size_t n = frame_length(head), there = frames->bytes.n - frames->start - LC_FRAME_HEAD;
    if (head[0] != 0)
        return lc_fail(err, LC_R_SPARK_PROTOCOL,
                       "the server sent a message with flags 0x%02x; expected a plain one, as nothing else was offered",
                       head[0]);
    if (n > LC_FRAME_MAX)
        return lc_fail(err, LC_R_SPARK_PROTOCOL, "the server announced a message of %zu bytes; the limit is %d", n,
                       (int)LC_FRAME_MAX);
    if (there < n)
        return LCDC_OK;
    *message = (struct lc_str){(const char *)head + LC_FRAME_HEAD, n};
    frames->lent = LC_FRAME_HEAD + n;
    *found = true;
    return LCDC_OK;
}

bool lc_frames_is_cut(const struct lc_frames *frames)
{
    return frames->bytes.n > frames->start + frames->lent;
}

void lc_frame_head(size_t n, unsigned char head[LC_FRAME_HEAD])
{
    head[0] = 0;
    for (int i = 0; i < 4; i++)
        head[1 + i] = (unsigned char)(n >> (24 - 8 * i));
}

/* ---- trailers ---- */

void lc_grpc_end_done(struct lc_grpc_end *end)
{
    lc_free(end->message);
    lc_buf_done(&end->details);
    *end = (struct lc_grpc_end){0};
}

static int digit_of(char c)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(alphabet, c == '-' ? '+' : c == '_' ? '/' : c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* With or without padding, as gRPC has it; false for anything else. */
static bool decode_base64(struct lc_str text, struct lc_buf *out)
{
    unsigned bits = 0, n_bits = 0;
    while (text.n && text.p[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        int digit = digit_of(text.p[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (unsigned)digit) & 0xFFFF;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            lc_buf_char(out, (char)(bits >> n_bits & 0xFF));
        }
    }
    return text.n % 4 != 1;
}

static lcdc_status fill_end(struct lc_grpc_end *end, const char *status, const char *message, const char *details,
                            lcdc_error **err)
{
    int64_t code;
    if (status)
        end->code = lc_parse_i64(lc_str_of(status), &code) && code >= 0 && code <= 1000 ? (int)code : 2;
    end->message = lc_percent_decode(lc_str_of(message ? message : ""));
    LC_TRY_ALLOC(end->message);
    lc_buf_init(&end->details, 1 << 20);
    if (details && !decode_base64(lc_str_of(details), &end->details))
        lc_buf_clear(&end->details);
    LC_TRY_BUF(&end->details);
    return LCDC_OK;
}

lcdc_status lc_grpc_end_parse(const char *status, const char *message, const char *details, struct lc_grpc_end *out,
                              lcdc_error **err)
{
    struct lc_grpc_end end = {.code = -1};
    lcdc_status filled = fill_end(&end, status, message, details, err);
    if (filled == LCDC_OK)
        *out = end;
    else
        lc_grpc_end_done(&end);
    return filled;
}
