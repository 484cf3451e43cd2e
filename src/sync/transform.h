/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform.h - what a config does to the images of change rows: rename, drop, constant, cast, expression, in order.
 *
 * Steps are texts until they are bound to the columns of a table; everything that can be wrong about them is found
 * then, with the line of the config, and not at the millionth row. What is left for a row to get wrong is a value that
 * does not fit the type it is cast to. The op, the commit and its time are never touched.
 */
#ifndef LC_SYNC_TRANSFORM_H
#define LC_SYNC_TRANSFORM_H

#include "base/arrow.h"
#include "core/filter.h"

enum lc_step_kind { LC_STEP_RENAME, LC_STEP_DROP, LC_STEP_CONSTANT, LC_STEP_CAST, LC_STEP_EXPRESSION };

/** One step as the config has it. */
struct lc_step {
    enum lc_step_kind kind;
    int line;
    const char *column;       /* the one it is about, or makes */
    const char *text;         /* RENAME: the new name; CAST: the type; EXPRESSION: the condition */
    struct lc_value constant; /* CONSTANT: BOOL, INT64, DOUBLE or STRING */
};

struct lc_steps {
    const char *path; /* of the config, for messages */
    const char *table;
    size_t n;
    const struct lc_step *items;
};

/** Steps bound to columns. */
struct lc_transform {
    struct lc_arena arena;
    struct lc_field images; /* STRUCT: what leaves */
    size_t n_identity;
    size_t *identity; /* places in `images` */
    size_t n_actions;
    struct lc_action *actions;
    struct lc_field from; /* STRUCT: what comes in; names and types */
};

/**
 * Binds steps to the columns `images` (copied); `identity` are names of columns as the source has them.
 * LC_R_CONFIG_VALUE with file and line. Free with lc_transform_done(), also after a failure.
 */
lcdc_status lc_transform_bind(const struct lc_steps *steps, const struct lc_field *images, size_t n_identity,
                              const char *const *identity, int identity_line, struct lc_transform *out,
                              lcdc_error **err);
void lc_transform_done(struct lc_transform *transform);

/** Change rows (lakecdc/change.h) over the bound columns become change rows over `transform->images`, in place. */
lcdc_status lc_transform_apply(const struct lc_transform *transform, struct ArrowArray *rows, lcdc_error **err);

/** "bigint", "decimal(10,2)", "string": the SQL word of a primitive type, and int8 .. int64 besides. */
bool lc_type_parse(const char *text, struct lc_type *out);

#endif
