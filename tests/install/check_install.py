# SPDX-License-Identifier: Apache-2.0
"""Installs the build into a fresh prefix, moves the prefix, and builds and runs the consumer against it in every way a
program can take the library: find_package and pkg-config, shared and static. Then the installed command runs too."""

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
    for name in ("shared", "static"):
        print("find_package", name, run(work / name), end="")


def pkg_config(prefix, work):
    work.mkdir()
    where = {"PKG_CONFIG_PATH": str(next(prefix.glob("lib*/**/pkgconfig")))}
    flags = run("pkg-config", "--cflags", "--libs", "lakecdc", **where).split()
    lib = run("pkg-config", "--variable=libdir", "lakecdc", **where).strip()
    source = HERE / "consumer" / "consumer.c"
    run("cc", source, "-o", work / "shared", *flags, f"-Wl,-rpath,{lib}")
    print("pkg-config shared", run(work / "shared"), end="")

    flags = run("pkg-config", "--static", "--cflags", "--libs", "lakecdc", **where).split()
    flags = ["-l:liblakecdc.a" if flag == "-llakecdc" else flag for flag in flags]
    run("cc", source, "-o", work / "static", *flags)
    print("pkg-config static", run(work / "static"), end="")


def links_static(program):
    """The static consumer must not have taken the shared library behind our back."""
    if "liblakecdc.so" in run("readelf", "-d", program):
        sys.exit(f"{program} needs liblakecdc.so and was meant to be static")


def main(build):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        run("cmake", "--install", build, "--prefix", scratch / "first")
        prefix = scratch / "moved"
        shutil.move(scratch / "first", prefix)
        for name, how in (("cmake", find_package), ("pc", pkg_config)):
            how(prefix, scratch / name)
            links_static(scratch / name / "static")
        command = prefix / "bin" / "lakecdc"
        print("command", run(command, "--version"), end="")
        needed = run("ldd", command)
        if str(build) in needed or "not found" in needed:
            sys.exit(f"the installed command still looks into the build tree, or misses a library:\n{needed}")


main(Path(sys.argv[1]).resolve())
