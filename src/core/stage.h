/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.h - the frame of a pairing stage: reads the stream below window by window, lets the stage's two functions hold
 * and resolve, and hands out the result with the commit's id and end mark.
 */
#ifndef LC_CORE_STAGE_H
#define LC_CORE_STAGE_H

#include "core/pairs.h"

struct lc_stage;

struct lc_stage_ops {
    /**
     * Looks at a batch with rows: sets hold[i] for what must wait (groups[i] may be set too) and leaves the rest, which
     * is passed on at once. `keys` are the identity keys; known says whether there are any.
     */
    lcdc_status (*look)(struct lc_stage *stage, struct lc_change_batch *batch, const struct lc_hash *keys, bool known,
                        uint8_t *hold, uint32_t *groups, lcdc_error **err);
    /** At the end of a window: writes what leaves with lc_pairs_put(). */
    lcdc_status (*resolve)(struct lc_stage *stage, lcdc_error **err);
    bool whole_range; /* the window is the range, not a commit */
    bool keep_keys;   /* identity keys are kept with held rows */
};

struct lc_stage {
    struct lc_change_stream stream;
    const struct lc_stage_ops *ops;
    struct lc_change_stream *below;
    struct lc_stage_spec spec;
    struct lc_pairs pairs;
    bool resolving, ended;
    struct lc_change_batch mark; /* id and time of the window, no rows */
    /* scratch, grown to the largest batch */
    int64_t cap;
    struct lc_hash *keys;
    uint8_t *hold;
    uint32_t *groups;
};

lcdc_status lc_stage_new(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                         const struct lc_stage_ops *ops, struct lc_change_stream **out, lcdc_error **err);

#endif
