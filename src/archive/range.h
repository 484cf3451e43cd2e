/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.h - which commits of an archive a request means.
 */
#ifndef LC_ARCHIVE_RANGE_H
#define LC_ARCHIVE_RANGE_H

#include "archive/files.h"
#include "core/request.h"

/** Commits names[begin] ... names[end - 1]; empty when they are equal. */
struct lc_archive_range {
    size_t begin, end;
};

/**
 * A snapshot id that is there more than once (a table that was rolled back) means its last place. Where the archive is
 * of a table whose ids rise (`rises`: Delta versions), an id that has no rows stands between its neighbours.
 */
lcdc_status lc_archive_range_resolve(const struct lc_archive *archive, const lcdc_request *request, bool rises,
                                     struct lc_archive_range *out, lcdc_error **err);

/** The last whole state at or before commit `at`; false when there is none. */
bool lc_archive_base(const struct lc_archive *archive, size_t at, size_t *out);

#endif
