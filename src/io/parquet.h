/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet.h - reads Parquet files as rows of a table's schema.
 *
 * The one idea: the caller says which *table* columns it wants (a lc_field STRUCT) and how file columns are found
 * (by id, by physical name); the reader finds them at every nesting level, casts narrower types up, fills what is
 * missing, and hands out struct arrays of exactly that type together with each row's absolute position in the file.
 * Nothing that a damaged file says is believed: page checksums are verified where present, arrays are fully validated,
 * row counts are compared, page memory is capped.
 */
#ifndef LC_IO_PARQUET_H
#define LC_IO_PARQUET_H

#include "base/arrow.h"
#include "io/bitmap.h"
#include "io/range.h"
#include "io/storage.h"

enum lc_match {
    LC_MATCH_PHYSICAL_NAME, /* lc_field.physical; also for every nested level (Delta modes none and name) */
    LC_MATCH_ID,            /* Parquet field_id only; a column without one is missing (Delta mode id). A requested
                               field whose own id is LC_NO_ID is found by physical name, in this mode and the next */
    LC_MATCH_ID_OR_ALIAS    /* field_id; in a file that has no ids at all, lc_field.aliases (Iceberg) */
};

/** A value for a column that is not to be taken from the file. */
struct lc_constant {
    const struct lc_field *field; /* a leaf of the requested schema, by pointer */
    const struct lc_value *value; /* of the field's type; null allowed */
    bool only_if_missing;         /* the file's column wins when it is there (Iceberg identity partitions) */
};

struct lc_parquet;

/* The end of a file that most footers fit into. */
enum { LC_PARQUET_FOOTER = 64 << 10 };

/**
 * Opens and reads the footer. `size` is what the table says, -1 = nothing: on a remote store that saves asking for it,
 * a file of the machine is asked all the same.
 */
lcdc_status lc_parquet_open(struct lc_storage *storage, const char *path, int64_t size, struct lc_parquet **out,
                            lcdc_error **err);
void lc_parquet_close(struct lc_parquet *file);
LC_DEFINE_CLEANUP(struct lc_parquet *, lc_parquet_close)

int64_t lc_parquet_rows(const struct lc_parquet *file);
/** True when a column matches the field (top-level, by `match`). */
bool lc_parquet_has(const struct lc_parquet *file, const struct lc_field *field, enum lc_match match);
/** Bytes that a top-level column takes in the file, as its footer says; 0 when there is none. */
int64_t lc_parquet_bytes(const struct lc_parquet *file, const struct lc_field *field, enum lc_match match);
/** The file's own schema as fields (names, field ids, types); lives as long as the file. */
lcdc_status lc_parquet_schema(struct lc_parquet *file, const struct lc_field **out, lcdc_error **err);

/** What to read. Everything is borrowed until the scan is closed. */
struct lc_parquet_request {
    const struct lc_field *schema; /* STRUCT of the columns wanted, in order; may have none */
    enum lc_match match;
    size_t n_constants;
    const struct lc_constant *constants;
    const struct lc_bitmap *include; /* positions to read; NULL = all */
    const struct lc_bitmap *exclude; /* positions not to read; NULL = none */
    size_t n_ranges;                 /* conjunction; skips row groups and pages that cannot hold a wanted row */
    const struct lc_range *ranges;   /* their fields are leaves of `schema` */
    int64_t first_row, n_rows;       /* a stretch of the file to keep to; n_rows 0 = all of it */
    bool keeps_dictionaries;         /* top-level texts and bytes of few different values may come as dictionary arrays
                                        of int32: what gathers and hashes rows knows these, little else does */
    int64_t batch_rows;              /* most rows a batch; 0 = 8192 */
    int64_t memory_limit;            /* bytes this scan may hold, but 4 MiB a column if that is more; 0 = 128 MiB */
};

struct lc_parquet_scan;
lcdc_status lc_parquet_scan_open(struct lc_parquet *file, const struct lc_parquet_request *request,
                                 struct lc_parquet_scan **out, lcdc_error **err);

/**
 * The next rows: a struct array of the requested schema and, when `positions` is not NULL, each row's position (an
 * array of out->length that lives until the next call). out->release is NULL at the end. Rows come in file order.
 */
lcdc_status lc_parquet_scan_next(struct lc_parquet_scan *scan, struct ArrowArray *out, const int64_t **positions,
                                 lcdc_error **err);
void lc_parquet_scan_close(struct lc_parquet_scan *scan);
LC_DEFINE_CLEANUP(struct lc_parquet_scan *, lc_parquet_scan_close)

/* ---- writing ---- */

struct lc_parquet_writer;
/** Takes `n` bytes; 0, or an errno value. */
typedef int (*lc_write_fn)(void *context, const void *bytes, size_t n);
lcdc_status lc_parquet_writer_open(const struct ArrowSchema *schema, lc_write_fn write, void *context,
                                   struct lc_parquet_writer **out, lcdc_error **err);
lcdc_status lc_parquet_writer_batch(struct lc_parquet_writer *writer, const struct ArrowArray *batch, lcdc_error **err);
lcdc_status lc_parquet_writer_finish(struct lc_parquet_writer *writer, lcdc_error **err);
void lc_parquet_writer_close(struct lc_parquet_writer *writer);

#endif
