#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines of src/ the unit tests have run, folder by folder: what `make coverage` prints at its end.

    scripts/coverage.py BUILD_FOLDER [--files]

Reads the counters that a build with LAKECDC_COVERAGE leaves beside its objects, by way of gcov. The command line and what
only real tables reach are tested from outside, by programs without counters: a low figure is a question, no verdict.
"""
import argparse, collections, glob, json, os, subprocess

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--files", action="store_true", help="each file too")
    a = parser.parse_args()
    seen = collections.defaultdict(lambda: collections.defaultdict(int))      # file: line: times
    counters = sorted(glob.glob(f"{os.path.abspath(a.build)}/src/**/*.gcda", recursive=True))
    if not counters:
        raise SystemExit(f"{a.build} has no counters: build it with LAKECDC_COVERAGE and run its tests")
    for i in range(0, len(counters), 50):
        said = subprocess.run(["gcov", "--json-format", "--stdout", *counters[i:i + 50]], cwd=a.build, stdout=subprocess.PIPE, check=True, text=True).stdout
        for document in filter(None, said.splitlines()):
            for file in json.loads(document)["files"]:
                name = os.path.relpath(os.path.join(a.build, file["file"]), ROOT)
                if name.startswith("src/") and name.endswith((".c", ".cc")):
                    for line in file["lines"]:
                        seen[name][line["line_number"]] += line["count"]
    sums = collections.defaultdict(lambda: [0, 0])
    for name, lines in seen.items():
        run = sum(1 for times in lines.values() if times)
        for key in ("all of src", os.path.dirname(name), name):
            sums[key][0] += run
            sums[key][1] += len(lines)
    for key in sorted(sums, key=lambda k: (k == "all of src", k)):
        if a.files or key not in seen:
            print(f"{key:40} {100 * sums[key][0] / sums[key][1]:6.1f} % of {sums[key][1]:6} lines")


main()
