/* SPDX-License-Identifier: Apache-2.0 */
#include "io/archive_files.h"

#include <inttypes.h>
#include <string.h>

#include "io/field_json.h"

enum { VERSION = 1, MAX_PARTS = 1 << 20 };

static const char *const kinds[] = {"changes", "snapshot", "replace"};
static const char *const ops[LC_ARCHIVE_OPS] = {NULL, "insert", "delete", "update_before", "update_after", "update"};

/* ---- names ---- */

static void print_optional(struct lc_buf *out, bool known, int64_t value)
{
    if (known)
        lc_buf_printf(out, "_%" PRId64, value);
    else
        lc_buf_text(out, "_x");
}

void lc_archive_name_print(struct lc_buf *out, const struct lc_archive_name *name)
{
    lc_buf_printf(out, "%09" PRId64, name->sequence);
    print_optional(out, name->snapshot >= 0, name->snapshot);
    print_optional(out, name->ts_us != INT64_MIN, name->ts_us);
    if (name->kind != LC_ARCHIVE_CHANGES)
        lc_buf_printf(out, "_%s", kinds[name->kind]);
}

static bool parse_digits(struct lc_str text, size_t least, int64_t *out)
{
    return text.n >= least && text.p[0] != '-' && lc_parse_i64(text, out);
}

static bool parse_optional(struct lc_str text, int64_t unknown, int64_t *out)
{
    if (lc_str_is(text, "x")) {
        *out = unknown;
        return true;
    }
    return lc_parse_i64(text, out) && *out != unknown;
}

static bool parse_kind(struct lc_str word, enum lc_archive_kind *out)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (lc_str_is(word, kinds[i])) {
            *out = (enum lc_archive_kind)i;
            return true;
        }
    return false;
}

/* What is before the next '_', which is taken off with it. */
static struct lc_str next_part(struct lc_str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '_', rest->n) : NULL;
    struct lc_str part = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = end ? (struct lc_str){end + 1, rest->n - part.n - 1} : (struct lc_str){rest->p + rest->n, 0};
    return part;
}

bool lc_archive_name_parse(struct lc_str text, struct lc_archive_name *out)
{
    struct lc_str rest = text, sequence = next_part(&rest), snapshot = next_part(&rest), time = next_part(&rest);
    *out = (struct lc_archive_name){.kind = LC_ARCHIVE_CHANGES};
    if (rest.n && (!parse_kind(rest, &out->kind) || out->kind == LC_ARCHIVE_CHANGES))
        return false;
    return text.n && text.p[text.n - 1] != '_' && parse_digits(sequence, 9, &out->sequence) &&
           parse_optional(snapshot, -1, &out->snapshot) && out->snapshot >= -1 &&
           parse_optional(time, INT64_MIN, &out->ts_us);
}

void lc_archive_group_print(struct lc_buf *out, int64_t number)
{
    lc_buf_printf(out, "%06" PRId64, number);
}

bool lc_archive_group_parse(struct lc_str text, int64_t *number)
{
    return parse_digits(text, 6, number) && *number <= INT64_MAX / LC_ARCHIVE_GROUP - 1;
}

/* ---- texts that carry their own checksum: {"xxh128":"...","KEY":BODY} ---- */

static void print_sealed(struct lc_buf *out, const char *key, struct lc_buf *body)
{
    char sum[LC_CHECKSUM_TEXT];
    out->failed = out->failed || body->failed;
    if (out->failed)
        return;
    lc_checksum_of(body->p, body->n, sum);
    lc_buf_printf(out, "{\"xxh128\":\"%s\",\"%s\":", sum, key);
    lc_buf_append(out, body->p, body->n);
    lc_buf_text(out, "}\n");
}

static lcdc_status parse_sealed(struct lc_str text, const char *key, struct json_t **out, lcdc_error **err)
{
    LC_BUF struct lc_buf head = {0};
    char sum[LC_CHECKSUM_TEXT];
    static const char begin[] = "{\"xxh128\":\"";
    size_t at = sizeof(begin) - 1 + LC_CHECKSUM_TEXT - 1;
    lc_buf_init(&head, 256);
    lc_buf_printf(&head, "\",\"%s\":", key);
    LC_TRY_BUF(&head);
    if (text.n < at + head.n + 3 || memcmp(text.p, begin, sizeof(begin) - 1) != 0 ||
        memcmp(text.p + at, head.p, head.n) != 0 || memcmp(text.p + text.n - 2, "}\n", 2) != 0)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "it is cut short or not of the form that lakecdc writes");
    struct lc_str body = {text.p + at + head.n, text.n - at - head.n - 2};
    lc_checksum_of(body.p, body.n, sum);
    if (memcmp(sum, text.p + sizeof(begin) - 1, LC_CHECKSUM_TEXT - 1) != 0)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "it was altered: its text does not sum up to the checksum in it");
    if (lc_json_parse(body, out, NULL) != LCDC_OK)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "it is not JSON");
    return LCDC_OK;
}

static void print_text(struct lc_buf *out, const char *key, const char *text)
{
    lc_buf_printf(out, ",\"%s\":", key);
    lc_buf_json_string(out, lc_str_of(text));
}

static lcdc_status get_text(const struct json_t *json, const char *key, struct lc_arena *arena, const char **out,
                            lcdc_error **err)
{
    struct lc_str text;
    if (!lc_json_get_str(json, key, &text) || memchr(text.p, 0, text.n))
        return lc_fail(err, LC_R_ARCHIVE_BAD, "it has no %s", key);
    *out = lc_arena_strndup(arena, text.p, text.n);
    LC_TRY_ALLOC(*out);
    return LCDC_OK;
}

static lcdc_status check_version(const struct json_t *json, lcdc_error **err)
{
    int64_t version = -1;
    (void)lc_json_get_i64(json, "version", &version);
    return version == VERSION
               ? LCDC_OK
               : lc_fail(err, LC_R_ARCHIVE_BAD, "its version is %" PRId64 ", expected %d", version, (int)VERSION);
}

/* ---- a commit ---- */

void lc_archive_manifest_print(struct lc_buf *out, const struct lc_archive_manifest *m)
{
    LC_BUF struct lc_buf body = {0};
    lc_buf_init(&body, LC_ARCHIVE_MAX_FILE - 4096);
    lc_buf_printf(&body, "{\"version\":%d,\"sequence\":%" PRId64 ",\"kind\":\"%s\",\"snapshot\":", (int)VERSION,
                  m->name.sequence, kinds[m->name.kind]);
    if (m->name.snapshot >= 0)
        lc_buf_printf(&body, "%" PRId64, m->name.snapshot);
    else
        lc_buf_text(&body, "null");
    lc_buf_text(&body, ",\"ts_us\":");
    if (m->name.ts_us != INT64_MIN)
        lc_buf_printf(&body, "%" PRId64, m->name.ts_us);
    else
        lc_buf_text(&body, "null");
    print_text(&body, "cursor", m->cursor);
    lc_buf_printf(&body, ",\"rows\":%" PRId64 ",\"ops\":{", m->rows);
    for (size_t i = 1, n = 0; i < LC_ARCHIVE_OPS; i++)
        if (m->ops[i])
            lc_buf_printf(&body, "%s\"%s\":%" PRId64, n++ ? "," : "", ops[i], m->ops[i]);
    lc_buf_text(&body, "},\"columns\":");
    lc_field_json_print(&body, &m->images);
    lc_buf_text(&body, ",\"files\":[");
    for (size_t i = 0; i < m->n_parts; i++) {
        lc_buf_text(&body, i ? ",{\"name\":" : "{\"name\":");
        lc_buf_json_string(&body, lc_str_of(m->parts[i].name));
        lc_buf_printf(&body, ",\"rows\":%" PRId64 ",\"bytes\":%" PRId64 ",\"xxh128\":\"%s\"}", m->parts[i].rows,
                      m->parts[i].bytes, m->parts[i].checksum);
    }
    lc_buf_text(&body, "]}");
    print_sealed(out, "manifest", &body);
}

static bool is_plain_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/') && !strchr(name, '\\');
}

static lcdc_status parse_part(const struct json_t *json, struct lc_arena *arena, struct lc_archive_part *out,
                              lcdc_error **err)
{
    LC_TRY(get_text(json, "name", arena, &out->name, err));
    LC_TRY(get_text(json, "xxh128", arena, &out->checksum, err));
    if (!is_plain_name(out->name) || !lc_json_get_i64(json, "rows", &out->rows) || out->rows < 0 ||
        !lc_json_get_i64(json, "bytes", &out->bytes) || out->bytes < 0)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "a file of it has no usable name, row count or size");
    return LCDC_OK;
}

static lcdc_status parse_parts(const struct json_t *json, struct lc_arena *arena, struct lc_archive_manifest *out,
                               lcdc_error **err)
{
    const struct json_t *files = lc_json_member(json, "files"), *counts = lc_json_member(json, "ops");
    int64_t in_parts = 0, in_ops = 0;
    out->n_parts = lc_json_count(files);
    if (!lc_json_is_array(files) || out->n_parts > MAX_PARTS)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "it has no list of files");
    out->parts = lc_arena_array(arena, out->n_parts, sizeof(*out->parts));
    LC_TRY_ALLOC(out->parts);
    for (size_t i = 0; i < out->n_parts; i++) {
        LC_TRY(parse_part(lc_json_at(files, i), arena, &out->parts[i], err));
        if (__builtin_add_overflow(in_parts, out->parts[i].rows, &in_parts))
            return lc_fail(err, LC_R_ARCHIVE_BAD, "its row counts are out of range");
    }
    for (size_t i = 1; i < LC_ARCHIVE_OPS; i++) {
        (void)lc_json_get_i64(counts, ops[i], &out->ops[i]);
        if (out->ops[i] < 0 || __builtin_add_overflow(in_ops, out->ops[i], &in_ops))
            return lc_fail(err, LC_R_ARCHIVE_BAD, "its row counts are out of range");
    }
    if (!lc_json_get_i64(json, "rows", &out->rows) || out->rows != in_parts || out->rows != in_ops)
        return lc_fail(err, LC_R_ARCHIVE_BAD, "its row counts disagree");
    return LCDC_OK;
}

lcdc_status lc_archive_manifest_parse(struct lc_str text, struct lc_arena *arena, struct lc_archive_manifest *out,
                                      lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    struct lc_str kind;
    struct lc_archive_manifest made = {.name = {.snapshot = -1, .ts_us = INT64_MIN}};
    LC_TRY(parse_sealed(text, "manifest", &json, err));
    LC_TRY(check_version(json, err));
    if (!lc_json_get_str(json, "kind", &kind) || !parse_kind(kind, &made.name.kind) ||
        !lc_json_get_i64(json, "sequence", &made.name.sequence))
        return lc_fail(err, LC_R_ARCHIVE_BAD, "it has no kind or sequence number that is known");
    (void)lc_json_get_i64(json, "snapshot", &made.name.snapshot);
    (void)lc_json_get_i64(json, "ts_us", &made.name.ts_us);
    LC_TRY(get_text(json, "cursor", arena, &made.cursor, err));
    LC_TRY(lc_field_json_parse(lc_json_member(json, "columns"), arena, &made.images, err));
    LC_TRY(parse_parts(json, arena, &made, err));
    *out = made;
    return LCDC_OK;
}

/* ---- the archive ---- */

void lc_archive_head_print(struct lc_buf *out, const struct lc_archive_head *head)
{
    LC_BUF struct lc_buf body = {0};
    lc_buf_init(&body, LC_ARCHIVE_MAX_FILE - 4096);
    lc_buf_printf(&body, "{\"version\":%d", (int)VERSION);
    print_text(&body, "id", head->id);
    print_text(&body, "table", head->table);
    print_text(&body, "source", head->source);
    lc_buf_text(&body, ",\"columns\":");
    lc_field_json_print(&body, &head->images);
    lc_buf_char(&body, '}');
    print_sealed(out, "archive", &body);
}

lcdc_status lc_archive_head_parse(struct lc_str text, struct lc_arena *arena, struct lc_archive_head *out,
                                  lcdc_error **err)
{
    LC_JSON struct json_t *json = NULL;
    struct lc_archive_head made = {0};
    LC_TRY(parse_sealed(text, "archive", &json, err));
    LC_TRY(check_version(json, err));
    LC_TRY(get_text(json, "id", arena, &made.id, err));
    LC_TRY(get_text(json, "table", arena, &made.table, err));
    LC_TRY(get_text(json, "source", arena, &made.source, err));
    if (!made.id[0])
        return lc_fail(err, LC_R_ARCHIVE_BAD, "it has no id");
    LC_TRY(lc_field_json_parse(lc_json_member(json, "columns"), arena, &made.images, err));
    *out = made;
    return LCDC_OK;
}
