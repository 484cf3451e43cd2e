#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that `deltalake` writes here and now, read for changes and compared with what `deltalake` itself reads.

The one idea: two oracles that owe the product nothing. The states: rows of version v against rows of version v-1, as
multisets, per commit. The feed: `load_cdf`, used for tables whose change feed is on, and only after it has passed the
law against the states (a commit where it breaks the law is compared with the states instead, and said so).
"""
import collections
import datetime as dt
import decimal
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, write_deltalake
from support import harness
from support.delta_schema import freeze
from support.expected import exact, signed

FEED = {"delta.enableChangeDataFeed": "true"}
_OPS = {"insert": "insert", "delete": "delete", "update_preimage": "update_before", "update_postimage": "update_after"}


def batch(ids, note="n", **columns):
    n = len(ids)
    base = {
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([None if i % 7 == 3 else f"{note}{i % 5}" for i in ids], pa.string()),
        "amount": pa.array([decimal.Decimal(i * 37 % 1000).scaleb(-2) for i in ids], pa.decimal128(12, 2)),
        "ratio": pa.array([None if i % 9 == 0 else i / 8 for i in ids], pa.float64()),
        "day": pa.array([dt.date(2024, 1, 1 + i % 28) for i in ids], pa.date32()),
        "at": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(microseconds=i * 1_234_567) for i in ids], pa.timestamp("us", "UTC")),
        "region": pa.array([["north", "a b", "x/y", "50%", "ü", None][i % 6] for i in ids], pa.string()),
    }
    base.update(columns)
    assert all(len(c) == n for c in base.values())
    return pa.table(base)


def rows_at(root, version, like=None):
    t = DeltaTable(root, version=version)
    names = [f.name for f in t.schema().fields]
    if not t.file_uris():
        return []
    # The query engine strips nothing and knows vectors; its column order is not the table's.
    got = pa.table(QueryBuilder().register("t", t).execute("select * from t").read_all()).select(names)
    return [dict({n: None for n in like or names}, **r) for r in got.to_pylist()]


def narrowed(counts, names):
    """Change rows under the schema of an earlier version: the columns it had."""
    cut = lambda image: image and tuple((n, v) for n, v in image if n in names)
    out = collections.Counter()
    for (op, before, after, version), n in counts.items():
        out[op, cut(before), cut(after), version] += n
    return out


class Peer:
    """What deltalake says about every version of a table."""

    def __init__(self, root):
        self.root = root
        t = DeltaTable(root)
        self.last, self.names = t.version(), [f.name for f in t.schema().fields]
        self.states = [rows_at(root, v, self.names) for v in range(self.last + 1)]
        self.feed_on = t.metadata().configuration.get("delta.enableChangeDataFeed") == "true"
        self.feed = self._feed() if self.feed_on else {}

    def difference(self, v):
        before = collections.Counter(map(freeze, self.states[v - 1] if v else []))
        after = collections.Counter(map(freeze, self.states[v]))
        c = collections.Counter()
        for r, n in (before - after).items():
            c["delete", r, None, v] += n
        for r, n in (after - before).items():
            c["insert", None, r, v] += n
        return c

    def net(self, v):
        return {(v, k[1] or k[2]): (-n if k[1] else n) for k, n in self.difference(v).items()}

    @staticmethod
    def plain(net):
        """A signed difference as two multisets in one, so that it can be shown the way the exact one is."""
        return collections.Counter({(k, n > 0): abs(n) for k, n in net.items()})

    def _feed(self):
        """{version: Counter} of the commits whose feed rows pass the law."""
        try:
            got = pa.table(DeltaTable(self.root).load_cdf(starting_version=0).read_all()).to_pylist()
        except Exception as e:
            print(f"     load_cdf cannot: {str(e)[:120]}")
            return {}
        per = collections.defaultdict(list)
        for r in got:
            op, own = _OPS[r["_change_type"]], {n: r.get(n) for n in self.names}
            leaves = op in ("delete", "update_before")
            per[r["_commit_version"]].append((op, own if leaves else None, None if leaves else own, r["_commit_version"]))
        out = {}
        for v in range(self.last + 1):
            if signed(per[v]) == self.net(v):
                out[v] = exact(per[v])
            else:
                print(f"     load_cdf breaks the law at version {v}; the states judge")
        return out

    def check(self, first=0, last=None, *words):
        last = self.last if last is None else last
        r = harness.changes(self.root, "--from", first, "--to", last, *words)
        try:
            got = r.table()
            rows = harness.rows_of(got)
            harness.check_order(rows)
            names = {f.name for f in DeltaTable(self.root, version=last).schema().fields}
            for v in range(first, last + 1):
                mine = [c for c in rows if c[3] == v]
                have, want = exact(mine), self.feed.get(v)
                if want is None and self.feed_on:   # labels are the writer's, which nobody else can read here
                    have, want = self.plain(signed(mine)), self.plain(self.net(v))
                else:
                    want = narrowed(self.difference(v) if want is None else want, names)
                if have != want:
                    extra, lost = list((have - want).elements()), list((want - have).elements())
                    raise AssertionError(f"version {v}: {len(extra)} unexpected {extra[:1]}, {len(lost)} missing {lost[:1]}")
        except AssertionError as e:
            raise r.blame(e) from None

    def check_all(self):
        self.check()
        for v in range(1, self.last + 1):
            self.check(v, v)
        r = harness.run("verify", self.root, "--from", 0, "--to", self.last)
        assert r.code == 0, f"verify: exit {r.code} {r.err[:300]}"


def dml(root, configuration=None, partition_by=None, source=batch):
    """append, append, delete, update, merge, overwrite, replaceWhere, update of everything."""
    make = dict(configuration=configuration, partition_by=partition_by)
    write_deltalake(root, source(range(20)), **{k: v for k, v in make.items() if v})
    write_deltalake(root, source(range(20, 40)), mode="append")
    t = DeltaTable(root)
    t.delete("id % 6 = 1")
    t.update(updates={"name": "'changed'"}, predicate="id % 5 = 0")
    (t.merge(source([3, 4, 5, 100, 101], note="m"), "s.id = t.id", "s", "t")
      .when_matched_update_all(predicate="s.id <> 4").when_matched_delete(predicate="s.id = 4").when_not_matched_insert_all().execute())
    t = DeltaTable(root)
    t.update(updates={"name": "name"}, predicate="id > 30")
    write_deltalake(root, source(list(range(10, 15)) + [200]), mode="overwrite")
    write_deltalake(root, source([12, 201], note="w"), mode="overwrite", predicate="id >= 12")
    DeltaTable(root).delete("id = 201")
    DeltaTable(root).delete()


def test_append_delete_update_merge_overwrite(d):
    dml(d + "/t")
    Peer(d + "/t").check_all()


def test_change_feed(d):
    dml(d + "/t", FEED)
    Peer(d + "/t").check_all()


def test_partitioned(d):
    dml(d + "/t", partition_by=["region"])
    Peer(d + "/t").check_all()


def test_partitioned_change_feed(d):
    plain = lambda ids, note="n": batch(ids, note, region=pa.array([["north", "south", None][i % 3] for i in ids]))
    dml(d + "/t", FEED, ["region"], plain)
    Peer(d + "/t").check_all()


def test_partitioned_by_two_of_other_types(d):
    dml(d + "/t", partition_by=["day", "region"])
    p = Peer(d + "/t")
    p.check()
    p.check(3, 5)


def nested(ids, note="n"):
    ids = list(ids)
    return batch(ids, note,
                 st=pa.array([None if i % 8 == 0 else {"x": i, "in": {"s": f"{note}{i}"}} for i in ids], pa.struct([("x", pa.int32()), ("in", pa.struct([("s", pa.string())]))])),
                 tags=pa.array([None if i % 5 == 0 else [f"{note}", None, str(i)][:i % 4] for i in ids], pa.list_(pa.string())),
                 items=pa.array([[{"k": "a", "v": i}] * (i % 3) for i in ids], pa.list_(pa.struct([("k", pa.string()), ("v", pa.int64())]))),
                 props=pa.array([[("k", i), ("n", None)][:i % 3] for i in ids], pa.map_(pa.string(), pa.int64())),
                 raw=pa.array([bytes([i % 256, 0, 255]) for i in ids], pa.binary()))


def test_nested_types(d):
    write_deltalake(d + "/t", nested(range(24)))
    write_deltalake(d + "/t", nested(range(24, 40)), mode="append")
    t = DeltaTable(d + "/t")
    t.delete("id % 6 = 1")
    t.update(updates={"name": "'changed'"}, predicate="id % 5 = 0")
    write_deltalake(d + "/t", nested([3, 4, 5, 7], note="z"), mode="overwrite")
    Peer(d + "/t").check_all()


def test_nested_types_change_feed(d):
    write_deltalake(d + "/t", nested(range(24)), configuration=FEED, partition_by=["region"])
    t = DeltaTable(d + "/t")
    t.update(updates={"name": "'changed'"}, predicate="id % 5 = 0")
    t.delete("id % 6 = 1")
    Peer(d + "/t").check_all()


def test_every_primitive_type(d):
    values = pa.table({
        "id": pa.array([1, 2, 3], pa.int64()), "b": pa.array([-128, None, 127], pa.int8()), "s": pa.array([-32768, None, 1], pa.int16()),
        "i": pa.array([-2**31, None, 2**31 - 1], pa.int32()), "f": pa.array([float("nan"), None, 1.5], pa.float32()),
        "d": pa.array([float("-inf"), None, -0.0], pa.float64()), "o": pa.array([True, None, False]), "x": pa.array([b"\0\xff", None, b""], pa.binary()),
        "day": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)], pa.date32()),
        "n": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None, dt.datetime(2300, 1, 1)], pa.timestamp("us")),
        "z": pa.array([dt.datetime(1900, 1, 1, tzinfo=dt.timezone.utc), None, dt.datetime(2300, 1, 1, tzinfo=dt.timezone.utc)], pa.timestamp("us", "UTC")),
        "big": pa.array([decimal.Decimal("12345678901234567890.123456789012345678"), None, decimal.Decimal("-1").scaleb(-18)], pa.decimal128(38, 18)),
    })
    write_deltalake(d + "/t", values)
    DeltaTable(d + "/t").delete("id = 2")
    DeltaTable(d + "/t").update(updates={"i": "7"}, predicate="id = 1")
    Peer(d + "/t").check_all()


def test_checkpointed(d):
    for i in range(6):
        write_deltalake(d + "/t", batch(range(i * 5, i * 5 + 5)), mode="append")
    DeltaTable(d + "/t").delete("id % 4 = 0")
    DeltaTable(d + "/t").create_checkpoint()
    DeltaTable(d + "/t").update(updates={"name": "'late'"}, predicate="id % 3 = 0")
    p = Peer(d + "/t")
    p.check_all()
    for v in range(6):
        os.remove(f"{d}/t/_delta_log/{v:020d}.json")
    p.check(7, p.last)
    harness.check_refused(harness.changes(d + "/t", "--from", 2, "--to", p.last), "7")


def test_optimize_and_z_order(d):
    for i in range(4):
        write_deltalake(d + "/t", batch(range(i * 5, i * 5 + 5)), mode="append", partition_by=["region"])
    DeltaTable(d + "/t").optimize.compact()
    DeltaTable(d + "/t").optimize.z_order(["id"])
    write_deltalake(d + "/t", batch([90]), mode="append")
    p = Peer(d + "/t")
    p.check_all()
    assert not harness.rows_of(harness.changes(d + "/t", "--from", 4, "--to", 5).table()), "compaction gave change rows"


def test_restore(d):
    write_deltalake(d + "/t", batch(range(10)))
    DeltaTable(d + "/t").delete("id < 4")
    write_deltalake(d + "/t", batch([50, 51]), mode="append")
    DeltaTable(d + "/t").restore(0)
    Peer(d + "/t").check_all()


def test_schema_evolution(d):
    write_deltalake(d + "/t", batch(range(5)))
    write_deltalake(d + "/t", batch(range(5, 9), extra=pa.array(["e"] * 4)), mode="append", schema_mode="merge")
    DeltaTable(d + "/t").delete("id = 2")
    write_deltalake(d + "/t", batch([20], extra=pa.array(["f"]), more=pa.array([{"a": 1}], pa.struct([("a", pa.int64())]))), mode="append", schema_mode="merge")
    DeltaTable(d + "/t").update(updates={"name": "'n'"}, predicate="id = 1")
    Peer(d + "/t").check_all()


def test_schema_evolution_change_feed(d):
    write_deltalake(d + "/t", batch(range(5)), configuration=FEED)
    write_deltalake(d + "/t", batch(range(5, 9), extra=pa.array(["e"] * 4)), mode="append", schema_mode="merge")
    DeltaTable(d + "/t").update(updates={"extra": "'all'"})
    Peer(d + "/t").check_all()


def test_overwrite_with_another_schema(d):
    write_deltalake(d + "/t", batch(range(5)))
    write_deltalake(d + "/t", pa.table({"id": pa.array([1, 9], pa.int64()), "other": ["x", "y"]}), mode="overwrite", schema_mode="overwrite")
    r = harness.changes(d + "/t", "--from", 1, "--to", 1).table()
    ops = collections.Counter(r.column("op").to_pylist())
    assert ops == {"delete": 5, "insert": 2}, ops
    assert [f.name for f in r.schema.field("after").type] == ["id", "other"]


def test_vacuum_then_ask(d):
    write_deltalake(d + "/t", batch(range(10)))
    DeltaTable(d + "/t").delete("id < 4")
    write_deltalake(d + "/t", batch([50]), mode="append")
    p = Peer(d + "/t")
    DeltaTable(d + "/t").vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    last = DeltaTable(d + "/t").version()
    harness.check_refused(harness.changes(d + "/t", "--from", 0, "--to", 2), "version", "parquet")
    p.check(2, 2)
    assert not harness.rows_of(harness.changes(d + "/t", "--from", 3, "--to", last).table()) if last >= 3 else True


def test_compacted_log_and_cleanup(d):
    for i in range(6):
        write_deltalake(d + "/t", batch(range(i * 3, i * 3 + 3)), mode="append")
    try:
        DeltaTable(d + "/t").compact_logs(1, 4)
    except Exception as e:
        print(f"     no log compaction here: {str(e)[:80]}")
    Peer(d + "/t").check_all()


def test_domain_and_user_metadata(d):
    write_deltalake(d + "/t", batch(range(3)), commit_properties=CommitProperties(custom_metadata={"note": 'a "b" \n ü'}))
    t = DeltaTable(d + "/t")
    t.alter.set_table_properties({"delta.appendOnly": "false"})
    t.alter.add_constraint({"positive": "id >= 0"})
    write_deltalake(d + "/t", batch(range(3, 6)), mode="append")
    Peer(d + "/t").check_all()


if __name__ == "__main__":
    harness.main(__doc__)
