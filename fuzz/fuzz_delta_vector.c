/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_delta_vector.c - deletion vectors as their descriptors say they are: inline text, and a file's bytes at an
 * offset.
 *
 * The first byte chooses the storage type and offset; the rest is the text or the file.
 */
#include <string.h>

#include "delta/vector.h"
#include "support/memory_storage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_inline(const uint8_t *data, size_t size, int64_t cut)
{
    struct lc_bitmap *bitmap LC_BITMAP = NULL;
    struct lc_delta_vector vector = {.storage = 'i',
                                     .path_or_inline = {(const char *)data, size},
                                     .size = (int64_t)size / 5 * 4 - cut,
                                     .cardinality = 1};
    if (vector.size >= 0)
        (void)lc_delta_vector_read(&vector, NULL, NULL, &bitmap, NULL);
}

static void read_file(const uint8_t *data, size_t size, int64_t offset)
{
    struct lc_storage *storage LC_CLEANUP(lc_storage_freep) = NULL;
    struct lc_bitmap *bitmap LC_BITMAP = NULL;
    struct lc_delta_vector vector = {.storage = 'p',
                                     .path_or_inline = LC_STR("/v.bin"),
                                     .offset = offset,
                                     .size = (int64_t)size - offset - 8,
                                     .cardinality = 3};
    if (vector.size < 0 || lc_memory_storage(&storage, NULL) != LCDC_OK ||
        lc_memory_storage_add(storage, "/v.bin", data, size, NULL) != LCDC_OK)
        return;
    (void)lc_delta_vector_read(&vector, "/v.bin", storage, &bitmap, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        read_inline(data + 1, size - 1, data[0] >> 1 & 3);
    else
        read_file(data + 1, size - 1, data[0] >> 1 & 3);
    return 0;
}
