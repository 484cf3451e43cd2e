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
    char *reason;
    char *json;
};

struct lcdc_source {
    lcdc_request *request;
    lcdc_request *located; /* the same with the place of the table's files; NULL when `request` has it */
    struct lc_shared shared;
    struct lc_arena arena; /* texts of the verdict */
    size_t at;             /* the chosen backend's place in lc_backends and among the candidates */
    void *handle;          /* what its open() gave */
    struct lcdc_verdict verdict;
};

const struct lc_backend *lc_source_backend(const lcdc_source *source);

/** Whether a failure before the first row is answered by the next backend. */
bool lc_source_may_fall_back(const lcdc_source *source, const lcdc_request *request, lcdc_status status);

/**
 * The chosen backend could not read after all: notes its words in the verdict and opens the next usable one.
 * `problem` is consumed; it is what *err gets when there is no other.
 */
lcdc_status lc_source_fall_back(lcdc_source *source, lcdc_error *take_problem, lcdc_error **err);

#endif
