/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a stream are the same however it is cut; the first byte says into what pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "spark/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Everything that came out, one message after the other with its length; returns whether the end was orderly. */
static bool collect(const uint8_t *data, size_t size, size_t piece, struct lc_buf *out)
{
    struct lc_frames frames;
    lcdc_status status = LCDC_OK;
    lc_frames_init(&frames);
    for (size_t at = 0; at < size && status == LCDC_OK; at += piece) {
        lc_buf_append(&frames.bytes, data + at, size - at < piece ? size - at : piece);
        for (bool found = true; found && status == LCDC_OK;) {
            struct lc_str message;
            status = lc_frames_next(&frames, &message, &found, NULL);
            if (status == LCDC_OK && found) {
                lc_buf_printf(out, "%zu:", message.n);
                lc_buf_append(out, message.p, message.n);
            }
        }
    }
    bool is_good = status == LCDC_OK && !lc_frames_is_cut(&frames);
    lc_frames_done(&frames);
    return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LC_BUF struct lc_buf whole = {0}, pieces = {0};
    if (size < 2)
        return 0;
    lc_buf_init(&whole, LC_BUF_MAX);
    lc_buf_init(&pieces, LC_BUF_MAX);
    bool a = collect(data + 1, size - 1, size, &whole), b = collect(data + 1, size - 1, 1 + data[0] % 16, &pieces);
    if (a != b || whole.n != pieces.n || (whole.n && memcmp(whole.p, pieces.p, whole.n) != 0))
        abort();
    return 0;
}
