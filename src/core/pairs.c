/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pairs.h"

#include <string.h>

/* ---- groups ---- */

void lc_group_map_done(struct lc_group_map *map)
{
    lc_free(map->groups);
    lc_free(map->index);
    *map = (struct lc_group_map){0};
}

static void group_map_clear(struct lc_group_map *map)
{
    map->n = 0;
    if (map->index)
        memset(map->index, 0xFF, map->n_index * sizeof(uint32_t));
}

static void index_put(struct lc_group_map *map, uint32_t group)
{
    uint32_t mask = map->n_index - 1;
    uint32_t at = (uint32_t)map->groups[group].key.a & mask;
    while (map->index[at] != LC_NO_GROUP)
        at = (at + 1) & mask;
    map->index[at] = group;
}

static lcdc_status grow_groups(struct lc_group_map *map, lcdc_error **err)
{
    if (map->n < map->cap)
        return LCDC_OK;
    if (map->cap > UINT32_MAX / 8)
        return lc_fail(err, LC_R_LIMIT, "more than %u different rows would have to be paired in one commit", map->cap);
    uint32_t cap = map->cap ? map->cap * 2 : 1024;
    struct lc_pair_group *groups = lc_realloc(map->groups, cap, sizeof(*groups));
    LC_TRY_ALLOC(groups);
    map->groups = groups;
    uint32_t *index = lc_realloc(map->index, (size_t)cap * 2, sizeof(*index));
    LC_TRY_ALLOC(index);
    map->index = index;
    map->cap = cap;
    map->n_index = cap * 2;
    memset(index, 0xFF, (size_t)map->n_index * sizeof(*index));
    for (uint32_t g = 0; g < map->n; g++)
        index_put(map, g);
    return LCDC_OK;
}

lcdc_status lc_group_find(struct lc_group_map *map, struct lc_hash key, bool make, uint32_t *out, lcdc_error **err)
{
    uint32_t mask = map->n_index - 1;
    *out = LC_NO_GROUP;
    for (uint32_t at = (uint32_t)key.a & mask; map->n_index && map->index[at] != LC_NO_GROUP; at = (at + 1) & mask)
        if (lc_hash_equal(map->groups[map->index[at]].key, key)) {
            *out = map->index[at];
            return LCDC_OK;
        }
    if (!make)
        return LCDC_OK;
    LC_TRY(grow_groups(map, err));
    map->groups[map->n] = (struct lc_pair_group){.key = key, .left_row = LC_NO_ROW, .right_row = LC_NO_ROW};
    index_put(map, map->n);
    *out = map->n++;
    return LCDC_OK;
}

lcdc_status lc_pairs_init(struct lc_pairs *pairs, const struct lc_field *columns, int64_t memory_limit,
                          lcdc_error **err)
{
    *pairs = (struct lc_pairs){.columns = columns};
    return lc_held_new(columns, memory_limit, &pairs->held, err);
}

void lc_pairs_done(struct lc_pairs *pairs)
{
    lc_held_free(pairs->held);
    lc_free(pairs->rows);
    lc_free(pairs->row_ids);
    lc_free(pairs->keys);
    lc_group_map_done(&pairs->map);
    lc_free(pairs->out);
    *pairs = (struct lc_pairs){0};
}

void lc_pairs_clear(struct lc_pairs *pairs)
{
    lc_held_clear(pairs->held);
    lc_free(lc_steal(pairs->row_ids));
    pairs->n_rows = pairs->n_out = pairs->at_out = 0;
    group_map_clear(&pairs->map);
}

/* ---- rows ---- */

static lcdc_status grow_rows(struct lc_pairs *pairs, int64_t more, lcdc_error **err)
{
    if ((int64_t)pairs->cap_rows - (int64_t)pairs->n_rows >= more)
        return LCDC_OK;
    int64_t cap = pairs->cap_rows ? (int64_t)pairs->cap_rows * 2 : 4096;
    if (cap < (int64_t)pairs->n_rows + more)
        cap = (int64_t)pairs->n_rows + more;
    if (cap >= UINT32_MAX)
        return lc_fail(err, LC_R_LIMIT, "more than %u rows of one commit would have to be held back", UINT32_MAX - 1);
    struct lc_pair_row *rows = lc_realloc(pairs->rows, (size_t)cap, sizeof(*rows));
    LC_TRY_ALLOC(rows);
    pairs->rows = rows;
    if (pairs->row_ids) {
        int64_t *ids = lc_realloc(pairs->row_ids, (size_t)cap, sizeof(*ids));
        LC_TRY_ALLOC(ids);
        pairs->row_ids = ids;
    }
    if (pairs->keep_keys) {
        struct lc_hash *keys = lc_realloc(pairs->keys, (size_t)cap, sizeof(*keys));
        LC_TRY_ALLOC(keys);
        pairs->keys = keys;
    }
    pairs->cap_rows = (uint32_t)cap;
    return LCDC_OK;
}

/* Ids are kept from the first batch that has some; rows without one get -1. */
static lcdc_status begin_row_ids(struct lc_pairs *pairs, lcdc_error **err)
{
    if (pairs->row_ids)
        return LCDC_OK;
    pairs->row_ids = lc_alloc((size_t)pairs->cap_rows * sizeof(int64_t));
    LC_TRY_ALLOC(pairs->row_ids);
    for (uint32_t i = 0; i < pairs->n_rows; i++)
        pairs->row_ids[i] = -1;
    return LCDC_OK;
}

lcdc_status lc_pairs_hold(struct lc_pairs *pairs, const struct lc_change_batch *batch, const uint8_t *take,
                          const uint32_t *groups, const struct lc_hash *keys, lcdc_error **err)
{
    LC_FREE int64_t *picked = lc_calloc((size_t)batch->n, sizeof(*picked));
    int64_t n = 0;
    LC_TRY_ALLOC(picked);
    for (int64_t i = 0; i < batch->n; i++)
        if (take[i])
            picked[n++] = i;
    if (n == 0)
        return LCDC_OK;
    uint32_t first;
    LC_TRY(grow_rows(pairs, n, err));
    if (batch->row_ids)
        LC_TRY(begin_row_ids(pairs, err));
    LC_TRY(lc_held_add(pairs->held, &batch->images, picked, n, &first, err));
    for (int64_t k = 0; k < n; k++) {
        pairs->rows[first + k] = (struct lc_pair_row){.group = groups[picked[k]],
                                                      .op = (uint8_t)lc_change_op(batch, picked[k])};
        if (pairs->row_ids)
            pairs->row_ids[first + k] = batch->row_ids ? batch->row_ids[picked[k]] : -1;
        if (pairs->keep_keys)
            pairs->keys[first + k] = keys ? keys[picked[k]] : (struct lc_hash){0, 0};
    }
    pairs->n_rows += (uint32_t)n;
    return LCDC_OK;
}

void lc_pairs_cancel(struct lc_pairs *pairs)
{
    for (uint32_t g = 0; g < pairs->map.n; g++) {
        struct lc_pair_group *group = &pairs->map.groups[g];
        group->left_row = group->right_row = group->left < group->right ? group->left : group->right;
    }
    for (uint32_t r = 0; r < pairs->n_rows; r++) {
        if (pairs->rows[r].group == LC_NO_GROUP)
            continue;
        struct lc_pair_group *group = &pairs->map.groups[pairs->rows[r].group];
        uint32_t *cancels = lc_is_before(pairs->rows[r].op) ? &group->left_row : &group->right_row;
        if (*cancels == 0)
            continue;
        --*cancels;
        pairs->rows[r].op = 0;
    }
}

/* ---- leaving ---- */

lcdc_status lc_pairs_put(struct lc_pairs *pairs, uint32_t row, uint32_t after, lcdc_op op, lcdc_error **err)
{
    if (pairs->n_out == pairs->cap_out) {
        uint32_t cap = pairs->cap_out ? pairs->cap_out * 2 : 4096;
        struct lc_pair_out *out = cap < pairs->cap_out ? NULL : lc_realloc(pairs->out, cap, sizeof(*out));
        LC_TRY_ALLOC(out);
        pairs->out = out;
        pairs->cap_out = cap;
    }
    pairs->out[pairs->n_out++] = (struct lc_pair_out){.row = row, .after = after, .op = (uint8_t)op};
    return LCDC_OK;
}

static lcdc_status gather_out(struct lc_pairs *pairs, int64_t n, bool after, struct ArrowArray *out, lcdc_error **err)
{
    LC_FREE uint32_t *numbers = lc_calloc((size_t)n, sizeof(*numbers));
    LC_TRY_ALLOC(numbers);
    for (int64_t i = 0; i < n; i++)
        numbers[i] = after ? pairs->out[pairs->at_out + i].after : pairs->out[pairs->at_out + i].row;
    return lc_held_gather(pairs->held, numbers, n, out, err);
}

lcdc_status lc_pairs_take(struct lc_pairs *pairs, int64_t most, struct lc_change_batch *out, bool *more,
                          lcdc_error **err)
{
    int64_t n = 0, left = (int64_t)pairs->n_out - pairs->at_out;
    *more = left > 0;
    if (!*more)
        return LCDC_OK;
    const struct lc_pair_out *list = pairs->out + pairs->at_out;
    bool updates = list[0].op == LCDC_OP_UPDATE;
    while (n < left && n < most && (list[n].op == LCDC_OP_UPDATE) == updates)
        n++;
    LC_TRY(gather_out(pairs, n, false, &out->images, err));
    if (updates)
        LC_TRY(gather_out(pairs, n, true, &out->after, err));
    out->n = n;
    out->ops = lc_alloc((size_t)n);
    LC_TRY_ALLOC(out->ops);
    for (int64_t i = 0; i < n; i++)
        out->ops[i] = list[i].op;
    if (pairs->row_ids) {
        out->row_ids = lc_alloc((size_t)n * sizeof(int64_t));
        LC_TRY_ALLOC(out->row_ids);
        for (int64_t i = 0; i < n; i++)
            out->row_ids[i] = pairs->row_ids[list[i].row];
    }
    pairs->at_out += (uint32_t)n;
    return LCDC_OK;
}

/* ---- keys ---- */

static lcdc_status row_id_keys(const struct lc_change_batch *batch, struct lc_hash *keys, lcdc_error **err)
{
    const void *no_validity[1] = {NULL};
    struct lc_field id_field = {.name = "id", .id = LC_NO_ID, .type = {.kind = LC_TYPE_INT64}};
    const struct lc_field id_schema = {
        .id = LC_NO_ID, .type = {.kind = LC_TYPE_STRUCT}, .n_children = 1, .children = &id_field};
    const void *buffers[2] = {NULL, batch->row_ids};
    struct ArrowArray column = {.length = batch->n, .n_buffers = 2, .buffers = buffers};
    struct ArrowArray *children[1] = {&column};
    struct ArrowArray rows = {
        .length = batch->n, .n_buffers = 1, .buffers = no_validity, .n_children = 1, .children = children};
    LC_TRY(lc_row_hash(&id_schema, &rows, 0, NULL, keys, err));
    for (int64_t i = 0; i < batch->n; i++)
        if (batch->row_ids[i] < 0)
            keys[i] = (struct lc_hash){0, 0};
    return LCDC_OK;
}

lcdc_status lc_identity_keys(const struct lc_identity *identity, const struct lc_field *columns,
                             const struct lc_change_batch *batch, struct lc_hash *keys, bool *known, lcdc_error **err)
{
    *known = true;
    if (identity->n)
        return lc_row_hash(columns, &batch->images, identity->n, identity->columns, keys, err);
    if (batch->row_ids)
        return row_id_keys(batch, keys, err);
    *known = false;
    return LCDC_OK;
}
