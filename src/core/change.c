/* SPDX-License-Identifier: Apache-2.0 */
#include "core/change.h"

#include "base/str.h"

static const struct {
    const char *word;
    lcdc_op op;
} words[] = {
    {"insert", LCDC_OP_INSERT},
    {"delete", LCDC_OP_DELETE},
    {"update_before", LCDC_OP_UPDATE_BEFORE},
    {"update_after", LCDC_OP_UPDATE_AFTER},
    {"update", LCDC_OP_UPDATE},
    {"update_preimage", LCDC_OP_UPDATE_BEFORE},
    {"update_postimage", LCDC_OP_UPDATE_AFTER},
};

const char *lcdc_op_name(lcdc_op op)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].op == op)
            return words[i].word; /* the first word of an op is the one the change row uses */
    return "";
}

lcdc_status lcdc_op_parse(const char *word, size_t length, lcdc_op *out, lcdc_error **err)
{
    struct lc_str text = {word, length};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (lc_str_is_nocase(text, words[i].word)) {
            *out = words[i].op;
            return LCDC_OK;
        }
    return lc_fail(
        err, LC_R_UNKNOWN_OP,
        "unknown change type '%.*s', expected insert, delete, update_preimage, update_postimage, update_before or "
        "update_after",
        LC_STR_ARG(text));
}

void lc_change_batch_done(struct lc_change_batch *batch)
{
    lc_array_release(&batch->images);
    lc_array_release(&batch->after);
    lc_free(batch->ops);
    lc_free(batch->row_ids);
    *batch = (struct lc_change_batch){0};
}
