/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cursor.h"

#include <inttypes.h>
#include <string.h>

static bool next_part(struct lc_str *rest, struct lc_str *out)
{
    const char *slash = rest->n ? memchr(rest->p, '/', rest->n) : NULL;
    if (!slash)
        return false;
    *out = (struct lc_str){rest->p, (size_t)(slash - rest->p)};
    *rest = (struct lc_str){slash + 1, rest->n - out->n - 1};
    return true;
}

static bool parse_hex(struct lc_str text, uint64_t *out)
{
    uint64_t value = 0;
    if (text.n != 16)
        return false;
    for (size_t i = 0; i < 16; i++) {
        const char *digit = memchr("0123456789abcdef", text.p[i], 16);
        if (!digit)
            return false;
        value = value << 4 | (uint64_t)(strchr("0123456789abcdef", *digit) - "0123456789abcdef");
    }
    *out = value;
    return true;
}

/* "SCHEMA" or "SCHEMA-STAMP" */
static bool parse_schema(struct lc_str text, struct lc_cursor *out)
{
    uint64_t stamp;
    out->stamp = (struct lc_str){0};
    if (text.n == 16 + 1 + 16 && text.p[16] == '-') {
        out->stamp = (struct lc_str){text.p + 17, 16};
        text.n = 16;
        if (!parse_hex(out->stamp, &stamp))
            return false;
    }
    return parse_hex(text, &out->schema);
}

lcdc_status lc_cursor_parse(const char *text, struct lc_cursor *out, lcdc_error **err)
{
    struct lc_str rest = lc_str_of(text), word, after, schema;
    bool good = next_part(&rest, &word) && lc_str_is(word, "lakecdc1") && next_part(&rest, &out->format) &&
                next_part(&rest, &after) && lc_parse_i64(after, &out->after) && next_part(&rest, &schema) &&
                parse_schema(schema, out);
    out->table_id = rest;
    return good ? LCDC_OK
                : lc_fail(err, LC_R_CURSOR_BAD, "cursor '%.*s' is not of the form lakecdc1/FORMAT/AFTER/SCHEMA/TABLE",
                          LC_STR_ARG(lc_str_of(text)));
}

static const char *stamp_of(const struct lc_read *read, int64_t commit)
{
    return read->ops && read->ops->stamp ? read->ops->stamp(read, commit) : NULL;
}

char *lc_cursor_print(const struct lc_read *read, int64_t after)
{
    struct lc_buf text;
    const char *stamp = stamp_of(read, after);
    lc_buf_init(&text, 1 << 16);
    lc_buf_printf(&text, "lakecdc1/%s/%" PRId64 "/%016" PRIx64 "%s%s/%s", read->format, after,
                  lc_field_fingerprint(read->schema), stamp ? "-" : "", stamp ? stamp : "", read->table_id);
    return lc_buf_take(&text);
}

lcdc_status lc_cursor_check(const struct lc_cursor *cursor, const struct lc_read *read, lcdc_error **err)
{
    if (!lc_str_is(cursor->format, read->format) || !lc_str_is(cursor->table_id, read->table_id))
        return lc_fail(err, LC_R_CURSOR_OTHER_TABLE, "the cursor belongs to %.*s table '%.*s', this is %s table '%s'",
                       LC_STR_ARG(cursor->format), LC_STR_ARG(cursor->table_id), read->format, read->table_id);
    const char *stamp = cursor->stamp.n ? stamp_of(read, cursor->after) : NULL;
    if (stamp && !lc_str_is(cursor->stamp, stamp))
        return lc_fail(err, LC_R_CURSOR_OTHER_HISTORY,
                       "commit %" PRId64 " is not the one that the cursor stands after: the table's history was cut "
                       "off before it and went on otherwise; begin anew with --bootstrap",
                       cursor->after);
    return LCDC_OK;
}
