#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command does besides printing the right rows: formats that agree, signals, pipes, progress, no half output.

Each function test_* gets an empty folder. The table is one that deltalake writes: large enough that its changes do not
fit into what the command holds back.
"""
import base64
import csv
import datetime as dt
import decimal
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import deltalake
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

LAKECDC = os.environ["LAKECDC"]
HERE = os.path.dirname(os.path.abspath(__file__))
HOLD = 16 << 20
ROWS = 200_000
big = None


def make_big(folder):
    """Two commits of 100,000 rows, about 40 MB as JSON lines."""
    global big
    big = f"{folder}/big"
    for begin in (0, ROWS // 2):
        ids = range(begin, begin + ROWS // 2)
        deltalake.write_deltalake(big, pa.table({"id": pa.array(ids, pa.int64()), "text": [f"row {i} " + "x" * 60 for i in ids]}), mode="append")


def run(*words, **more):
    return subprocess.run([LAKECDC, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, **more)


def start(*words, **more):
    return subprocess.Popen([LAKECDC, *map(str, words)], stdin=subprocess.DEVNULL, **more)


def typed(folder):
    """A table with a column of every type that deltalake writes, nulls among them."""
    tz = dt.timezone.utc
    table = pa.table({
        "id": pa.array([1, 2, 3], pa.int64()),
        "b": pa.array([True, None, False]),
        "i8": pa.array([-128, None, 127], pa.int8()),
        "i16": pa.array([-32768, None, 32767], pa.int16()),
        "i32": pa.array([-2**31, None, 2**31 - 1], pa.int32()),
        "i64": pa.array([-2**63, None, 2**63 - 1], pa.int64()),
        "f": pa.array([0.1, None, float("nan")], pa.float32()),
        "d": pa.array([0.1, None, float("-inf")], pa.float64()),
        "n": pa.array([decimal.Decimal("-1.50"), None, decimal.Decimal("99999999.99")], pa.decimal128(10, 2)),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
        "ts": pa.array([dt.datetime(2024, 2, 29, 12, 0, 0, 1, tz), None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tz)], pa.timestamp("us", "UTC")),
        "s": pa.array(["caf\u00e9, \"x\"\n", None, ""]),
        "x": pa.array([b"\x00\xff", None, b""]),
        "st": pa.array([{"a": 1, "l": ["p", None]}, None, {"a": None, "l": []}], pa.struct([("a", pa.int32()), ("l", pa.list_(pa.string()))])),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    })
    deltalake.write_deltalake(f"{folder}/typed", table)
    return f"{folder}/typed"


def plain(value):
    """A value as the JSON encoding of docs/change-row.md spells it."""
    if isinstance(value, float):
        return value if value - value == 0 else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def narrow(rows):
    """Floats of a float32 column are told by their shortest decimal."""
    for row in rows:
        for side in ("before", "after"):
            if row[side] and isinstance(row[side]["f"], float):
                row[side]["f"] = float(f"{row[side]['f']:.7g}")
    return rows


def test_the_formats_agree(folder):
    table = typed(folder)
    lines = [json.loads(line) for line in run("changes", table).stdout.splitlines()]
    ipc = pa.ipc.open_stream(run("changes", table, "--format", "arrow").stdout).read_all()
    assert run("changes", table, "--format", "parquet", "-o", f"{folder}/p").returncode == 0
    parquet = pq.read_table(f"{folder}/p")
    assert ipc.schema.names == parquet.schema.names == ["op", "before", "after", "snapshot", "ts"], ipc.schema
    assert not ipc.schema.field("op").nullable and ipc.schema.field("before").type == ipc.schema.field("after").type
    assert narrow(plain(ipc.to_pylist())) == narrow(lines), (plain(ipc.to_pylist()), lines)
    assert narrow(plain(parquet.to_pylist())) == narrow(lines)
    rows = list(csv.DictReader(io.StringIO(run("changes", table, "--format", "csv").stdout.decode(), newline="")))
    assert len(rows) == 3
    for row, line in zip(rows, lines):
        for name, value in line["after"].items():
            text = "" if value is None else value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            assert row[f"after.{name}"] == text, (name, row[f"after.{name}"], text)
            assert row[f"before.{name}"] == ""


def test_every_format_carries_all_rows(folder):
    for name in ("jsonl", "csv", "table"):
        r = run("changes", big, "--format", name)
        assert r.returncode == 0 and r.stdout.count(b"\n") == ROWS + (name != "jsonl"), (name, r.stderr)
        assert len(r.stdout) > HOLD
    r = run("changes", big, "--format", "arrow")
    assert pa.ipc.open_stream(r.stdout).read_all().num_rows == ROWS


def break_last_file(folder):
    """The big table with one of its two data files damaged in the middle."""
    table = shutil.copytree(big, f"{folder}/broken")
    last = sorted((os.path.getmtime(f"{table}/{n}"), n) for n in os.listdir(table) if n.endswith(".parquet"))[-1][1]
    with open(f"{table}/{last}", "r+b") as f:
        f.seek(os.path.getsize(f"{table}/{last}") // 2)
        f.write(b"\xff" * 4096)
    return table


def test_a_read_that_fails_before_the_hold_is_full_prints_nothing(folder):
    table = break_last_file(folder)
    for name in ("jsonl", "csv", "arrow", "parquet", "table"):
        r = run("changes", table, "--from", 1, "--columns", "id,text", "--format", name)
        assert r.returncode not in (0, 99) and r.stdout == b"", (name, r.returncode, len(r.stdout))
        assert r.stderr.count(b"\n") == 1 and r.stderr.startswith(b"lakecdc: "), r.stderr


def test_a_file_that_fails_late_leaves_no_trace(folder):
    table = break_last_file(folder)
    os.mkdir(f"{folder}/out")
    with open(f"{folder}/out/file", "w") as f:
        f.write("as it was")
    r = run("changes", table, "-o", f"{folder}/out/file")
    assert r.returncode not in (0, 99), r.stderr
    assert os.listdir(f"{folder}/out") == ["file"] and open(f"{folder}/out/file").read() == "as it was"


def wait_for(what, seconds=60):
    end = time.time() + seconds
    while not what():
        assert time.time() < end, "it did not happen"
        time.sleep(0.01)


def in_write(pid):
    """Whether the process waits in write(2)."""
    try:
        with open(f"/proc/{pid}/syscall") as f:
            return f.read().split()[0] == str(1 if os.uname().machine == "x86_64" else 64)
    except (OSError, IndexError):
        return False


def test_a_signal_ends_it_in_the_middle_of_the_rows(folder):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        theirs, ours = os.pipe()  # nobody empties it
        p = start("changes", big, stdout=ours, stderr=subprocess.PIPE)
        os.close(ours)
        wait_for(lambda: in_write(p.pid) or p.poll() is not None)
        p.send_signal(number)
        error = p.communicate(timeout=60)[1]
        os.close(theirs)
        assert p.returncode == code, (p.returncode, error)
        assert error == b"lakecdc: interrupted (cancelled)\n", error


def test_a_signal_leaves_no_partial_file(folder):
    p = start("changes", big, "-o", f"{folder}/out", stderr=subprocess.PIPE)
    wait_for(lambda: any(".partial-" in n for n in os.listdir(folder)) or p.poll() is not None)
    p.send_signal(signal.SIGINT)
    error = p.communicate(timeout=60)[1]
    assert p.returncode in (0, 130), (p.returncode, error)  # 0: it was faster
    assert os.listdir(folder) == (["out"] if p.returncode == 0 else []), os.listdir(folder)


def test_a_reader_that_leaves_ends_it_quietly(folder):
    for name in ("jsonl", "csv", "table", "arrow"):
        p = start("changes", big, "--format", name, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.read(100)
        p.stdout.close()
        error = p.stderr.read()
        assert p.wait(timeout=60) == 0 and error == b"", (name, p.returncode, error)


def on_terminal(columns, *words, **env):
    return subprocess.run([sys.executable, f"{HERE}/on_terminal.py", str(columns), LAKECDC, *map(str, words)], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=300, env={**os.environ, "TERM": "xterm", **env})


def test_long_work_shows_progress_and_wipes_it(folder):
    r = on_terminal(80, "changes", big, STDOUT="pipe")
    assert r.returncode == 0, r.stderr
    assert b" of 2 commits, " in r.stdout and b" rows, " in r.stdout, r.stdout[:300]
    assert r.stdout.endswith(b"\r^[[K"), r.stdout[-100:]
    assert on_terminal(80, "changes", big, "--quiet", STDOUT="pipe").stdout == b""


def test_short_work_shows_none(folder):
    assert on_terminal(80, "changes", big, "--limit", 10, STDOUT="pipe").stdout == b""


def test_nothing_steers_the_terminal(folder):
    bad = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202e"
    table = f"{folder}/t"
    deltalake.write_deltalake(table, pa.table({"name": [bad], "\x1b[31mred": [1]}))
    r = on_terminal(120, "changes", table, "--color", "never")
    text = r.stdout.decode()
    assert r.returncode == 0 and "owned" in text, r.stdout
    assert not any(c in text for c in ("^[", "\x07", "\r", "\x9b", "\u202e")), text
    r = on_terminal(120, "changes", table, "--where", f"nosuch = 1 AND {bad} = 1")
    assert r.returncode == 2 and not any(c in r.stdout.decode() for c in ("^[", "\x07", "\x9b")), r.stdout
    r = on_terminal(120, "probe", f"{folder}/\x1b[2Jnowhere\x9b")
    assert r.returncode == 3 and not any(c in r.stdout.decode() for c in ("^[", "\x07", "\x9b")), r.stdout


def main():
    tests = [(n, f) for n, f in sorted(globals().items()) if n.startswith("test_")]
    chosen = [t for t in tests if len(sys.argv) < 2 or t[0] in sys.argv[1:]]
    failed = 0
    with tempfile.TemporaryDirectory() as base:
        make_big(base)
        for name, test in chosen:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    test(folder)
                    print(f"ok   {name}")
                except Exception as e:  # the next tests still count
                    failed += 1
                    print(f"FAIL {name}: {type(e).__name__}: {str(e)[:2000]}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
