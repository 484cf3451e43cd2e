/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - which table, which range, which columns and rows, and how they are shaped.
 *
 * Every option exists once, in src/core/options.def: the setter below, the flag of the command, its help and
 * docs/options.md all come from there.
 */
#ifndef LAKECDC_REQUEST_H
#define LAKECDC_REQUEST_H

#include "base.h"
#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lcdc_request lcdc_request;

/** An empty request: from the start of the table to its latest version, every column, every row. */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_request_new(lcdc_request **out, lcdc_error **err);
LCDC_EXPORT void lcdc_request_free(lcdc_request *request);

/**
 * Sets one option by its key, e.g. ("table", "/data/orders"), ("from", "12"), ("where", "qty > 3"), ("fold", "true").
 * Lists take commas ("columns"); "path_map" may be set several times and adds up. Booleans take true, false, 1, 0 and
 * "" (true). The text is copied. LCDC_INVALID_ARGUMENT names the option, what was found and what it takes.
 */
LCDC_MUST_USE LCDC_EXPORT lcdc_status lcdc_request_set(lcdc_request *request, const char *key, const char *value,
                                                       lcdc_error **err);

/** The text an option was set to, its default when it was not, or NULL for no such key or no value. */
LCDC_EXPORT const char *lcdc_request_get(const lcdc_request *request, const char *key);

/**
 * Ends a call that was given this request and is waiting for a server: it returns LCDC_CANCELLED once what the server
 * holds has been released. Reads that have begun have lcdc_feed_cancel(). The one function of a request that any thread
 * may call at any time while the request exists; async-signal-safe. A cancelled request stays so.
 */
LCDC_EXPORT void lcdc_request_cancel(lcdc_request *request);

/** One row of the option table. */
typedef struct lcdc_option {
    const char *key;     /**< "from_exclusive" */
    const char *flag;    /**< "--from-exclusive"; NULL when the command has no flag for it */
    const char *operand; /**< what the flag takes ("VERSION"), NULL for a switch */
    const char *initial; /**< default as text, NULL when unset */
    const char *group;   /**< heading it stands under in help */
    const char *help;    /**< one sentence */
} lcdc_option;

/** The option table, in the order of help; NULL past its end. Static. Any thread. */
LCDC_EXPORT const lcdc_option *lcdc_option_at(size_t i);

#ifdef __cplusplus
}
#endif
#endif
