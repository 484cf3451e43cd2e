# SPDX-License-Identifier: Apache-2.0
"""Installs the build into a fresh prefix, moves the prefix, and builds and runs the consumer against it in every way a
program can take the library: find_package and pkg-config, shared and static. Each must count the change rows of the
sample table as the installed command counts them.

Usage: check_install.py BUILD_DIR TABLE
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ENV = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH")}


def run(*command, **env):
    done = subprocess.run([str(part) for part in command], env={**ENV, **env}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def find_package(prefix, work):
    run("cmake", "-S", HERE / "consumer", "-B", work, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", work)


def pkg_config(prefix, work):
    work.mkdir()
    where = {"PKG_CONFIG_PATH": str(next(prefix.glob("lib*/**/pkgconfig")))}
    flags = run("pkg-config", "--cflags", "--libs", "lakecdc", **where).split()
    lib = run("pkg-config", "--variable=libdir", "lakecdc", **where).strip()
    source = HERE / "consumer" / "consumer.c"
    run("cc", source, "-o", work / "shared", *flags, f"-Wl,-rpath,{lib}")

    flags = run("pkg-config", "--static", "--cflags", "--libs", "lakecdc", **where).split()
    flags = ["-l:liblakecdc.a" if flag == "-llakecdc" else flag for flag in flags]
    run("cc", source, "-o", work / "static", *flags)


def check(program, build, libraries):
    """Whether a program needs exactly the lakecdc library it should, and nothing out of the build tree."""
    needed = run("readelf", "-d", program)
    if ("liblakecdc.so" in needed) != libraries:
        sys.exit(f"{program} was to {'need' if libraries else 'do without'} liblakecdc.so:\n{needed}")
    found = run("ldd", program)
    if str(build) in found or "not found" in found:
        sys.exit(f"{program} looks into the build tree, or misses a library:\n{found}")


def main(build, table):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        run("cmake", "--install", build, "--prefix", scratch / "first")
        prefix = scratch / "moved"
        shutil.move(scratch / "first", prefix)

        command = prefix / "bin" / "lakecdc"
        check(command, build, True)
        changes = run(command, "changes", table, "--format", "jsonl").splitlines()
        rows = sum(1 for line in changes if "op" in json.loads(line))
        print("command", run(command, "--version").strip(), rows)
        if rows == 0:
            sys.exit(f"{table} has no change rows to compare")

        for how in (find_package, pkg_config):
            how(prefix, scratch / how.__name__)
            for kind in ("shared", "static"):
                program = scratch / how.__name__ / kind
                check(program, build, kind == "shared")
                said = run(program, table).split()
                print(how.__name__, kind, *said)
                if said[1:] != ["OK", str(rows)]:
                    sys.exit(f"the command found {rows} rows")


main(Path(sys.argv[1]).resolve(), sys.argv[2])
