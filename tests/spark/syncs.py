# SPDX-License-Identifier: Apache-2.0
"""Syncs whose source is a real Spark Connect server; the tests of test_real.py that run them.

The one idea: one table has four targets in SQLite: all changes and the whole state, each once through the server and once
from the table's own files. Whatever is committed, and whenever the sync is killed, all four are what Spark says the table is.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import time

import make_tables

LAKECDC = os.environ["LAKECDC"]
COLUMNS = "id BIGINT NOT NULL, name STRING, qty INT, price DECIMAL(12,2)"
FIRST = "INSERT INTO {t} VALUES (1, 'one', 10, 1.50), (2, 'two', 20, NULL), (3, NULL, 30, 3.25), (4, 'four', 40, 4.00)"
COMMITS = [
    "UPDATE {t} SET qty = qty + 1, name = concat(coalesce(name, ''), '!') WHERE id IN (1, 3)",
    "DELETE FROM {t} WHERE id = 2",
    """MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 'uno'), (4, NULL), (7, 'seven') AS s(id, name)) s ON t.id = s.id
        WHEN MATCHED AND s.name IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name
        WHEN NOT MATCHED THEN INSERT (id, name, qty, price) VALUES (s.id, s.name, 7, 7.77)""",
]


class Table:
    """A table on the server, and the sync of it."""

    def __init__(self, site, name, using, properties, place, folder):
        self.name, self.folder = name, folder
        self.spark = make_tables.connect(site.url)
        options = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.sql(f"CREATE TABLE {{t}} ({COLUMNS}) USING {using} TBLPROPERTIES ({options})")
        self.sql(FIRST)
        config = {
            "version": 1,
            "interval": "100ms",
            "retry": {"first": "100ms", "most": "1s"},
            "sources": {"cluster": {"spark": site.url, "timeout": "120"}, "files": {"path": place(site.server.data)}},
            "sinks": {"db": {"type": "sqlite", "path": "targets.db"}},
            "tables": {},
        }
        where = {"cluster": name, "files": "."}
        for source, table in where.items():
            for mode in ("cdc", "full"):
                config["tables"][f"{source}_{mode}"] = {
                    "source": source,
                    "table": table,
                    "mode": mode,
                    "identity": ["id"],
                    "sink": "db",
                }
        self.targets = list(config["tables"])
        self.config = os.path.join(folder, "sync.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(config, file)

    def sql(self, statement):
        return self.spark.sql(statement.format(t=self.name)).collect()

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            return subprocess.Popen([LAKECDC, "sync", self.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
            return log.read()[-1500:]

    def once(self):
        done = subprocess.run([LAKECDC, "sync", self.config, "--once"], capture_output=True, text=True, timeout=150)
        assert done.returncode == 0, done.stderr[-1500:]

    def truth(self):
        rows = self.sql("SELECT id, name, qty, CAST(price AS STRING) AS price FROM {t}")
        return sorted((row.id, row.name, row.qty, row.price) for row in rows)

    def held(self, target):
        with sqlite3.connect(os.path.join(self.folder, "targets.db"), timeout=30) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (target,)).fetchone():
                return None
            rows = db.execute(f"SELECT id, name, qty, price FROM {target}")
            return sorted((i, name, qty, None if price is None else f"{float(price):.2f}") for i, name, qty, price in rows)

    def check(self, when):
        want = self.truth()
        for target in self.targets:
            got = self.held(target)
            assert got == want, f"{when}: {target} is {got}, the table {want}"

    def state(self, target):
        words = [LAKECDC, "ledger", "show", target, "--json", "--ledger", self.config]
        return json.loads(subprocess.run(words, capture_output=True, text=True, timeout=60).stdout)

    def level(self, process, when):
        want, deadline = self.truth(), time.monotonic() + 60
        while any(self.held(target) != want for target in self.targets):
            assert process.poll() is None, f"{when}: the sync ended with {process.returncode}: {self.log()}"
            assert time.monotonic() < deadline, f"{when}: not in step: {self.log()}"
            time.sleep(0.1)


def in_step(site, name, using, properties, place, backend):
    """First state, changes, a kill in the middle, and the stop."""
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        table = Table(site, name, using, properties, place, folder)
        try:
            table.once()
            table.check("the first state")
            assert table.state("cluster_cdc")["cdc"]["chosen"] == backend, table.state("cluster_cdc")
            windows = table.state("cluster_full")["windows"]
            table.once()
            assert table.state("cluster_full")["windows"] == windows, "a copy that is current was made again"
            for i, statement in enumerate(COMMITS):
                with table.start() as process:
                    table.sql(statement)
                    if i < len(COMMITS) - 1:
                        time.sleep(rng.random())
                        process.kill()
                        process.wait()
                        continue
                    table.level(process, "after the last commit")
                    process.send_signal(signal.SIGTERM)
                    began = time.monotonic()
                    assert process.wait(30) == 0 and time.monotonic() - began < 5, table.log()
            table.once()
            table.check("at the end")
            states = {target: table.state(target) for target in table.targets}
            assert all(state["state"] == "active" for state in states.values()), states
            ends = {state["cursor"].split("/")[2] for state in states.values()}
            assert len(ends) == 1, states
        finally:
            table.spark.stop()


def sync_of_delta_through_spark(delta):
    properties = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "false"}
    in_step(delta, "shop.synced", "delta", properties, lambda data: os.path.join(data, "warehouse/shop.db/synced"), "spark_native")


def sync_of_iceberg_through_spark(iceberg):
    properties = {f"write.{verb}.mode": "copy-on-write" for verb in ("delete", "update", "merge")}
    in_step(iceberg, "ice.shop.synced", "iceberg", properties, lambda data: os.path.join(data, "ice/shop/synced"), "spark_iceberg")
