/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h - one typed scalar: a filter's literal, a partition value, a bound of a column, a default.
 *
 * Values compare only with values of the same kind; lc_value_cast() brings them there, exactly or not at all.
 */
#ifndef LC_BASE_VALUE_H
#define LC_BASE_VALUE_H

#include "base/field.h"

__extension__ typedef __int128 lc_i128;
__extension__ typedef unsigned __int128 lc_u128;

struct lc_value {
    bool is_null;
    struct lc_type type; /* meaningful for nulls too */
    union {
        bool b;
        int64_t i;         /* integers; DATE: days; TIME and TIMESTAMP*: units of the type since midnight / 1970 */
        double f;          /* FLOAT and DOUBLE */
        lc_i128 dec;       /* DECIMAL: unscaled, at type.scale */
        struct lc_str str; /* STRING, BINARY, FIXED, UUID (16 bytes); borrowed */
    };
};

/** Total order of two non-null values of one kind (decimals may differ in scale): -1, 0, 1. NaN is the largest. */
int lc_value_compare(const struct lc_value *a, const struct lc_value *b);
/** Null equals null. */
bool lc_value_equal(const struct lc_value *a, const struct lc_value *b);

/**
 * Reads text as a value of `type`: "12", "1.50", "true", "2024-02-29", "2024-02-29 12:00:00.123456+02:00" (blank or T;
 * offset or Z allowed where the type has a zone, else refused; a zone-less text means UTC), plain text for strings and
 * uuid 8-4-4-4-12. Digits beyond the type's precision are refused, not rounded, unless they are zeros. `arena` keeps
 * string bytes when given, else they are borrowed from `text`; a uuid needs it. False when the text is not of the form
 * or out of range, or memory is short.
 */
bool lc_value_parse(struct lc_type type, struct lc_str text, struct lc_arena *arena, struct lc_value *out);

/** The value in another type when that loses nothing, including integer -> wider, -> decimal, -> float when exact. */
bool lc_value_cast(const struct lc_value *value, struct lc_type type, struct lc_value *out);

/** As lc_value_parse() reads it back; binary as hex. Appended. */
void lc_value_print(struct lc_buf *buf, const struct lc_value *value);

/** A copy whose bytes live in `arena`; NULL when memory is short. */
struct lc_value *lc_value_dup(struct lc_arena *arena, const struct lc_value *value);

/** Decimal text of an unscaled number at a scale, e.g. (-150, 2) -> "-1.50". Appended. */
void lc_decimal_print(struct lc_buf *buf, lc_i128 unscaled, int scale);
/** Reads decimal text, also with an exponent, at `scale`; false when it has more digits than scale or precision. */
bool lc_decimal_parse(struct lc_str text, int precision, int scale, lc_i128 *out);
lc_i128 lc_pow10(int n); /* 0 <= n <= 38 */

#endif
