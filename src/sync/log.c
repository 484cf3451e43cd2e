/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/log.h"

#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "sync/state.h"

static const char *level_word(int level)
{
    return level >= LCDC_LOG_WARN ? "warn" : level >= LCDC_LOG_INFO ? "info" : "debug";
}

void lc_line_begin(struct lc_line *line, struct lc_sync_log *log, int level, const char *event, const char *table)
{
    *line = (struct lc_line){.log = log->function && level >= log->least ? log : NULL};
    lc_buf_init(&line->text, 1 << 20);
    if (!line->log)
        return;
    lc_buf_text(&line->text, log->json ? "{\"ts\":\"" : "");
    lc_print_timestamp(&line->text, lc_now_us() / 1000 * 1000, 6, true);
    if (log->json) {
        lc_buf_printf(&line->text, "\",\"level\":\"%s\",\"event\":\"%s\"", level_word(level), event);
        lc_line_text(line, "table", table);
        return;
    }
    lc_buf_printf(&line->text, " %-5s ", level_word(level));
    if (table)
        lc_buf_printf(&line->text, "%s: ", table);
    lc_buf_text(&line->text, event);
}

static void begin_field(struct lc_line *line, const char *key)
{
    if (line->log->json)
        lc_buf_printf(&line->text, ",\"%s\":", key);
    else
        lc_buf_printf(&line->text, " %s=", key);
}

void lc_line_number(struct lc_line *line, const char *key, int64_t value)
{
    if (!line->log)
        return;
    begin_field(line, key);
    lc_buf_printf(&line->text, "%" PRId64, value);
}

/* Text without blanks or quotes stands as it is in a line for people. */
void lc_line_text(struct lc_line *line, const char *key, const char *value)
{
    if (!line->log || !value)
        return;
    begin_field(line, key);
    if (line->log->json || strpbrk(value, " \"\t\n=") || !*value)
        lc_buf_json_string(&line->text, lc_str_of(value));
    else
        lc_buf_text(&line->text, value);
}

void lc_line_json(struct lc_line *line, const char *key, const char *json)
{
    if (!line->log || !json)
        return;
    begin_field(line, key);
    lc_buf_text(&line->text, json);
}

void lc_line_end(struct lc_line *line)
{
    struct lc_sync_log *log = line->log;
    if (log && log->json)
        lc_buf_char(&line->text, '}');
    if (log && !line->text.failed) {
        for (size_t i = 0; i < line->text.n; i++) /* a table's name may hold what steers a terminal */
            if ((unsigned char)line->text.p[i] < 0x20 || line->text.p[i] == 0x7F)
                line->text.p[i] = ' ';
        (void)pthread_mutex_lock(&log->mutex);
        log->function(log->context, line->text.p);
        (void)pthread_mutex_unlock(&log->mutex);
    }
    lc_buf_done(&line->text);
}
