# SPDX-License-Identifier: Apache-2.0
"""A builder of Iceberg tables for tests: any situation the format allows, and some it forbids.

The one idea: the builder keeps every file it wrote in memory too (rows by field id), so the exact rows of every
snapshot follow from the delete rules of the format, applied here by the plainest code that can do it (`Table.alive`).
Nothing in here reads a file back. It must not know what a change reader does with the table: expected change rows are
computed from the states, in support/iceberg_harness.py.
"""
import dataclasses, gzip, io, json, math, os, random, re, zlib
from dataclasses import dataclass, field as dc_field

import fastavro

from .iceberg_files import by_id, column, avro_primitive, deletion_vector, entry_schema, list_schema, odd, parquet_bytes, puffin
from .iceberg_types import (DELETE_POS, DELETE_PATH, DELETE_ROW, MISSING, Field, PartitionField, Spec, Struct, all_fields, by_ids, by_names, bytes_value, canon,
                            path_to, promoted, read_field, stored, transform_type, transform_value, type_json, with_ids)

@dataclass(eq=False, repr=False)
class DataFile:
    path: str                          # as the metadata spells it
    rows: list                         # dicts by field id
    schema: Struct                     # the struct physically written
    spec: Spec
    partition: tuple
    row_ids: list = None               # the _row_id column, if written
    updated: list = None               # the _last_updated_sequence_number column, if written
    size: int = 0
    format: str = "PARQUET"
    content: int = 0
    data_seq: int = None               # set by a writer that keeps an older data sequence number
    seq: int = None
    file_seq: int = None
    snapshot_id: int = None
    stats: bool = True
    local: str = ""                    # where the bytes are on this machine
    overrides: dict = dc_field(default_factory=dict)     # field id -> value, for illegal entries

    @property
    def count(self):
        return len(self.rows)


@dataclass(eq=False, repr=False)
class DeleteFile:
    kind: str                          # "pos", "eq" or "dv"
    path: str
    spec: Spec
    partition: tuple
    count: int
    size: int = 0
    format: str = "PARQUET"
    content: int = 1
    positions: dict = None             # pos, dv: path -> set of positions
    keys: list = None                  # eq: tuples of key values
    key_fields: tuple = ()             # eq: the path of fields to each key column
    refers: str = None                 # referenced_data_file
    offset: int = None
    length: int = None
    data_seq: int = None
    seq: int = None
    file_seq: int = None
    snapshot_id: int = None
    stats: bool = True
    local: str = ""
    overrides: dict = dc_field(default_factory=dict)


@dataclass(eq=False, repr=False)
class Entry:
    status: int                        # 0 existing, 1 added, 2 deleted
    file: object
    snapshot_id: int = None            # None: inherited
    seq: int = None
    file_seq: int = None
    first_row_id: int = None


@dataclass(eq=False, repr=False)
class Manifest:
    path: str
    length: int
    content: int
    spec: Spec
    snapshot_id: int
    seq: int
    entries: list
    first_row_id: int = None           # belongs to the manifest list that names it

    def live(self):
        return [e for e in self.entries if e.status != 2]


@dataclass(eq=False, repr=False)
class Snapshot:
    id: int
    parent: "Snapshot"
    seq: int
    ts: int
    operation: str
    schema: "Schema"
    manifests: list
    data: list
    deletes: list
    first_ids: dict
    list_path: str = None
    list_local: str = ""
    first_row_id: int = None
    added_rows: int = None
    summary: dict = dc_field(default_factory=dict)
    version: int = 2


@dataclass(frozen=True)
class Schema(Struct):
    id: int = 0


@dataclass(frozen=True)
class Row:
    values: dict                       # by column name, in the schema asked for
    row_id: object
    updated: object
    file: DataFile
    pos: int


AUTO = object()


class Table:
    """One Iceberg table under `root`. Style switches are plain attributes; change them whenever you like:
    codec, stats, odd_avro, explicit_entries, block_bytes, gzip_metadata, naming ("hint", "catalog"), parquet."""

    def __init__(self, root, columns, spec=(), version=2, location=None, seed=0, properties=None, **style):
        self.root = os.path.abspath(root)
        self.location = location or self.root
        self.version = version
        self.rng = random.Random(seed)
        self.properties = dict(properties or {})
        self.codec, self.stats, self.odd_avro, self.explicit_entries, self.block_bytes = "deflate", True, False, False, 16000
        self.gzip_metadata, self.naming, self.parquet, self.bare_v1, self.inline_manifests = False, "hint", {}, False, False
        self.last_column_id, self.schemas = 0, []
        self.last_partition_id, self.specs, self.specs_used = 999, [], False
        self.last_seq, self.next_row_id, self.clock = 0, 0, 1_700_000_000_000
        self.snapshots, self.refs, self.log, self.metadata_number, self.serial = [], {}, [], 0, 0
        self.fields_ever = {}
        self.current = None               # the current snapshot
        for k, v in style.items():
            assert hasattr(self, k), k
            setattr(self, k, v)
        os.makedirs(f"{self.root}/metadata", exist_ok=True)
        os.makedirs(f"{self.root}/data", exist_ok=True)
        self.set_columns([c if isinstance(c, Field) else Field(0, *c) for c in columns])
        self.set_spec(spec)

    # -- schema

    def take_id(self):
        self.last_column_id += 1
        return self.last_column_id

    @property
    def schema(self):
        return self._schema

    def set_columns(self, fields):
        """A new current schema; fields without an id are new columns."""
        numbered = [dataclasses.replace(f, id=f.id or self.take_id()) for f in fields]
        fields = tuple(with_ids(f, self.take_id) for f in numbered)
        self._schema = Schema(fields, id=len(self.schemas))
        self.schemas.append(self._schema)
        for f in all_fields(self._schema):
            self.fields_ever[f.id] = f

    def add_column(self, name, type, initial=MISSING, required=False):
        self.set_columns(list(self.schema) + [Field(0, name, type, required, initial)])

    def drop_column(self, name):
        self.set_columns([f for f in self.schema if f.name != name])

    def rename_column(self, name, new):
        self.change_column(name, name=new)

    def promote_column(self, name, type):
        self.change_column(name, type=type)

    def change_column(self, column, **what):
        self.set_columns([dataclasses.replace(f, **what) if f.name == column else f for f in self.schema])

    def move_column(self, name, index):
        fields = [f for f in self.schema if f.name != name]
        fields.insert(index, self.schema.named(name))
        self.set_columns(fields)

    # -- partitioning

    def set_spec(self, fields):
        """A new default spec from (column name or field id, transform[, name]) triples; equal fields keep their ids."""
        made, known = [], {(f.source, f.transform, f.name): f.id for s in self.specs for f in s.fields}
        for i, (source, transform, *name) in enumerate(fields):
            id = source if isinstance(source, int) else self.schema.named(source).id
            label = name[0] if name else f"{self.fields_ever[id].name}_{re.sub('[^a-z0-9]', '', transform)}" if transform != "identity" else self.fields_ever[id].name
            number = known.get((id, transform, label)) if self.version > 1 else 1000 + i
            if number is None:
                self.last_partition_id += 1
                number = self.last_partition_id
            self.last_partition_id = max(self.last_partition_id, number)
            made.append(PartitionField(id, number, label, transform))
        if not self.snapshots and not self.specs_used:
            self.specs = []
        same = next((s for s in self.specs if s.fields == tuple(made)), None)
        self.spec = same or Spec(len(self.specs), tuple(made))
        if not same:
            self.specs.append(self.spec)

    def partition_of(self, row, spec=None):
        """The partition tuple of a row (dict by id)."""
        out = []
        for f in (spec or self.spec).fields:
            v, steps = row, path_to(self.schema, f.source) or [self.fields_ever[f.source]]
            for step in steps:
                v = None if v is None else v.get(step.id)
            out.append(transform_value(f.transform, steps[-1].type, v))
        return tuple(out)

    # -- making files (nothing is committed yet)

    def new_name(self, folder, suffix):
        self.serial += 1
        name = f"{folder}/{self.serial:05d}-{self.rng.getrandbits(32):08x}{suffix}"
        return f"{self.location}/{name}", f"{self.root}/{name}"

    def store(self, folder, suffix, data):
        path, local = self.new_name(folder, suffix)
        os.makedirs(os.path.dirname(local), exist_ok=True)
        with open(local, "wb") as h:
            h.write(data)
        return path, local

    def row(self, values, schema=None):
        """A row by field id from values by column name, or in column order."""
        schema = schema or self.schema
        if not isinstance(values, dict):
            values = dict(zip((f.name for f in schema), values))
        names = {f.name for f in schema}
        assert set(values) <= names, f"unknown columns {set(values) - names}"
        return {f.id: by_ids(values.get(f.name), f.type) for f in schema}

    def data(self, rows, schema=None, spec=None, partition=AUTO, omit=(), row_ids=None, updated=None, data_seq=None, ids=True, by_id=False,
             folder="data", write=None):
        """Write one data file. `omit` leaves columns out of the file (identity partition columns, old writers)."""
        schema, spec = schema or self.schema, spec or self.spec
        self.specs_used = True
        rows = list(rows) if by_id else [self.row(r, schema) for r in rows]
        if partition is AUTO:
            found = {canon(self.partition_of(r, spec)): self.partition_of(r, spec) for r in rows} or {(): (None,) * len(spec.fields)}
            assert len(found) == 1, "rows of one file must share a partition"
            partition = next(iter(found.values()))
        written = stored(Struct(tuple(f for f in schema if f.name not in omit)))
        raw = (write or parquet_bytes)(rows, written, row_ids, updated, ids, **self.parquet)
        path, local = self.store(folder, ".parquet", raw)
        return DataFile(path, rows, written, spec, partition, row_ids, updated, len(raw), data_seq=data_seq, stats=self.stats, local=local)

    def files(self, rows, per_file=None, **options):
        """Data files for rows of any partitions, in order of their appearance."""
        spec, groups = options.get("spec") or self.spec, {}
        rows = list(rows) if options.get("by_id") else [self.row(r, options.get("schema")) for r in rows]
        extra = {k: options.pop(k) for k in ("row_ids", "updated") if options.get(k) is not None}
        for i, r in enumerate(rows):
            groups.setdefault(canon(self.partition_of(r, spec)), []).append(i)
        out = []
        for members in groups.values():
            step = per_file or len(members)
            for at in range(0, len(members), step):
                some = members[at:at + step]
                picked = {k: [v[i] for i in some] for k, v in extra.items()}
                out.append(self.data([rows[i] for i in some], **{**options, **picked, "by_id": True}))
        return out

    def position_deletes(self, hits, row_column=False, refer=False, data_seq=None):
        """One position delete file for {data file: positions} of one partition and spec, sorted by path and position."""
        files = sorted(hits, key=lambda f: f.path)
        assert len({(f.spec, canon(f.partition)) for f in files}) <= 1
        rows, schema = [], [Field(DELETE_PATH, "file_path", "string", True), Field(DELETE_POS, "pos", "long", True)]
        if row_column:
            schema.append(Field(DELETE_ROW, "row", Struct(self.schema.fields)))
        for f in files:
            for p in sorted(hits[f]):
                rows.append({DELETE_PATH: f.path, DELETE_POS: p, DELETE_ROW: self.read_by_id(f, p, self.schema) if row_column and p < f.count else None})
        if row_column and any(r[DELETE_ROW] is None for r in rows):
            schema.pop()
        raw = parquet_bytes(rows, Struct(tuple(schema)), **self.parquet)
        path, local = self.store("data", "-deletes.parquet", raw)
        d = DeleteFile("pos", path, files[0].spec, files[0].partition, len(rows), len(raw), positions={f.path: set(hits[f]) for f in files}, data_seq=data_seq, stats=self.stats, local=local)
        if refer and len(files) == 1:
            d.refers = files[0].path
        return d

    def vectors(self, hits, kind="auto"):
        """Deletion vectors for {data file: positions}, all in one Puffin file."""
        blobs = []
        for f in hits:
            blobs.append((deletion_vector(hits[f], kind), {"referenced-data-file": f.path, "cardinality": str(len(set(hits[f])))}))
        raw, places = puffin(blobs)
        path, local = self.store("data", "-deletes.puffin", raw)
        return [DeleteFile("dv", path, f.spec, f.partition, len(set(hits[f])), len(raw), format="PUFFIN", positions={f.path: set(hits[f])}, refers=f.path, offset=o, length=n, stats=False, local=local)
                for f, (o, n) in zip(hits, places)]

    def equality_deletes(self, keys, columns, spec=None, partition=(), extra=(), data_seq=None, schema=None):
        """One equality delete file: `keys` as tuples of the `columns` (names or ids); `extra` columns are in the file but no key."""
        schema, spec = schema or self.schema, self.spec if spec is None else spec
        paths = []
        for c in columns:
            id = c if isinstance(c, int) else schema.named(c).id
            paths.append(tuple(path_to(schema, id) or [self.fields_ever[id]]))
        keys = [k if isinstance(k, tuple) else (k,) for k in keys]
        tops, rows = {}, [dict() for _ in keys]
        for at, steps in enumerate(paths):
            top = tops.get(steps[0].id)
            tops[steps[0].id] = steps[0] if top is None else top
            for r, k in zip(rows, keys):
                inner = r
                for step in steps[:-1]:
                    inner = inner.setdefault(step.id, {})
                inner[steps[-1].id] = k[at]
        written = [dataclasses.replace(f, required=False) for f in tops.values()] + [schema.named(n) for n in extra]
        raw = parquet_bytes(rows, Struct(tuple(written)), **self.parquet)
        path, local = self.store("data", "-eq-deletes.parquet", raw)
        d = DeleteFile("eq", path, spec, tuple(partition), len(keys), len(raw), content=2, keys=keys, key_fields=tuple(paths), data_seq=data_seq, stats=self.stats, local=local)
        return d

    # -- committing

    def commit(self, operation, add=(), remove=(), add_deletes=(), remove_deletes=(), *, branch="main", parent=AUTO, merge=False, drop_dead=False,
               keep_dead=False, keep_vectors=False, snapshot_id=None, timestamp=None, summary=None, no_summary=False):
        """One snapshot. `merge` folds everything into one manifest for each content and spec; `drop_dead` leaves out a manifest
        whose entries all die here instead of writing DELETED entries; `keep_dead` carries manifests without live entries on."""
        if parent is AUTO:
            parent = self.refs.get(branch, (None,))[0]
        add, remove, add_deletes, remove_deletes = list(add), list(remove), list(add_deletes), list(remove_deletes)
        if parent and not keep_vectors:
            gone = {f.path for f in remove} | {d.refers for d in add_deletes if d.kind == "dv"}
            remove_deletes += [d for d in parent.deletes if d.kind == "dv" and d.refers in gone and d not in remove_deletes]
        id = snapshot_id or self.rng.getrandbits(62) + 1
        seq = self.last_seq + 1 if self.version > 1 else 0
        for f in add + add_deletes:
            if f.snapshot_id is None:
                f.snapshot_id, f.file_seq, f.seq = id, seq, seq if f.data_seq is None else f.data_seq
        self.clock += 1000
        s = Snapshot(id, parent, seq, timestamp or self.clock, operation, self.schema, [], [], [], {}, version=self.version, summary=dict(summary or {}))
        s.summary = None if no_summary else {"operation": operation, **s.summary}
        s.manifests = self.manifests_of(s, add, remove, add_deletes, remove_deletes, merge, drop_dead, keep_dead)
        s.data = [e.file for m in s.manifests if m.content == 0 for e in m.live()]
        s.deletes = [e.file for m in s.manifests if m.content == 1 for e in m.live()]
        self.assign_row_ids(s)
        self.write_list(s)
        self.last_seq = max(self.last_seq, seq)
        self.snapshots.append(s)
        self.refs[branch] = (s, "branch")
        if branch == "main":
            self.current = s
            self.log.append((s.ts, s.id))
        return s

    def manifests_of(self, s, add, remove, add_deletes, remove_deletes, merge, drop_dead, keep_dead):
        """The manifests of a new snapshot; rewritten and new ones are written here."""
        gone, kept, touched = {id(f) for f in remove + remove_deletes}, [], []
        for m in s.parent.manifests if s.parent else []:
            if any(id(e.file) in gone for e in m.live()) or (merge and m.live()):
                touched.append(m)
            elif m.live() or keep_dead:
                kept.append(m)
        found = {id(e.file) for m in touched for e in m.live()}
        assert gone <= found, "a file to remove is not live in the parent"
        groups = {}
        for m in touched:
            live = m.live()
            if drop_dead and all(id(e.file) in gone for e in live):
                continue
            entries = [Entry(2 if id(e.file) in gone else 0, e.file, s.id if id(e.file) in gone else e.file.snapshot_id, e.file.seq, e.file.file_seq,
                             s.parent.first_ids.get(e.file)) for e in live]
            groups.setdefault((m.content, m.spec) if merge else (m.content, m.spec, m.path), []).extend(entries)
        for content, files in ((0, add), (1, add_deletes)):
            for f in files:
                explicit = self.explicit_entries or self.version == 1
                again = f.snapshot_id != s.id          # a file that comes back (cherry-pick, undone removal)
                e = Entry(1, f, s.id if explicit or again else None, f.seq if self.explicit_entries or f.data_seq is not None or again else None,
                          f.file_seq if self.explicit_entries or again else None)
                key = (content, f.spec) if merge else (content, f.spec, "new")
                groups.setdefault(key, []).append(e)
        new = [self.write_manifest(s, key[0], key[1], entries) for key, entries in groups.items()]
        return new + kept

    def assign_row_ids(self, s):
        """Row lineage (v3): ids for the manifests that have none, then for the files in them."""
        if s.version < 3:
            return
        s.first_row_id = self.next_row_id
        for i, m in enumerate(s.manifests):
            if m.content == 0 and m.first_row_id is None:
                s.manifests[i] = m = dataclasses.replace(m, first_row_id=self.next_row_id)
                self.next_row_id += sum(e.file.count for e in m.live())
            at = m.first_row_id
            for e in m.live() if m.content == 0 else ():
                if e.first_row_id is not None:
                    s.first_ids[e.file] = e.first_row_id
                else:
                    s.first_ids[e.file] = at
                    at += e.file.count
        s.added_rows = self.next_row_id - s.first_row_id

    def entry_values(self, e, version):
        f = e.file
        v = {134: f.content, 100: f.path, 101: f.format, 102: {p.id: x for p, x in zip(f.spec.fields, f.partition)}, 103: f.count, 104: f.size, 105: 64 << 20}
        if f.stats:
            v.update(metrics(self, f))
        if isinstance(f, DeleteFile):
            v.update({135: [steps[-1].id for steps in f.key_fields] or None, 143: f.refers, 144: f.offset, 145: f.length})
        elif e.first_row_id is not None:
            v[142] = e.first_row_id
        v.update(f.overrides)
        return {0: e.status, 1: e.snapshot_id, 3: e.seq, 4: e.file_seq, 2: v}

    def write_manifest(self, s, content, spec, entries):
        partition = []
        for p in spec.fields:
            source = self.fields_ever[p.source].type
            name = re.sub("[^A-Za-z0-9_]", "_", p.name)
            partition.append(column(p.id, name if not name[:1].isdigit() else "_" + name, avro_primitive(transform_type(p.transform, source), f"p{p.id}")))
        header = {"schema": json.dumps(type_json(self.schema) | {"schema-id": self.schema.id}), "schema-id": str(self.schema.id), "partition-spec": json.dumps([partition_json(f) for f in spec.fields]),
                  "partition-spec-id": str(spec.id), "format-version": str(s.version), "content": ("data", "deletes")[content]}
        if s.version == 1:
            del header["content"]
        path, local, size = self.write_avro("-m0.avro", entry_schema(s.version, partition), [self.entry_values(e, s.version) for e in entries], header)
        return Manifest(path, size, content, spec, s.id, s.seq, entries)

    def write_list(self, s):
        if self.version == 1 and self.inline_manifests:
            return
        rows = [self.list_entry(m) for m in s.manifests]
        header = {"snapshot-id": str(s.id), "parent-snapshot-id": str(s.parent.id) if s.parent else "null", "format-version": str(s.version)}
        if s.version > 1:
            header["sequence-number"] = str(s.seq)
        s.list_path, s.list_local, _ = self.write_avro("-snap.avro", list_schema(s.version), rows, header)

    def list_entry(self, m):
        files, rows = [0, 0, 0], [0, 0, 0]
        for e in m.entries:
            files[e.status] += 1
            rows[e.status] += e.file.count
        seqs = [e.file.seq for e in m.live()]
        return {500: m.path, 501: m.length, 502: m.spec.id, 517: m.content, 515: m.seq, 516: min(seqs) if seqs else m.seq, 503: m.snapshot_id, 504: files[1], 505: files[0], 506: files[2],
                512: rows[1], 513: rows[0], 514: rows[2], 507: self.summaries(m) if self.stats else None, 520: m.first_row_id}

    def summaries(self, m):
        out = []
        for i, p in enumerate(m.spec.fields):
            t = transform_type(p.transform, self.fields_ever[p.source].type)
            values = [e.file.partition[i] for e in m.entries]
            real = [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
            out.append({"contains_null": None in values, "contains_nan": any(isinstance(v, float) and math.isnan(v) for v in values) if t in ("float", "double") else None,
                        "lower_bound": bytes_value(t, min(real)) if real else None, "upper_bound": bytes_value(t, max(real)) if real else None})
        return out

    def write_avro(self, suffix, schema, rows, header):
        if self.odd_avro:
            schema = odd(schema, self.rng)
        out = io.BytesIO()
        fastavro.writer(out, fastavro.parse_schema(schema), [by_id(schema, r) for r in rows], codec=self.codec, metadata=header, sync_interval=self.block_bytes)
        path, local = self.store("metadata", suffix, out.getvalue())
        return path, local, len(out.getvalue())

    # -- metadata.json

    def tag(self, name, snapshot):
        self.refs[name] = (snapshot, "tag")

    def branch(self, name, snapshot):
        self.refs[name] = (snapshot, "branch")

    def rollback(self, snapshot):
        """main points back at an older snapshot; what came after stays in the list."""
        self.current = snapshot
        self.refs["main"] = (snapshot, "branch")
        self.clock += 1000
        self.log.append((self.clock, snapshot.id))

    def expire(self, snapshots):
        self.snapshots = [s for s in self.snapshots if s not in snapshots]
        gone = {s.id for s in snapshots}
        self.log = [x for x in self.log if x[1] not in gone]

    def upgrade(self, version):
        assert version > self.version
        self.version = version

    def snapshot_json(self, s):
        j = {"snapshot-id": s.id, "timestamp-ms": s.ts, "schema-id": s.schema.id}
        if s.version > 1 or self.version > 1:
            j["sequence-number"] = s.seq
        if s.parent:
            j["parent-snapshot-id"] = s.parent.id
        if s.summary is not None:
            j["summary"] = s.summary
        if s.list_path is None:
            j["manifests"] = [m.path for m in s.manifests]
        else:
            j["manifest-list"] = s.list_path
        if s.first_row_id is not None:
            j.update({"first-row-id": s.first_row_id, "added-rows": s.added_rows})
        if self.version == 1 and self.bare_v1:
            del j["schema-id"]
        return j

    def metadata(self):
        schemas = [type_json(s) | {"schema-id": s.id} for s in self.schemas]
        specs = [{"spec-id": s.id, "fields": [partition_json(f) for f in s.fields]} for s in self.specs]
        j = {"format-version": self.version, "table-uuid": "6c1a5f4e-0000-4000-8000-%012x" % (zlib.crc32(self.root.encode())), "location": self.location, "last-updated-ms": self.clock,
             "last-column-id": self.last_column_id, "properties": self.properties, "current-snapshot-id": self.current.id if self.current else -1,
             "snapshots": [self.snapshot_json(s) for s in self.snapshots], "snapshot-log": [{"timestamp-ms": t, "snapshot-id": i} for t, i in self.log], "metadata-log": []}
        if self.version == 1:
            j.update({"schema": schemas[self.schema.id], "partition-spec": specs[self.spec.id]["fields"]})
        if self.version == 1 and self.bare_v1:
            return j
        j.update({"current-schema-id": self.schema.id, "schemas": schemas, "default-spec-id": self.spec.id, "partition-specs": specs, "last-partition-id": self.last_partition_id,
                  "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "statistics": [], "partition-statistics": []})
        j["refs"] = {n: {"snapshot-id": s.id, "type": kind} for n, (s, kind) in self.refs.items()}
        if self.version > 1:
            j["last-sequence-number"] = self.last_seq
        if self.version > 2:
            j["next-row-id"] = self.next_row_id
        return j

    def save(self, metadata=None):
        """Write the next metadata file; returns its local path."""
        self.metadata_number += 1
        text = json.dumps(metadata or self.metadata()).encode()
        infix, text = (".gz", gzip.compress(text)) if self.gzip_metadata else ("", text)
        n = self.metadata_number
        name = f"v{n}{infix}.metadata.json" if self.naming == "hint" else f"{n:05d}-{self.rng.getrandbits(64):016x}{infix}.metadata.json"
        local = f"{self.root}/metadata/{name}"
        self.publish(local, text)
        if self.naming == "hint":
            self.publish(f"{self.root}/metadata/version-hint.text", str(n).encode())
        return local

    @staticmethod
    def publish(path, data):
        """Whole or not at all: a reader may be looking at this moment."""
        unseen = os.path.join(os.path.dirname(path), ".unseen")
        with open(unseen, "wb") as h:
            h.write(data)
        os.replace(unseen, path)

    # -- truth: the rows of a snapshot, by the rules of the format

    def alive(self, s):
        """{data file: sorted live positions} of a snapshot."""
        if s is None:
            return {}
        cached = s.__dict__.get("_alive")
        if cached is None:
            cached = s.__dict__["_alive"] = {f: sorted(set(range(f.count)) - self.deleted(s, f)) for f in s.data}
        return cached

    def deleted(self, s, f):
        """The deleted positions of a data file in a snapshot."""
        dead = set()
        same_partition = lambda d: d.spec == f.spec and canon(d.partition) == canon(f.partition)
        vector = next((d for d in s.deletes if d.kind == "dv" and d.refers == f.path and f.seq <= d.seq), None)
        for d in s.deletes:
            if d.kind == "eq" and f.seq < d.seq and (not d.spec.partitioned or same_partition(d)):
                keys = {canon(self.newest_key(d, k)) for k in d.keys}
                dead |= {p for p in range(f.count) if canon(self.key_at(f, p, d)) in keys}
            elif d.kind == "pos" and vector is None and f.seq <= d.seq and same_partition(d):
                dead |= d.positions.get(f.path, set())
        return dead | (vector.positions[f.path] if vector else set())

    def newest_key(self, d, key):
        return tuple(promoted(v, steps[-1].type, self.fields_ever[steps[-1].id].type) for v, steps in zip(key, d.key_fields))

    def key_at(self, f, pos, d):
        """The key of a row for an equality delete, in each key column's widest type."""
        out = []
        for steps in d.key_fields:
            widest = self.fields_ever[steps[-1].id]
            v, written = f.rows[pos], f.schema
            for step in steps[:-1]:
                w = written.get(step.id)
                v, written = (v.get(step.id) if w is not None and v is not None else None), (w.type if w is not None else None)
            if v is None:
                out.append(None)
            else:
                out.append(read_field(v, written, widest, self.constant(f, widest)))
        return tuple(out)

    def constant(self, f, column):
        """The identity partition value of a column, or MISSING."""
        for p, v in zip(f.spec.fields, f.partition):
            if p.source == column.id and p.transform == "identity":
                return v
        return MISSING

    def read_by_id(self, f, pos, schema):
        return {c.id: read_field(f.rows[pos], f.schema, c, self.constant(f, c)) for c in schema}

    def read(self, f, pos, schema):
        return {c.name: by_names(read_field(f.rows[pos], f.schema, c, self.constant(f, c)), c.type) for c in schema}

    def row_of(self, s, f, pos, schema):
        """A live row of a snapshot with its lineage."""
        base = s.first_ids.get(f)
        row_id = f.row_ids[pos] if f.row_ids is not None else None
        updated = f.updated[pos] if f.updated is not None else None
        if base is not None:
            row_id = base + pos if row_id is None else row_id
            updated = f.seq if updated is None else updated
        else:
            row_id = updated = None
        return Row(self.read(f, pos, schema), row_id, updated, f, pos)

    def rows(self, s=AUTO, schema=None):
        s = self.current if s is AUTO else s
        return [self.row_of(s, f, p, schema or s.schema) for f, live in self.alive(s).items() for p in live]

    def line(self, to):
        """Snapshots from the oldest that is still listed to `to`, along the parents."""
        out, s = [], to
        while s is not None and s in self.snapshots:
            out.append(s)
            s = s.parent
        return out[::-1]

    # -- everyday operations, each what an engine does

    def append(self, rows, per_file=None, **commit):
        return self.commit("append", self.files(rows, per_file), **commit)

    def find(self, matches, s=AUTO, branch="main"):
        """{data file: positions} of the live rows for which matches(row by column name) holds."""
        s = self.refs[branch][0] if s is AUTO else s
        out = {}
        for f, live in self.alive(s).items():
            hit = [p for p in live if matches(self.read(f, p, self.schema))]
            if hit:
                out[f] = hit
        return out

    def lineage(self, s, f, positions):
        """What a writer copies: ids and last-updated numbers of these rows (None for both where the file has no ids)."""
        rows = [self.row_of(s, f, p, self.schema) for p in positions]
        return [r.row_id for r in rows], [r.updated for r in rows]

    def rewrite(self, f, s, keep, change=None, lineage=True, data_seq=None):
        """The files that copy-on-write puts in place of one file: kept positions copied, `change` {pos: new row} applied."""
        change, order = change or {}, sorted(set(keep) | set(change or {}))
        rows = [change.get(p) or self.read_by_id(f, p, self.schema) for p in order]
        if not rows:
            return []
        options = {}
        if self.version >= 3 and lineage:
            ids, updated = self.lineage(s, f, order)
            options = {"row_ids": ids, "updated": [None if p in change else u for p, u in zip(order, updated)]}
        return self.files(rows, by_id=True, data_seq=data_seq, **options)

    def delete_cow(self, matches, lineage=True, operation="overwrite", branch="main", **commit):
        s, add, remove = self.refs[branch][0], [], []
        for f, hit in self.find(matches, branch=branch).items():
            remove.append(f)
            add += self.rewrite(f, s, set(self.alive(s)[f]) - set(hit), lineage=lineage)
        return self.commit(operation if add else "delete", add, remove, branch=branch, **commit)

    def update_cow(self, matches, change, lineage=True, branch="main", **commit):
        """`change` maps a row by column name to the new row by column name."""
        s, add, remove = self.refs[branch][0], [], []
        for f, hit in self.find(matches, branch=branch).items():
            remove.append(f)
            new = {p: self.row(change(self.read(f, p, self.schema))) for p in hit}
            add += self.rewrite(f, s, set(self.alive(s)[f]) - set(hit), new, lineage=lineage)
        return self.commit("overwrite", add, remove, branch=branch, **commit)

    def delete_mor(self, matches, add=(), branch="main", row_column=False, refer=False, **commit):
        """Position deletes (v2) or deletion vectors (v3), with files added in the same commit."""
        s = self.refs[branch][0]
        deletes, obsolete = self.mark(s, self.find(matches, branch=branch), row_column=row_column, refer=refer)
        return self.commit("overwrite" if add else "delete", add, (), deletes, obsolete, branch=branch, **commit)

    def mark(self, s, hits, row_column=False, refer=False):
        """Delete files that mark these positions dead, and those they replace."""
        if self.version >= 3:
            return self.vectors({f: set(p) | self.position_dead(s, f) for f, p in hits.items()}), []
        return self.mark_new(hits, row_column, refer), []

    def mark_new(self, hits, row_column=False, refer=False):
        """The same for files of the commit that is being made."""
        if self.version >= 3:
            return self.vectors(hits)
        groups = {}
        for f, p in hits.items():
            groups.setdefault((f.spec, canon(f.partition)), {})[f] = p
        return [self.position_deletes(g, row_column, refer) for g in groups.values()]

    def position_dead(self, s, f):
        """Positions that vectors and position deletes, not equality deletes, mark dead: what a new vector must contain."""
        vector = [d for d in s.deletes if d.kind == "dv" and d.refers == f.path]
        other = [d for d in s.deletes if d.kind == "pos" and d.spec == f.spec and canon(d.partition) == canon(f.partition) and f.seq <= d.seq]
        return set().union(*(d.positions.get(f.path, set()) for d in vector or other))

    def update_mor(self, matches, change, branch="main", **commit):
        s = self.refs[branch][0]
        hits = self.find(matches, branch=branch)
        rows, ids = [], []
        for f, positions in hits.items():
            rows += [change(self.read(f, p, self.schema)) for p in positions]
            ids += self.lineage(s, f, positions)[0]
        options = {"row_ids": ids, "updated": [None] * len(ids)} if self.version >= 3 else {}
        deletes, obsolete = self.mark(s, hits)
        return self.commit("overwrite", self.files(rows, **options), (), deletes, obsolete, branch=branch, **commit)

    def upsert(self, rows, key, branch="main", **commit):
        """What a streaming writer does: an equality delete on the key for each partition, and the new rows."""
        add = self.files(rows)
        deletes = []
        for f in add:
            keys = [tuple(f.rows[p][self.schema.named(k).id] for k in key) for p in range(f.count)]
            deletes.append(self.equality_deletes(keys, key, f.spec, f.partition))
        return self.commit("overwrite", add, (), deletes, branch=branch, **commit)

    def delete_keys(self, keys, columns, spec=None, partition=(), branch="main", **commit):
        return self.commit("delete", (), (), [self.equality_deletes(keys, columns, spec, partition)], branch=branch, **commit)

    def compact(self, files, operation="replace", keep_seq=False, branch="main", lineage=True, **commit):
        """Rewrite files into one for each partition without their dead rows; same rows, whatever the operation is called."""
        s, rows, ids, updated = self.refs[branch][0], [], [], []
        for f in files:
            live = self.alive(s)[f]
            rows += [self.read_by_id(f, p, self.schema) for p in live]
            a, b = self.lineage(s, f, live)
            ids, updated = ids + a, updated + b
        options = {"row_ids": ids, "updated": updated} if self.version >= 3 and lineage else {}
        add = self.files(rows, by_id=True, data_seq=s.seq if keep_seq and s.version > 1 else None, **options)
        return self.commit(operation, add, files, branch=branch, **commit)


# ------------------------------------------------------------------------------------------------------ small things


def partition_json(f):
    return {"name": f.name, "transform": f.transform, "source-id": f.source, "field-id": f.id}


def text_bounds(low, high, width):
    """Bounds of strings cut to `width` code points, as writers cut them; no upper bound when none fits."""
    low = low[:width]
    if len(high) <= width:
        return low, high
    cut = high[:width]
    while cut:
        nxt = ord(cut[-1]) + 1
        if nxt <= 0x10FFFF and not 0xD800 <= nxt <= 0xDFFF:
            return low, cut[:-1] + chr(nxt)
        cut = cut[:-1]
    return low, None


def metrics(table, f):
    """Counts and bounds of a file by manifest field id. `stats` may be True or the width that text bounds are cut to."""
    counts, nulls, nans, lower, upper = {}, {}, {}, {}, {}

    def put(id, t, values):
        counts[id], nulls[id] = len(values), sum(v is None for v in values)
        real = [v for v in values if v is not None]
        if t in ("float", "double"):
            nans[id] = sum(math.isnan(v) for v in real)
            real = [v for v in real if not math.isnan(v)]
        if not real or not isinstance(t, str):
            return
        low, high = min(real), max(real)
        if t == "string" and f.stats is not True:
            low, high = text_bounds(low, high, f.stats)
        lower[id] = bytes_value(t, low)
        if high is not None:
            upper[id] = bytes_value(t, high)

    def columns(schema, rows):
        for c in schema:
            if isinstance(c.type, Struct):
                columns(c.type, [(r or {}).get(c.id) for r in rows])
            elif isinstance(c.type, str):
                put(c.id, c.type, [(r or {}).get(c.id) for r in rows])

    if isinstance(f, DataFile):
        columns(f.schema, f.rows)
    elif f.kind == "eq":
        for i, steps in enumerate(f.key_fields):
            put(steps[-1].id, steps[-1].type, [k[i] for k in f.keys])
    elif f.kind == "pos":
        put(DELETE_PATH, "string", [p for p, hit in f.positions.items() for _ in hit])
        put(DELETE_POS, "long", [x for hit in f.positions.values() for x in hit])
        if f.stats is not True:            # path bounds must be whole: a reader may take equal bounds for "one file only"
            lower[DELETE_PATH], upper[DELETE_PATH] = (bytes_value("string", b) for b in (min(f.positions), max(f.positions)))
    pairs = lambda d: [{"key": k, "value": v} for k, v in d.items()]
    return {109: pairs(counts), 110: pairs(nulls), 137: pairs(nans), 125: pairs(lower), 128: pairs(upper)}
