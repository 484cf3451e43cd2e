/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/keys.h"

#include <string.h>

const struct lc_key lc_keys[LC_CONFIG_COUNT] = {
#define LC_KEY(section, key, kind, words, initial, required, help)                                                     \
    [LC_CONFIG_##section##_##key] = {LC_SECTION_##section, #key, LC_KEY_##kind, words, initial, required, help},
#include "sync/config.def"
#undef LC_KEY
};

enum lc_key_id lc_key_find(enum lc_key_section section, const char *key)
{
    for (size_t i = 0; i < LC_CONFIG_COUNT; i++)
        if (lc_keys[i].section == section && strcmp(lc_keys[i].key, key) == 0)
            return (enum lc_key_id)i;
    return LC_CONFIG_COUNT;
}

/* Edit distance of short words; more than any limit for long ones. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t row[LONGEST + 1], n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t swap = diagonal + (a[i - 1] != b[j - 1]);
            size_t skip = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = swap < skip ? swap : skip;
        }
    }
    return row[m];
}

/* A beginning is as near as one letter off. */
void lc_nearest_add(struct lc_nearest *nearest, const char *candidate)
{
    size_t n = strlen(nearest->word);
    bool is_beginning = n > 1 && strncmp(candidate, nearest->word, n) == 0;
    size_t d = is_beginning ? 1 : distance(nearest->word, candidate);
    if (d <= (n < 2 ? 1 : n / 2) && d <= 3 && (!nearest->best || d < nearest->distance)) {
        nearest->best = candidate;
        nearest->distance = d;
    }
}

bool lc_is_word(const char *words, const char *value)
{
    size_t n = strlen(value);
    for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ')
        if (n && strncmp(p, value, n) == 0 && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}

void lc_print_words(const char *words, struct lc_buf *out)
{
    for (const char *p = words; *p; p++) {
        if (*p != ' ')
            lc_buf_char(out, *p);
        else
            lc_buf_text(out, strchr(p + 1, ' ') ? ", " : " or ");
    }
}

bool lc_parse_duration(const char *text, int64_t *out_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    const int64_t most = INT64_C(86400000) * 3653;
    size_t digits = strspn(text, "0123456789");
    int64_t number, ms;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(text + digits, units[i].unit) == 0 && lc_parse_i64((struct lc_str){text, digits}, &number) &&
            !__builtin_mul_overflow(number, units[i].ms, &ms) && ms > 0 && ms <= most) {
            *out_ms = ms;
            return true;
        }
    return false;
}
