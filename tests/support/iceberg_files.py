# SPDX-License-Identifier: Apache-2.0
"""The bytes of an Iceberg table's files: Parquet data, Puffin vectors, and the Avro schemas of the metadata.

The one idea: everything is keyed by field id, and `odd` lays the same records out the way another writer might, so a
reader that goes by name or by position is found out.
"""
import io, json

import pyarrow as pa, pyarrow.parquet as pq

from .deletion_vector import frame, payload
from .iceberg_types import LAST_UPDATED, ROW_ID, Field, arrow_field, arrow_value, decimal_of, fixed_of

PUFFIN_MAGIC = b"PFA1"


def parquet_bytes(rows, schema, row_ids=None, updated=None, ids=True, **options):
    """A data file: the rows as dicts by field id, the struct they are written with, and the lineage columns if given."""
    fields = [arrow_field(f, ids, nested=False) for f in schema]
    columns = [[arrow_value(r.get(f.id), f.type) for r in rows] for f in schema]
    for id, name, values in ((ROW_ID, "_row_id", row_ids), (LAST_UPDATED, "_last_updated_sequence_number", updated)):
        if values is not None:
            fields.append(arrow_field(Field(id, name, "long")))
            columns.append(values)
    arrow = pa.schema(fields)
    table = pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, arrow)], schema=arrow) if fields else pa.table({"_empty": [None] * len(rows)})
    out = io.BytesIO()
    pq.write_table(table, out, **{"store_schema": False, "compression": "zstd", **options})
    return out.getvalue()


def deletion_vector(positions, kind="auto"):
    """The deletion-vector-v1 blob: a length, magic and 64-bit Roaring, a checksum; the framing Delta uses too."""
    return frame(payload(sorted(set(positions)), kind))


def puffin(blobs):
    """A Puffin file with these (bytes, properties) vectors; returns the bytes and the (offset, size) of each."""
    out, places, listed = PUFFIN_MAGIC, [], []
    for blob, properties in blobs:
        places.append((len(out), len(blob)))
        listed.append({"type": "deletion-vector-v1", "fields": [2147483645], "snapshot-id": -1, "sequence-number": -1, "offset": len(out), "length": len(blob), "properties": properties})
        out += blob
    footer = json.dumps({"blobs": listed, "properties": {"created-by": "table builder"}}).encode()
    return out + PUFFIN_MAGIC + footer + len(footer).to_bytes(4, "little") + bytes(4) + PUFFIN_MAGIC, places


# ------------------------------------------------------------------------------------------------------ files: Avro


def avro_primitive(t, name):
    if decimal_of(t):
        precision, scale = decimal_of(t)
        size = next(n for n in range(1, 17) if 10**precision <= 2 ** (8 * n - 1))
        return {"type": "fixed", "name": f"decimal_{name}", "size": size, "logicalType": "decimal", "precision": precision, "scale": scale}
    if fixed_of(t):
        return {"type": "fixed", "name": f"fixed_{name}", "size": fixed_of(t)}
    if t == "uuid":
        return {"type": "fixed", "name": f"uuid_{name}", "size": 16, "logicalType": "uuid"}
    if t == "date":
        return {"type": "int", "logicalType": "date"}
    if t == "time":
        return {"type": "long", "logicalType": "time-micros"}
    if t.startswith("timestamp"):
        return {"type": "long", "logicalType": "timestamp-nanos" if t.endswith("_ns") else "timestamp-micros", "adjust-to-utc": "tz" in t}
    return "bytes" if t == "binary" else "null" if t == "unknown" else t


def column(id, name, type, optional=True):
    return {"name": name, "type": ["null", type], "default": None, "field-id": id} if optional else {"name": name, "type": type, "field-id": id}


def int_map(key_id, value_id, type):
    return {"type": "array", "logicalType": "map", "items": {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": [
        column(key_id, "key", "int", False), column(value_id, "value", type, False)]}}


def entry_schema(version, partition):
    """The manifest entry as Avro; `partition` is the list of the partition tuple's Avro fields."""
    record = {"type": "record", "name": "r102", "fields": partition}
    f = [column(134, "content", "int", False)] if version > 1 else []
    f += [column(100, "file_path", "string", False), column(101, "file_format", "string", False), column(102, "partition", record, False),
          column(103, "record_count", "long", False), column(104, "file_size_in_bytes", "long", False)]
    if version == 1:
        f.append(column(105, "block_size_in_bytes", "long", False))
    f += [column(108, "column_sizes", int_map(117, 118, "long")), column(109, "value_counts", int_map(119, 120, "long")),
          column(110, "null_value_counts", int_map(121, 122, "long")), column(137, "nan_value_counts", int_map(138, 139, "long")),
          column(125, "lower_bounds", int_map(126, 127, "bytes")), column(128, "upper_bounds", int_map(129, 130, "bytes")),
          column(131, "key_metadata", "bytes"), column(132, "split_offsets", {"type": "array", "items": "long", "element-id": 133})]
    if version > 1:
        f.append(column(135, "equality_ids", {"type": "array", "items": "int", "element-id": 136}))
    f.append(column(140, "sort_order_id", "int"))
    if version > 2:
        f.append(column(142, "first_row_id", "long"))
    if version > 1:
        f.append(column(143, "referenced_data_file", "string"))
    if version > 2:
        f += [column(144, "content_offset", "long"), column(145, "content_size_in_bytes", "long")]
    e = [column(0, "status", "int", False), column(1, "snapshot_id", "long", optional=version > 1)]
    if version > 1:
        e += [column(3, "sequence_number", "long"), column(4, "file_sequence_number", "long")]
    e.append(column(2, "data_file", {"type": "record", "name": "r2", "fields": f}, False))
    return {"type": "record", "name": "manifest_entry", "fields": e}


def list_schema(version):
    summary = {"type": "record", "name": "r508", "fields": [column(509, "contains_null", "boolean", False), column(518, "contains_nan", "boolean"),
               column(510, "lower_bound", "bytes"), column(511, "upper_bound", "bytes")]}
    f = [column(500, "manifest_path", "string", False), column(501, "manifest_length", "long", False), column(502, "partition_spec_id", "int", False)]
    if version > 1:
        f += [column(517, "content", "int", False), column(515, "sequence_number", "long", False), column(516, "min_sequence_number", "long", False)]
    f.append(column(503, "added_snapshot_id", "long", False))
    counts = ((504, "added_files_count", "int"), (505, "existing_files_count", "int"), (506, "deleted_files_count", "int"),
              (512, "added_rows_count", "long"), (513, "existing_rows_count", "long"), (514, "deleted_rows_count", "long"))
    f += [column(id, name if version > 1 else name.replace("_files_", "_data_files_"), type, optional=version == 1) for id, name, type in counts]
    f += [column(507, "partitions", {"type": "array", "items": summary, "element-id": 508}), column(519, "key_metadata", "bytes")]
    if version > 2:
        f.append(column(520, "first_row_id", "long"))
    return {"type": "record", "name": "manifest_file", "fields": f}


def by_id(schema, values):
    """A record for fastavro from values by field id; what is absent is null."""
    out = {}
    for f in schema["fields"]:
        t = f["type"]
        v = values.get(f.get("field-id"))
        if isinstance(t, dict) and t["type"] == "record":
            v = by_id(t, v or {})
        elif v is None and not isinstance(t, list):
            v = {"string": "", "bytes": b""}.get(t, 0)      # a field only an odd writer adds
        out[f["name"]] = v
    return out


def odd(schema, rng):
    """The same schema as another writer might lay it out: other names, another order, a field nobody knows."""
    fields = []
    for f in schema["fields"]:
        f = dict(f, name="x_" + f["name"])
        if isinstance(f["type"], dict) and f["type"]["type"] == "record":
            f["type"] = odd(f["type"], rng)
        fields.append(f)
    fields.append({"name": f"later_{schema['name']}", "type": rng.choice(["string", "long", ["null", "double"]]), "field-id": 90000 + len(schema["fields"])})
    rng.shuffle(fields)
    return dict(schema, fields=fields)
