/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capability.h - what a table can give, by which backend, and why not by the others.
 *
 * A verdict is asked for, then probed, never assumed. It is kept for the life of the source it came from.
 */
#ifndef LAKECDC_CAPABILITY_H
#define LAKECDC_CAPABILITY_H

#include "base.h"
#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lcdc_verdict lcdc_verdict;

/** Name of the backend that will do the work ("direct", "spark_native", ...); NULL when none can. */
LCDC_EXPORT const char *lcdc_verdict_chosen(const lcdc_verdict *verdict);

/** Text for a person: why this backend, with the engine's own words where one said no. Never NULL. */
LCDC_EXPORT const char *lcdc_verdict_reason(const lcdc_verdict *verdict);

/** True when a backend that ranks higher was there and could not be used. */
LCDC_EXPORT bool lcdc_verdict_fell_back(const lcdc_verdict *verdict);

/** The backends that were considered, best first. */
LCDC_EXPORT size_t lcdc_verdict_candidate_count(const lcdc_verdict *verdict);
LCDC_EXPORT const char *lcdc_verdict_candidate_name(const lcdc_verdict *verdict, size_t i);
LCDC_EXPORT bool lcdc_verdict_candidate_usable(const lcdc_verdict *verdict, size_t i);
/** Why it is usable or not, in the engine's own words where it spoke; "" when out of range. */
LCDC_EXPORT const char *lcdc_verdict_candidate_reason(const lcdc_verdict *verdict, size_t i);

/**
 * The whole verdict as one JSON object on one line: chosen, server_version, server_major_minor, native_expected,
 * native_usable, fell_back, reason, candidates[{name, usable, reason}], format, table facts. Borrowed.
 */
LCDC_EXPORT const char *lcdc_verdict_json(const lcdc_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
