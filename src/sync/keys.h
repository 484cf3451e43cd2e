/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - the table of config keys (config.def), values of its kinds, and words that are near to one another.
 */
#ifndef LC_SYNC_KEYS_H
#define LC_SYNC_KEYS_H

#include "base/error.h"
#include "base/str.h"

enum lc_key_section {
    LC_SECTION_TOP,
    LC_SECTION_RETRY,
    LC_SECTION_LOG,
    LC_SECTION_METRICS,
    LC_SECTION_SOURCE,
    LC_SECTION_SINK,
    LC_SECTION_TABLE,
    LC_SECTION_TRANSFORM
};

enum lc_key_kind {
    LC_KEY_TEXT,
    LC_KEY_PATH,
    LC_KEY_WORD,
    LC_KEY_COUNT,
    LC_KEY_DURATION,
    LC_KEY_BOOL,
    LC_KEY_MAP,
    LC_KEY_LIST,
    LC_KEY_READER,
    LC_KEY_READER_LIST
};

enum lc_key_id {
#define LC_KEY(section, key, kind, words, initial, required, help) LC_CONFIG_##section##_##key,
#include "sync/config.def"
#undef LC_KEY
    LC_CONFIG_COUNT
};

struct lc_key {
    enum lc_key_section section;
    const char *key;
    enum lc_key_kind kind;
    const char *words;   /* WORD */
    const char *initial; /* default as text; NULL = none */
    bool required;
    const char *help;
};

extern const struct lc_key lc_keys[LC_CONFIG_COUNT];

/** LC_CONFIG_COUNT when the section has no such key. */
enum lc_key_id lc_key_find(enum lc_key_section section, const char *key);

/** The candidate nearest to `word`, or NULL when none is near: call lc_nearest_add for each. */
struct lc_nearest {
    const char *word, *best;
    size_t distance;
};
void lc_nearest_add(struct lc_nearest *nearest, const char *candidate);

/** True when `value` is one of `words`, which have blanks between them. */
bool lc_is_word(const char *words, const char *value);
/** "a, b or c" of "a b c"; appended. */
void lc_print_words(const char *words, struct lc_buf *out);

/** "500ms", "30s", "5m", "2h", "1d"; more than nothing and at most ten years. */
bool lc_parse_duration(const char *text, int64_t *out_ms);

#endif
