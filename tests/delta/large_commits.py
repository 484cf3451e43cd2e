#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commits that change thousands of rows in every file: past every block, batch and page that small tables fit into, and
large enough that files are decoded by several threads.

Each way of reading a commit (row ids, vectors, content, change files) over three files of 4,000 rows that hardly compress,
two commits that each change, delete and insert rows all over; against the model of tests/support/delta_writer.py, with
one thread and with several, with little memory, with filters and a projection, and in one order every time.
"""
import hashlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import harness
from support.delta_schema import Field, Struct
from support.delta_writer import KEEP, Table

ROWS, FILES = 12_000, 3
SCHEMA = Struct(Field("id", "long"), Field("name", "string"), Field("amount", "double"), Field("qty", "integer"))
TRACKED = {"delta.enableRowTracking": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}


def row(i, salt=""):
    return {"id": i, "name": hashlib.sha256(f"{salt}{i}".encode()).hexdigest() if i % 50 else None, "amount": i / 7, "qty": i % 1000}


def build(root, props, how):
    t = Table(root, SCHEMA, props=props, rng=random.Random(7))
    with t.commit() as c:
        c.append([row(i) for i in range(ROWS)], files=FILES)
    for n in (1, 2):
        fate = random.Random(n)
        with t.commit() as c:
            def change(r):
                p = fate.random()
                return None if p < 0.05 else dict(r, qty=r["qty"] + 1, name=f"changed {n} {r['id']}") if p < 0.45 else KEEP
            c.modify(change, inserts=[row(100_000 * n + i, "new") for i in range(2_000)], how=how)
    return t


def check(t, *words, **request):
    got = harness.rows_of(harness.changes(t.root, *words).table())
    harness.same_rows(got, t.changes(request.get("first", 0), request.get("last", 3)), loose=request.get("loose", False))
    harness.check_order(got, ["id"])
    return got


def every_way(root, props, how, loose=False):
    t = build(root, props, how)
    one = check(t, "--threads", 1, loose=loose)
    for words in (("--threads", 2), ("--threads", 4), ("--threads", 3, "--memory-limit", "2MiB")):
        assert check(t, *words, loose=loose) == one, f"{words}: other rows, or another order"
    check(t, "--from", 2, "--to", 2, first=2, last=2, loose=loose)
    where = [r for r in one if (r[2] or r[1])["qty"] >= 900]
    for words in ((), ("--no-pushdown",), ("--threads", 1), ("--memory-limit", "2MiB")):
        found = harness.rows_of(harness.changes(t.root, "--where", "qty >= 900", *words).table())
        harness.same_rows(found, where)
    narrow = harness.rows_of(harness.changes(t.root, "--columns", "qty,id").table())
    pick = lambda image: image and {"qty": image["qty"], "id": image["id"]}
    harness.same_rows(narrow, [(op, pick(b), pick(a), s) for op, b, a, s in one])
    verified = harness.run("verify", t.root)
    assert verified.code == 0, verified.err


def test_row_ids_copy_on_write(root):
    every_way(root, TRACKED, "cow")


def test_row_ids_and_vectors(root):
    every_way(root, {**TRACKED, **VECTORS}, "dv")


def test_vectors_without_ids(root):
    every_way(root, VECTORS, "dv", loose=True)


def test_content(root):
    every_way(root, {}, "cow", loose=True)


CHANGES_BY_CONTENT = {
    "cheap columns": lambda r, p: dict(r, qty=r["qty"] + 1000) if p < 0.02 else KEEP,
    "texts alone": lambda r, p: dict(r, name=f"changed {r['id']}") if p < 0.02 else KEEP,
    "deletes": lambda r, p: None if p < 0.02 else KEEP,
    "some of each": lambda r, p: None if p < 0.01 else dict(r, name="x") if p < 0.02 else dict(r, amount=-1.0) if p < 0.03 else KEEP,
}


def test_content_in_every_column(root):
    """Whatever the changes are in, with and without equal rows, and whether there is memory to compare rows whole."""
    for copies in (1, 3):
        for name, change in CHANGES_BY_CONTENT.items():
            t = Table(f"{root}/{name} {copies}", SCHEMA, rng=random.Random(7))
            t.unique_ids = copies == 1
            with t.commit() as c:
                c.append([row(i) for i in range(ROWS) for _ in range(copies)], files=FILES)
            fate = random.Random(5)
            with t.commit() as c:
                c.modify(lambda r: change(r, fate.random()), inserts=[row(100_000 + i) for i in range(50)], how="cow")
            for words in ((), ("--memory-limit", "2MiB"), ("--memory-limit", "1MiB"), ("--memory-limit", "2MiB", "--threads", 1)):
                got = harness.rows_of(harness.changes(t.root, "--from", t.latest, *words).table())
                harness.same_rows(got, t.changes(t.latest, t.latest), loose=True)


def test_change_files(root):
    every_way(root, {"delta.enableChangeDataFeed": "true"}, "cow")


if __name__ == "__main__":
    harness.main(__doc__)
