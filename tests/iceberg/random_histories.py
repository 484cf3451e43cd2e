#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random histories of Iceberg tables, v1 to v3: the feed of any range is exactly the difference of the states.

The one idea: `histories.make` walks from a seed, the builder keeps every state, and a handful of requests drawn from
the same seed (whole range, part, identity, fold, net, filter, projection, branch) must give the rows that follow from
the states. A failing history prints its seed, its steps and the command; --seed runs it alone.
"""
import os, shutil, sys, time, traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import histories
from support import harness, predicate
from support.iceberg_harness import Range, check_range

FILTER_ONLY_NULL = ("uuid", "time", "timestamp_ns", "binary", "fixed[4]")      # no literal is drawn for these


def ranges(h):
    """(first, last) pairs: last on main's line, first an ancestor that can still be read, None for the beginning."""
    t, line = h.table, h.table.line(h.table.current)
    starts = ([None] if line[0].parent is None else []) + line
    def draw():
        last = h.rng.choice(line)
        possible = [s for s in starts if s is None or line.index(s) <= line.index(last)]
        return h.rng.choice(possible), last
    return [(starts[0], t.current)] + [draw() for _ in range(3)]


def random_where(h, schema):
    leaves = {p: "binary" if k in FILTER_ONLY_NULL else k for p, k in h.leaves(schema).items()}

    def draw(kind):
        while True:
            v = histories.value(h.rng, kind, 0)
            if v == v and v not in (float("inf"), float("-inf")):
                return histories.literal(kind, v)
    kinds = {**leaves, "id": "long"}
    return predicate.random_filter(h.rng, kinds, draw)


def unique(h, s):
    ids = [r.values["id"] for r in h.table.rows(s)] if s else []
    return len(ids) == len(set(ids))


def requests(h):
    """Keyword arguments for check_range, all drawn from the history's own seed."""
    r, spans = h.rng, ranges(h)
    names = lambda last: [f.name for f in last.schema]
    yield dict(first=spans[0][0], last=spans[0][1], identity_of_order=["id"] if h.keyed else None)
    first, last = spans[1]
    yield dict(first=first, last=last, where=random_where(h, last.schema), columns=r.sample(names(last), r.randint(1, len(names(last)))) if r.random() < 0.6 else None, words=["--no-pushdown"] if r.random() < 0.2 else [])
    first, last = spans[2]
    if h.keyed and all(unique(h, x) for x in spans[3]):      # a delete taken away may bring a second row with an id
        yield dict(first=first, last=last, identity=["id"], fold=r.random() < 0.5, where=random_where(h, last.schema) if r.random() < 0.4 else None, drop_noop=r.random() < 0.2)
        first, last = spans[3]
        yield dict(first=first, last=last, identity=["id"], net=True, fold=r.random() < 0.4, where=random_where(h, last.schema) if r.random() < 0.3 else None)
    elif not h.keyed and not h.lineage_seen:
        yield dict(first=first, last=last, net=True, columns=r.sample(names(last), 2) if r.random() < 0.3 else None)
    if "side" in h.table.refs:
        side = h.table.refs["side"][0]
        line = h.table.line(side)
        if line[0] is not side or side.parent is None:
            yield dict(first=None if line[0].parent is None else line[0], last=side, branch="side")


def check_verify(h):
    """The command that checks the law agrees."""
    first, last = ranges(h)[1]
    r = harness.run("verify", h.table.root, *Range(first, last).words())
    assert r.code == 0, f"exit {r.code}: {r.err.strip()[:400]}\n    {r.command}"


def main():
    a = harness.arguments(__doc__, histories=dict(type=int, default=200, help="how many"), base=dict(type=int, default=20260801, help="the first seed"), seed=dict(type=int, help="run this one history"))
    seeds = [a.seed] if a.seed is not None else range(a.base, a.base + a.histories)
    print(f"seeds {seeds[0]} to {seeds[-1]}", flush=True)
    top, passed, failed, asked, began = harness.workspace(a.keep), 0, 0, 0, time.monotonic()
    try:
        for seed in seeds:
            root, h = os.path.join(top, str(seed)), None
            try:
                h = histories.make(root, seed)
                for q in requests(h):
                    asked += 1
                    check_range(h.table, **q)
                if h.rng.random() < 0.25:
                    asked += 1
                    check_verify(h)
                passed += 1
                if not a.keep:
                    shutil.rmtree(root)
            except Exception as e:
                failed += 1
                print(f"FAIL seed {seed}, v{h.table.version if h else '?'} {', '.join(h.trace) if h else ''}\n    {e if isinstance(e, AssertionError) else traceback.format_exc()}", flush=True)
    finally:
        if not a.keep:
            shutil.rmtree(top, ignore_errors=True)
    print(f"{asked} requests in {time.monotonic() - began:.0f} s")
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
