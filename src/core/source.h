/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - a table behind the backend that was chosen for it, and the verdict that says why.
 */
#ifndef LC_CORE_SOURCE_H
#define LC_CORE_SOURCE_H

#include "core/backend.h"

enum { LC_MAX_BACKENDS = 16 };

struct lcdc_verdict {
    size_t n_candidates;
    struct lc_candidate candidates[LC_MAX_BACKENDS];
    const char *chosen;
    bool fell_back;
    char *failure; /* of the last read of the chosen backend; NULL: it ended well, or there was none */
    char *reason;
    char *json;
};

struct lcdc_source {
    lcdc_request *request;
    lcdc_request *located; /* the same with the place of the table's files; NULL when `request` has it */
    struct lc_shared shared;
    struct lc_arena arena; /* texts of the verdict */
    size_t at;             /* the chosen backend's place in lc_backends and among the candidates */
    void *handle;          /* what its open() gave; NULL: no backend is left */
    lcdc_error *problem;   /* what ended the search for a backend; NULL: nothing did */
    struct lcdc_verdict verdict;
};

const struct lc_backend *lc_source_backend(const lcdc_source *source);

/** A step that needs a backend and gives no row; it may be taken more than once. */
typedef lcdc_status (*lc_source_step)(void *context, lcdc_error **err);

/**
 * Takes a step with the chosen backend. Where that cannot after all and its word was not to be trusted, its words are
 * noted in the verdict and the step is taken again with the next usable one.
 */
lcdc_status lc_source_attempt(lcdc_source *source, const lcdc_request *request, lc_source_step step, void *context,
                              lcdc_error **err);

/** Notes in the verdict how a read of the chosen backend ended: with an error, or well (NULL). */
void lc_source_note_end(lcdc_source *source, const lcdc_error *error);

/**
 * A text that is another one after every commit, roll-back or re-creation of the table; left empty where the backend
 * cannot tell without a read. `before`: that of an earlier look, or NULL. `cancelled`: non-zero ends the look; or NULL.
 */
lcdc_status lc_source_tip(lcdc_source *source, const char *before, const _Atomic int *cancelled, struct lc_buf *out,
                          lcdc_error **err);

#endif
