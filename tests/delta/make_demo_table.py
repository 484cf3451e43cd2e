#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the sample table examples/tables/orders: a small shop's orders, eight versions, every kind of change.

The one idea: what a reader of the first screen of the manual wants to see. Row tracking and deletion vectors are on,
so updates come as before → after without anyone naming a key. The table is written the same way every time (fixed
ids, times and file names), so that making it again changes nothing.
"""
import datetime as dt
import decimal
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from support import harness
from support.delta_schema import Field, Struct
from support.delta_writer import KEEP, Table

OUT = os.path.normpath(os.path.join(HERE, "..", "..", "examples", "tables", "orders"))
FIRST = dt.datetime(2026, 3, 2, 8, 0, tzinfo=dt.timezone.utc)
GOODS = {"espresso beans": "14.50", "filter papers": "4.20", "moka pot": "32.00", "grinder": "89.90", "oat milk": "2.10", "cup, hand made": "18.00"}


def order(number, customer, item, quantity, status="placed", minutes=0):
    return {"order_id": number, "customer": customer, "item": item, "quantity": quantity, "price": decimal.Decimal(GOODS[item]), "status": status,
            "placed_at": FIRST + dt.timedelta(minutes=minutes)}


def build(root):
    rng = random.Random(2026)
    harness.fix_names(rng)
    schema = Struct(Field("order_id", "long"), Field("customer", "string"), Field("item", "string"), Field("quantity", "integer"),
                    Field("price", "decimal(8,2)"), Field("status", "string"), Field("placed_at", "timestamp"))
    # In-commit times: a checkout sets its own file times, and the commit times shown must not depend on them.
    props = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true", "delta.enableInCommitTimestamps": "true"}
    t = Table(root, schema, props=props, rng=rng, start_ms=int(FIRST.timestamp() * 1000))
    people = ["Ada", "Grace", "Edsger", "Barbara", "Zoë", "Linus", "Margaret", "Donald", "Tim", "Frances", "Alan", "Radia"]
    with t.commit() as c:
        c.append([order(1001 + i, who, list(GOODS)[i % 6], 1 + i % 3, minutes=7 * i) for i, who in enumerate(people)], files=2)
    with t.commit(operation="UPDATE") as c:
        c.modify(lambda r: dict(r, status="shipped") if r["order_id"] in (1001, 1002, 1004, 1007) else KEEP, how="dv")
    with t.commit() as c:
        c.append([order(1013 + i, who, item, n, minutes=95 + 3 * i) for i, (who, item, n) in enumerate([("Ada", "grinder", 1), ("Zoë", "oat milk", 6), ("Ken", "moka pot", 1), ("Dennis", "filter papers", 4)])])
    with t.commit(operation="DELETE") as c:
        c.modify(lambda r: None if r["order_id"] in (1005, 1014) else KEEP, how="dv")
    with t.commit(operation="MERGE") as c:
        def apply(r):
            if r["order_id"] == 1003:
                return dict(r, quantity=5, price=decimal.Decimal("30.00"))
            if r["order_id"] == 1009:
                return None
            return dict(r, status="delivered") if r["order_id"] in (1001, 1002) else KEEP
        c.modify(apply, [order(1017, "Hedy", "espresso beans", 2, minutes=180), order(1018, "Katherine", "cup, hand made", 1, minutes=184)], how="dv")
    with t.commit(operation="OPTIMIZE") as c:
        c.optimize()
    with t.commit(operation="UPDATE") as c:
        c.modify(lambda r: dict(r, status="shipped") if r["status"] == "placed" and r["customer"] in ("Margaret", "Alan", "Hedy", "Ken") else KEEP, how="dv")
    return t


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else OUT
    shutil.rmtree(out, ignore_errors=True)
    t = build(out)
    size = sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(out) for n in names)
    print(f"{out}: {t.latest + 1} versions, {len(t.rows())} rows, {size // 1024} KB")


if __name__ == "__main__":
    main()
