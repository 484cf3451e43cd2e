#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets json, bitmap and avro into fuzz/corpora: small sound inputs of every shape, from
which the fuzzer finds the unsound ones. Run with build/venv/bin/python; the result is the same every time.
"""
import io
import json
import random
import struct
import sys
import zlib
from pathlib import Path

import fastavro
import zstandard

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support import deletion_vector  # noqa: E402


def write(target, name, data):
    folder = ROOT / "fuzz" / "corpora" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def json_seeds():
    commit = {"add": {"path": "p=a%20b/part-0.parquet", "partitionValues": {"p": "a b", "q": None}, "size": 1024,
                      "modificationTime": 1700000000000, "dataChange": True,
                      "stats": json.dumps({"numRecords": 3, "minValues": {"a": -1.5e-7}, "nullCount": {"a": 0}}),
                      "deletionVector": {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4,
                                         "sizeInBytes": 40, "cardinality": 6}}}
    metadata = {"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://b/t",
                "schemas": [{"type": "struct", "schema-id": 0, "fields": [
                    {"id": 1, "name": "x", "required": True, "type": "long"},
                    {"id": 2, "name": "m", "required": False, "type": {"type": "map", "key-id": 3, "key": "string",
                                                                       "value-id": 4, "value": "decimal(9,2)"}}]}],
                "snapshots": [{"snapshot-id": 9223372036854775807, "sequence-number": 1, "summary": {}}], "refs": {}}
    write("json", "commit", json.dumps(commit).encode())
    write("json", "metadata", json.dumps(metadata, indent=1).encode())
    write("json", "scalars", b'[0,-1,1.5,1E+3,-0.0,9223372036854775807,-9223372036854775808,true,false,null,""]')
    write("json", "text", '["\\u0000\\ud83d\\ude00\\"\\\\\\/\\b\\f\\n\\r\\t","é€😀"]'.encode())
    write("json", "deep", b"[" * 40 + b"{}" + b"]" * 40)
    write("json", "duplicate", b'{"a":1,"\\u0061":2}')
    write("json", "integer_past_64_bits", b"9223372036854775808")


def bitmap_seeds():
    rng = random.Random(1)
    sets = {
        "empty": [],
        "one": [7],
        "array": sorted(rng.sample(range(3000), 40)),
        "runs": [*range(100, 200), *range(65500, 65600), *range(300000, 300003)],
        "full": range(65536),
        "bitset": sorted(rng.sample(range(65536), 5000)),
        "many_keys": [k << 16 for k in range(9)],
        "two_buckets": [1, 2, 3, (5 << 32) + 7],
        "last": [2**63 - 1],
    }
    for name, positions in sets.items():
        for kind in ("array", "run", "mixed"):
            if name == "bitset" and kind == "run":
                continue  # more runs than bytes are worth
            write("bitmap", f"{name}_{kind}", deletion_vector.payload(positions, kind))
    write("bitmap", "framed", deletion_vector.frame(deletion_vector.payload(sets["runs"], "run")))
    write("bitmap", "text", deletion_vector.z85(deletion_vector.payload([1, 5])).encode())


def snappy(data):
    """Literals alone: sound, if not small."""
    out = bytearray()
    n = len(data)
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    for at in range(0, len(data), 60):
        piece = data[at:at + 60]
        out.append((len(piece) - 1) << 2)
        out += piece
    return bytes(out) + struct.pack(">I", zlib.crc32(data))


def deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


CODECS = {"null": bytes, "deflate": deflate, "snappy": snappy, "zstandard": zstandard.ZstdCompressor().compress}


def encode(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def container(schema, records, codec, per_block=2):
    marker = b"lakecdc-seeds-16"
    entries = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode(), "format-version": b"2"}
    out = b"Obj\x01" + encode({"type": "map", "values": "bytes"}, entries) + marker
    for at in range(0, len(records), per_block):
        block = records[at:at + per_block]
        data = CODECS[codec](b"".join(encode(schema, record) for record in block))
        out += encode("long", len(block)) + encode("bytes", data) + marker
    return out


def optional(kind):
    return ["null", kind]


def id_map(name, key, value, kind):
    return {"type": "array", "logicalType": "map", "items": {"type": "record", "name": name, "fields": [
        {"name": "key", "type": "int", "field-id": key}, {"name": "value", "type": kind, "field-id": value}]}}


MANIFEST = {"type": "record", "name": "manifest_entry", "fields": [
    {"name": "status", "type": "int", "field-id": 0},
    {"name": "snapshot_id", "type": optional("long"), "field-id": 1},
    {"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
        {"name": "content", "type": "int", "field-id": 134},
        {"name": "file_path", "type": "string", "field-id": 100},
        {"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": [
            {"name": "d", "type": optional({"type": "int", "logicalType": "date"}), "field-id": 1000},
            {"name": "n", "field-id": 1001, "type": optional({"type": "fixed", "name": "decimal_9_2", "size": 4,
                                                              "logicalType": "decimal", "precision": 9, "scale": 2})}]}},
        {"name": "record_count", "type": "long", "field-id": 103},
        {"name": "null_value_counts", "type": optional(id_map("k121_v122", 121, 122, "long")), "field-id": 110},
        {"name": "lower_bounds", "type": optional(id_map("k126_v127", 126, 127, "bytes")), "field-id": 125},
        {"name": "split_offsets", "field-id": 132,
         "type": optional({"type": "array", "items": "long", "element-id": 133})}]}}]}

KINDS = {"type": "record", "name": "top", "namespace": "a.b", "fields": [
    {"name": "z", "type": "null"}, {"name": "b", "type": "boolean"}, {"name": "f", "type": "float"},
    {"name": "d", "type": "double"}, {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "x", "type": {"type": "fixed", "name": "F", "size": 3}}, {"name": "x2", "type": "a.b.F"},
    {"name": "m", "type": {"type": "map", "values": optional("string")}},
    {"name": "n", "type": optional({"type": "record", "name": "node", "fields": [
        {"name": "v", "type": "long"}, {"name": "next", "type": optional("node")}]})}]}


def avro_seeds():
    def entry(i):
        return {"status": i % 3, "snapshot_id": 2**62 + i if i else None, "data_file": {
            "content": 0, "file_path": f"s3://b/t/data/{i:05}.parquet",
            "partition": {"d": 19000 + i, "n": b"\0\0\1\2" if i % 2 else None}, "record_count": 10 * i,
            "null_value_counts": [{"key": 1, "value": i}], "lower_bounds": [{"key": 1, "value": b"\1\0\0\0"}],
            "split_offsets": [4, 1000] if i % 2 else None}}

    kinds = [{"z": None, "b": True, "f": 1.5, "d": -2.5, "e": "B", "x": b"abc", "x2": b"def",
              "m": {"k": "é", "l": None}, "n": {"v": -(2**63), "next": {"v": 1, "next": None}}}]
    for codec in CODECS:
        write("avro", f"manifest_{codec}", container(MANIFEST, [entry(i) for i in range(4)], codec))
        write("avro", f"kinds_{codec}", container(KINDS, kinds, codec))
    write("avro", "no_records", container(MANIFEST, [], "null"))
    write("avro", "long", container("long", list(range(9)), "null", per_block=4))


json_seeds()
bitmap_seeds()
avro_seeds()
