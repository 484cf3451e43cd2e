# SPDX-License-Identifier: Apache-2.0
"""Reads the tables that C includes (options.def, flags.def, reasons.def) and keeps generated documents up to date."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def rows(path, macro):
    """The arguments of each `macro(...)` of a file: texts as str, NULL as None, other words as they stand."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.S)
    found = []
    for match in re.finditer(macro + r'\(((?:"(?:\\.|[^"\\])*"|[^()"])*)\)', text):
        arguments = []
        for argument in re.findall(r'\s*((?:"(?:\\.|[^"\\])*"\s*)+|[^,"]+)\s*(?:,|$)', match.group(1)):
            if argument.startswith('"'):
                pieces = re.findall(r'"((?:\\.|[^"\\])*)"', argument)
                arguments.append(re.sub(r"\\(.)", r"\1", "".join(pieces)))
            else:
                word = argument.strip()
                arguments.append(None if word == "NULL" else word)
        found.append(arguments)
    if not found:
        sys.exit(f"{path}: no rows of {macro}")
    return found


def between(text, name, made):
    """The document with what stands between its two marks replaced."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"expected one {begin} and one {end}")
    return text[: text.index(begin) + len(begin)] + "\n" + made + text[text.index(end):]


def keep(documents):
    """Writes the documents {path: text}, or with --check names those that differ. The exit status."""
    stale = 0
    for path, text in documents.items():
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        if "--check" in sys.argv:
            print(f"{path}: not what {Path(sys.argv[0]).name} makes of the tables; run scripts/{Path(sys.argv[0]).name}")
            stale += 1
        else:
            file.write_text(text, encoding="utf-8")
    return 1 if stale else 0
