#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/options.md and the OPTIONS of the manual pages from src/core/options.def and src/cli/flags.def, and
docs/sync-config.md from src/sync/config.def.

With --check nothing is written and the exit status says whether they are up to date.
"""

import re
import sys

from def_tables import ROOT, between, keep, rows

GROUPS = ["Table", "Range", "Shape", "Limits", "Output"]
KINDS = {"TEXT": "text", "LIST": "names with commas; adds up", "RULES": "one FROM=TO a time; adds up", "BOUND": "id, time, tag, `start` or `latest`",
         "BOOL": "`true` or `false`", "COUNT": "0 or more", "BYTES": "bytes, or with KiB, MiB, GiB"}


def library_options():
    names = ["key", "flag", "operand", "kind", "initial", "group", "help"]
    return [dict(zip(names, row), letter=None) for row in rows("src/core/options.def", "LC_OPTION")]


def command_flags():
    names = ["id", "flag", "letter", "operand", "words", "initial", "takes", "help"]
    return [dict(zip(names, row), group="Output") for row in rows("src/cli/flags.def", "LC_FLAG")]


def commands():
    """{name: set of what it takes}, as main.c says."""
    text = (ROOT / "src/cli/main.c").read_text(encoding="utf-8")
    found = {}
    for entry in re.findall(r'\.name = "(\w+)",(.*?)\.run =', text, re.S):
        takes = re.search(r"\.takes = (.*?),\n", entry[1], re.S)
        found[entry[0]] = set(re.findall(r"LC_TAKES_\w+", takes.group(1))) if takes else set()
    return found


def flags_of(takes):
    """The flags of a command in the order of its help."""
    options = [o for o in library_options() if o["flag"] and f"LC_TAKES_{o['group'].upper()}" in takes]
    return options + [f for f in command_flags() if f["takes"] == "0" or set(f["takes"].split(" | ")) & takes]


def manual(takes):
    out = []
    for group in GROUPS:
        some = [f for f in flags_of(takes) if f["group"] == group]
        if some:
            out.append(f"### {group}\n")
        for f in some:
            names = ", ".join(f"**{n}**" for n in (f["letter"], f["flag"]) if n)
            operand = f" *{f['operand']}*" if f["operand"] else ""
            default = f" (default: `{f['initial']}`)" if f["initial"] and f["operand"] else ""
            out.append(f"{names}{operand}\n: {f['help']}{default}\n")
    return "\n".join(out) + "\n"


def reference():
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "<!-- Made by scripts/gen_options.py from src/core/options.def; change that. -->",
           "# Options of a request", "",
           "Every option exists once, in `src/core/options.def`: `lcdc_request_set(request, KEY, VALUE)` and the command's flag do the same.", ""]
    for group in GROUPS[:-1]:
        out += [f"## {group}", "", "| key | flag | value | default | meaning |", "|---|---|---|---|---|"]
        for o in library_options():
            if o["group"] == group:
                flag = "operand" if not o["flag"] else f"`{o['flag']}" + (f" {o['operand']}`" if o["operand"] else "`")
                default = f"`{o['initial']}`" if o["initial"] else ""
                out.append(f"| `{o['key']}` | {flag} | {KINDS[o['kind']]} | {default} | {o['help']} |")
        out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


SECTIONS = {"TOP": ("The file", ""), "RETRY": ("retry", ""), "LOG": ("log", ""), "METRICS": ("metrics", ""),
            "SOURCE": ("An entry of sources", "One of `path`, `catalog` and `spark`."), "SINK": ("An entry of sinks", ""), "TABLE": ("An entry of tables", ""),
            "TRANSFORM": ("An entry of transforms", "Steps are taken in their order; each sees the columns as the steps before it left them.")}
CONFIG_KINDS = {"TEXT": "text", "PATH": "path, relative to the config's folder", "COUNT": "a whole number, 1 or more", "DURATION": "a duration: `500ms`, `30s`, `5m`, `2h`, `1d`",
                "MAP": "keys", "LIST": "a list", "READER": "as the command's option of that name takes it", "READER_LIST": "a list, or a text with commas"}


def config_reference():
    names = ["section", "key", "kind", "words", "initial", "required", "help"]
    keys = [dict(zip(names, row)) for row in rows("src/sync/config.def", "LC_KEY")]
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "<!-- Made by scripts/gen_options.py from src/sync/config.def; change that. -->",
           "# Keys of a sync config", "",
           "`lakecdc sync` takes these keys and no others; [sync.md](sync.md) has a config by example, [sinks.md](sinks.md) the options of each sink.",
           "A value may hold `${NAME}`, an environment variable; such a value is never shown.", ""]
    for section, (title, about) in SECTIONS.items():
        out += [f"## {title}", ""] + ([about, ""] if about else []) + ["| key | value | default | meaning |", "|---|---|---|---|"]
        for k in keys:
            if k["section"] == section:
                value = ", ".join(f"`{w}`" for w in k["words"].split()) if k["words"] else CONFIG_KINDS[k["kind"]]
                default = f"`{k['initial']}`" if k["initial"] else "required" if k["required"] == "true" else ""
                out.append(f"| `{k['key']}` | {value} | {default} | {k['help']} |")
        out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    documents = {"docs/options.md": reference(), "docs/sync-config.md": config_reference()}
    for name, takes in commands().items():
        page = f"docs/man/lakecdc-{name}.md"
        if (ROOT / page).exists():
            documents[page] = between((ROOT / page).read_text(encoding="utf-8"), "options", "\n" + manual(takes))
    return keep(documents)


if __name__ == "__main__":
    sys.exit(main())
