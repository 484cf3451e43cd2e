/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - a bounded view of JSON: sizes and depth are limited, duplicate members are refused, integers stay exact.
 *
 * A document owns its tree; nodes are borrowed from it. Lookups answer NULL / false for "absent or another type", so a
 * reader asks for what it needs and reports absence in its own words.
 */
#ifndef LC_IO_JSON_H
#define LC_IO_JSON_H

#include "base/error.h"
#include "base/str.h"

struct json_t; /* a node */

enum { LC_JSON_MAX_DEPTH = 512 };

/** Parses one value and nothing after it but blanks. LC_R_JSON_BAD with line and column. Free with lc_json_free(). */
lcdc_status lc_json_parse(struct lc_str text, struct json_t **out, lcdc_error **err);
void lc_json_free(struct json_t *json);
LC_DEFINE_CLEANUP(struct json_t *, lc_json_free)
#define LC_JSON LC_CLEANUP(lc_json_freep)

struct json_t *lc_json_member(const struct json_t *object, const char *key); /* NULL also for JSON null */
bool lc_json_is_object(const struct json_t *json);
bool lc_json_is_array(const struct json_t *json);
bool lc_json_is_string(const struct json_t *json);
bool lc_json_is_number(const struct json_t *json);
bool lc_json_is_null(const struct json_t *json);
size_t lc_json_count(const struct json_t *json); /* members or elements; 0 for others */
struct json_t *lc_json_at(const struct json_t *array, size_t i);

bool lc_json_str(const struct json_t *json, struct lc_str *out);
bool lc_json_i64(const struct json_t *json, int64_t *out); /* integers only */
bool lc_json_f64(const struct json_t *json, double *out);  /* any number */
bool lc_json_bool(const struct json_t *json, bool *out);

/* The same, of a member. */
bool lc_json_get_str(const struct json_t *object, const char *key, struct lc_str *out);
bool lc_json_get_i64(const struct json_t *object, const char *key, int64_t *out);
bool lc_json_get_bool(const struct json_t *object, const char *key, bool *out);

/** Visits members in their order: `for (void *at = NULL; lc_json_next(object, &at, &key, &value);)`. */
bool lc_json_next(const struct json_t *object, void **at, struct lc_str *key, struct json_t **value);

/** The value as compact JSON text, appended. */
void lc_json_print(const struct json_t *json, struct lc_buf *out);

#endif
