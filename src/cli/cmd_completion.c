/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_completion.c - `lakecdc completion`: scripts for three shells, made from the tables of commands and flags.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

static void print_command_names(const char *separator)
{
    const struct lc_cli_command *command;
    for (size_t i = 0; (command = lc_cli_command_at(i)) != NULL; i++)
        fprintf(stdout, "%s%s", i ? separator : "", command->name);
}

static void print_flag_names(const struct lc_cli_command *command)
{
    struct lc_cli_flag flag;
    for (size_t i = 0; lc_cli_flag_at(command, i, &flag); i++)
        fprintf(stdout, "%s%s%s%s", i ? " " : "", flag.flag, flag.letter ? " " : "", flag.letter ? flag.letter : "");
}

/* Calls `print` once for each flag that takes one of a few words. */
static void each_word_flag(void (*print)(const struct lc_cli_flag *flag))
{
    const struct lc_cli_command *changes = lc_cli_command_named("changes");
    struct lc_cli_flag flag;
    for (size_t i = 0; lc_cli_flag_at(changes, i, &flag); i++)
        if (flag.words)
            print(&flag);
}

/* Text that stands inside single quotes of a shell; characters of `avoid` become blanks. */
static void print_inside(const char *text, const char *avoid)
{
    for (const char *p = text; *p; p++)
        fputs(*p == '\'' ? "'\\''" : strchr(avoid, *p) ? " " : (const char[]){*p, 0}, stdout);
}

/* ---- bash ---- */

static void bash_word_flag(const struct lc_cli_flag *flag)
{
    fprintf(stdout, "        %s) COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return ;;\n", flag->flag, flag->words);
}

static void print_bash(void)
{
    const struct lc_cli_command *command;
    fputs("# bash completion of lakecdc\n_lakecdc() {\n"
          "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" flags=\"\"\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
          stdout);
    print_command_names(" ");
    fputs(" --help --version\" -- \"$word\"))\n        return\n    fi\n    case \"$before\" in\n", stdout);
    each_word_flag(bash_word_flag);
    fputs("        completion) COMPREPLY=($(compgen -W \"bash zsh fish\" -- \"$word\")); return ;;\n"
          "        help) COMPREPLY=($(compgen -W \"",
          stdout);
    print_command_names(" ");
    fputs("\" -- \"$word\")); return ;;\n    esac\n    case \"${COMP_WORDS[1]}\" in\n", stdout);
    for (size_t i = 0; (command = lc_cli_command_at(i)) != NULL; i++) {
        fprintf(stdout, "        %s) flags=\"", command->name);
        print_flag_names(command);
        fputs("\" ;;\n", stdout);
    }
    fputs("    esac\n    case \"$word\" in\n"
          "        -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n"
          "        *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
          "complete -o filenames -F _lakecdc lakecdc\n",
          stdout);
}

/* ---- zsh ---- */

static void print_zsh_flag(const struct lc_cli_flag *flag)
{
    fprintf(stdout, "                '%s[", flag->flag);
    print_inside(flag->help, "[]:"); /* they mean something to _arguments */
    fputc(']', stdout);
    if (flag->operand)
        fprintf(stdout, ":%s:", flag->operand);
    if (flag->words)
        fprintf(stdout, "(%s)", flag->words);
    else if (flag->operand && strcmp(flag->operand, "FILE") == 0)
        fputs("_files", stdout);
    fputs("' \\\n", stdout);
}

static const char *zsh_operand(const struct lc_cli_command *command)
{
    if (command->takes & LC_TAKES_TABLE)
        return "1:table:_files";
    return strcmp(command->operand, "SHELL") == 0 ? "1:shell:(bash zsh fish)" : "1:command:($names)";
}

static void print_zsh(void)
{
    const struct lc_cli_command *command;
    struct lc_cli_flag flag;
    fputs("#compdef lakecdc\n_lakecdc() {\n    local names='", stdout);
    print_command_names(" ");
    fputs("'\n    local -a commands=(\n", stdout);
    for (size_t i = 0; (command = lc_cli_command_at(i)) != NULL; i++) {
        fprintf(stdout, "        '%s:", command->name);
        print_inside(command->summary, ":");
        fputs("'\n", stdout);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
          "    local command=$words[2]\n    (( CURRENT-- ))\n    shift words\n    case $command in\n",
          stdout);
    for (size_t i = 0; (command = lc_cli_command_at(i)) != NULL; i++) {
        fprintf(stdout, "        %s)\n            _arguments \\\n", command->name);
        for (size_t k = 0; lc_cli_flag_at(command, k, &flag); k++)
            print_zsh_flag(&flag);
        fprintf(stdout, "                \"%s\" ;;\n", zsh_operand(command));
    }
    fputs("    esac\n}\ncompdef _lakecdc lakecdc\n", stdout);
}

/* ---- fish ---- */

static void print_fish_flag(const struct lc_cli_command *command, const struct lc_cli_flag *flag)
{
    fprintf(stdout, "complete -c lakecdc -n '__fish_seen_subcommand_from %s' -l %s", command->name, flag->flag + 2);
    if (flag->letter)
        fprintf(stdout, " -s %s", flag->letter + 1);
    if (flag->operand)
        fputs(" -r", stdout);
    if (flag->words)
        fprintf(stdout, " -f -a '%s'", flag->words);
    fputs(" -d '", stdout);
    print_inside(flag->help, "");
    fputs("'\n", stdout);
}

static void print_fish(void)
{
    const struct lc_cli_command *command;
    struct lc_cli_flag flag;
    fputs("# fish completion of lakecdc\n", stdout);
    for (size_t i = 0; (command = lc_cli_command_at(i)) != NULL; i++) {
        fprintf(stdout, "complete -c lakecdc -n __fish_use_subcommand -f -a %s -d '", command->name);
        print_inside(command->summary, "");
        fputs("'\n", stdout);
        for (size_t k = 0; lc_cli_flag_at(command, k, &flag); k++)
            print_fish_flag(command, &flag);
    }
    fputs("complete -c lakecdc -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
          "complete -c lakecdc -n '__fish_seen_subcommand_from help' -f -a '",
          stdout);
    print_command_names(" ");
    fputs("'\n", stdout);
}

int lc_cmd_completion(const struct lc_cli_options *options)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (options->word && strcmp(options->word, shells[i].name) == 0) {
            shells[i].print();
            return LCDC_OK;
        }
    return lc_cli_fail(LCDC_INVALID_ARGUMENT, "cli.usage", "completion: found '%s', expected bash, zsh or fish",
                       options->word ? options->word : "");
}
