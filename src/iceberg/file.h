/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - a manifest entry with everything inherited: one data or delete file of one snapshot.
 */
#ifndef LC_ICEBERG_FILE_H
#define LC_ICEBERG_FILE_H

#include "base/value.h"
#include "scan/commit.h"

enum lc_iceberg_status { LC_ICEBERG_EXISTING = 0, LC_ICEBERG_ADDED = 1, LC_ICEBERG_DELETED = 2 };
enum lc_iceberg_content { LC_ICEBERG_DATA = 0, LC_ICEBERG_POSITION_DELETES = 1, LC_ICEBERG_EQUALITY_DELETES = 2 };
enum lc_iceberg_format { LC_ICEBERG_PARQUET, LC_ICEBERG_AVRO, LC_ICEBERG_ORC, LC_ICEBERG_PUFFIN };

struct lc_iceberg_bound {
    int32_t field_id;
    struct lc_str bytes; /* single-value serialisation */
};
struct lc_iceberg_count {
    int32_t field_id;
    int64_t count;
};

/** Texts and arrays live in the arena the manifest was read into. Unknown numbers are -1. */
struct lc_iceberg_file {
    enum lc_iceberg_status status;
    int64_t snapshot_id; /* that added or deleted it */
    int64_t data_sequence, file_sequence;
    enum lc_iceberg_content content;
    enum lc_iceberg_format format;
    struct lc_str path; /* as the metadata spells it; identity of the file */
    int32_t spec_id;
    size_t n_partition; /* one value a partition field of the spec, in its order */
    const struct lc_value *partition;
    int64_t record_count, size;
    size_t n_lower, n_upper, n_nulls, n_nans;
    const struct lc_iceberg_bound *lower, *upper;
    const struct lc_iceberg_count *nulls, *nans;
    size_t n_equality_ids;
    const int32_t *equality_ids;
    int64_t first_row_id;
    struct lc_str referenced_data_file;   /* n 0 = none */
    int64_t content_offset, content_size; /* of a deletion vector's blob in its puffin file */
};

#endif
