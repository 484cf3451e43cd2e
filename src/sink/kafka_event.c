/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/kafka_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/checksum.h"
#include "write/text.h"

enum { MAX_COUNTED = 1 << 21, MAX_TEXT = 1 << 30 };

/* How often each event was there in the window: equal rows of a table without a key are told apart by it. */
struct counted {
    uint64_t key; /* 0: free */
    uint32_t n;
};

struct lc_event_maker {
    const struct lc_sink_setup *setup;
    const char *name;
    struct lc_window window;
    struct lc_buf before, after, key, value, identity;
    char *value_schema, *key_schema; /* {"schema":...,"payload":  or NULL */
    struct counted *counted;
    size_t n_counted, cap_counted;
};

/* ---- schemas, as Kafka Connect's JSON converter has them ---- */

static void put_schema(struct lc_buf *out, const struct lc_field *field, const char *name, bool optional);

/* Values are text wherever a JSON number would lose something; docs/change-row.md has the encoding. */
static const char *connect_type(const struct lc_field *field)
{
    switch (field->type.kind) {
    case LC_TYPE_BOOL:
        return "boolean";
    case LC_TYPE_INT8:
        return "int8";
    case LC_TYPE_INT16:
        return "int16";
    case LC_TYPE_INT32:
        return "int32";
    case LC_TYPE_INT64:
        return "int64";
    case LC_TYPE_FLOAT:
        return "float";
    case LC_TYPE_DOUBLE:
        return "double";
    case LC_TYPE_BINARY:
    case LC_TYPE_FIXED:
        return "bytes";
    case LC_TYPE_STRUCT:
        return "struct";
    case LC_TYPE_LIST:
        return "array";
    case LC_TYPE_MAP:
        return "map";
    case LC_TYPE_NULL:
    case LC_TYPE_DECIMAL:
    case LC_TYPE_DATE:
    case LC_TYPE_TIME:
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
    case LC_TYPE_STRING:
    case LC_TYPE_UUID:
    case LC_TYPE_COUNT:
        return "string";
    }
    return "string";
}

static void put_parts(struct lc_buf *out, const struct lc_field *field)
{
    if (field->type.kind == LC_TYPE_STRUCT) {
        lc_buf_text(out, ",\"fields\":[");
        for (size_t i = 0; i < field->n_children; i++) {
            lc_buf_text(out, i ? "," : "");
            put_schema(out, &field->children[i], field->children[i].name, true);
        }
        lc_buf_char(out, ']');
    } else if (field->type.kind == LC_TYPE_LIST) {
        lc_buf_text(out, ",\"items\":");
        put_schema(out, &field->children[0], NULL, true);
    } else if (field->type.kind == LC_TYPE_MAP) {
        lc_buf_text(out, ",\"keys\":");
        put_schema(out, &field->children[0], NULL, true);
        lc_buf_text(out, ",\"values\":");
        put_schema(out, &field->children[1], NULL, true);
    }
}

static void put_schema(struct lc_buf *out, const struct lc_field *field, const char *name, bool optional)
{
    enum lc_type_kind kind = field->type.kind;
    lc_buf_printf(out, "{\"type\":\"%s\",\"optional\":%s", connect_type(field), optional ? "true" : "false");
    put_parts(out, field);
    if (kind == LC_TYPE_TIMESTAMP_TZ)
        lc_buf_text(out, ",\"name\":\"io.debezium.time.ZonedTimestamp\"");
    if (kind == LC_TYPE_UUID)
        lc_buf_text(out, ",\"name\":\"io.debezium.data.Uuid\"");
    if (name) {
        lc_buf_text(out, ",\"field\":");
        lc_buf_json_string(out, lc_str_of(name));
    }
    lc_buf_char(out, '}');
}

static void put_plain_field(struct lc_buf *out, const char *name, const char *type, bool optional)
{
    lc_buf_printf(out, ",{\"type\":\"%s\",\"optional\":%s,\"field\":\"%s\"}", type, optional ? "true" : "false", name);
}

static char *value_schema(const struct lc_sink_setup *setup)
{
    struct lc_buf out;
    static const char *const source[][2] = {{"connector", "string"}, {"name", "string"},    {"ts_ms", "int64"},
                                            {"snapshot", "string"},  {"db", "string"},      {"table", "string"},
                                            {"commit", "int64"},     {"event_id", "string"}};
    lc_buf_init(&out, MAX_TEXT);
    lc_buf_text(&out, "{\"schema\":{\"type\":\"struct\",\"optional\":false,\"name\":\"lakecdc.Envelope\",\"fields\":[");
    put_schema(&out, setup->images, "before", true);
    lc_buf_char(&out, ',');
    put_schema(&out, setup->images, "after", true);
    lc_buf_text(&out, ",{\"type\":\"struct\",\"optional\":false,\"name\":\"lakecdc.Source\",\"fields\":["
                      "{\"type\":\"string\",\"optional\":false,\"field\":\"version\"}");
    for (size_t i = 0; i < sizeof(source) / sizeof(source[0]); i++)
        put_plain_field(&out, source[i][0], source[i][1], true);
    lc_buf_text(&out, "],\"field\":\"source\"}");
    put_plain_field(&out, "op", "string", false);
    put_plain_field(&out, "ts_ms", "int64", true);
    lc_buf_text(&out, "]},\"payload\":");
    return lc_buf_take(&out);
}

static char *key_schema(const struct lc_sink_setup *setup)
{
    struct lc_buf out;
    lc_buf_init(&out, MAX_TEXT);
    lc_buf_text(&out, "{\"schema\":{\"type\":\"struct\",\"optional\":false,\"name\":\"lakecdc.Key\",\"fields\":[");
    for (size_t i = 0; i < setup->n_identity; i++) {
        const struct lc_field *column = &setup->images->children[setup->identity[i]];
        lc_buf_text(&out, i ? "," : "");
        put_schema(&out, column, column->name, true);
    }
    lc_buf_text(&out, "]},\"payload\":");
    return lc_buf_take(&out);
}

/* ---- the maker ---- */

void lc_event_maker_free(struct lc_event_maker *self)
{
    if (!self)
        return;
    lc_buf_done(&self->before);
    lc_buf_done(&self->after);
    lc_buf_done(&self->key);
    lc_buf_done(&self->value);
    lc_buf_done(&self->identity);
    lc_free(self->value_schema);
    lc_free(self->key_schema);
    lc_free(self->counted);
    lc_free(self);
}

lcdc_status lc_event_maker_new(const struct lc_sink_setup *setup, const char *name, bool schemas,
                               struct lc_event_maker **out, lcdc_error **err)
{
    struct lc_event_maker *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    *self = (struct lc_event_maker){.setup = setup, .name = name};
    struct lc_buf *bufs[] = {&self->before, &self->after, &self->key, &self->value, &self->identity};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        lc_buf_init(bufs[i], MAX_TEXT);
    if (schemas) {
        self->value_schema = value_schema(setup);
        self->key_schema = key_schema(setup);
        if (!self->value_schema || !self->key_schema) {
            lc_event_maker_free(self);
            return lc_fail_oom(err);
        }
    }
    *out = self;
    return LCDC_OK;
}

void lc_event_maker_begin(struct lc_event_maker *self, const struct lc_window *window)
{
    self->window = *window;
    self->n_counted = 0;
    if (self->counted)
        memset(self->counted, 0, self->cap_counted * sizeof(*self->counted));
}

/* ---- counting equal events ---- */

static uint64_t key_of(const char *digits)
{
    uint64_t key = 0;
    for (int i = 0; i < 16; i++)
        key = key << 4 | (uint64_t)(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    return key | !key;
}

static struct counted *find_counted(struct counted *all, size_t cap, uint64_t key)
{
    size_t at = (size_t)key & (cap - 1);
    while (all[at].key && all[at].key != key)
        at = (at + 1) & (cap - 1);
    return &all[at];
}

static lcdc_status grow(struct lc_event_maker *self, lcdc_error **err)
{
    size_t cap = self->cap_counted ? self->cap_counted * 2 : 4096;
    struct counted *all = lc_calloc(cap, sizeof(*all));
    LC_TRY_ALLOC(all);
    for (size_t i = 0; i < self->cap_counted; i++)
        if (self->counted[i].key)
            *find_counted(all, cap, self->counted[i].key) = self->counted[i];
    lc_free(self->counted);
    self->counted = all;
    self->cap_counted = cap;
    return LCDC_OK;
}

/* How often this event was there before. Past MAX_COUNTED different ones the memory for more is not taken. */
static lcdc_status count(struct lc_event_maker *self, const char *digits, uint32_t *out, lcdc_error **err)
{
    if (self->n_counted * 2 >= self->cap_counted && self->n_counted < MAX_COUNTED)
        LC_TRY(grow(self, err));
    struct counted *found = find_counted(self->counted, self->cap_counted, key_of(digits));
    if (!found->key && self->n_counted >= MAX_COUNTED) {
        *out = 0;
        return LCDC_OK;
    }
    self->n_counted += !found->key;
    found->key = key_of(digits);
    *out = found->n++;
    return LCDC_OK;
}

/* ---- one event ---- */

static char op_letter(lcdc_op op, enum lc_window_kind kind)
{
    switch (op) {
    case LCDC_OP_INSERT:
        return kind == LC_WINDOW_CHANGES ? 'c' : 'r';
    case LCDC_OP_UPDATE:
    case LCDC_OP_UPDATE_AFTER:
        return 'u';
    case LCDC_OP_DELETE:
    case LCDC_OP_UPDATE_BEFORE:
        return 'd';
    }
    return 'c';
}

/* Without members that are null: a column that was added since then changes no event that is sent again. */
static void put_known(struct lc_buf *out, const struct lc_field *field, const struct ArrowArray *array, int64_t i)
{
    if (field->type.kind != LC_TYPE_STRUCT || lc_array_is_null(array, i)) {
        lc_text_json(out, field, array, i);
        return;
    }
    char before = '{';
    for (size_t c = 0; c < field->n_children; c++) {
        const struct ArrowArray *child = array->children[c];
        if (field->children[c].type.kind == LC_TYPE_NULL || lc_array_is_null(child, array->offset + i))
            continue;
        lc_buf_char(out, before);
        lc_text_key(out, field->children[c].name);
        put_known(out, &field->children[c], child, array->offset + i);
        before = ',';
    }
    lc_buf_text(out, before == '{' ? "{}" : "}");
}

static lcdc_status make_id(struct lc_event_maker *self, char letter, const struct ArrowArray *rows, int64_t row,
                           char out[LC_EVENT_ID], lcdc_error **err)
{
    struct lc_buf *text = &self->identity;
    char sum[LC_CHECKSUM_TEXT];
    uint32_t before = 0;
    lc_buf_clear(text);
    lc_buf_printf(text, "%s\n%" PRId64 "\n%d\n%c\n", self->setup->table, self->window.snapshot, (int)self->window.kind,
                  letter);
    put_known(text, self->setup->images, rows->children[LCDC_COL_BEFORE], row);
    lc_buf_char(text, '\n');
    put_known(text, self->setup->images, rows->children[LCDC_COL_AFTER], row);
    LC_TRY_BUF(text);
    lc_checksum_of(text->p, text->n, sum);
    if (self->setup->n_identity == 0)
        LC_TRY(count(self, sum, &before, err));
    if (before)
        (void)snprintf(out, LC_EVENT_ID, "%s-%" PRIu32, sum, before);
    else
        memcpy(out, sum, sizeof(sum));
    return LCDC_OK;
}

static void make_key(struct lc_event_maker *self, const struct ArrowArray *image, int64_t row)
{
    const struct lc_sink_setup *setup = self->setup;
    lc_buf_clear(&self->key);
    if (self->key_schema)
        lc_buf_text(&self->key, self->key_schema);
    for (size_t i = 0; i < setup->n_identity; i++) {
        size_t c = setup->identity[i];
        lc_buf_char(&self->key, i ? ',' : '{');
        lc_text_key(&self->key, setup->images->children[c].name);
        lc_text_json(&self->key, &setup->images->children[c], image->children[c], image->offset + row);
    }
    lc_buf_text(&self->key, self->key_schema ? "}}" : "}");
}

static int64_t now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void put_source(struct lc_event_maker *self, const char *id)
{
    struct lc_buf *out = &self->value;
    int64_t ts = self->window.ts_us;
    lc_buf_printf(out, ",\"source\":{\"version\":\"%s\",\"connector\":\"lakecdc\",\"name\":", LCDC_VERSION);
    lc_buf_json_string(out, lc_str_of(self->name));
    if (ts == INT64_MIN)
        lc_buf_text(out, ",\"ts_ms\":null");
    else
        lc_buf_printf(out, ",\"ts_ms\":%" PRId64, ts / 1000);
    lc_buf_printf(out, ",\"snapshot\":\"%s\",\"db\":", self->window.kind == LC_WINDOW_CHANGES ? "false" : "true");
    lc_buf_json_string(out, lc_str_of(self->setup->source));
    lc_buf_text(out, ",\"table\":");
    lc_buf_json_string(out, lc_str_of(self->setup->table));
    if (self->window.snapshot < 0)
        lc_buf_text(out, ",\"commit\":null");
    else
        lc_buf_printf(out, ",\"commit\":%" PRId64, self->window.snapshot);
    lc_buf_printf(out, ",\"event_id\":\"%s\"}", id);
}

static void make_value(struct lc_event_maker *self, char letter, const char *id)
{
    struct lc_buf *out = &self->value;
    lc_buf_clear(out);
    if (self->value_schema)
        lc_buf_text(out, self->value_schema);
    lc_buf_text(out, "{\"before\":");
    lc_buf_append(out, self->before.p, self->before.n);
    lc_buf_text(out, ",\"after\":");
    lc_buf_append(out, self->after.p, self->after.n);
    put_source(self, id);
    lc_buf_printf(out, ",\"op\":\"%c\",\"ts_ms\":%" PRId64 "}%s", letter, now_ms(), self->value_schema ? "}" : "");
}

lcdc_status lc_event_make(struct lc_event_maker *self, const struct ArrowArray *rows, int64_t i, struct lc_event *out,
                          lcdc_error **err)
{
    const struct ArrowArray *before = rows->children[LCDC_COL_BEFORE], *after = rows->children[LCDC_COL_AFTER];
    int64_t row = rows->offset + i;
    struct lc_str word = lc_array_str(rows->children[LCDC_COL_OP], LC_TYPE_STRING, 0, row);
    lcdc_op op;
    LC_TRY(lcdc_op_parse(word.p, word.n, &op, err));
    char letter = op_letter(op, self->window.kind);
    lc_buf_clear(&self->before);
    lc_buf_clear(&self->after);
    lc_text_json(&self->before, self->setup->images, before, row);
    lc_text_json(&self->after, self->setup->images, after, row);
    *out = (struct lc_event){.removes = letter == 'd'};
    LC_TRY_BUF(&self->before);
    LC_TRY_BUF(&self->after);
    LC_TRY(make_id(self, letter, rows, row, out->id, err));
    make_value(self, letter, out->id);
    LC_TRY_BUF(&self->value);
    out->value = (struct lc_str){self->value.p, self->value.n};
    if (self->setup->n_identity == 0)
        return LCDC_OK;
    make_key(self, letter == 'd' ? before : after, row);
    LC_TRY_BUF(&self->key);
    out->key = (struct lc_str){self->key.p, self->key.n};
    return LCDC_OK;
}
