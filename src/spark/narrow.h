/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow.h - a stream of whole rows with fewer columns.
 */
#ifndef LC_SPARK_NARROW_H
#define LC_SPARK_NARROW_H

#include "core/change.h"

/** `columns` are some of `whole`, by name. Takes the stream below over, on failure too. */
lcdc_status lc_spark_narrow(struct lc_change_stream *take_below, const struct lc_field *whole,
                            const struct lc_field *columns, struct lc_change_stream **out, lcdc_error **err);

#endif
