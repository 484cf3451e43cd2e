/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h - a table's columns as both formats describe them: a tree of named, numbered, typed fields.
 *
 * The tree is immutable once built and lives in an arena. A variant column is a STRUCT of two BINARY fields, metadata
 * and value, with is_variant set.
 */
#ifndef LC_BASE_FIELD_H
#define LC_BASE_FIELD_H

#include "base/arena.h"
#include "base/error.h"

enum lc_type_kind {
#define LC_TYPE(id, word, format, width) LC_TYPE_##id,
#include "base/types.def"
#undef LC_TYPE
    LC_TYPE_COUNT
};

struct lc_type {
    enum lc_type_kind kind;
    int precision, scale; /* DECIMAL: 1..38, 0..precision */
    int length;           /* FIXED: bytes */
};

struct lc_value;

enum { LC_NO_ID = -1, LC_MAX_DEPTH = 100, LC_MAX_FIELDS = 100000 };

struct lc_field {
    const char *name;     /* as people see it */
    const char *physical; /* as files spell it; equals name where the format has no mapping */
    int32_t id;           /* LC_NO_ID when the format gives none */
    bool nullable;        /* as declared; images are nullable throughout */
    bool is_variant;
    struct lc_type type;
    size_t n_children; /* STRUCT: its fields; LIST: the element; MAP: key and value */
    struct lc_field *children;
    const struct lc_value *initial_default; /* what files from before the column hold; NULL = null */
    size_t n_aliases;                       /* other names that files without ids may use (Iceberg name mapping) */
    const char **aliases;
};

/** The SQL word of a type ("bigint", "decimal(10,2)", "array<string>"), appended. */
void lc_type_print(struct lc_buf *buf, const struct lc_field *field);
const char *lc_type_word(enum lc_type_kind kind);
int lc_type_width(enum lc_type_kind kind);
bool lc_type_equal(struct lc_type a, struct lc_type b);
bool lc_type_is_nested(enum lc_type_kind kind);

/** A child by its name (exact match), or NULL. */
const struct lc_field *lc_field_child(const struct lc_field *parent, struct lc_str name);
/** A child by its id, or NULL. */
const struct lc_field *lc_field_child_id(const struct lc_field *parent, int32_t id);
/**
 * A field by a dotted path of names below struct `root`; a name may be quoted with backticks or double quotes, which
 * is how one with a dot in it is reached. Exact case first, then any case when that is unambiguous. NULL when absent.
 */
const struct lc_field *lc_field_find(const struct lc_field *root, struct lc_str path);

/** A struct that holds copies of the chosen top-level fields of `root`, in the given order. */
lcdc_status lc_field_project(const struct lc_field *root, size_t n, const struct lc_field *const *columns,
                             struct lc_arena *arena, struct lc_field *out, lcdc_error **err);

/** Order-dependent fingerprint over names, ids, types of the tree. */
uint64_t lc_field_fingerprint(const struct lc_field *root);

#endif
