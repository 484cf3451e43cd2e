# SPDX-License-Identifier: Apache-2.0
"""Compiles each public header alone, twice over, as C99, C17 and C++17, pedantic and with warnings as errors."""

import subprocess
import sys
from pathlib import Path

DIALECTS = [("c", "c99", ["-Wstrict-prototypes"]), ("c", "c17", ["-Wstrict-prototypes"]), ("c++", "c++17", [])]
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-pedantic-errors", "-Wundef", "-Wshadow", "-Werror", "-fsyntax-only"]


def main(include, compilers):
    headers = sorted(path.relative_to(include) for path in include.glob("lakecdc/**/*.h"))
    failed = 0
    for header in headers:
        for compiler in compilers:
            for language, standard, extra in DIALECTS:
                command = [compiler, "-x", language, f"-std={standard}", *FLAGS, *extra, "-I", str(include), "-"]
                source = f"#include <{header}>\n#include <{header}>\n"
                done = subprocess.run(command, input=source, text=True, stderr=subprocess.PIPE)
                if done.returncode != 0:
                    failed += 1
                    print(f"{header} as {standard} with {compiler}:\n{done.stderr}")
    print(f"{len(headers)} headers, {failed} compilations failed")
    return failed > 0 or not headers


# The C driver compiles C++ too when told the language.
sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
