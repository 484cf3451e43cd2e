# SPDX-License-Identifier: Apache-2.0
"""A sync that is killed (kill -9) at random moments and started again: the targets are the table, no row lost, none twice.

The one idea: one sync feeds SQLite, PostgreSQL, a JSONL file and a Parquet archive from one random history at the same
time, each in every mode: all changes, new rows only, whole states, and in the databases the table itself. The history
grows from run to run. Between two runs a person may order a table to begin anew, or to go on elsewhere. After each kill
every target that can be looked at must hold exactly what the builder of the table says of the commit it stands at; at
the end a run is let through, and all of them are held against the truth.

LAKECDC_KILLS says how often (default: the short form).
"""
import collections
import glob
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
from support.postgres import Server
from sync.crash_lakes import KINDS, image

KILLS = int(os.environ.get("LAKECDC_KILLS", "0")) or 15
COMMITS = 200 if "LAKECDC_KILLS" in os.environ else 40
ANEW = "a whole state"


def commit_of(cursor):
    return None if cursor is None else int(cursor.split("/")[2])


# ---------------------------------------------------------------- what targets hold

class Database:
    """Tables as lists of dicts; None for one that is not there yet."""

    def row_of(self, found):
        before = found["lakecdc_op"] in ("delete", "update_before")
        return found["lakecdc_op"], image(found) if before else None, None if before else image(found), int(found["lakecdc_snapshot"])

    def feed(self, name):
        """The rows of a history and the commit that it stands after; None when there is no target yet."""
        at = self.stands(name)
        if at is None:
            return None
        found = sorted(self.rows(name), key=lambda r: int(r["lakecdc_event"]))
        assert [int(r["lakecdc_event"]) for r in found] == list(range(1, len(found) + 1)), "events are not 1, 2, 3 ..."
        return [self.row_of(r) for r in found], commit_of(at["cursor"])

    def state(self, name):
        """The rows, and the commit of which they are the state."""
        at = self.stands(name)
        return None if at is None or at["snapshot"] is None else ([image(r) for r in self.rows(name)], int(at["snapshot"]))

    def stands(self, name):
        return next((r for r in self.rows("lakecdc_cursor") or () if r["target"] == name), None)


class Sqlite(Database):
    name, type = "lite", "sqlite"

    def __init__(self, folder, server, schema):
        self.path = os.path.join(folder, "target.db")
        self.config = {"path": self.path}

    def rows(self, table):
        db = sqlite3.connect(self.path, timeout=30)
        try:
            db.row_factory = sqlite3.Row
            return [dict(r) for r in db.execute(f"SELECT * FROM {table}")]
        except sqlite3.OperationalError as e:
            assert "no such table" in str(e), e
            return None
        finally:
            db.close()


class Postgresql(Database):
    name, type = "pg", "postgresql"

    def __init__(self, folder, server, schema):
        self.server, self.schema = server, schema
        self.config = {"dsn": server.dsn(), "schema": schema}

    def rows(self, table):
        if self.server.rows(f"SELECT to_regclass('{self.schema}.{table}')")[0][0] is None:
            return None
        return [json.loads(r[0]) for r in self.server.rows(f"SELECT to_jsonb(t) FROM {self.schema}.{table} t")]


def split(op, before, after, snapshot):
    if op != "update":
        return [(op, image(before), image(after), snapshot)]
    return [("update_before", image(before), None, snapshot), ("update_after", None, image(after), snapshot)]


class Jsonl:
    name, type = "file", "jsonl"

    def __init__(self, folder, server, schema):
        self.folder, self.config = folder, {}

    def path(self, shape):
        return os.path.join(self.folder, f"{shape}.jsonl")

    def committed(self, shape):
        try:
            with open(self.path(shape) + ".lakecdc.json") as f:
                return json.load(f)
        except FileNotFoundError:
            return None

    def lines(self, shape, upto, replacing):
        """The changes of the first bytes; of a file that is about to take the other's place where that is so."""
        partial = self.path(shape) + ".partial"
        with open(partial if replacing and os.path.exists(partial) else self.path(shape), "rb") as f:
            found = [json.loads(line) for line in f.read(upto).splitlines()]
        return [c for r in found for c in split(r["op"], r["before"], r["after"], r["snapshot"])]

    def feed(self, shape):
        c = self.committed(shape)
        return None if c is None else (self.lines(shape, c["committed"]["offset"], c["replacing"]), commit_of(c["committed"]["cursor"]))

    def state(self, shape):
        c = self.committed(shape)
        if c is None or "window" not in c:
            return None
        return [c[2] for c in self.feed(shape)[0]], c["window"]["snapshot"]

    def without_last(self, shape):
        """What is there when the last window comes again, and which it is; None when it is a whole state."""
        c = self.committed(shape)
        if c is None or c.get("window", {}).get("kind") != 0:
            return None
        return self.lines(shape, c["before"]["offset"], False), c["window"]["snapshot"]


class Archive:
    """Read when all is over."""

    name, type = "archive", "parquet"

    def __init__(self, folder, server, schema):
        self.folder, self.config = folder, {}

    def path(self, shape):
        return os.path.join(self.folder, f"{shape}-archive")

    def at(self, shape):
        found = sorted(glob.glob(self.path(shape) + "/commits/*/*"), key=lambda p: os.path.basename(p).split("_")[0])
        if not found:
            return None
        with open(found[-1] + "/manifest.json") as f:
            return commit_of(json.load(f)["manifest"]["cursor"])

    def feed(self, shape, lake):
        r = harness.changes("archive:" + self.path(shape), "--to", str(lake.ids[-1]))
        return [c for row in harness.rows_of(r.table()) for c in split(*row)], lake.ids[-1]


# ---------------------------------------------------------------- what they must hold

def net(changes):
    """What each commit did, whichever words were used for it."""
    total = collections.Counter()
    for _, before, after, snapshot in changes:
        if before is not None:
            total[snapshot, before] -= 1
        if after is not None:
            total[snapshot, after] += 1
    return +total, -total


def arrivals(changes):
    return collections.Counter((snapshot, after) for _, _, after, snapshot in changes if after is not None)


def difference(got, want):
    return f"too much {list((got - want).items())[:3]}, missing {list((want - got).items())[:3]}"


class Feed:
    """A target that keeps changes: `base`, which it had when a person last spoke, and then those after a commit."""

    def __init__(self, sink, shape, only_new):
        self.sink, self.shape, self.only_new = sink, shape, only_new
        self.may_be = [([], None)]   # (base, after); the last one is to come true, the one before may stand yet

    def order(self, base, after):
        self.may_be = [*self.may_be[-3:], (base, after)]

    def check(self, lake, final=False):
        found = self.sink.feed(self.shape)
        if found is None:
            assert not final, "is not there"
            return
        changes, at = found
        problems = [self.problem(lake, changes, at, *way) for way in (self.may_be[-1:] if final else self.may_be)]
        assert None in problems, f"at commit {at}: {problems[-1]}"
        assert not final or at in lake.ids[-2:], f"stands at {at}, the table at {lake.ids[-1]}"

    def problem(self, lake, changes, at, base, after):
        if changes[:len(base)] != base:
            return "what was there has changed"
        rest = changes[len(base):]
        if at is None:
            return f"{len(rest)} rows and no cursor" if rest else None
        if after is ANEW:
            if not rest:
                return "no whole state"
            after = rest[0][3]
            state = rest[:len(lake.rows(after))]
            rest = rest[len(state):]
            got, want = collections.Counter((op, b, a, s) for op, b, a, s in state), collections.Counter(("insert", None, row, after) for row in lake.rows(after))
            if got != want:
                return f"the state of {after}: {difference(got, want)}"
        truth = lake.changes(after, at) if after is None or lake.place(at) > lake.place(after) else []
        if not self.only_new:
            (more, less), (want_more, want_less) = net(rest), net(truth)
            return None if (more, less) == (want_more, want_less) else f"{difference(more, want_more)}; gone: {difference(less, want_less)}"
        if any(b is not None for _, b, _, _ in rest):
            return "there are old images"
        got, least, most = arrivals(rest), net(truth)[0], arrivals(truth)
        return None if least <= got <= most else difference(got, most)


class State:
    """A target that is the table. One that was sent back goes through old commits again, until it is where it was."""

    def __init__(self, sink, shape):
        self.sink, self.shape, self.until = sink, shape, None

    def check(self, lake, final=False):
        found = self.sink.state(self.shape)
        if found is None or self.until is not None and lake.place(found[1]) < lake.place(self.until):
            assert not final, "is not there"
            return
        got, want = collections.Counter(found[0]), collections.Counter(lake.rows(lake.ids[-1] if final else found[1]))
        assert got == want, f"at commit {found[1]}: {difference(got, want)}"


class Kept:
    """An archive: what its feed adds up to; its changes one by one as long as no whole state came in between."""

    def __init__(self, sink, shape):
        self.sink, self.shape, self.is_plain = sink, shape, shape != "whole"

    def check(self, lake, final=False):
        if not final:
            return
        changes, at = self.sink.feed(self.shape, lake)
        if self.shape == "seen" or self.is_plain:
            problem = Feed(self.sink, self.shape, self.shape == "seen").problem(lake, changes, at, [], None)
            assert not problem, problem
        else:
            left = collections.Counter(a for _, _, a, _ in changes if a is not None)
            left.subtract(b for _, b, _, _ in changes if b is not None)
            want = collections.Counter(lake.rows(at))
            assert +left == want and not -left, difference(+left, want)


# ---------------------------------------------------------------- the sync

MODES = {"copy": "cdc", "history": "cdc", "seen": "incremental", "whole": "full"}


def make_targets(folder, server, schema):
    sinks = [s(folder, server, schema) for s in (Sqlite, Postgresql, Jsonl, Archive)]
    made = {}
    for sink in sinks:
        for shape in MODES:
            if shape == "copy" and not isinstance(sink, Database):
                continue
            if isinstance(sink, Archive):
                made[sink.name, shape] = Kept(sink, shape)
            elif shape in ("history", "seen"):
                made[sink.name, shape] = Feed(sink, shape, shape == "seen")
            else:
                made[sink.name, shape] = State(sink, shape)
    return sinks, made


def write_config(folder, sinks, targets, start):
    tables = {}
    for (name, shape), target in targets.items():
        options = ({"table": shape, "mode": {"copy": "upsert", "whole": "replace"}.get(shape, "history"), **({"if_exists": "adopt"} if shape in ("history", "seen") else {})}
                   if isinstance(target.sink, Database) else {"path": target.sink.path(shape)})
        tables[f"{name} {shape}"] = {"source": "lake", "table": "table", "identity": ["id"], "start": start, "mode": MODES[shape], "sink": name, "sink_options": options}
    path = os.path.join(folder, "sync.yaml")
    with open(path, "w") as f:
        json.dump({"version": 1, "workers": 6, "retry": {"first": "100ms", "most": "1s"}, "sources": {"lake": {"path": folder}},
                   "sinks": {s.name: {"type": s.type, **s.config} for s in sinks}, "tables": tables}, f)
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


# ---------------------------------------------------------------- orders

def ledger(folder, *words):
    r = harness.run("ledger", *words, "--ledger", os.path.join(folder, "ledger.db"))
    assert r.code == 0 or "ledger.unknown_table" in r.err, f"{words}: {r.err}"
    return r.code == 0


def cursor_after(lake, id):
    r = harness.changes(lake.root, "--from", id, "--to", id, "--print-cursor")
    assert r.code == 0, r.err
    return r.err.strip().splitlines()[-1]


def reset(name, target, lake, folder):
    found = target.sink.feed(target.shape) if isinstance(target, Feed) else None
    if isinstance(target, Kept) and target.shape == "seen" or not ledger(folder, "reset", name):
        return
    if isinstance(target, Feed):
        target.order(found[0] if found and isinstance(target.sink, Database) else [], ANEW)
    elif isinstance(target, Kept):
        target.is_plain = False


def go_on_elsewhere(name, target, lake, folder):
    rng, after = lake.rng, None
    if isinstance(target, Feed):
        found = target.sink.feed(target.shape)
        if found is None or found[1] is None:
            return
        base, at = found
        after = rng.choice(lake.ids[max(0, lake.place(at) - 5):])
        again = target.sink.without_last(target.shape) if isinstance(target.sink, Jsonl) else None
        first = lambda upto: next((s for _, b, a, s in lake.changes(after, upto) if a is not None or not target.only_new), None)
        if again and lake.place(again[1]) > lake.place(after) and first(again[1]) == again[1]:
            base = again[0]   # it takes its own place
        target.order(base, after)
    elif isinstance(target, State):
        found = target.sink.state(target.shape)
        if found is None:
            return
        at = lake.place(found[1])
        after = lake.ids[max(0, at - rng.randint(0, 5))]
        if target.shape == "copy" and (target.until is None or lake.place(target.until) < at):
            target.until = found[1]
    else:
        at = target.sink.at(target.shape)
        if at is None or not target.is_plain:
            return
        after = lake.ids[max(0, lake.place(at) - rng.randint(0, 5))]
    assert ledger(folder, "set", name, "--cursor", cursor_after(lake, after))


# ---------------------------------------------------------------- one history

def check_all(targets, lake, final=False):
    for (sink, shape), target in targets.items():
        try:
            target.check(lake, final)
        except AssertionError as e:
            raise AssertionError(f"{sink} {shape}: {e}") from None


def crash(folder, server, kind, kills, seed):
    rng = random.Random(seed)
    schema = f"crash{seed}"
    server.sql(f"CREATE SCHEMA {schema}")
    lake = KINDS[kind](os.path.join(folder, "table"), rng)
    sinks, targets = make_targets(folder, server, schema)
    path = write_config(folder, sinks, targets, lake.start)
    for _ in range(5):
        lake.step()
    began = time.monotonic()
    run(path)
    usual = time.monotonic() - began
    killed = tries = orders = 0
    while killed < kills:
        tries += 1
        assert tries < 20 * kills, f"{killed} kills in {tries} tries"
        for _ in range(min(COMMITS - len(lake.ids), -(-COMMITS // kills)) or 1):
            lake.step()
        began = time.monotonic()
        if run(path, rng.uniform(0.01, usual * 1.2)):
            killed += 1
        else:
            usual = time.monotonic() - began
        check_all(targets, lake)
        for name in rng.sample(sorted(targets), rng.choice([0, 1, 3])):
            rng.choice([reset, go_on_elsewhere])(" ".join(name), targets[name], lake, folder)
            orders += 1
    while len(lake.ids) < COMMITS:
        lake.step()
    lake.add()   # so that the archive, which has commits with rows only, ends where the table does
    run(path)
    check_all(targets, lake)
    check_all(targets, lake, final=True)
    return killed, orders, len(lake.ids)


def main():
    a = harness.arguments(__doc__, kills=dict(type=int, default=KILLS), seed=dict(type=int, default=1), only=dict(help="a word of the kinds to try"))
    passed = failed = 0
    with Server(max_connections="40") as server:
        share = -(-a.kills // len(KINDS))
        for n, kind in enumerate(KINDS):
            if a.only and a.only not in kind:
                continue
            folder = harness.workspace(None, "lakecdc-crash-")
            began = time.monotonic()
            try:
                killed, orders, commits = crash(folder, server, kind, share, a.seed + n)
                print(f"ok   {kind}: {killed} kills and {orders} orders over {commits} commits ({time.monotonic() - began:.1f} s)", flush=True)
                passed += 1
            except AssertionError as e:
                print(f"FAIL {kind} (--seed {a.seed} --kills {a.kills} --only '{kind}', {folder}): {e}", flush=True)
                failed += 1
                continue
            if not a.keep:
                shutil.rmtree(folder, ignore_errors=True)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
