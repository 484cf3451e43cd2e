#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""1,000 equality-delete files over 200 data files: bounded memory, and no delete file is opened twice.

The one idea: peak memory is what the kernel counted for the release command alone (a small process in between keeps
this one's size out of it), opens are what inotify saw in the folder of the delete files, and the rows that must come
out are known from sets of ids. A streaming writer's table (unpartitioned, many commits) is the shape that hurts.
"""
import collections, ctypes, json, os, random, shutil, struct, subprocess, sys, tempfile, threading

import pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import harness
from support.iceberg_harness import Range
from support.iceberg_writer import DataFile, DeleteFile, Table

DATA_FILES, ROWS, DELETE_FILES, KEYS, COMMITS = 200, 5000, 1000, 100, 100
COLUMNS = [("id", "long"), ("payload", "string"), ("n", "int")]

MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


class Opens:
    """Counts the opening of files in a folder while it lives."""

    def __init__(self, folder):
        self.counts, libc = collections.Counter(), ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init()
        assert self.fd >= 0 and libc.inotify_add_watch(self.fd, folder.encode(), 0x20) >= 0, os.strerror(ctypes.get_errno())
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while True:
            data = os.read(self.fd, 1 << 16)
            while data:
                _, mask, _, n = struct.unpack_from("iIII", data)
                assert not mask & 0x4000, "inotify lost events"
                name, data = data[16:16 + n].rstrip(b"\0").decode(), data[16 + n:]
                if not name:
                    continue                            # the folder itself
                if name == "end":
                    return
                self.counts[name] += 1

    def stop(self, folder):
        os.close(os.open(os.path.join(folder, "end"), os.O_CREAT | os.O_RDWR))
        self.thread.join()
        os.close(self.fd)
        return self.counts


def field(name, type, id):
    return pa.field(name, type, metadata={"PARQUET:field_id": str(id)})


def data_file(t, ids):
    """A file whose rows are made by Arrow, not kept row by row."""
    table = pa.table({"id": ids, "payload": [f"payload of row {i:012d}" for i in ids.to_pylist()], "n": pc.cast(pc.bit_wise_and(ids, 1023), pa.int32())},
                     schema=pa.schema([field("id", pa.int64(), 1), field("payload", pa.string(), 2), field("n", pa.int32(), 3)]))
    path, local = t.new_name("data", ".parquet")
    pq.write_table(table, local, store_schema=False)
    return DataFile(path, [None] * len(ids), t.schema, t.spec, (), size=os.path.getsize(local), stats=False, local=local)


def delete_file(t, ids):
    path, local = t.new_name("deletes", ".parquet")
    os.makedirs(os.path.dirname(local), exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}, schema=pa.schema([field("id", pa.int64(), 1)])), local, store_schema=False)
    return DeleteFile("eq", path, t.spec, (), len(ids), os.path.getsize(local), content=2, keys=[], key_fields=((t.schema.named("id"),),), stats=False, local=local)


def build(root, rng):
    """The table, and for each snapshot the ids it deletes."""
    t = Table(root, COLUMNS)
    total, dead, expected = DATA_FILES * ROWS, set(), {}
    places = pa.array(range(total), pa.int64())
    t.commit("append", [data_file(t, places.slice(k * ROWS, ROWS)) for k in range(DATA_FILES)])
    for _ in range(COMMITS):
        files, hit = [], set()
        for _ in range(DELETE_FILES // COMMITS):
            keys = rng.sample(range(total), KEYS) + rng.sample(sorted(dead)[:1000], min(5, len(dead))) + [total + rng.randrange(1000)]
            files.append(delete_file(t, keys))
            hit |= {k for k in keys if k < total} - dead
        s = t.commit("delete", (), (), files)
        expected[s.id], dead = hit, dead | hit
    before = t.current
    gone = before.data[:3]
    kept = sorted(set(range(3 * ROWS)) - dead)
    lost = set(kept[::50])
    s = t.commit("overwrite", [data_file(t, pa.array([i for i in kept if i not in lost], pa.int64()))], gone)
    expected[s.id] = lost
    t.save()
    return t, expected


def measured(*words):
    """(peak resident bytes, deleted ids by snapshot, stats) of one run."""
    with tempfile.NamedTemporaryFile("r") as peak, tempfile.TemporaryFile() as errors:
        p = subprocess.Popen([sys.executable, "-S", "-c", MEASURE, peak.name, harness.CLI, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        deleted, other = collections.defaultdict(list), 0
        try:
            for batch in pa.ipc.open_stream(p.stdout):
                for op, row, s in zip(batch.column(0).to_pylist(), pc.struct_field(batch.column(1), "id").to_pylist(), batch.column(3).to_pylist()):
                    if op == "delete":
                        deleted[s].append(row)
                    else:
                        other += 1
        except pa.ArrowInvalid:
            pass                        # the exit status below says why
        code = p.wait()
        errors.seek(0)
        text = errors.read().decode(errors="replace")
        assert code == 0, f"exit {code}: {text[:400]}"
        stats = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        assert other == 0, f"{other} rows that are no deletes"
        return int(peak.read()) * 1024, deleted, stats[-1] if stats else {}


def main():
    a = harness.arguments(__doc__, limit_mb=dict(type=int, default=256))
    harness.CLI = os.environ.get("LAKECDC_RELEASE", harness.CLI)
    top, passed, failed = harness.workspace(a.keep), 0, 0
    try:
        t, expected = build(top + "/t", random.Random(7))
        first, rewrite = t.snapshots[0], t.current
        middle = t.snapshots[COMMITS // 2]
        for name, start, end, words in (("every commit", first, t.snapshots[-2], []), ("the last commit alone", t.snapshots[-3], t.snapshots[-2], []), ("a rewrite under all deletes", t.snapshots[-2], rewrite, []),
                                        ("half the commits, one column, a filter", middle, rewrite, ["--columns", "id", "--where", f"id >= {ROWS}"])):
            folder = f"{t.root}/deletes"
            opens = Opens(folder)
            try:
                peak, deleted, stats = measured("changes", t.root, *Range(start, end).words(), "--format", "arrow", "--stats", *words)
                seen = opens.stop(folder)
                line = t.line(end)
                wanted = {s.id: {i for i in expected[s.id] if "--where" not in words or i >= ROWS} for s in line[line.index(start) + 1:]}
                for s, ids in wanted.items():
                    assert sorted(deleted.pop(s, [])) == sorted(ids), f"snapshot {s}: rows differ from the {len(ids)} expected"
                assert not deleted, f"rows of other snapshots: {list(deleted)[:3]}"
                twice = {n: c for n, c in seen.items() if c > 1}
                assert not twice, f"{len(twice)} of {len(seen)} delete files were opened more than once, the worst {max(twice.values())} times"
                assert seen, "no delete file was opened"
                assert peak < a.limit_mb << 20, f"peak {peak >> 20} MB, limit {a.limit_mb} MB"
                passed += 1
                print(f"ok   {name}: peak {peak >> 20} MB, {len(seen)} delete files opened once, {stats}", flush=True)
            except AssertionError as e:
                failed += 1
                print(f"FAIL {name}: {e}", flush=True)
    finally:
        if not a.keep:
            shutil.rmtree(top, ignore_errors=True)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
