/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.c - the two halves of an update become one row.
 *
 * Halves pair on (commit, identity), one to one, in order. A half without a partner passes through as it is: the filter
 * may have taken the other one. Rows that share an identity with a held half wait with it, so that their order stays.
 */
#include <inttypes.h>

#include "core/stage.h"

/* Without an identity and without row ids nothing says which halves belong together. */
static lcdc_status refuse_unknown(const struct lc_change_batch *batch, lcdc_error **err)
{
    for (int64_t i = 0; i < batch->n; i++) {
        lcdc_op op = lc_change_op(batch, i);
        if (op == LCDC_OP_UPDATE_BEFORE || op == LCDC_OP_UPDATE_AFTER)
            return lc_fail(err, LC_R_IDENTITY_NEEDED,
                           "fold: the updates of commit %" PRId64
                           " carry no row ids, name the columns that tell rows apart with --identity",
                           batch->snapshot);
    }
    return LCDC_OK;
}

static lcdc_status look(struct lc_stage *stage, struct lc_change_batch *batch, const struct lc_hash *keys, bool known,
                        uint8_t *hold, uint32_t *groups, lcdc_error **err)
{
    if (!known)
        return refuse_unknown(batch, err);
    for (int64_t i = 0; i < batch->n; i++) {
        lcdc_op op = lc_change_op(batch, i);
        if (op == LCDC_OP_DELETE || !lc_has_key(keys[i]))
            continue;
        LC_TRY(lc_group_find(&stage->pairs.map, keys[i], op == LCDC_OP_UPDATE_BEFORE, &groups[i], err));
        hold[i] = groups[i] != LC_NO_GROUP;
    }
    return LCDC_OK;
}

/* Per group the before-halves form a queue: left_row is its next, next_left[] links held rows. */
static void queue_befores(struct lc_pairs *pairs, uint32_t *next_left)
{
    for (uint32_t r = pairs->n_rows; r-- > 0;) {
        if (pairs->rows[r].op != LCDC_OP_UPDATE_BEFORE)
            continue;
        struct lc_pair_group *group = &pairs->map.groups[pairs->rows[r].group];
        next_left[r] = group->left_row;
        group->left_row = r;
    }
}

/* partner[r] of an after-half is the before-half it folds with, and the other way round. */
static void match_halves(struct lc_pairs *pairs, const uint32_t *next_left, uint32_t *partner)
{
    for (uint32_t r = 0; r < pairs->n_rows; r++)
        partner[r] = LC_NO_ROW;
    for (uint32_t r = 0; r < pairs->n_rows; r++) {
        struct lc_pair_group *group = &pairs->map.groups[pairs->rows[r].group];
        if (pairs->rows[r].op != LCDC_OP_UPDATE_AFTER || group->left_row == LC_NO_ROW)
            continue;
        partner[r] = group->left_row;
        partner[group->left_row] = r;
        group->left_row = next_left[group->left_row];
    }
}

static lcdc_status resolve(struct lc_stage *stage, lcdc_error **err)
{
    struct lc_pairs *pairs = &stage->pairs;
    LC_FREE uint32_t *next_left = lc_calloc(pairs->n_rows, sizeof(uint32_t));
    LC_FREE uint32_t *partner = lc_calloc(pairs->n_rows, sizeof(uint32_t));
    LC_TRY_ALLOC(next_left && partner);
    queue_befores(pairs, next_left);
    match_halves(pairs, next_left, partner);
    for (uint32_t r = 0; r < pairs->n_rows; r++)
        if (pairs->rows[r].op == LCDC_OP_UPDATE_BEFORE && partner[r] == LC_NO_ROW)
            LC_TRY(lc_pairs_put(pairs, r, LC_NO_ROW, LCDC_OP_UPDATE_BEFORE, err));
    for (uint32_t r = 0; r < pairs->n_rows; r++) {
        if (pairs->rows[r].op == LCDC_OP_UPDATE_BEFORE)
            continue;
        if (partner[r] != LC_NO_ROW)
            LC_TRY(lc_pairs_put(pairs, partner[r], r, LCDC_OP_UPDATE, err));
        else
            LC_TRY(lc_pairs_put(pairs, r, LC_NO_ROW, (lcdc_op)pairs->rows[r].op, err));
    }
    return LCDC_OK;
}

lcdc_status lc_stage_fold(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                          struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_stage_ops ops = {.look = look, .resolve = resolve};
    return lc_stage_new(take_below, spec, &ops, out, err);
}
