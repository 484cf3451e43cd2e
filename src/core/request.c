/* SPDX-License-Identifier: Apache-2.0 */
#include "core/request.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "base/time.h"

enum { MAX_ITEMS = 10000, MAX_BATCH_ROWS = 1 << 20, MAX_TIMEOUT = 1000000 };

enum kind { TEXT, LIST, RULES, BOUND, BOOL, COUNT, BYTES };

/* What options.def says, and where in a request each option's value lies. */
static const struct row {
    enum kind kind;
    size_t offset;
    lcdc_option option;
} rows[] = {
#define LC_OPTION(key, flag, operand, kind, initial, group, help)                                                      \
    {kind, offsetof(struct lcdc_request, key), {#key, flag, operand, initial, group, help}},
#include "core/options.def"
#undef LC_OPTION
};

const lcdc_option *lcdc_option_at(size_t i)
{
    return i < LC_OPT_COUNT ? &rows[i].option : NULL;
}

void lcdc_request_cancel(lcdc_request *request)
{
    if (request)
        request->cancelled = 1;
}

static size_t find_row(const char *key)
{
    size_t i = 0;
    while (i < LC_OPT_COUNT && strcmp(rows[i].option.key, key) != 0)
        i++;
    return i;
}

/* ---- one value of each kind; every one refuses with what was found and what the option takes ---- */

static lcdc_status bad_value(const char *key, struct lc_str found, const char *expected, lcdc_error **err)
{
    lcdc_status status = lc_fail(err, LC_R_OPTION_VALUE, "%s: found '%.*s', expected %s", key, LC_STR_ARG(found),
                                 expected);
    lc_error_detail(err, "option", "%s", key);
    return status;
}

static struct lc_str trim(struct lc_str text)
{
    while (text.n && (text.p[0] == ' ' || text.p[0] == '\t'))
        text = (struct lc_str){text.p + 1, text.n - 1};
    while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t'))
        text.n--;
    return text;
}

static lcdc_status append_item(struct lc_arena *arena, const char *key, struct lc_str item, struct lc_list *list,
                               lcdc_error **err)
{
    if (list->n == MAX_ITEMS)
        return lc_fail(err, LC_R_LIMIT, "%s: more than %d items", key, (int)MAX_ITEMS);
    if ((list->n & (list->n - 1)) == 0) { /* full at every power of two */
        const char **grown = lc_arena_array(arena, list->n ? list->n * 2 : 1, sizeof(*grown));
        LC_TRY_ALLOC(grown);
        if (list->n)
            memcpy(grown, list->items, list->n * sizeof(*grown));
        list->items = grown;
    }
    char *copy = lc_arena_strndup(arena, item.p, item.n);
    LC_TRY_ALLOC(copy);
    list->items[list->n++] = copy;
    return LCDC_OK;
}

/* Where the item that begins at text.p ends: at a comma that stands in no quotes. SIZE_MAX: a quote is never closed. */
static size_t item_length(struct lc_str text)
{
    char quote = 0;
    size_t i = 0;
    for (; i < text.n && (quote || text.p[i] != ','); i++) {
        if (quote ? text.p[i] == quote : text.p[i] == '"' || text.p[i] == '`')
            quote = quote ? 0 : text.p[i];
    }
    return quote ? SIZE_MAX : i;
}

static lcdc_status set_list(struct lc_arena *arena, const char *key, struct lc_str text, struct lc_list *list,
                            lcdc_error **err)
{
    struct lc_list grown = *list;
    for (struct lc_str rest = text;;) {
        size_t n = item_length(rest);
        if (n == SIZE_MAX)
            return bad_value(key, text, "a closing quote", err);
        struct lc_str item = trim((struct lc_str){rest.p, n});
        if (item.n == 0)
            return bad_value(key, text, "names with commas between them", err);
        LC_TRY(append_item(arena, key, item, &grown, err));
        if (n == rest.n)
            break;
        rest = (struct lc_str){rest.p + n + 1, rest.n - n - 1};
    }
    *list = grown;
    return LCDC_OK;
}

static lcdc_status set_rule(struct lc_arena *arena, const char *key, struct lc_str text, struct lc_list *list,
                            lcdc_error **err)
{
    const char *equals = memchr(text.p, '=', text.n);
    if (!equals || equals == text.p || equals == text.p + text.n - 1)
        return bad_value(key, text, "FROM=TO", err);
    return append_item(arena, key, text, list, err);
}

/* A text of this shape is never taken for a name: someone who mistypes a date wants to hear of the date. */
static bool looks_like_date(struct lc_str text)
{
    static const char shape[] = "dddd-d";
    if (text.n < sizeof(shape) - 1)
        return false;
    for (size_t i = 0; i < sizeof(shape) - 1; i++)
        if (shape[i] == 'd' ? text.p[i] < '0' || text.p[i] > '9' : text.p[i] != shape[i])
            return false;
    return memchr(text.p + 5, '-', text.n - 5) != NULL;
}

static bool all_digits(struct lc_str text)
{
    size_t i = text.n && text.p[0] == '-';
    bool some = i < text.n;
    for (; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    return some;
}

static lcdc_status set_bound(struct lc_arena *arena, const char *key, struct lc_str text, struct lc_bound *out,
                             lcdc_error **err)
{
    struct lc_bound bound = {.kind = LC_BOUND_NAME};
    int64_t seconds;
    int32_t nanos;
    bool has_zone;
    if (text.n == 0)
        return bad_value(key, text, "a version or snapshot id, a timestamp, a tag, 'start' or 'latest'", err);
    if (lc_str_is(text, "start")) {
        bound.kind = LC_BOUND_START;
    } else if (lc_str_is(text, "latest")) {
        bound.kind = LC_BOUND_LATEST;
    } else if (all_digits(text)) {
        if (!lc_parse_i64(text, &bound.id) || bound.id < 0)
            return bad_value(key, text, "a version or snapshot id from 0 to 9223372036854775807", err);
        bound.kind = LC_BOUND_ID;
    } else if (lc_parse_timestamp(text, &seconds, &nanos, &has_zone)) {
        if (nanos % 1000 || __builtin_mul_overflow(seconds, 1000000, &bound.ts_us) ||
            __builtin_add_overflow(bound.ts_us, nanos / 1000, &bound.ts_us))
            return bad_value(key, text, "a time with at most 6 fraction digits (commit times have no more)", err);
        bound.kind = LC_BOUND_TIMESTAMP;
    } else if (looks_like_date(text)) {
        return bad_value(key, text, "a date or time that exists, e.g. 2024-02-29 or 2024-02-29T12:30:00Z", err);
    }
    bound.text = lc_arena_strndup(arena, text.p, text.n);
    LC_TRY_ALLOC(bound.text);
    *out = bound;
    return LCDC_OK;
}

static lcdc_status set_bool(const char *key, struct lc_str text, bool *out, lcdc_error **err)
{
    bool yes = text.n == 0 || lc_str_is(text, "true") || lc_str_is(text, "1");
    if (!yes && !lc_str_is(text, "false") && !lc_str_is(text, "0"))
        return bad_value(key, text, "true or false", err);
    *out = yes;
    return LCDC_OK;
}

static lcdc_status set_count(const char *key, struct lc_str text, int64_t *out, lcdc_error **err)
{
    int64_t value;
    if (!lc_parse_i64(text, &value) || value < 0)
        return bad_value(key, text, "a whole number, 0 or more", err);
    *out = value;
    return LCDC_OK;
}

static lcdc_status set_bytes(const char *key, struct lc_str text, int64_t *out, lcdc_error **err)
{
    static const struct {
        const char *suffix;
        int64_t factor;
    } units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    struct lc_str number = text;
    int64_t factor = 1, value;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (lc_str_ends(text, units[i].suffix)) {
            number.n = text.n - 3;
            factor = units[i].factor;
        }
    if (!lc_parse_i64(number, &value) || value < 0 || __builtin_mul_overflow(value, factor, &value))
        return bad_value(key, text, "bytes as a number, or with KiB, MiB or GiB (64MiB)", err);
    *out = value;
    return LCDC_OK;
}

static lcdc_status set_text(struct lc_arena *arena, struct lc_str text, const char **out, lcdc_error **err)
{
    char *copy = lc_arena_strndup(arena, text.p, text.n);
    LC_TRY_ALLOC(copy);
    *out = copy;
    return LCDC_OK;
}

static lcdc_status set_value(lcdc_request *request, const struct row *row, struct lc_str text, lcdc_error **err)
{
    struct lc_arena *arena = &request->arena;
    const char *key = row->option.key;
    void *at = (char *)request + row->offset;
    switch (row->kind) {
    case TEXT:
        return set_text(arena, text, at, err);
    case LIST:
        return set_list(arena, key, text, at, err);
    case RULES:
        return set_rule(arena, key, text, at, err);
    case BOUND:
        return set_bound(arena, key, text, at, err);
    case BOOL:
        return set_bool(key, text, at, err);
    case COUNT:
        return set_count(key, text, at, err);
    case BYTES:
        return set_bytes(key, text, at, err);
    }
    return lc_fail(err, LC_R_INTERNAL, "%s: option of an unknown kind", key);
}

/* ---- the object ---- */

void lcdc_request_free(lcdc_request *request)
{
    if (!request)
        return;
    lc_arena_done(&request->arena);
    lc_free(request);
}

lcdc_status lcdc_request_new(lcdc_request **out, lcdc_error **err)
{
    lcdc_request *request LC_CLEANUP(lcdc_request_freep) = lc_calloc(1, sizeof(*request));
    LC_TRY_ALLOC(request);
    for (size_t i = 0; i < LC_OPT_COUNT; i++)
        if (rows[i].option.initial)
            LC_TRY(set_value(request, &rows[i], lc_str_of(rows[i].option.initial), err));
    *out = lc_steal(request);
    return LCDC_OK;
}

/* An option that adds up keeps all its texts: a list joined by commas, rules one a line. */
static char *joined_text(lcdc_request *request, size_t i, const char *value)
{
    const char *before = request->texts[i];
    bool adds_up = rows[i].kind == LIST || rows[i].kind == RULES;
    if (!before || !adds_up)
        return lc_arena_strdup(&request->arena, value);
    size_t n = strlen(before), m = strlen(value);
    char *text = lc_arena_alloc(&request->arena, n + m + 2);
    if (!text)
        return NULL;
    memcpy(text, before, n);
    text[n] = rows[i].kind == LIST ? ',' : '\n';
    memcpy(text + n + 1, value, m);
    return text;
}

lcdc_status lcdc_request_set(lcdc_request *request, const char *key, const char *value, lcdc_error **err)
{
    if (!request || !key || !value)
        return lc_fail(err, LC_R_OPTION_VALUE, "%s: a request, a key and a value are needed, found NULL",
                       key ? key : "option");
    size_t i = find_row(key);
    if (i == LC_OPT_COUNT)
        return lc_fail(err, LC_R_OPTION_UNKNOWN, "unknown option '%.*s'", LC_STR_ARG(lc_str_of(key)));
    char *text = joined_text(request, i, value);
    LC_TRY_ALLOC(text);
    LC_TRY(set_value(request, &rows[i], lc_str_of(value), err));
    request->texts[i] = text;
    request->from_set = request->texts[LC_OPT_from] != NULL;
    request->to_set = request->texts[LC_OPT_to] != NULL;
    return LCDC_OK;
}

const char *lcdc_request_get(const lcdc_request *request, const char *key)
{
    size_t i = request && key ? find_row(key) : LC_OPT_COUNT;
    if (i == LC_OPT_COUNT)
        return NULL;
    return request->texts[i] ? request->texts[i] : rows[i].option.initial;
}

lcdc_status lc_request_dup(const lcdc_request *from, lcdc_request **out, lcdc_error **err)
{
    lcdc_request *copy LC_CLEANUP(lcdc_request_freep) = NULL;
    LC_TRY(lcdc_request_new(&copy, err));
    for (size_t i = 0; i < LC_OPT_COUNT; i++) {
        const char *key = rows[i].option.key;
        const struct lc_list *rules = (const void *)((const char *)from + rows[i].offset);
        if (rows[i].kind == RULES)
            for (size_t k = 0; k < rules->n; k++)
                LC_TRY(lcdc_request_set(copy, key, rules->items[k], err));
        else if (from->texts[i])
            LC_TRY(lcdc_request_set(copy, key, from->texts[i], err));
    }
    *out = lc_steal(copy);
    return LCDC_OK;
}

/* ---- combinations that mean nothing ---- */

static lcdc_status conflict(const char *a, const char *b, const char *why, lcdc_error **err)
{
    return lc_fail(err, LC_R_REQUEST_CONFLICT, "%s cannot be combined with %s: %s", a, b, why);
}

static lcdc_status check_start(const lcdc_request *r, lcdc_error **err)
{
    if (r->cursor && r->from_set)
        return conflict("cursor", "from", "a cursor says where to go on", err);
    if (r->cursor && r->from_exclusive)
        return conflict("cursor", "from_exclusive", "a cursor is exclusive by itself", err);
    if (r->cursor && r->bootstrap)
        return conflict("cursor", "bootstrap", "a cursor goes on after rows that were already read", err);
    if (r->bootstrap && r->from_exclusive)
        return conflict("bootstrap", "from_exclusive", "the state at from is what a bootstrap begins with", err);
    if (r->bootstrap && r->net)
        return conflict("bootstrap", "net", "the net change since nothing is the table itself", err);
    if (r->from_exclusive && r->from.kind == LC_BOUND_START)
        return conflict("from_exclusive", "from start", "no commit is before the start", err);
    return LCDC_OK;
}

static lcdc_status check_range(const lcdc_request *r, lcdc_error **err)
{
    if (r->to.kind == LC_BOUND_START)
        return lc_fail(err, LC_R_RANGE, "to is 'start', which is before every commit; expected a commit or 'latest'");
    if (r->from.kind == LC_BOUND_TIMESTAMP && r->to.kind == LC_BOUND_TIMESTAMP && r->from.ts_us > r->to.ts_us)
        return lc_fail(err, LC_R_RANGE, "from %.100s is later than to %.100s", r->from.text, r->to.text);
    return LCDC_OK;
}

static lcdc_status check_no_repeats(const char *key, const struct lc_list *list, lcdc_error **err)
{
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(list->items[i], list->items[k]) == 0)
                return lc_fail(err, LC_R_OPTION_VALUE, "%s: '%.200s' is named twice", key, list->items[i]);
    return LCDC_OK;
}

lcdc_status lc_request_check(const lcdc_request *request, lcdc_error **err)
{
    if ((!request->table || !request->table[0]) && (!request->name || !request->name[0]))
        return lc_fail(err, LC_R_OPTION_VALUE, "no table was named: set table to its folder or URL");
    LC_TRY(check_start(request, err));
    LC_TRY(check_range(request, err));
    LC_TRY(check_no_repeats("columns", &request->columns, err));
    LC_TRY(check_no_repeats("identity", &request->identity, err));
    if (request->batch_rows < 1 || request->batch_rows > MAX_BATCH_ROWS)
        return lc_fail(err, LC_R_OPTION_VALUE, "batch_rows: found %lld, expected 1 to %d",
                       (long long)request->batch_rows, (int)MAX_BATCH_ROWS);
    if (request->timeout < 1 || request->timeout > MAX_TIMEOUT)
        return lc_fail(err, LC_R_OPTION_VALUE, "timeout: found %lld, expected 1 to %d seconds",
                       (long long)request->timeout, (int)MAX_TIMEOUT);
    return LCDC_OK;
}
