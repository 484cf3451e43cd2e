# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of every kind for the Delta table builder.

The one idea: a checkpoint is the reconciled list of actions of one version, taken here from the JSON commits the
builder wrote; the kinds differ only in how that list is dealt out to files.
"""
import json
import os
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_DV = pa.struct([("storageType", pa.string()), ("pathOrInlineDv", pa.string()), ("offset", pa.int32()), ("sizeInBytes", pa.int32()), ("cardinality", pa.int64())])
_ADD = pa.struct([("path", pa.string()), ("partitionValues", _TEXT_MAP), ("size", pa.int64()), ("modificationTime", pa.int64()), ("dataChange", pa.bool_()),
                  ("stats", pa.string()), ("tags", _TEXT_MAP), ("deletionVector", _DV), ("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64())])
_REMOVE = pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_()), ("extendedFileMetadata", pa.bool_()),
                     ("partitionValues", _TEXT_MAP), ("size", pa.int64()), ("deletionVector", _DV), ("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64())])
_OTHER = {
    "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()), ("readerFeatures", pa.list_(pa.string())), ("writerFeatures", pa.list_(pa.string()))]),
    "metaData": pa.struct([("id", pa.string()), ("name", pa.string()), ("description", pa.string()), ("format", pa.struct([("provider", pa.string()), ("options", _TEXT_MAP)])),
                           ("schemaString", pa.string()), ("partitionColumns", pa.list_(pa.string())), ("createdTime", pa.int64()), ("configuration", _TEXT_MAP)]),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", _TEXT_MAP)]),
    "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", _TEXT_MAP)]),
}
_ALL = {"add": _ADD, "remove": _REMOVE, **_OTHER}


def reconciled(table, version):
    """(file actions, other actions) that stand at `version`."""
    files, other = {}, {}
    for v in range(version + 1):
        text = table.cut.get(v) or open(table.log_path(v), encoding="utf-8").read()
        for line in text.splitlines():
            ((kind, a),) = json.loads(line).items()
            dv = a.get("deletionVector") or {} if isinstance(a, dict) else {}
            if kind in ("add", "remove"):
                key = a["path"], dv.get("pathOrInlineDv"), dv.get("offset")
                a = dict(a, dataChange=False)
                if kind == "remove":
                    a.pop("stats", None)
                files[key] = (kind, a)
            elif kind in ("protocol", "metaData"):
                other[kind] = (kind, a)
            elif kind == "domainMetadata":
                other[kind, a["domain"]] = (kind, a)
            elif kind == "txn":
                other[kind, a["appId"]] = (kind, a)
    return [{k: a} for k, a in files.values()], [{k: a} for k, a in other.values()]


def _maps(value, type):
    """JSON objects as the pair lists that Arrow maps want."""
    if value is None:
        return None
    if pa.types.is_struct(type):
        return {f.name: _maps(value.get(f.name), f.type) for f in type}
    if pa.types.is_map(type):
        return list(value.items())
    return value


def _parquet(path, actions, kinds):
    schema = pa.schema([(k, _ALL[k]) for k in kinds])
    arrays = [pa.array([_maps(a.get(k), t) for a in actions], t) for k, t in zip(kinds, schema.types)]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, compression="snappy")
    return os.path.getsize(path)


def write_checkpoint(table, version, style, parts, hint):
    """`style`: classic, multi, v2-json, v2-parquet, v2-json-inline, v2-parquet-inline (inline: no sidecars)."""
    files, other = reconciled(table, version)
    log = os.path.join(table.root, "_delta_log")
    note = {"version": version, "size": len(files) + len(other)}
    if style == "classic":
        _parquet(table.log_path(version, ".checkpoint.parquet"), other + files, ["protocol", "metaData", "txn", "add", "remove", "domainMetadata"])
    elif style == "multi":
        everything = other + files
        for p in range(parts):
            name = f"{version:020d}.checkpoint.{p + 1:010d}.{parts:010d}.parquet"
            _parquet(os.path.join(log, name), everything[p::parts], ["protocol", "metaData", "txn", "add", "remove", "domainMetadata"])
        note["parts"] = parts
    else:
        top = [{"checkpointMetadata": {"version": version}}] + other
        if style.endswith("-inline"):
            top += files
        else:
            for p in range(parts):
                name = f"{version:020d}.checkpoint.{p + 1:010d}.{parts:010d}.{uuid.uuid4()}.parquet"
                size = _parquet(os.path.join(log, "_sidecars", name), files[p::parts], ["add", "remove"])
                top.append({"sidecar": {"path": name, "sizeInBytes": size, "modificationTime": 1}})
        base = os.path.join(log, f"{version:020d}.checkpoint.{uuid.uuid4()}")
        if style.startswith("v2-json"):
            with open(base + ".json", "w", encoding="utf-8") as out:
                out.writelines(json.dumps(a, separators=(",", ":")) + "\n" for a in top)
        else:
            _parquet(base + ".parquet", top, ["protocol", "metaData", "txn", "add", "remove", "domainMetadata", "checkpointMetadata", "sidecar"])
    if hint:
        with open(os.path.join(log, "_last_checkpoint"), "w") as out:
            json.dump(note, out)
