# SPDX-License-Identifier: Apache-2.0
"""The Python peers as workers of bench/run.py: deltalake, pyiceberg, DuckDB.

    python_reader.py deltalake TABLE VERSION
    python_reader.py pyiceberg TABLE FROM TO     snapshot ids, FROM exclusive; "-" is the beginning
    python_reader.py duckdb TABLE VERSION        the files that this version of a Delta table added, read whole

For each line on standard input the read is done once and answered with one line of JSON: seconds, rows, and with the
first answer rows and sum(amount) by kind of change. A read is over when every batch has been looked at.
"""

import glob
import json
import os
import sys
import time


def read_deltalake(table, version):
    from deltalake import DeltaTable

    def once():
        return DeltaTable(table).load_cdf(starting_version=int(version), ending_version=int(version))

    return once


def read_pyiceberg(table, first, last):
    from pyiceberg.table import StaticTable

    with open(f"{table}/metadata/version-hint.text") as hint:
        metadata = f"{table}/metadata/v{hint.read().strip()}.metadata.json"

    def once():
        scan = StaticTable.from_metadata(metadata).incremental_append_scan(
            from_snapshot_id_exclusive=None if first == "-" else int(first), to_snapshot_id_inclusive=int(last)
        )
        return scan.to_arrow_batch_reader()

    return once


def read_duckdb(table, version):
    import duckdb

    connection = duckdb.connect()
    connection.sql(f"set threads = {os.cpu_count()}")
    with open(f"{table}/_delta_log/{int(version):020}.json") as log:
        actions = [json.loads(line) for line in log]
    files = [f"{table}/{action['add']['path']}" for action in actions if "add" in action]
    assert files and set(files) <= set(glob.glob(f"{table}/*.parquet"))

    def once():
        return connection.sql(f"select * from read_parquet({files})").to_arrow_reader(65536)

    return once


def add(groups, batch):
    """Batch by batch, so that the first read holds no more than the later ones."""
    from arrow_groups import group

    for kind, (rows, amount) in group([batch]).items():
        total = groups.setdefault(kind, [0, 0.0])
        total[0] += rows
        total[1] += amount


READERS = {"deltalake": read_deltalake, "pyiceberg": read_pyiceberg, "duckdb": read_duckdb}


def main():
    once = READERS[sys.argv[1]](*sys.argv[2:])
    sums = os.environ.get("BENCH_SUMS") != "0"
    for _ in sys.stdin:
        groups = {}
        try:
            started = time.monotonic()
            rows = 0
            for batch in once():
                rows += batch.num_rows
                if sums:
                    add(groups, batch)
            seconds = time.monotonic() - started
        except Exception as error:  # whatever a peer says is its answer
            print(json.dumps({"refused": f"{type(error).__name__}: {error}"}), flush=True)
            continue
        answer = {"seconds": seconds, "rows": rows}
        if sums:
            answer["groups"] = groups
        sums = False
        print(json.dumps(answer), flush=True)


main()
