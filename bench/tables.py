# SPDX-License-Identifier: Apache-2.0
"""The tables that are measured: how each is made, how a whole one is recognised, and what is known of its content.

Known values are those in the docstrings of workloads/*.py; they come from the SQL that makes the rows, not from a
reader that is judged by them.
"""

import glob
import json
import os
import subprocess

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SPARK = os.environ.get("LCDC_SPARK_DIR", f"{ROOT}/build/spark")

# Kind of change -> (rows, sum(amount)).
MERGE = {"insert": (10_000, 10_000.0), "update_before": (100_000, 50036783.9397), "update_after": (100_000, 50136783.9397)}
FIRST_COMMIT = {"insert": (10_000_000, 5001281883.2872)}
AFTER_MERGE = {"insert": (10_010_000, 5001391883.2872)}
EVENTS_APPENDED = {"insert": (1_000_000, 49_995_000.0)}
EVENTS = {"insert": (1_000_000, 49_995_000.0), "delete": (3, 100.13)}
EVENTS_SE = {"insert": (250_000, 12_498_750.0), "delete": (1, 0.07)}

# name -> (script, its jars, the pyspark it wants, path below the data folder, metadata file that comes last)
TABLES = {
    "plain": ("make_delta_10m.py", "jars42", "pyspark42", "plain", "_delta_log/00000000000000000002.json"),
    "cdf": ("make_delta_10m.py", "jars42", "pyspark42", "cdf", "_delta_log/00000000000000000002.json"),
    "rt": ("make_delta_10m.py", "jars42", "pyspark42", "rt", "_delta_log/00000000000000000002.json"),
    "rtdv": ("make_delta_10m.py", "jars42", "pyspark42", "rtdv", "_delta_log/00000000000000000002.json"),
    "v2cow": ("make_iceberg_10m.py", "jars41", "pyspark41", "db/v2cow", "metadata/v3.metadata.json"),
    "v3cow": ("make_iceberg_10m.py", "jars41", "pyspark41", "db/v3cow", "metadata/v3.metadata.json"),
    "v2mor": ("make_iceberg_10m.py", "jars41", "pyspark41", "db/v2mor", "metadata/v3.metadata.json"),
    "v3mor": ("make_iceberg_10m.py", "jars41", "pyspark41", "db/v3mor", "metadata/v3.metadata.json"),
    "events": ("make_iceberg_1m.py", "jars41", "pyspark41", "db/events", "metadata/v6.metadata.json"),
}


def path(data, table):
    return f"{data}/{TABLES[table][3]}"


def is_whole(data, table):
    return os.path.exists(f"{path(data, table)}/{TABLES[table][4]}")


def client_environment(pyspark):
    return dict(os.environ, PYTHONPATH=f"{SPARK}/{pyspark}", SPARK_LOCAL_IP="127.0.0.1")


def make(data, tables):
    """Makes those that are not there, with the engines; returns {table: why it is not there}."""
    os.makedirs(data, exist_ok=True)
    missing = [table for table in tables if not is_whole(data, table)]
    for script, jars, pyspark in sorted({TABLES[table][:3] for table in missing}):
        names = [table for table in missing if TABLES[table][0] == script]
        print(f"making {' '.join(names)} (minutes)", flush=True)
        command = [f"{SPARK}/client/bin/python", f"{ROOT}/bench/workloads/{script}", data, f"{SPARK}/{jars}"]
        command += names if script != "make_iceberg_1m.py" else []
        try:
            subprocess.run(command, env=client_environment(pyspark), cwd=data, timeout=3600)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{script}: {error}", flush=True)
    return {table: "could not be made" for table in missing if not is_whole(data, table)}


def snapshots(data, table):
    """Snapshot ids of an Iceberg table, oldest first."""
    [last] = glob.glob(f"{path(data, table)}/{TABLES[table][4]}")
    with open(last) as file:
        found = json.load(file)["snapshots"]
    return [snapshot["snapshot-id"] for snapshot in sorted(found, key=lambda snapshot: snapshot["timestamp-ms"])]


def last_metadata(data, table):
    return f"{path(data, table)}/{TABLES[table][4]}"
