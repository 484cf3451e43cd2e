# SPDX-License-Identifier: Apache-2.0
"""The small table that the named Delta tests start from, and the words they describe situations with."""
import datetime as dt
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.delta_schema import Field, Struct
from support.delta_writer import KEEP, Table

DV = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}
WIDEN = {"delta.enableTypeWidening": "true"}
ICT = {"delta.enableInCommitTimestamps": "true"}


def schema():
    return Struct(Field("id", "long"), Field("name", "string"), Field("qty", "integer"), Field("region", "string"))


def row(i, **more):
    return dict({"id": i, "name": f"n{i}", "qty": i * 10, "region": "ab"[i % 2]}, **more)


def rows(*ids):
    return [row(i) for i in ids]


def table(root, *props, **options):
    """A table of `schema()` with these property sets; version 0 creates it, empty."""
    t = Table(root, options.pop("schema", None) or schema(), props={k: v for p in props for k, v in p.items()}, **options)
    t.unique_ids = True
    return t


def append(t, *ids, files=1, **commit):
    with t.commit(**commit) as c:
        c.append(rows(*ids), files)
    return t


def delete(t, *ids, how="cow", **commit):
    with t.commit(operation="DELETE", **commit) as c:
        c.modify(lambda r: None if r["id"] in ids else KEEP, how=how)


def update(t, *ids, how="cow", commit={}, **values):
    with t.commit(operation="UPDATE", **commit) as c:
        c.modify(lambda r: dict(r, **values) if r["id"] in ids else KEEP, how=how)


def set_props(t, **props):
    with t.commit(operation="SET TBLPROPERTIES") as c:
        c.set(**props)


def iso(ms):
    return dt.datetime.fromtimestamp(ms / 1000, dt.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
