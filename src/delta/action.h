/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action.h - the actions of the Delta log that a reader of changes needs, from one JSON line each.
 *
 * Unknown actions and unknown members are ignored, as the protocol wants; known ones must have the shape it gives them.
 */
#ifndef LC_DELTA_ACTION_H
#define LC_DELTA_ACTION_H

#include "base/arena.h"
#include "base/error.h"
#include "io/json.h"

struct lc_delta_pair {
    struct lc_str key, value;
    bool is_null;
};

struct lc_delta_vector {
    char storage; /* 'u', 'i', 'p'; 0 = no vector */
    struct lc_str path_or_inline;
    int64_t offset, size, cardinality;
};

/** add, remove and cdc alike. Unknown numbers are -1. */
struct lc_delta_file {
    struct lc_str path; /* decoded once; relative to the table or absolute */
    bool has_partition_values;
    size_t n_partition_values;
    const struct lc_delta_pair *partition_values;
    int64_t size;
    bool data_change;
    struct lc_str stats; /* JSON text; n 0 = none */
    int64_t rows;        /* numRecords of the stats */
    struct lc_delta_vector vector;
    int64_t base_row_id, default_row_version;
};

struct lc_delta_metadata {
    struct lc_str id, schema;
    size_t n_partition_columns;
    const struct lc_str *partition_columns;
    size_t n_configuration;
    const struct lc_delta_pair *configuration;
};

struct lc_delta_protocol {
    int64_t reader_version;
    size_t n_reader_features;
    const struct lc_str *reader_features;
};

struct lc_delta_commit_info {
    struct lc_str operation;
    bool has_in_commit_ts;
    int64_t in_commit_ts_ms;
    bool row_ids_preserved;    /* tag delta.rowTracking.preserved */
    struct lc_str transaction; /* txnId */
};

enum lc_delta_action_kind {
    LC_DELTA_OTHER,
    LC_DELTA_ADD,
    LC_DELTA_REMOVE,
    LC_DELTA_CDC,
    LC_DELTA_METADATA,
    LC_DELTA_PROTOCOL,
    LC_DELTA_COMMIT_INFO,
    LC_DELTA_SIDECAR,
    LC_DELTA_CHECKPOINT_METADATA
};

struct lc_delta_action {
    enum lc_delta_action_kind kind;
    union {
        struct lc_delta_file file;
        struct lc_delta_metadata metadata;
        struct lc_delta_protocol protocol;
        struct lc_delta_commit_info commit_info;
        struct lc_str sidecar; /* its path */
    };
};

enum { LC_DELTA_MAX_LINE = 256 * 1024 * 1024 };

/** Reads one line; texts are copied into `arena`. */
lcdc_status lc_delta_action_parse(struct lc_str line, struct lc_arena *arena, struct lc_delta_action *out,
                                  lcdc_error **err);

/** The action a line holds, by its first key alone: a cheap look before the whole line is parsed. */
enum lc_delta_action_kind lc_delta_action_peek(struct lc_str line);

/** The next line of a text that is not blank; false at the end. */
bool lc_delta_next_line(struct lc_str *rest, struct lc_str *line);

/** A configuration value, or NULL with n 0. */
struct lc_str lc_delta_configuration(const struct lc_delta_metadata *metadata, const char *key);
bool lc_delta_is_true(const struct lc_delta_metadata *metadata, const char *key);

/** Takes numRecords out of the stats text. Bad stats count as absent. */
int64_t lc_delta_stats_rows(struct lc_str stats);

bool lc_delta_vector_equal(const struct lc_delta_vector *a, const struct lc_delta_vector *b);

#endif
