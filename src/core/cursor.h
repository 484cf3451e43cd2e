/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h - where a read goes on: "lakecdc1/FORMAT/AFTER/SCHEMA/TABLE", one line of text.
 *
 * AFTER is the last commit that was handed out whole, so the cursor is an exclusive start. The table's id comes last
 * because it may hold any character. Where numbers of commits can be given twice (a Delta log that was cut and went on
 * otherwise), SCHEMA is followed by "-STAMP": what the commit looked like. Without it nothing is compared.
 */
#ifndef LC_CORE_CURSOR_H
#define LC_CORE_CURSOR_H

#include "core/backend.h"

struct lc_cursor {
    struct lc_str format, table_id; /* borrowed from the text */
    struct lc_str stamp;            /* 16 hexadecimal digits, or none */
    int64_t after;
    uint64_t schema;
};

lcdc_status lc_cursor_parse(const char *text, struct lc_cursor *out, lcdc_error **err);
char *lc_cursor_print(const struct lc_read *read, int64_t after);
/** Refuses a cursor of another table, or of a commit that is no longer what it was. */
lcdc_status lc_cursor_check(const struct lc_cursor *cursor, const struct lc_read *read, lcdc_error **err);

#endif
