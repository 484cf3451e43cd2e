#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The listener on real tables: what it delivers, what it does when a table is rewritten, evolves, expires, is rolled
back or made anew in the middle of a run, and how it stops and goes on.

The one idea: after whatever happened the target is the table, row for row, or the table is stopped with a state that
says why; there is no third outcome.
"""
import json
import os
import random
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.tables import FEED, WIDEN, append, delete, row, table, update
from iceberg.rest_catalog import Catalog, loaded
from support import harness
from support.delta_schema import Field, Struct
from support.harness import check_refused, main
from support.iceberg_writer import Table as Iceberg
from sync.running import Sync

COLUMNS = [("id", "long"), ("name", "string"), ("qty", "int")]


def keyed(some):
    return {r["id"]: r for r in some}


def in_step(s, name, t):
    assert s.replayed(name) == keyed(t.rows()), f"{name}: {s.replayed(name)} is not {keyed(t.rows())}"


def people(folder, ids=(1, 2, 3)):
    t = Iceberg(folder, COLUMNS)
    t.append([(i, f"n{i}", i * 10) for i in ids])
    t.save()
    return t


def person(i, name=None):
    return {"id": i, "name": name or f"n{i}", "qty": i * 10}


def stopped(s, name, state, *mentions):
    """The table is stopped in this state; the log and the ledger say which command resumes it."""
    r = s.once()
    assert r.code != 0, r.err
    found = s.state(name)
    assert found["state"] == state, found
    message = found["last_error"]["message"]
    for words in ("lakecdc ledger", name, *mentions):
        assert words in message, f"{words} is not in: {message}"
    before = s.lines(name)
    assert s.once().code != 0 and s.lines(name) == before, "a stopped table was read again"
    return found


def is_sanitized():
    cache = os.path.join(os.environ.get("LAKECDC_BUILD", ""), "CMakeCache.txt")
    return os.path.exists(cache) and "LAKECDC_SANITIZE:STRING=\n" not in open(cache).read()


# ---- the rows ----

def test_snapshot_then_changes(d):
    t = table(d + "/t", FEED)
    append(t, 1, 2, 3)
    s = Sync(d, {"t": {}})
    assert s.once().code == 0
    assert [c["op"] for c in s.lines("t")] == ["insert"] * 3 and s.state("t")["snapshots"] == 1
    in_step(s, "t", t)
    append(t, 4)
    update(t, 2, 3, name="x")
    delete(t, 1)
    r = s.once()
    assert r.code == 0, r.err
    in_step(s, "t", t)
    assert s.state("t")["windows"] == 4 and s.state("t")["rows"] == len(s.lines("t")), s.state("t")
    n = len(s.lines("t"))
    assert s.once().code == 0 and len(s.lines("t")) == n


def test_start_oldest_and_at_a_version(d):
    t = table(d + "/t")
    for i in range(1, 5):
        append(t, i)
    shutil.copytree(d + "/t", d + "/u")
    s = Sync(d, {"t": {"start": "oldest"}, "u": {"start": "2"}})
    assert s.once().code == 0
    assert [c["snapshot"] for c in s.lines("t")] == [1, 2, 3, 4] and [c["snapshot"] for c in s.lines("u")] == [2, 2, 3, 4]
    in_step(s, "t", t)
    in_step(s, "u", t)


def test_incremental_and_full(d):
    t = table(d + "/t", FEED)
    append(t, 1, 2)
    s = Sync(d, {"t": {"mode": "incremental"}, "u": {"table": "t", "mode": "full", "sink": "db", "sink_options": {}}})
    s.config["sinks"]["db"] = {"type": "sqlite", "path": "db.sqlite"}
    s.save()
    assert s.once().code == 0
    update(t, 2, name="x")
    delete(t, 1)
    r = s.once()
    assert r.code == 0, r.err
    assert not {c["op"] for c in s.lines("t")} & {"delete", "update_before"} and s.lines("t")[-1]["after"]["name"] == "x"
    with sqlite3.connect(d + "/db.sqlite") as db:
        assert db.execute("SELECT id, name FROM u").fetchall() == [(2, "x")]
    windows = s.state("u")["windows"]
    assert s.once().code == 0 and s.state("u")["windows"] == windows, "a copy that is current was made again"


def test_transforms_and_filter(d):
    t = table(d + "/t", FEED)
    append(t, 1, 2, 3)
    s = Sync(d, {"t": {"columns": ["id", "name", "qty"], "where": "qty > 10",
                       "transforms": [{"rename": {"id": "key"}}, {"cast": {"qty": "string"}}, {"constant": {"region": "eu", "n": 7, "ok": True, "text": "7"}},
                                      {"expression": {"big": "key > 2"}}, {"drop": ["name"]}]}})
    assert s.once().code == 0
    update(t, 3, qty=35)
    r = s.once()
    assert r.code == 0, r.err
    got = s.replayed("t", "key")
    make = lambda key, qty, big: {"key": key, "qty": qty, "region": "eu", "n": 7, "ok": True, "text": "7", "big": big}
    assert got == {2: make(2, "20", False), 3: make(3, "35", True)}, got


def test_iceberg_follows_delete_files(d):
    t = people(d + "/t")
    s = Sync(d, {"t": {}})
    assert s.once().code == 0
    t.delete_mor(lambda r: r["id"] == 2)
    t.upsert([(3, "n3+", 30), (4, "n4", 40)], ["id"])
    t.save()
    r = s.once()
    assert r.code == 0, r.err
    assert s.replayed("t") == keyed([person(1), person(3, "n3+"), person(4)])


def test_iceberg_table_without_snapshots(d):
    t = Iceberg(d + "/t", COLUMNS)
    t.save()
    s = Sync(d, {"t": {}})
    r = s.once()
    assert r.code == 0, r.err
    assert s.state("t")["state"] == "new" and s.state("t")["cursor"] is None
    s.ledger("reset", "t")
    for _ in range(2):
        assert s.once().code == 0 and s.state("t")["state"] == "new" and s.state("t")["cursor"] is None
    t.append([(1, "n1", 10)])
    t.save()
    assert s.once().code == 0 and s.replayed("t") == keyed([person(1)])


def test_tables_of_a_rest_catalog(d):
    """The catalog says where a table's newest metadata is; a look at a table that has nothing new asks it and no more."""
    t = people(d + "/t")
    place = t.save()
    path = "/api/v1/namespaces/db/tables/t"
    with Catalog({"/api/v1/config": (200, {"defaults": {}, "overrides": {}})}) as catalog:
        catalog.answers[path] = (200, loaded(place, inline=False))
        s = Sync(d, {"t": {"source": "ice", "table": "db.t"}})
        s.config["sources"]["ice"] = {"catalog": catalog.uri}
        s.save()
        with s.start() as run:
            run.until(lambda: len(s.lines("t")) == 3, "the snapshot")
            asked = len(catalog.requests)
            run.until(lambda: len(catalog.requests) > asked + 3, "looks at the catalog")
            t.upsert([(3, "n3+", 30), (4, "n4", 40)], ["id"])
            catalog.answers[path] = (200, loaded(t.save(), inline=False))
            run.until(lambda: 4 in s.replayed("t"), "the commit")
            catalog.answers.pop(path)
            run.until(lambda: run.events("failed", "t"), "a failure")
            catalog.answers[path] = (200, loaded(t.save(), inline=False))
            run.until(lambda: s.state("t")["state"] == "active", "that it goes on")
            seconds, code = run.stop()
            assert code == 0 and seconds < (5 if is_sanitized() else 1), (code, seconds)
        assert s.replayed("t") == keyed([person(1), person(2), person(3, "n3+"), person(4)])
        r = harness.run("sync", "--init", catalog.uri, "--table", "db.t")
        assert r.code == 0 and f'catalog: "{catalog.uri}"' in r.out.decode() and 'table: "db.t"' in r.out.decode(), r.err


class Silent(dict):
    """Answers of a catalog that, once told to, takes requests and never answers."""

    def __init__(self, answers):
        super().__init__(answers)
        self.asked, self.talks, self.over = threading.Event(), True, threading.Event()

    def get(self, *words):
        if not self.talks:
            self.asked.set()
            self.over.wait()
        return super().get(*words)


def test_a_catalog_that_never_answers_holds_up_no_stop(d):
    t = people(d + "/t")
    answers = Silent({"/api/v1/config": (200, {}), "/api/v1/namespaces/db/tables/t": (200, loaded(t.save(), inline=False))})
    limit = 5 if is_sanitized() else 1
    with Catalog(answers) as catalog:
        catalog.server.handle_error = lambda *_: None  # an answer that nobody waits for any more
        s = Sync(d, {"t": {"source": "ice", "table": "db.t"}})
        s.config["sources"]["ice"] = {"catalog": catalog.uri}
        s.save()
        with s.start() as run:  # it is silent when a table that is open is looked at
            run.until(lambda: len(s.lines("t")) == 3, "the snapshot")
            answers.talks = False
            run.until(answers.asked.is_set, "a look at the catalog")
            seconds, code = run.stop()
            assert code == 0 and seconds < limit, (code, seconds)
        answers.over.set()
    with socket.create_server(("127.0.0.1", 0)) as server:  # it is silent from the start
        uri = f"http://127.0.0.1:{server.getsockname()[1]}/api"
        s.config["sources"]["ice"] = {"catalog": uri}
        s.save()
        with s.start() as run:
            link = server.accept()[0]
            seconds, code = run.stop()
            assert code == 0 and seconds < limit, (code, seconds)
            link.close()
        for command, codes in (("changes", (-15, 143)), ("follow", (0,))):
            p = subprocess.Popen([harness.CLI, command, uri, "--table", "db.t"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            try:
                link = server.accept()[0]
                began = time.monotonic()
                p.terminate()
                code = p.wait(timeout=30)
                assert code in codes and time.monotonic() - began < limit, (command, code, time.monotonic() - began)
                link.close()
            finally:
                p.kill()
                p.wait()


def test_dry_run_moves_nothing(d):
    t = table(d + "/t")
    append(t, 1, 2)
    s = Sync(d, {"t": {}})
    r = harness.run("sync", s.path, "--dry-run")
    assert r.code == 0 and "would_deliver" in r.err and "rows=2" in r.err, r.err
    assert sorted(os.listdir(d)) == ["sync.yaml", "t"], os.listdir(d)
    assert s.once().code == 0
    append(t, 3)
    before = s.state("t")
    r = harness.run("sync", s.path, "--dry-run", "--log-format", "json")
    said = [json.loads(line) for line in r.err.splitlines()]
    assert [e["rows"] for e in said if e["event"] == "would_deliver"] == [1], r.err
    assert s.state("t") == before and len(s.lines("t")) == 2


# ---- a table that does not stay as it was ----

def test_compaction_moves_the_cursor_without_rows(d):
    t = table(d + "/t")
    append(t, 1, 2)
    append(t, 3)
    i = people(d + "/i")
    s = Sync(d, {"t": {}, "i": {}})
    assert s.once().code == 0
    lines, cursors = {n: s.lines(n) for n in "ti"}, {n: s.state(n)["cursor"] for n in "ti"}
    with t.commit(operation="OPTIMIZE") as c:
        c.optimize()
    i.compact(list(i.current.data))
    i.save()
    assert s.once().code == 0
    for n in "ti":
        assert s.lines(n) == lines[n] and s.state(n)["cursor"] != cursors[n] and s.state(n)["delivered"] == cursors[n]
    t.vacuum()
    append(t, 4)
    assert s.once().code == 0
    in_step(s, "t", t)


def test_schema_that_grows(d):
    t = table(d + "/t", WIDEN, features=("typeWidening",))
    append(t, 1, 2)
    s = Sync(d, {"t": {}})
    assert s.once().code == 0
    with t.commit(operation="ADD COLUMNS") as c:
        c.evolve(Struct(*t.versions[-1].schema.fields, Field("more", "string")))
    with t.commit() as c:
        c.append([row(3, more="m")])
    r = s.once()
    assert r.code == 0, r.err
    assert s.replayed("t")[3] == row(3, more="m") and s.replayed("t")[1] == row(1)
    with t.commit(operation="CHANGE COLUMN") as c:
        c.evolve(Struct(*[Field("qty", "long") if f.name == "qty" else f for f in t.versions[-1].schema.fields]))
    with t.commit() as c:
        c.append([row(4, qty=1 << 40, more=None)])
    r = s.once()
    assert r.code == 0, r.err
    assert s.replayed("t")[4]["qty"] == 1 << 40


def test_schema_that_loses_a_column_stops_the_table(d):
    t = people(d + "/t")
    other = table(d + "/o")
    append(other, 1)
    s = Sync(d, {"t": {}, "o": {}})
    assert s.once().code == 0
    t.drop_column("qty")
    t.append([(4, "n4")])
    t.save()
    append(other, 2)
    stopped(s, "t", "schema_changed", "'qty'", "--resume")
    in_step(s, "o", other)
    s.ledger("set", "t", "--resume")
    r = s.once()
    assert r.code == 0, r.err
    assert s.lines("t")[-1]["after"] == {"id": 4, "name": "n4"}


def test_a_column_that_another_one_has_the_name_of(d):
    """Dropped and made anew: the name and the type are as before, and no value is."""
    t = people(d + "/t")
    s = Sync(d, {"t": {}})
    assert s.once().code == 0
    t.drop_column("qty")
    t.add_column("qty", "int")
    t.append([(4, "n4", 40)])
    t.save()
    stopped(s, "t", "schema_changed", "'qty' was dropped, and another one has its name")


def test_renamed_column_that_the_filter_names(d):
    t = people(d + "/t")
    s = Sync(d, {"t": {"where": "qty > 10"}})
    assert s.once().code == 0
    t.rename_column("qty", "amount")
    t.append([(4, "n4", 40)])
    t.save()
    stopped(s, "t", "schema_changed", "'qty'")


def test_a_column_that_the_filter_alone_reads(d):
    """Dropped, or of another type: a stop like that of any other column. A filter that somebody mistyped is none."""
    t, u = people(d + "/t"), people(d + "/u")
    only = {"columns": ["id"], "where": "qty > 10"}
    s = Sync(d, {"t": only, "u": only})
    assert s.once().code == 0
    t.drop_column("qty")
    t.append([(4, "n4")])
    t.save()
    u.drop_column("name")  # nobody reads it
    u.append([(4, 40)])
    u.save()
    stopped(s, "t", "schema_changed", "'qty'", "--resume")
    assert sorted(s.replayed("u")) == [2, 3, 4]
    s.config["tables"]["t"]["where"] = "id > 1"
    s.config["tables"]["u"]["where"] = "qtty > 1"
    s.save()
    s.ledger("set", "t", "--resume")
    r = s.once()
    assert sorted(s.replayed("t")) == [2, 3, 4], r.err
    assert s.state("u")["state"] == "failing" and "qtty" in s.state("u")["last_error"]["message"]
    s.config["tables"]["u"]["where"] = "id > 1"
    s.save()
    assert s.once().code == 0 and s.state("u")["state"] == "active"


def test_expired(d):
    t = table(d + "/t", FEED)
    append(t, 1, 2)
    i = people(d + "/i")
    s = Sync(d, {"t": {}, "i": {}})
    assert s.once().code == 0
    for k in range(3, 6):
        append(t, k)
    delete(t, 3)
    t.checkpoint()
    t.cut_log(t.latest)
    for k in range(4, 7):
        i.append([(k, f"n{k}", k * 10)])
    i.expire(i.snapshots[:3])
    i.save()
    stopped(s, "t", "expired", "ledger reset")
    stopped(s, "i", "expired", "ledger reset")
    for n in "ti":
        s.ledger("reset", n)
    r = s.once()
    assert r.code == 0, r.err
    assert {c["after"]["id"] for c in s.lines("i")} >= {1, 2, 3, 4, 5, 6}
    append(t, 9)
    assert s.once().code == 0 and s.state("t")["state"] == "active"


def test_vacuumed_files_after_the_cursor(d):
    t = table(d + "/t")
    append(t, 1, 2)
    s = Sync(d, {"t": {}})
    assert s.once().code == 0
    append(t, 3)
    delete(t, 3)
    append(t, 4)
    with t.commit(operation="OPTIMIZE") as c:
        c.optimize()
    t.vacuum()
    stopped(s, "t", "expired")


def test_idle_table_whose_history_expires(d):
    """Nothing new since the cursor: that its snapshot's ancestors are gone is no trouble."""
    i = people(d + "/i")
    i.append([(4, "n4", 40)])
    i.save()
    s = Sync(d, {"i": {}})
    assert s.once().code == 0
    i.expire(i.snapshots[:-1])
    i.save()
    r = s.once()
    assert r.code == 0, r.err
    i.append([(5, "n5", 50)])
    i.save()
    assert s.once().code == 0 and sorted(s.replayed("i")) == [1, 2, 3, 4, 5]


def test_rolled_back(d):
    i = people(d + "/i")
    first = i.current
    i.append([(4, "n4", 40)])
    i.save()
    t = table(d + "/t")
    append(t, 1)
    append(t, 2)
    s = Sync(d, {"i": {}, "t": {}})
    assert s.once().code == 0
    i.rollback(first)
    i.append([(5, "n5", 50)])
    i.save()
    os.remove(t.log_path(2))
    stopped(s, "i", "rolled_back", "ledger reset")
    stopped(s, "t", "rolled_back", "ledger reset")


def test_the_command_that_ends_a_stop_is_one_for_a_shell(d):
    d += "/it's a folder"
    name = "o'clock; true"
    t = table(d + "/t")
    append(t, 1)
    append(t, 2)
    s = Sync(d, {name: {"table": "t", "sink_options": {"path": "t.jsonl"}}})
    assert s.once().code == 0
    os.remove(t.log_path(2))
    assert s.once().code != 0
    words = shlex.split(s.state(name)["last_error"]["message"].split(" run: ")[1])
    assert words == ["lakecdc", "ledger", "reset", name, "--ledger", os.path.join(d, "ledger.db")], words


def test_recreated(d):
    t = table(d + "/t")
    append(t, 1)
    append(t, 2)
    s = Sync(d, {"t": {}})
    assert s.once().code == 0
    shutil.rmtree(d + "/t")
    t = table(d + "/t")
    append(t, 7)
    stopped(s, "t", "recreated", "ledger reset")
    shutil.rmtree(d + "/t")
    t = table(d + "/t")
    for k in (1, 2, 3):
        append(t, k)
    s.ledger("set", "t", "--resume")
    stopped(s, "t", "recreated")


def test_on_gap_resnapshot(d):
    t = table(d + "/t")
    append(t, 1, 2)
    s = Sync(d, {"t": {"on_gap": "resnapshot", "sink": "db", "sink_options": {}}})
    s.config["sinks"]["db"] = {"type": "sqlite", "path": "db.sqlite"}
    s.save()
    assert s.once().code == 0
    shutil.rmtree(d + "/t")
    t = table(d + "/t")
    append(t, 7, 8)
    r = s.once()
    assert r.code == 0 and "resnapshot" in r.err, r.err
    with sqlite3.connect(d + "/db.sqlite") as db:
        assert db.execute("SELECT id FROM t ORDER BY id").fetchall() == [(7,), (8,)]


# ---- running ----

def test_runs_until_it_is_told_to_stop(d):
    t = table(d + "/t", FEED)
    append(t, 1)
    i = people(d + "/i")
    s = Sync(d, {"t": {}, "i": {}})
    for number in (signal.SIGTERM, signal.SIGINT):
        with s.start() as run:
            k = t.latest + 1
            append(t, k)
            run.until(lambda: k in s.replayed("t"), "the commit")
            update(t, k, name="later")
            i.append([(100 + k, "x", 1)])
            i.save()
            run.until(lambda: s.replayed("t")[k]["name"] == "later" and 100 + k in s.replayed("i"), "the next commits")
            seconds, code = run.stop(number)
            assert code == 0 and seconds < 1, (code, seconds)
    in_step(s, "t", t)


def test_stops_while_a_long_history_is_opened(d):
    """A read that looks through thousands of commits before its first row is left at once."""
    t = table(d + "/t")
    append(t, 1)
    line = open(t.log_path(1)).read()
    for version in range(2, 12000):
        with open(t.log_path(version), "w") as f:
            f.write(line)
    s = Sync(d, {"t": {"start": "oldest"}})
    with s.start() as run:
        run.until(lambda: run.events("started"), "the start")
        time.sleep(0.1)
        seconds, code = run.stop()
        limit = 5 if is_sanitized() else 1  # a folder of that many files is listed several times as slowly
        assert code == 0 and seconds < limit, (code, seconds)


def test_one_table_that_fails_does_not_hold_up_another(d):
    t = table(d + "/t")
    append(t, 1)
    bad = table(d + "/bad")
    append(bad, 1)
    os.rename(d + "/bad", d + "/away")
    s = Sync(d, {"bad": {}, "t": {}}, workers=1)
    with s.start() as run:
        run.until(lambda: len(run.events("failed", "bad")) >= 3 and 1 in s.replayed("t"), "failures beside a success")
        append(t, 2)
        run.until(lambda: 2 in s.replayed("t"), "the other table")
        os.rename(d + "/away", d + "/bad")
        run.until(lambda: 1 in s.replayed("bad"), "the table that was repaired")
        failures = [e["failures"] for e in run.events("failed", "bad")]
        assert failures == list(range(1, len(failures) + 1)), failures
        ended = run.stop()
        assert ended[1] == 0, ended
    found = s.state("bad")
    assert found["state"] == "active" and found["last_error"] is None, found


def test_tables_that_fail_slowly_leave_a_worker_to_the_others(d):
    """A target that takes connections and is silent costs seconds a try, and there are more such tables than workers."""
    t = table(d + "/t")
    append(t, 1)
    bad = [f"bad{i}" for i in range(8)]
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as server:
        s = Sync(d, {"t": {}, **{name: {"table": "t", "sink": "dead", "sink_options": {}} for name in bad}}, workers=2, retry={"first": "10ms", "most": "20ms"})
        s.config["sinks"]["dead"] = {"type": "postgresql", "dsn": f"host=127.0.0.1 port={server.getsockname()[1]} user=x dbname=x sslmode=disable", "connect_timeout": "1"}
        s.save()
        with s.start() as run:
            run.until(lambda: 1 in s.replayed("t") and all(run.events("failed", name) for name in bad), "a failure of each", 60)
            for i in range(2, 5):
                append(t, i)
                began = time.monotonic()
                run.until(lambda: i in s.replayed("t"), "the table that is well")
                assert time.monotonic() - began < 4, f"held up for {time.monotonic() - began:.1f} s"
            assert run.stop()[1] == 0


def test_many_tables_of_a_silent_target_hold_up_none_of_another(d):
    """Also in the first round, when none has failed yet, and whichever comes first in the config."""
    t = table(d + "/t")
    append(t, 1)
    bad, good = [f"bad{i:02}" for i in range(30)], [f"good{i}" for i in range(6)]
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as server:
        s = Sync(d, {**{name: {"table": "t", "sink": "dead", "sink_options": {}} for name in bad}, **{name: {"table": "t"} for name in good}}, workers=3)
        s.config["sinks"]["dead"] = {"type": "postgresql", "dsn": f"host=127.0.0.1 port={server.getsockname()[1]} user=x dbname=x sslmode=disable", "connect_timeout": "20"}
        s.save()
        began = time.monotonic()
        with s.start() as run:
            run.until(lambda: all(1 in s.replayed(name) for name in good), "the tables that are well", 60)
            append(t, 2)
            run.until(lambda: all(2 in s.replayed(name) for name in good), "the tables that are well, again", 60)
            assert time.monotonic() - began < 15 and not run.events("failed"), f"{time.monotonic() - began:.1f} s, {run.events('failed')}"
            assert run.stop()[1] == 0


def test_a_sink_that_fails_moves_no_cursor(d):
    t = table(d + "/t", FEED)
    append(t, 1, 2)
    o = table(d + "/o")
    append(o, 1)
    s = Sync(d, {"t": {"sink_options": {"path": "missing/t.jsonl"}}, "o": {}})
    r = s.once()
    assert r.code != 0 and "1 of 2 tables did not succeed; table 't'" in r.err and "missing" in r.err, r.err
    found = s.state("t")
    assert found["state"] == "failing" and found["cursor"] is None and found["failures"] == 1 and found["rows"] == 0, found
    in_step(s, "o", o)
    update(t, 1, name="x")
    assert s.once().code != 0 and s.state("t")["failures"] == 2
    os.mkdir(d + "/missing")
    assert s.once().code == 0
    os.rename(d + "/missing/t.jsonl", d + "/t.jsonl")
    in_step(s, "t", t)


def test_a_value_that_fits_no_cast_moves_no_cursor(d):
    t = table(d + "/t", FEED)
    append(t, 1)
    s = Sync(d, {"t": {"transforms": [{"cast": {"name": "int"}}]}})
    r = s.once()
    assert r.code == 4 and "cast of column 'name': value 'n1' is no int" in r.err and "sync.cast" in r.err, r.err
    assert s.state("t")["cursor"] is None and not s.lines("t")
    update(t, 1, name="17")
    r = s.once()
    assert r.code == 0 and s.replayed("t") == {1: row(1, name=17)}, r.err


def test_one_process_a_ledger(d):
    t = table(d + "/t")
    append(t, 1)
    s = Sync(d, {"t": {}})
    with s.start() as run:
        run.until(lambda: s.lines("t"), "the snapshot")
        for r in (s.once(), harness.run("ledger", "reset", "t", "--ledger", s.path)):
            line = [l for l in r.err.splitlines() if "ledger.in_use" in l]
            assert r.code == 8 and line and f"process {run.process.pid} on host" in line[0] and "since 20" in line[0], r.err
        assert b"active" in s.ledger("list").out
        run.process.kill()
        run.process.wait()
    assert s.once().code == 0, "the lock of a process that was killed"


def test_killed_at_any_moment(d):
    """kill -9 while commits come: the target is the table, and no row is there twice."""
    rng = random.Random(7)
    t = table(d + "/t", FEED)
    append(t, 1)
    s = Sync(d, {"t": {"sink": "db", "sink_options": {}}, "j": {"table": "t"}})
    s.config["sinks"]["db"] = {"type": "sqlite", "path": "db.sqlite"}
    s.save()
    for k in range(12):
        with s.start() as run:
            for n in range(3):
                key = 10 + k * 3 + n
                append(t, key)
                if n == 1:
                    delete(t, key - 1)
                time.sleep(rng.random() * 0.1)
            run.process.kill()
            run.process.wait()
    r = s.once()
    assert r.code == 0, r.err
    in_step(s, "j", t)
    with sqlite3.connect(d + "/db.sqlite") as db:
        assert {i: n for i, n in db.execute("SELECT id, name FROM t")} == {r["id"]: r["name"] for r in t.rows()}


# ---- the ledger and the sink ----

def database(d, t):
    with sqlite3.connect(d + "/db.sqlite") as db:
        assert sorted(db.execute("SELECT id, name FROM t")) == sorted((r["id"], r["name"]) for r in t.rows())


def with_database(d):
    t = table(d + "/t", FEED)
    append(t, 1, 2)
    s = Sync(d, {"t": {"sink": "db", "sink_options": {}}})
    s.config["sinks"]["db"] = {"type": "sqlite", "path": "db.sqlite"}
    s.save()
    assert s.once().code == 0
    return t, s


def drop_ledger(d):
    for name in os.listdir(d):
        if name.startswith("ledger.db"):
            os.remove(os.path.join(d, name))


def test_a_lost_ledger_goes_on_at_the_sinks_cursor(d):
    t, s = with_database(d)
    drop_ledger(d)
    append(t, 3)
    r = s.once()
    assert r.code == 0 and "cursor_of_sink" in r.err and "kind=snapshot" not in r.err, r.err
    database(d, t)


def test_a_sink_from_an_earlier_day_is_caught_up(d):
    t, s = with_database(d)
    shutil.copy(d + "/db.sqlite", d + "/old")
    update(t, 1, name="x")
    append(t, 3)
    assert s.once().code == 0
    shutil.copy(d + "/old", d + "/db.sqlite")
    delete(t, 2)
    r = s.once()
    assert r.code == 0 and "cursor_of_sink" in r.err, r.err
    database(d, t)


def test_a_sink_that_forgot_stops_the_table(d):
    t, s = with_database(d)
    os.remove(d + "/db.sqlite")
    append(t, 3)
    stopped(s, "t", "target_reset", "ledger reset")
    s.ledger("reset", "t")
    r = s.once()
    assert r.code == 0, r.err
    database(d, t)


def test_a_target_that_was_dropped_comes_back_with_a_reset(d):
    t, s = with_database(d)
    with sqlite3.connect(d + "/db.sqlite") as db:
        db.execute("DROP TABLE t")
    append(t, 3)
    stopped(s, "t", "target_reset", "ledger reset")
    s.ledger("reset", "t")
    r = s.once()
    assert r.code == 0, r.err
    database(d, t)
    append(t, 4)
    assert s.once().code == 0
    database(d, t)


def test_a_reset_needs_no_start_that_is_gone(d):
    t = table(d + "/t", FEED)
    for k in range(1, 6):
        append(t, k)
    s = Sync(d, {"t": {"start": "2"}, "g": {"table": "t", "start": "2", "on_gap": "resnapshot"}})
    assert s.once().code == 0
    append(t, 6)
    append(t, 7)
    t.checkpoint()
    t.cut_log(t.latest)
    stopped(s, "t", "expired", "ledger reset")
    s.ledger("reset", "t")
    r = s.once()
    assert r.code == 0, r.err
    for n in "tg":
        in_step(s, n, t)


def test_a_first_state_that_may_be_sent_in_part_is_sent_again(d):
    """What a sink without transactions was sent stays there: the next run begins with the same state, not a later one."""
    t = table(d + "/t", FEED)
    append(t, 1, 2, 3)
    first = t.latest
    s = Sync(d, {"t": {"sink": "log", "sink_options": {}}})
    s.config["sinks"]["log"] = {"type": "kafka", "brokers": "127.0.0.1:1", "topic": "t", "timeout_ms": "1000"}
    s.save()
    assert s.once().code != 0 and s.state("t")["cursor"] is None
    delete(t, 2)
    r = s.run("--dry-run", "--log-format", "json")
    said = [json.loads(line) for line in r.err.splitlines() if '"would_deliver"' in line]
    assert [(e["kind"], e["commit"], e["rows"]) for e in said] == [("snapshot", first, 3), ("changes", first + 1, 1)], r.err
    s.config["tables"]["t"].update(sink="out", sink_options={"path": "t.jsonl"})
    s.save()
    t.checkpoint()
    t.cut_log(t.latest)
    stopped(s, "t", "expired", "ledger reset")
    s.ledger("reset", "t")
    assert s.once().code == 0
    in_step(s, "t", t)


def test_set_cursor_wins_over_the_sink(d):
    t, s = with_database(d)
    first = s.state("t")["cursor"]
    update(t, 1, name="x")
    assert s.once().code == 0
    s.ledger("set", "t", "--cursor", first)
    r = s.once()
    assert r.code == 0 and r.err.count("kind=changes") == 1, r.err
    database(d, t)


def test_pause_and_resume(d):
    t, s = with_database(d)
    s.ledger("set", "t", "--pause")
    append(t, 3)
    assert s.once().code == 0 and s.state("t")["state"] == "paused"
    s.ledger("set", "t", "--resume")
    assert s.once().code == 0
    database(d, t)


def test_ledger_command(d):
    t, s = with_database(d)
    r = s.ledger("list")
    assert r.out.decode().splitlines()[1].split()[:3] == ["t", "active", "2"], r.out
    assert json.loads(s.ledger("list", "--json").out)["cdc"]["chosen"] == "direct"
    assert b"cursor        lakecdc1/delta/1/" in s.ledger("show", "t").out
    check_refused(harness.run("ledger", "show", "x", "--ledger", s.path), "'x'", "ledger.unknown_table")
    check_refused(harness.run("ledger", "set", "t", "--ledger", s.path), "--cursor, --resume and --pause")
    check_refused(harness.run("ledger", "set", "t", "--cursor", "here", "--ledger", s.path), "cursor.bad")
    check_refused(harness.run("ledger", "lost", "--ledger", s.path), "did you mean list")
    check_refused(harness.run("ledger", "list"), "--ledger FILE")
    check_refused(harness.run("ledger", "list", "--ledger", d + "/none.db"), "no ledger")
    open(d + "/text.db", "w").write("not a database, but long enough to look like something that is one, or might be" * 20)
    check_refused(harness.run("ledger", "list", "--ledger", d + "/text.db"), "ledger.bad")
    with sqlite3.connect(d + "/other.db") as db:
        db.execute("CREATE TABLE x (y)")
    check_refused(harness.run("ledger", "list", "--ledger", d + "/other.db"), "something else")


def test_a_ledger_needs_no_secrets(d):
    """Of the variables that a config names, those of the ledger's path are enough to look after it."""
    t, s = with_database(d)
    s.config["sinks"]["away"] = {"type": "postgresql", "dsn": "host=x password=${LCDC_TEST_SECRET}"}
    s.save()
    check_refused(s.once(), "LCDC_TEST_SECRET is not set", "config.bad_value")
    ledger = lambda *words, **env: harness.run("ledger", *words, "--ledger", s.path, env=env)
    assert b"active" in ledger("list").out
    assert ledger("reset", "t").code == 0
    s.config["ledger"] = "${LCDC_TEST_NAME}.db"
    s.save()
    check_refused(ledger("list"), "LCDC_TEST_NAME is not set", "config.bad_value")
    assert b"new" in ledger("list", LCDC_TEST_NAME="ledger").out
    s.config["ledger"] = ["ledger.db"]
    s.save()
    check_refused(ledger("list"), "ledger: found a list, expected a text", "config.bad_value")


# ---- before a run ----

def test_init_passes_check(d):
    append(table(d + "/a table"), 1)
    people(d + "/i")
    for name in ("a table", "i"):
        r = harness.run("sync", "--init", f"{d}/{name}")
        assert r.code == 0, r.err
        open(d + "/made.yaml", "wb").write(r.out)
        r = harness.run("sync", "--check", d + "/made.yaml")
        assert r.code == 0 and b": ok, " in r.out, r.err
        r = harness.run("sync", d + "/made.yaml", "--once")
        assert r.code == 0 and os.path.exists(f"{d}/{name}.jsonl"), r.err


def test_check_holds_the_config_against_the_tables(d):
    append(table(d + "/t"), 1)
    cases = [({"columns": ["id", "nam"]}, "columns: the table has no column 'nam'"), ({"where": "qty >"}, "found the end"), ({"where": "qty > 'x'"}, "qty"),
             ({"identity": ["key"]}, "identity: the table has no column 'key'"), ({"transforms": [{"drop": ["id"]}]}, "identity column 'id'"),
             ({"transforms": [{"rename": {"nam": "x"}}]}, "no column 'nam'"), ({"transforms": [{"rename": {"qty": "name"}}]}, "a column 'name' already"),
             ({"transforms": [{"expression": {"x": "qtty > 3"}}]}, "qtty"), ({"transforms": [{"cast": {"region": "array<int>"}}]}, "a type such as")]
    for options, mention in cases:
        s = Sync(d, {"t": options})
        line = check_refused(harness.run("sync", "--check", s.path), "sync.yaml:", mention, "config.bad_value")
        key = "identity" if "identity column" in line else next(iter(options))
        number = int(line.split("sync.yaml:")[1].split(":")[0])
        text = open(s.path).read().splitlines()
        where = min(i for i, l in enumerate(text) if f'"{key}"' in l) + 1
        assert where <= number <= where + 6, f"{line}: line {number}, the key is in line {where}"
    s = Sync(d, {"t": {"table": "nowhere"}})
    check_refused(harness.run("sync", "--check", s.path), "table 't'", "nowhere", "table.missing")


def test_options_that_do_not_go_together(d):
    check_refused(harness.run("sync"), "needs a CONFIG")
    check_refused(harness.run("sync", "x.yaml", "--check", "--once"), "--check runs nothing")
    check_refused(harness.run("sync", "--init", "x", "--once"), "--init prints")
    append(table(d + "/t"), 1)
    s = Sync(d, {"t": {}})
    check_refused(harness.run("sync", s.path, "--interval", "10"), "such as 30s")
    check_refused(harness.run("sync", d + "/none.yaml"), "none.yaml")


if __name__ == "__main__":
    main(__doc__)
