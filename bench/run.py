#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times lakecdc and its peers on the same tables, one after the other, each in a process of its own.

    bench/run.py [--rounds 5] [--only NAME ...] [--data build/bench]

The tables are workload A of bench/method.md (10,000,000 rows; one MERGE of 110,000). They are made once, by the engines
themselves, with bench/workloads/*.py; that needs the Spark environment of scripts/spark_env.sh. What is printed per row:
the minimum wall seconds over the rounds, the peak resident memory, and the rows that came out. Nothing is judged here.
"""
import argparse, glob, os, subprocess, sys, time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SPARK = f"{ROOT}/build/spark"
DELTA = {"plain": "content_diff", "cdf": "cdf_files", "rt": "lineage_diff", "rtdv": "lineage_diff", "cdfdv": "cdf_files"}
ICEBERG = ["v2cow", "v2mor", "v3cow", "v3mor"]
DELTA_RS = """
import sys
from deltalake import DeltaTable
reader = DeltaTable(sys.argv[1]).load_cdf(starting_version=2, ending_version=2)
print(sum(len(batch) for batch in reader))
"""


def measure(command, rounds):
    """Minimum wall seconds and peak memory (MB) of a command; its last line of output. None when it fails."""
    best, peak, last = None, 0, ""
    for _ in range(rounds):
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            return None, 0, out.decode(errors="replace").strip().splitlines()[-1][:100] if out else ""
        best = min(best or 1e9, time.monotonic() - started)
        peak = max(peak, usage.ru_maxrss // 1024)
        last = (out.decode(errors="replace").strip().splitlines() or [""])[-1]
    return best, peak, last


def make_tables(script, data, jars, pyspark, names):
    missing = [name for name in names if not glob.glob(f"{data}/**/{name}", recursive=True)]
    if missing:
        environment = dict(os.environ, PYTHONPATH=f"{SPARK}/{pyspark}", SPARK_LOCAL_IP="127.0.0.1")
        subprocess.run([f"{SPARK}/client/bin/python", f"{ROOT}/bench/workloads/{script}", data, f"{SPARK}/{jars}", *missing], check=True, env=environment)


def lakecdc(table, *bounds):
    count = f'{ROOT}/build/release/bin/lakecdc changes "{table}" {" ".join(bounds)} --format arrow --output /dev/null --stats'
    return ["sh", "-c", count]


def report(name, reader, result):
    seconds, peak, last = result
    print(f"{name:8} {reader:12} " + (f"{seconds:8.3f} s {peak:6d} MB   {last[:60]}" if seconds else f"  refused          {last}"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--data", default=f"{ROOT}/build/bench")
    options = parser.parse_args()
    subprocess.run([f"{ROOT}/scripts/spark_env.sh"], check=True)
    wanted = options.only or [*DELTA, *ICEBERG]
    os.makedirs(options.data, exist_ok=True)
    delta = [name for name in DELTA if name in wanted]
    iceberg = [name for name in ICEBERG if name in wanted]
    make_tables("make_delta_10m.py", options.data, "jars42", "pyspark42", delta)
    make_tables("make_iceberg_10m.py", options.data, "jars41", "pyspark41", iceberg)
    for name in delta:
        table = f"{options.data}/{name}"
        report(name, "lakecdc", measure(lakecdc(table, "--from 2 --to 2"), options.rounds))
        report(name, "delta-rs", measure([f"{ROOT}/build/venv/bin/python", "-c", DELTA_RS, table], min(options.rounds, 3)))
    for name in iceberg:
        found = [p for p in glob.glob(f"{options.data}/**/{name}", recursive=True) if os.path.isdir(f"{p}/metadata")]
        for table in found[:1]:
            report(name, "lakecdc", measure(lakecdc(table, "--from latest"), options.rounds))


if __name__ == "__main__":
    sys.exit(main())
