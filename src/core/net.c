/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c - the range as one commit: the difference between its two ends.
 *
 * Old images and new images of equal content cancel, one for one, over the whole range: that is the multiset difference
 * of the two ends, whatever happened in between. What is left is paired by identity into updates where an identity is
 * left once on each side; the rest are deletes and inserts. The rows carry the id and time of the range's last commit.
 */
#include "core/stage.h"

static lcdc_status look(struct lc_stage *stage, struct lc_change_batch *batch, const struct lc_hash *keys, bool known,
                        uint8_t *hold, uint32_t *groups, lcdc_error **err)
{
    (void)keys;
    (void)known;
    LC_FREE struct lc_hash *content = lc_alloc((size_t)batch->n * sizeof(*content));
    LC_TRY_ALLOC(content);
    LC_TRY(lc_row_hash(stage->spec.columns, &batch->images, 0, NULL, content, err));
    for (int64_t i = 0; i < batch->n; i++) {
        hold[i] = 1;
        LC_TRY(lc_group_find(&stage->pairs.map, content[i], true, &groups[i], err));
        if (lc_is_before((uint8_t)lc_change_op(batch, i)))
            stage->pairs.map.groups[groups[i]].left++;
        else
            stage->pairs.map.groups[groups[i]].right++;
    }
    return LCDC_OK;
}

static lcdc_status count_identities(const struct lc_pairs *pairs, struct lc_group_map *map, lcdc_error **err)
{
    for (uint32_t r = 0; r < pairs->n_rows; r++) {
        uint32_t g;
        if (!pairs->rows[r].op || !lc_has_key(pairs->keys[r]))
            continue;
        LC_TRY(lc_group_find(map, pairs->keys[r], true, &g, err));
        if (lc_is_before(pairs->rows[r].op))
            map->groups[g].left++;
        else
            map->groups[g].right++;
    }
    return LCDC_OK;
}

static lcdc_status net_op(const struct lc_pairs *pairs, struct lc_group_map *map, uint32_t row, lcdc_op *out,
                          lcdc_error **err)
{
    bool before = lc_is_before(pairs->rows[row].op), paired = false;
    if (lc_has_key(pairs->keys[row])) {
        uint32_t g;
        LC_TRY(lc_group_find(map, pairs->keys[row], false, &g, err));
        paired = map->groups[g].left == 1 && map->groups[g].right == 1;
    }
    *out = before ? (paired ? LCDC_OP_UPDATE_BEFORE : LCDC_OP_DELETE)
                  : (paired ? LCDC_OP_UPDATE_AFTER : LCDC_OP_INSERT);
    return LCDC_OK;
}

static lcdc_status resolve(struct lc_stage *stage, lcdc_error **err)
{
    struct lc_pairs *pairs = &stage->pairs;
    LC_CLEANUP(lc_group_map_done) struct lc_group_map identities = {0};
    lc_pairs_cancel(pairs);
    LC_TRY(count_identities(pairs, &identities, err));
    for (int side = 0; side < 2; side++)
        for (uint32_t r = 0; r < pairs->n_rows; r++) {
            lcdc_op op;
            if (!pairs->rows[r].op || lc_is_before(pairs->rows[r].op) != (side == 0))
                continue;
            LC_TRY(net_op(pairs, &identities, r, &op, err));
            LC_TRY(lc_pairs_put(pairs, r, LC_NO_ROW, op, err));
        }
    return LCDC_OK;
}

lcdc_status lc_stage_net(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                         struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_stage_ops ops = {.look = look, .resolve = resolve, .whole_range = true, .keep_keys = true};
    return lc_stage_new(take_below, spec, &ops, out, err);
}
