#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One meaning on every kind of table: the same histories, the same requests, the same words.

The one idea: a history is a list of logical steps, a request names steps instead of commits. Each kind of table plays
the history through its adapter and must give what the model says, told as finely as the kind's quirks allow. Mistakes
must get the same status and reason everywhere.
    suite.py [--only WORD ...] [--keep DIR]      a word picks kinds or tests by their names
"""
import functools
import glob
import json
import math
import multiprocessing
import os
import shutil
import sys
import traceback
from dataclasses import dataclass, field

import pyarrow as pa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from conformance.kinds import KINDS, QUIRKS
from conformance.model import Model, arrow_type
from support import harness
from support.delta_schema import freeze
from support.expected import Request, expected
from sync.running import Sync

NAN = math.nan
COLUMNS = [("id", "long"), ("name", "string"), ("qty", "int"), ("ratio", "float"), ("st", [("x", "int"), ("y", "string")]), ("note", "string")]


def order(id, name="n", qty=1, ratio=0.5, st=(1, "s"), note="-", **more):
    return {"id": id, "name": name, "qty": qty, "ratio": ratio, "st": st and {"x": st[0], "y": st[1]}, "note": note, **more}


ORDERS = [
    ("seed", "append", [order(1, "ada"), order(2, "bob", None, NAN), order(3, None, 7, None, None), order(4, "", 0, -2.5, (None, None)),
                        order(5, "it's", 5, NAN, (5, "five")), order(6, "Zoë", -3), order(7, "x%_", 2147483647), order(8, "bob", 8, 8.0)]),
    ("more", "append", [order(9, "ada", 9), order(10, None, None, None, None, None)]),
    ("update", "change", {2: {"qty": 20}, 3: {"st": {"x": 3, "y": None}, "ratio": NAN}, 5: {"name": None, "qty": 50}, 9: {"qty": None}}),
    ("delete", "change", {}, (4, 10)),
    ("touch", "change", {1: {}, 2: {}, 8: {}}),
    ("merge", "change", {1: {"qty": 100}, 6: {"name": "Zoe"}, 7: {}}, (8,), [order(11, "new", 11, NAN), order(12, None, None, None, None, None)]),
    ("again", "change", {}, (12,), [order(12, None, None, None, None, None)]),
    ("compact", "compact"),
    ("add column", "add", "extra", "string"),
    ("filled", "change", {1: {"extra": "e"}, 3: {"extra": None, "qty": 8}}, (), [order(13, "late", 13, extra="x")]),
    ("rename", "rename", "name", "label"),
    ("widen", "widen", "qty", "long"),
    ("widen float", "widen", "ratio", "double"),
    ("nested", "add", "z", "long", "st"),
    ("wide", "change", {2: {"qty": 1 << 40, "label": "two", "ratio": 0.1}, 11: {"st": {"x": 1, "y": "s", "z": 1 << 50}}}, (13,), []),
    ("drop", "drop", "note"),
    ("drop used", "drop", "extra"),
    ("rewrite", "rewrite"),
    ("last", "change", {5: {"qty": 51}, 6: {}}, (3,), [{"id": 3, "label": "back", "qty": 3}]),
    ("same name", "add", "note", "int"),
    ("overwrite", "overwrite", [{"id": 1, "label": "ada", "qty": 100, "ratio": 0.5, "st": {"x": 1, "y": "s", "z": None}, "note": None}, {"id": 2, "label": "only", "note": 2}]),
    ("end", "append", [{"id": 20, "label": "end", "qty": 20, "ratio": NAN}]),
]

# Rows nobody can tell apart, and a key that is no key.
TWINS = [
    ("seed", "append", [{"id": 1, "v": "a", "w": NAN}] * 3 + [{"id": 2, "v": None, "w": None}] * 2 + [{"id": 2, "v": "b", "w": 0.5}, {"id": 3, "v": "c", "w": 1.0}]),
    ("one more", "append", [{"id": 1, "v": "a", "w": NAN}, {"id": 4, "v": None, "w": NAN}]),
    ("update", "change", {2: {"v": "z"}}),
    ("touch", "change", {1: {}}),
    ("swap", "change", {3: {"v": "d"}}, (4,), [{"id": 3, "v": "c", "w": 1.0}, {"id": 1, "v": "a", "w": NAN}]),
    ("compact", "compact"),
    ("rewrite", "rewrite"),
    ("delete", "change", {}, (1,)),
]

HISTORIES = {"orders": (COLUMNS, ORDERS), "twins": ([("id", "int"), ("v", "string"), ("w", "double")], TWINS)}


@dataclass
class Ask:
    """A request: changes after step `first` (None: from the beginning) up to step `last`."""
    name: str
    history: str
    first: str
    last: str
    options: dict = field(default_factory=dict)


def ask(name, first, last, history="orders", **options):
    return Ask(name, history, first, last, options)


KEY = dict(identity=["id"])
REQUESTS = [
    ask("whole", None, "end"),
    ask("whole, identity", None, "end", **KEY),
    ask("whole, folded", None, "end", **KEY, fold=True),
    ask("whole, without no-ops", None, "end", **KEY, drop_noop=True),
    ask("whole, net", None, "end", **KEY, net=True),
    ask("net in the middle, folded", "more", "wide", **KEY, net=True, fold=True),
    ask("net without identity", "more", "merge", net=True),
    ask("net of nothing but no-ops", "delete", "touch", **KEY, net=True),
    ask("one update", "more", "update"),
    ask("one update, identity", "more", "update", **KEY),
    ask("deletes", "update", "delete"),
    ask("no-op", "delete", "touch"),
    ask("no-op, identity", "delete", "touch", **KEY),
    ask("no-op, dropped", "delete", "touch", **KEY, drop_noop=True),
    ask("merge", "touch", "merge", **KEY),
    ask("merge, folded, no-ops dropped", "touch", "merge", **KEY, fold=True, drop_noop=True),
    ask("delete and insert of an equal row", "merge", "again"),
    ask("delete and insert of an equal row, identity", "merge", "again", **KEY),
    ask("compaction", "again", "compact"),
    ask("rewrite that does not call itself maintenance", "wide", "rewrite"),
    ask("older schema", None, "merge", **KEY),
    ask("columns", "seed", "wide", columns=["st", "label"]),
    ask("columns, identity not among them", "seed", "merge", **KEY, columns=["qty"]),
    ask("columns that did not change", "more", "update", **KEY, columns=["id"]),
    ask("added column", "compact", "filled", **KEY, columns=["extra", "id"]),
    ask("where", "seed", "end", where=("cmp", "qty", ">", 7)),
    ask("where, identity", "seed", "wide", **KEY, where=("cmp", "qty", ">", 7)),
    ask("where, folded", None, "wide", **KEY, fold=True, where=("or", [("cmp", "label", "=", "bob"), ("null", "qty", False)])),
    ask("where on NaN", None, "end", where=("cmp", "ratio", ">", 100.0)),
    ask("where on what is not there", None, "wide", where=("not", ("cmp", "ratio", "<", 1.0))),
    ask("where nested", None, "wide", **KEY, where=("cmp", "st.x", ">=", 3)),
    ask("where nested and late", None, "wide", where=("null", "st.z", True)),
    ask("where null struct", None, "merge", where=("null", "st.y", False)),
    ask("where on text", None, "merge", where=("like", "name", "%o%", False), columns=["id"]),
    ask("where on a name twice used", None, "end", where=("null", "note", True)),
    ask("where, net", "seed", "wide", **KEY, net=True, where=("between", "qty", 1, 100, False)),
    ask("where, nothing passes", None, "end", where=("in", "id", [99, -1], False)),
    ask("where, without pushdown", "seed", "wide", **KEY, where=("in", "qty", [20, None, 100], False), more=["--no-pushdown"]),
    ask("renamed, widened", "filled", "wide", **KEY),
    ask("overwrite", "last", "overwrite", **KEY, drop_noop=True),
    ask("empty range", "merge", "merge"),
    ask("empty range at the end", "end", "end", **KEY, fold=True, where=("cmp", "id", ">", 0)),
    ask("small batches", "seed", "end", **KEY, fold=True, more=["--batch-rows", "1"]),
    ask("little memory", None, "end", **KEY, net=True, more=["--memory-limit", "1048576"]),
    ask("twins", None, "delete", "twins"),
    ask("twins, first update", "one more", "update", "twins"),
    ask("twins, identity that is none", "one more", "touch", "twins", **KEY),
    ask("twins swapped", "touch", "swap", "twins"),
    ask("twins, maintenance", "swap", "rewrite", "twins"),
    ask("twins, deleted", "rewrite", "delete", "twins"),
    ask("twins, where", None, "delete", "twins", where=("null", "v", False), columns=["w"]),
    ask("twins, net", "seed", "delete", "twins", net=True),
]

METHODS = {"append", "cdf_files", "vector_diff", "lineage_diff", "equality_delete", "content_diff", "whole_files", "none"}
NOWHERE = "918273645546372819"


class Table:
    """A kind's table of one history, with the model beside it."""

    def __init__(self, kind, history, root):
        self.make, self.traits, self.update_method = KINDS[kind]
        assert set(self.traits) <= set(QUIRKS)
        columns, steps = HISTORIES[history]
        self.model, self.kind = Model(columns).play(steps), self.make(root, columns).play(steps)
        self.root, self.at, self.labels = self.kind.root, self.kind.at, self.model.labels
        self.unique = history == "orders"

    # What `expected` asks a builder table for.
    def changes(self, first, last):
        return self.model.changes(first, last, self.traits, self.at.get)

    def net(self, first, last):
        return self.model.net(first, last)

    def columns(self, last):
        return self.model.marks[last].columns

    def bounds(self, first, last):
        return (["--from", self.at[first], "--from-exclusive"] if first else ["--from", "start"]) + ["--to", self.at[last]]

    def run(self, verb, *words):
        return harness.run(verb, self.root, *words, *(["--format", "arrow"] if verb == "changes" else []))

    def check(self, r, want, first, last, columns=None, net=False, loose=False, identity=None):
        """Holds an answer against the change rows it must have; gives them in their order."""
        try:
            got = r.table()
            type = arrow_type(self.columns(last))
            harness.check_schema(got, pa.struct([type.field(n) for n in columns]) if columns else type)
            rows, commits = harness.rows_of(got), self.kind.commits(None, last)
            assert None not in got.column("ts").to_pylist(), "a row without a commit time"
            strays = {s for *_, s in rows} - set(commits)
            assert not strays, f"rows of commits {strays}"
            if net:
                assert {s for *_, s in rows} <= {commits[-1]}, "a net row is not of the last commit"
                rows = [(*c[:3], None) for c in rows]
            else:
                ids = ["id"] if self.unique and not (columns and "id" not in columns) else None
                harness.check_order([(*c[:3], commits.index(c[3])) for c in rows], ids)
            harness.same_rows(rows, want, loose)
            return rows
        except AssertionError as e:
            raise r.blame(e) from None


def test_requests(tables, name):
    q = next(q for q in REQUESTS if q.name == name)
    t = tables[q.history]
    request = Request(q.first, q.last, bounds=t.bounds(q.first, q.last), **q.options)
    # Net by the ids a source keeps, and updates among rows that share an identity, have labels of their own.
    loose = "row ids" in t.traits and bool(request.net) and not request.identity
    t.check(t.run("changes", *request.words()), expected(t, request), q.first, q.last, q.options.get("columns"), request.net, loose)


# ------------------------------------------------------------------ the archive of a table, written while it was made

class Archived(Table):
    """A table whose every step was archived by a sync before the next one was made."""

    def __init__(self, kind, history, root):
        self.make, self.traits, _ = KINDS[kind]
        columns, steps = HISTORIES[history]
        os.makedirs(root)
        self.model, self.kind, self.root, self.unique = Model(columns).play(steps), self.make(root + "/t", columns), root + "/t", history == "orders"
        self.at, self.place = self.kind.at, "archive:" + root + "/archive"
        sync = Sync(root, {"t": {"identity": [], "start": "oldest", "sink_options": {"path": "archive", "rows_per_file": "3"}}}, sinks={"out": {"type": "parquet"}})
        for step in steps:
            self.kind.play([step])
            r = sync.once()
            if r.code:  # a column that goes or gets another name stops the table until somebody says that it may go on
                assert sync.state("t")["state"] == "schema_changed", r.err
                sync.ledger("set", "t", "--resume")
                r = sync.once()
            assert r.code == 0, r.err
        names = [os.path.basename(p) for p in sorted(glob.glob(root + "/archive/commits/*/*"))]
        self.held = [int(n.split("_")[1]) for n in names]

    def last_held(self, label):
        """The last commit up to a step that is in the archive: those without rows are not."""
        return next((c for c in reversed(self.kind.commits(None, label)) if c in self.held), None)

    def lost_a_change(self, first, last):
        """Whether the column that alone told of a change ("filled") is dropped in a range that the change is in."""
        steps = self.model.labels
        return self.unique and "equal rows" not in self.traits and (not first or steps.index(first) < steps.index("filled")) and steps.index(last) >= steps.index("drop used")

    def columns_held(self, label):
        """The columns that the archive knows up to a step: those of its last commit there."""
        return self.model.marks[next(l for l in self.model.labels if self.at[l] == self.last_held(label))].columns


def test_archive(tables, name):
    """The archive gives the rows that the table gives: the same commits, labels and images, in the same order of commits.

    A table without ids of rows tells a change by the columns at the end of the range. The archive keeps what was a change
    in a column that is gone by then: its two images are equal, which is no difference in effect."""
    q = next(q for q in REQUESTS if q.name == name)
    t = tables["archive", q.history]
    first, last = q.first and t.last_held(q.first), t.last_held(q.last)
    if t.columns_held(q.last) != t.columns(q.last):
        return  # it changed without a row, which an archive of rows does not know
    bounds = (["--from", first, "--from-exclusive"] if first is not None else ["--from", "start"]) + ["--to", last]
    asked = harness.run("changes", t.place, *Request(q.first, q.last, bounds=bounds, **q.options).words(), "--format", "arrow")
    told = t.run("changes", *Request(q.first, q.last, bounds=t.bounds(q.first, q.last), **q.options).words())
    try:
        got, want = asked.table(), told.table()
        assert got.schema.field("after").type == want.schema.field("after").type, f"{got.schema.field('after').type}, the table has {want.schema.field('after').type}"
        a, b = harness.rows_of(got), harness.rows_of(want)
        net = q.options.get("net")
        gone = t.lost_a_change(q.first, q.last)
        if net:
            a, b = ([(*row[:3], None) for row in rows] for rows in (a, b))
        assert gone or [row[3] for row in a] == [row[3] for row in b], "the commits come in another order"
        # A table that gives rows ids tells updates by them; an archive has none, and tells them by identity where there is one.
        harness.same_rows(a, b, loose=gone or "row ids" in t.traits and bool(net or q.history == "twins"))
        assert gone or net or got.column("ts").to_pylist() == want.column("ts").to_pylist(), "other times"
    except AssertionError as e:
        raise asked.blame(e) from None


def test_archive_bootstrap(tables):
    """A state that is put together from the archive is the table's."""
    t = tables["archive", "orders"]
    for at, last in (("merge", "end"), ("end", "end"), ("update", "wide")):
        state = [("insert", None, r, t.at[at]) for r in t.model.state(at, t.columns(last))]
        r = harness.run("changes", t.place, "--from", t.at[at], "--to", t.at[last], "--bootstrap", "--format", "arrow")
        t.check(r, state + expected(t, Request(at, last)), at, last, loose=t.lost_a_change(at, last))
    v = as_json(harness.run("verify", t.place, "--json"))
    assert v["holds"], v


# ------------------------------------------------------------------ ways to say a range

def test_bounds(tables):
    """A step by its own commit, by the one before it excluded, by its time; the end likewise, and excluded."""
    t = tables["orders"]
    want = expected(t, Request("update", "merge"))
    at, time = t.at, t.kind.time
    for words in (["--from", at["update"], "--from-exclusive", "--to", at["merge"]], ["--from", at["delete"], "--to", at["merge"]],
                  ["--from", time("delete"), "--to", time("merge")], ["--from", time("update"), "--from-exclusive", "--to", time("merge")],
                  ["--from", at["delete"], "--to", at["again"], "--to-exclusive"]):
        t.check(t.run("changes", *words), want, "update", "merge")
    t.check(t.run("changes"), expected(t, Request(None, "end")), None, "end")
    t.check(t.run("changes", "--from", "start", "--to", "latest"), expected(t, Request(None, "end")), None, "end")
    t.check(t.run("changes", "--from", at["end"], "--to", at["end"], "--to-exclusive"), [], "end", "overwrite")


def test_bootstrap(tables):
    t = tables["orders"]
    for at, last in (("merge", "end"), ("end", "end"), ("update", "wide")):
        state = [("insert", None, r, t.at[at]) for r in t.model.state(at, t.columns(last))]
        r = t.run("changes", "--from", t.at[at], "--to", t.at[last], "--bootstrap")
        t.check(r, state + expected(t, Request(at, last)), at, last)


def cursor_of(r):
    lines = r.err.strip().splitlines()
    assert r.code == 0 and len(lines) == 1, f"exit {r.code}: {r.err}"
    return lines[0]


def test_cursor(tables):
    """What a cursor resumes, and what an idle table says."""
    t = tables["orders"]
    for at in ("seed", "touch", "compact", "wide"):
        first = t.run("changes", "--to", t.at[at], "--print-cursor")
        t.check(first, expected(t, Request(None, at)), None, at)
        rest = t.run("changes", "--cursor", cursor_of(first), "--print-cursor")
        t.check(rest, expected(t, Request(at, "end")), at, "end")
        idle = t.run("changes", "--cursor", cursor_of(rest), "--print-cursor")
        t.check(idle, [], "end", "end")
        assert cursor_of(idle) == cursor_of(rest), "an idle read moved the cursor"


def test_limit(tables):
    """The first N rows of the same answer."""
    t = tables["orders"]
    whole = harness.rows_of(t.run("changes").table())
    for n in (1, 9, len(whole), 10000):
        rows = harness.rows_of(t.run("changes", "--limit", n).table())
        assert list(map(repr, rows)) == list(map(repr, whole[:n])), f"--limit {n} is not the beginning of the answer"


# ------------------------------------------------------------------ plan, probe, verify

def as_json(r):
    assert r.code == 0, f"exit {r.code}: {r.err[:400]}\n    {r.command}"
    return json.loads(r.out)


def test_plan(tables):
    t = tables["orders"]
    plan = as_json(t.run("plan", "--json"))
    assert list(plan) == ["backend", "format", "table_id", "commits"], f"keys {list(plan)}"
    assert (plan["backend"], plan["format"]) == ("direct", t.kind.format)
    assert all(list(c) == ["snapshot", "ts_us", "method", "detail", "files", "files_pruned", "pruned_by", "rows", "bytes"] for c in plan["commits"])
    assert [c["snapshot"] for c in plan["commits"]] == t.kind.commits(None, "end"), "commits of the plan"
    method = {c["snapshot"]: c["method"] for c in plan["commits"]}
    assert set(method.values()) <= METHODS, f"methods {set(method.values()) - METHODS}"
    said = {label: method[t.at[label]] for label in ("seed", "more", "end", "compact", "update")}
    assert said == dict(seed="append", more="append", end="append", compact="none", update=t.update_method), f"methods {said}"
    part = as_json(t.run("plan", "--json", *t.bounds("more", "delete")))
    assert part["commits"] == [c for c in plan["commits"] if c["snapshot"] in t.kind.commits("more", "delete")], "a part of the plan"
    assert as_json(t.run("plan", "--json", *t.bounds("end", "end")))["commits"] == [], "the plan of an empty range"


def test_probe(tables):
    t = tables["orders"]
    verdict = as_json(t.run("probe", "--json"))
    assert list(verdict) == ["chosen", "format", "server_version", "server_major_minor", "native_expected", "native_usable", "fell_back", "reason", "candidates"], f"keys {list(verdict)}"
    assert (verdict["chosen"], verdict["format"], verdict["fell_back"]) == ("direct", t.kind.format, False), f"{verdict}"
    assert [c["format"] for c in verdict["candidates"] if c["usable"]] == [t.kind.format], f"{verdict['candidates']}"


def test_verify(tables):
    for t in tables.values():
        labels = [l for l in t.labels if l in ("seed", "update", "merge", "rewrite", "end", "delete")]
        for first, last in zip([None, None, *labels], [labels[-1], *labels]):
            v = as_json(t.run("verify", "--json", *t.bounds(first, last)))
            rows = [len(x) for x in t.net(first, last)]
            assert list(v) == ["holds", "from_rows", "inserts", "deletes", "to_rows", "first_bad_snapshot"], f"keys {list(v)}"
            assert (v["holds"], v["first_bad_snapshot"], v["from_rows"], v["to_rows"]) == (True, None, *rows), f"{first} to {last}: {v}, rows {rows}"
            images = expected(t, Request(first, last))
            assert (v["deletes"], v["inserts"]) == (sum(c[1] is not None for c in images), sum(c[2] is not None for c in images)), f"{first} to {last}: {v}"


# ------------------------------------------------------------------ mistakes

def refused(r, status, reason):
    line = harness.check_refused(r)
    assert r.code == status and line.endswith(f"({reason})"), f"exit {r.code}: {line}; want {status} ({reason})\n    {r.command}"


# Words (a function of the table), exit status, reason; None: the kind's own reason for a commit that is not there.
MISTAKES = {
    "unknown column": (lambda t: ["--columns", "id,nope"], 2, "request.unknown_column"),
    "column of another time": (lambda t: ["--columns", "label", "--to", t.at["merge"]], 2, "request.unknown_column"),
    "column since renamed": (lambda t: ["--columns", "name"], 2, "request.unknown_column"),
    "column twice": (lambda t: ["--columns", "id,id"], 2, "request.bad_value"),
    "unknown identity": (lambda t: ["--identity", "nope"], 2, "request.unknown_column"),
    "unknown column in the filter": (lambda t: ["--where", "nope > 1"], 2, "request.unknown_column"),
    "unknown nested column in the filter": (lambda t: ["--where", "st.nope > 1"], 2, "request.unknown_column"),
    "bad filter": (lambda t: ["--where", "id >"], 2, "filter.syntax"),
    "literal that does not fit": (lambda t: ["--where", "qty = 'many'"], 2, "filter.type"),
    "filter on a struct": (lambda t: ["--where", "st = 1"], 2, "filter.type"),
    "range the wrong way round": (lambda t: ["--from", t.at["merge"], "--to", t.at["more"]], 2, "request.bad_range"),
    "times the wrong way round": (lambda t: ["--from", t.kind.time("merge"), "--to", t.kind.time("more")], 2, "request.bad_range"),
    "start that is not there": (lambda t: ["--from", NOWHERE], 3, None),
    "start that is not there, excluded": (lambda t: ["--from", NOWHERE, "--from-exclusive"], 3, None),
    "end that is not there": (lambda t: ["--to", NOWHERE], 3, None),
    "no number": (lambda t: ["--batch-rows", "many"], 2, "request.bad_value"),
    "unknown option": (lambda t: ["--sideways"], 2, "request.unknown_option"),
    "no cursor": (lambda t: ["--cursor", "yesterday"], 2, "cursor.bad"),
    "cursor and start": (lambda t: ["--cursor", t.cursor, "--from", "start"], 2, "request.conflict"),
    "cursor of another table": (lambda t: ["--cursor", t.other_cursor], 2, "cursor.other_table"),
}


def test_mistakes(tables, name):
    t = tables["orders"]
    words, status, reason = MISTAKES[name]
    if "cursor" in name:
        t.cursor, t.other_cursor = (cursor_of(x.run("changes", "--print-cursor")) for x in (t, tables["twins"]))
    refused(t.run("changes", *words(t)), status, reason or t.kind.missing)


def test_plan_refuses_the_same(tables):
    """What `changes` refuses, `plan` refuses with the same words."""
    t = tables["orders"]
    for words in (["--columns", "nope"], ["--where", "id >"], ["--from", t.at["merge"], "--to", t.at["more"]], ["--from", NOWHERE]):
        read, plan = t.run("changes", *words), t.run("plan", *words)
        assert read.code and (plan.code, plan.err) == (read.code, read.err), f"{plan.code} {plan.err} and {read.code} {read.err}\n    {plan.command}"


def test_fold_without_identity(tables):
    """Updates of a source with row ids fold; updates without ids are refused; where nothing is an update nothing folds."""
    t = tables["orders"]
    q = Request("more", "update", fold="row ids" in t.traits, identity=["id"] if "row ids" in t.traits else None)
    r = t.run("changes", *t.bounds("more", "update"), "--fold")
    if "updates" in t.traits and "row ids" not in t.traits:
        return refused(r, 2, "request.identity_needed")
    t.check(r, expected(t, q), "more", "update")


def check_the_model():
    """The truth keeps the law for every range, as finely or coarsely as it is told."""
    for columns, steps in HISTORIES.values():
        m = Model(columns).play(steps)
        for traits in ((), ("updates",), tuple(QUIRKS)):
            for i, last in enumerate(m.labels):
                for first in [None, *m.labels[:i]]:
                    before, after = m.net(first, last)
                    told = m.changes(first, last, traits, str)
                    left = sorted(repr(freeze(r)) for r in before + [a for _, _, a, _ in told if a])
                    right = sorted(repr(freeze(r)) for r in after + [b for _, b, _, _ in told if b])
                    assert left == right, f"the model breaks the law from {first} to {last}"


TESTS = [(f"request: {q.name}", functools.partial(test_requests, name=q.name)) for q in REQUESTS]
TESTS += [(f"archive: {q.name}", functools.partial(test_archive, name=q.name)) for q in REQUESTS]
TESTS += [(f"mistake: {n}", functools.partial(test_mistakes, name=n)) for n in MISTAKES]
TESTS += [(f.__name__[5:].replace("_", " "), f) for f in (test_bounds, test_bootstrap, test_archive_bootstrap, test_cursor, test_limit, test_plan, test_probe, test_verify, test_plan_refuses_the_same, test_fold_without_identity)]


class Tables(dict):
    """What tests ask for by history, or by ("archive", history), made when it is first wanted."""

    def __init__(self, kind, root):
        super().__init__()
        self.kind, self.root = kind, root

    def __missing__(self, key):
        make, history = (Archived, key[1]) if isinstance(key, tuple) else (Table, key)
        self[key] = make(self.kind, history, os.path.join(self.root, "-".join(key) if isinstance(key, tuple) else key))
        return self[key]

    def values(self):
        return [self[history] for history in HISTORIES]


def run_kind(job):
    """All tests of one kind: how many ran, and what failed."""
    kind, root, only = job
    chosen = [(n, f) for n, f in TESTS if not only or any(w in f"{kind}: {n}" for w in only)]
    failures, tables = [], Tables(kind, os.path.join(root, kind.replace(" ", "-")))
    for name, test in chosen:
        try:
            test(tables)
        except Exception as e:
            failures.append(f"FAIL {kind}: {name}: {e if isinstance(e, AssertionError) else traceback.format_exc()}")
    return kind, len(chosen), failures


def main():
    a = harness.arguments(__doc__, only=dict(nargs="*", default=[], help="run what has one of these words in its name"), jobs=dict(type=int, default=2))
    check_the_model()
    top, passed, failed = harness.workspace(a.keep), 0, 0
    with multiprocessing.Pool(a.jobs) as pool:
        for kind, asked, failures in pool.imap(run_kind, [(k, top, a.only) for k in KINDS], chunksize=1):
            print("\n".join(failures + [f"{kind}: {asked} asked, {len(failures)} failed"]), flush=True)
            passed, failed = passed + asked - len(failures), failed + len(failures)
    if not a.keep:
        shutil.rmtree(top, ignore_errors=True)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
