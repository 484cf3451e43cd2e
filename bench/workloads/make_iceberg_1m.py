# SPDX-License-Identifier: Apache-2.0
"""Workload B, with real Spark 4.1 + Iceberg 1.12.   make_iceberg_1m.py OUT JARS

1,000,000 appended rows in 4 files of 11 columns (about 700 bytes a row, hard to compress), `country` clustered by file so that one file of four
holds every 'SE' row, plus a snapshot of 3 equality deletes written by Iceberg's own Java writers. Table OUT/db/events; prints the snapshot ids.
Check values: 1,000,000 inserts, sum(amount) 49995000.00; 3 deletes, 100.13. Of country SE: 250,000 inserts, 12498750.00; 1 delete, 0.07.
"""
import glob, shutil, sys, time
from pyspark.sql import SparkSession
OUT, JARS = sys.argv[1], sys.argv[2]
s = (SparkSession.builder.master("local[2]").config("spark.driver.extraClassPath", ":".join(glob.glob(JARS + "/iceberg*.jar")))
     .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
     .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog").config("spark.sql.catalog.ice.type", "hadoop").config("spark.sql.catalog.ice.warehouse", OUT)
     .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "6g").getOrCreate())
s.sparkContext.setLogLevel("ERROR")
t = "ice.db.events"; s.sql(f"drop table if exists {t} purge"); shutil.rmtree(f"{OUT}/db/events", ignore_errors=True)
s.sql(f"create table {t}(id int, country string, city string, name string, email string, address string, note string, amount decimal(12,2), qty int, created timestamp, active boolean) using iceberg tblproperties('format-version'='2','write.distribution-mode'='none')")
h = lambda salt, n: "concat(" + ", ".join(f"sha2(concat('{salt}{k}', id), 512)" for k in range(n)) + ")"
for k, c in enumerate(("SE", "NO", "DK", "FI")):
    s.sql(f"insert into {t} select /*+ COALESCE(1) */ cast(id as int), '{c}', concat('city-', id % 97), concat('name ', sha2(concat('n', id), 224)), concat(sha2(concat('e', id), 224), '@example.com'), {h('a', 1)}, {h('x', 9)}, cast(id % 10000 / 100 as decimal(12,2)), cast(id % 50 as int), timestamp_seconds(1700000000 + id), id % 3 = 0 from range({k * 250000}, {(k + 1) * 250000}, 1, 1)")
jvm, gw = s.sparkContext._jvm, s.sparkContext._gateway
tab = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(s._jsparkSession, t); schema = tab.schema(); key = schema.select(["id"])
ids = gw.new_array(gw.jvm.int, 1); ids[0] = schema.findField("id").fieldId()
PQ = jvm.org.apache.iceberg.FileFormat.PARQUET
fac = getattr(jvm.org.apache.iceberg.data, "GenericFileWriterFactory$Builder")(tab).deleteFileFormat(PQ).dataFileFormat(PQ).dataSchema(schema).equalityFieldIds(ids).equalityDeleteRowSchema(key).build()
w = fac.newEqualityDeleteWriter(jvm.org.apache.iceberg.io.OutputFileFactory.builderFor(tab, 1, int(time.time()) % 10**9).format(PQ).build().newOutputFile(), tab.spec(), None)
for i in (7, 250007, 999999):
    r = jvm.org.apache.iceberg.data.GenericRecord.create(key); r.setField("id", i); w.write(r)
w.close(); tab.newRowDelta().addDeletes(w.toDeleteFile()).commit(); s.sql(f"refresh table {t}")
print([r[0] for r in s.sql(f"select snapshot_id from {t}.snapshots order by committed_at").collect()])
