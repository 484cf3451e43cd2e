/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_filter.c - a filter from anywhere: parsed, evaluated, printed as SQL, parsed and evaluated again.
 *
 * What was printed must mean the same, row for row, in all three truth values; only depth may keep it from parsing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/filter.h"
#include "support/json_rows.h"
#include "support/rich_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s\n", what, text);
    abort();
}

static void evaluate(const struct lc_expr *expr, const struct ArrowArray *rows, uint8_t truth[2][LC_RICH_ROWS])
{
    const struct lc_expr *args[] = {expr};
    const struct lc_expr negated = {.kind = LC_EXPR_NOT, .n_args = 1, .args = args};
    if (lc_filter_eval(expr, rows, truth[0], NULL) != LCDC_OK ||
        lc_filter_eval(&negated, rows, truth[1], NULL) != LCDC_OK)
        stop("not evaluated", "");
}

static void check(const struct lc_expr *expr, const struct ArrowArray *rows, struct lc_arena *arena)
{
    uint8_t truth[2][LC_RICH_ROWS], again[2][LC_RICH_ROWS];
    const struct lc_expr *reread;
    bool used[LC_RICH_COLUMNS] = {0};
    lcdc_error *err LC_ERROR = NULL;
    struct lc_buf sql LC_BUF;
    lc_buf_init(&sql, LC_BUF_MAX);
    evaluate(expr, rows, truth);
    lc_filter_columns(expr, used);
    lc_filter_print_sql(expr, &lc_rich_schema, &sql);
    if (sql.failed ||
        lc_filter_parse((struct lc_str){sql.p, sql.n}, &lc_rich_schema, arena, &reread, &err) != LCDC_OK) {
        if (sql.failed || lcdc_error_status(err) != LCDC_LIMIT)
            stop(lcdc_error_message(err), sql.p);
        return;
    }
    evaluate(reread, rows, again);
    if (memcmp(truth, again, sizeof(truth)) != 0)
        stop("another meaning", sql.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ArrowArray rows; /* made once, kept to the end */
    struct lc_arena arena LC_ARENA = {0};
    const struct lc_expr *expr;
    if (!rows.release && !json_rows(lc_rich_rows, &lc_rich_schema, 3, &rows))
        stop("no rows", "");
    if (lc_filter_parse((struct lc_str){(const char *)data, size}, &lc_rich_schema, &arena, &expr, NULL) == LCDC_OK)
        check(expr, &rows, &arena);
    return 0;
}
