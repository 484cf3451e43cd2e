/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform.c - steps bound to columns: each becomes an action on a list of columns, which is at the end the images.
 */
#include "sync/transform.h"

#include <stdarg.h>
#include <string.h>

#include "lakecdc/change.h"
#include "sync/column.h"

struct lc_action {
    enum lc_step_kind kind; /* RENAME needs none */
    int line;
    size_t column; /* DROP, CAST: which one */
    const char *name;
    struct lc_type from, type; /* CAST; CONSTANT has the latter */
    struct lc_value constant;
    struct lc_field *rows;                /* EXPRESSION: the columns at that point */
    const struct lc_expr *is_true, *not ; /* the condition and its negation */
};

/* ---- binding ---- */

struct binding {
    const struct lc_steps *steps;
    struct lc_transform *out;
    size_t cap;
    size_t *origin; /* of each column: its place in the source, SIZE_MAX = made here */
};

static lcdc_status bad(const struct lc_steps *steps, int line, lcdc_error **err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static lcdc_status bad(const struct lc_steps *steps, int line, lcdc_error **err, const char *format, ...)
{
    LC_BUF struct lc_buf text = {.max = 1 << 12};
    va_list args;
    va_start(args, format);
    lc_buf_vprintf(&text, format, args);
    va_end(args);
    LC_TRY_BUF(&text);
    return lc_fail(err, LC_R_CONFIG_VALUE, "%s:%d: table '%s': %s", steps->path, line, steps->table, text.p);
}

static size_t find(const struct lc_field *images, const char *name)
{
    size_t i = 0;
    while (i < images->n_children && strcmp(images->children[i].name, name) != 0)
        i++;
    return i;
}

static lcdc_status need(const struct binding *binding, const struct lc_step *step, size_t *out, lcdc_error **err)
{
    const struct lc_field *images = &binding->out->images;
    LC_BUF struct lc_buf names = {.max = 1 << 12};
    *out = find(images, step->column);
    if (*out < images->n_children)
        return LCDC_OK;
    for (size_t i = 0; i < images->n_children && names.n < 500; i++)
        lc_buf_printf(&names, "%s%s", i ? ", " : "", images->children[i].name);
    LC_TRY_BUF(&names);
    return bad(binding->steps, step->line, err, "there is no column '%.100s' at this point; there are %s", step->column,
               names.p ? names.p : "none");
}

static lcdc_status need_free(const struct binding *binding, const struct lc_step *step, const char *name,
                             lcdc_error **err)
{
    if (find(&binding->out->images, name) == binding->out->images.n_children)
        return LCDC_OK;
    return bad(binding->steps, step->line, err, "there is a column '%.100s' already", name);
}

static lcdc_status add_column(struct binding *binding, const struct lc_step *step, struct lc_type type,
                              lcdc_error **err)
{
    struct lc_field *images = &binding->out->images;
    LC_TRY(need_free(binding, step, step->column, err));
    char *name = lc_arena_strdup(&binding->out->arena, step->column);
    LC_TRY_ALLOC(name);
    images->children[images->n_children] = (struct lc_field){
        .name = name, .physical = name, .id = LC_NO_ID, .nullable = true, .type = type};
    binding->origin[images->n_children++] = SIZE_MAX;
    return LCDC_OK;
}

static lcdc_status bind_rename(struct binding *binding, const struct lc_step *step, lcdc_error **err)
{
    size_t at;
    LC_TRY(need(binding, step, &at, err));
    if (strcmp(step->column, step->text) != 0)
        LC_TRY(need_free(binding, step, step->text, err));
    char *name = lc_arena_strdup(&binding->out->arena, step->text);
    LC_TRY_ALLOC(name);
    binding->out->images.children[at].name = binding->out->images.children[at].physical = name;
    return LCDC_OK;
}

static lcdc_status bind_drop(struct binding *binding, const struct lc_step *step, struct lc_action *out,
                             lcdc_error **err)
{
    struct lc_field *images = &binding->out->images;
    LC_TRY(need(binding, step, &out->column, err));
    size_t after = --images->n_children - out->column;
    memmove(&images->children[out->column], &images->children[out->column + 1], after * sizeof(*images->children));
    memmove(&binding->origin[out->column], &binding->origin[out->column + 1], after * sizeof(size_t));
    return LCDC_OK;
}

static lcdc_status bind_cast(struct binding *binding, const struct lc_step *step, struct lc_action *out,
                             lcdc_error **err)
{
    LC_TRY(need(binding, step, &out->column, err));
    struct lc_field *field = &binding->out->images.children[out->column];
    if (!lc_type_parse(step->text, &out->type) || !lc_column_can_cast(field->type, out->type)) {
        LC_BUF struct lc_buf type = {.max = 1 << 10};
        lc_type_print(&type, field);
        return bad(binding->steps, step->line, err, "column '%.100s' is %.100s, which cannot be cast to %.100s",
                   step->column, type.p ? type.p : "", step->text);
    }
    out->name = field->name;
    out->from = field->type;
    field->type = out->type;
    field->id = LC_NO_ID;
    if (field->initial_default)
        return lc_column_cast_value(field->initial_default, out->type, &binding->out->arena, &field->initial_default,
                                    err);
    return LCDC_OK;
}

static lcdc_status bind_expression(struct binding *binding, const struct lc_step *step, struct lc_action *out,
                                   lcdc_error **err)
{
    LC_ERROR lcdc_error *problem = NULL;
    struct lc_arena *arena = &binding->out->arena;
    const struct lc_field *images = &binding->out->images;
    out->rows = lc_arena_alloc(arena, sizeof(*out->rows));
    struct lc_field *columns = lc_arena_array(arena, images->n_children, sizeof(*columns));
    struct lc_expr *not = lc_arena_alloc(arena, sizeof(*not ));
    LC_TRY_ALLOC(out->rows && columns && not );
    if (images->n_children)
        memcpy(columns, images->children, images->n_children * sizeof(*columns));
    *out->rows = *images;
    out->rows->children = columns;
    if (lc_filter_parse(lc_str_of(step->text), out->rows, arena, &out->is_true, &problem) != LCDC_OK)
        return bad(binding->steps, step->line, err, "%s", lcdc_error_message(problem));
    *not = (struct lc_expr){.kind = LC_EXPR_NOT, .n_args = 1, .args = &out->is_true};
    out->not = not ;
    return add_column(binding, step, (struct lc_type){.kind = LC_TYPE_BOOL}, err);
}

static lcdc_status bind_step(struct binding *binding, const struct lc_step *step, lcdc_error **err)
{
    struct lc_transform *out = binding->out;
    struct lc_action *action = &out->actions[out->n_actions];
    *action = (struct lc_action){.kind = step->kind, .line = step->line};
    if (step->kind == LC_STEP_RENAME)
        return bind_rename(binding, step, err);
    out->n_actions++;
    switch (step->kind) {
    case LC_STEP_DROP:
        return bind_drop(binding, step, action, err);
    case LC_STEP_CONSTANT: {
        const struct lc_value *copy = lc_value_dup(&out->arena, &step->constant);
        LC_TRY_ALLOC(copy);
        action->constant = *copy;
        action->type = copy->type;
        return add_column(binding, step, copy->type, err);
    }
    case LC_STEP_CAST:
        return bind_cast(binding, step, action, err);
    case LC_STEP_EXPRESSION:
        return bind_expression(binding, step, action, err);
    case LC_STEP_RENAME:
        break;
    }
    return LCDC_OK;
}

/* Exact case first, then any case, as the reader does it. */
static size_t find_source(const struct lc_field *images, const char *name)
{
    size_t i = find(images, name);
    for (size_t k = 0; i == images->n_children && k < images->n_children; k++)
        if (lc_str_is_nocase(lc_str_of(images->children[k].name), name))
            return k;
    return i;
}

static lcdc_status bind_identity(struct binding *binding, size_t n, const char *const *names, int line,
                                 lcdc_error **err)
{
    struct lc_transform *out = binding->out;
    out->identity = lc_arena_array(&out->arena, n, sizeof(size_t));
    LC_TRY_ALLOC(out->identity);
    for (size_t i = 0; i < n; i++) {
        size_t source = find_source(&out->from, names[i]), at = 0;
        while (at < out->images.n_children && binding->origin[at] != source)
            at++;
        if (source == out->from.n_children || at == out->images.n_children)
            return bad(binding->steps, line, err,
                       "identity column '%.100s' is not among the columns that are delivered", names[i]);
        out->identity[out->n_identity++] = at;
    }
    return LCDC_OK;
}

static lcdc_status copy_columns(const struct lc_field *from, size_t cap, struct lc_arena *arena, struct lc_field *out,
                                lcdc_error **err)
{
    *out = *from;
    out->children = lc_arena_array(arena, cap, sizeof(*out->children));
    LC_TRY_ALLOC(out->children);
    if (from->n_children)
        memcpy(out->children, from->children, from->n_children * sizeof(*out->children));
    return LCDC_OK;
}

/* What an Arrow schema does not say of a column. */
static lcdc_status own_rest(const struct lc_field *images, struct lc_arena *arena, struct lc_field *out,
                            lcdc_error **err)
{
    out->id = images->id;
    if (images->initial_default) {
        out->initial_default = lc_value_dup(arena, images->initial_default);
        LC_TRY_ALLOC(out->initial_default);
    }
    for (size_t i = 0; i < out->n_children; i++)
        LC_TRY(own_rest(&images->children[i], arena, &out->children[i], err));
    return LCDC_OK;
}

/* A copy of the tree: what is bound outlives the feed it was bound to. */
static lcdc_status own_columns(const struct lc_field *images, struct lc_arena *arena, struct lc_field *out,
                               lcdc_error **err)
{
    LC_SCHEMA struct ArrowSchema schema = {0};
    LC_TRY(lc_schema_from_field(images, &schema, err));
    LC_TRY(lc_field_from_schema(&schema, arena, out, err));
    return own_rest(images, arena, out, err);
}

lcdc_status lc_transform_bind(const struct lc_steps *steps, const struct lc_field *images, size_t n_identity,
                              const char *const *identity, int identity_line, struct lc_transform *out,
                              lcdc_error **err)
{
    *out = (struct lc_transform){0};
    struct binding binding = {.steps = steps, .out = out, .cap = images->n_children + steps->n};
    LC_TRY(own_columns(images, &out->arena, &out->from, err));
    LC_TRY(copy_columns(&out->from, binding.cap, &out->arena, &out->images, err));
    binding.origin = lc_arena_array(&out->arena, binding.cap, sizeof(size_t));
    out->actions = lc_arena_array(&out->arena, steps->n, sizeof(*out->actions));
    LC_TRY_ALLOC(binding.origin && out->actions);
    for (size_t i = 0; i < images->n_children; i++)
        binding.origin[i] = i;
    for (size_t i = 0; i < steps->n; i++)
        LC_TRY(bind_step(&binding, &steps->items[i], err));
    if (out->images.n_children == 0)
        return bad(steps, steps->n ? steps->items[steps->n - 1].line : identity_line, err, "no column is left");
    return bind_identity(&binding, n_identity, identity, identity_line, err);
}

void lc_transform_done(struct lc_transform *transform)
{
    lc_arena_done(&transform->arena);
    *transform = (struct lc_transform){0};
}

/* ---- applying ---- */

/* The columns of one image while the steps go over them; `rows` says which of them have an image at all. */
struct work {
    struct ArrowArray image; /* owns `columns` that were not moved out */
    size_t n;
    struct ArrowArray *columns; /* each its own */
    int64_t length;
};

static void work_done(struct work *work)
{
    for (size_t i = 0; i < work->n; i++)
        lc_array_release(&work->columns[i]);
    lc_free(work->columns);
    lc_array_release(&work->image);
}

static lcdc_status take_apart(const struct lc_transform *transform, struct ArrowArray *take_image, struct work *out,
                              lcdc_error **err)
{
    out->length = take_image->length;
    if (take_image->offset) { /* children of a slice do not stand alone */
        LC_FREE int64_t *rows = lc_alloc((size_t)out->length * sizeof(*rows));
        const struct ArrowArray *from = take_image;
        LC_TRY_ALLOC(rows);
        for (int64_t i = 0; i < out->length; i++)
            rows[i] = lc_array_is_null(take_image, i) ? -1 : i;
        LC_TRY(lc_array_gather(&transform->from, 1, &from, NULL, rows, out->length, &out->image, err));
        lc_array_release(take_image);
    } else {
        lc_array_move(take_image, &out->image);
    }
    out->columns = lc_calloc(transform->from.n_children + transform->n_actions, sizeof(*out->columns));
    LC_TRY_ALLOC(out->columns);
    for (; out->n < transform->from.n_children; out->n++)
        lc_array_move(out->image.children[out->n], &out->columns[out->n]);
    return LCDC_OK;
}

/* The columns seen as rows, without owning them. */
static lcdc_status evaluate(const struct lc_action *action, const struct work *work, struct ArrowArray *out,
                            lcdc_error **err)
{
    LC_FREE struct ArrowArray **children = lc_calloc(work->n, sizeof(struct ArrowArray *));
    LC_FREE uint8_t *yes = lc_calloc((size_t)work->length, 1), *no = lc_calloc((size_t)work->length, 1);
    LC_TRY_ALLOC(children && yes && no);
    for (size_t i = 0; i < work->n; i++)
        children[i] = &work->columns[i];
    const struct ArrowArray rows = {.length = work->length,
                                    .null_count = work->image.null_count,
                                    .n_buffers = work->image.n_buffers,
                                    .n_children = (int64_t)work->n,
                                    .buffers = work->image.buffers,
                                    .children = children};
    LC_TRY(lc_filter_eval(action->is_true, &rows, yes, err));
    LC_TRY(lc_filter_eval(action->not, &rows, no, err));
    return lc_column_truth(&work->image, yes, no, out, err);
}

static lcdc_status drop(const struct lc_action *action, struct work *work)
{
    lc_array_release(&work->columns[action->column]);
    work->n--;
    for (size_t i = action->column; i < work->n; i++)
        lc_array_move(&work->columns[i + 1], &work->columns[i]);
    return LCDC_OK;
}

static lcdc_status act(const struct lc_action *action, struct work *work, lcdc_error **err)
{
    LC_ARRAY struct ArrowArray made = {0};
    size_t at = work->n;
    switch (action->kind) {
    case LC_STEP_RENAME:
        return LCDC_OK;
    case LC_STEP_DROP:
        return drop(action, work);
    case LC_STEP_CONSTANT:
        LC_TRY(lc_column_constant(&work->image, &action->constant, &made, err));
        break;
    case LC_STEP_EXPRESSION:
        LC_TRY(evaluate(action, work, &made, err));
        break;
    case LC_STEP_CAST:
        at = action->column;
        LC_TRY(lc_column_cast(&work->columns[at], action->name, action->from, action->type, &made, err));
        lc_array_release(&work->columns[at]);
        break;
    }
    work->n += at == work->n;
    lc_array_move(&made, &work->columns[at]);
    return LCDC_OK;
}

static lcdc_status apply_to_image(const struct lc_transform *transform, struct ArrowArray *image, lcdc_error **err)
{
    LC_CLEANUP(work_done) struct work work = {0};
    LC_ARRAY struct ArrowArray made = {0};
    LC_TRY(take_apart(transform, image, &work, err));
    for (size_t i = 0; i < transform->n_actions; i++)
        LC_TRY(act(&transform->actions[i], &work, err));
    LC_TRY(lc_column_assemble(&transform->images, &work.image, work.columns, &made, err));
    lc_array_move(&made, image);
    return LCDC_OK;
}

lcdc_status lc_transform_apply(const struct lc_transform *transform, struct ArrowArray *rows, lcdc_error **err)
{
    if (transform->n_actions == 0)
        return LCDC_OK; /* names are in the schema alone */
    if (rows->offset)
        return lc_fail(err, LC_R_INTERNAL, "a slice of change rows cannot be transformed");
    LC_TRY(apply_to_image(transform, rows->children[LCDC_COL_BEFORE], err));
    return apply_to_image(transform, rows->children[LCDC_COL_AFTER], err);
}

/* ---- types ---- */

static bool parse_decimal(struct lc_str text, struct lc_type *out)
{
    int64_t precision, scale;
    const char *comma = memchr(text.p, ',', text.n);
    if (!lc_str_starts(text, "decimal(") || !lc_str_ends(text, ")") || !comma)
        return false;
    struct lc_str first = {text.p + 8, (size_t)(comma - text.p) - 8};
    struct lc_str second = {comma + 1, text.n - (size_t)(comma - text.p) - 2};
    while (second.n && second.p[0] == ' ')
        second = (struct lc_str){second.p + 1, second.n - 1};
    if (!lc_parse_i64(first, &precision) || !lc_parse_i64(second, &scale) || precision < 1 || precision > 38 ||
        scale < 0 || scale > precision)
        return false;
    *out = (struct lc_type){.kind = LC_TYPE_DECIMAL, .precision = (int)precision, .scale = (int)scale};
    return true;
}

bool lc_type_parse(const char *text, struct lc_type *out)
{
    static const struct {
        const char *word;
        enum lc_type_kind kind;
    } others[] = {{"int8", LC_TYPE_INT8},    {"int16", LC_TYPE_INT16},   {"int32", LC_TYPE_INT32},
                  {"int64", LC_TYPE_INT64},  {"integer", LC_TYPE_INT32}, {"long", LC_TYPE_INT64},
                  {"boolean", LC_TYPE_BOOL}, {"bool", LC_TYPE_BOOL},     {"text", LC_TYPE_STRING}};
    if (parse_decimal(lc_str_of(text), out))
        return true;
    *out = (struct lc_type){.kind = LC_TYPE_COUNT};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i].word, text) == 0)
            out->kind = others[i].kind;
    for (size_t i = 0; i < LC_TYPE_COUNT && out->kind == LC_TYPE_COUNT; i++)
        if (strcmp(lc_type_word((enum lc_type_kind)i), text) == 0)
            out->kind = (enum lc_type_kind)i;
    return out->kind != LC_TYPE_COUNT && out->kind != LC_TYPE_NULL && out->kind != LC_TYPE_DECIMAL &&
           out->kind != LC_TYPE_FIXED && !lc_type_is_nested(out->kind);
}
