/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a struct array into two by moving its children; no value is copied. */
#include <string.h>

#include "base/arrow.h"

struct split {
    const void *buffers[1];
    struct ArrowArray **children;
    struct ArrowArray *items;
    int64_t n;
};

static void split_release(struct ArrowArray *array)
{
    struct split *owner = array->private_data;
    for (int64_t i = 0; i < owner->n; i++)
        lc_array_release(&owner->items[i]);
    lc_free(owner->children);
    lc_free(owner->items);
    lc_free(owner);
    array->release = NULL;
}

static lcdc_status split_new(int64_t n, const struct ArrowArray *from, struct ArrowArray *out, lcdc_error **err)
{
    struct split *owner = lc_calloc(1, sizeof(*owner));
    struct ArrowArray **children = lc_calloc((size_t)n, sizeof(struct ArrowArray *));
    struct ArrowArray *items = lc_calloc((size_t)n, sizeof(*items));
    if (!owner || !children || !items) {
        lc_free(owner);
        lc_free(children);
        lc_free(items);
        return lc_fail_oom(err);
    }
    for (int64_t i = 0; i < n; i++)
        children[i] = &items[i];
    *owner = (struct split){.children = children, .items = items, .n = n};
    *out = (struct ArrowArray){.length = from->length,
                               .offset = from->offset,
                               .n_buffers = 1,
                               .n_children = n,
                               .buffers = owner->buffers,
                               .children = children,
                               .release = split_release,
                               .private_data = owner};
    return LCDC_OK;
}

lcdc_status lc_array_split(struct ArrowArray *take_array, size_t n_first, struct ArrowArray *out_first,
                           struct ArrowArray *out_rest, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray array = {0}, first = {0}, rest = {0};
    lc_array_move(take_array, &array);
    int64_t n = (int64_t)n_first, m = array.n_children - n;
    LC_TRY(split_new(n, &array, &first, err));
    LC_TRY(split_new(m, &array, &rest, err));
    for (int64_t i = 0; i < n; i++)
        lc_array_move(array.children[i], first.children[i]);
    for (int64_t i = 0; i < m; i++)
        lc_array_move(array.children[n + i], rest.children[i]);
    lc_array_move(&first, out_first);
    lc_array_move(&rest, out_rest);
    return LCDC_OK;
}
