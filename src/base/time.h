/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time.h - dates and instants, proleptic Gregorian, without the C library's zones.
 */
#ifndef LC_BASE_TIME_H
#define LC_BASE_TIME_H

#include "base/str.h"

/** Days since 1970-01-01 of a civil date; false when it does not exist. Years -999999..999999. */
bool lc_days_from_civil(int64_t year, int month, int day, int64_t *out);
void lc_civil_from_days(int64_t days, int64_t *year, int *month, int *day);

/** "2024-02-29", also with one-digit month or day; leading '-' or '+' for years outside four digits. Whole text. */
bool lc_parse_date(struct lc_str text, int64_t *days);

/** "12:30", "12:30:05", "12:30:05.123456789": nanoseconds of the day. Whole text. */
bool lc_parse_time(struct lc_str text, int64_t *nanos);

/**
 * "date", "date time" or "dateTtime", optional Z or +hh:mm / -hh:mm / +hhmm. Gives nanoseconds split as seconds and
 * nanoseconds of the second since 1970; `has_zone` says whether an offset was written (without one: as if UTC).
 */
bool lc_parse_timestamp(struct lc_str text, int64_t *seconds, int32_t *nanos, bool *has_zone);

/** "2024-02-29". Appended. */
void lc_print_date(struct lc_buf *buf, int64_t days);
/** "12:30:05.123456" with `digits` fraction digits (6 or 9) of a value in 10^-digits seconds. Appended. */
void lc_print_time(struct lc_buf *buf, int64_t value, int digits);
/** "2024-02-29T12:30:05.123456" plus "Z" when utc; always `digits` fraction digits. Appended. */
void lc_print_timestamp(struct lc_buf *buf, int64_t value, int digits, bool utc);

#endif
