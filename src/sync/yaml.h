/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - a config file as a tree that knows the line of everything in it.
 *
 * Less than YAML on purpose: one document, mappings with text keys that occur once, no anchors, no tags. A value may
 * hold ${NAME}, which becomes what the environment says ("$${" stands for "${"); such a value is never shown again. The
 * tree knows nothing of what the keys mean.
 */
#ifndef LC_SYNC_YAML_H
#define LC_SYNC_YAML_H

#include "base/arena.h"
#include "base/error.h"

enum { LC_YAML_MAX_BYTES = 16 << 20, LC_YAML_MAX_DEPTH = 32, LC_YAML_MAX_NODES = 1 << 20 };

enum lc_yaml_kind { LC_YAML_TEXT, LC_YAML_MAP, LC_YAML_LIST };

struct lc_yaml {
    enum lc_yaml_kind kind;
    int line;             /* from 1 */
    const char *text;     /* TEXT */
    const char *spelling; /* TEXT: as it stands in the file, for messages */
    bool is_plain;        /* TEXT: without quotes, so that 12 and true are no text */
    bool is_null;         /* TEXT: nothing, or ~ or null without quotes */
    size_t n;
    struct lc_yaml_item *items; /* MAP, LIST: in their order */
};

struct lc_yaml_item {
    const char *key; /* NULL in a list */
    int line;        /* of the key */
    struct lc_yaml value;
};

/** What ${NAME} stands for; NULL: not set. Without such a function texts stay as they are spelled. */
typedef const char *(*lc_yaml_lookup)(void *context, const char *name);

/** Parses a text; `path` names it in messages. Everything lives in `arena`. LC_R_CONFIG_SYNTAX with file and line. */
lcdc_status lc_yaml_parse(struct lc_str text, const char *path, lc_yaml_lookup lookup, void *context,
                          struct lc_arena *arena, struct lc_yaml *out, lcdc_error **err);

/** Puts the variables into one text of a tree that was parsed without a lookup. */
lcdc_status lc_yaml_expand(struct lc_yaml *node, const char *path, lc_yaml_lookup lookup, void *context,
                           struct lc_arena *arena, lcdc_error **err);

/** The value of a key, or NULL. */
const struct lc_yaml *lc_yaml_get(const struct lc_yaml *map, const char *key);

#endif
