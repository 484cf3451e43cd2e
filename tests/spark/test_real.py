# SPDX-License-Identifier: Apache-2.0
"""Real servers, Spark 4.2 with Delta and Spark 4.1 with Iceberg and Delta: every backend against the direct reader, every
verdict, and what is left on the server afterwards.

    LAKECDC=path/of/lakecdc python test_real.py [WORD ...]      tests whose names hold one of the words; default: all

The one idea: the same request goes through an engine backend and to the table's own files, and the change rows must be
equal, as multisets, in the same order of commits. Both servers start once, their tables are made side by side. Their limits
are low: a stream ends after two seconds or two megabytes and is taken up again, a result over 16 megabytes is refused.
"""

import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import environment

if __name__ == "__main__":
    environment.enter_client_python(__file__)

import make_tables
import servers
import syncs

LAKECDC = os.environ["LAKECDC"]
TOKEN = "open-sesame"
UNSUPPORTED, UNAVAILABLE, DENIED, NOT_FOUND = 4, 8, 9, 3
BIG = "shop.big"
BIG_ROWS = 300_000
# One commit's rows are more than what the 4.2 server gives at once, its ids alone are not; streams end early on both.
LIMITS = {
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "2s",
    "spark.connect.execute.reattachable.senderMaxStreamSize": "2m",
}
RESULT_LIMIT = {"spark.driver.maxResultSize": "16m"}


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
    same_in_every_shape(delta, "feed_parts", "spark_delta_cdf", "--from", "1", shapes=SHAPES[1:])
    delta.same("feed_nested", "spark_delta_cdf", "--from", "1")
    for shape in NESTED_SHAPES:
        delta.same("feed_nested", "spark_delta_cdf", "--from", "1", *shape)


TYPE_FILTERS = [
    "short = 'abc'",
    "short LIKE 'A%' OR short IN ('', 'x')",
    "at >= '2026-03-29 02:30:00'",
    "at = '2026-03-29T04:30:00+02:00'",
    "wall = '2026-03-29 02:30:00.123456'",
    "day < '1582-10-15'",
    "big > 1.5 OR big = -0.0000000001",
    "single = 0 OR single > 1e37",
    "tiny = -128 AND small <= -32768 AND num < 0",
    "raw = X'00FF' OR raw = X''",
    "text = 'it''s'",
    "text LIKE 'back\\slash%'",
]
# A session that differs from the usual one wherever that might change a row, or how a statement is read.
ODD_SESSION = {
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.charVarcharAsString": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.execution.arrow.compression.codec": "zstd",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
}


def in_an_odd_session(site, use):
    """use() of the site as a session of somebody's sees it that is set to everything unusual."""
    from pyspark.sql import SparkSession

    url = site.url if "/;" in site.url else site.url + "/"
    spark = SparkSession.builder.remote(url + ";user_id=odd").create()
    try:
        for key, value in ODD_SESSION.items():
            spark.conf.set(key, value)
        use(Site(site.server, f"{url};user_id=odd;session_id={spark.session_id}", site.tables.values()))
    finally:
        spark.stop()


def every_type(site, via, *start):
    """Every type and its edges, filters on each, and rows with bytes that a rewrite only carries over."""
    rows = site.same("types", via, *start)
    check(any(row["op"] == "delete" and row["before"]["raw"] == "AP8=" for row in rows), rows)
    check(sum((row["before"] or row["after"])["id"] == 4 for row in rows) == 1, "a row that was carried over is there")
    for where in TYPE_FILTERS:
        site.same("types", via, *start, "--where", where)
    site.same("types", via, *start, "--columns", "id,raw", "--where", "text IS NOT NULL")


def delta_types_in_any_session(delta):
    def both_ways(site):
        for via in ("spark_native", "spark_delta_cdf"):
            every_type(site, via, "--from", "1")
            site.same("variants", via, "--from", "1")
            site.same("variants", via, "--from", "1", "--columns", "deep,id", "--where", "any IS NOT NULL")

    both_ways(delta)
    in_an_odd_session(delta, both_ways)
    in_an_odd_session(delta, lambda site: site.same("`order`", "spark_native", "--from", "1", "--where", "`it's` LIKE '%''%'"))


def iceberg_types_in_any_session(iceberg):
    def view(site):
        every_type(site, "spark_iceberg")
        site.same("types", "spark_iceberg", "--identity", "id", "--fold")

    def unspeakable(site):
        name = "`it's ``odd``; --`"
        run = site.read(name)
        check("escapedStringLiterals is true there" in run.err, run.err)
        check(counted(run.rows(name), False) == counted(site.direct(name).rows(name), False), name, "gives other rows")
        check(site.read(name, via="spark_iceberg").status == UNSUPPORTED, name)

    view(iceberg)
    iceberg.same("`it's ``odd``; --`", "spark_iceberg")
    in_an_odd_session(iceberg, view)
    in_an_odd_session(iceberg, unspeakable)


def by_time(site, name, via):
    """A range of times gives what the same range of commits does, ends left out too."""
    rows = site.direct(name).rows(name)
    times = sorted({row["ts"] for row in rows})
    for more in ((), ("--from-exclusive", "--to-exclusive")):
        site.same(name, via, "--from", times[1], "--to", times[-2], *more)


def one_commit_of_each_kind(site, name, via, *first):
    """Each commit by itself: the inserts, the update, the delete, the merge and the overwrite."""
    for each in site.tables[name]["commits"][first[0] if first else 0 :]:
        site.same(name, via, "--from", str(each["id"]), "--to", str(each["id"]))


def commits_and_times(delta, iceberg):
    for site, name, via, first in (
        (delta, "tracked", "spark_native", 1),
        (delta, "feed", "spark_delta_cdf", 1),
        (iceberg, "cow", "spark_iceberg", 0),
    ):
        one_commit_of_each_kind(site, name, via, first)
        by_time(site, name, via)


def deletes_with_nulls(delta, iceberg):
    """Deletes have whole images by every way: a null in one is the row's own, and the filter decides as the files' does."""
    for site, name, via, start in (
        (delta, "tracked", "spark_native", ("--from", "1")),
        (delta, "feed", "spark_delta_cdf", ("--from", "1")),
        (iceberg, "cow", "spark_iceberg", ()),
    ):
        rows = site.same(name, via, *start)
        deleted = [row["before"] for row in rows if row["op"] == "delete"]
        check(any(None in image.values() for image in deleted), name, "has no delete with a null")
        check(all(image["id"] is not None for image in deleted), name, "has a delete without its key")
        for where in ("amount > 30", "id > 2 AND region <> 'north'", "region IS NULL"):
            site.same(name, via, *start, "--where", where)


def the_view_reads_copy_on_write(iceberg):
    same_in_every_shape(iceberg, "cow", "spark_iceberg")
    same_in_every_shape(iceberg, "cow_parts", "spark_iceberg", shapes=SHAPES[1:])
    same_in_every_shape(iceberg, "v3", "spark_iceberg", labels=False, shapes=SHAPES[:2])
    iceberg.same("`it's ``odd``; --`", "spark_iceberg")
    iceberg.same("cow_nested", "spark_iceberg", "--identity", "id")  # a map column: the view needs to be told the key
    for shape in NESTED_SHAPES[:2]:
        iceberg.same("cow_nested", "spark_iceberg", "--identity", "id", *shape)
    iceberg.same("cow_nested", "spark_iceberg", "--identity", "id", "--fold")


def a_bootstrap_and_the_law(delta, iceberg):
    delta.same("tracked_parts", "spark_native", "--bootstrap", "--from", "2")
    iceberg.same("cow", "spark_iceberg", "--bootstrap")
    for site, name, via in ((delta, "tracked_parts", "spark_native"), (delta, "feed", "spark_delta_cdf"), (iceberg, "cow", "spark_iceberg")):
        times = sorted({row["ts"] for row in site.direct(name).rows(name)})
        for start in ("latest", times[1], times[-1], "2100-01-01T00:00:00Z"):
            site.same(name, via, "--bootstrap", "--from", start)
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
        check(servers.CHANGELOG_FLAG + " is false there" in found["reason"], found["reason"])  # asked for with Config
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


def after_the_read(site, rows, url=None):
    """What a sync keeps in its ledger once it has read: (table, options, chosen, expected, usable, fell back, words)."""
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "version": 1,
            "sources": {"cluster": {"spark": url or site.url, "timeout": "120"}},
            "sinks": {"out": {"type": "jsonl"}},
            "tables": {
                name: {
                    "source": "cluster",
                    "table": site.tables[name]["name"],
                    "sink": "out",
                    "start": "oldest",
                    "sink_options": {"path": f"{name}.jsonl"},
                }
                for name, *_rest in rows
            },
        }
        path, ledger = os.path.join(folder, "sync.yaml"), os.path.join(folder, "ledger.db")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        run = Run(path, "--once", command="sync")
        check(run.status == 0, run.status, run.err)
        for name, chosen, expected, usable, fell_back, words in rows:
            found = json.loads(Run("show", name, "--json", "--ledger", ledger, command="ledger").out)["cdc"]
            said = (found["chosen"], found["native_expected"], found["native_usable"], found["fell_back"])
            check(said == (chosen, expected, usable, fell_back), name, said, found["reason"])
            check(all(each in found["reason"] for each in words), name, found["reason"])
            check(TOKEN not in json.dumps(found) + run.err, name, found, run.err)


def verdicts_of_delta_after_the_read(delta):
    from pyspark.sql import SparkSession

    tracking, feed = "DELTA_CHANGELOG_REQUIRES_ROW_TRACKING", "DELTA_MISSING_CHANGE_DATA"
    after_the_read(
        delta,
        [
            ("tracked", "spark_native", True, True, False, []),
            ("feed", "spark_delta_cdf", True, False, True, [tracking]),
            ("plain", "direct", True, False, True, [tracking, feed]),
        ],
    )
    spark = SparkSession.builder.remote(delta.url + ";user_id=off").create()
    try:
        spark.conf.set(servers.CHANGELOG_FLAG, "false")
        url, off = f"{delta.url};user_id=off;session_id={spark.session_id}", "UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE"
        after_the_read(delta, [("feed", "spark_delta_cdf", True, False, True, [off, servers.CHANGELOG_FLAG])], url)
        after_the_read(delta, [("plain", "direct", True, False, True, [off, feed])], url)
    finally:
        spark.stop()


def verdicts_of_iceberg_after_the_read(iceberg):
    after_the_read(
        iceberg,
        [
            ("cow", "spark_iceberg", False, False, False, []),
            ("mor", "direct", False, False, True, ["Delete files are currently not supported in changelog scans"]),
            ("cow_nested", "direct", False, False, True, ["Identifier field is required"]),
            ("feed", "spark_delta_cdf", False, False, False, []),
            ("plain", "direct", False, False, True, ["DELTA_MISSING_CHANGE_DATA"]),
        ],
    )


def no_verdict_but_a_record(status, words, url, name, version):
    """A search that fails is a record too, every field filled; reading ends in the same error."""
    run = Run(url, "--table", name, "--json", command="probe")
    check(run.status == status and words in run.err, run.status, run.err)
    found = json.loads(run.out)
    check(found["chosen"] is None and not found["native_usable"] and not found["fell_back"], found)
    check(words in found["reason"] and found["server_major_minor"] == version, found)
    check(found["native_expected"] == (version == "4.2"), found)
    check(len(found["candidates"]) >= 5 and all(each["reason"] for each in found["candidates"]), found)
    check(not any(each["usable"] for each in found["candidates"]), found)
    for command in ("changes", "plan", "verify"):
        again = Run(url, "--table", name, command=command)
        check(again.status == status and words in again.err, command, again.status, again.err)
    return run


def verdict_no_table(delta, iceberg):
    no_verdict_but_a_record(NOT_FOUND, "nowhere", delta.url, "spark_catalog.shop.nowhere", "4.2")
    no_verdict_but_a_record(NOT_FOUND, "nowhere", iceberg.url, "ice.shop.nowhere", "4.1")


def verdict_wrong_token(delta):
    url, name = delta.url.replace(TOKEN, "let-me-in"), delta.tables["tracked"]["name"]
    run = no_verdict_but_a_record(DENIED, "token", url, name, None)
    check("let-me-in" not in run.err + run.out, run.err, run.out)


def verdict_delta_on_41(iceberg):
    """Spark 4.1 knows no CHANGES; the feed is read with table_changes, and without one the files are."""
    found = verdict(iceberg, "feed", "spark_delta_cdf", ["spark_delta_cdf", "direct"])
    check(not found["native_expected"] and not found["fell_back"] and found["server_major_minor"] == "4.1", found)
    same_in_every_shape(iceberg, "feed", "spark_delta_cdf", "--from", "1", shapes=SHAPES[:4])
    verdict(iceberg, "plain", "spark_delta_cdf", ["spark_delta_cdf", "direct"])
    falls_back(iceberg, "plain", "DELTA_MISSING_CHANGE_DATA", via="spark_delta_cdf")


def a_plan_names_who_reads(delta, iceberg):
    """A plan falls back where the read does."""
    for site, name, backend, words in (
        (delta, "tracked", "spark_native", None),
        (delta, "feed", "spark_delta_cdf", "requires row tracking"),
        (delta, "plain", "direct", "DELTA_MISSING_CHANGE_DATA"),
        (iceberg, "cow", "spark_iceberg", None),
        (iceberg, "mor", "direct", "Delete files are currently not supported"),
    ):
        run = Run(site.url, "--table", site.tables[name]["name"], "--json", command="plan")
        check(run.status == 0 and json.loads(run.out)["backend"] == backend, name, run.status, run.out, run.err)
        check(("warning" in run.err and words in run.err) if words else "warning" not in run.err, name, run.err)


def direct_reads_where_it_is_told_to(delta, iceberg):
    delta.same("plain", "direct")
    iceberg.same("mor", "direct")


# --- results larger than the server gives at once, streams that end, and what is left


def big_words(url, *more):
    return [LAKECDC, "changes", url, "--table", BIG, "--from", "1", "--via", "spark_native", "--timeout", "150", *more]


def one_large_commit_in_slices(delta):
    """300,000 rows of one commit, twice what the server gives: hash slices, nothing lost, nothing twice; a slow reader on
    top, so that streams end by the server's time limit and by its size limit and are taken up again."""
    signs = ("bigger than spark.driver.maxResultSize", "Deadline reached, shutting down stream for opId")
    before = [servers.count_in_log(delta.server, each) for each in signs]
    seen = bytearray(BIG_ROWS)
    with subprocess.Popen(big_words(delta.url, "--format", "csv"), stdout=subprocess.PIPE, text=True) as process:
        rows, place = 0, process.stdout.readline().strip().split(",").index("after.id")
        for line in process.stdout:
            seen[int(line.split(",", place + 1)[place])] += 1
            rows += 1
            if rows % 50_000 == 0:
                time.sleep(1.2)
    check(process.returncode == 0, process.returncode)
    check(rows == BIG_ROWS and seen.count(1) == BIG_ROWS, rows, "rows,", seen.count(1), "of them once")
    refused, ended = (servers.count_in_log(delta.server, each) - count for each, count in zip(signs, before))
    check(refused, "the server refused nothing for its size")
    check(ended, "no stream met the server's limits")


class Leftovers:
    """What a server still has of lakecdc's operations: its running jobs, and whether an operation can be taken up again."""

    def __init__(self, site):
        import grpc
        from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

        self.site, self.base, self.grpc = site, base_pb2, grpc
        self.channel = grpc.insecure_channel(f"127.0.0.1:{site.server.port}")
        self.stub = base_pb2_grpc.SparkConnectServiceStub(self.channel)

    def jobs(self):
        return site_json(self.site, "jobs")

    def operations(self, user):
        """(session, operation) of every job that was run for a user."""
        pattern = re.compile(rf"SparkConnect_OperationTag_User_{user}_Session_([0-9a-f-]+)_Operation_([0-9a-f-]+)")
        found = [pattern.search(tag) for job in self.jobs() for tag in job.get("jobTags", [])]
        return {(each[1], each[2]) for each in found if each}

    def running(self, user):
        for _try in range(50):
            left = [job["jobId"] for job in self.jobs() if job["status"] == "RUNNING"]
            if not left:
                return []
            time.sleep(0.1)
        return left

    def reattached(self, user, session, operation):
        """What the server says to whoever wants to take an operation up again."""
        request = self.base.ReattachExecuteRequest(session_id=session, operation_id=operation)
        request.user_context.user_id = user
        try:
            for _response in self.stub.ReattachExecute(request, metadata=[("authorization", f"Bearer {TOKEN}")], timeout=20):
                return "a response"
            return "an empty stream"
        except self.grpc.RpcError as error:
            return error.details()


def site_json(site, what):
    with urllib.request.urlopen(f"http://127.0.0.1:{site.server.ui_port}/api/v1/applications", timeout=20) as answer:
        application = json.load(answer)[0]["id"]
    url = f"http://127.0.0.1:{site.server.ui_port}/api/v1/applications/{application}/{what}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.load(answer)


def ends_early(number):
    """Reads some rows of the big table, then gets a signal, or its reader leaves (None)."""

    def run(url, session):
        words = big_words(url, "--columns", "id")
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            check(process.stdout.readline(), "no first row")
            if number is None:
                process.stdout.close()
                process.wait(60)
            else:
                process.send_signal(number)
                process.communicate(timeout=60)
        check(process.returncode == (128 + number if number else 0), process.returncode)

    return run


def signalled_at_work(url, session):
    """A signal while the server is at it, before any row."""
    words = big_words(url, "--columns", "id")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.5)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _rows, error = process.communicate(timeout=60)
    check(process.returncode == 128 + signal.SIGTERM, process.returncode, error)
    check(time.monotonic() - began < 5, "took", time.monotonic() - began, "s to leave")


def ends_well(url, session):
    run = Run(url, "--table", "shop.tracked", "--from", "1", "--via", "spark_native")
    check(run.status == 0, run.err)


def ends_in_an_error(url, session):
    run = Run(url, "--table", "shop.plain", "--from", "1", "--via", "spark_native")
    check(run.status == UNSUPPORTED, run.status, run.err)


def stops_at_a_limit(url, session):
    run = Run(*big_words(url, "--columns", "id", "--limit", "10")[2:])
    check(run.status == 0 and run.out.count("\n") == 10, run.err)


WAYS_OUT = {
    "end": ends_well,
    "error": ends_in_an_error,
    "limit": stops_at_a_limit,
    "interrupt": ends_early(signal.SIGINT),
    "terminate": ends_early(signal.SIGTERM),
    "reader": ends_early(None),
    "early": signalled_at_work,
}


def no_job_and_no_result_is_left(delta):
    """Every way out, in a session of lakecdc's own and in one that somebody else keeps open: no job runs on, and no
    operation can be taken up again."""
    from pyspark.sql import SparkSession

    left = Leftovers(delta)
    for name, way in WAYS_OUT.items():
        for kept in (False, True):
            user = f"{name}{'kept' if kept else 'own'}"
            url, spark = f"{delta.url};user_id={user}", None
            if kept:
                spark = SparkSession.builder.remote(url).create()
                url += f";session_id={spark.session_id}"
            try:
                way(url, spark)
                operations = left.operations(user)
                check(operations or name == "early", f"no job of {user} was seen")
                check(not left.running(user), f"{user}: jobs run on: {left.running(user)}")
                for session, operation in operations:
                    said = left.reattached(user, session, operation)
                    wanted = "OPERATION_ABANDONED|OPERATION_NOT_FOUND" if kept else "SESSION_CLOSED|SESSION_NOT_FOUND"
                    check(re.search(rf"INVALID_HANDLE\.({wanted})", said), f"{user}: {said}")
                if kept:
                    check(spark.sql("SELECT 1").first()[0] == 1, "somebody else's session was closed")
            finally:
                if spark:
                    spark.stop()


def views_are_dropped(iceberg):
    """The changelog view is gone afterwards, also from a session that stays."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(iceberg.url + "/;user_id=views").create()
    try:
        url = f"{iceberg.url}/;user_id=views;session_id={spark.session_id}"
        for more in ((), ("--limit", "1"), ("--where", "id = 1")):
            run = Run(url, "--table", "ice.shop.cow", "--via", "spark_iceberg", *more)
            check(run.status == 0 and run.out, run.status, run.err)
        check(Run(url, "--table", "ice.shop.mor", "--via", "spark_iceberg").status == UNSUPPORTED, "mor was read")
        names = [row["viewName"] for row in spark.sql("SHOW VIEWS").collect()]
        check(not [name for name in names if "lakecdc" in name], names)
    finally:
        spark.stop()


# --- a server that dies; the last tests of each


def dies_in_mid_read(delta):
    words = big_words(delta.url, "--columns", "id")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        check(process.stdout.readline(), "no first row:", process.stderr.read() if process.poll() is not None else "")
        delta.server.kill()
        began = time.monotonic()
        rows = 1 + sum(1 for _line in process.stdout)
        error = process.stderr.read()
        process.wait(60)
    check(process.returncode == UNAVAILABLE, process.returncode, error)
    check(rows < BIG_ROWS and time.monotonic() - began < 60, rows, "rows")
    check("the Spark server broke off" in error, error)


def is_down(delta):
    began = time.monotonic()
    run = delta.read("tracked")
    check(run.status == UNAVAILABLE and time.monotonic() - began < 30, run.status, run.err)
    no_verdict_but_a_record(UNAVAILABLE, "connect to localhost", delta.url, delta.tables["tracked"]["name"], None)


# --- all of it

ICEBERG_TESTS = (
    the_view_reads_copy_on_write,
    verdict_iceberg,
    verdict_delta_on_41,
    views_are_dropped,
    iceberg_types_in_any_session,
    verdicts_of_iceberg_after_the_read,
    syncs.sync_of_iceberg_through_spark,
)
DELTA_TESTS = (
    native_reads_row_tracking,
    native_reads_nested_and_odd,
    table_changes_reads_the_feed,
    verdict_delta_with_row_tracking,
    verdict_delta_without_row_tracking,
    verdict_flag_off,
    verdict_wrong_token,
    one_large_commit_in_slices,
    no_job_and_no_result_is_left,
    delta_types_in_any_session,
    verdicts_of_delta_after_the_read,
    syncs.sync_of_delta_through_spark,
)


def print_nothing(_text):
    pass


def make_site(server):
    token = server.conf.get(servers.TOKEN)
    url = f"sc://localhost:{server.port}/;token={token}" if token else server.url
    spark = make_tables.connect(url)
    try:
        tables = make_tables.make_all(spark, server.release)
        if server.release == "41":
            spark.sql("CREATE SCHEMA IF NOT EXISTS spark_catalog.shop")
            wanted = [table for table in make_tables.DELTA if table.name in ("feed", "plain")]
            tables += [make_tables.make(spark, table, "delta", "spark_catalog.shop", print_nothing) for table in wanted]
        if server.release == "42":
            properties = "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'false'"
            spark.sql(f"CREATE TABLE {BIG} (id BIGINT, note STRING) USING delta TBLPROPERTIES ({properties})")
            spark.sql(f"INSERT INTO {BIG} SELECT id, repeat('x', 100) FROM range({BIG_ROWS})")
    finally:
        spark.stop()
    return Site(server, url, tables)


def run_one(test, *sites):
    if sys.argv[1:] and not any(word in test.__name__ for word in sys.argv[1:]):
        return None
    began = time.monotonic()
    try:
        test(*sites)
        problem = None
    except (Failed, AssertionError, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
        problem = f"{type(error).__name__}: {error}"
    print(f"{'ok    ' if problem is None else 'FAILED'} {time.monotonic() - began:5.1f} s  {test.__name__}", flush=True)
    if problem:
        print(f"       {problem[:2500]}", flush=True)
    return problem is None


def main():
    servers.exit_on_signals()
    began = time.monotonic()
    running = [
        servers.Server("42", conf={servers.TOKEN: TOKEN, **LIMITS, **RESULT_LIMIT}, with_ui=True),
        servers.Server("41", conf=LIMITS),
    ]
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = []
            for server in running:  # in this thread: a server asks for a signal when the thread that started it ends
                server.start()
                made.append(pool.submit(make_site, server))
            delta, iceberg = (future.result() for future in made)
        print(f"tables made after {time.monotonic() - began:.0f} s", flush=True)
        both = (
            a_bootstrap_and_the_law,
            nothing_new_is_no_row,
            commits_and_times,
            deletes_with_nulls,
            verdict_no_table,
            a_plan_names_who_reads,
            direct_reads_where_it_is_told_to,
        )
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
    good = [each for each in good if each is not None]
    print(f"after {time.monotonic() - began:.0f} s: {sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
