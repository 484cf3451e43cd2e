/* SPDX-License-Identifier: Apache-2.0 */
/* test_time.c - the calendar is exact in both directions, and texts are taken whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"

/* Every day of years -9999..9999 in turn, counted by hand: no step is missed, doubled or in the wrong month. */
static void every_day_follows_the_one_before(void **state)
{
    (void)state;
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days;
    assert_true(lc_days_from_civil(-9999, 1, 1, &days));
    for (int64_t year = -9999; year <= 9999; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 1; month <= 12; month++) {
            int length = lengths[month - 1] + (month == 2 && leap);
            for (int day = 1; day <= length; day++, days++) {
                int64_t counted, back_year;
                int back_month, back_day;
                if (!lc_days_from_civil(year, month, day, &counted) || counted != days)
                    fail_msg("%lld-%d-%d", (long long)year, month, day);
                lc_civil_from_days(days, &back_year, &back_month, &back_day);
                if (back_year != year || back_month != month || back_day != day)
                    fail_msg("%lld-%d-%d comes back otherwise", (long long)year, month, day);
            }
            int64_t none;
            if (lc_days_from_civil(year, month, length + 1, &none) || lc_days_from_civil(year, month, 0, &none))
                fail_msg("%lld-%d has too many days", (long long)year, month);
        }
    }
}

static void known_days(void **state)
{
    (void)state;
    static const struct {
        int64_t year;
        int month, day;
        int64_t days;
    } cases[] = {
        {1970, 1, 1, 0},       {1969, 12, 31, -1},          {2000, 2, 29, 11016},       {2024, 2, 29, 19782},
        {1, 1, 1, -719162},    {0, 3, 1, -719468},          {1582, 10, 15, -141427},    {9999, 12, 31, 2932896},
        {-1, 12, 31, -719529}, {999999, 12, 31, 364522971}, {-999999, 1, 1, -365961662}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t days = 0;
        assert_true(lc_days_from_civil(cases[i].year, cases[i].month, cases[i].day, &days));
        assert_int_equal(days, cases[i].days);
    }
}

static void days_that_do_not_exist(void **state)
{
    (void)state;
    int64_t days = 42;
    assert_false(lc_days_from_civil(1900, 2, 29, &days));
    assert_false(lc_days_from_civil(2023, 2, 29, &days));
    assert_true(lc_days_from_civil(2000, 2, 29, &days));
    days = 42;
    assert_false(lc_days_from_civil(2024, 0, 1, &days));
    assert_false(lc_days_from_civil(2024, 13, 1, &days));
    assert_false(lc_days_from_civil(1000000, 1, 1, &days));
    assert_false(lc_days_from_civil(-1000000, 1, 1, &days));
    assert_int_equal(days, 42);
}

static void no_number_of_days_overflows(void **state)
{
    (void)state;
    static const int64_t ends[] = {INT64_MAX, INT64_MIN, INT64_MAX - 719468, INT64_MIN + 719468};
    for (size_t i = 0; i < 4; i++) {
        int64_t year;
        int month, day;
        lc_civil_from_days(ends[i], &year, &month, &day);
        assert_true(ends[i] > 0 ? year > INT64_C(20000000000000000) : year < -INT64_C(20000000000000000));
        assert_in_range(month, 1, 12);
        assert_in_range(day, 1, 31);
    }
}

/* ---- reading ---- */

static void dates_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t days;
    } good[] = {{"1970-01-01", 0},         {"2024-02-29", 19782},        {"2024-2-9", 19762},
                {"0000-01-01", -719528},   {"-0001-12-31", -719529},     {"+0001-01-01", -719162},
                {"+10000-01-01", 2932897}, {"-999999-01-01", -365961662}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t days = -1;
        assert_true(lc_parse_date(lc_str_of(good[i].text), &days));
        assert_int_equal(days, good[i].days);
    }
    static const char *const bad[] = {
        "",           "2024",        "2024-01",     "2024-01-",     "2024-02-30",  "2023-02-29",
        "24-01-01",   "10000-01-01", "02024-01-01", "2024-001-01",  "2024-01-001", "2024-00-01",
        "2024-13-01", " 2024-01-01", "2024-01-01 ", "2024/01/01",   "2024-01-01T", "--2024-01-01",
        "+-2024-1-1", "2024-1-1x",   "2024--1-1",   "+1000000-1-1", "20240101",    "2024-01-0\xB2"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t days = 42;
        if (lc_parse_date(lc_str_of(bad[i]), &days))
            fail_msg("%s is no date", bad[i]);
        assert_int_equal(days, 42);
    }
    int64_t days;
    assert_false(lc_parse_date((struct lc_str){"2024-01-01\0", 11}, &days));
    assert_true(lc_parse_date((struct lc_str){"2024-01-019", 10}, &days)); /* what is behind the length is not read */
    assert_int_equal(days, 19723);
}

static void times_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t nanos;
    } good[] = {{"00:00", 0},
                {"12:30", INT64_C(45000000000000)},
                {"12:30:05", INT64_C(45005000000000)},
                {"00:00:00.1", 100000000},
                {"00:00:00.12", 120000000},
                {"00:00:00.123", 123000000},
                {"00:00:00.1234", 123400000},
                {"00:00:00.12345", 123450000},
                {"00:00:00.123456", 123456000},
                {"00:00:00.1234567", 123456700},
                {"00:00:00.12345678", 123456780},
                {"00:00:00.123456789", 123456789},
                {"23:59:59.999999999", INT64_C(86399999999999)}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t nanos = -1;
        assert_true(lc_parse_time(lc_str_of(good[i].text), &nanos));
        assert_true(nanos == good[i].nanos);
    }
    static const char *const bad[] = {"",
                                      "12",
                                      "12:",
                                      "1:30",
                                      "12:3",
                                      "24:00",
                                      "24:00:00",
                                      "12:60",
                                      "12:30:60",
                                      "12:30:",
                                      "12:30:5",
                                      "12:30:05.",
                                      "12:30:05.1234567890",
                                      "12:30.5",
                                      "12:30:05,5",
                                      "-12:30",
                                      "12:30:05 ",
                                      "12:30Z",
                                      "12:30:05.12x",
                                      "1230"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t nanos = 42;
        if (lc_parse_time(lc_str_of(bad[i]), &nanos))
            fail_msg("%s is no time", bad[i]);
        assert_int_equal(nanos, 42);
    }
}

static void timestamps_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
        bool has_zone;
    } good[] = {{"1970-01-01", 0, 0, false},
                {"1970-01-01 00:00:00", 0, 0, false},
                {"1970-01-01T00:00:00Z", 0, 0, true},
                {"1969-12-31 23:59:59.999999999", -1, 999999999, false},
                {"2024-02-29T12:30:05.5+02:00", 1709202605, 500000000, true},
                {"2024-02-29 12:30:05.5-0200", 1709217005, 500000000, true},
                {"2024-02-29T12:30+05:30", 1709190000, 0, true},
                {"1970-01-01T18:00+18:00", 0, 0, true},
                {"1970-01-01T05:59+05:59", 0, 0, true},
                {"1969-12-31T06:00-18:00", 0, 0, true},
                {"1970-01-01T00:00-00:00", 0, 0, true},
                {"0001-01-01T00:00:00Z", -INT64_C(62135596800), 0, true},
                {"9999-12-31T23:59:59Z", INT64_C(253402300799), 0, true},
                {"-9999-01-01 00:00", -INT64_C(377705116800), 0, false}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t seconds = -42;
        int32_t nanos = -42;
        bool has_zone = !good[i].has_zone;
        if (!lc_parse_timestamp(lc_str_of(good[i].text), &seconds, &nanos, &has_zone))
            fail_msg("%s is a timestamp", good[i].text);
        assert_true(seconds == good[i].seconds);
        assert_int_equal(nanos, good[i].nanos);
        assert_int_equal(has_zone, good[i].has_zone);
    }
    static const char *const bad[] = {"",
                                      "2024-01-01 ",
                                      "2024-01-01T",
                                      "2024-01-01Z",
                                      "2024-01-01 Z",
                                      "2024-01-01T24:00",
                                      "2024-01-01T00:00:60Z",
                                      "2024-01-01  00:00",
                                      "2024-01-01t00:00",
                                      "2024-01-01T00:00z",
                                      "2024-01-01T00:00 Z",
                                      "2024-01-01T00:00+18:01",
                                      "2024-01-01T00:00+19:00",
                                      "2024-01-01T00:00+01:60",
                                      "2024-01-01T00:00+1:00",
                                      "2024-01-01T00:00+01",
                                      "2024-01-01T00:00+01:0",
                                      "2024-01-01T00:00+01:000",
                                      "2024-01-01T00:00+010",
                                      "2024-01-01T00:00+01000",
                                      "2024-01-01T00:00ZZ",
                                      "2024-01-01T00:00+-1:00",
                                      "2024-01-01T00:00 UTC",
                                      "2024-01-01T00:00[UTC]",
                                      "2023-02-29T00:00"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t seconds = 42;
        int32_t nanos = 42;
        bool has_zone = true;
        if (lc_parse_timestamp(lc_str_of(bad[i]), &seconds, &nanos, &has_zone))
            fail_msg("%s is no timestamp", bad[i]);
        assert_true(seconds == 42 && nanos == 42 && has_zone);
    }
}

/* ---- printing ---- */

static void assert_printed(struct lc_buf *buf, const char *wanted)
{
    assert_false(buf->failed);
    assert_string_equal(buf->p, wanted);
    lc_buf_clear(buf);
}

static void dates_times_and_timestamps_are_printed(void **state)
{
    (void)state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 1000);
    lc_print_date(&buf, 19782);
    assert_printed(&buf, "2024-02-29");
    lc_print_date(&buf, -719529);
    assert_printed(&buf, "-0001-12-31");
    lc_print_date(&buf, 2932897);
    assert_printed(&buf, "+10000-01-01");
    lc_print_date(&buf, INT32_MAX);
    assert_printed(&buf, "+5881580-07-11");
    lc_print_date(&buf, INT32_MIN);
    assert_printed(&buf, "-5877641-06-23");
    lc_print_time(&buf, INT64_C(45005123456), 6);
    assert_printed(&buf, "12:30:05.123456");
    lc_print_time(&buf, 1, 9);
    assert_printed(&buf, "00:00:00.000000001");
    lc_print_timestamp(&buf, 0, 6, true);
    assert_printed(&buf, "1970-01-01T00:00:00.000000Z");
    lc_print_timestamp(&buf, -1, 6, false);
    assert_printed(&buf, "1969-12-31T23:59:59.999999");
    lc_print_timestamp(&buf, -1, 9, true);
    assert_printed(&buf, "1969-12-31T23:59:59.999999999Z");
    lc_print_timestamp(&buf, INT64_MAX, 6, false);
    assert_printed(&buf, "+294247-01-10T04:00:54.775807");
    lc_print_timestamp(&buf, INT64_MIN, 6, false);
    assert_printed(&buf, "-290308-12-21T19:59:05.224192");
    lc_print_timestamp(&buf, INT64_MIN, 9, false);
    assert_printed(&buf, "1677-09-21T00:12:43.145224192");
}

static void what_is_printed_reads_back(void **state)
{
    (void)state;
    LC_BUF struct lc_buf buf;
    lc_buf_init(&buf, 1000);
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int64_t value = (int64_t)random >> (i % 12), seconds;
        int32_t nanos;
        bool has_zone;
        lc_buf_clear(&buf);
        lc_print_timestamp(&buf, value, 6, i & 1);
        assert_true(lc_parse_timestamp((struct lc_str){buf.p, buf.n}, &seconds, &nanos, &has_zone));
        assert_true((__extension__(__int128) seconds) * 1000000 + nanos / 1000 == value);
        assert_int_equal(nanos % 1000, 0);
        assert_int_equal(has_zone, i & 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_follows_the_one_before),
        cmocka_unit_test(known_days),
        cmocka_unit_test(days_that_do_not_exist),
        cmocka_unit_test(no_number_of_days_overflows),
        cmocka_unit_test(dates_are_read),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(timestamps_are_read),
        cmocka_unit_test(dates_times_and_timestamps_are_printed),
        cmocka_unit_test(what_is_printed_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
