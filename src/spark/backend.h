/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - tables on a Spark Connect server, read by the engine in one of three ways.
 */
#ifndef LC_SPARK_BACKEND_H
#define LC_SPARK_BACKEND_H

#include "core/backend.h"

extern const struct lc_backend lc_spark_native_backend;    /* CHANGES, Spark 4.2 and later */
extern const struct lc_backend lc_spark_iceberg_backend;   /* Iceberg's changelog view */
extern const struct lc_backend lc_spark_delta_cdf_backend; /* Delta's table_changes */

#endif
