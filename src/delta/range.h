/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.h - bounds of a request as versions of the log.
 */
#ifndef LC_DELTA_RANGE_H
#define LC_DELTA_RANGE_H

#include "core/request.h"
#include "delta/table.h"

/** Versions from .. to, both ends inside; empty when to < from (then `from` is where the next commit would be). */
struct lc_delta_range {
    int64_t from, to;
};

lcdc_status lc_delta_range_resolve(struct lc_delta_log *log, const lcdc_request *request, struct lc_delta_range *out,
                                   lcdc_error **err);

#endif
