# SPDX-License-Identifier: Apache-2.0
"""Rows and sum(amount) by kind of change, of Arrow batches in any of the shapes a reader of changes gives.

As a program it reads an Arrow IPC stream of change rows (docs/change-row.md) from standard input and prints one line of
JSON: {"rows": n, "groups": {"insert": [rows, sum], ...}}.
"""

import json
import sys

import pyarrow
import pyarrow.compute as compute


def columns(batch):
    """(change words or None, amounts or None) of one batch."""
    names = batch.schema.names
    if "op" in names:
        ops = batch.column("op")
        after, before = (compute.struct_field(batch.column(side), "amount") for side in ("after", "before"))
        return ops, compute.coalesce(after.cast("double"), before.cast("double"))
    amounts = batch.column("amount").cast("double") if "amount" in names else None
    return (batch.column("_change_type").cast("string") if "_change_type" in names else None), amounts


def group(batches):
    """{word: [rows, sum]}; rows that carry no word are inserts, which is what a scan of appended rows gives."""
    totals = {}
    for batch in batches:
        words, amounts = columns(pyarrow.record_batch(batch))
        kinds = ["insert"] if words is None else compute.unique(words).to_pylist()
        for kind in kinds:
            mine = amounts if words is None else amounts.filter(compute.equal(words, kind))
            total = totals.setdefault(kind, [0, 0.0])
            total[0] += len(mine)
            total[1] += compute.sum(mine).as_py() or 0.0
    return totals


def main():
    groups = group(pyarrow.ipc.open_stream(sys.stdin.buffer))
    print(json.dumps({"rows": sum(n for n, _ in groups.values()), "groups": groups}))


if __name__ == "__main__":
    main()
