/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sync/sync.h"

/* ---- Prometheus text ---- */

struct metric {
    const char *name, *type, *help;
    int64_t (*value)(const struct lc_run_numbers *numbers, int64_t now_us);
};

static int64_t rounds(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->rounds;
}
static int64_t rows(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->rows;
}
static int64_t inserts(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->inserts;
}
static int64_t updates(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->updates;
}
static int64_t deletes(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->deletes;
}
static int64_t commits(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->commits;
}
static int64_t windows(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->windows;
}
static int64_t errors(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->errors;
}
static int64_t lag_commits(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->lag_commits;
}

/* A table that is level is not behind; one that is not has been so since it last was. -1: it never was. */
static int64_t lag_seconds(const struct lc_run_numbers *n, int64_t now)
{
    if (n->lag_commits == 0 && n->state == LC_STATE_ACTIVE)
        return 0;
    return n->level_at == INT64_MIN ? -1 : (now - n->level_at) / 1000000;
}
static int64_t failures(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->failures;
}
static int64_t success(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->success_at == INT64_MIN ? 0 : n->success_at / 1000000;
}
static int64_t commit_time(const struct lc_run_numbers *n, int64_t now)
{
    (void)now;
    return n->commit_at == INT64_MIN ? 0 : n->commit_at / 1000000;
}

static const struct metric metrics[] = {
    {"lakecdc_rounds_total", "counter", "looks at the table that succeeded", rounds},
    {"lakecdc_rows_total", "counter", "change rows delivered", rows},
    {"lakecdc_inserts_total", "counter", "inserts among them", inserts},
    {"lakecdc_updates_total", "counter", "updates among them", updates},
    {"lakecdc_deletes_total", "counter", "deletes among them", deletes},
    {"lakecdc_commits_total", "counter", "commits of the table that were read", commits},
    {"lakecdc_windows_total", "counter", "windows that the sink committed", windows},
    {"lakecdc_errors_total", "counter", "rounds that failed", errors},
    {"lakecdc_lag_commits", "gauge", "commits that are known and not delivered; -1 unknown", lag_commits},
    {"lakecdc_lag_seconds", "gauge", "seconds since the table was last level, 0 while it is; -1 never", lag_seconds},
    {"lakecdc_failures", "gauge", "rounds in a row that failed", failures},
    {"lakecdc_last_success_timestamp_seconds", "gauge", "when a round last succeeded, 0 never", success},
    {"lakecdc_last_commit_timestamp_seconds", "gauge", "time of the last commit that was read, 0 unknown", commit_time},
};

static void print_label(struct lc_buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\n')
            lc_buf_text(out, "\\n");
        else if (*p == '"' || *p == '\\')
            lc_buf_printf(out, "\\%c", *p);
        else
            lc_buf_char(out, *p);
    }
}

static void print_states(struct lcdc_sync *sync, struct lc_buf *out)
{
    lc_buf_text(out, "# HELP lakecdc_state 1 for the state a table is in\n# TYPE lakecdc_state gauge\n");
    for (size_t i = 0; i < sync->n_jobs; i++) {
        struct lc_run_numbers numbers = lc_run_numbers(&sync->jobs[i].run);
        lc_buf_text(out, "lakecdc_state{table=\"");
        print_label(out, sync->config.tables[i].name);
        lc_buf_printf(out, "\",state=\"%s\"} 1\n", lc_state_word(numbers.state));
    }
}

void lc_metrics_print(struct lcdc_sync *sync, struct lc_buf *out)
{
    int64_t now = lc_now_us();
    for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
        const struct metric *metric = &metrics[m];
        lc_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name, metric->type);
        for (size_t i = 0; i < sync->n_jobs; i++) {
            struct lc_run_numbers numbers = lc_run_numbers(&sync->jobs[i].run);
            lc_buf_printf(out, "%s{table=\"", metric->name);
            print_label(out, sync->config.tables[i].name);
            lc_buf_printf(out, "\"} %" PRId64 "\n", metric->value(&numbers, now));
        }
    }
    print_states(sync, out);
}

/* ---- health ---- */

bool lc_metrics_health(struct lcdc_sync *sync, struct lc_buf *out)
{
    struct lc_buf list;
    size_t bad = 0;
    lc_buf_init(&list, LC_BUF_MAX);
    for (size_t i = 0; i < sync->n_jobs; i++) {
        struct lc_run_numbers numbers = lc_run_numbers(&sync->jobs[i].run);
        bool is_paused = numbers.state == LC_STATE_PAUSED; /* on purpose */
        if (is_paused || (numbers.state != LC_STATE_FAILING && !lc_state_is_stopped(numbers.state)))
            continue;
        lc_buf_text(&list, bad++ ? ",{\"table\":" : "{\"table\":");
        lc_buf_json_string(&list, lc_str_of(sync->config.tables[i].name));
        lc_buf_printf(&list, ",\"state\":\"%s\",\"failures\":%" PRId64 "}", lc_state_word(numbers.state),
                      numbers.failures);
    }
    lc_buf_printf(out, "{\"status\":\"%s\",\"tables\":%zu,\"troubled\":[%s]}\n", bad ? "troubled" : "ok", sync->n_jobs,
                  list.p ? list.p : "");
    lc_buf_done(&list);
    return bad == 0;
}

/* ---- the file ---- */

static lcdc_status write_bytes(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t written = write(fd, p, n);
        if (written < 0 && errno != EINTR)
            return LCDC_IO;
        p += written > 0 ? written : 0;
        n -= (size_t)(written > 0 ? written : 0);
    }
    return LCDC_OK;
}

lcdc_status lc_metrics_write(struct lcdc_sync *sync, lcdc_error **err)
{
    const char *path = sync->config.metrics_file;
    char text[256];
    LC_BUF struct lc_buf bytes = {.max = LC_BUF_MAX}, partial = {.max = 1 << 16};
    if (!path)
        return LCDC_OK;
    lc_metrics_print(sync, &bytes);
    lc_buf_printf(&partial, "%s.partial-%ld", path, (long)getpid());
    LC_TRY_BUF(&bytes);
    LC_TRY_BUF(&partial);
    int fd = open(partial.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = fd >= 0 && write_bytes(fd, bytes.p, bytes.n) == LCDC_OK;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (good && rename(partial.p, path) == 0)
        return LCDC_OK;
    int error = errno;
    (void)unlink(partial.p);
    return lc_fail(err, LC_R_IO_FAILED, "metrics file %s: %s", path, strerror_r(error, text, sizeof(text)));
}
