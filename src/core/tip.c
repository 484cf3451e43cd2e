/* SPDX-License-Identifier: Apache-2.0 */
/* tip.c - whether a table has anything new, asked of its backend for less than the price of a read. */
#include "core/source.h"

lcdc_status lc_source_tip(lcdc_source *source, const char *before, const _Atomic int *cancelled, struct lc_buf *out,
                          lcdc_error **err)
{
    const struct lc_backend *backend = source->handle ? lc_source_backend(source) : NULL;
    if (!backend || !backend->tip)
        return LCDC_OK;
    source->shared.cancelled = cancelled;
    lcdc_status status = backend->tip(source->handle, before, out, err);
    source->shared.cancelled = NULL;
    return status;
}
