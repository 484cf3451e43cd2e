/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_storage.h - a storage whose files are bytes in memory, for tests that need no disk and no Arrow.
 *
 * Folders exist as soon as a file lies below them. Adding and removing is for one thread; reading for any.
 */
#ifndef LC_TESTS_MEMORY_STORAGE_H
#define LC_TESTS_MEMORY_STORAGE_H

#include "io/storage.h"

/** An empty storage; lc_storage_free() frees it and every file. */
lcdc_status lc_memory_storage(struct lc_storage **out, lcdc_error **err);
/** Adds a file, or replaces it; the bytes are copied. `path` is in normal form. Its mtime counts up by one an add. */
lcdc_status lc_memory_storage_add(struct lc_storage *storage, const char *path, const void *bytes, size_t n,
                                  lcdc_error **err);
lcdc_status lc_memory_storage_add_text(struct lc_storage *storage, const char *path, const char *text,
                                       lcdc_error **err);
/** False when there is no such file. No file may be open. */
bool lc_memory_storage_remove(struct lc_storage *storage, const char *path);

#endif
