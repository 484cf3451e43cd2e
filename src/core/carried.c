/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carried.c - rows that a rewrite only carried over.
 *
 * In the batches that say so (remakes_ids) a delete and an insert of one commit with equal content are one row that did
 * not change: they cancel, one for one. Deletes come first in a commit; once one is held every insert waits too, since
 * it may be the new image of a row whose old one is held.
 */
#include "core/stage.h"

static lcdc_status look(struct lc_stage *stage, struct lc_change_batch *batch, const struct lc_hash *keys, bool known,
                        uint8_t *hold, uint32_t *groups, lcdc_error **err)
{
    (void)keys;
    (void)known;
    if (!batch->remakes_ids)
        return LCDC_OK;
    LC_FREE struct lc_hash *content = lc_alloc((size_t)batch->n * sizeof(*content));
    LC_TRY_ALLOC(content);
    LC_TRY(lc_row_hash(stage->spec.columns, &batch->images, 0, NULL, content, err));
    for (int64_t i = 0; i < batch->n; i++) {
        bool is_old = lc_is_before((uint8_t)lc_change_op(batch, i));
        LC_TRY(lc_group_find(&stage->pairs.map, content[i], is_old, &groups[i], err));
        if (groups[i] == LC_NO_GROUP) {
            hold[i] = stage->pairs.map.n > 0;
            continue;
        }
        struct lc_pair_group *group = &stage->pairs.map.groups[groups[i]];
        hold[i] = 1;
        if (is_old)
            group->left++;
        else
            group->right++;
    }
    return LCDC_OK;
}

static lcdc_status resolve(struct lc_stage *stage, lcdc_error **err)
{
    struct lc_pairs *pairs = &stage->pairs;
    lc_pairs_cancel(pairs);
    for (int side = 0; side < 2; side++)
        for (uint32_t r = 0; r < pairs->n_rows; r++)
            if (pairs->rows[r].op && lc_is_before(pairs->rows[r].op) == (side == 0))
                LC_TRY(lc_pairs_put(pairs, r, LC_NO_ROW, (lcdc_op)pairs->rows[r].op, err));
    return LCDC_OK;
}

lcdc_status lc_stage_carried(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                             struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_stage_ops ops = {.look = look, .resolve = resolve};
    return lc_stage_new(take_below, spec, &ops, out, err);
}
