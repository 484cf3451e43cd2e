# SPDX-License-Identifier: Apache-2.0
"""The kinds of table the suite runs over: small adapters that play a logical step the way such a table's writer does.

The one idea: an adapter turns each verb of `model.Model` into one commit of a table builder (or a change of metadata)
and remembers the commit; everything a kind may tell differently stands in QUIRKS with its reason, and nowhere else.
Must not know: what requests are made.
"""
import datetime as dt

from support import delta_schema, delta_writer, iceberg_types, iceberg_writer

KEEP = delta_writer.KEEP
DELTA_TYPES = {"int": "integer"}

QUIRKS = {
    "updates": "the source itself says which two rows are one updated row (change files, or ids that rows keep): updates are labelled without "
               "--identity, and an update that changed nothing is still an update",
    "row ids": "the source gives every row an id, so that updates can be folded and net computed without --identity",
    "equal rows": "the source itself says that one row left and another came, so the two stay although they are equal",
    "replaced files": "a commit that changes data and has no change files means, by the format's rules, that all rows of its files left and came",
}


class Delta:
    format, missing = "delta", "delta.version_missing"

    def __init__(self, root, columns, how="cow", **props):
        props = {f"delta.{k}": "true" for k in ("enableTypeWidening", *props)}
        fields = [delta_schema.Field(n, self.type(t)) for n, t in columns]
        self.table, self.how = delta_writer.Table(root, delta_schema.Struct(*fields), props=props, mapping="name"), how
        self.root, self.at = self.table.root, {}

    def type(self, t):
        return delta_schema.Struct(*[delta_schema.Field(n, self.type(x)) for n, x in t]) if isinstance(t, list) else DELTA_TYPES.get(t, t)

    def play(self, steps):
        for label, verb, *what in steps:
            with self.table.commit(operation="WRITE") as c:
                getattr(self, verb)(c, *what)
            self.at[label] = self.table.latest
        return self

    def append(self, c, rows):
        c.append(rows, 2)

    def change(self, c, update=None, delete=(), insert=()):
        c.operation = "MERGE"
        c.modify(decision(update, delete), insert, self.how)

    def overwrite(self, c, rows):
        c.overwrite(rows)

    def compact(self, c):
        c.optimize()

    def rewrite(self, c):
        c.optimize(data_change=True)

    def add(self, c, name, type, inside=None):
        c.evolve(self.table.schema.adding(delta_schema.Field(name, self.type(type)), inside))

    def rename(self, c, name, new):
        c.evolve(self.table.schema.renaming(name, new))

    def drop(self, c, name):
        c.evolve(self.table.schema.dropping(name))

    def widen(self, c, name, type):
        c.evolve(self.table.schema.widening(name, self.type(type)))

    def commits(self, first, last):
        return list(range(self.at[first] + 1 if first else 0, self.at[last] + 1))

    def time(self, label):
        return iso(self.table.versions[self.at[label]].ts_ms)


class Iceberg:
    format, missing = "iceberg", "iceberg.snapshot_missing"

    def __init__(self, root, columns, how="cow", version=2):
        self.table = iceberg_writer.Table(root, [(n, self.type(t)) for n, t in columns], version=version)
        self.root, self.how, self.at = self.table.root, how, {}

    def type(self, t):
        return iceberg_types.struct_of(*[(n, self.type(x)) for n, x in t]) if isinstance(t, list) else t

    def play(self, steps):
        for label, verb, *what in steps:
            getattr(self, verb)(*what)
            self.at[label] = self.table.current and self.table.current.id
        self.table.save()
        return self

    def append(self, rows):
        self.table.append(rows, per_file=(len(rows) + 1) // 2)

    def change(self, update=None, delete=(), insert=()):
        t, decide = self.table, decision(update, delete)
        hits = t.find(lambda r: decide(r) is not KEEP)
        add, remove, deletes = {"cow": self.copied, "mor": self.marked, "equality": self.by_key}[self.how](hits, decide)
        t.commit("overwrite", add + (t.files(insert) if insert else []), remove, deletes)

    def copied(self, hits, decide):
        t, s, add = self.table, self.table.current, []
        for f, hit in hits.items():
            new = {p: decide(t.read(f, p, t.schema)) for p in hit}
            add += t.rewrite(f, s, set(t.alive(s)[f]) - set(hit), {p: t.row(r) for p, r in new.items() if r is not None})
        return add, list(hits), []

    def marked(self, hits, decide):
        t, s, rows, ids = self.table, self.table.current, [], []
        for f, hit in hits.items():
            stay = [p for p in hit if decide(t.read(f, p, t.schema)) is not None]
            rows += [decide(t.read(f, p, t.schema)) for p in stay]
            ids += t.lineage(s, f, stay)[0]
        lineage = {"row_ids": ids, "updated": [None] * len(ids)} if t.version >= 3 else {}
        return t.files(rows, **lineage) if rows else [], [], t.mark(s, hits)[0]

    def by_key(self, hits, decide):
        t = self.table
        old = [t.read(f, p, t.schema) for f, hit in hits.items() for p in hit]
        new = [decide(r) for r in old if decide(r) is not None]
        keys = sorted({(r["id"],) for r in old})
        return t.files(new) if new else [], [], [t.equality_deletes(keys, ["id"])] if keys else []

    def overwrite(self, rows):
        self.table.commit("overwrite", self.table.files(rows), self.table.current.data)

    def compact(self):
        self.table.compact(self.table.current.data)

    def rewrite(self):
        self.table.compact(self.table.current.data, "overwrite")

    def add(self, name, type, inside=None):
        if not inside:
            return self.table.add_column(name, self.type(type))
        fields = self.table.schema.named(inside).type.fields
        self.table.change_column(inside, type=iceberg_types.Struct(fields + (iceberg_types.Field(0, name, self.type(type)),)))

    def rename(self, name, new):
        self.table.rename_column(name, new)

    def drop(self, name):
        self.table.drop_column(name)

    def widen(self, name, type):
        self.table.promote_column(name, type)

    def commits(self, first, last):
        ids = [s.id for s in self.table.line(self.table.current)]
        return ids[ids.index(self.at[first]) + 1 if first else 0:ids.index(self.at[last]) + 1]

    def time(self, label):
        return iso(next(s.ts for s in self.table.snapshots if s.id == self.at[label]))


def decision(update, delete):
    """What becomes of a row: KEEP, None for gone, or its new values."""
    def decide(row):
        if row["id"] in delete:
            return None
        return {**row, **update[row["id"]]} if row["id"] in (update or {}) else KEEP
    return decide


def iso(ms):
    return dt.datetime.fromtimestamp(ms / 1000, dt.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# A kind: how to make it, which quirks it has, the method that plan names for an update of some rows.
KINDS = {
    "delta copy-on-write": (lambda *a: Delta(*a), (), "content_diff"),
    "delta change feed": (lambda *a: Delta(*a, enableChangeDataFeed=1), ("updates", "equal rows", "replaced files"), "cdf_files"),
    "delta deletion vectors": (lambda *a: Delta(*a, how="dv", enableDeletionVectors=1), (), "vector_diff"),
    "delta row tracking": (lambda *a: Delta(*a, enableRowTracking=1), ("updates", "row ids", "equal rows"), "lineage_diff"),
    "delta row tracking with deletion vectors": (lambda *a: Delta(*a, how="dv", enableDeletionVectors=1, enableRowTracking=1), ("updates", "row ids", "equal rows"), "lineage_diff"),
    "iceberg v1 copy-on-write": (lambda *a: Iceberg(*a, version=1), (), "content_diff"),
    "iceberg v2 copy-on-write": (lambda *a: Iceberg(*a, version=2), (), "content_diff"),
    "iceberg v2 position deletes": (lambda *a: Iceberg(*a, how="mor", version=2), (), "vector_diff"),
    "iceberg v2 equality deletes": (lambda *a: Iceberg(*a, how="equality", version=2), (), "equality_delete"),
    "iceberg v3 deletion vectors": (lambda *a: Iceberg(*a, how="mor", version=3), ("updates", "row ids"), "lineage_diff"),
    "iceberg v3 lineage": (lambda *a: Iceberg(*a, version=3), ("updates", "row ids"), "lineage_diff"),
    # An equality delete names keys, not rows: what the writer adds beside it has new ids, so no row is known to be an updated one.
    "iceberg v3 equality deletes": (lambda *a: Iceberg(*a, how="equality", version=3), (), "equality_delete"),
}
