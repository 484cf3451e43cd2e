#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/sinks.md (each sink's options) and docs/sink-types.md (types of the SQL sinks) from src/sink.

With --check nothing is written and the exit status says whether they are up to date.
"""

import re
import sys

from def_tables import ROOT, between, keep, rows

TEXT = r'"(?:\\.|[^"\\])*"'


def text_of(row, key):
    """The text of `.key = "..." "..."` in an initializer, or None."""
    found = re.search(rf"\.{key} = ((?:{TEXT}\s*)+)", row)
    return found and "".join(re.sub(r"\\(.)", r"\1", t[1:-1]) for t in re.findall(TEXT, found.group(1)))


def options(source):
    """The rows of a sink's option table."""
    shared = (ROOT / "src/sink/db.h").read_text(encoding="utf-8")
    shared = re.search(r"#define LC_DB_OPTIONS(.*?)\n\n", shared, re.S).group(1)
    text = source.read_text(encoding="utf-8")
    table = re.search(r"lc_sink_option options\[\] = \{(.*?)\n\};", text, re.S)
    if not table:
        return []
    body = table.group(1).replace("LC_DB_OPTIONS", shared).replace("\\\n", "\n")
    return re.findall(rf"\{{((?:{TEXT}|[^{{}}\"])*)\}}", body)


def option_table(source):
    out = ["", "| option | values | default | meaning |", "|---|---|---|---|"]
    for row in options(source):
        words = text_of(row, "words")
        initial = text_of(row, "initial")
        shown = " ".join(f"`{w}`" for w in words.split()) if words else "text"
        default = "required" if ".required = true" in row else f"`{initial}`" if initial else ""
        out.append(f"| `{text_of(row, 'key')}` | {shown} | {default} | {text_of(row, 'help')} |")
    return "\n".join(out) + "\n\n"


def type_table():
    words = {row[0]: row[1] for row in rows("src/base/types.def", "LC_TYPE")}
    out = ["", "| type of the table | SQLite | PostgreSQL | |", "|---|---|---|---|"]
    out += [f"| `{words[kind]}` | `{sqlite}` | `{postgresql}` | {said} |" for kind, sqlite, postgresql, said in rows("src/sink/db_types.def", "LC_DB_TYPE")]
    return "\n".join(out) + "\n\n"


def main():
    page = (ROOT / "docs/sinks.md").read_text(encoding="utf-8")
    for name in re.findall(r"<!-- options of (\w+):begin -->", page):
        page = between(page, f"options of {name}", option_table(ROOT / f"src/sink/{name}.c"))
    types = between((ROOT / "docs/sink-types.md").read_text(encoding="utf-8"), "types of sql", type_table())
    return keep({"docs/sinks.md": page, "docs/sink-types.md": types})


if __name__ == "__main__":
    sys.exit(main())
