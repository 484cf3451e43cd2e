/* SPDX-License-Identifier: Apache-2.0 */
#include "support/change_stream.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "support/arrays.h"
#include "support/json_rows.h"

struct script {
    struct lc_change_stream base;
    const struct lc_field *columns;
    size_t n, at;
    const struct lc_script_batch *batches;
    int *released;
};

static const char letters[] = "?idbau";

static lcdc_status script_next(struct lc_change_stream *stream, struct lc_change_batch *out, bool *more,
                               lcdc_error **err)
{
    struct script *self = (struct script *)stream;
    *more = self->at < self->n;
    if (!*more)
        return LCDC_OK;
    const struct lc_script_batch *batch = &self->batches[self->at++];
    if (batch->ops && batch->ops[0] == '!')
        return lc_fail(err, LC_R_IO_FAILED, "the script fails here");
    LC_CHANGE_BATCH struct lc_change_batch made = {.n = batch->ops ? (int64_t)strlen(batch->ops) : 0,
                                                   .snapshot = batch->snapshot,
                                                   .ts_us = batch->snapshot * 1000000,
                                                   .has_snapshot = true,
                                                   .has_ts = true,
                                                   .ends_commit = batch->ends_commit};
    if (made.n) {
        made.ops = lc_alloc((size_t)made.n);
        LC_TRY_ALLOC(made.ops);
        for (int64_t i = 0; i < made.n; i++)
            made.ops[i] = (uint8_t)(strchr(letters, tolower((unsigned char)batch->ops[i])) - letters);
        made.remakes_ids = isupper((unsigned char)batch->ops[0]);
        if (!json_rows(batch->rows, self->columns, 0, &made.images) || made.images.length != made.n)
            return lc_fail(err, LC_R_INTERNAL, "the script has other rows than ops: %s", batch->rows);
    }
    if (made.n && batch->row_ids) {
        made.row_ids = lc_alloc((size_t)made.n * sizeof(int64_t));
        LC_TRY_ALLOC(made.row_ids);
        memcpy(made.row_ids, batch->row_ids, (size_t)made.n * sizeof(int64_t));
    }
    *out = made;
    made = (struct lc_change_batch){0};
    return LCDC_OK;
}

static void script_release(struct lc_change_stream *stream)
{
    ++*((struct script *)stream)->released;
    lc_free(stream);
}

lcdc_status lc_script_stream(const struct lc_field *columns, size_t n, const struct lc_script_batch *batches,
                             int *released, struct lc_change_stream **out, lcdc_error **err)
{
    static const struct lc_change_stream_ops ops = {script_next, script_release};
    struct script *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct script){.base.ops = &ops, .columns = columns, .n = n, .batches = batches, .released = released};
    *out = &self->base;
    return LCDC_OK;
}

void lc_change_batch_text(const struct lc_change_batch *batch, const struct lc_field *columns, struct lc_buf *out)
{
    for (int64_t i = 0; i < batch->n; i++) {
        lc_buf_char(out, letters[lc_change_op(batch, i)]);
        lc_test_print_row(out, &batch->images, columns, i);
        if (batch->after.release) {
            lc_buf_char(out, '>');
            lc_test_print_row(out, &batch->after, columns, i);
        }
        lc_buf_char(out, ' ');
    }
    if (batch->ends_commit && batch->has_snapshot)
        lc_buf_printf(out, "|%" PRId64 " ", batch->snapshot);
    else if (batch->ends_commit)
        lc_buf_text(out, "| ");
}

lcdc_status lc_change_stream_text(struct lc_change_stream *stream, const struct lc_field *columns, int64_t most,
                                  struct lc_buf *out, lcdc_error **err)
{
    for (;;) {
        LC_CHANGE_BATCH struct lc_change_batch batch = {0};
        bool more = false;
        LC_TRY(lc_change_next(stream, &batch, &more, err));
        if (!more)
            return LCDC_OK;
        if (batch.n > most || (batch.n && batch.images.length != batch.n) ||
            (batch.after.release && batch.after.length != batch.n))
            return lc_fail(err, LC_R_INTERNAL, "a batch of %" PRId64 " rows", batch.n);
        if (batch.n)
            LC_TRY(lc_array_check(&batch.images, columns, err));
        if (batch.after.release)
            LC_TRY(lc_array_check(&batch.after, columns, err));
        lc_change_batch_text(&batch, columns, out);
    }
}
