#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory is bounded by batches and open files, not by the size of a commit.

The one idea: a table with one commit of 5,000,000 appended rows and one copy-on-write commit over 1,000,000 of them
that keeps no row ids (so both sides must be compared by content); the peak resident memory of the *release* command
over each, as the kernel counts it, stays under 256 MB, and the rows are counted to know that they were all read.
"""
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from support import harness
from support.delta_schema import Field, Struct, type_json

LIMIT = 256 << 20
FILES, PER_FILE = 5, 1_000_000
SCHEMA = Struct(Field("id", "long"), Field("name", "string"), Field("amount", "double"), Field("qty", "integer"), Field("day", "date"))


def modulo(array, n):
    return pc.subtract(array, pc.multiply(pc.divide(array, n), n))


def block(n):
    """The rows of file n."""
    draw = lambda seed, below, kind: pc.cast(pc.floor(pc.multiply(pc.random(PER_FILE, initializer=5 * n + seed), below)), kind)
    names = pa.array([f"customer {i}" for i in range(50_000)])
    return pa.table({"id": pa.array(range(n * PER_FILE, (n + 1) * PER_FILE), pa.int64()), "name": names.take(draw(1, 50_000, pa.int32())), "amount": pc.random(PER_FILE, initializer=5 * n),
                     "qty": draw(2, 1000, pa.int32()), "day": pc.add(draw(3, 2000, pa.int32()), pa.scalar(18_000, pa.int32())).cast(pa.date32())})


def write(root, name, table):
    path = os.path.join(root, name)
    pq.write_table(table, path, compression="snappy", row_group_size=200_000)
    ids = table.column("id")
    stats = {"numRecords": table.num_rows, "minValues": {"id": pc.min(ids).as_py()}, "maxValues": {"id": pc.max(ids).as_py()}, "nullCount": {"id": 0}}
    return {"add": {"path": name, "partitionValues": {}, "size": os.path.getsize(path), "modificationTime": 1, "dataChange": True, "stats": json.dumps(stats)}}


def build(root):
    """Version 0: five files. Version 1: the first one rewritten in another order, every 100th row changed, every 1000th gone."""
    log = os.path.join(root, "_delta_log")
    os.makedirs(log)
    head = [{"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE"}}, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {"metaData": {"id": "4f6b8a52-0000-4000-8000-000000000001", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(type_json(SCHEMA)), "partitionColumns": [], "configuration": {}, "createdTime": 1}}]
    first = block(0)
    adds = [write(root, "part-0.parquet", first)] + [write(root, f"part-{n}.parquet", block(n)) for n in range(1, FILES)]
    ids, qty = first.column("id"), first.column("qty")
    hit = pc.equal(modulo(ids, 100), 7)
    changed = first.set_column(3, "qty", pc.if_else(hit, pc.add(qty, pa.scalar(1, pa.int32())), qty))
    changed = changed.filter(pc.not_equal(modulo(ids, 1000), 5)).sort_by([("amount", "ascending")])
    rewrite = [{"commitInfo": {"timestamp": 1_700_000_060_000, "operation": "MERGE"}}, {"remove": {"path": "part-0.parquet", "dataChange": True, "deletionTimestamp": 1}}, write(root, "part-5.parquet", changed)]
    for version, actions in enumerate((head + adds, rewrite)):
        with open(os.path.join(log, f"{version:020d}.json"), "w") as out:
            out.writelines(json.dumps(a) + "\n" for a in actions)
    changes = pc.sum(hit).as_py()
    return {0: {"insert": FILES * PER_FILE}, 1: {"delete": changes + PER_FILE // 1000, "insert": changes}}


def measured(*words):
    """(peak resident bytes, rows by op) of one run whose output is read as it comes, and nothing kept."""
    p = subprocess.Popen([harness.CLI, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    errors = []
    drain = threading.Thread(target=lambda: errors.append(p.stderr.read()))
    drain.start()
    counts = {}
    try:
        for batch in pa.ipc.open_stream(p.stdout):
            for pair in pc.value_counts(batch.column(0)).to_pylist():
                counts[pair["values"]] = counts.get(pair["values"], 0) + pair["counts"]
    except pa.ArrowInvalid:
        pass    # the exit status below says why
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    drain.join()
    assert p.returncode == 0, f"exit {p.returncode}: {errors[0].decode(errors='replace')[:400]}"
    return usage.ru_maxrss * 1024, counts


def main():
    a = harness.arguments(__doc__, limit_mb=dict(type=int, default=LIMIT >> 20))
    harness.CLI = os.environ.get("LAKECDC_RELEASE", harness.CLI)
    top = harness.workspace(a.keep)
    passed = failed = 0
    try:
        # In a process of its own: what a parent holds when it starts the command would count as the command's.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            want = pool.apply(build, (top + "/t",))
        for name, version, words in (("5,000,000 appended rows", 0, []), ("5,000,000 appended rows, two columns and a filter", 0, ["--columns", "id,qty", "--where", "id >= 0"]),
                                     ("copy-on-write over 1,000,000 rows without ids", 1, []), ("the same, paired by identity", 1, ["--identity", "id"])):
            try:
                peak, counts = measured("changes", top + "/t", "--from", version, "--to", version, "--format", "arrow", *words)
                expect = want[version]
                if "--identity" in words:
                    expect = {"update_before": want[1]["insert"], "update_after": want[1]["insert"], "delete": want[1]["delete"] - want[1]["insert"]}
                assert counts == expect, f"rows {counts}, want {expect}"
                assert peak < a.limit_mb << 20, f"peak {peak >> 20} MB, limit {a.limit_mb} MB"
                passed += 1
                print(f"ok   {name}: peak {peak >> 20} MB", flush=True)
            except AssertionError as e:
                failed += 1
                print(f"FAIL {name}: {e}", flush=True)
    finally:
        if not a.keep:
            shutil.rmtree(top, ignore_errors=True)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
