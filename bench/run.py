#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times this project and its peers on the same tables, in turn, and writes one table of results.

    bench/run.py [--rounds 5] [--only NAME ...] [--peers NAME ...] [--data build/bench] [--results bench/results]

The tables are made by the engines themselves where they are not there yet (bench/workloads). Each reader is first asked
once and its rows are held against the known values; only a right answer is timed. A reader that fails, refuses or is
wrong is marked so and the run goes on. What is measured and how: bench/method.md.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time

import about
import report
import tables
from tables import ROOT
from tasks import PEERS, PYTHON, Makers, all_tasks

WORDS = {"update_preimage": "update_before", "update_postimage": "update_after"}
AFTER, BEFORE = ("insert", "update_after"), ("delete", "update_before")


# ---- is it right? ------------------------------------------------------------------------------------------------


def total(groups, kinds):
    found = [groups[kind] for kind in kinds if kind in groups]
    return sum(n for n, _ in found), sum(amount for _, amount in found)


def same(found, known):
    """The same rows, and the same sum but for the order in which doubles were added."""
    return found[0] == known[0] and abs(found[1] - known[1]) <= max(0.001, 1e-12 * abs(known[1]))


def judge(groups, expected):
    """("right" | "wrong", what to say). Updates may come as a delete and an insert; then that is said."""
    groups = {WORDS.get(kind.lower(), kind.lower()): value for kind, value in groups.items()}
    after, before = total(groups, AFTER), total(groups, BEFORE)
    is_right = same(after, total(expected, AFTER)) and same(before, total(expected, BEFORE))
    is_right = is_right and not set(groups) - set(AFTER) - set(BEFORE)
    is_paired = "update_after" in groups or "update_after" not in expected
    if is_right and is_paired:
        is_right = all(same(groups.get(kind, (0, 0.0)), expected[kind]) for kind in expected)
    if is_right:
        return "right", "" if is_paired else "updates as delete and insert"
    return "wrong", (f"gave {after[0]:,} new and {before[0]:,} old images, sum(amount) {after[1]:.4f} and "
                     f"{before[1]:.4f}")


# ---- measuring ---------------------------------------------------------------------------------------------------


class Row:
    """A reader in a task: the object that reads, and what has come of it so far."""

    def __init__(self, reader, task, places):
        self.reader, self.places = reader, places
        self.expected = reader.expected or task.expected
        self.live = None
        self.result = {"name": reader.name, "how": reader.how, "peer": reader.peer, "against": None,
                       "figure": reader.figure, "state": "not run", "said": "", "seconds": [], "peak_mb": None,
                       "bytes_read": None, "files_opened": None}

    def mark(self, state, said=""):
        for place in self.places:
            said = said.replace(place, "…")
        self.result["state"], self.result["said"] = state, " ".join(said.split())[:200]
        if state != "right":
            self.close()

    def first(self):
        self.live = self.reader.open()
        outcome = self.live.check()
        if outcome.failed or outcome.refused:
            self.mark("failed" if outcome.failed else "refused", outcome.failed or outcome.refused)
        elif outcome.groups is None:
            self.mark("failed", "no sums came with the first answer")
        else:
            self.mark(*judge(outcome.groups, self.expected))

    def round(self):
        outcome = self.live.once()
        known = sum(n for n, _ in self.expected.values())
        if outcome.failed or outcome.refused:
            self.mark("failed" if outcome.failed else "refused", outcome.failed or outcome.refused)
        elif outcome.rows != known:
            self.mark("wrong", f"gave {outcome.rows} rows in one of the rounds, {known} the first time")
        else:
            self.result["seconds"].append(round(outcome.seconds, 5))
            self.result["peak_mb"] = max(self.result["peak_mb"] or 0, round(outcome.peak_mb, 1))
            self.result["bytes_read"] = outcome.stats.get("bytes_read")
            self.result["files_opened"] = outcome.stats.get("opens")

    def attempt(self, step):
        """A reader that cannot even be started is a row of the table, not the end of the run."""
        try:
            step()
        except Exception as error:
            self.mark("failed", f"{type(error).__name__}: {error}")

    def close(self):
        if self.live:
            self.live.close()
        self.live = None


def measure(task, wanted, left_out, rounds, places):
    """Every reader once untimed, then in turn for each round."""
    rows = [Row(reader, task, places) for reader in task.readers if not reader.peer or reader.peer in wanted]
    for row in rows:
        base = task.readers[row.reader.against]
        if row.reader.name != base.name:  # the other way of reading of the same reader is no peer
            row.result["against"] = next((i for i, other in enumerate(rows) if other.reader is base), None)
        if row.reader.peer in left_out:
            row.mark("not run", left_out[row.reader.peer])
            continue
        row.attempt(row.first)
    for _ in range(rounds):
        for row in rows:
            if row.live:
                time.sleep(0.2)
                row.attempt(row.round)
                time.sleep(1.0 if row.reader.peer == "spark" else 0)  # the JVM tidies up after an answer
    for row in rows:
        row.close()
        if row.result["state"] != "right":
            row.result["seconds"] = []
    return {"name": task.name, "question": task.question, "readers": [row.result for row in rows]}


def say(task):
    report.finish([task])
    for reader in task["readers"]:
        figures = "" if reader["median_s"] is None else (
            f"{reader['median_s']:9.3f} s  min {reader['min_s']:9.3f} s  {reader['peak_mb']:7.0f} MB"
            + ("" if reader["ratio"] is None else f"  {reader['ratio']:7.2f} x"))
        print(f"{task['name']:10} {reader['name']:36} {reader['how']:16} {reader['state']:8} {figures} {reader['said']}",
              flush=True)


# ---- what is there -----------------------------------------------------------------------------------------------


def prepare_skade():
    """"" or why there is none."""
    cargo = shutil.which("cargo")
    if not cargo:
        return "cargo is not installed"
    command = [cargo, "build", "--release", "--locked", "--quiet", "--manifest-path",
               f"{ROOT}/bench/peers/skade/Cargo.toml", "--target-dir", f"{ROOT}/build/skade"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    except subprocess.TimeoutExpired:
        return "it was not built in half an hour"
    return "" if done.returncode == 0 else f"it does not build: {done.stderr.strip().splitlines()[-1][:100]}"


def prepare(tasks, wanted, data):
    """Peers and tables that are missing are got or made; returns {peer: why not}, {table: why not}."""
    left_out = {}
    names = [name for name in tables.TABLES if any(name in task.tables for task in tasks)]
    if "spark" in wanted or not all(tables.is_whole(data, name) for name in names):
        if subprocess.run([f"{ROOT}/scripts/spark_env.sh"]).returncode != 0:
            left_out["spark"] = "scripts/spark_env.sh did not work"
    missing = tables.make(data, names)
    uses_skade = any(reader.peer == "skade" for task in tasks for reader in task.readers)
    if "skade" in wanted and uses_skade:
        why = prepare_skade()
        left_out |= {"skade": why} if why else {}
    return left_out, missing


def spark_kinds(tasks):
    return {"delta" if tables.TABLES[task.tables[0]][2] == "pyspark42" else "iceberg" for task in tasks}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="timed reads of each reader (default: 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="tasks: cdf rt rtdv v2cow v3cow v2mor v3mor "
                        "b-columns b-filter b-appends full (default: all)")
    parser.add_argument("--peers", nargs="*", metavar="NAME", choices=PEERS, default=PEERS,
                        help=f"peers to run beside this project: {' '.join(PEERS)} (default: all)")
    parser.add_argument("--data", default=f"{ROOT}/build/bench", help="where the tables are (default: build/bench)")
    parser.add_argument("--build", default=f"{ROOT}/build/release", help="build folder with -DLAKECDC_BENCH=ON")
    parser.add_argument("--results", default=f"{ROOT}/bench/results", help="where results.md and results.json go")
    options = parser.parse_args()
    options.data, options.build = os.path.abspath(options.data), os.path.abspath(options.build)
    for program in ("bin/lakecdc", "bench/bench_stream"):
        if not os.path.exists(f"{options.build}/{program}"):
            parser.error(f"no {program} in {options.build}: `make bench` builds it")
    return parser, options


def main():
    parser, options = arguments()
    make = Makers(options.data, options.build)
    tasks = all_tasks(make)
    unknown = set(options.only or []) - {task.name for task in tasks}
    if unknown:
        parser.error(f"no such task: {' '.join(sorted(unknown))}")
    tasks = [task for task in tasks if not options.only or task.name in options.only]
    left_out, missing = prepare(tasks, options.peers, options.data)
    run = {"about": about.about(options.build, PYTHON), "rounds": options.rounds, "left_out": left_out | missing,
           "tasks": []}
    began = time.monotonic()
    try:
        for i, task in enumerate(tasks):
            if missing.keys() & set(task.tables):
                continue
            places = (options.data, ROOT)
            run["tasks"].append(measure(task, options.peers, left_out, options.rounds, places))
            say(run["tasks"][-1])
            report.write(options.results, run)
            make.close_sessions(spark_kinds([task]) - spark_kinds(tasks[i + 1:]))
    finally:
        make.close_sessions(["delta", "iceberg"])
    print(f"{len(run['tasks'])} tasks in {time.monotonic() - began:.0f} s: {options.results}/results.md")


if __name__ == "__main__":
    sys.exit(main())
