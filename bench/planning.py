#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What planning costs against the size of a table and the length of its history.

    bench/planning.py [--data build/bench/planning] [--rounds 3] [--lakecdc build/release/bin/lakecdc] [--only WORD ...]

Makes the tables of workloads/make_long_history.py in growing sizes, once, and asks each for the plan of its newest
commit (`plan`), the rows of it (`one`), and what is new after it (`none`). Printed: the minimum wall and CPU time over
the rounds, the peak memory, and what was asked of the storage. A curve that rises is work that the range did not need.
"""
import argparse, json, os, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(f"{HERE}/..")

SIZES = [("delta-log", 100, 1_000, 10_000), ("delta-log-bare", 100, 1_000, 10_000), ("delta-log-checksums", 100, 1_000, 10_000),
         ("delta-classic", 10_000, 100_000, 1_000_000), ("delta-multi", 10_000, 100_000, 1_000_000), ("delta-v2", 10_000, 100_000, 1_000_000),
         ("delta-lean", 10_000, 100_000, 1_000_000), ("iceberg-manifests", 20, 200, 2_000), ("iceberg-manifests-v3", 20, 200, 2_000),
         ("iceberg-manifests-several", 20, 200, 2_000), ("iceberg-snapshots", 100, 1_000, 10_000, 50_000)]


def newest(root):
    """The newest commit of a table, as --from and --to name it."""
    log = f"{root}/_delta_log"
    if os.path.isdir(log):
        return str(max(int(n[:20]) for n in os.listdir(log) if n.endswith(".json") and n[:20].isdigit()))
    with open(f"{root}/metadata/v1.metadata.json") as file:
        return str(json.load(file)["current-snapshot-id"])


def measure(command, rounds):
    """(wall s, CPU s, peak MB, statistics); the best of the rounds."""
    wall = cpu = 1e9
    for _ in range(rounds):
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{' '.join(command)}: {said.strip()}")
        wall = min(wall, time.monotonic() - started)
        cpu = min(cpu, usage.ru_utime + usage.ru_stime)
    return wall, cpu, usage.ru_maxrss / 1024, json.loads(said.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=f"{ROOT}/build/bench/planning")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lakecdc", default=f"{ROOT}/build/release/bin/lakecdc")
    parser.add_argument("--only", nargs="*", help="kinds whose name holds one of these words")
    parser.add_argument("--latency", default="0", help="milliseconds that a request to the storage takes")
    a = parser.parse_args()
    print("| table | size | asked | wall s | CPU s | peak MB | requests | lists | opens | bytes read |\n|---|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for kind, *sizes in SIZES:
        for n in sizes if not a.only or any(w in kind for w in a.only) else ():
            root = f"{a.data}/{kind}-{n}"
            if not os.path.isdir(root):
                # by a process of its own: memory of this one is counted with that of its children
                subprocess.run([sys.executable, f"{HERE}/workloads/make_long_history.py", root, kind, str(n)], check=True)
            at, common = newest(root), ["--stats", "--storage-latency", a.latency]
            for name, command in (("plan", ["plan", root, "--from", at, "--to", at]), ("one", ["changes", root, "--from", at, "--to", at, "--format", "arrow"]),
                                  ("none", ["changes", root, "--from", at, "--from-exclusive", "--format", "arrow"])):
                wall, cpu, peak, s = measure([a.lakecdc, *command, *common], a.rounds)
                print(f"| {kind} | {n:,} | {name} | {wall:.3f} | {cpu:.3f} | {peak:.0f} | {s['requests']} | {s['lists']} | {s['opens']} | {s['bytes_read']:,} |", flush=True)


if __name__ == "__main__":
    main()
