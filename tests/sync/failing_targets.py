# SPDX-License-Identifier: Apache-2.0
"""A running sync whose databases fail and are repaired: a clear error, no cursor moved, and on it goes by itself.

The one idea: one table goes to PostgreSQL and to SQLite; what breaks one of them must not hold up the other, and after
the repair both are the table.
"""
import os
import random
import signal
import sqlite3
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import harness
from support.delta_schema import Field, Struct
from support.delta_writer import Table
from support.postgres import PASSWORD, Server
from sync.running import Sync

SERVER = None


class World:
    """A table, and a sync that brings it to a schema of PostgreSQL and a file of SQLite."""

    def __init__(self, folder, schema, mode="upsert", **pg):
        SERVER.sql(f"CREATE SCHEMA {schema}")
        self.folder, self.schema, self.next = folder, schema, 0
        self.t = Table(os.path.join(folder, "t"), Struct(Field("id", "long"), Field("v", "string")))
        self.add(3)
        sinks = {"pg": {"type": "postgresql", "dsn": SERVER.dsn(), "schema": schema}, "lite": {"type": "sqlite", "path": "target.db"}}
        options = {"table": "t", "start": "0"}
        self.sync = Sync(folder, {"pg": {**options, "sink": "pg", "sink_options": {"table": "orders", "mode": mode, **pg}},
                                  "lite": {**options, "sink": "lite", "sink_options": {"table": "orders", "mode": mode}}}, sinks=sinks)

    def add(self, n=1, v=None):
        with self.t.commit() as c:
            c.append([{"id": self.next + i, "v": v or f"v{self.next + i}"} for i in range(n)])
        self.next += n

    def pg(self):
        return sorted((int(r[0]), r[1]) for r in SERVER.rows(f"SELECT id, v FROM {self.schema}.orders"))

    def lite(self):
        db = sqlite3.connect(os.path.join(self.folder, "target.db"), timeout=30)
        try:
            return sorted(db.execute("SELECT id, v FROM orders"))
        finally:
            db.close()

    def truth(self):
        return sorted((r["id"], r["v"]) for r in self.t.rows())

    def level(self, *which):
        def condition():
            try:
                return all(ask() == self.truth() for ask in which or (self.pg, self.lite))
            except Exception:
                return False   # not created yet
        return condition

    def failed(self, run, reason, table="pg"):
        return lambda: any(e["reason"] == reason for e in run.events("failed", table))


def test_server_down_and_up_again(folder):
    w = World(folder, "down")
    with w.sync.start() as run:
        run.until(w.level(), "both level")
        SERVER.stop(signal.SIGQUIT)
        try:
            w.add(2)
            run.until(w.failed(run, "sink.unavailable"), "a failure")
            run.until(w.level(w.lite), "the other target")
            w.add()
            run.until(w.level(w.lite), "the other target")
            state = w.sync.state("pg")
            assert state["state"] == "failing", state
        finally:
            SERVER.start()
        run.until(w.level(), "both level again")
        assert PASSWORD not in open(run.log_path).read(), "the password is in the log"
        took, code = run.stop()
        assert code == 0 and took < 3, (code, took)


def test_connection_cut_again_and_again(folder):
    """Every change is there once."""
    w = World(folder, "cut_often", mode="history")
    rng = random.Random(3)
    with w.sync.start() as run:
        for n in range(25):
            w.add(rng.randint(1, 5))
            time.sleep(rng.random() * 0.1)
            for pid in SERVER.backends():
                try:
                    os.kill(pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
        run.until(w.level(), "both level", 60)
    assert [int(r[0]) for r in SERVER.rows("SELECT lakecdc_event FROM cut_often.orders ORDER BY 1")] == list(range(1, w.next + 1))


def test_constraint_and_repair(folder):
    w = World(folder, "constrained")
    with w.sync.start() as run:
        run.until(w.level(), "both level")
        SERVER.sql("ALTER TABLE constrained.orders ADD CONSTRAINT no_bad CHECK (v <> 'bad')")
        before = w.pg()
        at = w.sync.state("pg")["cursor"]
        w.add(2, "bad")
        run.until(w.failed(run, "sink.constraint"), "a failure")
        run.until(w.level(w.lite), "the other target")
        assert w.pg() == before and w.sync.state("pg")["cursor"] == at
        assert "no_bad" in run.events("failed", "pg")[0]["message"]
        SERVER.sql("ALTER TABLE constrained.orders DROP CONSTRAINT no_bad")
        run.until(w.level(), "both level again")


def test_value_that_does_not_fit(folder):
    w = World(folder, "unfit", dropped_columns="keep")
    with w.sync.start() as run:
        run.until(w.level(), "both level")
        w.add(1, "a\0b")
        run.until(w.failed(run, "sink.value"), "a failure")
        message = run.events("failed", "pg")[0]["message"]
        assert f"id={w.next - 1}" in message and '"v"' in message and "NUL" in message, message
        run.until(w.level(w.lite), "the other target")
        took, code = run.stop()
        assert code == 0 and took < 3, (code, took)
    w.sync.config["tables"]["pg"]["transforms"] = [{"drop": ["v"]}]   # a person says what is done about it
    w.sync.save()
    r = w.sync.once()
    assert r.code == 0, r.err
    assert w.pg() == [(i, v if i < 3 else None) for i, v in w.truth()]


def test_read_only_server(folder):
    w = World(folder, "read_only")
    with w.sync.start() as run:
        run.until(w.level(), "both level")
        SERVER.sql("ALTER SYSTEM SET default_transaction_read_only = on")
        SERVER.sql("SELECT pg_reload_conf()")
        try:
            w.add(1)
            run.until(w.failed(run, "sink.denied"), "a failure")
            run.until(w.level(w.lite), "the other target")
        finally:
            SERVER.stop()
            SERVER.settings["default_transaction_read_only"] = "off"   # wins over what was just set
            SERVER.start()
            SERVER.sql("ALTER SYSTEM RESET default_transaction_read_only")
            del SERVER.settings["default_transaction_read_only"]
        run.until(w.level(), "both level again")


def test_stops_while_the_server_is_frozen(folder):
    w = World(folder, "frozen")
    SERVER.sql("CREATE TABLE frozen.orders (id bigint PRIMARY KEY, v text); CREATE FUNCTION frozen.slow() RETURNS trigger LANGUAGE plpgsql AS "
               "'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'; CREATE TRIGGER slow BEFORE INSERT ON frozen.orders FOR EACH ROW EXECUTE FUNCTION frozen.slow()")
    with w.sync.start() as run:
        run.until(w.level(w.lite), "the other target")
        run.until(lambda: SERVER.rows("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), "the statement that takes its time")
        took, code = run.stop()
        assert code == 0 and took < 2, (code, took)
    SERVER.sql("DROP TRIGGER slow ON frozen.orders")
    r = w.sync.once()
    assert r.code == 0, r.err
    assert w.level()(), (w.pg(), w.lite())


if __name__ == "__main__":
    with Server() as SERVER:
        harness.main(__doc__)
