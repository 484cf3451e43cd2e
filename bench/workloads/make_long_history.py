# SPDX-License-Identifier: Apache-2.0
"""Tables with a long history or many files, for bench/planning.py and tests/planning: pure Python, no engine.

The one idea: what planning must not read need not be there. Logs, checkpoints, manifests and metadata are whole; of the
data files only those of the newest commits exist.

    delta_log(root, commits, checkpoint_every)     a log of appends, with or without checkpoints and version checksums
    delta_checkpoint(root, files, style)           few commits after a checkpoint of many files (classic, multi, v2)
    iceberg_manifests(root, manifests, ...)        many manifests in the newest snapshots
    iceberg_snapshots(root, snapshots)             a long list of snapshots in metadata.json

As a command: make_long_history.py OUT KIND N
"""
import json, os, sys, uuid

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests"))
from support import iceberg_writer as iw  # noqa: E402

SCHEMA = json.dumps({"type": "struct", "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in (("id", "long"), ("name", "string"), ("day", "string"))]})
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]}
STATS = json.dumps({"numRecords": 10, "minValues": {"id": 0, "name": "a"}, "maxValues": {"id": 9, "name": "z"}, "nullCount": {"id": 0, "name": 0}})
START_MS = 1_700_000_000_000
REAL = 3  # newest commits whose data files are there


def _metadata(partitioned):
    return {"id": "11111111-2222-4333-8444-555555555555", "format": {"provider": "parquet", "options": {}}, "schemaString": SCHEMA,
            "partitionColumns": ["day"] if partitioned else [], "configuration": {}, "createdTime": START_MS}


def _log_path(root, version, suffix=".json"):
    return os.path.join(root, "_delta_log", f"{version:020d}{suffix}")


def _write_commit(root, version, actions):
    with open(_log_path(root, version), "w") as out:
        out.write("".join(json.dumps(a, separators=(",", ":")) + "\n" for a in actions))
    os.utime(_log_path(root, version), (START_MS // 1000 + version, START_MS // 1000 + version))


def _info(version, operation="WRITE"):
    return {"commitInfo": {"timestamp": START_MS + version * 1000, "operation": operation, "txnId": transaction(version)}}


def transaction(version):
    return str(uuid.UUID(int=version + (7 << 96)))


def write_checksum(root, version, metadata, protocol=None, **changed):
    """The version checksum file beside a commit; `changed` members are other than they should be, None: left out."""
    sums = {"txnId": transaction(version), "tableSizeBytes": 1000 * version, "numFiles": version, "numMetadata": 1, "numProtocol": 1, "setTransactions": [], "domainMetadata": [],
            "metadata": metadata, "protocol": protocol or PROTOCOL, **changed}
    with open(_log_path(root, version, ".crc"), "w") as out:
        json.dump({k: v for k, v in sums.items() if v is not None}, out)


def _data_file(root, name, first, partitioned):
    columns = {"id": pa.array(range(first, first + 10), pa.int64()), "name": [f"n{i}" for i in range(10)]}
    if not partitioned:
        columns["day"] = ["d0"] * 10
    pq.write_table(pa.table(columns), os.path.join(root, name))
    return os.path.getsize(os.path.join(root, name))


def _add(name, size, partitioned, change=True):
    return {"add": {"path": name, "partitionValues": {"day": "d0"} if partitioned else {}, "size": size, "modificationTime": START_MS, "dataChange": change, "stats": STATS}}


_TEXTS = pa.map_(pa.string(), pa.string())
_ADD = pa.struct([("path", pa.string()), ("partitionValues", _TEXTS), ("size", pa.int64()), ("modificationTime", pa.int64()), ("dataChange", pa.bool_()), ("stats", pa.string())])
_PROTOCOL = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()), ("readerFeatures", pa.list_(pa.string())), ("writerFeatures", pa.list_(pa.string()))])
_METADATA = pa.struct([("id", pa.string()), ("schemaString", pa.string()), ("partitionColumns", pa.list_(pa.string())), ("createdTime", pa.int64()), ("configuration", _TEXTS)])
_SIDECAR = pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", _TEXTS)])


def _adds(first, n, partitioned, size=1000):
    """`n` add actions as one struct array; the columns are made whole, a row at a time would take minutes."""
    maps = pa.MapArray.from_arrays(pa.array(range(n + 1), pa.int32()), pa.array(["day"] * n), pa.array(["d0"] * n)) if partitioned else pa.array([[]] * n, _TEXTS)
    values = [pa.array([f"part-{i:08d}-{i * 2654435761 % 2**32:08x}.parquet" for i in range(first, first + n)]), maps, pa.array([size] * n, pa.int64()),
              pa.array([START_MS] * n, pa.int64()), pa.array([False] * n), pa.array([STATS] * n)]
    return pa.StructArray.from_arrays(values, fields=list(_ADD))


def _state_rows(partitioned):
    m = {k: v for k, v in _metadata(partitioned).items() if k != "format"} | {"configuration": []}
    return pa.array([PROTOCOL, None], _PROTOCOL), pa.array([None, m], _METADATA)


def _write_rows(path, columns):
    """Columns that do not all have the same rows, one below the other: where one has a value the others are null."""
    n = sum(len(c) for c in columns.values())
    at, arrays = 0, {}
    for name, c in columns.items():
        arrays[name] = pa.concat_arrays([pa.nulls(at, c.type), c, pa.nulls(n - at - len(c), c.type)])
        at += len(c)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(pa.table(arrays), path, compression="snappy", row_group_size=100_000, write_page_index=True)
    return os.path.getsize(path)


def _checkpoint(root, version, files, style="classic", parts=4, partitioned=False, size=1000):
    protocol, metadata = _state_rows(partitioned)
    state = {"protocol": protocol.slice(0, 1), "metaData": metadata.slice(1, 1)}
    cuts = [files * i // parts for i in range(parts + 1)]
    note = {"version": version, "size": files + 2}
    if style == "classic":
        _write_rows(_log_path(root, version, ".checkpoint.parquet"), {**state, "add": _adds(0, files, partitioned, size)})
    elif style == "multi":
        for p in range(parts):
            part = {"add": _adds(cuts[p], cuts[p + 1] - cuts[p], partitioned, size)}
            _write_rows(_log_path(root, version, f".checkpoint.{p + 1:010d}.{parts:010d}.parquet"), {**state, **part} if p == 0 else {"protocol": protocol.slice(0, 0), "metaData": metadata.slice(0, 0), **part})
        note["parts"] = parts
    else:
        sidecars = []
        for p in range(parts):
            name = f"{uuid.UUID(int=version * 1000 + p)}.parquet"
            size = _write_rows(os.path.join(root, "_delta_log", "_sidecars", name), {"add": _adds(cuts[p], cuts[p + 1] - cuts[p], partitioned, size)})
            sidecars.append({"path": name, "sizeInBytes": size, "modificationTime": START_MS, "tags": None})
        _write_rows(_log_path(root, version, f".checkpoint.{uuid.UUID(int=version)}.parquet"), {**state, "sidecar": pa.array(sidecars, _SIDECAR)})
    with open(os.path.join(root, "_delta_log", "_last_checkpoint"), "w") as out:
        json.dump(note, out)


def delta_log(root, commits, checkpoint_every=100, checksums=False):
    """Versions 0..commits, one file each; a checkpoint every so many versions, 0 for none; with `checksums` a version
    checksum beside each commit. Returns the newest version."""
    os.makedirs(os.path.join(root, "_delta_log"))
    _write_commit(root, 0, [_info(0, "CREATE TABLE"), {"protocol": PROTOCOL}, {"metaData": _metadata(False)}])
    for v in range(1, commits + 1):
        name = f"part-{v:08d}.parquet"
        size = _data_file(root, name, v * 10, False) if v > commits - REAL else 1000
        _write_commit(root, v, [_info(v), _add(name, size, False)])
        if checkpoint_every and v % checkpoint_every == 0 and v < commits:
            _checkpoint(root, v, v)
    for v in range(commits + 1) if checksums else ():
        write_checksum(root, v, _metadata(False))
    return commits


def delta_checkpoint(root, files, style="classic", partitioned=False, lean_remove=False):
    """A checkpoint of `files` files at version 9, then three commits: appends, and with `lean_remove` a rewrite whose
    remove says nothing but the path. Returns the newest version."""
    os.makedirs(os.path.join(root, "_delta_log"))
    old = f"part-{files // 2:08d}-{files // 2 * 2654435761 % 2**32:08x}.parquet"
    _checkpoint(root, 9, files, style, partitioned=partitioned, size=_data_file(root, old, 5, partitioned))
    for v in range(9, 13):
        name = f"new-{v:08d}.parquet"
        size = _data_file(root, name, v * 10, partitioned)
        actions = [_info(v), _add(name, size, partitioned)]
        if lean_remove and v == 12:
            actions.append({"remove": {"path": f"new-{11:08d}.parquet", "dataChange": True}})
        if lean_remove and v == 11:
            actions.append({"remove": {"path": old, "dataChange": True}})
        _write_commit(root, v, actions)
    return 12


def _ghost(t, s, number, partition):
    """A data file that only a manifest knows."""
    f = iw.DataFile(f"{t.location}/data/ghost-{number:08d}.parquet", [], t.schema, t.spec, partition, overrides={103: 10, 104: 1000}, stats=False)
    f.snapshot_id, f.seq, f.file_seq = s.id, s.seq, s.seq
    return f


def iceberg_manifests(root, manifests, files_each=5, partitioned=True, version=2, several=False):
    """A snapshot of `manifests` manifests, one a day when `partitioned`, then: an append, a copy-on-write rewrite of the
    appended file, an append of two files, and deletes by position (v2) or vectors (v3) in the second of them; with
    `several` by one delete file about both. Returns the table."""
    t = iw.Table(root, [("id", "long"), ("name", "string"), ("day", "int")], spec=[("day", "identity")] if partitioned else (), version=version)
    s = t.commit("append", add=[t.data([(1, "a", 0)])])
    ghosts = []
    for m in range(manifests - 1):
        files = [_ghost(t, s, m * files_each + k, (m + 1,) if partitioned else ()) for k in range(files_each)]
        ghosts.append(t.write_manifest(s, 0, t.spec, [iw.Entry(1, f) for f in files]))
        s.data.extend(files)
    s.manifests = s.manifests + ghosts
    t.assign_row_ids(s)
    t.write_list(s)
    first = t.data([(i, "b", 7) for i in range(10, 20)])
    t.commit("append", add=[first])
    second = t.data([(i, "c" if i == 12 else "b", 7) for i in range(10, 20)])
    t.commit("overwrite", add=[second], remove=[first])
    third, fourth = t.data([(i, "d", 7) for i in range(20, 30)]), t.data([(i, "d", 8 if partitioned else 7) for i in range(30, 40)])
    t.commit("append", add=[third, fourth])
    hits = {third: {0}, fourth: {1, 3}} if several else {fourth: {1, 3}}
    t.commit("delete", add_deletes=t.vectors(hits) if version > 2 else [t.position_deletes(hits)])
    t.save()
    return t


def iceberg_snapshots(root, snapshots):
    """`snapshots` snapshots; what the old ones list is not there any more than their data is. Returns the table."""
    t = iw.Table(root, [("id", "long"), ("name", "string")], version=2)
    for i in range(snapshots - REAL):
        t.clock += 1000
        parent = t.current
        s = iw.Snapshot(1_000_000_000_000 + i * 7919, parent, i + 1, t.clock, "append", t.schema, [], [], [], {}, version=2,
                        summary={"operation": "append", "added-data-files": "1", "added-records": "100", "added-files-size": "12345", "changed-partition-count": "1",
                                 "total-records": str(100 * i), "total-files-size": str(12345 * i), "total-data-files": str(i), "total-delete-files": "0",
                                 "total-position-deletes": "0", "total-equality-deletes": "0", "engine-name": "spark", "engine-version": "3.5.4"})
        s.list_path = f"{t.location}/metadata/snap-{s.id}-1-{uuid.UUID(int=i)}.avro"
        t.last_seq, t.current = i + 1, s
        t.snapshots.append(s)
        t.refs["main"] = (s, "branch")
        t.log.append((s.ts, s.id))
    for i in range(REAL):
        t.commit("append", add=[t.data([(i, "x")])])
    t.save()
    return t


KINDS = {
    "delta-log": lambda root, n: delta_log(root, n),
    "delta-log-bare": lambda root, n: delta_log(root, n, 0),
    "delta-log-checksums": lambda root, n: delta_log(root, n, 0, checksums=True),
    "delta-classic": lambda root, n: delta_checkpoint(root, n, "classic"),
    "delta-multi": lambda root, n: delta_checkpoint(root, n, "multi"),
    "delta-v2": lambda root, n: delta_checkpoint(root, n, "v2"),
    "delta-lean": lambda root, n: delta_checkpoint(root, n, "classic", partitioned=True, lean_remove=True),
    "iceberg-manifests": lambda root, n: iceberg_manifests(root, n),
    "iceberg-manifests-v3": lambda root, n: iceberg_manifests(root, n, partitioned=False, version=3),
    "iceberg-manifests-several": lambda root, n: iceberg_manifests(root, n, partitioned=False, several=True),
    "iceberg-snapshots": lambda root, n: iceberg_snapshots(root, n),
}

if __name__ == "__main__":
    KINDS[sys.argv[2]](sys.argv[1], int(sys.argv[3]))
