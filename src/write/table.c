/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - change rows for people: one line a change, one column a column of the table.
 *
 * The first rows are held until the column widths are known; later rows are laid out by them as they come. A row shows
 * the image it has; a folded update shows `old -> new` in the cells that changed. On a terminal a commit is a heading
 * above its rows, which leaves the width to the data; elsewhere it is two columns, which is easier to search. Nothing
 * of the data reaches the terminal but what cells.c lets through.
 */
#include <locale.h>
#include <string.h>

#include "base/time.h"
#include "write/cells.h"
#include "write/format.h"
#include "write/layout.h"
#include "write/text.h"

enum { OP, SNAPSHOT, TS, FIRST_IMAGE }; /* columns of the table */
enum { ALIGNED = 60, HOLD_ROWS = 1000, HOLD_BYTES = 4 << 20 };

#define ARROW " \xE2\x86\x92 "
#define ELLIPSIS "\xE2\x80\xA6"

enum paint { PLAIN, BOLD, DIM, RED, GREEN, YELLOW };

/* Text in table.text; of a cell that changed the old value, ARROW and the new one. */
struct cell {
    size_t at, n, old_n;
    int width;
    enum paint paint;
    bool changed;
};

struct table {
    locale_t locale;
    bool color, laid_out, has_heading;
    int limit; /* columns of the terminal; 0 = unlimited */
    size_t n_columns, last_shown, n_hidden;
    struct lc_column_layout *layout;
    bool *is_right;
    struct cell *cells; /* rows that are held, row by row */
    size_t n_cells, room;
    struct lc_buf text; /* of their cells */
    struct lc_buf scratch;
    struct lc_buf heading; /* the last one that was printed */
};

/* ---- making cells ---- */

static lcdc_status reserve_row(struct table *table, lcdc_error **err)
{
    if (table->n_cells + table->n_columns <= table->room)
        return LCDC_OK;
    size_t room = 2 * table->room + table->n_columns;
    struct cell *grown = lc_realloc(table->cells, room, sizeof(*grown));
    LC_TRY_ALLOC(grown);
    table->cells = grown;
    table->room = room;
    return LCDC_OK;
}

static struct lc_str text_since(const struct lc_buf *buf, size_t begin)
{
    return (struct lc_str){buf->p ? buf->p + begin : "", buf->n - begin};
}

static void add_cell(struct table *table, size_t begin, enum paint paint)
{
    struct lc_str text = text_since(&table->text, begin);
    table->cells[table->n_cells++] = (struct cell){
        .at = begin, .n = text.n, .width = lc_cells_width(text), .paint = paint};
}

static void add_text(struct table *table, struct lc_str text, enum paint paint)
{
    size_t begin = table->text.n;
    lc_cells_clean(&table->text, text);
    add_cell(table, begin, paint);
}

static bool is_timestamp(enum lc_type_kind kind)
{
    return kind == LC_TYPE_TIMESTAMP_TZ || kind == LC_TYPE_TIMESTAMP || kind == LC_TYPE_TIMESTAMP_NS_TZ ||
           kind == LC_TYPE_TIMESTAMP_NS;
}

/* "2024-02-29T12:00:00.000000Z" reads better as "2024-02-29 12:00:00Z". */
static void ease_timestamp(char *text, size_t *n)
{
    char *t = memchr(text, 'T', *n), *dot = memchr(text, '.', *n);
    if (t)
        *t = ' ';
    if (!dot)
        return;
    size_t digits = strspn(dot + 1, "0"), all = strspn(dot + 1, "0123456789");
    if (digits < all)
        return;
    memmove(dot, dot + 1 + all, *n - (size_t)(dot + 1 + all - text));
    *n -= 1 + all;
}

/* Appends a value as people read it and says how it is to be painted when it is not `otherwise`. */
static enum paint put_value(struct table *table, const struct lc_field *field, const struct ArrowArray *array,
                            int64_t row, enum paint otherwise)
{
    lc_buf_clear(&table->scratch);
    if (field->type.kind == LC_TYPE_NULL || lc_array_is_null(array, row)) {
        lc_buf_text(&table->text, "NULL");
        return DIM;
    }
    lc_text_plain(&table->scratch, field, array, row);
    struct lc_str text = text_since(&table->scratch, 0);
    if (is_timestamp(field->type.kind) && table->scratch.p)
        ease_timestamp(table->scratch.p, &text.n);
    if (text.n == 0) {
        lc_buf_text(&table->text, "''");
        return DIM;
    }
    lc_cells_clean(&table->text, text);
    return otherwise;
}

static bool texts_differ(struct table *table, size_t old_begin, size_t new_begin)
{
    size_t old_n = new_begin - old_begin, new_n = table->text.n - new_begin;
    return old_n != new_n || memcmp(table->text.p + old_begin, table->text.p + new_begin, old_n) != 0;
}

/* The cell of a folded update. */
static void add_diff(struct table *table, const struct lc_field *field, const struct ArrowArray *before,
                     int64_t before_row, const struct ArrowArray *after, int64_t after_row)
{
    size_t begin = table->text.n;
    enum paint old_paint = put_value(table, field, before, before_row, PLAIN);
    size_t old_n = table->text.n - begin;
    enum paint new_paint = put_value(table, field, after, after_row, PLAIN);
    if (table->text.failed)
        return;
    bool changed = old_paint != new_paint || texts_differ(table, begin, begin + old_n);
    table->text.n = begin + old_n;
    if (changed) {
        lc_buf_text(&table->text, ARROW);
        (void)put_value(table, field, after, after_row, PLAIN);
    }
    add_cell(table, begin, new_paint);
    table->cells[table->n_cells - 1].changed = changed;
    table->cells[table->n_cells - 1].old_n = old_n;
}

static void add_value(struct table *table, const struct lc_field *field, const struct ArrowArray *array, int64_t row,
                      enum paint paint)
{
    size_t begin = table->text.n;
    paint = put_value(table, field, array, row, paint);
    add_cell(table, begin, paint);
}

/* ---- making rows ---- */

static void add_op(struct table *table, const struct ArrowArray *array, int64_t row, lcdc_op *op, enum paint *paint)
{
    struct lc_str word = lc_array_str(array, LC_TYPE_STRING, 0, row);
    if (lcdc_op_parse(word.p, word.n, op, NULL) != LCDC_OK)
        *op = LCDC_OP_UPDATE;
    bool is_insert = *op == LCDC_OP_INSERT, is_delete = *op == LCDC_OP_DELETE;
    *paint = is_insert ? GREEN : is_delete ? RED : YELLOW;
    size_t begin = table->text.n;
    lc_buf_text(&table->text, is_insert ? "+ " : is_delete ? "- " : "~ ");
    lc_cells_clean(&table->text, word);
    add_cell(table, begin, *paint);
}

static lcdc_status add_row(struct lcdc_writer *writer, const struct ArrowArray *batch, int64_t row, lcdc_error **err)
{
    struct table *table = writer->state;
    const struct lc_field *images = lc_writer_images(writer), *columns = writer->row.children;
    const struct ArrowArray *before = batch->children[LCDC_COL_BEFORE], *after = batch->children[LCDC_COL_AFTER];
    lcdc_op op = LCDC_OP_UPDATE;
    enum paint paint;
    LC_TRY(reserve_row(table, err));
    add_op(table, batch->children[LCDC_COL_OP], row, &op, &paint);
    add_value(table, &columns[LCDC_COL_SNAPSHOT], batch->children[LCDC_COL_SNAPSHOT], row, DIM);
    add_value(table, &columns[LCDC_COL_TS], batch->children[LCDC_COL_TS], row, DIM);
    bool has_before = !lc_array_is_null(before, row), has_after = !lc_array_is_null(after, row);
    const struct ArrowArray *image = has_after ? after : before;
    paint = paint == YELLOW ? PLAIN : paint;
    for (size_t c = 0; c < images->n_children; c++) {
        const struct lc_field *field = &images->children[c];
        if (has_before && has_after)
            add_diff(table, field, before->children[c], before->offset + row, after->children[c], after->offset + row);
        else if (has_before || has_after)
            add_value(table, field, image->children[c], image->offset + row, paint);
        else
            add_text(table, LC_STR("NULL"), DIM);
    }
    LC_TRY_BUF(&table->text);
    LC_TRY_BUF(&table->scratch);
    return LCDC_OK;
}

static lcdc_status add_header(struct lcdc_writer *writer, lcdc_error **err)
{
    struct table *table = writer->state;
    const struct lc_field *images = lc_writer_images(writer);
    LC_TRY(reserve_row(table, err));
    add_text(table, LC_STR("op"), BOLD);
    add_text(table, LC_STR("snapshot"), BOLD);
    add_text(table, LC_STR("ts"), BOLD);
    for (size_t c = 0; c < images->n_children; c++)
        add_text(table, lc_str_of(images->children[c].name), BOLD);
    LC_TRY_BUF(&table->text);
    return LCDC_OK;
}

/* ---- layout ---- */

static void measure(struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++) {
        struct lc_column_layout *column = &table->layout[i % table->n_columns];
        if (table->cells[i].width > column->width)
            column->width = table->cells[i].width;
        column->matters |= table->cells[i].changed;
    }
}

static void lay_out(struct table *table)
{
    measure(table);
    table->laid_out = true;
    table->layout[OP].is_fixed = true;
    table->layout[SNAPSHOT].is_absent = table->layout[TS].is_absent = table->has_heading;
    for (size_t c = 0; c < table->n_columns && table->limit == 0; c++)
        if (table->layout[c].width > ALIGNED)
            table->layout[c].width = ALIGNED;
    table->n_hidden = lc_layout_fit(table->layout, table->n_columns, table->limit);
    for (size_t c = 0; c < table->n_columns; c++)
        if (table->layout[c].is_shown)
            table->last_shown = c;
}

/* ---- printing ---- */

static void put_painted(struct table *table, struct lc_buf *out, enum paint paint, struct lc_str text)
{
    static const char *const codes[] = {
        [BOLD] = "\x1B[1m", [DIM] = "\x1B[2m", [RED] = "\x1B[31m", [GREEN] = "\x1B[32m", [YELLOW] = "\x1B[33m"};
    bool painted = table->color && paint != PLAIN && text.n;
    if (painted)
        lc_buf_text(out, codes[paint]);
    lc_buf_append(out, text.p, text.n);
    if (painted)
        lc_buf_text(out, "\x1B[0m");
}

/* Text cut to `width` columns, with an ellipsis where it was cut; returns the columns it took. */
static int put_cut(struct table *table, struct lc_buf *out, enum paint paint, struct lc_str text, int width)
{
    int whole = lc_cells_width(text);
    if (width <= 0)
        return 0;
    if (whole <= width) {
        put_painted(table, out, paint, text);
        return whole;
    }
    struct lc_str part = lc_cells_clip(text, width - 1);
    put_painted(table, out, paint, part);
    put_painted(table, out, DIM, LC_STR(ELLIPSIS));
    return lc_cells_width(part) + 1;
}

static int put_changed(struct table *table, struct lc_buf *out, struct lc_str old, struct lc_str new, int width)
{
    enum { ARROW_WIDTH = 3 };
    int old_width = lc_cells_width(old), new_width = lc_cells_width(new), room = width - ARROW_WIDTH, old_room;
    if (room < 2) /* the new value matters more */
        return put_cut(table, out, YELLOW, new, width);
    old_room = old_width <= room / 2 ? old_width : new_width <= room / 2 ? room - new_width : room / 2;
    int used = put_cut(table, out, RED, old, old_room);
    put_painted(table, out, DIM, LC_STR(ARROW));
    return used + ARROW_WIDTH + put_cut(table, out, GREEN, new, room - used);
}

static void put_blanks(struct lc_buf *out, int n)
{
    for (int i = 0; i < n; i++)
        lc_buf_char(out, ' ');
}

static struct lc_str text_of(const struct table *table, const struct cell *cell)
{
    return (struct lc_str){table->text.p + cell->at, cell->n};
}

static void put_cell(struct table *table, struct lc_buf *out, const struct cell *cell, size_t column)
{
    int aligned = table->layout[column].width, width = table->limit ? aligned : INT32_MAX / 2;
    struct lc_str text = text_of(table, cell);
    size_t new_at = cell->old_n + sizeof(ARROW) - 1;
    int taken = cell->width < width ? cell->width : width;
    bool is_right = table->is_right[column];
    if (is_right)
        put_blanks(out, aligned - taken);
    if (cell->changed)
        taken = put_changed(table, out, (struct lc_str){text.p, cell->old_n},
                            (struct lc_str){text.p + new_at, text.n - new_at}, width);
    else
        taken = put_cut(table, out, cell->paint, text, width);
    if (!is_right && column < table->last_shown)
        put_blanks(out, aligned - taken);
}

/* A line above the first row of a commit; rows that belong to no commit of their own have none. */
static void put_heading(struct table *table, struct lc_buf *out, const struct cell *row)
{
    struct lc_str snapshot = text_of(table, &row[SNAPSHOT]), ts = text_of(table, &row[TS]);
    struct lc_buf *line = &table->scratch;
    if (!table->has_heading || row[OP].paint == BOLD)
        return;
    lc_buf_clear(line);
    lc_buf_text(line, "snapshot ");
    lc_buf_append(line, snapshot.p, snapshot.n);
    lc_buf_text(line, "  ");
    lc_buf_append(line, ts.p, ts.n);
    if (lc_str_eq(text_since(line, 0), text_since(&table->heading, 0)))
        return;
    bool has_commit = row[SNAPSHOT].paint != BOLD && !lc_str_is(snapshot, "NULL");
    if (has_commit || table->heading.n) {
        put_cut(table, out, BOLD, has_commit ? text_since(line, 0) : LC_STR("several commits"), table->limit);
        lc_buf_char(out, '\n');
    }
    lc_buf_clear(&table->heading);
    lc_buf_append(&table->heading, line->p, line->n);
}

/* At the end of the header: how many columns did not fit. */
static void put_rest(struct table *table, struct lc_buf *out)
{
    if (table->n_hidden == 0 || !lc_layout_names_rest(table->limit))
        return;
    lc_buf_clear(&table->scratch);
    lc_buf_printf(&table->scratch, "+%zu", table->n_hidden);
    put_blanks(out, LC_LAYOUT_GAP);
    put_cut(table, out, DIM, text_since(&table->scratch, 0), LC_LAYOUT_REST - LC_LAYOUT_GAP);
}

static void put_row(struct table *table, struct lc_buf *out, const struct cell *row)
{
    bool is_first = true;
    for (size_t c = 0; c < table->n_columns; c++) {
        if (!table->layout[c].is_shown)
            continue;
        put_blanks(out, is_first ? 0 : LC_LAYOUT_GAP);
        put_cell(table, out, &row[c], c);
        is_first = false;
    }
    if (row[OP].paint == BOLD)
        put_rest(table, out);
    lc_buf_char(out, '\n');
}

/* Prints and forgets the rows that are held. */
static lcdc_status print_rows(struct lcdc_writer *writer, lcdc_error **err)
{
    struct table *table = writer->state;
    for (size_t i = 0; i < table->n_cells; i += table->n_columns) {
        put_heading(table, &writer->out, &table->cells[i]);
        put_row(table, &writer->out, &table->cells[i]);
        LC_TRY_BUF(&table->heading);
        LC_TRY_BUF(&table->scratch);
        LC_TRY(lc_writer_drain(writer, err));
    }
    table->n_cells = 0;
    lc_buf_clear(&table->text);
    return LCDC_OK;
}

/* ---- the format ---- */

static bool is_number(enum lc_type_kind kind)
{
    return kind == LC_TYPE_INT8 || kind == LC_TYPE_INT16 || kind == LC_TYPE_INT32 || kind == LC_TYPE_INT64 ||
           kind == LC_TYPE_FLOAT || kind == LC_TYPE_DOUBLE || kind == LC_TYPE_DECIMAL;
}

static lcdc_status set_up(struct lcdc_writer *writer, struct table *table, lcdc_error **err)
{
    const struct lc_field *images = lc_writer_images(writer);
    lc_buf_init(&table->text, LC_BUF_MAX);
    lc_buf_init(&table->scratch, LC_BUF_MAX);
    lc_buf_init(&table->heading, LC_BUF_MAX);
    table->color = writer->options.color;
    table->limit = writer->options.width > 0 ? writer->options.width : 0;
    table->has_heading = table->limit > 0;
    table->n_columns = FIRST_IMAGE + images->n_children;
    table->layout = lc_calloc(table->n_columns, sizeof(*table->layout));
    table->is_right = lc_calloc(table->n_columns, sizeof(*table->is_right));
    LC_TRY_ALLOC(table->layout);
    LC_TRY_ALLOC(table->is_right);
    table->is_right[SNAPSHOT] = true;
    for (size_t c = 0; c < images->n_children; c++)
        table->is_right[FIRST_IMAGE + c] = is_number(images->children[c].type.kind);
    return LCDC_OK;
}

/* wcwidth() knows its thread's locale only. Without one for UTF-8 wide characters count as narrow. */
static locale_t enter_locale(struct table *table)
{
    return table->locale ? uselocale(table->locale) : (locale_t)0;
}

static void leave_locale(locale_t before)
{
    if (before)
        (void)uselocale(before);
}

static lcdc_status begin(struct lcdc_writer *writer, lcdc_error **err)
{
    struct table *table = lc_calloc(1, sizeof(*table));
    LC_TRY_ALLOC(table);
    writer->state = table;
    LC_TRY(set_up(writer, table, err));
    table->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = enter_locale(table);
    lcdc_status status = add_header(writer, err);
    leave_locale(before);
    return status;
}

static lcdc_status add_batch(struct lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    struct table *table = writer->state;
    size_t most = writer->options.max_rows > 0 ? (size_t)writer->options.max_rows : HOLD_ROWS;
    for (int64_t i = 0; i < batch->length; i++) {
        LC_TRY(add_row(writer, batch, batch->offset + i, err));
        bool is_full = table->n_cells / table->n_columns > most || table->text.n > HOLD_BYTES;
        if (is_full && !table->laid_out)
            lay_out(table);
        if (table->laid_out)
            LC_TRY(print_rows(writer, err));
    }
    return LCDC_OK;
}

static lcdc_status write_batch(struct lcdc_writer *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    locale_t before = enter_locale(writer->state);
    lcdc_status status = add_batch(writer, batch, err);
    leave_locale(before);
    return status;
}

static lcdc_status finish(struct lcdc_writer *writer, lcdc_error **err)
{
    struct table *table = writer->state;
    locale_t before = enter_locale(table);
    if (!table->laid_out)
        lay_out(table);
    lcdc_status status = print_rows(writer, err);
    leave_locale(before);
    return status;
}

static void close(void *state)
{
    struct table *table = state;
    if (!table)
        return;
    if (table->locale)
        freelocale(table->locale);
    lc_buf_done(&table->text);
    lc_buf_done(&table->scratch);
    lc_buf_done(&table->heading);
    lc_free(table->layout);
    lc_free(table->is_right);
    lc_free(table->cells);
    lc_free(table);
}

const struct lc_format lc_format_table = {
    .name = "table", .begin = begin, .batch = write_batch, .flush = finish, .finish = finish, .close = close};
