/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog.h - who knows where a table's current metadata is. A REST catalog is one; a folder needs none (locate.h).
 */
#ifndef LC_ICEBERG_CATALOG_H
#define LC_ICEBERG_CATALOG_H

#include "base/error.h"
#include "base/str.h"

/** A table's metadata: where it is, and its text when the answer brought it along (p not NULL). Both lc_alloc'ed. */
struct lc_iceberg_place {
    char *location;
    struct lc_buf text;
    int64_t size, mtime_ms; /* as a listing had them; size 0: none had */
};
void lc_iceberg_place_done(struct lc_iceberg_place *place);

struct lc_iceberg_catalog;
struct lc_iceberg_catalog_ops {
    /** `name` is "namespace.table", parts of the namespace with dots between them. LC_R_TABLE_MISSING. */
    lcdc_status (*locate)(struct lc_iceberg_catalog *self, const char *name, struct lc_iceberg_place *out,
                          lcdc_error **err);
    void (*release)(struct lc_iceberg_catalog *self);
};

/* The first member of every implementation's object. */
struct lc_iceberg_catalog {
    const struct lc_iceberg_catalog_ops *ops;
};

static inline void lc_iceberg_catalog_free(struct lc_iceberg_catalog *catalog)
{
    if (catalog)
        catalog->ops->release(catalog);
}
LC_DEFINE_CLEANUP(struct lc_iceberg_catalog *, lc_iceberg_catalog_free)

#endif
