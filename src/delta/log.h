/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what the folder _delta_log holds: commits, complete checkpoints, version checksums, file times. One listing,
 * no pointer file is trusted.
 */
#ifndef LC_DELTA_LOG_H
#define LC_DELTA_LOG_H

#include "io/storage.h"

enum lc_delta_checkpoint_kind { LC_DELTA_CHECKPOINT_PARQUET, LC_DELTA_CHECKPOINT_JSON };

struct lc_delta_checkpoint {
    int64_t version;
    enum lc_delta_checkpoint_kind kind;
    size_t n_parts;
    const char **parts; /* full paths, in order */
    int64_t *sizes;     /* of the parts, -1 unknown */
};

/* A version's checksum file: see version_checksum.h. */
struct lc_delta_checksum_file {
    int64_t version;
    int64_t size; /* bytes, -1 unknown */
};

struct lc_delta_commit_file {
    int64_t version;
    int64_t ts_ms;    /* file time made monotonic, INT64_MIN unknown */
    int64_t mtime_ms; /* as the storage has it */
    int64_t size;     /* bytes, -1 unknown */
    char stamp[17];   /* half the checksum of its text; "": not read yet */
};

struct lc_delta_log {
    int n_users;
    struct lc_storage *storage;
    const char *root; /* the table's folder */
    char *folder;     /* root/_delta_log */
    struct lc_arena arena;
    size_t n_commits, cap_commits;
    struct lc_delta_commit_file *commits; /* ascending */
    size_t n_checkpoints;
    struct lc_delta_checkpoint *checkpoints; /* ascending; only complete ones */
    size_t n_checksums;
    struct lc_delta_checksum_file *checksums; /* ascending */
    int64_t latest;                           /* newest version that is there */
    bool has_staged;                          /* _staged_commits is there: a catalog may know newer commits */
    /* texts of commits, kept while they are small: each is read for the schema, the plan and the rows */
    size_t n_cached;
    struct lc_delta_cached {
        int64_t version;
        char *text;
        size_t n;
    } * cached;
    size_t cap_cached, cached_bytes;
    int64_t expected_to, wanted_to; /* see lc_delta_log_expect() */
    struct lc_buf scratch;
    const _Atomic int *asked; /* non-zero: the next commit is not read any more; NULL: nobody asks */
};

/** LC_R_TABLE_MISSING when there is no log with at least one commit or checkpoint. */
lcdc_status lc_delta_log_open(struct lc_storage *storage, const char *root, struct lc_delta_log **out,
                              lcdc_error **err);
/** One more user; lc_delta_log_free() frees for the last one. */
struct lc_delta_log *lc_delta_log_ref(struct lc_delta_log *log);
void lc_delta_log_free(struct lc_delta_log *log);
LC_DEFINE_CLEANUP(struct lc_delta_log *, lc_delta_log_free)

/**
 * Finds what has been committed since the log was listed, without listing it again. *is_whole false: it must be, since
 * the newest commit is not what it was, or too much came after it.
 */
lcdc_status lc_delta_log_refresh(struct lc_delta_log *log, bool *is_whole, lcdc_error **err);

/** NULL when the commit's file is not there. */
const struct lc_delta_commit_file *lc_delta_log_find(const struct lc_delta_log *log, int64_t version);

/** The text of a commit; borrowed until the next call. LC_R_DELTA_VERSION_GAP or _GONE when it is missing. */
lcdc_status lc_delta_log_commit(struct lc_delta_log *log, int64_t version, struct lc_str *out, lcdc_error **err);

/** Makes the stamp of a version known, where its commit's file is still there. */
lcdc_status lc_delta_log_want_stamp(struct lc_delta_log *log, int64_t version, lcdc_error **err);
/** 16 hexadecimal digits, or NULL: the text of this commit was not read. */
const char *lc_delta_log_stamp(const struct lc_delta_log *log, int64_t version);

/**
 * The newest version and what its file looks like, as a text, appended. With the text of an earlier look only that
 * version's file and the place of the next one are looked at; the text stays the same while nothing was committed,
 * taken back or made anew.
 */
lcdc_status lc_delta_log_tip(struct lc_storage *storage, const char *root, const char *before, struct lc_buf *out,
                             lcdc_error **err);

/** Says that commits up to a version will be read, so that a remote store is asked for several at a time. */
void lc_delta_log_expect(struct lc_delta_log *log, int64_t last);

/** The first version from which on every commit up to the latest is there. */
int64_t lc_delta_log_first_whole(const struct lc_delta_log *log);

/** The newest version checksum file at or below a version, NULL when there is none. */
const struct lc_delta_checksum_file *lc_delta_log_checksum(const struct lc_delta_log *log, int64_t version);
/** Whether every commit from `first` to `last` is there. */
bool lc_delta_log_is_whole(const struct lc_delta_log *log, int64_t first, int64_t last);

/** The newest complete checkpoint at or below a version, NULL when there is none. */
const struct lc_delta_checkpoint *lc_delta_log_checkpoint(const struct lc_delta_log *log, int64_t version);

#endif
