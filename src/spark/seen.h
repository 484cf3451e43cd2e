/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen.h - the rows of one commit that have left already, as a multiset of hashes.
 */
#ifndef LC_SPARK_SEEN_H
#define LC_SPARK_SEEN_H

#include "base/row_hash.h"

enum { LC_SEEN_MAX = 1 << 20 };

struct lc_seen {
    struct lc_hash *hashes; /* the first n_known are sorted and may come again */
    uint32_t *taken;        /* at the first of equal known ones: how many of them came again */
    size_t n, n_known;
    bool is_full; /* more than LC_SEEN_MAX: they were not kept */
};

void lc_seen_done(struct lc_seen *seen);
/** Another commit begins. */
void lc_seen_clear(struct lc_seen *seen);
/** The commit is read again: what left so far will come again. */
lcdc_status lc_seen_rewind(struct lc_seen *seen, lcdc_error **err);
/** *again true for a row that left before and comes again (once for each time it left); else it is noted as leaving. */
lcdc_status lc_seen_pass(struct lc_seen *seen, struct lc_hash hash, bool *again, lcdc_error **err);

#endif
