/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - what a sync looks like from outside: Prometheus text, health as JSON, a file, an HTTP server.
 */
#ifndef LC_SYNC_METRICS_H
#define LC_SYNC_METRICS_H

#include "base/error.h"
#include "base/str.h"

struct lcdc_sync;
struct MHD_Daemon;

struct lc_metrics {
    struct MHD_Daemon *server; /* NULL: none */
    int64_t written_ms;        /* when the file was last replaced */
};

/** Every number of every table. Appended. @thread any */
void lc_metrics_print(struct lcdc_sync *sync, struct lc_buf *out);
/** Health as one JSON object; false when a table is stopped or failing. @thread any */
bool lc_metrics_health(struct lcdc_sync *sync, struct lc_buf *out);

/** Begins to serve, where the config says so. LC_R_HTTP_LISTEN. */
lcdc_status lc_metrics_open(struct lcdc_sync *sync, lcdc_error **err);
/** Replaces the file, where the config wants one. */
lcdc_status lc_metrics_write(struct lcdc_sync *sync, lcdc_error **err);
void lc_metrics_close(struct lcdc_sync *sync);

#endif
