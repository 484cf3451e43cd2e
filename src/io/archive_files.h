/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_files.h - the names and the small files of a Parquet archive of changes; the contract is
 * docs/archive-format.md.
 *
 *   archive.json                                              what it is an archive of
 *   commits/000000/000000012_7382_1709209805123456/           sequence _ snapshot _ commit time; a thousand a group
 *   commits/000000/000000000_7370_1709200000000000_snapshot/  a whole state instead of changes
 *       manifest.json
 *       part-00000-0123456789abcdef.parquet
 *
 * A commit's folder appears with everything in it, in one step. The names alone are the index: a range is found without
 * opening a file. The small files carry the checksum of their own text. Written by sink/, read by archive/.
 */
#ifndef LC_IO_ARCHIVE_FILES_H
#define LC_IO_ARCHIVE_FILES_H

#include "base/checksum.h"
#include "base/field.h"

enum { LC_ARCHIVE_GROUP = 1000, LC_ARCHIVE_OPS = 6, LC_ARCHIVE_MAX_FILE = 64 << 20 };

/** Values are those of the windows that sinks are given. */
enum lc_archive_kind { LC_ARCHIVE_CHANGES, LC_ARCHIVE_SNAPSHOT, LC_ARCHIVE_REPLACE };

/** What the name of a commit's folder says. */
struct lc_archive_name {
    enum lc_archive_kind kind;
    int64_t sequence; /* its place in the archive; from 0, without gaps */
    int64_t snapshot; /* -1 none */
    int64_t ts_us;    /* INT64_MIN unknown */
};
void lc_archive_name_print(struct lc_buf *out, const struct lc_archive_name *name);
bool lc_archive_name_parse(struct lc_str text, struct lc_archive_name *out);
/** The folder of a group: sequence numbers [number * LC_ARCHIVE_GROUP, ...). */
void lc_archive_group_print(struct lc_buf *out, int64_t number);
bool lc_archive_group_parse(struct lc_str text, int64_t *number);

struct lc_archive_part {
    const char *name;
    int64_t rows, bytes;
    const char *checksum;
};

/** One commit. Texts, fields and parts live in an arena. */
struct lc_archive_manifest {
    struct lc_archive_name name;
    const char *cursor;
    struct lc_field images; /* STRUCT: the columns of both images, as they were at this commit */
    int64_t rows;
    int64_t ops[LC_ARCHIVE_OPS]; /* rows of each lcdc_op */
    size_t n_parts;
    struct lc_archive_part *parts;
};
void lc_archive_manifest_print(struct lc_buf *out, const struct lc_archive_manifest *manifest);
/** LC_R_ARCHIVE_BAD for what is damaged, altered or disagrees with itself. */
lcdc_status lc_archive_manifest_parse(struct lc_str text, struct lc_arena *arena, struct lc_archive_manifest *out,
                                      lcdc_error **err);

/** The archive itself; the columns are those before its first commit. */
struct lc_archive_head {
    const char *id, *table, *source;
    struct lc_field images;
};
void lc_archive_head_print(struct lc_buf *out, const struct lc_archive_head *head);
lcdc_status lc_archive_head_parse(struct lc_str text, struct lc_arena *arena, struct lc_archive_head *out,
                                  lcdc_error **err);

#endif
