# SPDX-License-Identifier: Apache-2.0
"""Every scenario of the scripted server through the lakecdc command: all rows or an error, in time, and nothing left held.

    LAKECDC=path/of/lakecdc python test_fake.py [NAME ...]

The one idea: the rows are known beforehand (fake_rows), so a scenario either ends well with exactly them, or with the
error named here after a part of them; whatever happens, the server's record of what it still holds ends empty.
"""

import collections
import concurrent.futures
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

import environment

if __name__ == "__main__":
    environment.enter_client_python(__file__)

import fake_rows

LAKECDC = os.environ["LAKECDC"]
TIMEOUT = 4  # seconds, of --timeout
LONGEST = 40  # of a run, whatever goes wrong; sanitizers included
TABLE = "shop.t"

# What a scenario must end in: None for all rows, else exit status and a part of the message. Read through spark_native.
CORRUPT, UNSUPPORTED, UNAVAILABLE, DENIED, LIMIT = 6, 4, 8, 9, 10
SCENARIOS = {
    **dict.fromkeys(
        "healthy stream_limit cut_mid_batch cut_every_stream abrupt_close rst_stream goaway_graceful goaway_abrupt "
        "reattach_disconnected offset_absent after_the_end chunked chunk_cut string_versions unknown_messages "
        "unavailable_twice retry_info result_too_big slow_drip slow_messages no_way_out".split()
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
ELSEWHERE = {"big", "wide_rows"}  # with tests of their own
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


def a_green_probe_is_no_proof(fakes):
    run = read(fakes, "green_probe", "--from", "1", via="")
    check(run.status == 0 and "warning" in run.err and "spark_native cannot" in run.err, run.err)
    got = collections.Counter(key[:3] for key in run.rows().elements())
    check(got == collections.Counter(key[:3] for key in expected().elements()), "other rows than the table's")
    fakes.check_nothing_held("green_probe")


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
    # a server may repeat what it was sent
    echoed = Run(fakes.url("error_after_data") + "/;x-key=batches", "--table", TABLE, "--from", "1", "--via", "spark_native")
    check("after three ***" in echoed.err, echoed.err)
    fakes.check_nothing_held("auth")


def a_server_that_is_down_is_unavailable(_fakes):
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    run = Run("sc://127.0.0.1:1", "--table", TABLE, "--timeout", "4")
    check(run.status == UNAVAILABLE, run.status, run.err)


def tls_needs_the_right_authority(_fakes):
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
                url = f"sc://127.0.0.1:{file.read().strip()}/;use_ssl=true"
            rest = ("--table", TABLE, "--from", "1", "--via", "spark_native", "--timeout", "10")
            check_rows(Run(url, *rest, "--ca-file", files["ca"]), expected())
            check(Run(url, *rest).status == UNAVAILABLE, "a certificate nobody vouches for was taken")
            check(Run(url.split("/;")[0], *rest).status == UNAVAILABLE, "plain HTTP/2 to a TLS port")
        finally:
            server.terminate()
            server.wait(30)


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


def memory_stays_small(fakes):
    """A slow reader of two gigabytes for some seconds, then a signal."""
    words = [LAKECDC, "changes", fakes.url("big"), "--table", TABLE, "--from", "1", "--to", "1", "--via", "spark_native"]
    env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"}  # not ours
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            process.stdout.read(1 << 20)
            time.sleep(0.05)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        process.terminate()
        process.stdout.close()
        process.wait(LONGEST)
    check(peak < 160 << 10, f"peak memory was {peak >> 10} MiB")
    fakes.check_nothing_held("big")


OTHERS = [
    other_ways_give_the_rows,
    statements_are_as_promised,
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
]
ALONE = {
    "signals_leave_nothing_behind",
    "signals_before_the_first_row_leave_nothing_behind",
    "a_reader_that_leaves_stops_the_job",
    "statements_are_as_promised",
    "memory_stays_small",
    "a_green_probe_is_no_proof",
    "other_ways_give_the_rows",
    "a_missing_table_is_not_found",
    "no_way_names_every_reason",
    "tokens_open_and_stay_secret",
    "ranges_and_nothing_new",
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
    print(f"{sum(good)} of {len(good)} good")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
