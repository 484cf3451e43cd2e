# SPDX-License-Identifier: Apache-2.0
"""A sync in a test's folder: its config, running it once or until told otherwise, and what came out.

The one idea: the target is a JSONL file, replayed here into the rows that it says are there, and held against the
table's builder, which knows the truth.
"""
import json
import os
import signal
import subprocess
import time

from support import harness


class Sync:
    """A config with one JSONL sink a table; `tables` is {name: options of the table}."""

    def __init__(self, folder, tables, **top):
        self.folder = folder
        self.path = os.path.join(folder, "sync.yaml")
        self.config = {"version": 1, "interval": "50ms", "retry": {"first": "50ms", "most": "500ms"},
                       "sources": {"lake": {"path": "."}}, "sinks": {"out": {"type": "jsonl"}}, "tables": {}, **top}
        for name, options in tables.items():
            self.config["tables"][name] = {"source": "lake", "table": name, "sink": "out", "identity": ["id"], "sink_options": {"path": f"{name}.jsonl"}, **options}
        self.save()

    def save(self):
        with open(self.path, "w") as f:
            json.dump(self.config, f, indent=2)  # JSON is YAML

    def run(self, *words, **options):
        return harness.run("sync", self.path, *words, **options)

    def once(self, *words, **options):
        return self.run("--once", *words, **options)

    def start(self, *words):
        return Running([harness.CLI, "sync", self.path, "--log-format", "json", *words], self.folder)

    def ledger(self, *words):
        r = harness.run("ledger", *words, "--ledger", os.path.join(self.folder, "ledger.db"))
        assert r.code == 0, r.err
        return r

    def state(self, name):
        return json.loads(self.ledger("show", name, "--json").out)

    def lines(self, name):
        path = os.path.join(self.folder, f"{name}.jsonl")
        if not os.path.exists(path):
            return []
        with open(path) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def replayed(self, name, key="id"):
        """The rows that the changes of the file add up to, by their key. A row twice, or one gone twice, is a failure."""
        rows = {}
        for change in self.lines(name):
            op, before, after = change["op"], change["before"], change["after"]
            if op in ("delete", "update_before", "update"):
                assert rows.pop(before[key], None) == before, f"{op} of a row that is not there: {before}"
            if op in ("insert", "update_after", "update"):
                assert after[key] not in rows, f"{op} of a row that is there: {after}"
                rows[after[key]] = after
        return rows


class Running:
    """A sync that goes on until it is stopped."""

    def __init__(self, argv, folder):
        self.log_path = os.path.join(folder, "log")
        self.log_file = open(self.log_path, "ab")
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log_file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log_file.close()

    def events(self, event=None, table=None):
        with open(self.log_path) as f:
            found = [json.loads(line) for line in f if line.startswith("{") and line.endswith("\n")]
        return [e for e in found if event in (None, e["event"]) and table in (None, e.get("table"))]

    def until(self, condition, what, seconds=30):
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, f"the sync ended with {self.process.returncode}: {open(self.log_path).read()[-2000:]}"
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}: {open(self.log_path).read()[-2000:]}"
            time.sleep(0.02)

    def stop(self, number=signal.SIGTERM):
        """Seconds until it was gone, and its exit status."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(timeout=30)
        return time.monotonic() - began, code
