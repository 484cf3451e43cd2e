/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt.c - the flags of a command: the library's option table and the few that are the command's own.
 *
 * A flag of the library goes to lcdc_request_set() as it is, so that what a value may be is written down once. A switch
 * that begins with --no- sets its option to false.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

enum own {
#define LC_FLAG(id, flag, letter, operand, words, initial, takes, help) id,
#include "cli/flags.def"
#undef LC_FLAG
    OWN_COUNT
};

static const struct {
    unsigned takes;
    struct lc_cli_flag flag;
} own_flags[OWN_COUNT] = {
#define LC_FLAG(id, flag, letter, operand, words, initial, takes, help)                                                \
    [id] = {takes, {flag, letter, operand, words, initial, "Output", help, NULL}},
#include "cli/flags.def"
#undef LC_FLAG
};

static unsigned group_bit(const char *group)
{
    static const struct {
        const char *group;
        unsigned bit;
    } groups[] = {
        {"Table", LC_TAKES_TABLE}, {"Range", LC_TAKES_RANGE}, {"Shape", LC_TAKES_SHAPE}, {"Limits", LC_TAKES_LIMITS}};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        if (strcmp(group, groups[i].group) == 0)
            return groups[i].bit;
    return 0;
}

static bool takes(const struct lc_cli_command *command, unsigned bits)
{
    return bits == 0 || (command->takes & bits) != 0;
}

bool lc_cli_flag_at(const struct lc_cli_command *command, size_t i, struct lc_cli_flag *out)
{
    const lcdc_option *option;
    for (size_t k = 0; (option = lcdc_option_at(k)) != NULL; k++) {
        if (!option->flag || !(command->takes & group_bit(option->group)) || i-- > 0)
            continue;
        *out = (struct lc_cli_flag){.flag = option->flag,
                                    .operand = option->operand,
                                    .initial = option->operand ? option->initial : NULL,
                                    .group = option->group,
                                    .help = option->help,
                                    .key = option->key};
        return true;
    }
    for (size_t k = 0; k < OWN_COUNT; k++)
        if (takes(command, own_flags[k].takes) && i-- == 0) {
            *out = own_flags[k].flag;
            return true;
        }
    return false;
}

/* ---- parsing ---- */

struct parsing {
    const struct lc_cli_command *command;
    int argc, at;
    char **argv;
    struct lc_cli_options *out;
};

static bool find_flag(const struct parsing *parsing, const char *name, size_t n, struct lc_cli_flag *out)
{
    for (size_t i = 0; lc_cli_flag_at(parsing->command, i, out); i++) {
        bool is_long = strlen(out->flag) == n && strncmp(out->flag, name, n) == 0;
        if (is_long || (out->letter && n == 2 && strncmp(out->letter, name, n) == 0))
            return true;
    }
    return false;
}

static lcdc_status unknown_flag(const struct parsing *parsing, const char *name, size_t n)
{
    char word[64] = "";
    struct lc_cli_nearest nearest = {.word = word};
    struct lc_cli_flag flag;
    memcpy(word, name, n < sizeof(word) ? n : sizeof(word) - 1);
    for (size_t i = 0; lc_cli_flag_at(parsing->command, i, &flag); i++)
        lc_cli_nearest_add(&nearest, flag.flag);
    if (nearest.best)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.unknown_option", "%s has no option %s; did you mean %s",
                           parsing->command->name, word, nearest.best);
    return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.unknown_option", "%s has no option %s; see lakecdc help %s",
                       parsing->command->name, word, parsing->command->name);
}

static bool is_among(const char *words, const char *value)
{
    size_t n = strlen(value);
    for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ')
        if (n && strncmp(p, value, n) == 0 && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}

static lcdc_status bad_value(const char *flag, const char *value, const char *expected)
{
    return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.bad_value", "%s: found '%s', expected %s", flag, value,
                       expected);
}

static lcdc_status bad_word(const struct lc_cli_flag *flag, const char *value)
{
    char list[256] = "";
    size_t n = 0;
    for (const char *p = flag->words; *p && n < sizeof(list) - 8; p++) {
        const char *separator = strchr(p + 1, ' ') ? ", " : " or ";
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s", *p == ' ' ? separator : (const char[]){*p, 0});
    }
    return bad_value(flag->flag, value, list);
}

static lcdc_status parse_count(const char *flag, const char *text, int64_t *out)
{
    int64_t value = 0;
    bool ok = text[0] != 0;
    for (const char *p = text; *p && ok; p++)
        ok = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
             !__builtin_add_overflow(value, *p - '0', &value);
    if (!ok)
        return bad_value(flag, text, "a whole number, 0 or more");
    *out = value;
    return LCDC_OK;
}

static lcdc_status set_own(const struct lc_cli_flag *flag, const char *value, struct lc_cli_options *out)
{
    enum own own = 0;
    while (strcmp(own_flags[own].flag.flag, flag->flag) != 0)
        own++;
    if (flag->words && !is_among(flag->words, value))
        return bad_word(flag, value);
    switch (own) {
    case FORMAT:
        out->format = value;
        return LCDC_OK;
    case OUTPUT:
        out->output = value;
        return value[0] ? LCDC_OK : bad_value(flag->flag, value, "a file name");
    case LIMIT:
        return parse_count(flag->flag, value, &out->limit);
    case COLOR:
        out->color = value;
        return LCDC_OK;
    case QUIET:
        out->quiet = true;
        return LCDC_OK;
    case STATS:
        out->stats = true;
        return LCDC_OK;
    case PRINT_CURSOR:
        out->print_cursor = true;
        return LCDC_OK;
    case JSON:
        out->json = true;
        return LCDC_OK;
    case HELP:
        out->help = true;
        return LCDC_OK;
    case CHECK:
        out->check = true;
        return LCDC_OK;
    case INIT:
        out->init = true;
        return LCDC_OK;
    case ONCE:
        out->once = true;
        return LCDC_OK;
    case DRY_RUN:
        out->dry_run = true;
        return LCDC_OK;
    case CURSOR_FILE:
        out->cursor_file = value;
        return value[0] ? LCDC_OK : bad_value(flag->flag, value, "a file name");
    case INTERVAL:
        out->interval = value;
        return LCDC_OK;
    case LOG_FORMAT:
        out->log_format = value;
        return LCDC_OK;
    case LEDGER:
        out->ledger = value;
        return LCDC_OK;
    case SET_CURSOR:
        out->set_cursor = value;
        return LCDC_OK;
    case RESUME:
        out->resume = true;
        return LCDC_OK;
    case PAUSE:
        out->pause = true;
        return LCDC_OK;
    case OWN_COUNT:
        break;
    }
    return LCDC_OK;
}

static lcdc_status set_request(lcdc_request *request, const char *key, const char *value)
{
    lcdc_error *error = NULL;
    if (lcdc_request_set(request, key, value, &error) == LCDC_OK)
        return LCDC_OK;
    return (lcdc_status)lc_cli_error(error);
}

static lcdc_status set_flag(const struct lc_cli_flag *flag, const char *value, struct lc_cli_options *out)
{
    if (!flag->key)
        return set_own(flag, value, out);
    out->has_from = out->has_from || strcmp(flag->key, "from") == 0;
    bool negated = !flag->operand && strncmp(flag->flag, "--no-", 5) == 0;
    return set_request(out->request, flag->key, negated ? "false" : value);
}

/* The value of a flag: after '=', or the next word. A switch of a request takes one after '=' alone. */
static lcdc_status parse_flag(struct parsing *parsing)
{
    char *word = parsing->argv[parsing->at++];
    size_t n = word[1] == '-' ? strcspn(word, "=") : 2;
    struct lc_cli_flag flag;
    if (word[1] != '-' && word[2])
        n = strlen(word); /* letters stand alone */
    if (!find_flag(parsing, word, n, &flag))
        return unknown_flag(parsing, word, n);
    const char *value = word[n] == '=' ? word + n + 1 : NULL;
    if (!flag.operand) {
        if (value && (!flag.key || strncmp(flag.flag, "--no-", 5) == 0))
            return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.bad_value", "%s takes no value, found '%s'", flag.flag,
                               value);
        return set_flag(&flag, value ? value : "true", parsing->out);
    }
    if (value)
        return set_flag(&flag, value, parsing->out);
    if (parsing->at == parsing->argc)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.bad_value", "%s needs a value: %s", flag.flag, flag.operand);
    value = parsing->argv[parsing->at++];
    if (strncmp(value, "--", 2) == 0)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "request.bad_value", "%s needs a value: %s, found the option %s",
                           flag.flag, flag.operand, value);
    return set_flag(&flag, value, parsing->out);
}

static lcdc_status parse_operand(struct parsing *parsing)
{
    struct lc_cli_options *out = parsing->out;
    const char *word = parsing->argv[parsing->at++];
    bool is_table = (parsing->command->takes & LC_TAKES_TABLE) != 0;
    if (out->word && parsing->command->second && !out->second) {
        out->second = word;
        return LCDC_OK;
    }
    if (!parsing->command->operand || out->word)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage", "unexpected word '%s': usage is lakecdc %s %s%s", word,
                           parsing->command->name, parsing->command->operand ? parsing->command->operand : "",
                           is_table ? " [OPTION ...]" : "");
    out->word = word;
    if (!is_table)
        return LCDC_OK;
    out->has_table = true;
    return set_request(out->request, "table", word);
}

lcdc_status lc_cli_parse(const struct lc_cli_command *command, int argc, char **argv, struct lc_cli_options *out)
{
    struct parsing parsing = {.command = command, .argc = argc, .argv = argv, .out = out};
    bool only_operands = false;
    while (parsing.at < argc) {
        const char *word = argv[parsing.at];
        lcdc_status status;
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            parsing.at++;
            continue;
        }
        if (!only_operands && word[0] == '-' && word[1])
            status = parse_flag(&parsing);
        else
            status = parse_operand(&parsing);
        if (status != LCDC_OK || out->help)
            return status;
    }
    bool has_name = lcdc_request_get(out->request, "name") != NULL;
    if ((command->takes & LC_TAKES_TABLE) && !out->has_table && !has_name)
        return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage", "%s needs a %s; see lakecdc help %s", command->name,
                           command->operand, command->name);
    return LCDC_OK;
}
