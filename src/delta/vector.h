/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector.h - deletion vectors: where they are and what they hold.
 */
#ifndef LC_DELTA_VECTOR_H
#define LC_DELTA_VECTOR_H

#include "delta/action.h"
#include "io/bitmap.h"
#include "io/storage.h"

/** The file a vector lies in, arena text; *out NULL for an inline one or none. */
lcdc_status lc_delta_vector_url(const struct lc_delta_vector *vector, const char *root, const struct lc_path_map *map,
                                struct lc_arena *arena, const char **out, lcdc_error **err);

/** What of that file lc_delta_vector_read() reads; gives how many spans. */
size_t lc_delta_vector_spans(const struct lc_delta_vector *vector, struct lc_span out[2]);

/** Reads a vector and holds it against its descriptor; *out NULL for no vector. `url` as given by
 * lc_delta_vector_url(). */
lcdc_status lc_delta_vector_read(const struct lc_delta_vector *vector, const char *url, struct lc_storage *storage,
                                 struct lc_bitmap **out, lcdc_error **err);

#endif
