/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h - takes long parts out of a JSON text, so that a tree is built of what is left, or of one part at a time.
 *
 * A tree takes twenty times the room of its text. What is cut out is followed by its quotes and brackets alone; whoever
 * uses a part has it parsed, and is told then what is wrong with it.
 */
#ifndef LC_ICEBERG_JSON_TEXT_H
#define LC_ICEBERG_JSON_TEXT_H

#include "base/str.h"

/**
 * The values of some members of an object: values[i] is the text of member names[i], n 0 where there is none. `out`
 * gets the object with null in their place; NULL: nobody wants it. False when the text is no object that can be
 * followed, or has a named member twice: then it is to be parsed whole, which tells.
 */
bool lc_json_text_cut(struct lc_str text, size_t n, const char *const *names, struct lc_str *values,
                      struct lc_buf *out);

/**
 * Steps over the elements of an array: `rest` is at first its text, as a value that was cut out. False at the end, or
 * where it cannot be followed: then `rest` is not empty.
 */
bool lc_json_text_next(struct lc_str *rest, struct lc_str *element);

#endif
