/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - the "archive" backend: a Parquet archive of changes (`archive:DIR`) as a source.
 */
#ifndef LC_ARCHIVE_BACKEND_H
#define LC_ARCHIVE_BACKEND_H

#include "core/backend.h"

extern const struct lc_backend lc_archive_backend;

#endif
