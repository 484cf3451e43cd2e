# SPDX-License-Identifier: Apache-2.0
"""Spark as a worker of bench/run.py: one warm session that answers one query a line.

    spark_session.py delta JARS               Spark 4.2 + Delta
    spark_session.py iceberg JARS WAREHOUSE   Spark 4.1 + Iceberg

A line on standard input is JSON: {"table": path or name, "query": "table_changes" | "changes" | "changelog_view"}. The
answer is rows and sum(amount) by kind of change, which is also what is timed: Spark counts, sums and takes a maximum
of one text column, and hands over four lines instead of every row. Start-up is no part of it.
"""

import glob
import json
import os
import sys
import time

# The JVM says what it likes on standard output; answers go to a copy of it.
ANSWERS = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

from pyspark.sql import SparkSession  # noqa: E402


def session(kind, jars, warehouse):
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]")
    options = {
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "8g",
    }
    if kind == "delta":
        options |= {
            "spark.jars": ",".join(glob.glob(f"{jars}/*.jar")),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.changelogV2.enabled": "true",
        }
    else:
        options |= {
            "spark.jars": ",".join(glob.glob(f"{jars}/iceberg*.jar")),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": warehouse,
        }
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def changes(spark, table, query):
    """A FROM item that gives the change rows of the last commit of workload A."""
    if query == "table_changes":
        return f"table_changes_by_path('{table}', 2, 2)"
    if query == "changes":
        return f"delta.`{table}` changes from version 2 to version 2"
    snapshots = spark.sql(f"select snapshot_id from ice.db.{table}.snapshots order by committed_at").collect()
    first, last = (row[0] for row in snapshots)
    spark.sql(
        f"call ice.system.create_changelog_view(table => 'ice.db.{table}', changelog_view => 'view', "
        f"options => map('start-snapshot-id', '{first}', 'end-snapshot-id', '{last}'), identifier_columns => array('id'))"
    )
    return "view"


def once(spark, table, query):
    started = time.monotonic()
    what = changes(spark, table, query)
    rows = spark.sql(f"select _change_type, count(*), sum(amount), max(customer) from {what} group by 1").collect()
    seconds = time.monotonic() - started
    groups = {row[0]: [row[1], row[2]] for row in rows}
    return {"seconds": seconds, "rows": sum(n for n, _ in groups.values()), "groups": groups}


def main():
    spark = session(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
    for line in sys.stdin:
        try:
            answer = once(spark, **json.loads(line))
        except Exception as error:  # whatever a peer says is its answer
            answer = {"refused": str(error).strip().split("\n")[0]}
        print(json.dumps(answer), file=ANSWERS, flush=True)
    spark.stop()


main()
