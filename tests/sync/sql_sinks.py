# SPDX-License-Identifier: Apache-2.0
"""The SQL sinks against real databases: a SQLite file, and a PostgreSQL server that the test starts for itself.

The one idea: the sink is driven call by call (support/sink_calls.py), and what the target holds afterwards is asked from
the database by its own client. Where nothing else is said a test runs on both.
"""
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import harness
from support.postgres import PASSWORD, Server
from support.sink_calls import Driver, change, delete, insert, refused, update

SERVER = None
COLUMNS = [("id", "bigint"), ("v", "string")]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Sqlite:
    sink = "sqlite"

    def __init__(self, folder):
        self.path = os.path.join(folder, "target.db")

    def settings(self, **other):
        return {"path": self.path, **other}

    def rows(self, sql):
        with sqlite3.connect(self.path, timeout=20) as db:
            db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
            found = [tuple(None if v is None else v if isinstance(v, bytes) else str(v) for v in r) for r in db.execute(sql)]
        db.close()
        return found

    sql = rows

    def types(self, table="orders"):
        return dict(self.rows(f"SELECT name, type FROM pragma_table_info('{table}')"))


class Postgres:
    sink = "postgresql"

    def __init__(self, schema):
        self.schema = schema
        SERVER.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")

    def settings(self, **other):
        return {"dsn": SERVER.dsn(), "schema": self.schema, **other}

    def rows(self, sql):
        return SERVER.rows(f"SET search_path = {self.schema}; {sql}")

    def sql(self, sql):
        return SERVER.sql(f"SET search_path = {self.schema}; {sql}")

    def types(self, table="orders"):
        return dict(self.rows(f"SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '{quoted(table)}'::regclass AND attnum > 0 AND NOT attisdropped"))


def both(test):
    """The test on either database."""
    def run(folder):
        test(Sqlite(folder))
        test(Postgres(test.__name__.removeprefix("test_")[:60]))
    run.__name__ = test.__name__
    return run


def driver(target, columns=COLUMNS, table="orders", identity=("id",), **settings):
    return Driver(target.sink, columns, target.settings(**settings), table=table, identity=identity)


def cursor_of(target, table="orders"):
    return target.rows(f"SELECT cursor FROM lakecdc_cursor WHERE target = '{table}'")[0][0]


def state(target, order="id"):
    return target.rows(f"SELECT * FROM orders ORDER BY {order}")


# ---------------------------------------------------------------- types

# (name, type, [(value in the JSON of docs/change-row.md, what SQLite gives back, what PostgreSQL gives back)], the types)
TYPES = [
    ("void", "void", [(None, None, None)], "TEXT", "text"),
    ("flag", "boolean", [(True, "1", "t"), (False, "0", "f")], "BOOLEAN", "boolean"),
    ("i8", "tinyint", [(-128, "-128", "-128"), (127, "127", "127")], "INTEGER", "smallint"),
    ("i16", "smallint", [(-32768, "-32768", "-32768"), (32767, "32767", "32767")], "INTEGER", "smallint"),
    ("i32", "int", [(-2**31, str(-2**31), str(-2**31)), (2**31 - 1, str(2**31 - 1), str(2**31 - 1))], "INTEGER", "integer"),
    ("i64", "bigint", [(-2**63, str(-2**63), str(-2**63)), (2**63 - 1, str(2**63 - 1), str(2**63 - 1))], "INTEGER", "bigint"),
    ("f", "float", [(0.1, "0.10000000149011612", "0.1"), ("NaN", "NaN", "NaN"), ("-Infinity", "-inf", "-Infinity"), (-0.0, "0.0", "-0"), (1e-45, "1.401298464324817e-45", "1e-45")],
     "REAL", "real"),
    ("d", "double", [(0.1, "0.1", "0.1"), ("NaN", "NaN", "NaN"), ("Infinity", "inf", "Infinity"), (-0.0, "0.0", "-0"), (5e-324, "5e-324", "5e-324"),
                     (1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308")], "REAL", "double precision"),
    ("dec", "decimal(10,2)", [("-1.50", "-1.50", "-1.50"), ("99999999.99", "99999999.99", "99999999.99")], "TEXT", "numeric(10,2)"),
    ("big", "decimal(38,0)", [("9" * 38, "9" * 38, "9" * 38), ("-" + "9" * 38, "-" + "9" * 38, "-" + "9" * 38)], "TEXT", "numeric(38,0)"),
    ("small", "decimal(38,38)", [("0." + "0" * 37 + "1",) * 3], "TEXT", "numeric(38,38)"),
    ("day", "date", [("2024-02-29",) * 3, ("0001-01-01",) * 3, ("+12345-01-31", "+12345-01-31", "12345-01-31"), ("-0044-03-15", "-0044-03-15", "0045-03-15 BC"),
                     ("0000-12-31", "0000-12-31", "0001-12-31 BC")], "TEXT", "date"),
    ("clock", "time", [("23:59:59.999999", "23:59:59.999999", "23:59:59.999999"), ("00:00:00.000000", "00:00:00.000000", "00:00:00")], "TEXT", "time without time zone"),
    ("at", "timestamp", [("2024-02-29T12:30:05.123456Z", "2024-02-29T12:30:05.123456Z", "2024-02-29 12:30:05.123456+00"),
                         ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z", "1969-12-31 23:59:59.999999+00"),
                         ("-0044-03-15T00:00:00.000000Z", "-0044-03-15T00:00:00.000000Z", "0045-03-15 00:00:00+00 BC")], "TEXT", "timestamp with time zone"),
    ("local", "timestamp_ntz", [("2024-02-29T12:30:05.000001", "2024-02-29T12:30:05.000001", "2024-02-29 12:30:05.000001"),
                                ("+20000-01-01T00:00:00.000000", "+20000-01-01T00:00:00.000000", "20000-01-01 00:00:00")], "TEXT", "timestamp without time zone"),
    ("at_ns", "timestamptz_ns", [("2024-02-29T12:30:05.123456789Z",) * 3], "TEXT", "text"),
    ("local_ns", "timestamp_ns", [("2024-02-29T12:30:05.123456789",) * 3], "TEXT", "text"),
    ("text", "string", [("",) * 3, ("a\tb\nc\rd\\e\\N'\"\x01",) * 3, ("\\.",) * 3, ("\\N",) * 3, ("日本\U0001f600",) * 3, ("123",) * 3, ("x" * 100000,) * 3], "TEXT", "text"),
    ("bytes", "binary", [("", b"", "\\x"), ("AAECXFwK", b"\x00\x01\x02\\\\\n", "\\x0001025c5c0a")], "BLOB", "bytea"),
    ("fixed", "fixed(3)", [("AAH/", b"\x00\x01\xff", "\\x0001ff")], "BLOB", "bytea"),
    ("u", "uuid", [("123e4567-e89b-12d3-a456-426614174000",) * 3], "TEXT", "uuid"),
    ("st", {"name": "st", "type": "struct", "fields": [{"name": "x", "type": "int"}, {"name": "y \"z\"", "type": "string"}]},
     [({"x": 1, 'y "z"': "a\\b\n"}, '{"x":1,"y \\"z\\"":"a\\\\b\\n"}', '{"x": 1, "y \\"z\\"": "a\\\\b\\n"}'), ({"x": None, 'y "z"': None},
                                                                                                               '{"x":null,"y \\"z\\"":null}', '{"x": null, "y \\"z\\"": null}')],
     "TEXT", "jsonb"),
    ("li", {"name": "li", "type": "array", "element": {"name": "element", "type": "decimal(5,1)"}}, [(["1.5", None], '["1.5",null]', '["1.5", null]'), ([], "[]", "[]")],
     "TEXT", "jsonb"),
    ("ma", {"name": "ma", "type": "map", "key": {"name": "key", "type": "string"}, "value": {"name": "value", "type": "double"}},
     [([["a", 1.5], ["b", "NaN"]], '[["a",1.5],["b","NaN"]]', '[["a", 1.5], ["b", "NaN"]]')], "TEXT", "jsonb"),
]


@both
def test_types(target):
    columns = [("id", "bigint")] + [t[1] if isinstance(t[1], dict) else (t[0], t[1]) for t in TYPES]
    n = max(len(t[2]) for t in TYPES) + 1
    row = lambda i: {"id": i, **{t[0]: t[2][i][0] if i < len(t[2]) else None for t in TYPES}}
    which = 1 if target.sink == "sqlite" else 2
    with driver(target, columns) as d:
        d.open()
        d.window([change("insert", None, row(i)) for i in range(n)], "c1", kind="snapshot", pad=3)
        for staged in (False, True):   # straight into the target, then once more through the stage
            if staged:
                d.window([change("insert", None, row(i)) for i in range(n)], "c2", pad=1)
            for t in TYPES:
                got = [r[0] for r in target.rows(f"SELECT {t[0]} FROM orders ORDER BY id")]
                want = [t[2][i][which] if i < len(t[2]) else None for i in range(n)]
                assert got == want, f"{t[0]} {t[1]}: {got}, want {want}"
    types = target.types()
    assert types == {"id": "INTEGER" if which == 1 else "bigint", **{t[0]: t[which + 2] for t in TYPES}}, types


def test_every_type_of_the_library_is_tried(folder):
    """The list above against base/types.def, so that a new type cannot be forgotten."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "base", "types.def")
    import re
    words = set(re.findall(r'^LC_TYPE\(\w+, "(\w+)"', open(root).read(), re.M))
    tried = {(t[1]["type"] if isinstance(t[1], dict) else t[1]).split("(")[0] for t in TYPES}
    assert words == tried, words ^ tried


def test_values_postgresql_cannot_hold(folder):
    target = Postgres("values_refused")
    nested = {"name": "n", "type": "array", "element": {"name": "element", "type": "string"}}
    columns = [("id", "bigint"), ("s", "string"), ("d", "date"), ("t", "timestamp"), nested]
    good = dict(id=1, s="a", d=None, t=None, n=None)
    bad = [("s", "a\0b", "NUL"), ("d", "-4800-01-01", "calendar"), ("d", "+5874999-01-01", "calendar"), ("t", "-4800-01-01T00:00:00.000000Z", "calendar"), ("n", ["x", "\0"], "NUL")]
    with driver(target, columns) as d:
        d.open()
        d.window([insert(**good)], "c1", kind="snapshot")
        for column, value, word in bad:
            if column == "d" and value.startswith("+5874999"):
                continue   # no text of a date has so many digits here; the unit test has it
            rows = [insert(**{**good, "id": 5}), insert(**{**good, "id": 77, column: value})]
            e = refused(lambda: d.window(rows, "c2", snapshot=9, batch=1), "sink.value")
            assert "id=77" in e.message and f'"{column}"' in e.message and word in e.message and not e.retriable, e
            assert cursor_of(target) == "c1" and len(state(target)) == 1
        d.window([insert(**{**good, "id": 2})], "c2")
    assert [r[0] for r in state(target)] == ["1", "2"]


def test_sign_of_zero_in_sqlite(folder):
    target = Sqlite(folder)
    columns = [("id", "bigint"), ("f", "float"), ("d", "double")]
    rows = [insert(id=1, f=-0.0, d=-0.0), insert(id=2, f=0.0, d=1.0), insert(id=3, f="NaN", d=None)]
    with driver(target, columns, signed_zero="keep") as d:
        d.open()
        for kind in ("snapshot", "changes"):
            d.window(rows, f"c {kind}", kind=kind)
            assert state(target) == [("1", "-0.0", "-0.0"), ("2", "0.0", "1.0"), ("3", "NaN", None)], state(target)
    assert target.types() == {"id": "INTEGER", "f": "", "d": ""}
    with driver(target, columns) as d:
        d.open()   # a column without a type holds every number
    target.sql("CREATE TABLE typed (id INTEGER PRIMARY KEY, f REAL, d REAL)")
    with driver(target, columns, table="typed", signed_zero="keep") as d:
        assert "no type is expected" in refused(d.open, "sink.schema").message


def test_text_with_nul_in_sqlite(folder):
    target = Sqlite(folder)
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="a\0b")], "c1")
    assert target.rows("SELECT cast(v AS BLOB) FROM orders") == [(b"a\0b",)]


# ---------------------------------------------------------------- rows

@both
def test_random_windows(target):
    """Windows in which identities come and go several times, against a dict."""
    rng = random.Random(5)
    columns = [("id", "int"), ("k", "string"), ("v", "double")]
    truth, key = {}, lambda r: (r["id"], r["k"])
    with driver(target, columns, identity=("k", "id")) as d:
        d.open()
        for n in range(60):
            rows = []
            for _ in range(rng.randint(0, 12)):
                new = dict(id=rng.randint(1, 4), k=rng.choice("ab'"), v=rng.choice([None, 1.5, rng.random()]))
                old = truth.get(key(new))
                if old and rng.random() < 0.5:
                    rows.append(delete(n, **old))
                    del truth[key(new)]
                elif old:
                    rows += [change("update", old, new, n)] if rng.random() < 0.5 else update(old, new, n)
                    truth[key(new)] = new
                else:
                    if rng.random() < 0.2:
                        rows.append(delete(n, **new))   # of a row that is not there
                    rows.append(insert(n, **new))
                    truth[key(new)] = new
            d.window(rows, f"c{n}", snapshot=n, batch=rng.randint(1, 5), pad=rng.randint(0, 3))
            got = {(int(i), k): dict(id=int(i), k=k, v=None if v is None else float(v)) for i, k, v in target.rows("SELECT * FROM orders")}
            assert got == truth, f"window {n}: {got}, want {truth}"
            assert d.cursor() == f"c{n}" == cursor_of(target)


@both
def test_deletes_before_inserts_of_an_identity(target):
    """The order of the contract, whatever else the window does."""
    with driver(target) as d:
        d.open()
        d.window([insert(id=i, v="old") for i in (1, 2, 3)], "c1", kind="snapshot")
        d.window([change("update_before", dict(id=1, v="old")), change("update_before", dict(id=1, v="b")), change("update_after", None, dict(id=1, v="b")),
                  change("update_after", None, dict(id=1, v="c")), delete(id=2, v="old"), insert(id=4, v="new")], "c2")
        assert state(target) == [("1", "c"), ("3", "old"), ("4", "new")]
        d.window(update(dict(id=3, v="old"), dict(id=30, v="moved")), "c3")
        assert state(target) == [("1", "c"), ("4", "new"), ("30", "moved")]
        d.window([insert(id=4, v="there already"), delete(id=99, v="never was")], "c4")
        assert state(target) == [("1", "c"), ("4", "there already"), ("30", "moved")]


@both
def test_two_rows_of_one_identity(target):
    with driver(target) as d:
        d.open()
        rows = [insert(id=1, v="a"), insert(id=7, v="b"), insert(id=7, v="c")]
        for kind in ("snapshot", "changes", "replace"):
            e = refused(lambda: d.window(rows, "c1", kind=kind), "sink.duplicate_identity")
            assert "7" in e.message and state(target) == [], e
        assert d.cursor() is None
    with driver(target, duplicates="last") as d:
        d.open()
        for kind in ("snapshot", "changes", "replace"):
            d.window(rows, f"c {kind}", kind=kind)
            assert state(target) == [("1", "a"), ("7", "c")]


@both
def test_null_in_an_identity(target):
    with driver(target) as d:
        d.open()
        e = refused(lambda: d.window([insert(id=None, v="a")], "c1"), "sink.value")
        assert '"id"' in e.message and "null" in e.message, e


@both
def test_history(target):
    with driver(target, mode="history") as d:
        d.open()
        d.window([insert(3, "2024-02-29T12:00:00.000000Z", id=1, v="a"), insert(3, id=2, v="b")], "c1", kind="snapshot", snapshot=3)
        d.window([*update(dict(id=1, v="a"), dict(id=1, v="b"), 4), change("update", dict(id=2, v="b"), dict(id=2, v="b"), 4), delete(4, id=1, v="b")], "c2", snapshot=4,
                 ts=1709208000000000, batch=2)
        refused(lambda: d.window([insert(5, id=1, v="x"), change("explode", None, dict(id=1, v=None))], "c3"), "change.unknown_op")
        d.window([insert(5, id=1, v="y")], "c3", snapshot=5)
    utc = "2024-02-29T12:00:00.000000Z" if target.sink == "sqlite" else "2024-02-29 12:00:00+00"
    assert target.rows("SELECT * FROM orders ORDER BY lakecdc_event") == [
        ("1", "insert", "3", utc, "1", "a"), ("2", "insert", "3", None, "2", "b"), ("3", "update_before", "4", utc, "1", "a"), ("4", "update_after", "4", utc, "1", "b"),
        ("5", "update_before", "4", utc, "2", "b"), ("6", "update_after", "4", utc, "2", "b"), ("7", "delete", "4", utc, "1", "b"), ("8", "insert", "5", None, "1", "y")]


@both
def test_history_is_never_cleared(target):
    """A whole state in place of the old one, as after a gap."""
    with driver(target, mode="history") as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1", kind="replace")
        e = refused(lambda: d.window([insert(id=2, v="b")], "c2", kind="replace"), "sink.not_empty")
        assert "adopt" in e.message and len(state(target)) == 1 and d.cursor() == "c1"
    with driver(target, mode="history", if_exists="adopt") as d:
        d.open()
        d.window([insert(id=2, v="b")], "c2", kind="replace")
    assert [r[0] for r in target.rows("SELECT id FROM orders ORDER BY lakecdc_event")] == ["1", "2"]


@both
def test_history_needs_no_identity(target):
    with driver(target, identity=(), mode="history") as d:
        d.open()
        d.window([insert(id=1, v="a"), insert(id=1, v="a"), insert(id=None, v=None)], "c1")
        assert len(state(target)) == 3
    with driver(target, identity=(), table="other") as d:
        refused(d.open, "request.identity_needed")


@both
def test_whole_states(target):
    with driver(target, identity=(), mode="replace") as d:
        d.open()
        d.window([insert(id=1, v="a"), insert(id=1, v="a")], "c1", kind="replace", batch=1)
        assert state(target) == [("1", "a"), ("1", "a")]
        d.do("begin", kind="replace", snapshot=2)
        d.do("write", rows=[insert(id=5, v="e")])
        d.do("abort")
        assert len(state(target)) == 2 and d.cursor() == "c1"
        d.window([insert(id=5, v="e")], "c2", kind="replace")
        assert state(target) == [("5", "e")]
        refused(lambda: d.window([insert(id=6, v="e")], "c3"), "request.conflict")
        d.window([], "c3", kind="replace")
        assert state(target) == [] and d.cursor() == "c3"


@both
def test_first_snapshot_into_rows(target):
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="mine"), insert(id=2, v="mine")], "c1")
        e = refused(lambda: d.window([insert(id=1, v="new")], "c2", kind="snapshot"), "sink.not_empty")
        assert "adopt" in e.message and state(target) == [("1", "mine"), ("2", "mine")]
    with driver(target, if_exists="adopt") as d:
        d.open()
        d.window([insert(id=1, v="new")], "c2", kind="snapshot")
        assert state(target) == [("1", "new"), ("2", "mine")]


@both
def test_target_of_somebody_else(target):
    """A table that was there before: with columns of its own, wider types, and without what the sink needs."""
    unique = "id bigint PRIMARY KEY" if target.sink == "postgresql" else "id INTEGER PRIMARY KEY"
    target.sql(f"CREATE TABLE orders ({unique}, v text, note text DEFAULT 'kept')")
    with driver(target, [("id", "int"), ("v", "string")], create="false") as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1", kind="snapshot")
        target.sql("UPDATE orders SET note = 'mine'")
        d.window(update(dict(id=1, v="a"), dict(id=1, v="b")), "c2")
        assert state(target) == [("1", "b", "mine")]
    with driver(target, table="absent", create="false") as d:
        refused(d.open, "sink.missing")
    target.sql("CREATE TABLE plain (id bigint, v text)")
    with driver(target, table="plain") as d:
        e = refused(d.open, "sink.schema")
        assert target.sink == "postgresql" or "unique index" in e.message, e
    target.sql("CREATE TABLE demanding (id bigint PRIMARY KEY, v text, must text NOT NULL)")
    with driver(target, table="demanding") as d:
        assert '"must"' in refused(d.open, "sink.schema").message
    with Driver(target.sink, COLUMNS, target.settings(table="orders"), table="second") as d:
        e = refused(d.open, "sink.other_table")
        assert '"orders"' in e.message and '"second"' in e.message, e
    with driver(target, [("id", "int"), ("v", "string")], mode="history") as d:
        refused(d.open, "sink.other_table")


@both
def test_target_dropped(target):
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
    target.sql("DROP TABLE orders")
    with driver(target) as d:
        assert "lakecdc_cursor" in refused(d.open, "sink.target_gone").message
        target.sql("DELETE FROM lakecdc_cursor")
        d.open()
        assert d.cursor() is None and state(target) == []


# ---------------------------------------------------------------- schemas

@both
def test_columns_that_change(target):
    is_pg = target.sink == "postgresql"
    first = [("id", "bigint"), ("n", "int"), ("p", "decimal(10,2)"), ("f", "float"), ("s", "string")]
    row = dict(id=1, n=2, p="1.50", f=0.5, s="x")
    with driver(target, first) as d:
        d.open()
        d.window([insert(**row)], "c1", kind="snapshot")
    wider = [("id", "bigint"), ("n", "bigint"), ("p", "decimal(12,2)"), ("f", "double"), ("s", "string"), ("neu \"q\"", "date")]
    with driver(target, wider) as d:
        d.open()
        assert d.cursor() == "c1"
        d.window([insert(id=2, n=2**40, p="1234567890.12", f=0.1, s="y", **{'neu "q"': "2024-01-01"})], "c2")
    assert state(target) == [("1", "2", "1.50", "0.5", "x", None), ("2", str(2**40), "1234567890.12", "0.1", "y", "2024-01-01")]
    if is_pg:
        assert target.types() == {"id": "bigint", "n": "bigint", "p": "numeric(12,2)", "f": "double precision", "s": "text", 'neu "q"': "date"}
    for other, column in [((1, ("n", "int")), "n"), ((2, ("p", "decimal(11,2)")), "p"), ((2, ("p", "decimal(12,4)" if not is_pg else "decimal(12,1)")), "p"),
                          ((3, ("f", "float")), "f"), ((4, ("s", "bigint")), "s"), ((4, ("s", "binary")), "s"), ((1, ("n", "string")), "n")]:
        changed = list(wider)
        changed[other[0]] = other[1]
        with driver(target, changed) as d:
            e = refused(d.open, "sink.schema")
            assert f'"{column}"' in e.message and not e.retriable, e
    renamed = wider[:4] + [("s2", "string")] + wider[5:]
    with driver(target, renamed) as d:
        e = refused(d.open, "sink.schema")
        assert '"s"' in e.message and "renamed" in e.message and "dropped_columns" in e.message, e
        assert "s2" not in target.types(), "a refusal has changed the target"
        target.sql("ALTER TABLE orders RENAME COLUMN s TO s2")
        d.open()
        assert d.cursor() == "c2"
    with driver(target, wider[:4], dropped_columns="keep") as d:
        d.open()
        d.window([insert(id=3, n=1, p="1.00", f=1.0)], "c3")
    assert state(target)[2] == ("3", "1", "1.00", "1.0" if not is_pg else "1", None, None)
    with driver(target, wider[:4], identity=("id", "n")) as d:
        refused(d.open, "sink.schema")   # no unique index over both


@both
def test_names(target):
    table = 'o"r\'d;é-- select'
    columns = [("select", "bigint"), ("a b", "string"), ('quo"te', "string"), ("apo'strophe", "string"), ("日本", "string"), ("x;--", "string"), ("%s", "string"), ("\\", "string")]
    row = {name: (1 if i == 0 else f"v{i}") for i, (name, _) in enumerate(columns)}
    with driver(target, columns, table=table, identity=("select",)) as d:
        d.open()
        d.window([change("insert", None, row)], "c'1\"\\", kind="snapshot")
        d.window(update(row, {**row, "a b": "new"}), "c'2\"\\")
        assert d.cursor() == "c'2\"\\"
    assert target.rows(f"SELECT * FROM {quoted(table)}") == [("1", "new", *[f"v{i}" for i in range(2, 8)])]
    with driver(target, columns, table=table, identity=("select",)) as d:
        d.open()
        assert d.cursor() == "c'2\"\\"
    with driver(target, [("id", "bigint"), ("lakecdc_event", "string")], table="own") as d:
        assert "lakecdc_event" in refused(d.open, "sink.schema").message
    with driver(target, table="lakecdc_cursor") as d:
        refused(d.open, "sink.schema")
    long = "n" * 64
    if target.sink == "postgresql":
        for words in (dict(table=long), dict(table="t", columns=[("id", "bigint"), (long, "string")]), dict(table="t", columns=[("id", "bigint"), ("é" * 32, "string")]),
                      dict(schema=long, table="t")):
            with driver(target, **words) as d:
                assert "63" in refused(d.open, "sink.schema").message
        with driver(target, table="n" * 63) as d:
            d.open()
        with driver(target, [("id", "bigint"), ("ID", "string")], table="cases") as d:
            d.open()
    else:
        with driver(target, table=long) as d:
            d.open()
        with driver(target, [("id", "bigint"), ("ID", "string")], table="cases") as d:
            assert "letter case" in refused(d.open, "sink.schema").message


# ---------------------------------------------------------------- failures

@both
def test_constraint_and_repair(target):
    target.sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, v text, CHECK (v <> 'forbidden'))")
    with driver(target, [("id", "int"), ("v", "string")]) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
        for kind in ("changes", "replace"):
            e = refused(lambda: d.window([insert(id=2, v="b"), insert(id=3, v="forbidden")], "c2", kind=kind), "sink.constraint")
            assert not e.retriable and state(target) == [("1", "a")] and cursor_of(target) == "c1"
        if target.sink == "postgresql":
            target.sql("ALTER TABLE orders DROP CONSTRAINT orders_v_check")
            d.window([insert(id=2, v="b"), insert(id=3, v="forbidden")], "c2")
            assert len(state(target)) == 3


@both
def test_second_writer(target):
    with driver(target) as first, driver(target) as second:
        first.open()
        first.window([insert(id=1, v="a")], "c1")
        if target.sink == "postgresql":
            e = refused(second.open, "sink.locked")
            assert e.retriable and f"process {first.process.pid} " in e.message and "orders" in e.message, e
            first.do("close")
            second.open()
            assert second.cursor() == "c1"
            return
        second.open()
        second.window([insert(id=2, v="b")], "c2")
        e = refused(lambda: first.window([insert(id=2, v="doubled")], "c2"), "sink.cursor_moved")
        assert e.retriable and f"process {second.process.pid} " in e.message, e
        assert state(target) == [("1", "a"), ("2", "b")]
        first.open()
        assert first.cursor() == "c2"
        second.do("begin", kind="changes", snapshot=3)
        with driver(target, busy_timeout="0") as third:
            e = refused(third.open, "sink.locked")
            assert e.retriable and target.path in e.message, e
        second.do("abort")


@both
def test_cancelled(target):
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
        d.do("begin", kind="changes", snapshot=2)
        d.do("write", rows=[insert(id=2, v="b")])
        d.do("cancel", after_ms=0)
        time.sleep(0.1)
        e = refused(lambda: d.do("commit", cursor="c2"), "cancelled") if target.sink == "postgresql" else refused(lambda: d.do("write", rows=[insert(id=3, v="c")]), "cancelled")
        d.do("abort")
        d.do("cancel", after_ms=-1)
        d.window([insert(id=2, v="again")], "c2")
        assert state(target) == [("1", "a"), ("2", "again")]


def within_a_second(call):
    began = time.monotonic()
    e = refused(call, "cancelled")
    assert time.monotonic() - began < 1.3, f"{time.monotonic() - began:.2f} s to stop"   # 0.3 of it before the flag is set
    return e


def test_cancelled_while_sqlite_is_locked_or_busy(folder):
    target = Sqlite(folder)
    with driver(target) as d, driver(target, table="big", columns=[("id", "bigint"), ("v", "bigint")]) as other:
        d.open()
        other.open()
        db = sqlite3.connect(target.path, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        d.do("cancel", after_ms=300)
        try:
            within_a_second(lambda: d.do("begin", kind="changes", snapshot=1))
        except AssertionError as e:
            assert "sink.locked" in str(e), e   # the lock was refused because of the flag
        db.execute("ROLLBACK")
        d.do("abort")
        db.execute("CREATE TRIGGER slow AFTER INSERT ON big BEGIN UPDATE big SET v = (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) "
                   "SELECT count(*) FROM n); END")
        db.close()
        other.do("cancel", after_ms=300)
        within_a_second(lambda: other.window([insert(id=1, v=1)], "c1"))
        other.do("cancel", after_ms=-1)
        assert target.rows("SELECT * FROM big") == []


def test_cancelled_while_postgresql_blocks(folder):
    target = Postgres("cancel_blocked")
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
        # a server that is frozen
        backend, = SERVER.backends()
        os.kill(backend, signal.SIGSTOP)
        try:
            d.do("cancel", after_ms=300)
            within_a_second(lambda: d.window([insert(id=2, v="b")], "c2"))
            d.do("cancel", after_ms=-1)
        finally:
            os.kill(backend, signal.SIGCONT)
        d.window([insert(id=2, v="b")], "c2")
        # a statement that runs without end; the server ends it once the client is gone, and gives the lock back
        target.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'; "
                   "CREATE TRIGGER slow BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION slow()")
        d.do("cancel", after_ms=300)
        within_a_second(lambda: d.window([insert(id=3, v="c")], "c3"))
        d.do("cancel", after_ms=-1)
        target.sql("DROP TRIGGER slow ON orders")
        d.window([insert(id=3, v="c")], "c3")
        assert [r[0] for r in state(target)] == ["1", "2", "3"]


def test_connection_cut_in_the_middle(folder):
    target = Postgres("cut")
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
        d.do("begin", kind="changes", snapshot=2)
        d.do("write", rows=[insert(id=2, v="b")])
        os.kill(SERVER.backends()[0], signal.SIGTERM)
        e = refused(lambda: d.do("write", rows=[insert(id=3, v="c")]), "sink.unavailable")
        assert e.retriable
        d.do("abort")
        assert d.cursor() == "c1" and state(target) == [("1", "a")]
        d.window([insert(id=2, v="b"), insert(id=3, v="c")], "c2")
        os.kill(SERVER.backends()[0], signal.SIGTERM)   # while nothing is under way
        time.sleep(0.3)
        d.window([insert(id=4, v="d")], "c3")
        assert len(state(target)) == 4 and d.cursor() == "c3"


class Proxy:
    """Between the sink and the server; once told, the server's answer to a COMMIT never arrives."""

    def __init__(self, port):
        self.port, self.listener = port, socket.create_server(("127.0.0.1", 0))
        self.loses_commit = self.is_mute = False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.is_mute = False
            server = socket.create_connection(("127.0.0.1", self.port))
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def pump(self, source, sink, is_client):
        try:
            while data := source.recv(65536):
                if is_client and self.loses_commit and b"; COMMIT" in data:
                    self.loses_commit, self.is_mute = False, True
                    sink.sendall(data)
                    time.sleep(0.5)   # the server has committed
                    break
                if is_client or not self.is_mute:
                    sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_commit_whose_answer_is_lost(folder):
    """The window is delivered again, and must not be there twice."""
    target = Postgres("in_doubt")
    proxy = Proxy(SERVER.port)
    dsn = SERVER.dsn().replace(f"port={SERVER.port}", f"port={proxy.listener.getsockname()[1]}")
    rows = [insert(id=1, v="a"), insert(id=2, v="b")]
    with driver(target, mode="history", dsn=dsn) as d:
        d.open()
        d.window([insert(id=0, v="")], "c1")
        proxy.loses_commit = True
        e = refused(lambda: d.window(rows, "c2"), "sink.unavailable")
        assert e.retriable and cursor_of(target) == "c2", "the test has missed its moment"
        d.window(rows, "c2")
        assert d.cursor() == "c2" and len(state(target, "lakecdc_event")) == 3
        d.window([insert(id=3, v="c")], "c3")
        assert [r[0] for r in state(target, "lakecdc_event")] == ["1", "2", "3", "4"]
        proxy.loses_commit = True
        refused(lambda: d.window([insert(id=4, v="d")], "c4"), "sink.unavailable")
        refused(lambda: d.window([insert(id=4, v="d"), insert(id=5, v="e")], "c5"), "sink.cursor_moved")   # another window than the one in doubt
        d.open()
        assert d.cursor() == "c4"
    proxy.listener.close()


def test_refused_connections(folder):
    target = Postgres("refusals")
    SERVER.sql("CREATE ROLE reader LOGIN PASSWORD '" + PASSWORD + "'; GRANT USAGE ON SCHEMA refusals TO reader")
    free = socket.create_server(("127.0.0.1", 0))
    silent = free.getsockname()[1]   # accepts, and says nothing
    cases = [({"dsn": SERVER.dsn(password="Wr0ng-Passw0rd")}, "sink.denied", False), ({"dsn": SERVER.dsn(user="nobody_here")}, "sink.denied", False),
             ({"dsn": SERVER.dsn(database="no_such_db")}, "sink.missing", False), ({"schema": "no_such_schema"}, "sink.missing", False),
             ({"dsn": f"host=127.0.0.1 port=1 user=x password={PASSWORD}"}, "sink.unavailable", True), ({"dsn": PASSWORD}, "request.bad_value", False),
             ({"dsn": f"postgresql://u:{PASSWORD}@[bad"}, "request.bad_value", False), ({"dsn": SERVER.dsn(user="reader")}, "sink.denied", False),
             ({"dsn": f"host=127.0.0.1 port={silent} password={PASSWORD}", "connect_timeout": "1"}, "sink.unavailable", True), ({"connect_timeout": "soon"}, "request.bad_value", False),
             ({"dsn": SERVER.dsn(extra="options='-c default_transaction_read_only=on'")}, "sink.denied", False)]
    for settings, reason, retriable in cases:
        with driver(target, **settings) as d:
            e = refused(d.open, reason)
            assert e.retriable == retriable and PASSWORD not in e.message and "Wr0ng" not in e.message, (settings, e)
    free.close()


def test_missing_permission_and_statement_timeout(folder):
    target = Postgres("rights")
    SERVER.sql("DROP ROLE IF EXISTS writer; CREATE ROLE writer LOGIN PASSWORD '" + PASSWORD + "'; GRANT USAGE, CREATE ON SCHEMA rights TO writer")
    with driver(target, dsn=SERVER.dsn(user="writer")) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
        SERVER.sql("REVOKE INSERT ON rights.orders FROM writer; ALTER TABLE rights.orders OWNER TO owner")
        e = refused(lambda: d.window([insert(id=2, v="b")], "c2"), "sink.denied")
        assert not e.retriable and cursor_of(target) == "c1"
        SERVER.sql("GRANT ALL ON rights.orders TO writer")
        d.window([insert(id=2, v="b")], "c2")
    # nothing is created where nothing may be, once everything is there
    SERVER.sql("REVOKE CREATE ON SCHEMA rights FROM writer")
    with driver(target, dsn=SERVER.dsn(user="writer", extra="options='-c statement_timeout=400ms'")) as d:
        d.open()
        d.window([insert(id=3, v="c")], "c3")
        target.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(5); RETURN NEW; END'; "
                   "CREATE TRIGGER slow BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION slow()")
        e = refused(lambda: d.window([insert(id=4, v="d")], "c4"), "sink.timeout")
        assert e.retriable and cursor_of(target) == "c3"


def test_server_down_and_up_again(folder):
    target = Postgres("restart")
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
        d.do("begin", kind="changes", snapshot=2)
        d.do("write", rows=[insert(id=2, v="b")])
        SERVER.stop(signal.SIGQUIT)
        e = refused(lambda: d.do("commit", cursor="c2"), "sink.unavailable")
        assert e.retriable
        d.do("abort")
        assert refused(lambda: d.window([insert(id=2, v="b")], "c2"), "sink.unavailable").retriable
        SERVER.start()
        d.window([insert(id=2, v="b")], "c2")
        assert len(state(target)) == 2 and d.cursor() == "c2"


def small_disk(folder, size):
    os.makedirs(folder, exist_ok=True)
    done = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True).returncode == 0
    if not done:
        print(f"     no file system of {size} here: mounting one takes root", flush=True)
    return done


def test_disk_full(folder):
    disk = os.path.join(folder, "disk")
    rows = [insert(id=i, v=random.Random(i).randbytes(1000).hex()) for i in range(3000)]
    if small_disk(disk, "2m"):
        try:
            target = Sqlite(disk)
            with driver(target) as d:
                d.open()
                d.window([insert(id=1, v="a")], "c1", kind="snapshot")
                e = refused(lambda: d.window(rows, "c2", batch=200, kind="replace"), "sink.full")
                assert e.retriable and d.cursor() == "c1" and state(target) == [("1", "a")]
                subprocess.run(["mount", "-o", "remount,size=30m", disk], check=True)
                d.window(rows, "c2", batch=200, kind="replace")
                assert len(state(target)) == 3000
        finally:
            subprocess.run(["umount", disk], check=True)
    place = tempfile.mkdtemp(prefix="lakecdc-space-")
    if small_disk(place, "4m"):
        try:
            os.makedirs(f"{place}/space")
            shutil.chown(f"{place}/space", "postgres")
            os.chmod(place, 0o755)
            target = Postgres("disk_full")
            SERVER.sql(f"CREATE TABLESPACE small LOCATION '{place}/space'")
            dsn = SERVER.dsn(extra="options='-c default_tablespace=small'")
            with driver(target, dsn=dsn) as d:
                d.open()
                d.window([insert(id=1, v="a")], "c1", kind="snapshot")
                e = refused(lambda: d.window(rows, "c2", batch=200, kind="replace"), "sink.full")
                assert e.retriable and d.cursor() == "c1" and state(target) == [("1", "a")]
                subprocess.run(["mount", "-o", "remount,size=60m", place], check=True)
                d.window(rows, "c2", batch=200, kind="replace")
                assert len(state(target)) == 3000
            SERVER.sql("DROP SCHEMA disk_full CASCADE")
            SERVER.sql("DROP TABLESPACE small")
        finally:
            subprocess.run(["umount", place], check=True)
            os.rmdir(place)


def test_read_only_and_damaged_files(folder):
    target = Sqlite(folder)
    with driver(target) as d:
        d.open()
        d.window([insert(id=1, v="a")], "c1")
    with driver(target, path=os.path.join(folder, "no", "such", "folder.db")) as d:
        assert "folder.db" in refused(d.open, "sink.missing").message
    with driver(target, path=folder) as d:
        refused(d.open, "sink.missing")
    with open(os.path.join(folder, "noise.db"), "wb") as f:
        f.write(random.Random(1).randbytes(8192))
    with driver(target, path=os.path.join(folder, "noise.db")) as d:
        refused(d.open, "sink.altered")
    for seconds in ("-1", "x", "1e3"):
        with driver(target, busy_timeout=seconds) as d:
            refused(d.open, "request.bad_value")
    disk = os.path.join(folder, "disk")
    if not small_disk(disk, "2m"):
        return
    try:
        target = Sqlite(disk)
        with driver(target, journal="delete") as d:
            d.open()
            d.window([insert(id=1, v="a")], "c1")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with driver(target, journal="delete") as d:
            assert not refused(d.open, "sink.denied", "sink.missing").retriable
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        with driver(target, journal="delete") as d:
            d.open()
            assert d.cursor() == "c1"
    finally:
        subprocess.run(["umount", disk], check=True)


@both
def test_a_cursor_that_is_set_between_windows(target):
    with driver(target) as d:
        d.open()
        d.do("set_cursor", cursor="c0")
        assert d.cursor() == cursor_of(target) == "c0" and state(target) == []
        d.window([insert(id=1, v="a")], "c1", snapshot=7)
        d.do("set_cursor", cursor="it's")
        d.do("set_cursor", cursor="it's")
        assert target.rows("SELECT cursor, snapshot FROM lakecdc_cursor") == [("it's", "7")] and state(target) == [("1", "a")]
        d.window([insert(id=2, v="b")], "c1")
        d.do("set_cursor", cursor=None)
        assert d.cursor() is None and cursor_of(target) is None
        d.window([insert(id=3, v="c")], "c2", kind="replace")
        assert d.cursor() == "c2" and state(target) == [("3", "c")]
        # another writer is seen here as it is at a window
        target.sql("UPDATE lakecdc_cursor SET cursor = 'elsewhere'")
        refused(lambda: d.do("set_cursor", cursor="c3"), "sink.cursor_moved")
        assert cursor_of(target) == "elsewhere"


# ---------------------------------------------------------------- crashes and size

def feed(d, windows, first):
    """Sends all windows from `first` on, as far as the driver lives."""
    pipe = d.process.stdin
    try:
        for n in range(first, len(windows)):
            for what in (dict(do="begin", kind="changes", snapshot=n), dict(do="write", rows=windows[n]), dict(do="commit", cursor=str(n))):
                pipe.write(json.dumps(what) + "\n")
        pipe.flush()
    except (OSError, ValueError):
        pass


def crash(target, rounds, rng, **settings):
    """Kills the driver at random moments of a run of windows; a new one goes on from the target's cursor."""
    truth = [{}]
    windows = []
    for n in range(rounds * 20):
        rows, now = [], dict(truth[-1])
        for _ in range(rng.randint(1, 30)):
            i = rng.randint(1, 40)
            new = dict(id=i, v=rng.randbytes(rng.choice([3, 3, 2000])).hex())
            rows += update(now[i], new, n) if i in now and rng.random() < 0.6 else [delete(n, **now[i])] if i in now else [insert(n, **new)]
            if rows[-1]["op"] == "delete":
                del now[i]
            else:
                now[i] = new
        windows.append(rows)
        truth.append(now)
    events = sum(len(w) for w in windows)
    kills = 0
    while True:
        with driver(target, **settings) as d:
            for _ in range(50):   # a server takes a moment to see that the last one is gone
                try:
                    d.open()
                    break
                except Exception as e:
                    assert "sink.locked" in str(e), e
            at = d.cursor()
            done = 0 if at is None else int(at) + 1
            if settings.get("mode") == "history":
                there, want = len(target.rows("SELECT lakecdc_event FROM orders")), sum(len(w) for w in windows[:done])
                assert there == want, f"{there} events after {done} windows and {kills} kills, want {want}"
            else:
                got = {int(i): v for i, v in target.rows("SELECT id, v FROM orders")}
                assert got == {i: r["v"] for i, r in truth[done].items()}, f"after {done} windows and {kills} kills"
            if done == len(windows):
                return kills, events
            feeder = threading.Thread(target=feed, args=(d, windows, done), daemon=True)
            feeder.start()
            if kills < rounds:
                time.sleep(rng.random() * 0.15)
                kills += 1
                d.kill()
            else:
                for _ in range(3 * (len(windows) - done)):
                    d.answer()
            feeder.join()


@both
def test_killed_at_any_moment(target):
    kills, _ = crash(target, 12, random.Random(7))
    assert kills == 12, f"{kills} kills: the run was over too soon"
    target.sql("DROP TABLE orders")
    target.sql("DROP TABLE lakecdc_cursor")
    crash(target, 8, random.Random(8), mode="history")


def test_small_window_of_a_large_target(folder):
    """A few rows are looked up; the target is not read."""
    target = Postgres("large_target")
    with driver(target) as d:
        d.open()
        target.sql("INSERT INTO orders SELECT i, 'old' FROM generate_series(1, 100000) i; ANALYZE orders")
        read = lambda: int(SERVER.rows("SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = 'large_target' AND relname = 'orders'")[0][0])
        before = read()
        for n in range(5):
            d.window([delete(id=n + 1, v="old"), *update(dict(id=n + 10, v="old"), dict(id=n + 10, v="new")), insert(id=200000 + n, v="x")], f"c{n}")
        d.do("close")   # which sends the server's counters on
        time.sleep(1.2)
        assert read() == before, f"{read() - before} rows of the target were read"
        assert target.rows("SELECT count(*), count(*) FILTER (WHERE v = 'new') FROM orders") == [("100000", "5")]


@both
def test_commit_larger_than_its_batches(target):
    """Memory follows the batch, not the commit."""
    with driver(target, [("id", "bigint"), ("v", "string")]) as d:
        d.open()
        peaks = []
        for n, size in enumerate((10000, 60000)):
            d.do("begin", kind="changes", snapshot=n)
            for i in range(0, size, 2500):
                d.do("write", rows=[insert(id=k, v=f"{k} {n} " + "x" * 50) for k in range(i, i + 2500)])
            d.do("commit", cursor=f"c{n}")
            peaks.append(d.peak_kb)
        assert target.rows("SELECT count(*) FROM orders") == [("60000",)]
        assert peaks[1] - peaks[0] < 16384, peaks


if __name__ == "__main__":
    with Server() as SERVER:
        harness.main(__doc__)
