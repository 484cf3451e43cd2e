/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - the request as the seam and the backends read it: texts and their parsed values.
 */
#ifndef LC_CORE_REQUEST_H
#define LC_CORE_REQUEST_H

#include "base/arena.h"
#include "lakecdc/request.h"

enum lc_bound_kind { LC_BOUND_START, LC_BOUND_LATEST, LC_BOUND_ID, LC_BOUND_TIMESTAMP, LC_BOUND_NAME };

/** One end of a range. An integer is always a version or snapshot id; a date or timestamp a time; a word a tag. */
struct lc_bound {
    enum lc_bound_kind kind;
    int64_t id;       /* ID */
    int64_t ts_us;    /* TIMESTAMP, microseconds since 1970 UTC */
    const char *text; /* as it was given; the tag's or branch's name for NAME */
};

struct lc_list {
    size_t n;
    const char **items;
};

enum lc_option_id {
#define LC_OPTION(key, flag, operand, kind, initial, group, help) LC_OPT_##key,
#include "core/options.def"
#undef LC_OPTION
    LC_OPT_COUNT
};

/** What the backends of one family learn while they probe and use until the source is freed (a session, say). */
struct lc_shared {
    void *object;
    void (*release)(void *object);
    const _Atomic int *cancelled; /* of the request whose call is in progress; NULL between calls */
};

struct lcdc_request {
    struct lc_arena arena;           /* owns every text below */
    const char *texts[LC_OPT_COUNT]; /* what each option was set to; NULL when it was not */
    const char *table, *name, *via, *branch, *ca_file, *cursor, *where;
    struct lc_bound from, to;
    bool from_set, to_set; /* given, not defaulted */
    bool from_exclusive, to_exclusive, bootstrap, fold, net, drop_noop, pushdown;
    struct lc_list columns, identity, path_map;
    int64_t batch_rows, memory_limit, timeout, threads, storage_latency;
    _Atomic int cancelled;    /* by lcdc_request_cancel(); a copy begins anew */
    struct lc_shared *shared; /* in the request that a source keeps; NULL in any other */
    const _Atomic int *asked; /* in the request of a read that is being opened: of the caller's; NULL in any other */
};

/** A deep copy, for objects that outlive the caller's request. */
lcdc_status lc_request_dup(const lcdc_request *from, lcdc_request **out, lcdc_error **err);
/** Refuses combinations that mean nothing (a cursor with --from, net with bootstrap, ...). */
lcdc_status lc_request_check(const lcdc_request *request, lcdc_error **err);
LC_DEFINE_CLEANUP(lcdc_request *, lcdc_request_free)

#endif
