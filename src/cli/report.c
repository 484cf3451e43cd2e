/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - what a person is told when something is wrong: one line, always of the same form, nearest words, numbers.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"

/* C0, DEL, and C1 (U+0080..U+009F), which some terminals obey too. */
void lc_cli_print_clean(void *stream, const char *text)
{
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)p[0], next = (unsigned char)p[1];
        if (c == 0xC2 && next >= 0x80 && next < 0xA0) {
            fputc('?', stream);
            p++;
        } else {
            fputc(c < 0x20 || c == 0x7F ? ' ' : c, stream);
        }
    }
}

static void remark(void *context, lcdc_log_level level, const char *target, const char *message)
{
    (void)context;
    fprintf(stderr, "lakecdc: %s: ", level == LCDC_LOG_WARN ? "warning" : target);
    lc_cli_print_clean(stderr, message);
    fputc('\n', stderr);
}

void lc_cli_log_begin(bool quiet)
{
    static const char *const words[] = {NULL, "debug", "info", "warn"};
    const char *word = getenv("LAKECDC_LOG");
    lcdc_log_level least = LCDC_LOG_WARN;
    for (int level = LCDC_LOG_DEBUG; word && level <= LCDC_LOG_WARN; level++)
        if (strcmp(word, words[level]) == 0)
            least = (lcdc_log_level)level;
    if (!quiet)
        lcdc_log_set(remark, NULL, least);
}

lcdc_status lc_cli_fail(lcdc_status status, const char *reason, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fputs("lakecdc: ", stderr);
    lc_cli_print_clean(stderr, text);
    fprintf(stderr, " (%s)\n", reason);
    return status;
}

static void print_servable(const lcdc_error *error)
{
    const char *from = lcdc_error_detail(error, "servable_from"), *to = lcdc_error_detail(error, "servable_to");
    if (!from && !to)
        return;
    fputs("; can be served:", stderr);
    if (from) {
        fputs(" --from ", stderr);
        lc_cli_print_clean(stderr, from);
    }
    if (to) {
        fputs(" --to ", stderr);
        lc_cli_print_clean(stderr, to);
    }
}

int lc_cli_report(const lcdc_error *error)
{
    if (!error)
        return lc_cli_fail(LCDC_INTERNAL, "internal", "a call failed without saying why");
    fputs("lakecdc: ", stderr);
    lc_cli_print_clean(stderr, lcdc_error_message(error));
    print_servable(error);
    fprintf(stderr, " (%s)\n", lcdc_error_reason(error));
    return lcdc_error_status(error);
}

int lc_cli_error(lcdc_error *take_error)
{
    int status = lc_cli_report(take_error);
    lcdc_error_free(take_error);
    return status;
}

/* Edit distance of short words; more than any limit for long ones. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t row[LONGEST + 1], n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t swap = diagonal + (a[i - 1] != b[j - 1]);
            size_t skip = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = swap < skip ? swap : skip;
        }
    }
    return row[m];
}

/* A beginning is as near as one letter off; dashes do not count towards how much may differ. */
void lc_cli_nearest_add(struct lc_cli_nearest *nearest, const char *candidate)
{
    size_t n = strlen(nearest->word), letters = n - strspn(nearest->word, "-");
    bool is_beginning = letters > 1 && strncmp(candidate, nearest->word, n) == 0;
    size_t d = is_beginning ? 1 : distance(nearest->word, candidate);
    if (d <= (letters < 2 ? 1 : letters / 2) && d <= 3 && (!nearest->best || d < nearest->distance)) {
        nearest->best = candidate;
        nearest->distance = d;
    }
}

const char *lc_cli_count(int64_t n, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, n), out = 0;
    for (int i = 0; i < length; i++) {
        text[out++] = digits[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            text[out++] = ',';
    }
    text[out] = 0;
    return text;
}
