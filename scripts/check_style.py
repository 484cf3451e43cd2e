#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clang-format and the compiler do not see: banned calls, comments, headers, guards, include order.

Prints `file:line: what is wrong` for each finding and exits 1 when there is one. The rules are the two tables below;
an exception is a row there, with its reason, never a mark in the code.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["include", "src", "tests", "fuzz", "scripts", "cmake", "proto", "examples", "bench", ".ci"]
KINDS = {".c", ".h", ".cc", ".def", ".map", ".py", ".sh", ".cmake", ".proto"}
SKIPPED = re.compile(r"^(fuzz/corpora|tests/(fixtures|golden)/)")  # data, some of it broken on purpose
WIDTH = 120  # as in .clang-format

# What src/ may not call, and what to use instead.
BANNED = [
    ("malloc calloc realloc free reallocarray aligned_alloc posix_memalign strdup strndup asprintf vasprintf",
     "memory goes through lc_alloc*"),
    ("alloca", "stack use is bounded"),
    ("strcpy strcat stpcpy sprintf vsprintf gets", "lengths are checked: lc_buf"),
    ("atoi atol atoll atof strtol strtoul strtoll strtoull sscanf vsscanf fscanf scanf strtok strtok_r",
     "text is parsed with lc_parse_*"),
    ("exit _exit _Exit quick_exit abort assert", "a library ends no process: return a status"),
    ("printf vprintf puts putchar perror", "the library never prints, the command names its stream"),
    ("fprintf vfprintf fputs fputc putc", "the library never prints"),
    ("setlocale", "the locale is the application's"),
    ("rand srand random", "not thread-safe"),
]
# Where a banned call is right: file -> calls, each with its reason.
ALLOWED = {
    "src/base/alloc.c": "malloc calloc realloc free",  # it is lc_alloc
    "src/cli/": "fprintf vfprintf fputs fputc putc",  # the command prints, to the stream it names
}


def code_only(text):
    """The text with comments and the insides of literals blanked, line by line as long as it was, and the lines on which
    a // comment begins."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    line_comments = []

    def blank(match):
        token = match.group()
        if token.startswith("//"):
            line_comments.append(text.count("\n", 0, match.start()) + 1)
        if token[0] in "\"'":
            return token[0] + " " * (len(token) - 2) + token[0]
        return re.sub(r"[^\n]", " ", token)

    return pattern.sub(blank, text), line_comments


def allowed(name, call):
    return any(name.startswith(place) and call in calls.split() for place, calls in ALLOWED.items())


def every_file(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if "\t" in line:
            yield number, "a tab"
        if re.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", line):
            yield number, "unfinished work is finished or filed, not marked"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield text.count("\n"), "a file ends with exactly one newline"
    if "SPDX-License-Identifier: Apache-2.0" not in "".join(text.split("\n")[:3]):
        yield 1, "no SPDX-License-Identifier: Apache-2.0 in the first lines"


def c_file(name, text):
    code, line_comments = code_only(text)
    for number in line_comments:
        yield number, "comments are /* */"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH:
            yield number, f"{len(line)} columns, at most {WIDTH}"
    for number, line in enumerate(code.split("\n"), 1):
        if re.search(r"\bgoto\b", line):
            yield number, "goto: a local that owns something carries LC_CLEANUP"
    if name.endswith(".h"):
        path = name.removeprefix("include/").removeprefix("src/")
        prefix = "" if name.startswith("include/") else "LC_"
        guard = prefix + re.sub(r"[^A-Z0-9]", "_", path.upper())
        if f"#ifndef {guard}\n#define {guard}\n" not in code and name.startswith(("include/", "src/")):
            yield 1, f"no include guard {guard}"


def source_file(name, text):
    code, _ = code_only(text)
    for number, line in enumerate(code.split("\n"), 1):
        for calls, instead in BANNED:
            for call in re.findall(r"(?<![\w.>])(" + "|".join(calls.split()) + r")\s*\(", line):
                if not allowed(name, call):
                    yield number, f"{call}(): {instead}"
    own = name.removeprefix("src/").rsplit(".", 1)[0] + ".h"
    has_own = not name.endswith(".h") and (ROOT / "src" / own).exists()
    includes = re.findall(r'^#\s*include\s+["<](.*?)[">]', text, re.M)
    if has_own and (not includes or includes[0] != own):
        yield 1, f'its own header "{own}" is not included first'
    # A file with a header of its own says there what it is for.
    if not has_own and not re.match(r"/\* SPDX.*? \*/\n/\*\*?[\s*]+\S*%s - " % re.escape(Path(name).name), text, re.S):
        yield 2, f"no header comment `{Path(name).name} - what it is for`"


def findings(name, text):
    yield from every_file(name, text)
    if name.endswith((".c", ".h", ".cc")):
        yield from c_file(name, text)
        if name.startswith("src/"):
            yield from source_file(name, text)


def main():
    count = 0
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))
             if path.is_file() and (path.suffix in KINDS or path.name in ("CMakeLists.txt", "run"))]
    for path in [ROOT / "CMakeLists.txt", *files]:
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if SKIPPED.match(name) or not text:
            continue
        for line, what in findings(name, text):
            print(f"{name}:{line}: {what}")
            count += 1
    print(f"{len(files) + 1} files, {count} findings")
    return count > 0


if __name__ == "__main__":
    sys.exit(main())
