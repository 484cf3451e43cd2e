#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that are rewritten, compacted, evolved, expired, rolled back and made anew while a listener runs.

The one idea: each table has three targets: a JSONL file, an SQLite table, and one that may begin anew (`on_gap:
resnapshot`). After whatever happened the first two are the table or stopped with a state that says why, and the command
that the message names brings them back; the third is the table in any case. A reader that is slow is one that does not
get the processor: SIGSTOP holds the listener, wherever it is, while the writers are at work.
"""
import json
import os
import random
import shlex
import shutil
import signal
import sqlite3
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.tables import DV, FEED, TRACKED, WIDEN, append, delete, row, table, update
from support import harness
from support.delta_schema import Field, Struct
from support.harness import main
from support.iceberg_writer import Table as IcebergTable
from sync.running import Sync

TARGETS = ("", "_db", "_again")
COLUMNS = [("id", "long"), ("name", "string"), ("qty", "int"), ("region", "string")]  # as delta.tables has them


class Delta:
    """A Delta table whose writer is told what to do."""

    def __init__(self, root, *props, **options):
        self.root, self.props, self.options = root, props, options
        self.t = table(root, *props, **options)

    def tip(self):
        return self.t.latest

    def rows(self):
        return {r["id"]: r for r in self.t.rows()}

    def append(self, *ids):
        append(self.t, *ids)

    def update(self, *ids, how="cow", **values):
        update(self.t, *ids, how=how, **values)

    def delete(self, *ids, how="cow"):
        delete(self.t, *ids, how=how)

    def compact(self, rng=None):
        with self.t.commit(operation="OPTIMIZE") as c:
            c.optimize()

    def rewrite(self):
        """The same rows in other files, by a writer that says that it changed data."""
        with self.t.commit() as c:
            c.optimize(data_change=True)

    def add_column(self, name):
        with self.t.commit(operation="ADD COLUMNS") as c:
            c.evolve(Struct(*self.t.versions[-1].schema.fields, Field(name, "string")))

    def forget(self):
        """Log cleanup and VACUUM: nothing but the latest state is left."""
        self.t.checkpoint()
        self.t.cut_log(self.t.latest)
        self.t.vacuum()

    def make_anew(self, *ids):
        shutil.rmtree(self.root)
        self.t = table(self.root, *self.props, **self.options)
        append(self.t, *ids)


class Iceberg:
    def __init__(self, root, version=2):
        self.root, self.version, self.generation = root, version, 0
        self.i = IcebergTable(root, COLUMNS, version=version)
        self.i.save()

    def tip(self):
        return self.i.current.id

    def rows(self):
        return {r.values["id"]: r.values for r in self.i.rows(schema=self.i.schema)}

    def append(self, *ids):
        self.i.append([row(i) for i in ids])
        self.i.save()

    def update(self, *ids, how="cow", **values):
        change = lambda r: dict(r, **values)
        (self.i.update_cow if how == "cow" else self.i.update_mor)(lambda r: r["id"] in ids, change)
        self.i.save()

    def delete(self, *ids, how="cow"):
        (self.i.delete_cow if how == "cow" else self.i.delete_mor)(lambda r: r["id"] in ids)
        self.i.save()

    def compact(self):
        self.i.compact(list(self.i.current.data))
        self.i.save()

    def rewrite(self):
        self.i.compact(list(self.i.current.data), operation="overwrite")
        self.i.save()

    def add_column(self, name):
        self.i.add_column(name, "string")
        self.i.save()

    def make_anew(self, *ids):
        shutil.rmtree(self.root)
        self.generation += 1
        self.i = IcebergTable(self.root, COLUMNS, version=self.version, seed=self.generation)
        make, id = self.i.metadata, f"{self.generation:08x}-1111-4111-8111-111111111111"
        self.i.metadata = lambda: {**make(), "table-uuid": id}
        self.i.save()
        self.append(*ids)

    def forget(self):
        """Expires all snapshots but the current one, and removes the files that only they need."""
        current = self.i.current
        gone = [s for s in self.i.snapshots if s is not current]
        self.i.expire(gone)
        self.i.save()
        needed = {current.list_path} | {m.path for m in current.manifests} | {f.path for f in current.data + current.deletes}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith((".avro", ".parquet", ".puffin")) and path not in needed:
                    os.remove(path)


def lake(d, kinds=("feed", "plain", "vectors", "ice2", "ice3")):
    """Tables of these kinds, each with the rows 1 .. 4."""
    make = {"feed": lambda p: Delta(p, FEED), "plain": lambda p: Delta(p, WIDEN, features=("typeWidening",)), "vectors": lambda p: Delta(p, DV, TRACKED), "ice2": Iceberg,
            "ice3": lambda p: Iceberg(p, 3)}
    tables = {kind: make[kind](f"{d}/{kind}") for kind in kinds}
    for t in tables.values():
        t.append(1, 2)
        t.append(3, 4)
    return tables


class Lake:
    """The tables, the sync over them, and the listener that runs."""

    def __init__(self, d, tables, **options):
        self.d, self.tables = d, tables
        db = {"sink": "db", "sink_options": {}}
        self.s = Sync(d, {name + target: {"table": name, **options, **(db if target else {}), **({"on_gap": "resnapshot"} if target == "_again" else {})}
                          for name in tables for target in TARGETS})
        self.s.config["sinks"]["db"] = {"type": "sqlite", "path": "db.sqlite"}
        self.s.save()
        self.run = None

    def __enter__(self):
        self.run = self.s.start()
        return self

    def __exit__(self, *words):
        self.run.__exit__(*words)

    def held(self):
        return Held(self.run.process)

    def targets(self, *names):
        return [name + target for name in names for target in TARGETS]

    def state(self, target):
        r = harness.run("ledger", "show", target, "--json", "--ledger", self.d + "/ledger.db")
        if r.code == 0:
            return json.loads(r.out)
        assert "there is no ledger" in r.err or "ledger.unknown_table" in r.err, r.err
        return {"state": "new", "cursor": None, "last_error": None}

    def file_rows(self, name):
        """The rows that the changes of a file add up to. A row twice, or one gone twice, is a failure."""
        rows = {}
        for change in self.s.lines(name):
            op, before, after = change["op"], change["before"], change["after"]
            if op in ("delete", "update_before", "update"):
                old = rows.pop(before["id"], None)
                assert old is not None and all(old.get(k) == v for k, v in before.items()), f"{name}: {op} of a row that is not there: {before}, but {old}"
            if op in ("insert", "update_after", "update"):
                assert after["id"] not in rows, f"{name}: {op} of a row that is there: {after}"
                rows[after["id"]] = after
        return rows

    def database_rows(self, name):
        with sqlite3.connect(self.d + "/db.sqlite", timeout=30) as db:
            db.row_factory = sqlite3.Row
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                return {}
            return {r["id"]: dict(r) for r in db.execute(f'SELECT * FROM "{name}"')}

    def differs(self, target):
        """What a target and its table do not agree on; None when it is the table, and was read up to its tip."""
        name = target.partition("_")[0]
        t = self.tables[name]
        found = self.state(target)
        if not found["cursor"] or int(found["cursor"].split("/")[2]) != t.tip():
            return f"{target}: stands at {found['cursor']}, the table at {t.tip()}; {found['state']} {found['last_error']}"
        got, want = self.database_rows(target) if target != name else self.file_rows(target), t.rows()
        columns = {c for r in want.values() for c in r}  # a file keeps what a row had when it came
        slim = lambda rows: {k: {c: v for c, v in r.items() if v is not None and (c in columns or target != name)} for k, r in rows.items()}
        return None if slim(got) == slim(want) else f"{target}: {got} is not {want}"

    def level(self, *names, targets=TARGETS):
        """Waits until the targets are their tables."""
        for target in [name + t for name in names or self.tables for t in targets]:
            last = [None]

            def is_level():
                last[0] = self.differs(target)
                return last[0] is None
            try:
                self.run.until(is_level, target)
            except AssertionError as e:
                raise AssertionError(f"{last[0]}\n{e}") from None

    def stopped(self, name, state, resume="ledger reset"):
        """Both targets of a table stop in this state and say what ends it; the third begins anew where it may."""
        for target in (name, name + "_db"):
            self.run.until(lambda: self.state(target)["state"] not in ("new", "active", "failing"), f"a stop of {target}")
            found = self.state(target)
            assert found["state"] == state, found
            assert resume in found["last_error"]["message"], found
        if state in ("expired", "rolled_back", "recreated"):
            self.level(name, targets=("_again",))

    def resume(self, *names):
        """Stops the sync, runs the commands that the messages name, and goes on."""
        seconds, code = self.run.stop()
        assert code == 0, code
        self.run.__exit__()
        for target in self.targets(*names):
            found = self.state(target)
            if found["state"] in ("new", "active", "failing"):
                continue
            words = shlex.split(found["last_error"]["message"].split(" run: ")[1].split(", once ")[0])
            assert words[0] == "lakecdc", words
            r = harness.run(*words[1:])
            assert r.code == 0, r.err
        self.run = self.s.start()

    def end(self):
        """Everything is in step when the listener ends, and for whoever comes after it."""
        self.level()
        seconds, code = self.run.stop()
        assert code == 0, code
        r = self.s.once()
        assert r.code == 0, r.err
        for target in self.targets(*self.tables):
            assert self.differs(target) is None, self.differs(target)


class Held:
    """The listener does not get the processor."""

    def __init__(self, process):
        self.process = process

    def __enter__(self):
        self.process.send_signal(signal.SIGSTOP)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)


# ---- the rows stay what they are ----

def test_rewritten_and_compacted(d):
    """OPTIMIZE, replace, copy on write and merge on read between each other, with and without a pause."""
    rng = random.Random(11)
    with Lake(d, lake(d)) as it:
        it.level()
        for k in range(4):
            for name, t in it.tables.items():
                how = "cow" if name in ("feed", "plain") else ("mor" if name.startswith("ice") else "dv")
                t.append(10 * k + 11, 10 * k + 12, 10 * k + 13)
                t.update(10 * k + 11, name="again")
                t.compact()
                t.update(2, how=how, qty=k)
                t.delete(10 * k + 12, how=how)
                if k % 2:
                    t.rewrite()
                t.compact()
                time.sleep(rng.random() * 0.1)
        it.level()
        assert not it.run.events("failed"), it.run.events("failed")
        windows = {x: it.state(x)["windows"] for x in it.targets(*it.tables)}
        for t in it.tables.values():
            t.compact()
            t.rewrite()
        it.level()
        for x, n in windows.items():  # a change feed takes a writer at its word: rows leave and come back
            assert x.startswith("feed") or it.state(x)["windows"] == n, x
        it.end()


def test_rewritten_while_the_first_state_is_read(d):
    with Lake(d, lake(d)) as it:
        for k in range(5):
            for t in it.tables.values():
                t.append(100 + k)
                t.compact()
                t.delete(100 + k)
        it.end()


# ---- the columns change ----

def test_columns_come(d):
    with Lake(d, lake(d)) as it:
        it.level()
        for t in it.tables.values():
            t.append(5)
            t.add_column("more")
            t.append(6)
            t.update(6, more="m")
        with it.held():
            for t in it.tables.values():
                t.add_column("most")
                t.update(1, most="x")
                t.add_column("last")
                t.append(7)
                t.update(7, last="y", more="z")
        it.end()


def test_columns_go_and_change(d):
    """A column that goes stops the table, not the others; once the target fits it goes on and nothing is lost."""
    with Lake(d, lake(d, ("plain", "ice2", "ice3"))) as it:
        it.level()
        with it.held():
            i = it.tables["ice2"].i
            i.append([row(5)])
            i.drop_column("qty")
            i.append([{"id": 6, "name": "n6", "region": "a"}])
            i.save()
            it.tables["ice3"].append(5)
            plain = it.tables["plain"].t
            fields = [Field("qty", "string") if f.name == "qty" else f for f in plain.versions[-1].schema.fields]
            with plain.commit(operation="CREATE OR REPLACE TABLE") as c:
                c.overwrite([])
                c.evolve(Struct(*fields))
            with plain.commit() as c:
                c.append([row(7, qty="many")])
        it.stopped("ice2", "schema_changed", "--resume")
        it.stopped("plain", "schema_changed", "--resume")
        it.level("ice3")
        it.tables["ice3"].append(6)
        it.level("ice3")
        with sqlite3.connect(d + "/db.sqlite", timeout=30) as db:
            for target in ("ice2_db", "ice2_again"):
                db.execute(f"ALTER TABLE {target} DROP COLUMN qty")
        it.resume("ice2", "plain")
        it.level("ice2")
        # rows that were before the change have no place in the new type: nothing but the new state will do
        it.run.until(lambda: "ledger reset" in ((it.state("plain")["last_error"] or {}).get("message") or ""), "the second stop")
        assert it.state("plain")["state"] == "schema_changed"
        it.run.until(lambda: it.state("plain_db")["state"] == "failing", "the target that cannot be altered")
        assert it.state("plain_db")["last_error"]["reason"] == "sink.schema"
        assert it.run.stop()[1] == 0
        with sqlite3.connect(d + "/db.sqlite", timeout=30) as db:
            for target in ("plain_db", "plain_again"):
                db.execute(f"DROP TABLE {target}")
        for target in it.targets("plain"):
            it.s.ledger("reset", target)
        it.run = it.s.start()
        it.end()


# ---- history expires ----

def test_expired_behind_the_cursor(d):
    with Lake(d, lake(d)) as it:
        for k in range(3):
            for t in it.tables.values():
                t.append(10 + k)
                t.delete(10 + k)
            it.level()
            for t in it.tables.values():
                t.forget()
        it.level()
        for t in it.tables.values():
            t.append(20)
            t.update(20, name="x")
        it.end()
        assert not [e for e in it.run.events() if e["event"] in ("stopped", "resnapshot")], it.run.events()


def test_expired_past_the_cursor(d):
    with Lake(d, lake(d)) as it:
        it.level()
        with it.held():
            for name, t in it.tables.items():
                t.append(11)
                t.delete(1, 11)
                t.append(12)
                if name != "ice3":
                    t.forget()
        for name in it.tables:
            if name != "ice3":
                it.stopped(name, "expired")
        it.level("ice3")
        it.tables["ice3"].append(13)
        it.level("ice3")
        it.resume(*it.tables)
        it.level()
        for t in it.tables.values():
            t.append(14)
        it.end()


# ---- back, and anew ----

def test_restored_by_a_commit(d):
    """RESTORE is a commit like any other."""
    with Lake(d, lake(d, ("feed", "plain", "vectors"))) as it:
        it.level()
        for t in it.tables.values():
            t.delete(1, 2)
            t.append(5)
        it.level()
        for t in it.tables.values():
            with t.t.commit(operation="RESTORE") as c:
                c.restore(2)
        it.level()
        for t in it.tables.values():
            t.append(6)
        it.end()


def test_rolled_back(d):
    """An Iceberg table whose main goes back, a Delta log whose end is cut off, with and without commits after it."""
    with Lake(d, lake(d, ("feed", "plain", "ice2", "ice3"))) as it:
        it.level()
        for name, t in it.tables.items():
            t.delete(1)
        it.level()
        with it.held():
            for name, t in it.tables.items():
                if name.startswith("ice"):
                    t.i.rollback(t.i.current.parent)
                    if name == "ice3":
                        t.i.append([row(9)])
                    t.i.save()
            feed = it.tables["feed"]
            os.remove(feed.t.log_path(feed.t.latest))
            feed.t.versions.pop()
        for name in ("ice2", "ice3", "feed"):
            it.stopped(name, "rolled_back")
        it.level("plain")
        it.tables["plain"].append(8)
        it.level("plain")
        it.resume(*it.tables)
        it.level()
        for t in it.tables.values():
            t.append(10)
        it.end()


def test_history_that_was_written_anew(d):
    """A log that was cut behind the cursor and went on to the same number, and beyond it: the number says nothing."""
    for more in (0, 2):
        folder = f"{d}/{more}"
        os.makedirs(folder)
        with Lake(folder, lake(folder, ("feed", "plain", "vectors"))) as it:
            it.s.config["tables"]["feed_full"] = {**it.s.config["tables"]["feed_db"], "mode": "full"}
            it.s.save()
            it.level()
            assert it.run.stop()[1] == 0
            it.run = it.s.start()
            for name, t in it.tables.items():
                t.delete(1)
            it.level()
            it.run.until(lambda: 1 not in it.database_rows("feed_full"), "the copy")
            with it.held():
                for name in ("feed", "vectors"):
                    t = it.tables[name].t
                    for _ in range(2):
                        os.remove(t.log_path(t.latest))
                        t.versions.pop()
                    it.tables[name].append(70)
                    it.tables[name].append(71, 72, 73)
                    for k in range(more):
                        it.tables[name].append(80 + k)
            it.stopped("feed", "rolled_back")
            it.stopped("vectors", "rolled_back")
            cursor = it.state("feed")["cursor"]
            r = harness.run("changes", folder + "/feed", "--cursor", cursor)
            assert r.code != 0 and "cursor.other_history" in r.err, r.err
            it.tables["plain"].append(5)
            it.level("plain")
            it.resume("feed", "vectors")
            it.level()
            it.run.until(lambda: it.database_rows("feed_full") == it.tables["feed"].rows(), "the copy")
            it.end()


def test_back_and_forth_is_no_roll_back(d):
    """What stands where the cursor is has all that was read, wherever it had been in between."""
    with Lake(d, lake(d, ("ice2",))) as it:
        it.level()
        i = it.tables["ice2"].i
        last = i.current
        with it.held():
            i.rollback(last.parent)
            i.save()
            i.rollback(last)
            i.append([row(9)])
            i.save()
        it.end()
        assert not [e for e in it.run.events() if e["event"] in ("stopped", "resnapshot")]


def test_made_anew(d):
    """Dropped and made again under its name: with fewer commits, with as many, and with more."""
    for n in (1, 2, 5):
        folder = f"{d}/{n}"
        os.makedirs(folder)
        with Lake(folder, lake(folder, ("feed", "plain", "ice2", "ice3"))) as it:
            it.level()
            for name in ("feed", "ice2", "ice3"):
                it.tables[name].make_anew(*range(50, 52))
                for k in range(1, n):
                    it.tables[name].append(60 + k)
            for name in ("feed", "ice2", "ice3"):
                it.stopped(name, "recreated")
            it.tables["plain"].append(5)
            it.level("plain")
            it.resume("feed", "ice2", "ice3")
            it.end()


# ---- all at once ----

def test_whatever_happens(d):
    """A writer that does anything in any order, and a listener that is held now and then: right rows at the end."""
    rng = random.Random(20261201)
    with Lake(d, lake(d)) as it:
        key = 100
        for step in range(60):
            name = rng.choice(list(it.tables))
            t = it.tables[name]
            held = it.held() if rng.random() < 0.3 else None
            if held:
                held.__enter__()
            for _ in range(rng.randint(1, 3)):
                what = rng.choice(("append", "append", "update", "delete", "compact", "rewrite", "forget", "column"))
                here = list(t.rows())
                if what == "append" or not here:
                    key += 1
                    t.append(key)
                elif what in ("update", "delete"):
                    how = rng.choice(("cow", "mor" if name.startswith("ice") else "dv" if name == "vectors" else "cow"))
                    some = rng.sample(here, min(len(here), 2))
                    t.update(*some, how=how, qty=step) if what == "update" else t.delete(*some, how=how)
                elif what == "column":
                    if step % 9 == 0:
                        t.add_column(f"c{step}_{rng.randint(0, 1 << 30)}")
                else:
                    getattr(t, what)()
            if held:
                held.__exit__()
            time.sleep(rng.random() * 0.05)
        states = ("active", "expired")
        it.level(targets=("_again",))
        for target in it.targets(*it.tables):
            it.run.until(lambda: it.state(target)["state"] in states, target)
        it.resume(*it.tables)
        it.end()


if __name__ == "__main__":
    main(__doc__)
