/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avro.h - a small bounded reader of Avro object container files (codecs null, deflate, snappy, zstandard).
 *
 * It exists because libavro drops field ids, knows no zstandard and does not survive hostile counts. Values follow the
 * writer's schema and are looked up by *field id*, so that names and order are the writer's own business.
 */
#ifndef LC_IO_AVRO_H
#define LC_IO_AVRO_H

#include "base/arena.h"
#include "base/error.h"
#include "io/storage.h"

enum lc_avro_kind {
    LC_AVRO_NULL,
    LC_AVRO_BOOL,
    LC_AVRO_INT,
    LC_AVRO_LONG,
    LC_AVRO_FLOAT,
    LC_AVRO_DOUBLE,
    LC_AVRO_BYTES,
    LC_AVRO_STRING,
    LC_AVRO_FIXED,
    LC_AVRO_ENUM,
    LC_AVRO_RECORD,
    LC_AVRO_ARRAY,
    LC_AVRO_MAP,
    LC_AVRO_UNION
};

/** A node of the writer's schema, borrowed from the reader. */
struct lc_avro_type {
    enum lc_avro_kind kind;
    const char *logical; /* "decimal", "date", ...; NULL */
    int precision, scale, fixed_size;
    int32_t element_id, key_id, value_id; /* -1 when absent */
    size_t n_children;                    /* RECORD fields, UNION branches, ENUM symbols (names only), ARRAY/MAP: 1 */
    struct lc_avro_field {
        const char *name;
        int32_t id; /* "field-id", -1 when absent */
        const struct lc_avro_type *type;
    } * children;
};

/** A decoded value; lives in the arena given to lc_avro_next(), its type in the reader. */
struct lc_avro_value {
    const struct lc_avro_type *type; /* after resolving the union; NULL type or kind LC_AVRO_NULL = null */
    union {
        bool b;
        int64_t i; /* INT, LONG, ENUM index */
        double f;
        struct lc_str str; /* BYTES, STRING, FIXED */
        struct {
            size_t n; /* RECORD: one a field; ARRAY: elements; MAP: 2n values, keys and values in turn */
            struct lc_avro_value *items;
        };
    };
};

struct lc_avro;

/** Opens a container; the file is read block by block. `path` begins every message. */
lcdc_status lc_avro_open(struct lc_storage *storage, const char *path, struct lc_avro **out, lcdc_error **err);
/** The same over bytes in memory (borrowed until close); `path` is for messages. */
lcdc_status lc_avro_open_bytes(struct lc_str bytes, const char *path, struct lc_avro **out, lcdc_error **err);
/** A header metadata entry ("schema", "format-version", ...), false when absent. */
bool lc_avro_metadata(const struct lc_avro *avro, const char *key, struct lc_str *out);
const struct lc_avro_type *lc_avro_schema(const struct lc_avro *avro);
/**
 * Next record into `arena`; *out NULL at the end. LC_R_AVRO_BAD for what breaks the format, LC_R_LIMIT for a block or
 * record of a size that no table metadata has. Nothing is read after an error.
 */
lcdc_status lc_avro_next(struct lc_avro *avro, struct lc_arena *arena, struct lc_avro_value **out, lcdc_error **err);
void lc_avro_close(struct lc_avro *avro);
LC_DEFINE_CLEANUP(struct lc_avro *, lc_avro_close)

/** A record's field by id, through nested records only when `id` is a direct field; NULL when absent or null. */
const struct lc_avro_value *lc_avro_field(const struct lc_avro_value *record, int32_t id);

#endif
