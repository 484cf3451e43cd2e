/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.h - what the pairing stages share: rows held over a window, grouped by a key, handed out again in a chosen
 * order.
 *
 * A stage reads a window (one commit, or the whole range), holds the rows that may have a partner, and at the end of
 * the window writes a list of what leaves: row numbers with the op they leave with.
 */
#ifndef LC_CORE_PAIRS_H
#define LC_CORE_PAIRS_H

#include "base/row_hash.h"
#include "core/change.h"
#include "core/held.h"

static inline bool lc_is_before(uint8_t op)
{
    return op == LCDC_OP_DELETE || op == LCDC_OP_UPDATE_BEFORE;
}

#define LC_NO_ROW UINT32_MAX
#define LC_NO_GROUP UINT32_MAX

struct lc_pair_row {
    uint32_t group; /* LC_NO_GROUP */
    uint8_t op;
};

/** Rows of one key: `left` are old images, `right` new ones. What the counters mean beyond that is the stage's. */
struct lc_pair_group {
    struct lc_hash key;
    uint32_t left, right;
    uint32_t left_row, right_row;
};

struct lc_pair_out {
    uint32_t row;   /* the image; of an `update` the before image */
    uint32_t after; /* of an `update`: the after image; LC_NO_ROW otherwise */
    uint8_t op;
};

struct lc_group_map {
    uint32_t n, cap;
    struct lc_pair_group *groups;
    uint32_t n_index; /* slots, a power of two */
    uint32_t *index;
};
/** The group of a key; LC_NO_GROUP when absent and not to be made. */
lcdc_status lc_group_find(struct lc_group_map *map, struct lc_hash key, bool make, uint32_t *out, lcdc_error **err);
void lc_group_map_done(struct lc_group_map *map);

struct lc_pairs {
    const struct lc_field *columns;
    struct lc_held *held;
    uint32_t n_rows, cap_rows;
    struct lc_pair_row *rows; /* by held number */
    int64_t *row_ids;         /* by held number, -1 = none; NULL until a batch with ids came */
    struct lc_hash *keys;     /* by held number, when kept: the identity key, zero = none */
    bool keep_keys;
    struct lc_group_map map;
    uint32_t n_out, cap_out, at_out;
    struct lc_pair_out *out;
};

lcdc_status lc_pairs_init(struct lc_pairs *pairs, const struct lc_field *columns, int64_t memory_limit,
                          lcdc_error **err);
void lc_pairs_done(struct lc_pairs *pairs);
/** For the next window. */
void lc_pairs_clear(struct lc_pairs *pairs);

/** Holds the rows of a batch for which take[i] is set; groups[i], and keys[i] when keys are kept, are noted with each.
 */
lcdc_status lc_pairs_hold(struct lc_pairs *pairs, const struct lc_change_batch *batch, const uint8_t *take,
                          const uint32_t *groups, const struct lc_hash *keys, lcdc_error **err);

/**
 * Old and new images of one group cancel one for one, first rows first: their op becomes 0. Groups must count held rows
 * only: left the old images, right the new ones. Rows without a group are left alone.
 */
void lc_pairs_cancel(struct lc_pairs *pairs);

/** Appends to the list of what leaves. */
lcdc_status lc_pairs_put(struct lc_pairs *pairs, uint32_t row, uint32_t after, lcdc_op op, lcdc_error **err);

/** The next batch of the list, at most `most` rows, updates apart from others; *more false when all has left. */
lcdc_status lc_pairs_take(struct lc_pairs *pairs, int64_t most, struct lc_change_batch *out, bool *more,
                          lcdc_error **err);

/* ---- keys ---- */

/** How rows of a window are told apart. */
struct lc_identity {
    size_t n;
    const size_t *columns; /* indexes into the image columns; n 0: by row id where the rows have one */
};

/** False for a row that has no id among rows that have some. */
static inline bool lc_has_key(struct lc_hash key)
{
    return key.a || key.b;
}
/** keys[i] for each row; *known false when the rows can be told apart by neither. */
lcdc_status lc_identity_keys(const struct lc_identity *identity, const struct lc_field *columns,
                             const struct lc_change_batch *batch, struct lc_hash *keys, bool *known, lcdc_error **err);

/* ---- the stages; each takes the stream below over ---- */

struct lc_stage_spec {
    const struct lc_field *columns;
    struct lc_identity identity;
    int64_t memory_limit, batch_rows;
};

/** A delete and an insert of one identity in one commit become an update pair; identities that occur more often stay as
 * they are. */
lcdc_status lc_stage_label(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                           struct lc_change_stream **out, lcdc_error **err);
/** Deletes and inserts of equal content in one commit leave no trace, in batches that say remakes_ids. */
lcdc_status lc_stage_carried(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                             struct lc_change_stream **out, lcdc_error **err);
/** Update pairs of one commit whose images are equal leave no trace. */
lcdc_status lc_stage_drop_noop(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                               struct lc_change_stream **out, lcdc_error **err);
/** The whole range as one commit: what cancels is gone, what is left is paired by identity. */
lcdc_status lc_stage_net(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                         struct lc_change_stream **out, lcdc_error **err);
/** Update halves of one identity in one commit become one row. */
lcdc_status lc_stage_fold(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                          struct lc_change_stream **out, lcdc_error **err);

#endif
