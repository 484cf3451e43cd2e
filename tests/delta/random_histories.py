#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random Delta histories, each read over random ranges and held against the truth its builder keeps.

The one idea: a seed makes a table (schema, features, how files are written), a few commits, and a few requests; every
answer must equal, as a multiset and in commit order, what the rows of the versions say. The law (rows before the
range + feed = rows after it) is checked on the truth itself first, so that a wrong truth cannot pass.
A failure prints its seed; `--seed N --count 1 --keep DIR` makes that one table again.
"""
import collections
import datetime as dt
import decimal
import multiprocessing
import os
import random
import shutil
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import harness
from delta.tables import iso
from support.delta_schema import Array, Field, Map, Struct, decimal_of, freeze, image
from support.delta_writer import KEEP, Table
from support.expected import Request
from support.predicate import random_filter

TYPES = ["byte", "short", "integer", "long", "float", "double", "string", "binary", "boolean", "date", "timestamp", "timestamp_ntz", "decimal(9,2)", "decimal(18,4)", "decimal(38,10)"]
PARTITION_TYPES = ["string", "integer", "date", "boolean", "decimal(9,2)", "timestamp", "long", "timestamp_ntz"]
WIDER = {"byte": ["short", "integer", "long", "double", "decimal(12,1)"], "short": ["integer", "long", "double", "decimal(11,0)"], "integer": ["long", "double", "decimal(14,3)"],
         "long": ["decimal(22,2)"], "float": ["double"], "date": ["timestamp_ntz"], "decimal(9,2)": ["decimal(12,4)", "decimal(20,2)"], "decimal(18,4)": ["decimal(25,6)"]}
TEXTS = ["", "a", "ab", "a b", "abc%", "x/y", "50%", "ü", "日本", "k=v", "it's", "x" * 40, "_", "A", "a:b", "at@", "null"]
EPOCH = dt.datetime(2020, 1, 1)


class History:
    def __init__(self, seed, root):
        self.rng = r = random.Random(seed)
        self.seed, self.next_id, self.did = seed, 0, []
        maybe = lambda p: r.random() < p
        self.dv, self.feed, self.tracked = maybe(0.5), maybe(0.35), maybe(0.45)
        mapping = r.choice([None, None, None, "name", "id"])
        self.duplicates = maybe(0.2)
        props = {}
        if self.dv: props["delta.enableDeletionVectors"] = "true"
        if self.feed: props["delta.enableChangeDataFeed"] = "true"
        if self.tracked: props["delta.enableRowTracking"] = "true"
        if maybe(0.3): props["delta.enableInCommitTimestamps"] = "true"
        if maybe(0.4): props["delta.enableTypeWidening"] = "true"
        fields, partitions = self.columns(mapping)
        self.t = t = Table(root, Struct(*fields), partitions, props, mapping, rng=r, create=False)
        t.unique_ids = not self.duplicates
        self.style(t.style)
        with t.commit(operation="CREATE TABLE") as c:
            c.protocol()
            c.metadata()
            if maybe(0.4):
                c.append(self.rows(r.randint(1, 10)), r.randint(1, 2))
        self.cut, self.evolved, self.checkpointed = 0, 0, None
        if maybe(0.9):
            self.op_append()
        for _ in range(r.randint(3, 8)):
            self.step()
        self.finish()

    # ------------------------------------------------------------ the table

    def columns(self, mapping):
        r = self.rng
        fields, partitions = [Field("id", "long")], []
        for i in range(r.randint(1, 5)):
            fields.append(Field(f"c{i}", r.choice(TYPES)))
        if r.random() < 0.35:
            fields.append(Field("st", Struct(Field("x", r.choice(TYPES)), Field("y", Struct(Field("z", r.choice(TYPES)))))))
        if r.random() < 0.25:
            fields.append(Field("ar", Array(r.choice(["integer", "string", Struct(Field("q", "double"), Field("w", "string"))]))))
        if r.random() < 0.2:
            fields.append(Field("ma", Map("string", r.choice(["long", "date", Array("string")]))))
        if r.random() < 0.1:
            fields.append(Field("nothing", "void"))
        if r.random() < 0.15 and not self.feed:
            fields.append(Field(r.choice(["_commit_version", "_change_type", "op", "before"]), "string"))
        if mapping and r.random() < 0.3:
            fields.append(Field("wide name, ü;{}", "string"))
        for i in range(r.choice([0, 0, 0, 1, 1, 2])):
            partitions.append(f"p{i}")
            fields.insert(r.randint(0, len(fields)), Field(f"p{i}", r.choice(PARTITION_TYPES)))
        return fields, partitions

    def style(self, s):
        r = self.rng
        s.compression = r.choice(["snappy", "zstd", "gzip", "none"])
        s.row_group_size = r.choice([None, None, 2, 3])
        s.int96 = r.random() < 0.2
        s.stray_change_type = r.random() < 0.15 and "_change_type" not in self.t.schema.names()
        s.shuffle_columns, s.omit_null_columns = r.random() < 0.2, r.random() < 0.2
        s.dictionary, s.checksum = r.random() < 0.6, r.random() < 0.3
        s.data_page_version = r.choice(["1.0", "2.0"])
        s.stats = r.choice(["full", "full", "full", "count", "none"])
        s.bare_removes = r.random() < 0.2
        s.dv_kind, s.dv_container = r.choice(["u", "u-prefix", "i", "p"]), r.choice(["auto", "array", "run"])
        s.prefix_paths, s.odd_names, s.raw_unicode = r.random() < 0.2, r.random() < 0.2, r.random() < 0.5
        s.id_columns_everywhere = r.random() < 0.8
        s.materialize_version, s.shuffle_actions = r.random() < 0.4, r.random() < 0.4
        s.partition_zone, s.escape_unicode = r.choice(["Z", ""]), r.random() < 0.3

    # ------------------------------------------------------------ values

    def value(self, type, null=0.15, plain=False):
        """A value from a small domain, so that equal ones meet; `plain`: one that can be a filter literal."""
        r = self.rng
        if not plain and r.random() < null or type == "void":
            return None
        if isinstance(type, Struct):
            return {f.name: self.value(f.type) for f in type.fields}
        if isinstance(type, Array):
            return [self.value(type.element) for _ in range(r.randint(0, 3))]
        if isinstance(type, Map):
            keys = r.sample(["k", "l", "m", ""], r.randint(0, 3))
            return {k: self.value(type.value) for k in keys}
        if type in ("byte", "short", "integer", "long"):
            bits = {"byte": 8, "short": 16, "integer": 32, "long": 64}[type]
            return r.choice([0, 1, 2, 3, -1, 7, 100, -100, -(1 << bits - 1), (1 << bits - 1) - 1])
        if type in ("float", "double"):
            return r.choice([0.0, 1.0, -1.0, 0.5, 2.0, 100.25, -3.5] + ([] if plain else [-0.0, float("nan"), float("inf"), float("-inf")]))
        if type == "string":
            return r.choice([t for t in TEXTS if t] if plain else TEXTS)
        if type == "binary":
            return r.choice([b"", b"\0", b"\xff\x00", b"abc"])
        if type == "boolean":
            return r.random() < 0.5
        if type == "date":
            return r.choice([dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1969, 12, 31), dt.date(2024, 2, 29)])
        if type in ("timestamp", "timestamp_ntz"):
            v = EPOCH + dt.timedelta(microseconds=r.choice([0, 1, 999, 1000, 1_500_001, 86_400_000_000, -1, -10**15]))
            return v.replace(tzinfo=dt.timezone.utc) if type == "timestamp" else v
        p, s = decimal_of(type)
        digits = min(p, 5)
        return decimal.Decimal(r.choice([0, 1, -1, 10**digits - 1, 150, -250])).scaleb(-min(s, 2))

    def partition_value(self, type):
        v = self.value(type)
        return None if v == "" else v

    def rows(self, n):
        t, out = self.t, []
        parts = {k for k in t.partition_by}
        for _ in range(n):
            if self.duplicates and out and self.rng.random() < 0.4:
                out.append(dict(self.rng.choice(out)))
                continue
            row = {f.name: self.partition_value(f.type) if f.key in parts else self.value(f.type) for f in t.schema.fields}
            row["id"] = self.next_id
            self.next_id += 1
            out.append(row)
        return out

    # ------------------------------------------------------------ steps

    def step(self):
        ops = {self.op_append: 3, self.op_delete: 3, self.op_update: 3, self.op_merge: 3, self.op_overwrite: 1, self.op_optimize: 1.5,
               self.op_restore: 1.5, self.op_add_column: 1, self.op_no_op: 0.7, self.op_nothing: 0.5, self.op_toggle_feed: 0.5,
               self.op_toggle_tracking: 0.5, self.op_rename: 1, self.op_drop: 0.7, self.op_widen: 1.5, self.op_checkpoint: 1, self.op_drop_file: 0.7,
               self.op_same_rows: 0.4, self.op_nested: 0.8, self.op_mapping: 0.3, self.op_commit_times: 0.3, self.op_clone: 0.3}
        op = self.rng.choices(list(ops), list(ops.values()))[0]
        if op() is not False:
            self.did.append(op.__name__[3:])

    def how(self):
        return "dv" if self.dv and self.rng.random() < 0.75 else "cow"

    def commit(self, **options):
        if self.t._on("delta.enableRowTracking") and self.rng.random() < 0.12:
            options.setdefault("preserved", False)
        return self.t.commit(**options)

    def chooser(self, share):
        """A stable random choice of rows by id."""
        salt = self.rng.random()
        return lambda row: random.Random(hash((salt, row["id"]))).random() < share

    def change(self, row):
        """The row with some columns set anew, sometimes its partition with them."""
        new = dict(row)
        parts = set(self.t.partition_by)
        for f in self.t.schema.fields:
            if f.name == "id" or self.rng.random() < 0.5:
                continue
            new[f.name] = (self.partition_value(f.type) if self.rng.random() < 0.3 else row[f.name]) if f.key in parts else self.value(f.type)
        return new

    def op_append(self):
        with self.t.commit() as c:
            c.append(self.rows(self.rng.randint(1, 8)), self.rng.randint(1, 3))

    def op_delete(self):
        hit = self.chooser(self.rng.choice([0.1, 0.4, 0.9]))
        with self.commit(operation="DELETE") as c:
            c.modify(lambda r: None if hit(r) else KEEP, how=self.how())

    def op_update(self):
        hit = self.chooser(self.rng.choice([0.1, 0.4, 0.9]))
        with self.commit(operation="UPDATE") as c:
            c.modify(lambda r: self.change(r) if hit(r) else KEEP, how=self.how())

    def op_merge(self):
        gone, hit = self.chooser(0.2), self.chooser(0.3)
        with self.commit(operation="MERGE") as c:
            c.modify(lambda r: None if gone(r) else self.change(r) if hit(r) else KEEP, self.rows(self.rng.randint(0, 4)), self.how())

    def op_no_op(self):
        hit = self.chooser(0.5)
        with self.commit(operation="UPDATE") as c:
            c.modify(lambda r: dict(r) if hit(r) else KEEP, how=self.how())

    def op_same_rows(self):
        """Deletes rows and inserts rows of the same content: another row, or none, depending on what carries ids."""
        hit = self.chooser(0.3)
        again = [r for r in self.t.rows() if hit(r)]
        with self.commit(operation="MERGE") as c:
            c.modify(lambda r: None if hit(r) else KEEP, again, self.how())

    def op_overwrite(self):
        with self.t.commit() as c:
            keep = self.rng.sample(self.t.rows(), min(2, len(self.t.rows())))
            c.overwrite(self.rows(self.rng.randint(0, 5)) + keep)

    def op_drop_file(self):
        files = list(self.t.versions[-1].files)
        if not files:
            return False
        with self.t.commit(operation="DELETE") as c:
            c.modify(lambda r: None, only=[self.rng.choice(files)])

    def op_optimize(self):
        files = list(self.t.versions[-1].files)
        with self.commit() as c:
            c.optimize(self.rng.sample(files, self.rng.randint(0, len(files))))

    def op_restore(self):
        if self.t.latest <= self.evolved:
            return False
        with self.commit(operation="RESTORE") as c:
            c.restore(self.rng.randint(self.evolved, self.t.latest - 1))

    def op_nothing(self):
        with self.t.commit(operation="SET TBLPROPERTIES") as c:
            c.raw({"txn": {"appId": "loader", "version": self.t.latest, "lastUpdated": 1}})
            c.raw({"somethingNew": {"path": "part-0.parquet", "deep": [{"x": None}]}})

    def evolve(self, schema):
        with self.t.commit(operation="ALTER TABLE") as c:
            c.evolve(schema)
        self.evolved = self.t.latest

    def op_add_column(self):
        inside = "st" if "st" in self.t.schema.names() and self.rng.random() < 0.4 else None
        self.evolve(self.t.schema.adding(Field(f"n{self.t.latest}", self.rng.choice(TYPES)), inside))

    def free(self):
        return [f.name for f in self.t.schema.fields if f.name != "id" and f.key not in self.t.partition_by]

    def op_rename(self):
        if not self.t.mapping:
            return False
        names = [f.name for f in self.t.schema.fields if f.name != "id"]
        path = self.rng.choice(names)
        if path == "st" and self.rng.random() < 0.5:
            path = "st." + self.t.schema["st"].type.fields[0].name
        self.evolve(self.t.schema.renaming(path, f"r{self.t.latest}"))

    def op_drop(self):
        if not self.t.mapping or len(self.free()) < 2:
            return False
        name = self.rng.choice(self.free())
        kind = self.t.schema[name].type
        self.evolve(self.t.schema.dropping(name))
        if self.rng.random() < 0.4:   # the same name again: another column
            self.evolve(self.t.schema.adding(Field(name, kind)))

    def op_widen(self):
        if not self.t._on("delta.enableTypeWidening"):
            return False
        able = [f.name for f in self.t.schema.fields if f.name in self.free() and isinstance(f.type, str) and f.type in WIDER]
        if not able:
            return False
        name = self.rng.choice(able)
        self.evolve(self.t.schema.widening(name, self.rng.choice(WIDER[self.t.schema[name].type])))

    def op_nested(self):
        """A change inside the struct, or inside the structs of the list."""
        r, names = self.rng, self.t.schema.names()
        inside = [n for n in ("st", "ar") if n in names and not isinstance(self.t.schema[n].type, str) and _struct_of(self.t.schema[n].type)]
        if not inside:
            return False
        n = r.choice(inside)
        fields = _struct_of(self.t.schema[n].type).fields
        f = r.choice(fields)
        if isinstance(f.type, str) and f.type in WIDER and self.t._on("delta.enableTypeWidening") and r.random() < 0.5:
            self.evolve(self.t.schema.widening(f"{n}.{f.name}", r.choice(WIDER[f.type])))
        elif self.t.mapping and r.random() < 0.6:
            path = f"{n}.{f.name}"
            self.evolve(self.t.schema.dropping(path) if len(fields) > 1 and r.random() < 0.5 else self.t.schema.renaming(path, f"r{self.t.latest}"))
        else:
            self.evolve(self.t.schema.adding(Field(f"n{self.t.latest}", r.choice(TYPES)), n))

    def op_mapping(self):
        if self.t.mapping:
            return False
        with self.t.commit(operation="SET TBLPROPERTIES") as c:
            c.enable_mapping()
        self.evolved = self.t.latest

    def op_commit_times(self):
        """In-commit timestamps from here on; file times stop to matter."""
        t = self.t
        if t._on("delta.enableInCommitTimestamps"):
            return False
        t.props["delta.enableInCommitTimestamps"] = "true"
        with t.commit(operation="SET TBLPROPERTIES") as c:
            c.set(inCommitTimestampEnablementVersion=str(c.v.number), inCommitTimestampEnablementTimestamp=str(c.ts))

    def op_clone(self):
        """From here on the history of a shallow clone, which starts anew over this table's files."""
        if self.t.supported or "delta.inCommitTimestampEnablementVersion" in self.t.props:
            return False
        self.t = self.t.shallow_clone(self.t.root + " clone")
        self.evolved, self.checkpointed = 0, None

    def op_toggle_feed(self):
        if {"_change_type", "_commit_version"} & set(self.t.schema.names()):
            return False    # names the feed keeps for itself
        with self.t.commit(operation="SET TBLPROPERTIES") as c:
            c.set(enableChangeDataFeed="false" if self.t._on("delta.enableChangeDataFeed") else "true")
        self.evolved = self.t.latest

    def op_toggle_tracking(self):
        if self.t._on("delta.enableRowTracking"):
            with self.t.commit(operation="SET TBLPROPERTIES") as c:
                c.set(enableRowTracking="false")
        elif self.t.supported and not self.t._on("delta.enableRowTracking") and "delta.enableRowTracking" in self.t.props:
            return False    # switched off before: ids were lost meanwhile
        else:
            with self.t.commit(operation="ADD FEATURE") as c:
                self.t.supported = True
                c.protocol()
            if self.rng.random() < 0.5:
                self.op_append()
            with self.t.commit() as c:
                c.backfill()
            with self.t.commit(operation="SET TBLPROPERTIES") as c:
                c.set(enableRowTracking="true")
        self.evolved = self.t.latest

    def op_checkpoint(self):
        styles = ["classic", "multi"] if self.t.props.get("delta.checkpointPolicy") != "v2" else ["v2-json", "v2-parquet", "v2-json-inline", "v2-parquet-inline"]
        if self.rng.random() < 0.4 and "delta.checkpointPolicy" not in self.t.props:
            with self.t.commit(operation="SET TBLPROPERTIES") as c:
                c.set(checkpointPolicy="v2")
            styles = ["v2-json", "v2-parquet", "v2-json-inline", "v2-parquet-inline"]
        self.t.checkpoint(style=self.rng.choice(styles), parts=self.rng.randint(1, 3), hint=self.rng.random() < 0.7)
        self.checkpointed = self.t.latest

    def finish(self):
        """Sometimes cuts the log before the last checkpoint, or lays a compacted log beside it."""
        r = self.rng
        mark = self.checkpointed
        if mark and r.random() < 0.5:
            self.t.cut_log(mark + r.randint(0, 1))
            self.cut = mark + 1
            self.did.append(f"cut<{self.cut}")
        elif self.t.latest > 3 and r.random() < 0.15:
            first = r.randint(0, self.t.latest - 2)
            self.t.compact_log(first, r.randint(first + 1, self.t.latest))

    # ------------------------------------------------------------ requests

    def request(self):
        r, t = self.rng, self.t
        first = r.randint(self.cut, t.latest)
        last = r.randint(first, t.latest)
        q = Request(first, last, bounds=["--from", *self.start(first), "--to", self.end(last)], more=["--no-pushdown"] if r.random() < 0.2 else [])
        schema = t.versions[last].schema
        if r.random() < 0.45:
            q.columns = [n for n in r.sample(schema.names(), r.randint(1, len(schema.names()))) if "," not in n] or None
        if r.random() < 0.5:
            leaves = {p: k for p, k in _leaves(schema) if " " not in p and k != "void" and p not in ("op", "before")}
            q.where = random_filter(r, leaves, lambda k: self.value(k, plain=True))
        if not self.duplicates:
            q.identity = ["id"] if r.random() < 0.5 else None
            q.net = r.random() < 0.25
            q.fold = bool(q.identity) and r.random() < 0.5
            q.drop_noop = bool(q.identity) and not q.net and r.random() < 0.3
        return q

    def start(self, first):
        """The words for a first version: itself, the one before it excluded, its time, or `start`."""
        ways = [[str(first)], [iso(self.t.versions[first].ts_ms)]]
        if first:
            ways.append([str(first - 1), "--from-exclusive"])
        else:
            ways.append(["start"])
        return self.rng.choice(ways)

    def end(self, last):
        return self.rng.choice([str(last), iso(self.t.versions[last].ts_ms)] + (["latest"] if last == self.t.latest else []))

    def check(self):
        """Runs the requests; gives how many."""
        t = self.t
        if self.cut > t.latest:
            return 0
        plan = [Request(self.cut, t.latest)] + [self.request() for _ in range(4)]
        for q in plan:
            _law(t, q.first, q.last)
            harness.check_request(t, q)
        r = harness.run("verify", t.root, "--from", self.cut, "--to", t.latest)
        assert r.code == 0, f"verify: exit {r.code} {r.out.decode(errors='replace')[:300]} {r.err[:300]}\n    {r.command}"
        self.check_bootstrap()
        return len(plan) + 2

    def check_bootstrap(self):
        """The oldest readable state as inserts, then the changes after it."""
        t, oldest = self.t, max(self.cut - 1, 0)
        end = t.versions[t.latest].schema
        want = [("insert", None, image(r.v, end), oldest) for r in t.versions[oldest].rows()]
        if oldest < t.latest:
            want += [tuple(c) for c in t.changes(oldest + 1, t.latest)]
        r = harness.changes(t.root, "--from", "start", "--bootstrap", "--to", "latest")
        try:
            harness.same_rows(harness.rows_of(r.table()), want, t.loose(oldest, t.latest))
        except AssertionError as e:
            raise r.blame(e) from None


def _struct_of(type):
    while isinstance(type, Array):
        type = type.element
    return type if isinstance(type, Struct) else None


def _leaves(struct, prefix=""):
    for f in struct.fields:
        if isinstance(f.type, Struct):
            yield from _leaves(f.type, prefix + f.name + ".")
        elif isinstance(f.type, str):
            yield prefix + f.name, f.type


def _law(t, first, last):
    before, after = t.net(first, last)
    total = collections.Counter(map(freeze, before))
    for c in t.changes(first, last):
        if c.before is not None:
            total[freeze(c.before)] -= 1
        if c.after is not None:
            total[freeze(c.after)] += 1
    want = collections.Counter(map(freeze, after))
    assert all(total[k] == want[k] for k in total.keys() | want.keys()), "the truth itself breaks the law"


def one(job):
    seed, root = job
    h = None
    try:
        h = History(seed, root)
        if harness.CLI is None:
            for a in range(h.t.latest + 1):
                for b in range(a, h.t.latest + 1):
                    _law(h.t, a, b)
            return seed, 1, None
        n = h.check()
        return seed, n, None
    except Exception as e:
        did = " ".join(h.did) if h else "while building"
        return seed, 0, f"{did}\n    {e if isinstance(e, AssertionError) else traceback.format_exc()}"


def main():
    a = harness.arguments(__doc__, seed=dict(type=int, default=20260801), count=dict(type=int, default=200), jobs=dict(type=int, default=2),
                          truth_only=dict(action="store_true", help="build the tables and check the truth alone"))
    if a.truth_only:
        harness.CLI = None
    top = harness.workspace(a.keep)
    print(f"seed {a.seed}, {a.count} histories", flush=True)
    passed = failed = asked = 0
    jobs = [(a.seed + i, os.path.join(top, f"h{a.seed + i}")) for i in range(a.count)]
    with multiprocessing.Pool(a.jobs) as pool:
        for seed, n, why in pool.imap_unordered(one, jobs):
            asked += n
            if why:
                failed += 1
                print(f"FAIL seed {seed}: {why}", flush=True)
            else:
                passed += 1
    if not a.keep:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{asked} requests")
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
