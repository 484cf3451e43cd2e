# SPDX-License-Identifier: Apache-2.0
"""Writes the files that test_parquet.c, test_ipc.c and test_damage.c read into the folder given.

Layouts that lakecdc's own writers do not make: several row groups, small pages, field ids, old types, no checksums.
Row i of every file follows from i alone, so the tests know what they must find.
"""

import datetime
import decimal
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = datetime.datetime(1970, 1, 1)


def field(name, kind, field_id=None, nullable=True):
    metadata = None if field_id is None else {"PARQUET:field_id": str(field_id)}
    return pa.field(name, kind, nullable=nullable, metadata=metadata)


def maybe(i, step, value):
    return None if i % step == 0 else value


def row(i):
    return {
        "id": i,
        "small": maybe(i, 7, i % 100 - 50),
        "long": maybe(i, 11, i * 1000003),
        "flag": maybe(i, 5, i % 3 == 0),
        "real": maybe(i, 13, i / 8),
        "name": maybe(i, 3, f"name-{i % 17}"),
        "text": f"é{i:06d}" * (i % 4),
        "price": maybe(i, 17, decimal.Decimal(i) / 100),
        "big": maybe(i, 19, decimal.Decimal(i) * 10**20),
        "code": i.to_bytes(4, "big"),
        "when": maybe(i, 23, EPOCH + datetime.timedelta(microseconds=i * 1234567)),
        "point": maybe(i, 29, {"x": maybe(i, 2, i), "y": f"y{i}"}),
        "list": maybe(i, 31, [maybe(j, 3, i + j) for j in range(i % 5)]),
        "map": maybe(i, 37, [(f"k{j}", maybe(j, 2, j * i)) for j in range(i % 3)]),
        "structs": [{"a": j, "b": [i] * j} for j in range(i % 3)],
    }


ROWS = pa.schema([
    field("id", pa.int64(), 1, nullable=False),
    field("small", pa.int8(), 2),
    field("long", pa.int64(), 3),
    field("flag", pa.bool_(), 4),
    field("real", pa.float64(), 5),
    field("name", pa.string(), 6),
    field("text", pa.string(), 7, nullable=False),
    field("price", pa.decimal128(9, 2), 8),
    field("big", pa.decimal128(38, 0), 9),
    field("code", pa.binary(4), 10),
    field("when", pa.timestamp("us"), 11),
    field("point", pa.struct([field("x", pa.int32(), 13), field("y", pa.string(), 14)]), 12),
    field("list", pa.list_(field("element", pa.int64(), 16)), 15),
    field("map", pa.map_(pa.string(), pa.int64()), 17),
    field("structs", pa.list_(field("element", pa.struct([field("a", pa.int32(), 21),
                                                          field("b", pa.list_(field("element", pa.int32(), 23)), 22)]),
                                    20)), 19),
])


def table(n, schema=ROWS):
    return pa.Table.from_pylist([{name: row(i)[name] for name in schema.names} for i in range(n)], schema)


def write(path, data, **options):
    options = {"compression": "snappy", "write_page_checksum": True, **options}
    pq.write_table(data, path, **options)


def write_rows(folder):
    small_pages = {"row_group_size": 1000, "data_page_size": 512, "write_batch_size": 64}
    write(folder / "rows.parquet", table(3500), **small_pages)
    write(folder / "rows_index.parquet", table(3500), write_page_index=True, **small_pages)
    write(folder / "rows_v2.parquet", table(3500), data_page_version="2.0", compression="zstd", use_dictionary=False,
          column_encoding={"id": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "name": "DELTA_LENGTH_BYTE_ARRAY",
                           "real": "BYTE_STREAM_SPLIT"}, **small_pages)
    write(folder / "rows_plain.parquet", table(3500), compression="none", use_dictionary=False,
          write_page_checksum=False, store_decimal_as_integer=True, **small_pages)
    flat = pa.schema([f for f in ROWS if f.name not in ("point", "list", "map", "structs")])
    write(folder / "flat_none.parquet", table(300, flat).slice(0, 0))
    write(folder / "damage_crc.parquet", table(60), row_group_size=25, data_page_size=128, write_batch_size=8)
    write(folder / "damage_plain.parquet", table(60), row_group_size=25, data_page_size=128, write_batch_size=8,
          write_page_checksum=False, use_dictionary=False, compression="none")
    write(folder / "damage_v2.parquet", table(60), row_group_size=25, data_page_size=128, write_batch_size=8,
          write_page_checksum=False, data_page_version="2.0", compression="zstd", write_page_index=True)


def write_types(folder):
    """Narrow and foreign types that a table of wider ones reads."""
    n = 50
    nanos = [i * 1500 - 30000 for i in range(n)]
    names = ["i8", "i16", "i32", "u32", "u64", "f32", "date", "ms", "us", "ns", "time_ms", "time_ns", "dict", "large",
             "fixed", "uuid", "dec4", "dec18", "null", "binary", "ancient"]
    columns = [
        pa.array([i - 25 for i in range(n)], pa.int8()),
        pa.array([i * 600 - 15000 for i in range(n)], pa.int16()),
        pa.array([i * 80000000 - 2000000000 for i in range(n)], pa.int32()),
        pa.array([i * 80000000 for i in range(n)], pa.uint32()),
        pa.array([2**63 + i for i in range(n)], pa.uint64()),
        pa.array([i / 4 for i in range(n)], pa.float32()),
        pa.array([i - 25 for i in range(n)], pa.int32()).cast(pa.date32()),
        pa.array([i - 25 for i in range(n)], pa.int64()).cast(pa.timestamp("ms", "UTC")),
        pa.array(nanos, pa.int64()).cast(pa.timestamp("us", "America/New_York")),
        pa.array(nanos, pa.int64()).cast(pa.timestamp("ns")),
        pa.array(range(n), pa.int32()).cast(pa.time32("ms")),
        pa.array([i * 1000 for i in range(n)], pa.int64()).cast(pa.time64("ns")),
        pa.array([f"d{i % 3}" for i in range(n)]).dictionary_encode(),
        pa.array([f"large{i}" for i in range(n)], pa.large_string()),
        pa.array([bytes([i]) * 3 for i in range(n)], pa.binary(3)),
        pa.array([bytes([i]) * 16 for i in range(n)], pa.binary(16)),
        pa.array([decimal.Decimal(i - 25) / 10 for i in range(n)], pa.decimal128(4, 1)),
        pa.array([decimal.Decimal(i - 25) * 10**12 for i in range(n)], pa.decimal128(18, 3)),
        pa.nulls(n),
        pa.array([b"\xff\xfe"] * n, pa.binary()),
        pa.array([datetime.date(1500, 1, 1)] * n),
    ]
    data = pa.table(dict(zip(names, columns)))
    write(folder / "types.parquet", data, store_decimal_as_integer=True)
    nested = pa.table({"s": pa.StructArray.from_arrays([c for c in columns], names=names)})
    write(folder / "types_nested.parquet", nested, store_decimal_as_integer=True)
    int96 = pa.table({"t": pa.array(nanos, pa.int64()).cast(pa.timestamp("ns")),
                      "s": pa.StructArray.from_arrays([pa.array(nanos, pa.int64()).cast(pa.timestamp("ns"))], ["t"])})
    write(folder / "int96.parquet", int96, use_deprecated_int96_timestamps=True)


def write_calendars(folder):
    """Times of long ago, by Sparks that counted them in one calendar or the other."""
    data = pa.table({"day": pa.array([None, datetime.date(1582, 10, 14), datetime.date(1582, 10, 15)]),
                     "time": pa.array([None, datetime.datetime(1899, 12, 31), datetime.datetime(1900, 1, 1)]),
                     "new": pa.array([datetime.date(2020, 1, 1)] * 3)})
    for name, pairs in (("2", {"version": "2.4.8"}), ("3", {"version": "3.5.0"}),
                        ("3_legacy", {"version": "3.5.0", "legacyDateTime": ""}), ("none", {})):
        pairs = {f"org.apache.spark.{key}": value for key, value in pairs.items()}
        write(folder / f"calendar_{name}.parquet", data.replace_schema_metadata(pairs))
        write(folder / f"calendar_{name}_int96.parquet", data.replace_schema_metadata(pairs),
              use_deprecated_int96_timestamps=True)


def write_shapes(folder):
    """Lists of two levels cannot be written here; lists and structs whose fields changed can."""
    n = 20
    old = pa.schema([
        field("k", pa.int32(), 1),
        field("s", pa.struct([field("a", pa.int32(), 3), field("gone", pa.string(), 4)]), 2),
        field("l", pa.list_(field("element", pa.struct([field("p", pa.int32(), 7), field("gone", pa.string(), 8)]), 6)), 5),
    ])
    rows = [{"k": i, "s": maybe(i, 4, {"a": i, "gone": "x"}), "l": maybe(i, 5, [{"p": i, "gone": None}] * (i % 3))}
            for i in range(n)]
    write(folder / "shapes.parquet", pa.Table.from_pylist(rows, old))
    variant = pa.schema([field("v", pa.struct([field("metadata", pa.binary(), nullable=False),
                                               field("value", pa.binary(), nullable=False)])),
                         field("shredded", pa.struct([field("metadata", pa.binary()), field("value", pa.binary()),
                                                      field("typed_value", pa.int64())]))])
    rows = [{"v": {"metadata": b"\x01\x00\x00", "value": bytes([12, i])}, "shredded": None} for i in range(n)]
    write(folder / "variant.parquet", pa.Table.from_pylist(rows, variant))


def write_ranges(folder):
    """Sorted columns with statistics and a page index; doubles with NaN; texts longer than what statistics keep."""
    n = 4000
    nan = float("nan")
    data = pa.table({
        "n": pa.array(range(n), pa.int32()),
        "s": pa.array([f"{i:05d}" for i in range(n)]),
        "d": pa.array([nan if i % 1000 == 5 else i / 2 for i in range(n)], pa.float64()),
        "p": pa.array([decimal.Decimal(i) / 100 for i in range(n)], pa.decimal128(10, 2)),
        "ns": pa.array([i * 1000 + 1 for i in range(n)], pa.int64()).cast(pa.timestamp("ns")),
        "maybe": pa.array([None if i < 1000 or i % 2 else i for i in range(n)], pa.int64()),
        "b": pa.array([i >= 2000 for i in range(n)]),
        "u": pa.array([i * 1000000 for i in range(n)], pa.uint32()),
        "list": pa.array([[i] for i in range(n)], pa.list_(pa.int32())),
    })
    for name, index in (("ranges.parquet", False), ("ranges_index.parquet", True)):
        write(folder / name, data, row_group_size=1000, data_page_size=400, write_batch_size=50,
              write_page_index=index, use_dictionary=False)


def write_wide(folder):
    """One text that stands for many bytes: a dictionary of one, and rows of 1 MiB."""
    text = "x" * (1 << 20)
    data = pa.table({"i": pa.array(range(256)), "t": pa.array([text] * 256).dictionary_encode().cast(pa.string()),
                     "l": pa.array([[text[:1 << 18]]] * 256)})
    write(folder / "wide.parquet", data, compression="zstd", dictionary_pagesize_limit=1 << 22)


def write_streams(folder):
    """IPC streams in layouts that a table does not have."""
    n = 10
    columns = {
        "dict": pa.array([None if i == 3 else f"d{i % 3}" for i in range(n)]).dictionary_encode(),
        "large": pa.array([f"large{i}" for i in range(n)], pa.large_string()),
        "view": pa.array([f"a view that is long enough {i}" for i in range(n)], pa.string_view()),
        "u8": pa.array(range(n), pa.uint8()),
        "u32": pa.array([2**32 - 1 - i for i in range(n)], pa.uint32()),
        "u64": pa.array([2**64 - 1 - i for i in range(n)], pa.uint64()),
        "ms": pa.array(range(n), pa.int64()).cast(pa.timestamp("ms")),
        "zone": pa.array(range(n), pa.int64()).cast(pa.timestamp("us", "Europe/Oslo")),
        "ns": pa.array([i * 1000 for i in range(n)], pa.int64()).cast(pa.timestamp("ns", "UTC")),
        "time": pa.array(range(n), pa.int32()).cast(pa.time32("s")),
        "date64": pa.array([i * 86400000 for i in range(n)], pa.int64()).cast(pa.date64()),
        "dec32": pa.array([decimal.Decimal(i) / 10 for i in range(n)], pa.decimal32(5, 1)),
        "list": pa.array([[f"{j}" for j in range(i % 3)] for i in range(n)], pa.large_list(pa.large_string())),
        "fsl": pa.array([[i, i + 1] for i in range(n)], pa.list_(pa.int32(), 2)),
        "struct": pa.array([{"d": f"x{i}", "m": [("k", i)]} for i in range(n)],
                           pa.struct([pa.field("d", pa.large_string()), pa.field("m", pa.map_(pa.string(), pa.uint16()))])),
    }
    data = pa.table(columns)
    for name, options in (("stream.arrows", {}), ("stream_zstd.arrows", {"compression": "zstd"}),
                          ("stream_lz4.arrows", {"compression": "lz4"})):
        with pa.ipc.new_stream(str(folder / name), data.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
            for batch in data.to_batches(max_chunksize=4):
                out.write_batch(batch)
    for name, column in (("duration", pa.array([1], pa.int64()).cast(pa.duration("us"))),
                         ("months", pa.array([pa.MonthDayNano([1, 0, 0])])),
                         ("inexact", pa.array([1], pa.int64()).cast(pa.timestamp("ns")))):
        refused = pa.table({"c": column})
        with pa.ipc.new_stream(str(folder / f"{name}.arrows"), refused.schema) as out:
            out.write_table(refused)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (write_rows, write_types, write_calendars, write_shapes, write_ranges, write_wide, write_streams):
        make(folder)


main()
