#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a manual page in plain Markdown into roff.

    make_man.py PAGE.md OUT.1

What it knows: `# name(section) -- summary` first, `##` and `###` headings, paragraphs, `- ` lists, definitions (a term,
then lines that begin with `: `), fenced code, `**bold**`, `*italic*`, `` `code` ``; comments are left out. Anything else
is an error, so that a page cannot look right here and wrong there.
"""

import re
import sys
from pathlib import Path


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\\&" + text if text.startswith(".") else text


def inline(text):
    out = []
    for piece in re.split(r"(\*\*.+?\*\*|\*.+?\*|`.+?`)", text):
        if piece.startswith("**") and len(piece) > 4:
            out.append(f"\\fB{escape(piece[2:-2])}\\fR")
        elif piece.startswith("*") and len(piece) > 2:
            out.append(f"\\fI{escape(piece[1:-1])}\\fR")
        elif piece.startswith("`") and len(piece) > 2:
            out.append(f"\\fB{escape(piece[1:-1])}\\fR")
        else:
            out.append(escape(piece))
    return "".join(out)


def blocks(text):
    """Paragraphs of lines, fenced code as one block."""
    block, fenced = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            if not fenced and block:
                yield block
                block = []
            block.append(line)
            fenced = not fenced
            if not fenced:
                yield block
                block = []
        elif line.strip() or fenced:
            block.append(line)
        elif block:
            yield block
            block = []
    if fenced:
        raise ValueError("a code fence is never closed")
    if block:
        yield block


def roff(block):
    first = block[0]
    if first.startswith("```"):
        return [".PP", ".RS 4", ".nf", *(escape(line) for line in block[1:-1]), ".fi", ".RE"]
    if first.startswith("## "):
        return [f'.SH "{escape(first[3:].upper())}"']
    if first.startswith("### "):
        return [f'.SS "{escape(first[4:])}"']
    if first.startswith("#") or re.match(r"\s|>|\||\d+\. |!\[|<", first) or "](" in " ".join(block):
        raise ValueError(f"not the Markdown of manual pages: {first}")
    if first.startswith("- "):
        items = re.split(r"\n- ", "\n".join(block)[2:])
        return [line for item in items for line in ('.IP "\\(bu" 2', inline(" ".join(item.split())))]
    if len(block) > 1 and block[1].startswith(": "):
        text = " ".join(line.removeprefix(": ").strip() for line in block[1:])
        return [".TP", inline(first), inline(text)]
    return [".PP", inline(" ".join(line.strip() for line in block))]


def page(text, version):
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S).strip("\n")
    title, _, rest = text.partition("\n")
    match = re.fullmatch(r"# ([\w-]+)\((\d)\) -- (.+)", title)
    if not match:
        raise ValueError(f"the first line is not `# name(section) -- summary`: {title}")
    name, section, summary = match.groups()
    out = [f'.TH "{name.upper()}" "{section}" "" "lakecdc {version}" "lakecdc"', ".SH NAME", f"{escape(name)} \\- {inline(summary)}"]
    for block in blocks(rest):
        out += roff(block)
    return "\n".join(out) + "\n"


def main():
    source, target = map(Path, sys.argv[1:])
    header = Path(__file__).resolve().parent.parent / "include/lakecdc/base.h"
    version = re.search(r'#define LCDC_VERSION "(.*)"', header.read_text(encoding="utf-8")).group(1)
    try:
        made = page(source.read_text(encoding="utf-8"), version)
    except ValueError as problem:
        sys.exit(f"{source}: {problem}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
