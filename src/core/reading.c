/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reading.h"

#include <string.h>

/* ---- the range ---- */

static void apply_cursor(lcdc_request *request, const struct lc_cursor *cursor)
{
    request->from = (struct lc_bound){.kind = LC_BOUND_ID, .id = cursor->after, .text = request->cursor};
    request->from_set = true;
    request->from_exclusive = true;
}

/*
 * A cursor of another table usually names a commit that this one does not have. Then the reason worth telling is that
 * the tables differ, so that is looked for before the failed read's own error is given.
 */
static lcdc_status explain_failed_cursor(lcdc_source *source, const lcdc_request *request,
                                         const struct lc_cursor *cursor, lcdc_error **err)
{
    LC_CLEANUP(lcdc_request_freep) lcdc_request *plain = NULL;
    struct lc_read *read = NULL;
    LC_TRY(lc_request_dup(request, &plain, err));
    plain->cursor = NULL;
    if (lc_source_backend(source)->read_open(source->handle, plain, &read, NULL) != LCDC_OK)
        return LCDC_OK;
    lcdc_status status = lc_cursor_check(cursor, read, err);
    read->ops->release(read);
    return status;
}

static lcdc_status open_read(struct lc_reading *self, lcdc_source *source, lcdc_error **err)
{
    const struct lc_backend *backend = lc_source_backend(source);
    struct lc_cursor cursor = {0};
    bool with_cursor = self->request->cursor != NULL;
    LC_CLEANUP(lcdc_request_freep) lcdc_request *original = NULL;
    if (with_cursor) {
        LC_TRY(lc_cursor_parse(self->request->cursor, &cursor, err));
        LC_TRY(lc_request_dup(self->request, &original, err));
        apply_cursor(self->request, &cursor);
    }
    LC_ERROR lcdc_error *problem = NULL;
    self->request->asked = source->shared.cancelled;
    lcdc_status status = backend->read_open(source->handle, self->request, &self->read, &problem);
    self->request->asked = NULL;
    if (status != LCDC_OK) {
        if (with_cursor)
            LC_TRY(explain_failed_cursor(source, original, &cursor, err));
        if (err) {
            lcdc_error_free(*err);
            *err = lc_steal(problem);
        }
        return status;
    }
    if (!with_cursor)
        return LCDC_OK;
    self->schema_changed = cursor.schema != lc_field_fingerprint(self->read->schema);
    return lc_cursor_check(&cursor, self->read, err);
}

/* ---- columns ---- */

static lcdc_status unknown_column(const struct lc_field *schema, const char *name, const char *option, lcdc_error **err)
{
    struct lc_buf names;
    lc_buf_init(&names, 2048);
    for (size_t i = 0; i < schema->n_children && names.n < 1000; i++)
        lc_buf_printf(&names, "%s%s", i ? ", " : "", schema->children[i].name);
    LC_FREE char *list = lc_buf_take(&names);
    return lc_fail(err, LC_R_COLUMN_UNKNOWN, "%s: the table has no column '%s'; it has %s", option, name,
                   list ? list : "others");
}

static lcdc_status find_column(const struct lc_field *schema, const char *name, const char *option, size_t *out,
                               lcdc_error **err)
{
    size_t nocase = schema->n_children, matches = 0;
    for (size_t i = 0; i < schema->n_children; i++) {
        if (strcmp(schema->children[i].name, name) == 0) {
            *out = i;
            return LCDC_OK;
        }
        if (lc_str_is_nocase(lc_str_of(schema->children[i].name), name)) {
            nocase = i;
            matches++;
        }
    }
    if (matches != 1)
        return unknown_column(schema, name, option, err);
    *out = nocase;
    return LCDC_OK;
}

static lcdc_status find_columns(const struct lc_field *schema, const struct lc_list *names, const char *option,
                                bool *used, size_t *out, lcdc_error **err)
{
    for (size_t i = 0; i < names->n; i++) {
        LC_TRY(find_column(schema, names->items[i], option, &out[i], err));
        used[out[i]] = true;
        for (size_t k = 0; k < i; k++)
            if (out[k] == out[i])
                return lc_fail(err, LC_R_OPTION_VALUE, "%s: column '%s' is named twice", option, names->items[i]);
    }
    return LCDC_OK;
}

/* `read_at[c]` is where table column c stands among those that are read. */
static lcdc_status lay_out_columns(struct lc_reading *self, const bool *used, size_t *read_at, lcdc_error **err)
{
    const struct lc_field *schema = self->read->schema;
    size_t n = 0;
    const struct lc_field **chosen = lc_arena_array(&self->arena, schema->n_children, sizeof(*chosen));
    LC_TRY_ALLOC(chosen);
    for (size_t c = 0; c < schema->n_children; c++)
        if (used[c]) {
            read_at[c] = n;
            chosen[n++] = &schema->children[c];
        }
    return lc_field_project(schema, n, chosen, &self->arena, &self->columns, err);
}

static lcdc_status lay_out_images(struct lc_reading *self, size_t n, const size_t *table_columns, const size_t *read_at,
                                  lcdc_error **err)
{
    const struct lc_field **chosen = lc_arena_array(&self->arena, n, sizeof(*chosen));
    self->image_columns = lc_arena_array(&self->arena, n, sizeof(size_t));
    LC_TRY_ALLOC(chosen && self->image_columns);
    for (size_t i = 0; i < n; i++) {
        self->image_columns[i] = read_at[table_columns[i]];
        chosen[i] = &self->columns.children[self->image_columns[i]];
    }
    return lc_field_project(&self->columns, n, chosen, &self->arena, &self->images, err);
}

/* A projection narrows the images, never which rows changed: what compares whole rows reads whole rows. */
static bool needs_every_column(const lcdc_request *request)
{
    return request->net || request->drop_noop || request->columns.n == 0;
}

static lcdc_status choose_columns(struct lc_reading *self, lcdc_error **err)
{
    const lcdc_request *request = self->request;
    const struct lc_field *schema = self->read->schema;
    size_t n = schema->n_children;
    bool *used = lc_arena_array(&self->arena, n, sizeof(bool));
    size_t *shown = lc_arena_array(&self->arena, n + request->columns.n, sizeof(size_t));
    size_t *identity = lc_arena_array(&self->arena, request->identity.n, sizeof(size_t));
    size_t *read_at = lc_arena_array(&self->arena, n, sizeof(size_t));
    LC_TRY_ALLOC(used && shown && identity && read_at);
    LC_TRY(find_columns(schema, &request->columns, "columns", used, shown, err));
    LC_TRY(find_columns(schema, &request->identity, "identity", used, identity, err));
    const struct lc_expr *filter = NULL;
    if (request->where) {
        LC_TRY(lc_filter_parse(lc_str_of(request->where), schema, &self->arena, &filter, err));
        lc_filter_columns(filter, used);
    }
    for (size_t c = 0; c < n; c++) {
        if (needs_every_column(request))
            used[c] = true;
        if (request->columns.n == 0)
            shown[c] = c;
    }
    LC_TRY(lay_out_columns(self, used, read_at, err));
    LC_TRY(lay_out_images(self, request->columns.n ? request->columns.n : n, shown, read_at, err));
    for (size_t i = 0; i < request->identity.n; i++)
        identity[i] = read_at[identity[i]];
    self->identity = (struct lc_identity){.n = request->identity.n, .columns = identity};
    return LCDC_OK;
}

/* ---- the filter ---- */

struct identity_test {
    const struct lc_reading *reading;
    bool *used; /* scratch, a flag per read column */
};

static bool only_identity(void *context, const struct lc_expr *conjunct)
{
    struct identity_test *test = context;
    size_t n = test->reading->columns.n_children;
    memset(test->used, 0, n * sizeof(bool));
    lc_filter_columns(conjunct, test->used);
    for (size_t i = 0; i < test->reading->identity.n; i++)
        test->used[test->reading->identity.columns[i]] = false;
    for (size_t c = 0; c < n; c++)
        if (test->used[c])
            return false;
    return true;
}

/*
 * The filter acts on rows that have been labelled. Where rows are paired above the backend, filtering early could take
 * one half away and change the other's label, so only conditions on the identity itself go down: both halves answer
 * them alike.
 */
static lcdc_status split_filter(struct lc_reading *self, lcdc_error **err)
{
    const lcdc_request *request = self->request;
    if (!request->where)
        return LCDC_OK;
    LC_TRY(lc_filter_parse(lc_str_of(request->where), &self->columns, &self->arena, &self->residual, err));
    if (!request->pushdown)
        return LCDC_OK;
    if (self->identity.n == 0 && !request->net) {
        self->shape.filter = self->residual;
        self->residual = NULL;
        return LCDC_OK;
    }
    struct identity_test test = {self, lc_arena_array(&self->arena, self->columns.n_children, sizeof(bool))};
    LC_TRY_ALLOC(test.used);
    return lc_filter_split(self->residual, only_identity, &test, &self->arena, &self->shape.filter, err);
}

/* ---- opening ---- */

static lcdc_status plain_request(lcdc_request *request)
{
    request->where = NULL;
    request->columns = request->identity = (struct lc_list){0};
    request->fold = request->net = request->drop_noop = request->bootstrap = false;
    return LCDC_OK;
}

static lcdc_status prepare(struct lc_reading *self, lcdc_source *source, const lcdc_request *request, bool at_shape,
                           lcdc_error **err)
{
    LC_TRY(lc_request_check(request, err));
    LC_TRY(lc_request_dup(request, &self->request, err));
    if (!at_shape)
        LC_TRY(plain_request(self->request));
    LC_TRY(open_read(self, source, err));
    if (self->request->bootstrap && !self->read->ops->snapshot)
        return lc_fail(err, LC_R_REQUEST_CONFLICT, "bootstrap: backend %s cannot read a snapshot",
                       lc_source_backend(source)->name);
    LC_TRY(choose_columns(self, err));
    self->shape = (struct lc_shape){.columns = &self->columns,
                                    .pushdown = self->request->pushdown,
                                    .row_ids = self->identity.n == 0 &&
                                               (self->request->fold || self->request->net || self->request->drop_noop),
                                    .batch_rows = self->request->batch_rows,
                                    .memory_limit = self->request->memory_limit,
                                    .threads = self->request->threads,
                                    .cancelled = (const _Atomic int *)&self->cancelled};
    return split_filter(self, err);
}

lcdc_status lc_reading_open(lcdc_source *source, const lcdc_request *request, bool at_shape, struct lc_reading **out,
                            lcdc_error **err)
{
    struct lc_reading *self = lc_calloc(1, sizeof(*self));
    LC_TRY_ALLOC(self);
    lcdc_status status = prepare(self, source, request, at_shape, err);
    if (status == LCDC_OK)
        *out = self;
    else
        lc_reading_free(self);
    return status;
}

void lc_reading_free(struct lc_reading *reading)
{
    if (!reading)
        return;
    if (reading->read)
        reading->read->ops->release(reading->read);
    lcdc_request_free(reading->request);
    lc_arena_done(&reading->arena);
    lc_free(reading);
}

/* ---- the pipeline ---- */

typedef lcdc_status (*make_stage)(struct lc_change_stream *take_below, const struct lc_stage_spec *spec,
                                  struct lc_change_stream **out, lcdc_error **err);

static lcdc_status add_stage(bool wanted, make_stage make, const struct lc_stage_spec *spec,
                             struct lc_change_stream **stream, lcdc_error **err)
{
    return wanted ? make(lc_steal(*stream), spec, stream, err) : LCDC_OK;
}

lcdc_status lc_reading_start(struct lc_reading *self, struct lc_change_stream **out, lcdc_error **err)
{
    const lcdc_request *request = self->request;
    struct lc_read *read = self->read;
    struct lc_stage_spec spec = {.columns = &self->columns,
                                 .identity = self->identity,
                                 .memory_limit = request->memory_limit / 4,
                                 .batch_rows = request->batch_rows};
    LC_CLEANUP(lc_change_stream_freep) struct lc_change_stream *stream = NULL, *first = NULL;
    LC_TRY(read->ops->changes(read, &self->shape, &stream, err));
    if (request->bootstrap) {
        LC_TRY(read->ops->snapshot(read, false, &self->shape, &first, err));
        LC_TRY(lc_stage_concat(lc_steal(first), lc_steal(stream), &stream, err));
    }
    LC_TRY(add_stage(self->identity.n > 0, lc_stage_label, &spec, &stream, err));
    LC_TRY(add_stage(request->drop_noop, lc_stage_drop_noop, &spec, &stream, err));
    LC_TRY(add_stage(request->net, lc_stage_net, &spec, &stream, err));
    if (self->residual)
        LC_TRY(lc_stage_filter(lc_steal(stream), self->residual, &self->columns, &stream, err));
    LC_TRY(add_stage(request->fold, lc_stage_fold, &spec, &stream, err));
    *out = lc_steal(stream);
    return LCDC_OK;
}
