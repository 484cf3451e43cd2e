# SPDX-License-Identifier: Apache-2.0
"""What is measured: one Task a question, and in it the readers that are asked it.

The first reader of a task is what the figures are about. Another reader's ratio is its median over the median of the
reader it names in `against`, which does the same work in the same way (a whole process, or warm in process).
"""

import os
from dataclasses import dataclass

import tables
from readers import Process, Shared, Worker
from tables import ROOT

PEERS = ("spark", "deltalake", "pyiceberg", "duckdb", "skade")
PYTHON = f"{ROOT}/build/venv/bin/python"
HERE = os.path.dirname(os.path.abspath(__file__))
PROCESS, WARM, SESSION = "whole process", "warm, in process", "warm session"


@dataclass
class Reader:
    name: str
    how: str
    open: object  # () -> an object with check(), once(), close()
    peer: str = ""  # of PEERS; "" is this project
    against: int = 0  # index of the reader it is compared with
    figure: float = 0.0  # the ratio to reach; 0 = none
    expected: dict = None  # known values, where they differ from the task's


@dataclass
class Task:
    name: str
    question: str
    tables: tuple
    expected: dict
    readers: list


class Makers:
    """Ways to make each reader, for a data folder and a build folder."""

    def __init__(self, data, build):
        self.data, self.build = data, build
        self.skade = f"{ROOT}/build/skade/release/skade-reader"
        self.sessions = {}

    # ---- this project ----

    def lakecdc(self, table, *options):
        command = [f"{self.build}/bin/lakecdc", "changes", tables.path(self.data, table), *options, "--format", "arrow"]
        summed = ["sh", "-c", '"$@" | "$PYTHON" "$GROUPS_OF"', "sh", *command]
        timed = [*command, "--quiet", "--stats", "--output", "/dev/null"]
        environment = dict(os.environ, PYTHON=PYTHON, GROUPS_OF=f"{HERE}/peers/arrow_groups.py")
        return lambda: Process(timed, check=summed, environment=environment)

    def stream(self, table, *options):
        command = [f"{self.build}/bench/bench_stream", f"table={tables.path(self.data, table)}", *options]
        return lambda: Worker(command)

    # ---- peers ----

    def session(self, kind):
        """The Spark session of a kind; it is started by the first question."""
        if kind not in self.sessions:
            version = "42" if kind == "delta" else "41"
            command = [f"{tables.SPARK}/client/bin/python", f"{HERE}/peers/spark_session.py", kind]
            command += [f"{tables.SPARK}/jars{version}", self.data]
            self.sessions[kind] = Worker(command, tables.client_environment(f"pyspark{version}"))
        return self.sessions[kind]

    def spark(self, kind, table, query):
        name = tables.path(self.data, table) if kind == "delta" else table
        return lambda: Shared(self.session(kind), {"table": name, "query": query})

    def close_sessions(self, kinds=()):
        for kind in kinds or list(self.sessions):
            if kind in self.sessions:
                self.sessions.pop(kind).close()

    def python(self, kind, table, *arguments):
        command = [PYTHON, f"{HERE}/peers/python_reader.py", kind, tables.path(self.data, table), *arguments]
        return lambda: Worker(command)

    def python_process(self, kind, table, *arguments):
        command = [PYTHON, f"{HERE}/peers/python_reader.py", kind, tables.path(self.data, table), *arguments]
        timed = ["env", "BENCH_SUMS=0", *command]
        return lambda: Process(timed, feed="{}\n", stats=False, check=command)

    def pyiceberg(self, table, first=None, last=-1):
        def open_reader():
            ids = tables.snapshots(self.data, table)
            start = "-" if first is None else str(ids[first])
            return self.python("pyiceberg", table, start, str(ids[last]))()

        return open_reader

    def skade_process(self, table):
        command = [self.skade, tables.last_metadata(self.data, table)]
        return lambda: Process(["env", "BENCH_SUMS=0", *command], feed="{}\n", stats=False, check=command)


def delta_tasks(make):
    bounds, options = ("--from", "2", "--to", "2"), ("from=2", "to=2")
    cdf = Task("cdf", "Delta change files", ("cdf",), tables.MERGE, [
        Reader("lakecdc", PROCESS, make.lakecdc("cdf", *bounds)),
        Reader("lakecdc", WARM, make.stream("cdf", *options)),
        Reader("deltalake load_cdf", WARM, make.python("deltalake", "cdf", "2"), "deltalake", 1, 1.0),
        Reader("deltalake load_cdf", PROCESS, make.python_process("deltalake", "cdf", "2"), "deltalake"),
        Reader("Spark table_changes", SESSION, make.spark("delta", "cdf", "table_changes"), "spark", 0, 5.0),
    ])
    rt = Task("rt", "Delta row tracking, copy-on-write", ("rt",), tables.MERGE, [
        Reader("lakecdc", PROCESS, make.lakecdc("rt", *bounds)),
        Reader("deltalake load_cdf", WARM, make.python("deltalake", "rt", "2"), "deltalake"),
        Reader("Spark CHANGES", SESSION, make.spark("delta", "rt", "changes"), "spark", 0, 18.0),
    ])
    rtdv = Task("rtdv", "Delta row tracking + deletion vectors", ("rtdv",), tables.MERGE, [
        Reader("lakecdc", PROCESS, make.lakecdc("rtdv", *bounds)),
        Reader("lakecdc", WARM, make.stream("rtdv", *options)),
        Reader("deltalake load_cdf", WARM, make.python("deltalake", "rtdv", "2"), "deltalake", 1, 1.6),
        Reader("deltalake load_cdf", PROCESS, make.python_process("deltalake", "rtdv", "2"), "deltalake"),
        Reader("Spark CHANGES", SESSION, make.spark("delta", "rtdv", "changes"), "spark", 0, 55.0),
    ])
    return [cdf, rt, rtdv]


def full_task(make):
    return Task("full", "full read of 10,000,000 rows as an Arrow stream", ("plain",), tables.FIRST_COMMIT, [
        Reader("lakecdc", WARM, make.stream("plain", "from=1", "to=1")),
        Reader("lakecdc", PROCESS, make.lakecdc("plain", "--from", "1", "--to", "1")),
        Reader("DuckDB, Arrow batches", WARM, make.python("duckdb", "plain", "1"), "duckdb", 0, 1.0),
    ])


def copy_on_write(make, table, question, figure):
    return Task(table, question, (table,), tables.MERGE, [
        Reader("lakecdc", PROCESS, make.lakecdc(table, "--from", "latest", "--identity", "id")),
        Reader("pyiceberg incremental_append_scan", WARM, make.pyiceberg(table, 0), "pyiceberg"),
        Reader("Spark changelog view", SESSION, make.spark("iceberg", table, "changelog_view"), "spark", 0, figure),
    ])


def merge_on_read(make, table, question):
    whole = make.lakecdc(table, "--from", "latest", "--bootstrap")
    return Task(table, question, (table,), tables.MERGE, [
        Reader("lakecdc", PROCESS, make.lakecdc(table, "--from", "latest", "--identity", "id")),
        Reader("lakecdc, full read", PROCESS, whole, figure=1.0, expected=tables.AFTER_MERGE),
        Reader("skade read_changelog", PROCESS, make.skade_process(table), "skade", 0, 2.0),
        Reader("pyiceberg incremental_append_scan", WARM, make.pyiceberg(table, 0), "pyiceberg"),
        Reader("Spark changelog view", SESSION, make.spark("iceberg", table, "changelog_view"), "spark"),
    ])


def events_tasks(make):
    def whole():
        return Reader("lakecdc, full width", PROCESS, make.lakecdc("events", "--from", "start"), figure=3.0,
                      expected=tables.EVENTS)

    some = make.lakecdc("events", "--from", "start", "--columns", "id,amount")
    sweden = make.lakecdc("events", "--from", "start", "--where", "country = 'SE'")
    appended = [make.lakecdc("events", "--from", "start", "--to", "latest", "--to-exclusive"),
                make.pyiceberg("events", None, -2), make.pyiceberg("events", None, -1)]
    return [
        Task("b-columns", "workload B, 2 of 11 columns", ("events",), tables.EVENTS,
             [Reader("lakecdc", PROCESS, some), whole()]),
        Task("b-filter", "workload B, a filter that one file of four can satisfy", ("events",), tables.EVENTS_SE,
             [Reader("lakecdc", PROCESS, sweden), whole()]),
        Task("b-appends", "workload B, the four appends, full width", ("events",), tables.EVENTS_APPENDED, [
            Reader("lakecdc", PROCESS, appended[0]),
            Reader("pyiceberg incremental_append_scan", WARM, appended[1], "pyiceberg"),
            Reader("pyiceberg, with the equality deletes", WARM, appended[2], "pyiceberg", expected=tables.EVENTS),
        ]),
    ]


def all_tasks(make):
    return [
        *delta_tasks(make),
        copy_on_write(make, "v2cow", "Iceberg v2 copy-on-write", 8.0),
        copy_on_write(make, "v3cow", "Iceberg v3 copy-on-write", 12.0),
        merge_on_read(make, "v2mor", "Iceberg v2 merge-on-read"),
        merge_on_read(make, "v3mor", "Iceberg v3 merge-on-read"),
        *events_tasks(make),
        full_task(make),
    ]
