# SPDX-License-Identifier: Apache-2.0
"""What every Python test of the command line shares: arguments, running the command, comparing change rows, counting.

The one idea: a test is a function that raises (`AssertionError` or anything else) or returns; `main` finds the
functions of a module whose names start with `test_`, runs each in its own temporary folder, and ends with
"N passed, N failed" and exit status 1 if any failed or none ran.
"""
import argparse
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

import pyarrow as pa

from .delta_schema import freeze
from .expected import Request, exact, expected, signed

CLI = os.environ.get("LAKECDC", "lakecdc")
_TIMEOUT = 120
SANITIZER = 99   # the exit status of a sanitizer report: never a refusal


class Result:
    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err

    @property
    def command(self):
        return " ".join(a if a and all(c.isalnum() or c in "-_/.=," for c in a) else "'" + a.replace("'", "'\\''") + "'" for a in self.argv)

    def blame(self, e):
        """The assertion with the command to run by hand, once."""
        return e if self.command in str(e) else AssertionError(f"{e}\n    {self.command}")

    def table(self):
        assert self.code == 0, f"exit {self.code}: {self.err.strip()[:400]}\n    {self.command}"
        return pa.ipc.open_stream(self.out).read_all()


def run(*words, cli=None, timeout=_TIMEOUT, env=None):
    argv = [cli or CLI, *map(str, words)]
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, env=dict(os.environ, **env) if env else None)
    return Result(argv, p.returncode, p.stdout, p.stderr.decode(errors="replace"))


def changes(root, *words, **kw):
    return run("changes", root, *words, "--format", "arrow", **kw)


def rows_of(table):
    """Change rows of an Arrow result as (op, before, after, snapshot), times left out."""
    return [tuple(r.values()) for r in table.select(["op", "before", "after", "snapshot"]).to_pylist()]


def plain(t):
    """A type without representation details that carry no meaning."""
    if str(t) in ("large_string", "string_view"):
        return pa.string()
    if str(t) in ("large_binary", "binary_view"):
        return pa.binary()
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, plain(f.type)) for f in t])
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return pa.list_(plain(t.value_type))
    if pa.types.is_map(t):
        return pa.map_(plain(t.key_type), plain(t.item_type))
    return t


def check_schema(got, want_image):
    s = got.schema
    assert s.names == ["op", "before", "after", "snapshot", "ts"], f"columns {s.names}"
    assert s.field("before").type == s.field("after").type, "before and after differ in type"
    assert plain(s.field("after").type) == plain(want_image), f"image type {plain(s.field('after').type)}, want {plain(want_image)}"
    assert s.field("ts").type == pa.timestamp("us", "UTC"), f"ts is {s.field('ts').type}"


def check_order(rows, identity=None):
    """Commits ascend; inside one, rows that leave come before rows that arrive under the same identity."""
    snaps = [r[3] for r in rows]
    assert snaps == sorted(snaps), "commits are not in order"
    if identity:
        arrived = set()
        for op, b, a, s in rows:
            key = s, tuple(freeze((a or b)[i]) for i in identity)
            if op in ("insert", "update_after"):
                arrived.add(key)
            elif op in ("delete", "update_before"):
                assert key not in arrived, f"{op} of {key} comes after its new row"


def check_times(got, table):
    """Every row carries the commit time of its version."""
    have = set(zip(got.column("snapshot").to_pylist(), got.column("ts").cast(pa.int64()).to_pylist()))
    wrong = {(s, ts) for s, ts in have if ts != table.versions[s].ts_ms * 1000}
    assert not wrong, f"commit times (version, microseconds) {sorted(wrong)[:3]}"


def same_rows(got, want, loose=False):
    g, w = (signed(got), signed(want)) if loose else (exact(got), exact(want))
    if g == w:
        return
    if loose:
        extra = [(k, n) for k, n in g.items() if w.get(k) != n]
        lost = [(k, n) for k, n in w.items() if g.get(k) != n]
    else:
        extra, lost = list((g - w).elements()), list((w - g).elements())
    show = lambda rows: "".join(f"\n      {r}"[:600] for r in rows[:3])
    raise AssertionError(f"{len(extra)} unexpected, {len(lost)} missing of {len(want)}\n    unexpected{show(extra)}\n    missing{show(lost)}")


def labels_are_free(table, q):
    """Where only the net effect can be held against the truth. A net read without a declared identity may use row ids."""
    if q.net:
        return not q.identity and any(v.props.get("delta.enableRowTracking") == "true" for v in table.versions[q.first:q.last + 1])
    return table.loose(q.first, q.last)


def check_request(table, q, root=None, words=()):
    """Runs a request on a builder table and holds the answer against the truth."""
    r = changes(root or table.root, *q.words(), *words)
    try:
        got = r.table()
        want_type = table.image_type(q.last)
        if q.columns:
            want_type = pa.struct([want_type.field(n) for n in q.columns])
        check_schema(got, want_type)
        rows = rows_of(got)
        if q.net:
            rows = [(*c[:3], None) for c in rows]
        else:
            check_times(got, table)
            unique = not q.columns and "id" in table.versions[q.last].schema.names()
            check_order(rows, ["id"] if unique and getattr(table, "unique_ids", False) else None)
        same_rows(rows, expected(table, q), labels_are_free(table, q))
    except AssertionError as e:
        raise r.blame(e) from None
    return got


def check(table, first=0, last=None, root=None, **options):
    return check_request(table, Request(first, table.latest if last is None else last, **options), root)


def check_refused(r, *mentions):
    """An error as the contract has it: exit status, one line that says the given words, nothing on stdout."""
    assert 0 < r.code < SANITIZER, f"expected an error, got status {r.code}: {r.err[:2000]}\n    {r.command}"
    assert r.out == b"", f"{len(r.out)} bytes on stdout beside an error\n    {r.command}"
    lines = [l for l in r.err.splitlines() if l.strip()]
    assert len(lines) == 1, f"{len(lines)} lines of error: {r.err[:600]}\n    {r.command}"
    low = lines[0].lower()
    missing = [m for m in mentions if m.lower() not in low]
    assert not missing, f"error does not mention {missing}: {lines[0]}\n    {r.command}"
    return lines[0]


def arguments(doc, **extra):
    ap = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    ap.add_argument("--cli", default=CLI, help="the lakecdc binary (default: $LAKECDC)")
    ap.add_argument("--keep", help="leave the tables in this folder")
    for name, options in extra.items():
        ap.add_argument("--" + name.replace("_", "-"), **options)
    a = ap.parse_args()
    globals()["CLI"] = os.path.abspath(a.cli) if os.sep in a.cli else a.cli
    return a


def finish(passed, failed):
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or not passed else 0)


def workspace(keep=None, prefix="lakecdc-test-"):
    if keep:
        shutil.rmtree(keep, ignore_errors=True)
        os.makedirs(keep)
        return keep
    return tempfile.mkdtemp(prefix=prefix)


def fix_names(rng):
    """From here on, tables get the same ids and file names in every run that starts with this generator."""
    uuid.uuid4 = lambda: uuid.UUID(int=rng.getrandbits(128), version=4)


def main(doc=None):
    """Runs the caller's test functions; each gets a fresh folder."""
    module = inspect.getmodule(inspect.stack()[1][0])
    a = arguments(doc or module.__doc__, only=dict(nargs="*", help="run the tests whose names hold one of these words"))
    top = workspace(a.keep)
    passed = failed = 0
    try:
        for name, test in [(n, f) for n, f in vars(module).items() if n.startswith("test_") and callable(f)]:
            if a.only and not any(w in name for w in a.only):
                continue
            folder = os.path.join(top, name)
            os.makedirs(folder)
            began = time.monotonic()
            try:
                test(folder)
                passed += 1
                print(f"ok   {name} ({time.monotonic() - began:.1f} s)", flush=True)
            except Exception as e:
                failed += 1
                print(f"FAIL {name}: {e if isinstance(e, AssertionError) else traceback.format_exc()}", flush=True)
    finally:
        if not a.keep:
            shutil.rmtree(top, ignore_errors=True)
    finish(passed, failed)
