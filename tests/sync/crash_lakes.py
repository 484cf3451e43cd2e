# SPDX-License-Identifier: Apache-2.0
"""Tables whose rows keep changing, Delta and Iceberg, as the crash tests ask about them.

The one idea: a commit is an id; a lake knows its commits in order, the rows of each, and what each of them changed. An
image is its values as texts without nulls, so that rows compare whichever target they were read from, and a column that
was added later changes no older row.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.delta_schema import Field, Struct
from support.delta_writer import KEEP, Table as DeltaTable
from support.iceberg_harness import Truth
from support.iceberg_writer import Table as IcebergTable

NAMES = ("id", "name", "qty", "extra")
TEXTS = [None, "", "it's", "tab\there", "back\\slash", "日本", "x" * 300]


def image(row):
    return None if row is None else tuple((n, str(row[n])) for n in NAMES if row.get(n) is not None)


class Lake:
    """`root` is the table; `start` what a sync begins with, so that it sees every commit."""

    def __init__(self, rng):
        self.rng, self.next, self.ids, self.known = rng, 0, [], {}

    def values(self, id=None):
        r = self.rng
        if id is None:
            self.next += 1
        row = {"id": self.next if id is None else id, "name": r.choice(TEXTS), "qty": r.choice([None, r.randint(-9, 9)])}
        return {**row, "extra": r.choice([None, "e"])} if self.has_extra() else row

    def new(self, low, high):
        return [self.values() for _ in range(self.rng.randint(low, high))]

    def place(self, id):
        return self.ids.index(id)

    def step(self):
        """One more commit."""
        self.change()
        self.note()

    def add(self):
        """One more, which adds rows."""
        self.append()
        self.note()

    def note(self):
        self.ids.append(self.head())
        self.known[self.ids[-1]] = self.rows_now(), self.changes_of(self.ids[-1])

    def rows(self, id):
        return self.known[id][0]

    def changes(self, after, upto):
        """(op, before, after, id) of the commits after one, None for the beginning, up to another."""
        first = 0 if after is None else self.place(after) + 1
        return [c for id in self.ids[first:self.place(upto) + 1] for c in self.known[id][1]]


class Delta(Lake):
    start = "0"

    def __init__(self, root, rng, **props):
        super().__init__(rng)
        self.root, self.dv = root, "delta.enableDeletionVectors" in props
        fields = Field("id", "long"), Field("name", "string"), Field("qty", "integer"), Field("price", "decimal(12,2)"), Field("at", "timestamp")
        self.t = DeltaTable(root, Struct(*fields), props=props, rng=rng)
        self.ids.append(0)
        self.known[0] = [], []

    def head(self):
        return self.t.latest

    def has_extra(self):
        return "extra" in self.t.schema.names()

    def values(self, id=None):
        return {**super().values(id), "price": None, "at": None}

    def rows_now(self):
        return [image(r) for r in self.t.rows()]

    def changes_of(self, id):
        return [(c[0], image(c[1]), image(c[2]), c[3]) for c in self.t.changes(id, id)]

    def append(self):
        with self.t.commit() as c:
            c.append(self.new(1, 1))

    def change(self):
        r, t = self.rng, self.t
        what, chance = r.random(), r.choice([0.02, 0.1, 0.3])
        changed = lambda row: KEEP if r.random() > chance else None if r.random() < 0.3 else self.values(row["id"])
        with t.commit() as c:
            if what < 0.35 or len(t.rows()) < 20:
                c.append(self.new(5, 40), r.randint(1, 2))
            elif what < 0.8:
                c.modify(changed, self.new(0, 5), "dv" if self.dv and r.random() < 0.7 else "cow")
            elif what < 0.87:
                c.optimize()
            elif what < 0.92:
                c.overwrite(r.sample(t.rows(), len(t.rows()) // 2) + self.new(0, 9), 2)
            elif what < 0.96 and not self.has_extra():
                c.evolve(t.schema.adding(Field("extra", "string"), None))
            else:
                c.raw({"txn": {"appId": "loader", "version": t.latest, "lastUpdated": 1}})


class Iceberg(Lake):
    """Copy-on-write, position deletes or vectors, equality deletes, compaction: what engines do to a table in turn."""

    start = "oldest"

    def __init__(self, root, rng, version):
        super().__init__(rng)
        self.root = root
        self.t = IcebergTable(root, [("id", "long"), ("name", "string"), ("qty", "int")], version=version, seed=rng.getrandbits(32))
        self.truth = Truth(self.t)

    def head(self):
        self.t.save()
        return self.t.current.id

    def has_extra(self):
        return any(f.name == "extra" for f in self.t.schema)

    def rows_now(self):
        return [image(r.values) for r in self.t.rows(schema=self.t.schema)]

    def changes_of(self, id):
        s = self.t.current
        return [(op, image(before), image(after), s.id) for op, before, after in self.truth.step(s, s.schema)]

    def append(self):
        self.t.append(self.new(1, 1))

    def change(self):
        r, t = self.rng, self.t
        chance = r.choice([0.02, 0.1, 0.3])
        live = [row.values for row in t.rows(schema=t.schema)] if t.current else []
        hit = {row["id"] for row in live if r.random() < chance} or {row["id"] for row in live[:1]}
        picked, changed = (lambda row: row["id"] in hit), (lambda row: self.values(row["id"]))
        what = r.random()
        if what < 0.3 or len(live) < 20:
            t.append(self.new(5, 40), r.choice([None, 9]))
        elif what < 0.4:
            t.update_cow(picked, changed)
        elif what < 0.5:
            t.delete_cow(picked)
        elif what < 0.65:
            t.update_mor(picked, changed)
        elif what < 0.75:
            t.delete_mor(picked, t.files(self.new(1, 5)) if r.random() < 0.4 else ())
        elif what < 0.85:
            t.upsert([self.values(id) for id in hit] + self.new(0, 3), ["id"])
        elif what < 0.91:
            t.compact(r.sample(t.current.data, r.randint(1, len(t.current.data))), r.choice(["replace", "overwrite"]))
        elif what < 0.94:
            t.commit("replace", merge=True)
        elif what < 0.97 and not self.has_extra():
            t.add_column("extra", "string")
            t.append(self.new(1, 5))
        else:
            t.commit("append", ())


KINDS = {
    "delta, vectors and row ids": lambda root, rng: Delta(root, rng, **{"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}),
    "delta, rewritten files": lambda root, rng: Delta(root, rng),
    "delta, recorded changes": lambda root, rng: Delta(root, rng, **{"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}),
    "iceberg 2, delete files": lambda root, rng: Iceberg(root, rng, 2),
    "iceberg 3, vectors and row ids": lambda root, rng: Iceberg(root, rng, 3),
}
