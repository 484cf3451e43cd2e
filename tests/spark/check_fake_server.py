# SPDX-License-Identifier: Apache-2.0
"""Holds the fake server against Spark's own client: what PySpark can get through must give all rows and leave nothing held.

    python check_fake_server.py [SCENARIO ...]

A fake that PySpark cannot talk to would prove nothing about another client.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import environment

if __name__ == "__main__":
    environment.enter_client_python(__file__)

import fake_rows

# None: all rows. Else: what PySpark's error says.
EXPECTED = {
    "healthy": None,
    "stream_limit": None,
    "cut_mid_batch": None,
    "cut_every_stream": None,
    "abrupt_close": None,
    "goaway_graceful": None,
    "goaway_abrupt": None,
    "chunked": None,
    "chunk_cut": None,
    "unknown_messages": None,
    "offset_absent": None,
    "slow_drip": None,
    "reattach_disconnected": None,
    "unavailable_twice": None,
    "retry_info": None,
    "wide_rows": None,
    "reattach_repeats": "start at row offset",
    "reattach_skips": "start at row offset",
    "reattach_lost": "RESPONSE_ALREADY_RECEIVED",
    "offset_gap": "start at row offset",
    "offset_repeat": "start at row offset",
    "chunk_lost": "chunk",
    "chunk_repeated": "chunk",
    "foreign_session": "session",
    "server_restarted": "session",
    "row_count_lie": "100 rows",
    "error_after_data": "after three batches",
    "error_without_details": "java heap space",
    "error_long": "long end",
    "error_details_lost": "LONG_ONE",
    "green_probe": "requires row tracking",
    "flag_off": "CHANGE_DATA_CAPTURE",
    "auth": "No authentication token provided",
}
CANNOT_RELEASE = ("auth", "server_restarted")  # no token; a server that PySpark takes for another
QUERY = "SELECT * FROM shop.t CHANGES FROM VERSION 1 TO VERSION 4 WITH (computeUpdates = 'true')"


def start(folder):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_server.py")
    process = subprocess.Popen([sys.executable, script, "--all", folder])
    deadline = time.monotonic() + 60
    while not os.path.exists(os.path.join(folder, "ready")):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            sys.exit("the fake server did not start")
        time.sleep(0.05)
    return process


def ask(url):
    """The rows of the feed as a set of tuples, and the error."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).create()
    try:
        table = spark.sql(QUERY).toArrow()
        return sorted(
            zip(
                table["id"].to_pylist(),
                table["name"].to_pylist(),
                table["_change_type"].to_pylist(),
                table["_commit_version"].to_pylist(),
            )
        ), None
    except Exception as error:  # any type: which one is PySpark's affair
        return None, str(error)
    finally:
        spark.stop()


def left_over(record):
    with open(record, encoding="utf-8") as file:
        held = [line for line in map(json.loads, file) if line.get("event") == "held"]
    return {what: ids for what, ids in held[-1].items() if isinstance(ids, list) and ids}


def check(scenario, expected, folder):
    with open(os.path.join(folder, scenario + ".port"), encoding="utf-8") as file:
        rows, error = ask(f"sc://127.0.0.1:{file.read().strip()}")
    right = sorted(
        (each["id"], each["name"], each["word"], each["version"]) for each in fake_rows.changes(1, fake_rows.VERSIONS)
    )
    if expected is None and rows != right:
        return f"{len(rows) if rows else 'no'} rows, error {error}"
    if expected is not None and expected not in (error or ""):
        return f"error expected with {expected!r}, got {error}"
    held = left_over(os.path.join(folder, scenario + ".record"))
    return f"held at the end: {held}" if held and scenario not in CANNOT_RELEASE else None


def main():
    failed = 0
    wanted = sys.argv[1:] or list(EXPECTED)
    with tempfile.TemporaryDirectory() as folder:
        server = start(folder)
        try:
            for scenario in wanted:
                complaint = check(scenario, EXPECTED[scenario], folder)
                failed += complaint is not None
                print(
                    f"{'ok  ' if complaint is None else 'FAIL'} {scenario}{': ' + complaint if complaint else ''}",
                    flush=True,
                )
        finally:
            server.terminate()
            server.wait()
    print(f"{len(wanted) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
