/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - Delta Lake behind the seam.
 */
#ifndef LC_DELTA_BACKEND_H
#define LC_DELTA_BACKEND_H

#include "core/backend.h"

extern const struct lc_backend lc_delta_backend;

#endif
