/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_driver.c - drives one sink by hand, without a listener: for tests of every sink that must choose the moment of
 * each call, or kill the process between two of them.
 *
 * Reads one JSON object a line on stdin and answers each with one JSON object a line on stdout:
 *
 *   {"do":"open","sink":"sqlite","table":"orders","source":"lake","identity":["id"],"settings":{"path":"t.db"},
 *    "columns":[{"name":"id","type":"bigint"},{"name":"price","type":"decimal(10,2)"},
 *               {"name":"at","type":"struct","fields":[{"name":"x","type":"int"}]},
 *               {"name":"tags","type":"array","element":{"name":"element","type":"string"}},
 *               {"name":"m","type":"map","key":{"name":"key","type":"string"},"value":{"name":"value","type":"int"}}]}
 *   {"do":"cursor"}
 *   {"do":"set_cursor","cursor":"c3"}                                         null: none
 *   {"do":"begin","kind":"changes","snapshot":3,"ts":1700000000000000}        kind: changes, snapshot, replace
 *   {"do":"write","rows":[{"op":"insert","before":null,"after":{...},"snapshot":3,"ts":"2024-02-29T12:00:00.000000Z"}]}
 *   {"do":"commit","cursor":"c3"}
 *   {"do":"abort"}
 *   {"do":"window","kind":"changes","snapshot":3,"rows":[...],"batch":2,"cursor":"c3"}    begin, writes, commit;
 *                                                                                          abort after a failure
 *   {"do":"cancel","after_ms":100}    sets the flag that long from now; {"do":"cancel","after_ms":-1} clears it
 *   {"do":"close"}
 *
 * Rows are spelled as docs/change-row.md has them; every column of an image must be there. An answer is
 * {"ok":true,"ms":12,"peak_kb":34567}, with "cursor" (text or null) where one was asked for, or {"ok":false,"ms":12,
 * "error":{"status":...,"reason":...,"message":...,"retriable":...}}. What is no command ends the program with 2. With
 * "pad":3 a write has arrays that start at an offset, as slices do.
 */
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <threads.h>
#include <time.h>

#include "base/arrow.h"
#include "sink/sink.h"
#include "support/json_rows.h"

enum { MAX_COLUMNS = 190, MAX_SETTINGS = 60 };

static atomic_int cancelled;

/* Everything a sink is opened with. */
struct opened {
    json_t *from; /* owns the texts */
    struct lc_arena arena;
    struct lc_field images, row;
    struct lc_field row_columns[LCDC_COLS];
    struct ArrowSchema schema;
    size_t identity[MAX_COLUMNS];
    struct lc_sink_setting settings[MAX_SETTINGS];
    struct lc_sink_setup setup;
    struct lc_sink *sink;
};

static _Noreturn void bad(const char *what)
{
    fprintf(stderr, "sink_driver: %s\n", what);
    exit(2);
}

static void *need(void *p)
{
    if (!p)
        bad("memory is short");
    return p;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    if (!value)
        bad(key);
    return value;
}

/* ---- columns ---- */

static struct lc_type type_of(const char *word)
{
    struct lc_type type = {0};
    size_t n = strcspn(word, "(");
    for (int kind = 0; kind < LC_TYPE_COUNT; kind++) {
        if (strlen(lc_type_word(kind)) != n || strncmp(lc_type_word(kind), word, n) != 0)
            continue;
        type.kind = kind;
        if (kind == LC_TYPE_DECIMAL && sscanf(word + n, "(%d,%d)", &type.precision, &type.scale) != 2)
            bad(word);
        if (kind == LC_TYPE_FIXED && sscanf(word + n, "(%d)", &type.length) != 1)
            bad(word);
        return type;
    }
    bad(word);
}

static void read_field(struct opened *o, const json_t *from, struct lc_field *out)
{
    static const char *const single[] = {"element"}, *const pair[] = {"key", "value"};
    *out = (struct lc_field){.name = text(from, "name"), .physical = text(from, "name"), .id = LC_NO_ID};
    out->type = type_of(text(from, "type"));
    out->nullable = true;
    const json_t *fields = json_object_get(from, "fields");
    if (!lc_type_is_nested(out->type.kind))
        return;
    bool is_struct = out->type.kind == LC_TYPE_STRUCT;
    const char *const *keys = out->type.kind == LC_TYPE_LIST ? single : pair;
    out->n_children = is_struct ? json_array_size(fields) : out->type.kind == LC_TYPE_LIST ? 1 : 2;
    out->children = need(lc_arena_array(&o->arena, out->n_children + 1, sizeof(*out->children)));
    for (size_t i = 0; i < out->n_children; i++)
        read_field(o, is_struct ? json_array_get(fields, i) : json_object_get(from, keys[i]), &out->children[i]);
}

static void read_columns(struct opened *o)
{
    json_t *columns = json_object_get(o->from, "columns"), *identity = json_object_get(o->from, "identity");
    struct lc_field *images = &o->images;
    *images = (struct lc_field){.name = "", .physical = "", .id = LC_NO_ID, .type.kind = LC_TYPE_STRUCT};
    images->n_children = json_array_size(columns);
    if (images->n_children > MAX_COLUMNS)
        bad("too many columns");
    images->children = need(lc_arena_array(&o->arena, images->n_children + 1, sizeof(*images->children)));
    for (size_t i = 0; i < images->n_children; i++)
        read_field(o, json_array_get(columns, i), &images->children[i]);
    for (size_t i = 0; i < json_array_size(identity); i++) {
        const char *name = json_string_value(json_array_get(identity, i));
        const struct lc_field *column = name ? lc_field_child(images, lc_str_of(name)) : NULL;
        if (!column)
            bad("identity");
        o->identity[o->setup.n_identity++] = (size_t)(column - images->children);
    }
}

static void read_row_type(struct opened *o)
{
    static const char *const names[LCDC_COLS] = {"op", "before", "after", "snapshot", "ts"};
    static const enum lc_type_kind kinds[LCDC_COLS] = {LC_TYPE_STRING, LC_TYPE_STRUCT, LC_TYPE_STRUCT, LC_TYPE_INT64,
                                                       LC_TYPE_TIMESTAMP_TZ};
    for (int i = 0; i < LCDC_COLS; i++) {
        if (kinds[i] == LC_TYPE_STRUCT)
            o->row_columns[i] = o->images;
        o->row_columns[i].name = o->row_columns[i].physical = names[i];
        o->row_columns[i].id = LC_NO_ID;
        o->row_columns[i].type.kind = kinds[i];
    }
    o->row = (struct lc_field){.name = "", .physical = "", .id = LC_NO_ID, .type.kind = LC_TYPE_STRUCT};
    o->row.n_children = LCDC_COLS;
    o->row.children = o->row_columns;
    if (lc_change_schema(&o->images, &o->schema, NULL) != LCDC_OK)
        bad("columns");
}

/* ---- the calls ---- */

static void drop(struct opened *o)
{
    if (!o)
        return;
    lc_sink_close(o->sink);
    lc_schema_release(&o->schema);
    lc_arena_done(&o->arena);
    json_decref(o->from);
    free(o);
}

static lcdc_status open_sink(json_t *line, struct opened **out, lcdc_error **err)
{
    struct opened *o = need(calloc(1, sizeof(*o)));
    const char *key;
    json_t *value;
    const struct lc_sink_ops *ops = lc_sink_named(text(line, "sink"));
    if (!ops)
        bad("there is no such sink");
    o->from = json_incref(line);
    read_columns(o);
    read_row_type(o);
    json_object_foreach(json_object_get(line, "settings"), key, value)
    {
        if (o->setup.n_settings == MAX_SETTINGS || !json_is_string(value))
            bad("settings");
        o->settings[o->setup.n_settings++] = (struct lc_sink_setting){key, json_string_value(value)};
    }
    o->setup = (struct lc_sink_setup){.table = text(line, "table"),
                                      .source = text(line, "source"),
                                      .schema = &o->schema,
                                      .images = &o->images,
                                      .n_identity = o->setup.n_identity,
                                      .identity = o->identity,
                                      .n_settings = o->setup.n_settings,
                                      .settings = o->settings,
                                      .cancelled = &cancelled};
    lcdc_status status = ops->open(&o->setup, &o->sink, err);
    if (status == LCDC_OK)
        *out = o;
    else
        drop(o);
    return status;
}

static lcdc_status begin(struct opened *o, const json_t *line, lcdc_error **err)
{
    static const char *const kinds[] = {"changes", "snapshot", "replace"};
    json_t *snapshot = json_object_get(line, "snapshot"), *ts = json_object_get(line, "ts");
    struct lc_window window = {.snapshot = json_is_integer(snapshot) ? json_integer_value(snapshot) : -1,
                               .ts_us = json_is_integer(ts) ? json_integer_value(ts) : INT64_MIN};
    for (int i = 0; i < 3; i++)
        if (strcmp(text(line, "kind"), kinds[i]) == 0)
            window.kind = i;
    return o->sink->ops->begin(o->sink, &window, err);
}

static lcdc_status write_rows(struct opened *o, const json_t *rows, int pad, lcdc_error **err)
{
    struct ArrowArray array;
    char *json = json_dumps(rows, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!json || !json_rows(json, &o->row, pad, &array))
        bad("rows");
    free(json);
    lcdc_status status = o->sink->ops->write(o->sink, &array, err);
    array.release(&array);
    return status;
}

/* Rows [from, from + n) of an array. */
static json_t *slice(const json_t *rows, size_t from, size_t n)
{
    json_t *part = json_array();
    for (size_t i = from; i < from + n && i < json_array_size(rows); i++)
        json_array_append(part, json_array_get(rows, i));
    return part;
}

static lcdc_status deliver(struct opened *o, const json_t *line, lcdc_error **err)
{
    const json_t *rows = json_object_get(line, "rows");
    json_t *batch = json_object_get(line, "batch");
    size_t total = json_array_size(rows), n = json_is_integer(batch) ? (size_t)json_integer_value(batch) : total;
    int pad = (int)json_integer_value(json_object_get(line, "pad"));
    lcdc_status status = begin(o, line, err);
    for (size_t i = 0; status == LCDC_OK && i < total; i += n ? n : 1) {
        json_t *part = slice(rows, i, n ? n : 1);
        status = write_rows(o, part, pad, err);
        json_decref(part);
    }
    if (status == LCDC_OK)
        status = o->sink->ops->commit(o->sink, text(line, "cursor"), err);
    if (status != LCDC_OK)
        o->sink->ops->abort(o->sink);
    return status;
}

static int cancel_later(void *after_ms)
{
    long ms = (long)(intptr_t)after_ms;
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
    atomic_store(&cancelled, 1);
    return 0;
}

static void cancel(const json_t *line)
{
    thrd_t thread;
    json_int_t after = json_integer_value(json_object_get(line, "after_ms"));
    if (after < 0)
        atomic_store(&cancelled, 0);
    else if (thrd_create(&thread, cancel_later, (void *)(intptr_t)after) != thrd_success ||
             thrd_detach(thread) != thrd_success)
        bad("no thread");
}

static lcdc_status run(struct opened **o, json_t *line, json_t *answer, lcdc_error **err)
{
    const char *what = text(line, "do");
    if (strcmp(what, "open") == 0) {
        drop(*o);
        *o = NULL;
        return open_sink(line, o, err);
    }
    if (strcmp(what, "cancel") == 0) {
        cancel(line);
        return LCDC_OK;
    }
    if (!*o)
        bad("no sink is open");
    if (strcmp(what, "begin") == 0)
        return begin(*o, line, err);
    if (strcmp(what, "write") == 0)
        return write_rows(*o, json_object_get(line, "rows"), (int)json_integer_value(json_object_get(line, "pad")),
                          err);
    if (strcmp(what, "commit") == 0)
        return (*o)->sink->ops->commit((*o)->sink, text(line, "cursor"), err);
    if (strcmp(what, "window") == 0)
        return deliver(*o, line, err);
    if (strcmp(what, "abort") == 0) {
        (*o)->sink->ops->abort((*o)->sink);
    } else if (strcmp(what, "close") == 0) {
        drop(*o);
        *o = NULL;
    } else if (strcmp(what, "cursor") == 0 && (*o)->sink->ops->cursor) {
        char *cursor = NULL;
        LC_TRY((*o)->sink->ops->cursor((*o)->sink, &cursor, err));
        json_object_set_new(answer, "cursor", cursor ? json_string(cursor) : json_null());
        lc_free(cursor);
    } else if (strcmp(what, "set_cursor") == 0 && (*o)->sink->ops->set_cursor) {
        return (*o)->sink->ops->set_cursor((*o)->sink, json_string_value(json_object_get(line, "cursor")), err);
    } else {
        bad(what);
    }
    return LCDC_OK;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void answer_to(struct opened **o, json_t *line)
{
    json_t *answer = json_object();
    lcdc_error *err = NULL;
    struct rusage usage;
    int64_t began = now_ms();
    lcdc_status status = run(o, line, answer, &err);
    getrusage(RUSAGE_SELF, &usage);
    json_object_set_new(answer, "ok", json_boolean(status == LCDC_OK));
    json_object_set_new(answer, "ms", json_integer(now_ms() - began));
    json_object_set_new(answer, "peak_kb", json_integer(usage.ru_maxrss));
    if (status != LCDC_OK)
        json_object_set_new(answer, "error",
                            json_pack("{s:s,s:s,s:s,s:b}", "status", lcdc_status_name(status), "reason",
                                      lcdc_error_reason(err), "message", lcdc_error_message(err), "retriable",
                                      lcdc_error_retriable(err)));
    lcdc_error_free(err);
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(answer);
}

int main(void)
{
    struct opened *o = NULL;
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        json_error_t error;
        json_t *parsed = json_loads(line, JSON_ALLOW_NUL, &error);
        if (!json_is_object(parsed))
            bad(parsed ? "a line is no object" : error.text);
        answer_to(&o, parsed);
        json_decref(parsed);
    }
    free(line);
    drop(o);
    return 0;
}
