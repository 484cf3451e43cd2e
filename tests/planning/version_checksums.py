#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Version checksum files of Delta logs: what they save, and that none of them ever changes an answer.

The one idea: the log alone is the truth. Whatever stands in a checksum file, the answer is that of the same log without
such files; and where a file is good, the log before it is not opened.
"""
import json, os, shutil, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "bench", "workloads")]
import make_long_history as make                                                     # noqa: E402
from planning.requests import plan, read, same, version                              # noqa: E402
from support.harness import main, run                                                # noqa: E402

COMMITS = 40


def crc(root, v):
    return os.path.join(root, "_delta_log", f"{v:020d}.crc")


def commit(root, v):
    return crc(root, v)[:-4] + ".json"


def edit(path, change):
    """Rewrites the lines of a file of JSON objects; the file keeps its time."""
    time = os.stat(path)
    with open(path) as f:
        lines = [json.loads(line) for line in f]
    for line in lines:
        change(line)
    with open(path, "w") as f:
        f.write("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))


def bare(root):
    """The same table without checksum files."""
    copy = root + "-bare"
    shutil.copytree(root, copy)
    for name in os.listdir(f"{copy}/_delta_log"):
        if name.endswith(".crc"):
            os.remove(f"{copy}/_delta_log/{name}")
    return copy


def check_same_answers(root, ranges):
    other = bare(root)
    for words in ranges:
        a, b = run("changes", root, *words, "--format", "jsonl"), run("changes", other, *words, "--format", "jsonl")
        assert (a.code, a.out, a.err.replace(root, "")) == (b.code, b.out, b.err.replace(other, "")), f"{words}: {a} with checksums, {b} without"
    shutil.rmtree(other)


def test_a_log_without_checkpoints(folder):
    """The commit, its checksum and its file, however long the log is."""
    seen = []
    for commits in (150, 1050):
        root = f"{folder}/log{commits}"
        last = make.delta_log(root, commits, 0, checksums=True)
        planned = plan(root, *version(last))[1]
        rows, stats = read(root, *version(last))
        assert rows.count(b"\n") == 10 and (planned["opens"], stats["opens"]) == (2, 3), stats
        seen.append((planned, stats))
        assert read(root, *version(last), "--storage-latency", "1")[0] == rows
        none = read(root, "--from", str(last), "--from-exclusive")[1]
        assert none["opens"] == 2, none
    same("plan", seen[0][0], seen[1][0], 200)
    same("changes", seen[0][1], seen[1][1], 200)


def test_a_checkpoint_is_not_read_where_a_newer_checksum_tells(folder):
    root = f"{folder}/t"
    last = make.delta_log(root, 130, 100, checksums=True)
    assert read(root, *version(last))[1]["opens"] == 3
    for v in range(118, last + 1):
        os.remove(crc(root, v))
    # the commits from the newest checksum on; the checksum; the file
    assert read(root, *version(last))[1]["opens"] == last - 117 + 1 + 1 + 1
    for v in range(101, 118):
        os.remove(crc(root, v))
    assert read(root, *version(last))[1]["opens"] == 1 + 30 + 1    # the checkpoint, for the checksums are older


def test_few_commits_need_no_checksum(folder):
    root = f"{folder}/t"
    last = make.delta_log(root, 1, 0, checksums=True)
    assert read(root, *version(last))[1]["opens"] == 2 + 1


def damage_file(text):
    def damage(root, v):
        with open(crc(root, v), "wb") as f:
            f.write(text)
    return damage


def damage_member(**changed):
    return lambda root, v: make.write_checksum(root, v, **{"metadata": make._metadata(False), **changed})


def cut(root, v):
    os.truncate(crc(root, v), os.path.getsize(crc(root, v)) // 2)


def folder_instead(root, v):
    os.remove(crc(root, v))
    os.mkdir(crc(root, v))


def of_another_version(root, v):
    shutil.copyfile(crc(root, 0), crc(root, v))


def commit_names_none(root, v):
    edit(commit(root, v), lambda line: line.get("commitInfo", {}).pop("txnId", None))


def commit_names_another(root, v):
    edit(commit(root, v), lambda line: line.get("commitInfo", {}).update(txnId="another"))


OTHER = {**make._metadata(False), "schemaString": make.SCHEMA.replace('"day"', '"other"')}
DAMAGES = {
    "empty": damage_file(b""), "no json": damage_file(b"\x00\xff{"), "no object": damage_file(b"[1]"), "nothing in it": damage_file(b"{}"), "cut short": cut, "a folder": folder_instead,
    "of another version": of_another_version, "of another transaction": damage_member(txnId="11111111-0000-0000-0000-000000000000", metadata=OTHER),
    "of no transaction": damage_member(txnId=None, metadata=OTHER), "an empty transaction": damage_member(txnId="", metadata=OTHER), "a transaction of another kind": damage_member(txnId=7),
    "the commit names none": commit_names_none, "the commit names another": commit_names_another,
    "no protocol": lambda root, v: edit(crc(root, v), lambda o: o.pop("protocol")),
    "no metadata": lambda root, v: edit(crc(root, v), lambda o: o.pop("metadata")), "metadata of another kind": lambda root, v: edit(crc(root, v), lambda o: o.update(metadata="x")),
    "two metadata": damage_member(numMetadata=2), "no count of protocols": damage_member(numProtocol=None),
    "a schema that is none": lambda root, v: edit(crc(root, v), lambda o: o["metadata"].update(schemaString='{"type":"struct"')),
    "a type that is none": lambda root, v: edit(crc(root, v), lambda o: o["metadata"].update(schemaString=make.SCHEMA.replace('"long"', '"lung"'))),
    "a feature that is unknown": lambda root, v: edit(crc(root, v), lambda o: o["protocol"].update(readerFeatures=["telepathy"])),
    "a protocol without version": lambda root, v: edit(crc(root, v), lambda o: o["protocol"].pop("minReaderVersion")),
}


def test_damage_is_no_error(folder):
    """A file that does not count is as if it were not there: the one before it tells, or the log."""
    start = f"{folder}/start"
    last = make.delta_log(start, COMMITS, 0, checksums=True)
    want = read(bare(start), *version(last))[0]
    for number, (name, damage) in enumerate(DAMAGES.items()):
        for versions in ((last,), range(last - 5, last + 1)):
            root = f"{folder}/{number}-{len(versions)}"
            shutil.copytree(start, root)
            for v in versions:
                damage(root, v)
            rows, stats = read(root, *version(last))
            assert rows == want, f"{name}: other rows"
            # one is skipped for the next older; of more the whole log is read
            assert stats["opens"] <= 6 if len(versions) == 1 else stats["opens"] > COMMITS, f"{name}, {len(versions)} of them: {stats}"
            shutil.rmtree(root)


def test_a_log_that_was_written_anew(folder):
    """Checksums that are left over from another table of the same name say nothing of this one."""
    root = f"{folder}/t"
    last = make.delta_log(root, COMMITS, 0, checksums=True)
    for v in range(last + 1):
        edit(commit(root, v), lambda line: line.get("commitInfo", {}).update(txnId=f"new-{v}"))
    edit(commit(root, 0), lambda line: line.get("metaData", {}).update(schemaString=make.SCHEMA.replace('"day"', '"other"')))
    rows = [json.loads(line) for line in read(root, *version(last))[0].splitlines()]
    assert len(rows) == 10 and all("other" in r["after"] and "day" not in r["after"] for r in rows), rows
    check_same_answers(root, [version(last), version(3), ("--from", str(last - 2))])


def test_the_table_changes_on_the_way(folder):
    """Columns come, the protocol is raised, and properties change: each version has its own state."""
    root = f"{folder}/t"
    os.makedirs(f"{root}/_delta_log")
    columns, protocol, metadata = json.loads(make.SCHEMA), {"minReaderVersion": 1, "minWriterVersion": 2}, make._metadata(False)
    for v in range(24):
        actions = [make._info(v)]
        if v % 5 == 0:
            columns["fields"].append({"name": f"extra{v}", "type": "long", "nullable": True, "metadata": {}})
            metadata = {**metadata, "schemaString": json.dumps(columns), "configuration": {"delta.enableChangeDataFeed": "true"} if v in (5, 10) else {}}
            actions.append({"metaData": metadata})
        if v in (0, 12):
            protocol = make.PROTOCOL if v else protocol
            actions.append({"protocol": protocol})
        name = f"f{v}.parquet"
        actions.append(make._add(name, make._data_file(root, name, v * 10, False), False))
        if v % 7 == 6:
            actions.append({"remove": {"path": f"f{v - 2}.parquet", "dataChange": True}})
        make._write_commit(root, v, actions)
        make.write_checksum(root, v, metadata, protocol)
    ranges = [version(v) for v in range(24)] + [("--from", str(a), "--to", str(b)) for a, b in ((0, 23), (3, 12), (9, 11), (12, 20), (21, 23))]
    check_same_answers(root, ranges + [("--from", "23", "--from-exclusive"), ("--from", "2023-11-14T22:13:35Z"), ("--bootstrap",), ("--bootstrap", "--from", "14")])
    for v in range(0, 24, 2):
        os.remove(crc(root, v))
    check_same_answers(root, ranges)


def test_a_log_with_a_hole(folder):
    """What the log alone refuses stays refused: a version that is missing, a log that was cut."""
    root = f"{folder}/hole"
    last = make.delta_log(root, COMMITS, 0, checksums=True)
    os.remove(commit(root, 9))
    check_same_answers(root, [version(last), version(9), version(5), ("--from", "7", "--to", "11")])
    root = f"{folder}/cut"
    make.delta_log(root, COMMITS, 0, checksums=True)
    for v in range(20):
        os.remove(commit(root, v))
    check_same_answers(root, [version(last), version(20), version(3)])


if __name__ == "__main__":
    main()
