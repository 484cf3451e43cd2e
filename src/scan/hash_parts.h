/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_parts.h - the content hashes of two sides' rows, dealt into parts by hash so that equal rows meet in one part.
 *
 * 16 bytes a row: 96 bits of the hash (the part tells some more) and the row's number on its side. What passes the
 * memory given goes to a temporary file, in pieces; a part is read back whole. Entries of a part come in the order of
 * the row sets and of their rows, whatever thread wrote them when.
 */
#ifndef LC_SCAN_HASH_PARTS_H
#define LC_SCAN_HASH_PARTS_H

#include "base/row_hash.h"

enum lc_hash_side { LC_HASH_REMOVED = 0, LC_HASH_ADDED = 1 };

struct lc_hash_entry {
    uint64_t hash;
    uint32_t check;
    uint32_t row;
};

struct lc_hash_parts;
/** For about `rows` rows in `sets` row sets of both sides together, holding about `memory` bytes. */
lcdc_status lc_hash_parts_new(int64_t rows, size_t sets, int64_t memory, struct lc_hash_parts **out, lcdc_error **err);
void lc_hash_parts_free(struct lc_hash_parts *parts);
LC_DEFINE_CLEANUP(struct lc_hash_parts *, lc_hash_parts_free)
size_t lc_hash_parts_count(const struct lc_hash_parts *parts);

/** Writes the rows of one row set; several sets may be written at the same time. */
struct lc_hash_writer;
lcdc_status lc_hash_writer_new(struct lc_hash_parts *parts, enum lc_hash_side side, size_t set,
                               struct lc_hash_writer **out, lcdc_error **err);
/** Rows first, first + 1, ... of the side, without those whose byte in `skip` is 1 (NULL: all). */
lcdc_status lc_hash_writer_add(struct lc_hash_writer *writer, size_t n, const struct lc_hash *hashes, uint32_t first,
                               const uint8_t *skip, lcdc_error **err);
/** The last of them; without it they are lost. */
lcdc_status lc_hash_writer_finish(struct lc_hash_writer *writer, lcdc_error **err);
void lc_hash_writer_free(struct lc_hash_writer *writer);
LC_DEFINE_CLEANUP(struct lc_hash_writer *, lc_hash_writer_free)

/** All entries of a part; lc_free. When no writer writes any more. @thread any */
lcdc_status lc_hash_parts_read(struct lc_hash_parts *parts, enum lc_hash_side side, size_t part,
                               struct lc_hash_entry **out, size_t *n, lcdc_error **err);

#endif
