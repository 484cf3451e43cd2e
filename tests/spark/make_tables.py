# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of the Spark tests on a server, and a manifest that says what is where.

    python make_tables.py 42 --url sc://127.0.0.1:PORT --out tables.json      Delta tables in spark_catalog
    python make_tables.py 41 --url sc://127.0.0.1:PORT --out tables.json      Iceberg tables in ice

The one idea: a table is a name, what it is made to show, and a list of statements of which every one but CREATE and ALTER
is one commit. The manifest has per table: name (ready to paste into SQL), format, features, path (for a reader without an
engine), key (the identity columns) and commits [{id, statement}], oldest first, ids read back from the table's own history.

A statement costs seconds on a cold server, so there are few and all rows are few. --only NAME (again and again) makes
some of the tables. Runs under build/spark/client; starts itself again there.
"""

import argparse
import json
import os
import sys
import time

import environment

ROW = "id BIGINT NOT NULL, name STRING, region STRING, amount DECIMAL(12,2), at TIMESTAMP"
FIRST_ROWS = """INSERT INTO {t} VALUES
    (1, 'ann', 'north', 10.50, TIMESTAMP '2026-01-01 08:00:00'), (2, 'bob', 'north', 20.00, TIMESTAMP '2026-01-02 08:00:00'),
    (3, 'cid', 'south', 30.25, NULL), (4, 'dan', 'south', NULL, TIMESTAMP '2026-01-04 08:00:00'),
    (5, 'eve', NULL, 50.00, TIMESTAMP '2026-01-05 08:00:00'), (6, NULL, 'a b/c=d', 60.00, TIMESTAMP '2026-01-06 08:00:00')"""
UPDATE = "UPDATE {t} SET amount = coalesce(amount, 0) + 1, name = concat(name, '!') WHERE id IN (1, 3, 4)"
MOVE = "UPDATE {t} SET region = 'west' WHERE id IN (2, 5)"  # in a partitioned table: out of one partition into another
DELETE = "DELETE FROM {t} WHERE id = 3"
DELETE_PARTITION = "DELETE FROM {t} WHERE region = 'north'"
MERGE = """MERGE INTO {t} USING (SELECT * FROM VALUES (1, 'ann2'), (4, NULL), (7, 'gil'), (8, 'hal') AS s(id, name)) s
    ON {t_alias}.id = s.id WHEN MATCHED AND s.name IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name
    WHEN NOT MATCHED THEN INSERT (id, name, region, amount, at)
    VALUES (s.id, s.name, 'east', 1, TIMESTAMP '2026-02-01 00:00:00')"""
OVERWRITE = """INSERT OVERWRITE {t} SELECT id, name, region, amount, at FROM {t} WHERE id < 3
    UNION ALL SELECT 9, 'ida', 'east', 90.00, NULL"""

NESTED = """id BIGINT NOT NULL, address STRUCT<city: STRING, zip: INT>, tags ARRAY<STRING>, counts MAP<STRING, INT>,
    trips ARRAY<STRUCT<city: STRING, days: ARRAY<DATE>>>, ok BOOLEAN, ratio DOUBLE, small FLOAT, bytes BINARY, born DATE,
    wall TIMESTAMP_NTZ"""
NESTED_ROWS = """INSERT INTO {t} VALUES
    (1, named_struct('city', 'Oslo', 'zip', 150), array('a', 'b'), map('x', 1),
     array(named_struct('city', 'Rome', 'days', array(DATE '2026-01-01', NULL))),
     true, 1.5D, 0.25F, X'00FF', DATE '1999-12-31', TIMESTAMP_NTZ '2026-03-29 02:30:00'),
    (2, NULL, array(), map(), array(), false, double('NaN'), -0.0F, X'', DATE '1500-01-01', NULL),
    (3, named_struct('city', NULL, 'zip', NULL), array(NULL), map('y', NULL), NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
NESTED_UPDATE = """UPDATE {t} SET address = named_struct('city', 'Bergen', 'zip', 5003), tags = array('c'), ratio = -ratio
    WHERE id IN (1, 2)"""
NESTED_DELETE = "DELETE FROM {t} WHERE address.city IS NULL AND id = 3"

# Names that only survive proper quoting. Delta's own UPDATE trips over a backtick in a column's name, so it goes without.
ODD = "`select` BIGINT NOT NULL, `it's` STRING, `back``tick` STRING, `do.t` INT, `--` STRING"
DELTA_ODD = ODD.replace("back``tick", "quo'te")
ODD_ROWS = "INSERT INTO {t} VALUES (1, 'a''b', 'x`y', 1, '--'), (2, '\\\\', NULL, 2, '; DROP TABLE x'), (3, '\"', '%', NULL, '')"
ODD_UPDATE = "UPDATE {t} SET `it's` = concat(`it's`, '''') WHERE `select` < 3"

TYPES = """id BIGINT NOT NULL, tiny TINYINT, small SMALLINT, num INT, flag BOOLEAN, single FLOAT, big DECIMAL(38,10),
    short VARCHAR(8), at TIMESTAMP, wall TIMESTAMP_NTZ, day DATE, raw BINARY, text STRING"""
TYPES_ROWS = """INSERT INTO {t} VALUES
    (1, -128Y, -32768S, -2147483648, true, CAST('NaN' AS FLOAT),
     CAST('9999999999999999999999999999.9999999999' AS DECIMAL(38,10)), 'abc', TIMESTAMP '2026-03-29 02:30:00Z',
     TIMESTAMP_NTZ '2026-03-29 02:30:00.123456', DATE '0001-01-01', X'00FF', 'it''s'),
    (2, 127Y, 32767S, 2147483647, false, -0.0F, -0.0000000001BD, '', TIMESTAMP '9999-12-31 23:59:59.999999Z',
     TIMESTAMP_NTZ '0001-01-01 00:00:00', DATE '9999-12-31', X'', 'back\\\\slash'),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 0Y, 0S, 0, true, 1e38F, 0BD, 'ABC', TIMESTAMP '1900-01-01 00:00:00Z', NULL, DATE '1582-10-04', X'414243', 'ABC')"""
TYPES_UPDATE = "UPDATE {t} SET num = 7, text = concat(text, '?') WHERE id = 2"
TYPES_DELETE = "DELETE FROM {t} WHERE id = 1"
VARIANTS = "id BIGINT NOT NULL, any VARIANT, deep STRUCT<any: VARIANT, rest: ARRAY<VARIANT>>"
VARIANTS_ROWS = """INSERT INTO {t} SELECT id, parse_json(text), named_struct('any', parse_json(text), 'rest',
    array(parse_json(text), NULL)) FROM VALUES (1, '[1, "x"]'), (2, 'null'), (3, NULL) AS s(id, text)"""

ROW_TRACKING = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "false"}
VECTORS = {"delta.enableDeletionVectors": "true"}
NO_VECTORS = {"delta.enableDeletionVectors": "false"}
FEED = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}

COPY_ON_WRITE = {f"write.{verb}.mode": "copy-on-write" for verb in ("delete", "update", "merge")}
MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}


class Table:
    def __init__(self, name, columns, properties, features, statements, partition="", key=("id",), after=()):
        self.name, self.columns, self.properties, self.features = name, columns, properties, features
        self.statements, self.partition, self.key, self.after = statements, partition, list(key), list(after)

    def create(self, using):
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in self.properties.items())
        partition = f" PARTITIONED BY ({self.partition})" if self.partition else ""
        return f"CREATE TABLE {{t}} ({self.columns}) USING {using}{partition} TBLPROPERTIES ({properties})"


DELTA = [
    Table(
        "tracked", ROW, ROW_TRACKING, ["row_tracking", "copy_on_write"], [FIRST_ROWS, UPDATE, DELETE, MERGE, OVERWRITE]
    ),
    Table(
        "tracked_parts",
        ROW,
        {**ROW_TRACKING, **VECTORS},
        ["row_tracking", "deletion_vectors", "partitioned"],
        [FIRST_ROWS, MOVE, DELETE, MERGE, DELETE_PARTITION],
        partition="region",
    ),
    Table(
        "tracked_nested",
        NESTED,
        ROW_TRACKING,
        ["row_tracking", "copy_on_write", "nested"],
        [NESTED_ROWS, NESTED_UPDATE, NESTED_DELETE],
    ),
    Table("feed", ROW, FEED, ["change_feed", "copy_on_write"], [FIRST_ROWS, UPDATE, DELETE, MERGE, OVERWRITE]),
    Table(
        "feed_parts",
        ROW,
        {**FEED, **VECTORS},
        ["change_feed", "deletion_vectors", "partitioned"],
        [FIRST_ROWS, MOVE, DELETE_PARTITION],
        partition="region",
    ),
    Table("feed_nested", NESTED, FEED, ["change_feed", "copy_on_write", "nested"], [NESTED_ROWS, NESTED_UPDATE]),
    Table("plain", ROW, NO_VECTORS, ["copy_on_write"], [FIRST_ROWS, UPDATE, DELETE, MERGE]),
    Table(
        "`order`",
        DELTA_ODD,
        {**ROW_TRACKING, **FEED},
        ["row_tracking", "change_feed", "copy_on_write", "odd_names"],
        [ODD_ROWS, ODD_UPDATE],
        key=("select",),
    ),
    Table("types", TYPES, {**ROW_TRACKING, **FEED}, ["row_tracking", "change_feed"], [TYPES_ROWS, TYPES_UPDATE, TYPES_DELETE]),
    Table("variants", VARIANTS, {**ROW_TRACKING, **FEED}, ["row_tracking", "change_feed"], [VARIANTS_ROWS, TYPES_DELETE]),
]
ICEBERG = [
    Table(
        "cow",
        ROW,
        {"format-version": "2", **COPY_ON_WRITE},
        ["v2", "copy_on_write", "identifier"],
        [FIRST_ROWS, UPDATE, DELETE, MERGE, OVERWRITE],
        after=["ALTER TABLE {t} SET IDENTIFIER FIELDS id"],
    ),
    Table(
        "cow_parts",
        ROW,
        {"format-version": "2", **COPY_ON_WRITE},
        ["v2", "copy_on_write", "partitioned"],
        [FIRST_ROWS, MOVE, DELETE_PARTITION],
        partition="region",
    ),
    Table(
        "cow_nested",
        NESTED,
        {"format-version": "2", **COPY_ON_WRITE},
        ["v2", "copy_on_write", "nested"],
        [NESTED_ROWS, NESTED_UPDATE],
    ),
    Table("mor", ROW, {"format-version": "2", **MERGE_ON_READ}, ["v2", "merge_on_read"], [FIRST_ROWS, UPDATE, DELETE]),
    Table(
        "v3",
        ROW,
        {"format-version": "3", **COPY_ON_WRITE},
        ["v3", "copy_on_write"],
        [FIRST_ROWS, UPDATE, DELETE, MERGE],
    ),
    Table("v3_mor", ROW, {"format-version": "3", **MERGE_ON_READ}, ["v3", "merge_on_read"], [FIRST_ROWS, DELETE]),
    Table(
        "`it's ``odd``; --`",
        ODD,
        {"format-version": "2", **COPY_ON_WRITE},
        ["v2", "copy_on_write", "odd_names"],
        [ODD_ROWS, ODD_UPDATE],
        key=("select",),
    ),
    Table(
        "types",
        TYPES,
        {"format-version": "2", **COPY_ON_WRITE},
        ["v2", "copy_on_write"],
        [TYPES_ROWS, TYPES_UPDATE, TYPES_DELETE],
    ),
]
RELEASES = {"42": ("delta", "spark_catalog.shop", DELTA), "41": ("iceberg", "ice.shop", ICEBERG)}


def delta_facts(spark, name):
    history = spark.sql(f"DESCRIBE HISTORY {name}").select("version").collect()
    location = spark.sql(f"DESCRIBE DETAIL {name}").select("location").first()[0]
    return sorted(row[0] for row in history), location


def iceberg_facts(spark, name):
    snapshots = spark.sql(f"SELECT snapshot_id, committed_at FROM {name}.snapshots ORDER BY committed_at").collect()
    described = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    return [row[0] for row in snapshots], next(row[1] for row in described if row[0] == "Location")


def local_path(location):
    return location[len("file:") :].replace("///", "/", 1) if location.startswith("file:") else location


def commits_of(table, ids, using):
    """Statement and commit one to one; Delta's CREATE is version 0, Iceberg's commits nothing."""
    statements = [table.create(using), *table.statements] if using == "delta" else table.statements
    if len(ids) != len(statements):
        raise SystemExit(f"{table.name}: {len(statements)} commits expected, its history has {ids}")
    return [{"id": each, "statement": statement} for each, statement in zip(ids, statements)]


def make(spark, table, using, schema, say):
    name = f"{schema}.{table.name}"
    alias = table.name
    for statement in [table.create(using), *table.after, *table.statements]:
        began = time.monotonic()
        spark.sql(statement.format(t=name, t_alias=alias))
        say(f"{time.monotonic() - began:6.1f} s  {table.name}  {statement.split('(')[0].split('SET')[0].strip()[:60]}")
    ids, location = (delta_facts if using == "delta" else iceberg_facts)(spark, name)
    return {
        "name": name,
        "format": using,
        "features": table.features,
        "key": table.key,
        "path": local_path(location),
        "commits": [
            {**each, "statement": each["statement"].format(t=name, t_alias=alias)}
            for each in commits_of(table, ids, using)
        ],
    }


def make_all(spark, release, only=(), say=lambda text: None):
    using, schema, tables = RELEASES[release]
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    return [make(spark, table, using, schema, say) for table in tables if not only or table.name in only]


def connect(url):
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(url).create()


def main():
    parser = argparse.ArgumentParser(description="make the test tables on a Spark Connect server")
    parser.add_argument("release", choices=sorted(RELEASES))
    parser.add_argument("--url", required=True)
    parser.add_argument("--out", help="where the manifest goes (default: standard output)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    arguments = parser.parse_args()
    environment.enter_client_python(__file__, arguments.release)

    began = time.monotonic()
    spark = connect(arguments.url)
    try:
        tables = make_all(
            spark, arguments.release, arguments.only, lambda text: print(text, file=sys.stderr, flush=True)
        )
    finally:
        spark.stop()
    text = json.dumps({"release": environment.version(arguments.release), "tables": tables}, indent=2) + "\n"
    if arguments.out:
        with open(arguments.out + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(arguments.out + ".part", arguments.out)
    else:
        sys.stdout.write(text)
    print(f"{len(tables)} tables in {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
