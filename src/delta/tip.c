/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tip.c - whether a table has something new, in two looks at files.
 *
 * Versions have no gaps, so that a table has something new exactly when the version after the newest known one is
 * there; and it is no longer the table that was known when the newest known version's file is another one or gone.
 */
#include <inttypes.h>

#include "delta/log.h"

static lcdc_status look_at(struct lc_storage *storage, const char *root, int64_t version, bool *is_there,
                           struct lc_file_info *out, lcdc_error **err)
{
    LC_BUF struct lc_buf path = {.max = 1 << 16};
    LC_ERROR lcdc_error *problem = NULL;
    lc_buf_printf(&path, "%s/_delta_log/%020" PRId64 ".json", root, version);
    LC_TRY_BUF(&path);
    lcdc_status status = lc_storage_stat(storage, path.p, out, &problem);
    *is_there = status == LCDC_OK;
    if (status == LCDC_OK || status == LCDC_NOT_FOUND)
        return LCDC_OK;
    if (err) {
        lcdc_error_free(*err);
        *err = lc_steal(problem);
    }
    return status;
}

static void print_tip(int64_t version, const struct lc_file_info *info, struct lc_buf *out)
{
    lc_buf_printf(out, "%" PRId64 "/%" PRId64 "/%" PRId64, version, info->size, info->mtime_ms);
}

static lcdc_status still_holds(struct lc_storage *storage, const char *root, const char *before, bool *out,
                               lcdc_error **err)
{
    struct lc_str text = lc_str_of(before), number = {before, 0};
    struct lc_file_info info = {0};
    LC_BUF struct lc_buf now = {.max = 256};
    int64_t version;
    bool is_there = false, has_next = false;
    while (number.n < text.n && text.p[number.n] != '/')
        number.n++;
    *out = false;
    if (!lc_parse_i64(number, &version) || version < 0 || version == INT64_MAX)
        return LCDC_OK;
    LC_TRY(look_at(storage, root, version, &is_there, &info, err));
    if (!is_there)
        return LCDC_OK;
    print_tip(version, &info, &now);
    LC_TRY_BUF(&now);
    if (!lc_str_eq((struct lc_str){now.p, now.n}, text))
        return LCDC_OK;
    LC_TRY(look_at(storage, root, version + 1, &has_next, &info, err));
    *out = !has_next;
    return LCDC_OK;
}

lcdc_status lc_delta_log_tip(struct lc_storage *storage, const char *root, const char *before, struct lc_buf *out,
                             lcdc_error **err)
{
    LC_CLEANUP(lc_delta_log_freep) struct lc_delta_log *log = NULL;
    struct lc_file_info info = {.size = -1, .mtime_ms = INT64_MIN};
    bool same = false, is_there = false;
    if (before)
        LC_TRY(still_holds(storage, root, before, &same, err));
    if (same) {
        lc_buf_text(out, before);
    } else {
        LC_TRY(lc_delta_log_open(storage, root, &log, err));
        LC_TRY(look_at(storage, root, log->latest, &is_there, &info, err)); /* a checkpoint alone may stand for it */
        print_tip(log->latest, &info, out);
    }
    LC_TRY_BUF(out);
    return LCDC_OK;
}
