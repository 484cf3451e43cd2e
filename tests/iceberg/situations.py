#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every table situation the Iceberg format allows that a change reader can meet, one named test each.

The one idea: what random histories meet by luck is met here on purpose, and what they never make (other writers'
layouts, other ways to name a table, rare types) has its own test. Reading order: finding the table, metadata and Avro,
types, schema and names, partitions, equality deletes, snapshots, lineage, requests.
"""
import dataclasses, datetime, decimal, gzip, json, os, sys

import pyarrow as pa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.harness import changes, check_refused, main, run, same_rows
from support.iceberg_harness import Truth, check_range, rows_of
from support.iceberg_types import WIDE, Field, Struct, list_of, map_of, struct_of
from support.iceberg_writer import Schema, Table

COLUMNS = [("id", "long"), ("name", "string"), ("day", "date")]


def people(folder, version=2, rows=6, columns=COLUMNS, **options):
    t = Table(f"{folder}/t", columns, version=version, **options)
    t.append([(i, f"n{i}", 18000 + i) for i in range(1, rows + 1)])
    return t


def ids(*wanted):
    return lambda row: row["id"] in wanted


def renamed(row):
    return row | {"name": row["name"] + "+"}


def busy(folder, version, **options):
    """A small table with a bit of everything its version allows."""
    t = people(folder, version, **options)
    t.append([(i, f"m{i}", i) for i in range(10, 16)], per_file=2)
    if version > 1:
        t.delete_mor(ids(2, 11))
        t.upsert([(3, "three", 3), (30, "thirty", 3)], ["id"])
    t.update_cow(ids(4, 12), renamed)
    t.delete_cow(ids(5))
    t.compact(t.current.data[:3])
    t.commit("replace", merge=True)
    t.append([(40, "x", 4)])
    return t


# ---- finding the table


def test_table_by_hint_file_and_newest(folder):
    for version in (1, 2, 3):
        for naming in ("hint", "catalog"):
            for zipped in (False, True):
                t = busy(f"{folder}/{version}{naming}{zipped}", version, naming=naming, gzip_metadata=zipped)
                path = t.save()
                check_range(t)
                check_range(t, root=path)                       # the metadata file itself
                check_range(t, root="file://" + t.root)
                check_range(t, root=t.root + "/")


def test_newest_metadata_is_the_highest_number(folder):
    for naming in ("hint", "catalog"):
        t = people(f"{folder}/{naming}", naming=naming)
        for i in range(12):
            t.append([(100 + i, "x", i)])
            path = t.save()
        if naming == "hint":
            os.remove(f"{t.root}/metadata/version-hint.text")
        os.utime(path, (1, 1))                                  # its time says nothing
        check_range(t)


def test_an_old_hint_points_forward(folder):
    """Writers replace the hint after the metadata file: a reader looks for the next versions, as Iceberg's own does."""
    t = people(folder)
    for i in range(3):
        t.append([(100 + i, "x", i)])
        t.save()
    with open(f"{t.root}/metadata/version-hint.text", "w") as h:
        h.write("1\n")
    check_range(t)


def test_older_metadata_file_is_its_own_table(folder):
    t = people(folder)
    old = t.save()
    first = t.current
    t.delete_mor(ids(1))
    t.save()
    check_range(t, None, first, root=old)
    check_refused(changes(old, "--from", first.id, "--from-exclusive", "--to", t.current.id), str(t.current.id))


def test_gzip_name_of_older_writers(folder):
    t = people(folder)
    path = t.save()
    with open(path, "rb") as h:
        body = h.read()
    os.remove(path)
    with open(path + ".gz", "wb") as h:
        h.write(gzip.compress(body))
    check_range(t)
    check_range(t, root=path + ".gz")


def test_relative_root_and_odd_characters(folder):
    t = people(f"{folder}/a b%20ü#?&+", 2)
    t.delete_mor(ids(1))
    t.commit("append", [t.data([(50, "x", 1)], folder="data/region=a b%2Fc/x:y@z")])
    t.save()
    check_range(t)
    here = os.getcwd()
    os.chdir(folder)
    try:
        check_range(t, root=os.path.relpath(t.root, folder))
    finally:
        os.chdir(here)


def test_nothing_but_an_empty_table(folder):
    for version in (1, 2, 3):
        t = Table(f"{folder}/{version}", COLUMNS, version=version)
        t.save()
        got = changes(t.root).table()
        assert got.num_rows == 0 and got.schema.field("after").type.num_fields == 3
        s = t.commit("append")
        t.save()
        assert check_range(t, None, s) == []


# ---- metadata and Avro


def test_avro_codecs_blocks_and_odd_writers(folder):
    for version in (1, 2, 3):
        for codec in ("null", "deflate", "snappy", "zstandard"):
            for odd in (False, True):
                t = busy(f"{folder}/{version}{codec}{odd}", version, codec=codec, odd_avro=odd, block_bytes=200 if odd else 16000, explicit_entries=odd, stats=not odd)
                t.save()
                check_range(t)
                check_range(t, t.snapshots[1], where=("cmp", "id", ">", 10))


def test_first_version_metadata(folder):
    """v1 as its first writers left it: one schema, one spec, manifests listed in the metadata, no sequence numbers."""
    for inline in (False, True):
        for bare in (False, True):
            t = busy(f"{folder}/{inline}{bare}", 1, inline_manifests=inline, bare_v1=bare)
            t.commit("append", t.files([(60, "y", 1)]), no_summary=True)
            t.save()
            check_range(t)
            check_range(t, t.snapshots[2])
            for a, b in zip(t.snapshots, t.snapshots[1:]):
                check_range(t, a, b)


def test_upgrades_inside_the_range(folder):
    t = people(folder, 1)
    t.append([(10, "x", 1), (11, "y", 1)])
    t.delete_cow(ids(1))
    t.commit("replace", merge=True)                             # EXISTING entries in a v1 manifest
    t.upgrade(2)
    t.upsert([(2, "two", 2)], ["id"])                           # everything older has sequence number 0
    t.delete_mor(ids(10))
    t.upgrade(3)
    t.delete_mor(ids(3, 11))
    t.update_cow(ids(4), renamed)
    t.append([(20, "z", 1)])
    t.update_cow(ids(20), renamed)
    t.save()
    check_range(t)
    for a, b in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, a, b)


def test_a_manifest_that_was_dropped_with_its_files(folder):
    for version in (1, 2, 3):
        t = people(f"{folder}/{version}", version)
        t.append([(20, "x", 1)])
        t.commit("delete", (), [t.current.data[-1] if t.current.data[-1].count == 6 else t.current.data[0]], drop_dead=True)
        t.commit("overwrite", t.files([(30, "y", 1)]), t.current.data, drop_dead=True)
        t.save()
        check_range(t)
        check_range(t, t.snapshots[1], t.snapshots[2])


def test_dead_manifests_carried_on(folder):
    for version in (1, 2, 3):
        t = people(f"{folder}/{version}", version)
        t.append([(20, "x", 1)])
        t.delete_cow(ids(1, 2, 3, 4, 5, 6))
        t.append([(21, "x", 1)], keep_dead=True)
        t.append([(22, "x", 1)], keep_dead=True, merge=True)
        t.save()
        check_range(t)
        check_range(t, t.snapshots[2])


def test_merged_manifests(folder):
    for version in (1, 2, 3):
        t = people(f"{folder}/{version}", version)
        for i in range(5):
            t.append([(20 + i, "x", 1)], merge=True)
            if version > 1:
                t.delete_mor(ids(i + 1), merge=True)
        t.update_cow(ids(6, 21, 22), renamed, merge=True)
        t.save()
        check_range(t)
        check_range(t, t.snapshots[3], t.snapshots[6])


def test_file_that_leaves_and_returns(folder):
    """A file removed and later added again (undone delete, cherry-pick of a wap branch) with explicit numbers."""
    t = people(folder)
    f = t.current.data[0]
    t.append([(20, "x", 1)])
    t.commit("delete", (), [f])
    t.commit("append", [f])
    t.delete_keys([(20,), (1,)], ["id"])
    t.save()
    check_range(t)
    for a, b in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, a, b)


# ---- types


ALL_TYPES = {"boolean": [True, False], "int": [0, -2**31, 2**31 - 1], "long": [0, -2**63, 2**63 - 1], "float": [1.5, float("nan"), float("-inf")], "double": [0.1, float("nan"), 1e308],
             "decimal(9,2)": [decimal.Decimal("1.25"), decimal.Decimal("-9999999.99")], "decimal(18,0)": [decimal.Decimal(10**17)], "decimal(38,18)": [decimal.Decimal("-12345678901234567890.123456789012345678")],
             "date": [0, -25567, 2932896], "time": [0, 86_399_999_999], "timestamp": [0, -1, 253402300799999999], "timestamptz": [1_600_000_000_000_001, -62135596800000000],
             "string": ["", "日本", "a\0b", "x" * 300], "uuid": [bytes(range(16)), b"\xff" * 16], "fixed[3]": [b"\0\1\2", b"\xff" * 3], "binary": [b"", b"\0\xff"]}
V3_TYPES = {"timestamp_ns": [1, -1, 1_600_000_000_123_456_789], "timestamptz_ns": [0, 999]}


def typed_table(folder, version, nested=False, **options):
    types = {**ALL_TYPES, **(V3_TYPES if version == 3 else {})}
    columns = [("id", "long")] + [(f"c{i}", t) for i, t in enumerate(types)]
    if nested:
        columns += [("s", struct_of(*[(f"x{i}", t) for i, t in enumerate(types) if t != "uuid"]))] + [(f"l{i}", list_of(t)) for i, t in enumerate(types) if t != "uuid"]
        columns += [("m", map_of("long", struct_of(("k", "string"), ("v", list_of("int"))))), ("deep", list_of(struct_of(("a", list_of(map_of("string", "int"))))))]
    t = Table(f"{folder}/t{version}", columns, version=version, **options)
    rows = []
    for r in range(4):
        pick = lambda values: None if r == 3 else values[r % len(values)]
        row = {"id": r, **{f"c{i}": pick(v) for i, v in enumerate(types.values())}}
        if nested:
            row["s"] = None if r == 1 else {f"x{i}": pick(v) for i, (k, v) in enumerate(types.items()) if k != "uuid"}
            row.update({f"l{i}": [None, *v] if r else [] for i, (k, v) in enumerate(types.items()) if k != "uuid"})
            row["m"] = [(1, {"k": "a", "v": [1, None]}), (2**40, None)] if r else None
            row["deep"] = [None, {"a": None}, {"a": [[("p", 1)], None]}] if r == 2 else []
        rows.append(row)
    t.append(rows)
    return t, rows, types


def test_every_type_in_every_place(folder):
    for version in (1, 2, 3):
        t, rows, _ = typed_table(folder, version, nested=True)
        t.update_cow(ids(2), lambda r: r | {"c12": "changed"})
        t.delete_cow(ids(0))
        t.save()
        check_range(t)
        check_range(t, identity=["id"], fold=True)
        check_range(t, columns=["s", "deep"])


def test_parquet_encodings(folder):
    for i, options in enumerate([{"compression": c} for c in ("none", "snappy", "gzip", "zstd", "lz4", "brotli")] +
                                [{"use_dictionary": False}, {"data_page_version": "2.0"}, {"row_group_size": 1}, {"data_page_size": 1, "write_batch_size": 1}, {"store_decimal_as_integer": True},
                                 {"write_page_index": True}, {"write_page_checksum": True}, {"use_byte_stream_split": ["c3", "c4"], "use_dictionary": False}, {"store_schema": True}]):
        t, _, _ = typed_table(f"{folder}/{i}", 2, nested=True)
        t.parquet = options
        t.append([{"id": 10 + k, "c12": "x" * k} for k in range(20)])
        t.delete_mor(ids(11, 12, 19))
        t.save()
        check_range(t)


def test_equality_keys_of_every_type(folder):
    for version in (2, 3):
        t, rows, types = typed_table(folder, version)
        for i, (type, values) in enumerate(types.items()):
            t.append([{"id": 100 * (i + 1) + k, f"c{i}": v} for k, v in enumerate(values + [None])])
            t.delete_keys([(values[-1],), (None,)] if i % 2 else [(values[-1],)], [f"c{i}"])
        t.save()
        check_range(t, t.snapshots[0])


def test_nan_and_null_in_keys(folder):
    t = Table(f"{folder}/t", [("id", "long"), ("d", "double"), ("f", "float"), ("s", "string")])
    nan = float("nan")
    t.append([(1, nan, nan, "a"), (2, nan, None, "b"), (3, None, nan, None), (4, 1.0, 1.0, "a"), (5, None, None, None)])
    t.delete_keys([(nan, None)], ["d", "f"])
    t.delete_keys([(None, None)], ["f", "s"])
    t.delete_keys([(nan,)], ["f"])
    t.save()
    check_range(t)


def test_decimals_of_every_width(folder):
    t = Table(f"{folder}/t", [("id", "long")] + [(f"d{p}", f"decimal({p}, {p // 2})") for p in (1, 4, 9, 10, 18, 19, 38)])
    for as_integer in (False, True):
        t.parquet = {"store_decimal_as_integer": as_integer}
        t.append([[i] + [decimal.Decimal(s * (10**p - 1)).scaleb(-(p // 2), WIDE) for p in (1, 4, 9, 10, 18, 19, 38)] for i, s in ((1, 1), (2, -1), (3, 0))])
    t.delete_keys([(decimal.Decimal(-9), decimal.Decimal("-99.99"))], ["d1", "d4"])
    t.save()
    check_range(t)


def test_data_files_of_other_formats(folder):
    """ORC and Avro: the rows, or a refusal that names the format."""
    for format in ("ORC", "AVRO"):
        t = people(f"{folder}/{format}", properties={"schema.name-mapping.default": json.dumps([{"field-id": i + 1, "names": [n]} for i, (n, _) in enumerate(COLUMNS)])})
        f = t.files([(10, "x", 1), (11, None, 2)])[0]
        if format == "ORC":
            import pyarrow.orc as orc
            orc.write_table(pa.table({"id": [10, 11], "name": ["x", None], "day": pa.array([1, 2], pa.date32())}), f.local)
        else:
            import fastavro
            fields = [{"name": n, "type": ["null", t], "field-id": i + 1} for i, (n, t) in enumerate([("id", "long"), ("name", "string"), ("day", {"type": "int", "logicalType": "date"})])]
            with open(f.local, "wb") as h:
                fastavro.writer(h, {"type": "record", "name": "table", "fields": fields}, [{"id": 10, "name": "x", "day": 1}, {"id": 11, "name": None, "day": 2}])
        f.format, f.size = format, os.path.getsize(f.local)
        t.commit("append", [f])
        t.save()
        r = changes(t.root)
        if r.code == 0:
            check_range(t)
        else:
            check_refused(r, format.lower())
        check_range(t, None, t.snapshots[0])                    # the range before it is not concerned


# ---- schema and names


def evolve(t):
    t.append([(1, "a", 1, {"x": 1, "y": {"z": "p"}}, 1.5), (2, None, None, None, None)])
    t.rename_column("name", "full_name")
    t.add_column("note", "string")
    t.append([(3, "b", 2, {"x": 2, "y": None}, 2.5, "n")])
    t.drop_column("day")
    t.move_column("note", 0)
    t.append([{"id": 4, "full_name": "c", "s": {"x": 3, "y": {"z": None}}, "f": 0.5, "note": "m"}])
    t.add_column("day", "string")                               # the old name, another column
    t.promote_column("f", "double")
    t.append([{"id": 5, "full_name": "d", "day": "not a date", "f": 0.1}])
    s = t.schema.named("s")
    x, y = s.type.fields
    t.change_column("s", type=Struct((dataclasses.replace(y, type=Struct((Field(0, "w", "int"), dataclasses.replace(y.type.fields[0], name="zz")))), dataclasses.replace(x, type="long"), Field(0, "list", list_of(struct_of(("q", "int")))))))
    t.append([{"id": 6, "full_name": "e", "s": {"x": 2**40, "y": {"w": 1, "zz": "z"}, "list": [{"q": 1}, None]}, "f": 1e300}])
    t.rename_column("s", "st")


EVOLVING = [("id", "long"), ("name", "string"), ("day", "date"), ("s", struct_of(("x", "int"), ("y", struct_of(("z", "string"))))), ("f", "float")]


def test_columns_follow_their_ids_at_every_level(folder):
    for version in (1, 2, 3):
        t = Table(f"{folder}/{version}", EVOLVING, version=version)
        evolve(t)
        t.update_cow(ids(1, 3), lambda r: r | {"full_name": "changed"})
        t.delete_cow(ids(2))
        if version > 1:
            t.update_mor(ids(4), lambda r: r | {"day": "x"})
            t.delete_mor(ids(5))
        t.save()
        check_range(t)
        for i, s in enumerate(t.snapshots):                     # every end has its own schema
            check_range(t, None, s)
            check_range(t, s, t.current)
        check_range(t, columns=["st", "day"])
        check_range(t, where=("cmp", "st.x", ">=", 2))
        check_range(t, where=("null", "st.y.zz", False))


def test_lists_and_maps_evolve_inside(folder):
    t = Table(f"{folder}/t", [("id", "long"), ("l", list_of(struct_of(("a", "int"), ("b", "string")))), ("m", map_of("string", struct_of(("v", "float"))))])
    t.append([(1, [{"a": 1, "b": "x"}, None], [("k", {"v": 0.5}), ("n", None)])])
    l, m = t.schema.named("l"), t.schema.named("m")
    a, b = l.type.element.type.fields
    t.change_column("l", type=dataclasses.replace(l.type, element=dataclasses.replace(l.type.element, type=Struct((Field(0, "c", "date"), dataclasses.replace(a, name="aa", type="long"))))))
    v = m.type.value.type.fields[0]
    t.change_column("m", type=dataclasses.replace(m.type, value=dataclasses.replace(m.type.value, type=Struct((dataclasses.replace(v, type="double"), Field(0, "u", "string"))))))
    t.append([(2, [{"c": 1, "aa": 2**40}], [("k", {"v": 0.1, "u": "x"})])])
    t.delete_mor(ids(1))
    t.save()
    check_range(t)


def test_promotions(folder):
    t = Table(f"{folder}/t", [("id", "int"), ("i", "int"), ("f", "float"), ("d", "decimal(9, 2)"), ("day", "date")], version=3)
    t.append([(1, 7, 0.1 if False else 0.5, decimal.Decimal("1.25"), 18000), (2, -2**31, float("nan"), decimal.Decimal("-9999999.99"), -1), (3, None, None, None, None)])
    for name, type in (("id", "long"), ("i", "long"), ("f", "double"), ("d", "decimal(20, 2)")):
        t.promote_column(name, type)
    t.append([(4, 2**40, 0.1, decimal.Decimal("123456789012345.25"), 1)])
    t.delete_keys([(7,)], ["i"])                                # a long key against a file that holds ints
    t.delete_keys([(decimal.Decimal("-9999999.99"),)], ["d"])
    t.update_cow(ids(3, 4), lambda r: r | {"i": 1})
    t.save()
    check_range(t)
    check_range(t, where=("cmp", "i", "<", 0))
    check_range(t, where=("cmp", "d", "=", decimal.Decimal("1.25")))


def test_unknown_type_and_what_it_becomes(folder):
    t = Table(f"{folder}/t", [("id", "long"), ("x", "unknown"), ("s", struct_of(("u", "unknown"), ("v", "int")))], version=3)
    t.append([(1, None, {"u": None, "v": 1}), (2, None, None)])
    first = t.current
    t.update_cow(ids(1), lambda r: r | {"s": {"u": None, "v": 2}})
    second = t.current
    t.promote_column("x", "int")
    t.append([(3, 5, {"u": None, "v": 3})])
    t.delete_mor(ids(2))
    t.save()
    check_range(t, None, first)
    check_range(t, first, second)
    check_range(t)


def test_promoted_date_is_a_timestamp(folder):
    """v3: date to timestamp; exact rows or a refusal that names the column."""
    t = Table(f"{folder}/t", [("id", "long"), ("day", "date")], version=3)
    t.append([(1, 18000), (2, -1), (3, None)])
    t.promote_column("day", "timestamp")
    t.append([(4, 1_600_000_000_000_001)])
    t.delete_mor(ids(1))
    t.save()
    r = changes(t.root)
    if r.code == 0:
        check_range(t)
    else:
        check_refused(r, "day")


def test_initial_defaults(folder):
    t = people(folder, 3)
    values = {"boolean": True, "int": 7, "long": 2**40, "float": 0.5, "double": 0.1, "decimal(9, 2)": decimal.Decimal("1.25"), "date": 18000, "time": 3_600_000_001, "timestamp": 1_600_000_000_000_001,
              "timestamptz": 1_600_000_000_000_001, "timestamp_ns": 1_600_000_000_000_000_001, "timestamptz_ns": 1, "string": "it's", "uuid": bytes(range(16)), "fixed[2]": b"\0\xff", "binary": b"\1\2"}
    for i, (type, v) in enumerate(values.items()):
        t.add_column(f"a{i}", type, v)
    t.append([{"id": 20, "a1": None, "a2": 5}])
    t.delete_mor(ids(1))
    t.update_cow(ids(2), renamed)
    t.delete_keys([(7,)], ["a1"])                               # the old rows read the default
    t.save()
    check_range(t)
    check_range(t, where=("cmp", "a1", "=", 7))
    check_range(t, where=("null", "a1", False))


def test_initial_default_inside_a_struct(folder):
    t = Table(f"{folder}/t", [("id", "long"), ("s", struct_of(("x", "int")))], version=3)
    t.append([(1, {"x": 1}), (2, None)])
    s = t.schema.named("s")
    t.change_column("s", type=Struct(s.type.fields + (Field(0, "y", "string", initial="dflt"),)))
    t.append([(3, {"x": 1, "y": None})])
    t.delete_mor(ids(1))
    t.save()
    check_range(t)


def mapping_of(t, aliases=()):
    """The name-mapping property for a table's schema; `aliases` {name: more names}."""
    extra = dict(aliases)
    def fields(s):
        return [one(f, [f.name, *extra.get(f.name, [])]) for f in s]
    def one(f, names):
        m = {"field-id": f.id, "names": names}
        if isinstance(f.type, Struct):
            m["fields"] = fields(f.type)
        elif hasattr(f.type, "element"):
            m["fields"] = [one(f.type.element, ["element"])]
        elif hasattr(f.type, "value"):
            m["fields"] = [one(f.type.key, ["key"]), one(f.type.value, ["value"])]
        return m
    return json.dumps(fields(t.schema))


def test_files_without_ids_by_name_mapping(folder):
    for version in (1, 2, 3):
        t = Table(f"{folder}/{version}", [("id", "long"), ("name", "string"), ("s", struct_of(("x", "int"), ("l", list_of(struct_of(("q", "string")))))), ("m", map_of("string", "int"))], version=version)
        row = lambda i: {"id": i, "name": f"n{i}", "s": {"x": i, "l": [{"q": "a"}, None]}, "m": [("k", i)]}
        t.append([row(1), row(2)])
        imported = Schema(tuple(dataclasses.replace(f, name={"name": "Customer Name"}.get(f.name, f.name)) for f in t.schema))
        old = t.data([{**{k: v for k, v in row(i).items() if k != "name"}, "Customer Name": f"old{i}"} for i in (3, 4, 5)], schema=imported, ids=False)
        t.commit("append", [old])
        t.properties["schema.name-mapping.default"] = mapping_of(t, {"name": ["Customer Name", "cust"]})
        t.rename_column("name", "full")                         # the mapping still says which id the old names mean
        t.add_column("later", "int")
        t.append([{**{k: v for k, v in row(6).items() if k != "name"}, "full": "six", "later": 1}])
        t.update_cow(ids(3), lambda r: r | {"full": "three"})
        t.delete_cow(ids(4))
        if version > 1:
            t.delete_keys([("old5",)], ["full"])
        t.save()
        check_range(t)
        check_range(t, where=("cmp", "full", "=", "three"))
        check_range(t, columns=["m", "full"])


def test_a_user_column_with_a_metadata_name(folder):
    columns = [("id", "long"), ("_change_type", "string"), ("_commit_snapshot_id", "long"), ("_pos", "long"), ("_row_id", "long"), ("op", "string"), ("before", "string"), ("file_path", "string"), ("a.b", "int"), ("ÜBER", "string"), ("über", "string")]
    for version in (2, 3):
        t = Table(f"{folder}/{version}", columns, version=version)
        t.append([[i] + [f"t{i}", i, i * 2, 5, "x", "y", "z", i, "U", "u"] for i in range(4)])
        t.update_cow(ids(1), lambda r: r | {"op": "changed"})
        (t.delete_mor)(ids(2))
        t.save()
        check_range(t)
        check_range(t, columns=["_row_id", "_change_type", "über"])


def test_snapshot_schema_not_the_newest_one(folder):
    t = people(folder)
    s1 = t.current
    t.add_column("extra", "int")
    s2 = t.append([(20, "x", 1, 5)])
    t.drop_column("day")
    t.rename_column("name", "label")                            # nothing written with it yet
    t.save()
    check_range(t, None, s1)
    check_range(t, s1, s2)


# ---- partitions


def test_every_transform(folder):
    columns = [("id", "long"), ("s", "string"), ("i", "int"), ("dec", "decimal(9, 2)"), ("day", "date"), ("ts", "timestamptz"), ("b", "binary"), ("u", "uuid"), ("fl", "double")]
    specs = [[("s", "identity")], [("id", "bucket[4]")], [("s", "bucket[3]"), ("dec", "bucket[2]")], [("s", "truncate[1]")], [("i", "truncate[10]")], [("dec", "truncate[50]")], [("b", "truncate[1]")], [("day", "year")], [("day", "month")], [("day", "day")],
             [("ts", "year")], [("ts", "month"), ("s", "identity")], [("ts", "day")], [("ts", "hour")], [("s", "void")], [("id", "zorder[3]")], [("u", "bucket[5]")], [("fl", "identity")], [("u", "identity"), ("b", "identity")], [("day", "identity"), ("dec", "identity")]]
    wheres = [("cmp", "s", "=", "ab"), ("cmp", "i", "<", -5), ("between", "i", 0, 9, False), ("cmp", "day", ">=", datetime.date(2019, 4, 1)), ("cmp", "ts", "<", datetime.datetime(2019, 4, 14, 8, tzinfo=datetime.timezone.utc)),
              ("cmp", "dec", "<=", decimal.Decimal("-0.50")), ("null", "s", False), ("like", "s", "a%", False), ("in", "id", [1, 5, 77], False), ("not", ("cmp", "s", "=", "b")), ("cmp", "fl", ">", 0.5)]
    for n, spec in enumerate(specs):
        t = Table(f"{folder}/{n}", columns, spec, version=2 + n % 2)
        rows = [(i, ["ab", "b", None, "", "日本"][i % 5], [-11, -1, 0, 9, None][i % 5], [None, decimal.Decimal(i - 5) / 2][i % 2], None if i == 7 else 17900 + 30 * i, None if i == 8 else (17990 * 86400 + i * 40_000) * 10**6, bytes([i % 3, i]) if i % 4 else None, bytes([i % 2] * 16), [0.5, float("nan"), None, -1.0][i % 4]) for i in range(16)]
        t.append(rows)
        t.delete_mor(lambda r: r["id"] in (3, 4, 9))
        t.upsert([rows[5][:2] + rows[6][2:], rows[10]], ["id"])
        t.update_cow(ids(12), lambda r: r | {"i": 5})
        t.save()
        check_range(t)
        for where in wheres[n % 3::3]:
            check_range(t, where=where)


def test_a_transform_of_several_columns(folder):
    """v3 writes `source-ids`; nobody knows such a transform yet, and nobody needs to."""
    t = Table(f"{folder}/t", COLUMNS, [("id", "zorder[3]")], version=3)
    t.append([(i, "ab"[i % 2], i) for i in range(9)])
    t.delete_mor(ids(3))
    t.update_cow(ids(4), renamed)
    f = t.current.data[0]
    t.commit("delete", (), (), [t.equality_deletes([(k,) for k in range(9)], ["id"], f.spec, f.partition)])
    m = t.metadata()
    for spec in m["partition-specs"]:
        for field in spec["fields"]:
            field["source-ids"] = [field.pop("source-id"), 2]
    t.save(m)
    check_range(t)
    check_range(t, where=("cmp", "id", "=", 5))


def test_partition_specs_side_by_side(folder):
    for version in (1, 2, 3):
        t = Table(f"{folder}/{version}", COLUMNS, [("name", "identity")], version=version)
        t.append([(i, "abc"[i % 3], i) for i in range(9)])
        t.set_spec([("name", "void" if version == 1 else "truncate[1]"), ("day", "day")])
        t.append([(20 + i, "abc"[i % 3], i) for i in range(6)])
        t.set_spec([("name", "void", "name"), ("day", "void", "day_day"), ("id", "bucket[2]")] if version == 1 else [("id", "bucket[2]")])
        t.append([(30 + i, "abc"[i % 3], i) for i in range(6)])
        t.delete_cow(ids(1, 21, 31))
        if version > 1:
            t.delete_mor(ids(2, 22, 32))
            t.update_mor(ids(3, 23), renamed)
        t.compact(t.current.data)
        t.save()
        check_range(t)
        check_range(t, where=("cmp", "name", "=", "b"))
        check_range(t, where=("cmp", "id", ">", 22))


def test_partition_column_of_a_struct_field(folder):
    t = Table(f"{folder}/t", [("id", "long"), ("s", struct_of(("region", "string"), ("n", "int")))])
    t.set_spec([(next(f.id for f in t.schema.named("s").type if f.name == "region"), "identity")])
    t.append([(i, {"region": "ab"[i % 2], "n": i}) for i in range(6)] + [(9, None)])
    t.delete_mor(ids(2, 3))
    t.update_cow(ids(4), lambda r: r | {"s": {"region": "a", "n": 40}})
    t.save()
    check_range(t)
    check_range(t, where=("cmp", "s.region", "=", "a"))


def test_identity_values_fill_columns_that_files_lack(folder):
    types = [("r", "string", "a b"), ("i", "int", -5), ("l", "long", 2**40), ("d", "date", 18000), ("dec", "decimal(9, 2)", decimal.Decimal("-1.25")), ("ts", "timestamp", 1_600_000_000_000_001), ("b", "boolean", True), ("u", "uuid", bytes(range(16))), ("fl", "float", 0.5), ("tm", "time", 5)]
    t = Table(f"{folder}/t", [("id", "long")] + [x[:2] for x in types], [(n, "identity") for n, _, _ in types])
    full = {n: v for n, _, v in types}
    t.commit("append", t.files([{"id": i, **full} for i in range(4)], omit=[n for n, _, _ in types]))
    t.commit("append", t.files([{"id": 10 + i} for i in range(3)], omit=[n for n, _, _ in types]))     # null values
    t.delete_mor(ids(1, 11))
    t.promote_column("i", "long")
    t.delete_keys([("a b", 0)], ["r", "id"], t.current.data[0].spec, t.current.data[0].partition if t.current.data[0].partition[0] else t.current.data[1].partition)
    t.save()
    check_range(t)
    check_range(t, where=("cmp", "i", "=", -5))
    check_range(t, columns=["u", "tm"])


def test_float_partitions_by_their_bits(folder):
    nan = float("nan")
    t = Table(f"{folder}/t", [("id", "long"), ("k", "double")], [("k", "identity")])
    t.append([(1, nan), (2, nan), (3, 1.0), (4, None), (5, 1.0)])
    t.delete_mor(ids(1, 3))
    f = next(f for f in t.current.data if f.partition[0] != f.partition[0])
    t.commit("delete", (), (), [t.equality_deletes([(2,), (5,)], ["id"], f.spec, f.partition)])       # the NaN partition only
    t.save()
    got = check_range(t)
    assert [b["id"] for op, b, _, _ in got if op == "delete"] == [1, 3, 2] or sorted(b["id"] for op, b, _, _ in got if op == "delete") == [1, 2, 3]


# ---- equality deletes


def test_equality_scope(folder):
    t = Table(f"{folder}/t", COLUMNS, [("name", "identity")])
    t.append([(i, "ab"[i % 2], i) for i in range(8)])
    a, b = t.current.data
    t.commit("delete", (), (), [t.equality_deletes([(0,), (1,)], ["id"], a.spec, a.partition)])        # 1 lies in the other partition
    t.set_spec([])
    everywhere = t.spec
    t.commit("delete", (), (), [t.equality_deletes([(2,), (3,)], ["id"], everywhere)])
    t.set_spec([("name", "void")])
    t.commit("delete", (), (), [t.equality_deletes([(4,), (5,)], ["id"], t.spec, (None,))])            # only void transforms: unpartitioned too
    t.set_spec([("day", "day")])
    t.append([(20, "a", 1), (21, "b", 1)])
    t.commit("delete", (), (), [t.equality_deletes([(6,), (20,)], ["id"], t.spec, (1,))])              # another spec's partition: 6 stays
    t.save()
    got = check_range(t)
    assert sorted(b["id"] for op, b, _, _ in got if op == "delete") == [0, 2, 3, 4, 5, 20]


def test_equality_keys_renamed_dropped_and_extra(folder):
    for version in (2, 3):
        t = Table(f"{folder}/{version}", [("id", "long"), ("k", "string"), ("n", "int"), ("s", struct_of(("x", "int"), ("y", "string")))], version=version)
        t.append([(i, f"k{i}", i, {"x": i, "y": "s"}) for i in range(10)])
        t.append([(10, None, None, None)])
        x = next(f.id for f in t.schema.named("s").type if f.name == "x")
        t.delete_keys([("k1",)], ["k"])
        t.delete_keys([(2,)], [x])                             # a field inside a struct
        t.commit("delete", (), (), [t.equality_deletes([(3, "k3"), (4, "other")], ["n", "k"], extra=["id"])])
        t.rename_column("k", "key")
        t.delete_keys([("k5",)], ["key"])
        n = t.schema.named("n").id
        t.drop_column("n")
        t.append([{"id": 20, "key": "k20", "s": None}])
        t.delete_keys([(6,)], ["id"])
        t.commit("delete", (), (), [t.equality_deletes([(7,)], [n])])                                   # a column the table no longer has
        t.drop_column("key")
        t.append([{"id": 21, "s": {"x": 1, "y": "z"}}])
        t.save()
        for s in t.snapshots:
            check_range(t, None, s)
        check_range(t)
        check_range(t, t.snapshots[2], columns=["id"])


def test_equality_deletes_pile_up(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.append([(i, "ab"[i % 2], i) for i in range(20)])
    t.delete_keys([("a",)], ["name"])                           # one key, many rows
    t.delete_keys([(1,), (3,)], ["id"])
    t.append([(1, "b", 1), (30, "a", 1)])
    t.delete_keys([(1,)], ["id"])
    t.delete_keys([(1,)], ["id"])                               # again: hits nothing
    t.delete_keys([], ["id"])                                   # an empty delete file
    t.delete_keys([(5, "b"), (5, "b"), (7, "a")], ["id", "name"])
    t.commit("overwrite", (), (), (), t.current.deletes[:1])
    t.save()
    check_range(t)
    for a, b in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, a, b)


def test_deletes_taken_away_again(folder):
    t = people(folder, rows=12)
    t.delete_mor(ids(1, 2))
    t.delete_keys([(3,), (4,), (1,)], ["id"])
    t.delete_mor(ids(5))
    pos = [d for d in t.current.deletes if d.kind == "pos"]
    t.commit("overwrite", (), (), (), [d for d in t.current.deletes if d.kind == "eq"])     # 3 and 4 come back, 1 stays dead
    t.commit("overwrite", t.files([(20, "x", 1)]), (), (), pos[:1])
    t.save()
    check_range(t)
    for a, b in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, a, b)


def test_replace_swaps_delete_files(folder):
    t = people(folder, rows=12)
    f = t.current.data[0]
    for i in (1, 2, 3):
        t.delete_mor(ids(i))
    t.commit("replace", (), (), [t.position_deletes({f: [0, 1, 2]})], t.current.deletes)
    t.delete_mor(ids(4))
    t.compact(t.current.data)
    t.commit("replace", (), (), (), t.current.deletes)          # nothing left for them to hide
    t.delete_mor(ids(5))
    t.save()
    check_range(t)
    check_range(t, t.snapshots[3])
    assert check_range(t, t.snapshots[3], t.snapshots[4]) == []


def test_position_deletes_of_many_files(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.append([(i, f"n{i}", i) for i in range(60)], per_file=7)
    for row in (False, True):
        for refer in (False, True):
            k = row * 2 + refer
            t.delete_mor(lambda r: r["id"] % 20 == 3 + k, row_column=row, refer=refer)
    data = t.current.data
    t.commit("delete", (), (), [t.position_deletes({f: [0] for f in data}), t.position_deletes({data[0]: [0, 1]}, refer=True)])
    t.delete_cow(ids(20, 21, 22))
    t.save()
    check_range(t)
    for a, b in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, a, b)


def test_position_deletes_older_than_the_file(folder):
    """A position delete that is older than a file cannot hit it."""
    t = Table(f"{folder}/t", COLUMNS, [("name", "identity")])
    t.append([(i, "ab"[i % 2], i) for i in range(8)])
    a, b = t.current.data
    early = t.position_deletes({b: [1]}, data_seq=0)
    t.commit("delete", (), (), [early, t.position_deletes({b: [2]})])
    t.save()
    assert [x["id"] for op, x, _, _ in check_range(t, t.snapshots[0])] == [t.read(b, 2, t.schema)["id"]]


# ---- snapshots


def test_branches_and_tags(folder):
    for version in (2, 3):
        t = people(f"{folder}/{version}", version)
        root = t.current
        t.tag("v1", root)
        t.branch("audit", root)
        t.append([(10, "x", 1)], branch="audit")
        t.delete_mor(ids(1), branch="audit")
        audit = t.refs["audit"][0]
        t.update_cow(ids(2), renamed)
        t.delete_mor(ids(3))
        t.tag("v2", t.current)
        t.save()
        check_range(t)
        check_range(t, None, audit, branch="audit")
        check_range(t, root, audit, branch="audit")
        check_range(t, root, audit)                             # the end alone decides the line
        got = rows_of(changes(t.root, "--from", "v1", "--from-exclusive", "--to", "v2").table())
        same_rows(got, Truth(t).changes(root, t.current))
        got = rows_of(changes(t.root, "--from", "v1", "--from-exclusive", "--branch", "audit").table())
        same_rows(got, Truth(t).changes(root, audit))
        check_refused(changes(t.root, "--from", audit.id, "--from-exclusive", "--to", t.current.id), str(audit.id), str(root.id))
        check_refused(changes(t.root, "--from", t.current.id, "--from-exclusive", "--branch", "audit"), str(t.current.id))


def test_rollback_then_on(folder):
    t = people(folder)
    s1 = t.current
    t.delete_mor(ids(1, 2))
    t.update_cow(ids(3), renamed)
    lost = t.current
    t.rollback(s1)
    t.delete_mor(ids(4))
    t.save()
    check_range(t)
    check_range(t, s1)
    check_range(t, s1, lost)
    check_refused(changes(t.root, "--from", lost.id, "--from-exclusive"), str(lost.id), str(s1.id))


def test_bounds_inclusive_and_exclusive(folder):
    t = people(folder)
    for i in range(4):
        t.upsert([(1, f"v{i}", i)], ["id"])
    t.save()
    s = t.snapshots
    for first, last in ((1, 3), (0, 0), (4, 4), (0, 4)):
        same_rows(rows_of(changes(t.root, "--from", s[first].id, "--to", s[last].id).table()), Truth(t).changes(s[first].parent, s[last]))
    assert check_range(t, s[2], s[2]) == []
    same_rows(rows_of(changes(t.root, "--from", "latest").table()), Truth(t).changes(s[3], s[4]))


def test_expired_in_the_middle_of_the_metadata(folder):
    """Snapshots between two others are gone: the range across the hole is refused, both sides are served."""
    t = people(folder)
    for i in range(4):
        t.append([(10 + i, "x", i)])
    s = list(t.snapshots)
    t.expire([s[2]])
    t.save()
    check_range(t, s[0], s[1])
    check_range(t, s[3], s[4])
    check_refused(changes(t.root, "--from", s[1].id, "--from-exclusive", "--to", s[4].id), str(s[3].id))


def test_operations_nobody_knows(folder):
    """An operation word from the future says nothing about the files: what they say counts."""
    for version in (2, 3):
        t = people(f"{folder}/{version}", version)
        old = t.current.data[0]
        t.commit("transmogrify", t.rewrite(old, t.current, {0, 1, 2}, {3: t.row((4, "four", 4))}), [old])
        t.commit("append", t.files([(10, "x", 1)]), no_summary=True)
        t.save()
        check_range(t)


def test_rewrites_under_a_wrong_label(folder):
    for version in (1, 2, 3):
        for lineage in (True, False):
            t = people(f"{folder}/{version}{lineage}", version)
            t.append([(10, "x", 1), (10, "x", 1)])
            if version > 1:
                t.delete_mor(ids(2))
            t.compact(t.current.data, "overwrite", lineage=lineage)
            t.save()
            assert check_range(t, t.snapshots[-2]) == []
            check_range(t)


def test_compaction_together_with_a_change(folder):
    """One commit that rewrites small files, drops some rows and adds others."""
    for version in (2, 3):
        t = people(f"{folder}/{version}", version)
        t.append([(10 + i, f"m{i}", i) for i in range(6)], per_file=1)
        t.delete_mor(ids(1, 10))
        s, add = t.current, []
        for f in s.data:
            add += t.rewrite(f, s, [p for p in t.alive(s)[f] if t.read(f, p, t.schema)["id"] not in (3, 12)])
        t.commit("overwrite", add + t.files([(50, "new", 1)]), s.data)
        t.save()
        got = check_range(t, s)
        assert sorted((op, (b or a)["id"]) for op, b, a, _ in got) == [("delete", 3), ("delete", 12), ("insert", 50)]


# ---- lineage


def test_lineage_inherited_and_written(folder):
    t = Table(f"{folder}/t", COLUMNS, version=3)
    t.append([(i, f"n{i}", i) for i in range(9)], per_file=3)
    t.append([(20, "x", 1)], merge=True)                        # EXISTING entries with ids written out
    t.update_cow(ids(1, 4), renamed)
    t.update_cow(ids(1), renamed)                               # from a file with ids written to another
    t.compact(t.current.data)
    t.update_mor(ids(1, 5), renamed)
    t.delete_mor(ids(6))
    t.update_cow(ids(7, 20), renamed, merge=True)
    t.save()
    check_range(t)
    for a, b in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, a, b)
    check_range(t, t.snapshots[0], identity=["id"], fold=True)
    assert {op for op, *_ in check_range(t, t.snapshots[-2])} == {"update_before", "update_after"}


def test_lineage_partly_written(folder):
    """Null ids beside written ones: new rows in a rewritten file take the file's own numbers."""
    t = people(folder, 3)
    f, s = t.current.data[0], t.current
    row_ids, updated = t.lineage(s, f, range(f.count))
    rows = [t.read_by_id(f, p, t.schema) for p in range(f.count)] + [t.row((50, "new", 1)), t.row((51, "new", 2))]
    rows[2] = t.row((3, "changed", 3))
    updated[2] = None
    t.commit("overwrite", t.files(rows, by_id=True, row_ids=row_ids + [None, None], updated=updated + [None, None]), [f])
    t.update_cow(ids(50), renamed)
    t.save()
    got = check_range(t, s)
    assert sorted(op for op, *_ in got) == ["insert", "insert", "update_after", "update_after", "update_before", "update_before"]


def test_lineage_lost_by_a_writer(folder):
    """A rewrite without the id column: carried-over rows still cancel, by content; a change is delete and insert."""
    for lost in ("absent", "null"):
        t = people(f"{folder}/{lost}", 3)
        f, s = t.current.data[0], t.current
        rows = [t.read_by_id(f, p, t.schema) for p in range(f.count)]
        rows[1] = t.row((2, "changed", 2))
        ids_ = {} if lost == "absent" else {"row_ids": [None] * 6, "updated": [None] * 6}
        t.commit("overwrite", t.files(rows[:5], by_id=True, **ids_), [f])
        t.update_cow(ids(3), renamed)
        t.save()
        got = check_range(t, s, t.snapshots[1])
        assert sorted((op, (b or a)["id"]) for op, b, a, _ in got) == [("delete", 2), ("delete", 6), ("insert", 2)]
        check_range(t)


def test_lineage_of_rows_that_swap_files(folder):
    """Rows keep their ids while a rewrite deals them out to other files."""
    t = Table(f"{folder}/t", COLUMNS, version=3)
    t.append([(i, f"n{i}", i) for i in range(12)], per_file=4)
    s = t.current
    places = [(f, p) for f in s.data for p in range(f.count)]
    half = {}
    for f, p in places:
        half.setdefault(t.read(f, p, t.schema)["id"] % 2, []).append((f, p))
    add = []
    for members in half.values():
        got = [t.row_of(s, f, p, t.schema) for f, p in members]
        rows = [t.row(r.values | {"name": "changed"} if r.values["id"] == 5 else r.values) for r in got]
        add += t.files(rows, by_id=True, row_ids=[r.row_id for r in got], updated=[None if r.values["id"] == 5 else r.updated for r in got])
    t.commit("overwrite", add, s.data)
    t.save()
    got = check_range(t, s)
    assert [op for op, *_ in got] == ["update_before", "update_after"]


def test_old_file_on_two_branches_of_an_upgraded_table(folder):
    t = people(folder, 2)
    t.branch("side", t.current)
    root = t.current
    t.upgrade(3)
    t.append([(10, "x", 1)], branch="side")                     # the old file gets its ids here
    t.append([(11, "y", 1), (12, "z", 1)])                      # and others here
    t.update_cow(ids(1), renamed)
    t.update_cow(ids(2), renamed, branch="side")
    t.save()
    check_range(t, root)
    check_range(t, root, t.refs["side"][0], branch="side")


# ---- requests


def test_projection_and_filter_change_no_label(folder):
    for version in (2, 3):
        t = people(f"{folder}/{version}", version, rows=20)
        t.update_cow(lambda r: r["id"] % 4 == 0, lambda r: r | {"day": r["day"] + 1000})
        t.update_mor(lambda r: r["id"] % 5 == 0, renamed)
        t.delete_mor(ids(1))
        t.save()
        check_range(t, t.snapshots[0], columns=["id"], identity=["id"])
        check_range(t, t.snapshots[0], columns=["name"], identity=["id"], fold=True)
        for where in (("cmp", "day", ">", datetime.date(2020, 1, 1)), ("cmp", "name", "<>", "n4")):
            check_range(t, t.snapshots[0], where=where, identity=["id"])
            check_range(t, t.snapshots[0], where=where, identity=["id"], fold=True, columns=["id"])


def test_limit_plan_probe_and_verify(folder):
    for version in (1, 2, 3):
        t = busy(f"{folder}/{version}", version)
        t.save()
        first, last = t.snapshots[0], t.current
        r = run("verify", t.root, "--from", first.id, "--from-exclusive", "--to", last.id)
        assert r.code == 0, r.err
        r = run("plan", t.root, "--from", first.id, "--from-exclusive", "--to", last.id, "--json")
        assert r.code == 0, r.err
        assert str(last.id) in r.out.decode() and "append" in r.out.decode()
        r = run("probe", t.root, "--json")
        assert r.code == 0, r.err
        assert json.loads(r.out)["chosen"] == "direct", r.out
        got = changes(t.root, "--limit", 3).table()
        assert got.num_rows == 3


if __name__ == "__main__":
    main()
