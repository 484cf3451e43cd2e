/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.c - names, types and places in a field tree.
 *
 * Whoever builds a tree bounds it (LC_MAX_DEPTH, LC_MAX_FIELDS), so that walking one by recursion is safe.
 */
#include "base/field.h"

#include <string.h>

static const struct {
    const char *word;
    int width;
} types[] = {
#define LC_TYPE(id, word, format, width) {word, width},
#include "base/types.def"
#undef LC_TYPE
};

const char *lc_type_word(enum lc_type_kind kind)
{
    return types[kind].word;
}

int lc_type_width(enum lc_type_kind kind)
{
    return types[kind].width;
}

bool lc_type_is_nested(enum lc_type_kind kind)
{
    return kind == LC_TYPE_STRUCT || kind == LC_TYPE_LIST || kind == LC_TYPE_MAP;
}

bool lc_type_equal(struct lc_type a, struct lc_type b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == LC_TYPE_DECIMAL)
        return a.precision == b.precision && a.scale == b.scale;
    return a.kind != LC_TYPE_FIXED || a.length == b.length;
}

void lc_type_print(struct lc_buf *buf, const struct lc_field *field)
{
    struct lc_type type = field->type;
    if (field->is_variant) {
        lc_buf_text(buf, "variant");
        return;
    }
    lc_buf_text(buf, lc_type_word(type.kind));
    if (type.kind == LC_TYPE_DECIMAL)
        lc_buf_printf(buf, "(%d,%d)", type.precision, type.scale);
    else if (type.kind == LC_TYPE_FIXED)
        lc_buf_printf(buf, "(%d)", type.length);
    if (!lc_type_is_nested(type.kind))
        return;
    lc_buf_char(buf, '<');
    for (size_t i = 0; i < field->n_children; i++) {
        if (i)
            lc_buf_char(buf, ',');
        if (type.kind == LC_TYPE_STRUCT)
            lc_buf_printf(buf, "%s:", field->children[i].name);
        lc_type_print(buf, &field->children[i]);
    }
    lc_buf_char(buf, '>');
}

const struct lc_field *lc_field_child(const struct lc_field *parent, struct lc_str name)
{
    for (size_t i = 0; i < parent->n_children; i++)
        if (lc_str_is(name, parent->children[i].name))
            return &parent->children[i];
    return NULL;
}

const struct lc_field *lc_field_child_id(const struct lc_field *parent, int32_t id)
{
    for (size_t i = 0; id != LC_NO_ID && i < parent->n_children; i++)
        if (parent->children[i].id == id)
            return &parent->children[i];
    return NULL;
}

/* ---- paths ---- */

/* One name of a path as it was written: inside `quote` (0: none) a doubled quote stands for one. */
struct written {
    struct lc_str text;
    char quote;
};

static size_t quoted_length(struct lc_str text, char quote)
{
    size_t i = 0;
    while (i < text.n && (text.p[i] != quote || (i + 1 < text.n && text.p[i + 1] == quote)))
        i += text.p[i] == quote ? 2 : 1;
    return i;
}

static size_t bare_length(struct lc_str text)
{
    const char *dot = text.n ? memchr(text.p, '.', text.n) : NULL;
    return dot ? (size_t)(dot - text.p) : text.n;
}

/* Takes a name and the dot after it off the front of `path`; false when it is malformed. */
static bool take_name(struct lc_str *path, struct written *out)
{
    char quote = path->n && (path->p[0] == '`' || path->p[0] == '"') ? path->p[0] : 0;
    struct lc_str rest = quote ? (struct lc_str){path->p + 1, path->n - 1} : *path;
    size_t n = quote ? quoted_length(rest, quote) : bare_length(rest);
    if (quote ? n == rest.n : n == 0)
        return false;
    *out = (struct written){{rest.p, n}, quote};
    n += quote != 0;
    bool has_more = n < rest.n;
    if (has_more && (rest.p[n] != '.' || n + 1 == rest.n))
        return false;
    n += has_more;
    *path = (struct lc_str){rest.p + n, rest.n - n};
    return true;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_name(struct written written, const char *name, bool any_case)
{
    struct lc_str text = written.text;
    for (size_t i = 0; i < text.n; i++, name++) {
        char c = text.p[i];
        if (any_case ? lower(c) != lower(*name) : c != *name)
            return false;
        if (*name == 0)
            return false;
        i += written.quote && c == written.quote;
    }
    return *name == 0;
}

/* How many fields below `parent` the path names (counting stops at 2); the last one found in *out. */
static int find_path(const struct lc_field *parent, struct lc_str path, bool any_case, const struct lc_field **out)
{
    struct written name;
    int found = 0;
    if (parent->type.kind != LC_TYPE_STRUCT || !take_name(&path, &name))
        return 0;
    for (size_t i = 0; i < parent->n_children && found < 2; i++) {
        const struct lc_field *child = &parent->children[i];
        if (!is_name(name, child->name, any_case))
            continue;
        if (path.n) {
            found += find_path(child, path, any_case, out);
        } else {
            *out = child;
            found++;
        }
    }
    return found;
}

const struct lc_field *lc_field_find(const struct lc_field *root, struct lc_str path)
{
    const struct lc_field *out = NULL;
    int found = find_path(root, path, false, &out);
    if (found == 0)
        found = find_path(root, path, true, &out);
    return found == 1 ? out : NULL;
}

/* ---- projection, fingerprint ---- */

lcdc_status lc_field_project(const struct lc_field *root, size_t n, const struct lc_field *const *columns,
                             struct lc_arena *arena, struct lc_field *out, lcdc_error **err)
{
    struct lc_field made = *root;
    made.n_children = n;
    made.children = lc_arena_array(arena, n, sizeof(*made.children));
    LC_TRY_ALLOC(made.children);
    for (size_t i = 0; i < n; i++)
        made.children[i] = *columns[i];
    *out = made;
    return LCDC_OK;
}

/* FNV-1a, number by number and with the length before each text, so that no two trees give one byte sequence. */
static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mix_number(uint64_t hash, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    return mix_bytes(hash, bytes, sizeof(bytes));
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix_bytes(mix_number(hash, strlen(text)), text, strlen(text));
}

static uint64_t mix_field(uint64_t hash, const struct lc_field *field)
{
    struct lc_type type = field->type;
    hash = mix_text(hash, field->name ? field->name : "");
    hash = mix_number(hash, (uint64_t)field->id);
    hash = mix_text(hash, field->is_variant ? "variant" : lc_type_word(type.kind)); /* words outlive the enum's order */
    if (type.kind == LC_TYPE_DECIMAL)
        hash = mix_number(mix_number(hash, (uint64_t)type.precision), (uint64_t)type.scale);
    if (type.kind == LC_TYPE_FIXED)
        hash = mix_number(hash, (uint64_t)type.length);
    hash = mix_number(hash, field->n_children);
    for (size_t i = 0; i < field->n_children; i++)
        hash = mix_field(hash, &field->children[i]);
    return hash;
}

uint64_t lc_field_fingerprint(const struct lc_field *root)
{
    return mix_field(UINT64_C(0xcbf29ce484222325), root);
}
