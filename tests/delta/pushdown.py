#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pushing columns and filters down never changes the rows: every request is run both ways.

The one idea: `--no-pushdown` makes the command read everything and filter at the end. Each oracle request that has
columns or a filter, further filters over the oracle tables, and filters aimed at the traps of statistics (truncated
bounds, NaN, nulls, negative zero, loose bounds, missing columns) must give equal rows with and without it.
"""
import datetime as dt
import glob
import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pyarrow.parquet as pq
from delta.tables import DV, FEED, TRACKED, WIDEN, table
from support import harness
from support.delta_schema import Array, Field, Struct
from support.delta_writer import KEEP
from support.expected import Request
from support.harness import changes, check_request, rows_of
from support.predicate import random_filter, text

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle", "cases", "delta")


def both(root, words, count):
    """Same rows, same order of commits, with and without pushdown."""
    pushed, plain = changes(root, *words), changes(root, *words, "--no-pushdown")
    try:
        a, b = pushed.table(), plain.table()
        assert a.schema == b.schema, f"schema {a.schema} without pushdown {b.schema}"
        harness.same_rows(rows_of(a), rows_of(b))
        count[0] += a.num_rows
    except AssertionError as e:
        raise pushed.blame(e) from None


def oracle_requests():
    for path in sorted(glob.glob(CASES + "/*/case.json")):
        case = json.load(open(path))
        folder = os.path.dirname(path)
        for q in case["requests"]:
            if "from_version" in q and "error_mentions" not in q:
                yield folder, os.path.join(folder, case["table"]), q


def test_oracle_requests(d):
    seen = [0]
    for _, root, q in oracle_requests():
        if not (q.get("where") or q.get("columns")):
            continue
        words = ["--from", q["from_version"], "--to", q["to_version"], "--identity", ",".join(q["identity"])]
        if q.get("where"):
            words += ["--where", q["where"]]
        if q.get("columns"):
            words += ["--columns", ",".join(q["columns"])]
        both(root, words, seen)
    assert seen[0] > 100, f"only {seen[0]} rows compared"


def test_further_filters_over_the_oracle_tables(d):
    """Literals are drawn from the expected rows themselves, so that filters cut inside files."""
    rng, seen = random.Random(7), [0]
    done = set()
    for folder, root, q in oracle_requests():
        if folder in done:
            continue
        done.add(folder)
        want = pq.read_table(os.path.join(folder, q["expected"]))
        everything = list(want.schema.field("after").type)
        fields = [f for f in everything if str(f.type).split("[")[0].split("(")[0] in ("int64", "int32", "int16", "int8", "string", "double", "float", "date32", "timestamp", "decimal128", "bool")]
        kinds = {f.name: {"string": "string", "bool": "boolean"}.get(str(f.type), str(f.type)) for f in fields}
        images = [r["after"] or r["before"] for r in want.to_pylist()]
        pool = {f.name: [r[f.name] for r in images if r[f.name] is not None and not (isinstance(r[f.name], float) and not math.isfinite(r[f.name]))] for f in fields}
        by_name = lambda name: rng.choice(pool[name])
        for _ in range(6):
            p = _filter(rng, [n for n in kinds if pool[n]], kinds, by_name)
            words = ["--from", q["from_version"], "--to", q["to_version"], "--where", text(p)]
            if rng.random() < 0.5:
                words += ["--columns", ",".join(f.name for f in rng.sample(everything, 2))]
            both(root, words, seen)
    assert seen[0] > 100, f"only {seen[0]} rows compared"


def _filter(rng, usable, kinds, draw):
    name = rng.choice(sorted(usable))
    leaf = random_filter(rng, {name: kinds[name]}, lambda _: draw(name), 1)
    if rng.random() < 0.5:
        other = rng.choice(sorted(usable))
        return (rng.choice(["and", "or"]), [leaf, random_filter(rng, {other: kinds[other]}, lambda _: draw(other), 0)])
    return leaf


def trap(d, *props, stats="full", **style):
    """Three files, a few row groups each, with bounds that are easy to misread."""
    s = Struct(Field("id", "long"), Field("f", "double"), Field("name", "string"), Field("at", "timestamp"), Field("n", "integer"), Field("st", Struct(Field("x", "long"))), Field("l", Array("integer")))
    t = table(d, *props, schema=s)
    t.style.row_group_size, t.style.stats = 4, stats
    for k, v in style.items():
        setattr(t.style, k, v)
    nan = float("nan")
    at = lambda us: dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(microseconds=us)
    make = lambda i, **m: dict({"id": i, "f": float(i), "name": f"n{i}", "at": at(i * 1000 + 999), "n": i, "st": {"x": i}, "l": [i]}, **m)
    with t.commit() as c:
        c.append([make(i) for i in range(9)] + [make(9, f=nan), make(10, f=-0.0)])
        c.append([make(i, f=nan, n=None) for i in range(20, 26)])
        c.append([make(i, name="x" * 40 + chr(ord("a") + i - 30), st=None if i % 2 else {"x": None}) for i in range(30, 38)])
        c.append([make(i, f=0.0, name="\U0001f600" * 33) for i in range(40, 44)])
    return t


def traps():
    utc = dt.timezone.utc
    base = dt.datetime(2024, 1, 1, tzinfo=utc)
    return [
        ("cmp", "f", "=", 0.0), ("cmp", "f", "<", 1.0), ("cmp", "f", ">", 8.0), ("cmp", "f", ">=", 1e300), ("not", ("cmp", "f", "<", 100.0)), ("cmp", "f", "<>", 3.0),
        ("cmp", "name", "=", "x" * 40 + "h"), ("cmp", "name", ">", "x" * 40 + "g"), ("cmp", "name", ">=", "x" * 33), ("like", "name", "x" * 39 + "%", False), ("cmp", "name", ">", "\U0001f600" * 32),
        ("cmp", "at", ">", base + dt.timedelta(microseconds=43_998)), ("cmp", "at", "=", base + dt.timedelta(microseconds=43_999)), ("cmp", "at", ">=", base + dt.timedelta(microseconds=10_999)),
        ("null", "n", False), ("null", "n", True), ("cmp", "n", "<>", 1), ("in", "n", [1, 2, None], True), ("in", "n", [1, 30, None], False), ("not", ("in", "n", [1, 2], False)),
        ("null", "st.x", False), ("cmp", "st.x", ">", 5), ("null", "l", True), ("not", ("null", "st.x", False)),
        ("and", [("cmp", "id", ">", 5), ("or", [("cmp", "n", "=", 7), ("null", "n", False)])]), ("between", "id", 8, 21, False), ("between", "id", 8, 21, True), ("between", "id", 9, 3, False),
    ]


def test_traps_of_statistics(d):
    n = 0
    for name, props, style in (("plain", (), {}), ("feed", (FEED,), {}), ("ids", (TRACKED,), {}), ("vectors", (DV,), {}), ("both", (DV, TRACKED), {}), ("bare", (DV,), {"bare_removes": True}), ("none", (), {"stats": "none"})):
        t = trap(f"{d}/{name}", *props, **style)
        how = "dv" if DV in props else "cow"
        with t.commit() as c:
            c.modify(lambda r: None if r["id"] in (0, 21, 33) else dict(r, n=77, name="changed") if r["id"] in (3, 25, 37, 43) else KEEP, how=how)
        for i, p in enumerate(traps()):
            q = Request(1, 2, where=p, **({"columns": ["l", "id"], "identity": ["id"]} if (i + len(name)) % 2 else {}))
            check_request(t, q)
            check_request(t, q, words=["--no-pushdown"])
            n += 2
    assert n > 300


def test_filter_on_a_column_some_files_do_not_have(d):
    t = table(d + "/t", WIDEN, schema=Struct(Field("id", "long"), Field("v", "integer")))
    with t.commit() as c:
        c.append([{"id": i, "v": i} for i in range(10)])
    with t.commit() as c:
        c.evolve(t.schema.adding(Field("later", "string")).widening("v", "long"))
    with t.commit() as c:
        c.append([{"id": 20, "v": 2**40, "later": "x"}, {"id": 21, "v": 5}])
    with t.commit() as c:
        c.modify(lambda r: None if r["id"] in (1, 20) else KEEP)
    for p in (("null", "later", False), ("cmp", "later", "=", "x"), ("null", "later", True), ("cmp", "v", ">", 2**33), ("cmp", "v", "=", 5), ("not", ("cmp", "later", "=", "x"))):
        for columns in (None, ["id"], ["later"]):
            for words in ([], ["--no-pushdown"]):
                check_request(t, Request(1, 4, where=p, columns=columns), words=words)


def test_net_and_noop_are_decided_before_the_filter(d):
    t = table(d + "/t", FEED, schema=Struct(Field("id", "long"), Field("v", "integer")))
    with t.commit() as c:
        c.append([{"id": i, "v": i} for i in range(20)])
    for step in (1, 2, 3):
        with t.commit() as c:
            c.modify(lambda r: dict(r, v=r["v"] + step if r["id"] % 3 else r["v"]) if r["id"] % 2 else KEEP)
    with t.commit() as c:
        c.modify(lambda r: dict(r, v=r["id"]) if r["id"] < 10 else None if r["id"] > 15 else KEEP)
    for p in (("cmp", "v", ">", 8), ("cmp", "v", "=", 5), ("between", "v", 3, 11, False), ("cmp", "id", "<", 4)):
        for options in (dict(net=True), dict(drop_noop=True), dict(net=True, fold=True), dict(fold=True)):
            for words in ([], ["--no-pushdown"]):
                check_request(t, Request(2, t.latest, where=p, identity=["id"], columns=["v"], **options), words=words)


if __name__ == "__main__":
    harness.main(__doc__)
