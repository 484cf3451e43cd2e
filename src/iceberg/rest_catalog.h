/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_catalog.h - the catalog of Iceberg's REST specification, as far as loading a table takes.
 */
#ifndef LC_ICEBERG_REST_CATALOG_H
#define LC_ICEBERG_REST_CATALOG_H

#include "core/request.h"
#include "iceberg/catalog.h"

struct lc_iceberg_rest_options {
    const char *uri;                /* http(s)://host/path?warehouse=...&token=...; see the .c file */
    const char *ca_file;            /* may be NULL */
    int64_t timeout_ms;             /* for one answer */
    const struct lc_shared *shared; /* whose call in progress may be cancelled; outlives the catalog; may be NULL */
};

/** Asks nothing yet. */
lcdc_status lc_iceberg_rest_catalog(const struct lc_iceberg_rest_options *options, struct lc_iceberg_catalog **out,
                                    lcdc_error **err);

/** True for the location of a REST catalog. */
bool lc_iceberg_is_rest_uri(const char *location);

#endif
