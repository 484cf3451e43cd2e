#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell cases of cases/ and compares what they print and how they end.

    run.py [--rewrite] [NAME ...]

A case is NAME.sh, run by bash in an empty folder that has the sample table as `orders` and the command as `lakecdc` on
its path. NAME.stdout.exact or NAME.stdout.glob (one pattern a line) and NAME.stderr.exact or NAME.stderr.glob say what
is printed, nothing where there is no such file; NAME.exit has the exit status, else 0. --rewrite replaces the exact
files and the exit status by what happened; read the difference before it is committed.
"""
import fnmatch
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ORDERS = HERE.parent.parent / "examples" / "tables" / "orders"


def run(script, folder):
    os.symlink(ORDERS, f"{folder}/orders")
    os.mkdir(f"{folder}/.bin")
    os.symlink(os.path.abspath(os.environ["LAKECDC"]), f"{folder}/.bin/lakecdc")
    env = {k: v for k, v in os.environ.items() if k.endswith("_OPTIONS") or k in ("HOME", "LAKECDC_BUILD", "PYTHONPATH")}
    env.update(PATH=f"{folder}/.bin:{os.path.dirname(sys.executable)}:{os.environ['PATH']}", LC_ALL="C.UTF-8", TERM="xterm",
               CASES=str(HERE / "cases"), CLI_TESTS=str(HERE))
    return subprocess.run(["bash", str(script)], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)


def differs(got, case, stream):
    exact, glob = case.with_suffix(f".{stream}.exact"), case.with_suffix(f".{stream}.glob")
    if glob.exists():
        lines, patterns = got.decode(errors="replace").splitlines(), glob.read_text().splitlines()
        for i, pattern in enumerate(patterns):
            if i >= len(lines) or not fnmatch.fnmatchcase(lines[i], pattern):
                return f"{stream} line {i + 1}: {lines[i] if i < len(lines) else 'missing'!r}, expected {pattern!r}"
        return f"{stream}: {len(lines)} lines, expected {len(patterns)}" if len(lines) != len(patterns) else None
    want = exact.read_bytes() if exact.exists() else b""
    if got == want:
        return None
    return f"{stream}:\n{got.decode(errors='replace')}--- expected\n{want.decode(errors='replace')}"


def rewrite(case, result):
    for stream, got in (("stdout", result.stdout), ("stderr", result.stderr)):
        exact = case.with_suffix(f".{stream}.exact")
        if case.with_suffix(f".{stream}.glob").exists():
            continue
        if got:
            exact.write_bytes(got)
        else:
            exact.unlink(missing_ok=True)
    code = case.with_suffix(".exit")
    if result.returncode:
        code.write_text(f"{result.returncode}\n")
    else:
        code.unlink(missing_ok=True)


def main():
    names = [a for a in sys.argv[1:] if a != "--rewrite"]
    failed, count = 0, 0
    for case in sorted((HERE / "cases").glob("*.sh")):
        if names and case.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = run(case, folder)
        count += 1
        if "--rewrite" in sys.argv:
            rewrite(case, result)
            continue
        code = case.with_suffix(".exit")
        want = int(code.read_text()) if code.exists() else 0
        problems = [differs(result.stdout, case, "stdout"), differs(result.stderr, case, "stderr")]
        if result.returncode != want:
            problems.append(f"exit status {result.returncode}, expected {want}")
        for problem in filter(None, problems):
            print(f"{case.stem}: {problem}")
        failed += any(problems)
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
