#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sinks that write files (jsonl, arrow, parquet), driven call by call: what is there after each of them.

The one idea: the driver is killed or the disk refuses at a chosen moment, and what a reader then finds must be exactly
the windows that were committed.
"""
import glob
import json
import os
import random
import subprocess
import sys

import pyarrow as pa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import harness
from support.sink_driver import Driver

COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "note", "type": "string"}]
TS = 1_700_000_000_000_000


def row(op, i, note="n", snapshot=1):
    image = {"id": i, "note": note}
    before, after = op in ("delete", "update_before", "update"), op in ("insert", "update_after", "update")
    return {"op": op, "before": image if before else None, "after": image if after else None, "snapshot": snapshot, "ts": "2023-11-14T22:13:20.000000Z"}


def inserts(*ids, **more):
    return [row("insert", i, **more) for i in ids]


def opening(sink, path, **settings):
    return dict(sink=sink, table="orders", source="lake", identity=["id"], columns=COLUMNS, settings={"path": path, **settings})


def window(snapshot, rows, kind="changes", cursor=None, **more):
    return dict(kind=kind, snapshot=snapshot, ts=TS + snapshot, rows=rows, cursor=cursor or f"lakecdc1/delta/{snapshot}/0123456789abcdef/T", **more)


def jsonl_ids(path):
    with open(path) as f:
        return [(r["after"] or r["before"])["id"] for r in map(json.loads, f)]


def archive_ids(path):
    r = harness.changes("archive:" + path)
    return [(b or a)["id"] for _, b, a, _ in harness.rows_of(r.table())]


def arrow_ids(path):
    return [r["after"]["id"] for f in sorted(glob.glob(path + "/*.arrows")) for r in pa.ipc.open_stream(f).read_all().to_pylist()]


READ = {"jsonl": jsonl_ids, "parquet": archive_ids, "arrow": arrow_ids}


def each_sink(test):
    def run(folder):
        for sink, read in READ.items():
            try:
                test(sink, os.path.join(folder, sink), read)
            except AssertionError as e:
                raise AssertionError(f"{sink}: {e}") from e
    run.__name__ = test.__name__
    return run


@each_sink
def test_windows_are_there_when_they_are_committed(sink, path, read):
    with Driver() as d:
        d("open", **opening(sink, path))
        d("window", **window(1, inserts(1, 2), "snapshot"))
        d("begin", kind="changes", snapshot=2, ts=TS + 2)
        d("write", rows=inserts(3), pad=2)
        d("abort")
        assert read(path) == [1, 2], read(path)
        d("window", **window(2, inserts(3, 4, 5), batch=2, pad=1))
        d("window", **window(3, []))
        assert read(path) == [1, 2, 3, 4, 5], read(path)
    with Driver() as d:
        d("open", **opening(sink, path))
        if sink != "arrow":
            assert d("cursor")["cursor"].split("/")[2] == "3"
        d("window", **window(4, inserts(6)))
    assert read(path) == [1, 2, 3, 4, 5, 6], read(path)


def test_a_file_is_of_one_table(folder):
    path = folder + "/out.jsonl"
    with Driver() as d:
        d("open", **opening("jsonl", path))
        d("window", **window(1, inserts(1), "snapshot"))
    with Driver() as d:
        assert "'orders'" in d.refused("sink.other_table", "open", **{**opening("jsonl", path), "table": "others"})["message"]
    assert jsonl_ids(path) == [1]


@each_sink
def test_a_crash_leaves_nothing_of_a_window(sink, path, read):
    with Driver() as d:
        d("open", **opening(sink, path, **({"rows_per_file": "100"} if sink == "parquet" else {})))
        d("window", **window(1, inserts(1), "snapshot"))
    for n in (1, 3000):
        with Driver() as d:
            d("open", **opening(sink, path))
            d("begin", kind="changes", snapshot=2, ts=TS + 2)
            d("write", rows=inserts(*range(100, 100 + n), note="x" * 100))
            d.kill()
        if sink != "jsonl":  # the growing file shows what is not committed until it is opened again
            assert read(path) == [1]
    with Driver() as d:
        d("open", **opening(sink, path))
        assert read(path) == [1]
        d("window", **window(2, inserts(2)))
    assert read(path) == [1, 2]
    assert not glob.glob(path + "/**/*.partial", recursive=True) and not glob.glob(path + "/pending/*")


@each_sink
def test_a_window_that_comes_again_replaces_itself(sink, path, read):
    with Driver() as d:
        d("open", **opening(sink, path))
        for _ in range(2):
            d("window", **window(1, inserts(1, 2), "snapshot"))
        for rows in ([3], [3, 4], [4]):
            d("window", **window(2, inserts(*rows)))
            assert read(path) == [1, 2, *rows], (rows, read(path))
        d("window", **window(3, inserts(5)))
    assert read(path) == [1, 2, 4, 5]


@each_sink
def test_a_whole_state_takes_the_place_of_all(sink, path, read):
    with Driver() as d:
        d("open", **opening(sink, path))
        d("window", **window(1, inserts(1, 2), "snapshot"))
        d("window", **window(2, inserts(3)))
        d("begin", kind="replace", snapshot=3, ts=TS + 3)
        d("write", rows=inserts(8))
        d("abort")
        assert read(path) == [1, 2, 3]
        d("window", **window(3, inserts(2, 9), "replace"))
        if sink == "parquet":
            assert harness.run("verify", "archive:" + path).code == 0
            r = harness.rows_of(harness.changes("archive:" + path, "--from", 3).table())
            assert sorted((op, (b or a)["id"]) for op, b, a, _ in r) == [("delete", 1), ("delete", 3), ("insert", 9)], r
            return
        assert read(path) == [2, 9], read(path)
        d("window", **window(4, inserts(10)))
    assert read(path) == [2, 9, 10]


@each_sink
def test_one_writer_at_a_time(sink, path, read):
    with Driver() as d, Driver() as other:
        d("open", **opening(sink, path))
        assert other.refused("sink.locked", "open", **opening(sink, path))["retriable"]
        d("close")
        other("open", **opening(sink, path))


@each_sink
def test_a_full_disk_moves_nothing(sink, path, read):
    os.makedirs(path)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "lakecdc-test", path], capture_output=True).returncode:
        assert os.geteuid() != 0, "root could not mount a small disk"
        return
    try:
        target = os.path.join(path, "out")
        with Driver() as d:
            d("open", **opening(sink, target))
            d("window", **window(1, inserts(1), "snapshot"))
            r = random.Random(1)
            big = [row("insert", i, r.randbytes(700).hex()) for i in range(2, 1500)]
            error = d.refused("io.failed", "window", **window(2, big))
            assert error["retriable"] and "space" in error["message"].lower() and target in error["message"], error
            assert read(target) == [1], read(target)
            d("window", **window(2, inserts(2)))
        assert read(target) == [1, 2]
    finally:
        subprocess.run(["umount", path], check=True)


def test_jsonl_that_someone_changed(folder):
    path = folder + "/out.jsonl"
    with open(path, "w") as f:
        f.write('{"after":{"id":0},"before":null}\n')
    with Driver() as d:
        d("open", **opening("jsonl", path))
        d("window", **window(1, inserts(1)))
    assert jsonl_ids(path) == [0, 1]
    os.truncate(path, 50)
    with Driver() as d:
        assert "50 bytes" in d.refused("sink.altered", "open", **opening("jsonl", path))["message"]
    with open(path + ".lakecdc.json", "w") as f:
        f.write("{}")
    with Driver() as d:
        d.refused("sink.altered", "open", **opening("jsonl", path))
    os.remove(path + ".lakecdc.json")
    with Driver() as d:
        d.refused("sink.not_empty", "open", **opening("jsonl", path))  # it ends in the middle of a line


def test_jsonl_replaced_by_halves(folder):
    """The state says already that the new file takes the place, and then it cannot: the next opening sees to it."""
    path = folder + "/out.jsonl"
    with Driver() as d:
        d("open", **opening("jsonl", path))
        d("window", **window(1, inserts(1, 2, 3), "snapshot"))
        d("begin", kind="replace", snapshot=2, ts=TS + 2)
        d("write", rows=inserts(4))
        os.rename(path, path + ".old")
        os.mkdir(path)
        d.refused("io.failed", "commit", cursor="lakecdc1/delta/2/0123456789abcdef/T")
        d("abort")
        os.rmdir(path)
        os.rename(path + ".old", path)
    with Driver() as d:
        d("open", **opening("jsonl", path))
        assert d("cursor")["cursor"].split("/")[2] == "2" and jsonl_ids(path) == [4], jsonl_ids(path)
        d("window", **window(3, inserts(5)))
    assert jsonl_ids(path) == [4, 5] and not os.path.exists(path + ".partial")


def test_jsonl_a_file_per_window(folder):
    with Driver() as d:
        d("open", **opening("jsonl", folder + "/f", files="window"))
        d("window", **window(1, inserts(1), "snapshot"))
        d("window", **window(2, inserts(2)))
        d("window", **window(2, inserts(2, 3)))
    names = sorted(os.path.basename(p) for p in glob.glob(folder + "/f/*.jsonl"))
    assert names == ["20231114T221320.000001Z-1-snapshot.jsonl", "20231114T221320.000002Z-2.jsonl"], names
    assert [i for n in names for i in jsonl_ids(f"{folder}/f/{n}")] == [1, 2, 3]


def test_what_does_not_belong_there(folder):
    with Driver() as d:
        for sink in READ:
            d.refused("request.bad_value", "open", **opening(sink, "s3://bucket/x"))
            d.refused("request.bad_value", "open", **opening(sink, ""))
        d.refused("io.failed", "open", **opening("parquet", "/proc/nowhere/x"))
        d.refused("request.bad_value", "open", **opening("parquet", folder + "/a", rows_per_file="0"))
        d("open", **opening("parquet", folder + "/a"))
        d("window", **window(1, inserts(1), "snapshot"))
        d("window", **window(2, inserts(2)))
        d.refused("sink.not_empty", "window", **window(5, inserts(1), "snapshot"))
        error = d.refused("sink.not_empty", "window", **window(3, inserts(3), cursor="lakecdc1/delta/3/0123456789abcdef/OTHER"))
        assert "OTHER" in error["message"]
        d("close")
        d.refused("sink.not_empty", "open", **{**opening("parquet", folder + "/a"), "table": "others"})
        d("open", **opening("arrow", folder + "/w"))
        d("window", **window(1, inserts(1)))
        d.refused("sink.not_empty", "window", **window(2, inserts(1), "snapshot"))
    assert archive_ids(folder + "/a") == [1, 2]


def test_folded_rows_are_two_again(folder):
    with Driver() as d:
        d("open", **opening("parquet", folder + "/a"))
        d("window", **window(1, inserts(1, 2), "snapshot"))
        two = row("update", 2)
        two["after"] = {"id": 2, "note": "new"}
        d("window", **window(2, [row("insert", 3), two, row("delete", 1)]))
    got = harness.rows_of(harness.changes("archive:" + folder + "/a", "--from", 2).table())
    assert [(op, (b or a)["id"], (b or a)["note"]) for op, b, a, _ in got] == [
        ("update_before", 2, "n"), ("delete", 1, "n"), ("insert", 3, "n"), ("update_after", 2, "new")], got
    got = harness.rows_of(harness.changes("archive:" + folder + "/a", "--from", 2, "--fold", "--identity", "id", "--where", "note = 'new'").table())
    assert [(op, a["id"]) for op, b, a, _ in got] == [("update_after", 2)], got


if __name__ == "__main__":
    harness.main(__doc__)
