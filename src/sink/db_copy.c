/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db_copy.c - a value as a field of PostgreSQL's COPY in text form.
 *
 * Whatever PostgreSQL would refuse, or take as something else, is found here, where the row and the column are known:
 * the server would name a line of a stream. Its calendar has no year 0 and ends before the lake's does.
 */
#include "sink/db.h"

#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "write/text.h"

#define MICROSECONDS INT64_C(1000000)
#define DAY (86400 * MICROSECONDS)

/* Of the server's sources: days from 4714-11-24 BC to 5874897-12-31; instants end past what an int64 holds. */
enum { FIRST_DAY = -2440588, END_DAY = 2147483494 - 2440588 };
static const int64_t first_instant = FIRST_DAY * DAY;

static void put_escaped(struct lc_buf *out, struct lc_str text)
{
    size_t plain = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        char letter = c == '\\' ? '\\' : c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : 0;
        if (!letter)
            continue;
        lc_buf_append(out, text.p + plain, i - plain);
        lc_buf_char(out, '\\');
        lc_buf_char(out, letter);
        plain = i + 1;
    }
    lc_buf_append(out, text.p + plain, text.n - plain);
}

static void put_bytes(struct lc_buf *out, struct lc_str bytes)
{
    static const char digits[] = "0123456789abcdef";
    lc_buf_text(out, "\\\\x");
    char *at = lc_buf_reserve(out, bytes.n * 2);
    if (!at)
        return;
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char byte = (unsigned char)bytes.p[i];
        at[2 * i] = digits[byte >> 4];
        at[2 * i + 1] = digits[byte & 15];
    }
    out->n += bytes.n * 2;
    lc_buf_text(out, ""); /* which terminates it */
}

/* The civil date, and whether it is before Christ, which goes last. */
static bool put_date(struct lc_buf *out, int64_t days)
{
    int64_t year;
    int month, day;
    lc_civil_from_days(days, &year, &month, &day);
    lc_buf_printf(out, "%04" PRId64 "-%02d-%02d", year > 0 ? year : 1 - year, month, day);
    return year <= 0;
}

static const char *copy_date(struct lc_buf *out, int64_t days)
{
    if (days < FIRST_DAY || days >= END_DAY)
        return "the date is outside postgresql's calendar (4714-11-24 BC to 5874897)";
    if (put_date(out, days))
        lc_buf_text(out, " BC");
    return NULL;
}

static const char *copy_timestamp(struct lc_buf *out, int64_t us, bool has_zone)
{
    if (us < first_instant)
        return "the time is before postgresql's calendar begins (4714-11-24 BC)";
    int64_t days = us / DAY - (us % DAY < 0);
    bool is_bc = put_date(out, days);
    lc_buf_char(out, ' ');
    lc_print_time(out, us - days * DAY, 6);
    lc_buf_text(out, has_zone ? "+00" : "");
    lc_buf_text(out, is_bc ? " BC" : "");
    return NULL;
}

const char *lc_db_copy_instant(struct lc_buf *out, int64_t us)
{
    return copy_timestamp(out, us, true);
}

static const char *copy_time(struct lc_buf *out, int64_t us)
{
    if (us < 0 || us >= DAY)
        return "the time of day is not within a day";
    lc_print_time(out, us, 6);
    return NULL;
}

static const char *copy_text(struct lc_buf *out, struct lc_str text)
{
    if (text.n && memchr(text.p, 0, text.n))
        return "the text has a NUL character, which postgresql's text cannot hold";
    put_escaped(out, text);
    return NULL;
}

/* NUL is written as an escape in JSON. */
static bool has_nul(struct lc_str json)
{
    for (size_t i = 0; i + 1 < json.n; i++) {
        if (json.p[i] != '\\')
            continue;
        if (lc_str_starts((struct lc_str){json.p + i, json.n - i}, "\\u0000"))
            return true;
        i++; /* what is escaped */
    }
    return false;
}

static const char *copy_json(struct lc_buf *out, struct lc_buf *scratch, const struct lc_field *field,
                             const struct ArrowArray *array, int64_t at)
{
    lc_buf_clear(scratch);
    lc_text_json(scratch, field, array, at);
    out->failed |= scratch->failed;
    if (scratch->failed)
        return NULL;
    struct lc_str json = {scratch->p, scratch->n};
    if (has_nul(json))
        return "a text inside has a NUL character, which postgresql's jsonb cannot hold";
    put_escaped(out, json);
    return NULL;
}

const char *lc_db_copy_value(struct lc_buf *out, struct lc_buf *scratch, const struct lc_field *field,
                             const struct ArrowArray *array, int64_t at)
{
    struct lc_value value;
    if (field->type.kind == LC_TYPE_NULL || lc_array_is_null(array, at)) {
        lc_buf_text(out, "\\N");
        return NULL;
    }
    if (lc_type_is_nested(field->type.kind))
        return copy_json(out, scratch, field, array, at);
    lc_array_value(array, field->type, at, &value);
    switch (field->type.kind) {
    case LC_TYPE_BOOL:
        lc_buf_char(out, value.b ? 't' : 'f');
        return NULL;
    case LC_TYPE_DATE:
        return copy_date(out, value.i);
    case LC_TYPE_TIME:
        return copy_time(out, value.i);
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
        return copy_timestamp(out, value.i, field->type.kind == LC_TYPE_TIMESTAMP_TZ);
    case LC_TYPE_STRING:
        return copy_text(out, value.str);
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
        put_bytes(out, value.str);
        return NULL;
    case LC_TYPE_INT8:
    case LC_TYPE_INT16:
    case LC_TYPE_INT32:
    case LC_TYPE_INT64:
    case LC_TYPE_FLOAT:
    case LC_TYPE_DOUBLE:
    case LC_TYPE_DECIMAL:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_UUID:
        lc_text_plain(out, field, array, at);
        return NULL;
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        break;
    }
    return NULL;
}
