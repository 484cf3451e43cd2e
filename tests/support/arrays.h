/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrays.h - Arrow arrays for tests: random ones of any type, and the text of a row.
 *
 * Each buffer is a block of exactly its length, so that the sanitizer sees every byte read past it. Arrays and structs
 * inside them start at offsets of their own.
 */
#ifndef LC_TESTS_ARRAYS_H
#define LC_TESTS_ARRAYS_H

#include "base/arrow.h"

/** A struct with a column of every type, nested ones included. Static. */
const struct lc_field *lc_test_every_type(void);

/** The next number of a sequence that starts anywhere. */
uint64_t lc_test_random(uint64_t *state);

/** `n` random rows; about one value in five is null when `nulls`. Ends the program when memory is short. */
void lc_test_array(uint64_t *random, const struct lc_field *type, int64_t n, bool nulls, struct ArrowArray *out);

/** Row `i` as text, the same for the same values wherever they lie. Appended. */
void lc_test_print_row(struct lc_buf *buf, const struct ArrowArray *array, const struct lc_field *type, int64_t i);

#endif
