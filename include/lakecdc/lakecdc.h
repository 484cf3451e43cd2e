/* SPDX-License-Identifier: Apache-2.0 */
/* lakecdc.h - every public header; nothing of its own. */
#ifndef LAKECDC_LAKECDC_H
#define LAKECDC_LAKECDC_H

#include "arrow_c.h"
#include "base.h"
#include "capability.h"
#include "change.h"
#include "error.h"
#include "feed.h"
#include "request.h"
#include "sync.h"
#include "writer.h"

#endif
