# SPDX-License-Identifier: Apache-2.0
"""Syncs that are killed at every point of the way: in their first run, at new commits, after commits that are
gone, and when they go on as a person ordered, by `ledger set --cursor` or `ledger reset`.

The one idea: a crash can only leave what stands between two calls that leave something behind, and there are a hundred
of them in a small run. The process is ended before each in turn (support/kill_points.py), and often its successor too;
meanwhile the table goes on. Whatever happened, the sink must end with the rows that were asked for, each once. The sinks
are those that show a window that came twice: histories, files, an archive.

LAKECDC_KILLS: about so many points of each of the 24 walks, spread evenly; from 150 on every one, 2,300 in all. Without it
a fixed few.
"""
import collections
import json
import os
import random
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.tables import FEED, append, delete, table, update
from support import harness
from support.delta_schema import freeze
from support.expected import exact
from support.kill_points import Killer
from support.postgres import Server

EVERY, LONGEST = 150, 300 # so many are asked for every point; a walk has about as many, at most
KILLS = int(os.environ.get("LAKECDC_KILLS", "0"))
ORDERED, LAST = 5, 6      # the table's version when the sync is killed, and at the end


class Lake:
    """The table as it was at some versions, and what the builder knows of it."""

    def __init__(self, folder, loses_commits):
        self.work, self.kept = os.path.join(folder, "work"), os.path.join(folder, "kept")
        self.t = t = table(os.path.join(self.work, "t"), FEED)
        append(t, 1, 2, 3)
        update(t, 1, name="x")
        self.keep(2)
        append(t, 4, 5)
        self.keep(3)
        append(t, 7)
        update(t, 3, 4, name="y")
        if loses_commits:
            t.checkpoint()
            t.cut_log(ORDERED)
        self.keep(ORDERED)
        delete(t, 1, 7)
        self.keep(LAST)

    def keep(self, version):
        shutil.copytree(self.t.root, f"{self.kept}-{version}")

    def show(self, version):
        shutil.rmtree(self.t.root, ignore_errors=True)
        shutil.copytree(f"{self.kept}-{version}", self.t.root)

    def state(self, version):
        return [("insert", None, image, version) for image in self.t.rows(version)]

    def changes(self, first, last):
        return [tuple(c) for c in self.t.changes(first, last)]


NAMES = ["id", "name", "qty", "region"]


def events(found):
    """Rows of a history as change rows; their numbers have no gap."""
    found = sorted(found, key=lambda r: int(r[0]))
    assert [int(r[0]) for r in found] == list(range(1, len(found) + 1)), f"events {[r[0] for r in found]}"
    out = []
    for _, op, snapshot, id, name, qty, region in found:
        image = {"id": int(id), "name": name, "qty": int(qty), "region": region}
        out.append((op, image, None, int(snapshot)) if op in ("delete", "update_before") else (op, None, image, int(snapshot)))
    return out


def halves(changes):
    """Updates with both images as the rows that a history has of them."""
    out = []
    for op, before, after, snapshot in changes:
        out += [("update_before", before, None, snapshot), ("update_after", None, after, snapshot)] if op == "update" else [(op, before, after, snapshot)]
    return out


class Sqlite:
    step = {"first": 11, "commits": 11}, 4    # a sink's commit and the ledger's are at least four points apart

    def __init__(self, lake, _):
        self.path = os.path.join(lake.work, "target.db")
        self.config = {"type": "sqlite", "path": self.path, "table": "h", "mode": "history", "if_exists": "adopt"}

    def save(self):
        pass

    def restore(self):
        pass

    def rows(self):
        db = sqlite3.connect(self.path)
        try:
            return events(db.execute("SELECT lakecdc_event, lakecdc_op, lakecdc_snapshot, id, name, qty, region FROM h").fetchall())
        finally:
            db.close()

    def wanted(self, lake, order):
        if order == "first":
            return [lake.state(2) + lake.changes(3, LAST)]
        if order == "commits":
            return [lake.changes(1, LAST)]
        before = lake.changes(1, 3)
        if order == "back":
            return [before + lake.changes(3, LAST)]
        if order == "forward":
            return [before + lake.changes(5, LAST)]
        return [before + lake.state(v) + lake.changes(v + 1, LAST) for v in (ORDERED, LAST)]


class Postgresql(Sqlite):
    def __init__(self, _, server):
        self.server = server
        self.config = {"type": "postgresql", "dsn": server.dsn(), "table": "h", "mode": "history", "if_exists": "adopt"}
        self.is_kept = False
        server.sql("DROP TABLE IF EXISTS h, lakecdc_cursor, kept_h, kept_cursor")

    def save(self):
        self.is_kept = True
        self.server.sql("CREATE TABLE kept_h AS TABLE h; CREATE TABLE kept_cursor AS TABLE lakecdc_cursor")

    def restore(self):
        self.server.sql("DROP TABLE IF EXISTS h, lakecdc_cursor" if not self.is_kept else"TRUNCATE h; INSERT INTO h TABLE kept_h; DELETE FROM lakecdc_cursor; INSERT INTO lakecdc_cursor TABLE kept_cursor")

    def rows(self):
        return events(self.server.rows("SELECT lakecdc_event, lakecdc_op, lakecdc_snapshot, id, name, qty, region FROM h"))


class Jsonl(Sqlite):
    """The last window takes its own place, a whole state the file's."""
    step = {}, 29

    def __init__(self, lake, _):
        self.path = os.path.join(lake.work, "out.jsonl")
        self.config = {"type": "jsonl", "path": self.path}

    def rows(self):
        with open(self.path) as f:
            return halves([tuple(json.loads(line)[k] for k in ("op", "before", "after", "snapshot")) for line in f])

    def wanted(self, lake, order):
        if order in ("reset", "gap"):
            return [lake.state(v) + lake.changes(v + 1, LAST) for v in (ORDERED, LAST)]
        return [lake.changes(1, LAST)] if order == "back" else super().wanted(lake, order)


class Archive(Sqlite):
    """A window that is there takes its own place; a whole state is compared with what was there before."""
    step = {}, 29

    def __init__(self, lake, _):
        self.path = os.path.join(lake.work, "archive")
        self.config = {"type": "parquet", "path": self.path}

    def rows(self):
        return halves(harness.rows_of(harness.changes("archive:" + self.path, "--to", str(LAST)).table()))

    def wanted(self, lake, order):
        return [lake.changes(1, LAST)] if order == "back" else super().wanted(lake, order)


def left(changes):
    """What is there after all of them."""
    there = collections.Counter()
    for _, before, after, _ in changes:
        there.update([freeze(after)] if after else [])
        there.subtract([freeze(before)] if before else [])
    return +there, -there


def check(sink, lake, order, what):
    got = sink.rows()
    if isinstance(sink, Archive) and order in ("reset", "gap"):
        assert left(got) == (collections.Counter(freeze(r) for r in lake.t.rows()), collections.Counter()), f"{what}: the archive is not the table"
        return
    wanted = sink.wanted(lake, order)
    if any(exact(got) == exact(halves(w)) for w in wanted):
        return
    extra, lost = exact(got) - exact(halves(wanted[0])), exact(halves(wanted[0])) - exact(got)
    raise AssertionError(f"{what}: too much {sorted(map(str, extra.elements()))[:4]}, missing {sorted(map(str, lost.elements()))[:4]}")


def sync(path, env=None):
    r = harness.run("sync", path, "--once", env=env)
    assert r.code == 0 or env and r.code == -9, f"exit {r.code}: {r.err[-2000:]}"
    return r.code == 0


def cursor_after(lake, version):
    r = harness.changes(lake.t.root, "--from", version, "--to", version, "--print-cursor")
    assert r.code == 0, r.err
    return r.err.strip()


ORDERS = {"back": lambda lake: ["set", "t", "--cursor", cursor_after(lake, 2)], "forward": lambda lake: ["set", "t", "--cursor", cursor_after(lake, 4)],
          "reset": lambda lake: ["reset", "t"]}


def prepare(folder, sink_of, server, order):
    """A target that has the first three versions, but in the first run, a table that went on, and an order in the ledger."""
    lake = Lake(folder, order == "gap")
    sink = sink_of(lake, server)
    path, ledger = os.path.join(lake.work, "sync.yaml"), os.path.join(lake.work, "ledger.db")
    with open(path, "w") as f:
        json.dump({"version": 1, "sources": {"lake": {"path": lake.work}}, "sinks": {"out": sink.config},
                   "tables": {"t": {"source": "lake", "table": "t", "start": "2" if order == "first" else "0", "identity": ["id"], "sink": "out", "on_gap": "resnapshot"}}}, f)
    for version in (2, 3) if order != "first" else ():
        lake.show(version)
        sync(path)
    lake.show(ORDERED)
    if order in ORDERS:
        r = harness.run("ledger", *ORDERS[order](lake), "--ledger", ledger)
        assert r.code == 0, r.err
    if order != "first":
        sink.save()
    shutil.copytree(lake.work, lake.kept)
    return lake, sink, path


def walk(folder, sink_of, server, order, killer, rng):
    """How many points there are."""
    lake, sink, path = prepare(folder, sink_of, server, order)
    step = sink.step[0].get(order, sink.step[1]) if not KILLS else 1 if KILLS >= EVERY else LONGEST // KILLS
    n = rng.randint(1, step)
    while True:
        shutil.rmtree(lake.work)
        shutil.copytree(lake.kept, lake.work)
        sink.restore()
        what = f"killed at {n}"
        if sync(path, killer.env(n)):
            break
        if rng.random() < 0.5:
            lake.show(LAST)
        if rng.random() < 0.5:
            again = rng.randint(1, n + 9)
            what += f" and {again}"
            sync(path, killer.env(again))
        lake.show(LAST)
        sync(path)
        sync(path)
        check(sink, lake, order, what)
        n += step
    lake.show(LAST)
    sync(path)
    check(sink, lake, order, "not killed")
    return n - 1


def main():
    a = harness.arguments(__doc__, seed=dict(type=int, default=1), only=dict(nargs="*", help="sinks and orders"))
    passed = failed = 0
    with Server() as server, Killer() as killer:
        for sink_of in (Sqlite, Postgresql, Jsonl, Archive):
            for order in ("first", "commits", "gap", *ORDERS):
                name = f"{sink_of.__name__.lower()}, {order}"
                if a.only and not all(word in name for word in a.only):
                    continue
                folder = harness.workspace(None, "lakecdc-points-")
                try:
                    points = walk(folder, sink_of, server, order, killer, random.Random(a.seed))
                    assert points > 20, f"{points} points"
                    print(f"ok   {name}: {points} points", flush=True)
                    passed += 1
                except AssertionError as e:
                    print(f"FAIL {name} (--seed {a.seed}): {e}", flush=True)
                    failed += 1
                shutil.rmtree(folder, ignore_errors=True)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
