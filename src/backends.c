/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backends.c - the registry: every backend, best first. A new one is a folder and a line here.
 */
#include "archive/backend.h"
#include "core/backend.h"
#include "delta/backend.h"
#include "iceberg/backend.h"
#include "spark/backend.h"

const struct lc_backend *const lc_backends[] = {
    &lc_archive_backend,
    &lc_spark_native_backend,
    &lc_spark_iceberg_backend,
    &lc_spark_delta_cdf_backend,
    &lc_delta_backend,
    &lc_iceberg_backend,
    NULL,
};
