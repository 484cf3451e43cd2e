# SPDX-License-Identifier: Apache-2.0
"""A table without a format: what steps mean for rows, and so what a change request over them must give.

The one idea: a row is a dict by column key and a key never changes, so old rows are shown under any later schema. Each
step leaves a mark: its schema, its rows, and what became of each row. A kind of table may see less of that (a format
without row ids cannot know that two rows are one row updated); its traits, and nothing else, say how much.
Must not know: any file format, any builder of tables.
"""
import collections
from dataclasses import dataclass, replace

import pyarrow as pa

from support.delta_schema import freeze

ARROW = {"int": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string()}


@dataclass(frozen=True)
class Column:
    key: int
    name: str
    type: object      # a name of ARROW, or a tuple of columns


@dataclass(eq=False)
class Row:
    values: dict      # by column key, structs too; two rows are the same row only when they are the same object


@dataclass
class Mark:
    columns: tuple
    rows: list
    log: list         # (insert | delete | update, row before, row after)
    whole: bool       # whole files were replaced, whatever their rows


def image(values, columns):
    if values is None:
        return None
    return {c.name: image(values.get(c.key), c.type) if isinstance(c.type, tuple) else values.get(c.key) for c in columns}


def keyed(values, columns):
    if values is None:
        return None
    assert set(values) <= {c.name for c in columns}, f"unknown column among {list(values)}"
    return {c.key: keyed(values.get(c.name), c.type) if isinstance(c.type, tuple) else values.get(c.name) for c in columns}


def arrow_type(columns):
    return pa.struct([pa.field(c.name, arrow_type(c.type) if isinstance(c.type, tuple) else ARROW[c.type]) for c in columns])


class Model:
    def __init__(self, columns):
        self.keys, self.rows, self.marks = 0, [], {}
        self.columns = tuple(self.column(n, t) for n, t in columns)

    def column(self, name, type):
        self.keys += 1
        key = self.keys
        return Column(key, name, tuple(self.column(n, t) for n, t in type) if isinstance(type, list) else type)

    def play(self, steps):
        for label, verb, *what in steps:
            log = getattr(self, verb)(*what) or []
            gone = {id(b) for _, b, _ in log}
            self.rows = [r for r in self.rows if id(r) not in gone] + [a for *_, a in log if a]
            self.marks[label] = Mark(self.columns, self.rows, log, verb in ("overwrite", "rewrite"))
        self.labels = list(self.marks)
        return self

    # Steps give what becomes of rows; steps that change columns give nothing.

    def append(self, rows):
        return [("insert", None, self.row(r)) for r in rows]

    def change(self, update=None, delete=(), insert=()):
        """Rows by their id: new values for some columns (none: the row is written again as it is), deletes, inserts."""
        log = []
        for r in self.rows:
            values = image(r.values, self.columns)
            if values["id"] in delete:
                log.append(("delete", r, None))
            elif values["id"] in (update or {}):
                log.append(("update", r, Row({**r.values, **self.row(values | update[values["id"]]).values})))
        return log + self.append(insert)

    def overwrite(self, rows):
        return [("delete", r, None) for r in self.rows] + self.append(rows)

    def rewrite(self):
        """Every file written again with the same rows, in a commit that does not call itself maintenance."""
        return [("delete", r, None) for r in self.rows] + [("insert", None, Row(r.values)) for r in self.rows]

    def compact(self):
        return []

    def add(self, name, type, inside=None):
        new = self.column(name, type)
        self.columns = tuple(replace(c, type=c.type + (new,)) if c.name == inside else c for c in self.columns) + (() if inside else (new,))

    def rename(self, name, new):
        self.columns = tuple(replace(c, name=new) if c.name == name else c for c in self.columns)

    def drop(self, name):
        self.columns = tuple(c for c in self.columns if c.name != name)

    def widen(self, name, type):
        self.columns = tuple(replace(c, type=type) if c.name == name else c for c in self.columns)

    def row(self, values):
        return Row(keyed(values, self.columns))

    # What a request must give.

    def between(self, first, last):
        """Labels after `first` (None: from the beginning) up to `last`."""
        return self.labels[self.labels.index(first) + 1 if first else 0:self.labels.index(last) + 1]

    def state(self, label, columns):
        return [image(r.values, columns) for r in self.marks[label].rows] if label else []

    def net(self, first, last):
        return [self.state(label, self.marks[last].columns) for label in (first, last)]

    def changes(self, first, last, traits, snapshot):
        """Change rows as a kind with these traits can tell them; `snapshot` gives the commit of a label."""
        out = []
        for label in self.between(first, last):
            out += [(*c, snapshot(label)) for c in told(self.marks[label], self.marks[last].columns, traits)]
        return out


def told(mark, columns, traits):
    gone, come = [], []
    show = lambda r: image(r.values, columns)
    for op, before, after in mark.log:
        if op == "update" and "updates" in traits:
            yield "update_before", show(before), None
            yield "update_after", None, show(after)
            continue
        gone += [show(before)] if before else []
        come += [show(after)] if after else []
    apart = ("replaced files" if mark.whole else "equal rows") in traits
    both = collections.Counter() if apart else collections.Counter(map(freeze, gone)) & collections.Counter(map(freeze, come))
    yield from (("delete", r, None) for r in without(gone, both))
    yield from (("insert", None, r) for r in without(come, both))


def without(rows, counts):
    left = collections.Counter(counts)
    for r in rows:
        if left[freeze(r)]:
            left[freeze(r)] -= 1
        else:
            yield r
