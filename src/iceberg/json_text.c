/* SPDX-License-Identifier: Apache-2.0 */
#include "iceberg/json_text.h"

#include <string.h>

static struct lc_str from(struct lc_str text, size_t at)
{
    return (struct lc_str){text.p + at, text.n - at};
}

static struct lc_str skip_blanks(struct lc_str text)
{
    size_t n = 0;
    while (n < text.n && (text.p[n] == ' ' || text.p[n] == '\n' || text.p[n] == '\r' || text.p[n] == '\t'))
        n++;
    return from(text, n);
}

/* How long the string is that the text begins with; 0: it has no end. */
static size_t string_length(struct lc_str text)
{
    for (size_t i = 1; i < text.n; i++) {
        if (text.p[i] == '"')
            return i + 1;
        i += text.p[i] == '\\';
    }
    return 0;
}

static size_t nested_length(struct lc_str text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"') {
            size_t n = string_length(from(text, i));
            if (n == 0)
                return 0;
            i += n - 1;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* How long the value is that the text begins with; 0: there is none, or it has no end. */
static size_t value_length(struct lc_str text)
{
    size_t n = 0;
    if (text.n && text.p[0] == '"')
        return string_length(text);
    if (text.n && (text.p[0] == '{' || text.p[0] == '['))
        return nested_length(text);
    while (n < text.n && !memchr(",:]}[{\" \n\r\t", text.p[n], 11))
        n++;
    return n;
}

/* Takes one character that must come next. */
static bool take(struct lc_str *text, char c)
{
    *text = skip_blanks(*text);
    if (text->n == 0 || text->p[0] != c)
        return false;
    *text = from(*text, 1);
    return true;
}

static bool take_value(struct lc_str *text, struct lc_str *value)
{
    *text = skip_blanks(*text);
    *value = (struct lc_str){text->p, value_length(*text)};
    *text = from(*text, value->n);
    return value->n > 0;
}

static bool take_member(struct lc_str *text, struct lc_str *key, struct lc_str *value)
{
    if (!take_value(text, key) || key->p[0] != '"')
        return false;
    *key = (struct lc_str){key->p + 1, key->n - 2};
    return take(text, ':') && take_value(text, value);
}

bool lc_json_text_cut(struct lc_str text, size_t n, const char *const *names, struct lc_str *values, struct lc_buf *out)
{
    struct lc_str rest = text, key, value;
    const char *copied = text.p; /* what comes before it is in `out` */
    for (size_t i = 0; i < n; i++)
        values[i] = (struct lc_str){NULL, 0};
    if (!take(&rest, '{'))
        return false;
    bool is_empty = take(&rest, '}');
    while (!is_empty) {
        if (!take_member(&rest, &key, &value))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (!lc_str_is(key, names[i]))
                continue;
            if (values[i].n)
                return false;
            values[i] = value;
            if (out) {
                lc_buf_append(out, copied, (size_t)(value.p - copied));
                lc_buf_text(out, "null");
            }
            copied = value.p + value.n;
        }
        if (!take(&rest, ','))
            break;
    }
    if (out)
        lc_buf_append(out, copied, (size_t)(text.p + text.n - copied));
    return is_empty || take(&rest, '}');
}

bool lc_json_text_next(struct lc_str *rest, struct lc_str *element)
{
    bool is_first = take(rest, '[');
    if (take(rest, ']')) {
        *rest = skip_blanks(*rest);
        return false;
    }
    if ((!is_first && !take(rest, ',')) || !take_value(rest, element))
        return false;
    *rest = skip_blanks(*rest);
    return rest->n && (rest->p[0] == ',' || rest->p[0] == ']');
}
