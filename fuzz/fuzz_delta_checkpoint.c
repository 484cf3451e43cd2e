/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_delta_checkpoint.c - a checkpoint from anywhere: the bytes are a Parquet checkpoint, and also a v2 JSON one.
 */
#include <string.h>

#include "delta/table.h"
#include "support/memory_storage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as(const char *name, const uint8_t *data, size_t size)
{
    struct lc_storage *storage LC_CLEANUP(lc_storage_freep) = NULL;
    struct lc_delta_log *log LC_CLEANUP(lc_delta_log_freep) = NULL;
    struct lc_delta_snapshot snapshot LC_CLEANUP(lc_delta_snapshot_done) = {0};
    if (lc_memory_storage(&storage, NULL) != LCDC_OK ||
        lc_memory_storage_add(storage, name, data, size, NULL) != LCDC_OK)
        return;
    if (lc_delta_log_open(storage, "/t", &log, NULL) == LCDC_OK)
        (void)lc_delta_snapshot_read(log, 3, NULL, &snapshot, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data, "PAR1", 4) == 0)
        read_as("/t/_delta_log/00000000000000000003.checkpoint.parquet", data, size);
    else
        read_as("/t/_delta_log/00000000000000000003.checkpoint.01234567-0123-0123-0123-0123456789ab.json", data, size);
    return 0;
}
