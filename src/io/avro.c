/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avro.c - the object container: header, then blocks of records between sync markers.
 *
 * Bytes come through one window over the file, moved forward as they are taken, so that a manifest costs a few large
 * reads and memory for its largest block. Every block ends with the header's marker and is used up to its last byte.
 */
#include "io/avro.h"

#include <inttypes.h>
#include <string.h>

#include "io/avro_parts.h"

enum { SYNC_BYTES = 16, LONG_BYTES = 10, WINDOW_BYTES = 1 << 20 };

struct entry {
    struct lc_str key, value;
};

struct lc_avro {
    struct lc_arena arena; /* schema and metadata */
    const char *path;
    struct lc_file *file; /* NULL: all of it is the window */
    const uint8_t *window;
    int64_t window_at, window_n;
    struct lc_buf buffer; /* holds the window of a file */
    int64_t at, size;     /* of the container */
    size_t n_entries;
    struct entry entries[LC_AVRO_MAX_ENTRIES];
    const struct lc_avro_type *schema;
    enum lc_avro_codec codec;
    uint8_t sync[SYNC_BYTES];
    struct lc_buf unpacked;
    struct lc_avro_cursor cursor; /* what is left of the current block */
    int64_t block_at, records_left;
    bool is_broken;
};

/* ---- bytes of the container ---- */

/* Makes the window cover `n` bytes at the current place, which the container has. */
static lcdc_status move_window(struct lc_avro *avro, int64_t n, lcdc_error **err)
{
    if (avro->at >= avro->window_at && avro->at + n <= avro->window_at + avro->window_n)
        return LCDC_OK;
    int64_t left = avro->size - avro->at;
    int64_t want = n > WINDOW_BYTES ? n : left < WINDOW_BYTES ? left : WINDOW_BYTES;
    lc_buf_clear(&avro->buffer);
    avro->window_n = 0;
    char *to = lc_buf_reserve(&avro->buffer, (size_t)want);
    LC_TRY_ALLOC(to);
    LC_TRY(lc_file_read_at(avro->file, avro->at, want, to, err));
    avro->window = (const uint8_t *)to;
    avro->window_at = avro->at;
    avro->window_n = want;
    return LCDC_OK;
}

static lcdc_status take(struct lc_avro *avro, int64_t n, const char *what, const uint8_t **out, lcdc_error **err)
{
    if (n < 0 || n > avro->size - avro->at || n > LC_AVRO_MAX_BLOCK + SYNC_BYTES)
        return lc_fail(err, LC_R_AVRO_BAD,
                       "byte %" PRId64 ": %s takes %" PRId64 " bytes, %" PRId64 " are left and %d allowed", avro->at,
                       what, n, avro->size - avro->at, LC_AVRO_MAX_BLOCK);
    LC_TRY(move_window(avro, n, err));
    *out = avro->window + (avro->at - avro->window_at);
    avro->at += n;
    return LCDC_OK;
}

static lcdc_status take_long(struct lc_avro *avro, const char *what, int64_t *out, lcdc_error **err)
{
    int64_t n = avro->size - avro->at < LONG_BYTES ? avro->size - avro->at : LONG_BYTES;
    const uint8_t *bytes;
    LC_TRY(take(avro, n, what, &bytes, err));
    const uint8_t *after = lc_avro_long(bytes, bytes + n, out);
    avro->at -= n;
    if (!after)
        return lc_fail(err, LC_R_AVRO_BAD, "byte %" PRId64 ": %s is cut or longer than 64 bits", avro->at, what);
    avro->at += after - bytes;
    return LCDC_OK;
}

static lcdc_status take_text(struct lc_avro *avro, const char *what, struct lc_str *out, lcdc_error **err)
{
    int64_t n;
    const uint8_t *bytes;
    LC_TRY(take_long(avro, what, &n, err));
    LC_TRY(take(avro, n, what, &bytes, err));
    if (!lc_arena_str(&avro->arena, (struct lc_str){(const char *)bytes, (size_t)n}, out))
        return lc_fail_oom(err);
    return LCDC_OK;
}

/* ---- header ---- */

static lcdc_status read_entries(struct lc_avro *avro, int64_t n, lcdc_error **err)
{
    if (n > LC_AVRO_MAX_ENTRIES - (int64_t)avro->n_entries)
        return lc_fail(err, LC_R_AVRO_BAD, "byte %" PRId64 ": the header has more than %d entries", avro->at,
                       LC_AVRO_MAX_ENTRIES);
    for (; n > 0; n--) {
        struct entry *entry = &avro->entries[avro->n_entries];
        LC_TRY(take_text(avro, "a key of the header", &entry->key, err));
        LC_TRY(take_text(avro, "a value of the header", &entry->value, err));
        avro->n_entries++;
    }
    return LCDC_OK;
}

static lcdc_status read_metadata(struct lc_avro *avro, lcdc_error **err)
{
    for (;;) {
        int64_t n, bytes;
        LC_TRY(take_long(avro, "the count of header entries", &n, err));
        if (n == 0)
            return LCDC_OK;
        if (n < 0) {
            LC_TRY(take_long(avro, "the size of header entries", &bytes, err));
            n = n < -LC_AVRO_MAX_ENTRIES ? INT64_MAX : -n;
        }
        LC_TRY(read_entries(avro, n, err));
    }
}

static lcdc_status read_header(struct lc_avro *avro, lcdc_error **err)
{
    const uint8_t *bytes;
    struct lc_str text;
    LC_TRY(take(avro, 4, "the magic number", &bytes, err));
    if (memcmp(bytes, "Obj\1", 4) != 0)
        return lc_fail(err, LC_R_AVRO_BAD, "the file does not begin as an Avro container does");
    LC_TRY(read_metadata(avro, err));
    LC_TRY(take(avro, SYNC_BYTES, "the sync marker", &bytes, err));
    memcpy(avro->sync, bytes, SYNC_BYTES);
    if (lc_avro_metadata(avro, "avro.codec", &text))
        LC_TRY(lc_avro_find_codec(text, &avro->codec, err));
    if (!lc_avro_metadata(avro, "avro.schema", &text))
        return lc_fail(err, LC_R_AVRO_BAD, "the header has no avro.schema");
    return lc_avro_parse_schema(text, &avro->arena, &avro->schema, err);
}

/* ---- blocks ---- */

static lcdc_status read_block(struct lc_avro *avro, lcdc_error **err)
{
    int64_t count, size;
    const uint8_t *bytes;
    avro->block_at = avro->at;
    LC_TRY(take_long(avro, "the record count of a block", &count, err));
    LC_TRY(take_long(avro, "the size of a block", &size, err));
    if (size < 0 || size > LC_AVRO_MAX_BLOCK)
        return lc_fail(err, LC_R_AVRO_BAD, "byte %" PRId64 ": a block says it has %" PRId64 " bytes, at most %d can be",
                       avro->block_at, size, LC_AVRO_MAX_BLOCK);
    LC_TRY(take(avro, size + SYNC_BYTES, "a block", &bytes, err));
    if (memcmp(bytes + size, avro->sync, SYNC_BYTES) != 0)
        return lc_fail(err, LC_R_AVRO_BAD, "byte %" PRId64 ": no sync marker ends the block of byte %" PRId64,
                       avro->at - SYNC_BYTES, avro->block_at);
    if (avro->codec != LC_AVRO_CODEC_NULL) {
        struct lc_str packed = {(const char *)bytes, (size_t)size};
        LC_TRY(lc_avro_unpack(avro->codec, packed, &avro->unpacked, err));
        bytes = (const uint8_t *)avro->unpacked.p;
        size = (int64_t)avro->unpacked.n;
    }
    if (count < 0 || count > size) /* a record takes at least a byte */
        return lc_fail(err, LC_R_AVRO_BAD,
                       "byte %" PRId64 ": a block says it has %" PRId64 " records in %" PRId64 " bytes", avro->block_at,
                       count, size);
    avro->cursor = (struct lc_avro_cursor){.start = bytes, .at = bytes, .end = bytes + size};
    avro->records_left = count;
    return LCDC_OK;
}

static lcdc_status end_block(struct lc_avro *avro, lcdc_error **err)
{
    if (avro->cursor.at == avro->cursor.end)
        return LCDC_OK;
    return lc_fail(err, LC_R_AVRO_BAD, "byte %td of the block: %td bytes follow its last record",
                   avro->cursor.at - avro->cursor.start, avro->cursor.end - avro->cursor.at);
}

static lcdc_status read_record(struct lc_avro *avro, struct lc_arena *arena, struct lc_avro_value **out,
                               lcdc_error **err)
{
    while (avro->records_left == 0) {
        LC_TRY(end_block(avro, err));
        if (avro->at == avro->size) {
            *out = NULL;
            return LCDC_OK;
        }
        LC_TRY(read_block(avro, err));
    }
    struct lc_avro_value *value = lc_arena_alloc(arena, sizeof(*value));
    LC_TRY_ALLOC(value);
    LC_TRY(lc_avro_decode(&avro->cursor, avro->schema, arena, value, err));
    avro->records_left--;
    *out = value;
    return LCDC_OK;
}

/* ---- the public face ---- */

static lcdc_status open_source(struct lc_avro *take_avro, const char *path, struct lc_avro **out, lcdc_error **err)
{
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = take_avro;
    lc_buf_init(&avro->buffer, LC_BUF_MAX);
    lc_buf_init(&avro->unpacked, LC_AVRO_MAX_BLOCK);
    avro->path = lc_arena_strdup(&avro->arena, path);
    LC_TRY_ALLOC(avro->path);
    lcdc_status status = read_header(avro, err);
    if (status != LCDC_OK) {
        lc_error_prefix(err, "%s", path);
        return status;
    }
    *out = lc_steal(avro);
    return LCDC_OK;
}

lcdc_status lc_avro_open(struct lc_storage *storage, const char *path, struct lc_avro **out, lcdc_error **err)
{
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = lc_calloc(1, sizeof(*avro));
    LC_TRY_ALLOC(avro);
    LC_TRY(lc_storage_open(storage, path, &avro->file, err));
    avro->size = lc_file_size(avro->file);
    return open_source(lc_steal(avro), path, out, err);
}

lcdc_status lc_avro_open_bytes(struct lc_str bytes, const char *path, struct lc_avro **out, lcdc_error **err)
{
    struct lc_avro *avro = lc_calloc(1, sizeof(*avro));
    LC_TRY_ALLOC(avro);
    avro->window = (const uint8_t *)bytes.p;
    avro->window_n = avro->size = (int64_t)bytes.n;
    return open_source(avro, path, out, err);
}

void lc_avro_close(struct lc_avro *avro)
{
    if (!avro)
        return;
    lc_file_close(avro->file);
    lc_buf_done(&avro->buffer);
    lc_buf_done(&avro->unpacked);
    lc_arena_done(&avro->arena);
    lc_free(avro);
}

bool lc_avro_metadata(const struct lc_avro *avro, const char *key, struct lc_str *out)
{
    for (size_t i = 0; i < avro->n_entries; i++)
        if (lc_str_is(avro->entries[i].key, key)) {
            *out = avro->entries[i].value;
            return true;
        }
    return false;
}

const struct lc_avro_type *lc_avro_schema(const struct lc_avro *avro)
{
    return avro->schema;
}

lcdc_status lc_avro_next(struct lc_avro *avro, struct lc_arena *arena, struct lc_avro_value **out, lcdc_error **err)
{
    if (avro->is_broken)
        return lc_fail(err, LC_R_AVRO_BAD, "%s: reading goes on after it met an error", avro->path);
    lcdc_status status = read_record(avro, arena, out, err);
    if (status != LCDC_OK) {
        avro->is_broken = true;
        lc_error_prefix(err, "%s: block of byte %" PRId64, avro->path, avro->block_at);
    }
    return status;
}

const struct lc_avro_value *lc_avro_field(const struct lc_avro_value *record, int32_t id)
{
    if (!record || !record->type || record->type->kind != LC_AVRO_RECORD || id < 0)
        return NULL;
    for (size_t i = 0; i < record->n; i++)
        if (record->type->children[i].id == id) {
            const struct lc_avro_value *value = &record->items[i];
            return value->type && value->type->kind != LC_AVRO_NULL ? value : NULL;
        }
    return NULL;
}
