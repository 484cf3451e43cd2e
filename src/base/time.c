/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time.c - dates and instants by arithmetic alone: the Gregorian calendar repeats every 400 years (146097 days), and a
 * year that starts in March has its leap day last.
 */
#include "base/time.h"

#include <inttypes.h>

enum { DAYS_PER_ERA = 146097, DAYS_TO_1970 = 719468 /* from 0000-03-01 */, MAX_YEAR = 999999 };

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    return a % b + (a % b < 0 ? b : 0);
}

bool lc_days_from_civil(int64_t year, int month, int day, int64_t *out)
{
    if (year < -MAX_YEAR || year > MAX_YEAR || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    year -= month <= 2;
    int64_t era = floor_div(year, 400);
    int64_t year_of_era = floor_mod(year, 400);
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    *out = era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
    return true;
}

void lc_civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    /* The eras come off before the shift to March of year 0, so that no number of days overflows. */
    int64_t era = floor_div(days, DAYS_PER_ERA);
    int64_t rest = floor_mod(days, DAYS_PER_ERA) + DAYS_TO_1970;
    era += rest / DAYS_PER_ERA;
    int64_t day_of_era = rest % DAYS_PER_ERA;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = (int)(day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100));
    int from_march = (5 * day_of_year + 2) / 153;
    *day = day_of_year - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = era * 400 + year_of_era + (*month <= 2);
}

/* ---- reading: each step takes its characters off the front of `text`, or says false ---- */

static bool take_char(struct lc_str *text, char c)
{
    if (text->n == 0 || *text->p != c)
        return false;
    *text = (struct lc_str){text->p + 1, text->n - 1};
    return true;
}

/* All digits at the front, of which there must be between `least` and `most` (at most 9). Returns how many, 0 = no. */
static int take_digits(struct lc_str *text, int least, int most, int *out)
{
    int n = 0, value = 0;
    while ((size_t)n < text->n && text->p[n] >= '0' && text->p[n] <= '9') {
        if (n == most)
            return 0;
        value = value * 10 + (text->p[n++] - '0');
    }
    if (n < least)
        return 0;
    *text = (struct lc_str){text->p + n, text->n - (size_t)n};
    *out = value;
    return n;
}

static bool take_date(struct lc_str *text, int64_t *days)
{
    int year, month, day;
    bool is_negative = take_char(text, '-');
    bool is_signed = is_negative || take_char(text, '+');
    return take_digits(text, 4, is_signed ? 6 : 4, &year) && take_char(text, '-') && take_digits(text, 1, 2, &month) &&
           take_char(text, '-') && take_digits(text, 1, 2, &day) &&
           lc_days_from_civil(is_negative ? -year : year, month, day, days);
}

static bool take_time(struct lc_str *text, int64_t *nanos)
{
    int hour, minute, second = 0, fraction = 0;
    if (!take_digits(text, 2, 2, &hour) || !take_char(text, ':') || !take_digits(text, 2, 2, &minute))
        return false;
    if (take_char(text, ':')) {
        if (!take_digits(text, 2, 2, &second))
            return false;
        if (take_char(text, '.')) {
            int digits = take_digits(text, 1, 9, &fraction);
            if (digits == 0)
                return false;
            for (; digits < 9; digits++)
                fraction *= 10;
        }
    }
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *nanos = (hour * 3600 + minute * 60 + second) * INT64_C(1000000000) + fraction;
    return true;
}

/* The offset in seconds of "Z", "+hh:mm" or "+hhmm"; at most 18 hours, as ISO-8601 readers of both formats have it. */
static bool take_zone(struct lc_str *text, int *seconds)
{
    int hours, minutes;
    *seconds = 0;
    if (take_char(text, 'Z'))
        return true;
    bool is_negative = take_char(text, '-');
    if (!is_negative && !take_char(text, '+'))
        return false;
    if (take_digits(text, 4, 4, &hours)) {
        minutes = hours % 100;
        hours /= 100;
    } else if (!take_digits(text, 2, 2, &hours) || !take_char(text, ':') || !take_digits(text, 2, 2, &minutes)) {
        return false;
    }
    int offset = hours * 3600 + minutes * 60;
    if (minutes > 59 || offset > 18 * 3600)
        return false;
    *seconds = is_negative ? -offset : offset;
    return true;
}

bool lc_parse_date(struct lc_str text, int64_t *days)
{
    int64_t parsed;
    if (!take_date(&text, &parsed) || text.n)
        return false;
    *days = parsed;
    return true;
}

bool lc_parse_time(struct lc_str text, int64_t *nanos)
{
    int64_t parsed;
    if (!take_time(&text, &parsed) || text.n)
        return false;
    *nanos = parsed;
    return true;
}

bool lc_parse_timestamp(struct lc_str text, int64_t *seconds, int32_t *nanos, bool *has_zone)
{
    int64_t days, time = 0;
    int offset = 0;
    bool zone = false;
    if (!take_date(&text, &days))
        return false;
    if (text.n) {
        if (!(take_char(&text, ' ') || take_char(&text, 'T')) || !take_time(&text, &time))
            return false;
        zone = text.n > 0;
        if (zone && (!take_zone(&text, &offset) || text.n))
            return false;
    }
    *seconds = days * 86400 + time / 1000000000 - offset;
    *nanos = (int32_t)(time % 1000000000);
    *has_zone = zone;
    return true;
}

/* ---- printing ---- */

void lc_print_date(struct lc_buf *buf, int64_t days)
{
    int64_t year;
    int month, day;
    lc_civil_from_days(days, &year, &month, &day);
    if (year > 9999)
        lc_buf_char(buf, '+');
    lc_buf_number(buf, year, 4);
    lc_buf_char(buf, '-');
    lc_buf_number(buf, month, 2);
    lc_buf_char(buf, '-');
    lc_buf_number(buf, day, 2);
}

static int64_t units_per_second(int digits)
{
    int64_t units = 1;
    while (digits-- > 0)
        units *= 10;
    return units;
}

void lc_print_time(struct lc_buf *buf, int64_t value, int digits)
{
    int64_t unit = units_per_second(digits);
    int64_t seconds = floor_div(value, unit);
    lc_buf_number(buf, seconds / 3600, 2);
    lc_buf_char(buf, ':');
    lc_buf_number(buf, seconds / 60 % 60, 2);
    lc_buf_char(buf, ':');
    lc_buf_number(buf, seconds % 60, 2);
    lc_buf_char(buf, '.');
    lc_buf_number(buf, floor_mod(value, unit), digits);
}

void lc_print_timestamp(struct lc_buf *buf, int64_t value, int digits, bool utc)
{
    int64_t day = 86400 * units_per_second(digits);
    lc_print_date(buf, floor_div(value, day));
    lc_buf_char(buf, 'T');
    lc_print_time(buf, floor_mod(value, day), digits);
    if (utc)
        lc_buf_char(buf, 'Z');
}
