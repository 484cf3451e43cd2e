#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the oracle cases against a lakecdc binary.

    check_cases.py --cli build/release/bin/lakecdc [--fixtures DIR] [--only NAME ...]

A case is a folder with case.json, the table and one expected Parquet file per request. The expected rows were made
by the engine that wrote the table: the difference between consecutive versions as that engine time-travels them
("oracle": "state"), or its own change feed ("oracle": "table_changes"). They are multisets; the feed must also come
in commit order. Needs pyarrow. Ends with "N passed, N failed" and exit status 1 if any failed.
"""
import argparse, collections, json, math, os, subprocess, sys
import pyarrow as pa, pyarrow.ipc, pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
WRITTEN_AT = "/var/lib/lakecdc-fixtures"   # the location recorded inside the Iceberg metadata; --written-at changes it


def canon(v):
    if isinstance(v, float):
        return "NaN" if math.isnan(v) else repr(v)
    if isinstance(v, dict):
        return {k: canon(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [canon(x) for x in v]
    return v


def rows_of(table, with_snapshot=True):
    """Rows as canonical text; a net row belongs to a range, so its commit is not compared."""
    out = []
    for r in table.select(["op", "before", "after", "snapshot"]).to_pylist():
        out.append(json.dumps([r["op"], canon(r["before"]), canon(r["after"]), r["snapshot"] if with_snapshot else None], default=str, ensure_ascii=False, sort_keys=True))
    return out


def plain(t):
    """The type with representation details that carry no meaning taken away."""
    if pa.types.is_large_string(t) or str(t) == "string_view": return pa.string()
    if pa.types.is_large_binary(t) or str(t) == "binary_view": return pa.binary()
    if pa.types.is_struct(t): return pa.struct([pa.field(f.name, plain(f.type), True) for f in t])
    if pa.types.is_list(t) or pa.types.is_large_list(t): return pa.list_(plain(t.value_type))
    if pa.types.is_map(t): return pa.map_(plain(t.key_type), plain(t.item_type))
    if pa.types.is_timestamp(t): return pa.timestamp(t.unit, "UTC" if t.tz else None)
    return t


def command(cli, case, case_dir, fixtures, req):
    cmd = [cli, "changes", os.path.normpath(os.path.join(case_dir, case["table"])), "--format", "arrow", "--path-map", f"file:{WRITTEN_AT}={fixtures}", "--path-map", f"{WRITTEN_AT}={fixtures}"]
    if case["format"] == "delta":
        if "from_timestamp_ms" in req:
            import datetime as d
            iso = lambda ms: d.datetime.fromtimestamp(ms / 1000, d.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            cmd += ["--from", iso(req["from_timestamp_ms"]), "--to", iso(req["to_timestamp_ms"])]
        else:
            cmd += ["--from", str(req["from_version"]), "--to", str(req["to_version"])]
    else:
        if req["from_snapshot"] is not None:
            cmd += ["--from", str(req["from_snapshot"]), "--from-exclusive"]
        cmd += ["--to", str(req["to_snapshot"])]
        if req.get("branch"):
            cmd += ["--branch", req["branch"]]
    if req.get("oracle", "state") == "state" and not case.get("exact_ops") and req.get("identity"):
        cmd += ["--identity", ",".join(req["identity"])]
    elif (req.get("fold") or req.get("net")) and req.get("identity"):
        cmd += ["--identity", ",".join(req["identity"])]
    for k in ("fold", "net"):
        if req.get(k):
            cmd.append("--" + k)
    if req.get("where"):
        cmd += ["--where", req["where"]]
    if req.get("columns"):
        cmd += ["--columns", ",".join(req["columns"])]
    return cmd


def check(cli, case_dir, fixtures):
    case = json.load(open(f"{case_dir}/case.json"))
    for req in case["requests"]:
        name = f"{case['format']}/{case['name']}:{req['name']}"
        cmd = command(cli, case, case_dir, fixtures, req)
        p = subprocess.run(cmd, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        if "error_mentions" in req:
            err = p.stderr.decode(errors="replace")
            missing = [w for w in req["error_mentions"] if w not in err]
            if p.returncode == 0: yield name, "expected an error, got success"
            elif p.returncode < 0: yield name, f"died by signal {-p.returncode}"
            elif missing: yield name, f"error does not mention {missing}: {err.strip()[:300]}"
            else: yield name, None
            continue
        if p.returncode != 0:
            yield name, f"exit {p.returncode}: {p.stderr.decode(errors='replace').strip()[:400]}"
            continue
        try:
            got = pa.ipc.open_stream(p.stdout).read_all()
        except Exception as e:
            yield name, f"output is not an Arrow IPC stream: {e}"
            continue
        want = pq.read_table(f"{case_dir}/{req['expected']}")
        if got.schema.names != want.schema.names:
            yield name, f"columns {got.schema.names}, want {want.schema.names}"
            continue
        bad = [f"{n}: {plain(got.schema.field(n).type)} want {plain(want.schema.field(n).type)}" for n in want.schema.names if plain(got.schema.field(n).type) != plain(want.schema.field(n).type)]
        if bad:
            yield name, "type of " + "; ".join(bad)[:700]
            continue
        if got.schema.field("before").type != got.schema.field("after").type:
            yield name, "before and after differ in type"
            continue
        snap = not req.get("net")
        g, w = collections.Counter(rows_of(got, snap)), collections.Counter(rows_of(want, snap))
        if g != w:
            extra, lost = list((g - w).elements()), list((w - g).elements())
            yield name, f"{len(extra)} unexpected, {len(lost)} missing of {sum(w.values())}\n      unexpected {extra[0][:300] if extra else '-'}\n      missing    {lost[0][:300] if lost else '-'}"
            continue
        order = {int(s): i for i, s in enumerate(case.get("snapshots", []))} or None
        seq = [order[x] if order else x for x in got.column("snapshot").to_pylist()] if not req.get("branch") and snap else []
        if seq != sorted(seq):
            yield name, "commits are not in order"
            continue
        if "commit_ts_ms" in req:
            ts = dict(zip(got.column("snapshot").to_pylist(), got.column("ts").cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()))
            wrong = {v: t for v, t in ts.items() if req["commit_ts_ms"][str(v)] != t}
            if wrong:
                yield name, f"commit times differ: {wrong}"
                continue
        yield name, None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--cli", required=True)
    ap.add_argument("--fixtures", default=os.path.join(HERE, "cases"))
    ap.add_argument("--only", nargs="*")
    ap.add_argument("--written-at", default=WRITTEN_AT)
    a = ap.parse_args()
    globals()["WRITTEN_AT"] = a.written_at
    ok = bad = 0
    for fmt in ("delta", "iceberg"):
        root = f"{a.fixtures}/{fmt}"
        for n in sorted(os.listdir(root)) if os.path.isdir(root) else []:
            d = f"{root}/{n}"
            if not os.path.exists(f"{d}/case.json") or (a.only and n not in a.only and f"{fmt}/{n}" not in a.only and fmt not in a.only):
                continue
            try:
                for name, why in check(a.cli, d, os.path.abspath(a.fixtures)):
                    if why: bad += 1; print(f"FAIL {name}: {why}")
                    else: ok += 1; print(f"ok   {name}")
            except Exception as e:
                bad += 1; print(f"FAIL {fmt}/{n}: {type(e).__name__}: {e}")
    print(f"{ok} passed, {bad} failed")
    sys.exit(1 if bad or not ok else 0)


if __name__ == "__main__":
    main()
