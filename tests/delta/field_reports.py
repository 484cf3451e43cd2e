#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One test for each public report of a Delta change read gone wrong, named after what went wrong there.

The one idea: each test makes the situation of the report (its tracker and number stand in the docstring) and its
close relatives, and asks for the right answer. The rows themselves are checked against the table builder's truth.
"""
import collections
import copy
import datetime as dt
import decimal
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pyarrow as pa
import pyarrow.compute as pc
from delta.tables import (DV, FEED, ICT, TRACKED, WIDEN, append, delete, iso, row, rows, set_props, table, update)
from support import harness
from support.delta_schema import Array, Field, Map, Struct
from support.delta_writer import KEEP
from support.harness import changes, check, check_refused, rows_of, run


def ops(table):
    return collections.Counter(table.column("op").to_pylist())


def every_range(t, **options):
    for first in range(t.latest + 1):
        for last in (first, t.latest):
            check(t, first, last, **options)


def verify(t, first=0, last=None):
    return run("verify", t.root, "--from", first, "--to", t.latest if last is None else last)


# ---------------------------------------------------------------- files that are gone

def test_vacuumed_range_names_what_can_be_served(d):
    """delta-io/delta#1515, delta-rs#3392: files vacuumed, log kept; ignoring missing files loses rows silently."""
    t = table(d + "/t", FEED)
    for i in range(1, 5):
        append(t, i * 10, i * 10 + 1)
    delete(t, 10, 20, 30, 40)
    append(t, 99)
    t.vacuum()
    check_refused(changes(t.root, "--from", 3, "--to", 6), "version 3", "6")
    check_refused(changes(t.root, "--from", 5, "--to", 5), "version 5")
    check(t, 6, 6)


def test_one_missing_file_in_the_middle(d):
    """The kind behind the row above: the servable sub-range lies on both sides."""
    t = table(d + "/t")
    for i in range(1, 6):
        append(t, i)
    (path,) = [p for p, f in t.versions[3].files.items() if p not in t.versions[2].files]
    os.remove(os.path.join(t.root, path))
    check_refused(changes(t.root, "--from", 1, "--to", 5), "version 3", "4")
    check(t, 1, 2)
    check(t, 4, 5)


def test_missing_change_file_and_missing_vector(d):
    t = table(d + "/t", FEED, DV)
    append(t, 1, 2, 3)
    delete(t, 1, how="dv")
    t.style.bare_removes = True
    delete(t, 2, how="dv", cdc=False)
    append(t, 4)
    change = [n for n in os.listdir(t.root + "/_change_data")][0]
    os.remove(f"{t.root}/_change_data/{change}")
    check_refused(changes(t.root, "--from", 1, "--to", 4), "version 2")
    check(t, 3, 4)
    for n in os.listdir(t.root):
        if n.endswith(".bin"):
            os.remove(f"{t.root}/{n}")
    check_refused(changes(t.root, "--from", 3, "--to", 4), "version 3", "4")
    check(t, 4, 4)


# ---------------------------------------------------------------- schema evolution

def test_rename_drop_and_readd_with_change_feed(d):
    """delta-io/delta#1630: columns follow their id across a rename and a drop; a re-added name is a new column."""
    for mode in ("name", "id"):
        t = table(f"{d}/{mode}", FEED, mapping=mode)
        append(t, 1, 2)
        update(t, 1, name="x")
        with t.commit() as c:
            c.evolve(t.schema.renaming("name", "title"))
        with t.commit() as c:
            c.append([{"id": 3, "title": "t3", "qty": 1, "region": "a"}])
        with t.commit() as c:
            c.evolve(t.schema.dropping("qty"))
        with t.commit() as c:
            c.append([{"id": 4, "title": "t4", "region": "b"}])
        with t.commit() as c:
            c.evolve(t.schema.adding(Field("qty", "integer")))
        with t.commit() as c:
            c.append([{"id": 5, "title": "t5", "region": "b", "qty": 55}])
        update(t, 2, title="y", qty=7)
        every_range(t)
        got = rows_of(check(t, 1, 1))
        assert all(set(a) == {"id", "name", "qty", "region"} for _, _, a, _ in got), "a range before the rename keeps the old name"


def test_two_columns_swap_their_names(d):
    t = table(d + "/t", mapping="name")
    append(t, 1, 2)
    with t.commit() as c:
        c.evolve(t.schema.renaming("name", "tmp").renaming("region", "name").renaming("tmp", "region"))
    with t.commit() as c:
        c.append([{"id": 3, "region": "was name", "name": "was region", "qty": 1}])
    every_range(t)
    check(t, 0, t.latest, where=("cmp", "name", "=", "a"), columns=["region"])


def test_nested_fields_follow_their_ids(d):
    """The kind of #1630 inside structs, lists and maps."""
    deep = Struct(Field("id", "long"), Field("st", Struct(Field("a", "integer"), Field("b", Struct(Field("c", "string"))))),
                  Field("li", Array(Struct(Field("p", "integer"), Field("q", "string")))), Field("ma", Map("string", Struct(Field("u", "double")))))
    for mode in ("name", "id"):
        t = table(f"{d}/{mode}", schema=copy.deepcopy(deep), mapping=mode)
        with t.commit() as c:
            c.append([{"id": 1, "st": {"a": 1, "b": {"c": "x"}}, "li": [{"p": 1, "q": "q"}, None], "ma": {"k": {"u": 0.5}, "n": None}}, {"id": 2}])
        with t.commit() as c:
            c.evolve(t.schema.renaming("st.a", "aa").renaming("st.b.c", "cc").renaming("li.p", "pp").renaming("ma.u", "uu"))
        with t.commit() as c:
            c.append([{"id": 3, "st": {"aa": 3, "b": None}, "li": [], "ma": {}}])
        with t.commit() as c:
            c.evolve(t.schema.dropping("st.b").dropping("li.q"))
        with t.commit() as c:
            c.evolve(t.schema.adding(Field("q", "long"), inside="li").adding(Field("b", "string"), inside="st"))
        with t.commit() as c:
            c.modify(lambda r: dict(r, st={"aa": 9, "b": "new"}) if r["id"] == 1 else KEEP)
        every_range(t)


def test_mapping_switched_on_over_existing_files(d):
    t = table(d + "/t")
    append(t, 1, 2)
    with t.commit() as c:
        c.enable_mapping()
    with t.commit() as c:
        c.evolve(t.schema.renaming("name", "title"))
    with t.commit() as c:
        c.modify(lambda r: dict(r, title="z") if r["id"] == 1 else KEEP, [{"id": 3, "title": "t", "qty": 0, "region": "a"}])
    every_range(t)


def test_added_column_and_relaxed_not_null(d):
    """delta-kernel-rs#523, ClickHouse#85070: any schema difference in the range refused."""
    s = Struct(Field("id", "long"), Field("name", "string", nullable=False))
    t = table(d + "/t", FEED, schema=s)
    with t.commit() as c:
        c.append([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    new = copy.deepcopy(t.schema).adding(Field("more", "string"))
    new["name"].nullable = True
    with t.commit() as c:
        c.evolve(new)
    with t.commit() as c:
        c.append([{"id": 3, "name": None, "more": "m"}])
    with t.commit() as c:
        c.modify(lambda r: dict(r, more="set") if r["id"] == 1 else KEEP)
    every_range(t)


_WIDENINGS = [
    ("byte", "short", -128), ("byte", "integer", 127), ("byte", "long", 1), ("short", "integer", -32768), ("short", "long", 32767), ("integer", "long", -2**31),
    ("float", "double", 0.1 + 0.4), ("byte", "double", -5), ("short", "double", 300), ("integer", "double", 2**31 - 1), ("date", "timestamp_ntz", dt.date(1969, 7, 20)),
    ("decimal(5,2)", "decimal(7,2)", decimal.Decimal("123.45")), ("decimal(5,2)", "decimal(10,4)", decimal.Decimal("-0.01")), ("decimal(9,0)", "decimal(38,20)", decimal.Decimal(999999999)),
    ("decimal(18,4)", "decimal(30,10)", decimal.Decimal("-12345678901234.5678")),
    ("byte", "decimal(10,0)", 7), ("short", "decimal(12,2)", -7), ("integer", "decimal(15,5)", 2**31 - 1), ("long", "decimal(20,0)", 2**63 - 1), ("long", "decimal(25,5)", -2**63),
]


def test_every_allowed_widening(d):
    """delta-kernel-rs#2803, delta#7075: type widening inside the range refused. Each allowed pair, each kind of table."""
    for n, props in enumerate([(), (TRACKED,), (FEED,), (DV,)]):
        s = Struct(Field("id", "long"), *[Field(f"c{i}", a) for i, (a, _, _) in enumerate(_WIDENINGS)])
        t = table(f"{d}/{n}", WIDEN, *props, schema=s)
        full = {f"c{i}": v for i, (_, _, v) in enumerate(_WIDENINGS)}
        with t.commit() as c:
            c.append([dict(full, id=i) if i % 3 else {"id": i} for i in range(8)])
        with t.commit() as c:
            new = t.schema
            for i, (_, b, _) in enumerate(_WIDENINGS):
                new = new.widening(f"c{i}", b)
            c.evolve(new)
        update(t, 1, 3, how="dv" if DV in props else "cow", c1=1000)
        delete(t, 2, 6, how="dv" if DV in props else "cow")
        every_range(t)
        check(t, 1, t.latest, where=("cmp", "c2", "=", 1), columns=["c10", "id"])
        check(t, 1, t.latest, where=("cmp", "c10", "<", dt.datetime(1970, 1, 1)))


def test_widening_inside_nested_types(d):
    s = Struct(Field("id", "long"), Field("li", Array("integer")), Field("ma", Map("short", "float")), Field("st", Struct(Field("x", "byte"))))
    t = table(d + "/t", WIDEN, schema=s)
    with t.commit() as c:
        c.append([{"id": 1, "li": [1, None], "ma": {5: 0.5}, "st": {"x": 1}}, {"id": 2}])
    with t.commit() as c:
        c.evolve(t.schema.widening("li.element", "long").widening("ma.key", "integer").widening("ma.value", "double").widening("st.x", "long"))
    with t.commit() as c:
        c.append([{"id": 3, "li": [2**40], "ma": {100000: 1e300}, "st": {"x": 2**40}}])
    delete(t, 1)
    every_range(t)


def test_widened_twice(d):
    t = table(d + "/t", WIDEN, schema=Struct(Field("id", "long"), Field("v", "byte")))
    for kind, value in (("byte", 1), ("short", 300), ("integer", 70000), ("long", 2**40)):
        if kind != "byte":
            with t.commit() as c:
                c.evolve(t.schema.widening("v", kind))
        with t.commit() as c:
            c.append([{"id": value, "v": value}])
    delete(t, 1, 300)
    every_range(t)


# ---------------------------------------------------------------- deletion vectors

def test_vector_difference_both_ways(d):
    """delta-io/delta#1701 and many others: removed file = all deleted, added file = all inserted, once vectors are on."""
    for n, props in enumerate([(), (FEED,), (TRACKED,)]):
        for kind in ("u", "u-prefix", "i", "p"):
            t = table(f"{d}/{n}{kind}", DV, *props)
            t.style.dv_kind = kind
            append(t, *range(20))
            (path,) = t.versions[-1].files
            for positions in ([1, 2], [], [3], [3, 4, 19], [4, 5, 0], list(range(20)), [7]):
                with t.commit(operation="RESTORE", cdc=False) as c:
                    c.mask(path, positions)
            every_range(t)
            check(t, identity=["id"], net=True)


def test_large_vectors(d):
    """delta-io/delta#5662: a vector of 64 KB or more in one commit. Array, bitmap and run containers, in one table."""
    n = 240_000
    t = table(d + "/t", DV, schema=Struct(Field("id", "long")))
    t.style.row_group_size = 50_000
    with t.commit() as c:
        c.append([{"id": i} for i in range(n)])
    (path,) = t.versions[-1].files
    gone, come = [[]], [[]]
    for kind, hit in (("array", range(0, n, 7)), ("run", [i for i in range(n) if i % 9 < 3]), ("mixed", [i for i in range(n) if i % 5 < 2]), ("auto", [5, 1000, n - 1])):
        t.style.dv_container = kind
        before, after = t.versions[-1].files[path].dv, frozenset(hit)
        gone.append(sorted(after - before)), come.append(sorted(before - after))
        with t.commit() as c:
            c.mask(path, after)
    assert max(os.path.getsize(os.path.join(t.root, f)) for f in os.listdir(t.root) if f.endswith(".bin")) > 65536
    got = changes(t.root, "--from", 2, "--to", t.latest).table()
    for i in range(1, len(gone)):
        here = got.filter(pc.equal(got.column("snapshot"), i + 1))
        ids = lambda op, side: sorted(pc.struct_field(here.filter(pc.equal(here.column("op"), op)).column(side), "id").to_pylist())
        assert ids("delete", "before") == gone[i] and ids("insert", "after") == come[i], f"version {i + 1}: {ops(here)}"


def test_vector_belongs_to_version_and_file(d):
    """delta-io/delta#1899: delete, delete on one file, both versions in one range."""
    for props in ((DV,), (DV, FEED), (DV, TRACKED)):
        t = table(f"{d}/{len(props)}{id(props)}", *props)
        append(t, *range(10))
        delete(t, 1, 2, how="dv", cdc=False)
        delete(t, 3, how="dv", cdc=False)
        delete(t, 4, 5, how="dv", cdc=False)
        every_range(t)


def test_vectors_in_a_checkpoint_after_the_property_is_off(d):
    """trinodb/trino#30685: recorded vectors count whatever the property says now."""
    for style in ("classic", "multi"):
        t = table(f"{d}/{style}", DV)
        append(t, *range(10))
        delete(t, 1, 2, how="dv")
        t.checkpoint(style=style)
        set_props(t, enableDeletionVectors="false")
        delete(t, 3)
        with t.commit() as c:
            c.optimize()
        every_range(t)
        t.cut_log(3)
        check(t, 3, t.latest)


def test_vectors_on_a_partitioned_table(d):
    """trinodb/trino#21737: partition columns must not shift positions or projections."""
    s = Struct(Field("region", "string"), Field("id", "long"), Field("day", "date"), Field("name", "string"))
    t = table(d + "/t", DV, schema=s, partition_by=["region", "day"])
    with t.commit() as c:
        c.append([{"region": "ab"[i % 2], "id": i, "day": dt.date(2024, 1, 1 + i % 2), "name": f"n{i}"} for i in range(20)])
    delete(t, 3, 4, how="dv")
    update(t, 7, 8, how="dv", name="x")
    every_range(t)
    check(t, columns=["name", "region"])
    check(t, columns=["day"], where=("cmp", "region", "=", "a"))


def test_many_vectors_in_one_file(d):
    t = table(d + "/t", DV)
    append(t, *range(40), files=8)
    delete(t, *range(0, 40, 3), how="dv")
    delete(t, *range(0, 40, 4), how="dv")
    assert len([n for n in os.listdir(t.root) if n.endswith(".bin")]) == 2
    every_range(t)


def test_added_rows_beside_a_vector_update(d):
    """delta-kernel-rs#3068: adds and vector updates without cdc files: delete + insert, an update only by row ids."""
    t = table(d + "/feed", DV, FEED)
    append(t, *range(6))
    update(t, 1, 2, how="dv", name="x", commit=dict(cdc=False))
    assert ops(check(t, 2, 2)) == {"delete": 2, "insert": 2}
    assert ops(check(t, 2, 2, identity=["id"])) == {"update_before": 2, "update_after": 2}
    t = table(d + "/plain", DV)
    append(t, *range(6))
    update(t, 1, 2, how="dv", name="x")
    assert ops(check(t, 2, 2)) == {"delete": 2, "insert": 2}
    t = table(d + "/ids", DV, TRACKED)
    append(t, *range(6))
    update(t, 1, 2, how="dv", name="x")
    assert ops(check(t, 2, 2)) == {"update_before": 2, "update_after": 2}


# ---------------------------------------------------------------- what counts as a change

def test_no_op_updates(d):
    """delta-io/delta#1324, #1963: equal pairs as recorded, or dropped exactly (null = null, NaN = NaN)."""
    s = Struct(Field("id", "long"), Field("v", "double"), Field("l", Array("double")))
    for n, props in enumerate([(FEED,), (TRACKED,)]):
        t = table(f"{d}/{n}", *props, schema=s)
        values = [None, float("nan"), 1.0, -0.0, 2.0]
        with t.commit() as c:
            c.append([{"id": i, "v": v, "l": [v, None]} for i, v in enumerate(values)])
        with t.commit() as c:
            c.modify(lambda r: dict(r, v=3.0) if r["id"] == 4 else dict(r))
        assert ops(check(t, 2, 2)) == {"update_before": 5, "update_after": 5}
        assert ops(check(t, 2, 2, identity=["id"], drop_noop=True)) == {"update_before": 1, "update_after": 1}
        assert ops(check(t, 2, 2, identity=["id"], drop_noop=True, fold=True)) == {"update": 1}


def test_small_delete_then_optimize(d):
    """feldera#6154: rows rewritten by a delete or an OPTIMIZE came out again."""
    for n, props in enumerate([(), (FEED,), (TRACKED,), (DV,)]):
        t = table(f"{d}/{n}", *props)
        append(t, *range(50), files=3)
        delete(t, 7, how="dv" if DV in props else "cow")
        with t.commit() as c:
            c.optimize()
        with t.commit(preserved=False) as c:
            c.optimize()
        assert ops(check(t, 2, 4)) == {"delete": 1}
        assert ops(check(t, 3, 4)) == {}


def test_overwrite_and_whole_file_delete_without_change_files(d):
    """delta-rs#2579: no delete rows after an overwrite or a delete of whole files."""
    for n, props in enumerate([(FEED,), ()]):
        t = table(f"{d}/{n}", *props)
        append(t, 1, 2, 3, 4, files=2)
        with t.commit() as c:
            c.overwrite(rows(1, 9))
        append(t, 20, 21)
        delete(t, 20, 21, cdc=False)
        every_range(t)


def test_feed_switched_on_late_off_and_on_again(d):
    """delta-sharing#433, delta#1620: a whole range refused because the feed was off in a part of it."""
    t = table(d + "/t")
    append(t, *range(5))
    update(t, 1, name="before the feed")
    set_props(t, enableChangeDataFeed="true")
    update(t, 2, name="with the feed")
    set_props(t, enableChangeDataFeed="false")
    update(t, 3, name="without")
    delete(t, 0)
    set_props(t, enableChangeDataFeed="true")
    delete(t, 4)
    every_range(t)
    every_range(t, identity=["id"])
    assert ops(check(t, 4, 4)) == {"update_before": 1, "update_after": 1}


def test_a_lost_delete_is_found_by_verify(d):
    """delta-io/delta#1606: one delete of a batch missing from the feed."""
    t = table(d + "/t", FEED)
    append(t, *range(6))
    with t.commit() as c:
        c.modify(lambda r: None if r["id"] in (1, 2, 3) else KEEP)
        c.write_cdc([x for x in c.v.log if x[1].v[t.schema["id"].key] != 2])
    append(t, 10)
    assert ops(check(t, 2, 2)) == {"delete": 2}
    r = verify(t)
    assert r.code not in (0, harness.SANITIZER) and r.code > 0 and "2" in r.err + r.out.decode(), f"verify said {r.code}: {r.out.decode()} {r.err}"
    assert verify(t, 3).code == 0
    assert verify(t, 0, 1).code == 0


def test_duplicate_delete_rows_are_shown_and_found(d):
    """delta-io/delta#1274: a writer recorded one delete twice."""
    t = table(d + "/t", FEED)
    append(t, *range(4))
    with t.commit() as c:
        c.modify(lambda r: None if r["id"] == 1 else KEEP)
        c.write_cdc(c.v.log * 2)
    t.unique_ids = False
    assert ops(check(t, 2, 2)) == {"delete": 2}
    assert 0 < verify(t).code < harness.SANITIZER


def test_update_recorded_without_its_preimage(d):
    """trinodb/trino#23620: a writer recorded no preimages, or swapped delete and update_preimage."""
    t = table(d + "/t", FEED)
    append(t, *range(4))
    with t.commit() as c:
        c.modify(lambda r: dict(r, name="u") if r["id"] == 1 else KEEP)
        c.write_cdc([("update_after", None, a) for _, _, a in c.v.log])
    assert ops(check(t, 2, 2)) == {"update_after": 1}
    assert 0 < verify(t).code < harness.SANITIZER
    t = table(d + "/swapped", FEED)
    append(t, *range(4))
    with t.commit() as c:
        c.modify(lambda r: dict(r, name="u") if r["id"] == 1 else None if r["id"] == 2 else KEEP)
        up, down = sorted(c.v.log, key=lambda x: x[0] == "delete")
        c.write_cdc([("delete", up[1], None), ("update_after", None, up[2]), ("update_before", down[1], None)])
    got = check(t, 2, 2)
    assert ops(got) == {"delete": 1, "update_after": 1, "update_before": 1}
    got = check(t, 2, 2, identity=["id"], fold=True)
    assert sum(ops(got).values()) >= 2


def test_nested_values_with_partitions_and_merge(d):
    """delta-rs#2568, #2832, #2908: no rows, or errors, with structs, lists and non-primitive columns."""
    s = Struct(Field("id", "long"), Field("p", "string"), Field("tags", Array("string")), Field("st", Struct(Field("x", "integer"), Field("at", "timestamp"))),
               Field("items", Array(Struct(Field("k", "string"), Field("v", Array("long"))))), Field("ma", Map("string", Struct(Field("d", "decimal(9,2)")))))
    at = dt.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=dt.timezone.utc)
    make = lambda i, note="n": {"id": i, "p": "ab"[i % 2], "tags": [note, None], "st": None if i % 4 == 0 else {"x": i, "at": at}, "items": [{"k": note, "v": [i, None]}, None],
                                "ma": {"k": {"d": decimal.Decimal(i).scaleb(-2)}, "n": None}}
    for n, props in enumerate([(FEED,), (), (TRACKED,), (DV,)]):
        t = table(f"{d}/{n}", *props, schema=copy.deepcopy(s), partition_by=["p"])
        with t.commit() as c:
            c.append([make(i) for i in range(12)], files=2)
        with t.commit(operation="MERGE") as c:
            c.modify(lambda r: dict(r, **{k: v for k, v in make(r["id"], "u").items() if k != "p"}) if r["id"] % 3 == 0 else None if r["id"] % 5 == 0 else KEEP,
                     [make(100), {"id": 101, "p": None}], how="dv" if DV in props else "cow")
        every_range(t)
        check(t, identity=["id"], fold=True)
        check(t, columns=["items", "st"])
        check(t, where=("cmp", "st.x", ">", 3), identity=["id"])


def test_duplicate_identities(d):
    """apache/iceberg#7388 on Delta: two rows with id 1; nothing guessed, multiplicity kept."""
    for n, props in enumerate([(), (TRACKED,), (FEED,)]):
        t = table(f"{d}/{n}", *props)
        t.unique_ids = False
        with t.commit() as c:
            c.append([row(1), row(1), row(1, name="other"), row(2)])
        done = []
        with t.commit() as c:
            c.modify(lambda r: dict(r, name="u") if r["id"] == 1 and r["name"] == "n1" and not done and not done.append(1) else KEEP)
        with t.commit() as c:
            c.append([row(2)])
        delete(t, 2)
        every_range(t)
    t = table(d + "/t")
    t.unique_ids = False
    append(t, 1, 1, 2)
    update(t, 1, name="both")
    assert ops(check(t, 2, 2, identity=["id"])) == {"delete": 2, "insert": 2}, "which row became which is not guessed"


def test_update_that_moves_between_partitions(d):
    """opensearch data-prepper#6666: an update that changes the partition is one update, old row first."""
    for n, props in enumerate([(), (FEED,), (TRACKED,), (DV,), (DV, TRACKED)]):
        t = table(f"{d}/{n}", *props, partition_by=["region"])
        append(t, *range(8))
        update(t, 1, 3, how="dv" if DV in props else "cow", region="z")
        every_range(t)
        assert ops(check(t, 2, 2, identity=["id"])) == {"update_before": 2, "update_after": 2}
        assert ops(check(t, 2, 2, identity=["id"], fold=True)) == {"update": 2}


def test_last_state_of_a_key_changed_twice(d):
    """weevr#185, delta#131: applying a window fails when a key changed more than once."""
    t = table(d + "/t", FEED)
    append(t, 1, 2, 3)
    update(t, 1, name="first")
    update(t, 1, name="second")
    delete(t, 2)
    append(t, 2)
    delete(t, 3)
    for first in range(1, t.latest + 1):
        check(t, first, t.latest, identity=["id"], net=True)
        check(t, first, t.latest, identity=["id"], net=True, fold=True)
        check(t, first, t.latest, net=True)
    assert ops(check(t, 2, 5, identity=["id"], net=True, fold=True)) == {"update": 1}


# ---------------------------------------------------------------- paths

def test_names_that_need_escaping(d):
    """ClickHouse#103509, delta-rs#433, #1228 and others: the path in the log is decoded exactly once, the root never."""
    values = ["a b", "a%b", "a%20b", "a/b", "a:b", "A&B", "ü", "日本", "at@", "#1", "q?", "k=v", "+plus", "it's", "tab\t", "100%", None, ".", "..", "x" * 60, "{}", "[0]", "~", "\\back"]
    for n, name in enumerate(["plain", "with space", "per%20cent", "per%", "ünïcode", "hash#mark", "plus+and&", "q?mark", "at@sign", "semi;colon"]):
        s = Struct(Field("id", "long"), Field("p", "string"))
        t = table(f"{d}/{name}", schema=s, partition_by=["p"])
        t.style.odd_names, t.style.raw_unicode = True, n % 2 == 0
        here = values if n < 2 else values[:8]
        with t.commit() as c:
            c.append([{"id": i, "p": v} for i, v in enumerate(here)])
        delete(t, 1, 3)
        check(t)
        check(t, where=("cmp", "p", "=", "a%b"))
        check(t, where=("like", "p", "a%", False))
    here = os.getcwd()
    try:
        os.chdir(d + "/per%20cent")
        relative = rows_of(changes(".", "--from", 1, "--to", 2).table())
    finally:
        os.chdir(here)
    harness.same_rows(relative, rows_of(changes(d + "/per%20cent", "--from", 1, "--to", 2).table()))


def test_ways_to_spell_the_root(d):
    """The root is taken as it is written, with a scheme too: nothing in it is decoded."""
    root = d + "/dir with %20 and ü/t"
    os.makedirs(os.path.dirname(root))
    t = table(root, DV, partition_by=["region"])
    append(t, *range(6))
    delete(t, 1, how="dv")
    os.symlink(root, d + "/link")
    for spelled in (root, root + "/", root + "//", "file://" + root, "file://" + root + "/", d + "/./dir with %20 and ü/../dir with %20 and ü/t", d + "/link", d + "/link/"):
        check(t, root=spelled)
    here = os.getcwd()
    try:
        os.chdir(os.path.dirname(root))
        for spelled in ("t", "./t", "t/", "../dir with %20 and ü/t"):
            check(t, root=spelled)
    finally:
        os.chdir(here)


def test_odd_column_names(d):
    names = ["id", "a.b", "two words", 'quo"te', "back`tick", "ünï", "select", "UPPER", "{}", "_metadata", "_row_id", "ts", "snapshot", "after"]
    s = Struct(*[Field(n, "long") for n in names])
    for n, props in enumerate([(FEED,), (TRACKED, DV), ()]):
        t = table(f"{d}/{n}", *props, schema=copy.deepcopy(s), mapping="name")
        with t.commit() as c:
            c.append([{x: i * 100 + k for k, x in enumerate(names)} | {"id": i} for i in range(6)])
        update(t, 1, 2, how="dv" if DV in props else "cow", **{"a.b": 7, "ts": None})
        every_range(t)
        check(t, columns=["a.b", "two words", "after", "ts"])
        check(t, identity=["two words"], columns=["_metadata"])
        for spelled, name in (('"two words"', "two words"), ("`a.b`", "a.b"), ('"quo""te"', 'quo"te'), ("`back``tick`", "back`tick"), ("ünï", "ünï"), ('"select"', "select"), ("snapshot", "snapshot")):
            got = rows_of(changes(t.root, "--from", 1, "--to", 1, "--where", f"{spelled} > 300").table())
            assert sorted(r[2]["id"] for r in got) == [r["id"] for r in t.rows(1) if r[name] > 300], spelled


def test_partition_values_of_every_type(d):
    utc = dt.timezone.utc
    cases = {
        "integer": [0, -2**31, 2**31 - 1, None], "long": [2**63 - 1, -2**63, None], "short": [-32768, 1], "byte": [-128, 127, None], "string": ["a", "a b", "ü", None, "null", "__x"],
        "boolean": [True, False, None], "date": [dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), None], "double": [0.5, -1e300, float("nan"), float("inf"), None],
        "float": [1.5, None], "decimal(9,2)": [decimal.Decimal("-0.01"), decimal.Decimal("1234567.89"), None], "decimal(38,18)": [decimal.Decimal("12345678901234567890.123456789012345678")],
        "timestamp": [dt.datetime(2024, 3, 10, 2, 30, 0, 1, tzinfo=utc), dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=utc), dt.datetime(2024, 1, 1, tzinfo=utc), None],
        "timestamp_ntz": [dt.datetime(2024, 3, 10, 2, 30, 0, 123456), dt.datetime(2024, 1, 1), None], "binary": [b"abc", b"\x01\x02", None],
    }
    for kind, values in cases.items():
        for zone in ("Z", "") if kind == "timestamp" else ("Z",):
            t = table(f"{d}/{kind}{zone}", FEED, schema=Struct(Field("id", "long"), Field("p", kind), Field("v", "string")), partition_by=["p"])
            t.style.partition_zone, t.style.prefix_paths = zone, True
            with t.commit() as c:
                c.append([{"id": i, "p": v, "v": "x"} for i, v in enumerate(values)])
            update(t, 0, 1, v="y")
            every_range(t)
            check(t, where=("null", "p", False))
            if kind not in ("binary", "boolean", "double", "float"):
                check(t, where=("cmp", "p", ">=", values[0]), columns=["id"])


def test_empty_text_and_missing_partition_values_are_null(d):
    t = table(d + "/t", partition_by=["region", "qty"])
    with t.commit() as c:
        c.append([row(1, region=None, qty=None), row(2, region="r", qty=5)])
    path = t.log_path(1)
    lines = [json.loads(l) for l in open(path)]
    for a in lines:
        if "add" in a and a["add"]["partitionValues"]["region"] is None:
            a["add"]["partitionValues"] = {"region": "", "qty": ""}
    with open(path, "w") as out:
        out.writelines(json.dumps(a) + "\n" for a in lines)
    t.set_mtime(1, t.versions[1].ts_ms)
    check(t)


def test_shallow_clone(d):
    """Absolute paths: a clone's log names files of another table; its own changes come beside them."""
    src = table(d + "/src %20ü", DV, partition_by=["region"])
    append(src, *range(10))
    delete(src, 1, how="dv")
    t = src.shallow_clone(d + "/clone")
    t.unique_ids = True
    delete(t, 2, 3, how="dv")
    update(t, 4, 5, name="clone")
    append(t, 50)
    every_range(t)


# ---------------------------------------------------------------- time

def test_time_range_is_inclusive_at_both_ends(d):
    """delta-rs#3023, #3097, #3165: the end taken for the start, the last version refused, checkpointed tables failing."""
    t = table(d + "/t")
    for i in range(1, 7):
        append(t, i)
    t.checkpoint(3)
    at = [v.ts_ms for v in t.versions]
    for first, last, start, end in [(1, 3, at[1], at[3]), (2, 3, at[1] + 1, at[4] - 1), (4, 6, at[4], None), (6, 6, at[6], at[6]), (0, 6, at[0], at[6]), (1, 6, at[0] + 1, at[6] + 10**6)]:
        r = changes(t.root, "--from", iso(start), "--to", "latest" if end is None else iso(end))
        harness.same_rows(rows_of(r.table()), [tuple(c) for c in t.changes(first, last)])
    r = changes(t.root, "--from", 1, "--to", 6).table()
    assert r.num_rows == 6, "a range that ends at the last version"
    r = changes(t.root, "--from", iso(at[1] + 1), "--to", iso(at[2] - 1)).table()
    assert r.num_rows == 0 and r.schema.names == ["op", "before", "after", "snapshot", "ts"], "between two commits there is nothing"
    shifted = dt.datetime.fromtimestamp(at[2] / 1000, dt.timezone(dt.timedelta(hours=5, minutes=30))).isoformat(timespec="milliseconds")
    harness.same_rows(rows_of(changes(t.root, "--from", shifted, "--to", shifted).table()), [tuple(c) for c in t.changes(2, 2)])


def test_time_after_the_newest_commit(d):
    """delta-io/delta#6827: scheduled jobs on quiet tables failed; nothing new is an answer."""
    t = append(table(d + "/t"), 1)
    r = changes(t.root, "--from", iso(t.versions[-1].ts_ms + 1), "--to", "latest").table()
    assert r.num_rows == 0 and plain_names(r) == ["id", "name", "qty", "region"]


def plain_names(r):
    return [f.name for f in r.schema.field("after").type]


def test_nothing_new_after_the_cursor(d):
    t = append(table(d + "/t"), 1)
    r = changes(t.root, "--from", t.latest, "--from-exclusive", "--to", "latest").table()
    assert r.num_rows == 0 and plain_names(r) == ["id", "name", "qty", "region"]


def test_shuffled_file_times_are_made_monotonic(d):
    """delta-io/delta#192: copied logs have any modification times; commit times must still rise."""
    t = table(d + "/t")
    for i in range(1, 6):
        append(t, i)
    base = 1_700_000_000_000
    for v, ms in enumerate([base, base + 5000, base + 1000, base + 1000, base + 9000, base + 2000]):
        t.set_mtime(v, ms)
    want = [base, base + 5000, base + 5001, base + 5002, base + 9000, base + 9001]
    got = changes(t.root, "--from", 0, "--to", 5).table()
    times = dict(zip(got.column("snapshot").to_pylist(), got.column("ts").cast(pa.int64()).to_pylist()))
    assert times == {v: want[v] * 1000 for v in range(1, 6)}, times
    got = changes(t.root, "--from", iso(base + 5001), "--to", iso(base + 9000)).table()
    assert sorted(set(got.column("snapshot").to_pylist())) == [2, 3, 4]


def test_in_commit_timestamps_from_the_middle_on(d):
    """delta#3714, delta-kernel-rs#1641, delta-rs#4601: file time before version k, in-commit time from k on."""
    t = table(d + "/t")
    for i in range(1, 4):
        append(t, i)
    at = t.start_ms + 4 * 60_000
    t.props["delta.enableInCommitTimestamps"] = "true"
    with t.commit(operation="SET TBLPROPERTIES") as c:
        c.v.props = dict(t.props)
        c.set(inCommitTimestampEnablementVersion="4", inCommitTimestampEnablementTimestamp=str(at))
    for i in range(4, 8):
        append(t, i)
    for v in range(4, t.latest + 1):
        t.set_mtime(v, 1_900_000_000_000 - v * 1000)   # must not matter any more
    every_range(t)
    ts = [v.ts_ms for v in t.versions]
    for first, last in ((2, 6), (4, 4), (5, 5), (1, 3), (3, 5)):
        got = changes(t.root, "--from", iso(ts[first]), "--to", iso(ts[last])).table()
        harness.same_rows(rows_of(got), [tuple(c) for c in t.changes(first, last)])


def test_in_commit_timestamps_from_the_start(d):
    t = table(d + "/t", ICT)
    for i in range(1, 5):
        append(t, i)
    for v in range(t.latest + 1):
        t.set_mtime(v, 1_900_000_000_000 - v * 1000)
    every_range(t)


def test_one_instant_per_commit_in_any_time_zone(d):
    """delta-io/delta#2377: delete and insert rows of a commit had different times; the session zone shifted them."""
    t = table(d + "/t", FEED, start_ms=1_710_054_000_000)   # the hour New York springs forward
    append(t, *range(6))
    with t.commit() as c:
        c.overwrite(rows(1, 7))
    answers = set()
    for zone in ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"):
        r = changes(t.root, "--from", 0, "--to", t.latest, env={"TZ": zone})
        got = r.table()
        harness.check_times(got, t)
        answers.add(r.out)
        r = changes(t.root, "--from", iso(t.versions[2].ts_ms)[:-1], "--to", "latest", env={"TZ": zone})
        answers.add(len(rows_of(r.table()))) if r.code == 0 else answers.add(r.err)
    assert len(answers) == 2, f"the answer depends on the time zone: {[a for a in answers if not isinstance(a, bytes)]}"


# ---------------------------------------------------------------- start, resume, follow

def test_snapshot_then_follow_without_gap_or_overlap(d):
    """delta-io/delta#4391, delta-rs#4554: copy a snapshot, then exactly what came after it."""
    t = table(d + "/t")
    for i in range(1, 5):
        append(t, i)
    t.checkpoint(style="classic")
    delete(t, 2)
    update(t, 3, name="x")
    whole = rows_of(changes(t.root, "--from", "start", "--to", "latest").table())
    harness.same_rows(whole, [tuple(c) for c in t.changes(0, t.latest)])
    t.cut_log(4)
    check_refused(changes(t.root, "--from", 0, "--to", "latest"), "4")
    got = rows_of(changes(t.root, "--from", "start", "--bootstrap", "--to", "latest").table())
    snapshot = [("insert", None, r, 4) for r in t.rows(4)]
    harness.same_rows(got, snapshot + [tuple(c) for c in t.changes(5, t.latest)])
    harness.check_order(got)
    assert [c for c in got[:4]] and all(c[3] == 4 for c in got[:4])
    later = rows_of(changes(t.root, "--from", 4, "--from-exclusive", "--to", "latest").table())
    harness.same_rows(later, [tuple(c) for c in t.changes(5, t.latest)])


def test_bootstrap_at_the_tip_and_after_it(d):
    """A state at a time is that of the first commit from then on; after the newest there is only the newest."""
    t = table(d + "/t")
    for i in range(1, 4):
        append(t, i)
    time = lambda v: iso(t.versions[v].ts_ms)
    for start, at in (("latest", 3), (time(3), 3), (time(2), 2), ("2100-01-01T00:00:00Z", 3), ("3", 3), ("2", 2)):
        got = rows_of(changes(t.root, "--from", start, "--bootstrap").table())
        harness.same_rows(got, [("insert", None, r, at) for r in t.rows(at)] + [tuple(c) for c in t.changes(at + 1, t.latest)])


def test_bootstrap_over_vectors_and_partitions(d):
    for style in ("classic", "multi", "v2-json", "v2-parquet"):
        t = table(f"{d}/{style}", DV, TRACKED, partition_by=["region"])
        append(t, *range(12), files=2)
        delete(t, 1, 2, how="dv")
        if style.startswith("v2"):
            set_props(t, checkpointPolicy="v2")
        t.checkpoint(style=style, parts=3)
        k = t.latest
        update(t, 3, 4, how="dv", name="x")
        t.cut_log(k)
        got = rows_of(changes(t.root, "--from", "start", "--bootstrap", "--to", "latest").table())
        harness.same_rows(got, [("insert", None, r, k) for r in t.rows(k)] + [tuple(c) for c in t.changes(k + 1, t.latest)])


def test_commit_by_commit_equals_the_whole(d):
    """delta-io/delta#548, #568: after a crash the source recomputed its start; empty batches in between."""
    t = table(d + "/t", FEED, DV)
    append(t, *range(10))
    set_props(t, someOwn__note="x")
    update(t, 1, 2, how="dv", name="x")
    with t.commit() as c:
        c.optimize()
    delete(t, 5)
    whole = rows_of(changes(t.root, "--from", 0, "--to", "latest").table())
    parts, cursor = rows_of(changes(t.root, "--from", 0, "--to", 0).table()), 0
    while cursor < t.latest:
        parts += rows_of(changes(t.root, "--from", cursor, "--from-exclusive", "--to", cursor + 1).table())
        cursor += 1
    harness.same_rows(parts, whole)
    assert [p[3] for p in parts] == [w[3] for w in whole]


def test_a_long_log_with_many_files(d):
    """delta-io/delta#1699, #843: starting a follow loads every file with its statistics."""
    t = table(d + "/t")
    append(t, 1, 2)
    stats = json.dumps({"numRecords": 1000, "minValues": {"name": "a" * 32}, "maxValues": {"name": "z" * 32}, "nullCount": {"name": 0}})
    with t.commit() as c:
        for i in range(20_000):
            c.raw({"add": {"path": f"elsewhere/part-{i:08d}.parquet", "partitionValues": {}, "size": 10**8, "modificationTime": 1, "dataChange": True, "stats": stats}})
    t.checkpoint(style="multi", parts=4)
    delete(t, 1)
    append(t, 3)
    t.cut_log(3)
    check(t, 3, 4)


def test_options_that_make_no_sense_are_refused(d):
    """ClickHouse#115044 and others: an end without a start was ignored."""
    t = table(d + "/t")
    for i in range(1, 4):
        append(t, i)
    r = changes(t.root, "--to", 1)
    if r.code == 0:
        assert set(r.table().column("snapshot").to_pylist()) <= {0, 1}, "the end alone was ignored"
    else:
        check_refused(r)
    check_refused(changes(t.root, "--from", 3, "--to", 1))
    check_refused(changes(t.root, "--from", -1, "--to", 2))
    check_refused(changes(t.root, "--from", "yesterday", "--to", 2))
    check_refused(changes(t.root, "--from", 1, "--to", 9), "3")
    check_refused(changes(t.root, "--from", 9, "--to", "latest"), "3")
    check_refused(changes(t.root, "--from", "99999999999999999999", "--to", "latest"))
    check_refused(changes(t.root, "--from", 1, "--to", 2, "--columns", "nope"), "nope")
    check_refused(changes(t.root, "--from", 1, "--to", 2, "--identity", "nope"), "nope")
    check_refused(changes(t.root, "--from", 1, "--to", 2, "--where", "nope = 1"), "nope")
    check_refused(run("changes", t.root, "--from", 1, "--to", 2, "--format", "nope"), "nope")
    got = changes(t.root, "--from", 1, "--to", 2, "--columns", "id").table()
    assert got.schema.names == ["op", "before", "after", "snapshot", "ts"], "change rows always carry op, snapshot and ts"


def test_catalog_managed_table_is_refused(d):
    """delta-kernel-rs#2796: the newest commits are known to the catalog only."""
    t = table(d + "/t")
    append(t, 1)
    with t.commit() as c:
        c.protocol(minReaderVersion=3, readerFeatures=["catalogManaged", "vacuumProtocolCheck"])
    check_refused(changes(t.root, "--from", 1, "--to", "latest"), "catalog")


# ---------------------------------------------------------------- filters, change files

def test_filters_prune_files_by_partition(d):
    """delta-rs#4487, delta#3127: files of other partitions were read. Here they are garbage, and must not matter.

    With row ids they do matter: whether a row of this partition was deleted or moved to another one is told by the ids there.
    """
    for n, props in enumerate([(), (FEED,), (DV,)]):
        t = table(f"{d}/{n}", *props, partition_by=["region"])
        append(t, *range(10))
        update(t, 0, 1, 2, how="dv" if DV in props else "cow", name="x")
        delete(t, 3, 4, how="dv" if DV in props else "cow")
        for folder, _, names in os.walk(t.root):
            for name in names:
                if "region=b" in folder and name.endswith(".parquet"):
                    open(os.path.join(folder, name), "wb").write(b"not parquet")
        check(t, where=("cmp", "region", "=", "a"))
        check(t, where=("and", [("in", "region", ["a", "c"], False), ("cmp", "id", ">", 1)]), columns=["name"])


def test_a_row_that_moves_partitions_keeps_the_matching_side(d):
    for n, props in enumerate([(), (FEED,), (DV, TRACKED)]):
        t = table(f"{d}/{n}", *props, partition_by=["region"])
        append(t, *range(6))
        update(t, 0, 2, how="dv" if DV in props else "cow", region="b")
        got = check(t, 2, 2, where=("cmp", "region", "=", "a"), identity=["id"])
        assert ops(got) == {"update_before": 2}
        assert ops(check(t, 2, 2, where=("cmp", "region", "=", "b"), identity=["id"])) == {"update_after": 2}
        assert ops(check(t, 2, 2, where=("cmp", "region", "=", "b"), identity=["id"], fold=True)) == {"update_after": 2}


def test_stray_change_type_column_is_ignored(d):
    """polars#23520: main data files may hold a `_change_type` column."""
    for n, props in enumerate([(), (FEED,), (TRACKED,), (DV,)]):
        t = table(f"{d}/{n}", *props)
        t.style.stray_change_type = True
        append(t, *range(6))
        update(t, 1, how="dv" if DV in props else "cow", name="x")
        every_range(t)


def test_one_file_is_both_data_and_change_file(d):
    t = table(d + "/t", FEED)
    t.style.stray_change_type = True
    with t.commit() as c:
        c.append(rows(1, 2))
        add = c.actions[-1]["add"]
        c.raw({"cdc": {"path": add["path"], "partitionValues": {}, "size": add["size"], "dataChange": False}})
        c.v.cdc = [("delete", r, None) for _, _, r in c.v.log]   # the builder writes `delete` into the stray column
    check(t)


def test_unknown_actions_and_fields_are_ignored(d):
    t = table(d + "/t")
    with t.commit() as c:
        c.append(rows(1, 2))
        c.raw({"inTheFuture": {"add": {"path": "nowhere"}}})
        c.raw({"checkpointMetadata": None})
        c.actions[0]["add"]["newField"] = {"a": [1, {"b": None}]}
        c.actions[0]["add"]["tags"] = {"k": "v", "n": None}
        c.actions[0]["add"]["clusteringProvider"] = "liquid"
    with open(t.log_path(1), "a") as out:
        out.write("\n  \n")
    t.set_mtime(1, t.versions[1].ts_ms)
    check(t)


def test_void_column(d):
    t = table(d + "/t", schema=Struct(Field("id", "long"), Field("nothing", "void"), Field("st", Struct(Field("x", "integer"), Field("none", "void")))))
    with t.commit() as c:
        c.append([{"id": 1, "st": {"x": 1}}, {"id": 2}])
    delete(t, 1)
    every_range(t)


# ---------------------------------------------------------------- row tracking

def test_row_ids_that_were_lost(d):
    """A commit without the preserved tag: an update is delete + insert, and carried-over rows still say nothing."""
    for how in ("cow", "dv"):
        t = table(f"{d}/{how}", TRACKED, DV)
        append(t, *range(10))
        update(t, 1, 2, how=how, name="lost", commit=dict(preserved=False))
        update(t, 3, how=how, name="kept")
        every_range(t)
        assert ops(check(t, 2, 2)) == {"delete": 2, "insert": 2}
        assert ops(check(t, 3, 3)) == {"update_before": 1, "update_after": 1}


def test_new_rows_in_a_file_without_id_columns(d):
    """A commit that keeps row ids may put its new rows into a file of their own, which then needs no id column."""
    for how in ("cow", "dv"):
        t = table(f"{d}/{how}", TRACKED, DV, partition_by=["region"])
        t.style.id_columns_everywhere = False
        append(t, *range(6))
        with t.commit(operation="MERGE") as c:
            c.modify(lambda r: dict(r, name="x") if r["id"] == 1 else KEEP, [row(50, region="new")], how=how)
        assert ops(check(t, 2, 2)) == {"update_before": 1, "update_after": 1, "insert": 1}


def test_row_tracking_backfilled_later(d):
    t = table(d + "/t")
    append(t, *range(6), files=2)
    update(t, 1, name="before")
    with t.commit(operation="ADD FEATURE") as c:
        t.supported = True
        c.protocol()
    append(t, 10)
    with t.commit() as c:
        c.backfill()
    set_props(t, enableRowTracking="true")
    update(t, 2, 10, name="after")
    with t.commit() as c:
        c.optimize()
    update(t, 2, 3, name="again")
    every_range(t)
    assert ops(check(t, 7, 9)) == {"update_before": 4, "update_after": 4}


def test_same_path_comes_back(d):
    """RESTORE re-adds removed paths: rows return with the row versions they had."""
    for n, props in enumerate([(TRACKED,), (DV, TRACKED), (), (DV,), (FEED, DV)]):
        t = table(f"{d}/{n}", *props)
        how = "dv" if DV in props else "cow"
        append(t, *range(8), files=2)
        delete(t, 1, 2, how=how)
        update(t, 3, 4, how=how, name="x")
        for back in (1, 3, 2, 1):
            with t.commit(operation="RESTORE") as c:
                c.restore(back)
        every_range(t)


def test_identical_row_deleted_and_inserted_under_row_ids(d):
    t = table(d + "/t", TRACKED)
    append(t, *range(4))
    with t.commit() as c:
        c.modify(lambda r: None if r["id"] == 1 else KEEP, rows(1))
    t.unique_ids = False
    assert ops(check(t, 2, 2)) == {"delete": 1, "insert": 1}


if __name__ == "__main__":
    harness.main(__doc__)
