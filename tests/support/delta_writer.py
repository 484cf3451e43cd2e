# SPDX-License-Identifier: Apache-2.0
"""A Delta table builder that also knows the truth.

The one idea: a test says what happens to rows (`append`, `modify`, `overwrite`, `optimize`, `restore` ...); the
builder writes the log lines, Parquet files and deletion vectors for it by hand, and keeps, in plain Python, the rows
of every version and the change rows each commit must give. It never reads back what it wrote.

    t = Table(root, schema, props={"delta.enableDeletionVectors": "true"})
    with t.commit() as c: c.append([{"id": 1}, {"id": 2}])
    with t.commit() as c: c.modify(lambda r: None if r["id"] == 1 else KEEP, how="dv")
    t.changes(1, 2)   # [(op, before, after, version)], images under the schema of version 2

Anything illegal is made on purpose: `c.raw(action)`, `t.log_path(v)`, or by editing the files afterwards.
Must not know: the reader under test.
"""
import collections
import copy
import json
import os
import random
import urllib.parse
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

from . import deletion_vector as dvs
from .delta_schema import Numbering, arrow_field, freeze, image, keyed, partition_text, stats_text, type_json

KEEP = object()
ROW_ID, ROW_VERSION = "_row-id-col-7d1f", "_row-commit-version-col-93aa"
_READER_FEATURES = {"deletionVectors", "columnMapping", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"}
_START_MS = 1_700_000_000_000
_STEP_MS = 60_000

Change = collections.namedtuple("Change", "op before after snapshot")


class Row:
    """One row: its values by column number, its stable row id and row commit version (None: not given yet)."""
    __slots__ = ("v", "rid", "rcv")

    def __init__(self, v, rid=None, rcv=None):
        self.v, self.rid, self.rcv = v, rid, rcv


class DataFile:
    def __init__(self, path, rows, part):
        self.path, self.rows, self.part = path, rows, part
        self.schema = None              # the table's when the file was written: its statistics speak that language
        self.log_path = None            # as the log spells it
        self.size = 0
        self.base_id = self.rcv = None  # row tracking
        self.dv, self.dv_desc = frozenset(), None
        self.stats = "full"

    def live(self):
        return [r for i, r in enumerate(self.rows) if i not in self.dv]

    def masked(self, positions, desc):
        f = copy.copy(self)
        f.dv, f.dv_desc = frozenset(positions), desc
        return f


class Version:
    """Everything true right after one commit."""

    def __init__(self, number, before):
        self.number, self.before = number, before
        self.files = dict(before.files) if before else {}
        self.schema, self.props = (before.schema, before.props) if before else (None, {})
        self.log = []          # logical changes: (op, row before, row after)
        self.cdc = None        # recorded change rows when the commit has cdc actions
        self.method = "none"   # how the changes of this commit are determined, see Table.commit_changes
        self.ts_ms = None
        self.restored = False
        self.untagged = False  # rows left files, row tracking is on, and the commit does not say that ids were kept

    def rows(self):
        return [r for f in self.files.values() for r in f.live()]


class Table:
    def __init__(self, root, schema, partition_by=(), props=None, mapping=None, features=(), rng=None, create=True, start_ms=_START_MS):
        self.root, self.rng = str(root), rng or random.Random(0)
        self.id = str(uuid.uuid4())
        self.numbering = Numbering(mapping)
        self.mapping = mapping
        self.schema = self.numbering.number(schema)
        self.partition_by = [schema[p].key for p in partition_by]
        self.props, self.extra_features = dict(props or {}), set(features)
        self.versions, self.high_water, self.start_ms = [], -1, start_ms
        self.supported = self._on("delta.enableRowTracking")   # the rowTracking feature is listed
        self.style = Style()
        self.cut = {}   # texts of commits that cut_log() took away; a checkpoint still stands for them
        os.makedirs(os.path.join(self.root, "_delta_log"))
        if create:
            with self.commit(operation="CREATE TABLE") as c:
                c.protocol()
                c.metadata()

    # ------------------------------------------------------------ small facts

    def _on(self, prop):
        return self.props.get(prop) == "true"

    @property
    def latest(self):
        return len(self.versions) - 1

    def log_path(self, version, suffix=".json"):
        return os.path.join(self.root, "_delta_log", f"{version:020d}{suffix}")

    def rows(self, version=None):
        """The rows of a version as images under its own schema."""
        v = self.versions[self.latest if version is None else version]
        return [image(r.v, v.schema) for r in v.rows()]

    def commit(self, **options):
        return Commit(self, **options)

    def set_mtime(self, version, ms):
        os.utime(self.log_path(version), ns=(ms * 1_000_000, ms * 1_000_000))

    # ------------------------------------------------------------ the truth

    def changes(self, first, last):
        """Change rows of versions first..last, inclusive, under the schema of `last`, in commit order."""
        schema = self.versions[last].schema
        out = []
        for v in self.versions[first:last + 1]:
            for op, before, after in self.commit_changes(v, schema):
                out.append(Change(op, before, after, v.number))
        return out

    def loose(self, first, last):
        """Whether some commit's labels may legitimately differ, so that only the net effect can be compared: change
        feed on, no cdc actions and row ids at hand (the format text and the ids say different things), a commit that
        removes files and does not say whether it kept row ids, a RESTORE (its rows come back with the row versions they
        once had, so that neither reading of "changed in this commit" is wrong), or a content
        difference that hangs on a column dropped later in the range."""
        schema = self.versions[last].schema
        for v in self.versions[first:last + 1]:
            if v.method == "feed" and v.before and self._ids_usable(v) and any(op != "insert" for op, *_ in v.log):
                return True
            if v.method == "ids" and (v.untagged or v.restored):
                return True
            if v.method == "content" and v.schema is not schema:
                then = {freeze(image(r.v, v.schema)) for r in self._touched(v)}
                now = {freeze(image(r.v, schema)) for r in self._touched(v)}
                if len(then) != len(now):
                    return True
        return False

    @staticmethod
    def _touched(v):
        old = v.before.files if v.before else {}
        return [r for p in set(old) | set(v.files) if old.get(p) is not v.files.get(p) for f in (old.get(p), v.files.get(p)) if f for r in f.live()]

    @staticmethod
    def _ids_usable(v):
        return v.props.get("delta.enableRowTracking") == "true"

    def commit_changes(self, v, schema):
        """(op, before, after) of one commit. `v.method`: cdc (as recorded), feed (removed rows are deletes, added
        rows inserts), ids (the logical changes: stable row ids carry them), content (multiset difference), none."""
        show = lambda row: None if row is None else image(row.v, schema)
        if v.method == "none":
            return []
        if v.method in ("cdc", "ids"):
            return [one for op, b, a in (v.cdc if v.method == "cdc" else v.log) for one in _halves(op, show(b), show(a))]
        gone, come = _file_rows(v)
        gone, come = [show(r) for r in gone], [show(r) for r in come]
        if v.method == "content":
            gone, come = _difference(gone, come)
        return [("delete", r, None) for r in gone] + [("insert", None, r) for r in come]

    def net(self, first, last):
        """(rows before the range, rows after it) as images under the end schema."""
        schema = self.versions[last].schema
        before = self.versions[first - 1].rows() if first else []
        return [image(r.v, schema) for r in before], [image(r.v, schema) for r in self.versions[last].rows()]

    def image_type(self, version):
        return pa.struct([arrow_field(f) for f in self.versions[version].schema.fields])

    # ------------------------------------------------------------ maintenance of the log and of files

    def checkpoint(self, version=None, style="classic", parts=2, hint=True):
        from .delta_checkpoint import write_checkpoint
        write_checkpoint(self, self.latest if version is None else version, style, parts, hint)

    def cut_log(self, below):
        """Metadata cleanup: one checkpoint stays, the newest at or before `below`; older ones and the commits before
        `below` go."""
        log = os.path.join(self.root, "_delta_log")
        dated = [(int(n[:20]), n) for n in os.listdir(log) if n[:20].isdigit()]
        kept = max((v for v, n in dated if ".checkpoint." in n and v <= below), default=-1)
        for v, n in dated:
            if v < (kept if ".checkpoint." in n else below):
                if n == f"{v:020d}.json":
                    self.cut[v] = open(os.path.join(log, n), encoding="utf-8").read()
                os.remove(os.path.join(log, n))

    def compact_log(self, first, last):
        """<first>.<last>.compacted.json: the reconciled file actions of these commits."""
        state, order = {}, []
        for v in range(first, last + 1):
            for line in open(self.log_path(v), encoding="utf-8"):
                action = json.loads(line)
                ((kind, body),) = action.items()
                if kind in ("add", "remove"):
                    dv = body.get("deletionVector") or {}
                    state[body["path"], dv.get("pathOrInlineDv"), dv.get("offset")] = {kind: dict(body, dataChange=False)}
                elif kind in ("metaData", "protocol", "domainMetadata", "txn"):
                    order.append(action)
        path = os.path.join(self.root, "_delta_log", f"{first:020d}.{last:020d}.compacted.json")
        with open(path, "w", encoding="utf-8") as out:
            for action in order + list(state.values()):
                out.write(_line(action))

    def vacuum(self):
        """Deletes every file that the latest version does not use, change files included."""
        keep = {os.path.normpath(os.path.join(self.root, f.path)) for f in self.versions[-1].files.values()}
        for folder, _, names in os.walk(self.root):
            for n in names:
                if n.endswith(".parquet") and "_delta_log" not in folder and os.path.join(folder, n) not in keep:
                    os.remove(os.path.join(folder, n))

    def shallow_clone(self, root):
        """A new table over this one's files, with absolute paths; its version 0 holds the latest state."""
        t = copy.copy(self)
        t.root, t.versions, t.id, t.props, t.cut = str(root), [], str(uuid.uuid4()), dict(self.props), {}
        t.numbering = copy.deepcopy(self.numbering)
        os.makedirs(os.path.join(t.root, "_delta_log"))
        with t.commit(operation="CLONE") as c:
            c.protocol()
            c.metadata()
            for f in self.versions[-1].files.values():
                g = copy.copy(f)
                g.path = os.path.join(self.root, f.path)
                g.log_path = "file://" + urllib.parse.quote(g.path)
                if f.dv_desc and f.dv_desc["storageType"] == "u":
                    g.dv_desc = dict(f.dv_desc, storageType="p", pathOrInlineDv="file://" + urllib.parse.quote(os.path.join(self.root, f.dv_desc["_file"])))
                c.add_file(g)
        return t


class Style:
    """How files are written; a test or the generator changes what it wants to vary."""
    compression = "snappy"
    row_group_size = None
    int96 = False
    stray_change_type = False     # a `_change_type` column in main data files
    shuffle_columns = False
    omit_null_columns = False
    dictionary = True
    checksum = False
    data_page_version = "1.0"
    stats = "full"                # full, count, none (none only where no vector is)
    bare_removes = False          # removes without partitionValues, size, stats
    dv_kind = "u"                 # u, u-prefix, i, p
    dv_container = "auto"
    prefix_paths = False          # random two-letter folders instead of partition folders
    odd_names = False             # spaces, percent signs and letters beyond ASCII in file names
    raw_unicode = False
    id_columns_everywhere = True  # commits that keep row ids write the id columns into every file, as Spark does
    materialize_version = False   # write the row commit version of changed rows instead of leaving it null
    shuffle_actions = False
    partition_zone = "Z"
    escape_unicode = False


def _line(action):
    return json.dumps(action, separators=(",", ":"), ensure_ascii=False) + "\n"


def _halves(op, before, after):
    if op == "update":
        return [("update_before", before, None), ("update_after", None, after)]
    return [(op, before, after)]


def _file_rows(v):
    """Rows that left and rows that came, file by file; a file on both sides is compared by its vectors."""
    old, new = (v.before.files if v.before else {}), v.files
    gone, come = [], []
    for path, f in old.items():
        g = new.get(path)
        if g is f:
            continue
        keep = g.dv if g else frozenset(range(len(f.rows)))
        gone += [r for i, r in enumerate(f.rows) if i in keep and i not in f.dv]
    for path, g in new.items():
        f = old.get(path)
        if g is f:
            continue
        hidden = f.dv if f else frozenset(range(len(g.rows)))
        come += [r for i, r in enumerate(g.rows) if i in hidden and i not in g.dv]
    return gone, come


def _difference(gone, come):
    g, c = collections.Counter(map(freeze, gone)), collections.Counter(map(freeze, come))
    both = g & c
    def rest(rows, spare):
        spare, out = collections.Counter(spare), []
        for r in rows:
            k = freeze(r)
            if spare[k]:
                spare[k] -= 1
            else:
                out.append(r)
        return out
    return rest(gone, both), rest(come, both)


class Commit:
    """One commit being made. `preserved` False: the writer loses the row ids of copied and updated rows.
    `cdc`: write change files (None: as Spark does, for row-level changes while the feed is on)."""

    def __init__(self, table, operation="WRITE", preserved=True, cdc=None, data_change=True, timestamp=None, tags=None):
        self.t, self.operation, self.preserved, self.cdc_wanted = table, operation, preserved, cdc
        self.data_change, self.tags = data_change, tags
        before = table.versions[-1] if table.versions else None
        self.v = Version(len(table.versions), before)
        self.v.schema, self.v.props = table.schema, dict(table.props)
        self.ts = timestamp if timestamp is not None else table.start_ms + self.v.number * _STEP_MS
        self.head, self.actions = [], []
        self.row_level = self.restored = self.file_changes = False
        self.vectors = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._finish()

    # ------------------------------------------------------------ row changes

    def append(self, rows, files=1):
        """Adds rows (dicts by column name); they are dealt to `files` files per partition."""
        made = [Row(keyed(r, self.t.schema)) for r in rows]
        self.v.log += [("insert", None, r) for r in made]
        self._write(made, files)

    def modify(self, change, inserts=(), how="cow", only=None):
        """The general row-level change: `change(row)` gives KEEP, None (delete) or the new row. `inserts` come along,
        as in MERGE. `how`: cow rewrites the files that hold a changed row, dv masks rows and adds new files.
        `only`: consider these paths alone."""
        self.row_level = True
        keep_ids = self.preserved and self._tracked()
        fresh, log = [], []
        for path, f in list(self.v.files.items()):
            if only is not None and path not in only:
                continue
            hit, copied, moved = [], [], []
            for i, r in enumerate(f.rows):
                if i in f.dv:
                    continue
                new = change(image(r.v, self.t.schema))
                if new is KEEP:
                    copied.append(r)
                    continue
                hit.append(i)
                if new is None:
                    log.append(("delete", r, None))
                    continue
                rid = r.rid if keep_ids else None
                rcv = self.v.number if self.t.style.materialize_version and rid is not None else None
                after = Row(keyed(new, self.t.schema), rid, rcv)
                moved.append(after)
                log.append(("update", r, after) if self.preserved or not self._tracked() else ("delete", r, None))
                if not self.preserved and self._tracked():
                    log.append(("insert", None, after))
            if not hit:
                continue
            whole = not copied
            if how == "dv" and not whole:
                self._mask(f, f.dv | set(hit))
                fresh += moved
            else:
                self.remove_file(f)
                if not keep_ids:
                    copied = [Row(r.v) for r in copied]
                fresh += copied + moved if how == "cow" else moved
        new = [Row(keyed(r, self.t.schema)) for r in inserts]
        self.v.log += log + [("insert", None, r) for r in new]
        self._write(fresh + new, 1)

    def mask(self, path, positions):
        """Gives one file exactly this vector: rows newly hidden are deleted, rows no longer hidden come back."""
        f, positions = self.v.files[path], frozenset(positions)
        self.row_level = True
        self.v.log += [("delete", f.rows[i], None) for i in sorted(positions - f.dv)]
        self.v.log += [("insert", None, f.rows[i]) for i in sorted(f.dv - positions)]
        if positions:
            self._mask(f, positions)
        else:
            self.remove_file(f)
            self.add_file(f.masked((), None))

    def overwrite(self, rows, files=1):
        """Removes every file and adds `rows`."""
        for f in list(self.v.files.values()):
            self.v.log += [("delete", r, None) for r in f.live()]
            self.remove_file(f)
        self.append(rows, files)

    def restore(self, version):
        """Back to the files of an earlier version, re-adding removed paths and shrinking or swapping vectors."""
        then = self.t.versions[version].files
        self.row_level = self.restored = self.v.restored = True
        old = dict(self.v.files)
        for path, f in old.items():
            if then.get(path) is not f:
                self.remove_file(f)
        for path, f in then.items():
            if old.get(path) is not f:
                self.add_file(f)
        gone = {id(r): r for f in old.values() for r in f.live()}
        come = {id(r): r for f in then.values() for r in f.live()}
        by_id = {r.rid: r for k, r in gone.items() if r.rid is not None and k not in come}
        for k, r in come.items():
            if k in gone:
                continue
            before = by_id.pop(r.rid, None) if r.rid is not None else None
            if before is not None:
                gone.pop(id(before))
            if before is None:
                self.v.log.append(("insert", None, r))
            elif before.rcv != r.rcv:
                self.v.log.append(("update", before, r))
        self.v.log += [("delete", r, None) for k, r in gone.items() if k not in come]

    def optimize(self, paths=None, data_change=False):
        """Rewrites files into one per partition without changing rows (dataChange=false, or a writer that says true)."""
        self.data_change, self.operation = data_change, "OPTIMIZE"
        live = []
        for path, f in list(self.v.files.items()):
            if paths is None or path in paths:
                live += f.live() if self.preserved and self._tracked() else [Row(r.v) for r in f.live()]
                self.remove_file(f)
        self._write(live, 1)

    def backfill(self):
        """Row-tracking backfill: every file without a base row id is added again with one (dataChange=false)."""
        self.data_change, self.operation, self.t.supported = False, "ROW TRACKING BACKFILL", True
        for f in list(self.v.files.values()):
            if f.base_id is None:
                g = copy.copy(f)
                g.rows = [Row(r.v) for r in f.rows]
                self.add_file(g)

    # ------------------------------------------------------------ metadata changes

    def set(self, **props):
        """Table properties; dots are written as two underscores and the `delta.` prefix is implied. None unsets."""
        for k, v in props.items():
            k = "delta." + k.replace("__", ".")
            self.t.props.pop(k, None) if v is None else self.t.props.__setitem__(k, v)
        self.v.props = dict(self.t.props)
        self.protocol()
        self.metadata()

    def evolve(self, schema):
        """A new schema, made from `t.schema.changed()`."""
        self.t.schema = self.v.schema = self.t.numbering.number(schema)
        self.protocol()
        self.metadata()

    def enable_mapping(self):
        """Column mapping by name on a table that had none: physical names are the names so far."""
        self.t.mapping = self.t.numbering.mapping = "name"
        self.protocol()
        self.metadata()

    def protocol(self, **override):
        t = self.t
        writer = {"invariants", "appendOnly"} | t.extra_features
        for prop, names in (("delta.enableChangeDataFeed", ["changeDataFeed"]), ("delta.enableDeletionVectors", ["deletionVectors"]),
                            ("delta.enableRowTracking", ["rowTracking", "domainMetadata"]), ("delta.enableTypeWidening", ["typeWidening"]),
                            ("delta.enableInCommitTimestamps", ["inCommitTimestamp"])):
            if prop in t.props:
                writer |= set(names)
        if t.supported:
            writer |= {"rowTracking", "domainMetadata"}
        if t.mapping:
            writer.add("columnMapping")
        if t.props.get("delta.checkpointPolicy") == "v2":
            writer.add("v2Checkpoint")
        if "timestamp_ntz" in json.dumps(type_json(t.schema)):
            writer.add("timestampNtz")
        t.extra_features = writer   # features never leave a protocol again
        reader = sorted(writer & _READER_FEATURES)
        p = {"minReaderVersion": 3 if reader else 1, "minWriterVersion": 7, "writerFeatures": sorted(writer)}
        if reader:
            p["readerFeatures"] = reader
        p.update(override)
        self._once({"protocol": p})

    def metadata(self, **override):
        t = self.t
        conf = dict(t.props)
        if t.mapping:
            conf["delta.columnMapping.mode"] = t.mapping
            conf["delta.columnMapping.maxColumnId"] = str(t.numbering.last)
        if t._on("delta.enableRowTracking"):
            conf["delta.rowTracking.materializedRowIdColumnName"] = ROW_ID
            conf["delta.rowTracking.materializedRowCommitVersionColumnName"] = ROW_VERSION
        names = {f.key: f.name for f in t.schema.fields}
        m = {"id": t.id, "format": {"provider": "parquet", "options": {}},
             "schemaString": json.dumps(type_json(t.schema, t.mapping), separators=(",", ":"), ensure_ascii=False),
             "partitionColumns": [names[k] for k in t.partition_by], "configuration": conf, "createdTime": self.ts}
        m.update(override)
        self._once({"metaData": m})

    def _once(self, action):
        kind = next(iter(action))
        self.head = [a for a in self.head if kind not in a] + [action]

    def raw(self, action):
        """Any action, as it is."""
        self.actions.append(action)

    # ------------------------------------------------------------ files

    def remove_file(self, f):
        del self.v.files[f.path]
        self.file_changes = True
        r = {"path": f.log_path, "deletionTimestamp": self.ts, "dataChange": self.data_change}
        if not self.t.style.bare_removes:
            r.update(extendedFileMetadata=True, partitionValues=self._partition_values(f), size=f.size)
        if f.dv_desc:
            r["deletionVector"] = _public(f.dv_desc)
        if f.base_id is not None and self._assigns():
            r.update(baseRowId=f.base_id, defaultRowCommitVersion=f.rcv)
        self.actions.append({"remove": r})

    def add_file(self, f):
        """Adds a file that exists already (a mask, a re-add, a clone)."""
        self.file_changes = True
        if self._assigns() and f.base_id is None:
            self._assign(f)
        self.v.files[f.path] = f
        self.actions.append({"add": self._add(f)})

    def _mask(self, f, positions):
        self.remove_file(f)
        g = f.masked(positions, None)
        self.vectors.append(g)
        g.dv_desc = {"_pending": True}
        self.file_changes = True
        self.v.files[g.path] = g
        self.actions.append({"add": g})   # its line is written in _finish, when the vector is stored

    def _assigns(self):
        return self.t.supported or self.t._on("delta.enableRowTracking")

    def _tracked(self):
        return self.t._on("delta.enableRowTracking")

    def _assign(self, f):
        f.base_id, f.rcv = self.t.high_water + 1, self.v.number
        self.t.high_water += len(f.rows)
        for i, r in enumerate(f.rows):
            if r.rid is None:
                r.rid = f.base_id + i
            if r.rcv is None:
                r.rcv = f.rcv

    def _write(self, rows, files):
        groups = {}
        for r in rows:
            groups.setdefault(tuple(freeze(r.v.get(k)) for k in self.t.partition_by), []).append(r)
        for group in groups.values():
            n = max(1, min(files, len(group)))
            for i in range(n):
                self._new_file(group[i * len(group) // n:(i + 1) * len(group) // n])

    def _new_file(self, rows):
        part = {k: rows[0].v.get(k) for k in self.t.partition_by}
        f = DataFile(self._path(part, "part"), rows, part)
        f.log_path, f.schema, f.stats = self._encode(f.path), self.t.schema, self.t.style.stats
        columns = self._columns(rows, {k for k in self.t.partition_by})
        if self._tracked() and (any(r.rid is not None for r in rows) or self.row_level and self.preserved and self.t.style.id_columns_everywhere):
            columns[ROW_ID] = pa.array([r.rid for r in rows], pa.int64())
            columns[ROW_VERSION] = pa.array([r.rcv for r in rows], pa.int64())
        if self.t.style.stray_change_type:
            columns["_change_type"] = pa.array(["delete"] * len(rows), pa.string())
        f.size = self._parquet(f.path, columns)
        self.add_file(f)

    def _columns(self, rows, skip):
        t, s = self.t, self.t.style
        fields = [f for f in t.schema.fields if f.key not in skip and f.type != "void"]
        if s.omit_null_columns:
            fields = [f for f in fields if any(r.v.get(f.key) is not None for r in rows)] or fields[:1]
        if s.shuffle_columns:
            fields = t.rng.sample(fields, len(fields))
        out = {}
        for f in fields:
            a = arrow_field(f, physical=True, ids=bool(t.mapping))
            out[a] = pa.array([image(r.v.get(f.key), f.type, physical=True) for r in rows], a.type)
        return out

    def _parquet(self, path, columns):
        s = self.t.style
        fields = [c if isinstance(c, pa.Field) else pa.field(c, a.type) for c, a in columns.items()]
        table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
        full = os.path.join(self.t.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        ntz = "timestamp_ntz" in json.dumps(type_json(self.t.schema))
        pq.write_table(table, full, compression=s.compression, row_group_size=s.row_group_size, use_dictionary=s.dictionary,
                       use_deprecated_int96_timestamps=s.int96 and not ntz, write_page_checksum=s.checksum,
                       data_page_version=s.data_page_version, store_decimal_as_integer=True)
        return os.path.getsize(full)

    def _path(self, part, kind):
        name = f"{kind}-{uuid.uuid4()}.parquet"
        if self.t.style.odd_names:
            name = self.t.rng.choice(["a b ", "50% ", "ü-", "x%20y-", "p+q&r=", "semi;", "at@", "hash#", "q?-", "c:d-"]) + name
        if self.t.style.prefix_paths or not part:
            return (self.t.rng.choice("abcdefgh") + "Q/" if self.t.style.prefix_paths else "") + name
        names = {f.key: f.name for f in self.t.schema.fields}
        folders = [f"{names[k]}={_hive(partition_text(v, self.t.schema[names[k]].type))}" for k, v in part.items()]
        return "/".join(folders + [name])

    def _encode(self, path):
        """The path as the log spells it: percent-encoded once; letters beyond ASCII stay or are encoded, both happen."""
        safe = "/=+-_.~!$&'()*,;@"
        if self.t.style.raw_unicode:
            safe_text = lambda c: c if ord(c) > 127 else urllib.parse.quote(c, safe=safe)
            return "".join(map(safe_text, path))
        return urllib.parse.quote(path, safe=safe)

    def _partition_values(self, f):
        fields = {x.key: x for x in (f.schema or self.t.schema).fields}
        return {fields[k].phys: partition_text(v, fields[k].type, self.t.style.partition_zone) for k, v in f.part.items()}

    def _add(self, f):
        a = {"path": f.log_path, "partitionValues": self._partition_values(f), "size": f.size, "modificationTime": self.ts, "dataChange": self.data_change}
        if f.stats != "none" or f.dv:
            mode = "count" if f.stats == "none" else f.stats
            a["stats"] = stats_text([r.v for r in f.rows], f.schema, set(self.t.partition_by), mode, tight=not f.dv)
        if f.dv_desc:
            a["deletionVector"] = _public(f.dv_desc)
        if f.base_id is not None and self._assigns():
            a.update(baseRowId=f.base_id, defaultRowCommitVersion=f.rcv)
        return a

    def _store_vectors(self):
        """Writes the vectors of this commit: one file for all of them, or inline."""
        s, shared = self.t.style, dvs.VectorFile()
        prefix = "aB" if s.dv_kind == "u-prefix" else ""
        used = False
        for f in self.vectors:
            data = dvs.payload(sorted(f.dv), s.dv_container)
            d = {"sizeInBytes": len(data), "cardinality": len(f.dv)}
            if s.dv_kind == "i":
                d.update(storageType="i", pathOrInlineDv=dvs.z85(data))
            else:
                used = True
                file = os.path.join(prefix, shared.name)
                d.update(offset=shared.add(data), storageType="u", pathOrInlineDv=shared.text(prefix), _file=file)
                if s.dv_kind == "p":
                    d.update(storageType="p", pathOrInlineDv="file://" + urllib.parse.quote(os.path.join(self.t.root, file)))
            f.dv_desc = d
        if used:
            os.makedirs(os.path.join(self.t.root, prefix), exist_ok=True)
            with open(os.path.join(self.t.root, prefix, shared.name), "wb") as out:
                out.write(shared.body)

    # ------------------------------------------------------------ change files and the end of a commit

    def write_cdc(self, recorded):
        """Change files holding exactly these (op, before, after); a bad writer's are made by passing bad ones."""
        self.v.cdc = recorded
        rows = []
        for op, b, a in recorded:
            rows += [("update_preimage", b), ("update_postimage", a)] if op == "update" else [(
                {"update_before": "update_preimage", "update_after": "update_postimage"}.get(op, op), b if b is not None else a)]
        groups = {}
        for kind, r in rows:
            groups.setdefault(tuple(freeze(r.v.get(k)) for k in self.t.partition_by), []).append((kind, r))
        for group in groups.values():
            part = {k: group[0][1].v.get(k) for k in self.t.partition_by}
            f = DataFile(os.path.join("_change_data", self._path(part, "cdc")), [], part)
            columns = self._columns([r for _, r in group], set(self.t.partition_by))
            columns["_change_type"] = pa.array([k for k, _ in group], pa.string())
            size = self._parquet(f.path, columns)
            self.actions.append({"cdc": {"path": self._encode(f.path), "partitionValues": self._partition_values(f), "size": size, "dataChange": False}})

    def _finish(self):
        t, v = self.t, self.v
        feed = v.props.get("delta.enableChangeDataFeed") == "true"
        if self.cdc_wanted is None:
            self.cdc_wanted = feed and self.row_level and not self.restored and any(op != "insert" for op, *_ in v.log)
        if self.cdc_wanted and v.cdc is None:
            self.write_cdc(list(v.log))
        self._store_vectors()
        if not self.data_change or not self.file_changes:
            v.method = "none" if v.cdc is None else "cdc"
        elif v.cdc is not None:
            v.method = "cdc"
        elif feed:
            v.method = "feed"
        elif t._on("delta.enableRowTracking") and self.preserved and v.before and v.before.props.get("delta.enableRowTracking") == "true":
            v.method = "ids"
        else:
            v.method = "content"
        self._publish()
        t.versions.append(v)

    def _publish(self):
        t, v = self.t, self.v
        info = {"timestamp": self.ts, "operation": self.operation, "operationParameters": {}, "engineInfo": "table-builder"}
        v.ts_ms = self.ts
        if v.props.get("delta.enableInCommitTimestamps") == "true":
            info = {"inCommitTimestamp": self.ts, **info}
        if self._tracked() and self.row_level or self.operation == "OPTIMIZE" and self._tracked():
            info["tags"] = {"delta.rowTracking.preserved": "true" if self.preserved else "false"}
        v.untagged = "tags" not in info and any("remove" in a for a in self.actions)
        if self.tags is not None:
            info["tags"] = self.tags
        actions = [{"add": self._add(a["add"])} if isinstance(a.get("add"), DataFile) else a for a in self.actions]
        if self._assigns() and self.file_changes:
            mark = json.dumps({"rowIdHighWaterMark": t.high_water, "domainName": "delta.rowTracking"})
            actions.append({"domainMetadata": {"domain": "delta.rowTracking", "configuration": mark, "removed": False}})
        if t.style.shuffle_actions:
            t.rng.shuffle(actions)
        # whole or not at all, as every writer of the format does it: a reader may be looking at this moment
        path = t.log_path(v.number)
        unseen = os.path.join(os.path.dirname(path), f".{v.number:020d}.json.tmp")
        with open(unseen, "w", encoding="utf-8") as out:
            for a in [{"commitInfo": info}, *self.head, *actions]:
                out.write(json.dumps(a, separators=(",", ":"), ensure_ascii=t.style.escape_unicode) + "\n")
        os.utime(unseen, ns=(self.ts * 1_000_000, self.ts * 1_000_000))
        os.replace(unseen, path)


def _public(desc):
    return {k: v for k, v in desc.items() if not k.startswith("_")}


def _hive(text):
    """A partition value in a folder name: escaped once by the writer, before the log escapes the path again."""
    if text is None or text == "":
        return "__HIVE_DEFAULT_PARTITION__"
    return "".join(f"%{ord(c):02X}" if c in "\"#%'*/:=?\\{[]^\x7f" or c < " " else c for c in text)
