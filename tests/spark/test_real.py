# SPDX-License-Identifier: Apache-2.0
"""Real servers, Spark 4.2 with Delta and Spark 4.1 with Iceberg: every backend against the direct reader, and every verdict.

    LAKECDC=path/of/lakecdc python test_real.py

The one idea: the same request goes through an engine backend and to the table's own files, and the change rows must be
equal, as multisets, in the same order of commits. Both servers start once, their tables are made side by side.
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

import environment

if __name__ == "__main__":
    environment.enter_client_python(__file__)

import make_tables
import servers

LAKECDC = os.environ["LAKECDC"]
TOKEN = "open-sesame"
UNSUPPORTED, UNAVAILABLE, DENIED, NOT_FOUND = 4, 8, 9, 3
BIG = "shop.big"
BIG_ROWS = 600_000


class Failed(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failed(" ".join(map(str, what)))


class Run:
    def __init__(self, *arguments, command="changes"):
        done = subprocess.run([LAKECDC, command, *arguments], capture_output=True, text=True, timeout=180)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def rows(self, what):
        check(self.status == 0, what, self.status, self.err)
        return [json.loads(line) for line in self.out.splitlines()]


def counted(rows, labels):
    """Rows as a multiset; without labels an update is the delete and the insert it stands for."""
    plain = {} if labels else {"update_before": "delete", "update_after": "insert"}
    return collections.Counter(
        (plain.get(row["op"], row["op"]), json.dumps(row["before"]), json.dumps(row["after"]), row["snapshot"], row["ts"])
        for row in rows
    )


def commits(rows):
    return list(dict.fromkeys(row["snapshot"] for row in rows))


class Site:
    """A server with its tables."""

    def __init__(self, server, url, tables):
        self.server, self.url, self.tables = server, url, {table["name"].split(".", 2)[2]: table for table in tables}

    def read(self, name, *more, via=""):
        words = [self.url, "--table", self.tables[name]["name"], "--timeout", "120", *more]
        return Run(*words, *(["--via", via] if via else []))

    def direct(self, name, *more):
        return Run(self.tables[name]["path"], *more)

    def probe(self, name, url=None):
        run = Run(url or self.url, "--table", self.tables[name]["name"], "--json", command="probe")
        check(run.status == 0, run.err)
        return json.loads(run.out)

    def same(self, name, via, *more, labels=True):
        what = f"{name} via {via} {' '.join(more)}"
        engine = self.read(name, *more, via=via).rows(what)
        files = self.direct(name, *more).rows(what + " (direct)")
        a, b = counted(engine, labels), counted(files, labels)
        check(a == b, f"{what}: missing {list((b - a).elements())[:3]}, too many {list((a - b).elements())[:3]}")
        check(commits(engine) == commits(files), f"{what}: commits in another order")
        return engine


# --- the same rows

SHAPES = [
    ("--columns", "name,id"),
    ("--where", "region = 'north' OR amount > 30"),
    ("--columns", "amount", "--where", "id IN (1, 3, 7) AND region IS NOT NULL"),
    ("--identity", "id", "--fold"),
    ("--identity", "id", "--net"),
]
NESTED_SHAPES = [("--columns", "address,id"), ("--where", "address.city = 'Bergen'"), ("--identity", "id", "--fold")]


def same_in_every_shape(site, name, via, *start, shapes=SHAPES, labels=True):
    rows = site.same(name, via, *start, labels=labels)
    check(rows, name, "gives no rows")
    ids = [str(each["id"]) for each in site.tables[name]["commits"]]
    site.same(name, via, "--from", ids[1], "--to", ids[2], labels=labels)
    site.same(name, via, "--from", ids[1], "--from-exclusive", labels=labels)
    for shape in shapes:
        site.same(name, via, *start, *shape, labels=labels)


def native_reads_row_tracking(delta):
    same_in_every_shape(delta, "tracked", "spark_native", "--from", "1")
    same_in_every_shape(delta, "tracked_parts", "spark_native", "--from", "1", shapes=SHAPES[1:4])
    delta.same("tracked_parts", "spark_native", "--fold")
    delta.same("tracked_parts", "spark_native", "--net")


def native_reads_nested_and_odd(delta):
    same_in_every_shape(delta, "tracked_nested", "spark_native", "--from", "1", shapes=NESTED_SHAPES)
    delta.same("`order`", "spark_native", "--from", "1")
    delta.same("`order`", "spark_native", "--from", "1", "--where", "`it's` LIKE '%''%' AND \"do.t\" = 1")
    delta.same("`order`", "spark_delta_cdf", "--from", "1", "--columns", "select,--")


def table_changes_reads_the_feed(delta):
    same_in_every_shape(delta, "feed", "spark_delta_cdf", "--from", "1")
    same_in_every_shape(delta, "feed_parts", "spark_delta_cdf", "--from", "1", shapes=SHAPES[1:3])
    delta.same("feed_nested", "spark_delta_cdf", "--from", "1")


def the_view_reads_copy_on_write(iceberg):
    same_in_every_shape(iceberg, "cow", "spark_iceberg")
    same_in_every_shape(iceberg, "cow_parts", "spark_iceberg", shapes=SHAPES[1:4])
    same_in_every_shape(iceberg, "v3", "spark_iceberg", labels=False, shapes=SHAPES[:2])
    iceberg.same("`it's ``odd``; --`", "spark_iceberg")
    iceberg.same("cow_nested", "spark_iceberg", "--identity", "id")  # a map column: the view needs to be told the key


def a_bootstrap_and_the_law(delta, iceberg):
    delta.same("tracked_parts", "spark_native", "--bootstrap", "--from", "2")
    iceberg.same("cow", "spark_iceberg", "--bootstrap")
    for site, name in ((delta, "tracked_parts"), (delta, "feed"), (iceberg, "cow")):
        run = Run(site.url, "--table", site.tables[name]["name"], command="verify")
        check(run.status == 0 and run.out.startswith("holds"), name, run.out, run.err)


def nothing_new_is_no_row(delta, iceberg):
    last = str(delta.tables["tracked"]["commits"][-1]["id"])
    check(not delta.read("tracked", "--from", last, "--from-exclusive", via="spark_native").rows("native"), "rows")
    last = str(delta.tables["feed"]["commits"][-1]["id"])
    check(not delta.read("feed", "--from", last, "--from-exclusive", via="spark_delta_cdf").rows("cdf"), "rows")
    last = str(iceberg.tables["cow"]["commits"][-1]["id"])
    check(not iceberg.read("cow", "--from", last, "--from-exclusive", via="spark_iceberg").rows("view"), "rows")


# --- verdicts: each row of the table in docs/capability-matrix.md


def verdict(site, name, chosen, usable, url=None):
    found = site.probe(name, url)
    check(found["chosen"] == chosen, name, "is read by", found["chosen"], "not", chosen, found["reason"])
    check([each["name"] for each in found["candidates"] if each["usable"]] == usable, found["candidates"])
    return found


def verdict_delta_with_row_tracking(delta):
    found = verdict(delta, "tracked", "spark_native", ["spark_native", "spark_delta_cdf", "direct"])
    check(found["native_expected"] and found["native_usable"] and not found["fell_back"], found)
    check(found["server_version"].startswith("4.2.") and found["server_major_minor"] == "4.2", found)


def falls_back(site, name, *words, via):
    """Reading goes on with another backend, and the plain request says why."""
    plain = site.read(name)
    rows = plain.rows(name)
    check("warning" in plain.err and all(word in plain.err for word in words), name, "does not say why:", plain.err)
    check(counted(rows, False) == counted(site.direct(name).rows(name), False), name, "gives other rows")
    refused = site.read(name, via=via)
    check(refused.status == UNSUPPORTED and all(word in refused.err for word in words), name, refused.status, refused.err)


def verdict_delta_without_row_tracking(delta):
    """The probe is green; the read is refused, and falls back: to the feed when there is one, else to the files."""
    verdict(delta, "feed", "spark_native", ["spark_native", "spark_delta_cdf", "direct"])
    falls_back(delta, "feed", "requires row tracking", via="spark_native")
    falls_back(delta, "plain", "requires row tracking", via="spark_native")
    falls_back(delta, "plain", "DELTA_MISSING_CHANGE_DATA", via="spark_delta_cdf")


def verdict_flag_off(delta):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(delta.url + ";user_id=off").create()
    try:
        spark.conf.set(servers.CHANGELOG_FLAG, "false")
        url = f"{delta.url};user_id=off;session_id={spark.session_id}"
        found = verdict(delta, "feed", "spark_delta_cdf", ["spark_delta_cdf", "direct"], url)
        check(found["fell_back"] and found["native_expected"] and not found["native_usable"], found)
        check("Change Data Capture" in found["reason"], found["reason"])
        check(spark.sql("SELECT 1").first()[0] == 1, "a session that was named is somebody else's, and was closed")
    finally:
        spark.stop()


def verdict_iceberg(iceberg):
    found = verdict(iceberg, "cow", "spark_iceberg", ["spark_iceberg", "direct"])
    check(not found["native_expected"] and not found["fell_back"] and found["server_major_minor"] == "4.1", found)
    verdict(iceberg, "cow_nested", "spark_iceberg", ["spark_iceberg", "direct"])
    falls_back(iceberg, "cow_nested", "Identifier field is required", via="spark_iceberg")
    for name in ("mor", "v3_mor"):
        verdict(iceberg, name, "spark_iceberg", ["spark_iceberg", "direct"])
        falls_back(iceberg, name, "Delete files are currently not supported in changelog scans", via="spark_iceberg")


def verdict_no_table(delta, iceberg):
    for site, name in ((delta, "spark_catalog.shop.nowhere"), (iceberg, "ice.shop.nowhere")):
        run = Run(site.url, "--table", name)
        check(run.status == NOT_FOUND and "nowhere" in run.err, run.status, run.err)


def verdict_wrong_token(delta):
    run = Run(delta.url.replace(TOKEN, "let-me-in"), "--table", delta.tables["tracked"]["name"])
    check(run.status == DENIED and "let-me-in" not in run.err, run.status, run.err)


def direct_reads_where_it_is_told_to(delta, iceberg):
    delta.same("plain", "direct")
    iceberg.same("mor", "direct")


# --- a server that dies; the last tests of each


def dies_in_mid_read(delta):
    words = [LAKECDC, "changes", delta.url, "--table", BIG, "--from", "1", "--via", "spark_native", "--timeout", "60"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        check(process.stdout.readline(), "no first row:", process.stderr.read() if process.poll() is not None else "")
        delta.server.kill()
        began = time.monotonic()
        rows = 1 + sum(1 for _line in process.stdout)
        error = process.stderr.read()
        process.wait(60)
    check(process.returncode == UNAVAILABLE, process.returncode, error)
    check(rows < BIG_ROWS and time.monotonic() - began < 60, rows, "rows")


def is_down(delta):
    began = time.monotonic()
    run = delta.read("tracked")
    check(run.status == UNAVAILABLE and time.monotonic() - began < 30, run.status, run.err)


# --- all of it

ICEBERG_TESTS = (the_view_reads_copy_on_write, verdict_iceberg)
DELTA_TESTS = (
    native_reads_row_tracking,
    native_reads_nested_and_odd,
    table_changes_reads_the_feed,
    verdict_delta_with_row_tracking,
    verdict_delta_without_row_tracking,
    verdict_flag_off,
    verdict_wrong_token,
)


def make_site(server):
    token = server.conf.get(servers.TOKEN)
    url = f"sc://localhost:{server.port}/;token={token}" if token else server.url
    spark = make_tables.connect(url)
    try:
        tables = make_tables.make_all(spark, server.release)
        if server.release == "42":
            properties = "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'false'"
            spark.sql(f"CREATE TABLE {BIG} (id BIGINT, note STRING) USING delta TBLPROPERTIES ({properties})")
            spark.sql(f"INSERT INTO {BIG} SELECT id, repeat('x', 100) FROM range({BIG_ROWS})")
    finally:
        spark.stop()
    return Site(server, url, tables)


def run_one(test, *sites):
    began = time.monotonic()
    try:
        test(*sites)
        problem = None
    except (Failed, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
        problem = f"{type(error).__name__}: {error}"
    print(f"{'ok    ' if problem is None else 'FAILED'} {time.monotonic() - began:5.1f} s  {test.__name__}", flush=True)
    if problem:
        print(f"       {problem[:2500]}", flush=True)
    return problem is None


def main():
    servers.exit_on_signals()
    began = time.monotonic()
    running = [servers.Server("42", conf={servers.TOKEN: TOKEN}), servers.Server("41")]
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = []
            for server in running:  # in this thread: a server asks for a signal when the thread that started it ends
                server.start()
                made.append(pool.submit(make_site, server))
            delta, iceberg = (future.result() for future in made)
        print(f"tables made after {time.monotonic() - began:.0f} s", flush=True)
        both = (a_bootstrap_and_the_law, nothing_new_is_no_row, verdict_no_table, direct_reads_where_it_is_told_to)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            side_by_side = [
                pool.submit(lambda: [run_one(test, iceberg) for test in ICEBERG_TESTS]),
                pool.submit(lambda: [run_one(test, delta) for test in DELTA_TESTS]),
            ]
            good = [each for tests in side_by_side for each in tests.result()]
        good += [run_one(test, delta, iceberg) for test in both]
        good += [run_one(test, delta) for test in (dies_in_mid_read, is_down)]
    finally:
        for server in running:
            server.stop()
    print(f"{sum(good)} of {len(good)} good after {time.monotonic() - began:.0f} s")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
