/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_filter.h - "was this row's content among those?", in about five bytes a row.
 *
 * 31 bits of each hash, its mark, in buckets of one cache line. No row that was added is ever missed; one that was not
 * is taken for one that was in about six of a thousand million cases. Which marks were looked for can be told as well.
 */
#ifndef LC_SCAN_HASH_FILTER_H
#define LC_SCAN_HASH_FILTER_H

#include "base/row_hash.h"

struct lc_hash_filter;
/** For at most `rows` rows. */
lcdc_status lc_hash_filter_new(int64_t rows, struct lc_hash_filter **out, lcdc_error **err);
void lc_hash_filter_free(struct lc_hash_filter *filter);
/** Bytes that a filter for so many rows takes. */
int64_t lc_hash_filter_bytes(int64_t rows);
/** @thread any, several at a time */
void lc_hash_filter_add(struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes);
/** missing[i] = 1 where row i was certainly not added; how many. Not while rows are added. @thread any, as the next */
size_t lc_hash_filter_missing(const struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes,
                              uint8_t *missing);
/** The same, and the marks that are found are remembered. */
size_t lc_hash_filter_hit(struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes, uint8_t *missing);
/** Nothing is added or looked for any more. */
lcdc_status lc_hash_filter_settle(struct lc_hash_filter *filter, lcdc_error **err);
/** missing[i] = 1 where row i, which was added, was not hit; how many. Of a settled filter. @thread any */
size_t lc_hash_filter_unhit(const struct lc_hash_filter *filter, size_t n, const struct lc_hash *hashes,
                            uint8_t *missing);

#endif
