/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_filter.c - filters: what they mean on every type, what is refused and where, what is printed.
 *
 * A row of a table names a filter and the truth of each row of one batch: T, F, or U for unknown, which is told from F
 * by evaluating NOT(filter) too. Each is run over arrays with and without offsets, and once more after it was printed
 * as SQL and parsed again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/filter.h"
#include "support/json_rows.h"
#include "support/rich_rows.h"
#include "support/torture.h"

struct row {
    const char *filter, *truth;
};

/* ---- meaning ---- */

static const struct row whole_numbers[] = {
    {"i = 1", "TFFFUF"},
    {"1 = i", "TFFFUF"},
    {"i <> 1", "FTTTUT"},
    {"i != 1", "FTTTUT"},
    {"i < 2", "TFFTUF"},
    {"2 > i", "TFFTUF"},
    {"i <= 2", "TTFTUF"},
    {"2 >= i", "TTFTUF"},
    {"i > -5", "TTTFUT"},
    {"i >= - 5", "TTTTUT"},
    {"i >= +2", "FTTFUT"},
    {"i = 2147483647", "FFFFUT"},
    {"l = -9223372036854775808", "FTFFUF"},
    {"l = 9223372036854775807", "FFTFUF"},
    {"l < 9223372036854775807", "TTFTUT"},
    {"i = '3'", "FFTFUF"},
    {"i = 2.0", "FTFFUF"},
    {"i = 200e-2", "FTFFUF"},
    {"i = 0.2e1", "FTFFUF"},
    /* a fraction between two whole numbers */
    {"i = 1.5", "FFFFUF"},
    {"i <> 1.5", "TTTTUT"},
    {"i > 1.5", "FTTFUT"},
    {"i >= 1.5", "FTTFUT"},
    {"i < 1.5", "TFFTUF"},
    {"i <= 1.5", "TFFTUF"},
    {"i < -4.5", "FFFTUF"},
    {"i > -5.5", "TTTTUT"},
    {"i > -4.999999999999999999999999999999999999999999", "TTTFUT"},
    {"i < 1.0000000000000000000000000000000000000000000001", "TFFTUF"},
    {"1.5 < i", "FTTFUT"},
    {"i IN (1.5, 2, 2.5)", "FTFFUF"},
    {"i IN (1.5)", "FFFFUF"},
    {"i NOT IN (1.5)", "TTTTUT"},
    {"i BETWEEN 0.5 AND 2.5", "TTFFUF"},
    /* beyond the type */
    {"t = 300", "FFFFUF"},
    {"t <> 300", "TTTTUT"},
    {"t < 300", "TTTTUT"},
    {"t <= 127.5", "TTTTUT"},
    {"t > 127.5", "FFFFUF"},
    {"t >= -128.5", "TTTTUT"},
    {"t < -128.5", "FFFFUF"},
    {"t > -129", "TTTTUT"},
    {"t = 127", "FTFFUF"},
    {"l < 9223372036854775808", "TTTTUT"},
    {"l > 1e400", "FFFFUF"},
    {"l > -1e400", "TTTTUT"},
    {"l > 1e-400", "TFTFUT"},
    {"l >= -1e-400", "TFTTUT"},
    {"l < 99999999999999999999999999999999999999999999999999", "TTTTUT"},
    {"l IN (9223372036854775808, 0)", "FFFTUF"},
};

static const struct row floats[] = {
    {"d = 1.5", "TFFFUF"},
    {"d = 'NaN'", "FTFFUF"},
    {"d <> 'NaN'", "TFTTUT"},
    {"d > 1.5", "FTTFUF"}, /* NaN is above everything */
    {"d >= 'NaN'", "FTFFUF"},
    {"d < 'NaN'", "TFTTUT"},
    {"d <= 'NaN'", "TTTTUT"},
    {"d > 'Infinity'", "FTFFUF"},
    {"d = 'Infinity'", "FFTFUF"},
    {"d = CAST('-Infinity' AS DOUBLE)", "FFFFUT"},
    {"d = 0", "FFFTUF"}, /* -0.0 = 0 */
    {"d = -0.0", "FFFTUF"},
    {"d < 0", "FFFFUT"},
    {"d >= 0", "TTTTUF"},
    {"d BETWEEN 0 AND 1e300", "TFFTUF"},
    {"d IN (0, 'NaN', 7)", "FTFTUF"},
    {"d IN (0, 'NaN', 7, 8, 9, 10, 11, 12, 13, 14)", "FTFTUF"},
    {"f = 0.1", "FFFFUF"},   /* 0.1f is another number than 0.1 */
    {"f = '0.1'", "TFFFUF"}, /* a string takes the column's type */
    {"f > 0.1", "TTTFUF"},
    {"f = CAST('0.1' AS FLOAT)", "TFFFUF"},
    {"f = CAST('0.1' AS DOUBLE)", "FFFFUF"},
    {"f IN ('NaN', -2.5)", "FTFFUT"},
    {"f < -2", "FFFFUT"},
};

static const struct row decimals[] = {
    {"n = 1.5", "TFFFUF"},
    {"n = 1.50", "TFFFUF"},
    {"n = '1.5'", "TFFFUF"},
    {"n = 1.500000000000000000000000000000000000000000000", "TFFFUF"},
    {"n = 1.505", "FFFFUF"},
    {"n > 1.499", "TFFTUF"},
    {"n < 1.501", "TTTFUT"},
    {"n <= -1.501", "FFFFUF"},
    {"n > -1.501", "TTTTUT"},
    {"n >= 0.001", "TFFTUT"},
    {"n <> 0.001", "TTTTUT"},
    {"n < 100000000", "TTTTUT"},
    {"n > 99999999.999", "FFFFUF"},
    {"n < -99999999.999", "FFFFUF"},
    {"n > -1e9", "TTTTUT"},
    {"n IN (0, 0.01, 0.001, 1e50)", "FFTFUT"},
    {"n BETWEEN -1.5 AND 0", "FTTFUF"},
    {"n = 0", "FFTFUF"},
    {"big = 99999999999999999999999999999999999999", "TFFFUF"},
    {"big < 99999999999999999999999999999999999999.5", "TTTTUT"},
    {"big > -99999999999999999999999999999999999999", "TFTTUT"},
    {"big > -99999999999999999999999999999999999999.5", "TTTTUT"},
    {"big = 1e37", "FFFFUF"},
    {"big < 1e38", "TTTTUT"},
};

static const struct row texts[] = {
    {"s = 'abc'", "TFFFUF"},
    {"s = ''", "FTFFUF"},
    {"s < 'abc'", "FTTFUT"},
    {"s > 'z'", "FFFTUF"}, /* by bytes: the umlauts come last */
    {"s = 'a%b'", "FFTFUF"},
    {"s IN ('abc', 'a_b\\')", "TFFFUT"},
    {"s LIKE 'a%'", "TFTFUT"},
    {"s LIKE '%b%'", "TFTFUT"},
    {"s LIKE ''", "FTFFUF"},
    {"s LIKE '%'", "TTTTUT"},
    {"s LIKE '%%%'", "TTTTUT"},
    {"s LIKE '___'", "TFTTUF"}, /* three characters, six bytes */
    {"s LIKE '____'", "FFFFUT"},
    {"s LIKE '_\xC3\xB6_'", "FFFTUF"},
    {"s LIKE '\xC3\xA4%'", "FFFTUF"},
    {"s LIKE '%\xBC%' OR TRUE", NULL}, /* not UTF-8 */
    {"s LIKE '%_\xC3\xBC'", "FFFTUF"},
    {"s LIKE 'a!%b' ESCAPE '!'", "FFTFUF"},
    {"s LIKE 'a\xC3\xA9%b' ESCAPE '\xC3\xA9'", "FFTFUF"},
    {"s LIKE 'a\\_b\\\\' ESCAPE '\\'", "FFFFUT"},
    {"s LIKE 'a_b\\'", "FFFFUT"}, /* no escape unless one is named */
    {"s NOT LIKE 'a%'", "FTFTUF"},
    {"s LIKE NULL", "UUUUUU"},
    {"s LIKE 'a%b%c'", "TFFFUF"},
    {"s LIKE '%a%b%c%'", "TFFFUF"},
    {"s NOT IN ('abc')", "FTTTUT"},
    {"s >= 'a' AND s < 'b'", "TFTFUT"},
};

static const struct row times[] = {
    {"date = '2024-02-29'", "TFFFUF"},
    {"date = DATE '2024-02-29'", "TFFFUF"},
    {"date < DATE'1970-01-01'", "FFTFUF"},
    {"date BETWEEN '1970-01-01' AND '2000-01-01'", "FTFFUT"},
    {"ts = '2024-02-29 12:00:00Z'", "TFFFUF"},
    {"ts = '2024-02-29T14:00:00+02:00'", "TFFFUF"},
    {"ts = TIMESTAMP '2024-02-29 12:00:00'", "TFFFUF"}, /* no zone: UTC */
    {"ts < TIMESTAMP '1970-01-01 00:00:00'", "FTFTUF"},
    {"ts >= DATE '2024-03-01'", "FFTFUF"},
    {"ts = '2024-03-01'", "FFTFUF"},
    {"tn = '2024-02-29 12:00:00'", "TFFFUF"},
    {"tn > TIMESTAMP_NTZ '2024-02-29 12:00:00.000000'", "FFTTUF"},
    {"tn <= DATE '1970-01-01'", "FTFFUF"},
    {"tm = '12:30:05'", "FFFFUT"},
    {"tm > TIME '12:30:05'", "TFTFUF"},
    {"ns = '2024-02-29T12:00:00.000000001Z'", "TFFFUF"},
    {"ns > '2024-02-29T12:00:00Z'", "TFTFUF"},
    {"ns < '1970-01-01'", "FTFFUF"},
};

static const struct row bytes[] = {
    {"x = X'0f'", "TFFFUF"},
    {"x = x''", "FTFFUF"},
    {"x > X'0F'", "FFTTUF"},
    {"x >= X'80'", "FFFTUF"}, /* bytes have no sign */
    {"x IN (X'00', X'ff')", "FFFTUT"},
    {"fx = X'0001'", "TFFFUF"},
    {"fx > X'0100'", "FTFFUT"},
    {"u = '00000000-0000-0000-0000-000000000001'", "TFFFUF"},
    {"u > '80000000-0000-0000-0000-000000000000'", "FTFFUF"},
    {"u IN ('12345678-1234-1234-1234-123456789ABC')", "FFFTUF"},
};

static const struct row logic[] = {
    {"b", "TFTFUT"},
    {"NOT b", "FTFTUF"},
    {"b = FALSE", "FTFTUF"},
    {"b <> TRUE", "FTFTUF"},
    {"b > FALSE", "TFTFUT"},
    {"b IN (TRUE, NULL)", "TUTUUT"},
    {"TRUE", "TTTTTT"},
    {"NOT TRUE", "FFFFFF"},
    {"NULL", "UUUUUU"},
    {"NOT NULL", "UUUUUU"},
    {"i = NULL", "UUUUUU"},
    {"i IN (NULL)", "UUUUUU"},
    {"i IN (1, NULL)", "TUUUUU"},
    {"i NOT IN (1, NULL)", "FUUUUU"},
    {"i IN (1, NULL, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "TTTUUU"},
    {"i BETWEEN NULL AND 2", "UUFUUF"},
    {"i BETWEEN 1 AND NULL", "UUUFUU"},
    {"i NOT BETWEEN 1 AND 2", "FFTTUT"},
    {"i BETWEEN 2 AND 1", "FFFFUF"},
    {"i IS NULL", "FFFFTF"},
    {"i IS NOT NULL", "TTTTFT"},
    {"li IS NULL", "FFTFTF"},
    {"st IS NULL", "FFFFFT"},
    {"i = 1 OR i = 3 AND b", "TFTFUF"}, /* AND binds tighter */
    {"(i = 1 OR i = 3) AND NOT b", "FFFFUF"},
    {"NOT i = 1 AND b", "FFTFUT"}, /* NOT binds tighter than AND */
    {"NOT (i = 1 AND b)", "FTTTUT"},
    {"NOT NOT NOT i IN (1)", "FTTTUT"},
    {"((((i)) = 1))", NULL},
    {"((((i = 1))))", "TFFFUF"},
    /* the truth tables of AND, OR and NOT */
    {"TRUE AND TRUE", "TTTTTT"},
    {"TRUE AND FALSE", "FFFFFF"},
    {"TRUE AND NULL", "UUUUUU"},
    {"FALSE AND TRUE", "FFFFFF"},
    {"FALSE AND FALSE", "FFFFFF"},
    {"FALSE AND NULL", "FFFFFF"},
    {"NULL AND TRUE", "UUUUUU"},
    {"NULL AND FALSE", "FFFFFF"},
    {"NULL AND NULL", "UUUUUU"},
    {"TRUE OR TRUE", "TTTTTT"},
    {"TRUE OR FALSE", "TTTTTT"},
    {"TRUE OR NULL", "TTTTTT"},
    {"FALSE OR TRUE", "TTTTTT"},
    {"FALSE OR FALSE", "FFFFFF"},
    {"FALSE OR NULL", "UUUUUU"},
    {"NULL OR TRUE", "TTTTTT"},
    {"NULL OR FALSE", "UUUUUU"},
    {"NULL OR NULL", "UUUUUU"},
    {"b AND i = 1", "TFFFUF"},
    {"b OR i = 1", "TFTFUT"},
    {"b OR i IS NULL", "TFTFTT"},
    {"b AND i IS NOT NULL", "TFTFFT"},
};

static const struct row names[] = {
    {"st.a = 1", "TFFUUU"},
    {"st.a IS NULL", "FFFTTT"},
    {"st.s.b = 'in'", "TUUFUU"},
    {"st.s IS NULL", "FTFFFT"},
    {"st.s.b IS NOT NULL", "TFFTFF"},
    {"\"st\".\"s\".`b` LIKE '%'", "TUUTUU"},
    {"`odd.na``me` > 2", "FFTTUT"},
    {"\"odd.na`me\" = 1", "TFFFUF"},
    {"Case = 1", "TFFFUF"},
    {"case = 1", "FTFFUF"},
    {"I = 1", "TFFFUF"}, /* any case, when that is unambiguous */
    {"ST.A = 1", "TFFUUU"},
    {"QUANTITY >= 20", "FTTFUT"},
    {"DATE = DATE '2024-02-29'", "TFFFUF"},
    {"x IS NULL AND cast IS NULL", NULL},
};

struct fixture {
    struct ArrowArray plain, shifted;
};

static int make_batches(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    *state = fixture;
    return !json_rows(lc_rich_rows, &lc_rich_schema, 0, &fixture->plain) ||
           !json_rows(lc_rich_rows, &lc_rich_schema, 3, &fixture->shifted);
}

static int drop_batches(void **state)
{
    struct fixture *fixture = *state;
    fixture->plain.release(&fixture->plain);
    fixture->shifted.release(&fixture->shifted);
    free(fixture);
    return 0;
}

static void evaluate(const struct lc_expr *expr, const struct ArrowArray *rows, char truth[LC_RICH_ROWS + 1])
{
    uint8_t yes[LC_RICH_ROWS], no[LC_RICH_ROWS];
    const struct lc_expr *args[] = {expr};
    const struct lc_expr negated = {.kind = LC_EXPR_NOT, .n_args = 1, .args = args};
    lcdc_error *err LC_ERROR = NULL;
    assert_int_equal(rows->length, LC_RICH_ROWS);
    if (lc_filter_eval(expr, rows, yes, &err) != LCDC_OK || lc_filter_eval(&negated, rows, no, &err) != LCDC_OK)
        fail_msg("%s", lcdc_error_message(err));
    for (int i = 0; i < LC_RICH_ROWS; i++) {
        assert_true(yes[i] <= 1 && no[i] <= 1 && yes[i] + no[i] <= 1);
        truth[i] = yes[i] ? 'T' : no[i] ? 'F' : 'U';
    }
    truth[LC_RICH_ROWS] = 0;
}

static const struct lc_expr *parse(const char *text, struct lc_arena *arena)
{
    const struct lc_expr *expr = NULL;
    lcdc_error *err LC_ERROR = NULL;
    if (lc_filter_parse(lc_str_of(text), &lc_rich_schema, arena, &expr, &err) != LCDC_OK)
        fail_msg("%s\n%s", text, lcdc_error_message(err));
    return expr;
}

static void check_row(const struct fixture *fixture, const struct row *row)
{
    struct lc_arena arena LC_ARENA = {0};
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, 1 << 20);
    char plain[LC_RICH_ROWS + 1], shifted[LC_RICH_ROWS + 1], again[LC_RICH_ROWS + 1];
    if (!row->truth) {
        const struct lc_expr *unused;
        assert_int_equal(lc_filter_parse(lc_str_of(row->filter), &lc_rich_schema, &arena, &unused, NULL),
                         LCDC_INVALID_ARGUMENT);
        return;
    }
    const struct lc_expr *expr = parse(row->filter, &arena);
    evaluate(expr, &fixture->plain, plain);
    evaluate(expr, &fixture->shifted, shifted);
    lc_filter_print_sql(expr, &lc_rich_schema, &sql);
    assert_false(sql.failed);
    evaluate(parse(sql.p, &arena), &fixture->shifted, again);
    if (strcmp(plain, row->truth) != 0 || strcmp(shifted, row->truth) != 0 || strcmp(again, row->truth) != 0)
        fail_msg("%s: want %s, got %s, with offsets %s, printed as %s %s", row->filter, row->truth, plain, shifted,
                 sql.p, again);
}

#define MEANING(table)                                                                                                 \
    static void meaning_of_##table(void **state)                                                                       \
    {                                                                                                                  \
        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)                                                  \
            check_row(*state, &table[i]);                                                                              \
    }
MEANING(whole_numbers)
MEANING(floats)
MEANING(decimals)
MEANING(texts)
MEANING(times)
MEANING(bytes)
MEANING(logic)
MEANING(names)

static void no_rows_no_buffers(void **state)
{
    (void)state;
    struct lc_arena arena LC_ARENA = {0};
    struct ArrowArray none = {0};
    assert_int_equal(lc_filter_eval(parse("s LIKE 'a' OR i IN (1) OR NOT n < 5", &arena), &none, NULL, NULL), LCDC_OK);
}

/* ---- what is refused, in which words ---- */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *reason, *message;
    } rows[] = {
        {"", "filter.syntax", "filter: expected a condition at column 1, found the end"},
        {"   ", "filter.syntax", "filter: expected a condition at column 4, found the end"},
        {"i = ", "filter.syntax", "filter: expected a literal at column 5, found the end"},
        {"(i = 1 AND i )", "filter.syntax", "filter: expected a comparison after the column at column 14, found ')'"},
        {"i > 1 AND l =)", "filter.syntax", "filter: expected a literal at column 14, found ')'"},
        {"i = l", "filter.syntax", "filter: expected a literal at column 5, found 'l'"},
        {"1 = 1", "filter.syntax", "filter: expected a column on one side of the comparison at column 5, found '1'"},
        {"1", "filter.syntax", "filter: expected a comparison with a column at column 2, found the end"},
        {"i = 1 i = 2", "filter.syntax", "filter: expected AND, OR or the end at column 7, found 'i'"},
        {"i = 1)", "filter.syntax", "filter: expected AND, OR or the end at column 6, found ')'"},
        {"(i = 1", "filter.syntax", "filter: expected AND, OR or ')' at column 7, found the end"},
        {"i == 1", "filter.syntax", "filter: expected a literal at column 4, found '='"},
        {"i = 1 AND", "filter.syntax", "filter: expected a condition at column 10, found the end"},
        {"i IN 1", "filter.syntax", "filter: expected '(' after IN at column 6, found '1'"},
        {"i IN ()", "filter.syntax", "filter: expected a literal at column 7, found ')'"},
        {"i IN (1 2)", "filter.syntax", "filter: expected ',' or ')' at column 9, found '2'"},
        {"i NOT 1", "filter.syntax", "filter: expected IN, BETWEEN or LIKE after NOT at column 7, found '1'"},
        {"i IS 1", "filter.syntax", "filter: expected NULL or NOT NULL at column 6, found '1'"},
        {"i BETWEEN 1 OR 2", "filter.syntax", "filter: expected AND at column 13, found 'OR'"},
        {"s = 'abc", "filter.syntax", "filter: the quote at column 5 is never closed"},
        {"`s = 'abc'", "filter.syntax", "filter: the quote at column 1 is never closed"},
        {"i = 12abc", "filter.syntax", "filter: expected a number at column 5, found '12a'"},
        {"i = -", "filter.syntax", "filter: expected a number after the sign at column 6, found the end"},
        {"i = 1; DROP TABLE t", "filter.syntax", "filter: expected AND, OR or the end at column 6, found ';'"},
        {"s = '\xC3\xA4\xC3\xA4' !", "filter.syntax", "filter: expected AND, OR or the end at column 10, found '!'"},
        {"s = '\xC3'", "filter.syntax", "filter: the text is not UTF-8"},
        {"x = X'0'", "filter.syntax", "filter: expected X'...' with two hex digits a byte at column 5, found 'X'0''"},
        {"x = X'0g'", "filter.syntax", "filter: expected X'...' with two hex digits a byte at column 5, found 'X'0g''"},
        {"s LIKE 'a!b' ESCAPE '!'", "filter.syntax",
         "filter: in the pattern 'a!b' the escape '!' stands before neither %, _ nor itself"},
        {"s LIKE 'a!' ESCAPE '!'", "filter.syntax",
         "filter: in the pattern 'a!' the escape '!' stands before neither %, _ nor itself"},
        {"s LIKE 'a' ESCAPE '!!'", "filter.syntax",
         "filter: expected one character other than % and _ after ESCAPE at column 19, found '!!'"},
        {"s LIKE 'a' ESCAPE '%'", "filter.syntax",
         "filter: expected one character other than % and _ after ESCAPE at column 19, found '%'"},
        {"s LIKE 'a' ESCAPE ''", "filter.syntax",
         "filter: expected one character other than % and _ after ESCAPE at column 19, found ''"},
        {"i = 'abc'", "filter.type",
         "filter: the literal 'abc' at column 5 does not fit column i (int): expected a whole number in the type's "
         "range"},
        {"n = '1.505'", "filter.type",
         "filter: the literal '1.505' at column 5 does not fit column n (decimal(10,2)): expected a number with no "
         "more "
         "digits than the type has"},
        {"s = 5", "filter.type",
         "filter: the literal 5 at column 5 does not fit column s (string): a number compares with numbers only; quote "
         "it if it is text"},
        {"date = 5", "filter.type",
         "filter: the literal 5 at column 8 does not fit column date (date): a number compares with numbers only; "
         "quote "
         "it if it is text"},
        {"i = TRUE", "filter.type",
         "filter: the literal TRUE at column 5 does not fit column i (int): expected a whole number in the type's "
         "range"},
        {"i", "filter.syntax", "filter: expected a comparison after the column at column 2, found the end"},
        {"date = TIMESTAMP '2024-02-29 00:00:00'", "filter.type",
         "filter: the literal TIMESTAMP '2024-02-29 00:00:00' at column 8 does not fit column date (date): expected a "
         "date, '2024-02-29'"},
        {"date = '2023-02-29'", "filter.type",
         "filter: the literal '2023-02-29' at column 8 does not fit column date (date): expected a date, '2024-02-29'"},
        {"tn = '2024-02-29 12:00:00Z'", "filter.type",
         "filter: the literal '2024-02-29 12:00:00Z' at column 6 does not fit column tn (timestamp_ntz): expected a "
         "time without a zone and no finer than the type, '2024-02-29 12:30:05'"},
        {"ts = '2024-02-29 12:00:00.0000001'", "filter.type",
         "filter: the literal '2024-02-29 12:00:00.0000001' at column 6 does not fit column ts (timestamp): expected a "
         "time no finer than the type, '2024-02-29 12:30:05Z'"},
        {"x = 'abc'", "filter.type",
         "filter: the literal 'abc' at column 5 does not fit column x (binary): expected bytes of the type's length, "
         "X'0f'"},
        {"fx = X'00'", "filter.type",
         "filter: the literal X'00' at column 6 does not fit column fx (fixed(2)): expected bytes of the type's "
         "length, "
         "X'0f'"},
        {"d = 1e999", "filter.type",
         "filter: the literal 1e999 at column 5 does not fit column d (double): expected a number that a double can "
         "hold"},
        {"i = 1e99999999999999999999", "filter.type", "filter: the exponent of 1e99999999999999999999 is out of range"},
        {"i LIKE 'a'", "filter.type",
         "filter: the literal 'a' at column 8 does not fit column i (int): LIKE applies to text only"},
        {"s LIKE 5", "filter.type",
         "filter: the literal 5 at column 8 does not fit column s (string): expected a quoted pattern"},
        {"li = 5", "filter.type",
         "filter: the literal 5 at column 6 does not fit column li (array<int>): only IS NULL and IS NOT NULL apply to "
         "it"},
        {"st = '{}'", "filter.type",
         "filter: the literal '{}' at column 6 does not fit column st (struct<a:int,s:struct<b:string>>): only IS NULL "
         "and IS NOT NULL apply to it"},
        {"quantty = 1", "request.unknown_column", "filter: unknown column quantty at column 1; did you mean Quantity"},
        {"i = 1 AND st.aa.c = 1", "request.unknown_column",
         "filter: unknown column st.aa.c at column 11; did you mean a, s"},
        {"st.zzzzz = 1", "request.unknown_column", "filter: unknown column st.zzzzz at column 1; its columns are a, s"},
        {"i.x = 1", "request.unknown_column",
         "filter: unknown column i.x at column 1: i has no fields of its own that a filter can name"},
        {"li.element = 1", "request.unknown_column",
         "filter: unknown column li.element at column 1: li has no fields of its own that a filter can name"},
        {"CASE = 1", "request.unknown_column", "filter: the column CASE at column 1 fits more than one column"},
        {"an_unheard_of_name = 1", "request.unknown_column",
         "filter: unknown column an_unheard_of_name at column 1; its columns are i, l, t, d, f, n, s, b and 15 more"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lc_arena arena LC_ARENA = {0};
        const struct lc_expr *expr = NULL;
        lcdc_error *err LC_ERROR = NULL;
        lcdc_status status = lc_filter_parse(lc_str_of(rows[i].filter), &lc_rich_schema, &arena, &expr, &err);
        if (status != LCDC_INVALID_ARGUMENT || expr)
            fail_msg("%s: status %s", rows[i].filter, lcdc_status_name(status));
        assert_string_equal(lcdc_error_message(err), rows[i].message);
        assert_string_equal(lcdc_error_reason(err), rows[i].reason);
    }
}

static lcdc_status parse_repeated(const char *head, const char *part, size_t n, const char *tail)
{
    struct lc_arena arena LC_ARENA = {0};
    struct lc_buf text LC_BUF;
    const struct lc_expr *expr;
    lc_buf_init(&text, LC_BUF_MAX);
    lc_buf_text(&text, head);
    for (size_t i = 0; i < n; i++)
        lc_buf_text(&text, part);
    lc_buf_text(&text, tail);
    return lc_filter_parse((struct lc_str){text.p, text.n}, &lc_rich_schema, &arena, &expr, NULL);
}

static void depth_size_and_count_have_limits(void **state)
{
    (void)state;
    assert_int_equal(parse_repeated("", "NOT ", 199, "i = 1"), LCDC_OK);
    assert_int_equal(parse_repeated("", "NOT ", 200, "i = 1"), LCDC_LIMIT);
    assert_int_equal(parse_repeated("", "(", 500000, ""), LCDC_LIMIT);
    assert_int_equal(parse_repeated("i = 1", " AND i = 1", 49000, ""), LCDC_OK);
    assert_int_equal(parse_repeated("i = 1", " AND i = 1", 104000, ""), LCDC_LIMIT);
    assert_int_equal(parse_repeated("i IN (1", ",2", 99000, ")"), LCDC_OK);
    assert_int_equal(parse_repeated("i IN (1", ",2", 300000, ")"), LCDC_LIMIT);
    assert_int_equal(parse_repeated("st", ".s", 100, " = 1"), LCDC_LIMIT);
    assert_int_equal(parse_repeated("s = '", "x", 1048000, "'"), LCDC_OK);
    assert_int_equal(parse_repeated("s = '", "x", 1 << 20, "'"), LCDC_LIMIT);
    assert_int_equal(parse_repeated("s LIKE '", "%a", 500000, "'"), LCDC_OK);
    assert_int_equal(parse_repeated("i = ", "9", 1000000, ""), LCDC_OK);
}

/* ---- taken apart, printed ---- */

static void printed_as_sql(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *sql;
    } rows[] = {
        {"i > 1.5", "`i` > 1"},
        {"t = 300", "(`t` IS NULL AND CAST(NULL AS BOOLEAN))"},
        {"t <> 300", "NOT (`t` IS NULL AND CAST(NULL AS BOOLEAN))"},
        {"l = -9223372036854775808", "`l` = -9223372036854775808"},
        {"n <> 1.5", "`n` <> 1.50"},
        {"d >= 0.1", "`d` >= CAST('0.1' AS DOUBLE)"},
        {"d = 'NaN'", "`d` = CAST('NaN' AS DOUBLE)"},
        {"f = 0.1", "`f` = CAST('0.1' AS DOUBLE)"},
        {"f = '0.1'", "`f` = CAST('0.10000000149011612' AS DOUBLE)"},
        {"s = 'plain'", "`s` = 'plain'"},
        {"s = 'it''s'", "`s` = CAST(X'69742773' AS STRING)"},
        {"s = '\\'", "`s` = CAST(X'5C' AS STRING)"},
        {"s = '${x}'", "`s` = CAST(X'247B787D' AS STRING)"},
        {"s = '\n'", "`s` = CAST(X'0A' AS STRING)"},
        {"s = '''; DROP TABLE t; --'", "`s` = CAST(X'273B2044524F50205441424C4520743B202D2D' AS STRING)"},
        {"s LIKE 'a%_'", "`s` LIKE 'a%_'"},
        {"s LIKE 'a\\%'", "`s` LIKE CAST(X'615C25' AS STRING) ESCAPE '!'"},
        {"s LIKE 'a\\%' ESCAPE '\\'", "`s` LIKE 'a!%' ESCAPE '!'"},
        {"s LIKE 'a#_!%' ESCAPE '#'", "`s` LIKE 'a!_!!%' ESCAPE '!'"},
        {"s LIKE '!%'", "`s` LIKE '!%'"},
        {"b", "`b` = TRUE"},
        {"date = '2024-02-29'", "`date` = DATE '2024-02-29'"},
        {"ts < '2024-02-29 12:00:00+01:00'", "`ts` < TIMESTAMP '2024-02-29T11:00:00.000000Z'"},
        {"tn < '2024-02-29 12:00:00'", "`tn` < TIMESTAMP_NTZ '2024-02-29T12:00:00.000000'"},
        {"x = x'0f'", "`x` = X'0F'"},
        {"u = '12345678-1234-1234-1234-123456789ABC'", "`u` = '12345678-1234-1234-1234-123456789abc'"},
        {"`odd.na``me` = 1", "`odd.na``me` = 1"},
        {"ST.S.B = 'x'", "`st`.`s`.`b` = 'x'"},
        {"i IN (3, NULL, 1, 3, 2)", "`i` IN (1, 2, 3, NULL)"},
        {"i = 1 OR i = 2 AND NOT b", "(`i` = 1 OR (`i` = 2 AND NOT `b` = TRUE))"},
        {"i IS NOT NULL", "NOT `i` IS NULL"},
        {"i BETWEEN 1 AND 2", "(`i` >= 1 AND `i` <= 2)"},
        {"TRUE AND NULL", "(TRUE AND CAST(NULL AS BOOLEAN))"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lc_arena arena LC_ARENA = {0};
        struct lc_buf sql LC_BUF;
        lc_buf_init(&sql, 4096);
        lc_filter_print_sql(parse(rows[i].filter, &arena), &lc_rich_schema, &sql);
        assert_string_equal(sql.p, rows[i].sql);
    }
}

static bool is_on(void *context, const struct lc_expr *conjunct)
{
    return conjunct->field && strcmp(conjunct->field->name, context) == 0;
}

static void split_at_the_top(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *column, *sql; /* NULL: nothing is left */
    } rows[] = {
        {"i = 1 AND (l = 2 AND i < 3) AND (i = 1 OR l = 1)", "i", "(`i` = 1 AND `i` < 3)"},
        {"i = 1 AND l = 2", "l", "`l` = 2"},
        {"i = 1 OR l = 2", "l", NULL},
        {"i = 1", "i", "`i` = 1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lc_arena arena LC_ARENA = {0};
        struct lc_buf sql LC_BUF;
        const struct lc_expr *part;
        char column[2];
        lc_buf_init(&sql, 4096);
        memcpy(column, rows[i].column, 2);
        assert_int_equal(lc_filter_split(parse(rows[i].filter, &arena), is_on, column, &arena, &part, NULL), LCDC_OK);
        assert_true((part == NULL) == (rows[i].sql == NULL));
        if (part)
            lc_filter_print_sql(part, &lc_rich_schema, &sql);
        assert_string_equal(part ? sql.p : "", part ? rows[i].sql : "");
    }
}

static void columns_that_are_looked_at(void **state)
{
    (void)state;
    struct lc_arena arena LC_ARENA = {0};
    bool used[LC_RICH_COLUMNS] = {0};
    used[2] = true; /* others are left alone */
    lc_filter_columns(parse("i = 1 AND NOT (st.s.b = 'x' OR n IN (1, 2)) AND TRUE", &arena), used);
    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
        assert_int_equal(used[i], i == 0 || i == 2 || i == 5 || i == 14);
}

static lcdc_status parse_and_evaluate(void *context, lcdc_error **err)
{
    struct lc_arena arena LC_ARENA = {0};
    struct lc_buf sql LC_BUF;
    uint8_t mask[LC_RICH_ROWS];
    const struct lc_expr *expr, *part;
    const struct fixture *fixture = context;
    char column[] = "i";
    lc_buf_init(&sql, LC_BUF_MAX);
    LC_TRY(lc_filter_parse(LC_STR("(i IN (1, 2, 3.5, NULL) OR s LIKE 'a!%%' ESCAPE '!') AND `st`.a > -1.5 AND "
                                  "NOT (x = X'00' OR t BETWEEN -1000 AND 1 OR ts < DATE '2024-01-01' OR "
                                  "u = '12345678-1234-1234-1234-123456789ABC')"),
                           &lc_rich_schema, &arena, &expr, err));
    LC_TRY(lc_filter_split(expr, is_on, column, &arena, &part, err));
    LC_TRY(lc_filter_eval(expr, &fixture->plain, mask, err));
    lc_filter_print_sql(expr, &lc_rich_schema, &sql);
    LC_TRY_BUF(&sql);
    return LCDC_OK;
}

static lcdc_status refuse(void *context, lcdc_error **err)
{
    struct lc_arena arena LC_ARENA = {0};
    const struct lc_expr *expr;
    lcdc_status status = lc_filter_parse(lc_str_of(context), &lc_rich_schema, &arena, &expr, err);
    if (status != LCDC_INVALID_ARGUMENT)
        return status;
    return LCDC_OK;
}

static bool refusal_survives_torture(const char *filter)
{
    for (int64_t n = 0; n < 1000; n++) {
        lcdc_error *err LC_ERROR = NULL;
        char text[200];
        snprintf(text, sizeof(text), "%s", filter);
        (void)lc_alloc_fail_after(n);
        lcdc_status status = refuse(text, &err);
        (void)lc_alloc_fail_after(-1);
        if (status == LCDC_OK && lcdc_error_status(err) == LCDC_INVALID_ARGUMENT && n > 5)
            return true;
        if (lcdc_error_status(err) != LCDC_OUT_OF_MEMORY && lcdc_error_status(err) != LCDC_INVALID_ARGUMENT)
            return false;
    }
    return false;
}

static void every_allocation_may_fail(void **state)
{
    assert_true(lc_torture(parse_and_evaluate, *state));
    assert_true(refusal_survives_torture("i = 1 AND quantty > 3"));
    assert_true(refusal_survives_torture("i IN (1, 2, 'abc')"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meaning_of_whole_numbers),
        cmocka_unit_test(meaning_of_floats),
        cmocka_unit_test(meaning_of_decimals),
        cmocka_unit_test(meaning_of_texts),
        cmocka_unit_test(meaning_of_times),
        cmocka_unit_test(meaning_of_bytes),
        cmocka_unit_test(meaning_of_logic),
        cmocka_unit_test(meaning_of_names),
        cmocka_unit_test(no_rows_no_buffers),
        cmocka_unit_test(refusals),
        cmocka_unit_test(depth_size_and_count_have_limits),
        cmocka_unit_test(printed_as_sql),
        cmocka_unit_test(split_at_the_top),
        cmocka_unit_test(columns_that_are_looked_at),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_batches, drop_batches);
}
