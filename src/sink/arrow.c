/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow.c - the "arrow" sink: a folder with an Arrow IPC stream per window. An IPC stream has an end, so it is not one
 * file that grows.
 */
#include "sink/file.h"
#include "sink/windows.h"

static const struct lc_sink_option options[] = {
    {.key = "path", .required = true, .help = "the folder; one file *.arrows per commit appears in it"},
};

static lcdc_status arrow_open(const struct lc_sink_setup *setup, struct lc_sink **out, lcdc_error **err)
{
    LC_FREE char *folder = NULL;
    const char *path = lc_sink_setting(&lc_sink_arrow, setup, "path");
    LC_TRY(lc_sink_local_path("arrow", path ? path : "", &folder, NULL, err));
    return lc_windows_open(&lc_sink_arrow, setup, folder, "arrow", "arrows", out, err);
}

const struct lc_sink_ops lc_sink_arrow = {.name = "arrow",
                                          .delivery = LC_DELIVERY_IDEMPOTENT,
                                          .n_options = sizeof(options) / sizeof(options[0]),
                                          .options = options,
                                          .owns_path = true,
                                          .open = arrow_open,
                                          .begin = lc_windows_begin,
                                          .write = lc_windows_write,
                                          .commit = lc_windows_commit,
                                          .abort = lc_windows_abort,
                                          .close = lc_windows_close};
