/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rich_rows.h - a schema with a column of every type that a filter can name, and six rows of it for json_rows().
 */
#ifndef TESTS_SUPPORT_RICH_ROWS_H
#define TESTS_SUPPORT_RICH_ROWS_H

#include "base/field.h"

#define LC_RICH(n, k)                                                                                                  \
    {                                                                                                                  \
        .name = n, .physical = n, .id = LC_NO_ID, .nullable = true, .type = {.kind = k }                               \
    }
#define LC_RICH_OF(n, k, c)                                                                                            \
    {                                                                                                                  \
        .name = n, .physical = n, .id = LC_NO_ID, .nullable = true, .type = {.kind = k},                               \
        .n_children = sizeof(c) / sizeof((c)[0]), .children = c                                                        \
    }

static struct lc_field lc_rich_deep[] = {LC_RICH("b", LC_TYPE_STRING)};
static struct lc_field lc_rich_struct[] = {LC_RICH("a", LC_TYPE_INT32), LC_RICH_OF("s", LC_TYPE_STRUCT, lc_rich_deep)};
static struct lc_field lc_rich_element[] = {LC_RICH("element", LC_TYPE_INT32)};
static struct lc_field lc_rich_fields[] = {
    LC_RICH("i", LC_TYPE_INT32),
    LC_RICH("l", LC_TYPE_INT64),
    LC_RICH("t", LC_TYPE_INT8),
    LC_RICH("d", LC_TYPE_DOUBLE),
    LC_RICH("f", LC_TYPE_FLOAT),
    {.name = "n", .id = LC_NO_ID, .type = {.kind = LC_TYPE_DECIMAL, .precision = 10, .scale = 2}},
    LC_RICH("s", LC_TYPE_STRING),
    LC_RICH("b", LC_TYPE_BOOL),
    LC_RICH("date", LC_TYPE_DATE),
    LC_RICH("ts", LC_TYPE_TIMESTAMP_TZ),
    LC_RICH("tn", LC_TYPE_TIMESTAMP),
    LC_RICH("x", LC_TYPE_BINARY),
    {.name = "fx", .id = LC_NO_ID, .type = {.kind = LC_TYPE_FIXED, .length = 2}},
    LC_RICH("u", LC_TYPE_UUID),
    LC_RICH_OF("st", LC_TYPE_STRUCT, lc_rich_struct),
    LC_RICH("odd.na`me", LC_TYPE_INT32),
    LC_RICH_OF("li", LC_TYPE_LIST, lc_rich_element),
    LC_RICH("Case", LC_TYPE_INT32),
    LC_RICH("case", LC_TYPE_INT32),
    LC_RICH("Quantity", LC_TYPE_INT16),
    LC_RICH("tm", LC_TYPE_TIME),
    LC_RICH("ns", LC_TYPE_TIMESTAMP_NS_TZ),
    {.name = "big", .id = LC_NO_ID, .type = {.kind = LC_TYPE_DECIMAL, .precision = 38}},
};
enum { LC_RICH_ROWS = 6, LC_RICH_COLUMNS = sizeof(lc_rich_fields) / sizeof(lc_rich_fields[0]) };

static const struct lc_field lc_rich_schema = {
    .name = "row", .type = {.kind = LC_TYPE_STRUCT}, .n_children = LC_RICH_COLUMNS, .children = lc_rich_fields};

/* Six rows; the fifth is all null, the sixth has a struct that is null. */
static const char lc_rich_rows[] =
    "["
    "{\"i\":1,\"l\":1,\"t\":-128,\"d\":1.5,\"f\":0.1,\"n\":\"1.50\",\"s\":\"abc\",\"b\":true,\"date\":\"2024-02-29\","
    "\"ts\":\"2024-02-29T12:00:00.000000Z\",\"tn\":\"2024-02-29T12:00:00.000000\",\"x\":\"Dw==\",\"fx\":\"AAE=\","
    "\"u\":\"00000000-0000-0000-0000-000000000001\",\"st\":{\"a\":1,\"s\":{\"b\":\"in\"}},\"odd.na`me\":1,"
    "\"li\":[1,2],\"Case\":1,\"case\":2,\"Quantity\":10,\"tm\":\"12:30:05.000001\","
    "\"ns\":\"2024-02-29T12:00:00.000000001Z\",\"big\":\"99999999999999999999999999999999999999\"},"
    "{\"i\":2,\"l\":-9223372036854775808,\"t\":127,\"d\":\"NaN\",\"f\":\"NaN\",\"n\":\"-1.50\",\"s\":\"\",\"b\":false,"
    "\"date\":\"1970-01-01\",\"ts\":\"1969-12-31T23:59:59.999999Z\",\"tn\":\"1970-01-01T00:00:00.000000\","
    "\"x\":\"\",\"fx\":\"//8=\",\"u\":\"ffffffff-0000-0000-0000-000000000001\",\"st\":{\"a\":2,\"s\":null},"
    "\"odd.na`me\":2,\"li\":[],\"Case\":2,\"case\":1,\"Quantity\":20,\"tm\":\"00:00:00.000000\","
    "\"ns\":\"1969-12-31T23:59:59.999999999Z\",\"big\":\"-99999999999999999999999999999999999999\"},"
    "{\"i\":3,\"l\":9223372036854775807,\"t\":0,\"d\":\"Infinity\",\"f\":1.0,\"n\":\"0.00\",\"s\":\"a%b\",\"b\":true,"
    "\"date\":\"1969-12-31\",\"ts\":\"2024-03-01T00:00:00.000000Z\",\"tn\":\"2024-03-01T00:00:00.000000\","
    "\"x\":\"Dw8=\",\"fx\":\"AAA=\",\"u\":\"00000000-0000-0000-0000-000000000000\","
    "\"st\":{\"a\":3,\"s\":{\"b\":null}},\"odd.na`me\":3,\"li\":null,\"Case\":3,\"case\":3,\"Quantity\":30,"
    "\"tm\":\"23:59:59.999999\",\"ns\":\"2024-03-01T00:00:00.000000000Z\",\"big\":\"0\"},"
    "{\"i\":-5,\"l\":0,\"t\":1,\"d\":-0.0,\"f\":0.0,\"n\":\"99999999.99\",\"s\":\"\\u00e4\\u00f6\\u00fc\",\"b\":false,"
    "\"date\":\"9999-12-31\",\"ts\":\"0001-01-01T00:00:00.000000Z\",\"tn\":\"9999-12-31T23:59:59.999999\","
    "\"x\":\"/w==\",\"fx\":\"AQA=\",\"u\":\"12345678-1234-1234-1234-123456789abc\",\"st\":{\"a\":null,\"s\":"
    "{\"b\":\"x\"}},\"odd.na`me\":4,\"li\":[null],\"Case\":4,\"case\":4,\"Quantity\":-1,\"tm\":\"12:00:00.000000\","
    "\"ns\":\"2024-02-29T12:00:00.000000000Z\",\"big\":\"5\"},"
    "{\"i\":null,\"l\":null,\"t\":null,\"d\":null,\"f\":null,\"n\":null,\"s\":null,\"b\":null,\"date\":null,"
    "\"ts\":null,\"tn\":null,\"x\":null,\"fx\":null,\"u\":null,\"st\":{\"a\":null,\"s\":{\"b\":null}},"
    "\"odd.na`me\":null,\"li\":null,\"Case\":null,\"case\":null,\"Quantity\":null,\"tm\":null,\"ns\":null,"
    "\"big\":null},"
    "{\"i\":2147483647,\"l\":2,\"t\":5,\"d\":\"-Infinity\",\"f\":-2.5,\"n\":\"0.01\",\"s\":\"a_b\\\\\",\"b\":true,"
    "\"date\":\"2000-01-01\",\"ts\":\"2000-01-01T00:00:00.000000Z\",\"tn\":\"2000-01-01T00:00:00.000000\","
    "\"x\":\"AA==\",\"fx\":\"gAA=\",\"u\":\"00000000-0000-0000-0000-0000000000ff\",\"st\":null,\"odd.na`me\":6,"
    "\"li\":[7],\"Case\":6,\"case\":6,\"Quantity\":32767,\"tm\":\"12:30:05.000000\","
    "\"ns\":\"2000-01-01T00:00:00.000000000Z\",\"big\":\"1\"}"
    "]";

#endif
