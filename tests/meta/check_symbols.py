# SPDX-License-Identifier: Apache-2.0
"""What the built libraries say about themselves: names that leave them, functions they call, variables that change.

Usage: check_symbols.py LIBRARY.so LIBRARY.a
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# No object may call these: a library neither ends the process, nor prints, nor reads text under the user's locale. The
# fortified spelling (__printf_chk) and the ISO one (__isoc99_sscanf) count too.
BANNED = set("""
    exit _exit _Exit quick_exit abort __assert_fail raise
    printf vprintf puts putchar putc perror fprintf vfprintf fputs fputc fwrite
    strcpy strcat stpcpy sprintf vsprintf gets strtok strtok_r
    atoi atol atoll atof strtol strtoll strtoul strtoull sscanf vsscanf fscanf scanf
    malloc calloc realloc free strdup strndup asprintf vasprintf reallocarray
    setlocale rand srand random system popen
""".split())
# object -> banned names that are right there, with the reason.
ALLOWED = {
    "alloc.c.o": {"malloc", "calloc", "realloc", "free"},  # the one way to memory
}
# Variables that may change: object -> names, with what makes them safe.
MUTABLE = {
    "alloc.c.o": {"fail_after", "asked"},  # the hook by which a test fails each allocation once
    "log.c.o": {"hook"},  # the process's one log hook, set before threads start
    "row_hash.c.o": {"seed", "ready"},  # drawn once a process, atomic
    "str.c.o": {"made"},  # the C locale, made once, atomic
    "http.c.o": {"once", "is_ready"},  # libcurl's own set-up, once
    "arrow_adapter.cc.o": {"pool", "mutex", "is_loaded"},  # Arrow's pool and its S3 module, once, under a lock
}
# Objects made by a generator, whose names and globals are not ours.
GENERATED = re.compile(r".*\.pb-c\.c\.o")


def tool(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def symbols(library):
    """(object, section, flags, name) of every symbol in an archive."""
    member = ""
    for line in tool("objdump", "-tC", library).split("\n"):
        if match := re.match(r"(\S+):\s+file format", line):
            member = match.group(1)
        elif match := re.match(r"[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+ +(?:\.hidden )?(.+)$", line):
            yield member, match.group(2), match.group(1), match.group(3)


def plain(name):
    """__printf_chk and __isoc99_sscanf as they are written in a source file."""
    return re.sub(r"^__(?:isoc\d+_)?(\w+?)_chk$|^__isoc\d+_(\w+)$", lambda m: m.group(1) or m.group(2), name)


def exports(shared):
    declared = set()
    for header in (ROOT / "include/lakecdc").rglob("*.h"):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        declared |= set(re.findall(r"LCDC_EXPORT[^;{]*?\b(lcdc_\w+)\s*\(", text))
    exported = {line.split()[-1].split("@")[0] for line in tool("nm", "-D", "--defined-only", shared).splitlines()
                if line.split()[-2] != "A"}
    for name in sorted(exported - declared):
        yield f"{name} leaves the shared library and no public header declares it"
    for name in sorted(declared - exported):
        yield f"{name} is declared in a public header and the shared library does not have it"


def objects(static):
    for member, section, flags, name in symbols(static):
        if GENERATED.fullmatch(member):
            continue
        is_global, is_weak = flags[0] in "gu!", flags[1] == "w"
        if section == "*UND*":
            if plain(name) in BANNED - ALLOWED.get(member, set()):
                yield f"{member} calls {plain(name)}()"
        elif is_global and not is_weak and flags[0] != "u" and not re.match(r"lc(dc)?_|DW\.ref", name):
            yield f"{member} defines {name}, which other files see without an lc_ prefix"
        if re.match(r"\.t?(data|bss)\b(?!\.rel\.ro)|\*COM\*", section) and "O" in flags:
            if re.sub(r"\.\d+$|.*::", "", name) not in MUTABLE.get(member, set()) and not is_weak and flags[0] != "u":
                yield f"{member} has a variable that changes: {name} ({section})"


def main(shared, static):
    found = [*exports(shared), *objects(static)]
    seen = {member for member, *_ in symbols(static)}
    print("\n".join(found + [f"{len(seen)} objects, {len(found)} findings"]))
    return len(found) > 0 or not seen


sys.exit(main(*sys.argv[1:]))
