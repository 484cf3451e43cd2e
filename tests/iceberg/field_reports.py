#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public reports of change reads that went wrong on Iceberg tables: one named test each, with its kind.

The one idea: each test builds the table situation of one report and asks for the right answer; tests with the same
number are members of one kind. The reports are those of Iceberg's own readers and of engines built on them.
"""
import datetime, os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.harness import changes, check_refused, main, same_rows
from support.iceberg_harness import Range, Truth, check_law, check_range, rows_of
from support.iceberg_types import list_of, map_of, struct_of
from support.iceberg_writer import Table

DAY = 86_400_000_000
COLUMNS = [("id", "long"), ("name", "string"), ("day", "date")]


def people(folder, version=2, rows=6, columns=COLUMNS, **options):
    t = Table(f"{folder}/t", columns, version=version, **options)
    t.append([(i, f"n{i}", 18000 + i) for i in range(1, rows + 1)])
    return t


def ids(*wanted):
    return lambda row: row["id"] in wanted


def renamed(row):
    return row | {"name": row["name"] + "+"}


def at(s, off=0):
    """A snapshot's time as a bound, `off` milliseconds away."""
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=s.ts + off)).isoformat(timespec="milliseconds") + "Z"


def rows_at(t, *words, path):
    """Rows of a request whose bounds are given in words; `path` are the snapshots that should answer."""
    got = rows_of(changes(t.root, *words).table())
    want = Truth(t).changes(path[0].parent, path[-1]) if path else []
    same_rows(got, want)


def test_01_delete_files_give_whole_old_rows(folder):
    for version in (2, 3):
        t = people(f"{folder}/{version}", version)
        t.delete_mor(ids(2, 5))
        t.delete_keys([(3,), (2,), (99,)], ["id"])          # 2 is dead already, 99 never was
        t.delete_mor(ids(1))
        t.save()
        got = check_range(t)
        assert sorted(b["id"] for op, b, _, _ in got if op == "delete") == [1, 2, 3, 5]
        assert all(b["name"] == f"n{b['id']}" and b["day"] for op, b, _, _ in got if op == "delete")


def test_01_both_kinds_of_delete_hit_one_row_once(folder):
    t = people(folder)
    f = t.current.data[0]
    t.commit("delete", (), (), [t.position_deletes({f: [1, 2]}), t.equality_deletes([(2,), (3,)], ["id"]), t.equality_deletes([("n3",)], ["name"]), t.position_deletes({f: [2]})])
    t.save()
    assert len([1 for op, *_ in check_range(t, t.snapshots[0]) if op == "delete"]) == 2


def test_02_second_write_of_a_key_while_following(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.upsert([(1, "a", 1), (2, "b", 2)], ["id"])
    t.save()
    check_range(t)
    for round in range(3):                                   # a follower polls: from the last one it saw
        seen = t.current
        t.upsert([(1, f"a{round}", round), (3 + round, "new", 0)], ["id"])
        t.save()
        got = check_range(t, seen, identity=["id"])
        assert sorted(op for op, *_ in got) == ["insert", "update_after", "update_before"]
        check_range(t, seen)
        check_range(t, seen, identity=["id"], fold=True)
    assert check_range(t, t.current) == []


def test_03_copy_on_write_commits_are_row_changes(folder):
    t = Table(f"{folder}/t", COLUMNS, [("name", "truncate[1]")])
    t.append([(i, "ab"[i % 2] + str(i), i) for i in range(20)])
    t.update_cow(ids(4), renamed)                                                                 # UPDATE
    t.update_cow(lambda r: r["id"] in (6, 7), lambda r: r | {"day": None})                        # MERGE, two files
    t.commit("overwrite", t.files([(100, "a", 0)]), [f for f in t.current.data if f.partition == ("a",)])   # INSERT OVERWRITE, dynamic
    t.delete_cow(ids(7, 9), operation="overwrite")                                                # DELETE
    t.commit("overwrite", t.files([(i, "c", i) for i in range(3)]), t.current.data)               # INSERT OVERWRITE, whole
    t.compact(t.current.data)
    t.save()
    for s in t.snapshots:
        check_range(t, s.parent, s)
    check_range(t)
    check_range(t, t.snapshots[1], identity=["id"])


def test_04_expired_start_idle_table_and_what_is_left(folder):
    t = people(folder)
    for i in range(6):
        t.append([(100 + i, "x", i)])
    first, third, last = t.snapshots[0], t.snapshots[2], t.current
    t.expire(t.snapshots[:2])
    t.save()
    gone = check_refused(changes(t.root, "--from", first.id, "--from-exclusive", "--to", last.id), str(first.id), str(third.id))
    assert "expire" in gone.lower(), gone
    check_range(t, third, last)                                # a committed position that is still alive
    assert check_range(t, last) == []                          # an idle table: no changes, no error
    t.expire([s for s in t.snapshots if s is not last])        # everything but the last consumed one
    t.save()
    assert check_range(t, last) == []


def test_04_start_of_a_cut_history(folder):
    t = people(folder)
    t.append([(50, "x", 1)])
    t.delete_mor(ids(1))
    t.append([(51, "y", 1)])
    t.expire(t.snapshots[:1])
    t.save()
    oldest = t.snapshots[0]
    check_refused(changes(t.root, "--from", "start", "--to", t.current.id), str(oldest.id))
    got = rows_of(changes(t.root, "--from", "start", "--to", t.current.id, "--bootstrap").table())
    first = [(op, b, a, s) for op, b, a, s in got if s == oldest.id]
    assert {op for op, *_ in first} == {"insert"} and len(first) == len(t.rows(oldest))
    check_law(t, Range(None, t.current), got)


def read_on(t, cursor=None, **options):
    """What a follower does: a read from where the last one ended; (rows, next cursor)."""
    r = changes(t.root, *(["--cursor", cursor] if cursor else []), "--print-cursor", **options)
    return rows_of(r.table()), r.err.strip().splitlines()[-1]


def test_04_cursor_outlives_what_it_has_read(folder):
    t = people(folder)
    t.append([(10, "x", 1)])
    t.save()
    got, cursor = read_on(t)
    same_rows(got, Truth(t).changes(None, t.current))
    got, cursor = read_on(t, cursor)                           # idle
    assert got == []
    consumed = t.current
    t.expire(t.snapshots[:1])
    t.upsert([(1, "one", 1)], ["id"])
    t.save()
    got, later = read_on(t, cursor)
    same_rows(got, Truth(t).changes(consumed, t.current))
    t.expire([consumed])
    t.append([(11, "y", 1)])
    t.save()
    oldest = t.snapshots[0]
    line = check_refused(changes(t.root, "--cursor", cursor), str(consumed.id), str(oldest.id))
    assert "expire" in line.lower(), line
    got, _ = read_on(t, later)                                 # the later cursor is still an ancestor
    same_rows(got, Truth(t).changes(oldest, t.current))


def test_22_cursor_of_a_rolled_back_snapshot(folder):
    t = people(folder)
    s1, s2 = t.current, t.append([(10, "lost", 1)])
    t.save()
    _, cursor = read_on(t)
    t.rollback(s1)
    t.append([(11, "kept", 1)])
    t.save()
    check_refused(changes(t.root, "--cursor", cursor), str(s2.id), str(s1.id))
    other = people(f"{folder}/other")
    other.save()
    check_refused(changes(other.root, "--cursor", cursor), "cursor")


def test_59_cursor_and_start_do_not_mix(folder):
    t = people(folder)
    t.save()
    _, cursor = read_on(t)
    check_refused(changes(t.root, "--cursor", cursor, "--from", t.current.id))
    check_refused(changes(t.root, "--cursor", "not a cursor"), "cursor")


def test_60_a_compaction_is_skipped_as_a_whole(folder):
    for version in (1, 2, 3):
        t = Table(f"{folder}/{version}", COLUMNS, version=version)
        t.append([(i, f"n{i}", i) for i in range(60)], per_file=1)
        t.compact(t.current.data)
        t.append([(100, "x", 1)])
        t.save()
        for f in t.snapshots[0].data:                          # nobody needs to open what was rewritten
            os.remove(f.local)
        check_range(t, t.snapshots[0])
        assert check_range(t, t.snapshots[0], t.snapshots[1]) == []


def test_05_data_file_gone_is_an_error_not_fewer_rows(folder):
    for version, how in ((2, "append"), (2, "cow"), (2, "mor"), (3, "mor")):
        t = people(f"{folder}/{version}{how}", version)
        if how == "cow":
            t.update_cow(ids(2), renamed)
        if how == "mor":
            t.delete_mor(ids(2))
        t.save()
        lost = t.snapshots[0].data[0]
        os.remove(lost.local)
        for first in (None, t.snapshots[0]) if how != "append" else (None,):
            check_refused(changes(t.root, *Range(first, t.current).words()), os.path.basename(lost.path))


def test_10_unchanged_neighbours_cancel_by_count(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.append([(1, "a", 1), (1, "a", 1), (1, "a", 1), (2, "b", 2), (None, None, None), (None, None, None)])
    f = t.current.data[0]
    t.commit("overwrite", t.rewrite(f, t.current, {0, 2, 3, 4, 5}, {1: t.row((1, "A", 1))}), [f])
    f = t.current.data[0]
    t.commit("overwrite", t.rewrite(f, t.current, {0, 1, 2, 3, 4}), [f])
    t.save()
    got = check_range(t, t.snapshots[0])
    assert [(op, (b or a)["id"]) for op, b, a, _ in got] == [("delete", 1), ("insert", 1), ("delete", None)]


def test_15_net_over_many_snapshots_of_a_wide_table(folder):
    wide = [("id", "long")] + [(f"c{i:03d}", "string" if i % 2 else "double") for i in range(120)]
    t = Table(f"{folder}/t", wide)
    t.append([[i] + [f"v{i}" if c % 2 else i / 4 for c in range(120)] for i in range(30)])
    for i in range(40):
        t.update_cow(ids(i % 7), lambda r: r | {"c001": f"r{i}"})
    t.save()
    assert len(check_range(t, t.snapshots[0], identity=["id"], net=True)) == 14
    check_range(t, t.snapshots[0], net=True)
    check_range(t, t.snapshots[0], identity=["id"], net=True, fold=True, columns=["c001", "id"])


def test_16_many_commits_each_with_an_equality_delete(folder):
    t = Table(f"{folder}/t", COLUMNS)
    for i in range(40):
        t.append([(i * 10 + k, f"n{k}", k) for k in range(10)])
    for i in range(40):
        t.upsert([(i * 7 % 400, "again", i), (1000 + i, "new", i)], ["id"])
    t.save()
    check_range(t, t.snapshots[39])
    check_range(t, t.snapshots[60], identity=["id"], fold=True)


def test_17_updates_that_change_nothing(folder):
    columns = COLUMNS + [("d", "double"), ("m", map_of("string", "int"))]
    for version in (2, 3):
        t = Table(f"{folder}/{version}", columns, version=version)
        t.append([(1, None, None, float("nan"), [("a", 1), ("b", None)]), (2, "b", 2, 1.0, []), (3, "c", 3, 0.0, None)])
        t.update_cow(ids(1, 2), lambda r: r if r["id"] == 1 else r | {"name": "B"})
        t.save()
        got = check_range(t, t.snapshots[0], identity=["id"])
        assert len(got) == (4 if version == 3 else 2), "by row id a no-op update stays, by content it is carried over"
        assert len(check_range(t, t.snapshots[0], identity=["id"], drop_noop=True)) == 2


def test_22_time_follows_the_parents_not_the_log(folder):
    t = people(folder)
    s1 = t.current
    s2 = t.append([(10, "lost", 1)])
    t.rollback(s1)
    s3 = t.append([(11, "kept", 1)])
    t.save()
    check_range(t, None, s3)
    rows_at(t, "--from", "start", "--to", at(s2), path=[s1])               # s2's time: main was at s1
    rows_at(t, "--from", at(s2), "--to", at(s3), path=[s3])
    line = check_refused(changes(t.root, "--from", s2.id, "--from-exclusive", "--to", s3.id), str(s2.id), str(s1.id))
    assert "ancestor" in line or "rolled back" in line, line
    check_range(t, None, s2)                                               # still readable by its own line


def test_23_bounds_in_time(folder):
    t = people(folder)
    s1, s2, s3 = t.current, t.append([(10, "x", 1)]), t.append([(11, "y", 1)])
    t.save()
    rows_at(t, "--from", at(s1, -5000), path=[s1, s2, s3])                 # no end: the current snapshot
    rows_at(t, "--from", at(s2), path=[s2, s3])
    rows_at(t, "--from", at(s2), "--from-exclusive", path=[s3])
    rows_at(t, "--from", at(s1, 1), "--to", at(s3, -1), path=[s2])
    rows_at(t, "--to", at(s2), "--from", "start", path=[s1, s2])
    rows_at(t, "--from", at(s3, 60_000), path=[])                          # later than the newest commit: nothing yet
    for seconds in ("1700000000", "1700000000000"):                        # a bare number is a snapshot id, never a time
        check_refused(changes(t.root, "--from", seconds), seconds)


def test_23_times_need_not_rise(folder):
    t = Table(f"{folder}/t", COLUMNS)
    base = 1_700_000_000_000
    for i, off in enumerate((0, 5000, 2000, 2000, 9000)):
        t.append([(i, "x", i)], timestamp=base + off)
    t.save()
    check_range(t)
    check_range(t, t.snapshots[1], t.snapshots[3])


def test_29_null_keys_match_null_only(folder):
    t = Table(f"{folder}/t", [("id", "long"), ("k", "string"), ("n", "int"), ("d", "date")])
    t.append([(1, None, 0, 0), (2, None, None, None), (3, "x", 0, None), (4, "", 1, 0), (5, "null", None, 0), (1, "x", None, 0)])
    t.delete_keys([(1, None)], ["id", "k"])
    t.delete_keys([(None,)], ["n"])
    t.delete_keys([("x", 0)], ["k", "n"])
    t.append([(7, None, 0, 0), (8, "z", 0, None)])
    t.delete_keys([(0,)], ["d"])                               # epoch is not null
    t.delete_keys([("y",)], ["k"])                             # a value where the data is null
    t.save()
    check_range(t)


def test_29_null_key_of_a_column_the_data_never_had(folder):
    for version, default in ((2, None), (3, None), (3, 7)):
        t = people(f"{folder}/{version}{default}", version)
        if default is None:
            t.add_column("later", "int")
        else:
            t.add_column("later", "int", default)
        t.append([(20, "x", 1, None), (21, "y", 1, 7), (22, "z", 1, 8)])
        t.delete_keys([(default,)], ["later"])                 # hits the old rows (they read the default) and one new row
        t.save()
        got = check_range(t)
        assert len([1 for op, *_ in got if op == "delete"]) == 7


def test_31_sequence_decides_equality_and_position_deletes(folder):
    t = people(folder)
    new = t.files([(1, "again", 1), (2, "twice", 2), (50, "short", 3)])
    new[0].seq = t.last_seq + 1
    t.commit("overwrite", new, (), [t.equality_deletes([(1,), (2,), (50,)], ["id"]), t.position_deletes({new[0]: [2]})])
    t.delete_keys([(2,)], ["id"])
    t.save()
    got = check_range(t, t.snapshots[0])
    assert sorted((op, (b or a)["name"]) for op, b, a, _ in got) == [("delete", "n1"), ("delete", "n2"), ("delete", "twice"), ("insert", "again"), ("insert", "twice")]


def test_31_rewrite_that_keeps_an_old_sequence_number(folder):
    """Compaction started before an upsert and committed after it: the upsert's delete still hits the rewritten file."""
    t = people(folder)
    before = t.current
    t.upsert([(2, "new", 1)], ["id"])
    old = before.data[0]
    t.commit("replace", t.files([t.read_by_id(old, p, t.schema) for p in range(old.count)], by_id=True, data_seq=before.seq), [old])
    t.delete_mor(ids(3))
    t.save()
    check_range(t)
    check_range(t, t.snapshots[1])


def test_33_filter_on_another_column_keeps_the_delete(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.append([(i, f"n{i}", 18000 + i) for i in range(10)])
    d = t.equality_deletes([(3,), (4,)], ["id"], extra=["day"])      # the file's own day column says nothing: all null
    t.commit("overwrite", t.files([(3, "new", 19000)]), (), [d])
    t.save()
    day = datetime.date(1970, 1, 1) + datetime.timedelta(days=18004)
    for where in (("cmp", "day", "<=", day), ("cmp", "day", ">", day), ("cmp", "id", "=", 4), ("cmp", "name", "=", "n4"), ("null", "day", False)):
        check_range(t, t.snapshots[0], where=where)
        check_range(t, t.snapshots[0], where=where, identity=["id"])


def test_35_equality_deletes_turned_into_position_deletes(folder):
    t = Table(f"{folder}/t", COLUMNS)
    for i in range(5):
        t.append([(i * 4 + k, "x", k) for k in range(4)])
    t.upsert([(1, "one", 0), (6, "six", 0), (18, "eighteen", 0)], ["id"])
    s = t.current
    equality = [d for d in s.deletes if d.kind == "eq"]
    hits = {f: sorted(set(range(f.count)) - set(live)) for f, live in t.alive(s).items()}
    t.commit("replace", (), (), [t.position_deletes({f: p for f, p in hits.items() if p})], equality)
    t.delete_mor(ids(2, 18))
    t.upsert([(6, "six again", 0)], ["id"])
    t.save()
    check_range(t)
    for a, b in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, a, b)


def test_37_a_moved_table_reads_by_path_map(folder):
    homes = {"s3": "s3://bucket/wh/t", "s3a": "s3a://bucket/wh/t", "file1": "file:/srv/wh/t", "file3": "file:///srv/wh/t", "plain": "/srv/wh/t"}
    for version in (1, 2, 3):
        for name, home in homes.items():
            t = Table(f"{folder}/{version}{name}", COLUMNS, version=version, location=home)
            t.append([(i, f"n{i}", i) for i in range(8)])
            if version > 1:
                t.delete_mor(ids(2, 3))
                t.upsert([(4, "four", 4)], ["id"])
                t.delete_mor(ids(5))
            t.update_cow(ids(6), renamed)
            t.save()
            check_range(t, words=["--path-map", f"{home}={t.root}"])
    check_refused(changes(t.root, "--from", "start", "--to", t.current.id))      # without the map: nothing is at /srv


def test_37_schemes_compare_as_they_are_spelled(folder):
    """A position delete that spells its data file with another scheme names another file."""
    t = Table(f"{folder}/t", COLUMNS, location="s3://bucket/t")
    t.append([(i, f"n{i}", i) for i in range(6)])
    f = t.current.data[0]
    real, f.path = f.path, f.path.replace("s3://", "s3a://")
    stray = t.position_deletes({f: [1]})
    f.path = real
    t.commit("delete", (), (), [stray, t.position_deletes({f: [2]})])
    t.save()
    got = check_range(t, t.snapshots[0], words=["--path-map", f"s3://bucket/t={t.root}", "--path-map", f"s3a://bucket/t={t.root}"])
    assert [b["id"] for _, b, _, _ in got] == [2]


def test_43_each_snapshot_has_its_own_vector(folder):
    t = people(folder, 3, rows=20)
    t.append([(100 + i, "second", i) for i in range(20)])
    a, b = t.current.data
    t.delete_mor(ids(1, 101))                                  # one Puffin file, two vectors
    t.delete_mor(ids(2, 3))
    t.delete_mor(ids(102))
    t.delete_mor(ids(4, 103))
    t.save()
    for x, y in zip(t.snapshots, t.snapshots[1:]):
        check_range(t, x, y)
    check_range(t)


def test_42_a_vector_larger_than_64_kilobytes(folder):
    t = Table(f"{folder}/t", [("id", "long")], version=3)
    n = 150_000
    t.append([(i,) for i in range(n)])
    t.delete_mor(lambda r: r["id"] % 3 == 0)
    t.delete_mor(lambda r: r["id"] % 3 == 1 and r["id"] % 100 == 0)
    t.save()
    got = changes(t.root, *Range(t.snapshots[0], t.current).words()).table()
    gone = sorted(x["id"] for x in got.column("before").to_pylist())
    assert gone == sorted([i for i in range(n) if i % 3 == 0] + [i for i in range(n) if i % 3 == 1 and i % 100 == 0])


def test_45_partition_columns_shift_no_positions(folder):
    for version in (2, 3):
        t = Table(f"{folder}/{version}", COLUMNS, [("name", "identity")], version=version)
        rows = [(i, "ab"[i % 2], i) for i in range(12)]
        t.commit("append", t.files(rows, omit=["name"]))
        t.delete_mor(ids(3))
        t.delete_mor(ids(5, 6))
        t.save()
        check_range(t)
        check_range(t, t.snapshots[0], columns=["name"])
        check_range(t, t.snapshots[0], where=("cmp", "name", "=", "a"), columns=["id"])


def test_51_map_columns_need_no_order(folder):
    t = Table(f"{folder}/t", [("id", "long"), ("m", map_of("string", struct_of(("x", "int"), ("y", list_of("string"))))), ("l", list_of(map_of("int", "double")))])
    t.append([(i, [("a", {"x": i, "y": ["p", None]}), ("b", None), ("c", {"x": None, "y": []})], [[(1, 0.5), (2, None)], None]) for i in range(5)])
    f = t.current.data[0]
    # The rewrite keeps the maps' content in another order; row 2 changes.
    turned = []
    for p in range(f.count):
        row = t.read(f, p, t.schema)
        row["m"] = row["m"][::-1]
        if p == 2:
            row["m"] = row["m"][:2]
        turned.append(row)
    t.commit("overwrite", t.files(turned), [f])
    t.save()
    got = check_range(t, t.snapshots[0])
    assert [(op, (b or a)["id"]) for op, b, a, _ in got] == [("delete", 2), ("insert", 2)]
    check_range(t, t.snapshots[0], identity=["id"])


def test_52_duplicate_identities_keep_their_count(folder):
    for version in (2, 3):
        for which in (["a"], ["a", "b"]):
            t = Table(f"{folder}/{version}{len(which)}", COLUMNS, version=version)
            t.append([(1, "a", 1), (1, "b", 1), (2, "c", 2)])
            t.update_cow(lambda r: r["name"] in which, renamed)
            t.save()
            got = check_range(t, t.snapshots[0])
            assert len(got) == 2 * len(which)
            assert {op for op, *_ in got} == ({"delete", "insert"} if version == 2 else {"update_before", "update_after"})
            got = rows_of(changes(t.root, *Range(t.snapshots[0], t.current).words(), "--identity", "id").table())
            assert len(got) == 2 * len(which)
            check_law(t, Range(t.snapshots[0], t.current), got)


def test_53_an_update_that_moves_a_row_to_another_partition(folder):
    for version in (2, 3):
        for how in ("cow", "mor"):
            t = Table(f"{folder}/{version}{how}", COLUMNS, [("name", "identity")], version=version)
            t.append([(i, "abc"[i % 3], i) for i in range(9)])
            update = t.update_cow if how == "cow" else t.update_mor
            update(ids(3, 4), lambda r: r | {"name": "z" if r["id"] == 3 else "a"})
            t.save()
            got = check_range(t, t.snapshots[0], identity=["id"], identity_of_order=["id"])
            assert sorted(op for op, *_ in got) == ["update_after"] * 2 + ["update_before"] * 2
            assert [op for op, *_ in check_range(t, t.snapshots[0], identity=["id"], fold=True)] == ["update"] * 2
            check_range(t, t.snapshots[0], identity=["id"], where=("cmp", "name", "=", "z"))
            check_range(t, t.snapshots[0], identity=["id"], where=("cmp", "name", "<>", "z"))


def test_54_net_is_the_last_state_of_a_key(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.upsert([(1, "a", 1), (2, "b", 1), (3, "c", 1)], ["id"])
    s1 = t.current
    t.upsert([(1, "a2", 1), (4, "d", 1)], ["id"])
    t.upsert([(1, "a3", 1), (2, "b2", 1)], ["id"])
    t.upsert([(2, "b", 1)], ["id"])                            # back as it was
    t.delete_keys([(3,), (4,)], ["id"])
    t.save()
    got = check_range(t, s1, identity=["id"], net=True)
    assert sorted(op for op, *_ in got) == ["delete", "update_after", "update_before"]
    got = check_range(t, None, identity=["id"], net=True)      # the first load is reduced as well
    assert [(op, a["name"]) for op, _, a, _ in sorted(got, key=lambda r: r[2]["id"])] == [("insert", "a3"), ("insert", "b")]


def test_55_added_and_deleted_inside_the_range(folder):
    for version in (1, 2, 3):
        t = people(f"{folder}/{version}", version, rows=1)
        (t.delete_mor if version > 1 else t.delete_cow)(ids(1))
        t.save()
        assert [op for op, *_ in check_range(t)] == ["insert", "delete"]
        assert check_range(t, identity=["id"], net=True) == []
        assert check_range(t, net=True) == []


def test_63_two_commits_in_one_millisecond(folder):
    t = Table(f"{folder}/t", COLUMNS)
    for i in range(4):
        t.upsert([(1, f"v{i}", i)], ["id"], timestamp=1_700_000_000_000)
    t.save()
    got = check_range(t)
    assert [a["name"] for op, _, a, _ in got if op == "insert"] == ["v0", "v1", "v2", "v3"]
    rows_at(t, "--from", at(t.current), path=t.snapshots)


def test_67_each_file_is_filtered_by_its_own_spec(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.append([(i, "abc"[i % 3], i) for i in range(9)])
    t.set_spec([("name", "identity")])
    t.append([(20 + i, "abc"[i % 3], i) for i in range(9)])
    t.set_spec([("name", "truncate[1]"), ("day", "month")])
    t.append([(40 + i, "abc"[i % 3], 40 * i) for i in range(9)])
    t.delete_mor(lambda r: r["id"] % 10 == 1)
    t.set_spec([("id", "bucket[4]")])
    t.update_cow(lambda r: r["id"] % 10 == 2, renamed)
    t.set_spec([])
    t.upsert([(1, "a", 1), (44, "b", 2)], ["id"])
    t.save()
    for where in (("cmp", "name", "=", "a"), ("cmp", "name", ">", "a"), ("cmp", "id", "=", 22), ("cmp", "day", ">=", datetime.date(1970, 3, 1)), ("null", "name", False), ("in", "name", ["b", "c"], True)):
        check_range(t, where=where)
        check_range(t, where=where, columns=["day"])
        check_range(t, t.snapshots[1], where=where, identity=["id"])


def test_68_partition_value_follows_a_renamed_column(folder):
    for version in (2, 3):
        t = Table(f"{folder}/{version}", COLUMNS, [("name", "identity")], version=version)
        t.commit("append", t.files([(i, "ab"[i % 2], i) for i in range(6)], omit=["name"]))
        t.rename_column("name", "region")
        t.commit("append", t.files([(10 + i, "ab"[i % 2], i) for i in range(6)], omit=["region"]))
        t.delete_mor(ids(1, 10))
        t.add_column("label", "string")
        t.append([(30, "a", 1, "name")])
        t.save()
        got = check_range(t)
        assert all((b or a)["region"] in ("a", "b") for _, b, a, _ in got)
        check_range(t, where=("cmp", "region", "=", "a"))
        check_range(t, where=("null", "label", False))


def test_69_vectors_are_applied_and_stand_alone(folder):
    t = people(folder, 3, rows=10)
    t.delete_mor(ids(1, 2))
    t.update_mor(ids(3), renamed)
    t.compact(t.current.data)
    t.delete_mor(ids(3, 4))
    t.delete_cow(ids(5))
    t.save()
    check_range(t)
    check_range(t, t.snapshots[1])


def test_71_vector_after_older_position_deletes(folder):
    t = people(folder, 2, rows=10)
    t.delete_mor(ids(1, 2), row_column=True)
    t.delete_mor(ids(3))
    t.upgrade(3)
    t.delete_mor(ids(4))                                       # the vector holds 1, 2 and 3 as well
    t.delete_mor(ids(5, 6))
    t.save()
    got = check_range(t, t.snapshots[2])
    assert sorted(b["id"] for _, b, _, _ in got) == [4, 5, 6]
    check_range(t)


def test_71_vector_that_forgets_the_position_deletes(folder):
    """A bad writer: the rows it forgot come back, and the feed says so, or the read is refused; never silence."""
    t = people(folder, 2, rows=10)
    t.delete_mor(ids(1, 2))
    t.upgrade(3)
    t.commit("delete", (), (), t.vectors({t.current.data[0]: {5}}))
    t.save()
    r = changes(t.root, *Range(t.snapshots[1], t.current).words())
    if r.code == 0:
        got = check_range(t, t.snapshots[1])
        assert sorted((op, (b or a)["id"]) for op, b, a, _ in got) == [("delete", 6), ("insert", 1), ("insert", 2)]
    else:
        check_refused(r)


def test_71_row_ids_across_the_upgrade(folder):
    t = people(folder, 2, rows=6)
    t.delete_mor(ids(1))
    t.upgrade(3)
    t.update_cow(ids(2), renamed)                              # the old rows had no ids yet: delete and insert
    t.append([(20, "x", 1)])
    t.update_cow(ids(3), renamed)                              # now they have: an update
    t.update_mor(ids(4, 20), renamed)
    t.upsert([(5, "five", 5)], ["id"])
    t.save()
    got = check_range(t, t.snapshots[1])
    assert [op for op, *_ in got].count("update_before") == 3
    check_range(t)
    check_range(t, t.snapshots[1], identity=["id"], fold=True)


def test_72_second_vector_gives_the_second_row_only(folder):
    t = people(folder, 3)
    t.delete_mor(ids(1))
    t.delete_mor(ids(2))
    t.save()
    assert [b["id"] for _, b, _, _ in check_range(t, t.snapshots[1])] == [2]
    assert [b["id"] for _, b, _, _ in check_range(t, t.snapshots[0])] == [1, 2]


def test_72_a_smaller_vector_brings_rows_back(folder):
    t = people(folder, 3)
    f = t.current.data[0]
    t.delete_mor(ids(1, 2, 3))
    t.commit("overwrite", (), (), t.vectors({f: {1, 5}}), t.current.deletes)
    t.commit("overwrite", (), (), (), t.current.deletes)       # and no vector at all
    t.save()
    got = check_range(t, t.snapshots[1])
    assert sorted((op, (b or a)["id"]) for op, b, a, _ in got) == [("delete", 6), ("insert", 1), ("insert", 2), ("insert", 3), ("insert", 6)]
    check_range(t)


def test_74_bounds_that_make_no_sense(folder):
    t = people(folder)
    t.append([(10, "x", 1)])
    t.save()
    first, last = t.snapshots
    check_refused(changes(t.root, "--from", last.id, "--to", first.id))
    check_refused(changes(t.root, "--from", first.id, "--to", 12345), "12345")
    check_refused(changes(t.root, "--from", 12345, "--to", last.id), "12345")
    check_refused(changes(t.root, "--from", first.id, "--branch", "nowhere"), "nowhere")
    check_refused(changes(t.root, "--from", first.id, "--columns", "nobody"), "nobody")
    check_refused(changes(t.root, "--from", first.id, "--where", "nobody = 1"), "nobody")
    check_refused(changes(f"{folder}/elsewhere", "--from", "start"), "elsewhere")


if __name__ == "__main__":
    main()
