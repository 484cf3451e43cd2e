#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thousand tables with nothing new: what a round of looks at all of them costs, and that memory stays where it is.

The one idea: the process's own clocks before and after a number of rounds, which the metrics count. `--rounds 1000` is
the long form.
"""
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.tables import append, table
from support import harness
from support.iceberg_writer import Table as Iceberg
from sync.metrics import free_port, get, samples
from sync.running import Sync

TABLES = 1000
CPU_SECONDS = 1.0     # a round, at most
MEMORY_KIB = 4096     # growth over all rounds, at most


def make(d):
    """Half Delta, half Iceberg; each the copy of one."""
    append(append(table(d + "/d0"), 1, 2, 3), 4)
    ice = Iceberg(d + "/i0", [("id", "long"), ("name", "string")])
    ice.append([(1, "a"), (2, "b")])
    ice.save()
    port = free_port()
    s = Sync(d, {}, interval="100ms", workers=2, metrics={"listen": f"127.0.0.1:{port}"}, log={"level": "warn"})
    for i in range(TABLES // 2):
        for kind in "di":
            if i:
                shutil.copytree(f"{d}/{kind}0", f"{d}/{kind}{i}")
            s.config["sources"][f"{kind}{i}"] = {"path": ".", "path_map": [f"{d}/{kind}0={d}/{kind}{i}"]} if i else {"path": "."}
            s.config["tables"][f"{kind}{i}"] = {"source": f"{kind}{i}", "table": f"{kind}{i}", "sink": "out", "identity": ["id"], "sink_options": {"path": f"out/{kind}{i}.jsonl"}}
    os.mkdir(d + "/out")
    s.save()
    return s, port


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_kib(pid):
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))


def main():
    a = harness.arguments(__doc__, rounds=dict(type=int, default=60, help="rounds over all tables"))
    d = tempfile.mkdtemp(prefix="lakecdc-test-")
    try:
        s, port = make(d)
        r = s.once(timeout=300)
        assert r.code == 0, r.err[-2000:]
        with s.start() as run:
            pid = run.process.pid
            rounds = lambda: min(v for (name, *_), v in samples(get(port, "/metrics")[2]).items() if name == "lakecdc_rounds_total")
            run.until(lambda: answers(port) and rounds() >= 10, "the first rounds", 120)
            cpu, memory, first = cpu_seconds(pid), memory_kib(pid), rounds()
            while rounds() < first + a.rounds:
                time.sleep(0.5)
            made = rounds() - first
            cpu, grown = (cpu_seconds(pid) - cpu) / made, memory_kib(pid) - memory
            print(f"{TABLES} tables, {made} rounds: {cpu * 1000:.1f} ms of CPU a round, {memory} KiB, {grown:+d} KiB", flush=True)
            assert cpu < CPU_SECONDS, f"{cpu:.3f} s of CPU a round"
            assert grown < MEMORY_KIB, f"memory grew by {grown} KiB"
            append_one(d)
            run.until(lambda: len(s_lines(d, "d7")) == 5, "a commit among a thousand tables")
            seconds, code = run.stop()
            assert code == 0 and seconds < 1, (code, seconds)
        harness.finish(1, 0)
    except AssertionError as e:
        print(f"FAIL {e}")
        harness.finish(0, 1)
    finally:
        shutil.rmtree(d, ignore_errors=True)


def answers(port):
    try:
        return get(port, "/metrics")[0] == 200
    except OSError:
        return False


def append_one(d):
    """A commit in one of the copies: its builder is the first one's, moved."""
    t = table(d + "/again")
    append(append(t, 1, 2, 3), 4)
    append(t, 5)
    for version in (3,):
        text = open(t.log_path(version)).read()
        for folder, _, names in os.walk(t.root):
            for n in names:
                if n.endswith(".parquet") and n in text:
                    shutil.copy(os.path.join(folder, n), f"{d}/d7/{n}")
        shutil.copy(t.log_path(version), f"{d}/d7/_delta_log/")


def s_lines(d, name):
    return [line for line in open(f"{d}/out/{name}.jsonl") if line.endswith("\n")]


if __name__ == "__main__":
    main()
