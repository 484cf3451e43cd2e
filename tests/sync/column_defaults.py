#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Columns that come with a value for the rows that were there before them (Iceberg's initial-default), in SQL targets.

The one idea: a target that knew the table before the columns came ends up as one that never saw it without them.
"""
import datetime
import decimal
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.harness import main
from support.iceberg_writer import Table as Iceberg
from support.postgres import Server
from sync.running import Sync

DAY = 86_400_000_000
WHEN = int((datetime.datetime(2026, 2, 28, 13, 14, 15, 678901) - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1))
DEFAULTS = [
    ("flag", "boolean", True), ("off", "boolean", False), ("whole", "int", -(1 << 31)), ("zero", "int", 0), ("wide", "long", (1 << 63) - 1), ("small", "float", 0.1), ("real", "double", 0.1 + 0.2),
    ("huge", "double", 1.7976931348623157e308), ("price", "decimal(9,2)", decimal.Decimal("-1234567.80")), ("big", "decimal(38,3)", decimal.Decimal("12345678901234567890123456789012345.678")),
    ("born", "date", -1), ("at", "time", DAY - 1), ("wall", "timestamp", WHEN), ("instant", "timestamptz", -WHEN), ("text", "string", "it's \"a\" \\ b\nc\td é 'E'"), ("empty", "string", ""),
    ("key", "uuid", bytes(range(16))), ("bytes", "binary", b"\x00'\\\xff"), ("four", "fixed[4]", b"\x00\x01\xfe\xff"), ("none", "int", None),
]


def lake(d):
    t = Iceberg(d + "/t", [("id", "long"), ("name", "string")], version=3)
    t.append([(1, "a"), (2, "b"), (3, "c")])
    t.append([(4, "d")])
    t.save()
    return t


def grow(t):
    for name, type, value in DEFAULTS:
        t.add_column(name, type, value) if value is not None else t.add_column(name, type)


def check(d, sinks, read):
    t = lake(d)
    s = Sync(d, {name: {"table": "t", "sink": name, "sink_options": {}} for name in sinks})
    s.config["sinks"] = sinks
    s.save()
    assert s.once().code == 0
    grow(t)
    t.update_mor(lambda r: r["id"] == 2, lambda r: dict(r, zero=7, text=None))
    t.append([{"id": 5, "name": "e", "whole": 5}])
    t.save()
    r = s.once()
    assert r.code == 0, r.err
    again = Sync(d, {name + "_new": {"table": "t", "sink": name, "sink_options": {}} for name in sinks}, sinks=sinks, ledger="again.db")
    again.path = d + "/again.yaml"
    again.save()
    r = again.once()
    assert r.code == 0, r.err
    for name in sinks:
        got, want = read(name, name), read(name, name + "_new")
        assert len(got) == 5 and got == want, f"{name}:\n    {got}\n    {want}"


def test_older_rows_of_a_sqlite_target(d):
    def read(_, table):
        with sqlite3.connect(d + "/db.sqlite") as db:
            columns = ", ".join(f'"{c}", typeof("{c}")' for c in ["id", "name", *(n for n, *_ in DEFAULTS)])
            return db.execute(f"SELECT {columns} FROM {table} ORDER BY id").fetchall()
    check(d, {"lite": {"type": "sqlite", "path": "db.sqlite"}}, read)
    rows = read("lite", "lite")
    assert rows[0][rows[0].index("it's \"a\" \\ b\nc\td é 'E'") + 1] == "text" and rows[1][-1] == "null"


def test_older_rows_of_a_postgresql_target(d):
    with Server() as server:
        check(d, {"pg": {"type": "postgresql", "dsn": server.dsn()}}, lambda _, table: server.rows(f"SELECT * FROM {table} ORDER BY id"))


def test_a_cast_column_and_a_history(d):
    """The value is cast as the rows are; what a history told before the column came stays as it was told."""
    t = lake(d)
    s = Sync(d, {"a": {"table": "t", "sink": "lite", "sink_options": {}, "transforms": [{"rename": {"name": "label"}}]},
                 "h": {"table": "t", "sink": "lite", "sink_options": {"mode": "history"}}})
    s.config["sinks"] = {"lite": {"type": "sqlite", "path": "db.sqlite"}}
    s.save()
    assert s.once().code == 0
    s.config["tables"]["a"]["transforms"] += [{"cast": {"zero": "string"}}, {"rename": {"zero": "nought"}}]
    s.save()
    t.add_column("zero", "int", 17)
    t.append([(5, "e", 18)])
    t.save()
    r = s.once()
    assert r.code == 0, r.err
    with sqlite3.connect(d + "/db.sqlite") as db:
        assert db.execute("SELECT id, nought FROM a ORDER BY id").fetchall() == [(1, "17"), (2, "17"), (3, "17"), (4, "17"), (5, "18")]
        assert db.execute("SELECT id, zero FROM h ORDER BY id").fetchall() == [(1, None), (2, None), (3, None), (4, None), (5, 18)]


def test_rows_that_are_not_the_tables(d):
    """Rows that stood in a target before its first snapshot keep their null."""
    t = lake(d)
    with sqlite3.connect(d + "/db.sqlite") as db:
        db.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("INSERT INTO a VALUES (99, 'ours')")
    t.add_column("zero", "int", 17)
    t.append([(5, "e", 18)])
    t.save()
    s = Sync(d, {"a": {"table": "t", "sink": "lite", "sink_options": {"if_exists": "adopt"}}}, sinks={"lite": {"type": "sqlite", "path": "db.sqlite"}})
    assert s.once().code == 0
    with sqlite3.connect(d + "/db.sqlite") as db:
        assert db.execute("SELECT id, zero FROM a ORDER BY id").fetchall() == [(1, 17), (2, 17), (3, 17), (4, 17), (5, 18), (99, None)]


if __name__ == "__main__":
    main(__doc__)
