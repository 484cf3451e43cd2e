/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_parse.c - reads the text of a filter: recursive descent over the grammar of filter.h.
 *
 * Depth and nodes are counted, so that a hostile text ends in a message. Every message says what was expected, where
 * (in characters, from 1) and what was found there.
 */
#include <string.h>

#include "core/filter_parts.h"

enum token_kind { END, WORD, QUOTED, NUMBER, STRING, BYTES, SIGN };

enum { MAX_LISTED = 8 }; /* names in a message */

struct token {
    enum token_kind kind;
    struct lc_str text; /* as it stands in the filter, quotes and all */
};

struct parser {
    size_t at; /* where the next token begins */
    struct token token;
    size_t depth;
    const struct lc_field *schema;
    struct lc_filter_build build;
};

/* ---- messages ---- */

static lcdc_status expected(const struct parser *parser, const char *what, lcdc_error **err)
{
    struct lc_str found = parser->token.text;
    size_t column = lc_filter_column_of(&parser->build, found);
    if (parser->token.kind == END)
        return lc_fail(err, LC_R_FILTER_SYNTAX, "filter: expected %s at column %zu, found the end", what, column);
    return lc_fail(err, LC_R_FILTER_SYNTAX, "filter: expected %s at column %zu, found '%.*s'", what, column,
                   LC_STR_ARG(found));
}

/* ---- tokens ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) || (unsigned char)c >= 0x80;
}

static char peek(const struct parser *parser, size_t i)
{
    return i < parser->build.text.n ? parser->build.text.p[i] : 0;
}

/* The end of a quoted text that begins at i; 0 when it is never closed. A doubled quote stands for one. */
static size_t quoted_end(const struct parser *parser, size_t i)
{
    char quote = parser->build.text.p[i];
    for (i++; i < parser->build.text.n; i++) {
        if (parser->build.text.p[i] != quote)
            continue;
        if (peek(parser, i + 1) != quote)
            return i + 1;
        i++;
    }
    return 0;
}

static size_t digits_end(const struct parser *parser, size_t i)
{
    while (is_digit(peek(parser, i)))
        i++;
    return i;
}

static size_t number_end(const struct parser *parser, size_t i)
{
    i = digits_end(parser, i);
    if (peek(parser, i) == '.')
        i = digits_end(parser, i + 1);
    if (peek(parser, i) == 'e' || peek(parser, i) == 'E') {
        size_t power = i + 1;
        power += peek(parser, power) == '+' || peek(parser, power) == '-';
        if (is_digit(peek(parser, power)))
            i = digits_end(parser, power);
    }
    return i;
}

static size_t sign_end(const struct parser *parser, size_t i)
{
    static const char *const two[] = {"<>", "<=", ">=", "!="};
    struct lc_str rest = {parser->build.text.p + i, parser->build.text.n - i};
    for (size_t k = 0; k < sizeof(two) / sizeof(two[0]); k++)
        if (lc_str_starts(rest, two[k]))
            return i + 2;
    for (i++; i < parser->build.text.n && ((unsigned char)parser->build.text.p[i] & 0xC0) == 0x80;)
        i++;
    return i;
}

static lcdc_status next_token(struct parser *parser, lcdc_error **err)
{
    size_t i = parser->at, end;
    while (i < parser->build.text.n && memchr(" \t\r\n", parser->build.text.p[i], 4))
        i++;
    char c = peek(parser, i);
    enum token_kind kind = SIGN;
    if (i == parser->build.text.n) {
        kind = END;
        end = i;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(parser, i + 1)))) {
        kind = NUMBER;
        end = number_end(parser, i);
    } else if (c == '\'' || c == '`' || c == '"') {
        kind = c == '\'' ? STRING : QUOTED;
        end = quoted_end(parser, i);
    } else if ((c == 'x' || c == 'X') && peek(parser, i + 1) == '\'') {
        kind = BYTES;
        end = quoted_end(parser, i + 1);
    } else if (is_word_char(c)) {
        kind = WORD;
        for (end = i; is_word_char(peek(parser, end));)
            end++;
    } else {
        end = sign_end(parser, i);
    }
    parser->token = (struct token){kind, {parser->build.text.p + i, end > i ? end - i : parser->build.text.n - i}};
    if (end == 0 && kind != END)
        return lc_fail(err, LC_R_FILTER_SYNTAX, "filter: the quote at column %zu is never closed",
                       lc_filter_column_of(&parser->build, parser->token.text));
    if (kind == NUMBER && is_word_char(peek(parser, end))) {
        parser->token.text.n++;
        return expected(parser, "a number", err);
    }
    parser->at = end;
    return LCDC_OK;
}

static bool is_word(const struct parser *parser, const char *word)
{
    return parser->token.kind == WORD && lc_str_is_nocase(parser->token.text, word);
}

static bool is_sign(const struct parser *parser, const char *sign)
{
    return parser->token.kind == SIGN && lc_str_is(parser->token.text, sign);
}

/* Goes past a word or sign if it stands here; *took says whether. */
static lcdc_status take_word(struct parser *parser, const char *word, bool *took, lcdc_error **err)
{
    *took = is_word(parser, word);
    return *took ? next_token(parser, err) : LCDC_OK;
}

static lcdc_status take_sign(struct parser *parser, const char *sign, bool *took, lcdc_error **err)
{
    *took = is_sign(parser, sign);
    return *took ? next_token(parser, err) : LCDC_OK;
}

static lcdc_status need_sign(struct parser *parser, const char *sign, const char *what, lcdc_error **err)
{
    return is_sign(parser, sign) ? next_token(parser, err) : expected(parser, what, err);
}

/* The text between the quotes, each doubled quote once. */
static lcdc_status unquote(struct parser *parser, struct lc_str quoted, struct lc_str *out, lcdc_error **err)
{
    char quote = quoted.p[0];
    char *text = lc_arena_alloc(parser->build.arena, quoted.n);
    size_t n = 0;
    LC_TRY_ALLOC(text);
    for (size_t i = 1; i + 1 < quoted.n; i++) {
        text[n++] = quoted.p[i];
        i += quoted.p[i] == quote;
    }
    *out = (struct lc_str){text, n};
    return LCDC_OK;
}

/* ---- literals ---- */

static bool can_begin_literal(const struct parser *parser)
{
    size_t i = parser->at;
    while (i < parser->build.text.n && memchr(" \t\r\n", parser->build.text.p[i], 4))
        i++;
    switch (parser->token.kind) {
    case NUMBER:
    case STRING:
    case BYTES:
        return true;
    case SIGN:
        return is_sign(parser, "-") || is_sign(parser, "+");
    case WORD:
        if (is_word(parser, "true") || is_word(parser, "false") || is_word(parser, "null"))
            return true;
        if (is_word(parser, "cast"))
            return peek(parser, i) == '(';
        return peek(parser, i) == '\'' && (is_word(parser, "date") || is_word(parser, "time") ||
                                           is_word(parser, "timestamp") || is_word(parser, "timestamp_ntz"));
    case END:
    case QUOTED:
        return false;
    }
    return false;
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static lcdc_status read_bytes(struct parser *parser, struct lc_str *out, lcdc_error **err)
{
    struct lc_str hex = {parser->token.text.p + 2, parser->token.text.n - 3};
    char *bytes = lc_arena_alloc(parser->build.arena, hex.n / 2 + 1);
    LC_TRY_ALLOC(bytes);
    for (size_t i = 0; i < hex.n; i++) {
        int digit = hex_digit(hex.p[i]);
        if (digit < 0 || hex.n % 2)
            return expected(parser, "X'...' with two hex digits a byte", err);
        bytes[i / 2] = (char)((unsigned char)bytes[i / 2] << 4 | digit);
    }
    *out = (struct lc_str){bytes, hex.n / 2};
    return LCDC_OK;
}

static lcdc_status read_number(struct parser *parser, struct lc_literal *out, lcdc_error **err)
{
    bool negative = is_sign(parser, "-");
    if (parser->token.kind == SIGN)
        LC_TRY(next_token(parser, err));
    if (parser->token.kind != NUMBER)
        return expected(parser, "a number after the sign", err);
    struct lc_str digits = parser->token.text;
    out->kind = LC_LITERAL_NUMBER;
    out->text = digits;
    if (negative) {
        char *text = lc_arena_alloc(parser->build.arena, digits.n + 1);
        LC_TRY_ALLOC(text);
        text[0] = '-';
        memcpy(text + 1, digits.p, digits.n);
        out->text = (struct lc_str){text, digits.n + 1};
    }
    return next_token(parser, err);
}

static bool type_of_word(struct lc_str word, enum lc_type_kind *out)
{
    for (int kind = LC_TYPE_BOOL; kind < LC_TYPE_COUNT; kind++)
        if (lc_str_is_nocase(word, lc_type_word((enum lc_type_kind)kind))) {
            *out = (enum lc_type_kind)kind;
            return !lc_type_is_nested(*out);
        }
    return false;
}

/* CAST('...' AS DOUBLE): a literal of any type, for the values that have no other spelling. */
static lcdc_status read_cast(struct parser *parser, struct lc_literal *out, lcdc_error **err)
{
    bool took;
    LC_TRY(next_token(parser, err));
    LC_TRY(need_sign(parser, "(", "'('", err));
    struct lc_str text = {0};
    bool is_null = is_word(parser, "null"), is_bytes = parser->token.kind == BYTES;
    if (is_bytes)
        LC_TRY(read_bytes(parser, &text, err));
    else if (parser->token.kind == STRING)
        LC_TRY(unquote(parser, parser->token.text, &text, err));
    else if (!is_null)
        return expected(parser, "a quoted text in CAST", err);
    LC_TRY(next_token(parser, err));
    LC_TRY(take_word(parser, "as", &took, err));
    if (!took)
        return expected(parser, "AS", err);
    enum lc_type_kind type;
    if (parser->token.kind != WORD || !type_of_word(parser->token.text, &type) || type == LC_TYPE_BINARY ||
        type == LC_TYPE_FIXED || type == LC_TYPE_DECIMAL)
        return expected(parser, "a type such as DOUBLE, STRING or TIMESTAMP", err);
    if (is_bytes && (type != LC_TYPE_STRING || !lc_utf8_valid(text)))
        return expected(parser, "UTF-8 bytes cast to STRING", err);
    LC_TRY(next_token(parser, err));
    *out = (struct lc_literal){.kind = is_null                  ? LC_LITERAL_NULL
                                       : type == LC_TYPE_STRING ? LC_LITERAL_STRING
                                                                : LC_LITERAL_TYPED,
                               .type = type,
                               .text = text};
    return need_sign(parser, ")", "')'", err);
}

static lcdc_status read_typed(struct parser *parser, struct lc_literal *out, lcdc_error **err)
{
    enum lc_type_kind type;
    bool known = type_of_word(parser->token.text, &type);
    LC_TRY(next_token(parser, err));
    if (!known || parser->token.kind != STRING)
        return expected(parser, "a quoted text", err);
    *out = (struct lc_literal){.kind = LC_LITERAL_TYPED, .type = type};
    LC_TRY(unquote(parser, parser->token.text, &out->text, err));
    return next_token(parser, err);
}

static lcdc_status read_literal_here(struct parser *parser, struct lc_literal *out, lcdc_error **err)
{
    switch (parser->token.kind) {
    case NUMBER:
    case SIGN:
        return read_number(parser, out, err);
    case STRING:
        out->kind = LC_LITERAL_STRING;
        LC_TRY(unquote(parser, parser->token.text, &out->text, err));
        return next_token(parser, err);
    case BYTES:
        out->kind = LC_LITERAL_BYTES;
        LC_TRY(read_bytes(parser, &out->text, err));
        return next_token(parser, err);
    case WORD:
        if (is_word(parser, "cast"))
            return read_cast(parser, out, err);
        if (!is_word(parser, "true") && !is_word(parser, "false") && !is_word(parser, "null"))
            return read_typed(parser, out, err);
        out->kind = is_word(parser, "null") ? LC_LITERAL_NULL : LC_LITERAL_BOOL;
        out->b = is_word(parser, "true");
        return next_token(parser, err);
    case END:
    case QUOTED:
        break;
    }
    return expected(parser, "a literal", err);
}

static lcdc_status read_literal(struct parser *parser, struct lc_literal *out, lcdc_error **err)
{
    struct lc_literal literal = {0};
    const char *begin = parser->token.text.p;
    if (!can_begin_literal(parser))
        return expected(parser, "a literal", err);
    LC_TRY(read_literal_here(parser, &literal, err));
    const char *end = parser->token.text.p;
    while (end > begin && memchr(" \t\r\n", end[-1], 4))
        end--;
    literal.spelling = (struct lc_str){begin, (size_t)(end - begin)};
    *out = literal;
    return LCDC_OK;
}

/* ---- columns ---- */

static bool is_keyword(struct lc_str word)
{
    static const char *const words[] = {"and",    "or", "not",  "in",   "between", "like",
                                        "escape", "is", "null", "true", "false"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (lc_str_is_nocase(word, words[i]))
            return true;
    return false;
}

static bool is_name(const struct lc_field *field, struct lc_str name, bool any_case)
{
    return any_case ? lc_str_is_nocase(name, field->name) : lc_str_is(name, field->name);
}

/* How many fields the names reach (counting stops at 2); the indexes of the last one in `path`. */
static int find_path(const struct lc_field *parent, size_t n, const struct lc_str *names, bool any_case, size_t *path,
                     const struct lc_field **out)
{
    int found = 0;
    if (parent->type.kind != LC_TYPE_STRUCT || parent->is_variant)
        return 0;
    for (size_t i = 0; i < parent->n_children && found < 2; i++) {
        const struct lc_field *child = &parent->children[i];
        if (!is_name(child, names[0], any_case))
            continue;
        int below = 1;
        if (n > 1)
            below = find_path(child, n - 1, names + 1, any_case, path + 1, out);
        else
            *out = child;
        if (below)
            path[0] = i;
        found += below;
    }
    return found;
}

/* Edit distance without regard to ASCII case, of names up to 63 bytes; more otherwise. */
static size_t distance(struct lc_str a, struct lc_str b)
{
    size_t row[64];
    if (a.n > 63 || b.n > 63)
        return 64;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            struct lc_str x = {a.p + i - 1, 1};
            char y[2] = {b.p[j - 1], 0};
            size_t swap = diagonal + !(y[0] ? lc_str_is_nocase(x, y) : x.p[0] == 0);
            size_t drop = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = swap < drop ? swap : drop;
        }
    }
    return row[b.n];
}

static void list_close_names(const struct lc_field *parent, struct lc_str name, struct lc_buf *out)
{
    size_t most = name.n < 6 ? 2 : name.n / 3, listed = 0, n = parent->n_children;
    for (size_t i = 0; i < n && listed < MAX_LISTED; i++)
        if (distance(name, lc_str_of(parent->children[i].name)) <= most)
            lc_buf_printf(out, "%s%.100s", listed++ ? ", " : "; did you mean ", parent->children[i].name);
    if (listed)
        return;
    for (size_t i = 0; i < n && i < MAX_LISTED; i++)
        lc_buf_printf(out, "%s%.100s", i ? ", " : "; its columns are ", parent->children[i].name);
    if (n > MAX_LISTED)
        lc_buf_printf(out, " and %zu more", n - MAX_LISTED);
}

/* Says at which name the path ends. */
static lcdc_status unknown_column(struct parser *parser, size_t n, const struct lc_str *names, struct lc_str spelling,
                                  lcdc_error **err)
{
    const struct lc_field *parent = parser->schema;
    struct lc_buf hint LC_BUF;
    lc_buf_init(&hint, 4000);
    size_t column = lc_filter_column_of(&parser->build, spelling), i = 0, path[1];
    for (const struct lc_field *next; i < n; i++, parent = next) {
        int found = find_path(parent, 1, &names[i], false, path, &next);
        if (found == 0)
            found = find_path(parent, 1, &names[i], true, path, &next);
        if (found > 1)
            return lc_fail(err, LC_R_COLUMN_UNKNOWN, "filter: the column %.*s at column %zu fits more than one column",
                           LC_STR_ARG(spelling), column);
        if (found == 0)
            break;
    }
    if (i && (parent->type.kind != LC_TYPE_STRUCT || parent->is_variant))
        return lc_fail(
            err, LC_R_COLUMN_UNKNOWN,
            "filter: unknown column %.*s at column %zu: %.*s has no fields of its own that a filter can name",
            LC_STR_ARG(spelling), column, LC_STR_ARG(names[i - 1]));
    if (i < n)
        list_close_names(parent, names[i], &hint);
    return lc_fail(err, LC_R_COLUMN_UNKNOWN, "filter: unknown column %.*s at column %zu%s", LC_STR_ARG(spelling),
                   column, hint.failed || !hint.p ? "" : hint.p);
}

static lcdc_status read_name(struct parser *parser, struct lc_str *out, lcdc_error **err)
{
    if (parser->token.kind == QUOTED)
        LC_TRY(unquote(parser, parser->token.text, out, err));
    else if (parser->token.kind == WORD && !is_keyword(parser->token.text))
        *out = parser->token.text;
    else
        return expected(parser, "a column", err);
    return next_token(parser, err);
}

static lcdc_status read_column(struct parser *parser, struct lc_column *out, lcdc_error **err)
{
    struct lc_str names[LC_MAX_DEPTH];
    struct lc_str spelling = parser->token.text;
    size_t n = 0;
    for (bool more = true; more;) {
        if (n == LC_MAX_DEPTH)
            return lc_fail(err, LC_R_LIMIT, "filter: the column at column %zu has more than %d names",
                           lc_filter_column_of(&parser->build, spelling), (int)LC_MAX_DEPTH);
        spelling.n = (size_t)(parser->token.text.p + parser->token.text.n - spelling.p);
        LC_TRY(read_name(parser, &names[n++], err));
        LC_TRY(take_sign(parser, ".", &more, err));
    }
    size_t *path = lc_arena_array(parser->build.arena, n, sizeof(*path));
    const struct lc_field *field = NULL;
    LC_TRY_ALLOC(path);
    int found = find_path(parser->schema, n, names, false, path, &field);
    if (found == 0)
        found = find_path(parser->schema, n, names, true, path, &field);
    if (found != 1)
        return unknown_column(parser, n, names, spelling, err);
    *out = (struct lc_column){field, n, path, spelling};
    return LCDC_OK;
}

/* ---- predicates ---- */

static bool compare_op(const struct parser *parser, enum lc_compare_op *out)
{
    static const struct {
        const char *sign;
        enum lc_compare_op op;
    } signs[] = {{"=", LC_EQ}, {"<>", LC_NE}, {"!=", LC_NE}, {"<", LC_LT}, {"<=", LC_LE}, {">", LC_GT}, {">=", LC_GE}};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (is_sign(parser, signs[i].sign)) {
            *out = signs[i].op;
            return true;
        }
    return false;
}

static enum lc_compare_op mirrored(enum lc_compare_op op)
{
    switch (op) {
    case LC_LT:
        return LC_GT;
    case LC_LE:
        return LC_GE;
    case LC_GT:
        return LC_LT;
    case LC_GE:
        return LC_LE;
    case LC_EQ:
    case LC_NE:
        break;
    }
    return op;
}

static lcdc_status parse_literal_first(struct parser *parser, const struct lc_expr **out, lcdc_error **err)
{
    struct lc_literal literal;
    enum lc_compare_op op;
    struct lc_column column;
    LC_TRY(read_literal(parser, &literal, err));
    if (!compare_op(parser, &op)) {
        if (literal.kind == LC_LITERAL_BOOL || literal.kind == LC_LITERAL_NULL)
            return lc_filter_const(&parser->build, literal.kind == LC_LITERAL_NULL, literal.b, out, err);
        return expected(parser, "a comparison with a column", err);
    }
    LC_TRY(next_token(parser, err));
    if (can_begin_literal(parser))
        return expected(parser, "a column on one side of the comparison", err);
    LC_TRY(read_column(parser, &column, err));
    return lc_filter_bind_compare(&parser->build, &column, mirrored(op), &literal, out, err);
}

static lcdc_status parse_in(struct parser *parser, const struct lc_column *column, const struct lc_expr **out,
                            lcdc_error **err)
{
    struct lc_literal *literals LC_FREE = NULL;
    size_t n = 0, room = 0;
    LC_TRY(need_sign(parser, "(", "'(' after IN", err));
    for (bool more = true; more; n++) {
        if (n == room) {
            room = room ? room * 2 : 16;
            struct lc_literal *grown = lc_realloc(literals, room, sizeof(*literals));
            LC_TRY_ALLOC(grown);
            literals = grown;
        }
        if (++parser->build.nodes > LC_FILTER_MAX_NODES)
            return lc_fail(err, LC_R_LIMIT, "filter: more than %d conditions and literals", (int)LC_FILTER_MAX_NODES);
        LC_TRY(read_literal(parser, &literals[n], err));
        LC_TRY(take_sign(parser, ",", &more, err));
    }
    LC_TRY(need_sign(parser, ")", "',' or ')'", err));
    return lc_filter_bind_in(&parser->build, column, n, literals, out, err);
}

static lcdc_status parse_between(struct parser *parser, const struct lc_column *column, const struct lc_expr **out,
                                 lcdc_error **err)
{
    struct lc_literal low, high;
    bool took;
    const struct lc_expr **args = lc_arena_array(parser->build.arena, 2, sizeof(*args));
    LC_TRY_ALLOC(args);
    LC_TRY(read_literal(parser, &low, err));
    LC_TRY(take_word(parser, "and", &took, err));
    if (!took)
        return expected(parser, "AND", err);
    LC_TRY(read_literal(parser, &high, err));
    LC_TRY(lc_filter_bind_compare(&parser->build, column, LC_GE, &low, &args[0], err));
    LC_TRY(lc_filter_bind_compare(&parser->build, column, LC_LE, &high, &args[1], err));
    return lc_filter_join(&parser->build, LC_EXPR_AND, 2, args, out, err);
}

static lcdc_status parse_like(struct parser *parser, const struct lc_column *column, const struct lc_expr **out,
                              lcdc_error **err)
{
    struct lc_literal pattern, escape;
    bool has_escape;
    LC_TRY(read_literal(parser, &pattern, err));
    LC_TRY(take_word(parser, "escape", &has_escape, err));
    if (has_escape)
        LC_TRY(read_literal(parser, &escape, err));
    return lc_filter_bind_like(&parser->build, column, &pattern, has_escape ? &escape : NULL, out, err);
}

static lcdc_status parse_is(struct parser *parser, const struct lc_column *column, const struct lc_expr **out,
                            lcdc_error **err)
{
    bool negated, took;
    LC_TRY(take_word(parser, "not", &negated, err));
    LC_TRY(take_word(parser, "null", &took, err));
    if (!took)
        return expected(parser, negated ? "NULL" : "NULL or NOT NULL", err);
    LC_TRY(lc_filter_is_null(&parser->build, column, out, err));
    return negated ? lc_filter_not(&parser->build, *out, out, err) : LCDC_OK;
}

static lcdc_status parse_compare(struct parser *parser, const struct lc_column *column, const struct lc_expr **out,
                                 lcdc_error **err)
{
    enum lc_compare_op op;
    struct lc_literal literal;
    if (!compare_op(parser, &op)) {
        if (column->field->type.kind != LC_TYPE_BOOL)
            return expected(parser, "a comparison after the column", err);
        literal = (struct lc_literal){.kind = LC_LITERAL_BOOL, .b = true};
        return lc_filter_bind_compare(&parser->build, column, LC_EQ, &literal, out, err);
    }
    LC_TRY(next_token(parser, err));
    LC_TRY(read_literal(parser, &literal, err));
    return lc_filter_bind_compare(&parser->build, column, op, &literal, out, err);
}

static lcdc_status parse_column_first(struct parser *parser, const struct lc_expr **out, lcdc_error **err)
{
    static const struct {
        const char *word;
        lcdc_status (*parse)(struct parser *, const struct lc_column *, const struct lc_expr **, lcdc_error **);
    } tests[] = {{"in", parse_in}, {"between", parse_between}, {"like", parse_like}};
    struct lc_column column;
    bool is, negated;
    LC_TRY(read_column(parser, &column, err));
    LC_TRY(take_word(parser, "is", &is, err));
    if (is)
        return parse_is(parser, &column, out, err);
    LC_TRY(take_word(parser, "not", &negated, err));
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        bool took;
        LC_TRY(take_word(parser, tests[i].word, &took, err));
        if (!took)
            continue;
        LC_TRY(tests[i].parse(parser, &column, out, err));
        return negated ? lc_filter_not(&parser->build, *out, out, err) : LCDC_OK;
    }
    if (negated)
        return expected(parser, "IN, BETWEEN or LIKE after NOT", err);
    return parse_compare(parser, &column, out, err);
}

/* ---- AND, OR, NOT, parentheses ---- */

static lcdc_status parse_or(struct parser *parser, const struct lc_expr **out, lcdc_error **err);

static lcdc_status parse_unary_inside(struct parser *parser, const struct lc_expr **out, lcdc_error **err);

/* Every way to go deeper passes here. */
static lcdc_status parse_unary(struct parser *parser, const struct lc_expr **out, lcdc_error **err)
{
    if (++parser->depth > LC_FILTER_MAX_DEPTH)
        return lc_fail(err, LC_R_LIMIT, "filter: nested deeper than %d at column %zu", (int)LC_FILTER_MAX_DEPTH,
                       lc_filter_column_of(&parser->build, parser->token.text));
    LC_TRY(parse_unary_inside(parser, out, err));
    parser->depth--;
    return LCDC_OK;
}

static lcdc_status parse_unary_inside(struct parser *parser, const struct lc_expr **out, lcdc_error **err)
{
    bool took;
    LC_TRY(take_word(parser, "not", &took, err));
    if (took) {
        LC_TRY(parse_unary(parser, out, err));
        return lc_filter_not(&parser->build, *out, out, err);
    }
    LC_TRY(take_sign(parser, "(", &took, err));
    if (took) {
        LC_TRY(parse_or(parser, out, err));
        return need_sign(parser, ")", "AND, OR or ')'", err);
    }
    if (can_begin_literal(parser))
        return parse_literal_first(parser, out, err);
    if (parser->token.kind == QUOTED || (parser->token.kind == WORD && !is_keyword(parser->token.text)))
        return parse_column_first(parser, out, err);
    return expected(parser, "a condition", err);
}

/* A chain of one word, AND or OR: one flat node, however long. */
static lcdc_status parse_chain(struct parser *parser, const char *word, enum lc_expr_kind kind,
                               lcdc_status (*parse)(struct parser *, const struct lc_expr **, lcdc_error **),
                               const struct lc_expr **out, lcdc_error **err)
{
    const struct lc_expr **args = NULL;
    size_t n = 0, room = 0;
    for (bool more = true; more; n++) {
        if (n == room) {
            room = room ? room * 2 : 2;
            const struct lc_expr **grown = lc_arena_array(parser->build.arena, room, sizeof(*grown));
            LC_TRY_ALLOC(grown);
            if (n)
                memcpy(grown, args, n * sizeof(*grown));
            args = grown;
        }
        LC_TRY(parse(parser, &args[n], err));
        LC_TRY(take_word(parser, word, &more, err));
    }
    return lc_filter_join(&parser->build, kind, n, args, out, err);
}

static lcdc_status parse_and(struct parser *parser, const struct lc_expr **out, lcdc_error **err)
{
    return parse_chain(parser, "and", LC_EXPR_AND, parse_unary, out, err);
}

static lcdc_status parse_or(struct parser *parser, const struct lc_expr **out, lcdc_error **err)
{
    return parse_chain(parser, "or", LC_EXPR_OR, parse_and, out, err);
}

lcdc_status lc_filter_parse(struct lc_str text, const struct lc_field *schema, struct lc_arena *arena,
                            const struct lc_expr **out, lcdc_error **err)
{
    struct lc_str copy;
    const struct lc_expr *expr;
    if (text.n > LC_FILTER_MAX_BYTES)
        return lc_fail(err, LC_R_LIMIT, "filter: %zu bytes, at most %d", text.n, (int)LC_FILTER_MAX_BYTES);
    if (!lc_utf8_valid(text))
        return lc_fail(err, LC_R_FILTER_SYNTAX, "filter: the text is not UTF-8");
    if (!lc_arena_str(arena, text, &copy))
        return lc_fail_oom(err);
    struct parser parser = {.schema = schema, .build = {.text = copy, .arena = arena}};
    LC_TRY(next_token(&parser, err));
    LC_TRY(parse_or(&parser, &expr, err));
    if (parser.token.kind != END)
        return expected(&parser, "AND, OR or the end", err);
    *out = expr;
    return LCDC_OK;
}
