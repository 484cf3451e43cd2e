/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/str.h"

enum { MAX_LINE = 8192 };

/* One hook a process: libraries are used by programs that log in one place. Set before threads start. */
static struct log_hook {
    lcdc_log_fn function;
    void *context;
    lcdc_log_level least;
} hook;

void lcdc_log_set(lcdc_log_fn function, void *context, lcdc_log_level least)
{
    hook = (struct log_hook){function, context, least};
}

void lc_log(lcdc_log_level level, const char *target, const char *format, ...)
{
    LC_BUF struct lc_buf line = {.max = MAX_LINE};
    va_list args;
    if (!hook.function || level < hook.least)
        return;
    va_start(args, format);
    lc_buf_vprintf(&line, format, args);
    va_end(args);
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.p[i] < 0x20)
            line.p[i] = ' ';
    if (!line.failed && line.p)
        hook.function(hook.context, level, target, line.p);
}
