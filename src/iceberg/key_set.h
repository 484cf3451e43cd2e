/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_set.h - the keys of equality deletes: key -> highest sequence number that deletes it, before and after a
 * snapshot.
 *
 * One set for each list of key columns in each scope (a partition, or the whole table). Null equals null, NaN equals
 * NaN, 0.0 and -0.0 differ, as in Iceberg's own comparison of boxed values.
 */
#ifndef LC_ICEBERG_KEY_SET_H
#define LC_ICEBERG_KEY_SET_H

#include "base/row_hash.h"
#include "iceberg/metadata.h"
#include "io/storage.h"

struct lc_iceberg_key_set;

/** Columns of a key set, found in any schema the table ever had: one may have been dropped or renamed since. */
struct lc_iceberg_key_columns {
    size_t n;
    const int32_t *ids;           /* equality ids, ascending */
    const struct lc_field **tops; /* top-level columns that hold them */
    const struct lc_field **leaves;
};
lcdc_status lc_iceberg_key_columns(struct lc_iceberg_metadata *metadata, size_t n, const int32_t *ids,
                                   struct lc_arena *arena, struct lc_iceberg_key_columns *out, lcdc_error **err);

lcdc_status lc_iceberg_key_set_new(const struct lc_iceberg_key_columns *columns, struct lc_iceberg_key_set **out,
                                   lcdc_error **err);
void lc_iceberg_key_set_free(struct lc_iceberg_key_set *set);

/** What was `after` becomes `before` too. */
void lc_iceberg_key_set_advance(struct lc_iceberg_key_set *set);
/** Reads a delete file into the set, for the sides it is live on. `url` is where it is. */
lcdc_status lc_iceberg_key_set_load(struct lc_iceberg_key_set *set, struct lc_storage *storage,
                                    const struct lc_iceberg_file *file, const char *url, bool before, bool after,
                                    lcdc_error **err);

/** keys[i] of row i of a struct array of the set's `tops`. */
lcdc_status lc_iceberg_key_hash(const struct lc_iceberg_key_columns *columns, const struct ArrowArray *rows,
                                struct lc_hash *keys, lcdc_error **err);
/** The highest sequence that deletes the key on each side; -1: none. */
void lc_iceberg_key_find(const struct lc_iceberg_key_set *set, struct lc_hash key, int64_t *before, int64_t *after);

#endif
