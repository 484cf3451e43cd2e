#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What planning and reading ask of the storage, counted exactly: cost grows with the range, not with the table.

The one idea: the same request on a small and on a large table of the same shape opens the same files. Nothing here
looks at a clock.
"""
import json, os, sys

import pyarrow as pa, pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "bench", "workloads")]
from delta import tables                                                             # noqa: E402
import make_long_history as make                                                     # noqa: E402
from support import harness, iceberg_writer as iw                                    # noqa: E402
from support.harness import check_refused, main, run                                 # noqa: E402
from support.iceberg_harness import Range, check_range                               # noqa: E402


def stats_of(result):
    assert result.code == 0, result.err
    return json.loads(next(l for l in result.err.splitlines() if l.startswith("{")))


def read(root, *words):
    """(rows as JSON lines, statistics) of a read."""
    r = run("changes", root, *words, "--stats", "--format", "jsonl")
    return r.out, stats_of(r)


def plan(root, *words):
    """(plan, statistics)"""
    r = run("plan", root, *words, "--json", "--stats")
    return json.loads(r.out), stats_of(r)


def version(v):
    return "--from", str(v), "--to", str(v)


def snapshot(s):
    return "--from", str(s.id), "--to", str(s.id)


def same(name, small, large, slack=0):
    """All counts but bytes are the same; bytes as well, but for `slack`."""
    for key in ("lists", "stats", "opens", "reads"):
        assert small[key] == large[key], f"{name}: {key} {small[key]} of the small table, {large[key]} of the large one"
    grown = large["bytes_read"] - small["bytes_read"]
    assert grown <= slack, f"{name}: {grown} more bytes of the large table, at most {slack} expected"


# ---- Delta


def test_a_log_of_many_commits(folder):
    """What lies before the newest checkpoint is not opened, however much there is."""
    seen = []
    for commits in (150, 1050):
        root = f"{folder}/log{commits}"
        last = make.delta_log(root, commits, 100)
        made, planned = plan(root, *version(last))
        assert [c["files"] for c in made["commits"]] == [1]
        rows, stats = read(root, *version(last))
        assert rows.count(b"\n") == 10, rows
        assert stats["opens"] <= 1 + 50 + 1, stats   # the checkpoint, the commits after it, the file
        assert stats["lists"] == 1 and stats["stats"] == 3, stats
        seen.append((planned, stats))
    same("plan", seen[0][0], seen[1][0], 40_000)     # the checkpoint's footer and one row group's pages
    same("changes", seen[0][1], seen[1][1], 40_000)


def test_nothing_new_in_a_long_log(folder):
    root = f"{folder}/t"
    last = make.delta_log(root, 420, 100)
    rows, stats = read(root, "--from", str(last), "--from-exclusive")
    assert rows == b"" and stats["opens"] == 1 + 20, stats


def test_a_checkpoint_of_many_files(folder):
    """Of a checkpoint the table's state alone is decoded: row groups of files are left out by their statistics."""
    for style in ("classic", "multi", "v2"):
        seen = []
        for files in (2_000, 120_000):
            root = f"{folder}/{style}{files}"
            last = make.delta_checkpoint(root, files, style)
            made, planned = plan(root, *version(last))
            rows, stats = read(root, *version(last))
            assert rows.count(b"\n") == 10 and [c["method"] for c in made["commits"]] == ["append"]
            seen.append((planned, stats))
        ends = (4 if style == "multi" else 1) * 65_536      # of a long Parquet file as much is read to find its footer
        same(f"plan {style}", seen[0][0], seen[1][0], ends)
        same(f"changes {style}", seen[0][1], seen[1][1], ends)


def test_a_remove_that_says_nothing_but_its_path(folder):
    """Its partition is looked up in the state before it: only the paths, then that one row."""
    root = f"{folder}/t"
    last = make.delta_checkpoint(root, 120_000, "classic", partitioned=True, lean_remove=True)
    whole = os.path.getsize(f"{root}/_delta_log/{9:020d}.checkpoint.parquet")
    for v, lost in ((last - 1, set(range(5, 15))), (last, set(range(110, 120)))):
        rows, stats = read(root, *version(v))
        found = [json.loads(l) for l in rows.splitlines()]
        assert {r["before"]["id"] for r in found if r["op"] == "delete"} == lost, found
        assert all((r["before"] or r["after"])["day"] == "d0" for r in found)
        assert stats["bytes_read"] < 2 * whole, f"{stats['bytes_read']} bytes of a checkpoint of {whole}"
        assert stats["opens"] <= 8, stats


# ---- Iceberg


def manifests(folder, n, **options):
    t = make.iceberg_manifests(f"{folder}/m{n}", n, **options)
    return t, t.snapshots[-4:]


def test_many_manifests(folder):
    """An append, a rewrite and deletes by position: the manifests of other partitions stay closed."""
    (a, few), (b, many) = manifests(folder, 12), manifests(folder, 240)
    for kind, s, l in zip(("append", "rewrite", "append of two", "position deletes"), few, many):
        same(f"plan, {kind}", plan(a.root, *snapshot(s))[1], plan(b.root, *snapshot(l))[1], 40_000)
        rows, small = read(a.root, *snapshot(s))
        others, large = read(b.root, *snapshot(l))
        assert rows.count(b"\n") == others.count(b"\n") > 0
        same(f"changes, {kind}", small, large, 60_000)
        assert large["opens"] <= 20, large
    for t, path in ((a, few), (b, many)):
        check_range(t, path[0], path[-1])


def test_vectors_name_their_file(folder):
    """Nothing divides the table, but a vector names its file: the search ends where that is found, new files first."""
    (a, few), (b, many) = manifests(folder, 12, partitioned=False, version=3), manifests(folder, 240, partitioned=False, version=3)
    small, large = plan(a.root, *snapshot(few[-1]))[1], plan(b.root, *snapshot(many[-1]))[1]
    same("plan", small, large, 40_000)
    check_range(b, many[0], many[-1])


def test_deletes_about_several_files(folder):
    """Nothing divides the table and a delete file is about two data files: it is asked which, and the search ends where
    both have been found. Where few manifests are to be opened nobody asks."""
    (a, few), (b, many), (c, most) = (manifests(folder, n, partitioned=False, several=True) for n in (8, 60, 480))
    for t, path in ((a, few), (b, many), (c, most)):
        check_range(t, path[0], path[-1])
    small, middle, large = (plan(t.root, *snapshot(path[-1]))[1] for t, path in ((a, few), (b, many), (c, most)))
    # hint, metadata, both lists, the deletes' manifest; all manifests; or the delete file and the newest manifests
    assert small["opens"] == 5 + 8 + 2, small
    assert middle["opens"] <= 5 + 1 + 3, middle
    same("plan", middle, large, 40_000)
    rows, stats = read(c.root, *snapshot(most[-1]))
    assert rows.count(b"\n") == 3, rows
    same("changes", read(b.root, *snapshot(many[-1]))[1], stats, 80_000)
    distant = read(c.root, *snapshot(most[-1]), "--storage-latency", "1")
    assert distant[0] == rows and distant[1]["requests"] < stats["requests"], distant[1]


def many_small_appends(folder, n):
    """A manifest a file, in a table that nothing divides."""
    t = iw.Table(folder, [("id", "long"), ("name", "string")], version=2)
    files = [t.data([(10 * i + k, "x") for k in range(5)]) for i in range(n)]
    for f in files:
        t.commit("append", add=[f])
    return t, files


def test_asked_deletes(folder):
    """Names in all places: files that came or went with the commit, that are not there, old ones, and none at all."""
    t, files = many_small_appends(f"{folder}/t", 40)
    new, gone = t.data([(1000 + k, "new") for k in range(5)]), files[39]
    t.commit("overwrite", add=[new], remove=[gone], add_deletes=[t.position_deletes({new: {0}, files[38]: {1}, files[0]: {2, 3}})])
    stale = t.position_deletes({gone: {1}, files[37]: {1}})                          # the first is not there any more
    t.commit("delete", add_deletes=[stale])
    both = [t.position_deletes({files[3]: {0}, files[4]: {0}}), t.position_deletes({files[4]: {0, 1}, files[36]: {2}})]
    t.commit("delete", add_deletes=both)
    t.commit("delete", add_deletes=[t.position_deletes({files[5]: {0}, files[6]: {0}}), t.equality_deletes([(71,)], ["id"])])
    t.commit("delete", remove_deletes=[both[1]])                                     # rows come back
    t.commit("delete", add_deletes=[t.position_deletes({files[8]: {4}, files[35]: {4}}, data_seq=9)])
    t.save()
    path = t.snapshots[39:]
    for a, b in zip(path, path[1:]):
        check_range(t, a, b)
    check_range(t, path[0], path[-1])
    check_range(t, None, t.current)


def test_asked_deletes_that_cannot_be_read(folder):
    """What is wrong with a delete file is said when its rows are read, asked or not."""
    t, files = many_small_appends(f"{folder}/t", 40)
    d = t.position_deletes({files[1]: {0}, files[2]: {0}})
    t.commit("delete", add_deletes=[d])
    t.save()
    raw = open(d.local, "rb").read()
    for damage in (raw[:-9], b"", None):
        os.remove(d.local)
        if damage is not None:
            with open(d.local, "wb") as f:
                f.write(damage)
        check_refused(run("changes", t.root, *snapshot(t.current)), os.path.basename(d.local))
        with open(d.local, "wb") as f:
            f.write(raw)
    check_range(t, t.snapshots[-2], t.current)


def test_bounds_leave_data_files_closed(folder):
    """A delete file says between which paths its names lie; what lies outside is not looked for nor opened."""
    t = iw.Table(f"{folder}/t", [("id", "long"), ("name", "string")], version=2)
    files = sorted((t.data([(10 * i + k, "x") for k in range(5)]) for i in range(30)), key=lambda f: f.path)
    t.commit("append", add=files)
    before = t.current
    t.commit("delete", add_deletes=[t.position_deletes({files[3]: {1}, files[5]: {2}})])
    t.save()
    (commit,) = plan(t.root, *snapshot(t.current))[0]["commits"]
    assert commit["files"] == 3, commit
    for f in files[:3] + files[6:]:
        os.rename(f.local, f.local + ".away")
    rows = read(t.root, *snapshot(t.current))[0]
    assert rows.count(b"\n") == 2, rows
    for f in files[:3] + files[6:]:
        os.rename(f.local + ".away", f.local)
    check_range(t, before, t.current)


def test_an_append_opens_no_old_deletes(folder):
    """Deletes from before a file was written cannot hit it."""
    t = iw.Table(f"{folder}/t", [("id", "long"), ("name", "string")], version=2)
    files = [t.data([(10 * i + k, "x") for k in range(5)]) for i in range(30)]
    t.commit("append", add=files)
    for f in files:
        t.commit("delete", add_deletes=[t.position_deletes({f: {1}})])
    before = t.current
    t.commit("append", add=[t.data([(1000, "new")])])
    t.save()
    rows, stats = read(t.root, *snapshot(t.current))
    assert rows.count(b"\n") == 1
    # hint, metadata; both lists and the new manifest, to look for files and to read them; the file
    assert stats["opens"] == 2 + 2 * 3 + 1, stats
    check_range(t, before, t.current)
    check_range(t, None, t.current)


def test_a_named_file_of_another_partition(folder):
    """A vector holds for the file it names, whatever partition its own entry claims: then every manifest is looked at."""
    t = iw.Table(f"{folder}/t", [("id", "long"), ("day", "int")], spec=[("day", "identity")], version=3)
    files = [t.data([(10 * day + k, day) for k in range(5)]) for day in range(6)]
    for f in files:
        t.commit("append", add=[f])
    before = t.current
    made = t.vectors({files[4]: {0, 2}})
    made[0].partition = files[1].partition
    t.commit("delete", add_deletes=made)
    t.save()
    check_range(t, before, t.current)


def test_deletes_that_move_between_manifests(folder):
    """Old deletes in a manifest that is written anew are no change; those of files that go are needed."""
    t = iw.Table(f"{folder}/t", [("id", "long"), ("day", "int")], spec=[("day", "identity")], version=2)
    files = [t.data([(10 * day + k, day) for k in range(5)]) for day in range(4)]
    t.commit("append", add=files)
    start = t.current
    deletes = [t.position_deletes({f: {0, 3}}) for f in files]
    t.commit("delete", add_deletes=deletes[:2])
    t.commit("delete", add_deletes=deletes[2:], merge=True)                          # the first two are now existing ones
    t.commit("overwrite", add=[t.data([(100, 1)])], remove=[files[1]])               # hit by an old delete
    t.commit("delete", remove_deletes=[deletes[3]])                                  # rows come back
    t.commit("delete", add_deletes=[t.equality_deletes([(2, 0)], ["id", "day"], partition=(0,))])
    t.commit("append", add=[t.data([(2, 0)])])
    t.save()
    path = [start] + [s for s in t.snapshots if s.seq > start.seq]
    for a, b in zip(path, path[1:]):
        check_range(t, a, b)
    check_range(t, None, t.current)


def test_many_snapshots(folder):
    """The metadata file is read once a source, however many looks are taken at it."""
    t = make.iceberg_snapshots(f"{folder}/t", 2000)
    size = os.path.getsize(f"{t.root}/metadata/v1.metadata.json")
    rows, stats = read(t.root, "--from", str(t.current.id), "--from-exclusive")
    assert rows == b"" and stats["opens"] == 2 and stats["lists"] == 2 and stats["stats"] == 0, stats
    assert size <= stats["bytes_read"] <= size + 64, stats


# ---- a distant store


def test_a_distant_store_gives_the_same_rows(folder):
    """The same rows, for fewer requests: sizes need not be asked for, and close reads are one."""
    delta = f"{folder}/delta"
    last = make.delta_log(delta, 130, 100)
    t, path = manifests(folder, 30)
    v3, path3 = manifests(f"{folder}/v3", 30, partitioned=False, version=3)
    for root, words in [(delta, version(last)), (delta, ("--from", str(last - 2)))] + [(x.root, snapshot(s)) for x, p in ((t, path), (v3, path3)) for s in p]:
        rows, near = read(root, *words)
        distant, far = read(root, *words, "--storage-latency", "1")
        assert rows == distant, f"{root} {words}: other rows from a distant store"
        assert far["requests"] < near["requests"], f"{root} {words}: {far['requests']} requests, {near['requests']} of a near store"
    far = read(delta, *version(last), "--storage-latency", "1")[1]
    # list; two looks at the newest commits; 31 commits; checkpoint: footer and two times its few columns; file: footer
    # and columns, which the footer's bytes hold already
    assert far["requests"] <= 1 + 3 + 31 + 4 + 1, far


SMALL_COMMITS = 40


def small_iceberg_commits(root, kind):
    """A file a commit loses a row, in one of the four ways, and a new file comes."""
    t = iw.Table(root, [("id", "long"), ("name", "string")], version=3 if kind == "vectors" else 2)
    files = [t.data([(1000 * n + k, "x") for k in range(20)]) for n in range(SMALL_COMMITS)]
    t.commit("append", add=files)
    for n, f in enumerate(files):
        new = t.data([(1000 * n, "new")])
        if kind == "rewritten":
            t.commit("overwrite", add=[new, t.data([(1000 * n + k, "x") for k in range(1, 20)])], remove=[f])
        else:
            t.commit("overwrite", add=[new], add_deletes={"positions": lambda: [t.position_deletes({f: {0}})], "vectors": lambda: t.vectors({f: {0}}),
                                                           "keys": lambda: [t.equality_deletes([(1000 * n,)], ["id"])]}[kind]())
    t.save()
    return t


def test_many_small_commits_of_a_distant_store(folder):
    """Every file of a range is asked for once, whichever commit it was read ahead for: what a commit costs does not grow
    with the range, and is what it alone would cost, but for the list that the next one shares."""
    # list and its size; a manifest or two and one of deletes; data files; a delete file, and the size of a vector's
    for kind, most in (("rewritten", 2 + 2 + 3), ("positions", 2 + 3 + 2 + 1), ("keys", 2 + 3 + 2 + 1), ("vectors", 2 + 3 + 2 + 2)):
        t = small_iceberg_commits(f"{folder}/{kind}", kind)
        seen = []
        for commits in (SMALL_COMMITS // 2, SMALL_COMMITS):
            words = Range(t.snapshots[0], t.snapshots[commits]).words()
            rows, near = read(t.root, *words)
            distant, far = read(t.root, *words, "--storage-latency", "1")
            assert rows == distant and rows.count(b"\n") == 2 * commits, (kind, rows.count(b"\n"))
            seen.append(far["requests"])
        assert seen[1] - seen[0] <= most * SMALL_COMMITS // 2, (kind, seen)
    # a commit; the data file's end, which holds all; the new vector and its size, the old one's are there
    t = tables.table(f"{folder}/delta", tables.DV)
    tables.append(t, *range(SMALL_COMMITS + 5))
    for i in range(SMALL_COMMITS):
        tables.delete(t, i, how="dv")
    seen = []
    for commits in (SMALL_COMMITS // 2, SMALL_COMMITS):
        words = "--from", "2", "--to", str(1 + commits)
        rows, near = read(t.root, *words)
        distant, far = read(t.root, *words, "--storage-latency", "1")
        assert rows == distant and rows.count(b"\n") == commits
        seen.append(far["requests"])
    assert seen[1] - seen[0] <= 3 * SMALL_COMMITS // 2, seen


def test_a_distant_file_that_is_gone(folder):
    root = f"{folder}/t"
    last = make.delta_log(root, 12, 0)
    gone = f"{root}/part-{last:08d}.parquet"
    os.rename(gone, gone + ".away")
    for latency in ("0", "1"):
        check_refused(run("changes", root, "--from", str(last - 2), "--storage-latency", latency), os.path.basename(gone), "removed")
    os.rename(gone + ".away", gone)
    os.truncate(gone, os.path.getsize(gone) - 5)
    for latency in ("0", "1"):
        check_refused(run("changes", root, "--from", str(last), "--storage-latency", latency), os.path.basename(gone))


def test_wide_rows_from_a_distant_store(folder):
    """Column chunks of a row group are fetched together; positions are read where they lie."""
    t = iw.Table(f"{folder}/t", [("id", "long"), ("a", "string"), ("b", "double"), ("c", "string")], version=2, parquet={"row_group_size": 1000})
    f = t.data([(i, f"a{i}" * 5, i / 3, f"c{i}" * 9) for i in range(5000)])
    t.commit("append", add=[f])
    t.commit("delete", add_deletes=[t.position_deletes({f: set(range(0, 5000, 97))})])
    t.save()
    for words in (snapshot(t.snapshots[0]), snapshot(t.snapshots[1]), ("--from", "start", "--columns", "id,c"), ("--from", "start", "--where", "id > 4200")):
        rows, near = read(t.root, *words)
        distant, far = read(t.root, *words, "--storage-latency", "1")
        assert rows == distant and far["requests"] < near["requests"], (words, near, far)
    whole = read(t.root, *snapshot(t.snapshots[0]), "--storage-latency", "1")[1]
    # two lists; hint, metadata, both lists of manifests, the manifest: size and bytes of each; footer; five row groups
    assert whole["requests"] <= 2 + 5 * 2 + 1 + 5, whole


# ---- what was pruned, and by what


def test_a_plan_says_what_pruned_a_file(folder):
    root = f"{folder}/delta"
    os.makedirs(f"{root}/_delta_log")
    make._write_commit(root, 0, [make._info(0), {"protocol": make.PROTOCOL}, {"metaData": make._metadata(True)}])
    actions = [make._info(1)]
    for i, (day, low) in enumerate((("d0", 0), ("d0", 100), ("d1", 0), ("d1", 100), ("d2", 50))):
        name = f"f{i}.parquet"
        add = make._add(name, make._data_file(root, name, low, True), True)
        add["add"].update(partitionValues={"day": day}, stats=json.dumps({"numRecords": 10, "minValues": {"id": low}, "maxValues": {"id": low + 9}, "nullCount": {"id": 0}}))
        actions.append(add)
    make._write_commit(root, 1, actions)
    want = {"": (5, 0, 0), "day = 'd0'": (2, 3, 0), "id >= 100": (2, 0, 3), "day <> 'd1' and id < 60": (3, 0, 2), "day in ('d0', 'd1') and id between 100 and 105": (2, 1, 2), "id > 1000": (0, 0, 5)}
    for where, (files, partition, statistics) in want.items():
        words = ("--where", where) if where else ()
        (commit,) = plan(root, *version(1), *words)[0]["commits"]
        got = commit["files"], commit["pruned_by"]["partition"], commit["pruned_by"]["statistics"]
        assert got == (files, partition, statistics), f"{where}: {got}, expected {(files, partition, statistics)}"
        assert commit["files_pruned"] == partition + statistics
        text = run("plan", root, *version(1), *words).out.decode()
        said = f"pruned by partition {partition}, by statistics {statistics}"
        assert (said in text) == (partition + statistics > 0), text
    t = iw.Table(f"{folder}/iceberg", [("id", "long"), ("day", "int")], spec=[("day", "identity")], version=2)
    t.commit("append", add=[t.data([(low + k, day) for k in range(10)]) for day, low in ((1, 0), (1, 100), (2, 0), (2, 100))])
    t.save()
    for where, files, partition, statistics in (("day = 1", 2, 2, 0), ("id < 50", 2, 0, 2), ("day = 2 and id > 105", 1, 2, 1)):
        (commit,) = plan(t.root, *snapshot(t.current), "--where", where)[0]["commits"]
        assert (commit["files"], commit["pruned_by"]) == (files, {"partition": partition, "statistics": statistics}), (where, commit)


def test_a_read_says_what_pruned_its_rows(folder):
    """Row groups by statistics, pages by the page index."""
    root = f"{folder}/t"
    os.makedirs(f"{root}/_delta_log")
    make._write_commit(root, 0, [make._info(0), {"protocol": make.PROTOCOL}, {"metaData": make._metadata(False)}])
    table = pa.table({"id": pa.array(range(4000), pa.int64()), "name": [f"n{i}" for i in range(4000)], "day": ["d"] * 4000})
    pq.write_table(table, f"{root}/f.parquet", row_group_size=1000, write_page_index=True, data_page_size=1, write_batch_size=100, use_dictionary=False)
    add = make._add("f.parquet", os.path.getsize(f"{root}/f.parquet"), False)
    add["add"].pop("stats")
    make._write_commit(root, 1, [make._info(1), add])
    # one of four row groups; in it one of its ten pages
    rows, stats = read(root, *version(1), "--where", "id >= 2300 and id < 2400")
    assert rows.count(b"\n") == 100
    assert (stats["row_groups_pruned"], stats["pages_pruned"]) == (3, 9), stats
    rows, stats = read(root, *version(1), "--where", "id = -1")
    assert rows == b"" and stats["row_groups_pruned"] == 4 and stats["pages_pruned"] == 0, stats
    rows, stats = read(root, *version(1))
    assert stats["row_groups_pruned"] == 0 and stats["pages_pruned"] == 0, stats


if __name__ == "__main__":
    main()
