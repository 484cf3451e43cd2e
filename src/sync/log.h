/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what a running sync says: one line an event, as text or as a JSON object.
 *
 *     struct lc_line line;
 *     lc_line_begin(&line, log, LCDC_LOG_INFO, "window", "orders");
 *     lc_line_number(&line, "rows", 12);
 *     lc_line_end(&line);
 *
 * Nothing here can fail: a line for which memory is short is not said. Values of settings never come here.
 */
#ifndef LC_SYNC_LOG_H
#define LC_SYNC_LOG_H

#include <pthread.h>

#include "base/str.h"
#include "lakecdc/sync.h"
#include "lakecdc/sys/log.h"

struct lc_sync_log {
    lcdc_sync_log_fn function; /* NULL: nothing is said */
    void *context;
    bool json;
    int least;             /* lcdc_log_level */
    pthread_mutex_t mutex; /* one line at a time */
};

struct lc_line {
    struct lc_sync_log *log; /* NULL: this line is not said */
    struct lc_buf text;
};

/** `table` may be NULL. */
void lc_line_begin(struct lc_line *line, struct lc_sync_log *log, int level, const char *event, const char *table);
void lc_line_number(struct lc_line *line, const char *key, int64_t value);
/** NULL is left out. */
void lc_line_text(struct lc_line *line, const char *key, const char *value);
/** JSON as it is; NULL is left out. */
void lc_line_json(struct lc_line *line, const char *key, const char *json);
void lc_line_end(struct lc_line *line);

#endif
