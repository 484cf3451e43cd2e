#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that pyiceberg writes during the test, held against pyiceberg's own reads of every snapshot.

The one idea: pyiceberg time-travels each snapshot; the feed of a range must be the multiset difference of neighbouring
states, shown in the schema of the range's end (columns by field id). Nothing of the project is used to make the truth.
"""
import collections, datetime, decimal, os, random, sys, uuid

import pyarrow as pa, pyarrow.parquet as pq
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.expressions import And, EqualTo, GreaterThan, In, IsNull, LessThan, Not, Or
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, MonthTransform, TruncateTransform, YearTransform
from pyiceberg.types import LongType, StringType

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.delta_schema import freeze
from support.expected import expected
from support.harness import changes, check_refused, check_schema, main, same_rows
from support.iceberg_harness import Range, check_order, check_times, rows_of

Point = collections.namedtuple("Point", "id ts")


class Peer:
    """A pyiceberg table with its states; speaks to `support.expected` as a builder table does."""

    def __init__(self, folder, schema, version=2, name="t", **properties):
        self.catalog = InMemoryCatalog("peer", warehouse=f"file://{folder}/wh")
        self.catalog.create_namespace_if_not_exists("db")
        self.table = self.catalog.create_table(f"db.{name}", schema=schema, properties={"format-version": str(version), **properties})
        self.states = {}

    @property
    def root(self):
        return self.table.location().removeprefix("file://")

    def line(self, last=None):
        """Snapshots along the parents, oldest first."""
        known = {s.snapshot_id: s for s in self.table.metadata.snapshots}
        out, s = [], known.get(last.id if last else self.table.metadata.current_snapshot_id)
        while s is not None:
            out.append(Point(s.snapshot_id, s.timestamp_ms))
            s = known.get(s.parent_snapshot_id)
        return out[::-1]

    def schema(self, point):
        s = next(s for s in self.table.metadata.snapshots if s.snapshot_id == point.id)
        return next(x for x in self.table.metadata.schemas if x.schema_id == s.schema_id)

    def image_type(self, point):
        return pa.struct([pa.field(f.name, small(f.type)) for f in schema_to_pyarrow(self.schema(point), include_field_ids=False)])

    def state(self, point, end):
        """The rows of a snapshot in the schema of another: columns by id, widened, null where they did not exist."""
        if point is None:
            return []
        if point.id not in self.states:
            self.states[point.id] = self.table.scan(snapshot_id=point.id).to_arrow()
        data, ids, columns = self.states[point.id], {f.field_id: f.name for f in self.schema(point).fields}, []
        for f, wanted in zip(self.schema(end).fields, self.image_type(end)):
            name = ids.get(f.field_id)
            columns.append(pa.nulls(data.num_rows, wanted.type) if name is None else data.column(name).cast(wanted.type).combine_chunks())
        return pa.table(columns, names=[f.name for f in self.schema(end).fields]).to_pylist()

    def path(self, first, last):
        line = self.line(last)
        return line[line.index(first) + 1 if first else 0:]

    def changes(self, first, last):
        out, before = [], first
        for s in self.path(first, last):
            b, a = self.state(before, last), self.state(s, last)
            gone, come = collections.Counter(map(freeze, b)), collections.Counter(map(freeze, a))
            gone, come = gone - come, come - gone
            out += [("delete", r, None, s.id) for r in take(b, gone)] + [("insert", None, r, s.id) for r in take(a, come)]
            before = s
        return out

    def net(self, first, last):
        return [self.state(first, last), self.state(last, last)]

    def check(self, first=None, last=None, **options):
        last = last or self.line()[-1]
        q = Range(first, last, **options)
        r = changes(self.root, *q.words())
        try:
            result = r.table()
            want = self.image_type(last)
            check_schema(result, pa.struct([want.field(n) for n in q.columns]) if q.columns else want)
            rows = rows_of(result)
            if q.net:
                rows = [(*row[:3], None) for row in rows]
            else:
                check_order(rows, self.path(first, last))
                check_times(result, self.path(first, last))
            same_rows(rows, expected(self, q))
        except AssertionError as e:
            raise AssertionError(f"{e}\n    {r.command}") from None
        return rows

    def check_all(self, **options):
        """The whole range, every single snapshot, and a few spans."""
        line = self.line()
        self.check(**options)
        for a, b in zip([None] + line, line):
            self.check(a, b)
        if len(line) > 2:
            self.check(line[0], line[-1])
            self.check(line[1], line[-2] if len(line) > 3 else line[-1], **options)


def take(rows, counts):
    left = collections.Counter(counts)
    for r in rows:
        if left[freeze(r)]:
            left[freeze(r)] -= 1
            yield r


def small(t):
    """pyiceberg reads large and small types as it likes; images are the plain ones."""
    if pa.types.is_large_string(t) or pa.types.is_string(t):
        return pa.string()
    if pa.types.is_large_binary(t):
        return pa.binary()
    if t == pa.uuid():
        return pa.binary(16)
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, small(f.type)) for f in t])
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return pa.list_(small(t.value_type))
    if pa.types.is_map(t):
        return pa.map_(small(t.key_type), small(t.item_type))
    return t


PLAIN = pa.schema([("id", pa.int64()), ("name", pa.string()), ("amount", pa.decimal128(9, 2)), ("qty", pa.int32()), ("ratio", pa.float64()), ("flag", pa.bool_()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC"))])


def rows(rng, ids):
    one = lambda i: {"id": i, "name": rng.choice(["a", "b", "ada", None, "日本"]), "amount": decimal.Decimal(rng.randrange(-999, 999)).scaleb(-2), "qty": rng.choice([None, 0, -5, 2**31 - 1]), "ratio": rng.choice([None, 0.1, float("nan"), -2.0]),
                     "flag": rng.choice([None, True, False]), "day": datetime.date(2020, 1, 1) + datetime.timedelta(days=rng.randrange(90)), "at": datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=rng.randrange(10**7))}
    return [one(i) for i in ids]


def plain_table(rng, ids):
    return pa.Table.from_pylist(rows(rng, ids), schema=PLAIN)


VERSIONS = (1, 2)


def test_append_delete_overwrite(folder):
    for version in VERSIONS:
        rng, p = random.Random(1), Peer(f"{folder}/{version}", PLAIN, version)
        t = p.table
        t.append(plain_table(rng, range(20)))
        t.append(plain_table(rng, range(20, 40)))
        t.delete(EqualTo("id", 3))
        t.delete(And(GreaterThan("id", 25), LessThan("id", 30)))
        t.delete(EqualTo("name", "nobody"))
        t.overwrite(plain_table(rng, range(50, 55)), overwrite_filter=In("id", [5, 6, 7, 31]))
        t.delete(GreaterThan("id", 19))
        t.overwrite(plain_table(rng, range(60, 63)))
        t.append(plain_table(rng, []))
        p.check_all(identity=["id"])
        p.check(identity=["id"], net=True)
        p.check(p.line()[1], columns=["qty", "id"])


def test_partitioned_and_dynamic_overwrite(folder):
    for version in VERSIONS:
        for n, spec in enumerate([[("name", IdentityTransform())], [("id", BucketTransform(4))], [("name", TruncateTransform(1)), ("day", MonthTransform())], [("at", DayTransform())], [("amount", TruncateTransform(500)), ("day", YearTransform())]]):
            rng, p = random.Random(n), Peer(f"{folder}/{version}{n}", PLAIN, version)
            with p.table.update_spec() as u:
                for column, transform in spec:
                    u.add_field(column, transform, f"{column}_part")
            t = p.table
            t.append(plain_table(rng, range(30)))
            t.delete(In("id", [1, 2, 3]))
            if all(isinstance(x, IdentityTransform) for _, x in spec):
                t.dynamic_partition_overwrite(plain_table(rng, range(100, 104)))
            t.overwrite(plain_table(rng, range(200, 205)), overwrite_filter=GreaterThan("id", 22))
            t.delete(IsNull("qty"))
            p.check_all(identity=["id"])
            p.check(where=("cmp", "name", "=", "ada"))
            p.check(where=("cmp", "day", ">", datetime.date(2020, 2, 10)), columns=["id"])
            p.check(where=("cmp", "amount", "<", decimal.Decimal("0.50")))


def test_upsert(folder):
    p, rng = Peer(folder, PLAIN), random.Random(3)
    p.table.append(plain_table(rng, range(30)))
    for i in range(3):
        p.table.upsert(plain_table(rng, range(i * 5, i * 5 + 8)), join_cols=["id"])
        p.table.upsert(plain_table(rng, range(100 + i, 103 + i)), join_cols=["id"])
    p.check_all(identity=["id"])
    p.check(p.line()[0], identity=["id"], fold=True)
    p.check(p.line()[0], identity=["id"], net=True)


def test_schema_evolution(folder):
    for version in VERSIONS:
        rng, p = random.Random(4), Peer(f"{folder}/{version}", PLAIN, version)
        t = p.table
        t.append(plain_table(rng, range(10)))
        with t.update_schema() as u:
            u.add_column("note", StringType())
            u.rename_column("name", "full_name")
            u.update_column("qty", LongType())
        def more(ids):
            data = plain_table(rng, ids)
            data = data.rename_columns(["full_name" if n == "name" else n for n in data.column_names])
            return data.set_column(3, "qty", data.column("qty").cast(pa.int64())).append_column("note", pa.array(["n"] * data.num_rows, pa.string()))
        t.append(more(range(10, 20)))
        t.delete(EqualTo("id", 4))
        with t.update_schema(allow_incompatible_changes=True) as u:
            u.delete_column("ratio")
            u.move_first("day")
        with t.update_schema() as u:
            u.add_column("ratio", StringType())
        t.append(t.scan(limit=0).to_arrow().schema.empty_table())
        data = more(range(20, 25)).drop(["ratio"]).append_column("ratio", pa.array(["r"] * 5, pa.string()))
        t.append(data.select([f.name for f in t.schema().fields]))
        t.delete(EqualTo("id", 12))
        p.check_all(identity=["id"])


def test_spec_evolution(folder):
    for version in VERSIONS:
        rng, p = random.Random(5), Peer(f"{folder}/{version}", PLAIN, version)
        t = p.table
        t.append(plain_table(rng, range(15)))
        with t.update_spec() as u:
            u.add_identity("name")
        t.append(plain_table(rng, range(20, 35)))
        with t.update_spec() as u:
            u.remove_field("name")
            u.add_field("id", BucketTransform(3), "id_bucket")
        t.append(plain_table(rng, range(40, 55)))
        t.delete(In("id", [1, 21, 41]))
        p.check_all(identity=["id"])
        p.check(where=("cmp", "name", "=", "a"))
        p.check(where=("null", "name", False))


def test_nested_and_rare_types(folder):
    item = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])
    schema = pa.schema([("id", pa.int64()), ("s", item), ("l", pa.list_(item)), ("m", pa.map_(pa.string(), item)), ("u", pa.uuid()), ("f", pa.binary(4)), ("b", pa.binary()), ("t", pa.time64("us")), ("n", pa.timestamp("us")), ("d", pa.decimal128(38, 10)), ("r", pa.float32())])
    def data(ids):
        return pa.Table.from_pylist([{"id": i, "s": {"x": i, "y": ["a", None]} if i % 3 else None, "l": [{"x": None, "y": None}, None] if i % 2 else [], "m": [("k", {"x": 1, "y": []}), ("z", None)] if i % 4 else None, "u": uuid.UUID(int=i).bytes, "f": bytes([i] * 4), "b": b"\0" * i,
                                      "t": datetime.time(1, 2, 3, i), "n": datetime.datetime(1999, 1, 1, 0, 0, 0, i), "d": decimal.Decimal(i) / 8, "r": i / 2} for i in ids], schema=schema)
    for version in VERSIONS:
        p = Peer(f"{folder}/{version}", schema, version)
        p.table.append(data(range(8)))
        p.table.append(data(range(8, 12)))
        p.table.delete(EqualTo("id", 5))
        p.table.overwrite(data(range(20, 22)), overwrite_filter=GreaterThan("id", 9))
        p.check_all(identity=["id"])
        p.check(columns=["m", "id"])


def test_files_added_as_they_are(folder):
    """add_files: Parquet without field ids, found through the name mapping."""
    for version in VERSIONS:
        rng, p = random.Random(6), Peer(f"{folder}/{version}", PLAIN, version)
        p.table.append(plain_table(rng, range(5)))
        path = f"{folder}/{version}/outside.parquet"
        pq.write_table(plain_table(rng, range(10, 20)), path)
        p.table.add_files([f"file://{path}"])
        p.table.delete(EqualTo("id", 12))
        p.check_all(identity=["id"])


def test_branches_tags_and_expiry(folder):
    rng, p = random.Random(7), Peer(folder, PLAIN)
    t = p.table
    t.append(plain_table(rng, range(5)))
    t.append(plain_table(rng, range(5, 10)))
    base = p.line()[-1]
    t.manage_snapshots().create_tag(base.id, "v1").create_branch(base.id, "side").commit()
    t.append(plain_table(rng, range(20, 25)), branch="side")
    t.delete(EqualTo("id", 6), branch="side")
    t.delete(EqualTo("id", 1))
    t.append(plain_table(rng, range(30, 33)))
    side = Point(t.metadata.refs["side"].snapshot_id, 0)
    p.check_all(identity=["id"])
    p.check(base, p.line(side)[-1], branch="side")
    check_refused(changes(p.root, "--from", side.id, "--from-exclusive"), str(side.id), str(base.id))
    line = p.line()
    t.maintenance.expire_snapshots().by_id(line[0].id).commit()
    p.check(line[1], line[-1])
    check_refused(changes(p.root, "--from", line[0].id, "--from-exclusive"), str(line[0].id))     # pyiceberg forgets who the parent was


def test_random_walks(folder):
    for seed in range(12):
        rng = random.Random(seed)
        p, next_id = Peer(f"{folder}/{seed}", PLAIN, rng.choice(VERSIONS)), 0
        if rng.random() < 0.6:
            with p.table.update_spec() as u:
                u.add_field(*rng.choice([("name", IdentityTransform(), "p"), ("id", BucketTransform(2), "p"), ("day", MonthTransform(), "p")]))
        for _ in range(rng.randint(4, 8)):
            t, step = p.table, rng.choice(["append", "append", "delete", "overwrite", "upsert"])
            fresh = range(next_id, next_id + rng.randint(1, 8))
            condition = rng.choice([In("id", rng.sample(range(40), 6)), LessThan("qty", 0), IsNull("name"), EqualTo("name", "ada"), Or(EqualTo("flag", True), GreaterThan("id", 30)), Not(IsNull("ratio"))])
            next_id = fresh.stop
            if step == "append":
                t.append(plain_table(rng, fresh))
            elif step == "delete":
                t.delete(condition)
            elif step == "overwrite":
                t.overwrite(plain_table(rng, fresh), overwrite_filter=condition)
            elif next_id:
                t.upsert(plain_table(rng, sorted(set(rng.sample(range(next_id), min(3, next_id))) | set(fresh))), join_cols=["id"])
        if p.line():
            p.check_all(identity=["id"])
            p.check(identity=["id"], net=True, fold=rng.random() < 0.5)


if __name__ == "__main__":
    main()
