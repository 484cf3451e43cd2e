# SPDX-License-Identifier: Apache-2.0
"""A sync that is killed (kill -9) at random moments and started again: the targets are the table, no row lost, none twice.

The one idea: one sync feeds five targets from one random Delta history at the same time: the table itself in SQLite and in
PostgreSQL, every change of it in both, and a Parquet archive. The history grows from run to run. After each kill SQLite
and PostgreSQL must hold exactly what the builder of the table says of the commit they stand at; at the end a run is let
through, and all five are held against the truth.

LAKECDC_KILLS says how often (default: the short form).
"""
import collections
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import harness
from support.delta_schema import Field, Struct
from support.delta_writer import KEEP, Table
from support.expected import signed
from support.postgres import Server

COMMITS = 200
KILLS = int(os.environ.get("LAKECDC_KILLS", "0")) or 20
KINDS = {"vectors and row ids": {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}, "rewritten files": {},
         "recorded changes": {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}}


class History:
    """A table with one identity column, whose rows keep changing."""

    def __init__(self, root, props, rng):
        self.rng, self.next = rng, 0
        self.dv = props.get("delta.enableDeletionVectors") == "true"
        self.t = Table(root, Struct(Field("id", "long"), Field("name", "string"), Field("qty", "integer"), Field("price", "decimal(12,2)"), Field("at", "timestamp")), props=props,
                       rng=rng)

    def row(self, id=None):
        r = self.rng
        if id is None:
            self.next += 1
        row = {"id": self.next if id is None else id, "name": r.choice([None, "", "it's", "tab\there", "back\\slash", "日本", "x" * 300]), "qty": r.choice([None, r.randint(-9, 9)]),
               "price": None, "at": None}
        return {**row, **{n: None for n in self.t.schema.names() if n not in row}, **({"extra": r.choice([None, "e"])} if "extra" in self.t.schema.names() else {})}

    def step(self):
        r, t = self.rng, self.t
        what = r.random()
        chance = r.choice([0.02, 0.1, 0.3])
        change = lambda row: KEEP if r.random() > chance else None if r.random() < 0.3 else self.row(row["id"])
        with t.commit() as c:
            if what < 0.35 or not t.rows():
                c.append([self.row() for _ in range(r.randint(1, 40))], r.randint(1, 2))
            elif what < 0.8:
                c.modify(change, [self.row() for _ in range(r.randint(0, 5))], "dv" if self.dv and r.random() < 0.7 else "cow")
            elif what < 0.87:
                c.optimize()
            elif what < 0.92:
                kept = r.sample(t.rows(), len(t.rows()) // 2)
                c.overwrite(kept + [self.row() for _ in range(r.randint(0, 9))], 2)
            elif what < 0.96 and "extra" not in t.schema.names():
                c.evolve(t.schema.adding(Field("extra", "string"), None))
            else:
                c.raw({"txn": {"appId": "loader", "version": t.latest, "lastUpdated": 1}})


def same(row):
    return tuple(None if v is None else str(v) for v in row)


class Targets:
    """What the databases hold: rows of (id, name, qty[, extra]) as texts."""

    def __init__(self, folder, server, schema):
        self.path, self.server, self.schema = os.path.join(folder, "target.db"), server, schema

    def sqlite(self, sql):
        db = sqlite3.connect(self.path, timeout=30)
        try:
            return [same(r) for r in db.execute(sql)]
        finally:
            db.close()

    def postgresql(self, sql):
        return self.server.rows(f"SET search_path = {self.schema}; {sql}")


def columns(t, version):
    return [n for n in t.versions[version].schema.names() if n not in ("price", "at")]


def check_database(name, ask, t, with_history=True):
    """The target at the commit it stands at, and its history up to the commit that it stands at."""
    try:
        cursors = dict(ask("SELECT target, snapshot FROM lakecdc_cursor"))
    except Exception:
        return 0   # killed before there was one
    at = cursors.get("copy")
    if at is not None:
        names = ", ".join(columns(t, int(at)))
        got, want = collections.Counter(ask(f"SELECT {names} FROM copy")), collections.Counter(same([r[n] for n in columns(t, int(at))]) for r in t.rows(int(at)))
        assert got == want, f"{name} at commit {at}: {list((got - want).items())[:3]} too much, {list((want - got).items())[:3]} missing"
    upto = cursors.get("history")
    if upto is not None and with_history:
        names = columns(t, int(upto))
        found = ask(f"SELECT lakecdc_event, lakecdc_op, lakecdc_snapshot, {', '.join(names)} FROM history ORDER BY lakecdc_event")
        assert [int(r[0]) for r in found] == list(range(1, len(found) + 1)), f"{name}: events are not 1, 2, 3 ..."
        rows = [(r[1], None, dict(zip(names, r[3:])), int(r[2])) if r[1] in ("insert", "update_after") else (r[1], dict(zip(names, r[3:])), None, int(r[2])) for r in found]
        plain = lambda image: image and {n: same([image[n]])[0] for n in names}
        truth = [(op, plain(b), plain(a), s) for op, b, a, s in t.changes(1, int(upto))]
        assert signed(rows) == signed(truth), f"{name}: the history up to commit {upto} is not the table's"
    return int(at or 0)


def config(folder, server, schema):
    table = {"source": "lake", "table": "table", "identity": ["id"], "start": "0"}
    sinks = {"lite": {"type": "sqlite", "path": os.path.join(folder, "target.db")}, "pg": {"type": "postgresql", "dsn": server.dsn(), "schema": schema},
             "files": {"type": "parquet", "path": os.path.join(folder, "archive")}}
    tables = {f"{sink} {kind}": {**table, "sink": sink, "sink_options": {"table": kind, "mode": mode}} for sink in ("lite", "pg") for kind, mode in
              (("copy", "upsert"), ("history", "history"))}
    tables["archive"] = {**table, "sink": "files"}
    path = os.path.join(folder, "sync.yaml")
    with open(path, "w") as f:
        json.dump({"version": 1, "workers": 5, "retry": {"first": "100ms", "most": "1s"}, "sources": {"lake": {"path": folder}}, "sinks": sinks, "tables": tables}, f)
    return path


def run(path, kill_after=None):
    """Whether the run was killed; one that is not must succeed, unless it came too soon after the one before."""
    log = tempfile.TemporaryFile()
    p = subprocess.Popen([harness.CLI, "sync", path, "--once", "--log-format", "json"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        p.wait(kill_after)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return True
    log.seek(0)
    said = log.read().decode(errors="replace")
    assert p.returncode == 0 or kill_after is not None and "sink.locked" in said, f"exit {p.returncode}: {said[-3000:]}"
    return False


def crash(folder, server, kind, kills, seed):
    rng = random.Random(seed)
    schema = f"crash{seed}"
    server.sql(f"CREATE SCHEMA {schema}")
    history = History(os.path.join(folder, "table"), KINDS[kind], rng)
    t, path, targets = history.t, config(folder, server, schema), Targets(folder, server, schema)
    for _ in range(5):
        history.step()
    began = time.monotonic()
    run(path)
    usual = time.monotonic() - began
    killed = tries = 0
    while killed < kills:
        tries += 1
        assert tries < 20 * kills, f"{killed} kills in {tries} tries"
        for _ in range(min(COMMITS - t.latest, -(-COMMITS // kills))):
            history.step()
        if run(path, rng.uniform(0.01, usual * 1.2)):
            killed += 1
        for name, ask in (("sqlite", targets.sqlite), ("postgresql", targets.postgresql)):
            at = check_database(name, ask, t, rng.random() < 0.3)
        if t.latest >= COMMITS and at >= t.latest - 1:
            history.step()   # there is always something to do
    while t.latest < COMMITS:
        history.step()
    with t.commit() as c:
        c.append([history.row()])   # so that the archive, which has commits with rows only, ends where the table does
    run(path)
    for name, ask in (("sqlite", targets.sqlite), ("postgresql", targets.postgresql)):
        check_database(name, ask, t)
        got, names = collections.Counter(ask(f"SELECT {', '.join(columns(t, t.latest))} FROM copy")), columns(t, t.latest)
        assert got == collections.Counter(same([r[n] for n in names]) for r in t.rows()), f"{name} is not the table"
    got = harness.changes(f"archive:{folder}/archive", "--from", "1", "--to", str(t.latest)).table()
    have = [(op, b, a, s) for op, b, a, s in harness.rows_of(got)]
    assert signed(have) == signed(t.changes(1, t.latest)), "the archive is not the table's feed"
    return killed, t.latest


def main():
    a = harness.arguments(__doc__, kills=dict(type=int, default=KILLS), seed=dict(type=int, default=1))
    passed = failed = 0
    with Server() as server:
        share = -(-a.kills // len(KINDS))
        for n, kind in enumerate(KINDS):
            folder = harness.workspace(None, "lakecdc-crash-")
            began = time.monotonic()
            try:
                killed, commits = crash(folder, server, kind, share, a.seed + n)
                print(f"ok   {kind}: {killed} kills over {commits} commits ({time.monotonic() - began:.1f} s)", flush=True)
                passed += 1
            except AssertionError as e:
                print(f"FAIL {kind} (--seed {a.seed + n}, {folder}): {e}", flush=True)
                failed += 1
                continue
            if not a.keep:
                shutil.rmtree(folder, ignore_errors=True)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
