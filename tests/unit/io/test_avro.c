/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers are written here byte by byte from the Avro specification, so that reader and test share no code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "io/avro.h"
#include "support/memory_storage.h"
#include "support/torture.h"

/* ---- writing ---- */

static const char sync_marker[] = "0123456789abcdef";

static void put_long(struct lc_buf *buf, int64_t value)
{
    uint64_t bits = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    for (; bits > 0x7F; bits >>= 7)
        lc_buf_char(buf, (char)(bits | 0x80));
    lc_buf_char(buf, (char)bits);
}

static void put_bytes(struct lc_buf *buf, const void *bytes, size_t n)
{
    put_long(buf, (int64_t)n);
    lc_buf_append(buf, bytes, n);
}

static void put_text(struct lc_buf *buf, const char *text)
{
    put_bytes(buf, text, strlen(text));
}

static void put_header(struct lc_buf *buf, const char *schema, const char *codec)
{
    lc_buf_init(buf, LC_BUF_MAX);
    lc_buf_append(buf, "Obj\1", 4);
    put_long(buf, codec ? 2 : 1);
    put_text(buf, "avro.schema"), put_text(buf, schema);
    if (codec)
        put_text(buf, "avro.codec"), put_text(buf, codec);
    put_long(buf, -1), put_long(buf, 18), put_text(buf, "format-version"), put_text(buf, "2"); /* the form with a size
                                                                                                */
    put_long(buf, 0);
    lc_buf_append(buf, sync_marker, 16);
}

static void put_block(struct lc_buf *buf, int64_t count, const void *bytes, size_t n)
{
    put_long(buf, count);
    put_bytes(buf, bytes, n);
    lc_buf_append(buf, sync_marker, 16);
}

/* A whole container of one block. */
static void make_container(struct lc_buf *buf, const char *schema, int64_t count, const void *bytes, size_t n)
{
    put_header(buf, schema, NULL);
    put_block(buf, count, bytes, n);
}

/* ---- reading ---- */

/* Reads to the end from a block of exactly the container's size; *count says how many records there were. */
static lcdc_status read_all(const struct lc_buf *buf, struct lc_arena *arena, size_t *count,
                            struct lc_avro_value **last, lcdc_error **err)
{
    LC_FREE char *exact = lc_alloc(buf->n);
    LC_TRY_ALLOC(exact);
    memcpy(exact, buf->p, buf->n);
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
    LC_TRY(lc_avro_open_bytes((struct lc_str){exact, buf->n}, "file.avro", &avro, err));
    for (*count = 0;; ++*count) {
        struct lc_avro_value *value = NULL;
        lcdc_status status = lc_avro_next(avro, arena, &value, err);
        if (status != LCDC_OK) {
            assert_null(value);
            assert_int_equal(lc_avro_next(avro, arena, &value, NULL), LCDC_CORRUPT); /* an error ends it */
            return status;
        }
        if (!value)
            return LCDC_OK;
        *last = value;
    }
}

static void assert_refused(const struct lc_buf *buf, lcdc_status expected, const char *says)
{
    LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_avro_value *last = NULL;
    size_t n;
    lcdc_status status = read_all(buf, &arena, &n, &last, &err);
    if (status != expected || !strstr(lcdc_error_message(err), says) || !strstr(lcdc_error_message(err), "file.avro: "))
        fail_msg("%s: \"%s\" does not say \"%s\"", lcdc_status_name(status), lcdc_error_message(err), says);
}

#define KINDS                                                                                                          \
    "{\"type\":\"record\",\"name\":\"top\",\"namespace\":\"a.b\",\"fields\":["                                         \
    "{\"name\":\"z\",\"type\":\"null\",\"field-id\":1},"                                                               \
    "{\"name\":\"b\",\"type\":\"boolean\",\"field-id\":2},"                                                            \
    "{\"name\":\"i\",\"type\":{\"type\":\"int\",\"logicalType\":\"date\"},\"field-id\":3},"                            \
    "{\"name\":\"l\",\"type\":[\"null\",\"long\"],\"field-id\":4},"                                                    \
    "{\"name\":\"f\",\"type\":\"float\",\"field-id\":5},"                                                              \
    "{\"name\":\"d\",\"type\":\"double\",\"field-id\":6},"                                                             \
    "{\"name\":\"y\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2},"           \
    "\"field-id\":7},"                                                                                                 \
    "{\"name\":\"s\",\"type\":\"string\",\"field-id\":8},"                                                             \
    "{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"f4\",\"size\":4},\"field-id\":9},"                        \
    "{\"name\":\"x2\",\"type\":\"a.b.f4\",\"field-id\":10},"                                                           \
    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]},\"field-id\":11},"          \
    "{\"name\":\"a\",\"type\":{\"type\":\"array\",\"element-id\":508,\"items\":{\"type\":\"record\",\"name\":\"r\","   \
    "\"fields\":[{\"name\":\"v\",\"type\":\"int\",\"field-id\":509}]}},\"field-id\":12},"                              \
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"key-id\":117,\"value-id\":118,\"values\":\"r\"},\"field-id\":13},"   \
    "{\"name\":\"n\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"node\",\"namespace\":\"c\",\"fields\":["       \
    "{\"name\":\"v\",\"type\":\"long\",\"field-id\":1},{\"name\":\"next\",\"type\":[\"null\",\"node\"],\"field-id\":"  \
    "2}"                                                                                                               \
    "]}],\"field-id\":14}]}"

static void put_kinds(struct lc_buf *buf)
{
    lc_buf_char(buf, 1);                                   /* b: true */
    put_long(buf, -1);                                     /* i */
    put_long(buf, 1), put_long(buf, INT64_MIN);            /* l */
    lc_buf_append(buf, "\0\0\xC0\x3F", 4);                 /* f: 1.5 */
    lc_buf_append(buf, "\0\0\0\0\0\0\x04\xC0", 8);         /* d: -2.5 */
    put_bytes(buf, "\x00\xFF", 2);                         /* y */
    put_text(buf, "h\xC3\xA9");                            /* s */
    lc_buf_append(buf, "abcdefgh", 8);                     /* x, x2 */
    put_long(buf, 1);                                      /* e: B */
    put_long(buf, 2), put_long(buf, 7), put_long(buf, 8);  /* a: two at once ... */
    put_long(buf, -1), put_long(buf, 1), put_long(buf, 9); /* ... one with its size ... */
    put_long(buf, 0);
    put_long(buf, 1), put_text(buf, "key"), put_long(buf, 5), put_long(buf, 0);                   /* m */
    put_long(buf, 1), put_long(buf, 100), put_long(buf, 1), put_long(buf, 200), put_long(buf, 0); /* n: 100 -> 200 */
}

static int64_t int_at(const struct lc_avro_value *record, int32_t id)
{
    const struct lc_avro_value *value = lc_avro_field(record, id);
    assert_non_null(value);
    return value->i;
}

static void check_kinds(const struct lc_avro_value *top)
{
    assert_null(lc_avro_field(top, 1));
    assert_null(lc_avro_field(top, 99));
    assert_null(lc_avro_field(top, -1));
    assert_true(lc_avro_field(top, 2)->b);
    assert_int_equal(int_at(top, 3), -1);
    assert_string_equal(lc_avro_field(top, 3)->type->logical, "date");
    assert_true(int_at(top, 4) == INT64_MIN);
    assert_true(lc_avro_field(top, 5)->f == 1.5);
    assert_true(lc_avro_field(top, 6)->f == -2.5);
    const struct lc_avro_value *decimal = lc_avro_field(top, 7);
    assert_int_equal(decimal->str.n, 2);
    assert_memory_equal(decimal->str.p, "\x00\xFF", 2);
    assert_int_equal(decimal->type->precision, 9);
    assert_int_equal(decimal->type->scale, 2);
    assert_true(lc_str_is(lc_avro_field(top, 8)->str, "h\xC3\xA9"));
    assert_true(lc_str_is(lc_avro_field(top, 9)->str, "abcd"));
    assert_true(lc_str_is(lc_avro_field(top, 10)->str, "efgh"));
    assert_ptr_equal(lc_avro_field(top, 9)->type, lc_avro_field(top, 10)->type);
    assert_string_equal(lc_avro_field(top, 11)->type->children[int_at(top, 11)].name, "B");
    const struct lc_avro_value *array = lc_avro_field(top, 12), *map = lc_avro_field(top, 13);
    assert_int_equal(array->type->element_id, 508);
    assert_int_equal(array->n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(int_at(&array->items[i], 509), 7 + i);
    assert_int_equal(map->type->key_id, 117);
    assert_int_equal(map->type->value_id, 118);
    assert_int_equal(map->n, 1);
    assert_true(lc_str_is(map->items[0].str, "key"));
    assert_int_equal(int_at(&map->items[1], 509), 5);
    const struct lc_avro_value *node = lc_avro_field(top, 14);
    assert_int_equal(int_at(node, 1), 100);
    assert_int_equal(int_at(lc_avro_field(node, 2), 1), 200);
    assert_null(lc_avro_field(lc_avro_field(node, 2), 2));
    assert_null(lc_avro_field(NULL, 1));
    assert_null(lc_avro_field(array, 1));
}

static void every_kind_is_read(void **state)
{
    (void)state;
    LC_BUF struct lc_buf record, file;
    LC_ARENA struct lc_arena arena = {0};
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
    struct lc_avro_value *value = NULL;
    struct lc_str text;
    lc_buf_init(&record, 1000);
    put_kinds(&record);
    make_container(&file, KINDS, 1, record.p, record.n);
    assert_int_equal(lc_avro_open_bytes((struct lc_str){file.p, file.n}, "x", &avro, NULL), LCDC_OK);
    assert_true(lc_avro_metadata(avro, "format-version", &text));
    assert_true(lc_str_is(text, "2"));
    assert_false(lc_avro_metadata(avro, "format", &text));
    assert_int_equal(lc_avro_schema(avro)->n_children, 14);
    assert_string_equal(lc_avro_schema(avro)->children[3].name, "l");
    assert_int_equal(lc_avro_next(avro, &arena, &value, NULL), LCDC_OK);
    check_kinds(value);
    assert_int_equal(lc_avro_next(avro, &arena, &value, NULL), LCDC_OK);
    assert_null(value);
    assert_int_equal(lc_avro_next(avro, &arena, &value, NULL), LCDC_OK); /* the end stays the end */
    assert_null(value);
}

/* ---- codecs ---- */

static void pack(const char *codec, const struct lc_buf *plain, struct lc_buf *out)
{
    char *to = lc_buf_reserve(out, plain->n * 2 + 1000);
    assert_non_null(to);
    if (strcmp(codec, "deflate") == 0) {
        z_stream stream = {.next_in = (Bytef *)plain->p, .avail_in = (uInt)plain->n};
        assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_out = (Bytef *)to;
        stream.avail_out = (uInt)(plain->n * 2 + 1000);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        out->n += stream.total_out;
        (void)deflateEnd(&stream);
    } else if (strcmp(codec, "snappy") == 0) {
        size_t n = plain->n * 2 + 1000;
        uint32_t sum = __builtin_bswap32((uint32_t)crc32(0, (const Bytef *)plain->p, (uInt)plain->n));
        assert_int_equal(snappy_compress(plain->p, plain->n, to, &n), SNAPPY_OK);
        out->n += n;
        lc_buf_append(out, &sum, sizeof(sum));
    } else {
        out->n += ZSTD_compress(to, plain->n * 2 + 1000, plain->p, plain->n, 3);
    }
}

static const char *const codecs[] = {"null", "deflate", "snappy", "zstandard"};

static void every_codec_and_any_number_of_blocks_is_read(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        LC_BUF struct lc_buf file;
        int64_t next = 0;
        put_header(&file, "\"long\"", codecs[c]);
        for (int64_t block = 0; block < 50; block++) {
            LC_BUF struct lc_buf plain, packed;
            lc_buf_init(&plain, LC_BUF_MAX), lc_buf_init(&packed, LC_BUF_MAX);
            int64_t n = block % 7 ? block * block : 0; /* blocks without records are skipped */
            for (int64_t i = 0; i < n; i++)
                put_long(&plain, next++ * 1000003);
            lc_buf_append(&plain, "", 0);
            if (c > 0)
                pack(codecs[c], &plain, &packed);
            put_block(&file, n, c > 0 ? packed.p : plain.p, c > 0 ? packed.n : plain.n);
        }
        LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
        assert_int_equal(lc_avro_open_bytes((struct lc_str){file.p, file.n}, "x", &avro, NULL), LCDC_OK);
        for (int64_t i = 0; i <= next; i++) {
            LC_ARENA struct lc_arena arena = {0};
            struct lc_avro_value *value = NULL;
            assert_int_equal(lc_avro_next(avro, &arena, &value, NULL), LCDC_OK);
            if (i == next)
                assert_null(value);
            else
                assert_true(value->i == i * 1000003);
        }
    }
}

static void damaged_blocks_are_refused(void **state)
{
    (void)state;
    static const char *const says[] = {"", "deflate stream", "snappy stream", "zstandard stream"};
    LC_BUF struct lc_buf plain;
    lc_buf_init(&plain, LC_BUF_MAX);
    for (int64_t i = 0; i < 1000; i++)
        put_long(&plain, i * i);
    for (size_t c = 1; c < 4; c++) {
        LC_BUF struct lc_buf packed, file, cut, longer, sum;
        lc_buf_init(&packed, LC_BUF_MAX);
        pack(codecs[c], &plain, &packed);
        put_header(&file, "\"long\"", codecs[c]);
        put_block(&file, 1000, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 7);
        assert_refused(&file, LCDC_CORRUPT, says[c]);
        put_header(&cut, "\"long\"", codecs[c]);
        put_block(&cut, 1000, packed.p, packed.n - 10);
        assert_refused(&cut, LCDC_CORRUPT, says[c]);
        put_header(&longer, "\"long\"", codecs[c]);
        lc_buf_append(&packed, "0123456789", 10);
        put_block(&longer, 1000, packed.p, packed.n);
        assert_refused(&longer, LCDC_CORRUPT, says[c]);
        packed.n -= 10;
        put_header(&sum, "\"long\"", codecs[c]);
        packed.p[packed.n - 1] ^= 1;
        put_block(&sum, 1000, packed.p, packed.n);
        if (c == 2)
            assert_refused(&sum, LCDC_CORRUPT, "the checksum of a block");
        lc_buf_done(&file), lc_buf_done(&cut), lc_buf_done(&longer), lc_buf_done(&sum);
    }
}

static void fastavros_rest_of_a_checksum_is_passed_over(void **state)
{
    (void)state;
    LC_BUF struct lc_buf plain, packed, file;
    LC_ARENA struct lc_arena arena = {0};
    struct lc_avro_value *last = NULL;
    size_t n;
    lc_buf_init(&plain, 100), lc_buf_init(&packed, LC_BUF_MAX);
    put_long(&plain, 77);
    pack("deflate", &plain, &packed);
    lc_buf_append(&packed, "abc", 3);
    put_header(&file, "\"long\"", "deflate");
    put_block(&file, 1, packed.p, packed.n);
    assert_int_equal(read_all(&file, &arena, &n, &last, NULL), LCDC_OK);
    assert_int_equal(n, 1);
    assert_int_equal(last->i, 77);
}

static void blocks_that_swell_beyond_reason_are_refused(void **state)
{
    (void)state;
    static char zeros[1 << 20];
    LC_BUF struct lc_buf plain, packed, file;
    lc_buf_init(&plain, LC_BUF_MAX), lc_buf_init(&packed, LC_BUF_MAX);
    for (int i = 0; i < 16; i++)
        lc_buf_append(&plain, zeros, sizeof(zeros));
    pack("zstandard", &plain, &packed); /* about ten thousand to one */
    put_header(&file, "\"long\"", "zstandard");
    put_block(&file, (int64_t)plain.n, packed.p, packed.n);
    assert_refused(&file, LCDC_LIMIT, "unpacks to more than");
    LC_BUF struct lc_buf snappy; /* a length of 2^31 in front of nothing */
    put_header(&snappy, "\"long\"", "snappy");
    put_block(&snappy, 1, "\x80\x80\x80\x80\x08....", 9);
    assert_refused(&snappy, LCDC_LIMIT, "unpacks to more than");
}

static void unknown_codecs_are_named(void **state)
{
    (void)state;
    LC_BUF struct lc_buf file;
    put_header(&file, "\"long\"", "bzip2");
    assert_refused(&file, LCDC_UNSUPPORTED, "the codec is \"bzip2\"");
}

/* ---- hostile containers ---- */

static void every_cut_is_refused(void **state)
{
    (void)state;
    LC_BUF struct lc_buf record, file, header;
    lc_buf_init(&record, 1000);
    put_kinds(&record);
    put_header(&header, KINDS, NULL);
    make_container(&file, KINDS, 1, record.p, record.n);
    size_t whole = file.n;
    for (file.n = 1; file.n < whole; file.n++)
        if (file.n != header.n) /* a container without blocks is sound */
            assert_refused(&file, LCDC_CORRUPT, "");
    /* the block itself cut: its length agrees, its values do not */
    for (size_t n = 0; n < record.n; n++) {
        LC_BUF struct lc_buf cut;
        make_container(&cut, KINDS, 1, record.p, n);
        assert_refused(&cut, LCDC_CORRUPT, "");
    }
}

static void broken_containers_are_refused(void **state)
{
    (void)state;
    LC_BUF struct lc_buf file;
    make_container(&file, "\"long\"", 1, "\2", 1);
    file.p[0] = 'o';
    assert_refused(&file, LCDC_CORRUPT, "does not begin as an Avro container");
    file.p[0] = 'O';
    file.p[file.n - 1] ^= 1;
    assert_refused(&file, LCDC_CORRUPT, "no sync marker");
    lc_buf_done(&file);
    make_container(&file, "\"long\"", 1, "\2\2", 2);
    assert_refused(&file, LCDC_CORRUPT, "1 bytes follow its last record");
    lc_buf_done(&file);
    make_container(&file, "\"long\"", 3, "\2\2", 2);
    assert_refused(&file, LCDC_CORRUPT, "3 records in 2 bytes");
    lc_buf_done(&file);
    make_container(&file, "\"long\"", -1, "\2\2", 2);
    assert_refused(&file, LCDC_CORRUPT, "-1 records");
    lc_buf_done(&file);
    make_container(&file, "\"null\"", 5, "", 0); /* items without bytes: nobody needs them */
    assert_refused(&file, LCDC_CORRUPT, "5 records in 0 bytes");
    lc_buf_done(&file);
    put_header(&file, "\"long\"", NULL);
    put_long(&file, 1), put_long(&file, -5), lc_buf_append(&file, sync_marker, 16);
    assert_refused(&file, LCDC_CORRUPT, "a block says it has -5 bytes");
    lc_buf_done(&file);
    put_header(&file, "\"long\"", NULL);
    put_long(&file, 1), put_long(&file, INT64_MAX), lc_buf_append(&file, sync_marker, 16);
    assert_refused(&file, LCDC_CORRUPT, "a block says it has 9223372036854775807 bytes");
    lc_buf_done(&file);
    put_header(&file, "\"long\"", NULL);
    lc_buf_append(&file, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02.............", 24);
    assert_refused(&file, LCDC_CORRUPT, "longer than 64 bits");
}

static void broken_headers_are_refused(void **state)
{
    (void)state;
    static const int64_t counts[] = {INT64_MIN, INT64_MAX, -2000, 1001, 2};
    for (size_t i = 0; i < 5; i++) {
        LC_BUF struct lc_buf file;
        lc_buf_init(&file, 1000);
        lc_buf_append(&file, "Obj\1", 4);
        put_long(&file, counts[i]), put_long(&file, 3);
        lc_buf_text(&file, "abc");
        assert_refused(&file, LCDC_CORRUPT, "");
    }
    LC_BUF struct lc_buf none;
    lc_buf_init(&none, 1000);
    lc_buf_append(&none, "Obj\1\0", 5);
    lc_buf_append(&none, sync_marker, 16);
    assert_refused(&none, LCDC_CORRUPT, "no avro.schema");
    LC_BUF struct lc_buf key;
    lc_buf_init(&key, 1000);
    lc_buf_append(&key, "Obj\1", 4);
    put_long(&key, 1), put_long(&key, INT64_MAX), lc_buf_text(&key, "abc");
    assert_refused(&key, LCDC_CORRUPT, "a key of the header");
}

static void broken_schemas_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "json text is empty"},
        {"{", "json line"},
        {"12", "neither a name nor an object nor a union"},
        {"\"unknown\"", "\"unknown\" that it does not define"},
        {"{\"type\":\"record\",\"name\":\"r\"}", "no array of fields"},
        {"{\"type\":\"record\",\"fields\":[]}", "has no name"},
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"type\":\"int\"}]}", "field 0 of a record"},
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\"}]}", "neither a name"},
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"int\",\"field-id\":-1}]}",
         "field-id"},
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"int\",\"field-id\":\"1\"}]}",
         "field-id"},
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"int\",\"field-id\":2147483648}]}",
         "field-id"},
        {"{\"type\":\"enum\",\"name\":\"e\"}", "no array of symbols"},
        {"{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[1]}", "no string"},
        {"{\"type\":\"fixed\",\"name\":\"f\"}", "no size"},
        {"{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}", "no size"},
        {"{\"type\":\"fixed\",\"name\":\"f\",\"size\":99999999999}", "no size"},
        {"{\"type\":\"array\"}", "neither a name"},
        {"{\"type\":\"map\",\"values\":\"x\"}", "does not define"},
        {"[\"null\",{}]", "neither a name"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_BUF struct lc_buf file;
        make_container(&file, cases[i][0], 0, "", 0);
        assert_refused(&file, LCDC_CORRUPT, cases[i][1]);
    }
}

static void schemas_are_bounded(void **state)
{
    (void)state;
    LC_BUF struct lc_buf schema, file;
    lc_buf_init(&schema, LC_BUF_MAX);
    for (int i = 0; i < 100; i++)
        lc_buf_text(&schema, "{\"type\":\"array\",\"items\":");
    lc_buf_text(&schema, "\"int\"");
    for (int i = 0; i < 100; i++)
        lc_buf_text(&schema, "}");
    make_container(&file, schema.p, 0, "", 0);
    assert_refused(&file, LCDC_CORRUPT, "nested deeper than 64");
    lc_buf_done(&file);
    lc_buf_clear(&schema);
    lc_buf_text(&schema, "[\"null\"");
    for (int i = 0; i < 20000; i++)
        lc_buf_text(&schema, ",\"int\"");
    lc_buf_text(&schema, "]");
    make_container(&file, schema.p, 0, "", 0);
    assert_refused(&file, LCDC_CORRUPT, "more than 20000 types");
}

static void broken_values_are_refused(void **state)
{
    (void)state;
#define ARRAY(items) "{\"type\":\"array\",\"items\":" items "}"
    static const struct {
        const char *schema, *bytes;
        size_t n;
        const char *says;
    } cases[] = {
        {"\"boolean\"", "\2", 1, "2 is no boolean"},
        {"\"int\"", "\x80\x80\x80\x80\x10", 5, "2147483648 is outside"},
        {"\"int\"", "\x80\x80", 2, "a number is cut"},
        {"\"long\"", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 10, "longer than 64 bits"},
        {"\"float\"", "abc", 3, "takes 4 bytes, 3 are left"},
        {"\"double\"", "abcdefg", 7, "takes 8 bytes, 7 are left"},
        {"\"bytes\"", "\x06zz", 3, "takes 3 bytes, 2 are left"},
        {"\"bytes\"", "\x01zz", 3, "takes -1 bytes"},
        {"\"string\"", "\x04\xC3\x28", 3, "not UTF-8"},
        {"{\"type\":\"fixed\",\"name\":\"f\",\"size\":3}", "ab", 2, "takes 3 bytes"},
        {"{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\"]}", "\2", 1, "1 is outside 0 to 0"},
        {"{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\"]}", "\1", 1, "-1 is outside 0 to 0"},
        {"[\"null\",\"int\"]", "\4", 1, "2 is outside 0 to 1"},
        {"[]", "\0", 1, "outside 0 to -1"},
        {ARRAY("\"int\""), "\x0A\2\2", 3, "5 items in the 2 bytes"},
        {ARRAY("\"null\""), "\xC8\x01\0", 3, "100 items in the 1 bytes"},
        {ARRAY("\"int\""), "\1\4\2\0", 4, "items take 1 bytes where their header says 2"},
        {ARRAY("\"int\""), "\1\1\2\0", 4, "-1 is outside"},
        {ARRAY("\"int\""), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\0\0", 12, "9223372036854775807 items"},
        {ARRAY("\"int\""), "\2\2", 2, "a number is cut"},
        {"{\"type\":\"map\",\"values\":\"int\"}", "\2\2k", 3, "a number is cut"},
    };
#undef ARRAY
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_BUF struct lc_buf file;
        make_container(&file, cases[i].schema, 1, cases[i].bytes, cases[i].n);
        assert_refused(&file, LCDC_CORRUPT, cases[i].says);
    }
}

static void values_are_bounded(void **state)
{
    (void)state;
    /* a record that holds itself without taking a byte */
    LC_BUF struct lc_buf loop, wide, schema, record;
    make_container(&loop, "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"r\"}]}", 1, "\0",
                   1);
    assert_refused(&loop, LCDC_CORRUPT, "nested deeper than 64");
    /* few bytes, many values: an array of records of a thousand nulls each */
    lc_buf_init(&schema, LC_BUF_MAX), lc_buf_init(&record, LC_BUF_MAX);
    lc_buf_text(&schema, "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"r\",\"fields\":[");
    for (int i = 0; i < 1000; i++)
        lc_buf_printf(&schema, "%s{\"name\":\"n\",\"type\":\"null\"}", i ? "," : "");
    lc_buf_text(&schema, "]}}");
    put_long(&record, 5000);
    for (int i = 0; i < 5000; i++)
        lc_buf_char(&record, 0);
    make_container(&wide, schema.p, 1, record.p, record.n);
    assert_refused(&wide, LCDC_LIMIT, "more than 4194304 values");
}

/* ---- files ---- */

static void files_are_read_through_a_window(void **state)
{
    (void)state;
    struct lc_meter meter = {0};
    LC_BUF struct lc_buf file;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = NULL;
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
    static char text[300000];
    memset(text, 'x', sizeof(text));
    put_header(&file, "\"string\"", NULL);
    for (int i = 0; i < 20; i++) {
        LC_BUF struct lc_buf record;
        lc_buf_init(&record, LC_BUF_MAX);
        text[0] = (char)('a' + i);
        for (int copies = i == 10 ? 5 : 1; copies > 0; copies--) /* one block is larger than the window */
            put_bytes(&record, text, sizeof(text));
        put_block(&file, i == 10 ? 5 : 1, record.p, record.n);
    }
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    assert_int_equal(lc_memory_storage_add(storage, "/m.avro", file.p, file.n, NULL), LCDC_OK);
    assert_int_equal(lc_storage_meter(lc_steal(storage), &meter, &storage, NULL), LCDC_OK);
    assert_int_equal(lc_avro_open(storage, "/m.avro", &avro, NULL), LCDC_OK);
    size_t n = 0;
    for (;; n++) {
        LC_ARENA struct lc_arena arena = {0};
        struct lc_avro_value *value = NULL;
        assert_int_equal(lc_avro_next(avro, &arena, &value, NULL), LCDC_OK);
        if (!value)
            break;
        int64_t block = (int64_t)(n <= 10 ? n : n < 15 ? 10 : n - 4);
        assert_int_equal(value->str.n, sizeof(text));
        assert_int_equal(value->str.p[0], 'a' + block);
    }
    assert_int_equal(n, 24);
    assert_int_equal(meter.opens, 1);
    assert_true(meter.reads < 15);
    assert_true(meter.bytes < 2 * (int64_t)file.n);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
    LC_CLEANUP(lc_storage_freep) struct lc_storage *storage = NULL;
    struct lc_avro *avro = NULL;
    assert_int_equal(lc_memory_storage(&storage, NULL), LCDC_OK);
    assert_int_equal(lc_avro_open(storage, "/m.avro", &avro, &err), LCDC_NOT_FOUND);
    assert_string_equal(lcdc_error_message(err), "/m.avro is not there");
}

struct torture_input {
    struct lc_buf file;
    struct lc_storage *storage;
};

static lcdc_status read_file(void *context, lcdc_error **err)
{
    struct torture_input *input = context;
    LC_CLEANUP(lc_avro_closep) struct lc_avro *avro = NULL;
    LC_ARENA struct lc_arena arena = {0};
    LC_TRY(lc_avro_open(input->storage, "/m.avro", &avro, err));
    for (;;) {
        struct lc_avro_value *value = NULL;
        LC_TRY(lc_avro_next(avro, &arena, &value, err));
        if (!value)
            return LCDC_OK;
    }
}

static lcdc_status refuse(void *context, lcdc_error **err)
{
    struct lc_avro *avro = NULL;
    const struct lc_buf *file = context;
    lcdc_status status = lc_avro_open_bytes((struct lc_str){file->p, file->n}, "bad", &avro, err);
    if (status == LCDC_CORRUPT) { /* told in full: as good as a success here */
        lcdc_error_free(*err);
        *err = NULL;
        return LCDC_OK;
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        struct torture_input input;
        LC_BUF struct lc_buf record, packed;
        lc_buf_init(&record, LC_BUF_MAX), lc_buf_init(&packed, LC_BUF_MAX);
        put_kinds(&record);
        if (c > 0)
            pack(codecs[c], &record, &packed);
        put_header(&input.file, KINDS, codecs[c]);
        put_block(&input.file, 1, c > 0 ? packed.p : record.p, c > 0 ? packed.n : record.n);
        assert_int_equal(lc_memory_storage(&input.storage, NULL), LCDC_OK);
        assert_int_equal(lc_memory_storage_add(input.storage, "/m.avro", input.file.p, input.file.n, NULL), LCDC_OK);
        assert_true(lc_torture(read_file, &input));
        lc_storage_free(input.storage);
        lc_buf_done(&input.file);
    }
    LC_BUF struct lc_buf bad;
    make_container(&bad, "\"unknown\"", 0, "", 0);
    assert_true(lc_torture(refuse, &bad));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read),
        cmocka_unit_test(every_codec_and_any_number_of_blocks_is_read),
        cmocka_unit_test(damaged_blocks_are_refused),
        cmocka_unit_test(fastavros_rest_of_a_checksum_is_passed_over),
        cmocka_unit_test(blocks_that_swell_beyond_reason_are_refused),
        cmocka_unit_test(unknown_codecs_are_named),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(broken_containers_are_refused),
        cmocka_unit_test(broken_headers_are_refused),
        cmocka_unit_test(broken_schemas_are_refused),
        cmocka_unit_test(schemas_are_bounded),
        cmocka_unit_test(broken_values_are_refused),
        cmocka_unit_test(values_are_bounded),
        cmocka_unit_test(files_are_read_through_a_window),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
