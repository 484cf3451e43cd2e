#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lakecdc follow` on tables that grow, break, heal and are replaced while it runs.

The one idea: a follower is a process whose lines are read as they come; every test does something to the table and says
which lines must come, how soon, and how the process ends.
"""
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.tables import append, delete, table, update
from support import harness

PATIENCE = 60


class Follower:
    def __init__(self, *words, interval="100ms"):
        argv = [harness.CLI, "follow", *map(str, words), "--interval", interval]
        self.p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines, self.errors = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()
        self.watch = threading.Thread(target=lambda: self.errors.extend(self.p.stderr), daemon=True)
        self.watch.start()

    def _read(self):
        for line in self.p.stdout:
            self.lines.put(line.rstrip("\r\n"))
        self.lines.put(None)

    def line(self):
        try:
            got = self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"no line within {PATIENCE} s; stderr: {''.join(self.errors)}") from None
        assert got is not None, f"it ended: {''.join(self.errors)}"
        return got

    def rows(self, n):
        return [short(json.loads(self.line())) for _ in range(n)]

    def silent(self, seconds=0.5):
        try:
            got = self.lines.get(timeout=seconds)
        except queue.Empty:
            return
        raise AssertionError(f"an unexpected line: {got}")

    def said(self, word):
        end = time.monotonic() + PATIENCE
        while not any(word in e for e in self.errors):
            assert time.monotonic() < end and self.p.poll() is None, f"'{word}' was not said: {''.join(self.errors)}"
            time.sleep(0.05)

    def stop(self, number=signal.SIGTERM):
        """Ends it; the exit status and the seconds it took."""
        began = time.monotonic()
        self.p.send_signal(number)
        return self.end(), time.monotonic() - began

    def end(self):
        code = self.p.wait(PATIENCE)
        self.watch.join(PATIENCE)
        assert code != harness.SANITIZER, "".join(self.errors)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *e):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()


def short(r):
    return r["op"], (r["after"] or r["before"])["id"], r["snapshot"]


def text(path):
    with open(path) as f:
        return f.read()


def test_each_commit_comes_without_the_next(folder):
    t = append(table(folder + "/t"), 1, 2)
    with Follower(t.root) as f:
        f.silent(1)  # what is there already is not of interest
        for i in range(3, 7):
            append(t, i)
            assert f.rows(1) == [("insert", i, t.latest)]
        update(t, 3, qty=5)
        assert sorted(f.rows(2)) == [("delete", 3, t.latest), ("insert", 3, t.latest)]
        f.silent()
        code, seconds = f.stop()
        assert code == 0 and seconds < 1, (code, seconds)


def test_from_a_version_and_from_the_rows_of_now(folder):
    t = append(append(table(folder + "/t"), 1, 2), 3)
    with Follower(t.root, "--from", 2) as f:
        assert f.rows(1) == [("insert", 3, 2)]
        append(t, 4)
        assert f.rows(1) == [("insert", 4, 3)]
    with Follower(t.root, "--from", "start") as f:
        assert sorted(f.rows(4)) == [("insert", 1, 1), ("insert", 2, 1), ("insert", 3, 2), ("insert", 4, 3)]
    delete(t, 1)
    with Follower(t.root, "--bootstrap", "--from", t.latest) as f:
        assert sorted(f.rows(3)) == [("insert", i, t.latest) for i in (2, 3, 4)]
        append(t, 5)
        assert f.rows(1) == [("insert", 5, t.latest)]
        assert f.stop(signal.SIGINT)[0] == 0


def test_goes_on_after_its_cursor_file(folder):
    t, at = append(table(folder + "/t"), 1), folder + "/at"
    for i in range(2, 6):
        with Follower(t.root, "--from", "start", "--cursor-file", at) as f:
            assert f.rows(1) == [("insert", i - 1, t.latest)]
            if i > 2:
                f.said("going on after the cursor")
            assert f.stop()[0] == 0
        assert f"/{t.latest}/" in text(at)
        append(t, i)
    assert os.listdir(folder).count("at.partial") == 0


def test_a_killed_one_repeats_at_most_the_last_commit(folder):
    t, at = table(folder + "/t"), folder + "/at"
    out = folder + "/out.jsonl"
    for i in range(12):
        append(t, i)
        if i % 2 == 0:
            with open(out, "a") as o:
                p = subprocess.Popen([harness.CLI, "follow", t.root, "--from", "start", "--cursor-file", at, "--interval", "20ms"],
                                     stdout=o, stderr=subprocess.DEVNULL)
                time.sleep(0.05 * (i % 5))
                p.kill()
                p.wait()
    with open(out, "a") as o:
        p = subprocess.Popen([harness.CLI, "follow", t.root, "--from", "start", "--cursor-file", at, "--interval", "20ms"], stdout=o)
        end = time.monotonic() + PATIENCE
        while not (os.path.exists(at) and f"/{t.latest}/" in text(at)):
            assert time.monotonic() < end
            time.sleep(0.05)
        p.terminate()
        assert p.wait(PATIENCE) == 0
    lines = [line for line in text(out).split("\n") if line.endswith("}")]
    assert {short(json.loads(line))[1] for line in lines} == set(range(12)), lines


def test_maintenance_moves_the_cursor(folder):
    t, at = append(table(folder + "/t"), 1), folder + "/at"
    with Follower(t.root, "--from", "start", "--cursor-file", at) as f:
        f.rows(1)
        with t.commit(operation="OPTIMIZE", data_change=False) as c:
            c.compact() if hasattr(c, "compact") else c.append([])
        end = time.monotonic() + PATIENCE
        while f"/{t.latest}/" not in text(at):
            assert time.monotonic() < end, text(at)
            time.sleep(0.05)
        f.silent()


def test_the_cursor_file_is_written_when_there_is_something_new(folder):
    t, at = append(table(folder + "/t"), 1), folder + "/at"
    with Follower(t.root, "--from", "start", "--cursor-file", at, interval="20ms") as f:
        f.rows(1)
        end = time.monotonic() + PATIENCE
        while not os.path.exists(at):
            assert time.monotonic() < end
            time.sleep(0.05)
        f.silent(0.5)  # looks that found nothing
        before = os.stat(at)
        f.silent(1)
        after = os.stat(at)
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns), "written anew"
        append(t, 2)
        f.rows(1)
        while f"/{t.latest}/" not in text(at):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert f.stop()[0] == 0
    kept = os.stat(at)
    with Follower(t.root, "--cursor-file", at, interval="20ms") as f:
        f.silent(1)
        assert f.stop()[0] == 0
    assert os.stat(at).st_ino == kept.st_ino, "written anew after a start"


def test_formats(folder):
    t = append(table(folder + "/t"), 1)
    with Follower(t.root, "--format", "csv", "--from", "start", "--columns", "id,name") as f:
        assert f.line() == "op,snapshot,ts,before.id,before.name,after.id,after.name"
        assert f.line().endswith(",1,n1")
        append(t, 2)
        assert f.line().endswith(",2,n2")  # no second header
    with Follower(t.root, "--format", "table", "--from", "start") as f:
        assert f.line().split()[:1] == ["op"]
        assert [f.line().split()[:2] for _ in range(2)] == [["+", "insert"]] * 2
        append(t, 3)
        assert "n3" in f.line()


def test_what_passes_is_tried_again(folder):
    t = append(table(folder + "/t"), 1)
    hidden = t.root + ".hidden"
    with Follower(t.root) as f:
        f.silent(1)
        append(t, 2)
        f.rows(1)
        log = os.path.join(t.root, "_delta_log")
        os.rename(log, hidden)
        with open(log, "w"):
            pass  # a file where a folder was: the storage answers with an error
        f.said("trying again")
        os.remove(log)
        os.rename(hidden, log)
        append(t, 3)
        assert f.rows(1) == [("insert", 3, t.latest)]
        assert f.stop()[0] == 0


def test_lost_history_ends_it(folder):
    t, at = append(table(folder + "/t"), 1), folder + "/at"
    with Follower(t.root, "--from", "start", "--cursor-file", at) as f:
        f.rows(1)
        assert f.stop()[0] == 0
    for i in range(2, 5):
        append(t, i)
    t.checkpoint()
    for v in range(3):
        os.remove(f"{t.root}/_delta_log/{v:020}.json")
    with Follower(t.root, "--cursor-file", at) as f:
        assert f.end() == 5, "".join(f.errors)
        assert "delta.version_gone" in "".join(f.errors) and "--bootstrap" in "".join(f.errors)
        f.lines.get(timeout=1)


def test_another_table_ends_it(folder):
    t, at = append(append(table(folder + "/t"), 1), 2), folder + "/at"
    with Follower(t.root, "--from", "start", "--cursor-file", at) as f:
        f.rows(2)
        f.stop()
    shutil.rmtree(t.root)
    append(table(folder + "/t"), 7)
    with Follower(t.root, "--cursor-file", at) as f:
        assert f.end() == 2 and "cursor.other_table" in "".join(f.errors), "".join(f.errors)


def test_a_rollback_ends_it(folder):
    t, at = append(append(table(folder + "/t"), 1), 2), folder + "/at"
    with Follower(t.root, "--from", "start", "--cursor-file", at) as f:
        f.rows(2)
        f.stop()
    os.remove(f"{t.root}/_delta_log/{2:020}.json")
    with Follower(t.root, "--cursor-file", at) as f:
        assert f.end() == 3 and "delta.version_missing" in "".join(f.errors), "".join(f.errors)


def test_a_reader_that_left_ends_it(folder):
    t = append(table(folder + "/t"), 1)
    p = subprocess.Popen([harness.CLI, "follow", t.root, "--from", "start", "--interval", "100ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert p.stdout.readline()
        p.stdout.close()
        append(t, 2)
        assert p.wait(PATIENCE) == 0, p.stderr.read()
    finally:
        p.kill()


def test_what_it_does_not_take(folder):
    t = append(table(folder + "/t"), 1)
    harness.check_refused(harness.run("follow", t.root, "--to", 1), "--to")
    harness.check_refused(harness.run("follow", t.root, "--net"), "--net")
    harness.check_refused(harness.run("follow", t.root, "--format", "parquet"), "parquet")
    for word in ("0", "x", "-1", "10d", ""):
        harness.check_refused(harness.run("follow", t.root, f"--interval={word}"), "--interval")
    harness.check_refused(harness.run("follow", folder + "/none"), "table.missing")
    with open(folder + "/empty", "w"):
        pass
    harness.check_refused(harness.run("follow", t.root, "--cursor-file", folder + "/empty"), "holds no cursor")


if __name__ == "__main__":
    harness.main(__doc__)
