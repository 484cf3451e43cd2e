# SPDX-License-Identifier: Apache-2.0
"""The truth of an Iceberg builder table in the shape `support.expected` asks for, and requests by snapshot.

The one idea: what a snapshot changed is the difference of two states the builder kept. A row that lies at the same
place in the same file on both sides did not change; what is left is paired by row id where both sides have one, then
cancelled by content (rows a rewrite carried over), and the rest are deletes and inserts. `replace` changes nothing.
"""
import collections
from dataclasses import dataclass

import pyarrow as pa

from . import harness
from .delta_schema import freeze
from .expected import Request, expected
from .iceberg_types import Struct, arrow_type

NOTHING = object()


def image_type(schema):
    """What the images of a change row look like: uuid is its sixteen bytes."""
    def plain(t):
        if t == pa.uuid():
            return pa.binary(16)
        if pa.types.is_struct(t):
            return pa.struct([pa.field(f.name, plain(f.type)) for f in t])
        if pa.types.is_list(t):
            return pa.list_(plain(t.value_type))
        if pa.types.is_map(t):
            return pa.map_(plain(t.key_type), plain(t.item_type))
        return t
    return plain(arrow_type(Struct(tuple(schema)), ids=False))


def countable(t):
    """The type with nanosecond times as integers: Python has no exact datetime for them."""
    if pa.types.is_timestamp(t) and t.unit == "ns":
        return pa.int64()
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, countable(f.type)) for f in t])
    if pa.types.is_list(t):
        return pa.list_(countable(t.value_type))
    if pa.types.is_map(t):
        return pa.map_(countable(t.key_type), countable(t.item_type))
    return t


@dataclass
class Range(Request):
    """A request between two snapshots: `first` is exclusive, None for the beginning; `last` None for the latest."""
    branch: str = None

    def words(self):
        words = super().words()[4:]
        if self.first is not None:
            words += ["--from", str(self.first.id), "--from-exclusive"]
        if self.last is not None:
            words += ["--to", str(self.last.id)]
        return words + (["--branch", self.branch] if self.branch else [])


class Truth:
    def __init__(self, table):
        self.table, self.root = table, table.root

    def path(self, first, last):
        """The snapshots after `first` up to `last`, along the parents."""
        out, s = [], last
        while s is not None and s is not first:
            out.append(s)
            s = s.parent
        assert s is first, "not an ancestor"
        return out[::-1]

    def image_type(self, last):
        return image_type(last.schema)

    def python(self, rows, schema):
        """Rows by column name as pyarrow would hand them to Python."""
        return pa.array(rows, image_type(schema)).cast(countable(image_type(schema))).to_pylist() if rows else []

    def changes(self, first, last):
        rows, out, schema = [], [], last.schema
        for s in self.path(first, last):
            for op, before, after in self.step(s, schema):
                out.append((op, before is not None, s.id))
                rows.append(after if before is None else before)
        images = self.python(rows, schema)
        return [(op, i if gone else None, None if gone else i, s) for (op, gone, s), i in zip(out, images)]

    def step(self, s, schema):
        """What one snapshot changed: (op, before, after)."""
        t = self.table
        if s.operation == "replace":
            return
        before, after = t.alive(s.parent), t.alive(s)
        gone, come = self.only(before, after), self.only(after, before)
        gone = [t.row_of(s.parent, f, p, schema) for f, p in gone]
        come = [t.row_of(s, f, p, schema) for f, p in come]
        new = {r.row_id: r for r in come if r.row_id is not None}
        for r in gone:
            n = new.get(r.row_id)
            if n is None:
                continue
            new.pop(r.row_id)
            come.remove(n)
            gone = [x for x in gone if x is not r]
            if n.updated != r.updated:
                yield "update_before", r.values, None
                yield "update_after", None, n.values
        counts = collections.Counter(freeze(r.values) for r in come) & collections.Counter(freeze(r.values) for r in gone)
        yield from (("delete", v, None) for v in self.without(gone, counts))
        yield from (("insert", None, v) for v in self.without(come, counts))

    @staticmethod
    def only(left, right):
        """Live places of one state that are not in the other."""
        for f, live in left.items():
            other = set(right.get(f, ()))
            yield from ((f, p) for p in live if p not in other)

    @staticmethod
    def without(rows, counts):
        left = collections.Counter(counts)
        for r in rows:
            k = freeze(r.values)
            if left[k]:
                left[k] -= 1
            else:
                yield r.values

    def net(self, first, last):
        """The rows at both ends, in the schema of the end."""
        return [self.state(s, last.schema) for s in (first, last)]

    def state(self, s, schema):
        return self.python([r.values for r in self.table.rows(s, schema)], schema) if s is not None else []


def rows_of(result):
    """Change rows of an Arrow result as (op, before, after, snapshot)."""
    for name in ("before", "after"):
        i = result.schema.names.index(name)
        result = result.set_column(i, name, result.column(name).cast(countable(result.schema.field(name).type)))
    return harness.rows_of(result)


def check_order(rows, path, identity=None):
    """Commits in the order of the parents; inside one, what leaves comes before what arrives under the same identity."""
    place = {s.id: i for i, s in enumerate(path)}
    assert all(r[3] in place for r in rows), f"rows of snapshots outside the range: {sorted({r[3] for r in rows} - set(place))}"
    harness.check_order([(*r[:3], place[r[3]]) for r in rows], identity)


def check_times(result, path):
    want = {s.id: s.ts for s in path}
    got = dict(zip(result.column("snapshot").to_pylist(), result.column("ts").cast(pa.int64()).to_pylist()))
    wrong = {s: t for s, t in got.items() if t != want[s] * 1000}
    assert not wrong, f"commit times differ: {wrong}"


def check_law(table, q, got):
    """Rows at the start + feed = rows at the end, as multisets."""
    truth = Truth(table)
    balance = collections.Counter()
    for rows, sign in zip(truth.net(q.first, q.last), (1, -1)):
        for r in rows:
            balance[freeze(r)] += sign
    for _, before, after, _ in got:
        for row, sign in ((before, -1), (after, 1)):
            if row is not None:
                balance[freeze(row)] += sign
    off = {k: n for k, n in balance.items() if n}
    assert not off, f"start + feed differs from the end in {len(off)} rows: {list(off.items())[:2]}"


def check_range(table, first=None, last=NOTHING, root=None, words=(), identity_of_order=None, **options):
    """Runs a request on a builder table and holds the answer against the truth; returns the rows."""
    last = table.current if last is NOTHING else last
    q = Range(first, last, **options)
    truth = Truth(table)
    r = harness.changes(root or table.root, *q.words(), *words)
    try:
        result = r.table()
        want_type = truth.image_type(last)
        if q.columns:
            want_type = pa.struct([want_type.field(n) for n in q.columns])
        harness.check_schema(result, want_type)
        rows = rows_of(result)
        path = truth.path(first, last)
        if q.net:
            rows = [(*row[:3], None) for row in rows]
        else:
            check_order(rows, path, identity_of_order)
            check_times(result, path)
        harness.same_rows(rows, expected(truth, q))
        if not (q.columns or q.where or q.drop_noop):
            check_law(table, q, rows)
    except AssertionError as e:
        raise AssertionError(f"{e}\n    {r.command}") from None
    return rows
