#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Parquet archive: written by a sync, read as a source.

The one idea: whatever is asked of the archive must be what the table itself answers; and what was damaged must be
refused by its name.
"""
import glob
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.random_histories import History
from delta.tables import append, delete, table, update
from support import harness
from sync.running import Sync

SEEDS = range(int(os.environ.get("LCDC_ARCHIVE_SEEDS", "20")))


def config(folder, name="t", **options):
    return Sync(folder, {name: {"identity": [], "start": "0", "sink_options": {"path": "archive", "rows_per_file": "5"}, **options}},
                sinks={"out": {"type": "parquet"}})


def rows(location, *words):
    return harness.rows_of(harness.changes(location, *words).table())


def archived(folder):
    return "archive:" + os.path.join(folder, "archive")


def hide_after(t, version):
    """Takes the commits after a version out of sight; the function that brings them back."""
    log, away = os.path.join(t.root, "_delta_log"), os.path.join(t.root, "_away")
    os.makedirs(away)
    moved = [n for n in os.listdir(log) if not n[:20].isdigit() or int(n[:20]) > version]
    for n in moved:
        os.rename(os.path.join(log, n), os.path.join(away, n))

    def back():
        for n in moved:
            os.rename(os.path.join(away, n), os.path.join(log, n))
        os.rmdir(away)
    return back


def same_answers(seed, folder):
    h = History(seed, os.path.join(folder, "t"))
    t, r = h.t, random.Random(seed)
    h.op_append()  # rows at the end: an archive knows the columns of commits that it was given
    sync = config(folder, start="oldest", table=os.path.relpath(t.root, folder))  # a clone lies elsewhere
    if h.cut == 0 and r.random() < 0.6:
        back = hide_after(t, r.randrange(t.latest))
        first = sync.once()
        back()
        assert first.code == 0, first.err
    end = sync.once()
    if end.code:  # columns that changed under it stop a sync until someone says that it may go on
        sync.ledger("set", "t", "--resume")
        end = sync.once()
    assert end.code == 0, end.err
    a = archived(folder)
    same = lambda words, asked, loose=False: harness.same_rows(rows(a, *asked), rows(t.root, *words, *asked), loose)
    net = lambda got: [(*c[:3], None) for c in got]  # its rows are told of the last commit, which may have had none
    whole = ["--bootstrap"]
    columns = ["--columns", ",".join(r.sample([f.name for f in t.schema.fields if f.name.isalnum()], 1))]
    same(whole, [])
    same(whole, columns)
    same(whole, ["--where", f"id >= {r.randint(0, 20)}"])
    same(whole, ["--where", "id in (1, 2, 5, 9)", *columns])
    same(whole, ["--identity", "id"], loose=True)
    same(whole, ["--identity", "id", "--fold"], loose=True)
    same(whole, ["--batch-rows", 1])
    held = sorted({int(os.path.basename(p).split("_")[1]) for p in glob.glob(folder + "/archive/commits/*/*")})
    start = r.choice(held[1:] or held)
    if start > held[0]:
        same([], ["--from", start])
        asked = ["--from", start, "--net", "--identity", "id"]
        harness.same_rows(net(rows(a, *asked)), net(rows(t.root, *asked)), loose=True)
        same([], ["--from", start - 1, "--from-exclusive", *columns])
        ts = t.versions[start].ts_ms
        if [v.ts_ms for v in t.versions] == sorted({v.ts_ms for v in t.versions}):
            same([], ["--from", str(start)])
            when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ts / 1000)) + f".{ts % 1000:03}Z"
            harness.same_rows(rows(a, "--from", when), rows(t.root, "--from", start))
    if glob.glob(folder + "/archive/commits/*/*_snapshot"):
        v = harness.run("verify", a)
        assert v.code == 0, v.err
    cursor = harness.run("changes", a, "--to", held[0], "--print-cursor").err.strip()
    harness.same_rows(rows(a, "--cursor", cursor), rows(t.root, "--from", held[0], "--from-exclusive"))


def one_history(arguments):
    seed, folder = arguments
    os.makedirs(folder)
    try:
        same_answers(seed, folder)
        return None
    except Exception as e:
        return f"seed {seed}: {type(e).__name__} {e}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_the_archive_answers_as_the_table_does(folder):
    with multiprocessing.Pool(2) as pool:
        bad = [x for x in pool.imap_unordered(one_history, [(s, os.path.join(folder, str(s))) for s in SEEDS]) if x]
    assert not bad, "\n".join(bad)


def test_a_filter_leaves_row_groups_unread(folder):
    """Where a commit has inserts or deletes alone; one with both has two images to ask, and is read."""
    root, n = os.path.join(folder, "t"), 600_000
    t = append(table(root), 1)
    rows_of_one_file = pa.table({"id": pa.array(range(n), pa.int64()), "name": pa.nulls(n, pa.string()), "qty": pa.array([7] * n, pa.int32()), "region": ["a"] * n})
    pq.write_table(rows_of_one_file, os.path.join(root, "large.parquet"))
    add = {"path": "large.parquet", "partitionValues": {}, "size": os.path.getsize(os.path.join(root, "large.parquet")), "modificationTime": 1, "dataChange": True}
    for number, actions in ((2, [{"add": add}]), (3, [{"remove": {"path": "large.parquet", "deletionTimestamp": 2, "dataChange": True}}])):
        with open(t.log_path(number), "w") as f:
            f.writelines(json.dumps(a) + "\n" for a in actions)
    sync = config(folder, sink_options={"path": "archive"})
    assert sync.once().code == 0

    def asked(*words):
        r = harness.changes(archived(folder), "--from", 2, *words, "--stats")
        assert r.code == 0, r.err
        return harness.rows_of(r.table()), json.loads(r.err.strip().splitlines()[-1])
    for where, count, pruned in (("id between 300000 and 300009", 10, 4), ("id = 599999", 1, 4), ("id < 0", 0, 6), ("qty = 7 and id in (5, 262143)", 2, 4), ("name is not null", 0, 6)):
        got, stats = asked("--where", where)
        assert [r[0] for r in got] == ["insert"] * count + ["delete"] * count, (where, got)
        assert stats["row_groups_pruned"] == pruned, (where, stats)
        all_read, stats = asked("--where", where, "--no-pushdown")
        assert all_read == got and stats["row_groups_pruned"] == 0, (where, stats)


def test_ten_readers_cost_one_read_of_the_table(folder):
    t = append(table(os.path.join(folder, "t")), 1, 2)
    sync = config(folder)
    cursors = []
    for i in range(3, 13):
        assert sync.once().code == 0
        r = harness.run("changes", archived(folder), "--limit", 0, "--from", "latest") if False else harness.run("changes", archived(folder), "--print-cursor", "--quiet")
        cursors.append((i, r.err.strip()))
        append(t, i)
    assert sync.once().code == 0
    shutil.move(t.root, t.root + ".gone")  # nobody reads the table any more
    for first, cursor in cursors:
        assert [r[2]["id"] for r in rows(archived(folder), "--cursor", cursor)] == list(range(first, 13))


def test_an_archive_feeds_another_sync(folder):
    t = append(table(os.path.join(folder, "t")), 1, 2)
    first = config(folder)
    second = Sync(os.path.join(folder), {"copy": {"source": "archive", "table": "archive", "start": "oldest", "identity": ["id"]}},
                  sources={"archive": {"path": "archive:" + folder}}, ledger="second.db")
    second.path = os.path.join(folder, "second.yaml")
    second.save()
    first.save()
    assert first.once().code == 0
    with second.start() as running:
        for i in range(3, 7):
            append(t, i)
            update(t, i - 1, qty=i)
            if i == 5:
                delete(t, 1)
            assert first.once().code == 0
            end = time.monotonic() + 60
            while len(second.replayed("copy")) != i - (i >= 5):
                assert time.monotonic() < end, (i, second.replayed("copy"))
                time.sleep(0.05)
        want = {r[2]["id"]: r[2] for r in rows(t.root, "--bootstrap", "--from", t.latest)}
        running.until(lambda: second.replayed("copy") == want, "the last commit")  # its number of rows is there before it


def test_a_whole_state_each_time_is_a_feed_of_differences(folder):
    t = append(table(os.path.join(folder, "t")), 1, 2, 3)
    sync = config(folder, mode="full", start="latest")
    assert sync.once().code == 0
    update(t, 2, qty=7)
    assert sync.once().code == 0
    delete(t, 1)
    append(t, 4)
    assert sync.once().code == 0
    a = archived(folder)
    harness.same_rows([(*r[:3], None) for r in rows(a, "--identity", "id", "--fold")],
                      [(*r[:3], None) for r in rows(t.root, "--from", "1", "--identity", "id", "--fold")], loose=True)
    got = [(op, (x or y)["id"]) for op, x, y, s in rows(a, "--from", t.latest)]
    assert sorted(got) == [("delete", 1), ("insert", 4)], got
    assert [r[2]["id"] for r in rows(a, "--from", t.latest, "--columns", "id", "--where", "qty > 30")] == [4]
    assert harness.run("verify", a).code == 0


def parts(folder):
    return sorted(glob.glob(folder + "/archive/commits/*/*/*.parquet"))


def test_damage_is_refused_by_name(folder):
    t = append(append(table(os.path.join(folder, "t")), *range(12)), 20)
    assert config(folder).once().code == 0
    a, whole = archived(folder), os.path.join(folder, "whole")
    shutil.copytree(folder + "/archive", whole)

    def refused(*names):
        harness.check_refused(harness.changes(a), *names)
        shutil.rmtree(folder + "/archive")
        shutil.copytree(whole, folder + "/archive")

    for path in parts(folder)[:3]:
        name = os.path.basename(path)
        os.remove(path)
        refused(name, "missing", "archive.bad")
        with open(path, "r+b") as f:
            f.truncate(os.path.getsize(path) - 5)
        refused(name, "bytes", "archive.bad")
        with open(path, "r+b") as f:
            f.seek(os.path.getsize(path) // 2)
            byte = f.read(1)
            f.seek(-1, 1)
            f.write(bytes([byte[0] ^ 1]))
        r = harness.changes(a)
        assert r.code == 6 and name in r.err and "altered" in r.err, r.err
        shutil.rmtree(folder + "/archive")
        shutil.copytree(whole, folder + "/archive")
    manifest = sorted(glob.glob(folder + "/archive/commits/*/*/manifest.json"))[1]
    os.remove(manifest)
    refused("manifest.json is missing")
    text = open(manifest).read()
    for bad in (text[:-10], text.replace('"rows":', '"rows":1', 1), "", "{}", text + " "):
        with open(manifest, "w") as f:
            f.write(bad)
        refused("manifest.json", "archive.bad")
    middle = sorted(glob.glob(folder + "/archive/commits/*/*"))
    if len(middle) > 2:
        shutil.rmtree(middle[1])
        refused("missing")
    with open(folder + "/archive/archive.json", "r+") as f:
        f.write("x")
    refused("archive.json")
    harness.check_refused(harness.changes("archive:" + folder), "archive.missing")
    os.makedirs(folder + "/archive/commits/000000/stranger")
    refused("stranger")
    assert len(rows(a)) == 13


def test_bounds_that_it_does_not_have(folder):
    t = append(append(append(table(os.path.join(folder, "t")), 1), 2), 3)
    assert config(folder, start="1").once().code == 0
    a = archived(folder)
    harness.check_refused(harness.changes(a, "--from", 9), "archive.commit_missing")
    harness.check_refused(harness.changes(a, "--to", 9), "archive.commit_missing")
    harness.check_refused(harness.changes(a, "--from", 0), "archive.commit_gone", "--from 1")
    harness.check_refused(harness.changes(a, "--from", 3, "--to", 2), "request.bad_range")
    harness.check_refused(harness.changes(a, "--from", "a-tag"), "request.bad_range")
    harness.check_refused(harness.changes(a, "--branch", "b"), "branch")
    assert rows(a, "--from", 2, "--to", 2) == rows(t.root, "--from", 2, "--to", 2)
    assert rows(a, "--from", 3, "--from-exclusive") == []
    p = json.loads(harness.run("plan", a, "--json").out)
    assert [(c["snapshot"], c["rows"]) for c in p["commits"]] == [(1, 1), (2, 1), (3, 1)] and p["format"] == "archive"
    assert json.loads(harness.run("probe", a, "--json").out)["chosen"] == "archive"


def test_large_commits_make_several_files(folder):
    t = append(table(os.path.join(folder, "t")), *range(23))
    assert config(folder, start="1").once().code == 0
    assert len(parts(folder)) == 5
    assert len(rows(archived(folder))) == 23


def test_killed_at_any_moment(folder):
    """Nothing half written is ever seen, and in the end the archive is the table."""
    r = random.Random(3)
    t = table(os.path.join(folder, "t"))
    sync, n = config(folder, identity=["id"]), 0
    for i in range(int(os.environ.get("LCDC_ARCHIVE_KILLS", "12"))):
        for _ in range(r.randint(1, 4)):
            new = list(range(n, n + r.randint(1, 9)))
            n += len(new)
            append(t, *new)
            if r.random() < 0.5:
                update(t, r.randrange(n), qty=r.randint(1, 999))
        p = subprocess.Popen([harness.CLI, "sync", sync.path], stderr=subprocess.DEVNULL)
        time.sleep(r.uniform(0.02, 0.5))
        p.kill()
        p.wait()
        seen = harness.changes(archived(folder))
        assert seen.code == 0 or "archive.missing" in seen.err, seen.err
    assert sync.once().code == 0
    harness.same_rows(rows(archived(folder)), rows(t.root, "--bootstrap", "--from", 0, "--identity", "id"))
    assert os.listdir(folder + "/archive/pending") == [] if os.path.isdir(folder + "/archive/pending") else True


if __name__ == "__main__":
    harness.main(__doc__)
