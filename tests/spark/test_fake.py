# SPDX-License-Identifier: Apache-2.0
"""Every scenario of the scripted server through the lakecdc command: all rows or an error, in time, and nothing left held.

    LAKECDC=path/of/lakecdc python test_fake.py [NAME ...]

The one idea: the rows are known beforehand (fake_rows), so a scenario either ends well with exactly them, or with the
error named here after a part of them; whatever happens, the server's record of what it still holds ends empty.
"""

import collections
import concurrent.futures
import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import environment

if __name__ == "__main__":
    environment.enter_client_python(__file__)

import connect_proxy
import fake_rows

LAKECDC = os.environ["LAKECDC"]
TIMEOUT = 4  # seconds, of --timeout
LONGEST = 40  # of a run, whatever goes wrong; sanitizers included
TABLE = "shop.t"


def links_to(command, library):
    with open(command, "rb") as file:
        return library in file.read()


SANITIZED = links_to(LAKECDC, b"libasan")

# What a scenario must end in: None for all rows, else exit status and a part of the message. Read through spark_native.
CORRUPT, UNSUPPORTED, UNAVAILABLE, DENIED, LIMIT = 6, 4, 8, 9, 10
SCENARIOS = {
    **dict.fromkeys(
        "healthy stream_limit cut_mid_batch cut_every_stream abrupt_close rst_stream goaway_graceful goaway_abrupt "
        "reattach_disconnected offset_absent after_the_end chunked chunk_cut string_versions unknown_messages "
        "unavailable_twice retry_info result_too_big slow_drip slow_messages no_way_out lying_history "
        "large_types dictionary_arrow compressed_arrow trailer_flood".split()
    ),
    "spark41": (UNSUPPORTED, "PARSE_SYNTAX_ERROR"),
    "merge_on_read": (UNSUPPORTED, "PARSE_SYNTAX_ERROR"),
    "odd_version": None,
    "flag_off": (UNSUPPORTED, "UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE"),
    "no_engine_path": (UNSUPPORTED, "UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE"),
    "green_probe": (UNSUPPORTED, "requires row tracking"),
    "reattach_repeats": (CORRUPT, "a batch came twice"),
    "reattach_skips": (CORRUPT, "a batch is missing"),
    "reattach_lost": (UNSUPPORTED, "INVALID_HANDLE"),
    "reattach_too_late": (UNSUPPORTED, "POSITION_NOT_AVAILABLE"),
    "cut_forever": (UNAVAILABLE, "broke off"),
    "dies_mid_read": (UNAVAILABLE, "broke off"),
    "reattach_stuck": (CORRUPT, "does not say that it is whole"),
    "offset_gap": (CORRUPT, "a batch is missing"),
    "offset_repeat": (CORRUPT, "a batch came twice"),
    "end_missing": (CORRUPT, "does not say that it is whole"),
    "chunk_lost": (CORRUPT, "a part of a batch is missing"),
    "chunk_repeated": (CORRUPT, "a part of a batch came twice"),
    "chunk_count_changes": (CORRUPT, "disagree"),
    "chunk_unfinished": (CORRUPT, "the last batch is not whole"),
    "chunk_endless": (CORRUPT, "disagree"),
    "chunk_uncounted": (CORRUPT, "does not say how many there are"),
    "chunk_negative": (CORRUPT, "does not say how many there are"),
    "rows_negative": (CORRUPT, "a row count that none can have"),
    "rows_huge": (CORRUPT, "announced a batch of 9223372036854775807 rows"),
    "offset_huge": (CORRUPT, "a batch is missing"),
    "offset_negative": (CORRUPT, "a batch came twice"),
    "ids_missing": (CORRUPT, "a batch came twice"),
    "ids_repeated": (CORRUPT, "a batch came twice"),
    "places_missing": (CORRUPT, "does not say where it belongs"),
    "frame_compressed": (CORRUPT, "flags 0x01"),
    "frame_huge": (CORRUPT, "announced a message of 4294967295 bytes"),
    "header_flood": (UNAVAILABLE, "broke off"),
    "lying_arrow": (CORRUPT, ""),
    "lying_arrow_negative": (CORRUPT, ""),
    "bomb_arrow": (LIMIT, ""),
    "durations": (UNSUPPORTED, "region"),
    "unknown_op": (CORRUPT, "upsert"),
    "null_op": (CORRUPT, "no change type"),
    "op_missing": (CORRUPT, "_change_type"),
    "wordy_versions": (CORRUPT, "no number"),
    "schema_change": (CORRUPT, "change between its batches"),
    "column_vanishes": (CORRUPT, "change between its batches"),
    "garbage_arrow": (CORRUPT, ""),
    "garbage_inside": (CORRUPT, ""),
    "truncated_arrow": (CORRUPT, ""),
    "empty_arrow": (CORRUPT, ""),
    "row_count_lie": (CORRUPT, "announced a batch of 100 rows and sent 99"),
    "garbage_message": (CORRUPT, "that are no"),
    "foreign_session": (CORRUPT, "another session"),
    "server_restarted": (UNAVAILABLE, "was restarted"),
    "error_after_data": (UNSUPPORTED, "[USER_RAISED_EXCEPTION] after three batches"),
    "error_without_details": (UNSUPPORTED, "java heap space, perhaps: 100 % ünsure"),
    "error_without_text": (UNSUPPORTED, "gRPC status 13"),
    "error_garbage_details": (UNSUPPORTED, "details are garbage"),
    "error_long": (UNSUPPORTED, "long long end"),
    "error_details_lost": (UNSUPPORTED, "[LONG_ONE]"),
    "error_details_fail": (UNSUPPORTED, "[LONG_ONE]"),
    "error_details_loop": (UNSUPPORTED, "long long end"),
    "unavailable_forever": (UNAVAILABLE, "come back never"),
    "auth": (DENIED, "No authentication token provided"),
    "stall": (UNAVAILABLE, "deadline"),
    "no_answer": (UNAVAILABLE, "deadline"),
    "half_open": (UNAVAILABLE, "deadline"),
}
ELSEWHERE = {"appends", "appends_too_big", "late_lie", "big", "large_batches", "wide_rows"}  # with tests of their own
CANNOT_RELEASE = {"auth", "half_open", "dies_mid_read", "no_way_out"}  # the server does not hear of it
OPS = {"update_preimage": "update_before", "update_postimage": "update_after"}


class Failed(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failed(" ".join(map(str, what)))


# --- running


class Fakes:
    """The server of every scenario, each on a port of its own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_server.py")
        command = [sys.executable, script, "--all", self.folder.name, "--max-seconds", "900"]
        self.process = subprocess.Popen(command)
        deadline = time.monotonic() + 120
        while not os.path.exists(os.path.join(self.folder.name, "ready")):
            check(time.monotonic() < deadline and self.process.poll() is None, "the fake servers do not come up")
            time.sleep(0.1)
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()

    def url(self, scenario, host="127.0.0.1"):
        with open(os.path.join(self.folder.name, scenario + ".port"), encoding="utf-8") as file:
            return f"sc://{host}:{file.read().strip()}"

    def record(self, scenario):
        with open(os.path.join(self.folder.name, scenario + ".record"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def check_nothing_held(self, scenario):
        held = {}
        for _try in range(50):  # the server notices the end of a stream a moment later
            held = next((each for each in reversed(self.record(scenario)) if each.get("event") == "held"), {})
            if not any(held.get(key) for key in ("sessions", "operations", "running", "views")):
                return
            time.sleep(0.1)
        raise Failed(f"the server still holds {held}")


class Run:
    def __init__(self, *arguments, command="changes", env=None, longest=LONGEST):
        began = time.monotonic()
        done = subprocess.run(
            [LAKECDC, command, *arguments],
            capture_output=True,
            text=True,
            timeout=longest,
            env={**os.environ, **(env or {})},
        )
        self.seconds = time.monotonic() - began
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        check(self.status in range(0, 14), f"exit status {self.status}: {self.err[-3000:]}")

    def rows(self):
        return counted(json.loads(line) for line in self.out.splitlines())


def counted(rows):
    return collections.Counter(
        (row["op"], json.dumps(row["before"]), json.dumps(row["after"]), row["snapshot"]) for row in rows
    )


def expected(first=1, last=fake_rows.VERSIONS, names=fake_rows.DATA_COLUMNS, snapshot=lambda version: version):
    out = []
    for each in fake_rows.changes(first, last):
        op = OPS.get(each["word"], each["word"])
        image = {name: each[name] for name in names}
        old = op in ("delete", "update_before")
        out.append(
            {
                "op": op,
                "before": image if old else None,
                "after": None if old else image,
                "snapshot": snapshot(each["version"]),
            }
        )
    return counted(out)


def read(fakes, scenario, *more, via="spark_native", **options):
    arguments = [fakes.url(scenario), "--table", TABLE, "--timeout", str(TIMEOUT), *more]
    return Run(*arguments, *(["--via", via] if via else []), **options)


def check_rows(run, rows):
    check(run.status == 0, f"exit status {run.status}: {run.err}")
    got = run.rows()
    check(got == rows, f"missing {list((rows - got).items())[:3]}, too many {list((got - rows).items())[:3]}")


# --- one test for each scenario


def scenario_test(scenario):
    def test(fakes):
        ending = SCENARIOS[scenario]
        run = read(fakes, scenario, "--from", "1")
        if ending is None:
            check_rows(run, expected())
        else:
            status, text = ending
            check(run.status == status, f"exit status {run.status}, expected {status}: {run.err}")
            check(text in run.err, f"no {text!r} in: {run.err[:500]}")
            check(not run.rows() - expected(), "rows that are not the table's, or twice")
        if scenario not in CANNOT_RELEASE:
            fakes.check_nothing_held(scenario)

    return test


# --- tests of more than one scenario's worth


def verdict_of(fakes, scenario, **options):
    run = Run(fakes.url(scenario), "--table", TABLE, "--timeout", str(TIMEOUT), "--json", command="probe", **options)
    check(run.status == 0, run.err)
    return json.loads(run.out)


def other_ways_give_the_rows(fakes):
    check_rows(read(fakes, "healthy", "--from", "1", via="spark_delta_cdf"), expected())
    check_rows(
        read(fakes, "healthy", via="spark_iceberg"), expected(snapshot=lambda version: fake_rows.SNAPSHOTS[version])
    )
    fakes.check_nothing_held("healthy")


def statements(fakes, scenario):
    return [line["sql"] for line in fakes.record(scenario) if line.get("rpc") == "ExecutePlan" and line.get("sql")]


def statements_are_as_promised(fakes):
    read(fakes, "chunked", "--from", "2", "--to", "3")
    plain = [sql for sql in statements(fakes, "chunked") if "CHANGES" in sql][-1]
    check(
        plain.startswith(
            "SELECT * FROM `shop`.`t` CHANGES FROM VERSION 2 TO VERSION 3 WITH (computeUpdates = 'true') ORDER BY"
        ),
        plain,
    )
    check_rows(read(fakes, "chunked", "--from", "1", "--columns", "name"), expected(names=("name",)))
    narrow = [sql for sql in statements(fakes, "chunked") if "CHANGES" in sql][-1]
    check(
        narrow.startswith("SELECT `name`, `_change_type`, `_commit_version`, `_commit_timestamp` FROM `shop`.`t` CHANGES"),
        narrow,
    )
    read(fakes, "chunked", "--from", "1", "--columns", "name", "--where", "region = 'it''s' OR id < 3")
    filtered = [sql for sql in statements(fakes, "chunked") if "CHANGES" in sql][-1]
    check("SELECT `id`, `name`, `region`, `_change_type`" in filtered and " WHERE (" in filtered, filtered)
    run = Run(fakes.url("chunked"), "--table", "shop.t; DROP TABLE x", "--via", "spark_native", "--timeout", "4")
    check("`t; DROP TABLE x`" in "".join(statements(fakes, "chunked")) or run.status != 0, run.out)


def nothing_is_added_to_the_plain_statement(fakes):
    """One commit that only adds rows, every column and no filter: the statement and no word more, by every way."""
    plain = {
        "spark_native": "SELECT * FROM `shop`.`t` CHANGES FROM VERSION 1 TO VERSION 1 WITH (computeUpdates = 'true')",
        "spark_delta_cdf": "SELECT * FROM table_changes('`shop`.`t`', 1, 1)",
    }
    for via, statement in plain.items():
        check_rows(read(fakes, "appends", "--from", "1", "--to", "1", via=via), expected(1, 1))
        sent = [sql for sql in statements(fakes, "appends") if "LIMIT" not in sql][-1]
        check(sent == statement, sent)
    # Iceberg: the first snapshot of the script is an append
    ids = fake_rows.SNAPSHOTS
    run = read(fakes, "healthy", "--from", str(ids[1]), "--to", str(ids[1]), via="spark_iceberg")
    check_rows(run, expected(1, 1, snapshot=lambda version: ids[version]))
    views = [sql for sql in statements(fakes, "healthy") if "`lakecdc_" in sql and sql.startswith("SELECT")]
    check(re.fullmatch("SELECT \\* FROM `lakecdc_[0-9a-f]{32}`", views[-1]), views)


def slices_of_an_append_are_whole(fakes):
    """A large commit that only adds rows is cut by hash alone: half the queries, nothing sorted."""
    check_rows(read(fakes, "appends_too_big", "--from", "1", "--to", "1"), expected(1, 1))
    sent = [sql for sql in statements(fakes, "appends_too_big") if "CHANGES" in sql and "LIMIT" not in sql]
    check(len(sent) == 5 and all("pmod(" in sql for sql in sent[1:]), sent)
    check(not any("ORDER BY" in sql or "`_change_type` IN" in sql for sql in sent), sent)


def a_history_that_lies_is_no_disorder(fakes):
    """Versions that say they only added rows and did more: read one by one, deletes still come before inserts."""
    for version in ("1", "2", "4"):
        run = read(fakes, "lying_history", "--from", version, "--to", version)
        check_rows(run, expected(int(version), int(version)))
        old = [json.loads(line)["op"] in ("delete", "update_before") for line in run.out.splitlines()]
        check(old == sorted(old, reverse=True), "old images after new ones in version", version)
    late = read(fakes, "late_lie", "--from", "3", "--to", "3")
    check(late.status == CORRUPT and "only adds rows, and others came" in late.err, late.status, late.err)
    for scenario in ("lying_history", "late_lie"):
        fakes.check_nothing_held(scenario)


def ranges_and_nothing_new(fakes):
    check_rows(read(fakes, "healthy", "--from", "2", "--to", "3"), expected(2, 3))
    check_rows(read(fakes, "healthy", "--from", "2", "--from-exclusive"), expected(3, 4))
    check_rows(read(fakes, "healthy", "--from", "2026-01-03", "--to", "2026-01-04T00:00:00Z"), expected(2, 3))
    for via in ("spark_native", "spark_delta_cdf"):
        check_rows(read(fakes, "healthy", "--from", "4", "--from-exclusive", via=via), expected(2, 1))
        check_rows(read(fakes, "healthy", "--from", "5", via=via), expected(2, 1))
    check(read(fakes, "healthy", "--from", "6").status == 3, "a version past the next one")
    snapshots = fake_rows.SNAPSHOTS
    check_rows(
        read(fakes, "healthy", "--from", str(snapshots[2]), "--to", str(snapshots[3]), via="spark_iceberg"),
        expected(2, 3, snapshot=lambda version: snapshots[version]),
    )
    check_rows(read(fakes, "healthy", "--from", str(snapshots[4]), "--from-exclusive", via="spark_iceberg"), expected(2, 1))


def verdicts_tell_the_truth(fakes):
    good = verdict_of(fakes, "healthy")
    check(good["chosen"] == "spark_native" and good["native_usable"] and not good["fell_back"], good)
    check(good["server_version"] == "4.2.1" and good["server_major_minor"] == "4.2" and good["native_expected"], good)
    old = verdict_of(fakes, "spark41")
    check(not old["native_expected"] and not old["native_usable"] and old["chosen"] != "spark_native", old)
    off = verdict_of(fakes, "flag_off")
    check(off["fell_back"] and off["native_expected"] and "CHANGE_DATA_CAPTURE" in off["reason"], off)
    odd = verdict_of(fakes, "odd_version")
    check(odd["server_version"] == "banana;4.2" and not odd["native_expected"] and odd["chosen"] == "spark_native", odd)


VERDICT_FIELDS = {
    "chosen",
    "format",
    "server_version",
    "server_major_minor",
    "native_expected",
    "native_usable",
    "fell_back",
    "reason",
    "candidates",
}
NAMES = ["spark_native", "spark_iceberg", "spark_delta_cdf", "direct"]


def failed_verdict(status, words, *where, version=None):
    """What cannot be read is a record too: nothing chosen, the reason in the other side's words, for each candidate."""
    run = Run(*where, "--timeout", str(TIMEOUT), "--json", command="probe")
    check(run.status == status and words in run.err, run.status, run.err)
    record = json.loads(run.out)
    check(set(record) == VERDICT_FIELDS, sorted(record))
    check(record["chosen"] is None and not record["fell_back"] and not record["native_usable"], record)
    check(words in record["reason"] and record["server_version"] == version, record)
    check(set(NAMES) <= {each["name"] for each in record["candidates"]}, record["candidates"])
    check(not any(each["usable"] or not each["reason"] for each in record["candidates"]), record["candidates"])
    return run


def what_cannot_be_read_has_a_verdict(fakes):
    failed_verdict(UNAVAILABLE, "connect to 127.0.0.1", "sc://127.0.0.1:1", "--table", TABLE)
    failed_verdict(UNAVAILABLE, "deadline", fakes.url("half_open"), "--table", TABLE)
    failed_verdict(3, "nowhere", fakes.url("healthy"), "--table", "shop.nowhere", version="4.2.1")
    url = fakes.url("auth", host="localhost") + "/;token=wr0ng-t0ken"
    run = failed_verdict(DENIED, "Invalid authentication token", url, "--table", TABLE)
    check("wr0ng" not in run.out + run.err, "the token is in", run.out, run.err)
    run = failed_verdict(UNSUPPORTED, "CHANGE_DATA_CAPTURE", fakes.url("no_engine_path"), "--table", TABLE, version="4.2.1")
    check("DELTA_MISSING_CHANGE_DATA" in run.out, run.out)
    # for a person: the same as a table, next to the error
    run = Run("sc://127.0.0.1:1", "--table", TABLE, command="probe")
    check(run.status == UNAVAILABLE and "chosen" in run.out and "spark_native" in run.out, run.out)


def a_plan_falls_back_as_a_read_does(fakes):
    run = read(fakes, "green_probe", "--from", "1", "--json", via="", command="plan")
    check(run.status == 0 and "spark_native cannot" in run.err and "requires row tracking" in run.err, run.err)
    check(json.loads(run.out)["backend"] == "spark_delta_cdf", run.out)
    check([each["snapshot"] for each in json.loads(run.out)["commits"]] == [1, 2, 3, 4], run.out)
    run = read(fakes, "green_probe", "--from", "1", "--bootstrap", via="")  # the state comes first, and is no proof
    check(run.status == 0 and "warning" in run.err and "requires row tracking" in run.err, run.err)
    check(sum(run.rows().values()) == 1000, sum(run.rows().values()), "rows")
    run = read(fakes, "green_probe", "--from", "1", "--json", command="plan")  # asked for by name: as the read
    check(run.status == UNSUPPORTED and "requires row tracking" in run.err, run.err)
    run = read(fakes, "no_engine_path", "--from", "1", "--json", via="", command="plan")
    check(run.status == UNSUPPORTED and "DELTA_MISSING_CHANGE_DATA" in run.err, run.err)
    for scenario in ("green_probe", "no_engine_path"):
        fakes.check_nothing_held(scenario)


def a_green_probe_is_no_proof(fakes):
    run = read(fakes, "green_probe", "--from", "1", via="")
    check(run.status == 0 and "warning" in run.err and "spark_native cannot" in run.err, run.err)
    got = collections.Counter(key[:3] for key in run.rows().elements())
    check(got == collections.Counter(key[:3] for key in expected().elements()), "other rows than the table's")
    fakes.check_nothing_held("green_probe")


def after_the_first_batch_nothing_falls_back(fakes):
    """What fails once rows have left is an error, though another backend could read the table."""
    for scenario, status, words in (
        ("error_after_data", UNSUPPORTED, "after three batches"),
        ("unknown_op", CORRUPT, "upsert"),
        ("ids_missing", CORRUPT, "came twice"),
    ):
        before = len(fakes.record(scenario))
        run = read(fakes, scenario, "--from", "1", via="")
        check(run.status == status and words in run.err and "warning" not in run.err, scenario, run.status, run.err)
        check(not run.rows() - expected(), scenario, "rows that are not the table's, or twice")
        calls = fakes.record(scenario)[before:]
        check(any(line.get("batches", 0) > 1 for line in calls), scenario, "failed before its first batch")
        sent = [line["sql"] for line in calls if line.get("rpc") == "ExecutePlan"]
        check(not any("table_changes" in sql and "LIMIT 0" not in sql for sql in sent), scenario, sent)
        fakes.check_nothing_held(scenario)


def names_that_spark_would_change_are_not_sent(fakes):
    """Spark puts settings in for ${name}, in backticks too: nothing with one is sent, whoever brings it along."""
    for name in ("shop.`${spark.app.name}`", "shop.t_${env:HOME}"):
        before = len(fakes.record("healthy"))
        run = Run(fakes.url("healthy"), "--table", name, "--timeout", "4")
        check(run.status == UNSUPPORTED and "would put a setting's value" in run.err, run.status, run.err)
        sent = [line["sql"] for line in fakes.record("healthy")[before:] if line.get("sql")]
        check(not any("${" in sql for sql in sent), sent)
    check_rows(read(fakes, "healthy", "--from", "1", "--where", "name <> '${spark.app.name}'"), expected())
    check(not any("${" in sql for sql in statements(fakes, "healthy")), "a literal was sent as it stands")
    fakes.check_nothing_held("healthy")


def an_output_that_fails_stops_the_job(fakes):
    """Nobody can take the rows, in mid-read: an error, and the server is told."""
    words = [LAKECDC, "changes", fakes.url("slow_messages"), "--table", TABLE, "--from", "1", "--via", "spark_native"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=LONGEST)
    check(done.returncode in range(1, 14), done.returncode, done.stderr)
    fakes.check_nothing_held("slow_messages")


def a_server_of_another_kind_is_no_spark(_fakes):
    """One that answers in HTTP/1.1 with a page: an error that says so, in time."""
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    client, _address = listener.accept()
                    with client, contextlib.suppress(OSError):
                        client.recv(1 << 16)
                        client.sendall(page)

        threading.Thread(target=serve, daemon=True).start()
        run = Run(f"sc://127.0.0.1:{listener.getsockname()[1]}", "--table", TABLE, "--timeout", "4")
        check(run.status == UNAVAILABLE, run.status, run.err)
        listener.shutdown(socket.SHUT_RDWR)


# --- syncs: the verdict in the ledger and in the log, one search for the life of a source


class Sync:
    """A sync of tables on scripted servers to JSONL files in a folder."""

    def __init__(self, folder, sources, interval="100ms"):
        self.folder, self.path = folder, os.path.join(folder, "sync.yaml")
        config = {
            "version": 1,
            "interval": interval,
            "retry": {"first": "200ms", "most": "200ms"},
            "metrics": {"file": "metrics.prom"},
            "sources": {name: {"timeout": str(TIMEOUT), **source} for name, source in sources.items()},
            "sinks": {"out": {"type": "jsonl"}},
            "tables": {
                name: {"source": name, "table": TABLE, "sink": "out", "sink_options": {"path": f"{name}.jsonl"}, "start": "oldest"}
                for name in sources
            },
        }
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(config, file)

    def run(self, seconds):
        """Runs for so long, then ends it; what it logged."""
        words = [LAKECDC, "sync", self.path, "--log-format", "json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(seconds)
            check(process.poll() is None, "the sync ended:", process.stderr.read() if process.poll() is not None else "")
            process.send_signal(signal.SIGTERM)
            out, self.log = process.communicate(timeout=LONGEST)
        check("Sanitizer" not in self.log, self.log)
        return [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]

    def state(self, name):
        run = Run("show", name, "--json", "--ledger", os.path.join(self.folder, "ledger.db"), command="ledger")
        check(run.status == 0, run.err)
        return json.loads(run.out)

    def files(self):
        """Everything that it wrote."""
        for name in os.listdir(self.folder):
            if name != os.path.basename(self.path):
                with open(os.path.join(self.folder, name), "rb") as file:
                    yield name, file.read()


def a_poll_loop_asks_once_and_notes_the_verdict(fakes):
    """Many rounds, one search: the version and each probe are asked for once. The verdict is logged and in the ledger."""
    scenarios = ("healthy", "green_probe", "flag_off")
    before = {scenario: len(fakes.record(scenario)) for scenario in scenarios}
    with tempfile.TemporaryDirectory() as folder:
        sync = Sync(folder, {name: {"spark": fakes.url(name)} for name in scenarios})
        events = sync.run(6 if SANITIZED else 4)
        for scenario, chosen, fell_back, words in (
            ("healthy", "spark_native", False, "resolves CHANGES"),
            ("green_probe", "spark_delta_cdf", True, "requires row tracking"),
            ("flag_off", "spark_delta_cdf", True, "CHANGE_DATA_CAPTURE"),
        ):
            calls = fakes.record(scenario)[before[scenario] :]
            versions = [line for line in calls if line.get("analyze") == "spark_version"]
            probes = [line["sql"] for line in calls if line.get("rpc") == "AnalyzePlan" and "LIMIT 0" in line.get("sql", "")]
            rounds = [line for line in calls if line.get("sql", "").startswith("DESCRIBE HISTORY")]
            check(len(versions) == 1, scenario, "was asked for its version", len(versions), "times")
            check(len(probes) == len(set(probes)) and len(probes) == 2, scenario, probes)
            check(len(rounds) > 4, scenario, "was looked at", len(rounds), "times")
            verdict = sync.state(scenario)["cdc"]
            check(set(verdict) == VERDICT_FIELDS, sorted(verdict))
            check(verdict["chosen"] == chosen and verdict["fell_back"] == fell_back, verdict)
            check(verdict["native_expected"] and verdict["native_usable"] == (not fell_back), verdict)
            check(words in verdict["reason"] and verdict["server_version"] == "4.2.1", verdict)
            port = fakes.url(scenario).rpartition(":")[2]
            said = [each for each in events if each.get("target") == "lakecdc.cdc" and f":{port}:" in json.dumps(each)]
            level = "warn" if fell_back else "info"
            check(said and said[-1]["level"] == level and words in json.dumps(said[-1]), scenario, said)
            fakes.check_nothing_held(scenario)


def a_sync_tells_no_secret(fakes):
    """Tokens and header values of a source are in no log, ledger, metric or plan, whether it opens or not."""
    url = fakes.url("auth", host="localhost")
    sources = {
        "good": {"spark": url + "/;token=secret;x-key=k3y-v4lue"},
        "bad": {"spark": url + "/;token=wr0ng-t0ken;x-key=k3y-v4lue"},
    }
    with tempfile.TemporaryDirectory() as folder:
        sync = Sync(folder, sources)
        sync.run(3)
        check(sync.state("good")["state"] == "active", sync.state("good"))
        check("Invalid authentication token" in json.dumps(sync.state("bad")), sync.state("bad"))
        dry = Run(sync.path, "--once", "--dry-run", command="sync")
        files = {**dict(sync.files()), "the log": sync.log.encode(), "a dry run": (dry.out + dry.err).encode()}
        for name, content in files.items():
            for text in (b"token=", b"wr0ng", b"k3y-v4lue", b"=secret"):
                check(text not in content, text, "is in", name)
    plan = Run(url + "/;token=secret;x-key=k3y-v4lue", "--table", TABLE, "--from", "1", "--json", command="plan")
    check(plan.status == 0 and "k3y" not in plan.out + plan.err and "secret" not in plan.out + plan.err, plan.out, plan.err)
    fakes.check_nothing_held("auth")


def no_way_names_every_reason(fakes):
    run = read(fakes, "no_engine_path", "--from", "1", via="")
    check(run.status == UNSUPPORTED, run.status, run.err)
    for words in ("CHANGE_DATA_CAPTURE", "DELTA_MISSING_CHANGE_DATA"):
        check(words in run.err, words, "is not in", run.err)
    fakes.check_nothing_held("no_engine_path")


def a_missing_table_is_not_found(fakes):
    run = Run(fakes.url("healthy"), "--table", "shop.nowhere", "--timeout", "4")
    check(run.status == 3 and "nowhere" in run.err, run.status, run.err)
    fakes.check_nothing_held("healthy")


def tokens_open_and_stay_secret(fakes):
    url = fakes.url("auth", host="localhost")
    good = Run(url + "/;token=secret", "--table", TABLE, "--from", "1", "--via", "spark_native", "--timeout", "4")
    check_rows(good, expected())
    good = Run(
        url,
        "--table",
        TABLE,
        "--from",
        "1",
        "--via",
        "spark_native",
        env={"SPARK_CONNECT_AUTHENTICATE_TOKEN": "secret"},
    )
    check_rows(good, expected())
    for command in ("changes", "probe", "plan"):
        bad = Run(url + "/;token=wr0ng-t0ken;x-key=k3y-v4lue", "--table", TABLE, "--timeout", "4", command=command)
        check(bad.status == DENIED, bad.status, bad.err)
        check("wr0ng" not in bad.err + bad.out and "k3y-v4lue" not in bad.err + bad.out, bad.err)
    # a server may repeat what it was sent; of two secrets the longer one goes, and where they overlap both
    echoed = Run(
        fakes.url("error_after_data") + "/;x-a=after%20thr;x-b=after%20three;x-c=e%20batch", "--table", TABLE, "--from", "1"
    )
    check("RAISED_EXCEPTION] ***es" in echoed.err, echoed.err)
    echoed = Run(fakes.url("error_after_data") + "/;x-key=batches", "--table", TABLE, "--from", "1", "--via", "spark_native")
    check("after three ***" in echoed.err, echoed.err)
    fakes.check_nothing_held("auth")


def a_server_that_is_down_is_unavailable(_fakes):
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    run = Run("sc://127.0.0.1:1", "--table", TABLE, "--timeout", "4")
    check(run.status == UNAVAILABLE, run.status, run.err)


@contextlib.contextmanager
def tls_server():
    """A healthy server behind TLS, and the file of the authority that vouches for it."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: os.path.join(folder, name) for name in ("port", "ca", "record")}
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_server.py")
        words = [sys.executable, script, "--scenario", "healthy", "--port-file", files["port"], "--record", files["record"]]
        server = subprocess.Popen([*words, "--tls-ca", files["ca"], "--max-seconds", "300"])
        try:
            for _try in range(600):
                if os.path.exists(files["port"]):
                    break
                time.sleep(0.1)
            with open(files["port"], encoding="utf-8") as file:
                yield f"sc://127.0.0.1:{file.read().strip()}/;use_ssl=true", files["ca"]
        finally:
            server.terminate()
            server.wait(30)


def tls_needs_the_right_authority(_fakes):
    with tls_server() as (url, ca_file):
        rest = ("--table", TABLE, "--from", "1", "--via", "spark_native", "--timeout", "10")
        check_rows(Run(url, *rest, "--ca-file", ca_file), expected())
        check(Run(url, *rest).status == UNAVAILABLE, "a certificate nobody vouches for was taken")
        check(Run(url.split("/;")[0], *rest).status == UNAVAILABLE, "plain HTTP/2 to a TLS port")


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def proxies_are_tunnelled_through(fakes):
    """The variables that curl reads, for plain HTTP/2 and for TLS, with the rules that curl has for them."""
    rest = ("--table", TABLE, "--from", "1", "--via", "spark_native", "--timeout", "10")
    clear = dict.fromkeys(PROXIES, "")
    plain = fakes.url("healthy")
    target = plain.removeprefix("sc://")

    def went(proxy, url, more, variables):
        before = len(proxy.asked)
        check_rows(Run(url, *rest, *more, env={**clear, **variables}), expected())
        return proxy.asked[before:]

    with tls_server() as (secure, ca_file), connect_proxy.ConnectProxy() as proxy:
        at = f"http://127.0.0.1:{proxy.port}"
        secure_target = secure.removeprefix("sc://").partition("/")[0]
        asked = went(proxy, plain, (), {"http_proxy": at})
        check(asked and set(asked) == {target}, "http_proxy:", asked)
        check(went(proxy, plain, (), {"https_proxy": at}) == [], "https_proxy was used for http")
        asked = went(proxy, plain, (), {"all_proxy": at})
        check(asked and set(asked) == {target}, "all_proxy:", asked)
        for variables in ({"http_proxy": at, "no_proxy": "127.0.0.1"}, {"all_proxy": at, "no_proxy": "*"}, {}):
            check(went(proxy, plain, (), variables) == [], "went through the proxy with", variables)
        for name in ("https_proxy", "HTTPS_PROXY", "all_proxy"):
            asked = went(proxy, secure, ("--ca-file", ca_file), {name: at})
            check(asked and set(asked) == {secure_target}, name, asked)
        check(went(proxy, secure, ("--ca-file", ca_file), {"https_proxy": at, "no_proxy": "127.0.0.1"}) == [], "no_proxy")
        run = Run(secure, *rest, env={**clear, "https_proxy": at})  # the proxy vouches for nobody
        check(run.status == UNAVAILABLE, run.status, run.err)
        check(not proxy.refused, "other requests than CONNECT:", proxy.refused)
    run = Run(plain, *rest, env={**clear, "http_proxy": at})  # it is gone
    check(run.status == UNAVAILABLE, run.status, run.err)


def a_proxys_password_stays_secret(fakes):
    rest = ("--table", TABLE, "--from", "1", "--via", "spark_native", "--timeout", "10")
    clear = dict.fromkeys(PROXIES, "")
    with connect_proxy.ConnectProxy(password="ann:s3same") as proxy:
        good = {**clear, "http_proxy": f"http://ann:s3same@127.0.0.1:{proxy.port}"}
        check_rows(Run(fakes.url("healthy"), *rest, env=good), expected())
        bad = {**clear, "http_proxy": f"http://ann:wr0ng@127.0.0.1:{proxy.port}"}
        for command in ("changes", "probe"):
            run = Run(fakes.url("healthy"), *rest[:2], "--timeout", "4", env=bad, command=command)
            check(run.status in (UNAVAILABLE, DENIED) and "407" in run.err, run.status, run.err)
            check("wr0ng" not in run.out + run.err, run.err)


def a_cancelled_call_is_back_in_a_second(fakes):
    """Waiting for a server that does not answer, wherever: a signal (lcdc_request_cancel, lcdc_feed_cancel) ends it."""
    for scenario, command, pause in (
        ("half_open", "probe", 1.0),
        ("half_open", "changes", 1.0),
        ("no_answer", "changes", 3.0),
        ("no_answer", "plan", 3.0),
        ("no_answer", "verify", 3.0),
        ("stall", "changes", 3.0),
    ):
        words = [LAKECDC, command, fakes.url(scenario), "--table", TABLE, "--timeout", "60"]
        words += [] if command == "probe" else ["--from", "1", "--via", "spark_native"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(pause)
            check(process.poll() is None, scenario, command, "did not wait", process.poll())
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            _out, error = process.communicate(timeout=LONGEST)
            seconds = time.monotonic() - began
        check(seconds < (4 if SANITIZED else 1.5), f"{scenario} {command}: {seconds:.2f} s after the signal")
        check("Sanitizer" not in error, error)
        if scenario not in CANNOT_RELEASE:
            fakes.check_nothing_held(scenario)


def signals_leave_nothing_behind(fakes):
    for number in (signal.SIGINT, signal.SIGTERM):
        words = [LAKECDC, "changes", fakes.url("slow_messages"), "--table", TABLE, "--from", "1", "--via", "spark_native"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stdout.readline()  # rows come
            process.send_signal(number)
            process.communicate(timeout=LONGEST)
        check(process.returncode == 128 + number, f"exit status {process.returncode} after signal {number}")
        fakes.check_nothing_held("slow_messages")


def signals_before_the_first_row_leave_nothing_behind(fakes):
    for number, command, pause in ((signal.SIGINT, "changes", 1.0), (signal.SIGTERM, "changes", 6.0), (signal.SIGINT, "verify", 2.0)):
        words = [LAKECDC, command, fakes.url("slow_messages"), "--table", TABLE, "--from", "1", "--via", "spark_native"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(pause)
            process.send_signal(number)
            _out, error = process.communicate(timeout=LONGEST)
        check(process.returncode == 128 + number, f"exit status {process.returncode} after signal {number}: {error}")
        fakes.check_nothing_held("slow_messages")


def a_reader_that_leaves_stops_the_job(fakes):
    words = [LAKECDC, "changes", fakes.url("slow_messages"), "--table", TABLE, "--from", "1", "--via", "spark_native"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        process.wait(LONGEST)
    fakes.check_nothing_held("slow_messages")
    run = read(fakes, "slow_messages", "--from", "1", "--limit", "5")
    check(run.status == 0 and sum(run.rows().values()) == 5, run.err)
    fakes.check_nothing_held("slow_messages")


def wide_rows_come_in_chunks(fakes):
    run = read(fakes, "wide_rows", "--from", "1", "--columns", "id,name,region", "--timeout", "20")
    check_rows(run, expected(names=("id", "name", "region")))
    fakes.check_nothing_held("wide_rows")
    check(any(line.get("chunk_size") for line in fakes.record("wide_rows")), "chunks were not asked for")


def peak_of(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) << 10


def idle_peak():
    """What the command takes before it does anything."""
    before = subprocess.Popen([LAKECDC, "--version"], stdout=subprocess.DEVNULL)
    return os.wait4(before.pid, 0)[2].ru_maxrss << 10


def memory_stays_small(fakes):
    """A slow reader of two gigabytes, and one of large batches: 64 MB above the largest batch, whatever the result."""
    # a sanitizer keeps what was freed for a while and doubles what grows
    room = 64_000_000 * (2 if SANITIZED else 1)
    env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"}
    for scenario, batch, form in (
        ("big", 1_050_000, "jsonl"),
        ("big", 1_050_000, "arrow"),
        ("large_batches", 97_000_000, "jsonl"),
        ("large_batches", 97_000_000, "arrow"),
    ):
        words = [LAKECDC, "changes", fakes.url(scenario), "--table", TABLE, "--from", "1", "--to", "1", "--timeout", "60"]
        words += ["--via", "spark_native", "--format", form]
        seen, end = 0, time.monotonic() + 4
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
            # for a while, but not to the end, where there is nothing left to measure
            while seen < batch * 3 // 2 or (time.monotonic() < end and seen < 200_000_000):
                piece = process.stdout.read(1 << 20)
                check(piece, scenario, "ended early after", seen)
                seen += len(piece)
                time.sleep(0.01)
            peak = peak_of(process)
            process.terminate()
            process.stdout.close()
            process.wait(LONGEST)
        most = idle_peak() + batch * (2 if SANITIZED else 1) + room
        check(peak < most, f"{scenario} as {form}: peak memory was {peak >> 20} MiB, at most {most >> 20} expected")
        fakes.check_nothing_held(scenario)


OTHERS = [
    other_ways_give_the_rows,
    statements_are_as_promised,
    nothing_is_added_to_the_plain_statement,
    slices_of_an_append_are_whole,
    a_history_that_lies_is_no_disorder,
    ranges_and_nothing_new,
    verdicts_tell_the_truth,
    a_green_probe_is_no_proof,
    no_way_names_every_reason,
    a_missing_table_is_not_found,
    tokens_open_and_stay_secret,
    a_server_that_is_down_is_unavailable,
    tls_needs_the_right_authority,
    signals_leave_nothing_behind,
    signals_before_the_first_row_leave_nothing_behind,
    a_reader_that_leaves_stops_the_job,
    wide_rows_come_in_chunks,
    memory_stays_small,
    what_cannot_be_read_has_a_verdict,
    a_plan_falls_back_as_a_read_does,
    proxies_are_tunnelled_through,
    a_proxys_password_stays_secret,
    after_the_first_batch_nothing_falls_back,
    names_that_spark_would_change_are_not_sent,
    an_output_that_fails_stops_the_job,
    a_server_of_another_kind_is_no_spark,
    a_poll_loop_asks_once_and_notes_the_verdict,
    a_sync_tells_no_secret,
    a_cancelled_call_is_back_in_a_second,
]
ALONE = {
    "signals_leave_nothing_behind",
    "signals_before_the_first_row_leave_nothing_behind",
    "a_reader_that_leaves_stops_the_job",
    "statements_are_as_promised",
    "nothing_is_added_to_the_plain_statement",
    "slices_of_an_append_are_whole",
    "a_history_that_lies_is_no_disorder",
    "memory_stays_small",
    "a_green_probe_is_no_proof",
    "other_ways_give_the_rows",
    "a_missing_table_is_not_found",
    "no_way_names_every_reason",
    "tokens_open_and_stay_secret",
    "ranges_and_nothing_new",
    "what_cannot_be_read_has_a_verdict",
    "a_plan_falls_back_as_a_read_does",
    "proxies_are_tunnelled_through",
    "a_proxys_password_stays_secret",
    "after_the_first_batch_nothing_falls_back",
    "names_that_spark_would_change_are_not_sent",
    "an_output_that_fails_stops_the_job",
    "a_poll_loop_asks_once_and_notes_the_verdict",
    "a_sync_tells_no_secret",
    "a_cancelled_call_is_back_in_a_second",
}


def run_one(fakes, name, test):
    began = time.monotonic()
    try:
        test(fakes)
        problem = None
    except (Failed, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
        problem = f"{type(error).__name__}: {error}"
    print(f"{'ok    ' if problem is None else 'FAILED'} {time.monotonic() - began:5.1f} s  {name}", flush=True)
    if problem:
        print(f"       {problem[:2000]}", flush=True)
    return problem is None


def main():
    import fake_scenarios

    unknown = set(fake_scenarios.names()) ^ (set(SCENARIOS) | ELSEWHERE)
    check(not unknown, "scenarios without an expectation, or the other way round:", sorted(unknown))
    tests = {**{name: scenario_test(name) for name in SCENARIOS}, **{test.__name__: test for test in OTHERS}}
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 4096:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    chosen = sys.argv[1:] or list(tests)
    with Fakes() as fakes, concurrent.futures.ThreadPoolExecutor(4) as pool:
        side_by_side = [name for name in chosen if name not in ALONE]
        good = list(pool.map(lambda name: run_one(fakes, name, tests[name]), side_by_side))
        good += [run_one(fakes, name, tests[name]) for name in chosen if name in ALONE]
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
