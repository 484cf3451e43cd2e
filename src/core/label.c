/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label.c - a delete and an insert of one identity in one commit are an update.
 *
 * Deletes come first in a commit, so an insert whose identity no delete had leaves at once. An identity that occurs
 * more than once on a side is not guessed at: its rows stay deletes and inserts.
 */
#include "core/stage.h"

static lcdc_status look(struct lc_stage *stage, struct lc_change_batch *batch, const struct lc_hash *keys, bool known,
                        uint8_t *hold, uint32_t *groups, lcdc_error **err)
{
    for (int64_t i = 0; known && i < batch->n; i++) {
        lcdc_op op = lc_change_op(batch, i);
        if (op == LCDC_OP_UPDATE_BEFORE)
            continue;
        LC_TRY(lc_group_find(&stage->pairs.map, keys[i], op == LCDC_OP_DELETE, &groups[i], err));
        if (groups[i] == LC_NO_GROUP)
            continue;
        struct lc_pair_group *group = &stage->pairs.map.groups[groups[i]];
        hold[i] = 1; /* an after-half whose identity was deleted as well must not overtake the delete */
        if (op == LCDC_OP_DELETE)
            group->left++;
        else if (op == LCDC_OP_INSERT)
            group->right++;
    }
    return LCDC_OK;
}

static lcdc_status resolve(struct lc_stage *stage, lcdc_error **err)
{
    struct lc_pairs *pairs = &stage->pairs;
    for (int side = 0; side < 2; side++) {
        for (uint32_t r = 0; r < pairs->n_rows; r++) {
            const struct lc_pair_group *group = &pairs->map.groups[pairs->rows[r].group];
            lcdc_op op = (lcdc_op)pairs->rows[r].op;
            if ((op == LCDC_OP_DELETE) != (side == 0))
                continue;
            if (op != LCDC_OP_UPDATE_AFTER && group->left == 1 && group->right == 1)
                op = side == 0 ? LCDC_OP_UPDATE_BEFORE : LCDC_OP_UPDATE_AFTER;
            LC_TRY(lc_pairs_put(pairs, r, LC_NO_ROW, op, err));
        }
    }
    return LCDC_OK;
}

lcdc_status lc_stage_label(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                           struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_stage_ops ops = {.look = look, .resolve = resolve};
    return lc_stage_new(take_below, spec, &ops, out, err);
}
