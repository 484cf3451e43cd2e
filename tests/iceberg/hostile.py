#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile Iceberg tables: a clear error or exactly the right rows, never a crash and never a lie.

The one idea: `honest` accepts two outcomes only: exit status above zero with one line on stderr and nothing on stdout,
or the rows the undamaged table gives. Directed tests forge what an attacker or a broken writer would; the mutation
loop (seeded, --mutations) flips, cuts and repeats bytes of every kind of file.
"""
import copy, io, json, os, random, re, shutil, struct, sys, zlib

import fastavro

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.expected import expected
from support.harness import SANITIZER, changes, check_refused, main, run, same_rows
from support.iceberg_harness import Range, Truth, rows_of
from support.iceberg_types import list_of, struct_of
from support.iceberg_writer import Table

NOWHERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "x", "AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true"}   # no store answers here
COLUMNS = [("id", "long"), ("name", "string"), ("s", struct_of(("x", "int"), ("l", list_of("string"))))]


def ids(*wanted):
    return lambda row: row["id"] in wanted


def table(folder, version=2, **options):
    t = Table(f"{folder}/t", COLUMNS, [("name", "identity")], version=version, **{"codec": "null", **options})
    t.append([(i, "ab"[i % 2], {"x": i, "l": ["p", None]}) for i in range(12)])
    if version > 1:
        t.delete_mor(ids(1, 2))
        t.upsert([(3, "b", None), (20, "a", None)], ["id"])
    t.update_cow(ids(4), lambda r: r | {"s": {"x": 44, "l": []}})
    t.save()
    return t


def honest(t, root=None, first=None):
    """One error line, or the right rows. Returns whether it was an error."""
    r = changes(root or t.root, *Range(first, t.current).words(), timeout=60)
    assert r.code >= 0, f"died by signal {-r.code}: {r.err[:500]}\n    {r.command}"
    if r.code:
        check_refused(r)
        return True
    try:
        result = r.table()
    except Exception as e:
        raise AssertionError(f"output is not an Arrow stream: {e}\n    {r.command}")
    same_rows(rows_of(result), expected(Truth(t), Range(first, t.current)))
    return False


def refused(t, *mentions, root=None):
    return check_refused(changes(root or t.root, *Range(None, t.current).words(), timeout=60), *mentions)


def edit(path, change):
    with open(path, "rb") as h:
        data = bytearray(h.read())
    new = change(data)
    with open(path, "wb") as h:
        h.write(data if new is None else new)


def metadata_path(t):
    return f"{t.root}/metadata/v{t.metadata_number}.metadata.json"


def edit_metadata(t, change):
    m = t.metadata()
    new = change(m)
    with open(metadata_path(t), "w") as h:
        json.dump(m if new is None else new, h)


def rewrite_avro(local, change_rows=None, change_schema=None, header=None):
    """The same Avro file with changed records, schema or header."""
    with open(local, "rb") as h:
        r = fastavro.reader(h)
        rows, schema, meta = list(r), r.writer_schema, {k: v for k, v in r.metadata.items() if not k.startswith("avro.")}
    schema = copy.deepcopy(schema)
    if change_schema:
        schema = change_schema(schema) or schema
    if change_rows:
        rows = change_rows(rows) or rows
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec="null", metadata={**meta, **(header or {})})
    edit(local, lambda _: out.getvalue())


def local(t, path):
    return path.replace(t.location, t.root)


def varint(n):
    n = (n << 1) ^ (n >> 63)
    out = b""
    while True:
        out += bytes([n & 0x7F | (0x80 if n > 0x7F else 0)])
        n >>= 7
        if not n:
            return out


def container(schema, body, count=1, codec=b"null", size=None, sync=b"S" * 16, end=None):
    """An Avro container with a block of our choosing; the schema as JSON or as bytes."""
    schema = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    meta = varint(2) + b"".join(varint(len(k)) + k + varint(len(v)) + v for k, v in ((b"avro.schema", schema), (b"avro.codec", codec))) + b"\0"
    return b"Obj\x01" + meta + sync + varint(count) + varint(len(body) if size is None else size) + body + (sync if end is None else end)


# ---- metadata.json


def test_metadata_that_is_no_table(folder):
    t = table(folder)
    for text in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"format-version": 2}', b'{"format-version": "2"}', b"[" * 100_000, b'{"a":' * 50_000, b'{"format-version": 1e400}', b"\x1f\x8b\x08" + b"\0" * 20):
        edit(metadata_path(t), lambda _: text)
        refused(t)


def test_format_version_four_and_others(folder):
    t = table(folder)
    for version in (4, 5, 2**31, 2**63, 0, -1, None, "3", 2.5):
        edit_metadata(t, lambda m: m.update({"format-version": version}))
        line = refused(t)
        if version in (4, 5):
            assert str(version) in line and "version" in line, line


def test_metadata_fields_of_other_shapes(folder):
    """Every field of the metadata in turn: gone, null, another type, absurd; each is an error or makes no difference."""
    t = table(folder, 3)
    good = t.metadata()

    def places(value, path=()):
        yield path
        for k, v in (value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()):
            yield from places(v, path + (k,))
    refusals = 0
    for path in [p for p in places(good) if p and p[0] not in ("snapshot-log", "metadata-log", "sort-orders", "statistics", "partition-statistics")]:
        for value in ("gone", None, -1, "x", [], {}, 2**62):
            m = copy.deepcopy(good)
            inner = m
            for step in path[:-1]:
                inner = inner[step]
            if value == "gone" and isinstance(inner, dict):
                del inner[path[-1]]
            elif value != "gone":
                inner[path[-1]] = value
            with open(metadata_path(t), "w") as h:
                json.dump(m, h)
            r = changes(t.root, timeout=60)
            try:
                assert r.code >= 0, f"died by signal {-r.code}: {r.err[:300]}"
                if r.code:
                    check_refused(r)
                    refusals += 1
                else:
                    r.table()
            except Exception as e:
                raise AssertionError(f"{path} = {value!r}: {e}")
    assert refusals > 50, refusals


def test_cycles_in_the_parent_chain(folder):
    t = table(folder)
    s = t.snapshots
    for child, parent in ((s[0], s[-1]), (s[0], s[0]), (s[1], s[2])):
        def change(m):
            for x in m["snapshots"]:
                if x["snapshot-id"] == child.id:
                    x["parent-snapshot-id"] = parent.id
        edit_metadata(t, change)
        refused(t)


def test_schemas_deep_wide_and_contradictory(folder):
    t = table(folder)
    deep = "".join(f'{{"type":"list","element-id":{100 + i},"element-required":false,"element":' for i in range(5000)) + '"int"' + "}" * 5000
    def deeper(m):
        m["schemas"][0]["fields"][1]["type"] = "DEEP"
    edit_metadata(t, deeper)
    edit(metadata_path(t), lambda text: bytes(text).replace(b'"DEEP"', deep.encode()))
    refused(t)
    wide = {"type": "struct", "fields": [{"id": 100 + i, "name": f"c{i}", "required": False, "type": "int"} for i in range(200_000)]}
    for type in (wide, "integer", "decimal(0,0)", "decimal(99,2)", "decimal(9,-1)", "fixed[0]", "fixed[-1]", "fixed[99999999999]", "list", {"type": "list"}, {"type": "map", "key": "int"}, 7, None, {"type": "variant"}, "geometry"):
        def change(m):
            for x in m["schemas"]:
                x["fields"][1]["type"] = type
        edit_metadata(t, change)
        refused(t)
    def twice(m):
        for x in m["schemas"]:
            x["fields"][1]["id"] = x["fields"][0]["id"]
    edit_metadata(t, twice)
    refused(t)
    edit_metadata(t, lambda m: m.update({"current-schema-id": 77}) or [x.update({"schema-id": 77}) for x in m["snapshots"]] and None)
    refused(t, "77")


def test_paths_that_lead_elsewhere(folder):
    """A manifest list or manifest named by a foreign path, a folder, a device or nothing at all."""
    t = table(folder)
    for path in ("/etc/passwd", "/dev/zero", "/", "", "\0", "../../../../etc/passwd", t.root, "file://", "s3://nobody/x.avro", "ftp://x/y", "http://127.0.0.1:1/x.avro", "x" * 5000):
        def change(m):
            for x in m["snapshots"]:
                x["manifest-list"] = path
        edit_metadata(t, change)
        check_refused(changes(t.root, env=NOWHERE, timeout=60))


def test_every_command_says_what_is_wrong(folder):
    t = table(folder)
    def check(*mentions):
        for command in ("changes", "plan", "verify"):
            check_refused(run(command, t.root, *Range(None, t.current).words()), *mentions)
    data = t.snapshots[0].data[0].local
    os.rename(data, data + ".away")
    for command in ("changes", "verify"):
        check_refused(run(command, t.root, *Range(None, t.current).words()), os.path.basename(data))
    os.rename(data + ".away", data)
    manifest = local(t, t.current.manifests[0].path)
    os.rename(manifest, manifest + ".away")
    check(os.path.basename(manifest))
    os.rename(manifest + ".away", manifest)
    os.rename(t.current.list_local, t.current.list_local + ".away")
    check(os.path.basename(t.current.list_local))
    edit_metadata(t, lambda m: m.update({"format-version": 4}))
    check("version")
    r = run("probe", t.root)                     # prints the verdict beside the error
    assert 0 < r.code < SANITIZER and "version" in r.err, f"{r.code}: {r.err[:600]}"
    shutil.rmtree(t.root + "/metadata")
    check(t.root)
    check_refused(run("probe", t.root), t.root)


# ---- Avro: manifest lists and manifests


def test_avro_counts_and_sizes(folder):
    schema = {"type": "record", "name": "manifest_file", "fields": [{"name": "manifest_path", "type": "string", "field-id": 500}, {"name": "manifest_length", "type": "long", "field-id": 501}, {"name": "partition_spec_id", "type": "int", "field-id": 502},
              {"name": "content", "type": "int", "field-id": 517}, {"name": "sequence_number", "type": "long", "field-id": 515}, {"name": "min_sequence_number", "type": "long", "field-id": 516}, {"name": "added_snapshot_id", "type": "long", "field-id": 503},
              {"name": "extra", "type": {"type": "array", "items": "null"}, "field-id": 9000}]}
    row = varint(3) + b"abc" + varint(1) + varint(0) + varint(0) + varint(1) + varint(1) + varint(1)
    big = 2**62
    for name, data in {
        "negative block count": container(schema, row + b"\0", count=-1), "huge block count": container(schema, row + b"\0", count=big), "negative block size": container(schema, row, size=-1), "huge block size": container(schema, row, size=big),
        "huge string": container(schema, varint(big) + b"abc"), "negative string": container(schema, varint(-5) + b"abc"), "endless array of nulls": container(schema, row + varint(big) + b"\0"), "array count of the least number": container(schema, row + varint(-2**63) + varint(1) + b"\0"),
        "negative array size": container(schema, row + varint(-3) + varint(-1) + b"\0"), "varint without end": container(schema, b"\xff" * 40), "other sync marker": container(schema, row + b"\0", end=b"T" * 16), "no magic": b"Obk" + container(schema, row)[3:],
        "unknown codec": container(schema, row, codec=b"lzma"), "deflate garbage": container(schema, b"\xff" * 50, codec=b"deflate"), "snappy bomb": container(schema, b"\xff\xff\xff\xff\x0f" + b"\0" * 20, codec=b"snappy"), "zstd garbage": container(schema, b"\x28\xb5\x2f\xfd" + b"\xff" * 20, codec=b"zstandard"),
        "deflate bomb": container(schema, zlib.compress(b"\0" * (1 << 28), 9)[2:-4], count=1 << 27, codec=b"deflate"), "empty": b"", "header only": container(schema, b"")[:60], "schema is text": container("string", varint(3) + b"abc"), "schema recursive": container({"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"], "field-id": 500}]}, b"\x02" * 10_000),
        "schema of one union": container(["null", "long"], b"\x02\x02"), "schema missing the path": container({"type": "record", "name": "m", "fields": [{"name": "x", "type": "long", "field-id": 1}]}, b"\x02"), "deep schema": container(b'{"type":"array","items":' * 3000 + b'"int"' + b"}" * 3000, b"\0"),
        "union index out of range": container({"type": "record", "name": "m", "fields": [{"name": "p", "type": ["null", "string"], "field-id": 500}]}, varint(7)), "fixed of a huge size": container({"type": "record", "name": "m", "fields": [{"name": "p", "type": {"type": "fixed", "name": "f", "size": 2**40}, "field-id": 500}]}, b"x"),
        "negative fixed": container({"type": "record", "name": "m", "fields": [{"name": "p", "type": {"type": "fixed", "name": "f", "size": -4}, "field-id": 500}]}, b"x"), "header map of a huge count": b"Obj\x01" + varint(big) + b"\x02a\x02b",
    }.items():
        for which in ("list", "manifest"):
            t = table(f"{folder}/{re.sub('[^a-z]', '', name)}{which}")
            edit(t.current.list_local if which == "list" else local(t, t.current.manifests[0].path), lambda _: data)
            try:
                refused(t)
            except AssertionError as e:
                raise AssertionError(f"{name} in the {which}: {e}")


def test_entries_that_break_the_rules(folder):
    def data_file(**new):
        return lambda rows: [r["data_file"].update(new) for r in rows] and rows

    def entry(**new):
        return lambda rows: [r.update(new) for r in rows] and rows
    data, deletes = 0, 1
    cases = {
        "unknown content": (data, data_file(content=3)), "negative content": (data, data_file(content=-1)), "a delete in a data manifest": (data, data_file(content=1)), "data in a delete manifest": (deletes, data_file(content=0)), "unknown delete content": (deletes, data_file(content=7)),
        "status 3": (data, entry(status=3)), "status -1": (data, entry(status=-1)), "format nobody knows": (data, data_file(file_format="LANCE")), "file that is not there": (data, data_file(file_path="/nowhere/x.parquet")), "empty path": (data, data_file(file_path="")),
        "path outside": (data, data_file(file_path="/etc/passwd")), "path to a folder": (data, data_file(file_path=folder)), "path with a zero": (data, data_file(file_path="a\0b")), "too many rows": (data, data_file(record_count=10**6)), "no rows": (data, data_file(record_count=0)), "negative rows": (data, data_file(record_count=-1)),
        "rows without end": (data, data_file(record_count=2**63 - 1)), "equality ids of no column": (deletes, data_file(equality_ids=[999], content=2)), "equality without ids": (deletes, data_file(equality_ids=None, content=2)), "negative equality id": (deletes, data_file(equality_ids=[-1], content=2)),
        "vector without offset": (deletes, data_file(file_format="PUFFIN", content=1)), "negative offset": (deletes, data_file(file_format="PUFFIN", content_offset=-1, content_size_in_bytes=10)),
        "existing without numbers": (data, entry(status=0, sequence_number=None)), "negative sequence": (data, entry(sequence_number=-5)),
    }
    for name, (content, change) in cases.items():
        for version in (2, 3):
            t = table(f"{folder}/{re.sub('[^a-z0-9]', '', name)}{version}", version)
            manifests = [m for m in t.snapshots[1].manifests if m.content == content and m.snapshot_id == (t.snapshots[0 if content == data else 1]).id]
            rewrite_avro(local(t, manifests[0].path), change)
            try:
                if name in ("equality ids of no column", "equality without ids", "negative equality id", "vector without offset", "negative offset", "a delete in a data manifest", "data in a delete manifest", "existing without numbers", "negative sequence", "no rows"):
                    honest(t)                                   # may be harmless when the writer's version ignores the field
                else:
                    refused(t)
            except AssertionError as e:
                raise AssertionError(f"{name}, v{version}: {e}")


def test_list_entries_that_break_the_rules(folder):
    for name, new in {"no such file": {"manifest_path": "/nowhere/m.avro"}, "unknown spec": {"partition_spec_id": 99}, "negative spec": {"partition_spec_id": -1}, "unknown content": {"content": 2}, "shorter": {"manifest_length": 10}, "longer": {"manifest_length": 10**9}, "negative length": {"manifest_length": -1},
                      "swapped content": "swap", "itself": "itself", "twice": "twice"}.items():
        t = table(f"{folder}/{re.sub('[^a-z]', '', name)}")
        def change(rows):
            if new == "swap":
                return [r | {"content": 1 - r["content"]} for r in rows]
            if new == "itself":
                return [r | {"manifest_path": t.current.list_path} for r in rows]
            if new == "twice":
                return rows + rows
            return [r | new for r in rows]
        rewrite_avro(t.current.list_local, change)
        try:
            if name in ("shorter", "longer", "negative length"):
                honest(t)
            else:
                refused(t)
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}")


def test_lineage_that_overflows(folder):
    for where in ("entry", "list", "snapshot", "column"):
        t = table(f"{folder}/{where}", 3)
        m = next(m for m in t.current.manifests if m.content == 0)
        if where == "entry":
            rewrite_avro(local(t, m.path), lambda rows: [r["data_file"].update(first_row_id=2**63 - 2) for r in rows] and rows)
        elif where == "list":
            rewrite_avro(t.current.list_local, lambda rows: [r | {"first_row_id": 2**63 - 2 if r["first_row_id"] is not None else None} for r in rows])
        elif where == "snapshot":
            edit_metadata(t, lambda m: [x.update({"first-row-id": -5}) for x in m["snapshots"]] and None)
        else:
            t.commit("append", t.files([(70, "a", None), (71, "a", None)], row_ids=[-9, 2**63 - 1], updated=[-1, 2**63 - 1]))
            t.save()
        honest(t)


# ---- deletes


def broken_vector(t, change_blob=None, **fields):
    """A v3 table whose vector is damaged; `change_blob` gets and gives the bytes of the blob."""
    d = next(d for d in t.current.deletes if d.kind == "dv")
    if change_blob:
        with open(d.local, "rb") as h:
            raw = h.read()
        blob = change_blob(bytearray(raw[d.offset:d.offset + d.length]))
        new = raw[:d.offset] + bytes(blob) + raw[d.offset + d.length:]
        edit(d.local, lambda _: new)


def test_vectors_that_lie(folder):
    def crc(blob):
        return blob[:-4] + struct.pack(">I", zlib.crc32(bytes(blob[4:-4])))

    def set_at(at, value, fix=True):
        def change(blob):
            blob[at:at + len(value)] = value
            return crc(blob) if fix else blob
        return change
    cases = {"checksum": set_at(-4, b"\0\0\0\0", False), "magic": set_at(4, b"abcd"), "length": set_at(0, b"\xff\xff\xff\xff", False), "zero length": set_at(0, b"\0\0\0\0", False), "bucket count": set_at(8, b"\xff" * 8), "negative key": set_at(16, b"\xff\xff\xff\xff"),
             "roaring cookie": set_at(20, b"\xff\xff\xff\xff"), "container count": set_at(24, b"\xff\xff\xff\x7f"), "all zero": lambda b: bytes(len(b)), "cut": lambda b: b[:len(b) // 2] + bytes(len(b) - len(b) // 2)}
    for name, change in cases.items():
        t = Table(f"{folder}/{name.replace(' ', '')}", COLUMNS, version=3)
        t.append([(i, "a", None) for i in range(50)])
        t.delete_mor(ids(*range(3, 40, 2)))
        t.save()
        broken_vector(t, change)
        try:
            refused(t)
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}")


def test_vector_entries_that_lie(folder):
    cases = {"count": {"record_count": 3}, "offset": {"content_offset": 5}, "size": {"content_size_in_bytes": 4}, "huge size": {"content_size_in_bytes": 2**40}, "beyond the end": {"content_offset": 10**9}, "negative": {"content_offset": -4}, "no reference": {"referenced_data_file": None},
             "no size": {"content_size_in_bytes": None}, "missing file": {"file_path": "/nowhere/x.puffin"}, "a Parquet file": {"file_format": "PARQUET"}}
    for name, new in cases.items():
        t = Table(f"{folder}/{name.replace(' ', '')}", COLUMNS, version=3, codec="null")
        t.append([(i, "a", None) for i in range(50)])
        t.delete_mor(ids(*range(3, 40, 2)))
        t.save()
        m = next(m for m in t.current.manifests if m.content == 1)
        rewrite_avro(local(t, m.path), lambda rows: [r["data_file"].update(new) for r in rows] and rows)
        try:
            refused(t)
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}")


def test_positions_no_file_has(folder):
    """Positions past the end of a file, or of files that are not there, hit nothing, or are refused."""
    for version in (2, 3):
        t = Table(f"{folder}/{version}", COLUMNS, version=version)
        t.append([(i, "a", None) for i in range(5)])
        f = t.current.data[0]
        if version == 2:
            stranger = t.data([(9, "a", None)])
            deletes = [t.position_deletes({f: [1, 5, 6, 2**40]}), t.position_deletes({stranger: [0]})]
        else:
            deletes = t.vectors({f: {1, 5, 2**31, 2**40}})
        t.commit("delete", (), (), deletes)
        t.save()
        honest(t)


def test_negative_and_null_positions(folder):
    import pyarrow as pa, pyarrow.parquet as pq
    for n, (paths, pos) in enumerate([([None], [0]), (["x"], [None]), (["self"], [-1]), (["self", "self"], [1, 1]), (["self", "self"], [3, 1])]):
        t = Table(f"{folder}/{n}", COLUMNS)
        t.append([(i, "a", None) for i in range(5)])
        f = t.current.data[0]
        d = t.position_deletes({f: [1] if n == 3 else list(range(len(pos)))})
        schema = pa.schema([pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}), pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"})])
        pq.write_table(pa.table({"file_path": [f.path if p == "self" else p for p in paths], "pos": pa.array(pos, pa.int64())}, schema=schema), d.local, store_schema=False)
        d.positions, d.count, d.size = {f.path: {p for q, p in zip(paths, pos) if q == "self" and p >= 0}}, len(pos), os.path.getsize(d.local)
        t.commit("delete", (), (), [d])
        t.save()
        honest(t)


def test_delete_files_with_other_columns(folder):
    import pyarrow as pa, pyarrow.parquet as pq
    for n, data in enumerate([pa.table({"x": [1]}), pa.table({"file_path": ["x"]}), pa.table({"file_path": [1], "pos": ["x"]}), pa.table({"pos": [1]})]):
        t = Table(f"{folder}/{n}", COLUMNS)
        t.append([(i, "a", None) for i in range(5)])
        d = t.position_deletes({t.current.data[0]: [1]})
        fields = [pa.field(f.name, f.type, metadata={"PARQUET:field_id": {"file_path": "2147483546", "pos": "2147483545"}.get(f.name, "1")}) for f in data.schema]
        pq.write_table(data.cast(pa.schema(fields)), d.local, store_schema=False)
        d.size = os.path.getsize(d.local)
        t.commit("delete", (), (), [d])
        t.save()
        refused(t)
    t = Table(f"{folder}/eq", COLUMNS)
    t.append([(i, "a", None) for i in range(5)])
    d = t.equality_deletes([(1,)], ["id"])
    pq.write_table(pa.table({"other": ["x"]}, schema=pa.schema([pa.field("other", pa.string(), metadata={"PARQUET:field_id": "2"})])), d.local, store_schema=False)
    d.size = os.path.getsize(d.local)
    t.commit("delete", (), (), [d])
    t.save()
    refused(t)


def test_files_swapped_for_others(folder):
    """A data file replaced by another table's, by a text, by an empty file, by fewer rows, by other types."""
    import pyarrow as pa, pyarrow.parquet as pq
    def field(name, type, id):
        return pa.field(name, type, metadata={"PARQUET:field_id": str(id)})
    for n, write in enumerate([lambda p: open(p, "wb").close(), lambda p: open(p, "w").write("hello" * 100), lambda p: pq.write_table(pa.table({"id": [1]}), p), lambda p: pq.write_table(pa.table({"id": pa.array([1] * 6, pa.int64())}, schema=pa.schema([field("id", pa.int64(), 1)])).slice(0, 3), p),
                               lambda p: pq.write_table(pa.table({"id": ["x"] * 6}, schema=pa.schema([field("id", pa.string(), 1)])), p), lambda p: pq.write_table(pa.table({"s": [1] * 6}, schema=pa.schema([field("s", pa.int64(), 3)])), p), lambda p: os.remove(p)]):
        t = table(f"{folder}/{n}")
        write(t.snapshots[0].data[0].local)
        refused(t)


# ---- chance


def files_of(t):
    out = []
    for folder, _, names in os.walk(t.root):
        out += [os.path.join(folder, n) for n in names if n != "version-hint.text"]
    return sorted(out)


def mutate(rng, data):
    """One small or large change; the bytes differ from before."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        n = len(data)
        kind = rng.choice(["flip", "flip", "byte", "cut", "cut end", "zero", "repeat", "grow", "swap"])
        at = rng.randrange(n) if n else 0
        if kind == "flip" and n:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == "byte" and n:
            data[at] = rng.choice([0, 0xFF, 0x7F, 0x80, rng.randrange(256)])
        elif kind == "cut":
            del data[at:at + rng.randrange(1, 50)]
        elif kind == "cut end":
            del data[at:]
        elif kind == "zero" and n:
            data[at:at + 16] = bytes(len(data[at:at + 16]))
        elif kind == "repeat":
            data[at:at] = data[at:at + rng.randrange(1, 200)]
        elif kind == "grow":
            data += bytes(rng.randrange(256) for _ in range(rng.randrange(1, 20)))
        elif kind == "swap" and n > 8:
            other = rng.randrange(n)
            data[at], data[other] = data[other], data[at]
    return bytes(data)


def footer(parquet):
    """Size of a Parquet file's footer, which no checksum covers: there too another valid file is what the bytes say."""
    return struct.unpack("<I", parquet[-8:-4])[0]


MUTATIONS = int(os.environ.get("LAKECDC_HOSTILE_COUNT", "300"))


def test_mutated_bytes_of_any_file(folder):
    """Page checksums and vector checksums are on, so a changed byte can be noticed; a change that leaves the answer right is fine.
    Where the format carries no checksum (Avro blocks, JSON text, Parquet footers), another valid table is what the bytes say; only the outcome's
    form is judged there: rows of an Arrow stream, or one error line."""
    refusals, count = 0, 0
    for version in (1, 2, 3):
        t = table(f"{folder}/{version}", version, codec="deflate" if version == 1 else "snappy", parquet={"write_page_checksum": True, "use_dictionary": version == 2})
        spoiled = f"{folder}/{version}/t-spoiled"
        names = files_of(t)
        for i in range(MUTATIONS // 3):
            seed = version * 1_000_000 + i
            rng = random.Random(seed)
            victim = rng.choice(names)
            with open(victim, "rb") as h:
                before = h.read()
            after = mutate(rng, before)
            if after == before:
                continue
            with open(victim, "wb") as h:
                h.write(after)
            count += 1
            try:
                r = changes(t.root, *Range(None, t.current).words(), timeout=60)
                assert r.code >= 0, f"died by signal {-r.code}: {r.err[:500]}"
                if r.code:
                    check_refused(r)
                    refusals += 1
                else:
                    got = rows_of(r.table())
                    if victim.endswith(".puffin") or victim.endswith(".parquet") and before[-8 - footer(before):] == after[-8 - footer(before):]:
                        same_rows(got, expected(Truth(t), Range(None, t.current)))
            except Exception as e:
                shutil.copytree(t.root, spoiled, dirs_exist_ok=True)
                raise AssertionError(f"seed {seed}, {os.path.relpath(victim, t.root)}: {e}") from None
            finally:
                with open(victim, "wb") as h:
                    h.write(before)
    print(f"    {count} mutations, {refusals} refused")
    assert refusals > count // 4, "the mutations reach nothing"


if __name__ == "__main__":
    main()
