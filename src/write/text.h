/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - the one rendering of a value as JSON and as text. docs/change-row.md is its contract.
 */
#ifndef LC_WRITE_TEXT_H
#define LC_WRITE_TEXT_H

#include "base/arrow.h"

/** Row `i` of an array of the field's type as JSON, without loss. Appended. */
void lc_text_json(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i);

/**
 * The same value as bare text: no quotes around it, nested values as JSON, nothing for null. Appended.
 */
void lc_text_plain(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i);

/** "name": with its colon. Appended. */
void lc_text_key(struct lc_buf *out, const char *name);

#endif
