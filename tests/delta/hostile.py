#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged and malicious Delta tables: the reader never crashes and never lies.

The one idea: whatever is broken, there are two right outcomes. Either an error (exit status, one line, nothing on
stdout), or exactly the right rows, because the damage lay where nobody needs to look. Named cases know which of the
two it must be; the seeded loop at the end flips bits and cuts files everywhere and accepts either.
"""
import json
import os
import random
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pyarrow as pa
import pyarrow.parquet as pq
from delta.tables import DV, FEED, TRACKED, append, delete, set_props, table, update
from support import deletion_vector as dvs
from support import harness
from support.delta_schema import Field, Struct
from support.expected import signed
from support.harness import changes, check, check_refused, rows_of, run

SEED = int(os.environ.get("LAKECDC_HOSTILE_SEED", "20260802"))
MUTATIONS = int(os.environ.get("LAKECDC_HOSTILE_COUNT", "300"))


def lines_of(t, version):
    return open(t.log_path(version), encoding="utf-8").read().splitlines()


def rewrite(t, version, lines):
    with open(t.log_path(version), "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


def edit(t, version, kind, change):
    """Changes the actions of one kind in one commit, in place."""
    out = []
    for line in lines_of(t, version):
        a = json.loads(line)
        if kind in a:
            change(a[kind])
        out.append(json.dumps(a))
    rewrite(t, version, out)


def refused(t, *mentions, first=0, last=None):
    return check_refused(changes(t.root, "--from", first, "--to", t.latest if last is None else last), *mentions)


def refused_or_right(t, first=0, last=None):
    last = t.latest if last is None else last
    r = changes(t.root, "--from", first, "--to", last)
    check_refused(r) if r.code else harness.same_rows(rows_of(r.table()), [tuple(c) for c in t.changes(first, last)])


def small(d, *props):
    t = table(d + "/t", *props)
    append(t, *range(6))
    delete(t, 1, how="dv" if DV in props else "cow")
    append(t, 9)
    return t


# ---------------------------------------------------------------- no table, or not the one meant

def test_no_table(d):
    check_refused(changes(d + "/nowhere", "--from", 0, "--to", 1), "nowhere")
    os.makedirs(d + "/empty")
    check_refused(changes(d + "/empty", "--from", 0, "--to", 1), "empty")
    os.makedirs(d + "/log/_delta_log")
    check_refused(changes(d + "/log", "--from", 0, "--to", 1))
    open(d + "/file", "w").write("x")
    check_refused(changes(d + "/file", "--from", 0, "--to", 1))
    for command in ("probe", "plan", "verify"):
        check_refused(run(command, d + "/nowhere", *(["--from", 0, "--to", 1] if command != "probe" else [])))


def test_log_of_garbage(d):
    for n, text in enumerate(["", "\n\n", "garbage", "{", "[]", "null", '{"add":', '{"add":[]}', '{"add":"x"}', "{}{}", '{"commitInfo":{}}', "\0" * 100, "\xff\xfe", '"' * 5000]):
        os.makedirs(f"{d}/{n}/_delta_log")
        with open(f"{d}/{n}/_delta_log/{0:020d}.json", "w", encoding="latin-1") as out:
            out.write(text)
        check_refused(changes(f"{d}/{n}", "--from", 0, "--to", 0))


def test_files_in_the_log_that_do_not_belong(d):
    t = small(d)
    for name in ("notes.txt", "00000000000000000001.json.tmp", ".00000000000000000002.json.crc", "00000000000000000007.checkpoint.parquet.tmp",
                 "1.json", "0000000000000000000x.json", "_commits", "00000000000000000002.checkpoint.0000000001.0000000003.parquet", "00000000000000000009.00000000000000000002.compacted.json"):
        open(f"{t.root}/_delta_log/{name}", "w").write("garbage")
    check(t)


def test_version_gap(d):
    t = small(d)
    os.remove(t.log_path(2))
    refused(t, "2")
    refused(t, "2", first=1, last=3)
    check(t, 0, 1)


def test_commit_missing_at_the_start(d):
    t = small(d)
    os.remove(t.log_path(0))
    refused(t, first=1)


# ---------------------------------------------------------------- the gate

def test_unknown_reader_feature(d):
    for at in (1, 3):
        t = table(f"{d}/{at}")
        append(t, 1)
        with t.commit() as c:
            c.protocol(minReaderVersion=3, readerFeatures=["timeTravelPrevention"])
        append(t, 2)
        refused(t, "timeTravelPrevention", first=at)
    refused(t, "timeTravelPrevention", first=0)
    check(t, 0, 1)


def test_reader_versions(d):
    for n, p in enumerate([{"minReaderVersion": 4}, {"minReaderVersion": 2**31 - 1}, {"minReaderVersion": 2**40}, {"minReaderVersion": -1}, {"minReaderVersion": "3"}, {"minReaderVersion": None},
                           {"minReaderVersion": 3, "readerFeatures": "x"}, {"minReaderVersion": 3, "readerFeatures": [7]}]):
        t = table(f"{d}/{n}")
        append(t, 1)
        with t.commit() as c:
            c.protocol(**p)
        refused(t)


def test_no_protocol_or_no_metadata(d):
    for kind in ("protocol", "metaData"):
        t = table(f"{d}/{kind}")
        append(t, 1)
        rewrite(t, 0, [l for l in lines_of(t, 0) if kind not in json.loads(l)])
        refused(t, kind.lower() if kind == "protocol" else "metadata")


def test_two_of_what_must_be_one(d):
    for kind in ("protocol", "metaData"):
        t = small(d + "/" + kind)
        rewrite(t, 0, lines_of(t, 0) + [l for l in lines_of(t, 0) if kind in json.loads(l)])
        refused_or_right(t, 1)


def test_same_path_added_twice(d):
    t = table(d + "/t")
    append(t, 1, 2)
    ls = lines_of(t, 1)
    rewrite(t, 1, ls + [l for l in ls if "add" in json.loads(l)])
    refused(t)


def test_unknown_kinds_of_the_known(d):
    def conf(**kv):
        return lambda m: m["configuration"].update({k.replace("__", "."): v for k, v in kv.items()})
    cases = [conf(delta__columnMapping__mode="colour"), lambda m: m.update(format={"provider": "orc", "options": {}}),
             lambda m: m.update(schemaString="{"), lambda m: m.update(schemaString=None), lambda m: m.update(schemaString="[]"), lambda m: m.update(schemaString='"long"'),
             lambda m: m.update(schemaString=json.dumps({"type": "struct", "fields": [{"name": "id", "type": "geometry", "nullable": True, "metadata": {}}]})),
             lambda m: m.update(schemaString=json.dumps({"type": "struct", "fields": [{"name": "id", "type": "decimal(99,2)", "nullable": True, "metadata": {}}]})),
             lambda m: m.update(schemaString=json.dumps({"type": "struct", "fields": [{"name": "id", "type": "decimal(5,9)", "nullable": True, "metadata": {}}]})),
             lambda m: m.update(schemaString=json.dumps({"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}] * 2})),
             lambda m: m.update(schemaString=json.dumps({"type": "struct", "fields": [{"type": "long"}]})),
             lambda m: m.update(schemaString=json.dumps({"type": "struct", "fields": {"a": 1}})),
             lambda m: m.update(schemaString=json.dumps({"type": "struct"})),
             lambda m: m.update(partitionColumns="region"), lambda m: m.update(configuration=[1])]
    for n, change in enumerate(cases):
        t = table(f"{d}/{n}")
        append(t, 1)
        edit(t, 0, "metaData", change)
        refused(t)


def test_partition_column_that_is_not_in_the_schema(d):
    t = table(d + "/t")
    append(t, 1)
    edit(t, 0, "metaData", lambda m: m.update(partitionColumns=["nope"]))
    refused_or_right(t)


def test_unknown_type_change(d):
    t = table(d + "/t", schema=Struct(Field("id", "long"), Field("v", "string")))
    with t.commit() as c:
        c.append([{"id": 1, "v": "1"}])
    with t.commit() as c:
        new = t.schema.widening("v", "integer")
        c.evolve(new)
    refused(t)


def test_absurd_schemas(d):
    deep = "long"
    for _ in range(5000):
        deep = {"type": "array", "elementType": deep, "containsNull": True}
    wide = {"type": "struct", "fields": [{"name": f"c{i}", "type": "long", "nullable": True, "metadata": {}} for i in range(200_000)]}
    nested = '{"type":"struct","fields":[{"name":"a","nullable":true,"metadata":{},"type":' * 3000 + '"long"' + "}]}" * 3000
    sys.setrecursionlimit(40_000)
    for n, text in enumerate([json.dumps({"type": "struct", "fields": [{"name": "id", "type": deep, "nullable": True, "metadata": {}}]}), nested, "[" * 100_000]):
        t = table(f"{d}/{n}")
        append(t, 1)
        edit(t, 0, "metaData", lambda m: m.update(schemaString=text))
        refused(t)
    t = table(f"{d}/wide")
    edit(t, 0, "metaData", lambda m: m.update(schemaString=json.dumps(wide)))
    r = changes(t.root, "--from", 0, "--to", 0)
    check_refused(r) if r.code else r.table()


def test_deeply_nested_log_line(d):
    for n, bomb in enumerate(["[" * 200_000, '{"a":' * 200_000, '{"add":{"tags":' + '{"a":' * 50_000 + "1" + "}" * 50_002]):
        t = small(f"{d}/{n}")
        rewrite(t, 2, lines_of(t, 2) + [bomb])
        refused(t, "2")


# ---------------------------------------------------------------- actions

def test_paths_that_lead_away(d):
    t = table(d + "/t")
    append(t, 1)
    secret = d + "/secret.parquet"
    pq.write_table(pa.table({"id": [666]}), secret)
    for path in ("../missing.parquet", "%2e%2e/missing.parquet", "part\0x.parquet", "", "%", "%zz.parquet", "%00", "a" * 100_000, "ftp://host/x.parquet", "file://other/x.parquet", "nope.parquet", "..", ".", "/"):
        edit(t, 1, "add", lambda a: a.update(path=path))
        refused(t, "version 1" if path == "nope.parquet" else "")


def test_numbers_that_cannot_be(d):
    cases = [("size", -1), ("size", 2**63 - 1), ("size", 10**30), ("size", "big"), ("size", 1.5), ("modificationTime", 10**30)]
    for n, (key, value) in enumerate(cases):
        t = table(f"{d}/{n}")
        append(t, 1, 2)
        edit(t, 1, "add", lambda a: a.update({key: value}))
        refused_or_right(t)


def test_wrong_row_counts_in_statistics(d):
    """numRecords that disagree with the footer: found, or at least harmless."""
    for props in ((), (DV,), (TRACKED,), (DV, TRACKED)):
        for value in (0, 5, 7, -3, 10**18, "6", None):
            t = table(f"{d}/{len(props)}{id(props)}{value}", *props)
            append(t, *range(6))
            update(t, 1, how="dv" if DV in props else "cow", name="x")
            def change(a):
                s = json.loads(a["stats"])
                s["numRecords"] = value
                a["stats"] = json.dumps(s)
            edit(t, 1, "add", change)
            refused_or_right(t)


def test_statistics_that_are_not(d):
    for n, value in enumerate(["", "{", "null", "[]", '{"numRecords":{}}', '{"minValues":[1],"maxValues":7}', '{"minValues":{"id":"x"},"maxValues":{"id":{}}}', '{"nullCount":{"id":-1}}', "[" * 50_000, 7]):
        t = table(f"{d}/{n}")
        append(t, 1, 2, 3)
        edit(t, 1, "add", lambda a: a.update(stats=value))
        r = changes(t.root, "--from", 0, "--to", 1, "--where", "id > 1")
        if r.code:
            check_refused(r)
        else:
            assert sorted(c[2]["id"] for c in rows_of(r.table())) == [2, 3]


def test_row_tracking_lies(d):
    for n, change in enumerate([lambda a: a.update(baseRowId=-5), lambda a: a.update(baseRowId=2**63 - 1), lambda a: a.pop("baseRowId", None), lambda a: a.update(baseRowId="0"),
                                lambda a: a.update(defaultRowCommitVersion=10**12), lambda a: a.update(defaultRowCommitVersion=-1), lambda a: a.pop("defaultRowCommitVersion", None)]):
        t = table(f"{d}/{n}", TRACKED)
        append(t, *range(6))
        update(t, 1, name="x")
        edit(t, 1, "add", change)
        r = changes(t.root, "--from", 0, "--to", 2)
        if r.code:
            check_refused(r)
        else:
            assert signed(rows_of(r.table())) == signed(t.changes(0, 2)), f"case {n}: wrong rows"


def test_partition_values_that_do_not_parse(d):
    for n, (kind, value) in enumerate([("integer", "x"), ("integer", "99999999999"), ("date", "2024-13-45"), ("date", "yesterday"), ("boolean", "maybe"), ("decimal(5,2)", "1e99"), ("decimal(5,2)", "12345678"),
                                       ("timestamp", "noon"), ("long", "1.5"), ("double", "1,5"), ("byte", "300"), ("integer", 7)]):
        t = table(f"{d}/{n}", schema=Struct(Field("id", "long"), Field("p", kind)), partition_by=["p"])
        with t.commit() as c:
            c.append([{"id": 1, "p": None}])
        edit(t, 1, "add", lambda a: a["partitionValues"].update(p=value))
        r = changes(t.root, "--from", 0, "--to", 1)
        if value == 7 and r.code == 0:
            continue
        check_refused(r)


def test_partition_value_missing(d):
    t = table(d + "/t", partition_by=["region"])
    append(t, 2)
    edit(t, 1, "add", lambda a: a.update(partitionValues={}))
    r = changes(t.root, "--from", 0, "--to", 1)
    if r.code:
        check_refused(r)
    else:
        assert [c[2]["region"] for c in rows_of(r.table())] == [None]


def test_remove_of_a_file_that_was_never_added(d):
    t = small(d)
    rewrite(t, 3, lines_of(t, 3) + [json.dumps({"remove": {"path": "ghost.parquet", "dataChange": True, "deletionTimestamp": 1}})])
    refused(t, "ghost.parquet", first=1)


# ---------------------------------------------------------------- deletion vectors

def vector_table(d, kind="u"):
    t = table(d + "/t", DV)
    t.style.dv_kind = kind
    append(t, *range(100))
    delete(t, *range(0, 100, 3), how="dv")
    append(t, 200)
    return t


def change_vector(t, change):
    edit(t, 2, "add", lambda a: change(a["deletionVector"]) if "deletionVector" in a else None)


def test_vector_descriptors_that_lie(d):
    """The change itself hangs on the vector, so every lie must be found."""
    cases = [lambda v: v.update(cardinality=33), lambda v: v.update(cardinality=0), lambda v: v.update(cardinality=-1), lambda v: v.update(cardinality=2**62), lambda v: v.pop("cardinality"),
             lambda v: v.update(sizeInBytes=10), lambda v: v.update(sizeInBytes=0), lambda v: v.update(sizeInBytes=-4), lambda v: v.update(sizeInBytes=2**31 - 1), lambda v: v.update(sizeInBytes=10**12), lambda v: v.pop("sizeInBytes"),
             lambda v: v.update(offset=0), lambda v: v.update(offset=7), lambda v: v.update(offset=-1), lambda v: v.update(offset=2**31 - 1), lambda v: v.update(offset=10**15),
             lambda v: v.update(storageType="x"), lambda v: v.update(storageType=""), lambda v: v.pop("storageType"), lambda v: v.update(storageType="i"), lambda v: v.update(storageType="p"),
             lambda v: v.update(pathOrInlineDv=""), lambda v: v.update(pathOrInlineDv="short"), lambda v: v.update(pathOrInlineDv="~" * 20), lambda v: v.update(pathOrInlineDv="ü" * 20), lambda v: v.update(pathOrInlineDv="0" * 20), lambda v: v.pop("pathOrInlineDv")]
    for n, change in enumerate(cases):
        t = vector_table(f"{d}/{n}")
        change_vector(t, change)
        try:
            refused(t, first=2, last=2)
        except AssertionError as e:
            raise AssertionError(f"case {n}: {e}") from None


def test_inline_vectors_that_lie(d):
    for n, change in enumerate([lambda v: v.update(pathOrInlineDv=v["pathOrInlineDv"][:-5]), lambda v: v.update(pathOrInlineDv=v["pathOrInlineDv"][:-3]), lambda v: v.update(pathOrInlineDv="~~~~~" + v["pathOrInlineDv"][5:]),
                                lambda v: v.update(sizeInBytes=v["sizeInBytes"] + 50), lambda v: v.update(sizeInBytes=v["sizeInBytes"] - 4), lambda v: v.update(pathOrInlineDv="#####" + v["pathOrInlineDv"][5:])]):
        t = vector_table(f"{d}/{n}", "i")
        change_vector(t, change)
        refused(t, first=2, last=2)


def test_vector_of_the_older_native_kind(d):
    """The example of the format text has the older magic 1681511376: understood, or refused by name."""
    t = vector_table(d, "i")
    change_vector(t, lambda v: v.update(pathOrInlineDv="wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", sizeInBytes=40, cardinality=6))
    r = changes(t.root, "--from", 2, "--to", 2)
    if r.code:
        check_refused(r)
    else:
        assert sorted(c[1]["id"] for c in rows_of(r.table())) == [3, 4, 7, 11, 18, 29]


def broken_payloads():
    good = dvs.payload(range(0, 100, 3))
    u32, u64 = (lambda v: struct.pack("<I", v)), (lambda v: struct.pack("<Q", v))
    magic = u32(dvs.MAGIC)
    one = dvs.roaring32(range(0, 100, 3))
    return {
        "another magic": u32(0xDEADBEEF) + good[4:],
        "no buckets": magic + u64(0),
        "more buckets than bytes": magic + u64(2**60) + good[12:],
        "two buckets promised": magic + u64(2) + good[12:],
        "bucket key with its top bit": magic + u64(1) + u32(0x80000000) + one,
        "bucket keys out of order": magic + u64(2) + u32(1) + one + u32(0) + one,
        "bucket key twice": magic + u64(2) + u32(0) + one + u32(0) + one,
        "another cookie": magic + u64(1) + u32(0) + u32(12345) + one[4:],
        "containers past the end": magic + u64(1) + u32(0) + u32(12346) + u32(65536) + one[8:],
        "more containers than can be": magic + u64(1) + u32(0) + u32(12346) + u32(2**31) + one[8:],
        "array out of order": magic + u64(1) + u32(0) + u32(12346) + u32(1) + struct.pack("<HHI", 0, 33, 16) + struct.pack("<34H", *range(99, -1, -3)),
        "array with a value twice": magic + u64(1) + u32(0) + u32(12346) + u32(1) + struct.pack("<HHI", 0, 33, 16) + struct.pack("<34H", *([3, 3] + list(range(6, 100, 3)) + [99])[:34]),
        "offsets that point elsewhere": magic + u64(1) + u32(0) + u32(12346) + u32(1) + struct.pack("<HHI", 0, 33, 2**31) + struct.pack("<34H", *range(0, 100, 3)),
        "bytes after the end": good + b"\0" * 8,
        "cut": good[:-7],
        "empty": b"",
        "magic alone": magic,
        "position beyond the file": dvs.payload(list(range(0, 99, 3)) + [100]),
        "position beyond 2^32": dvs.payload(list(range(0, 99, 3)) + [2**40]),
        "runs that overlap": magic + u64(1) + u32(0) + u32(12347) + b"\x01" + struct.pack("<HH", 0, 33) + struct.pack("<H", 2) + struct.pack("<HHHH", 0, 20, 10, 12),
        "run past the container": magic + u64(1) + u32(0) + u32(12347) + b"\x01" + struct.pack("<HH", 0, 33) + struct.pack("<H", 1) + struct.pack("<HH", 65530, 33),
    }


def test_vector_payloads_that_lie(d):
    """Well framed, right size and checksum, wrong inside."""
    for name, data in broken_payloads().items():
        t = vector_table(f"{d}/{name}")
        file = dvs.VectorFile()
        offset = file.add(data)
        open(os.path.join(t.root, file.name), "wb").write(file.body)
        change_vector(t, lambda v: v.update(pathOrInlineDv=file.text(), offset=offset, sizeInBytes=len(data)))
        try:
            refused(t, first=2, last=2)
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}") from None


def test_vector_files_that_lie(d):
    """Bad file version, size field and checksum."""
    def damage(t, change):
        (name,) = [n for n in os.listdir(t.root) if n.endswith(".bin")]
        data = bytearray(open(os.path.join(t.root, name), "rb").read())
        changed = change(data)
        data = data if changed is None else changed
        open(os.path.join(t.root, name), "wb").write(data)
    def put(at, value):
        return lambda b: b.__setitem__(at, value)
    for n, change in enumerate([put(0, 2), put(0, 0), put(4, 0), put(1, 255), put(-1, 0xAA), put(20, 0xFF), lambda b: b[:-1], lambda b: b[:-4], lambda b: b[:1], lambda b: b"", lambda b: b[:10]]):
        t = vector_table(f"{d}/{n}")
        damage(t, change)
        try:
            refused(t, first=2, last=2)
            check(t, 3, 3)
        except AssertionError as e:
            raise AssertionError(f"case {n}: {e}") from None


# ---------------------------------------------------------------- Parquet files

def data_file(t, version):
    return [os.path.join(t.root, p) for p in t.versions[version].files if p not in t.versions[version - 1].files][0]


def test_parquet_files_that_are_not(d):
    for n, change in enumerate([lambda b: b"", lambda b: b[:4], lambda b: b[:-4], lambda b: b[:-8] + b"\xff\xff\xff\x7fPAR1", lambda b: b"PAR1" + b"\0" * 100 + b"PAR1", lambda b: b[:100] + b[-100:], lambda b: b"x" * 1000,
                                lambda b: b[:-4] + b"PARE", lambda b: b[: len(b) // 2]]):
        t = table(f"{d}/{n}")
        append(t, *range(50))
        append(t, 100)
        path = data_file(t, 1)
        data = open(path, "rb").read()
        open(path, "wb").write(change(data))
        refused(t, os.path.basename(path), first=1)
        check(t, 2, 2)


def test_parquet_of_another_shape(d):
    """The file is sound but is not what the log says: other types, other row count, no known column."""
    others = {
        "text for numbers": (pa.table({"id": ["a", "b"], "name": ["x", "y"], "qty": [1, 2], "region": ["a", "b"]}), True),
        "struct for a number": (pa.table({"id": [{"x": 1}, {"x": 2}], "name": ["x", "y"]}), True),
        "list for a number": (pa.table({"id": [[1], [2]], "name": ["x", "y"]}), True),
        "time for a number": (pa.table({"id": pa.array([1, 2], pa.timestamp("us")), "name": ["x", "y"]}), True),
        "wider than the schema": (pa.table({"id": [1, 2], "qty": pa.array([2**40, 1], pa.int64())}), True),
        "column twice": (pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["id", "id"]), True),
        "one row more": (pa.table({"id": [1, 2, 3]}), True),
        "one row less": (pa.table({"id": [1]}), True),
        "unsigned": (pa.table({"id": pa.array([2**64 - 1, 1], pa.uint64())}), True),
    }
    for name, (other, must_refuse) in others.items():
        t = table(f"{d}/{name}")
        append(t, 1, 2)
        path = data_file(t, 1)
        pq.write_table(other, path)
        edit(t, 1, "add", lambda a: a.update(size=os.path.getsize(path)))
        try:
            refused(t, first=1)
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}") from None


# ---------------------------------------------------------------- checkpoints

def test_checkpoints_that_are_not(d):
    """A checkpoint that is damaged is not needed while the commits before it are there; without them it is."""
    for n, change in enumerate([lambda b: b"", lambda b: b[:-10], lambda b: b"garbage" * 50, lambda b: b[: len(b) // 2]]):
        for cut in (False, True):
            t = table(f"{d}/{n}{cut}")
            append(t, *range(6))
            append(t, 10)
            t.checkpoint()
            delete(t, 1)
            path = t.log_path(2, ".checkpoint.parquet")
            data = open(path, "rb").read()
            open(path, "wb").write(change(data))
            if cut:
                t.cut_log(3)
                refused(t, first=3)
            else:
                refused_or_right(t)


def test_incomplete_and_missing_checkpoint_parts(d):
    t = table(d + "/t")
    append(t, *range(6), files=3)
    t.checkpoint(style="multi", parts=3)
    delete(t, 1)
    os.remove(t.log_path(1, ".checkpoint.0000000002.0000000003.parquet"))
    check(t)
    t.cut_log(2)
    refused(t, first=2)
    t = table(d + "/v2")
    append(t, *range(6), files=3)
    set_props(t, checkpointPolicy="v2")
    t.checkpoint(style="v2-json")
    delete(t, 1)
    t.cut_log(3)
    check(t, 3, 3)
    folder = t.root + "/_delta_log/_sidecars"
    os.remove(os.path.join(folder, os.listdir(folder)[0]))
    refused_or_right(t, first=3)    # a commit that says everything about the files it removes needs no state
    check_refused(changes(t.root, "--from", "start", "--bootstrap", "--to", "latest"))


def test_last_checkpoint_hint_lies(d):
    for n, text in enumerate(["", "{", '{"version":99,"size":3}', '{"version":-1}', '{"version":"x"}', '{"version":1,"parts":7}', "[1]", '{"version":10000000000000000000000}', '{"version":0}']):
        t = table(f"{d}/{n}")
        append(t, *range(6))
        t.checkpoint()
        delete(t, 1)
        open(t.root + "/_delta_log/_last_checkpoint", "w").write(text)
        check(t)
        t.cut_log(2)
        check(t, 2, 2)


# ---------------------------------------------------------------- requests

def test_filters_that_do_not_parse(d):
    t = small(d)
    for where in ("", "id", "id =", "= 1", "id = = 1", "id = 'x", "(id = 1", "id = 1)", "id = 1 AND", "id LIKE 5", "id = 'abc'", "name = 5 +", "id IN ()", "id BETWEEN 1", "nope = 1", "id.x = 1", "name.x IS NULL",
                  "id = 1; DROP TABLE t", "qty = 99999999999999999999999999", "(" * 10_000 + "id = 1" + ")" * 10_000, "NOT " * 10_000 + "id = 1", "id = 1 OR " * 8_000 + "id = 2", "\x01", "id = \xff", "region = DATE 'x'", "id = NULL NULL"):
        r = changes(t.root, "--from", 0, "--to", 3, "--where", where)
        if r.code == 0 and where in ("id LIKE 5", "qty = 99999999999999999999999999") or r.code == 0 and " OR " in where or r.code == 0 and where.startswith(("NOT", "((")):
            continue    # meaning can be given to these
        check_refused(r)


# ---------------------------------------------------------------- everything else: bits and cuts

def victim(d, n):
    """A table that uses a bit of everything; a mutation hits one of its files."""
    rng = random.Random(n)
    props = [p for p in (DV, FEED, TRACKED) if rng.random() < 0.5]
    t = table(f"{d}/victim{n}", *props, partition_by=["region"] if rng.random() < 0.4 else [])
    t.style.checksum, t.style.compression = True, rng.choice(["snappy", "none", "zstd", "gzip"])
    t.style.dv_kind, t.style.row_group_size = rng.choice(["u", "i"]), rng.choice([None, 5])
    append(t, *range(30), files=2)
    update(t, 3, 4, how="dv" if DV in props else "cow", name="x")
    t.checkpoint(style=rng.choice(["classic", "multi"]))
    delete(t, 5, 6, 7, how="dv" if DV in props else "cow")
    append(t, 40)
    if rng.random() < 0.5:
        t.cut_log(3)
        return t, 3
    return t, 0


def mutate(rng, data):
    data = bytearray(data)
    kind = rng.random()
    if kind < 0.5 and data:
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind < 0.7:
        del data[rng.randrange(len(data) + 1):]
    elif kind < 0.8 and data:
        at = rng.randrange(len(data))
        del data[at:at + rng.randint(1, 40)]
    elif kind < 0.9:
        at = rng.randrange(len(data) + 1)
        data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 16)))
    elif len(data) > 8:
        at = rng.randrange(len(data) - 4)
        data[at:at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\x80"])
    return bytes(data)


def all_files(root):
    return sorted(os.path.join(f, n) for f, _, names in os.walk(root) for n in names)


def mutations_of(t, first, rng, count, wanted):
    """Applies `count` mutations, one at a time; gives (problem, description) for each that had a third outcome."""
    right = [tuple(c) for c in t.changes(first, t.latest)]
    files = [f for f in all_files(t.root) if wanted(os.path.relpath(f, t.root))]
    for _ in range(count if files else 0):
        path = rng.choice(files)
        stat, original = os.stat(path), open(path, "rb").read()
        data = mutate(rng, original)
        open(path, "wb").write(data)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        r = changes(t.root, "--from", first, "--to", t.latest)
        try:
            if r.code == 0:
                harness.same_rows(rows_of(r.table()), right, loose=True)   # without its id column a file gives delete + insert
            else:
                check_refused(r)
        except Exception as e:
            kept = f"{t.root}.case{rng.randrange(10**6)}"
            shutil.copytree(t.root, kept)
            yield f"{os.path.relpath(path, t.root)}: {e}\n      kept as {kept}"
        open(path, "wb").write(original)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def mutated(d, wanted, share):
    rng = random.Random(f"{SEED}{share}")
    problems, tables = [], 8
    for n in range(tables):
        t, first = victim(d, n)
        problems += list(mutations_of(t, first, rng, max(1, int(MUTATIONS * share) // tables), wanted))
    assert not problems, f"{len(problems)} mutations neither refused nor right (seed {SEED})\n    " + "\n    ".join(problems[:4])


def test_mutated_parquet_files(d):
    mutated(d, lambda f: f.endswith(".parquet") and "_delta_log" not in f, 0.4)


def test_mutated_vectors(d):
    mutated(d, lambda f: f.endswith(".bin"), 0.2)


def test_mutated_checkpoints(d):
    mutated(d, lambda f: "checkpoint" in f, 0.2)


def test_cut_log_lines(d):
    """A log line cut short, or with a broken JSON token, is an error. (A flipped letter inside a value can make another
    sound line, which nothing can tell; so only structure is damaged here.)"""
    rng, n = random.Random(SEED), 0
    while n < MUTATIONS // 5:
        t, first = victim(d, 100 + n)
        for version in range(max(first, 1), t.latest + 1):
            lines = lines_of(t, version)
            i = rng.randrange(len(lines))
            line = lines[i]
            at = rng.randrange(1, len(line))
            lines[i] = rng.choice([line[:at], line[:at], line + rng.choice("}],\""), line[1:], line.replace(":", ";", 1), line.replace('"', "'", 2), line.replace("{", "[", 1), line + line])
            before = lines_of(t, version)
            rewrite(t, version, lines)
            refused(t, first=first)
            rewrite(t, version, before)
            t.set_mtime(version, t.versions[version].ts_ms)
            n += 1


def test_flipped_bits_in_the_log_never_crash(d):
    """Here a wrong value may go unseen, so only crashes, hangs and half answers count."""
    rng = random.Random(SEED + 1)
    for n in range(5):
        t, first = victim(d, 200 + n)
        for _ in range(max(1, MUTATIONS // 25)):
            path = t.log_path(rng.randint(first, t.latest))
            original = open(path, "rb").read()
            open(path, "wb").write(mutate(rng, original))
            r = changes(t.root, "--from", first, "--to", t.latest)
            if r.code:
                check_refused(r)
            else:
                r.table()
            open(path, "wb").write(original)


if __name__ == "__main__":
    harness.fix_names(random.Random(SEED))   # which file a loop damages hangs on the order of the names
    harness.main(__doc__)
