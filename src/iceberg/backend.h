/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - Apache Iceberg behind the seam.
 */
#ifndef LC_ICEBERG_BACKEND_H
#define LC_ICEBERG_BACKEND_H

#include "core/backend.h"

extern const struct lc_backend lc_iceberg_backend;

#endif
