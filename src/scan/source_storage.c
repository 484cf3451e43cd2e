/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is fetched ahead is counted when it is asked of the store, so the meter lies below; what makes a store slow lies
 * below that.
 */
#include "scan/source_storage.h"

enum { PREFETCH_FRACTION = 4 };

lcdc_status lc_source_storage(const lcdc_request *request, struct lc_meter *meter, struct lc_storage **out,
                              lcdc_error **err)
{
    struct lc_storage *storage = NULL;
    LC_TRY(lc_storage_arrow(&storage, err));
    if (request->storage_latency > 0)
        LC_TRY(lc_storage_latency(storage, request->storage_latency, &storage, err));
    LC_TRY(lc_storage_meter(storage, meter, &storage, err));
    return lc_storage_prefetch(storage, (size_t)request->memory_limit / PREFETCH_FRACTION, out, err);
}
