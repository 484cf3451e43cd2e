# SPDX-License-Identifier: Apache-2.0
"""Random, legal histories of Iceberg tables.

The one idea: a history is a seeded walk over small operations, each something a real writer does, with the format
version, the columns, the partitioning and the writer's habits drawn first. Every changed row gets a `rev` nobody used
before, so a deleted and an inserted row of one snapshot are equal only where a rewrite carried the row over.
"""
import dataclasses, decimal, random

import pyarrow as pa

from support.iceberg_types import MISSING, Field, Map, Struct, arrow_type, list_of, map_of, struct_of
from support.iceberg_writer import Table

WORDS = ["", "a", "b", "ab", "ada", "Zoë", "日本", "it's", "x" * 40, "%_", "null"]
POOL = [("name", "string"), ("amount", "decimal(9, 2)"), ("big", "decimal(25, 3)"), ("qty", "int"), ("ratio", "double"), ("f", "float"), ("flag", "boolean"), ("day", "date"),
        ("at", "timestamptz"), ("tn", "timestamp"), ("tm", "time"), ("u", "uuid"), ("fx", "fixed[4]"), ("bin", "binary"), ("st", struct_of(("x", "int"), ("y", struct_of(("z", "string"))))),
        ("ar", list_of("int")), ("ma", map_of("string", "double")), ("ms", list_of(struct_of(("k", "string"), ("v", "int"))))]
POOL_V3 = [("ns", "timestamp_ns"), ("nothing", "unknown")]
PROMOTIONS = {"int": "long", "float": "double", "decimal(9, 2)": "decimal(18, 2)"}
DAY = 86_400_000_000


def value(rng, t, nulls=0.15):
    """A plain model value, structs by name; few enough different ones that equal values meet."""
    if rng.random() < nulls or t == "unknown":
        return None
    if isinstance(t, Struct):
        return {f.name: value(rng, f.type) for f in t}
    if isinstance(t, Map):
        return [(k, value(rng, t.value.type)) for k in rng.sample(WORDS, rng.randrange(4))]
    if not isinstance(t, str):
        return [value(rng, t.element.type) for _ in range(rng.randrange(4))]
    if t.startswith("decimal"):
        return decimal.Decimal(rng.randrange(-500, 500)).scaleb(-(3 if "25" in t else 2)) * (10**15 if "25" in t and rng.random() < 0.5 else 1)
    return {"string": lambda: rng.choice(WORDS), "int": lambda: rng.choice([0, 1, -1, 7, 2**31 - 1, -2**31, rng.randrange(50)]), "long": lambda: rng.choice([0, 1, -1, 2**63 - 1, rng.randrange(50)]),
            "double": lambda: rng.choice([0.0, 0.1, -2.5, float("nan"), float("inf"), 1e300, rng.randrange(9) / 2]), "float": lambda: rng.choice([0.0, 0.5, -2.25, float("nan"), float(rng.randrange(9))]),
            "boolean": lambda: rng.random() < 0.5, "date": lambda: rng.choice([0, -1, 18000, 18000 + rng.randrange(60)]), "time": lambda: rng.randrange(DAY),
            "timestamptz": lambda: 18000 * DAY + rng.randrange(40 * DAY), "timestamp": lambda: rng.choice([-1, 0, 18000 * DAY + rng.randrange(40 * DAY)]),
            "timestamp_ns": lambda: (18000 * DAY + rng.randrange(DAY)) * 1000 + rng.randrange(1000), "uuid": lambda: bytes([rng.randrange(4)] * 16), "fixed[4]": lambda: bytes([rng.randrange(256), 0, 1, 2]),
            "binary": lambda: rng.choice([b"", b"\x00\xff", b"abc"])}[t]()


def literal(t, plain):
    """A model value as Python code outside the builder knows it (datetime for times)."""
    return pa.scalar(plain, arrow_type(t)).as_py()


class History:
    def __init__(self, root, seed):
        self.rng = r = random.Random(seed)
        self.seed, self.rev, self.next_id, self.trace = seed, 0, 0, []
        version = r.choice([1, 2, 2, 2, 3, 3, 3])
        self.keyed = r.random() < 0.7           # ids are unique among live rows
        columns = [("id", "long"), ("region", "string"), ("rev", "long")] + r.sample(POOL + (POOL_V3 if version == 3 else []), r.randrange(2, 6))
        head, tail = columns[:1], columns[1:]
        r.shuffle(tail)
        self.table = t = Table(root, head + tail, version=version, seed=seed, codec=r.choice(["null", "deflate", "snappy", "zstandard"]), stats=r.choice([True, True, False, 2]), odd_avro=r.random() < 0.2,
                               explicit_entries=r.random() < 0.2, block_bytes=r.choice([16000, 16000, 200]), gzip_metadata=r.random() < 0.2, naming=r.choice(["hint", "catalog"]), bare_v1=r.random() < 0.3,
                               inline_manifests=r.random() < 0.3)
        t.parquet = {"compression": r.choice(["zstd", "snappy", "gzip", "none"]), "use_dictionary": r.random() < 0.7, "data_page_version": r.choice(["1.0", "2.0"]), "write_page_checksum": r.random() < 0.5,
                     "store_decimal_as_integer": r.random() < 0.5, "row_group_size": r.choice([3, 100, 100]), "write_page_index": r.random() < 0.3}
        t.set_spec(self.random_spec())
        self.append()

    # -- drawing

    def random_spec(self):
        r, t, fields = self.rng, self.table, []
        options = [("region", "identity"), ("id", "bucket[3]")]
        for f in t.schema:
            if isinstance(f.type, str):
                kind = f.type
                if kind in ("string", "int", "long", "binary") or kind.startswith("decimal"):
                    options.append((f.name, "truncate[2]"))
                if kind in ("date", "timestamp", "timestamptz", "timestamp_ns"):
                    options.append((f.name, r.choice(["year", "month", "day"] + (["hour"] if kind != "date" else []))))
                if kind in ("uuid", "fixed[4]", "date", "timestamp_ns", "time", "boolean", "double") and kind not in ("boolean", "double"):
                    options.append((f.name, "bucket[2]"))
                if kind in ("boolean", "date", "uuid", "fixed[4]", "double"):
                    options.append((f.name, "identity"))
        options.append(("name", "void") if any(f.name == "name" for f in t.schema) else ("region", "void"))
        if self.table.version > 1 and r.random() < 0.3:
            options.append(("id", "mystery[3]"))
        n = r.choice([0, 0, 1, 1, 2])
        for o in r.sample(options, n):
            if o[0] not in [x[0] for x in fields]:
                fields.append(o)
        return fields

    def new_row(self, id=None):
        self.rev += 1
        if id is None:
            self.next_id += 1
            id = self.next_id
        row = {f.name: value(self.rng, f.type) for f in self.table.schema}
        return row | {"id": id, "rev": self.rev, "region": self.rng.choice(["n", "s", "s", "a b%20/ü", None])}

    def some_rows(self, low=1, high=12):
        rows = [self.new_row() for _ in range(self.rng.randint(low, high))]
        if rows and not self.keyed and self.rng.random() < 0.5:
            rows += self.rng.sample(rows, self.rng.randint(1, len(rows)))
        return rows

    def changed(self, row):
        """The row with new values; its id, and mostly its partition, stay."""
        new = self.new_row(row["id"])
        return {k: (v if k == "rev" or self.rng.random() < 0.4 else row[k]) for k, v in new.items()}

    def picker(self, share=None):
        """A function that says yes to a random share of rows, equal rows drawn apart."""
        share = share or self.rng.choice([0.1, 0.3, 0.6, 1.0])
        return lambda row: self.rng.random() < share

    def head(self):
        return self.table.current

    def options(self):
        return {"merge": self.rng.random() < 0.15, "drop_dead": self.rng.random() < 0.3, "keep_dead": self.rng.random() < 0.3}

    # -- operations: each returns None when it does not apply

    def append(self):
        t = self.table
        if self.rng.random() < 0.05:
            return t.commit("append", ())
        options = {"omit": [f.name for f in t.schema if any(p.source == f.id and p.transform == "identity" for p in t.spec.fields)]} if self.rng.random() < 0.3 else {}
        return t.commit("append", t.files(self.some_rows(), self.rng.choice([None, None, 3]), **options), **self.options())

    def delete_cow(self):
        return self.table.delete_cow(self.picker(), lineage=self.rng.random() < 0.85, **self.options())

    def update_cow(self):
        return self.table.update_cow(self.picker(), self.changed, lineage=self.rng.random() < 0.85, **self.options())

    def merge_cow(self):
        """Updates, deletes and inserts of one MERGE."""
        t, s, add, remove = self.table, self.head(), [], []
        for f, hit in t.find(self.picker()).items():
            updated = {p: t.row(self.changed(t.read(f, p, t.schema))) for p in hit if self.rng.random() < 0.6}
            remove.append(f)
            add += t.rewrite(f, s, set(t.alive(s)[f]) - set(hit), updated)
        return t.commit("overwrite", add + t.files(self.some_rows(0, 3)), remove, **self.options())

    def overwrite(self):
        """A partition, or the whole table, replaced by new rows."""
        t, s = self.table, self.head()
        if not s.data:
            return None
        chosen = self.rng.choice(s.data)
        whole = self.rng.random() < 0.3
        remove = [f for f in s.data if whole or (f.spec, repr(f.partition)) == (chosen.spec, repr(chosen.partition))]
        return t.commit("overwrite", t.files(self.some_rows(0, 6)), remove, **self.options())

    def delete_files(self):
        s = self.head()
        return self.table.commit("delete", (), self.rng.sample(s.data, self.rng.randint(1, len(s.data))), **self.options()) if s.data else None

    def delete_mor(self):
        t = self.table
        if t.version < 2:
            return None
        new = t.files(self.some_rows(0, 4)) if self.rng.random() < 0.4 else []
        return t.delete_mor(self.picker(), new, row_column=self.rng.random() < 0.2, refer=self.rng.random() < 0.5, **self.options())

    def delete_again(self):
        """A delete file that also names rows long dead (v2: a second file; v3: the vector holds them anyway)."""
        t, s = self.table, self.head()
        if t.version != 2 or not s.data:
            return None
        hits = {f: [p for p in range(f.count) if self.rng.random() < 0.4] for f in self.rng.sample(s.data, self.rng.randint(1, len(s.data)))}
        hits = {f: p for f, p in hits.items() if p}
        if not hits:
            return None
        deletes, _ = t.mark(s, hits)
        return t.commit("delete", (), (), deletes, **self.options())

    def update_mor(self):
        return self.table.update_mor(self.picker(), self.changed, **self.options()) if self.table.version > 1 else None

    def short_lived(self):
        """Rows added and deleted in the same snapshot, besides others that stay."""
        t = self.table
        if t.version < 2:
            return None
        files = t.files(self.some_rows(2, 8))
        hits = {f: [p for p in range(f.count) if self.rng.random() < 0.5] for f in files}
        hits = {f: p for f, p in hits.items() if p}
        for f in hits:
            f.seq = t.last_seq + 1               # what they will have, for the position deletes' rows
        deletes = t.mark_new(hits) if hits else []
        return t.commit("overwrite", files, (), deletes, **self.options())

    def upsert(self):
        """New versions of some keys, some keys nobody has, and the deletes of a streaming writer."""
        t = self.table
        if t.version < 2 or not self.keyed or not self.scope_is_safe():
            return None
        ids = {row.values["id"] for row in t.rows(schema=t.schema)}
        chosen = self.rng.sample(sorted(ids), min(len(ids), self.rng.randint(1, 4)))
        rows = [self.new_row(i) for i in chosen] + self.some_rows(0, 2)
        if not t.spec.partitioned or self.rng.random() < 0.5:
            add, keys = t.files(rows), [(r["id"],) for r in rows]
            return t.commit("overwrite", add, (), [t.equality_deletes(keys, ["id"], self.global_spec())], **self.options())
        # Scoped to partitions: the writer also deletes the key where it lived before, as a good one does.
        add, deletes, places = t.files(rows), [], {}
        for f, live in t.alive(self.head()).items():
            for p in live:
                row = t.read(f, p, t.schema)
                if row["id"] in chosen:
                    places.setdefault((f.spec, repr(f.partition)), (f, []))[1].append((row["id"],))
        for f, keys in places.values():
            deletes.append(t.equality_deletes(keys, ["id"], f.spec, f.partition))
        return t.commit("overwrite", add, (), deletes, **self.options())

    def scope_is_safe(self):
        """v3 writers may not use position deletes; equality deletes are fine everywhere."""
        return True

    def global_spec(self):
        t = self.table
        free = next((s for s in t.specs if not s.partitioned and not s.fields), None)
        if free is None:
            current = t.spec
            t.set_spec([])
            free, t.spec = t.spec, current
        return free

    def delete_keys(self):
        """Equality deletes on any columns, from rows that exist and rows that do not; several files in one commit."""
        t = self.table
        if t.version < 2:
            return None
        leaves = [(f.id, f.type) for f in t.schema if isinstance(f.type, str) and f.type not in ("unknown",)]
        for f in t.schema:
            if isinstance(f.type, Struct):
                leaves += [(g.id, g.type) for g in f.type if isinstance(g.type, str)]
        deletes, tops = [], {f.id for f in t.schema}
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            columns = self.rng.sample(leaves, min(len(leaves), self.rng.choice([1, 1, 2, 3])))
            rows = [(f, p) for f, live in t.alive(self.head()).items() for p in live]
            scope = self.rng.choice(rows)[0] if rows and self.rng.random() < 0.6 else None
            spec, partition = (scope.spec, scope.partition) if scope and scope.spec.fields else (self.global_spec(), ())
            d = t.equality_deletes([(None,) * len(columns)], [c for c, _ in columns], spec, partition)
            keys = []
            for f, p in self.rng.sample(rows, min(len(rows), self.rng.randint(1, 3))):
                keys.append(t.key_at(f, p, d))
            # A null struct and a struct with a null field are one key to some readers and two to others.
            keys = [k for k in keys if all(v is not None or len(steps) == 1 for v, steps in zip(k, d.key_fields))]
            for _ in range(self.rng.randrange(2)):
                keys.append(tuple(None if self.rng.random() < 0.2 and c in tops else value(self.rng, k, 0) if k != "long" else self.rng.randrange(10**6) for c, k in columns))
            extra = [f.name for f in t.schema if isinstance(f.type, str) and f.id not in [c for c, _ in columns] and f.type != "unknown"][:1] if self.rng.random() < 0.2 else ()
            if keys:
                deletes.append(t.equality_deletes(keys, [c for c, _ in columns], spec, partition, extra=extra))
        return t.commit("delete", (), (), deletes, **self.options()) if deletes else None

    def compact(self):
        s = self.head()
        if not s.data:
            return None
        files = self.rng.sample(s.data, self.rng.randint(1, len(s.data)))
        operation = self.rng.choice(["replace", "replace", "overwrite"])
        keep = self.rng.random() < 0.3
        return self.table.compact(files, operation, keep_seq=keep, lineage=self.rng.random() < 0.8, **self.options())

    def rewrite_manifests(self):
        return self.table.commit("replace", merge=True)

    def tidy_deletes(self):
        """Delete files that hit nothing any more are dropped; the rows stay the same."""
        t, s = self.table, self.head()
        idle = []
        for d in s.deletes:
            without = dataclasses.replace(s, deletes=[x for x in s.deletes if x is not d])
            if t.alive(without) == t.alive(s):
                idle.append(d)
                break
        return t.commit("replace", (), (), (), idle, **self.options()) if idle else None

    def bring_back(self):
        """A delete file taken away: the rows it hid come back. With vectors: one replaced by a smaller one."""
        t, s = self.table, self.head()
        if not s.deletes:
            return None
        d = self.rng.choice(s.deletes)
        if t.version == 3 and not self.ids_stay_single(s, d):
            return None
        if d.kind != "dv":
            return t.commit("overwrite", (), (), (), [d], **self.options())
        f = next(x for x in s.data if x.path == d.refers)
        left = {p for p in d.positions[f.path] if self.rng.random() < 0.5}
        return t.commit("overwrite", (), (), t.vectors({f: left}) if left else (), [d], **self.options())

    def ids_stay_single(self, s, d):
        """False when rows that `d` hides live on elsewhere under the same row id: no writer may bring them back."""
        without = dataclasses.replace(s, deletes=[x for x in s.deletes if x is not d])
        row_ids = [self.table.row_of(s, f, p, self.table.schema).row_id for f, live in self.table.alive(without).items() for p in live]
        return len(row_ids) == len(set(row_ids))

    def equality_to_positions(self):
        """What a maintenance job does with the equality deletes of a streaming writer."""
        t, s = self.table, self.head()
        equality = [d for d in s.deletes if d.kind == "eq"]
        if not equality:
            return None
        without = dataclasses.replace(s, deletes=[d for d in s.deletes if d.kind != "eq"])
        hits = {f: sorted(set(live) - set(t.alive(s)[f])) for f, live in t.alive(without).items()}
        deletes, _ = t.mark(s, {f: p for f, p in hits.items() if p})
        return t.commit("replace", (), (), deletes, equality, **self.options())

    def cherry_pick(self):
        """Files appended on a side branch are published on main."""
        t, head = self.table, self.head()
        side = [f for s in t.snapshots for f in s.data if s.operation == "append" and f.snapshot_id == s.id and f not in head.data and s not in t.line(head)]
        if not side or t.version == 3 or not self.keyed:
            return None
        f = self.rng.choice(side)
        known = {row.values["id"] for row in t.rows(schema=t.schema)}
        if known & {t.read(f, p, t.schema)["id"] for p in range(f.count)}:
            return None
        again = dataclasses.replace(f, snapshot_id=None, seq=None, file_seq=None, data_seq=None)
        return t.commit("append", [again], **self.options())

    def side_branch(self):
        t = self.table
        if t.version == 1 and t.bare_v1:
            return None
        t.branch("side", self.head())
        t.commit("append", t.files(self.some_rows()), branch="side")
        if self.rng.random() < 0.5:
            t.delete_cow(self.picker(), branch="side")
        return "side"

    def rollback(self):
        t = self.table
        line = t.line(self.head())
        if len(line) < 3 or (t.version == 1 and t.bare_v1):
            return None
        back = self.rng.choice(line[-3:-1])
        t.rollback(back)
        return "rollback"

    def expire(self):
        t = self.table
        line = t.line(self.head())
        if len(line) < 4 or self.rng.random() < 0.5:
            return None
        t.expire(line[:self.rng.randint(1, 2)])
        return "expire"

    def upgrade(self):
        t = self.table
        if t.version == 3 or self.rng.random() < 0.5:
            return None
        t.upgrade(t.version + 1)
        return "upgrade"

    def old_style(self):
        """v1 metadata that knows one schema and one spec, or lists its manifests without saying their spec."""
        return self.table.version == 1 and (self.table.bare_v1 or self.table.inline_manifests)

    def change_schema(self):
        t, r = self.table, self.rng
        if self.old_style():
            return None
        used = {p.source for s in t.specs for p in s.fields}
        free = [f for f in t.schema if f.name not in ("id", "rev", "region")]
        choice = r.choice(["add", "add", "drop", "rename", "move", "promote", "nested"])
        if choice == "add":
            name, type = r.choice([("extra", "int"), ("note", "string"), ("when", "date"), ("st2", struct_of(("p", "long"))), ("price", "decimal(9, 2)")])
            if any(f.name == name for f in t.schema):
                return None
            default = value(r, type, 0) if t.version == 3 and isinstance(type, str) and r.random() < 0.6 else MISSING
            t.add_column(name, type, default)
        elif choice == "drop":
            gone = [f for f in free if f.id not in used]
            if len(gone) < 2:
                return None
            t.drop_column(r.choice(gone).name)
        elif choice == "rename":
            f = r.choice(list(t.schema)[1:])
            if f.name in ("id", "rev", "region"):
                return None
            t.rename_column(f.name, f"{f.name[:6]}_{len(t.schemas)}")
        elif choice == "move":
            t.move_column(r.choice(free).name if free else "rev", r.randrange(len(t.schema.fields)))
        elif choice == "promote":
            f = next((f for f in free if f.type in PROMOTIONS), None)
            if f is None:
                return None
            t.promote_column(f.name, PROMOTIONS[f.type])
        else:
            f = next((f for f in free if isinstance(f.type, Struct)), None)
            if f is None:
                return None
            inner = list(f.type)
            what = r.choice(["add", "drop", "rename", "promote"])
            if what == "add":
                inner.append(Field(0, f"n{len(t.schemas)}", "string"))
            elif what == "drop" and len(inner) > 1:
                inner.pop(0)
            elif what == "rename":
                inner[0] = dataclasses.replace(inner[0], name=f"r{len(t.schemas)}")
            else:
                inner = [dataclasses.replace(g, type=PROMOTIONS.get(g.type, g.type) if isinstance(g.type, str) else g.type) for g in inner]
            t.change_column(f.name, type=Struct(tuple(inner)))
        return f"schema {choice}"

    def change_spec(self):
        t = self.table
        if self.old_style():
            return None
        t.set_spec(self.random_spec())
        return "spec"

    STEPS = [(append, 5), (delete_cow, 2), (update_cow, 3), (merge_cow, 2), (overwrite, 1.5), (delete_files, 1), (delete_mor, 4), (delete_again, 1), (update_mor, 4), (short_lived, 1.5), (upsert, 4), (delete_keys, 4),
             (compact, 2), (rewrite_manifests, 1), (tidy_deletes, 0.7), (bring_back, 1), (equality_to_positions, 1), (cherry_pick, 3), (side_branch, 1.2), (rollback, 0.5), (expire, 0.4), (upgrade, 1.5), (change_schema, 2.5), (change_spec, 0.8)]

    def step(self):
        steps, weights = zip(*self.STEPS)
        f = self.rng.choices(steps, weights)[0]
        done = f(self)
        if done is not None:
            self.trace.append(f.__name__ + (f" ({done})" if isinstance(done, str) else ""))
        return done

    @property
    def lineage_seen(self):
        return self.table.version == 3

    def leaves(self, schema):
        """Dotted paths a filter can name, with their types."""
        out = {}
        for f in schema:
            if isinstance(f.type, str) and f.type != "unknown":
                out[f.name] = f.type
            elif isinstance(f.type, Struct):
                out.update({f"{f.name}.{g.name}": g.type for g in f.type if isinstance(g.type, str)})
        return out


def make(root, seed, steps=None):
    h = History(root, seed)
    for _ in range(steps or h.rng.randint(4, 14)):
        h.step()
    if h.trace and h.trace[-1].startswith(("schema", "upgrade", "spec")):
        h.append()
    h.table.save()
    return h
