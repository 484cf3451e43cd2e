# SPDX-License-Identifier: Apache-2.0
"""Gives every file of src/ that the build compiles to clang: `warnings` under our own flags, or `analyze`, its static
analyser, for C. Both must have nothing to say.

Usage: check_clang.py warnings|analyze compile_commands.json SOURCE_DIR CLANG
"""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

GCC_ONLY = {"-Wlogical-op", "-Wduplicated-cond", "-Wduplicated-branches", "-Wno-stringop-overflow"}
MODES = {
    "warnings": ["-fsyntax-only", "-Werror"],
    # It takes a variable's last value for dead where a cleanup reads it.
    "analyze": ["--analyze", "-Xclang", "-analyzer-output=text", "-Xclang", "-analyzer-werror",
                "-Xclang", "-analyzer-disable-checker=deadcode.DeadStores"],
}


def check(entry, mode, clang):
    words = shlex.split(entry["command"])
    kept = []
    skip = False
    for word in words[1:]:
        if skip or word == "-c" or word in GCC_ONLY:
            skip = False
        elif word == "-o":
            skip = True
        else:
            kept.append(word)
    driver = clang.replace("clang", "clang++", 1) if entry["file"].endswith(".cc") else clang
    done = subprocess.run([driver, *MODES[mode], *kept], cwd=entry["directory"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return entry["file"], done.returncode, done.stdout


def main(mode, commands, source, clang):
    entries = [entry for entry in json.loads(Path(commands).read_text()) if entry["file"].startswith(f"{source}/src/")]
    if mode == "analyze":
        entries = [entry for entry in entries if entry["file"].endswith(".c")]
    bad = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, code, output in pool.map(lambda entry: check(entry, mode, clang), entries):
            if code != 0 or output:
                bad += 1
                print(f"{file}: exit {code}\n{output}")
    print(f"{len(entries)} files, {bad} with findings")
    return bad > 0 or not entries


sys.exit(main(*sys.argv[1:]))
