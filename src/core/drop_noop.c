/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drop_noop.c - updates that changed nothing.
 *
 * A before-image and an after-image with the same content cancel (null = null, NaN = NaN); where rows have an identity
 * it must be the same too, which declared identity columns are by having the same content. Inserts that come after a
 * held before-image wait too: one may bear the identity that an update gave up, and must not overtake it.
 */
#include "core/stage.h"

static lcdc_status look(struct lc_stage *stage, struct lc_change_batch *batch, const struct lc_hash *keys, bool known,
                        uint8_t *hold, uint32_t *groups, lcdc_error **err)
{
    LC_FREE struct lc_hash *content = lc_alloc((size_t)batch->n * sizeof(*content));
    LC_TRY_ALLOC(content);
    LC_TRY(lc_row_hash(stage->spec.columns, &batch->images, 0, NULL, content, err));
    for (int64_t i = 0; i < batch->n; i++) {
        lcdc_op op = lc_change_op(batch, i);
        if (op != LCDC_OP_UPDATE_BEFORE && op != LCDC_OP_UPDATE_AFTER) {
            hold[i] = op == LCDC_OP_INSERT && known && stage->pairs.map.n > 0;
            continue;
        }
        struct lc_hash key = content[i];
        if (known)
            key = (struct lc_hash){key.a ^ (keys[i].a << 1 | keys[i].a >> 63), key.b + keys[i].b};
        LC_TRY(lc_group_find(&stage->pairs.map, key, true, &groups[i], err));
        struct lc_pair_group *group = &stage->pairs.map.groups[groups[i]];
        hold[i] = 1;
        if (op == LCDC_OP_UPDATE_BEFORE)
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

lcdc_status lc_stage_drop_noop(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                               struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_stage_ops ops = {.look = look, .resolve = resolve};
    return lc_stage_new(take_below, spec, &ops, out, err);
}
