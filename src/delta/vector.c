/* SPDX-License-Identifier: Apache-2.0 */
#include "delta/vector.h"

#include <inttypes.h>
#include <string.h>

enum { UUID_Z85 = 20, MAX_VECTOR = 1 << 30, FRAME = 8, NEAR = 64 << 10 };

/* Storage type u: an optional folder prefix, then 20 characters of Z85 that are a UUID. */
static lcdc_status relative_path(const struct lc_delta_vector *vector, struct lc_buf *out, lcdc_error **err)
{
    struct lc_str text = vector->path_or_inline;
    uint8_t u[16];
    if (text.n < UUID_Z85 || !lc_z85_decode((struct lc_str){text.p + text.n - UUID_Z85, UUID_Z85}, u))
        return lc_fail(err, LC_R_BITMAP_BAD, "deletion vector name '%.*s' does not end in an encoded uuid",
                       LC_STR_ARG(text));
    struct lc_str prefix = {text.p, text.n - UUID_Z85};
    if (prefix.n && (memchr(prefix.p, '/', prefix.n) || lc_str_is(prefix, "..")))
        return lc_fail(err, LC_R_BITMAP_BAD, "deletion vector prefix '%.*s' is not a folder name", LC_STR_ARG(prefix));
    if (prefix.n) {
        lc_buf_append(out, prefix.p, prefix.n);
        lc_buf_char(out, '/');
    }
    lc_buf_printf(out, "deletion_vector_%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x.bin", u[0],
                  u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    return LCDC_OK;
}

lcdc_status lc_delta_vector_url(const struct lc_delta_vector *vector, const char *root, const struct lc_path_map *map,
                                struct lc_arena *arena, const char **out, lcdc_error **err)
{
    LC_FREE char *url = NULL;
    *out = NULL;
    if (vector->storage == 'u') {
        LC_BUF struct lc_buf name;
        lc_buf_init(&name, 65536);
        LC_TRY(relative_path(vector, &name, err));
        LC_TRY_BUF(&name);
        url = lc_location_join(root, name.p);
        LC_TRY_ALLOC(url);
    } else if (vector->storage == 'p') {
        LC_FREE char *decoded = lc_percent_decode(vector->path_or_inline);
        LC_TRY_ALLOC(decoded);
        LC_TRY(lc_path_map_apply(map, decoded, &url, err));
    } else {
        return LCDC_OK;
    }
    *out = lc_arena_strdup(arena, url);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

/* Z85 works in groups of four bytes, so the decoded text may be up to three bytes longer than the payload. */
static lcdc_status read_inline(const struct lc_delta_vector *vector, struct lc_bitmap **out, lcdc_error **err)
{
    struct lc_str text = vector->path_or_inline;
    LC_FREE uint8_t *bytes = lc_alloc(text.n / 5 * 4 + 4);
    LC_TRY_ALLOC(bytes);
    if (text.n % 5 || !lc_z85_decode(text, bytes))
        return lc_fail(err, LC_R_BITMAP_BAD, "the inline deletion vector is not Z85 text");
    if (vector->size > (int64_t)(text.n / 5 * 4) || vector->size + 3 < (int64_t)(text.n / 5 * 4))
        return lc_fail(err, LC_R_BITMAP_BAD, "the inline deletion vector has %zu bytes, its descriptor says %" PRId64,
                       text.n / 5 * 4, vector->size);
    return lc_bitmap_parse(bytes, (size_t)vector->size, vector->cardinality, out, err);
}

static lcdc_status check_version(char byte, lcdc_error **err)
{
    return byte == 1 ? LCDC_OK
                     : lc_fail(err, LC_R_BITMAP_BAD, "the file is of format version %d, version 1 is known",
                               (unsigned char)byte);
}

/* What lies near the start of the file is read with the file's version, in one request; further back the version costs
   one of its own. */
size_t lc_delta_vector_spans(const struct lc_delta_vector *vector, struct lc_span out[2])
{
    if (vector->offset < NEAR) {
        out[0] = (struct lc_span){.offset = 0, .n = vector->offset + vector->size + FRAME};
        return 1;
    }
    out[0] = (struct lc_span){.offset = 0, .n = 1};
    out[1] = (struct lc_span){.offset = vector->offset, .n = vector->size + FRAME};
    return 2;
}

/* The vector's bytes with their frame. */
static lcdc_status read_frame(const struct lc_delta_vector *vector, struct lc_file *file, struct lc_buf *out,
                              const uint8_t **frame, lcdc_error **err)
{
    char version;
    struct lc_span spans[2];
    int64_t n = vector->size + FRAME, size = lc_file_size(file);
    if (vector->offset > size || n > size - vector->offset)
        return lc_fail(err, LC_R_IO_FAILED, "the file has %" PRId64 " bytes; %" PRId64 " at %" PRId64 " are asked for",
                       size, n, vector->offset);
    size_t n_spans = lc_delta_vector_spans(vector, spans);
    if (n_spans == 2)
        LC_TRY(lc_file_read_at(file, 0, 1, &version, err));
    struct lc_span rest = spans[n_spans - 1];
    char *at = lc_buf_reserve(out, (size_t)rest.n);
    LC_TRY_ALLOC(at);
    LC_TRY(lc_file_read_at(file, rest.offset, rest.n, at, err));
    *frame = (const uint8_t *)at + (vector->offset - rest.offset);
    return check_version(n_spans == 2 ? version : at[0], err);
}

static lcdc_status read_file(const struct lc_delta_vector *vector, const char *url, struct lc_storage *storage,
                             struct lc_bitmap **out, lcdc_error **err)
{
    LC_BUF struct lc_buf bytes;
    LC_CLEANUP(lc_file_closep) struct lc_file *file = NULL;
    const uint8_t *p;
    lc_buf_init(&bytes, (size_t)MAX_VECTOR + NEAR);
    if (vector->size > MAX_VECTOR - FRAME)
        return lc_fail(err, LC_R_LIMIT, "the deletion vector is %" PRId64 " bytes long, the limit is %d", vector->size,
                       MAX_VECTOR - FRAME);
    LC_TRY(lc_storage_open(storage, url, &file, err));
    LC_TRY(read_frame(vector, file, &bytes, &p, err));
    int64_t size = (int64_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
    if (size != vector->size)
        return lc_fail(err, LC_R_BITMAP_BAD,
                       "at offset %" PRId64 " a vector of %" PRId64 " bytes begins, the log says %" PRId64,
                       vector->offset, size, vector->size);
    return lc_bitmap_parse_framed(p, (size_t)(vector->size + FRAME), vector->cardinality, out, err);
}

lcdc_status lc_delta_vector_read(const struct lc_delta_vector *vector, const char *url, struct lc_storage *storage,
                                 struct lc_bitmap **out, lcdc_error **err)
{
    *out = NULL;
    if (!vector->storage)
        return LCDC_OK;
    lcdc_status status = url ? read_file(vector, url, storage, out, err) : read_inline(vector, out, err);
    if (status != LCDC_OK && url)
        lc_error_prefix(err, "deletion vector %s", url);
    return status;
}
