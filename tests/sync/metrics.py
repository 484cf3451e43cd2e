#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a running sync looks like from outside: numbers over HTTP and in a file, health, the log.

The one idea: everything is asked for the way a monitoring system does it, with real requests to a real process.
"""
import http.client
import json
import os
import re
import socket
import sqlite3
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.tables import append, delete, table
from support.harness import check_refused, main
from sync.running import Sync

SAMPLE = re.compile(r'^([a-z_]+)\{table="((?:[^"\\]|\\.)*)"(?:,state="([a-z_]+)")?\} (-?\d+)$')


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path):
    """Status, type and text of an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as r:
            return r.status, r.headers["Content-Type"], r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers["Content-Type"], e.read().decode()


def samples(text):
    """{(metric, table): value} of Prometheus text, every line of which must be of its form."""
    found, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types and kind in ("counter", "gauge"), line
            types[name] = kind
            continue
        m = SAMPLE.match(line)
        assert m and m[1] in types, f"not a sample: {line!r}"
        found[(m[1], m[2], m[3]) if m[3] else (m[1], m[2])] = int(m[4])
    assert text.endswith("\n")
    return found


def serving(d, **more):
    port = free_port()
    t = table(d + "/t", {"delta.enableChangeDataFeed": "true"})
    append(t, 1, 2)
    s = Sync(d, {"t": {}, **more}, metrics={"listen": f"127.0.0.1:{port}", "file": "numbers.prom"})
    return port, t, s


def test_numbers_over_http(d):
    port, t, s = serving(d)
    with s.start() as run:
        run.until(lambda: len(s.lines("t")) == 2, "the snapshot")
        append(t, 3)
        delete(t, 1)
        run.until(lambda: len(s.lines("t")) == 4, "the commits")
        run.until(lambda: samples(get(port, "/metrics")[2])[("lakecdc_lag_commits", "t")] == 0, "the tip")
        status, kind, text = get(port, "/metrics")
        assert status == 200 and kind.startswith("text/plain; version=0.0.4"), (status, kind)
        found = samples(text)
        value = lambda name: found[(name, "t")]
        assert (value("lakecdc_rows_total"), value("lakecdc_inserts_total"), value("lakecdc_deletes_total"), value("lakecdc_updates_total")) == (4, 3, 1, 0), text
        assert value("lakecdc_windows_total") == 3 and value("lakecdc_commits_total") == 3 and value("lakecdc_errors_total") == 0
        assert value("lakecdc_lag_seconds") == 0 and value("lakecdc_rounds_total") > 0 and value("lakecdc_last_success_timestamp_seconds") > 1.7e9
        assert value("lakecdc_last_commit_timestamp_seconds") == t.versions[-1].ts_ms // 1000
        assert found[("lakecdc_state", "t", "active")] == 1
        assert run.stop()[1] == 0


def test_health(d):
    port, t, s = serving(d, bad={})
    with s.start() as run:
        run.until(lambda: run.events("failed", "bad"), "a failure")
        status, kind, text = get(port, "/healthz")
        health = json.loads(text)
        assert status == 503 and kind == "application/json" and health["status"] == "troubled", text
        assert [(x["table"], x["state"]) for x in health["troubled"]] == [("bad", "failing")] and health["tables"] == 2
        found = samples(get(port, "/metrics")[2])
        assert found[("lakecdc_errors_total", "bad")] >= 1 and found[("lakecdc_lag_seconds", "bad")] == -1
        append(table(d + "/bad"), 1)
        run.until(lambda: get(port, "/healthz")[0] == 200, "health")
        assert json.loads(get(port, "/healthz")[2]) == {"status": "ok", "tables": 2, "troubled": []}
        assert run.stop()[1] == 0


def test_a_stopped_table_is_not_healthy(d):
    port, t, s = serving(d)
    append(t, 3)
    assert s.once().code == 0
    os.remove(t.log_path(2))
    with s.start() as run:
        run.until(lambda: run.events("stopped", "t"), "the stop")
        assert get(port, "/healthz")[0] == 503 and samples(get(port, "/metrics")[2])[("lakecdc_state", "t", "rolled_back")] == 1
        assert len(run.events("stopped", "t")) == 1, "said again and again"
        assert run.stop()[1] == 0


def value(port, name, table="t"):
    return samples(get(port, "/metrics")[2]).get((name, table))


def test_a_long_commit_is_lag(d):
    """From the moment that something new is seen the table is behind, however long its first window takes."""
    port, t, s = serving(d, t={"sink": "db", "sink_options": {}})
    s.config["sinks"]["db"] = {"type": "sqlite", "path": "db.sqlite"}
    s.save()
    with s.start() as run:
        run.until(lambda: run.events("started"), "the start")
        run.until(lambda: value(port, "lakecdc_lag_commits") == 0 and value(port, "lakecdc_lag_seconds") == 0, "the tip")
        db = sqlite3.connect(d + "/db.sqlite", timeout=30, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        append(t, 3)
        run.until(lambda: value(port, "lakecdc_lag_commits") == -1 and value(port, "lakecdc_lag_seconds") >= 1, "that it is behind", 20)
        db.execute("ROLLBACK")
        db.close()
        run.until(lambda: value(port, "lakecdc_lag_commits") == 0 and value(port, "lakecdc_lag_seconds") == 0, "the tip again")
        assert run.stop()[1] == 0


def test_what_the_ledger_knows_is_told_while_the_source_is_away(d):
    port, t, s = serving(d)
    assert s.once().code == 0
    os.rename(d + "/t", d + "/away")
    with s.start() as run:
        run.until(lambda: run.events("failed", "t"), "a failure")
        assert value(port, "lakecdc_lag_seconds") >= 0 and value(port, "lakecdc_last_success_timestamp_seconds") > 1.7e9
        assert value(port, "lakecdc_last_commit_timestamp_seconds") == t.versions[-1].ts_ms // 1000
        assert run.stop()[1] == 0


def test_a_table_that_catches_up_is_healthy(d):
    n = 300
    port, t, s = serving(d)
    for i in range(3, n):
        append(t, i)
    s.config["tables"]["t"]["start"] = "oldest"
    s.save()
    os.rename(d + "/t", d + "/away")
    with s.start() as run:
        run.until(lambda: run.events("started"), "the start")
        run.until(lambda: get(port, "/healthz")[0] == 503, "a failure")
        os.rename(d + "/away", d + "/t")
        seen = []
        def is_over():
            found = samples(get(port, "/metrics")[2])
            if found[("lakecdc_windows_total", "t")]:
                seen.append((found[("lakecdc_rounds_total", "t")], found[("lakecdc_failures", "t")], found.get(("lakecdc_state", "t", "active"))))
            return found[("lakecdc_rounds_total", "t")] > 0
        run.until(is_over, "the tip", 60)
        assert any(x[0] == 0 for x in seen) and all(x[1:] == (0, 1) for x in seen), seen[:5]
        assert run.stop()[1] == 0


def test_other_requests(d):
    port, _, s = serving(d)
    with s.start() as run:
        run.until(lambda: s.lines("t"), "the snapshot")
        assert get(port, "/")[0] == 404 and get(port, "/metrics/x")[0] == 404
        for method, status in (("POST", 405), ("PUT", 405), ("DELETE", 405), ("HEAD", 200)):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            c.request(method, "/metrics", body=b"x" * 1000 if method in ("POST", "PUT") else None)
            r = c.getresponse()
            body = r.read()
            assert r.status == status and (method != "HEAD" or body == b""), (method, r.status)
            c.close()
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(b"\0\xff nonsense\r\n\r\n")
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
        assert get(port, "/metrics")[0] == 200
        for c in idle:
            c.close()
        seconds, code = run.stop()
        assert code == 0 and seconds < 1, (code, seconds)


def test_the_file(d):
    port, t, s = serving(d)
    assert s.once().code == 0
    found = samples(open(d + "/numbers.prom").read())
    assert found[("lakecdc_rows_total", "t")] == 2 and found[("lakecdc_lag_commits", "t")] == 0
    assert not [n for n in os.listdir(d) if "partial" in n]


def test_an_address_that_is_taken(d):
    port, _, s = serving(d)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        r = s.once()
        line = [l for l in r.err.splitlines() if "sync.listen" in l]
        assert r.code == 7 and line and str(port) in line[0], r.err
    s.config["metrics"] = {"listen": "nowhere.invalid:1"}
    s.save()
    r = s.once()
    assert r.code == 7 and "nowhere.invalid" in r.err, r.err


def test_secrets_are_never_said(d):
    append(table(d + "/t"), 1)
    s = Sync(d, {"t": {"sink": "db", "sink_options": {}}}, log={"level": "debug"})
    s.config["sinks"]["db"] = {"type": "postgresql", "dsn": "host=127.0.0.1 port=${PORT} user=x password=${SECRET}", "connect_timeout": "1"}
    s.save()
    env = {"PORT": str(free_port()), "SECRET": "hunter2-swordfish"}
    for words in (("--once",), ("--once", "--log-format", "json"), ("--check",)):
        r = s.run(*words, env=env)
        assert (r.code == 0) == (words == ("--check",)), r.err
        for text in (r.err, r.out.decode(), json.dumps(s.state("t")) if words != ("--check",) else ""):
            assert "swordfish" not in text, text
    check_refused(s.run("--check"), "sync.yaml:", "variable PORT is not set")
    s.config["sinks"]["db"]["dsn"] = "x"
    s.config["tables"]["t"]["where"] = "${SECRET}"
    s.save()
    assert "swordfish" not in s.run("--check", env={"SECRET": "name = 'swordfish' AND"}).err


if __name__ == "__main__":
    main(__doc__)
