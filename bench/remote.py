#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a distant store costs: requests, bytes and time of a read, near and far.

    bench/remote.py TABLE [TABLE ...] [--range FROM:TO] [--latency 20] [--rounds 3] [--lakecdc build/release/bin/lakecdc]

Each table is read as it lies, and again through a layer that makes every request to the storage take so many
milliseconds longer (`--storage-latency`): what is fetched ahead, together and once is then what the time consists of.
`one after the other` is what the same requests would take in turn: requests of the near read times the latency. Tables
in an object store (s3://...) are read as they are; AWS_ENDPOINT_URL names another endpoint.
"""
import argparse, os

from planning import ROOT, measure, newest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--range", help="FROM:TO; the newest commit if not given")
    parser.add_argument("--latency", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lakecdc", default=f"{ROOT}/build/release/bin/lakecdc")
    a = parser.parse_args()
    print("| table | store | wall s | peak MB | requests | bytes read | one after the other s |\n|---|---|--:|--:|--:|--:|--:|")
    for table in a.tables:
        first, last = a.range.split(":") if a.range else (newest(table),) * 2
        command = [a.lakecdc, "changes", table, "--from", first, "--to", last, "--format", "arrow", "--stats"]
        near = measure(command, a.rounds)
        far = measure([*command, "--storage-latency", str(a.latency)], a.rounds)
        for store, (wall, _, peak, s) in (("near", near), (f"{a.latency} ms", far)):
            in_turn = near[0] + near[3]["requests"] * a.latency / 1000
            print(f"| {os.path.basename(table.rstrip('/'))} | {store} | {wall:.2f} | {peak:.0f} | {s['requests']} | {s['bytes_read']:,} | {in_turn if store != 'near' else 0:.1f} |", flush=True)


if __name__ == "__main__":
    main()
