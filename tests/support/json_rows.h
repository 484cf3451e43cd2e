/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_rows.h - Arrow arrays from JSON, in the encoding of docs/change-row.md.
 *
 * The reader that the JSONL writer is held against, and the way tests write batches down. Shares nothing with
 * src/write.
 */
#ifndef TESTS_SUPPORT_JSON_ROWS_H
#define TESTS_SUPPORT_JSON_ROWS_H

#include <stdbool.h>

#include "base/field.h"
#include "lakecdc/arrow_c.h"

/**
 * Rows of `json`, an array with one element a row, as an array of the field's type. Every array of the tree gets
 * `pad` rows of other values before its first row and an offset past them. False (and a message on stderr) when the
 * text is not of the type. Released with out->release.
 */
bool json_rows(const char *json, const struct lc_field *field, int pad, struct ArrowArray *out);

#endif
